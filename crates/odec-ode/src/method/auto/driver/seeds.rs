//! Unknowns that grow from small values: their absolute tolerance follows their value.
//!
//! An error below the absolute tolerance does not matter as long as its unknown stays small. If the unknown grows by
//! itself, the error grows with it: `y' = y^2` from 1e-4 to 1 amplifies an error by 1e8, and a population that grows
//! from 1e-8 keeps an early error to the end (decision 0023). So the absolute tolerance of an unknown that grows at a
//! rate that does not fall is at most its relative one.

use super::Auto;
use crate::problem::Options;

/// Largest system with adapted tolerances.
const MAX_UNKNOWNS: usize = super::super::SMALL;
/// Smallest factor on an absolute tolerance: below it, rounding of larger terms may dominate.
const LEAST: f64 = 1e-3;
/// A growth rate falls if it is below this fraction of the previous one: this is so for `t^k`, which does not amplify
/// errors.
const STEADY: f64 = 0.95;

/// The facts about the unknowns after a step.
#[derive(Clone, Default)]
struct StepFacts {
    y: Vec<f64>,
    /// Rate of relative growth in the last step; 0 if the unknown did not grow, infinite if other unknowns moved it
    /// across 0.
    rate: Vec<f64>,
    atol: Vec<f64>,
    /// True if some tolerance is below that of the options.
    lowered: bool,
}

impl StepFacts {
    /// Copies another one without allocation.
    fn copy_from(&mut self, other: &StepFacts) {
        self.y.copy_from_slice(&other.y);
        self.rate.copy_from_slice(&other.rate);
        self.atol.copy_from_slice(&other.atol);
        self.lowered = other.lowered;
    }
}

/// The tolerances of growing unknowns.
pub(super) struct Seeds {
    rtol: f64,
    /// The absolute tolerances of the options; empty if no unknown is followed.
    full: Vec<f64>,
    now: StepFacts,
    before: StepFacts,
    /// Absolute tolerances for one of the methods.
    room: Vec<f64>,
}

impl Seeds {
    pub(super) fn new(options: &Options, n: usize) -> Self {
        let n = if n <= MAX_UNKNOWNS && !options.fixed { n } else { 0 };
        let full = match options.atol.as_slice() {
            [one] => vec![*one; n],
            immediate_switch_steps => immediate_switch_steps[..n.min(immediate_switch_steps.len())].to_vec(),
        };
        let zero = || vec![0.0; n];
        let seen = StepFacts { y: zero(), rate: zero(), atol: full.clone(), lowered: false };
        Seeds { rtol: options.rtol, full, now: seen.clone(), before: seen, room: zero() }
    }

    /// Changes the requested absolute tolerances.
    pub(super) fn asked(&mut self, atol: &[f64]) {
        self.full.iter_mut().zip(atol).for_each(|(own, atol)| *own = *atol);
    }

    /// Called at the start of a run, or after a change of the state: small unknowns may grow.
    pub(super) fn begin(&mut self, y: &[f64]) {
        let Seeds { rtol, full, now, .. } = self;
        now.lowered = false;
        for (i, full) in full.iter().enumerate() {
            now.y[i] = y[i];
            // an unknown that starts at 0 grows because of others
            now.rate[i] = if y[i] == 0.0 { f64::INFINITY } else { 0.0 };
            now.atol[i] = lowered(*rtol, *full, y[i]);
            now.lowered |= now.atol[i] < *full;
        }
        self.before.copy_from(&self.now);
    }

    /// Updates the rates after a step of length h to y; true if tolerances have changed.
    fn follow(&mut self, h: f64, y: &[f64]) -> bool {
        std::mem::swap(&mut self.now, &mut self.before);
        let Seeds { rtol, full, now, before, .. } = self;
        let (rtol, h) = (*rtol, h.abs());
        now.lowered = false;
        for (i, full) in full.iter().enumerate() {
            let (old, new) = (before.y[i], y[i]);
            now.y[i] = new;
            // other unknowns move an unknown across 0
            let carried = !(old * new > 0.0);
            (now.rate[i], now.atol[i]) = (if carried { f64::INFINITY } else { 0.0 }, *full);
            let grown = new.abs() - old.abs();
            if !carried && grown > 0.0 && rtol * new.abs() < *full {
                now.rate[i] = 2.0 * grown / (h * (old + new).abs());
                if now.rate[i] >= STEADY * before.rate[i] {
                    now.atol[i] = lowered(rtol, *full, new);
                    now.lowered = true;
                }
            }
        }
        now.lowered || before.lowered
    }

    /// Restores the tolerances before the last step; true if tolerances have changed.
    pub(super) fn retreat(&mut self) -> bool {
        let changed = self.now.lowered || self.before.lowered;
        self.now.copy_from(&self.before);
        changed
    }
}

/// The absolute tolerance of a growing unknown.
fn lowered(rtol: f64, full: f64, y: f64) -> f64 {
    if y == 0.0 { full } else { full.min((rtol * y.abs()).max(LEAST * full)) }
}

impl Auto {
    /// Updates the tolerances after a step of length h; true if they have changed.
    pub(super) fn follow_seeds(&mut self, h: f64) -> bool {
        let made = match (self.active, &self.explicit) {
            (super::Side::Explicit, Some(explicit)) => explicit.as_ref(),
            _ => self.implicit.as_ref(),
        };
        !self.seeds.full.is_empty() && self.seeds.follow(h, made.state())
    }

    /// Passes the current tolerances to the explicit method. The implicit method has those of the options: in a stiff
    /// model, small unknowns decay to values that other unknowns determine, and their old errors disappear.
    pub(super) fn lower(&mut self) {
        let Seeds { now, room, full, .. } = &mut self.seeds;
        if full.is_empty() {
            return;
        }
        let mut give = |integrator: &mut dyn crate::integrator::Integrator, atol: &[f64], part: f64| {
            room.iter_mut().zip(atol).for_each(|(own, atol)| *own = part * atol);
            integrator.set_atol(room);
        };
        give(self.implicit.as_mut(), full, self.tolerance_fractions[1]);
        let spare = self.spare.as_mut().map(|spare| &mut spare.integrator);
        for explicit in [self.explicit.as_mut(), spare].into_iter().flatten() {
            give(explicit.as_mut(), &now.atol, self.tolerance_fractions[0]);
        }
    }
}
