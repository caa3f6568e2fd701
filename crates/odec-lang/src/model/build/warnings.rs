//! What is probably not meant, although the model runs.

use super::Builder;
use crate::model::Overrides;

impl Builder<'_> {
    /// Equations that cannot be solved for their derivatives.
    pub(super) fn check_program(&mut self) {
        if let Err(errors) = crate::lower::lower(&self.model, &Overrides::default()) {
            self.diagnostics.extend(errors);
        }
    }

    pub(super) fn warn(&mut self) {}
}
