//! Messages about runs that failed because of modes or events: which comparison, and at which rates.

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, Label, codes};
use odec_ode::hybrid::HybridCause;

use super::number;
use crate::bind::{Bound, MAX_STEPS};
use crate::hybrid::Located;

/// Largest number of source locations in a message.
const MAX_PLACES: usize = 4;

/// Help for a derivative that does not exist.
const DIFFERENCES: &str = "choose other values that avoid this point, or run without `--sens`";

/// Advice for a law whose branches meet, such as the limiter of a flux.
const UNLOCATED: &str = "if its branches meet there, `smooth(...)` around the law lets steps pass over its kinks";

/// The message about a comparison that changes its truth value at a pole.
fn at_pole(place: Option<Span>, when: &str) -> Diagnostic {
    let headline = format!("this comparison changes at a pole {when}, where no step can end");
    let text = "one of its sides grows without bound and then changes its sign";
    let report = with(Diagnostic::error(&codes::E0623, headline), place.into_iter().collect(), text);
    report.help(format!(
        "end the run before that time, or compare products instead of quotients: `a > c*V`, not `a/V > c`; {UNLOCATED}"
    ))
}

/// The message about a surface to which both sides lead, with the rates of left - right below it and above it.
fn sliding(place: Option<Span>, [below, above]: [f64; 2], when: &str) -> Diagnostic {
    let headline =
        format!("the equations switch back and forth {when}: both sides drive the state back to the surface");
    let text = format!(
        "left - right changes at the rate {} where it is false, and {} where it is true, both towards 0",
        number(below.abs()),
        number(above.abs())
    );
    let report = with(Diagnostic::error(&codes::E0623, headline), place.into_iter().collect(), &text);
    report.help(format!(
        "replace the switch by a steep, smooth function: `1/(1 + exp((b - a)/w))` for `a > b`, `1/(1 + exp((a - b)/w))` \
         for `a < b`, `tanh(v/w)` for `sign(v)`; for a thermostat, let two events switch a `discrete` on and off at \
         different values; {UNLOCATED}"
    ))
}

/// The message if no modes agree with the motion, or if instants do not end.
pub(super) fn instant(cause: &HybridCause, bound: &Bound, t: f64, when: &str) -> Diagnostic {
    if let Some(report) = super::events::events(cause, bound, t, when) {
        return report;
    }
    let place = |relation: &usize| bound.located.as_ref().and_then(|located| located.relation_span(*relation));
    // of an array, one element is at fault
    let when_of = |relation: &usize| match bound.located.as_ref().map(|located| located.relation_element(*relation)) {
        Some(element) if !element.is_empty() => format!("{when} for {element}"),
        _ => when.to_owned(),
    };
    match cause {
        HybridCause::Sliding { relation, rates } => sliding(place(relation), *rates, &when_of(relation)),
        HybridCause::Inconsistent { relations } => {
            let headline = format!("no truth values of these comparisons are consistent with the equations {when}");
            let places = relations.iter().filter_map(place).collect();
            let text = "if true, it becomes false; if false, it becomes true";
            let report = with(Diagnostic::error(&codes::E0623, headline), places, text);
            report.help("check the signs: what a comparison switches must not flip the comparison itself")
        }
        HybridCause::NoSides => {
            let headline = format!("a comparison has no value {when}");
            let places = bound.located.iter().flat_map(Located::relation_spans).collect();
            let report = with(Diagnostic::error(&codes::E0623, headline), places, "one of these is not a number (NaN)");
            report.help("keep its terms in their domain: `sqrt(max(x, 0))`")
        }
        HybridCause::Passed { relation } => {
            let headline = format!("the run missed the time at which this changes, {}", when_of(relation));
            let (text, at) = ("the state has already crossed the surface", place(relation).into_iter().collect());
            let report = with(Diagnostic::error(&codes::E0623, headline), at, text);
            report.help(format!("tighten `rtol` and `atol`, or use another method; {UNLOCATED}"))
        }
        HybridCause::Pole { relation } => at_pole(place(relation), &when_of(relation)),
        HybridCause::Chatter { relations, events } => {
            let headline = format!("the equations switch again and again {when}, and the run makes no progress");
            let counters = bound.located.iter().flat_map(|located| located.event_spans(events));
            let places = relations.iter().filter_map(place).chain(counters).collect();
            let report = with(Diagnostic::error(&codes::E0623, headline), places, "this switches again and again");
            report.help(format!(
                "use different thresholds for switching on and off, or write a steep, smooth function; {UNLOCATED}"
            ))
        }
        HybridCause::Chain { events } => {
            let headline = format!("the events at one instant never end {when}");
            let places = bound.located.iter().flat_map(|located| located.event_spans(events)).collect();
            let report = with(Diagnostic::error(&codes::E0623, headline), places, "this switches again and again");
            report.help("use different thresholds for switching on and off")
        }
        HybridCause::Conflict { .. }
        | HybridCause::Bound { .. }
        | HybridCause::Delay { .. }
        | HybridCause::NoTime { .. }
        | HybridCause::SameTimes { .. }
        | HybridCause::NoUnknowns(_)
        | HybridCause::Accumulation { .. }
        | HybridCause::Returns { .. }
        | HybridCause::NoValue { .. } => Diagnostic::error(&codes::E0623, format!("an event has no value {when}")),
        HybridCause::TooManyTimes { list, count, budget } => too_many_times(bound, *list, *count, *budget),
        HybridCause::Unmet { off, events } => super::constraints::unmet(bound, off, events, when),
        HybridCause::Grazing { relation } => {
            let what = format!("the state has no derivative with respect to the parameters {}", when_of(relation));
            let text = "the state only touches this surface or starts on it, or something else changes at the same \
                        time";
            with(Diagnostic::error(&codes::E0629, what), place(relation).into_iter().collect(), text).help(DIFFERENCES)
        }
        HybridCause::TwoTimes { list } => {
            let what = format!("the state has no derivative with respect to the parameters {when}");
            let text =
                "this coincides with another time or with the start, but the two depend differently on the parameter";
            let places = bound.located.iter().flat_map(|located| located.list_spans(*list)).collect();
            with(Diagnostic::error(&codes::E0629, what), places, text).help(DIFFERENCES)
        }
        HybridCause::NoDerivative { event } => {
            let what = format!("the effect of this event has no derivative with respect to the parameters {when}");
            let places = bound.located.iter().filter_map(|located| located.event_span(*event)).collect();
            with(Diagnostic::error(&codes::E0629, what), places, "an event of the model").help(DIFFERENCES)
        }
    }
}

/// A list of known times with more entries than the run may take steps.
fn too_many_times(bound: &Bound, list: usize, count: f64, budget: u64) -> Diagnostic {
    let (end, asked) = (number(bound.problem.t_end), budget < MAX_STEPS);
    let permitted = if asked { "`max_steps` permits" } else { "one run can take" };
    let headline =
        format!("{} known times up to {end} exceed the {budget} steps that {permitted}", number(count.round()));
    let places = bound.located.iter().flat_map(|located| located.list_spans(list)).collect();
    let report = with(Diagnostic::error(&codes::E0607, headline), places, "a step ends at each of these times");
    let rest = if asked { ", or permit more steps with `max_steps`" } else { "" };
    report.help(format!("use a longer period, end the run earlier{rest}"))
}

/// Adds these locations to the report, without duplicates; the first one gets the text.
pub(super) fn with(mut report: Diagnostic, mut places: Vec<Span>, text: &str) -> Diagnostic {
    places.sort_unstable();
    places.dedup();
    for (k, span) in places.into_iter().take(MAX_PLACES).enumerate() {
        let text = if k == 0 { text.to_string() } else { "and here".to_string() };
        report.labels.push(Label { span, text });
    }
    report
}
