//! `odec fit`: parameters and initial values by least squares, with errors and intervals, and the combinations that
//! the data do not determine.

mod command;
mod options;
mod parts;
mod report;

use std::path::Path;

use odec_lang::diagnostic::codes;
use odec_sim::Error;
use odec_sim::fit::{Attempt, Fit, Halted};

use self::options::FitOptions;
use super::run::write_stats;
use crate::args;
use crate::exit::Exit;
use crate::input::{error, keep_apart};
use crate::report::{Detail, Reporter, say};
use crate::rows::print;
use crate::session::load;
use crate::signal;
use crate::table::Format;
use crate::whole::write_file;

/// Checks that the residuals go to a CSV file, and not to the place of the report.
fn written_as_csv(path: &Path) -> Result<(), Error> {
    if path != Path::new("-") && matches!(Format::of(path), Ok(Format::Csv)) {
        return Ok(());
    }
    let headline = format!("odec writes residuals as CSV, but `{}` does not name a CSV file", path.display());
    Err(error(&codes::E0850, headline, Some("choose a name such as `residuals.csv`".into())).into())
}

/// The best of several starts, and the results of all.
struct Best {
    point: Vec<f64>,
    ended: odec_sim::fit::Ended,
    /// Sum of squares of each start; `None` without a run.
    squares: Vec<Option<f64>>,
    evaluations: u64,
}

/// Fits the model, prints the report and writes the files.
pub fn fit(args: &args::fit::FitArgs, reporter: Reporter) -> Result<Exit, Error> {
    let loaded = load(&args.model(), reporter, Detail::Short)?;
    let asked = FitOptions::of(args, &loaded, reporter)?;
    let outputs = [
        ("-o", args.output.as_deref().filter(|_| args.shard.is_none())),
        ("--plot", args.plot.as_deref()),
        ("--stats", args.stats.as_deref()),
    ];
    keep_apart(&asked.inputs, &outputs)?;
    if let Some(path) = args.output.as_deref().filter(|_| args.shard.is_none()) {
        written_as_csv(path)?;
    }
    if let Some(path) = &args.plot {
        crate::figure::format(path)?;
    }
    signal::listen();
    let fit = Fit::new(&loaded, &asked.choices, &asked.sets, &asked.quantities)?;
    let drawn = fit.points(asked.starts, asked.seed)?;
    let part = asked.part(args, &loaded)?;
    let best = match (&args.join, &part) {
        (Some(folder), _) => parts::join(folder, &asked.digest(&loaded)?, asked.starts)?,
        (None, Some(part)) if part.made()? => {
            if !reporter.quiet() && reporter.human() {
                say(&part.there());
            }
            return Ok(Exit::Success);
        }
        (None, part) => {
            let range = part.as_ref().map_or(0..asked.starts, |part| part.starts(asked.starts));
            match fit.attempts(&drawn, range, asked.threads, &signal::asked_to_stop) {
                Ok(attempts) => best(attempts, part.is_some())?,
                Err(Halted) => return Ok(Exit::Interrupted),
            }
        }
    };
    if let Some(part) = part {
        part.publish(&best)?;
        return Ok(Exit::Success);
    }
    finish(&fit, args, &asked, &best, reporter)
}

/// The lowest end; the first one of equal ends, so that the result does not depend on threads or machines. A part of
/// the starts may have none.
fn best(attempts: Vec<Attempt>, part: bool) -> Result<Best, Error> {
    let squares: Vec<Option<f64>> = attempts.iter().map(Attempt::squares).collect();
    let evaluations = attempts.iter().map(|a| a.end.as_ref().map_or(1, |d| u64::from(d.evaluations))).sum();
    let (mut lowest, mut trouble) = (None::<odec_sim::fit::descent::Descent>, None);
    for attempt in attempts {
        match attempt.end {
            Ok(descent) if lowest.as_ref().is_none_or(|l| descent.evaluation.squares() < l.evaluation.squares()) => {
                lowest = Some(descent);
            }
            Ok(_) => {}
            Err(why) => drop(trouble.get_or_insert(why)),
        }
    }
    match (lowest, trouble) {
        (Some(lowest), _) => Ok(Best { point: lowest.point, ended: lowest.ended, squares, evaluations }),
        (None, _) if part => {
            let ended = odec_sim::fit::Ended::Stuck;
            Ok(Best { point: Vec::new(), ended, squares, evaluations })
        }
        (None, Some(why)) => Err(*why),
        (None, None) => Err(error(&codes::E0855, "the fit has no starting point".into(), None).into()),
    }
}

/// Prints the report and writes the requested files.
fn finish(
    fit: &Fit,
    args: &args::fit::FitArgs,
    asked: &FitOptions,
    best: &Best,
    reporter: Reporter,
) -> Result<Exit, Error> {
    let found = report::FitReport::of(fit, best, asked.level)?;
    reporter.diagnostics(fit.simulation(0).map(odec_sim::Simulation::source), &found.warnings, Detail::Full);
    print(&found.text(args))?;
    if let Some(path) = &args.plot {
        found.draw(path, reporter)?;
    }
    if let Some(path) = args.output.as_deref() {
        write_file(path, found.table().as_bytes())?;
        if !reporter.quiet() && reporter.human() {
            say(&format!("wrote {}\n", path.display()));
        }
    }
    Ok(write_stats(args.stats.as_deref(), &found.json(), reporter))
}
