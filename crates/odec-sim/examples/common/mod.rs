//! Shared code of the examples that measure kernels.

use std::time::Instant;

use odec_lang::source::Source;
use odec_sim::bind::{Bound, Purpose, RunPlan};
use odec_sim::choices::Choices;

/// Model in a file, bound to its own parameters and run; `None` if the file is not a model.
pub fn bind(path: &str) -> Option<Bound> {
    let source = Source::new(path, std::fs::read_to_string(path).ok()?);
    let (model, _) = odec_lang::analyse(&odec_lang::parse(&source).0, &source);
    let model = model?;
    let choices = Choices::default();
    let plan = RunPlan::new(&model, &choices, Purpose::Rows).ok()?;
    let program = odec_lang::lower(&model, &plan.overrides).ok()?;
    plan.bind(&model, &source, program).ok()
}

/// Least time of some runs, in seconds.
pub fn least(count: usize, mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..count {
        let begun = Instant::now();
        work();
        best = best.min(begun.elapsed().as_secs_f64());
    }
    best
}
