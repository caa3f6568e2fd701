//! Data about reactions for the checks of the whole model.

use super::tree::{ExprId, Reference};

/// Facts about reactions to check after all parts of a model are known.
#[derive(Clone, Debug, PartialEq)]
pub enum ReactionCheck {
    /// Elements that a reaction changes, summed over its indices: they must exist.
    Elements(ExprId),
    /// A state that measures the contents of a compartment.
    Inside(Box<Inside>),
    /// The equation of this state is a sum over reactions: a model that uses this part can add to it.
    Sum(Box<Reference>),
}

/// A state that measures the contents of a compartment.
#[derive(Clone, Debug, PartialEq)]
pub struct Inside {
    /// The state.
    pub species: Reference,
    /// The compartment.
    pub compartment: Reference,
    /// The state that is the volume, if it changes.
    pub volume: Option<Reference>,
}
