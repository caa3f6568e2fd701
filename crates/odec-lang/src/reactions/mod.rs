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
mod jumps;
mod laws;
mod places;
mod write;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use odec_ir::Span;

use crate::diagnostic::Diagnostic;
use crate::syntax::tree::{
    Declared, ExprId, ExprKind, Ident, Later, Reaction, ReactionCheck, Reference, Statement, StatementKind, Tree,
};
pub(crate) use jumps::check as jumps;

/// Description of an unknown, for [`Facts::others`].
const UNKNOWN: &str = "an unknown, which an equation determines";

/// The facts about the names in reactions from the rest of the text.
struct Facts<'a> {
    /// States by name, with the items that declare them.
    states: BTreeMap<&'a str, &'a Declared>,
    /// The same in the order of the text.
    order: Vec<&'a str>,
    /// Names of parameters and constants, and which of them are constants.
    constants: BTreeMap<&'a str, bool>,
    /// First and last element of each index.
    indices: BTreeMap<&'a str, (ExprId, ExprId)>,
    /// Left sides that hold a derivative of a state.
    equations: BTreeMap<&'a str, &'a Statement>,
    /// States of parts whose equation is the sum of what reactions do.
    sums: BTreeSet<&'a str>,
    /// Right sides of definitions.
    definitions: BTreeMap<&'a str, ExprId>,
    /// Reactions with labels: names of their rates.
    labels: BTreeMap<&'a str, &'a Reaction>,
    /// Compartments of states of parts.
    inside: BTreeMap<&'a str, &'a Reference>,
    /// Names that no reaction can change, with their kinds and declarations.
    others: BTreeMap<&'a str, (&'static str, Span)>,
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
        laws::check(tree, &facts, line, &mut said);
        if let Some(rate) = laws::write(&facts, line, &mut writer, &mut said) {
            contributions::of(&facts, line, &rate, (&mut found, &mut writer), &mut said);
        }
    }
    contributions::write(tree, &facts, (&volumes, &found), &mut writer, &mut said);
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
            sums: BTreeSet::new(),
            definitions: BTreeMap::new(),
            labels: BTreeMap::new(),
            inside: BTreeMap::new(),
            others: BTreeMap::new(),
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
                StatementKind::Param(items) => {
                    facts.constants.extend(targets(items).map(|name| (name.name.as_str(), false)));
                }
                StatementKind::Const(items) => {
                    facts.constants.extend(targets(items).map(|name| (name.name.as_str(), true)));
                }
                StatementKind::Discrete(items) => facts.others("a discrete quantity", targets(items)),
                StatementKind::Unknown(items) => facts.others(UNKNOWN, targets(items)),
                StatementKind::Compartment(items) => facts.others("a compartment", targets(items)),
                StatementKind::Function { name, .. } => facts.others("a function", [name]),
                StatementKind::Time(name, _) => facts.others("the time", [name]),
                StatementKind::Later(Later::Input(items)) => {
                    facts.others("an input", items.iter().map(|item| &item.name));
                }
                StatementKind::ReactionCheck(ReactionCheck::Inside(inside)) => {
                    facts.inside.insert(&inside.species.name.name, &inside.compartment);
                }
                StatementKind::ReactionCheck(ReactionCheck::Sum(state)) => {
                    facts.sums.insert(&state.name.name);
                }
                StatementKind::Later(Later::Index(items)) => {
                    facts.others("an index", items.iter().flat_map(|(names, ..)| names));
                    for (names, from, to) in items {
                        facts.indices.extend(names.iter().map(|name| (name.name.as_str(), (*from, *to))));
                    }
                }
                StatementKind::Reaction(reaction) => {
                    facts.labels.extend(reaction.label.iter().map(|(label, _)| (label.name.as_str(), reaction)));
                }
                StatementKind::Equation { lhs, rhs, .. } => facts.equation(tree, statement, *lhs, *rhs),
                _ => {}
            }
        }
        facts
    }

    fn others(&mut self, what: &'static str, names: impl IntoIterator<Item = &'a Ident>) {
        self.others.extend(names.into_iter().map(|name| (name.name.as_str(), (what, name.span))));
    }

    /// The equation of a state, unless it is the sum of the effects of reactions.
    fn own_equation(&self, state: &str) -> Option<&'a Statement> {
        self.equations.get(state).copied().filter(|_| !self.sums.contains(state))
    }

    /// The compartment of a state.
    fn place_of(&self, state: &str) -> Option<&'a Reference> {
        let own = self.states.get(state).and_then(|item| item.place.as_ref());
        own.or_else(|| self.inside.get(state).copied())
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

/// The names of declared items.
fn targets(items: &[Declared]) -> impl Iterator<Item = &Ident> {
    items.iter().map(|item| &item.target.name)
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
                        || facts.labels.contains_key(name)
                        || facts.others.contains_key(name)
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
