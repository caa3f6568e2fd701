//! Landings: a step that passes a surface is made again, so that it ends there.

use super::{HybridRunner, SHORTEST};
use crate::hybrid::locate::{Crossing, Step};
use crate::hybrid::modes::{Landed, Place};
use crate::hybrid::outcome::{HybridCause, HybridError};
use crate::hybrid::stops::resolution;
use crate::hybrid::system::HybridSystem;
use crate::runner::Ahead;

/// Steps that one landing may take.
const LANDINGS: u32 = 8;
/// How much nearer to its surface each of them has to come.
const NEARER: f64 = 0.5;
/// A landing that is off by more than this part of the step has found no surface: the dense output was wrong.
const MISSED: f64 = 1e-3;
/// A step whose dense output leads to a surface that the motion goes away from is made again, shorter by this.
const SHORTER: f64 = 0.25;
/// How often one step is looked at again, as it gets shorter.
const LOOKS: u32 = 8;
/// A step that failed on its way, and ends within this part of the tolerances from a surface, has come to it:
/// beyond, f has no value.
const EDGE: f64 = 1e-3;
/// A run that ends further than so many tolerances beyond a surface, without having met it, has lost it.
const LOST: f64 = 10.0;

/// Where a landing came to.
enum Landing {
    There(Landed),
    /// To a shorter step, which is to be looked at.
    Shorter,
    /// The surface lies behind the end of the step.
    Beyond,
}

impl HybridRunner {
    /// The relation whose surface the run has come to, if f ends there.
    pub(super) fn edge(&mut self, model: &dyn HybridSystem) -> Option<Landed> {
        let (t, y) = (self.runner.time(), self.runner.state());
        self.y.copy_from_slice(y);
        for (i, (weight, y)) in self.weights.iter_mut().zip(y).enumerate() {
            *weight = EDGE * self.tolerances.scale(i, y.abs());
        }
        let place = Place { t, y: &self.y, scale: 0.0 };
        let mut nearest: Option<(f64, usize)> = None;
        for relation in 0..model.relations().len() {
            let (g, rate) = self.modes.measure(model, &self.locator, place, relation).ok()?;
            let towards = rate.is_none_or(|rate| (rate < 0.0) == (model.modes()[relation] != 0.0));
            let room = self.locator.gradient(model, (t, &self.y), relation, &self.weights);
            if towards && model.is_read(relation) && g.abs() <= room && nearest.is_none_or(|(least, _)| g.abs() < least)
            {
                nearest = Some((g.abs(), relation));
            }
        }
        nearest.map(|(_, relation)| Landed { relation, apart: 0.0 })
    }

    /// Looks for relations that change within the last step, and lands on the first one.
    pub(super) fn cross(
        &mut self,
        model: &dyn HybridSystem,
        start: f64,
        ahead: Ahead,
    ) -> Result<Option<Landed>, HybridError> {
        let mut last = None;
        for _ in 0..LOOKS {
            let mut step = Step { model, runner: &mut self.runner, t: start, y: &self.start };
            let Some(crossing) = self.locator.first(&mut step)? else { return Ok(None) };
            last = Some(crossing.relation);
            match self.land(model, crossing, start, ahead)? {
                Landing::There(landed) => return Ok(Some(landed)),
                Landing::Shorter => {}
                Landing::Beyond => return Ok(None),
            }
        }
        // the step has not come to a surface, but may have passed one
        let (t, y) = (self.runner.time(), self.runner.state());
        let looked = self.modes.look(model, t, y);
        looked.map_err(|cause| self.failure(cause, t))?;
        let passed = last.filter(|relation| self.modes.contradicts(model, *relation));
        Ok(passed.map(|relation| Landed { relation, apart: 0.0 }))
    }

    /// An error where the run is beyond a surface that it has not met, which no answer may hide.
    pub(super) fn lost(&mut self, model: &dyn HybridSystem) -> Result<(), HybridError> {
        let t = self.runner.time();
        if self.modes.look(model, t, self.runner.state()).is_err() {
            return Ok(());
        }
        for relation in 0..model.relations().len() {
            if !self.modes.contradicts(model, relation) || !model.is_read(relation) {
                continue;
            }
            let y = self.runner.state();
            for (i, (weight, y)) in self.weights.iter_mut().zip(y).enumerate() {
                *weight = LOST * self.tolerances.scale(i, y.abs());
            }
            let room = self.locator.gradient(model, (t, y), relation, &self.weights);
            if self.modes.distance(relation) > room {
                return Err(self.failure(HybridCause::Passed { relation }, t));
            }
        }
        Ok(())
    }

    /// Goes back to the start of the step, and makes it end on a surface.
    fn land(
        &mut self,
        model: &dyn HybridSystem,
        crossing: Crossing,
        start: f64,
        ahead: Ahead,
    ) -> Result<Landing, HybridError> {
        let end = self.runner.time();
        let least = (start + SHORTEST * resolution(start)).min(end);
        let mut target = crossing.t.clamp(least, end);
        let (mut before, mut apart) = (f64::INFINITY, 0.0);
        for _ in 0..LANDINGS {
            if target != self.runner.time() {
                if !self.runner.retreat() {
                    break;
                }
                if let Err(error) = self.runner.advance(model.system(), Ahead { stop: Some(target), ..ahead }) {
                    return self.edge(model).map(Landing::There).ok_or_else(|| error.into());
                }
                if self.runner.time() != target {
                    return Ok(Landing::Shorter);
                }
            }
            let place = Place { t: target, y: self.runner.state(), scale: target - start };
            let measured = self.modes.measure(model, &self.locator, place, crossing.relation);
            let (g, rate) = measured.map_err(|cause| self.failure(cause, target))?;
            let Some(rate) = rate.filter(|rate| *rate != 0.0) else { break };
            if (rate > 0.0) == (model.modes()[crossing.relation] != 0.0) {
                // the motion goes away from the surface: the dense output was wrong
                return self.shorten(model, start, end, ahead);
            }
            let correction = -g / rate;
            apart = correction.abs();
            if apart <= 0.25 * resolution(target) || g.abs() > NEARER * before {
                break;
            }
            before = g.abs();
            let next = (target + correction).clamp(least, end);
            if next == target {
                if target == end && correction > 0.0 {
                    return Ok(Landing::Beyond);
                }
                break;
            }
            target = next;
        }
        let missed = apart > MISSED * (end - start) && apart > SHORTEST * resolution(target);
        match missed {
            true if target == end => Ok(Landing::Beyond),
            true => Ok(Landing::Shorter),
            false => Ok(Landing::There(Landed { relation: crossing.relation, apart })),
        }
    }

    /// A shorter step than the one that ended at `end`.
    fn shorten(
        &mut self,
        model: &dyn HybridSystem,
        start: f64,
        end: f64,
        ahead: Ahead,
    ) -> Result<Landing, HybridError> {
        let stop = start + SHORTER * (end - start);
        if stop < start + SHORTEST * resolution(start) || !self.runner.retreat() {
            return Ok(Landing::Beyond);
        }
        self.runner.advance(model.system(), Ahead { stop: Some(stop), ..ahead })?;
        Ok(Landing::Shorter)
    }
}
