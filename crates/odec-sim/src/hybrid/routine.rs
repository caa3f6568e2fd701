//! Additional results over the inputs of the model: a program of `Outputs` kernels, in machine code or interpreted.

use std::sync::{Arc, OnceLock};

use odec_ir::interpret::{Inputs, Interpreter};
use odec_ir::layout::Layout;
use odec_ir::nest::BoundProgram;
use odec_ir::number::Number;
use odec_ir::{Array, ArrayId, Element, KernelRole, Node, Program, Role};
use odec_jit::Compiled;

use super::interval::{Interval, bounding};
use super::states_read::StateSet;
use crate::executor::{Execution, UnsuitableProgram};

/// The states that results read are not looked for with more states and parameters than this.
const MOST_INPUTS: usize = 200_000;
/// Bounds are not looked for with more parameters and elements of tables than this, as each time all of them are read.
const MOST_PARAMETERS: usize = 10_000;

enum Backend {
    Jit(Box<Compiled>),
    Interpreter(Box<Interpreter>),
}

/// A program that is ready to run.
pub(super) struct Routine {
    program: Program,
    bound: Arc<BoundProgram>,
    backend: Backend,
    /// For bounds; `None` if it has results that intervals do not bound.
    bounding: OnceLock<Option<Interpreter>>,
}

impl Routine {
    /// Compiles and binds.
    ///
    /// # Errors
    /// A program that cannot be compiled or bound.
    pub fn new(program: Program, execution: Execution) -> Result<Routine, UnsuitableProgram> {
        let bound = Arc::new(BoundProgram::of(&program)?);
        let backend = match execution {
            Execution::Jit => {
                let mut code = Compiled::new(&program)?;
                code.compile(&[KernelRole::Outputs])?;
                code.load(bound.clone())?;
                Backend::Jit(Box::new(code))
            }
            Execution::Interpret => Backend::Interpreter(Box::new(Interpreter::new(&program))),
        };
        Ok(Routine { program, bound, backend, bounding: OnceLock::new() })
    }

    /// Its positions.
    pub fn bound(&self) -> &Arc<BoundProgram> {
        &self.bound
    }

    fn layout(&self) -> &Layout {
        &self.bound.layout
    }

    /// True if a result may change with discretes or modes: it reads them, or values staged from them.
    pub fn is_switched(&self) -> bool {
        let switched = |role: Role| matches!(role, Role::Discrete | Role::Mode | Role::Staged);
        self.program.kernels.iter().any(|kernel| {
            let role = |element: Element| self.program.arrays[kernel.array(element).0 as usize].role;
            kernel.live().any(|(_, node)| matches!(node, Node::Read(element) if switched(role(element))))
        })
    }

    /// Length of the results.
    pub fn len(&self) -> usize {
        self.layout().outputs_len()
    }

    /// Positions of the elements of an array in the results.
    pub fn places(&self, array: ArrayId) -> std::ops::Range<usize> {
        let start = self.layout().output(array);
        start..start + self.layout().len(array)
    }

    /// Its results.
    pub fn results(&self) -> impl Iterator<Item = (ArrayId, &Array)> {
        self.program.arrays_of(Role::Output)
    }

    /// True if an array is one of the results.
    pub fn has(&self, array: ArrayId) -> bool {
        self.program.arrays.get(array.0 as usize).is_some_and(|array| array.role == Role::Output)
    }

    /// Runs it. `out` has [`Routine::len`] values.
    pub fn run(&self, t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]) {
        if out.is_empty() {
            return;
        }
        match &self.backend {
            Backend::Jit(code) => code.outputs(t, y, p, w, out),
            Backend::Interpreter(interpreter) => {
                interpreter.run(&self.program, self.bound.as_ref(), KernelRole::Outputs, Inputs { t, y, p, w }, out);
            }
        }
    }

    /// Bounds of its results for times and states in a box, into `out`; false if it has none.
    pub fn enclose(&self, t: Interval, y: &[Interval], p: &[f64], out: &mut Vec<Interval>) -> bool {
        if p.len() > MOST_PARAMETERS {
            return false;
        }
        let Some(interpreter) = self.bounding.get_or_init(|| bounding(&self.program)) else { return false };
        out.clear();
        out.resize(self.len(), Interval::ALL);
        let p: Vec<Interval> = p.iter().map(|x| Interval::constant(*x)).collect();
        let inputs = Inputs { t, y, p: &p, w: &[] };
        interpreter.run(&self.program, self.bound.as_ref(), KernelRole::Outputs, inputs, out);
        true
    }

    /// The states that each result reads, for `n` states; `None` if they are not known.
    pub fn states_read(&self, n: usize, p: &[f64]) -> Option<Vec<StateSet>> {
        if n + p.len() > MOST_INPUTS {
            return None;
        }
        let interpreter = self.bounding.get_or_init(|| bounding(&self.program)).as_ref()?;
        let none = StateSet::constant(0.0);
        let y: Vec<StateSet> = (0..n).map(StateSet::of).collect();
        let p: Vec<StateSet> = p.iter().map(|x| StateSet::constant(*x)).collect();
        let mut out = vec![none; self.len()];
        let inputs = Inputs { t: none, y: &y, p: &p, w: &[] };
        interpreter.run(&self.program, self.bound.as_ref(), KernelRole::Outputs, inputs, &mut out);
        Some(out)
    }
}
