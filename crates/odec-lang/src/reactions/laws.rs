//! The rate of a reaction as a definition, and errors in its law.

use std::collections::BTreeSet;

use odec_ir::Span;

use super::places::{Axis, axes_of};
use super::write::{Writer, as_read, plain};
use super::{Facts, Line, UNKNOWN, names_in};
use crate::diagnostic::{Diagnostic, codes};
use crate::report::{error, warning};
use crate::syntax::tree::{Binary, ExprId, ExprKind, Ident, Index, Law, Participant, Reference, Tree};

/// The rate of a reaction.
pub(super) struct Rate {
    pub name: Ident,
    pub axes: Vec<Axis>,
}

/// Writes the definition of a rate.
pub(super) fn write(
    facts: &Facts<'_>,
    line: &Line<'_>,
    writer: &mut Writer,
    said: &mut Vec<Diagnostic>,
) -> Option<Rate> {
    let tree = writer.text();
    let axes = match axes_of(tree, facts, line.reaction) {
        Ok(axes) => axes,
        Err(report) => {
            said.push(report);
            return None;
        }
    };
    let value = match line.reaction.law {
        Law::Mass => mass_action(line, writer, said)?,
        Law::Rate | Law::Flow => net(line, writer.text(), said)?,
    };
    let span = line.reaction.label.as_ref().map_or(line.reaction.arrow, |(label, _)| label.span);
    let name = Ident { name: line.name.clone(), span };
    let mut left = plain(&name, span);
    for axis in &axes {
        left.indices.push(match axis.range {
            Some((from, to)) => Index::In(axis.name.clone(), writer.copy(from), writer.copy(to)),
            None => Index::At(writer.name(&axis.name, axis.name.span)),
        });
    }
    writer.equation(left, value, line.statement.span, line.statement.doc.clone());
    Some(Rate { name, axes })
}

/// The net rate; two rates, as for `mass`, are an error.
fn net(line: &Line<'_>, tree: &Tree, said: &mut Vec<Diagnostic>) -> Option<ExprId> {
    let reaction = line.reaction;
    let value = &tree.exprs[reaction.value.0 as usize];
    let ExprKind::Tuple(list) = &value.kind else { return Some(reaction.value) };
    let word = reaction.law.word();
    let report = error(&codes::E0593, format!("`{word}` takes the net rate of a reaction"), value.span, "two rates");
    let report = report.label(reaction.law_span, "the law");
    said.push(match list.as_slice() {
        [forth, back] if reaction.reversible => {
            let [forth, back] = [forth, back].map(|id| tree.expr_text(*id));
            report.help(format!("write the difference: `{word} {forth} - {back}`"))
        }
        _ => report.help(format!("write one rate: `{word} v`")),
    });
    None
}

/// `k*A^2*B`, or `kf*A - kr*B`.
fn mass_action(line: &Line<'_>, writer: &mut Writer, said: &mut Vec<Diagnostic>) -> Option<ExprId> {
    let reaction = line.reaction;
    let constants = match &writer.text().exprs[reaction.value.0 as usize].kind {
        ExprKind::Tuple(list) => list.clone(),
        _ => vec![reaction.value],
    };
    match (reaction.reversible, constants.as_slice()) {
        (false, [k]) => Some(product(*k, &reaction.left, reaction.law_span, writer)),
        (true, [forth, back]) => {
            let forth = product(*forth, &reaction.left, reaction.law_span, writer);
            let back = product(*back, &reaction.right, reaction.law_span, writer);
            Some(writer.binary(Binary::Sub, forth, back, reaction.law_span))
        }
        (reversible, list) => {
            let (headline, help) = if reversible {
                ("`<->` is reversible and needs two constants", "write `mass (kon, koff)`, or `->` for one way")
            } else {
                ("`->` is irreversible and needs one constant", "write `<->` for both ways, or `mass k`")
            };
            let found = if list.len() == 1 { "one constant" } else { "these constants" };
            let report = error(&codes::E0593, headline, reaction.arrow, "this arrow");
            said.push(report.label(writer.span(reaction.value), found).help(help));
            None
        }
    }
}

fn product(k: ExprId, side: &[Participant], span: Span, writer: &mut Writer) -> ExprId {
    let mut value = k;
    let mut seen: Vec<(&Reference, f64)> = Vec::new();
    for participant in side {
        match seen.iter_mut().find(|(species, _)| same(species, &participant.species)) {
            Some((_, count)) => *count += participant.count,
            None => seen.push((&participant.species, participant.count)),
        }
    }
    for (species, count) in seen {
        let read = as_read(writer, species);
        let mut factor = writer.read(read);
        if count != 1.0 {
            let count = writer.number(count, species.span);
            factor = writer.binary(Binary::Pow, factor, count, species.span);
        }
        value = writer.binary(Binary::Mul, value, factor, span);
    }
    value
}

/// True for the same name with brackets at the same location of the text, or without any.
fn same(a: &Reference, b: &Reference) -> bool {
    a.name.name == b.name.name && a.indices.is_empty() && b.indices.is_empty()
}

/// Checks that do not depend on indices.
pub(super) fn check(tree: &Tree, facts: &Facts<'_>, line: &Line<'_>, said: &mut Vec<Diagnostic>) {
    let reaction = line.reaction;
    let changed = || {
        let all = reaction.left.iter().chain(&reaction.right).filter(|participant| !participant.fixed);
        all.filter_map(|participant| {
            let name = participant.species.name.name.as_str();
            facts.states.contains_key(name).then(|| (&participant.species, facts.place_of(name)))
        })
    };
    if reaction.law != Law::Flow {
        let first = changed().next();
        // in an array, each element may have a separate compartment
        let place = |(species, place): (&Reference, Option<&Reference>)| {
            place.map(|place| {
                let declared = facts.states.get(species.name.name.as_str()).map(|item| &item.target.indices);
                let at = |k: usize, index: &Index| {
                    let same =
                        |own: &Index| index_names(tree, own).is_some_and(|own| Some(own) == index_names(tree, index));
                    // in an array of parts, the indices of the part come first
                    let own = declared.map_or(Some(k), |declared| declared.iter().position(same));
                    own.and_then(|k| species.indices.get(k))
                        .map_or_else(|| tree.index_text(index), |own| tree.index_text(own))
                };
                let own = place.indices.iter().enumerate().map(|(k, index)| at(k, index));
                (place.name.name.clone(), own.collect::<Vec<_>>())
            })
        };
        let other = first.and_then(|first| changed().find(|other| place(*other) != place(first)));
        if let (Some((a, at)), Some((b, other))) = (first, other) {
            let tell = |place: Option<&Reference>| {
                place.map_or("in no compartment".to_owned(), |place| {
                    format!("in `{}`", odec_ir::names::plain(&place.name.name))
                })
            };
            let headline = format!("`{}` describes a reaction within one compartment", reaction.law.word());
            let report = error(&codes::E0592, headline, reaction.law_span, "a concentration per time");
            let report = report.label(a.span, tell(at)).label(b.span, tell(other));
            said.push(report.help("write the amount per time, `flow ...`; odec divides it by each volume"));
        }
    }
    for (species, _) in changed() {
        let own = facts.own_equation(&species.name.name);
        if let Some(equation) = own {
            let name = odec_ir::names::plain(&species.name.name);
            let headline = format!("`{name}` has an equation but also takes part in a reaction");
            let report = error(&codes::E0594, headline, species.span, "this reaction changes it");
            let report = report.label(equation.span, "so does this");
            let fixed = format!("write `${name}` here, so that the reaction does not change it");
            // the name of a state of a part starts with the name of the part
            said.push(report.help(match name.split_once('.') {
                None => format!(
                    "if both change `{name}`, write the equation as a reaction, `0 -> {name}  rate ...`; if only one does, \
                     remove the equation, or {fixed}"
                ),
                Some((_, own)) => format!(
                    "write the equation of the part as a reaction, `0 -> {own}  rate ...`, to which others can add, or \
                     {fixed}"
                ),
            }));
        }
    }
    if reaction.law == Law::Mass {
        reactants_in_constants(tree, facts, line, said);
    } else if !reaction.reversible {
        reactants_in_law(tree, facts, line, said);
    }
}

/// The name of an index.
fn index_names<'t>(tree: &'t Tree, index: &'t Index) -> Option<&'t str> {
    match index {
        Index::In(name, ..) => Some(&name.name),
        Index::At(at) => match &tree.exprs[at.0 as usize].kind {
            ExprKind::Name(reference) if reference.indices.is_empty() => Some(&reference.name.name),
            _ => None,
        },
        Index::Range(..) => None,
    }
}

/// `A -> B mass k*A` is k*A*A.
fn reactants_in_constants(tree: &Tree, facts: &Facts<'_>, line: &Line<'_>, said: &mut Vec<Diagnostic>) {
    let reaction = line.reaction;
    let species = |name: &str| {
        let mut all = reaction.left.iter().chain(&reaction.right);
        facts.states.contains_key(name) && all.any(|participant| participant.species.name.name == name)
    };
    let names = names_in(tree, reaction.value);
    let Some(reference) = names.into_iter().find(|reference| species(&reference.name.name)) else { return };
    let name = &reference.name.name;
    let headline = format!("`mass` multiplies by `{name}`, and its constant also contains `{name}`");
    let report = warning(&codes::W0521, headline, reference.span, "this is another factor");
    let report = report.label(reaction.law_span, "the law");
    said.push(report.help("give only the constant, `mass k`, or the whole rate with `rate`"));
}

/// Warns about a reactant whose own loss does not depend on it, because it may become negative.
fn reactants_in_law(tree: &Tree, facts: &Facts<'_>, line: &Line<'_>, said: &mut Vec<Diagnostic>) {
    let mut read: BTreeSet<&str> = BTreeSet::new();
    let mut open = vec![line.reaction.value];
    while let Some(expr) = open.pop() {
        for reference in names_in(tree, expr) {
            let name = reference.name.name.as_str();
            if read.insert(name) {
                open.extend(facts.definitions.get(name));
                // the rate of another reaction
                if let Some(other) = facts.labels.get(name) {
                    open.push(other.value);
                    for participant in other.left.iter().chain(&other.right).filter(|_| other.law == Law::Mass) {
                        let name = participant.species.name.name.as_str();
                        read.insert(name);
                        open.extend(facts.definitions.get(name));
                    }
                }
            }
        }
    }
    // an unknown may depend on the reactants by its equation
    let is_unknown = |name: &&str| facts.others.get(name).is_some_and(|(what, _)| *what == UNKNOWN);
    if read.iter().any(is_unknown) {
        return;
    }
    let count = |side: &[Participant], of: &Reference| -> f64 {
        side.iter().filter(|participant| same(&participant.species, of)).map(|participant| participant.count).sum()
    };
    for participant in line.reaction.left.iter().filter(|participant| !participant.fixed) {
        let name = participant.species.name.name.as_str();
        let [consumed, produced] =
            [&line.reaction.left, &line.reaction.right].map(|side| count(side, &participant.species));
        // a catalyst does not change
        let falls = produced == 0.0 || produced < consumed;
        if falls && facts.states.contains_key(name) && !read.contains(name) {
            let headline = format!("the rate does not depend on `{name}`, although the reaction consumes it");
            let report = warning(&codes::W0520, headline, participant.species.span, "it can fall below 0");
            let report = report.label(line.reaction.law_span, "the law");
            said.push(report.help(format!(
                "make the rate vanish with it, as in `{name}/(K + {name})`, or write `${name}` if the reaction does \
                 not change it"
            )));
        }
    }
}
