//! Products and quotients of a square root as one power of its argument: with r = sqrt(u), both 1/(r*r*r) and
//! 1/(u*sqrt(u)) are u^(-3/2), whose series is one recurrence instead of three. Order 0 does not change, except that
//! quotients by such a power become products.

use std::collections::BTreeMap;

use crate::builtin::{Op, arithmetic, exponential};
use crate::graph::{Graph, Node, NodeId, NodeMap};

/// The nodes that are powers: index of the node, base and exponent node.
pub(super) type Powers = BTreeMap<usize, (NodeId, NodeId)>;

/// The nodes that the roots need, their powers, and the new roots.
pub(super) fn collected(from: &Graph, roots: &mut [NodeId]) -> (Graph, Powers) {
    let mut graph = Graph::new();
    let mut map = NodeMap::new(from.len());
    // every node that is a power of an argument of a root
    let mut exponents: BTreeMap<usize, (NodeId, f64)> = BTreeMap::new();
    let mut powers = Powers::new();
    for (id, node) in from.live(roots.iter().copied()) {
        let new = match node {
            Node::Call(op, args) => {
                let [a, b, _] = args.map(|x| map[x]);
                let of = |x: NodeId| exponents.get(&x.index()).copied();
                let found = if op == Op(&exponential::SQRT) {
                    Some((a, 0.5))
                } else if op == Op(&arithmetic::POW) {
                    let number = graph.as_constant(b);
                    number.map(|number| of(a).map_or((a, number), |(base, exponent)| (base, exponent * number)))
                } else if op == Op(&arithmetic::MUL) {
                    joined(a, of(a), b, of(b), 1.0)
                } else if op == Op(&arithmetic::DIV) {
                    match of(b) {
                        Some((base, exponent)) if graph.as_constant(a) == Some(1.0) => Some((base, -exponent)),
                        _ => joined(a, of(a), b, of(b), -1.0),
                    }
                } else {
                    None
                };
                let divisor =
                    of(b).filter(|(_, exponent)| op == Op(&arithmetic::DIV) && found.is_none() && *exponent > 0.5);
                let exponent = found.or(divisor.map(|(base, e)| (base, -e)));
                // before the node that needs it
                let number = exponent.map(|(_, exponent)| graph.constant(exponent));
                let operands: Vec<NodeId> = node.operands().iter().map(|&x| map[x]).collect();
                let new = if divisor.is_some() {
                    let one = graph.constant(1.0);
                    graph.div(one, b)
                } else {
                    graph.call(op, &operands)
                };
                if let (Some((base, exponent)), Some(number)) = (exponent, number)
                    && base.index() < new.index()
                    && graph.as_constant(base).is_none()
                {
                    exponents.insert(new.index(), (base, exponent));
                    // a single root and products of integer powers have shorter recurrences
                    if exponent < -0.5 || exponent > 0.5 && exponent.fract() != 0.0 {
                        powers.insert(new.index(), (base, number));
                    }
                }
                if divisor.is_some() { graph.mul(a, new) } else { new }
            }
            leaf => graph.insert(leaf),
        };
        map.set(id, new);
    }
    for root in roots {
        *root = map[*root];
    }
    (graph, powers)
}

/// The power that equals a times b^sign, if one is a power of the other or both have the same base.
fn joined(
    a: NodeId,
    left: Option<(NodeId, f64)>,
    b: NodeId,
    right: Option<(NodeId, f64)>,
    sign: f64,
) -> Option<(NodeId, f64)> {
    match (left, right) {
        (Some((base, x)), Some((other, y))) if base == other => Some((base, x + sign * y)),
        (Some((base, x)), _) if base == b => Some((base, x + sign)),
        (_, Some((base, y))) if base == a => Some((base, 1.0 + sign * y)),
        _ => None,
    }
}
