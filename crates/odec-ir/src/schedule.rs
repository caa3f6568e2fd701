//! A kernel as the list of steps that a backend writes down: array elements resolved to positions in the buffers, dead
//! nodes gone, each value computed shortly before it is first stored, so that few are alive at a time.

use crate::builtin::{Lowering, Op};
use crate::graph::{Graph, Node, NodeId};
use crate::layout::Layout;
use crate::nest::{Element, Kernel};
use crate::program::{KernelRole, Program, Role};

/// A value of a [`Schedule`]. Operands have smaller positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Constant(f64),
    /// The independent variable.
    Time,
    /// `y[i]`
    State(u32),
    /// `p[i]`
    Parameter(u32),
    /// `w[i]`
    Direction(u32),
    /// A builtin that is a primitive or a function of the C library, applied to the first `arity` of these.
    Call(Op, [u32; 3]),
}

/// One step of a [`Schedule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Compute the call at this position of [`Schedule::values`].
    Compute(u32),
    /// `out[slot] = value`
    Store {
        /// Index in `out`.
        slot: u32,
        /// Position in [`Schedule::values`].
        value: u32,
    },
}

/// What a kernel does, in order.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// What it computes.
    pub role: KernelRole,
    /// Values; calls appear in the order in which they are computed.
    pub values: Vec<Value>,
    /// Every call once, every element of `out` at most once (all of them, except for `Prepare`).
    pub steps: Vec<Step>,
    /// Length of `y`.
    pub n: usize,
    /// Length of `p`.
    pub p_len: usize,
    /// Length of `out`.
    pub out_len: usize,
}

/// A program that contradicts itself, which lowering never makes but a text form by hand may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A store to an entry that is not in the pattern, or beyond `out`.
    NoSlot(KernelRole),
    /// A read of a quantity that is not an input, or a direction that is not a state.
    NotReadable(String),
    /// A builtin that expands into itself.
    NotExpanded(String),
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Malformed::NoSlot(role) => write!(f, "the {role:?} kernel stores to an element that does not exist"),
            Malformed::NotReadable(name) => write!(f, "`{name}` is read but is not an input"),
            Malformed::NotExpanded(name) => write!(f, "`{name}` still has to be expanded"),
        }
    }
}

impl std::error::Error for Malformed {}

const UNSEEN: u32 = u32::MAX;

impl Schedule {
    /// A kernel of this role that does nothing.
    pub fn empty(role: KernelRole) -> Schedule {
        Schedule { role, values: Vec::new(), steps: Vec::new(), n: 0, p_len: 0, out_len: 0 }
    }

    /// The schedule of a kernel that went through [`crate::expand`]. Elements of `out` that the kernel does not store
    /// are set to zero at the end, except the parameters in `Prepare`.
    pub fn of(program: &Program, layout: &Layout, kernel: &Kernel) -> Result<Schedule, Malformed> {
        let out_len = layout.out_len(program, kernel.role);
        let mut schedule = Schedule {
            role: kernel.role,
            values: Vec::new(),
            steps: Vec::new(),
            n: layout.n,
            p_len: layout.p_len(),
            out_len,
        };
        let mut position = vec![UNSEEN; kernel.graph.nodes().len()];
        let mut stored = vec![false; out_len];
        for store in &kernel.stores {
            let slot = layout.slot(program, kernel.role, store.target).filter(|&slot| slot < out_len);
            let slot = slot.ok_or(Malformed::NoSlot(kernel.role))?;
            let value = schedule.visit(program, layout, &kernel.graph, &mut position, store.node)?;
            schedule.steps.push(Step::Store { slot: slot as u32, value });
            stored[slot] = true;
        }
        if kernel.role != KernelRole::Prepare && stored.contains(&false) {
            let value = schedule.values.len() as u32;
            schedule.values.push(Value::Constant(0.0));
            let rest = stored.iter().enumerate().filter(|(_, stored)| !**stored);
            schedule.steps.extend(rest.map(|(slot, _)| Step::Store { slot: slot as u32, value }));
        }
        Ok(schedule)
    }

    /// Number of calls.
    pub fn calls(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, Step::Compute(_))).count()
    }

    /// Appends what a node needs, then the node, each once; gives its position.
    fn visit(
        &mut self,
        program: &Program,
        layout: &Layout,
        graph: &Graph,
        position: &mut [u32],
        root: NodeId,
    ) -> Result<u32, Malformed> {
        let mut stack = vec![(root, 0)];
        while let Some((id, next)) = stack.pop() {
            if position[id.0 as usize] != UNSEEN {
                continue;
            }
            let node = graph.nodes()[id.0 as usize];
            if let Some(&operand) = node.operands().get(next) {
                stack.push((id, next + 1));
                stack.push((operand, 0));
                continue;
            }
            let value = self.resolve(program, layout, node, position)?;
            position[id.0 as usize] = self.values.len() as u32;
            if matches!(value, Value::Call(..)) {
                self.steps.push(Step::Compute(self.values.len() as u32));
            }
            self.values.push(value);
        }
        Ok(position[root.0 as usize])
    }

    fn resolve(&self, program: &Program, layout: &Layout, node: Node, position: &[u32]) -> Result<Value, Malformed> {
        Ok(match node {
            Node::Constant(bits) => Value::Constant(f64::from_bits(bits)),
            Node::Time => Value::Time,
            Node::Read(Element::Scalar(array)) => {
                let read = &program.arrays[array.0 as usize];
                match read.role {
                    Role::Position | Role::Velocity | Role::FirstOrder => Value::State(layout.state(array) as u32),
                    Role::Parameter | Role::Staged | Role::Size | Role::Table => {
                        Value::Parameter(layout.parameter(array) as u32)
                    }
                    _ => return Err(Malformed::NotReadable(read.name.clone())),
                }
            }
            Node::Direction(Element::Scalar(array)) => {
                let read = &program.arrays[array.0 as usize];
                match read.role {
                    Role::Position | Role::Velocity | Role::FirstOrder => Value::Direction(layout.state(array) as u32),
                    _ => return Err(Malformed::NotReadable(read.name.clone())),
                }
            }
            // Loops have a schedule of their own: `nest::schedule`.
            Node::Index(_) | Node::Read(Element::At(_)) | Node::Direction(Element::At(_)) | Node::Fold(..) => {
                return Err(Malformed::NotReadable("an element of a loop".to_string()));
            }
            Node::Call(op, args) => {
                if matches!(op.0.lowering, Lowering::Expand(_)) {
                    return Err(Malformed::NotExpanded(op.0.name.to_string()));
                }
                Value::Call(op, args.map(|a| position[a.0 as usize]))
            }
        })
    }
}
