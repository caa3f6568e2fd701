//! The bindings of indices: by the left-hand side of a statement, or by a reduction around an expression.

use std::collections::HashMap;

use odec_ir::Span;

use super::{Allowed, Resolver, Use, UseKind};
use crate::diagnostic::codes;
use crate::model::{Dimension, Local, Symbol};
use crate::report::error;
use crate::syntax::tree::{ExprId, ExprKind, Ident};

/// A link of a chain of bound names; the search begins at the innermost.
#[derive(Clone, Copy)]
struct Link<'a> {
    parent: Scope,
    name: &'a str,
    local: usize,
}

/// A position in the chains of [`Scopes`].
pub(super) type Scope = Option<u32>;

/// All chains, and the current position of the builder.
#[derive(Default)]
pub(super) struct Scopes<'a> {
    links: Vec<Link<'a>>,
    /// The names that the current statement binds.
    pub base: Scope,
    /// The names that are bound around the current expression.
    pub here: Scope,
    /// The current statement, so that a mistake is reported once per statement.
    pub statement: u32,
    count: u32,
    /// Source locations at which the current left-hand side restricts an index: `m*u[i in 2..N]''`.
    pub restricted: Vec<Span>,
    /// Indices that the reductions of the current expression bind.
    pub reductions: HashMap<ExprId, Vec<usize>>,
}

impl<'a> Resolver<'a> {
    /// The local that a name is bound to.
    pub(super) fn bound(&self, scope: Scope, name: &str) -> Option<usize> {
        let mut at = scope;
        while let Some(i) = at {
            let link = self.scopes.links[i as usize];
            if link.name == name {
                return Some(link.local);
            }
            at = link.parent;
        }
        None
    }

    /// The chain with one more name.
    #[expect(clippy::unnecessary_wraps, reason = "a chain of names; the empty one is `None`")]
    pub(super) fn bind(&mut self, parent: Scope, name: &'a str, local: usize) -> Scope {
        self.scopes.links.push(Link { parent, name, local });
        Some(self.scopes.links.len() as u32 - 1)
    }

    /// Runs something inside a statement that binds these indices.
    pub(super) fn within_scope<T>(&mut self, scope: Scope, run: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.scopes.base, scope);
        self.scopes.here = scope;
        self.scopes.count += 1;
        let statement = std::mem::replace(&mut self.scopes.statement, self.scopes.count);
        let result = run(self);
        self.scopes.base = before;
        self.scopes.here = before;
        self.scopes.statement = statement;
        result
    }

    /// A new local.
    pub(super) fn local(&mut self, name: String, range: Dimension, span: Span) -> usize {
        self.model.locals.push(Local { name, range, span });
        self.model.locals.len() - 1
    }

    /// The index set with this name; reports another kind of name, or an unknown one.
    pub(super) fn index_set(&mut self, name: &Ident) -> Option<usize> {
        match self.model.symbols.get(&name.name).copied() {
            Some(Symbol::Index(i)) => {
                self.uses.mark(Symbol::Index(i));
                Some(i)
            }
            Some(symbol) => {
                self.no_index(name, symbol);
                None
            }
            None => {
                self.note_undeclared(&name.name, Use { span: name.span, kind: UseKind::Index });
                None
            }
        }
    }

    fn no_index(&mut self, name: &Ident, symbol: Symbol) {
        // a size in brackets was answered as such
        if self.reports.list().iter().any(|d| d.code == &codes::E0514 && d.labels.iter().any(|l| l.span == name.span)) {
            return;
        }
        let kind = crate::model::Model::kind_of(symbol);
        let mut report =
            error(&codes::E0512, format!("`{}` is {kind}, not an index", name.name), name.span, "bound here");
        if let Some(&declared) = self.names.declared.get(&name.name) {
            report = report.label(declared, "declared here");
        }
        self.say(report.help("give the index its own name: every name has one meaning"));
    }

    /// The nodes of an expression, operands first, each with its enclosing bindings. Creates the locals of
    /// reductions, and the terms of their ranges.
    pub(super) fn scoped_nodes(&mut self, expr: ExprId, place: Allowed<'a>) -> Vec<(ExprId, Scope)> {
        let tree = self.input.tree;
        let mut nodes = Vec::new();
        let mut open = vec![(expr, self.scopes.base)];
        while let Some((id, scope)) = open.pop() {
            nodes.push((id, scope));
            match &tree.exprs[id.0 as usize].kind {
                ExprKind::Number(_) | ExprKind::Text(_) => {}
                ExprKind::Name(r) => {
                    open.extend(r.indices.iter().flat_map(crate::syntax::tree::Index::parts).map(|e| (e, scope)));
                }
                ExprKind::Quantity(a, _) | ExprKind::Neg(a) | ExprKind::Not(a) => open.push((*a, scope)),
                ExprKind::Binary(_, _, a, b) => open.extend([(*a, scope), (*b, scope)]),
                ExprKind::If(a, b, c) => open.extend([(*a, scope), (*b, scope), (*c, scope)]),
                ExprKind::Comparison(list, _)
                | ExprKind::Call(_, list)
                | ExprKind::Tuple(list)
                | ExprKind::Table(list) => open.extend(list.iter().map(|&e| (e, scope))),
                ExprKind::Reduce(_, binders, condition, body) => {
                    let inside = self.reduction_scope(id, binders, scope, place);
                    open.extend(condition.iter().map(|&c| (c, inside)));
                    open.push((*body, inside));
                }
            }
        }
        nodes.sort_unstable_by_key(|n| n.0);
        nodes.dedup_by_key(|n| n.0);
        nodes
    }

    fn reduction_scope(
        &mut self,
        id: ExprId,
        binders: &'a [(Ident, Option<(ExprId, ExprId)>)],
        outside: Scope,
        place: Allowed<'a>,
    ) -> Scope {
        let mut scope = outside;
        let mut locals = Vec::with_capacity(binders.len());
        for (name, range) in binders {
            if let Some(other) = self.bound(scope, &name.name) {
                let first = self.model.locals[other].span;
                let headline = format!("the index `{}` is bound twice", name.name);
                let report =
                    error(&codes::E0512, headline, name.span, "bound again here").label(first, "first bound here");
                let example = self.free_index_name(scope, &name.name);
                self.say(
                    report.help(format!(
                        "rename one of them: `index {}, {example} = ...`, and `{example}` here",
                        name.name
                    )),
                );
            }
            if let Some(argument) = self.is_argument(place, &name.name) {
                let headline = format!("`{}` is an argument of the function, not an index", name.name);
                let report =
                    error(&codes::E0512, headline, name.span, "bound here").label(argument.span, "the argument");
                self.say(report.help("give the index its own name"));
            }
            let dimension = self.dimension(name, *range);
            let local = self.local(name.name.clone(), dimension, name.span);
            locals.push(local);
            scope = self.bind(scope, &name.name, local);
        }
        self.scopes.reductions.insert(id, locals);
        scope
    }

    /// The range of a bound name: an index set, or an explicit range.
    pub(super) fn dimension(&mut self, name: &'a Ident, range: Option<(ExprId, ExprId)>) -> Dimension {
        let index = match (self.model.symbols.get(&name.name).copied(), range) {
            (Some(Symbol::Index(_)), _) | (_, None) => self.index_set(name),
            (Some(symbol), Some(_)) => {
                self.no_index(name, symbol);
                None
            }
            (None, Some(_)) => None,
        };
        let range = range.map(|(first, last)| self.extent_range(first, last));
        // After a mistake, continue with a range by numbers.
        let range = range.or_else(|| index.is_none().then(|| self.number_range(name.span)));
        Dimension { index, range, name: name.name.clone() }
    }

    /// A name for a second index, not used yet.
    fn free_index_name(&self, scope: Scope, name: &str) -> String {
        let letters = "ijklmnpqr";
        let next = letters.chars().map(|c| c.to_string()).find(|c| {
            c != name
                && self.bound(scope, c).is_none()
                && matches!(self.model.symbols.get(c), None | Some(Symbol::Index(_)))
        });
        next.unwrap_or_else(|| format!("{name}2"))
    }
}
