//! Run-time failures in the model's terms: the place in the source, the values, and what to try.

use odec_ir::{ArrayId, Role, Span};
use odec_lang::diagnostic::Diagnostic;
use odec_lang::model::Model;
use odec_lang::suggest;
use odec_ode::method;
use odec_ode::problem::{Cause, Failure, Refusal};

use crate::bind::Bound;
use crate::sample::Seen;

/// Values shown of a state; a larger model shows the first ones.
const MAX_VALUES: usize = 8;

/// A run that failed.
pub fn failed(model: &Model, bound: &Bound, failure: &Failure) -> Diagnostic {
    let t_met = failure.at.as_ref().map_or(failure.t, |(t, _)| *t);
    let time = &model.time.name;
    let t = number(failure.t);
    let when = format!("at {time} = {}", number(t_met));
    let d = match failure.cause {
        Cause::NonFiniteRhs { row } => {
            let rate = rate_name(bound, row);
            let d = Diagnostic::error("E0601", format!("`{rate}` has no finite value {when}."));
            place_of_row(d, model, bound, row)
                .help("the term leaves its domain: bound its argument, correct the parameters or start elsewhere")
        }
        Cause::NonFiniteJacobian { row, col } => {
            let (rate, state) = (rate_name(bound, row), state_name(bound, col));
            let headline = format!("The derivative of `{rate}` with respect to `{state}` has no finite value {when}.");
            place_of_row(Diagnostic::error("E0602", headline), model, bound, row).help(
                "an explicit method (`--method dopri5`) needs no derivatives; or move the start off the singular point",
            )
        }
        Cause::NonFiniteTimeDerivative { row } => {
            let rate = rate_name(bound, row);
            let headline = format!("The derivative of `{rate}` with respect to `{time}` has no finite value {when}.");
            place_of_row(Diagnostic::error("E0603", headline), model, bound, row)
                .help("`--method bdf` needs no derivative with respect to time; or start a little later")
        }
        Cause::StepCollapsed { row, error } => {
            let state = state_name(bound, row);
            let headline =
                format!("The step fell to {} {when}: the error of `{state}` stays too large.", number(failure.h));
            let d = place_of_state(Diagnostic::error("E0604", headline), model, bound, row, "the worst of all");
            d.help(format!(
                "its error is {} times the tolerance however small the step; the solution may blow up or jump here: \
                 look at the last rows, or end the run before {time} = {t}",
                number(error)
            ))
        }
        Cause::NewtonFailed { row } => {
            let state = state_name(bound, row);
            let headline = format!("The implicit equations of a step cannot be solved {when}, whatever its size.");
            let d = place_of_state(Diagnostic::error("E0605", headline), model, bound, row, "moves most");
            d.help(format!(
                "`{state}` does not settle; does its equation jump here? `--method rodas4` iterates not at all"
            ))
        }
        Cause::Singular { col } => {
            let state = state_name(bound, col);
            let headline =
                format!("The equations do not determine `{state}` {when}: the matrix of the step is singular.");
            place_of_state(Diagnostic::error("E0606", headline), model, bound, col, "not determined").help(
                "is an equation the same as another, or a mass 0? Every highest derivative must follow from the equations",
            )
        }
        Cause::TooManySteps { budget } => {
            let reached = format!("{time} = {t} of {}", number(bound.problem.t_end));
            let headline = format!("{budget} steps are used up at {reached}.");
            Diagnostic::error("E0607", headline).help(match bound.choice.method.structure.jacobian {
                false => "if the model is stiff, an implicit method needs far fewer: `--method bdf`; or allow more with `--max-steps`",
                true => "allow more with `--max-steps`, or ask for less accuracy with `--rtol`",
            })
        }
        Cause::NonFiniteState { row } => {
            let state = state_name(bound, row);
            let headline = format!("`{state}` leaves the range of numbers in a step that starts {when}.");
            let d = place_of_state(Diagnostic::error("E0608", headline), model, bound, row, "grows without bound");
            d.help(
                "the step is too large for this method to be stable: make `--step` smaller, or use an implicit method",
            )
        }
        Cause::Fatal => Diagnostic::error("E0609", format!("The model cannot be evaluated {when}.")),
    };
    with_state(d, model, bound, failure)
}

/// The equation of a row.
fn place_of_row(d: Diagnostic, model: &Model, bound: &Bound, row: usize) -> Diagnostic {
    let name = state_name(bound, row);
    let base = name.trim_end_matches('\'');
    match model.states.iter().position(|s| s.name == base) {
        Some(k) => match equation_of(model, k) {
            Some(span) => d.label(span, format!("this gives `{}`", rate_name(bound, row))),
            None => d.label(model.states[k].span, "declared here"),
        },
        None => d,
    }
}

/// The state, where it is declared, and the equation that gives it.
fn place_of_state(d: Diagnostic, model: &Model, bound: &Bound, row: usize, what: &str) -> Diagnostic {
    let name = state_name(bound, row);
    let base = name.trim_end_matches('\'');
    let Some(k) = model.states.iter().position(|s| s.name == base) else { return d };
    match equation_of(model, k) {
        Some(span) => d.label(span, format!("`{name}`: {what}")),
        None => d.label(model.states[k].span, format!("`{name}`: {what}")),
    }
}

fn equation_of(model: &Model, state: usize) -> Option<Span> {
    model.equations.iter().find(|e| e.target == Some(state)).map(|e| e.span)
}

/// Adds the last accepted time and state to the help.
fn with_state(mut d: Diagnostic, model: &Model, bound: &Bound, failure: &Failure) -> Diagnostic {
    let mut text = format!("last accepted: {} = {}", model.time.name, number(failure.t));
    let states: Vec<(String, usize)> = states_in_order(model, bound);
    for (name, k) in states.iter().take(MAX_VALUES) {
        if let Some(v) = failure.y.get(*k) {
            text.push_str(&format!(", {name} = {}", number(*v)));
        }
    }
    if states.len() > MAX_VALUES {
        text.push_str(&format!(" and {} more", states.len() - MAX_VALUES));
    }
    d.help = Some(match d.help.take() {
        Some(help) => format!("{help}\n{text}"),
        None => text,
    });
    d
}

/// Names of the states in the order of the text, with their places in y.
fn states_in_order(model: &Model, bound: &Bound) -> Vec<(String, usize)> {
    let places: Vec<(usize, String)> = (0..bound.problem.y0.len()).map(|k| (k, state_name(bound, k))).collect();
    let find = |name: String| places.iter().find(|(_, n)| *n == name).map(|(k, _)| (name.clone(), *k));
    model.state_names().into_iter().filter_map(find).collect()
}

/// Name of the state at this place of y.
fn state_name(bound: &Bound, at: usize) -> String {
    let program = bound.machine.program();
    let layout = bound.machine.layout();
    let found = program.arrays.iter().enumerate().find(|(k, a)| {
        matches!(a.role, Role::Position | Role::Velocity | Role::FirstOrder) && layout.state(ArrayId(*k as u32)) == at
    });
    found.map(|(_, a)| a.name.clone()).unwrap_or_default()
}

/// Name of what a row of f gives: the derivative of its state.
fn rate_name(bound: &Bound, row: usize) -> String {
    state_name(bound, row) + "'"
}

/// Warnings about a run that otherwise went well.
pub fn warnings(model: &Model, bound: &Bound, seen: &Seen) -> Vec<Diagnostic> {
    let mut list = vec![];
    for (drift, settings) in seen.drifts.iter().zip(&bound.conservation) {
        if let Some(within) = drift.within
            && !(drift.largest.abs() <= within)
        {
            let headline = format!(
                "`{}` drifts by {}, more than the {} that the model permits.",
                drift.name,
                number(drift.largest),
                number(within)
            );
            list.push(
                Diagnostic::warning("W0601", headline)
                    .label(
                        settings.span,
                        format!(
                            "{} at the start, worst at {} = {}",
                            number(drift.start),
                            model.time.name,
                            number(drift.at)
                        ),
                    )
                    .help("smaller tolerances help: `--rtol`, `--atol`"),
            );
        }
    }
    if let Some((k, t, _, value)) = &seen.not_finite
        && let Some(output) = model.outputs.get(*k)
    {
        let headline = format!("`{}` has no finite value from {} = {} on.", output.name, model.time.name, number(*t));
        list.push(Diagnostic::warning("W0602", headline).label(output.span, format!("this is {value} there")));
    }
    list
}

/// A start value that is not finite.
pub fn start_value(model: &Model, name: &str, value: f64) -> Diagnostic {
    let base = name.trim_end_matches('\'');
    let order = name.len() - base.len();
    let d = Diagnostic::error("E0610", format!("`{name}` starts at {value}: no run can begin there."));
    match model.states.iter().find(|s| s.name == base) {
        Some(state) => match state.initial.get(order) {
            Some(&body) => d.label(model.span(body), format!("this is {value}")),
            None => d.label(state.span, format!("starts at {value}")),
        },
        None => d,
    }
    .help("correct the value, or the parameters it follows from")
}

/// A method or option that the solver refuses before it starts.
pub fn refused(refusal: &Refusal, span: Option<Span>) -> Diagnostic {
    let d = match refusal {
        Refusal::UnknownMethod(name) => {
            let names = method::table().iter().flat_map(|m| std::iter::once(m.name).chain(m.aliases.iter().copied()));
            let near = suggest::nearest(name, names);
            let d = Diagnostic::error("E0611", format!("There is no method `{name}`."));
            match near.first() {
                Some(near) => d.help(format!("did you mean `{near}`? `odec methods` lists them")),
                None => d.help("`odec methods` lists them; without a name one is chosen"),
            }
        }
        Refusal::NotZeroStable(order) => {
            let headline = format!("`bdf{order}` does not exist: BDF of order 7 and more is not zero-stable.");
            Diagnostic::error("E0612", headline)
                .help("errors would grow without bound however small the step; `bdf6` is the highest, `bdf` chooses the order")
        }
        Refusal::Unsuitable { method, reason, instead } => {
            Diagnostic::error("E0613", format!("`{method}` cannot solve this: {reason}."))
                .help(format!("use {instead}"))
        }
        Refusal::BadOption(what) => Diagnostic::error("E0614", format!("{what}.")),
    };
    match span {
        Some(span) => d.label(span, ""),
        None => d,
    }
}

/// A name on the command line that is no state and no output.
pub fn unknown_name(name: &str, flag: &str, known: &[&str]) -> Diagnostic {
    let d = Diagnostic::error("E0706", format!("`{flag} {name}`: the model records no `{name}`."));
    match suggest::nearest(name, known.iter().copied()).first() {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d.help(format!("it has {}", suggest::list(known.iter().copied()))),
    }
}

/// Six significant digits, short.
pub fn number(v: f64) -> String {
    let rounded: f64 = format!("{v:.5e}").parse().unwrap_or(v);
    let size = rounded.abs();
    if size == 0.0 || (1e-4..1e7).contains(&size) || !size.is_finite() {
        format!("{rounded}")
    } else {
        format!("{rounded:e}")
    }
}
