//! Events that set the volume of a compartment must also set the concentrations in it. If nothing leaves, amounts stay
//! and concentrations jump; if a cell divides, concentrations stay. Both are common.

use crate::diagnostic::{Diagnostic, codes};
use crate::report::error;
use crate::syntax::tree::{Change, EventAction, ExprKind, Index, Later, ReactionCheck, Reference, StatementKind, Tree};

/// Largest number of species whose actions a message shows.
const MAX_SHOWN: usize = 3;

/// Finds events that set a volume but not all concentrations in it, in a tree with all its parts.
pub(crate) fn check(tree: &Tree) -> Vec<Diagnostic> {
    let mut inside: Vec<(&Reference, &Reference, &Reference)> = Vec::new();
    for statement in &tree.statements {
        if let StatementKind::ReactionCheck(ReactionCheck::Inside(found)) = &statement.kind
            && let Some(volume) = &found.volume
        {
            inside.push((&found.species, &found.compartment, volume));
        }
    }
    let mut said = Vec::new();
    if inside.is_empty() {
        return said;
    }
    for statement in &tree.statements {
        let StatementKind::Event(event) = &statement.kind else { continue };
        let delayed =
            event.clauses.late.is_none() && (event.clauses.after.is_some() || event.clauses.priority.is_some());
        let rest = event.rest.iter().map(|(_, actions)| actions);
        for actions in std::iter::once(&event.actions).chain(rest) {
            said.extend(forgotten(tree, &inside, actions, delayed));
        }
    }
    said
}

/// The concentrations that one block of actions leaves out.
fn forgotten(
    tree: &Tree,
    inside: &[(&Reference, &Reference, &Reference)],
    actions: &[EventAction],
    delayed: bool,
) -> Option<Diagnostic> {
    let changes = || {
        actions.iter().filter_map(|action| match action {
            EventAction::Change(target, change, value, _) if target.primes == 0 => Some((target, *change, *value)),
            _ => None,
        })
    };
    let (target, change, value) =
        changes().find(|(target, ..)| inside.iter().any(|(.., volume)| volume.name.name == target.name.name))?;
    let missing: Vec<_> = inside
        .iter()
        .filter(|(species, _, volume)| {
            volume.name.name == target.name.name
                && !changes().any(|(other, ..)| other.name.name == species.name.name && covers(tree, other, target))
        })
        .collect();
    let (first, compartment, own) = missing.first()?;
    let element = |reference: &Reference| {
        let indices: Vec<String> = reference.indices.iter().map(|index| tree.index_text(index)).collect();
        odec_ir::names::element(&reference.name.name, &indices)
    };
    // the element of a species in the volume that is set: `C[2]` for `C[i]`, if the event sets `V[2]`
    let there = |species: &Reference, volume: &Reference| {
        let own = species.indices.iter().map(|index| {
            let text = tree.index_text(index);
            let at = volume.indices.iter().position(|own| tree.index_text(own) == text);
            at.and_then(|k| target.indices.get(k)).map_or(text, |index| tree.index_text(index))
        });
        odec_ir::names::element(&species.name.name, &own.collect::<Vec<_>>())
    };
    let (volume, value) = (element(target), tree.expr_text(value));
    let after = match change {
        Change::Set => value,
        Change::Add => format!("({volume} + {value})"),
        Change::Subtract => format!("({volume} - {value})"),
    };
    let name = there(first, own);
    let unset = match missing.len() - 1 {
        0 => format!("the concentration `{name}`"),
        n => format!("the concentrations `{name}` and {n} more"),
    };
    let headline = format!("this event sets the volume `{volume}`, but not {unset} in it");
    let report = error(&codes::E0599, headline, target.span, "the volume jumps here")
        .label(first.span, format!("in `{}`", odec_ir::names::plain(&compartment.name.name)));
    let shown = missing.iter().take(MAX_SHOWN).map(|(species, _, own)| there(species, own));
    let kept: Vec<String> = shown.map(|name| format!("{name} := {name}*{volume}/{after}")).collect();
    let dots = if missing.len() > MAX_SHOWN { "; ..." } else { "" };
    let late = if delayed { "; write `late` in the head, so that it reads the values at that instant" } else { "" };
    Some(report.help(format!(
        "to keep the amount, write `{}{dots}` in the event; to keep the concentration, `{name} := {name}`{late}",
        kept.join("; ")
    )))
}

/// True if a change of a species applies to all its elements in the compartment: its first subscripts are those of
/// the volume, the others are whole indices.
fn covers(tree: &Tree, species: &Reference, volume: &Reference) -> bool {
    let text = |index: &Index| tree.index_text(index);
    let whole = |index: &Index| match index {
        Index::At(at) => match &tree.exprs[at.0 as usize].kind {
            ExprKind::Name(r) => r.indices.is_empty() && is_index(tree, &r.name.name),
            _ => false,
        },
        Index::In(..) | Index::Range(..) => false,
    };
    let own = volume.indices.len();
    species.indices.len() >= own
        && species.indices.iter().zip(&volume.indices).all(|(a, b)| text(a) == text(b))
        && species.indices.iter().skip(own).all(whole)
}

fn is_index(tree: &Tree, name: &str) -> bool {
    tree.statements.iter().any(|statement| match &statement.kind {
        StatementKind::Later(Later::Index(items)) => items.iter().flat_map(|item| &item.0).any(|own| own.name == name),
        _ => false,
    })
}
