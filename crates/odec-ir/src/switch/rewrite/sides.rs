//! Choices at the time of their switch: rounding may give the comparison its other value there. `max(sin(t), 0)^0.5`
//! ends a step where `sin(t)` is 0 up to rounding errors, and the power of a negative number has no value. If the chosen
//! value of a choice does not exist, and its comparison has the other result, the other value is taken. The time of the switch
//! remains that of its mode.

use super::Rewrite;
use crate::builtin::{Op, logic};
use crate::graph::{Graph, Node, NodeId, NodeMap};
use crate::stage::Stage;

/// Functions without a value for some arguments.
const PARTIAL: [&str; 9] = ["sqrt", "pow", "ln", "log2", "log10", "log1p", "asin", "acos", "acosh"];
/// Largest depth of choices in an argument of such a function that are taken out of it.
const MAX_DEPTH: u32 = 4;
/// Largest number of nodes of a value that are searched for them.
const MAX_SEARCHED: usize = 200;

/// True if a kernel has such functions of values that depend on time.
pub(super) fn may_fail(graph: &Graph) -> bool {
    let timed = depend_on_time(graph);
    graph.nodes().iter().any(|node| is_partial(*node, |operand| timed[operand.index()]))
}

/// For each node, true if it depends on time.
fn depend_on_time(graph: &Graph) -> Vec<bool> {
    let mut timed: Vec<bool> = Vec::with_capacity(graph.len());
    for node in graph.nodes() {
        timed.push(matches!(node, Node::Time) || node.operands().iter().any(|operand| timed[operand.index()]));
    }
    timed
}

/// True if a node may have no value because of an operand that depends on time.
fn is_partial(node: Node, timed: impl Fn(NodeId) -> bool) -> bool {
    let Node::Call(op, args) = node else { return false };
    PARTIAL.contains(&op.0.name) && timed(args[0]) || op.0.name == "div" && timed(args[1])
}

impl Rewrite<'_> {
    /// Records the comparison of a timed node as it is written, for the node that reads its mode.
    pub(super) fn keep_written(&mut self, mode: NodeId, (op, args): (Op, [NodeId; 3]), as_was: &NodeMap) {
        let zero = self.graph.constant(0.0);
        let written = match op.0.name {
            "abs" => self.graph.apply(&logic::LT, &[zero, as_was[args[0]]]),
            "min" => self.graph.apply(&logic::LE, &[as_was[args[0]], as_was[args[1]]]),
            "max" => self.graph.apply(&logic::LE, &[as_was[args[1]], as_was[args[0]]]),
            "lt" | "le" => self.graph.apply(op.0, &[as_was[args[0]], as_was[args[1]]]),
            _ => return,
        };
        self.written.insert(mode, written);
    }

    /// The values of a choice by a mode, for true and false, each replaced by the other one where it does not exist.
    pub(super) fn existing(&mut self, mode: NodeId, [holds, fails]: [NodeId; 2]) -> [NodeId; 2] {
        let Some(&written) = self.written.get(&mode) else { return [holds, fails] };
        let opposite = self.graph.apply(&logic::NOT, &[written]);
        self.timed = depend_on_time(&self.graph);
        let mut unless = |value: NodeId, other: NodeId, on_other_side: NodeId| {
            if !self.contains(value, |node, timed| is_partial(node, timed)) {
                return value;
            }
            // a pole is infinite, and remains so, but an exponential overflows on the wrong side: exp(-1/u) at u < 0
            let overflows = self.contains(value, |node, _| matches!(node, Node::Call(op, _) if op.0.name == "exp"));
            let missing = if overflows {
                // the difference is 0 for finite values
                let difference = self.graph.sub(value, value);
                let zero = self.graph.constant(0.0);
                self.graph.apply(&logic::NE, &[difference, zero])
            } else {
                self.graph.apply(&logic::NE, &[value, value])
            };
            let taken = self.graph.apply(&logic::AND, &[missing, on_other_side]);
            self.graph.apply(&logic::IF, &[taken, other, value])
        };
        [unless(holds, fails, opposite), unless(fails, holds, written)]
    }

    /// A function of choices by modes as the choices of its values.
    pub(super) fn spread(&mut self, op: Op, [base, exponent]: [NodeId; 2], depth: u32) -> NodeId {
        if let Node::Call(choice, [mode, holds, fails]) = self.graph.node(base)
            && choice == Op(&logic::IF)
            && self.written.contains_key(&mode)
            && depth < MAX_DEPTH
        {
            let values = [holds, fails].map(|value| self.spread(op, [value, exponent], depth + 1));
            let [holds, fails] = self.existing(mode, values);
            return self.graph.apply(&logic::IF, &[mode, holds, fails]);
        }
        self.graph.apply(op.0, &[base, exponent][..usize::from(op.0.arity)])
    }

    /// True if a node is a partial function of a choice by a mode that depends only on time.
    pub(super) fn is_of_choice(&self, op: Op, base: NodeId) -> bool {
        let Node::Call(choice, args) = self.graph.node(base) else { return false };
        PARTIAL.contains(&op.0.name) && choice == Op(&logic::IF) && self.written.contains_key(&args[0])
    }

    /// Records the comparison `left > right` for the node that reads its mode, if it depends only on time.
    pub(super) fn keep_relation(&mut self, id: NodeId, mode: NodeId, [left, right]: [NodeId; 2], or_equal: bool) {
        if self.needs_written && self.stages[id.index()] == Stage::Time {
            let op = if or_equal { &logic::LE } else { &logic::LT };
            let written = self.graph.apply(op, &[right, left]);
            self.written.insert(mode, written);
        }
    }

    /// True if a value of the new graph contains such a node; the second argument tells which nodes depend on time.
    fn contains(&self, value: NodeId, wanted: impl Fn(Node, &dyn Fn(NodeId) -> bool) -> bool) -> bool {
        let (mut open, mut seen) = (vec![value], vec![value]);
        while let Some(id) = open.pop() {
            let node = self.graph.node(id);
            if wanted(node, &|operand| self.timed[operand.index()]) {
                return true;
            }
            for &operand in node.operands() {
                if seen.len() < MAX_SEARCHED && !seen.contains(&operand) {
                    seen.push(operand);
                    open.push(operand);
                }
            }
        }
        false
    }
}
