//! Actions that read a quantity which an earlier action of the same event changes. They read its value before the event,
//! where most programming languages would read the new one.

use std::collections::BTreeSet;

use super::Page;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Action, Body, Change, Model, Symbol, TermKind};
use crate::report::warning;

/// Largest number of actions of an event that are compared.
const MAX_ACTIONS: usize = 200;
/// Longest right side that a help text repeats, in bytes.
const MAX_REPEATED: usize = 40;

/// A quantity that an action changes: a state, or one of its derivatives.
type Changed = (Symbol, u8);

/// Warns about each action that reads a value which an earlier action of its event replaces. If the actions read one
/// another's quantities, as in an exchange, no order avoids that, and the author knows what they read.
pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    for event in &page.model.events {
        let actions = &event.actions;
        if actions.len() < 2 || actions.len() > MAX_ACTIONS {
            continue;
        }
        let reads: Vec<BTreeSet<Changed>> = actions.iter().map(|action| read(page.model, action.value)).collect();
        for late in 1..actions.len() {
            let early = (0..late).find(|&early| {
                let target = (actions[early].target, actions[early].order);
                let plain = actions[early].subscripts.is_empty() && actions[early].span != actions[late].span;
                let same = target == (actions[late].target, actions[late].order);
                plain && !same && reads[late].contains(&target) && !depends(actions, &reads, early, late)
            });
            if let Some(early) = early {
                found.push(report(page, &actions[early], &actions[late]));
            }
        }
    }
}

/// The scalar states and discretes that an expression reads.
fn read(model: &Model, value: Body) -> BTreeSet<Changed> {
    value.range().filter_map(|id| changed(&model.terms[id].kind)).collect()
}

fn changed(kind: &TermKind) -> Option<Changed> {
    match kind {
        TermKind::State(i, order) => Some((Symbol::State(*i), *order)),
        TermKind::Discrete(i) => Some((Symbol::Discrete(*i), 0)),
        _ => None,
    }
}

/// True if the action `from` reads what the action `to` changes, directly or through other actions.
fn depends(actions: &[Action], reads: &[BTreeSet<Changed>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; actions.len()];
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        let changes = |k: &usize| *k != at && reads[at].contains(&(actions[*k].target, actions[*k].order));
        open.extend((0..actions.len()).filter(changes));
    }
    false
}

fn report(page: &Page<'_>, early: &Action, late: &Action) -> Diagnostic {
    let model = page.model;
    let name = |action: &Action| match action.target {
        Symbol::State(i) => model.states[i].derivative(action.order),
        symbol => model.name_of(symbol).to_owned(),
    };
    let (target, reader) = (name(early), name(late));
    let is_read = |id: &usize| changed(&model.terms[*id].kind) == Some((early.target, early.order));
    let place = late.value.range().find(is_read).map_or(late.span, |id| model.terms[id].span);
    let right = page.source.text.get(model.span(early.value).range()).unwrap_or_default();
    let new = match early.change {
        _ if right.len() > MAX_REPEATED || right.contains('\n') => "...".to_owned(),
        Change::Set => right.to_owned(),
        Change::Add => format!("{target} + {right}"),
        Change::Subtract => format!("{target} - ({right})"),
    };
    let headline = format!("`{reader}` gets its value from `{target}` before the event");
    warning(&codes::W0531, headline, place, "the value before the event")
        .label(early.span, format!("the new value of `{target}` does not count in this event"))
        .help(format!(
            "for the new value, write `({new})` instead of `{target}`; for the value before the event, put this action \
             before the other"
        ))
}
