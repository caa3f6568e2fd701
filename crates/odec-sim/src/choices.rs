//! The caller's choices that override the run block. An absent choice means the value of the model.

use std::collections::HashMap;
use std::sync::Arc;

use odec_lang::model::Settings;
use odec_lang::model::inputs::Curve;
use odec_ode::linear::LinearSolver;

use crate::bind::Purpose;

/// Steps, when the caller speaks of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepChoice {
    /// The error decides.
    Auto,
    /// Constant steps of this size.
    Fixed(f64),
}

/// Which times become rows.
#[derive(Clone, Debug, PartialEq)]
pub enum SampleRule {
    /// Each accepted step.
    Steps,
    /// The end alone.
    End,
    /// The start and this many evenly spaced times after it; the last one is the end.
    Count(u64),
    /// The start, and `count` times from `first` after it to the end, evenly spaced in their logarithm.
    Log {
        /// How many.
        count: u64,
        /// Distance of the first from the start.
        first: f64,
    },
    /// These times.
    Times(Vec<f64>),
}

/// Which quantities become columns.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordRule {
    /// States and outputs.
    All,
    /// States only.
    States,
    /// Outputs only.
    Outputs,
    /// These, in this order.
    Names(Vec<String>),
}

/// Overrides of a run.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// Which run block; `None` is the unnamed one.
    pub run: Option<String>,
    /// Which set of parameters.
    pub params: Option<String>,
    /// Single values: parameters, constants, initial values.
    pub set: Vec<(String, f64)>,
    /// Units in which values of `set` are given, by their positions there; of others, the model's.
    pub set_units: Vec<(usize, String)>,
    /// Parameters and initial values that vary between runs, or that derivatives are taken by.
    pub open: Vec<String>,
    /// Compute the derivatives of states and outputs by what is open; the program is that of
    /// [`odec_lang::lower_sensitivities`].
    pub sensitivities: bool,
    /// Values of tables that come from files, by name, in row-major order.
    pub tables: HashMap<String, Vec<f64>>,
    /// Files that take the place of those of inputs, by the name of the input. The last one counts.
    pub data: Vec<(String, String)>,
    /// Curves of inputs that come from files, by name.
    pub inputs: HashMap<String, Arc<Curve>>,
    /// Start.
    pub t0: Option<f64>,
    /// End.
    pub t_end: Option<f64>,
    /// Units in which start and end are given, if they are not those of the model.
    pub time_units: [Option<String>; 2],
    /// Method, or `auto`.
    pub method: Option<String>,
    /// Steps.
    pub step: Option<StepChoice>,
    /// Relative tolerance.
    pub rtol: Option<f64>,
    /// Absolute tolerance of all states.
    pub atol: Option<f64>,
    /// Absolute tolerance of single states.
    pub atol_for: Vec<(String, f64)>,
    /// Rows.
    pub samples: Option<SampleRule>,
    /// Columns.
    pub record: Option<RecordRule>,
    /// Largest step.
    pub max_step: Option<f64>,
    /// First step of a run whose error decides on the others; `None`: chosen.
    pub first_step: Option<f64>,
    /// Budget of steps.
    pub max_steps: Option<u64>,
    /// Solver of linear systems.
    pub linear: LinearSolver,
    /// Start from a steady state.
    pub steady: bool,
    /// Interpret instead of compiling.
    pub interpret: bool,
    /// Bytes of memory that a run may take by the estimate of [`crate::memory`]; `None`: as many as there are.
    pub max_memory: Option<u64>,
}

impl Choices {
    /// Whether a run with the settings of the text starts from a steady state. A search for these starts from the initial values.
    pub(crate) fn starts_steady(&self, settings: &Settings, purpose: Purpose) -> bool {
        (settings.steady.is_some() || self.steady) && purpose != Purpose::Equilibria
    }
}
