//! Compartments: a volume that is given becomes a parameter, one that is a state changes, and one that follows from
//! parameters is a definition.

use std::collections::BTreeMap;

use super::write::{Writer, as_read, plain};
use super::{Facts, names_in};
use crate::diagnostic::Diagnostic;
use crate::report::error;
use crate::syntax::tree::{Declared, ExprKind, Ident, Inside, Matter, StatementKind, Tree};

/// The compartments of a model, and the state that is the volume of those that change.
pub(super) type Volumes = BTreeMap<String, Option<Ident>>;

/// Declares every compartment.
pub(super) fn declare(tree: &Tree, facts: &Facts<'_>, writer: &mut Writer, said: &mut Vec<Diagnostic>) -> Volumes {
    let mut volumes = Volumes::new();
    for statement in &tree.statements {
        let StatementKind::Compartment(items) = &statement.kind else { continue };
        for item in items {
            let name = &item.target.name;
            if !item.target.indices.is_empty() || item.target.primes > 0 {
                said.push(
                    error("E0591", "a compartment needs a single name", item.target.span, "an array or a derivative")
                        .help("write a changing volume as a state: `state V = 1`, `compartment cell = V`"),
                );
                continue;
            }
            match volume(tree, facts, item) {
                Ok(Volume::Given) => {
                    let given = Declared { place: None, ..item.clone() };
                    writer.add(StatementKind::Param(vec![given]), statement.span, statement.doc.clone());
                    volumes.insert(name.name.clone(), None);
                }
                Ok(Volume::Follows(state)) => {
                    if let Some(value) = item.value {
                        writer.equation(plain(name, name.span), value, statement.span, item.doc.clone());
                    }
                    volumes.insert(name.name.clone(), state);
                }
                Err(report) => {
                    said.push(report);
                    volumes.insert(name.name.clone(), None);
                }
            }
        }
    }
    for (name, item) in &facts.states {
        let Some(place) = &item.place else { continue };
        if !volumes.contains_key(&place.name.name) || !place.indices.is_empty() || place.primes > 0 {
            let known: Vec<String> = volumes.keys().map(|name| format!("`{name}`")).collect();
            let help = match known.as_slice() {
                [] => format!("declare it: `compartment {} = 1`", place.name.name),
                known => format!("the compartments are {}", known.join(", ")),
            };
            let text = format!("the compartment of `{name}`");
            said.push(error("E0591", "this is not a compartment", place.span, text).help(help));
            continue;
        }
        let volume = volumes.get(&place.name.name).and_then(Option::as_ref);
        let inside = Inside {
            species: as_read(writer, &item.target),
            compartment: as_read(writer, place),
            volume: volume.map(|state| plain(state, state.span)),
        };
        writer.add(StatementKind::Matter(Matter::Inside(Box::new(inside))), item.target.span, None);
    }
    volumes
}

/// The source of a volume.
enum Volume {
    /// A number.
    Given,
    /// From other names; with the state that it is, if it is one.
    Follows(Option<Ident>),
}

fn volume(tree: &Tree, facts: &Facts<'_>, item: &Declared) -> Result<Volume, Diagnostic> {
    let name = &item.target.name;
    let Some(value) = item.value else {
        let report = error("E0591", format!("the compartment `{}` has no volume", name.name), name.span, "");
        return Err(report.help(format!("give its volume: `compartment {} = 1`", name.name)));
    };
    let names = names_in(tree, value);
    if names.is_empty() {
        return Ok(Volume::Given);
    }
    if let Some(unit) = &item.unit {
        let report = error("E0591", "odec derives the unit of this volume from its value", unit.span, "");
        return Err(report.help("remove the unit"));
    }
    if let ExprKind::Name(reference) = &tree.exprs[value.0 as usize].kind
        && facts.states.get(reference.name.name.as_str()).is_some_and(|state| state.target.indices.is_empty())
        && reference.indices.is_empty()
        && reference.primes == 0
    {
        return Ok(Volume::Follows(Some(reference.name.clone())));
    }
    match names.iter().find(|reference| !facts.constants.contains_key(reference.name.name.as_str())) {
        None => Ok(Volume::Follows(None)),
        Some(other) => Err(error(
            "E0591",
            format!("odec does not know how fast the volume of `{}` changes", name.name),
            other.span,
            "this may change with time",
        )
        .help(format!("make the volume a state with an equation for its rate: `compartment {} = V`", name.name))),
    }
}
