//! A matrix with its factorisation: forms no opinion of what is in it, but checks the first solution after a factorisation
//! whose pivots were not chosen by size, and falls back to one whose pivots are.

use std::sync::Arc;

use crate::linear::choice::{ANALYSED, DirectOrIterative, LinearReport, Request, automatic, direct, iterating};
use crate::linear::{Assembled, Elimination, Factor, Goal, LinearSolver, Origin, PivotChoice, Scalar, Unrolled};
use crate::pattern::Pattern;
use crate::problem::Refusal;

/// A first solution whose componentwise backward error stays above this after one step of refinement is not accepted.
pub const BACKWARD_ERROR: f64 = 1e-10;

/// A residual up to this size counts as none: rows of species that have died out hold numbers whose products are below the least one, and no pivots mend that.
pub const NEGLIGIBLE_RESIDUAL: f64 = 1e-290;

/// Matrix, factors, and what is needed to look after them.
pub(super) struct Solver<S = f64> {
    matrix: Assembled<S>,
    way: DirectOrIterative<S>,
    check: Option<Check<S>>,
    unchecked: bool,
    fallbacks: u64,
    /// For an iterative solver that was chosen without a request: how many failures remain before a factorisation
    /// replaces it.
    patience: Option<u32>,
    /// Nanoseconds that it took to plan.
    analysis: u64,
}

/// Systems that an iteration may fail to solve.
const PATIENCE: u32 = 3;

/// The time that has gone by.
fn since(begun: Option<u64>, request: Request<'_>) -> u64 {
    match (begun, request.clock) {
        (Some(begun), Some(clock)) => clock().saturating_sub(begun),
        _ => 0,
    }
}

/// Room for the check of a first solution: right side, residual, |A| |x| + |b|.
struct Check<S> {
    b: Vec<S>,
    residual: Vec<S>,
    scale: Vec<f64>,
}

impl<S: Scalar> Check<S> {
    /// True where the backward error of the solution x for the right side held is small, if need be after one step of refinement,
    /// or where nothing can be said because the right side is not finite.
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
    /// For matrices on a pattern.
    pub fn new(pattern: &Pattern, request: Request<'_>) -> Result<Self, Refusal> {
        let begun = request.clock.map(|clock| clock());
        let mut solver = Self::with(pattern, direct(pattern, request)?);
        solver.analysis = since(begun, request);
        Ok(solver)
    }

    /// False where an iteration did not reach the goal; a factorisation always does.
    pub fn solve_within(&mut self, b: &mut [S], goal: Goal<'_>) -> bool {
        if let DirectOrIterative::Iterative(iteration) = &mut self.way {
            let met = iteration.solve(&self.matrix, b, Some(goal));
            if !met {
                self.lose_patience();
            }
            return met;
        }
        self.solve(b);
        true
    }

    /// Reports that solutions were worse than expected.
    pub fn doubt(&mut self) {
        if let DirectOrIterative::Iterative(iteration) = &mut self.way {
            iteration.doubt();
        }
    }

    /// Makes it what it was when it was built; false where it has to be built anew for that.
    pub fn renew(&mut self) -> bool {
        let DirectOrIterative::Iterative(iteration) = &mut self.way else { return false };
        if self.fallbacks > 0 || !iteration.renew() {
            return false;
        }
        self.patience = self.patience.map(|_| PATIENCE);
        self.analysis = 0;
        true
    }

    /// Notes a failure of the iteration; after some, a factorisation takes its place, to be made before the next solution.
    #[cold]
    fn lose_patience(&mut self) {
        let Some(patience) = &mut self.patience else { return };
        *patience = patience.saturating_sub(1);
        if *patience == 0 {
            self.patience = None;
            let pattern = self.matrix.pattern();
            if let Ok(factor) = automatic(&pattern, true) {
                let Solver { matrix, fallbacks, .. } = std::mem::replace(self, Self::with(&pattern, factor));
                (self.matrix, self.fallbacks) = (matrix, fallbacks + 1);
            }
        }
    }

    /// True where solutions are iterated for.
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
            patience: None,
            analysis: 0,
        }
    }

    /// The values of the matrix, to be changed before [`Solver::factor`].
    pub fn values_mut(&mut self) -> &mut [S] {
        self.matrix.values_mut()
    }

    /// Makes factors or the preconditioner.
    fn make(&mut self) -> Result<(), usize> {
        match &mut self.way {
            DirectOrIterative::Direct(factor) => factor.factor(&self.matrix),
            DirectOrIterative::Iterative(iteration) => iteration.precondition(&self.matrix),
        }
    }

    /// Factors the matrix as its values are. The error is a column without a pivot.
    pub fn factor(&mut self) -> Result<(), usize> {
        self.unchecked = self.check.is_some();
        match self.make() {
            // Incomplete factors need every diagonal entry; complete ones do not.
            Err(_) if self.patience.is_some() => {
                self.patience = Some(1);
                self.lose_patience();
                self.unchecked = self.check.is_some();
                self.make()
            }
            Err(column) if self.check.is_some() => self.choose_pivots().unwrap_or(Err(column)),
            result => result,
        }
    }

    /// Says that the matrices to come are alpha*M - J, and which entries the parts go to.
    pub fn take_apart(&mut self, origin: &Arc<Origin>) {
        if let DirectOrIterative::Direct(factor) = &mut self.way
            && let Some(unrolled) = factor.unrolled_mut()
        {
            unrolled.take_apart(origin);
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
    /// enough, form the matrix and choose pivots: [`Solver::without_code`].
    pub fn code(&self) -> Option<Arc<dyn Elimination>> {
        self.unrolled()?.code()
    }

    /// Factors the matrix with pivots chosen for it, because those of the code will not do. The error is a column without a pivot.
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

    /// Switches to a factorisation that chooses its pivots, if there is one, and factors.
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
            // A matrix that is singular to rounding leaves the caller with a solution that is not finite.
            match self.choose_pivots() {
                Some(Ok(())) => self.solve(x),
                _ => x.fill(S::from(f64::NAN)),
            }
        }
    }

    /// As the check of a first solution, for one that factors of somebody else gave, by which a residual is solved for.
    /// The matrix has to be formed. False where these factors will not do.
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
            solver.patience = Some(PATIENCE);
        }
        Ok(solver)
    }
}
