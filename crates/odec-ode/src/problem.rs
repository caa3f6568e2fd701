//! The input and output of a solver: problem, options, sink, statistics, outcome, failure.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::hybrid::HybridCause;
use crate::linear::{Eliminator, LinearReport, LinearSolver, UnsuitableSolver};
use crate::method::auto::MethodHistory;
use crate::observer::StepEnd;

/// An initial value problem on `[t0, t_end]` (`t_end < t0` integrates backwards).
#[derive(Clone, Debug)]
pub struct Problem {
    /// Start.
    pub t0: f64,
    /// End.
    pub t_end: f64,
    /// State at the start, n values.
    pub y0: Vec<f64>,
}

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Relative tolerance, one for all states.
    pub rtol: f64,
    /// Absolute tolerance of each state (n values) or one for all (1 value).
    pub atol: Vec<f64>,
    /// Fixed step, or first step of an adaptive run (`None`: chosen).
    pub step: Option<f64>,
    /// True if `step` is fixed (methods without error estimate, or by request).
    pub fixed: bool,
    /// Largest step.
    pub max_step: Option<f64>,
    /// Budget of accepted plus rejected steps.
    pub max_steps: u64,
    /// Linear systems of second-order problems are solved at the size of the velocities (false: as first-order
    /// systems; the results agree up to rounding, which tests check).
    pub reduce: bool,
    /// The linear solver of implicit methods.
    pub linear: LinearSolver,
    /// Compiles eliminations to machine code; `None`: no compiler.
    pub eliminator: Option<LuCompiler>,
    /// True: use a fused step if the system has one. False: call f at each stage.
    pub fused_steps: bool,
    /// False: `auto` makes no step with a Taylor series, whose code would have to be compiled.
    pub series: bool,
    /// A clock in nanoseconds, for the reported time of the analysis of matrices; `None`: no clock.
    pub clock: Option<fn() -> u64>,
}

impl Options {
    /// The absolute tolerance of the state at a place in y.
    ///
    /// # Panics
    /// `atol` has neither one value nor one for this state.
    pub fn atol_at(&self, place: usize) -> f64 {
        if let [one] = self.atol[..] { one } else { self.atol[place] }
    }
}

/// A compiler of unrolled LU, as an option of a run.
#[derive(Clone)]
pub struct LuCompiler(pub Arc<dyn Eliminator>);

impl std::fmt::Debug for LuCompiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LuCompiler")
    }
}

/// Default of the largest number of steps.
pub const DEFAULT_MAX_STEPS: u64 = 10_000_000;

impl Default for Options {
    fn default() -> Self {
        Options {
            rtol: 1e-6,
            atol: vec![1e-9],
            step: None,
            fixed: false,
            max_step: None,
            max_steps: DEFAULT_MAX_STEPS,
            reduce: true,
            linear: LinearSolver::Auto,
            eliminator: None,
            fused_steps: true,
            series: true,
            clock: None,
        }
    }
}

/// The times of the rows. Rows between the ends of steps come from dense output; steps do not end at them.
#[derive(Clone, Debug)]
pub enum Samples {
    /// Each accepted step.
    Steps,
    /// These times, in the direction of integration.
    Times(Vec<f64>),
    /// The start and the end of the run, and the times that divide it into this many equal parts.
    Even(u64),
}

impl Samples {
    /// Number of times; `None` for the steps of a run.
    pub fn count(&self) -> Option<u64> {
        match self {
            Samples::Steps => None,
            Samples::Times(times) => Some(times.len() as u64),
            Samples::Even(parts) => Some(parts + 1),
        }
    }

    /// The k-th time of a run from `t0` to `t_end`, counted from 0.
    pub fn time(&self, k: u64, t0: f64, t_end: f64) -> Option<f64> {
        match self {
            Samples::Steps => None,
            Samples::Times(times) => times.get(usize::try_from(k).ok()?).copied(),
            Samples::Even(parts) if k < *parts => Some(t0 + (t_end - t0) * (k as f64 / *parts as f64)),
            Samples::Even(parts) => (k == *parts).then_some(t_end),
        }
    }
}

/// Receives each row as soon as it is known.
pub trait Sink {
    /// A row; `Break` stops the run, which is an outcome and not an error.
    fn row(&mut self, t: f64, y: &[f64]) -> ControlFlow<()>;
    /// After each accepted step, for progress and interrupts; `Break` stops the run.
    fn step(&mut self, _t: f64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// Called by the loop after each accepted step; override it to examine states and steps.
    fn step_end(&mut self, end: &mut StepEnd<'_>) -> ControlFlow<()> {
        self.step(end.t)
    }
}

/// Counts of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Accepted steps.
    pub accepted: u64,
    /// Steps rejected by the error test.
    pub rejected: u64,
    /// Steps that failed because Newton failed or a value was not finite.
    pub failed: u64,
    /// Evaluations of f.
    pub rhs: u64,
    /// Evaluations of df/dy.
    pub jacobians: u64,
    /// Factorisations.
    pub factorisations: u64,
    /// Solves of a linear system.
    pub solves: u64,
    /// Newton iterations.
    pub newton: u64,
    /// The additional work for rows between the ends of steps.
    pub between: CorrectedRows,
}

/// Rows for which dense output alone is not accurate enough, and the work for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CorrectedRows {
    /// Rows whose fast unknowns were corrected.
    pub corrected: u64,
    /// Rows at the ends of additional steps that are not part of the run.
    pub landed: u64,
    /// Evaluations of f.
    pub rhs: u64,
    /// Evaluations of df/dy.
    pub jacobians: u64,
    /// Factorisations.
    pub factorisations: u64,
    /// Solves of a linear system.
    pub solves: u64,
}

impl CorrectedRows {
    /// The counts since `before`.
    pub(crate) fn since(&self, before: &CorrectedRows) -> CorrectedRows {
        CorrectedRows {
            corrected: self.corrected - before.corrected,
            landed: self.landed - before.landed,
            rhs: self.rhs - before.rhs,
            jacobians: self.jacobians - before.jacobians,
            factorisations: self.factorisations - before.factorisations,
            solves: self.solves - before.solves,
        }
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &CorrectedRows) {
        self.corrected += other.corrected;
        self.landed += other.landed;
        self.rhs += other.rhs;
        self.jacobians += other.jacobians;
        self.factorisations += other.factorisations;
        self.solves += other.solves;
    }
}

impl Stats {
    /// The counts since `before`.
    pub(crate) fn since(&self, before: &Stats) -> Stats {
        Stats {
            accepted: self.accepted - before.accepted,
            rejected: self.rejected - before.rejected,
            failed: self.failed - before.failed,
            rhs: self.rhs - before.rhs,
            jacobians: self.jacobians - before.jacobians,
            factorisations: self.factorisations - before.factorisations,
            solves: self.solves - before.solves,
            newton: self.newton - before.newton,
            between: self.between.since(&before.between),
        }
    }

    /// Attempted steps: accepted, rejected and failed.
    pub fn steps(&self) -> u64 {
        self.accepted + self.rejected + self.failed
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Stats) {
        self.accepted += other.accepted;
        self.rejected += other.rejected;
        self.failed += other.failed;
        self.rhs += other.rhs;
        self.jacobians += other.jacobians;
        self.factorisations += other.factorisations;
        self.solves += other.solves;
        self.newton += other.newton;
        self.between.add(&other.between);
    }
}

/// How a successful run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The end time was reached.
    End,
    /// The sink asked to stop.
    Interrupted,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The reason for the end.
    pub stop: Stop,
    /// Last time.
    pub t: f64,
    /// State there.
    pub y: Vec<f64>,
    /// Counts.
    pub stats: Stats,
    /// The solver of the linear systems; `None` if the method has none.
    pub linear: Option<LinearReport>,
    /// The methods that the run used, if it chose them itself.
    pub history: Option<MethodHistory>,
}

/// A failed run, with everything needed to explain the failure in terms of the model.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The cause.
    pub cause: Cause,
    /// Last accepted time.
    pub t: f64,
    /// State there.
    pub y: Vec<f64>,
    /// Step size that was tried.
    pub h: f64,
    /// Time and state of the failing evaluation, if it is not (t, y).
    pub at: Option<(f64, Vec<f64>)>,
    /// Counts up to the failure.
    pub stats: Stats,
    /// The methods that the run used, if it chose them itself.
    pub history: Option<MethodHistory>,
    /// The failure of modes or events, if the cause is [`Cause::Instant`].
    pub instant: Option<Box<HybridCause>>,
    /// The discretes at that time, for a run with events; otherwise empty.
    pub discretes: Vec<f64>,
}

/// The causes of a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cause {
    /// f has a value that is not finite in this row.
    NonFiniteRhs {
        /// Row of f.
        row: usize,
    },
    /// The system returned [`EvalError::Recoverable`](crate::system::EvalError) although all its values are finite.
    Refused,
    /// No modes agree with the motion, or events cannot be executed: [`Failure::instant`].
    Instant,
    /// A higher derivative of the solution, which its Taylor series needs, is not finite in this row, although f is.
    NoSeries {
        /// Row of f.
        row: usize,
    },
    /// df/dy has a value that is not finite at this entry.
    NonFiniteJacobian {
        /// Row.
        row: usize,
        /// Column.
        col: usize,
    },
    /// df/dt has a value that is not finite in this row.
    NonFiniteTimeDerivative {
        /// Row.
        row: usize,
    },
    /// M(t, y), or its derivative, has a value that is not finite in this row.
    NonFiniteMass {
        /// Row of M.
        row: usize,
    },
    /// M(t, y) is singular, but the method needs y' itself.
    SingularMass {
        /// A row of M without a nonzero entry (an algebraic equation), or the column without a pivot.
        row: usize,
    },
    /// The equations without a derivative do not determine the algebraic unknowns: the system has an index above 1.
    HigherIndex {
        /// One of these equations.
        row: usize,
    },
    /// Newton's method found no values of the algebraic unknowns that satisfy the equations without a derivative.
    Inconsistent {
        /// The unknown with the largest correction.
        row: usize,
    },
    /// Newton's method found no state nearby that satisfies the functions that stay zero along a solution.
    Unkept {
        /// The state with the largest correction.
        row: usize,
    },
    /// The gradients of functions that stay zero along a solution depend on one another.
    Dependent {
        /// A state that these functions contain.
        row: usize,
    },
    /// The state in this row left the range of doubles, although f was always finite.
    NonFiniteState {
        /// Row.
        row: usize,
    },
    /// The error test keeps failing: the step size fell to the rounding of t. `row` has the largest error.
    StepCollapsed {
        /// Row with the largest weighted error.
        row: usize,
        /// The weighted error norm (1 is the tolerance).
        error: f64,
    },
    /// Newton does not converge even with tiny steps. `row` has the largest correction.
    NewtonFailed {
        /// Row with the largest weighted correction.
        row: usize,
    },
    /// The matrix of the linear systems is singular at this column.
    Singular {
        /// Column (an unknown) without a pivot.
        col: usize,
    },
    /// The budget of steps is used up.
    TooManySteps {
        /// The budget.
        budget: u64,
    },
    /// The system reported an error that a smaller step cannot avoid.
    Fatal,
    /// An impossible case occurred: a bug in this library.
    Internal {
        /// A description to report.
        what: &'static str,
    },
}

/// A request that cannot run; nothing was computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// No such method.
    UnknownMethod(String),
    /// bdf7 and above: not zero-stable.
    NotZeroStable(u32),
    /// For example an adaptive run of a method without an error estimate: the reason, and methods to use instead.
    Unsuitable {
        /// The method.
        method: String,
        /// The reason.
        reason: String,
        /// Methods to use instead.
        instead: String,
    },
    /// The mass matrix is singular, but the method needs y' itself.
    SingularMass {
        /// The method.
        method: String,
        /// Rows without a derivative (algebraic equations); empty if the rows depend on each other.
        rows: Vec<usize>,
    },
    /// This unknown starts at 0 with an absolute tolerance of 0, so its error has no scale.
    NoTolerance {
        /// Its row.
        row: usize,
    },
    /// No solver for the linear systems of this run.
    Linear(UnsuitableSolver),
    /// An invalid tolerance, step, time or length.
    BadOption(String),
}

/// The reason why a run has no outcome.
#[derive(Clone, Debug)]
pub enum SolveError {
    /// It could not be started.
    Refused(Refusal),
    /// It failed before its end; rows that the sink received are valid.
    Failed(Box<Failure>),
}

impl From<Refusal> for SolveError {
    fn from(refusal: Refusal) -> Self {
        SolveError::Refused(refusal)
    }
}
