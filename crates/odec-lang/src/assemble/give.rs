//! The parameters that a `use` block gives to a part: some remain parameters, others vary and become definitions.

use super::interface::{Interface, MemberKind};
use super::volumes::{self, is_steady};
use super::{Instance, PassedParameter, reports};
use crate::diagnostic::Diagnostic;
use crate::syntax::tree::{ExprId, ExprKind, Ident, Tree, UsedPart, WrittenValue};
use crate::words::MATHEMATICAL;

/// Records the values in the block of a `use`. `own` has the names of the file that contains the `use`.
pub(super) fn parameters(
    instance: &mut Instance,
    used: &UsedPart,
    own: &Interface,
    tree: &Tree,
    said: &mut Vec<Diagnostic>,
) {
    for entry in &used.entries {
        let WrittenValue::Expr(value) = entry.value else { continue };
        let found = instance.flat.interface.find(&entry.key.name);
        let Some((name, member)) = found.filter(|(_, member)| member.kind.is_given()) else {
            let kind = found.map(|(_, member)| (member.kind, member.span));
            said.push(reports::no_parameter(used, entry, kind, &instance.flat.interface));
            continue;
        };
        if member.rank > 0 || !entry.indices.is_empty() || entry.primes > 0 {
            said.push(reports::given_array(used, entry, member));
            continue;
        }
        if let Some(first) = instance.given.iter().find(|given| given.name == name) {
            said.push(reports::given_twice(entry, first.span));
            continue;
        }
        if member.kind == MemberKind::Constant
            && let Some(index) = index_in(tree, own, value)
        {
            said.push(reports::given_size(entry, &index));
            continue;
        }
        let input = (member.kind == MemberKind::Input).then(|| input_of(tree, own, value)).flatten();
        let varies = match member.kind {
            MemberKind::Constant => false,
            MemberKind::Input => input.is_none(),
            _ => !is_constant(tree, own, value),
        };
        let name = name.to_owned();
        if varies
            && !is_steady(tree, own, value)
            && let Some(species) = volumes::of(&instance.flat.tree, &name)
        {
            said.push(reports::given_volume(entry, tree.exprs[value.0 as usize].span, &species));
            continue;
        }
        instance.given.push(PassedParameter { name: name.clone(), value, varies, input, span: entry.key.span });
        if varies {
            instance.interface.becomes(&name, MemberKind::Definition);
        }
    }
}

/// The input of this file, if the value is only its name.
fn input_of(tree: &Tree, own: &Interface, value: ExprId) -> Option<String> {
    let name = super::resolve::plain_name(tree, value)?;
    own.get(&name.name).filter(|member| member.kind == MemberKind::Input).map(|_| name.name)
}

/// The first index of this file in a value.
fn index_in(tree: &Tree, own: &Interface, value: ExprId) -> Option<Ident> {
    tree.nodes_of(value).iter().find_map(|id| {
        let name = super::resolve::plain_name(tree, *id)?;
        own.get(&name.name).filter(|member| member.kind == MemberKind::Index).map(|_| name)
    })
}

/// True if the value consists of numbers and constants, so that it can be the default of a parameter.
fn is_constant(tree: &Tree, own: &Interface, value: ExprId) -> bool {
    tree.nodes_of(value).iter().all(|id| match &tree.exprs[id.0 as usize].kind {
        ExprKind::Name(r) => match own.get(&r.name.name) {
            Some(member) => member.kind == MemberKind::Constant && r.path.is_empty(),
            None => r.path.is_empty() && MATHEMATICAL.iter().any(|(name, _)| *name == r.name.name),
        },
        ExprKind::Call(name, _) => own.get(&name.name).is_none() && !name.name.contains('.'),
        ExprKind::Reduce(..) => false,
        _ => true,
    })
}
