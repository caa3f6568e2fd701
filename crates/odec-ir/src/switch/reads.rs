//! The modes under which a value is read. A value is not read in a branch that a condition does not choose, nor if
//! the other operand of `and` or `or` decides alone. If a discrete disables an event, none of its other operands are
//! read.

use crate::builtin::logic;
use crate::graph::{Graph, Node, NodeId};
use crate::nest::{Element, LoopId, Space};

/// How long a value stays constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variability {
    /// Until a parameter or a discrete is written.
    Written,
    /// Until a mode changes.
    Mode,
    /// Changes inside a step.
    Varies,
}

/// For the nodes of a graph: an expression that is 1 if a store reads the node, in conditions that are constant
/// inside a step.
pub(super) struct Paths {
    one: NodeId,
    paths: Vec<Option<NodeId>>,
}

impl Paths {
    /// The paths from these roots. `further` gives the nodes that are read wherever another node is read, `hold` how
    /// long each node stays constant.
    pub fn of(
        graph: &mut Graph,
        roots: impl IntoIterator<Item = NodeId>,
        further: impl Fn(NodeId) -> Vec<NodeId>,
        hold: &[Variability],
    ) -> Paths {
        let one = graph.constant(1.0);
        let len = graph.len();
        let mut found = Paths { one, paths: vec![None; len] };
        for root in roots {
            found.join(graph, root, one);
        }
        let hold = |node: NodeId| hold.get(node.index()).copied().unwrap_or(Variability::Varies);
        for i in (0..len).rev() {
            let id = NodeId(i as u32);
            let Some(path) = found.paths[i] else { continue };
            for node in further(id) {
                found.join(graph, node, path);
            }
            match graph.node(id) {
                Node::Call(op, [condition, then, otherwise])
                    if op.0.name == "if" && hold(condition) != Variability::Varies =>
                {
                    found.join(graph, condition, path);
                    let taken = found.both(graph, path, condition);
                    found.join(graph, then, taken);
                    let not = graph.apply(&logic::NOT, &[condition]);
                    let taken = found.both(graph, path, not);
                    found.join(graph, otherwise, taken);
                }
                Node::Call(op, [a, b, _])
                    if matches!(op.0.name, "and" | "or") && hold(a).min(hold(b)) != Variability::Varies =>
                {
                    // the mode that stays constant longer decides whether the other one is read; of two equal ones,
                    // the first decides
                    let [decides, other] = if hold(b) < hold(a) { [b, a] } else { [a, b] };
                    found.join(graph, decides, path);
                    let open = if op.0.name == "and" { decides } else { graph.apply(&logic::NOT, &[decides]) };
                    let taken = found.both(graph, path, open);
                    found.join(graph, other, taken);
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

    /// True if a root reads a node under some modes.
    pub fn reaches(&self, node: NodeId) -> bool {
        self.paths.get(node.index()).is_some_and(Option::is_some)
    }

    /// The expression for the condition under which a node is read; `None`: always.
    pub fn to(&self, node: NodeId) -> Option<NodeId> {
        self.paths.get(node.index()).copied().flatten().filter(|path| *path != self.one)
    }
}

/// The loops that the nodes of a graph vary with, as bits; `None` for a node whose loops are unknown.
pub(super) struct LoopSets(Vec<Option<u64>>);

impl LoopSets {
    /// Computes the sets in time proportional to the graph.
    pub fn of(graph: &Graph, space: &Space) -> LoopSets {
        let bit = |l: LoopId| 1u64.checked_shl(l.0);
        let mut sets: Vec<Option<u64>> = Vec::with_capacity(graph.len());
        for node in graph.nodes() {
            let own = match *node {
                Node::Index(l) => bit(l),
                Node::Read(Element::At(a)) | Node::Direction(Element::At(a)) => {
                    space.loops_of(a).into_iter().try_fold(0, |set, l| Some(set | bit(l)?))
                }
                // a reduction loop is not one of the loops of the kernel
                Node::Reduce(..) => None,
                _ => Some(0),
            };
            sets.push(node.operands().iter().fold(own, |set, a| Some(set? | sets[a.index()]?)));
        }
        LoopSets(sets)
    }

    /// True if a node varies only with these loops.
    pub fn is_within(&self, node: NodeId, loops: &[LoopId]) -> bool {
        let bits = loops.iter().filter_map(|l| 1u64.checked_shl(l.0)).fold(0, |set, bit| set | bit);
        self.0[node.index()].is_some_and(|set| set & !bits == 0)
    }
}
