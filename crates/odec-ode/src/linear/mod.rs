//! Linear algebra of the implicit methods: W = alpha*M - J, formed, factored and solved; methods see only `Shifted`.

mod dense;
mod mass;
mod second_order;
mod shifted;

pub use dense::Dense;
pub use mass::MassMatrix;
pub use shifted::Shifted;

use crate::pattern::Pattern;
use crate::problem::Refusal;

/// What a factorisation says about itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Health {
    /// Smallest over largest pivot, in magnitude; near zero the answers mean little.
    pub pivot_ratio: f64,
}

/// A factorisation of square matrices on one pattern.
pub trait Factor {
    /// Factors the matrix with these values (in the order of the pattern given at construction). The error is a column
    /// without a pivot.
    fn factor(&mut self, values: &[f64]) -> Result<(), usize>;
    /// Replaces `b` by the solution.
    fn solve(&mut self, b: &mut [f64]);
    /// Health of the last factorisation.
    fn health(&self) -> Health;
}

/// Largest system that is factored as a full matrix (128 MB of matrix).
pub const MAX_DENSE: usize = 4_000;

/// The executor for a pattern, chosen by size and density.
pub fn factor_for(pattern: &Pattern) -> Result<Box<dyn Factor>, Refusal> {
    let n = pattern.cols();
    if n > MAX_DENSE {
        return Err(Refusal::BadOption(format!(
            "an implicit method would factor a full {n} x {n} matrix; the limit is {MAX_DENSE} unknowns"
        )));
    }
    Ok(Box::new(Dense::new(pattern)))
}
