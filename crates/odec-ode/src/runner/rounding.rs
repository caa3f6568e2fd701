//! Algebraic unknowns whose equations have large terms: rounding errors of the terms limit their accuracy.
//!
//! `R*i = u - v` with a small R gives i in units of 1e-16*u/R. The same holds for a small unknown that a system of
//! equations couples to large ones, such as the accelerations of a mechanism. No step size can meet a smaller absolute
//! tolerance.

use super::Runner;
use crate::consistent::{Constraints, UNITS};
use crate::evaluator::Evaluator;
use crate::integrator::Integrator;
use crate::linear::MassMatrix;
use crate::problem::Options;
use crate::system::{Mass, System};

/// The absolute tolerances of a run whose algebraic unknowns start with large values.
pub(super) struct Rounding {
    /// The empty columns of a constant M.
    unknowns: Vec<usize>,
    /// Changes of the unknowns by rounding errors at the start of the run; 0 if not known.
    noise: Vec<f64>,
    asked: Vec<f64>,
    atol: Vec<f64>,
    raised: bool,
    /// True if some combination of the equations contains no derivative.
    constrained: bool,
}

impl Rounding {
    /// Prepares for a system; without algebraic unknowns it has no effect.
    pub(super) fn new(system: &dyn System, options: &Options) -> Self {
        let n = system.shape().n;
        let mut with_derivative = vec![true; n];
        if let Mass::Constant(pattern, values) = system.mass() {
            with_derivative.fill(false);
            let entries = pattern.positions().zip(values).filter(|(_, m)| **m != 0.0);
            entries.for_each(|((_, col), _)| with_derivative[col] = true);
        }
        let unknowns: Vec<usize> = (0..n).filter(|col| !with_derivative[*col] && !options.fixed).collect();
        let size = if unknowns.is_empty() { 0 } else { n };
        let asked: Vec<f64> = (0..size).map(|place| options.atol_at(place)).collect();
        let coupled = matches!(system.mass(), Mass::Constant(pattern, _) if pattern.entries() > n);
        let constrained = !options.fixed
            && (!unknowns.is_empty() || coupled && !Constraints::of(&MassMatrix::of(system.mass())).is_empty());
        Rounding { unknowns, noise: vec![0.0; size], atol: asked.clone(), asked, raised: false, constrained }
    }

    /// True if the state has algebraic unknowns, or algebraic combinations of states, and the steps are adaptive.
    pub(super) fn has_unknowns(&self) -> bool {
        self.constrained
    }

    /// Call this before a run begins or continues at `y`.
    pub(super) fn begin(&mut self, integrator: &mut dyn Integrator, y: &[f64]) {
        self.atol.copy_from_slice(&self.asked);
        let was_raised = std::mem::take(&mut self.raised);
        self.raise(y);
        if self.raised || was_raised {
            integrator.set_atol(&self.atol);
        }
    }

    /// Raises tolerances to what rounding allows at `y`: [`UNITS`] units of rounding of a value, and as many changes that
    /// rounding errors of the equations cause. True if a tolerance has changed.
    fn raise(&mut self, y: &[f64]) -> bool {
        let mut changed = false;
        for place in &self.unknowns {
            let least = UNITS * (f64::EPSILON * y[*place].abs()).max(self.noise[*place]);
            if least > self.atol[*place] && least.is_finite() {
                self.atol[*place] = least;
                changed = true;
            }
        }
        self.raised |= changed;
        changed
    }
}

impl Runner {
    /// Determines how accurately the equations of the unknowns can be solved at the start of a run.
    pub(super) fn find_noise(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) {
        if self.rounding.unknowns.is_empty() {
            return;
        }
        let mut noise = std::mem::take(&mut self.rounding.noise);
        if !self.consistent(eval).is_some_and(|consistent| consistent.noise(eval, t, y, &mut noise)) {
            noise.fill(0.0);
        }
        self.rounding.noise = noise;
    }

    /// Determines it again where attempts fail, since terms may have grown during the run.
    pub(super) fn find_noise_again(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) {
        self.find_noise(eval, t, y);
        if self.rounding.raise(y) {
            self.integrator.set_atol(&self.rounding.atol);
        }
    }
}
