//! A hash-consed flat expression graph: every node is stored once, after its operands.

use crate::builtin::Op;
use crate::program::ArrayId;
use crate::span::Span;

/// Position of a node in its [`Graph`]; operands have smaller positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// One operation. `Copy`, so that passes may walk the list without borrowing the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A number, by its bits, so that -0 and 0 differ and NaN equals itself.
    Constant(u64),
    /// The independent variable.
    Time,
    /// An element of an input array.
    Read(ArrayId),
    /// An element of the direction `w` of a tangent kernel: the derivative seed of a state.
    Direction(ArrayId),
    /// A builtin applied to the first `arity` of these nodes; the rest repeat the first.
    Call(Op, [NodeId; 3]),
}

/// Nodes in topological order with the places in the source that each came from.
#[derive(Clone, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    spans: Vec<Vec<Span>>,
}
