//! Messages about parameters whose values read other quantities: a parameter is constant.

use std::collections::HashSet;

use odec_ir::Span;

use super::Resolver;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Model, Symbol};
use crate::report::error;
use crate::syntax::tree::{Declared, ExprId, ExprKind, Ident, Reference, StatementKind};

impl<'a> Resolver<'a> {
    /// A parameter whose value reads this quantity. A definition may replace it only if that one is constant, too:
    /// `param x0 = x` means the initial value of x, and `x0 = x` changes with x.
    pub(super) fn not_a_default(&self, parameter: &Ident, reference: &Reference, symbol: Symbol) -> Option<Diagnostic> {
        let (of, name) = (&parameter.name, &reference.name.name);
        let item = self.parameter_item(parameter.span);
        let value = item.and_then(|item| item.value);
        // one message for a value that reads several quantities
        if value.and_then(|value| self.cause(value)).is_some_and(|span| span != reference.name.span) {
            return None;
        }
        let headline = format!("the default of the parameter `{of}` depends on `{name}`");
        let report = error(&codes::E0210, headline, reference.span, format!("`{name}` is {}", Model::kind_of(symbol)));
        let report = report.label(parameter.span, "this parameter");
        let mut seen = HashSet::new();
        let constant = value.is_some_and(|value| !self.varies(value, &mut seen)) && symbol != Symbol::Time;
        if constant {
            return Some(match self.drop_param(parameter) {
                Some(span) => report
                    .help(format!(
                        "to compute it from other values, make it a definition: remove the word, `{of} = ...`"
                    ))
                    .fix(span, ""),
                None => report.help(format!(
                    "to compute it from other values, write a definition on its own line without `param`: `{of} = ...`"
                )),
            });
        }
        let text = value.map_or("...", |value| self.input.text(self.input.span_of(value)));
        let text = if text.contains('\n') { "..." } else { text };
        let changing = format!("for a quantity that changes, write a definition without `param`: `{of} = {text}`");
        let start = self.declared_start(reference).filter(|_| text == name);
        Some(report.help(match start {
            Some(start) => format!(
                "a parameter is constant: for the initial value of `{name}`, repeat it, `param {of} = {start}`; {changing}"
            ),
            None => format!("a parameter is constant; {changing}"),
        }))
    }

    /// The name that the message about a value is about: the first that changes with time, or else the first that is
    /// not a constant.
    fn cause(&self, value: ExprId) -> Option<Span> {
        let mut names: Vec<(bool, Span)> = Vec::new();
        for at in self.input.tree.nodes_of(value) {
            let ExprKind::Name(read) = &self.input.tree.exprs[at.0 as usize].kind else { continue };
            match self.model.symbols.get(&read.name.name) {
                None | Some(Symbol::Constant(_) | Symbol::Index(_)) => {}
                Some(_) => {
                    let varies = self.name_varies(&read.name.name, &mut HashSet::new());
                    names.push((!varies, read.name.span));
                }
            }
        }
        names.into_iter().min().map(|(_, span)| span)
    }

    fn parameter_item(&self, place: Span) -> Option<&'a Declared> {
        self.input.tree.statements.iter().find_map(|statement| match &statement.kind {
            StatementKind::Param(items) => items.iter().find(|item| item.target.name.span == place),
            _ => None,
        })
    }

    /// The initial value of a state, as its declaration has it.
    fn declared_start(&self, of: &Reference) -> Option<&'a str> {
        let items = self.input.tree.statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::State(items) => Some(items),
            _ => None,
        });
        let same = |item: &&Declared| item.target.name.name == of.name.name && item.target.primes == of.primes;
        let value = items.flatten().filter(same).find_map(|item| item.value)?;
        Some(self.input.text(self.input.span_of(value)))
    }

    /// True if an expression can change with time: it reads a state, the time, an input, or a definition that does.
    fn varies(&self, value: ExprId, seen: &mut HashSet<&'a str>) -> bool {
        self.input.tree.nodes_of(value).into_iter().any(|at| match &self.input.tree.exprs[at.0 as usize].kind {
            ExprKind::Name(read) => self.name_varies(&read.name.name, seen),
            ExprKind::Call(name, _) => self.names.inputs.contains_key(&name.name),
            _ => false,
        })
    }

    fn name_varies(&self, name: &'a str, seen: &mut HashSet<&'a str>) -> bool {
        match self.model.symbols.get(name) {
            Some(Symbol::Time | Symbol::State(_) | Symbol::Discrete(_)) => true,
            Some(Symbol::Definition(_)) if seen.insert(name) => {
                let values = self.input.tree.statements.iter().filter_map(|statement| match &statement.kind {
                    StatementKind::Equation { lhs, rhs, .. } => {
                        let left = &self.input.tree.exprs[lhs.0 as usize].kind;
                        matches!(left, ExprKind::Name(of) if of.name.name == name).then_some(*rhs)
                    }
                    _ => None,
                });
                values.into_iter().any(|value| self.varies(value, seen))
            }
            _ => false,
        }
    }

    /// The word `param` with the blank after it, if this parameter stands alone in its statement and has no bounds.
    fn drop_param(&self, parameter: &Ident) -> Option<Span> {
        let statement = self.input.tree.statements.iter().find(|s| match &s.kind {
            StatementKind::Param(items) => matches!(&items[..], [only] if only.target.name.span == parameter.span
                && only.bounds.is_none()
                && only.unit.is_none()),
            _ => false,
        })?;
        Some(Span { end: parameter.span.start, ..statement.span })
    }
}
