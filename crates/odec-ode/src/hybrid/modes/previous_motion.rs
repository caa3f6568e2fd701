//! Takes a run across a surface if the modes on the far side define no motion at the point of landing.
//!
//! `if x > 0 then -sqrt(x) else sqrt(-x)` has a value at x = 1e-14 in only one of its modes. A landing is exact up to
//! rounding. So the run may be at such a point when it crosses the surface, where the new mode does not have a value
//! yet. The motion before the landing leads across the surface within the error of the landing. The motion at the
//! point beyond the surface decides the modes, and the run continues from there.
//!
//! The alternative would be to treat f at a point where it has no value like f on the surface. This would need the
//! surface that belongs to each root and power. To form these in every kernel would slow down runs that never reach
//! such a surface.

use super::next_sign::RATE;
use super::{Modes, Place};
use crate::hybrid::locate::Locator;
use crate::hybrid::outcome::HybridCause;
use crate::hybrid::stops::{resolution, unit};
use crate::hybrid::system::HybridSystem;

/// The run goes beyond the surface by this many units of time resolution.
const OVERSHOOT: f64 = 1.0;
/// If the sides of the relation do not change over so short a time, the distance is doubled up to this number of
/// times.
const DOUBLINGS: u32 = 40;

/// The motion before the last instant.
pub(super) struct PreviousMotion {
    slope: Vec<f64>,
    rates: Vec<f64>,
    known: bool,
    /// The state on the surfaces on which the run rests from now on.
    on: Option<Vec<f64>>,
    /// Both sides beyond the surface.
    left: Vec<f64>,
    right: Vec<f64>,
}

impl PreviousMotion {
    /// Allocates the memory for a system with n unknowns and m relations.
    pub fn new(n: usize, m: usize) -> Self {
        PreviousMotion {
            slope: vec![0.0; n],
            rates: vec![0.0; m],
            known: false,
            on: None,
            left: vec![0.0; m],
            right: vec![0.0; m],
        }
    }

    /// Records the motion in the modes before the instant, with the rates of all relations, if it is known.
    pub fn record(&mut self, motion: Option<(&[f64], &[f64])>) {
        (self.known, self.on) = (motion.is_some(), None);
        if let Some((slope, rates)) = motion {
            self.slope.copy_from_slice(slope);
            self.rates.copy_from_slice(rates);
        }
    }
}

impl Modes {
    /// The motion in the current modes, with the rates of all relations. If it has no value at the state, it is taken
    /// beyond the surfaces that the state has not quite reached, and `behind` is set to that point. `None` if it is
    /// not known.
    pub(super) fn motion_behind<'a>(
        &mut self,
        model: &dyn HybridSystem,
        locator: &Locator,
        at: Place<'a>,
        behind: &'a mut Vec<f64>,
    ) -> Option<Place<'a>> {
        behind.clear();
        if self.motion.slope(model, at.t, at.y, &mut self.slope) {
            return self.differentiate(model, locator, at).then_some(at);
        }
        (*behind, _) = self.further(model, locator, at)?;
        let there = Place { y: behind, ..at };
        (self.motion.slope(model, at.t, there.y, &mut self.slope) && self.differentiate(model, locator, there))
            .then_some(there)
    }

    /// A point beyond the surfaces that the state has not quite reached although the modes say so, and the time to get
    /// there. The point lies along the motion before the instant. If that motion is at rest, one state in the relation
    /// is moved instead, which requires an affine relation. `None` if there is no such point.
    pub fn further(&mut self, model: &dyn HybridSystem, locator: &Locator, at: Place<'_>) -> Option<(Vec<f64>, f64)> {
        if !self.previous_motion.known {
            return None;
        }
        let mut behind = at.y.to_vec();
        let (mut least, mut any) = (0.0f64, false);
        for relation in self.touching.iter().copied() {
            let (difference, holds) = (self.left[relation] - self.right[relation], model.modes()[relation] != 0.0);
            if (difference > 0.0) == holds {
                continue;
            }
            any = true;
            let rate = self.previous_motion.rates[relation];
            if rate != 0.0 && (rate > 0.0) == holds {
                least = least.max((difference / rate).abs());
                continue;
            }
            let (terms, _) = locator.affine(relation)?;
            let (row, a) = terms.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
            let y = &mut behind[*row as usize];
            let on = *y - difference / a;
            *y = if holds == (*a > 0.0) { on.next_up() } else { on.next_down() };
        }
        let from = behind.clone();
        for doubling in 0..if any { DOUBLINGS } else { 0 } {
            let time = least + OVERSHOOT * resolution(at.t) * 2f64.powi(doubling as i32);
            for ((to, from), slope) in behind.iter_mut().zip(&from).zip(&self.previous_motion.slope) {
                *to = from + time * slope;
            }
            if self.is_beyond_surfaces(model, (at.t, &behind)) {
                return Some((behind, time));
            }
        }
        None
    }

    /// Takes a run that has landed on a surface across it, although its motion is unknown. All relations with this
    /// surface change, if they still had the mode in which the run came.
    pub(super) fn cross_blindly(&mut self, model: &mut dyn HybridSystem, landed: usize) {
        let came = model.modes()[landed];
        for relation in self.touching.iter().copied().filter(|relation| self.is_same_surface(*relation, landed)) {
            let opposite = self.difference(relation) != self.difference(landed);
            let before = if opposite { 1.0 - came } else { came };
            if model.modes()[relation] == before {
                model.modes_mut()[relation] = 1.0 - before;
            }
        }
        model.refresh();
    }

    /// True if the differences of both sides are equal, but for their signs. If one of them is on its surface, both
    /// are, and `h > 0` and `h <= 0` must not be decided differently.
    pub fn is_same_surface(&self, relation: usize, landed: usize) -> bool {
        let (a, b) = (self.difference(relation), self.difference(landed));
        relation == landed || (a.abs() == b.abs() && a != 0.0)
    }

    /// True if a state is on the side of all surfaces that the modes require.
    fn is_beyond_surfaces(&mut self, model: &dyn HybridSystem, (t, y): (f64, &[f64])) -> bool {
        let Modes { touching, previous_motion: PreviousMotion { left, right, .. }, .. } = self;
        if model.sides(t, y, left, right).is_err() {
            return false;
        }
        touching.iter().all(|relation| {
            let (difference, holds) = (left[*relation] - right[*relation], model.modes()[*relation] != 0.0);
            if holds { difference > 0.0 } else { difference <= 0.0 }
        })
    }

    /// Both sides of a surface lead back to it, but at rates that vanish there: two tanks connected by an orifice
    /// reach the same level and stay there. This is a solution if the modes that hold on the surface itself move
    /// nothing. The function then sets these modes.
    pub(super) fn rest_there(
        &mut self,
        model: &mut dyn HybridSystem,
        locator: &Locator,
        at: Place<'_>,
    ) -> Result<bool, HybridCause> {
        for relation in self.touching.clone() {
            model.modes_mut()[relation] = f64::from(u8::from(model.relations()[relation].or_equal));
        }
        self.evaluate_sides_again(model, at)?;
        self.settle(model, Some(locator), at)?;
        for on in self.on_surfaces(model, locator, at).into_iter().flatten() {
            let there = Place { y: &on, ..at };
            let moves =
                self.motion.slope(model, at.t, &on, &mut self.slope) && self.differentiate(model, locator, there);
            let still = |relation: &usize| self.rates[*relation].abs() <= RATE * self.terms[*relation];
            if moves && self.touching.iter().all(still) {
                self.previous_motion.on = Some(on);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A state just below all surfaces, one just above, and one on them, for affine relations. Derivatives may have
    /// values next to the surface only.
    fn on_surfaces(&mut self, model: &dyn HybridSystem, locator: &Locator, at: Place<'_>) -> Option<[Vec<f64>; 3]> {
        let mut on = at.y.to_vec();
        let mut row = None;
        for relation in &self.touching {
            let (terms, _) = locator.affine(*relation)?;
            let (of, a) = terms.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
            let PreviousMotion { left, right, .. } = &mut self.previous_motion;
            model.sides(at.t, &on, left, right).ok()?;
            let (at, off) = (*of as usize, (left[*relation] - right[*relation]) / a);
            on[at] -= off;
            row = Some(at);
        }
        let [mut below, mut above] = [on.clone(), on.clone()];
        let unit = unit(on[row?]).max(f64::MIN_POSITIVE);
        below[row?] -= unit;
        above[row?] += unit;
        Some([below, above, on])
    }

    /// y' at the beginning of the last instant, in the modes before it, if it was known: a step may end where f is
    /// undefined in these modes.
    pub fn slope_before(&self) -> Option<&[f64]> {
        self.previous_motion.known.then_some(&self.previous_motion.slope)
    }

    /// The state on the surfaces on which the run rests, the first time it is asked for.
    pub fn take_rest(&mut self) -> Option<Vec<f64>> {
        self.previous_motion.on.take()
    }
}
