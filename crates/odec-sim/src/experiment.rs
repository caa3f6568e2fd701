//! Time span and tolerances of a model's run, for other simulators.

use odec_ir::Program;
use odec_ir::layout::Layout;
use odec_lang::diagnostic::Diagnostic;
use odec_ode::problem::Options;

use crate::bind::RunPlan;
use crate::quantities::Quantities;

/// Time span and tolerances of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Start and end, if the model gives them.
    pub span: [Option<f64>; 2],
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerances by index in y: one for all states, or one for each.
    pub atol: Vec<f64>,
}

impl RunPlan {
    /// The time span and tolerances for a program of this model. The end may be missing.
    pub(crate) fn experiment(&self, program: &Program) -> Result<Experiment, Diagnostic> {
        let states = Quantities::states(program, &Layout::of(program));
        let Options { rtol, atol, .. } = self.options(&states, &[])?;
        let span = [self.settings.t0, self.settings.t_end].map(|setting| setting.map(|setting| setting.value));
        Ok(Experiment { span, rtol, atol })
    }
}
