//! All rows of a run, by name.

use std::ops::ControlFlow;

use odec_lang::diagnostic::Diagnostic;
use odec_ode::problem::Stats;

use super::{Error, Simulation, Solved};
use crate::memory::MemoryEstimate;
use crate::sample::Recorder;

/// All rows of a run that has reached its end.
#[derive(Clone, Debug)]
pub struct Solution {
    names: Vec<String>,
    /// The rows one after another, [`Solution::columns`] values each.
    values: Vec<f64>,
    /// Counts of the work.
    pub stats: Stats,
    /// Warnings about the run.
    pub warnings: Vec<Diagnostic>,
}

struct KeptRows(Vec<f64>);

impl Recorder for KeptRows {
    fn row(&mut self, values: &[f64]) -> ControlFlow<()> {
        self.0.extend_from_slice(values);
        ControlFlow::Continue(())
    }
}

impl Solution {
    pub(super) fn of(simulation: &Simulation) -> Result<Solution, Error> {
        let bound = simulation.bound();
        let rows = bound.samples.count().unwrap_or(1);
        let need = MemoryEstimate::of_run(bound).keeping(rows, bound.columns.len() as u64);
        need.within(simulation.choices().max_memory).map_err(|d| simulation.error(vec![*d]))?;
        let mut keep = KeptRows(vec![]);
        let Solved { result, seen } = simulation.run(&mut keep);
        let outcome = result.map_err(|why| simulation.explain_seen(&why, &seen, &[]))?;
        let names = simulation.bound().columns.names().collect();
        Ok(Solution {
            names,
            values: keep.0,
            stats: outcome.stats,
            warnings: simulation.warnings_of_rows(&seen, &|| false).warnings,
        })
    }

    /// Names of the columns, the independent variable first.
    pub fn columns(&self) -> &[String] {
        &self.names
    }

    /// The rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.names.len())
    }

    /// The values of a column, one for each row; `None` if there is no such column.
    pub fn column(&self, name: &str) -> Option<impl ExactSizeIterator<Item = f64> + '_> {
        let k = self.names.iter().position(|n| n == name)?;
        Some(self.rows().map(move |row| row[k]))
    }
}
