//! A kernel planned for code generation: the order of its steps, its address sequences, and the parts it is split
//! into.

mod scalar;
mod simd;
mod split;
mod walks;

use std::sync::Arc;

use odec_ir::nest::arguments::{ArgumentBlock, Counter};
use odec_ir::nest::invariant::{self, HoistedValue};
use odec_ir::nest::schedule::{Body, Schedule, Step};
use odec_ir::nest::{AccessId, Element, Kernel};
use odec_ir::{KernelRole, Lowering, Node, NodeId, Op, Program, Role, expand};

pub(crate) use scalar::ScalarKernel;
use scalar::Scalars;
pub(crate) use simd::pair;
pub(crate) use split::MAX_REGISTER_STEPS;
pub(crate) use walks::{Origin, Site, Use};

use crate::abi::{P, Y};
use crate::{JitError, MAX_LOOPS, Strategy, libm};
use walks::Walks;

/// The inputs of routines.
pub(crate) struct Source<'p> {
    program: &'p Program,
    /// The positions of scalars, in a program without index sets.
    scalars: Option<Arc<Scalars>>,
    strategy: Strategy,
    /// True if callers pass a buffer for hoisted values.
    buffered: bool,
}

impl<'p> Source<'p> {
    /// For code whose callers give it a buffer.
    pub(crate) fn new(program: &'p Program, strategy: Strategy) -> Source<'p> {
        let scalars = program.is_scalar().then(|| Arc::new(Scalars::of(program)));
        Source { program, scalars, strategy, buffered: true }
    }

    /// For code whose callers have no buffer.
    pub(crate) fn unbuffered(program: &'p Program) -> Source<'p> {
        Source { buffered: false, ..Source::new(program, Strategy::default()) }
    }

    /// Plans a kernel of the program.
    ///
    /// # Errors
    /// A kernel that cannot be compiled.
    pub(crate) fn routine(&self, kernel: &Kernel) -> Result<Routine, JitError> {
        if let Some(scalars) = &self.scalars {
            scalar::check(self.program, &scalars.layout, kernel.role)?;
        }
        // The argument block belongs to the program's kernel, which binding uses: expansion may remove accesses.
        let arguments = ArgumentBlock::of(kernel);
        let mut kernel = expand::expanded(kernel);
        readable(self.program, &kernel)?;
        let (mut values, mut start) = (Vec::new(), Vec::new());
        if let Some(hoisted) = invariant::hoisted(&kernel).filter(|_| self.buffered) {
            start.extend(hoisted.before.into_iter().map(Step::Compute));
            start.extend(hoisted.loops.into_iter().map(|(l, nodes)| {
                let steps = nodes.into_iter().map(Step::Compute).collect();
                Step::Loop(Body { counter: Counter::Loop(l), reductions: Vec::new(), steps })
            }));
            (kernel, values) = (hoisted.nest, hoisted.values);
        }
        let mut schedule = Schedule::of(&kernel);
        let first = start.len();
        schedule.steps.splice(0..0, start);
        let scalar = match &self.scalars {
            Some(scalars) => {
                Some(ScalarKernel::of(self.program, scalars, &mut kernel, &mut schedule.steps, self.strategy)?)
            }
            None => None,
        };
        let steps = size(&schedule.steps, 0)?;
        let walks = Walks::of(self.program, &kernel, &arguments, &values);
        Ok(Routine { kernel, arguments, schedule, walks, steps, values, first, scalar })
    }
}

/// A kernel planned for code generation.
pub(crate) struct Routine {
    /// The expanded kernel, without the values that are hoisted out of its loops.
    pub(crate) kernel: Kernel,
    pub(crate) arguments: ArgumentBlock,
    pub(crate) schedule: Schedule,
    pub(crate) walks: Walks,
    /// Number of steps in all bodies.
    pub(crate) steps: usize,
    /// Hoisted values, which the code computes first and stores consecutively in a buffer.
    pub(crate) values: Vec<HoistedValue>,
    /// Number of steps at the start of the schedule that compute them.
    pub(crate) first: usize,
    /// For a program without index sets: what is known before the kernel runs.
    pub(crate) scalar: Option<ScalarKernel>,
}

impl Routine {
    /// The node of the store with this number.
    pub(crate) fn result(&self, store: u32) -> NodeId {
        match (self.kernel.stores.get(store as usize), &self.scalar) {
            (Some(store), _) => store.node,
            (None, Some(scalar)) => scalar.zero,
            (None, None) => odec_ir::broken("a step does a store that the kernel does not have"),
        }
    }

    /// The position in scratch of a node's value, if it is kept for later parts.
    pub(crate) fn scratch(&self, node: NodeId) -> Option<u32> {
        self.scalar.as_ref()?.parts.scratch(node)
    }

    /// True if the kernel reads the direction `w`.
    pub(crate) fn reads_direction(&self) -> bool {
        self.kernel.live().any(|(_, node)| matches!(node, Node::Direction(_)))
    }

    /// The hoisted value that an access reads.
    pub(crate) fn kept_at(&self, access: AccessId) -> Option<usize> {
        self.values.iter().position(|value| value.access == access)
    }

    /// Length of the buffer for hoisted values, from the words of a checked argument block.
    pub(crate) fn kept(&self, words: &[u64]) -> usize {
        let rounds = |value: &HoistedValue| words[self.arguments.rounds(Counter::Loop(value.over)) as usize] as usize;
        self.values.iter().map(rounds).sum()
    }

    /// True if the code reads the offset table of this walk.
    pub(crate) fn indices_used(&self, walk: u32) -> bool {
        let mut live = walks::live(&self.kernel, &self.values);
        live.any(|(_, node)| matches!(node, Node::Index(l) if self.walks.indices[l.0 as usize] == Some(walk)))
    }
}

/// The buffer that an input is read from.
pub(crate) fn input_buffer(role: Role) -> usize {
    match role {
        Role::Position | Role::Velocity | Role::FirstOrder => Y,
        _ => P,
    }
}

/// Number of steps in all bodies; refuses loops that are nested too deeply.
fn size(steps: &[Step], depth: usize) -> Result<usize, JitError> {
    if depth > MAX_LOOPS {
        return Err(JitError::TooManyLoops);
    }
    let mut sum = steps.len();
    for step in steps {
        if let Step::Loop(body) = step {
            sum += size(&body.steps, depth + 1)?;
        }
    }
    Ok(sum)
}

/// Refuses kernels that read data which callers do not pass, or that call unknown functions.
fn readable(program: &Program, kernel: &Kernel) -> Result<(), JitError> {
    for (id, node) in kernel.live() {
        match node {
            Node::Call(op, _) if op.lookup().is_some() => long_enough(program, kernel, id)?,
            Node::Read(element) | Node::Direction(element) => {
                let role = program.arrays[kernel.array(element).0 as usize].role;
                let known = matches!(element, Element::At(_)) || kernel.is_scalar();
                if !known || !is_given(kernel.role, role, matches!(node, Node::Direction(_))) {
                    let why = format!("the {:?} kernel reads an input it is not given", kernel.role);
                    return Err(JitError::Malformed(why));
                }
            }
            Node::Call(op, _) => callable(op)?,
            Node::Constant(_) | Node::Time | Node::Index(_) | Node::Reduce(..) => {}
        }
    }
    Ok(())
}

/// True if callers pass this array, or its direction, to a kernel of this role.
fn is_given(kernel: KernelRole, array: Role, direction: bool) -> bool {
    use KernelRole::{Initial, MassJacobian, MassTimeDerivative, Outputs, Prepare, Tangent};
    let directed = matches!(kernel, Tangent | MassJacobian | MassTimeDerivative | Outputs);
    match array {
        Role::Position | Role::Velocity | Role::FirstOrder => {
            !matches!(kernel, Prepare | Initial) && (directed || !direction)
        }
        Role::Parameter | Role::Size | Role::Table | Role::Discrete | Role::Mode => !direction,
        // `Prepare` writes these into the buffer that it reads.
        Role::Staged => !direction && kernel != Prepare,
        Role::Output | Role::Conserved | Role::Expected | Role::Side => false,
    }
}

/// Refuses a lookup in something other than a table, or in a table that is too short for the code.
fn long_enough(program: &Program, kernel: &Kernel, id: NodeId) -> Result<(), JitError> {
    let fits = kernel.graph.lookup(id).is_some_and(|(_, element, _, length)| {
        let array = &program.arrays[kernel.array(element).0 as usize];
        array.role == Role::Table && array.axes.is_empty() && array.data.len() >= length
    });
    if fits { Ok(()) } else { Err(JitError::Malformed("a lookup has no table of its length".to_string())) }
}

/// Refuses a builtin that calls a function outside the table of functions.
fn callable(op: Op) -> Result<(), JitError> {
    let name = match op.0.lowering {
        Lowering::Primitive(_) | Lowering::Lookup(_) => return Ok(()),
        Lowering::Libm(name) => name,
        Lowering::Expand(_) => {
            return Err(JitError::Malformed(format!("`{}` is not expanded", op.0.name)));
        }
    };
    let function = libm::find(name).ok_or_else(|| JitError::UnknownFunction(name.to_string()))?;
    let (takes, given) = (function.arity(), usize::from(op.0.arity));
    if takes != given {
        return Err(JitError::WrongArity { function: name.to_string(), takes, given });
    }
    Ok(())
}
