//! Checks of a run block that need no compiled code: `odec check` makes them for each block.

use odec_lang::diagnostic::Diagnostic;
use odec_lang::model::Model;

use crate::bind::RunPlan;
use crate::blame;

impl RunPlan {
    /// Refuses an unknown method, an impossible tolerance, sample times outside the run, and initial values beyond their
    /// bounds.
    ///
    /// # Errors
    /// The first of them.
    pub(crate) fn check(&self, model: &Model) -> Result<(), Diagnostic> {
        if let Some(method) = &self.settings.method {
            odec_ode::method::find(&method.value)
                .map_err(|refusal| blame::unknown_method(&refusal, Some(method.span)))?;
        }
        if let Some(rtol) = &self.settings.rtol {
            odec_ode::check_rtol(rtol.value).map_err(|refusal| blame::refused_setting(&refusal, rtol.span))?;
        }
        self.check_samples(model)?;
        self.check_starts(model)
    }

    /// Refuses the initial value of a single state beyond its bound, if both are known without a run.
    fn check_starts(&self, model: &Model) -> Result<(), Diagnostic> {
        if self.settings.steady.is_some() {
            return Ok(());
        }
        let states = model.states.iter().enumerate().filter(|(_, state)| state.indexed.is_scalar());
        for (i, state) in states {
            for (k, bound) in state.bounds.iter().enumerate() {
                let chosen = self.values.initial.iter().rev().find(|given| (given.0, given.1) == (i, bound.order));
                let Some(initial) = state.initial.get(usize::from(bound.order)) else { continue };
                let value = chosen.map_or_else(|| model.number(*initial, &self.values), |given| given.2);
                let limit = model.number(bound.value, &self.values);
                if if bound.at_least { value < limit } else { value > limit } {
                    return Err(blame::bounds::beyond(model, (i, k), &state.derivative(bound.order), (value, limit)));
                }
            }
        }
        Ok(())
    }
}
