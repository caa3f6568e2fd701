//! Algebraic unknowns that follow from differences of states: rounding of the states bounds how accurate they can be.
//!
//! `R*i = u - v` with a small R gives i in units of 1e-16*u/R. Where i begins with the size u/R, and decays below that, no step is short
//! enough for a closer absolute tolerance.

use crate::consistent::Constraints;
use crate::integrator::Integrator;
use crate::linear::MassMatrix;
use crate::problem::Options;
use crate::system::{Mass, System};

/// Units of rounding of the value that a run begins with, below which no absolute tolerance of an unknown goes.
const UNITS: f64 = 16.0;

/// The absolute tolerances of a run whose unknowns begin large.
pub(super) struct Rounding {
    /// The columns of a constant M without an entry.
    unknowns: Vec<usize>,
    asked: Vec<f64>,
    atol: Vec<f64>,
    raised: bool,
    /// Some combination of the equations holds no derivative.
    constrained: bool,
}

impl Rounding {
    /// For a system; without algebraic unknowns it does nothing.
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
        Rounding { unknowns, atol: asked.clone(), asked, raised: false, constrained }
    }

    /// True if the state has algebraic unknowns, or combinations of states that are, and steps adapt.
    pub(super) fn has_unknowns(&self) -> bool {
        self.constrained
    }

    /// Call this before a run begins or continues at `y`.
    pub(super) fn begin(&mut self, integrator: &mut dyn Integrator, y: &[f64]) {
        self.atol.copy_from_slice(&self.asked);
        let mut raised = false;
        for place in &self.unknowns {
            let least = UNITS * f64::EPSILON * y[*place].abs();
            if least > self.asked[*place] && least.is_finite() {
                self.atol[*place] = least;
                raised = true;
            }
        }
        if raised || self.raised {
            integrator.absolute(&self.atol);
        }
        self.raised = raised;
    }
}
