//! Traverses and changes the ids, formulas and parts of a model.

use odec_ir::Span;

use super::Own;
use crate::math::Math;
use crate::model::{Base, Model, Reference, Replacement, Rule};

/// The number of parts, and of nodes of formulas.
pub fn size(model: &Model) -> usize {
    let mut count = model.compartments.len() + model.species.len() + model.parameters.len() + model.submodels.len();
    let mut copy = model.clone();
    formulas(&mut copy, &mut |_| {
        count += 1;
        None
    });
    count
}

/// Visits the base of every part.
fn bases<'m>(model: &'m mut Model, see: &mut impl FnMut(&'m mut Base)) {
    model.functions.iter_mut().for_each(|p| see(&mut p.base));
    model.compartments.iter_mut().for_each(|p| see(&mut p.base));
    model.species.iter_mut().for_each(|p| see(&mut p.base));
    model.parameters.iter_mut().for_each(|p| see(&mut p.base));
    model.initial.iter_mut().for_each(|p| see(&mut p.base));
    model.rules.iter_mut().for_each(|p| see(&mut p.base));
    // children come before their parents: they can be replaced first, and then the parent
    for reaction in &mut model.reactions {
        reaction.reactants.iter_mut().chain(&mut reaction.products).for_each(|p| see(&mut p.base));
        see(&mut reaction.base);
    }
    for event in &mut model.events {
        event.assignments.iter_mut().for_each(|p| see(&mut p.base));
        see(&mut event.base);
    }
}

/// A location moved by a number of bytes.
pub fn shifted(span: Span, by: usize) -> Span {
    Span::new(span.start as usize + by, span.end as usize + by)
}

/// Moves all locations by a number of bytes.
pub fn shift(model: &mut Model, by: usize) {
    let moved = |span: &Span| shifted(*span, by);
    let base = |base: &mut Base| {
        base.span = moved(&base.span);
        base.replaces.iter_mut().chain(&mut base.replaced_by).for_each(|r| r.span = moved(&r.span));
    };
    base(&mut model.base);
    for submodel in &mut model.submodels {
        base(&mut submodel.base);
        submodel.deletions.iter_mut().for_each(|(_, span)| *span = moved(span));
    }
    bases(model, &mut |part| base(part));
    let put = |math: &mut Math| {
        let old = std::mem::replace(math, Math::Number(0.0));
        *math = old.map(&mut |m| match m {
            Math::Name(id, span) => Some(Math::Name(id.clone(), moved(span))),
            Math::Time(span) => Some(Math::Time(moved(span))),
            Math::RateOf(id, span) => Some(Math::RateOf(id.clone(), moved(span))),
            Math::Delay(both, span) => Some(Math::Delay(both.clone(), moved(span))),
            Math::Call(f, list, span) => Some(Math::Call(f.clone(), list.clone(), moved(span))),
            _ => None,
        });
    };
    model.functions.iter_mut().for_each(|function| put(&mut function.body));
    model.formulas_mut().for_each(put);
}

/// Visits every rule, initial assignment and assignment of an event.
pub fn assignments(model: &mut Model, see: &mut impl FnMut(&mut Rule)) {
    model.initial.iter_mut().for_each(&mut *see);
    model.rules.iter_mut().for_each(&mut *see);
    model.events.iter_mut().flat_map(|event| &mut event.assignments).for_each(see);
}

/// Applies `change` to every node of every formula, except the arguments of functions in their bodies.
pub fn formulas(model: &mut Model, change: &mut impl FnMut(&Math) -> Option<Math>) {
    let mut put = |math: &mut Math| {
        let old = std::mem::replace(math, Math::Number(0.0));
        *math = old.map(change);
    };
    model.initial.iter_mut().chain(&mut model.rules).for_each(|rule| put(&mut rule.math));
    for reaction in &mut model.reactions {
        reaction.law.iter_mut().for_each(&mut put);
        let references = reaction.reactants.iter_mut().chain(&mut reaction.products);
        references.filter_map(|r| r.math.as_mut()).for_each(&mut put);
    }
    for event in &mut model.events {
        event.trigger.iter_mut().chain(&mut event.delay).chain(&mut event.priority).for_each(&mut put);
        event.assignments.iter_mut().for_each(|rule| put(&mut rule.math));
    }
    for function in &mut model.functions {
        let old = std::mem::replace(&mut function.body, Math::Number(0.0));
        let arguments = &function.arguments;
        function.body = old.map(&mut |math| match math {
            Math::Name(id, _) if arguments.contains(id) => None,
            other => change(other),
        });
    }
}

/// Renames ids everywhere.
pub fn rename_all(model: &mut Model, name: &mut impl FnMut(&str) -> Option<String>) {
    bases(model, &mut |base| {
        if let Some(new) = Some(&base.id).filter(|id| !id.is_empty()).and_then(|id| name(id)) {
            base.id = new;
        }
    });
    rename_uses(model, name);
}

/// Renames ids where they are used.
fn rename_uses(model: &mut Model, name: &mut impl FnMut(&str) -> Option<String>) {
    let mut put = |id: &mut String| {
        if let Some(new) = name(id) {
            *id = new;
        }
    };
    for species in &mut model.species {
        put(&mut species.compartment);
        species.conversion.iter_mut().for_each(&mut put);
    }
    model.conversion.iter_mut().for_each(&mut put);
    for reaction in &mut model.reactions {
        let references = reaction.reactants.iter_mut().chain(&mut reaction.products);
        references.for_each(|r: &mut Reference| put(&mut r.species));
    }
    assignments(model, &mut |rule| {
        if !rule.variable.is_empty() {
            put(&mut rule.variable);
        }
    });
    formulas(model, &mut |math| match math {
        Math::Name(id, span) => name(id).map(|id| Math::Name(id, *span)),
        Math::RateOf(id, span) => name(id).map(|id| Math::RateOf(id, *span)),
        Math::Call(id, list, span) => name(id).map(|id| Math::Call(id, list.clone(), *span)),
        _ => None,
    });
}

/// Prefixes all ids with the name of a submodel.
pub fn prefix(model: &mut Model, prefix: &str) {
    bases(model, &mut |base| {
        base.owner = format!("{prefix}{}", base.owner);
        for id in [&mut base.id, &mut base.metaid] {
            if !id.is_empty() {
                *id = format!("{prefix}{id}");
            }
        }
    });
    rename_uses(model, &mut |id| Some(format!("{prefix}{id}")));
}

/// Adds the parts of a submodel to the model.
pub fn append(model: &mut Model, child: Model) {
    model.functions.extend(child.functions);
    model.compartments.extend(child.compartments);
    model.species.extend(child.species);
    model.parameters.extend(child.parameters);
    model.initial.extend(child.initial);
    model.rules.extend(child.rules);
    model.reactions.extend(child.reactions);
    model.events.extend(child.events);
}

/// Removes and returns what the parts of a model replace (false), and what replaces them (true).
pub fn take_replacements(model: &mut Model) -> Vec<(Own, Replacement, bool)> {
    let mut found = vec![];
    bases(model, &mut |base| {
        let own = || Own { id: base.id.clone() };
        found.extend(base.replaces.iter().cloned().map(|r| (own(), r, false)));
        found.extend(base.replaced_by.iter().cloned().map(|r| (own(), r, true)));
        base.replaces.clear();
        base.replaced_by = None;
    });
    found
}

/// The id of the part with this metaid.
pub fn id_of(model: &mut Model, metaid: &str) -> Option<String> {
    let mut found = None;
    bases(model, &mut |base| {
        if base.metaid == metaid {
            found = Some(base.id.clone());
        }
    });
    found
}

/// Removes the parts that `which` selects, including parameters of reactions. Returns the id of the first one.
pub fn remove(model: &mut Model, which: &dyn Fn(&Base) -> bool) -> Option<String> {
    let mut removed: Option<String> = None;
    let mut reactions = vec![];
    let mut keep = |base: &Base| {
        let goes = which(base);
        if goes {
            removed.get_or_insert_with(|| base.id.clone());
        }
        !goes
    };
    model.functions.retain(|p| keep(&p.base));
    model.compartments.retain(|p| keep(&p.base));
    model.species.retain(|p| keep(&p.base));
    let mut globals = vec![];
    model.parameters.retain(|p| {
        let stays = keep(&p.base);
        if let (false, Some((_, id))) = (stays, p.base.id.split_once('.')) {
            globals.push((p.base.id.clone(), format!("{}{id}", p.base.owner)));
        }
        stays
    });
    model.initial.retain(|p| keep(&p.base));
    model.rules.retain(|p| keep(&p.base));
    model.reactions.retain(|p| {
        let stays = keep(&p.base);
        if !stays {
            reactions.push(format!("{}.", p.base.id));
        }
        stays
    });
    for reaction in &mut model.reactions {
        reaction.reactants.retain(|p| keep(&p.base));
        reaction.products.retain(|p| keep(&p.base));
    }
    model.events.retain(|p| keep(&p.base));
    for event in &mut model.events {
        event.assignments.retain(|p| keep(&p.base));
    }
    model.parameters.retain(|p| !(p.local && reactions.iter().any(|r| p.base.id.starts_with(r.as_str()))));
    // if a parameter of a reaction is removed, formulas mean that of the model
    for (local, global) in globals {
        rename_uses(model, &mut |id| (id == local).then(|| global.clone()));
    }
    removed
}
