//! Fits of parameters and initial values to data, by least squares with exact sensitivities.
//!
//! ```text
//! table ──▶ data ──▶ Fit ── descent from each start ──▶ best point ── estimate ──▶ errors, intervals, combinations
//!                     │  (runs with sensitivities)
//! ```

pub mod data;
pub mod descent;
pub mod estimate;
pub mod problem;
pub mod quantile;
mod shift;
mod starts;
pub mod table;
pub mod warn;

pub use data::{CheckedData, DataSet, Datum, Deviations, Series};
pub use descent::{Ended, Halted};
pub use estimate::Estimate;
pub use problem::Fit;
pub use starts::{Attempt, MAX_STARTS};

use crate::points::Spacing;

/// Largest number of fitted quantities, which is the number of sensitivities that a run can have.
pub const MAX_QUANTITIES: usize = 100;
/// Largest number of data.
pub const MAX_DATA: usize = 10_000_000;
/// Largest number of entries in the matrix of derivatives.
pub const MAX_ENTRIES: usize = 100_000_000;
/// Relative tolerance of the runs of a fit, unless the caller or the model sets a smaller one: the sum of squares must
/// be smooth.
pub const TOLERANCE: f64 = 1e-8;
/// The error of derivatives, as a multiple of the tolerance of the runs.
const TRUSTED: f64 = 100.0;

/// A fitted quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedQuantity {
    /// A parameter, an element of one, or an initial value.
    pub name: String,
    /// The starting value. `None` means the value in the model, or the middle of the range.
    pub start: Option<f64>,
    /// The lower bound; infinite if there is none.
    pub low: f64,
    /// The upper bound; infinite if there is none.
    pub high: f64,
    /// Logarithmic if its logarithm is fitted. The bounds are then above 0.
    pub spacing: Spacing,
}

impl FittedQuantity {
    /// A quantity without bounds that starts from its value in the model.
    pub fn new(name: &str) -> FittedQuantity {
        FittedQuantity {
            name: name.to_string(),
            start: None,
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
            spacing: Spacing::Even,
        }
    }

    fn logarithmic(&self) -> bool {
        self.spacing == Spacing::Logarithmic
    }

    /// The inner value, which the descent changes.
    fn inner(&self, value: f64) -> f64 {
        if self.logarithmic() { value.ln() } else { value }
    }

    /// The value that belongs to an inner value. Rounding in a logarithm does not violate the bounds.
    fn outer(&self, inner: f64) -> f64 {
        if self.logarithmic() { inner.exp().clamp(self.low, self.high) } else { inner.clamp(self.low, self.high) }
    }
}

/// A number in messages.
fn number(v: f64) -> String {
    crate::blame::number(v)
}
