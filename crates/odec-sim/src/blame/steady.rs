//! Steady states: why none is looked for or found, and a start from one that the motion does not come to.

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::{Body, EventKind, Model, Symbol, TermKind};

use super::number;
use crate::bind::Bound;
use crate::field::EquilibriumType;
use crate::spectrum::MAX_UNKNOWNS;
use crate::steady::NoSteady;

/// Why there is no steady state, after a search from so many drawn starts beside the initial values.
pub fn none(model: &Model, bound: &Bound, why: &NoSteady, starts: u64) -> Diagnostic {
    let report = match why {
        NoSteady::Time => return depends_on_time(model, bound),
        NoSteady::Constrained => return constrained(bound),
        NoSteady::Large(n) => {
            let headline =
                format!("the steady states of {n} unknowns are too many to look for: at most {MAX_UNKNOWNS}");
            Diagnostic::error(&codes::E0640, headline).help("run the model until nothing changes any more")
        }
        NoSteady::NoValue => {
            let headline = "the equations or their derivatives have no finite value at the start";
            Diagnostic::error(&codes::E0640, headline).help("start from other initial values")
        }
        NoSteady::Grows(terms, rate) => {
            let sum = sum(terms, |place| bound.states.name(place));
            let (headline, rate) = (format!("`{sum}` never rests"), number(*rate));
            let help = format!(
                "its rate is {rate} whatever the state: balance what comes in by a loss that depends on the state"
            );
            Diagnostic::error(&codes::E0640, headline).help(help)
        }
        NoSteady::None => {
            let from = match starts {
                0 => "the initial values".to_owned(),
                n => format!("{} starts", n + 1),
            };
            let headline = format!("no steady state of `{}` was found from {from}", model.name);
            Diagnostic::error(&codes::E0640, headline).help(
                "a quantity that only grows, such as a count, has none; `odec steady FILE --starts 100` looks from a hundred \
                 other states",
            )
        }
    };
    at_entry(report, bound)
}

/// `2*A + B - C`
pub fn sum(terms: &[(usize, f64)], name: impl Fn(usize) -> String) -> String {
    let mut sum = String::new();
    for (place, factor) in terms {
        sum.push_str(match (sum.is_empty(), *factor < 0.0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        });
        let size = factor.abs();
        if size != 1.0 {
            sum.push_str(&format!("{}*", number(size)));
        }
        sum.push_str(&name(*place));
    }
    sum
}

/// Points at the entry of the run block.
fn at_entry(report: Diagnostic, bound: &Bound) -> Diagnostic {
    match bound.asked.start {
        Some(span) if bound.from_steady => report.label(span, "the run starts from a steady state"),
        _ => report,
    }
}

/// The first term of the equations that depends on time by itself, and the input that it is, if it is one.
fn first_timed(model: &Model) -> Option<(Span, Option<usize>)> {
    let mut open: Vec<Body> = model.equations.iter().rev().flat_map(|equation| [equation.rhs, equation.lhs]).collect();
    let mut seen = vec![false; model.definitions.len()];
    while let Some(body) = open.pop() {
        for term in &model.terms[body.range()] {
            match &term.kind {
                TermKind::Time | TermKind::Element(Symbol::Time, ..) => return Some((term.span, None)),
                TermKind::Input(input, _) => return Some((term.span, Some(*input))),
                TermKind::Definition(i) | TermKind::Element(Symbol::Definition(i), ..)
                    if !std::mem::replace(&mut seen[*i], true) =>
                {
                    open.push(model.definitions[*i].value);
                }
                _ => {}
            }
        }
    }
    None
}

fn depends_on_time(model: &Model, bound: &Bound) -> Diagnostic {
    let time = &model.time.name;
    let headline = format!("the equations depend on `{time}`: no state stays as it is");
    let mut report = Diagnostic::error(&codes::E0639, headline);
    match first_timed(model) {
        Some((span, Some(_))) => report = report.label(span, "this input changes with time"),
        Some((span, None)) => report = report.label(span, format!("`{time}` stands here")),
        None => {}
    }
    let help = format!("write a parameter in the place of `{time}`, and give it the value that matters");
    at_entry(report, bound).help(help)
}

/// An event that happens at times again and again, where steady states are asked for alone.
pub fn repeated(model: &Model) -> Option<Diagnostic> {
    let event = model.events.iter().find(|event| matches!(event.kind, EventKind::Every { .. }))?;
    let headline = "an event happens again and again: no state stays as it is";
    let report = Diagnostic::error(&codes::E0639, headline).label(event.head, "this event");
    Some(report.help("leave it out; `start = steady` in the run block starts from the state without it"))
}

/// A state at rest on a constraint solves other equations.
fn constrained(bound: &Bound) -> Diagnostic {
    let headline = "steady states are not looked for in a model whose constraints have to be differentiated";
    let report = at_entry(Diagnostic::error(&codes::E0322, headline), bound);
    let constraints = bound.executor.program().invariants.as_ref().map_or(&[][..], |kept| &kept.constraints);
    let report = constraints.iter().fold(report, |report, (span, _)| report.label(*span, "this constraint"));
    report.help("write the constraint as it is after differentiation, or take coordinates that need none")
}

/// A run that started from a steady state that is not stable, or that its solution does not come to.
pub fn unsettled(bound: &Bound) -> Option<Diagnostic> {
    let start = bound.steady.as_ref()?;
    let steady = &start.steady;
    let kind = steady.kind.map_or("state without eigenvalues", EquilibriumType::name);
    let (headline, help) = if !steady.is_stable() {
        let largest = steady
            .values
            .first()
            .map_or(String::new(), |(v, _)| format!(": the largest real part of its eigenvalues is {}", number(v.re)));
        let headline = match steady.kind {
            Some(EquilibriumType::Centre | EquilibriumType::Degenerate) | None => {
                format!("the run starts from a steady state of which it is not known whether it is stable ({kind})")
            }
            _ => format!("the run starts from a steady state that is not stable ({kind})"),
        };
        (headline, format!("what is small may grow from here{largest}"))
    } else if !steady.reached {
        let headline =
            "the run starts from a steady state to which the motion from the initial values did not come".to_owned();
        (
            headline,
            "Newton's method found it; `odec steady FILE --starts 100` shows whether there are others".to_owned(),
        )
    } else {
        return None;
    };
    let report = Diagnostic::warning(&codes::W0620, headline);
    let report = match bound.asked.start {
        Some(span) => report.label(span, ""),
        None => report,
    };
    Some(report.help(help))
}
