//! Runs that do not land on every surface, because landing on some of them fails.
//!
//! Some laws have kinks at many places or at places that crowd: the limiters of a method of lines, or a law with a root
//! on a surface that moves. Landing on each of their surfaces may fail, or make no progress. If the law is continuous
//! across them, a step may pass them: f is evaluated as the model says, and the error estimate shortens the step. So
//! when a landing or a step fails, the run frees all relations on which no event depends, and continues from the start
//! of the step that failed ([`HybridRelations::free`]).
//!
//! Only kinks may be passed. After each step, f is compared on both sides of the surface of a relation that has changed,
//! closer and closer to it. If the difference does not vanish, f jumps there: the run locates this relation again, and
//! repeats the step. If it then fails at the same place, the first failure is reported.

use super::edges::Edge;
use super::{HybridRunner, is_smooth};
use crate::hybrid::outcome::{HybridCause, HybridError};
use crate::hybrid::system::HybridSystem;
use crate::method::Method;
use crate::problem::{Cause, Options, Problem, SolveError};
use crate::runner::Runner;
use crate::system::Mass;

/// A jump of f is harmless if it changes the states by less than this fraction of their tolerances
const PART: f64 = 0.1;
/// during a step, or during this fraction of the run, if that is longer.
const SPAN: f64 = 0.01;
/// Number of bisections on the way to a surface, and those after which f is compared on both sides.
const BISECTIONS: u32 = 50;
const COMPARED_AFTER: u32 = 10;
/// f is continuous if its difference between both sides vanishes at least like this power of the distance,
const POWER: f64 = 0.2;
/// measured at two distances at least this factor apart.
const APART: f64 = 100.0;
/// Distances from a surface on which a motion slides, in tolerances, for the same comparison; the smaller one is at least
/// this multiple of the rounding error of left - right.
const FAR: f64 = 0.1;
const NEAR: f64 = 1e-5;
const SURE: f64 = 64.0;
/// Fraction of the requested tolerances for steps that may pass kinks, where error estimates are too small.
const TIGHTER: f64 = 0.1;
/// A step has trouble with a surface if it takes this number of attempts.
const TROUBLE: u64 = 3;
/// Number of such steps between two looks at how long the run will take.
const CROWD: u32 = 256;
/// A failure that follows another one within this fraction of the run has the same reason.
const SAME: f64 = 1e-6;

/// The free relations of a run.
pub(super) struct FreeRelations {
    method: &'static Method,
    options: Options,
    /// The runner of runs that locate all relations, while another one has its place.
    located: Option<Box<Runner>>,
    /// Relations at whose surfaces f has jumped.
    jumps: Vec<bool>,
    /// The failure after which relations were freed, and its time.
    first: Option<(f64, HybridError)>,
    /// Time at which the last step began.
    pub from: f64,
    /// Number of attempts before the last step; the last relation on which a step has landed.
    attempts: u64,
    landed: Option<usize>,
    /// Number of steps that took several attempts since the run was last found to advance; its time and attempts then.
    troubled: u32,
    crowd: (f64, u64),
    /// Modes at the start and at the end of a step; f on both sides of a surface.
    modes: [Vec<f64>; 2],
    f: [Vec<f64>; 2],
}

/// A way across a surface.
struct Across {
    /// left - right.
    g: f64,
    /// The movement of the states that changes it by 1.
    moves: Vec<f64>,
    /// Its change over one tolerance.
    step: f64,
}

impl FreeRelations {
    pub fn new(method: &'static Method, options: &Options) -> Self {
        FreeRelations {
            method,
            options: options.clone(),
            located: None,
            jumps: Vec::new(),
            first: None,
            from: 0.0,
            attempts: 0,
            landed: None,
            troubled: 0,
            crowd: (0.0, 0),
            modes: [Vec::new(), Vec::new()],
            f: [Vec::new(), Vec::new()],
        }
    }
}

impl HybridRunner {
    /// Locates all relations, as every run does at its start.
    pub(super) fn locate_all(&mut self, model: &mut dyn HybridSystem) {
        if let Some(runner) = self.free.located.take() {
            self.runner = *runner;
        }
        self.free.jumps.clear();
        self.free.first = None;
        (self.free.attempts, self.free.landed) = (0, None);
        (self.free.troubled, self.free.crowd) = (0, (self.span.0, 0));
        if !model.free().is_empty() {
            model.set_free(&[]);
        }
    }

    /// Continues at the start of the step that failed, with free relations.
    ///
    /// # Errors
    /// The failure, if no relation can be freed.
    pub(super) fn free_after(&mut self, model: &mut dyn HybridSystem, error: HybridError) -> Result<(), HybridError> {
        if is_smooth(model) || !may_pass(&error) {
            return Err(error);
        }
        let t = self.free.from;
        self.y.copy_from_slice(&self.start);
        self.free_relations(model, t, error)?;
        self.fresh = true;
        self.stop = self.next_stop(t);
        Ok(())
    }

    /// The same at an instant at which no modes were found and no event has been executed.
    pub(super) fn free_at_instant(
        &mut self,
        model: &mut dyn HybridSystem,
        cause: HybridCause,
        t: f64,
    ) -> Result<(), HybridError> {
        let error = self.failure(cause, t);
        if !may_pass(&error) || !self.rounds.executed.is_empty() {
            return Err(error);
        }
        let sliding = match &error {
            HybridError::Hybrid(failure) => match failure.cause {
                HybridCause::Sliding { relation, .. } => Some(relation),
                _ => None,
            },
            _ => None,
        };
        self.y.copy_from_slice(&self.before.y);
        self.free_relations(model, t, error)?;
        if let Some(relation) = sliding
            && !self.is_continuous_at(model, t, relation)
            && let Some((_, error)) = self.free.first.take()
        {
            return Err(error);
        }
        self.y.copy_from_slice(&self.before.y);
        Ok(())
    }

    /// The same where instants make no progress, as where a state rests on the kink of `abs(x)^1.5`.
    pub(super) fn free_after_chatter(
        &mut self,
        model: &mut dyn HybridSystem,
        cause: HybridCause,
        t: f64,
    ) -> Result<(), HybridError> {
        let error = self.failure(cause, t);
        if !may_pass(&error) {
            return Err(error);
        }
        self.free_relations(model, t, error)?;
        self.fresh = true;
        Ok(())
    }

    /// True if f becomes the same on both sides of the surface of a relation near the state `y`, the closer the points are
    /// to it.
    fn is_continuous_at(&mut self, model: &dyn HybridSystem, t: f64, relation: usize) -> bool {
        let here = self.y.clone();
        let Some(Across { g, moves, step }) = self.across(model, t, relation) else { return false };
        let near = (NEAR * step).max(SURE * f64::EPSILON * self.modes.size(relation));
        let far = (FAR * step).max(APART * APART * near);
        let mut apart = |distance: f64| {
            let [mut below, mut above] = std::mem::take(&mut self.free.f);
            let mut known = true;
            for (f, target) in [(&mut below, -distance), (&mut above, distance)] {
                f.resize(here.len(), 0.0);
                for ((y, here), by) in self.y.iter_mut().zip(&here).zip(&moves) {
                    *y = here + (target - g) * by;
                }
                known &= model.system().rhs(t, &self.y, f).is_ok();
            }
            self.free.f = [below, above];
            if known { self.compare_f(t, t) } else { f64::NAN }
        };
        let (apart_far, apart_near) = (apart(far), apart(near));
        self.y.copy_from_slice(&here);
        apart_near <= PART || apart_near <= apart_far * (near / far).powf(POWER)
    }

    /// The shortest way from the state `y` across the surface of a relation, in units of the tolerances: each state moves in
    /// proportion to the square of its own. `None` if there is none.
    fn across(&mut self, model: &dyn HybridSystem, t: f64, relation: usize) -> Option<Across> {
        let here = self.y.clone();
        let mut moves = Vec::with_capacity(here.len());
        let g = self.modes.difference_at(model, (t, &here), relation).ok()?;
        for (i, of) in here.iter().enumerate() {
            let weight = self.tolerances.asked(i, of.abs());
            self.y[i] += weight;
            let there = self.modes.difference_at(model, (t, &self.y), relation);
            self.y[i] = *of;
            moves.push((weight, there.ok()? - g));
        }
        let square: f64 = moves.iter().map(|(_, change)| change * change).sum();
        let moves = moves.into_iter().map(|(weight, change)| weight * change / square).collect();
        (square.is_finite() && square > 0.0).then(|| Across { g, moves, step: square.sqrt() })
    }

    /// Continues after an instant where the method cannot begin: a little further, or with free relations.
    pub(super) fn begin_freely(
        &mut self,
        model: &mut dyn HybridSystem,
        t: f64,
        error: SolveError,
    ) -> Result<(), HybridError> {
        match self.before_edge(model, error) {
            Err(error) if may_pass(&error) => self.free_relations(model, t, error),
            result => result,
        }
    }

    /// Frees all relations that may be free, and begins again at a time, with the state `y`.
    ///
    /// # Errors
    /// The failure, or an earlier one with the same reason, if no further relation can be freed.
    fn free_relations(&mut self, model: &mut dyn HybridSystem, t: f64, error: HybridError) -> Result<(), HybridError> {
        let first = self.free.first.take();
        let same = |(at, _): &(f64, HybridError)| t - at <= SAME * (t - self.span.0);
        let error = first.filter(same).map_or(error, |(_, first)| first);
        let motion = &self.modes.motion;
        let plain = self.adaptive && self.derived.are_none() && !motion.has_unknowns() && !motion.has_constraints();
        if !plain || !matches!(model.system().mass(), Mass::Identity) {
            return Err(error);
        }
        let m = model.relations().len();
        self.free.jumps.resize(m, false);
        let free: Vec<bool> = (0..m).map(|k| model.may_be_free(k) && !self.free.jumps[k]).collect();
        if !free.contains(&true) || free == model.free() || !model.set_free(&free) {
            return Err(error);
        }
        self.relax();
        self.restore_tolerances();
        let problem = Problem { t0: t, t_end: self.span.1, y0: self.y.clone() };
        let mut options = self.free.options.clone();
        options.rtol *= TIGHTER;
        options.atol.iter_mut().for_each(|atol| *atol *= TIGHTER);
        let begun = Runner::new(model.system(), self.free.method, &options).map_err(SolveError::from);
        let begun = begun.and_then(|mut runner| {
            runner.allow_retreat();
            runner.watch();
            runner.begin(model.system(), &problem).map(|()| runner)
        });
        let Ok(mut runner) = begun else { return Err(error) };
        runner.count_from(&self.runner);
        let located = std::mem::replace(&mut self.runner, runner);
        self.free.located.get_or_insert_with(|| Box::new(located));
        self.free.first = Some((t, error));
        self.neglected.forget();
        (self.crawling, self.growing, self.root_step, self.on_edge) = (0, None, None, Edge::None);
        for (offset, _) in self.modes.offsets.iter_mut().zip(&free).filter(|(_, free)| **free) {
            *offset = 0.0;
        }
        self.modes.evaluate_sides(model, t, &self.y).map_err(|cause| self.failure(cause, t))?;
        self.renew(model, t);
        Ok(())
    }

    /// Finds free relations that have changed in the last step, which began at `start`, and across whose surfaces f
    /// jumps. If there are any, they are free no longer, and the run is back at the start of the step.
    pub(super) fn jumps(&mut self, model: &mut dyn HybridSystem, start: f64) -> Result<bool, HybridError> {
        if model.free().is_empty() {
            return Ok(false);
        }
        let m = model.relations().len();
        let [mut before, mut after] = std::mem::take(&mut self.free.modes);
        before.resize(m, 0.0);
        after.resize(m, 0.0);
        model.free_modes(start, &self.start, &mut before);
        model.free_modes(self.runner.time(), self.runner.state(), &mut after);
        let changed: Vec<usize> = (0..m).filter(|k| model.free()[*k] && before[*k] != after[*k]).collect();
        let mut jumping = changed;
        jumping.retain(|k| self.jumps_at(model, start, (*k, before[*k])));
        let back = !jumping.is_empty() && self.runner.retreat();
        if back {
            let mut free = model.free().to_vec();
            for relation in jumping {
                free[relation] = false;
                self.free.jumps[relation] = true;
                model.modes_mut()[relation] = before[relation];
            }
            model.set_free(&free);
            self.y.copy_from_slice(self.runner.state());
            let evaluated = self.modes.evaluate_sides(model, start, &self.y);
            evaluated.map_err(|cause| self.failure(cause, start))?;
            self.runner.kink(model.system())?;
            self.renew(model, start);
        }
        self.free.modes = [before, after];
        Ok(back)
    }

    /// True if f does not become the same on both sides of the surface of a relation that the last step has crossed, the
    /// closer the points are to it. They lie on the straight line between the ends of the step. `before` is the mode of
    /// the relation at its start.
    fn jumps_at(&mut self, model: &dyn HybridSystem, start: f64, (relation, before): (usize, f64)) -> bool {
        let [_, mut here] = std::mem::take(&mut self.free.modes);
        here.resize(model.relations().len(), 0.0);
        let mut pairs = vec![[0.0, 1.0]];
        let mut last = f64::INFINITY;
        for bisection in 1..=BISECTIONS {
            let mut pair = pairs[pairs.len() - 1];
            let part = pair[0] + 0.5 * (pair[1] - pair[0]);
            let t = self.point_in_step(start, part);
            model.free_modes(t, &self.y, &mut here);
            pair[usize::from(here[relation] != before)] = part;
            pairs.push(pair);
            if bisection % COMPARED_AFTER == 0 {
                last = self.difference_of_f(model, start, pair);
                if last <= PART {
                    break;
                }
            }
        }
        self.free.modes[1] = here;
        last > PART && !self.vanishes(model, start, (relation, &pairs), last)
    }

    /// True if a difference of f, which is `last` for the last pair of points, falls with the distance of the points
    /// from the surface, at least like its power [`POWER`].
    fn vanishes(
        &mut self,
        model: &dyn HybridSystem,
        start: f64,
        (relation, pairs): (usize, &[[f64; 2]]),
        last: f64,
    ) -> bool {
        let nearest = self.distance_to(model, start, relation, pairs[pairs.len() - 1]);
        for pair in pairs.iter().rev() {
            let distance = self.distance_to(model, start, relation, *pair);
            if distance >= APART * nearest {
                let first = self.difference_of_f(model, start, *pair);
                return last <= first * (nearest / distance).powf(POWER);
            }
        }
        false
    }

    /// The larger |left - right| of a relation at two points on the last step.
    fn distance_to(&mut self, model: &dyn HybridSystem, start: f64, relation: usize, parts: [f64; 2]) -> f64 {
        let mut most = 0.0f64;
        for part in parts {
            let t = self.point_in_step(start, part);
            let known = model.sides(t, &self.y, &mut self.modes.left, &mut self.modes.right).is_ok();
            let distance = (self.modes.left[relation] - self.modes.right[relation]).abs();
            most = if known { most.max(distance) } else { f64::NAN };
        }
        most
    }

    /// Sets `y` to a point on the straight line between the ends of the last step, and returns its time.
    fn point_in_step(&mut self, start: f64, part: f64) -> f64 {
        for (y, ends) in self.y.iter_mut().zip(self.start.iter().zip(self.runner.state())) {
            *y = (1.0 - part) * ends.0 + part * ends.1;
        }
        start + part * (self.runner.time() - start)
    }

    /// The largest difference between f at two points on the last step, as a change of the states during the step or a
    /// part of the run, relative to their tolerances.
    fn difference_of_f(&mut self, model: &dyn HybridSystem, start: f64, parts: [f64; 2]) -> f64 {
        let [mut before, mut behind] = std::mem::take(&mut self.free.f);
        let mut known = true;
        for (f, part) in [&mut before, &mut behind].into_iter().zip(parts) {
            f.resize(self.y.len(), 0.0);
            let t = self.point_in_step(start, part);
            known &= model.system().rhs(t, &self.y, f).is_ok();
        }
        self.free.f = [before, behind];
        if known { self.compare_f(start, self.runner.time()) } else { f64::INFINITY }
    }

    /// The largest difference of the two values of f, as a change of the states in a step from `start` to `now` or in a
    /// part of the run, relative to their tolerances.
    fn compare_f(&self, start: f64, now: f64) -> f64 {
        let length = (now - start).max(SPAN * (self.supposed_end(now) - self.span.0));
        let [before, behind] = &self.free.f;
        let pairs = before.iter().zip(behind).zip(&self.y).enumerate();
        let parts = pairs.map(|(i, ((f, g), y))| (f - g).abs() * length / self.tolerances.asked(i, y.abs()));
        let most = parts.fold(0.0, |most: f64, part| if part > most || part.is_nan() { part } else { most });
        if most.is_finite() { most } else { f64::INFINITY }
    }

    /// Frees relations if steps are so short, because they end on surfaces or are repeated, that the run would need more
    /// of them than it may take.
    pub(super) fn free_crowding(&mut self, model: &mut dyn HybridSystem, landed: Option<usize>) {
        self.free.landed = landed.or(self.free.landed);
        let Some(relation) = self.free.landed else { return };
        let (t, attempts) = (self.runner.time(), self.attempts());
        if attempts < self.free.attempts + TROUBLE {
            return;
        }
        self.free.troubled += 1;
        if self.free.troubled < CROWD {
            return;
        }
        let (since, before) = std::mem::replace(&mut self.free.crowd, (t, attempts));
        self.free.troubled = 0;
        let each = (t - since) / (attempts - before) as f64;
        if self.span.1 - t > each * self.free.options.max_steps as f64 {
            self.y.copy_from_slice(self.runner.state());
            let error = self.failure(HybridCause::Chatter { events: Vec::new(), relations: vec![relation] }, t);
            self.fresh |= self.free_relations(model, t, error).is_ok();
        }
    }

    /// Notes that a step begins.
    pub(super) fn note_attempts(&mut self) {
        self.free.attempts = self.attempts();
    }

    fn attempts(&self) -> u64 {
        let stats = self.runner.stats();
        stats.accepted + stats.rejected + stats.failed
    }
}

/// True of failures that a run may avoid if it does not land on some surfaces.
fn may_pass(error: &HybridError) -> bool {
    match error {
        HybridError::Refused(_) => false,
        HybridError::Failed(failure) => matches!(
            failure.cause,
            Cause::NonFiniteRhs { .. }
                | Cause::Refused
                | Cause::NoSeries { .. }
                | Cause::NonFiniteJacobian { .. }
                | Cause::NonFiniteTimeDerivative { .. }
                | Cause::StepCollapsed { .. }
                | Cause::NewtonFailed { .. }
        ),
        HybridError::Hybrid(failure) => match &failure.cause {
            HybridCause::Chatter { events, .. } => events.is_empty(),
            HybridCause::Sliding { .. }
            | HybridCause::Inconsistent { .. }
            | HybridCause::Passed { .. }
            | HybridCause::NoSides
            | HybridCause::Pole { .. } => true,
            _ => false,
        },
    }
}
