//! The values just before an instant.

use crate::hybrid::outcome::Point;
use crate::hybrid::system::HybridSystem;

/// The left limit at an instant.
#[derive(Default)]
pub(super) struct LeftLimit {
    pub y: Vec<f64>,
    pub discretes: Vec<f64>,
    pub modes: Vec<f64>,
}

impl LeftLimit {
    /// Stores the state, discretes and modes.
    pub fn take(&mut self, model: &dyn HybridSystem, y: &[f64]) {
        let copy = |to: &mut Vec<f64>, from: &[f64]| {
            to.clear();
            to.extend_from_slice(from);
        };
        copy(&mut self.y, y);
        copy(&mut self.discretes, model.discretes());
        copy(&mut self.modes, model.modes());
    }

    /// The stored values as a point at `t`.
    pub fn point(&self, t: f64) -> Point<'_> {
        Point { t, wanted: t, y: &self.y, discretes: &self.discretes, modes: &self.modes, free: &[] }
    }
}
