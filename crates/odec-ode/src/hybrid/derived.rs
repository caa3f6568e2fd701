//! Derivatives by parameters across an instant.
//!
//! With S the derivative of the state, f- and f+ the motions before and after the instant at time t, and H what its
//! events make of the state:
//!
//! ```text
//! t_p = -(g_y S- + g_p)/g'                     of the surface g = 0; of a known time its own derivative
//! S+  = H_y S- + H_p + (H_t + H_y f- - f+) t_p
//! ```
//!
//! It is made in three steps: S- + f- t_p is the derivative of the state that the events find, since that state lies
//! at another time for another parameter; each round differentiates what it writes; and -f+ t_p goes back to a fixed
//! time. So chains of rounds need no formula of their own.

use crate::hybrid::locate::Locator;
use crate::hybrid::modes::{Modes, Place};
use crate::hybrid::outcome::HybridCause;
use crate::hybrid::stops::Stops;
use crate::hybrid::system::{Derived, HybridSystem, Target};

/// Derivatives of one time by two ways that differ by less than this part are one.
const AGREE: f64 = 1e-6;
/// A rate of left - right below this part of what the tolerances of the states make of it is none.
const GRAZING: f64 = 1e-9;

/// Derivatives of the instant at hand, in memory that is taken once.
pub(super) struct Derivatives {
    of: Option<Derived>,
    parameters: usize,
    /// y' before the instant, and its rates of the relations; y' after it.
    before: Vec<f64>,
    rates: Vec<f64>,
    sizes: Vec<f64>,
    after: Vec<f64>,
    modes: Vec<f64>,
    /// d(left - right)/dp at a fixed time, for each parameter.
    sides: Vec<f64>,
    /// t_p of each parameter.
    pub times: Vec<f64>,
    /// True once it is known from a stop or surface.
    known: bool,
}

impl Derivatives {
    pub fn new(model: &dyn HybridSystem) -> Self {
        let of = model.derived().cloned();
        let parameters = of.as_ref().map_or(0, Derived::parameters);
        let (n, relations) = match parameters {
            0 => (0, 0),
            _ => (model.system().shape().n, model.relations().len()),
        };
        Derivatives {
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
        }
    }

    /// True where there is nothing to do.
    pub fn are_none(&self) -> bool {
        self.parameters == 0
    }

    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// The motion before the instant, in the modes of before.
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
        self.known = false;
        self.times.fill(0.0);
        self.modes.copy_from_slice(model.modes());
        modes.motion_at(model, locator, at, &mut self.before, (&mut self.rates, &mut self.sizes))?;
        let relations = self.rates.len();
        for parameter in 0..self.parameters {
            let sides = &mut self.sides[parameter * relations..][..relations];
            let known = model.sides_by(parameter, at.t, at.y, sides).is_ok();
            if !(known && sides.iter().all(|side| side.is_finite())) {
                return Err(HybridCause::NoSides);
            }
        }
        Ok(())
    }

    /// The instant lies on the surface of a relation.
    pub fn on_surface(&mut self, relation: usize) -> Result<(), HybridCause> {
        let rate = self.rates[relation];
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

    /// The instant lies at times of these lists.
    pub fn at_stops(&mut self, model: &dyn HybridSystem, stops: &Stops) -> Result<(), HybridCause> {
        for list in 0..model.lists() {
            let Some(number) = stops.number(list) else { continue };
            for parameter in 0..self.parameters {
                let t = model.time_by(list, number, parameter);
                self.agree(parameter, t).map_err(|()| HybridCause::TwoTimes { list })?;
            }
            self.known = true;
        }
        Ok(())
    }

    /// The instant lies where an event was to be executed, whose time has these derivatives.
    pub fn at_queued(&mut self, event: usize, times: &[f64]) -> Result<(), HybridCause> {
        for (parameter, t) in times.iter().enumerate() {
            self.agree(parameter, *t).map_err(|()| HybridCause::NoDerivative { event })?;
        }
        self.known = true;
        Ok(())
    }

    /// Takes t_p from one of the ways to it; all have to agree, or the solution is not differentiable.
    fn agree(&mut self, parameter: usize, t: f64) -> Result<(), ()> {
        let have = &mut self.times[parameter];
        if self.known && !((t - *have).abs() <= AGREE * t.abs().max(have.abs())) {
            return Err(());
        }
        *have = if self.known { *have } else { t };
        Ok(())
    }

    /// S- becomes S- + f- t_p.
    pub fn carry(&self, y: &mut [f64]) {
        self.shift(1.0, &self.before, y);
    }

    /// Modes that changed as the instant began: their surfaces are met at one time.
    pub fn meet(&mut self, model: &dyn HybridSystem) -> Result<(), HybridCause> {
        if self.are_none() || !self.known {
            return Ok(());
        }
        for relation in 0..self.rates.len() {
            if model.modes()[relation] != self.modes[relation] {
                self.on_surface(relation)?;
            }
        }
        Ok(())
    }

    /// S becomes S - f+ t_p, with the motion after the instant.
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

    fn shift(&self, sign: f64, f: &[f64], y: &mut [f64]) {
        let Some(of) = &self.of else { return };
        for (parameter, t) in self.times.iter().enumerate() {
            for (state, row) in of.states.iter().zip(of.of(parameter)) {
                y[*row as usize] += sign * t * f[*state as usize];
            }
        }
    }

    /// The derivatives of what an event writes, those by one parameter together.
    pub fn values(
        &self,
        model: &dyn HybridSystem,
        event: usize,
        (t, y): (f64, &[f64]),
        out: &mut [f64],
    ) -> Result<(), HybridCause> {
        let writes = model.events()[event].writes.len();
        for parameter in 0..self.parameters {
            let out = &mut out[parameter * writes..][..writes];
            let known = model.values_by(event, parameter, t, y, self.times[parameter], out).is_ok();
            if !(known && out.iter().all(|value| value.is_finite())) {
                return Err(HybridCause::NoDerivative { event });
            }
        }
        Ok(())
    }

    /// Where the derivative of a quantity by a parameter stands; `None` where it has none.
    pub fn place(&self, target: Target, parameter: usize) -> Option<Target> {
        let of = self.of.as_ref()?;
        match target {
            Target::State(row) => {
                let k = of.states.iter().position(|state| *state as usize == row)?;
                Some(Target::State(of.of(parameter)[k] as usize))
            }
            Target::Discrete(position) => {
                let k = of.discretes.iter().position(|discrete| *discrete as usize == position)?;
                Some(Target::Discrete(of.positions[parameter * of.discretes.len() + k] as usize))
            }
        }
    }
}
