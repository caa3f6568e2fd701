//! Unrolled LU: straight-line code for the elimination of one pattern with given pivots, compiled by the caller's
//! eliminator. A factorisation of the first matrix chooses the pivots by size.

use std::sync::Arc;

use crate::evaluator::all_finite;
use crate::linear::cache::KnownPattern;
use crate::linear::choice::MAX_FILL;
use crate::linear::ordering::Ordering;
use crate::linear::solver::{BACKWARD_ERROR, NEGLIGIBLE_RESIDUAL};
use crate::linear::sparse::Sparse;
use crate::linear::{
    Assembled, Factor, FactorDiagnostics, LinearReport, Parts, PatternCache, PivotChoice, Scalar, SolverKind, Unrolled,
};
use crate::pattern::Pattern;

/// Maps the entries of J and M to entries of the matrix alpha*M - J.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Entry of the matrix for each value of J.
    pub jacobian: Vec<u32>,
    /// Entry of the matrix for each value of M.
    pub mass: Vec<u32>,
    /// True if all values of M are ones; then they are not inputs.
    pub unit: bool,
}

/// The description of an elimination.
#[derive(Clone, Copy, Debug)]
pub struct EliminationPlan<'a> {
    /// Entries of the matrix.
    pub pattern: &'a Pattern,
    /// Pivot rows, in the order of elimination.
    pub rows: &'a [u32],
    /// Pivot columns, in the order of elimination.
    pub columns: &'a [u32],
    /// Complex numbers, as pairs (real part, imaginary part) in every buffer; J and M are real.
    pub complex: bool,
    /// Present if the code reads J and M instead of the matrix alpha*M - J.
    pub origin: Option<&'a Origin>,
    /// The backward error up to which a solution passes [`EliminationCode::check`].
    pub bound: f64,
}

/// Compiles eliminations.
pub trait Eliminator: Send + Sync {
    /// Compiles a plan; `None` if the code would be too long or cannot be made.
    fn compile(&self, plan: &EliminationPlan<'_>) -> Option<Arc<dyn EliminationCode>>;
    /// The cache that runs with this code share.
    fn cache(&self) -> &PatternCache;
}

/// Code for one plan. A matrix is given by its `values` in the order of its pattern and an empty `shift`. For a plan
/// with an [`Origin`], `values` are the values of J, and `shift` is alpha followed by the values of M unless these
/// are ones.
pub trait EliminationCode: Send + Sync {
    /// Number of doubles of the factors.
    fn factors(&self) -> usize;
    /// Factors the matrix. A vanishing pivot leaves values that are not finite.
    fn factor(&self, values: &[f64], shift: &[f64], factors: &mut [f64]);
    /// Writes the solution for the right-hand side `b` to `x`.
    fn solve(&self, factors: &[f64], b: &[f64], x: &mut [f64]);
    /// Checks a solution x of A x = b; `others` is `shift`, then b, then x. Writes |b - A x|_i - bound (|b|_i + |a_i
    /// x_i|) of every row to `excess`, where a_i x_i is the term of the row's pivot. If no value exceeds
    /// [`crate::linear::NEGLIGIBLE_RESIDUAL`], the componentwise backward error is within the bound. The size of a
    /// complex number is |re| + |im|.
    fn check(&self, values: &[f64], others: &[f64], excess: &mut [f64]);
}

/// Code that factors matrices alpha*M - J from J and M.
pub(super) struct Direct {
    code: Arc<dyn EliminationCode>,
    factors: Vec<f64>,
    /// alpha and the values of M, then a right-hand side and a solution.
    others: Vec<f64>,
    shift: usize,
    excess: Vec<f64>,
    b: Vec<f64>,
    x: Vec<f64>,
    /// True if `factors` belong to the last matrix.
    pub in_force: bool,
    /// True until the first solution of the last matrix has been checked.
    pub first: bool,
}

impl Direct {
    /// Working memory for `n` unknowns.
    pub(super) fn new<S: Scalar>(code: Arc<dyn EliminationCode>, origin: &Origin, n: usize) -> Self {
        let shift = S::PARTS + if origin.unit { 0 } else { origin.mass.len() };
        let zeros = |n| vec![0.0; n];
        Direct {
            factors: zeros(code.factors()),
            others: zeros(shift + 2 * S::PARTS * n),
            shift,
            excess: zeros(n),
            b: zeros(S::PARTS * n),
            x: zeros(S::PARTS * n),
            code,
            in_force: false,
            first: false,
        }
    }

    /// Factors a matrix; false if a pivot vanished.
    #[inline]
    pub(super) fn factor<S: Scalar>(&mut self, parts: Parts<'_, S>) -> bool {
        let (alpha, mass) = self.others[..self.shift].split_at_mut(S::PARTS);
        alpha.copy_from_slice(S::parts(&[parts.alpha], &mut [0.0; 2]));
        if let Some(values) = parts.mass {
            mass.copy_from_slice(values);
        }
        self.code.factor(parts.jacobian, &self.others[..self.shift], &mut self.factors);
        self.in_force = all_finite(&self.factors);
        self.first = self.in_force;
        self.in_force
    }

    /// Writes the solution for the right-hand side `b` to `x`.
    #[inline]
    pub(super) fn solve<S: Scalar>(&mut self, b: &[S], x: &mut [S]) {
        let b = S::parts(b, &mut self.b);
        S::fill_parts(x, &mut self.x, |x| self.code.solve(&self.factors, b, x));
    }

    /// Replaces `b` by the solution.
    pub(super) fn correct<S: Scalar>(&mut self, b: &mut [S]) {
        let parts = S::parts(b, &mut self.b);
        self.code.solve(&self.factors, parts, &mut self.x);
        S::from_parts(&self.x, b);
    }

    /// True if the check finds a small backward error. False does not mean that the error is large.
    #[inline]
    pub(super) fn is_accurate<S: Scalar>(&mut self, jacobian: &[f64], b: &[S], x: &[S]) -> bool {
        let (right, solution) = self.others[self.shift..].split_at_mut(self.b.len());
        right.copy_from_slice(S::parts(b, &mut self.b));
        solution.copy_from_slice(S::parts(x, &mut self.x));
        self.code.check(jacobian, &self.others, &mut self.excess);
        let mut small = true;
        for excess in &self.excess {
            small &= *excess <= NEGLIGIBLE_RESIDUAL;
        }
        small
    }
}

/// Limit on the plans of one matrix that fail because pivots vanish; after that, each such failure makes a
/// factorisation choose new pivots.
const MAX_PLANS: u32 = 4;

/// An elimination that uses code after the first matrix.
pub(super) struct UnrolledLu<S> {
    pattern: Pattern,
    ordering: Ordering,
    eliminator: Arc<dyn Eliminator>,
    origin: Option<Arc<Origin>>,
    /// Chooses the pivots; does all the work if no code can be made.
    pivoting: Sparse<S>,
    code: Option<Arc<dyn EliminationCode>>,
    refused: bool,
    plans: u32,
    limit: u64,
    factors: Vec<f64>,
    values: Vec<f64>,
    b: Vec<f64>,
    x: Vec<f64>,
}

impl<S: Scalar> UnrolledLu<S> {
    /// Prepares for matrices on the pattern; `limit` bounds the entries of the factors while pivots are chosen.
    pub(super) fn new(pattern: &Pattern, ordering: Ordering, eliminator: &Arc<dyn Eliminator>, limit: u64) -> Self {
        let n = pattern.cols();
        UnrolledLu {
            pattern: pattern.clone(),
            pivoting: Sparse::new(pattern, ordering.clone(), limit),
            ordering,
            eliminator: Arc::clone(eliminator),
            origin: None,
            code: None,
            refused: false,
            plans: 0,
            limit,
            factors: Vec::new(),
            values: vec![0.0; S::PARTS * pattern.entries()],
            b: vec![0.0; S::PARTS * n],
            x: vec![0.0; S::PARTS * n],
        }
    }

    /// Prepares for matrices of a cached pattern with pivots off the diagonal.
    pub(super) fn of(known: &KnownPattern, eliminator: &Arc<dyn Eliminator>) -> Self {
        Self::new(&known.pattern, known.ordering.clone(), eliminator, MAX_FILL)
    }

    /// Makes the code for the pivots of the first factorisation.
    #[cold]
    fn plan(&mut self) {
        let (rows, columns) = self.pivoting.pivots();
        let origin = self.origin.as_deref();
        let plan = EliminationPlan {
            pattern: &self.pattern,
            rows,
            columns,
            complex: S::PARTS == 2,
            origin,
            bound: BACKWARD_ERROR,
        };
        self.code = self.eliminator.compile(&plan);
        self.refused = self.code.is_none();
        let factors = self.code.as_ref().map_or(0, |code| code.factors());
        self.factors = vec![0.0; factors];
    }
}

impl<S: Scalar> Unrolled for UnrolledLu<S> {
    fn order(&self) -> (&[u32], u64) {
        (&self.ordering.order, self.ordering.fill)
    }

    fn set_origin(&mut self, origin: &Arc<Origin>) {
        // without an entry in J, the code would have no values to read
        if !origin.jacobian.is_empty() && self.code.is_none() {
            self.origin = Some(Arc::clone(origin));
        }
    }

    fn code(&self) -> Option<Arc<dyn EliminationCode>> {
        self.code.clone().filter(|_| self.origin.is_some())
    }
}

impl<S: Scalar> Factor<S> for UnrolledLu<S> {
    fn factor(&mut self, matrix: &Assembled<S>) -> Result<(), usize> {
        // The caller that holds J and M runs code that reads them; an assembled matrix means that new pivots are needed.
        if self.code.is_none() || self.origin.is_some() {
            self.pivoting.factor(matrix)?;
            if self.code.is_none() && !self.refused {
                self.plan();
            }
        }
        let Some(code) = self.code.as_ref().filter(|_| self.origin.is_none()) else { return Ok(()) };
        code.factor(S::parts(matrix.values(), &mut self.values), &[], &mut self.factors);
        if all_finite(&self.factors) { Ok(()) } else { Err(0) }
    }

    fn solve(&mut self, b: &mut [S]) {
        let Some(code) = self.code.as_ref().filter(|_| self.origin.is_none()) else { return self.pivoting.solve(b) };
        code.solve(&self.factors, S::parts(b, &mut self.b), &mut self.x);
        S::from_parts(&self.x, b);
    }

    fn health(&self) -> FactorDiagnostics {
        // The check of the first solution checks these factors.
        self.pivoting.health()
    }

    fn report(&self) -> LinearReport {
        let report = self.pivoting.report();
        if self.refused { report } else { LinearReport { kind: SolverKind::Compiled, ..report } }
    }

    fn pivot_choice(&self) -> PivotChoice {
        if self.refused { PivotChoice::Largest } else { PivotChoice::Fixed }
    }

    fn pivoting(&self, pattern: &Pattern) -> Option<Box<dyn Factor<S>>> {
        let (ordering, plans) = (self.ordering.clone(), self.plans + 1);
        Some(if plans < MAX_PLANS {
            let mut next = Self::new(pattern, ordering, &self.eliminator, self.limit);
            next.plans = plans;
            if let Some(origin) = &self.origin {
                next.set_origin(origin);
            }
            Box::new(next)
        } else {
            Box::new(Sparse::new(pattern, ordering, self.limit))
        })
    }

    fn unrolled(&self) -> Option<&dyn Unrolled> {
        Some(self)
    }

    fn unrolled_mut(&mut self) -> Option<&mut dyn Unrolled> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::MassMatrix;
    use crate::linear::choice::{LinearSolver, Request};
    use crate::linear::full::Full;
    use crate::linear::iteration_matrix::Make;
    use crate::linear::random::Random;
    use crate::linear::solver::Solver;
    use std::sync::atomic::{AtomicUsize, Ordering as Atomic};

    /// Eliminates a full matrix in the order of the plan without checking pivots, like compiled code.
    #[derive(Default)]
    struct Writer {
        made: AtomicUsize,
        cache: PatternCache,
    }

    struct Fixed {
        n: usize,
        entries: Vec<(usize, usize)>,
        rows: Vec<usize>,
        columns: Vec<usize>,
        origin: Option<Origin>,
        bound: f64,
    }

    impl Eliminator for Writer {
        fn cache(&self) -> &PatternCache {
            &self.cache
        }

        fn compile(&self, plan: &EliminationPlan<'_>) -> Option<Arc<dyn EliminationCode>> {
            assert!(!plan.complex);
            self.made.fetch_add(1, Atomic::Relaxed);
            let list = |order: &[u32]| order.iter().map(|&i| i as usize).collect();
            Some(Arc::new(Fixed {
                n: plan.pattern.cols(),
                entries: plan.pattern.positions().collect(),
                rows: list(plan.rows),
                columns: list(plan.columns),
                origin: plan.origin.cloned(),
                bound: plan.bound,
            }))
        }
    }

    impl Fixed {
        /// The values of the assembled matrix.
        fn formed(&self, values: &[f64], shift: &[f64]) -> Vec<f64> {
            let Some(Origin { jacobian, mass, unit }) = &self.origin else { return values.to_vec() };
            let mut formed = vec![0.0; self.entries.len()];
            for (&at, j) in jacobian.iter().zip(values) {
                formed[at as usize] -= j;
            }
            for (k, &at) in mass.iter().enumerate() {
                formed[at as usize] += shift[0] * if *unit { 1.0 } else { shift[1 + k] };
            }
            formed
        }
    }

    impl EliminationCode for Fixed {
        fn check(&self, values: &[f64], others: &[f64], excess: &mut [f64]) {
            let (shift, vectors) = others.split_at(others.len() - 2 * self.n);
            let (b, x) = vectors.split_at(self.n);
            let mut residual = b.to_vec();
            for ((i, j), v) in self.entries.iter().zip(self.formed(values, shift)) {
                residual[*i] -= v * x[*j];
            }
            for i in 0..self.n {
                excess[i] = residual[i].abs() - self.bound * b[i].abs();
            }
        }

        fn factors(&self) -> usize {
            self.n * self.n
        }

        fn factor(&self, values: &[f64], shift: &[f64], a: &mut [f64]) {
            let n = self.n;
            let mut full = vec![0.0; n * n];
            for ((i, j), v) in self.entries.iter().zip(self.formed(values, shift)) {
                full[i * n + j] = v;
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

    fn solver(pattern: &Pattern, code: &Arc<dyn Eliminator>) -> Solver {
        Solver::new(pattern, Request { linear: LinearSolver::Compiled, eliminator: Some(code), clock: None }).unwrap()
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

    /// A ring with additional entries; mostly, one row has no diagonal entry.
    fn without_a_diagonal(n: usize, random: &mut Random) -> Pattern {
        let empty = random.below(n + 2);
        let mut entries: Vec<(usize, usize)> = (0..n).filter(|&i| i != empty).map(|i| (i, i)).collect();
        entries.extend((0..n).flat_map(|i| [(i, (i + 1) % n), ((i + 1) % n, i)]));
        entries.extend((0..n).map(|_| (random.below(n), random.below(n))).filter(|&(i, j)| i != empty || j != i));
        Pattern::from_positions(n, n, entries)
    }

    /// Entries scaled by rows; one diagonal entry vanishes exactly or nearly.
    fn values(pattern: &Pattern, scales: &[f64], vanishes: bool, random: &mut Random) -> Vec<f64> {
        let vanishing = random.below(scales.len());
        let tiny = [0.0, 1e-14, 1e-9][random.below(3)];
        let value = |(i, j): (usize, usize)| {
            let v = scales[i] * (2.0 * random.next() - 1.0);
            if vanishes && i == j && i == vanishing { v * tiny } else { v }
        };
        pattern.positions().map(value).collect()
    }

    /// Rows scaled over 24 orders of magnitude, pivots that vanish exactly or nearly from one matrix to the next,
    /// rows without a diagonal: each solution is right, if necessary after new pivots, or the matrix is singular.
    #[test]
    fn solutions_are_right_or_pivots_are_chosen_anew() {
        let mut random = Random(5);
        let (mut matrices, mut fallbacks, mut singular) = (0, [0; 3], 0);
        while matrices < 10_000 {
            let n = 2 + random.below(9);
            let pattern = without_a_diagonal(n, &mut random);
            let code: Arc<dyn Eliminator> = Arc::new(Writer::default());
            // two thirds of the matrices are given as alpha*M - J, with M = I or with an entry of M in every second row
            let (apart, unit) = (matrices % 3 > 0, matrices % 3 == 2);
            let pattern = if unit {
                Pattern::from_positions(n, n, pattern.positions().chain((0..n).map(|i| (i, i))))
            } else {
                pattern
            };
            let places: Vec<(usize, usize)> =
                if unit { (0..n).map(|i| (i, i)).collect() } else { pattern.positions().step_by(2).collect() };
            let masses = Pattern::from_positions(n, n, places.iter().copied());
            let request = Request { linear: LinearSolver::Compiled, eliminator: Some(&code), clock: None };
            let mut formed = solver(&pattern, &code);
            let mass = if unit {
                MassMatrix::Identity
            } else {
                MassMatrix::Constant(Assembled::with(&masses, vec![1.0; masses.entries()]))
            };
            let make = Make { solver: &|pattern| Solver::new(pattern, request), request };
            let mut parted = Full::new(n, &pattern, &mass, make).unwrap();
            let mut held = vec![0.0; pattern.entries()];
            for round in 0..5 {
                let scales: Vec<f64> = (0..n).map(|_| random.scale()).collect();
                let (alpha, mut values) = (1.0, values(&pattern, &scales, round > 0, &mut random));
                matrices += 1;
                let weight =
                    |i: usize, random: &mut Random| if unit { 1.0 } else { scales[i] * (2.0 * random.next() - 1.0) };
                let moved: Vec<f64> = places.iter().map(|&(i, _)| weight(i, &mut random)).collect();
                for (j, v) in held.iter_mut().zip(&values) {
                    *j = -v;
                }
                for (at, m) in places.iter().zip(&moved) {
                    let entry = pattern.find(at.0, at.1).unwrap();
                    held[entry] += m;
                    values[entry] = if apart { alpha * m - held[entry] } else { values[entry] };
                }
                let parts = Parts { alpha, jacobian: &held, mass: (!unit).then_some(&moved) };
                formed.values_mut().copy_from_slice(&values);
                if if apart { parted.factor(parts) } else { formed.factor() }.is_err() {
                    singular += 1;
                    continue;
                }
                let b: Vec<f64> = (0..n).map(|i| scales[i] * (2.0 * random.next() - 1.0)).collect();
                let mut x = b.clone();
                if apart {
                    parted.solve_to(parts, &b, &mut x);
                } else {
                    formed.solve(&mut x);
                }
                if x.iter().any(|x| !x.is_finite()) {
                    singular += 1;
                    continue;
                }
                let error = backward_error(&pattern, &values, &x, &b);
                assert!(error <= 1e-8, "matrix {matrices}: backward error {error:e}");
                // further solutions with the same factors
                let mut again = b.clone();
                if apart {
                    parted.solve(parts, &mut again);
                } else {
                    formed.solve(&mut again);
                }
                assert!(again.iter().all(|x| x.is_finite()));
            }
            fallbacks[usize::from(apart) + usize::from(unit)] +=
                if apart { parted.report() } else { formed.report() }.fallbacks;
        }
        assert!(fallbacks.iter().all(|f| *f > 50), "only {fallbacks:?} times were pivots chosen anew");
        assert!(singular < matrices / 50, "{singular} of {matrices} matrices passed for singular");
    }

    #[test]
    fn plans_are_remade_a_few_times_and_then_no_more() {
        let pattern = Pattern::from_positions(2, 2, [(0, 0), (0, 1), (1, 0), (1, 1)]);
        let full = Arc::new(Writer::default());
        let code: Arc<dyn Eliminator> = full.clone();
        let mut solver = solver(&pattern, &code);
        for round in 0..20 {
            // by columns: the diagonal vanishes in every second matrix, the other entries vanish in the rest
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
