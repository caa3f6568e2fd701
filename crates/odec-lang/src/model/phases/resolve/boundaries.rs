//! The values of arrays beyond their index sets, and definitions in pieces.

use crate::diagnostic::codes;
use odec_ir::nest::Edge;

use super::{Allowed, Resolver, Use, UseKind};
use crate::model::phases::names::DefinitionItem;
use crate::model::phases::shapes::{Dim, offset};
use crate::model::{self, Body, Indexed, Model, Piece, Symbol, TermId, TermKind};
use crate::report::error;
use crate::syntax::tree::{BoundaryItem, ExprId, Ident, Index, Reference};

impl<'a> Resolver<'a> {
    pub(super) fn resolve_boundary(&mut self, item: &'a BoundaryItem) {
        match item {
            BoundaryItem::Value(targets, value) => {
                for target in targets {
                    self.boundary_value(target, *value);
                }
            }
            BoundaryItem::Periodic(name) => self.edge_rule(name, Edge::Periodic),
            BoundaryItem::Clamp(name) => self.edge_rule(name, Edge::Clamp),
        }
    }

    fn edge_rule(&mut self, name: &'a Ident, edge: Edge) {
        let Some(index) = self.index_set(name) else { return };
        if let Some(first) = self.model.edges.iter().find(|e| e.index == index).map(|e| e.span) {
            let headline = format!("the ends of `{}` are set twice", name.name);
            let report = error(&codes::E0523, headline, name.span, "again here").label(first, "first here");
            self.say(report.help("keep one: `periodic` joins the ends, `clamp` repeats the last element"));
            return;
        }
        self.model.edges.push(model::EdgeRule { index, edge, span: name.span });
    }

    fn boundary_value(&mut self, target: &'a Reference, value: ExprId) {
        let name = target.name.name.as_str();
        let (place, scope) = self.places(&target.indices);
        let symbol = match self.model.symbols.get(name).copied() {
            Some(symbol @ (Symbol::State(_) | Symbol::Definition(_))) => symbol,
            Some(symbol) => {
                let headline = format!("`{name}` is {}, so it has no boundary", Model::kind_of(symbol));
                let mut report = error(&codes::E0524, headline, target.span, "");
                if let Some(&declared) = self.names.declared.get(name) {
                    report = report.label(declared, "declared here");
                }
                self.say(report.help("set boundaries of states and definitions over an index: `boundary u[0] = 1`"));
                return;
            }
            None => {
                self.note_undeclared(name, Use { span: target.name.span, kind: UseKind::Value });
                return;
            }
        };
        if target.primes > 0 && !matches!(symbol, Symbol::State(_)) {
            self.prime_without_state(name, symbol, target.span);
            return;
        }
        let rank = self.names.ranks.get(name).copied().unwrap_or(0);
        if rank == 0 {
            let headline = format!("`{name}` is a single value, so it has no boundary");
            let mut report = error(&codes::E0524, headline, target.span, "");
            if let Some(&declared) = self.names.declared.get(name) {
                report = report.label(declared, "declared here");
            }
            self.say(report.help(format!("declare it over an index, `{name}[i] = ...`, or remove this line")));
            return;
        }
        if rank != target.indices.len() {
            self.wrong_rank(target, rank);
            return;
        }
        let dim = self.shapes.dim(name);
        let Some(which) = self.which_component(target, dim) else { return };
        let dim = if which.is_some() { 0 } else { dim };
        let bodies = self.within_scope(scope, |b| b.bodies(value, Allowed::Anywhere, dim));
        for (c, value) in bodies.into_iter().enumerate() {
            self.model.boundaries.push(model::Boundary {
                array: offset(symbol, which.unwrap_or(0) + c),
                order: target.primes,
                place: place.clone(),
                value,
                span: target.span,
            });
        }
    }

    /// `v[1] = a`, `v[i in 2..N] = b`: one value, chosen by conditions on the indices.
    pub(super) fn pieces(&mut self, d: &DefinitionItem<'a>, dim: Dim) -> (Indexed, Vec<Body>) {
        let mut all: Vec<(&'a [Index], ExprId, odec_ir::Span)> = vec![(d.indices, d.value, d.span)];
        all.extend(d.pieces.iter().copied());
        let (indexed, ()) = self.axes_of_pieces(&all);
        let first = self.model.definitions.len();
        let mut parts: Vec<(Vec<model::Place>, Vec<Body>)> = Vec::new();
        for &(indices, value, span) in &all {
            let (place, _) = self.places(indices);
            let scope = self.bind_axes(indices, &indexed);
            let bodies = self.within_scope(scope, |b| b.bodies(value, Allowed::Anywhere, dim));
            for c in 0..usize::from(dim.max(1)) {
                self.model.pieces.push(Piece { definition: first + c, place: place.clone(), span });
            }
            parts.push((place, bodies));
        }
        let mut values = Vec::new();
        for c in 0..usize::from(dim.max(1)) {
            let start = self.model.terms.len() as u32;
            let mut chain: Option<TermId> = None;
            for (place, bodies) in parts.iter().rev() {
                let value = self.copy(bodies[c]);
                chain = Some(match chain {
                    None => value,
                    Some(rest) => match self.place_condition(place, &indexed) {
                        Some(condition) => {
                            let span = self.model.term(value).span;
                            self.apply("if", &[condition, value, rest], span)
                        }
                        None => value,
                    },
                });
            }
            let root = chain.unwrap_or(TermId(start));
            values.push(Body { start, end: self.model.terms.len() as u32, root });
        }
        (indexed, values)
    }

    /// Axes of an array in pieces: along each axis, the index set that one of them names.
    fn axes_of_pieces(&mut self, all: &[(&'a [Index], ExprId, odec_ir::Span)]) -> (Indexed, ()) {
        let mut indexed = Indexed::default();
        let rank = all.first().map_or(0, |p| p.0.len());
        for k in 0..rank {
            let named = all.iter().find_map(|(indices, ..)| match indices.get(k)? {
                Index::At(e) => self.input.plain_name(*e).filter(|n| self.is_index(&n.name)),
                Index::In(name, ..) => Some(name).filter(|n| self.is_index(&n.name)),
                Index::Range(..) => None,
            });
            let span = all[0].2;
            let (dimension, name) = if let Some(name) = named {
                (self.dimension(name, None), name.name.clone())
            } else {
                let report = error(&codes::E0514, "no part of this definition names an index set", span, "");
                self.say(
                    report.help("name one of them over a declared index: `v[i in 2..N] = ...` with `index i = 1..N`"),
                );
                let range = Some(self.number_range(span));
                (model::Dimension { index: None, range, name: "1".to_owned() }, "1".to_owned())
            };
            let local = self.local(name, dimension.clone(), span);
            indexed.axes.push(dimension);
            indexed.locals.push(local);
        }
        (indexed, ())
    }

    pub(super) fn is_index(&self, name: &str) -> bool {
        matches!(self.model.symbols.get(name), Some(Symbol::Index(_)))
    }

    fn bind_axes(&mut self, indices: &'a [Index], indexed: &Indexed) -> super::scope::Scope {
        let mut scope = None;
        for (index, &local) in indices.iter().zip(&indexed.locals) {
            let name = match index {
                Index::At(e) => self.input.plain_name(*e).filter(|n| self.is_index(&n.name)),
                Index::In(name, ..) => Some(name),
                Index::Range(..) => None,
            };
            if let Some(name) = name {
                scope = self.bind(scope, &name.name, local);
            }
        }
        scope
    }

    /// The condition on the indices of an array for a place; `None` if it is the whole array.
    fn place_condition(&mut self, place: &[model::Place], indexed: &Indexed) -> Option<TermId> {
        let mut condition: Option<TermId> = None;
        for (p, &local) in place.iter().zip(&indexed.locals) {
            let mut tests = Vec::new();
            match p {
                model::Place::At(at) => {
                    let span = self.model.span(*at);
                    let at = self.copy(*at);
                    let index = self.push(TermKind::Index(local), span);
                    tests.push(self.apply("eq", &[index, at], span));
                }
                model::Place::Each(each) => {
                    if let Some((first, last)) = self.model.locals[*each].range.range {
                        let span = self.model.span(first).to(self.model.span(last));
                        let (first, last) = (self.copy(first), self.copy(last));
                        let index = self.push(TermKind::Index(local), span);
                        tests.push(self.apply("le", &[first, index], span));
                        tests.push(self.apply("le", &[index, last], span));
                    }
                }
            }
            for test in tests {
                condition = Some(match condition {
                    None => test,
                    Some(before) => {
                        let span = self.model.term(test).span;
                        self.apply("and", &[before, test], span)
                    }
                });
            }
        }
        condition
    }
}
