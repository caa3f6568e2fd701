//! Numbers without a unit beside a unit that is not known yet: each is judged once the unit is.

use std::collections::HashSet;

use odec_ir::Span;

use crate::syntax::tree::ExprId;
use crate::units::vector::Vector;

/// Most places that the calls of functions are asked for. Each call asks for the places of its function again, so that
/// functions that call functions could double them at every level.
pub(super) const MAX_ASKED: usize = 4_000_000;

/// A number without a unit beside a unit that was not known then; or a name as the exponent of such a unit, which is a pure
/// number too if it has no dimension.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct PendingNumber {
    pub unit: Vector,
    pub number: ExprId,
    pub is_exponent: bool,
    pub other: Span,
}

/// The places that were found so far, each once.
#[derive(Default)]
pub(super) struct Undecided {
    places: Vec<PendingNumber>,
    seen: HashSet<(Vector, ExprId, bool)>,
    asked: usize,
    /// It was said that calls ask for too many.
    pub refused: bool,
}

impl Undecided {
    /// Notes a place; one with the same number and the same unit is known already.
    pub(super) fn note(&mut self, place: PendingNumber) {
        if self.seen.insert((place.unit.clone(), place.number, place.is_exponent)) {
            self.places.push(place);
        }
    }

    /// The places of one function, with their units as `reduced` knows them now; other functions begin anew.
    pub(super) fn of_function(&mut self, mut reduced: impl FnMut(&Vector) -> Vector) -> Vec<PendingNumber> {
        self.seen.clear();
        for place in std::mem::take(&mut self.places) {
            let unit = reduced(&place.unit);
            self.note(PendingNumber { unit, ..place });
        }
        self.take()
    }

    /// All places.
    pub(super) fn take(&mut self) -> Vec<PendingNumber> {
        self.seen.clear();
        std::mem::take(&mut self.places)
    }

    /// Whether a call may ask for so many places; if not, the model is to be refused.
    pub(super) fn may_ask(&mut self, places: usize) -> bool {
        self.asked = self.asked.saturating_add(places);
        self.asked <= MAX_ASKED
    }
}
