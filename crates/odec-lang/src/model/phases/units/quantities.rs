//! The units of the names of the model: declared ones, or variables.

use odec_ir::Span;

use super::Checker;
use crate::model::Symbol;
use crate::syntax::tree::{Declared, ExprKind, Unit};
use crate::units::Units;
use crate::units::pool::UnitId;

/// A name with a unit.
pub(super) struct Quantity<'a> {
    pub name: &'a str,
    /// Source location of the declaration.
    pub span: Span,
    /// Unit bracket, if there is one.
    pub bracket: Option<&'a Unit>,
    /// Unit: that of the bracket, or a variable.
    pub unit: UnitId,
    /// Its unit, as far as it was known when it was used last.
    pub known: UnitId,
    /// True if neither a declaration nor a formula gives the unit: a number whose unit is inferred from its use only.
    pub guessed: bool,
    /// Symbol of the name.
    pub symbol: Symbol,
}

impl<'a> Checker<'a> {
    /// Collects all names with units, definitions last: elimination prefers to determine the last names.
    pub(super) fn collect(&mut self) {
        let names = self.names;
        let found = &names.found;
        self.by_name
            .reserve(found.parameters.len() + found.constants.len() + found.states.len() + found.definitions.len());
        self.quantities.reserve(self.by_name.capacity() + 1);
        self.time = match self.time_bracket() {
            Some(unit) => self.read_always(unit),
            None => self.pool.id(Units::second()),
        };
        self.units.time = self.pool[self.time].clone();
        let time = &names.time;
        let quantity = Quantity {
            name: &time.name,
            span: time.span.unwrap_or_default(),
            bracket: self.time_bracket(),
            unit: self.time,
            known: self.time,
            guessed: false,
            symbol: Symbol::Time,
        };
        self.enter(quantity);
        let given = found.parameters.iter().chain(&found.constants).chain(&found.states).chain(&found.discretes);
        for item in given {
            if item.target.primes == 0 {
                self.declare(item);
            } else {
                self.declare_without_unit(item);
            }
        }
        for input in &found.inputs {
            let (name, span, bracket) = (input.name.name.as_str(), input.name.span, input.unit);
            let unit = self.declared(bracket);
            let guessed = bracket.is_none();
            self.enter(Quantity { name, span, bracket, unit, known: unit, guessed, symbol: Symbol::Time });
            if let Some(argument) = &input.other {
                let (name, span, bracket) = (argument.key.as_str(), argument.name.span, argument.unit);
                let (unit, guessed) = (self.declared(bracket), bracket.is_none());
                self.enter(Quantity { name, span, bracket, unit, known: unit, guessed, symbol: Symbol::Time });
            }
        }
        self.first_definition = self.quantities.len();
        for definition in &found.definitions {
            let symbol = names.symbols.get(definition.name).copied().unwrap_or(Symbol::Time);
            let unit = self.declared(definition.unit);
            let (name, span, bracket) = (definition.name, definition.span, definition.unit);
            self.enter(Quantity { name, span, bracket, unit, known: unit, guessed: false, symbol });
        }
        let named = |kind: &ExprKind| match kind {
            ExprKind::Name(reference) => self.by_name.get(reference.name.name.as_str()).map(|&at| at as u32),
            _ => None,
        };
        self.named = self.input.tree.exprs.iter().map(|expr| named(&expr.kind)).collect();
    }

    fn time_bracket(&self) -> Option<&'a Unit> {
        self.input.tree.statements.iter().find_map(|s| match &s.kind {
            crate::syntax::tree::StatementKind::Time(_, unit) => Some(unit.as_ref()),
            _ => None,
        })?
    }

    fn declare(&mut self, item: &'a Declared) {
        let bracket = item.unit.as_ref();
        let unit = self.declared(bracket);
        self.add(item, bracket, unit);
    }

    /// Unit of a bracket, or a new variable.
    fn declared(&mut self, bracket: Option<&'a Unit>) -> UnitId {
        match bracket {
            Some(unit) => self.read(unit),
            None => self.fresh(),
        }
    }

    /// Enters a state that is declared only by its derivative.
    fn declare_without_unit(&mut self, item: &'a Declared) {
        let unit = self.fresh();
        self.add(item, None, unit);
    }

    fn add(&mut self, item: &'a Declared, bracket: Option<&'a Unit>, unit: UnitId) {
        let name = item.target.name.name.as_str();
        let symbol = self.names.symbols.get(name).copied().unwrap_or(Symbol::Time);
        let guessed = bracket.is_none();
        let span = item.target.name.span;
        self.enter(Quantity { name, span, bracket, unit, known: unit, guessed, symbol });
    }

    fn enter(&mut self, quantity: Quantity<'a>) {
        let at = self.quantities.len();
        self.by_name.entry(quantity.name).or_insert(at);
        self.quantities.push(quantity);
    }

    /// The quantity of this name.
    pub(super) fn quantity(&self, name: &str) -> Option<&Quantity<'a>> {
        self.by_name.get(name).map(|&i| &self.quantities[i])
    }
}
