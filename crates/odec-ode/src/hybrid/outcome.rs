//! The results of a hybrid run: its steps, how it ends, and why it fails.

use std::ops::ControlFlow;

use crate::hybrid::runner::Pushes;
use crate::hybrid::system::{HybridSystem, Target};
use crate::invariants::Deviation;
use crate::method::auto::Course;
use crate::observer::StepEnd;
use crate::problem::{Cause, Failure, Outcome, Refusal, SolveError, Stats};
use crate::runner::Runner;

/// Time, state, discretes and modes: of one side of an instant, or of any time between instants.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// Time.
    pub t: f64,
    /// The time that a row is wanted for. At an instant it may be less than `t`, by rounding.
    pub wanted: f64,
    /// State, n values.
    pub y: &'a [f64],
    /// Discretes.
    pub discretes: &'a [f64],
    /// Modes.
    pub modes: &'a [f64],
}

/// An event that was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Its number.
    pub event: usize,
    /// The round of its instant: those of one round read the same values.
    pub round: u32,
}

/// Receives what a run makes, in the order of time.
pub trait Observer {
    /// A row: at the times that were asked for the right limit; where each step was asked for, both limits of an
    /// instant that changed something. `Break` stops the run, which is an outcome and not an error.
    fn row(&mut self, point: Point<'_>) -> ControlFlow<()>;
    /// An instant at which events were executed: state and discretes before it, the events in the order of execution.
    fn instant(&mut self, _before: Point<'_>, _after: Point<'_>, _events: &[Executed]) {}
    /// After each accepted step, for progress and interrupts; `Break` stops the run.
    fn step(&mut self, _t: f64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// The same for who looks at the end of a step, which the run calls after each one, before the instant there.
    fn ended(&mut self, end: &mut StepEnd<'_>) -> ControlFlow<()> {
        self.step(end.t)
    }
    /// The same for who looks at the step itself, if [`Observer::looks`]; the run calls this or [`Observer::ended`].
    fn made(&mut self, made: &mut AcceptedStep<'_>) -> ControlFlow<()> {
        self.ended(&mut made.end())
    }
    /// Every step is wanted with the states inside it.
    fn looks(&self) -> bool {
        false
    }
}

/// A step that stands. Modes and discretes are the same all along it.
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

    /// The state at a time in the step, as rows have it. Times may come in any order.
    pub fn value(&mut self, t: f64, y: &mut [f64]) {
        self.runner.value(self.model.system(), t, y);
    }

    /// Modes of the step.
    pub fn modes(&self) -> &[f64] {
        self.model.modes()
    }

    /// Discretes of the step.
    pub fn discretes(&self) -> &[f64] {
        self.model.discretes()
    }

    /// What the end of the step shows to a watch.
    pub fn end(&mut self) -> StepEnd<'_> {
        self.runner.step_end()
    }
}

/// How a hybrid run ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// The end time was reached.
    Time,
    /// The observer asked to stop.
    Interrupted,
    /// An event with [`crate::hybrid::Event::stops`] was executed.
    Event(usize),
    /// An event accumulates here that has no [`crate::hybrid::Event::rest`], or one behind which it happens again at once:
    /// infinitely many lie before this time, and nothing is known beyond.
    Accumulation {
        /// The event.
        event: usize,
        /// The ratio of its intervals.
        ratio: f64,
    },
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
    /// Events that were executed.
    pub executed: u64,
    /// What was done to keep states within their bounds.
    pub pushes: Pushes,
    /// The first surface whose crossing is decided by errors of the method.
    pub doubtful: Option<Doubtful>,
}

/// A surface whose crossing is decided by errors of the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubtful {
    /// Of this relation.
    pub relation: usize,
    /// From this time on, or at this time.
    pub t: f64,
    /// The solution comes to the surface within the tolerances, and turns round. Otherwise it stays there.
    pub turns: bool,
}

/// What a search for algebraic unknowns met.
#[derive(Clone, Debug, PartialEq)]
pub struct Met {
    /// What it was.
    pub cause: Cause,
    /// Time and state, if it was at another place.
    pub at: Option<(f64, Vec<f64>)>,
}

/// Why no event can be executed, or no mode is right.
#[derive(Clone, Debug, PartialEq)]
pub enum HybridCause {
    /// Both modes of a relation drive the state back to the surface on which it changes.
    Sliding {
        /// The relation.
        relation: usize,
        /// How fast left - right changes where the relation is false, and where it is true.
        rates: [f64; 2],
    },
    /// No values of these modes agree with the motion that they lead to.
    Inconsistent {
        /// The relations.
        relations: Vec<usize>,
    },
    /// Two events of one round write one quantity.
    Conflict {
        /// The quantity.
        target: Target,
        /// The events, in ascending order.
        events: [usize; 2],
    },
    /// An event accumulates, where its host takes [`End::Accumulation`] for a failure.
    Accumulation {
        /// The event.
        event: usize,
        /// The ratio of its intervals.
        ratio: f64,
    },
    /// An instant does not end: events trigger each other for ever.
    Chain {
        /// The events of its last rounds, each once.
        events: Vec<usize>,
    },
    /// Instants follow each other so closely that the run does not come on.
    Chatter {
        /// The events of the last instants, each once; empty where modes change and nothing else.
        events: Vec<usize>,
        /// The relations whose modes changed at the last instants.
        relations: Vec<usize>,
    },
    /// An event puts a quantity onto the surface of its own condition, and the motion leads back across: it happens again at
    /// once, or has changed nothing.
    Returns {
        /// The event.
        event: usize,
        /// The relation that it reads.
        relation: usize,
        /// It would happen again; else its condition stays true.
        again: bool,
    },
    /// A delay that is negative or no number.
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
    /// A value or priority of an event is not finite.
    NoValue {
        /// The event.
        event: usize,
        /// Which of [`crate::hybrid::Event::writes`], if it is one of these.
        write: Option<usize>,
    },
    /// Both sides of the relations have no value here.
    NoSides,
    /// Algebraic unknowns have no consistent values here.
    NoUnknowns(Box<Met>),
    /// The state does not meet the constraints, after events wrote to it whose values no impulse of the unknowns can make up for, or after
    /// the constraints have switched.
    Unmet {
        /// The states of the stage that is not met.
        off: Vec<Deviation>,
        /// The events, each once; none where constraints have switched.
        events: Vec<usize>,
    },
    /// The run has passed the surface of a relation and has not met it: its steps are too coarse for it.
    Passed {
        /// The relation.
        relation: usize,
    },
    /// The solution leaves a bound, or an event puts a state beyond it.
    Bound {
        /// The bound.
        bound: usize,
        /// How far beyond the state is.
        beyond: f64,
        /// How fast the unknown changes on the bound, where the equation leads out of it.
        rate: Option<f64>,
    },
    /// The time of the instant has no derivative by a parameter: the motion touches this surface without crossing it, or
    /// the instant lies on other surfaces or stops as well, which move otherwise with the parameter.
    Grazing {
        /// The relation.
        relation: usize,
    },
    /// The time of the instant has no derivative by a parameter: a time of this list comes together with another one, which
    /// moves otherwise with the parameter.
    TwoTimes {
        /// The list.
        list: usize,
    },
    /// What this event writes has no derivative by a parameter, or none that is carried on.
    NoDerivative {
        /// The event.
        event: usize,
    },
}

/// A run that its events or modes ended.
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
    /// Which methods were at work, where the run chose them.
    pub course: Option<Course>,
}

/// Why a run gave no outcome; rows handed out before stay valid.
#[derive(Clone, Debug)]
pub enum HybridError {
    /// It could not be started.
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
                let HybridFailure { cause, t, y, stats, course } = *failure;
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
                    course,
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
