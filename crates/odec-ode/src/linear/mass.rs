//! The mass matrix for the solvers: products with vectors, and linear solves where a method needs y' itself.

use crate::evaluator::Evaluator;
use crate::linear::choice::pivoted;
use crate::linear::{Assembled, Factor};
use crate::problem::{Cause, Refusal};
use crate::system::{Mass, System};

/// M with its values: copied once from the system, or set by the last [`MassMatrix::update`].
#[derive(Clone, Debug)]
pub enum MassMatrix {
    /// M = I.
    Identity,
    /// Constant M.
    Constant(Assembled),
    /// M(t, y); zeros before the first update.
    StateDependent(Assembled),
}

impl MassMatrix {
    /// The mass matrix of a system.
    pub fn of(mass: Mass<'_>) -> Self {
        match mass {
            Mass::Identity => MassMatrix::Identity,
            Mass::Constant(pattern, values) => MassMatrix::Constant(Assembled::with(pattern, values.to_vec())),
            Mass::StateDependent { pattern, .. } => MassMatrix::StateDependent(Assembled::new(pattern)),
        }
    }

    /// True if M = I.
    pub fn is_identity(&self) -> bool {
        matches!(self, MassMatrix::Identity)
    }

    /// True if M depends on time or state, so that [`MassMatrix::update`] must come first.
    pub fn varies(&self) -> bool {
        matches!(self, MassMatrix::StateDependent(..))
    }

    /// True if a row of a constant M has no diagonal entry, or if M depends on the state and is thus unknown.
    pub(super) fn may_lack_diagonal(&self) -> bool {
        match self {
            MassMatrix::Identity => false,
            MassMatrix::Constant(m) => m.diagonal().any(|value| value == 0.0),
            MassMatrix::StateDependent(_) => true,
        }
    }

    /// Evaluates M(t, y); does nothing if M is constant.
    pub fn update(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        match self {
            MassMatrix::StateDependent(m) => eval.mass_values(t, y, m.values_mut()),
            _ => Ok(()),
        }
    }

    /// The matrix; `None` if M = I.
    pub fn assembled(&self) -> Option<&Assembled> {
        match self {
            MassMatrix::Identity => None,
            MassMatrix::Constant(m) | MassMatrix::StateDependent(m) => Some(m),
        }
    }

    /// out += factor * M x.
    pub fn multiply_add(&self, factor: f64, x: &[f64], out: &mut [f64]) {
        match self.assembled() {
            None => {
                for (o, x) in out.iter_mut().zip(x) {
                    *o += factor * x;
                }
            }
            Some(m) => m.multiply_add(factor, x, out),
        }
    }
}

/// y' = M^-1 f, for methods that need y' itself: a constant M is factored once, M(t, y) at each call.
pub struct Rates(Option<Box<Factored>>);

struct Factored {
    mass: MassMatrix,
    factor: Box<dyn Factor>,
    scaled: Assembled,
    rows: Vec<f64>,
}

impl Rates {
    /// Prepares for the mass matrix of a system. Refuses a singular constant one with a message that names `method`
    /// and the unknowns without a derivative.
    pub fn new(system: &dyn System, method: &str) -> Result<Self, Refusal> {
        let mass = MassMatrix::of(system.mass());
        let (Some(matrix), Mass::Constant(pattern, _) | Mass::StateDependent { pattern, .. }) =
            (mass.assembled(), system.mass())
        else {
            return Ok(Rates(None));
        };
        let singular = |rows| Refusal::SingularMass { method: method.to_string(), rows };
        if !mass.varies() {
            let rows = algebraic_rows(matrix);
            if !rows.is_empty() {
                return Err(singular(rows));
            }
        }
        let scaled = matrix.clone();
        let rows = vec![0.0; matrix.rows()];
        let mut factored = Factored { factor: pivoted(pattern)?, mass, scaled, rows };
        if !factored.mass.varies() {
            factored.factor().map_err(|_| singular(Vec::new()))?;
        }
        Ok(Rates(Some(Box::new(factored))))
    }

    /// True if M = I: then y' is f.
    pub fn is_identity(&self) -> bool {
        self.0.is_none()
    }

    /// Replaces `f` (n values) by M(t, y)^-1 f.
    ///
    /// # Errors
    /// [`Cause::SingularMass`], or an M(t, y) with values that are not finite.
    pub fn solve(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), Cause> {
        let Some(factored) = &mut self.0 else { return Ok(()) };
        if factored.mass.varies() {
            factored.mass.update(eval, t, y)?;
            eval.stats.factorisations += 1;
            if let Err(row) = factored.factor() {
                eval.note_fault(t, y);
                return Err(Cause::SingularMass { row });
            }
        }
        eval.stats.solves += 1;
        factored.factor.solve(f);
        Ok(())
    }
}

impl Factored {
    /// Factors the current values; the error is a row without an entry, or a column without a pivot.
    fn factor(&mut self) -> Result<(), usize> {
        let Some(matrix) = self.mass.assembled() else { return Ok(()) };
        if self.factor.factor(matrix).is_ok() && self.factor.health().pivot_ratio >= f64::EPSILON {
            return Ok(());
        }
        if let Some(row) = algebraic_rows(matrix).first() {
            return Err(*row);
        }
        // Scaled rows and columns show whether pivots vanish: masses may differ by any factor.
        equilibrate(matrix, &mut self.rows, &mut self.scaled);
        self.factor.factor(&self.scaled)?;
        if self.factor.health().pivot_ratio < f64::EPSILON {
            return Err(0);
        }
        self.factor.factor(matrix)
    }
}

/// Scales first the rows, then the columns, so that the largest entry of each is 1.
fn equilibrate(matrix: &Assembled, rows: &mut [f64], scaled: &mut Assembled) {
    let columns = matrix.columns();
    rows.fill(0.0);
    for (row, value) in columns.rows.iter().zip(columns.values) {
        rows[*row as usize] = rows[*row as usize].max(value.abs());
    }
    let values = scaled.values_mut();
    for ((s, row), value) in values.iter_mut().zip(columns.rows).zip(columns.values) {
        *s = value / rows[*row as usize];
    }
    for j in 0..columns.count() {
        let column = &mut values[columns.column(j)];
        let largest = column.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        for v in column.iter_mut().filter(|_| largest > 0.0) {
            *v /= largest;
        }
    }
}

/// Rows of M without a nonzero entry: the algebraic equations.
fn algebraic_rows(matrix: &Assembled) -> Vec<usize> {
    let mut empty = vec![true; matrix.rows()];
    for ((row, _), value) in matrix.positions().zip(matrix.values()) {
        if *value != 0.0 {
            empty[row] = false;
        }
    }
    (0..empty.len()).filter(|i| empty[*i]).collect()
}
