//! Merges reduction loops with the same range, so that their terms share common parts: the three components of a
//! force share the distance.

use super::depends::Depends;
use super::{Access, AccessId, Affine, Element, Kernel, LoopId, Space, Sub, Subscript, Target};
use crate::graph::{Graph, Node, NodeId, NodeMap, QuickMap};
use crate::stage::copy;

/// The nest with equal reduction loops merged, and without unused loops, accesses and nodes. Loops are equal if they
/// have the same range and the same depth; such loops are never nested.
pub fn fused(nest: Kernel) -> Kernel {
    if nest.is_scalar() {
        return nest;
    }
    let depends = Depends::of(&nest);
    let live = nest.graph.reachable(nest.stores.iter().map(|s| s.node));
    let loops = nest.space.loops();
    let mut first: QuickMap<(&Affine, &Affine, u32), LoopId> = QuickMap::default();
    let mut merged: Vec<Option<LoopId>> = vec![None; loops.len()];
    let mut space = Space::new();
    for &l in &nest.iterates {
        merged[l.0 as usize] = Some(space.push_loop(loops[l.0 as usize].clone()));
    }
    let mut reduced: Vec<LoopId> = Vec::new();
    for (i, node) in nest.graph.nodes().iter().enumerate() {
        if let (true, Node::Reduce(_, over, _)) = (live[i], *node) {
            reduced.push(over);
        }
    }
    reduced.sort_unstable();
    reduced.dedup();
    for l in reduced {
        let of = &loops[l.0 as usize];
        let key = (&of.first, &of.last, depends.depth(l));
        let new = *first.entry(key).or_insert_with(|| space.push_loop(of.clone()));
        merged[l.0 as usize].get_or_insert(new);
    }
    let mut relabel = Relabel::new(&nest.space, space, merged);
    relabel.guards();

    let mut graph = Graph::new();
    let mut map = NodeMap::new(nest.graph.len());
    for (i, _) in live.iter().enumerate().filter(|(_, live)| **live) {
        let id = NodeId(i as u32);
        let new = relabel.node(&nest.graph, id, &map, &mut graph);
        for &span in nest.graph.spans(id) {
            graph.add_span(new, span);
        }
        map.set(id, new);
    }
    let mut out = nest.clone();
    for store in &mut out.stores {
        store.node = map[store.node];
        store.target = match store.target {
            Target::Set(a) => Target::Set(relabel.element(a)),
            Target::Add(a) => Target::Add(relabel.element(a)),
            Target::Entry(row, column) => Target::Entry(relabel.element(row), relabel.element(column)),
        };
    }
    for margin in &mut out.margins {
        margin.sub = relabel.affine(&margin.sub);
    }
    out.iterates = nest.iterates.iter().map(|&l| relabel.of(l)).collect();
    out.space = relabel.space;
    out.graph = graph;
    out
}

/// Moves accesses and guards to a space with other loops.
pub(crate) struct Relabel<'a> {
    old: &'a Space,
    /// The new space.
    pub space: Space,
    loops: Vec<Option<LoopId>>,
    accesses: QuickMap<AccessId, AccessId>,
    guards: NodeMap,
}

impl<'a> Relabel<'a> {
    /// Prepares for a space and the new number of each loop.
    pub fn new(old: &'a Space, space: Space, loops: Vec<Option<LoopId>>) -> Relabel<'a> {
        Relabel { old, space, loops, accesses: QuickMap::default(), guards: NodeMap::new(old.guards.len()) }
    }

    /// Copies a leaf or reduction of the graph to the new space.
    pub fn node(&mut self, from: &Graph, id: NodeId, map: &NodeMap, into: &mut Graph) -> NodeId {
        match from.node(id) {
            Node::Index(l) => into.insert(Node::Index(self.of(l))),
            Node::Read(a) => into.read(self.element(a)),
            Node::Direction(a) => into.direction(self.element(a)),
            Node::Reduce(reduction, over, term) => into.insert(Node::Reduce(reduction, self.of(over), map[term])),
            _ => copy(from, id, map, into),
        }
    }

    /// The new number of a loop. If only dead nodes used the loop but an access still needs it, this adds it.
    fn of(&mut self, l: LoopId) -> LoopId {
        let (old, space) = (self.old, &mut self.space);
        *self.loops[l.0 as usize].get_or_insert_with(|| space.push_loop(old.loops()[l.0 as usize].clone()))
    }

    /// Moves the guards in one pass: the access in a guard is older than the node that reads it, and its own guard is
    /// older still.
    pub fn guards(&mut self) {
        let guards = &self.old.guards;
        let roots = self.old.accesses().iter().filter_map(|a| a.guard);
        let live = guards.reachable(roots);
        for id in (0..live.len()).filter(|&i| live[i]).map(|i| NodeId(i as u32)) {
            let new = match guards.node(id) {
                Node::Index(l) => {
                    let l = self.of(l);
                    self.space.guards.insert(Node::Index(l))
                }
                Node::Read(a) => {
                    let a = self.element(a);
                    self.space.guards.read(a)
                }
                _ => copy(guards, id, &self.guards, &mut self.space.guards),
            };
            self.guards.set(id, new);
        }
    }

    fn element(&mut self, element: Element) -> Element {
        match element {
            Element::Scalar(_) => element,
            Element::At(access) => Element::At(self.access(access)),
        }
    }

    fn access(&mut self, id: AccessId) -> AccessId {
        if let Some(&new) = self.accesses.get(&id) {
            return new;
        }
        let old = self.old;
        let Access { array, subs, guard } = old.access(id);
        let subs = subs.iter().map(|s| self.subscript(s)).collect();
        let guard = guard.map(|g| self.guards[g]);
        let new = self.space.intern(Access { array: *array, subs, guard });
        self.accesses.insert(id, new);
        new
    }

    fn subscript(&mut self, subscript: &Subscript) -> Subscript {
        let sub = match &subscript.sub {
            Sub::Affine(affine) => Sub::Affine(self.affine(affine)),
            Sub::Lookup { table, subs, shift } => {
                Sub::Lookup { table: *table, subs: subs.iter().map(|s| self.subscript(s)).collect(), shift: *shift }
            }
        };
        Subscript { sub, edge: subscript.edge }
    }

    fn affine(&mut self, affine: &Affine) -> Affine {
        let mut loops: Vec<(LoopId, i64)> = affine.loops.iter().map(|&(l, c)| (self.of(l), c)).collect();
        loops.sort_unstable();
        Affine { constant: affine.constant, loops, extents: affine.extents.clone() }
    }
}
