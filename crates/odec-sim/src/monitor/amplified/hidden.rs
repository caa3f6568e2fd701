//! States that are far larger between the rows than in them, such as a burst. Steps have errors relative to the large
//! values, and these errors remain in the rows.

use super::stored_run::At;
use crate::bind::Bound;
use crate::monitor::Findings;

/// Fraction of a run within which large values belong to the fast motion from the initial values. It decays, and its
/// errors decay with it.
const TRANSIENT: f64 = 0.01;

/// The largest tolerance of a state in a step, as a multiple of its tolerance in the rows.
pub fn excess(bound: &Bound, findings: &Findings) -> f64 {
    let (t0, t_end) = (bound.problem.t0, bound.problem.t_end);
    let counts = |t: f64| (t - t0) / (t_end - t0) > TRANSIENT;
    let mut in_rows: Vec<f64> = bound.problem.y0.iter().map(|y| y.abs()).collect();
    let mut between = vec![0.0; in_rows.len()];
    let widen = |sizes: &mut Vec<f64>, at: At<'_>| {
        sizes.iter_mut().zip(at.y).for_each(|(size, y)| *size = size.max(y.abs()));
    };
    findings.stored_run.rows().for_each(|row| widen(&mut in_rows, row));
    findings.stored_run.steps().filter(|step| counts(step.t)).for_each(|step| widen(&mut between, step));
    for track in &findings.tracks {
        for extreme in [track.low, track.high].iter().filter(|extreme| counts(extreme.t)) {
            between[track.place] = between[track.place].max(extreme.value.abs());
        }
    }
    let tolerance = |k: usize, size: f64| bound.atol(k) + bound.options.rtol * size;
    let sizes = in_rows.iter().zip(&between).enumerate();
    let times = sizes.map(|(k, (rows, steps))| tolerance(k, *steps) / tolerance(k, *rows));
    times.filter(|times| times.is_finite()).fold(1.0, f64::max)
}
