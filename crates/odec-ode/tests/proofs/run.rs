//! Runs of the proof problems: rows collected, errors measured, slopes fitted.

use std::ops::ControlFlow;

use odec_ode::{Method, Options, Outcome, Problem, Samples, Sink, SolveError, System, solve};

use super::problems::Proof;

/// Number of times at which the test computes the error.
pub const SAMPLES: usize = 20;

/// Keeps every row.
#[derive(Default)]
pub struct Rows(pub Vec<(f64, Vec<f64>)>);

impl Sink for Rows {
    fn row(&mut self, t: f64, y: &[f64]) -> ControlFlow<()> {
        self.0.push((t, y.to_vec()));
        ControlFlow::Continue(())
    }
}

/// Points at which the test computes the error: at the ends of the intervals between multiples of t_end/20, or inside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum At {
    /// The multiples themselves; steps that divide them end there.
    Grid,
    /// One point in each interval, at a different position in each.
    Inside,
}

pub fn times(proof: &Proof, at: At) -> Vec<f64> {
    let part = proof.t_end / SAMPLES as f64;
    (1..=SAMPLES)
        .map(|k| match at {
            At::Grid if k == SAMPLES => proof.t_end,
            At::Grid => part * k as f64,
            // The golden ratio distributes the positions inside a step evenly for any number of steps.
            At::Inside => part * (k as f64 - (k as f64 * 0.618_033_988_749_895).fract()),
        })
        .collect()
}

/// Runs `method` on a proof problem, on `system`, which may be a modified form of it: outcome and largest error over
/// the samples.
pub fn run(
    system: &dyn System,
    proof: &Proof,
    method: &'static Method,
    options: &Options,
    at: At,
) -> Result<(Outcome, f64), SolveError> {
    let problem = Problem { t0: 0.0, t_end: proof.t_end, y0: proof.exact(0.0) };
    let mut rows = Rows::default();
    let outcome = solve(system, &problem, method, options, &Samples::Times(times(proof, at)), &mut rows)?;
    assert_eq!(rows.0.len(), SAMPLES, "{} on {}: rows are missing", method.name, proof.name);
    let error = rows.0.iter().map(|(t, y)| distance(y, &proof.exact(*t))).fold(0.0, f64::max);
    Ok((outcome, error))
}

/// Largest difference of components; NaN counts as infinite.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, |m, d| if d.is_nan() { f64::INFINITY } else { m.max(d) })
}

/// Least-squares slope of y over x.
pub fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let (mut sxy, mut sxx) = (0.0, 0.0);
    for (x, y) in points {
        sxy += (x - mx) * (y - my);
        sxx += (x - mx) * (x - mx);
    }
    sxy / sxx
}
