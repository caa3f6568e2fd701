//! The summands of an equation, each with its value and its derivative with respect to a state: which one drives a state.

use odec_ir::Span;

use super::duals::{Dual, Duals};
use super::places::Places;
use super::{By, StateAt};
use crate::model::evaluator::{Evaluator, Formula, Origin, Scope};
use crate::model::{Body, Equation, Model, Symbol, TermId, TermKind};
use crate::source::Source;

/// Number of terms after which the search stops.
const MAX_STEPS: u64 = 10_000_000;
/// Number of summands of one equation that are examined.
const MAX_SUMMANDS: usize = 10_000;

/// A term of a sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Summand {
    /// The text as written.
    pub text: String,
    /// Source location.
    pub span: Span,
    /// Its value, with its sign in the sum.
    pub value: f64,
    /// Its derivative with respect to the state; 0 if it does not depend on it.
    pub slope: f64,
    /// True if it is only a state, like `v` in x' = v: it shows what moves, but not why.
    pub bare: bool,
    /// Definitions that contain it, outermost first, with the source locations of their uses.
    pub through: Vec<(String, Span)>,
}

/// The summands of the right-hand side of a row; for a coupled equation, of both sides. Rows are numbered as in
/// [`super::FailedQuantity::Row`]. Empty if the row repeats a derivative or has no equation.
pub fn summands(model: &Model, source: &Source, row: usize, by: By, point: StateAt<'_>) -> Vec<Summand> {
    let places = Places::of(model, point.values);
    let Some((state, order, at)) = places.state_at(model, row) else { return vec![] };
    if order + 1 < model.states[state].order {
        return vec![];
    }
    let duals = Duals { model, point, by: Some(by), rate: 0.0, start: false, places: &places };
    let evaluator = Evaluator::new(model, point.values, duals, MAX_STEPS);
    let mut sum = Sum { model, source, evaluator, found: vec![] };
    for equation in model.equations.iter().filter(|e| gives(model, e, state)) {
        let Some(locals) = sum.evaluator.place(&equation.place, &at) else { continue };
        let scope = Scope::of(locals);
        sum.add(equation.rhs, scope.clone(), 1.0);
        if equation.target.is_none() {
            sum.add(equation.lhs, scope, -1.0);
        }
    }
    sum.found
}

/// True for an equation that contains the highest derivative of the state.
fn gives(model: &Model, equation: &Equation, state: usize) -> bool {
    if let Some(owner) = equation.target.or(equation.owner) {
        return owner == state;
    }
    let mut terms = model.terms[equation.lhs.range()].iter().chain(&model.terms[equation.rhs.range()]);
    terms.any(|t| matches!(t.kind, TermKind::State(i, k) if i == state && k >= model.states[i].order))
}

/// The name of a definition, and the source location of its use.
type DefinitionUse = Vec<(String, Span)>;

struct Sum<'a> {
    model: &'a Model,
    source: &'a Source,
    evaluator: Evaluator<'a, Duals<'a>>,
    found: Vec<Summand>,
}

impl Sum<'_> {
    /// Adds the terms of a sum, through definitions.
    fn add(&mut self, body: Body, scope: Scope<Dual>, sign: f64) {
        let mut open: Vec<(Formula<Dual>, f64, DefinitionUse)> = vec![(Formula { body, scope }, sign, vec![])];
        while let Some((formula, sign, through)) = open.pop() {
            let Ok(values) = self.evaluator.values(&formula) else { return };
            let value = |id: TermId| values[id.index() - formula.body.start as usize];
            let mut terms = vec![(formula.body.root, sign)];
            while let Some((id, sign)) = terms.pop() {
                if self.found.len() + open.len() >= MAX_SUMMANDS {
                    return;
                }
                let term = self.model.term(id);
                match &term.kind {
                    TermKind::Apply(op, [a, b, _]) if matches!(op.0.name, "add" | "sub") => {
                        terms.push((*b, if op.0.name == "sub" { -sign } else { sign }));
                        terms.push((*a, sign));
                        continue;
                    }
                    TermKind::Apply(op, [a, ..]) if op.0.name == "neg" && is_sum(&self.model.term(*a).kind) => {
                        terms.push((*a, -sign));
                        continue;
                    }
                    kind if is_definition(kind) => {
                        let origin = self.evaluator.origin(kind, &value, formula.scope.bounded);
                        if let Origin::Formula(inner) = origin {
                            let mut through = through.clone();
                            through.push((self.text(term.span), term.span));
                            open.push((inner, sign, through));
                            continue;
                        }
                    }
                    _ => {}
                }
                let dual = value(id);
                self.found.push(Summand {
                    text: self.text(term.span),
                    span: term.span,
                    value: sign * dual.value,
                    slope: dual.slope.map_or(0.0, |slope| sign * slope),
                    bare: matches!(term.kind, TermKind::State(..) | TermKind::Element(Symbol::State(_), ..)),
                    through: through.clone(),
                });
            }
        }
    }

    fn text(&self, span: Span) -> String {
        let text = self.source.text.get(span.range()).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn is_definition(kind: &TermKind) -> bool {
    matches!(kind, TermKind::Definition(_) | TermKind::Element(Symbol::Definition(_), ..))
}

/// True for an expression with several summands.
fn is_sum(kind: &TermKind) -> bool {
    is_definition(kind) || matches!(kind, TermKind::Apply(op, _) if matches!(op.0.name, "add" | "sub" | "neg"))
}
