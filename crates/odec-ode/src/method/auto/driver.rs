//! Steps with one of two methods, and switches between them: away from the explicit one if stability limits it step
//! after step, and back if the explicit method could take the steps of the implicit one.
//!
//! The explicit method estimates from its stages how close the step is to the stability limit (Hairer & Wanner II,
//! section IV.2). During the implicit method, the driver estimates the spectral radius. After a switch that did not
//! last, the next one of its kind needs more evidence.

mod integrator;
mod mark;
mod seeds;
mod signs;

use self::mark::Mark;
use self::seeds::Seeds;
use self::signs::Signs;
use super::course::{KEPT, Leg, Why};
use super::decay::Decay;
use super::limits::bounds;
use super::spectral::{Growth, MEAN, Spectral};
use super::{algebraic, parts, runge_kutta, working};
use crate::control::{Tolerances, weighted_norm};
use crate::evaluator::Evaluator;
use crate::integrator::Integrator;
use crate::method::{Family, Method, Setup, taylor};
use crate::problem::Refusal;

/// Number of strained steps after which a problem counts as stiff; after six unstrained ones in between the count
/// starts again.
const PATIENCE: u32 = 12;
const RELAXED: u32 = 6;
/// The smaller number of strained steps if the decay is lasting: an implicit method then finishes sooner, unless the
/// decay ends. After a leg that did not pay, `PATIENCE` applies again, and also for an explicit method above this
/// order with a Rosenbrock method: at its tolerances, accuracy limits the steps of both.
const QUICK: u32 = 3;
const QUICK_ORDER: u32 = 7;
/// Decay is lasting if the explicit method would need more stable steps than this for the rest of the run.
const LASTING: f64 = 200.0;
/// The explicit method continues if the rest of the run takes at most this many stable steps. This costs next to
/// nothing, and it preserves the digits of a state that has decayed below its absolute tolerance and grows again (an
/// epidemic after a quiet season; decision 0018).
const SPARED: f64 = 300.0;
/// With an explicit method of at most order `QUICK_ORDER`, a Rosenbrock method with cheap steps starts at once if the
/// decay would need more stable steps than this times rtol^(-1/5), about as many as the Rosenbrock method takes
/// (decision 0016). This is checked at the start and after 2 and 4 steps: later, a large rate may belong to an
/// oscillating solution, or end soon, as for a square root near 0.
const MANY: f64 = 4.0;
const SOON: [u64; 2] = [2, 4];
/// Number of steps of an implicit method after which its choice at the start was right.
const LASTED: u64 = 30;
/// The count also starts again if the step size has since grown by this factor.
const GROWING: f64 = 1.2;
/// Strain from oscillation counts less by this factor: an implicit method cannot follow an oscillation with longer
/// steps, unless its amplitude is negligible.
const DECAY: u32 = 4;
/// Number of steps of the explicit method between two estimates of the spectral radius: if errors are close to
/// rounding, the stages show little.
const CHECK: u64 = 50;
/// Number of consecutive failures of the explicit method after which the implicit one takes over.
const FAILURES: u32 = 3;
/// Work in evaluations of f: of a linear solve, and of a matrix with its factors; number of Newton iterations.
const SOLVE: f64 = 1.5;
const MATRIX: f64 = 5.0;
const ITERATIONS: f64 = 3.0;
/// The implicit method continues while its steps are worth this fraction of their work.
const STAY: f64 = 0.75;
/// Number of consecutive calm estimates of the spectral radius that a switch needs.
const CALM: u32 = 4;
/// Number of steps of the explicit method between two checks of its stages, while no strain is seen.
const UNSEEN: u64 = 4;
/// Number of steps between two checks: far from calm, and nearly calm.
const SELDOM: u32 = 8;
/// Largest number of steps between two checks while fast decay requires a multistep method: the interval doubles each
/// time.
const RARELY: u32 = 64;
const OFTEN: u32 = 2;
/// Number of steps that a multistep method needs to reach its order and step size.
const RISE: u64 = 40;
/// Largest factor on the evidence that a switch needs.
const MOST: u32 = 256;
/// Increase of that factor after a leg that did not pay.
const DOUBT: u32 = 4;
/// First step of the explicit method, as a fraction of its largest stable step.
const FIRST: f64 = 0.7;
/// Fraction of the tolerance that the first step of a multistep method of order 1 may use.
const FIRST_ORDER: f64 = 0.25;

/// The explicit or the implicit method.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Explicit,
    Implicit,
}

/// A second explicit method, with its limits.
struct Spare {
    integrator: Box<dyn Integrator>,
    name: &'static str,
    strain: f64,
    limit: f64,
    /// True if the second method is in use; this struct then holds the first one.
    at_work: bool,
}

/// Work of a step of an implicit method in evaluations of f, and the smallest number of steps in a leg.
fn implicit_work(method: &Method) -> (f64, u64) {
    let stages = f64::from(method.stages);
    match method.family {
        Family::Rosenbrock(_) => (stages * (1.0 + SOLVE) + MATRIX, 10),
        Family::ImplicitRungeKutta(_) => (ITERATIONS * stages * (1.0 + 2.0 * SOLVE) + 5.0 * MATRIX, 10),
        _ => (0.5 * (3.0 * (1.0 + SOLVE) + MATRIX), RISE),
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
    spare: Option<Spare>,
    implicit: Box<dyn Integrator>,
    stiff: &'static Method,
    names: [Option<&'static str>; 2],
    spectral: Option<Spectral>,
    /// Present if a step of the implicit method costs little more than a step of the explicit one.
    decay: Option<Decay>,
    /// The implicit method starts at once if the rest of the run would need more stable steps than this.
    many: f64,
    tolerances: Tolerances,
    /// Values of h*lambda on the negative real axis: where the explicit method is strained, and its limit.
    strain: f64,
    limit: f64,
    /// The implicit method continues for `least` steps, and while h times the spectral radius exceeds this multiple
    /// of the limit.
    worth: f64,
    least: u64,
    multistep: bool,
    /// True if little evidence is enough for lasting decay: at the start of the run, and now.
    eager: bool,
    quick: bool,
    /// True if this leg started with little evidence.
    hasty: bool,
    t_end: f64,
    begun: bool,
    active: Side,
    /// The method that made the last step.
    stepped: Side,
    /// Number of steps in this leg.
    leg: u64,
    /// The step size when the count of strained steps started; in an implicit leg that started with little evidence,
    /// the step size when growth was last seen.
    held: f64,
    /// True if the last estimate of the spectral radius showed strain of the explicit method.
    suspect: bool,
    /// Numbers of strained and unstrained steps, failures, calm checks, and steps to the next check.
    strained: u32,
    relaxed: u32,
    failures: u32,
    calm: u32,
    look: u32,
    /// Number of steps between the last two checks.
    pause: u32,
    /// Start of this leg; the last step of the other method before it; the last step.
    since: f64,
    before: f64,
    last: f64,
    /// Work of an implicit step, in explicit steps.
    ratio: f64,
    /// Factors on the evidence for a switch away from the explicit and away from the implicit method.
    doubt: [u32; 2],
    y: Vec<f64>,
    weights: Vec<f64>,
    signs: Signs,
    seeds: Seeds,
    /// Fractions of the absolute tolerances that the two methods use.
    parts: [f64; 2],
    course: Record,
    /// The evidence before the last step, if the step can be undone.
    earlier: Option<Mark>,
}

/// The data of a course, stored without allocation.
struct Record {
    legs: [Leg; KEPT],
    known: usize,
    switches: u64,
    steps: [u64; 2],
    replaced: Option<(&'static str, u64)>,
}

impl Record {
    const NONE: Self = Record {
        legs: [Leg { t: 0.0, method: "", why: Why::NotStiff }; KEPT],
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
            (method.build)(&Setup { method, options: &working(setup.options, method), ..*setup })
        };
        let rtol = |method: &Method| working(setup.options, method).rtol;
        let part = |method: &Method| parts(setup.options, method).1;
        let (mut integrator, mut spectral) = (None, None);
        let (mut limit, mut strained) = (1.0, 1.0);
        let mut spare = None;
        if let Some(method) = explicit.filter(|_| !algebraic(setup.system)) {
            match (with(method), Spectral::new(setup.system, tolerances.clone())) {
                (Ok(built), Ok(radius)) => (integrator, spectral) = (Some(built), Some(radius)),
                (Err(Refusal::SingularMass { .. }), _) | (_, Err(Refusal::SingularMass { .. })) => {}
                (Err(refusal), _) | (_, Err(refusal)) => return Err(refusal),
            }
            (strained, limit) = bounds(method, rtol(method), n);
            if matches!(method.family, Family::Taylor) {
                let other = runge_kutta(setup.options.rtol);
                let (strain, limit) = bounds(other, rtol(other), n);
                spare = Some(Spare { integrator: with(other)?, name: other.name, strain, limit, at_work: false });
            }
        }
        // A step of the implicit method must be this much longer than a stable explicit step to be worth its work; in
        // doubt, the method stays.
        let own = explicit.map_or(1.0, |method| explicit_work(method, setup.options.rtol, n));
        let (work, least) = implicit_work(implicit);
        let worth = STAY * work / own;
        let eager = least == RISE || explicit.is_some_and(|method| method.order <= QUICK_ORDER);
        let cheap = eager && explicit.is_some() && matches!(implicit.family, Family::Rosenbrock(_));
        let mut auto = Auto {
            names: [integrator.as_ref().and(explicit).map(|m| m.name), Some(implicit.name)],
            active: Side::Implicit,
            stepped: Side::Implicit,
            explicit: integrator,
            spare,
            implicit: with(implicit)?,
            stiff: implicit,
            spectral,
            decay: if cheap { Decay::new(setup.system) } else { None },
            many: MANY * rtol(implicit).powf(-0.2),
            tolerances,
            strain: strained,
            limit,
            worth,
            least,
            multistep: least == RISE,
            eager,
            quick: false,
            hasty: false,
            t_end: f64::INFINITY,
            begun: false,
            leg: 0,
            held: 0.0,
            suspect: false,
            strained: 0,
            relaxed: 0,
            failures: 0,
            calm: 0,
            look: 1,
            pause: 1,
            since: 0.0,
            before: 1.0,
            last: 1.0,
            ratio: work / own,
            doubt: [1, 1],
            y: vec![0.0; n],
            weights: vec![0.0; n],
            signs: Signs::new(setup.system),
            seeds: Seeds::new(setup.options, n),
            // all explicit methods use the same fraction
            parts: [explicit.map_or(1.0, part), part(implicit)],
            course: Record::NONE,
            earlier: None,
        };
        auto.begin();
        Ok(auto)
    }

    /// Exchanges the explicit method and the spare one.
    fn change_places(&mut self) {
        let (Some(spare), Some(explicit), [Some(name), _]) = (&mut self.spare, &mut self.explicit, &mut self.names)
        else {
            return;
        };
        std::mem::swap(&mut spare.integrator, explicit);
        std::mem::swap(&mut spare.name, name);
        std::mem::swap(&mut spare.strain, &mut self.strain);
        std::mem::swap(&mut spare.limit, &mut self.limit);
        spare.at_work = !spare.at_work;
    }

    /// Continues from the current state with the spare explicit method; false if there is none, or if it fails as well.
    fn stand_in(&mut self, eval: &mut Evaluator<'_>) -> bool {
        let Some(explicit) = self.explicit.as_ref().filter(|_| self.active == Side::Explicit) else { return false };
        let t = explicit.time();
        self.y.copy_from_slice(explicit.state());
        self.take_spare(eval, t)
    }

    /// Continues from the state in `y` with the spare explicit method.
    fn take_spare(&mut self, eval: &mut Evaluator<'_>, t: f64) -> bool {
        if self.active != Side::Explicit || self.spare.as_ref().is_none_or(|spare| spare.at_work) {
            return false;
        }
        self.change_places();
        let set = self.explicit.as_mut().is_some_and(|explicit| explicit.set(eval, t, &self.y).is_ok());
        if !set {
            self.change_places();
            return false;
        }
        self.rest();
        let steps = self.course.steps[Side::Explicit as usize];
        self.course.replaced = self.spare.as_ref().map(|spare| (spare.name, steps));
        self.course.switches += 1;
        self.note(t, Side::Explicit, Why::Failing);
        true
    }

    /// Resets the evidence for a new run.
    fn begin(&mut self) {
        if self.spare.as_ref().is_some_and(|spare| spare.at_work) {
            self.change_places();
        }
        let side = if self.explicit.is_some() { Side::Explicit } else { Side::Implicit };
        (self.active, self.stepped) = (side, side);
        (self.begun, self.leg, self.held, self.suspect) = (false, 0, 0.0, false);
        (self.strained, self.relaxed, self.failures, self.calm, self.look, self.pause) = (0, 0, 0, 0, 1, 1);
        (self.since, self.before, self.last) = (0.0, 1.0, 1.0);
        (self.doubt, self.quick, self.hasty) = ([1, 1], self.eager, false);
        (self.course, self.earlier) = (Record::NONE, None);
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
    fn rest(&mut self) {
        (self.leg, self.strained, self.relaxed, self.failures, self.calm) = (0, 0, 0, 0, 0);
        (self.look, self.pause, self.stepped, self.earlier) = (1, 1, self.active, None);
    }

    fn note(&mut self, t: f64, side: Side, why: Why) {
        let method = self.names[side as usize].unwrap_or_default();
        if let Some(leg) = self.course.legs.get_mut(self.course.known) {
            *leg = Leg { t, method, why };
            self.course.known += 1;
        }
    }

    /// True if an implicit step costs little, and the fastest decay requires many explicit steps for the rest of the run.
    fn decays(&mut self, eval: &mut Evaluator<'_>) -> bool {
        let (Some(decay), Some(explicit)) = (&mut self.decay, &self.explicit) else { return false };
        let left = self.t_end - explicit.time();
        decay.rate(eval, explicit.time(), explicit.state(), left) * left.abs() > self.many * self.limit
    }

    /// True if the problem is stiff at the start: the solution is on a slow manifold if the first step that an explicit
    /// method would try, h = 0.01 |y|/|y'|, exceeds its stability limit.
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
        self.lasts(growth, t) && (slow || self.multistep)
    }

    /// True if the fastest component of the solution decays, and would limit the explicit method for long.
    fn lasts(&self, growth: Growth, t: f64) -> bool {
        growth.along < -0.8 * growth.radius && growth.radius * (self.t_end - t).abs() > LASTING * self.limit
    }

    /// Switches to the other method at the current state; false if it fails there.
    fn change(&mut self, eval: &mut Evaluator<'_>, why: Why) -> bool {
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
        if self.course.switches > 0 || self.hasty {
            let other = (t - self.since).abs() / self.before;
            let steps = self.leg as f64;
            let paid = match self.active {
                _ if self.course.switches == 0 => self.leg > LASTED,
                Side::Implicit => steps * self.ratio < other,
                Side::Explicit => steps < other * self.ratio,
            };
            if self.hasty && !paid {
                self.quick = false;
            } else {
                let doubt = &mut self.doubt[to as usize];
                *doubt = if paid { 1 } else { (*doubt * DOUBT).min(MOST) };
            }
        }
        self.hasty = false;
        (self.since, self.before) = (t, self.last.abs());
        (self.active, self.leg, self.held, self.suspect) = (to, 0, 0.0, false);
        (self.strained, self.relaxed, self.failures, self.calm, self.look, self.pause) = (0, 0, 0, 0, 1, 1);
        self.course.switches += 1;
        self.note(t, to, why);
        true
    }

    /// Evidence after a step of the explicit method; returns the next step size.
    fn after_explicit(&mut self, eval: &mut Evaluator<'_>, h: f64, next: f64) -> f64 {
        self.failures = 0;
        let soon = self.course.switches == 0 && SOON.contains(&self.leg);
        if soon && self.decays(eval) && self.change(eval, Why::Stiff) {
            self.hasty = true;
            return next;
        }
        let Some(explicit) = &mut self.explicit else { return next };
        let turn = self.leg % CHECK;
        let look = turn + MEAN as u64 >= CHECK || self.suspect;
        if self.strained == 0 && !turn.is_multiple_of(UNSEEN) && !look {
            return next;
        }
        let (mut strain, mut real) = explicit.strain().unwrap_or_default();
        if look
            && let Some(growth) = self.spectral.as_mut().and_then(|s| s.step(eval, explicit.time(), explicit.state()))
        {
            let seen = growth.radius * h.abs();
            self.suspect = seen > self.strain && (self.suspect || turn + 1 == CHECK);
            if self.suspect && seen > strain {
                (strain, real) = (seen, growth.along * h.abs());
            }
        }
        if strain > self.strain {
            // A step size that still grows is not limited by stability.
            if self.strained == 0 || h.abs() > GROWING * self.held {
                (self.strained, self.held) = (0, h.abs());
            }
            self.strained += if real < -0.5 * strain { DECAY } else { 1 };
            self.relaxed = 0;
        } else {
            self.relaxed += 1;
            if self.relaxed >= RELAXED {
                self.strained = 0;
            }
        }
        let left = (self.t_end - self.time()) / h;
        let steps = left * strain / self.limit;
        let lasting = real < -0.5 * strain && steps > LASTING;
        let usual = DECAY * PATIENCE * self.doubt[0];
        let needed = if lasting && self.quick { DECAY * QUICK } else { usual };
        if self.strained < needed || steps < SPARED || !self.change(eval, Why::Stiff) {
            return next;
        }
        self.hasty = needed < usual;
        self.first_implicit(eval, next)
    }

    /// The first step of the implicit method: the step size of the explicit one, or a shorter one if its order is 1.
    fn first_implicit(&mut self, eval: &mut Evaluator<'_>, h: f64) -> f64 {
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
        if self.explicit.is_none() || self.leg < self.least {
            return next;
        }
        self.look -= 1;
        if self.look > 0 {
            return next;
        }
        // While step sizes grow, the leg is still starting: no check.
        if self.hasty && self.decay.is_some() && h.abs() > GROWING * self.held {
            (self.held, self.look, self.calm) = (h.abs(), SELDOM, 0);
            return next;
        }
        let (t, y) = (self.implicit.time(), self.implicit.state());
        // the first check of this leg
        if self.calm == 0 && self.pause == 1 {
            spectral.restart(y);
            for _ in 1..MEAN {
                spectral.step(eval, t, y);
            }
        }
        let growth = spectral.step(eval, t, y).unwrap_or(Growth { radius: f64::INFINITY, along: 0.0 });
        let radius = growth.radius;
        let ratio = (h * radius).abs() / self.limit;
        // A multistep method that is needed again soon would have to restart.
        let needed = self.multistep && self.lasts(growth, t);
        if ratio > self.worth || needed {
            self.calm = 0;
            self.pause = match ratio > 10.0 * self.worth {
                _ if needed => (2 * self.pause).clamp(SELDOM, RARELY),
                true => SELDOM,
                false => OFTEN,
            };
            self.look = self.pause;
            return next;
        }
        self.calm += 1;
        self.look = 1;
        if self.calm < CALM * self.doubt[1] || !self.change(eval, Why::Calm) {
            return next;
        }
        if radius > 0.0 { next.abs().min(FIRST * self.limit / radius).copysign(next) } else { next }
    }
}
