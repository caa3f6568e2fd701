//! Derivatives of definitions: `e'`, where `e = r - y`, becomes a definition, formed exactly from the terms of `e`
//! along the equations and time.
//!
//! If an equation gives a derivative directly, `y' = ...`, the derivative is replaced by its right-hand side, so that
//! `e'` can be used wherever `e` can. If that right-hand side reads `e'` itself, the derivative remains, and the
//! equations are solved for it together.

mod jumps;
mod slopes;

use std::collections::{HashMap, HashSet};

use odec_ir::{Span, names};

use super::resolve::{Rate, Uses};
use crate::diagnostic::{Diagnostic, codes};
use crate::limits::MAX_PRIMES;
use crate::model::{Body, Definition, Equation, Indexed, Model, Place, Symbol, Term, TermId, TermKind};
use crate::order::{components, is_cycle};
use crate::report::{error, warning};
use slopes::{Refused, Slopes};

/// The kinds of definitions that follow the declared ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum DerivedKind {
    /// The derivative of another definition.
    Slope(usize),
    /// The right side of the equation for the highest derivative of a state.
    Side(usize),
}

/// The model with the definitions of the derivatives in the text, and their uses.
pub(super) fn form(mut model: Model, mut uses: Uses) -> (Model, Uses, Vec<Diagnostic>) {
    if uses.rates.is_empty() {
        return (model, uses, Vec::new());
    }
    let (terms, declared, pieces) = (model.terms.len(), model.definitions.len(), model.pieces.len());
    let varies = varying(&model);
    let mut kept = HashSet::new();
    let reports = loop {
        let endless = own_derivatives(&model, declared, &uses.rates);
        let mut maker = Maker {
            model: &mut model,
            declared,
            made: Vec::new(),
            numbers: HashMap::new(),
            varies: &varies,
            depth: Vec::new(),
            kept: &kept,
            endless,
            too_deep: false,
            reports: Vec::new(),
        };
        maker.make(&uses.rates);
        let (made, reports) = (std::mem::take(&mut maker.made), std::mem::take(&mut maker.reports));
        let more = sides_in_cycles(&model, declared, &made);
        if more.iter().all(|state| kept.contains(state)) {
            break reports;
        }
        kept.extend(more);
        model.terms.truncate(terms);
        model.definitions.truncate(declared);
        model.pieces.truncate(pieces);
    };
    uses.symbols.extend((0..model.definitions.len()).skip(declared).map(Symbol::Definition));
    (model, uses, reports)
}

/// States whose right side, read as their rate, would depend on itself.
fn sides_in_cycles(model: &Model, declared: usize, made: &[DerivedKind]) -> Vec<usize> {
    let reads = |d: &Definition| model.terms[d.value.range()].iter().filter_map(|t| Model::definition_read(&t.kind));
    let edges: Vec<Vec<usize>> = model.definitions.iter().map(|d| reads(d).collect()).collect();
    let mut found = Vec::new();
    for component in components(&edges).iter().filter(|component| is_cycle(component, &edges)) {
        found.extend(component.iter().filter_map(|i| match i.checked_sub(declared).map(|i| made[i]) {
            Some(DerivedKind::Side(state)) => Some(state),
            _ => None,
        }));
    }
    found
}

/// For each declared definition: true if it depends on time or on varying quantities, false if it does not; `None` if
/// that depends on derivatives of other definitions.
fn varying(model: &Model) -> Vec<Option<bool>> {
    let declared = model.definitions.len();
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); declared];
    let (mut varying, mut derived) = (Vec::new(), Vec::new());
    for (d, definition) in model.definitions.iter().enumerate() {
        for term in &model.terms[definition.value.range()] {
            match (&term.kind, Model::definition_read(&term.kind)) {
                (kind, _) if is_varying(kind) => varying.push(d),
                (_, Some(read)) if read < declared => readers[read].push(d),
                (_, Some(_)) => derived.push(d),
                _ => {}
            }
        }
    }
    let mut found = vec![Some(false); declared];
    for (first, mark) in [(derived, None), (varying, Some(true))] {
        let mut open = first;
        while let Some(d) = open.pop() {
            if found[d] != mark {
                found[d] = mark;
                open.extend(&readers[d]);
            }
        }
    }
    found
}

/// True for a leaf that changes during a run.
fn is_varying(kind: &TermKind) -> bool {
    matches!(
        kind,
        TermKind::Time
            | TermKind::State(..)
            | TermKind::Discrete(_)
            | TermKind::Input(..)
            | TermKind::Element(Symbol::State(_) | Symbol::Discrete(_), ..)
    )
}

/// Derivatives in definitions that depend on these derivatives, by their index in the list. Such a derivative would
/// require the next derivative, and so on without end.
fn own_derivatives(model: &Model, declared: usize, rates: &[Rate]) -> Vec<bool> {
    let reads = |body: Body| model.terms[body.range()].iter().filter_map(|t| Model::definition_read(&t.kind));
    let mut edges: Vec<Vec<usize>> = model.definitions.iter().map(|d| reads(d.value).collect()).collect();
    edges.extend(rates.iter().map(|rate| vec![rate.of]));
    let mut endless = vec![false; rates.len()];
    for component in components(&edges).iter().filter(|component| is_cycle(component, &edges)) {
        for at in component.iter().filter_map(|i| i.checked_sub(declared)) {
            endless[at] = true;
        }
    }
    endless
}

/// Creates one definition after the other; each may request more.
struct Maker<'a> {
    model: &'a mut Model,
    declared: usize,
    made: Vec<DerivedKind>,
    /// The first of each kind in `made`.
    numbers: HashMap<DerivedKind, usize>,
    /// See [`varying`].
    varies: &'a [Option<bool>],
    /// The order of the derivative of a definition, for each of them.
    depth: Vec<usize>,
    /// For each derivative in the text: true if the definition depends on it.
    endless: Vec<bool>,
    /// True if a derivative of too many definitions has been refused.
    too_deep: bool,
    /// States whose highest derivative is not read as the right side of its equation.
    kept: &'a HashSet<usize>,
    reports: Vec<Diagnostic>,
}

impl Maker<'_> {
    fn make(&mut self, rates: &[Rate]) {
        self.made.extend(rates.iter().map(|rate| DerivedKind::Slope(rate.of)));
        for (at, kind) in self.made.iter().enumerate() {
            self.numbers.entry(*kind).or_insert(at);
        }
        let mut next = 0;
        while next < self.made.len() {
            let mut depth = 0;
            match self.made[next] {
                DerivedKind::Side(state) => self.push_side(state),
                DerivedKind::Slope(of) => {
                    let below = of.checked_sub(self.declared).map_or(0, |at| self.depth.get(at).copied().unwrap_or(0));
                    depth = below + 1;
                    match rates.get(next).filter(|_| self.endless[next]) {
                        Some(rate) => self.refuse_own(of, rate.span),
                        None => self.push_slope(of, rates.get(next).map(|rate| rate.span), depth),
                    }
                }
            }
            self.depth.push(depth);
            next += 1;
        }
    }

    /// The definition of this kind, which may not exist yet.
    fn ask(&mut self, kind: DerivedKind) -> usize {
        let next = self.made.len();
        let at = *self.numbers.entry(kind).or_insert(next);
        if at == next {
            self.made.push(kind);
        }
        self.declared + at
    }

    fn push_side(&mut self, state: usize) {
        let of = &self.model.states[state];
        let Some((equation, order)) = self.equation_of(state) else { return };
        let equation = &self.model.equations[equation];
        let locals = equation.place.iter().filter_map(|place| match place {
            Place::Each(local) => Some(*local),
            Place::At(_) => None,
        });
        let indexed = Indexed { axes: of.indexed.axes.clone(), locals: locals.collect() };
        let definition = Definition {
            name: of.derivative(order),
            value: equation.rhs,
            unit: None,
            doc: None,
            span: equation.span,
            indexed,
        };
        self.model.definitions.push(definition);
    }

    fn push_slope(&mut self, of: usize, used: Option<Span>, depth: usize) {
        let Definition { name, span, indexed, value, .. } = self.model.definitions[of].clone();
        let formed = if depth > MAX_PRIMES { Err(Refused::deep(span)) } else { Slopes::of(self, value) };
        let value = match formed {
            Ok((value, doubtful)) => {
                for at in doubtful {
                    self.warn_uncertain_jump(&name, at, used);
                }
                value
            }
            Err(refused) => {
                // a single report for all derivatives beyond the limit
                if depth <= MAX_PRIMES || !std::mem::replace(&mut self.too_deep, true) {
                    self.refuse(of, refused, used);
                }
                value
            }
        };
        self.push(of, (&name, span), indexed, value);
    }

    /// Reports that a definition depends on its own derivative, which counts as zero from here on.
    fn refuse_own(&mut self, of: usize, used: Span) {
        let Definition { name, span, indexed, .. } = self.model.definitions[of].clone();
        self.refuse(of, Refused::own(&name, used), Some(used));
        let root = TermId(self.model.terms.len() as u32);
        self.model.terms.push(Term { kind: TermKind::Number(0.0), span: used });
        let value = Body { start: root.0, end: root.0 + 1, root };
        self.push(of, (&name, span), indexed, value);
    }

    /// The derivative of a definition, for the elements of each of its pieces.
    fn push(&mut self, of: usize, (name, span): (&str, Span), indexed: Indexed, value: Body) {
        let (stem, tail) = names::split(name);
        let name = format!("{stem}'{tail}");
        let piece = self.model.pieces.iter().filter(|piece| piece.definition == of);
        let at = self.model.definitions.len();
        let pieces: Vec<_> = piece.map(|piece| crate::model::Piece { definition: at, ..piece.clone() }).collect();
        self.model.pieces.extend(pieces);
        self.model.definitions.push(Definition { name, value, unit: None, doc: None, span, indexed });
    }

    /// The equation that directly determines the highest derivative of a state for all elements, and its order.
    fn equation_of(&self, state: usize) -> Option<(usize, u8)> {
        let model = &*self.model;
        let mut own = model.equations.iter().enumerate().filter(|(_, e)| e.target == Some(state));
        let (Some((at, equation)), None) = (own.next(), own.next()) else { return None };
        let order = self.given(equation)?;
        let whole = |place: &Place| matches!(place, Place::Each(l) if model.locals[*l].range.range.is_none());
        let same = |(place, axis): (&Place, &crate::model::Dimension)| matches!(place, Place::Each(l) if model.locals[*l].range == *axis);
        let axes = &model.states[state].indexed.axes;
        let all = equation.place.iter().all(whole) && equation.place.iter().zip(axes).all(same);
        (all && equation.place.len() == axes.len()).then_some((at, order))
    }

    /// The order of the derivative on the left-hand side.
    fn given(&self, equation: &Equation) -> Option<u8> {
        Model::state_read(&self.model.term(equation.lhs.root).kind).map(|(_, order)| order)
    }

    /// The order of the equations for a state.
    fn order_of(&self, state: usize) -> u8 {
        let model = &*self.model;
        let own = model.equations.iter().filter(|e| e.target == Some(state)).filter_map(|e| self.given(e)).max();
        own.unwrap_or_else(|| {
            let sides = model.equations.iter().flat_map(|e| [e.lhs, e.rhs]);
            let terms = sides.flat_map(|body| &model.terms[body.range()]);
            let orders = terms.filter_map(|t| Model::state_read(&t.kind)).filter(|(i, _)| *i == state);
            orders.map(|(_, order)| order).max().unwrap_or(0)
        })
    }

    fn warn_uncertain_jump(&mut self, name: &str, at: Span, used: Option<Span>) {
        let headline = format!("the derivative of `{name}` ignores jumps, but this `if` may jump");
        let report = warning(&codes::W0515, headline, at, "the branches may differ where the condition changes");
        let report = used.iter().fold(report, |report, used| report.label(*used, "the derivative"));
        self.reports.push(report.help(
            "the derivative is correct if both branches are equal where the condition changes; `min`, `max` and \
             `abs` never jump",
        ));
    }

    fn refuse(&mut self, of: usize, refused: Refused, used: Option<Span>) {
        let definition = &self.model.definitions[of];
        let name = &definition.name;
        let Refused { why, at, help } = refused;
        let headline = format!("`{name}` has no derivative: {why}");
        let place = used.unwrap_or(definition.span);
        let report = error(&codes::E0535, headline, at, "because of this");
        let report = if place == at { report } else { report.label(place, "its derivative") };
        let report = match used {
            Some(_) => report.label(definition.span, format!("`{name}` is defined here")),
            None => report,
        };
        self.reports.push(report.help(help));
    }
}

/// The kind of a read with another symbol and order.
fn read(kind: &TermKind, symbol: Symbol, order: u8) -> TermKind {
    match kind {
        TermKind::Element(_, _, subscripts) => TermKind::Element(symbol, order, subscripts.clone()),
        _ => TermKind::scalar(symbol, order).unwrap_or(TermKind::Number(0.0)),
    }
}
