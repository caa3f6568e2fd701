//! Rows that miss features of the steps: too few rows for an oscillation, or no row at an extremum.

use odec_lang::diagnostic::{Code, Diagnostic, codes};
use odec_lang::suggest;

use super::Track;
use super::report::{CheckedRun, above};
use super::track::Extreme;
use crate::bind::RowSpacing;
use crate::blame::{declared, number};

/// Least number of turning points of an oscillation.
const MIN_TURNING_POINTS: f64 = 8.0;
/// Least number of rows per cycle that show it, and the recommended number.
const ROWS_PER_CYCLE: f64 = 4.0;
/// See [`ROWS_PER_CYCLE`].
const RECOMMENDED_PER_CYCLE: f64 = 10.0;
/// Fraction of its range by which a state may exceed the range of the rows.
const MISSED_FRACTION: f64 = 0.05;
/// A range smaller than this many tolerances is ignored.
const VISIBLE_RANGE: f64 = 1e3;
/// Least number of rows that are meant to show the course of a run.
pub(super) const MIN_ROWS: u64 = 5;
/// Largest recommended number of samples.
const MAX_RECOMMENDED: f64 = 100_000.0;
/// States that are named.
const MAX_NAMED: usize = 3;

/// Warnings about the rows.
pub fn missed(checked: &CheckedRun<'_>) -> Vec<Diagnostic> {
    let count = match checked.bound.spread {
        RowSpacing::Even(count) if count >= MIN_ROWS => Some(count),
        RowSpacing::Logarithmic if checked.findings.rows > MIN_ROWS => None,
        _ => return vec![],
    };
    let shown: Vec<&Track> = checked.findings.tracks.iter().filter(|track| visible(checked, track)).collect();
    let fast: Vec<(&Track, f64)> =
        shown.iter().filter_map(|track| Some((*track, density(checked, track, count)?))).collect();
    let mut list = vec![];
    if let Some(worst) = fast.iter().max_by(|a, b| a.1.total_cmp(&b.1)).copied() {
        list.push(oscillation(checked, worst, &fast, count));
    }
    let hidden: Vec<(&Track, f64)> = shown
        .iter()
        .filter(|track| !fast.iter().any(|(other, _)| other.place == track.place))
        .filter_map(|track| Some((*track, excess(track)?)))
        .collect();
    if let Some((worst, _)) = hidden.iter().max_by(|a, b| a.1.total_cmp(&b.1)).copied() {
        list.push(extreme(checked, worst, &hidden, count));
    }
    list
}

/// True for a state that moves by more than its tolerance.
fn visible(checked: &CheckedRun<'_>, track: &Track) -> bool {
    let (rtol, atol) = (checked.bound.options.rtol, checked.bound.atol(track.place));
    let size = track.high.value.abs().max(track.low.value.abs());
    let range = track.range();
    range.is_finite() && range > VISIBLE_RANGE * (atol + rtol * size) && track.row_low <= track.row_high
}

/// Cycles per unit of time, if the rows are too few for them.
fn density(checked: &CheckedRun<'_>, track: &Track, count: Option<u64>) -> Option<f64> {
    if track.counted() < MIN_TURNING_POINTS {
        return None;
    }
    let (halves, time) = track.halves;
    let density = 0.5 * halves / time;
    (density.is_finite() && frequency(checked, track.last_turn, count) < ROWS_PER_CYCLE * density).then_some(density)
}

/// Rows per unit of time at a time; rows without a count are evenly spaced in the logarithm of time.
fn frequency(checked: &CheckedRun<'_>, t: f64, count: Option<u64>) -> f64 {
    let (t0, span) = (checked.bound.problem.t0, span(checked));
    match (count, checked.bound.logarithmic) {
        (Some(count), _) => count as f64 / span,
        (None, Some(first)) => {
            let ratio = (span / first).powf(1.0 / checked.findings.rows.max(3).saturating_sub(2) as f64);
            1.0 / ((t - t0).abs() * (ratio - 1.0))
        }
        (None, None) => f64::INFINITY,
    }
}

fn span(checked: &CheckedRun<'_>) -> f64 {
    (checked.bound.problem.t_end - checked.bound.problem.t0).abs()
}

/// Fraction of its range by which a state exceeds the range of the rows.
fn excess(track: &Track) -> Option<f64> {
    let most = (track.high.value - track.row_high).max(track.row_low - track.low.value) / track.range();
    (most > MISSED_FRACTION).then_some(most)
}

/// Warning about a state that points at the samples or else at the declaration of the state.
fn about(checked: &CheckedRun<'_>, code: &'static Code, headline: String, track: &Track, says: String) -> Diagnostic {
    let d = Diagnostic::warning(code, headline);
    let d = match checked.bound.asked.samples {
        Some(span) => d.label(span, ""),
        None => d,
    };
    match declared(checked.model, &checked.bound.states, track.place) {
        Some(state) => d.label(checked.model.states[state].span, says),
        None => d,
    }
}

fn names(checked: &CheckedRun<'_>, worst: &Track, others: &[(&Track, f64)]) -> String {
    let first = std::iter::once(worst.place);
    let rest = others.iter().map(|(track, _)| track.place).filter(|place| *place != worst.place);
    let names: Vec<String> = first.chain(rest).take(MAX_NAMED).map(|place| checked.bound.states.name(place)).collect();
    let list = suggest::list(names.iter().map(String::as_str));
    if others.len() > MAX_NAMED { format!("{list} and {} more", others.len() - MAX_NAMED) } else { list }
}

/// The text to type for this many samples.
fn samples(checked: &CheckedRun<'_>, count: f64, else_do: &str) -> String {
    let steps = samples_typed(checked, "steps");
    if count > MAX_RECOMMENDED {
        return format!("set {steps}, or {else_do}");
    }
    format!("set {}, or {steps} for a row at each step", samples_typed(checked, &above(count.max(10.0))))
}

/// The setting of the rows, in the block or on the command line.
fn samples_typed(checked: &CheckedRun<'_>, value: &str) -> String {
    let in_block = checked.bound.asked.samples.is_some();
    if in_block { format!("`samples = {value}`") } else { format!("`--samples {value}`") }
}

/// Too few rows for an oscillation.
fn oscillation(
    checked: &CheckedRun<'_>,
    (worst, density): (&Track, f64),
    all: &[(&Track, f64)],
    count: Option<u64>,
) -> Diagnostic {
    let fastest = all.iter().map(|(_, density)| *density).fold(0.0, f64::max);
    let each = number_short(frequency(checked, worst.last_turn, count) / density);
    let names = names(checked, worst, all);
    let verb = if all.len() == 1 { "oscillates" } else { "oscillate" };
    let rows = if each == "1" { "row" } else { "rows" };
    let place = if count.is_none() {
        format!(" at {} = {}", checked.model.time.name, number_short(worst.last_turn))
    } else {
        String::new()
    };
    let headline = format!("{names} {verb} faster than the rows show: {each} {rows} per cycle{place}");
    let says = format!("a cycle takes about {} in {}", number_short(1.0 / fastest), checked.model.time.name);
    about(checked, &codes::W0608, headline, worst, says).at(worst.last_turn, vec![]).help(samples(
        checked,
        RECOMMENDED_PER_CYCLE * fastest * span(checked),
        "shorten the run",
    ))
}

/// An extreme between rows.
fn extreme(checked: &CheckedRun<'_>, worst: &Track, all: &[(&Track, f64)], count: Option<u64>) -> Diagnostic {
    let (high, low) = (worst.high.value - worst.row_high, worst.row_low - worst.low.value);
    let (at, shown): (Extreme, f64) =
        if high >= low { (worst.high, worst.row_high) } else { (worst.low, worst.row_low) };
    let (name, time) = (checked.bound.states.name(worst.place), &checked.model.time.name);
    let side = if high >= low { "maximum" } else { "minimum" };
    let more = match all.len() - 1 {
        0 => String::new(),
        1 => ", and likewise for 1 more state".to_string(),
        more => format!(", and likewise for {more} more states"),
    };
    let headline = format!(
        "`{name}` reaches {} between two rows; its {side} in the rows is {}{more}",
        number(at.value),
        number(shown)
    );
    let says = format!("{} at {time} = {}", number(at.value), number(at.t));
    let wanted = count.map_or(f64::INFINITY, |count| {
        let near = if at.h == 0.0 { f64::INFINITY } else { span(checked) / (2.0 * at.h.abs()) };
        near.max(2.0 * count as f64)
    });
    // more rows than steps show no further detail
    let help = if wanted > checked.findings.steps as f64 && wanted <= MAX_RECOMMENDED {
        format!("set {} for a row at each step", samples_typed(checked, "steps"))
    } else {
        samples(checked, wanted, "record a row where it happens")
    };
    about(checked, &codes::W0607, headline, worst, says).at(at.t, vec![(name, at.value)]).help(help)
}

/// Number with two digits, which suffice for an estimate.
fn number_short(x: f64) -> String {
    number(format!("{x:.1e}").parse().unwrap_or(x))
}
