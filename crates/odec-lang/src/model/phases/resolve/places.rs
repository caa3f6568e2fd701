//! Brackets in declarations and on left-hand sides: `u[i, j in 2..N]` as axes, and `u[1, j]` as the elements of a
//! statement.

use crate::diagnostic::codes;
use odec_ir::Span;

use super::scope::Scope;
use super::{Allowed, Resolver};
use crate::model::{self, Body, Dimension, Indexed, Symbol};
use crate::report::error;
use crate::syntax::tree::{EventAction, ExprId, Ident, Index, StatementKind};

impl<'a> Resolver<'a> {
    /// The axes that brackets declare, with an index for each, and the scope that binds these.
    pub(super) fn axes(&mut self, indices: &'a [Index]) -> (Indexed, Scope) {
        let mut indexed = Indexed::default();
        let mut scope = None;
        let mut said = false;
        for index in indices {
            let (dimension, name, span) = match index {
                Index::At(e) => match self.input.plain_name(*e) {
                    Some(name) if !self.is_number_name(&name.name) => {
                        (self.dimension(name, None), Some(name), name.span)
                    }
                    _ => {
                        if !std::mem::replace(&mut said, true) {
                            self.sizes_in_brackets(*e);
                        }
                        let span = self.input.span_of(*e);
                        let range = Some(self.number_range(span));
                        (Dimension { index: None, range, name: self.input.text(span).to_owned() }, None, span)
                    }
                },
                Index::In(name, first, last) => (self.dimension(name, Some((*first, *last))), Some(name), name.span),
                Index::Range(first, last) => {
                    let span = self.input.span_of(*first).to(self.input.span_of(*last));
                    let range = Some(self.extent_range(*first, *last));
                    (Dimension { index: None, range, name: self.input.text(span).to_owned() }, None, span)
                }
            };
            let text = name.map_or_else(|| dimension.name.clone(), |n| n.name.clone());
            let local = self.local(text, dimension.clone(), span);
            if let Some(name) = name {
                self.refuse_second(scope, name);
                scope = self.bind(scope, &name.name, local);
            }
            indexed.axes.push(dimension);
            indexed.locals.push(local);
        }
        (indexed, scope)
    }

    /// The same indices under the names of another statement: `state u[i] = 0, u[j]' = 0`.
    pub(super) fn rebind(&mut self, indices: &'a [Index], indexed: &Indexed) -> Scope {
        let mut scope = None;
        for (index, &local) in indices.iter().zip(&indexed.locals) {
            let name = match index {
                Index::At(e) => self.input.plain_name(*e),
                Index::In(name, ..) => Some(name),
                Index::Range(..) => None,
            };
            if let Some(name) = name {
                self.index_set(name);
                scope = self.bind(scope, &name.name, local);
            }
        }
        scope
    }

    /// The elements that a statement is for, and the scope that binds its indices.
    pub(super) fn places(&mut self, indices: &'a [Index]) -> (Vec<model::Place>, Scope) {
        let mut places = Vec::with_capacity(indices.len());
        let mut scope = None;
        for index in indices {
            places.push(match index {
                Index::At(e) => match self.input.plain_name(*e) {
                    Some(name) if !self.is_number_name(&name.name) => {
                        let dimension = self.dimension(name, None);
                        self.refuse_second(scope, name);
                        let local = self.local(name.name.clone(), dimension, name.span);
                        scope = self.bind(scope, &name.name, local);
                        model::Place::Each(local)
                    }
                    _ => model::Place::At(self.fixed_index(*e)),
                },
                Index::In(name, first, last) => {
                    let dimension = self.dimension(name, Some((*first, *last)));
                    self.refuse_second(scope, name);
                    let local = self.local(name.name.clone(), dimension, name.span);
                    scope = self.bind(scope, &name.name, local);
                    model::Place::Each(local)
                }
                Index::Range(first, last) => {
                    let span = self.input.span_of(*first).to(self.input.span_of(*last));
                    let range = Some(self.extent_range(*first, *last));
                    let name = self.input.text(span).to_owned();
                    let local = self.local(name.clone(), Dimension { index: None, range, name }, span);
                    model::Place::Each(local)
                }
            });
        }
        (places, scope)
    }

    /// A constant index on a left-hand side. `u[i+1]' = ...` is not one.
    fn fixed_index(&mut self, e: ExprId) -> Body {
        let moved = self.input.nodes_of(e).into_iter().find_map(|id| {
            let name = self.input.plain_name(id)?;
            matches!(self.model.symbols.get(&name.name), Some(Symbol::Index(_))).then_some(name)
        });
        if let Some(name) = moved {
            let span = self.input.span_of(e);
            let headline = "a left side needs plain indices or fixed numbers".to_owned();
            let report = error(&codes::E0514, headline, span, "");
            self.say(report.help(format!(
                "write `[{}]` here and shift the subscripts on the right side; for some elements only, write `[{} in \
                 2..5]`",
                name.name, name.name
            )));
            return self.number_body(0.0, span);
        }
        self.extent(e)
    }

    fn is_number_name(&self, name: &str) -> bool {
        matches!(self.model.symbols.get(name), Some(symbol) if !matches!(symbol, Symbol::Index(_)))
    }

    fn refuse_second(&mut self, scope: Scope, name: &Ident) {
        let Some(first) = self.bound(scope, &name.name) else { return };
        let first = self.model.locals[first].span;
        let headline = format!("the index `{}` occurs twice on one left side", name.name);
        let report = error(&codes::E0512, headline, name.span, "again here").label(first, "first here");
        self.say(report.help(format!(
            "declare a second index over the same range, `index {}, j = ...`; one diagonal alone cannot have an \
             equation",
            name.name
        )));
    }

    fn sizes_in_brackets(&mut self, e: ExprId) {
        let span = self.input.span_of(e);
        let text = self.input.text(span);
        let report = error(&codes::E0514, "brackets contain indices, not sizes", span, "not an index");
        // `flux[i+1/2]`
        if text.contains('/') {
            self.say(report.help(
                "an index is a whole number: write `[i]` for the value between `i` and `i+1`, with a range on the left \
                 side, `[i in 0..N]`",
            ));
            return;
        }
        self.say(
            report.help(format!("declare an index, `index i = 1..{text}`, and write `[i]`; or write `[1..{text}]`")),
        );
    }

    /// The two ends of a range.
    pub(super) fn extent_range(&mut self, first: ExprId, last: ExprId) -> (Body, Body) {
        (self.extent(first), self.extent(last))
    }

    /// A range after a mistake.
    pub(super) fn number_range(&mut self, span: Span) -> (Body, Body) {
        (self.number_body(1.0, span), self.number_body(1.0, span))
    }

    /// An integer expression of numbers and constants: its value is known when the model is compiled.
    pub(super) fn extent(&mut self, e: ExprId) -> Body {
        if let Some(&known) = self.functions.ranges.get(&e) {
            return known;
        }
        self.within_scope(None, |b| b.body(e, Allowed::Extent))
    }

    /// Reports an index in a formula that nothing binds.
    pub(super) fn free_index(&mut self, name: &str, span: Span) {
        let key = (self.scopes.statement, name.to_owned());
        self.free.entry(key).or_default().push(span);
    }

    /// The quantity that an event action changes, if this location is in its target.
    fn target_at(&self, place: Span) -> Option<&'a str> {
        let events = self.input.tree.statements.iter().filter_map(|s| match &s.kind {
            StatementKind::Event(event) => Some(event),
            _ => None,
        });
        events.flat_map(|event| &event.actions).find_map(|action| match action {
            EventAction::Change(target, ..) if target.span.start <= place.start && place.end <= target.span.end => {
                Some(target.name.name.as_str())
            }
            _ => None,
        })
    }

    /// Reports them, once for each statement.
    pub(super) fn report_free(&mut self) {
        for ((_, name), spans) in std::mem::take(&mut self.free) {
            let set = match self.model.symbols.get(&name) {
                Some(&Symbol::Index(i)) => self.model.index_sets.get(i).map(|s| s.span),
                _ => None,
            };
            let headline = format!("`{name}` is ambiguous here");
            let mut report = error(&codes::E0511, headline, spans[0], "an unbound index");
            for &span in spans[1..].iter().take(3) {
                report = report.label(span, "and here");
            }
            if let Some(set) = set {
                report = report.label(set, "the index");
            }
            self.say(report.help(match self.target_at(spans[0]) {
                Some(target) => format!(
                    "write a plain index in a target: `{target}[{name}] := ...` for every `{name}`, or \
                     `{target}[{name} in 1..2] := ...` for some"
                ),
                None => format!(
                    "write `[{name}]` on the left side to mean every `{name}`, or reduce over it: `sum({name}: ...)`"
                ),
            }));
        }
    }
}
