//! `odec bench`: what solving a model costs, method by method and tolerance by tolerance: time of the solution alone, counts,
//! and the error reached.

use std::ops::ControlFlow;
use std::time::Instant;

use odec_lang::diagnostic::codes;
use odec_ode::method::Method;
use odec_ode::problem::{Options, Samples, SolveError};
use odec_ode::{Runner, Sink};
use odec_sim::bind::{Bound, Purpose};
use odec_sim::choose;
use odec_sim::compare::{self, End, Measurement};
use odec_sim::reference::{Gone, Reference, accurate, even_times};
use odec_sim::{Error, blame};
use serde::Serialize;

use crate::args::{Bench, RunBlock};
use crate::exit::Exit;
use crate::flags;
use crate::input::error;
use crate::report::Reporter;
use crate::rows::{print, shortest};
use crate::session::{self, simulate};
use crate::signal;
use crate::summary::{brief, grouped, short_duration};

/// Methods unless others are named: the default of a run, and one of each family that is used for its speed.
const DEFAULT: [&str; 7] = ["auto", "rodas4", "rodas5p", "radau5", "bdf", "tsit5", "vern7"];
/// Relative tolerances unless others are given.
const RTOLS: [f64; 3] = [1e-4, 1e-6, 1e-8];
/// Repetitions end after this time, whatever was asked for; the table says how many there were.
const LONGEST: f64 = 10.0;
/// Times at which errors are measured.
const TIMES: usize = 100;
/// Steps of one run; a method that needs more is out of place.
const BUDGET: u64 = 1_000_000;

/// One row of the table.
#[derive(Serialize)]
struct Line {
    method: &'static str,
    rtol: f64,
    /// `reached`, or how the run ended instead.
    end: String,
    /// Why the method was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Largest error at the times of comparison, relative with a floor of atol/rtol; null where there is none.
    error: Option<f64>,
    /// Seconds of the fastest and of the median run.
    minimum: Option<f64>,
    median: Option<f64>,
    repeats: usize,
    steps: u64,
    rejected: u64,
    f: u64,
    jacobians: u64,
    factorisations: u64,
}

/// Looks at nothing, but stops when asked to.
struct Nothing;

impl Sink for Nothing {
    fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn step(&mut self, _: f64) -> ControlFlow<()> {
        if signal::asked_to_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Measures and prints.
pub fn bench(args: &Bench, reporter: Reporter) -> Result<Exit, Error> {
    if args.block.method.is_some() || args.block.rtol.is_some() {
        let help = "for example `--methods rodas4,bdf --rtols 1e-4,1e-8`";
        let headline = "`odec bench` takes `--methods` and `--rtols`, not `--method` and `--rtol`";
        return Err(error(&codes::E0705, headline.into(), Some(help.into())).into());
    }
    if args.block.step.is_some() || args.block.samples.is_some() {
        let help = "`odec compare` takes `--steps`; `odec run` takes both";
        let headline = "`odec bench` takes neither `--step` nor `--samples`: steps follow the tolerances, and only the end is kept";
        return Err(error(&codes::E0705, headline.into(), Some(help.into())).into());
    }
    let names: Vec<&str> = match args.methods.is_empty() {
        true => DEFAULT.to_vec(),
        false => args.methods.iter().map(|name| name.trim()).collect(),
    };
    let methods = choose::named(&names)?;
    let mut rtols = if args.rtols.is_empty() { RTOLS.to_vec() } else { vec![] };
    for text in &args.rtols {
        rtols.push(flags::tolerance(text.trim())?);
    }
    let block = RunBlock { method: methods.first().map(|m| m.name.to_string()), ..args.block.clone() };
    let simulation = simulate(&args.model, &block, Purpose::Rows, reporter)?;
    signal::listen();
    let bound = simulation.bound();
    let budget = if args.block.max_steps.is_some() { bound.options.max_steps } else { BUDGET };
    let measured = accurate(bound, &even_times(bound, TIMES), &signal::asked_to_stop).and_then(|reference| {
        compare::warm(bound);
        let mut lines = vec![];
        for &method in &methods {
            for &rtol in &rtols {
                lines.push(line(bound, method, &options(bound, rtol, budget), args.repeat as usize, &reference)?);
            }
        }
        Ok((reference, lines))
    });
    match measured {
        Ok((reference, lines)) => {
            let write = if args.json { json } else { text };
            let printed = print(&write(&simulation.model().name, &reference, &lines))?;
            let none = lines.iter().all(|line| line.minimum.is_none());
            Ok(printed.or(if none { Exit::RUN } else { Exit::Success }))
        }
        Err(gone) => session::gone(&simulation, gone),
    }
}

/// The options of the model's run at another tolerance, the absolute ones in proportion.
fn options(bound: &Bound, rtol: f64, max_steps: u64) -> Options {
    let own = &bound.options;
    let atol = own.atol.iter().map(|a| a * (rtol / own.rtol)).collect();
    Options { rtol, atol, fixed: false, step: None, max_steps, ..own.clone() }
}

fn line(
    bound: &Bound,
    method: &'static Method,
    options: &Options,
    repeat: usize,
    reference: &Reference,
) -> Result<Line, Gone> {
    let Measurement { end, error, stats, .. } =
        compare::measure(bound, method, options, reference, &signal::asked_to_stop)?;
    let mut seconds = vec![];
    if matches!(end, End::Reached) {
        let samples = Samples::Times(vec![bound.problem.t_end]);
        let mut runner = Runner::new(&bound.machine, method, options)
            .map_err(|refusal| Gone::Failed(SolveError::Refused(refusal)))?;
        let clock = Instant::now();
        while seconds.len() < repeat && clock.elapsed().as_secs_f64() < LONGEST {
            let start = Instant::now();
            let result = runner.run(&bound.machine, &bound.problem, &samples, &mut Nothing);
            seconds.push(start.elapsed().as_secs_f64());
            if signal::asked_to_stop() {
                return Err(Gone::Interrupted);
            }
            if let Err(why) = result {
                return Err(Gone::Failed(why));
            }
        }
    }
    seconds.sort_by(f64::total_cmp);
    Ok(Line {
        method: method.name,
        rtol: options.rtol,
        end: match &end {
            End::Reached => "reached".to_string(),
            End::BlewUp(t) => format!("blew up by {}", brief(*t)),
            End::Failed(t) => format!("failed at {}", brief(*t)),
            End::Refused(_) => "refused".to_string(),
        },
        reason: if let End::Refused(refusal) = &end { Some(blame::reason(refusal)) } else { None },
        error: Some(error).filter(|e| e.is_finite()),
        minimum: seconds.first().copied(),
        median: seconds.get(seconds.len() / 2).copied(),
        repeats: seconds.len(),
        steps: stats.accepted,
        rejected: stats.rejected + stats.failed,
        f: stats.rhs,
        jacobians: stats.jacobians,
        factorisations: stats.factorisations,
    })
}

fn text(model: &str, reference: &Reference, lines: &[Line]) -> String {
    let mut table = vec![
        ["method", "rtol", "end", "error", "minimum", "median", "runs", "steps", "rejected", "f", "J", "LU"]
            .map(String::from)
            .to_vec(),
    ];
    for line in lines {
        let seconds = |s: Option<f64>| s.map_or("-".to_string(), short_duration);
        let mut row = vec![line.method.to_string(), shortest(line.rtol), line.end.clone()];
        row.push(line.error.map_or("-".to_string(), |e| format!("{e:.2e}")));
        row.extend([seconds(line.minimum), seconds(line.median), line.repeats.to_string()]);
        row.extend([line.steps, line.rejected, line.f, line.jacobians, line.factorisations].map(grouped));
        table.push(row);
    }
    let mut notes: Vec<String> = lines
        .iter()
        .filter_map(|line| line.reason.as_ref().map(|reason| format!("{}: {reason}\n", line.method)))
        .collect();
    notes.dedup();
    if !notes.is_empty() {
        notes.insert(0, "\n".to_string());
    }
    format!(
        "{model}: solving alone, compiled beforehand; errors against {} at rtol {}, accurate to about {}\n\n{}{}",
        reference.method,
        shortest(reference.rtol),
        brief(reference.error),
        super::table(&table, &[true, false, true]),
        notes.concat()
    )
}

fn json(model: &str, reference: &Reference, lines: &[Line]) -> String {
    let reference = serde_json::json!({
        "method": reference.method, "rtol": reference.rtol, "error": reference.error,
    });
    let value = serde_json::json!({ "model": model, "reference": reference, "runs": lines });
    format!("{value:#}\n")
}
