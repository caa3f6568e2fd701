//! The evidence of `auto` before a step, so that the step can be undone.

use super::{Auto, Side};

/// The state of the driver that an accepted step changes, in addition to that of the integrators. The estimate of the
/// spectral radius is not part of it, because it remains valid after a retreat.
#[derive(Clone, Copy)]
pub(super) struct UndoState {
    early_switch_allowed: bool,
    switched_early: bool,
    active: Side,
    leg: u64,
    growth_reference: f64,
    stiff_by_radius: bool,
    /// The counts `stiff_steps` to `check_interval` of the driver, in their order.
    counts: [u32; 6],
    leg_start: f64,
    step_before_leg: f64,
    last_step: f64,
    evidence_factor: [u32; 2],
    /// The history: number of legs, switches, steps.
    known: usize,
    switches: u64,
    steps: [u64; 2],
}

impl Auto {
    /// Records the state before a step.
    pub(super) fn undo_state(&self) -> UndoState {
        UndoState {
            early_switch_allowed: self.early_switch_allowed,
            switched_early: self.switched_early,
            active: self.active,
            leg: self.leg,
            growth_reference: self.growth_reference,
            stiff_by_radius: self.stiff_by_radius,
            counts: [
                self.stiff_steps,
                self.nonstiff_steps,
                self.failures,
                self.nonstiff_checks,
                self.until_check,
                self.check_interval,
            ],
            leg_start: self.leg_start,
            step_before_leg: self.step_before_leg,
            last_step: self.last_step,
            evidence_factor: self.evidence_factor,
            known: self.history.known,
            switches: self.history.switches,
            steps: self.history.steps,
        }
    }

    /// Restores the state before that step.
    pub(super) fn restore(&mut self, before: UndoState) {
        (self.early_switch_allowed, self.switched_early, self.active, self.leg) =
            (before.early_switch_allowed, before.switched_early, before.active, before.leg);
        (self.growth_reference, self.stiff_by_radius) = (before.growth_reference, before.stiff_by_radius);
        [
            self.stiff_steps,
            self.nonstiff_steps,
            self.failures,
            self.nonstiff_checks,
            self.until_check,
            self.check_interval,
        ] = before.counts;
        (self.leg_start, self.step_before_leg, self.last_step, self.evidence_factor) =
            (before.leg_start, before.step_before_leg, before.last_step, before.evidence_factor);
        (self.history.known, self.history.switches, self.history.steps) = (before.known, before.switches, before.steps);
    }
}
