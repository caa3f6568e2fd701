//! Derivatives of reductions, and moving expressions from one loop to another.
//!
//! The derivative of `sum(k: f(u[k], v[i]))` with respect to `v[i]` is again a sum. The derivative with respect to
//! `u[k]` is one value for each k, and the entry loop also runs over k. It gets a separate loop, because its value may
//! contain other sums over the same indices.

use std::collections::BTreeMap;

use super::gradient::{Gradient, ReductionRule};
use super::tangent::call_tangent;
use crate::builtin::logic;
use crate::graph::{Graph, Node, NodeId, NodeMap, QuickMap};
use crate::nest::{Access, AccessId, Affine, Element, LoopId, ReduceOp, Space, Sub, Subscript};
use crate::stage::copy;

/// Copies what varies with a loop so that it varies with another one of the same indices.
#[derive(Default)]
pub(super) struct Carrier {
    nodes: QuickMap<(LoopId, LoopId, NodeId), NodeId>,
    guards: QuickMap<(LoopId, LoopId, NodeId), NodeId>,
}

impl Carrier {
    /// The node with the index of `to` in place of that of `from`; reductions over `from` itself stay.
    pub fn node(&mut self, graph: &mut Graph, space: &mut Space, root: NodeId, from: LoopId, to: LoopId) -> NodeId {
        let mut stack = vec![(root, false)];
        while let Some((id, ready)) = stack.pop() {
            if self.nodes.contains_key(&(from, to, id)) {
                continue;
            }
            let node = graph.node(id);
            let stays = matches!(node, Node::Reduce(_, over, _) if over == from);
            if !ready && !stays && !node.operands().is_empty() {
                stack.push((id, true));
                stack.extend(node.operands().iter().map(|&a| (a, false)));
                continue;
            }
            let new = match node {
                _ if stays => id,
                Node::Index(l) if l == from => graph.insert(Node::Index(to)),
                Node::Read(Element::At(a)) => {
                    let a = self.access(space, a, from, to);
                    graph.read(a)
                }
                Node::Direction(Element::At(a)) => {
                    let a = self.access(space, a, from, to);
                    graph.direction(a)
                }
                Node::Call(op, args) => {
                    let arity = usize::from(op.0.arity);
                    let mut args = args.map(|a| self.nodes[&(from, to, a)]);
                    if op.0.commutative && args[1] < args[0] {
                        args.swap(0, 1);
                    }
                    graph.insert_call(op, &args[..arity])
                }
                Node::Reduce(reduction, over, term) => {
                    let term = self.nodes[&(from, to, term)];
                    graph.insert(Node::Reduce(reduction, over, term))
                }
                _ => id,
            };
            if new != id {
                for span in graph.spans(id).to_vec() {
                    graph.add_span(new, span);
                }
            }
            self.nodes.insert((from, to, id), new);
        }
        self.nodes[&(from, to, root)]
    }

    /// The access with the index of `to` in place of that of `from`.
    pub fn access(&mut self, space: &mut Space, id: AccessId, from: LoopId, to: LoopId) -> AccessId {
        if !space.loops_of(id).contains(&from) {
            return id;
        }
        let Access { array, subs, guard } = space.access(id).clone();
        let subs = subs.iter().map(|s| subscript(s, from, to)).collect();
        let guard = guard.map(|guard| self.guard(space, guard, from, to));
        space.intern(Access { array, subs, guard })
    }

    fn guard(&mut self, space: &mut Space, guard: NodeId, from: LoopId, to: LoopId) -> NodeId {
        let live = space.guards.reachable([guard]);
        let mut map = NodeMap::new(live.len());
        let old = space.guards.clone();
        for i in (0..live.len()).filter(|&i| live[i]) {
            let id = NodeId(i as u32);
            let new = match (self.guards.get(&(from, to, id)), space.guards.node(id)) {
                (Some(&known), _) => known,
                (None, Node::Index(l)) if l == from => space.guards.insert(Node::Index(to)),
                (None, Node::Read(Element::At(a))) => {
                    let a = self.access(space, a, from, to);
                    space.guards.read(a)
                }
                (None, _) => copy(&old, id, &map, &mut space.guards),
            };
            self.guards.insert((from, to, id), new);
            map.set(id, new);
        }
        map[guard]
    }
}

fn subscript(subscript: &Subscript, from: LoopId, to: LoopId) -> Subscript {
    let sub = match &subscript.sub {
        Sub::Affine(affine) => Sub::Affine(carried(affine, from, to)),
        Sub::Lookup { table, subs, shift } => Sub::Lookup {
            table: *table,
            subs: subs.iter().map(|s| self::subscript(s, from, to)).collect(),
            shift: *shift,
        },
    };
    Subscript { sub, edge: subscript.edge }
}

fn carried(affine: &Affine, from: LoopId, to: LoopId) -> Affine {
    let mut out = affine.clone();
    for (l, _) in out.loops.iter_mut().filter(|(l, _)| *l == from) {
        *l = to;
    }
    out.loops.sort_unstable();
    out
}

/// The loops and accesses that differentiation adds to a nest.
pub(super) struct Reductions {
    /// Grows by loops and accesses.
    pub space: Space,
    carrier: Carrier,
    /// By loop of a reduction: the iteration loop of the entry loops that run over it.
    entry_loops: QuickMap<LoopId, LoopId>,
    /// By product: the loop over its other factors.
    others: QuickMap<NodeId, LoopId>,
    /// The columns of gradients: an access, and the reduction loops that have become loops of its entry loop.
    columns: Vec<(AccessId, Vec<LoopId>)>,
    index: QuickMap<(AccessId, Vec<LoopId>), u32>,
}

impl Reductions {
    /// For a nest with this space; the first columns are its accesses.
    pub fn new(space: Space) -> Reductions {
        let columns: Vec<_> = (0..space.accesses().len()).map(|a| (AccessId(a as u32), Vec::new())).collect();
        let index = columns.iter().enumerate().map(|(i, c)| (c.clone(), i as u32)).collect();
        Reductions {
            space,
            carrier: Carrier::default(),
            entry_loops: QuickMap::default(),
            others: QuickMap::default(),
            columns,
            index,
        }
    }

    /// The column of an element. A kernel reads scalars at known positions or accesses, never both, so that arrays and
    /// accesses may share the numbers.
    pub fn column_of(element: Element) -> u32 {
        match element {
            Element::Scalar(array) => array.0,
            Element::At(access) => access.0,
        }
    }

    /// The derivative of every node that the roots need along a direction, given that of the leaves; `None`: zero.
    pub fn slopes(
        &mut self,
        graph: &mut Graph,
        roots: impl IntoIterator<Item = NodeId>,
        leaf: impl Fn(&mut Graph, Node) -> Option<NodeId>,
    ) -> Vec<Option<NodeId>> {
        let live = graph.reachable(roots);
        let mut slopes: Vec<Option<NodeId>> = vec![None; live.len()];
        for i in (0..live.len()).filter(|&i| live[i]) {
            let id = NodeId(i as u32);
            let node = graph.node(id);
            slopes[i] = match node {
                Node::Call(..) => call_tangent(graph, id, node, &slopes),
                Node::Reduce(_, over, term) => slopes[term.index()]
                    .and_then(|slope| self.change(graph, id, slope))
                    .map(|change| graph.insert(Node::Reduce(ReduceOp::Sum, over, change))),
                _ => leaf(graph, node),
            };
        }
        slopes
    }

    /// The access that a column is the derivative by, in the loops of its entry loop, and the loops of reductions that those
    /// replace, ascending.
    pub fn column(&mut self, column: u32) -> (Element, Vec<LoopId>) {
        let (mut access, loops) = self.columns[column as usize].clone();
        for &l in &loops {
            let to = self.entry_loop(l);
            access = self.carrier.access(&mut self.space, access, l, to);
        }
        (Element::At(access), loops)
    }

    /// The iteration loop that entry loops run over in place of a reduction's.
    pub fn entry_loop(&mut self, l: LoopId) -> LoopId {
        let space = &mut self.space;
        *self.entry_loops.entry(l).or_insert_with(|| space.push_loop(space.loops()[l.0 as usize].clone()))
    }

    /// The change of a reduction for a small change of its term at one index; `None` if it does not change.
    pub fn change(&mut self, graph: &mut Graph, id: NodeId, slope: NodeId) -> Option<NodeId> {
        let Node::Reduce(reduction, over, term) = graph.node(id) else { return None };
        let position = match reduction {
            ReduceOp::Sum => return Some(slope),
            ReduceOp::Product => {
                let others = self.others(graph, id, over, term);
                return Some(graph.mul(slope, others));
            }
            ReduceOp::Min => ReduceOp::ArgMin,
            ReduceOp::Max => ReduceOp::ArgMax,
            ReduceOp::ArgMin | ReduceOp::ArgMax => return None,
        };
        let attained = graph.insert(Node::Reduce(position, over, term));
        let index = graph.insert(Node::Index(over));
        let here = graph.apply(&logic::EQ, &[index, attained]);
        let zero = graph.constant(0.0);
        Some(graph.apply(&logic::IF, &[here, slope, zero]))
    }

    /// The product of the factors at all other indices than that of its loop.
    fn others(&mut self, graph: &mut Graph, id: NodeId, over: LoopId, term: NodeId) -> NodeId {
        let space = &mut self.space;
        let inner = *self.others.entry(id).or_insert_with(|| space.push_loop(space.loops()[over.0 as usize].clone()));
        let factor = self.carrier.node(graph, space, term, over, inner);
        let (other, this) = (graph.insert(Node::Index(inner)), graph.insert(Node::Index(over)));
        let differs = graph.apply(&logic::NE, &[other, this]);
        let one = graph.constant(1.0);
        let factor = graph.apply(&logic::IF, &[differs, factor, one]);
        graph.insert(Node::Reduce(ReduceOp::Product, inner, factor))
    }
}

impl ReductionRule for Reductions {
    fn gradient(&mut self, graph: &mut Graph, reduction: NodeId, term: &Gradient) -> Gradient {
        let Node::Reduce(_, over, _) = graph.node(reduction) else { return Vec::new() };
        let mut sum: BTreeMap<u32, NodeId> = BTreeMap::new();
        for &(column, slope) in term {
            let Some(node) = self.change(graph, reduction, slope) else { continue };
            let (access, mut loops) = self.columns[column as usize].clone();
            let opens = !loops.contains(&over) && self.space.loops_of(access).contains(&over);
            let (column, node) = if opens {
                loops.push(over);
                loops.sort_unstable();
                let to = self.entry_loop(over);
                let node = self.carrier.node(graph, &mut self.space, node, over, to);
                let next = self.columns.len() as u32;
                let column = *self.index.entry((access, loops.clone())).or_insert(next);
                if column == next {
                    self.columns.push((access, loops));
                }
                (column, node)
            } else {
                (column, graph.insert(Node::Reduce(ReduceOp::Sum, over, node)))
            };
            let node = sum.get(&column).map_or(node, |&other| graph.add(other, node));
            sum.insert(column, node);
        }
        sum.into_iter().collect()
    }
}
