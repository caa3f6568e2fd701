//! Steps of a model with events, switches or bounds.

use odec_ir::broken;
use odec_ode::Stats;
use odec_ode::hybrid::{End, Executed, HybridCause, HybridError, HybridRunner, HybridSystem};
use odec_ode::problem::{Cause, Failure, Problem, Refusal, SolveError};

use super::{Occurrence, Position, settle};
use crate::bind::Bound;
use crate::hybrid::drive::Hybrid;
use crate::hybrid::{Located, Origin};

/// A run that goes forward in time.
pub(super) struct SwitchedRun {
    hybrid: Hybrid,
    /// The end of the run according to the model or the host; the start if neither gives an end.
    end: f64,
    /// The end of the runner's current run; `None` before the first step, and if the run must restart.
    heading: Option<f64>,
    /// True once a run has begun.
    begun: bool,
    /// Discretes that the host set before the first step.
    set: Vec<(usize, f64)>,
    stopped: Option<Origin>,
    /// Time and index of the events of the last call.
    executed: Vec<(f64, usize)>,
    /// Counts of the runs before the current one.
    before: Stats,
}

impl SwitchedRun {
    pub fn new(hybrid: Hybrid, end: f64) -> Self {
        SwitchedRun {
            hybrid,
            end,
            heading: None,
            begun: false,
            set: Vec::new(),
            stopped: None,
            executed: Vec::new(),
            before: Stats::default(),
        }
    }

    pub fn stats(&self) -> Stats {
        let mut stats = self.before;
        stats.add(&self.hybrid.runner.stats());
        stats
    }

    pub fn executed(&self) -> Vec<Occurrence> {
        let known = |(t, event): &(f64, usize)| {
            let Origin { event, at } = self.hybrid.model.origin(*event)?;
            Some(Occurrence { t: *t, event, at })
        };
        self.executed.iter().filter_map(known).collect()
    }

    pub fn forget_executed(&mut self) {
        self.executed.clear();
    }

    pub fn stopped(&self) -> Option<&Origin> {
        self.stopped.as_ref()
    }

    /// True if the start, with its events, has not been executed yet.
    pub fn waits_for_start(&self) -> bool {
        !self.begun
    }

    /// The next step begins a new run.
    pub fn restart(&mut self) {
        self.heading = None;
    }

    /// The discrete at a place of the parameter buffer.
    pub fn discrete(&self, place: usize) -> f64 {
        let model = &self.hybrid.model;
        match model.discrete_at(place) {
            Some(at) => model.discretes()[at],
            None => broken("a place of the buffer belongs to no discrete"),
        }
    }

    /// Sets a discrete. True if it has changed.
    pub fn set_discrete(&mut self, place: usize, value: f64) -> bool {
        let model = &mut self.hybrid.model;
        let Some(at) = model.discrete_at(place).filter(|at| model.discretes()[*at] != value) else { return false };
        model.discretes_mut()[at] = value;
        if !self.begun {
            self.set.push((at, value));
        }
        true
    }

    /// The model with the modes of the host's position, for outputs.
    pub fn view(&self, bound: &Bound, at: &Position) -> Located {
        let Hybrid { model, view, .. } = &self.hybrid;
        let mut view = view.fork();
        if let Some(located) = &bound.located {
            view.follow(located);
        }
        view.show(model.modes(), model.discretes());
        if at.changed || self.heading.is_none() {
            view.compare(at.t, &at.y);
        }
        view
    }

    /// Advances to a finite time other than the current one, or to an event that stops the run.
    pub fn reach(&mut self, bound: &Bound, at: &mut Position, t: f64) -> Result<(), SolveError> {
        if t < at.t {
            let reason = "a model with events, switches or bounds runs only forward in time";
            return Err(SolveError::Refused(Refusal::BadOption(reason.to_string())));
        }
        if self.stopped.is_some() {
            return Ok(());
        }
        self.hybrid.runner.renew_budget();
        let reached = self.advance(bound, at, t);
        if reached.is_err() {
            // with other values, the run must begin again
            self.heading = None;
        }
        reached.map_err(|error| {
            let mut error = SolveError::from(error);
            if let SolveError::Failed(failure) = &mut error {
                failure.discretes = self.hybrid.model.discretes().to_vec();
            }
            error
        })
    }

    fn advance(&mut self, bound: &Bound, at: &mut Position, t: f64) -> Result<(), HybridError> {
        let mut ended = match self.heading {
            None => self.begin(bound, at, t)?,
            Some(t_end) => {
                let ended = if at.changed { self.change(bound, at)? } else { None };
                if t > t_end && ended.is_none() {
                    self.hybrid.runner.extend(f64::INFINITY)?;
                    self.heading = Some(f64::INFINITY);
                }
                ended
            }
        };
        at.changed = false;
        let (Hybrid { runner, model, .. }, executed) = (&mut self.hybrid, &mut self.executed);
        let failed = loop {
            let now = runner.runner().time();
            if ended.is_some() || (t <= now && !runner.must_finish_step(t)) {
                break None;
            }
            match runner.advance(model, t, &mut |t, events| note(executed, t, events)) {
                Ok(end) => ended = end,
                Err(error) => break Some(error),
            }
        };
        let now = runner.runner().time();
        if failed.is_some() || ended.is_some() {
            at.y.copy_from_slice(runner.runner().state());
        } else {
            runner.value(model, t, &mut at.y);
        }
        at.t = if failed.is_some() || ended.is_some() { now } else { t };
        match (failed, ended) {
            (Some(error), _) => Err(error),
            (None, Some(end)) => self.finish(end, at),
            (None, None) => runner.check(model),
        }
    }

    /// Starts a run at the current time and state, to the known end or without an end. Returns the reason if an event
    /// ends it at once.
    fn begin(&mut self, bound: &Bound, at: &mut Position, t: f64) -> Result<Option<End>, HybridError> {
        let stats = self.stats();
        if self.begun {
            self.follow(bound);
            self.hybrid.runner = HybridRunner::new(&self.hybrid.model, bound.choice.method, &bound.options)?;
        } else {
            if at.changed {
                settle(bound, at, stats)?;
            }
            self.hybrid.begin(bound)?;
            let model = &mut self.hybrid.model;
            for (discrete, value) in self.set.drain(..) {
                model.discretes_mut()[discrete] = value;
            }
            model.refresh();
            model.compare(at.t, &at.y);
        }
        let t_end = if t <= self.end { self.end } else { f64::INFINITY };
        let problem = Problem { t0: at.t, t_end, y0: at.y.clone() };
        let (Hybrid { runner, model, .. }, executed) = (&mut self.hybrid, &mut self.executed);
        self.before = stats;
        let ended = runner.start(model, &problem, &mut |t, events| note(executed, t, events))?;
        (self.begun, self.heading) = (true, Some(t_end));
        Ok(ended)
    }

    /// Continues from the values that the host has set.
    fn change(&mut self, bound: &Bound, at: &Position) -> Result<Option<End>, HybridError> {
        self.follow(bound);
        let (Hybrid { runner, model, .. }, executed) = (&mut self.hybrid, &mut self.executed);
        runner.change(model, (at.t, &at.y), &mut |t, events| note(executed, t, events))
    }

    /// Takes over the parameters.
    fn follow(&mut self, bound: &Bound) {
        if let Some(located) = &bound.located {
            self.hybrid.model.follow_in_run(located);
            self.hybrid.view.follow(located);
        }
    }

    /// Records why a run has ended.
    fn finish(&mut self, end: End, at: &Position) -> Result<(), HybridError> {
        match end {
            End::Event(event) => {
                self.stopped = self.hybrid.model.origin(event);
                Ok(())
            }
            End::Accumulation { event, ratio } => {
                let instant = Some(Box::new(HybridCause::Accumulation { event, ratio }));
                let (t, y, stats) = (at.t, at.y.clone(), self.stats());
                let (cause, discretes) = (Cause::Instant, Vec::new());
                let failure = Failure { cause, t, y, h: 0.0, at: None, stats, history: None, instant, discretes };
                Err(HybridError::Failed(Box::new(failure)))
            }
            End::Time | End::Interrupted => Ok(()),
        }
    }
}

fn note(list: &mut Vec<(f64, usize)>, t: f64, events: &[Executed]) {
    list.extend(events.iter().map(|executed| (t, executed.event)));
}
