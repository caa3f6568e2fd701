//! From the command line to a simulation: the file, the folder of its tables, the clock; and the exit codes of
//! commands without a simulation.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use odec_ir::Program;
use odec_lang::diagnostic::{Code, Diagnostic, codes};
use odec_lang::program::Lowered;
use odec_lang::source::Origin;
use odec_lang::source::Source;
use odec_ode::problem::{Outcome, SolveError};
use odec_sbml::Imported;
use odec_sim::bind::Purpose;
use odec_sim::choices::{Choices, SampleRule};
use odec_sim::columns::Titles;
use odec_sim::reference::Unfinished;
use odec_sim::sample::Observations;
use odec_sim::session::{Judgement, SecondRun};
use odec_sim::{Error, Loaded, Session, Simulation};

use crate::args::{self, RunBlock};
use crate::exit::Exit;
use crate::flags;
use crate::folder::Folder;
use crate::input;
use crate::report::{Detail, Reporter};
use crate::signal;

/// Nanoseconds since the first call.
pub fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// The same in seconds.
pub fn seconds() -> f64 {
    now() as f64 * 1e-9
}

/// The session of this process.
pub fn host(file: &args::ModelArgs) -> Result<Session, Error> {
    let flags_of = [("--path", &file.files.path), ("--allow-read", &file.files.allow_read)];
    for (flag, path) in flags_of.iter().flat_map(|(flag, list)| list.iter().map(move |path| (flag, path))) {
        if !path.exists() {
            let headline = format!("`{flag} {0}`: there is no folder `{0}`", path.display());
            return Err(input::error(&codes::E0701, headline, None).into());
        }
    }
    Ok(Session::new().with_clock(now).with_files(Folder::of(file)).with_memory(flags::memory(file)?))
}

/// Reads and checks a model. Prints its warnings.
pub fn load(file: &args::ModelArgs, reporter: Reporter, detail: Detail) -> Result<Loaded, Error> {
    let (source, titles) = text(file, reporter, detail)?;
    let loaded = host(file)?.check(source).1?.with_titles(titles);
    reporter.diagnostics(Some(loaded.source()), loaded.warnings(), detail);
    Ok(loaded)
}

/// The text of a model, and titles of its columns. A file of XML is imported.
pub fn text(file: &args::ModelArgs, reporter: Reporter, detail: Detail) -> Result<(Source, Titles), Error> {
    let source = input::read(&file.file)?;
    if odec_sbml::is_xml(&source.text) {
        imported(file, source, reporter, detail)
    } else {
        Ok((source, Titles::default()))
    }
}

/// The text of a model from an XML file. Prints warnings about it.
pub fn imported(
    file: &args::ModelArgs,
    source: Source,
    reporter: Reporter,
    detail: Detail,
) -> Result<(Source, Titles), Error> {
    converted(file, source, reporter, detail, odec_sbml::import_files)
}

/// Like [`imported`], with a given function of the importer.
pub fn converted(
    file: &args::ModelArgs,
    source: Source,
    reporter: Reporter,
    detail: Detail,
    import: fn(&Source) -> Imported,
) -> Result<(Source, Titles), Error> {
    let source = host(file)?.with_files_of(source, &odec_sbml::used_files);
    let Imported { text, titles, places, diagnostics } = import(&source);
    let Some(text) = text else { return Err(Error::new(Some(Arc::new(source)), diagnostics)) };
    reporter.diagnostics(Some(&source), &diagnostics, detail);
    let made = Source::new(format!("{}, imported", source.name), text);
    Ok((made.made_from(Origin::new(source, places)), Arc::new(titles)))
}

/// Reads, checks, compiles and binds a model.
pub fn simulate(
    file: &args::ModelArgs,
    block: &RunBlock,
    purpose: Purpose,
    reporter: Reporter,
) -> Result<Simulation, Error> {
    simulate_at(file, block, purpose, None, reporter)
}

/// Like [`simulate`], with rows at these times.
pub fn simulate_at(
    file: &args::ModelArgs,
    block: &RunBlock,
    purpose: Purpose,
    times: Option<Vec<f64>>,
    reporter: Reporter,
) -> Result<Simulation, Error> {
    let mut choices = flags::choices(file, block)?;
    if let Some(times) = times {
        choices.samples = Some(SampleRule::Times(times));
    }
    simulate_chosen(file, &choices, purpose, (reporter, Detail::Short))
}

/// Like [`simulate`], with given choices.
pub fn simulate_chosen(
    file: &args::ModelArgs,
    choices: &Choices,
    purpose: Purpose,
    (reporter, detail): (Reporter, Detail),
) -> Result<Simulation, Error> {
    let simulation = load(file, reporter, detail)?.simulate(choices, purpose)?;
    reporter.diagnostics(Some(simulation.source()), simulation.remarks(), detail);
    Ok(simulation)
}

/// The program of a model with the values of the command line. Prints warnings about it.
pub fn program(loaded: &Loaded, file: &args::ModelArgs, reporter: Reporter, detail: Detail) -> Result<Program, Error> {
    let Lowered { program, warnings, .. } = loaded.program(&flags::choices(file, &RunBlock::default())?)?;
    reporter.diagnostics(Some(loaded.source()), &warnings, detail);
    Ok(program)
}

/// Like [`program`], for steps of other solvers, which ignore switches.
pub fn program_for_others(
    loaded: &Loaded,
    file: &args::ModelArgs,
    reporter: Reporter,
    detail: Detail,
) -> Result<Program, Error> {
    let choices = flags::choices(file, &RunBlock::default())?;
    let Lowered { program, mut warnings, unlocated_warning, .. } = loaded.program(&choices)?;
    warnings.retain(|warning| unlocated_warning.is_none() || warning.code != &codes::W0301);
    warnings.extend(unlocated_warning);
    reporter.diagnostics(Some(loaded.source()), &warnings, detail);
    Ok(program)
}

/// Prints an error; returns the exit code.
pub fn fail(error: &Error, reporter: Reporter) -> Exit {
    reporter.diagnostics(error.source.as_deref(), &error.diagnostics, Detail::Full);
    error.class.into()
}

/// How a run ended, and what it took to compare its rows.
pub struct Conclusion {
    /// The exit code.
    pub exit: Exit,
    /// The run with a smaller tolerance that the rows were compared with, if there was one.
    pub second_run: Option<SecondRun>,
    /// Seconds that the search for warnings took.
    pub compare: f64,
}

/// Explains a failed run, and prints warnings about the run. `said` are the warnings that were printed during the
/// run.
///
/// # Errors
/// The solver refused the run.
pub fn conclude(
    simulation: &Simulation,
    result: &Result<Outcome, SolveError>,
    seen: &Observations,
    mut said: Vec<&'static Code>,
    (reporter, detail): (Reporter, Detail),
) -> Result<Conclusion, Error> {
    let mut explanation = vec![];
    let exit = match result {
        Ok(_) => Exit::Success,
        Err(why @ SolveError::Refused(_)) => return Err(simulation.explain(why)),
        Err(why @ SolveError::Failed(_)) => {
            let error = simulation.explain_seen(why, seen, &said);
            let exit = fail(&error, reporter);
            explanation.clone_from(&error.diagnostics);
            // a finding that explains the failure is not repeated
            said.extend(simulation.warnings_during_run(&seen.findings).iter().map(|d| d.code));
            exit
        }
    };
    let start = seconds();
    let Judgement { mut warnings, second_run } = match result {
        // nobody would see them
        _ if reporter.quiet() => Judgement::default(),
        Err(SolveError::Failed(failure)) => simulation.warnings_before_failure(failure, seen, &signal::asked_to_stop),
        _ => simulation.warnings_of_rows(seen, &signal::asked_to_stop),
    };
    let compare = seconds() - start;
    // the message about a failure may contain a warning
    let repeated = |d: &Diagnostic| explanation.iter().any(|error| error.headline.contains(&d.headline));
    warnings.retain(|d| !said.contains(&d.code) && !repeated(d));
    reporter.diagnostics(Some(simulation.source()), &warnings, detail);
    Ok(Conclusion { exit, second_run, compare })
}

/// The result of a command whose run failed: an interrupt is not an error.
pub fn unfinished(simulation: &Simulation, why: Unfinished) -> Result<Exit, Error> {
    match why {
        Unfinished::Interrupted => Ok(Exit::Interrupted),
        Unfinished::Failed(why) => Err(simulation.explain(&why)),
    }
}
