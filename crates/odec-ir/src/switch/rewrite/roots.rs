//! Roots and powers of quantities that a mode keeps from being negative: `sqrt(max(h, 0))`, `if h > 0 then sqrt(h)`.
//!
//! Stages of a step may lie beyond the surface h = 0 while the mode still says h > 0. `sqrt(h)` has no value there, and
//! the stages of some methods lie there for every step size: in a chain of empty tanks that begin to fill, h grows as
//! a power of t above 1. So such a root continues as `-sqrt(-h)`. Inside the mode its bits do not change, and no
//! accepted step ends in the wrong mode.

use super::Rewrite;
use crate::builtin::{Op, logic};
use crate::graph::{Node, NodeId, NodeMap, QuickMap};

/// Largest number of nodes of a branch that are searched for roots.
const SEARCHED: usize = 100;

/// A choice by a mode.
struct Choice {
    mode: NodeId,
    /// The values for true and false.
    values: [NodeId; 2],
    /// For each value, the truth of the opposite comparison if the choice is the larger of 0 and a quantity, which is
    /// this value.
    beyond: [Option<NodeId>; 2],
}

fn is_root(op: Op) -> bool {
    matches!(op.0.name, "sqrt" | "cbrt" | "pow")
}

impl Rewrite<'_> {
    /// `sqrt(if m then x else 0)` as `if m then sqrt(x) else sqrt(0)`. Both have the same bits. A root has no
    /// derivative at 0, but a constant has one: the flow through an orifice is 0 while the tank is empty.
    pub(super) fn root(&mut self, id: NodeId, moded: &NodeMap) -> Option<NodeId> {
        let Node::Call(op, args) = self.kernel.graph.node(id) else { return None };
        if op == Op(&logic::IF) {
            return self.branches(args.map(|a| moded[a]));
        }
        if !is_root(op) {
            return None;
        }
        let Choice { mode, values, beyond } = self.choice(moded[args[0]])?;
        let exponent = if op.0.arity == 2 { Some(moded[args[1]]) } else { None };
        if exponent.is_some_and(|exponent| !self.steady(&[exponent])) {
            return None;
        }
        let spans = self.kernel.graph.spans(id).to_vec();
        let [holds, fails] = [0, 1].map(|k| {
            let root = self.continued(op, values[k], exponent, beyond[k]);
            for span in &spans {
                self.graph.add_span(root, *span);
            }
            root
        });
        Some(self.graph.apply(&logic::IF, &[mode, holds, fails]))
    }

    /// A root or power, continued beyond the surface where it has no value.
    fn continued(&mut self, op: Op, value: NodeId, exponent: Option<NodeId>, beyond: Option<NodeId>) -> NodeId {
        let power = exponent.and_then(|exponent| self.graph.as_constant(exponent));
        let whole = op.0.name == "cbrt" || power.is_some_and(|power| power.fract() == 0.0);
        let Some(beyond) = beyond.filter(|_| !whole) else {
            let operands: Vec<NodeId> = [value].into_iter().chain(exponent).collect();
            return self.graph.apply(op.0, &operands);
        };
        let (one, minus) = (self.graph.constant(1.0), self.graph.constant(-1.0));
        let sign = self.graph.apply(&logic::IF, &[beyond, minus, one]);
        let positive = self.graph.mul(sign, value);
        let operands: Vec<NodeId> = [positive].into_iter().chain(exponent).collect();
        let root = self.graph.apply(op.0, &operands);
        self.graph.mul(sign, root)
    }

    /// The quantity that the relation of a mode compares with 0, and true if it is positive where the mode is true.
    fn signed(&self, mode: NodeId) -> Option<(NodeId, bool)> {
        let [left, right] = self.watched.iter().find(|watched| watched.mode == mode)?.sides;
        let zero = |side: NodeId| self.graph.as_constant(side) == Some(0.0);
        if zero(right) { Some((left, true)) } else { zero(left).then_some((right, false)) }
    }

    /// The truth of `quantity < 0`, or of `quantity > 0`.
    fn beyond(&mut self, quantity: NodeId, positive: bool) -> NodeId {
        let zero = self.graph.constant(0.0);
        let sides = if positive { [quantity, zero] } else { [zero, quantity] };
        self.graph.apply(&logic::LT, &sides)
    }

    /// A choice by the sign of a quantity, with continued roots of this quantity in its branch. The other branch is
    /// constant inside a step: where each side has its own root, as in a law for both directions of a flow, a step that
    /// lands on the surface needs to fail beyond it.
    fn branches(&mut self, [mode, holds, fails]: [NodeId; 3]) -> Option<NodeId> {
        let (quantity, positive) = self.signed(mode)?;
        if !self.steady(&[holds]) && !self.steady(&[fails]) {
            return None;
        }
        let mut found = false;
        let made = [(holds, positive), (fails, !positive)].map(|(branch, positive)| {
            let mut seen = QuickMap::default();
            let beyond = self.beyond(quantity, positive);
            let made = self.with_continued_roots(branch, quantity, beyond, &mut seen);
            found |= made != branch;
            made
        });
        found.then(|| self.graph.apply(&logic::IF, &[mode, made[0], made[1]]))
    }

    fn with_continued_roots(
        &mut self,
        node: NodeId,
        quantity: NodeId,
        beyond: NodeId,
        seen: &mut QuickMap<NodeId, NodeId>,
    ) -> NodeId {
        if let Some(made) = seen.get(&node) {
            return *made;
        }
        let Node::Call(op, args) = self.graph.node(node) else { return node };
        if seen.len() >= SEARCHED || node == quantity || self.steady(&[node]) {
            return node;
        }
        seen.insert(node, node);
        let arity = usize::from(op.0.arity);
        let exponent = (arity == 2).then_some(args[1]);
        let fits = is_root(op) && exponent.is_none_or(|exponent| self.steady(&[exponent]));
        let made = if fits && self.is_multiple(args[0], quantity) {
            self.continued(op, args[0], exponent, Some(beyond))
        } else {
            let made: Vec<NodeId> =
                args[..arity].iter().map(|a| self.with_continued_roots(*a, quantity, beyond, seen)).collect();
            if made == args[..arity] { node } else { self.graph.call(op, &made) }
        };
        if made != node {
            for span in self.graph.spans(node).to_vec() {
                self.graph.add_span(made, span);
            }
        }
        seen.insert(node, made);
        made
    }

    /// True if a node is a quantity times factors that are constant inside a step.
    fn is_multiple(&mut self, node: NodeId, quantity: NodeId) -> bool {
        if node == quantity {
            return true;
        }
        let Node::Call(op, args) = self.graph.node(node) else { return false };
        match op.0.name {
            "neg" => self.is_multiple(args[0], quantity),
            "mul" if self.steady(&[args[0]]) => self.is_multiple(args[1], quantity),
            "mul" | "div" if self.steady(&[args[1]]) => self.is_multiple(args[0], quantity),
            _ => false,
        }
    }

    /// A choice by a mode in which one value is constant inside a step, possibly with a factor or a term that is
    /// constant.
    fn choice(&mut self, node: NodeId) -> Option<Choice> {
        let Node::Call(op, args) = self.graph.node(node) else { return None };
        if op == Op(&logic::IF) {
            let fits = self.steady(&[args[0]]) && (self.steady(&[args[1]]) || self.steady(&[args[2]]));
            if !fits {
                return None;
            }
            let values = [args[1], args[2]];
            let mut beyond = [None; 2];
            if let Some((quantity, positive)) = self.signed(args[0]) {
                let own = usize::from(!positive);
                if values[own] == quantity && self.graph.as_constant(values[1 - own]) == Some(0.0) {
                    beyond[own] = Some(self.beyond(quantity, true));
                }
            }
            return Some(Choice { mode: args[0], values, beyond });
        }
        match op.0.name {
            "neg" => {
                let Choice { mode, values, beyond } = self.choice(args[0])?;
                Some(Choice { mode, values: values.map(|value| self.graph.neg(value)), beyond })
            }
            "add" | "sub" | "mul" | "div" => {
                let steady = [args[0], args[1]].map(|operand| self.steady(&[operand]));
                let at = match steady {
                    [true, false] => 1,
                    [false, true] => 0,
                    _ => return None,
                };
                let Choice { mode, values, beyond } = self.choice(args[at])?;
                let scales = matches!(op.0.name, "mul" | "div");
                let beyond = if scales { beyond } else { [None; 2] };
                let values = values.map(|value| {
                    let mut operands = [args[0], args[1]];
                    operands[at] = value;
                    self.graph.apply(op.0, &operands)
                });
                Some(Choice { mode, values, beyond })
            }
            _ => None,
        }
    }
}
