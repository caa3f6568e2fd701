//! Solves a bound model: turns the solver's rows into columns, and monitors conserved quantities.

use std::ops::ControlFlow;

use odec_ode::StepEnd;
use odec_ode::adjoint::{ROOM, Recording};
use odec_ode::consistent::Consistent;
use odec_ode::evaluator::Evaluator;
use odec_ode::hybrid::{self, End, HybridCause, HybridOutcome, HybridSystem, Observer, Point, WriteTarget};
use odec_ode::linear::Rates;
use odec_ode::problem::{Cause, Failure, Outcome, Refusal, Sink, SolveError, Stop};

use crate::bind::Bound;
use crate::columns::Column;
use crate::event_changes::{self, EventChanges};
use crate::executor::Executor;
use crate::hybrid::drive::{Driver, Hybrid};
use crate::hybrid::{Located, Origin};
use crate::monitor::{Findings, Monitor};

/// Receives rows of columns.
pub trait Recorder {
    /// A row in the order of [`Bound::columns`]; `Break` stops the run.
    fn row(&mut self, values: &[f64]) -> ControlFlow<()>;
    /// After each accepted step, which reached `t`; `Break` stops the run.
    fn step(&mut self, _t: f64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// The discretes and counters of the next row, in a run with modes.
    fn discretes(&mut self, _discretes: &[f64]) {}
    /// An event that was executed, by its index among all events of all elements.
    fn executed(&mut self, _event: usize) {}
    /// Receives an instant at which events of the model were executed, if [`Recorder::logs`].
    fn instant(&mut self, _instant: &EventInstant) {}
    /// True if the recorder receives instants.
    fn logs(&self) -> bool {
        false
    }
    /// True if a monitor watches the run for results that are finite but wrong.
    fn watched(&self) -> bool {
        true
    }
    /// Receives findings that are worth a report before the run ends.
    fn alarm(&mut self, _findings: &Findings) {}
}

/// An instant at which events were executed.
#[derive(Clone, Debug, PartialEq)]
pub struct EventInstant {
    /// Time.
    pub t: f64,
    /// The events, in the order of execution.
    pub events: Vec<LoggedEvent>,
}

/// An event that was executed.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedEvent {
    /// Index of the event among those of the model.
    pub event: usize,
    /// Values of its indices.
    pub at: Vec<i64>,
    /// Number of the round; events of one round read the same values.
    pub round: u32,
    /// The changes: name, and values before and after the instant.
    pub changes: Vec<(String, f64, f64)>,
}

/// The effects of events in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventCounts {
    /// Number of executed events.
    pub executed: u64,
    /// Number of instants at which a mode changed or an event was executed.
    pub instants: u64,
    /// The event that ended the run (its index in the model), and the time.
    pub stopped: Option<(usize, f64)>,
    /// Indices of events with times, none of which occurred.
    pub never: Vec<usize>,
    /// Indices of events that did not occur because their conditions hold at the start already.
    pub held: Vec<usize>,
}

/// The drift of a conserved quantity.
#[derive(Clone, Debug)]
pub struct Drift {
    /// Its name or text.
    pub name: String,
    /// Value at the start.
    pub start: f64,
    /// Largest deviation over the rows, with its sign; NaN if a value was not finite.
    pub largest: f64,
    /// Time of that row.
    pub at: f64,
    /// The largest drift that the model permits, if it has a limit.
    pub within: Option<f64>,
}

/// Times and states of some rows, evenly spaced among all rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct VisitedRows {
    pub kept: Vec<(f64, Vec<f64>)>,
    count: u64,
    /// Every row whose number is a multiple of 2 to this power is stored.
    doublings: u32,
}

impl VisitedRows {
    /// Largest number of stored rows.
    const MOST: usize = 64;

    fn offer(&mut self, t: f64, y: &[f64]) {
        if self.count.is_multiple_of(1 << self.doublings) {
            if self.kept.len() == Self::MOST {
                let mut number = 0;
                self.kept.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.doublings += 1;
            }
            if self.count.is_multiple_of(1 << self.doublings) {
                self.kept.push((t, y.to_vec()));
            }
        }
        self.count += 1;
    }
}

/// The observations of a run.
#[derive(Clone, Debug, Default)]
pub struct Observations {
    /// One for each conserved quantity.
    pub drifts: Vec<Drift>,
    /// What events change in each conserved quantity; empty before the first event.
    pub(crate) event_changes: Vec<Option<EventChanges>>,
    /// Some rows of a model with conserved quantities.
    pub(crate) visited: VisitedRows,
    /// The first output that was not finite: index among the outputs, time, state, value.
    pub not_finite: Option<(usize, f64, Vec<f64>, f64)>,
    /// Values of the expected quantities, in the order of [`Bound::expectations`]; NaN if the run did not reach the time.
    pub found: Vec<f64>,
    /// The findings of the monitor.
    pub findings: Findings,
    /// The effects of events; `None` for a model without modes and events.
    pub events: Option<EventCounts>,
    /// The corrections that kept states within their bounds.
    pub pushes: Option<hybrid::Pushes>,
    /// For each event of the run: true if it was executed.
    pub(crate) happened: Vec<bool>,
    /// The discretes at the time when an output was not finite.
    pub(crate) discretes: Vec<f64>,
}

impl Observations {
    /// The observations before the start.
    pub(crate) fn of(bound: &Bound) -> Observations {
        Observations { found: vec![f64::NAN; bound.expectations.len()], ..Observations::default() }
    }

    /// Observes a state with all outputs there. The first one is the start.
    pub(crate) fn watch(&mut self, bound: &Bound, t: f64, y: &[f64], outputs: &[f64]) {
        let layout = bound.executor.layout();
        let conserved = &outputs[layout.outputs..][..layout.conserved];
        if self.drifts.is_empty() {
            for (settings, &start) in bound.conservation.iter().zip(conserved) {
                let within = settings.tolerance.map(|w| if w.relative { w.value * start.abs() } else { w.value });
                self.drifts.push(Drift { name: settings.name.clone(), start, largest: 0.0, at: t, within });
            }
        }
        if !conserved.is_empty() {
            self.visited.offer(t, y);
        }
        for (drift, &now) in self.drifts.iter_mut().zip(conserved) {
            let distance = now - drift.start;
            if !drift.largest.is_nan() && !(distance.abs() <= drift.largest.abs()) {
                drift.largest = distance;
                drift.at = t;
            }
        }
        if self.not_finite.is_none()
            && let Some(k) = outputs[..layout.outputs].iter().position(|v| !v.is_finite())
        {
            self.not_finite = Some((k, t, y.to_vec(), outputs[k]));
        }
        let expected = &outputs[layout.outputs + layout.conserved..];
        for (e, found) in bound.expectations.iter().zip(&mut self.found) {
            if e.time == t {
                *found = expected[e.index];
            }
        }
    }
}

/// Runs the model. The observations are valid however the run ends.
pub fn solve(bound: &Bound, recorder: &mut dyn Recorder) -> (Result<Outcome, SolveError>, Observations) {
    solve_again(bound, &mut None, recorder)
}

/// Like [`solve`], bit for bit; keeps the runner for further runs. The cache must be empty if the method, the options
/// or the sizes have changed since the last run.
pub fn solve_again(
    bound: &Bound,
    driver: &mut Option<Driver>,
    recorder: &mut dyn Recorder,
) -> (Result<Outcome, SolveError>, Observations) {
    solve_with(bound, driver, recorder, None)
}

/// The solution of a run, as polynomials and as states at its rows.
#[derive(Default)]
pub struct RecordedSolution {
    /// The polynomials.
    pub(crate) polynomials: Option<Recording>,
    /// The states at the rows, n for each, if the rows contain outputs.
    pub(crate) states: Option<Vec<f64>>,
}

/// Like [`solve`], bit for bit; records the solution of a model without modes.
pub fn record(
    bound: &Bound,
    recorder: &mut dyn Recorder,
) -> (Result<Outcome, SolveError>, Observations, RecordedSolution) {
    let outputs = (1..bound.columns.len()).any(|k| matches!(bound.columns.at(k), Some(Column::Output(_))));
    let states = outputs.then(Vec::new);
    let mut into = RecordedSolution { polynomials: Some(Recording::new(ROOM)), states };
    let (result, seen) = solve_with(bound, &mut None, recorder, Some(&mut into));
    (result, seen, into)
}

fn solve_with(
    bound: &Bound,
    driver: &mut Option<Driver>,
    recorder: &mut dyn Recorder,
    into: Option<&mut RecordedSolution>,
) -> (Result<Outcome, SolveError>, Observations) {
    let layout = bound.executor.layout();
    let seen = Observations::of(bound);
    let rates = match CoupledRates::of(bound) {
        Ok(rates) => rates,
        Err(refusal) => return (Err(SolveError::Refused(refusal)), seen),
    };
    let monitor = recorder.watched().then(|| Monitor::new(bound));
    let (polynomials, states) =
        into.map_or((None, None), |RecordedSolution { polynomials, states }| (polynomials.as_mut(), states.as_mut()));
    let mut sampler = Sampler {
        states,
        bound,
        recorder,
        rates,
        outputs: vec![0.0; layout.outputs_len()],
        row: vec![0.0; bound.columns.len()],
        seen,
        monitor,
    };
    let driver = match driver {
        Some(driver) => driver,
        None => match Driver::new(bound) {
            Ok(made) => driver.insert(made),
            Err(why) => return (Err(why), sampler.seen),
        },
    };
    let result = match driver {
        Driver::Smooth(runner) => {
            let (system, problem, samples) = (&bound.executor, &bound.problem, &bound.samples);
            match polynomials {
                Some(polynomials) => runner.record(system, problem, samples, &mut sampler, polynomials),
                None => runner.run(system, problem, samples, &mut sampler),
            }
        }
        Driver::Hybrid(hybrid) => {
            let ready = hybrid.begin(bound);
            let Hybrid { runner, model, view } = &mut **hybrid;
            let mut switched = Switched { sampler: &mut sampler, view };
            let run = |()| runner.run(model, &bound.problem, &bound.samples, &mut switched).map_err(SolveError::from);
            let made = ready.and_then(run);
            made.map_err(|error| error_with(error, model)).and_then(|made| ended(bound, made, model, &mut sampler.seen))
        }
    };
    let Sampler { monitor, mut seen, .. } = sampler;
    let end = result.as_ref().ok().filter(|outcome| outcome.stop == Stop::End);
    let Findings { doubtful, undecided, landings, amplified, .. } = seen.findings;
    let found = monitor.map(|monitor| monitor.finish(end.map(|outcome| (outcome.t, outcome.y.as_slice()))));
    seen.findings = Findings { doubtful, undecided, landings, amplified, ..found.unwrap_or_default() };
    (result, seen)
}

/// Adds the discretes to a failure.
fn error_with(mut error: SolveError, model: &Located) -> SolveError {
    if let SolveError::Failed(failure) = &mut error {
        failure.discretes = model.discretes().to_vec();
    }
    error
}

/// The outcome of a run, after recording the effects of events.
fn ended(bound: &Bound, made: HybridOutcome, model: &Located, seen: &mut Observations) -> Result<Outcome, SolveError> {
    let HybridOutcome { end, instants, landings, amplified, executed, ref held, ref pushes, doubtful, .. } = made;
    (seen.findings.doubtful, seen.findings.landings, seen.findings.amplified) = (doubtful, landings, amplified);
    let stopped = match end {
        End::Event(event) => model.origin(event).map(|origin| (origin.event, made.outcome.t)),
        _ => None,
    };
    let (never, held) = match end {
        End::Time => (model.never(&seen.happened), model.held(held, &seen.happened)),
        _ => (Vec::new(), Vec::new()),
    };
    if matches!(end, End::Time) && !bound.options.fixed {
        let at = (made.outcome.t, made.outcome.y.as_slice());
        seen.findings.undecided = model.undecided(at, |k| bound.atol(k), &seen.happened);
    }
    seen.pushes = Some(pushes.clone());
    seen.events = Some(EventCounts { executed, instants, stopped, never, held });
    self::outcome(made)
}

/// The outcome of a run with events. An accumulation without a `rest` block is a failure: the solution beyond it is
/// unknown.
pub(crate) fn outcome(made: HybridOutcome) -> Result<Outcome, SolveError> {
    let HybridOutcome { end, outcome, .. } = made;
    match end {
        End::Accumulation { event, ratio } => {
            let Outcome { t, y, stats, history, .. } = outcome;
            let instant = Some(Box::new(HybridCause::Accumulation { event, ratio }));
            let (cause, discretes) = (Cause::Instant, Vec::new());
            Err(SolveError::Failed(Box::new(Failure {
                cause,
                t,
                y,
                h: 0.0,
                at: None,
                stats,
                history,
                instant,
                discretes,
            })))
        }
        _ => Ok(outcome),
    }
}

/// y' for outputs that read derivatives which coupled equations determine.
pub(crate) struct CoupledRates<'a> {
    /// `None` if outputs read none.
    solver: Option<(Evaluator<'a>, RateSource)>,
    /// Unused if there is no solver.
    values: Vec<f64>,
}

/// How y' follows from the coupled equations.
enum RateSource {
    /// M(t, y)^-1 f(t, y).
    Regular(Rates),
    /// With algebraic unknowns, whose derivatives follow from the equations without a derivative.
    Unknowns(Box<Consistent>),
}

impl RateSource {
    fn solve(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], values: &mut [f64]) {
        let solved = match self {
            RateSource::Regular(rates) => eval.rhs(t, y, values).and_then(|()| rates.solve(eval, t, y, values)),
            RateSource::Unknowns(consistent) => consistent.slope(eval, t, y, values),
        };
        if solved.is_err() {
            values.fill(f64::NAN);
        }
    }
}

impl<'a> CoupledRates<'a> {
    /// Prepares for the outputs of a model.
    pub(crate) fn of(bound: &'a Bound) -> Result<Self, Refusal> {
        let executor = &bound.executor;
        let values = vec![0.0; executor.layout().n];
        if !executor.program().outputs_read_rates() {
            return Ok(CoupledRates { solver: None, values });
        }
        let name = bound.choice.method.name;
        let known = if bound.guesses { Consistent::of(executor, &bound.options)? } else { None };
        let way = match known {
            Some(consistent) => RateSource::Unknowns(Box::new(consistent)),
            None => RateSource::Regular(Rates::new(executor, name).map_err(|refusal| match refusal {
                Refusal::SingularMass { .. } => Refusal::Unsuitable {
                    method: name.to_string(),
                    reason:
                        "an output contains a derivative, and the coupled equations do not determine every derivative".into(),
                    instead: "outputs without derivatives".to_string(),
                },
                other => other,
            })?),
        };
        Ok(CoupledRates { solver: Some((Evaluator::new(executor), way)), values })
    }

    /// Derivatives that are all NaN.
    pub(crate) fn unknown(bound: &'a Bound) -> Self {
        CoupledRates { solver: None, values: vec![f64::NAN; bound.executor.layout().n] }
    }

    /// Like [`CoupledRates::at`], for an executor with modes.
    pub(crate) fn for_executor(&mut self, executor: &Executor, t: f64, y: &[f64]) -> &[f64] {
        if let Some((_, way)) = &mut self.solver {
            way.solve(&mut Evaluator::new(executor), t, y, &mut self.values);
        }
        &self.values
    }

    /// The derivatives at a row; NaN if they cannot be computed, so that outputs that use them are NaN as well.
    pub(crate) fn at(&mut self, t: f64, y: &[f64]) -> &[f64] {
        if let Some((eval, way)) = &mut self.solver {
            way.solve(eval, t, y, &mut self.values);
        }
        &self.values
    }
}

struct Sampler<'a> {
    /// The states at rows, if they are kept.
    states: Option<&'a mut Vec<f64>>,
    bound: &'a Bound,
    recorder: &'a mut dyn Recorder,
    rates: CoupledRates<'a>,
    outputs: Vec<f64>,
    row: Vec<f64>,
    seen: Observations,
    /// The monitor of a watched run.
    monitor: Option<Monitor>,
}

impl Sampler<'_> {
    /// Records a row whose outputs have been computed.
    fn record(&mut self, t: f64, y: &[f64]) -> ControlFlow<()> {
        if !self.outputs.is_empty() {
            self.seen.watch(self.bound, t, y, &self.outputs);
        }
        if let Some(monitor) = &mut self.monitor {
            monitor.row(t, y);
        }
        if let Some(states) = &mut self.states {
            states.extend_from_slice(y);
        }
        self.bound.columns.fill(t, y, &self.outputs, &mut self.row);
        self.recorder.row(&self.row)
    }
}

impl Sink for Sampler<'_> {
    fn row(&mut self, t: f64, y: &[f64]) -> ControlFlow<()> {
        if !self.outputs.is_empty() {
            self.bound.executor.outputs(t, y, self.rates.at(t, y), &mut self.outputs);
        }
        self.record(t, y)
    }

    fn step_end(&mut self, end: &mut StepEnd<'_>) -> ControlFlow<()> {
        if let Some(monitor) = &mut self.monitor
            && monitor.step(end)
        {
            self.recorder.alarm(monitor.findings());
        }
        self.recorder.step(end.t)
    }
}

/// The rows of a run with modes.
struct Switched<'a, 'b> {
    sampler: &'a mut Sampler<'b>,
    view: &'a mut Located,
}

impl Observer for Switched<'_, '_> {
    fn row(&mut self, point: Point<'_>) -> ControlFlow<()> {
        let Switched { sampler, view } = self;
        let Point { t, wanted, y, modes, discretes, free } = point;
        if !sampler.outputs.is_empty() {
            view.show(modes, discretes);
            view.show_free(free, t, y);
            let rates = sampler.rates.for_executor(view.executor(), t, y);
            view.executor().outputs(t, y, rates, &mut sampler.outputs);
        }
        let before = sampler.seen.not_finite.is_some();
        sampler.recorder.discretes(discretes);
        let flow = sampler.record(wanted, y);
        if !before && sampler.seen.not_finite.is_some() {
            sampler.seen.discretes = discretes.to_vec();
        }
        flow
    }

    fn instant(&mut self, before: Point<'_>, after: Point<'_>, events: &[hybrid::Executed]) {
        let Switched { sampler, view } = self;
        if let Some(monitor) = &mut sampler.monitor {
            monitor.instant(before, after, events);
        }
        let (outputs, count) = (sampler.bound.executor.layout().outputs, sampler.bound.executor.layout().conserved);
        if count > 0 && !events.is_empty() {
            let mut conserved = |point: Point<'_>| {
                view.show(point.modes, point.discretes);
                view.show_free(point.free, point.t, point.y);
                let rates = sampler.rates.for_executor(view.executor(), point.t, point.y);
                view.executor().outputs(point.t, point.y, rates, &mut sampler.outputs);
                sampler.outputs[outputs..][..count].to_vec()
            };
            let (old, new) = (conserved(before), conserved(after));
            event_changes::note(&mut sampler.seen.event_changes, (&old, &new), after, events);
        }
        for executed in events {
            let happened = &mut sampler.seen.happened;
            happened.resize(happened.len().max(executed.event + 1), false);
            happened[executed.event] = true;
            sampler.recorder.executed(executed.event);
            if let Some(monitor) = &mut sampler.monitor {
                monitor.executed(executed.event);
            }
        }
        if !sampler.recorder.logs() {
            return;
        }
        let named = |target: WriteTarget| match target {
            WriteTarget::State(row) => (sampler.bound.states.name(row), before.y[row], after.y[row]),
            WriteTarget::Discrete(at) => (view.discrete_name(at), before.discretes[at], after.discretes[at]),
        };
        let executed = |executed: &hybrid::Executed| {
            let Origin { event, at } = view.origin(executed.event)?;
            let mut targets: Vec<WriteTarget> = view.writes(executed.event).iter().map(|write| write.target).collect();
            targets.sort_unstable();
            targets.dedup();
            Some(LoggedEvent { event, at, round: executed.round, changes: targets.into_iter().map(named).collect() })
        };
        let events: Vec<LoggedEvent> = events.iter().filter_map(executed).collect();
        if !events.is_empty() {
            sampler.recorder.instant(&EventInstant { t: after.t, events });
        }
    }

    fn ended(&mut self, end: &mut StepEnd<'_>) -> ControlFlow<()> {
        self.sampler.step_end(end)
    }
}
