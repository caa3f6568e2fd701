//! How far errors of the runs shift the result of a fit. Errors of the rows alone do not show this: where they grow, the
//! effects of the parameters grow too, and the result may be right.

use nalgebra::{DMatrix, DVector};
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_ode::method::auto::METHOD;

use super::descent::decomposed;
use super::problem::FitPoint;
use super::{Fit, number};

/// Tolerances of the runs that show the errors, relative to those of the fit.
const TIGHTER: f64 = 0.01;
/// Smallest relative tolerance of a run.
const TIGHTEST_RTOL: f64 = 1e-13;
/// A larger part of the tolerance shows no errors.
const LARGEST_PART: f64 = 0.2;
/// A shift by this many relative tolerances does not matter.
const TOLERATED: f64 = 10.0;

impl Fit {
    /// The changes of the inner values at the minimum if the runs are more accurate; 0 for those on a bound. `None` if
    /// they cannot be determined.
    fn shifts(&self, point: &[f64], found: &FitPoint) -> Option<Vec<f64>> {
        let part = TIGHTER.max(TIGHTEST_RTOL / self.rtol());
        if part > LARGEST_PART {
            return None;
        }
        let exact = self.evaluate_with(point, part, &|| false).ok()?.ok()?;
        let sizes = self.sizes(point);
        let bounded = |j: &usize| found.estimate.bounded.iter().any(|(k, _)| k == j);
        let free: Vec<usize> = (0..point.len()).filter(|j| !bounded(j)).collect();
        let m = exact.residuals.len();
        let scaled = DMatrix::from_fn(m, free.len(), |i, k| exact.jacobian[(i, free[k])] * sizes[free[k]]);
        let (u, s, vt) = decomposed(scaled)?;
        let b = u.transpose() * (&exact.residuals - &found.evaluation.residuals);
        // the data do not determine the other combinations
        let along = |k: usize| if s[k] > self.rank() * s.max() { -b[k] / s[k] } else { 0.0 };
        let q = vt.transpose() * DVector::from_fn(s.len(), |k, _| along(k));
        let mut shifts = vec![0.0; point.len()];
        free.iter().enumerate().for_each(|(k, &j)| shifts[j] = q[k] * sizes[j]);
        Some(shifts)
    }

    /// The warning about the parameter that errors of the runs shift most, relative to its standard error.
    pub(super) fn shifted(&self, point: &[f64], found: &FitPoint) -> Option<Diagnostic> {
        let sizes = self.sizes(point);
        let limit = |j: usize| {
            let error = found.estimate.error(j);
            // no error is known without degrees of freedom
            let error = if error.is_nan() { 0.0 } else { error };
            error.max(TOLERATED * self.rtol() * sizes[j])
        };
        let shifts = self.shifts(point, found)?;
        let times = |j: usize| shifts[j].abs() / limit(j);
        let j = (0..point.len()).filter(|j| times(*j) > 1.0).max_by(|a, b| times(*a).total_cmp(&times(*b)))?;
        let q = &self.quantities()[j];
        let outer = if q.logarithmic() { shifts[j].abs() * found.values[j].abs() } else { shifts[j].abs() };
        let two = |x: f64| number(format!("{x:.1e}").parse().unwrap_or(x));
        let error = found.estimate.error(j);
        let compared = if error > 0.0 {
            format!(", {} times its standard error", two(shifts[j].abs() / error))
        } else {
            String::new()
        };
        let headline = format!("errors of the runs shift `{}` by about {}{compared}", q.name, two(outer));
        let wanted = 10f64.powf((self.rtol() / times(j)).log10().floor()).max(TIGHTEST_RTOL);
        let named = self.simulation(0).is_some_and(|simulation| simulation.bound().choice.method.name != METHOD.name);
        let method = if named { "leave out the method: `--method auto`, or " } else { "" };
        let help = format!(
            "the tolerance bounds the error of each step, and not their sum: {method}set a smaller tolerance: `--rtol {}`",
            number(wanted)
        );
        Some(Diagnostic::warning(&codes::W0858, headline).help(help))
    }
}
