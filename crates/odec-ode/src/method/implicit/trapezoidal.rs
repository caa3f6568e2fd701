//! The trapezoidal rule, solved by Newton iteration.

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
    name: "trapezoidal",
    aliases: &["trapezoid", "crank-nicolson"],
    about: "trapezoidal rule: order 2, stable exactly where the problem is stable; stiff transients ring",
    order: 2,
    stages: 2,
    family: Family::ImplicitOneStep { numerator: &[1.0, 0.5], denominator: &[1.0, -0.5] },
    stability: Stability::A,
    adaptive: Adaptive::Doubling,
    dense_order: 2,
    structure: Structure { jacobian: true, time_derivative: false },
    source: "Crank & Nicolson 1947; Hairer & Wanner II, section IV.3",
    build,
};

fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let n = setup.system.shape().n;
    if setup.system.invariants().is_some() {
        return Err(Refusal::Unsuitable {
            method: setup.method.name.to_string(),
            reason: "a constraint must be differentiated, and the unknowns oscillate after each projection onto it"
                .to_string(),
            instead: "rodas5p or radau5".to_string(),
        });
    }
    one_step::integrator(setup, || {
        Ok(Box::new(Trapezoidal {
            newton: Newton::new(setup.system, setup.options)?,
            tolerances: Tolerances::new(setup.options, n),
            accuracy: Accuracy::of(setup.options),
            weights: vec![0.0; n],
            algebraic: algebraic(&setup.system.mass(), n),
            rates: match setup.system.mass() {
                Mass::StateDependent { .. } => Some((Rates::new(setup.system, setup.method.name)?, vec![0.0; n])),
                _ => None,
            },
        }))
    })
}

/// The rows of a constant M without an entry: equations without a derivative.
fn algebraic(mass: &Mass<'_>, n: usize) -> Vec<usize> {
    let Mass::Constant(pattern, _) = mass else { return vec![] };
    let mut empty = vec![true; n];
    pattern.row_idx.iter().for_each(|row| empty[*row as usize] = false);
    (0..n).filter(|row| empty[*row]).collect()
}

struct Trapezoidal {
    newton: Newton,
    tolerances: Tolerances,
    accuracy: Accuracy,
    weights: Vec<f64>,
    /// Rows that hold at the end of each step instead of on the mean of both ends. The mean keeps the residual that
    /// Newton leaves, with changing sign: two halves of a step then differ from the whole one by an amount that no
    /// step size reduces.
    algebraic: Vec<usize>,
    /// If M varies: computes y', with a buffer for the anchor.
    rates: Option<(Rates, Vec<f64>)>,
}

impl Formula for Trapezoidal {
    /// (2/h) M (y1 - y0) = f(t1, y1) + f0. With M(t, y), y0' = M(t0, y0)^-1 f0 takes the place of f0:
    /// M(t1, y1) ((2/h) (y1 - y0) - y0') = f(t1, y1).
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
        let alpha = 2.0 / h;
        let equation = match &mut self.rates {
            None => Equation { t: t_new, alpha, anchor: from.y, offset: Some(from.slope) },
            Some((_, anchor)) => {
                for i in 0..anchor.len() {
                    anchor[i] = from.y[i] + from.slope[i] / alpha;
                }
                Equation { t: t_new, alpha, anchor, offset: None }
            }
        };
        self.newton.solve(eval, &equation, y1, &self.weights, self.accuracy)
    }

    /// f itself, or y' if M varies. The dense output is the parabola through states, because f would amplify the
    /// error that Newton leaves.
    fn slope(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], slope: &mut [f64]) -> Result<(), Cause> {
        eval.rhs(t, y, slope)?;
        match &mut self.rates {
            Some((rates, _)) => rates.solve(eval, t, y, slope),
            None => {
                self.algebraic.iter().for_each(|row| slope[*row] = 0.0);
                Ok(())
            }
        }
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
        DenseOutput::Parabola
    }
}
