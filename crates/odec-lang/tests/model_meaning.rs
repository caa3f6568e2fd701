//! Meaning of models: the numbers from their kernels, for every rule of the language that determines them.

use odec_ir::layout::Layout;
use odec_ir::{KernelRole, Program, Role, interpret};
use odec_lang::source::Source;
use odec_lang::{Model, Overrides};

fn model(text: &str) -> Model {
    let checked = odec_lang::check(&Source::new("m.ode", text));
    checked.model.unwrap_or_else(|| panic!("{text}\n{:?}", checked.diagnostics))
}

struct Values {
    program: Program,
    p: Vec<f64>,
    y: Vec<f64>,
}

fn with(text: &str, overrides: &Overrides) -> Values {
    let program = odec_lang::lower(&model(text), overrides).unwrap_or_else(|e| panic!("{e:?}"));
    let layout = Layout::of(&program);
    let mut p: Vec<f64> = program.arrays.iter().filter(|a| a.role == Role::Parameter).map(|a| a.default).collect();
    p.resize(p.len() + layout.staged, 0.0);
    let before = p.clone();
    interpret::run(&program, KernelRole::Prepare, 0.0, &[], &before, &[], &mut p);
    let mut y = vec![f64::NAN; layout.n];
    interpret::run(&program, KernelRole::Initial, 0.0, &[], &p, &[], &mut y);
    Values { program, p, y }
}

fn lowered(text: &str) -> Values {
    with(text, &Overrides::default())
}

impl Values {
    /// f at a point, by the names of the states in the order of the solver.
    fn rhs(&self, t: f64, y: &[f64]) -> Vec<f64> {
        let mut out = vec![f64::NAN; y.len()];
        interpret::run(&self.program, KernelRole::Rhs, t, y, &self.p, &[], &mut out);
        out
    }

    fn outputs(&self, t: f64, y: &[f64]) -> Vec<f64> {
        let mut out = vec![f64::NAN; Layout::of(&self.program).outputs];
        interpret::run(&self.program, KernelRole::Outputs, t, y, &self.p, &[], &mut out);
        out
    }

    /// M as a dense matrix.
    fn mass(&self) -> Vec<Vec<f64>> {
        let n = self.y.len();
        let mut dense = vec![vec![0.0; n]; n];
        if let Some(pattern) = &self.program.mass {
            let mut values = vec![f64::NAN; pattern.row_idx.len()];
            interpret::run(&self.program, KernelRole::Mass, 0.0, &[], &self.p, &[], &mut values);
            for (j, ends) in pattern.col_ptr.windows(2).enumerate() {
                for k in ends[0] as usize..ends[1] as usize {
                    dense[pattern.row_idx[k] as usize][j] = values[k];
                }
            }
        }
        dense
    }
}

fn close(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len(), "{a:?} {b:?}");
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= 1e-12 * (1.0 + y.abs()), "{a:?} is not {b:?}");
    }
}

#[test]
fn robertson() {
    let text = "param k1 = 0.04, k2 = 3e7, k3 = 1e4\nstate A = 1\nstate B, C = 0\nslow = k1*A\nback = k3*B*C\nfast = k2*B^2\n\
                A' = -slow + back\nB' = slow - back - fast\nC' = fast\noutput total = A + B + C";
    let v = lowered(text);
    close(&v.y, &[1.0, 0.0, 0.0]);
    let (a, b, c) = (0.7, 1e-5, 0.3);
    let rates = [-0.04 * a + 1e4 * b * c, 0.04 * a - 1e4 * b * c - 3e7 * b * b, 3e7 * b * b];
    close(&v.rhs(0.0, &[a, b, c]), &rates);
    close(&v.outputs(0.0, &[a, b, c]), &[1.00001]);
    assert!(v.program.mass.is_none());
}

#[test]
fn second_order_is_divided_by_its_factor_and_keeps_its_pair() {
    let v = lowered("param m = 2, c = 3, k = 5\nstate x = 1, x' = 4\nm*x'' + c*x' + k*x = 7*sin(t)");
    assert_eq!(v.program.arrays[3].role, Role::Position);
    assert_eq!(v.program.arrays[4].role, Role::Velocity);
    close(&v.y, &[1.0, 4.0]);
    close(&v.rhs(0.5, &[1.0, 4.0]), &[4.0, (7.0 * 0.5f64.sin() - 12.0 - 5.0) / 2.0]);
}

#[test]
fn orders_above_two_are_chains() {
    let v = lowered("state x = 1, x' = 2, x'' = 3, x''' = 4\nx'''' + 2*x''' = x'' - x");
    close(&v.y, &[1.0, 2.0, 3.0, 4.0]);
    close(&v.rhs(0.0, &[1.0, 2.0, 3.0, 4.0]), &[2.0, 3.0, 4.0, 3.0 - 1.0 - 8.0]);
    assert!(v.program.arrays.iter().all(|a| a.role == Role::FirstOrder));
}

#[test]
fn all_notations_of_a_derivative_mean_the_same() {
    let expected = lowered("state x = 2\nx' = -3*x").rhs(0.0, &[2.0]);
    for left in ["der(x)", "d/dt(x)", "dx/dt", "1*x'", "-(-x')", "x' + 0"] {
        close(&lowered(&format!("state x = 2\n{left} = -3*x")).rhs(0.0, &[2.0]), &expected);
    }
    close(&lowered("state x = 2, x' = 1\nder(x') = -3*x").rhs(0.0, &[2.0, 1.0]), &[1.0, -6.0]);
    close(&lowered("time s\nstate x = 2\ndx/ds = -3*x + s").rhs(1.0, &[2.0]), &[-5.0]);
    // If the names are declared, it is a quotient.
    close(&lowered("param dx = 8, dt = 4\nstate x = 2\nx' = dx/dt").rhs(0.0, &[2.0]), &[2.0]);
}

#[test]
fn a_derivative_on_a_right_side_means_its_right_side() {
    let v = lowered("state A = 1, B = 2\nB' = A' + 1\nA' = -2*A\noutput B', twice = 2*A'");
    close(&v.rhs(0.0, &[1.0, 2.0]), &[-2.0, -1.0]);
    close(&v.outputs(0.0, &[1.0, 2.0]), &[-1.0, -4.0]);
    // A permutation: the first line gives B', the second A'.
    let v = lowered("state A = 1, B = 2\n2*A' + B' = 3\nA' = B");
    close(&v.rhs(0.0, &[1.0, 2.0]), &[2.0, -1.0]);
    let v = lowered("state A = 1, B = 2\nforce = 3*A' - t\nA' = B\nB' = force");
    close(&v.rhs(1.0, &[1.0, 2.0]), &[2.0, 5.0]);
}

#[test]
fn constant_coupled_factors_give_a_mass_matrix() {
    let v = lowered("param a = 2\nstate x = 1, y = 1, z = 1\na*x' + y' = x\nx' - y' = y*z\nz' = x' + 1");
    let m = v.mass();
    assert_eq!(m, vec![vec![2.0, 1.0, 0.0], vec![1.0, -1.0, 0.0], vec![-1.0, 0.0, 1.0]]);
    close(&v.rhs(0.0, &[3.0, 4.0, 5.0]), &[3.0, 20.0, 1.0]);
}

#[test]
fn a_singular_mass_matrix_is_kept() {
    let text = "param C1 = 1e-6, R = 9000\nstate y1 = 0, y2 = 3\n-C1*y1' + C1*y2' = y1/R\nC1*y1' - C1*y2' = y2/R - 1";
    let v = lowered(text);
    let c = 1e-6;
    assert_eq!(v.mass(), vec![vec![-c, c], vec![c, -c]]);
    close(&v.rhs(0.0, &[9.0, 18.0]), &[0.001, 0.002 - 1.0]);
}

#[test]
fn factors_that_depend_on_the_state_are_solved_for() {
    // The double pendulum: both equations solved together.
    let text = "param m1, m2 = 1, l1, l2 = 1, g = 9.81\nstate a = pi/2, a' = 0\nstate b = pi/2, b' = 0\n\
        (m1 + m2)*l1*a'' + m2*l2*b''*cos(a - b) = -m2*l2*b'^2*sin(a - b) - (m1 + m2)*g*sin(a)\n\
        l1*a''*cos(a - b) + l2*b'' = l1*a'^2*sin(a - b) - g*sin(b)\noutput accel = a''";
    let v = lowered(text);
    // The solver's order: positions, then velocities.
    let y = [0.3, -0.4, 0.7, 1.1];
    let out = v.rhs(0.0, &y);
    let (a, b, va, vb, g) = (y[0], y[1], y[2], y[3], 9.81);
    let (qa, qb) = (out[2], out[3]);
    let (s, c) = (a - b).sin_cos();
    close(&[2.0 * qa + qb * c, qa * c + qb], &[-vb * vb * s - 2.0 * g * a.sin(), va * va * s - g * b.sin()]);
    close(&v.outputs(0.0, &y), &[qa]);
    // Three equations, with time in a factor.
    let text = "state x = 1, y = 1, z = 1\nx' + t*y' = 1\ny' + t*z' = x\nz' + t*x' = y";
    let v = lowered(text);
    let (t, y) = (0.5, [2.0, 3.0, 4.0]);
    let r = v.rhs(t, &y);
    close(&[r[0] + t * r[1], r[1] + t * r[2], r[2] + t * r[0]], &[1.0, 2.0, 3.0]);
    assert!(v.program.mass.is_none());
}

#[test]
fn start_values_stand_for_themselves_and_follow_overrides() {
    let text =
        "param k = 2\nfn g(u) = u + 1\nstate x = k, y = g(z)*x, z = rate\nrate = 3*x\nx' = -x\ny' = 0*t\nz' = 0*x";
    close(&lowered(text).y, &[2.0, 14.0, 6.0]);
    let set = |values: &[(&str, f64)]| Overrides {
        values: values.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect(),
        ..Overrides::default()
    };
    close(&with(text, &set(&[("k", 1.0)])).y, &[1.0, 4.0, 3.0]);
    close(&with(text, &set(&[("z", 0.0), ("x", 5.0)])).y, &[5.0, 5.0, 0.0]);
    let text =
        "const N = 3\nparam k = 2*N\nstate x = 1, x' = k\nx'' = -N*x\nparams fast { k = 10; x = 4; x' = 5*N + 15 }";
    close(&with(text, &set(&[("N", 4.0)])).y, &[1.0, 8.0]);
    let fast =
        Overrides { params: Some("fast".to_owned()), values: vec![("k".to_owned(), 11.0)], ..Overrides::default() };
    let v = with(text, &fast);
    assert_eq!(v.p[0], 11.0);
    close(&v.y, &[4.0, 30.0]);
}

#[test]
fn functions_comparisons_and_choices() {
    let cases = [
        ("20*(5 < t < 5.05)", 5.01, 20.0),
        ("20*(5 < t < 5.05)", 5.06, 0.0),
        ("if t < 1 then 0 else if t < 3 then (t - 1)/2 else 1", 2.0, 0.5),
        ("min(t, 3, 2)", 4.0, 2.0),
        ("max(1, t, 2)", 4.0, 4.0),
        ("log(exp(t))", 1.5, 1.5),
        ("-t^2", 3.0, -9.0),
        ("2^3^2", 0.0, 512.0),
        ("2^-t", 1.0, 0.5),
        ("not (t > 1) or t >= 4 and t < 5", 4.5, 1.0),
        ("hill(t, 2, 3)", 2.0, 0.5),
        ("π - pi + 1/inf", 0.0, 0.0),
        ("1/2", 0.0, 0.5),
    ];
    for (text, t, value) in cases {
        let v = lowered(&format!(
            "fn hill(x, K, n) = power(x, n)/(power(K, n) + power(x, n))\nfn power(a, b) = a^b\nstate x = 1\nx' = {text}"
        ));
        close(&v.rhs(t, &[1.0]), &[value]);
    }
}

#[test]
fn names_have_lists_of_their_own() {
    let text = "param gamma = 3, S = 1, N = 2, e = 0.5, sum = 1, in = 4 in 0..5, rtol = 7, bdf = 2\nstate run = 1\n\
        run' = gamma(3)*gamma + S + N + e + sum + in + rtol*bdf\nrun { t = 0 .. bdf; method = bdf; rtol = 1e-6 }";
    close(&lowered(text).rhs(0.0, &[1.0]), &[2.0 * 3.0 + 1.0 + 2.0 + 0.5 + 1.0 + 4.0 + 14.0]);
}

#[test]
fn more_coupled_factors_than_determinants_take_become_a_mass_matrix_of_the_state() {
    let text = "state a = 1, a' = 0\nstate b = 2, c = 3, d = 4, e = 5\noutput r = b' + a''\n\
        (2 + a^2)*a'' + cos(b)*b' + c' + d' = a'\nb' + t*c' = b\nc' + d*e' = c\nd' + a'' = d\ne' + b*b' + a'' = 1";
    let v = lowered(text);
    assert!(v.program.mass_varies() && v.program.outputs_read_rates());
    // The solver's order: a, a', then b, c, d, e.
    let (t, y) = (0.5, [1.5, 0.2, 2.0, 3.0, 4.0, 5.0]);
    let pattern = v.program.mass.clone().unwrap();
    let mut values = vec![0.0; pattern.len()];
    interpret::run(&v.program, KernelRole::Mass, t, &y, &v.p, &[], &mut values);
    let mut m = vec![vec![0.0; 6]; 6];
    pattern.entries().zip(&values).for_each(|((i, j), x)| m[i][j] = *x);
    assert_eq!(m[0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(m[1], [0.0, 2.0 + 1.5 * 1.5, 2f64.cos(), 1.0, 1.0, 0.0]);
    assert_eq!(m[5], [0.0, 1.0, 2.0, 0.0, 0.0, 1.0]);
    close(&v.rhs(t, &y), &[0.2, 0.2, 2.0, 3.0, 4.0, 1.0]);
    let w = [0.0, 10.0, 20.0, 0.0, 0.0, 0.0];
    let mut out = [0.0];
    interpret::run(&v.program, KernelRole::Outputs, t, &y, &v.p, &w, &mut out);
    assert_eq!(out, [30.0]);
}
