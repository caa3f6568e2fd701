//! The times at which a quantity that depends only on time may jump, as expressions in parameters.
//!
//! A comparison has such times if all its varying parts are one quantity v, in which the difference of both sides is
//! linear: time itself, `mod(u, P)`, `floor(u)`, `sin(u)` or `cos(u)` with u linear in time. There may be more times
//! than jumps.

use std::collections::BTreeSet;
use std::f64::consts::{PI, TAU};

use super::Knots;
use crate::builtin;
use crate::builtin::lookup::Lookup;
use crate::derive::gradients;
use crate::graph::{Graph, Node, NodeId, QuickMap, QuickSet};
use crate::nest::Element;
use crate::program::ArrayId;
use crate::stage::{self, Stage};

/// Times as nodes: a single time, or one time and a period.
#[derive(Clone, Copy, Debug)]
pub(super) enum Times {
    /// The times at which a function that is linear in time, with this value at 0 and this slope, reaches the knots.
    Knots(Knots, NodeId, NodeId),
    Once(NodeId),
    Every(NodeId, NodeId),
}

/// A graph in which times are computed, with the stages of its nodes.
pub(super) struct Clock {
    pub graph: Graph,
    pub stages: Vec<Stage>,
}

/// A function of time that is linear in `v`, with these coefficients.
struct Linear {
    v: NodeId,
    at_zero: NodeId,
    slope: NodeId,
}

/// The knots of a piece, and the argument.
pub(super) fn knots(graph: &Graph, id: NodeId, array: impl Fn(Element) -> ArrayId) -> Option<(Knots, NodeId)> {
    let Node::Call(op, _) = graph.node(id) else { return None };
    let (lookup, table, argument, length) = graph.lookup(id).filter(|found| found.0 != Lookup::Item)?;
    let periodic = lookup == Lookup::Cycle;
    Some((Knots { table: array(table), length, periodic, jumps: op.is_step() }, argument))
}

/// The element that stands for v in a derivative by v.
const PLACE: Element = Element::Scalar(ArrayId(u32::MAX));

impl Clock {
    /// The times at which a call that is constant between jumps may jump.
    pub fn jumps(&mut self, id: NodeId, array: impl Fn(Element) -> ArrayId) -> Option<Vec<Times>> {
        let Node::Call(op, args) = self.graph.node(id) else { return None };
        if let Some((knots, argument)) = knots(&self.graph, id, array) {
            let Linear { v, at_zero, slope } = self.linear(argument)?;
            return (self.graph.node(v) == Node::Time).then(|| vec![Times::Knots(knots, at_zero, slope)]);
        }
        match op.0.name {
            "lt" | "le" => {
                let difference = self.graph.sub(args[0], args[1]);
                self.zeros(difference)
            }
            "sign" => self.zeros(args[0]),
            "floor" | "ceil" | "round" => self.whole(args[0], op.0.name == "round").map(|times| vec![times]),
            _ => None,
        }
    }

    /// The times at which a quantity is zero.
    fn zeros(&mut self, id: NodeId) -> Option<Vec<Times>> {
        let Linear { v, at_zero, slope } = self.linear(id)?;
        let opposite = self.graph.neg(at_zero);
        let c = self.graph.div(opposite, slope);
        let (op, u) = match self.graph.node(v) {
            Node::Time => return Some(vec![Times::Once(c)]),
            Node::Call(op, args) => (op, args),
            _ => return None,
        };
        match op.0.name {
            "mod" if self.stage(u[1]) <= Stage::Parameter => {
                let zero = self.graph.constant(0.0);
                Some(vec![self.periodic(u[0], zero, u[1])?, self.periodic(u[0], c, u[1])?])
            }
            "floor" | "ceil" | "round" => Some(vec![self.whole(u[0], op.0.name == "round")?]),
            "sin" | "cos" => {
                let turn = self.graph.constant(TAU);
                let first = self.graph.apply(&builtin::trigonometric::ASIN, &[c]);
                let half = self.graph.constant(PI);
                let (first, second) = if op.0.name == "sin" {
                    let second = self.graph.sub(half, first);
                    (first, second)
                } else {
                    let first = self.graph.apply(&builtin::trigonometric::ACOS, &[c]);
                    let second = self.graph.neg(first);
                    (first, second)
                };
                Some(vec![self.periodic(u[0], first, turn)?, self.periodic(u[0], second, turn)?])
            }
            _ => None,
        }
    }

    /// The times at which a quantity that is linear in time is an integer, or an odd multiple of one half.
    fn whole(&mut self, u: NodeId, halves: bool) -> Option<Times> {
        let one = self.graph.constant(1.0);
        let first = self.graph.constant(if halves { 0.5 } else { 0.0 });
        self.periodic(u, first, one)
    }

    /// The times at which u, linear in time, equals c plus a multiple of the period.
    fn periodic(&mut self, u: NodeId, c: NodeId, period: NodeId) -> Option<Times> {
        let Linear { v, at_zero, slope } = self.linear(u)?;
        if self.graph.node(v) != Node::Time {
            return None;
        }
        let apart = self.graph.sub(c, at_zero);
        let from = self.graph.div(apart, slope);
        let every = self.graph.div(period, slope);
        Some(Times::Every(from, every))
    }

    fn stage(&mut self, id: NodeId) -> Stage {
        while self.stages.len() < self.graph.len() {
            let node = self.graph.nodes()[self.stages.len()];
            let of = |list: &[Stage], a: &NodeId| list[a.index()];
            self.stages.push(match node {
                Node::Constant(_) => Stage::Constant,
                Node::Time => Stage::Time,
                Node::Index(_) => Stage::Parameter,
                // the value before the last jump is unknown
                Node::Read(_) | Node::Direction(_) => Stage::State,
                Node::Call(..) | Node::Reduce(..) => {
                    node.operands().iter().map(|a| of(&self.stages, a)).max().unwrap_or(Stage::Constant)
                }
            });
        }
        self.stages[id.index()]
    }

    /// The only quantity through which a node varies, if the node is linear in it.
    fn linear(&mut self, id: NodeId) -> Option<Linear> {
        let v = self.core(id)?;
        let mut own = Graph::new();
        let place = own.direction(PLACE);
        let value = self.replaced(id, v, place, &mut own);
        let gradient = gradients(&mut own, &[value], |node| matches!(node, Node::Direction(_)).then_some(0))?;
        let slope = gradient.first()?.first()?.1;
        if own.live([slope]).any(|(_, node)| matches!(node, Node::Direction(_) | Node::Time)) {
            return None;
        }
        let slope = stage::copied(&own, [slope], &mut self.graph)[slope];
        let mut at_zero = Graph::new();
        let zero = at_zero.constant(0.0);
        let root = self.replaced(id, v, zero, &mut at_zero);
        let at_zero = stage::copied(&at_zero, [root], &mut self.graph)[root];
        Some(Linear { v, at_zero, slope })
    }

    /// The time node, or the periodic function of time, through which a node varies, if it is the only one.
    fn core(&mut self, id: NodeId) -> Option<NodeId> {
        let mut found = None;
        let mut open = vec![id];
        let mut seen = QuickSet::default();
        while let Some(id) = open.pop() {
            if self.stage(id) != Stage::Time || !seen.insert(id) {
                continue;
            }
            let ends = match self.graph.node(id) {
                Node::Time => true,
                Node::Call(op, _) if matches!(op.0.name, "mod" | "floor" | "ceil" | "round" | "sin" | "cos") => true,
                // a switch in between would have other zeros after each of its jumps
                Node::Call(op, _) if op.0.switches => return None,
                Node::Call(..) => false,
                _ => return None,
            };
            if !ends {
                open.extend_from_slice(self.graph.node(id).operands());
            } else if found.replace(id).is_some_and(|before| before != id) {
                return None;
            }
        }
        found
    }

    /// Copies a node to another graph, with `v` replaced by `by`.
    fn replaced(&self, id: NodeId, v: NodeId, by: NodeId, into: &mut Graph) -> NodeId {
        let mut needed = BTreeSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if id != v && needed.insert(id.index()) {
                open.extend_from_slice(self.graph.node(id).operands());
            }
        }
        let mut map = QuickMap::from_iter([(v, by)]);
        for node in needed.into_iter().map(|i| NodeId(i as u32)) {
            let new = match self.graph.node(node) {
                Node::Call(op, args) => {
                    let args: Vec<NodeId> = args[..usize::from(op.0.arity)].iter().map(|a| map[a]).collect();
                    into.call(op, &args)
                }
                Node::Reduce(reduction, over, term) => into.insert(Node::Reduce(reduction, over, map[&term])),
                leaf => into.insert(leaf),
            };
            map.insert(node, new);
        }
        map[&id]
    }
}
