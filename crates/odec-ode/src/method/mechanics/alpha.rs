//! The generalised-alpha family on M x'' = F(t, x, x'), including Newmark's method: one driver, with a Newton
//! iteration for the accelerations.
//!
//! With x1 = x0 + h v0 + h^2 ((1/2 - beta) a0 + beta a1) and v1 = v0 + h ((1 - gamma) a0 + gamma a1), the equation of
//! motion holds at a point between the ends: M ((1 - alpha_m) a1 + alpha_m a0) = F, evaluated at (1 - alpha_f) times
//! the end plus alpha_f times the start.

use crate::control::{Tolerances, weighted_norm, weighted_worst};
use crate::evaluator::Evaluator;
use crate::integrator::Integrator;
use crate::linear::{Effective, LinearReport, MassMatrix, Rates};
use crate::method::mechanics::{equal_steps, pure_second_order};
use crate::method::one_step::{self, DenseOutput, Formula, StepStart};
use crate::method::{Adaptive, Family, Setup};
use crate::newton::{Accuracy, MAX_ITERATIONS, POOR_RATE, ROUNDING};
use crate::problem::{Cause, Refusal};

/// Parameters of a method.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// Weight of the start in the inertia.
    pub alpha_m: f64,
    /// Weight of the start in the forces.
    pub alpha_f: f64,
    /// Parameter of the positions.
    pub beta: f64,
    /// Parameter of the velocities.
    pub gamma: f64,
}

/// Builds the integrator of a set of parameters.
pub fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let Family::Alpha(parameters) = setup.method.family else {
        return Err(Refusal::UnknownMethod(setup.method.name.to_string()));
    };
    pure_second_order(setup)?;
    if setup.method.adaptive == Adaptive::FixedStep {
        equal_steps(setup, "it needs a constant step, because it has no error estimate")?;
    }
    let n = setup.system.shape().n;
    one_step::integrator(setup, || {
        let mass = MassMatrix::of(setup.system.mass());
        Ok(Box::new(Alpha {
            parameters: *parameters,
            rates: Rates::new(setup.system, setup.method.name)?,
            matrix: Effective::new(setup.system, &mass, setup.options, setup.method.name)?,
            mass,
            second: setup.system.shape().second,
            tolerances: Tolerances::new(setup.options, n),
            accuracy: Accuracy::of(setup.options),
            held: None,
            between: vec![0.0; n],
            residual: vec![0.0; n],
            inertia: vec![0.0; n],
            change: vec![0.0; n],
            weights: vec![0.0; n],
            acceleration: vec![0.0; n],
            known: false,
        }))
    })
}

struct Alpha {
    parameters: Parameters,
    rates: Rates,
    mass: MassMatrix,
    matrix: Effective,
    second: usize,
    tolerances: Tolerances,
    accuracy: Accuracy,
    /// Step size of the current factors; `None` if they must be renewed.
    held: Option<f64>,
    /// The state at which the equation of motion holds.
    between: Vec<f64>,
    residual: Vec<f64>,
    inertia: Vec<f64>,
    change: Vec<f64>,
    weights: Vec<f64>,
    /// a1, at the positions of the velocities.
    acceleration: Vec<f64>,
    /// True if it is the acceleration at the end of the last step.
    known: bool,
}

impl Alpha {
    /// Computes the end of the step for the current accelerations, and the state between the ends.
    fn place(&mut self, from: StepStart<'_>, h: f64, y1: &mut [f64]) {
        let (m, p) = (self.second, self.parameters);
        for i in 0..m {
            let (v0, a0, a1) = (from.y[m + i], from.slope[m + i], self.acceleration[m + i]);
            y1[i] = from.y[i] + h * (v0 + h * ((0.5 - p.beta) * a0 + p.beta * a1));
            y1[m + i] = v0 + h * ((1.0 - p.gamma) * a0 + p.gamma * a1);
        }
        for (b, (y0, y1)) in self.between.iter_mut().zip(from.y.iter().zip(y1)) {
            *b = p.alpha_f * y0 + (1.0 - p.alpha_f) * *y1;
        }
    }

    fn renew(&mut self, eval: &mut Evaluator<'_>, t: f64, h: f64) -> Result<(), Cause> {
        let p = self.parameters;
        let shares = (1.0 - p.alpha_m, (1.0 - p.alpha_f) * p.gamma * h, (1.0 - p.alpha_f) * p.beta * h * h);
        self.held = None;
        self.matrix.factor(eval, (t, &self.between), &self.mass, shares)?;
        self.held = Some(h);
        Ok(())
    }
}

impl Formula for Alpha {
    fn step(
        &mut self,
        eval: &mut Evaluator<'_>,
        from: StepStart<'_>,
        h: f64,
        t_new: f64,
        y1: &mut [f64],
    ) -> Result<(), Cause> {
        let (m, p) = (self.second, self.parameters);
        let t = if p.alpha_f == 0.0 { t_new } else { from.t + (1.0 - p.alpha_f) * h };
        self.known = false;
        self.tolerances.weights(from.y, &mut self.weights);
        self.acceleration[m..].copy_from_slice(&from.slope[m..]);
        let mut previous = f64::INFINITY;
        for iteration in 0..2 * MAX_ITERATIONS {
            self.place(from, h, y1);
            if self.held != Some(h) {
                self.renew(eval, t, h)?;
            }
            eval.stats.newton += 1;
            eval.rhs(t, &self.between, &mut self.residual)?;
            for i in m..2 * m {
                self.inertia[i] = (1.0 - p.alpha_m) * self.acceleration[i] + p.alpha_m * from.slope[i];
            }
            self.mass.multiply_add(-1.0, &self.inertia, &mut self.residual);
            self.matrix.solve(eval, &mut self.residual[m..]);
            for i in 0..m {
                let da = self.residual[m + i];
                self.acceleration[m + i] += da;
                self.change[i] = p.beta * h * h * da;
                self.change[m + i] = p.gamma * h * da;
            }
            let size = weighted_norm(&self.change, &self.weights);
            if !size.is_finite() {
                break;
            }
            let rate = if iteration == 0 { 1.0 } else { size / previous };
            if rate > POOR_RATE && iteration > 0 {
                self.held = None;
            }
            let met = rate < 1.0 && size * rate / (1.0 - rate) <= self.accuracy.tolerance;
            if size == 0.0 || met || (iteration > 0 && rate >= 1.0 && size * self.accuracy.rtol <= ROUNDING) {
                self.place(from, h, y1);
                self.known = true;
                return Ok(());
            }
            previous = size;
        }
        self.held = None;
        Err(Cause::NewtonFailed { row: weighted_worst(&self.change, &self.weights) })
    }

    /// (v, a) with the accelerations of the method, from which its next step starts; before the first step, those of
    /// the equation.
    fn slope(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], slope: &mut [f64]) -> Result<(), Cause> {
        if std::mem::take(&mut self.known) {
            slope[..self.second].copy_from_slice(&y[self.second..]);
            slope[self.second..].copy_from_slice(&self.acceleration[self.second..]);
            return Ok(());
        }
        eval.rhs(t, y, slope)?;
        self.rates.solve(eval, t, y, slope)
    }

    fn forget(&mut self) {
        (self.known, self.held) = (false, None);
    }

    fn linear(&self) -> Option<LinearReport> {
        Some(self.matrix.report())
    }

    fn dense(&self) -> DenseOutput {
        DenseOutput::Hermite
    }
}
