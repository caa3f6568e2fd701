//! The rules by which coefficients of a node follow from those of its operands.

use std::collections::BTreeMap;

use super::powers::{self, Powers};
use crate::builtin::{Builtin, Op, arithmetic, error_function, exponential, gamma, trigonometric};
use crate::graph::{Graph, Node, NodeId};
use crate::nest::{Element, ReduceOp, Store, Target};
use crate::program::{ArrayId, KernelRole, Program};

/// Largest number of nodes in f and in the derivatives that its recurrences need.
pub const MAX_NODES: usize = 200_000;

/// Functions whose derivatives do not close: each derivative of a polygamma function is the next one.
static WITHOUT: &[&Builtin] = &[&gamma::GAMMA, &gamma::LGAMMA, &gamma::DIGAMMA, &gamma::TRIGAMMA];

/// Functions that may be large inside a step and vanish at its ends: all coefficients of `exp(-400)`, and of a `tanh`
/// that rounds to 1, are 0. With any other function, a nearby pole shows a pulse in the coefficients.
static PEAKED: &[&Builtin] = &[
    &exponential::EXP,
    &exponential::EXPM1,
    &error_function::ERF,
    &error_function::ERFC,
    &trigonometric::SINH,
    &trigonometric::COSH,
    &trigonometric::TANH,
];

/// The reason why a program has no recurrences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsuited {
    /// A function without a recurrence.
    Function(&'static str),
    /// A mass matrix.
    Mass,
    /// More than [`MAX_NODES`] nodes, or more lanes than [`super::MAX_LANES`].
    TooLarge,
}

/// The rule for the coefficient of order k >= 1. Constant operands have none above order 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Rule {
    /// No coefficient above order 0.
    Fixed,
    /// t: 1 at order 1.
    Time,
    /// An element of a state.
    State(Element),
    Add(usize, usize),
    Sub(usize, usize),
    Neg(usize),
    /// c_k = sum of a_j b_(k-j)
    Product(usize, usize),
    /// c b = a: c_k = (a_k - sum over j = 1..=k of b_j c_(k-j)) / b_0
    Quotient(usize, usize),
    /// c c = u: c_k = (u_k - sum over j = 1..k of c_j c_(k-j)) / (2 c_0)
    Root(usize),
    /// c c = x x + y y: c_k = (sum of x_j x_(k-j) + sum of y_j y_(k-j) - sum over j = 1..k of c_j c_(k-j)) / (2 c_0)
    Length(usize, usize),
    /// u c' = a c u': c_k = sum over j = 0..k of (a (k-j) - j) u_(k-j) c_j / (k u_0)
    Power(usize, usize),
    /// c' = sum of D u': c_k = sum over j = 1..=k of j u_j D_(k-j) / k
    Chain(Vec<(usize, usize)>),
    /// The choice by the condition at order 0.
    Choose(usize, usize, usize),
    /// The sum of the terms of a loop, or the term that is chosen at order 0.
    Reduce(ReduceOp, usize),
}

/// The right-hand side, with a rule for every node that its coefficients need.
#[derive(Clone)]
pub struct Recurrences {
    parts: Vec<KernelSeries>,
}

/// The graph of one kernel of the right-hand side.
#[derive(Clone)]
pub(super) struct KernelSeries {
    /// Position in [`Program::kernels`].
    pub number: usize,
    /// True if it has no loops and all positions are known.
    pub scalar: bool,
    /// The nodes of f, and those of the derivatives that the recurrences need.
    pub graph: Graph,
    /// Nodes with their rules, operands first.
    pub rules: BTreeMap<usize, Rule>,
    /// In a scalar kernel: the state whose derivative it is, and the node.
    pub rows: Vec<(ArrayId, NodeId)>,
    /// True if no node has a jump or a kink.
    pub smooth: bool,
    /// True if some node may be large inside a step and vanish at its ends.
    pub may_peak: bool,
}

impl Recurrences {
    /// The recurrences of a program.
    ///
    /// # Errors
    /// The program has no recurrences.
    pub fn of(program: &Program) -> Result<Recurrences, Unsuited> {
        if program.mass.is_some() || program.has(KernelRole::Mass) {
            return Err(Unsuited::Mass);
        }
        let mut parts = Vec::new();
        let rhs = program.kernels.iter().enumerate().filter(|(_, kernel)| kernel.role == KernelRole::Rhs);
        for (number, kernel) in rhs {
            let varies = |node: Node| match node {
                Node::Time => true,
                Node::Read(element) => program.arrays[kernel.array(element).0 as usize].role.is_state(),
                _ => false,
            };
            let scalar = program.is_scalar();
            let mut roots: Vec<NodeId> = kernel.stores.iter().map(|s| s.node).collect();
            let (graph, powers) = if scalar {
                powers::collected(&kernel.graph, &mut roots)
            } else {
                (kernel.graph.clone(), Powers::new())
            };
            let row = |(s, &node): (&Store, &NodeId)| match s.target {
                Target::Set(Element::Scalar(row)) => Some((row, node)),
                _ => None,
            };
            let rows = kernel.stores.iter().zip(&roots).filter_map(row).collect();
            let builder = Builder { graph, powers, varies: Vec::new(), leaf: &varies };
            let (graph, rules, smooth) = builder.rules(roots)?;
            let may_peak =
                rules.iter().any(|(&id, rule)| matches!(rule, Rule::Chain(_)) && may_peak(graph.nodes()[id]));
            parts.push(KernelSeries { number, scalar, graph, rules, rows, smooth, may_peak });
        }
        Ok(Recurrences { parts })
    }

    /// The graphs, in the order of the nests.
    pub(super) fn parts(&self) -> &[KernelSeries] {
        &self.parts
    }

    /// True if nothing has a jump or a kink: then one series is valid for a whole step.
    pub fn smooth(&self) -> bool {
        self.parts.iter().all(|part| part.smooth)
    }

    /// True if the equations contain a function that may be large inside a step and vanish at its ends: `exp`,
    /// `tanh`, `erf` and similar.
    pub fn may_peak(&self) -> bool {
        self.parts.iter().any(|part| part.may_peak)
    }

    /// True for a scalar program: its series can be unrolled.
    pub fn is_scalar(&self) -> bool {
        self.parts.iter().all(|part| part.scalar)
    }
}

/// True for a function in [`PEAKED`], and for a power with a varying exponent.
fn may_peak(node: Node) -> bool {
    matches!(node, Node::Call(op, _) if op == Op(&arithmetic::POW) || PEAKED.iter().any(|row| Op(row) == op))
}

struct Builder<'a> {
    graph: Graph,
    powers: Powers,
    varies: Vec<bool>,
    /// True for time and states.
    leaf: &'a dyn Fn(Node) -> bool,
}

impl Builder<'_> {
    /// The rules of these nodes and of all nodes that they need; false if one of them has a jump or a kink.
    fn rules(mut self, mut open: Vec<NodeId>) -> Result<(Graph, BTreeMap<usize, Rule>, bool), Unsuited> {
        let mut rules = BTreeMap::new();
        let mut smooth = true;
        while let Some(id) = open.pop() {
            if rules.contains_key(&id.index()) {
                continue;
            }
            let (rule, needs) = self.rule(id)?;
            smooth &= match rule {
                // a choice by a mode is fixed for a whole step
                Rule::Choose(condition, ..) => !self.varies(NodeId(condition as u32)),
                Rule::Reduce(ReduceOp::Min | ReduceOp::Max, _) => false,
                Rule::Fixed => !self.varies(id),
                _ => true,
            };
            rules.insert(id.index(), rule);
            open.extend(needs);
            open.extend(self.graph.node(id).operands());
            if self.graph.len() > MAX_NODES {
                return Err(Unsuited::TooLarge);
            }
        }
        Ok((self.graph, rules, smooth))
    }

    /// True if a node depends on time or a state.
    fn varies(&mut self, id: NodeId) -> bool {
        while self.varies.len() < self.graph.len() {
            let node = self.graph.nodes()[self.varies.len()];
            let varies = (self.leaf)(node) || node.operands().iter().any(|a| self.varies[a.index()]);
            self.varies.push(varies);
        }
        self.varies[id.index()]
    }

    /// The rule of a node and the further nodes that it needs.
    fn rule(&mut self, id: NodeId) -> Result<(Rule, Vec<NodeId>), Unsuited> {
        if !self.varies(id) {
            return Ok((Rule::Fixed, Vec::new()));
        }
        if let Some(&(base, exponent)) = self.powers.get(&id.index()) {
            return Ok((Rule::Power(base.index(), exponent.index()), vec![exponent]));
        }
        let node = self.graph.node(id);
        let op = match node {
            Node::Time => return Ok((Rule::Time, Vec::new())),
            Node::Read(element) => return Ok((Rule::State(element), Vec::new())),
            // the derivative of a product needs all partial products
            Node::Reduce(ReduceOp::Product, ..) => return Err(Unsuited::Function("product")),
            Node::Reduce(ReduceOp::ArgMin | ReduceOp::ArgMax, ..) => return Ok((Rule::Fixed, Vec::new())),
            Node::Reduce(reduction, _, term) => return Ok((Rule::Reduce(reduction, term.index()), Vec::new())),
            Node::Call(op, _) => op,
            _ => return Ok((Rule::Fixed, Vec::new())),
        };
        let args: Vec<NodeId> = node.operands().to_vec();
        let at = |i: usize| args[i].index();
        if op.lookup().is_some() || WITHOUT.iter().any(|row| Op(row) == op) {
            return Err(Unsuited::Function(op.0.name));
        }
        let simple = [
            (&arithmetic::ADD, Rule::Add(at(0), at(args.len() - 1))),
            (&arithmetic::SUB, Rule::Sub(at(0), at(args.len() - 1))),
            (&arithmetic::MUL, Rule::Product(at(0), at(args.len() - 1))),
            (&arithmetic::DIV, Rule::Quotient(at(0), at(args.len() - 1))),
            (&arithmetic::NEG, Rule::Neg(at(0))),
            (&exponential::SQRT, Rule::Root(at(0))),
            (&exponential::HYPOT, Rule::Length(at(0), at(args.len() - 1))),
        ];
        if let Some((_, rule)) = simple.into_iter().find(|(row, _)| Op(row) == op) {
            return Ok((rule, Vec::new()));
        }
        if let Some(branch) = &op.0.branch {
            let condition = (branch.condition)(&mut self.graph, &args);
            return Ok((Rule::Choose(condition.index(), at(branch.then), at(branch.otherwise)), vec![condition]));
        }
        if op == Op(&arithmetic::POW) {
            return Ok(self.power(id, args[0], args[1]));
        }
        if op == Op(&trigonometric::TANH) {
            // by 1 - c^2: the other form, 1/cosh^2, leaves the range of doubles if |u| is in the hundreds
            let (one, square) = (self.graph.constant(1.0), self.graph.mul(id, id));
            let slope = self.graph.sub(one, square);
            return Ok((Rule::Chain(vec![(slope.index(), at(0))]), vec![slope]));
        }
        let mut terms = Vec::new();
        let mut needs = Vec::new();
        for (i, &u) in args.iter().enumerate() {
            if !self.varies(u) {
                continue;
            }
            if let Some(slope) = (op.0.derivative)(&mut self.graph, &args, id, i) {
                terms.push((slope.index(), u.index()));
                needs.push(slope);
            }
        }
        Ok((if terms.is_empty() { Rule::Fixed } else { Rule::Chain(terms) }, needs))
    }

    /// `x^y`. The derivatives in its row are powers again, without end.
    fn power(&mut self, id: NodeId, x: NodeId, y: NodeId) -> (Rule, Vec<NodeId>) {
        if !self.varies(y) {
            return (Rule::Power(x.index(), y.index()), Vec::new());
        }
        let ln = self.graph.apply(&exponential::LN, &[x]);
        let by_exponent = self.graph.mul(id, ln);
        let mut terms = vec![(by_exponent.index(), y.index())];
        let mut needs = vec![by_exponent];
        if self.varies(x) {
            let ratio = self.graph.div(id, x);
            let by_base = self.graph.mul(y, ratio);
            terms.push((by_base.index(), x.index()));
            needs.push(by_base);
        }
        (Rule::Chain(terms), needs)
    }
}
