//! The parts of a model, as in SBML. Attributes that a level leaves out have the default of that level.

use odec_ir::Span;

use crate::math::Math;
use crate::read::units::UnitTable;

/// Common attributes of all parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Base {
    /// Its id in formulas; empty if it has none.
    pub id: String,
    /// Its id for packages.
    pub metaid: String,
    /// A human-readable name.
    pub name: String,
    /// The location of its start tag in the XML.
    pub span: Span,
    /// The submodels that contain it: `A__B__`; empty in the model itself.
    pub owner: String,
    /// The elements of submodels that it replaces.
    pub replaces: Vec<Replacement>,
    /// The element that replaces it.
    pub replaced_by: Option<Replacement>,
}

/// One step of a path into submodels.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// By an id.
    Id(String),
    /// By a port.
    Port(String),
    /// By a metaid.
    MetaId(String),
    /// To a unit definition.
    Unit(String),
}

/// An element of a submodel that replaces, or is replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct Replacement {
    /// The submodel.
    pub submodel: String,
    /// The path from there.
    pub path: Vec<Step>,
    /// True if it refers to a deletion, which the submodel already has.
    pub deletion: bool,
    /// The conversion factor between the two values: a parameter.
    pub factor: Option<String>,
    /// Its location.
    pub span: Span,
}

/// A submodel.
#[derive(Clone, Debug, PartialEq)]
pub struct Submodel {
    /// Id and location.
    pub base: Base,
    /// The definition of the model.
    pub model: String,
    /// The elements that are deleted from it.
    pub deletions: Vec<(Vec<Step>, Span)>,
    /// A parameter that converts its time to that of the whole model.
    pub time: Option<String>,
    /// A parameter that converts its extent to that of the whole model.
    pub extent: Option<String>,
}

/// An element that other models may refer to.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Id.
    pub id: String,
    /// The element.
    pub path: Vec<Step>,
}

/// A compartment.
#[derive(Clone, Debug, PartialEq)]
pub struct Compartment {
    /// Id and location.
    pub base: Base,
    /// 3 for a volume; a compartment with 0 has no size.
    pub dimensions: f64,
    /// Its initial size, if the file gives it.
    pub size: Option<f64>,
    /// True if nothing changes it.
    pub constant: bool,
}

/// A species.
#[derive(Clone, Debug, PartialEq)]
pub struct Species {
    /// Id and location.
    pub base: Base,
    /// Its compartment.
    pub compartment: String,
    /// Initial amount.
    pub amount: Option<f64>,
    /// Initial concentration.
    pub concentration: Option<f64>,
    /// True if its id means its amount in formulas, rather than its concentration.
    pub substance_only: bool,
    /// True if reactions do not change it.
    pub boundary: bool,
    /// True if nothing changes it.
    pub constant: bool,
    /// The conversion factor of reactions that change it: a parameter.
    pub conversion: Option<String>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Id and location. The id of a parameter of one reaction is `reaction.id`, which cannot occur in a file.
    pub base: Base,
    /// Its initial value, if the file gives it.
    pub value: Option<f64>,
    /// True if nothing changes it.
    pub constant: bool,
    /// True if it belongs to one reaction.
    pub local: bool,
    /// True if it is a copy of another quantity, made for a delay.
    pub behind: bool,
}

/// A function definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Id and location.
    pub base: Base,
    /// Names of the arguments.
    pub arguments: Vec<String>,
    /// Its body.
    pub body: Math,
}

/// The meaning of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// The variable is equal to the formula at all times.
    Assignment,
    /// The formula is the derivative of the variable.
    Rate,
    /// The formula is 0 at all times.
    Algebraic,
}

/// A rule, or an initial assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Id and location.
    pub base: Base,
    /// The kind of rule; `Assignment` for an initial assignment.
    pub kind: RuleKind,
    /// The variable; empty for an algebraic rule.
    pub variable: String,
    /// The formula.
    pub math: Math,
}

/// A reactant or product of a reaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// An id with which rules and events can change the stoichiometry.
    pub base: Base,
    /// The species.
    pub species: String,
    /// The stoichiometry: how much of it one reaction consumes or produces.
    pub value: Option<f64>,
    /// The stoichiometry as a formula (Level 2).
    pub math: Option<Math>,
    /// True if nothing changes the stoichiometry.
    pub constant: bool,
}

/// A reaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Reaction {
    /// Id and location.
    pub base: Base,
    /// Reactants.
    pub reactants: Vec<Reference>,
    /// Products.
    pub products: Vec<Reference>,
    /// The kinetic law: its rate, in amount per time.
    pub law: Option<Math>,
    /// True if it is always in equilibrium.
    pub fast: bool,
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Id and location.
    pub base: Base,
    /// The condition that triggers it.
    pub trigger: Option<Math>,
    /// The time from the trigger to the execution.
    pub delay: Option<Math>,
    /// Among several events, the one with the highest priority comes first.
    pub priority: Option<Math>,
    /// True if the values are those at the trigger rather than at the execution.
    pub early: bool,
    /// True if it is executed even if the trigger becomes false before.
    pub persistent: bool,
    /// The value of the trigger before the start.
    pub initially: bool,
    /// The quantities that it sets, with their new values.
    pub assignments: Vec<Rule>,
}

/// A whole model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Id and location.
    pub base: Base,
    /// Level and version.
    pub level: (u32, u32),
    /// Functions.
    pub functions: Vec<Function>,
    /// Compartments.
    pub compartments: Vec<Compartment>,
    /// Species.
    pub species: Vec<Species>,
    /// Parameters, including those of single reactions.
    pub parameters: Vec<Parameter>,
    /// Initial values.
    pub initial: Vec<Rule>,
    /// Rules.
    pub rules: Vec<Rule>,
    /// Reactions.
    pub reactions: Vec<Reaction>,
    /// Events.
    pub events: Vec<Event>,
    /// The conversion factor of species that have none of their own.
    pub conversion: Option<String>,
    /// Submodels.
    pub submodels: Vec<Submodel>,
    /// Ports.
    pub ports: Vec<Port>,
    /// Units.
    pub units: UnitTable,
}

impl Model {
    /// All reactants and products.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.reactions.iter().flat_map(|r| r.reactants.iter().chain(&r.products))
    }

    /// All formulas except the bodies of functions.
    pub fn formulas(&self) -> impl Iterator<Item = &Math> {
        let rules = self.rules.iter().chain(&self.initial).map(|rule| &rule.math);
        let laws = self.reactions.iter().filter_map(|reaction| reaction.law.as_ref());
        let references = self.references().filter_map(|reference| reference.math.as_ref());
        let events = self.events.iter().flat_map(|event| {
            let heads = event.trigger.iter().chain(&event.delay).chain(&event.priority);
            heads.chain(event.assignments.iter().map(|a| &a.math))
        });
        rules.chain(laws).chain(references).chain(events)
    }

    /// The same, mutable.
    pub fn formulas_mut(&mut self) -> impl Iterator<Item = &mut Math> {
        let rules = self.rules.iter_mut().chain(&mut self.initial).map(|rule| &mut rule.math);
        let reactions = self.reactions.iter_mut().flat_map(|reaction| {
            let references = reaction.reactants.iter_mut().chain(&mut reaction.products);
            reaction.law.iter_mut().chain(references.filter_map(|reference| reference.math.as_mut()))
        });
        let events = self.events.iter_mut().flat_map(|event| {
            let heads = event.trigger.iter_mut().chain(&mut event.delay).chain(&mut event.priority);
            heads.chain(event.assignments.iter_mut().map(|a| &mut a.math))
        });
        rules.chain(reactions).chain(events)
    }
}
