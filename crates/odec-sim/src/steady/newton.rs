//! Newton's method on f = 0 and the totals of the start, damped by the natural monotonicity test (P. Deuflhard, Newton
//! Methods for Nonlinear Problems (2004), 3.1), and the criterion for a solution.
//!
//! With r conserved combinations w, the step d solves J d + W m = -f, V d = totals - V y with V = W^T M. This matrix
//! is regular if the steady state is isolated among the states with these totals.

use nalgebra::{DMatrix, DVector, Dyn, LU};
use odec_ir::rounded::Rounded;
use odec_ode::evaluator::all_finite;

use super::Search;
use crate::spectrum::Pencil;

/// Largest number of Newton steps.
const STEPS: usize = 200;
/// Smallest damping factor of a Newton step.
const SHORTEST: f64 = 1e-6;
/// The last Newton step changes a component by at most this fraction of it, or by this fraction of its absolute
/// tolerance.
pub(super) const EXACT: f64 = 1e-8;
pub(super) const SMALL: f64 = 1e-3;
/// Steps smaller than this fraction of the tolerances continue only while they shrink.
const CLOSE: f64 = 1e-2;
/// Number of error bounds within which f counts as zero.
const SLACK: f64 = 8.0;
/// An equilibrated matrix is singular if its smallest singular value is below this fraction of the largest.
const SINGULAR: f64 = 1e-13;
/// Steps that shrink by ratios in this range, this many times in a row, converge to a multiple root.
const SLOW: (f64, f64) = (0.3, 0.9);
const OFTEN: usize = 3;
/// Accuracy of left null vectors.
const VECTORS: f64 = 1e-12;
/// Number of equilibrations of rows and columns.
const SWEEPS: usize = 3;

/// The factored linear system of a Newton step, with equilibrated rows and columns.
struct Linear {
    lu: LU<f64, Dyn, Dyn>,
    rows: Vec<f64>,
    cols: Vec<f64>,
}

impl Linear {
    /// The step for a right-hand side.
    fn solve(&self, right: &DVector<f64>, n: usize) -> Option<DVector<f64>> {
        let scaled = DVector::from_iterator(right.len(), right.iter().zip(&self.rows).map(|(b, s)| b / s));
        let mut x = self.lu.solve(&scaled)?;
        x.iter_mut().zip(&self.cols).for_each(|(x, s)| *x /= s);
        let step = x.rows(0, n).into_owned();
        all_finite(step.as_slice()).then_some(step)
    }
}

/// Equilibrates rows and columns; returns the divisors.
fn equalise(matrix: &mut DMatrix<f64>) -> (Vec<f64>, Vec<f64>) {
    let (mut rows, mut cols) = (vec![1.0; matrix.nrows()], vec![1.0; matrix.ncols()]);
    for _ in 0..SWEEPS {
        for (mut row, scale) in matrix.row_iter_mut().zip(&mut rows) {
            let size = row.amax().sqrt();
            if size > 0.0 {
                row /= size;
                *scale *= size;
            }
        }
        for (mut column, scale) in matrix.column_iter_mut().zip(&mut cols) {
            let size = column.amax().sqrt();
            if size > 0.0 {
                column /= size;
                *scale *= size;
            }
        }
    }
    (rows, cols)
}

impl Search<'_> {
    /// The matrix of a Newton step at y.
    fn bordered(&self, y: &[f64]) -> Option<DMatrix<f64>> {
        let jacobian = Pencil::at(self.executor, self.t, y)?.jacobian;
        let (n, r) = (y.len(), self.weights.nrows());
        let mut matrix = jacobian.resize(n + r, n + r, 0.0);
        matrix.view_mut((n, 0), (r, n)).copy_from(&self.weights);
        matrix.view_mut((0, n), (n, r)).copy_from(&self.null.transpose());
        Some(matrix)
    }

    /// The right-hand side: -f, and the deviations of the totals.
    fn right(&self, y: &[f64]) -> Option<DVector<f64>> {
        let f = self.f(y)?;
        let off = &self.totals - &self.weights * DVector::from_column_slice(y);
        Some(DVector::from_iterator(f.len() + off.len(), f.iter().map(|f| -f).chain(off.iter().copied())))
    }

    fn linear(&self, y: &[f64]) -> Option<Linear> {
        let mut matrix = self.bordered(y)?;
        let (rows, cols) = equalise(&mut matrix);
        all_finite(matrix.as_slice()).then(|| Linear { lu: matrix.lu(), rows, cols })
    }

    /// The Newton step at y; `None` if it is not finite.
    pub(super) fn newton_step(&self, y: &[f64]) -> Option<DVector<f64>> {
        self.linear(y)?.solve(&self.right(y)?, y.len())
    }

    /// The uncertainty of a steady state because of f and its rounding, as a Newton step; `None` if it is undetermined.
    pub(super) fn blur(&self, y: &[f64]) -> Option<DVector<f64>> {
        let mut right = self.right(y)?;
        for (right, f) in right.iter_mut().zip(self.rounded.bounded(self.t, y)) {
            *right = right.abs() + f.error;
        }
        self.linear(y)?.solve(&right, y.len())
    }

    /// The size of a step in tolerances, as a root mean square.
    pub(super) fn size(&self, step: &DVector<f64>, y: &[f64]) -> f64 {
        let weight = |(k, y): (usize, &f64)| self.options.rtol * y.abs() + self.atol(k) + f64::MIN_POSITIVE;
        let sum: f64 = step.iter().zip(y.iter().enumerate()).map(|(s, y)| (s / weight(y)).powi(2)).sum();
        if sum.is_nan() { f64::INFINITY } else { (sum / y.len().max(1) as f64).sqrt() }
    }

    /// Newton's method from a state.
    pub(super) fn newton(&self, y: Vec<f64>) -> Option<Vec<f64>> {
        self.newton_by(y, true, &mut false)
    }

    /// Newton's method from a state, with or without jumps to the estimated position of a multiple root; sets
    /// `jumped_once` after a jump. Close simple roots look like one multiple root from afar, and a jump may end at
    /// any of them.
    pub(super) fn newton_by(&self, mut y: Vec<f64>, jumps: bool, jumped_once: &mut bool) -> Option<Vec<f64>> {
        let n = y.len();
        let (mut before, mut slow) = (f64::INFINITY, 0);
        for _ in 0..STEPS {
            let right = self.right(&y)?;
            if right.iter().all(|r| *r == 0.0) {
                return self.accepted(y);
            }
            let linear = self.linear(&y)?;
            let Some(step) = linear.solve(&right, n) else { return self.accepted(y) };
            let size = self.size(&step, &y);
            if size <= CLOSE && size > SLOW.1 * before {
                return self.accepted(y);
            }
            if jumps
                && slow >= OFTEN
                && let Some(jumped) = self.beyond(&y, &step, size / before)
            {
                (y, before, slow) = (jumped, f64::INFINITY, 0);
                *jumped_once = true;
                continue;
            }
            let (next, part) = self.damped(&linear, &y, &step, size)?;
            let ratio = size / before;
            slow = if part == 1.0 && (SLOW.0..SLOW.1).contains(&ratio) { slow + 1 } else { 0 };
            before = if part == 1.0 { size } else { f64::INFINITY };
            if size == 0.0 || next == y {
                return self.accepted(next);
            }
            y = next;
        }
        self.accepted(y)
    }

    /// The damping factor of the Newton step: the next step with the same matrix is shorter.
    fn damped(&self, linear: &Linear, y: &[f64], step: &DVector<f64>, size: f64) -> Option<(Vec<f64>, f64)> {
        let mut part = 1.0;
        while part >= SHORTEST {
            let next: Vec<f64> = y.iter().zip(step.iter()).map(|(y, s)| y + part * s).collect();
            if let Some(right) = self.right(&next) {
                let after = linear.solve(&right, y.len()).map_or(f64::INFINITY, |step| self.size(&step, y));
                if after <= (1.0 - 0.25 * part) * size || size <= CLOSE {
                    return Some((next, part));
                }
            }
            part *= 0.5;
        }
        None
    }

    /// The limit of steps that shrink by a constant ratio: a root of order m has the ratio 1 - 1/m. `None` unless f
    /// is smaller there than after the step.
    fn beyond(&self, y: &[f64], step: &DVector<f64>, ratio: f64) -> Option<Vec<f64>> {
        let order = (1.0 / (1.0 - ratio)).round();
        let at = |part: f64| y.iter().zip(step.iter()).map(|(y, s)| y + part * s).collect::<Vec<f64>>();
        let (jumped, stepped) = (at(order), at(1.0));
        let (there, here) = (self.right(&jumped)?, self.right(&stepped)?);
        (there.amax() <= here.amax()).then_some(jumped)
    }

    /// Returns y if it is a steady state; components that are zero up to rounding become zero if f does not grow.
    pub(super) fn accepted(&self, mut y: Vec<f64>) -> Option<Vec<f64>> {
        if !self.is_steady(&y)? {
            return None;
        }
        let mut residual = self.right(&y)?.amax();
        for k in 0..y.len() {
            if y[k] != 0.0 && y[k].abs() <= SMALL * SMALL * self.atol(k) {
                let kept = std::mem::replace(&mut y[k], 0.0);
                match self.right(&y).map(|right| right.amax()).filter(|now| *now <= residual) {
                    Some(now) => residual = now,
                    None => y[k] = kept,
                }
            }
        }
        Some(y)
    }

    /// True if y is a steady state: f is zero up to rounding and the effect of the tolerances of the states, and
    /// Newton's step is within the tolerances; if the matrix is singular, f has no component that a step cannot
    /// remove.
    fn is_steady(&self, y: &[f64]) -> Option<bool> {
        let n = y.len();
        let f = self.rounded.bounded(self.t, y);
        if f.iter().any(|f| !f.is_finite()) {
            return None;
        }
        let matrix = self.bordered(y)?;
        let right = self.right(y)?;
        let mut noise = DVector::zeros(right.len());
        for i in 0..n {
            let row = |j: usize| matrix[(i, j)].abs();
            let Rounded { value, error } = f[i];
            noise[i] = SLACK * (error + (0..n).map(|j| f64::EPSILON * row(j) * y[j].abs()).sum::<f64>());
            let permitted: f64 = (0..n).map(|j| row(j) * self.tolerance(j, y[j])).sum();
            if !(value.abs() <= noise[i] + permitted) {
                return Some(false);
            }
        }
        for k in n..right.len() {
            let sizes = |j: usize| (matrix[(k, j)] * y[j]).abs();
            let start = |j: usize| (matrix[(k, j)] * self.y0[j]).abs();
            noise[k] = SLACK * f64::EPSILON * n as f64 * (0..n).map(|j| sizes(j) + start(j)).sum::<f64>();
        }
        let mut equal = matrix;
        let (rows, cols) = equalise(&mut equal);
        let svd = equal.clone().svd(true, false);
        let least = SINGULAR * svd.singular_values.max();
        let singular: Vec<usize> =
            (0..svd.singular_values.len()).filter(|k| svd.singular_values[*k] <= least).collect();
        if singular.is_empty() {
            let step = Linear { lu: equal.lu(), rows, cols }.solve(&right, n)?;
            return Some(
                step.iter().enumerate().all(|(k, s)| s.abs() <= self.tolerance(k, y[k]).max(4.0 * f64::MIN_POSITIVE)),
            );
        }
        let u = svd.u?;
        Some(singular.into_iter().all(|k| {
            let parts = || (0..right.len()).map(|i| (u[(i, k)] * right[i] / rows[i], u[(i, k)] * noise[i] / rows[i]));
            let sum: f64 = parts().map(|(part, _)| part).sum();
            let permitted: f64 = parts().map(|(part, noise)| noise.abs() + VECTORS * part.abs()).sum();
            sum.abs() <= permitted
        }))
    }
}
