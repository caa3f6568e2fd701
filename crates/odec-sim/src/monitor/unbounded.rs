//! Growth of a state beyond all plausible sizes, by the equations or by events.

use odec_lang::diagnostic::{Diagnostic, codes};

use super::report::{CheckedRun, complex};
use super::{Growth, mode};
use crate::blame::{declared, number};
use crate::stability::C;

/// Growth, as a power of e between the start and now, below which the model itself does not grow.
const LASTING_GROWTH: f64 = 10.0;
/// Number of events that may drive a growth that the equations do not cause.
const EVENTS_THAT_DRIVE: u64 = 10;

/// Warning about growth beyond all plausible sizes.
pub(super) fn growth(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let findings = checked.findings;
    let Growth { at, place, since, .. } = findings.grown.iter().find(|growth| growth.implausible)?.clone();
    let bound = checked.bound;
    let (time, state) = (checked.time(), bound.states.name(place));
    let mut fastest = None;
    for moment in [&at, &findings.before_growth] {
        let Some(spectrum) = mode::spectrum(checked, moment) else { continue };
        let Some(lambda) = spectrum.values.iter().copied().max_by(|a, b| a.re.total_cmp(&b.re)) else { continue };
        if lambda.re * (at.t - bound.problem.t0).abs() >= LASTING_GROWTH {
            fastest = Some((mode::mode(checked, &spectrum, lambda, C::from(1.0)), moment, lambda.re));
            break;
        }
    }
    let value = at.y[place];
    let headline = format!(
        "`{state}` grows without bound: {} at {time} = {}, {} at {time} = {}",
        number(since.1),
        number(since.0),
        number(value),
        number(at.t)
    );
    let Some((mode, moment, rate)) = fastest else {
        // constant growth gives large values, not unbounded ones
        return (findings.instants >= EVENTS_THAT_DRIVE)
            .then(|| driven_by_events(checked, headline, place).at(at.t, vec![(state, value)]));
    };
    let says = format!("this drives the growth: λ = {}, a factor of e in {}", complex(mode.lambda), number(1.0 / rate));
    let d = checked.blamed(Diagnostic::warning(&codes::W0605, headline), &mode, moment, &says);
    let d = d.at(at.t, vec![(state, value)]);
    let left = (f64::MAX.ln() - value.abs().ln()) / rate;
    let over = at.t + if checked.backwards() { -left } else { left };
    Some(d.help(format!(
        "is a sign wrong? At this rate it overflows at {time} = {}; if you intend the growth, end the run before that",
        number(over)
    )))
}

/// Warning about growth that the equations alone do not cause.
fn driven_by_events(checked: &CheckedRun<'_>, headline: String, place: usize) -> Diagnostic {
    let mut d = Diagnostic::warning(&codes::W0605, headline);
    if let Some(state) = declared(checked.model, &checked.bound.states, place) {
        d = d.label(checked.model.states[state].span, "grows from event to event");
    }
    let events = checked.findings.instants;
    d.help(format!(
        "its equation does not make it grow, so the {events} events do: is a sign wrong there, is a gain too large, or \
         is the time between two events too long?"
    ))
}
