//! Equations as linear forms in the highest derivatives, with coefficients that are expressions.

use std::collections::BTreeMap;

use odec_ir::builtin::logic;
use odec_ir::{Element, Graph, Node, NodeId, Span};

use crate::diagnostic::{Diagnostic, codes};
use crate::report::error;

/// Largest number of coefficients at a time: sums of very many derivatives would need memory proportional to the
/// square of their number.
pub(crate) const MAX_COEFFICIENTS: usize = 4_000_000;

/// A coefficient. 1 and -1 are separate cases, so that no product with them is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coefficient {
    One,
    MinusOne,
    Node(NodeId),
}

impl Coefficient {
    fn negated(self, graph: &mut Graph) -> Coefficient {
        match self {
            Coefficient::One => Coefficient::MinusOne,
            Coefficient::MinusOne => Coefficient::One,
            Coefficient::Node(n) => Coefficient::Node(graph.neg(n)),
        }
    }

    /// The coefficient as a node.
    pub(super) fn node(self, graph: &mut Graph) -> NodeId {
        match self {
            Coefficient::One => graph.constant(1.0),
            Coefficient::MinusOne => graph.constant(-1.0),
            Coefficient::Node(n) => n,
        }
    }

    fn plus(self, other: Coefficient, graph: &mut Graph) -> Coefficient {
        let (a, b) = (self.node(graph), other.node(graph));
        Coefficient::Node(graph.add(a, b))
    }

    /// The product with a node as the right operand.
    pub(super) fn times(self, x: NodeId, graph: &mut Graph) -> NodeId {
        match self {
            Coefficient::One => x,
            Coefficient::MinusOne => graph.neg(x),
            Coefficient::Node(n) => graph.mul(n, x),
        }
    }

    fn is_zero(self, graph: &Graph) -> bool {
        matches!(self, Coefficient::Node(n) if graph.as_constant(n) == Some(0.0))
    }
}

/// `sum of coefficient * rate + rest`; a missing rest is zero.
#[derive(Clone, Debug, Default)]
pub(super) struct LinearForm {
    pub coefficients: BTreeMap<usize, Coefficient>,
    pub rest: Option<NodeId>,
}

impl LinearForm {
    /// Moves the terms of two sides of an equation: the coefficients to the left, everything else to the right.
    pub fn balanced(self, right: LinearForm, graph: &mut Graph) -> LinearForm {
        let of = |coefficients| LinearForm { coefficients, rest: None };
        let coefficients = difference(of(self.coefficients), of(right.coefficients), graph).coefficients;
        let of = |rest| LinearForm { coefficients: BTreeMap::new(), rest };
        let rest = difference(of(right.rest), of(self.rest), graph).rest;
        LinearForm { coefficients, rest }
    }
}

/// The reason why there is no linear form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoForm {
    /// This node is not linear in a derivative.
    Nonlinear(NodeId),
    /// More coefficients than [`MAX_COEFFICIENTS`].
    TooMany,
}

/// The message for an equation without a linear form.
pub(super) fn no_form(why: NoForm, graph: &Graph, equation: Span) -> Diagnostic {
    match why {
        NoForm::Nonlinear(node) => {
            let span = graph.spans(node).first().copied().unwrap_or(equation);
            error(
                &codes::E0308,
                "the equation is not linear in the highest derivative",
                span,
                "this term is not linear",
            )
            .label(equation, "in this equation")
            .help(
                "solve it for the derivative by hand: odec can only solve sums of derivatives, each with a \
                     coefficient",
            )
        }
        NoForm::TooMany => error(&codes::E0309, "too many derivatives in sums", equation, "")
            .help("rewrite the equations so that each contains few derivatives"),
    }
}

/// Linear forms of nodes, cached.
pub(super) struct LinearForms {
    /// State whose highest derivative is the direction of this element.
    rates: BTreeMap<Element, usize>,
    known: BTreeMap<NodeId, LinearForm>,
    kept: usize,
}

impl LinearForms {
    /// `rates` lists the leaves that represent highest derivatives.
    pub(super) fn new(rates: BTreeMap<Element, usize>) -> LinearForms {
        LinearForms { rates, known: BTreeMap::new(), kept: 0 }
    }

    /// The forms of both sides of equations: left minus right, with the rest on the right.
    pub(super) fn of(&mut self, graph: &mut Graph, roots: &[NodeId]) -> Vec<Result<LinearForm, NoForm>> {
        let live = graph.reachable(roots.iter().copied());
        let mut depends = vec![false; graph.len()];
        let mut failed: BTreeMap<NodeId, NoForm> = BTreeMap::new();
        for i in 0..live.len() {
            if !live[i] {
                continue;
            }
            let id = NodeId(i as u32);
            let node = graph.node(id);
            if let Node::Direction(element) = node
                && let Some(&state) = self.rates.get(&element)
            {
                depends[i] = true;
                let coefficients = BTreeMap::from([(state, Coefficient::One)]);
                self.known.insert(id, LinearForm { coefficients, rest: None });
                continue;
            }
            depends[i] = node.operands().iter().any(|o| depends[o.index()]);
            if !depends[i] {
                continue;
            }
            if let Some(&why) = node.operands().iter().find_map(|o| failed.get(o)) {
                failed.insert(id, why);
                continue;
            }
            match self.form(graph, id, &depends) {
                Ok(form) => {
                    self.kept += form.coefficients.len();
                    self.known.insert(id, form);
                    if self.kept > MAX_COEFFICIENTS {
                        failed.insert(id, NoForm::TooMany);
                    }
                }
                Err(why) => {
                    failed.insert(id, why);
                }
            }
        }
        let one = |root: &NodeId| match failed.get(root) {
            Some(&why) => Err(why),
            None => Ok(self
                .known
                .get(root)
                .cloned()
                .unwrap_or(LinearForm { coefficients: BTreeMap::new(), rest: Some(*root) })),
        };
        roots.iter().map(one).collect()
    }

    fn get(&self, id: NodeId) -> LinearForm {
        self.known.get(&id).cloned().unwrap_or(LinearForm { coefficients: BTreeMap::new(), rest: Some(id) })
    }

    fn form(&self, graph: &mut Graph, id: NodeId, depends: &[bool]) -> Result<LinearForm, NoForm> {
        let Node::Call(op, [a, b, c]) = graph.node(id) else { return Err(NoForm::Nonlinear(id)) };
        let on = |x: NodeId| depends[x.index()];
        match op.0.name {
            "neg" => Ok(map(self.get(a), graph, Coefficient::negated, |r, g| g.neg(r))),
            "add" => Ok(sum(self.get(a), self.get(b), graph)),
            "sub" => {
                let minus = self.get(b);
                let first = self.get(a);
                Ok(difference(first, minus, graph))
            }
            "mul" if on(a) && !on(b) => Ok(map(self.get(a), graph, |k, g| scaled(k, b, g), |r, g| g.mul(r, b))),
            "mul" if on(b) && !on(a) => Ok(map(self.get(b), graph, |k, g| scaled(k, a, g), |r, g| g.mul(a, r))),
            "div" if on(a) && !on(b) => {
                let over = |k: Coefficient, g: &mut Graph| {
                    let n = k.node(g);
                    Coefficient::Node(g.div(n, b))
                };
                Ok(map(self.get(a), graph, over, |r, g| g.div(r, b)))
            }
            "if" if !on(a) => Ok(choice(a, &self.get(b), &self.get(c), graph)),
            _ => Err(NoForm::Nonlinear(id)),
        }
    }
}

fn scaled(k: Coefficient, by: NodeId, graph: &mut Graph) -> Coefficient {
    match k {
        Coefficient::One => Coefficient::Node(by),
        Coefficient::MinusOne => Coefficient::Node(graph.neg(by)),
        Coefficient::Node(n) => Coefficient::Node(graph.mul(n, by)),
    }
}

fn map(
    form: LinearForm,
    graph: &mut Graph,
    coefficient: impl Fn(Coefficient, &mut Graph) -> Coefficient,
    rest: impl Fn(NodeId, &mut Graph) -> NodeId,
) -> LinearForm {
    let coefficients = form.coefficients.into_iter().map(|(i, k)| (i, coefficient(k, graph))).collect();
    let rest = form.rest.map(|r| rest(r, graph));
    LinearForm { coefficients, rest }
}

fn sum(a: LinearForm, b: LinearForm, graph: &mut Graph) -> LinearForm {
    let mut coefficients = a.coefficients;
    for (i, k) in b.coefficients {
        let both = match coefficients.get(&i) {
            Some(&other) => other.plus(k, graph),
            None => k,
        };
        coefficients.insert(i, both);
    }
    coefficients.retain(|_, k| !k.is_zero(graph));
    let rest = match (a.rest, b.rest) {
        (Some(x), Some(y)) => Some(graph.add(x, y)),
        (x, y) => x.or(y),
    };
    LinearForm { coefficients, rest }
}

/// `a - b`, without a negation if a subtraction is possible.
fn difference(a: LinearForm, b: LinearForm, graph: &mut Graph) -> LinearForm {
    let rest = match (a.rest, b.rest) {
        (Some(x), Some(y)) => Some(graph.sub(x, y)),
        (Some(x), None) => Some(x),
        (None, Some(y)) => Some(graph.neg(y)),
        (None, None) => None,
    };
    let minus = b.coefficients.into_iter().map(|(i, k)| (i, k.negated(graph))).collect();
    let a = LinearForm { coefficients: a.coefficients, rest: None };
    let both = sum(a, LinearForm { coefficients: minus, rest: None }, graph);
    LinearForm { coefficients: both.coefficients, rest }
}

fn choice(condition: NodeId, a: &LinearForm, b: &LinearForm, graph: &mut Graph) -> LinearForm {
    let zero = graph.constant(0.0);
    let states: Vec<usize> = a.coefficients.keys().chain(b.coefficients.keys()).copied().collect();
    let mut coefficients = BTreeMap::new();
    for i in states {
        let x = a.coefficients.get(&i).map_or(zero, |k| k.node(graph));
        let y = b.coefficients.get(&i).map_or(zero, |k| k.node(graph));
        coefficients.insert(i, Coefficient::Node(graph.apply(&logic::IF, &[condition, x, y])));
    }
    let (x, y) = (a.rest.unwrap_or(zero), b.rest.unwrap_or(zero));
    LinearForm { coefficients, rest: Some(graph.apply(&logic::IF, &[condition, x, y])) }
}
