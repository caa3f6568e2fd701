//! Features for hosts, not for solvers: derivatives with respect to parameters, and kernels as C functions.

use odec_ir::KernelRole;
use odec_ir::derive::Columns;
use odec_jit::Function;
use odec_ode::pattern::Pattern;

use super::{Backend, Executor, MatrixCode, UnsuitableProgram};

/// The matrix of derivatives of f with respect to the parameters, bound to the extents of an executor.
#[derive(Clone)]
pub struct ParameterMatrix(MatrixCode);

impl ParameterMatrix {
    /// The pattern: a row for each row of f, a column for each parameter in [`Executor::parameters`].
    pub fn pattern(&self) -> &Pattern {
        &self.0.pattern
    }
}

impl Executor {
    /// Binds df/dp; `None` for a program without it.
    ///
    /// # Errors
    /// The matrix has too many entries or cannot be compiled.
    pub fn by_parameters(&self) -> Result<Option<ParameterMatrix>, UnsuitableProgram> {
        if !self.program.has(KernelRole::ParameterJacobian) {
            return Ok(None);
        }
        self.bind_matrix(KernelRole::ParameterJacobian).map(|matrix| Some(ParameterMatrix(matrix)))
    }

    /// Like [`Executor::by_parameters`], bound on first use; `None` if it cannot be bound.
    pub(crate) fn kept_by_parameters(&self) -> Option<&ParameterMatrix> {
        self.by_parameters.get_or_init(|| self.by_parameters().ok().flatten()).as_ref()
    }

    /// Computes the entries of df/dp; `of` was bound by this executor or by one that it was forked from.
    pub fn parameter_derivatives(&self, of: &ParameterMatrix, t: f64, y: &[f64], values: &mut [f64]) {
        self.run(KernelRole::ParameterJacobian, Some(&of.0), t, y, &[], values);
    }

    /// Derivatives of initial values and outputs, with respect to one variable at a time.
    pub(crate) fn derivatives(&self) -> Columns<'_> {
        Columns::new(&self.program, &self.bound)
    }

    /// A kernel as a C function, if it has no loops and has code. It takes [`Executor::parameters`].
    pub fn function(&self, role: KernelRole) -> Option<Function> {
        match &self.backend {
            Backend::Jit(code) => code.function(role),
            Backend::Interpreter(_) => None,
        }
    }
}
