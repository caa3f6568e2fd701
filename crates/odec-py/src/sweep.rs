//! Many runs on threads. The points come as a table, and the rows of all runs go into one matrix.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyArray2};
use odec_lang::diagnostic::Diagnostic;
use odec_ode::problem::Stats;
use odec_sim::bind::Purpose;
use odec_sim::points::{Design, MAX_RUNS, Points, ValueRange, Spacing};
use odec_sim::sweep::{Collector, Done, Job, MAX_THREADS, NoValues, SweepWarnings};
use odec_sim::{Error, Simulation};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::{diagnostics, exception, usage};
use crate::model::Core;
use crate::run::{counts, matrix};
use crate::settings::Settings;

/// Largest number of failed runs whose causes are explained.
const MAX_EXPLAINED: usize = 100;

/// Time between two checks for signals.
const PAUSE: Duration = Duration::from_millis(20);

/// Collects the rows of all runs.
#[derive(Default)]
struct RowCollector {
    rows: Vec<f64>,
    /// Number of rows of each run.
    counts: Vec<usize>,
    /// Indices of the failed runs.
    failed: Vec<u64>,
    troubles: Vec<(u64, NoValues)>,
    stats: Stats,
    warnings: SweepWarnings,
}

impl Collector for RowCollector {
    fn run(&mut self, k: u64, _point: &[f64], rows: &[f64], done: &Done) -> ControlFlow<()> {
        self.rows.extend_from_slice(rows);
        self.counts.push(done.rows);
        self.stats.add(&done.stats);
        self.warnings.add(done);
        if let Some(trouble) = &done.trouble {
            self.failed.push(k);
            if self.troubles.len() < MAX_EXPLAINED {
                self.troubles.push((k, trouble.clone()));
            }
        }
        ControlFlow::Continue(())
    }
}

/// Checks for signals until the sweep ends. Only Python's main thread may do this, so it must not wait for a run.
fn watch(over: &AtomicBool, stop: &AtomicBool) -> Option<PyErr> {
    while !over.load(Ordering::Acquire) {
        std::thread::park_timeout(PAUSE);
        if let Err(raised) = Python::attach(|py| py.check_signals()) {
            stop.store(true, Ordering::Relaxed);
            return Some(raised);
        }
    }
    None
}

/// The results of a sweep, with the causes of failed runs.
struct Swept {
    simulation: Simulation,
    rows: Vec<f64>,
    counts: Vec<usize>,
    failed: Vec<u64>,
    explained: Vec<(u64, Error)>,
    stats: Stats,
    warnings: Vec<(u64, Diagnostic)>,
    raised: Option<PyErr>,
}

/// For a part of a sweep: the number of points of the whole sweep, and the range of each name in it.
type SweepExtent = (u64, Vec<(f64, f64)>);

fn swept(
    core: &Core,
    names: &[String],
    (table, whole): (Vec<f64>, Option<SweepExtent>),
    settings: &Settings,
    threads: usize,
) -> Result<Swept, Error> {
    let mut choices = core.choices(settings)?;
    let points = Points::listed(names, table).ok_or_else(|| {
        let headline = format!("a sweep needs at least one name and has at most {MAX_RUNS} points");
        Error::from(Diagnostic::error(&odec_lang::diagnostic::codes::E0716, headline))
    })?;
    let part = whole.is_some();
    let points = match whole {
        Some((count, ends)) => points.of_whole(count, &ends),
        None => points,
    };
    // the values of the sweep override those of the model
    choices.set.retain(|(name, _)| !names.contains(name));
    choices.set.extend(points.ranges().iter().map(|range| (range.name.clone(), range.low)));
    choices.open = names.to_vec();
    choices.samples.get_or_insert(odec_sim::choices::SampleRule::End);
    let simulation = core.loaded().simulate(&choices, Purpose::Rows)?;
    let stop = AtomicBool::new(false);
    let asked = || stop.load(Ordering::Relaxed);
    let begun = Instant::now();
    let clock = || begun.elapsed().as_secs_f64();
    let mut gather = RowCollector::default();
    let mut job: Job<'_> = simulation.sweep(&points, &asked, &clock);
    job.second_runs = settings.second_run;
    job.check().map_err(|list| simulation.error(list))?;
    // all rows stay in memory
    let rows = job.points.len().saturating_mul(simulation.bound().samples.count().unwrap_or(1));
    let need = job.need(threads).keeping(rows, simulation.bound().columns.len() as u64);
    need.within(simulation.choices().max_memory).map_err(|d| simulation.error(vec![*d]))?;
    let over = AtomicBool::new(false);
    let caller = std::thread::current();
    let raised = std::thread::scope(|scope| {
        scope.spawn(|| {
            job.run(threads, &mut gather);
            over.store(true, Ordering::Release);
            caller.unpark();
        });
        watch(&over, &stop)
    });
    let RowCollector { rows, counts, failed, troubles, stats, warnings } = gather;
    let explained = troubles.iter().map(|(k, trouble)| (*k, simulation.error(job.explain(*k, trouble)))).collect();
    // the parts of a sweep are joined, and only then the number of runs is known
    let numbers = warnings.numbers();
    let warnings: Vec<Diagnostic> = if part { warnings.first() } else { warnings.list() };
    let warnings = numbers.into_iter().zip(warnings).collect();
    Ok(Swept { simulation, rows, counts, failed, explained, stats, warnings, raised })
}

#[pymethods]
impl Core {
    /// Runs all points of a table, which has a row for each point. Returns columns, rows of all runs, number of rows
    /// of each run, counts, warnings, indices of failed runs, the exceptions of the first of them, and the exception of a
    /// signal that stopped the sweep.
    #[pyo3(signature = (names, table, settings, threads, whole = None))]
    fn sweep_rows<'py>(
        &self,
        py: Python<'py>,
        names: Vec<String>,
        table: Vec<f64>,
        settings: Settings,
        threads: Option<usize>,
        whole: Option<SweepExtent>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let available = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = match threads {
            None => available(),
            Some(n) if (1..=MAX_THREADS).contains(&n) => n,
            Some(n) => {
                return Err(usage(
                    py,
                    &format!("`threads={n}`: the number of threads must be between 1 and {MAX_THREADS}"),
                ));
            }
        };
        let swept = py.detach(|| swept(self, &names, (table, whole), &settings, threads));
        let Swept { simulation, rows, counts: each, failed, explained, stats, warnings, raised } =
            swept.map_err(|error| exception(py, &error))?;
        let columns = PyTuple::new(py, simulation.bound().columns.names().collect::<Vec<_>>())?;
        let width = columns.len();
        let stats = counts(py, &stats)?;
        stats.set_item("runs", each.len())?;
        let why = PyDict::new(py);
        for (k, error) in &explained {
            why.set_item(k, exception(py, error))?;
        }
        let raised = raised.map_or(py.None().into_bound(py), |raised| raised.into_value(py).into_bound(py).into_any());
        let (numbers, warnings): (Vec<u64>, Vec<Diagnostic>) = warnings.into_iter().unzip();
        let all: [Bound<'py, PyAny>; 9] = [
            columns.into_any(),
            matrix(py, rows, width)?.into_any(),
            PyArray1::from_vec(py, each.iter().map(|n| *n as i64).collect()).into_any(),
            stats.into_any(),
            diagnostics(py, Some(simulation.source()), &warnings)?.into_any(),
            numbers.into_pyobject(py)?.into_any(),
            failed.into_pyobject(py)?.into_any(),
            why.into_any(),
            raised,
        ];
        PyTuple::new(py, all)
    }
}

fn spacing(logarithmic: bool) -> Spacing {
    if logarithmic { Spacing::Logarithmic } else { Spacing::Even }
}

/// The values of a range, which include both ends exactly.
#[pyfunction]
pub fn range_values<'py>(
    py: Python<'py>,
    low: f64,
    high: f64,
    count: u64,
    logarithmic: bool,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let range = ValueRange { name: String::new(), low, high, count, spacing: spacing(logarithmic) };
    let points = Points::new(vec![range], Design::Grid).filter(|points| points.len() <= MAX_RUNS);
    let points = points.ok_or_else(|| usage(py, &format!("a range has at most {MAX_RUNS} values")))?;
    let mut values = vec![0.0; points.len() as usize];
    for (k, value) in values.iter_mut().enumerate() {
        points.fill(k as u64, std::slice::from_mut(value));
    }
    Ok(PyArray1::from_vec(py, values))
}

/// Points drawn from ranges, a row for each: the same points as `odec sweep --random` with this seed.
#[pyfunction]
pub fn drawn_points<'py>(
    py: Python<'py>,
    ranges: Vec<(f64, f64, bool)>,
    runs: u64,
    seed: u64,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let range = |&(low, high, logarithmic): &(f64, f64, bool)| ValueRange {
        name: String::new(),
        low,
        high,
        count: 1,
        spacing: spacing(logarithmic),
    };
    let width = ranges.len().max(1);
    let points = Points::new(ranges.iter().map(range).collect(), Design::Random { runs, seed });
    let points = points.filter(|points| points.len() <= MAX_RUNS);
    let points = points.ok_or_else(|| usage(py, &format!("a sweep has at most {MAX_RUNS} points")))?;
    let mut values = vec![0.0; ranges.len() * runs as usize];
    for (k, point) in values.chunks_exact_mut(width).enumerate() {
        points.fill(k as u64, point);
    }
    matrix(py, values, width)
}
