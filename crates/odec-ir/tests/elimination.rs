//! Elimination written out for a pattern, against elimination of the full matrix with pivoting.

use odec_ir::elimination::{Field, MAX_OPERATIONS, PivotOrder, Source};
use odec_ir::interpret::{self, Inputs};
use odec_ir::{KernelRole, Layout, Pattern, Program};

struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    fn permutation(&mut self, n: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..n as u32).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}

fn run(program: &Program, y: &[f64], p: &[f64]) -> Vec<f64> {
    let layout = Layout::of(program);
    let mut out = vec![f64::NAN; layout.outputs_len()];
    interpret::run_on(program, &layout, KernelRole::Outputs, Inputs { t: 0.0, y, p, w: &[] }, &mut out);
    out
}

/// Entries at the pivots, so that the order is possible, and others at random; the pivots are large.
fn matrix(random: &mut Random, rows: &[u32], columns: &[u32]) -> (Pattern, Vec<f64>, Vec<f64>) {
    let n = rows.len();
    let mut entries: Vec<(usize, usize)> = rows.iter().zip(columns).map(|(&i, &j)| (i as usize, j as usize)).collect();
    entries.extend((0..2 * n).map(|_| (random.below(n), random.below(n))));
    let pattern = Pattern::of(n, n, entries);
    let mut values = |pivot: f64| -> Vec<f64> {
        let value = |(i, j): (usize, usize)| {
            let at = rows.iter().position(|&r| r as usize == i);
            let big = at.is_some_and(|k| columns[k] as usize == j);
            2.0 * random.unit() - 1.0 + if big { pivot } else { 0.0 }
        };
        pattern.entries().map(value).collect()
    };
    let (re, im) = (values(6.0), values(0.0));
    (pattern, re, im)
}

#[test]
fn real_systems_are_solved_in_any_order_of_pivots() {
    let mut random = Random(1);
    for n in [1, 2, 3, 5, 8, 13, 30] {
        for trial in 0..20 {
            let fused = trial % 2 == 0;
            let (rows, columns) = (random.permutation(n), random.permutation(n));
            let (pattern, values, _) = matrix(&mut random, &rows, &columns);
            let plan = PivotOrder {
                pattern: &pattern,
                rows: &rows,
                columns: &columns,
                field: Field::Real,
                source: Source::Given,
                fused,
                bound: 1e-10,
            };
            let elimination = plan.eliminate(MAX_OPERATIONS).unwrap();
            let b: Vec<f64> = (0..n).map(|_| random.unit()).collect();
            let factors = run(&elimination.factor, &values, &[]);
            assert_eq!(factors.len(), elimination.factors);
            let x = run(&elimination.solve, &factors, &b);
            let excess = run(&elimination.check, &values, &[&b[..], &x].concat());
            assert!(excess.len() == n && excess.iter().all(|e| *e <= 0.0), "{excess:?}");
            let mut residual = b.clone();
            let mut scale = b.iter().map(|b| b.abs()).collect::<Vec<_>>();
            for ((i, j), a) in pattern.entries().zip(&values) {
                residual[i] -= a * x[j];
                scale[i] += (a * x[j]).abs();
            }
            // an error far above the bound in one component is detected, and so is a NaN
            for (spoilt, size) in
                [(random.below(n), 1e-6), (random.below(n), f64::NAN), (random.below(n), f64::INFINITY)]
            {
                let mut x = x.clone();
                x[spoilt] += size * (1.0 + x[spoilt].abs());
                let excess = run(&elimination.check, &values, &[&b[..], &x].concat());
                assert!(!excess.iter().all(|e| *e <= 0.0), "{size}: {excess:?}");
            }
            for i in 0..n {
                assert!(residual[i].abs() <= 1e-13 * scale[i], "n = {n}: residual {:e} of {:e}", residual[i], scale[i]);
            }
        }
    }
}

#[test]
fn complex_systems_are_solved_as_pairs() {
    let mut random = Random(2);
    for n in [1, 2, 4, 9, 20] {
        let (rows, columns) = (random.permutation(n), random.permutation(n));
        let (pattern, re, im) = matrix(&mut random, &rows, &columns);
        let plan = PivotOrder {
            pattern: &pattern,
            rows: &rows,
            columns: &columns,
            field: Field::Complex,
            source: Source::Given,
            fused: n % 2 == 0,
            bound: 1e-10,
        };
        let elimination = plan.eliminate(MAX_OPERATIONS).unwrap();
        let pairs: Vec<f64> = re.iter().zip(&im).flat_map(|(&re, &im)| [re, im]).collect();
        let b: Vec<f64> = (0..2 * n).map(|_| random.unit()).collect();
        let x = run(&elimination.solve, &run(&elimination.factor, &pairs, &[]), &b);
        let mut residual = b.clone();
        for ((i, j), (re, im)) in pattern.entries().zip(re.iter().zip(&im)) {
            residual[2 * i] -= re * x[2 * j] - im * x[2 * j + 1];
            residual[2 * i + 1] -= re * x[2 * j + 1] + im * x[2 * j];
        }
        assert!(residual.iter().all(|r| r.abs() < 1e-12), "n = {n}: {residual:?}");
    }
}

/// alpha*M - J from its parts: the same numbers as for the formed matrix, real and complex, M with values and without.
#[test]
fn a_shifted_matrix_is_eliminated_from_its_parts() {
    let mut random = Random(3);
    for round in 0..80 {
        let (n, unit, complex) = (1 + round % 9, round % 2 == 0, round % 4 < 2);
        let (rows, columns) = (random.permutation(n), random.permutation(n));
        let (jacobian, j, _) = matrix(&mut random, &rows, &columns);
        let diagonal: Vec<(usize, usize)> = (0..n).filter(|_| unit || random.unit() < 0.8).map(|i| (i, i)).collect();
        let m: Vec<f64> = diagonal.iter().map(|_| if unit { 1.0 } else { 0.5 + random.unit() }).collect();
        let pattern = Pattern::of(n, n, jacobian.entries().chain(diagonal.iter().copied()));
        let entry = |at: (usize, usize)| pattern.entries().position(|e| e == at).unwrap() as u32;
        let of_jacobian: Vec<u32> = jacobian.entries().map(entry).collect();
        let of_mass: Vec<u32> = diagonal.iter().map(|&at| entry(at)).collect();
        let (re, im) = (random.unit() + 0.5, if complex { random.unit() } else { 0.0 });
        let mut pairs = vec![[0.0; 2]; pattern.len()];
        for (&at, j) in of_jacobian.iter().zip(&j) {
            pairs[at as usize][0] -= j;
        }
        for (&at, m) in of_mass.iter().zip(&m) {
            pairs[at as usize][0] += re * m;
            pairs[at as usize][1] += im * m;
        }
        let width = if complex { 2 } else { 1 };
        let narrow = |pairs: &[[f64; 2]]| pairs.iter().flat_map(|p| p[..width].to_vec()).collect::<Vec<f64>>();
        let field = if complex { Field::Complex } else { Field::Real };
        let plan = PivotOrder {
            pattern: &pattern,
            rows: &rows,
            columns: &columns,
            field,
            source: Source::Given,
            fused: n % 2 == 0,
            bound: 1e-10,
        };
        let source = Source::IterationMatrix { jacobian: &of_jacobian, mass: &of_mass, unit };
        let given = plan.eliminate(MAX_OPERATIONS).unwrap();
        let shifted = PivotOrder { source, ..plan }.eliminate(MAX_OPERATIONS).unwrap();
        let mut p = narrow(&[[re, im]]);
        if !unit {
            p.extend(&m);
        }
        let b: Vec<f64> = (0..width * n).map(|_| random.unit()).collect();
        let expected = run(&given.solve, &run(&given.factor, &narrow(&pairs), &[]), &b);
        let x = run(&shifted.solve, &run(&shifted.factor, &j, &p), &b);
        let excess = run(&shifted.check, &j, &[&p[..], &b, &x].concat());
        assert!(excess.len() == n && excess.iter().all(|e| *e <= 0.0), "{excess:?}");
        for i in 0..width * n {
            assert!((x[i] - expected[i]).abs() <= 1e-11 * (1.0 + expected[i].abs()), "{x:?}, {expected:?}");
        }
        // if a value belongs to no entry there is no plan
        let beyond = [pattern.len() as u32];
        let source = Source::IterationMatrix { jacobian: &beyond, mass: &of_mass, unit };
        assert!(PivotOrder { source, ..plan }.eliminate(MAX_OPERATIONS).is_none());
    }
}

#[test]
fn a_zero_pivot_shows_in_the_factors() {
    let pattern = Pattern::of(2, 2, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    let order = [0, 1];
    let plan = PivotOrder {
        pattern: &pattern,
        rows: &order,
        columns: &order,
        field: Field::Real,
        source: Source::Given,
        fused: false,
        bound: 1e-10,
    };
    let elimination = plan.eliminate(MAX_OPERATIONS).unwrap();
    assert!(run(&elimination.factor, &[0.0, 1.0, 1.0, 0.0], &[]).iter().any(|f| !f.is_finite()));
}

#[test]
fn tridiagonal_matrices_take_three_operations_a_row_and_full_ones_are_refused_beyond_the_limit() {
    let n = 50;
    let order: Vec<u32> = (0..n as u32).collect();
    let band = Pattern::of(
        n,
        n,
        (0..n).flat_map(|i| [(i, i), (i, (i + 1) % n), ((i + 1) % n, i)]).filter(|&(i, j)| i.abs_diff(j) < 2),
    );
    let plan = PivotOrder {
        pattern: &band,
        rows: &order,
        columns: &order,
        field: Field::Real,
        source: Source::Given,
        fused: false,
        bound: 1e-10,
    };
    assert_eq!(plan.eliminate(MAX_OPERATIONS).unwrap().operations, 3 * n as u64 - 2);
    let full = Pattern::of(n, n, (0..n).flat_map(|i| (0..n).map(move |j| (i, j))));
    let plan = PivotOrder {
        pattern: &full,
        rows: &order,
        columns: &order,
        field: Field::Real,
        source: Source::Given,
        fused: false,
        bound: 1e-10,
    };
    assert!(plan.eliminate(1000).is_none());
    assert!(PivotOrder { rows: &order[1..], ..plan }.eliminate(u64::MAX).is_none(), "orders of another size");
}
