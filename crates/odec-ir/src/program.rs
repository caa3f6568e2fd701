//! A program: arrays, and kernels that read and store them. This is what derivatives are taken of and backends compile.

use crate::graph::{Graph, NodeId};
use crate::nest::{Axis, AxisId, Extent, Nest};
use crate::span::Span;

/// Position of an array in [`Program::arrays`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArrayId(pub u32);

/// What an array holds, hence which buffer it lives in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// `q`: a state whose equation gives `q''`. Its velocity is the `Velocity` array of the same rank in the list.
    Position,
    /// `v = q'`.
    Velocity,
    /// `z`: a state whose equation gives `z'`.
    FirstOrder,
    /// A parameter: an input that is set before a run.
    Parameter,
    /// A value that follows from parameters alone: computed by the `Prepare` kernel, once per parameter set, and kept
    /// in the parameter buffer behind the parameters.
    Staged,
    /// A number that `const` names and that extents depend on, or an extent: an input in the parameter buffer, so that code
    /// is the same for every value. Programs without nests have none.
    Size,
    /// Constant data in the parameter buffer: a table.
    Table,
    /// A quantity recorded beside the states.
    Output,
    /// A quantity whose drift is reported.
    Conserved,
    /// A quantity that an `expect` line compares.
    Expected,
}

/// A named quantity.
#[derive(Clone, Debug)]
pub struct Array {
    /// The name in the source (`x'` for the velocity of `x`).
    pub name: String,
    /// What it holds.
    pub role: Role,
    /// Its index sets; none for a scalar.
    pub axes: Vec<AxisId>,
    /// Default of a parameter or size (states have their `Initial` kernel; others ignore it).
    pub default: f64,
    /// Values of a table, defaults of a parameter with axes: row by row. Empty for others.
    pub data: Vec<f64>,
    /// Unit as written, without brackets.
    pub unit: Option<String>,
    /// Doc comment.
    pub doc: Option<String>,
    /// Where it is declared.
    pub span: Span,
}

/// What a kernel computes. All have the signature `(t, y, p, w, out)`: time, state `[q, v, z]`, parameter buffer
/// `[parameters, staged]`, direction (of the tangent, of the derivatives of M; else unused), output buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KernelRole {
    /// `out` is the parameter buffer: fills its staged part.
    Prepare,
    /// `out` = y at the start; reads parameters and time only.
    Initial,
    /// `out` = f(t, y), n values, in M y' = f.
    Rhs,
    /// `out` = values of df/dy on [`Program::jacobian`].
    Jacobian,
    /// `out` = df/dy * w, n values.
    Tangent,
    /// `out` = df/dt, n values.
    TimeDerivative,
    /// `out` = values of df/dp on [`Program::parameter_jacobian`].
    ParameterJacobian,
    /// `out` = values of M(t, y) on [`Program::mass`].
    Mass,
    /// `out` = values of d(M(t, y) w)/dy for a fixed w on [`Program::mass_jacobian`].
    MassJacobian,
    /// `out` = d(M(t, y) w)/dt for a fixed w, n values.
    MassTimeDerivative,
    /// `out` = outputs, then conserved, then expected quantities. `w` = y' where [`Program::outputs_read_rates`].
    Outputs,
}

impl KernelRole {
    /// True for those whose `out` holds the values of a matrix on its pattern.
    pub fn is_matrix(self) -> bool {
        use KernelRole::{Jacobian, Mass, MassJacobian, ParameterJacobian};
        matches!(self, Jacobian | ParameterJacobian | Mass | MassJacobian)
    }
}

/// Where a node is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// An element of the output vector: the row of this array.
    Element(ArrayId),
    /// A matrix entry: row of the first, column of the second.
    Entry(ArrayId, ArrayId),
}

/// One result of a kernel. A target is stored once.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    /// Where.
    pub target: Target,
    /// What.
    pub node: NodeId,
}

/// A body that is run once: the kernel of a model without index sets. With index sets, see [`Nest`].
#[derive(Clone)]
pub struct Kernel {
    /// What it computes.
    pub role: KernelRole,
    /// Expressions.
    pub graph: Graph,
    /// Results.
    pub stores: Vec<Store>,
}

/// A sparse pattern in compressed columns, rows ascending within a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Number of rows.
    pub rows: u32,
    /// `col_ptr[j]..col_ptr[j+1]` are the entries of column `j`; one more than there are columns.
    pub col_ptr: Vec<u32>,
    /// Row of each entry.
    pub row_idx: Vec<u32>,
}

/// A model as loops over expression graphs, with its derivatives.
#[derive(Clone)]
pub struct Program {
    /// Name of the model.
    pub name: String,
    /// Every quantity, in the order of declaration.
    pub arrays: Vec<Array>,
    /// Whole numbers that index sets and subscripts are made of. None in a model without index sets.
    pub extents: Vec<Extent>,
    /// Index sets of the arrays.
    pub axes: Vec<Axis>,
    /// At most one kernel for each role. None in a model with index sets.
    pub kernels: Vec<Kernel>,
    /// Loop nests: all kernels of a model with index sets; for each role those that set come before those that add.
    pub nests: Vec<Nest>,
    /// Pattern of df/dy. This and the patterns below are empty in a program of nests, where binding finds them
    /// ([`crate::nest::Bound::matrix`]).
    pub jacobian: Pattern,
    /// Pattern of df/dp (columns: parameters).
    pub parameter_jacobian: Pattern,
    /// Pattern of M; `None` is the identity.
    pub mass: Option<Pattern>,
    /// Pattern of d(M(t, y) w)/dy; empty unless M depends on the state.
    pub mass_jacobian: Pattern,
}

impl Program {
    /// True when the program is made of nests: then it has to be bound before it can run.
    pub fn has_loops(&self) -> bool {
        !self.nests.is_empty()
    }

    /// The kernel of a role.
    pub fn kernel(&self, role: KernelRole) -> Option<&Kernel> {
        self.kernels.iter().find(|k| k.role == role)
    }

    /// True when there is a kernel or a nest of this role.
    pub fn has(&self, role: KernelRole) -> bool {
        self.kernel(role).is_some() || self.nests_of(role).next().is_some()
    }

    /// True when the right-hand side does not mention time.
    pub fn is_autonomous(&self) -> bool {
        let mentions = |node| node == crate::graph::Node::Time;
        self.kernel(KernelRole::Rhs).is_none_or(|k| !k.live().any(|(_, node)| mentions(node)))
            && !self.nests_of(KernelRole::Rhs).any(|n| n.live().any(|(_, node)| mentions(node)))
    }

    /// True when M depends on the state or on time, not on parameters alone.
    pub fn mass_varies(&self) -> bool {
        self.kernel(KernelRole::Mass).is_some_and(|k| k.varies(&self.arrays))
            || self.nests_of(KernelRole::Mass).any(|n| n.varies(&self.arrays))
    }

    /// True when the `Outputs` kernel reads derivatives, which it is then given as the direction `w`.
    pub fn outputs_read_rates(&self) -> bool {
        use crate::graph::Node;
        let reads = |(_, node)| matches!(node, Node::Direction(_) | Node::DirectionElement(_));
        self.kernel(KernelRole::Outputs).is_some_and(|k| k.live().any(reads))
            || self.nests_of(KernelRole::Outputs).any(|n| n.live().any(reads))
    }

    /// The nests of a role, in the order in which they run.
    pub fn nests_of(&self, role: KernelRole) -> impl Iterator<Item = &Nest> {
        self.nests.iter().filter(move |n| n.role == role)
    }

    /// The arrays of a role, in the order of declaration.
    pub fn arrays_of(&self, role: Role) -> impl Iterator<Item = (ArrayId, &Array)> {
        self.arrays.iter().enumerate().filter(move |(_, a)| a.role == role).map(|(i, a)| (ArrayId(i as u32), a))
    }
}

impl Kernel {
    /// True when a result depends on more than parameters.
    pub fn varies(&self, arrays: &[Array]) -> bool {
        let stages = crate::stage::of(&self.graph, arrays);
        self.stores.iter().any(|s| stages[s.node.index()] > crate::stage::Stage::Parameter)
    }

    /// The nodes that the stores need, operands first.
    pub fn live(&self) -> impl Iterator<Item = (NodeId, crate::graph::Node)> + '_ {
        self.graph.live(self.stores.iter().map(|s| s.node))
    }
}
