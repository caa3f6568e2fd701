//! The warnings of a sweep: one of each code, with the number of runs that have it.

use std::collections::BTreeMap;

use odec_lang::diagnostic::Diagnostic;

use super::Done;
use crate::blame::grouped;

/// Collects the warnings of runs.
#[derive(Clone, Debug, Default)]
pub struct SweepWarnings {
    runs: u64,
    /// For each code: the number of runs with the warning, and the first warning.
    codes: BTreeMap<&'static str, (u64, Diagnostic)>,
}

impl SweepWarnings {
    /// Adds a run.
    pub fn add(&mut self, done: &Done) {
        self.runs += 1;
        for d in &done.warnings {
            self.codes.entry(d.code.code).or_insert_with(|| (0, d.clone())).0 += 1;
        }
    }

    /// The first warning of each code. Of several runs, its headline gives the number of those that have it.
    pub fn list(&self) -> Vec<Diagnostic> {
        let of = |(count, d): &(u64, Diagnostic)| {
            let runs = if self.runs == 1 {
                String::new()
            } else {
                format!("in {} of {} runs, first in this one: ", grouped(*count), grouped(self.runs))
            };
            Diagnostic { headline: format!("{runs}{}", d.headline), ..d.clone() }
        };
        self.codes.values().map(of).collect()
    }

    /// The numbers of runs with each code, in the order of the warnings.
    pub fn numbers(&self) -> Vec<u64> {
        self.codes.values().map(|(count, _)| *count).collect()
    }

    /// The first warning of each code as its run gives it.
    pub fn first(&self) -> Vec<Diagnostic> {
        self.codes.values().map(|(_, d)| d.clone()).collect()
    }
}
