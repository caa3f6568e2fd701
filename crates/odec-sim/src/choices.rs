//! The caller's choices that override the run block. An absent choice means the setting of the model.

use std::collections::HashMap;
use std::sync::Arc;

use odec_lang::diagnostic::Diagnostic;
use odec_lang::model::inputs::Curve;
use odec_lang::model::{Model, Run, Settings};
use odec_ode::linear::LinearSolver;

use crate::bind::Purpose;
use crate::quantities::Quantities;

/// The step size, if the caller chooses it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepChoice {
    /// Error control chooses the steps.
    Auto,
    /// Constant steps of this size.
    Fixed(f64),
}

/// The times of the rows.
#[derive(Clone, Debug, PartialEq)]
pub enum SampleRule {
    /// Each accepted step.
    Steps,
    /// Only the end.
    End,
    /// The start and this many evenly spaced times after it; the last one is the end.
    Count(u64),
    /// The start, and `count` times from `first` after it to the end, evenly spaced in their logarithm.
    Log {
        /// Number of times after the start.
        count: u64,
        /// Distance of the first one from the start.
        first: f64,
    },
    /// These times.
    Times(Vec<f64>),
}

/// The quantities that become columns.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordRule {
    /// States and outputs.
    All,
    /// States only.
    States,
    /// Outputs only.
    Outputs,
    /// These quantities, in this order.
    Names(Vec<String>),
}

/// Overrides of a run.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// The run block; `None` is the unnamed one.
    pub run: Option<String>,
    /// The parameter set.
    pub params: Option<String>,
    /// Single values: parameters, constants, initial values.
    pub set: Vec<(String, f64)>,
    /// Units of values in `set`, by their index there; other values are in the units of the model.
    pub set_units: Vec<(usize, String)>,
    /// Parameters and initial values that vary between runs, or with respect to which derivatives are computed.
    pub open: Vec<String>,
    /// True to compute the derivatives of states and outputs with respect to `open`; the program then comes from
    /// [`odec_lang::lower_sensitivities`].
    pub sensitivities: bool,
    /// Values of tables that come from files, by name, in row-major order.
    pub tables: HashMap<String, Vec<f64>>,
    /// Files that replace those of inputs, by the name of the input. The last one for a name applies.
    pub data: Vec<(String, String)>,
    /// Curves of inputs from files, by name.
    pub inputs: HashMap<String, Arc<Curve>>,
    /// Start.
    pub t0: Option<f64>,
    /// End.
    pub t_end: Option<f64>,
    /// Units of start and end, if they are not those of the model.
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
    /// Units of values in `atol_for`, by their index there.
    pub atol_units: Vec<(usize, String)>,
    /// Rows.
    pub samples: Option<SampleRule>,
    /// Units of the times in `samples`, by their index there.
    pub sample_units: Vec<(usize, String)>,
    /// Columns.
    pub record: Option<RecordRule>,
    /// Largest step.
    pub max_step: Option<f64>,
    /// Units of `step` and `max_step`, if they are not those of the model's time.
    pub step_units: [Option<String>; 2],
    /// First step of an adaptive run; `None`: chosen automatically.
    pub first_step: Option<f64>,
    /// Budget of steps.
    pub max_steps: Option<u64>,
    /// Solver of linear systems.
    pub linear: LinearSolver,
    /// True to start from a steady state.
    pub steady: bool,
    /// True to start from the initial values even if the run block says `start = steady`.
    pub start_given: bool,
    /// True for a program of f: bounds of states do not matter, and a model with several run blocks needs none.
    pub only_f: bool,
    /// True to interpret instead of compile.
    pub interpret: bool,
    /// Memory limit of a run in bytes, by the estimate of [`crate::memory`]; `None`: no limit.
    pub max_memory: Option<u64>,
}

impl Choices {
    /// True if a number is in a unit that is not that of the model.
    pub(crate) fn has_units(&self) -> bool {
        let times = self.time_units.iter().chain(&self.step_units).any(Option::is_some);
        times || !(self.set_units.is_empty() && self.atol_units.is_empty() && self.sample_units.is_empty())
    }

    /// The run block of these choices.
    pub(crate) fn block<'m>(&self, model: &'m Model) -> Result<Option<&'m Run>, Diagnostic> {
        let found = model.run(self.run.as_deref());
        if self.only_f { Ok(found.unwrap_or_default()) } else { found }
    }

    /// The indices in y of the initial values that are set or vary.
    pub(crate) fn starts(&self, states: &Quantities) -> Vec<usize> {
        let names = self.set.iter().map(|(name, _)| name).chain(&self.open);
        let chosen = names.filter_map(|name| Some((name, states.select(name).ok()?)));
        let places = chosen.flat_map(|(_, chosen)| {
            chosen.into_iter().flat_map(|c| {
                let start = states.list()[c.quantity].start;
                c.runs.into_iter().flatten().map(move |k| start + k)
            })
        });
        let mut places: Vec<usize> = places.collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// True if a run with the settings of the text starts from a steady state. A search for steady states starts from
    /// the initial values.
    pub(crate) fn starts_steady(&self, settings: &Settings, purpose: Purpose) -> bool {
        !self.start_given && (settings.steady.is_some() || self.steady) && purpose != Purpose::Equilibria
    }
}
