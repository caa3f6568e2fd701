//! Messages about steady states: why there is no search or no result, and starts that the solution does not approach.

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::{Body, EventKind, Model, Symbol, TermKind};

use super::number;
use crate::bind::Bound;
use crate::field::EquilibriumType;
use crate::spectrum::MAX_UNKNOWNS;
use crate::steady::NoSteady;

/// Explains why there is no steady state, after a search from the initial values and this many drawn starting points.
pub fn none(model: &Model, bound: &Bound, why: &NoSteady, starts: u64) -> Diagnostic {
    let report = match why {
        NoSteady::Time => return depends_on_time(model, bound),
        NoSteady::Constrained => return constrained(bound),
        NoSteady::Large(n) => {
            let headline =
                format!("odec does not search for steady states of {n} unknowns: the limit is {MAX_UNKNOWNS}");
            Diagnostic::error(&codes::E0640, headline).help("run the model until it is at rest")
        }
        NoSteady::NoValue => {
            let headline = "the equations or their derivatives have no finite value at the start";
            Diagnostic::error(&codes::E0640, headline).help("start from other initial values")
        }
        NoSteady::Grows(terms, rate) => {
            let sum = sum(terms, |place| bound.states.name(place));
            let (headline, rate) = (format!("`{sum}` never comes to rest"), number(*rate));
            let help =
                format!("its rate is {rate} in every state: balance the source by a loss that depends on the state");
            Diagnostic::error(&codes::E0640, headline).help(help)
        }
        NoSteady::None => {
            let from = match starts {
                0 => "the initial values".to_owned(),
                n => format!("{} starting points", n + 1),
            };
            let headline = format!("odec found no steady state of `{}` from {from}", model.name);
            Diagnostic::error(&codes::E0640, headline).help(
                "a quantity that only grows, such as a count, has no steady state; `odec steady FILE --starts 100` \
                 tries a hundred other starting points",
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

/// Points to the entry of the run block.
fn at_entry(report: Diagnostic, bound: &Bound) -> Diagnostic {
    match bound.asked.start {
        Some(span) if bound.from_steady => report.label(span, "the run starts from a steady state"),
        _ => report,
    }
}

/// The first term of the equations that depends on time explicitly, and its input, if it is one.
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
    let headline = format!("the equations depend on `{time}`, so there is no steady state");
    let mut report = Diagnostic::error(&codes::E0639, headline);
    match first_timed(model) {
        Some((span, Some(_))) => report = report.label(span, "this input changes with time"),
        Some((span, None)) => report = report.label(span, format!("`{time}` occurs here")),
        None => {}
    }
    let help = format!(
        "replace `{time}` by a parameter, and choose its value; for a run that starts at rest and then changes, write \
         the change as an event, which the search ignores: `discrete u = 1` and `at 5 {{ u := 2 }}`"
    );
    at_entry(report, bound).help(help)
}

/// Refuses an event with repeated times when the command asks for steady states.
pub fn repeated(model: &Model) -> Option<Diagnostic> {
    let event = model.events.iter().find(|event| matches!(event.kind, EventKind::Every { .. }))?;
    let headline = "an event recurs forever, so there is no steady state";
    let report = Diagnostic::error(&codes::E0639, headline).label(event.head, "this event");
    Some(report.help(
        "remove it, or write `start = steady` in the run block to start from the steady state that the \
                      model has without it",
    ))
}

/// Refuses a model with constraints: a steady state on a constraint satisfies other equations.
fn constrained(bound: &Bound) -> Diagnostic {
    let headline = "odec cannot find steady states of a model whose constraints must be differentiated";
    let report = at_entry(Diagnostic::error(&codes::E0322, headline), bound);
    let constraints = bound.executor.program().invariants.as_ref().map_or(&[][..], |kept| &kept.constraints);
    let report = constraints.iter().fold(report, |report, (span, _)| report.label(*span, "this constraint"));
    report.help("write the constraint in its differentiated form, or choose coordinates that need no constraint")
}

/// Warns about initial values that the caller set for a run that starts from a steady state with other values. With
/// conserved quantities they are needed for the totals.
pub fn left(bound: &Bound) -> Option<Diagnostic> {
    let start = bound.steady.as_ref().filter(|start| !start.conserves)?;
    let far = |from: f64, to: f64, place: usize| (from - to).abs() > bound.options.rtol * to.abs() + bound.atol(place);
    let value = |y: &[f64], place: usize| y.get(place).copied().unwrap_or(f64::NAN);
    let moved = |&&place: &&usize| far(value(&start.given, place), value(&start.steady.y, place), place);
    let place = *bound.chosen_starts.iter().find(moved)?;
    let name = bound.states.name(place);
    let (from, to) = (number(value(&start.given, place)), number(value(&start.steady.y, place)));
    let headline = format!("the run does not start at `{name} = {from}`, but from a steady state with `{name} = {to}`");
    let report = Diagnostic::warning(&codes::W0623, headline);
    let report = match bound.asked.start {
        Some(span) => report.label(span, "the search for it begins at the initial values"),
        None => report,
    };
    Some(report.help(format!("to start at `{name} = {from}`, leave out `start = steady`")))
}

/// Warns about a run that starts from an unstable steady state, or from a steady state that its solution does not approach.
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
                format!("the run starts from a steady state of unknown stability ({kind})")
            }
            _ => format!("the run starts from an unstable steady state ({kind})"),
        };
        (headline, format!("small deviations may grow{largest}"))
    } else if !steady.reached {
        let headline = "the run starts from a steady state that the initial values do not lead to".to_owned();
        (headline, "Newton's method found it; `odec steady FILE --starts 100` searches for others".to_owned())
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
