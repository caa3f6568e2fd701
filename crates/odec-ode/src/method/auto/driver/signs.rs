//! Unknowns that cannot become negative in the exact solution: rejects steps whose error makes them negative.
//!
//! Concentrations and populations that decay below their absolute tolerance are dominated by errors, and a step may
//! give them the wrong sign. Products with them then grow where they should decay, and the run blows up. An unknown
//! that has not been negative so far cannot become negative if its slope at 0 is not negative (such systems are called
//! quasi-positive). A step that makes it negative anyway is repeated with a shorter one (decision 0020).

use super::{Auto, Side};
use crate::evaluator::Evaluator;
use crate::system::{Mass, System};

/// Length of the repeated step, as a fraction of the step that lost a sign.
pub(super) const SHORTER: f64 = 0.25;
/// Number of consecutive attempts after which a sign is given up.
const TRIES: u32 = 4;
/// Limit on the number of checks of f: this many, plus one for every `PART` steps. Above it no sign is enforced,
/// because a check costs two evaluations.
const SPARE: u64 = 40;
const PART: u64 = 10;

/// The signs of the unknowns.
pub(super) struct Signs {
    /// True if the unknown has not been negative, and nothing indicates that it may become so. Empty if no sign is
    /// enforced.
    kept: Vec<bool>,
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
    pub(super) fn new(system: &dyn System) -> Self {
        let n = if matches!(system.mass(), Mass::Identity) { system.shape().n } else { 0 };
        let zero = || vec![0.0; n];
        Signs { kept: vec![false; n], clipped: zero(), slope: zero(), own: zero(), tries: 0, checks: 0, steps: 0 }
    }

    /// Called at the start of a run, or after a change of the state.
    pub(super) fn begin(&mut self, y: &[f64]) {
        self.kept.iter_mut().zip(y).for_each(|(kept, y)| *kept = *y >= 0.0);
        (self.tries, self.checks, self.steps) = (0, 0, 0);
    }

    /// Called after an event or a change by the host, which may write negative values on purpose: their signs are no
    /// longer enforced.
    pub(super) fn resume(&mut self, y: &[f64]) {
        self.kept.iter_mut().zip(y).for_each(|(kept, y)| *kept &= *y >= 0.0);
    }

    /// An unknown that is negative at (t, y) by error alone and affects other unknowns or its own slope.
    fn lost(&mut self, eval: &mut Evaluator<'_>, (t, y): (f64, &[f64]), forward: bool) -> Option<usize> {
        self.steps += 1;
        if !self.kept.iter().zip(y).any(|(kept, y)| *kept && *y < 0.0) {
            self.tries = 0;
            return None;
        }
        self.checks += 1;
        if self.checks > SPARE + self.steps / PART {
            self.kept.fill(false);
            return None;
        }
        for ((clipped, y), kept) in self.clipped.iter_mut().zip(y).zip(&self.kept) {
            *clipped = if *kept { y.max(0.0) } else { *y };
        }
        let known = self.tries < TRIES
            && eval.rhs(t, &self.clipped, &mut self.slope).is_ok()
            && eval.rhs(t, y, &mut self.own).is_ok();
        let direction = if forward { 1.0 } else { -1.0 };
        let (mut lost, mut matters) = (None, false);
        for (i, kept) in self.kept.iter_mut().enumerate() {
            let (slope, own) = (direction * self.slope[i], direction * self.own[i]);
            if *kept && y[i] < 0.0 {
                *kept = known && slope >= 0.0;
                lost = lost.or(kept.then_some(i));
                matters |= own < 0.0;
            } else {
                matters |= own != slope;
            }
        }
        if !matters {
            self.kept.iter_mut().zip(y).for_each(|(kept, y)| *kept &= *y >= 0.0);
            lost = None;
        }
        self.tries = if lost.is_some() { self.tries + 1 } else { 0 };
        lost
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
        let row = self.signs.lost(eval, (t, made.state()), self.t_end >= t)?;
        self.side_mut(self.active).retreat().then_some(row)
    }
}
