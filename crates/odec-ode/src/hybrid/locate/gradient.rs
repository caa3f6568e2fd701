//! How much left - right of a relation changes with the states that it reads.

use super::Locator;
use crate::hybrid::system::HybridSystem;

impl Locator {
    /// Change of left - right of a relation if every state changes by at most its weight.
    pub fn gradient(
        &mut self,
        model: &dyn HybridSystem,
        (t, y): (f64, &[f64]),
        relation: usize,
        weight: impl Fn(usize) -> f64,
    ) -> f64 {
        if let Some((terms, _)) = self.mode_box.row(relation) {
            return terms.iter().map(|(row, a)| a.abs() * weight(*row as usize)).sum();
        }
        let Locator { direction, rates, .. } = self;
        direction.fill(0.0);
        let mut along = |direction: &[f64]| model.rates(t, y, direction, rates).map_or(f64::NAN, |()| rates[relation]);
        let still = along(direction);
        let size = y.iter().fold(0.0, |most: f64, y| most.max(y.abs()));
        // weights can be as small as rounding errors, too small for a difference quotient
        let size = if size > 0.0 { size } else { 1.0 };
        let mut sum = 0.0;
        let mut add = |i: usize| {
            direction[i] = size;
            sum += (along(direction) - still).abs() / size * weight(i);
            direction[i] = 0.0;
        };
        match model.states_read(relation) {
            Some(rows) => rows.iter().for_each(|row| add(*row as usize)),
            None => (0..y.len()).for_each(add),
        }
        sum
    }
}
