//! One run: its rows in one array, signals and progress during the run, and how it ended.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use odec_ir::names::plain;
use odec_lang::diagnostic::Diagnostic;
use odec_ode::problem::{Outcome, SolveError, Stats, Stop};
use odec_sim::memory::MemoryEstimate;
use odec_sim::sample::{self, RecordedSolution, Recorder};
use odec_sim::session::SecondRun;
use odec_sim::{Error, Simulation};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::errors::{diagnostics, exception};
use crate::model::Core;
use crate::settings::Settings;

/// Time between two checks for signals, or calls for progress.
const PAUSE: Duration = Duration::from_millis(20);
/// From this number of states on, the clock is read after each step.
const LARGE: usize = 500;
/// In a smaller model, the clock is read after this number of steps.
const STEPS: u32 = 64;

/// A simulation, and data that all of its runs share.
pub struct Prepared {
    pub simulation: Simulation,
    columns: PyOnceLock<Py<PyTuple>>,
    groups: PyOnceLock<Py<PyDict>>,
}

impl Prepared {
    pub fn new(simulation: Simulation) -> Prepared {
        Prepared { simulation, columns: PyOnceLock::new(), groups: PyOnceLock::new() }
    }

    /// Names of the columns, the independent variable first.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyTuple>> {
        let made =
            || Ok::<_, PyErr>(PyTuple::new(py, self.simulation.bound().columns.names().collect::<Vec<_>>())?.unbind());
        Ok(self.columns.get_or_try_init(py, made)?.bind(py))
    }

    /// The quantities that the rows contain completely: first column and shape, by name.
    fn groups<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyDict>> {
        let made = || {
            let columns = &self.simulation.bound().columns;
            let all = PyDict::new(py);
            let mut k = 1;
            while k < columns.len() {
                let Some((quantity, element)) = columns.quantity(k) else { break };
                let whole = element == 0
                    && k + quantity.len <= columns.len()
                    && (1..quantity.len).all(|j| {
                        columns.quantity(k + j).is_some_and(|(other, at)| other.name == quantity.name && at == j)
                    });
                if whole {
                    let shape: Vec<usize> = quantity.axes.iter().map(|axis| axis.len).collect();
                    let first: Vec<(&str, i64)> = quantity.axes.iter().map(|a| (a.name.as_str(), a.first)).collect();
                    all.set_item(plain(&quantity.name), (k, shape, first))?;
                    k += quantity.len.max(1);
                } else {
                    k += 1;
                }
            }
            Ok::<_, PyErr>(all.unbind())
        };
        Ok(self.groups.get_or_try_init(py, made)?.bind(py))
    }
}

/// An event for Python: time, event number, indices, and changes.
type EventRecord = (f64, usize, Vec<i64>, Vec<(String, f64, f64)>);

/// Stores rows, and handles signals and progress.
struct Watch<'a> {
    rows: Vec<f64>,
    events: Vec<EventRecord>,
    progress: Option<&'a Py<PyAny>>,
    last_check: Instant,
    every: u32,
    steps: u32,
    /// The exception of a signal handler or of the callback.
    raised: Option<PyErr>,
    /// True if the callback stopped the run.
    stopped: bool,
}

impl Watch<'_> {
    fn check_signals(&mut self, t: f64) -> ControlFlow<()> {
        self.last_check = Instant::now();
        let seen = Python::attach(|py| {
            py.check_signals()?;
            let Some(callback) = self.progress else { return Ok(true) };
            let answer = callback.call1(py, (t,))?;
            // None means to continue
            Ok(answer.is_none(py) || answer.is_truthy(py)?)
        });
        match seen {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => {
                self.stopped = true;
                ControlFlow::Break(())
            }
            Err(raised) => {
                self.raised = Some(raised);
                ControlFlow::Break(())
            }
        }
    }
}

impl Recorder for Watch<'_> {
    fn row(&mut self, values: &[f64]) -> ControlFlow<()> {
        self.rows.extend_from_slice(values);
        ControlFlow::Continue(())
    }

    fn step(&mut self, t: f64) -> ControlFlow<()> {
        self.steps += 1;
        if self.steps < self.every {
            return ControlFlow::Continue(());
        }
        self.steps = 0;
        if self.last_check.elapsed() < PAUSE { ControlFlow::Continue(()) } else { self.check_signals(t) }
    }

    fn logs(&self) -> bool {
        true
    }

    fn instant(&mut self, instant: &sample::EventInstant) {
        let happened = instant.events.iter().map(|e| (instant.t, e.event, e.at.clone(), e.changes.clone()));
        self.events.extend(happened);
    }
}

/// How a run ended, for Python.
enum End {
    /// It reached its end.
    Whole,
    /// An event of the model ended it at this time.
    Stopped(f64),
    /// It failed, or a callback stopped it, at this time.
    Broken(f64, Error),
    /// A signal stopped it at this time, and its handler raised this exception.
    Raised(f64, PyErr),
}

/// The results of a run.
pub struct RunOutput {
    rows: Vec<f64>,
    events: Vec<EventRecord>,
    stats: Stats,
    method: &'static str,
    warnings: Vec<Diagnostic>,
    second_run: Option<SecondRun>,
    end: End,
}

/// True from the first signal on whose handler raises, which `raised` keeps.
fn interrupted(last_check: &Cell<Instant>, raised: &RefCell<Option<PyErr>>) -> bool {
    if raised.borrow().is_none() && last_check.get().elapsed() >= PAUSE {
        last_check.set(Instant::now());
        raised.replace(Python::attach(|py| py.check_signals()).err());
    }
    raised.borrow().is_some()
}

/// A run. If `compared`, a second run may follow, which shows whether errors grew. With `into`, the run also records its
/// solution.
pub fn made(
    prepared: &Prepared,
    progress: Option<&Py<PyAny>>,
    compared: bool,
    into: Option<&mut RecordedSolution>,
) -> PyResult<Result<RunOutput, Error>> {
    let simulation = &prepared.simulation;
    let bound = simulation.bound();
    let count = bound.samples.count().unwrap_or(1);
    let need = MemoryEstimate::of_run(bound).keeping(count, bound.columns.len() as u64);
    if let Err(d) = need.within(simulation.choices().max_memory) {
        return Ok(Err(simulation.error(vec![*d])));
    }
    let mut watch = Watch {
        rows: Vec::with_capacity(count as usize * bound.columns.len()),
        events: vec![],
        progress,
        last_check: Instant::now(),
        every: if bound.problem.y0.len() >= LARGE { 1 } else { STEPS },
        steps: 0,
        raised: None,
        stopped: false,
    };
    let solved = match into {
        None => simulation.run(&mut watch),
        Some(into) => match simulation.record(&mut watch) {
            Ok((solved, recorded)) => {
                *into = recorded;
                solved
            }
            Err(error) => return Ok(Err(error)),
        },
    };
    let Watch { rows, events, raised, stopped, .. } = watch;
    let (stats, mut end) = match &solved.result {
        Ok(Outcome { stop: Stop::End, stats, t, .. }) if *t == bound.problem.t_end => (*stats, End::Whole),
        Ok(Outcome { stop: Stop::End, stats, t, .. }) => (*stats, End::Stopped(*t)),
        Ok(Outcome { stats, t, .. }) if let Some(raised) = raised => (*stats, End::Raised(*t, raised)),
        Ok(Outcome { stats, t, .. }) => {
            let why = if stopped { "`progress` returned False" } else { "the run was stopped" };
            let at = format!("{why} at {} = {t}", simulation.model().time.name);
            let d = Diagnostic::error(&odec_lang::diagnostic::codes::E0607, at);
            (*stats, End::Broken(*t, Error { class: odec_lang::diagnostic::Class::Run, ..Error::from(d) }))
        }
        Err(why @ SolveError::Failed(failure)) => {
            (failure.stats, End::Broken(failure.t, simulation.explain_seen(why, &solved.seen, &[])))
        }
        Err(why) => return Ok(Err(simulation.explain(why))),
    };
    let mut warnings = simulation.remarks().to_vec();
    let mut second_run = None;
    let (last_check, raised) = (Cell::new(Instant::now()), RefCell::new(None));
    let stop = || interrupted(&last_check, &raised);
    if compared {
        let comparison = simulation.warnings_of_rows(&solved.seen, &stop);
        warnings.extend(comparison.warnings);
        second_run = comparison.second_run;
    } else {
        warnings.extend(simulation.warnings(&solved.seen, &stop));
    }
    if let Some(raised) = raised.into_inner() {
        end = End::Raised(bound.problem.t_end, raised);
    }
    Ok(Ok(RunOutput { rows, events, stats, method: bound.choice.method.name, warnings, second_run, end }))
}

/// The counts by name.
pub fn counts<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let list = [
        ("accepted", stats.accepted),
        ("rejected", stats.rejected),
        ("failed", stats.failed),
        ("f", stats.rhs + stats.between.rhs),
        ("jacobians", stats.jacobians + stats.between.jacobians),
        ("factorisations", stats.factorisations + stats.between.factorisations),
        ("solves", stats.solves + stats.between.solves),
        ("newton", stats.newton),
    ];
    for (name, count) in list {
        all.set_item(name, count)?;
    }
    Ok(all)
}

/// The rows as a read-only matrix.
pub fn matrix<'py>(py: Python<'py>, values: Vec<f64>, columns: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let rows = values.len() / columns;
    let matrix = PyArray1::from_vec(py, values).reshape([rows, columns])?;
    matrix.call_method1("setflags", (false,))?;
    Ok(matrix)
}

/// The results of a run for Python, see `run_rows`.
pub fn outcome<'py>(py: Python<'py>, prepared: &Prepared, made: RunOutput) -> PyResult<Bound<'py, PyTuple>> {
    let columns = prepared.columns(py)?;
    let rows = matrix(py, made.rows, columns.len())?;
    let stats = counts(py, &made.stats)?;
    stats.set_item("method", made.method)?;
    stats.set_item("second_run", made.second_run.as_ref().map_or(0, |second| second.steps))?;
    let warnings = if made.warnings.is_empty() {
        PyList::empty(py)
    } else {
        diagnostics(py, Some(prepared.simulation.source()), &made.warnings)?
    };
    let end = match &made.end {
        End::Whole => py.None().into_bound(py),
        End::Stopped(t) => (*t, py.None()).into_pyobject(py)?.into_any(),
        End::Broken(t, error) => (*t, exception(py, error)).into_pyobject(py)?.into_any(),
        End::Raised(t, raised) => (*t, raised.clone_ref(py)).into_pyobject(py)?.into_any(),
    };
    let all: [Bound<'py, PyAny>; 7] = [
        columns.clone().into_any(),
        prepared.groups(py)?.clone().into_any(),
        rows.into_any(),
        stats.into_any(),
        warnings.into_any(),
        made.events.into_pyobject(py)?.into_any(),
        end,
    ];
    PyTuple::new(py, all)
}

#[pymethods]
impl Core {
    /// Executes a run; if `compared`, with the warnings that need a second run. Returns columns, groups of columns, rows, counts, warnings and events. If the run did not reach
    /// its end, also the time and the exception, or `None` if an event of the model ended it.
    #[pyo3(signature = (settings, progress = None, compared = false))]
    fn run_rows<'py>(
        &self,
        py: Python<'py>,
        settings: Settings,
        progress: Option<Py<PyAny>>,
        compared: bool,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (prepared, made) = py.detach(|| match self.prepared(&settings) {
            Ok(prepared) => {
                let made = made(&prepared, progress.as_ref(), compared && settings.second_run, None)?;
                Ok::<_, PyErr>((Some(prepared), made))
            }
            Err(error) => Ok((None, Err(error))),
        })?;
        let made = made.map_err(|error| exception(py, &error))?;
        match prepared {
            Some(prepared) => outcome(py, &prepared, made),
            None => Ok(PyTuple::empty(py)),
        }
    }

    /// The names of events: their comments, or else their heads.
    fn event_names(&self) -> Vec<String> {
        let source = self.source();
        let name = |event: &odec_lang::model::Event| {
            let head = source.text.get(event.head.range()).unwrap_or_default();
            let head = head.split_whitespace().collect::<Vec<_>>().join(" ");
            event.doc.clone().unwrap_or(head)
        };
        self.model().events.iter().map(name).collect()
    }
}
