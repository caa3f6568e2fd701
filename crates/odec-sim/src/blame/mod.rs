//! Run-time failures in terms of the model: the source location, the values, and what to try.

pub(crate) mod bounds;
pub mod constraints;
pub(crate) mod drift;
mod events;
mod extents;
mod failure;
mod inputs;
mod instant;
mod refusal;
mod seen;
pub mod steady;
mod unknowns;
mod watch;

pub(crate) use events::{without_bounds, without_events};
pub use extents::{extents, not_compiled};
pub use failure::failed;
pub use refusal::{misnamed, reason, refused, refused_setting, unknown_method, unknown_name, unknown_state};
pub use seen::failed_seen;
pub use watch::warnings;

use odec_lang::blame::{Blame, Cause, FailedQuantity, Fault, StateAt, blame};
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::{Equation, Model, Values};
use odec_lang::source::Source;
use odec_ode::problem::Failure;

use crate::bind::Bound;
use crate::quantities::Quantities;

/// Number of values of a state that a message shows; for a larger model it shows the first ones.
const MAX_VALUES: usize = 8;
/// Above this, a product or power overflows easily.
const HUGE: f64 = 1e150;
/// Longest term that a message repeats.
const MAX_TEXT: usize = 60;

/// The names of the states by their index in y.
struct Names<'a> {
    bound: &'a Bound,
}

impl Names<'_> {
    /// Rank of a state in the order of the text.
    fn rank(&self, at: usize) -> usize {
        self.bound.states.rank(at)
    }

    fn state(&self, at: usize) -> String {
        self.bound.states.name(at)
    }

    /// The value of the row of f.
    fn rate(&self, at: usize) -> String {
        rate(&self.bound.states, at)
    }
}

/// Adds the innermost term that is not finite, with its operands and the enclosing terms.
fn with_term(mut d: Diagnostic, blame: &Blame) -> Diagnostic {
    let what = match blame.fault {
        Fault::Value => format!("this is {}", number(blame.value)),
        Fault::Slope => format!("the derivative of this is {}", number(blame.value)),
        Fault::ZeroFactor => "the equation is solved for this, and its coefficient is 0".to_string(),
    };
    d = d.label(blame.span, what);
    for operand in &blame.operands {
        // a literal needs no value
        if operand.span != blame.span && operand.text.trim().parse::<f64>().is_err() {
            d = d.label(operand.span, format!("{} = {}", short(&operand.text), number(operand.value)));
        }
    }
    for (name, span) in &blame.through {
        d = d.label(*span, format!("through `{name}`"));
    }
    d
}

/// Advice about the term.
fn advice(blame: &Blame) -> Option<&'static str> {
    let text = blame.text.trim_start();
    let negative = blame.operands.iter().any(|o| o.value < 0.0);
    match blame.fault {
        // the operation decides: `-1/r^2` at r = 0 has a negative operand and a power, but it is a division
        Fault::Value if blame.cause == Cause::ZeroDivisor => Some(
            "this divides by 0: correct the parameters, start elsewhere, or rewrite the term so that it has a value \
             there",
        ),
        Fault::Value if blame.cause == Cause::NegativeBase && blame.value.is_nan() => {
            Some("a negative number only has integer powers: is a sign wrong, or did a state fall below 0?")
        }
        Fault::Value if text.starts_with("sqrt") && negative => {
            Some("a square root needs an argument of at least 0: is a sign wrong, or did a state fall below 0?")
        }
        Fault::Value if text.starts_with("ln") || text.starts_with("log") => {
            Some("a logarithm needs a positive argument: is a sign wrong, or did a state fall to 0?")
        }
        Fault::Value if blame.operands.iter().any(|o| o.value.abs() > HUGE) => Some(
            "the solution overflows: is a constant step too large for a stable solution, or does the solution end \
             before this time?",
        ),
        _ => None,
    }
}

fn short(text: &str) -> String {
    if text.chars().count() <= MAX_TEXT {
        return text.to_string();
    }
    text.chars().take(MAX_TEXT - 1).chain(['…']).collect()
}

/// The name of the derivative of the element at this index in y: `x'`, `u[3]'`, `p[3]''.x`.
fn rate(states: &Quantities, at: usize) -> String {
    states.at(at).map_or(String::new(), |(quantity, element)| quantity.rate(element))
}

/// Constants, parameters and inputs with the discretes of a run; without discretes, with their initial values.
pub(crate) fn values_at(model: &Model, bound: &Bound, discretes: &[f64]) -> Values {
    let mut values = bound.values.clone();
    if let Some(located) = &bound.located {
        values.discrete_data = located.discretes_of(model, bound.problem.t0, discretes);
    }
    values
}

/// States in the order of the text, as blame needs them.
pub(crate) fn in_order(bound: &Bound, y: &[f64]) -> Vec<f64> {
    bound.states.places().map(|k| y.get(k).copied().unwrap_or(f64::NAN)).collect()
}

/// Index of the declared state of the element at this index in y.
pub(crate) fn declared(model: &Model, states: &Quantities, at: usize) -> Option<usize> {
    let (series, _) = states.at(at)?;
    // the equation of a derivative with respect to a parameter is that of its state
    let name = series.differentiated().unwrap_or(&series.name);
    model.states.iter().position(|s| (0..s.order).any(|k| s.derivative(k) == name))
}

/// Adds the equation of a row, or otherwise the declaration of its state.
fn with_equation(d: Diagnostic, model: &Model, names: &Names, row: usize, text: &str) -> Diagnostic {
    let Some(k) = declared(model, &names.bound.states, row) else { return d };
    let own = |e: &&Equation| e.target == Some(k) || (model.states[k].algebraic && e.owner == Some(k));
    match model.equations.iter().find(own) {
        Some(equation) => d.label(equation.span, text),
        None => d.label(model.states[k].span, text),
    }
}

/// Adds the last accepted time and state to the help.
fn with_state(mut d: Diagnostic, model: &Model, bound: &Bound, failure: &Failure) -> Diagnostic {
    let mut text = format!("last accepted: {} = {}", model.time.name, number(failure.t));
    for k in bound.states.places().take(MAX_VALUES) {
        if let Some(v) = failure.y.get(k) {
            text.push_str(&format!(", {} = {}", bound.states.name(k), number(*v)));
        }
    }
    if bound.states.len() > MAX_VALUES {
        text.push_str(&format!(" and {} more", bound.states.len() - MAX_VALUES));
    }
    d.help = Some(match d.help.take() {
        Some(help) => format!("{help}\n{text}"),
        None => text,
    });
    d
}

/// The message for an initial value that is not finite, at this index in y.
pub fn start_value(
    model: &Model,
    source: &Source,
    values: &Values,
    t0: f64,
    states: &Quantities,
    at: usize,
    value: f64,
) -> Diagnostic {
    let name = states.name(at);
    let d = Diagnostic::error(&codes::E0610, format!("no run can start from `{name}` = {value}"));
    let nothing = vec![f64::NAN; states.len()];
    let d = match blame(model, source, FailedQuantity::Start(states.rank(at)), StateAt { t: t0, y: &nothing, values }) {
        Some(blame) => with_term(d, &blame),
        None => match declared(model, states, at) {
            Some(k) => d.label(model.states[k].span, format!("starts at {value}")),
            None => d,
        },
    };
    d.help("correct the value, or the parameters that it depends on")
}

/// A number with six significant digits, in its shortest form.
pub fn number(v: f64) -> String {
    let rounded: f64 = format!("{v:.5e}").parse().unwrap_or(v);
    let plain = format!("{rounded}");
    let scientific = format!("{rounded:e}");
    if plain.len() <= 6 || !rounded.is_finite() || plain.len() <= scientific.len() { plain } else { scientific }
}

/// A number in groups of three digits, from 10,000 on.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut out = String::new();
    for (k, c) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}
