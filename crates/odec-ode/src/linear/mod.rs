//! Linear algebra of the implicit methods: W = alpha*M - J, formed, factored and solved; methods see only `Shifted`.

mod analysis;
mod assembled;
mod band;
mod banded;
mod blocks;
mod choice;
mod dense;
mod diagonal;
mod dissection;
mod effective;
mod free;
mod fronts;
mod incomplete;
mod krylov;
mod mass;
mod matching;
mod memory;
mod ordering;
mod pivoting;
mod product;
mod scalar;
mod second_order;
mod shifted;
mod solver;
mod sparse;
mod split;
mod staggered;
mod straight;
#[cfg(test)]
mod tests;
mod triangle;

pub use assembled::Assembled;
pub use choice::{
    COMPILED, Kind, LONG, Linear, LinearReport, MAX_COMPILED, MAX_DENSE, MAX_FILL, Misfit, NARROW, SMALL,
    SPARSE_DENSITY,
};
pub use dense::Dense;
pub use diagonal::Diagonal;
pub use effective::Effective;
pub use krylov::{Goal, MAX_KRYLOV, TIGHT};
pub use mass::{MassMatrix, Rates};
pub use memory::Memory;
pub use scalar::{Complex, Scalar};
pub use shifted::{ComplexShifted, Shifted};
pub use solver::{BACKWARD_ERROR, NEGLIGIBLE_RESIDUAL};
pub use straight::{Elimination, Eliminator, Origin, Plan};

use std::sync::Arc;

use crate::pattern::Pattern;

/// The parts of a matrix alpha*M - J.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a, S> {
    /// alpha.
    pub alpha: S,
    /// Values of J.
    pub jacobian: &'a [f64],
    /// Those of M; all ones if there are none.
    pub mass: Option<&'a [f64]>,
}

/// What a factorisation says about itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Health {
    /// Smallest over largest pivot, in magnitude; near zero the answers mean little.
    pub pivot_ratio: f64,
}

/// A factorisation of square matrices on one pattern.
pub trait Factor<S = f64> {
    /// Factors a matrix on the pattern given at construction. The error is a column without a pivot.
    fn factor(&mut self, matrix: &Assembled<S>) -> Result<(), usize>;
    /// Replaces `b` by the solution.
    fn solve(&mut self, b: &mut [S]);
    /// The columns in the order of elimination, and the fill that this predicts for pivots on the diagonal, where code with these
    /// pivots may be made.
    fn order(&self) -> Option<(&[u32], u64)> {
        None
    }
    /// Says that the matrices are alpha*M - J, and which entries the parts go to.
    fn take_apart(&mut self, _origin: &Arc<Origin>) {}
    /// Code for further matrices that reads their parts and does without [`Factor::factor`], once there is some.
    fn code(&self) -> Option<Arc<dyn Elimination>> {
        None
    }
    /// As `solve`, with the matrix at hand.
    fn solve_with(&mut self, _matrix: &Assembled<S>, b: &mut [S]) {
        self.solve(b);
    }
    /// As `solve_with`, but an iteration may leave as much of an error as the goal allows; false where it did not get there.
    fn solve_within(&mut self, _matrix: &Assembled<S>, b: &mut [S], _goal: Goal<'_>) -> bool {
        self.solve(b);
        true
    }
    /// Says that solutions did not serve as well as they should.
    fn doubt(&mut self) {}
    /// Makes it what it was when it was built; false where it has to be built anew for that.
    fn renew(&mut self) -> bool {
        false
    }
    /// True where solutions are iterated for, not computed from factors.
    fn iterates(&self) -> bool {
        false
    }
    /// Health of the last factorisation.
    fn health(&self) -> Health;
    /// What it is.
    fn report(&self) -> LinearReport;
    /// True where pivots are not chosen by size among all candidates.
    fn pivots_are_fixed(&self) -> bool {
        false
    }
    /// True where the first solution after a factorisation is worth a check and a refinement.
    fn is_checked(&self) -> bool {
        self.pivots_are_fixed()
    }
    /// A factorisation of the same matrices that chooses pivots by size, if this one does not.
    fn pivoting(&self, _pattern: &Pattern) -> Option<Box<dyn Factor<S>>> {
        None
    }
}
