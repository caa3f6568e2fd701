//! What an expression depends on: numbers alone, parameters, discretes, time, states or their derivatives.

use super::{Body, Model, Symbol, TermKind};

/// The quantities that a value depends on; each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Numbers and constants.
    Constant,
    /// Parameters.
    Parameter,
    /// Discretes: constant between two events.
    Discrete,
    /// The independent variable.
    Time,
    /// States.
    State,
    /// Highest derivatives, which the equations determine.
    Rate,
}

impl Model {
    /// The level of a term without its operands.
    pub(crate) fn own_level(&self, kind: &TermKind) -> Level {
        match kind {
            TermKind::Number(_) | TermKind::Constant(_) | TermKind::Argument(_) => Level::Constant,
            TermKind::Apply(..)
            | TermKind::Call(..)
            | TermKind::Input(..)
            | TermKind::Index(_)
            | TermKind::Reduce { .. } => Level::Constant,
            TermKind::Element(symbol, k, _) => match *symbol {
                Symbol::Time => Level::Time,
                Symbol::Index(_) | Symbol::Constant(_) => Level::Constant,
                Symbol::Parameter(_) => Level::Parameter,
                Symbol::Discrete(_) => Level::Discrete,
                Symbol::State(i) if *k >= self.states[i].order => Level::Rate,
                Symbol::State(_) => Level::State,
                Symbol::Definition(i) => self.definition_levels.get(i).copied().unwrap_or(Level::Constant),
            },
            TermKind::Parameter(_) => Level::Parameter,
            TermKind::Discrete(_) => Level::Discrete,
            TermKind::Time => Level::Time,
            TermKind::State(i, k) if *k >= self.states[*i].order => Level::Rate,
            TermKind::State(..) => Level::State,
            TermKind::Definition(i) => self.definition_levels.get(*i).copied().unwrap_or(Level::Constant),
        }
    }

    /// The level of an expression.
    pub fn level(&self, body: Body) -> Level {
        let own = self.terms[body.range()].iter().map(|t| self.own_level(&t.kind));
        own.max().unwrap_or(Level::Constant)
    }
}
