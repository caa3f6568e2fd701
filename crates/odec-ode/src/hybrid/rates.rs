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
    let affine = (0..rates.len()).all(|relation| locator.affine(relation).is_some());
    if !affine && model.rates(t, y, slope, rates).is_err() {
        return false;
    }
    for (relation, rate) in rates.iter_mut().enumerate() {
        let mut size = 0.0;
        if unknown[relation] {
            *rate = 0.0;
        }
        if let Some((terms, time)) = locator.affine(relation) {
            *rate = time;
            size = time.abs();
            for (row, a) in terms {
                let term = a * slope[*row as usize];
                *rate += term;
                size += term.abs();
            }
        }
        if let Some(sizes) = &mut sizes {
            sizes[relation] = size;
        }
    }
    rates.iter().all(|rate| rate.is_finite())
}
