//! Replaces powers with a half-integer exponent outside loops by products with a square root, which takes a tenth of
//! the time of `pow`.

use super::is_recorded;
use crate::builtin::Op;
use crate::builtin::arithmetic::POW;
use crate::builtin::exponential::SQRT;
use crate::graph::{Graph, Node, NodeId};
use crate::nest::Kernel;
use crate::nest::depends::Depends;
use crate::simplify::MAX_PRODUCT_EXPONENT;

/// The rule of this pass, which may change the last bits of a power. It is applied after differentiation, since a
/// root has no derivative at 0 where the power has one, and before any backend sees the kernel. See also
/// [`crate::simplify::ROUNDING_RULES`].
pub const ROOTS_RULE: &str =
    "outside of loops x^(n + 1/2), whole 0 <= n <= 16: x^n * sqrt(x); with a minus: 1 over that";

/// The kernel with the rule applied. Nodes that no store needs are left out where it applies.
#[must_use]
pub fn with_roots(kernel: Kernel) -> Kernel {
    if is_recorded(&kernel) || !kernel.live().any(|(_, node)| half(&kernel.graph, node).is_some()) {
        return kernel;
    }
    let depends = Depends::of(&kernel);
    kernel.rewritten(|given, graph, id, new| {
        let (x, whole, negative) = half(given, given.node(id)).filter(|_| depends.place(id) == Depends::OUTSIDE)?;
        let x = new[x];
        let exponent = graph.constant(whole);
        let power = graph.pow(x, exponent);
        let root = graph.apply(&SQRT, &[x]);
        let power = graph.mul(power, root);
        let one = graph.constant(1.0);
        Some(if negative { graph.div(one, power) } else { power })
    })
}

/// The base, the integer part of the exponent, and true for a negative exponent.
fn half(graph: &Graph, node: Node) -> Option<(NodeId, f64, bool)> {
    let Node::Call(op, [x, exponent, _]) = node else { return None };
    if op != Op(&POW) {
        return None;
    }
    let exponent = graph.as_constant(exponent)?;
    let whole = exponent.abs() - 0.5;
    (whole >= 0.0 && whole <= f64::from(MAX_PRODUCT_EXPONENT) && whole.fract() == 0.0).then_some((
        x,
        whole,
        exponent < 0.0,
    ))
}
