//! The mass matrix as solvers use it: products with vectors, and solves for explicit methods.

use crate::linear::{Factor, factor_for};
use crate::pattern::Pattern;
use crate::problem::Refusal;
use crate::system::Mass;

/// M, copied once from the system.
#[derive(Clone, Debug)]
pub enum MassMatrix {
    /// M = I.
    Identity,
    /// Constant values on a pattern.
    Constant(Pattern, Vec<f64>),
}

impl MassMatrix {
    /// The mass matrix of a system.
    pub fn of(mass: Mass<'_>) -> Self {
        match mass {
            Mass::Identity => MassMatrix::Identity,
            Mass::Constant(pattern, values) => MassMatrix::Constant(pattern.clone(), values.to_vec()),
        }
    }

    /// True when M = I.
    pub fn is_identity(&self) -> bool {
        matches!(self, MassMatrix::Identity)
    }

    /// out += factor * M x.
    pub fn multiply_add(&self, factor: f64, x: &[f64], out: &mut [f64]) {
        match self {
            MassMatrix::Identity => {
                for (o, x) in out.iter_mut().zip(x) {
                    *o += factor * x;
                }
            }
            MassMatrix::Constant(pattern, values) => {
                for (j, x) in x.iter().enumerate() {
                    let scaled = factor * x;
                    for k in pattern.column(j) {
                        out[pattern.row_idx[k] as usize] += values[k] * scaled;
                    }
                }
            }
        }
    }

    /// Factored for explicit methods; `None` when M = I. A singular M is refused with the unknowns that have no derivative.
    pub fn factored(&self, method: &str) -> Result<Option<Box<dyn Factor>>, Refusal> {
        let MassMatrix::Constant(pattern, values) = self else { return Ok(None) };
        let singular = |rows| Refusal::SingularMass { method: method.to_string(), rows };
        let rows = algebraic_rows(pattern, values);
        if !rows.is_empty() {
            return Err(singular(rows));
        }
        let mut factor = factor_for(pattern)?;
        // Whether pivots vanish shows with rows and columns scaled: masses may differ by any factor.
        if factor.factor(&equilibrated(pattern, values)).is_err() || factor.health().pivot_ratio < f64::EPSILON {
            return Err(singular(Vec::new()));
        }
        factor.factor(values).map_err(|_| singular(Vec::new()))?;
        Ok(Some(factor))
    }
}

/// Values with the largest of each row, then of each column, scaled to 1.
fn equilibrated(pattern: &Pattern, values: &[f64]) -> Vec<f64> {
    let mut rows = vec![0.0f64; pattern.rows as usize];
    for (row, value) in pattern.row_idx.iter().zip(values) {
        rows[*row as usize] = rows[*row as usize].max(value.abs());
    }
    let mut scaled: Vec<f64> = pattern.row_idx.iter().zip(values).map(|(r, v)| v / rows[*r as usize]).collect();
    for j in 0..pattern.cols() {
        let column = &mut scaled[pattern.column(j)];
        let largest = column.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        for v in column.iter_mut().filter(|_| largest > 0.0) {
            *v /= largest;
        }
    }
    scaled
}

/// Rows of M without a nonzero entry: the algebraic equations.
fn algebraic_rows(pattern: &Pattern, values: &[f64]) -> Vec<usize> {
    let mut empty = vec![true; pattern.rows as usize];
    for (row, value) in pattern.row_idx.iter().zip(values) {
        if *value != 0.0 {
            empty[*row as usize] = false;
        }
    }
    (0..empty.len()).filter(|i| empty[*i]).collect()
}
