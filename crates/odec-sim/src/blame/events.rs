//! Messages about runs that failed because of an event: which event, and what to write.

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::Model;
use odec_ode::hybrid::{HybridCause, WriteTarget};

use super::instant::with;
use super::number;
use crate::bind::Bound;

/// Explains why events cannot continue; `None` if no event of the model is involved.
pub(super) fn events(cause: &HybridCause, bound: &Bound, t: f64, when: &str) -> Option<Diagnostic> {
    let located = bound.located.as_ref()?;
    let own = |event: &usize| located.origin(*event).is_some();
    let span = |event: usize| located.event_span(event);
    let one = |report: Diagnostic, event: usize, text: &str| with(report, span(event).into_iter().collect(), text);
    Some(match cause {
        HybridCause::Accumulation { event, ratio } if own(event) => {
            let headline = format!("this event happens infinitely often before {}", number(t));
            let text = format!("the intervals between its instants shrink by the factor {}", number(*ratio));
            let report = one(Diagnostic::error(&codes::E0625, headline), *event, &text);
            if located.has_rest(*event) {
                return Some(report.help(
                    "after `rest { ... }` it happens again at once: let `rest` write something that ends the \
                     motion, such as `still := 1` with `h'' = if still == 1 then 0 else -g`",
                ));
            }
            report.help(
                "after the block, write the state in which the motion comes to rest: `rest { ... }`; for a ball \
                 `rest { h := 0; h' := 0; still := 1 }` with `discrete still = 0`",
            )
        }
        HybridCause::Chain { events } if events.iter().any(own) => {
            let headline = format!("events trigger each other without end {when}");
            let places = events.iter().filter_map(|event| span(*event)).collect();
            with(Diagnostic::error(&codes::E0626, headline), places, "this happens again and again")
                .help("no time passes between them: let each event prevent itself from happening again")
        }
        HybridCause::Chatter { events, .. } if events.iter().any(own) => {
            let headline = format!("events follow each other faster and faster {when}, and the run makes no progress");
            let places = events.iter().filter_map(|event| span(*event)).collect();
            with(Diagnostic::error(&codes::E0626, headline), places, "this happens again and again")
                .help("use two thresholds: switch on below 19 and off above 21")
        }
        HybridCause::Returns { event, relation, again } if own(event) => {
            let headline = format!("this event leads back to its own condition {when}");
            let what = if *again {
                "it would happen again immediately, without end"
            } else {
                "this does not hold the quantity at its limit: the condition stays true"
            };
            returns(one(Diagnostic::error(&codes::E0626, headline), *event, what), located.relation_span(*relation))
        }
        HybridCause::Conflict { target, events: [first, second] } if own(first) => {
            let name = match *target {
                WriteTarget::State(row) => bound.states.name(row),
                WriteTarget::Discrete(at) => located.discrete_name(at),
            };
            let headline = format!("`{name}` receives two values {when}");
            let places: Vec<Span> =
                [*first, *second].iter().filter_map(|event| located.write_span(*event, *target)).collect();
            let same = places.windows(2).all(|pair| pair[0] == pair[1]);
            let text = if same { "two events of this statement set it" } else { "one of them" };
            let report = with(Diagnostic::error(&codes::E0627, headline), places, text);
            report.help(order(same))
        }
        HybridCause::NoValue { event, write } if own(event) => {
            let place = write.and_then(|write| located.action_span(*event, write));
            let what = if place.is_some() { "the right side of an event" } else { "the priority of this event" };
            let report = Diagnostic::error(&codes::E0628, format!("{what} has no finite value {when}"));
            let report = match place {
                Some(place) => with(report, vec![place], "this value"),
                None => one(report, *event, "its priority"),
            };
            report.help("keep its terms in their domain, `sqrt(max(x, 0))`, or add a condition to the event")
        }
        HybridCause::Delay { event, delay } if own(event) => {
            let headline = format!("the delay of this event is {} {when}", number(*delay));
            one(Diagnostic::error(&codes::E0628, headline), *event, "the delay is not valid")
                .help("a delay must be 0 or positive: `after max(d, 0)`")
        }
        HybridCause::NoTime { event } if own(event) => {
            let headline = format!("the times of this event are undefined {when}");
            let text = "is the period not positive, or smaller than the rounding error of the time?";
            one(Diagnostic::error(&codes::E0628, headline), *event, text)
                .help("the period must be positive and finite, and the first time must be finite")
        }
        HybridCause::SameTimes { event, t } if own(event) => one(twice(*t), *event, "it would happen only once there"),
        _ => return None,
    })
}

/// A list of times that contains a time twice.
fn twice(t: f64) -> Diagnostic {
    let headline = format!("this event has the time {} twice", number(t));
    Diagnostic::error(&codes::E0628, headline)
        .help("an event happens once at one time: write a second event for it, or a change of twice the size")
}

/// How to order events that set one quantity.
fn order(of_one_statement: bool) -> &'static str {
    if of_one_statement {
        "nothing orders these events: give them different priorities, such as `priority i`; or write `alone`, so that \
         they happen one after the other in a random order; or add to the value with `+=`"
    } else {
        "nothing orders these events: give one of them a `priority`, or add to the value with `+=`"
    }
}

/// Adds the comparison through which an event triggers itself.
fn returns(report: Diagnostic, relation: Option<Span>) -> Diagnostic {
    let text = "the event makes both sides equal, and the equations lead back across the limit";
    with(report, relation.into_iter().collect(), text).help(
        "an event cannot hold a quantity at a limit: end the motion in the equation, `x' = if x < 1 then ... else 0` for \
         an upper limit and `x' = if x > 0 then ... else 0` for a lower one, or with a discrete, `h'' = if still == 1 then 0 else -g`; to continue past the limit, remove the assignment",
    )
}

/// Refuses a model with bounds, for operations whose steps do not enforce them.
pub(crate) fn without_bounds(model: &Model) -> Result<(), Vec<Diagnostic>> {
    let Some(bound) = model.states.iter().flat_map(|state| &state.bounds).next() else { return Ok(()) };
    let report = Diagnostic::error(&codes::E0504, "this command does not support bounds on states");
    let report = report.label(bound.span, "the model has a bound here");
    Err(vec![report.help("use `odec run`, `odec plot`, `odec sweep`, `odec fit` or `odec test`, or remove the bound")])
}

/// Refuses a model with events, for operations that do not execute them.
pub(crate) fn without_events(model: &Model) -> Result<(), Vec<Diagnostic>> {
    let Some(event) = model.events.first() else { return without_bounds(model) };
    let report = Diagnostic::error(&codes::E0504, "this command does not execute events");
    let report = report.label(event.head, "the model has an event here");
    Err(vec![report.help("use `odec run`, `odec plot`, `odec sweep`, `odec fit` or `odec test`")])
}
