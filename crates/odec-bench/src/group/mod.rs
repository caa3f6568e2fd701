//! Measurements other than work-precision curves.

pub mod compile;
pub mod ensemble;
pub mod kernels;
pub mod start;

/// Row of a table: a label and its figures.
#[derive(Clone, Debug)]
pub struct Row {
    /// Measured quantity.
    pub what: String,
    /// Figures, as printed.
    pub figures: Vec<String>,
}

/// Least value and median.
pub fn least_and_median(mut list: Vec<f64>) -> (f64, f64) {
    list.sort_by(f64::total_cmp);
    (list.first().copied().unwrap_or(f64::NAN), list.get(list.len() / 2).copied().unwrap_or(f64::NAN))
}
