//! Projection onto functions that stay zero along a solution: the constraints of a system of index 2 or 3, and their
//! lower derivatives. The solver integrates the system with the last derivative of each constraint instead of the
//! constraint.
//!
//! The errors of steps of the reduced system let the state drift off the constraints. After each accepted step the
//! state is moved to the nearest one that satisfies them (E. Eich, SIAM J. Numer. Anal. 30 (1993) 1467): the smallest
//! change d with g(t, y + d) = 0, by Newton's method with the solution of smallest Euclidean norm of G d = -g, from a
//! QR decomposition of the transposed Jacobian. This preserves the order of the method. Stages are satisfied one after
//! another, positions before velocities, each by the states that belong to it.
//!
//! After an event, an impulse of the algebraic unknowns satisfies the functions of the last stage instead
//! ([`Projection::strike`]): with f_z = df/dz, states change by f_z k, so that constraint forces act as they do
//! between events, whatever the masses are.

use nalgebra::{DMatrix, DVector};

use crate::evaluator::all_finite;
use crate::method::Method;
use crate::problem::{Cause, Options};
use crate::system::{EvalError, System};

/// Most Newton steps of a stage.
const STEPS: usize = 30;
/// A function is zero if it is below this many units of rounding of its terms.
const ROUNDING: f64 = 4.0;
/// Pivots of QR below this part of the largest one: the functions depend on one another.
const DEPENDENT: f64 = 1e-11;
/// A correction below this fraction of the state is negligible: from there on, iterations continue only while they shrink.
const SMALL: f64 = 1e-9;

/// The fraction of the tolerances that a method uses in systems with such functions, so that its errors stay
/// proportional to the tolerance and below 100 tolerances on the pendulum, the car axis and Andrews' squeezer.
struct ToleranceFraction {
    method: &'static str,
    /// The part of the tolerance.
    part: f64,
    /// The accumulated error of a method of order p is rtol^(p/(p + 1)) if it estimates the error of its own step, of
    /// order p + 1, because shorter steps are more steps. Such a method uses rtol^((p + 1)/p), and this is p. `None`
    /// for estimates of order p.
    order: Option<f64>,
}

const fn part(method: &'static str, part: f64) -> ToleranceFraction {
    ToleranceFraction { method, part, order: None }
}

const fn power(method: &'static str, part: f64, order: f64) -> ToleranceFraction {
    ToleranceFraction { method, part, order: Some(order) }
}

/// Methods of order 1 are excluded: they would need 1/rtol steps and more.
const CARE: [ToleranceFraction; 14] = [
    // beside its own fraction; without it, the energy of a pendulum drifts 100 times as fast as with radau5
    part("auto", 0.1),
    part("bdf", 0.01),
    part("kencarp4", 0.0625),
    part("rodas3", 0.1),
    part("rodas4", 0.25),
    part("sdirk2", 0.25),
    part("ros2", 0.0625),
    power("tr-bdf2", 0.15, 2.0),
    power("implicit-midpoint", 0.2, 2.0),
    power("bdf2", 0.03, 2.0),
    power("bdf3", 0.06, 3.0),
    power("bdf4", 0.1, 4.0),
    power("bdf5", 0.1, 5.0),
    power("bdf6", 0.1, 6.0),
];
/// Smallest relative tolerance that a method uses, close to rounding.
const CLOSEST: f64 = 1e-13;

/// If functions switch and a state moves by less than this fraction of the largest one of its stage, it satisfied both
/// branches.
const CONTINUOUS: f64 = 1e-8;
/// States below this count as 0 for that comparison.
const UNSEEN: f64 = 1e-6;

/// Functions that are satisfied together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Rows of f in [`SystemInvariants::residual`] that are these functions.
    pub rows: Vec<usize>,
    /// The states that are moved to satisfy them: at least as many as functions.
    pub columns: Vec<usize>,
}

impl Stage {
    /// The state that errors name if no other one is at fault.
    fn first_column(&self) -> Result<usize, Cause> {
        self.columns.first().copied().ok_or(Cause::Internal { what: "a stage of invariants has no states" })
    }
}

/// Functions that stay zero along the solutions of a system.
#[derive(Clone, Copy)]
pub struct SystemInvariants<'a> {
    /// A system of the same size, some rows of whose f are these functions. It has df/dy by entries.
    pub residual: &'a dyn System,
    /// The stages in the order in which they are satisfied: the functions of a stage depend on its states and on those
    /// of earlier stages.
    pub stages: &'a [Stage],
    /// With sensitivities: the stages of the derivatives by each parameter, in order.
    pub derived: &'a [Stage],
    /// The algebraic unknowns of the system itself.
    pub unknowns: &'a [usize],
    /// Algebraic unknowns in whose rows of the system the equations were not differentiated.
    pub direct: &'a [usize],
}

/// A state that does not satisfy the functions, and the nearest value that does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// Index in y.
    pub place: usize,
    /// Its value.
    pub from: f64,
    /// Its value in the nearest state that satisfies the functions.
    pub to: f64,
}

/// The reason why a state that an event wrote is not projected.
#[derive(Clone, Debug, PartialEq)]
pub enum NotProjected {
    /// The errors of [`Projection::project`].
    Failed(Cause),
    /// No impulse can satisfy the functions without changing a state that the event has set.
    Far(Vec<Deviation>),
}

impl From<Cause> for NotProjected {
    fn from(cause: Cause) -> Self {
        NotProjected::Failed(cause)
    }
}

/// The options of a run with the tolerances that a method needs on a system with invariants.
pub(crate) fn careful(system: &dyn System, method: &Method, options: &Options) -> Options {
    let of = CARE.iter().find(|care| care.method == method.name).filter(|_| system.invariants().is_some());
    let Some(ToleranceFraction { part, order, .. }) = of.filter(|_| !options.fixed) else { return options.clone() };
    let more = order.map_or(1.0, |order| options.rtol.min(1.0).powf(order.recip()));
    let rtol = (part * more * options.rtol).max(CLOSEST.min(options.rtol));
    let part = rtol / options.rtol;
    // unknowns are solved for in each step, so that their errors do not add up; those near 0 contain rounding errors
    // of the others
    let kept = |place: usize| order.is_some() && system.invariants().is_some_and(|own| own.unknowns.contains(&place));
    let n = system.shape().n;
    let asked = (0..n).map(|place| (place, options.atol.get(place).or(options.atol.first()).copied().unwrap_or(0.0)));
    let atol = asked.map(|(place, atol)| if kept(place) { atol } else { atol * part }).collect();
    Options { rtol, atol, ..options.clone() }
}

/// The states that move to satisfy a stage.
enum FreeStates<'a> {
    /// All states of the stage, by the smallest change.
    Nearest,
    /// States along the columns of the first matrix, with factors in the null space of the second matrix.
    Along(&'a DMatrix<f64>, &'a DMatrix<f64>),
}

/// Projects states of one system.
#[derive(Clone, Debug)]
pub struct Projection {
    f: Vec<f64>,
    entries: Vec<f64>,
    /// The position of each column in its stage.
    place: Vec<usize>,
    state: Vec<f64>,
}

impl Projection {
    /// `None` for a system without such functions.
    pub fn of(system: &dyn System) -> Option<Projection> {
        let SystemInvariants { residual, .. } = system.invariants()?;
        let n = residual.shape().n;
        let entries = residual.jacobian().pattern().map_or(0, crate::pattern::Pattern::entries);
        Some(Projection {
            f: vec![0.0; n],
            entries: vec![0.0; entries],
            place: vec![usize::MAX; n],
            state: vec![0.0; n],
        })
    }

    /// The state nearest to `y` that satisfies the functions at `t`; `None` if `y` does.
    ///
    /// # Errors
    /// The errors of [`Projection::project`].
    pub fn nearest(&mut self, system: &dyn System, t: f64, y: &[f64]) -> Result<Option<&[f64]>, Cause> {
        let mut state = std::mem::take(&mut self.state);
        state.copy_from_slice(y);
        let moved = self.project(system, t, &mut state);
        self.state = state;
        Ok(moved?.then_some(&self.state))
    }

    /// Moves `y` (n values) to the nearest state that satisfies the functions at `t`; false if it already satisfied
    /// them.
    ///
    /// # Errors
    /// [`Cause::Unkept`], [`Cause::Dependent`], or a failure of their evaluation.
    pub fn project(&mut self, system: &dyn System, t: f64, y: &mut [f64]) -> Result<bool, Cause> {
        let Some(SystemInvariants { residual, stages, derived, .. }) = system.invariants() else { return Ok(false) };
        let mut moved = false;
        for stage in stages.iter().chain(derived) {
            moved |= self.meet(residual, stage, &FreeStates::Nearest, t, y)?;
        }
        Ok(moved)
    }

    /// Moves `y` after an event has changed it: an impulse of the unknowns moves the states of the last stage, except
    /// those that the event has set (`set`), if the others can satisfy the functions. A remaining deviation may be as
    /// large as the rounding of a value typed with few digits.
    ///
    /// # Errors
    /// [`NotProjected::Far`], or the errors of [`Projection::project`]; `y` is then unchanged.
    pub fn strike(&mut self, system: &dyn System, t: f64, y: &mut [f64], set: &[usize]) -> Result<bool, NotProjected> {
        let Some(SystemInvariants { residual, stages, unknowns, direct, .. }) = system.invariants() else {
            return Ok(false);
        };
        let given = y.to_vec();
        let struck = (|| {
            let mut moved = false;
            let Some((last, before)) = stages.split_last() else { return Ok(false) };
            for stage in before {
                moved |= self.meet(residual, stage, &FreeStates::Nearest, t, y)?;
                far(residual, stage, &given, y)?;
            }
            let acts = impulse(system, (t, y), last, (unknowns, direct))?;
            let (columns, held) = acts;
            let mut free = columns.clone();
            for (k, column) in last.columns.iter().enumerate() {
                if set.contains(column) {
                    free.row_mut(k).fill(0.0);
                }
            }
            let from = y.to_vec();
            if let Ok(more) = self.meet(residual, last, &FreeStates::Along(&free, &held), t, y) {
                return Ok(moved | more);
            }
            y.copy_from_slice(&from);
            moved |= self.meet(residual, last, &FreeStates::Along(&columns, &held), t, y)?;
            far(residual, last, &from, y)?;
            Ok(moved)
        })();
        if struck.is_err() {
            y.copy_from_slice(&given);
        }
        struck
    }

    /// Moves `y`, which satisfied the functions until a switch, onto them by rounding errors; false if it did not
    /// move.
    ///
    /// # Errors
    /// [`NotProjected::Far`] if the functions have jumped, or the errors of [`Projection::project`]; `y` is then unchanged.
    pub fn hold(&mut self, system: &dyn System, t: f64, y: &mut [f64]) -> Result<bool, NotProjected> {
        let Some(SystemInvariants { residual, stages, derived, .. }) = system.invariants() else { return Ok(false) };
        let given = y.to_vec();
        let mut moved = false;
        for stage in stages {
            let met = self.meet(residual, stage, &FreeStates::Nearest, t, y);
            let size = stage.columns.iter().fold(0.0f64, |most, k| most.max(y[*k].abs()).max(given[*k].abs()));
            let far = |k: &&usize| !((y[**k] - given[**k]).abs() <= CONTINUOUS * size.max(UNSEEN));
            let off: Vec<Deviation> =
                stage.columns.iter().filter(far).map(|k| Deviation { place: *k, from: given[*k], to: y[*k] }).collect();
            if !off.is_empty() || met.is_err() {
                y.copy_from_slice(&given);
                met?;
                return Err(NotProjected::Far(off));
            }
            moved |= met?;
        }
        for stage in derived {
            moved |= self.meet(residual, stage, &FreeStates::Nearest, t, y)?;
        }
        Ok(moved)
    }

    /// Checks at a state that satisfies the functions whether their gradients are independent.
    ///
    /// # Errors
    /// The errors of [`Projection::project`].
    pub fn check(&mut self, system: &dyn System, t: f64, y: &[f64]) -> Result<(), Cause> {
        let Some(SystemInvariants { residual, stages, .. }) = system.invariants() else { return Ok(()) };
        for stage in stages {
            let row = stage.first_column()?;
            self.evaluate(residual, t, y, row)?;
            let transposed = self.transposed(residual, stage);
            smallest(transposed, DVector::zeros(stage.rows.len())).ok_or(Cause::Dependent { row })?;
        }
        Ok(())
    }

    fn meet(
        &mut self,
        residual: &dyn System,
        stage: &Stage,
        way: &FreeStates<'_>,
        t: f64,
        y: &mut [f64],
    ) -> Result<bool, Cause> {
        let mut worst = stage.first_column()?;
        let mut before = f64::INFINITY;
        for count in 0..STEPS {
            self.evaluate(residual, t, y, worst)?;
            if self.is_met(residual, stage, y) {
                return Ok(count > 0);
            }
            let transposed = self.transposed(residual, stage);
            let g = DVector::from_iterator(stage.rows.len(), stage.rows.iter().map(|row| self.f[*row]));
            let step = way.step(transposed, g).ok_or(if count == 0 {
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

    /// True if the functions of a stage are zero up to rounding of their terms.
    fn is_met(&mut self, residual: &dyn System, stage: &Stage, y: &[f64]) -> bool {
        let mut terms = vec![0.0; self.f.len()];
        if let Some(pattern) = residual.jacobian().pattern() {
            for ((row, col), entry) in pattern.positions().zip(&self.entries) {
                terms[row] += (entry * y[col]).abs();
            }
        }
        stage.rows.iter().all(|row| self.f[*row].abs() <= ROUNDING * f64::EPSILON * terms[*row])
    }

    /// The transposed Jacobian of a stage with respect to its states.
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

impl FreeStates<'_> {
    /// The step that satisfies the linearised functions.
    fn step(&self, transposed: DMatrix<f64>, g: DVector<f64>) -> Option<DVector<f64>> {
        let FreeStates::Along(columns, held) = self else { return smallest(transposed, g) };
        let (met, kept) = (transposed.ncols(), held.nrows());
        let mut matrix = DMatrix::zeros(columns.ncols(), met + kept);
        matrix.columns_mut(0, met).copy_from(&(columns.transpose() * transposed));
        matrix.columns_mut(met, kept).copy_from(&held.transpose());
        let right = DVector::from_iterator(met + kept, g.iter().copied().chain(std::iter::repeat_n(0.0, kept)));
        Some(*columns * smallest(matrix, right)?)
    }
}

/// The directions in which the unknowns act on the states of a stage, and the equations that constrain the unknowns.
fn impulse(
    system: &dyn System,
    (t, y): (f64, &[f64]),
    stage: &Stage,
    (unknowns, direct): (&[usize], &[usize]),
) -> Result<(DMatrix<f64>, DMatrix<f64>), Cause> {
    let mut columns = DMatrix::zeros(stage.columns.len(), unknowns.len());
    let mut held = DMatrix::zeros(direct.len(), unknowns.len());
    let row = stage.first_column()?;
    let Some(pattern) = system.jacobian().pattern() else { return Err(Cause::Fatal) };
    let mut entries = vec![0.0; pattern.entries()];
    system.jacobian_values(t, y, &mut entries).map_err(|error| match error {
        EvalError::Recoverable => Cause::Unkept { row },
        EvalError::Fatal => Cause::Fatal,
    })?;
    for ((row, col), entry) in pattern.positions().zip(&entries) {
        let Some(unknown) = unknowns.iter().position(|unknown| *unknown == col) else { continue };
        if let Some(k) = stage.columns.iter().position(|column| *column == row) {
            columns[(k, unknown)] += entry;
        } else if let Some(k) = direct.iter().position(|direct| *direct == row) {
            held[(k, unknown)] += entry;
        }
    }
    if entries.iter().all(|entry| entry.is_finite()) { Ok((columns, held)) } else { Err(Cause::Unkept { row }) }
}

/// Largest move of a state, as a fraction of the largest state in the same functions, that counts as missing digits
/// of a typed value.
pub const TYPED: f64 = 1e-2;
/// A move below this fraction is rounding.
const UNMOVED: f64 = 1e-12;

/// The states of a stage that moved by more than rounding, and true if one moved by more than [`TYPED`].
pub fn moved(residual: &dyn System, stage: &Stage, from: &[f64], to: &[f64]) -> (Vec<Deviation>, bool) {
    let sizes = tied_sizes(residual, stage, |k| from[k].abs().max(to[k].abs()));
    let (mut all, mut far) = (Vec::new(), false);
    for (&place, largest) in stage.columns.iter().zip(sizes) {
        let by = (to[place] - from[place]).abs();
        if by > UNMOVED * largest {
            all.push(Deviation { place, from: from[place], to: to[place] });
        }
        far |= by > TYPED * largest;
    }
    (all, far)
}

/// Refuses a stage that was moved by more than [`TYPED`].
fn far(residual: &dyn System, stage: &Stage, from: &[f64], to: &[f64]) -> Result<(), NotProjected> {
    match moved(residual, stage, from, to) {
        (all, true) => Err(NotProjected::Far(all)),
        _ => Ok(()),
    }
}

/// For each column of a stage, the largest state in the same functions.
fn tied_sizes(residual: &dyn System, stage: &Stage, sizes: impl Fn(usize) -> f64) -> Vec<f64> {
    let place = |column: usize| stage.columns.iter().position(|own| *own == column);
    let mut groups: Vec<usize> = (0..stage.columns.len()).collect();
    let entries: Vec<(usize, usize)> = residual.jacobian().pattern().map_or(Vec::new(), |p| p.positions().collect());
    for row in &stage.rows {
        let tied: Vec<usize> = entries.iter().filter(|(r, _)| r == row).filter_map(|(_, c)| place(*c)).collect();
        let Some(&first) = tied.first() else { continue };
        let group = groups[first];
        let others: Vec<usize> = tied.iter().map(|k| groups[*k]).collect();
        groups.iter_mut().filter(|own| others.contains(own)).for_each(|own| *own = group);
    }
    let size = |group: usize| {
        let members = stage.columns.iter().zip(&groups).filter(|(_, own)| **own == group);
        members.fold(0.0f64, |most, (column, _)| most.max(sizes(*column)))
    };
    groups.iter().map(|group| size(*group)).collect()
}

fn known(place: usize) -> Option<usize> {
    (place != usize::MAX).then_some(place)
}

/// The solution of smallest norm of G d = -g, from the transpose of G; `None` if rows of G are dependent.
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

    /// x^2 + y^2 = 1 and, with velocities, x u + y v = 0: f of the first two rows. The third row repeats the first one.
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
        fn invariants(&self) -> Option<SystemInvariants<'_>> {
            Some(SystemInvariants { residual: self, stages: &self.stages, derived: &[], unknowns: &[], direct: &[] })
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
        // the radius becomes 1, and the velocity loses its radial component: 2.6 (0.6, 0.8)
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
