//! Turns parts into lines of the listing and terms of the model.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use odec_ir::Span;

use super::{At, BoundIndex, ExprRef, MAX_NODES, Part, Parts, one_line};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::phases::map_operands;
use crate::model::walk::operands;
use crate::model::{Body, Indexed, Model, Place, Symbol, Term, TermId, TermKind};
use crate::report::error;

impl Parts {
    /// The terms of an expression, as a separate body. `over` are the indices that it may use besides those that its
    /// reductions bind.
    pub(super) fn body(&mut self, root: ExprRef, over: &[BoundIndex], origin: &str) -> Body {
        let mut needed = BTreeSet::new();
        let mut open = vec![TermId(root.0)];
        while let Some(id) = open.pop() {
            if needed.insert(id) {
                operands(&self.nodes[id.index()], |o| open.push(o));
            }
        }
        if self.model.terms.len() + needed.len() > MAX_NODES {
            let headline = format!("the expressions have more than {MAX_NODES} nodes, at {}", one_line(origin));
            self.reports.push(Diagnostic::error(&codes::E0509, headline).help("divide the model"));
            return self.single(TermKind::Number(0.0), Span::default());
        }
        let start = self.model.terms.len() as u32;
        let place = |id: TermId, all: &[TermId]| match all.binary_search(&id) {
            Ok(at) => TermId(start + at as u32),
            Err(_) => odec_ir::broken("an operand of a copied expression was not copied"),
        };
        let all: Vec<TermId> = needed.into_iter().collect();
        for &id in &all {
            let mut kind = self.nodes[id.index()].clone();
            map_operands(&mut kind, |o| place(o, &all));
            self.model.terms.push(Term { kind, span: Span::default() });
        }
        let body = Body { start, end: self.model.terms.len() as u32, root: place(TermId(root.0), &all) };
        self.refuse_free(body, over, origin);
        body
    }

    /// Refuses indices that nothing binds.
    pub(super) fn refuse_free(&mut self, body: Body, over: &[BoundIndex], origin: &str) {
        let mut open = vec![(body.root, over.iter().map(|b| b.0).collect::<Vec<usize>>())];
        let mut seen = HashSet::new();
        while let Some((id, bound)) = open.pop() {
            if !seen.insert((id, bound.clone())) {
                continue;
            }
            match &self.model.term(id).kind {
                TermKind::Index(local) if !bound.contains(local) => {
                    let name = &self.model.locals[*local].name;
                    let headline = format!("`{name}` is ambiguous, at {}", one_line(origin));
                    let help = "declare the part over this index, or reduce over it";
                    self.reports.push(Diagnostic::error(&codes::E0511, headline).help(help));
                    return;
                }
                TermKind::Reduce { locals, .. } => {
                    let inner: Vec<usize> = bound.iter().chain(locals).copied().collect();
                    operands(&self.model.term(id).kind, |o| open.push((o, inner.clone())));
                }
                kind => operands(kind, |o| open.push((o, bound.clone()))),
            }
        }
    }

    pub(super) fn single(&mut self, kind: TermKind, span: Span) -> Body {
        let start = self.model.terms.len() as u32;
        self.model.terms.push(Term { kind, span });
        Body { start, end: start + 1, root: TermId(start) }
    }

    /// Adds a line to the listing; the terms of the body get their locations in it. Returns the line without its label.
    pub(super) fn line(&mut self, head: &str, body: Option<Body>, tail: &str, origin: &str) -> Span {
        let start = self.text.len();
        self.text.push_str(head);
        if let Some(body) = body {
            self.spell(body);
        }
        self.text.push_str(tail);
        let span = Span::new(start, self.text.len());
        self.text.push_str(&format!("  # {}\n", one_line(origin)));
        self.origins.push((Span::new(start, self.text.len()), origin.to_owned()));
        span
    }

    pub(super) fn spell(&mut self, body: Body) {
        let mut places = Vec::new();
        self.model.spell(&mut self.text, body.root, &[], &mut |id, range| places.push((id, range)));
        for (id, range) in places {
            self.model.terms[id.index()].span = Span::new(range.start, range.end);
        }
    }

    /// Adds a line with a range; returns the location of the name in its head.
    pub(super) fn ranged(&mut self, head: &str, first: Body, last: Body, origin: &str, named: Range<usize>) -> Span {
        let start = self.text.len();
        self.text.push_str(head);
        self.spell(first);
        self.text.push_str(" .. ");
        self.spell(last);
        if head.starts_with("run") {
            self.text.push_str(" }");
        }
        self.text.push_str(&format!("  # {}\n", one_line(origin)));
        self.origins.push((Span::new(start, self.text.len()), origin.to_owned()));
        Span::new(start + named.start, start + named.end)
    }

    /// Adds the line that declares a part; returns the location of its name.
    pub(super) fn declare(&mut self, word: &str, part: Part<'_>, value: Option<Body>) -> Span {
        let brackets: Vec<&str> = part.over.iter().map(|b| self.model.locals[b.0].name.as_str()).collect();
        let brackets = if brackets.is_empty() { String::new() } else { format!("[{}]", brackets.join(",")) };
        let before = if word.is_empty() { String::new() } else { format!("{word} ") };
        let equals = if value.is_some() { " = " } else { "" };
        let unit = part.unit.map(|u| format!(" [{u}]")).unwrap_or_default();
        let line = self.line(&format!("{before}{}{brackets}{equals}", part.name), value, &unit, part.origin);
        let start = line.start + before.len() as u32;
        Span { start, end: start + part.name.len() as u32, ..line }
    }

    pub(super) fn enter(&mut self, name: &str, symbol: Symbol, span: Span) {
        if self.model.symbols.insert(name.to_owned(), symbol).is_some() || name.is_empty() {
            let headline = format!("`{name}` is declared twice, or is not a name");
            self.reports.push(error(&codes::E0202, headline, span, "").help("give every part its own name"));
        }
    }

    pub(super) fn indexed(&self, over: &[BoundIndex]) -> Indexed {
        let axes = over.iter().map(|b| self.model.locals[b.0].range.clone()).collect();
        Indexed { axes, locals: over.iter().map(|b| b.0).collect() }
    }

    pub(super) fn places(&mut self, array: Symbol, place: &[At], origin: &str) -> (Vec<Place>, Vec<BoundIndex>) {
        let mut each = Vec::new();
        let mut places = Vec::new();
        for at in place {
            places.push(match at {
                At::Each(bound) => {
                    each.push(*bound);
                    Place::Each(bound.0)
                }
                At::One(value) => Place::At(self.body(*value, &[], origin)),
            });
        }
        let rank = self.model.indexed(array).map_or(0, Indexed::rank);
        if rank != places.len() {
            let headline = format!("`{}` has {rank} indices, at {}", self.model.name_of(array), one_line(origin));
            self.reports.push(Diagnostic::error(&codes::E0513, headline).help("give one place for each index"));
        }
        (places, each)
    }

    pub(super) fn subscripts(&mut self, place: &[Place]) -> Vec<ExprRef> {
        let mut list = Vec::new();
        for at in place {
            list.push(match *at {
                Place::Each(local) => self.index(BoundIndex(local)),
                Place::At(body) => self.again(body),
            });
        }
        list
    }

    /// Nodes for the terms of a body.
    pub(super) fn again(&mut self, body: Body) -> ExprRef {
        let by = self.nodes.len() as u32;
        for i in body.range() {
            let mut kind = self.model.terms[i].kind.clone();
            map_operands(&mut kind, |o| TermId(o.0 - body.start + by));
            self.nodes.push(kind);
        }
        ExprRef(body.root.0 - body.start + by)
    }

    pub(super) fn no_state(&mut self, symbol: Symbol) {
        let headline = format!("`{}` is {}, so it has no equation", self.model.name_of(symbol), Model::kind_of(symbol));
        self.reports.push(Diagnostic::error(&codes::E0302, headline).help("declare a state"));
    }
}
