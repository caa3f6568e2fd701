//! Results of a hybrid run: its steps, its end, and its failures.

use std::ops::ControlFlow;

use crate::hybrid::runner::Pushes;
use crate::hybrid::system::{HybridSystem, WriteTarget};
use crate::invariants::Deviation;
use crate::method::auto::MethodHistory;
use crate::observer::StepEnd;
use crate::problem::{Cause, Failure, Outcome, Refusal, SolveError, Stats};
use crate::runner::Runner;

/// Time, state, discretes and modes, on one side of an instant or between instants.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// Time.
    pub t: f64,
    /// The requested time of a row. At an instant it may be slightly below `t`, because of rounding.
    pub wanted: f64,
    /// State, n values.
    pub y: &'a [f64],
    /// Discretes.
    pub discretes: &'a [f64],
    /// Modes.
    pub modes: &'a [f64],
    /// See [`HybridRelations::free`](crate::hybrid::HybridRelations::free).
    pub free: &'a [bool],
}

/// An event that was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Its index.
    pub event: usize,
    /// Its round at the instant. Events of the same round read the same values.
    pub round: u32,
}

/// Receives the results of a run, in the order of time.
pub trait Observer {
    /// A row. At a requested time it has the right limit. If every step is a row, an instant that changed something
    /// has two rows, one for each limit. `Break` stops the run; this is an outcome, not an error.
    fn row(&mut self, point: Point<'_>) -> ControlFlow<()>;
    /// An instant at which events were executed: state and discretes before it and after it, and the events in the
    /// order of execution.
    fn instant(&mut self, _before: Point<'_>, _after: Point<'_>, _events: &[Executed]) {}
    /// Called after each accepted step, for progress and interrupts; `Break` stops the run.
    fn step(&mut self, _t: f64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// Called instead of `step` for observers that examine the end of a step, before the instant there.
    fn ended(&mut self, end: &mut StepEnd<'_>) -> ControlFlow<()> {
        self.step(end.t)
    }
    /// Called instead of [`Observer::ended`] if [`Observer::examines_steps`] is true, for observers that examine the
    /// step itself.
    fn made(&mut self, made: &mut AcceptedStep<'_>) -> ControlFlow<()> {
        self.ended(&mut made.end())
    }
    /// True if the observer examines every step, with the states inside it.
    fn examines_steps(&self) -> bool {
        false
    }
}

/// An accepted step. Modes and discretes are constant during the step.
pub struct AcceptedStep<'a> {
    pub(super) runner: &'a mut Runner,
    pub(super) model: &'a dyn HybridSystem,
}

impl AcceptedStep<'_> {
    /// Time reached.
    pub fn time(&self) -> f64 {
        self.runner.time()
    }

    /// State there.
    pub fn state(&self) -> &[f64] {
        self.runner.state()
    }

    /// The state at a time in the step, exactly as a row would have it. Times may come in any order.
    pub fn value(&mut self, t: f64, y: &mut [f64]) {
        self.runner.value(self.model.system(), t, y);
    }

    /// Modes of the step.
    pub fn modes(&self) -> &[f64] {
        self.model.modes()
    }

    /// See [`HybridRelations::free`](crate::hybrid::HybridRelations::free).
    pub fn free(&self) -> &[bool] {
        self.model.free()
    }

    /// Discretes of the step.
    pub fn discretes(&self) -> &[f64] {
        self.model.discretes()
    }

    /// The end of the step, for monitors.
    pub fn end(&mut self) -> StepEnd<'_> {
        self.runner.step_end()
    }
}

/// End of a hybrid run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// The run reached the end time.
    Time,
    /// The observer stopped the run.
    Interrupted,
    /// The run executed an event with [`crate::hybrid::Event::stops`].
    Event(usize),
    /// An event accumulates. It has no [`crate::hybrid::Event::rest`], or it happens again right after it. It happens
    /// infinitely often before this time, and the model does not say what follows.
    Accumulation {
        /// The event.
        event: usize,
        /// The ratio of its intervals.
        ratio: f64,
    },
}

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub instants: u64,
    pub landings: u64,
    pub amplified: u64,
    pub executed: u64,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct HybridOutcome {
    /// Why it ended.
    pub end: End,
    /// Time, state and counts.
    pub outcome: Outcome,
    /// Instants at which a mode changed or an event was executed.
    pub instants: u64,
    /// Number of these instants that lie on the surface of a relation, so that the state determines their time.
    pub landings: u64,
    /// Number of the first three of them at which errors within the tolerance become visible errors.
    pub amplified: u64,
    /// Events that were executed.
    pub executed: u64,
    /// For each event, true if its condition held at the start of the run already.
    pub held: Vec<bool>,
    /// The corrections that kept states within their bounds.
    pub pushes: Pushes,
    /// The first surface crossing that errors of the method decide.
    pub doubtful: Option<Doubtful>,
}

/// A surface crossing that errors of the method decide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubtful {
    /// The relation.
    pub relation: usize,
    /// The time of the crossing, or the time from which it is doubtful.
    pub t: f64,
    /// True if the solution comes within the tolerances of the surface and turns back; false if it stays there.
    pub turns: bool,
}

/// The failure of a search for algebraic unknowns.
#[derive(Clone, Debug, PartialEq)]
pub struct Met {
    /// The cause.
    pub cause: Cause,
    /// Time and state, if the search failed at a different point.
    pub at: Option<(f64, Vec<f64>)>,
}

/// Cause for which an event cannot be executed, or no modes are consistent.
#[derive(Clone, Debug, PartialEq)]
pub enum HybridCause {
    /// Both modes of a relation drive the state back to the surface on which it changes.
    Sliding {
        /// The relation.
        relation: usize,
        /// The rate of left - right while the relation is false, and while it is true.
        rates: [f64; 2],
    },
    /// No values of these modes agree with the motion that results from them.
    Inconsistent {
        /// The relations.
        relations: Vec<usize>,
    },
    /// Two events of one round set the same quantity.
    Conflict {
        /// The quantity.
        target: WriteTarget,
        /// The events, in ascending order.
        events: [usize; 2],
    },
    /// An event accumulates, and the caller treats [`End::Accumulation`] as a failure.
    Accumulation {
        /// The event.
        event: usize,
        /// The ratio of its intervals.
        ratio: f64,
    },
    /// An instant does not end, because events trigger each other without end.
    Chain {
        /// The events of its last rounds, each once.
        events: Vec<usize>,
    },
    /// Instants follow each other so closely that the run makes no progress.
    Chatter {
        /// The events of the last instants, each once; empty if only modes change.
        events: Vec<usize>,
        /// The relations whose modes changed at the last instants.
        relations: Vec<usize>,
    },
    /// An event moves a quantity onto the surface of its own condition, and the motion leads back across it. The event
    /// would happen again at once, or it had no effect.
    Returns {
        /// The event.
        event: usize,
        /// The relation that it reads.
        relation: usize,
        /// True if the event would happen again; false if its condition stays true.
        again: bool,
    },
    /// A delay is negative or not a number.
    Delay {
        /// The event.
        event: usize,
        /// The delay.
        delay: f64,
    },
    /// The times of an event have no value.
    NoTime {
        /// The event.
        event: usize,
    },
    /// Two times of one event are equal within the time resolution, so it would happen only once.
    SameTimes {
        /// The event.
        event: usize,
        /// The time.
        t: f64,
    },
    /// A list has more times than the run may take steps.
    TooManyTimes {
        /// The list.
        list: usize,
        /// Approximate number of times.
        count: f64,
        /// Number of steps that the run may take.
        budget: u64,
    },
    /// A value or priority of an event is not finite.
    NoValue {
        /// The event.
        event: usize,
        /// Index in [`crate::hybrid::Event::writes`], if the value is one of these.
        write: Option<usize>,
    },
    /// The sides of the relations have no value here.
    NoSides,
    /// Algebraic unknowns have no consistent values here.
    NoUnknowns(Box<Met>),
    /// The state does not satisfy the constraints. Either events set values for which no impulse of the unknowns can
    /// compensate, or the constraints have switched.
    Unmet {
        /// The deviations of the states from the constraints of one stage.
        off: Vec<Deviation>,
        /// The events, each once; none if the constraints have switched.
        events: Vec<usize>,
    },
    /// The run has passed the surface of a relation without landing on it; its steps are too coarse for it.
    Passed {
        /// The relation.
        relation: usize,
    },
    /// The sides of a relation jump from one infinity to the other, because a divisor of one of them is zero there.
    Pole {
        /// The relation.
        relation: usize,
    },
    /// The solution leaves a bound, or an event puts a state beyond it.
    Bound {
        /// The bound.
        bound: usize,
        /// Distance of the state beyond the bound.
        beyond: f64,
        /// The rate of the unknown on the bound, if the equation leads out of it.
        rate: Option<f64>,
    },
    /// The time of the instant has no derivative with respect to a parameter. Either the motion touches this surface
    /// without crossing it, or the instant also lies on other surfaces or stops, whose times depend differently on the
    /// parameter.
    Grazing {
        /// The relation.
        relation: usize,
    },
    /// The time of the instant has no derivative with respect to a parameter: a time of this list coincides with
    /// another one that depends differently on the parameter.
    TwoTimes {
        /// The list.
        list: usize,
    },
    /// A value that this event writes has no derivative with respect to a parameter, or the model has no place to store it.
    NoDerivative {
        /// The event.
        event: usize,
    },
}

/// A run that failed because of its events or modes.
#[derive(Clone, Debug)]
pub struct HybridFailure {
    /// Why.
    pub cause: HybridCause,
    /// Time reached.
    pub t: f64,
    /// State there.
    pub y: Vec<f64>,
    /// Counts until then.
    pub stats: Stats,
    /// The methods that were active, if the run chose them.
    pub history: Option<MethodHistory>,
}

/// Error for which a run has no outcome. Rows that it has written stay valid.
#[derive(Clone, Debug)]
pub enum HybridError {
    /// The run could not be started.
    Refused(Refusal),
    /// The solver failed.
    Failed(Box<Failure>),
    /// Events or modes failed.
    Hybrid(Box<HybridFailure>),
}

impl From<HybridError> for SolveError {
    fn from(error: HybridError) -> Self {
        match error {
            HybridError::Refused(refusal) => SolveError::Refused(refusal),
            HybridError::Failed(failure) => SolveError::Failed(failure),
            HybridError::Hybrid(failure) => {
                let HybridFailure { cause, t, y, stats, history } = *failure;
                let (cause, at, instant) = match cause {
                    HybridCause::NoUnknowns(met) => (met.cause, met.at, None),
                    cause => (Cause::Instant, None, Some(Box::new(cause))),
                };
                SolveError::Failed(Box::new(Failure {
                    cause,
                    t,
                    y,
                    h: 0.0,
                    at,
                    stats,
                    history,
                    instant,
                    discretes: Vec::new(),
                }))
            }
        }
    }
}

impl From<Refusal> for HybridError {
    fn from(refusal: Refusal) -> Self {
        HybridError::Refused(refusal)
    }
}

impl From<SolveError> for HybridError {
    fn from(error: SolveError) -> Self {
        match error {
            SolveError::Refused(refusal) => HybridError::Refused(refusal),
            SolveError::Failed(failure) => HybridError::Failed(failure),
        }
    }
}
