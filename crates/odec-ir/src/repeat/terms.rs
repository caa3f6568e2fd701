//! Sums as lists of terms, in the order in which they are added.

use crate::builtin::Primitive;
use crate::graph::{Graph, Node, NodeId};
use crate::nest::Kernel;

/// A term of a sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    /// True if it is subtracted.
    pub negative: bool,
    /// The term without its sign.
    pub node: NodeId,
    /// The number by which `value` is multiplied, 1 if there is none.
    pub factor: f64,
    /// The value that other sums may contain too: the rate of a reaction.
    pub value: NodeId,
}

/// For each node: the number of calls and stores that use it.
pub(super) fn users(kernel: &Kernel) -> Vec<u32> {
    let mut users = vec![0; kernel.graph.len()];
    for (_, node) in kernel.live() {
        node.operands().iter().for_each(|a| users[a.index()] += 1);
    }
    kernel.stores.iter().for_each(|store| users[store.node.index()] += 1);
    users
}

/// The terms of a sum. A node that others use too is a term, even if it is a sum itself.
pub(super) fn of(graph: &Graph, users: &[u32], root: NodeId) -> Vec<Term> {
    // from the last to the first
    let mut found = Vec::new();
    let (mut at, mut negative) = (root, false);
    loop {
        if users[at.index()] > 1 {
            found.push(term(graph, users, at, negative));
            break;
        }
        let Node::Call(op, [a, b, _]) = graph.node(at) else {
            found.push(term(graph, users, at, negative));
            break;
        };
        match op.primitive() {
            Some(Primitive::Add) => {
                let (sum, last) = if continues(graph, users, a, b) { (a, b) } else { (b, a) };
                found.push(term(graph, users, last, negative));
                at = sum;
            }
            Some(Primitive::Sub) => {
                found.push(term(graph, users, b, !negative));
                at = a;
            }
            Some(Primitive::Neg) => {
                negative = !negative;
                at = a;
            }
            _ => {
                found.push(term(graph, users, at, negative));
                break;
            }
        }
    }
    found.reverse();
    found
}

/// True if the sum before `a + b` is `a`: sums are formed after their terms, and no other sum uses them.
fn continues(graph: &Graph, users: &[u32], a: NodeId, b: NodeId) -> bool {
    let sum = |id: NodeId| {
        let adds = |op: crate::Op| matches!(op.primitive(), Some(Primitive::Add | Primitive::Sub | Primitive::Neg));
        users[id.index()] == 1 && matches!(graph.node(id), Node::Call(op, _) if adds(op))
    };
    match (sum(a), sum(b)) {
        (true, true) => a > b,
        (first, _) => first,
    }
}

fn term(graph: &Graph, users: &[u32], node: NodeId, negative: bool) -> Term {
    let whole = Term { negative, node, factor: 1.0, value: node };
    if users[node.index()] > 1 {
        return whole;
    }
    let Node::Call(op, [a, b, _]) = graph.node(node) else { return whole };
    if op.primitive() != Some(Primitive::Mul) {
        return whole;
    }
    let by = |number: NodeId, value: NodeId| {
        let shared = users[value.index()] > 1 && matches!(graph.node(value), Node::Call(..));
        graph.as_constant(number).filter(|_| shared).map(|factor| Term { negative, node, factor, value })
    };
    by(a, b).or_else(|| by(b, a)).unwrap_or(whole)
}
