//! Detects landings that amplify errors of the states.
//!
//! An error of the states shifts the time of a landing by that error divided by the rate of left - right. If y' jumps
//! there, or an event assigns a state, the shift becomes an error of the states after the instant. It is large where
//! the motion approaches a surface slowly, as a capacitor that is switched at 99.99 % of its final voltage.

use super::{HybridRunner, InstantStart};
use crate::hybrid::modes::{Landed, Place};
use crate::hybrid::system::HybridSystem;

/// Landings of a run that are examined. A run with more of them is compared with a second one in any case.
const EXAMINED: u64 = 3;
/// Tolerances of a state by which the error of a landing may move it.
const VISIBLE_MOVE: f64 = 10.0;
/// Fraction of the time of an instant by which its error may move it, as a multiple of the relative tolerance.
const VISIBLE_SHIFT: f64 = 10.0;

/// The motion before a landing.
#[derive(Debug, Default)]
pub(super) struct Approach {
    /// Time that left - right needs for a change as large as the tolerances of its states; `None` without a landing.
    tolerance_time: Option<f64>,
    /// y' there.
    slope: Vec<f64>,
}

impl HybridRunner {
    /// Stores the motion with which a run arrives at a surface.
    pub(super) fn record_approach(&mut self, model: &dyn HybridSystem, begins: &InstantStart, (t, scale): (f64, f64)) {
        self.approach.tolerance_time = None;
        let InstantStart::Time(Some(Landed { relation, .. })) = *begins else { return };
        if self.counts.landings >= EXAMINED || !self.adaptive {
            return;
        }
        let at = Place { t, y: &self.y, scale };
        let Ok((_, Some(rate))) = self.modes.measure(model, &self.locator, at, relation) else { return };
        let weight = |i: usize| self.tolerances.asked(i, self.y[i].abs());
        let tolerance = self.locator.gradient(model, (t, &self.y), relation, weight);
        if tolerance > 0.0 {
            self.approach.tolerance_time = Some(tolerance / rate.abs());
            self.approach.slope.clear();
            self.approach.slope.extend_from_slice(self.modes.slope());
        }
    }

    /// Counts a landing at which something changed.
    pub(super) fn count_landing(&mut self, model: &dyn HybridSystem, t: f64, changed: bool) {
        if changed {
            self.counts.landings += 1;
            self.counts.amplified += u64::from(self.landing_amplifies(model, t));
        }
    }

    /// True if an error of the states before the landing becomes a visible error behind it.
    fn landing_amplifies(&mut self, model: &dyn HybridSystem, t: f64) -> bool {
        let Some(time) = self.approach.tolerance_time else { return false };
        // an event can store the time, or a value that depends on it
        if !self.rounds.executed.is_empty() && time > VISIBLE_SHIFT * self.tolerances.asked_rtol() * t.abs() {
            return true;
        }
        if !self.modes.slope_at(model, t, &self.y) {
            return false;
        }
        let slopes = self.approach.slope.iter().zip(self.modes.slope());
        slopes.enumerate().any(|(i, (before, after))| {
            let assigned = self.before.y[i] != self.y[i];
            let jump = if assigned { before.abs().max(after.abs()) } else { (after - before).abs() };
            jump * time > VISIBLE_MOVE * self.tolerances.asked(i, self.y[i].abs())
        })
    }
}
