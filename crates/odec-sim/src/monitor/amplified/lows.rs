//! States that were below their absolute tolerance and grew again: a smaller relative tolerance alone does not help them.

use crate::bind::Bound;
use crate::monitor::Findings;

/// Least number of stored steps below the tolerance; with fewer, a state only crosses 0.
const STEPS_BELOW: u32 = 3;
/// A state matters again once it exceeds its tolerance by this factor.
const GROWN: f64 = 10.0;

/// The smallest size that such a state had, if there is one.
pub fn smallest(bound: &Bound, findings: &Findings) -> Option<f64> {
    let of = |place: usize| {
        let atol = bound.atol(place);
        let (mut below, mut low, mut last, mut found) = (0, f64::INFINITY, 0.0, f64::INFINITY);
        // one that starts there does not cross 0
        if bound.problem.y0[place].abs() < atol {
            below = STEPS_BELOW - 1;
        }
        for y in findings.stored_run.steps().map(|at| at.y[place]) {
            if y.abs() < atol && y * last >= 0.0 && y != 0.0 {
                (below, low) = (below + 1, y.abs().min(low));
            } else if y.abs() < atol {
                (below, low) = (0, f64::INFINITY);
            } else if y.abs() > GROWN * atol {
                if below >= STEPS_BELOW {
                    found = low.min(found);
                }
                (below, low) = (0, f64::INFINITY);
            }
            last = y;
        }
        found
    };
    let smallest = (0..bound.problem.y0.len()).map(of).fold(f64::INFINITY, f64::min);
    smallest.is_finite().then_some(smallest)
}
