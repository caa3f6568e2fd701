//! LU by straight-line code: the elimination of this very pattern, with these pivots, written out and compiled by whoever
//! the solver was given for it. The pivots come from a factorisation of the first matrix that chooses them by size.

use std::sync::Arc;

use crate::linear::ordering::Ordering;
use crate::linear::sparse::Sparse;
use crate::linear::{Assembled, Factor, Health, Kind, LinearReport, Scalar};
use crate::pattern::Pattern;

/// What is to be written out.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Entries of the matrix.
    pub pattern: &'a Pattern,
    /// The row that is the k-th pivot row.
    pub rows: &'a [u32],
    /// The column that is the k-th pivot column.
    pub columns: &'a [u32],
    /// Complex numbers, as pairs (real part, imaginary part) in every buffer.
    pub complex: bool,
}

/// Makes code for eliminations.
pub trait Eliminator: Send + Sync {
    /// The code of a plan; `None` where it would be too long, or cannot be made.
    fn compile(&self, plan: &Plan<'_>) -> Option<Arc<dyn Elimination>>;
}

/// Code for one plan.
pub trait Elimination: Send + Sync {
    /// Doubles of the factors.
    fn factors(&self) -> usize;
    /// Values of the matrix, in the order of its pattern, to factors. A vanishing pivot leaves values that are not finite.
    fn factor(&self, values: &[f64], factors: &mut [f64]);
    /// The solution for right side `b` into `x`.
    fn solve(&self, factors: &[f64], b: &[f64], x: &mut [f64]);
}

/// Plans of one matrix that failed for pivots that vanished; beyond, pivots are chosen anew at each such failure instead.
const MAX_PLANS: u32 = 4;

/// Factors by code once the first matrix was seen.
pub(super) struct Straight<S> {
    pattern: Pattern,
    ordering: Ordering,
    eliminator: Arc<dyn Eliminator>,
    /// Factors of the first matrix; in charge for good where no code can be had.
    pivoting: Sparse<S>,
    code: Option<Arc<dyn Elimination>>,
    refused: bool,
    plans: u32,
    limit: u64,
    factors: Vec<f64>,
    values: Vec<f64>,
    b: Vec<f64>,
    x: Vec<f64>,
}

impl<S: Scalar> Straight<S> {
    /// For matrices on the pattern; `limit` bounds the entries of the factors while pivots are chosen.
    pub(super) fn new(pattern: &Pattern, ordering: Ordering, eliminator: &Arc<dyn Eliminator>, limit: u64) -> Self {
        Self::after(pattern, ordering, eliminator, limit, 0)
    }

    fn after(pattern: &Pattern, ordering: Ordering, eliminator: &Arc<dyn Eliminator>, limit: u64, plans: u32) -> Self {
        let n = pattern.cols();
        Straight {
            pattern: pattern.clone(),
            pivoting: Sparse::new(pattern, ordering.clone(), limit),
            ordering,
            eliminator: Arc::clone(eliminator),
            code: None,
            refused: false,
            plans,
            limit,
            factors: Vec::new(),
            values: vec![0.0; S::PARTS * pattern.entries()],
            b: vec![0.0; S::PARTS * n],
            x: vec![0.0; S::PARTS * n],
        }
    }

    /// Makes the code for the pivots of the first factorisation.
    #[cold]
    fn plan(&mut self) {
        let (rows, columns) = self.pivoting.pivots();
        let plan = Plan { pattern: &self.pattern, rows, columns, complex: S::PARTS == 2 };
        self.code = self.eliminator.compile(&plan);
        self.refused = self.code.is_none();
        let factors = self.code.as_ref().map_or(0, |code| code.factors());
        self.factors = vec![0.0; factors];
    }
}

impl<S: Scalar> Factor<S> for Straight<S> {
    fn factor(&mut self, matrix: &Assembled<S>) -> Result<(), usize> {
        if self.code.is_none() {
            self.pivoting.factor(matrix)?;
            if self.refused {
                return Ok(());
            }
            self.plan();
        }
        let Some(code) = &self.code else { return Ok(()) };
        code.factor(S::parts(matrix.values(), &mut self.values), &mut self.factors);
        if self.factors.iter().fold(0.0, |sum, f| sum + f * 0.0) == 0.0 { Ok(()) } else { Err(0) }
    }

    fn solve(&mut self, b: &mut [S]) {
        let Some(code) = &self.code else { return self.pivoting.solve(b) };
        code.solve(&self.factors, S::parts(b, &mut self.b), &mut self.x);
        S::from_parts(&self.x, b);
    }

    fn health(&self) -> Health {
        // the check of the first solution judges these factors
        self.pivoting.health()
    }

    fn report(&self) -> LinearReport {
        let report = self.pivoting.report();
        if self.refused { report } else { LinearReport { kind: Kind::Compiled, ..report } }
    }

    fn pivots_are_fixed(&self) -> bool {
        !self.refused
    }

    fn pivoting(&self, pattern: &Pattern) -> Option<Box<dyn Factor<S>>> {
        let (ordering, plans) = (self.ordering.clone(), self.plans + 1);
        Some(if plans < MAX_PLANS {
            Box::new(Self::after(pattern, ordering, &self.eliminator, self.limit, plans))
        } else {
            Box::new(Sparse::new(pattern, ordering, self.limit))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::choice::{Linear, Request};
    use crate::linear::solver::Solver;
    use std::sync::atomic::{AtomicUsize, Ordering as Atomic};

    /// Eliminates a full matrix in the order of the plan, pivots never looked at: what compiled code does.
    struct Full {
        made: AtomicUsize,
    }

    struct Fixed {
        n: usize,
        entries: Vec<(usize, usize)>,
        rows: Vec<usize>,
        columns: Vec<usize>,
    }

    impl Eliminator for Full {
        fn compile(&self, plan: &Plan<'_>) -> Option<Arc<dyn Elimination>> {
            assert!(!plan.complex);
            self.made.fetch_add(1, Atomic::Relaxed);
            let list = |order: &[u32]| order.iter().map(|&i| i as usize).collect();
            Some(Arc::new(Fixed {
                n: plan.pattern.cols(),
                entries: plan.pattern.positions().collect(),
                rows: list(plan.rows),
                columns: list(plan.columns),
            }))
        }
    }

    impl Elimination for Fixed {
        fn factors(&self) -> usize {
            self.n * self.n
        }

        fn factor(&self, values: &[f64], a: &mut [f64]) {
            let n = self.n;
            let mut full = vec![0.0; n * n];
            for ((i, j), v) in self.entries.iter().zip(values) {
                full[i * n + j] = *v;
            }
            for k in 0..n {
                for l in 0..n {
                    a[k * n + l] = full[self.rows[k] * n + self.columns[l]];
                }
            }
            for k in 0..n {
                for i in k + 1..n {
                    let factor = a[i * n + k] / a[k * n + k];
                    a[i * n + k] = factor;
                    for j in k + 1..n {
                        a[i * n + j] -= factor * a[k * n + j];
                    }
                }
            }
        }

        fn solve(&self, a: &[f64], b: &[f64], x: &mut [f64]) {
            let n = self.n;
            let mut z: Vec<f64> = self.rows.iter().map(|&i| b[i]).collect();
            for i in 0..n {
                for k in 0..i {
                    z[i] -= a[i * n + k] * z[k];
                }
            }
            for i in (0..n).rev() {
                for k in i + 1..n {
                    z[i] -= a[i * n + k] * z[k];
                }
                z[i] /= a[i * n + i];
                x[self.columns[i]] = z[i];
            }
        }
    }

    /// A small generator (SplitMix64), seeded.
    struct Random(u64);

    impl Random {
        fn unit(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        }
        fn below(&mut self, n: usize) -> usize {
            (self.unit() * n as f64) as usize
        }
    }

    fn solver(pattern: &Pattern, code: &Arc<dyn Eliminator>) -> Solver {
        Solver::new(pattern, Request { wish: Linear::Compiled, eliminator: Some(code) }).unwrap()
    }

    /// max_i |b - A x|_i / (|A||x| + |b|)_i.
    fn backward_error(pattern: &Pattern, values: &[f64], x: &[f64], b: &[f64]) -> f64 {
        let (mut r, mut s) = (b.to_vec(), b.iter().map(|b| b.abs()).collect::<Vec<_>>());
        for ((i, j), v) in pattern.positions().zip(values) {
            r[i] -= v * x[j];
            s[i] += (v * x[j]).abs();
        }
        r.iter().zip(&s).map(|(r, s)| if *s == 0.0 { 0.0 } else { r.abs() / s }).fold(0.0, f64::max)
    }

    /// Rows scaled over 24 orders of magnitude, pivots that vanish exactly or nearly from one matrix to the next, rows without a
    /// diagonal: a solution is right, or pivots were chosen anew and then it is, or the matrix is singular.
    #[test]
    fn solutions_are_right_or_pivots_are_chosen_anew() {
        let mut random = Random(5);
        let (mut matrices, mut fallbacks, mut singular) = (0, 0, 0);
        while matrices < 10_000 {
            let n = 2 + random.below(9);
            let empty = random.below(n + 2); // this row has no diagonal
            let mut entries: Vec<(usize, usize)> = (0..n).filter(|&i| i != empty).map(|i| (i, i)).collect();
            entries.extend((0..n).flat_map(|i| [(i, (i + 1) % n), ((i + 1) % n, i)]));
            entries.extend((0..n).map(|_| (random.below(n), random.below(n))).filter(|&(i, j)| i != empty || j != i));
            let pattern = Pattern::from_positions(n, n, entries);
            let code: Arc<dyn Eliminator> = Arc::new(Full { made: AtomicUsize::new(0) });
            let mut solver = solver(&pattern, &code);
            for round in 0..5 {
                let scales: Vec<f64> = (0..n).map(|_| 10f64.powf(24.0 * random.unit() - 12.0)).collect();
                let vanishing = random.below(n);
                let tiny = [0.0, 1e-14, 1e-9][random.below(3)];
                let values: Vec<f64> = pattern
                    .positions()
                    .map(|(i, j)| {
                        let v = scales[i] * (2.0 * random.unit() - 1.0);
                        if round > 0 && i == j && i == vanishing { v * tiny } else { v }
                    })
                    .collect();
                matrices += 1;
                solver.values_mut().copy_from_slice(&values);
                if solver.factor().is_err() {
                    singular += 1;
                    continue;
                }
                let b: Vec<f64> = (0..n).map(|i| scales[i] * (2.0 * random.unit() - 1.0)).collect();
                let mut x = b.clone();
                solver.solve(&mut x);
                if x.iter().any(|x| !x.is_finite()) {
                    singular += 1;
                    continue;
                }
                let error = backward_error(&pattern, &values, &x, &b);
                assert!(error <= 1e-8, "matrix {matrices}: backward error {error:e}");
                // further solutions with the same factors
                let mut again = b.clone();
                solver.solve(&mut again);
                assert!(again.iter().all(|x| x.is_finite()));
            }
            fallbacks += solver.report().fallbacks;
        }
        assert!(fallbacks > 100, "only {fallbacks} times were pivots chosen anew");
        assert!(singular < matrices / 50, "{singular} of {matrices} matrices passed for singular");
    }

    #[test]
    fn plans_are_remade_a_few_times_and_then_no_more() {
        let pattern = Pattern::from_positions(2, 2, [(0, 0), (0, 1), (1, 0), (1, 1)]);
        let full = Arc::new(Full { made: AtomicUsize::new(0) });
        let code: Arc<dyn Eliminator> = full.clone();
        let mut solver = solver(&pattern, &code);
        for round in 0..20 {
            // by columns: the diagonal vanishes in every second matrix, the rest in the others
            let values = if round % 2 == 0 { [1.0, 0.0, 0.0, 1.0] } else { [0.0, 1.0, 1.0, 0.0] };
            solver.values_mut().copy_from_slice(&values);
            solver.factor().unwrap();
            let mut x = [3.0, 5.0];
            solver.solve(&mut x);
            assert_eq!(x, if round % 2 == 0 { [3.0, 5.0] } else { [5.0, 3.0] }, "round {round}");
        }
        assert_eq!(full.made.load(Atomic::Relaxed), MAX_PLANS as usize);
        assert_eq!(solver.report().fallbacks, u64::from(MAX_PLANS));
    }
}
