//! Measures the cost of many runs on one thread.
//!
//! `cargo run --release -p odec-sim --example ensemble -- models/lorenz.ode auto 10 1e-6 10000`, with the factor of atol behind, if wanted

use std::ops::ControlFlow;
use std::time::Instant;

use odec_lang::source::Source;
use odec_ode::problem::{Options, Samples};
use odec_ode::{Runner, Sink, method};
use odec_sim::bind::{Bound, Purpose, RunPlan};
use odec_sim::choices::Choices;

struct Nothing;

impl Sink for Nothing {
    fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn bind(path: &str, method: &str, t_end: f64) -> Option<Bound> {
    let source = Source::new(path, std::fs::read_to_string(path).ok()?);
    let (model, _) = odec_lang::analyse(&odec_lang::parse(&source).0, &source);
    let mut model = model?;
    model.expects.clear();
    let choices = Choices { method: Some(method.into()), t0: Some(0.0), t_end: Some(t_end), ..Choices::default() };
    let plan = RunPlan::new(&model, &choices, Purpose::Method).ok()?;
    let program = odec_lang::lower(&model, &plan.overrides).ok()?;
    plan.bind(&model, &source, program).ok()
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, name, t_end, rtol, count, rest @ ..] = args.as_slice() else { return };
    let (Ok(t_end), Ok(rtol), Ok(count)) = (t_end.parse(), rtol.parse::<f64>(), count.parse::<usize>()) else { return };
    let Some(bound) = bind(path, name, t_end) else { return };
    let floor = rest.first().and_then(|text| text.parse::<f64>().ok()).unwrap_or(1.0);
    bound.executor.expect_many_runs();
    let Ok(method) = method::find(name) else { return };
    let options = Options { rtol, atol: vec![rtol * floor], fixed: false, step: None, ..bound.options.clone() };
    let mut runner = Runner::new(&bound.executor, method, &options).expect("a runner");
    let (mut least, mut steps) = (f64::INFINITY, 0);
    for _ in 0..5 {
        steps = 0;
        let begun = Instant::now();
        for k in 0..count {
            let mut problem = bound.problem.clone();
            problem.y0[0] *= 0.5 + (k as f64 + 0.5) / count as f64;
            let outcome = runner.run(&bound.executor, &problem, &Samples::Times(vec![]), &mut Nothing).expect("an end");
            steps += outcome.stats.accepted + outcome.stats.rejected;
        }
        least = least.min(begun.elapsed().as_secs_f64());
    }
    println!(
        "{:.1} ms, {:.2} us a run, {:.1} ns a step",
        1e3 * least,
        1e6 * least / count as f64,
        1e9 * least / steps as f64
    );
}
