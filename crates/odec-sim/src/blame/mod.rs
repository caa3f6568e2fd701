//! Run-time failures in the model's terms: the place in the source, the values, and what to try.

mod extents;
mod refusal;
mod watch;

pub use extents::{extents, not_compiled};
pub use refusal::{misnamed, reason, refused, unknown_method, unknown_name, unknown_state};
pub use watch::warnings;

use odec_lang::blame::{Blame, By, Fault, Point, What, blame};
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::{Model, Values};
use odec_lang::source::Source;
use odec_ode::problem::{Cause, Failure};

use crate::bind::Bound;
use crate::quantities::Quantities;

/// Values shown of a state; a larger model shows the first ones.
const MAX_VALUES: usize = 8;
/// Beyond this a product or power overflows easily.
const HUGE: f64 = 1e150;
/// Factor on an absolute tolerance that lets a quantity become negative.
const FINER: f64 = 1e-6;
/// Longest text of a term that is repeated in a message.
const MAX_TEXT: usize = 60;

/// A run that failed.
pub fn failed(model: &Model, source: &Source, bound: &Bound, failure: &Failure) -> Diagnostic {
    let at = Instant::of(failure);
    let names = Names { bound };
    let time = &model.time.name;
    let when = format!("at {time} = {}", number(at.t));
    let search = |what: What| {
        let y = in_order(bound, at.y);
        blame(model, source, what, Point { t: at.t, y: &y, values: &bound.values })
    };
    let by_term = |d: Diagnostic, what: What, row: usize, help: &str| match search(what) {
        Some(blame) => with_term(d, &blame).help(advice(&blame).unwrap_or(help)),
        None => with_equation(d, model, &names, row, &format!("this gives `{}`", names.rate(row))).help(help),
    };
    let d = match failure.cause {
        Cause::NonFiniteRhs { row } => {
            let d = Diagnostic::error(&codes::E0601, format!("`{}` has no finite value {when}", names.rate(row)));
            by_term(d, What::Row(names.rank(row)), row, "bound its terms, correct the parameters, or start elsewhere")
        }
        Cause::NoSeries { row } => {
            let rate = names.rate(row);
            let headline = format!(
                "the solution has no Taylor series {when}: `{rate}` has a value there, but no derivative along the solution"
            );
            let label = format!("this gives `{rate}`");
            let d = with_equation(Diagnostic::error(&codes::E0622, headline), model, &names, row, &label);
            d.help("a method that needs no series: `--method auto` or `--method vern7`; or start off this point")
        }
        Cause::NonFiniteJacobian { row, col } => {
            let (rate, state) = (names.rate(row), names.state(col));
            let d = Diagnostic::error(
                &codes::E0602,
                format!("the derivative of `{rate}` by `{state}` has no finite value {when}"),
            );
            let what = What::Slope(names.rank(row), By::State(names.rank(col)));
            by_term(
                d,
                what,
                row,
                "a method that needs no derivative: `--method dopri5`; or start off the singular point",
            )
        }
        Cause::NonFiniteTimeDerivative { row } => {
            let rate = names.rate(row);
            let d = Diagnostic::error(
                &codes::E0603,
                format!("the derivative of `{rate}` by `{time}` has no finite value {when}"),
            );
            let what = What::Slope(names.rank(row), By::Time);
            by_term(d, what, row, "a method that does not need it: `--method bdf`; or start a little later")
        }
        Cause::NonFiniteMass { row } => {
            let headline = format!("a factor in the equation of `{}` has no finite value {when}", names.rate(row));
            let label = "a factor of a derivative here, or the derivative of one";
            let d = with_equation(Diagnostic::error(&codes::E0601, headline), model, &names, row, label);
            d.help("bound the factors, correct the parameters, or start elsewhere")
        }
        Cause::SingularMass { row } => {
            let (method, rate) = (bound.choice.method.name, names.rate(row));
            let headline = format!("`{method}` needs every derivative, and the equations do not give `{rate}` {when}");
            let d = with_equation(Diagnostic::error(&codes::E0619, headline), model, &names, row, "");
            d.help("the factors of the derivatives vanish, or depend on one another: an implicit method solves them together: `--method bdf`")
        }
        Cause::StepCollapsed { row, error } => {
            let state = names.state(row);
            let headline =
                format!("the step fell to {} {when}: the error of `{state}` stays too large", number(failure.h));
            let d = with_equation(
                Diagnostic::error(&codes::E0604, headline),
                model,
                &names,
                row,
                &format!("`{state}`: largest error"),
            );
            let error =
                if error.is_finite() { format!("{} times the tolerance", number(error)) } else { "infinite".into() };
            // A quantity that fell below zero, the one in question first.
            let y0 = &bound.problem.y0;
            let atol = |k: usize| bound.options.atol.get(k).or(bound.options.atol.first()).copied().unwrap_or(0.0);
            // (velocities and positions may)
            let first = 2 * bound.machine.layout().second;
            let fell = |k: &usize| *k >= first && failure.y[*k] < 0.0 && y0[*k] >= 0.0 && atol(*k) > 0.0;
            if let Some(k) = std::iter::once(row).chain(0..y0.len()).find(fell) {
                let state = names.state(k);
                d.help(format!(
                    "`{state}` began at {} and is {} now: if it cannot be negative, its absolute tolerance of {} lets it be; \
                     try `--atol {state}={}`. Else something may blow up or jump here",
                    number(y0[k]),
                    number(failure.y[k]),
                    number(atol(k)),
                    number(atol(k) * FINER)
                ))
            } else {
                d.help(format!(
                    "its error is {error} however small the step: `{state}` may blow up or jump here; look at the last \
                     rows, or end the run before {time} = {}",
                    number(at.t)
                ))
            }
        }
        Cause::NewtonFailed { row } => {
            let state = names.state(row);
            let size = if bound.options.fixed { number(failure.h) } else { "any size".to_string() };
            let headline = format!("the equations of an implicit step of {size} cannot be solved {when}");
            let d = with_equation(
                Diagnostic::error(&codes::E0605, headline),
                model,
                &names,
                row,
                &format!("`{state}` does not settle"),
            );
            d.help(if bound.options.fixed {
                "a smaller step may do, or none, so that the error decides: `--step auto`"
            } else {
                "does the equation jump here? `--method rodas4` solves no equations by iteration"
            })
        }
        Cause::Singular { col } => {
            let state = names.state(col);
            let headline =
                format!("the equations do not determine `{state}` {when}: the matrix of the step is singular");
            let d = with_equation(
                Diagnostic::error(&codes::E0606, headline),
                model,
                &names,
                col,
                &format!("`{state}`: not determined"),
            );
            d.help(if bound.options.fixed {
                "another step size may do; else, does every highest derivative follow from the equations?"
            } else {
                "does every highest derivative follow from the equations, and does every state depend on its own?"
            })
        }
        Cause::TooManySteps { budget } => {
            let end = number(bound.problem.t_end);
            let spent = if budget == 1 { "1 step is".to_string() } else { format!("{budget} steps are") };
            let headline = format!("{spent} used up {when}, and {time} = {end} is not reached");
            let d = Diagnostic::error(&codes::E0607, headline);
            let d = match model.equations.first() {
                Some(first) => d.label(first.span.to(model.equations[model.equations.len() - 1].span), ""),
                None => d,
            };
            d.help(match (bound.options.fixed, bound.choice.method.structure.jacobian) {
                _ if bound.options.max_step.is_some() => {
                    "let the steps be longer, `--max-step`, or allow more of them, `--max-steps`"
                }
                (true, _) => "take larger steps, end the run earlier, or allow more with `--max-steps`",
                (_, false) => "if the model is stiff, an implicit method needs far fewer: `--method bdf`; or allow more with `--max-steps`",
                (_, true) => "allow more with `--max-steps`, or ask for less accuracy with `--rtol`",
            })
        }
        Cause::NonFiniteState { row } => {
            let state = names.state(row);
            let headline = format!("`{state}` leaves the range of numbers {when}");
            let d = with_equation(
                Diagnostic::error(&codes::E0608, headline),
                model,
                &names,
                row,
                "this grows without bound",
            );
            d.help(if bound.options.fixed && !bound.choice.method.structure.jacobian {
                "the step may be too large for this method to be stable: make `--step` smaller, or use an implicit method"
            } else {
                "the solution grows beyond all numbers: end the run earlier, or correct the model"
            })
        }
        Cause::Fatal => Diagnostic::error(&codes::E0601, format!("the model cannot be evaluated {when}")),
        Cause::Internal { what } => {
            let headline = format!("{what}, by `{}` {when}", bound.choice.method.name);
            Diagnostic::error(&codes::E0900, headline)
                .help("this is a bug in odec: `odec explain E0900` says what to report")
        }
    };
    with_state(d, model, bound, failure)
}

/// Where the trouble was met.
struct Instant<'a> {
    t: f64,
    y: &'a [f64],
}

impl<'a> Instant<'a> {
    fn of(failure: &'a Failure) -> Instant<'a> {
        match &failure.at {
            Some((t, y)) => Instant { t: *t, y },
            None => Instant { t: failure.t, y: &failure.y },
        }
    }
}

/// Names by places in y.
struct Names<'a> {
    bound: &'a Bound,
}

impl Names<'_> {
    /// Rank of the state in the order of the text.
    fn rank(&self, at: usize) -> usize {
        self.bound.states.rank(at)
    }

    fn state(&self, at: usize) -> String {
        self.bound.states.name(at)
    }

    /// What the row of f gives.
    fn rate(&self, at: usize) -> String {
        rate(&self.bound.states, at)
    }
}

/// The innermost term that is not finite, with its operands and the way to it.
fn with_term(mut d: Diagnostic, blame: &Blame) -> Diagnostic {
    let what = match blame.fault {
        Fault::Value => format!("this is {}", number(blame.value)),
        Fault::Slope => format!("the derivative of this is {}", number(blame.value)),
        Fault::ZeroFactor => "this is multiplied by 0, and the equation is solved for it".to_string(),
    };
    d = d.label(blame.span, what);
    for operand in &blame.operands {
        // a number stands for itself
        if operand.span != blame.span && operand.text.trim().parse::<f64>().is_err() {
            d = d.label(operand.span, format!("{} = {}", short(&operand.text), number(operand.value)));
        }
    }
    for (name, span) in &blame.through {
        d = d.label(*span, format!("through `{name}`"));
    }
    d
}

/// What may mend the term.
fn advice(blame: &Blame) -> Option<&'static str> {
    let text = blame.text.trim_start();
    let negative = blame.operands.iter().any(|o| o.value < 0.0);
    match blame.fault {
        Fault::Value if text.starts_with("sqrt") && negative => {
            Some("a square root needs an argument of at least 0: is a sign wrong, or has a state gone below 0?")
        }
        Fault::Value if text.starts_with("ln") || text.starts_with("log") => {
            Some("a logarithm needs an argument above 0: is a sign wrong, or has a state gone to 0?")
        }
        Fault::Value if text.contains('^') && negative => {
            Some("a negative number has only whole powers: is a sign wrong, or has a state gone below 0?")
        }
        Fault::Value if text.contains('/') && blame.operands.iter().any(|o| o.value == 0.0) => Some(
            "a division by 0: correct the parameters, start elsewhere, or write the term so that it has a value there",
        ),
        Fault::Value if blame.operands.iter().any(|o| o.value.abs() > HUGE) => Some(
            "the solution grows beyond all numbers: is a constant step too large for the method to be stable, or has the \
             model no solution beyond this time?",
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

/// The name of the derivative of what is at a place of y: `x'`, `u[3]'`, `p[3]''.x`.
fn rate(states: &Quantities, at: usize) -> String {
    let name = states.name(at);
    match name.rfind('.') {
        Some(dot) => format!("{}'{}", &name[..dot], &name[dot..]),
        None => format!("{name}'"),
    }
}

/// States in the order of the text, which blaming wants.
fn in_order(bound: &Bound, y: &[f64]) -> Vec<f64> {
    bound.states.places().map(|k| y.get(k).copied().unwrap_or(f64::NAN)).collect()
}

/// Position of the state that the model declares for what is at a place of y.
fn declared(model: &Model, states: &Quantities, at: usize) -> Option<usize> {
    let (series, _) = states.at(at)?;
    // the equation of a derivative by a parameter is that of its state
    let derivative = series.name.strip_prefix("d(").and_then(|rest| rest.rsplit_once(")/d("));
    let name = derivative.map_or(series.name.as_str(), |(own, _)| own);
    model.states.iter().position(|s| (0..s.order).any(|k| s.derivative(k) == name))
}

/// The equation that gives a row, or else the declaration of its state.
fn with_equation(d: Diagnostic, model: &Model, names: &Names, row: usize, text: &str) -> Diagnostic {
    let Some(k) = declared(model, &names.bound.states, row) else { return d };
    match model.equations.iter().find(|e| e.target == Some(k)) {
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

/// A start value that is not finite, at a place of y.
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
    let d = Diagnostic::error(&codes::E0610, format!("`{name}` starts at {value}, where no run can begin"));
    let nothing = vec![f64::NAN; states.len()];
    let d = match blame(model, source, What::Start(states.rank(at)), Point { t: t0, y: &nothing, values }) {
        Some(blame) => with_term(d, &blame),
        None => match declared(model, states, at) {
            Some(k) => d.label(model.states[k].span, format!("starts at {value}")),
            None => d,
        },
    };
    d.help("correct the value, or the parameters it follows from")
}

/// Six significant digits, short.
pub fn number(v: f64) -> String {
    let rounded: f64 = format!("{v:.5e}").parse().unwrap_or(v);
    let plain = format!("{rounded}");
    let scientific = format!("{rounded:e}");
    if plain.len() <= 6 || !rounded.is_finite() || plain.len() <= scientific.len() { plain } else { scientific }
}
