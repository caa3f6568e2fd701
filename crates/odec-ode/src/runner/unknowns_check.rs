//! Algebraic unknowns whose equations change strongly within a step.
//!
//! An accepted step satisfies the equations without a derivative only to the tolerance, as measured with a Jacobian from
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
const FAILED_ATTEMPTS: u32 = 5;
/// Number of consecutive steps that are rejected because of their unknowns; the next one is accepted.
const MAX_REJECTED: u32 = 8;
/// Number of consecutive steps that are rejected because they end on another solution. If two solutions are so close
/// to each other, no step can tell them apart.
const MAX_REJECTED_ON_OTHER: u32 = 20;
/// After this many accepted steps that end on another solution, the check stops.
const MAX_ACCEPTED_ON_OTHER: u32 = 3;
/// Largest number of consecutive steps without a check, if equations are linear in their unknowns.
const LONGEST_PAUSE: u32 = 31;
/// The next step size, as a fraction of the first one that failed.
const RESUMED_LENGTH: f64 = 0.25;
/// The next step size, as a fraction of the rejected one.
const SHORTER: f64 = 0.25;
/// Largest move of an unknown, in tolerances: a solution further away may be on another branch.
const MAX_MOVE: f64 = 100.0;

/// Counts failed attempts, and solves for the unknowns.
#[derive(Default)]
pub(super) struct UnknownsCheck {
    failed_attempts: u32,
    rejected: u32,
    /// Number of accepted steps that ended on another solution.
    accepted_on_other: u32,
    /// The time and state before the attempt.
    from: (f64, Vec<f64>),
    /// The length of the first attempt that failed.
    first_failed: f64,
    /// The time at which the unknowns were last solved for.
    solved_at: Option<f64>,
    /// Number of steps up to the next check of the unknowns, and the number before the last one.
    steps_to_check: (u32, u32),
    /// A copy of the state.
    y: Vec<f64>,
    /// Created on first use; `None` for a system without a Jacobian that can be factored.
    consistent: OnceCell<Option<Box<Consistent>>>,
}

impl UnknownsCheck {
    /// Begins a run.
    pub fn begin(&mut self) {
        (self.failed_attempts, self.rejected, self.accepted_on_other, self.solved_at, self.steps_to_check) =
            (0, 0, 0, None, (0, 0));
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
        if self.failed_attempts == 0 {
            self.first_failed = h;
        }
        self.failed_attempts += 1;
        self.failed_attempts >= FAILED_ATTEMPTS && self.solved_at.replace(t) != Some(t)
    }
}

impl Runner {
    pub(super) fn consistent(&mut self, eval: &Evaluator<'_>) -> Option<&mut Consistent> {
        if !self.rounding.has_unknowns() {
            return None;
        }
        let options = &self.options;
        let made = || Consistent::of(eval.system(), options).ok().flatten().map(Box::new);
        self.unknowns_check.consistent.get_or_init(made);
        self.unknowns_check.consistent.get_mut()?.as_deref_mut()
    }

    /// Call this after an attempt of length `h` has failed: after several failures, solves for the unknowns, once at
    /// each time. Returns the next step size if the unknowns have moved.
    pub(super) fn solve_unknowns(&mut self, eval: &mut Evaluator<'_>, h: f64) -> Result<Option<f64>, Cause> {
        let t = self.integrator.time();
        if !self.rounding.has_unknowns() || !self.unknowns_check.is_due(t, h) {
            return Ok(None);
        }
        let before = self.integrator.state().to_vec();
        self.find_noise_again(eval, t, &before);
        let mut found = before.clone();
        let Some(consistent) = self.consistent(eval) else { return Ok(None) };
        if consistent.refine(eval, t, &mut found).is_err()
            || !consistent.differ(&before, &found)
            || consistent.distance(&before, &found) > MAX_MOVE
        {
            return Ok(None);
        }
        self.integrator.resume(eval, t, &found)?;
        self.run.pace_before = None;
        Ok(Some(RESUMED_LENGTH * self.unknowns_check.first_failed))
    }

    /// Call this after a step of length `h` was accepted: rejects it if its unknowns are far off, or if it passes a rapid
    /// change of a term. Returns the next step size if the step was rejected.
    pub(super) fn check_accepted(&mut self, eval: &mut Evaluator<'_>, h: f64) -> Result<Option<f64>, Cause> {
        match self.check_unknowns(eval, h) {
            Some(shorter) => Ok(Some(self.solve_unknowns(eval, h)?.unwrap_or(shorter))),
            None => Ok(self.check_transitions(eval, h)),
        }
    }

    /// Call this after a step of length `h` was accepted: rejects it if its unknowns are far off. Returns the next
    /// step size if the step was rejected.
    fn check_unknowns(&mut self, eval: &mut Evaluator<'_>, h: f64) -> Option<f64> {
        if !self.rounding.has_unknowns() {
            return None;
        }
        if self.unknowns_check.steps_to_check.0 > 0 {
            self.unknowns_check.steps_to_check.0 -= 1;
            self.unknowns_check.failed_attempts = 0;
            return None;
        }
        let t = self.integrator.time();
        let mut y = std::mem::take(&mut self.unknowns_check.y);
        y.clear();
        y.extend_from_slice(self.integrator.state());
        let from = std::mem::take(&mut self.unknowns_check.from);
        let accepted_on_other = self.unknowns_check.accepted_on_other;
        let consistent = self.consistent(eval)?;
        let mut verdict = consistent.check_step(eval, (from.0, &from.1), (t, &y));
        if matches!(verdict, Verdict::OtherBranch(_)) && accepted_on_other >= MAX_ACCEPTED_ON_OTHER {
            verdict = Verdict::Met;
        }
        // equations that have been linear in their unknowns so far are checked rarely
        let longer =
            if consistent.varies { 0 } else { (2 * self.unknowns_check.steps_to_check.1 + 1).min(LONGEST_PAUSE) };
        self.unknowns_check.steps_to_check = (longer, longer);
        self.unknowns_check.from = from;
        let most = match verdict {
            Verdict::Met => 0,
            Verdict::Off => MAX_REJECTED,
            Verdict::OtherBranch(_) => MAX_REJECTED_ON_OTHER,
        };
        if self.unknowns_check.rejected < most && self.integrator.retreat() {
            self.unknowns_check.rejected += 1;
            self.unknowns_check.y = y;
            if let Verdict::OtherBranch(row) = verdict {
                self.run.cause = Some(Cause::StepCollapsed { row, error: f64::INFINITY });
            }
            return Some(SHORTER * h);
        }
        self.unknowns_check.accepted_on_other += u32::from(matches!(verdict, Verdict::OtherBranch(_)));
        self.consistent(eval)?.accept_step(&y);
        self.unknowns_check.y = y;
        (self.unknowns_check.failed_attempts, self.unknowns_check.rejected) = (0, 0);
        None
    }
}
