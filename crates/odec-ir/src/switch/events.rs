//! Events: their triggers and the values that they write, as programs of `Outputs` kernels beside those of the model.
//!
//! A condition is logic of modes and discretes: the comparisons in it become relations as those of the equations do. Right
//! sides, delays and priorities read the state of the instant.

use super::{auxiliary, locate};
use crate::nest::Kernel;
use crate::program::{ArrayId, Program};
use crate::span::Span;

/// One thing that an event writes.
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

/// What makes an event happen.
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
    /// What makes them happen.
    pub cause: Cause,
    /// Of each event what it writes; there are as many events as entries.
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
    /// Executed in a round of its own; of several chance decides which comes first.
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
    /// Of the conditions.
    pub conditions: Vec<Kernel>,
    /// Of right sides, delays and priorities.
    pub values: Vec<Kernel>,
    /// Of times, which parameters and discretes decide.
    pub times: Vec<Kernel>,
    /// Of the discretes at the start.
    pub initial: Vec<Kernel>,
    /// Of each discrete of the model the result that it starts from, and itself.
    pub starts: Vec<(ArrayId, ArrayId)>,
    /// Bounds of states, whose values are among the discretes at the start.
    pub bounds: Vec<Bound>,
}

/// A bound of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Its values, in [`Events::initial`].
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
    /// Of each discrete of the model the array of [`Events::initial`] that it starts from, and itself.
    pub starts: Vec<(ArrayId, ArrayId)>,
    /// Bounds of states.
    pub bounds: Vec<Bound>,
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
