//! Over a surface that a run has come to from the side where the modes behind it give no motion.
//!
//! `if x > 0 then -sqrt(x) else sqrt(-x)` has a value at x = 1e-14 in one of its modes alone. A landing is exact to rounding, so
//! the run may stand there as the surface is crossed, and the mode that it goes on with has no value yet. The motion of before
//! leads over the surface within what the landing is off by. Modes are decided by the motion from there, and the run goes on from
//! there too.
//!
//! The other way, f at a place where it has no value taken for that on the surface, would need the surface that belongs to each
//! root and power. What is formed for that in each kernel would cost runs that never come to a surface.

use super::ahead::RATE;
use super::{Modes, Place};
use crate::hybrid::locate::Locator;
use crate::hybrid::outcome::HybridCause;
use crate::hybrid::stops::{resolution, unit};
use crate::hybrid::system::HybridSystem;

/// The run goes behind the surface by so many units of what times are told apart by,
const BEHIND: f64 = 1.0;
/// or by twice that, so many times over, where the sides of the relation do not move by as little.
const DOUBLINGS: u32 = 40;

/// The motion that an instant was come to by.
pub(super) struct Over {
    slope: Vec<f64>,
    rates: Vec<f64>,
    known: bool,
    /// The state on surfaces that it rests on from now on.
    on: Option<Vec<f64>>,
    /// Both sides behind the surface.
    left: Vec<f64>,
    right: Vec<f64>,
}

impl Over {
    /// For a system with n unknowns and m relations.
    pub fn new(n: usize, m: usize) -> Self {
        Over {
            slope: vec![0.0; n],
            rates: vec![0.0; m],
            known: false,
            on: None,
            left: vec![0.0; m],
            right: vec![0.0; m],
        }
    }

    /// Learns the motion in the modes of before, with the rates of all relations, where it is known.
    pub fn led(&mut self, motion: Option<(&[f64], &[f64])>) {
        (self.known, self.on) = (motion.is_some(), None);
        if let Some((slope, rates)) = motion {
            self.slope.copy_from_slice(slope);
            self.rates.copy_from_slice(rates);
        }
    }
}

impl Modes {
    /// The motion in the modes as they stand with the rates of all relations, at the state or behind the surfaces that it is short
    /// of, which is left in `behind` then; `None` where it is not known.
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

    /// The state behind the surfaces that the modes say it is behind and it is short of, along the motion of before, and the time that
    /// takes. Where that motion rests, a sum of states is moved by one of them. `None` where there is no such state.
    pub fn further(&mut self, model: &dyn HybridSystem, locator: &Locator, at: Place<'_>) -> Option<(Vec<f64>, f64)> {
        if !self.over.known {
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
            let rate = self.over.rates[relation];
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
            let time = least + BEHIND * resolution(at.t) * 2f64.powi(doubling as i32);
            for ((to, from), slope) in behind.iter_mut().zip(&from).zip(&self.over.slope) {
                *to = from + time * slope;
            }
            if self.is_behind(model, (at.t, &behind)) {
                return Some((behind, time));
            }
        }
        None
    }

    /// True where a state is on the side of all surfaces that the modes say.
    fn is_behind(&mut self, model: &dyn HybridSystem, (t, y): (f64, &[f64])) -> bool {
        let Modes { touching, over: Over { left, right, .. }, .. } = self;
        if model.sides(t, y, left, right).is_err() {
            return false;
        }
        touching.iter().all(|relation| {
            let (difference, holds) = (left[*relation] - right[*relation], model.modes()[*relation] != 0.0);
            if holds { difference > 0.0 } else { difference <= 0.0 }
        })
    }

    /// Both sides of a surface lead back to it, but by rates that vanish there: as two tanks with an orifice between them come to one
    /// level, they stay so. That is a solution if what the text says of the surface itself moves nothing. The modes are then those.
    pub(super) fn rest_there(
        &mut self,
        model: &mut dyn HybridSystem,
        locator: &Locator,
        at: Place<'_>,
    ) -> Result<bool, HybridCause> {
        for relation in self.touching.clone() {
            model.modes_mut()[relation] = f64::from(u8::from(model.relations()[relation].or_equal));
        }
        self.look_again(model, at)?;
        self.settle(model, Some(locator), at)?;
        for on in self.on_surfaces(model, locator, at).unwrap_or_default() {
            let there = Place { y: &on, ..at };
            let moves =
                self.motion.slope(model, at.t, &on, &mut self.slope) && self.differentiate(model, locator, there);
            let still = |relation: &usize| self.rates[*relation].abs() <= RATE * self.terms[*relation];
            if moves && self.touching.iter().all(still) {
                self.over.on = Some(on);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The state on all surfaces, where they are of sums of states: next to them, where derivatives have values, and there.
    fn on_surfaces(&mut self, model: &dyn HybridSystem, locator: &Locator, at: Place<'_>) -> Option<[Vec<f64>; 3]> {
        let mut on = at.y.to_vec();
        let mut row = None;
        for relation in &self.touching {
            let (terms, _) = locator.affine(*relation)?;
            let (of, a) = terms.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
            let Over { left, right, .. } = &mut self.over;
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

    /// y' as the last instant began, in the modes of before.
    pub fn slope_before(&self) -> &[f64] {
        &self.over.slope
    }

    /// The state on the surfaces that it rests on, once.
    pub fn take_rest(&mut self) -> Option<Vec<f64>> {
        self.over.on.take()
    }
}
