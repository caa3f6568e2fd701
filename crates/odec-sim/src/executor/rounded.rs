//! f of a bound program with bounds of its rounding error, by the interpreter.

use odec_ir::KernelRole;
use odec_ir::interpret::{Inputs, Interpreter};
use odec_ir::rounded::Rounded;

use super::Executor;

/// The right-hand side of an executor, at its parameters as they are, with bounds of the rounding error.
pub struct RoundedRhs<'a> {
    executor: &'a Executor,
    interpreter: Interpreter,
    /// The parameter buffer; what is staged in it carries the error of its making.
    p: Vec<Rounded>,
}

impl<'a> RoundedRhs<'a> {
    /// Of an executor.
    pub fn of(executor: &'a Executor) -> RoundedRhs<'a> {
        let interpreter = Interpreter::new(&executor.program);
        let given: Vec<Rounded> = executor.p.iter().map(|p| Rounded::exact(*p)).collect();
        let mut p = given.clone();
        let inputs = Inputs { t: Rounded::exact(0.0), y: &[], p: &given, w: &[] };
        if executor.program.has(KernelRole::Prepare) {
            interpreter.run(&executor.program, executor.bound.as_ref(), KernelRole::Prepare, inputs, &mut p);
        }
        RoundedRhs { executor, interpreter, p }
    }

    /// f(t, y), n values with their bounds; `y` counts as exact.
    pub fn at(&self, t: f64, y: &[f64]) -> Vec<Rounded> {
        let y: Vec<Rounded> = y.iter().map(|y| Rounded::exact(*y)).collect();
        let mut out = vec![Rounded::exact(0.0); y.len()];
        let inputs = Inputs { t: Rounded::exact(t), y: &y, p: &self.p, w: &[] };
        let executor = self.executor;
        self.interpreter.run(&executor.program, executor.bound.as_ref(), KernelRole::Rhs, inputs, &mut out);
        out
    }
}
