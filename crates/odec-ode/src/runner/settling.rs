//! Algebraic unknowns whose equations change strongly within a step.
//!
//! An accepted step satisfies the equations without a derivative only to the tolerance, as judged by a Jacobian from
//! earlier in the step. If these equations are strongly nonlinear, such as the characteristic of an amplifier that
//! saturates, two faults are possible. First, with the old, steep Jacobian corrections look small where the equations
//! are flat, and a step whose unknowns are far off is accepted. So the residual is compared with the Jacobian at the
//! end of the step, and a bad step is rejected. Second, the next step linearises the equations at a point that says
//! nothing about their solution, and its error does not shrink with its length. So damped Newton steps solve for the
//! unknowns at the current time, as at the start of a run. If the equations have several solutions, a step may end on
//! another one, which satisfies the error estimate as well: such a step is rejected, too (`branches.rs`).

use std::cell::OnceCell;

use super::Runner;
use crate::consistent::{Consistent, Verdict};
use crate::evaluator::Evaluator;
use crate::problem::Cause;

/// Number of consecutive failed attempts after which Newton's method solves for the unknowns.
const MISSES: u32 = 5;
/// Number of consecutive steps that are rejected because of their unknowns; the next one is accepted.
const MOST_TAKEN_BACK: u32 = 8;
/// Number of consecutive steps that are rejected because they end on another solution. If two solutions are so close
/// to each other, no step can tell them apart.
const MOST_OTHER: u32 = 20;
/// After this many accepted steps that end on another solution, the check stops.
const MOST_UNTOLD: u32 = 3;
/// Largest number of consecutive steps without a check, if equations are linear in their unknowns.
const LONGEST_PAUSE: u32 = 31;
/// The next step size, as a fraction of the first one that failed.
const RESUMED: f64 = 0.25;
/// The next step size, as a fraction of the rejected one.
const SHORTER: f64 = 0.25;
/// Largest move of an unknown, in tolerances: a solution further away may be on another branch.
const FARTHEST: f64 = 100.0;

/// Counts failed attempts, and solves for the unknowns.
#[derive(Default)]
pub(super) struct Settling {
    misses: u32,
    taken_back: u32,
    /// Number of accepted steps that ended on another solution.
    untold: u32,
    /// The time and state before the attempt.
    from: (f64, Vec<f64>),
    /// The length of the first attempt that failed.
    first: f64,
    /// The time at which the unknowns were last solved for.
    at: Option<f64>,
    /// Number of steps up to the next check of the unknowns, and the number before the last one.
    pause: (u32, u32),
    /// A copy of the state.
    y: Vec<f64>,
    /// Created on first use; `None` for a system without a Jacobian that can be factored.
    consistent: OnceCell<Option<Box<Consistent>>>,
}

impl Settling {
    /// Begins a run.
    pub fn begin(&mut self) {
        (self.misses, self.taken_back, self.untold, self.at, self.pause) = (0, 0, 0, None, (0, 0));
        if let Some(Some(consistent)) = self.consistent.get_mut() {
            consistent.forget();
        }
    }

    /// Continues a run, possibly with other equations.
    pub fn resume(&mut self) {
        if let Some(Some(consistent)) = self.consistent.get_mut() {
            consistent.resume();
        }
    }

    /// Begins an attempt.
    pub fn attempt(&mut self, t: f64, y: &[f64]) {
        self.from.0 = t;
        self.from.1.clear();
        self.from.1.extend_from_slice(y);
    }

    /// Counts a failed attempt of length `h`; true if it is time to solve for the unknowns at `t`.
    fn is_due(&mut self, t: f64, h: f64) -> bool {
        if self.misses == 0 {
            self.first = h;
        }
        self.misses += 1;
        self.misses >= MISSES && self.at.replace(t) != Some(t)
    }
}

impl Runner {
    fn unknowns(&mut self, eval: &Evaluator<'_>) -> Option<&mut Consistent> {
        if !self.rounding.has_unknowns() {
            return None;
        }
        let options = &self.options;
        let made = || Consistent::of(eval.system(), options).ok().flatten().map(Box::new);
        self.settling.consistent.get_or_init(made);
        self.settling.consistent.get_mut()?.as_deref_mut()
    }

    /// Call this after an attempt of length `h` has failed: after several failures, solves for the unknowns, once at
    /// each time. Returns the next step size if the unknowns have moved.
    pub(super) fn settle(&mut self, eval: &mut Evaluator<'_>, h: f64) -> Result<Option<f64>, Cause> {
        let t = self.integrator.time();
        if !self.rounding.has_unknowns() || !self.settling.is_due(t, h) {
            return Ok(None);
        }
        let before = self.integrator.state().to_vec();
        let mut found = before.clone();
        let Some(consistent) = self.unknowns(eval) else { return Ok(None) };
        if consistent.refine(eval, t, &mut found).is_err()
            || !consistent.differ(&before, &found)
            || consistent.distance(&before, &found) > FARTHEST
        {
            return Ok(None);
        }
        self.integrator.resume(eval, t, &found)?;
        self.run.pace_before = None;
        Ok(Some(RESUMED * self.settling.first))
    }

    /// Call this after a step of length `h` was accepted: rejects it if its unknowns are far off. Returns the next
    /// step size if the step was rejected.
    pub(super) fn take_back(&mut self, eval: &mut Evaluator<'_>, h: f64) -> Option<f64> {
        if !self.rounding.has_unknowns() {
            return None;
        }
        if self.settling.pause.0 > 0 {
            self.settling.pause.0 -= 1;
            self.settling.misses = 0;
            return None;
        }
        let t = self.integrator.time();
        let mut y = std::mem::take(&mut self.settling.y);
        y.clear();
        y.extend_from_slice(self.integrator.state());
        let from = std::mem::take(&mut self.settling.from);
        let untold = self.settling.untold;
        let consistent = self.unknowns(eval)?;
        let mut verdict = consistent.judge(eval, (from.0, &from.1), (t, &y));
        if matches!(verdict, Verdict::OtherBranch(_)) && untold >= MOST_UNTOLD {
            verdict = Verdict::Met;
        }
        // equations that have been linear in their unknowns so far are checked rarely
        let longer = if consistent.varies { 0 } else { (2 * self.settling.pause.1 + 1).min(LONGEST_PAUSE) };
        self.settling.pause = (longer, longer);
        self.settling.from = from;
        let most = match verdict {
            Verdict::Met => 0,
            Verdict::Off => MOST_TAKEN_BACK,
            Verdict::OtherBranch(_) => MOST_OTHER,
        };
        if self.settling.taken_back < most && self.integrator.retreat() {
            self.settling.taken_back += 1;
            self.settling.y = y;
            if let Verdict::OtherBranch(row) = verdict {
                self.run.cause = Some(Cause::StepCollapsed { row, error: f64::INFINITY });
            }
            return Some(SHORTER * h);
        }
        self.settling.untold += u32::from(matches!(verdict, Verdict::OtherBranch(_)));
        self.unknowns(eval)?.go_on(&y);
        self.settling.y = y;
        (self.settling.misses, self.settling.taken_back) = (0, 0);
        None
    }
}
