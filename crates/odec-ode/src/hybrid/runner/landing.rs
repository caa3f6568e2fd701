//! Landings: repeats a step that passes a surface so that it ends on the surface.
//!
//! A landing uses the ends of real steps, not the dense output of one of them. Let u(h) be left - right at the end of
//! a step of length h, with the sign that makes it positive before the surface. A landing is a root of u. If steps
//! are accurate, Newton's method with the rate of left - right finds it in two or three steps. Otherwise secants find
//! it, in a bracket that is halved if they are too slow.

use super::edges::{has_no_derivative, has_no_value};
use super::{Attempted, HybridRunner, SHORTEST};
use crate::hybrid::locate::{Crossing, Step};
use crate::hybrid::modes::{Landed, Place};
use crate::hybrid::outcome::{HybridCause, HybridError};
use crate::hybrid::stops::resolution;
use crate::hybrid::system::HybridSystem;
use crate::runner::StepRequest;

/// Largest number of steps for one landing; a bracket may have to be halved down to rounding.
const LANDINGS: u32 = 100;
/// A bracket is bisected if it has not halved in this number of steps.
const SLOW: u32 = 3;
/// Largest number of steps towards a surface that none of them reaches: left - right may decay, and never arrive.
const CHASE: u32 = 24;
/// Accuracy of a landing, in units of time resolution.
const EXACT: f64 = 0.25;
/// The rate is trusted if it reduces u to this fraction.
const NEARER: f64 = 0.1;
/// A shorter step that ends before the surface is accepted if it has at least this fraction of the previous length.
const PART: f64 = 0.1;
/// If the dense output of a step leads to a surface from which the motion goes away, the step is repeated with this
/// fraction of its length.
const SHORTER: f64 = 0.25;
/// Largest number of times that one step is examined while it gets shorter.
const MAX_SEARCHES: u32 = 8;
/// After this number of successive shortened steps that did not reach a surface, the run makes no progress.
const MAX_SHORTENED_STEPS: u32 = 1_000;
/// A run that is beyond a surface by more than this multiple of the tolerances, without having landed on it, is wrong.
const LOST: f64 = 10.0;

/// The result of a landing.
enum Landing {
    There(Landed),
    /// A shorter step, which must be examined.
    Shorter,
    /// The surface lies beyond the end of the step.
    Beyond,
}

/// Bracket of the root of u: the ends of steps before and beyond the surface, with the values of u there.
struct Bracket {
    before: (f64, f64),
    behind: Option<(f64, f64)>,
    /// The end examined last.
    last: (f64, f64),
    /// The end of the first step.
    end: f64,
    /// Evaluations since the bracket last halved, and its length then.
    slow: (u32, f64),
}

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Next {
    /// The surface is at the last end.
    Here,
    /// The surface is where the step began, within the shortest step.
    AtStart,
    /// Take a step to this time.
    To(f64),
    /// There is no surface before the end of the step.
    Nowhere,
}

impl Bracket {
    /// Begins with u at the start and at the end of a step.
    fn new(start: (f64, f64), end: (f64, f64)) -> Self {
        let behind = (end.1 < 0.0).then_some(end);
        Bracket { before: start, behind, last: start, end: end.0, slow: (0, end.0 - start.0) }
    }

    /// Adds u at the end of a step, with its rate.
    fn learn(&mut self, t: f64, u: f64, rate: Option<f64>) -> Next {
        let (from, before) = std::mem::replace(&mut self.last, (t, u));
        if u > 0.0 {
            self.before = (t, u);
        } else {
            self.behind = Some((t, u));
        }
        let falling = |slope: &f64| *slope < 0.0;
        let (secant, rate) = (Some((u - before) / (t - from)).filter(falling), rate.filter(falling));
        // the rate is only as accurate as the step
        let trusted = self.slow.0 == 0 || u.abs() <= NEARER * before.abs();
        let slope = if trusted { rate.or(secant) } else { secant.or(rate) };
        let guess = slope.map(|slope| t - u / slope);
        let close = rate.is_some_and(|rate| (u / rate).abs() <= EXACT * resolution(t));
        // near t = 0, the run has left the surface as the step began, and the shortest step has come back to it
        let (start, zero) = self.before;
        let shortest = 2.0 * f64::EPSILON * (self.end - start);
        let near_zero = SHORTEST * resolution(start) < shortest && t - start <= shortest;
        if near_zero && zero == 0.0 && u < 0.0 && guess.is_some_and(|guess| guess <= start) {
            return Next::AtStart;
        }
        if u == 0.0 || close || guess == Some(t) {
            return Next::Here;
        }
        let Some((behind, _)) = self.behind else {
            self.slow.0 += 1;
            let chases = self.slow.0 <= CHASE;
            return guess.filter(|guess| chases && *guess < self.end).map_or(Next::Nowhere, Next::To);
        };
        let length = behind - self.before.0;
        self.slow = if length <= 0.5 * self.slow.1 { (1, length) } else { (self.slow.0 + 1, self.slow.1) };
        let inside = |t: &f64| *t > self.before.0 && *t < behind;
        let guess = guess.filter(|_| self.slow.0 <= SLOW).filter(inside);
        match guess.or(Some(self.before.0 + 0.5 * length)).filter(inside) {
            Some(next) => Next::To(next),
            None if self.nearest() == t => Next::Here,
            None => Next::To(self.nearest()),
        }
    }

    /// The end of the bracket that is closer to the surface.
    fn nearest(&self) -> f64 {
        self.behind.filter(|(_, u)| u.abs() <= self.before.1.abs()).unwrap_or(self.before).0
    }
}

impl HybridRunner {
    /// Searches for relations that change within the last step, and lands on the first one.
    pub(super) fn cross(
        &mut self,
        model: &mut dyn HybridSystem,
        start: f64,
        request: StepRequest,
    ) -> Result<Option<Landed>, HybridError> {
        let mut last = None;
        for _ in 0..MAX_SEARCHES {
            let mut step = Step { model: &*model, runner: &mut self.runner, t: start, y: &self.start };
            let found = self.locator.first(&mut step)?;
            let Some(crossing) = found.map_or_else(|| self.contradicted(model), |found| Ok(Some(found)))? else {
                self.crawling = 0;
                return Ok(None);
            };
            let Some(crossing) = self.neglect(model, crossing, start)? else {
                self.crawling = 0;
                return Ok(None);
            };
            last = Some(crossing.relation);
            if self.wrong_side(model, crossing, start)? {
                self.crawling = 0;
                return Ok(None);
            }
            let crosses_slowly = self.crosses_slowly(model, crossing.relation, start);
            match self.land(model, crossing, start, request)? {
                Landing::There(landed) => {
                    self.doubtful.landing = crosses_slowly.or_else(|| self.turns_back(model, landed, start));
                    return Ok(Some(landed));
                }
                Landing::Shorter => {}
                Landing::Beyond => return self.beyond(crossing.relation, start),
            }
        }
        // the step has not reached a surface, but may have passed one
        let t = self.runner.time();
        self.reach(model);
        let evaluated = self.modes.evaluate_sides(model, t, &self.y);
        evaluated.map_err(|cause| self.failure(cause, t))?;
        self.crawling += 1;
        if let Some(relation) = last {
            self.stuck_at_pole(model, relation, start)?;
        }
        if self.crawling == MAX_SHORTENED_STEPS {
            return Err(
                self.failure(HybridCause::Chatter { events: Vec::new(), relations: last.into_iter().collect() }, t)
            );
        }
        let passed = last.filter(|relation| self.modes.contradicts(model, *relation));
        if passed.is_some() {
            self.lost(model)?;
        }
        Ok(passed.map(|relation| Landed { relation, separation: 0.0 }))
    }

    /// True if a step from a surface ends on the wrong side by less than the tolerances and the motion leads back. The
    /// errors of the method are then larger than the movement. Until the relation is back, its surface moves to its
    /// current value.
    fn wrong_side(&mut self, model: &dyn HybridSystem, crossing: Crossing, start: f64) -> Result<bool, HybridError> {
        let Crossing { relation, t } = crossing;
        let end = self.runner.time();
        if t > start + f64::EPSILON * (end - start) {
            return Ok(false);
        }
        self.y.copy_from_slice(self.runner.state());
        let place = Place { t: end, y: &self.y, scale: end - start };
        let measured = self.modes.measure(model, &self.locator, place, relation);
        let (g, rate) = measured.map_err(|cause| self.failure(cause, end))?;
        let back = rate.is_some_and(|rate| (rate > 0.0) == (model.modes()[relation] != 0.0) && rate != 0.0);
        if !back || (g > 0.0) == (model.modes()[relation] != 0.0) {
            return Ok(false);
        }
        let weight = |i: usize| self.tolerances.scale(i, self.y[i].abs());
        if g.abs() > self.locator.gradient(model, (end, &self.y), relation, weight) {
            return Ok(false);
        }
        self.modes.displace(relation);
        self.renew(model, end);
        Ok(true)
    }

    /// A relation that may have changed in the last step and has the wrong sign at its end, without a known root.
    pub(super) fn contradicted(&mut self, model: &dyn HybridSystem) -> Result<Option<Crossing>, HybridError> {
        if self.locator.suspects().is_empty() {
            return Ok(None);
        }
        let t = self.runner.time();
        self.reach(model);
        let evaluated = self.modes.evaluate_sides(model, t, &self.y);
        evaluated.map_err(|cause| self.failure(cause, t))?;
        let wrong = |relation: &usize| self.modes.contradicts(model, *relation) && self.modes.distance(*relation) > 0.0;
        Ok(self.locator.suspects().iter().copied().find(wrong).map(|relation| Crossing { relation, t }))
    }

    /// Returns an error if the run is beyond a surface on which it has not landed: its results would be wrong.
    pub(super) fn lost(&mut self, model: &dyn HybridSystem) -> Result<(), HybridError> {
        let t = self.runner.time();
        if self.modes.evaluate_sides(model, t, self.runner.state()).is_err() {
            return Ok(());
        }
        for relation in 0..model.relations().len() {
            if !self.modes.contradicts(model, relation) || !self.locator.watches(relation) {
                continue;
            }
            let y = self.runner.state();
            let weight = |i: usize| LOST * self.tolerances.asked(i, y[i].abs());
            // if the motion touches the surface, the gradient is useless; the sides are known to the tolerance
            let sides = LOST * self.tolerances.rtol * self.modes.size(relation);
            let tolerance = self.locator.gradient(model, (t, y), relation, weight).max(sides);
            if self.modes.distance(relation) > tolerance {
                return Err(self.failure(HybridCause::Passed { relation }, t));
            }
        }
        Ok(())
    }

    /// Goes back to the start of the step and makes it end on a surface.
    fn land(
        &mut self,
        model: &dyn HybridSystem,
        crossing: Crossing,
        start: f64,
        request: StepRequest,
    ) -> Result<Landing, HybridError> {
        let (relation, end) = (crossing.relation, self.runner.time());
        let sign = if model.modes()[relation] == 0.0 { -1.0 } else { 1.0 };
        // if the sides have no value, the surface has been passed
        self.reach(model);
        let u_end = self.modes.difference_at(model, (end, &self.y), relation).map_or(-f64::MAX, |g| sign * g);
        let u_start = self.modes.difference_at(model, (start, &self.start), relation).map_or(0.0, |g| sign * g);
        let mut bracket = Bracket::new((start, u_start.max(0.0)), (end, u_end));
        // near t = 0, the time resolution is finer than the shortest step
        let least = (SHORTEST * resolution(start)).max(f64::EPSILON * (end - start));
        let mut target = crossing.t.clamp((start + least).min(end), end);
        for _ in 0..LANDINGS {
            if target != self.runner.time() {
                if !self.runner.retreat() {
                    break;
                }
                if let Err(error) = self.runner.advance(model.system(), StepRequest { stop: Some(target), ..request }) {
                    return self.edge(model, false).map(Landing::There).ok_or_else(|| error.into());
                }
                if self.runner.time() != target {
                    return Ok(Landing::Shorter);
                }
            }
            self.reach(model);
            let place = Place { t: target, y: &self.y, scale: target - start };
            let measured = self.modes.measure(model, &self.locator, place, relation);
            let (g, rate) = measured.map_err(|cause| self.failure(cause, target))?;
            let (u, rate) = (sign * g, rate.map(|rate| sign * rate));
            match bracket.learn(target, u, rate) {
                Next::To(next) => target = next,
                Next::AtStart => return Ok(Landing::There(Landed { relation, separation: target - start })),
                // the motion leads away from the surface, so the dense output was wrong
                _ if rate.is_some_and(|rate| rate > 0.0) => {
                    self.no_pole(relation, bracket.before, bracket.behind, [u_start, u_end])?;
                    return self.shorten(model, start, end, request);
                }
                Next::Here => {
                    let late = rate.filter(|rate| *rate != 0.0).map_or(0.0, |rate| u / rate);
                    self.shift = (late != 0.0 && late.abs() <= resolution(target)).then_some(-late);
                    if late.abs() > SHORTEST * resolution(target) {
                        self.lost(model)?;
                    }
                    return Ok(Landing::There(Landed { relation, separation: late.abs() }));
                }
                Next::Nowhere if target == end => return Ok(Landing::Beyond),
                Next::Nowhere if target - start >= PART * (end - start) => return Ok(Landing::Shorter),
                Next::Nowhere => {
                    return self.again(model, end, request);
                }
            }
        }
        Ok(Landing::Shorter)
    }

    /// Sets `y` to the current state, moved along the motion onto the surface on which the step has landed. The
    /// distance is below the time resolution. The rest of the way is rounding.
    pub(super) fn arrive(&mut self, model: &dyn HybridSystem, landed: Option<Landed>) -> Result<(), HybridError> {
        self.y.copy_from_slice(self.runner.state());
        if let (Some(shift), Some(_)) = (self.shift.take(), landed) {
            for (y, slope) in self.y.iter_mut().zip(self.modes.slope()) {
                *y += shift * slope;
            }
        }
        let t = self.runner.time();
        if let Some(Landed { relation, .. }) = landed {
            self.move_onto_surface(model, t, relation);
        }
        let refined = self.modes.motion.refine(model, t, &mut self.y);
        refined.map_err(|cause| self.failure(cause, t))
    }

    /// Sets `y` to the current state. A step computes algebraic unknowns only to its tolerance, so they are solved for
    /// again if possible; beyond a surface they need not have values.
    fn reach(&mut self, model: &dyn HybridSystem) {
        self.y.copy_from_slice(self.runner.state());
        let _ = self.modes.motion.refine(model, self.runner.time(), &mut self.y);
    }

    /// Shortens a constant step that has no value because f ends at a surface, until it has one. So constant steps
    /// approach the surface like steps with error control.
    pub(super) fn approach(&mut self, model: &dyn HybridSystem, made: &mut Attempted) {
        if self.adaptive || model.relations().is_empty() {
            return;
        }
        let mut length = self.runner.tried();
        while let Err(error) = &made.reached
            && (has_no_value(error) || has_no_derivative(error))
        {
            made.failed = true;
            length *= 0.5;
            let stop = made.from + length;
            if !(stop > made.from + SHORTEST * resolution(made.from)) {
                return;
            }
            made.keeps_modes = false;
            made.reached = self.runner.advance(model.system(), StepRequest { stop: Some(stop), ..made.request });
        }
    }

    /// Repeats the earlier step to `end`.
    fn again(&mut self, model: &dyn HybridSystem, end: f64, request: StepRequest) -> Result<Landing, HybridError> {
        if self.runner.retreat() {
            self.runner.advance(model.system(), StepRequest { stop: Some(end), ..request })?;
        }
        Ok(if self.runner.time() == end { Landing::Beyond } else { Landing::Shorter })
    }

    /// Takes a shorter step than the one that ended at `end`.
    fn shorten(
        &mut self,
        model: &dyn HybridSystem,
        start: f64,
        end: f64,
        request: StepRequest,
    ) -> Result<Landing, HybridError> {
        let stop = start + SHORTER * (end - start);
        if stop < start + SHORTEST * resolution(start) || !self.runner.retreat() {
            return Ok(Landing::Beyond);
        }
        self.runner.advance(model.system(), StepRequest { stop: Some(stop), ..request })?;
        Ok(Landing::Shorter)
    }
}

#[cfg(test)]
mod tests {
    use super::{Bracket, LANDINGS, Next};

    /// The result of a landing on u, with the number of evaluations.
    fn landing(u: impl Fn(f64) -> f64, rate: impl Fn(f64) -> Option<f64>, first: f64) -> (Next, f64, u32) {
        let mut bracket = Bracket::new((0.0, u(0.0)), (1.0, u(1.0)));
        let mut t = first;
        for looks in 1..=LANDINGS {
            match bracket.learn(t, u(t), rate(t)) {
                Next::To(next) => t = next,
                other => return (other, t, looks),
            }
        }
        panic!("no end at {t}");
    }

    #[test]
    fn exact_rates_take_few_steps() {
        for root in [1e-9, 0.1, 0.5, 0.999_999] {
            let u = |t: f64| (root - t) * (1.0 + 0.3 * t);
            let rate = |t: f64| Some(0.3 * (root - t) - 1.0 - 0.3 * t);
            let (next, t, looks) = landing(u, rate, root + 1e-7);
            assert!(next == Next::Here && (t - root).abs() <= 1e-15 * root && looks <= 4, "{root}: {t} {looks}");
        }
    }

    #[test]
    fn wrong_or_unknown_rates_are_made_up_for() {
        // these rates belong to f, not to the ends of steps, which are inaccurate
        for wrong in [0.2, 0.5, 3.0, 100.0, -1.0] {
            for root in [1e-6, 0.3, 0.9] {
                let u = |t: f64| root * root - t * t;
                for rate in [Some(wrong), None] {
                    let (next, t, looks) = landing(u, |t| rate.map(|rate| -2.0 * rate * t), 0.5 * root);
                    // the rate determines what counts as rounding
                    let found = next == Next::Here && (t - root).abs() <= 2e-16 * wrong.max(1.0);
                    assert!(found && looks <= 30, "{wrong}, {root}: {next:?} {t} {looks}");
                }
            }
        }
    }

    #[test]
    fn a_jump_of_u_is_closed_in_on() {
        let u = |t: f64| if t < 0.37 { 1e-3 } else { -2e-3 };
        let (next, t, looks) = landing(u, |_| Some(-1.0), 0.1);
        assert!(next == Next::Here && t < 0.37 && 0.37 - t < 1e-15 && looks < LANDINGS, "{t} {looks}");
    }

    #[test]
    fn a_surface_that_is_not_reached_has_no_landing() {
        assert_eq!(landing(|t| 2.0 - t, |_| Some(-1.0), 0.4).0, Next::Nowhere);
        assert_eq!(landing(|t| 0.1 + (t - 0.5).powi(2), |t| Some(2.0 * (t - 0.5)), 0.51).0, Next::Nowhere);
    }
}
