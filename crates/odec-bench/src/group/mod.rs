//! Measurements other than work-precision curves.

pub mod compile;
pub mod ensemble;
pub mod kernels;
pub mod start;

/// A row of a table: what, and its figures.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was measured.
    pub what: String,
    /// Figures, as printed.
    pub figures: Vec<String>,
}

/// Least and median of some numbers.
pub fn least_and_median(mut list: Vec<f64>) -> (f64, f64) {
    list.sort_by(f64::total_cmp);
    (list.first().copied().unwrap_or(f64::NAN), list.get(list.len() / 2).copied().unwrap_or(f64::NAN))
}
