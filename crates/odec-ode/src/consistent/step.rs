//! Checks the algebraic unknowns after a step: are they far from a solution of their equations, or on another solution?

use super::{Consistent, Sparse};
use crate::evaluator::Evaluator;

/// A step is bad if an unknown is this many tolerances away from a solution of its equation.
const OFF: f64 = 4.0;
/// A residual is negligible if a change of the unknowns by this fraction of their tolerances explains it.
const NEGLIGIBLE: f64 = 1e-2;
/// Above this size, a residual is examined even if the Jacobian has not changed.
const LARGE: f64 = 0.25;
/// An equation is strongly nonlinear if its coefficients change by more than this fraction within a step.
const CHANGED: f64 = 0.5;
/// Rounding error of a residual, in units of rounding of its terms.
const UNITS: f64 = 64.0;

/// Result of the check of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No fault was found, or the check was not possible.
    Met,
    /// An unknown is far from a solution of its equations.
    Off,
    /// This unknown, and those that depend on it, are on a different solution than before the step.
    OtherBranch(usize),
}

impl Consistent {
    /// Compares the algebraic unknowns at both ends of a step.
    pub(crate) fn check_step(&mut self, eval: &mut Evaluator<'_>, from: (f64, &[f64]), to: (f64, &[f64])) -> Verdict {
        if !self.branches.has_signs_at(from.1) {
            if self.matrix.evaluate(eval, from.0, from.1).is_err() {
                return Verdict::Met;
            }
            self.reduced.values(self.matrix.jacobian(), &mut self.entries);
            self.branches.store_signs(&self.entries, from.1);
        }
        let (t, y) = to;
        if self.matrix.evaluate(eval, t, y).is_err() {
            return Verdict::Met;
        }
        self.reduced.values(self.matrix.jacobian(), &mut self.entries);
        let other =
            self.branches.sign_change(&self.entries).or_else(|| self.branches.passes_a_pole(eval, t, from.1, y));
        if let Some(unknown) = other {
            return Verdict::OtherBranch(unknown);
        }
        if self.is_off(eval, t, y) { Verdict::Off } else { Verdict::Met }
    }

    /// Accepts the step: the next one begins at `y`, the end of the step that was tried last.
    pub(crate) fn accept_step(&mut self, y: &[f64]) {
        if !self.entries.is_empty() {
            self.branches.store_signs(&self.entries, y);
        }
    }

    /// True if an unknown at (t, y) is further from a solution of its equation than `OFF` tolerances. The Jacobian
    /// shows this: a residual |g_i| exceeds the sum of |dg_i/dz_j| times the tolerances of the z_j. If the residual
    /// is large, or the Jacobian has changed much since the last call and may change as much again before the
    /// solution, Newton's method computes the solution. False if the equations cannot be evaluated.
    fn is_off(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> bool {
        let Some(pattern) = eval.system().jacobian().pattern() else { return false };
        if eval.rhs(t, y, &mut self.f).is_err() {
            return false;
        }
        self.tolerances.weights(y, &mut self.weights);
        if self.previous_entries.len() != self.entries.len() {
            self.previous_entries.clone_from(&self.entries);
        }
        // permitted residual (by the tolerances), rounding error of the residual, and change of the permitted residual
        for row in [&mut self.tried, &mut self.next, &mut self.change] {
            row.fill(0.0);
        }
        for ((row, col), j) in pattern.positions().zip(self.matrix.jacobian()) {
            self.next[row] += UNITS * f64::EPSILON * j.abs() * y[col].abs();
        }
        // a combination of unknowns may move until one of the unknowns has moved by its tolerance
        let weights = &self.weights;
        let tolerance = |z: &Sparse| z.iter().fold(0.0f64, |most, (i, x)| most.max(x.abs() * weights[*i])).recip();
        for ((&(k, l), j), previous_entries) in
            self.reduced.cells.iter().zip(&self.entries).zip(&mut self.previous_entries)
        {
            let tolerance = tolerance(&self.right[l]);
            self.tried[k] += j.abs() * tolerance;
            self.change[k] += (j - std::mem::replace(previous_entries, *j)).abs() * tolerance;
        }
        let (mut off, mut bends) = (false, false);
        for (k, combination) in self.left.iter().enumerate() {
            let total = |of: &[f64]| combination.iter().map(|(i, x)| x * of[*i]).sum::<f64>();
            let rounding: f64 = combination.iter().map(|(i, x)| x.abs() * self.next[*i]).sum();
            let residual = (total(&self.f).abs() - rounding).max(0.0);
            off |= residual > OFF * self.tried[k];
            self.varies |= self.change[k] != 0.0;
            let bent = self.change[k] > CHANGED * self.tried[k];
            bends |= residual > self.tried[k] * if bent { NEGLIGIBLE } else { LARGE };
        }
        if off || !bends {
            return off;
        }
        let mut there = y.to_vec();
        self.refine(eval, t, &mut there).is_ok() && self.distance(y, &there) > OFF
    }
}
