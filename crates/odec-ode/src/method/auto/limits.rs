//! The limits on the steps of an explicit method on y' = -lambda y: stability, and accuracy at its tolerance.

use std::sync::{Mutex, PoisonError};

use crate::method::{Family, Method, taylor};

/// A step of the explicit method is stiff, that is, limited by stability, if h times the spectral radius exceeds
/// this many times the value that accuracy allows while the fastest component moves. Below the first of these fractions
/// of the real stability limit a step is never stiff, above the second always.
const STIFF_FACTOR: f64 = 4.0;
const STIFF_RANGE: (f64, f64) = (0.3, 0.65);
/// The second fraction for Runge-Kutta methods of order 9 and more: at their tolerances, rounding limits the steps
/// before stability does. A step of a Taylor series is stiff only above the larger fraction: its last two terms show p
/// h/rho if nothing decays, where rho is the radius of convergence; with h/rho = 0.13 to 0.2 this is 0.3 to 0.45 of
/// the limit.
const HIGH_ORDER: f64 = 0.4;
/// The same factor for the limit of the explicit method.
const LIMIT_FACTOR: f64 = 5.0;
const LIMIT_RANGE: (f64, f64) = (0.3, 1.0);
/// Largest number of cached limits, one for each method and tolerance.
const MAX_LIMITS: usize = 64;

/// The largest h*lambda at which an explicit method is stable, and the largest at which it is accurate to the
/// tolerance, on y' = -lambda y. The results are cached, since each takes some 30,000 instructions and a sweep needs
/// them in every run.
fn limits(method: &'static Method, rtol: f64, n: usize) -> Option<(f64, f64)> {
    type CachedLimit = (&'static str, u64, u32, (f64, f64));
    static KEPT: Mutex<Vec<CachedLimit>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let order = if matches!(method.family, Family::Taylor) { taylor::order_for(rtol, n) } else { method.order };
    let same = |kept: &&CachedLimit| (kept.0, kept.1, kept.2) == (method.name, rtol.to_bits(), order);
    if let Some((.., limits)) = kept.iter().find(same) {
        return Some(*limits);
    }
    let limits = match method.family {
        Family::RungeKutta(tableau) => (tableau.real_limit(), tableau.real_accuracy(rtol)),
        Family::Taylor => (taylor::real_limit(order), taylor::real_accuracy(order, rtol)),
        _ => return None,
    };
    if kept.len() < MAX_LIMITS {
        kept.push((method.name, rtol.to_bits(), order, limits));
    }
    Some(limits)
}

/// h*lambda on the negative real axis above which a step is stiff at this tolerance, and the limit of the method; 1
/// for both if nothing is known.
pub(super) fn bounds(method: &'static Method, rtol: f64, n: usize) -> (f64, f64) {
    let Some((stable, accurate)) = limits(method, rtol, n) else { return (1.0, 1.0) };
    let series = matches!(method.family, Family::Taylor);
    let most = if method.order > 8 && !series { HIGH_ORDER } else { STIFF_RANGE.1 };
    let stiff_above = (STIFF_FACTOR * accurate).clamp(STIFF_RANGE.0 * stable, most * stable);
    (stiff_above, (LIMIT_FACTOR * accurate).clamp(LIMIT_RANGE.0 * stable, LIMIT_RANGE.1 * stable))
}
