//! `odec plot`: states and outputs against time, or one against another.

use std::ops::ControlFlow;
use std::path::PathBuf;

use odec_lang::diagnostic::Diagnostic;
use odec_ode::problem::{SolveError, Stop};
use odec_sim::bind::{Bound, Purpose};
use odec_sim::blame;
use odec_sim::sample::{self, Recorder};

use crate::args::{LogAxes, Plot};
use crate::exit::Exit;
use crate::figure;
use crate::input::{error, keep_apart};
use crate::picture::{Curve, Picture, encode, format_of, panels};
use crate::report::{Reporter, say};
use crate::rows::write_file;
use crate::session::{Session, bind, refuse};
use crate::signal;

/// Runs and draws.
pub fn plot(args: &Plot, reporter: Reporter) -> Exit {
    match prepare_and_draw(args, reporter) {
        Ok(exit) => exit,
        Err((d, exit)) => {
            reporter.diagnostic(None, &d);
            exit
        }
    }
}

fn prepare_and_draw(args: &Plot, reporter: Reporter) -> Result<Exit, (Box<Diagnostic>, Exit)> {
    let usage = |d: Box<Diagnostic>| (d, Exit::Usage);
    let size = figure::size(&args.size).map_err(usage)?;
    let session = match bind(&args.model, &args.block, Purpose::Rows, reporter) {
        Ok(session) => session,
        Err(exit) => return Ok(exit),
    };
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.svg", session.model.name)));
    let Some(format) = format_of(&path) else {
        let headline = format!("`{}` is no kind of picture that odec draws", path.display());
        return Err(usage(Box::new(error("E0711", headline, Some("end the name in .svg or .png".into())))));
    };
    keep_apart(&args.model.file, &[("-o", Some(&path))]).map_err(usage)?;
    let x = column(&session.bound, args.x.as_deref(), "--x").map_err(usage)?;
    let mut chosen = vec![];
    for name in &args.names {
        chosen.push(column(&session.bound, Some(name), "odec plot").map_err(usage)?);
    }
    if chosen.is_empty() {
        chosen = (1..session.bound.columns.len()).filter(|&k| k != x).collect();
    }

    signal::listen();
    let mut keep = Keep::new([&[x], chosen.as_slice()].concat());
    let (result, _) = sample::solve(&session.bound, &mut keep);
    let mut exit = Exit::Success;
    match &result {
        Ok(outcome) if outcome.stop == Stop::Interrupted => return Ok(Exit::Interrupted),
        Ok(_) => {}
        Err(SolveError::Refused(refusal)) => return Ok(refuse(&session, refusal, reporter)),
        Err(SolveError::Failed(failure)) => {
            let d = blame::failed(&session.model, &session.source, &session.bound, failure);
            reporter.diagnostic(Some(&session.source), &d);
            exit = Exit::Run;
        }
    }
    let picture = picture(&session, args, size, &keep);
    let bytes = encode(&picture, format).map_err(|e| {
        usage(Box::new(error(
            "E0705",
            format!("`--size {}`: {e}", args.size),
            Some("for example `--size 1200x750`".into()),
        )))
    })?;
    write_file(&path, &bytes).map_err(|d| (d, Exit::File))?;
    if !reporter.quiet() && reporter.human() {
        say(&format!("wrote {}\n", path.display()));
    }
    Ok(exit)
}

fn picture(session: &Session, args: &Plot, size: (u32, u32), keep: &Keep) -> Picture {
    let (x, chosen) = (keep.columns[0], &keep.columns[1..]);
    let columns = &session.bound.columns;
    let against_time = x == 0;
    let (log_x, log_y) = match args.log {
        None => (against_time && session.bound.logarithmic.is_some(), false),
        Some(axes) => (matches!(axes, LogAxes::X | LogAxes::Xy), matches!(axes, LogAxes::Y | LogAxes::Xy)),
    };
    let curves: Vec<Curve> = chosen
        .iter()
        .enumerate()
        .map(|(k, &c)| Curve { name: columns[c].0.clone(), points: keep.rows().map(|r| (r[0], r[k + 1])).collect() })
        .collect();
    let label = |k: usize| match unit(session, &columns[k].0) {
        Some(unit) => format!("{} [{unit}]", columns[k].0),
        None => columns[k].0.clone(),
    };
    let y_label = match chosen {
        [only] => label(*only),
        _ => String::new(),
    };
    let panels = if log_y || !against_time { vec![curves] } else { panels(curves) };
    let title = session.model.name.clone();
    Picture { title, x_label: label(x), y_label, panels, log_x, log_y, size }
}

/// Unit of a quantity, as the model writes it.
fn unit(session: &Session, name: &str) -> Option<String> {
    let time = &session.model.time;
    if name == time.name {
        return time.unit.clone();
    }
    let arrays = &session.bound.machine.program().arrays;
    arrays.iter().find(|a| a.name == name).and_then(|a| a.unit.clone())
}

/// Position of a column; time if no name is given.
fn column(bound: &Bound, name: Option<&str>, flag: &str) -> Result<usize, Box<Diagnostic>> {
    let Some(name) = name else { return Ok(0) };
    let known: Vec<&str> = bound.columns.iter().map(|(n, _)| n.as_str()).collect();
    let found = known.iter().position(|n| *n == name);
    found.ok_or_else(|| Box::new(blame::unknown_name(name, flag, &known)))
}

/// Values kept at most, of all columns together: enough for a point in every pixel many times over.
const MAX_KEPT: usize = 1 << 23;

/// Keeps the columns that are drawn; of very many rows every second one, every fourth, and so on.
struct Keep {
    columns: Vec<usize>,
    values: Vec<f64>,
    every: u64,
    seen: u64,
    last: Vec<f64>,
}

impl Keep {
    fn new(columns: Vec<usize>) -> Keep {
        Keep { columns, values: vec![], every: 1, seen: 0, last: vec![] }
    }

    /// The rows kept, and the very last one.
    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        let width = self.columns.len();
        let end = (!self.last.is_empty()).then_some(self.last.as_slice());
        self.values.chunks(width).chain(end)
    }
}

impl Recorder for Keep {
    fn row(&mut self, values: &[f64]) -> ControlFlow<()> {
        let drawn = self.columns.iter().map(|&c| values[c]);
        self.last.clear();
        if self.seen.is_multiple_of(self.every) {
            self.values.extend(drawn);
        } else {
            self.last.extend(drawn);
        }
        self.seen += 1;
        if self.values.len() >= MAX_KEPT {
            let width = self.columns.len();
            self.values = self.values.chunks(width).step_by(2).flatten().copied().collect();
            self.every *= 2;
        }
        ControlFlow::Continue(())
    }

    fn step(&mut self, _: f64) -> ControlFlow<()> {
        if signal::asked_to_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
