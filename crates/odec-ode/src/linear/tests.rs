//! Tests every factorisation on difficult matrices: empty diagonals, vanishing pivots, scales 24 orders of magnitude apart.

use crate::linear::banded::Banded;
use crate::linear::choice::{Request, SolverKind};
use crate::linear::multifrontal::{Multifrontal, plan_fronts};
use crate::linear::pivoting::pivoting;
use crate::linear::random::Random;
use crate::linear::solver::Solver;
use crate::linear::sparse::Sparse;
use crate::linear::{
    Assembled, Complex, Dense, EliminationCode, EliminationPlan, Eliminator, Factor, LinearSolver, PatternCache,
    RequiredAccuracy, Scalar, band, blocks, ordering,
};
use crate::pattern::Pattern;
use std::cmp::Ordering;
use std::sync::Arc;

/// max_i |b - A x|_i / (|A||x| + |b|)_i.
fn backward_error<S: Scalar>(pattern: &Pattern, values: &[S], x: &[S], b: &[S]) -> f64 {
    let (mut r, mut s) = (b.to_vec(), b.iter().map(|b| b.magnitude()).collect::<Vec<_>>());
    for ((i, j), v) in pattern.positions().zip(values) {
        r[i] -= *v * x[j];
        s[i] += v.magnitude() * x[j].magnitude();
    }
    let error = |(r, s): (&S, &f64)| if r.magnitude() == 0.0 { 0.0 } else { r.magnitude() / s };
    r.iter().zip(&s).map(error).fold(0.0, |a, e| if e > a || e.is_nan() { e } else { a })
}

/// |b - A x| / (|A| |x| + |b|), each in the maximum norm.
fn error_by_norm<S: Scalar>(pattern: &Pattern, values: &[S], x: &[S], b: &[S]) -> f64 {
    let mut r = b.to_vec();
    let mut rows = vec![0.0; b.len()];
    for ((i, j), v) in pattern.positions().zip(values) {
        r[i] -= *v * x[j];
        rows[i] += v.magnitude();
    }
    let largest = |v: &[S]| v.iter().map(|v| v.magnitude()).fold(0.0, f64::max);
    largest(&r) / (rows.iter().copied().fold(0.0, f64::max) * largest(x) + largest(b))
}

fn fronts<S: Scalar>(pattern: &Pattern) -> Box<dyn Factor<S>> {
    Box::new(Multifrontal::new(pattern, plan_fronts(pattern).unwrap()))
}

/// All factorisations for a pattern.
fn factors<S: Scalar>(pattern: &Pattern) -> Vec<Box<dyn Factor<S>>> {
    let (order, width) = band::reverse_cuthill_mckee(pattern);
    let mut all: Vec<Box<dyn Factor<S>>> = vec![
        Box::new(Dense::new(pattern)),
        Box::new(Banded::new(pattern, order.clone(), width)),
        Box::new(Sparse::new(pattern, ordering::minimum_degree(pattern, u64::MAX).unwrap(), u64::MAX)),
        fronts(pattern),
        pivoting(pattern),
    ];
    if (1..=blocks::MAX_BLOCK).contains(&width) {
        all.push(blocks::factor(pattern, order, width));
    }
    all
}

/// Solves with every factorisation; returns how often pivots had to be chosen again.
fn check<S: Scalar>(pattern: &Pattern, values: &[S], b: &[S], what: &str) -> u64 {
    let mut fallbacks = 0;
    for factor in factors(pattern) {
        let kind = factor.report().kind;
        let mut solver = Solver::with(pattern, factor);
        // Twice: the second factorisation keeps the pivots of the first.
        for round in 0..2 {
            solver.values_mut().copy_from_slice(values);
            solver.factor().unwrap_or_else(|c| panic!("{what}, {kind}: no pivot in column {c}"));
            let mut x = b.to_vec();
            solver.solve(&mut x);
            // A factorisation that chooses its pivots by size is not refined: its error is small relative to the
            // largest row.
            let refined = !matches!(solver.report().kind, SolverKind::Dense | SolverKind::Pivoting);
            let error = if refined { backward_error } else { error_by_norm }(pattern, values, &x, b);
            assert!(error <= 1e-10, "{what}, {kind}, round {round}: backward error {error:e}");
        }
        fallbacks += solver.report().fallbacks;
    }
    fallbacks
}

/// A pattern with a transversal that is not always the diagonal.
fn scattered(random: &mut Random, n: usize) -> Pattern {
    let mut permutation: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        permutation.swap(i, random.below(i + 1));
    }
    let extra: Vec<_> = (0..3 * n).map(|_| (random.below(n), random.below(n))).collect();
    Pattern::from_positions(n, n, permutation.iter().copied().enumerate().chain(extra))
}

#[test]
fn random_matrices_without_a_diagonal() {
    let mut random = Random(11);
    for case in 0..60 {
        let n = 2 + random.below(60);
        let pattern = scattered(&mut random, n);
        let values: Vec<f64> = (0..pattern.entries()).map(|_| random.next() - 0.5).collect();
        let b: Vec<f64> = (0..n).map(|_| random.next() - 0.5).collect();
        let mut full = Dense::new(&pattern);
        let regular = full.factor(&Assembled::with(&pattern, values.clone())).is_ok();
        if regular && full.health().pivot_ratio > 1e-8 {
            check(&pattern, &values, &b, &format!("case {case}"));
        }
    }
}

#[test]
fn columns_and_rows_of_very_different_scales() {
    let mut random = Random(5);
    for case in 0..40 {
        let n = 3 + random.below(50);
        // Dominant rows, so that the matrix is regular for all scales.
        let extra: Vec<_> = (0..2 * n).map(|_| (random.below(n), random.below(n))).collect();
        let pattern = Pattern::from_positions(n, n, (0..n).map(|i| (i, i)).chain(extra));
        let rows: Vec<f64> = (0..n).map(|_| random.scale()).collect();
        let columns: Vec<f64> = (0..n).map(|_| random.scale()).collect();
        let value = |(i, j): (usize, usize), random: &mut Random| {
            (if i == j { 20.0 } else { random.next() - 0.5 }) * rows[i] * columns[j]
        };
        let values: Vec<f64> = pattern.positions().map(|at| value(at, &mut random)).collect();
        let b: Vec<f64> = rows.iter().map(|r| r * (random.next() - 0.5)).collect();
        check(&pattern, &values, &b, &format!("case {case}"));
    }
}

#[test]
fn pivots_that_vanish_on_the_way_are_chosen_anew() {
    let mut random = Random(23);
    let mut fallbacks = 0;
    for (case, width) in (0..40).map(|case| (case, 1 + case % 4)) {
        let n = 30 + random.below(30);
        let entries = (0..n).flat_map(|i| (i.saturating_sub(width)..(i + width + 1).min(n)).map(move |j| (i, j)));
        let pattern = Pattern::from_positions(n, n, entries);
        // Diagonals that vanish at once, or after some eliminations: differences of integers are exact.
        let values: Vec<f64> = pattern
            .positions()
            .map(|(i, j)| if i == j && i % 3 != 1 { 0.0 } else { (random.below(5) as f64) - 2.0 })
            .collect();
        let b: Vec<f64> = (0..n).map(|_| random.next() - 0.5).collect();
        let mut full = Dense::new(&pattern);
        let regular = full.factor(&Assembled::with(&pattern, values.clone())).is_ok();
        if regular && full.health().pivot_ratio > 1e-6 {
            fallbacks += check(&pattern, &values, &b, &format!("case {case} of width {width}"));
        }
    }
    assert!(fallbacks > 10, "{fallbacks} fallbacks show nothing");
}

#[test]
fn tiny_pivots_that_a_fixed_order_would_take_are_noticed() {
    // Many weakly coupled copies of [eps 1; 1 1]: elimination with diagonal pivots loses all digits.
    let n = 100;
    let inside = (0..n).flat_map(|i| [(i, i), (i, i ^ 1)]);
    let across = (0..n - 2).flat_map(|i| [(i, i + 2), (i + 2, i)]);
    let pattern = Pattern::from_positions(n, n, inside.chain(across));
    let value = |(i, j): (usize, usize)| match i.abs_diff(j) {
        0 if i % 2 == 0 => 1e-15,
        2 => 1e-3,
        _ => 1.0 + (i as f64) / 300.0,
    };
    let values: Vec<f64> = pattern.positions().map(value).collect();
    let b: Vec<f64> = (0..n).map(|i| 1.0 / (1.0 + i as f64)).collect();
    check(&pattern, &values, &b, "small pivots");
}

#[test]
fn complex_matrices_by_everything() {
    let mut random = Random(3);
    for n in [1, 5, 60] {
        let extra: Vec<_> = (0..2 * n).map(|_| (random.below(n), random.below(n))).collect();
        let pattern = Pattern::from_positions(n, n, (0..n).map(|i| (i, (i + 1) % n)).chain(extra));
        let mut draw = || Complex::new(random.next() - 0.5, random.next() - 0.5);
        let values: Vec<Complex> = (0..pattern.entries()).map(|_| draw()).collect();
        let b: Vec<Complex> = (0..n).map(|_| draw()).collect();
        check(&pattern, &values, &b, &format!("{n} unknowns"));
    }
}

/// Five-point stencil on a periodic or open grid, with unsymmetric values.
fn grid(side: usize) -> (Pattern, Vec<f64>) {
    let at = |x: usize, y: usize| y * side + x;
    let n = side * side;
    let near =
        (0..side).flat_map(|y| (0..side - 1).flat_map(move |x| [(at(x, y), at(x + 1, y)), (at(y, x), at(y, x + 1))]));
    let both = near.flat_map(|(i, j)| [(i, j), (j, i)]);
    let pattern = Pattern::from_positions(n, n, both.chain((0..n).map(|i| (i, i))));
    let value = |(i, j): (usize, usize)| match i.cmp(&j) {
        Ordering::Equal => 4.1,
        Ordering::Less => -1.2,
        Ordering::Greater => -0.8,
    };
    let values = pattern.positions().map(value).collect();
    (pattern, values)
}

#[test]
fn large_grids_are_factored_in_fronts_and_their_fill_is_that_of_a_good_order() {
    let mut fills = Vec::new();
    // Minimum degree is better for small grids, nested dissection for large ones.
    for side in [60, 160, 320] {
        let (pattern, values) = grid(side);
        let n = pattern.cols();
        let mut solver =
            Solver::<f64>::new(&pattern, Request { linear: LinearSolver::Sparse, eliminator: None, clock: None })
                .unwrap();
        assert!(side < 80 || solver.report().kind == SolverKind::Multifrontal, "{}", solver.report());
        solver.values_mut().copy_from_slice(&values);
        solver.factor().unwrap();
        let b: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        let mut x = b.clone();
        solver.solve(&mut x);
        assert!(backward_error(&pattern, &values, &x, &b) <= 1e-14);
        assert_eq!(solver.report().fallbacks, 0);
        // George's bound for nested dissection is 31/4 n log2 n entries in each of L and U; good orders need a
        // quarter of it.
        let n = n as f64;
        fills.push(solver.report().fill as f64 / (n * n.log2()));
        assert!(fills[fills.len() - 1] < 2.0 * 31.0 / 4.0 / 4.0, "{fills:?}");
    }
    // Fill divided by n log n does not grow.
    assert!(fills[2] < 1.1 * fills[1], "{fills:?}");
}

#[test]
fn a_singular_matrix_is_an_error_for_all() {
    let (pattern, mut values) = grid(9);
    for ((i, _), value) in pattern.positions().collect::<Vec<_>>().into_iter().zip(&mut values) {
        if i == 40 {
            *value = 0.0;
        }
    }
    for factor in factors::<f64>(&pattern) {
        let kind = factor.report().kind;
        let mut solver = Solver::with(&pattern, factor);
        solver.values_mut().copy_from_slice(&values);
        let mut x = vec![1.0; pattern.cols()];
        let failed = solver.factor().is_err();
        if !failed {
            solver.solve(&mut x);
        }
        assert!(failed || x.iter().any(|x| !x.is_finite() || x.abs() > 1e12), "{kind}");
    }
}

#[test]
fn an_iteration_chosen_by_auto_is_replaced_when_it_fails() {
    // A grid with a diagonal that oscillates about zero: the matrix is indefinite, and ILU(0) is a poor preconditioner.
    let (pattern, mut values) = grid(60);
    for ((i, j), value) in pattern.positions().zip(&mut values) {
        *value = if i == j { 0.3 * (0.1 + i as f64 * 0.7).sin() } else { (0.9 * i as f64 + 0.4 * j as f64).cos() };
    }
    let n = pattern.cols();
    let weights = vec![1.0; n];
    let b: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
    let run = |linear: LinearSolver| {
        let mut solver = Solver::iterating(&pattern, Request { linear, eliminator: None, clock: None }).unwrap();
        assert!(solver.iterates());
        for tries in 0..6 {
            solver.values_mut().copy_from_slice(&values);
            solver.factor().unwrap();
            let mut x = b.clone();
            if solver.solve_within(&mut x, RequiredAccuracy { weights: &weights, tolerance: 1e-10 }) {
                assert!(backward_error(&pattern, &values, &x, &b) <= 1e-6);
                return (tries, solver.iterates(), solver.report().fallbacks);
            }
        }
        (6, solver.iterates(), solver.report().fallbacks)
    };
    assert_eq!(run(LinearSolver::Auto), (3, false, 1));
    assert_eq!(run(LinearSolver::Krylov), (6, true, 0));
}

/// An eliminator that makes no code but has a cache.
#[derive(Default)]
struct Remembers(PatternCache);

impl Eliminator for Remembers {
    fn compile(&self, _: &EliminationPlan<'_>) -> Option<Arc<dyn EliminationCode>> {
        None
    }

    fn cache(&self) -> &PatternCache {
        &self.0
    }
}

#[test]
fn the_structure_of_incomplete_factors_is_found_once_and_gives_the_same_bits() {
    let (pattern, values) = grid(60);
    let n = pattern.cols();
    let weights = vec![1.0; n];
    let solve = |eliminator: Option<&Arc<dyn Eliminator>>| {
        let mut solver =
            Solver::iterating(&pattern, Request { linear: LinearSolver::Auto, eliminator, clock: None }).unwrap();
        solver.values_mut().copy_from_slice(&values);
        solver.factor().unwrap();
        let mut x: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        assert!(solver.solve_within(&mut x, RequiredAccuracy { weights: &weights, tolerance: 1e-3 }));
        assert!(solver.iterates());
        (x, solver.report())
    };
    let alone = solve(None);
    let remembers: Arc<dyn Eliminator> = Arc::new(Remembers::default());
    assert!(remembers.cache().structure(&pattern, LinearSolver::Auto).is_none());
    assert!(solve(Some(&remembers)) == alone);
    let known = remembers.cache().structure(&pattern, LinearSolver::Auto).unwrap();
    assert!(solve(Some(&remembers)) == alone);
    let still = remembers.cache().structure(&pattern, LinearSolver::Auto).unwrap();
    assert!(Arc::ptr_eq(&known, &still));
    // Another solver or another pattern has its own structure.
    assert!(remembers.cache().structure(&pattern, LinearSolver::Krylov).is_none());
    assert!(remembers.cache().structure(&grid(61).0, LinearSolver::Auto).is_none());
}

/// The solution by an iteration to a tolerance in units of the weights, and its error in the same units.
fn iterated(pattern: &Pattern, values: &[f64], weights: &[f64], tolerance: f64) -> (Vec<f64>, f64) {
    let n = pattern.cols();
    let mut solver =
        Solver::iterating(pattern, Request { linear: LinearSolver::Krylov, eliminator: None, clock: None }).unwrap();
    let mut exact =
        Solver::new(pattern, Request { linear: LinearSolver::Sparse, eliminator: None, clock: None }).unwrap();
    let b: Vec<f64> = (0..n).map(|i| (i as f64).sin() / weights[i]).collect();
    for solver in [&mut solver, &mut exact] {
        solver.values_mut().copy_from_slice(values);
        solver.factor().unwrap();
    }
    let (mut x, mut y) = (b.clone(), b);
    assert!(solver.solve_within(&mut x, RequiredAccuracy { weights, tolerance }));
    exact.solve(&mut y);
    let square = |((x, y), w): ((&f64, &f64), &f64)| ((x - y) * w).powi(2);
    let error = (x.iter().zip(&y).zip(weights).map(square).sum::<f64>() / n as f64).sqrt();
    (x, error)
}

#[test]
fn an_iteration_reaches_any_tolerance_in_any_units() {
    let (pattern, mut values) = grid(40);
    for ((i, j), value) in pattern.positions().zip(&mut values) {
        *value = if i == j { 4.2 } else { -1.0 };
    }
    let n = pattern.cols();
    let equal = vec![1.0; n];
    // Smaller tolerances than a single solution in single precision reaches.
    for tolerance in [1e-2, 1e-5, 1e-8, 1e-11] {
        let (_, error) = iterated(&pattern, &values, &equal, tolerance);
        assert!(error <= 3.0 * tolerance, "{tolerance}: {error}");
    }
    // Unknowns outside the range of single precision, some more than others.
    let (plain, _) = iterated(&pattern, &values, &equal, 1e-3);
    for size in [1e-60, 1e60] {
        let weights: Vec<f64> = (0..n).map(|i| size * 10f64.powf(4.0 * i as f64 / n as f64)).collect();
        let scaled: Vec<f64> =
            pattern.positions().zip(&values).map(|((i, j), value)| value / weights[i] * weights[j]).collect();
        let (x, error) = iterated(&pattern, &scaled, &weights, 1e-3);
        assert!(error <= 3e-3, "{size}: {error}");
        for ((x, w), plain) in x.iter().zip(&weights).zip(&plain) {
            assert!((x * w - plain).abs() < 1e-1, "{} {plain}", x * w);
        }
    }
}

#[test]
fn a_slow_mode_next_to_fast_ones_is_not_lost_by_an_iteration() {
    // alpha is below the rounding of single precision relative to the entries: the smooth part of the solution is
    // meaningless.
    let (pattern, mut values) = grid(40);
    let mut degree = vec![0.0; pattern.cols()];
    for (i, j) in pattern.positions().filter(|(i, j)| i != j) {
        assert!(i != j);
        degree[i] += 1.0;
    }
    let weights = vec![1.0; pattern.cols()];
    for alpha in [1e-2, 1e-5, 1e-7, 1e-9] {
        for ((i, j), value) in pattern.positions().zip(&mut values) {
            *value = if i == j { alpha + degree[i] / 3.0 } else { -1.0 / 3.0 };
        }
        let tolerance = 1e-3 / alpha;
        let (_, error) = iterated(&pattern, &values, &weights, tolerance);
        // The residual estimates the error through incomplete factors, which see less of smooth errors as alpha decreases.
        assert!(error <= 1e2 * tolerance, "{alpha}: {error} beside {tolerance}");
    }
}
