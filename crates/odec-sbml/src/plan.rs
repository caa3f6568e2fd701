//! What is written: quantities with their roles in an `.ode` text, equations and events. Formulas name quantities by keys.
//!
//! The key of a compartment, parameter, reaction or stoichiometry is its id. A species has two: `#S` is its amount, `[S]` its
//! concentration.

use std::collections::{BTreeMap, BTreeSet};

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

/// The key of a definition as it is at the start.
pub fn at_start(key: &str) -> String {
    format!("start {key}")
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
    /// Definitions as they are at the start, for initial values.
    Initial,
    /// Quantities as they were some time ago.
    Behind,
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
    /// A state whose derivative follows from the lines of reactions.
    pub by_arrows: bool,
}

/// A species on one side of an arrow.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// How much of it one reaction takes or makes; above 0.
    pub count: f64,
    /// The key of its amount.
    pub key: String,
    /// The reaction does not change it.
    pub fixed: bool,
}

/// A line with an arrow: `J: A -> B  rate k*A`, or `A -> 0  rate n*J` beside `J = k*A`.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrow {
    /// What is taken.
    pub left: Vec<Term>,
    /// What is made.
    pub right: Vec<Term>,
    /// The rate of the reaction is multiplied with this; none of the line that names the reaction.
    pub factor: Option<Math>,
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedEvent {
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
    /// Its place in the XML.
    pub span: Span,
}

/// Where the XML says what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    /// The element of each id.
    pub elements: BTreeMap<String, Span>,
    /// The rule of each id that has one.
    pub rules: BTreeMap<String, Span>,
    /// The initial assignment of each id that has one.
    pub initial: BTreeMap<String, Span>,
}

impl Places {
    /// The place of what determines a quantity at all times: its rule, or its element.
    pub fn of(&self, key: &str) -> Span {
        let id = id_of(key);
        self.rules.get(id).or_else(|| self.elements.get(id)).copied().unwrap_or_default()
    }

    /// The place of its initial value.
    pub fn start(&self, key: &str) -> Span {
        let id = id_of(key);
        self.initial.get(id).or_else(|| self.elements.get(id)).copied().unwrap_or_default()
    }
}

/// The id that a key is made of.
fn id_of(key: &str) -> &str {
    key.trim_start_matches("rate ").trim_start_matches("start ").trim_matches(['#', '[', ']'])
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
    /// The lines with arrows of each reaction, by its key. They hold all that reactions change.
    pub arrows: BTreeMap<String, Vec<Arrow>>,
    /// Formulas that are 0.
    pub equations: Vec<(Math, Span)>,
    /// Events.
    pub events: Vec<PlannedEvent>,
    /// Where the XML says what.
    pub places: Places,
}
