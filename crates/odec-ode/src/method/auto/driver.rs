//! Steps with one of two methods, and switches between them: away from the explicit one if stability limits it step
//! after step, and back if the explicit method could take the steps of the implicit one.
//!
//! The explicit method estimates from its stages how close the step is to the stability limit (Hairer & Wanner II,
//! section IV.2). During the implicit method, the driver estimates the spectral radius. After a switch that did not
//! last, the next one of its kind needs more evidence.

mod integrator;
mod seeds;
mod signs;
mod undo;

use self::seeds::Seeds;
use self::signs::Signs;
use self::undo::UndoState;
use super::decay::Decay;
use super::history::{ChoiceReason, KEPT, Leg};
use super::limits::bounds;
use super::spectral::{Growth, MEAN, Spectral};
use super::{algebraic, runge_kutta, tolerance_fractions, working_options};
use crate::control::{Tolerances, weighted_norm};
use crate::evaluator::Evaluator;
use crate::integrator::Integrator;
use crate::method::{Family, Method, Setup, taylor};
use crate::problem::Refusal;

/// Number of stiff steps, which stability limits, after which a problem counts as stiff. After this many nonstiff
/// steps in between the count starts again.
const STIFF_STEPS: u32 = 12;
const NONSTIFF_STEPS: u32 = 6;
/// The smaller number of stiff steps if the decay is lasting: an implicit method then finishes sooner, unless the
/// decay ends. After a leg that did not pay, `STIFF_STEPS` applies again, and also for an explicit method above this
/// order with a Rosenbrock method: at its tolerances, accuracy limits the steps of both.
const EARLY_SWITCH_STEPS: u32 = 3;
const EARLY_SWITCH_ORDER: u32 = 7;
/// Decay is lasting if the explicit method would need more stable steps than this for the rest of the run.
const LASTING_STABLE_STEPS: f64 = 200.0;
/// The explicit method continues if the rest of the run takes at most this many stable steps. This costs next to
/// nothing, and it preserves the digits of a state that has decayed below its absolute tolerance and grows again (an
/// epidemic after a quiet season; decision 0018).
const FEW_STABLE_STEPS: f64 = 300.0;
/// With an explicit method of at most order `EARLY_SWITCH_ORDER`, a Rosenbrock method with cheap steps starts at once
/// if the decay would need more stable steps than this times rtol^(-1/5), about as many as the Rosenbrock method takes
/// (decision 0016). This is checked at the start and after 2 and 4 steps: later, a large rate may belong to an
/// oscillating solution, or end soon, as for a square root near 0.
const IMMEDIATE_SWITCH: f64 = 4.0;
const EARLY_CHECKS: [u64; 2] = [2, 4];
/// Number of steps of an implicit method after which its choice at the start was right.
const STEPS_OF_RIGHT_CHOICE: u64 = 30;
/// The count also starts again if the step size has since grown by this factor.
const GROWING: f64 = 1.2;
/// A stiff step because of an oscillation counts less by this factor: an implicit method cannot follow an oscillation
/// with longer steps, unless its amplitude is negligible.
const DECAY_WEIGHT: u32 = 4;
/// Number of steps of the explicit method between two estimates of the spectral radius: if errors are close to
/// rounding, the stages show little.
const RADIUS_INTERVAL: u64 = 50;
/// Number of consecutive failures of the explicit method after which the implicit one takes over.
const MAX_FAILURES: u32 = 3;
/// Work in evaluations of f: of a linear solve, and of a matrix with its factors; number of Newton iterations.
const SOLVE: f64 = 1.5;
const MATRIX: f64 = 5.0;
const ITERATIONS: f64 = 3.0;
/// The implicit method continues while its steps are worth this fraction of their work.
const STAY_FRACTION: f64 = 0.75;
/// Number of consecutive estimates of the spectral radius without stiffness that a switch needs.
const NONSTIFF_CHECKS: u32 = 4;
/// Number of steps of the explicit method between two checks of its stages, while no step is stiff.
const STAGE_CHECK_INTERVAL: u64 = 4;
/// Number of steps between two checks: while the problem is stiff, and while it is nearly nonstiff.
const CHECK_INTERVAL: u32 = 8;
/// Largest number of steps between two checks while fast decay requires a multistep method: the interval doubles each
/// time.
const LONG_CHECK_INTERVAL: u32 = 64;
const SHORT_CHECK_INTERVAL: u32 = 2;
/// Number of steps that a multistep method needs to reach its order and step size.
const MULTISTEP_START: u64 = 40;
/// Largest factor on the evidence that a switch needs.
const MAX_EVIDENCE_FACTOR: u32 = 256;
/// Increase of that factor after a leg that did not pay.
const EVIDENCE_INCREASE: u32 = 4;
/// First step of the explicit method, as a fraction of its largest stable step.
const FIRST_STEP: f64 = 0.7;
/// Fraction of the tolerance that the first step of a multistep method of order 1 may use.
const FIRST_ORDER: f64 = 0.25;

/// The explicit or the implicit method.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Explicit,
    Implicit,
}

/// A second explicit method, with its limits.
struct Backup {
    integrator: Box<dyn Integrator>,
    name: &'static str,
    stiff_above: f64,
    limit: f64,
    /// True if the second method is in use; this struct then holds the first one.
    in_use: bool,
}

/// Work of a step of an implicit method in evaluations of f, and the smallest number of steps in a leg.
fn implicit_work(method: &Method) -> (f64, u64) {
    let stages = f64::from(method.stages);
    match method.family {
        Family::Rosenbrock(_) => (stages * (1.0 + SOLVE) + MATRIX, 10),
        Family::ImplicitRungeKutta(_) => (ITERATIONS * stages * (1.0 + 2.0 * SOLVE) + 5.0 * MATRIX, 10),
        _ => (0.5 * (3.0 * (1.0 + SOLVE) + MATRIX), MULTISTEP_START),
    }
}

/// Work of a step of an explicit method in evaluations of f, for `n` states.
fn explicit_work(method: &Method, rtol: f64, n: usize) -> f64 {
    let series = matches!(method.family, Family::Taylor);
    f64::from(if series { taylor::order_for(rtol, n) } else { method.stages })
}

/// The two methods and the evidence for a switch.
pub struct Auto {
    explicit: Option<Box<dyn Integrator>>,
    /// Replaces the Taylor method if the solution has no Taylor series (the root of a state that is 0).
    spare: Option<Backup>,
    implicit: Box<dyn Integrator>,
    stiff: &'static Method,
    names: [Option<&'static str>; 2],
    spectral: Option<Spectral>,
    /// Present if a step of the implicit method costs little more than a step of the explicit one.
    decay: Option<Decay>,
    /// The implicit method starts at once if the rest of the run would need more stable steps than this.
    immediate_switch_steps: f64,
    tolerances: Tolerances,
    /// Values of h*lambda on the negative real axis: above the first a step counts as stiff, the second is the limit.
    stiff_above: f64,
    limit: f64,
    /// The implicit method continues for `min_leg` steps, and while h times the spectral radius exceeds this multiple
    /// of the limit.
    stay_ratio: f64,
    min_leg: u64,
    multistep: bool,
    /// True if a few stiff steps are enough for a switch when the decay is lasting: at the start of the run, and now.
    early_switch_at_start: bool,
    early_switch_allowed: bool,
    /// True if this leg started after a few stiff steps.
    switched_early: bool,
    t_end: f64,
    started: bool,
    active: Side,
    /// The method that made the last step.
    last_side: Side,
    /// Number of steps in this leg.
    leg: u64,
    /// The step size when the count of stiff steps started; in an implicit leg that started early,
    /// the step size when growth was last seen.
    growth_reference: f64,
    /// True if by the last estimate of the spectral radius the step was stiff.
    stiff_by_radius: bool,
    /// Numbers of stiff and nonstiff steps, failures, checks without stiffness, and steps to the next check.
    stiff_steps: u32,
    nonstiff_steps: u32,
    failures: u32,
    nonstiff_checks: u32,
    until_check: u32,
    /// Number of steps of this run that failed because the solution has no Taylor series. Shorter steps between them
    /// may succeed: a step towards a stop at the zero of a root fails only at its end.
    without_series: u32,
    /// Number of steps between the last two checks.
    check_interval: u32,
    /// Start of this leg; the last step of the other method before it; the last step.
    leg_start: f64,
    step_before_leg: f64,
    last_step: f64,
    /// Work of an implicit step, in explicit steps.
    work_ratio: f64,
    /// Factors on the evidence for a switch away from the explicit and away from the implicit method.
    evidence_factor: [u32; 2],
    y: Vec<f64>,
    weights: Vec<f64>,
    signs: Signs,
    seeds: Seeds,
    /// Fractions of the absolute tolerances that the two methods use.
    tolerance_fractions: [f64; 2],
    history: Record,
    /// The evidence before the last step, if the step can be undone.
    undo: Option<UndoState>,
}

/// The data of a history, stored without allocation.
struct Record {
    legs: [Leg; KEPT],
    known: usize,
    switches: u64,
    steps: [u64; 2],
    replaced: Option<(&'static str, u64)>,
}

impl Record {
    const NONE: Self = Record {
        legs: [Leg { t: 0.0, method: "", why: ChoiceReason::NotStiff }; KEPT],
        known: 0,
        switches: 0,
        steps: [0; 2],
        replaced: None,
    };
}

impl Auto {
    /// Builds both integrators; without the explicit one if equations without a derivative exclude it.
    pub fn new(
        setup: &Setup<'_>,
        explicit: Option<&'static Method>,
        implicit: &'static Method,
    ) -> Result<Self, Refusal> {
        let n = setup.system.shape().n;
        let tolerances = Tolerances::new(setup.options, n);
        let with = |method: &'static Method| {
            (method.build)(&Setup { method, options: &working_options(setup.options, method), ..*setup })
        };
        let rtol = |method: &Method| working_options(setup.options, method).rtol;
        let part = |method: &Method| tolerance_fractions(setup.options, method).1;
        let (mut integrator, mut spectral) = (None, None);
        let (mut limit, mut stiff_above) = (1.0, 1.0);
        let mut spare = None;
        if let Some(method) = explicit.filter(|_| !algebraic(setup.system)) {
            match (with(method), Spectral::new(setup.system, tolerances.clone())) {
                (Ok(built), Ok(radius)) => (integrator, spectral) = (Some(built), Some(radius)),
                (Err(Refusal::SingularMass { .. }), _) | (_, Err(Refusal::SingularMass { .. })) => {}
                (Err(refusal), _) | (_, Err(refusal)) => return Err(refusal),
            }
            (stiff_above, limit) = bounds(method, rtol(method), n);
            if matches!(method.family, Family::Taylor) {
                let other = runge_kutta(setup.options.rtol);
                let (stiff_above, limit) = bounds(other, rtol(other), n);
                spare = Some(Backup { integrator: with(other)?, name: other.name, stiff_above, limit, in_use: false });
            }
        }
        // A step of the implicit method must be this much longer than a stable explicit step to be worth its work; in
        // doubt, the method stays.
        let own = explicit.map_or(1.0, |method| explicit_work(method, setup.options.rtol, n));
        let (work, min_leg) = implicit_work(implicit);
        let stay_ratio = STAY_FRACTION * work / own;
        let early_switch_at_start =
            min_leg == MULTISTEP_START || explicit.is_some_and(|method| method.order <= EARLY_SWITCH_ORDER);
        let cheap = early_switch_at_start && explicit.is_some() && matches!(implicit.family, Family::Rosenbrock(_));
        let mut auto = Auto {
            names: [integrator.as_ref().and(explicit).map(|m| m.name), Some(implicit.name)],
            active: Side::Implicit,
            last_side: Side::Implicit,
            explicit: integrator,
            spare,
            implicit: with(implicit)?,
            stiff: implicit,
            spectral,
            decay: if cheap { Decay::new(setup.system) } else { None },
            immediate_switch_steps: IMMEDIATE_SWITCH * rtol(implicit).powf(-0.2),
            signs: Signs::new(setup.system, &tolerances.atol),
            tolerances,
            stiff_above,
            limit,
            stay_ratio,
            min_leg,
            multistep: min_leg == MULTISTEP_START,
            early_switch_at_start,
            early_switch_allowed: false,
            switched_early: false,
            t_end: f64::INFINITY,
            started: false,
            leg: 0,
            growth_reference: 0.0,
            stiff_by_radius: false,
            stiff_steps: 0,
            nonstiff_steps: 0,
            failures: 0,
            without_series: 0,
            nonstiff_checks: 0,
            until_check: 1,
            check_interval: 1,
            leg_start: 0.0,
            step_before_leg: 1.0,
            last_step: 1.0,
            work_ratio: work / own,
            evidence_factor: [1, 1],
            y: vec![0.0; n],
            weights: vec![0.0; n],
            seeds: Seeds::new(setup.options, n),
            // all explicit methods use the same fraction
            tolerance_fractions: [explicit.map_or(1.0, part), part(implicit)],
            history: Record::NONE,
            undo: None,
        };
        auto.begin();
        Ok(auto)
    }

    /// Exchanges the explicit method and the spare one.
    fn swap_explicit(&mut self) {
        let (Some(spare), Some(explicit), [Some(name), _]) = (&mut self.spare, &mut self.explicit, &mut self.names)
        else {
            return;
        };
        std::mem::swap(&mut spare.integrator, explicit);
        std::mem::swap(&mut spare.name, name);
        std::mem::swap(&mut spare.stiff_above, &mut self.stiff_above);
        std::mem::swap(&mut spare.limit, &mut self.limit);
        spare.in_use = !spare.in_use;
    }

    /// Continues from the current state with the spare explicit method; false if there is none, or if it fails as
    /// well.
    fn switch_to_spare(&mut self, eval: &mut Evaluator<'_>) -> bool {
        let Some(explicit) = self.explicit.as_ref().filter(|_| self.active == Side::Explicit) else { return false };
        let t = explicit.time();
        self.y.copy_from_slice(explicit.state());
        self.switch_to_spare_at(eval, t)
    }

    /// Continues from the state in `y` with the spare explicit method.
    fn switch_to_spare_at(&mut self, eval: &mut Evaluator<'_>, t: f64) -> bool {
        if self.active != Side::Explicit || self.spare.as_ref().is_none_or(|spare| spare.in_use) {
            return false;
        }
        self.swap_explicit();
        let set = self.explicit.as_mut().is_some_and(|explicit| explicit.set(eval, t, &self.y).is_ok());
        if !set {
            self.swap_explicit();
            return false;
        }
        self.reset_counts();
        let steps = self.history.steps[Side::Explicit as usize];
        self.history.replaced = self.spare.as_ref().map(|spare| (spare.name, steps));
        self.history.switches += 1;
        self.record_leg(t, Side::Explicit, ChoiceReason::Failing);
        true
    }

    /// Resets the evidence for a new run.
    fn begin(&mut self) {
        if self.spare.as_ref().is_some_and(|spare| spare.in_use) {
            self.swap_explicit();
        }
        let side = if self.explicit.is_some() { Side::Explicit } else { Side::Implicit };
        (self.active, self.last_side) = (side, side);
        (self.started, self.leg, self.growth_reference, self.stiff_by_radius) = (false, 0, 0.0, false);
        (
            self.stiff_steps,
            self.nonstiff_steps,
            self.failures,
            self.nonstiff_checks,
            self.until_check,
            self.check_interval,
        ) = (0, 0, 0, 0, 1, 1);
        (self.leg_start, self.step_before_leg, self.last_step) = (0.0, 1.0, 1.0);
        (self.evidence_factor, self.early_switch_allowed, self.switched_early) =
            ([1, 1], self.early_switch_at_start, false);
        (self.history, self.undo) = (Record::NONE, None);
        self.without_series = 0;
    }

    fn side(&self, side: Side) -> &dyn Integrator {
        match (side, &self.explicit) {
            (Side::Explicit, Some(explicit)) => explicit.as_ref(),
            _ => self.implicit.as_ref(),
        }
    }

    fn side_mut(&mut self, side: Side) -> &mut dyn Integrator {
        match (side, &mut self.explicit) {
            (Side::Explicit, Some(explicit)) => explicit.as_mut(),
            _ => self.implicit.as_mut(),
        }
    }

    fn active(&mut self) -> &mut dyn Integrator {
        self.side_mut(self.active)
    }

    /// Resets the counts of steps; there is no last step.
    fn reset_counts(&mut self) {
        (self.leg, self.stiff_steps, self.nonstiff_steps, self.failures, self.nonstiff_checks) = (0, 0, 0, 0, 0);
        (self.until_check, self.check_interval, self.last_side, self.undo) = (1, 1, self.active, None);
    }

    fn record_leg(&mut self, t: f64, side: Side, why: ChoiceReason) {
        let method = self.names[side as usize].expect("a method on the side that is taken");
        if let Some(leg) = self.history.legs.get_mut(self.history.known) {
            *leg = Leg { t, method, why };
            self.history.known += 1;
        }
    }

    /// True if an implicit step costs little, and the fastest decay requires many explicit steps for the rest of the
    /// run.
    fn decays_fast(&mut self, eval: &mut Evaluator<'_>) -> bool {
        let (Some(decay), Some(explicit)) = (&mut self.decay, &self.explicit) else { return false };
        let left = self.t_end - explicit.time();
        decay.rate(eval, explicit.time(), explicit.state(), left) * left.abs()
            > self.immediate_switch_steps * self.limit
    }

    /// True if the problem is stiff at the start: the solution is on a slow manifold if the first step that an
    /// explicit method would try, h = 0.01 |y|/|y'|, exceeds its stability limit.
    fn stiff_at_start(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> bool {
        let Some(spectral) = &mut self.spectral else { return false };
        spectral.restart(y);
        let mut growth = None;
        for _ in 0..MEAN {
            growth = spectral.step(eval, t, y);
        }
        let Some(growth) = growth else { return false };
        self.tolerances.weights(y, &mut self.weights);
        let size = weighted_norm(y, &self.weights).max(1.0);
        let speed = weighted_norm(spectral.slope(), &self.weights);
        let slow = 0.01 * size * growth.radius > self.limit * speed;
        self.decay_lasts(growth, t) && (slow || self.multistep)
    }

    /// True if the fastest component of the solution decays, and would limit the explicit method for long.
    fn decay_lasts(&self, growth: Growth, t: f64) -> bool {
        growth.along < -0.8 * growth.radius
            && growth.radius * (self.t_end - t).abs() > LASTING_STABLE_STEPS * self.limit
    }

    /// Switches to the other method at the current state; false if it fails there.
    fn switch(&mut self, eval: &mut Evaluator<'_>, why: ChoiceReason) -> bool {
        let t = self.time();
        let to = if self.active == Side::Explicit { Side::Implicit } else { Side::Explicit };
        self.y.copy_from_slice(match (self.active, &self.explicit) {
            (Side::Explicit, Some(explicit)) => explicit.state(),
            _ => self.implicit.state(),
        });
        let set = match (to, &mut self.explicit) {
            (Side::Explicit, Some(explicit)) => explicit.set(eval, t, &self.y),
            _ => self.implicit.set(eval, t, &self.y),
        };
        if set.is_err() {
            return false;
        }
        // If the leg cost more than the other method would have, the next such switch needs more evidence.
        if self.history.switches > 0 || self.switched_early {
            let other = (t - self.leg_start).abs() / self.step_before_leg;
            let steps = self.leg as f64;
            let paid = match self.active {
                _ if self.history.switches == 0 => self.leg > STEPS_OF_RIGHT_CHOICE,
                Side::Implicit => steps * self.work_ratio < other,
                Side::Explicit => steps < other * self.work_ratio,
            };
            if self.switched_early && !paid {
                self.early_switch_allowed = false;
            } else {
                let evidence_factor = &mut self.evidence_factor[to as usize];
                *evidence_factor =
                    if paid { 1 } else { (*evidence_factor * EVIDENCE_INCREASE).min(MAX_EVIDENCE_FACTOR) };
            }
        }
        self.switched_early = false;
        (self.leg_start, self.step_before_leg) = (t, self.last_step.abs());
        (self.active, self.leg, self.growth_reference, self.stiff_by_radius) = (to, 0, 0.0, false);
        (
            self.stiff_steps,
            self.nonstiff_steps,
            self.failures,
            self.nonstiff_checks,
            self.until_check,
            self.check_interval,
        ) = (0, 0, 0, 0, 1, 1);
        self.history.switches += 1;
        self.record_leg(t, to, why);
        true
    }

    /// Evidence after a step of the explicit method; returns the next step size.
    fn after_explicit(&mut self, eval: &mut Evaluator<'_>, h: f64, next: f64) -> f64 {
        self.failures = 0;
        let is_early_check = self.history.switches == 0 && EARLY_CHECKS.contains(&self.leg);
        if is_early_check && self.decays_fast(eval) && self.switch(eval, ChoiceReason::Stiff) {
            self.switched_early = true;
            return next;
        }
        let Some(explicit) = &mut self.explicit else { return next };
        let turn = self.leg % RADIUS_INTERVAL;
        let check_radius = turn + MEAN as u64 >= RADIUS_INTERVAL || self.stiff_by_radius;
        if self.stiff_steps == 0 && !turn.is_multiple_of(STAGE_CHECK_INTERVAL) && !check_radius {
            return next;
        }
        let (mut estimate, mut real) = explicit.stiffness().unwrap_or_default();
        if check_radius
            && let Some(growth) = self.spectral.as_mut().and_then(|s| s.step(eval, explicit.time(), explicit.state()))
        {
            let seen = growth.radius * h.abs();
            self.stiff_by_radius = seen > self.stiff_above && (self.stiff_by_radius || turn + 1 == RADIUS_INTERVAL);
            if self.stiff_by_radius && seen > estimate {
                (estimate, real) = (seen, growth.along * h.abs());
            }
        }
        if estimate > self.stiff_above {
            // A step size that still grows is not limited by stability.
            if self.stiff_steps == 0 || h.abs() > GROWING * self.growth_reference {
                (self.stiff_steps, self.growth_reference) = (0, h.abs());
            }
            self.stiff_steps += if real < -0.5 * estimate { DECAY_WEIGHT } else { 1 };
            self.nonstiff_steps = 0;
        } else {
            self.nonstiff_steps += 1;
            if self.nonstiff_steps >= NONSTIFF_STEPS {
                self.stiff_steps = 0;
            }
        }
        let left = (self.t_end - self.time()) / h;
        let steps = left * estimate / self.limit;
        let lasting = real < -0.5 * estimate && steps > LASTING_STABLE_STEPS;
        let usual = DECAY_WEIGHT * STIFF_STEPS * self.evidence_factor[0];
        let needed = if lasting && self.early_switch_allowed { DECAY_WEIGHT * EARLY_SWITCH_STEPS } else { usual };
        if self.stiff_steps < needed || steps < FEW_STABLE_STEPS || !self.switch(eval, ChoiceReason::Stiff) {
            return next;
        }
        self.switched_early = needed < usual;
        self.first_implicit_step(eval, next)
    }

    /// The first step of the implicit method: the step size of the explicit one, or a shorter one if its order is 1.
    fn first_implicit_step(&mut self, eval: &mut Evaluator<'_>, h: f64) -> f64 {
        if self.implicit.order() > 1 {
            return h;
        }
        let t = self.time();
        let (Some(spectral), y) = (&mut self.spectral, &self.y) else { return h };
        let Some(bend) = spectral.bend(eval, t, y) else { return h };
        // h^2/2 |y''| is a fraction of the tolerance.
        h.abs().min((2.0 * FIRST_ORDER / bend).sqrt()).copysign(h)
    }

    /// Evidence after a step of the implicit method; returns the next step size.
    fn after_implicit(&mut self, eval: &mut Evaluator<'_>, h: f64, next: f64) -> f64 {
        let Some(spectral) = &mut self.spectral else { return next };
        if self.explicit.is_none() || self.leg < self.min_leg {
            return next;
        }
        self.until_check -= 1;
        if self.until_check > 0 {
            return next;
        }
        // While step sizes grow, the leg is still starting: no check.
        if self.switched_early && self.decay.is_some() && h.abs() > GROWING * self.growth_reference {
            (self.growth_reference, self.until_check, self.nonstiff_checks) = (h.abs(), CHECK_INTERVAL, 0);
            return next;
        }
        let (t, y) = (self.implicit.time(), self.implicit.state());
        // the first check of this leg
        if self.nonstiff_checks == 0 && self.check_interval == 1 {
            spectral.restart(y);
            for _ in 1..MEAN {
                spectral.step(eval, t, y);
            }
        }
        let growth = spectral.step(eval, t, y).unwrap_or(Growth { radius: f64::INFINITY, along: 0.0 });
        let radius = growth.radius;
        let ratio = (h * radius).abs() / self.limit;
        // A multistep method that is needed again soon would have to restart.
        let needed = self.multistep && self.decay_lasts(growth, t);
        if ratio > self.stay_ratio || needed {
            self.nonstiff_checks = 0;
            self.check_interval = match ratio > 10.0 * self.stay_ratio {
                _ if needed => (2 * self.check_interval).clamp(CHECK_INTERVAL, LONG_CHECK_INTERVAL),
                true => CHECK_INTERVAL,
                false => SHORT_CHECK_INTERVAL,
            };
            self.until_check = self.check_interval;
            return next;
        }
        self.nonstiff_checks += 1;
        self.until_check = 1;
        if self.nonstiff_checks < NONSTIFF_CHECKS * self.evidence_factor[1]
            || !self.switch(eval, ChoiceReason::NoLongerStiff)
        {
            return next;
        }
        if radius > 0.0 { next.abs().min(FIRST_STEP * self.limit / radius).copysign(next) } else { next }
    }
}
