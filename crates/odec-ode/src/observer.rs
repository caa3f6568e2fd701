//! The view of an observer on the end of an accepted step.

use crate::integrator::Integrator;
use crate::method::Method;

/// The end of an accepted step. Everything is computed on request, so that an observer that examines few steps costs
/// little.
pub struct StepEnd<'a> {
    /// Time reached.
    pub t: f64,
    integrator: &'a mut dyn Integrator,
    own: &'static Method,
}

impl<'a> StepEnd<'a> {
    pub(crate) fn new(integrator: &'a mut dyn Integrator, own: &'static Method) -> Self {
        StepEnd { t: integrator.time(), integrator, own }
    }

    /// State there, n values.
    pub fn state(&self) -> &[f64] {
        self.integrator.state()
    }

    /// State at a time inside the step, from the dense output that the method has without further evaluations of f.
    pub fn interpolate(&self, t: f64, y: &mut [f64]) {
        self.integrator.interpolate(t, y);
    }

    /// The method that made the step: the method of the run, or the one that the run chose.
    pub fn last_method(&self) -> &'static Method {
        self.integrator.last_method(self.own)
    }

    /// h times the spectral radius of df/dy as the stages of the step show it, and the real part of the dominant
    /// eigenvalue (Hairer & Wanner II, eq. (IV.2.27)); `None` if the method has no such estimate. It costs no
    /// evaluation of f.
    pub fn stiffness(&mut self) -> Option<(f64, f64)> {
        self.integrator.stiffness()
    }
}
