//! The way to a surface at which a law has a root, like `-sqrt(h)` at h = 0, and states exactly on their surface.
//!
//! Such a motion comes to rest on the surface, in finite time, and its law has no value beyond it. The error estimate
//! of a step that ends close to the surface is wrong, because the law is not smooth there, and longer steps fail. So
//! after a step has failed, the time that is left is predicted: if left - right falls like its power p, it is
//! left - right over its rate, divided by 1 - p. Each step takes a fraction of this time; within such a step, the law is
//! smooth.

use super::HybridRunner;
use super::edges::{EDGE, MOVED, NO_STEP};
use crate::hybrid::modes::Place;
use crate::hybrid::stops::{resolution, unit};
use crate::hybrid::system::HybridSystem;

/// Fraction of the time left that a step takes.
const FRACTION: f64 = 0.5;
/// The errors of a step may shift the time of arrival by this fraction of `rtol`, relative to the time since the start.
const SHIFT: f64 = 0.1;
/// The smallest fraction of an absolute tolerance that is used for this.
const LEAST_PART: f64 = 1.0 / (1u64 << 60) as f64;
/// Without a failure, a law can only be close to its root if left - right falls below this fraction in a step.
const FALLS: f64 = 0.5;
/// The powers of left - right that count as a root. A smaller one is a motion that crosses the surface, and with a
/// larger one the surface is hardly ever reached.
const POWERS: std::ops::RangeInclusive<f64> = 0.1..=0.9;
/// A law with a root has no value this far along the motion, as a multiple of the way to the surface.
const EXTRAPOLATION: f64 = 1.5;
/// The run has arrived if the time left is this fraction of the relative tolerance, as a part of the run.
const ARRIVED: f64 = 0.01;
/// Both sides are equal within rounding if they differ by this many units of it.
pub(super) const CLOSE: f64 = 16.0;
/// Largest number of corrections until a state is exactly on its surface.
const CORRECTIONS: u32 = 4;

/// The way of a law to its root.
#[derive(Clone, Copy)]
struct Root {
    /// The time left.
    time: f64,
    /// The rate of left - right, without its sign, at the end of the next step.
    rate: f64,
}

impl HybridRunner {
    /// After a step during which f had no value, or that came close to a surface, chooses the length and the tolerances
    /// of the next one, if a law approaches its root. The step began at `start`.
    pub(super) fn approach_root(&mut self, model: &dyn HybridSystem, start: f64, failed: bool) {
        if !self.adaptive || (!failed && self.locator.near().is_empty()) {
            return self.restore_tolerances();
        }
        let mut near = std::mem::take(&mut self.together);
        near.clear();
        if failed {
            near.extend((0..model.relations().len()).filter(|relation| self.locator.watches(*relation)));
        } else {
            near.extend_from_slice(self.locator.near());
            self.keep_falling(model, start, &mut near);
        }
        let t = self.runner.time();
        self.y.copy_from_slice(self.runner.state());
        let mut left = f64::INFINITY;
        for (i, weight) in self.weights.iter_mut().enumerate() {
            *weight = self.tolerances.asked(i, 0.0);
        }
        let mut lowers = false;
        for relation in &near {
            let Some(root) = self.root_ahead(model, t, *relation) else { continue };
            left = left.min(root.time);
            lowers |= self.lower_tolerances(t, *relation, root.rate);
        }
        self.together = near;
        let length = FRACTION * left;
        self.root_step = (length.is_finite() && length > NO_STEP * resolution(t)).then_some(length);
        if lowers && self.root_step.is_some() {
            self.runner.set_atol(&self.weights);
            self.lowered = true;
        } else {
            self.restore_tolerances();
        }
    }

    /// Lowers the absolute tolerances, in `weights`, of the states of a relation that approaches its root, so that the
    /// time of arrival is accurate. An error of left - right shifts this time by its ratio to the rate, and the rate
    /// vanishes at the root. So errors far below the tolerance still matter. True if a tolerance is lower.
    fn lower_tolerances(&mut self, t: f64, relation: usize, rate: f64) -> bool {
        let motion = &self.modes.motion;
        let Some((terms, _)) = self.locator.affine(relation) else { return false };
        if motion.has_unknowns() || motion.has_constraints() {
            return false;
        }
        let error = SHIFT * self.tolerances.asked_rtol() * (t - self.span.0) * rate / terms.len() as f64;
        let mut lowers = false;
        for (row, a) in terms {
            let asked = self.tolerances.asked(*row as usize, 0.0);
            let wanted = (error / a.abs()).max(LEAST_PART * asked);
            let atol = &mut self.weights[*row as usize];
            lowers |= wanted < *atol;
            *atol = atol.min(wanted);
        }
        lowers
    }

    /// Sets the absolute tolerances back to those requested.
    pub(super) fn restore_tolerances(&mut self) {
        if std::mem::take(&mut self.lowered) {
            for (i, weight) in self.weights.iter_mut().enumerate() {
                *weight = self.tolerances.asked(i, 0.0);
            }
            self.runner.set_atol(&self.weights);
        }
    }

    /// Keeps the relations that have come much closer to their surfaces in the last step.
    fn keep_falling(&mut self, model: &dyn HybridSystem, start: f64, relations: &mut Vec<usize>) {
        if relations.is_empty() || self.modes.evaluate_sides(model, start, &self.start).is_err() {
            return relations.clear();
        }
        let mut distances = std::mem::take(&mut self.to_surface);
        distances.clear();
        distances.extend(relations.iter().map(|relation| self.modes.difference(*relation).abs()));
        if self.modes.evaluate_sides(model, self.runner.time(), self.runner.state()).is_err() {
            relations.clear();
        }
        let mut before = distances.iter();
        relations.retain(|relation| {
            before.next().is_some_and(|before| self.modes.difference(*relation).abs() < FALLS * before)
        });
        self.to_surface = distances;
    }

    /// True if a law approaches its root on the surface of a relation, from the state `y`, and still needs some time.
    pub(super) fn is_far_from_root(&mut self, model: &dyn HybridSystem, relation: usize) -> bool {
        let t = self.runner.time();
        let least = ARRIVED * self.tolerances.asked_rtol() * (self.supposed_end(t) - self.span.0);
        let least = least.max(2.0 * NO_STEP * resolution(t));
        self.adaptive && self.root_ahead(model, t, relation).is_some_and(|root| root.time > least)
    }

    /// The way of a law to its root on the surface of a relation, from the state `y`, if it has no value beyond; `None`
    /// if there is none, or if the surface is reached within rounding.
    fn root_ahead(&mut self, model: &dyn HybridSystem, t: f64, relation: usize) -> Option<Root> {
        let from = Place { t, y: &self.y, scale: 0.0 };
        let (g, Some(rate)) = self.modes.measure(model, &self.locator, from, relation).ok()? else { return None };
        let holds = model.modes()[relation] != 0.0;
        if g == 0.0 || (g > 0.0) != holds || rate == 0.0 || (rate < 0.0) != holds {
            return None;
        }
        let size = match self.locator.affine(relation) {
            Some((terms, _)) => terms.iter().map(|(row, a)| (a * self.y[*row as usize]).abs()).sum(),
            None => 0.0f64,
        };
        if g.abs() <= CLOSE * f64::EPSILON * size.max(self.modes.size(relation)) {
            return None;
        }
        let time = (g / rate).abs();
        for ((to, y), slope) in self.row.iter_mut().zip(&self.y).zip(self.modes.slope()) {
            *to = y + 0.5 * time * slope;
        }
        let slope = self.modes.slope().iter();
        self.to_surface.clear();
        self.to_surface.extend(slope.map(|slope| time * slope));
        let near = Place { t: t + 0.5 * time, y: &self.row, scale: 0.0 };
        let (nearer, Some(slower)) = self.modes.measure(model, &self.locator, near, relation).ok()? else {
            return None;
        };
        let power = (slower / rate).ln() / (nearer / g).ln();
        if !POWERS.contains(&power) {
            return None;
        }
        // a smooth motion that touches a surface, like a cosine, slows down in the same way
        for ((to, y), nearer) in self.row.iter_mut().zip(&self.y).zip(&self.to_surface) {
            *to = y + EXTRAPOLATION * nearer;
        }
        let ends = !self.modes.slope_at(model, t, &self.row);
        let later = (1.0 - FRACTION).powf(power / (1.0 - power));
        ends.then(|| Root { time: time / (1.0 - power), rate: rate.abs() * later })
    }

    /// Moves the state `y` exactly onto the surface of a relation on which a step has landed, if it is there within
    /// rounding or a small fraction of the tolerances, and comes to rest there. All comparisons with this surface are
    /// then decided alike, and `sqrt(h)` has a value. Surfaces at the same distance are reached at once, in any order of
    /// the text.
    pub(super) fn move_onto_surface(&mut self, model: &dyn HybridSystem, t: f64, relation: usize) {
        let motion = &self.modes.motion;
        if self.modes.offsets[relation] != 0.0 || motion.has_unknowns() || motion.has_constraints() {
            return;
        }
        self.row.copy_from_slice(&self.y);
        if self.locator.affine(relation).is_none() || self.modes.evaluate_sides(model, t, &self.row).is_err() {
            return;
        }
        let mut together = std::mem::take(&mut self.together);
        together.clear();
        let at_once = |other: &usize| {
            self.modes.is_same_surface(*other, relation)
                && self.modes.offsets[*other] == 0.0
                && self.locator.affine(*other).is_some()
        };
        if self.modes.difference(relation) != 0.0 {
            together.extend((0..model.relations().len()).filter(at_once));
            // `h > 0` and `h <= 0` have one surface, and move the state once
            let moved = |other: &usize| self.locator.affine(*other).and_then(largest).map(|(row, _)| *row);
            together.retain(|other| moved(other).is_some());
            together.sort_unstable_by_key(moved);
            together.dedup_by_key(|other| moved(other));
        }
        for correction in 0..CORRECTIONS {
            for other in &together {
                self.correct(*other, correction == 0);
            }
            let evaluated = together.is_empty() || self.modes.evaluate_sides(model, t, &self.row).is_ok();
            if !evaluated || together.iter().all(|other| self.modes.difference(*other) == 0.0) {
                break;
            }
        }
        let near = |i: usize| {
            let allowed = EDGE * self.tolerances.scale(i, self.y[i].abs());
            (self.row[i] - self.y[i]).abs() <= allowed.max(MOVED * unit(self.y[i]))
        };
        let exact = together.iter().all(|other| self.modes.difference(*other) == 0.0);
        if exact && (0..self.y.len()).all(near) && self.rests(model, t, relation) {
            self.y.copy_from_slice(&self.row);
        }
        self.together = together;
    }

    /// True if the motion from the state `row` on the surface of a relation stays there within the tolerances, or leads
    /// back. A motion that crosses the surface must not begin where a root has an infinite derivative.
    fn rests(&mut self, model: &dyn HybridSystem, t: f64, relation: usize) -> bool {
        let on = Place { t, y: &self.row, scale: 0.0 };
        let Ok((_, Some(rate))) = self.modes.measure(model, &self.locator, on, relation) else { return false };
        let weight = |i: usize| self.tolerances.asked(i, self.row[i].abs());
        let leads_back = (rate > 0.0) == (model.modes()[relation] != 0.0);
        let tolerance = self.locator.gradient(model, (t, &self.row), relation, weight);
        leads_back || rate.abs() * (self.supposed_end(t) - t) <= tolerance
    }

    /// Moves the state `row` by left - right of a relation, at the last evaluation: all states of the relation, or one,
    /// which removes the rounding error of that.
    fn correct(&mut self, relation: usize, all: bool) {
        let Some(affine) = self.locator.affine(relation) else { return };
        let terms = if all { affine.0 } else { largest(affine).map_or(affine.0, std::slice::from_ref) };
        let squares: f64 = terms.iter().map(|(_, a)| a * a).sum();
        let g = self.modes.difference(relation);
        for (row, a) in terms {
            self.row[*row as usize] -= g * a / squares;
        }
    }
}

/// The largest term of an affine relation.
fn largest((terms, _): (&[(u32, f64)], f64)) -> Option<&(u32, f64)> {
    terms.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
}
