//! From a file to a bound model, with the time that each stage took; what `run`, `test` and `plot` have in common.

use std::time::Instant;

use odec_lang::diagnostic::{Diagnostic, Severity};
use odec_lang::lower::{Lowered, lower_sensitivities_warned, lower_warned};
use odec_lang::model::{Model, Overrides};
use odec_lang::source::Source;
use odec_ode::problem::Refusal;
use odec_sim::bind::{Bound, Plan, Purpose};
use odec_sim::blame;
use odec_sim::choices::{Choices, SampleRule};

use crate::args::{self, RunBlock};
use crate::exit::Exit;
use crate::flags;
use crate::input;
use crate::report::Reporter;
use crate::summary::{Times, seconds};
use crate::tables::Tables;

/// A checked model.
pub struct Checked {
    /// Its text.
    pub source: Source,
    /// What it means.
    pub model: Model,
    /// Time of the stages so far.
    pub times: Times,
}

/// A model ready to run.
pub struct Session {
    /// Its text.
    pub source: Source,
    /// What it means.
    pub model: Model,
    /// Kernels, start, options.
    pub bound: Bound,
    /// What the command line said, with the tables.
    pub choices: Choices,
    /// Time of the stages so far.
    pub times: Times,
}

/// Reads and checks a model. What is wrong has been said when this fails.
pub fn check(file: &args::Model, reporter: Reporter, full: bool) -> Result<Checked, Exit> {
    let source = input::read(&file.file).map_err(|d| {
        reporter.diagnostic(None, &d);
        if d.code.starts_with("E07") { Exit::File } else { Exit::Model }
    })?;
    let mut times = Times::default();
    let clock = Instant::now();
    let (tree, mut diagnostics) = odec_lang::parse(&source);
    times.parse = seconds(clock.elapsed());
    let clock = Instant::now();
    let (model, more) = odec_lang::analyse(&tree, &source);
    times.check = seconds(clock.elapsed());
    diagnostics.extend(more);
    let wrong = diagnostics.iter().any(|d| d.severity == Severity::Error);
    match &model {
        // what is wrong is looked at once more: idioms of other languages, and fixes that were tried
        _ if wrong => diagnostics = odec_lang::check(&source).diagnostics,
        Some(model) => diagnostics.extend(odec_lang::lint::lint(&tree, &source, model)),
        None => {}
    }
    reporter.diagnostics(Some(&source), &diagnostics, full || wrong);
    match model.filter(|_| !wrong) {
        Some(model) => Ok(Checked { source, model, times }),
        None => Err(Exit::Model),
    }
}

/// Reads, checks, lowers, compiles and binds.
pub fn bind(file: &args::Model, block: &RunBlock, purpose: Purpose, reporter: Reporter) -> Result<Session, Exit> {
    bind_at(file, block, purpose, None, reporter)
}

/// The same with rows at these times.
pub fn bind_at(
    file: &args::Model,
    block: &RunBlock,
    purpose: Purpose,
    times: Option<Vec<f64>>,
    reporter: Reporter,
) -> Result<Session, Exit> {
    let mut choices = flags::choices(file, block).map_err(|d| {
        reporter.diagnostic(None, &d);
        Exit::Usage
    })?;
    if let Some(times) = times {
        choices.samples = Some(SampleRule::Times(times));
    }
    bind_chosen(file, choices, purpose, reporter)
}

/// The same with choices of the caller's.
pub fn bind_chosen(
    file: &args::Model,
    mut choices: Choices,
    purpose: Purpose,
    reporter: Reporter,
) -> Result<Session, Exit> {
    let checked = check(file, reporter, false)?;
    choices.tables = tables(&checked, file, reporter)?;
    let Checked { source, mut model, mut times } = checked;
    if purpose != Purpose::Test {
        // expectations are about the sizes that the model was written for: with others, their elements may not exist
        model.expects.clear();
    }
    let refused = |list: Vec<Diagnostic>| {
        reporter.diagnostics(Some(&source), &list, true);
        exit_with(&model, &choices.set, &list)
    };
    let clock = Instant::now();
    let plan = Plan::new(&model, &choices, purpose).map_err(refused)?;
    let lower = if choices.sensitivities { lower_sensitivities_warned } else { lower_warned };
    let Lowered { program, warnings } = lower(&model, &plan.overrides).map_err(refused)?;
    reporter.diagnostics(Some(&source), &warnings, false);
    times.derive = seconds(clock.elapsed());
    let clock = Instant::now();
    let ready = plan.compile(&model, program).map_err(refused)?;
    times.compile = seconds(clock.elapsed());
    let clock = Instant::now();
    let bound = ready.bind(&model, &source).map_err(refused)?;
    times.bind = seconds(clock.elapsed());
    Ok(Session { source, model, bound, choices, times })
}

/// The tables that a model takes from files.
pub fn tables(checked: &Checked, file: &args::Model, reporter: Reporter) -> Result<Tables, Exit> {
    crate::tables::read(&checked.model, &file.file).map_err(|list| {
        reporter.diagnostics(Some(&checked.source), &list, true);
        exit_of(&list)
    })
}

/// Says why the solver refuses a run.
pub fn refuse(session: &Session, refusal: &Refusal, reporter: Reporter) -> Exit {
    let d = blame::refused(refusal, &session.bound);
    let exit = exit_of(std::slice::from_ref(&d));
    reporter.diagnostic(Some(&session.source), &d);
    exit
}

/// How a model that cannot be run ends the process: a value from the command line that is out of the bounds in the model
/// has its place there, but is a fault of the command line.
pub fn exit_with(model: &Model, set: &[(String, f64)], list: &[Diagnostic]) -> Exit {
    let bounds = list.first().is_some_and(|d| d.code == "E0407");
    let alone = || model.values(&Overrides::default()).is_ok();
    if bounds && !set.is_empty() && alone() { Exit::Usage } else { exit_of(list) }
}

/// A fault with a place lies in the model; one without came from the command line. A start value is found wrong when
/// the run begins.
pub fn exit_of(list: &[Diagnostic]) -> Exit {
    match list.first() {
        Some(d) if d.code == "E0610" => Exit::Run,
        // a table of the model
        Some(d) if d.code == "E0701" => Exit::File,
        // the place is that of the declaration; the fault is that of `--set`
        Some(d) if matches!(d.code, "E0408" | "E0717" | "E0718") => Exit::Usage,
        // what binding finds out has no place of its own
        Some(d) if d.code.starts_with("E05") => Exit::Model,
        Some(d) if d.labels.is_empty() && d.code != "E0615" => Exit::Usage,
        _ => Exit::Model,
    }
}
