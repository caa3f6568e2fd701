//! Which term of the source gave a value, or a derivative, that is not finite: found by computing the unsimplified
//! expressions once more, from the top down to the term whose operands are all fine.

mod arrays;

use odec_ir::{Graph, Node, Op, Span};

use crate::model::walk::{Domain, Walk};
use crate::model::{Body, Model, TermKind, Values};
use crate::source::Source;

/// What is not finite. Numbers of states count [`Model::state_names`], in a model with arrays elements as in [`Point::y`];
/// numbers of outputs and parameters count elements likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The right side of the row of a state.
    Row(usize),
    /// Its derivative.
    Slope(usize, By),
    /// The start value of a state.
    Start(usize),
    /// An element of [`Model::outputs`].
    Output(usize),
    /// An element of [`Model::conserved`].
    Conserved(usize),
    /// The quantity of an element of [`Model::expects`].
    Expected(usize),
}

/// By what a derivative is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A state.
    State(usize),
    /// The independent variable.
    Time,
    /// An element of [`Model::parameters`].
    Parameter(usize),
}

/// Where it is not finite.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// The independent variable.
    pub t: f64,
    /// States in the order of [`Model::state_names`]; of a model with arrays element by element, row by row: for each state
    /// its elements, then those of its derivatives.
    pub y: &'a [f64],
    /// Constants and parameters.
    pub values: &'a Values,
}

/// How a term fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its value is not finite.
    Value,
    /// Its value is finite, its derivative is not.
    Slope,
    /// It is multiplied by zero, and the equation is to be solved for it.
    ZeroFactor,
}

/// An operand of the failing term.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// As written.
    pub text: String,
    /// Where.
    pub span: Span,
    /// Its value.
    pub value: f64,
}

/// The innermost term that is not finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Blame {
    /// How it fails.
    pub fault: Fault,
    /// Where it is written.
    pub span: Span,
    /// As written.
    pub text: String,
    /// Its value, or that of its derivative if that is at fault.
    pub value: f64,
    /// Its operands, numbers left out.
    pub operands: Vec<Operand>,
    /// Definitions and functions on the way to it, from the outside, with the place of their use.
    pub through: Vec<(String, Span)>,
}

/// A value with its derivative; `None` if it does not depend on what is varied.
#[derive(Clone, Copy, Debug)]
struct Dual {
    value: f64,
    slope: Option<f64>,
}

impl Dual {
    fn plain(value: f64) -> Dual {
        Dual { value, slope: None }
    }

    fn is_fine(self) -> bool {
        self.value.is_finite() && self.slope.is_none_or(f64::is_finite)
    }
}

struct Terms<'a> {
    model: &'a Model,
    point: Point<'a>,
    first: Vec<usize>,
    by: Option<By>,
    rate: f64,
    definitions: Vec<Dual>,
}

impl Domain for Terms<'_> {
    type Value = Dual;
    type Key = (u64, Option<u64>);

    fn key(&self, x: Dual) -> (u64, Option<u64>) {
        (x.value.to_bits(), x.slope.map(f64::to_bits))
    }

    fn number(&mut self, x: f64) -> Dual {
        Dual::plain(x)
    }

    fn leaf(&mut self, kind: &TermKind) -> Dual {
        let from = |list: &[f64], i: usize| list.get(i).copied().unwrap_or(f64::NAN);
        let seed = |by: By| (self.by == Some(by)).then_some(1.0);
        match *kind {
            TermKind::Time => Dual { value: self.point.t, slope: seed(By::Time) },
            TermKind::Parameter(i) => {
                Dual { value: from(&self.point.values.parameters, i), slope: seed(By::Parameter(i)) }
            }
            TermKind::Constant(i) => Dual::plain(from(&self.point.values.constants, i)),
            TermKind::Definition(i) => self.definitions[i],
            TermKind::State(i, k) if k < self.model.states[i].order => {
                let at = self.first[i] + usize::from(k);
                Dual { value: from(self.point.y, at), slope: seed(By::State(at)) }
            }
            _ => Dual::plain(self.rate),
        }
    }

    fn apply(&mut self, op: Op, operands: &[Dual], _: Span) -> Dual {
        apply(op, operands)
    }
}

/// An operation on values with their derivatives.
fn apply(op: Op, operands: &[Dual]) -> Dual {
    let plain: Vec<f64> = operands.iter().map(|o| o.value).collect();
    let value = (op.0.value)(&plain);
    let mut slope = None;
    if operands.iter().any(|o| o.slope.is_some()) {
        for (i, operand) in operands.iter().enumerate() {
            if let Some(s) = operand.slope
                && let Some(partial) = partial(op, &plain, i)
            {
                slope = Some(slope.unwrap_or(0.0) + partial * s);
            }
        }
    }
    Dual { value, slope }
}

/// The partial derivative of an operation at a point; `None` if it is identically zero.
fn partial(op: Op, at: &[f64], i: usize) -> Option<f64> {
    let mut graph = Graph::new();
    let operands: Vec<_> = at.iter().map(|&x| graph.constant(x)).collect();
    let call = graph.call(op, &operands);
    let root = (op.0.derivative)(&mut graph, &operands, call, i)?;
    let mut values: Vec<f64> = Vec::with_capacity(graph.len());
    for node in graph.nodes() {
        values.push(match node {
            Node::Constant(bits) => f64::from_bits(*bits),
            Node::Call(op, _) => {
                let operands: Vec<f64> = node.operands().iter().map(|o| values[o.index()]).collect();
                (op.0.value)(&operands)
            }
            _ => f64::NAN,
        });
    }
    Some(values[root.index()])
}

/// The innermost term of `what` that is not finite at a point, or `None` if every term is.
pub fn blame(model: &Model, source: &Source, what: What, point: Point<'_>) -> Option<Blame> {
    if model.has_arrays() {
        return arrays::search(model, source, what, point);
    }
    let by = match what {
        What::Slope(_, by) => Some(by),
        _ => None,
    };
    let mut first = Vec::with_capacity(model.states.len());
    let mut places = Vec::new();
    for (i, state) in model.states.iter().enumerate() {
        first.push(places.len());
        places.extend((0..state.order).map(|k| (i, k)));
    }
    let definitions = vec![Dual::plain(0.0); model.definitions.len()];
    let terms = Terms { model, point, first, by, rate: 0.0, definitions };
    let mut search = Search { model, source, walk: Walk::new(terms) };
    search.fill_definitions()?;
    match what {
        What::Output(i) => search.body(model.outputs.get(i)?.value),
        What::Conserved(i) => search.body(model.conserved.get(i)?.value),
        What::Expected(i) => search.body(model.expects.get(i)?.quantity),
        What::Start(at) => {
            let &(i, k) = places.get(at)?;
            search.body(*model.states[i].initial.get(usize::from(k))?)
        }
        What::Row(at) | What::Slope(at, _) => {
            let &(i, k) = places.get(at)?;
            if k + 1 < model.states[i].order {
                // This row only repeats the next derivative.
                let value = search.walk.domain.leaf(&TermKind::State(i, k + 1)).value;
                let text = model.states[i].derivative(k + 1);
                let blame = |value| Blame {
                    fault: Fault::Value,
                    span: model.states[i].span,
                    text,
                    value,
                    operands: Vec::new(),
                    through: Vec::new(),
                };
                return (!value.is_finite()).then(|| blame(value));
            }
            search.equations(i)
        }
    }
}

struct Search<'a> {
    model: &'a Model,
    source: &'a Source,
    walk: Walk<Terms<'a>>,
}

impl<'a> Search<'a> {
    fn fill_definitions(&mut self) -> Option<()> {
        for &i in &self.model.definition_order {
            let value = self.walk.value(self.model, self.model.definitions[i].value).ok()?;
            self.walk.domain.definitions[i] = value;
        }
        Some(())
    }

    /// The equations that give the highest derivative of a state, those first that hold nothing else on their left.
    fn equations(&mut self, state: usize) -> Option<Blame> {
        let mut open = vec![state];
        let mut seen = vec![false; self.model.states.len()];
        while let Some(i) = open.pop() {
            if std::mem::replace(&mut seen[i], true) {
                continue;
            }
            let model = self.model;
            let own = model.equations.iter().filter(|e| e.target == Some(i));
            let coupled = model.equations.iter().filter(|e| e.target.is_none() && self.mentions(e.lhs, e.rhs, i));
            let equations: Vec<_> = own.chain(coupled).collect();
            for equation in equations {
                if let Some(blame) = self.body(equation.rhs).or_else(|| self.body(equation.lhs)) {
                    return Some(blame);
                }
                if equation.target.is_none()
                    && let Some(blame) = self.zero_factor(equation.lhs, equation.rhs, i)
                {
                    return Some(blame);
                }
                for body in [equation.lhs, equation.rhs] {
                    open.extend(self.rates(body));
                }
            }
        }
        None
    }

    fn mentions(&self, lhs: Body, rhs: Body, state: usize) -> bool {
        [lhs, rhs].iter().any(|&body| self.rates(body).contains(&state))
    }

    /// States whose highest derivative an expression uses.
    fn rates(&self, body: Body) -> Vec<usize> {
        let terms = self.model.terms[body.range()].iter();
        let rates = terms.filter_map(|t| match t.kind {
            TermKind::State(i, k) if k >= self.model.states[i].order => Some(i),
            _ => None,
        });
        rates.collect()
    }

    /// The derivative has no factor: the equation is the same whatever it is.
    fn zero_factor(&mut self, lhs: Body, rhs: Body, state: usize) -> Option<Blame> {
        if self.rates(lhs).iter().chain(&self.rates(rhs)).any(|&j| j != state) {
            return None;
        }
        let mut difference = |rate: f64| -> Option<f64> {
            self.walk.domain.rate = rate;
            let both = [self.walk.value(self.model, lhs).ok()?, self.walk.value(self.model, rhs).ok()?];
            Some(both[0].value - both[1].value)
        };
        let with = difference(1.0);
        let without = difference(0.0);
        if with? != without? {
            return None;
        }
        let state = &self.model.states[state];
        let span = self.model.span(lhs);
        let text = state.derivative(state.order);
        Some(Blame { fault: Fault::ZeroFactor, span, text, value: 0.0, operands: Vec::new(), through: Vec::new() })
    }

    /// Down from the root of an expression, through definitions and functions, to the term that is at fault.
    fn body(&mut self, body: Body) -> Option<Blame> {
        let mut through = Vec::new();
        let (mut body, mut arguments) = (body, Vec::new());
        loop {
            let values = self.walk.values(self.model, body, arguments.clone()).ok()?;
            let value = |id: crate::model::TermId| values[id.index() - body.start as usize];
            let mut at = body.root;
            if value(at).is_fine() {
                return None;
            }
            loop {
                let term = self.model.term(at);
                let operands: Vec<_> = match &term.kind {
                    // Of a choice only the condition and the branch that is taken count.
                    TermKind::Apply(op, [c, a, b]) if op.0.name == "if" => {
                        vec![*c, if value(*c).value != 0.0 { *a } else { *b }]
                    }
                    TermKind::Apply(op, operands) => operands[..usize::from(op.0.arity)].to_vec(),
                    TermKind::Call(_, operands) => operands.clone(),
                    _ => Vec::new(),
                };
                if let Some(&next) = operands.iter().find(|&&o| !value(o).is_fine()) {
                    at = next;
                    continue;
                }
                match term.kind {
                    TermKind::Definition(i) => {
                        through.push((self.model.definitions[i].name.clone(), term.span));
                        (body, arguments) = (self.model.definitions[i].value, Vec::new());
                    }
                    TermKind::Call(f, _) => {
                        through.push((self.model.functions[f].name.clone(), term.span));
                        (body, arguments) =
                            (self.model.functions[f].value, operands.iter().map(|&o| value(o)).collect());
                    }
                    _ => {
                        let found = value(at);
                        let slope = found.value.is_finite();
                        let operands =
                            operands.iter().filter(|o| !matches!(self.model.term(**o).kind, TermKind::Number(_)));
                        let operand = |o: &crate::model::TermId| {
                            let span = self.model.term(*o).span;
                            Operand { text: self.text(span), span, value: value(*o).value }
                        };
                        return Some(Blame {
                            fault: if slope { Fault::Slope } else { Fault::Value },
                            span: term.span,
                            text: self.text(term.span),
                            value: if slope { found.slope.unwrap_or(f64::NAN) } else { found.value },
                            operands: operands.map(operand).collect(),
                            through,
                        });
                    }
                }
                break;
            }
        }
    }

    fn text(&self, span: Span) -> String {
        let text = self.source.text.get(span.range()).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
