//! Differentiates states with respect to parameters across an instant.
//!
//! Let S be the derivative of the state, f- and f+ the right-hand sides before and after the instant at time t, and H
//! the map from the state before the events to the state after them. Then
//!
//! ```text
//! t_p = -(g_y S- + g_p)/g'                     for the surface g = 0; for a known time, its own derivative
//! S+  = H_y S- + H_p + (H_t + H_y f- - f+) t_p
//! ```
//!
//! The code computes this in three steps. First, S- + f- t_p is the derivative of the state that the events read: with
//! another parameter, that state lies at another time. Then each round differentiates what it writes. Finally, -f+ t_p
//! converts back to a fixed time. So chains of rounds need no formula of their own.

use crate::hybrid::locate::{Locator, SIDES};
use crate::hybrid::modes::{Modes, Place};
use crate::hybrid::motion::{Motion, Moved};
use crate::hybrid::outcome::HybridCause;
use crate::hybrid::stops::{Stops, resolution};
use crate::hybrid::system::{Derived, EventDerivatives, HybridSystem, WriteTarget};

/// Two derivatives of one time agree if their relative difference is below this.
const AGREE: f64 = 1e-6;
/// If the rate of left - right changes by more than this fraction within the tolerances, the motion touches the
/// surface instead of crossing it.
const CHANGES: f64 = 0.5;
/// A relation that is further from its surface than this multiple of its noise has jumped; the motion did not lead it
/// there.
const NEAR: f64 = 1e6;
/// A rate of left - right counts as zero below this fraction of the size of its terms.
const GRAZING: f64 = 1e-9;
/// A sum of two terms counts as zero below this fraction of them.
const CANCELLED: f64 = 8.0 * f64::EPSILON;

/// The derivatives at the current instant; the memory is reused.
pub(super) struct InstantDerivatives {
    of: Option<Derived>,
    parameters: usize,
    /// y' before the instant, with the rates of the relations along it; y' after it.
    before: Vec<f64>,
    rates: Vec<f64>,
    sizes: Vec<f64>,
    after: Vec<f64>,
    modes: Vec<f64>,
    /// d(left - right)/dp at a fixed time, for each parameter.
    sides: Vec<f64>,
    /// t_p of each parameter.
    pub times: Vec<f64>,
    /// True once a stop or surface has determined `times`.
    known: bool,
    /// Both sides of the relations at the left limit.
    left: Vec<f64>,
    right: Vec<f64>,
    /// False at the start of a run, whose time is fixed.
    moves: bool,
}

impl InstantDerivatives {
    pub fn new(model: &dyn HybridSystem) -> Self {
        let of = model.derived().map(|(of, _)| of.clone());
        let parameters = of.as_ref().map_or(0, Derived::parameters);
        let (n, relations) = match parameters {
            0 => (0, 0),
            _ => (model.system().shape().n, model.relations().len()),
        };
        InstantDerivatives {
            of,
            parameters,
            before: vec![0.0; n],
            rates: vec![0.0; relations],
            sizes: vec![0.0; relations],
            after: vec![0.0; n],
            modes: vec![0.0; if parameters == 0 { 0 } else { model.modes().len() }],
            sides: vec![0.0; parameters * relations],
            times: vec![0.0; parameters],
            known: false,
            left: vec![0.0; relations],
            right: vec![0.0; relations],
            moves: false,
        }
    }

    /// True if there are no parameters.
    pub fn are_none(&self) -> bool {
        self.parameters == 0
    }

    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// Begins a run, whose start time is fixed. A stop or surface that happens to lie at the start and moves with a
    /// parameter has no derivative.
    pub fn start(&mut self, model: &dyn HybridSystem, stops: &Stops, (t, y): (f64, &[f64])) -> Result<(), HybridCause> {
        (self.known, self.moves) = (false, false);
        self.times.fill(0.0);
        let Some((_, by)) = model.derived() else { return Ok(()) };
        for parameter in 0..self.parameters {
            let moved = |list: &usize| stops.number(*list).is_some_and(|k| by.time_by(*list, k, parameter) != 0.0);
            if let Some(list) = (0..model.lists()).find(moved) {
                return Err(HybridCause::TwoTimes { list });
            }
            self.differentiate(by, (parameter, t, y))?;
        }
        if self.are_none() || model.sides(t, y, &mut self.left, &mut self.right).is_err() {
            return Ok(());
        }
        let relations = self.rates.len();
        let moved = |relation: &usize| {
            let (left, right) = (self.left[*relation], self.right[*relation]);
            let there = (left - right).abs() <= SIDES * (left.abs() + right.abs());
            let by = (0..self.parameters).any(|parameter| self.sides[parameter * relations + relation] != 0.0);
            there && by && model.is_read(*relation) && !self.bends(*relation)
        };
        (0..relations).find(moved).map_or(Ok(()), |relation| Err(HybridCause::Grazing { relation }))
    }

    /// True for a relation across which the motion is continuous.
    fn bends(&self, relation: usize) -> bool {
        self.of.as_ref().is_some_and(|of| of.bends.get(relation).copied().unwrap_or(false))
    }

    /// Computes d(left - right)/dp of all relations.
    fn differentiate(
        &mut self,
        by: &dyn EventDerivatives,
        (parameter, t, y): (usize, f64, &[f64]),
    ) -> Result<(), HybridCause> {
        let relations = self.rates.len();
        let sides = &mut self.sides[parameter * relations..][..relations];
        let known = relations == 0 || by.sides_by(parameter, t, y, sides).is_ok();
        if known && sides.iter().all(|side| side.is_finite()) { Ok(()) } else { Err(HybridCause::NoSides) }
    }

    /// Records the motion before the instant, with the modes from before it.
    pub fn leave(
        &mut self,
        model: &dyn HybridSystem,
        modes: &mut Modes,
        locator: &Locator,
        at: Place<'_>,
    ) -> Result<(), HybridCause> {
        if self.are_none() {
            return Ok(());
        }
        (self.known, self.moves) = (false, true);
        self.times.fill(0.0);
        self.modes.copy_from_slice(model.modes());
        modes.motion_at(model, locator, at, &mut self.before, (&mut self.rates, &mut self.sizes))?;
        model.sides(at.t, at.y, &mut self.left, &mut self.right).map_err(|_| HybridCause::NoSides)?;
        let Some((_, by)) = model.derived() else { return Ok(()) };
        (0..self.parameters).try_for_each(|parameter| self.differentiate(by, (parameter, at.t, at.y)))
    }

    /// True if left - right of a relation rested before the instant, and no parameter moves it. The relation changes because
    /// another one does, or at a stop: the current of an inductor leaves 0 when the transistor is switched on.
    fn rests(&self, relation: usize) -> bool {
        let relations = self.rates.len();
        let moves = |parameter: usize| self.sides[parameter * relations + relation] != 0.0;
        self.rates[relation] == 0.0 && !(0..self.parameters).any(moves)
    }

    /// True if the motion before the instant can have led to the surface of a relation, rather than a jump of its
    /// sides.
    fn is_near(&self, relation: usize, t: f64) -> bool {
        let (left, right) = (self.left[relation], self.right[relation]);
        let noise = SIDES * (left.abs() + right.abs()) + resolution(t) * self.rates[relation].abs();
        !((left - right).abs() > NEAR * noise && (left > right) == (self.modes[relation] != 0.0))
    }

    /// Refuses a surface that the motion may only touch, as far as the tolerances can tell. `tolerance` is the change of
    /// left - right within the tolerances. At this distance before the surface, its rate must be nearly the same as on
    /// the surface. `at` is the left limit.
    pub fn crosses(
        &mut self,
        model: &dyn HybridSystem,
        modes: &mut Modes,
        locator: &Locator,
        (relation, tolerance): (usize, f64),
        at: Place<'_>,
    ) -> Result<(), HybridCause> {
        let rate = self.rates[relation];
        if self.are_none() || self.bends(relation) || rate == 0.0 {
            return Ok(());
        }
        let distance = (tolerance / rate.abs()).min(at.scale);
        let near: Vec<f64> = at.y.iter().zip(&self.before).map(|(y, f)| y - distance * f).collect();
        let (mut later, mut sizes) = (vec![0.0; self.rates.len()], vec![0.0; self.rates.len()]);
        let place = Place { t: at.t - distance, y: &near, scale: at.scale };
        modes.motion_at(model, locator, place, &mut self.after, (&mut later, &mut sizes))?;
        if (later[relation] - rate).abs() <= CHANGES * rate.abs() {
            Ok(())
        } else {
            Err(HybridCause::Grazing { relation })
        }
    }

    /// The instant is determined by the surface of a relation.
    pub fn on_surface(&mut self, relation: usize) -> Result<(), HybridCause> {
        let rate = self.rates[relation];
        if self.bends(relation) && (self.known || !(rate.abs() > GRAZING * self.sizes[relation])) {
            // the derivatives do not jump there, for any derivative of the time
            self.known = true;
            return Ok(());
        }
        if !(rate.abs() > GRAZING * self.sizes[relation]) {
            return Err(HybridCause::Grazing { relation });
        }
        let relations = self.rates.len();
        for parameter in 0..self.parameters {
            let t = -self.sides[parameter * relations + relation] / rate;
            self.agree(parameter, t).map_err(|()| HybridCause::Grazing { relation })?;
        }
        self.known = true;
        Ok(())
    }

    /// The instant is determined by the stops that are due.
    pub fn at_stops(&mut self, model: &dyn HybridSystem, stops: &Stops) -> Result<(), HybridCause> {
        let Some((_, by)) = model.derived() else { return Ok(()) };
        for list in 0..model.lists() {
            let Some(number) = stops.number(list) else { continue };
            for parameter in 0..self.parameters {
                let t = by.time_by(list, number, parameter);
                self.agree(parameter, t).map_err(|()| HybridCause::TwoTimes { list })?;
            }
            self.known = true;
        }
        Ok(())
    }

    /// The instant is determined by a queued event, whose time has these derivatives.
    pub fn at_queued(&mut self, event: usize, times: &[f64]) -> Result<(), HybridCause> {
        for (parameter, t) in times.iter().enumerate() {
            self.agree(parameter, *t).map_err(|()| HybridCause::NoDerivative { event })?;
        }
        self.known = true;
        Ok(())
    }

    /// Sets t_p, or compares it with the value that is already known. If two values disagree, the solution is not
    /// differentiable.
    fn agree(&mut self, parameter: usize, t: f64) -> Result<(), ()> {
        let have = &mut self.times[parameter];
        if !t.is_finite() {
            return Err(());
        }
        if self.known && !((t - *have).abs() <= AGREE * t.abs().max(have.abs())) {
            return Err(());
        }
        *have = if self.known { *have } else { t };
        Ok(())
    }

    /// Replaces S- by S- + f- t_p.
    pub fn carry(&self, y: &mut [f64]) {
        self.shift(1.0, &self.before, y);
    }

    /// Modes have changed at the beginning of the instant. Their surfaces must all have the same derivative of the
    /// time.
    pub fn meet(&mut self, model: &dyn HybridSystem, t: f64) -> Result<(), HybridCause> {
        if self.are_none() || !self.moves {
            return Ok(());
        }
        // the state already contains the effect of the known derivatives of the time
        self.known = true;
        for relation in 0..self.rates.len() {
            let changed = model.modes()[relation] != self.modes[relation];
            if changed && !self.bends(relation) && self.is_near(relation, t) && !self.rests(relation) {
                self.on_surface(relation)?;
            }
        }
        Ok(())
    }

    /// Replaces S by S - f+ t_p, with the motion after the instant.
    pub fn arrive(
        &mut self,
        model: &dyn HybridSystem,
        modes: &mut Modes,
        locator: &Locator,
        (t, y, scale): (f64, &mut [f64], f64),
    ) -> Result<(), HybridCause> {
        if self.are_none() || self.times.iter().all(|t| *t == 0.0) {
            return Ok(());
        }
        let at = Place { t, y, scale };
        modes.motion_at(model, locator, at, &mut self.after, (&mut self.rates, &mut self.sizes))?;
        self.shift(-1.0, &self.after, y);
        Ok(())
    }

    /// Solves for the algebraic unknowns and their derivatives after a change, in the current modes. The equations for
    /// these derivatives hold at a fixed time, so S is converted to a fixed time first and back afterwards.
    pub fn settle(
        &mut self,
        model: &dyn HybridSystem,
        motion: &mut Motion,
        (t, y): (f64, &mut [f64]),
        written: bool,
    ) -> Result<Moved, HybridCause> {
        if !motion.has_unknowns() {
            return Ok(Moved::Not);
        }
        if self.times.iter().all(|t| *t == 0.0) {
            return motion.settle(model, (t, y), written);
        }
        let before = y.to_vec();
        motion.refine(model, t, y)?;
        if !motion.slope(model, t, y, &mut self.after) {
            return Err(HybridCause::NoSides);
        }
        self.shift(-1.0, &self.after, y);
        motion.refine(model, t, y)?;
        self.shift(1.0, &self.after, y);
        let moved = motion.differ(&before, y);
        if !moved {
            y.copy_from_slice(&before);
        }
        Ok(if moved { Moved::Far } else { Moved::Not })
    }

    fn shift(&self, sign: f64, f: &[f64], y: &mut [f64]) {
        let Some(of) = &self.of else { return };
        for (parameter, t) in self.times.iter().enumerate() {
            for (state, row) in of.states.iter().zip(of.of(parameter)) {
                let (before, by) = (y[*row as usize], sign * t * f[*state as usize]);
                let after = before + by;
                // a state that comes to rest on a surface has the derivative 0 there, without a rounding error
                y[*row as usize] = if after.abs() <= CANCELLED * before.abs() { 0.0 } else { after };
            }
        }
    }

    /// The derivatives of the values that an event writes, grouped by parameter.
    pub fn values(
        &self,
        model: &dyn HybridSystem,
        event: usize,
        (t, y): (f64, &[f64]),
        out: &mut [f64],
    ) -> Result<(), HybridCause> {
        let Some((_, by)) = model.derived() else { return Ok(()) };
        let writes = model.events()[event].writes.len();
        for parameter in 0..self.parameters {
            let out = &mut out[parameter * writes..][..writes];
            let known = by.values_by(event, parameter, t, y, self.times[parameter], out).is_ok();
            if !(known && out.iter().all(|value| value.is_finite())) {
                return Err(HybridCause::NoDerivative { event });
            }
        }
        Ok(())
    }

    /// The quantity that stores the derivative of `target` with respect to a parameter; `None` if there is none.
    pub fn place(&self, target: WriteTarget, parameter: usize) -> Option<WriteTarget> {
        let of = self.of.as_ref()?;
        match target {
            WriteTarget::State(row) => {
                let k = of.states.iter().position(|state| *state as usize == row)?;
                Some(WriteTarget::State(of.of(parameter)[k] as usize))
            }
            WriteTarget::Discrete(position) => {
                let k = of.discretes.iter().position(|discrete| *discrete as usize == position)?;
                Some(WriteTarget::Discrete(of.positions[parameter * of.discretes.len() + k] as usize))
            }
        }
    }
}
