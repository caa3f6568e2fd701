//! Linear algebra of the implicit methods: W = alpha*M - J, formed, factored and solved; methods see only `Shifted`.

mod assembled;
mod dense;
mod effective;
mod mass;
mod ordering;
mod scalar;
mod second_order;
mod shifted;
mod sparse;

pub use assembled::Assembled;
pub use dense::Dense;
pub use effective::Effective;
pub use mass::{MassMatrix, Rates};
pub use scalar::{Complex, Scalar};
pub use shifted::{ComplexShifted, Shifted};

use crate::pattern::Pattern;
use crate::problem::Refusal;

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
    /// Health of the last factorisation.
    fn health(&self) -> Health;
}

/// Largest system that is factored as a full matrix (128 MB of matrix).
pub const MAX_DENSE: usize = 4_000;
/// Systems up to this size are factored as full matrices.
pub const SMALL: usize = 40;
/// Sparse elimination is used where its factors stay below this fraction of the full matrix.
pub const SPARSE_DENSITY: f64 = 0.3;
/// Most entries of sparse factors (1.2 GB).
pub const MAX_FILL: u64 = 100_000_000;

/// The executor for a pattern, chosen by size and fill.
pub fn factor_for<S: Scalar>(pattern: &Pattern) -> Result<Box<dyn Factor<S>>, Refusal> {
    let n = pattern.cols();
    let full = n as f64 * n as f64;
    if n > SMALL && (pattern.entries() as f64) < SPARSE_DENSITY * full {
        let limit = if n > MAX_DENSE { MAX_FILL } else { MAX_FILL.min((SPARSE_DENSITY * full) as u64) };
        if let Some(ordering) = ordering::minimum_degree(pattern, limit) {
            return Ok(Box::new(sparse::Sparse::new(ordering, MAX_FILL)));
        }
    }
    if n > MAX_DENSE {
        return Err(too_full(n));
    }
    Ok(Box::new(Dense::new(pattern)))
}

/// Refuses, before anything is built from it, a pattern that only a full matrix beyond the limit could hold.
fn admit(pattern: &Pattern) -> Result<(), Refusal> {
    let n = pattern.cols();
    let dense = pattern.entries() as f64 >= SPARSE_DENSITY * n as f64 * n as f64;
    if n > MAX_DENSE && (dense || pattern.entries() as u64 > MAX_FILL) { Err(too_full(n)) } else { Ok(()) }
}

fn too_full(n: usize) -> Refusal {
    Refusal::BadOption(format!(
        "an implicit method would factor a {n} x {n} matrix whose factors are too full: the limits are {MAX_FILL} \
         entries of sparse factors and {MAX_DENSE} unknowns in a full matrix; an explicit method needs no matrix"
    ))
}
