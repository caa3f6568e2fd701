//! The options of a run as Python passes them, and their translation.

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::suggest;
use odec_ode::linear::LinearSolver;
use odec_sim::choices::{Choices, RecordRule, SampleRule, StepChoice};
use pyo3::FromPyObject;

/// The options of a run, with the names of a run block. The model determines those that are missing.
#[derive(Clone, Debug, Default, PartialEq, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    run: Option<String>,
    params: Option<String>,
    t0: Option<f64>,
    t_end: Option<f64>,
    method: Option<String>,
    step: Option<f64>,
    /// `auto`
    step_word: Option<String>,
    rtol: Option<f64>,
    atol: Option<f64>,
    atol_for: Vec<(String, f64)>,
    /// At most one of the `samples` fields is set: a word (`steps` or `end`), a number, a list of times,
    /// or a logarithmic rule.
    samples_word: Option<String>,
    samples_count: Option<u64>,
    samples_times: Option<Vec<f64>>,
    samples_log: Option<(u64, f64)>,
    record_word: Option<String>,
    record: Option<Vec<String>>,
    /// Names for which derivatives are computed.
    pub sens: Vec<String>,
    /// Initial values that vary, without derivatives.
    pub open: Vec<String>,
    max_step: Option<f64>,
    max_steps: Option<u64>,
    first_step: Option<f64>,
    /// True to start from the initial values even if the run block says otherwise.
    start_given: bool,
    /// True for a program of f alone.
    only_f: bool,
    linear: Option<String>,
    /// True to compare the rows with a second run where errors may grow.
    pub second_run: bool,
}

impl Settings {
    /// The settings for a program of f alone.
    pub fn of_f() -> Settings {
        Settings { only_f: true, second_run: true, ..Settings::default() }
    }

    /// The same settings with this end.
    pub fn until(&self, t_end: f64) -> Settings {
        Settings { t_end: Some(t_end), ..self.clone() }
    }

    /// The settings on which the machine code depends.
    pub fn names(&self) -> (Option<&str>, Option<&str>) {
        (self.run.as_deref(), self.params.as_deref())
    }

    /// Converts the settings to those of `odec-sim`.
    ///
    /// # Errors
    /// An option has an unknown value.
    pub fn choices(&self) -> Result<Choices, Box<Diagnostic>> {
        let samples = match (self.samples_word.as_deref(), self.samples_count, self.samples_log) {
            (Some("end"), ..) => Some(SampleRule::End),
            (Some("steps"), ..) => Some(SampleRule::Steps),
            (Some(word), ..) => return Err(wrong("samples", word, &["steps"])),
            (None, Some(count), _) => Some(SampleRule::Count(count)),
            (None, None, Some((count, first))) => Some(SampleRule::Log { count, first }),
            (None, None, None) => self.samples_times.clone().map(SampleRule::Times),
        };
        let record = match (self.record_word.as_deref(), &self.record) {
            (Some("all"), _) => Some(RecordRule::All),
            (Some("states"), _) => Some(RecordRule::States),
            (Some("outputs"), _) => Some(RecordRule::Outputs),
            (Some(word), _) => return Err(wrong("record", word, &["all", "states", "outputs"])),
            (None, list) => list.clone().map(RecordRule::Names),
        };
        let linear = match self.linear.as_deref() {
            None => LinearSolver::default(),
            Some(word) => LinearSolver::find(word).ok_or_else(|| {
                let known: Vec<&str> = LinearSolver::ALL.iter().map(|(name, _)| *name).collect();
                wrong("linear", word, &known)
            })?,
        };
        let step = match self.step_word.as_deref() {
            None => self.step.map(StepChoice::Fixed),
            Some("auto") => Some(StepChoice::Auto),
            Some(word) => return Err(wrong("step", word, &["auto"])),
        };
        Ok(Choices {
            run: self.run.clone(),
            params: self.params.clone(),
            t0: self.t0,
            t_end: self.t_end,
            method: self.method.clone(),
            step,
            rtol: self.rtol,
            atol: self.atol,
            atol_for: self.atol_for.clone(),
            samples,
            record,
            open: [&self.sens[..], &self.open].concat(),
            sensitivities: !self.sens.is_empty(),
            max_step: self.max_step,
            max_steps: self.max_steps,
            first_step: self.first_step,
            start_given: self.start_given,
            only_f: self.only_f,
            linear,
            ..Choices::default()
        })
    }
}

/// The error for an unknown value of an option.
fn wrong(option: &str, word: &str, known: &[&str]) -> Box<Diagnostic> {
    let headline = format!("`{option}=\"{word}\"` is not a valid choice");
    let help = format!("the choices are {}", suggest::list(known.iter().copied()));
    Box::new(Diagnostic::error(&codes::E0705, headline).help(help))
}
