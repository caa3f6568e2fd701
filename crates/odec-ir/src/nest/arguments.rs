//! The argument block of a nest: words that binding computes and the code of the nest reads, so that the code does
//! not depend on extents.
//!
//! Code of a nest has the signature `(t, y, p, w, out, arguments)`. The element of an access has this position in its
//! buffer:
//!
//! ```text
//! affine:  base + sum over counters c of stride_c * k_c
//! listed:  base + table[sum over counters c of stride_c * k_c]
//! ```
//!
//! where `k_c` counts from 0 in each run of the loop. A loop index has the value `first + k`; in a boundary region,
//! whose points are one list, `first + table[k]`.

use super::{Access, AccessId, Element, Kernel, LoopId, Region, Sub, Target};
use crate::broken;
use crate::graph::Node;

/// A counter of a loop in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Counter {
    /// The points of a boundary region, which replace its iteration loops.
    Points,
    /// A loop of the space.
    Loop(LoopId),
}

/// A step from one round to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stride {
    /// To the next element, for all extents.
    One,
    /// By the number of elements in this word.
    Word(u32),
}

/// How code computes the position of an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Word of the base, in elements from the start of the buffer.
    pub base: u32,
    /// Word of the offset table; `None`: affine.
    pub table: Option<u32>,
    /// The counters that the position depends on, outermost first.
    pub strides: Vec<(Counter, Stride)>,
}

/// How code computes the loop index of a [`Node::Index`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexAddress {
    /// Word of the first index.
    pub first: u32,
    /// Word of the table of offsets, by point; `None`: the counter of the loop. The table is empty if no live node
    /// needs the index.
    pub table: Option<u32>,
}

/// How code computes the position of a matrix entry in the values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPositions {
    /// Word of the table of positions.
    pub table: u32,
    /// Strides in that table over the iteration counters, outermost first.
    pub strides: Vec<(Counter, Stride)>,
    /// True if a position may be [`DROPPED`].
    pub checked: bool,
}

/// The position of an entry that does not exist at a point.
pub const DROPPED: u32 = u32::MAX;

/// The words of a nest's argument block. The nest alone determines them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArgumentBlock {
    /// Number of words.
    pub words: u32,
    /// The iteration counters, outermost first: the loops, or `Points`.
    pub counters: Vec<Counter>,
    /// Word of the number of points (boundary regions only).
    pub points: Option<u32>,
    /// For each loop: the word of the number of rounds.
    pub count: Vec<u32>,
    /// For each loop: how to compute its index.
    pub index: Vec<IndexAddress>,
    /// For each access; `None` if the code does not use its address.
    pub addresses: Vec<Option<Address>>,
    /// For each store; `None` unless it stores a matrix entry.
    pub entries: Vec<Option<EntryPositions>>,
}

impl ArgumentBlock {
    /// Word of the number of rounds of a counter.
    pub fn rounds(&self, counter: Counter) -> u32 {
        match (counter, self.points) {
            (Counter::Loop(l), _) => self.count[l.0 as usize],
            (Counter::Points, Some(word)) => word,
            (Counter::Points, None) => broken("a loop nest without a boundary region counts its points"),
        }
    }

    /// How to compute the position of an access.
    pub fn address(&self, access: AccessId) -> &Address {
        match self.addresses.get(access.0 as usize) {
            Some(Some(address)) => address,
            _ => broken("an element has no address"),
        }
    }

    /// How to compute the positions of the matrix entries of a store.
    pub fn entries_of(&self, store: usize) -> &EntryPositions {
        match &self.entries[store] {
            Some(entries) => entries,
            None => broken("a matrix entry has no positions"),
        }
    }

    /// The argument block of a nest.
    pub fn of(nest: &Kernel) -> ArgumentBlock {
        let mut words = 0;
        let mut word = || {
            words += 1;
            words - 1
        };
        let boundary = nest.region == Region::Boundary;
        let points = boundary.then(&mut word);
        let count: Vec<u32> = nest.space.loops().iter().map(|_| word()).collect();
        let index: Vec<IndexAddress> = (0..nest.space.loops().len())
            .map(|l| {
                let listed = boundary && nest.iterates.contains(&LoopId(l as u32));
                IndexAddress { first: word(), table: listed.then(&mut word) }
            })
            .collect();
        let counters: Vec<Counter> =
            if boundary { vec![Counter::Points] } else { nest.iterates.iter().map(|&l| Counter::Loop(l)).collect() };
        let live = nest.graph.reachable(nest.stores.iter().map(|s| s.node));
        let mut used = vec![false; nest.space.accesses().len()];
        for (i, node) in nest.graph.nodes().iter().enumerate() {
            if let (true, Node::Read(Element::At(a)) | Node::Direction(Element::At(a))) = (live[i], *node) {
                used[a.0 as usize] = true;
            }
        }
        for store in &nest.stores {
            if let Target::Set(Element::At(a)) | Target::Add(Element::At(a)) = store.target {
                used[a.0 as usize] = true;
            }
        }
        let addresses = (0..used.len())
            .map(|a| {
                let id = AccessId(a as u32);
                used[a].then(|| {
                    let counters = nest.counters_of(id);
                    let listed = nest.is_listed(id);
                    let unit = if listed { counters.last().copied() } else { nest.unit_counter(id) };
                    let base = word();
                    let table = listed.then(&mut word);
                    let mut stride = |c| if Some(c) == unit { Stride::One } else { Stride::Word(word()) };
                    Address { base, table, strides: counters.into_iter().map(|c| (c, stride(c))).collect() }
                })
            })
            .collect();
        let entries = nest
            .stores
            .iter()
            .map(|store| match store.target {
                Target::Entry(row @ Element::At(_), column) => {
                    let table = word();
                    let last = counters.last().copied();
                    let strides = counters
                        .iter()
                        .map(|&c| (c, if Some(c) == last { Stride::One } else { Stride::Word(word()) }))
                        .collect();
                    let guarded = |e: Element| e.access().is_some_and(|a| nest.space.access(a).guard.is_some());
                    Some(EntryPositions { table, strides, checked: guarded(row) || guarded(column) })
                }
                _ => None,
            })
            .collect();
        ArgumentBlock { words, counters, points, count, index, addresses, entries }
    }
}

impl Kernel {
    /// True if the positions of an access come from an offset table that binding computes: in a boundary region if it
    /// follows the points, and if it goes through a table, has a guard, or wraps around at an edge.
    pub fn is_listed(&self, id: AccessId) -> bool {
        let access = self.space.access(id);
        let gathers = |a: &Access| {
            a.guard.is_some()
                || a.subs.iter().any(|s| matches!(s.sub, Sub::Lookup { .. }))
                || a.subs.iter().any(|s| s.edge != super::Edge::Inside && !self.is_margin(&s.sub))
        };
        gathers(access)
            || (self.region == Region::Boundary && self.space.loops_of(id).iter().any(|l| self.iterates.contains(l)))
    }

    /// True for a subscript that stays inside its axis in the interior.
    fn is_margin(&self, sub: &Sub) -> bool {
        self.region == Region::Interior && self.margins.iter().any(|m| *sub == Sub::Affine(m.sub.clone()))
    }

    /// The counters that an access depends on: iteration loops in their order (or the points), then the loops of reductions.
    pub fn counters_of(&self, id: AccessId) -> Vec<Counter> {
        let loops = self.space.loops_of(id);
        let mut counters = Vec::new();
        if self.region == Region::Boundary {
            if loops.iter().any(|l| self.iterates.contains(l)) {
                counters.push(Counter::Points);
            }
        } else {
            counters.extend(self.iterates.iter().filter(|l| loops.contains(l)).map(|&l| Counter::Loop(l)));
        }
        counters.extend(loops.iter().filter(|l| !self.iterates.contains(l)).map(|&l| Counter::Loop(l)));
        counters
    }

    /// The counter along which an affine access steps to the next element, for all extents.
    fn unit_counter(&self, id: AccessId) -> Option<Counter> {
        let (last, others) = self.space.access(id).subs.split_last()?;
        let Sub::Affine(last) = &last.sub else { return None };
        let &[(l, 1)] = last.loops.as_slice() else { return None };
        let elsewhere = others.iter().any(|s| match &s.sub {
            Sub::Affine(affine) => affine.loops.iter().any(|&(other, _)| other == l),
            Sub::Lookup { .. } => true,
        });
        (!elsewhere).then_some(Counter::Loop(l))
    }
}
