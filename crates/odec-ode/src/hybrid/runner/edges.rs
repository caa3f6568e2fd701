//! Edges: places beyond which f, or its derivative, has no value in the present modes. A run reaches one on a surface
//! or at a stop, and continues beyond it.

use super::roots::CLOSE;
use super::{HybridRunner, SHORTEST, is_smooth};
use crate::hybrid::locate::Step;
use crate::hybrid::modes::{Landed, Place};
use crate::hybrid::outcome::HybridError;
use crate::hybrid::stops::{resolution, unit};
use crate::hybrid::system::HybridSystem;
use crate::problem::{Cause, Problem, SolveError};

/// A step that failed on its way and ends within this fraction of the tolerances from a surface has reached the
/// surface: f has no value beyond it.
pub(super) const EDGE: f64 = 1e-3;
/// The same if it ends within this number of units of time resolution, since no step is shorter.
pub(super) const NO_STEP: f64 = 8.0;
/// A state that is taken across a surface moves by at most this fraction of the tolerances
const OVER: f64 = 1e-2;
/// or by this many units of its rounding, if that is more.
pub(super) const MOVED: f64 = 64.0;
/// If f has no derivative just after a stop, the run may skip this multiple of the distance to the stop, repeatedly,
const FURTHER: f64 = 64.0;
/// up to this fraction of the time, or of what is left of the run.
const BEHIND: f64 = 1e-9;

/// Place that the run has just reached.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) enum Edge {
    #[default]
    None,
    Surface,
    /// A time known in advance, or the start.
    Stop(f64),
}

impl HybridRunner {
    /// The relation whose surface the run has reached, if f has no value beyond it. If the run can go on, it is not there
    /// before the time that is left to the root of a law is short.
    pub(super) fn edge(&mut self, model: &dyn HybridSystem, goes_on: bool) -> Option<Landed> {
        let (t, y) = (self.runner.time(), self.runner.state());
        self.y.copy_from_slice(y);
        for (i, (weight, y)) in self.weights.iter_mut().zip(y).enumerate() {
            *weight = EDGE * self.tolerances.scale(i, y.abs());
        }
        let place = Place { t, y: &self.y, scale: 0.0 };
        let (mut nearest, mut separation) = (None::<(f64, usize)>, 0.0f64);
        for relation in 0..model.relations().len() {
            let Ok((g, rate)) = self.modes.measure(model, &self.locator, place, relation) else { continue };
            if rate.is_some_and(|rate| (rate < 0.0) != (model.modes()[relation] != 0.0)) || !model.is_read(relation) {
                continue;
            }
            // a state that rests on its surface does not end the step
            if goes_on && g == 0.0 && rate == Some(0.0) {
                continue;
            }
            let tolerance = self.locator.gradient(model, (t, &self.y), relation, |i| self.weights[i]);
            let moving = rate.filter(|rate| *rate != 0.0);
            let away = moving.map_or(0.0, |rate| (g / rate).abs());
            // a relation that approaches its surface slowly is close to it long before it arrives
            let moved =
                self.modes.slope().iter().zip(&self.weights).all(|(slope, weight)| away * slope.abs() <= *weight);
            let is_close = g.abs() <= CLOSE * f64::EPSILON * self.modes.size(relation);
            let is_there = if moving.is_some() { away <= NO_STEP * resolution(t) } else { is_close };
            if is_there || (g.abs() <= tolerance && moved) {
                separation = separation.max(away);
                nearest = nearest.filter(|(least, _)| *least <= g.abs()).or(Some((g.abs(), relation)));
            }
        }
        // other surfaces at the same time are reached as well
        let (_, relation) = nearest?;
        (!goes_on || !self.is_far_from_root(model, relation)).then_some(Landed { relation, separation })
    }

    /// True if another relation changes in the last step, which has reached a point beyond which f has no value.
    pub(super) fn meets_other(&mut self, model: &dyn HybridSystem, edge: usize, start: f64) -> bool {
        let mut step = Step { model, runner: &mut self.runner, t: start, y: &self.start };
        let Ok(Some(crossing)) = self.locator.first(&mut step) else { return false };
        let known = self.modes.evaluate_sides(model, self.runner.time(), self.runner.state()).is_ok();
        !(known && self.modes.is_same_surface(crossing.relation, edge))
    }

    /// Moves a run on from a landing where f has a value but no derivative, like `sqrt(x - 1)` at 1: by a few units of
    /// time resolution along the motion, or by a similar time after a stop. True if it did.
    pub(super) fn leave_edge(&mut self, model: &dyn HybridSystem, error: &SolveError) -> Result<bool, HybridError> {
        let edge = std::mem::take(&mut self.on_edge);
        self.y.copy_from_slice(self.runner.state());
        if edge == Edge::None || !has_no_derivative(error) {
            return Ok(false);
        }
        self.advance_past(model, edge)
    }

    /// Like [`Self::leave_edge`], if a method cannot even begin at the state `y` of an instant. At a stop, f itself
    /// need not have a value: stops are exact only to rounding, and `exp(-1/sin(t))` has no value just before the
    /// sine becomes positive.
    pub(super) fn before_edge(&mut self, model: &dyn HybridSystem, error: SolveError) -> Result<(), HybridError> {
        let edge = std::mem::take(&mut self.on_edge);
        let leads_on = match edge {
            Edge::None => false,
            Edge::Surface => has_no_derivative(&error),
            Edge::Stop(_) => has_no_derivative(&error) || has_no_value(&error),
        };
        let ended = self.needs_no_value(&error);
        let goes_on = ended || (leads_on && self.advance_past(model, edge)?) || self.leave_root(model, &error)?;
        if goes_on { Ok(()) } else { Err(error.into()) }
    }

    /// Takes the state `y` of an instant across the surface that the run has not quite reached, if f has no value
    /// there in the modes beyond. True if it did.
    pub(super) fn cross_surface(&mut self, model: &dyn HybridSystem, t: f64) -> Result<bool, HybridError> {
        let (behind, time) = match self.modes.take_rest() {
            Some(on) => (on, f64::INFINITY),
            None if !self.modes.are_displaced() || self.modes.slope_at(model, t, &self.y) => return Ok(false),
            None => {
                let further = self.modes.further(model, &self.locator, Place { t, y: &self.y, scale: 0.0 });
                let Some(further) = further else { return Ok(false) };
                further
            }
        };
        let mut pairs = behind.iter().zip(&self.y).enumerate();
        let little = |(i, (to, from)): (usize, (&f64, &f64))| {
            let allowed = OVER * self.tolerances.scale(i, from.abs());
            (to - from).abs() <= allowed.max(MOVED * unit(*from))
        };
        if !(time <= 2.0 * NO_STEP * resolution(t) || pairs.all(little)) || !self.modes.slope_at(model, t, &behind) {
            return Ok(false);
        }
        self.y = behind;
        let evaluated = self.modes.release(model, t, &self.y);
        evaluated.map_err(|cause| self.failure(cause, t))?;
        Ok(true)
    }

    /// Chooses a short first step after a state was taken across a surface, because derivatives are large there.
    pub(super) fn begin_past_surface(&mut self, t: f64) {
        self.runner.begin_with(SHORTEST * resolution(t));
        self.growing = (!self.adaptive).then_some(SHORTEST * resolution(t));
    }

    fn advance_past(&mut self, model: &dyn HybridSystem, edge: Edge) -> Result<bool, HybridError> {
        let t = self.runner.time();
        let moves = self.modes.slope_at(model, t, &self.y);
        if let Edge::Stop(stop) = edge {
            return Ok(self.skip_stop(model, (t, stop), moves));
        }
        // if the state approaches the surface slowly, the shortest time does not lead it away
        let further = SHORTEST * resolution(t) * 2f64.powi(self.pushed as i32);
        let pairs = self.modes.slope().iter().zip(&self.y).enumerate();
        let moved = |(i, (slope, y)): (usize, (&f64, &f64))| further * slope.abs() / self.tolerances.scale(i, y.abs());
        let moved = pairs.map(moved).fold(0.0, f64::max);
        // a state that stands still stays where f has no derivative
        if !moves || moved == 0.0 || (self.pushed > 0 && moved > OVER) {
            return Ok(false);
        }
        self.pushed += 1;
        self.on_edge = edge;
        for (y, slope) in self.y.iter_mut().zip(self.modes.slope()) {
            *y += further * slope;
        }
        if let Err(error) = self.runner.resume(model.system(), &self.y) {
            return if has_no_derivative(&error) { self.advance_past(model, edge) } else { Err(error.into()) };
        }
        // the derivative there is large, so it only describes a short step
        self.runner.begin_with(further);
        Ok(true)
    }

    /// Begins a run a little after its start, if a law is 0/0 there in the modes that begin, and has a value in those
    /// before: `if t > 0 then sin(t)/t else 1`. An infinite value is no such case.
    pub(super) fn begin_later(
        &mut self,
        model: &mut dyn HybridSystem,
        problem: &Problem,
        error: SolveError,
    ) -> Result<(), HybridError> {
        if is_smooth(model) || !has_no_value(&error) {
            return Err(error.into());
        }
        let (t, modes) = (problem.t0, model.modes().to_vec());
        let infinite =
            model.system().rhs(t, &self.y, &mut self.row).is_err() || self.row.iter().copied().any(f64::is_infinite);
        model.at_time(t);
        model.refresh();
        let known = model.modes() != modes && self.modes.slope_at(model, t, &self.y);
        self.stops.settle(model);
        model.refresh();
        if !known || infinite {
            return Err(error.into());
        }
        // derivatives of the law may be infinite closer to the start
        let pairs = self.modes.slope().iter().zip(&self.y).enumerate();
        let times = pairs.map(|(i, (slope, y))| OVER * self.tolerances.scale(i, y.abs()) / slope.abs());
        let time = times.fold(BEHIND * (self.supposed_end(t) - t), f64::min).max(SHORTEST * resolution(t));
        for (y, slope) in self.y.iter_mut().zip(self.modes.slope()) {
            *y += time * slope;
        }
        if self.runner.resume_at(model.system(), t + time, &self.y).is_err() {
            return Err(error.into());
        }
        self.on_edge = Edge::Stop(t);
        Ok(())
    }

    /// Continues a little after a stop if the method can begin there; false if it cannot.
    fn skip_stop(&mut self, model: &dyn HybridSystem, (t, stop): (f64, f64), moves: bool) -> bool {
        let farthest = (stop + BEHIND * stop.abs().max(self.supposed_end(stop) - stop)).min(self.span.1);
        // a Taylor series may need a larger distance than f
        let mut further = (SHORTEST * resolution(t)).max(FURTHER * (t - stop));
        let mut gone = 0.0;
        while t + further < farthest {
            if moves {
                for (y, slope) in self.y.iter_mut().zip(self.modes.slope()) {
                    *y += (further - gone) * slope;
                }
            }
            if self.runner.resume_at(model.system(), t + further, &self.y).is_ok() {
                self.runner.begin_with(further);
                self.on_edge = Edge::Stop(stop);
                return true;
            }
            (gone, further) = (further, FURTHER * further);
        }
        false
    }
}

/// True if the step failed because a derivative has no value where f has one.
pub(super) fn has_no_derivative(error: &SolveError) -> bool {
    let SolveError::Failed(failure) = error else { return false };
    matches!(
        failure.cause,
        Cause::NonFiniteJacobian { .. } | Cause::NonFiniteTimeDerivative { .. } | Cause::NoSeries { .. }
    )
}

/// True if the step failed because f has no value.
pub(super) fn has_no_value(error: &SolveError) -> bool {
    matches!(error, SolveError::Failed(failure) if matches!(failure.cause, Cause::NonFiniteRhs { .. } | Cause::Refused))
}
