//! The first step after a change of the state.
//!
//! The step before the change says how long steps may be if the motion goes on as before. But a dose wakes a system
//! at rest, and an error estimate may be far too small while a term such as `C^3.3` only begins to rise from 0. So if f
//! turns much faster after the change than before it, the next step is chosen as at the start of a run.

use super::Runner;
use crate::control::first_step;
use crate::evaluator::Evaluator;

/// Smallest change of the state, in tolerances.
const CHANGED: f64 = 1.0;
/// The step is chosen afresh if f now changes by this factor faster, measured in tolerances.
const FASTER: f64 = 8.0;

impl Runner {
    /// The rate at which f changed before a change to the state `y`, in tolerances; `None` if the state hardly changes.
    /// Call this before the integrator continues.
    pub(super) fn turning(&mut self, eval: &mut Evaluator<'_>, y: &[f64]) -> Option<f64> {
        let adaptive = self.run.pace.is_some_and(|pace| !pace.is_fixed());
        if !adaptive {
            return None;
        }
        let before = self.integrator.state();
        let mut difference = std::mem::take(&mut self.row);
        let fill = |out: &mut [f64], to: &[f64], from: &[f64]| {
            out.iter_mut().zip(to.iter().zip(from)).for_each(|(out, (to, from))| *out = to - from);
        };
        fill(&mut difference, y, before);
        let turning = if !(self.tolerances.norm(&difference, before, y) > CHANGED) {
            None
        } else if let Some([from, to]) = self.integrator.slopes() {
            fill(&mut difference, to, from);
            Some(self.tolerances.norm(&difference, y, y) / self.run.tried.abs())
        } else {
            let mut kept = std::mem::take(&mut self.first_step_memory.before);
            kept.clear();
            kept.extend_from_slice(before);
            let made = self.probe(eval, &kept);
            self.first_step_memory.before = kept;
            made.map(|_| self.first_step_memory.turning(&self.tolerances, y))
        };
        self.row = difference;
        turning
    }

    /// The length of the next step from the changed state `y`, if it must be chosen afresh. `before` is the result of
    /// [`Runner::turning`].
    pub(super) fn fresh_step(&mut self, eval: &mut Evaluator<'_>, y: &[f64], before: f64) -> Option<f64> {
        let h = self.probe(eval, y)?;
        (self.first_step_memory.turning(&self.tolerances, y) > FASTER * before).then_some(h)
    }

    /// The step that the start of a run would take from `y` at the current time; `None` if f has no value there.
    fn probe(&mut self, eval: &mut Evaluator<'_>, y: &[f64]) -> Option<f64> {
        let (t, order) = (self.integrator.time(), self.integrator.order());
        let span = if self.run.t_end.is_finite() { self.run.t_end - self.run.t0 } else { self.run.tried };
        let memory = &mut self.first_step_memory;
        let h = first_step(eval, &self.tolerances, (t, t + span), y, order, memory).ok()?;
        memory.is_probed().then_some(h)
    }
}
