//! Data about reactions for the checks of the whole model.

use super::tree::{ExprId, Reference};

/// Facts about reactions to check when all parts of a model are there.
#[derive(Clone, Debug, PartialEq)]
pub enum Matter {
    /// Elements that a reaction changes, summed over its indices: they have to exist.
    Elements(ExprId),
    /// A state counts what is in a compartment.
    Inside(Box<Inside>),
    /// The equation of this state is the sum of what reactions do: those of a model that has this part can add to it.
    Sum(Box<Reference>),
}

/// A state that counts what is in a compartment.
#[derive(Clone, Debug, PartialEq)]
pub struct Inside {
    /// The state.
    pub species: Reference,
    /// Where it is.
    pub compartment: Reference,
    /// The state that is the volume, where that changes.
    pub volume: Option<Reference>,
}
