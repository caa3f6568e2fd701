//! Solution of a problem at any times, with errors far below the measured tolerances.
//!
//! A run of high accuracy makes its own steps. A state inside a step is the end of a separate run from the start of
//! that step, so no dense output is involved. If the equations switch, the states are rows of one run.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use odec_ode::method::{self, Method};
use odec_ode::problem::{Options, Samples};
use odec_ode::runner::{Reached, StepRequest};
use odec_ode::{Runner, Sink};

use crate::problem::Problem;

/// Attempts in this order: method, relative tolerance, absolute tolerance relative to it and to the size of an
/// unknown, largest number of steps.
const TRIED: [(&str, f64, f64, u64); 5] = [
    ("vern9", 1e-13, 1e-6, 50_000),
    ("radau5", 1e-12, 1e-6, 200_000),
    ("rodas5p", 1e-11, 1e-6, 500_000),
    // across jumps of f
    ("vern7", 1e-11, 1e-6, 500_000),
    // algebraic equations
    ("radau5", 1e-11, 1e-2, 500_000),
];

/// Sink that ignores rows.
struct Nothing;

impl Sink for Nothing {
    fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// States at `times`, which ascend, and the name of the method.
///
/// # Errors
/// No method reached the end.
pub fn states(problem: &Problem, sizes: &[f64], times: &[f64]) -> Result<(Vec<Vec<f64>>, &'static str), String> {
    let mut said = String::new();
    for (name, rtol, floor, steps) in TRIED {
        let method = method::find(name).expect("a method of the table");
        let atol = sizes.iter().map(|size| rtol * floor * size).collect();
        let max_steps = steps.min(20_000_000 / problem.n() as u64);
        let options = Options { rtol, atol, max_steps, ..problem.options(rtol, 0.0) };
        let found = if problem.bound().located.is_some() {
            with_switches(problem, method, options, times)
        } else {
            by(problem, method, &options, times)
        };
        match found {
            Ok(states) => return Ok((states, name)),
            Err(why) => said = why,
        }
    }
    Err(said)
}

/// The same where the equations switch: rows of one run, whose steps end at the switches.
fn with_switches(
    problem: &Problem,
    method: &'static Method,
    options: Options,
    times: &[f64],
) -> Result<Vec<Vec<f64>>, String> {
    let mut found: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    let samples = Samples::Times(times.to_vec());
    problem
        .run(method, options, samples, &mut |t, y| drop(found.insert(t.to_bits(), y.to_vec())))
        .map_err(|e| format!("{}: {e:?}", method.name))?;
    let at = |t: &f64| found.remove(&t.to_bits()).ok_or_else(|| format!("{}: no row at {t}", method.name));
    times.iter().map(at).collect()
}

fn by(problem: &Problem, method: &'static Method, options: &Options, times: &[f64]) -> Result<Vec<Vec<f64>>, String> {
    let system = &problem.bound().executor;
    let span = &problem.bound().problem;
    let whole = |e| format!("{}: {e:?}", method.name);
    let mut run = Runner::new(system, method, options).map_err(|e| format!("{e:?}"))?;
    // the first step of these runs covers their whole span
    let short = Options { step: Some((span.t_end - span.t0).abs()), ..options.clone() };
    let mut aside = Runner::new(system, method, &short).map_err(|e| format!("{e:?}"))?;
    run.begin(system, span).map_err(whole)?;
    let mut found = Vec::with_capacity(times.len());
    let mut from = odec_ode::Problem { t0: span.t0, t_end: span.t0, y0: span.y0.clone() };
    let mut reached = Reached::Step;
    for &t in times {
        while run.time() < t && reached != Reached::End {
            from.t0 = run.time();
            from.y0.copy_from_slice(run.state());
            reached = run.advance(system, StepRequest::default()).map_err(whole)?;
        }
        if run.time() == t {
            found.push(run.state().to_vec());
            continue;
        }
        from.t_end = t;
        let end = aside.run(system, &from, &Samples::Times(vec![]), &mut Nothing).map_err(whole)?;
        found.push(end.y);
    }
    Ok(found)
}
