//! Loops, subscripts and accesses of a nest.

use super::{AccessId, ExtentId, LoopId};
use crate::broken;
use crate::graph::{Graph, NodeId, QuickMap};
use crate::program::ArrayId;
use crate::span::Span;

/// An integer: constant + sum of coefficient * loop index + sum of coefficient * extent. Terms ascend, without zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Affine {
    /// Constant term.
    pub constant: i64,
    /// Loop indices with their coefficients.
    pub loops: Vec<(LoopId, i64)>,
    /// Extents with their coefficients.
    pub extents: Vec<(ExtentId, i64)>,
}

impl Affine {
    /// A number.
    pub fn constant(constant: i64) -> Affine {
        Affine { constant, ..Affine::default() }
    }

    /// An extent.
    pub fn extent(extent: ExtentId) -> Affine {
        Affine { extents: vec![(extent, 1)], ..Affine::default() }
    }

    /// The index of a loop.
    pub fn index(l: LoopId) -> Affine {
        Affine { loops: vec![(l, 1)], ..Affine::default() }
    }

    /// The value, if it depends on no loop; `None` if it overflows.
    pub fn value(&self, extents: &[super::Extent]) -> Option<i64> {
        if !self.loops.is_empty() {
            broken("the value of a subscript that depends on a loop is asked for without the loop");
        }
        self.extents.iter().try_fold(self.constant, |sum, &(extent, c)| {
            sum.checked_add(extents[extent.0 as usize].value.checked_mul(c)?)
        })
    }

    /// `self + factor * other`; `None` if a coefficient overflows.
    pub fn plus(&self, other: &Affine, factor: i64) -> Option<Affine> {
        // Both lists ascend.
        fn merge<K: Copy + Ord>(a: &[(K, i64)], b: &[(K, i64)], factor: i64) -> Option<Vec<(K, i64)>> {
            let mut sum = Vec::with_capacity(a.len() + b.len());
            let mut rest = a;
            for &(k, c) in b {
                while let [first, more @ ..] = rest
                    && first.0 < k
                {
                    sum.push(*first);
                    rest = more;
                }
                let mut c = c.checked_mul(factor)?;
                if let [first, more @ ..] = rest
                    && first.0 == k
                {
                    c = c.checked_add(first.1)?;
                    rest = more;
                }
                if c != 0 {
                    sum.push((k, c));
                }
            }
            sum.extend_from_slice(rest);
            Some(sum)
        }
        Some(Affine {
            constant: self.constant.checked_add(other.constant.checked_mul(factor)?)?,
            loops: merge(&self.loops, &other.loops, factor)?,
            extents: merge(&self.extents, &other.extents, factor)?,
        })
    }
}

/// The rule for a subscript that leaves its axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Edge {
    /// The subscript stays inside if the guard holds.
    Inside,
    /// The subscript wraps around.
    Periodic,
    /// The subscript stays at the end.
    Clamp,
}

/// A whole number that selects an element along an axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sub {
    /// Affine in loop indices and extents.
    Affine(Affine),
    /// An element of a table of integers, plus a shift.
    Lookup {
        /// The table.
        table: ArrayId,
        /// The subscripts of the element.
        subs: Vec<Subscript>,
        /// The shift.
        shift: i64,
    },
}

/// A subscript and its rule at the ends of its axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subscript {
    /// The subscript.
    pub sub: Sub,
    /// The rule.
    pub edge: Edge,
}

/// An element of an array: one subscript for each axis; none for a scalar. A scalar with a subscript is the scalar at
/// this distance in the buffer of its role ([`crate::repeat`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The array.
    pub array: ArrayId,
    /// Subscripts, in the order of the array's axes.
    pub subs: Vec<Subscript>,
    /// A node of [`Space::guards`]: if it is zero, the element does not exist and is not used.
    pub guard: Option<NodeId>,
}

/// A loop over the indices `first..=last`.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Name of the index.
    pub name: String,
    /// First index; an expression in extents alone.
    pub first: Affine,
    /// Last index; the loop is empty if it is less than the first.
    pub last: Affine,
    /// Source location.
    pub span: Span,
}

/// The loops and accesses to which the nodes of a nest refer.
#[derive(Clone, Default)]
pub struct Space {
    loops: Vec<Loop>,
    accesses: Vec<Access>,
    index: QuickMap<Access, AccessId>,
    /// Conditions of accesses: nodes that depend on loop indices, sizes and tables alone.
    pub guards: Graph,
}

impl Space {
    /// No loop and no access.
    pub fn new() -> Space {
        Space::default()
    }

    /// Adds a loop.
    pub fn push_loop(&mut self, l: Loop) -> LoopId {
        self.loops.push(l);
        LoopId(self.loops.len() as u32 - 1)
    }

    /// All loops, by number.
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// Adds an access, or finds an equal one.
    pub fn intern(&mut self, access: Access) -> AccessId {
        if let Some(&id) = self.index.get(&access) {
            return id;
        }
        let id = AccessId(self.accesses.len() as u32);
        self.accesses.push(access.clone());
        self.index.insert(access, id);
        id
    }

    /// Finds an equal access.
    pub fn find(&self, access: &Access) -> Option<AccessId> {
        self.index.get(access).copied()
    }

    /// A scalar.
    pub fn scalar(&mut self, array: ArrayId) -> AccessId {
        self.intern(Access { array, subs: Vec::new(), guard: None })
    }

    /// All accesses, by number.
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// An access.
    pub fn access(&self, id: AccessId) -> &Access {
        &self.accesses[id.0 as usize]
    }

    /// The loops that an access depends on, by its subscripts and its guard, ascending.
    pub fn loops_of(&self, id: AccessId) -> Vec<LoopId> {
        let access = self.access(id);
        let mut found = Vec::new();
        for s in &access.subs {
            loops_of_sub(&s.sub, &mut found);
        }
        if let Some(guard) = access.guard {
            let live = self.guards.reachable([guard]);
            for (i, node) in self.guards.nodes().iter().enumerate() {
                match *node {
                    crate::Node::Index(l) if live[i] => found.push(l),
                    crate::Node::Read(super::Element::At(a)) if live[i] && a != id => found.extend(self.loops_of(a)),
                    _ => {}
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn loops_of_sub(sub: &Sub, found: &mut Vec<LoopId>) {
    match sub {
        Sub::Affine(affine) => found.extend(affine.loops.iter().map(|&(l, _)| l)),
        Sub::Lookup { subs, .. } => subs.iter().for_each(|s| loops_of_sub(&s.sub, found)),
    }
}

impl Loop {
    /// The loop over an index set.
    pub fn over(axis: &super::Axis) -> Loop {
        Loop { name: axis.name.clone(), first: axis.first.clone(), last: axis.last.clone(), span: axis.span }
    }
}
