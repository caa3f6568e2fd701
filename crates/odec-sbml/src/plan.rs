//! What is written: quantities with their roles in an `.ode` text, equations and events. Formulas name quantities by keys.
//!
//! The key of a compartment, parameter, reaction or stoichiometry is its id. A species has two: `#S` is its amount, `[S]` its
//! concentration.

use std::collections::BTreeSet;

use odec_ir::Span;

use crate::math::Math;
use crate::model::Function;

/// The key of the amount of a species.
pub fn amount(species: &str) -> String {
    format!("#{species}")
}

/// The key of the concentration of a species.
pub fn concentration(species: &str) -> String {
    format!("[{species}]")
}

/// The key of the derivative of a state.
pub fn rate(key: &str) -> String {
    format!("rate {key}")
}

/// What a quantity is in the text.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// `param k = 1`
    Parameter(f64),
    /// `k = 2*a`
    Defined(Math),
    /// `state S = 1` and `S' = ...`
    State(Math, Math),
    /// `discrete k = 1`, which events change, or nothing.
    Discrete(Math),
    /// `unknown z = 1`, which the equations of algebraic rules determine.
    Unknown(Math),
}

/// Under which heading a quantity is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Parameters.
    Parameters,
    /// Parameters of single reactions.
    Locals,
    /// Compartments.
    Compartments,
    /// Species.
    Species,
    /// Stoichiometries that have names.
    Stoichiometries,
    /// Reactions.
    Reactions,
    /// Derivatives that formulas use.
    Rates,
    /// Values that events keep from their triggers to their executions.
    Kept,
}

/// A quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// What formulas call it.
    pub key: String,
    /// What it is.
    pub role: Role,
    /// Where it is written.
    pub section: Section,
    /// What was decided, if that is not plain.
    pub note: Option<String>,
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Happening {
    /// Its id, and its name for people.
    pub title: String,
    /// The condition.
    pub trigger: Math,
    /// Executed so much later.
    pub delay: Option<Math>,
    /// Highest first.
    pub priority: Option<Math>,
    /// Right sides are read at the execution.
    pub late: bool,
    /// They are those of the trigger for SBML. Of an event that is neither late nor early, both are the same.
    pub early: bool,
    /// Dropped if the condition turns false.
    pub cancel: bool,
    /// Executed in a round of its own.
    pub alone: bool,
    /// The condition counts as false before the start.
    pub from_start: bool,
    /// Keys and what they become.
    pub actions: Vec<(String, Math)>,
}

/// All that is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The id of the model, and its name for people.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// Level and version.
    pub level: (u32, u32),
    /// Functions.
    pub functions: Vec<Function>,
    /// Those whose value depends on the time: they get it as one more argument.
    pub timed: BTreeSet<String>,
    /// Quantities.
    pub quantities: Vec<Quantity>,
    /// Formulas that are 0.
    pub equations: Vec<(Math, Span)>,
    /// Events.
    pub events: Vec<Happening>,
}
