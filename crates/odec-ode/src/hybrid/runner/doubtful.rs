//! Detects surface crossings that errors of the method decide.
//!
//! A decaying state falls below its tolerance. From then on, its sign is the sign of an error. No method can do
//! better, and if a condition depends on this sign, the time of its change has no meaning. The step that contains such
//! a crossing reveals it: at both ends, left - right is within its tolerance, and it changes so slowly that crossing
//! the tolerance takes a significant part of the run.
//!
//! A state may also come to a surface and turn back, like a sine that is compared with 1. Errors decide whether it
//! crosses if it gets past the surface, or falls short of it, by less than the tolerance. A touch without a crossing
//! is found on the polynomial of the step, and does not affect the run.
//!
//! Both cases only matter if the crossing affects the result: by an event, or by a jump of y' that moves a state by
//! more than its tolerance in the time that left - right needs to cross its tolerance. If the motion behind the surface
//! leads back to it, as when two tanks come to one level, it is the time that the way back takes: a law that is
//! continuous at the surface does not affect the result.

use super::HybridRunner;
use crate::hybrid::locate::{NEAR, Touch};
use crate::hybrid::modes::{Landed, Place};
use crate::hybrid::outcome::{Doubtful, End};
use crate::hybrid::system::{Edge, Event, HybridSystem, Trigger};

/// A crossing is doubtful if left - right needs at least this fraction of the run to cross its tolerance.
const MIN_FRACTION_OF_RUN: f64 = 1e-3;
/// A side that depends on t alone has no error but rounding, and the least distance of a touch is known to this fraction
/// of its sides.
const KNOWN: f64 = 1e-9;
/// A crossing affects the result if it moves a state by this multiple of its tolerance.
const VISIBLE_MOVE: f64 = 10.0;

/// The doubtful crossings of a run.
#[derive(Debug, Default)]
pub(super) struct DoubtfulCrossings {
    /// The last landing, if it is doubtful.
    pub landing: Option<DoubtfulLanding>,
    /// y' at the start of the step that ended there.
    before: Vec<f64>,
    /// The first doubtful crossing that affects the result.
    pub found: Option<Doubtful>,
}

/// A relation, with the time (`tolerance_time`) that left - right needs to cross its tolerance.
#[derive(Clone, Copy, Debug)]
pub(super) struct DoubtfulLanding {
    relation: usize,
    tolerance_time: f64,
    /// Error of left - right that the tolerances allow.
    error: f64,
    turns: bool,
}

impl HybridRunner {
    /// Returns the relation if left - right is close to its tolerance at both ends of the last step. A few tolerances
    /// still count, because the errors of such a step may be as large as its movement.
    pub(super) fn crosses_slowly(
        &mut self,
        model: &dyn HybridSystem,
        relation: usize,
        start: f64,
    ) -> Option<DoubtfulLanding> {
        if self.doubtful.found.is_some() {
            return None;
        }
        let end = self.runner.time();
        self.y.copy_from_slice(self.runner.state());
        let error = self.error_of_difference(model, end, relation);
        let after = self.modes.difference_at(model, (end, &self.y), relation).ok()?.abs();
        let before = self.modes.difference_at(model, (start, &self.start), relation).ok()?.abs();
        let tolerance_time = (end - start) * (error / (before + after));
        let long = tolerance_time >= MIN_FRACTION_OF_RUN * (self.span.1 - self.span.0);
        let tolerance_time = tolerance_time.min(self.span.1 - start);
        let doubtful = before.max(after) <= NEAR * error && long;
        doubtful.then(|| {
            self.with_slope_before(model, start, DoubtfulLanding { relation, tolerance_time, error, turns: false })
        })
    }

    /// Returns a relation that the run has landed on, if the motion would turn it back within its tolerance.
    pub(super) fn turns_back(
        &mut self,
        model: &dyn HybridSystem,
        landed: Landed,
        start: f64,
    ) -> Option<DoubtfulLanding> {
        if self.doubtful.found.is_some() {
            return None;
        }
        let (t, relation) = (self.runner.time(), landed.relation);
        self.y.copy_from_slice(self.runner.state());
        let error = self.error_of_difference(model, t, relation);
        let place = Place { t, y: &self.y, scale: t - start };
        let (depth, bend) = self.modes.turns(model, &self.locator, place, relation)?;
        let tolerance_time = (8.0 * error / bend).sqrt();
        (depth <= NEAR * error).then(|| {
            self.with_slope_before(model, start, DoubtfulLanding { relation, tolerance_time, error, turns: true })
        })
    }

    /// Keeps y' at the start of the step, because f may be undefined at its end in the modes before the landing.
    fn with_slope_before(&mut self, model: &dyn HybridSystem, start: f64, landing: DoubtfulLanding) -> DoubtfulLanding {
        self.modes.slope_at(model, start, &self.start);
        self.doubtful.before.clear();
        self.doubtful.before.extend_from_slice(self.modes.slope());
        landing
    }

    /// Error of left - right of a relation if all states are off by their tolerances, at the state `y`.
    pub(super) fn error_of_difference(&mut self, model: &dyn HybridSystem, t: f64, relation: usize) -> f64 {
        let weight = |i: usize| self.tolerances.scale(i, self.y[i].abs());
        self.locator.gradient(model, (t, &self.y), relation, weight)
    }

    /// Records a doubtful crossing that affects the result, at the end of its instant.
    pub(super) fn record_doubtful_landing(&mut self, model: &dyn HybridSystem, t: f64) {
        let Some(landing) = self.doubtful.landing.take() else { return };
        let is_visible = !self.rounds.executed.is_empty() || {
            let tolerance_time = landing.tolerance_time.min(self.return_time(model, t, &landing));
            let known = self.modes.slope_at(model, t, &self.y);
            let before = self.modes.slope_before().unwrap_or(&self.doubtful.before);
            known && (self.moves_states(before, tolerance_time, true) || self.unknowns_jump())
        };
        if is_visible {
            let DoubtfulLanding { relation, turns, .. } = landing;
            self.doubtful.found = Some(Doubtful { relation, t, turns });
        }
    }

    /// Time in which the motion returns from one tolerance behind the surface; infinite if it leads away.
    fn return_time(&mut self, model: &dyn HybridSystem, t: f64, of: &DoubtfulLanding) -> f64 {
        let place = Place { t, y: &self.y, scale: 0.0 };
        let Ok((_, Some(rate))) = self.modes.measure(model, &self.locator, place, of.relation) else {
            return f64::INFINITY;
        };
        let leads_back = (rate < 0.0) == (model.modes()[of.relation] != 0.0);
        if leads_back { of.error / rate.abs() } else { f64::INFINITY }
    }

    /// Records a touch in the last step, if a crossing there would affect the result.
    pub(super) fn record_doubtful_touch(&mut self, model: &mut dyn HybridSystem) {
        let touch = self.locator.take_touch().filter(|_| self.doubtful.found.is_none());
        let Some(Touch { relation, t, tolerance_time }) = touch.filter(|touch| touch.t < self.runner.time()) else {
            return;
        };
        self.runner.value(model.system(), t, &mut self.y);
        self.runner.rewind();
        let error = self.error_of_difference(model, t, relation);
        let apart = self.modes.difference_at(model, (t, &self.y), relation).map_or(0.0, f64::abs);
        if apart > NEAR * error + KNOWN * self.modes.size(relation) {
            return;
        }
        if !self.modes.slope_at(model, t, &self.y) {
            return;
        }
        let before = self.modes.slope().to_vec();
        let events = model.events().len();
        let mut conditions = [vec![false; events], vec![false; events]];
        model.conditions(t, &self.y, &mut conditions[0]);
        flip(model, &[relation]);
        model.conditions(t, &self.y, &mut conditions[1]);
        let known = self.modes.slope_at(model, t, &self.y);
        flip(model, &[relation]);
        let triggers = model.events().iter().enumerate().any(|(event, of)| {
            matches!(of.trigger, Trigger::Condition(_)) && conditions[0][event] != conditions[1][event]
        });
        if triggers || (known && self.moves_states(&before, tolerance_time, false)) {
            self.doubtful.found = Some(Doubtful { relation, t, turns: true });
        }
    }

    /// The first doubtful crossing of a run that ends here. If there is none, a relation whose mode disagrees with its
    /// sides at the end time, and keeps an event from happening. Where a state rests within rounding of a surface, a
    /// landing may decide two comparisons with this surface differently, and an event waits for one of them forever.
    pub(super) fn doubtful_crossing(&mut self, model: &mut dyn HybridSystem, end: End) -> Option<Doubtful> {
        let events = model.events().len();
        if self.doubtful.found.is_some() || events == 0 || end != End::Time {
            return self.doubtful.found;
        }
        let t = self.runner.time();
        self.y.copy_from_slice(self.runner.state());
        if self.modes.evaluate_sides(model, t, &self.y).is_err() {
            return None;
        }
        let wrong: Vec<usize> =
            (0..model.relations().len()).filter(|relation| self.modes.contradicts(model, *relation)).collect();
        if wrong.is_empty() {
            return None;
        }
        let mut conditions = [vec![false; events], vec![false; events]];
        model.conditions(t, &self.y, &mut conditions[0]);
        flip(model, &wrong);
        model.conditions(t, &self.y, &mut conditions[1]);
        let waits = |(event, of): (usize, &Event)| {
            let begins = matches!(of.trigger, Trigger::Condition(edge) if edge != Edge::Falling);
            begins && of.rest.is_none() && conditions[1][event] && !conditions[0][event]
        };
        let event = model.events().iter().enumerate().position(waits);
        // the relation without which the condition stays false
        let mut keeps_waiting = |relation: &usize| {
            flip(model, &[*relation]);
            model.conditions(t, &self.y, &mut conditions[0]);
            flip(model, &[*relation]);
            event.is_some_and(|event| !conditions[0][event])
        };
        let relation = wrong.iter().copied().find(&mut keeps_waiting);
        flip(model, &wrong);
        relation.map(|relation| Doubtful { relation, t, turns: false })
    }

    /// True if y' has jumped so much that a state moves by more than its tolerance in this time. An algebraic unknown with
    /// a kink does not move, if `states` alone count.
    fn moves_states(&self, before: &[f64], time: f64, states: bool) -> bool {
        let jumps = self.modes.slope().iter().zip(before).zip(&self.y).enumerate();
        let moves = |(i, ((now, before), y)): (usize, ((&f64, &f64), &f64))| {
            (now - before).abs() * time > VISIBLE_MOVE * self.tolerances.asked(i, y.abs())
                && !(states && self.modes.motion.is_unknown(i))
        };
        jumps.into_iter().any(moves)
    }

    /// True if an algebraic unknown has jumped at the instant by more than its tolerance.
    fn unknowns_jump(&self) -> bool {
        let pairs = self.before.y.iter().zip(&self.y).enumerate();
        let jumps = |(i, (before, y)): (usize, (&f64, &f64))| {
            (y - before).abs() > VISIBLE_MOVE * self.tolerances.asked(i, y.abs()) && self.modes.motion.is_unknown(i)
        };
        pairs.into_iter().any(jumps)
    }
}

/// Gives relations their other mode.
pub(super) fn flip(model: &mut dyn HybridSystem, relations: &[usize]) {
    for relation in relations {
        let mode = &mut model.modes_mut()[*relation];
        *mode = 1.0 - *mode;
    }
    model.refresh();
}
