//! Measures one method on one model against an accurate run: error, drift of conserved quantities, blow-up, cost.

use odec_ode::method::Method;
use odec_ode::problem::{Options, Refusal, Samples, SolveError, Stats, Stop};
use odec_ode::system::System;

use crate::bind::Bound;
use crate::reference::{Reference, Row, Unfinished, error, run, scales};
use crate::sample::CoupledRates;

/// A solution has blown up if it exceeds the accurate one by this factor.
const BLOWN_UP: f64 = 1e3;

/// How a run ended.
#[derive(Clone, Debug)]
pub enum End {
    /// At the end time.
    Reached,
    /// The run continued, but after this time a value exceeded a thousand times the accurate ones.
    BlewUp(f64),
    /// It failed at this time.
    Failed(f64),
    /// The method refuses this model or these options.
    Refused(Refusal),
}

/// The result and the cost of a run.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// How it ended.
    pub end: End,
    /// Largest error; infinite if rows are missing.
    pub error: f64,
    /// Largest deviation of each conserved quantity from its start, with its sign.
    pub drifts: Vec<f64>,
    /// Counts.
    pub stats: Stats,
}

/// Names of the conserved quantities.
pub fn conserved(bound: &Bound) -> Vec<String> {
    bound.conservation.iter().map(|c| c.name.clone()).collect()
}

/// Compiles all code in advance, so that a timed run compiles nothing, except for code that several runs share.
pub fn warm(bound: &Bound) {
    bound.executor.expect_many_runs();
    let (n, system) = (bound.problem.y0.len(), &bound.executor);
    let mut out = vec![0.0; n];
    // the runs report faults at the start again
    if let Some(pattern) = system.jacobian().pattern() {
        let mut values = vec![0.0; pattern.entries()];
        let _ = system.jacobian_values(bound.problem.t0, &bound.problem.y0, &mut values);
    }
    let _ = system.time_derivative(bound.problem.t0, &bound.problem.y0, &mut out);
}

/// Runs a method.
///
/// # Errors
/// The caller stops; any other result is a measurement.
pub fn measure(
    bound: &Bound,
    method: &'static Method,
    options: &Options,
    reference: &Reference,
    stop: &dyn Fn() -> bool,
) -> Result<Measurement, Unfinished> {
    let samples = Samples::Times(reference.rows.iter().map(|r| r.0).collect());
    let (rows, result) = run(bound, method, options, &samples, stop);
    let (end, stats) = match result {
        Ok(outcome) if outcome.stop == Stop::Interrupted => return Err(Unfinished::Interrupted),
        Ok(outcome) => (End::Reached, outcome.stats),
        Err(SolveError::Failed(failure)) => (End::Failed(failure.t), failure.stats),
        Err(SolveError::Refused(refusal)) => (End::Refused(refusal), Stats::default()),
    };
    let end = match (end, blown_up(bound, &rows, reference)) {
        (End::Reached | End::Failed(_), Some(t)) => End::BlewUp(t),
        (end, _) => end,
    };
    let error = if matches!(end, End::Refused(_)) { f64::INFINITY } else { error(bound, &rows, &reference.rows) };
    Ok(Measurement { end, error, drifts: drifts(bound, &rows), stats })
}

/// The first time at which a value far exceeds all true values of its unknown.
fn blown_up(bound: &Bound, rows: &[Row], reference: &Reference) -> Option<f64> {
    let mut sizes: Vec<f64> = bound.problem.y0.iter().zip(scales(bound)).map(|(y, s)| y.abs().max(s)).collect();
    for (_, y) in &reference.rows {
        for (size, v) in sizes.iter_mut().zip(y) {
            *size = size.max(v.abs());
        }
    }
    let found = rows.iter().find(|(_, y)| y.iter().zip(&sizes).any(|(v, s)| !(v.abs() <= BLOWN_UP * s)));
    found.map(|(t, _)| *t)
}

fn drifts(bound: &Bound, rows: &[Row]) -> Vec<f64> {
    let layout = bound.executor.layout();
    let mut out = vec![0.0; layout.outputs_len()];
    let mut rates = CoupledRates::of(bound).unwrap_or_else(|_| CoupledRates::unknown(bound));
    let mut at = |t: f64, y: &[f64]| {
        bound.executor.outputs(t, y, rates.at(t, y), &mut out);
        out[layout.outputs..][..layout.conserved].to_vec()
    };
    let start = at(bound.problem.t0, &bound.problem.y0);
    let mut drifts = vec![0.0f64; layout.conserved];
    for (t, y) in rows {
        for ((drift, now), start) in drifts.iter_mut().zip(at(*t, y)).zip(&start) {
            let distance = now - start;
            if !drift.is_nan() && !(distance.abs() <= drift.abs()) {
                *drift = distance;
            }
        }
    }
    drifts
}
