//! Divisions by what parameters alone decide become products with a reciprocal that is computed once per parameter set:
//! processors divide more slowly than they multiply.

use super::{Stage, copy, of};
use crate::builtin::Op;
use crate::builtin::arithmetic::DIV;
use crate::graph::{Graph, Node, NodeId};
use crate::program::{Array, Kernel};

/// The rule of this pass, which may change the last bit of a quotient; it is applied to f before it is differentiated, so
/// before semantics begin. See also [`crate::simplify::ROUNDING_RULES`] and, for loops, [`crate::nest::ROUNDING_RULE`].
pub const ROUNDING_RULE: &str = "x/d, where x depends on states or time and d on parameters alone: x * (1/d)";

/// The kernel with the rule applied. Nodes that no store needs are left out.
#[must_use]
pub fn with_reciprocals(kernel: &Kernel, arrays: &[Array]) -> Kernel {
    let stages = of(&kernel.graph, arrays);
    let mut graph = Graph::new();
    let mut map: Vec<Option<NodeId>> = vec![None; kernel.graph.len()];
    for (id, node) in kernel.live() {
        let stage = |a: NodeId| stages[a.index()];
        let new = match node {
            Node::Call(op, [x, d, _])
                if op == Op(&DIV) && stage(d) == Stage::Parameter && stage(x) > Stage::Parameter =>
            {
                let [x, d] = [x, d].map(|a| map[a.index()].unwrap_or(a));
                let one = graph.constant(1.0);
                let reciprocal = graph.div(one, d);
                for &span in kernel.graph.spans(id) {
                    graph.add_span(reciprocal, span);
                }
                graph.mul(x, reciprocal)
            }
            _ => copy(&kernel.graph, id, &map, &mut graph),
        };
        for &span in kernel.graph.spans(id) {
            graph.add_span(new, span);
        }
        map[id.index()] = Some(new);
    }
    let mut out = kernel.clone();
    for store in &mut out.stores {
        store.node = map[store.node.index()].unwrap_or(store.node);
    }
    out.graph = graph;
    out
}
