//! The kernels of a program as callable machine code.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use odec_ir::interpret::{self, Inputs};
use odec_ir::nest::BoundProgram;
use odec_ir::nest::bind::{BoundMatrix, MAX_ENTRIES};
use odec_ir::{KernelRole, Program, broken};

use crate::code::{Buffers, Code};
use crate::function::Function;
use crate::loaded::{Loaded, Roles};
use crate::routine::{Routine, Source};
use crate::{JitError, Strategy};

/// Number of roles of kernels.
pub(crate) const ROLES: usize = 11;

/// A program as machine code of this process. It is immutable: any number of threads may call it, each with its own
/// states and parameters. Dropping it frees the memory of the code.
///
/// Every kernel is checked at the start and compiled on first use, or earlier by [`Compiled::compile`]: an explicit
/// method, for example, does not need the Jacobian. If the operating system refuses memory for code after the checks,
/// the kernel is interpreted, with the same results; `compile` returns the reason.
///
/// The code does not depend on extents. A program with index sets runs after [`Compiled::load`], and the kernel of a
/// matrix after [`Compiled::load_matrix`]; a clone shares the code and may be loaded with other extents. A program
/// without index sets is loaded from the start.
///
/// Without a kernel of its role, a method leaves `out` unchanged.
///
/// # Panics
/// The methods that run a kernel panic if a slice does not have the documented length: this is a mistake of the
/// caller, not of a model.
#[derive(Clone)]
pub struct Compiled {
    /// The program, for binding and interpretation.
    program: Arc<Program>,
    roles: Roles,
    loaded: Option<Loaded>,
}

/// The kernels of a role, and their code after it has been made.
pub(crate) struct RoleCode {
    /// Positions in [`Program::kernels`].
    pub(crate) numbers: Vec<usize>,
    pub(crate) routines: Vec<Routine>,
    /// True if they add to `out`, which starts at zero.
    adds: bool,
    strategy: Strategy,
    code: OnceLock<Result<Code, JitError>>,
}

impl RoleCode {
    fn of(source: &Source<'_>, program: &Program, role: KernelRole, strategy: Strategy) -> Result<RoleCode, JitError> {
        let numbers: Vec<usize> = (0..program.kernels.len()).filter(|&k| program.kernels[k].role == role).collect();
        let routines = numbers.iter().map(|&k| source.routine(&program.kernels[k]));
        let routines = routines.collect::<Result<Vec<Routine>, JitError>>()?;
        let adds = role.is_matrix() && routines.iter().any(|routine| routine.scalar.is_none());
        Ok(RoleCode { numbers, routines, adds, strategy, code: OnceLock::new() })
    }

    pub(crate) fn code(&self) -> Result<&Code, &JitError> {
        self.code.get_or_init(|| Code::new(&self.routines, self.strategy)).as_ref()
    }
}

thread_local! {
    /// Hoisted values of a running kernel. Each thread has a buffer, which grows to the largest need.
    static KEPT: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

/// Calls a function with the thread's buffer of at least this many elements.
fn with_buffer(length: usize, run: impl FnOnce(*mut f64)) {
    if length == 0 {
        return run(std::ptr::null_mut());
    }
    KEPT.with_borrow_mut(|kept| {
        if kept.len() < length {
            kept.resize(length, 0.0);
        }
        run(kept.as_mut_ptr());
    });
}

impl Compiled {
    /// Checks every kernel of a program and prepares its compilation; compiles the right-hand side.
    ///
    /// # Errors
    /// A kernel cannot be compiled; see [`JitError`].
    pub fn new(program: &Program) -> Result<Compiled, JitError> {
        Compiled::with(program, Strategy::default())
    }

    /// Like [`Compiled::new`], with a given strategy: for measurements.
    ///
    /// # Errors
    /// See [`Compiled::new`].
    pub fn with(program: &Program, strategy: Strategy) -> Result<Compiled, JitError> {
        let source = Source::new(program, strategy);
        let mut roles = [const { None }; ROLES];
        for role in program.kernels.iter().map(|kernel| kernel.role) {
            if roles[role as usize].is_none() {
                roles[role as usize] = Some(Arc::new(RoleCode::of(&source, program, role, strategy)?));
            }
        }
        let mut own = program.clone();
        own.arrays.iter_mut().for_each(|array| array.data = Vec::new().into());
        let mut compiled = Compiled { program: Arc::new(own), roles, loaded: None };
        if program.is_scalar() {
            let not_bound = |why: odec_ir::nest::bind::BindError| JitError::NotBound(why.to_string());
            let bound = Arc::new(BoundProgram::of(program).map_err(not_bound)?);
            compiled.load(Arc::clone(&bound))?;
            for role in program.kernels.iter().map(|kernel| kernel.role).filter(|role| role.is_matrix()) {
                let matrix = bound.matrix(program, role, MAX_ENTRIES).map_err(not_bound)?;
                compiled.load_matrix(role, Arc::new(matrix))?;
            }
        }
        compiled.compile(&[KernelRole::Rhs])?;
        Ok(compiled)
    }

    /// Loads the positions of a bound program: from now on its kernels run at these extents. Discards matrices that
    /// were loaded before.
    ///
    /// # Errors
    /// [`JitError::NotBound`]: it does not belong to this program, or refers to elements that do not exist.
    pub fn load(&mut self, bound: Arc<BoundProgram>) -> Result<(), JitError> {
        self.loaded = None;
        self.loaded = Some(Loaded::new(&self.program, &self.roles, bound)?);
        Ok(())
    }

    /// Loads the positions of the entries of a matrix of the loaded program.
    ///
    /// # Errors
    /// See [`Compiled::load`].
    pub fn load_matrix(&mut self, role: KernelRole, matrix: Arc<BoundMatrix>) -> Result<(), JitError> {
        let Some(loaded) = &mut self.loaded else { return Err(JitError::NotBound("nothing is loaded".to_string())) };
        loaded.load_matrix((&self.program, &self.roles), role, matrix)
    }

    /// Compiles the kernels of these roles now, if the program has them.
    ///
    /// # Errors
    /// The first error of the code generator.
    pub fn compile(&self, roles: &[KernelRole]) -> Result<(), JitError> {
        for code in roles.iter().filter_map(|&role| self.roles[role as usize].as_ref()) {
            code.code().map_err(JitError::clone)?;
        }
        Ok(())
    }

    /// The kernel of this role with its code, compiled if necessary; `None` if there is none, or with index sets.
    pub fn function(&self, role: KernelRole) -> Option<Function> {
        Function::of(role, self.roles[role as usize].as_ref()?)
    }

    /// True if the program has a kernel of this role.
    pub fn has(&self, role: KernelRole) -> bool {
        self.roles[role as usize].is_some()
    }

    /// True if the code of this role has been made.
    pub fn is_made(&self, role: KernelRole) -> bool {
        self.roles[role as usize].as_ref().is_some_and(|code| matches!(code.code.get(), Some(Ok(_))))
    }

    /// Length of `out` of the kernel of this role; 0 if there is none, or if it has not been loaded.
    pub fn out_len(&self, role: KernelRole) -> usize {
        let loaded = self.loaded.as_ref().filter(|_| self.has(role));
        loaded.map_or(0, |loaded| loaded.out_len(&self.program, role))
    }

    /// Number of states, the length of `y`; 0 if nothing is loaded.
    pub fn n(&self) -> usize {
        self.loaded.as_ref().map_or(0, |loaded| loaded.bound.layout.n)
    }

    /// Length of the parameter buffer: parameters, then staged values, sizes and tables; 0 if nothing is loaded.
    pub fn p_len(&self) -> usize {
        self.loaded.as_ref().map_or(0, |loaded| loaded.bound.layout.p_len())
    }

    /// Bytes of machine code made so far.
    pub fn code_bytes(&self) -> usize {
        let made = self.roles.iter().flatten().filter_map(|code| code.code.get());
        made.flatten().map(|code| code.bytes).sum()
    }

    /// Fills the staged part of the parameter buffer, of [`Compiled::p_len`] elements, from its parameters.
    pub fn prepare(&self, p: &mut [f64]) {
        let Some((code, loaded)) = self.found(KernelRole::Prepare) else { return };
        assert_eq!(p.len(), self.p_len(), "length of p");
        let Ok(machine) = code.code() else {
            let given = p.to_vec();
            return self.interpret(KernelRole::Prepare, Inputs { t: 0.0, y: &[], p: &given, w: &[] }, p);
        };
        let out = p.as_mut_ptr();
        // SAFETY: the length was checked; this kernel reads parameters and writes staged values, and planning has
        // checked that it does not read these.
        unsafe { call(machine, loaded, KernelRole::Prepare, Buffers { t: 0.0, y: out, p: out, w: out, out }) }
    }

    /// `y` (n elements) at the start of a run at time `t`, given the prepared parameter buffer.
    pub fn initial(&self, t: f64, p: &[f64], y: &mut [f64]) {
        self.run(KernelRole::Initial, t, None, p, &[], y);
    }

    /// f(t, y): n elements.
    pub fn rhs(&self, t: f64, y: &[f64], p: &[f64], out: &mut [f64]) {
        self.run(KernelRole::Rhs, t, Some(y), p, &[], out);
    }

    /// Values of df/dy on the program's pattern.
    pub fn jacobian(&self, t: f64, y: &[f64], p: &[f64], out: &mut [f64]) {
        self.run(KernelRole::Jacobian, t, Some(y), p, &[], out);
    }

    /// df/dy times `w`: n elements each.
    pub fn tangent(&self, t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]) {
        assert_eq!(w.len(), self.n(), "length of w");
        self.run(KernelRole::Tangent, t, Some(y), p, w, out);
    }

    /// df/dt: n elements.
    pub fn time_derivative(&self, t: f64, y: &[f64], p: &[f64], out: &mut [f64]) {
        self.run(KernelRole::TimeDerivative, t, Some(y), p, &[], out);
    }

    /// Values of df/dp on the program's pattern.
    pub fn parameter_jacobian(&self, t: f64, y: &[f64], p: &[f64], out: &mut [f64]) {
        self.run(KernelRole::ParameterJacobian, t, Some(y), p, &[], out);
    }

    /// Values of the mass matrix M(t, y) on the program's pattern.
    pub fn mass(&self, t: f64, y: &[f64], p: &[f64], out: &mut [f64]) {
        self.run(KernelRole::Mass, t, Some(y), p, &[], out);
    }

    /// Values of d(M(t, y) w)/dy, `w` (n elements) held fixed, on the program's pattern.
    pub fn mass_jacobian(&self, t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]) {
        assert_eq!(w.len(), self.n(), "length of w");
        self.run(KernelRole::MassJacobian, t, Some(y), p, w, out);
    }

    /// d(M(t, y) w)/dt, `w` held fixed: n elements each.
    pub fn mass_time_derivative(&self, t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]) {
        assert_eq!(w.len(), self.n(), "length of w");
        self.run(KernelRole::MassTimeDerivative, t, Some(y), p, w, out);
    }

    /// Outputs, then conserved, then expected quantities; `w` = y' (n elements) is read if
    /// [`Program::outputs_read_rates`].
    pub fn outputs(&self, t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]) {
        assert_eq!(w.len(), self.n(), "length of w");
        self.run(KernelRole::Outputs, t, Some(y), p, w, out);
    }

    /// The kernels of a role, and the loaded program.
    fn found(&self, role: KernelRole) -> Option<(&RoleCode, &Loaded)> {
        let code = self.roles[role as usize].as_deref()?;
        assert!(self.loaded.is_some(), "load a bound program before running it");
        Some((code, self.loaded.as_ref()?))
    }

    /// Runs the kernels of a role; `y` is absent if they do not read it.
    fn run(&self, role: KernelRole, t: f64, y: Option<&[f64]>, p: &[f64], w: &[f64], out: &mut [f64]) {
        let Some((code, loaded)) = self.found(role) else {
            // the parameters stay as they are, and an empty result is complete
            if role == KernelRole::Prepare || out.is_empty() {
                return;
            }
            broken("the program has no kernel of this role");
        };
        let y = match y {
            Some(y) => {
                assert_eq!(y.len(), self.n(), "length of y");
                y
            }
            None => &[],
        };
        assert_eq!(p.len(), self.p_len(), "length of p");
        assert_eq!(out.len(), loaded.out_len(&self.program, role), "length of out");
        let Ok(machine) = code.code() else {
            return self.interpret(role, Inputs { t, y, p, w }, out);
        };
        if code.adds {
            out.fill(0.0);
        }
        let buffers = Buffers { t, y: y.as_ptr(), p: p.as_ptr(), w: w.as_ptr(), out: out.as_mut_ptr() };
        // SAFETY: the lengths were checked, and those of y and w that may be empty belong to kernels of which planning made
        // sure that they read none.
        unsafe { call(machine, loaded, role, buffers) }
    }

    /// Interprets the kernels of a role.
    fn interpret(&self, role: KernelRole, inputs: Inputs<'_, f64>, out: &mut [f64]) {
        let Some(Loaded { bound, matrices, .. }) = &self.loaded else {
            odec_ir::broken("kernels of a program that is not loaded were run")
        };
        match &matrices[role as usize] {
            Some(matrix) => interpret::run_bound(&self.program, &**matrix, role, inputs, out),
            None => interpret::run_bound(&self.program, &**bound, role, inputs, out),
        }
    }
}

/// Runs the kernels of a role, each with its argument block.
///
/// # Safety
/// The buffers have the lengths for which the argument blocks were loaded; a shorter buffer is not read.
unsafe fn call(code: &Code, loaded: &Loaded, role: KernelRole, buffers: Buffers) {
    let (calls, length) = loaded.calls(role);
    with_buffer(length, |buffer| {
        for (routine, arguments) in calls {
            // SAFETY: as this function demands. The argument block was checked for these lengths, its offset tables
            // live as long as `loaded`, and the buffer belongs to this thread and is long enough for every kernel.
            unsafe { code.call(*routine, buffers, arguments.as_ptr(), buffer) }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use odec_ir::testing::{self, Shape};

    /// Kernels whose code cannot be made are interpreted, with the same results.
    #[test]
    fn without_memory_for_code_kernels_are_interpreted() {
        for seed in 0..200 {
            let case = testing::case(seed, Shape { special: false, ..Shape::default() });
            let compiled = Compiled::new(&case.program).unwrap();
            let mut refused = Compiled::new(&case.program).unwrap();
            for code in refused.roles.iter_mut().flatten() {
                let code = Arc::get_mut(code).unwrap();
                code.code = OnceLock::from(Err(JitError::Backend("no memory".to_string())));
            }
            let results = |compiled: &Compiled| {
                let mut p = case.p.clone();
                compiled.prepare(&mut p);
                let mut jacobian = vec![0.0; compiled.out_len(KernelRole::Jacobian)];
                compiled.jacobian(case.t, &case.y, &p, &mut jacobian);
                let mut tangent = vec![0.0; compiled.n()];
                compiled.tangent(case.t, &case.y, &p, &case.w, &mut tangent);
                let all = p.into_iter().chain(jacobian).chain(tangent);
                all.map(|x| if x.is_nan() { 0 } else { x.to_bits() }).collect::<Vec<u64>>()
            };
            assert_eq!(results(&compiled), results(&refused));
            assert_eq!(refused.code_bytes(), 0);
        }
    }
}
