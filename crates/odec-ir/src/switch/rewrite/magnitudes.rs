//! Comparisons with a magnitude: `abs(u) > c` is `u > c or -u > c` for every c. So the kink of `abs` at u = 0 is no
//! separate surface if only comparisons read the magnitude: a pipe at rest has no direction of flow.

use super::Rewrite;
use crate::builtin::logic;
use crate::graph::{Node, NodeId};

/// Largest nesting depth of magnitudes that are expanded.
const MAX_DEPTH: u32 = 8;

/// A node of the form `factor*abs(u) + rest`.
#[derive(Clone, Copy)]
pub(super) struct Magnitude {
    /// The node with `abs(u)` replaced by `u` and by `-u`.
    halves: [NodeId; 2],
    /// Constant inside a step; `None` is 1. With a negative factor, the node is the smaller of both halves.
    factor: Option<NodeId>,
    depth: u32,
}

impl Rewrite<'_> {
    /// Records that a node is the magnitude of another one.
    pub(super) fn is_magnitude(&mut self, node: NodeId, of: NodeId, opposite: NodeId) {
        let depth = 1 + self.magnitudes.get(&of).map_or(0, |inner| inner.depth);
        if depth <= MAX_DEPTH {
            self.magnitudes.insert(node, Magnitude { halves: [of, opposite], factor: None, depth });
        }
    }

    /// Records a node of the new graph that is a magnitude plus a term, or times a factor that is constant inside a step.
    pub(super) fn carry_magnitude(&mut self, node: NodeId) {
        if self.magnitudes.is_empty() || self.magnitudes.contains_key(&node) {
            return;
        }
        let Node::Call(op, [a, b, _]) = self.graph.node(node) else { return };
        if !matches!(op.0.name, "neg" | "add" | "sub" | "mul" | "div") {
            return;
        }
        let [first, second] = [a, b].map(|operand| self.magnitudes.get(&operand).copied());
        let unary = op.0.arity == 1;
        let (Magnitude { halves, factor, depth }, at) = match (first, second) {
            (Some(first), None) => (first, 0),
            (Some(first), Some(_)) if unary => (first, 0),
            (None, Some(second)) => (second, 1),
            _ => return,
        };
        let scales = matches!(op.0.name, "mul" | "div");
        let other = [b, a][at];
        if scales && !self.steady(&[other]) || op.0.name == "div" && at == 1 {
            return;
        }
        let halves = halves.map(|half| {
            let mut operands = [a, b];
            operands[at] = half;
            self.graph.apply(op.0, &operands[..usize::from(op.0.arity)])
        });
        let minus = self.graph.constant(-1.0);
        let sign = match op.0.name {
            "neg" => Some(minus),
            "sub" if at == 1 => Some(minus),
            "mul" | "div" => Some(other),
            _ => None,
        };
        let factor = match (factor, sign) {
            (Some(factor), Some(sign)) => Some(self.graph.mul(factor, sign)),
            (factor, sign) => factor.or(sign),
        };
        self.magnitudes.insert(node, Magnitude { halves, factor, depth });
    }

    /// The mode of `left > right` if one side is a magnitude.
    pub(super) fn truth_of_magnitude(
        &mut self,
        id: NodeId,
        [left, right]: [NodeId; 2],
        or_equal: bool,
        bends: bool,
    ) -> Option<NodeId> {
        let on_left = self.magnitudes.get(&left).copied();
        let Magnitude { halves, factor, .. } = on_left.or_else(|| self.magnitudes.get(&right).copied())?;
        let [a, b] = halves.map(|half| if on_left.is_some() { [half, right] } else { [left, half] });
        let a = self.truth(id, a[0], a[1], or_equal, bends)?;
        let b = self.truth(id, b[0], b[1], or_equal, bends)?;
        // the larger half is greater if either half is; it is less if both are
        let [larger, smaller] = match on_left {
            Some(_) => [&logic::OR, &logic::AND],
            None => [&logic::AND, &logic::OR],
        };
        let whole = self.graph.apply(larger, &[a, b]);
        let Some(factor) = factor else { return Some(whole) };
        let opposite = self.graph.apply(smaller, &[a, b]);
        let zero = self.graph.constant(0.0);
        let negative = self.graph.apply(&logic::LT, &[factor, zero]);
        Some(self.graph.apply(&logic::IF, &[negative, opposite, whole]))
    }
}
