//! Rows that miss what the steps saw: too few for an oscillation, or none at an extreme.

use odec_lang::diagnostic::{Code, Diagnostic, codes};
use odec_lang::suggest;

use super::Track;
use super::report::{Judged, above};
use super::track::Extreme;
use crate::bind::Spread;
use crate::blame::{declared, number};

/// Fewest turning points that make an oscillation.
const OSCILLATION: f64 = 8.0;
/// Fewest rows of a cycle that show it, and those that are advised.
const ROWS: f64 = 4.0;
/// See [`ROWS`].
const GOOD: f64 = 10.0;
/// Part of its range by which a state may exceed what the rows show.
const MISSED: f64 = 0.05;
/// A range of fewer tolerances than this is not looked at.
const VISIBLE: f64 = 1e3;
/// Fewer rows than this are no attempt to show the course of a run.
pub(super) const FEWEST: u64 = 5;
/// Most samples that are advised.
const MOST: f64 = 100_000.0;
/// States that are named.
const NAMED: usize = 3;

/// Warnings about the rows.
pub fn missed(judged: &Judged<'_>) -> Vec<Diagnostic> {
    let count = match judged.bound.spread {
        Spread::Even(count) if count >= FEWEST => Some(count),
        Spread::Logarithmic if judged.findings.rows > FEWEST => None,
        _ => return vec![],
    };
    let shown: Vec<&Track> = judged.findings.tracks.iter().filter(|track| visible(judged, track)).collect();
    let fast: Vec<(&Track, f64)> =
        shown.iter().filter_map(|track| Some((*track, density(judged, track, count?)?))).collect();
    let mut list = vec![];
    if let Some((worst, _)) = fast.iter().max_by(|a, b| a.1.total_cmp(&b.1)).copied() {
        list.push(oscillation(judged, worst, &fast));
    }
    let hidden: Vec<(&Track, f64)> = shown
        .iter()
        .filter(|track| !fast.iter().any(|(other, _)| other.place == track.place))
        .filter_map(|track| Some((*track, excess(track)?)))
        .collect();
    if let Some((worst, _)) = hidden.iter().max_by(|a, b| a.1.total_cmp(&b.1)).copied() {
        list.push(extreme(judged, worst, &hidden, count));
    }
    list
}

/// True for a state that moves by more than its tolerance.
fn visible(judged: &Judged<'_>, track: &Track) -> bool {
    let options = &judged.bound.options;
    let atol = options.atol.get(track.place).or(options.atol.first()).copied().unwrap_or(0.0);
    let size = track.high.value.abs().max(track.low.value.abs());
    let range = track.range();
    range.is_finite() && range > VISIBLE * (atol + options.rtol * size) && track.row_low <= track.row_high
}

/// Cycles in a unit of time, where there are too few rows for them.
fn density(judged: &Judged<'_>, track: &Track, count: u64) -> Option<f64> {
    let span = (judged.bound.problem.t_end - judged.bound.problem.t0).abs();
    if track.turns < OSCILLATION {
        return None;
    }
    let ((halves, time), rows) = (track.halves, count as f64 / span);
    let density = 0.5 * halves / time;
    (density.is_finite() && rows < ROWS * density).then_some(density)
}

/// By which part of its range a state exceeds what the rows show.
fn excess(track: &Track) -> Option<f64> {
    let most = (track.high.value - track.row_high).max(track.row_low - track.low.value) / track.range();
    (most > MISSED).then_some(most)
}

/// A warning about a state, with its place: the samples, else its declaration.
fn about(judged: &Judged<'_>, code: &'static Code, headline: String, track: &Track, says: String) -> Diagnostic {
    let d = Diagnostic::warning(code, headline);
    let d = match judged.bound.asked.samples {
        Some(span) => d.label(span, ""),
        None => d,
    };
    match declared(judged.model, &judged.bound.states, track.place) {
        Some(state) => d.label(judged.model.states[state].span, says),
        None => d,
    }
}

fn names(judged: &Judged<'_>, worst: &Track, others: &[(&Track, f64)]) -> String {
    let first = std::iter::once(worst.place);
    let rest = others.iter().map(|(track, _)| track.place).filter(|place| *place != worst.place);
    let names: Vec<String> = first.chain(rest).take(NAMED).map(|place| judged.bound.states.name(place)).collect();
    let list = suggest::list(names.iter().map(String::as_str));
    if others.len() > NAMED { format!("{list} and {} more", others.len() - NAMED) } else { list }
}

/// What to type for so many samples.
fn samples(judged: &Judged<'_>, count: f64) -> String {
    let in_block = judged.bound.asked.samples.is_some();
    let typed = |value: &str| if in_block { format!("`samples = {value}`") } else { format!("`--samples {value}`") };
    if count > MOST {
        return format!("type {}, or make the run shorter", typed("steps"));
    }
    format!("type {}, or {} for a row at each step", typed(&above(count.max(10.0))), typed("steps"))
}

/// Too few rows for an oscillation.
fn oscillation(judged: &Judged<'_>, worst: &Track, all: &[(&Track, f64)]) -> Diagnostic {
    let span = (judged.bound.problem.t_end - judged.bound.problem.t0).abs();
    let count = judged.findings.rows.saturating_sub(1) as f64;
    let fastest = all.iter().map(|(_, density)| *density).fold(0.0, f64::max);
    let each = count / span / fastest;
    let names = names(judged, worst, all);
    let verb = if all.len() == 1 { "oscillates" } else { "oscillate" };
    let headline = format!("{names} {verb} faster than the rows show: {} rows in a cycle", number_short(each));
    let says = format!("a cycle takes about {} of {}", number_short(1.0 / fastest), judged.model.time.name);
    about(judged, &codes::W0608, headline, worst, says).help(samples(judged, GOOD * fastest * span))
}

/// An extreme between rows.
fn extreme(judged: &Judged<'_>, worst: &Track, all: &[(&Track, f64)], count: Option<u64>) -> Diagnostic {
    let (high, low) = (worst.high.value - worst.row_high, worst.row_low - worst.low.value);
    let (at, shown): (Extreme, f64) =
        if high >= low { (worst.high, worst.row_high) } else { (worst.low, worst.row_low) };
    let (name, time) = (judged.bound.states.name(worst.place), &judged.model.time.name);
    let beyond = if high >= low { "at most" } else { "at least" };
    let more = if all.len() > 1 { format!("; {} more states likewise", all.len() - 1) } else { String::new() };
    let headline = format!(
        "the rows miss that `{name}` comes to {}: they show {beyond} {}{more}",
        number(at.value),
        number(shown)
    );
    let says = format!("{} at {time} = {}, between two rows", number(at.value), number(at.t));
    let span = (judged.bound.problem.t_end - judged.bound.problem.t0).abs();
    let wanted = count.map_or(f64::INFINITY, |count| {
        let near = if at.h == 0.0 { f64::INFINITY } else { span / (2.0 * at.h.abs()) };
        near.max(2.0 * count as f64)
    });
    about(judged, &codes::W0607, headline, worst, says)
        .help(samples(judged, wanted).replace("make the run shorter", "record where it happens"))
}

/// Two digits are enough for what is estimated.
fn number_short(x: f64) -> String {
    number(format!("{x:.1e}").parse().unwrap_or(x))
}
