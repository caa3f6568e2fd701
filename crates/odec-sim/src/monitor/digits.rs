//! Outputs that read digits which the absolute tolerance of a state or unknown does not control, such as the logarithm of a
//! concentration that has decayed.

use odec_lang::diagnostic::{Diagnostic, codes};

use super::amplified::{At, OutputsAlongRun, StoredRow};
use super::report::{CheckedRun, tolerances_typed};
use crate::blame::{declared, number};
use crate::quantities::Quantities;

/// A value is small below this number of absolute tolerances.
const SMALL: f64 = 1e3;
/// An output is not reliable if an error of one absolute tolerance changes it by this fraction of its size.
const LOST_FRACTION: f64 = 1e-2;
/// If an error of one relative tolerance in the large values changes an output by this many relative tolerances of its
/// size, it is a small difference of large terms, such as the drift of an energy, and shows errors.
const CANCELLATION: f64 = 1e3;
/// Largest number of rows that are examined.
const MAX_ROWS: usize = 16;
/// Largest number of small values that are examined in each of them.
const MAX_PLACES: usize = 16;

/// An output that is not reliable.
struct Lost {
    output: usize,
    place: usize,
    t: f64,
    change: f64,
}

/// Values of the outputs in rows; `None` in a row whose discretes are unknown.
struct Outputs<'a> {
    along: OutputsAlongRun<'a>,
    count: usize,
}

impl Outputs<'_> {
    fn at(&mut self, row: &StoredRow<'_>, y: &[f64]) -> Option<Vec<f64>> {
        let mut out = vec![0.0; self.count];
        self.along.at(row, y, &mut out).then_some(out)
    }

    /// The values after a change of one state.
    fn moved(&mut self, row: &StoredRow<'_>, place: usize, by: f64) -> Option<Vec<f64>> {
        let mut moved = row.at.y.to_vec();
        moved[place] += by;
        self.at(row, &moved)
    }

    /// The values at the end of a step, with these discretes.
    fn with(&mut self, discretes: &[f64], at: At<'_>) -> Vec<f64> {
        let mut out = vec![0.0; self.count];
        self.along.with(discretes, (at.t, at.y), &mut out);
        out
    }
}

/// Extends the largest sizes of the outputs to these values.
fn enlarge(sizes: &mut [f64], values: &[f64]) {
    let finite = sizes.iter_mut().zip(values).filter(|(_, v)| v.is_finite());
    finite.for_each(|(size, v)| *size = size.max(v.abs()));
}

/// Warning about the output that loses most.
pub(super) fn lost(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let CheckedRun { bound, findings, .. } = checked;
    if bound.options.fixed || !bound.columns.has_outputs() {
        return None;
    }
    let rows: Vec<StoredRow<'_>> = findings.stored_run.full_rows().collect();
    // a state that passes through 0 is small by chance
    let crosses = |row: usize, k: usize| {
        let [before, after] = [row.saturating_sub(1), (row + 1).min(rows.len() - 1)];
        rows[before].at.y[k] * rows[after].at.y[k] < 0.0
    };
    let small = |row: usize| -> Vec<usize> {
        let y = rows[row].at.y;
        let is_small = |k: &usize| y[*k] != 0.0 && y[*k].abs() < SMALL * bound.atol(*k) && !crosses(row, *k);
        (0..y.len()).filter(is_small).take(MAX_PLACES).collect()
    };
    let doubtful: Vec<usize> = (0..rows.len()).filter(|row| !small(*row).is_empty()).collect();
    let last = doubtful.len().checked_sub(1)?;
    let along = OutputsAlongRun::new(bound, &findings.discretes)?;
    let mut outputs = Outputs { along, count: bound.executor.layout().outputs_len() };
    let every = doubtful.len().div_ceil(MAX_ROWS).max(1);
    let mut sizes = vec![0.0f64; bound.executor.layout().outputs];
    let mut changes: Vec<Lost> = vec![];
    for row in doubtful.iter().enumerate().filter(|(k, _)| k % every == 0 || *k == last).map(|(_, row)| *row) {
        let places = small(row);
        let row = &rows[row];
        let Some(value) = outputs.at(row, row.at.y) else { continue };
        enlarge(&mut sizes, &value);
        for place in places {
            let atol = bound.atol(place);
            let moved = [atol, 0.5 * atol, -atol].map(|by| outputs.moved(row, place, by));
            let [Some(more), Some(half), Some(less)] = moved else { continue };
            for output in 0..sizes.len() {
                // a condition that holds on one side only is no matter of digits
                let is_step = more[output] == half[output];
                let both = [&more, &less].map(|moved| (moved[output] - value[output]).abs());
                let change = both.into_iter().filter(|change| change.is_finite()).fold(0.0, f64::max);
                if !is_step && change > LOST_FRACTION * sizes[output] {
                    changes.push(Lost { output, place, t: row.at.t, change });
                }
            }
        }
    }
    if changes.is_empty() {
        return None;
    }
    // only now all rows, and the steps between them, are worth their evaluation
    enlarge(&mut sizes, &outputs.with(&[], At { t: bound.problem.t0, y: &bound.problem.y0 }));
    for row in &rows {
        if let Some(value) = outputs.at(row, row.at.y) {
            enlarge(&mut sizes, &value);
        }
    }
    for step in findings.stored_run.steps() {
        if let Some(discretes) = findings.discretes.before(step.t) {
            enlarge(&mut sizes, &outputs.with(discretes, step));
        }
    }
    let fraction = |lost: &Lost| lost.change / sizes[lost.output];
    let lost = changes.into_iter().filter(|lost| fraction(lost) > LOST_FRACTION);
    let worst = lost.max_by(|a, b| fraction(a).total_cmp(&fraction(b)))?;
    let row = rows.iter().find(|row| row.at.t == worst.t)?;
    let (y, value) = (row.at.y, outputs.at(row, row.at.y)?[worst.output]);
    let large = (0..y.len()).filter(|k| y[*k].abs() >= SMALL * bound.atol(*k));
    let by_large: f64 = large
        .filter_map(|k| outputs.moved(row, k, bound.options.rtol * y[k]))
        .map(|moved| (moved[worst.output] - value).abs())
        .sum();
    if by_large > CANCELLATION * bound.options.rtol * sizes[worst.output] {
        return None;
    }
    let lowest =
        rows.iter().map(|row| row.at.y[worst.place].abs()).filter(|size| *size > 0.0).fold(f64::INFINITY, f64::min);
    Some(diagnostic(checked, &worst, (y[worst.place], lowest)))
}

fn diagnostic(checked: &CheckedRun<'_>, lost: &Lost, (value, lowest): (f64, f64)) -> Diagnostic {
    let CheckedRun { bound, model, .. } = checked;
    let outputs = Quantities::outputs(bound.executor.program(), bound.executor.layout());
    let (output, name, time) = (outputs.name(lost.output), bound.states.name(lost.place), &model.time.name);
    let atol = bound.atol(lost.place);
    let headline = format!(
        "`{output}` is not reliable: it reads digits of `{name}` that are not controlled: {} at {time} = {}, where \
         `atol` is {}",
        number(value),
        number(lost.t),
        number(atol)
    );
    let mut d = Diagnostic::warning(&codes::W0606, headline);
    if let Some(found) = outputs.at(lost.output).and_then(|(of, _)| model.outputs.iter().find(|o| o.name == of.name)) {
        let two: f64 = format!("{:.1e}", lost.change).parse().unwrap_or(lost.change);
        let says = format!("an error of {} in `{name}` changes this by up to {}", number(atol), number(two));
        d = d.label(found.span, says);
    }
    if let Some(state) = declared(model, &bound.states, lost.place) {
        d = d.label(model.states[state].span, "");
    }
    if let Some(span) = bound.asked.atol {
        d = d.label(span, "");
    }
    let series = bound.states.at(lost.place).map_or(name.as_str(), |(series, _)| series.name.as_str());
    let tolerance = (lowest * bound.options.rtol).max(f64::MIN_POSITIVE);
    d.help(tolerances_typed(&[(series, tolerance)]))
}
