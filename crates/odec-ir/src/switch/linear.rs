//! Differences that are linear in states and time, with coefficients that are constant during a run.

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

/// The coefficients of each root; `None` if one of them changes during a run, or if the roots have too many together.
/// Roots share nodes (each definition of a chain may be compared), so one pass treats all of them.
pub(super) fn linear(
    graph: &Graph,
    roots: &[NodeId],
    role: impl Fn(Element) -> Role,
) -> (Graph, Vec<Option<Vec<Coefficient>>>) {
    let mut own = Graph::new();
    let mut map = QuickMap::default();
    let roots: Vec<NodeId> = roots.iter().map(|root| carried(graph, *root, &mut map, &mut own)).collect();
    let other = reached(&own, |node| matches!(node, Node::Reduce(..) | Node::Direction(_)));
    let open: Vec<NodeId> = roots.iter().copied().filter(|root| !other[root.index()]).collect();
    // a column for each node that varies independently
    let mut columns: QuickMap<Node, u32> = QuickMap::default();
    let mut leaves = Vec::new();
    for node in own.nodes() {
        let of = match *node {
            Node::Time => None,
            Node::Read(element) if role(element).is_state() => Some(element),
            _ => continue,
        };
        columns.insert(*node, leaves.len() as u32);
        leaves.push(of);
    }
    let Some(gradients) = gradients(&mut own, &open, |node| columns.get(&node).copied()) else {
        return (own, roots.iter().map(|_| None).collect());
    };
    let changes = reached(&own, |node| match node {
        Node::Read(element) => !matches!(role(element), Role::Parameter | Role::Staged | Role::Size | Role::Table),
        Node::Time => true,
        _ => false,
    });
    let mut gradients = gradients.into_iter();
    let coefficients = |root: &NodeId| {
        let gradient = if other[root.index()] { None } else { gradients.next() }?;
        let coefficient = |(column, node): (u32, NodeId)| {
            (!changes[node.index()]).then(|| Coefficient { of: leaves[column as usize], node })
        };
        gradient.into_iter().map(coefficient).collect()
    };
    let all = roots.iter().map(coefficients).collect();
    (own, all)
}

/// For each node, whether it is such a node or depends on one.
fn reached(graph: &Graph, is: impl Fn(Node) -> bool) -> Vec<bool> {
    let mut found: Vec<bool> = Vec::with_capacity(graph.len());
    for node in graph.nodes() {
        found.push(is(*node) || node.operands().iter().any(|a| found[a.index()]));
    }
    found
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
