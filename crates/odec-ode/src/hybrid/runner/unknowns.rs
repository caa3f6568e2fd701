//! Algebraic unknowns after an instant.

use super::HybridRunner;
use crate::hybrid::outcome::HybridError;
use crate::hybrid::system::HybridSystem;

impl HybridRunner {
    /// Algebraic unknowns follow what changed at an instant.
    pub(super) fn settle(&mut self, model: &dyn HybridSystem, t: f64) -> Result<(), HybridError> {
        let Some(consistent) = &mut self.consistent else { return Ok(()) };
        let mut eval = self.runner.evaluator(model.system());
        let found = consistent.find(&mut eval, t, &mut self.y).map_err(|cause| self.runner.failure(&eval, cause));
        self.runner.keep(eval);
        found.map_err(HybridError::from)
    }
}
