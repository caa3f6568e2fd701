//! Shapes of expressions: two expressions have one shape if they differ only in the elements that they read and in the
//! numbers that they add and multiply.

use crate::builtin::{Op, Primitive};
use crate::graph::{Graph, Node, NodeId};
use crate::nest::Element;
use crate::program::{Array, ArrayId, Role};

/// An expression with more parts is not compared with others.
const MAX_PARTS: usize = 64;

/// The value of a leaf in one expression of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    /// An element of an input.
    Read(ArrayId),
    /// The direction of a state.
    Direction(ArrayId),
    /// A number, as bits.
    Number(u64),
}

/// The kind of a leaf; leaves of one kind may differ within a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum LeafKind {
    Read(Role),
    Direction(Role),
    Number,
}

/// An operation of a shape. Its operands are earlier parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// A leaf, counted from 0 in the order of the leaves.
    Leaf(LeafKind, u32),
    /// A node without operands that is the same in all expressions.
    Same(Node),
    /// A call; operands beyond its arity repeat the first.
    Call(Op, [u32; 3]),
}

/// The parts of an expression, operands first; the last one is the expression itself.
pub(super) type Shape = Vec<Part>;

/// The shape of a node and its leaves; `None` for large expressions and for those with loops.
pub(super) fn of(graph: &Graph, arrays: &[Array], root: NodeId) -> Option<(Shape, Vec<Leaf>)> {
    let mut reader = Reader { graph, arrays, parts: Vec::new(), known: Vec::new(), leaves: Vec::new() };
    reader.part(root, true, 0)?;
    Some((reader.parts, reader.leaves))
}

struct Reader<'a> {
    graph: &'a Graph,
    arrays: &'a [Array],
    parts: Shape,
    /// The node of each part, and whether it may differ within the shape.
    known: Vec<(NodeId, bool)>,
    leaves: Vec<Leaf>,
}

impl Reader<'_> {
    /// The part of a node. Its number may differ within the shape if `free`. The depth is at most [`MAX_PARTS`].
    fn part(&mut self, id: NodeId, free: bool, depth: usize) -> Option<u32> {
        let free = free || !matches!(self.graph.node(id), Node::Constant(_));
        if let Some(at) = self.known.iter().position(|&known| known == (id, free)) {
            return Some(at as u32);
        }
        if depth > MAX_PARTS {
            return None;
        }
        let part = match self.graph.node(id) {
            Node::Constant(bits) if free => self.leaf(LeafKind::Number, Leaf::Number(bits)),
            node @ (Node::Constant(_) | Node::Time) => Part::Same(node),
            node @ Node::Read(Element::Scalar(array)) => match self.arrays[array.0 as usize].role {
                // a lookup reads the whole table
                Role::Table => Part::Same(node),
                role => self.leaf(LeafKind::Read(role), Leaf::Read(array)),
            },
            Node::Direction(Element::Scalar(array)) => {
                let role = self.arrays[array.0 as usize].role;
                self.leaf(LeafKind::Direction(role), Leaf::Direction(array))
            }
            Node::Call(op, args) => {
                let arity = usize::from(op.0.arity);
                let mut args = args;
                if op.0.commutative && self.rank(args[1]) < self.rank(args[0]) {
                    args.swap(0, 1);
                }
                // Powers and quotients by numbers have rules of their own, which depend on the number.
                let free = matches!(op.primitive(), Some(Primitive::Add | Primitive::Sub | Primitive::Mul));
                let mut own = [0; 3];
                for (own, &arg) in own.iter_mut().zip(&args[..arity]) {
                    *own = self.part(arg, free, depth + 1)?;
                }
                for k in arity..3 {
                    own[k] = own[0];
                }
                Part::Call(op, own)
            }
            Node::Read(Element::At(_)) | Node::Direction(Element::At(_)) | Node::Index(_) | Node::Reduce(..) => {
                return None;
            }
        };
        if self.parts.len() == MAX_PARTS {
            return None;
        }
        self.parts.push(part);
        self.known.push((id, free));
        Some(self.parts.len() as u32 - 1)
    }

    fn leaf(&mut self, kind: LeafKind, leaf: Leaf) -> Part {
        self.leaves.push(leaf);
        Part::Leaf(kind, self.leaves.len() as u32 - 1)
    }

    /// The order of the operands of a commutative call, so that it does not depend on the order of the text.
    fn rank(&self, id: NodeId) -> u32 {
        match self.graph.node(id) {
            Node::Constant(_) => 0,
            Node::Read(Element::Scalar(array)) => 1 + self.arrays[array.0 as usize].role as u32,
            Node::Call(..) => 200,
            _ => 100,
        }
    }
}
