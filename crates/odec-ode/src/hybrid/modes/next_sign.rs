//! Determines the sign that a relation on its surface is about to have, if its rate does not decide it.

use super::{Departure, Landed, Modes, Place};
use crate::hybrid::locate::{Locator, SIDES};
use crate::hybrid::outcome::HybridCause;
use crate::hybrid::rates::{rate_along, rates_along};
use crate::hybrid::system::HybridSystem;

/// Distance between the points from which a second derivative is computed, as a fraction of the last step.
const DIFFERENCE_STEP: f64 = 1e-4;
/// That distance is at least this multiple of the uncertainty of the instant.
const MIN_DIFFERENCE_STEP: f64 = 1e3;
/// Noise of a rate, as a fraction of the size of its terms.
pub(super) const RATE: f64 = 64.0 * f64::EPSILON;
/// A rate is noise if it is zero within this multiple of the uncertainty of the instant.
const BLUR: f64 = 4.0;
/// Distances ahead at which the motion is examined if two derivatives are zero, as fractions of the last step.
const FURTHER: [f64; 7] = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8];
/// left - right at such a distance is significant above this multiple of its rounding error.
const CLEAR: f64 = 16.0;
/// left - right counts as a power of time if its ratio between the whole distance and half of it is a power of 2,
/// within this fraction.
const POWER: f64 = 0.1;
/// The highest power considered.
const HIGHEST: i32 = 8;

impl Modes {
    /// The time for which left - right of a relation stays within its rounding error.
    pub(super) fn rounding(&self, relation: usize, known: bool) -> f64 {
        let rate = if known { self.rates[relation].abs() } else { 0.0 };
        if rate > 0.0 { self.noise(relation) / rate } else { 0.0 }
    }

    /// Replaces each rate that is zero within rounding by the sign that it is about to have. A rate counts as zero if
    /// it is small compared with its terms. It also counts as zero if it would have the other sign within the
    /// uncertainty of the instant: when a block starts to slide, the force that moves it differs from zero only by
    /// the error of the landing. For the relation that was landed on, the rate is known.
    pub(super) fn curve(&mut self, model: &dyn HybridSystem, locator: &Locator, at: Place<'_>, landed: Option<Landed>) {
        let zero = |modes: &Self, relation: usize| modes.rates[relation].abs() <= RATE * modes.terms[relation];
        let is_landed = |relation: usize| landed.is_some_and(|landed| landed.relation == relation);
        let turns = |relation: usize| (self.rates[relation] > 0.0) != (model.modes()[relation] != 0.0);
        let doubtful = |relation: &usize| zero(self, *relation) || (turns(*relation) && !is_landed(*relation));
        if !self.touching.iter().any(doubtful) {
            return;
        }
        let (known, distance) = self.rates_later(model, locator, at, None);
        for relation in self.touching.iter().copied() {
            let bend = if known { self.later[relation] - self.rates[relation] } else { 0.0 };
            let blurred =
                !is_landed(relation) && self.rates[relation].abs() * distance <= BLUR * self.blur * bend.abs();
            if zero(self, relation) || blurred {
                let noise = RATE * self.terms[relation];
                self.rates[relation] = if bend.abs() > noise { bend / distance } else { 0.0 };
            }
        }
    }

    /// The rate of left - right of a relation, and the derivative of that rate; `None` if they are not known.
    pub fn bends(
        &mut self,
        model: &dyn HybridSystem,
        locator: &Locator,
        at: Place<'_>,
        relation: usize,
    ) -> Option<[f64; 2]> {
        self.evaluate_sides(model, at.t, at.y).ok()?;
        let known = self.motion.slope(model, at.t, at.y, &mut self.slope)
            && self.differentiate_one(model, locator, at, relation);
        let (is_known, distance) =
            if known { self.rates_later(model, locator, at, Some(relation)) } else { (false, 0.0) };
        let rate = self.rates[relation];
        let bend = self.later[relation] - rate;
        let sure = is_known && distance > 0.0 && rate.abs().min(bend.abs()) > RATE * self.terms[relation];
        sure.then(|| [rate, bend / distance])
    }

    /// Distance that a relation that leaves its mode covers before the motion in that mode turns it back, and the
    /// derivative of its rate; `None` if it does not turn back.
    pub fn turns(
        &mut self,
        model: &dyn HybridSystem,
        locator: &Locator,
        at: Place<'_>,
        relation: usize,
    ) -> Option<(f64, f64)> {
        let known = self.motion.slope(model, at.t, at.y, &mut self.slope)
            && self.differentiate_one(model, locator, at, relation);
        let (is_known, distance) =
            if known { self.rates_later(model, locator, at, Some(relation)) } else { (false, 0.0) };
        let (rate, bend) = (self.rates[relation], self.later[relation] - self.rates[relation]);
        let sure = is_known && distance > 0.0 && bend.abs() > RATE * self.terms[relation];
        let bend = bend / distance;
        (sure && rate * bend <= 0.0).then(|| (0.5 * rate * rate / bend.abs(), bend.abs()))
    }

    /// Computes the rates of all relations, or of one, slightly further along the motion into `later`. Returns false if
    /// they are not known, and the distance.
    fn rates_later(
        &mut self,
        model: &dyn HybridSystem,
        locator: &Locator,
        at: Place<'_>,
        one: Option<usize>,
    ) -> (bool, f64) {
        // at the start of a run there is no last step: the state then changes by a small fraction
        let own = self.own_scale(at);
        let distance = (DIFFERENCE_STEP * at.scale.min(own)).max(MIN_DIFFERENCE_STEP * self.blur);
        for ((near, y), slope) in self.near.iter_mut().zip(at.y).zip(&self.slope) {
            *near = y + distance * slope;
        }
        let t = at.t + distance;
        let Modes { motion, near, near_slope, later, later_terms, unknown, .. } = self;
        let known = motion.slope(model, t, near, near_slope)
            && match one {
                None => rates_along(model, locator, (t, near), (near_slope, unknown), later, None),
                Some(relation) => {
                    let (at, along) = ((t, &near[..]), (&near_slope[..], &unknown[..]));
                    rate_along(model, locator, at, along, (later, later_terms), relation)
                }
            };
        (known, distance)
    }

    /// Determines the side to which the motion leads each relation on its surface whose rate and its derivative are
    /// both zero. The first nonzero derivative decides. It follows from left - right slightly further along the
    /// motion, which grows like a power of time.
    pub(super) fn lead(&mut self, model: &dyn HybridSystem, at: Place<'_>) -> Result<(), HybridCause> {
        self.leading.clear();
        let still = self.touching.iter().filter(|relation| self.rates[**relation] == 0.0);
        self.leading.extend(still.map(|relation| (*relation, None)));
        if self.leading.is_empty() {
            return Ok(());
        }
        let mut leading = std::mem::take(&mut self.leading);
        let length = at.scale.min(self.own_scale(at));
        let mut half = vec![0.0; leading.len()];
        for part in FURTHER {
            let h = part * length;
            if at.t + 0.5 * h == at.t || !h.is_finite() || !self.follow_motion(model, at, 0.5 * h) {
                continue;
            }
            if !self.evaluate_sides_near(model, at.t + 0.5 * h) {
                continue;
            }
            for ((relation, _), half) in leading.iter().zip(&mut half) {
                *half = self.difference(*relation);
            }
            if !self.follow_motion(model, at, h) || !self.evaluate_sides_near(model, at.t + h) {
                continue;
            }
            let mut open = false;
            for ((relation, leads), half) in leading.iter_mut().zip(&half) {
                let (whole, noise) = (self.difference(*relation), SIDES * self.size(*relation));
                let stays = whole == 0.0 && *half == 0.0;
                let clear = half.abs() > CLEAR * noise && !self.unknown[*relation];
                let power =
                    (2..=HIGHEST).map(|k| 2f64.powi(k)).find(|power| (whole / half / power - 1.0).abs() < POWER);
                if leads.is_none() && clear && power.is_some() {
                    *leads = Some(whole > 0.0);
                }
                open |= leads.is_none() && !stays;
            }
            if !open {
                break;
            }
        }
        self.leading = leading;
        self.evaluate_sides(model, at.t, at.y)
    }

    /// The mode that a relation with zero rate is about to have.
    pub(super) fn leads(&self, model: &dyn HybridSystem, relation: usize) -> Option<bool> {
        let found = self.leading.iter().find(|(of, _)| *of == relation);
        found.and_then(|(_, leads)| *leads).or_else(|| self.rests(model, relation))
    }

    /// Collects in `departures` the relations that are on their surface within rounding at the end of an instant, and
    /// that the motion leads away from it.
    pub fn surfaces_to_leave(
        &mut self,
        model: &mut dyn HybridSystem,
        locator: &Locator,
        at: Place<'_>,
        departures: &mut Vec<Departure>,
    ) -> Result<(), HybridCause> {
        departures.clear();
        self.evaluate_sides(model, at.t, at.y)?;
        let mut near = std::mem::take(&mut self.surfaces);
        near.clear();
        near.extend((0..self.left.len()).filter(|relation| {
            let is_near = self.difference(*relation).abs() <= self.noise(*relation);
            is_near && !self.unknown[*relation] && model.is_read(*relation)
        }));
        let known = !near.is_empty()
            && self.motion.slope(model, at.t, at.y, &mut self.slope)
            && self.differentiate(model, locator, at);
        let touching = std::mem::replace(&mut self.touching, near);
        let mut led = Ok(());
        if known {
            self.curve(model, locator, at, None);
            led = self.lead(model, at);
        }
        self.surfaces = std::mem::replace(&mut self.touching, touching);
        led?;
        for relation in self.surfaces.iter().copied().filter(|_| known) {
            let rate = self.rates[relation];
            let still = self.leading.iter().find(|(of, _)| *of == relation).and_then(|(_, leads)| *leads);
            let leads = if rate == 0.0 { still } else { Some(rate > 0.0) };
            departures.extend(leads.map(|leads| Departure { relation, leads }));
        }
        Ok(())
    }

    /// Time in which the state changes by its own size.
    fn own_scale(&self, at: Place<'_>) -> f64 {
        let most = |x: &[f64]| x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let (size, speed) = (most(at.y), most(&self.slope));
        if size > 0.0 && speed > 0.0 { size / speed } else { f64::INFINITY }
    }

    /// Evaluates the sides of the relations at `near`; false if they have no value.
    fn evaluate_sides_near(&mut self, model: &dyn HybridSystem, t: f64) -> bool {
        let near = std::mem::take(&mut self.near);
        let evaluated = self.evaluate_sides(model, t, &near);
        self.near = near;
        evaluated.is_ok()
    }

    /// Takes one step of the classical method of Kutta to `near`; false if f has no value on the way.
    fn follow_motion(&mut self, model: &dyn HybridSystem, at: Place<'_>, h: f64) -> bool {
        let Modes { motion, near, near_slope, stages, .. } = self;
        near.copy_from_slice(at.y);
        for (stage, part) in [0.0, 0.5, 0.5, 1.0].into_iter().enumerate() {
            let (done, next) = stages.split_at_mut(stage);
            near_slope.copy_from_slice(near);
            if let Some(last) = done.last() {
                for (y, slope) in near_slope.iter_mut().zip(last) {
                    *y += part * h * slope;
                }
            }
            if !motion.slope(model, at.t + part * h, near_slope, &mut next[0]) {
                return false;
            }
        }
        let [a, b, c, d] = stages;
        for (i, y) in near.iter_mut().enumerate() {
            *y += h / 6.0 * (a[i] + 2.0 * (b[i] + c[i]) + d[i]);
        }
        true
    }
}
