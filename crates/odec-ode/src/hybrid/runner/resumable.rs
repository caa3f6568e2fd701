//! Runs that their host advances step by step, and in which it changes values.
//!
//! An instant at the end of a step waits until the host passes it, and so does the correction of a state beyond its
//! bound: before, the host may still read states inside the step, or go back there and change values.

use std::ops::ControlFlow;

use super::steps::Stepped;
use super::{HybridRunner, is_smooth};
use crate::checks::bad;
use crate::hybrid::locate::Locator;
use crate::hybrid::modes::Place;
use crate::hybrid::outcome::{End, Executed, HybridError, Observer, Point};
use crate::hybrid::rounds::InstantStart;
use crate::hybrid::stops::same;
use crate::hybrid::system::HybridSystem;
use crate::problem::{Problem, Refusal, Samples, Stats};
use crate::row_times::RowTimes;

/// The run has no rows: its host asks for values.
static NO_ROWS: Samples = Samples::Times(Vec::new());

/// Passes the executed events to the host. Every step is returned to it.
struct Host<'a>(&'a mut dyn FnMut(f64, &[Executed]));

impl Observer for Host<'_> {
    fn row(&mut self, _: Point<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn instant(&mut self, _: Point<'_>, after: Point<'_>, events: &[Executed]) {
        (self.0)(after.t, events);
    }

    fn examines_steps(&self) -> bool {
        true
    }
}

impl HybridRunner {
    /// Starts a run that its host advances. `executed` receives the events of the start. Returns the reason if one of
    /// them ends the run.
    ///
    /// # Errors
    /// A problem that the method does not support; an event or a mode that fails.
    pub fn start(
        &mut self,
        model: &mut dyn HybridSystem,
        problem: &Problem,
        executed: &mut dyn FnMut(f64, &[Executed]),
    ) -> Result<Option<End>, HybridError> {
        self.modes.evaluations();
        let ended = self.begin(model, problem, &mut RowTimes::new(&NO_ROWS, problem), &mut Host(executed))?;
        self.prepare_steps(model);
        Ok(ended)
    }

    /// Takes one step towards the time that the host requests, and maybe beyond it, or executes what the last step has
    /// left at its end. Returns the reason if an event ends the run.
    ///
    /// # Errors
    /// A step, event or mode that fails.
    pub fn advance(
        &mut self,
        model: &mut dyn HybridSystem,
        towards: f64,
        executed: &mut dyn FnMut(f64, &[Executed]),
    ) -> Result<Option<End>, HybridError> {
        let mut none = self.no_rows();
        self.requested = Some(towards);
        if let Some(arrival) = self.arrival.take() {
            self.finished = Some(self.runner.time());
            return self.execute(model, arrival, &mut none, &mut Host(executed));
        }
        match self.step(model, &mut none, &mut Host(executed))? {
            Stepped::Moved => Ok(None),
            Stepped::Interrupted => Ok(Some(End::Interrupted)),
            Stepped::Arrived(arrival) if arrival.is_instant || self.bounds.are_outside(self.runner.state()) => {
                self.arrival = Some(arrival);
                Ok(None)
            }
            Stepped::Arrived(arrival) => self.execute(model, arrival, &mut none, &mut Host(executed)),
        }
    }

    /// True if [`Self::advance`] must execute what the last step has left at its end, before the host reads a state at
    /// `t`: at an instant, or where a state is beyond its bound. A time within rounding of an instant comes after it.
    pub fn must_finish_step(&self, t: f64) -> bool {
        let now = self.runner.time();
        self.arrival.is_some_and(|arrival| t >= now || (arrival.is_instant && same(t, now)))
    }

    /// The state at a time in the last step, or within rounding of an instant at its end.
    pub fn value(&mut self, model: &dyn HybridSystem, t: f64, y: &mut [f64]) {
        if self.finished == Some(self.runner.time()) {
            // the polynomial of the step is lost
            y.copy_from_slice(self.runner.state());
            return;
        }
        self.runner.value(model.system(), t, y);
        self.bounds.put_back(y);
    }

    /// Continues at a time in the last step, with a state, parameters and discretes that the host has changed. If the
    /// change makes the condition of an event true, the event is executed.
    ///
    /// # Errors
    /// A state beyond its bound; an event or mode that fails; no value of f at the state.
    pub fn change(
        &mut self,
        model: &mut dyn HybridSystem,
        (t, y): (f64, &[f64]),
        executed: &mut dyn FnMut(f64, &[Executed]),
    ) -> Result<Option<End>, HybridError> {
        let now = self.runner.time();
        let t = if same(t, now) { now } else { t };
        self.arrival = None;
        self.locator = Locator::new(model, self.tolerances.clone());
        self.bounds.renew(model);
        if self.bounds.are_outside(y) {
            return Err(bad("a state is beyond its bound".to_string()).into());
        }
        if is_smooth(model) {
            self.runner.resume_at(model.system(), t, y)?;
            return Ok(None);
        }
        self.y.copy_from_slice(y);
        model.refresh();
        if self.stops.recount(model, t) {
            model.refresh();
        }
        let scale = self.runner.tried();
        let decided = self.modes.follow(model, &self.locator, Place { t, y: &self.y, scale }, false);
        decided.map_err(|cause| self.failure(cause, t))?;
        self.runner.resume_at(model.system(), t, y)?;
        let mut none = self.no_rows();
        let ended = self.instant(model, &InstantStart::Rest(Vec::new()), scale, &mut none, &mut Host(executed))?;
        self.stop = self.next_stop(t);
        Ok(ended)
    }

    /// Moves the end of the run further away, even to infinity.
    ///
    /// # Errors
    /// An end behind the current time.
    pub fn extend(&mut self, t_end: f64) -> Result<(), Refusal> {
        self.runner.extend(t_end)?;
        (self.span.1, self.stops.t_end) = (t_end, t_end);
        Ok(())
    }

    /// Counts of the run so far.
    pub fn stats(&self) -> Stats {
        let mut stats = *self.runner.stats();
        stats.rhs += self.modes.evaluations_so_far();
        stats
    }

    /// Starts a new budget of steps.
    pub fn renew_budget(&mut self) {
        self.runner.renew_budget();
    }

    /// Returns an error if the run has passed a surface without noticing it.
    ///
    /// # Errors
    /// A relation whose sides contradict its mode.
    pub fn check(&mut self, model: &dyn HybridSystem) -> Result<(), HybridError> {
        if is_smooth(model) || self.arrival.is_some() { Ok(()) } else { self.lost(model) }
    }

    fn no_rows(&self) -> RowTimes<'static> {
        RowTimes::new(&NO_ROWS, &Problem { t0: self.span.0, t_end: self.span.1, y0: Vec::new() })
    }
}
