//! Short flights between two visits to a surface, and accumulation.
//!
//! A run that leaves a surface may return to it after a movement smaller than its tolerances, like a ball whose
//! bounces lose height. An error below the tolerance then decides how long the flight takes; for a method that starts
//! at order 1, it even decides the direction. So at an instant on a surface, a parabola predicts how far left - right
//! moves away and when it returns. If it returns sooner than last time, the tolerances are reduced until then to a
//! fraction that resolves the flight.

use super::HybridRunner;
use crate::hybrid::accumulation::Pending;
use crate::hybrid::modes::Place;
use crate::hybrid::outcome::{End, HybridError, Observer};
use crate::hybrid::rounds::InstantStart;
use crate::hybrid::stops::resolution;
use crate::hybrid::system::HybridSystem;
use crate::row_times::RowTimes;

/// Errors of a flight are held to this fraction of its height: the first for methods of higher order, the second for
/// those up to order 2, which would take several hundred steps for the first.
const RESOLVED: [f64; 2] = [1e-4, 1e-3];
/// A flight shorter than this, in units of time resolution, is rounding.
const SHORTEST: f64 = 1e3;
/// A flight lower than this multiple of the rounding error cannot be resolved.
const VISIBLE: f64 = 100.0;
/// Rounding error of an unknown, as a fraction of it.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// The tolerances return to their values after this multiple of the predicted flight time.
const RELAXED_FLIGHTS: f64 = 4.0;
/// The tolerance of a relation that is not affine is only computed up to this number of unknowns, because it takes one
/// derivative for each.
const MAX_UNKNOWNS: usize = 64;

/// A movement away from a surface and back.
struct Flight {
    /// Largest distance of left - right from zero.
    height: f64,
    /// Its duration.
    length: f64,
    /// Rounding error of left - right.
    rounding: f64,
}

impl HybridRunner {
    /// Reduces the tolerances for the flight that begins at an instant, if it is short.
    pub(super) fn resolve(&mut self, model: &dyn HybridSystem, t: f64, scale: f64) {
        if !self.adaptive {
            return;
        }
        self.restore_tolerances();
        let before = self.tight.filter(|until| t < *until);
        if before.is_none() {
            self.relax();
        }
        let (mut part, mut until) = (self.tolerances.part(), before.unwrap_or(t));
        for k in 0..self.modes.met_here.len() {
            let relation = self.modes.met_here[k];
            let last = t - std::mem::replace(&mut self.met[relation], t);
            let Some(flight) = self.flight(model, (t, scale), relation) else { continue };
            let Flight { height, length, rounding } = flight;
            if height <= VISIBLE * rounding {
                self.come_to_rest(model, t, relation);
                continue;
            }
            // if the flight takes longer than the last one, it does not come to rest
            if length > last || length <= SHORTEST * resolution(t) {
                continue;
            }
            let weight = |i: usize| self.tolerances.asked(i, self.y[i].abs());
            let tolerance = self.locator.gradient(model, (t, &self.y), relation, weight);
            let wanted = RESOLVED[usize::from(self.runner.method.order <= 2)] * height / tolerance;
            if wanted < 1.0 {
                part = part.min(wanted.log2().floor().exp2());
                until = until.max(t + RELAXED_FLIGHTS * length);
            }
        }
        if part < 1.0 {
            self.tolerances.tighten(part);
            self.runner.tighten(part);
            self.tight = Some(until);
        }
    }

    /// Executes the `rest` events of the accumulations that are due. If one has none, the run ends.
    pub(super) fn rest(
        &mut self,
        model: &mut dyn HybridSystem,
        due: &[Pending],
        scale: f64,
        wanted: &mut RowTimes<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<End>, HybridError> {
        let ends = |pending: &Pending| End::Accumulation { event: pending.event, ratio: pending.limit.ratio };
        let mut rests = Vec::with_capacity(due.len());
        for pending in due {
            // an event on the same surface comes to rest with this one
            let shares = |other: &Pending| pending.relations.iter().any(|relation| other.relations.contains(relation));
            let rested = |other: &Pending| model.events()[other.event].rest.is_some() && shares(other);
            match model.events()[pending.event].rest {
                Some(rest) => rests.push((pending.event, rest)),
                None if due.iter().any(rested) => self.rounds.forget(pending.event),
                None => return Ok(Some(ends(pending))),
            }
        }
        let ended = self.instant(model, &InstantStart::Rest(rests), scale, wanted, observer)?;
        // if the event happens again at once, it has not come to rest
        let begun = |pending: &&Pending| self.rounds.executed.iter().any(|executed| executed.event == pending.event);
        Ok(due.iter().find(begun).map(ends).or(ended))
    }

    /// Ends the bounces on this surface, if they became smaller and are now lost in rounding.
    fn come_to_rest(&mut self, model: &dyn HybridSystem, t: f64, relation: usize) {
        let mut found = false;
        for (event, limit) in self.rounds.at_rounding(t) {
            found = true;
            self.limits.add(Pending { event, limit, relations: vec![relation] });
        }
        if found {
            self.renew(model, t);
        }
    }

    /// Predicts the flight of a relation from its surface by a parabola; `None` if it does not return.
    fn flight(&mut self, model: &dyn HybridSystem, (t, scale): (f64, f64), relation: usize) -> Option<Flight> {
        if !self.locator.watches(relation) || (self.locator.affine(relation).is_none() && self.y.len() > MAX_UNKNOWNS) {
            return None;
        }
        let weight = |i: usize| self.tolerances.asked(i, self.y[i].abs());
        let tolerance = self.locator.gradient(model, (t, &self.y), relation, weight);
        let near = self.modes.difference_at(model, (t, &self.y), relation).is_ok_and(|g| g.abs() <= tolerance);
        if !near {
            return None;
        }
        let rounded = |i: usize| ROUNDING * self.y[i].abs();
        let rounding = self.locator.gradient(model, (t, &self.y), relation, rounded) + self.modes.noise(relation);
        let [rate, bend] = self.modes.bends(model, &self.locator, Place { t, y: &self.y, scale }, relation)?;
        // rate s + bend s^2/2
        let (height, length) = ((0.5 * rate * (rate / bend)).abs(), 2.0 * (rate / bend).abs());
        ((rate > 0.0) != (bend > 0.0)).then_some(Flight { height, length, rounding })
    }

    /// Sets the tolerances back to those requested.
    pub(super) fn relax(&mut self) {
        if self.tight.take().is_some() || self.tolerances.part() < 1.0 {
            self.tolerances.tighten(1.0);
            self.runner.tighten(1.0);
        }
    }
}
