//! Divisions by what parameters alone decide become products with a reciprocal that is computed once per parameter set,
//! and several divisions by one divisor become products with one reciprocal: processors divide more slowly than they
//! multiply.

use super::{Stage, of, rewritten};
use crate::builtin::Op;
use crate::builtin::arithmetic::DIV;
use crate::graph::{Node, NodeId};
use crate::program::{Array, Kernel};

/// The rule of this pass, which may change the last bit of a quotient; it is applied to f before it is differentiated and
/// to its derivatives, so before semantics begin. See also [`crate::simplify::ROUNDING_RULES`] and, for loops,
/// [`crate::nest::ROUNDING_RULE`].
pub const ROUNDING_RULE: &str = "x/d in f and its derivatives, where x depends on states or time and d on parameters alone, or where d depends on states \
                                 or time and divides several different x: x * (1/d)";

/// The kernel with the rule applied. Nodes that no store needs are left out where it applies.
#[must_use]
pub fn with_reciprocals(kernel: Kernel, arrays: &[Array]) -> Kernel {
    let stages = of(&kernel.graph, arrays);
    let varies = |a: NodeId| stages[a.index()] > Stage::Parameter;
    // Equal quotients are one node, so this counts dividends.
    let mut quotients = vec![0u32; kernel.graph.len()];
    let mut applies = false;
    for (id, node) in kernel.live() {
        if let (Some((x, d)), true) = (quotient(node), varies(id)) {
            quotients[d.index()] += 1;
            applies |= quotients[d.index()] > 1 || stages[d.index()] == Stage::Parameter && varies(x);
        }
    }
    if !applies {
        return kernel;
    }
    let inverts = |d: NodeId| match stages[d.index()] {
        Stage::Constant => false,
        Stage::Parameter => true,
        Stage::Time | Stage::State => quotients[d.index()] > 1,
    };
    rewritten(kernel, |given, graph, id, new| {
        let (x, d) = quotient(given.node(id)).filter(|&(_, d)| varies(id) && inverts(d))?;
        let one = graph.constant(1.0);
        let reciprocal = graph.div(one, new(d));
        for &span in given.spans(id) {
            graph.add_span(reciprocal, span);
        }
        Some(graph.mul(new(x), reciprocal))
    })
}

/// Dividend and divisor.
fn quotient(node: Node) -> Option<(NodeId, NodeId)> {
    match node {
        Node::Call(op, [x, d, _]) if op == Op(&DIV) => Some((x, d)),
        _ => None,
    }
}
