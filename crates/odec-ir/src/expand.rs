//! Makes a kernel ready for a backend: composite builtins become their formulas over primitives and libm calls.

use crate::builtin::Lowering;
use crate::graph::{Graph, Node, NodeId};
use crate::nest::Kernel;
use crate::stage::copy;

/// The kernel with every [`Lowering::Expand`] call replaced by its expansion and nodes that no store needs left out.
/// The result holds only primitives and libm calls. Loops and accesses stay, so that the frame of the given kernel
/// serves the result too.
pub fn expanded(kernel: &Kernel) -> Kernel {
    let mut out = kernel.clone();
    out.graph = expanded_graph(&kernel.graph, out.stores.iter_mut().map(|s| &mut s.node));
    out
}

/// The graph of what the roots need, expanded; the roots become their new positions.
fn expanded_graph<'a>(graph: &Graph, roots: impl Iterator<Item = &'a mut NodeId>) -> Graph {
    let mut roots: Vec<&mut NodeId> = roots.collect();
    let mut out = once(graph, &mut roots);
    // Formulas may use each other; their depth is that of the table, not of the input.
    while out.nodes().iter().any(|n| matches!(n, Node::Call(op, _) if matches!(op.0.lowering, Lowering::Expand(_)))) {
        out = once(&out, &mut roots);
    }
    out
}

fn once(from: &Graph, roots: &mut [&mut NodeId]) -> Graph {
    let live = from.reachable(roots.iter().map(|root| **root));
    let mut graph = Graph::new();
    let mut map: Vec<Option<NodeId>> = vec![None; from.len()];
    for i in 0..from.len() {
        if !live[i] {
            continue;
        }
        let id = NodeId(i as u32);
        let new = match from.node(id) {
            Node::Call(op, _) if matches!(op.0.lowering, Lowering::Expand(_)) => expand(&mut graph, from, id, &map),
            _ => copy(from, id, &map, &mut graph),
        };
        for &span in from.spans(id) {
            graph.add_span(new, span);
        }
        map[i] = Some(new);
    }
    for root in roots {
        **root = map[root.index()].unwrap_or(**root);
    }
    graph
}

fn expand(graph: &mut Graph, from: &Graph, id: NodeId, map: &[Option<NodeId>]) -> NodeId {
    let node = from.node(id);
    let mut args = [id; 3];
    for (new, old) in args.iter_mut().zip(node.operands()) {
        *new = map[old.index()].unwrap_or(*old);
    }
    match node {
        Node::Call(op, _) => match op.0.lowering {
            Lowering::Expand(formula) => formula(graph, &args[..usize::from(op.0.arity)]),
            _ => graph.insert(node),
        },
        _ => graph.insert(node),
    }
}
