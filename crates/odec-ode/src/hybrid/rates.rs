//! The rates of left - right of relations along a motion.

use crate::hybrid::locate::Locator;
use crate::hybrid::system::HybridSystem;

/// Computes the rates of all relations at a point where y changes at the rate `slope`, and the sizes of their terms.
/// The rate of an unknown relation is 0. False if a rate has no finite value.
pub(super) fn rates_along(
    model: &dyn HybridSystem,
    locator: &Locator,
    (t, y): (f64, &[f64]),
    (slope, unknown): (&[f64], &[bool]),
    rates: &mut [f64],
    mut sizes: Option<&mut Vec<f64>>,
) -> bool {
    if !locator.all_affine() && model.rates(t, y, slope, rates).is_err() {
        return false;
    }
    let mut finite = true;
    for (relation, rate) in rates.iter_mut().enumerate() {
        let mut size = 0.0;
        if unknown[relation] {
            *rate = 0.0;
        }
        if let Some(row) = locator.affine(relation) {
            (*rate, size) = of_row(row, slope);
        }
        if let Some(sizes) = &mut sizes {
            sizes[relation] = size;
        }
        finite &= rate.is_finite();
    }
    finite
}

/// Computes the rate of one relation and the size of its terms, into their places among those of all relations. If the
/// relation is affine, the others are not evaluated.
pub(super) fn rate_along(
    model: &dyn HybridSystem,
    locator: &Locator,
    at: (f64, &[f64]),
    (slope, unknown): (&[f64], &[bool]),
    (rates, sizes): (&mut [f64], &mut Vec<f64>),
    relation: usize,
) -> bool {
    let Some(row) = locator.affine(relation) else {
        return rates_along(model, locator, at, (slope, unknown), rates, Some(sizes));
    };
    (rates[relation], sizes[relation]) = of_row(row, slope);
    rates[relation].is_finite()
}

/// The rate of a sum, and the size of its terms.
#[inline]
fn of_row((terms, time): (&[(u32, f64)], f64), slope: &[f64]) -> (f64, f64) {
    let (mut rate, mut size) = (time, time.abs());
    for (row, a) in terms {
        let term = a * slope[*row as usize];
        rate += term;
        size += term.abs();
    }
    (rate, size)
}
