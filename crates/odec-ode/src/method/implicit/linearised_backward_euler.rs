//! Backward Euler linearised at the start of the step: one linear system, no iteration (Baraff's implicit step).

use crate::evaluator::Evaluator;
use crate::integrator::Integrator;
use crate::linear::{IterationMatrix, LinearReport};
use crate::method::one_step::{self, DenseOutput, Formula, StepStart};
use crate::method::{Adaptive, Family, Method, Setup, Stability, Structure};
use crate::problem::{Cause, Refusal};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "linearised-backward-euler",
    aliases: &["linearized-backward-euler", "semi-implicit-euler", "baraff"],
    about: "backward Euler with one linear solve per step, with h*df/dt: order 1, L-stable",
    order: 1,
    stages: 1,
    family: Family::ImplicitOneStep { numerator: &[1.0], denominator: &[1.0, -1.0] },
    stability: Stability::L,
    adaptive: Adaptive::Doubling,
    dense_order: 1,
    structure: Structure { jacobian: true, time_derivative: true },
    source: "Baraff, SIGGRAPH 2001 course notes, equation (4-6) with h*df/dt for the misprinted df/dt",
    build,
};

fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let n = setup.system.shape().n;
    one_step::integrator(setup, || {
        Ok(Box::new(Linearised {
            matrix: IterationMatrix::exact(setup.system, setup.options, setup.method.name)?,
            ft: vec![0.0; n],
        }))
    })
}

struct Linearised {
    matrix: IterationMatrix,
    ft: Vec<f64>,
}

impl Formula for Linearised {
    /// Solves (M/h - J) dy = f0 + h df/dt, all evaluated at the start. For second-order problems the reduction gives
    /// (M - h fv - h^2 fx) dv = h (f0 + h fx v0 + h df/dt). M(t, y) is evaluated at the end time and the start state.
    fn step(
        &mut self,
        eval: &mut Evaluator<'_>,
        from: StepStart<'_>,
        h: f64,
        t_new: f64,
        y1: &mut [f64],
    ) -> Result<(), Cause> {
        self.matrix.evaluate(eval, from.t, from.y)?;
        self.matrix.evaluate_mass(eval, t_new, from.y)?;
        self.matrix.factor(eval, 1.0 / h)?;
        y1.copy_from_slice(from.slope);
        if !eval.autonomous() {
            eval.time_derivative(from.t, from.y, &mut self.ft)?;
            for (r, ft) in y1.iter_mut().zip(&self.ft) {
                *r += h * ft;
            }
        }
        self.matrix.solve(eval, y1);
        for (y, y0) in y1.iter_mut().zip(from.y) {
            *y += y0;
        }
        Ok(())
    }

    /// The slope is f itself: the right-hand side of the next step.
    fn slope(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], slope: &mut [f64]) -> Result<(), Cause> {
        eval.rhs(t, y, slope)
    }

    fn linear(&self) -> Option<LinearReport> {
        Some(self.matrix.report())
    }

    fn dense(&self) -> DenseOutput {
        DenseOutput::LinearSolver
    }
}
