//! Compositions of kicks (x' += h a(t, x)) and drifts (x += h x'): one driver for every symplectic splitting.

use crate::evaluator::Evaluator;
use crate::integrator::Integrator;
use crate::linear::Rates;
use crate::method::mechanics::{equal_steps, free_of_velocities, pure_second_order};
use crate::method::one_step::{self, DenseOutput, Formula, StepStart};
use crate::method::{Family, Setup};
use crate::problem::{Cause, Refusal};

/// One part of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// Velocities change by this fraction of h times the acceleration.
    Kick(f64),
    /// Positions (and time) change by this fraction of h times the velocity.
    Drift(f64),
}

/// The substeps of a step, in order.
#[derive(Debug)]
pub struct Composition {
    /// Kicks and drifts; each kind adds up to 1.
    pub parts: &'static [Part],
}

/// Builds the integrator of a composition.
pub fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let Family::Splitting(composition) = setup.method.family else {
        return Err(Refusal::UnknownMethod(setup.method.name.to_string()));
    };
    pure_second_order(setup)?;
    free_of_velocities(setup)?;
    equal_steps(setup, "it needs a constant step, because variable steps would destroy its symplectic structure")?;
    let n = setup.system.shape().n;
    one_step::integrator(setup, || {
        Ok(Box::new(Splitting {
            composition,
            rates: Rates::new(setup.system, setup.method.name)?,
            second: setup.system.shape().second,
            slope: vec![0.0; n],
            known: false,
        }))
    })
}

struct Splitting {
    composition: &'static Composition,
    rates: Rates,
    second: usize,
    /// y', whose second half are the accelerations.
    slope: Vec<f64>,
    /// True if they are the accelerations at the end of the last step.
    known: bool,
}

impl Formula for Splitting {
    fn step(
        &mut self,
        eval: &mut Evaluator<'_>,
        from: StepStart<'_>,
        h: f64,
        t_new: f64,
        y1: &mut [f64],
    ) -> Result<(), Cause> {
        let m = self.second;
        y1.copy_from_slice(from.y);
        self.slope.copy_from_slice(from.slope);
        self.known = true;
        let mut drifted = 0.0;
        for part in self.composition.parts {
            match *part {
                Part::Kick(d) => {
                    if !self.known {
                        // Drifts add up to 1 up to rounding: use the exact end of the step.
                        let t = if (drifted - 1.0f64).abs() < 1e-12 { t_new } else { from.t + drifted * h };
                        eval.rhs(t, y1, &mut self.slope)?;
                        self.rates.solve(eval, t, y1, &mut self.slope)?;
                        self.known = true;
                    }
                    for i in m..2 * m {
                        y1[i] += d * h * self.slope[i];
                    }
                }
                Part::Drift(c) => {
                    for i in 0..m {
                        y1[i] += c * h * y1[m + i];
                    }
                    drifted += c;
                    self.known = false;
                }
            }
        }
        Ok(())
    }

    fn slope(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], slope: &mut [f64]) -> Result<(), Cause> {
        if std::mem::take(&mut self.known) {
            slope.copy_from_slice(&self.slope);
            slope[..self.second].copy_from_slice(&y[self.second..]);
            return Ok(());
        }
        eval.rhs(t, y, slope)?;
        self.rates.solve(eval, t, y, slope)
    }

    fn forget(&mut self) {
        self.known = false;
    }

    fn dense(&self) -> DenseOutput {
        DenseOutput::Hermite
    }
}
