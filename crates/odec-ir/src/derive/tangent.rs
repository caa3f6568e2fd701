//! The tangent kernel, Jacobian times a direction: one forward pass, of the size of the function.

use crate::graph::{Graph, Node, NodeId};
use crate::program::{ArrayId, Kernel, KernelRole};

use super::row_stores;
use crate::builtin::logic;

/// The derivative of every row of a kernel along the direction `w` of the given states.
pub fn tangent(kernel: &Kernel, states: &[ArrayId]) -> Kernel {
    let mut graph = kernel.graph.clone();
    let mut is_state = vec![false; states.iter().map(|s| s.0 as usize + 1).max().unwrap_or(0)];
    for s in states {
        is_state[s.0 as usize] = true;
    }
    let mut tangents: Vec<Option<NodeId>> = Vec::with_capacity(kernel.graph.len());
    for i in 0..kernel.graph.len() {
        let id = NodeId(i as u32);
        let slope = match graph.node(id) {
            Node::Read(array) if is_state.get(array.0 as usize) == Some(&true) => Some(graph.direction(array)),
            node @ Node::Call(..) if node.operands().iter().any(|a| tangents[a.index()].is_some()) => {
                call_tangent(&mut graph, id, node, &tangents)
            }
            _ => None,
        };
        tangents.push(slope);
    }
    let stores = row_stores(kernel, &mut graph, kernel.stores.iter().map(|s| tangents[s.node.index()]));
    Kernel { role: KernelRole::Tangent, graph, stores }
}

/// The derivative of a call, given those of all nodes before it (by position; `None` is zero).
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
