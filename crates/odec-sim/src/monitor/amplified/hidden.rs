//! States that are far larger between the rows than in them, such as a burst. Steps have errors relative to the large
//! values, and these errors remain in the rows.

use super::stored_run::At;
use crate::bind::Bound;
use crate::monitor::Findings;

/// The largest tolerance of a state in a step, as a multiple of its tolerance in the rows.
pub fn excess(bound: &Bound, findings: &Findings) -> f64 {
    let mut in_rows: Vec<f64> = bound.problem.y0.iter().map(|y| y.abs()).collect();
    let mut between = findings.largest.clone();
    let widen = |sizes: &mut Vec<f64>, at: At<'_>| {
        sizes.iter_mut().zip(at.y).for_each(|(size, y)| *size = size.max(y.abs()));
    };
    findings.stored_run.rows().for_each(|row| widen(&mut in_rows, row));
    findings.stored_run.steps().for_each(|step| widen(&mut between, step));
    for track in &findings.tracks {
        let size = track.low.value.abs().max(track.high.value.abs());
        between[track.place] = between[track.place].max(size);
    }
    let tolerance = |k: usize, size: f64| bound.atol(k) + bound.options.rtol * size;
    let sizes = in_rows.iter().zip(&between).enumerate();
    let times = sizes.map(|(k, (rows, steps))| tolerance(k, *steps) / tolerance(k, *rows));
    times.filter(|times| times.is_finite()).fold(1.0, f64::max)
}
