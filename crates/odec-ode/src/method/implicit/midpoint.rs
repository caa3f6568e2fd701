//! The implicit midpoint rule, solved by Newton iteration.

use crate::control::Tolerances;
use crate::evaluator::Evaluator;
use crate::integrator::Integrator;
use crate::linear::{LinearReport, Rates};
use crate::method::one_step::{self, DenseOutput, Formula, StepStart};
use crate::method::{Adaptive, Family, Method, Setup, Stability, Structure};
use crate::newton::{Accuracy, Equation, Newton};
use crate::problem::{Cause, Refusal};
use crate::system::Mass;

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "implicit-midpoint",
    aliases: &["gauss1"],
    about: "implicit midpoint rule: order 2, symplectic, conserves quadratic invariants; stiff transients ring",
    order: 2,
    stages: 1,
    family: Family::ImplicitOneStep { numerator: &[1.0, 0.5], denominator: &[1.0, -0.5] },
    stability: Stability::A,
    adaptive: Adaptive::Doubling,
    dense_order: 2,
    structure: Structure { jacobian: true, time_derivative: false },
    source: "Hairer & Wanner II, section IV.5 (Gauss, s = 1)",
    build,
};

fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let n = setup.system.shape().n;
    let algebraic = matches!(setup.system.mass(), Mass::Constant(..)) && Rates::new(setup.system, "").is_err();
    let mut accuracy = Accuracy::of(setup.options);
    if setup.options.fixed {
        accuracy.tolerance *= FIXED_STEP_CARE;
    }
    one_step::integrator(setup, || {
        let newton = || Newton::new(setup.system, setup.options);
        Ok(Box::new(Midpoint {
            projection: if algebraic { Some(newton()?) } else { None },
            start: vec![0.0; n],
            newton: newton()?,
            tolerances: Tolerances::new(setup.options, n),
            accuracy,
            weights: vec![0.0; n],
        }))
    })
}

/// With fixed steps, Newton's tolerance is smaller by this factor: its error makes invariants drift.
const FIXED_STEP_CARE: f64 = 0.01;
/// The length of the projection step, as a fraction of the step: it changes differential unknowns only by rounding.
const PROJECTION: f64 = 1e-13;

struct Midpoint {
    /// For a singular M: a backward Euler step of negligible length computes the algebraic unknowns at the end of a
    /// step from the other unknowns. (2 Y - y0 would alternate about them; the differential unknowns do not depend on
    /// them.)
    projection: Option<Newton>,
    start: Vec<f64>,
    newton: Newton,
    tolerances: Tolerances,
    accuracy: Accuracy,
    weights: Vec<f64>,
}

impl Formula for Midpoint {
    /// (2/h) M (Y - y0) = f(t + h/2, Y), y1 = 2 Y - y0.
    fn step(
        &mut self,
        eval: &mut Evaluator<'_>,
        from: StepStart<'_>,
        h: f64,
        t_new: f64,
        y1: &mut [f64],
    ) -> Result<(), Cause> {
        self.tolerances.weights(from.y, &mut self.weights);
        y1.copy_from_slice(from.y);
        let equation = Equation { t: from.t + 0.5 * h, alpha: 2.0 / h, anchor: from.y, offset: None };
        self.newton.solve(eval, &equation, y1, &self.weights, self.accuracy)?;
        for (y, y0) in y1.iter_mut().zip(from.y) {
            *y = 2.0 * *y - y0;
        }
        let Some(projection) = &mut self.projection else { return Ok(()) };
        self.start.copy_from_slice(y1);
        let equation = Equation { t: t_new, alpha: 1.0 / (PROJECTION * h), anchor: &self.start, offset: None };
        projection.solve(eval, &equation, y1, &self.weights, self.accuracy)
    }

    /// Evaluates f, which the formula never does at the ends of steps: a step must not end where f cannot be evaluated.
    fn slope(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], slope: &mut [f64]) -> Result<(), Cause> {
        eval.rhs(t, y, slope)
    }

    fn forget(&mut self) {
        self.newton.forget();
        if let Some(projection) = &mut self.projection {
            projection.forget();
        }
    }

    fn tighten(&mut self, part: f64) {
        self.tolerances.tighten(part);
    }

    fn linear(&self) -> Option<LinearReport> {
        Some(self.newton.linear())
    }

    fn dense(&self) -> DenseOutput {
        DenseOutput::Parabola
    }
}
