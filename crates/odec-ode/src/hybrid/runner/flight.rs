//! Small flights, and accumulation.
//!
//! A run that has left a surface may come back to it after a way that is shorter than its tolerances, as a ball whose bounces
//! become lower and lower. An error below the tolerance then decides how long the flight is, and where a method begins at
//! order 1, whether it leads up or down. So at an instant on a surface the parabola from there says how far left - right gets
//! from it, and when it is back. Where that is sooner than it took the last time, errors are held until then to a part of the
//! tolerances that resolves it.

use super::{HybridRunner, RowTimes};
use crate::control::Tolerances;
use crate::hybrid::accumulation::Pending;
use crate::hybrid::modes::Place;
use crate::hybrid::outcome::{End, HybridError, Observer};
use crate::hybrid::rounds::Begins;
use crate::hybrid::stops::resolution;
use crate::hybrid::system::HybridSystem;

/// The part of a flight that its errors are held to: of methods of higher order, and of those up to order 2, which would take
/// several hundred steps for the first.
const RESOLVED: [f64; 2] = [1e-4, 1e-3];
/// A flight that lasts less than this, in units of what times are told apart by, is rounding.
const SHORTEST: f64 = 1e3;
/// A flight that gets no further than so many units of rounding is not seen.
const VISIBLE: f64 = 100.0;
/// Rounding of an unknown, as a part of it.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// Tolerances are again what they were after so many times the length of the flight as the parabola has it.
const LASTS: f64 = 4.0;
/// Unknowns up to which the tolerance of a relation that is not affine is looked for: it takes as many derivatives.
const FEW: usize = 64;

/// A way from a surface and back.
struct Flight {
    /// How far left - right gets.
    height: f64,
    /// The time it takes.
    length: f64,
    /// Rounding of left - right.
    rounding: f64,
}

impl HybridRunner {
    /// At an instant, from the state behind it.
    pub(super) fn resolve(&mut self, model: &dyn HybridSystem, t: f64, scale: f64) {
        if !self.adaptive {
            return;
        }
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
            // what takes longer than the last time does not come to rest
            if length > last || length <= SHORTEST * resolution(t) {
                continue;
            }
            self.weigh(crate::control::Tolerances::asked);
            let tolerance = self.locator.gradient(model, (t, &self.y), relation, &self.weights);
            let wanted = RESOLVED[usize::from(self.runner.method.order <= 2)] * height / tolerance;
            if wanted < 1.0 {
                part = part.min(wanted.log2().floor().exp2());
                until = until.max(t + LASTS * length);
            }
        }
        if part < 1.0 {
            self.tolerances.tighten(part);
            self.runner.tighten(part);
            self.tight = Some(until);
        }
    }

    /// Events have accumulated: what they come to rest by is executed. Without it the run ends.
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
            // what happens on the same surface comes to rest with it
            let shares = |other: &Pending| pending.relations.iter().any(|relation| other.relations.contains(relation));
            let rested = |other: &Pending| model.events()[other.event].rest.is_some() && shares(other);
            match model.events()[pending.event].rest {
                Some(rest) => rests.push((pending.event, rest)),
                None if due.iter().any(rested) => self.rounds.forget(pending.event),
                None => return Ok(Some(ends(pending))),
            }
        }
        let ended = self.instant(model, &Begins::Rest(rests), scale, wanted, observer)?;
        // what comes to rest and begins again at once has not come to rest
        let begun = |pending: &&Pending| self.rounds.executed.iter().any(|executed| executed.event == pending.event);
        Ok(due.iter().find(begun).map(ends).or(ended))
    }

    /// Bounces that are lost in rounding from now on have come to their end, if they became smaller and smaller.
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

    /// The way of a relation from the surface that it leaves and back, by the parabola there; `None` where it does not come back.
    fn flight(&mut self, model: &dyn HybridSystem, (t, scale): (f64, f64), relation: usize) -> Option<Flight> {
        if !self.locator.watches(relation) || (self.locator.affine(relation).is_none() && self.y.len() > FEW) {
            return None;
        }
        self.weigh(crate::control::Tolerances::asked);
        let tolerance = self.locator.gradient(model, (t, &self.y), relation, &self.weights);
        let near = self.modes.difference_at(model, (t, &self.y), relation).is_ok_and(|g| g.abs() <= tolerance);
        if !near {
            return None;
        }
        self.weigh(|_, _, y| ROUNDING * y);
        let rounding = self.locator.gradient(model, (t, &self.y), relation, &self.weights) + self.modes.noise(relation);
        let [rate, bend] = self.modes.bends(model, &self.locator, Place { t, y: &self.y, scale }, relation)?;
        // rate s + bend s^2/2
        let (height, length) = ((0.5 * rate * (rate / bend)).abs(), 2.0 * (rate / bend).abs());
        ((rate > 0.0) != (bend > 0.0)).then_some(Flight { height, length, rounding })
    }

    /// Weights of the unknowns from their sizes.
    fn weigh(&mut self, weight: impl Fn(&Tolerances, usize, f64) -> f64) {
        for (i, (to, y)) in self.weights.iter_mut().zip(&self.y).enumerate() {
            *to = weight(&self.tolerances, i, y.abs());
        }
    }

    /// Tolerances are what was asked for.
    pub(super) fn relax(&mut self) {
        if self.tight.take().is_some() || self.tolerances.part() < 1.0 {
            self.tolerances.tighten(1.0);
            self.runner.tighten(1.0);
        }
    }
}
