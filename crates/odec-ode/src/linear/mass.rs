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
        let empty_rows = algebraic_rows(pattern, values);
        let unsuitable = |what: String| Refusal::Unsuitable {
            method: method.to_string(),
            reason: format!("it needs y' itself, and the mass matrix is singular: {what}"),
            instead: "an implicit method: rodas4, bdf or backward-euler".to_string(),
        };
        if !empty_rows.is_empty() {
            let rows: Vec<String> = empty_rows.iter().map(usize::to_string).collect();
            return Err(unsuitable(format!("no derivative occurs in row {}", rows.join(", "))));
        }
        let mut factor = factor_for(pattern)?;
        factor.factor(values).map_err(|col| unsuitable(format!("no pivot in column {col}")))?;
        if factor.health().pivot_ratio < f64::EPSILON {
            return Err(unsuitable("its pivots vanish to rounding".to_string()));
        }
        Ok(Some(factor))
    }
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
