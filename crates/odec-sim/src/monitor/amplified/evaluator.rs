//! The outputs of a model at rows, with the discretes of their time.

use crate::bind::Bound;
use crate::executor::Executor;
use crate::monitor::discretes::DiscreteHistory;
use crate::sample::CoupledRates;

/// Evaluates outputs at states along a run.
pub(super) struct OutputsAlongRun<'a> {
    bound: &'a Bound,
    rates: CoupledRates<'a>,
    discretes: &'a DiscreteHistory,
    /// The last discretes that differ from those of the start, and the equations with them.
    later: Option<(&'a [f64], Box<Executor>)>,
}

impl<'a> OutputsAlongRun<'a> {
    /// `None` if the outputs need derivatives that the equations do not determine.
    pub fn new(bound: &'a Bound, discretes: &'a DiscreteHistory) -> Option<OutputsAlongRun<'a>> {
        Some(OutputsAlongRun { bound, rates: CoupledRates::of(bound).ok()?, discretes, later: None })
    }

    /// Evaluates the outputs. False if the discretes are unknown, or change at this time: the row may be that before the
    /// change, or that after it.
    pub fn at(&mut self, t: f64, y: &[f64], out: &mut [f64]) -> bool {
        let (Some(before), Some(after)) = (self.discretes.before(t), self.discretes.after(t)) else { return false };
        if before != after {
            return false;
        }
        let (false, Some(located)) = (after.is_empty(), &self.bound.located) else {
            self.bound.executor.outputs(t, y, self.rates.at(t, y), out);
            return true;
        };
        if self.later.as_ref().is_none_or(|(known, _)| *known != after) {
            let mut executor = Box::new(self.bound.executor.fork());
            located.put_discretes(after, &mut executor);
            self.later = Some((after, executor));
        }
        let Some((_, executor)) = &self.later else { return false };
        executor.outputs(t, y, self.rates.of_machine(executor, t, y), out);
        true
    }
}
