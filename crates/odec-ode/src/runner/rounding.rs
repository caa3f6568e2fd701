//! Algebraic unknowns that are differences of states: rounding errors of the states limit their accuracy.
//!
//! `R*i = u - v` with a small R gives i in units of 1e-16*u/R. If i starts with the size u/R and decays below these
//! units, no step size can meet a smaller absolute tolerance.

use crate::consistent::Constraints;
use crate::integrator::Integrator;
use crate::linear::MassMatrix;
use crate::problem::Options;
use crate::system::{Mass, System};

/// Lower limit on the absolute tolerance of an unknown, in units of rounding of its initial value.
const UNITS: f64 = 16.0;

/// The absolute tolerances of a run whose algebraic unknowns start with large values.
pub(super) struct Rounding {
    /// The empty columns of a constant M.
    unknowns: Vec<usize>,
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
        Rounding { unknowns, atol: asked.clone(), asked, raised: false, constrained }
    }

    /// True if the state has algebraic unknowns, or algebraic combinations of states, and the steps are adaptive.
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
            integrator.set_atol(&self.atol);
        }
        self.raised = raised;
    }
}
