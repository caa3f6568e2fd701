//! Observed order of a method on a model: errors of constant steps against an accurate run, and the line through them.

use odec_ode::method::Method;
use odec_ode::problem::{Options, Samples, SolveError, Stop};

use crate::bind::Bound;
use crate::reference::{Reference, Unfinished, accurate, error, even_times, run, scales};

/// Number of times at which errors are measured; each is the end of a step for all step sizes.
pub const TIMES: usize = 20;
/// Largest number of steps between two of these times.
const MOST: u64 = 1 << 15;
/// Errors above this are not yet asymptotic ...
const LARGEST: f64 = 1e-3;
/// ... and errors below this are dominated by rounding.
const SMALLEST: f64 = 1e-11;
/// Errors must exceed the error of the reference by this factor.
const ABOVE_REFERENCE: f64 = 20.0;
/// Number of points within the bounds that is enough.
const ENOUGH: usize = 8;
/// The line is fitted to the errors of this many smallest steps, where the leading term dominates.
const FITTED: usize = 4;
/// Smallest number of points for a line.
const MIN_POINTS: usize = 3;
/// Relative tolerance of iterations within a step, so that only the step size determines the error.
const WITHIN_STEP: f64 = 1e-12;

/// One run.
#[derive(Clone, Debug)]
pub struct StepRun {
    /// Number of steps.
    pub steps: u64,
    /// Step size.
    pub h: f64,
    /// Largest error; infinite if the run failed.
    pub error: f64,
}

/// The line ln(error) = order ln(h) + constant.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// Slope.
    pub order: f64,
    /// ln(error) at h = 1.
    pub constant: f64,
    /// Indices of the first and the last fitted point.
    pub range: (usize, usize),
}

/// The result of a convergence study.
#[derive(Clone, Debug)]
pub struct Study {
    /// The accurate run.
    pub reference: Reference,
    /// From large to small steps.
    pub points: Vec<StepRun>,
    /// The line, if there are enough points.
    pub fit: Option<Fit>,
}

/// Halves the step size until the errors show the order, or rounding.
///
/// # Errors
/// The model cannot be solved accurately, or the method refuses it.
pub fn study(bound: &Bound, method: &'static Method, stop: &dyn Fn() -> bool) -> Result<Study, Unfinished> {
    let times = even_times(bound, TIMES);
    let span = (bound.problem.t_end - bound.problem.t0).abs();
    let scales = scales(bound);
    let options = |steps: u64| Options {
        step: Some(span / steps as f64),
        fixed: true,
        rtol: WITHIN_STEP,
        atol: scales.iter().map(|s| s * WITHIN_STEP).collect(),
        ..Options::default()
    };
    // a method that refuses the model does so before the reference run
    let tiny = bound.problem.t0 + (bound.problem.t_end - bound.problem.t0) * 1e-12;
    if let (_, Err(SolveError::Refused(refusal))) =
        run(bound, method, &options(TIMES as u64), &Samples::Times(vec![tiny]), &|| true)
    {
        return Err(Unfinished::Failed(SolveError::Refused(refusal)));
    }
    let reference = accurate(bound, &times, stop)?;
    let floor = SMALLEST.max(ABOVE_REFERENCE * reference.error);
    let samples = Samples::Times(times);
    let mut points: Vec<StepRun> = vec![];
    let mut between = 1;
    while between <= MOST {
        let steps = TIMES as u64 * between;
        let (rows, result) = run(bound, method, &options(steps), &samples, stop);
        let error = match result {
            Ok(outcome) if outcome.stop == Stop::Interrupted => return Err(Unfinished::Interrupted),
            Ok(_) => error(&rows, &reference.rows, &scales),
            Err(SolveError::Refused(refusal)) => return Err(Unfinished::Failed(SolveError::Refused(refusal))),
            Err(SolveError::Failed(_)) => f64::INFINITY,
        };
        points.push(StepRun { steps, h: span / steps as f64, error });
        let inside = points.iter().filter(|p| p.error <= LARGEST && p.error >= floor).count();
        if error < floor || inside >= ENOUGH {
            break;
        }
        between *= 2;
    }
    let fit = fit(&points, floor);
    Ok(Study { reference, points, fit })
}

/// The least-squares line through the last points within the bounds.
fn fit(points: &[StepRun], floor: f64) -> Option<Fit> {
    let usable = |top: f64| -> Vec<usize> {
        (0..points.len()).filter(|k| points[*k].error <= top && points[*k].error >= floor).collect()
    };
    let mut chosen = usable(LARGEST);
    if chosen.len() < MIN_POINTS {
        chosen = usable(100.0 * LARGEST);
    }
    let chosen = &chosen[chosen.len().saturating_sub(FITTED)..];
    if chosen.len() < MIN_POINTS {
        return None;
    }
    let logs: Vec<(f64, f64)> = chosen.iter().map(|k| (points[*k].h.ln(), points[*k].error.ln())).collect();
    let n = logs.len() as f64;
    let (mx, my) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    let (sxy, sxx) = logs.iter().fold((0.0, 0.0), |(a, b), p| (a + (p.0 - mx) * (p.1 - my), b + (p.0 - mx).powi(2)));
    let order = sxy / sxx;
    Some(Fit { order, constant: my - order * mx, range: (chosen[0], chosen[chosen.len() - 1]) })
}
