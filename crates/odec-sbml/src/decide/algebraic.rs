//! Finds the quantity that each algebraic rule determines, by matching rules and quantities.

use std::collections::{BTreeMap, BTreeSet};

use odec_lang::diagnostic::codes;

use super::symbols::{Symbol, Symbols};
use crate::math::Math;
use crate::model::RuleKind;
use crate::report::Report;

/// Finds a quantity for each algebraic rule.
pub fn match_rules(symbols: &mut Symbols<'_>, report: &mut Report) {
    let rules: Vec<_> = symbols.model.rules.iter().filter(|rule| rule.kind == RuleKind::Algebraic).collect();
    let candidates: Vec<Vec<&str>> = rules.iter().map(|rule| candidates(symbols, &rule.math)).collect();
    let mut owner: BTreeMap<&str, usize> = BTreeMap::new();
    for (k, rule) in rules.iter().enumerate() {
        if !augment(k, &candidates, &mut owner) {
            let headline = "another part of the model already determines every quantity in this algebraic rule";
            report.error(&codes::E0810, headline, rule.base.span, "this rule");
        }
    }
    symbols.algebraic = owner.into_keys().collect();
}

/// The quantities that a formula could determine: those that it names. If nothing else determines one of them, also
/// those in the formulas of other rules.
fn candidates<'m>(symbols: &Symbols<'m>, math: &'m Math) -> Vec<&'m str> {
    let (mut found, mut seen, mut open) = (vec![], BTreeSet::new(), vec![math]);
    while let Some(math) = open.pop() {
        math.visit(&mut |m| {
            let Math::Name(id, _) = m else { return };
            if !seen.insert(id.as_str()) {
                return;
            }
            match symbols.rules.get(id.as_str()) {
                Some(rule) if rule.kind == RuleKind::Assignment => open.push(&rule.math),
                Some(_) => {}
                None if free(symbols, id) => found.push(id.as_str()),
                None => {
                    let law = symbols.model.reactions.iter().find(|r| r.base.id == *id).and_then(|r| r.law.as_ref());
                    open.extend(law);
                }
            }
        });
    }
    // quantities that events set are the last choice
    found.sort_by_key(|id| symbols.assigned.contains(id));
    found
}

/// True for a quantity that may vary but that nothing changes.
fn free(symbols: &Symbols<'_>, id: &str) -> bool {
    match symbols.table.get(id) {
        Some(Symbol::Compartment(compartment)) => !compartment.constant,
        Some(Symbol::Species(species)) => !species.constant && !symbols.reactive.contains_key(id),
        Some(Symbol::Parameter) => symbols.model.parameters.iter().any(|p| p.base.id == id && !p.constant),
        Some(Symbol::Reference(_)) => true,
        Some(Symbol::Reaction(_)) | None => false,
    }
}

/// Finds a quantity for rule `start`, if necessary by assigning other quantities to other rules (breadth-first
/// search).
fn augment<'m>(start: usize, candidates: &[Vec<&'m str>], owner: &mut BTreeMap<&'m str, usize>) -> bool {
    let mut came: BTreeMap<&str, usize> = BTreeMap::new();
    let mut open = std::collections::VecDeque::from([start]);
    while let Some(rule) = open.pop_front() {
        for &id in &candidates[rule] {
            if came.contains_key(id) {
                continue;
            }
            came.insert(id, rule);
            let Some(&next) = owner.get(id) else {
                // each rule on the path takes the quantity through which it was reached
                let mut free = id;
                loop {
                    let rule = came[free];
                    let before = owner.iter().find(|(_, r)| **r == rule).map(|(id, _)| *id);
                    if let Some(before) = before {
                        owner.remove(before);
                    }
                    owner.insert(free, rule);
                    match before {
                        Some(before) if rule != start => free = before,
                        _ => return true,
                    }
                }
            };
            open.push_back(next);
        }
    }
    false
}
