//! Roots and powers of quantities that are constant in one mode.

use super::Rewrite;
use crate::builtin::{Op, logic};
use crate::graph::{Node, NodeId, NodeMap};

/// A choice by a mode: the mode, and its values for true and false.
type Choice = (NodeId, [NodeId; 2]);

impl Rewrite<'_> {
    /// `sqrt(if m then x else 0)` as `if m then sqrt(x) else sqrt(0)`. Both have the same bits. A root has no
    /// derivative at 0, but a constant has one: the flow through an orifice is 0 while the tank is empty.
    pub(super) fn root(&mut self, id: NodeId, moded: &NodeMap) -> Option<NodeId> {
        let Node::Call(op, args) = self.kernel.graph.node(id) else { return None };
        if op == Op(&logic::IF) && self.written.contains_key(&moded[args[0]]) {
            let mode = moded[args[0]];
            let [holds, fails] = self.existing(mode, [moded[args[1]], moded[args[2]]]);
            return Some(self.graph.apply(&logic::IF, &[mode, holds, fails]));
        }
        if self.is_of_choice(op, moded[args[0]]) {
            let exponent = if op.0.arity == 2 { moded[args[1]] } else { moded[args[0]] };
            return Some(self.spread(op, [moded[args[0]], exponent], 0));
        }
        if !matches!(op.0.name, "sqrt" | "cbrt" | "pow") {
            return None;
        }
        let (mode, values) = self.choice(moded[args[0]])?;
        let exponent = if op.0.arity == 2 { Some(moded[args[1]]) } else { None };
        if exponent.is_some_and(|exponent| !self.steady(&[exponent])) {
            return None;
        }
        let spans = self.kernel.graph.spans(id).to_vec();
        let [holds, fails] = values.map(|value| {
            let operands: Vec<NodeId> = [value].into_iter().chain(exponent).collect();
            let root = self.graph.apply(op.0, &operands);
            for span in &spans {
                self.graph.add_span(root, *span);
            }
            root
        });
        let [holds, fails] = self.existing(mode, [holds, fails]);
        Some(self.graph.apply(&logic::IF, &[mode, holds, fails]))
    }

    /// `cbrt(x)` as the root of |x| with a sign, in which a mode chooses |x|: steps end where x changes its sign. Both have
    /// the same bits, whatever the mode is.
    pub(super) fn odd_root(&mut self, id: NodeId, moded: &NodeMap) -> Option<NodeId> {
        let Node::Call(op, args) = self.kernel.graph.node(id) else { return None };
        let x = moded[args[0]];
        if self.steady(&[x]) {
            return None;
        }
        let zero = self.graph.constant(0.0);
        let positive = self.truth(id, x, zero, false, true)?;
        let opposite = self.graph.neg(x);
        let size = self.graph.apply(&logic::IF, &[positive, x, opposite]);
        let root = self.graph.apply(op.0, &[size]);
        for span in self.kernel.graph.spans(id).to_vec() {
            self.graph.add_span(root, span);
        }
        let negative = self.graph.neg(root);
        Some(self.graph.apply(&logic::IF, &[positive, root, negative]))
    }

    /// A choice by a mode in which one value is constant inside a step, possibly with a factor or a term that is
    /// constant.
    fn choice(&mut self, node: NodeId) -> Option<Choice> {
        let Node::Call(op, args) = self.graph.node(node) else { return None };
        if op == Op(&logic::IF) {
            let fits = self.steady(&[args[0]]) && (self.steady(&[args[1]]) || self.steady(&[args[2]]));
            return fits.then_some((args[0], [args[1], args[2]]));
        }
        match op.0.name {
            "neg" => {
                let (mode, values) = self.choice(args[0])?;
                Some((mode, values.map(|value| self.graph.neg(value))))
            }
            "add" | "sub" | "mul" | "div" => {
                let steady = [args[0], args[1]].map(|operand| self.steady(&[operand]));
                let at = match steady {
                    [true, false] => 1,
                    [false, true] => 0,
                    _ => return None,
                };
                let (mode, values) = self.choice(args[at])?;
                let values = values.map(|value| {
                    let mut operands = [args[0], args[1]];
                    operands[at] = value;
                    self.graph.apply(op.0, &operands)
                });
                Some((mode, values))
            }
            _ => None,
        }
    }
}
