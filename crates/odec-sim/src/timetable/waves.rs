//! Waves that steep functions of states hide: sines, cosines and other terms of t alone in their arguments.

use odec_ir::{Node, NodeId};

use super::terms::{Kind, Nest};

/// Functions that may change by much while their argument changes by a small part of its size. A power is one unless it
/// is whole and small.
const STEEP: [&str; 15] = [
    "exp", "expm1", "sinh", "cosh", "tanh", "erf", "erfc", "pow", "sqrt", "cbrt", "log", "log1p", "atan", "asinh",
    "atan2",
];
/// Whole powers up to this one are not steep.
const MAX_FLAT_POWER: f64 = 4.0;

impl Nest<'_> {
    pub(super) fn is_wave(&self, id: NodeId, node: Node) -> bool {
        let wave = matches!(node, Node::Call(op, _) if matches!(op.0.name, "sin" | "cos"));
        wave && self.kinds[id.index()] == Kind::Plain
    }

    /// The steep functions of states.
    pub(super) fn steep(&self) -> impl Iterator<Item = NodeId> {
        let flat = |power: NodeId| match self.kernel.graph.node(power) {
            Node::Constant(bits) => {
                let power = f64::from_bits(bits);
                power.fract() == 0.0 && (0.0..=MAX_FLAT_POWER).contains(&power)
            }
            _ => false,
        };
        let steep = move |node: Node| match node {
            Node::Call(op, args) => STEEP.contains(&op.0.name) && !(op.0.name == "pow" && flat(args[1])),
            _ => false,
        };
        let foreign = self.kernel.live().filter(|(id, _)| self.kinds[id.index()] == Kind::Foreign);
        foreign.filter(move |(_, node)| steep(*node)).map(|(id, _)| id)
    }

    /// The denominators that states move: a quotient is negligible except where its denominator is small.
    pub(super) fn denominators(&self) -> impl Iterator<Item = NodeId> {
        let below = |(_, node)| match node {
            Node::Call(op, [_, below, _]) if op.0.name == "div" => Some(below),
            _ => None,
        };
        self.kernel.live().filter_map(below).filter(|id| self.kinds[id.index()] == Kind::Foreign)
    }

    /// The waves from which these nodes are computed; where a term of t alone contains none, the term itself.
    pub(super) fn waves(&self, mut open: Vec<NodeId>) -> Vec<NodeId> {
        let mut seen = vec![false; self.kernel.graph.len()];
        let mut found = Vec::new();
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            let node = self.kernel.graph.node(id);
            if self.is_wave(id, node) || (self.kinds[id.index()] == Kind::Curved && !self.has_wave(id)) {
                found.push(id);
            } else {
                open.extend(node.operands().iter().copied().filter(|id| self.kinds[id.index()] != Kind::Fixed));
            }
        }
        found
    }

    fn has_wave(&self, id: NodeId) -> bool {
        self.kernel.graph.live([id]).any(|(id, node)| self.is_wave(id, node))
    }
}
