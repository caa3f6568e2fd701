//! End of a run that lies on a surface within rounding.
//!
//! An event at t = 5 that follows from states happens at 5 plus or minus some rounding errors. In both cases a row at
//! 5 has the values after the event, and so has the last row of a run to t = 5.

use super::HybridRunner;
use super::edges::has_no_value;
use crate::hybrid::modes::Place;
use crate::hybrid::system::HybridSystem;
use crate::problem::SolveError;

impl HybridRunner {
    /// True if the run has ended, and the motion would cross a surface within the time resolution of the end.
    pub(super) fn ends_on_surface(&mut self, model: &dyn HybridSystem) -> bool {
        let t = self.runner.time();
        if t != self.span.1 || model.relations().is_empty() {
            return false;
        }
        self.y.copy_from_slice(self.runner.state());
        self.modes.meets(model, &self.locator, Place { t, y: &self.y, scale: 0.0 })
    }

    /// True if f has no value after an instant at the end of the run that changes no state: no step begins there. Behind
    /// the surface, `abs(y)^1.5` has no value if y differs from 0 by rounding.
    pub(super) fn needs_no_value(&self, error: &SolveError) -> bool {
        self.runner.time() == self.span.1 && self.y == self.before.y && has_no_value(error)
    }
}
