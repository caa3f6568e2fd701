//! States that hardly exceed their absolute tolerance, or stay below it.

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::suggest;

use super::amplified;
use super::report::{CheckedRun, FEW_DIGITS, tolerances_typed};
use crate::blame::{declared, number};

/// Size in tolerances below which a state has fewer than three correct digits: too few beside a state that is larger by
/// [`FAR_APART`].
const SOME_DIGITS: f64 = 1000.0;
/// Ratio of two states whose scales are far apart.
const FAR_APART: f64 = 1e9;
/// Size of a state, relative to the largest one or to 1, that counts as a rounding error of 0.
const ROUNDING: f64 = 1e-13;
/// States that are named.
const MAX_NAMED: usize = 3;

/// Warning about states whose whole course lies below their absolute tolerance.
pub fn found(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let CheckedRun { bound, findings, .. } = checked;
    if bound.options.fixed {
        return None;
    }
    let atol = |place: usize| bound.atol(place);
    // a state in other units may be far larger
    let most = findings.largest.iter().fold(0.0f64, |most, size| most.max(*size));
    let overall = most.min(1.0);
    let mut list: Vec<(String, usize, f64, f64)> = vec![];
    for series in bound.states.list().iter().filter(|series| !series.name.starts_with("d(")) {
        let largest = series.places().map(|place| (findings.largest[place], place));
        let Some((size, place)) = largest.max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        let begins = series.places().any(|place| bound.problem.y0[place] != 0.0);
        let counts = if begins { size > 0.0 } else { size > ROUNDING * overall };
        let digits = if most > FAR_APART * size { SOME_DIGITS } else { FEW_DIGITS };
        let below = series.places().all(|place| findings.largest[place] < digits * atol(place));
        if counts && below {
            list.push((series.name.clone(), place, size, atol(place)));
        }
    }
    let places: Vec<usize> = list.iter().map(|(_, place, ..)| *place).collect();
    let mut rounding = amplified::is_rounding(checked, &places).into_iter();
    list.retain(|_| rounding.next() != Some(true));
    let (name, place, size, given) = list.first()?;
    let names = suggest::list(list.iter().take(MAX_NAMED).map(|(name, ..)| name.as_str()));
    let under = list.iter().all(|(_, _, size, atol)| size < atol);
    let what = match list.len() {
        1 if !under => format!(
            "`{name}` hardly exceeds its absolute tolerance: its maximum is {}, and `atol` is {}",
            number(*size),
            number(*given)
        ),
        k if !under && k <= MAX_NAMED => format!("{names} hardly exceed their absolute tolerances"),
        k if !under => format!("{names} and {} more hardly exceed their absolute tolerances", k - MAX_NAMED),
        1 => format!(
            "`{name}` stays below its absolute tolerance: its maximum is {}, and `atol` is {}",
            number(*size),
            number(*given)
        ),
        k if k <= MAX_NAMED => format!("{names} stay below their absolute tolerances"),
        k => format!("{names} and {} more stay below their absolute tolerances", k - MAX_NAMED),
    };
    let mut d = Diagnostic::warning(&codes::W0606, what);
    if let Some(state) = declared(checked.model, &bound.states, *place) {
        let sure = match size / given {
            few if few < 1.0 => "none of its digits is reliable",
            few if few < FEW_DIGITS => "fewer than two of its digits are reliable",
            _ => "fewer than three of its digits are reliable",
        };
        d = d.label(checked.model.states[state].span, format!("at most {}: {sure}", number(*size)));
    }
    if let Some(span) = bound.asked.atol {
        d = d.label(span, "");
    }
    let wanted: Vec<(&str, f64)> =
        list.iter().take(MAX_NAMED).map(|(name, _, size, _)| (name.as_str(), size * bound.options.rtol)).collect();
    let errors = if list.len() == 1 { "odec does not control its error" } else { "odec does not control their errors" };
    Some(d.help(format!("{errors}: {}", tolerances_typed(&wanted))))
}
