//! Fast reactions, which are always in equilibrium. The amount of one species of such a reaction becomes an unknown,
//! which the equation `kinetic law = 0` determines. The other species follow from it and from totals. The fast
//! reaction conserves the totals; slow reactions and events change them. For `A <-> B`, `B = B_total - A`.
//!
//! The equilibrium is the state in which the reaction comes to rest, starting from the earlier amounts. A reaction is
//! imported only if its equilibrium is unique: the law falls when reactants turn into products, or a reactant of which
//! every term is a multiple is used up.

use std::collections::{BTreeMap, BTreeSet};

use odec_ir::Span;
use odec_lang::diagnostic::codes;

use super::polynomial::{Polynomial, Values};
use super::start::Start;
use super::{Decider, guess};
use crate::math::{Math, Op};
use crate::model::Reaction;
use crate::plan::{Arrow, PlannedEvent, Quantity, Role, Section, Term, amount};

/// Highest degree of a kinetic law. Beyond it, the search for the equilibrium could find a solution with negative
/// amounts.
const MAX_DEGREE: usize = 2;

/// A fast reaction in the plan.
pub struct Fast {
    /// The amount that its law determines.
    unknown: String,
    /// The amounts that follow from it.
    others: Vec<Other>,
    /// True if the law is linear, so that any initial amounts lead to exactly one equilibrium.
    linear: bool,
}

/// `key = total + ratio*unknown`
struct Other {
    key: String,
    /// Change of this amount for one unit of the unknown: a number times a formula.
    ratio: (f64, Math),
    total: String,
}

impl Other {
    /// The total that belongs to these values of this amount and of the unknown.
    fn total(&self, own: Math, unknown: Math) -> Math {
        sum(own, -self.ratio.0, self.ratio.1.clone().times(unknown))
    }
}

impl Fast {
    fn changes(&self, key: &str) -> bool {
        self.unknown == key || self.others.iter().any(|other| other.key == key)
    }
}

/// The change of an amount each time a reaction happens.
struct Change {
    key: String,
    /// Negative for a reactant.
    number: f64,
    /// The same as a number times a formula.
    formula: (f64, Math),
}

impl<'m> Decider<'m, '_> {
    /// Removes the fast reactions from the lines, and returns what replaces them. Adds their equations.
    pub fn fast_reactions(
        &mut self,
        arrows: &mut BTreeMap<String, Vec<Arrow>>,
        equations: &mut Vec<(Math, Span)>,
    ) -> Vec<Fast> {
        let mut all: Vec<Fast> = vec![];
        for reaction in self.symbols.model.reactions.iter().filter(|reaction| reaction.fast) {
            match self.fast(reaction, arrows, &all) {
                Ok((fast, law)) => {
                    equations.push((law, reaction.base.span));
                    arrows.remove(&reaction.base.id);
                    self.quantities.retain(|quantity| quantity.key != reaction.base.id);
                    all.push(fast);
                }
                Err(why) => {
                    let headline = format!("odec cannot import the fast reaction `{}`", reaction.base.id);
                    self.report.error(&codes::E0808, headline, reaction.base.span, why);
                }
            }
        }
        for fast in &all {
            self.replace(fast);
            for lines in arrows.values_mut() {
                *lines = lines.drain(..).flat_map(|line| rewritten(line, fast)).collect();
            }
        }
        let terms = arrows.values().flatten().flat_map(|line| line.left.iter().chain(&line.right));
        let changed: BTreeSet<&str> = terms.filter(|term| !term.fixed).map(|term| term.key.as_str()).collect();
        for Other { total, .. } in all.iter().flat_map(|fast| &fast.others) {
            for quantity in self.quantities.iter_mut().filter(|quantity| quantity.key == *total) {
                quantity.by_arrows = changed.contains(total.as_str());
            }
        }
        self.check_reads(&all);
        all
    }

    /// Converts a fast reaction. Returns it with its law, or the reason why it cannot be imported.
    fn fast(
        &mut self,
        reaction: &'m Reaction,
        arrows: &BTreeMap<String, Vec<Arrow>>,
        before: &[Fast],
    ) -> Result<(Fast, Math), String> {
        let law = reaction.law.as_ref().ok_or("it has no kinetic law")?;
        let mut law = self.meaning(law);
        let mut changes: Vec<Change> = vec![];
        let parts = self.changes(reaction);
        let values = Values::of(&self.quantities, &self.symbols.model.functions);
        for (species, count, times) in parts {
            let key = amount(&species.base.id);
            let number = values.number(&times).map(|v| v * count).filter(|v| v.is_finite());
            let number = number.ok_or_else(|| format!("the stoichiometry of `{}` varies", species.base.id))?;
            if changes.iter().any(|known| known.key == key) {
                return Err(format!("`{}` is on both sides of it", species.base.id));
            }
            if before.iter().any(|fast| fast.changes(&key)) {
                return Err(format!("another fast reaction changes `{}`, too", species.base.id));
            }
            if number != 0.0 {
                changes.push(Change { key, number, formula: (count, times) });
            }
        }
        let keys: BTreeSet<&str> = changes.iter().map(|change| change.key.as_str()).collect();
        let law_of_amounts = values.polynomial(&law, &keys)?;
        let mut first = changes.iter().position(|change| change.number < 0.0).unwrap_or(0);
        let linear = match used_up(&law_of_amounts, &changes) {
            Some((reactant, driving)) => {
                if !driving.is_empty() {
                    self.check_used_up(&changes[reactant].key, &driving, &values, reaction, arrows)?;
                }
                law = Math::name(&changes[reactant].key);
                first = reactant;
                driving.is_empty()
            }
            None => single_equilibrium(&law_of_amounts, &changes)?,
        };
        for change in &changes {
            let id = change.key.trim_start_matches('#');
            if self.symbols.rated().contains(id) {
                return Err(format!("a formula uses the derivative of `{id}`"));
            }
        }
        if self.symbols.names().contains(reaction.base.id.as_str()) {
            return Err("a formula uses its rate, which the file does not determine".to_string());
        }
        let Change { key: unknown, formula: (by, times), .. } = changes.remove(first);
        let others = changes.into_iter().map(|change| Other {
            total: format!("{}.total", change.key.trim_start_matches('#')),
            key: change.key,
            ratio: (change.formula.0 / by, change.formula.1.over(times.clone())),
        });
        Ok((Fast { unknown, others: others.collect(), linear }, law))
    }

    /// Checks that a reaction uses up a reactant and nothing else happens to it: at the start there is something of all
    /// products that the reaction needs, and no other reaction changes these amounts.
    fn check_used_up(
        &self,
        reactant: &str,
        driving: &BTreeSet<&str>,
        values: &Values,
        reaction: &Reaction,
        arrows: &BTreeMap<String, Vec<Arrow>>,
    ) -> Result<(), String> {
        for key in driving {
            let id = key.trim_start_matches('#');
            let quantity = self.quantities.iter().find(|quantity| quantity.key == *key);
            let start = quantity.and_then(|quantity| match &quantity.role {
                Role::State(value, _) => values.number(value),
                _ => None,
            });
            if start.is_none_or(|start| start <= 0.0) {
                return Err(format!("it needs `{id}`, of which there may be nothing at the start"));
            }
        }
        let lines = arrows.iter().filter(|(id, _)| **id != reaction.base.id).flat_map(|(_, lines)| lines);
        let mut changed = lines.flat_map(|line| line.left.iter().chain(&line.right)).filter(|term| !term.fixed);
        match changed.find(|term| term.key == reactant || driving.contains(term.key.as_str())) {
            Some(term) => {
                let id = term.key.trim_start_matches('#');
                Err(format!("it speeds itself up, and another reaction changes `{id}`, too"))
            }
            None => Ok(()),
        }
    }

    /// Turns one amount into an unknown, and the others into definitions.
    fn replace(&mut self, fast: &Fast) {
        let mut start = BTreeMap::new();
        for quantity in &mut self.quantities {
            if let (Role::State(value, _), true) = (&quantity.role, fast.changes(&quantity.key)) {
                start.insert(quantity.key.clone(), value.clone());
            }
        }
        let of = |key: &str| start.get(key).cloned().unwrap_or(Math::Number(f64::NAN));
        for quantity in &mut self.quantities {
            quantity.by_arrows &= !fast.changes(&quantity.key);
            if quantity.key == fast.unknown {
                quantity.role = Role::Unknown(guess(of(&fast.unknown)));
                quantity.note = Some("a fast reaction determines it".to_string());
            } else if let Some(Other { ratio, total, .. }) = fast.others.iter().find(|other| other.key == quantity.key)
            {
                let part = ratio.1.clone().times(Math::name(&fast.unknown));
                quantity.role = Role::Defined(sum(Math::name(total), ratio.0, part));
            }
        }
        for other in &fast.others {
            let value = other.total(of(&other.key), of(&fast.unknown));
            self.quantities.push(Quantity {
                key: other.total.clone(),
                role: Role::State(value, Math::Number(0.0)),
                section: Section::Species,
                note: Some("a fast reaction does not change it".to_string()),
                by_arrows: false,
            });
        }
    }

    /// Refuses initial values that depend on amounts that a fast reaction changes at the start.
    fn check_reads(&mut self, all: &[Fast]) {
        let mut found = vec![];
        let start = Start::of(&self.quantities, &[], &self.symbols.model.functions);
        for quantity in &self.quantities {
            if let Role::State(value, _) | Role::Discrete(value) | Role::Unknown(value) = &quantity.role {
                let reads = start.reads(value);
                if let Some(key) = reads.iter().find(|key| all.iter().any(|fast| fast.changes(key))) {
                    found.push((quantity.key.clone(), key.trim_start_matches('#').to_string()));
                }
            }
        }
        for (key, species) in found {
            let id = key.trim_end_matches(".total").trim_matches(['#', '[', ']']).to_string();
            let headline =
                format!("the value of `{id}` at the start depends on `{species}`, which a fast reaction changes");
            let span = self.symbols.initial.get(id.as_str()).map(|rule| rule.base.span);
            let span = span.or_else(|| self.symbols.places.get(id.as_str()).copied()).unwrap_or_default();
            self.report.error(
                &codes::E0808,
                headline,
                span,
                "the file does not say whether this is before or after it",
            );
        }
    }

    /// Makes events set the totals if they set amounts that fast reactions change.
    pub fn set_totals(&mut self, all: &[Fast], events: &mut [PlannedEvent]) {
        for fast in all {
            let mut setting = 0;
            for event in &mut *events {
                if !event.actions.iter().any(|(key, _)| fast.changes(key)) {
                    continue;
                }
                setting += 1;
                if !fast.linear || event.delay.is_some() || fast.others.is_empty() || setting > 1 {
                    let id = fast.unknown.trim_start_matches('#');
                    let headline = format!("an event sets amounts of the fast reaction that determines `{id}`");
                    let why = "odec cannot tell what the equilibrium is then";
                    self.report.error(&codes::E0808, headline, event.span, why);
                    continue;
                }
                let (set, kept): (Vec<_>, Vec<_>) = event.actions.drain(..).partition(|(key, _)| fast.changes(key));
                event.actions = kept;
                let after = |key: &str| {
                    let value = set.iter().find(|(of, _)| of == key).map(|(_, value)| value.clone());
                    value.unwrap_or_else(|| Math::name(key))
                };
                for other in &fast.others {
                    let value = other.total(after(&other.key), after(&fast.unknown));
                    event.actions.push((other.total.clone(), value));
                }
            }
        }
    }
}

/// The reactant that the reaction uses up, if it only runs forward: every term is positive, and the product of powers of
/// one reactant and of what the reaction makes. Also returns the products that it needs to run. `None` for linear laws.
fn used_up<'l>(law: &'l Polynomial, changes: &[Change]) -> Option<(usize, BTreeSet<&'l str>)> {
    let of = |key: &str| changes.iter().position(|change| change.key == key);
    let reactant = law
        .terms()
        .find_map(|(amounts, _)| amounts.iter().find_map(|key| of(key).filter(|k| changes[*k].number < 0.0)))?;
    let (mut driving, mut linear) = (BTreeSet::new(), true);
    for (amounts, factor) in law.terms() {
        let (own, others): (Vec<&str>, Vec<&str>) =
            amounts.iter().map(String::as_str).partition(|key| *key == changes[reactant].key);
        let made = others.iter().all(|key| of(key).is_some_and(|k| changes[k].number > 0.0));
        if factor <= 0.0 || own.is_empty() || !made {
            return None;
        }
        linear &= amounts.len() == 1;
        driving.extend(others);
    }
    (!linear).then_some((reactant, driving))
}

/// Checks that nonnegative amounts have a single equilibrium: every positive term falls when reactants are consumed,
/// and every negative term grows when products are made. Returns whether the law is linear.
fn single_equilibrium(law: &Polynomial, changes: &[Change]) -> Result<bool, String> {
    let taken = |key: &str| changes.iter().any(|change| change.key == key && change.number < 0.0);
    let (mut forth, mut back) = (vec![], vec![]);
    for (amounts, factor) in law.terms() {
        let fits = amounts.iter().all(|key| taken(key) == (factor > 0.0));
        if !fits || amounts.len() > MAX_DEGREE {
            return Err("its kinetic law may be 0 for more than one set of amounts".to_string());
        }
        if factor > 0.0 { forth.push(amounts) } else { back.push(amounts) }
    }
    let degree = law.terms().map(|(amounts, _)| amounts.len()).max().unwrap_or(0);
    if degree == 0 {
        return Err("its kinetic law does not depend on what it changes".to_string());
    }
    // without a reverse reaction, the product of two amounts is 0 if either of them is 0
    if degree > 1 && (forth.is_empty() || back.is_empty()) {
        return Err("its kinetic law may be 0 for more than one set of amounts".to_string());
    }
    Ok(degree == 1)
}

/// `a + factor*b`
fn sum(a: Math, factor: f64, b: Math) -> Math {
    match (a, b) {
        (Math::Number(a), Math::Number(b)) => Math::Number(a + factor * b),
        (a, b) if factor < 0.0 => a.minus(Math::Number(-factor).times(b)),
        (a, b) => Math::Apply(Op::Plus, vec![a, Math::Number(factor).times(b)]),
    }
}

/// Rewrites a line with totals instead of amounts that a fast reaction changes.
fn rewritten(line: Arrow, fast: &Fast) -> Vec<Arrow> {
    let mut counts: Vec<(Term, f64)> = vec![];
    let mut add =
        |key: &str, count: f64, fixed: bool| match counts.iter_mut().find(|(t, _)| t.key == key && t.fixed == fixed) {
            Some((_, known)) => *known += count,
            None => counts.push((Term { count: 0.0, key: key.to_string(), fixed }, count)),
        };
    let mut more = vec![];
    let touched = line.left.iter().chain(&line.right).any(|term| !term.fixed && fast.changes(&term.key));
    if !touched {
        return vec![line];
    }
    let signed = line.left.iter().map(|term| (-1.0, term)).chain(line.right.iter().map(|term| (1.0, term)));
    for (sign, term) in signed {
        if term.fixed || !fast.changes(&term.key) {
            add(&term.key, sign * term.count, term.fixed);
        } else if let Some(Other { total, .. }) = fast.others.iter().find(|other| other.key == term.key) {
            add(total, sign * term.count, false);
        } else {
            for Other { ratio: (number, times), total, .. } in &fast.others {
                let change = -number * sign * term.count;
                if *times == Math::Number(1.0) {
                    add(total, change, false);
                    continue;
                }
                let factor = line.factor.clone().unwrap_or(Math::Number(1.0)).times(times.clone());
                let one = vec![Term { count: change.abs(), key: total.clone(), fixed: false }];
                let (left, right) = if change < 0.0 { (one, vec![]) } else { (vec![], one) };
                more.push(Arrow { left, right, factor: Some(factor) });
            }
        }
    }
    let side = |of: f64| {
        let terms = counts.iter().filter(|(_, count)| count * of > 0.0);
        terms.map(|(term, count)| Term { count: count.abs(), ..term.clone() }).collect::<Vec<_>>()
    };
    let own = Arrow { left: side(-1.0), right: side(1.0), factor: line.factor };
    let empty = own.left.is_empty() && own.right.is_empty();
    (!empty).then_some(own).into_iter().chain(more).collect()
}
