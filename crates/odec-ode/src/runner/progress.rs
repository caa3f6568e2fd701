//! The progress of a run between two attempts at a step, and when it has failed too often.

use crate::evaluator::Evaluator;
use crate::narrow::Landmarks;
use crate::pace::Pace;
use crate::problem::{Cause, Options, Problem};

/// Number of attempts without a value after which the progress since as many attempts before is checked.
const FAILURES: u64 = 1_000;
/// A run that has come no further meanwhile than by this fraction, both of the time it has behind it and of the time left, by at most [`CREEPING`]
/// accepted steps for each attempt without a value, is creeping along a place where f ends, below its tolerances, and would never leave it.
const CRAWL: f64 = 1e-5;
/// See [`CRAWL`].
const CREEPING: u64 = 2;
/// A step that collapses so near to a place where f had no value, as a part of the interval, ended there.
const NEAR: f64 = 1e-9;

/// The progress of a run, in addition to the state of its integrator.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    pub t0: f64,
    pub t_end: f64,
    /// None before the first step.
    pub pace: Option<Pace>,
    /// As it was before the last step.
    pub pace_before: Option<Pace>,
    pub attempts: u64,
    /// Why the last attempt was none, if it was none.
    pub cause: Option<Cause>,
    /// Where f had no value last.
    pub met: Option<(Cause, f64)>,
    failed_at: f64,
    accepted_then: u64,
    pub tried: f64,
    pub landmarks: Landmarks,
}

impl Progress {
    /// Looks for what terms of t alone do in a short time from a time and the state there to the end.
    pub fn look_ahead(&mut self, eval: &Evaluator<'_>, at: (f64, &[f64]), options: &Options) {
        if !options.fixed {
            self.landmarks = Landmarks::of(eval, at, self.t_end);
        }
    }

    pub fn of(problem: &Problem) -> Self {
        Progress { t0: problem.t0, t_end: problem.t_end, failed_at: problem.t0, ..Progress::default() }
    }

    /// The cause of a failure at `t` if the step has collapsed.
    pub fn collapsed(&self, t: f64) -> Cause {
        let collapsed = self.cause.unwrap_or(Cause::StepCollapsed { row: 0, error: f64::INFINITY });
        // steps that shrink towards a place where f ends tell less than what was found beyond it
        let span = if self.t_end.is_finite() { (self.t_end - self.t0).abs() } else { 0.0 };
        let near = |(_, at): &(Cause, f64)| (t - at).abs() <= NEAR * span.max(t.abs());
        match self.met.filter(near) {
            Some((beyond, _)) if matches!(collapsed, Cause::StepCollapsed { .. }) => beyond,
            _ => collapsed,
        }
    }

    /// Notes an attempt at `t` without a value; the error ends the run.
    pub fn failed(&mut self, eval: &Evaluator<'_>, t: f64, cause: Cause, fixed: bool) -> Result<(), Cause> {
        if matches!(cause, Cause::Fatal | Cause::Internal { .. }) || fixed {
            return Err(cause);
        }
        if eval.stats.failed.is_multiple_of(FAILURES) {
            let least = CRAWL * (self.failed_at - self.t0).abs().min((self.t_end - t).abs());
            let few = eval.stats.accepted - self.accepted_then <= CREEPING * FAILURES;
            if few && (t - self.failed_at).abs() < least {
                return Err(cause);
            }
            (self.failed_at, self.accepted_then) = (t, eval.stats.accepted);
        }
        self.cause = Some(cause);
        if let Cause::NonFiniteRhs { .. } = cause {
            self.met = eval.fault().map(|(at, _)| (cause, at));
        }
        Ok(())
    }
}
