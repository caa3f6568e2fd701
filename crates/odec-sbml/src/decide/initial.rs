//! Breaks cycles of initial values: a value that depends on a concentration, which depends on the value through the
//! size of its compartment.
//!
//! The state of a species is its amount. If the file gives its initial concentration, the initial amount is the
//! concentration times the size, and the concentration is the amount divided by the size. This is a cycle if the size
//! depends on the concentration. Initial values on such a cycle therefore read copies of definitions. In these
//! copies, the concentration has the value from the file.

use std::collections::{BTreeMap, BTreeSet};

use super::feedback::cycles;
use crate::math::Math;
use crate::plan::{Quantity, Role, Section, at_start};

/// Breaks the circles. `given` contains the formulas of initial concentrations, by key, for species whose states are
/// amounts.
pub fn break_cycles(quantities: &mut Vec<Quantity>, given: &BTreeMap<String, Math>) {
    let copied = copied(quantities, given);
    let renamed = |math: &Math| {
        math.clone().map(&mut |m| match m {
            Math::Name(key, span) if copied.contains(key) => Some(Math::Name(at_start(key), *span)),
            _ => None,
        })
    };
    let mut copies = vec![];
    for quantity in quantities.iter_mut() {
        match &mut quantity.role {
            Role::Defined(math) if copied.contains(&quantity.key) => {
                let role = Role::Defined(renamed(given.get(&quantity.key).unwrap_or(math)));
                let key = at_start(&quantity.key);
                copies.push(Quantity { key, role, section: Section::Initial, note: None, by_arrows: false });
            }
            Role::State(start, _) | Role::Discrete(start) | Role::Unknown(start) => *start = renamed(start),
            Role::Defined(_) | Role::Parameter(_) => {}
        }
    }
    quantities.extend(copies);
}

/// Definitions on a circle that contains a given concentration.
fn copied(quantities: &[Quantity], given: &BTreeMap<String, Math>) -> BTreeSet<String> {
    if given.is_empty() {
        return BTreeSet::new();
    }
    let mut reads: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for quantity in quantities {
        let own = reads.entry(&quantity.key).or_default();
        if let Role::Defined(math) | Role::State(math, _) | Role::Discrete(math) | Role::Unknown(math) = &quantity.role
        {
            math.visit(&mut |m| {
                if let Math::Name(key, _) = m {
                    own.insert(key);
                }
            });
        }
    }
    let number = cycles(&reads);
    let mut members: BTreeMap<usize, usize> = BTreeMap::new();
    for circle in number.values() {
        *members.entry(*circle).or_default() += 1;
    }
    let of = |key: &str| number.get(key).copied();
    let opened: BTreeSet<usize> = given.keys().filter_map(|key| of(key)).filter(|circle| members[circle] > 1).collect();
    let defined = quantities.iter().filter(|q| matches!(q.role, Role::Defined(_)));
    let on = defined.filter(|q| of(&q.key).is_some_and(|circle| opened.contains(&circle)));
    on.map(|q| q.key.clone()).collect()
}
