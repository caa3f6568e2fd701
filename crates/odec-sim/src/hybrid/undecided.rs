//! Conditions of events that values below their absolute tolerance decide.

use odec_ode::hybrid::{HybridRelations, Trigger};

use super::Located;

/// Factor for values below their tolerance: so much smaller values are as likely.
const SMALLER: f64 = 1e-30;

impl Located {
    /// A relation in the condition of an event that did not occur in a run to this point, and that would change if the
    /// states below their absolute tolerances were smaller: `x < 1e-20` at x = 1e-13. `happened` tells which events
    /// occurred.
    pub(crate) fn undecided(
        &self,
        (t, y): (f64, &[f64]),
        atol: impl Fn(usize) -> f64,
        happened: &[bool],
    ) -> Option<usize> {
        let mut smaller = y.to_vec();
        let small = |(k, value): (usize, &mut f64)| {
            let changes = *value != 0.0 && value.abs() < atol(k);
            *value *= if changes { SMALLER } else { 1.0 };
            changes
        };
        let any = smaller.iter_mut().enumerate().map(small).fold(false, |any, changes| any | changes);
        let count = self.relations();
        if !any || count == 0 {
            return None;
        }
        let waits = |k: usize| !happened.get(k).copied().unwrap_or(false);
        let events = self.places.events.iter().enumerate();
        let conditions = events.filter(|(k, event)| matches!(event.trigger, Trigger::Condition(_)) && waits(*k));
        let spans: Vec<_> = conditions.filter_map(|(k, _)| self.event_span(k)).collect();
        let signs = |y: &[f64]| {
            let (mut left, mut right) = (vec![0.0; count], vec![0.0; count]);
            self.sides(t, y, &mut left, &mut right).ok()?;
            Some(left.iter().zip(&right).map(|(left, right)| left - right).collect::<Vec<f64>>())
        };
        let (now, then) = (signs(y)?, signs(&smaller)?);
        (0..count).filter(|k| now[*k] * then[*k] < 0.0).find(|k| {
            let place = self.relation_span(*k);
            place.is_some_and(|place| spans.iter().any(|span| span.start <= place.start && place.end <= span.end))
        })
    }
}
