//! Loops over index sets: what a kernel of an array model is, with no number of elements in it.
//!
//! A model with index sets is a list of [`Nest`]s. A nest is a few iteration loops, one hash-consed expression graph whose
//! nodes may read array elements, use loop indices and fold over further loops, and stores. It is the same for every
//! extent: what depends on extents is computed by [`bind`] and handed to the code in a [`frame::Frame`] at run time.
//!
//! ```text
//! u[i]' = (u[i-1] - 2*u[i] + u[i+1])/dx^2,   boundary u[0] = 1, u[N+1] = u[N]
//!
//! nest rhs, interior, over i           every subscript is in range here: plain reads
//!   du[i] = (u[i-1] - 2*u[i] + u[i+1])/dx^2
//! nest rhs, shell, over i              the rest of 1..N, a list of points
//!   du[i] = ((if i-1 < 1 then 1 else u[i-1]) - 2*u[i] + (if i+1 > N then u[N] else u[i+1]))/dx^2
//! ```
//!
//! An access under a condition carries it as its guard, so that binding neither reads nor derives by an element that is
//! not there.

pub mod bind;
mod check;
pub(crate) mod depends;
mod domain;
mod entries;
pub mod frame;
pub mod lift;
mod positions;
pub(crate) mod reciprocal;
pub mod schedule;
pub(crate) mod share;
mod space;

pub use bind::Bound;
pub use reciprocal::ROUNDING_RULE;
pub use share::shared;
pub use space::{Access, Affine, Edge, Loop, Space, Sub, Subscript};

use crate::graph::{Graph, NodeId};
use crate::program::{ArrayId, KernelRole};
use crate::span::Span;

/// Position of an extent in [`crate::Program::extents`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExtentId(pub u32);

/// A whole number that index sets and subscripts are made of: the value of a constant expression of the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Extent {
    /// As written: `N`, `2*N + 1`.
    pub text: String,
    /// Its value. Compiling does not look at it, binding does.
    pub value: i64,
    /// Where it is written.
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
    /// Where it is declared.
    pub span: Span,
}

/// Position of a loop in [`Space::loops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopId(pub u32);

/// Position of an access in [`Space::accesses`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccessId(pub u32);

/// How a loop's terms become one value. Terms count from the first index of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fold {
    /// Four interleaved partial sums (term k goes to partial k mod 4, each starting from 0), added as (0+2)+(1+3).
    Sum,
    /// Four interleaved partial products, each starting from 1, multiplied as (0*2)*(1*3).
    Product,
    /// `acc = min(acc, term)` by the builtin, from infinity.
    Min,
    /// `acc = max(acc, term)` by the builtin, from minus infinity.
    Max,
    /// The index that [`Fold::Min`] takes its value from, as a number: the first whose term is smallest, the first NaN if
    /// there is one. The index before the first if no term is below infinity.
    ArgMin,
    /// The index that [`Fold::Max`] takes its value from.
    ArgMax,
}

/// Which points of its iteration loops a nest runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// All of them, as loops.
    Whole,
    /// The largest box in which every margin of the nest is in range, as loops.
    Interior,
    /// The points outside that box, as one list of points.
    Shell,
}

/// Where a node of a nest is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// `out[element] = value`. Every element has one such store in one nest.
    Set(AccessId),
    /// `out[element] += value`, after all nests that set. Several points may meet in one element, in the order of the loops.
    Add(AccessId),
    /// `out[entry] += value` at the entry (row of the first, column of the second) of a matrix that begins at zero.
    /// Dropped at points where the guard of either access does not hold.
    Entry(AccessId, AccessId),
}

/// One result of a nest, once for each point of its iteration loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// Where.
    pub target: Target,
    /// What. Its value depends on no loop but the iteration loops.
    pub node: NodeId,
}

/// A subscript that is in range of an axis everywhere in the interior. The axis is that of the array that is read, or the
/// range of a definition, which has no array: its value is written out where it is used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Margin {
    /// The subscript, before any rule of an edge.
    pub sub: Affine,
    /// Where it stays in the interior.
    pub axis: AxisId,
}

/// A loop nest over index sets. All nests of a role together are the kernel of that role, run in their order in
/// [`crate::Program::nests`]. Scalar equations of an array model are the nest with no iteration loop.
#[derive(Clone)]
pub struct Nest {
    /// What it computes (see [`KernelRole`]: same buffers, same meaning).
    pub role: KernelRole,
    /// Loops, accesses and guards that the graph refers to.
    pub space: Space,
    /// Iteration loops, outermost first; the other loops of the space belong to folds.
    pub iterates: Vec<LoopId>,
    /// Which points of them.
    pub part: Part,
    /// What bounds the interior: the subscripts that a boundary has a rule for. Same list in both parts.
    pub margins: Vec<Margin>,
    /// Expressions.
    pub graph: Graph,
    /// Results.
    pub stores: Vec<Store>,
}

impl Nest {
    /// The nodes that the stores need, operands first.
    pub fn live(&self) -> impl Iterator<Item = (NodeId, crate::Node)> + '_ {
        self.graph.live(self.stores.iter().map(|s| s.node))
    }

    /// True when a result depends on more than parameters.
    pub fn varies(&self, arrays: &[crate::Array]) -> bool {
        let stages = crate::stage::of_nest(self, arrays);
        self.stores.iter().any(|s| stages[s.node.index()] > crate::stage::Stage::Parameter)
    }

    /// The array that an access belongs to.
    pub fn array(&self, access: AccessId) -> ArrayId {
        self.space.access(access).array
    }
}
