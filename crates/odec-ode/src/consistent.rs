//! Consistent values of algebraic unknowns: if a constant M is singular, some combinations of the equations contain no
//! derivative, and the initial state must satisfy them.
//!
//! N spans the left null space of M and Z the right one (P. N. Brown, A. C. Hindmarsh & L. R. Petzold, SIAM J. Sci.
//! Comput. 19 (1998) 1495). The initial state y is moved by Z a so that N^T f(t, y + Z a) = 0. This does not change M
//! y, and thus no quantity that has a derivative. Newton's method solves W d = N N^T f with W = alpha*M - J for a
//! large alpha. Its solution has the part Z (N^T J Z)^-1 N^T f up to 1/alpha, and W has the pattern that the methods
//! factor anyway. The step is damped by the natural monotonicity test (P. Deuflhard, Newton Methods for Nonlinear
//! Problems (2004), 3.1).

mod noise;
mod step;

use nalgebra::DMatrix;

use crate::branches::{Branches, Reduced};
use crate::control::Tolerances;
use crate::evaluator::Evaluator;
use crate::linear::{IterationMatrix, MassMatrix};
use crate::problem::{Cause, Options, Refusal};
use crate::system::{Jacobian, System};

pub(crate) use noise::UNITS;
pub(crate) use step::Verdict;

/// Largest coupled part of M for which null spaces are computed; larger ones are assumed to be regular.
const MAX_PART: usize = 300;
/// Singular values below this fraction of the largest one count as zero.
const SINGULAR: f64 = 1e-12;
/// A part of M is regular if its pivots exceed this fraction of the largest one; its singular values are not needed then.
const REGULAR: f64 = 1e-8;
/// alpha, as a multiple of the largest entry of J over the smallest entry of M. If parts of M are singular, W loses
/// as many digits to cancellation. alpha is larger if the entries of J differ widely.
const ALPHA_FACTOR: f64 = 1e5;
/// Above this alpha, rounding decides which parts of M are singular.
const MAX_ALPHA: f64 = 1e12;
/// The same limit if the rows and columns of M are empty: no digits cancel there. Coefficients of J may be as small
/// as this allows.
const MAX_ALPHA_EMPTY: f64 = 1e40;
/// Equations are dependent up to rounding if their sums cancel by this factor.
const CANCELS: f64 = 1e13;
/// If the entries of J differ by more than this, rounding may hide that the equations are independent.
const ROUNDED: f64 = 1e20;
/// Factor by which alpha is increased to test whether the solution depends on it.
const ALPHA_INCREASE: f64 = 64.0;
/// A solution that changes by more than this fraction with alpha belongs to a system of higher index.
const DEPENDS: f64 = 1e-3;
/// Relative distance to a second state, which shows whether the equations are singular at the first state only.
const SECOND_STATE: f64 = 1e-2;
/// Largest number of Newton steps, and of damped ones among them. Full steps go down an exponential like that of a diode by
/// a factor e each.
const STEPS: usize = 1_000;
const DAMPED_STEPS: usize = 100;
/// Number of corrections of a slope. Each one gains about as many digits as alpha has.
const REFINEMENTS: usize = 4;
/// Smallest damping factor of a Newton step.
const SHORTEST: f64 = 1e-5;
/// A correction below this fraction of the tolerances is negligible: from there on, steps continue only while they shrink.
const SMALL: f64 = 1e-3;
/// An unknown below this fraction of the tolerances is 0.
const TRACE: f64 = 1e-20;
/// A sparse vector: (index, value) of each entry.
type Sparse = Vec<(usize, f64)>;

/// The combinations of the equations that contain no derivative: an orthonormal basis of the left null space of a
/// constant M.
#[derive(Clone, Debug, Default)]
pub(crate) struct Constraints(Vec<Sparse>);

impl Constraints {
    /// The null spaces of a mass matrix; empty if M is regular or depends on the state.
    pub fn of(mass: &MassMatrix) -> Self {
        let MassMatrix::Constant(matrix) = mass else { return Constraints::default() };
        let entries = matrix.positions().zip(matrix.values());
        Constraints(null_space(matrix.rows(), entries.map(|((row, col), m)| (col, row, *m))))
    }

    /// True if every equation contains a derivative.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes from f the residuals of these combinations.
    pub fn remove_from(&self, f: &mut [f64]) {
        for vector in &self.0 {
            let along: f64 = vector.iter().map(|(i, v)| v * f[*i]).sum();
            for (i, v) in vector {
                f[*i] -= along * v;
            }
        }
    }
}

/// Finds consistent values for one system, for any number of initial states.
pub struct Consistent {
    matrix: IterationMatrix,
    /// Orthonormal bases of the null spaces of M^T and M.
    left: Vec<Sparse>,
    right: Vec<Sparse>,
    /// Smallest entry of M that is not zero.
    least: f64,
    /// alpha, as a multiple of the ratio of the entries of J and M.
    alpha_factor: f64,
    tolerances: Tolerances,
    weights: Vec<f64>,
    f: Vec<f64>,
    step: Vec<f64>,
    next: Vec<f64>,
    tried: Vec<f64>,
    change: Vec<f64>,
    /// False if the equations have had the same coefficients of unknowns at all calls of `Consistent::check_step`.
    pub(crate) varies: bool,
    /// N^T J Z, its entries, and its entries at the last call of `Consistent::check_step`.
    reduced: Reduced,
    entries: Vec<f64>,
    previous_entries: Vec<f64>,
    branches: Branches,
}

impl Consistent {
    /// Prepares the search for a system; `None` if M is regular or depends on the state.
    ///
    /// # Errors
    /// Refuses a system without a Jacobian that can be factored.
    pub fn of(system: &dyn System, options: &Options) -> Result<Option<Self>, Refusal> {
        let mass = MassMatrix::of(system.mass());
        let MassMatrix::Constant(matrix) = &mass else { return Ok(None) };
        let n = matrix.rows();
        let Constraints(left) = Constraints::of(&mass);
        let right = null_space(n, matrix.positions().zip(matrix.values()).map(|((row, col), m)| (row, col, *m)));
        if left.is_empty() {
            return Ok(None);
        }
        let entries = matrix.values().iter().map(|m| m.abs()).filter(|m| *m > 0.0);
        let zeros = || vec![0.0; n];
        let matrix = IterationMatrix::exact(system, options, "the search for a consistent start")?;
        let reduced = system.jacobian().pattern().map_or_else(Reduced::default, |p| Reduced::of(p, &left, &right));
        Ok(Some(Consistent {
            least: entries.fold(f64::INFINITY, f64::min),
            matrix,
            branches: Branches::of(n, &reduced, &left, &right),
            reduced,
            entries: Vec::new(),
            left,
            right,
            alpha_factor: ALPHA_FACTOR,
            tolerances: Tolerances::new(options, n),
            weights: zeros(),
            f: zeros(),
            step: zeros(),
            next: zeros(),
            tried: zeros(),
            change: zeros(),
            varies: false,
            previous_entries: Vec::new(),
        }))
    }

    /// True if the column of a state in M is empty.
    pub fn is_unknown(&self, state: usize) -> bool {
        self.right.iter().any(|vector| matches!(vector[..], [(of, _)] if of == state))
    }

    /// Moves `y` (n values) along the null space of M until the equations without a derivative hold at (t, y).
    ///
    /// # Errors
    /// [`Cause::HigherIndex`], [`Cause::Inconsistent`], or the failure of f or df/dy. `y` is then unchanged.
    pub fn find(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &mut [f64]) -> Result<(), Cause> {
        self.matrix.evaluate(eval, t, y)?;
        let Err(cause) = self.index_one(eval) else { return self.refine(eval, t, y) };
        if self.is_regular_beside(eval, t, y) {
            return Err(self.inconsistent());
        }
        // far from the solution, terms of very different sizes may hide that the equations determine the unknowns
        let guess = y.to_vec();
        self.alpha_factor = ALPHA_FACTOR;
        self.matrix.evaluate(eval, t, y)?;
        let solved = self.refine(eval, t, y).is_ok() && self.matrix.evaluate(eval, t, y).is_ok();
        if solved && self.index_one(eval).is_ok() {
            return Ok(());
        }
        y.copy_from_slice(&guess);
        self.matrix.evaluate(eval, t, y)?;
        let sizes = self.matrix.jacobian().iter().map(|entry| entry.abs()).filter(|size| *size > 0.0);
        let (least, most) = sizes.fold((f64::INFINITY, 0.0f64), |(least, most), x| (least.min(x), most.max(x)));
        Err(if most > ROUNDED * least { self.inconsistent() } else { cause })
    }

    /// True if the equations determine the unknowns at a point near y. At y itself Newton's method may have no
    /// direction, for example at 0 for z^2 = x.
    fn is_regular_beside(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> bool {
        self.tolerances.weights(y, &mut self.weights);
        let size = y.iter().fold(0.0f64, |most, y| most.max(y.abs()));
        let size = if size > 0.0 { size } else { 1.0 };
        let aside = |k: usize| SECOND_STATE * (1.0 + (k as f64 * 0.618_033_988_749_895).fract());
        let load: Vec<f64> = y.iter().enumerate().map(|(k, y)| aside(k) * if *y == 0.0 { size } else { *y }).collect();
        project(&self.right, &load, &mut self.tried);
        for (tried, y) in self.tried.iter_mut().zip(y) {
            *tried += y;
        }
        let there = self.tried.clone();
        self.matrix.evaluate(eval, t, &there).is_ok() && self.index_one(eval).is_ok()
    }

    /// Like [`Consistent::find`], for a system that is known to have index 1.
    ///
    /// # Errors
    /// See [`Consistent::find`].
    pub fn refine(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &mut [f64]) -> Result<(), Cause> {
        let start = y.to_vec();
        // first, look for a solution on this side of the pole of the equations
        let mut found = self.newton(eval, t, y, true);
        if matches!(found, Err(Cause::Inconsistent { .. })) {
            y.copy_from_slice(&start);
            found = self.newton(eval, t, y, false);
        }
        if found.is_err() {
            y.copy_from_slice(&start);
            return found;
        }
        // the part of W that depends on alpha leaves traces in unknowns that are 0
        let moved = y.iter_mut().zip(&start).zip(&self.weights).filter(|((y, start), _)| **y != **start);
        moved.filter(|((y, _), w)| (**y * **w).abs() < TRACE).for_each(|((y, _), _)| *y = 0.0);
        Ok(())
    }

    /// True if the equations without a derivative hold at (t, y), to a small fraction of the tolerances.
    ///
    /// # Errors
    /// The failure of f or df/dy.
    pub fn is_consistent(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<bool, Cause> {
        self.matrix.evaluate(eval, t, y)?;
        self.correction(eval, t, y)?;
        Ok(self.size(&self.step) <= SMALL)
    }

    /// Starts a run: `Consistent::check_step` has no earlier call to compare with.
    pub fn forget(&mut self) {
        self.previous_entries.clear();
        self.varies = false;
        self.resume();
    }

    /// Continues a run, possibly with other equations.
    pub(crate) fn resume(&mut self) {
        self.branches.clear();
    }

    /// True if `to` differs from `from` (n values each) by more than a small part of the tolerances.
    pub fn differ(&mut self, from: &[f64], to: &[f64]) -> bool {
        self.distance(from, to) > SMALL
    }

    /// The largest difference of `to` from `from` (n values each), in tolerances; infinite if it is NaN.
    pub fn distance(&mut self, from: &[f64], to: &[f64]) -> f64 {
        self.tolerances.weights(from, &mut self.weights);
        let apart = from.iter().zip(to).zip(&self.weights).map(|((a, b), w)| ((a - b) * w).abs());
        apart.map(|x| if x.is_nan() { f64::INFINITY } else { x }).fold(0.0, f64::max)
    }

    /// Writes y' at a consistent (t, y) to `slope`. M y' = f holds, and the equations without a derivative continue
    /// to hold, so that N^T (J y' + df/dt) = 0. W approximates the matrix of these equations; iterations correct the
    /// difference.
    ///
    /// # Errors
    /// The failure of f, df/dy or df/dt; a singular W.
    pub fn slope(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], slope: &mut [f64]) -> Result<(), Cause> {
        let Jacobian::Entries(pattern) = eval.system().jacobian() else { return Err(Cause::Fatal) };
        self.matrix.evaluate(eval, t, y)?;
        let alpha = self.factor(eval)?;
        // right-hand side: alpha f for the equations with a derivative, df/dt for the others
        eval.time_derivative(t, y, &mut self.f)?;
        project(&self.left, &self.f, &mut self.tried);
        eval.rhs(t, y, &mut self.f)?;
        project(&self.left, &self.f, &mut self.next);
        for ((b, f), without) in self.tried.iter_mut().zip(&self.f).zip(&self.next) {
            *b += alpha * (f - without);
        }
        slope.fill(0.0);
        for _ in 0..REFINEMENTS {
            self.f.fill(0.0);
            for ((row, col), j) in pattern.positions().zip(self.matrix.jacobian()) {
                self.f[row] -= j * slope[col];
            }
            project(&self.left, &self.f, &mut self.step);
            self.matrix.mass().multiply_add(alpha, slope, &mut self.step);
            for (left, b) in self.step.iter_mut().zip(&self.tried) {
                *left = b - *left;
            }
            self.matrix.solve(eval, &mut self.step);
            for (slope, step) in slope.iter_mut().zip(&self.step) {
                *slope += step;
            }
        }
        Ok(())
    }

    /// Writes Newton's correction at (t, y) to `step`, with the current Jacobian, and computes the weights of y.
    fn correction(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.tolerances.weights(y, &mut self.weights);
        self.factor(eval)?;
        eval.rhs(t, y, &mut self.f)?;
        self.solve(eval);
        self.step.copy_from_slice(&self.next);
        Ok(())
    }

    fn newton(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &mut [f64], stay: bool) -> Result<(), Cause> {
        let (mut before, mut damped) = (f64::INFINITY, 0);
        for _ in 0..STEPS {
            self.matrix.evaluate(eval, t, y)?;
            self.correction(eval, t, y)?;
            let size = self.size(&self.step);
            if size == 0.0 || (before <= SMALL && size > 0.5 * before) {
                return Ok(());
            }
            if size > 0.5 * before && self.is_noise(eval, t, y) {
                return Ok(());
            }
            let part = match self.shorten(eval, t, y, size, stay) {
                Err(Cause::Inconsistent { .. }) if self.is_noise(eval, t, y) => return Ok(()),
                part => part?,
            };
            y.copy_from_slice(&self.tried);
            before = if part == 1.0 { size } else { f64::INFINITY };
            damped += usize::from(part < 1.0);
            if damped == DAMPED_STEPS {
                break;
            }
        }
        Err(self.inconsistent())
    }

    /// The damping factor of the Newton step: the next step is shorter than this one. Leaves the new state in
    /// `tried`. With `stay`, no unknown passes a pole of its equations.
    fn shorten(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], size: f64, stay: bool) -> Result<f64, Cause> {
        let mut part = 1.0;
        loop {
            for ((tried, y), step) in self.tried.iter_mut().zip(y).zip(&self.step) {
                *tried = y + part * step;
            }
            let value = eval.rhs(t, &self.tried, &mut self.f);
            if value.is_ok() {
                self.solve(eval);
                let after = self.size(&self.next);
                if (after <= (1.0 - 0.5 * part) * size || size <= SMALL)
                    && !(stay && self.branches.passes_a_pole(eval, t, y, &self.tried).is_some())
                {
                    return Ok(part);
                }
            } else if let Err(cause @ (Cause::Fatal | Cause::Internal { .. })) = value {
                return Err(cause);
            }
            part *= 0.5;
            if part < SHORTEST {
                return Err(self.inconsistent());
            }
        }
    }

    /// Factors W for an alpha far above all entries of J; returns alpha.
    fn factor(&mut self, eval: &mut Evaluator<'_>) -> Result<f64, Cause> {
        let largest = self.matrix.jacobian().iter().fold(0.0f64, |most, entry| most.max(entry.abs()));
        let scale = if self.least.is_finite() { largest.max(f64::MIN_POSITIVE) / self.least } else { 1.0 };
        self.matrix.factor(eval, self.alpha_factor * scale)?;
        Ok(self.alpha_factor * scale)
    }

    /// Computes `next` = Z (N^T J Z)^-1 N^T f.
    fn solve(&mut self, eval: &mut Evaluator<'_>) {
        project(&self.left, &self.f, &mut self.next);
        self.matrix.solve(eval, &mut self.next);
        self.f.copy_from_slice(&self.next);
        project(&self.right, &self.f, &mut self.next);
    }

    fn size(&self, step: &[f64]) -> f64 {
        let sum: f64 = step.iter().zip(&self.weights).map(|(s, w)| (s * w) * (s * w)).sum();
        if sum.is_nan() { f64::INFINITY } else { (sum / self.right.len().max(1) as f64).sqrt() }
    }

    /// Refuses a system whose equations without a derivative do not determine its algebraic unknowns: its solution
    /// grows with alpha without limit. The alpha at which the solution converges depends on how widely the entries of
    /// J differ, so this function also determines alpha.
    fn index_one(&mut self, eval: &mut Evaluator<'_>) -> Result<(), Cause> {
        self.alpha_factor = ALPHA_FACTOR;
        let mut before = self.loaded(eval)?;
        let mut differs = None;
        let empty = self.left.iter().chain(&self.right).all(|vector| vector.len() == 1);
        let max_alpha = if empty { MAX_ALPHA_EMPTY } else { MAX_ALPHA };
        while self.alpha_factor < max_alpha {
            self.alpha_factor *= ALPHA_INCREASE;
            let after = self.loaded(eval)?;
            differs = first_difference(&before, &after);
            if differs.is_none() {
                self.alpha_factor /= ALPHA_INCREASE;
                return match self.cancelled(eval, &after) {
                    Some(row) => Err(Cause::HigherIndex { row }),
                    None => Ok(()),
                };
            }
            before = after;
        }
        let differs = differs.ok_or(Cause::Internal { what: "no two solutions were compared" })?;
        Err(Cause::HigherIndex { row: self.equation_of(differs) })
    }

    /// The solution for a right-hand side that has a component in every equation without a derivative, scaled like
    /// its coefficients.
    fn loaded(&mut self, eval: &mut Evaluator<'_>) -> Result<Vec<f64>, Cause> {
        if let Err(Cause::Singular { col }) = self.factor(eval) {
            return Err(Cause::HigherIndex { row: self.equation_of(col) });
        }
        self.load(eval);
        self.f.copy_from_slice(&self.tried);
        self.solve(eval);
        Ok(self.next.clone())
    }

    /// Writes the right-hand side of [`Consistent::loaded`] to `tried`.
    fn load(&mut self, eval: &Evaluator<'_>) {
        let part = |k: usize| 1.0 + 0.5 * (k as f64 * 0.618_033_988_749_895).fract();
        self.tried.fill(0.0);
        let Jacobian::Entries(pattern) = eval.system().jacobian() else { return };
        // the largest coefficient of an unknown in each row of J
        self.step.fill(0.0);
        let mut unknown = vec![false; self.step.len()];
        self.right.iter().flatten().for_each(|(i, _)| unknown[*i] = true);
        for ((row, col), j) in pattern.positions().zip(self.matrix.jacobian()) {
            if unknown[col] {
                self.step[row] = self.step[row].max(j.abs());
            }
        }
        for (k, vector) in self.left.iter().enumerate() {
            let size = vector.iter().fold(0.0f64, |most, (i, x)| most.max((x * self.step[*i]).abs()));
            let size = if size > 0.0 && size.is_finite() { size } else { 1.0 };
            for (i, x) in vector {
                self.tried[*i] += part(k) * size * x;
            }
        }
    }

    /// The first equation without a derivative whose terms cancel to rounding at the solution of
    /// [`Consistent::loaded`]: it depends on the other equations.
    fn cancelled(&mut self, eval: &Evaluator<'_>, solution: &[f64]) -> Option<usize> {
        let Jacobian::Entries(pattern) = eval.system().jacobian() else { return None };
        self.load(eval);
        self.step.fill(0.0);
        for ((row, col), j) in pattern.positions().zip(self.matrix.jacobian()) {
            self.step[row] += (j * solution[col]).abs();
        }
        let cancels = |vector: &Sparse| {
            let terms: f64 = vector.iter().map(|(i, x)| (x * self.step[*i]).abs()).sum();
            let load = vector.iter().map(|(i, x)| x * self.tried[*i]).sum::<f64>().abs();
            // a vector without any coefficient of an unknown was found earlier
            (!(terms <= CANCELS * load)).then(|| vector.first().map(|entry| entry.0)).flatten()
        };
        self.left.iter().find_map(cancels)
    }

    /// The equation without a derivative that a message names for an unknown.
    fn equation_of(&self, unknown: usize) -> usize {
        let largest = |vector: &Sparse| {
            vector.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).map_or(unknown, |entry| entry.0)
        };
        let own = self.left.iter().find(|vector| vector.iter().any(|entry| entry.0 == unknown));
        own.or(self.left.first()).map_or(unknown, largest)
    }

    /// The failure that names the unknown with the largest remaining correction.
    fn inconsistent(&self) -> Cause {
        let weighted = |i: &usize| (self.step[*i] * self.weights[*i]).abs();
        let row = (0..self.step.len()).max_by(|a, b| weighted(a).total_cmp(&weighted(b)));
        row.map_or(Cause::Internal { what: "there are no algebraic unknowns" }, |row| Cause::Inconsistent { row })
    }
}

/// Index of the first element in which two solutions differ.
fn first_difference(a: &[f64], b: &[f64]) -> Option<usize> {
    let largest = a.iter().fold(0.0f64, |most, x| if x.is_nan() { f64::NAN } else { most.max(x.abs()) });
    let alike = |(a, b): (&f64, &f64)| (a - b).abs() <= DEPENDS * a.abs().max(1e-9 * largest);
    a.iter().zip(b).position(|pair| !alike(pair))
}

/// Projects `x` on the space with this orthonormal basis.
fn project(basis: &[Sparse], x: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for vector in basis {
        let along: f64 = vector.iter().map(|(i, v)| v * x[*i]).sum();
        for (i, v) in vector {
            out[*i] += along * v;
        }
    }
}

/// An orthonormal basis of the vectors v with sum_j m_ij v_j = 0 for the entries (i, j, m_ij), computed for each
/// coupled part separately.
fn null_space(n: usize, entries: impl Iterator<Item = (usize, usize, f64)>) -> Vec<Sparse> {
    let entries: Vec<(usize, usize, f64)> = entries.filter(|entry| entry.2 != 0.0).collect();
    // union-find over columns that share a row
    let mut parent: Vec<usize> = (0..n).collect();
    let mut first = vec![usize::MAX; n];
    let mut met = vec![false; n];
    for &(row, col, _) in &entries {
        met[col] = true;
        if first[row] == usize::MAX {
            first[row] = col;
        } else {
            let (a, b) = (root(&mut parent, first[row]), root(&mut parent, col));
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut basis: Vec<Sparse> = (0..n).filter(|col| !met[*col]).map(|col| vec![(col, 1.0)]).collect();
    let mut parts: std::collections::BTreeMap<usize, Vec<(usize, usize, f64)>> = std::collections::BTreeMap::new();
    for entry in entries {
        parts.entry(root(&mut parent, entry.1)).or_default().push(entry);
    }
    for part in parts.values().filter(|part| part.len() > 1) {
        basis.extend(null_space_of(part));
    }
    basis
}

fn root(parent: &mut [usize], mut i: usize) -> usize {
    while parent[i] != i {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    i
}

/// Like [`null_space`], for one part: from its singular values, with equilibrated rows.
fn null_space_of(part: &[(usize, usize, f64)]) -> Vec<Sparse> {
    let sorted = |mut list: Vec<usize>| {
        list.sort_unstable();
        list.dedup();
        list
    };
    let rows = sorted(part.iter().map(|entry| entry.0).collect());
    let cols = sorted(part.iter().map(|entry| entry.1).collect());
    if rows.len().max(cols.len()) > MAX_PART {
        return Vec::new();
    }
    let find = |list: &[usize], i: usize| list.partition_point(|x| *x < i);
    // at least as many rows as columns, so that the SVD forms all right singular vectors
    let mut dense = DMatrix::<f64>::zeros(rows.len().max(cols.len()), cols.len());
    for &(row, col, m) in part {
        dense[(find(&rows, row), find(&cols, col))] += m;
    }
    for mut row in dense.row_iter_mut() {
        let size = row.amax();
        if size > 0.0 {
            row /= size;
        }
    }
    if dense.is_square() {
        let pivots = dense.clone().lu().u().diagonal().abs();
        if pivots.min() > REGULAR * pivots.max() {
            return Vec::new();
        }
    }
    let svd = dense.svd(false, true);
    let Some(right) = svd.v_t else { return Vec::new() };
    let largest = svd.singular_values.max();
    let zero = (0..cols.len()).filter(|k| svd.singular_values[*k] <= SINGULAR * largest);
    zero.map(|k| cols.iter().enumerate().map(|(j, col)| (*col, right[(k, j)])).collect()).collect()
}
