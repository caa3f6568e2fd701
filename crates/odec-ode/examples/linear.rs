//! Measures the solvers of linear systems on the method-of-lines problems: `cargo run --release -p odec-ode --example
//! linear -- [problem] [--method NAME] [--refs DIR]`. Each row is the fastest of several runs, with the mean of their
//! processor times. Errors are relative to the reference end values in DIR: files with one number per line, the
//! fields of a cell side by side.

#[path = "../tests/common/grids.rs"]
#[allow(dead_code, reason = "the rest is for the tests")]
mod grids;

use std::ops::ControlFlow;
use std::time::Instant;

use grids::Grid;
use odec_ode::linear::LinearSolver;
use odec_ode::{Options, Outcome, Problem, Samples, Sink, SolveError, method, solve};

struct Ignore;

impl Sink for Ignore {
    fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// A problem with its end, the number of fields, and the methods and solvers that are worth a run.
struct Case {
    name: &'static str,
    make: fn() -> Grid,
    t_end: f64,
    fields: usize,
    /// Exponents of the tolerances.
    tolerances: std::ops::RangeInclusive<i32>,
    runs: &'static [(&'static str, LinearSolver)],
}

const LINE: &[(&str, LinearSolver)] =
    &[("rodas4", LinearSolver::Auto), ("rodas5p", LinearSolver::Auto), ("bdf", LinearSolver::Auto)];
const SQUARE: &[(&str, LinearSolver)] =
    &[("bdf", LinearSolver::Auto), ("kencarp4", LinearSolver::Auto), ("rodas4", LinearSolver::Sparse)];
const LARGE: &[(&str, LinearSolver)] = &[("bdf", LinearSolver::Auto), ("kencarp4", LinearSolver::Auto)];

const CASES: &[Case] = &[
    Case {
        name: "heat1d_1e6",
        make: || grids::heat_line(1_000_000),
        t_end: 1e-3,
        fields: 1,
        tolerances: 3..=3,
        runs: LINE,
    },
    Case {
        name: "bruss2d_707",
        make: || grids::brusselator_square(707),
        t_end: 0.1,
        fields: 2,
        tolerances: 3..=3,
        runs: LARGE,
    },
    Case {
        name: "bruss1d_50",
        make: || grids::brusselator_line(50),
        t_end: 10.0,
        fields: 2,
        tolerances: 2..=8,
        runs: LINE,
    },
    Case {
        name: "bruss1d_500",
        make: || grids::brusselator_line(500),
        t_end: 10.0,
        fields: 2,
        tolerances: 2..=8,
        runs: LINE,
    },
    Case {
        name: "bruss1d_5000",
        make: || grids::brusselator_line(5_000),
        t_end: 10.0,
        fields: 2,
        tolerances: 2..=8,
        runs: LINE,
    },
    Case { name: "heat2d_64", make: || grids::heat_square(64), t_end: 0.1, fields: 1, tolerances: 2..=8, runs: SQUARE },
    Case {
        name: "bruss2d_32",
        make: || grids::brusselator_square(32),
        t_end: 11.5,
        fields: 2,
        tolerances: 2..=8,
        runs: SQUARE,
    },
    Case {
        name: "bruss2d_128",
        make: || grids::brusselator_square(128),
        t_end: 11.5,
        fields: 2,
        tolerances: 2..=8,
        runs: LARGE,
    },
];

fn once(system: &Grid, t_end: f64, name: &str, options: &Options) -> Result<(f64, Outcome), SolveError> {
    let problem = Problem { t0: 0.0, t_end, y0: system.y0.clone() };
    let samples = Samples::Times(vec![t_end]);
    let method = method::find(name)?;
    let start = Instant::now();
    let outcome = solve(system, &problem, method, options, &samples, &mut Ignore)?;
    Ok((start.elapsed().as_secs_f64() * 1e3, outcome))
}

/// Milliseconds of processor time of this process, if the system reports it; other processes do not affect it.
fn processor() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split_whitespace().next()?.parse::<f64>().ok().map(|ns| ns * 1e-6)
}

fn error(y: &[f64], reference: &[f64], fields: usize) -> f64 {
    let cells = y.len() / fields;
    let of = |i: usize| reference[(i % cells) * fields + i / cells];
    (0..y.len()).map(|i| (y[i] - of(i)).abs() / (of(i).abs() + 1.0)).fold(0.0, f64::max)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let only = arguments.iter().position(|a| a == "--method").and_then(|k| arguments.get(k + 1));
    let refs = arguments.iter().position(|a| a == "--refs").and_then(|k| arguments.get(k + 1));
    let wanted = arguments.first().filter(|a| !a.starts_with("--"));
    for case in CASES.iter().filter(|case| wanted.is_none_or(|w| case.name.contains(w.as_str()))) {
        let system = (case.make)();
        let reference: Option<Vec<f64>> = refs
            .and_then(|dir| std::fs::read_to_string(format!("{dir}/{}.txt", case.name)).ok())
            .map(|text| text.split_whitespace().filter_map(|v| v.parse().ok()).collect())
            .filter(|values: &Vec<f64>| values.len() == system.y0.len());
        // Work before the first step: patterns, orders, memory.
        let setup = |name: &str, options: &Options| {
            let short = 1e-9 * case.t_end;
            let used = processor();
            let runs = if system.y0.len() > 100_000 { 1 } else { 20 };
            for _ in 0..runs {
                let _ = once(&system, short, name, options);
            }
            processor().zip(used).map_or(0.0, |(now, then)| (now - then) / f64::from(runs))
        };
        println!("{}", case.name);
        for (name, linear) in case.runs.iter().filter(|(name, _)| only.is_none_or(|o| o == name)) {
            for exponent in case.tolerances.clone() {
                let rtol = 10f64.powi(-exponent);
                let options = Options { rtol, atol: vec![rtol], linear: *linear, ..Options::default() };
                let mut best: Option<(f64, Outcome)> = None;
                let begun = Instant::now();
                let mut runs = 0;
                let used = processor();
                for repeat in 0..50 {
                    if repeat > 0 && begun.elapsed().as_secs_f64() > 0.3 {
                        break;
                    }
                    runs += 1;
                    match once(&system, case.t_end, name, &options) {
                        Ok((ms, outcome)) if best.as_ref().is_none_or(|(least, _)| ms < *least) => {
                            best = Some((ms, outcome));
                        }
                        Ok(_) => {}
                        Err(e) => {
                            println!("  {name} rtol {rtol:e}: {e:?}");
                            break;
                        }
                    }
                }
                let Some((ms, outcome)) = best else { continue };
                let mean = processor().zip(used).map_or(ms, |(now, then)| (now - then) / f64::from(runs));
                if exponent == *case.tolerances.start() {
                    println!(
                        "  {name}, {:.3} ms before the first step: {}",
                        setup(name, &options),
                        outcome.linear.as_ref().map(ToString::to_string).unwrap_or_default()
                    );
                }
                let s = outcome.stats;
                let error = reference.as_ref().map(|r| format!("{:.2e}", error(&outcome.y, r, case.fields)));
                println!(
                    "    rtol {rtol:.0e}  {ms:9.3} ms (mean {mean:.3})  error {}  steps {}+{} f {} J {} LU {} solves {} newton {} iterations {}",
                    error.unwrap_or("-".to_string()),
                    s.accepted,
                    s.rejected + s.failed,
                    s.rhs,
                    s.jacobians,
                    s.factorisations,
                    s.solves,
                    s.newton,
                    outcome.linear.map_or(0, |l| l.iterations),
                );
            }
        }
    }
}
