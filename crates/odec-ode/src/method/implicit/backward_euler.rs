//! Backward Euler, solved by Newton iteration.

use crate::control::Tolerances;
use crate::evaluator::Evaluator;
use crate::integrator::Integrator;
use crate::linear::LinearReport;
use crate::method::one_step::{self, DenseOutput, Formula, StepStart};
use crate::method::{Adaptive, Family, Method, Setup, Stability, Structure};
use crate::newton::{Accuracy, Equation, Newton};
use crate::problem::{Cause, Refusal};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "backward-euler",
    aliases: &["implicit-euler", "be"],
    about: "backward Euler: order 1, damps all fast modes, even those that should not decay",
    order: 1,
    stages: 1,
    family: Family::ImplicitOneStep { numerator: &[1.0], denominator: &[1.0, -1.0] },
    stability: Stability::L,
    adaptive: Adaptive::Doubling,
    dense_order: 1,
    structure: Structure { jacobian: true, time_derivative: false },
    source: "Curtiss & Hirschfelder 1952; Baraff, SIGGRAPH 2001 course notes",
    build,
};

fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let n = setup.system.shape().n;
    one_step::integrator(setup, || {
        Ok(Box::new(BackwardEuler {
            newton: Newton::new(setup.system, setup.options)?,
            tolerances: Tolerances::new(setup.options, n),
            accuracy: Accuracy::of(setup.options),
            weights: vec![0.0; n],
        }))
    })
}

struct BackwardEuler {
    newton: Newton,
    tolerances: Tolerances,
    accuracy: Accuracy,
    weights: Vec<f64>,
}

impl Formula for BackwardEuler {
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
        let equation = Equation { t: t_new, alpha: 1.0 / h, anchor: from.y, offset: None };
        self.newton.solve(eval, &equation, y1, &self.weights, self.accuracy)
    }

    fn slope(&mut self, _: &mut Evaluator<'_>, _: f64, _: &[f64], _: &mut [f64]) -> Result<(), Cause> {
        Ok(())
    }

    fn forget(&mut self) {
        self.newton.forget();
    }

    fn tighten(&mut self, part: f64) {
        self.tolerances.tighten(part);
    }

    fn linear(&self) -> Option<LinearReport> {
        Some(self.newton.linear())
    }

    fn dense(&self) -> DenseOutput {
        DenseOutput::LinearSolver
    }
}
