//! Eigenvalues of a system along a run, from the exact Jacobian, and the stable step sizes.
//!
//! A system whose constraints were differentiated has states off the constraints, too, but no run reaches them. Its
//! eigenvalues are those of the linearised system in the tangent space of the constraints: as many as the motion has
//! free states.

use nalgebra::{Complex, DMatrix, DVector, Schur};
use odec_ode::evaluator::all_finite;
use odec_ode::invariants::SystemInvariants;
use odec_ode::pattern::Pattern;
use odec_ode::system::{Mass, System};

use crate::stability::{Amplification, C, ITERATIONS};

/// Largest number of unknowns whose eigenvalues are computed: the work grows with the third power.
pub const MAX_UNKNOWNS: usize = 500;
/// Real parts below this size relative to the eigenvalue are rounding errors.
const ROUNDING: f64 = 1e-9;
/// An eigenvalue of the inverse pencil below this, relative to the largest, belongs to an algebraic equation.
const ALGEBRAIC: f64 = 1e-12;

/// Squared length of the part of a direction across constraints that counts as rounding.
const ON_TANGENT: f64 = 1e-12;

/// Eigenvalues at one time.
#[derive(Clone, Debug)]
pub struct Spectrum {
    /// Time.
    pub t: f64,
    /// State there, of n values.
    pub y: Vec<f64>,
    /// Finite eigenvalues of the linearised system; those of algebraic equations are left out.
    pub values: Vec<C>,
}

/// M y' = f linearised: M w' = J w, both dense.
pub(crate) struct Pencil {
    pub jacobian: DMatrix<f64>,
    /// `None` if M = I.
    pub mass: Option<DMatrix<f64>>,
}

fn dense(n: usize, pattern: &Pattern, values: &[f64]) -> DMatrix<f64> {
    let mut matrix = DMatrix::zeros(n, n);
    for (v, (i, j)) in values.iter().zip(pattern.positions()) {
        matrix[(i, j)] = *v;
    }
    matrix
}

/// M at (t, y), dense; `None` if M = I.
fn mass(system: &dyn System, t: f64, y: &[f64]) -> Option<DMatrix<f64>> {
    let n = system.shape().n;
    match system.mass() {
        Mass::Identity => None,
        Mass::Constant(pattern, values) => Some(dense(n, pattern, values)),
        Mass::StateDependent { pattern, .. } => {
            let mut values = vec![f64::NAN; pattern.entries()];
            system.mass_values(t, y, &mut values).ok();
            Some(dense(n, pattern, &values))
        }
    }
}

/// y' at (t, y); `None` if the equations do not determine it.
pub fn rates(system: &dyn System, t: f64, y: &[f64]) -> Option<Vec<f64>> {
    let mut f = vec![0.0; y.len()];
    system.rhs(t, y, &mut f).ok()?;
    if let Some(mass) = mass(system, t, y) {
        f = mass.lu().solve(&DVector::from_vec(f))?.as_slice().to_vec();
    }
    all_finite(&f).then_some(f)
}

/// The maximum norm of df/dy at (t, y), which bounds all eigenvalues if M = I; `None` if values are not finite.
pub fn norm(system: &dyn System, t: f64, y: &[f64]) -> Option<f64> {
    let pattern = system.jacobian().pattern()?;
    let mut values = vec![0.0; pattern.entries()];
    system.jacobian_values(t, y, &mut values).ok()?;
    let mut rows = vec![0.0; y.len()];
    values.iter().zip(pattern.positions()).for_each(|(v, (i, _))| rows[i] += v.abs());
    all_finite(&rows).then(|| rows.into_iter().fold(0.0, f64::max))
}

/// The matrix A of the linearised system w' = A w; `None` if the equations do not determine it.
pub fn linearised(system: &dyn System, t: f64, y: &[f64]) -> Option<DMatrix<f64>> {
    let pencil = Pencil::at(system, t, y)?;
    match pencil.mass {
        None => Some(pencil.jacobian),
        Some(mass) => mass.lu().solve(&pencil.jacobian).filter(|a| all_finite(a.as_slice())),
    }
}

impl Pencil {
    pub fn at(system: &dyn System, t: f64, y: &[f64]) -> Option<Pencil> {
        let (n, pattern) = (system.shape().n, system.jacobian().pattern()?);
        let mut values = vec![0.0; pattern.entries()];
        system.jacobian_values(t, y, &mut values).ok()?;
        let mut jacobian = dense(n, pattern, &values);
        let mass = mass(system, t, y);
        if let Mass::StateDependent { jacobian: pattern, .. } = system.mass()
            && let Some(w) = rates(system, t, y)
        {
            let mut values = vec![0.0; pattern.entries()];
            system.mass_jacobian(t, y, &w, &mut values).ok()?;
            jacobian -= dense(n, pattern, &values);
        }
        let finite = all_finite(jacobian.as_slice()) && mass.as_ref().is_none_or(|m| all_finite(m.as_slice()));
        finite.then_some(Pencil { jacobian, mass })
    }

    /// (J - shift M)^-1 M and its shift; its eigenvalues are 1/(lambda - shift).
    fn inverse(&self, mass: &DMatrix<f64>) -> Option<(DMatrix<f64>, f64)> {
        // a number unlikely to be an eigenvalue, of the size of the smaller ones
        let size = self.jacobian.amax();
        let shift = 0.618_033_988_749_895 * if size > 0.0 { size } else { 1.0 };
        Some(((&self.jacobian - mass * shift).lu().solve(mass)?, shift))
    }

    /// The eigenvalues in the tangent space of constraints with these gradients. For states with derivatives, y' =
    /// A y follows from the inverse pencil, whose columns are zero for algebraic unknowns.
    fn eigenvalues_beside(&self, gradients: &DMatrix<f64>) -> Option<Vec<C>> {
        let n = self.jacobian.nrows();
        let mass = self.mass.clone().unwrap_or_else(|| DMatrix::identity(n, n));
        let states: Vec<usize> = (0..n).filter(|&k| mass.column(k).iter().any(|m| *m != 0.0)).collect();
        let (inverse, shift) = self.inverse(&mass)?;
        let inverse = inverse.select_rows(&states).select_columns(&states);
        let directions = tangent(gradients.select_columns(&states));
        // constraints may leave no free state at all
        if directions.ncols() == 0 {
            return Some(Vec::new());
        }
        let along = directions.transpose() * inverse.lu().solve(&directions)?;
        Some(eigenvalues(&along)?.into_iter().map(|v| v + shift).collect())
    }

    pub fn eigenvalues(&self) -> Option<Vec<C>> {
        match &self.mass {
            None => eigenvalues(&self.jacobian),
            Some(mass) => {
                let (inverse, shift) = self.inverse(mass)?;
                let values = eigenvalues(&inverse)?;
                let largest = values.iter().fold(0.0f64, |m, v| m.max(v.norm()));
                let finite = values.into_iter().filter(|v| v.norm() > ALGEBRAIC * largest);
                Some(finite.map(|v| C::from(1.0) / v + shift).collect())
            }
        }
    }

    /// The matrix J - lambda M.
    fn shifted(&self, lambda: C) -> DMatrix<C> {
        let n = self.jacobian.nrows();
        DMatrix::from_fn(n, n, |i, j| {
            let m = self.mass.as_ref().map_or(f64::from(u8::from(i == j)), |m| m[(i, j)]);
            C::from(self.jacobian[(i, j)]) - lambda * m
        })
    }
}

/// Eigenvalues of a real matrix; `None` if the iteration does not converge.
pub fn eigenvalues(matrix: &DMatrix<f64>) -> Option<Vec<C>> {
    if !all_finite(matrix.as_slice()) {
        return None;
    }
    let schur = Schur::try_new(matrix.clone(), f64::EPSILON, ITERATIONS)?;
    Some(schur.complex_eigenvalues().iter().copied().collect())
}

/// The gradients of the constraints of a system and of their lower derivatives; `None` without constraints, or if they
/// are not finite.
fn gradients(system: &dyn System, t: f64, y: &[f64]) -> Option<DMatrix<f64>> {
    let SystemInvariants { residual, stages, .. } = system.invariants()?;
    let pattern = residual.jacobian().pattern()?;
    let mut values = vec![0.0; pattern.entries()];
    residual.jacobian_values(t, y, &mut values).ok()?;
    let rows: Vec<usize> = stages.iter().flat_map(|stage| stage.rows.iter().copied()).collect();
    Some(dense(y.len(), pattern, &values).select_rows(&rows)).filter(|g| all_finite(g.as_slice()))
}

/// An orthonormal basis of the directions that are orthogonal to all gradients.
fn tangent(mut gradients: DMatrix<f64>) -> DMatrix<f64> {
    for mut row in gradients.row_iter_mut() {
        let size = row.norm();
        row /= if size > 0.0 { size } else { 1.0 };
    }
    let eigen = (gradients.transpose() * &gradients).symmetric_eigen();
    let free: Vec<usize> = (0..gradients.ncols()).filter(|&k| eigen.eigenvalues[k].abs() < ON_TANGENT).collect();
    eigen.eigenvectors.select_columns(&free)
}

/// The spectrum at a point of a run; `None` if values are not finite.
pub fn at(system: &dyn System, t: f64, y: &[f64]) -> Option<Spectrum> {
    let pencil = Pencil::at(system, t, y)?;
    let values = match system.invariants() {
        Some(_) => pencil.eigenvalues_beside(&gradients(system, t, y)?)?,
        None => pencil.eigenvalues()?,
    };
    Some(Spectrum { t, y: y.to_vec(), values })
}

/// Right and left eigenvectors of an eigenvalue, by inverse iteration; `None` if they cannot be determined.
fn vectors(pencil: &Pencil, lambda: C) -> Option<[DVector<C>; 2]> {
    let n = pencil.jacobian.nrows();
    // close to the eigenvalue, so that one solve gives the eigenvector to almost all digits
    let matrix = pencil.shifted(lambda * C::new(1.0 + 1e-10, 3e-11));
    let start = DVector::from_fn(n, |i, _| C::new(1.0, 0.1 + i as f64 / n as f64));
    let vector = |matrix: DMatrix<C>| -> Option<DVector<C>> {
        let lu = matrix.lu();
        let mut v = start.clone();
        for _ in 0..3 {
            v = lu.solve(&v)?;
            let size = v.camax();
            v /= Complex::from(size);
        }
        Some(v)
    };
    Some([vector(matrix.clone())?, vector(matrix.transpose())?])
}

/// The participation of each unknown in the mode of an eigenvalue, at most 1: |left eigenvector| times |right
/// eigenvector|, which does not depend on units. Empty if it cannot be determined.
pub fn participation(system: &dyn System, spectrum: &Spectrum, lambda: C) -> Vec<f64> {
    Pencil::at(system, spectrum.t, &spectrum.y).map_or(vec![], |pencil| shared(&pencil, lambda))
}

/// The participation of each unknown, for an eigenvalue of a matrix.
pub fn shares(matrix: &DMatrix<f64>, lambda: C) -> Vec<f64> {
    shared(&Pencil { jacobian: matrix.clone(), mass: None }, lambda)
}

fn shared(pencil: &Pencil, lambda: C) -> Vec<f64> {
    let Some([right, left]) = vectors(pencil, lambda) else { return vec![] };
    let products: Vec<f64> = right.iter().zip(&left).map(|(a, b)| a.norm() * b.norm()).collect();
    let largest = products.iter().fold(0.0f64, |m, v| m.max(*v));
    if largest > 0.0 && largest.is_finite() { products.iter().map(|v| v / largest).collect() } else { vec![] }
}

/// The entries of df/dy (row, column) that contribute most to an eigenvalue. The contributions w_i J_ij v_j / (w^T M
/// v) add up to the eigenvalue; the entries are sorted by their contribution in the direction `toward`, the largest
/// first. w and v are the left and right eigenvectors, so the choice of units does not matter. Rows of positions,
/// which only repeat velocities, are left out.
pub fn dominant_entries(system: &dyn System, spectrum: &Spectrum, lambda: C, toward: C) -> Vec<(usize, usize)> {
    /// Contributions above this fraction of the largest count as equal: the entries of a cycle contribute equally.
    const EQUAL: f64 = 0.95;
    let Some(pencil) = Pencil::at(system, spectrum.t, &spectrum.y) else { return vec![] };
    let Some([right, left]) = vectors(&pencil, lambda) else { return vec![] };
    let moved = match &pencil.mass {
        None => right.clone(),
        Some(mass) => mass.map(C::from) * &right,
    };
    let norm: C = left.iter().zip(&moved).map(|(w, v)| w * v).sum();
    let mut parts = vec![];
    for i in system.shape().second..spectrum.y.len() {
        for j in 0..spectrum.y.len() {
            let entry = pencil.jacobian[(i, j)];
            let part = ((left[i] * entry * right[j] / norm) * toward.conj()).re;
            if entry != 0.0 && part.is_finite() {
                parts.push((part, (i, j)));
            }
        }
    }
    let most = parts.iter().fold(0.0f64, |most, (part, _)| most.max(*part));
    parts.retain(|(part, _)| *part > 0.0 && *part >= EQUAL * most);
    parts.sort_by(|a, b| b.0.total_cmp(&a.0));
    parts.into_iter().map(|(_, place)| place).collect()
}

/// The largest linearly stable step along a run.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The largest step that amplifies no decaying or oscillating mode; 0 if every step amplifies one.
    pub step: f64,
    /// The eigenvalue that limits it.
    pub lambda: C,
    /// Index of its spectrum.
    pub index: usize,
}

/// The largest stable step over all spectra; `None` if there is no limit. Eigenvalues with a positive real part
/// belong to growing solutions and do not count.
pub fn limit(amplification: &Amplification, spectra: &[Spectrum]) -> Option<Limit> {
    const SECTORS: usize = 90;
    /// Number of candidates that are evaluated accurately.
    const EXACT: usize = 12;
    let mut candidates: Vec<(f64, C, usize)> = vec![];
    for (index, spectrum) in spectra.iter().enumerate() {
        for &lambda in &spectrum.values {
            let Some(direction) = decaying(lambda).filter(|d| amplification.defined(*d)) else { continue };
            // 0 on the negative real axis, SECTORS on the imaginary axis
            let place = (std::f64::consts::PI - direction.im.abs().atan2(direction.re)) * SECTORS as f64
                / std::f64::consts::FRAC_PI_2;
            let ray = |k: usize| {
                let angle = std::f64::consts::PI - k as f64 / SECTORS as f64 * std::f64::consts::FRAC_PI_2;
                amplification.limit(match k {
                    0 => C::new(-1.0, 0.0),
                    SECTORS => C::new(0.0, 1.0),
                    _ => C::from_polar(1.0, angle),
                })
            };
            let (below, above) = (place.floor() as usize, place.ceil() as usize);
            let estimate = ray(below.min(SECTORS)).min(ray(above.min(SECTORS)));
            candidates.push((estimate / lambda.norm(), lambda, index));
        }
    }
    // of equal ones, the fastest first (all are equal if nothing is stable), then the earliest
    candidates.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.norm().total_cmp(&a.1.norm())).then(a.2.cmp(&b.2)));
    let mut found: Option<Limit> = None;
    for (_, lambda, index) in candidates.into_iter().filter(|c| c.0.is_finite()).take(EXACT) {
        let Some(direction) = decaying(lambda) else { continue };
        let step = amplification.limit(direction) / lambda.norm();
        if step.is_finite() && found.as_ref().is_none_or(|f| step < f.step * (1.0 - 1e-9)) {
            found = Some(Limit { step, lambda, index });
        }
    }
    found
}

/// The direction (of length 1) of an eigenvalue that does not grow; it is moved to an axis that is close.
pub fn decaying(lambda: C) -> Option<C> {
    let size = lambda.norm();
    if !(size > 0.0 && size.is_finite()) || lambda.re > ROUNDING * size {
        return None;
    }
    let direction = C::new(lambda.re, lambda.im.abs()) / size;
    Some(if direction.re.abs() <= ROUNDING {
        C::new(0.0, 1.0)
    } else if direction.im <= ROUNDING {
        C::new(-1.0, 0.0)
    } else {
        direction
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use odec_ode::system::{EvalError, Jacobian, Shape};

    /// M y' = A y with dense constant matrices.
    struct Dense {
        a: Vec<f64>,
        m: Option<Vec<f64>>,
        pattern: Pattern,
    }

    impl Dense {
        /// Rows of A and M.
        fn new(a: &[f64], m: Option<&[f64]>) -> Dense {
            let n = a.len().isqrt();
            let columns = |rows: &[f64]| (0..n * n).map(|k| rows[k % n * n + k / n]).collect::<Vec<f64>>();
            let pattern = Pattern::from_positions(n, n, (0..n * n).map(|k| (k % n, k / n)));
            Dense { a: columns(a), m: m.map(columns), pattern }
        }
    }

    impl System for Dense {
        fn shape(&self) -> Shape {
            Shape { n: self.pattern.cols(), second: 0 }
        }
        fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
            self.jacobian_vector(t, y, y, f)
        }
        fn jacobian(&self) -> Jacobian<'_> {
            Jacobian::Entries(&self.pattern)
        }
        fn jacobian_values(&self, _: f64, _: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
            values.copy_from_slice(&self.a);
            Ok(())
        }
        fn jacobian_vector(&self, _: f64, _: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
            out.fill(0.0);
            for (a, (i, j)) in self.a.iter().zip(self.pattern.positions()) {
                out[i] += a * w[j];
            }
            Ok(())
        }
        fn time_derivative(&self, _: f64, _: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
            out.fill(0.0);
            Ok(())
        }
        fn mass(&self) -> Mass<'_> {
            self.m.as_ref().map_or(Mass::Identity, |m| Mass::Constant(&self.pattern, m))
        }
    }

    #[test]
    fn an_algebraic_equation_has_no_eigenvalue() {
        // y' = -3 y + z, 0 = y - z: y' = -2 y
        let system = Dense::new(&[-3.0, 1.0, 1.0, -1.0], Some(&[1.0, 0.0, 0.0, 0.0]));
        let found = at(&system, 0.0, &[1.0, 1.0]).expect("finite");
        assert_eq!(found.values.len(), 1);
        assert!((found.values[0] - C::from(-2.0)).norm() < 1e-12, "{:?}", found.values);
        assert!(rates(&system, 0.0, &[1.0, 1.0]).is_none());
    }

    #[test]
    fn a_mass_divides() {
        let system = Dense::new(&[0.0, 1.0, -8.0, 0.0], Some(&[1.0, 0.0, 0.0, 2.0]));
        let found = at(&system, 0.0, &[1.0, 0.0]).expect("finite");
        for v in &found.values {
            assert!(v.re.abs() < 1e-12 && (v.im.abs() - 2.0).abs() < 1e-12, "{v}");
        }
        assert_eq!(rates(&system, 0.0, &[1.0, 0.0]), Some(vec![0.0, -4.0]));
    }

    #[test]
    fn the_entries_that_make_an_eigenvalue_are_found_whatever_the_units() {
        let system = Dense::new(&[-1e3, 0.0, 1e9, -1.0], None);
        let spectrum = at(&system, 0.0, &[1.0, 1.0]).expect("finite");
        assert_eq!(dominant_entries(&system, &spectrum, C::from(-1e3), C::from(-1.0)), [(0, 0)]);
        assert_eq!(dominant_entries(&system, &spectrum, C::from(-1.0), C::from(-1.0)), [(1, 1)]);
        // x' = 2 y, y' = 2 x - 0.1 y grows because of the coupling, not the damping
        let system = Dense::new(&[0.0, 2.0, 2.0, -0.1], None);
        let spectrum = at(&system, 0.0, &[1.0, 1.0]).expect("finite");
        let largest = spectrum.values.iter().copied().max_by(|a, b| a.re.total_cmp(&b.re)).expect("two of them");
        let mut entries = dominant_entries(&system, &spectrum, largest, C::from(1.0));
        entries.sort_unstable();
        assert_eq!(entries, [(0, 1), (1, 0)]);
        // an oscillation whose spring sets its frequency, and whose (negative) damping makes it grow
        let system = Dense::new(&[0.0, 1.0, -1.0, 0.1], None);
        let spectrum = at(&system, 0.0, &[1.0, 1.0]).expect("finite");
        assert_eq!(dominant_entries(&system, &spectrum, spectrum.values[0], C::from(1.0)), [(1, 1)]);
    }

    #[test]
    fn the_state_of_an_eigenvalue_takes_part_whatever_the_units() {
        // a fast state that follows a slow state of huge size
        let system = Dense::new(&[-1e3, 0.0, 1e9, -1.0], None);
        let spectrum = at(&system, 0.0, &[1.0, 1.0]).expect("finite");
        for (lambda, expected) in [(-1e3, 0), (-1.0, 1)] {
            let shares = participation(&system, &spectrum, C::from(lambda));
            assert_eq!(shares[expected], 1.0, "{shares:?}");
            assert!(shares[1 - expected] < 1e-6, "{shares:?}");
        }
    }
}
