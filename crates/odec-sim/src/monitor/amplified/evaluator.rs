//! The outputs of a model at rows, with the discretes of their time.

use crate::bind::Bound;
use crate::executor::Executor;
use crate::monitor::discretes::DiscreteHistory;
use crate::sample::CoupledRates;

use super::stored_run::StoredRow;

/// Evaluates outputs at states along a run.
pub struct OutputsAlongRun<'a> {
    bound: &'a Bound,
    rates: CoupledRates<'a>,
    discretes: &'a DiscreteHistory,
    /// The last discretes that were put into equations, and these equations.
    later: Option<(Vec<f64>, Box<Executor>)>,
}

impl<'a> OutputsAlongRun<'a> {
    /// `None` if the outputs need derivatives that the equations do not determine.
    pub fn new(bound: &'a Bound, discretes: &'a DiscreteHistory) -> Option<OutputsAlongRun<'a>> {
        Some(OutputsAlongRun { bound, rates: CoupledRates::of(bound).ok()?, discretes, later: None })
    }

    /// Evaluates the outputs in a row of the run, where the state may have other values. False if the discretes are
    /// unknown.
    pub fn at(&mut self, row: &StoredRow<'_>, y: &[f64], out: &mut [f64]) -> bool {
        let Some(changes) = row.changes else { return false };
        self.with(self.discretes.after_changes(changes), (row.at.t, y), out);
        true
    }

    /// Evaluates the outputs with these discretes; none are those of the start.
    pub fn with(&mut self, discretes: &[f64], (t, y): (f64, &[f64]), out: &mut [f64]) {
        let (false, Some(located)) = (discretes.is_empty(), &self.bound.located) else {
            self.bound.executor.outputs(t, y, self.rates.at(t, y), out);
            return;
        };
        let bound = self.bound;
        let (known, executor) = self.later.get_or_insert_with(|| (vec![], Box::new(bound.executor.fork())));
        if known != discretes {
            located.put_discretes(discretes, executor);
            discretes.clone_into(known);
        }
        executor.outputs(t, y, self.rates.for_executor(executor, t, y), out);
    }
}
