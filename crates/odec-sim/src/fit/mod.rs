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
mod starts;
pub mod table;
pub mod warn;

pub use data::{Checked, DataSet, Datum, Deviations, Series};
pub use descent::{Ended, Halted};
pub use estimate::Estimate;
pub use problem::Fit;
pub use starts::{Attempt, MAX_STARTS};

use crate::points::Spacing;

/// Most parameters of a fit: as many as a run has sensitivities by.
pub const MAX_QUANTITIES: usize = 100;
/// Most measured numbers.
pub const MAX_DATA: usize = 10_000_000;
/// Most entries of the matrix of derivatives.
pub const MAX_ENTRIES: usize = 100_000_000;
/// Tolerance of the runs of a fit, unless the caller or the model asks for a smaller one: the sum of squares has to be smooth.
pub const TOLERANCE: f64 = 1e-8;
/// Derivatives are right to so many tolerances of the runs.
const TRUSTED: f64 = 100.0;

/// What is fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// A parameter, an element of one, or an initial value.
    pub name: String,
    /// Where it begins; `None`: as the model says, or in the middle of its range.
    pub start: Option<f64>,
    /// Where it may be; infinite ends without bounds.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// Its logarithm is fitted; the bounds are above 0.
    pub spacing: Spacing,
}

impl Quantity {
    /// Without bounds, from the value that the model has.
    pub fn new(name: &str) -> Quantity {
        Quantity {
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

    /// The number that is sought.
    fn inner(&self, value: f64) -> f64 {
        if self.logarithmic() { value.ln() } else { value }
    }

    /// The value of a number that is sought; rounding in a logarithm does not leave the bounds.
    fn outer(&self, inner: f64) -> f64 {
        if self.logarithmic() { inner.exp().clamp(self.low, self.high) } else { inner.clamp(self.low, self.high) }
    }
}

/// A number in messages.
fn number(v: f64) -> String {
    crate::blame::number(v)
}
