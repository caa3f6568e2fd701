//! Follows one error through all stored ends of steps, with derivatives along its direction: for many unknowns, this
//! takes a few evaluations of f for each point, where a matrix takes one for each unknown.

use odec_ode::system::System;

use super::growth::{Slopes, places};
use crate::monitor::Findings;

/// Size of the increment relative to the states.
const INCREMENT: f64 = 1e-7;
/// Growth over an interval above which the points do not resolve it: Heun's formula amplifies a fast decay.
const UNRESOLVED: f64 = 8.0;

/// Growth of an error of one tolerance along the run, as a power of e; 0 if the points do not resolve it.
pub fn growth(slopes: &Slopes<'_>, findings: &Findings) -> f64 {
    followed(slopes, findings).map_or(0.0, f64::ln)
}

fn followed(slopes: &Slopes<'_>, findings: &Findings) -> Option<f64> {
    let executor = &slopes.bound.executor;
    let n = slopes.unit.len();
    let scale = |i: usize| slopes.unit[i] / findings.largest[i].max(slopes.unit[i]);
    let (mut w, mut grown) = (vec![0.0f64; n], 1.0f64);
    let (mut f, mut moved, mut near) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    // J w in tolerances
    let mut along = |t: f64, y: &[f64], w: &[f64]| -> Option<Vec<f64>> {
        let most = w.iter().enumerate().map(|(i, w)| w.abs() * scale(i)).fold(0.0, f64::max);
        let increment = INCREMENT / most;
        executor.rhs(t, y, &mut f).ok()?;
        for (i, (moved, y)) in moved.iter_mut().zip(y).enumerate() {
            *moved = y + increment * w[i] * slopes.unit[i];
        }
        executor.rhs(t, &moved, &mut near).ok()?;
        let slope = near.iter().zip(&f).zip(&slopes.unit).map(|((near, f), unit)| (near - f) / (increment * unit));
        Some(slope.collect())
    };
    let all = places(slopes.bound, findings);
    for pair in all.windows(2) {
        let h = pair[1].t - pair[0].t;
        for (w, seed) in w.iter_mut().zip(slopes.seed(pair[0])).filter(|(w, seed)| w.abs() < seed.abs()) {
            *w = if *w == 0.0 { seed } else { seed.abs().copysign(*w) };
        }
        let before = w.iter().fold(0.0f64, |most, w| most.max(w.abs()));
        let first = along(pair[0].t, pair[0].y, &w)?;
        let ahead: Vec<f64> = w.iter().zip(&first).map(|(w, slope)| w + h * slope).collect();
        let second = along(pair[1].t, pair[1].y, &ahead)?;
        w.iter_mut().zip(first.iter().zip(&second)).for_each(|(w, (a, b))| *w += 0.5 * h * (a + b));
        let after = w.iter().fold(0.0f64, |most, w| most.max(w.abs()));
        if !(after <= UNRESOLVED * before) {
            return None;
        }
        grown = grown.max(after);
    }
    Some(grown)
}
