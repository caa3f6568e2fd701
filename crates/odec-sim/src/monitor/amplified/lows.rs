//! States that were below their absolute tolerance and grew again: a smaller relative tolerance alone does not help them.

use crate::bind::Bound;
use crate::monitor::Findings;

/// Least number of stored steps below the tolerance; with fewer, a state only crosses 0.
const STEPS_BELOW: u32 = 3;
/// A state matters again once it exceeds its tolerance by this factor.
const GROWN: f64 = 10.0;
/// Smallest size that counts at the start of a run, as a fraction of the absolute tolerance.
const LEAST_AT_START: f64 = 1e-3;

/// The smallest size that such a state had, if there is one; also of states that start there, if these count.
pub fn smallest(bound: &Bound, findings: &Findings, starts_count: bool) -> Option<f64> {
    let of = |place: usize| {
        let atol = bound.atol(place);
        let (mut below, mut low, mut last, mut found) = (0, f64::INFINITY, 0.0, f64::INFINITY);
        // one that starts there does not cross 0; how small it is after its first step says nothing
        let mut least = 0.0;
        if starts_count && bound.problem.y0[place].abs() < atol {
            (below, least) = (STEPS_BELOW - 1, LEAST_AT_START * atol);
        }
        for y in findings.stored_run.steps().map(|at| at.y[place]) {
            if y.abs() < atol && y * last >= 0.0 && y != 0.0 {
                (below, low) = (below + 1, y.abs().min(low));
            } else if y.abs() < atol {
                (below, low) = (0, f64::INFINITY);
            } else if y.abs() > GROWN * atol {
                if below >= STEPS_BELOW {
                    found = low.max(least).min(found);
                }
                (below, low, least) = (0, f64::INFINITY, 0.0);
            }
            last = y;
        }
        found
    };
    let smallest = (0..bound.problem.y0.len()).map(of).fold(f64::INFINITY, f64::min);
    smallest.is_finite().then_some(smallest)
}
