//! Reactions as equations: each line with an arrow becomes a definition of its rate, and each state that reactions change
//! an equation with the sum of what they do.
//!
//! ```text
//! bind: E + S <-> ES  mass (kon, koff)      bind = kon*E*S - koff*ES
//!                                           E' = -bind    S' = -bind    ES' = bind
//! ```
//!
//! A law `rate` or `mass` is a concentration per time and stays in one compartment; a `flow` is an amount per time, which
//! is divided by the volume of each species. In a volume that changes, c' = (what reactions do) - c*V'/V.

mod compartments;
mod contributions;
mod laws;
mod places;
mod write;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::diagnostic::Diagnostic;
use crate::syntax::tree::{Declared, ExprId, ExprKind, Later, Reaction, Reference, Statement, StatementKind, Tree};

/// What the rest of the text says of the names in reactions.
struct Facts<'a> {
    /// States by name, with the items that declare them.
    states: BTreeMap<&'a str, &'a Declared>,
    /// The same in the order of the text.
    order: Vec<&'a str>,
    /// Names that never change, with their values.
    constants: BTreeMap<&'a str, Option<ExprId>>,
    /// First and last element of each index.
    indices: BTreeMap<&'a str, (ExprId, ExprId)>,
    /// Left sides that hold a derivative of a state.
    equations: BTreeMap<&'a str, &'a Statement>,
    /// Right sides of definitions.
    definitions: BTreeMap<&'a str, ExprId>,
}

/// A reaction and what stands around it.
struct Line<'a> {
    reaction: &'a Reaction,
    statement: &'a Statement,
    /// The name of its rate.
    name: String,
}

/// The tree with its reactions and compartments written as declarations, definitions and equations.
pub(crate) fn expand(tree: &Tree) -> (Cow<'_, Tree>, Vec<Diagnostic>) {
    let has = |statement: &Statement| {
        matches!(statement.kind, StatementKind::Reaction(_) | StatementKind::Compartment(_))
            || matches!(&statement.kind, StatementKind::State(items) if items.iter().any(|item| item.place.is_some()))
    };
    if !tree.statements.iter().any(has) {
        return (Cow::Borrowed(tree), Vec::new());
    }
    let facts = Facts::of(tree);
    let lines = name_all(tree, &facts);
    let mut writer = write::Writer::new(tree);
    let mut said = Vec::new();
    let volumes = compartments::declare(tree, &facts, &mut writer, &mut said);
    let mut found = contributions::Contributions::default();
    for line in &lines {
        laws::check(tree, &facts, &volumes, line, &mut said);
        if let Some(rate) = laws::write(&facts, line, &mut writer, &mut said) {
            contributions::of(tree, &facts, line, &rate, &mut found, &mut said);
        }
    }
    contributions::write(&facts, &volumes, &found, &mut writer, &mut said);
    (Cow::Owned(writer.finish()), said)
}

impl<'a> Facts<'a> {
    fn of(tree: &'a Tree) -> Self {
        let mut facts = Facts {
            states: BTreeMap::new(),
            order: Vec::new(),
            constants: BTreeMap::new(),
            indices: BTreeMap::new(),
            equations: BTreeMap::new(),
            definitions: BTreeMap::new(),
        };
        for statement in &tree.statements {
            match &statement.kind {
                StatementKind::State(items) => {
                    for item in items.iter().filter(|item| item.limit.is_none() && item.target.primes == 0) {
                        let name = item.target.name.name.as_str();
                        if facts.states.insert(name, item).is_none() {
                            facts.order.push(name);
                        }
                    }
                }
                StatementKind::Param(items) | StatementKind::Const(items) => {
                    let all = items.iter().map(|item| (item.target.name.name.as_str(), item.value));
                    facts.constants.extend(all);
                }
                StatementKind::Later(Later::Index(items)) => {
                    for (names, from, to) in items {
                        facts.indices.extend(names.iter().map(|name| (name.name.as_str(), (*from, *to))));
                    }
                }
                StatementKind::Equation { lhs, rhs, .. } => facts.equation(tree, statement, *lhs, *rhs),
                _ => {}
            }
        }
        facts
    }

    fn equation(&mut self, tree: &'a Tree, statement: &'a Statement, lhs: ExprId, rhs: ExprId) {
        if let ExprKind::Name(reference) = &tree.exprs[lhs.0 as usize].kind
            && reference.primes == 0
        {
            self.definitions.insert(&reference.name.name, rhs);
            return;
        }
        for reference in names_in(tree, lhs).into_iter().filter(|reference| reference.primes > 0) {
            self.equations.entry(&reference.name.name).or_insert(statement);
        }
    }
}

/// Reactions with the names of their rates: the label, or a number.
fn name_all<'a>(tree: &'a Tree, facts: &Facts<'a>) -> Vec<Line<'a>> {
    let mut number = 0;
    let mut lines = Vec::new();
    for statement in &tree.statements {
        let StatementKind::Reaction(reaction) = &statement.kind else { continue };
        let name = match &reaction.label {
            Some((label, _)) => label.name.clone(),
            None => {
                number += 1;
                let taken = |name: &str| {
                    facts.states.contains_key(name)
                        || facts.constants.contains_key(name)
                        || facts.definitions.contains_key(name)
                };
                let mut name = format!("reaction_{number}");
                while taken(&name) {
                    name.push('_');
                }
                name
            }
        };
        lines.push(Line { reaction, statement, name });
    }
    lines
}

/// The names of an expression, as they are referred to.
fn names_in(tree: &Tree, expr: ExprId) -> Vec<&Reference> {
    let mut found = Vec::new();
    for id in tree.nodes_of(expr) {
        if let ExprKind::Name(reference) = &tree.exprs[id.0 as usize].kind {
            found.push(reference);
        }
    }
    found
}
