//! Identifies equal quantities in several kernels: operands of comparisons, in a graph that all kernels share.

use super::linear::carried;
use super::rewrite::domain;
use crate::graph::{Graph, Node, NodeId, NodeMap, QuickMap};
use crate::nest::fuse::Relabel;
use crate::nest::{Affine, Kernel, LoopId, Region, Space};
use crate::program::ArrayId;

/// Both sides of a comparison and whether equality counts, or a quantity that is counted or timed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Key {
    ArrayRelation(NodeId, NodeId, bool),
    Counter(NodeId, Option<ArrayId>),
    Timed(NodeId),
}

/// The shared graph, with the loops of its nodes.
#[derive(Default)]
pub(super) struct Keys {
    graph: Graph,
    space: Space,
    /// The loops, by their number among the loops of a node and their range.
    loops: QuickMap<(usize, Affine, Affine), LoopId>,
}

impl Keys {
    /// Copies a node of a graph without loops. `map` holds the nodes copied before.
    pub fn scalar(&mut self, graph: &Graph, node: NodeId, map: &mut QuickMap<NodeId, NodeId>) -> NodeId {
        carried(graph, node, map, &mut self.graph)
    }

    /// Copies a node that varies with these loops of a kernel; the k-th loop is the k-th axis of its mode. `None` if
    /// the mode has other axes.
    pub fn nested(&mut self, graph: &Graph, node: NodeId, kernel: &Kernel, loops: &[LoopId]) -> Option<NodeId> {
        let (axes, region, _) = domain(kernel, loops);
        if region != Region::Whole {
            return None;
        }
        let needed: Vec<(NodeId, Node)> = graph.live([node]).collect();
        let inner = needed.iter().filter_map(|(_, node)| match *node {
            Node::Reduce(_, over, _) => Some(over),
            _ => None,
        });
        let mut to = vec![None; kernel.space.loops().len()];
        for (k, l) in axes.into_iter().chain(inner).enumerate() {
            let of = &kernel.space.loops()[l.0 as usize];
            let shared = || {
                *self
                    .loops
                    .entry((k, of.first.clone(), of.last.clone()))
                    .or_insert_with(|| self.space.push_loop(of.clone()))
            };
            to[l.0 as usize].get_or_insert_with(shared);
        }
        let mut relabel = Relabel::new(&kernel.space, std::mem::take(&mut self.space), to);
        relabel.guards();
        let mut map = NodeMap::new(graph.len());
        for (id, _) in needed {
            let new = relabel.node(graph, id, &map, &mut self.graph);
            map.set(id, new);
        }
        self.space = relabel.space;
        Some(map[node])
    }
}
