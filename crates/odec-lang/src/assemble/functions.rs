//! Functions of a part in the model that uses it. Their arguments must not clash with the names that the model passes
//! to the part, and functions that read quantities of an array of parts need its index as an argument.

use std::collections::{BTreeSet, HashMap};

use super::Instance;
use super::copy::{arguments, varies};
use crate::syntax::tree::{ExprId, ExprKind, StatementKind, Tree};

/// Renames arguments that have the name of the model's time or of an index of the array of parts.
pub(super) fn free_arguments(instance: &Instance, part: &mut Tree) {
    let (outer, inner) = &instance.time;
    let mut taken: Vec<&str> = instance.axes.iter().map(|axis| axis.name.as_str()).collect();
    if outer != inner {
        taken.push(outer);
    }
    let bodies = arguments(part);
    let mut renamed: Vec<(ExprId, HashMap<String, String>)> = Vec::new();
    for statement in &mut part.statements {
        let StatementKind::Function { arguments, body, .. } = &mut statement.kind else { continue };
        let mut names = HashMap::new();
        for k in 0..arguments.len() {
            let old = arguments[k].name.clone();
            let mut new = old.clone();
            while taken.contains(&new.as_str()) || (new != old && arguments.iter().any(|other| other.name == new)) {
                new.push('_');
            }
            if new != old {
                arguments[k].name.clone_from(&new);
                names.insert(old, new);
            }
        }
        if !names.is_empty() {
            renamed.push((*body, names));
        }
    }
    for (body, names) in renamed {
        for id in part.nodes_of(body).into_iter().filter(|id| bodies.contains_key(id)) {
            if let ExprKind::Name(r) = &mut part.exprs[id.0 as usize].kind
                && let Some(new) = names.get(&r.name.name)
            {
                r.name.name.clone_from(new);
            }
        }
    }
}

/// The functions of an array of parts that read quantities which differ between parts, directly or through other
/// functions.
pub(super) fn indexed(instance: &Instance, part: &Tree) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = BTreeSet::new();
    if instance.axes.is_empty() {
        return found;
    }
    loop {
        let before = found.len();
        for statement in &part.statements {
            let StatementKind::Function { name, arguments, body } = &statement.kind else { continue };
            let reads = |id: ExprId| match &part.exprs[id.0 as usize].kind {
                ExprKind::Name(r) => arguments.iter().all(|a| a.name != r.name.name) && varies(instance, r),
                ExprKind::Call(called, _) => found.contains(&called.name),
                _ => false,
            };
            if part.nodes_of(*body).into_iter().any(reads) {
                found.insert(name.name.clone());
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// The calls of these functions.
pub(super) fn calls(part: &Tree, functions: &BTreeSet<String>) -> Vec<usize> {
    let called = |k: &usize| matches!(&part.exprs[*k].kind, ExprKind::Call(name, _) if functions.contains(&name.name));
    (0..part.exprs.len()).filter(called).collect()
}

/// Inserts the indices before the arguments of these functions and of their calls. The index expressions begin at
/// `spare`.
pub(super) fn pass_indices(
    instance: &Instance,
    part: &mut Tree,
    (functions, calls): (&BTreeSet<String>, &[usize]),
    mut spare: u32,
) {
    let count = instance.axes.len() as u32;
    for &call in calls {
        if let ExprKind::Call(_, list) = &mut part.exprs[call].kind {
            list.splice(..0, (spare..spare + count).map(ExprId));
            spare += count;
        }
    }
    for statement in &mut part.statements {
        if let StatementKind::Function { name, arguments, .. } = &mut statement.kind
            && functions.iter().any(|own| name.name.ends_with(&format!(".{own}")))
        {
            arguments.splice(..0, instance.axes.iter().cloned());
        }
    }
}
