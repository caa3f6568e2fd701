//! A program's kernels as callable machine code.

use std::sync::{Arc, OnceLock};

use odec_ir::nest::BoundProgram;
use odec_ir::nest::bind::BoundMatrix;
use odec_ir::schedule::{Schedule, Step, Value};
use odec_ir::{KernelRole, Layout, Lowering, Program, expand};

use crate::code::{Buffers, Code};
use crate::function::Function;
use crate::looped::Looped;
use crate::{JitError, MAX_SCRATCH, MAX_SLOTS, Strategy, lower, pairs};

/// Number of roles of kernels.
pub(crate) const ROLES: usize = 11;

/// A program as machine code of this process. It does not change once made: any number of threads may call it, with
/// states and parameters of their own. The memory of the code is freed on drop.
///
/// Every kernel is checked at the start and compiled when it is first needed, or ahead of that by
/// [`Compiled::compile`]: an explicit method has no use for a Jacobian. Should the operating system refuse memory for
/// code once checks are past, the kernel is interpreted, with the same results; `compile` tells the reason.
///
/// The code of a program with index sets knows no extent. Such a program runs after [`Compiled::load`], and the kernel of
/// a matrix after [`Compiled::load_matrix`]; a clone shares the code and may be loaded with other extents.
///
/// A method that runs a kernel which the program does not have leaves `out` as it is.
///
/// # Panics
/// The methods that run a kernel panic if a slice is shorter or longer than documented: a mistake of the caller, not of
/// a model.
#[derive(Clone)]
pub struct Compiled {
    kernels: Arc<Kernels>,
    /// In a program of nests, instead of kernels.
    looped: Option<Box<Looped>>,
    n: usize,
    p_len: usize,
}

/// The kernels of a program, by role.
pub(crate) type Kernels = [Option<Compilable>; ROLES];

/// A kernel whose code is made once.
pub(crate) struct Compilable {
    pub(crate) schedule: Schedule,
    strategy: Strategy,
    code: OnceLock<Result<Code, JitError>>,
}

impl Compilable {
    pub(crate) fn code(&self) -> Result<&Code, &JitError> {
        self.code.get_or_init(|| Code::new(&self.schedule, self.strategy)).as_ref()
    }
}

impl Compiled {
    /// Checks every kernel of a program and makes it ready to compile; compiles the right-hand side.
    ///
    /// # Errors
    /// What no code can be written for; see [`JitError`].
    pub fn new(program: &Program) -> Result<Compiled, JitError> {
        Compiled::with(program, Strategy::default())
    }

    /// [`Compiled::new`] with another strategy than the default one: for measuring.
    ///
    /// # Errors
    /// As [`Compiled::new`].
    pub fn with(program: &Program, strategy: Strategy) -> Result<Compiled, JitError> {
        let mut kernels = [const { None }; ROLES];
        let (mut n, mut p_len, mut looped) = (0, 0, None);
        if !program.is_straight() {
            looped = Some(Box::new(Looped::new(program, strategy)?));
        } else {
            let layout = Layout::of(program);
            (n, p_len) = (layout.n, layout.p_len());
            for schedule in schedules(program, &layout, strategy)? {
                let role = schedule.role as usize;
                kernels[role] = Some(Compilable { schedule, strategy, code: OnceLock::new() });
            }
        }
        let compiled = Compiled { kernels: Arc::new(kernels), looped, n, p_len };
        compiled.compile(&[KernelRole::Rhs])?;
        Ok(compiled)
    }

    /// Takes the positions of a bound program in: from now on its kernels run at those extents. Matrices that were loaded
    /// before are forgotten. Does nothing for a program without index sets.
    ///
    /// # Errors
    /// [`JitError::NotBound`]: it is not that of this program, or leads to elements that do not exist.
    pub fn load(&mut self, bound: Arc<BoundProgram>) -> Result<(), JitError> {
        let Some(looped) = &mut self.looped else { return Ok(()) };
        looped.load(bound)?;
        (self.n, self.p_len) = looped.bound().map_or((0, 0), |bound| (bound.layout.n, bound.layout.p_len()));
        Ok(())
    }

    /// Takes the slots of a matrix of the loaded program in.
    ///
    /// # Errors
    /// As [`Compiled::load`].
    pub fn load_matrix(&mut self, role: KernelRole, matrix: Arc<BoundMatrix>) -> Result<(), JitError> {
        match &mut self.looped {
            Some(looped) => looped.load_matrix(role, matrix),
            None => Ok(()),
        }
    }

    /// Compiles the kernels of these roles now, as far as the program has them.
    ///
    /// # Errors
    /// The first failure of the code generator.
    pub fn compile(&self, roles: &[KernelRole]) -> Result<(), JitError> {
        for &role in roles {
            if let Some(kernel) = &self.kernels[role as usize] {
                kernel.code().map_err(JitError::clone)?;
            }
            if let Some(looped) = &self.looped {
                looped.compile(role)?;
            }
        }
        Ok(())
    }

    /// The kernel of this role with its code, compiled now if it was not; `None` where there is none, or with index sets.
    pub fn function(&self, role: KernelRole) -> Option<Function> {
        Function::of(&self.kernels, role)
    }

    /// Whether the program has a kernel of this role.
    pub fn has(&self, role: KernelRole) -> bool {
        self.kernels[role as usize].is_some() || self.looped.as_ref().is_some_and(|looped| looped.has(role))
    }

    /// Length of `out` of the kernel of this role; 0 if there is none, or if it has not been loaded.
    pub fn out_len(&self, role: KernelRole) -> usize {
        if let Some(looped) = &self.looped {
            return looped.out_len(role);
        }
        self.kernels[role as usize].as_ref().map_or(0, |kernel| kernel.schedule.out_len)
    }

    /// Number of states, the length of `y`.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Length of the parameter buffer: parameters, then staged values.
    pub fn p_len(&self) -> usize {
        self.p_len
    }

    /// Bytes of machine code made so far.
    pub fn code_bytes(&self) -> usize {
        let made = self.kernels.iter().flatten().filter_map(|kernel| kernel.code.get());
        let straight: usize = made.flatten().map(|code| code.bytes).sum();
        straight + self.looped.as_ref().map_or(0, |looped| looped.code_bytes())
    }

    /// Fills the staged part of the parameter buffer, of [`Compiled::p_len`] elements, from the parameters in it.
    pub fn prepare(&self, p: &mut [f64]) {
        if let Some(looped) = self.loaded() {
            assert_eq!(p.len(), self.p_len, "length of p");
            return looped.prepare(p);
        }
        let Some(kernel) = &self.kernels[KernelRole::Prepare as usize] else { return };
        assert_eq!(p.len(), self.p_len, "length of p");
        match kernel.code() {
            // SAFETY: the length was checked; this kernel reads parameters and writes staged values.
            Ok(code) => unsafe {
                let out = p.as_mut_ptr();
                code.call(Buffers { t: 0.0, y: out, p: out, w: out, out })
            },
            Err(_) => {
                let given = p.to_vec();
                interpret(&kernel.schedule, 0.0, &[], &given, &[], p);
            }
        }
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
        assert_eq!(w.len(), self.n, "length of w");
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
        assert_eq!(w.len(), self.n, "length of w");
        self.run(KernelRole::MassJacobian, t, Some(y), p, w, out);
    }

    /// d(M(t, y) w)/dt, `w` held fixed: n elements each.
    pub fn mass_time_derivative(&self, t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]) {
        assert_eq!(w.len(), self.n, "length of w");
        self.run(KernelRole::MassTimeDerivative, t, Some(y), p, w, out);
    }

    /// Outputs, then conserved, then expected quantities; `w` = y' (n elements) is read where
    /// [`Program::outputs_read_rates`].
    pub fn outputs(&self, t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]) {
        assert_eq!(w.len(), self.n, "length of w");
        self.run(KernelRole::Outputs, t, Some(y), p, w, out);
    }

    /// The program of nests, which has to be loaded.
    fn loaded(&self) -> Option<&Looped> {
        let looped = self.looped.as_deref()?;
        assert!(looped.bound().is_some(), "load a bound program before running it");
        Some(looped)
    }

    /// Runs a kernel; `y` is absent where the kernel reads none.
    fn run(&self, role: KernelRole, t: f64, y: Option<&[f64]>, p: &[f64], w: &[f64], out: &mut [f64]) {
        let looped = self.loaded();
        let kernel = self.kernels[role as usize].as_ref();
        if kernel.is_none() && !looped.is_some_and(|looped| looped.has(role)) {
            return;
        }
        let y = match y {
            Some(y) => {
                assert_eq!(y.len(), self.n, "length of y");
                y
            }
            None => &[],
        };
        assert_eq!(p.len(), self.p_len, "length of p");
        assert_eq!(out.len(), self.out_len(role), "length of out");
        if let Some(looped) = looped {
            return looped.run(role, t, y, p, w, out);
        }
        let Some(kernel) = kernel else { return };
        match kernel.code() {
            // SAFETY: the lengths were checked, and those of y and w that may be empty belong to kernels of which
            // `readable` made sure that they read none.
            Ok(code) => unsafe {
                code.call(Buffers { t, y: y.as_ptr(), p: p.as_ptr(), w: w.as_ptr(), out: out.as_mut_ptr() })
            },
            Err(_) => interpret(&kernel.schedule, t, y, p, w, out),
        }
    }
}

/// Every kernel, checked and in the order of its steps.
pub(crate) fn schedules(program: &Program, layout: &Layout, strategy: Strategy) -> Result<Vec<Schedule>, JitError> {
    let mut schedules = Vec::with_capacity(program.kernels.len());
    for kernel in &program.kernels {
        let role = kernel.role;
        let slots = layout.n.max(layout.p_len()).max(layout.out_len(program, role));
        if slots > MAX_SLOTS {
            return Err(JitError::TooManySlots { role, slots });
        }
        let mut schedule = Schedule::of(program, layout, &expand::expanded(kernel))?;
        pairs::beside(&mut schedule);
        readable(&schedule, layout.np)?;
        lower::check(&schedule)?;
        let values = strategy.cut(&schedule).scratch_len;
        if values > MAX_SCRATCH {
            return Err(JitError::TooManyLiveValues { role, values });
        }
        schedules.push(schedule);
    }
    Ok(schedules)
}

/// Refuses kernels that read what callers do not give them; `np` is the number of parameters.
fn readable(schedule: &Schedule, np: usize) -> Result<(), JitError> {
    use KernelRole::{Initial, MassJacobian, MassTimeDerivative, Outputs, Prepare, Tangent};
    let stateless = matches!(schedule.role, Prepare | Initial);
    let directed = matches!(schedule.role, Tangent | MassJacobian | MassTimeDerivative | Outputs);
    for value in &schedule.values {
        let given = match value {
            Value::State(_) => !stateless,
            Value::Direction(_) => directed,
            // Staged values are what `Prepare` writes, into the buffer that it reads.
            Value::Parameter(i) => schedule.role != Prepare || (*i as usize) < np,
            _ => true,
        };
        if !given {
            return Err(JitError::Malformed(format!("the {:?} kernel reads an input it is not given", schedule.role)));
        }
    }
    Ok(())
}

/// Does what the code of a schedule does.
fn interpret(schedule: &Schedule, t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]) {
    let mut values = Vec::with_capacity(schedule.values.len());
    for value in &schedule.values {
        values.push(match *value {
            Value::Constant(number) => number,
            Value::Time => t,
            Value::State(i) => y[i as usize],
            Value::Parameter(i) => p[i as usize],
            Value::Direction(i) => w[i as usize],
            Value::Call(op, args) => {
                let args = args.map(|arg| values[arg as usize]);
                debug_assert!(!matches!(op.0.lowering, Lowering::Expand(_)));
                (op.0.value)(&args[..usize::from(op.0.arity)])
            }
        });
    }
    for step in &schedule.steps {
        if let Step::Store { slot, value } = *step {
            out[slot as usize] = values[value as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use odec_ir::testing::{self, Shape};

    #[test]
    fn without_memory_for_code_a_kernel_is_interpreted() {
        for seed in 0..50 {
            let case = testing::case(seed, Shape { special: false, ..Shape::default() });
            let compiled = Compiled::new(&case.program).unwrap();
            let mut refused = Compiled::new(&case.program).unwrap();
            for kernel in Arc::get_mut(&mut refused.kernels).unwrap().iter_mut().flatten() {
                kernel.code = OnceLock::from(Err(JitError::Backend("no memory".to_string())));
            }
            assert!(refused.compile(&[KernelRole::Jacobian]).is_err());
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
