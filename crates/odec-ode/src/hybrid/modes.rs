//! Determines which modes hold right after an instant.
//!
//! If the sides of a relation differ by more than their noise, they are compared. A relation on its surface gets the
//! sign that left - right is about to have. This is the sign of its rate along the motion or, if the rate is zero, of
//! its second derivative (Park & Barton, ACM TOMACS 6 (1996) 137-165, show what goes wrong otherwise). The motion
//! depends on the modes, so this is repeated until modes and motion agree. If both modes of a relation drive the state
//! back to the surface, the relation slides.

mod next_sign;
mod previous_motion;

use crate::hybrid::locate::{Locator, SIDES};
use crate::hybrid::motion::Motion;
use crate::hybrid::outcome::HybridCause;
use crate::hybrid::rates::{rate_along, rates_along};
use crate::hybrid::stops::resolution;
use crate::hybrid::system::HybridSystem;
use crate::problem::{Options, Refusal};
use previous_motion::PreviousMotion;

/// The time and state of an instant.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub t: f64,
    pub y: &'a [f64],
    /// The time scale there: the length of the last step.
    pub scale: f64,
}

/// A relation that a step has landed on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Landed {
    pub relation: usize,
    /// Largest distance in time between the landing and the surface.
    pub separation: f64,
}

/// A relation that is on its surface at the end of an instant, and the mode that the motion leads it to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub relation: usize,
    /// Its mode right after the instant.
    pub leads: bool,
}

/// The result of a decision about the modes.
#[derive(Debug)]
pub(super) struct Decided {
    /// True if at least one mode has changed.
    pub changed: bool,
    /// Cause if no modes agree with the motion. It ends the run, unless an event changes the state.
    pub unsettled: Option<HybridCause>,
}

/// The value of left - right on the surface of each relation. It is zero, except where an instant ended with a mode
/// that contradicts the sign of left - right, by rounding or because f is undefined just before the surface. There the
/// offset is the value at that instant, until the sign is right.
pub(super) type Offsets = Vec<f64>;

/// True if no step ends on the surface of a relation, see [`HybridRelations::free`].
fn is_free(model: &dyn HybridSystem, relation: usize) -> bool {
    model.free().get(relation).is_some_and(|free| *free)
}

/// Decides modes; the memory is reused.
pub(super) struct Modes {
    pub motion: Motion,
    /// Both sides at the last evaluation; `before` has those of the evaluation before it.
    pub left: Vec<f64>,
    pub right: Vec<f64>,
    /// Relations with a side that had no value at the last evaluation. They keep their modes, because a term behind an
    /// undecided condition need not have a value.
    unknown: Vec<bool>,
    before: [Vec<f64>; 2],
    slope: Vec<f64>,
    near: Vec<f64>,
    near_slope: Vec<f64>,
    rates: Vec<f64>,
    later: Vec<f64>,
    /// Size of the terms of each rate.
    terms: Vec<f64>,
    later_terms: Vec<f64>,
    touching: Vec<usize>,
    /// The relations that were on their surface at the beginning of the instant.
    pub met_here: Vec<usize>,
    /// The relations that are on their surface at the end of an instant.
    surfaces: Vec<usize>,
    /// A relation counts as on its surface if it is within this time of it.
    apart: f64,
    /// Uncertainty of the time of the instant, from the landing and from rounding.
    blur: f64,
    /// Stages of the steps that `follow_motion` takes.
    stages: [Vec<f64>; 4],
    /// Relations whose rate and its derivative are zero, with the side to which the motion leads them.
    leading: Vec<(usize, Option<bool>)>,
    /// Relations whose sides changed when the modes of others changed, in the order in which they were found.
    moved: Vec<usize>,
    /// All modes to which the earlier motion leads, and the relations that were touching their surface then.
    crossed: Vec<f64>,
    crossing: Vec<usize>,
    /// Relations whose modes were decided by comparison because they stay on their surface.
    rested: Vec<usize>,
    previous_motion: PreviousMotion,
    /// A stop has changed modes since the landing, so the sides may have jumped off the surface.
    pub stopped: bool,
    pub offsets: Offsets,
    /// True if any offset may be nonzero.
    displaced: bool,
    /// The rates that occurred while the relation was false and while it was true.
    met: Vec<[Option<f64>; 2]>,
}

impl Modes {
    /// Allocates the memory for a system.
    ///
    /// # Errors
    /// The errors of [`Motion::new`].
    pub fn new(model: &dyn HybridSystem, options: &Options) -> Result<Self, Refusal> {
        let (n, m) = (model.system().shape().n, model.relations().len());
        let zero = |n: usize| vec![0.0; n];
        Ok(Modes {
            motion: Motion::new(model, options)?,
            left: zero(m),
            right: zero(m),
            unknown: vec![false; m],
            before: [zero(m), zero(m)],
            slope: zero(n),
            near: zero(n),
            near_slope: zero(n),
            rates: zero(m),
            later: zero(m),
            terms: zero(m),
            later_terms: zero(m),
            touching: Vec::with_capacity(m),
            met_here: Vec::with_capacity(m),
            surfaces: Vec::with_capacity(m),
            apart: 0.0,
            blur: 0.0,
            stages: [zero(n), zero(n), zero(n), zero(n)],
            leading: Vec::new(),
            moved: Vec::new(),
            crossed: Vec::with_capacity(m),
            crossing: Vec::with_capacity(m),
            rested: Vec::new(),
            previous_motion: PreviousMotion::new(n, m),
            stopped: false,
            offsets: zero(m),
            displaced: false,
            met: vec![[None; 2]; m],
        })
    }

    /// The number of evaluations of f since the last call.
    pub fn evaluations(&mut self) -> u64 {
        std::mem::take(&mut self.motion.evaluations)
    }

    /// The same, without forgetting them.
    pub fn evaluations_so_far(&self) -> u64 {
        self.motion.evaluations
    }

    /// Evaluates both sides.
    pub fn evaluate_sides(&mut self, model: &dyn HybridSystem, t: f64, y: &[f64]) -> Result<(), HybridCause> {
        if model.sides(t, y, &mut self.left, &mut self.right).is_err() {
            return Err(HybridCause::NoSides);
        }
        for (relation, unknown) in self.unknown.iter_mut().enumerate() {
            *unknown = self.left[relation].is_nan() || self.right[relation].is_nan();
            if *unknown {
                let holds = model.modes()[relation] != 0.0;
                (self.left[relation], self.right[relation]) = if holds { (1.0, 0.0) } else { (0.0, 1.0) };
            }
        }
        Ok(())
    }

    /// Returns an error if anything reads a relation with a side that has no value.
    fn all_known(&self, model: &dyn HybridSystem) -> Result<(), HybridCause> {
        let open = |(relation, unknown): (usize, &bool)| *unknown && model.is_read(relation);
        if self.unknown.iter().enumerate().any(open) { Err(HybridCause::NoSides) } else { Ok(()) }
    }

    /// left - right, relative to its offset.
    pub fn difference(&self, relation: usize) -> f64 {
        self.left[relation] - self.right[relation] - self.offsets[relation]
    }

    /// Distance of a relation from its surface at the last evaluation, less rounding.
    pub fn distance(&self, relation: usize) -> f64 {
        self.difference(relation).abs() - self.noise(relation)
    }

    /// The size of the sides of a relation at the last evaluation.
    pub fn size(&self, relation: usize) -> f64 {
        self.left[relation].abs() + self.right[relation].abs()
    }

    /// y' at the point of the last call of [`Modes::measure`].
    pub fn slope(&self) -> &[f64] {
        &self.slope
    }

    /// Computes y' at a point, for [`Modes::slope`]; false if it does not exist.
    pub fn slope_at(&mut self, model: &dyn HybridSystem, t: f64, y: &[f64]) -> bool {
        self.motion.slope(model, t, y, &mut self.slope)
    }

    /// left - right at a point, relative to its offset.
    pub fn difference_at(
        &mut self,
        model: &dyn HybridSystem,
        (t, y): (f64, &[f64]),
        relation: usize,
    ) -> Result<f64, HybridCause> {
        self.evaluate_sides(model, t, y)?;
        if self.unknown[relation] { Err(HybridCause::NoSides) } else { Ok(self.difference(relation)) }
    }

    /// left - right and its rate in the current modes, if the rate is known.
    pub fn measure(
        &mut self,
        model: &dyn HybridSystem,
        locator: &Locator,
        at: Place<'_>,
        relation: usize,
    ) -> Result<(f64, Option<f64>), HybridCause> {
        let difference = self.difference_at(model, (at.t, at.y), relation)?;
        let known = self.motion.slope(model, at.t, at.y, &mut self.slope)
            && self.differentiate_one(model, locator, at, relation);
        Ok((difference, known.then(|| self.rates[relation])))
    }

    /// Computes y' at a point, the rates of all relations along it, and the sizes of their terms.
    pub fn motion_at(
        &mut self,
        model: &dyn HybridSystem,
        locator: &Locator,
        at: Place<'_>,
        slope: &mut [f64],
        (rates, sizes): (&mut [f64], &mut Vec<f64>),
    ) -> Result<(), HybridCause> {
        let known = self.motion.slope(model, at.t, at.y, slope)
            && rates_along(model, locator, (at.t, at.y), (slope, &self.unknown), rates, Some(sizes));
        if known { Ok(()) } else { Err(HybridCause::NoSides) }
    }

    /// Sets all modes by comparison, at the start of a run.
    pub fn compare(&mut self, model: &mut dyn HybridSystem, t: f64, y: &[f64]) -> Result<(), HybridCause> {
        self.offsets.fill(0.0);
        self.touching.clear();
        self.met_here.clear();
        self.moved.clear();
        self.displaced = false;
        self.evaluate_sides(model, t, y)?;
        for relation in 0..self.left.len() {
            let holds = self.holds(model, relation);
            model.modes_mut()[relation] = f64::from(u8::from(holds));
        }
        model.refresh();
        self.evaluate_sides(model, t, y)?;
        self.settle(model, None, Place { t, y, scale: 0.0 })?;
        self.all_known(model)
    }

    /// Compares the relations that are not on their surface. Their sides may depend on the modes of other relations,
    /// so this is repeated. On entry, `left` and `right` belong to the current modes. True if a mode has changed.
    fn settle(
        &mut self,
        model: &mut dyn HybridSystem,
        locator: Option<&Locator>,
        at: Place<'_>,
    ) -> Result<bool, HybridCause> {
        let mut any = false;
        for _ in 0..=2 * self.left.len() {
            let mut changed = false;
            for relation in 0..self.left.len() {
                if self.touching.binary_search(&relation).is_err() && !is_free(model, relation) {
                    let holds = f64::from(u8::from(self.holds(model, relation)));
                    if std::mem::replace(&mut model.modes_mut()[relation], holds) != holds {
                        changed = true;
                        self.offsets[relation] = 0.0;
                    }
                }
            }
            if !changed {
                self.join(model, locator, at);
                return Ok(any);
            }
            any = true;
            self.evaluate_sides_again(model, at)?;
        }
        let wrong = |relation: &usize| self.holds(model, *relation) != (model.modes()[*relation] != 0.0);
        Err(HybridCause::Inconsistent { relations: (0..self.left.len()).filter(wrong).collect() })
    }

    /// Evaluates both sides again after modes have changed. If the sides of a relation jump with the modes, the
    /// relation is no longer taken to be on its surface, and is compared like any other.
    fn evaluate_sides_again(&mut self, model: &mut dyn HybridSystem, at: Place<'_>) -> Result<(), HybridCause> {
        model.refresh();
        self.before[0].copy_from_slice(&self.left);
        self.before[1].copy_from_slice(&self.right);
        self.evaluate_sides(model, at.t, at.y)?;
        for relation in 0..self.left.len() {
            if self.before[0][relation] != self.left[relation] || self.before[1][relation] != self.right[relation] {
                self.offsets[relation] = 0.0;
                self.moved.push(relation);
                if let Ok(place) = self.touching.binary_search(&relation) {
                    self.touching.remove(place);
                }
            }
        }
        Ok(())
    }

    /// Adds the relations whose sides have jumped onto their surface, so that the motion decides them too.
    fn join(&mut self, model: &dyn HybridSystem, locator: Option<&Locator>, at: Place<'_>) {
        let mut moved = std::mem::take(&mut self.moved);
        if let (Some(locator), false) = (locator, moved.is_empty()) {
            let known = self.motion.slope(model, at.t, at.y, &mut self.slope) && self.differentiate(model, locator, at);
            for relation in moved.iter().copied() {
                if self.is_near(relation, known)
                    && !is_free(model, relation)
                    && let Err(place) = self.touching.binary_search(&relation)
                {
                    self.touching.insert(place, relation);
                }
            }
        }
        moved.clear();
        self.moved = moved;
    }

    /// True if a relation is on its surface, within rounding and the uncertainty of the time of the instant.
    fn is_near(&self, relation: usize, known: bool) -> bool {
        let rate = if known { self.rates[relation].abs() } else { 0.0 };
        self.distance(relation) <= self.apart * rate
    }

    /// True if the motion crosses a surface within the resolution of time.
    pub fn meets(&mut self, model: &dyn HybridSystem, locator: &Locator, at: Place<'_>) -> bool {
        let known = self.evaluate_sides(model, at.t, at.y).is_ok()
            && self.motion.slope(model, at.t, at.y, &mut self.slope)
            && self.differentiate(model, locator, at);
        let leads = |relation: usize| {
            let (rate, holds) = (self.rates[relation], model.modes()[relation] != 0.0);
            rate != 0.0 && (rate < 0.0) == holds && self.distance(relation) <= resolution(at.t) * rate.abs()
        };
        known && (0..self.left.len()).any(|relation| locator.watches(relation) && leads(relation))
    }

    fn holds(&self, model: &dyn HybridSystem, relation: usize) -> bool {
        let difference = self.difference(relation);
        difference > 0.0 || (model.relations()[relation].or_equal && difference == 0.0)
    }

    /// Decides the modes at the beginning of an instant. Relations on their surface stay marked until an event changes
    /// one of their sides.
    pub fn enter(
        &mut self,
        model: &mut dyn HybridSystem,
        locator: &Locator,
        at: Place<'_>,
        landed: Option<Landed>,
    ) -> Result<Decided, HybridCause> {
        self.evaluate_sides(model, at.t, at.y)?;
        self.touching.clear();
        let known = self.motion.slope(model, at.t, at.y, &mut self.slope) && self.differentiate(model, locator, at);
        self.apart = resolution(at.t) + landed.map_or(0.0, |landed| landed.separation);
        self.blur = self.apart + landed.map_or(0.0, |landed| self.rounding(landed.relation, known));
        for relation in 0..self.left.len() {
            let there = !self.stopped && landed.is_some_and(|landed| self.is_same_surface(relation, landed.relation));
            if (there || self.is_near(relation, known)) && !is_free(model, relation) {
                self.touching.push(relation);
            }
        }
        self.met_here.clear();
        self.met_here.extend_from_slice(&self.touching);
        self.previous_motion.record(known.then_some((&self.slope, &self.rates)));
        let decided = self.decide(model, locator, at, landed, true)?;
        self.all_known(model)?;
        Ok(decided)
    }

    /// Decides the modes after a round that changed the state or discretes. If the state has moved by `rounding` alone,
    /// relations on their surface are still there, and the motion decides them.
    pub fn follow(
        &mut self,
        model: &mut dyn HybridSystem,
        locator: &Locator,
        at: Place<'_>,
        rounding: bool,
    ) -> Result<Decided, HybridCause> {
        self.before[0].copy_from_slice(&self.left);
        self.before[1].copy_from_slice(&self.right);
        self.evaluate_sides(model, at.t, at.y)?;
        let Modes { touching, before, left, right, offsets, .. } = self;
        touching.retain(|j| {
            let stays = rounding || (before[0][*j] == left[*j] && before[1][*j] == right[*j]);
            if !stays {
                offsets[*j] = 0.0;
            }
            stays
        });
        let decided = self.decide(model, locator, at, None, false)?;
        self.all_known(model)?;
        Ok(decided)
    }

    /// The state has been written since the last evaluation. If the sides of a relation have changed, its offset
    /// becomes zero again.
    pub fn written(&mut self, model: &dyn HybridSystem, t: f64, y: &[f64]) -> Result<(), HybridCause> {
        self.before[0].copy_from_slice(&self.left);
        self.before[1].copy_from_slice(&self.right);
        self.evaluate_sides(model, t, y)?;
        for (relation, offset) in self.offsets.iter_mut().enumerate() {
            let before = (self.before[0][relation], self.before[1][relation]);
            if before != (self.left[relation], self.right[relation]) {
                *offset = 0.0;
            }
        }
        Ok(())
    }

    /// True if the mode contradicts the sign of left - right at the last evaluation.
    pub fn contradicts(&self, model: &dyn HybridSystem, relation: usize) -> bool {
        self.holds(model, relation) != (model.modes()[relation] != 0.0)
    }

    /// Ends the instant. If the sign of a relation contradicts its mode, its surface moves to the current value of
    /// left - right.
    pub fn leave(&mut self, model: &dyn HybridSystem) {
        for relation in &self.touching {
            let difference = self.left[*relation] - self.right[*relation];
            let holds = model.modes()[*relation] != 0.0;
            self.offsets[*relation] = if (difference > 0.0) == holds { 0.0 } else { difference };
        }
        self.displaced = self.offsets.iter().any(|offset| *offset != 0.0);
    }

    /// Moves the surface of a relation to the value of left - right at the last evaluation.
    pub fn displace(&mut self, relation: usize) {
        self.offsets[relation] = self.left[relation] - self.right[relation];
        self.displaced = true;
    }

    /// True if any surface may be displaced.
    pub fn are_displaced(&self) -> bool {
        self.displaced
    }

    /// Examines the end of a step, and resets the offsets of relations whose sign is right again. True if there is
    /// one.
    pub fn release(&mut self, model: &dyn HybridSystem, t: f64, y: &[f64]) -> Result<bool, HybridCause> {
        self.evaluate_sides(model, t, y)?;
        let mut released = false;
        for relation in 0..self.offsets.len() {
            let difference = self.left[relation] - self.right[relation];
            let holds = model.modes()[relation] != 0.0;
            if self.offsets[relation] != 0.0 && (difference > 0.0) == holds && difference != 0.0 {
                self.offsets[relation] = 0.0;
                released = true;
            }
        }
        self.displaced = self.offsets.iter().any(|offset| *offset != 0.0);
        Ok(released)
    }

    /// Decides the modes. If no modes agree with the motion, the result is the modes to which the surface is crossed
    /// at the beginning of the instant. The events there see these modes.
    fn decide(
        &mut self,
        model: &mut dyn HybridSystem,
        locator: &Locator,
        at: Place<'_>,
        landed: Option<Landed>,
        begins: bool,
    ) -> Result<Decided, HybridCause> {
        let mut changed = self.settle(model, Some(locator), at)?;
        self.met.fill([None; 2]);
        self.rested.clear();
        let settled = |changed| Ok(Decided { changed, unsettled: None });
        self.crossed.clear();
        if !begins {
            self.cross(model);
        }
        // each relation that joins must also be decided
        let (mut round, mut most) = (0, self.touching.len());
        let (mut behind, mut went_over) = (Vec::new(), false);
        while round <= 2 * (most + self.rested.len()) {
            let here = self.motion_behind(model, locator, at, &mut behind);
            let Some(here) = here else {
                // the motion is unknown. The run has reached the surface, so it crosses it, unless that has been
                // decided already
                if let (Some(landed), 0) = (landed, round) {
                    self.cross_blindly(model, landed.relation);
                    return settled(true);
                }
                return settled(changed);
            };
            self.curve(model, locator, here, landed.filter(|_| round == 0));
            self.lead(model, here)?;
            if !behind.is_empty() {
                went_over = true;
                self.evaluate_sides(model, at.t, at.y)?;
            }
            let mut moved = false;
            for relation in self.touching.iter().copied() {
                let mode = model.modes()[relation] != 0.0;
                let rate = self.rates[relation];
                self.met[relation][usize::from(mode)] = Some(rate);
                let leads = if rate == 0.0 { self.leads(model, relation) } else { Some(rate > 0.0) };
                if leads.is_some_and(|leads| leads != mode) {
                    model.modes_mut()[relation] = f64::from(u8::from(!mode));
                    moved = true;
                    if rate == 0.0 {
                        self.rested.push(relation);
                    }
                }
            }
            if !moved {
                return settled(changed);
            }
            changed = true;
            self.evaluate_sides_again(model, at)?;
            self.settle(model, Some(locator), at)?;
            if self.crossed.is_empty() {
                self.cross(model);
            }
            let joined = self.touching.iter().filter(|relation| self.met[**relation] == [None; 2]).count();
            most = (most + joined).min(self.left.len());
            round += 1;
        }
        if went_over && self.rest_there(model, locator, at)? {
            return settled(true);
        }
        let relations = self.left.len();
        model.modes_mut()[..relations].copy_from_slice(&self.crossed);
        self.touching.clone_from(&self.crossing);
        model.refresh();
        self.evaluate_sides(model, at.t, at.y)?;
        self.settle(model, Some(locator), at)?;
        Ok(Decided { changed: true, unsettled: Some(self.unsettled()) })
    }

    /// The mode of a relation that stays exactly on its surface: the result of the comparison, unless that mode has
    /// led away from the surface.
    fn rests(&self, model: &dyn HybridSystem, relation: usize) -> Option<bool> {
        let exactly = self.difference(relation) == 0.0 && self.offsets[relation] == 0.0;
        (exactly && !self.rested.contains(&relation)).then(|| model.relations()[relation].or_equal)
    }

    /// Stores the modes to which the surface is crossed.
    fn cross(&mut self, model: &dyn HybridSystem) {
        self.crossed.extend_from_slice(&model.modes()[..self.left.len()]);
        self.crossing.clone_from(&self.touching);
    }

    /// Failure if no modes agree with the motion.
    fn unsettled(&self) -> HybridCause {
        for relation in self.touching.iter().copied() {
            if let [Some(below), Some(above)] = self.met[relation]
                && below > 0.0
                && above < 0.0
            {
                return HybridCause::Sliding { relation, rates: [below, above] };
            }
        }
        HybridCause::Inconsistent { relations: self.touching.clone() }
    }

    /// Computes the rates of left - right along `slope`; false if they have no value.
    fn differentiate(&mut self, model: &dyn HybridSystem, locator: &Locator, at: Place<'_>) -> bool {
        let Modes { slope, rates, terms, unknown, .. } = self;
        rates_along(model, locator, (at.t, at.y), (slope, unknown), rates, Some(terms))
    }

    /// Like [`Self::differentiate`], for one relation.
    fn differentiate_one(
        &mut self,
        model: &dyn HybridSystem,
        locator: &Locator,
        at: Place<'_>,
        relation: usize,
    ) -> bool {
        let Modes { slope, rates, terms, unknown, .. } = self;
        rate_along(model, locator, (at.t, at.y), (slope, unknown), (rates, terms), relation)
    }

    /// Rounding error of left - right at the last evaluation.
    pub fn noise(&self, relation: usize) -> f64 {
        SIDES * (self.left[relation].abs() + self.right[relation].abs())
    }
}
