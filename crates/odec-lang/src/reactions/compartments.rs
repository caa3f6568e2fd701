//! Compartments: a given volume becomes a parameter, a volume that is a state changes, and a volume that depends on
//! parameters is a definition.

use std::collections::BTreeMap;

use super::write::{Writer, as_read, as_written};
use super::{Facts, names_in};
use crate::diagnostic::{Diagnostic, codes};
use crate::report::error;
use crate::syntax::tree::{Declared, ExprKind, Ident, Index, Inside, ReactionCheck, Reference, StatementKind, Tree};

/// The compartments of a model by name.
pub(super) type Volumes = BTreeMap<String, Compartment>;

/// A compartment, or an array of them.
#[derive(Default)]
pub(super) struct Compartment {
    /// Number of its indices.
    indices: usize,
    /// The state that is the volume, if it changes: the one with the same indices.
    pub volume: Option<Ident>,
}

impl Compartment {
    /// The state that is the volume of a place.
    pub(super) fn volume_at(&self, place: &Reference, writer: &mut Writer) -> Option<Reference> {
        let name = self.volume.clone()?;
        Some(Reference { name, ..as_read(writer, place) })
    }
}

/// Declares every compartment.
pub(super) fn declare(tree: &Tree, facts: &Facts<'_>, writer: &mut Writer, said: &mut Vec<Diagnostic>) -> Volumes {
    let mut volumes = Volumes::new();
    for statement in &tree.statements {
        let StatementKind::Compartment(items) = &statement.kind else { continue };
        for item in items {
            let name = &item.target.name;
            let indices = item.target.indices.len();
            if item.target.primes > 0 || item.target.indices.iter().any(|index| index_name(tree, index).is_none()) {
                said.push(
                    error(
                        &codes::E0591,
                        "a compartment is a name, or a name with the names of indices",
                        item.target.span,
                        "",
                    )
                    .help("write `compartment cell = 1`, or `compartment cell[i] = 1` for one per element"),
                );
                continue;
            }
            match volume(tree, facts, item) {
                Ok(Volume::Given) => {
                    let given = Declared { place: None, ..item.clone() };
                    writer.add(StatementKind::Param(vec![given]), statement.span, statement.doc.clone());
                    volumes.insert(name.name.clone(), Compartment { indices, volume: None });
                }
                Ok(Volume::Follows(volume)) => {
                    if let Some(value) = item.value {
                        let left = as_written(writer, &item.target);
                        writer.equation(left, value, statement.span, item.doc.clone());
                    }
                    volumes.insert(name.name.clone(), Compartment { indices, volume });
                }
                Err(report) => {
                    said.push(report);
                    volumes.insert(name.name.clone(), Compartment { indices, volume: None });
                }
            }
        }
    }
    for (name, item) in &facts.states {
        let Some(place) = &item.place else { continue };
        let compartment = volumes.get(&place.name.name).filter(|_| place.primes == 0);
        let Some(compartment) = compartment.filter(|compartment| compartment.indices == place.indices.len()) else {
            if let Some(compartment) = compartment {
                let text = format!("the compartment has {}", counted(compartment.indices));
                said.push(error(
                    &codes::E0591,
                    format!("the place of `{name}` has {}", counted(place.indices.len())),
                    place.span,
                    text,
                ));
                continue;
            }
            let known: Vec<String> = volumes.keys().map(|name| format!("`{name}`")).collect();
            let help = match known.as_slice() {
                [] => format!("declare it: `compartment {} = 1`", place.name.name),
                known => format!("the compartments are {}", known.join(", ")),
            };
            let text = format!("the compartment of `{name}`");
            said.push(error(&codes::E0591, "this is not a compartment", place.span, text).help(help));
            continue;
        };
        let inside = Inside {
            species: as_read(writer, &item.target),
            compartment: as_read(writer, place),
            volume: compartment.volume_at(place, writer),
        };
        writer.add(StatementKind::ReactionCheck(ReactionCheck::Inside(Box::new(inside))), item.target.span, None);
    }
    volumes
}

/// `one index`, `2 indices`
fn counted(n: usize) -> String {
    match n {
        0 => "no index".to_owned(),
        1 => "one index".to_owned(),
        n => format!("{n} indices"),
    }
}

/// The name of an index that runs over its whole set.
fn index_name<'t>(tree: &'t Tree, index: &Index) -> Option<&'t str> {
    let Index::At(at) = index else { return None };
    match &tree.exprs[at.0 as usize].kind {
        ExprKind::Name(r) if r.indices.is_empty() && r.path.is_empty() && r.primes == 0 => Some(&r.name.name),
        _ => None,
    }
}

/// The source of a volume.
enum Volume {
    /// A number.
    Given,
    /// The volume depends on other names; if it is a state, that state.
    Follows(Option<Ident>),
}

fn volume(tree: &Tree, facts: &Facts<'_>, item: &Declared) -> Result<Volume, Diagnostic> {
    let name = &item.target.name;
    let Some(value) = item.value else {
        let report = error(&codes::E0591, format!("the compartment `{}` has no volume", name.name), name.span, "");
        return Err(report.help(format!("give its volume: `compartment {} = 1`", name.name)));
    };
    let own: Vec<&str> = item.target.indices.iter().filter_map(|index| index_name(tree, index)).collect();
    let mut names = names_in(tree, value);
    names.retain(|reference| !own.contains(&reference.name.name.as_str()));
    if names.is_empty() {
        return Ok(Volume::Given);
    }
    if let Some(unit) = &item.unit {
        let report = error(&codes::E0591, "odec derives the unit of this volume from its value", unit.span, "");
        return Err(report.help("remove the unit"));
    }
    if let ExprKind::Name(reference) = &tree.exprs[value.0 as usize].kind
        && facts.states.get(reference.name.name.as_str()).is_some_and(|state| state.target.indices.len() == own.len())
        && reference.indices.iter().map(|index| index_name(tree, index)).eq(own.iter().map(|name| Some(*name)))
        && reference.primes == 0
    {
        return Ok(Volume::Follows(Some(reference.name.clone())));
    }
    match names.iter().find(|reference| !facts.constants.contains_key(reference.name.name.as_str())) {
        None => Ok(Volume::Follows(None)),
        Some(other) => Err(error(
            &codes::E0591,
            format!("odec does not know how fast the volume of `{}` changes", name.name),
            other.span,
            "this may change with time",
        )
        .help(format!("make the volume a state with an equation for its rate: `compartment {} = V`", name.name))),
    }
}
