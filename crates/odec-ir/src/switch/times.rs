//! The times at which a quantity that depends only on time may jump, as expressions in parameters.
//!
//! A comparison has such times if all its varying parts are one quantity v, in which the difference of both sides is
//! linear: time itself, `mod(u, P)`, `floor(u)`, `sin(u)` or `cos(u)` with u linear in time. There may be more times
//! than jumps.

use std::f64::consts::{PI, TAU};

use super::Knots;
use super::linear::carried;
use crate::builtin;
use crate::builtin::lookup::Lookup;
use crate::derive::call_tangent;
use crate::graph::{Graph, Node, NodeId, QuickMap};
use crate::nest::Element;
use crate::program::ArrayId;
use crate::stage::Stage;

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
    /// Through what each node varies, as far as known.
    cores: Vec<Core>,
    along: QuickMap<NodeId, Along>,
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
    pub fn new(graph: Graph, stages: Vec<Stage>) -> Clock {
        Clock { graph, stages, cores: Vec::new(), along: QuickMap::default() }
    }

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
        let Core::Through(v) = self.core(id) else { return None };
        let mut along = self.along.remove(&v).unwrap_or_else(|| Along::new(v));
        let found = along.slope(&self.graph, id).map(|slope| {
            let slope = carried(&along.own, slope, &mut along.back, &mut self.graph);
            let at_zero = along.at_zero(&self.graph, id);
            let at_zero = carried(&along.own, at_zero, &mut along.back, &mut self.graph);
            Linear { v, at_zero, slope }
        });
        self.along.insert(v, along);
        found
    }

    /// Through what a node varies. The nodes of all definitions of a chain are examined once.
    fn core(&mut self, id: NodeId) -> Core {
        while self.cores.len() <= id.index() {
            let next = NodeId(self.cores.len() as u32);
            let node = self.graph.node(next);
            let own = self.stage(next) == Stage::Time;
            let core = match node {
                _ if !own => Core::Nothing,
                Node::Time => Core::Through(next),
                Node::Call(op, _) if matches!(op.0.name, "mod" | "floor" | "ceil" | "round" | "sin" | "cos") => {
                    Core::Through(next)
                }
                // a switch in between would have other zeros after each of its jumps
                Node::Call(op, _) if op.0.switches => Core::Other,
                Node::Call(..) => {
                    let all = node.operands().iter().map(|a| self.cores[a.index()]);
                    all.reduce(Core::with).unwrap_or(Core::Nothing)
                }
                _ => Core::Other,
            };
            self.cores.push(core);
        }
        self.cores[id.index()]
    }
}

/// Through what a node varies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Core {
    /// It does not vary with time.
    Nothing,
    /// The time node, or a periodic function of time.
    Through(NodeId),
    /// Several of these, or something else.
    Other,
}

impl Core {
    fn with(self, other: Core) -> Core {
        match (self, other) {
            (a, Core::Nothing) => a,
            (Core::Nothing, b) => b,
            (a, b) if a == b => a,
            _ => Core::Other,
        }
    }
}

/// Nodes as functions of one quantity v: their values at v = 0 and their derivatives by v, in a graph of their own. All
/// nodes that are asked for share it, so that the work for a chain is proportional to its length.
pub(super) struct Along {
    own: Graph,
    /// The copies with v replaced by [`PLACE`], and with v = 0.
    copies: QuickMap<NodeId, NodeId>,
    zeros: QuickMap<NodeId, NodeId>,
    /// The derivative of each copy, by position; `None` is zero or not known yet.
    slopes: Vec<Option<NodeId>>,
    known: Vec<bool>,
    /// True for the nodes of `own` that depend on v or time.
    varies: Vec<bool>,
    /// The nodes of `own` in the graph of the clock.
    back: QuickMap<NodeId, NodeId>,
}

impl Along {
    fn new(v: NodeId) -> Along {
        let mut own = Graph::new();
        let (place, zero) = (own.direction(PLACE), own.constant(0.0));
        Along {
            own,
            copies: QuickMap::from_iter([(v, place)]),
            zeros: QuickMap::from_iter([(v, zero)]),
            slopes: Vec::new(),
            known: Vec::new(),
            varies: Vec::new(),
            back: QuickMap::default(),
        }
    }

    fn at_zero(&mut self, graph: &Graph, id: NodeId) -> NodeId {
        replaced(graph, id, &mut self.zeros, &mut self.own)
    }

    /// The derivative of a node, if it is constant and not zero.
    fn slope(&mut self, graph: &Graph, id: NodeId) -> Option<NodeId> {
        let root = replaced(graph, id, &mut self.copies, &mut self.own);
        let mut open = vec![root];
        while let Some(&id) = open.last() {
            let len = self.own.len();
            self.known.resize(len, false);
            self.slopes.resize(len, None);
            if self.known[id.index()] {
                open.pop();
                continue;
            }
            let node = self.own.node(id);
            let before = open.len();
            open.extend(node.operands().iter().filter(|a| !self.known[a.index()]));
            if open.len() > before {
                continue;
            }
            self.known[id.index()] = true;
            self.slopes[id.index()] = match node {
                Node::Direction(_) => Some(self.own.constant(1.0)),
                node => call_tangent(&mut self.own, id, node, &self.slopes),
            };
            open.pop();
        }
        while self.varies.len() < self.own.len() {
            let node = self.own.nodes()[self.varies.len()];
            let leaf = matches!(node, Node::Direction(_) | Node::Time);
            self.varies.push(leaf || node.operands().iter().any(|a| self.varies[a.index()]));
        }
        self.slopes[root.index()].filter(|slope| !self.varies[slope.index()])
    }
}

/// Copies a node to another graph; `map` holds the nodes copied or replaced before.
fn replaced(graph: &Graph, id: NodeId, map: &mut QuickMap<NodeId, NodeId>, into: &mut Graph) -> NodeId {
    let mut open = vec![id];
    while let Some(&id) = open.last() {
        if map.contains_key(&id) {
            open.pop();
            continue;
        }
        let node = graph.node(id);
        let before = open.len();
        open.extend(node.operands().iter().filter(|a| !map.contains_key(a)));
        if open.len() > before {
            continue;
        }
        let new = match node {
            Node::Call(op, args) => {
                let args: Vec<NodeId> = args[..usize::from(op.0.arity)].iter().map(|a| map[a]).collect();
                into.call(op, &args)
            }
            Node::Reduce(reduction, over, term) => into.insert(Node::Reduce(reduction, over, map[&term])),
            leaf => into.insert(leaf),
        };
        map.insert(id, new);
        open.pop();
    }
    map[&id]
}
