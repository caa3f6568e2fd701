//! Measured inputs: `input q(t) = table("q.csv", "flow", linear)`.

mod curve;
mod spline;

use std::sync::Arc;

use odec_ir::Span;

pub use curve::{Curve, CurveError, MAX_SAMPLES, MIN_SPACING};

use super::{Body, Model, Overrides, Values};
use crate::diagnostic::{Diagnostic, codes};
use crate::report::error;

/// The interpolation of an input between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The value of the sample before.
    Hold,
    /// The straight line between both.
    Linear,
    /// A cubic that does not exceed the range of the samples around it.
    Cubic,
    /// The natural cubic spline, with two continuous derivatives.
    Spline,
}

/// The value of an input before its first sample and after its last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// No value: a run that goes there is refused.
    Nothing,
    /// The first and the last value.
    Clamp,
    /// The samples repeat.
    Periodic,
}

impl Interpolation {
    /// All interpolations, by their words.
    pub const WORDS: [(&'static str, Interpolation); 4] = [
        ("hold", Interpolation::Hold),
        ("linear", Interpolation::Linear),
        ("cubic", Interpolation::Cubic),
        ("spline", Interpolation::Spline),
    ];

    /// The word.
    pub fn word(self) -> &'static str {
        Interpolation::WORDS.iter().find(|(_, how)| *how == self).map_or("", |(word, _)| word)
    }
}

impl Outside {
    /// The extrapolations with a word.
    pub const WORDS: [(&'static str, Outside); 2] = [("clamp", Outside::Clamp), ("periodic", Outside::Periodic)];
}

/// The origin of the samples.
#[derive(Clone, Debug, PartialEq)]
pub enum CurveSource {
    /// A file whose first column contains the times.
    Csv {
        /// The name in the model.
        file: String,
        /// Header of the column of values; `None` for the second of two columns.
        column: Option<String>,
    },
    /// Lists in the model: times and values.
    Lists(Vec<Body>, Vec<Body>),
}

/// The argument of a table, if it is not the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Its name in the declaration.
    pub name: String,
    /// Its unit as written, without brackets.
    pub unit: Option<String>,
}

/// An input.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Name.
    pub name: String,
    /// The argument; `None` if it is time.
    pub argument: Option<Argument>,
    /// Unit as written, without brackets.
    pub unit: Option<String>,
    /// Doc comment.
    pub doc: Option<String>,
    /// The name in its declaration.
    pub span: Span,
    /// The origin of the samples.
    pub source: CurveSource,
    /// Its source location.
    pub place: Span,
    /// Between two samples.
    pub between: Interpolation,
    /// The value outside the samples.
    pub outside: Outside,
}

impl Input {
    /// The name of the argument in the units of a model: `t`, or `drag(v)`.
    pub fn argument_in_units(&self, time: &str) -> String {
        self.argument.as_ref().map_or_else(|| time.to_owned(), |argument| format!("{}({})", self.name, argument.name))
    }
}

impl Model {
    /// The curve of each input: from `overrides`, or from the lists in the model.
    pub(super) fn curves(&self, values: &mut Values, overrides: &Overrides, errors: &mut Vec<Diagnostic>) {
        for input in &self.inputs {
            let given = overrides.inputs.get(&input.name).cloned();
            let curve = given.or_else(|| match self.listed(input, values) {
                Ok(curve) => curve,
                Err(report) => {
                    errors.push(*report);
                    None
                }
            });
            values.inputs.push(curve);
        }
    }

    /// The curve of samples in the model.
    fn listed(&self, input: &Input, values: &Values) -> Result<Option<Arc<Curve>>, Box<Diagnostic>> {
        let CurveSource::Lists(times, samples) = &input.source else { return Ok(None) };
        let numbers = |list: &[Body]| list.iter().map(|body| self.number(*body, values)).collect::<Vec<f64>>();
        let (numbers, samples_of) = (numbers(times), numbers(samples));
        if times.len() != samples.len() {
            let headline = format!("`{}` has {} times but {} values", input.name, times.len(), samples.len());
            let report = error(&codes::E0562, headline, input.place, "");
            return Err(Box::new(report.help("give each time one value: `table([0, 1, 2], [5, 6, 5], linear)`")));
        }
        match Curve::of(&numbers, &samples_of, input.between, input.outside) {
            Ok(curve) => Ok(Some(Arc::new(curve))),
            Err(misfit) => {
                let body = |k: usize| match misfit {
                    CurveError::Value(_) | CurveError::Period(_) => samples.get(k),
                    _ => times.get(k),
                };
                let place = misfit.at().and_then(body).map_or(input.place, |body| self.span(*body));
                let headline =
                    format!("the samples of `{}` do not define a curve: {}", input.name, misfit.says(&numbers));
                Err(Box::new(error(&codes::E0562, headline, place, "").help(misfit.help())))
            }
        }
    }
}
