//! The content of the text to write: quantities with their roles in an `.ode` model, equations and events. Formulas
//! refer to quantities by keys.
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

/// The key of the initial value of a definition.
pub fn at_start(key: &str) -> String {
    format!("start {key}")
}

/// The role of a quantity in the text.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// `param k = 1`
    Parameter(f64),
    /// `k = 2*a`
    Defined(Math),
    /// `state S = 1` and `S' = ...`
    State(Math, Math),
    /// `discrete k = 1`, which only events change, if anything.
    Discrete(Math),
    /// `unknown z = 1`, which the equations of algebraic rules determine.
    Unknown(Math),
}

/// The heading under which a quantity is written.
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
    /// Initial values of definitions, for other initial values.
    Initial,
    /// Delayed quantities.
    Behind,
    /// Values that events store from the start or from their triggers to their executions.
    Kept,
}

/// A quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Its key in formulas.
    pub key: String,
    /// Its role.
    pub role: Role,
    /// Its heading.
    pub section: Section,
    /// A comment about a decision that is not obvious.
    pub note: Option<String>,
    /// True for a state whose derivative follows from reactions.
    pub by_arrows: bool,
}

/// A species on one side of an arrow.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Its stoichiometry, which is positive.
    pub count: f64,
    /// The key of its amount.
    pub key: String,
    /// True if the reaction does not change it.
    pub fixed: bool,
}

/// A line with an arrow: `J: A -> B  rate k*A`, or `A -> 0  rate n*J` beside `J = k*A`.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrow {
    /// The species that it consumes.
    pub left: Vec<Term>,
    /// The species that it produces.
    pub right: Vec<Term>,
    /// The factor of the reaction's rate; `None` for the line that names the reaction.
    pub factor: Option<Math>,
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedEvent {
    /// Its id and its human-readable name.
    pub title: String,
    /// The condition.
    pub trigger: Math,
    /// The time from the trigger to the execution.
    pub delay: Option<Math>,
    /// The event with the highest priority comes first.
    pub priority: Option<Math>,
    /// True if right-hand sides are read at the execution.
    pub late: bool,
    /// True if SBML reads them at the trigger. If an event is neither late nor early, both are the same.
    pub early: bool,
    /// True if the event is cancelled when the condition becomes false.
    pub cancel: bool,
    /// True if it has a round of its own.
    pub alone: bool,
    /// True if the condition counts as false before the start.
    pub from_start: bool,
    /// The keys that it sets, and their values.
    pub actions: Vec<(String, Math)>,
    /// Its location in the XML.
    pub span: Span,
}

/// Locations in the XML.
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
    /// The location of what determines a quantity at all times: its rule, or its element.
    pub fn of(&self, key: &str) -> Span {
        let id = id_of(key);
        self.rules.get(id).or_else(|| self.elements.get(id)).copied().unwrap_or_default()
    }

    /// The location of its initial value.
    pub fn start(&self, key: &str) -> Span {
        let id = id_of(key);
        self.initial.get(id).or_else(|| self.elements.get(id)).copied().unwrap_or_default()
    }
}

/// The id in a key.
fn id_of(key: &str) -> &str {
    key.trim_start_matches("rate ").trim_start_matches("start ").trim_matches(['#', '[', ']'])
}

/// Everything that is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The id of the model.
    pub id: String,
    /// Its human-readable name.
    pub name: String,
    /// Level and version.
    pub level: (u32, u32),
    /// Functions.
    pub functions: Vec<Function>,
    /// The functions whose value depends on the time. They get the time as an additional argument.
    pub timed: BTreeSet<String>,
    /// Quantities.
    pub quantities: Vec<Quantity>,
    /// For each reaction, by its key, its lines with arrows. They contain everything that reactions change.
    pub arrows: BTreeMap<String, Vec<Arrow>>,
    /// Formulas that are 0 at all times.
    pub equations: Vec<(Math, Span)>,
    /// Events.
    pub events: Vec<PlannedEvent>,
    /// Locations in the XML.
    pub places: Places,
}
