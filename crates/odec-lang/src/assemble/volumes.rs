//! Finds the parameters of a part from which the volume of a non-empty compartment follows. The part treats the volume
//! as constant, so no value that varies with time can be given for them.

use std::collections::{BTreeMap, BTreeSet};

use super::interface::{Interface, MemberKind};
use crate::syntax::tree::{ExprId, ExprKind, Ident, Inside, ReactionCheck, StatementKind, Tree};
use crate::words::MATHEMATICAL;

/// A state of the part, and its compartment, whose volume depends on this name.
pub(super) fn of(tree: &Tree, name: &str) -> Option<(Ident, Ident)> {
    let values = values(tree);
    tree.statements.iter().find_map(|statement| {
        let StatementKind::ReactionCheck(ReactionCheck::Inside(inside)) = &statement.kind else { return None };
        let Inside { species, compartment, volume: None } = inside.as_ref() else { return None };
        let found = reached(tree, &values, [compartment.name.name.as_str()]).contains(name);
        found.then(|| (species.name.clone(), compartment.name.clone()))
    })
}

/// True if a value does not vary with time: it consists of numbers, constants, parameters, and definitions of such.
pub(super) fn is_steady(tree: &Tree, own: &Interface, value: ExprId) -> bool {
    let values = values(tree);
    // a function in the model has only its arguments, and an input depends on time
    let is_input = |name: &str| own.get(name).is_some_and(|member| member.kind == MemberKind::Input);
    let called = |id: ExprId| {
        tree.nodes_of(id).into_iter().any(|id| match &tree.exprs[id.0 as usize].kind {
            ExprKind::Call(name, _) => name.name.contains('.') || is_input(&name.name),
            _ => false,
        })
    };
    let reached = reached(tree, &values, names_in(tree, value));
    let steady = |name: &&str| match own.get(name).map(|member| member.kind) {
        Some(MemberKind::Constant | MemberKind::Parameter | MemberKind::Index) => true,
        Some(MemberKind::Definition) => values.get(name).is_some_and(|value| !called(*value)),
        Some(_) => false,
        None => MATHEMATICAL.iter().any(|(known, _)| known == name),
    };
    !called(value) && reached.iter().all(steady)
}

/// The expression of each name that has one: defaults, definitions and outputs.
fn values(tree: &Tree) -> BTreeMap<&str, ExprId> {
    let mut values = BTreeMap::new();
    for statement in &tree.statements {
        match &statement.kind {
            StatementKind::Param(items)
            | StatementKind::Const(items)
            | StatementKind::Given(items)
            | StatementKind::Output(items) => {
                let own = items.iter().filter_map(|item| Some((item.target.name.name.as_str(), item.value?)));
                values.extend(own);
            }
            StatementKind::Equation { lhs, rhs, .. } => {
                if let ExprKind::Name(left) = &tree.exprs[lhs.0 as usize].kind
                    && left.primes == 0
                {
                    values.insert(&left.name.name, *rhs);
                }
            }
            _ => {}
        }
    }
    values
}

/// All names that these names depend on, including themselves.
fn reached<'a>(
    tree: &'a Tree,
    values: &BTreeMap<&str, ExprId>,
    names: impl IntoIterator<Item = &'a str>,
) -> BTreeSet<&'a str> {
    let mut open: Vec<&str> = names.into_iter().collect();
    let mut found = BTreeSet::new();
    while let Some(name) = open.pop() {
        if found.insert(name)
            && let Some(value) = values.get(name)
        {
            open.extend(names_in(tree, *value));
        }
    }
    found
}

/// The names in an expression; for a name of another part, the name of that part.
fn names_in(tree: &Tree, value: ExprId) -> Vec<&str> {
    let nodes = tree.nodes_of(value);
    let names = nodes.iter().filter_map(|id| match &tree.exprs[id.0 as usize].kind {
        ExprKind::Name(reference) => Some(reference.name.name.as_str()),
        _ => None,
    });
    names.collect()
}
