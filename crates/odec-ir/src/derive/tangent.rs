//! The derivative of a call along a direction: the step of a forward pass.

use crate::builtin::logic;
use crate::graph::{Graph, Node, NodeId};

/// The derivative of a call, from those of all nodes before it (by position; `None` is zero).
pub fn call_tangent(graph: &mut Graph, id: NodeId, node: Node, tangents: &[Option<NodeId>]) -> Option<NodeId> {
    let Node::Call(op, args) = node else { return None };
    let args = &args[..usize::from(op.0.arity)];
    if let Some(branch) = &op.0.branch {
        let (then, otherwise) = (tangents[args[branch.then].index()], tangents[args[branch.otherwise].index()]);
        if then.is_none() && otherwise.is_none() {
            return None;
        }
        let condition = (branch.condition)(graph, args);
        let zero = graph.constant(0.0);
        return Some(graph.apply(&logic::IF, &[condition, then.unwrap_or(zero), otherwise.unwrap_or(zero)]));
    }
    let mut sum = None;
    for i in 0..args.len() {
        let Some(inner) = tangents[args[i].index()] else { continue };
        let Some(partial) = super::gradient::partial(graph, op, args, id, i) else { continue };
        let term = graph.mul(partial, inner);
        sum = Some(match sum {
            None => term,
            Some(sum) => graph.add(sum, term),
        });
    }
    sum
}
