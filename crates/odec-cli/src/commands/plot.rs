//! `odec plot`: states and outputs against time, or one against another; large arrays as colours.

use std::ops::ControlFlow;
use std::path::PathBuf;

use odec_lang::diagnostic::Diagnostic;
use odec_ode::problem::{SolveError, Stop};
use odec_sim::bind::Purpose;
use odec_sim::blame;
use odec_sim::sample::{self, Recorder};

use super::profile::{MAX_CURVES, Part};
use crate::args::{LogAxes, Plot};
use crate::exit::Exit;
use crate::figure;
use crate::flags;
use crate::input::{error, keep_apart};
use crate::picture::{Curve, Picture, encode, format_of, panels};
use crate::report::{Reporter, say};
use crate::rows::write_file;
use crate::session::{Session, bind_at, refuse};
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
    let at = args.at.as_deref().map(|text| flags::list("--at", text)).transpose().map_err(usage)?;
    let mut block = args.block.clone();
    if block.record.is_none() && !(args.names.is_empty() && args.x.is_none()) {
        // what is named is drawn, whether the run block records it or not
        block.record = Some("all".to_string());
    }
    let session = match bind_at(&args.model, &block, Purpose::Picture, at.clone(), reporter) {
        Ok(session) => session,
        Err(exit) => return Ok(exit),
    };
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.svg", session.model.name)));
    let Some(format) = format_of(&path) else {
        let headline = format!("`{}` is no kind of picture that odec draws", path.display());
        return Err(usage(Box::new(error("E0711", headline, Some("end the name in .svg or .png".into())))));
    };
    keep_apart(&args.model.file, &[("-o", Some(&path))]).map_err(usage)?;
    let columns = &session.bound.columns;
    let find = |name: &str, flag: &str| columns.find(name, flag).map_err(|d| usage(Box::new(d)));
    let x = match args.x.as_deref() {
        None => 0,
        Some(name) => find(name, "--x")?[0],
    };
    let mut chosen = vec![];
    for name in &args.names {
        chosen.extend(find(name, "odec plot")?);
    }
    if chosen.is_empty() {
        chosen = (1..columns.len()).filter(|&k| k != x).collect();
        // of a model with large arrays the first one
        if let (true, Some(k)) = (chosen.len() > MAX_CURVES || at.is_some(), chosen.first()) {
            let first = columns.series(*k).map(|(series, _)| series.name.clone()).unwrap_or_default();
            chosen = find(&first, "odec plot")?;
        }
    }
    let part = match at.is_some() || x == 0 && chosen.len() > MAX_CURVES {
        true => Some(Part::of(columns, &chosen, at.is_some()).map_err(usage)?),
        false => None,
    };

    signal::listen();
    let kept = part.as_ref().map_or(chosen.as_slice(), |part| part.columns.as_slice());
    let mut keep = Keep::new([&[x], kept].concat());
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
    let log_y = matches!(args.log, Some(LogAxes::Y | LogAxes::Xy));
    let bytes = match &part {
        None => encode(&picture(&session, args, size, &keep), format),
        Some(part) if part.is_plane() => encode(&part.over_plane(&session, &keep, size), format),
        Some(part) if at.is_some() => encode(&part.profiles(&session, &keep, size, log_y), format),
        Some(part) => encode(&part.over_time(&session, &keep, size), format),
    };
    let bytes = bytes.map_err(|e| {
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
    let names = &session.bound.columns;
    let against_time = x == 0;
    let (log_x, log_y) = match args.log {
        None => (against_time && session.bound.logarithmic.is_some(), false),
        Some(axes) => (matches!(axes, LogAxes::X | LogAxes::Xy), matches!(axes, LogAxes::Y | LogAxes::Xy)),
    };
    let curves: Vec<Curve> = chosen
        .iter()
        .enumerate()
        .map(|(k, &c)| Curve { name: names.name(c), points: keep.rows().map(|r| (r[0], r[k + 1])).collect() })
        .collect();
    let y_label = match chosen {
        [only] => label(session, *only),
        _ => String::new(),
    };
    let panels = if log_y || !against_time { vec![curves] } else { panels(curves) };
    let title = session.model.name.clone();
    Picture { title, x_label: label(session, x), y_label, panels, log_x, log_y, size }
}

/// Name of a column with its unit, as the model writes it.
pub(super) fn label(session: &Session, column: usize) -> String {
    let columns = &session.bound.columns;
    let unit = match columns.series(column) {
        Some((series, _)) => &series.unit,
        None => &session.model.time.unit,
    };
    match unit {
        Some(unit) => format!("{} [{unit}]", columns.name(column)),
        None => columns.name(column),
    }
}

/// Values kept at most, of all columns together: enough for a point in every pixel many times over.
const MAX_KEPT: usize = 1 << 23;

/// Keeps the columns that are drawn; of very many rows every second one, every fourth, and so on.
pub(super) struct Keep {
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
    pub(super) fn rows(&self) -> impl Iterator<Item = &[f64]> {
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
