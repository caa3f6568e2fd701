//! A program: arrays, and kernels that read and store them. This is what derivatives are taken of and backends compile.

use std::sync::Arc;

use crate::broken;
use crate::graph::Node;
use crate::nest::{Axis, AxisId, Extent, Kernel};
use crate::span::Span;

/// Position of an array in [`Program::arrays`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArrayId(pub u32);

/// The meaning of an array, which determines its buffer.
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
    /// A parameter-only value: the `Prepare` kernel computes it once per parameter set and stores it after the
    /// parameters in the parameter buffer.
    Staged,
    /// A number that `const` names and that extents depend on, or an extent: an input in the parameter buffer, so that code
    /// is the same for every value. Programs without index sets have none.
    Size,
    /// Constant data in the parameter buffer: a table.
    Table,
    /// A quantity that events alone change: in the parameter buffer, constant between two instants.
    Discrete,
    /// The truth of a relation, or a value that changes at known times alone: in the parameter buffer, constant inside a step.
    Mode,
    /// A result of a kernel of [`crate::switch::Switching`], which is an output there. No kernel of the model reads or stores it.
    Side,
    /// A quantity that a run records in addition to the states.
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
    /// Its meaning.
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

/// The role of a kernel. All kernels have the signature `(t, y, p, w, out)`: time, state `[q, v, z]`, parameter buffer
/// `[parameters, staged]`, direction (of the tangent and of the derivatives of M; otherwise unused), output buffer.
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
    /// Integers in the bounds of index sets and in subscripts. Empty in a model without index sets.
    pub extents: Vec<Extent>,
    /// Index sets of the arrays.
    pub axes: Vec<Axis>,
    /// The loop nests of all roles; for each role those that set come before those that add. Without index sets there is at
    /// most one for each role.
    pub kernels: Vec<Kernel>,
    /// Pattern of df/dy. This and the patterns below are empty in a program with index sets, where binding finds them
    /// ([`crate::nest::BoundProgram::matrix`]).
    pub jacobian: Pattern,
    /// Pattern of df/dp (columns: parameters).
    pub parameter_jacobian: Pattern,
    /// Pattern of M; `None` is the identity.
    pub mass: Option<Pattern>,
    /// Pattern of d(M(t, y) w)/dy; empty unless M depends on the state.
    pub mass_jacobian: Pattern,
    /// Functions that stay zero along a solution, if constraints were differentiated.
    pub invariants: Option<Arc<Invariants>>,
}

/// Constraints that were differentiated until they gave algebraic unknowns, and their lower derivatives: functions of (t, y) that
/// stay zero along a solution.
#[derive(Clone)]
pub struct Invariants {
    /// The same arrays; f of some rows are these functions, and 0 of the others.
    pub program: Program,
    /// Groups of functions, in the order in which they are satisfied.
    pub stages: Vec<InvariantStage>,
    /// With sensitivities: the same for derivatives by each parameter.
    pub derived: Vec<InvariantStage>,
    /// The algebraic unknowns, which act on the states that the functions of the last stage determine.
    pub unknowns: Vec<StateElement>,
    /// Those of them in whose rows are equations that were not differentiated.
    pub direct: Vec<StateElement>,
    /// The constraints: where each is written, and how often it was differentiated.
    pub constraints: Vec<(Span, u32)>,
}

/// Derivatives of one stage (J. D. Pryce, BIT 41 (2001) 364). They depend on the states of this stage and of earlier
/// ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvariantStage {
    /// The elements in whose rows the functions are.
    pub rows: Vec<StateElement>,
    /// The states that these functions determine in part.
    pub columns: Vec<StateElement>,
}

/// One number of the solver's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateElement {
    /// An array of states, or a scalar.
    pub array: ArrayId,
    /// Where in the array, row by row.
    pub position: usize,
}

/// A program that contradicts itself, which lowering never makes but a text form by hand may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A store to an entry that is not in the pattern, or beyond `out`.
    NoElement(KernelRole),
    /// A read of a quantity that is not an input, or a direction that is not a state.
    NotReadable(String),
    /// A builtin that expands into itself.
    NotExpanded(String),
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Malformed::NoElement(role) => write!(f, "the {role:?} kernel stores to an element that does not exist"),
            Malformed::NotReadable(name) => write!(f, "`{name}` is read but is not an input"),
            Malformed::NotExpanded(name) => write!(f, "`{name}` still has to be expanded"),
        }
    }
}

impl std::error::Error for Malformed {}

impl Program {
    /// True when all kernels are without loops and know the positions of what they read: then patterns are known too.
    /// Another program has to be bound before it can run.
    pub fn is_scalar(&self) -> bool {
        self.arrays.iter().all(|a| a.axes.is_empty()) && self.kernels.iter().all(Kernel::is_scalar)
    }

    /// The kernels of a role, in the order in which they run.
    pub fn kernels_of(&self, role: KernelRole) -> impl Iterator<Item = &Kernel> {
        self.kernels.iter().filter(move |k| k.role == role)
    }

    /// The kernel of a role of a scalar program; the first of several in others.
    pub fn kernel(&self, role: KernelRole) -> Option<&Kernel> {
        self.kernels_of(role).next()
    }

    /// True when there is a kernel of this role.
    pub fn has(&self, role: KernelRole) -> bool {
        self.kernel(role).is_some()
    }

    /// True when the right-hand side does not mention time.
    pub fn is_autonomous(&self) -> bool {
        !self.kernels_of(KernelRole::Rhs).any(|k| k.live().any(|(_, node)| node == Node::Time))
    }

    /// True when M depends on the state or on time, not on parameters alone.
    pub fn mass_varies(&self) -> bool {
        self.kernels_of(KernelRole::Mass).any(|k| k.varies(&self.arrays))
    }

    /// True when the `Outputs` kernel reads derivatives, which it is then given as the direction `w`.
    pub fn outputs_read_rates(&self) -> bool {
        let reads = |(_, node)| matches!(node, Node::Direction(_));
        self.kernels_of(KernelRole::Outputs).any(|k| k.live().any(reads))
    }

    /// The pattern of the matrix that a role stores, in a program without index sets; elsewhere binding finds it.
    pub fn pattern(&self, role: KernelRole) -> Option<&Pattern> {
        match role {
            KernelRole::Jacobian => Some(&self.jacobian),
            KernelRole::ParameterJacobian => Some(&self.parameter_jacobian),
            KernelRole::Mass => self.mass.as_ref(),
            KernelRole::MassJacobian => Some(&self.mass_jacobian),
            _ => None,
        }
    }

    /// First and last index of an axis of a program whose sizes fit: of one that was bound.
    #[track_caller]
    pub fn ends(&self, axis: AxisId) -> (i64, i64) {
        let axis = &self.axes[axis.0 as usize];
        match (axis.first.value(&self.extents), axis.last.value(&self.extents)) {
            (Some(first), Some(last)) => (first, last),
            _ => broken(&format!("the ends of the index set {} do not fit", axis.name)),
        }
    }

    /// The arrays of a role, in the order of declaration.
    pub fn arrays_of(&self, role: Role) -> impl Iterator<Item = (ArrayId, &Array)> {
        self.arrays.iter().enumerate().filter(move |(_, a)| a.role == role).map(|(i, a)| (ArrayId(i as u32), a))
    }
}
