//! `odec run`: rows on standard output or in a file, a summary on standard error.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use odec_lang::diagnostic::{Code, Diagnostic, codes};
use odec_ode::linear::LinearReport;
use odec_ode::problem::{SolveError, Stats, Stop};
use odec_sim::bind::Purpose;
use odec_sim::executor::Execution;
use odec_sim::hybrid::bounds::BoundCounts;
use odec_sim::memory::MemoryEstimate;
use odec_sim::monitor::Findings;
use odec_sim::monitor::amplified::unchecked;
use odec_sim::sample::{self, Observations, Recorder};
use odec_sim::select::names;
use odec_sim::session::Solved;
use odec_sim::{Error, Simulation};

use super::meta;
use super::plot::label;
use crate::args::Run;
use crate::compared::Compared;
use crate::exit::Exit;
use crate::flags;
use crate::from_steady::FromSteady;
use crate::input::{Inputs, error, keep_apart};
use crate::log::Log;
use crate::memory;
use crate::progress::Progress;
use crate::report::{Detail, Reporter, say};
use crate::rows::{Rows, RowsError, print};
use crate::session::{Conclusion, conclude, fail, simulate_chosen};
use crate::signal;
use crate::summary::{BoundCorrections, Differentiated, Events, LinearSummary, StageTimes, Started, Summary, seconds};
use crate::table::Format;
use crate::whole::write_file;

/// Runs the command.
pub fn run(args: &Run, reporter: Reporter) -> Result<Exit, Error> {
    one_output("--stats", args.stats.as_deref(), args.output.as_deref())?;
    one_output("--events", args.events.as_deref(), args.output.as_deref())?;
    let mut block = args.block.clone();
    if args.table && block.samples.is_none() {
        block.samples = Some("steps".to_string());
    }
    let mut choices = flags::choices(&args.model, &block)?;
    if let Some(text) = &args.sens {
        choices.sensitivities = true;
        choices.open = names(text);
    }
    let simulation = simulate_chosen(&args.model, &choices, Purpose::Rows, (reporter, Detail::ForRows))?;
    let outputs =
        [("-o", args.output.as_deref()), ("--stats", args.stats.as_deref()), ("--events", args.events.as_deref())];
    keep_apart(&Inputs::of(&args.model, simulation.model(), simulation.source()), &outputs)?;
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let rows = if args.table {
        Rows::to_output(text_for(output)?)?.aligned()
    } else {
        Rows::formatted(output, || meta::of(&simulation))?
    };
    let log = args.events.as_deref().map(|path| Log::new(path, simulation.model(), simulation.source()));
    let names = (0..simulation.bound().columns.len()).map(|k| {
        if args.units {
            label::with_unit(&simulation.bound().columns.name(k), label::unit_in_header(&simulation, k))
        } else {
            simulation.bound().columns.name(k)
        }
    });
    let (exit, summary) = execute((&simulation, names), rows, log.transpose()?, output.is_none(), reporter)?;
    if !reporter.quiet() && reporter.human() {
        let destination = output.map(|p| p.display().to_string());
        signal::told();
        say(&summary.human((reporter.paint(), reporter.width()), destination.as_deref()));
    }
    Ok(exit.or(write_stats(args.stats.as_deref(), &summary.json(), reporter)))
}

/// The file of an aligned table; its extension must not stand for another format.
fn text_for(output: Option<&Path>) -> Result<Option<&Path>, Box<Diagnostic>> {
    if let Some(path) = output
        && Format::of(path)? != Format::Csv
    {
        let headline =
            format!("`--table` writes a text table, but the name `{}` asks for another format", path.display());
        let help = "leave out `--table`, or choose a name such as `rows.txt`".to_string();
        return Err(Box::new(error(&codes::E0850, headline, Some(help))));
    }
    Ok(output)
}

/// Refuses rows and statistics or a log that both go to standard output.
pub fn one_output(flag: &str, path: Option<&Path>, output: Option<&Path>) -> Result<(), Box<Diagnostic>> {
    let stdout = Path::new("-");
    if path == Some(stdout) && output.is_none_or(|path| path == stdout) {
        let headline = format!("`{flag} -` and the rows cannot share standard output");
        return Err(Box::new(error(&codes::E0702, headline, Some("write the rows to a file: `-o rows.csv`".into()))));
    }
    Ok(())
}

/// Writes the statistics to the requested file; rows that have been written remain if that fails.
pub fn write_stats(path: Option<&Path>, json: &str, reporter: Reporter) -> Exit {
    let written = match path {
        None => Ok(Exit::Success),
        Some(path) if path == Path::new("-") => print(json),
        Some(path) => write_file(path, json.as_bytes()).map(|()| Exit::Success).map_err(Error::from),
    };
    written.unwrap_or_else(|error| fail(&error, reporter))
}

/// The exit code if rows cannot be written.
pub fn after(trouble: &RowsError, reporter: Reporter) -> Exit {
    match trouble {
        RowsError::Closed => Exit::Success,
        RowsError::Failed(d) => fail(&Error::from(d.clone()), reporter),
    }
}

/// Runs the model into `rows`, and reports errors. A run that the solver refuses writes nothing.
fn execute(
    (simulation, names): (&Simulation, impl Iterator<Item = String>),
    mut rows: Rows,
    log: Option<Log>,
    on_stdout: bool,
    reporter: Reporter,
) -> Result<(Exit, Summary), Error> {
    signal::listen();
    let bound = simulation.bound();
    let trouble = rows.header(names).err();
    let visible = reporter.terminal() && !reporter.quiet() && !(on_stdout && is_terminal());
    let progress = Progress::new(visible, bound.problem.t0, bound.problem.t_end, bound.logarithmic);
    let mut writer = RowWriter { rows, log, trouble, progress, simulation, reporter, said: vec![] };
    let clock = Instant::now();
    let Solved { result, seen } = simulation.run(&mut writer);
    if writer.trouble.is_none() && !matches!(result, Err(SolveError::Refused(_))) {
        writer.trouble = writer.rows.finish().err();
    }
    let logged = writer.log.take().and_then(|log| log.finish().err());
    let solve = seconds(clock.elapsed());
    writer.progress.finish();

    let history = match &result {
        Ok(outcome) => outcome.history.as_ref(),
        Err(SolveError::Failed(failure)) => failure.history.as_ref(),
        Err(SolveError::Refused(_)) => None,
    };
    let alone = bound.choice.automatic.then(|| "chosen for constant steps, stiff or not".to_string());
    let history = history.map(|history| history.line(&simulation.model().time.name)).or(alone);
    let linear = result.as_ref().ok().and_then(|outcome| outcome.linear.clone());
    let analyse = linear.as_ref().map_or(0.0, |linear| linear.analysis as f64 * 1e-9);
    let said = std::mem::take(&mut writer.said);
    let concluded = conclude(simulation, &result, &seen, said, (reporter, Detail::ForRows))?;
    let Conclusion { mut exit, second_run, compare } = concluded;
    let times = StageTimes { analyse, solve: solve - analyse, compare, ..simulation.times().into() };
    let (stats, t, stop) = match &result {
        Ok(outcome) if outcome.stop == Stop::End => (outcome.stats, outcome.t, "end"),
        Ok(outcome) => (outcome.stats, outcome.t, "interrupted"),
        Err(SolveError::Failed(failure)) => (failure.stats, failure.t, "failed"),
        Err(why @ SolveError::Refused(_)) => return Err(simulation.explain(why)),
    };
    if stop == "interrupted" && signal::asked_to_stop() && writer.trouble.is_none() {
        exit = Exit::Interrupted;
    }
    for trouble in writer.trouble.iter().chain(&logged) {
        exit = exit.or(after(trouble, reporter));
    }
    let summary = summarise(simulation, &seen, stats, linear, (t, stop), &writer, times);
    Ok((exit, Summary { history, second_run: second_run.as_ref().map(Compared::of), ..summary }))
}

fn is_terminal() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stdout())
}

/// The sizes of the arrays of a run, with their values. Constraints turn arrays into scalars, and the model knows their
/// sizes then.
fn sizes(simulation: &Simulation) -> Vec<(String, i64)> {
    let bound = simulation.bound();
    match &bound.executor.program().extents[..] {
        [] => simulation.model().sizes_of_states(&bound.values),
        extents => extents.iter().map(|extent| (extent.text.clone(), extent.value)).collect(),
    }
}

fn summarise(
    simulation: &Simulation,
    seen: &Observations,
    stats: Stats,
    linear: Option<LinearReport>,
    (t, stop): (f64, &'static str),
    writer: &RowWriter<'_>,
    times: StageTimes,
) -> Summary {
    let (bound, choices) = (simulation.bound(), simulation.choices());
    let layout = bound.executor.layout();
    let groups = if choices.sensitivities { 1 + choices.open.len() } else { 1 };
    Summary {
        model: simulation.model().name.clone(),
        states: layout.n / groups,
        unknowns: bound.unknowns(simulation.model()),
        constraints: differentiated(simulation),
        moved: bound
            .moved
            .iter()
            .filter(|moved| moved.place < layout.n / groups)
            .map(|moved| Started { name: bound.states.name(moved.place), from: moved.from, to: moved.to })
            .collect(),
        steady: bound.steady.as_ref().map(|start| FromSteady {
            kind: start.steady.kind.map_or("without eigenvalues", |kind| kind.name()),
            reached: start.steady.reached,
            moved: (0..layout.n / groups)
                .filter(|&k| start.given[k] != start.steady.y[k])
                .map(|k| Started { name: bound.states.name(k), from: start.given[k], to: start.steady.y[k] })
                .collect(),
        }),
        second_order: layout.second / groups,
        sensitivities: groups - 1,
        parameters: layout.np - bound.values.opened.len(),
        outputs: layout.outputs / groups,
        extents: sizes(simulation),
        jacobian_entries: bound.executor.jacobian_entries(),
        method: bound.choice.method.name.to_string(),
        history: None,
        second_run: None,
        unchecked: unchecked(bound),
        step: bound.options.step.filter(|_| bound.options.fixed),
        rtol: bound.options.rtol,
        atol: bound.options.atol.clone(),
        time: simulation.model().time.name.clone(),
        time_unit: simulation.model().units.text_of(&simulation.model().time.name, &simulation.model().time.name),
        t0: bound.problem.t0,
        t_end: bound.problem.t_end,
        t,
        stop,
        rows: writer.rows.count,
        closed: matches!(writer.trouble, Some(RowsError::Closed)),
        counts: stats.into(),
        events: seen.events.as_ref().filter(|_| !simulation.model().events.is_empty()).map(|counts| Events {
            executed: counts.executed,
            instants: counts.instants,
            stopped: counts.stopped.map(|(event, _)| stopped_by(simulation, event)),
        }),
        bounds: simulation.bounds(seen).into_iter().map(kept).collect(),
        conserved: seen.drifts.iter().map(Into::into).collect(),
        backend: match bound.executor.execution() {
            Execution::Jit => "jit",
            Execution::Interpret => "interpreter",
        },
        code_bytes: bound.executor.code_bytes(),
        linear: linear.map(|report| LinearSummary::of(&report)),
        bound_bytes: bound.executor.bound_bytes(),
        estimated_bytes: MemoryEstimate::of_run(bound).total(),
        peak_bytes: memory::peak(),
        seconds: times,
    }
}

fn kept(counts: BoundCounts) -> BoundCorrections {
    let BoundCounts { text, pushes, most, terms } = counts;
    BoundCorrections { bound: text, pushes, most, terms }
}

/// The event that ended a run: its reason, or its line.
fn stopped_by(simulation: &Simulation, event: usize) -> String {
    let event = &simulation.model().events[event];
    let before = simulation.source().text.get(..event.head.range().start).unwrap_or_default();
    let line = 1 + before.matches('\n').count();
    let text = event.stop.as_ref().and_then(|stop| stop.text.clone());
    text.map_or_else(|| format!("line {line}"), |text| format!("{text} (line {line})"))
}

/// Passes rows to their destination, steps to the progress bar, and Ctrl-C to the solver.
struct RowWriter<'a> {
    rows: Rows,
    log: Option<Log>,
    trouble: Option<RowsError>,
    progress: Progress,
    simulation: &'a Simulation,
    reporter: Reporter,
    /// Codes of warnings that were printed during the run.
    said: Vec<&'static Code>,
}

impl Recorder for RowWriter<'_> {
    fn row(&mut self, values: &[f64]) -> ControlFlow<()> {
        if self.trouble.is_none() {
            self.trouble = self.rows.row(values).err();
        }
        self.go_on()
    }

    fn step(&mut self, t: f64) -> ControlFlow<()> {
        self.progress.step(t);
        if self.trouble.is_none() {
            self.trouble = self.rows.tick().err();
        }
        self.go_on()
    }

    fn instant(&mut self, instant: &sample::EventInstant) {
        if let Some(log) = &mut self.log {
            log.instant(instant);
        }
    }

    fn logs(&self) -> bool {
        self.log.is_some()
    }

    fn alarm(&mut self, findings: &Findings) {
        let mut list = self.simulation.warnings_during_run(findings);
        list.retain(|d| !self.said.contains(&d.code));
        let (reporter, source) = (self.reporter, self.simulation.source());
        self.said.extend(list.iter().filter(|d| reporter.shows(Some(source), d)).map(|d| d.code));
        self.progress.suspend(|| reporter.diagnostics(Some(source), &list, true));
    }
}

impl RowWriter<'_> {
    fn go_on(&self) -> ControlFlow<()> {
        if self.trouble.is_some() || signal::asked_to_stop() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// The differentiated constraints, with their lines.
fn differentiated(simulation: &Simulation) -> Vec<Differentiated> {
    let invariants = simulation.bound().executor.program().invariants.as_ref();
    let constraints = invariants.map_or(&[][..], |invariants| &invariants.constraints);
    let line = |at: u32| simulation.source().position(at as usize).0;
    constraints.iter().map(|(span, times)| Differentiated { line: line(span.start), times: *times }).collect()
}
