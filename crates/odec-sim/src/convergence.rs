//! Observed order of a method on a model: errors of constant steps against an accurate run, and the line through them.

use odec_ode::method::Method;
use odec_ode::problem::{Options, Samples, SolveError, Stop};

use crate::bind::Bound;
use crate::reference::{Reference, Unfinished, accurate, error, even_times, run, scales};

/// Numbers of times at which errors are measured; each is the end of a step for all step sizes. The second number is
/// used if so many steps are already accurate to rounding errors; it divides the first.
const TIMES: [usize; 2] = [20, 4];
/// Largest number of steps between two of these times.
const MOST: u64 = 1 << 15;
/// Errors above this are not yet asymptotic ...
const LARGEST: f64 = 1e-3;
/// ... and errors below this are dominated by rounding.
const SMALLEST: f64 = 3e-12;
/// Errors must exceed the error of the reference by this factor.
const ABOVE_REFERENCE: f64 = 20.0;
/// Number of points within the bounds that is enough.
const ENOUGH: usize = 8;
/// The line is fitted to the errors of this many smallest steps, where the leading term dominates.
const FITTED: usize = 4;
/// Smallest number of points for a line.
const MIN_POINTS: usize = 3;
/// Below this, iterations within a step may dominate the errors. They do if the order from one step size to the next
/// falls below a fraction.
const MAY_BE_ROUNDING: (f64, f64) = (1e-8, 0.85);
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
pub struct ErrorLine {
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
    /// Number of times at which errors were measured.
    pub times: usize,
    /// From large to small steps.
    pub points: Vec<StepRun>,
    /// The line, if there are enough points.
    pub fit: Option<ErrorLine>,
}

/// Halves the step size until the errors show the order, or rounding.
///
/// # Errors
/// The model cannot be solved accurately, or the method refuses it.
pub fn study(bound: &Bound, method: &'static Method, stop: &dyn Fn() -> bool) -> Result<Study, Unfinished> {
    let [many, few] = TIMES;
    let span = (bound.problem.t_end - bound.problem.t0).abs();
    let options = |steps: u64| Options {
        step: Some(span / steps as f64),
        fixed: true,
        rtol: WITHIN_STEP,
        atol: scales(bound).iter().map(|s| s * WITHIN_STEP).collect(),
        ..Options::default()
    };
    // a method that refuses the model does so before the reference run
    let tiny = bound.problem.t0 + (bound.problem.t_end - bound.problem.t0) * 1e-12;
    if let (_, Err(SolveError::Refused(refusal))) =
        run(bound, method, &options(many as u64), &Samples::Times(vec![tiny]), &|| true)
    {
        return Err(Unfinished::Failed(SolveError::Refused(refusal)));
    }
    let mut reference = accurate(bound, &even_times(bound, many), stop)?;
    let floor = SMALLEST.max(ABOVE_REFERENCE * reference.error);
    let mut times = many;
    loop {
        let points = halved(bound, method, &reference, (&options, floor), stop)?;
        let fit = fit(&points, floor);
        let accurate = points.first().is_some_and(|first| first.error <= LARGEST);
        if fit.is_some() || !accurate || times == few {
            return Ok(Study { reference, times, points, fit });
        }
        times = few;
        let every = many / few;
        reference.rows = reference.rows.into_iter().skip(every - 1).step_by(every).collect();
    }
}

/// Runs with more and more steps until the errors at the times of the reference show the order, or rounding.
fn halved(
    bound: &Bound,
    method: &'static Method,
    reference: &Reference,
    (options, floor): (&dyn Fn(u64) -> Options, f64),
    stop: &dyn Fn() -> bool,
) -> Result<Vec<StepRun>, Unfinished> {
    let span = (bound.problem.t_end - bound.problem.t0).abs();
    let samples = Samples::Times(reference.rows.iter().map(|row| row.0).collect());
    let mut points: Vec<StepRun> = vec![];
    let mut between = 1;
    while between <= MOST {
        let steps = reference.rows.len() as u64 * between;
        let (rows, result) = run(bound, method, &options(steps), &samples, stop);
        let error = match result {
            Ok(outcome) if outcome.stop == Stop::Interrupted => return Err(Unfinished::Interrupted),
            Ok(_) => error(bound, &rows, &reference.rows),
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
    Ok(points)
}

/// The number of points before the errors stop to decrease because of iterations within steps.
fn asymptotic(points: &[StepRun]) -> usize {
    let order = |k: usize| (points[k - 1].error / points[k].error).ln() / (points[k - 1].h / points[k].h).ln();
    let (below, part) = MAY_BE_ROUNDING;
    let collapses = |&k: &usize| points[k].error < below && order(k) < part * order(k - 1);
    (MIN_POINTS..points.len()).find(collapses).unwrap_or(points.len())
}

/// The least-squares line through the last points within the bounds.
fn fit(points: &[StepRun], floor: f64) -> Option<ErrorLine> {
    let most = asymptotic(points);
    let usable = |top: f64| -> Vec<usize> {
        (0..most).filter(|k| points[*k].error <= top && points[*k].error >= floor).collect()
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
    Some(ErrorLine { order, constant: my - order * mx, range: (chosen[0], chosen[chosen.len() - 1]) })
}
