//! What reactions do to each state: the sum of their rates, each with the number of molecules.

use std::collections::BTreeMap;

use odec_ir::Span;

use super::compartments::Volumes;
use super::laws::Rate;
use super::places::{Axis, Spot, spots};
use super::write::{Writer, plain};
use super::{Facts, Line};
use crate::diagnostic::Diagnostic;
use crate::report::error;
use crate::syntax::tree::{
    Binary, Compare, Declared, ExprId, ExprKind, Ident, Index, Law, Participant, Reference, Tree,
};

/// One reaction in the equation of one state.
struct Term {
    /// What comes out less what goes in.
    net: f64,
    rate: Ident,
    axes: Vec<Axis>,
    spots: Vec<Spot>,
    /// An amount per time.
    flow: bool,
    /// Where the species stands in the reaction.
    span: Span,
    statement: Span,
}

/// Terms by state.
#[derive(Default)]
pub(super) struct Contributions(BTreeMap<String, Vec<Term>>);

/// Finds what a reaction does to its species.
pub(super) fn of(
    tree: &Tree,
    facts: &Facts<'_>,
    line: &Line<'_>,
    rate: &Rate,
    found: &mut Contributions,
    said: &mut Vec<Diagnostic>,
) {
    let reaction = line.reaction;
    let mut terms: Vec<(String, Term)> = Vec::new();
    let all = reaction.left.iter().map(|p| (p, -1.0)).chain(reaction.right.iter().map(|p| (p, 1.0)));
    for (Participant { count, fixed, species }, sign) in all {
        let name = &species.name.name;
        let known = facts.states.get(name.as_str());
        if *fixed || (known.is_none() && stands(facts, name)) {
            continue;
        }
        let spots = match spots(tree, facts, (reaction, &rate.axes), species) {
            Ok(spots) => spots,
            Err(report) => {
                said.push(report);
                continue;
            }
        };
        if let Some(report) = leaves(tree, facts, (&rate.axes, &spots), (species, known.copied())) {
            said.push(report);
            continue;
        }
        let term = Term {
            net: sign * count,
            rate: rate.name.clone(),
            axes: rate.axes.clone(),
            spots,
            flow: reaction.law == Law::Flow,
            span: species.span,
            statement: line.statement.span,
        };
        match terms.iter_mut().find(|(other, known)| other == name && alike(tree, &known.spots, &term.spots)) {
            Some((_, known)) => known.net += term.net,
            None => terms.push((name.clone(), term)),
        }
    }
    for (name, term) in terms {
        found.0.entry(name).or_default().push(term);
    }
}

/// Names that are declared and that no reaction changes.
fn stands(facts: &Facts<'_>, name: &str) -> bool {
    facts.constants.contains_key(name) || facts.definitions.contains_key(name)
}

/// The same place of the same species.
fn alike(tree: &Tree, a: &[Spot], b: &[Spot]) -> bool {
    let number = |id: &ExprId| match tree.exprs[id.0 as usize].kind {
        ExprKind::Number(value) => Some(value),
        _ => None,
    };
    a.len() == b.len()
        && a.iter().zip(b).all(|pair| match pair {
            (Spot::Axis(a, c), Spot::Axis(b, d)) => a == b && c == d,
            (Spot::Fixed(a), Spot::Fixed(b)) => number(a).is_some() && number(a) == number(b),
            _ => false,
        })
}

/// A product beyond the ends of its array would be lost: a shifted place needs a range that keeps within it.
fn leaves(
    tree: &Tree,
    facts: &Facts<'_>,
    (axes, spots): (&[Axis], &[Spot]),
    (species, state): (&Reference, Option<&Declared>),
) -> Option<Diagnostic> {
    let state = state?;
    for (spot, place) in spots.iter().zip(&state.target.indices) {
        let Spot::Axis(axis, offset) = spot else { continue };
        let axis = &axes[*axis];
        let own = index_name(tree, place).filter(|own| axis.range.is_none() && own.name == axis.name.name);
        if own.is_some() && *offset == 0 {
            continue;
        }
        let range = axis.range.or_else(|| facts.indices.get(axis.name.name.as_str()).copied());
        let within = match place {
            Index::In(_, from, to) => Some((*from, *to)),
            _ => index_name(tree, place).and_then(|name| facts.indices.get(name.name.as_str()).copied()),
        };
        let (Some(range), Some(within)) = (range, within) else { continue };
        let value = |id: ExprId| whole(tree, facts, id, 0);
        let ends = (value(range.0), value(range.1), value(within.0), value(within.1));
        let (Some(from), Some(to), Some(first), Some(last)) = ends else { continue };
        let (from, to) = (from + *offset as f64, to + *offset as f64);
        if from >= first && to <= last {
            continue;
        }
        let beyond = if from < first { from } else { to };
        let name = &species.name.name;
        let headline = format!("`{name}[{beyond}]` does not exist, and this reaction makes or uses it");
        let text = format!("`{}` goes from {first} to {last} there", axis.name.name);
        let range = if *offset > 0 {
            format!("{first}..{}", last - *offset as f64)
        } else {
            format!("{}..{last}", first - *offset as f64)
        };
        return Some(error("E0597", headline, species.span, text).help(format!(
            "give the reaction a range: `[{} in {range}]`, and write reactions at the ends by themselves",
            axis.name.name
        )));
    }
    None
}

/// Deepest chain of constants that is followed to a number.
const MAX_DEPTH: u32 = 50;

/// A number made of numbers and constants as they are declared.
fn whole(tree: &Tree, facts: &Facts<'_>, id: ExprId, depth: u32) -> Option<f64> {
    if depth > MAX_DEPTH {
        return None;
    }
    let value = |id: ExprId| whole(tree, facts, id, depth + 1);
    match &tree.exprs[id.0 as usize].kind {
        ExprKind::Number(number) => Some(*number),
        ExprKind::Neg(a) => Some(-value(*a)?),
        ExprKind::Binary(operator, _, a, b) => {
            let (a, b) = (value(*a)?, value(*b)?);
            match operator {
                Binary::Add => Some(a + b),
                Binary::Sub => Some(a - b),
                Binary::Mul => Some(a * b),
                Binary::Div => Some(a / b),
                _ => None,
            }
        }
        ExprKind::Name(r) if r.indices.is_empty() => value((*facts.constants.get(r.name.name.as_str())?)?),
        _ => None,
    }
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
    facts: &Facts<'_>,
    volumes: &Volumes,
    found: &Contributions,
    writer: &mut Writer,
    said: &mut Vec<Diagnostic>,
) {
    for name in found.0.keys().filter(|name| !facts.states.contains_key(name.as_str())) {
        let terms = &found.0[name];
        let headline = format!("`{name}` takes part in a reaction and is not declared");
        let report = error("E0201", headline, terms[0].span, "not declared");
        said.push(report.help(format!("declare it with its initial value: `state {name} = 0`")));
    }
    for name in &facts.order {
        let item = facts.states[name];
        let volume = item.place.as_ref().map(|place| &place.name);
        let changes = volume.and_then(|volume| volumes.get(&volume.name)).and_then(Option::as_ref);
        let terms = found.0.get(*name).map_or(&[][..], Vec::as_slice);
        let own = facts.equations.contains_key(*name);
        if own || terms.is_empty() && changes.is_none() {
            continue;
        }
        equation(facts, (item, terms), (volume, changes), writer, said);
    }
}

fn equation(
    facts: &Facts<'_>,
    (item, terms): (&Declared, &[Term]),
    (volume, changes): (Option<&Ident>, Option<&Ident>),
    writer: &mut Writer,
    said: &mut Vec<Diagnostic>,
) {
    let target = &item.target;
    let span = terms.first().map_or(target.span, |term| term.span);
    let mut sum: Option<ExprId> = None;
    for term in terms.iter().filter(|term| term.net != 0.0) {
        if term.spots.len() != target.indices.len() {
            let headline = format!("`{}` has {} indices", target.name.name, target.indices.len());
            let report = error("E0595", headline, term.span, format!("{} here", term.spots.len()));
            said.push(report.label(target.span, "declared here"));
            return;
        }
        let mut value = one(facts, item, term, writer);
        if let (true, Some(volume)) = (term.flow, volume) {
            let volume = writer.name(volume, term.span);
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
        let mut rate = plain(state, at);
        rate.primes = 1;
        let rate = writer.read(rate);
        let volume = writer.name(state, at);
        let product = writer.binary(Binary::Mul, own, rate, at);
        let thinner = writer.binary(Binary::Div, product, volume, at);
        sum = Some(match sum {
            None => writer.push(ExprKind::Neg(thinner), at),
            Some(sum) => writer.binary(Binary::Sub, sum, thinner, at),
        });
    }
    // what is on both sides of all its reactions stays as it is
    let sum = sum.unwrap_or_else(|| writer.number(0.0, span));
    let mut left = super::write::as_written(writer, target);
    left.primes = 1;
    left.span = span;
    let statement = terms.first().map_or(target.span, |term| term.statement);
    writer.equation(left, sum, statement, None);
}

/// The rate of a reaction at the element of the state that the equation is for: 0 where there is none, and the sum of those
/// that there are several of.
fn one(facts: &Facts<'_>, item: &Declared, term: &Term, writer: &mut Writer) -> ExprId {
    let span = term.span;
    let own: Vec<Option<Ident>> =
        item.target.indices.iter().map(|index| index_name(writer.text(), index).cloned()).collect();
    let mut at: Vec<Option<ExprId>> = vec![None; term.axes.len()];
    let mut conditions = Vec::new();
    for (spot, own) in term.spots.iter().zip(&own) {
        let Some(own) = own else { continue };
        match spot {
            Spot::Fixed(place) => {
                let (here, place) = (writer.name(own, span), writer.copy(*place));
                conditions.push(writer.compare(here, Compare::Eq, place, span));
            }
            Spot::Axis(axis, offset) => {
                let range = term.axes[*axis].range;
                let alike = own.name == term.axes[*axis].name.name;
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
                let range = axis.range.map(|(from, to)| (writer.copy(from), writer.copy(to)));
                free.push((axis.name.clone(), range));
                writer.name(&axis.name, span)
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
