//! Simplified Newton iteration for the equation of implicit one-step and multistep methods. It measures its rate of
//! convergence, and reuses the Jacobian and its factors while that pays.

use crate::control::{norm_at_iterate, root_mean_of, weighted_worst};
use crate::evaluator::{Evaluator, all_finite};
use crate::linear::{IterationMatrix, LinearReport, MassMatrix, RequiredAccuracy};
use crate::problem::{Cause, Options, Refusal};
use crate::system::System;

/// Number of iterations after which the Jacobian is renewed, or the step fails.
pub const MAX_ITERATIONS: u32 = 10;
/// The factors are kept while alpha is within this fraction of the alpha they were made for.
pub const ALPHA_DRIFT: f64 = 0.25;
/// Error that an iterative linear solver may leave, as a fraction of the error that Newton may leave; a method may
/// choose another.
pub const LINEAR_ACCURACY: f64 = 0.5;
/// Number of solves after which the Jacobian is renewed, even if the iteration seems to converge well.
pub const MAX_AGE: u32 = 20;
/// A rate above this requests a new Jacobian for the next solve.
pub const POOR_RATE: f64 = 0.1;
/// A rate above this, or an unknown rate, makes inexact linear solutions doubtful.
pub const DOUBTFUL_RATE: f64 = 0.5;
/// Lower bound on the stored rate of the last solve, until a rate is measured.
pub const TRUSTED_RATE: f64 = 0.01;
/// Power of the last convergence rate that is used for the next one: a rate loses weight if it is not measured for
/// some steps.
pub const FADING: f64 = 0.8;
/// Relative correction below which an iteration that no longer contracts has reached rounding and does not diverge.
pub const ROUNDING: f64 = 1e-10;

/// `alpha * M (y - anchor) = f(t, y) + offset`, solved for y; a mass matrix that depends on time and state is M(t, y).
/// Backward Euler: alpha = 1/h, anchor = y0. Trapezoidal rule: alpha = 2/h, anchor = y0, offset = f0.
/// BDF with leading coefficient a_s: alpha = a_s/h, anchor = -(sum of the past terms)/a_s.
/// In all of them `alpha * (y - anchor)` approximates y'. With M(t, y), known parts of y' belong in the anchor,
/// because an offset computed from f is valid for one M only.
pub struct Equation<'a> {
    /// Time of the solution.
    pub t: f64,
    /// Factor of M.
    pub alpha: f64,
    /// The value that y is compared with.
    pub anchor: &'a [f64],
    /// Constant part of the right-hand side.
    pub offset: Option<&'a [f64]>,
}

/// The accuracy to which an equation is solved.
#[derive(Clone, Copy, Debug)]
pub struct Accuracy {
    /// Bound on the weighted error that the Newton iteration leaves (1 is the tolerance of the step).
    pub tolerance: f64,
    /// Error that an iterative linear solver may leave, as a fraction of `tolerance`.
    pub linear: f64,
    /// Lower bound on a stored rate ([`TRUSTED_RATE`]), and how fast its weight falls ([`FADING`]).
    pub memory: (f64, f64),
    /// Relative tolerance in the weights.
    pub rtol: f64,
    /// Number of times that the Jacobian may be renewed at an iterate (0: a slow iteration fails, and the step gets
    /// smaller).
    pub renewals: u32,
}

/// Largest number of renewals of the Jacobian within a fixed step.
pub const FIXED_STEP_RENEWALS: u32 = 20;
/// Relative size of the error that Newton leaves in runs with fixed steps.
pub const FIXED_STEP_ACCURACY: f64 = 1e-12;

impl Accuracy {
    /// Adaptive steps: a fraction of the tolerance (Hairer & Wanner II, IV.8). Fixed steps: close to rounding.
    pub fn of(options: &Options) -> Self {
        let rtol = options.rtol;
        let tolerance = if options.fixed {
            (FIXED_STEP_ACCURACY / rtol).min(0.03)
        } else {
            (10.0 * f64::EPSILON / rtol).max(rtol.sqrt().min(0.03))
        };
        Accuracy {
            tolerance,
            linear: LINEAR_ACCURACY,
            memory: (TRUSTED_RATE, FADING),
            rtol,
            renewals: if options.fixed { FIXED_STEP_RENEWALS } else { 0 },
        }
    }
}

/// A Newton iteration with its matrix and memory.
///
/// With M(t, y), the matrix has the term d(M(y) w)/dy, w = alpha (y - anchor), which changes with the iterate. A
/// guess with w = 0 loses this term. So the matrix is renewed within a solve if the iteration contracts poorly, and
/// after a first correction from such a guess.
pub struct Newton {
    matrix: IterationMatrix,
    /// M, evaluated at the iterate if it varies.
    mass: MassMatrix,
    residual: Vec<f64>,
    difference: Vec<f64>,
    guess: Vec<f64>,
    /// Contraction of the last solve, as eta = theta/(1 - theta).
    eta: f64,
    /// Number of solves since the Jacobian was evaluated.
    age: u32,
    state: Factors,
}

/// The parts of the matrix that can be used again.
#[derive(Clone, Copy, PartialEq)]
enum Factors {
    /// Nothing.
    None,
    /// Jacobian and factors of an earlier step.
    Old,
    /// The Jacobian should be renewed at the next solve.
    Stale,
}

impl Newton {
    /// Allocates the buffers for a system.
    pub fn new(system: &dyn System, options: &Options) -> Result<Self, Refusal> {
        let n = system.shape().n;
        Ok(Newton {
            matrix: IterationMatrix::new(system, options)?,
            mass: MassMatrix::of(system.mass()),
            residual: vec![0.0; n],
            difference: vec![0.0; n],
            guess: vec![0.0; n],
            eta: 1.0,
            age: 0,
            state: Factors::None,
        })
    }

    /// Makes the next solve evaluate the Jacobian.
    pub fn forget(&mut self) {
        self.state = Factors::None;
        self.eta = 1.0;
    }

    /// Restores the state after construction; false if it must be built again instead.
    pub fn begin_anew(&mut self) -> bool {
        self.forget();
        self.age = 0;
        self.matrix.renew()
    }

    /// The mass matrix.
    pub fn mass(&self) -> &MassMatrix {
        &self.mass
    }

    /// The matrix of the last factorisation, for filtered error estimates.
    pub fn matrix(&mut self) -> &mut IterationMatrix {
        &mut self.matrix
    }

    /// True if the linear solver is iterative.
    pub fn iterates(&self) -> bool {
        self.matrix.iterates()
    }

    /// The report of its linear solver.
    pub fn linear(&self) -> LinearReport {
        self.matrix.report()
    }

    /// Solves `equation` from the guess in `y` (weights 1/(atol + rtol |y|)). After a failure, `y` is invalid.
    pub fn solve(
        &mut self,
        eval: &mut Evaluator<'_>,
        equation: &Equation<'_>,
        y: &mut [f64],
        weights: &[f64],
        accuracy: Accuracy,
    ) -> Result<(), Cause> {
        // A new factorisation also takes a new Jacobian: with an old one, large corrections can look small (van der
        // Pol's equation after a jump), and a new one costs little compared with the factors.
        let drift = if self.matrix.iterates() { 0.0 } else { ALPHA_DRIFT };
        let near = (equation.alpha / self.matrix.alpha() - 1.0).abs() <= drift;
        let mut fresh = self.state != Factors::Old || !near || self.age >= MAX_AGE;
        if fresh {
            self.renew(eval, equation, y)?;
        }
        self.age += 1;
        let mut renewals = if fresh { accuracy.renewals } else { accuracy.renewals + 1 };
        if renewals > 0 {
            self.guess.copy_from_slice(y);
        }
        loop {
            match self.iterate(eval, equation, y, weights, accuracy) {
                Err(cause) if renewals > 0 && cause != Cause::Fatal => {
                    // With an old Jacobian, the iteration restarts from the guess; with a new one, it continues from
                    // the last iterate, as in the full Newton method.
                    if !fresh || !all_finite(y) {
                        y.copy_from_slice(&self.guess);
                    }
                    if fresh && !matches!(cause, Cause::NewtonFailed { .. }) {
                        return Err(cause);
                    }
                    self.renew(eval, equation, y)?;
                    fresh = true;
                    renewals -= 1;
                }
                other => return other,
            }
        }
    }

    fn renew(&mut self, eval: &mut Evaluator<'_>, equation: &Equation<'_>, y: &[f64]) -> Result<(), Cause> {
        self.state = Factors::None;
        if self.mass.varies() {
            self.rate(equation, y);
            self.matrix.evaluate_moving(eval, equation.t, y, &self.difference)?;
        } else {
            self.matrix.evaluate(eval, equation.t, y)?;
        }
        self.matrix.factor(eval, equation.alpha)?;
        self.state = Factors::Old;
        self.age = 0;
        // If factors are cheap, they are made for every alpha, and a new Jacobian does not improve the rate.
        if !self.matrix.iterates() {
            self.eta = 1.0;
        }
        Ok(())
    }

    /// Computes alpha (y - anchor), the approximation of y', in `difference`.
    fn rate(&mut self, equation: &Equation<'_>, y: &[f64]) {
        for i in 0..y.len() {
            self.difference[i] = equation.alpha * (y[i] - equation.anchor[i]);
        }
    }

    /// Computes f + offset - alpha M (y - anchor) in `residual`.
    fn evaluate(&mut self, eval: &mut Evaluator<'_>, equation: &Equation<'_>, y: &[f64]) -> Result<(), Cause> {
        let (anchor, alpha) = (&equation.anchor[..y.len()], equation.alpha);
        eval.rhs(equation.t, y, &mut self.residual)?;
        if let Some(offset) = equation.offset {
            for (r, o) in self.residual.iter_mut().zip(offset) {
                *r += o;
            }
        }
        match &self.mass {
            MassMatrix::Identity => {
                for ((r, y), anchor) in self.residual.iter_mut().zip(y).zip(anchor) {
                    *r -= alpha * (y - anchor);
                }
            }
            MassMatrix::StateDependent(..) => {
                self.mass.update(eval, equation.t, y)?;
                self.rate(equation, y);
                self.mass.multiply_add(-1.0, &self.difference, &mut self.residual);
            }
            MassMatrix::Constant(_) => {
                for i in 0..y.len() {
                    self.difference[i] = y[i] - anchor[i];
                }
                self.mass.multiply_add(-alpha, &self.difference, &mut self.residual);
            }
        }
        Ok(())
    }

    fn iterate(
        &mut self,
        eval: &mut Evaluator<'_>,
        equation: &Equation<'_>,
        y: &mut [f64],
        weights: &[f64],
        accuracy: Accuracy,
    ) -> Result<(), Cause> {
        let (anchor, alpha) = (&equation.anchor[..y.len()], equation.alpha);
        // Factors for another alpha over- or undershoot on stiff components by this factor.
        let mut relax = 2.0 / (1.0 + alpha / self.matrix.alpha());
        let (trusted, fading) = accuracy.memory;
        let mut eta = self.eta.max(trusted).powf(fading);
        let mut previous = 0.0;
        let (mut renewed, mut far) = (false, false);
        for iteration in 0..MAX_ITERATIONS {
            eval.stats.newton += 1;
            self.evaluate(eval, equation, y)?;
            let goal = RequiredAccuracy { weights, tolerance: accuracy.linear * accuracy.tolerance };
            if !self.matrix.solve_within(eval, &mut self.residual, goal) {
                return Err(self.give_up(weights));
            }
            let at_rest = self.mass.varies() && iteration == 0 && y == anchor;
            let mut size = advance(y, &mut self.residual, relax, weights);
            if far || iteration == 0 && !size.is_finite() {
                // the iterate is far from the state at which the weights were computed
                far = true;
                size = norm_at_iterate(&self.residual, y, weights, accuracy.rtol);
            }
            if iteration > 0 {
                let theta = size / previous;
                // If the matrix was renewed in between, the rate says nothing about the next iterations.
                let left = (MAX_ITERATIONS - 1 - iteration) as i32;
                let slow = !renewed && size * theta.powi(left) > accuracy.tolerance * (1.0 - theta);
                if !(theta < 1.0) || slow {
                    let rounding = ROUNDING / accuracy.rtol;
                    if size <= rounding || norm_at_iterate(&self.residual, y, weights, accuracy.rtol) <= rounding {
                        return Ok(());
                    }
                    return Err(self.give_up(weights));
                }
                eta = theta / (1.0 - theta);
                if theta > DOUBTFUL_RATE {
                    self.matrix.report_inaccuracy();
                }
                if theta > POOR_RATE && iteration > 1 {
                    self.state = Factors::Stale;
                }
            } else if !size.is_finite() {
                return Err(self.give_up(weights));
            }
            if size == 0.0 || eta * size <= accuracy.tolerance {
                self.eta = eta;
                return Ok(());
            }
            renewed = at_rest || (self.mass.varies() && iteration > 0 && size > POOR_RATE * previous);
            if renewed {
                self.renew(eval, equation, y)?;
                relax = 1.0;
            }
            previous = size;
        }
        Err(self.give_up(weights))
    }

    fn give_up(&mut self, weights: &[f64]) -> Cause {
        self.state = Factors::None;
        self.matrix.report_inaccuracy();
        Cause::NewtonFailed { row: weighted_worst(&self.residual, weights) }
    }
}

/// Scales r by `relax`, adds it to y, and returns its weighted norm.
fn advance(y: &mut [f64], r: &mut [f64], relax: f64, weights: &[f64]) -> f64 {
    let n = y.len();
    let ((y4, y), (r4, r), (w4, w)) = (y.as_chunks_mut::<4>(), r.as_chunks_mut::<4>(), weights[..n].as_chunks::<4>());
    let mut sums = [0.0; 4];
    for ((y, r), w) in y4.iter_mut().zip(r4).zip(w4) {
        for l in 0..4 {
            r[l] *= relax;
            y[l] += r[l];
            let q = r[l] * w[l];
            sums[l] += q * q;
        }
    }
    for (l, ((y, r), w)) in y.iter_mut().zip(r).zip(w).enumerate() {
        *r *= relax;
        *y += *r;
        let q = *r * w;
        sums[l] += q * q;
    }
    root_mean_of(sums, n)
}
