//! The loops that each node of a nest varies with: its depth in the iteration loops, and the reductions of which it is
//! a term.

use super::arguments::Counter;
use super::{Element, Kernel, LoopId};
use crate::graph::{Node, NodeId, QuickMap};

/// A set of loops of reductions, by position in [`Depends::sets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SetId(u32);

/// The set without loops.
pub(crate) const NOTHING: SetId = SetId(0);

/// Dependence of every node of a nest.
pub(crate) struct Depends {
    /// For each node: the number of iteration counters, outermost first, that must enclose it; 0 is outside all loops.
    pub level: Vec<u32>,
    /// For each node: the loops of reductions whose index it depends on and over which no inner reduction runs.
    pub free: Vec<SetId>,
    sets: Vec<Vec<LoopId>>,
    index: QuickMap<Vec<LoopId>, SetId>,
    /// For each loop: the largest number of reduction loops around the reductions over it. A loop inside another is
    /// deeper, so loops of equal depth are never nested.
    depths: Vec<u32>,
}

impl Depends {
    /// The place of a node that varies with no loop.
    pub const OUTSIDE: (Option<LoopId>, u32) = (None, 0);

    /// The innermost reduction loop that must enclose a node, and the number of iteration counters.
    pub fn place(&self, id: NodeId) -> (Option<LoopId>, u32) {
        (self.innermost(id), self.level[id.index()])
    }

    /// The dependences of all nodes, live or not.
    pub fn of(nest: &Kernel) -> Depends {
        let graph = &nest.graph;
        let mut depends = Depends {
            level: Vec::with_capacity(graph.len()),
            free: Vec::with_capacity(graph.len()),
            sets: vec![Vec::new()],
            index: QuickMap::from_iter([(Vec::new(), NOTHING)]),
            depths: Vec::new(),
        };
        if nest.is_scalar() {
            depends.level.resize(graph.len(), 0);
            depends.free.resize(graph.len(), NOTHING);
            return depends;
        }
        let counters = nest.counters();
        let accesses: Vec<(u32, SetId)> = (0..nest.space.accesses().len())
            .map(|a| depends.of_counters(&counters, &nest.counters_of(super::AccessId(a as u32))))
            .collect();
        let indices: Vec<(u32, SetId)> = (0..nest.space.loops().len())
            .map(|l| {
                let l = LoopId(l as u32);
                let iterated = nest.iterates.contains(&l);
                let counter =
                    if iterated && nest.region == super::Region::Boundary { Counter::Points } else { Counter::Loop(l) };
                depends.of_counters(&counters, &[counter])
            })
            .collect();
        let mut unions: QuickMap<(SetId, SetId), SetId> = QuickMap::default();
        for node in graph.nodes() {
            let (level, free) = match *node {
                Node::Index(l) => indices[l.0 as usize],
                Node::Read(Element::At(a)) | Node::Direction(Element::At(a)) => accesses[a.0 as usize],
                Node::Reduce(_, over, term) => {
                    let free = depends.free[term.index()];
                    let rest = depends.sets[free.0 as usize].iter().copied().filter(|&l| l != over).collect();
                    (depends.level[term.index()], depends.intern(rest))
                }
                _ => node.operands().iter().fold((0, NOTHING), |(level, free), a| {
                    let (other_level, other) = (depends.level[a.index()], depends.free[a.index()]);
                    (level.max(other_level), depends.union(&mut unions, free, other))
                }),
            };
            depends.level.push(level);
            depends.free.push(free);
        }
        depends.find_depths(nest);
        depends
    }

    /// True if a node varies with a loop of a reduction.
    pub fn varies(&self, id: NodeId, over: LoopId) -> bool {
        self.loops(id).binary_search(&over).is_ok()
    }

    /// The loops of reductions that a node varies with, ascending.
    pub fn loops(&self, id: NodeId) -> &[LoopId] {
        &self.sets[self.free[id.index()].0 as usize]
    }

    /// The innermost reduction loop that a node varies with.
    pub fn innermost(&self, id: NodeId) -> Option<LoopId> {
        self.loops(id).iter().copied().max_by_key(|&l| self.depths[l.0 as usize])
    }

    /// The largest number of loops around the reductions over a loop.
    pub fn depth(&self, l: LoopId) -> u32 {
        self.depths[l.0 as usize]
    }

    fn of_counters(&mut self, iterated: &[Counter], counters: &[Counter]) -> (u32, SetId) {
        let mut level = 0;
        let mut free = Vec::new();
        for &counter in counters {
            match (iterated.iter().position(|&c| c == counter), counter) {
                (Some(k), _) => level = level.max(k as u32 + 1),
                (None, Counter::Loop(l)) => free.push(l),
                (None, Counter::Points) => {}
            }
        }
        free.sort_unstable();
        (level, self.intern(free))
    }

    fn intern(&mut self, set: Vec<LoopId>) -> SetId {
        if let Some(&id) = self.index.get(&set) {
            return id;
        }
        let id = SetId(self.sets.len() as u32);
        self.sets.push(set.clone());
        self.index.insert(set, id);
        id
    }

    fn union(&mut self, known: &mut QuickMap<(SetId, SetId), SetId>, a: SetId, b: SetId) -> SetId {
        if a == b || b == NOTHING {
            return a;
        }
        if a == NOTHING {
            return b;
        }
        if let Some(&id) = known.get(&(a, b)) {
            return id;
        }
        let mut set = [&self.sets[a.0 as usize][..], &self.sets[b.0 as usize][..]].concat();
        set.sort_unstable();
        set.dedup();
        let id = self.intern(set);
        known.insert((a, b), id);
        id
    }

    /// True if a reduction loop is inside another one that is also inside it.
    pub fn nests_in_itself(&self, nest: &Kernel) -> bool {
        self.around(nest).iter().any(|&(l, set)| self.outer(set) > self.depths[l.0 as usize])
    }

    /// Pairs of a reduction loop and the other reduction loops that a reduction over it varies with.
    fn around(&self, nest: &Kernel) -> Vec<(LoopId, SetId)> {
        let mut around: Vec<(LoopId, SetId)> = Vec::new();
        for (i, node) in nest.graph.nodes().iter().enumerate() {
            if let Node::Reduce(_, over, _) = *node {
                around.push((over, self.free[i]));
            }
        }
        around.sort_unstable_by_key(|&(l, set)| (l, set.0));
        around.dedup();
        around
    }

    fn outer(&self, set: SetId) -> u32 {
        self.sets[set.0 as usize].iter().map(|m| self.depths[m.0 as usize] + 1).max().unwrap_or(0)
    }

    /// Computes the depth of each loop: one more than the deepest loop that a reduction over it varies with. In a
    /// well-formed nest no loop is inside itself; for any other nest the result is arbitrary.
    fn find_depths(&mut self, nest: &Kernel) {
        self.depths = vec![0; nest.space.loops().len()];
        let around = self.around(nest);
        for _ in 0..self.depths.len() {
            let mut changed = false;
            for &(l, set) in &around {
                let outer = self.outer(set);
                changed |= outer > self.depths[l.0 as usize];
                self.depths[l.0 as usize] = outer.max(self.depths[l.0 as usize]);
            }
            if !changed {
                break;
            }
        }
    }
}
