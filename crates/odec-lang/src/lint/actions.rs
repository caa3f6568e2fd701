//! Actions that read a quantity which an earlier action of the same event changes. They read its value before the event,
//! where most programming languages would read the new one.

use std::collections::BTreeSet;

use super::Page;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Action, Body, Change, Model, Symbol, TermId, TermKind};
use crate::report::warning;

/// Largest number of actions of an event that are compared.
const MAX_ACTIONS: usize = 200;
/// Longest right side that a help text repeats, in bytes.
const MAX_REPEATED: usize = 40;

/// Number of points at which two changes are compared, and the largest difference of equal ones.
const POINTS: u32 = 3;
const ROUNDED: f64 = 1e-12;

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
        let all: Vec<&Action> = actions.iter().collect();
        let reads: Vec<BTreeSet<Changed>> = actions.iter().map(|action| read(page.model, action.value)).collect();
        for late in 1..actions.len() {
            let early = (0..late).find(|&early| {
                let target = (actions[early].target, actions[early].order);
                let plain = actions[early].subscripts.is_empty() && actions[early].span != actions[late].span;
                let same = target == (actions[late].target, actions[late].order);
                plain && !same && reads[late].contains(&target) && !depends(actions, &reads, early, late)
            });
            let meant = |early: usize| {
                let pair = [&actions[early], &actions[late]];
                counts_once(page, pair[0], pair[1]) || moves(page.model, &pair) || moves(page.model, &all)
            };
            if let Some(early) = early.filter(|early| !meant(*early)) {
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

/// True if the later action reads the quantity only inside a copy of the change (`S -= k*S; R += k*S`), or of the new
/// value (`I += e; u := I + e`): the author knows that `S` and `I` are the values before the event.
fn counts_once(page: &Page<'_>, early: &Action, late: &Action) -> bool {
    let model = page.model;
    let text = |action: &Action| -> String {
        let text = page.source.text.get(model.span(action.value).range()).unwrap_or_default();
        text.chars().filter(|c| !c.is_whitespace()).collect()
    };
    let (target, change, value) = (name(model, early), text(early), text(late));
    let new = match early.change {
        Change::Set => return false,
        Change::Add => vec![format!("{target}+{change}")],
        Change::Subtract => vec![format!("{target}-{change}"), format!("{target}-({change})")],
    };
    let left = new.iter().fold(value, |left, copy| without(&left, copy, true));
    // what one quantity loses, the other one gains
    let moves =
        matches!((early.change, late.change), (Change::Add, Change::Subtract) | (Change::Subtract, Change::Add));
    let left = if moves { without(&left, &change, false) } else { left };
    !left.split(|c: char| !is_part(c)).any(|word| word == target)
}

/// True for a character of a name with its primes and its number.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '\'')
}

/// The text without the copies of a part of it. A sum must stand alone: `a*I + e` contains no `I + e`.
fn without(text: &str, copy: &str, sum: bool) -> String {
    let mut left = String::new();
    let mut from = 0;
    for (at, _) in text.match_indices(copy) {
        let (before, after) = (text[..at].chars().next_back(), text[at + copy.len()..].chars().next());
        let whole = !before.is_some_and(is_part) && !after.is_some_and(|c| is_part(c) || c == '(' || c == '[');
        let alone = before.is_none_or(|c| matches!(c, '(' | ',' | '+'))
            && after.is_none_or(|c| matches!(c, ')' | ',' | '+' | '-'));
        if whole && (alone || !sum) && at >= from {
            left.push_str(&text[from..at]);
            from = at + copy.len();
        }
    }
    left.push_str(&text[from..]);
    left
}

/// True if these actions only move amounts between quantities: `S := 0.7*S; R += 0.3*S`.
fn moves(model: &Model, actions: &[&Action]) -> bool {
    let changed = |action: &&Action, seed: u32| -> Option<f64> {
        let value = at_point(model, action.value, seed)?;
        let old = point(&kind(action)?, seed)?;
        Some(match action.change {
            Change::Set => value - old,
            Change::Add => value,
            Change::Subtract => -value,
        })
    };
    (1..=POINTS).all(|seed| {
        let changes: Option<Vec<f64>> = actions.iter().map(|action| changed(action, seed)).collect();
        changes.is_some_and(|changes| {
            let size: f64 = changes.iter().map(|change| change.abs()).sum();
            size > 0.0 && changes.iter().sum::<f64>().abs() <= ROUNDED * size
        })
    })
}

/// The value that an action changes, as a term.
fn kind(action: &Action) -> Option<TermKind> {
    TermKind::scalar(action.target, action.order)
}

/// The value of an expression of scalars, with different values for different quantities.
fn at_point(model: &Model, body: Body, seed: u32) -> Option<f64> {
    let start = body.start as usize;
    let mut values: Vec<f64> = Vec::new();
    for id in body.range() {
        let value = |of: &TermId| values.get((of.0 as usize).checked_sub(start)?).copied();
        let value = match &model.terms[id].kind {
            TermKind::Number(number) => *number,
            TermKind::Apply(op, operands) => {
                let arguments: Option<Vec<f64>> = operands[..usize::from(op.0.arity)].iter().map(value).collect();
                (op.0.value)(&arguments?)
            }
            kind => point(kind, seed)?,
        };
        values.push(value);
    }
    values.get((body.root.0 as usize).checked_sub(start)?).copied()
}

/// A value between 1 and 2 for a quantity.
fn point(kind: &TermKind, seed: u32) -> Option<f64> {
    let (kind, number) = match kind {
        TermKind::Time => (0, 0),
        TermKind::Parameter(i) => (1, *i),
        TermKind::Constant(i) => (2, *i),
        TermKind::Definition(i) => (3, *i),
        TermKind::Discrete(i) => (4, *i),
        TermKind::State(i, order) => (5 + usize::from(*order), *i),
        _ => return None,
    };
    Some(1.0 + (0.618_033_988_749 * f64::from(seed) * (1.0 + kind as f64 * 0.37 + number as f64 * 0.731)).fract())
}

fn name(model: &Model, action: &Action) -> String {
    match action.target {
        Symbol::State(i) => model.states[i].derivative(action.order),
        symbol => model.name_of(symbol).to_owned(),
    }
}

fn report(page: &Page<'_>, early: &Action, late: &Action) -> Diagnostic {
    let model = page.model;
    let (target, reader) = (name(model, early), name(model, late));
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
