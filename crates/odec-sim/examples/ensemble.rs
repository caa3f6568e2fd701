//! What many runs on one thread cost, one after the other and in turns.
//!
//! `cargo run --release -p odec-sim --example ensemble -- models/lorenz.ode auto 10 1e-6 10000`, with the factor of atol and one of the numbers of runs in turns behind, if wanted

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::time::Instant;

use odec_lang::source::Source;
use odec_ode::problem::{Options, Samples};
use odec_ode::{Runner, Sink, method};
use odec_sim::bind::{Bound, Plan, Purpose};
use odec_sim::choices::Choices;
use odec_sim::together::{LANES, Lane, together};

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
    let plan = Plan::new(&model, &choices, Purpose::Method).ok()?;
    let program = odec_lang::lower(&model, &plan.overrides).ok()?;
    plan.bind(&model, &source, program).ok()
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, name, t_end, rtol, count, rest @ ..] = args.as_slice() else { return };
    let (Ok(t_end), Ok(rtol), Ok(count)) = (t_end.parse(), rtol.parse::<f64>(), count.parse::<usize>()) else { return };
    let Some(bound) = bind(path, name, t_end) else { return };
    let floor = rest.first().and_then(|text| text.parse::<f64>().ok()).unwrap_or(1.0);
    bound.machine.expect_many_runs();
    let Ok(method) = method::find(name) else { return };
    let options = Options { rtol, atol: vec![rtol * floor], fixed: false, step: None, ..bound.options.clone() };
    let strands: Vec<RefCell<(Bound, Option<Runner>)>> =
        (0..LANES).map(|_| RefCell::new((bound.fork(), None))).collect();
    let pass = |lanes: usize| {
        let (next, sum, steps) = (Cell::new(0), RefCell::new(vec![0.0; count]), Cell::new(0));
        let begun = Instant::now();
        let work = |number: usize, lane: &Lane<'_>| {
            let (bound, runner) = &mut *strands[number].borrow_mut();
            while next.get() < count {
                let k = next.replace(next.get() + 1);
                let mut problem = bound.problem.clone();
                problem.y0[0] *= 0.5 + (k as f64 + 0.5) / count as f64;
                let system = lane.system(&bound.machine);
                let runner = runner.get_or_insert_with(|| Runner::new(&system, method, &options).expect("a runner"));
                let outcome = runner.run(&system, &problem, &Samples::Times(vec![]), &mut Nothing).expect("an end");
                sum.borrow_mut()[k] = outcome.y.iter().sum::<f64>();
                steps.set(steps.get() + outcome.stats.accepted + outcome.stats.rejected);
            }
        };
        together(lanes, &work);
        (begun.elapsed().as_secs_f64(), sum.into_inner(), steps.get())
    };
    let mut ends = vec![];
    let only = rest.get(1).and_then(|text| text.parse::<usize>().ok());
    for lanes in [1, 2, LANES].into_iter().filter(|lanes| only.is_none_or(|only| only == *lanes)) {
        let mut least = f64::INFINITY;
        let mut steps = 0;
        for _ in 0..5 {
            let (seconds, sums, all) = pass(lanes);
            least = least.min(seconds);
            steps = all;
            ends = if ends.is_empty() { sums.clone() } else { ends };
            let same = ends.iter().zip(&sums).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "the same bits");
        }
        println!(
            "{lanes} in turns: {:.1} ms, {:.2} us a run, {:.1} ns a step",
            1e3 * least,
            1e6 * least / count as f64,
            1e9 * least / steps as f64
        );
    }
}
