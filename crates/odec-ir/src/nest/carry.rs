//! Moving expressions from one loop to another of the same range.

use super::{Access, AccessId, Affine, Element, Kernel, LoopId, Space, Sub, Subscript, Target};
use crate::graph::{Graph, Node, NodeId, NodeMap, QuickMap};
use crate::stage::copy;

/// Separates iteration loops from reductions over the same loops: the loop of a reduction became an iteration loop,
/// and its term contains other reductions that had been merged with it, such as `sum(m: a[m])` in
/// `sum(j: u[j]*(u[j] > sum(m: a[m])))`.
pub(crate) fn apart(mut kernel: Kernel) -> Kernel {
    for k in 0..kernel.iterates.len() {
        let from = kernel.iterates[k];
        let within = |node: Node| matches!(node, Node::Reduce(_, over, _) if over == from);
        if !kernel.live().any(|(_, node)| within(node)) {
            continue;
        }
        let Kernel { space, graph, stores, iterates, margins, .. } = &mut kernel;
        let to = space.push_loop(space.loops()[from.0 as usize].clone());
        let mut carrier = Carrier::default();
        for store in stores {
            store.node = carrier.node(graph, space, store.node, from, to);
            let mut carried = |element: Element| match element {
                Element::At(access) => Element::At(carrier.access(space, access, from, to)),
                Element::Scalar(_) => element,
            };
            store.target = match store.target {
                Target::Set(a) => Target::Set(carried(a)),
                Target::Add(a) => Target::Add(carried(a)),
                Target::Entry(row, column) => Target::Entry(carried(row), carried(column)),
            };
        }
        for margin in margins {
            margin.sub = carried(&margin.sub, from, to);
        }
        iterates[k] = to;
    }
    kernel
}

/// Copies nodes that vary with a loop, so that they vary with another loop of the same indices.
#[derive(Default)]
pub(crate) struct Carrier {
    nodes: QuickMap<(LoopId, LoopId, NodeId), NodeId>,
    guards: QuickMap<(LoopId, LoopId, NodeId), NodeId>,
}

impl Carrier {
    /// The node with the index of `to` instead of the index of `from`; reductions over `from` itself stay.
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

    /// The access with the index of `to` instead of the index of `from`.
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
