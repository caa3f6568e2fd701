//! `odec sweep`: many runs of one compiled model on all cores; each row starts with the varying values.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_ode::problem::Stats;
use odec_sim::bind::Purpose;
use odec_sim::blame::grouped;
use odec_sim::choices::SampleRule;
use odec_sim::points::{Design, MAX_POINTS, MAX_RUNS, Points, Spacing, ValueRange};
use odec_sim::sweep::{Collector, Done, Job, MAX_THREADS, NoValues, SweepWarnings};
use odec_sim::{Error, Simulation};
use serde::Serialize;

use super::meta;
use super::plot::label;
use super::run::{after, one_output, write_stats};
use super::shards::{self, Failed, PartFacts, SweepPart};
use crate::args::{ModelArgs, Sweep};
use crate::exit::Exit;
use crate::flags::{self, Ranges};
use crate::input::{Inputs, error, keep_apart};
use crate::progress::Runs;
use crate::report::{Detail, Reporter, say};
use crate::rows::{self, Rows, RowsError, shortest};
use crate::session::{fail, simulate_chosen};
use crate::signal;
use crate::summary::{Counts, aligned, counted, duration, seconds, short_duration, written};
use crate::table::{Column, Kind};

/// Default seed of random points.
const SEED: u64 = 1;
/// Number of failed runs for which a part contains the reason.
const EXPLAINED: usize = 100;
/// Largest number of ranges in the summary.
const LISTED: usize = 4;

/// Runs all points and writes the rows.
pub fn sweep(args: &Sweep, reporter: Reporter) -> Result<Exit, Error> {
    if let Some(folder) = &args.join {
        return shards::join(folder, args.output.as_deref(), reporter);
    }
    one_output("--stats", args.stats.as_deref(), args.output.as_deref())?;
    let SweepOptions { points, threads, ranges } = SweepOptions::of(args)?;
    let model = ModelArgs {
        file: args.file.clone().unwrap_or_default(),
        set: ranges.plain.clone(),
        params: args.params.clone(),
        files: args.files.clone(),
    };
    let mut choices = flags::choices(&model, &args.block)?;
    choices.samples.get_or_insert(SampleRule::End);
    for (range, unit) in ranges.starts() {
        choices.set_units.extend(unit.map(|unit| (choices.set.len(), unit)));
        choices.set.push((range.name.clone(), range.low));
    }
    choices.open = points.names().map(str::to_string).collect();
    let simulation = simulate_chosen(&model, &choices, Purpose::Rows, (reporter, Detail::Short))?;
    let whole = points.whole();
    let points = points.of_whole(whole, &ranges.ends(simulation.model())?);
    let outputs = [("-o", args.output.as_deref()), ("--stats", args.stats.as_deref())];
    let inputs = Inputs::of(&model, simulation.model(), simulation.source());
    keep_apart(&inputs, &outputs)?;
    let (part, points) = match (&args.shard, &args.output) {
        (Some(text), Some(folder)) => {
            let (part, points) = SweepPart::of((text, folder), &simulation, points, &inputs)?;
            (Some(part), points)
        }
        _ => (None, points),
    };
    if let Some(part) = &part
        && part.made()?
    {
        if !reporter.quiet() && reporter.human() {
            say(&part.there());
        }
        return Ok(Exit::Success);
    }
    let clock = Instant::now();
    let clock = || seconds(clock.elapsed());
    let mut job = simulation.sweep(&points, &signal::asked_to_stop, &clock);
    // nobody would see their warnings
    job.second_runs = !reporter.quiet();
    job.check().map_err(|list| simulation.error(list))?;
    job.need(threads).within(simulation.choices().max_memory)?;
    let rows = match &part {
        Some(part) => Rows::file(part.draft())?,
        None => Rows::formatted(args.output.as_deref(), || meta::of(&simulation))?,
    };
    let (exit, made) = execute(&job, &simulation, rows, args, threads, reporter);
    // an incomplete part is not published
    if let (Some(part), Some(Written { rows, lost, counts })) = (part, made) {
        let (runs, failed) = (job.points.len(), failures_of(&job, &lost));
        let names = job.points.names().map(str::to_string).collect();
        part.publish(PartFacts { runs, rows, failed, counts, names, meta: meta::of(&simulation) })?;
    }
    Ok(exit)
}

/// The entries of a certificate about failed runs.
fn failures_of(job: &Job<'_>, failed: &[FailedRun]) -> Vec<Failed> {
    let mut point = vec![0.0; job.points.ranges().len()];
    let of = |(k, trouble): &FailedRun| {
        job.points.fill(*k, &mut point);
        let values = job.points.names().map(str::to_string).zip(point.iter().copied()).collect();
        let why = trouble.as_ref().and_then(|trouble| Some(job.explain(*k, trouble).first()?.headline.clone()));
        Failed { point: job.points.first() + k, values, why }
    };
    failed.iter().map(of).collect()
}

/// The flags of the sweep.
struct SweepOptions {
    points: Points,
    threads: usize,
    ranges: Ranges,
}

impl SweepOptions {
    fn of(args: &Sweep) -> Result<SweepOptions, Box<Diagnostic>> {
        let runs = args.random.as_deref().map(|text| flags::count("--random", text)).transpose()?;
        let ranges = flags::ranges(&args.set, runs.is_some())?;
        if ranges.list.is_empty() {
            let headline = "there is nothing to sweep: no range is given".to_string();
            let help = "give the values of a parameter or initial value: `--set k=0.1:1:50`".to_string();
            return Err(Box::new(error(&codes::E0705, headline, Some(help))));
        }
        let seed = match args.seed.as_deref().map(str::parse::<u64>) {
            None => SEED,
            Some(Ok(seed)) => seed,
            Some(Err(_)) => {
                let headline = "`--seed` must be a whole number of at least 0".to_string();
                return Err(Box::new(error(&codes::E0705, headline, Some("for example `--seed 7`".to_string()))));
            }
        };
        let design = runs.map_or(Design::Grid, |runs| Design::Random { runs, seed });
        let asked = match design {
            Design::Grid => ranges.list.iter().map(|range| range.count.to_string()).collect::<Vec<_>>().join(" x "),
            Design::Random { runs, .. } => runs.to_string(),
        };
        let points = Points::new(ranges.list.clone(), design).ok_or_else(|| {
            let headline = format!("{asked} runs exceed the limit of {MAX_POINTS} for one sweep");
            let help = "use fewer values, or draw random points with `--random 10000`";
            Box::new(error(&codes::E0716, headline, Some(help.to_string())))
        })?;
        bounded(&points, args.shard.as_deref(), &asked)?;
        let threads = match args.threads.as_deref().map(|text| flags::count_like("--threads", text, "4")).transpose()? {
            None => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            Some(n) if n <= MAX_THREADS as u64 => n as usize,
            Some(n) => {
                let headline = format!("`--threads {n}`: the limit is {MAX_THREADS}");
                let help = "leave it out, and odec uses all cores".to_string();
                return Err(Box::new(error(&codes::E0705, headline, Some(help))));
            }
        };
        Ok(SweepOptions { points, threads, ranges })
    }
}

/// Refuses more runs than the limit of one process.
fn bounded(points: &Points, shard: Option<&str>, asked: &str) -> Result<(), Box<Diagnostic>> {
    let parts = shard.map(flags::shard).transpose()?.map_or(1, |(_, parts)| parts);
    if points.len().div_ceil(parts) <= MAX_RUNS {
        return Ok(());
    }
    let headline = format!("{asked} runs exceed the limit of {MAX_RUNS} for one command");
    let parts = points.len().div_ceil(MAX_RUNS).max(10);
    let help = format!("use fewer values, random points (`--random 10000`) or parts (`--shard 0/{parts} -o parts/`)");
    Err(Box::new(error(&codes::E0716, headline, Some(help))))
}

fn execute(
    job: &Job<'_>,
    simulation: &Simulation,
    mut rows: Rows,
    args: &Sweep,
    threads: usize,
    reporter: Reporter,
) -> (Exit, Option<Written>) {
    signal::listen();
    let trouble = begin(&mut rows, job, simulation, args.units).err();
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let on_terminal = output.is_none() && std::io::IsTerminal::is_terminal(&std::io::stdout());
    let visible = reporter.terminal() && !reporter.quiet() && !on_terminal;
    let mut writer = PointWriter {
        rows,
        trouble,
        progress: Runs::new(visible, job.points.len()),
        row: vec![],
        totals: Stats::default(),
        runs: 0,
        failed: 0,
        first: None,
        lost: vec![],
        counts: vec![],
        warnings: SweepWarnings::default(),
        each: args.stats.is_some().then(Vec::new),
    };
    let clock = Instant::now();
    let ended = if writer.trouble.is_none() { job.run(threads, &mut writer) } else { true };
    if writer.trouble.is_none() {
        writer.trouble = writer.rows.finish().err();
    }
    let solve = seconds(clock.elapsed());
    writer.progress.finish();

    reporter.diagnostics(Some(simulation.source()), &writer.warnings.list(), false);
    let mut exit = Exit::Success;
    if ended && signal::asked_to_stop() && writer.trouble.is_none() {
        exit = Exit::Interrupted;
    }
    if let Some((k, trouble)) = &writer.first {
        let list = job.explain(*k, trouble);
        reporter.diagnostics(Some(simulation.source()), &list, Detail::Full);
        exit = exit.or(fail(&failures(job, *k, trouble, &writer).into(), reporter));
    }
    if let Some(trouble) = &writer.trouble {
        exit = exit.or(after(trouble, reporter));
    }
    if !reporter.quiet() && reporter.human() {
        signal::told();
        say(&human(job, simulation, &writer, output, (threads, solve), reporter));
    }
    let json = || json(job, simulation, &writer, (threads, solve));
    let stats = args.stats.as_deref();
    let exit = exit.or(stats.map_or(Exit::Success, |path| write_stats(Some(path), &json(), reporter)));
    let whole = !ended && writer.trouble.is_none();
    (exit, whole.then_some(Written { rows: writer.rows.count, lost: writer.lost, counts: writer.counts }))
}

/// Writes the columns. Their names are unique: the initial value of a recorded x is x(0). Typed rows start with the number of
/// the run and end with a flag for its success.
fn begin(rows: &mut Rows, job: &Job<'_>, simulation: &Simulation, units: bool) -> Result<(), RowsError> {
    let columns = &simulation.bound().columns;
    let doubled = |name: &str| columns.names().any(|other| other == name);
    let point = |name: &str| {
        let shown = if doubled(name) { format!("{name}(0)") } else { name.to_string() };
        if units { label::with_unit(&shown, label::unit_of_given(simulation, name)) } else { shown }
    };
    let of_row = |k: usize| {
        let name = columns.name(k);
        if units { label::with_unit(&name, label::unit_in_header(simulation, k)) } else { name }
    };
    let names: Vec<String> = job.points.names().map(point).chain((0..columns.len()).map(of_row)).collect();
    if !rows.typed() {
        return rows.header(names.into_iter());
    }
    rows.columns(numbered(names))
}

/// The columns of typed rows. A quantity of the model keeps its name, so the others have names that are free.
pub fn numbered(names: Vec<String>) -> Vec<Column> {
    let free = |word: &str| {
        let mut name = word.to_string();
        while names.contains(&name) {
            name.push('_');
        }
        name
    };
    let point = Column { name: free("point"), kind: Kind::Whole };
    let ok = Column { name: free("ok"), kind: Kind::Flag };
    std::iter::once(point).chain(names.into_iter().map(Column::number)).chain([ok]).collect()
}

/// The message about failed runs: their number, and the first one.
fn failures(job: &Job<'_>, k: u64, trouble: &NoValues, writer: &PointWriter) -> Diagnostic {
    let mut point = vec![0.0; job.points.ranges().len()];
    job.points.fill(k, &mut point);
    let at: Vec<String> =
        job.points.names().zip(&point).map(|(name, x)| format!("{name} = {}", shortest(*x))).collect();
    let at = at.join(", ");
    let headline = match (trouble, writer.failed) {
        (NoValues::Refused(_), _) => format!("the sweep ended at {at}, in run {} of {}", k + 1, job.points.len()),
        (_, 1) => format!("1 run failed out of {}: the one at {at}", grouped(writer.runs)),
        (_, failed) => {
            format!("{} runs failed out of {}: the first one at {at}", grouped(failed), grouped(writer.runs))
        }
    };
    let set: Vec<String> =
        job.points.names().zip(&point).map(|(name, x)| format!("--set '{name}={}'", shortest(*x))).collect();
    let help = format!(
        "the last row of a failed run has the time that it reached; to repeat the run alone, use `odec run` with \
             `{}`",
        set.join(" ")
    );
    error(&codes::E0621, headline, Some(help))
}

/// A failed run; the first ones include the reason.
type FailedRun = (u64, Option<NoValues>);

/// The cost of one run.
#[derive(Serialize)]
struct Cost {
    failed: bool,
    steps: u64,
    rejected: u64,
    f: u64,
    jacobians: u64,
    factorisations: u64,
    seconds: f64,
}

/// The written rows.
struct Written {
    rows: u64,
    lost: Vec<FailedRun>,
    counts: Vec<(u64, u64)>,
}

/// Writes rows and counts of runs, and updates the progress bar.
struct PointWriter {
    rows: Rows,
    trouble: Option<rows::RowsError>,
    progress: Runs,
    row: Vec<f64>,
    totals: Stats,
    runs: u64,
    failed: u64,
    first: Option<(u64, NoValues)>,
    /// All failed runs.
    lost: Vec<FailedRun>,
    /// Run-length encoding: numbers of rows of a run, and numbers of consecutive runs with as many rows.
    counts: Vec<(u64, u64)>,
    warnings: SweepWarnings,
    each: Option<Vec<Cost>>,
}

impl Collector for PointWriter {
    fn run(&mut self, k: u64, point: &[f64], values: &[f64], done: &Done) -> ControlFlow<()> {
        self.runs += 1;
        match self.counts.last_mut() {
            Some((rows, count)) if *rows == done.rows as u64 => *count += 1,
            _ => self.counts.push((done.rows as u64, 1)),
        }
        self.totals.add(&done.stats);
        if let Some(each) = &mut self.each {
            let s = &done.stats;
            each.push(Cost {
                failed: done.trouble.is_some(),
                steps: s.accepted,
                rejected: s.rejected + s.failed,
                f: s.rhs,
                jacobians: s.jacobians,
                factorisations: s.factorisations,
                seconds: done.seconds,
            });
        }
        self.warnings.add(done);
        if let Some(trouble) = &done.trouble {
            self.failed += 1;
            self.first.get_or_insert_with(|| (k, trouble.clone()));
            self.lost.push((k, (self.lost.len() < EXPLAINED).then(|| trouble.clone())));
            if matches!(trouble, NoValues::Refused(_)) {
                // the solver would refuse the other runs as well
                return ControlFlow::Break(());
            }
        }
        for row in values.chunks(values.len() / done.rows.max(1)) {
            self.row.clear();
            let typed = self.rows.typed();
            self.row.extend(typed.then_some(k as f64));
            self.row.extend_from_slice(point);
            // all NaNs have the same bits, so that equal rows give equal files
            self.row.extend(row.iter().map(|v| if v.is_nan() { f64::NAN } else { *v }));
            self.row.extend(typed.then_some(f64::from(u8::from(done.trouble.is_none()))));
            if let Err(trouble) = self.rows.row(&self.row) {
                self.trouble = Some(trouble);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn tick(&mut self, done: u64, idle: bool) -> ControlFlow<()> {
        self.progress.done(done);
        // the next run may take long: write what is available
        let written = if idle { self.rows.flush() } else { self.rows.tick() };
        if let Err(trouble) = written {
            self.trouble = Some(trouble);
        }
        let over = self.trouble.is_some() || signal::asked_to_stop();
        if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn text(range: &ValueRange) -> String {
    let spacing = if range.spacing == Spacing::Logarithmic { ", logarithmic" } else { "" };
    format!("{} = {} .. {}{spacing}", range.name, shortest(range.low), shortest(range.high))
}

fn human(
    job: &Job<'_>,
    simulation: &Simulation,
    writer: &PointWriter,
    destination: Option<&Path>,
    (threads, solve): (usize, f64),
    reporter: Reporter,
) -> String {
    let bound = simulation.bound();
    let paint = reporter.paint();
    let mut ranges: Vec<String> = job.points.ranges().iter().take(LISTED).map(text).collect();
    if job.points.ranges().len() > LISTED {
        ranges.push("...".to_string());
    }
    let mut runs = counted(writer.runs as usize, "run", "runs").unwrap_or("no run".to_string());
    if writer.runs < job.points.len() {
        runs.push_str(&paint.yellow(&format!(" of {}, stopped", grouped(job.points.len()))));
    }
    if writer.failed > 0 {
        runs.push_str(&paint.red(&format!(", {} failed", grouped(writer.failed))));
    }
    let rows = written(writer.rows.count, matches!(writer.trouble, Some(rows::RowsError::Closed)));
    let to = destination.map(|d| format!(" in {}", d.display())).unwrap_or_default();
    let mut lines = vec![
        (simulation.model().name.clone(), ranges.join(", ")),
        ("method".to_string(), bound.choice.method.name.to_string()),
        ("runs".to_string(), format!("{runs}, {rows}{to}")),
    ];
    lines.extend(Counts::from(writer.totals).lines());
    let cores = counted(threads, "thread", "threads").unwrap_or_default();
    let each = solve / writer.runs.max(1) as f64;
    let compile = simulation.times().derive + simulation.times().compile;
    let solve = format!("solve {} on {cores}, {} a run", duration(solve), short_duration(each));
    lines.push(("time".to_string(), format!("compile {}, {solve}", duration(compile))));
    aligned(&lines, paint, reporter.width())
}

fn json(job: &Job<'_>, simulation: &Simulation, writer: &PointWriter, (threads, solve): (usize, f64)) -> String {
    let value = serde_json::json!({
        "model": simulation.model().name,
        "method": simulation.bound().choice.method.name,
        "points": job.points.len(),
        "runs": writer.runs,
        "failed": writer.failed,
        "rows": writer.rows.count,
        "threads": threads,
        "totals": Counts::from(writer.totals),
        "seconds": { "compile": simulation.times().derive + simulation.times().compile, "bind": simulation.times().bind, "solve": solve },
        "each": writer.each,
    });
    format!("{value:#}\n")
}
