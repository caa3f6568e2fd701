//! Models with arrays whose constraints must be differentiated: their elements become scalars of one system, for
//! fixed sizes. Equations over indices are repeated for each of their points.

use std::collections::BTreeSet;

use odec_ir::names;

use super::structure;
use crate::model::data::{each_point, position};
use crate::model::{Indexed, Model, Place, Symbol, TermKind, Values};

/// Largest number of states and unknowns, including all elements of arrays, of a model whose constraints are
/// differentiated: finding the structure takes their number to the third power.
pub const MAX_ELEMENTS: usize = 400;

/// See the head of this file.
pub(super) struct Flat {
    /// The model with these elements as its states, reduced to what the equations need.
    pub model: Model,
    pub states: Vec<FlatState>,
    pub equations: Vec<FlatEquation>,
}

/// An element of a state of the model.
pub(super) struct FlatState {
    pub state: usize,
    pub at: Vec<i64>,
    /// Its index in the array, row by row.
    pub position: usize,
}

/// An equation of the model at a point of its indices.
pub(super) struct FlatEquation {
    pub equation: usize,
    /// The indices that the equation binds.
    pub locals: Vec<(usize, i64)>,
}

impl Flat {
    /// `None` for a model without arrays, for a model in which every equation contains an unknown, and for a large one.
    pub fn of(model: &Model, values: &Values) -> Option<Flat> {
        if !model.has_arrays() || !constrained(model) {
            return None;
        }
        let mut flat = Flat { model: Model::default(), states: Vec::new(), equations: Vec::new() };
        let mut first = Vec::with_capacity(model.states.len());
        for (state, declared) in model.states.iter().enumerate() {
            let ranges = model.ranges_of(&declared.indexed, values)?;
            first.push((flat.states.len(), ranges.clone()));
            let sizes = ranges.iter().map(|r| usize::try_from((r.1 - r.0).saturating_add(1)).unwrap_or(0));
            let count = sizes.fold(1usize, usize::saturating_mul).saturating_mul(usize::from(declared.order));
            if flat.states.len().saturating_add(count) > MAX_ELEMENTS {
                return None;
            }
            let mut position = 0;
            each_point(&ranges, |at| {
                flat.states.push(FlatState { state, at: at.to_vec(), position });
                position += 1;
            });
        }
        let mut equations = Vec::new();
        for (e, equation) in model.equations.iter().enumerate() {
            let bound = |place: &Place| match place {
                Place::Each(local) => Some(*local),
                Place::At(_) => None,
            };
            let locals: Vec<usize> = equation.place.iter().filter_map(bound).collect();
            let ranges = locals.iter().map(|&l| model.bounds_of(&model.locals[l].range, values));
            let ranges: Vec<(i64, i64)> = ranges.collect::<Option<_>>()?;
            let mut wrong = false;
            each_point(&ranges, |point| {
                let locals: Vec<(usize, i64)> = locals.iter().copied().zip(point.iter().copied()).collect();
                let at = |place: &Place| match place {
                    Place::Each(local) => locals.iter().find(|l| l.0 == *local).map(|l| l.1),
                    Place::At(body) => Some(model.number(*body, values)).filter(|x| x.fract() == 0.0).map(|x| x as i64),
                };
                let target = equation.target.map(|state| {
                    let at: Option<Vec<i64>> = equation.place.iter().map(at).collect();
                    let (begin, ranges) = &first[state];
                    Some(begin + position(ranges, &at?)?)
                });
                wrong |= target == Some(None);
                let (target, place) = (target.flatten(), Vec::new());
                equations.push(crate::model::Equation { target, owner: target, place, ..equation.clone() });
                flat.equations.push(FlatEquation { equation: e, locals });
            });
            if wrong {
                return None;
            }
        }
        flat.model = flat.elementwise(model, equations);
        Some(flat)
    }

    /// The model with elements as states. Outputs and definitions are left out: they use derivatives by their own
    /// equations.
    fn elementwise(&self, model: &Model, equations: Vec<crate::model::Equation>) -> Model {
        let state = |own: &FlatState| {
            let declared = &model.states[own.state];
            let at: Vec<String> = own.at.iter().map(i64::to_string).collect();
            let name = if at.is_empty() { declared.name.clone() } else { names::element(&declared.name, &at) };
            crate::model::State { name, indexed: Indexed::default(), ..declared.clone() }
        };
        Model {
            states: self.states.iter().map(state).collect(),
            equations,
            definitions: Vec::new(),
            outputs: Vec::new(),
            conserved: Vec::new(),
            expects: Vec::new(),
            ..model.clone()
        }
    }
}

/// True if an algebraic equation contains no unknown, or no remaining equation contains an unknown.
fn constrained(model: &Model) -> bool {
    let unknowns: Vec<usize> = (0..model.states.len()).filter(|&i| model.states[i].algebraic).collect();
    let algebraic = |i: usize| unknowns.contains(&i);
    let mut gives = Vec::new();
    for equation in &model.equations {
        if equation.target.or(equation.owner).is_none_or(algebraic) {
            let read = unknowns_read(model, equation);
            let read: Vec<usize> =
                unknowns.iter().enumerate().filter(|(_, i)| read.contains(i)).map(|(k, _)| k).collect();
            if read.is_empty() {
                return true;
            }
            gives.push(read);
        }
    }
    // every unknown needs one of these equations, which may contain several elements of it
    let of_each: Vec<Vec<usize>> =
        (0..unknowns.len()).map(|k| (0..gives.len()).filter(|&e| gives[e].contains(&k)).collect()).collect();
    !unknowns.is_empty() && structure::unknown_of_each(&of_each, gives.len()).is_err()
}

/// The algebraic unknowns that an equation reads, including reads by definitions and functions.
fn unknowns_read(model: &Model, equation: &crate::model::Equation) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![equation.lhs, equation.rhs];
    while let Some(body) = open.pop() {
        if !seen.insert((body.start, body.end)) {
            continue;
        }
        for term in &model.terms[body.range()] {
            match &term.kind {
                TermKind::State(i, _) | TermKind::Element(Symbol::State(i), ..) => {
                    found.extend(Some(*i).filter(|&i| model.states[i].algebraic));
                }
                TermKind::Definition(d) | TermKind::Element(Symbol::Definition(d), ..) => {
                    open.push(model.definitions[*d].value);
                }
                TermKind::Call(f, _) => open.push(model.functions[*f].value),
                _ => {}
            }
        }
    }
    found
}
