//! Runs that stay at an unstable equilibrium. An implicit method damps what should grow if its steps are long compared
//! with the growth, and a second run with a smaller tolerance does the same. Short steps show the growth.

use nalgebra::DMatrix;
use odec_ode::method::auto::METHOD;

use super::growth::LinearisedRun;
use super::tighter::is_series;
use crate::monitor::report::CheckedRun;
use crate::spectrum;

/// A step times the real part of a growing eigenvalue, and times its size, from which on the step does not follow the
/// growth.
const UNFOLLOWED: (f64, f64) = (1.0, 2.5);
/// A step times the size of such an eigenvalue for the longest step of a further run.
const FOLLOWED: f64 = 0.5;
/// Growth of an error in an interval, as a power of e, that is examined.
const RELEVANT_GROWTH: f64 = 1.0;
/// Number of intervals for which eigenvalues are computed.
const MAX_INTERVALS: usize = 64;
/// Steps of the further run: this multiple of the steps of the run and this number, at most.
const MAX_STEPS: (f64, f64) = (20.0, 20_000.0);
/// Largest number of unknowns for eigenvalues at so many points.
const MAX_UNKNOWNS: usize = 40;

/// The longest step of a run that follows the growth along this run; `None` if the run has followed it.
pub fn longest_step(checked: &CheckedRun<'_>, way: &LinearisedRun) -> Option<f64> {
    let (bound, steps) = (checked.bound, checked.findings.steps as f64);
    let n = bound.problem.y0.len();
    let intervals = way.intervals;
    let method = bound.choice.method;
    // an explicit method damps nothing that grows
    let explicit = is_series(bound, checked.findings) || !method.structure.jacobian && method.name != METHOD.name;
    if explicit || intervals == 0 || n > MAX_UNKNOWNS {
        return None;
    }
    let every = intervals.div_ceil(MAX_INTERVALS);
    let mut longest = f64::INFINITY;
    for pair in way.points.windows(2).step_by(every) {
        let [(t, Some(from)), (now, Some(to))] = pair else { continue };
        if to.mass.is_some() {
            return None;
        }
        let h = now - t;
        let mean = |k: usize| 0.5 * h.signum() * (from.jacobian[k] + to.jacobian[k]);
        let values = spectrum::eigenvalues(&DMatrix::from_fn(n, n, |i, j| mean(i * n + j))).unwrap_or_default();
        // as many steps in each interval
        let step = (h.abs() * intervals as f64 / steps).min(h.abs());
        for value in values.iter().filter(|value| value.re * h.abs() * every as f64 > RELEVANT_GROWTH) {
            if step * value.re > UNFOLLOWED.0 || step * value.norm() > UNFOLLOWED.1 {
                longest = longest.min(FOLLOWED / value.norm());
            }
        }
    }
    let span = (bound.problem.t_end - bound.problem.t0).abs();
    longest.is_finite().then(|| longest.max(span / (MAX_STEPS.0 * steps + MAX_STEPS.1)))
}
