//! Elimination written out for a pattern, against elimination of the full matrix with pivoting.

use odec_ir::elimination::{Field, MAX_OPERATIONS, Plan};
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

/// Entries at the pivots, so that the order is possible, and others at random; large values at the pivots.
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
            let plan = Plan { pattern: &pattern, rows: &rows, columns: &columns, field: Field::Real, fused };
            let elimination = plan.eliminate(MAX_OPERATIONS).unwrap();
            let b: Vec<f64> = (0..n).map(|_| random.unit()).collect();
            let factors = run(&elimination.factor, &values, &[]);
            assert_eq!(factors.len(), elimination.factors);
            let x = run(&elimination.solve, &factors, &b);
            let mut residual = b.clone();
            let mut scale = b.iter().map(|b| b.abs()).collect::<Vec<_>>();
            for ((i, j), a) in pattern.entries().zip(&values) {
                residual[i] -= a * x[j];
                scale[i] += (a * x[j]).abs();
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
    for (n, fused) in [1, 2, 4, 9, 20].into_iter().flat_map(|n| [(n, false), (n, true)]) {
        let (rows, columns) = (random.permutation(n), random.permutation(n));
        let (pattern, re, im) = matrix(&mut random, &rows, &columns);
        let plan = Plan { pattern: &pattern, rows: &rows, columns: &columns, field: Field::Complex, fused };
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

#[test]
fn a_zero_pivot_shows_in_the_factors() {
    let pattern = Pattern::of(2, 2, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    let order = [0, 1];
    let plan = Plan { pattern: &pattern, rows: &order, columns: &order, field: Field::Real, fused: false };
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
    let plan = Plan { pattern: &band, rows: &order, columns: &order, field: Field::Real, fused: false };
    assert_eq!(plan.eliminate(MAX_OPERATIONS).unwrap().operations, 3 * n as u64 - 2);
    let full = Pattern::of(n, n, (0..n).flat_map(|i| (0..n).map(move |j| (i, j))));
    let plan = Plan { pattern: &full, rows: &order, columns: &order, field: Field::Real, fused: false };
    assert!(plan.eliminate(1000).is_none());
    assert!(Plan { rows: &order[1..], ..plan }.eliminate(u64::MAX).is_none(), "orders of another size");
}

#[test]
fn a_product_that_is_subtracted_is_rounded_once_if_asked_for() {
    let pattern = Pattern::of(2, 2, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    let order = [0, 1];
    let last = |fused| {
        let plan = Plan { pattern: &pattern, rows: &order, columns: &order, field: Field::Real, fused };
        let elimination = plan.eliminate(MAX_OPERATIONS).unwrap();
        // columns (1, e), (f, 1): the second pivot is 1 - e*f, whose inverse is the last factor but none
        let (e, f) = (1.0 + f64::EPSILON, 1.0 - f64::EPSILON);
        run(&elimination.factor, &[1.0, e, f, 1.0], &[])[3]
    };
    assert_eq!(last(true), 1.0 / (f64::EPSILON * f64::EPSILON), "e*f is 1 - eps^2");
    assert_eq!(last(false), f64::INFINITY, "which is rounded to 1");
}
