//! Steps of a model without events, switches and bounds.

use odec_ode::problem::{Problem, SolveError};
use odec_ode::runner::StepRequest;
use odec_ode::{Runner, Stats};

use super::{Position, settle};
use crate::bind::Bound;

/// A run that can change its direction.
pub(super) struct SmoothRun {
    runner: Runner,
    /// The end of the run according to the model or the host; the start if neither gives an end.
    end: f64,
    /// The target of the runner's current run; `None` before the first step, and if the run must restart.
    heading: Option<Target>,
    /// Counts of the runs before the current one.
    before: Stats,
}

/// The target of a run.
#[derive(Clone, Copy)]
struct Target {
    t_end: f64,
    forward: bool,
}

impl SmoothRun {
    pub fn new(runner: Runner, end: f64) -> Self {
        SmoothRun { runner, end, heading: None, before: Stats::default() }
    }

    pub fn stats(&self) -> Stats {
        let mut stats = self.before;
        stats.add(self.runner.stats());
        stats
    }

    /// The next step begins a new run.
    pub fn restart(&mut self) {
        self.heading = None;
    }

    /// Advances to a finite time other than the current one.
    pub fn reach(&mut self, bound: &Bound, at: &mut Position, t: f64) -> Result<(), SolveError> {
        let forward = t > at.t;
        self.runner.renew_budget();
        if at.changed {
            settle(bound, at, *self.runner.stats())?;
        }
        match self.heading {
            Some(Target { t_end, forward: same }) if same == forward => {
                if at.changed {
                    self.runner.resume_at(&bound.executor, at.t, &at.y)?;
                }
                if (t > t_end) == forward && t != t_end {
                    let t_end = f64::INFINITY.copysign(t - at.t);
                    self.runner.extend(t_end)?;
                    self.heading = Some(Target { t_end, forward });
                }
            }
            _ => self.begin(bound, at, t)?,
        }
        at.changed = false;
        let request = StepRequest { stop: None, sample: Some(t) };
        while self.runner.time() != t && (self.runner.time() < t) == forward {
            if let Err(why) = self.runner.advance(&bound.executor, request) {
                at.t = self.runner.time();
                at.y.copy_from_slice(self.runner.state());
                // the step size has collapsed: with other values it must be chosen again
                self.heading = None;
                return Err(why);
            }
        }
        self.runner.value(&bound.executor, t, &mut at.y);
        at.t = t;
        Ok(())
    }

    /// Starts a run at the current time and state, towards a time: to the known end, or without an end.
    fn begin(&mut self, bound: &Bound, at: &Position, t: f64) -> Result<(), SolveError> {
        let inside = (self.end - t) * (t - at.t) >= 0.0;
        let t_end = if inside { self.end } else { f64::INFINITY.copysign(t - at.t) };
        let problem = Problem { t0: at.t, t_end, y0: at.y.clone() };
        let stats = self.stats();
        self.heading = None;
        let begun = self.runner.begin(&bound.executor, &problem);
        if !matches!(begun, Err(SolveError::Refused(_))) {
            self.before = stats;
        }
        begun?;
        self.heading = Some(Target { t_end, forward: t > at.t });
        Ok(())
    }
}
