//! Loop nests: the form of every kernel, independent of the number of elements.
//!
//! A program is a list of [`Kernel`]s. Each has a few iteration loops (none for scalar equations), one hash-consed
//! expression graph whose nodes can read array elements, use loop indices and reduce over further loops, and stores.
//! It is the same for every extent: [`bind`] computes everything that depends on extents and passes it to the code in
//! a [`arguments::ArgumentBlock`] at run time.
//!
//! ```text
//! u[i]' = (u[i-1] - 2*u[i] + u[i+1])/dx^2,   boundary u[0] = 1, u[N+1] = u[N]
//!
//! nest rhs, interior, over i           every subscript is in range here: plain reads
//!   du[i] = (u[i-1] - 2*u[i] + u[i+1])/dx^2
//! nest rhs, boundary, over i           the rest of 1..N, a list of points
//!   du[i] = ((if i-1 < 1 then 1 else u[i-1]) - 2*u[i] + (if i+1 > N then u[N] else u[i+1]))/dx^2
//! ```
//!
//! An access under a condition has this condition as its guard, so that binding neither reads a missing element nor
//! adds its derivative to the pattern.

pub mod arguments;
pub mod bind;
pub(crate) mod carry;
mod check;
pub(crate) mod depends;
mod domain;
mod entries;
pub(crate) mod fuse;
pub mod invariant;
mod positions;
pub mod schedule;
mod space;

pub use bind::BoundProgram;
pub use fuse::fused;
pub use space::{Access, Affine, Edge, Loop, Space, Sub, Subscript};

use crate::graph::{Graph, NodeId, NodeMap};
use crate::program::{ArrayId, KernelRole};
use crate::span::Span;

/// Position of an extent in [`crate::Program::extents`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExtentId(pub u32);

/// An integer in the bounds of index sets and in subscripts: the value of a constant expression of the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Extent {
    /// As written: `N`, `2*N + 1`.
    pub text: String,
    /// Its value. Only binding uses it, compiling does not.
    pub value: i64,
    /// Its source location.
    pub span: Span,
}

/// Position of an axis in [`crate::Program::axes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AxisId(pub u32);

/// An index set `first..=last`, as an axis of arrays. Arrays are stored row by row: the last axis varies fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Name of the index in the source.
    pub name: String,
    /// First index; an expression in extents alone.
    pub first: Affine,
    /// Last index.
    pub last: Affine,
    /// Source location of the declaration.
    pub span: Span,
}

/// Position of a loop in [`Space::loops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopId(pub u32);

/// Position of an access in [`Space::accesses`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccessId(pub u32);

/// How the terms of a loop become one value. Term numbers start at the first index of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReduceOp {
    /// Four interleaved partial sums (term k goes to partial k mod 4, each starting from 0), added as (0+2)+(1+3).
    Sum,
    /// Four interleaved partial products, each starting from 1, multiplied as (0*2)*(1*3).
    Product,
    /// `acc = min(acc, term)` (the builtin), starting from infinity.
    Min,
    /// `acc = max(acc, term)` (the builtin), starting from minus infinity.
    Max,
    /// The index of the term that [`ReduceOp::Min`] chooses, as a number: the first smallest term, or the first NaN
    /// if there is one. The index before the first if no term is below infinity.
    ArgMin,
    /// The index of the term that [`ReduceOp::Max`] chooses.
    ArgMax,
}

/// The points of its iteration loops that a nest runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Region {
    /// All points, as loops.
    Whole,
    /// The largest box in which every margin of the nest is in range, as loops.
    Interior,
    /// The points outside that box, as one list.
    Boundary,
}

/// The operand of a read or a store: one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Element {
    /// A scalar array at a position that code knows: in programs without index sets, where positions do not depend on
    /// extents.
    Scalar(ArrayId),
    /// An access of the kernel; binding finds its position.
    At(AccessId),
}

impl From<ArrayId> for Element {
    fn from(array: ArrayId) -> Element {
        Element::Scalar(array)
    }
}

impl From<AccessId> for Element {
    fn from(access: AccessId) -> Element {
        Element::At(access)
    }
}

impl Element {
    /// The access, if it is one.
    pub fn access(self) -> Option<AccessId> {
        match self {
            Element::Scalar(_) => None,
            Element::At(access) => Some(access),
        }
    }

    /// The array of a scalar at a known position.
    pub fn scalar(self) -> Option<ArrayId> {
        match self {
            Element::Scalar(array) => Some(array),
            Element::At(_) => None,
        }
    }
}

/// The destination of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// `out[element] = value`. One kernel has one such store for every element.
    Set(Element),
    /// `out[element] += value`, after all kernels that set elements. Several points may add to one element, in the
    /// order of the loops.
    Add(Element),
    /// `out[entry] += value` at the entry (row of the first, column of the second) of a matrix that begins at zero.
    /// Not stored at points where the guard of either access is zero. Between scalars an entry is stored once.
    Entry(Element, Element),
}

impl Target {
    /// [`Target::Set`] of a scalar or an access.
    pub fn set(element: impl Into<Element>) -> Target {
        Target::Set(element.into())
    }

    /// [`Target::Entry`] of scalars or accesses.
    pub fn entry(row: impl Into<Element>, column: impl Into<Element>) -> Target {
        Target::Entry(row.into(), column.into())
    }

    /// The elements in the target.
    pub fn elements(self) -> impl Iterator<Item = Element> {
        let (first, second) = match self {
            Target::Set(element) | Target::Add(element) => (element, None),
            Target::Entry(row, column) => (row, Some(column)),
        };
        std::iter::once(first).chain(second)
    }
}

/// One result of a kernel, once for each point of its iteration loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// The destination.
    pub target: Target,
    /// The value. It depends on no loops but the iteration loops.
    pub node: NodeId,
}

/// A subscript that stays inside an axis everywhere in the interior. The axis belongs to the array that is read, or
/// is the range of a definition, which has no array because its expression is inlined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Margin {
    /// The subscript, before the rule of its edge.
    pub sub: Affine,
    /// The axis that it stays inside.
    pub axis: AxisId,
}

/// A loop nest. All kernels of a role together compute its result, in the order of [`crate::Program::kernels`].
/// Without loops, the kernel is a list of stores that runs once: the scalar equations of a model.
#[derive(Clone)]
pub struct Kernel {
    /// The role of the kernel (see [`KernelRole`]).
    pub role: KernelRole,
    /// Loops, accesses and guards that the graph refers to.
    pub space: Space,
    /// Iteration loops, outermost first; the other loops of the space belong to reductions.
    pub iterates: Vec<LoopId>,
    /// The points of these loops.
    pub region: Region,
    /// The margins of the interior: the subscripts for which a boundary has a rule. Interior and boundary region have
    /// the same list.
    pub margins: Vec<Margin>,
    /// The expressions.
    pub graph: Graph,
    /// The results.
    pub stores: Vec<Store>,
}

impl Kernel {
    /// A kernel without loops.
    pub fn scalar(role: KernelRole, graph: Graph, stores: Vec<Store>) -> Kernel {
        Kernel {
            role,
            space: Space::new(),
            iterates: Vec::new(),
            region: Region::Whole,
            margins: Vec::new(),
            graph,
            stores,
        }
    }

    /// True for a kernel without loops whose elements are all scalars at known positions: backends emit straight-line code.
    pub fn is_scalar(&self) -> bool {
        self.space.loops().is_empty() && self.space.accesses().is_empty()
    }

    /// The nodes that the stores need, operands first.
    pub fn live(&self) -> impl Iterator<Item = (NodeId, crate::Node)> + '_ {
        self.graph.live(self.stores.iter().map(|s| s.node))
    }

    /// True if a result depends on more than parameters.
    pub fn varies(&self, arrays: &[crate::Array]) -> bool {
        let stages = crate::stage::of(self, arrays);
        self.stores.iter().any(|s| stages[s.node.index()] > crate::stage::Stage::Parameter)
    }

    /// The array that an element belongs to.
    pub fn array(&self, element: impl Into<Element>) -> ArrayId {
        match element.into() {
            Element::Scalar(array) => array,
            Element::At(access) => self.space.access(access).array,
        }
    }

    /// True if an element is a different scalar in each round of a loop ([`crate::repeat`]); its array is the first.
    pub fn selects(&self, element: Element, arrays: &[crate::Array]) -> bool {
        element.access().is_some_and(|access| {
            let Access { array, subs, .. } = self.space.access(access);
            !subs.is_empty() && arrays[array.0 as usize].axes.is_empty()
        })
    }

    /// The kernel with some nodes replaced: `write` receives the graph, the new graph, the node and the new nodes of
    /// its operands; if it returns nothing, the node is copied. Source locations are kept, and nodes that no store
    /// needs are left out.
    pub(crate) fn rewritten(
        &self,
        mut write: impl FnMut(&Graph, &mut Graph, NodeId, &NodeMap) -> Option<NodeId>,
    ) -> Kernel {
        let live: Vec<NodeId> = self.live().map(|(id, _)| id).collect();
        let mut graph = Graph::with_room(live.len());
        let mut map = NodeMap::new(self.graph.len());
        for id in live {
            let written = write(&self.graph, &mut graph, id, &map);
            let new = written.unwrap_or_else(|| crate::stage::copy(&self.graph, id, &map, &mut graph));
            for &span in self.graph.spans(id) {
                graph.add_span(new, span);
            }
            map.set(id, new);
        }
        let moved = |s: &Store| Store { node: map[s.node], ..*s };
        Kernel {
            role: self.role,
            space: self.space.clone(),
            iterates: self.iterates.clone(),
            region: self.region,
            margins: self.margins.clone(),
            stores: self.stores.iter().map(moved).collect(),
            graph,
        }
    }
}
