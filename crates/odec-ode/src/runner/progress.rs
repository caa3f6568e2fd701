//! Tracks the progress of a run between attempts at a step, and detects that it has failed too often.

use super::changed::PulseSearch;
use crate::control::Tolerances;
use crate::evaluator::Evaluator;
use crate::narrow::FeatureMarks;
use crate::pace::Pace;
use crate::problem::{Cause, Options, Problem};
use crate::system::Mass;

/// After this many attempts without an error estimate, the progress since then is checked.
const FAILURES: u64 = 1_000;
/// The run fails if it has meanwhile advanced by less than this fraction of both the elapsed and the remaining time,
/// with at most [`MAX_STEPS_PER_FAILURE`] accepted steps for each failed attempt: it moves along a boundary of the
/// domain of f, below its tolerances, and never leaves it.
const MIN_ADVANCE: f64 = 1e-5;
/// See [`MIN_ADVANCE`].
const MAX_STEPS_PER_FAILURE: u64 = 2;
/// A step that collapses within this fraction of the interval of a point where f cannot be evaluated has reached the
/// end of the solution.
const NEAR: f64 = 1e-9;
/// At a pole the run ends if a state changes by this many tolerances within the resolution of t.
const AT_POLE: f64 = 10.0;

/// The progress of a run, in addition to the state of its integrator.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    pub t0: f64,
    pub t_end: f64,
    /// `None` before the first step.
    pub pace: Option<Pace>,
    /// The pace before the last step.
    pub pace_before: Option<Pace>,
    pub attempts: u64,
    /// The cause of the failure of the last attempt, if it failed.
    pub cause: Option<Cause>,
    /// The last point where f could not be evaluated.
    pub last_fault: Option<(Cause, f64)>,
    failed_at: f64,
    accepted_then: u64,
    /// The state after the last [`FAILURES`] rejected attempts, and the number of accepted ones then.
    rejected_at: (Vec<f64>, u64),
    pub tried: f64,
    pub landmarks: FeatureMarks,
    pub pulses: PulseSearch,
}

impl Progress {
    /// Finds rapid changes of terms of t alone, from a time and the state there to the end.
    pub fn find_rapid_changes(&mut self, eval: &Evaluator<'_>, at: (f64, &[f64]), options: &Options) {
        if !options.fixed {
            self.landmarks = FeatureMarks::of(eval, at, self.t_end, options.rtol);
        }
    }

    /// The step to try from `t`, and its end. No step passes `stop`.
    pub fn step(&self, pace: &mut Pace, t: f64, stop: Option<f64>) -> (f64, f64) {
        let proposed = pace.step(t, stop);
        if self.landmarks.is_empty() {
            return proposed;
        }
        let cut = self.landmarks.cut(t, proposed);
        if cut != proposed && self.landmarks.are_graded() {
            pace.move_on();
        }
        cut
    }

    /// Returns an error if the run has reached a pole of a term, and a state changes there by many tolerances within the
    /// resolution of t. By rounding, f may have a finite value at the pole, and a step could pass it.
    pub fn check_pole(
        &mut self,
        eval: &mut Evaluator<'_>,
        (t, y): (f64, &[f64]),
        options: &Options,
    ) -> Result<(), Cause> {
        if self.landmarks.is_empty() || !self.landmarks.is_pole(t) || !matches!(eval.mass(), Mass::Identity) {
            return Ok(());
        }
        let mut f = vec![0.0; y.len()];
        if eval.rhs(t, y, &mut f).is_err() {
            // the next step fails with this cause
            return Ok(());
        }
        let shortest = f64::EPSILON * t.abs();
        let error = |i: usize| f[i].abs() * shortest / (options.atol_at(i) + options.rtol * y[i].abs());
        let largest = (0..y.len()).map(|i| (i, error(i))).max_by(|a, b| a.1.total_cmp(&b.1));
        match largest {
            Some((row, error)) if error > AT_POLE => {
                self.tried = shortest;
                Err(Cause::StepCollapsed { row, error })
            }
            _ => Ok(()),
        }
    }

    pub fn of(problem: &Problem) -> Self {
        Progress { t0: problem.t0, t_end: problem.t_end, failed_at: problem.t0, ..Progress::default() }
    }

    /// The cause of a failure at `t` if the step has collapsed.
    pub fn collapsed(&self, t: f64) -> Cause {
        let collapsed = self.cause.unwrap_or(Cause::StepCollapsed { row: 0, error: f64::INFINITY });
        // if steps shrink towards a point where f ends, the fault beyond this point is the better cause
        let span = if self.t_end.is_finite() { (self.t_end - self.t0).abs() } else { 0.0 };
        let near = |(_, at): &(Cause, f64)| (t - at).abs() <= NEAR * span.max(t.abs());
        match self.last_fault.filter(near) {
            Some((beyond, _)) if matches!(collapsed, Cause::StepCollapsed { .. }) => beyond,
            _ => collapsed,
        }
    }

    /// Records an attempt whose error, in the given row, was too large. An error ends the run: it crawls along a boundary of
    /// the domain of f, in steps that change no state by more than its tolerance.
    pub fn rejected(
        &mut self,
        eval: &Evaluator<'_>,
        (row, error): (usize, f64),
        (y, tolerances): (&[f64], &Tolerances),
    ) -> Result<(), Cause> {
        self.cause = Some(Cause::StepCollapsed { row, error });
        if let Some((beyond, _)) = self.last_fault
            && eval.stats.rejected.is_multiple_of(FAILURES)
        {
            let (then, accepted) = &self.rejected_at;
            let few = eval.stats.accepted.saturating_sub(*accepted) <= MAX_STEPS_PER_FAILURE * FAILURES;
            let near = |(i, (y, then)): (usize, (&f64, &f64))| (y - then).abs() <= tolerances.scale(i, y.abs());
            if few && then.len() == y.len() && y.iter().zip(then).enumerate().all(near) {
                return Err(beyond);
            }
            self.rejected_at = (y.to_vec(), eval.stats.accepted);
        }
        Ok(())
    }

    /// Records a failed attempt at `t`. An error ends the run.
    pub fn failed(&mut self, eval: &Evaluator<'_>, t: f64, cause: Cause, fixed: bool) -> Result<(), Cause> {
        if matches!(cause, Cause::Fatal | Cause::Internal { .. }) || fixed {
            return Err(cause);
        }
        if eval.stats.failed.is_multiple_of(FAILURES) {
            let least = MIN_ADVANCE * (self.failed_at - self.t0).abs().min((self.t_end - t).abs());
            let few = eval.stats.accepted - self.accepted_then <= MAX_STEPS_PER_FAILURE * FAILURES;
            if few && (t - self.failed_at).abs() < least {
                return Err(cause);
            }
            (self.failed_at, self.accepted_then) = (t, eval.stats.accepted);
        }
        self.cause = Some(cause);
        if let Cause::NonFiniteRhs { .. } | Cause::Refused = cause {
            self.last_fault = eval.fault().map(|(at, _)| (cause, at));
        }
        Ok(())
    }
}
