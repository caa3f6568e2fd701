//! Projection onto what stays zero along a solution: constraints of a system of index 2 or 3, which is stepped with their last
//! derivative in their place, and their lower derivatives.
//!
//! Steps of the reduced system drift from the constraints by their errors. After each accepted step the state is moved to the nearest
//! one that meets them again (E. Eich, SIAM J. Numer. Anal. 30 (1993) 1467): the smallest change d with g(t, y + d) = 0, by Newton's
//! method with the solution of smallest Euclidean norm of G d = -g, from a QR decomposition of the transposed Jacobian. It keeps the
//! order of the method. Stages are met one after another, positions before velocities, each by the states that belong to it.

use nalgebra::{DMatrix, DVector};

use crate::evaluator::all_finite;
use crate::problem::Cause;
use crate::system::{EvalError, System};

/// Most Newton steps of a stage.
const STEPS: usize = 30;
/// A function is zero where it is below so many units of rounding of its terms.
const ROUNDING: f64 = 4.0;
/// Pivots of QR below this part of the largest one: the functions depend on one another.
const DEPENDENT: f64 = 1e-11;
/// A correction of this part of the state is as good as none: from there on they go on only while they shrink.
const SMALL: f64 = 1e-9;

/// Functions that are met together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Their rows of f in [`Invariants::residual`].
    pub rows: Vec<usize>,
    /// The states that are moved to meet them: at least as many.
    pub columns: Vec<usize>,
}

/// What stays zero along the solutions of a system.
#[derive(Clone, Copy)]
pub struct Invariants<'a> {
    /// A system of the same size, some rows of whose f are these functions. It has df/dy by entries.
    pub residual: &'a dyn System,
    /// In the order in which they are met: those of a stage depend on its own states and on those of the stages before it.
    pub stages: &'a [Stage],
}

/// Projects states of one system.
#[derive(Clone, Debug)]
pub struct Projection {
    f: Vec<f64>,
    entries: Vec<f64>,
    /// The place of each column in its stage.
    place: Vec<usize>,
    state: Vec<f64>,
}

impl Projection {
    /// `None` for a system without such functions.
    pub fn of(system: &dyn System) -> Option<Projection> {
        let Invariants { residual, .. } = system.invariants()?;
        let n = residual.shape().n;
        let entries = residual.jacobian().pattern().map_or(0, crate::pattern::Pattern::entries);
        Some(Projection {
            f: vec![0.0; n],
            entries: vec![0.0; entries],
            place: vec![usize::MAX; n],
            state: vec![0.0; n],
        })
    }

    /// The state nearest to `y` that meets the functions at `t`; `None` where `y` does.
    ///
    /// # Errors
    /// As of [`Projection::project`].
    pub fn nearest(&mut self, system: &dyn System, t: f64, y: &[f64]) -> Result<Option<&[f64]>, Cause> {
        let mut state = std::mem::take(&mut self.state);
        state.copy_from_slice(y);
        let moved = self.project(system, t, &mut state);
        self.state = state;
        Ok(moved?.then_some(&self.state))
    }

    /// Moves `y` (n values) to the nearest state that meets the functions at `t`; false where it met them.
    ///
    /// # Errors
    /// [`Cause::Unkept`], [`Cause::Dependent`], or what evaluating them meets.
    pub fn project(&mut self, system: &dyn System, t: f64, y: &mut [f64]) -> Result<bool, Cause> {
        let Some(Invariants { residual, stages }) = system.invariants() else { return Ok(false) };
        let mut moved = false;
        for stage in stages {
            moved |= self.meet(residual, stage, t, y)?;
        }
        Ok(moved)
    }

    /// Looks at a state that meets the functions, whether their gradients are independent.
    ///
    /// # Errors
    /// As of [`Projection::project`].
    pub fn check(&mut self, system: &dyn System, t: f64, y: &[f64]) -> Result<(), Cause> {
        let Some(Invariants { residual, stages }) = system.invariants() else { return Ok(()) };
        for stage in stages {
            let row = stage.columns.first().copied().unwrap_or(0);
            self.evaluate(residual, t, y, row)?;
            let transposed = self.transposed(residual, stage);
            smallest(transposed, DVector::zeros(stage.rows.len())).ok_or(Cause::Dependent { row })?;
        }
        Ok(())
    }

    fn meet(&mut self, residual: &dyn System, stage: &Stage, t: f64, y: &mut [f64]) -> Result<bool, Cause> {
        let first = stage.columns.first().copied().unwrap_or(0);
        let mut worst = first;
        let mut before = f64::INFINITY;
        for count in 0..STEPS {
            self.evaluate(residual, t, y, worst)?;
            if self.is_met(residual, stage, y) {
                return Ok(count > 0);
            }
            let transposed = self.transposed(residual, stage);
            let g = DVector::from_iterator(stage.rows.len(), stage.rows.iter().map(|row| self.f[*row]));
            let step = smallest(transposed, g).ok_or(if count == 0 {
                Cause::Dependent { row: worst }
            } else {
                Cause::Unkept { row: worst }
            })?;
            let largest = stage.columns.iter().fold(0.0f64, |most, col| most.max(y[*col].abs()));
            let size = step.amax();
            if size.is_nan() {
                return Err(Cause::Unkept { row: worst });
            }
            if before <= SMALL * largest && size >= 0.5 * before {
                return Ok(true);
            }
            worst = stage.columns[step.iamax()];
            for (col, step) in stage.columns.iter().zip(step.iter()) {
                y[*col] += step;
            }
            before = size;
        }
        Err(Cause::Unkept { row: worst })
    }

    fn evaluate(&mut self, residual: &dyn System, t: f64, y: &[f64], row: usize) -> Result<(), Cause> {
        let cause = |error| match error {
            EvalError::Recoverable => Cause::Unkept { row },
            EvalError::Fatal => Cause::Fatal,
        };
        residual.rhs(t, y, &mut self.f).map_err(cause)?;
        residual.jacobian_values(t, y, &mut self.entries).map_err(cause)?;
        if all_finite(&self.f) && all_finite(&self.entries) { Ok(()) } else { Err(Cause::Unkept { row }) }
    }

    /// The functions of a stage are zero but for rounding of their terms.
    fn is_met(&mut self, residual: &dyn System, stage: &Stage, y: &[f64]) -> bool {
        let mut terms = vec![0.0; self.f.len()];
        if let Some(pattern) = residual.jacobian().pattern() {
            for ((row, col), entry) in pattern.positions().zip(&self.entries) {
                terms[row] += (entry * y[col]).abs();
            }
        }
        stage.rows.iter().all(|row| self.f[*row].abs() <= ROUNDING * f64::EPSILON * terms[*row])
    }

    /// The Jacobian of a stage by its states, transposed.
    fn transposed(&mut self, residual: &dyn System, stage: &Stage) -> DMatrix<f64> {
        let mut dense = DMatrix::zeros(stage.columns.len(), stage.rows.len());
        let Some(pattern) = residual.jacobian().pattern() else { return dense };
        self.place.fill(usize::MAX);
        for (k, col) in stage.columns.iter().enumerate() {
            self.place[*col] = k;
        }
        let mut of_row = vec![usize::MAX; self.f.len()];
        for (k, row) in stage.rows.iter().enumerate() {
            of_row[*row] = k;
        }
        for ((row, col), entry) in pattern.positions().zip(&self.entries) {
            if let (Some(i), Some(j)) = (known(self.place[col]), known(of_row[row])) {
                dense[(i, j)] += entry;
            }
        }
        dense
    }
}

fn known(place: usize) -> Option<usize> {
    (place != usize::MAX).then_some(place)
}

/// The solution of smallest norm of G d = -g, from the transposed of G; `None` where rows of G depend on one another.
fn smallest(mut transposed: DMatrix<f64>, mut g: DVector<f64>) -> Option<DVector<f64>> {
    for (mut column, g) in transposed.column_iter_mut().zip(g.iter_mut()) {
        let size = column.norm();
        if !(size > 0.0) {
            return None;
        }
        column /= size;
        *g /= -size;
    }
    if transposed.ncols() > transposed.nrows() {
        return None;
    }
    let decomposed = transposed.qr();
    let (q, r) = (decomposed.q(), decomposed.r());
    let pivots = r.diagonal().abs();
    if !(pivots.min() > DEPENDENT * pivots.max()) {
        return None;
    }
    let along = r.tr_solve_upper_triangular(&g)?;
    Some(q * along)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;
    use crate::system::{Jacobian, Shape};

    /// x^2 + y^2 = 1 and, with velocities, x u + y v = 0: f of the first two rows. The third row says the first one again.
    struct Circle {
        pattern: Pattern,
        stages: Vec<Stage>,
    }

    impl Circle {
        fn new(stages: Vec<Stage>) -> Circle {
            let entries = [(0, 0), (2, 0), (0, 1), (2, 1), (1, 0), (1, 1), (1, 2), (1, 3)];
            Circle { pattern: Pattern::from_positions(4, 4, entries), stages }
        }
    }

    impl System for Circle {
        fn shape(&self) -> Shape {
            Shape { n: 4, second: 0 }
        }
        fn rhs(&self, _: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
            let circle = y[0] * y[0] + y[1] * y[1] - 1.0;
            f.copy_from_slice(&[circle, y[0] * y[2] + y[1] * y[3], 2.0 * circle, 0.0]);
            Ok(())
        }
        fn jacobian(&self) -> Jacobian<'_> {
            Jacobian::Entries(&self.pattern)
        }
        fn jacobian_values(&self, _: f64, y: &[f64], df: &mut [f64]) -> Result<(), EvalError> {
            for (df, (row, col)) in df.iter_mut().zip(self.pattern.positions()) {
                *df = match row {
                    0 => 2.0 * y[col],
                    2 => 4.0 * y[col],
                    _ => y[(col + 2) % 4],
                };
            }
            Ok(())
        }
        fn invariants(&self) -> Option<Invariants<'_>> {
            Some(Invariants { residual: self, stages: &self.stages })
        }
    }

    fn two_stages() -> Circle {
        let stage = |row, columns: [usize; 2]| Stage { rows: vec![row], columns: columns.to_vec() };
        Circle::new(vec![stage(0, [0, 1]), stage(1, [2, 3])])
    }

    #[test]
    fn the_nearest_state_lies_along_the_normal() {
        let circle = two_stages();
        let mut projection = Projection::of(&circle).expect("functions");
        let mut y = [1.2, 1.6, 3.0, 1.0];
        assert_eq!(projection.project(&circle, 0.0, &mut y), Ok(true));
        // the radius becomes 1, and the velocity loses its part along it: 2.6 (0.6, 0.8)
        let expected = [0.6, 0.8, 3.0 - 2.6 * 0.6, 1.0 - 2.6 * 0.8];
        assert!(y.iter().zip(expected).all(|(y, e)| (y - e).abs() < 1e-14), "{y:?}");
        let kept = y;
        assert_eq!(projection.project(&circle, 0.0, &mut y), Ok(false));
        assert_eq!(y, kept);
    }

    #[test]
    fn functions_that_depend_on_one_another_are_found() {
        let circle = Circle::new(vec![Stage { rows: vec![0, 2], columns: vec![0, 1] }]);
        let mut projection = Projection::of(&circle).expect("functions");
        assert_eq!(projection.check(&circle, 0.0, &[1.0, 0.0, 0.0, 0.0]), Err(Cause::Dependent { row: 0 }));
        let circle = two_stages();
        let mut projection = Projection::of(&circle).expect("functions");
        assert_eq!(projection.check(&circle, 0.0, &[1.0, 0.0, 0.0, 1.0]), Ok(()));
        assert_eq!(projection.project(&circle, 0.0, &mut [0.0; 4]), Err(Cause::Dependent { row: 0 }));
    }
}
