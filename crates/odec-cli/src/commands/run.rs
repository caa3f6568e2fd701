//! `odec run`: rows on standard output or in a file, a summary on standard error.

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::Instant;

use odec_ode::linear::LinearReport;
use odec_ode::problem::{SolveError, Stats, Stop};
use odec_sim::bind::{Bound, Purpose};
use odec_sim::sample::{self, Recorder, Seen};
use odec_sim::select::names;
use odec_sim::{blame, machine::Execution};

use crate::args::Run;
use crate::exit::Exit;
use crate::flags;
use crate::input::{error, keep_apart};
use crate::memory;
use crate::progress::Progress;
use crate::report::{Reporter, say};
use crate::rows::{Rows, Trouble, write_file};
use crate::session::{Session, bind_chosen, refuse};
use crate::signal;
use crate::summary::{Linear, Summary, seconds};

/// Solves and writes.
pub fn run(args: &Run, reporter: Reporter) -> Exit {
    let stats_on_stdout = args.stats.as_deref().is_some_and(|p| p.as_os_str() == "-");
    if stats_on_stdout && args.output.is_none() {
        let headline = "`--stats -` and the rows both want standard output".to_string();
        reporter.diagnostic(None, &error("E0702", headline, Some("write the rows to a file: `-o rows.csv`".into())));
        return Exit::Usage;
    }
    let outputs = [("-o", args.output.as_deref()), ("--stats", args.stats.as_deref())];
    if let Err(d) = keep_apart(&args.model.file, &outputs) {
        reporter.diagnostic(None, &d);
        return Exit::Usage;
    }
    let mut block = args.block.clone();
    if args.table && block.samples.is_none() {
        block.samples = Some("steps".to_string());
    }
    let mut choices = match flags::choices(&args.model, &block) {
        Ok(choices) => choices,
        Err(d) => {
            reporter.diagnostic(None, &d);
            return Exit::Usage;
        }
    };
    if let Some(text) = &args.sens {
        choices.sensitivities = true;
        choices.open = names(text);
    }
    let mut session = match bind_chosen(&args.model, choices, Purpose::Rows, reporter) {
        Ok(session) => session,
        Err(exit) => return exit,
    };
    let rows = match &args.output {
        None => Rows::stdout(),
        Some(path) => match Rows::file(path) {
            Ok(rows) => rows,
            Err(d) => {
                reporter.diagnostic(None, &d);
                return Exit::File;
            }
        },
    };
    let rows = if args.table { rows.aligned() } else { rows };
    let (mut exit, summary) = match execute(&mut session, rows, args.output.is_none(), reporter) {
        Ok(done) => done,
        Err(exit) => return exit,
    };
    if !reporter.quiet() && reporter.human() {
        let destination = args.output.as_ref().map(|p| p.display().to_string());
        say(&summary.human(reporter.paint(), destination.as_deref()));
    }
    if let Some(path) = &args.stats {
        let json = summary.json();
        let result = if stats_on_stdout {
            crate::rows::print(&json).or_else(|trouble| match trouble {
                Trouble::Closed => Ok(()),
                Trouble::Failed(d) => Err(d),
            })
        } else {
            write_file(path, json.as_bytes())
        };
        if let Err(d) = result {
            reporter.diagnostic(None, &d);
            exit = if exit == Exit::Success { Exit::File } else { exit };
        }
    }
    exit
}

/// Integrates into `rows`; says what went wrong. A run that the solver refuses writes nothing.
fn execute(
    session: &mut Session,
    mut rows: Rows,
    on_stdout: bool,
    reporter: Reporter,
) -> Result<(Exit, Summary), Exit> {
    signal::listen();
    session.bound.options.clock = Some(time);
    let bound = &session.bound;
    let trouble = rows.header(bound.columns.names()).err();
    let visible = reporter.terminal() && !reporter.quiet() && !(on_stdout && is_terminal());
    let progress = Progress::new(visible, bound.problem.t0, bound.problem.t_end, bound.logarithmic);
    let mut writer = Writer { rows, trouble, progress };
    let clock = Instant::now();
    let (result, seen) = sample::solve(bound, &mut writer);
    if writer.trouble.is_none() && !matches!(result, Err(SolveError::Refused(_))) {
        writer.trouble = writer.rows.flush().err();
    }
    session.times.solve = seconds(clock.elapsed());
    writer.progress.finish();

    let course = match &result {
        Ok(outcome) => outcome.course.as_ref(),
        Err(SolveError::Failed(failure)) => failure.course.as_ref(),
        Err(SolveError::Refused(_)) => None,
    };
    let alone = session.bound.choice.automatic.then(|| "taken for constant steps, stiff or not".to_string());
    let course = course.map(|course| course.line(&session.model.time.name)).or(alone);
    let linear = result.as_ref().ok().and_then(|outcome| outcome.linear.clone());
    session.times.analyse = linear.as_ref().map_or(0.0, |linear| linear.analysis as f64 * 1e-9);
    session.times.solve -= session.times.analyse;
    let (mut exit, stats, t, stop) = match &result {
        Ok(outcome) => {
            let interrupted = outcome.stop == Stop::Interrupted && signal::asked_to_stop() && writer.trouble.is_none();
            let exit = if interrupted { Exit::Interrupted } else { Exit::Success };
            (exit, outcome.stats, outcome.t, if outcome.stop == Stop::End { "end" } else { "interrupted" })
        }
        Err(SolveError::Failed(f)) => (Exit::Run, f.stats, f.t, "failed"),
        Err(SolveError::Refused(refusal)) => return Err(refuse(session, refusal, reporter)),
    };
    if let Err(SolveError::Failed(failure)) = &result {
        let d = blame::failed(&session.model, &session.source, &session.bound, failure);
        reporter.diagnostic(Some(&session.source), &d);
    }
    let warnings = blame::warnings(&session.model, &session.source, &session.bound, &seen);
    reporter.diagnostics(Some(&session.source), &warnings, false);
    if let Some(trouble) = writer.trouble {
        let after = super::after(trouble, reporter);
        exit = if exit == Exit::Success { after } else { exit };
    }
    let summary = summarise(session, &seen, stats, linear, (t, stop), writer.rows.count);
    Ok((exit, Summary { course, ..summary }))
}

/// Nanoseconds since this was asked for first.
fn time() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

fn is_terminal() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stdout())
}

fn summarise(
    session: &Session,
    seen: &Seen,
    stats: Stats,
    linear: Option<LinearReport>,
    (t, stop): (f64, &'static str),
    rows: u64,
) -> Summary {
    let bound: &Bound = &session.bound;
    let layout = bound.machine.layout();
    let groups = if session.choices.sensitivities { 1 + session.choices.open.len() } else { 1 };
    Summary {
        model: session.model.name.clone(),
        states: layout.n / groups,
        second_order: layout.second / groups,
        sensitivities: groups - 1,
        parameters: layout.np - bound.values.opened.len(),
        outputs: layout.outputs / groups,
        extents: bound.machine.program().extents.iter().map(|e| (e.text.clone(), e.value)).collect(),
        jacobian_entries: bound.machine.jacobian_entries(),
        method: bound.choice.method.name.to_string(),
        course: None,
        step: bound.options.step.filter(|_| bound.options.fixed),
        rtol: bound.options.rtol,
        atol: bound.options.atol.clone(),
        time: session.model.time.name.clone(),
        t0: bound.problem.t0,
        t_end: bound.problem.t_end,
        t,
        stop,
        rows,
        counts: stats.into(),
        conserved: seen.drifts.iter().map(Into::into).collect(),
        backend: match bound.machine.execution() {
            Execution::Jit => "jit",
            Execution::Interpret => "interpreter",
        },
        code_bytes: bound.machine.code_bytes(),
        linear: linear.map(|report| Linear::of(&report)),
        bound_bytes: bound.machine.bound_bytes(),
        peak_bytes: memory::peak(),
        seconds: session.times,
    }
}

/// Rows to their destination, steps to the bar, Ctrl-C to the solver.
struct Writer {
    rows: Rows,
    trouble: Option<Trouble>,
    progress: Progress,
}

impl Recorder for Writer {
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
}

impl Writer {
    fn go_on(&self) -> ControlFlow<()> {
        if self.trouble.is_some() || signal::asked_to_stop() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
