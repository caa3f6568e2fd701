//! Runs of a bound model with other methods and options, and the accurate reference run.

use std::ops::ControlFlow;

use odec_ode::method::{self, Method};
use odec_ode::problem::{Options, Outcome, Samples, Sink, SolveError, Stop};
use odec_ode::solve;

use crate::bind::Bound;

/// Methods for accurate runs of nonstiff models. The first one that applies and succeeds is used.
const NONSTIFF: [&str; 3] = ["dop853", "vern7", "dopri5"];
/// Methods for accurate runs of all other models.
const STIFF: [&str; 3] = ["radau5", "rodas5p", "rodas4"];
/// Number of steps of an explicit method after which a model counts as stiff.
const STIFF_STEPS: u64 = 100_000;
/// Largest number of steps of an accurate run.
const BUDGET: u64 = 2_000_000;
/// Relative tolerances, tried in this order: some models cannot be solved with the first.
const TIGHT: [f64; 3] = [1e-13, 1e-12, 1e-11];

/// An accurate run with at most this error is accepted; otherwise a method of the other kind runs too, and the better
/// run is used.
const GOOD: f64 = 1e-11;

/// A time and the state there.
pub type Row = (f64, Vec<f64>);

/// The reason why a run, or several, gave no result.
#[derive(Debug)]
pub enum Unfinished {
    /// The caller stopped the run.
    Interrupted,
    /// All runs failed; this is the error of the last one.
    Failed(SolveError),
}

struct KeptStates<'a> {
    rows: Vec<Row>,
    stop: &'a dyn Fn() -> bool,
}

impl Sink for KeptStates<'_> {
    fn row(&mut self, t: f64, y: &[f64]) -> ControlFlow<()> {
        self.rows.push((t, y.to_vec()));
        ControlFlow::Continue(())
    }

    fn step(&mut self, _: f64) -> ControlFlow<()> {
        if (self.stop)() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Runs a model with a method. After an error, the rows before it are valid.
pub fn run(
    bound: &Bound,
    method: &'static Method,
    options: &Options,
    samples: &Samples,
    stop: &dyn Fn() -> bool,
) -> (Vec<Row>, Result<Outcome, SolveError>) {
    let mut keep = KeptStates { rows: vec![], stop };
    let result = solve(&bound.executor, &bound.problem, method, options, samples, &mut keep);
    (keep.rows, result)
}

/// `count` evenly spaced times after the start; the last one is the end.
pub fn even_times(bound: &Bound, count: usize) -> Vec<f64> {
    let (t0, t_end) = (bound.problem.t0, bound.problem.t_end);
    let mut times: Vec<f64> = (1..count).map(|i| t0 + (t_end - t0) * (i as f64 / count as f64)).collect();
    times.push(t_end);
    times
}

/// For each unknown, absolute over relative tolerance of the run.
pub fn scales(bound: &Bound) -> Vec<f64> {
    let atol = |k: usize| *bound.options.atol.get(k).or(bound.options.atol.first()).unwrap_or(&0.0);
    (0..bound.problem.y0.len()).map(|k| atol(k) / bound.options.rtol).collect()
}

/// The error of rows: the largest |y - ref| / (max |ref| + atol/rtol) over all unknowns and rows, where the maximum is that
/// of the unknown in `reference` and at the start; infinite if rows are missing or not finite. A division by |ref|
/// would magnify errors where the solution passes zero.
pub fn error(bound: &Bound, rows: &[Row], reference: &[Row]) -> f64 {
    if rows.len() != reference.len() {
        return f64::INFINITY;
    }
    let mut sizes: Vec<f64> = bound.problem.y0.iter().map(|y| y.abs()).collect();
    for (_, y) in reference {
        sizes.iter_mut().zip(y).for_each(|(size, y)| *size = size.max(y.abs()));
    }
    sizes.iter_mut().zip(scales(bound)).for_each(|(size, scale)| *size += scale);
    let mut largest = 0.0f64;
    for ((_, y), (_, expected)) in rows.iter().zip(reference) {
        for ((v, e), size) in y.iter().zip(expected).zip(&sizes) {
            let difference = (v - e).abs();
            if difference != 0.0 {
                let error = difference / size;
                if !(error <= largest) {
                    largest = if error.is_finite() { error } else { return f64::INFINITY };
                }
            }
        }
    }
    largest
}

/// An accurate run.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Its method.
    pub method: &'static str,
    /// Its relative tolerance.
    pub rtol: f64,
    /// Its difference to a run with ten times the tolerance: an estimate of its error, usually too large.
    pub error: f64,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// Solves a model as accurately as possible, with rows at `times`.
///
/// # Errors
/// No method reaches the end.
pub fn accurate(bound: &Bound, times: &[f64], stop: &dyn Fn() -> bool) -> Result<Reference, Unfinished> {
    let scales = scales(bound);
    let samples = Samples::Times(times.to_vec());
    let mut last = None;
    let mut best: Option<Reference> = None;
    for rtol in TIGHT {
        for (names, budget) in [(NONSTIFF, STIFF_STEPS), (STIFF, BUDGET)] {
            // the run for comparison has a limited budget
            let budget = if best.is_some() { STIFF_STEPS } else { budget };
            let Some(method) = names.iter().find_map(|name| method::find(name).ok()) else { continue };
            let attempt = |rtol: f64| {
                let atol = scales.iter().map(|s| s * rtol).collect();
                let options = Options { rtol, atol, max_steps: budget, ..Options::default() };
                match run(bound, method, &options, &samples, stop) {
                    (_, Ok(outcome)) if outcome.stop == Stop::Interrupted => Err(Unfinished::Interrupted),
                    (rows, Ok(_)) => Ok(rows),
                    (_, Err(e)) => Err(Unfinished::Failed(e)),
                }
            };
            match attempt(rtol).and_then(|rows| Ok((rows, attempt(10.0 * rtol)?))) {
                Ok((rows, looser)) => {
                    let error = error(bound, &looser, &rows);
                    if best.as_ref().is_none_or(|b| error < b.error) {
                        best = Some(Reference { method: method.name, rtol, error, rows });
                    }
                    if error <= GOOD {
                        break;
                    }
                }
                Err(Unfinished::Interrupted) => return Err(Unfinished::Interrupted),
                Err(why) => last = Some(why),
            }
        }
        if let Some(best) = best {
            return Ok(best);
        }
    }
    Err(last.unwrap_or(Unfinished::Interrupted))
}

/// A fast run of ordinary accuracy, with rows at `times`, independent of the method of the model.
///
/// # Errors
/// No method reaches the end.
pub fn ordinary(bound: &Bound, times: &[f64], stop: &dyn Fn() -> bool) -> Result<Vec<Row>, Unfinished> {
    const RTOL: f64 = 1e-6;
    let mut last = None;
    for names in [STIFF, NONSTIFF] {
        let Some(method) = names.iter().find_map(|name| method::find(name).ok()) else { continue };
        let atol = scales(bound).iter().map(|s| s * RTOL).collect();
        let options = Options { rtol: RTOL, atol, max_steps: BUDGET, ..Options::default() };
        match run(bound, method, &options, &Samples::Times(times.to_vec()), stop) {
            (_, Ok(outcome)) if outcome.stop == Stop::Interrupted => return Err(Unfinished::Interrupted),
            (rows, Ok(_)) => return Ok(rows),
            (_, Err(e)) => last = Some(Unfinished::Failed(e)),
        }
    }
    Err(last.unwrap_or(Unfinished::Interrupted))
}
