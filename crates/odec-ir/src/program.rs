//! A program: arrays, and kernels that read and store them. Differentiation and backends work on programs.

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
    /// `q`: a state whose equation gives `q''`. Its velocity is the `Velocity` array of the same rank.
    Position,
    /// `v = q'`.
    Velocity,
    /// `z`: a state whose equation gives `z'`.
    FirstOrder,
    /// A parameter: an input that is set before a run.
    Parameter,
    /// A parameter-only value: the `Prepare` kernel computes it once per parameter set and stores it behind the
    /// parameters in the parameter buffer.
    Staged,
    /// A number that a `const` declares and that extents depend on, or an extent: an input in the parameter buffer,
    /// so that the code is the same for all values. Programs without index sets have none.
    Size,
    /// Constant data in the parameter buffer: a table.
    Table,
    /// A quantity that only events change: in the parameter buffer, constant between two instants.
    Discrete,
    /// The truth of a relation, or a value that changes only at known times: in the parameter buffer, constant inside
    /// a step.
    Mode,
    /// A result of a kernel of [`crate::switch::Switching`], where it is an output. No kernel of the model reads or
    /// stores it.
    Side,
    /// A quantity that a run records in addition to the states.
    Output,
    /// A quantity whose drift is reported.
    Conserved,
    /// A quantity that an `expect` line compares.
    Expected,
}

impl Role {
    /// True for the components of the state vector.
    pub fn is_state(self) -> bool {
        matches!(self, Role::Position | Role::Velocity | Role::FirstOrder)
    }
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
    /// Default of a parameter or size (the `Initial` kernel sets states; other arrays ignore it).
    pub default: f64,
    /// Values of a table, or defaults of a parameter with axes, row by row. Otherwise empty. All programs of a model share
    /// them.
    pub data: Arc<Vec<f64>>,
    /// Unit as written, without brackets.
    pub unit: Option<String>,
    /// Doc comment.
    pub doc: Option<String>,
    /// Source location of the declaration.
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
    /// `out` = outputs, then conserved, then expected quantities. `w` = y' if [`Program::outputs_read_rates`].
    Outputs,
}

impl KernelRole {
    /// True for roles whose `out` holds the values of a matrix on its pattern.
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
    /// `col_ptr[j]..col_ptr[j+1]` are the entries of column `j`; its length is the number of columns plus one.
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
    /// The loop nests of all roles; for each role, kernels that set precede kernels that add. Without index sets
    /// there is at most one for each role.
    pub kernels: Vec<Kernel>,
    /// Pattern of df/dy. This and the patterns below are empty in a program with index sets, where binding computes
    /// them ([`crate::nest::BoundProgram::matrix`]).
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

/// Constraints that were differentiated until they determined algebraic unknowns, and their lower derivatives:
/// functions of (t, y) that stay zero along a solution.
#[derive(Clone)]
pub struct Invariants {
    /// A program with the same arrays; f of some rows is one of these functions, and 0 in the others.
    pub program: Program,
    /// Groups of functions, in the order in which they are satisfied.
    pub stages: Vec<InvariantStage>,
    /// With sensitivities: the stages of the derivatives by each parameter.
    pub derived: Vec<InvariantStage>,
    /// The algebraic unknowns that act on the states that the functions of the last stage determine.
    pub unknowns: Vec<StateElement>,
    /// Algebraic unknowns in whose rows the equations were not differentiated.
    pub direct: Vec<StateElement>,
    /// The constraints: source location and number of differentiations.
    pub constraints: Vec<(Span, u32)>,
}

/// Derivatives of one stage (J. D. Pryce, BIT 41 (2001) 364). They depend on the states of this stage and of earlier
/// ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvariantStage {
    /// The elements whose rows hold the functions.
    pub rows: Vec<StateElement>,
    /// The states that these functions constrain.
    pub columns: Vec<StateElement>,
}

/// One element of the solver's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateElement {
    /// An array of states, or a scalar.
    pub array: ArrayId,
    /// Index in the array, row by row.
    pub position: usize,
}

/// An inconsistent program. Lowering never makes one, but a handwritten text form may be one.
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
    /// True if no kernel has loops and all positions are known: then the patterns are known too. Other programs must
    /// be bound before they run.
    pub fn is_scalar(&self) -> bool {
        self.arrays.iter().all(|a| a.axes.is_empty()) && self.kernels.iter().all(Kernel::is_scalar)
    }

    /// The kernels of a role, in the order in which they run.
    pub fn kernels_of(&self, role: KernelRole) -> impl Iterator<Item = &Kernel> {
        self.kernels.iter().filter(move |k| k.role == role)
    }

    /// The kernel of a role in a scalar program; in other programs, the first one.
    pub fn kernel(&self, role: KernelRole) -> Option<&Kernel> {
        self.kernels_of(role).next()
    }

    /// True if there is a kernel of this role.
    pub fn has(&self, role: KernelRole) -> bool {
        self.kernel(role).is_some()
    }

    /// True if the right-hand side does not depend on time.
    pub fn is_autonomous(&self) -> bool {
        !self.kernels_of(KernelRole::Rhs).any(|k| k.live().any(|(_, node)| node == Node::Time))
    }

    /// True if M depends on the state or on time.
    pub fn mass_varies(&self) -> bool {
        self.kernels_of(KernelRole::Mass).any(|k| k.varies(&self.arrays))
    }

    /// True if the `Outputs` kernel reads derivatives, which it receives as the direction `w`.
    pub fn outputs_read_rates(&self) -> bool {
        let reads = |(_, node)| matches!(node, Node::Direction(_));
        self.kernels_of(KernelRole::Outputs).any(|k| k.live().any(reads))
    }

    /// The pattern of the matrix that a role stores, in a program without index sets; for others, binding computes it.
    pub fn pattern(&self, role: KernelRole) -> Option<&Pattern> {
        match role {
            KernelRole::Jacobian => Some(&self.jacobian),
            KernelRole::ParameterJacobian => Some(&self.parameter_jacobian),
            KernelRole::Mass => self.mass.as_ref(),
            KernelRole::MassJacobian => Some(&self.mass_jacobian),
            _ => None,
        }
    }

    /// First and last index of an axis of a bound program.
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
