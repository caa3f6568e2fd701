//! Unknowns that cannot become negative in the exact solution: rejects steps whose error makes them negative.
//!
//! Concentrations and populations that decay below their absolute tolerance are dominated by errors, and a step may
//! give them the wrong sign. Products with them then grow where they should decay, and the run blows up. An unknown
//! that has not been negative so far cannot become negative if its slope at 0 is not negative (such systems are called
//! quasi-positive). A step that makes it negative anyway is repeated with a shorter one (decision 0020).

use super::{Auto, Side};
use crate::evaluator::Evaluator;
use crate::problem::Cause;
use crate::system::{Mass, System};

/// Length of the repeated step, as a fraction of the step that lost a sign.
pub(super) const SHORTER: f64 = 0.25;
/// Number of consecutive attempts after which no shorter step is tried.
const TRIES: u32 = 4;
/// Limit on the number of checks of f, which cost two evaluations each: this many, plus one for every `PART` steps.
/// Above it, only small values are reflected.
const SPARE: u64 = 40;
const PART: u64 = 10;
/// A negative value below this fraction of its absolute tolerance may be reflected.
const SMALL: f64 = 0.1;
/// Number of reflections of an unknown that follow from one check of f.
const REFLECTIONS: u32 = 16;

/// The signs of the unknowns.
pub(super) struct Signs {
    /// True if the unknown has not been negative, and nothing indicates that it may become so. Empty if no sign is
    /// enforced.
    kept: Vec<bool>,
    /// A smaller negative value is an error, which may have the other sign.
    small: Vec<f64>,
    /// Number of reflections of an unknown that need no further check.
    reflections: Vec<u32>,
    /// Size of an unknown that is negative at the start of a step, otherwise 0.
    negative: Vec<f64>,
    /// True if an unknown was negative at the end of the last step or attempt.
    any_negative: bool,
    /// The state that replaces the last one at the start of the next step, and true if there is one.
    reflected: Vec<f64>,
    pending: bool,
    clipped: Vec<f64>,
    /// f at the state with the unknown set to 0, and f at the state itself.
    slope: Vec<f64>,
    own: Vec<f64>,
    tries: u32,
    checks: u64,
    steps: u64,
}

impl Signs {
    /// With a mass matrix, f does not give the slopes, and no sign is enforced.
    pub(super) fn new(system: &dyn System, atol: &[f64]) -> Self {
        let n = if matches!(system.mass(), Mass::Identity) { system.shape().n } else { 0 };
        let zero = || vec![0.0; n];
        Signs {
            kept: vec![false; n],
            small: atol[..n].iter().map(|atol| SMALL * atol).collect(),
            reflections: vec![0; n],
            negative: zero(),
            any_negative: false,
            reflected: zero(),
            pending: false,
            clipped: zero(),
            slope: zero(),
            own: zero(),
            tries: 0,
            checks: 0,
            steps: 0,
        }
    }

    /// Called at the start of a run, or after a change of the state.
    pub(super) fn begin(&mut self, y: &[f64]) {
        self.kept.iter_mut().zip(y).for_each(|(kept, y)| *kept = *y >= 0.0);
        self.reflections.fill(0);
        (self.tries, self.checks, self.steps) = (0, 0, 0);
        self.forget();
    }

    /// Called after an event or a change by the host, which may write negative values on purpose: their signs are no
    /// longer enforced.
    pub(super) fn resume(&mut self, y: &[f64]) {
        self.kept.iter_mut().zip(y).for_each(|(kept, y)| *kept &= *y >= 0.0);
        self.reflections.fill(0);
        self.forget();
    }

    /// Called if the last step was undone, or its end has changed.
    pub(super) fn forget(&mut self) {
        self.pending = false;
        self.negative.fill(0.0);
    }

    /// An unknown that is negative at (t, y) by error alone and affects other unknowns or its own slope.
    fn lost(
        &mut self,
        eval: &mut Evaluator<'_>,
        (t, y): (f64, &[f64]),
        (forward, implicit): (bool, bool),
    ) -> Option<usize> {
        self.steps += 1;
        if !self.kept.iter().zip(y).any(|(kept, y)| *kept && *y < 0.0) {
            if self.any_negative {
                (self.any_negative, self.tries) = (false, 0);
                self.negative.fill(0.0);
            }
            return None;
        }
        self.any_negative = true;
        if self.is_harmless(y, implicit) {
            self.reflect(y, implicit);
            return None;
        }
        if self.checks > SPARE + self.steps / PART {
            self.release(y);
            self.reflect(y, true);
            return None;
        }
        self.checks += 1;
        for ((clipped, y), kept) in self.clipped.iter_mut().zip(y).zip(&self.kept) {
            *clipped = if *kept { y.max(0.0) } else { *y };
        }
        let known = eval.rhs(t, &self.clipped, &mut self.slope).is_ok() && eval.rhs(t, y, &mut self.own).is_ok();
        let direction = if forward { 1.0 } else { -1.0 };
        let (mut lost, mut matters) = (None, false);
        for (i, kept) in self.kept.iter_mut().enumerate() {
            let (slope, own) = (direction * self.slope[i], direction * self.own[i]);
            if *kept && y[i] < 0.0 {
                *kept = known && slope >= 0.0;
                // a shorter step from a negative value does not help
                lost = lost.or((*kept && self.negative[i] == 0.0).then_some(i));
                matters |= own < 0.0;
            } else {
                matters |= own != slope;
            }
        }
        if lost.is_some() && matters && self.tries < TRIES {
            self.tries += 1;
            return lost;
        }
        self.release(y);
        self.reflect(y, matters || implicit);
        None
    }

    /// Gives up the signs of values that are not small.
    fn release(&mut self, y: &[f64]) {
        for (i, kept) in self.kept.iter_mut().enumerate().filter(|(i, _)| y[*i] < 0.0) {
            *kept &= -y[i] <= self.small[i];
            self.reflections[i] = REFLECTIONS;
        }
    }

    /// True if all negative values are errors according to an earlier check. An explicit method at its stability limit
    /// changes the sign of such a value again and again; it matters only if the value grows.
    fn is_harmless(&self, y: &[f64], implicit: bool) -> bool {
        let grows = |i: usize| !implicit && self.negative[i] > 0.0 && -y[i] > self.negative[i];
        let mut negative = (0..y.len()).filter(|&i| self.kept[i] && y[i] < 0.0);
        negative.all(|i| self.reflections[i] > 0 && -y[i] <= self.small[i] && !grows(i))
    }

    /// Reflects the negative unknowns, `now` or later.
    fn reflect(&mut self, y: &[f64], now: bool) {
        (self.tries, self.pending) = (0, false);
        self.reflected.copy_from_slice(y);
        for i in 0..y.len() {
            let reflected = self.kept[i] && y[i] < 0.0;
            self.negative[i] = if reflected && !now { -y[i] } else { 0.0 };
            if reflected {
                self.pending = now;
                self.reflected[i] = -y[i];
                self.reflections[i] -= 1;
            }
        }
    }
}

impl Auto {
    /// Undoes the last step if an unknown has lost its sign by error alone; returns the unknown.
    pub(super) fn lost(&mut self, eval: &mut Evaluator<'_>) -> Option<usize> {
        let made = match (self.active, &self.explicit) {
            (Side::Explicit, Some(explicit)) => explicit.as_ref(),
            _ => self.implicit.as_ref(),
        };
        let t = made.time();
        let row = self.signs.lost(eval, (t, made.state()), (self.t_end >= t, self.active == Side::Implicit))?;
        self.side_mut(self.active).retreat().then_some(row)
    }

    /// Replaces negative values by their reflections before a step.
    pub(super) fn reflect(&mut self, eval: &mut Evaluator<'_>) -> Result<(), Cause> {
        if !std::mem::take(&mut self.signs.pending) {
            return Ok(());
        }
        let active = match (self.active, &mut self.explicit) {
            (Side::Explicit, Some(explicit)) => explicit.as_mut(),
            _ => self.implicit.as_mut(),
        };
        active.shift(eval, &self.signs.reflected)
    }
}
