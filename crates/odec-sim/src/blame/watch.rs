//! Warnings after a successful run: drift beyond the permitted limit, outputs that are not finite.

use odec_ir::Span;
use odec_lang::balance::Balance;
use odec_lang::blame::{FailedQuantity, StateAt, blame};
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::{EventKind, Model};
use odec_lang::source::Source;

use super::{number, with_term};
use crate::bind::Bound;
use crate::expectations::{changed_by, drift_help, event_change};
use crate::monitor::report::{self, CheckedRun};
use crate::sample::{Drift, Observations};

/// Warnings about a run. `stop` ends a second run that confirms one.
pub fn warnings(
    model: &Model,
    source: &Source,
    bound: &Bound,
    seen: &Observations,
    stop: &dyn Fn() -> bool,
) -> Vec<Diagnostic> {
    let time = &model.time.name;
    let mut list = vec![];
    let drifts = |drift: &Drift| drift.within.is_some_and(|within| !(drift.largest.abs() <= within));
    let balances = if seen.drifts.iter().any(drifts) { super::drift::balances(model, bound, seen) } else { vec![] };
    for (k, (drift, settings)) in seen.drifts.iter().zip(&bound.conservation).enumerate() {
        let Some(within) = drift.within else { continue };
        if !(drift.largest.abs() <= within) {
            let (largest, within) = (number(drift.largest), number(within));
            let headline = format!("`{}` drifts by {largest}; the model permits {within}", drift.name);
            let label =
                format!("{} at the start, off by {largest} at {time} = {}", number(drift.start), number(drift.at));
            let drifted = vec![(drift.name.clone(), drift.start + drift.largest)];
            let mut d = Diagnostic::warning(&codes::W0601, headline).label(settings.span, label).at(drift.at, drifted);
            let balance = balances.get(k).unwrap_or(&Balance::Unknown);
            d.labels.extend(balance.change().iter().flat_map(|change| change.terms.clone()));
            let by_event = event_change(bound, seen, k);
            if let Some((change, t, place)) = by_event {
                d = d.label(place, changed_by(change, time, t));
            }
            list.push(d.help(drift_help(balance, bound.options.fixed, by_event.is_some())));
        }
    }
    list.extend(super::drift::caused_by_model(model, bound, seen));
    if let Some((k, t, y, value)) = &seen.not_finite
        && let Some(output) = model.outputs.get(*k)
    {
        let headline = format!("`{}` is {value} at {time} = {}", output.name, number(*t));
        let d = Diagnostic::warning(&codes::W0602, headline);
        let y = super::in_order(bound, y);
        let values = super::values_at(model, bound, &seen.discretes);
        let found = blame(model, source, FailedQuantity::Output(*k), StateAt { t: *t, y: &y, values: &values });
        list.push(match found {
            Some(blame) => with_term(d, &blame),
            None => d.label(output.span, format!("this is {value}")),
        });
    }
    let never = seen.events.iter().flat_map(|events| &events.never);
    list.extend(never.filter_map(|event| Some(never_happened(model, bound, model.events.get(*event)?.span))));
    let held = seen.events.iter().flat_map(|events| &events.held);
    list.extend(held.filter_map(|event| held_at_start(model, source, bound, *event)));
    list.extend(super::steady::unsettled(bound));
    list.extend(super::steady::left(bound));
    list.extend(report::warnings(&CheckedRun { model, source, bound, findings: &seen.findings, stop }));
    list
}

/// An event that did not occur, because its condition holds at the start already.
fn held_at_start(model: &Model, source: &Source, bound: &Bound, event: usize) -> Option<Diagnostic> {
    let event = model.events.get(event)?;
    if !matches!(event.kind, EventKind::When { crossing: false, .. }) {
        return None;
    }
    // an imported model says for each event whether its condition counts at the start
    if source.name.ends_with(".xml") {
        return None;
    }
    let at = format!("{} = {}", model.time.name, number(bound.problem.t0));
    let written = source.text.get(event.head.range())?;
    let headline = format!("this event does not happen, because its condition holds at {at} already");
    let d = Diagnostic::warning(&codes::W0625, headline)
        .label(event.head, "it holds from the start on, so it does not become true");
    let plain = event.delay.is_none() && event.priority.is_none() && !event.late && !event.cancel;
    let typed = match written.trim_end() {
        written if plain => format!("write `{written} from start {{ ... }}`"),
        _ => "write `from start` after its condition".to_string(),
    };
    Some(d.help(format!("if the event should happen at the start, {typed}")))
}

/// An event whose times all lie outside the run.
fn never_happened(model: &Model, bound: &Bound, span: Span) -> Diagnostic {
    let (start, end) = (number(bound.problem.t0), number(bound.problem.t_end));
    let headline = format!("this event never happens between {} = {start} and {end}", model.time.name);
    Diagnostic::warning(&codes::W0611, headline).label(span, "the run contains none of its times").help(
        "move its times or the ends of the run, or remove the event; odec reads times in the time unit of the \
               model",
    )
}
