//! The parts of a model as SBML has them. What a level leaves out has the value that the level says.

use odec_ir::Span;

use crate::math::Math;

/// What every part has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Base {
    /// What formulas call it; empty if it has none.
    pub id: String,
    /// What packages may call it.
    pub metaid: String,
    /// A name for people.
    pub name: String,
    /// Its first tag in the XML.
    pub span: Span,
    /// The submodels that it is in: `A__B__`; empty in the model itself.
    pub owner: String,
    /// What it replaces in submodels.
    pub replaces: Vec<Replacement>,
    /// What it is replaced by.
    pub replaced_by: Option<Replacement>,
}

/// One step on the way into submodels.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// By id.
    Id(String),
    /// By a port.
    Port(String),
    /// By metaid.
    MetaId(String),
    /// To the definition of a unit.
    Unit(String),
}

/// A part of a submodel that is replaced, or that replaces.
#[derive(Clone, Debug, PartialEq)]
pub struct Replacement {
    /// In which submodel.
    pub submodel: String,
    /// The way from there.
    pub path: Vec<Step>,
    /// It stands for a deletion, which the submodel has already.
    pub deletion: bool,
    /// A parameter between the two values.
    pub factor: Option<String>,
    /// Where it says so.
    pub span: Span,
}

/// A model inside of another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Submodel {
    /// Id and place.
    pub base: Base,
    /// Which model.
    pub model: String,
    /// What is left out of it.
    pub deletions: Vec<(Vec<Step>, Span)>,
    /// A parameter: its unit of time in that of the whole.
    pub time: Option<String>,
    /// A parameter: its unit of extent in that of the whole.
    pub extent: Option<String>,
}

/// A part that other models may name.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Id.
    pub id: String,
    /// The part.
    pub path: Vec<Step>,
}

/// A room with a size.
#[derive(Clone, Debug, PartialEq)]
pub struct Compartment {
    /// Id and place.
    pub base: Base,
    /// 3 of a volume; 0 has no size.
    pub dimensions: f64,
    /// Its size at the start, if the file says it.
    pub size: Option<f64>,
    /// Nothing changes it.
    pub constant: bool,
}

/// A substance in a compartment.
#[derive(Clone, Debug, PartialEq)]
pub struct Species {
    /// Id and place.
    pub base: Base,
    /// Where it is.
    pub compartment: String,
    /// Amount at the start.
    pub amount: Option<f64>,
    /// Concentration at the start.
    pub concentration: Option<f64>,
    /// Formulas mean its amount; else they mean its concentration.
    pub substance_only: bool,
    /// Reactions do not change it.
    pub boundary: bool,
    /// Nothing changes it.
    pub constant: bool,
    /// A parameter: what a reaction makes is multiplied with it.
    pub conversion: Option<String>,
}

/// A number with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Id and place. That of a parameter of one reaction is `reaction.id`, which no id of a file can be.
    pub base: Base,
    /// Its initial value, if the file says it.
    pub value: Option<f64>,
    /// Nothing changes it.
    pub constant: bool,
    /// It belongs to one reaction.
    pub local: bool,
    /// It is a copy of another quantity that runs behind, for a delay.
    pub behind: bool,
}

/// A function of its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Id and place.
    pub base: Base,
    /// Names of the arguments.
    pub arguments: Vec<String>,
    /// Its value.
    pub body: Math,
}

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// The variable has this value at all times.
    Assignment,
    /// The variable changes at this rate.
    Rate,
    /// The formula is 0 at all times.
    Algebraic,
}

/// A rule, or an initial assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Id and place.
    pub base: Base,
    /// What it says; of an initial assignment this is `Assignment`.
    pub kind: RuleKind,
    /// The quantity; empty of an algebraic rule.
    pub variable: String,
    /// The formula.
    pub math: Math,
}

/// A reactant or product of a reaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Id, by which rules and events may change the stoichiometry.
    pub base: Base,
    /// Which species.
    pub species: String,
    /// How much of it one reaction takes or makes.
    pub value: Option<f64>,
    /// The same as a formula (Level 2).
    pub math: Option<Math>,
}

/// A reaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Reaction {
    /// Id and place.
    pub base: Base,
    /// What it takes.
    pub reactants: Vec<Reference>,
    /// What it makes.
    pub products: Vec<Reference>,
    /// How often it happens, in amount over time.
    pub law: Option<Math>,
    /// It is always in equilibrium.
    pub fast: bool,
}

/// What happens at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Id and place.
    pub base: Base,
    /// The event happens where this becomes true.
    pub trigger: Option<Math>,
    /// How much later it is executed.
    pub delay: Option<Math>,
    /// Which of several is executed first.
    pub priority: Option<Math>,
    /// Values are those of the trigger, not those of the execution.
    pub early: bool,
    /// It is executed even if the trigger becomes false before.
    pub persistent: bool,
    /// What the trigger counts as before the start.
    pub initially: bool,
    /// Quantities with their new values.
    pub assignments: Vec<Rule>,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Id and place.
    pub base: Base,
    /// Level and version.
    pub level: (u32, u32),
    /// Functions.
    pub functions: Vec<Function>,
    /// Compartments.
    pub compartments: Vec<Compartment>,
    /// Species.
    pub species: Vec<Species>,
    /// Parameters, those of single reactions too.
    pub parameters: Vec<Parameter>,
    /// Initial values.
    pub initial: Vec<Rule>,
    /// Rules.
    pub rules: Vec<Rule>,
    /// Reactions.
    pub reactions: Vec<Reaction>,
    /// Events.
    pub events: Vec<Event>,
    /// The conversion factor of species without one of their own.
    pub conversion: Option<String>,
    /// Submodels.
    pub submodels: Vec<Submodel>,
    /// Ports.
    pub ports: Vec<Port>,
}

impl Model {
    /// All reactants and products.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.reactions.iter().flat_map(|r| r.reactants.iter().chain(&r.products))
    }

    /// All formulas that are no bodies of functions.
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

    /// The same, to be changed.
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
