//! Equality of a quantity and its own limited value, such as `u == min(max(u, -1), 1)`, as inequalities: it holds for a
//! while, and its changes can be located.

use crate::builtin::{Primitive, logic};
use crate::graph::{Graph, Node, NodeId};

/// Deepest nesting of minima and maxima.
const DEPTH: usize = 8;

/// `a == b` as inequalities, if one side is made of minima and maxima of the other side and further quantities.
pub(super) fn equal(g: &mut Graph, a: NodeId, b: NodeId) -> Option<NodeId> {
    let (x, limited) = match (limits(g, b, a, DEPTH), limits(g, a, b, DEPTH)) {
        (true, _) => (a, b),
        (_, true) => (b, a),
        _ => return None,
    };
    let (least, most) = (bound(g, x, limited, true), bound(g, x, limited, false));
    Some(joined(g, least, most, true))
}

/// The minimum or maximum that a node is, with its operands.
fn extremum(g: &Graph, node: NodeId) -> Option<(bool, NodeId, NodeId)> {
    let Node::Call(op, [a, b, _]) = g.node(node) else { return None };
    match op.primitive()? {
        Primitive::Min => Some((true, a, b)),
        Primitive::Max => Some((false, a, b)),
        _ => None,
    }
}

/// True if a node is a minimum or maximum, and `x` is one of the quantities of which it is made.
fn limits(g: &Graph, node: NodeId, x: NodeId, depth: usize) -> bool {
    let reaches = |side| side == x || limits(g, side, x, depth - 1);
    depth > 0 && extremum(g, node).is_some_and(|(_, a, b)| reaches(a) || reaches(b))
}

/// `limited >= x` if `least`, else `limited <= x`.
fn bound(g: &mut Graph, x: NodeId, limited: NodeId, least: bool) -> NodeId {
    if limited == x {
        return g.constant(1.0);
    }
    let Some((minimum, a, b)) = extremum(g, limited).filter(|_| limits(g, limited, x, DEPTH)) else {
        return g.apply(&logic::LE, &if least { [x, limited] } else { [limited, x] });
    };
    let (a, b) = (bound(g, x, a, least), bound(g, x, b, least));
    joined(g, a, b, minimum == least)
}

/// Both conditions, or one of them. The constant 1 is true.
fn joined(g: &mut Graph, a: NodeId, b: NodeId, both: bool) -> NodeId {
    let holds = |node| g.as_constant(node) == Some(1.0);
    match (holds(a), holds(b), both) {
        (true, _, true) | (_, true, false) => b,
        (_, true, true) | (true, _, false) => a,
        _ => g.apply(if both { &logic::AND } else { &logic::OR }, &[a, b]),
    }
}
