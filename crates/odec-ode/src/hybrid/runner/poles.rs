//! Poles of a relation: a side that divides by a state grows without bound as the state falls to zero, and then has
//! the other sign. The relation changes there, but no step can end on its surface, so the run ends with an error at
//! once.

use super::HybridRunner;
use crate::hybrid::modes::{Landed, Place};
use crate::hybrid::outcome::{HybridCause, HybridError};
use crate::hybrid::stops::resolution;
use crate::hybrid::system::HybridSystem;

/// Both sides of a pole are known within this number of units of time resolution.
const CLOSE: f64 = 64.0;
/// Towards a pole, left - right grows by at least this factor over a step.
const GROWN: f64 = 1e3;
/// In steps of a few units of time resolution, left - right is at least this fraction of the sizes of both sides.
const PART: f64 = 0.1;
/// Number of successive steps of such a length that are examined in vain.
const TIMES: u32 = 3;

impl HybridRunner {
    /// A step that does not reach the surface of a relation is accepted. If no step ends between its start and the
    /// change, the run cannot go on.
    pub(super) fn beyond(&self, relation: usize, start: f64) -> Result<Option<Landed>, HybridError> {
        if self.runner.time() <= start {
            return Err(self.failure(HybridCause::Pole { relation }, start));
        }
        Ok(None)
    }

    /// Returns an error if a relation has a pole between two ends of steps, each with u, which is positive before the
    /// change. `ends` are the sizes of u at both ends of the step that contains them.
    pub(super) fn no_pole(
        &self,
        relation: usize,
        before: (f64, f64),
        behind: Option<(f64, f64)>,
        ends: [f64; 2],
    ) -> Result<(), HybridError> {
        let Some(behind) = behind else { return Ok(()) };
        let (far, near) = (ends[0].abs().max(ends[1].abs()), before.1.min(-behind.1));
        if far > 0.0 && near > GROWN * far && behind.0 - before.0 <= CLOSE * resolution(before.0) {
            return Err(self.failure(HybridCause::Pole { relation }, before.0));
        }
        Ok(())
    }

    /// Returns an error if the last step, which began at `start` and cannot be shorter, passed a pole of a relation:
    /// its left - right has the wrong sign, is as large as its sides, and comes from farther away.
    pub(super) fn stuck_at_pole(
        &mut self,
        model: &dyn HybridSystem,
        relation: usize,
        start: f64,
    ) -> Result<(), HybridError> {
        let end = self.runner.time();
        if self.crawling < TIMES || end - start > CLOSE * resolution(start) {
            return Ok(());
        }
        self.y.copy_from_slice(self.runner.state());
        let sign = if model.modes()[relation] == 0.0 { -1.0 } else { 1.0 };
        let Ok(before) = self.modes.difference_at(model, (start, &self.start), relation) else { return Ok(()) };
        let place = Place { t: end, y: &self.y, scale: end - start };
        let Ok((g, rate)) = self.modes.measure(model, &self.locator, place, relation) else { return Ok(()) };
        let large = PART * self.modes.size(relation);
        let comes_back = rate.is_some_and(|rate| sign * rate > 0.0);
        if comes_back && sign * g < -large && sign * before > large {
            return Err(self.failure(HybridCause::Pole { relation }, start));
        }
        Ok(())
    }
}
