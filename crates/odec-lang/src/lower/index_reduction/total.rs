//! The total time derivative of an expression along a solution.

use std::collections::BTreeMap;

use odec_ir::Element;
use odec_ir::derive::call_tangent;
use odec_ir::graph::{Graph, Node, NodeId};

/// `g_t + sum of g_x x'`, with the rate of each state as an expression; leaves without a rate are constant.
pub(super) fn total_derivative(graph: &mut Graph, root: NodeId, rates: &BTreeMap<Element, NodeId>) -> NodeId {
    let live: Vec<(NodeId, Node)> = graph.live([root]).collect();
    let mut slopes: Vec<Option<NodeId>> = vec![None; root.index() + 1];
    for (id, node) in live {
        slopes[id.index()] = match node {
            Node::Time => Some(graph.constant(1.0)),
            Node::Read(element) => rates.get(&element).copied(),
            node => call_tangent(graph, id, node, &slopes),
        };
    }
    slopes[root.index()].unwrap_or_else(|| graph.constant(0.0))
}
