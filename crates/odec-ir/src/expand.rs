//! Makes a kernel ready for a backend: composite builtins become their formulas over primitives and libm calls.

use crate::builtin::Lowering;
use crate::graph::{Graph, Node, NodeId};
use crate::program::Kernel;
use crate::stage::copy;

/// The kernel with every [`Lowering::Expand`] call replaced by its expansion and nodes that no store needs left out.
/// The result holds only primitives and libm calls.
pub fn expanded(kernel: &Kernel) -> Kernel {
    let mut graph = Graph::new();
    let mut map: Vec<Option<NodeId>> = vec![None; kernel.graph.len()];
    for (id, node) in kernel.live() {
        let new = match node {
            Node::Call(op, _) => match op.0.lowering {
                Lowering::Expand(_) => expand(&mut graph, &kernel.graph, id, &map),
                _ => copy(&kernel.graph, id, &map, &mut graph),
            },
            _ => copy(&kernel.graph, id, &map, &mut graph),
        };
        for &span in kernel.graph.spans(id) {
            graph.add_span(new, span);
        }
        map[id.index()] = Some(new);
    }
    let mut stores = kernel.stores.clone();
    for store in &mut stores {
        store.node = map[store.node.index()].unwrap_or(store.node);
    }
    let mut out = Kernel { role: kernel.role, graph, stores };
    // Formulas may use each other; their depth is that of the table, not of the input.
    if out.live().any(|(_, n)| matches!(n, Node::Call(op, _) if matches!(op.0.lowering, Lowering::Expand(_)))) {
        out = expanded(&out);
    }
    out
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
