//! Steps with one of two methods, and switches between them: away from the explicit one if stability limits it step
//! after step, and back if the explicit method could take the steps of the implicit one.
//!
//! The explicit method estimates from its stages how near the limit it is (Hairer & Wanner II, section IV.2). During
//! the implicit method, the driver estimates the spectral radius. After a switch that did not last, the next one of
//! its kind needs more evidence.

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
use super::{algebraic, runge_kutta, working};
use crate::control::{Tolerances, weighted_norm};
use crate::evaluator::Evaluator;
use crate::integrator::Integrator;
use crate::method::{Family, Method, Setup, taylor};
use crate::problem::Refusal;

/// Strained steps after which a problem counts as stiff; with six unstrained ones in between the count begins anew.
const PATIENCE: u32 = 12;
const RELAXED: u32 = 6;
/// The same where the decay would last: an implicit method ends sooner, unless the decay itself ends, and after a leg that did not
/// pay the longer patience holds. Beside a Rosenbrock method those of higher order than this go without: at their tolerances errors
/// hold both.
const QUICK: u32 = 3;
const QUICK_ORDER: u32 = 7;
/// Decay lasts where the explicit method would need more stable steps than this for the rest of the run.
const LASTING: f64 = 200.0;
/// The explicit method continues if the rest of the run takes at most this many stable steps. This costs next to
/// nothing, and it preserves the digits of a state that has decayed below its absolute tolerance and grows again (an
/// epidemic after a quiet season; decision 0018).
const SPARED: f64 = 300.0;
/// Beside an explicit method of at most that order, decay for which it would need more stable steps than this times rtol^(-1/5) is left to
/// a Rosenbrock method at once, where its steps cost little: about as many as that takes (decision 0016). It is looked for at the start and
/// after 2 and 4 steps: later a large rate may belong to a solution that swings, or ends as that of a square root near 0.
const MANY: f64 = 4.0;
const SOON: [u64; 2] = [2, 4];
/// Steps of an implicit method after which it was right to begin with it.
const LASTED: u64 = 30;
/// The count begins anew as well when the step has grown by this much since.
const GROWING: f64 = 1.2;
/// Strain by oscillation counts this many times less: an implicit method cannot follow an oscillation with longer
/// steps, unless its amplitude is negligible.
const DECAY: u32 = 4;
/// Steps of the explicit method from one look at the spectral radius itself to the next: where errors are near rounding, stages
/// show little.
const CHECK: u64 = 50;
/// Failures in a row of the explicit method after which the implicit one is tried.
const FAILURES: u32 = 3;
/// Work in evaluations of f: a solve, a matrix with its factors; iterations of Newton's method.
const SOLVE: f64 = 1.5;
const MATRIX: f64 = 5.0;
const ITERATIONS: f64 = 3.0;
/// The implicit method stays while its steps are worth this part of their work.
const STAY: f64 = 0.75;
/// Looks at the spectral radius in a row that must be calm.
const CALM: u32 = 4;
/// Steps of the explicit method from one look at its stages to the next, as long as nothing is seen.
const UNSEEN: u64 = 4;
/// Steps from one look to the next where nothing is near calm, and where it is nearly so.
const SELDOM: u32 = 8;
/// Largest number of steps between two checks while fast decay keeps a multistep method: the interval doubles each
/// time.
const RARELY: u32 = 64;
const OFTEN: u32 = 2;
/// Steps that a multistep method needs to reach its order and step size.
const RISE: u64 = 40;
/// Largest factor on the evidence that a change needs.
const MOST: u32 = 256;
/// Factor on it when a leg did not pay.
const DOUBT: u32 = 4;
/// The explicit method begins with this fraction of its stable step at most.
const FIRST: f64 = 0.7;
/// Part of the tolerance that the first step of a multistep method of order 1 may use.
const FIRST_ORDER: f64 = 0.25;

/// One of the two.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Explicit,
    Implicit,
}

/// An explicit method in reserve, with what belongs to it.
struct Spare {
    integrator: Box<dyn Integrator>,
    name: &'static str,
    strain: f64,
    limit: f64,
    /// It stands in for the other, which is here.
    at_work: bool,
}

/// Work of a step of an implicit method in evaluations of f, and the smallest number of steps with it.
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

/// The two methods and the evidence for a change.
pub struct Auto {
    explicit: Option<Box<dyn Integrator>>,
    /// For a start where the series of the solution does not exist (the root of a state that is 0).
    spare: Option<Spare>,
    implicit: Box<dyn Integrator>,
    stiff: &'static Method,
    names: [Option<&'static str>; 2],
    spectral: Option<Spectral>,
    /// Where a step of the implicit method costs hardly more than one of the explicit method.
    decay: Option<Decay>,
    /// Stable steps of the explicit method for the rest of the run beyond which the implicit one is taken up at once.
    many: f64,
    tolerances: Tolerances,
    /// h*lambda on the negative real axis that strain the explicit method, and that it cannot exceed.
    strain: f64,
    limit: f64,
    /// The implicit method continues if h times the spectral radius exceeds this multiple of the limit, and for
    /// `least` steps.
    worth: f64,
    least: u64,
    multistep: bool,
    /// Little evidence is enough for decay that lasts: at the start, and now.
    eager: bool,
    quick: bool,
    /// This leg began with little evidence.
    hasty: bool,
    t_end: f64,
    begun: bool,
    active: Side,
    /// Which of them made the last step.
    stepped: Side,
    /// Steps of this leg.
    leg: u64,
    /// The step when the count of strained steps began; of an implicit leg begun on little evidence, when growth was last seen.
    held: f64,
    /// The last estimate of the spectral radius during the explicit method showed strain.
    suspect: bool,
    /// Strained and unstrained steps, failures, calm looks, steps to the next look.
    strained: u32,
    relaxed: u32,
    failures: u32,
    calm: u32,
    look: u32,
    /// Steps between the last two looks.
    pause: u32,
    /// Where this leg began, with the step of the other method before it; the last step.
    since: f64,
    before: f64,
    last: f64,
    /// Work of a step of the implicit method in steps of the explicit one.
    ratio: f64,
    /// Factors on the evidence for stiffness and for its end.
    doubt: [u32; 2],
    y: Vec<f64>,
    weights: Vec<f64>,
    signs: Signs,
    seeds: Seeds,
    /// Parts of the tolerances that the two methods work to.
    parts: [f64; 2],
    course: Record,
    /// The evidence before the last step, if that can be taken back.
    earlier: Option<Mark>,
}

/// The facts from which a course is made, without allocation.
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
    /// Both integrators with their buffers; the explicit one is left out where equations without derivatives rule it out.
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
        // A step of the implicit method has to be so much longer than a stable one to be worth its work; in doubt it stays.
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
            // all explicit methods work to the same part
            parts: [explicit.map_or(1.0, rtol), rtol(implicit)].map(|own| own / setup.options.rtol),
            course: Record::NONE,
            earlier: None,
        };
        auto.begin();
        Ok(auto)
    }

    /// The explicit method and the one in reserve change places.
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

    /// The explicit method in reserve takes up the state reached; false where there is none, or it finds no value either.
    fn stand_in(&mut self, eval: &mut Evaluator<'_>) -> bool {
        let Some(explicit) = self.explicit.as_ref().filter(|_| self.active == Side::Explicit) else { return false };
        let t = explicit.time();
        self.y.copy_from_slice(explicit.state());
        self.take_spare(eval, t)
    }

    /// The same from the state in `y`.
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

    /// Nothing is known of the run to come.
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

    /// Nothing was seen of the steps to come, and there is no last one.
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

    /// True where decay lasts that would take the explicit method many steps, and a step of the implicit one costs little.
    fn decays(&mut self, eval: &mut Evaluator<'_>) -> bool {
        let (Some(decay), Some(explicit)) = (&mut self.decay, &self.explicit) else { return false };
        let left = self.t_end - explicit.time();
        decay.rate(eval, explicit.time(), explicit.state(), left) * left.abs() > self.many * self.limit
    }

    /// Where the first step begins: true if it is stiff already. With h the first step that an explicit method would try, a
    /// solution that moves slowly against the fastest decay is on a slow manifold.
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

    /// True where the fastest part of the solution decays, and would hold the explicit method for long.
    fn lasts(&self, growth: Growth, t: f64) -> bool {
        growth.along < -0.8 * growth.radius && growth.radius * (self.t_end - t).abs() > LASTING * self.limit
    }

    /// Takes up the other method at the present state; false where it finds no value there.
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
        // A leg that cost more than the other method would have asks for more evidence next time.
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

    /// After a step of the explicit method.
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
            // What bounds the steps holds them: as long as they grow it is not stability.
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

    /// The first step of the implicit method: that of the explicit one, unless its order is 1.
    fn first_implicit(&mut self, eval: &mut Evaluator<'_>, h: f64) -> f64 {
        if self.implicit.order() > 1 {
            return h;
        }
        let t = self.time();
        let (Some(spectral), y) = (&mut self.spectral, &self.y) else { return h };
        let Some(bend) = spectral.bend(eval, t, y) else { return h };
        // h^2/2 |y''| is a part of the tolerance.
        h.abs().min((2.0 * FIRST_ORDER / bend).sqrt()).copysign(h)
    }

    /// After a step of the implicit method.
    fn after_implicit(&mut self, eval: &mut Evaluator<'_>, h: f64, next: f64) -> f64 {
        let Some(spectral) = &mut self.spectral else { return next };
        if self.explicit.is_none() || self.leg < self.least {
            return next;
        }
        self.look -= 1;
        if self.look > 0 {
            return next;
        }
        // As long as steps grow this is a start, and says nothing of those to come.
        if self.hasty && self.decay.is_some() && h.abs() > GROWING * self.held {
            (self.held, self.look, self.calm) = (h.abs(), SELDOM, 0);
            return next;
        }
        let (t, y) = (self.implicit.time(), self.implicit.state());
        // the first look of this leg
        if self.calm == 0 && self.pause == 1 {
            spectral.restart(y);
            for _ in 1..MEAN {
                spectral.step(eval, t, y);
            }
        }
        let growth = spectral.step(eval, t, y).unwrap_or(Growth { radius: f64::INFINITY, along: 0.0 });
        let radius = growth.radius;
        let ratio = (h * radius).abs() / self.limit;
        // A multistep method that will be needed again would have to begin anew.
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
