//! Replaces divisions by products with a reciprocal: for parameter-only divisors (computed once per parameter set),
//! for several divisions by one divisor, and in loops for divisors from outside. A division takes as long as ten
//! products.

use super::{Stage, is_recorded, of};
use crate::builtin::Op;
use crate::builtin::arithmetic::DIV;
use crate::graph::{Node, NodeId};
use crate::nest::Kernel;
use crate::nest::depends::Depends;
use crate::program::Array;

/// The rule of this pass, which may change the last bit of a quotient; it is applied before any backend sees the
/// kernel. See also [`crate::simplify::ROUNDING_RULES`].
pub const ROUNDING_RULE: &str = "x/d, where x depends on states or time, and d on parameters alone, or d is the divisor of several such quotients, or in \
                                 a loop d is known outside of it: x * (1/d); outside of loops in f and its derivatives only";

/// The quotients that [`with_reciprocals`] replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quotients {
    /// Quotients outside loops: before differentiation, so that derivatives share the reciprocals of f.
    OutsideLoops,
    /// All quotients.
    All,
}

/// The kernel with the rule applied. If it applies, nodes that no store needs are left out.
#[must_use]
pub fn with_reciprocals(kernel: Kernel, arrays: &[Array], which: Quotients) -> Kernel {
    let depends = Depends::of(&kernel);
    let stages = of(&kernel, arrays);
    let recorded = is_recorded(&kernel);
    let in_loop = |id: NodeId| depends.place(id) != Depends::OUTSIDE;
    // Only frequent quotients justify a different rounding. Quotients of indices and parameters are computed once,
    // and `i/N` must keep its exact value.
    let often = |id: NodeId| {
        let looked_at = if in_loop(id) { which == Quotients::All } else { !recorded };
        looked_at && stages[id.index()] > Stage::Parameter
    };
    // Equal quotients are one node, so this is the number of dividends.
    let mut quotients = vec![0u32; kernel.graph.len()];
    let mut outside = vec![false; kernel.graph.len()];
    for (id, node) in kernel.live().filter(|(id, _)| often(*id)) {
        if let Some((_, divisor)) = quotient(node) {
            let d = divisor.index();
            quotients[d] += 1;
            outside[d] |= depends.place(divisor) != depends.place(id) || stages[d] == Stage::Parameter;
        }
    }
    let inverts = |id: NodeId, d: NodeId| match kernel.graph.as_constant(d) {
        Some(x) => in_loop(id) && x.is_normal() && (1.0 / x).is_normal(),
        None if !in_loop(id) && stages[d.index()] == Stage::Constant => false,
        None => outside[d.index()] || quotients[d.index()] > 1,
    };
    let replaced = |id: NodeId, node: Node| quotient(node).filter(|&(_, d)| often(id) && inverts(id, d));
    if !kernel.live().any(|(id, node)| replaced(id, node).is_some()) {
        return kernel;
    }
    kernel.rewritten(|given, graph, id, new| {
        let (x, d) = replaced(id, given.node(id))?;
        let one = graph.constant(1.0);
        let reciprocal = graph.div(one, new[d]);
        for &span in given.spans(id) {
            graph.add_span(reciprocal, span);
        }
        Some(graph.mul(new[x], reciprocal))
    })
}

/// Dividend and divisor.
fn quotient(node: Node) -> Option<(NodeId, NodeId)> {
    match node {
        Node::Call(op, [x, d, _]) if op == Op(&DIV) => Some((x, d)),
        _ => None,
    }
}
