//! A hash-consed flat expression graph: every node is stored once, after its operands.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Index;

use crate::broken;
use crate::builtin::{Builtin, Op, arithmetic};
use crate::nest::{Element, LoopId, ReduceOp};
use crate::simplify;
use crate::span::Span;

/// A node stores at most this many source locations: enough for messages, and bounded if thousands of terms share one
/// constant or read. Later ones are dropped.
pub const MAX_SPANS_PER_NODE: usize = 4;

/// Position of a node in its [`Graph`]; operands have smaller positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The position as an index into tables that run along the nodes.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A map from the nodes of one graph to the nodes of another graph made from it. Indexing with a node that has no image
/// is an internal error; [`NodeMap::get`] tells whether a node has one.
#[derive(Clone, Debug)]
pub(crate) struct NodeMap(Vec<Option<NodeId>>);

impl NodeMap {
    /// A map for a graph of `len` nodes, all without an image.
    pub(crate) fn new(len: usize) -> NodeMap {
        NodeMap(vec![None; len])
    }

    /// The image of a node, if it has one.
    pub(crate) fn get(&self, id: NodeId) -> Option<NodeId> {
        self.0[id.index()]
    }

    /// Sets the image of a node.
    pub(crate) fn set(&mut self, id: NodeId, new: NodeId) {
        self.0[id.index()] = Some(new);
    }
}

impl Index<NodeId> for NodeMap {
    type Output = NodeId;

    fn index(&self, id: NodeId) -> &NodeId {
        match &self.0[id.index()] {
            Some(new) => new,
            None => broken("a node is used before it was copied"),
        }
    }
}

/// One operation. `Copy`, so that passes can traverse the list without borrowing the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A number, stored as bits, so that -0 and 0 differ and NaN equals itself.
    Constant(u64),
    /// The independent variable.
    Time,
    /// An element of an input array.
    Read(Element),
    /// An element of the direction `w` of a tangent kernel: the derivative seed of a state.
    Direction(Element),
    /// The index of a loop of the kernel, as a number.
    Index(LoopId),
    /// The terms of a loop of the kernel, folded into one value.
    Reduce(ReduceOp, LoopId, NodeId),
    /// A builtin applied to the first `arity` of these nodes; the rest repeat the first.
    Call(Op, [NodeId; 3]),
}

impl Node {
    /// The operands; empty for leaves.
    pub fn operands(&self) -> &[NodeId] {
        match self {
            Node::Call(op, args) => &args[..usize::from(op.0.arity)],
            Node::Reduce(_, _, term) => std::slice::from_ref(term),
            _ => &[],
        }
    }
}

/// Multiply-and-rotate hash over the few words of a key: with the standard hasher, hashing took half of the time to
/// build a graph.
#[derive(Clone, Copy, Default)]
pub struct QuickHasher(u64);

/// A map with the hasher of the graph, for keys made of numbers.
pub type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<QuickHasher>>;

/// A set with the same hasher.
pub type QuickSet<K> = HashSet<K, BuildHasherDefault<QuickHasher>>;

impl Hasher for QuickHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for &word in words {
            self.write_u64(u64::from_le_bytes(word));
        }
        for &b in rest {
            self.write_u64(u64::from(b));
        }
    }
    fn write_u8(&mut self, x: u8) {
        self.write_u64(u64::from(x));
    }
    fn write_u32(&mut self, x: u32) {
        self.write_u64(u64::from(x));
    }
    fn write_usize(&mut self, x: usize) {
        self.write_u64(x as u64);
    }
    fn write_isize(&mut self, x: isize) {
        self.write_u64(x as u64);
    }
    fn write_u64(&mut self, x: u64) {
        self.0 = (self.0.rotate_left(5) ^ x).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// Source locations of a node: usually a single one, which is stored inline.
#[derive(Clone, Copy, Default)]
struct Spans {
    count: u8,
    list: [Span; MAX_SPANS_PER_NODE],
}

/// Nodes in topological order, with their source locations. Equal expressions are one node. Numbers follow the order
/// of creation, so equal inputs give equal graphs.
#[derive(Clone, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    spans: Vec<Spans>,
    index: QuickMap<Node, NodeId>,
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// An empty graph with memory for this many nodes, so that a copy of another graph needs no reallocation.
    pub fn with_room(nodes: usize) -> Graph {
        let index = QuickMap::with_capacity_and_hasher(nodes, BuildHasherDefault::default());
        Graph { nodes: Vec::with_capacity(nodes), spans: Vec::with_capacity(nodes), index }
    }

    /// All nodes; operands before users.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node at a position.
    pub fn node(&self, id: NodeId) -> Node {
        self.nodes[id.index()]
    }

    /// Up to [`MAX_SPANS_PER_NODE`] source locations of a node, in the order in which they were added.
    pub fn spans(&self, id: NodeId) -> &[Span] {
        let Spans { count, list } = &self.spans[id.index()];
        &list[..usize::from(*count)]
    }

    /// Adds a source location to a node.
    pub fn add_span(&mut self, id: NodeId, span: Span) {
        let Spans { count, list } = &mut self.spans[id.index()];
        let known = usize::from(*count);
        if known < MAX_SPANS_PER_NODE && !list[..known].contains(&span) {
            list[known] = span;
            *count += 1;
        }
    }

    /// Like [`Graph::add_span`]; returns the node.
    pub fn with_span(&mut self, id: NodeId, span: Span) -> NodeId {
        self.add_span(id, span);
        id
    }

    /// The value if the node is a number.
    pub fn as_constant(&self, id: NodeId) -> Option<f64> {
        match self.node(id) {
            Node::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// Inserts a node without simplification, unless it exists. For passes that copy simplified nodes.
    pub fn insert(&mut self, node: Node) -> NodeId {
        if let Some(&id) = self.index.get(&node) {
            return id;
        }
        if node.operands().iter().any(|a| a.index() >= self.nodes.len()) {
            broken("operands come first");
        }
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node);
        self.spans.push(Spans::default());
        self.index.insert(node, id);
        id
    }

    /// A number. All NaNs are one node: payloads are not part of the semantics.
    pub fn constant(&mut self, x: f64) -> NodeId {
        let x = if x.is_nan() { f64::NAN } else { x };
        self.insert(Node::Constant(x.to_bits()))
    }

    /// The independent variable.
    pub fn time(&mut self) -> NodeId {
        self.insert(Node::Time)
    }

    /// An element of an input array.
    pub fn read(&mut self, element: impl Into<Element>) -> NodeId {
        self.insert(Node::Read(element.into()))
    }

    /// The seed of a state in a tangent kernel.
    pub fn direction(&mut self, element: impl Into<Element>) -> NodeId {
        self.insert(Node::Direction(element.into()))
    }

    /// Applies a builtin to its arguments; simplifies the call if that keeps all bits or is listed in
    /// [`simplify::ROUNDING_RULES`].
    pub fn call(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        if args.len() != usize::from(op.0.arity) {
            broken(&format!("{} takes {} arguments", op.0.name, op.0.arity));
        }
        simplify::call(self, op, args)
    }

    /// Like [`Graph::call`], for a row of the table.
    pub fn apply(&mut self, row: &'static Builtin, args: &[NodeId]) -> NodeId {
        self.call(Op(row), args)
    }

    /// Inserts a call without simplification.
    pub(crate) fn insert_call(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        let first = args[0];
        let at = |i: usize| if i < usize::from(op.0.arity) { args[i] } else { first };
        self.insert(Node::Call(op, [first, at(1), at(2)]))
    }

    /// `a + b`
    pub fn add(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.apply(&arithmetic::ADD, &[a, b])
    }

    /// `a - b`
    pub fn sub(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.apply(&arithmetic::SUB, &[a, b])
    }

    /// `a * b`
    pub fn mul(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.apply(&arithmetic::MUL, &[a, b])
    }

    /// `a / b`
    pub fn div(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.apply(&arithmetic::DIV, &[a, b])
    }

    /// `-a`
    pub fn neg(&mut self, a: NodeId) -> NodeId {
        self.apply(&arithmetic::NEG, &[a])
    }

    /// `a ^ b`
    pub fn pow(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.apply(&arithmetic::POW, &[a, b])
    }

    /// Marks the nodes that the roots need, in linear time.
    pub fn reachable(&self, roots: impl IntoIterator<Item = NodeId>) -> Vec<bool> {
        let mut live = vec![false; self.nodes.len()];
        for root in roots {
            live[root.index()] = true;
        }
        for i in (0..self.nodes.len()).rev() {
            if live[i] {
                for a in self.nodes[i].operands() {
                    live[a.index()] = true;
                }
            }
        }
        live
    }

    /// The nodes that the roots need, operands first.
    pub fn live(&self, roots: impl IntoIterator<Item = NodeId>) -> impl Iterator<Item = (NodeId, Node)> + '_ {
        let live = self.reachable(roots);
        self.nodes.iter().enumerate().filter(move |(i, _)| live[*i]).map(|(i, &node)| (NodeId(i as u32), node))
    }
}
