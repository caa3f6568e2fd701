//! Derivatives with respect to parameters of relations and of the values that events write, for jumps of sensitivities.

use super::events::EventDraft;
use super::locate::{LocatedSwitches, joined, results};
use super::{Break, auxiliary};
use crate::derive::{DerivativeArrays, results_by};
use crate::nest::Kernel;
use crate::program::{Array, ArrayId, Program};

/// Kernels of derivatives, before comparisons become modes.
pub struct DerivativeDraft {
    by: Vec<DerivativeArrays>,
    by_time: DerivativeArrays,
    sides: Vec<Kernel>,
    facts: Vec<Kernel>,
    values: Vec<Kernel>,
    values_by_time: Vec<Kernel>,
    times: Vec<Kernel>,
    initial: Vec<Kernel>,
}

/// Derivatives of results by each parameter, at a fixed time: the sensitivities in the state are its derivatives.
#[derive(Clone)]
pub struct Derivatives {
    /// For each parameter, the arrays with derivatives of states, discretes, outputs and results.
    pub by: Vec<DerivativeArrays>,
    /// The arrays with derivatives by time at a fixed state, of [`super::Events::values`].
    pub by_time: DerivativeArrays,
    /// Derivatives of [`super::Switching::sides`].
    pub sides: Program,
    /// Derivatives of the times in [`super::Switching::facts`].
    pub facts: Program,
    /// Derivatives of [`super::Events::values`].
    pub values: Program,
    /// Derivatives of [`super::Events::values`] with respect to time.
    pub values_by_time: Program,
    /// Derivatives of [`super::Events::times`].
    pub times: Program,
    /// Derivatives of [`super::Events::initial`].
    pub initial: Program,
}

impl LocatedSwitches {
    /// Discretes that are integers or ends of intervals, and have no derivatives.
    pub fn steady(&self) -> Vec<ArrayId> {
        self.counters.iter().flat_map(|counter| counter.discretes).collect()
    }

    /// Kernels of the derivatives with respect to the same parameters as those of the states.
    pub fn derivatives(
        &self,
        arrays: &mut Vec<Array>,
        mut by: Vec<DerivativeArrays>,
        events: &EventDraft,
    ) -> DerivativeDraft {
        let mut times = Vec::new();
        for timed in &self.timed {
            times.extend(timed.breaks.iter().flat_map(|times| match *times {
                Break::Once(time) => vec![time],
                Break::Every(time, period) => vec![time, period],
                Break::Knots { at_zero, slope, .. } => vec![at_zero, slope],
            }));
        }
        times.sort_unstable();
        let is_time = |array: ArrayId| times.binary_search(&array).is_ok();
        let sides = results_by(arrays, &self.sides, &mut by, |_| true);
        let facts = results_by(arrays, &self.facts, &mut by, is_time);
        let values = results_by(arrays, &events.values, &mut by, |_| true);
        let times = results_by(arrays, &events.times, &mut by, |_| true);
        let initial = results_by(arrays, &events.initial, &mut by, |_| true);
        let mut by_time = [DerivativeArrays::by_time()];
        let values_by_time = results_by(arrays, &events.values, &mut by_time, |_| true);
        let [by_time] = by_time;
        DerivativeDraft { by, by_time, sides, facts, values, values_by_time, times, initial }
    }
}

impl DerivativeDraft {
    /// Makes programs over the arrays of the model.
    pub(super) fn finish(self, program: &Program) -> Derivatives {
        let DerivativeDraft { by, by_time, sides, facts, values, values_by_time, times, initial } = self;
        let made = |list: Vec<Kernel>| {
            let results = results(&list);
            auxiliary(program, joined(program, list), &results)
        };
        let [sides, facts, values, values_by_time, times, initial] =
            [sides, facts, values, values_by_time, times, initial].map(made);
        Derivatives { by, by_time, sides, facts, values, values_by_time, times, initial }
    }
}
