//! States that grow together from small values. Errors below the absolute tolerance grow with them, as in a parametric
//! resonance, whose growth the equations at single points do not show.

use crate::bind::Bound;
use crate::monitor::Findings;
use crate::monitor::report::OUTGROWN_TOLERANCES;

use super::growth;

/// Fraction of a run after which states have left an equilibrium in which they started.
const EARLY: f64 = 0.02;

/// True if a state starts below its absolute tolerance and becomes large, as before a front: the error of the start may
/// have grown with it.
pub fn from_below(bound: &Bound, findings: &Findings) -> bool {
    let starts = bound.problem.y0.iter().zip(&findings.largest).enumerate();
    starts.into_iter().any(|(k, (y, largest))| {
        let atol = bound.atol(k);
        *y != 0.0 && y.abs() < atol && *largest > OUTGROWN_TOLERANCES * atol
    })
}

/// Growth of errors below the absolute tolerances, as a power of e, relative to the tolerance of the largest values.
pub fn growth(bound: &Bound, findings: &Findings) -> f64 {
    let largest = &findings.largest;
    let span = (bound.problem.t_end - bound.problem.t0).abs();
    let mut later = 0.0f64;
    let mut growth = 0.0f64;
    let all = growth::places(bound, findings);
    for at in all.iter().rev() {
        let size = at.y.iter().zip(largest).map(|(y, most)| y.abs() / most).fold(0.0, f64::max);
        if (at.t - bound.problem.t0).abs() < EARLY * span {
            break;
        }
        let error = |(k, most): (usize, &f64)| bound.atol(k) / (bound.atol(k) + bound.options.rtol * most);
        let error = largest.iter().enumerate().map(error).fold(0.0, f64::max);
        if size > 0.0 && later > size {
            growth = growth.max((error * later / size).ln());
        }
        later = later.max(size);
    }
    growth
}
