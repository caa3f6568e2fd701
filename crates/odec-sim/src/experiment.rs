//! The run of a model as other simulators need it: its time span and its tolerances.

use odec_ir::Program;
use odec_ir::layout::Layout;
use odec_lang::diagnostic::Diagnostic;
use odec_ode::problem::Options;

use crate::bind::RunPlan;
use crate::quantities::Quantities;

/// Time span and tolerances of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Start and end, as far as the model says.
    pub span: [Option<f64>; 2],
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerances by place in y; one for all, or one for each state.
    pub atol: Vec<f64>,
}

impl RunPlan {
    /// The run of a program of this model. Its end may be missing.
    pub(crate) fn experiment(&self, program: &Program) -> Result<Experiment, Diagnostic> {
        let states = Quantities::states(program, &Layout::of(program));
        let Options { rtol, atol, .. } = self.options(&states, &[])?;
        let span = [self.settings.t0, self.settings.t_end].map(|setting| setting.map(|setting| setting.value));
        Ok(Experiment { span, rtol, atol })
    }
}
