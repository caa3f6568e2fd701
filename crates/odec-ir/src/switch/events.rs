//! Events: their triggers and the values that they write, as additional programs of `Outputs` kernels.
//!
//! A condition combines modes and discretes: its comparisons become relations, like those of the equations. Right-hand
//! sides, delays and priorities read the state at the instant.

use super::{auxiliary, locate};
use crate::nest::Kernel;
use crate::program::{ArrayId, Program};
use crate::span::Span;

/// One assignment of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayWrite {
    /// A state or a discrete.
    pub target: ArrayId,
    /// Index of the element, row by row.
    pub at: u32,
    /// The array of the value, in [`Events::values`].
    pub value: ArrayId,
    /// Index of its element.
    pub from: u32,
    /// True if the value is added.
    pub adds: bool,
    /// Source location of the action.
    pub span: Span,
}

/// The cause of an event.
#[derive(Clone, Debug)]
pub enum EventCause {
    /// Its condition becomes true.
    Condition {
        /// The array of the condition in [`Events::conditions`], one element for each event.
        condition: ArrayId,
        /// True if the event happens in both directions.
        crossing: bool,
        /// True if the condition counts as false before the start.
        from_start: bool,
        /// Index in [`Events::list`] of the event that is executed at an accumulation.
        rest: Option<usize>,
    },
    /// One of these times comes; each is in [`Events::times`].
    Times(Vec<ArrayId>),
    /// A time from + k*period comes; each array is in [`Events::times`].
    Every {
        /// The period.
        period: ArrayId,
        /// The first time; 0 if absent.
        from: Option<ArrayId>,
        /// The end: all times lie before it.
        until: Option<ArrayId>,
    },
    /// Another event accumulates.
    Rest,
}

/// The events of one statement.
#[derive(Clone, Debug)]
pub struct EventGroup {
    /// The cause of the events.
    pub cause: EventCause,
    /// The assignments of each event; there are as many entries as events.
    pub writes: Vec<Vec<ArrayWrite>>,
    /// First and last value of each index that numbers the events, row by row.
    pub ranges: Vec<(i64, i64)>,
    /// The array of delays, in [`Events::values`].
    pub delay: Option<ArrayId>,
    /// The array of priorities, in [`Events::values`].
    pub priority: Option<ArrayId>,
    /// True if values are computed at the execution.
    pub late: bool,
    /// True if the event is dropped when its condition turns false during the delay.
    pub cancel: bool,
    /// True if the event is executed in a round of its own; among several such events, a random number decides which
    /// comes first.
    pub alone: bool,
    /// True if the event ends the run.
    pub stops: bool,
    /// Source location of the statement.
    pub span: Span,
}

/// The events of a model, with their kernels before comparisons become modes.
#[derive(Clone, Default)]
pub struct EventDraft {
    /// The statements.
    pub list: Vec<EventGroup>,
    /// Kernels of the conditions.
    pub conditions: Vec<Kernel>,
    /// Kernels of right-hand sides, delays and priorities.
    pub values: Vec<Kernel>,
    /// Kernels of the times, which depend on parameters and discretes.
    pub times: Vec<Kernel>,
    /// Kernels of the discretes at the start.
    pub initial: Vec<Kernel>,
    /// For each discrete of the model, the result with its initial value, and the discrete.
    pub starts: Vec<(ArrayId, ArrayId)>,
    /// Bounds of states, whose values are computed together with the initial discretes.
    pub bounds: Vec<BoundValues>,
}

/// The values of a bound of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundValues {
    /// The array of the values, in [`Events::initial`].
    pub value: ArrayId,
    /// The state.
    pub of: ArrayId,
    /// True for an upper bound, false for a lower bound.
    pub upper: bool,
    /// Number of the state in the model.
    pub state: usize,
    /// Number of the bound among the bounds of the state.
    pub number: usize,
}

/// The events of a program with modes.
#[derive(Clone)]
pub struct Events {
    /// The statements.
    pub list: Vec<EventGroup>,
    /// Conditions, as functions of modes and discretes.
    pub conditions: Program,
    /// Right-hand sides, delays and priorities.
    pub values: Program,
    /// Times of timed events.
    pub times: Program,
    /// Initial values of discretes.
    pub initial: Program,
    /// For each discrete of the model, the array of [`Events::initial`] with its initial value, and the discrete.
    pub starts: Vec<(ArrayId, ArrayId)>,
    /// Bounds of states.
    pub bounds: Vec<BoundValues>,
}

impl EventDraft {
    /// True if there are no events, discretes or bounds.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.starts.is_empty() && self.bounds.is_empty()
    }

    /// Makes programs over the arrays of the model.
    pub(super) fn finish(self, program: &Program) -> Events {
        let EventDraft { list, conditions, values, times, initial, starts, bounds } = self;
        let made = |kernels: Vec<Kernel>| {
            let results = locate::results(&kernels);
            auxiliary(program, locate::joined(program, kernels), &results)
        };
        let [conditions, values, times, initial] = [conditions, values, times, initial].map(made);
        Events { list, conditions, values, times, initial, starts, bounds }
    }
}
