//! Finds which quantities depend on which others, for delays. If a quantity depends on its own past, the model needs a
//! solver for delay differential equations.

use std::collections::{BTreeMap, BTreeSet};

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};

use super::symbols::{Kind, Symbols};
use crate::math::Math;
use crate::model::RuleKind;
use crate::report::Report;

/// The quantities on which each quantity depends over time, by id.
pub struct Reads<'m> {
    of: BTreeMap<&'m str, BTreeSet<&'m str>>,
    /// For each delay: its location, the quantities that it determines, and the quantities in it.
    delays: Vec<(Span, Vec<&'m str>, BTreeSet<&'m str>)>,
}

/// Ids in a formula.
fn names(math: &Math) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    math.visit(&mut |m| {
        if let Math::Name(id, _) | Math::RateOf(id, _) = m {
            found.insert(id.as_str());
        }
    });
    found
}

impl<'m> Reads<'m> {
    /// Computes the dependencies of a model.
    pub fn of(symbols: &Symbols<'m>) -> Reads<'m> {
        let mut reads = Reads { of: BTreeMap::new(), delays: vec![] };
        let delaying = delaying(symbols);
        let model = symbols.model;
        let unknowns: Vec<&'m str> = symbols.algebraic.iter().copied().collect();
        for rule in &model.rules {
            let owners = if rule.kind == RuleKind::Algebraic { unknowns.clone() } else { vec![rule.variable.as_str()] };
            reads.formula(&owners, &rule.math, &delaying);
        }
        for rule in &model.initial {
            reads.formula(&[&rule.variable], &rule.math, &delaying);
        }
        for species in &model.species {
            let id = species.base.id.as_str();
            let factor = species.conversion.as_deref().or(model.conversion.as_deref());
            reads.of.entry(id).or_default().extend(factor.into_iter().chain([species.compartment.as_str()]));
            for (_, reaction, reference) in symbols.reactive.get(id).into_iter().flatten() {
                let named = Some(reference.base.id.as_str()).filter(|id| !id.is_empty());
                reads.of.entry(id).or_default().extend(named.into_iter().chain([reaction.base.id.as_str()]));
                if let Some(math) = &reference.math {
                    reads.formula(&[named.unwrap_or(id)], math, &delaying);
                }
            }
        }
        for reaction in &model.reactions {
            if let Some(law) = &reaction.law {
                reads.formula(&[&reaction.base.id], law, &delaying);
            }
        }
        for event in &model.events {
            let all: Vec<&'m str> = event.assignments.iter().map(|a| a.variable.as_str()).collect();
            for math in event.trigger.iter().chain(&event.delay).chain(&event.priority) {
                reads.formula(&all, math, &delaying);
            }
            for assignment in &event.assignments {
                reads.formula(&[&assignment.variable], &assignment.math, &delaying);
            }
        }
        reads
    }

    fn formula(&mut self, owners: &[&'m str], math: &'m Math, delaying: &BTreeSet<&str>) {
        for owner in owners {
            self.of.entry(owner).or_default().extend(names(math));
        }
        math.visit(&mut |m| match m {
            Math::Delay(both, span) => self.delays.push((*span, owners.to_vec(), names(&both[0]))),
            Math::Call(f, list, span) if delaying.contains(f.as_str()) => {
                self.delays.push((*span, owners.to_vec(), list.iter().flat_map(names).collect()));
            }
            _ => {}
        });
    }

    /// A number for each quantity. Quantities that depend on one another have the same number.
    fn cycles(&self) -> BTreeMap<&'m str, usize> {
        cycles(&self.of)
    }
}

/// A number for each quantity, from the quantities that each one reads. Quantities that depend on one another have the
/// same number (strongly connected components).
pub fn cycles<'m>(reads: &BTreeMap<&'m str, BTreeSet<&'m str>>) -> BTreeMap<&'m str, usize> {
    let mut back: BTreeMap<&str, Vec<&'m str>> = BTreeMap::new();
    for (id, read) in reads {
        for other in read {
            back.entry(other).or_default().push(id);
        }
    }
    // in the order in which a depth-first search finishes them
    let (mut seen, mut left) = (BTreeSet::new(), vec![]);
    for start in reads.keys().copied() {
        let mut open = vec![(start, false)];
        while let Some((id, done)) = open.pop() {
            if done {
                left.push(id);
            } else if seen.insert(id) {
                open.push((id, true));
                open.extend(reads.get(id).into_iter().flatten().map(|other| (*other, false)));
            }
        }
    }
    // a search in the opposite direction, from the last one, stays in its component
    let mut circle = BTreeMap::new();
    for (number, start) in left.into_iter().rev().enumerate() {
        let mut open = vec![start];
        while let Some(id) = open.pop() {
            if circle.contains_key(id) {
                continue;
            }
            circle.insert(id, number);
            open.extend(back.get(id).into_iter().flatten());
        }
    }
    circle
}

/// Refuses quantities that depend on their own past.
pub fn refuse(symbols: &Symbols<'_>, reads: &Reads<'_>, report: &mut Report) {
    let cycles = reads.cycles();
    for (span, owners, of) in &reads.delays {
        let own = |id: &&&str| {
            let circle = cycles.get(**id);
            owners.iter().any(|owner| owner == *id || circle.is_some() && cycles.get(owner) == circle)
        };
        if let Some(id) = of.iter().find(own) {
            let what = if symbols.kind(id) == Kind::State { "the derivative" } else { "the value" };
            let headline = format!("{what} of `{id}` depends on an earlier value of `{id}`");
            let report_it = Diagnostic::error(&codes::E0560, headline);
            report.push(report_it.label(*span, "this version of odec does not solve delay equations"));
        }
    }
}

/// Functions whose bodies contain delays, directly or through other functions.
pub fn delaying<'m>(symbols: &Symbols<'m>) -> BTreeSet<&'m str> {
    let mut callers: BTreeMap<&str, Vec<&'m str>> = BTreeMap::new();
    let mut open = vec![];
    for function in &symbols.model.functions {
        let id = function.base.id.as_str();
        function.body.visit(&mut |m| match m {
            Math::Delay(..) => open.push(id),
            Math::Call(other, ..) => callers.entry(other).or_default().push(id),
            _ => {}
        });
    }
    spread(open, &callers)
}

/// Quantities whose initial values depend on the time, directly or through others.
pub fn varying_initial_values<'m>(symbols: &Symbols<'m>) -> BTreeSet<&'m str> {
    let model = symbols.model;
    let mut readers: BTreeMap<&str, Vec<&'m str>> = BTreeMap::new();
    let mut open = vec![];
    let mut add = |id: &'m str, math: &'m Math| {
        math.visit(&mut |m| match m {
            Math::Time(_) | Math::Delay(..) => open.push(id),
            Math::Call(f, ..) if symbols.timed.contains(f.as_str()) => open.push(id),
            Math::Name(other, _) => readers.entry(other).or_default().push(id),
            _ => {}
        });
    };
    let rules = model.rules.iter().filter(|rule| rule.kind == RuleKind::Assignment);
    for rule in rules.chain(&model.initial) {
        add(&rule.variable, &rule.math);
    }
    for reaction in &model.reactions {
        reaction.law.iter().for_each(|law| add(&reaction.base.id, law));
    }
    for reference in model.references() {
        reference.math.iter().for_each(|math| add(&reference.base.id, math));
    }
    spread(open, &readers)
}

/// These quantities, and all that depend on them.
fn spread<'m>(mut open: Vec<&'m str>, followers: &BTreeMap<&str, Vec<&'m str>>) -> BTreeSet<&'m str> {
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        if found.insert(id) {
            open.extend(followers.get(id).into_iter().flatten());
        }
    }
    found
}
