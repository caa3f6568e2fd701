//! `odec bench`: the cost of solving a model for each method and tolerance: time of the solution, counts, and the
//! error.

use odec_lang::diagnostic::codes;
use odec_sim::bind::Purpose;
use odec_sim::blame::grouped;
use odec_sim::compare::End;
use odec_sim::quantities::Quantities;
use odec_sim::reference::Reference;
use odec_sim::timing::{self, Cost, Measurements};
use odec_sim::work::{self, Watch};
use odec_sim::{Error, blame, choose};
use serde::Serialize;

use crate::args::{Bench, RunBlock};
use crate::exit::Exit;
use crate::flags;
use crate::input::error;
use crate::report::Reporter;
use crate::rows::{print, shortest};
use crate::session::{self, simulate};
use crate::signal;
use crate::summary::{brief, short_duration};

/// One row of the table.
#[derive(Serialize)]
struct Line {
    method: &'static str,
    rtol: f64,
    /// `reached`, or how else the run ended.
    end: String,
    /// Reason for a refusal of the method.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Largest error at the times of comparison, divided by the largest size of its state plus atol/rtol; null if there
    /// is none.
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

/// Measures and prints the costs.
pub fn bench(args: &Bench, reporter: Reporter) -> Result<Exit, Error> {
    if args.block.method.is_some() || args.block.rtol.is_some() {
        let help = "for example `--methods rodas4,bdf --rtols 1e-4,1e-8`";
        let headline = "`odec bench` has the flags `--methods` and `--rtols`, not `--method` and `--rtol`";
        return Err(error(&codes::E0705, headline.into(), Some(help.into())).into());
    }
    if args.block.step.is_some() || args.block.samples.is_some() {
        let help = "use `odec compare` for `--step`, or `odec run` for both";
        let headline = "`odec bench` has no `--step` and no `--samples`: it varies the tolerances and keeps only the \
                        end of each run";
        return Err(error(&codes::E0705, headline.into(), Some(help.into())).into());
    }
    let names: Vec<&str> = if args.methods.is_empty() {
        timing::DEFAULT.to_vec()
    } else {
        args.methods.iter().map(|name| name.trim()).collect()
    };
    let methods = choose::named(&names)?;
    let mut rtols = if args.rtols.is_empty() { timing::RTOLS.to_vec() } else { vec![] };
    for text in &args.rtols {
        rtols.push(flags::tolerance(text.trim())?);
    }
    let block = RunBlock { method: methods.first().map(|m| m.name.to_string()), ..args.block.clone() };
    let simulation = simulate(&args.model, &block, Purpose::Comparison, reporter)?;
    simulation.without_events()?;
    signal::listen();
    let bound = simulation.bound();
    let budget = args.block.max_steps.as_ref().map(|_| bound.options.max_steps);
    let schedule = Measurements { methods, rtols, repeat: args.repeat as usize, budget };
    work::need(bound).within(simulation.choices().max_memory)?;
    let watch = Watch { clock: &session::seconds, stop: &signal::asked_to_stop };
    match timing::costs(bound, &schedule, watch) {
        Ok((reference, costs)) => {
            let lines: Vec<Line> = costs.iter().map(|cost| line(cost, &bound.states)).collect();
            let write = if args.json { json } else { text };
            let printed = print(&write(&simulation.model().name, &reference, &lines))?;
            let none = lines.iter().all(|line| line.minimum.is_none());
            Ok(printed.or(if none { Exit::RUN } else { Exit::Success }))
        }
        Err(why) => session::unfinished(&simulation, why),
    }
}

fn line(cost: &Cost, states: &Quantities) -> Line {
    let stats = &cost.stats;
    Line {
        method: cost.method.name,
        rtol: cost.rtol,
        end: match &cost.end {
            End::Reached => "reached".to_string(),
            End::BlewUp(t) => format!("blew up by {}", brief(*t)),
            End::Failed(t) => format!("failed at {}", brief(*t)),
            End::Refused(_) => "refused".to_string(),
        },
        reason: if let End::Refused(refusal) = &cost.end { Some(blame::reason(refusal, states)) } else { None },
        error: Some(cost.error).filter(|e| e.is_finite()),
        minimum: cost.minimum(),
        median: cost.median(),
        repeats: cost.seconds.len(),
        steps: stats.accepted,
        rejected: stats.rejected + stats.failed,
        f: stats.rhs,
        jacobians: stats.jacobians,
        factorisations: stats.factorisations,
    }
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
        "{model}: solution time only, after compilation; errors against {} at rtol {}, accurate to about {}\n{}\n\n\
         {}{}",
        reference.method,
        shortest(reference.rtol),
        brief(reference.error),
        super::MEASURE,
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
