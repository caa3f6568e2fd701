//! Departures from a surface at which a law has a root, like `0.2*t - sqrt(h)` from h = 0.
//!
//! The motion grows like a power of time from there. So all stages of a step grow alike, and if one of them is beyond
//! the surface, where the law has no value, it is there for every length of the step. A short implicit step leads away
//! from the surface. Its movement is a small fraction of the tolerances, so its error is, too.

use super::edges::{EDGE, has_no_derivative, has_no_value};
use std::ops::ControlFlow;

use super::{Attempted, HybridRunner};
use crate::hybrid::modes::Landed;
use crate::hybrid::outcome::HybridError;
use crate::hybrid::system::HybridSystem;
use crate::problem::SolveError;
use crate::runner::StepRequest;

/// Longest length of the implicit step, as a fraction of the run.
const LONGEST: f64 = 1e-9;
/// It becomes shorter by this factor, up to this number of times.
const SHORTER: f64 = 0.125;
const TRIES: u32 = 24;
/// After an instant, a run is led away so many times: the first steps may come back to the surface.
const DEPARTURES: u32 = 4;
/// The first step of the method, as a fraction of the implicit step.
const FIRST: f64 = 0.25;
/// Iterations of the implicit step.
const ITERATIONS: u32 = 80;
/// Its accuracy, as a fraction of the movement of each state.
const ACCURACY: f64 = 0.05;
/// Damping of an iteration: at the beginning; and its factors after a change of sign of a defect, and after none.
const DAMPING: f64 = 0.5;
const DAMPS: [f64; 2] = [0.5, 1.2];

impl HybridRunner {
    /// Leads a run away from an instant, at which or just after which a method cannot take a step. True if it did.
    pub(super) fn leave_root(&mut self, model: &dyn HybridSystem, error: &SolveError) -> Result<bool, HybridError> {
        let t = self.runner.time();
        let begins = t - self.departures.0 <= 2.0 * LONGEST * (self.supposed_end(t) - self.span.0)
            && self.departures.1 < DEPARTURES;
        if !begins || !self.adaptive || !(has_no_value(error) || has_no_derivative(error)) {
            return Ok(false);
        }
        self.departures.1 += 1;
        let motion = &self.modes.motion;
        if motion.has_unknowns() || motion.has_constraints() {
            return Ok(false);
        }
        let end = self.next_stop(t).map_or(self.span.1, |stop| stop.min(self.span.1));
        let mut time = LONGEST * (self.supposed_end(t) - t);
        for _ in 0..TRIES {
            let there = t + time;
            if there > t
                && there < end
                && self.step_implicitly(model, there, time)
                && self.keeps_sides(model, (t, there))
            {
                let to = std::mem::take(&mut self.row);
                let resumed = self.runner.resume_at(model.system(), there, &to);
                self.row = to;
                if resumed.is_ok() {
                    self.y.copy_from_slice(&self.row);
                    let released = self.modes.release(model, there, &self.y);
                    released.map_err(|cause| self.failure(cause, there))?;
                    self.displace_contradictions(model);
                    self.renew(model, there);
                    self.runner.begin_with(FIRST * time);
                    return Ok(true);
                }
            }
            time *= SHORTER;
        }
        Ok(false)
    }

    /// Leads a run away from the instant at which it began a step, if f has no value in the step: the surfaces on which
    /// it rests there have been decided.
    pub(super) fn leave_root_at_once(
        &mut self,
        model: &dyn HybridSystem,
        made: &Attempted,
    ) -> Result<bool, HybridError> {
        let Err(error) = &made.reached else { return Ok(false) };
        if !has_no_value(error) || self.departures.0 != made.from {
            return Ok(false);
        }
        self.y.copy_from_slice(self.runner.state());
        self.leave_root(model, error)
    }

    /// Like [`HybridRunner::within`]. `Break` if a landing had to repeat the step, could not, and the run was led away from
    /// the instant at its start.
    pub(super) fn within_or_leave(
        &mut self,
        model: &mut dyn HybridSystem,
        (start, request): (f64, StepRequest),
        landed: Option<Landed>,
        locate: bool,
    ) -> Result<ControlFlow<(), Option<Landed>>, HybridError> {
        match self.within(model, (start, request), landed, locate) {
            Err(HybridError::Failed(failure)) if self.runner.time() == start => {
                let error = SolveError::Failed(failure);
                self.y.copy_from_slice(self.runner.state());
                if self.leave_root(model, &error)? { Ok(ControlFlow::Break(())) } else { Err(error.into()) }
            }
            Ok(_) if std::mem::take(&mut self.neglected.returned) => Ok(ControlFlow::Break(())),
            found => found.map(ControlFlow::Continue),
        }
    }

    /// A surface that a short step left, on the side that contradicts its mode, lies where the run is now.
    fn displace_contradictions(&mut self, model: &dyn HybridSystem) {
        for relation in 0..model.relations().len() {
            if self.locator.watches(relation)
                && self.modes.difference(relation) != 0.0
                && self.modes.contradicts(model, relation)
            {
                self.modes.displace(relation);
            }
        }
    }

    /// True if the state `row` is close to the state `y`, and on the side of each surface that its mode requires. A
    /// surface on which `y` lies does not count: the motion along it is too small to see, as of a ball that another
    /// one begins to push, and may leave it.
    fn keeps_sides(&mut self, model: &dyn HybridSystem, (from, t): (f64, f64)) -> bool {
        let little =
            |(i, (to, from)): (usize, (&f64, &f64))| (to - from).abs() <= EDGE * self.tolerances.scale(i, from.abs());
        if !self.row.iter().zip(&self.y).enumerate().all(little) {
            return false;
        }
        let relations = 0..model.relations().len();
        if self.modes.evaluate_sides(model, from, &self.y).is_err() {
            return false;
        }
        let lies_on: Vec<bool> = relations.clone().map(|relation| self.modes.difference(relation) == 0.0).collect();
        self.modes.evaluate_sides(model, t, &self.row).is_ok()
            && relations.zip(lies_on).all(|(relation, lies_on)| {
                lies_on
                    || !self.locator.watches(relation)
                    || self.modes.difference(relation) == 0.0
                    || !self.modes.contradicts(model, relation)
            })
    }

    /// Solves row = y + time f(t, row). Each state has its own damping, because a root has an infinite derivative. False
    /// if there is no solution.
    fn step_implicitly(&mut self, model: &dyn HybridSystem, t: f64, time: f64) -> bool {
        let n = self.y.len();
        self.row.copy_from_slice(&self.y);
        let (mut damping, mut defects, mut moves) = (vec![DAMPING; n], vec![0.0f64; n], vec![0.0; n]);
        // the state may lie a rounding error before the surface, where the law has no value yet: the motion before the
        // instant led across it
        if !self.modes.slope_at(model, t, &self.row)
            && let Some(before) = self.modes.slope_before()
        {
            for ((row, by), slope) in self.row.iter_mut().zip(&mut moves).zip(before) {
                *by = time * slope;
                *row += *by;
            }
        }
        for _ in 0..ITERATIONS {
            if !self.modes.slope_at(model, t, &self.row) {
                // too far
                for (row, by) in self.row.iter_mut().zip(&mut moves) {
                    *by *= DAMPS[0];
                    *row -= *by;
                }
                for damping in &mut damping {
                    *damping *= DAMPS[0];
                }
                continue;
            }
            let mut solved = true;
            for i in 0..n {
                let defect = self.y[i] + time * self.modes.slope()[i] - self.row[i];
                solved &= defect.abs() <= ACCURACY * (self.row[i] - self.y[i]).abs();
                let turns = defect * defects[i] < 0.0;
                damping[i] = (damping[i] * DAMPS[usize::from(!turns)]).min(DAMPING);
                defects[i] = defect;
                moves[i] = damping[i] * defect;
            }
            if solved {
                return true;
            }
            for (row, by) in self.row.iter_mut().zip(&moves) {
                *row += by;
            }
        }
        false
    }
}
