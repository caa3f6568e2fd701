//! Determines which modes hold right after an instant.
//!
//! A relation whose sides differ by more than their noise is compared. One that is on its surface gets the sign that
//! left - right is about to have: that of its rate along the motion, or where that is zero of the second derivative
//! (Park & Barton, ACM TOMACS 6 (1996) 137-165, on what goes wrong otherwise). The motion depends on the modes, so
//! this is repeated until both agree. A relation that both its modes drive back to the surface slides.

mod ahead;
mod over;

use crate::hybrid::locate::{Locator, SIDES};
use crate::hybrid::motion::Motion;
use crate::hybrid::outcome::HybridCause;
use crate::hybrid::rates::rates_along;
use crate::hybrid::stops::resolution;
use crate::hybrid::system::HybridSystem;
use crate::problem::{Options, Refusal};
use over::Over;

/// Where an instant is.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub t: f64,
    pub y: &'a [f64],
    /// The scale of time there: the length of the last step.
    pub scale: f64,
}

/// A relation that a step has landed on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Landed {
    pub relation: usize,
    /// How far off in time the surface may be.
    pub apart: f64,
}

/// A relation on its surface as an instant has ended, and where the motion leads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub relation: usize,
    /// What it is about to be.
    pub leads: bool,
}

/// What became of the modes.
#[derive(Debug)]
pub(super) struct Decided {
    /// One of them has changed.
    pub changed: bool,
    /// None agree with the motion; this ends the run, unless an event moves it.
    pub unsettled: Option<HybridCause>,
}

/// What left - right is on the surface of each relation: zero, but where an instant ended with a mode that the sign
/// of left - right contradicts, by rounding or because f ends short of the surface. There it is what it was then,
/// until the sign is right.
pub(super) type Offsets = Vec<f64>;

/// Decides modes, in memory that is taken once.
pub(super) struct Modes {
    pub motion: Motion,
    /// Both sides at the last look, and at the one before.
    pub left: Vec<f64>,
    pub right: Vec<f64>,
    /// Relations of which a side had no value at the last look. They keep their modes: what stands behind another condition need
    /// have no value before that is decided.
    unknown: Vec<bool>,
    before: [Vec<f64>; 2],
    slope: Vec<f64>,
    near: Vec<f64>,
    near_slope: Vec<f64>,
    rates: Vec<f64>,
    later: Vec<f64>,
    /// Size of the terms of each rate.
    terms: Vec<f64>,
    touching: Vec<usize>,
    /// Those that were on their surface as the instant began.
    pub met_here: Vec<usize>,
    /// Those that are on their surface as an instant ends.
    surfaces: Vec<usize>,
    /// Within this time of its surface a relation is on it.
    apart: f64,
    /// Within this time the instant is known: what a landing and rounding leave.
    blur: f64,
    /// Stages of the steps that look ahead.
    stages: [Vec<f64>; 4],
    /// Relations whose rate and its derivative are zero, with the side that the motion takes them to.
    leading: Vec<(usize, Option<bool>)>,
    /// Those whose sides the modes of others have changed, in the order of finding.
    moved: Vec<usize>,
    /// All modes as the motion of before leads to them, and which relations were touching then.
    crossed: Vec<f64>,
    crossing: Vec<usize>,
    /// Those that were compared as they stay on their surface.
    rested: Vec<usize>,
    over: Over,
    /// A stop has changed modes since the landing: the sides may have jumped off the surface.
    pub stopped: bool,
    pub offsets: Offsets,
    /// One of them may not be zero.
    displaced: bool,
    /// The rates that were met with the relation false and true.
    met: Vec<[Option<f64>; 2]>,
}

impl Modes {
    /// For a system.
    ///
    /// # Errors
    /// As of [`Motion::new`].
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
            over: Over::new(n, m),
            stopped: false,
            offsets: zero(m),
            displaced: false,
            met: vec![[None; 2]; m],
        })
    }

    /// Evaluations of f that it took.
    pub fn evaluations(&mut self) -> u64 {
        std::mem::take(&mut self.motion.evaluations)
    }

    /// Evaluates both sides.
    pub fn look(&mut self, model: &dyn HybridSystem, t: f64, y: &[f64]) -> Result<(), HybridCause> {
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

    /// An error where something reads a relation of which a side has no value.
    fn all_known(&self, model: &dyn HybridSystem) -> Result<(), HybridCause> {
        let open = |(relation, unknown): (usize, &bool)| *unknown && model.is_read(relation);
        if self.unknown.iter().enumerate().any(open) { Err(HybridCause::NoSides) } else { Ok(()) }
    }

    /// left - right, beside its offset.
    fn difference(&self, relation: usize) -> f64 {
        self.left[relation] - self.right[relation] - self.offsets[relation]
    }

    /// How far a relation was from its surface at the last look, beyond rounding.
    pub fn distance(&self, relation: usize) -> f64 {
        self.difference(relation).abs() - self.noise(relation)
    }

    /// The size of the sides of a relation at the last look.
    pub fn size(&self, relation: usize) -> f64 {
        self.left[relation].abs() + self.right[relation].abs()
    }

    /// y' where [`Modes::measure`] looked last.
    pub fn slope(&self) -> &[f64] {
        &self.slope
    }

    /// y' at a point, for [`Modes::slope`]; false where there is none.
    pub fn slope_at(&mut self, model: &dyn HybridSystem, t: f64, y: &[f64]) -> bool {
        self.motion.slope(model, t, y, &mut self.slope)
    }

    /// left - right at a point, beside its offset.
    pub fn difference_at(
        &mut self,
        model: &dyn HybridSystem,
        (t, y): (f64, &[f64]),
        relation: usize,
    ) -> Result<f64, HybridCause> {
        self.look(model, t, y)?;
        if self.unknown[relation] { Err(HybridCause::NoSides) } else { Ok(self.difference(relation)) }
    }

    /// left - right, and how fast it changes in the modes as they stand, where that is known.
    pub fn measure(
        &mut self,
        model: &dyn HybridSystem,
        locator: &Locator,
        at: Place<'_>,
        relation: usize,
    ) -> Result<(f64, Option<f64>), HybridCause> {
        let difference = self.difference_at(model, (at.t, at.y), relation)?;
        let known = self.motion.slope(model, at.t, at.y, &mut self.slope) && self.differentiate(model, locator, at);
        Ok((difference, known.then(|| self.rates[relation])))
    }

    /// y' at a point, and the rates of all relations along it with the sizes of their terms.
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

    /// All modes by comparison, at the start of a run.
    pub fn compare(&mut self, model: &mut dyn HybridSystem, t: f64, y: &[f64]) -> Result<(), HybridCause> {
        self.offsets.fill(0.0);
        self.touching.clear();
        self.met_here.clear();
        self.moved.clear();
        self.displaced = false;
        self.look(model, t, y)?;
        for relation in 0..self.left.len() {
            let holds = self.holds(model, relation);
            model.modes_mut()[relation] = f64::from(u8::from(holds));
        }
        model.refresh();
        self.look(model, t, y)?;
        self.settle(model, None, Place { t, y, scale: 0.0 })?;
        self.all_known(model)
    }

    /// Compares the relations that are not on their surface, whose sides may depend on the modes of others. `left` and
    /// `right` are those of the modes as they stand. True if a mode has changed.
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
                if self.touching.binary_search(&relation).is_err() {
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
            self.look_again(model, at)?;
        }
        let wrong = |relation: &usize| self.holds(model, *relation) != (model.modes()[*relation] != 0.0);
        Err(HybridCause::Inconsistent { relations: (0..self.left.len()).filter(wrong).collect() })
    }

    /// Looks with modes that have changed. A relation whose sides jump with them is off its surface, or on it by what
    /// they are now: it is compared like any other.
    fn look_again(&mut self, model: &mut dyn HybridSystem, at: Place<'_>) -> Result<(), HybridCause> {
        model.refresh();
        self.before[0].copy_from_slice(&self.left);
        self.before[1].copy_from_slice(&self.right);
        self.look(model, at.t, at.y)?;
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

    /// Of the relations whose sides have jumped, those that are on their surface now: the motion decides them too.
    fn join(&mut self, model: &dyn HybridSystem, locator: Option<&Locator>, at: Place<'_>) {
        let mut moved = std::mem::take(&mut self.moved);
        if let (Some(locator), false) = (locator, moved.is_empty()) {
            let known = self.motion.slope(model, at.t, at.y, &mut self.slope) && self.differentiate(model, locator, at);
            for relation in moved.iter().copied() {
                if self.is_near(relation, known)
                    && let Err(place) = self.touching.binary_search(&relation)
                {
                    self.touching.insert(place, relation);
                }
            }
        }
        moved.clear();
        self.moved = moved;
    }

    /// On its surface to rounding, and to what the time of the instant is known to.
    fn is_near(&self, relation: usize, known: bool) -> bool {
        let rate = if known { self.rates[relation].abs() } else { 0.0 };
        self.distance(relation) <= self.apart * rate
    }

    fn holds(&self, model: &dyn HybridSystem, relation: usize) -> bool {
        let difference = self.difference(relation);
        difference > 0.0 || (model.relations()[relation].or_equal && difference == 0.0)
    }

    /// The modes at the start of an instant: relations on their surface are remembered until an event writes one of
    /// their sides.
    pub fn enter(
        &mut self,
        model: &mut dyn HybridSystem,
        locator: &Locator,
        at: Place<'_>,
        landed: Option<Landed>,
    ) -> Result<Decided, HybridCause> {
        self.look(model, at.t, at.y)?;
        self.touching.clear();
        let known = self.motion.slope(model, at.t, at.y, &mut self.slope) && self.differentiate(model, locator, at);
        self.apart = resolution(at.t) + landed.map_or(0.0, |landed| landed.apart);
        self.blur = self.apart + landed.map_or(0.0, |landed| self.rounding(landed.relation, known));
        for relation in 0..self.left.len() {
            let there = !self.stopped && landed.is_some_and(|landed| landed.relation == relation);
            if there || self.is_near(relation, known) {
                self.touching.push(relation);
            }
        }
        self.met_here.clear();
        self.met_here.extend_from_slice(&self.touching);
        self.over.led(known.then_some((&self.slope, &self.rates)));
        let decided = self.decide(model, locator, at, landed, true)?;
        self.all_known(model)?;
        Ok(decided)
    }

    /// The modes after a round that changed the state or discretes.
    pub fn follow(
        &mut self,
        model: &mut dyn HybridSystem,
        locator: &Locator,
        at: Place<'_>,
    ) -> Result<Decided, HybridCause> {
        self.before[0].copy_from_slice(&self.left);
        self.before[1].copy_from_slice(&self.right);
        self.look(model, at.t, at.y)?;
        let Modes { touching, before, left, right, offsets, .. } = self;
        touching.retain(|j| {
            let stays = before[0][*j] == left[*j] && before[1][*j] == right[*j];
            if !stays {
                offsets[*j] = 0.0;
            }
            stays
        });
        let decided = self.decide(model, locator, at, None, false)?;
        self.all_known(model)?;
        Ok(decided)
    }

    /// The state was written since the last look: surfaces of relations whose sides have changed are back in their place.
    pub fn written(&mut self, model: &dyn HybridSystem, t: f64, y: &[f64]) -> Result<(), HybridCause> {
        self.before[0].copy_from_slice(&self.left);
        self.before[1].copy_from_slice(&self.right);
        self.look(model, t, y)?;
        for (relation, offset) in self.offsets.iter_mut().enumerate() {
            let before = (self.before[0][relation], self.before[1][relation]);
            if before != (self.left[relation], self.right[relation]) {
                *offset = 0.0;
            }
        }
        Ok(())
    }

    /// True where the sign of left - right at the last look contradicts the mode.
    pub fn contradicts(&self, model: &dyn HybridSystem, relation: usize) -> bool {
        self.holds(model, relation) != (model.modes()[relation] != 0.0)
    }

    /// The instant is over: surfaces lie where relations are whose sign contradicts their mode.
    pub fn leave(&mut self, model: &dyn HybridSystem) {
        for relation in &self.touching {
            let difference = self.left[*relation] - self.right[*relation];
            let holds = model.modes()[*relation] != 0.0;
            self.offsets[*relation] = if (difference > 0.0) == holds { 0.0 } else { difference };
        }
        self.displaced = self.offsets.iter().any(|offset| *offset != 0.0);
    }

    /// The surface of a relation lies where it was at the last look.
    pub fn displace(&mut self, relation: usize) {
        self.offsets[relation] = self.left[relation] - self.right[relation];
        self.displaced = true;
    }

    /// True where the surface of a relation may not be in its place.
    pub fn are_displaced(&self) -> bool {
        self.displaced
    }

    /// A step has been made: surfaces are back in their place where the sign has become right. True where one is.
    pub fn release(&mut self, model: &dyn HybridSystem, t: f64, y: &[f64]) -> Result<bool, HybridCause> {
        self.look(model, t, y)?;
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

    /// Sets the modes. Where none agree with the motion, they are those that the surface is crossed to as the
    /// instant begins, for the events there, and stay so.
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
        // a relation that joins is one more to be decided
        let (mut round, mut most) = (0, self.touching.len());
        let (mut behind, mut went_over) = (Vec::new(), false);
        while round <= 2 * (most + self.rested.len()) {
            let here = self.motion_behind(model, locator, at, &mut behind);
            let Some(here) = here else {
                // nothing is known of the motion: the surface was met, so it is crossed, if that has not been found yet
                if let (Some(Landed { relation, .. }), 0) = (landed, round) {
                    let mode = &mut model.modes_mut()[relation];
                    *mode = 1.0 - *mode;
                    model.refresh();
                    return settled(true);
                }
                return settled(changed);
            };
            self.curve(model, locator, here, landed.filter(|_| round == 0));
            self.lead(model, here)?;
            if !behind.is_empty() {
                went_over = true;
                self.look(model, at.t, at.y)?;
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
            self.look_again(model, at)?;
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
        self.look(model, at.t, at.y)?;
        self.settle(model, Some(locator), at)?;
        Ok(Decided { changed: true, unsettled: Some(self.unsettled()) })
    }

    /// What a relation is that stays exactly on its surface: as it is compared, unless that has led away from there.
    fn rests(&self, model: &dyn HybridSystem, relation: usize) -> Option<bool> {
        let exactly = self.difference(relation) == 0.0 && self.offsets[relation] == 0.0;
        (exactly && !self.rested.contains(&relation)).then(|| model.relations()[relation].or_equal)
    }

    /// Keeps the modes that the surface is crossed to.
    fn cross(&mut self, model: &dyn HybridSystem) {
        self.crossed.extend_from_slice(&model.modes()[..self.left.len()]);
        self.crossing.clone_from(&self.touching);
    }

    /// No modes agree with the motion.
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

    /// The rates of left - right along `slope`; false where they have no value.
    fn differentiate(&mut self, model: &dyn HybridSystem, locator: &Locator, at: Place<'_>) -> bool {
        let Modes { slope, rates, terms, unknown, .. } = self;
        rates_along(model, locator, (at.t, at.y), (slope, unknown), rates, Some(terms))
    }

    /// Rounding of left - right at the last look.
    pub fn noise(&self, relation: usize) -> f64 {
        SIDES * (self.left[relation].abs() + self.right[relation].abs())
    }
}
