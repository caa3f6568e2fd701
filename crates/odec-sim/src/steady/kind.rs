//! Eigenvalues at a steady state with their errors, and the type that follows from them.
//!
//! The error of an eigenvalue is the distance it moves if the entries of the matrices change by a few units of
//! rounding. The error is small for a slow eigenvalue of a stiff model, and large for one that only rounding keeps
//! from zero. The state changes as well, by its rounding and by Newton's step for the rounding of f: near a multiple
//! root this is much larger, because the slope is small there.

use nalgebra::DMatrix;

use super::{Search, Steady};
use crate::field::EquilibriumType;
use crate::points::uniform;
use crate::spectrum::Pencil;
use crate::stability::C;

/// Relative change of the entries.
const CHANGE: f64 = 2e-14;
/// Number of perturbations, and the factor from the largest move to the error.
const CHANGES: u64 = 3;
const SAFETY: f64 = 8.0;

impl Search<'_> {
    /// A steady state with its eigenvalues and type. Zero eigenvalues of conserved quantities are left out.
    pub(super) fn classified(&self, y: Vec<f64>, reached: bool) -> Steady {
        let values = self.eigenvalues(&y).unwrap_or_default();
        let kind = (!values.is_empty()).then(|| kind(&values));
        let residual = self.f(&y).map_or(f64::NAN, |f| f.amax());
        Steady { y, values, kind, residual, reached }
    }

    fn eigenvalues(&self, y: &[f64]) -> Option<Vec<(C, f64)>> {
        let pencil = Pencil::at(self.executor, self.t, y)?;
        let mut values: Vec<(C, f64)> = pencil.eigenvalues()?.into_iter().map(|v| (v, 0.0)).collect();
        let blur = self.blur(y);
        for turn in 0..CHANGES {
            let moved = |(k, y): (usize, &f64)| {
                let far = CHANGE * y.abs() + blur.as_ref().map_or(0.0, |blur| blur[k].abs());
                y + far * (2.0 * uniform(2 * turn, k as u64) - 1.0)
            };
            let beside: Vec<f64> = y.iter().enumerate().map(moved).collect();
            let mut changed = match Pencil::at(self.executor, self.t, &beside) {
                Some(beside) => beside.eigenvalues_changed(turn)?,
                None => pencil.eigenvalues_changed(turn)?,
            };
            if changed.len() != values.len() {
                return None;
            }
            // assign the nearest eigenvalues to each other, the most isolated first
            for (value, error) in &mut values {
                let nearest = (0..changed.len())
                    .min_by(|a, b| (changed[*a] - *value).norm().total_cmp(&(changed[*b] - *value).norm()))?;
                *error = error.max((changed.swap_remove(nearest) - *value).norm());
            }
        }
        let own = 16.0 * f64::EPSILON * values.len() as f64;
        for (value, error) in &mut values {
            *error = SAFETY * *error + own * value.norm();
        }
        values.sort_by(|a, b| a.0.norm().total_cmp(&b.0.norm()));
        values.drain(..self.conserved.len().min(values.len()));
        values.sort_by(|a, b| b.0.re.total_cmp(&a.0.re).then(b.0.im.total_cmp(&a.0.im)));
        Some(values)
    }
}

impl Pencil {
    /// The eigenvalues after each entry was perturbed by a few units of rounding.
    fn eigenvalues_changed(&self, turn: u64) -> Option<Vec<C>> {
        let n = self.jacobian.nrows() as u64;
        let change = |matrix: &DMatrix<f64>, seed: u64| {
            let factor = |i: usize, j: usize| 1.0 + CHANGE * (2.0 * uniform(seed, i as u64 * n + j as u64) - 1.0);
            DMatrix::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)] * factor(i, j))
        };
        let jacobian = change(&self.jacobian, 2 * turn + 1);
        Pencil { jacobian, mass: self.mass.clone() }.eigenvalues()
    }
}

/// The type that follows from eigenvalues with their errors.
pub fn kind(values: &[(C, f64)]) -> EquilibriumType {
    let falls = |(v, error): &&(C, f64)| v.re < -error;
    let grows = |(v, error): &&(C, f64)| v.re > *error;
    let turns = |(v, error): &&(C, f64)| v.im.abs() > *error;
    let (falling, growing) = (values.iter().filter(falls).count(), values.iter().filter(grows).count());
    let turning = values.iter().any(|v| turns(&v));
    let open = || values.iter().filter(|v| !falls(v) && !grows(v));
    match (growing, falling) {
        (0, _) if open().next().is_none() => {
            if turning {
                EquilibriumType::StableFocus
            } else {
                EquilibriumType::StableNode
            }
        }
        (0, _) if open().all(|v| turns(&v)) => EquilibriumType::Centre,
        (0, _) => EquilibriumType::Degenerate,
        (_, 0) if turning => EquilibriumType::UnstableFocus,
        (_, 0) => EquilibriumType::UnstableNode,
        _ => EquilibriumType::Saddle,
    }
}
