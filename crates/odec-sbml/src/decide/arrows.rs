//! Reactions as lines with arrows. Such a line contains stoichiometric numbers. A stoichiometry with a name or a
//! formula, and a conversion factor, multiply the rate instead: `J = k*A`, `A -> 0  rate n*J`.

use std::collections::{BTreeMap, BTreeSet};

use odec_lang::diagnostic::codes;

use super::symbols::Symbol;
use super::{Decider, value_key};
use crate::math::{Math, Op};
use crate::model::{Reaction, Reference, Species};
use crate::plan::{Arrow, Role, Section, Term, amount};

/// A reactant or product, as a line can show it.
struct Part<'m> {
    species: &'m Species,
    /// Positive for a product.
    sign: f64,
    /// The number that multiplies the rate, in addition to `times`.
    count: f64,
    /// The stoichiometry, if it is not a number.
    times: Option<Math>,
    /// A conversion factor.
    conversion: Option<Math>,
    /// True if the reaction does not change it.
    fixed: bool,
}

impl Part<'_> {
    /// The part as a term, and whether the reaction produces it.
    fn term(&self) -> (bool, Term) {
        let key = amount(&self.species.base.id);
        (self.sign * self.count > 0.0, Term { count: self.count.abs(), key, fixed: self.fixed })
    }
}

/// True for a number that can stand before a species.
fn is_count(v: f64) -> bool {
    v.is_finite() && v != 0.0 && v.abs() != std::f64::consts::PI && v.abs() != std::f64::consts::E
}

/// A line with these parts; `None` if there are none.
fn arrow<'p, 'm: 'p>(parts: impl IntoIterator<Item = &'p Part<'m>>, factor: Option<Math>) -> Option<Arrow> {
    let mut line = Arrow { left: vec![], right: vec![], factor };
    for part in parts {
        let (made, term) = part.term();
        let side = if made { &mut line.right } else { &mut line.left };
        match side.iter_mut().find(|known| known.key == term.key) {
            Some(known) => known.count += term.count,
            None => side.push(term),
        }
    }
    (!line.left.is_empty() || !line.right.is_empty()).then_some(line)
}

impl<'m> Decider<'m, '_> {
    /// Collects the rates of the reactions and their lines.
    pub fn reactions(&mut self) -> BTreeMap<String, Vec<Arrow>> {
        let mut arrows = BTreeMap::new();
        for reaction in &self.symbols.model.reactions {
            let Some(law) = &reaction.law else {
                let headline = format!("reaction `{}` has no kinetic law, so odec leaves it out", reaction.base.id);
                self.report.warning(&codes::W0802, headline, reaction.base.span, "its rate is unknown");
                continue;
            };
            let law = self.meaning(law);
            let lines = self.lines(reaction);
            // a single complete line needs no comment
            let says = matches!(lines.as_slice(), [line] if line.factor.is_none() && shows_all(reaction));
            let note = equation(reaction);
            self.add(&reaction.base.id, Role::Defined(law), Section::Reactions, (!says).then_some(note.as_str()));
            arrows.insert(reaction.base.id.clone(), lines);
        }
        // a state with total stoichiometry 0 is in no line
        let terms = arrows.values().flatten().flat_map(|line| line.left.iter().chain(&line.right));
        let changed: BTreeSet<&str> = terms.filter(|term| !term.fixed).map(|term| term.key.as_str()).collect();
        for quantity in &mut self.quantities {
            quantity.by_arrows &= changed.contains(quantity.key.as_str());
        }
        arrows
    }

    /// The lines of a reaction. A single line that names it is enough if it can show everything that the reaction
    /// does.
    fn lines(&mut self, reaction: &'m Reaction) -> Vec<Arrow> {
        let parts = self.parts(reaction);
        let in_numbers = |part: &Part<'_>| part.times.is_none();
        if parts.iter().all(|part| part.fixed || in_numbers(part) && part.conversion.is_none()) {
            return arrow(parts.iter().filter(|part| in_numbers(part)), None).into_iter().collect();
        }
        let mut lines: Vec<Arrow> = vec![];
        let (plain, others): (Vec<&Part<'_>>, Vec<_>) =
            parts.iter().filter(|part| !part.fixed).partition(|p| in_numbers(p));
        let mut open = plain;
        while let Some(first) = open.first() {
            let factor = first.conversion.clone();
            let (same, rest): (Vec<&Part<'_>>, Vec<_>) = open.iter().partition(|part| part.conversion == factor);
            lines.extend(arrow(same, Some(factor.unwrap_or(Math::Number(1.0)))));
            open = rest;
        }
        for part in others {
            let times = part.times.clone().unwrap_or(Math::Number(1.0));
            let factor = part.conversion.clone().unwrap_or(Math::Number(1.0)).times(times);
            lines.extend(arrow([part], Some(factor)));
        }
        lines
    }

    /// What a reaction changes, with the change of the amount each time it happens: the product of a number and a
    /// formula.
    pub fn changes(&mut self, reaction: &'m Reaction) -> Vec<(&'m Species, f64, Math)> {
        let parts = self.parts(reaction).into_iter().filter(|part| !part.fixed);
        let change = |part: Part<'m>| {
            let factors = [part.times, part.conversion].into_iter().flatten();
            (part.species, part.sign * part.count, factors.fold(Math::Number(1.0), Math::times))
        };
        parts.map(change).collect()
    }

    /// Reactants and products, without those whose stoichiometry is 0.
    fn parts(&mut self, reaction: &'m Reaction) -> Vec<Part<'m>> {
        let mut parts = vec![];
        let taken = reaction.reactants.iter().map(|reference| (-1.0, reference));
        for (sign, reference) in taken.chain(reaction.products.iter().map(|reference| (1.0, reference))) {
            let Some(Symbol::Species(species)) = self.symbols.table.get(reference.species.as_str()).copied() else {
                continue;
            };
            let fixed = species.boundary || species.constant;
            // errors were reported for the species that it changes
            let (count, times) = if fixed && reference.value.is_none() && reference.math.is_none() {
                (1.0, Math::Number(1.0))
            } else {
                self.stoichiometry(reference)
            };
            if count == 0.0 && times == Math::Number(1.0) {
                continue;
            }
            let (count, times) = if is_count(count) { (count, times) } else { (1.0, Math::Number(count).times(times)) };
            let times = (times != Math::Number(1.0)).then_some(times);
            let conversion = (!fixed).then(|| self.conversion(species)).flatten();
            parts.push(Part { species, sign, count, times, conversion, fixed });
        }
        parts
    }

    /// The conversion factor of a species, if it has an existing one.
    fn conversion(&self, species: &Species) -> Option<Math> {
        let id = species.conversion.as_ref().or(self.symbols.model.conversion.as_ref())?;
        self.symbols.table.contains_key(id.as_str()).then(|| Math::name(value_key(&self.symbols, id)))
    }

    /// The derivative of the amount of a species: the sum of the rates of its reactions times stoichiometries and
    /// conversion factors.
    pub fn sum_of_reactions(&mut self, species: &Species) -> Math {
        let model = self.symbols.model;
        let mut terms = vec![];
        for (sign, reaction, reference) in
            self.symbols.reactive.get(species.base.id.as_str()).cloned().unwrap_or_default()
        {
            let (factor, times) = self.stoichiometry(reference);
            if factor == 0.0 {
                continue;
            }
            let term = times.times(Math::name(&reaction.base.id));
            terms.push(match sign * factor {
                factor if factor < 0.0 => Math::Apply(Op::Minus, vec![Math::Number(-factor).times(term)]),
                factor => Math::Number(factor).times(term),
            });
        }
        let sum = Math::Apply(Op::Plus, terms);
        let named = species.conversion.as_ref().or(model.conversion.as_ref());
        match (self.conversion(species), named) {
            (Some(factor), _) => factor.times(sum),
            (None, None) => sum,
            (None, Some(id)) => {
                let headline = format!("there is no parameter `{id}`");
                self.report.error(&codes::E0805, headline, species.base.span, "its conversion factor");
                sum
            }
        }
    }

    /// The stoichiometry as the product of a number and a formula.
    fn stoichiometry(&mut self, reference: &Reference) -> (f64, Math) {
        let named = !reference.base.id.is_empty();
        match (&reference.math, reference.value) {
            (_, Some(value)) if !named && reference.math.is_none() => (value, Math::Number(1.0)),
            (Some(math), _) if !named => {
                let math = self.meaning(math);
                (1.0, math)
            }
            (None, None) if !named => {
                let headline = format!("the species reference of `{}` has no stoichiometry", reference.species);
                self.report.error(&codes::E0804, headline, reference.base.span, "here");
                (1.0, Math::Number(1.0))
            }
            _ => (1.0, Math::name(&reference.base.id)),
        }
    }
}

/// True if a line shows all reactants and products with their numbers.
fn shows_all(reaction: &Reaction) -> bool {
    let mut all = reaction.reactants.iter().chain(&reaction.products);
    all.all(|r| r.base.id.is_empty() && r.math.is_none() && r.value.is_some_and(|v| v > 0.0))
}

/// `A + 2 B -> C`
fn equation(reaction: &Reaction) -> String {
    let side = |list: &[Reference]| {
        let term = |r: &Reference| match r.value.filter(|_| r.math.is_none()) {
            _ if !r.base.id.is_empty() => format!("{} {}", r.base.id, r.species),
            Some(1.0) => r.species.clone(),
            Some(v) => format!("{v} {}", r.species),
            None => format!("(...) {}", r.species),
        };
        if list.is_empty() { "0".to_string() } else { list.iter().map(term).collect::<Vec<_>>().join(" + ") }
    };
    format!("{} -> {}", side(&reaction.reactants), side(&reaction.products))
}
