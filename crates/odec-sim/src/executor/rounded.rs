//! Interpreted f of a bound program over other number types: with bounds on its rounding error, and modulo a prime.

use odec_ir::KernelRole;
use odec_ir::interpret::{Inputs, Interpreter};
use odec_ir::number::Number;
use odec_ir::residue::Residue;
use odec_ir::rounded::Rounded;

use super::Executor;

/// The right-hand side of an executor over another number type, for its current parameters.
pub struct RhsOver<'a, T> {
    executor: &'a Executor,
    interpreter: Interpreter,
    /// The parameter buffer; its staged values are computed in this type.
    p: Vec<T>,
}

/// f with bounds on its rounding error.
pub type RoundedRhs<'a> = RhsOver<'a, Rounded>;
/// f modulo a prime.
pub type ExactRhs<'a> = RhsOver<'a, Residue>;

impl<'a, T: Number> RhsOver<'a, T> {
    /// The right-hand side of an executor over this number type.
    pub fn of(executor: &'a Executor) -> RhsOver<'a, T> {
        let interpreter = Interpreter::new(&executor.program);
        let given: Vec<T> = executor.p.iter().map(|p| T::constant(*p)).collect();
        let mut p = given.clone();
        let inputs = Inputs { t: T::constant(0.0), y: &[], p: &given, w: &[] };
        if executor.program.has(KernelRole::Prepare) {
            interpreter.run(&executor.program, executor.bound.as_ref(), KernelRole::Prepare, inputs, &mut p);
        }
        RhsOver { executor, interpreter, p }
    }

    /// f(t, y), n values.
    pub fn at(&self, t: f64, y: &[T]) -> Vec<T> {
        let mut out = vec![T::constant(0.0); y.len()];
        let inputs = Inputs { t: T::constant(t), y, p: &self.p, w: &[] };
        let executor = self.executor;
        self.interpreter.run(&executor.program, executor.bound.as_ref(), KernelRole::Rhs, inputs, &mut out);
        out
    }
}

impl RoundedRhs<'_> {
    /// f(t, y) at a state without rounding error.
    pub fn bounded(&self, t: f64, y: &[f64]) -> Vec<Rounded> {
        let y: Vec<Rounded> = y.iter().map(|y| Rounded::exact(*y)).collect();
        self.at(t, &y)
    }
}
