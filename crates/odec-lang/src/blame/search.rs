//! The search for the term at fault: equations, their terms, definitions, elements, functions.

use std::collections::HashSet;

use odec_ir::builtin::logic;
use odec_ir::{Op, Span};

use super::duals::{Dual, Duals};
use super::places::{Places, elements_of, subscripts};
use super::{Blame, Cause, FailedQuantity, Fault, Operand, StateAt};
use crate::model::arrays::element_name;
use crate::model::data::{each_point, whole};
use crate::model::evaluator::{Evaluator, Formula, Origin, Scope};
use crate::model::{Body, Equation, Model, Symbol, TermId, TermKind};
use crate::source::Source;

/// Number of terms after which the search stops.
const MAX_STEPS: u64 = 100_000_000;
/// Number of elements whose equations are examined before the search stops.
const MAX_ELEMENTS: usize = 1_000_000;

/// The innermost term of `what` that is not finite.
pub(super) fn search(
    model: &Model,
    source: &Source,
    what: FailedQuantity,
    point: StateAt<'_>,
    open_ends: bool,
) -> Option<Blame> {
    let places = Places::of(model, point.values);
    let by = match what {
        FailedQuantity::Slope(_, by) => Some(by),
        _ => None,
    };
    let start = matches!(what, FailedQuantity::Start(_));
    let duals = Duals { model, point, by, rate: 0.0, start, places: &places };
    let evaluator = Evaluator::new(model, point.values, duals, MAX_STEPS).with_open_ends(open_ends);
    let mut search = Search { model, source, evaluator };
    match what {
        FailedQuantity::Output(number) => search.output(number),
        FailedQuantity::Conserved(i) => search.body(model.conserved.get(i)?.value, Scope::of(Vec::new())),
        FailedQuantity::Expected(i) => search.body(model.expects.get(i)?.quantity, Scope::of(Vec::new())),
        FailedQuantity::Start(number) => {
            let (i, order, at) = places.state_at(model, number)?;
            let state = &model.states[i];
            let locals = state.indexed.locals.iter().copied().zip(at).collect();
            search.body(*state.initial.get(usize::from(order))?, Scope::of(locals))
        }
        FailedQuantity::Row(number) | FailedQuantity::Slope(number, _) => {
            let (i, order, at) = places.state_at(model, number)?;
            let state = &model.states[i];
            if order + 1 == state.order {
                return search.equations(i, at);
            }
            // This row only repeats the next derivative.
            let next = places.state(i, order + 1, places.offset(i, &at)?);
            let value = *point.y.get(next)?;
            (!value.is_finite()).then(|| Blame {
                fault: Fault::Value,
                cause: Cause::Other,
                span: state.span,
                text: model.element_name(i, order + 1, &at),
                value,
                operands: Vec::new(),
                through: Vec::new(),
                input: None,
            })
        }
    }
}

/// The derivative of an element of a state that an equation determines.
type Rate = (usize, Vec<i64>);

struct Search<'a> {
    model: &'a Model,
    source: &'a Source,
    evaluator: Evaluator<'a, Duals<'a>>,
}

impl Search<'_> {
    fn output(&mut self, number: usize) -> Option<Blame> {
        let model = self.model;
        let mut first = 0;
        for o in &model.outputs {
            let ranges = model.ranges_of(&o.indexed, self.evaluator.arithmetic.point.values)?;
            let elements = elements_of(&ranges);
            if number < first + elements {
                let at = subscripts(&ranges, number - first);
                return self.body(o.value, Scope::of(o.indexed.locals.iter().copied().zip(at).collect()));
            }
            first += elements;
        }
        None
    }

    /// The equations of the highest derivative of an element, then those of the derivatives that they use.
    fn equations(&mut self, state: usize, at: Vec<i64>) -> Option<Blame> {
        let model = self.model;
        let mut open = vec![(state, at)];
        let mut seen = HashSet::new();
        while let Some((i, at)) = open.pop() {
            if !seen.insert((i, at.clone())) || seen.len() > MAX_ELEMENTS {
                continue;
            }
            // Equations with nothing else on their left side come first.
            let own = model.equations.iter().filter(|e| e.target == Some(i));
            let others = model.equations.iter().filter(|e| e.target.is_none() && self.gives(e, i));
            let equations: Vec<&Equation> = own.chain(others).collect();
            for equation in equations {
                let Some(locals) = self.evaluator.place(&equation.place, &at) else { continue };
                let scope = Scope::of(locals);
                for body in [equation.rhs, equation.lhs] {
                    if let Some(blame) = self.body(body, scope.clone()) {
                        return Some(blame);
                    }
                }
                let rates = [self.rates(equation.lhs, &scope)?, self.rates(equation.rhs, &scope)?].concat();
                if equation.target.is_none()
                    && rates.iter().all(|r| (r.0, &r.1) == (i, &at))
                    && let Some(blame) = self.zero_factor(equation, &scope, i, &at)
                {
                    return Some(blame);
                }
                open.extend(rates);
            }
        }
        None
    }

    /// An equation may be solved for the derivative of a state.
    fn gives(&self, equation: &Equation, state: usize) -> bool {
        let mentions = |body: Body| {
            let highest = TermKind::State(state, self.model.states[state].order);
            self.model.terms[body.range()].iter().any(|t| t.kind == highest)
        };
        equation.owner == Some(state) || mentions(equation.lhs) || mentions(equation.rhs)
    }

    /// The highest derivatives that an expression uses.
    fn rates(&mut self, body: Body, scope: &Scope<Dual>) -> Option<Vec<Rate>> {
        let model = self.model;
        let mut rates = Vec::new();
        let mut values = None;
        for term in &model.terms[body.range()] {
            match &term.kind {
                TermKind::State(i, k) if *k >= model.states[*i].order => rates.push((*i, Vec::new())),
                TermKind::Element(Symbol::State(i), k, subscripts) if *k >= model.states[*i].order => {
                    let values = match &mut values {
                        Some(values) => values,
                        none => none.insert(self.evaluator.values(&Formula { body, scope: scope.clone() }).ok()?),
                    };
                    let value = |s: &TermId| whole(values[s.index() - body.start as usize].value);
                    rates.extend(subscripts.iter().map(value).collect::<Option<Vec<i64>>>().map(|at| (*i, at)));
                }
                _ => {}
            }
        }
        Some(rates)
    }

    /// The coefficient of the derivative is zero: the equation does not depend on it.
    fn zero_factor(&mut self, equation: &Equation, scope: &Scope<Dual>, state: usize, at: &[i64]) -> Option<Blame> {
        let mut difference = |rate: f64| -> Option<f64> {
            self.evaluator.arithmetic.rate = rate;
            self.evaluator.forget();
            let mut side = |body: Body| -> Option<f64> {
                let values = self.evaluator.values(&Formula { body, scope: scope.clone() }).ok()?;
                Some(values[body.root.index() - body.start as usize].value)
            };
            Some(side(equation.lhs)? - side(equation.rhs)?)
        };
        let with = difference(1.0);
        let without = difference(0.0);
        (with? == without?).then(|| Blame {
            fault: Fault::ZeroFactor,
            cause: Cause::Other,
            span: self.model.span(equation.lhs),
            text: self.model.element_name(state, self.model.states[state].order, at),
            value: 0.0,
            operands: Vec::new(),
            through: Vec::new(),
            input: None,
        })
    }

    /// Down from the root of an expression to the term that is at fault.
    fn body(&mut self, body: Body, scope: Scope<Dual>) -> Option<Blame> {
        let mut through = Vec::new();
        let mut formula = Formula { body, scope };
        loop {
            let here = TermValues { start: formula.body.start, values: self.evaluator.values(&formula).ok()? };
            let at = self.innermost(&here, formula.body.root)?;
            let term = self.model.term(at);
            let next = match &term.kind {
                TermKind::Call(f, operands) => {
                    through.push((self.model.functions[*f].name.clone(), term.span));
                    Some(self.evaluator.call(*f, operands.iter().map(|&o| here.value(o)).collect()))
                }
                TermKind::Reduce { locals, condition, body, .. } => {
                    self.point(&formula.scope, locals, *condition, *body)
                }
                kind if is_name(kind) => match self.evaluator.origin(kind, &|s| here.value(s), formula.scope.bounded) {
                    Origin::Data(_) => None,
                    Origin::Formula(next) => {
                        let name = match kind {
                            TermKind::Definition(i) => self.model.definitions[*i].name.clone(),
                            _ => self.name(at, &here),
                        };
                        through.push((name, term.span));
                        Some(next)
                    }
                },
                _ => None,
            };
            match next {
                Some(next) => formula = next,
                None => return Some(self.found(at, &here, through)),
            }
        }
    }

    /// The innermost term whose operands are finite; `None` if the root is finite.
    fn innermost(&self, here: &TermValues, root: TermId) -> Option<TermId> {
        let mut at = root;
        if here.value(at).is_finite() {
            return None;
        }
        while let Some(next) = self.operands(here, at).into_iter().find(|&o| !here.value(o).is_finite()) {
            at = next;
        }
        Some(at)
    }

    /// The relevant operands: for a choice, the condition and the chosen branch.
    fn operands(&self, here: &TermValues, id: TermId) -> Vec<TermId> {
        match &self.model.term(id).kind {
            TermKind::Apply(op, [c, a, b]) if *op == Op(&logic::IF) => {
                vec![*c, if here.value(*c).value == 0.0 { *b } else { *a }]
            }
            TermKind::Apply(op, operands) => operands[..usize::from(op.0.arity)].to_vec(),
            TermKind::Call(_, operands) => operands.clone(),
            TermKind::Input(_, argument) => vec![*argument],
            _ => Vec::new(),
        }
    }

    /// The first point of a reduction whose term is not fine.
    fn point(
        &mut self,
        scope: &Scope<Dual>,
        locals: &[usize],
        condition: Option<TermId>,
        body: TermId,
    ) -> Option<Formula<Dual>> {
        let ranges: Vec<_> = locals.iter().map(|&l| self.evaluator.local_range(l)).collect::<Option<_>>()?;
        let body = self.model.subtree(body);
        let condition = condition.map(|c| self.model.subtree(c));
        let mut found = None;
        each_point(&ranges, |at| {
            if found.is_some() {
                return;
            }
            let mut inner = scope.clone();
            inner.locals.extend(locals.iter().copied().zip(at.iter().copied()));
            let mut root = |body: Body| {
                let values = self.evaluator.values(&Formula { body, scope: inner.clone() }).ok()?;
                values.last().copied()
            };
            let taken = condition.is_none_or(|c| root(c).is_some_and(|c| c.value != 0.0));
            if taken && root(body).is_some_and(|value| !value.is_finite()) {
                found = Some(Formula { body, scope: inner });
            }
        });
        found
    }

    fn found(&self, at: TermId, here: &TermValues, through: Vec<(String, Span)>) -> Blame {
        let term = self.model.term(at);
        let found = here.value(at);
        let slope = found.value.is_finite();
        let operand = |&o: &TermId| {
            let number = matches!(self.model.term(o).kind, TermKind::Number(_));
            let span = self.model.term(o).span;
            (!number).then(|| Operand { text: self.name(o, here), span, value: here.value(o).value })
        };
        Blame {
            fault: if slope { Fault::Slope } else { Fault::Value },
            cause: if slope { Cause::Other } else { cause(&term.kind, here) },
            span: term.span,
            text: self.name(at, here),
            value: if slope { found.slope.unwrap_or(f64::NAN) } else { found.value },
            operands: self.operands(here, at).iter().filter_map(operand).collect(),
            through,
            input: if let TermKind::Input(input, _) = term.kind { Some(input) } else { None },
        }
    }

    /// A term as written; of an element its subscripts as numbers.
    fn name(&self, id: TermId, here: &TermValues) -> String {
        let model = self.model;
        let term = model.term(id);
        if let TermKind::Element(symbol, order, subscripts) = &term.kind {
            let at: Vec<i64> = subscripts.iter().map(|&s| here.value(s).value as i64).collect();
            return match *symbol {
                Symbol::State(i) => model.element_name(i, *order, &at),
                other => {
                    let name = model.name_of(other);
                    let component = name.rsplit_once('.').and_then(|(_, c)| c.chars().next());
                    element_name(name, *order, &at, component)
                }
            };
        }
        let text = self.source.text.get(term.span.range()).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// The values of the terms of an expression.
struct TermValues {
    start: u32,
    values: Vec<Dual>,
}

impl TermValues {
    fn value(&self, id: TermId) -> Dual {
        self.values[(id.0 - self.start) as usize]
    }
}

/// Why the value of an operation with finite operands is not finite.
fn cause(kind: &TermKind, here: &TermValues) -> Cause {
    let TermKind::Apply(op, [a, b, _]) = kind else { return Cause::Other };
    let value = |id: &TermId| here.value(*id).value;
    match op.0.name {
        "div" if value(b) == 0.0 => Cause::ZeroDivisor,
        "pow" if value(a) == 0.0 && value(b) < 0.0 => Cause::ZeroDivisor,
        "pow" if value(a) < 0.0 => Cause::NegativeBase,
        _ => Cause::Other,
    }
}

fn is_name(kind: &TermKind) -> bool {
    matches!(
        kind,
        TermKind::Parameter(_)
            | TermKind::Constant(_)
            | TermKind::Definition(_)
            | TermKind::State(..)
            | TermKind::Element(..)
    )
}
