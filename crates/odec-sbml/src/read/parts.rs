//! Reads the lists of a model, one after the other.

use std::collections::BTreeSet;

use odec_lang::diagnostic::codes;

use super::units::UnitTable;
use super::{comp, infix, mathml};
use crate::math::{Math, simplified};
use crate::model::{Compartment, Event, Function, Model, Parameter, Reaction, Reference, Rule, RuleKind, Species};
use crate::report::Report;
use crate::xml::{Element, attribute, base, child, children, list, real, required, span, truth};

/// The context for reading all parts.
struct Reader<'r> {
    level: u32,
    version: u32,
    report: &'r mut Report,
}

/// Reads an element `<model>` or `<modelDefinition>`.
pub fn model(level: (u32, u32), node: Element<'_>, report: &mut Report) -> Model {
    let mut reader = Reader { level: level.0, version: level.1, report };
    let mut model = Model { base: base(node, level.0), level, ..Model::default() };
    model.conversion = attribute(node, "conversionFactor").map(str::to_string);
    model.submodels = comp::submodels(node, reader.report);
    model.ports = comp::ports(node);
    model.units = UnitTable::of(level.0, node);
    for part in list(node, "listOfFunctionDefinitions") {
        reader.function(part, &mut model);
    }
    for part in list(node, "listOfCompartments") {
        let compartment = reader.compartment(part);
        model.units.note(&compartment.base.id, part);
        model.compartments.push(compartment);
    }
    for part in list(node, "listOfSpecies") {
        let species = reader.species(part);
        model.units.note(&species.base.id, part);
        model.species.push(species);
    }
    for part in list(node, "listOfParameters") {
        let parameter = reader.parameter(part, "");
        model.units.note(&parameter.base.id, part);
        model.parameters.push(parameter);
    }
    for part in list(node, "listOfInitialAssignments") {
        let variable = required(part, "symbol", reader.report);
        let math = reader.formula(part);
        model.initial.extend(math.map(|math| reader.rule(part, RuleKind::Assignment, variable, math)));
    }
    for part in list(node, "listOfRules") {
        let rule = reader.any_rule(part);
        model.rules.extend(rule);
    }
    for part in list(node, "listOfReactions") {
        reader.reaction(part, &mut model);
    }
    for part in list(node, "listOfEvents") {
        let event = reader.event(part);
        model.events.push(event);
    }
    model
}

impl Reader<'_> {
    /// The formula of an element: `<math>`, or the attribute `formula` in Level 1. A missing formula is not an error:
    /// since Level 3 Version 2 it means that the value is not specified.
    fn formula(&mut self, node: Element<'_>) -> Option<Math> {
        if self.level == 1 {
            let text = attribute(node, "formula")?;
            let range = node.attribute_node("formula")?.range_value();
            return infix::formula(text, odec_ir::Span::new(range.start, range.end), self.report);
        }
        mathml::formula(node, self.report).map(simplified)
    }

    fn id(&mut self, node: Element<'_>) {
        let name = if self.level == 1 { "name" } else { "id" };
        let id = required(node, name, self.report);
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !id.is_empty() && (!id.chars().all(fits) || id.starts_with(|c: char| c.is_ascii_digit())) {
            let headline = format!("`{id}` is not an id");
            self.report.error(&codes::E0804, headline, span(node), "an id has letters, digits and `_`");
        }
    }

    fn function(&mut self, node: Element<'_>, model: &mut Model) {
        self.id(node);
        if let Some((arguments, body)) = mathml::lambda(node, self.report) {
            model.functions.push(Function { base: base(node, self.level), arguments, body: simplified(body) });
        }
    }

    fn compartment(&mut self, node: Element<'_>) -> Compartment {
        self.id(node);
        let (size, default) = if self.level == 1 { ("volume", Some(1.0)) } else { ("size", None) };
        Compartment {
            base: base(node, self.level),
            dimensions: real(node, "spatialDimensions", self.report).unwrap_or(3.0),
            size: real(node, size, self.report).or(default),
            constant: truth(node, "constant", self.level == 2, self.report),
        }
    }

    fn species(&mut self, node: Element<'_>) -> Species {
        self.id(node);
        Species {
            base: base(node, self.level),
            compartment: required(node, "compartment", self.report),
            amount: real(node, "initialAmount", self.report),
            concentration: real(node, "initialConcentration", self.report),
            substance_only: truth(node, "hasOnlySubstanceUnits", false, self.report),
            boundary: truth(node, "boundaryCondition", false, self.report),
            constant: truth(node, "constant", false, self.report),
            conversion: attribute(node, "conversionFactor").map(str::to_string),
        }
    }

    /// Reads a parameter of the model, or of a reaction, whose id then precedes its own.
    fn parameter(&mut self, node: Element<'_>, reaction: &str) -> Parameter {
        self.id(node);
        let mut base = base(node, self.level);
        let local = !reaction.is_empty();
        if local {
            base.id = format!("{reaction}.{}", base.id);
        }
        let constant = local || truth(node, "constant", self.level == 2, self.report);
        Parameter { base, value: real(node, "value", self.report), constant, local, behind: false }
    }

    fn rule(&self, node: Element<'_>, kind: RuleKind, variable: String, math: Math) -> Rule {
        // in Level 1, `name` is the variable of a rule, not its id
        Rule { base: base(node, self.level.max(2)), kind, variable, math }
    }

    fn any_rule(&mut self, node: Element<'_>) -> Option<Rule> {
        let (kind, variable) = match node.tag_name().name() {
            "algebraicRule" => (RuleKind::Algebraic, String::new()),
            "assignmentRule" => (RuleKind::Assignment, required(node, "variable", self.report)),
            "rateRule" => (RuleKind::Rate, required(node, "variable", self.report)),
            name @ ("compartmentVolumeRule"
            | "speciesConcentrationRule"
            | "specieConcentrationRule"
            | "parameterRule") => {
                let variable = match name {
                    "compartmentVolumeRule" => "compartment",
                    "speciesConcentrationRule" => "species",
                    "specieConcentrationRule" => "specie",
                    _ => "name",
                };
                let rate = attribute(node, "type") == Some("rate");
                let kind = if rate { RuleKind::Rate } else { RuleKind::Assignment };
                (kind, required(node, variable, self.report))
            }
            // `schema` has reported it
            _ => return None,
        };
        let math = self.formula(node)?;
        Some(self.rule(node, kind, variable, math))
    }

    fn reaction(&mut self, node: Element<'_>, model: &mut Model) {
        self.id(node);
        let base = base(node, self.level);
        let fast = truth(node, "fast", false, self.report);
        let reactants = list(node, "listOfReactants").collect::<Vec<_>>();
        let products = list(node, "listOfProducts").collect::<Vec<_>>();
        let reactants = reactants.into_iter().map(|part| self.reference(part)).collect();
        let products = products.into_iter().map(|part| self.reference(part)).collect();
        let law = child(node, "kineticLaw").and_then(|law| self.law(law, &base.id, model));
        model.reactions.push(Reaction { base, reactants, products, law, fast });
    }

    /// Reads a kinetic law. Its parameters get separate names.
    fn law(&mut self, node: Element<'_>, reaction: &str, model: &mut Model) -> Option<Math> {
        let lists = if self.level == 3 { "listOfLocalParameters" } else { "listOfParameters" };
        let mut locals: Vec<Parameter> = vec![];
        for part in list(node, lists) {
            locals.push(self.parameter(part, reaction));
            model.units.note(
                &format!(
                    "{reaction}.{}",
                    attribute(part, if self.level == 1 { "name" } else { "id" }).unwrap_or_default()
                ),
                part,
            );
        }
        let math = self.formula(node)?;
        let keys: BTreeSet<&str> = locals.iter().map(|p| p.base.id.as_str()).collect();
        let law = math.map(&mut |m| match m {
            Math::Name(id, span) => {
                let key = format!("{reaction}.{id}");
                if keys.contains(key.as_str()) { Some(Math::Name(key, *span)) } else { None }
            }
            _ => None,
        });
        model.parameters.extend(locals);
        Some(law)
    }

    fn reference(&mut self, node: Element<'_>) -> Reference {
        let name = if self.level == 1 && attribute(node, "species").is_none() { "specie" } else { "species" };
        let mut base = base(node, self.level);
        if self.level == 1 {
            base.id.clear();
        }
        let species = required(node, name, self.report);
        let given = real(node, "stoichiometry", self.report);
        let denominator = real(node, "denominator", self.report).unwrap_or(1.0);
        let value = given.or((self.level < 3).then_some(1.0)).map(|v| v / denominator);
        let math = child(node, "stoichiometryMath").and_then(|math| self.formula(math));
        let constant = truth(node, "constant", false, self.report);
        Reference { base, species, value, math, constant }
    }

    fn event(&mut self, node: Element<'_>) -> Event {
        let base = base(node, self.level);
        let trigger = child(node, "trigger");
        let mut flag = |part: Option<Element<'_>>, name| part.is_none_or(|part| truth(part, name, true, self.report));
        let (persistent, initially) = (flag(trigger, "persistent"), flag(trigger, "initialValue"));
        let early = flag(Some(node), "useValuesFromTriggerTime");
        let mut assignments = vec![];
        for list in children(node, "listOfEventAssignments") {
            for part in children(list, "eventAssignment") {
                let variable = required(part, "variable", self.report);
                let math = self.formula(part);
                assignments.extend(math.map(|math| self.rule(part, RuleKind::Assignment, variable, math)));
            }
        }
        let trigger = trigger.and_then(|part| self.formula(part));
        let delay = child(node, "delay").and_then(|part| self.formula(part));
        let priority = child(node, "priority").and_then(|part| self.formula(part));
        if self.level == 2 && self.version < 4 {
            // this level has no such attribute, and always uses the values at the trigger
            return Event { base, trigger, delay, priority, early: true, persistent, initially, assignments };
        }
        Event { base, trigger, delay, priority, early, persistent, initially, assignments }
    }
}
