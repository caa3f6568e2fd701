//! The steps of a hybrid run, and the instants at their ends.

use std::ops::ControlFlow;

use super::edges::Edge;
use super::{Attempted, Flow, GROWING, HybridRunner, SHORTEST, is_smooth, point, rows_at};
use crate::hybrid::modes::Landed;
use crate::hybrid::outcome::{AcceptedStep, End, HybridError, Observer};
use crate::hybrid::rounds::InstantStart;
use crate::hybrid::stops::{resolution, same};
use crate::hybrid::system::HybridSystem;
use crate::row_times::RowTimes;
use crate::runner::{Reached, StepRequest};

/// An accepted step whose end is not executed yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Time at which the step began.
    from: f64,
    /// The surface that the step reached, if any.
    landed: Option<Landed>,
    /// True if the step ends at an instant.
    pub is_instant: bool,
    /// True if f had no value in one of the attempts, or if the step approaches a root.
    failed: bool,
}

/// What an attempt led to.
pub(super) enum Stepped {
    /// The run was moved on from a point where f has no derivative.
    Moved,
    Arrived(Arrival),
    /// The observer stops the run.
    Interrupted,
}

impl HybridRunner {
    pub(super) fn steps(
        &mut self,
        model: &mut dyn HybridSystem,
        wanted: &mut RowTimes<'_>,
        observer: &mut dyn Observer,
    ) -> Result<End, HybridError> {
        self.prepare_steps(model);
        while self.runner.time() != self.span.1 {
            match self.step(model, wanted, observer)? {
                Stepped::Moved => {}
                Stepped::Interrupted => return Ok(End::Interrupted),
                Stepped::Arrived(arrival) => {
                    if let Some(ended) = self.execute(model, arrival, wanted, observer)? {
                        return Ok(ended);
                    }
                }
            }
        }
        if !is_smooth(model) {
            self.lost(model)?;
        }
        Ok(End::Time)
    }

    /// Prepares the first step of a run.
    pub(super) fn prepare_steps(&mut self, model: &dyn HybridSystem) {
        self.fresh = true;
        self.stop = if is_smooth(model) { None } else { self.next_stop(self.runner.time()) };
    }

    /// Takes steps up to one that needs to be examined, and writes their rows. If a step fails, the run may continue at
    /// its start with free relations.
    pub(super) fn step(
        &mut self,
        model: &mut dyn HybridSystem,
        wanted: &mut RowTimes<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Stepped, HybridError> {
        self.note_attempts();
        let made = self.located_step(model, wanted, observer);
        made.or_else(|error| self.free_after(model, error).map(|()| Stepped::Moved))
    }

    fn located_step(
        &mut self,
        model: &mut dyn HybridSystem,
        wanted: &mut RowTimes<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Stepped, HybridError> {
        let (end, known) = (self.span.1, self.stop);
        let stop = known.filter(|stop| *stop < end && !same(*stop, end));
        let Some(mut made) = self.leg(model, stop, wanted, observer) else {
            return Ok(Stepped::Interrupted);
        };
        self.approach(model, &mut made);
        let t = made.from;
        self.free.from = t;
        if let Some(start) = self.runner.start() {
            self.start.copy_from_slice(start);
        } else if made.reached.is_err() {
            self.start.copy_from_slice(self.runner.state());
        }
        if self.leave_root_at_once(model, &made)? {
            return Ok(Stepped::Moved);
        }
        let mut landed = None;
        if made.failed || made.reached.is_err() {
            let edge = self.edge(model, made.reached.is_ok());
            landed = edge.filter(|edge| made.reached.is_err() || !self.meets_other(model, edge.relation, t));
        }
        if let (Err(error), None) = (made.reached, landed) {
            if self.leave_edge(model, &error)? || self.leave_root(model, &error)? {
                return Ok(Stepped::Moved);
            }
            return Err(error.into());
        }
        let found = self.within_or_leave(model, (t, made.request), landed, !made.keeps_modes)?;
        let ControlFlow::Continue(landed) = found else { return Ok(Stepped::Moved) };
        if self.jumps(model, t)? {
            return Ok(Stepped::Moved);
        }
        self.record_doubtful_touch(model);
        (self.on_edge, self.pushed) = (Edge::None, 0);
        let now = self.runner.time();
        let stopped = known.is_some_and(|known| known == now || (now == end && (known <= end || same(known, end))));
        let stopped = stopped || (landed.is_none() && self.ends_on_surface(model));
        let is_instant = landed.is_some() || stopped;
        let broken = self.rows_inside(model, is_instant, wanted, observer).is_break();
        if broken || observer.made(&mut AcceptedStep { runner: &mut self.runner, model }).is_break() {
            return Ok(Stepped::Interrupted);
        }
        Ok(Stepped::Arrived(Arrival { from: t, landed, is_instant, failed: made.failed }))
    }

    /// Executes the end of a step: bounds, rows and the instant there. Returns the reason if it ends the run.
    pub(super) fn execute(
        &mut self,
        model: &mut dyn HybridSystem,
        Arrival { from, landed, is_instant, failed }: Arrival,
        wanted: &mut RowTimes<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<End>, HybridError> {
        let now = self.runner.time();
        self.push(model, from, is_instant)?;
        let here = point(model, now, self.runner.state());
        if wanted.are_steps() && observer.row(here).is_break() {
            return Ok(Some(End::Interrupted));
        }
        if !is_instant {
            if rows_at(here, wanted, observer).is_break() {
                return Ok(Some(End::Interrupted));
            }
            self.release(model)?;
            self.turn_neglected(model)?;
            self.approach_root(model, from, failed);
            self.free_crowding(model, None);
            return Ok(None);
        }
        let length = now - from;
        self.neglected.forget();
        self.arrive(model, landed)?;
        let due = self.limits.take(now);
        let ended = if due.is_empty() {
            self.instant(model, &InstantStart::Time(landed), length, wanted, observer)?
        } else {
            self.rest(model, &due, length, wanted, observer)?
        };
        if ended.is_none() && self.rounds.executed.is_empty() {
            self.free_crowding(model, landed.map(|landed| landed.relation));
        }
        self.stop = self.next_stop(now);
        Ok(ended)
    }

    /// Accepts a step. Resets displaced surfaces that the run has left, and the tolerances.
    pub(super) fn release(&mut self, model: &dyn HybridSystem) -> Result<(), HybridError> {
        let now = self.runner.time();
        if self.tight.is_some_and(|until| now > until) {
            self.relax();
        }
        if !self.modes.are_displaced() {
            return Ok(());
        }
        self.y.copy_from_slice(self.runner.state());
        let released = self.modes.release(model, now, &self.y);
        if released.map_err(|cause| self.failure(cause, now))? {
            self.renew(model, now);
        }
        Ok(())
    }

    /// The next time that is known in advance.
    pub(super) fn next_stop(&self, t: f64) -> Option<f64> {
        let limit = self.limits.next().map(|limit| limit.max(t + 2.0 * resolution(t)));
        let all = [self.stops.next(t), self.rounds.next(), limit];
        all.into_iter().flatten().min_by(f64::total_cmp)
    }

    /// Takes steps and writes their rows, up to a step that may contain a crossing, or that ends at a stop or at the
    /// end of the run. `None` if the observer stops the run.
    fn leg(
        &mut self,
        model: &dyn HybridSystem,
        stop: Option<f64>,
        wanted: &mut RowTimes<'_>,
        observer: &mut dyn Observer,
    ) -> Option<Attempted> {
        let relations = !model.relations().is_empty();
        let bounds = !self.bounds.are_none();
        let examines_steps = observer.examines_steps() || !model.free().is_empty();
        let keeps = (relations || bounds) && !self.runner.has_start();
        let mut eval = self.runner.evaluator(model.system());
        let made = loop {
            let from = self.runner.time();
            // a leg of a single step would depend on a single error estimate, which may vanish by chance
            let half = if std::mem::take(&mut self.fresh) { stop.map(|stop| 0.5 * (from + stop)) } else { None };
            let half = half.filter(|half| *half > from + SHORTEST * resolution(from));
            let grown = self.growing.map(|length| from + length);
            let half = grown.filter(|end| stop.is_none_or(|stop| *end < stop)).or(half);
            let next = || self.requested.filter(|t| *t > from).unwrap_or(from.next_up());
            let sample = if examines_steps { Some(next()) } else { wanted.time() };
            let root = self.root_step.take().map(|length| from + length);
            let half = root.filter(|end| half.or(stop).is_none_or(|stop| *end < stop)).or(half);
            let request = StepRequest { stop: half.or(stop), sample };
            if keeps {
                self.start.copy_from_slice(self.runner.state());
            }
            let faults = eval.faults();
            let reached = self.runner.step(&mut eval, request);
            if grown.is_some() {
                let short = grown == Some(self.runner.time());
                self.growing = self.growing.filter(|_| short).map(|length| GROWING * length);
            }
            // if f has no value beyond a surface, steps shrink towards the surface
            let failed = relations && (root.is_some() || eval.faults() != faults);
            let keeps_modes = !relations || self.locator.keeps_modes(&self.runner, from);
            let plain = self.tight.is_none() && !self.modes.are_displaced();
            let outside = bounds && self.bounds.are_outside(self.runner.state());
            if examines_steps || !matches!(reached, Ok(Reached::Step)) || !keeps_modes || failed || outside || !plain {
                let reached = reached.map_err(|cause| self.runner.failure(&eval, cause));
                break Some(Attempted { from, request, reached, failed, keeps_modes });
            }
            let now = self.runner.time();
            let mut flow = Flow::Continue(());
            if wanted.are_up_to(now) {
                while let (true, Some(t)) = (flow.is_continue(), wanted.take(now, false)) {
                    self.runner.value_by(&mut eval, t, &mut self.row);
                    self.bounds.put_back(&mut self.row);
                    flow = observer.row(point(model, t, &self.row));
                }
                let here = point(model, now, self.runner.state());
                if flow.is_continue() && wanted.are_steps() {
                    flow = observer.row(here);
                } else if flow.is_continue() {
                    flow = rows_at(here, wanted, observer);
                }
            }
            if flow.is_break() || observer.ended(&mut self.runner.step_end()).is_break() {
                break None;
            }
        };
        self.runner.keep(eval);
        made
    }

    /// Writes the rows before the end of the last step. A row within rounding of an instant comes after the instant.
    fn rows_inside(
        &mut self,
        model: &dyn HybridSystem,
        is_instant: bool,
        wanted: &mut RowTimes<'_>,
        observer: &mut dyn Observer,
    ) -> Flow {
        let now = self.runner.time();
        while let Some(t) = wanted.take(now, false) {
            if is_instant && same(t, now) {
                wanted.put_back();
                break;
            }
            self.runner.value(model.system(), t, &mut self.row);
            self.bounds.put_back(&mut self.row);
            observer.row(point(model, t, &self.row))?;
        }
        Flow::Continue(())
    }
}
