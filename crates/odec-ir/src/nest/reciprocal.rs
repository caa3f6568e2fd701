//! Divisions in loops by what is known outside them, or by what several others divide by too, become products with one
//! reciprocal: a division takes as long as ten products.

use super::Nest;
use super::depends::Depends;
use crate::builtin::Op;
use crate::builtin::arithmetic::DIV;
use crate::graph::{Graph, Node, NodeId};
use crate::program::Array;
use crate::stage::{Stage, copy, of_nest};

/// The rule of this pass, which may change the last bit of a quotient; it is applied before semantics begin. See also
/// [`crate::simplify::ROUNDING_RULES`].
pub const ROUNDING_RULE: &str = "x/d in a loop, where x depends on states or time, and d is the divisor of several such quotients of the nest or is \
                                 known outside the loop or from parameters: x * (1/d)";

/// The nest with the rule applied. Nodes that no store needs are left out.
pub(crate) fn with_reciprocals(nest: &Nest, arrays: &[Array]) -> Nest {
    let depends = Depends::of(nest);
    let stages = of_nest(nest, arrays);
    let mut quotients = vec![0u32; nest.graph.len()];
    let mut outside = vec![false; nest.graph.len()];
    let place = |id: NodeId| (depends.innermost(id), depends.level[id.index()]);
    // Only what runs many times is worth another rounding. What indices and parameters decide runs once, and `i/N` is to be
    // the number that it says.
    let often = |id: NodeId| place(id) != (None, 0) && stages[id.index()] > Stage::Parameter;
    for (id, node) in nest.live().filter(|(id, _)| often(*id)) {
        if let Some((_, divisor)) = quotient(node) {
            let d = divisor.index();
            quotients[d] += 1;
            outside[d] |= place(divisor) != place(id) || stages[d] == Stage::Parameter;
        }
    }
    let inverts = |d: NodeId| match nest.graph.as_constant(d) {
        Some(x) => x.is_normal() && (1.0 / x).is_normal(),
        None => outside[d.index()] || quotients[d.index()] > 1,
    };
    let mut graph = Graph::new();
    let mut map: Vec<Option<NodeId>> = vec![None; nest.graph.len()];
    for (id, node) in nest.live() {
        let new = match quotient(node) {
            Some((x, d)) if inverts(d) && often(id) => {
                let [x, d] = [x, d].map(|a| map[a.index()].unwrap_or(a));
                let one = graph.constant(1.0);
                let reciprocal = graph.div(one, d);
                for &span in nest.graph.spans(id) {
                    graph.add_span(reciprocal, span);
                }
                graph.mul(x, reciprocal)
            }
            _ => copy(&nest.graph, id, &map, &mut graph),
        };
        for &span in nest.graph.spans(id) {
            graph.add_span(new, span);
        }
        map[id.index()] = Some(new);
    }
    let mut out = nest.clone();
    for store in &mut out.stores {
        store.node = map[store.node.index()].unwrap_or(store.node);
    }
    out.graph = graph;
    out
}

/// Dividend and divisor.
fn quotient(node: Node) -> Option<(NodeId, NodeId)> {
    match node {
        Node::Call(op, [x, d, _]) if op == Op(&DIV) => Some((x, d)),
        _ => None,
    }
}
