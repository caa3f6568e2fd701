//! The order in which a nest computes: every node in the outermost loop it can be in, loops of folds with the same range shared.

use super::Nest;
use super::frame::Counter;
use crate::graph::NodeId;

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Compute (or load) the node: everything but numbers, which are written where they are used, and folds.
    Compute(NodeId),
    /// Do the store of this number.
    Store(u32),
    /// Run a loop.
    Loop(Body),
}

/// A loop of the schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// What counts.
    pub counter: Counter,
    /// The [`crate::Node::Fold`] nodes that are known when it ends; empty for an iteration loop. Their terms are operands.
    pub folds: Vec<NodeId>,
    /// What each round does.
    pub steps: Vec<Step>,
}

/// What a nest does, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The steps outside all loops, and the loops.
    pub steps: Vec<Step>,
}

impl Schedule {
    /// The schedule of a nest whose graph went through [`crate::expand::expanded_nest`].
    pub fn of(nest: &Nest) -> Schedule {
        let _ = nest;
        todo!("ir-nest")
    }
}
