//! Waves that steep functions of states hide: sines and cosines in their arguments.

use odec_ir::{Node, NodeId};

use super::terms::{Kind, Nest};

/// Functions that may change by many powers of ten while their argument changes by its own size.
const STEEP: [&str; 8] = ["exp", "expm1", "sinh", "cosh", "tanh", "erf", "erfc", "pow"];
/// Powers up to this one are not steep.
const MAX_FLAT_POWER: f64 = 4.0;

impl Nest<'_> {
    pub(super) fn is_wave(&self, id: NodeId, node: Node) -> bool {
        let wave = matches!(node, Node::Call(op, _) if matches!(op.0.name, "sin" | "cos"));
        wave && self.kinds[id.index()] == Kind::Plain
    }

    /// The steep functions of states.
    pub(super) fn steep(&self) -> impl Iterator<Item = NodeId> {
        let flat = |power: NodeId| match self.kernel.graph.node(power) {
            Node::Constant(bits) => f64::from_bits(bits).abs() <= MAX_FLAT_POWER,
            _ => false,
        };
        let steep = move |node: Node| match node {
            Node::Call(op, args) => STEEP.contains(&op.0.name) && !(op.0.name == "pow" && flat(args[1])),
            _ => false,
        };
        let foreign = self.kernel.live().filter(|(id, _)| self.kinds[id.index()] == Kind::Foreign);
        foreign.filter(move |(_, node)| steep(*node)).map(|(id, _)| id)
    }

    /// The waves from which these nodes are computed.
    pub(super) fn waves(&self, mut open: Vec<NodeId>) -> Vec<NodeId> {
        let mut seen = vec![false; self.kernel.graph.len()];
        let mut found = Vec::new();
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            let node = self.kernel.graph.node(id);
            if self.is_wave(id, node) {
                found.push(id);
            } else {
                open.extend(node.operands().iter().copied().filter(|id| self.kinds[id.index()] != Kind::Fixed));
            }
        }
        found
    }
}
