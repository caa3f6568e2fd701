//! Discretes and events: their triggers and actions.

use crate::diagnostic::codes;
use odec_ir::Span;

use super::scope::Scope;
use super::statements::component_name;
use super::{Allowed, Resolver, Use, UseKind};
use crate::model::phases::names::EventItem;
use crate::model::phases::shapes::{Dim, offset};
use crate::model::{self, Body, EventKind, Model, Symbol, TermKind};
use crate::report::{error, warning};
use crate::syntax::tree::{self, Declared, EventTrigger, ExprId, ExprKind, Index, Reference};

/// The target of an action.
struct Target {
    /// That of the first component.
    symbol: Symbol,
    order: u8,
    subscripts: Vec<Body>,
    locals: Vec<usize>,
    /// Components of the value.
    dim: Dim,
}

impl<'a> Resolver<'a> {
    pub(super) fn resolve_discrete(&mut self, item: &'a Declared) {
        let name = &item.target.name.name;
        let dim = self.shapes.dim(name);
        let (indexed, scope) = self.axes(&item.target.indices);
        self.refuse_comparison(item, false);
        let values = match item.value {
            Some(value) if self.is_table(value) => self.start_table(item, value, &indexed, dim),
            Some(value) if indexed.is_scalar() => self.shared(value, Allowed::Anywhere, dim),
            Some(value) => self.within_scope(scope, |b| b.bodies(value, Allowed::Anywhere, dim)),
            None => vec![self.number_body(0.0, item.target.span); usize::from(dim.max(1))],
        };
        for (c, initial) in values.into_iter().enumerate() {
            self.model.discretes.push(model::Discrete {
                name: component_name(name, dim, c),
                initial,
                unit: item.unit.as_ref().map(|u| u.text.clone()),
                doc: item.doc.clone(),
                span: item.target.name.span,
                indexed: indexed.clone(),
            });
        }
    }

    pub(super) fn resolve_event(&mut self, item: &EventItem<'a>) {
        let event = item.event;
        let clauses = &event.clauses;
        let values = [Some(event.head.value()), clauses.from, clauses.until, clauses.after, clauses.priority];
        let values: Vec<ExprId> = values.into_iter().flatten().collect();
        let (scope, locals) = self.implied_indices(&values);
        let kind = self.within_scope(scope, |b| b.event_kind(event));
        let clause =
            |b: &mut Self, e: Option<ExprId>| e.map(|e| b.within_scope(scope, |b| b.body(e, Allowed::Anywhere)));
        self.refuse_dead_cancel(event);
        let delay = clause(self, clauses.after);
        let priority = clause(self, clauses.priority);
        self.scopes.restricted.clear();
        let (actions, stop) = self.actions(&event.actions, scope);
        let index = self.model.events.len();
        let kind = match kind {
            EventKind::When { condition, crossing, from_start, .. } if event.rest.is_some() => {
                EventKind::When { condition, crossing, from_start, rest: Some(index + 1) }
            }
            other => other,
        };
        self.model.events.push(model::Event {
            kind,
            locals: locals.clone(),
            delay,
            late: event.clauses.late.is_some(),
            cancel: event.clauses.cancel.is_some(),
            alone: event.clauses.alone.is_some(),
            priority,
            actions,
            stop,
            doc: item.doc.map(str::to_owned),
            head: event.span,
            span: item.span,
        });
        if let Some((span, actions)) = &event.rest {
            let (actions, stop) = self.actions(actions, scope);
            self.model.events.push(model::Event {
                kind: EventKind::Rest,
                locals,
                delay: None,
                late: false,
                cancel: false,
                alone: false,
                priority: None,
                actions,
                stop,
                doc: None,
                head: *span,
                span: *span,
            });
        }
    }

    /// Refuses `cancel` without `after`: without a delay, nothing can be dropped.
    fn refuse_dead_cancel(&mut self, event: &tree::EventStatement) {
        let (Some(span), None) = (event.clauses.cancel, event.clauses.after) else { return };
        let report = warning(&codes::W0516, "`cancel` has no effect here", span, "odec executes the event at once");
        self.say(report.help("add a delay, `after 2 cancel`, or remove the word"));
    }

    /// An array as the target of an action.
    fn wrong_rank_of_target(&mut self, target: &'a Reference, rank: usize) {
        if rank == 0 || !target.indices.is_empty() {
            return self.wrong_rank(target, rank);
        }
        let name = &target.name.name;
        let letters: Vec<String> = ["i", "j", "k", "l", "m"].into_iter().take(rank).map(str::to_owned).collect();
        let element = format!("{name}[{}]", letters.join(", "));
        let report = error(&codes::E0513, format!("`{name}` is an array, but no element is named"), target.span, "");
        let report = match self.names.declared.get(name) {
            Some(&declared) => report.label(declared, "declared with indices"),
            None => report,
        };
        self.say(report.help(format!(
            "write `{element} := ...`: an index of the head selects one element, and any other index selects all \
             elements"
        )));
    }

    fn event_kind(&mut self, event: &'a tree::EventStatement) -> EventKind {
        let anywhere = Allowed::Anywhere;
        match event.head {
            EventTrigger::When(condition) => EventKind::When {
                condition: self.body(condition, anywhere),
                crossing: false,
                from_start: event.clauses.from_start.is_some(),
                rest: None,
            },
            EventTrigger::At(time, _) => {
                let tree = self.input.tree;
                let times = match &tree.exprs[time.0 as usize].kind {
                    ExprKind::Table(list) => list.iter().map(|&e| self.body(e, anywhere)).collect(),
                    _ => vec![self.body(time, anywhere)],
                };
                EventKind::At(times)
            }
            EventTrigger::Every(period) => EventKind::Every {
                period: self.body(period, anywhere),
                from: event.clauses.from.map(|e| self.body(e, anywhere)),
                until: event.clauses.until.map(|e| self.body(e, anywhere)),
            },
        }
    }

    fn actions(&mut self, list: &'a [tree::EventAction], scope: Scope) -> (Vec<model::Action>, Option<model::Stop>) {
        let mut actions = Vec::new();
        let mut stop: Option<model::Stop> = None;
        for action in list {
            match action {
                tree::EventAction::Stop(text, span) => match &stop {
                    None => stop = Some(model::Stop { text: text.clone(), span: *span }),
                    Some(first) => {
                        let report = error(&codes::E0543, "this event stops the run twice", *span, "again here");
                        let report = report.label(first.span, "first here");
                        self.say(report.help("keep one of the two reasons"));
                    }
                },
                tree::EventAction::Change(target, change, value, span) => {
                    self.action(target, *change, *value, *span, scope, &mut actions);
                }
            }
        }
        (actions, stop)
    }

    fn action(
        &mut self,
        target: &'a Reference,
        change: tree::Change,
        value: ExprId,
        span: Span,
        scope: Scope,
        actions: &mut Vec<model::Action>,
    ) {
        let (inner, found) = self.action_target(target, scope);
        let Some(found) = found else {
            self.within_scope(inner, |b| b.value(value, Allowed::Anywhere));
            return;
        };
        let bodies = self.within_scope(inner, |b| b.bodies(value, Allowed::Anywhere, found.dim));
        for (c, value) in bodies.into_iter().enumerate() {
            actions.push(model::Action {
                target: offset(found.symbol, c),
                order: found.order,
                subscripts: found.subscripts.clone(),
                locals: found.locals.clone(),
                change,
                value,
                span,
            });
        }
    }

    /// The target of an action, and the scope of its right-hand side; `None` after a mistake.
    fn action_target(&mut self, target: &'a Reference, scope: Scope) -> (Scope, Option<Target>) {
        let name = target.name.name.as_str();
        let symbol = self.model.symbols.get(name).copied();
        let mut inner = scope;
        let mut locals = Vec::new();
        let mut subscripts = Vec::with_capacity(target.indices.len());
        for index in &target.indices {
            subscripts.push(self.action_subscript(index, &mut inner, &mut locals));
        }
        let symbol = match symbol {
            Some(Symbol::State(i)) if self.model.states[i].algebraic => {
                self.unknown_as_target(target);
                return (inner, None);
            }
            Some(symbol @ (Symbol::State(_) | Symbol::Discrete(_))) => symbol,
            Some(other) => {
                self.not_a_target(target, other);
                return (inner, None);
            }
            None => {
                self.note_undeclared(name, Use { span: target.name.span, kind: UseKind::Target });
                return (inner, None);
            }
        };
        // a discrete that is only written counts as unused
        if matches!(symbol, Symbol::State(_)) {
            self.uses.mark(symbol);
        }
        if target.primes > 0 && matches!(symbol, Symbol::Discrete(_)) {
            self.prime_without_state(name, symbol, target.span);
            return (inner, None);
        }
        let rank = self.names.ranks.get(name).copied().unwrap_or(0);
        if rank != target.indices.len() {
            self.wrong_rank_of_target(target, rank);
            return (inner, None);
        }
        let dim = self.shapes.dim(name);
        let Some(which) = self.which_component(target, dim) else { return (inner, None) };
        let symbol = offset(symbol, which.unwrap_or(0));
        let dim = if which.is_some() { 0 } else { dim };
        (inner, Some(Target { symbol, order: target.primes, subscripts, locals, dim }))
    }

    /// A subscript of a target: an index of the event, a new index that runs over all its values, or a number.
    fn action_subscript(&mut self, index: &'a Index, scope: &mut Scope, locals: &mut Vec<usize>) -> Body {
        let (name, range, span) = match index {
            Index::At(e) => {
                let plain = self.input.plain_name(*e);
                let free = plain.filter(|n| {
                    let set = matches!(self.model.symbols.get(&n.name), Some(Symbol::Index(_)));
                    set && self.bound(*scope, &n.name).is_none()
                });
                match free {
                    Some(name) => (Some(name), None, name.span),
                    None => return self.within_scope(*scope, |b| b.body(*e, Allowed::Anywhere)),
                }
            }
            Index::In(name, first, last) => (Some(name), Some((*first, *last)), name.span),
            Index::Range(first, last) => {
                let span = self.input.span_of(*first).to(self.input.span_of(*last));
                (None, Some((*first, *last)), span)
            }
        };
        let local = match name {
            Some(name) => {
                let dimension = self.dimension(name, range);
                let local = self.local(name.name.clone(), dimension, span);
                *scope = self.bind(*scope, &name.name, local);
                local
            }
            None => {
                let text = self.input.text(span).to_owned();
                let range = range.map(|(first, last)| self.extent_range(first, last));
                self.local(text.clone(), model::Dimension { index: None, range, name: text }, span)
            }
        };
        locals.push(local);
        self.single(TermKind::Index(local), span)
    }

    /// `z := 2` for an algebraic unknown.
    fn unknown_as_target(&mut self, target: &Reference) {
        let name = &target.name.name;
        let headline = format!("an event cannot change `{name}`, which is an algebraic unknown");
        let report = error(&codes::E0542, headline, target.span, "an unknown");
        let report = match self.names.declared.get(name) {
            Some(&declared) => report.label(declared, "declared here"),
            None => report,
        };
        self.say(report.help("the equations determine it: change a state or a `discrete` that they contain"));
    }

    /// The text of a definition that is a number: `u = 0`.
    fn number_of_definition(&self, name: &str) -> Option<&'a str> {
        let item = self.names.found.definitions.iter().find(|item| item.name == name && item.pieces.is_empty())?;
        let kind = |id: ExprId| &self.input.tree.exprs[id.0 as usize].kind;
        let is_number = match kind(item.value) {
            ExprKind::Number(_) => true,
            ExprKind::Neg(inner) => matches!(kind(*inner), ExprKind::Number(_)),
            _ => false,
        };
        is_number.then(|| self.input.text(self.input.span_of(item.value)))
    }

    /// `k := 2` for a parameter, a definition or the time.
    fn not_a_target(&mut self, target: &Reference, symbol: Symbol) {
        let name = &target.name.name;
        let kind = Model::kind_of(symbol);
        let report =
            error(&codes::E0542, format!("an event cannot change `{name}`, which is {kind}"), target.span, kind);
        let report = match self.names.declared.get(name) {
            Some(&declared) => report.label(declared, "declared here"),
            None => report,
        };
        self.say(match symbol {
            Symbol::Parameter(_) | Symbol::Constant(_) => {
                let (place, own) = match (name.rsplit_once('.'), self.names.declared.get(name)) {
                    (Some((_, own)), Some(&declared)) => {
                        let source = self.input.source;
                        (format!(" in `{}`", source.file_name(source.file_at(declared.start as usize))), own)
                    }
                    _ => (String::new(), name.as_str()),
                };
                report.help(format!(
                    "declare it{place} as `discrete {own} = ...`: a discrete quantity keeps its value between events"
                ))
            }
            Symbol::Definition(_) => match self.number_of_definition(name) {
                Some(value) => report.help(format!(
                    "declare it as `discrete {name} = {value}`: a discrete quantity keeps its value between events"
                )),
                None => report.help("it depends on other values: change a state or a `discrete` that it depends on"),
            },
            _ => report.help("events change states and discretes"),
        });
    }
}
