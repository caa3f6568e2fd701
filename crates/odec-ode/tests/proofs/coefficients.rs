//! Order conditions: Runge-Kutta over rooted trees, Rosenbrock over the same trees with Rosenbrock weights and over
//! the trees of index-1 equations, for main and embedded weights.

use nalgebra::{DMatrix, DVector};
use odec_ode::method::{self, Adaptive, Family, Method, dirk, rosenbrock, runge_kutta};

use super::mechanics;
use super::trees::{Stages, Tree, dae_trees, trees};

/// Largest residual of a condition that counts as met: rounding of coefficients of size 10.
const MET: f64 = 1e-13;
/// Published tables of Rosenbrock methods are rounded to 16 digits of transformed coefficients of size up to 40.
const MET_TRANSFORMED: f64 = 1e-11;
/// A condition of the next order must fail by more than this.
const FAILS: f64 = 1e-6;

/// Lower triangular matrix from rows of growing length.
pub fn triangular(rows: &[&[f64]], s: usize) -> DMatrix<f64> {
    DMatrix::from_fn(s, s, |i, j| rows.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0.0))
}

/// Checks that `b` meets the conditions of order 1 to `p`, and not all of order p + 1.
fn weights(what: &str, stages: &Stages, b: &[f64], p: usize, met: f64, wrong: &mut Vec<String>) {
    for order in 1..=p {
        for tree in trees(order) {
            let residual = stages.residual(b, &tree).abs();
            if residual.is_nan() || residual > met {
                wrong.push(format!("{what}: a tree of order {order} is missed by {residual:.1e}: {tree:?}"));
            }
        }
    }
    if stages.worst(b, &trees(p + 1)) <= FAILS {
        wrong.push(format!("{what}: the weights are of order {} or more, not {p}", p + 1));
    }
}

/// Butcher's conditions of a table of declared order `p`.
pub fn runge_kutta(t: &runge_kutta::ExplicitTableau, p: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    let s = t.b.len();
    let a = triangular(t.a, s);
    for (i, c) in t.c.iter().enumerate() {
        if (a.row(i).sum() - c).abs() > MET {
            wrong.push(format!("node {i} is not the sum of its row"));
        }
    }
    let stages = Stages { one: a.clone(), many: a };
    weights("main weights", &stages, t.b, p, MET, &mut wrong);
    if let Some((b, order)) = t.embedded {
        weights("embedded weights", &stages, b, order as usize, MET, &mut wrong);
    }
    if let Some((b, order)) = t.second {
        weights("second embedded weights", &stages, b, order as usize, MET, &mut wrong);
    }
    wrong
}

/// Polynomials with coefficients of size 1000 lose three digits more.
const MET_DENSE: f64 = 1e-11;
/// The interpolant of vern7 almost reaches the next order.
const FAILS_DENSE: f64 = 1e-8;

/// Conditions of dense output of its declared order, at points inside the step: sum_i w_i(s)
/// Phi_i(tree) = s^order / density.
pub fn dense_output(t: &runge_kutta::ExplicitTableau) -> Vec<String> {
    let Some(dense) = t.dense else { return Vec::new() };
    let mut wrong = Vec::new();
    let s = t.end_stage() + 1 + dense.c.len();
    let mut rows = t.a.to_vec();
    if !t.fsal {
        rows.push(t.b);
    }
    rows.extend(dense.a);
    let a = triangular(&rows, s);
    for (row, c) in (t.end_stage() + 1..s).zip(dense.c) {
        if (a.row(row).sum() - c).abs() > MET {
            wrong.push(format!("node {row} of the dense output is not the sum of its row"));
        }
    }
    let stages = Stages { one: a.clone(), many: a };
    let places: Vec<f64> = (1..=16).map(|k| f64::from(k) / 16.0).collect();
    let weights: Vec<DVector<f64>> =
        places.iter().map(|x| DVector::from_fn(s, |i, _| dense.weight(t.b, t.end_stage(), i, *x))).collect();
    let mut next = 0.0f64;
    for order in 1..=dense.order as usize + 1 {
        for tree in trees(order) {
            let vector = stages.vector(&tree);
            for (x, w) in places.iter().zip(&weights) {
                let residual = (w.dot(&vector) - x.powi(order as i32) / tree.density()).abs();
                if order > dense.order as usize {
                    next = next.max(residual);
                } else if residual.is_nan() || residual > MET_DENSE {
                    wrong.push(format!(
                        "dense output at {x}: a tree of order {order} is missed by {residual:.1e}: {tree:?}"
                    ));
                }
            }
        }
    }
    let end = weights.last().into_iter().flatten().zip(t.b).map(|(w, b)| (w - b).abs()).fold(0.0, f64::max);
    if end > MET_DENSE {
        wrong.push(format!("dense output ends {end:.1e} beside the weights of the step"));
    }
    if next <= FAILS_DENSE {
        wrong.push(format!("dense output is of order {} or more, not {}", dense.order + 1, dense.order));
    }
    wrong
}

/// The same conditions for an implicit table, and the assumptions of its driver.
pub fn implicit(t: &dirk::DirkTableau, p: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    let s = t.b.len();
    let a = triangular(t.a, s);
    for (i, c) in t.c.iter().enumerate() {
        if (a.row(i).sum() - c).abs() > MET {
            wrong.push(format!("node {i} is not the sum of its row"));
        }
    }
    if t.a[s - 1] != t.b {
        wrong.push("the last stage is not the step".to_string());
    }
    let diagonal = t.a.iter().enumerate().all(|(i, row)| row.len() == i + 1);
    if diagonal && (1..s).any(|i| a[(i, i)] != a[(s - 1, s - 1)]) {
        wrong.push("the diagonal is not constant".to_string());
    }
    let stages = Stages { one: a.clone(), many: a };
    weights("main weights", &stages, t.b, p, MET, &mut wrong);
    if let Some((b, order)) = t.embedded {
        weights("embedded weights", &stages, b, order as usize, MET, &mut wrong);
    }
    wrong
}

/// A Rosenbrock table in the untransformed variables of Hairer & Wanner II, IV.7.
pub struct Untransformed {
    pub alpha: DMatrix<f64>,
    /// alpha + gamma, diagonal included.
    pub beta: DMatrix<f64>,
    pub b: Vec<f64>,
    pub embedded: Vec<f64>,
}

/// Gamma = (1/gamma I - C)^-1, alpha = A Gamma, b = m Gamma.
pub fn untransform(t: &rosenbrock::RosenbrockTableau) -> Untransformed {
    let s = t.m.len();
    let inverse = DMatrix::identity(s, s) / t.gamma - triangular(t.c, s);
    let gamma = inverse.try_inverse().expect("triangular with 1/gamma on the diagonal");
    let alpha = triangular(t.a, s) * &gamma;
    let row = |m: Vec<f64>| (DVector::from_vec(m).transpose() * &gamma).iter().copied().collect::<Vec<_>>();
    let m = t.m.to_vec();
    let embedded = m.iter().zip(t.error.0).map(|(m, e)| m - e).collect();
    Untransformed { beta: &alpha + &gamma, b: row(m), embedded: row(embedded), alpha }
}

/// Conditions of a Rosenbrock table of declared order `p`, including those of index-1 equations.
pub fn rosenbrock(t: &rosenbrock::RosenbrockTableau, p: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    let u = untransform(t);
    for i in 0..t.m.len() {
        let (alpha, gamma) = (u.alpha.row(i).sum(), (u.beta.row(i) - u.alpha.row(i)).sum());
        if (alpha - t.alpha[i]).abs() > MET_TRANSFORMED || (gamma - t.gammas[i]).abs() > MET_TRANSFORMED {
            wrong.push(format!("stage {i}: the row sums are alpha = {alpha}, gamma = {gamma}"));
        }
    }
    let stages = Stages { one: u.beta, many: u.alpha };
    weights("main weights", &stages, &u.b, p, MET_TRANSFORMED, &mut wrong);
    weights("embedded weights", &stages, &u.embedded, t.error.1 as usize, MET_TRANSFORMED, &mut wrong);
    for order in 1..=p.max(t.algebraic as usize) {
        for tree in dae_trees(order).into_iter().filter(|tree| order <= if tree.fat { t.algebraic as usize } else { p })
        {
            let residual = stages.residual(&u.b, &tree).abs();
            if residual.is_nan() || residual > MET_TRANSFORMED {
                wrong.push(format!("index 1: a tree of order {order} is missed by {residual:.1e}: {tree:?}"));
            }
        }
    }
    if t.algebraic as usize + 1 < p {
        wrong.push(format!("algebraic unknowns of order {} are too rough", t.algebraic));
    }
    let next: Vec<Tree> = dae_trees(t.algebraic as usize + 1).into_iter().filter(|tree| tree.fat).collect();
    if stages.worst(&u.b, &next) <= FAILS {
        wrong.push(format!("index 1: algebraic unknowns are of order {} or more", t.algebraic + 1));
    }
    wrong
}

/// Conditions that the class of the row determines.
pub fn prove(method: &Method) -> Vec<String> {
    let p = method.order as usize;
    match (method.family, method.adaptive) {
        (Family::RungeKutta(t), adaptive) => {
            let mut wrong = runge_kutta(t, p);
            wrong.extend(dense_output(t));
            let orders = (t.embedded.map(|e| e.1), t.second.map(|e| e.1));
            let declared = match adaptive {
                Adaptive::Embedded(order) => (Some(order), None),
                Adaptive::EmbeddedTwo(order, second) => (Some(order), Some(second)),
                _ => (None, None),
            };
            if orders != declared {
                wrong.push("the row and its table disagree on the embedded orders".to_string());
            }
            if t.dense.map_or(3, |dense| dense.order) != method.dense_order {
                wrong.push("the row and its table disagree on the order of dense output".to_string());
            }
            wrong
        }
        (Family::Rosenbrock(t), _) => rosenbrock(t, p),
        (Family::ImplicitRungeKutta(t), _) => implicit(t, p),
        (Family::Splitting(c), _) => mechanics::composition(c.parts),
        (Family::Alpha(p), _) => mechanics::parameters(p),
        // the series of a model is tested with the models that have one
        (Family::ImplicitOneStep { .. } | Family::Multistep | Family::Automatic | Family::Taylor, _) => Vec::new(),
    }
}

#[test]
fn every_table_meets_its_order_conditions() {
    let mut tables = 0;
    for method in method::table() {
        let wrong = prove(method);
        assert!(wrong.is_empty(), "{}: {wrong:#?}", method.name);
        tables += usize::from(matches!(
            method.family,
            Family::RungeKutta(_) | Family::Rosenbrock(_) | Family::ImplicitRungeKutta(_)
        ));
    }
    assert!(tables >= 5, "only {tables} tables were looked at");
}

#[test]
fn trees_are_counted_right() {
    // Number of rooted trees: OEIS A000081.
    let counts: Vec<usize> = (1..=8).map(|p| trees(p).len()).collect();
    assert_eq!(counts, [1, 1, 2, 4, 9, 20, 48, 115]);
    // The sum of 1/gamma over the trees of order p, each times its symmetry p!/(sigma gamma), counts p! orderings: here the
    // densities of the tallest and the bushiest tree.
    for p in 1..=6 {
        let all = trees(p);
        let tallest = all.iter().map(Tree::density).fold(0.0, f64::max);
        assert_eq!(tallest, (1..=p).product::<usize>() as f64);
        assert!(all.iter().any(|t| t.density() == p as f64), "bushy tree of order {p}");
    }
}
