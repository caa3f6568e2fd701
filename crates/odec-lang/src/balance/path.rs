//! Approximate solutions of a model, whose points show whether a quantity changes there: a few short steps from the start,
//! and a coarse path to the end of the run.

use odec_ir::Node;

use super::Point;
use crate::lower::Draft;
use crate::trial::Trial;

/// Number of steps along the solution from the start, and their length as a fraction of the time in which a state
/// changes by its own size.
const STEPS: usize = 4;
const STEP: f64 = 1e-2;
/// Largest number of steps to the end of the run, and their length as a fraction of the time in which a state changes by its
/// size, or by this fraction of the scale.
const FAR_STEPS: usize = 400;
/// See [`FAR_STEPS`].
const FAR_STEP: f64 = 0.1;
/// See [`FAR_STEPS`].
const SMALL: f64 = 0.1;
/// Largest change of a step between the slopes at its ends, as a fraction of a state.
const CURVED: f64 = 0.2;
/// Largest number of times that a step is halved.
const HALVINGS: u32 = 30;

/// True if the equations choose between terms.
pub(super) fn chooses(draft: &Draft) -> bool {
    draft
        .kernels
        .iter()
        .any(|kernel| kernel.live().any(|(_, node)| matches!(node, Node::Call(op, _) if op.0.branch.is_some())))
}

/// The slopes at a point, if they are finite.
fn slopes(trial: &Trial, t: f64, y: &[f64]) -> Option<Vec<f64>> {
    trial.rates(t, y).filter(|f| f.iter().all(|x| x.is_finite()))
}

fn moved(y: &[f64], f: &[f64], h: f64) -> Vec<f64> {
    y.iter().zip(f).map(|(y, f)| y + h * f).collect()
}

/// One step of the classical Runge-Kutta method with the slopes at its start, and its last slopes.
fn step(trial: &Trial, (t, y): (f64, &[f64]), first: &[f64], h: f64) -> Option<(Vec<f64>, Vec<f64>)> {
    let k2 = slopes(trial, t + h / 2.0, &moved(y, first, h / 2.0))?;
    let k3 = slopes(trial, t + h / 2.0, &moved(y, &k2, h / 2.0))?;
    let k4 = slopes(trial, t + h, &moved(y, &k3, h))?;
    let mean = |i: usize| (first[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]) / 6.0;
    Some(((0..y.len()).map(|i| y[i] + h * mean(i)).collect(), k4))
}

/// A few steps of the classical Runge-Kutta method from the start.
pub(super) fn start(trial: &Trial, start: &Point, scale: f64) -> Vec<Point> {
    let mut points = Vec::new();
    let Some(first) = slopes(trial, start.t, &start.y) else { return points };
    let times = first.iter().zip(&start.y).filter(|(f, _)| **f != 0.0);
    let times = times.map(|(f, y)| (y.abs().max(1e-3 * scale) / f).abs());
    let h = STEP * times.fold(f64::INFINITY, f64::min);
    if !h.is_finite() || h <= 0.0 {
        return points;
    }
    let (mut t, mut y) = (start.t, start.y.clone());
    for _ in 0..STEPS {
        let next = slopes(trial, t, &y).and_then(|first| step(trial, (t, &y), &first, h));
        let Some((new, _)) = next else { return points };
        (t, y) = (t + h, new);
        points.push(Point { t, y: y.clone() });
    }
    points
}

/// Points on a coarse path from the start to `end`. It ends early where its steps become short.
pub(super) fn from(trial: &Trial, start: &Point, scale: f64, end: f64) -> Vec<Point> {
    let mut points = Vec::new();
    let (mut t, mut y) = (start.t, start.y.clone());
    let size = |y: f64| y.abs().max(SMALL * scale);
    for _ in 0..FAR_STEPS {
        let Some(first) = slopes(trial, t, &y) else { break };
        let times = first.iter().zip(&y).filter(|(f, _)| **f != 0.0).map(|(f, y)| size(*y) / f.abs());
        let most = (FAR_STEP * times.fold(f64::INFINITY, f64::min)).min(0.1 * (end - start.t).abs());
        let mut h = most.min((end - t).abs()).copysign(end - start.t);
        let next = (0..HALVINGS).find_map(|_| {
            let (new, last) = step(trial, (t, &y), &first, h)?;
            let straight = (0..y.len()).all(|i| (h * (last[i] - first[i])).abs() <= CURVED * size(y[i]));
            h = if straight { h } else { 0.5 * h };
            straight.then_some(new)
        });
        let Some(new) = next else { break };
        (t, y) = (t + h, new);
        points.push(Point { t, y: y.clone() });
        if (end - t) * (end - start.t) <= 0.0 {
            break;
        }
    }
    points
}
