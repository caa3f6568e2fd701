//! Steps of RADAU5: simplified Newton iteration on the transformed stages, with one real and one complex matrix,
//! which are reused as long as they are good enough.
//!  With Y_i = y + Z_i the stages are `f(t_i, Y_i) = M K_i`, K = A^-1 Z / h. The residual is transformed by T^-1 and
//! solved with W = M gamma/h - J and W = M (alpha + i beta)/h - J, where J is evaluated at the start of this step or
//! an earlier one. M may be singular. If M depends on (t, y), the residual uses its values at the stages, and the
//! matrices use those at the start.

use crate::control::{Control, PREDICTIVE, Tolerances, norm_at_iterate, root_mean, weighted_norm, weighted_worst};
use crate::evaluator::{Evaluator, all_finite};
use crate::integrator::{Attempt, Integrator};
use crate::interpolant::Segment;
use crate::linear::{ComplexIterationMatrix, IterationMatrix, LinearReport, MassMatrix};
use crate::method::Setup;
use crate::method::polynomial::Polynomial;
use crate::method::radau::radau5::{C, ERROR};
use crate::method::radau::transformation::Transformation;
use crate::newton::{Accuracy, MAX_AGE, MAX_ITERATIONS, ROUNDING, TRUSTED_RATE};
use crate::problem::{Cause, Refusal};
use crate::system::{Jacobian, System};

const STAGES: usize = 3;
/// A rate above this requests a new Jacobian for the next step (as in RADAU5).
const GOOD_RATE: f64 = 1e-3;
/// The step size, and thus the factors, is kept if it could grow by less than this factor.
const KEEP: f64 = 1.2;
/// A stage equation is satisfied if its residual is within this many units of rounding of its terms.
const UNITS: f64 = 8.0;
/// Factor on Newton's tolerance with fixed steps.
const FIXED_STEP_CARE: f64 = 0.01;
/// A guess that differs from the state by less than this fraction is replaced by the state.
const STILL: f64 = 4.0 * f64::EPSILON;
/// Order of the error estimate.
const ESTIMATE: u32 = 3;

/// Builds the integrator.
pub fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let n = setup.system.shape().n;
    let mut accuracy = Accuracy::of(setup.options);
    if setup.options.fixed {
        accuracy.tolerance *= FIXED_STEP_CARE;
    }
    let zero = || vec![0.0; n];
    let three = || [zero(), zero(), zero()];
    let split = Transformation::new();
    Ok(Box::new(Radau {
        t_rows: std::array::from_fn(|i| row(&split.t, i)),
        inverse_rows: std::array::from_fn(|i| row(&split.inverse, i)),
        split,
        real: IterationMatrix::exact(setup.system, setup.options, setup.method.name)?,
        complex: ComplexIterationMatrix::new(setup.system, setup.options)?,
        mass: MassMatrix::of(setup.system.mass()),
        accuracy,
        fixed: setup.options.fixed,
        tolerances: Tolerances::new(setup.options, n),
        control: Control::new(PREDICTIVE, ESTIMATE),
        earlier: (Control::new(PREDICTIVE, ESTIMATE), true),
        t: 0.0,
        y: zero(),
        f: zero(),
        first: true,
        extrapolates: false,
        jacobian: JacobianOrigin::None,
        age: 0,
        factored: 0.0,
        eta: 1.0,
        rate: 0.0,
        z: three(),
        w: three(),
        left: three(),
        stage: zero(),
        slope: zero(),
        correction: three(),
        weights: zero(),
        error: zero(),
        y1: zero(),
        f1: zero(),
        dense: Polynomial::new(n, 2),
    }))
}

/// The point where the current Jacobian was evaluated.
#[derive(Clone, Copy, PartialEq)]
enum JacobianOrigin {
    /// No usable Jacobian.
    None,
    /// An earlier step.
    Old,
    /// The start of this step, or an iterate.
    Fresh,
}

struct Radau {
    split: Transformation,
    /// The rows of T and of its inverse.
    t_rows: [[f64; STAGES]; STAGES],
    inverse_rows: [[f64; STAGES]; STAGES],
    real: IterationMatrix,
    complex: ComplexIterationMatrix,
    mass: MassMatrix,
    accuracy: Accuracy,
    fixed: bool,
    tolerances: Tolerances,
    control: Control,
    /// The controller before the last step, and true if that step was the first one.
    earlier: (Control, bool),
    t: f64,
    y: Vec<f64>,
    /// f(t, y).
    f: Vec<f64>,
    /// True if no step has been accepted since `set`.
    first: bool,
    /// True if the polynomial of the previous step is available to extrapolate the stages.
    extrapolates: bool,
    jacobian: JacobianOrigin,
    /// Number of steps since the Jacobian was evaluated.
    age: u32,
    /// Step size of the current factors; 0 for none.
    factored: f64,
    /// Contraction of the last step, as theta/(1 - theta), and theta itself.
    eta: f64,
    rate: f64,
    /// Y_i - y, and T^-1 times these.
    z: [Vec<f64>; STAGES],
    w: [Vec<f64>; STAGES],
    left: [Vec<f64>; STAGES],
    stage: Vec<f64>,
    /// Approximation of y' for d(M y')/dy.
    slope: Vec<f64>,
    correction: [Vec<f64>; STAGES],
    weights: Vec<f64>,
    error: Vec<f64>,
    y1: Vec<f64>,
    f1: Vec<f64>,
    dense: Polynomial,
}

/// out = sum_j row_j * v_j.
fn mix(row: [f64; STAGES], v: &[Vec<f64>; STAGES], out: &mut [f64]) {
    let n = out.len();
    let [a, b, c] = [&v[0][..n], &v[1][..n], &v[2][..n]];
    for m in 0..n {
        out[m] = row[0] * a[m] + row[1] * b[m] + row[2] * c[m];
    }
}

fn row(matrix: &nalgebra::Matrix3<f64>, i: usize) -> [f64; STAGES] {
    std::array::from_fn(|j| matrix[(i, j)])
}

impl Radau {
    fn evaluate(&mut self, eval: &mut Evaluator<'_>, t: f64, at_iterate: bool) -> Result<(), Cause> {
        self.jacobian = JacobianOrigin::None;
        let y = if at_iterate { &self.stage } else { &self.y };
        self.real.evaluate_moving(eval, t, y, &self.slope)?;
        self.jacobian = JacobianOrigin::Fresh;
        (self.age, self.factored, self.eta) = (0, 0.0, 1.0);
        Ok(())
    }

    fn factor(&mut self, eval: &mut Evaluator<'_>, h: f64) -> Result<(), Cause> {
        self.factored = 0.0;
        self.real.factor(eval, self.split.gamma / h)?;
        self.complex.factor(eval, self.split.alpha / h, self.split.beta / h, &self.real)?;
        self.factored = h;
        // A rate measured with other factors says little about these.
        self.eta = 1.0;
        Ok(())
    }

    /// Extrapolates the stages from the polynomial of the last step.
    fn guess(&mut self, h: f64) {
        for i in 0..STAGES {
            if self.extrapolates {
                self.dense.value(self.t + C[i] * h, &self.y, &mut self.z[i]);
                for (z, y) in self.z[i].iter_mut().zip(&self.y) {
                    let moves = *z - y;
                    // a state at rest stays where it is: next to a surface, f may end within the rounding of the state
                    *z = if moves.abs() <= STILL * y.abs() { 0.0 } else { moves };
                }
            } else {
                self.z[i].fill(0.0);
            }
        }
    }

    /// Solves the stages; returns the number of iterations.
    fn stages(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<u32, Cause> {
        self.tolerances.weights(&self.y, &mut self.weights);
        self.guess(h);
        let mut renewals = self.accuracy.renewals;
        if self.jacobian == JacobianOrigin::None || self.age >= MAX_AGE {
            self.evaluate(eval, self.t, false)?;
        }
        loop {
            if self.factored != h {
                self.factor(eval, h)?;
            }
            let cause = match self.iterate(eval, h, t_new) {
                Ok(iterations) => return Ok(iterations),
                Err(cause) => cause,
            };
            if !matches!(cause, Cause::NewtonFailed { .. }) {
                return Err(cause);
            }
            if self.jacobian == JacobianOrigin::Old {
                self.evaluate(eval, self.t, false)?;
                self.guess(h);
                continue;
            }
            // A step that cannot be made smaller continues with the Jacobian at its middle stage.
            if renewals == 0 || !self.z.iter().all(|z| all_finite(z)) {
                return Err(cause);
            }
            renewals -= 1;
            for m in 0..self.y.len() {
                self.stage[m] = self.y[m] + self.z[1][m];
            }
            self.evaluate(eval, self.t + C[1] * h, true)?;
        }
    }

    /// Writes the residual of the stage equations, f(t_i, Y_i) - M K_i, to `left`.
    fn residual(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<(), Cause> {
        let n = self.y.len();
        for i in 0..STAGES {
            for m in 0..n {
                self.stage[m] = self.y[m] + self.z[i][m];
            }
            let t = if i + 1 == STAGES { t_new } else { self.t + C[i] * h };
            eval.rhs(t, &self.stage, &mut self.left[i])?;
            self.mass.update(eval, t, &self.stage)?;
            mix(row(&self.split.inverse_a, i), &self.z, &mut self.error);
            self.mass.multiply_add(-1.0 / h, &self.error, &mut self.left[i]);
        }
        Ok(())
    }

    /// Computes the right-hand sides of the real and the complex system in `correction`: T^-1 times the residual of
    /// the stage equations. If M = I this is T^-1 f - diag(gamma, [alpha, -beta; beta, alpha]) w/h, in one pass.
    fn right_sides(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<(), Cause> {
        let n = self.y.len();
        if !self.mass.is_identity() {
            self.residual(eval, h, t_new)?;
            for i in 0..STAGES {
                mix(self.inverse_rows[i], &self.left, &mut self.correction[i]);
            }
            return Ok(());
        }
        for i in 0..STAGES {
            let (stage, y, z) = (&mut self.stage[..n], &self.y[..n], &self.z[i][..n]);
            for m in 0..n {
                stage[m] = y[m] + z[m];
            }
            let t = if i + 1 == STAGES { t_new } else { self.t + C[i] * h };
            eval.rhs(t, stage, &mut self.left[i])?;
        }
        let (gamma, alpha, beta) = (self.split.gamma / h, self.split.alpha / h, self.split.beta / h);
        let rows = &self.inverse_rows;
        let f = self.left.each_ref().map(|v| &v[..n]);
        let w = self.w.each_ref().map(|v| &v[..n]);
        let [real, re, im] = self.correction.each_mut().map(|v| &mut v[..n]);
        for m in 0..n {
            let slopes = |row: &[f64; STAGES]| row[0] * f[0][m] + row[1] * f[1][m] + row[2] * f[2][m];
            real[m] = slopes(&rows[0]) - gamma * w[0][m];
            re[m] = slopes(&rows[1]) - (alpha * w[1][m] - beta * w[2][m]);
            im[m] = slopes(&rows[2]) - (beta * w[1][m] + alpha * w[2][m]);
        }
        Ok(())
    }

    /// Adds the corrections to w, and computes z = T w; returns their weighted norm.
    fn take_corrections(&mut self) -> f64 {
        let n = self.y.len();
        let rows = &self.t_rows;
        let weights = &self.weights[..n];
        let [w0, w1, w2] = self.w.each_mut().map(|v| &mut v[..n]);
        let [z0, z1, z2] = self.z.each_mut().map(|v| &mut v[..n]);
        let [c0, c1, c2] = self.correction.each_ref().map(|v| &v[..n]);
        let mut sums = [0.0; STAGES];
        for m in 0..n {
            let corrections = [c0[m], c1[m], c2[m]];
            for (sum, correction) in sums.iter_mut().zip(corrections) {
                let q = correction * weights[m];
                *sum += q * q;
            }
            (w0[m], w1[m], w2[m]) = (w0[m] + c0[m], w1[m] + c1[m], w2[m] + c2[m]);
            let (a, b, c) = (w0[m], w1[m], w2[m]);
            z0[m] = rows[0][0] * a + rows[0][1] * b + rows[0][2] * c;
            z1[m] = rows[1][0] * a + rows[1][1] * b + rows[1][2] * c;
            z2[m] = rows[2][0] * a + rows[2][1] * b + rows[2][2] * c;
        }
        root_mean(sums.iter().sum(), STAGES * n)
    }

    /// The norm of the last corrections for the weights at the stages.
    #[cold]
    fn corrections_at_stages(&mut self, rtol: f64) -> f64 {
        for m in 0..self.y.len() {
            self.stage[m] = self.z.iter().fold(self.y[m].abs(), |most, z| most.max((self.y[m] + z[m]).abs()));
        }
        let norms = self.correction.each_ref().map(|c| norm_at_iterate(c, &self.stage, &self.weights, rtol));
        root_mean(norms.iter().map(|norm| norm * norm).sum(), STAGES)
    }

    fn iterate(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<u32, Cause> {
        let Accuracy { tolerance, rtol, .. } = self.accuracy;
        for i in 0..STAGES {
            mix(self.inverse_rows[i], &self.z, &mut self.w[i]);
        }
        let mut eta = self.eta.max(TRUSTED_RATE).powf(0.8);
        let (mut previous, mut far) = (0.0, false);
        self.rate = 0.0;
        for iteration in 0..MAX_ITERATIONS {
            eval.stats.newton += 1;
            self.right_sides(eval, h, t_new)?;
            let [first, re, im] = &mut self.correction;
            self.real.solve(eval, first);
            self.complex.solve(eval, re, im, &self.real);
            let mut size = self.take_corrections();
            if far || iteration == 0 && !size.is_finite() {
                // the stages are far from the state at which the weights were computed
                far = true;
                size = self.corrections_at_stages(rtol);
            }
            if iteration > 0 {
                let theta = size / previous;
                let left = (MAX_ITERATIONS - 1 - iteration) as i32;
                if !(theta < 1.0) || size * theta.powi(left) > tolerance * (1.0 - theta) {
                    let rounding = ROUNDING / rtol;
                    let rounded = size <= rounding || self.corrections_at_stages(rtol) <= rounding;
                    if rounded || self.is_rounded(eval, h, t_new) {
                        return Ok(iteration + 1);
                    }
                    return Err(self.give_up());
                }
                eta = theta / (1.0 - theta);
                self.rate = self.rate.max(theta);
            } else if !size.is_finite() {
                return Err(self.give_up());
            }
            if size == 0.0 || eta * size <= tolerance {
                self.eta = eta;
                return Ok(iteration + 1);
            }
            previous = size;
        }
        Err(self.give_up())
    }

    /// True if the residual of the stage equations is rounding of their terms, so that no iteration reduces it: if an
    /// equation hardly determines an unknown, such as i in 1e-6*i = 1 - v, the corrections of the unknown are far
    /// above the rounding of its value.
    fn is_rounded(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> bool {
        if self.mass.is_identity() || self.residual(eval, h, t_new).is_err() {
            return false;
        }
        let Jacobian::Entries(pattern) = eval.system().jacobian() else { return false };
        (0..STAGES).all(|i| {
            // terms that cancel, in a slope or between the slopes of coupled states, leave their rounding
            let inverse = row(&self.split.inverse_a, i);
            for (m, terms) in self.error.iter_mut().enumerate() {
                *terms = (0..STAGES).map(|j| (inverse[j] * self.z[j][m]).abs()).sum::<f64>() / h.abs();
            }
            self.stage.fill(0.0);
            if let Some(mass) = self.mass.assembled() {
                for ((row, col), mass) in mass.positions().zip(mass.values()) {
                    self.stage[row] += mass.abs() * self.error[col];
                }
            }
            for ((row, col), entry) in pattern.positions().zip(self.real.jacobian()) {
                self.stage[row] += entry.abs() * (self.y[col].abs() + self.z[i][col].abs());
            }
            let met = |(left, terms): (&f64, &f64)| left.abs() <= UNITS * f64::EPSILON * terms;
            self.left[i].iter().zip(&self.stage).all(met)
        })
    }

    fn give_up(&mut self) -> Cause {
        self.factored = 0.0;
        let largest = |c: &&Vec<f64>| weighted_norm(c, &self.weights);
        let worst = self.correction.iter().max_by(|a, b| largest(a).total_cmp(&largest(b)));
        worst.map_or(Cause::Internal { what: "the method has no stages" }, |c| Cause::NewtonFailed {
            row: weighted_worst(c, &self.weights),
        })
    }

    /// The weighted error of the step to `y1`. On the first step and after rejections, an estimate that is too large
    /// is computed again with f at the estimated end, which damps stiff components twice (Hairer & Wanner II, equation
    /// 8.20).
    fn estimate(&mut self, eval: &mut Evaluator<'_>, h: f64, again: bool) -> Result<f64, Cause> {
        let n = self.y.len();
        let sum = &mut self.correction[0];
        if self.mass.is_identity() {
            mix(ERROR.map(|e| e / h), &self.z, sum);
        } else {
            mix(ERROR.map(|e| e / h), &self.z, &mut self.stage);
            sum.fill(0.0);
            // M at the start, where f was evaluated; the matrix may use an older M.
            self.mass.update(eval, self.t, &self.y)?;
            self.mass.multiply_add(1.0, &self.stage, sum);
        }
        for m in 0..n {
            self.error[m] = sum[m] + self.f[m];
        }
        self.real.solve(eval, &mut self.error);
        let err = self.tolerances.norm(&self.error, &self.y, &self.y1);
        if !(err > 1.0 && again) {
            return Ok(err);
        }
        for m in 0..n {
            self.stage[m] = self.y[m] + self.error[m];
        }
        eval.rhs(self.t, &self.stage, &mut self.error)?;
        for m in 0..n {
            self.error[m] += self.correction[0][m];
        }
        self.real.solve(eval, &mut self.error);
        Ok(self.tolerances.norm(&self.error, &self.y, &self.y1))
    }

    fn finish(&mut self, h: f64, t_new: f64) {
        let n = self.y.len();
        if self.mass.varies() {
            mix(row(&self.split.inverse_a, STAGES - 1).map(|a| a / h), &self.z, &mut self.slope);
        }
        // p(s) = (1-s) y + s (y1 + (1-s) (D_1 + s D_2)) through the inner stages.
        let mut rows = self.dense.rows();
        if let (Some(d1), Some(d2)) = (rows.next(), rows.next()) {
            let scale = [1.0 / (C[0] * (1.0 - C[0])), 1.0 / (C[1] * (1.0 - C[1]))];
            for m in 0..n {
                let at = |i: usize| (self.z[i][m] - C[i] * self.z[2][m]) * scale[i];
                d2[m] = (at(1) - at(0)) / (C[1] - C[0]);
                d1[m] = at(0) - C[0] * d2[m];
            }
        }
        drop(rows);
        self.dense.begin(self.t, h, &mut self.y);
        std::mem::swap(&mut self.y, &mut self.y1);
        std::mem::swap(&mut self.f, &mut self.f1);
        self.t = t_new;
        self.earlier = (self.control.clone(), self.first);
        (self.first, self.extrapolates) = (false, true);
        self.age += 1;
        self.jacobian = if self.rate > GOOD_RATE { JacobianOrigin::None } else { JacobianOrigin::Old };
    }

    /// Solves the stages and estimates the error: returns the number of iterations and the weighted error.
    fn advance(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<(u32, f64), Cause> {
        let iterations = self.stages(eval, h, t_new)?;
        for m in 0..self.y.len() {
            self.y1[m] = self.y[m] + self.z[STAGES - 1][m];
        }
        if let Some(row) = self.y1.iter().position(|y| !y.is_finite()) {
            return Err(Cause::NonFiniteState { row });
        }
        let again = self.first || self.control.rejected();
        let err = if self.fixed { 0.0 } else { self.estimate(eval, h, again)? };
        if err <= 1.0 {
            eval.rhs(t_new, &self.y1, &mut self.f1)?;
        }
        Ok((iterations, err))
    }
}

impl Integrator for Radau {
    fn dimension(&self) -> usize {
        self.y.len()
    }

    fn time(&self) -> f64 {
        self.t
    }

    fn state(&self) -> &[f64] {
        &self.y
    }

    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.jacobian = JacobianOrigin::None;
        self.t = t;
        self.y.copy_from_slice(y);
        self.control.reset();
        (self.first, self.extrapolates) = (true, false);
        self.slope.fill(0.0);
        self.dense.clear();
        eval.rhs(t, y, &mut self.f)
    }

    fn renew(&mut self, _: &dyn System) -> bool {
        (self.age, self.factored, self.eta, self.rate) = (0, 0.0, 1.0, 0.0);
        self.real.renew() && self.complex.renew()
    }

    fn shift(&mut self, eval: &mut Evaluator<'_>, y: &[f64]) -> Result<(), Cause> {
        self.y.copy_from_slice(y);
        eval.rhs(self.t, y, &mut self.f)
    }

    fn set_atol(&mut self, atol: &[f64]) {
        self.tolerances.set_atol(atol);
    }

    fn tighten(&mut self, part: f64) {
        self.tolerances.tighten(part);
    }

    fn order(&self) -> u32 {
        ESTIMATE
    }

    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        let (iterations, err) = match self.advance(eval, h, t_new) {
            Ok(done) => done,
            Err(cause) => {
                if self.jacobian == JacobianOrigin::Old {
                    self.jacobian = JacobianOrigin::None;
                }
                return Attempt::Failed { cause, next: self.control.fail(h) };
            }
        };
        if !(err <= 1.0) {
            let row = self.tolerances.worst(&self.error, &self.y, &self.y1);
            return Attempt::Rejected { next: self.control.reject(h, err), error: err, row };
        }
        self.finish(h, t_new);
        if self.fixed {
            return Attempt::Accepted { next: h };
        }
        // Many iterations call for a smaller step (as in RADAU5).
        let most = f64::from(2 * MAX_ITERATIONS);
        let effort = (most + 1.0) / (most + f64::from(iterations));
        let next = self.control.accept(h, err) * effort;
        let ratio = next / h;
        let keep = self.jacobian == JacobianOrigin::Old && (1.0..=KEEP).contains(&ratio);
        Attempt::Accepted { next: if keep { h } else { next } }
    }

    fn linear(&self) -> Option<LinearReport> {
        Some(self.real.report())
    }

    fn interpolate(&self, t: f64, y: &mut [f64]) {
        self.dense.value(t, &self.y, y);
    }

    fn degree(&self) -> usize {
        self.dense.degree()
    }

    fn coefficients(&self, segment: usize, c: &mut [f64]) -> Option<Segment> {
        if segment == 0 { self.dense.coefficients(&self.y, c) } else { None }
    }

    fn retreat(&mut self) -> bool {
        let Some((t, start)) = self.dense.start() else { return false };
        std::mem::swap(&mut self.y, start);
        std::mem::swap(&mut self.f, &mut self.f1);
        self.t = t;
        self.dense.clear();
        (self.control, self.first) = self.earlier.clone();
        // the polynomial of the previous step is no longer available
        self.extrapolates = false;
        self.jacobian = JacobianOrigin::None;
        self.slope.fill(0.0);
        true
    }
}
