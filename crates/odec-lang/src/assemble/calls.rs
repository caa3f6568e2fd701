//! Calls of functions of parts in arrays, `c[i].f(x)`. The tree of a part passes the index of the part as the first
//! argument to the functions that need it. Others are the same for all parts.

use std::collections::{BTreeMap, BTreeSet};

use odec_ir::Span;

use super::interface::MemberKind;
use super::{Instance, functions, reports};
use crate::diagnostic::Diagnostic;
use crate::syntax::tree::{ExprId, ExprKind, Ident, StatementKind, Tree};

/// A call as written.
struct Call<'a> {
    /// The name without brackets, from the name of the part on.
    name: String,
    /// The number of indices after the name of the part, and after all names behind it.
    indices: (usize, usize),
    arguments: &'a [ExprId],
    span: Span,
}

impl Call<'_> {
    /// The number of arguments in parentheses.
    fn given(&self) -> usize {
        self.arguments.len() - self.indices.0 - self.indices.1
    }
}

/// Gives each call of a function of a part its plain name, `c.f`, with the indices that the function takes.
pub(super) fn resolve(tree: &mut Tree, instances: &BTreeMap<String, Instance>, said: &mut Vec<Diagnostic>) {
    let mut indexed: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for k in 0..tree.exprs.len() {
        let ExprKind::Call(name, list) = &tree.exprs[k].kind else { continue };
        let Some((first, rest)) = name.name.split_once('.') else { continue };
        let count = |text: &str| text.matches(['[', ',']).count();
        let part = odec_ir::names::plain(first);
        let call = Call {
            name: odec_ir::names::plain(&name.name),
            indices: (count(first), count(rest)),
            arguments: list,
            span: name.span,
        };
        let needed = match instances.get_key_value(&part) {
            Some((part, instance)) => {
                let indexed = indexed.entry(part).or_insert_with(|| functions::indexed(instance, &instance.flat.tree));
                needed(&call, instance, indexed)
            }
            None if call.indices == (0, 0) => continue,
            None => Err(reports::no_part(&part, call.span)),
        };
        tree.exprs[k].kind = match needed {
            Ok(arguments) => ExprKind::Call(Ident { name: call.name, span: call.span }, arguments),
            Err(report) => {
                said.push(report);
                ExprKind::Number(1.0)
            }
        };
    }
}

/// The arguments of a call in the assembled tree.
fn needed(call: &Call<'_>, instance: &Instance, indexed: &BTreeSet<String>) -> Result<Vec<ExprId>, Diagnostic> {
    let (own, inner) = call.indices;
    let typed = call.name.split_once('.').map_or("", |(_, rest)| rest);
    let found = instance.interface.find(typed);
    let Some((name, _)) = found.filter(|(_, member)| member.kind == MemberKind::Function) else {
        // not a function of the part: the name decides what is said
        return Ok(call.arguments[own + inner..].to_vec());
    };
    let Some((declared, hidden)) = arguments_of(&instance.flat.tree, name) else { return Ok(call.arguments.to_vec()) };
    let is_indexed = indexed.contains(name);
    let axes = instance.axes.len();
    if own != axes && (own > 0 || is_indexed) || hidden > 0 && inner != hidden {
        return Err(reports::call_without_index(&call.name, call.span, instance, hidden));
    }
    if call.given() != declared.len() {
        return Err(reports::call_with_other_count((&call.name, call.span), call.given(), &declared, instance));
    }
    let mut arguments = Vec::with_capacity(call.arguments.len());
    if is_indexed {
        arguments.extend(&call.arguments[..own]);
    }
    // functions of parts of the part take the indices of these parts in the same way
    if hidden > 0 {
        arguments.extend(&call.arguments[own..own + inner]);
    }
    arguments.extend(&call.arguments[own + inner..]);
    Ok(arguments)
}

/// The arguments that the text of a function declares, and the number of indices before them.
fn arguments_of<'a>(tree: &'a Tree, function: &str) -> Option<(Vec<&'a Ident>, usize)> {
    tree.statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Function { name, arguments, body } if name.name == function => {
            let body = tree.exprs[body.0 as usize].span;
            let is_declared = |a: &&Ident| name.span.end <= a.span.start && a.span.end <= body.start;
            let declared: Vec<&Ident> = arguments.iter().filter(is_declared).collect();
            let hidden = arguments.len() - declared.len();
            Some((declared, hidden))
        }
        _ => None,
    })
}
