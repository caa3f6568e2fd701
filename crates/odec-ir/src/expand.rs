//! Prepares a kernel for a backend: replaces composite builtins by their formulas over primitives and libm calls.

use crate::builtin::{Builtin, Lowering, Op};
use crate::graph::{Graph, Node, NodeId};
use crate::nest::Kernel;

/// The kernel with the expansion of every [`Lowering::Expand`] call, without nodes that no store needs. The result
/// contains only primitives and libm calls. Loops and accesses are unchanged, so the argument block of the given
/// kernel also fits the result.
pub fn expanded(kernel: &Kernel) -> Kernel {
    let mut out = once(kernel);
    // Formulas may use each other; the table, not the input, limits their depth.
    while out.graph.nodes().iter().any(|node| formula(*node).is_some()) {
        out = once(&out);
    }
    out
}

/// The formula of a composite node.
fn formula(node: Node) -> Option<fn(&mut Graph, &[NodeId]) -> NodeId> {
    match node {
        Node::Call(Op(Builtin { lowering: Lowering::Expand(formula), .. }), _) => Some(*formula),
        _ => None,
    }
}

fn once(kernel: &Kernel) -> Kernel {
    kernel.rewritten(|given, graph, id, map| {
        let node = given.node(id);
        let formula = formula(node)?;
        let operands: Vec<NodeId> = node.operands().iter().map(|&a| map[a]).collect();
        Some(formula(graph, &operands))
    })
}
