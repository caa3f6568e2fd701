//! Surfaces that errors of the method lead across.
//!
//! A state that decays comes below its tolerance, and its sign is that of an error from then on. No method knows better, and
//! what a condition on the sign switches is switched at a time that means nothing. Such a crossing is told from others by both
//! ends of the step that holds it: left - right is within its tolerance at both, and moves so slowly that the tolerance is
//! worth a good part of the run.
//!
//! A state may also come to a surface and turn round there, such as a sine that is compared with 1. Whether it crosses is
//! decided by errors if it gets behind the surface by less than the tolerance, or is short of it by less. A touch without
//! a crossing is found on the polynomial of the step, and changes nothing of the run.
//!
//! Either counts where what it switches shows: an event, or a jump of y' that moves a state by more than its tolerance in
//! the time that the tolerance is worth.

use super::HybridRunner;
use crate::hybrid::locate::{NEAR, Touch};
use crate::hybrid::modes::{Landed, Place};
use crate::hybrid::outcome::Doubtful;
use crate::hybrid::system::{HybridSystem, Trigger};

/// A crossing is doubtful where the time that a tolerance is worth is this part of the run.
const PART: f64 = 1e-3;
/// What a crossing switches shows where it moves a state by so many tolerances.
const SHOWS: f64 = 10.0;

/// What is doubtful in a run.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// The last landing, where it is doubtful.
    pub suspect: Option<Suspect>,
    /// The first one that shows.
    pub found: Option<Doubtful>,
}

/// A relation with the time that its tolerance is worth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspect {
    relation: usize,
    worth: f64,
    turns: bool,
}

impl HybridRunner {
    /// A relation within its tolerance at both ends of the last step, with the time that the tolerance is worth. A step that comes from
    /// a few tolerances is one of errors too: they may be as large as it is long.
    pub(super) fn wanders(&mut self, model: &dyn HybridSystem, relation: usize, start: f64) -> Option<Suspect> {
        if self.doubt.found.is_some() {
            return None;
        }
        let end = self.runner.time();
        self.y.copy_from_slice(self.runner.state());
        let room = self.room(model, end, relation);
        let after = self.modes.difference_at(model, (end, &self.y), relation).ok()?.abs();
        let before = self.modes.difference_at(model, (start, &self.start), relation).ok()?.abs();
        let worth = (end - start) * (room / (before + after));
        let long = worth >= PART * (self.span.1 - self.span.0);
        let worth = worth.min(self.span.1 - start);
        (before.max(after) <= NEAR * room && long).then_some(Suspect { relation, worth, turns: false })
    }

    /// A relation that has been landed on, if the motion would turn it round within its tolerance.
    pub(super) fn turns(&mut self, model: &dyn HybridSystem, landed: Landed, start: f64) -> Option<Suspect> {
        if self.doubt.found.is_some() {
            return None;
        }
        let (t, relation) = (self.runner.time(), landed.relation);
        self.y.copy_from_slice(self.runner.state());
        let room = self.room(model, t, relation);
        let place = Place { t, y: &self.y, scale: t - start };
        let (depth, bend) = self.modes.turns(model, &self.locator, place, relation)?;
        (depth <= NEAR * room).then(|| Suspect { relation, worth: (8.0 * room / bend).sqrt(), turns: true })
    }

    /// How far left - right of a relation is off where all states are off by their tolerances, at the state `y`.
    fn room(&mut self, model: &dyn HybridSystem, t: f64, relation: usize) -> f64 {
        for (i, (weight, y)) in self.weights.iter_mut().zip(&self.y).enumerate() {
            *weight = self.tolerances.scale(i, y.abs());
        }
        self.locator.gradient(model, (t, &self.y), relation, &self.weights)
    }

    /// Notes a doubtful crossing that shows, as its instant is over.
    pub(super) fn judge(&mut self, model: &dyn HybridSystem, t: f64) {
        let Some(suspect) = self.doubt.suspect.take() else { return };
        let shows = !self.rounds.executed.is_empty() || {
            let known = self.modes.slope_at(model, t, &self.y);
            known && self.far(self.modes.slope_before(), suspect.worth)
        };
        if shows {
            let Suspect { relation, turns, .. } = suspect;
            self.doubt.found = Some(Doubtful { relation, t, turns });
        }
    }

    /// Notes a touch in the last step, if a crossing there would show.
    pub(super) fn touched(&mut self, model: &mut dyn HybridSystem) {
        let touch = self.locator.take_touch().filter(|_| self.doubt.found.is_none());
        let Some(Touch { relation, t, worth }) = touch.filter(|touch| touch.t < self.runner.time()) else { return };
        self.runner.value(model.system(), t, &mut self.y);
        self.runner.rewind();
        if !self.modes.slope_at(model, t, &self.y) {
            return;
        }
        let before = self.modes.slope().to_vec();
        let events = model.events().len();
        let mut conditions = [vec![false; events], vec![false; events]];
        model.conditions(t, &self.y, &mut conditions[0]);
        let flip = |model: &mut dyn HybridSystem| {
            let mode = &mut model.modes_mut()[relation];
            *mode = 1.0 - *mode;
            model.refresh();
        };
        flip(model);
        model.conditions(t, &self.y, &mut conditions[1]);
        let known = self.modes.slope_at(model, t, &self.y);
        flip(model);
        let triggers = model.events().iter().enumerate().any(|(event, of)| {
            matches!(of.trigger, Trigger::Condition(_)) && conditions[0][event] != conditions[1][event]
        });
        if triggers || (known && self.far(&before, worth)) {
            self.doubt.found = Some(Doubtful { relation, t, turns: true });
        }
    }

    /// True where y' has jumped by so much that a state moves by more than its tolerance in this time.
    fn far(&self, before: &[f64], time: f64) -> bool {
        let jumps = self.modes.slope().iter().zip(before).zip(&self.y).enumerate();
        let far = |(i, ((now, before), y)): (usize, ((&f64, &f64), &f64))| {
            (now - before).abs() * time > SHOWS * self.tolerances.asked(i, y.abs())
        };
        jumps.into_iter().any(far)
    }
}
