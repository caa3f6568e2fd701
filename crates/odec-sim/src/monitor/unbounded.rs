//! Growth of a state beyond all plausible sizes, by the equations or by events.

use odec_lang::diagnostic::{Diagnostic, codes};

use super::report::{CheckedRun, complex};
use super::{Growth, mode};
use crate::blame::{declared, number};
use crate::stability::C;

/// Growth, as a power of e between the start and now, below which the model itself does not grow.
const LASTING_GROWTH: f64 = 10.0;
/// Largest part of a growth rate that may be rounding of the eigenvalues: beside a decay of 1e36, they do not show it.
const MAX_ROUNDING: f64 = 0.01;
/// Ratios of an eigenvalue and the mean rate of growth that are near to one and far from it.
const NEAR: f64 = 1.2;
const FAR: f64 = 2.0;
/// Number of events that may drive a growth that the equations do not cause.
const EVENTS_THAT_DRIVE: u64 = 10;

/// Warning about growth beyond all plausible sizes.
pub(super) fn growth(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let findings = checked.findings;
    let Growth { at, place, since, .. } = findings.grown.iter().find(|growth| growth.implausible)?.clone();
    let bound = checked.bound;
    let (time, state) = (checked.time(), bound.states.name(place));
    let seen = (at.y[place] / since.1).abs().ln() / (at.t - since.0).abs();
    let mut fastest = None;
    for moment in [&at, &findings.before_growth] {
        let Some(spectrum) = mode::spectrum(checked, moment) else { continue };
        let Some(lambda) = rate_of_growth(&spectrum.values, seen) else { continue };
        if lambda.re * (at.t - bound.problem.t0).abs() >= LASTING_GROWTH {
            let largest = spectrum.values.iter().map(|value| value.norm()).fold(0.0, f64::max);
            // a growth from zero has no mean rate
            let known = !seen.is_finite() || f64::EPSILON * largest <= MAX_ROUNDING * lambda.re;
            fastest = Some((mode::mode(checked, &spectrum, lambda, C::from(1.0)), moment, known.then_some(lambda.re)));
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
    let lambda = rate.map(|_| format!("λ = {}, ", complex(mode.lambda))).unwrap_or_default();
    let rate = rate.unwrap_or(seen);
    let says = format!("this drives the growth: {lambda}a factor of e in {}", number(1.0 / rate));
    let d = checked.blamed(Diagnostic::warning(&codes::W0605, headline), &mode, moment, &says);
    let d = d.at(at.t, vec![(state, value)]);
    let left = (f64::MAX.ln() - value.abs().ln()) / rate;
    let over = at.t + if checked.backwards() { -left } else { left };
    Some(d.help(format!(
        "is a sign wrong? At this rate it overflows at {time} = {}; if you intend the growth, end the run before that",
        number(over)
    )))
}

/// The eigenvalue that drives a growth of this mean rate: the largest, unless it is far from the rate and another one is
/// near it. That of a motion beside the growth may be larger for a moment.
fn rate_of_growth(values: &[C], seen: f64) -> Option<C> {
    let away = |lambda: &C| (lambda.re / seen).ln().abs();
    let largest = values.iter().copied().max_by(|a, b| a.re.total_cmp(&b.re))?;
    let nearest = values.iter().copied().filter(|l| l.re > 0.0).min_by(|a, b| away(a).total_cmp(&away(b)));
    Some(nearest.filter(|near| away(near) < NEAR.ln() && away(&largest) > FAR.ln()).unwrap_or(largest))
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
