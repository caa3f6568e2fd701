//! What events change in conserved quantities.

use odec_ode::hybrid::{Executed, Point};

/// The changes of a conserved quantity by events.
#[derive(Clone, Copy, Debug)]
pub struct EventChanges {
    /// The sum of all changes.
    pub sum: f64,
    /// The largest change, with its sign.
    pub largest: f64,
    /// Its time.
    pub t: f64,
    /// The event of this change, and the last one if several happened at once.
    pub event: usize,
}

impl EventChanges {
    /// The events must explain at least this fraction of a drift.
    const EXPLAINED: f64 = 0.3;

    /// True if the events explain a drift.
    pub fn explain(&self, drift: f64) -> bool {
        self.sum.abs().max(self.largest.abs()) >= Self::EXPLAINED * drift.abs()
    }
}

/// Adds the changes of the conserved quantities at an instant.
pub(crate) fn note(
    changes: &mut Vec<Option<EventChanges>>,
    (before, after): (&[f64], &[f64]),
    at: Point<'_>,
    events: &[Executed],
) {
    let Some(last) = events.last() else { return };
    changes.resize(after.len(), None);
    for (changes, (before, after)) in changes.iter_mut().zip(before.iter().zip(after)) {
        let change = after - before;
        if change == 0.0 || !change.is_finite() {
            continue;
        }
        let changes = changes.get_or_insert(EventChanges { sum: 0.0, largest: 0.0, t: at.t, event: last.event });
        changes.sum += change;
        if change.abs() > changes.largest.abs() {
            (changes.largest, changes.t, changes.event) = (change, at.t, last.event);
        }
    }
}
