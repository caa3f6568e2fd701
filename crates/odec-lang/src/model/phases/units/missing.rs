//! The unit of time that one of two terms lacks: `a*x - 3*x`, with `a` in [1/h].

use super::{Checker, Clash, Kind};
use crate::model::Symbol;
use crate::syntax::tree::{Binary, ExprId, ExprKind};
use crate::units::Units;
use crate::units::vector::Vector;

/// Largest number of operators and definitions between a term and its number.
const MAX_DEPTH: usize = 12;

/// A number that may lack a unit of time.
struct Lacking<'a> {
    number: ExprId,
    /// True for the number behind a `/`.
    divides: bool,
    /// The definition that contains it.
    definition: Option<&'a str>,
}

impl<'a> Checker<'a> {
    /// Both units of a contradiction. An unknown unit that is in both is left out if the rest is known, unless the
    /// message says that a name has this unit.
    pub(super) fn both_units(&mut self, clash: &Clash<'a>) -> (String, String) {
        if !matches!(clash.site.kind, Kind::Sum | Kind::Equation | Kind::Branches | Kind::Comparison) {
            return (self.words(clash.left), self.words(clash.right));
        }
        let (left, right) = (self.reduced(clash.left), self.reduced(clash.right));
        let of_both = |unit: &Vector, other: &Vector| {
            let shared = unit.iter().filter(|(key, power)| key.is_open() && other.get(*key) == *power);
            shared.map(|(key, _)| key).collect::<Vec<_>>()
        };
        let (a, b) = (&self.pool[left], &self.pool[right]);
        let shared = of_both(a, b);
        let rest = |unit: &Vector| shared.iter().fold(unit.clone(), |unit, key| unit.without(*key));
        let (a, b) = (rest(a), rest(b));
        if a.is_open() || b.is_open() {
            return (self.words(left), self.words(right));
        }
        let (a, b) = (self.pool.id(a), self.pool.id(b));
        (self.words(a), self.words(b))
    }

    /// Help for a term with a number that lacks the unit of time of the other term.
    pub(super) fn rate_with_number(&mut self, clash: &Clash<'a>) -> Option<String> {
        if !matches!(clash.site.kind, Kind::Sum | Kind::Equation | Kind::Branches) {
            return None;
        }
        let missing = clash.quotient.dimensions();
        let lacking = if missing.is_one() {
            None
        } else if missing.product(&Units::second()).is_one() {
            clash.site.right_expr
        } else if missing == Units::second() {
            clash.site.left_expr
        } else {
            None
        };
        let term = lacking?;
        let Lacking { number, divides, definition } = self.number_of(term, MAX_DEPTH)?;
        let unit = self.time_of_terms(clash);
        let unit = if divides { unit } else { format!("1/{unit}") };
        let (term, number) = (self.input.text(self.span(term)), self.input.text(self.span(number)));
        let place = definition.map_or_else(String::new, |name| format!(" in `{name}`"));
        let what = if divides { "time" } else { "rate" };
        Some(format!("`{term}` lacks a unit of time; a number that is a {what} has a unit: `{number} [{unit}]`{place}"))
    }

    /// The unit of time in which the terms of a contradiction differ, as the model writes it.
    pub(super) fn time_of_terms(&mut self, clash: &Clash<'a>) -> String {
        let words = self.units.words();
        let mut times = words.iter().filter(|(_, unit)| unit.dimensions() == Units::second());
        let differ = |unit: &Vector| {
            clash.quotient.product(unit).is_one() || Vector::default().quotient(&clash.quotient).product(unit).is_one()
        };
        if let Some((word, _)) = times.find(|(_, unit)| differ(unit)) {
            return (*word).to_owned();
        }
        let sides = [clash.site.left_expr, clash.site.right_expr];
        for name in sides.into_iter().flatten().flat_map(|side| self.names_in(side)) {
            let Some(bracket) = self.quantity(name).and_then(|q| q.bracket) else { continue };
            let mut words = bracket.text.split(|c: char| !c.is_alphabetic() && c != 'µ');
            let is_time = |word: &&str| self.units.find(word).is_some_and(|unit| unit.dimensions() == Units::second());
            if let Some(word) = words.find(is_time) {
                return word.to_owned();
            }
        }
        let time = self.time_power(1);
        self.words(time)
    }

    /// The number by which a term is multiplied, or else divided.
    fn number_of(&self, expr: ExprId, depth: usize) -> Option<Lacking<'a>> {
        let depth = depth.checked_sub(1)?;
        let lacking = |number, divides| Lacking { number, divides, definition: None };
        match &self.input.tree.exprs[expr.0 as usize].kind {
            ExprKind::Number(x) => (*x != 0.0 && x.is_finite()).then(|| lacking(expr, false)),
            ExprKind::Neg(a) => self.number_of(*a, depth),
            ExprKind::Binary(Binary::Mul, _, a, b) => self.number_of(*a, depth).or_else(|| self.number_of(*b, depth)),
            ExprKind::Binary(Binary::Div, _, a, b) => {
                let is_number = matches!(self.input.tree.exprs[b.0 as usize].kind, ExprKind::Number(_));
                self.number_of(*a, depth).or_else(|| is_number.then(|| lacking(*b, true)))
            }
            ExprKind::Name(reference) if reference.primes == 0 => {
                let at = self.named[expr.0 as usize]? as usize;
                let quantity = &self.quantities[at];
                let found = &self.names.found.definitions;
                let item = found.get(at.checked_sub(self.first_definition)?)?;
                let is_plain = quantity.bracket.is_none() && item.pieces.is_empty();
                if !is_plain || !matches!(quantity.symbol, Symbol::Definition(_)) {
                    return None;
                }
                let number = self.number_of(item.value, depth)?;
                Some(Lacking { definition: number.definition.or(Some(item.name)), ..number })
            }
            _ => None,
        }
    }
}
