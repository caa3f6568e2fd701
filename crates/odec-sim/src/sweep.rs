//! Many runs of one compiled model: threads take blocks of points, and results arrive in the order of the points.
//! Each run is the same as a single run, so the number of threads affects only the time.

mod warnings;

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, TryRecvError};
use std::sync::{Condvar, Mutex, PoisonError};

use odec_ir::broken;
use odec_lang::diagnostic::Diagnostic;
use odec_lang::model::Model;
use odec_lang::source::Source;
use odec_ode::problem::{Failure, Refusal, SolveError, Stats, Stop};

use crate::bind::{Bound, Purpose, RunPlan, overrides};
use crate::blame;
use crate::choices::Choices;
use crate::hybrid::drive::Driver;
use crate::memory::MemoryEstimate;
use crate::monitor::amplified;
use crate::monitor::report::CheckedRun;
use crate::points::Points;
use crate::quantities::Quantities;
use crate::sample::{self, Observations, Recorder};
use crate::start::NoStart;

pub use warnings::SweepWarnings;

/// Largest number of threads of a sweep.
pub const MAX_THREADS: usize = 1024;
/// From this number of runs on, fused steps of larger systems are compiled.
const MANY: u64 = 32;
/// Largest number of runs in a block.
const MAX_BLOCK: u64 = 64;
/// Smallest number of blocks per thread, so that few threads wait for the last block.
const SHARES: u64 = 8;
/// Number of blocks per thread that may be finished before the oldest one is delivered.
const AHEAD: u64 = 4;

/// The task of a sweep.
pub struct Job<'a> {
    /// The model.
    pub model: &'a Model,
    /// Its text.
    pub source: &'a Source,
    /// The model, compiled and bound with every range among `Choices::open` and with the first value of each.
    pub bound: &'a Bound,
    /// The choices that it is bound with.
    pub choices: &'a Choices,
    /// The points.
    pub points: &'a Points,
    /// Returns true to stop the sweep.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Seconds since an arbitrary moment.
    pub clock: &'a (dyn Fn() -> f64 + Sync),
    /// False to leave out the runs with smaller tolerances that show whether errors have grown (W0622).
    pub second_runs: bool,
}

/// The reason why a run has no result.
#[derive(Clone, Debug)]
pub enum NoValues {
    /// Its settings are invalid, or a value is outside its bounds.
    Settings(Vec<Diagnostic>),
    /// It has no valid start.
    Start(NoStart),
    /// It failed before its end.
    Failed(Box<Failure>),
    /// The solver refuses the run.
    Refused(Refusal),
}

/// One run.
#[derive(Clone, Debug)]
pub struct Done {
    /// Its number of rows. The last row of a failed run has the time that it reached, and NaN otherwise.
    pub rows: usize,
    /// The work of the run.
    pub stats: Stats,
    /// The time of the solution in seconds.
    pub seconds: f64,
    /// The reason of a failure.
    pub trouble: Option<NoValues>,
    /// The warnings of a run that reached its end.
    pub warnings: Vec<Diagnostic>,
}

/// Receives runs.
pub trait Collector {
    /// Run `k` with its point and its rows, [`crate::columns::Columns::len`] values each. Runs come in order. `Break` ends the
    /// sweep.
    fn run(&mut self, k: u64, point: &[f64], rows: &[f64], done: &Done) -> ControlFlow<()>;
    /// Called now and then with the number of finished runs, delivered or not; `idle` if none can be delivered.
    fn tick(&mut self, _done: u64, _idle: bool) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Runs made by one thread.
struct Block {
    values: Vec<f64>,
    runs: Vec<Done>,
}

/// State shared by the threads.
struct Shared {
    next: AtomicU64,
    done: AtomicU64,
    halted: AtomicBool,
    delivered: Mutex<u64>,
    moved: Condvar,
}

impl Shared {
    fn halt(&self) {
        // with the lock held, no thread is between its check and its wait
        let _lock = self.delivered.lock().unwrap_or_else(PoisonError::into_inner);
        self.halted.store(true, Ordering::Relaxed);
        self.moved.notify_all();
    }

    fn halted(&self) -> bool {
        self.halted.load(Ordering::Relaxed)
    }
}

/// Stops the other threads if one panics, so that none waits for its result.
struct StopOnPanic<'a>(&'a Shared);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.halt();
        }
    }
}

impl Job<'_> {
    /// Refuses ranges outside the bounds of their parameters.
    ///
    /// # Errors
    /// See [`Model::values`].
    pub fn check(&self) -> Result<(), Vec<Diagnostic>> {
        let run = self.model.run(self.choices.run.as_deref()).ok().flatten();
        let ends = |last: bool| -> Vec<f64> {
            self.points.ranges().iter().map(|range| if last { range.high } else { range.low }).collect()
        };
        [false, true].iter().try_for_each(|&last| {
            let overrides = overrides(run, &self.at(&ends(last)));
            self.model.values(&overrides).map(drop)
        })
    }

    /// The choices at a point.
    fn at(&self, point: &[f64]) -> Choices {
        let mut choices = self.choices.clone();
        choices.set.extend(self.points.names().map(str::to_string).zip(point.iter().copied()));
        choices
    }

    /// The number of threads to start, if `threads` are requested, and the size of a block.
    fn shares(&self, threads: usize) -> (u64, u64) {
        let len = self.points.len();
        let threads = (threads.clamp(1, MAX_THREADS) as u64).min(len.max(1));
        (threads, (len / (SHARES * threads)).clamp(1, MAX_BLOCK))
    }

    /// The memory of a sweep on this many threads.
    pub fn need(&self, threads: usize) -> MemoryEstimate {
        let (threads, size) = self.shares(threads);
        let each = self.bound.samples.count().unwrap_or(1);
        MemoryEstimate::of_run(self.bound).times(
            threads,
            threads * AHEAD * size * each,
            self.bound.columns.len() as u64,
        )
    }

    /// Runs all points on this many threads. True if the collector or the caller stopped it early.
    pub fn run(&self, threads: usize, collector: &mut dyn Collector) -> bool {
        let len = self.points.len();
        // the size of the whole sweep decides, so that all parts use the same code
        if self.points.whole() >= MANY {
            self.bound.executor.expect_many_runs();
        }
        let (threads, size) = self.shares(threads);
        let blocks = len.div_ceil(size);
        let shared = Shared {
            next: AtomicU64::new(0),
            done: AtomicU64::new(0),
            halted: AtomicBool::new(false),
            delivered: Mutex::new(0),
            moved: Condvar::new(),
        };
        let places = self.places();
        let run = self.model.run(self.choices.run.as_deref()).ok().flatten();
        let names: Vec<String> = self.points.names().map(str::to_string).collect();
        let dependent = self.model.settings_depend(run, &names);
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for _ in 0..threads {
                let sender = sender.clone();
                let (shared, places) = (&shared, &places);
                scope.spawn(move || {
                    let _alarm = StopOnPanic(shared);
                    let point = vec![0.0; self.points.ranges().len()];
                    let bound = self.bound.fork();
                    let mut worker = Worker { job: self, places, dependent, shared, bound, point, runner: None };
                    while let Some(block) = worker.take(blocks, AHEAD * threads) {
                        let runs = block * size..len.min((block + 1) * size);
                        if sender.send((block, worker.block(runs))).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            self.deliver(&receiver, &shared, size, collector)
        })
    }

    /// Delivers blocks to the collector in order; true if some are missing.
    fn deliver(
        &self,
        receiver: &mpsc::Receiver<(u64, Block)>,
        shared: &Shared,
        size: u64,
        collector: &mut dyn Collector,
    ) -> bool {
        let mut waiting = BTreeMap::new();
        let mut delivered = 0;
        let mut point = vec![0.0; self.points.ranges().len()];
        let columns = self.bound.columns.len();
        loop {
            let (mut idle, mut disconnected) = (false, false);
            match receiver.try_recv() {
                Ok((block, runs)) => drop(waiting.insert(block, runs)),
                Err(TryRecvError::Empty) => idle = true,
                // the last blocks must still be delivered
                Err(TryRecvError::Disconnected) => disconnected = true,
            }
            while let Some(block) = waiting.remove(&(delivered / size)) {
                let mut rows = block.values.as_slice();
                for done in &block.runs {
                    let (own, rest) = rows.split_at(done.rows * columns);
                    rows = rest;
                    self.points.fill(delivered, &mut point);
                    let flow = collector.run(delivered, &point, own, done);
                    delivered += 1;
                    if flow.is_break() {
                        shared.halt();
                        return true;
                    }
                }
                *shared.delivered.lock().unwrap_or_else(PoisonError::into_inner) = delivered.div_ceil(size);
                shared.moved.notify_all();
                if delivered % size != 0 {
                    // a block that was stopped in the middle, or the last one
                    break;
                }
            }
            if disconnected {
                return delivered < self.points.len();
            }
            if collector.tick(shared.done.load(Ordering::Relaxed), idle).is_break() {
                shared.halt();
                return true;
            }
            // the end of the threads is handled above
            if idle && let Ok((block, runs)) = receiver.recv() {
                waiting.insert(block, runs);
            }
        }
    }

    /// The indices in the parameter buffer that each range sets.
    fn places(&self) -> Vec<Vec<Range<usize>>> {
        let executor = &self.bound.executor;
        let parameters = Quantities::parameters(executor.program(), executor.layout());
        let places = |name: &str| {
            let Ok(chosen) = parameters.select(name) else { broken("a swept parameter is not in the program") };
            let runs = chosen.iter().flat_map(|c| {
                let start = parameters.list()[c.quantity].start;
                c.runs.iter().map(move |run| start + run.start..start + run.end)
            });
            runs.collect()
        };
        self.points.names().map(places).collect()
    }

    /// The warnings after a run that reached its end.
    fn warnings(&self, bound: &Bound, seen: &Observations, evaluations: u64, shared: &Shared) -> Vec<Diagnostic> {
        let (model, source, findings) = (self.model, self.source, &seen.findings);
        let stop: &dyn Fn() -> bool = &|| shared.halted() || (self.stop)();
        let mut list = blame::warnings(model, source, bound, seen, stop);
        if self.second_runs && !amplified::tells_all(&list, findings) {
            let checked = CheckedRun { model, source, bound, findings, stop };
            list.extend(amplified::found_in_sweep(&checked, evaluations));
        }
        list
    }

    /// The message about a failed run.
    pub fn explain(&self, k: u64, trouble: &NoValues) -> Vec<Diagnostic> {
        let mut bound = self.bound.fork();
        let mut point = vec![0.0; self.points.ranges().len()];
        self.points.fill(k, &mut point);
        if let NoValues::Settings(list) = trouble {
            return list.clone();
        }
        // the point has run before, so its settings are valid
        if let Err(NoValues::Settings(list)) = self.vary(&mut bound, &self.places(), &point, true) {
            return list;
        }
        match trouble {
            NoValues::Settings(list) => list.clone(),
            NoValues::Start(why) => vec![bound.no_start(self.model, self.source, why)],
            NoValues::Failed(failure) => vec![blame::failed(self.model, self.source, &bound, failure)],
            NoValues::Refused(refusal) => vec![blame::refused(refusal, &bound)],
        }
    }

    /// Moves a bound model to a point; `settings` is true if the run block must be evaluated again.
    fn vary(
        &self,
        bound: &mut Bound,
        places: &[Vec<Range<usize>>],
        point: &[f64],
        settings: bool,
    ) -> Result<(), NoValues> {
        let changed = bound.change(|p| {
            for (runs, x) in places.iter().zip(point) {
                for run in runs {
                    p[run.clone()].fill(*x);
                }
            }
        });
        let program = bound.executor.program();
        changed.map_err(|unfit| NoValues::Settings(vec![blame::not_compiled(&unfit, Some(program))]))?;
        if settings {
            let plan = RunPlan::new(self.model, &self.at(point), Purpose::Rows).map_err(NoValues::Settings)?;
            plan.settle(self.model, bound).map_err(|d| NoValues::Settings(vec![d]))?;
        }
        bound.start().map_err(NoValues::Start)
    }
}

/// One thread with its executor.
struct Worker<'a> {
    job: &'a Job<'a>,
    places: &'a [Vec<Range<usize>>],
    /// True if the run block depends on the varying quantities.
    dependent: bool,
    shared: &'a Shared,
    bound: Bound,
    point: Vec<f64>,
    /// Reused for further runs while the settings are the same.
    runner: Option<Driver>,
}

impl Worker<'_> {
    /// The number of the next block, after waiting until it is close enough to the delivered ones; `None` at the end.
    fn take(&self, blocks: u64, max_ahead: u64) -> Option<u64> {
        let block = self.shared.next.fetch_add(1, Ordering::Relaxed);
        if block >= blocks {
            return None;
        }
        let mut delivered = self.shared.delivered.lock().unwrap_or_else(PoisonError::into_inner);
        while block >= *delivered + max_ahead && !self.shared.halted() {
            delivered = self.shared.moved.wait(delivered).unwrap_or_else(PoisonError::into_inner);
        }
        (!self.shared.halted()).then_some(block)
    }

    /// Runs some points; fewer if the sweep is stopped.
    fn block(&mut self, runs: Range<u64>) -> Block {
        let mut block = Block { values: vec![], runs: Vec::with_capacity((runs.end - runs.start) as usize) };
        for k in runs {
            let done = self.one(k, &mut block.values);
            self.shared.done.fetch_add(1, Ordering::Relaxed);
            let Some(done) = done else {
                self.shared.halt();
                break;
            };
            block.runs.push(done);
        }
        block
    }

    /// Makes one run and appends its rows to `values`; `None` if it was stopped.
    fn one(&mut self, k: u64, values: &mut Vec<f64>) -> Option<Done> {
        let Worker { bound, point, runner, .. } = self;
        let before = values.len();
        self.job.points.fill(k, point);
        let columns = bound.columns.len();
        let begun = (self.job.clock)();
        let mut failed_at = None;
        let mut stats = Stats::default();
        let mut warnings = vec![];
        let varied = self.job.vary(bound, self.places, point, self.dependent);
        if self.dependent {
            *runner = None;
        }
        let trouble = if let Err(trouble) = varied {
            failed_at = Some(bound.problem.t0);
            Some(trouble)
        } else {
            let mut keep = RowCollection { values, stop: self.job.stop, shared: self.shared };
            let (result, seen) = sample::solve_again(bound, runner, &mut keep);
            match result {
                Ok(outcome) if outcome.stop == Stop::Interrupted => return None,
                Ok(outcome) => {
                    stats = outcome.stats;
                    warnings = self.job.warnings(bound, &seen, stats.rhs, self.shared);
                    None
                }
                Err(SolveError::Failed(failure)) => {
                    (stats, failed_at) = (failure.stats, Some(failure.t));
                    Some(NoValues::Failed(failure))
                }
                Err(SolveError::Refused(refusal)) => {
                    failed_at = Some(bound.problem.t0);
                    Some(NoValues::Refused(refusal))
                }
            }
        };
        if let Some(t) = failed_at {
            values.push(t);
            values.extend(std::iter::repeat_n(f64::NAN, columns - 1));
        }
        let rows = (values.len() - before) / columns;
        Some(Done { rows, stats, seconds: (self.job.clock)() - begun, trouble, warnings })
    }
}

/// Collects the rows of a run.
struct RowCollection<'a> {
    values: &'a mut Vec<f64>,
    stop: &'a (dyn Fn() -> bool + Sync),
    shared: &'a Shared,
}

impl RowCollection<'_> {
    fn continue_unless_stopped(&self) -> ControlFlow<()> {
        if self.shared.halted() || (self.stop)() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Recorder for RowCollection<'_> {
    fn row(&mut self, values: &[f64]) -> ControlFlow<()> {
        self.values.extend_from_slice(values);
        self.continue_unless_stopped()
    }

    fn step(&mut self, _t: f64) -> ControlFlow<()> {
        self.continue_unless_stopped()
    }
}
