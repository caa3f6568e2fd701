//! A matrix with its factorisation. If the pivots were not chosen by size, the first solution after a factorisation
//! is checked; if it is inaccurate, a factorisation with pivots chosen by size takes over.

use std::sync::Arc;

use crate::linear::choice::{ANALYSED, DirectOrIterative, LinearReport, Request, automatic, direct, iterating};
use crate::linear::{
    Assembled, EliminationCode, Factor, LinearSolver, Origin, PivotChoice, RequiredAccuracy, Scalar, Unrolled,
};
use crate::pattern::Pattern;
use crate::problem::Refusal;

/// A first solution whose componentwise backward error stays above this after one step of refinement is not accepted.
pub const BACKWARD_ERROR: f64 = 1e-10;

/// A residual up to this size is negligible: in rows of species that have died out, products are smaller than the
/// least double, and other pivots do not help.
pub const NEGLIGIBLE_RESIDUAL: f64 = 1e-290;

/// A matrix, its factors, and the data for checks.
pub(super) struct Solver<S = f64> {
    matrix: Assembled<S>,
    way: DirectOrIterative<S>,
    check: Option<Check<S>>,
    unchecked: bool,
    fallbacks: u64,
    /// For an iterative solver that `auto` chose: the number of failures that remain before a factorisation replaces
    /// it.
    failures_left: Option<u32>,
    /// Time of the analysis in nanoseconds.
    analysis: u64,
}

/// Number of systems that an iterative solver may fail to solve.
const MAX_FAILED_ITERATIONS: u32 = 3;

/// The time since `begun`.
fn since(begun: Option<u64>, request: Request<'_>) -> u64 {
    match (begun, request.clock) {
        (Some(begun), Some(clock)) => clock().saturating_sub(begun),
        _ => 0,
    }
}

/// Memory for the check of a first solution: right-hand side, residual, |A| |x| + |b|.
struct Check<S> {
    b: Vec<S>,
    residual: Vec<S>,
    scale: Vec<f64>,
}

impl<S: Scalar> Check<S> {
    /// True if the backward error of the solution x for the stored right-hand side is small, if necessary after one
    /// step of refinement. Also true if the right-hand side is not finite, since no check is possible then.
    fn settle(&mut self, matrix: &Assembled<S>, x: &mut [S], correct: impl FnOnce(&mut [S])) -> bool {
        let Check { b, residual, scale } = self;
        if matrix.solved(x, b, BACKWARD_ERROR, residual, scale) {
            return true;
        }
        correct(residual);
        for (x, correction) in x.iter_mut().zip(residual.iter()) {
            *x += *correction;
        }
        matrix.solved(x, b, BACKWARD_ERROR, residual, scale) || b.iter().any(|b| !b.magnitude().is_finite())
    }
}

impl<S: Scalar> Solver<S> {
    /// Prepares for matrices on a pattern.
    pub fn new(pattern: &Pattern, request: Request<'_>) -> Result<Self, Refusal> {
        let begun = request.clock.map(|clock| clock());
        let mut solver = Self::with(pattern, direct(pattern, request)?);
        solver.analysis = since(begun, request);
        Ok(solver)
    }

    /// False if an iterative solver did not reach the goal; a factorisation always does.
    pub fn solve_within(&mut self, b: &mut [S], goal: RequiredAccuracy<'_>) -> bool {
        if let DirectOrIterative::Iterative(iteration) = &mut self.way {
            let met = iteration.solve(&self.matrix, b, Some(goal));
            if !met {
                self.count_failure();
            }
            return met;
        }
        self.solve(b);
        true
    }

    /// Reports that solutions were less accurate than expected.
    pub fn report_inaccuracy(&mut self) {
        if let DirectOrIterative::Iterative(iteration) = &mut self.way {
            iteration.report_inaccuracy();
        }
    }

    /// Restores the state after construction; false if the solver must be built again instead.
    pub fn renew(&mut self) -> bool {
        let DirectOrIterative::Iterative(iteration) = &mut self.way else { return false };
        if self.fallbacks > 0 || !iteration.renew() {
            return false;
        }
        self.failures_left = self.failures_left.map(|_| MAX_FAILED_ITERATIONS);
        self.analysis = 0;
        true
    }

    /// Counts a failure of the iteration; after `MAX_FAILED_ITERATIONS` failures a factorisation replaces it. It is made before
    /// the next solution.
    #[cold]
    fn count_failure(&mut self) {
        let Some(failures_left) = &mut self.failures_left else { return };
        *failures_left = failures_left.saturating_sub(1);
        if *failures_left == 0 {
            self.failures_left = None;
            let pattern = self.matrix.pattern();
            if let Ok(factor) = automatic(&pattern, true) {
                let Solver { matrix, fallbacks, .. } = std::mem::replace(self, Self::with(&pattern, factor));
                (self.matrix, self.fallbacks) = (matrix, fallbacks + 1);
            }
        }
    }

    /// True if the solver is iterative.
    pub fn iterates(&self) -> bool {
        matches!(self.way, DirectOrIterative::Iterative(_))
    }

    /// A solver with this factorisation.
    pub(super) fn with(pattern: &Pattern, factor: Box<dyn Factor<S>>) -> Self {
        Self::by(pattern, DirectOrIterative::Direct(factor))
    }

    fn by(pattern: &Pattern, way: DirectOrIterative<S>) -> Self {
        let n = pattern.cols();
        let checked =
            matches!(&way, DirectOrIterative::Direct(factor) if factor.pivot_choice() != PivotChoice::Largest);
        let check = checked.then(|| Check { b: vec![S::ZERO; n], residual: vec![S::ZERO; n], scale: vec![0.0; n] });
        Solver {
            matrix: Assembled::new(pattern),
            way,
            check,
            unchecked: false,
            fallbacks: 0,
            failures_left: None,
            analysis: 0,
        }
    }

    /// The values of the matrix, mutable; set them before [`Solver::factor`].
    pub fn values_mut(&mut self) -> &mut [S] {
        self.matrix.values_mut()
    }

    /// Computes the factors or the preconditioner.
    fn make(&mut self) -> Result<(), usize> {
        match &mut self.way {
            DirectOrIterative::Direct(factor) => factor.factor(&self.matrix),
            DirectOrIterative::Iterative(iteration) => iteration.precondition(&self.matrix),
        }
    }

    /// Factors the matrix with its current values. The error is a column without a pivot.
    pub fn factor(&mut self) -> Result<(), usize> {
        self.unchecked = self.check.is_some();
        match self.make() {
            // Incomplete factors need every diagonal entry; LU does not.
            Err(_) if self.failures_left.is_some() => {
                self.failures_left = Some(1);
                self.count_failure();
                self.unchecked = self.check.is_some();
                self.make()
            }
            Err(column) if self.check.is_some() => self.choose_pivots().unwrap_or(Err(column)),
            result => result,
        }
    }

    /// Tells the solver that the next matrices are alpha*M - J, and to which entries the parts belong.
    pub fn set_origin(&mut self, origin: &Arc<Origin>) {
        if let DirectOrIterative::Direct(factor) = &mut self.way
            && let Some(unrolled) = factor.unrolled_mut()
        {
            unrolled.set_origin(origin);
        }
    }

    /// Its unrolled LU.
    fn unrolled(&self) -> Option<&dyn Unrolled> {
        match &self.way {
            DirectOrIterative::Direct(factor) => factor.unrolled(),
            DirectOrIterative::Iterative(_) => None,
        }
    }

    /// See [`Unrolled::order`].
    pub fn order(&self) -> Option<(&[u32], u64)> {
        Some(self.unrolled()?.order())
    }

    /// Code that factors further matrices from their parts. The caller must check its results. If they are not good
    /// enough, assemble the matrix and choose pivots: [`Solver::without_code`].
    pub fn code(&self) -> Option<Arc<dyn EliminationCode>> {
        self.unrolled()?.code()
    }

    /// Factors the matrix with new pivots, because those of the code are not good enough. The error is a column
    /// without a pivot.
    pub fn without_code(&mut self) -> Result<(), usize> {
        match self.choose_pivots() {
            Some(made) => made,
            None => self.make(),
        }
    }

    /// Replaces `b` by the solution.
    pub fn solve(&mut self, b: &mut [S]) {
        if std::mem::take(&mut self.unchecked) {
            self.solve_checked(b);
            return;
        }
        match &mut self.way {
            DirectOrIterative::Direct(factor) => factor.solve(b),
            DirectOrIterative::Iterative(iteration) => {
                iteration.solve(&self.matrix, b, None);
            }
        }
    }

    /// Switches to a factorisation that chooses its pivots by size, if there is one, and factors.
    #[cold]
    fn choose_pivots(&mut self) -> Option<Result<(), usize>> {
        let DirectOrIterative::Direct(factor) = &mut self.way else { return None };
        *factor = factor.pivoting(&self.matrix.pattern())?;
        self.fallbacks += 1;
        if factor.pivot_choice() == PivotChoice::Largest {
            self.check = None;
        }
        self.unchecked = self.check.is_some();
        Some(factor.factor(&self.matrix))
    }

    fn solve_checked(&mut self, x: &mut [S]) {
        let (Some(check), DirectOrIterative::Direct(factor)) = (&mut self.check, &mut self.way) else {
            return self.solve(x);
        };
        check.b.copy_from_slice(x);
        factor.solve(x);
        if check.settle(&self.matrix, x, |residual| factor.solve(residual)) {
            return;
        }
        if factor.pivot_choice() == PivotChoice::Fixed {
            x.copy_from_slice(&check.b);
            // If the matrix is singular to rounding, the solution is not finite.
            match self.choose_pivots() {
                Some(Ok(())) => self.solve(x),
                _ => x.fill(S::from(f64::NAN)),
            }
        }
    }

    /// Checks a first solution that the factors of another solver gave; `correct` solves for a residual with them.
    /// The matrix must be assembled. False if these factors are not good enough.
    pub fn settle(&mut self, b: &[S], x: &mut [S], correct: impl FnOnce(&mut [S])) -> bool {
        let Some(check) = &mut self.check else { return true };
        check.b.copy_from_slice(b);
        check.settle(&self.matrix, x, correct)
    }

    /// The report about this solver.
    pub fn report(&self) -> LinearReport {
        LinearReport { fallbacks: self.fallbacks, analysis: self.analysis, ..self.way.report() }
    }
}

impl Solver {
    /// Like [`Solver::new`], or an iterative solver if it is requested or promises less work.
    pub fn iterating(pattern: &Pattern, request: Request<'_>) -> Result<Self, Refusal> {
        let begun = request.clock.map(|clock| clock());
        let mut solver = Self::by(pattern, iterating(pattern, request)?);
        solver.analysis = since(begun, request);
        if solver.iterates() && request.linear == LinearSolver::Auto && pattern.cols() <= ANALYSED {
            solver.failures_left = Some(MAX_FAILED_ITERATIONS);
        }
        Ok(solver)
    }
}
