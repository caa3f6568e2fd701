//! A run that an event of the model ended: which one, and what to write.

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_ode::hybrid::{HybridCause, Target};

use super::instant::with;
use super::number;
use crate::bind::Bound;

/// Why events cannot go on; `None` where no event of the model takes part.
pub(super) fn events(cause: &HybridCause, bound: &Bound, t: f64, when: &str) -> Option<Diagnostic> {
    let located = bound.located.as_ref()?;
    let own = |event: &usize| located.origin(*event).is_some();
    let span = |event: usize| located.event_span(event);
    let one = |report: Diagnostic, event: usize, text: &str| with(report, span(event).into_iter().collect(), text);
    Some(match cause {
        HybridCause::Accumulation { event, ratio } if own(event) => {
            let headline = format!("this event happens infinitely often before {}", number(t));
            let text = format!("the times between two become shorter by the factor {}", number(*ratio));
            let report = one(Diagnostic::error(&codes::E0625, headline), *event, &text);
            if located.has_rest(*event) {
                return Some(report.help(
                    "behind `rest { ... }` it happens again at once: let what `rest` writes end the motion that leads to \
                     it, as `still := 1` does with `h'' = if still == 1 then 0 else -g`",
                ));
            }
            report.help(
                "say what holds from then on, behind the block: `rest { ... }`, for a ball `rest { h := 0; h' := 0; \
                 still := 1 }` with `discrete still = 0`",
            )
        }
        HybridCause::Chain { events } if events.iter().any(own) => {
            let headline = format!("events cause each other without end {when}");
            let places = events.iter().filter_map(|event| span(*event)).collect();
            let report = with(Diagnostic::error(&codes::E0626, headline), places, "this happens again and again");
            report.help("no time passes between them: let an event happen only until something has changed for good")
        }
        HybridCause::Storm { events, .. } if events.iter().any(own) => {
            let headline = format!("events follow each other faster and faster {when}, and the run does not come on");
            let places = events.iter().filter_map(|event| span(*event)).collect();
            let report = with(Diagnostic::error(&codes::E0626, headline), places, "this happens again and again");
            report.help("let a condition turn false by a distance: switch on below 19 and off above 21")
        }
        HybridCause::Conflict { target, events: [first, second] } if own(first) => {
            let name = match *target {
                Target::State(row) => bound.states.name(row),
                Target::Discrete(at) => located.discrete_name(at),
            };
            let headline = format!("`{name}` is given two values {when}");
            let places: Vec<Span> =
                [*first, *second].iter().filter_map(|event| located.write_span(*event, *target)).collect();
            let same = places.windows(2).all(|pair| pair[0] == pair[1]);
            let text = if same { "two events of this statement give it one each" } else { "one of them" };
            let report = with(Diagnostic::error(&codes::E0627, headline), places, text);
            report.help("no order decides between them: give one event a `priority`, or add to the value with `+=`")
        }
        HybridCause::NoValue { event, write } if own(event) => {
            let place = write.and_then(|write| located.action_span(*event, write));
            let what = if place.is_some() { "right side of an event" } else { "priority of this event" };
            let report = Diagnostic::error(&codes::E0628, format!("the {what} has no finite value {when}"));
            let report = match place {
                Some(place) => with(report, vec![place], "this value"),
                None => one(report, *event, "its priority"),
            };
            report.help("bound its terms, as `sqrt(max(x, 0))`, or put the condition for a value into the head")
        }
        HybridCause::Delay { event, delay } if own(event) => {
            let headline = format!("the delay of this event is {} {when}", number(*delay));
            let report = one(Diagnostic::error(&codes::E0628, headline), *event, "`after` a time that is none");
            report.help("a delay is 0 or positive: `after max(d, 0)`")
        }
        HybridCause::NoTime { event } if own(event) => {
            let headline = format!("the times of this event have no value {when}");
            let report = one(
                Diagnostic::error(&codes::E0628, headline),
                *event,
                "a period that is not positive, or less than rounding?",
            );
            report.help("the time between two is positive and finite, and so is the first time")
        }
        _ => return None,
    })
}
