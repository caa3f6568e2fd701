//! The effect of reactions on each state: the sum of their rates times the stoichiometric coefficients.

use std::collections::BTreeMap;

use odec_ir::Span;

use super::compartments::Volumes;
use super::laws::Rate;
use super::places::{Axis, BracketPlace, spots};
use super::write::{Writer, plain};
use super::{Facts, Line};
use crate::diagnostic::{Diagnostic, codes};
use crate::report::error;
use crate::syntax::tree::{
    Binary, Compare, Declared, ExprId, ExprKind, Ident, Index, Law, Participant, ReactionCheck, Reference,
    StatementKind, Tree,
};

/// One reaction in the equation of one state.
struct RateTerm {
    /// Amount produced minus amount consumed.
    net: f64,
    rate: Ident,
    axes: Vec<Axis>,
    spots: Vec<BracketPlace>,
    /// An amount per time.
    flow: bool,
    /// Source location of the species in the reaction.
    span: Span,
    statement: Span,
}

/// Terms by state.
#[derive(Default)]
pub(super) struct Contributions(BTreeMap<String, Vec<RateTerm>>);

/// Determines the effects of a reaction on its species.
pub(super) fn of(
    facts: &Facts<'_>,
    line: &Line<'_>,
    rate: &Rate,
    (found, writer): (&mut Contributions, &mut Writer),
    said: &mut Vec<Diagnostic>,
) {
    let reaction = line.reaction;
    let mut terms: Vec<(String, RateTerm)> = Vec::new();
    let all = reaction.left.iter().map(|p| (p, -1.0)).chain(reaction.right.iter().map(|p| (p, 1.0)));
    for (Participant { count, fixed, species }, sign) in all {
        let name = &species.name.name;
        let known = facts.states.contains_key(name.as_str());
        let other = other(facts, species).filter(|_| !known && !*fixed);
        if *fixed || (!known && other.is_none() && stands(facts, name)) {
            continue;
        }
        if let Some(report) = other {
            said.push(report);
            continue;
        }
        let spots = match spots(writer.text(), facts, (reaction, &rate.axes), species) {
            Ok(spots) => spots,
            Err(report) => {
                said.push(report);
                continue;
            }
        };
        if known && !spots.is_empty() {
            exist(&rate.axes, &spots, species, writer);
        }
        let term = RateTerm {
            net: sign * count,
            rate: rate.name.clone(),
            axes: rate.axes.clone(),
            spots,
            flow: reaction.law == Law::Flow,
            span: species.span,
            statement: line.statement.span,
        };
        let same = |known: &RateTerm| alike(writer.text(), &known.spots, &term.spots);
        match terms.iter_mut().find(|(other, known)| other == name && same(known)) {
            Some((_, known)) => known.net += term.net,
            None => terms.push((name.clone(), term)),
        }
    }
    for (name, term) in terms {
        found.0.entry(name).or_default().push(term);
    }
}

/// A name that is declared as something that reactions cannot change.
fn other(facts: &Facts<'_>, species: &Reference) -> Option<Diagnostic> {
    let name = &species.name.name;
    let (what, declared) = facts.others.get(name.as_str())?;
    let report = error(
        &codes::E0598,
        format!("`{name}` is {what}, but reactions change states"),
        species.span,
        "a species here",
    );
    let help = match *what {
        "an input" => format!("give its value a name, `{name}_now = {name}(t)`, and write this name here"),
        "a discrete quantity" | "an unknown, which an equation determines" => {
            format!("if the reaction does not change it, write `${name}`")
        }
        _ => "write the name of a state".to_owned(),
    };
    Some(report.label(*declared, "declared here").help(help))
}

/// Lets the check of sizes verify that the changed elements exist: a product beyond the end of its array would be
/// lost.
fn exist(axes: &[Axis], spots: &[BracketPlace], species: &Reference, writer: &mut Writer) {
    let mut binders = Vec::new();
    for spot in spots {
        if let BracketPlace::Axis(axis, _) = spot {
            let range = axes[*axis].range.map(|(from, to)| (writer.copy(from), writer.copy(to)));
            binders.push((axes[*axis].name.clone(), range));
        }
    }
    let read = super::write::as_read(writer, species);
    let mut value = writer.read(read);
    if !binders.is_empty() {
        let sum = Ident { name: "sum".to_owned(), span: species.span };
        value = writer.push(ExprKind::Reduce(sum, binders, None, value), species.span);
    }
    writer.add(StatementKind::ReactionCheck(ReactionCheck::Elements(value)), species.span, None);
}

/// True for declared names that no reaction changes.
fn stands(facts: &Facts<'_>, name: &str) -> bool {
    facts.constants.contains_key(name) || facts.definitions.contains_key(name)
}

/// True for the same place of the same species.
fn alike(tree: &Tree, a: &[BracketPlace], b: &[BracketPlace]) -> bool {
    let number = |id: &ExprId| match tree.exprs[id.0 as usize].kind {
        ExprKind::Number(value) => Some(value),
        _ => None,
    };
    a.len() == b.len()
        && a.iter().zip(b).all(|pair| match pair {
            (BracketPlace::Axis(a, c), BracketPlace::Axis(b, d)) => a == b && c == d,
            (BracketPlace::Fixed(a), BracketPlace::Fixed(b)) => number(a).is_some() && number(a) == number(b),
            _ => false,
        })
}

fn index_name<'a>(tree: &'a Tree, index: &'a Index) -> Option<&'a Ident> {
    match index {
        Index::In(name, ..) => Some(name),
        Index::At(at) => match &tree.exprs[at.0 as usize].kind {
            ExprKind::Name(r) if r.indices.is_empty() => Some(&r.name),
            _ => None,
        },
        Index::Range(..) => None,
    }
}

/// Writes the equations of all states that reactions change, or whose volume changes.
pub(super) fn write(
    tree: &Tree,
    facts: &Facts<'_>,
    (volumes, found): (&Volumes, &Contributions),
    writer: &mut Writer,
    said: &mut Vec<Diagnostic>,
) {
    // a line that cannot be read may declare it
    let unknown = |name: &&String| !facts.states.contains_key(name.as_str()) && !tree.broken.contains(name);
    for name in found.0.keys().filter(unknown) {
        let terms = &found.0[name];
        let headline = format!("`{name}` takes part in a reaction but is not declared");
        let report = error(&codes::E0201, headline, terms[0].span, "not declared");
        // without this reactant the reaction never runs
        let start = u8::from(terms.iter().all(|term| term.net <= 0.0));
        said.push(report.help(format!("declare it with its initial value: `state {name} = {start}`")));
    }
    for name in &facts.order {
        let item = facts.states[name];
        let place = facts.place_of(name);
        let own = item.place.as_ref().and_then(|place| Some((place, volumes.get(&place.name.name)?)));
        let changes = own.and_then(|(place, own)| own.volume_at(place, writer));
        let terms = found.0.get(*name).map_or(&[][..], Vec::as_slice);
        if facts.own_equation(name).is_some() || terms.is_empty() && changes.is_none() {
            continue;
        }
        equation(facts, (item, terms), (place, changes.as_ref()), writer, said);
    }
}

fn equation(
    facts: &Facts<'_>,
    (item, terms): (&Declared, &[RateTerm]),
    (place, changes): (Option<&Reference>, Option<&Reference>),
    writer: &mut Writer,
    said: &mut Vec<Diagnostic>,
) {
    let target = &item.target;
    let span = terms.first().map_or(target.span, |term| term.span);
    // the reactions of a part have already given this state an equation, to which these add
    let joined = facts.sums.contains(target.name.name.as_str());
    let mut sum: Option<ExprId> = joined.then(|| writer.right_side(target)).flatten();
    for term in terms.iter().filter(|term| term.net != 0.0) {
        if term.spots.len() != target.indices.len() {
            let headline = format!("`{}` has {} indices", target.name.name, target.indices.len());
            let report = error(&codes::E0595, headline, term.span, format!("{} here", term.spots.len()));
            said.push(report.label(target.span, "declared here"));
            return;
        }
        if let Some(report) = unnamed(writer.text(), item, term) {
            said.push(report);
            return;
        }
        let mut value = one(facts, item, term, writer);
        if let (true, Some(place)) = (term.flow, place) {
            let volume = super::write::as_read(writer, place);
            let volume = writer.read(Reference { span: term.span, ..volume });
            value = writer.binary(Binary::Div, value, volume, term.span);
        }
        let (count, sign) = (term.net.abs(), term.net > 0.0);
        let value = writer.times(count, value, term.span);
        sum = Some(match (sum, sign) {
            (None, true) => value,
            (None, false) => writer.push(ExprKind::Neg(value), term.span),
            (Some(sum), true) => writer.binary(Binary::Add, sum, value, term.span),
            (Some(sum), false) => writer.binary(Binary::Sub, sum, value, term.span),
        });
    }
    if let Some(state) = changes {
        // c = amount/V, so c' = amount'/V - c*V'/V
        let at = item.place.as_ref().map_or(span, |place| place.span);
        let own = super::write::as_read(writer, target);
        let own = writer.read(Reference { span: at, ..own });
        let rate = Reference { primes: 1, span: at, ..super::write::as_read(writer, state) };
        let rate = writer.read(rate);
        let volume = Reference { span: at, ..super::write::as_read(writer, state) };
        let volume = writer.read(volume);
        let product = writer.binary(Binary::Mul, own, rate, at);
        let thinner = writer.binary(Binary::Div, product, volume, at);
        sum = Some(match sum {
            None => writer.push(ExprKind::Neg(thinner), at),
            Some(sum) => writer.binary(Binary::Sub, sum, thinner, at),
        });
    }
    if joined {
        if let Some(sum) = sum {
            writer.replace(target, sum);
        }
        return;
    }
    // a species on both sides of all its reactions is constant
    let sum = sum.unwrap_or_else(|| writer.number(0.0, span));
    let mut left = super::write::as_written(writer, target);
    left.primes = 1;
    left.span = span;
    let statement = terms.first().map_or(target.span, |term| term.statement);
    writer.equation(left, sum, statement, None);
    let state = super::write::as_read(writer, target);
    writer.add(StatementKind::ReactionCheck(ReactionCheck::Sum(Box::new(state))), target.span, None);
}

/// An equation is for each element by the name of its index.
fn unnamed(tree: &Tree, item: &Declared, term: &RateTerm) -> Option<Diagnostic> {
    let nameless = item.target.indices.iter().any(|index| index_name(tree, index).is_none());
    nameless.then(|| {
        let headline = format!("the index of `{}` has no name", item.target.name.name);
        error(&codes::E0595, headline, item.target.span, "declared here")
            .label(term.span, "a reaction changes it")
            .help("declare it over an index: `index i = 1..3`, `state X[i] = 0`")
    })
}

/// The rate of a reaction at the element of the equation's state: 0 if there is none, and the sum if there are
/// several.
fn one(facts: &Facts<'_>, item: &Declared, term: &RateTerm, writer: &mut Writer) -> ExprId {
    let span = term.span;
    let own: Vec<Option<Ident>> =
        item.target.indices.iter().map(|index| index_name(writer.text(), index).cloned()).collect();
    let mut at: Vec<Option<ExprId>> = vec![None; term.axes.len()];
    let mut conditions = Vec::new();
    for ((spot, own), index) in term.spots.iter().zip(&own).zip(&item.target.indices) {
        let Some(own) = own else { continue };
        match spot {
            BracketPlace::Fixed(place) => {
                let (here, place) = (writer.name(own, span), writer.copy(*place));
                conditions.push(writer.compare(here, Compare::Eq, place, span));
            }
            BracketPlace::Axis(axis, offset) => {
                let range = term.axes[*axis].range;
                let alike = own.name == term.axes[*axis].name.name && matches!(index, Index::At(_));
                let ends = match range {
                    Some(ends) => Some(ends),
                    None if alike && *offset == 0 => None,
                    None => facts.indices.get(term.axes[*axis].name.name.as_str()).copied(),
                };
                if let Some((from, to)) = ends {
                    for (operator, end) in [(Compare::Ge, from), (Compare::Le, to)] {
                        let (here, end) = (writer.shifted(own, -offset, span), writer.copy(end));
                        conditions.push(writer.compare(here, operator, end, span));
                    }
                }
                at[*axis] = Some(writer.shifted(own, -offset, span));
            }
        }
    }
    let mut rate = plain(&term.rate, span);
    let mut free = Vec::new();
    for (axis, at) in term.axes.iter().zip(at) {
        rate.indices.push(Index::At(match at {
            Some(at) => at,
            None => {
                let ends = axis.range.or_else(|| facts.indices.get(axis.name.name.as_str()).copied());
                let bound = unbound(facts, term, &own, &axis.name);
                // under another name it is not an index of the model and needs an explicit range
                let ends = if bound.name == axis.name.name { axis.range } else { ends };
                let range = ends.map(|(from, to)| (writer.copy(from), writer.copy(to)));
                free.push((bound.clone(), range));
                writer.name(&bound, span)
            }
        }));
    }
    let mut value = writer.read(rate);
    if !free.is_empty() {
        let sum = Ident { name: "sum".to_owned(), span };
        value = writer.push(ExprKind::Reduce(sum, free, None, value), span);
    }
    let all = conditions.into_iter().reduce(|a, b| writer.binary(Binary::And, a, b, span));
    match all {
        None => value,
        Some(condition) => {
            let zero = writer.number(0.0, span);
            writer.push(ExprKind::If(condition, value, zero), span)
        }
    }
}

/// A name for an index of a sum: its own, unless the elements of the equation use that name.
fn unbound(facts: &Facts<'_>, term: &RateTerm, own: &[Option<Ident>], axis: &Ident) -> Ident {
    if own.iter().flatten().all(|own| own.name != axis.name) {
        return axis.clone();
    }
    let taken = |name: &str| {
        facts.states.contains_key(name)
            || facts.constants.contains_key(name)
            || facts.definitions.contains_key(name)
            || facts.others.contains_key(name)
            || own.iter().flatten().any(|own| own.name == name)
            || term.axes.iter().any(|axis| axis.name.name == name)
    };
    let mut name = axis.name.clone();
    while taken(&name) {
        name.push('_');
    }
    Ident { name, ..axis.clone() }
}
