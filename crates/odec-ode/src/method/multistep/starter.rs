//! Starting values of the fixed-order formulas: Radau IIA of order 5, L-stable and with stage order 3.
//!
//! The stage equations are solved with triangular matrices instead of the complex pair of the usual transformation
//! (van der Houwen & de Swart, *Triangularly implicit iteration methods for ODE-IVP solvers*, SIAM J. Sci. Comput. 18
//! (1997)): with A = L U (U with unit diagonal) each sweep solves (I - h L J) dZ = h A F - Z, which contracts for all
//! h lambda in the left half-plane and at infinity is exact after as many sweeps as there are stages.
//!
//! With M(t, y) the stages satisfy M(t_i, Y_i) K_i = F_i, K = A^-1 Z / h; the sweep then takes U (F - M K), which is
//! the same if M is constant. The matrices use M at the start.

use crate::control::{Tolerances, norm_at_iterate, weighted_norm, weighted_worst};
use crate::evaluator::Evaluator;
use crate::linear::{IterationMatrix, MassMatrix, RequiredAccuracy};
pub use crate::method::radau::radau5::{A, C};
use crate::newton::{Accuracy, LINEAR_ACCURACY, ROUNDING};
use crate::problem::{Cause, Options, Refusal};
use crate::system::System;

const STAGES: usize = 3;
/// Order of the starter.
pub const ORDER: usize = 5;
/// Number of sweeps after which the step fails; for a linear problem, each reduces the error by a factor of at least
/// 0.4.
const MAX_SWEEPS: u32 = 60;
/// The starter with its buffers.
pub struct Starter {
    matrices: [IterationMatrix; STAGES],
    mass: MassMatrix,
    tolerances: Tolerances,
    accuracy: Accuracy,
    upper: [[f64; STAGES]; STAGES],
    inverse_lower: [[f64; STAGES]; STAGES],
    /// A^-1.
    inverse: [[f64; STAGES]; STAGES],
    z: [Vec<f64>; STAGES],
    f: [Vec<f64>; STAGES],
    y: Vec<f64>,
    correction: Vec<f64>,
    sum: Vec<f64>,
    weights: Vec<f64>,
    /// True if the stages are far from the state at which the weights were computed.
    far: bool,
}

/// A = L U with a unit diagonal in U, as (L^-1, U).
fn crout() -> ([[f64; STAGES]; STAGES], [[f64; STAGES]; STAGES]) {
    let (mut l, mut u, mut inverse) = ([[0.0; STAGES]; STAGES], [[0.0; STAGES]; STAGES], [[0.0; STAGES]; STAGES]);
    for j in 0..STAGES {
        for i in j..STAGES {
            l[i][j] = A[i][j] - (0..j).map(|k| l[i][k] * u[k][j]).sum::<f64>();
        }
        u[j][j] = 1.0;
        for i in j + 1..STAGES {
            u[j][i] = (A[j][i] - (0..j).map(|k| l[j][k] * u[k][i]).sum::<f64>()) / l[j][j];
        }
    }
    for j in 0..STAGES {
        inverse[j][j] = 1.0 / l[j][j];
        for i in j + 1..STAGES {
            inverse[i][j] = -(j..i).map(|k| l[i][k] * inverse[k][j]).sum::<f64>() / l[i][i];
        }
    }
    (inverse, u)
}

/// A^-1 = U^-1 L^-1 by back substitution, U with a unit diagonal.
fn inverse(upper: &[[f64; STAGES]; STAGES], inverse_lower: &[[f64; STAGES]; STAGES]) -> [[f64; STAGES]; STAGES] {
    let mut inverse = *inverse_lower;
    for j in 0..STAGES {
        for i in (0..STAGES).rev() {
            inverse[i][j] -= (i + 1..STAGES).map(|k| upper[i][k] * inverse[k][j]).sum::<f64>();
        }
    }
    inverse
}

impl Starter {
    /// Allocates buffers for a system; `accuracy` is the error that the sweeps may leave.
    pub fn new(system: &dyn System, options: &Options, accuracy: Accuracy) -> Result<Self, Refusal> {
        let n = system.shape().n;
        let (inverse_lower, upper) = crout();
        let zeros = || vec![0.0; n];
        let matrix = || IterationMatrix::new(system, options);
        Ok(Starter {
            matrices: [matrix()?, matrix()?, matrix()?],
            mass: MassMatrix::of(system.mass()),
            tolerances: Tolerances::new(options, n),
            accuracy,
            upper,
            inverse_lower,
            inverse: inverse(&upper, &inverse_lower),
            z: [zeros(), zeros(), zeros()],
            f: [zeros(), zeros(), zeros()],
            y: zeros(),
            correction: zeros(),
            sum: zeros(),
            weights: zeros(),
            far: false,
        })
    }

    /// Evaluates the Jacobian at (t, y) and factors for steps of size `h`.
    pub fn prepare(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], h: f64) -> Result<(), Cause> {
        for (i, matrix) in self.matrices.iter_mut().enumerate() {
            matrix.evaluate(eval, t, y)?;
            matrix.factor(eval, self.inverse_lower[i][i] / h)?;
        }
        Ok(())
    }

    /// One step of the prepared size `h` from (t, y) to `out`.
    pub fn step(
        &mut self,
        eval: &mut Evaluator<'_>,
        (t, h): (f64, f64),
        y: &[f64],
        out: &mut [f64],
    ) -> Result<(), Cause> {
        let Accuracy { tolerance, rtol, .. } = self.accuracy;
        self.tolerances.weights(y, &mut self.weights);
        self.z.iter_mut().for_each(|z| z.fill(0.0));
        self.far = false;
        let mut previous = f64::INFINITY;
        for sweep in 0..MAX_SWEEPS {
            eval.stats.newton += 1;
            let size = self.sweep(eval, t, h, y)?;
            let theta = size / previous;
            let stalled = sweep > 1 && !(theta < 1.0);
            let converged = size == 0.0 || (sweep > 0 && theta < 1.0 && size * theta / (1.0 - theta) <= tolerance);
            if converged || (stalled && size * rtol <= ROUNDING) {
                for i in 0..y.len() {
                    out[i] = y[i] + self.z[STAGES - 1][i];
                }
                return Ok(());
            }
            if !size.is_finite() || (stalled && theta > 2.0) {
                break;
            }
            previous = size;
        }
        Err(Cause::NewtonFailed { row: weighted_worst(&self.correction, &self.weights) })
    }

    /// One triangular sweep over the stages; returns the largest weighted correction.
    fn sweep(&mut self, eval: &mut Evaluator<'_>, t: f64, h: f64, y: &[f64]) -> Result<f64, Cause> {
        let n = y.len();
        for i in 0..STAGES {
            for m in 0..n {
                self.y[m] = y[m] + self.z[i][m];
            }
            eval.rhs(t + C[i] * h, &self.y, &mut self.f[i])?;
            if self.mass.varies() {
                self.mass.update(eval, t + C[i] * h, &self.y)?;
                self.sum.fill(0.0);
                for j in 0..STAGES {
                    let a = self.inverse[i][j] / h;
                    for m in 0..n {
                        self.sum[m] += a * self.z[j][m];
                    }
                }
                self.mass.multiply_add(-1.0, &self.sum, &mut self.f[i]);
            }
        }
        let mut largest = 0.0_f64;
        for i in 0..STAGES {
            self.correction.fill(0.0);
            for j in i..STAGES {
                let u = self.upper[i][j];
                for m in 0..n {
                    self.correction[m] += u * self.f[j][m];
                }
            }
            // The stages before i already contain their corrections; if M varies, only the corrections are needed,
            // and f[j] holds them once it has been used.
            self.sum.fill(0.0);
            let varies = self.mass.varies();
            for j in 0..if varies { i } else { i + 1 } {
                let l = self.inverse_lower[i][j] / h;
                let known = if varies { &self.f[j] } else { &self.z[j] };
                for m in 0..n {
                    self.sum[m] += l * known[m];
                }
            }
            let mass = if varies { self.matrices[i].mass() } else { &self.mass };
            mass.multiply_add(-1.0, &self.sum, &mut self.correction);
            let goal =
                RequiredAccuracy { weights: &self.weights, tolerance: LINEAR_ACCURACY * self.accuracy.tolerance };
            if !self.matrices[i].solve_within(eval, &mut self.correction, goal) {
                return Err(Cause::NewtonFailed { row: weighted_worst(&self.correction, &self.weights) });
            }
            for m in 0..n {
                self.z[i][m] += self.correction[m];
            }
            if varies {
                self.f[i].copy_from_slice(&self.correction);
            }
            let mut size = weighted_norm(&self.correction, &self.weights);
            if self.far || !size.is_finite() {
                self.far = true;
                for m in 0..n {
                    self.sum[m] = y[m] + self.z[i][m];
                }
                size = norm_at_iterate(&self.correction, &self.sum, &self.weights, self.accuracy.rtol);
            }
            largest = largest.max(size);
        }
        Ok(largest)
    }
}
