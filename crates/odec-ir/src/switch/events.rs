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
pub struct Write {
    /// A state or a discrete.
    pub target: ArrayId,
    /// Which of its elements, row by row.
    pub at: u32,
    /// The array of the value, in [`Events::values`].
    pub value: ArrayId,
    /// Which of its elements.
    pub from: u32,
    /// It is added.
    pub adds: bool,
    /// The action.
    pub span: Span,
}

/// The cause of an event.
#[derive(Clone, Debug)]
pub enum Cause {
    /// Its condition becomes true.
    Condition {
        /// In [`Events::conditions`], one element for each event.
        condition: ArrayId,
        /// It happens in both directions.
        crossing: bool,
        /// The condition counts as false before the start.
        from_start: bool,
        /// Position in [`Events::list`] of what is executed where it accumulates.
        rest: Option<usize>,
    },
    /// These times come, each in [`Events::times`].
    Times(Vec<ArrayId>),
    /// from + k*period comes, each in [`Events::times`].
    Every {
        /// Time between two.
        period: ArrayId,
        /// The first; without it, 0.
        from: Option<ArrayId>,
        /// None lies at or beyond it.
        until: Option<ArrayId>,
    },
    /// Another one accumulates.
    Rest,
}

/// The events of one statement.
#[derive(Clone, Debug)]
pub struct Event {
    /// Their causes.
    pub cause: Cause,
    /// The assignments of each event; there are as many entries as events.
    pub writes: Vec<Vec<Write>>,
    /// First and last value of each index that the events are numbered by, row by row.
    pub ranges: Vec<(i64, i64)>,
    /// Delays, in [`Events::values`].
    pub delay: Option<ArrayId>,
    /// Priorities, in [`Events::values`].
    pub priority: Option<ArrayId>,
    /// Values are taken at the execution.
    pub late: bool,
    /// Dropped where the condition turns false before.
    pub cancel: bool,
    /// Executed in its own round; among several such events, a random number decides which comes first.
    pub alone: bool,
    /// The run ends.
    pub stops: bool,
    /// The statement.
    pub span: Span,
}

/// The events of a model, with their kernels before modes are in them.
#[derive(Clone, Default)]
pub struct EventDraft {
    /// The statements.
    pub list: Vec<Event>,
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
    /// Bounds of states, whose values are among the discretes at the start.
    pub bounds: Vec<BoundValues>,
}

/// The values of a bound of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundValues {
    /// The array of the values, in [`Events::initial`].
    pub value: ArrayId,
    /// The state.
    pub of: ArrayId,
    /// No element lies above it; else none lies below.
    pub upper: bool,
    /// Number of the state in the model.
    pub state: usize,
    /// Number of the bound among those of the state.
    pub number: usize,
}

/// The events of a program with modes.
#[derive(Clone)]
pub struct Events {
    /// The statements.
    pub list: Vec<Event>,
    /// Conditions, of modes and discretes.
    pub conditions: Program,
    /// Right sides, delays and priorities.
    pub values: Program,
    /// Times.
    pub times: Program,
    /// Discretes at the start.
    pub initial: Program,
    /// For each discrete of the model, the array of [`Events::initial`] with its initial value, and the discrete.
    pub starts: Vec<(ArrayId, ArrayId)>,
    /// Bounds of states.
    pub bounds: Vec<BoundValues>,
}

impl EventDraft {
    /// True if there is neither an event nor a discrete nor a bound.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.starts.is_empty() && self.bounds.is_empty()
    }

    /// With programs over the arrays of the model.
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
