//! Numbers without a unit next to a unit that is not known yet: each is checked once the unit is known.

use std::collections::HashSet;

use odec_ir::Span;

use crate::syntax::tree::ExprId;
use crate::units::pool::UnitId;

/// Largest number of places that calls of functions record. Each call records the places of its function again, so
/// nested calls could double them at every level.
pub(super) const MAX_PLACES: usize = 4_000_000;

/// Number without a unit next to a unit that was unknown at the time; or a name as the exponent of such a unit, which
/// must be a pure number too if it is dimensionless.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PendingNumber {
    pub unit: UnitId,
    pub number: ExprId,
    pub is_exponent: bool,
    pub other: Span,
}

/// Places found so far, without duplicates.
#[derive(Default)]
pub(super) struct Undecided {
    places: Vec<PendingNumber>,
    seen: HashSet<(UnitId, ExprId, bool)>,
    counted_places: usize,
    /// True if the error about too many places was reported.
    pub refused: bool,
}

impl Undecided {
    /// Records a place, unless one with the same number and unit is known.
    pub(super) fn note(&mut self, place: PendingNumber) {
        if self.seen.insert((place.unit, place.number, place.is_exponent)) {
            self.places.push(place);
        }
    }

    /// Places of one function, with their current units by `reduced`; clears the list for the next function.
    pub(super) fn of_function(&mut self, mut reduced: impl FnMut(UnitId) -> UnitId) -> Vec<PendingNumber> {
        self.seen.clear();
        for place in std::mem::take(&mut self.places) {
            let unit = reduced(place.unit);
            self.note(PendingNumber { unit, ..place });
        }
        self.take()
    }

    /// The numbers, without exponents, and the units next to them.
    pub(super) fn numbers(&self) -> Vec<(ExprId, UnitId)> {
        self.places.iter().filter(|place| !place.is_exponent).map(|place| (place.number, place.unit)).collect()
    }

    /// Removes and returns all places.
    pub(super) fn take(&mut self) -> Vec<PendingNumber> {
        self.seen.clear();
        std::mem::take(&mut self.places)
    }

    /// Counts the places of a call; false if there are too many, so that the model must be refused.
    pub(super) fn count_places(&mut self, places: usize) -> bool {
        self.counted_places = self.counted_places.saturating_add(places);
        self.counted_places <= MAX_PLACES
    }
}
