//! The units of the names of the model: declared ones, or variables.

use std::collections::HashMap;

use odec_ir::Span;

use super::Checker;
use crate::model::Symbol;
use crate::model::phases::names::OutputItem;
use crate::syntax::tree::{Expr, ExprId, ExprKind, Later, StatementKind, Unit};
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
    /// True for a definition whose value is converted to the unit of its `output` line.
    pub rescaled: bool,
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
            rescaled: false,
            symbol: Symbol::Time,
        };
        self.enter(quantity);
        let given = found.parameters.iter().chain(&found.constants).chain(&found.states).chain(&found.discretes);
        for item in given {
            let (name, span) = (item.target.name.name.as_str(), item.target.name.span);
            let symbol = names.symbols.get(name).copied().unwrap_or(Symbol::Time);
            // a state that is declared only by its derivative has no unit of its own
            let bracket = item.unit.as_ref().filter(|_| item.target.primes == 0);
            self.add((name, span), bracket, symbol);
        }
        for input in &found.inputs {
            self.add((&input.name.name, input.name.span), input.unit, Symbol::Time);
            if let Some(argument) = &input.other {
                self.add((&argument.key, argument.name.span), argument.unit, Symbol::Time);
            }
        }
        self.first_definition = self.quantities.len();
        let shown = self.shown();
        for (k, definition) in found.definitions.iter().enumerate() {
            let symbol = Symbol::Definition(k);
            let bracket = definition.unit.or_else(|| shown.get(definition.name).copied());
            let unit = self.declared(bracket);
            let (name, span) = (definition.name, definition.span);
            self.enter(Quantity { name, span, bracket, unit, known: unit, guessed: false, rescaled: false, symbol });
        }
        let tree = self.input.tree;
        let named = |kind: &ExprKind| match kind {
            ExprKind::Name(reference) => self.by_name.get(reference.name.name.as_str()).map(|&at| at as u32),
            _ => None,
        };
        let tree_nodes = &mut self.tree_nodes;
        let enter = |(k, expr): (usize, &Expr)| {
            tree_nodes.enter(tree, ExprId(k as u32));
            named(&expr.kind)
        };
        self.named = tree.exprs.iter().enumerate().map(enter).collect();
        self.find_counts();
    }

    /// Marks the constants without a unit in the ranges of indices.
    fn find_counts(&mut self) {
        let indices = self.input.tree.statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Later(Later::Index(items)) => Some(items),
            _ => None,
        });
        for (_, first, last) in indices.flatten() {
            for id in self.input.nodes_of(*first).into_iter().chain(self.input.nodes_of(*last)) {
                let Some(at) = self.named[id.0 as usize].map(|at| at as usize) else { continue };
                if self.quantities[at].bracket.is_none() && matches!(self.quantities[at].symbol, Symbol::Constant(_)) {
                    self.counts.resize(self.quantities.len(), false);
                    self.counts[at] = true;
                }
            }
        }
    }

    fn time_bracket(&self) -> Option<&'a Unit> {
        self.input.tree.statements.iter().find_map(|s| match &s.kind {
            StatementKind::Time(_, unit) => Some(unit.as_ref()),
            _ => None,
        })?
    }

    /// The units in `output` lines of existing names: a definition has no other place for its unit.
    fn shown(&self) -> HashMap<&'a str, &'a Unit> {
        let shown = self.names.found.outputs.iter().filter_map(|output| match output {
            OutputItem::Existing(reference, Some(unit), _) if reference.primes == 0 && reference.path.is_empty() => {
                Some((reference.name.name.as_str(), *unit))
            }
            _ => None,
        });
        // the first of several units counts, and the others are refused
        let mut units = HashMap::new();
        for (name, unit) in shown {
            units.entry(name).or_insert(unit);
        }
        units
    }

    /// Unit of a bracket, or a new variable.
    fn declared(&mut self, bracket: Option<&'a Unit>) -> UnitId {
        match bracket {
            Some(unit) => self.read(unit),
            None => self.fresh(),
        }
    }

    /// Enters a declared name.
    fn add(&mut self, (name, span): (&'a str, Span), bracket: Option<&'a Unit>, symbol: Symbol) {
        let unit = self.declared(bracket);
        let guessed = bracket.is_none();
        self.enter(Quantity { name, span, bracket, unit, known: unit, guessed, rescaled: false, symbol });
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
