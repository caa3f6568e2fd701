//! Differences that are linear in states and time, with coefficients that are constant during a run.

use super::rewrite::is_state;
use crate::derive::gradients;
use crate::graph::{Graph, Node, NodeId, QuickMap};
use crate::nest::Element;
use crate::program::Role;

/// A coefficient, in an accompanying graph.
pub(super) struct Coefficient {
    /// The state; `None` for time.
    pub of: Option<Element>,
    pub node: NodeId,
}

/// The coefficients of a node; `None` if one of them changes during a run.
pub(super) fn linear(graph: &Graph, root: NodeId, role: impl Fn(Element) -> Role) -> Option<(Graph, Vec<Coefficient>)> {
    let mut own = Graph::new();
    let root = carried(graph, root, &mut QuickMap::default(), &mut own);
    if own.nodes().iter().any(|node| matches!(node, Node::Reduce(..) | Node::Direction(_))) {
        return None;
    }
    // a column for each node that varies independently
    let mut columns: QuickMap<Node, u32> = QuickMap::default();
    let mut leaves = Vec::new();
    for node in own.nodes() {
        let of = match *node {
            Node::Time => None,
            Node::Read(element) if is_state(role(element)) => Some(element),
            _ => continue,
        };
        columns.insert(*node, leaves.len() as u32);
        leaves.push(of);
    }
    let gradient = gradients(&mut own, &[root], |node| columns.get(&node).copied())?;
    let changes = |node: Node| match node {
        Node::Read(element) => !matches!(role(element), Role::Parameter | Role::Staged | Role::Size | Role::Table),
        Node::Time => true,
        _ => false,
    };
    let mut list = Vec::new();
    for (column, node) in gradient.into_iter().next()? {
        if own.live([node]).any(|(_, node)| changes(node)) {
            return None;
        }
        list.push(Coefficient { of: leaves[column as usize], node });
    }
    Some((own, list))
}

/// Copies a node to another graph. The map holds the nodes copied before, so that the time for all relations together
/// is proportional to the number of nodes.
pub(super) fn carried(from: &Graph, node: NodeId, map: &mut QuickMap<NodeId, NodeId>, into: &mut Graph) -> NodeId {
    let mut open = vec![node];
    while let Some(&id) = open.last() {
        if map.contains_key(&id) {
            open.pop();
            continue;
        }
        let before = open.len();
        open.extend(from.node(id).operands().iter().filter(|a| !map.contains_key(a)));
        if open.len() > before {
            continue;
        }
        let new = match from.node(id) {
            Node::Call(op, args) => {
                let mut args: Vec<NodeId> = args[..usize::from(op.0.arity)].iter().map(|a| map[a]).collect();
                if op.0.commutative && args[1] < args[0] {
                    args.swap(0, 1);
                }
                into.insert_call(op, &args)
            }
            Node::Reduce(reduction, over, term) => into.insert(Node::Reduce(reduction, over, map[&term])),
            leaf => into.insert(leaf),
        };
        map.insert(id, new);
        open.pop();
    }
    map[&node]
}
