//! Events of the checked model: discretes, triggers, actions.

use odec_ir::Span;

use super::{Body, Indexed, Symbol};
pub use crate::syntax::tree::Change;

/// A quantity that only events change: `discrete m = 1`.
#[derive(Clone, Debug, PartialEq)]
pub struct Discrete {
    /// Name.
    pub name: String,
    /// Its initial value.
    pub initial: Body,
    /// Unit as written, without brackets.
    pub unit: Option<String>,
    /// Doc comment.
    pub doc: Option<String>,
    /// The name in its declaration.
    pub span: Span,
    /// Its axes.
    pub indexed: Indexed,
}

/// The trigger of an event. Times depend on numbers, constants, parameters and discretes.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// `when`: the condition becomes true.
    When {
        /// The condition.
        condition: Body,
        /// `v == 0`: it happens wherever `v > 0` changes, in either direction, and the condition is this difference v.
        crossing: bool,
        /// The condition counts as false before the start.
        from_start: bool,
        /// The element of [`super::Model::events`] that is executed if this one accumulates.
        rest: Option<usize>,
    },
    /// `at`: each of these times.
    At(Vec<Body>),
    /// `every`: the times from + k*period, k = 0, 1, 2, ...
    Every {
        /// Time between two.
        period: Body,
        /// The first; without it, 0.
        from: Option<Body>,
        /// The end: all times lie before it.
        until: Option<Body>,
    },
    /// `rest`: another event accumulates.
    Rest,
}

/// `h' := -e*h'`: for an element of a state or discrete, or for all elements over which its own indices run.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// A state or a discrete.
    pub target: Symbol,
    /// The order of the derivative of a state.
    pub order: u8,
    /// One subscript for each axis: numbers, constants, constant tables, and indices of the event and of the action.
    pub subscripts: Vec<Body>,
    /// Elements of [`super::Model::locals`] that the target binds: the action applies to all their values.
    pub locals: Vec<usize>,
    /// The kind of change.
    pub change: Change,
    /// Its right-hand side, which reads the values before the round.
    pub value: Body,
    /// Source location of the whole action.
    pub span: Span,
}

/// `stop "reason"`
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// The reason.
    pub text: Option<String>,
    /// The action.
    pub span: Span,
}

/// An event; with indices, one event for each of their values.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The trigger.
    pub kind: EventKind,
    /// Elements of [`super::Model::locals`] that its head binds.
    pub locals: Vec<usize>,
    /// `after`: the time to its execution.
    pub delay: Option<Body>,
    /// Right sides are read when it is executed, not when it is triggered.
    pub late: bool,
    /// It is dropped if its condition turns false before it is executed.
    pub cancel: bool,
    /// True if it is executed in a round of its own; among several at one instant, a random number decides which
    /// comes first.
    pub alone: bool,
    /// Priority: of the events that are due at one instant, those of the highest priority come first.
    pub priority: Option<Body>,
    /// The assignments.
    pub actions: Vec<Action>,
    /// It ends the run.
    pub stop: Option<Stop>,
    /// Its doc comment, which names it in reports.
    pub doc: Option<String>,
    /// The head before its block.
    pub head: Span,
    /// Source location of the statement; for a `rest` block, of the word `rest`.
    pub span: Span,
}

impl Event {
    /// All expressions of the event.
    pub fn bodies(&self) -> Vec<Body> {
        let mut all: Vec<Body> = self.delay.into_iter().chain(self.priority).collect();
        match &self.kind {
            EventKind::When { condition, .. } => all.push(*condition),
            EventKind::At(times) => all.extend(times),
            EventKind::Every { period, from, until } => {
                all.push(*period);
                all.extend(from.iter().chain(until));
            }
            EventKind::Rest => {}
        }
        for action in &self.actions {
            all.push(action.value);
            all.extend(&action.subscripts);
        }
        all
    }
}
