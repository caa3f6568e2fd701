//! Discretes and events of a model without a text.

use super::{BoundIndex, ExprRef, Part, Parts, owned};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Action, Body, Change, Discrete, Event, EventKind, Indexed, Model, Stop, Symbol};

/// The trigger of an event.
#[derive(Clone, Copy, Debug)]
pub enum EventHead<'a> {
    /// The condition becomes true; with `from_start` it counts as false before the start.
    When {
        /// The condition.
        condition: ExprRef,
        /// See above.
        from_start: bool,
    },
    /// Each of these times.
    At(&'a [ExprRef]),
    /// The times from + k*period, all before `until`.
    Every {
        /// Time between two.
        period: ExprRef,
        /// The first; without it, 0.
        from: Option<ExprRef>,
        /// The end.
        until: Option<ExprRef>,
    },
}

/// The effect of an event on one quantity.
#[derive(Clone, Copy, Debug)]
pub struct Writes<'a> {
    /// A state or a discrete.
    pub target: Symbol,
    /// The order of the derivative of a state.
    pub order: u8,
    /// One subscript for each index of the target.
    pub subscripts: &'a [ExprRef],
    /// Indices of the subscripts that do not belong to the event: the change applies to all their values.
    pub over: &'a [BoundIndex],
    /// The kind of change.
    pub change: Change,
    /// The right side.
    pub value: ExprRef,
}

/// An event; with indices, one event for each of their values.
#[derive(Clone, Copy, Debug)]
pub struct NewEvent<'a> {
    /// The trigger.
    pub head: EventHead<'a>,
    /// Its indices.
    pub over: &'a [BoundIndex],
    /// Time to its execution.
    pub after: Option<ExprRef>,
    /// Right sides are read at its execution.
    pub late: bool,
    /// Dropped if the condition turns false before.
    pub cancel: bool,
    /// True if it is executed in a round of its own.
    pub alone: bool,
    /// Events of the highest priority come first.
    pub priority: Option<ExprRef>,
    /// The assignments.
    pub writes: &'a [Writes<'a>],
    /// The run ends.
    pub stops: bool,
    /// The assignments at an accumulation of the event, if any.
    pub rest: Option<&'a [Writes<'a>]>,
    /// The label of the part.
    pub origin: &'a str,
}

impl<'a> NewEvent<'a> {
    /// An event without clauses and without actions.
    pub fn new(head: EventHead<'a>, origin: &'a str) -> NewEvent<'a> {
        NewEvent {
            head,
            over: &[],
            after: None,
            late: false,
            cancel: false,
            alone: false,
            priority: None,
            writes: &[],
            stops: false,
            rest: None,
            origin,
        }
    }
}

impl Parts {
    /// A quantity that only events change, with its initial value.
    pub fn discrete(&mut self, part: Part<'_>, value: ExprRef) -> Symbol {
        let symbol = Symbol::Discrete(self.model.discretes.len());
        let initial = self.body(value, part.over, part.origin);
        let span = self.declare("discrete", part, Some(initial));
        self.enter(part.name, symbol, span);
        let indexed = self.indexed(part.over);
        let (name, unit, doc) = owned(part);
        self.model.discretes.push(Discrete { name, initial, unit, doc, span, indexed });
        symbol
    }

    /// An event.
    pub fn event(&mut self, event: &NewEvent<'_>) {
        let (over, origin) = (event.over, event.origin);
        let index = self.model.events.len();
        let mut body = |expr: ExprRef| self.body(expr, over, origin);
        let kind = match event.head {
            EventHead::When { condition, from_start } => EventKind::When {
                condition: body(condition),
                crossing: false,
                from_start,
                rest: event.rest.map(|_| index + 1),
            },
            EventHead::At(times) => EventKind::At(times.iter().map(|&time| body(time)).collect()),
            EventHead::Every { period, from, until } => {
                EventKind::Every { period: body(period), from: from.map(&mut body), until: until.map(&mut body) }
            }
        };
        let (delay, priority) = (event.after.map(&mut body), event.priority.map(&mut body));
        let happens = matches!(event.head, EventHead::When { .. });
        if !happens && (event.cancel || event.rest.is_some()) {
            let headline = "an event at known times has no condition that could become false, so it cannot accumulate";
            self.reports.push(Diagnostic::error(&codes::E0544, headline).help("give it a condition"));
        }
        let made = self.made(event, kind, event.writes, (delay, priority));
        self.model.events.push(made);
        if let Some(writes) = event.rest.filter(|_| happens) {
            let plain = NewEvent { stops: false, late: false, cancel: false, alone: false, ..*event };
            let made = self.made(&plain, EventKind::Rest, writes, (None, None));
            self.model.events.push(made);
        }
    }

    fn made(
        &mut self,
        event: &NewEvent<'_>,
        kind: EventKind,
        writes: &[Writes<'_>],
        (delay, priority): (Option<Body>, Option<Body>),
    ) -> Event {
        let origin = event.origin;
        let actions: Vec<Action> = writes.iter().filter_map(|write| self.written(event, write)).collect();
        let mut event = Event {
            kind,
            locals: event.over.iter().map(|bound| bound.0).collect(),
            delay,
            late: event.late,
            cancel: event.cancel,
            alone: event.alone,
            priority,
            actions,
            stop: event.stops.then(|| Stop { text: None, span: odec_ir::Span::default() }),
            doc: None,
            head: odec_ir::Span::default(),
            span: odec_ir::Span::default(),
        };
        let text = self.model.event_text(&event);
        let line = self.line(&text, None, "", origin);
        (event.head, event.span) = (line, line);
        for action in &mut event.actions {
            action.span = line;
        }
        for body in event.bodies() {
            for term in body.range() {
                self.model.terms[term].span = line;
            }
        }
        event
    }

    fn written(&mut self, event: &NewEvent<'_>, write: &Writes<'_>) -> Option<Action> {
        let over: Vec<BoundIndex> = event.over.iter().chain(write.over).copied().collect();
        let rank = self.model.indexed(write.target).map_or(0, Indexed::rank);
        let name = self.model.name_of(write.target).to_owned();
        if !matches!(write.target, Symbol::State(_) | Symbol::Discrete(_)) {
            let headline = format!("an event cannot change `{name}`, which is {}", Model::kind_of(write.target));
            self.reports.push(Diagnostic::error(&codes::E0542, headline).help("events change states and discretes"));
            return None;
        }
        if rank != write.subscripts.len() {
            let headline = format!("`{name}` has {rank} indices but receives {}", write.subscripts.len());
            self.reports.push(Diagnostic::error(&codes::E0513, headline).help("give one subscript for each index"));
            return None;
        }
        let subscripts = write.subscripts.iter().map(|&s| self.body(s, &over, event.origin)).collect();
        Some(Action {
            target: write.target,
            order: write.order,
            subscripts,
            locals: write.over.iter().map(|bound| bound.0).collect(),
            change: write.change,
            value: self.body(write.value, &over, event.origin),
            span: odec_ir::Span::default(),
        })
    }
}
