//! Under which modes a value is read: not where it stands in the branch that a condition does not take.

use std::collections::BTreeSet;

use crate::builtin::logic;
use crate::graph::{Graph, Node, NodeId};
use crate::nest::{Element, LoopId, Space};

/// Paths to the nodes of a graph: 1 where a store reads them, by conditions that are constant inside a step.
pub(super) struct Paths {
    one: NodeId,
    paths: Vec<Option<NodeId>>,
}

impl Paths {
    /// To what these roots read. `further` gives the nodes that are read where another one is.
    pub fn of(
        graph: &mut Graph,
        roots: impl IntoIterator<Item = NodeId>,
        further: impl Fn(NodeId) -> Vec<NodeId>,
        mut steady: impl FnMut(&Graph, NodeId) -> bool,
    ) -> Paths {
        let one = graph.constant(1.0);
        let len = graph.len();
        let mut found = Paths { one, paths: vec![None; len] };
        for root in roots {
            found.join(graph, root, one);
        }
        for i in (0..len).rev() {
            let id = NodeId(i as u32);
            let Some(path) = found.paths[i] else { continue };
            for node in further(id) {
                found.join(graph, node, path);
            }
            match graph.node(id) {
                Node::Call(op, [condition, then, otherwise]) if op.0.name == "if" && steady(graph, condition) => {
                    found.join(graph, condition, path);
                    let taken = found.both(graph, path, condition);
                    found.join(graph, then, taken);
                    let not = graph.apply(&logic::NOT, &[condition]);
                    let taken = found.both(graph, path, not);
                    found.join(graph, otherwise, taken);
                }
                node => {
                    for operand in node.operands() {
                        found.join(graph, *operand, path);
                    }
                }
            }
        }
        found
    }

    fn both(&self, graph: &mut Graph, path: NodeId, condition: NodeId) -> NodeId {
        if path == self.one { condition } else { graph.apply(&logic::AND, &[path, condition]) }
    }

    fn join(&mut self, graph: &mut Graph, node: NodeId, path: NodeId) {
        let joined = match self.paths[node.index()] {
            None => path,
            Some(other) if other == self.one || path == self.one => self.one,
            Some(other) => graph.apply(&logic::OR, &[other, path]),
        };
        self.paths[node.index()] = Some(joined);
    }

    /// When a node is read; `None`: always.
    pub fn to(&self, node: NodeId) -> Option<NodeId> {
        self.paths.get(node.index()).copied().flatten().filter(|path| *path != self.one)
    }
}

/// True if a node varies with these loops alone.
pub(super) fn stays_within(graph: &Graph, space: &Space, node: NodeId, loops: &[LoopId]) -> bool {
    let mut open = vec![node];
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id.index()) {
            continue;
        }
        let own = match graph.node(id) {
            Node::Index(l) => vec![l],
            Node::Read(Element::At(a)) | Node::Direction(Element::At(a)) => space.loops_of(a),
            // the loop of a reduction is its own
            Node::Reduce(..) => return false,
            _ => Vec::new(),
        };
        if !own.iter().all(|l| loops.contains(l)) {
            return false;
        }
        open.extend_from_slice(graph.node(id).operands());
    }
    true
}
