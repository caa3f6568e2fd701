//! Linear algebra of the implicit methods: W = alpha*M - J, formed, factored and solved; methods see only `IterationMatrix`.

mod analysis;
mod assembled;
mod band;
mod banded;
mod blocks;
mod cache;
mod choice;
mod dense;
mod diagonal;
mod dissection;
mod effective;
mod eisenstat;
mod full;
mod incomplete;
mod iteration_matrix;
mod krylov;
mod levels;
mod mass;
mod matching;
mod matrix_free;
mod multifrontal;
mod ordering;
mod pivoting;
mod product;
#[cfg(test)]
mod random;
mod right_side;
mod scalar;
mod second_order;
mod solver;
mod sparse;
pub mod square;
mod staggered;
#[cfg(test)]
mod tests;
mod unrolled;

pub use assembled::Assembled;
pub use cache::PatternCache;
pub use choice::{
    ANALYSED, COMPILED, LONG, LinearReport, LinearSolver, MAX_COMPILED, MAX_DENSE, MAX_FILL, NARROW, SMALL,
    SPARSE_DENSITY, SolverKind, UnsuitableSolver,
};
pub use dense::Dense;
pub use diagonal::Diagonal;
pub use effective::Effective;
pub use iteration_matrix::{ComplexIterationMatrix, IterationMatrix};
pub use krylov::{MAX_KRYLOV, RequiredAccuracy, TIGHT};
pub use mass::{MassMatrix, Rates};
pub use scalar::{Complex, Scalar};
pub use solver::{BACKWARD_ERROR, NEGLIGIBLE_RESIDUAL};
pub use unrolled::{EliminationCode, EliminationPlan, Eliminator, Origin};

use std::sync::Arc;

use crate::pattern::Pattern;

/// The parts of a matrix alpha*M - J.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a, S> {
    /// alpha.
    pub alpha: S,
    /// Values of J.
    pub jacobian: &'a [f64],
    /// The values of M; `None` means ones.
    pub mass: Option<&'a [f64]>,
}

/// The diagnostics of a factorisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FactorDiagnostics {
    /// Smallest over largest pivot, in magnitude; near zero, solutions are inaccurate.
    pub pivot_ratio: f64,
}

/// How a factorisation chooses its pivots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PivotChoice {
    /// The largest of all candidates.
    Largest,
    /// The pivots of an earlier matrix while they are large enough: the first solution after a factorisation is
    /// checked and refined.
    Kept,
    /// The pivots that the analysis chose. The first solution is checked; if it is inaccurate, pivots are chosen by
    /// size ([`Factor::pivoting`]).
    Fixed,
}

/// A direct solver: a factorisation of square matrices on one pattern.
pub trait Factor<S = f64> {
    /// Factors a matrix on the pattern given at construction. The error is a column without a pivot.
    fn factor(&mut self, matrix: &Assembled<S>) -> Result<(), usize>;
    /// Replaces `b` by the solution.
    fn solve(&mut self, b: &mut [S]);
    /// Health of the last factorisation.
    fn health(&self) -> FactorDiagnostics;
    /// The report about this factorisation.
    fn report(&self) -> LinearReport;
    /// How this factorisation chooses its pivots.
    fn pivot_choice(&self) -> PivotChoice {
        PivotChoice::Largest
    }
    /// A factorisation of the same matrices that chooses pivots by size, unless this one does so itself.
    fn pivoting(&self, _pattern: &Pattern) -> Option<Box<dyn Factor<S>>> {
        None
    }
    /// Its unrolled LU, if it has one.
    fn unrolled(&self) -> Option<&dyn Unrolled> {
        None
    }
    /// Its unrolled LU, mutable.
    fn unrolled_mut(&mut self) -> Option<&mut dyn Unrolled> {
        None
    }
}

/// A direct solver whose elimination may be straight-line code, with pivots on the diagonal.
pub trait Unrolled {
    /// The columns in the order of elimination, and the fill that this predicts.
    fn order(&self) -> (&[u32], u64);
    /// Tells the solver that the matrices are alpha*M - J, and to which entries the parts belong.
    fn set_origin(&mut self, origin: &Arc<Origin>);
    /// Code for further matrices that reads J and M directly and does not need [`Factor::factor`]; `None` before it
    /// is made.
    fn code(&self) -> Option<Arc<dyn EliminationCode>>;
}

/// An iterative solver for matrices on one pattern, with a preconditioner computed from them.
pub trait Iterate<S = f64> {
    /// Computes the preconditioner of a matrix. The error is a column without a pivot.
    fn precondition(&mut self, matrix: &Assembled<S>) -> Result<(), usize>;
    /// Replaces `b` by a solution with the error that the goal permits; without a goal, with the smallest error of
    /// the number type. False if it did not get there.
    fn solve(&mut self, matrix: &Assembled<S>, b: &mut [S], goal: Option<RequiredAccuracy<'_>>) -> bool;
    /// Reports that solutions were less accurate than expected.
    fn report_inaccuracy(&mut self) {}
    /// Restores the state after construction; false if it must be built again instead.
    fn renew(&mut self) -> bool {
        false
    }
    /// The report about this solver.
    fn report(&self) -> LinearReport;
}
