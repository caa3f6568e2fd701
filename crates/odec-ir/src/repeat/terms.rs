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

/// The terms of a sum. A value that several sums share is a term, even if it is a sum itself, such as the rate of a
/// reversible reaction.
pub(super) fn of(graph: &Graph, users: &[u32], root: NodeId) -> Vec<Term> {
    // from the last to the first
    let mut found = Vec::new();
    let (mut at, mut negative) = (root, false);
    loop {
        match graph.node(at) {
            Node::Call(op, [x, ..]) if op.primitive() == Some(Primitive::Neg) => {
                negative = !negative;
                at = x;
            }
            Node::Call(op, [a, b, _]) if is_sum(graph, users, at) => {
                let added = op.primitive() == Some(Primitive::Add);
                let (sum, last) = if added && !continues(graph, users, a, b) { (b, a) } else { (a, b) };
                found.push(term(graph, users, last, negative == added));
                at = sum;
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

/// True for the sum or difference of a row, or of its first terms, and not of a rate. Rows that begin with the same
/// terms share such a sum; its terms are shared too, those of a rate are not.
fn is_sum(graph: &Graph, users: &[u32], id: NodeId) -> bool {
    let Node::Call(op, args) = graph.node(id) else { return false };
    let shared = |id: NodeId| {
        let id = match graph.node(id) {
            Node::Call(op, [x, ..]) if op.primitive() == Some(Primitive::Neg) => x,
            _ => id,
        };
        users[id.index()] > 1 && matches!(graph.node(id), Node::Call(..))
    };
    matches!(op.primitive(), Some(Primitive::Add | Primitive::Sub))
        && (users[id.index()] == 1 || args[..2].iter().any(|&a| shared(a)))
}

/// True if the sum before `a + b` is `a`: sums are formed after their terms.
fn continues(graph: &Graph, users: &[u32], a: NodeId, b: NodeId) -> bool {
    let negated = |id: NodeId| matches!(graph.node(id), Node::Call(op, _) if op.primitive() == Some(Primitive::Neg));
    match [a, b].map(|id| is_sum(graph, users, id) || negated(id)) {
        [true, true] => a > b,
        [first, _] => first,
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
