//! Surfaces that errors of the method lead across.
//!
//! A state that decays comes below its tolerance, and its sign is that of an error from then on. No method knows better, and
//! what a condition on the sign switches is switched at a time that means nothing. Such a crossing is told from others by both
//! ends of the step that holds it: left - right is within its tolerance at both, and moves so slowly that the tolerance is
//! worth a good part of the run. It counts where what it switches shows: an event, or a jump of y' that moves a state by more
//! than its tolerance in this time.

use super::HybridRunner;
use crate::hybrid::system::HybridSystem;

/// A crossing is doubtful where the time that a tolerance is worth is this part of the run.
const PART: f64 = 1e-3;
/// A step that comes from so many tolerances is one of errors too: they may be as large as it is long.
const NEAR: f64 = 16.0;
/// What a crossing switches shows where it moves a state by so many tolerances.
const SHOWS: f64 = 10.0;

/// What is doubtful in a run.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// The relation of the last landing, where it is doubtful, with the time that its tolerance is worth.
    pub suspect: Option<(usize, f64)>,
    /// The first one that shows, and when.
    pub found: Option<(usize, f64)>,
}

impl HybridRunner {
    /// True for a relation within its tolerance at both ends of the last step, with the time that the tolerance is worth.
    pub(super) fn wanders(&mut self, model: &dyn HybridSystem, relation: usize, start: f64) -> Option<(usize, f64)> {
        if self.doubt.found.is_some() {
            return None;
        }
        let end = self.runner.time();
        self.y.copy_from_slice(self.runner.state());
        for (i, (weight, y)) in self.weights.iter_mut().zip(&self.y).enumerate() {
            *weight = self.tolerances.scale(i, y.abs());
        }
        let room = self.locator.gradient(model, (end, &self.y), relation, &self.weights);
        let after = self.modes.difference_at(model, (end, &self.y), relation).ok()?.abs();
        let before = self.modes.difference_at(model, (start, &self.start), relation).ok()?.abs();
        let worth = (end - start) * (room / (before + after));
        let long = worth >= PART * (self.span.1 - self.span.0);
        (before.max(after) <= NEAR * room && long).then(|| (relation, worth.min(self.span.1 - start)))
    }

    /// Notes a doubtful crossing that shows, as its instant is over.
    pub(super) fn judge(&mut self, model: &dyn HybridSystem, t: f64) {
        let Some((relation, worth)) = self.doubt.suspect.take() else { return };
        let shows = !self.rounds.executed.is_empty() || {
            let known = self.modes.slope_at(model, t, &self.y);
            let jumps = self.modes.slope().iter().zip(self.modes.slope_before()).zip(&self.y).enumerate();
            let far = |(i, ((now, before), y)): (usize, ((&f64, &f64), &f64))| {
                (now - before).abs() * worth > SHOWS * self.tolerances.asked(i, y.abs())
            };
            known && jumps.into_iter().any(far)
        };
        if shows {
            self.doubt.found = Some((relation, t));
        }
    }
}
