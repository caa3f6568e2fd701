//! The eigenvalues of a model along a run, with the step of a method at each point.

use odec_ode::problem::{Samples, Stop};

use crate::bind::Bound;
use crate::reference::{self, Row, Unfinished};
use crate::spectrum::{self, Spectrum};
use crate::stability::{Amplification, C, parts_of_step};

/// Number of points of a run at which eigenvalues are computed.
const POINTS: usize = 400;
/// Largest excess of |R| over 1 that counts as rounding of the eigenvalues.
const GROWTH: f64 = 1e-7;

/// The eigenvalues along a run, with the step at each point.
pub struct RunEigenvalues {
    /// The eigenvalues at each point.
    pub spectra: Vec<Spectrum>,
    /// The steps over which the formula of the method is applied, with the sign of the direction: half steps in step
    /// doubling.
    pub steps: Vec<f64>,
    /// Number of rows whose eigenvalues could not be computed.
    pub skipped: usize,
}

impl RunEigenvalues {
    /// With constant steps, along the accurate solution; otherwise along the steps of the method.
    ///
    /// # Errors
    /// A run fails, or the caller stops it.
    pub fn of(bound: &Bound, stop: &dyn Fn() -> bool) -> Result<RunEigenvalues, Unfinished> {
        let forward = bound.problem.t_end - bound.problem.t0;
        let (rows, steps): (Vec<Row>, Vec<f64>) = if let Some(h) = bound.options.step.filter(|_| bound.options.fixed) {
            let mut rows = vec![(bound.problem.t0, bound.problem.y0.clone())];
            rows.extend(reference::ordinary(bound, &reference::even_times(bound, POINTS / 2), stop)?);
            let steps = vec![h.copysign(forward); rows.len()];
            (rows, steps)
        } else {
            let (mut rows, result) = reference::run(bound, bound.choice.method, &bound.options, &Samples::Steps, stop);
            match result {
                Ok(outcome) if outcome.stop == Stop::Interrupted => return Err(Unfinished::Interrupted),
                Ok(_) => {}
                Err(e) => return Err(Unfinished::Failed(e)),
            }
            let parts = parts_of_step(bound);
            let mut steps: Vec<f64> = rows.windows(2).map(|w| (w[1].0 - w[0].0) / parts).collect();
            rows.pop();
            let every = rows.len().div_ceil(POINTS).max(1);
            rows = rows.into_iter().step_by(every).collect();
            steps = steps.into_iter().step_by(every).collect();
            (rows, steps)
        };
        let mut along = RunEigenvalues { spectra: vec![], steps: vec![], skipped: 0 };
        for ((t, y), h) in rows.iter().zip(steps) {
            match spectrum::at(&bound.executor, *t, y) {
                Some(spectrum) => {
                    along.spectra.push(spectrum);
                    along.steps.push(h);
                }
                None => along.skipped += 1,
            }
            if stop() {
                return Err(Unfinished::Interrupted);
            }
        }
        Ok(along)
    }

    /// All values h*lambda.
    pub fn points(&self) -> impl Iterator<Item = C> + '_ {
        self.spectra.iter().zip(&self.steps).flat_map(|(s, h)| s.values.iter().map(move |v| v * *h))
    }

    /// Number of points at which the method amplifies a mode that does not grow by itself.
    pub fn growing(&self, region: &Amplification) -> usize {
        let unstable = |z: &C| {
            let direction = spectrum::decaying(*z).filter(|d| region.defined(*d));
            direction.is_some_and(|d| region.at(d * z.norm()) > 1.0 + GROWTH)
        };
        self.spectra.iter().zip(&self.steps).filter(|(s, h)| s.values.iter().any(|v| unstable(&(v * **h)))).count()
    }
}
