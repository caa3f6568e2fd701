//! Parts of a model that contradict each other: a constant that something changes, or two values at one instant.

use std::collections::BTreeMap;

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};

use crate::model::{Model, Reaction, Rule, RuleKind, Species};
use crate::report::Report;

/// Reports the contradictions of a model.
pub fn check(model: &Model, report: &mut Report) {
    let constants = constants(model);
    let changed = |variable: &str, at: Span, what: &str, report: &mut Report| {
        let Some(constant) = constants.get(variable) else { return };
        let headline = format!("{what} changes `{variable}`, but `{variable}` is constant");
        let report_both =
            Diagnostic::error(&codes::E0814, headline).label(at, "the change").label(*constant, "constant");
        report.push(report_both.help("if it may change, write `constant=\"false\"`"));
    };
    for rule in model.rules.iter().filter(|rule| rule.kind != RuleKind::Algebraic) {
        changed(&rule.variable, rule.base.span, "a rule", report);
    }
    for event in &model.events {
        for assignment in &event.assignments {
            changed(&assignment.variable, assignment.base.span, "an event", report);
        }
        let assigned = event.assignments.iter().map(|part| (part.variable.as_str(), part.base.span));
        once(assigned, "the event has two assignments to", report);
    }
    let species = model.species.iter().filter(|species| species.constant && !species.boundary);
    let fixed: BTreeMap<&str, &Species> = species.map(|species| (species.base.id.as_str(), species)).collect();
    for reaction in &model.reactions {
        in_reaction(reaction, &fixed, report);
    }
    two_values(model, report);
}

/// The constant quantities, with their places.
fn constants(model: &Model) -> BTreeMap<&str, Span> {
    let compartments = model.compartments.iter().filter(|part| part.constant).map(|part| &part.base);
    let species = model.species.iter().filter(|part| part.constant).map(|part| &part.base);
    let parameters = model.parameters.iter().filter(|part| part.constant && !part.local).map(|part| &part.base);
    let references = model.references().filter(|part| part.constant).map(|part| &part.base);
    let all = compartments.chain(species).chain(parameters).chain(references);
    all.filter(|base| !base.id.is_empty()).map(|base| (base.id.as_str(), base.span)).collect()
}

/// Reports constant species that a reaction would change. `fixed` contains them by id.
fn in_reaction(reaction: &Reaction, fixed: &BTreeMap<&str, &Species>, report: &mut Report) {
    let sides = [("consumes", &reaction.reactants), ("produces", &reaction.products)];
    for (verb, reference) in sides.into_iter().flat_map(|(verb, list)| list.iter().map(move |part| (verb, part))) {
        let Some(species) = fixed.get(reference.species.as_str()) else { continue };
        let id = &species.base.id;
        let headline = format!("the reaction `{}` {verb} `{id}`, but `{id}` is constant", reaction.base.id);
        let report_both = Diagnostic::error(&codes::E0814, headline);
        let report_both = report_both.label(reference.base.span, verb).label(species.base.span, "constant");
        report.push(report_both.help("if reactions should not change it, write `boundaryCondition=\"true\"`"));
    }
}

/// Reports what a list of assignments names more than once.
fn once<'m>(assigned: impl Iterator<Item = (&'m str, Span)>, what: &str, report: &mut Report) {
    let mut known: BTreeMap<&str, Span> = BTreeMap::new();
    for (variable, span) in assigned {
        let Some(first) = known.insert(variable, span) else { continue };
        let report_both = Diagnostic::error(&codes::E0809, format!("{what} `{variable}`"));
        report.push(report_both.label(first, "here").label(span, "and here"));
    }
}

/// Reports quantities with two initial values.
fn two_values(model: &Model, report: &mut Report) {
    let assigned = model.rules.iter().filter(|rule| rule.kind == RuleKind::Assignment);
    let assigned: BTreeMap<&str, &Rule> = assigned.map(|rule| (rule.variable.as_str(), rule)).collect();
    once(
        model.initial.iter().map(|part| (part.variable.as_str(), part.base.span)),
        "two initial assignments to",
        report,
    );
    for initial in &model.initial {
        if let Some(rule) = assigned.get(initial.variable.as_str()) {
            let headline = format!("`{}` has both an assignment rule and an initial assignment", initial.variable);
            let report_both = Diagnostic::error(&codes::E0809, headline).label(initial.base.span, "here");
            report.push(report_both.label(rule.base.span, "and here"));
        }
    }
    for species in model.species.iter().filter(|species| species.amount.is_some() && species.concentration.is_some()) {
        let headline = format!("species `{}` has both an initial amount and an initial concentration", species.base.id);
        report.error(&codes::E0809, headline, species.base.span, "which one?");
    }
}
