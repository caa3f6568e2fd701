//! Errors of some steps of a run: stored stretches are integrated again with a smaller tolerance. Each starts at a
//! state of the run, so its error is the error of its own steps.

use std::ops::ControlFlow;

use odec_ode::Runner;
use odec_ode::method::auto::{METHOD, TIGHTEST_EXPLICIT};
use odec_ode::method::explicit::{vern7, vern9};
use odec_ode::method::radau::radau5;
use odec_ode::method::{Family, Method};
use odec_ode::problem::{Problem, Samples, Sink};

use crate::monitor::Findings;

use super::TIGHTEST_RTOL;
use super::flow;
use super::growth::Slopes;
use super::stored_run::{At, GROUP_STEPS, StepGroup};
use super::sum;

/// Stretches to integrate again: minimum, maximum, and the number of steps per stretch.
const STRETCHES: (u64, u64, u64) = (8, 16, 64);
/// Steps for such a stretch.
const MAX_STEPS_OF_STRETCH: u64 = 200;
/// Tolerance relative to the run: for a named method, and for `auto`, which uses a fraction of the tolerance.
const TIGHTER: [f64; 2] = [0.1, 0.008];

/// Length of its steps, relative to those of the run.
const SHORTER: f64 = 0.6;

/// The error of a step.
pub struct ErrorEstimate<'a> {
    /// The number of the step.
    pub number: u64,
    /// Error of the steps, in tolerances.
    pub made: Vec<f64>,
    /// The size of the part of this error that is in the direction of the solution.
    pub along: f64,
    /// Its length, and the state before it.
    pub h: f64,
    /// See `h`.
    pub from: At<'a>,
}

/// Method that measures the errors of steps: the method of the run if it is accurate and needs no history, or else
/// one of high order that needs no further code.
fn method(slopes: &Slopes<'_>, rtol: f64) -> &'static Method {
    let own = slopes.bound.choice.method;
    let alone = own.name != METHOD.name && !matches!(own.family, Family::Multistep);
    if alone && sum::is_exact(own) {
        own
    } else if slopes.exact {
        &radau5::METHOD
    } else if rtol < TIGHTEST_EXPLICIT {
        &vern9::METHOD
    } else {
        &vern7::METHOD
    }
}

/// Errors of steps of the run. Empty if they cannot be measured, because a stretch has no solution.
pub fn errors<'a>(slopes: &Slopes<'_>, findings: &'a Findings) -> Vec<ErrorEstimate<'a>> {
    let bound = slopes.bound;
    let all: Vec<StepGroup<'a>> = findings.stored_run.step_groups().collect();
    let mut options = bound.options.clone();
    let tighter = TIGHTER[usize::from(bound.choice.method.name == METHOD.name)].max(TIGHTEST_RTOL / options.rtol);
    options.rtol *= tighter;
    options.atol.iter_mut().for_each(|atol| *atol *= tighter);
    options.max_steps = MAX_STEPS_OF_STRETCH;
    // so few steps do not justify code of their own
    (options.fused_steps, options.eliminator) = (false, None);
    let method = method(slopes, options.rtol);
    let number = all.len().min((findings.steps / STRETCHES.2).clamp(STRETCHES.0, STRETCHES.1) as usize);
    let chosen = chosen(&all, number, &slopes.unit);
    let Ok(mut runner) = Runner::new(&bound.executor, method, &options) else { return vec![] };
    let error = |stretch: &StepGroup<'a>| {
        let StepGroup { from, to, .. } = stretch;
        if findings.discretes.after(from.t)? != findings.discretes.before(to.t)? {
            return None;
        }
        let executor = findings.discretes.executor_after(bound, from.t)?;
        let problem = Problem { t0: from.t, t_end: to.t, y0: from.y.to_vec() };
        let h = (to.t - from.t).abs() / GROUP_STEPS as f64;
        // a method whose estimates are far too large would repeat its steps, and their errors
        runner.set_steps(Some(SHORTER * h), Some(SHORTER * h));
        let end = runner.run(&*executor, &problem, &Samples::Times(vec![]), &mut IgnoredRows).ok()?;
        let off = to.y.iter().zip(&end.y).zip(&slopes.unit);
        let made: Vec<f64> = off.map(|((y, exact), unit)| (y - exact) / unit / GROUP_STEPS as f64).collect();
        let change: Vec<f64> = to.y.iter().zip(from.y).zip(&slopes.unit).map(|((y, x), unit)| (y - x) / unit).collect();
        let along = along(&made, &change);
        made.iter().all(|v| v.is_finite()).then_some(ErrorEstimate {
            number: stretch.number,
            made,
            along,
            h: (to.t - from.t) / GROUP_STEPS as f64,
            from: *from,
        })
    };
    chosen.into_iter().filter_map(error).collect()
}

/// The largest component of the part of an error in the direction of a change.
fn along(error: &[f64], change: &[f64]) -> f64 {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let square = product(change, change);
    if square > 0.0 { product(error, change).abs() / square * flow::largest(change) } else { 0.0 }
}

/// So many of the stretches, in order: one half evenly spaced, the others those in which the states change most. The
/// errors of pulses are made in few steps, which evenly spaced ones may not meet.
fn chosen<'s, 'a>(all: &'s [StepGroup<'a>], number: usize, unit: &[f64]) -> Vec<&'s StepGroup<'a>> {
    let even = number.div_ceil(2);
    let mut chosen: Vec<usize> = (0..even).map(|k| (2 * k + 1) * all.len() / (2 * even)).collect();
    let change = |k: &usize| {
        let StepGroup { from, to, .. } = all[*k];
        from.y.iter().zip(to.y).zip(unit).fold(0.0f64, |most, ((y, now), unit)| most.max((now - y).abs() / unit))
    };
    let mut others: Vec<usize> = (0..all.len()).filter(|k| !chosen.contains(k)).collect();
    others.sort_by(|a, b| change(b).total_cmp(&change(a)));
    chosen.extend(others.into_iter().take(number - even));
    chosen.sort_unstable();
    chosen.into_iter().map(|k| &all[k]).collect()
}

/// Sink that ignores rows.
struct IgnoredRows;

impl Sink for IgnoredRows {
    fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
