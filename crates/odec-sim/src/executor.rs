//! A program with its extents and parameters, compiled or interpreted, as the `System` for solvers. Both executors
//! give the same bits.

mod beyond;
mod bound_functions;
mod callback;
mod parameters;
mod rounded;

use std::sync::{Arc, Mutex, OnceLock};

use bound_functions::BoundFunctions;
use odec_ir::interpret::{Inputs, Interpreter};
use odec_ir::layout::Layout;
use odec_ir::nest::BoundProgram;
use odec_ir::nest::bind::{BindError, BoundMatrix, MAX_ENTRIES};
use odec_ir::number::Number;
use odec_ir::{KernelRole, Program, broken};
use odec_jit::{Compiled, Function, JitError};
use odec_ode::accelerated::Accelerated;
use odec_ode::invariants::SystemInvariants;
use odec_ode::method::Structure;
use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Jacobian, Mass, Shape, System};

use crate::elimination::Eliminations;
use crate::series::SeriesKernels;
use crate::steps::Steps;
use crate::timetable::{AnalysedTerms, Timetable, Transitions};

pub use parameters::ParameterMatrix;
pub use rounded::{ExactRhs, RoundedRhs};

/// The backend that executes the kernels.
#[derive(Clone)]
enum Backend {
    Jit(Box<Compiled>),
    Interpreter(Box<Interpreter>),
}

/// The requested executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// Machine code.
    Jit,
    /// The reference interpreter.
    Interpret,
}

/// The reason why a program cannot run.
#[derive(Clone, Debug, PartialEq)]
pub enum UnsuitableProgram {
    /// The program cannot be compiled.
    Code(JitError),
    /// Extents or tables do not fit the program.
    Extents(BindError),
}

impl From<JitError> for UnsuitableProgram {
    fn from(error: JitError) -> Self {
        UnsuitableProgram::Code(error)
    }
}

impl From<BindError> for UnsuitableProgram {
    fn from(error: BindError) -> Self {
        UnsuitableProgram::Extents(error)
    }
}

/// A program ready to be bound: its code, which does not depend on extents and parameters.
pub struct KernelCode {
    program: Program,
    backend: Backend,
    /// The code of [`Program::invariants`].
    invariants: Option<Box<KernelCode>>,
}

impl KernelCode {
    /// Compiles the kernels of `program` that a method of this structure needs; the others are compiled on first use.
    ///
    /// # Errors
    /// If a kernel cannot be compiled.
    pub fn new(program: Program, execution: Execution, needs: Structure) -> Result<KernelCode, JitError> {
        let backend = match execution {
            Execution::Jit => {
                let code = Compiled::new(&program)?;
                code.compile(&[KernelRole::Prepare, KernelRole::Initial, KernelRole::Outputs, KernelRole::Mass])?;
                if needs.jacobian {
                    code.compile(&[KernelRole::Jacobian, KernelRole::MassJacobian])?;
                }
                if needs.time_derivative {
                    code.compile(&[KernelRole::TimeDerivative])?;
                }
                Backend::Jit(Box::new(code))
            }
            Execution::Interpret => Backend::Interpreter(Box::new(Interpreter::new(&program))),
        };
        let ahead = Structure { jacobian: true, time_derivative: false };
        let invariants =
            program.invariants.as_ref().map(|kept| KernelCode::new(kept.program.clone(), execution, ahead));
        let invariants = invariants.transpose()?.map(Box::new);
        Ok(KernelCode { program, backend, invariants })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }
}

/// A matrix of the program: its pattern, and the positions of its entries.
#[derive(Clone)]
struct MatrixCode {
    pattern: Pattern,
    matrix: Arc<BoundMatrix>,
    /// The code loaded with these positions.
    code: Option<Box<Compiled>>,
}

/// A program bound to its extents and to values of its parameters.
pub struct Executor {
    program: Arc<Program>,
    layout: Layout,
    backend: Backend,
    /// Parameters, staged values, sizes and tables.
    p: Vec<f64>,
    /// Positions.
    bound: Arc<BoundProgram>,
    /// Bound on first use, because an explicit method does not need it.
    jacobian: OnceLock<Result<MatrixCode, UnsuitableProgram>>,
    /// df/dp, likewise.
    by_parameters: OnceLock<Option<ParameterMatrix>>,
    mass: BoundMass,
    calls: Calls,
    autonomous: bool,
    /// True without index sets.
    scalar: bool,
    eliminations: Arc<Eliminations>,
    series: Arc<SeriesKernels>,
    steps: Arc<Steps>,
    /// The terms that depend only on t, listed when a run asks for their pulses.
    timetable: OnceLock<Arc<Timetable>>,
    /// The arguments of terms of states that change rapidly, listed when a run asks for them.
    transitions: OnceLock<Option<Arc<Transitions>>>,
    /// Further results whose terms of t are analysed as well: the sides of conditions.
    watched: Option<Arc<(Program, Arc<BoundProgram>)>>,
    /// The pulses found last.
    analysed_terms: Mutex<AnalysedTerms>,
    /// Existing kernels: huge models lack some, and a missing kernel must not count as zero.
    has_jacobian: bool,
    has_time_derivative: bool,
    has_tangent: bool,
    /// Functions that stay zero along a solution.
    kept: Option<Box<BoundFunctions>>,
    /// See [`Accelerated::groups`].
    groups: usize,
}

/// The kernels that a step calls several times, looked up once; absent for programs with loops or interpreted kernels.
#[derive(Clone, Default)]
struct Calls {
    rhs: OnceLock<Option<Function>>,
    jacobian: OnceLock<Option<Function>>,
    time_derivative: OnceLock<Option<Function>>,
}

/// The mass matrix for the current parameters.
#[derive(Clone)]
enum BoundMass {
    Identity,
    Constant(Pattern, Vec<f64>),
    Varying { mass: MatrixCode, jacobian: MatrixCode },
}

impl Executor {
    /// Compiles and binds a program for a method with these requirements.
    ///
    /// # Errors
    /// The program cannot be compiled or bound.
    pub fn new(program: Program, execution: Execution, needs: Structure) -> Result<Executor, UnsuitableProgram> {
        Executor::bind(KernelCode::new(program, execution, needs)?, needs.jacobian)
    }

    /// Binds extents and parameters to their values (those of the program's arrays), and computes the positions that
    /// the nests need. The positions of the Jacobian are computed now if `jacobian`, otherwise on first use. A
    /// Jacobian with too many entries is not bound, see [`Jacobian::Products`].
    ///
    /// # Errors
    /// Extents or tables do not fit the model.
    pub fn bind(code: KernelCode, jacobian: bool) -> Result<Executor, UnsuitableProgram> {
        let KernelCode { program, mut backend, invariants } = code;
        let kept = invariants.map(|code| BoundFunctions::bind(*code, program.invariants.as_deref())).transpose()?;
        let bound = Arc::new(BoundProgram::of(&program)?);
        if let Backend::Jit(code) = &mut backend {
            code.load(bound.clone())?;
        }
        let layout = bound.layout.clone();
        let execution = match backend {
            Backend::Jit(_) => Execution::Jit,
            Backend::Interpreter(_) => Execution::Interpret,
        };
        let has = |role| program.has(role);
        let mut executor = Executor {
            has_jacobian: has(KernelRole::Jacobian),
            groups: 1,
            has_time_derivative: has(KernelRole::TimeDerivative),
            has_tangent: has(KernelRole::Tangent),
            autonomous: program.is_autonomous(),
            scalar: program.is_scalar(),
            p: layout.inputs(&program),
            program: Arc::new(program),
            layout,
            backend,
            bound,
            jacobian: OnceLock::new(),
            by_parameters: OnceLock::new(),
            mass: BoundMass::Identity,
            calls: Calls::default(),
            eliminations: Arc::new(Eliminations::new(execution)),
            series: Arc::new(SeriesKernels::new()),
            steps: Arc::default(),
            timetable: OnceLock::new(),
            transitions: OnceLock::new(),
            watched: None,
            analysed_terms: Mutex::default(),
            kept: kept.map(Box::new),
        };
        executor.stage();
        executor.bind_mass()?;
        if jacobian {
            match executor.bound_jacobian() {
                Ok(_) | Err(UnsuitableProgram::Extents(BindError::TooManyEntries { .. })) => {}
                Err(unfit) => return Err(unfit.clone()),
            }
        }
        Ok(executor)
    }

    /// Computes the staged values.
    fn stage(&mut self) {
        match &self.backend {
            Backend::Jit(code) => code.prepare(&mut self.p),
            Backend::Interpreter(_) => {
                let given = self.p.clone();
                let mut p = std::mem::take(&mut self.p);
                self.interpret(KernelRole::Prepare, None, Inputs { t: 0.0, y: &[], p: &given, w: &[] }, &mut p);
                self.p = p;
            }
        }
    }

    /// Binds a matrix.
    fn bind_matrix(&self, role: KernelRole) -> Result<MatrixCode, UnsuitableProgram> {
        let matrix = Arc::new(self.bound.matrix(&self.program, role, MAX_ENTRIES)?);
        let code = match &self.backend {
            Backend::Jit(code) => {
                let mut code: Box<Compiled> = code.clone();
                code.load_matrix(role, matrix.clone())?;
                Some(code)
            }
            Backend::Interpreter(_) => None,
        };
        Ok(MatrixCode { pattern: pattern_of(&matrix.pattern), matrix, code })
    }

    fn bound_jacobian(&self) -> Result<&MatrixCode, &UnsuitableProgram> {
        let bind = || self.bind_matrix(KernelRole::Jacobian);
        self.jacobian.get_or_init(bind).as_ref()
    }

    fn bind_mass(&mut self) -> Result<(), UnsuitableProgram> {
        if self.program.mass.is_none() && !self.program.has(KernelRole::Mass) {
            return Ok(());
        }
        let mass = self.bind_matrix(KernelRole::Mass)?;
        if self.program.mass_varies() {
            let jacobian = self.bind_matrix(KernelRole::MassJacobian)?;
            self.mass = BoundMass::Varying { mass, jacobian };
            return Ok(());
        }
        let mut values = vec![0.0; mass.pattern.row_idx.len()];
        self.run(KernelRole::Mass, Some(&mass), 0.0, &vec![0.0; self.layout.n], &[], &mut values);
        self.mass = BoundMass::Constant(mass.pattern, values);
        Ok(())
    }

    /// Runs a kernel; `matrix` is the matrix of its role.
    fn run(&self, role: KernelRole, matrix: Option<&MatrixCode>, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) {
        let code = match (&self.backend, matrix.and_then(|m| m.code.as_deref())) {
            (_, Some(code)) => code,
            (Backend::Jit(code), None) => code,
            (Backend::Interpreter(_), None) => {
                return self.interpret(role, matrix, Inputs { t, y, p: &self.p, w }, out);
            }
        };
        let p = &self.p;
        match role {
            KernelRole::Prepare => broken("the parameters are prepared when they are set"),
            KernelRole::Initial => code.initial(t, p, out),
            KernelRole::Rhs => code.rhs(t, y, p, out),
            KernelRole::Jacobian => code.jacobian(t, y, p, out),
            KernelRole::Tangent => code.tangent(t, y, p, w, out),
            KernelRole::TimeDerivative => code.time_derivative(t, y, p, out),
            KernelRole::ParameterJacobian => code.parameter_jacobian(t, y, p, out),
            KernelRole::Mass => code.mass(t, y, p, out),
            KernelRole::MassJacobian => code.mass_jacobian(t, y, p, w, out),
            KernelRole::MassTimeDerivative => code.mass_time_derivative(t, y, p, w, out),
            KernelRole::Outputs if code.has(KernelRole::Outputs) => code.outputs(t, y, p, w, out),
            KernelRole::Outputs => {}
        }
    }

    /// Runs a kernel that is looked up once; false if it has no code.
    #[inline]
    fn call(&self, found: &OnceLock<Option<Function>>, role: KernelRole, t: f64, y: &[f64], out: &mut [f64]) -> bool {
        let find = || match &self.backend {
            Backend::Jit(code) => code.function(role),
            Backend::Interpreter(_) => None,
        };
        match found.get_or_init(find) {
            Some(function) => {
                function.call(t, y, &self.p, &[], out);
                true
            }
            None => false,
        }
    }

    fn interpret(&self, role: KernelRole, matrix: Option<&MatrixCode>, inputs: Inputs<'_, f64>, out: &mut [f64]) {
        let Backend::Interpreter(interpreter) = &self.backend else { broken("machine code is not interpreted") };
        match matrix {
            Some(matrix) => interpreter.run(&self.program, matrix.matrix.as_ref(), role, inputs, out),
            None => interpreter.run(&self.program, self.bound.as_ref(), role, inputs, out),
        }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Positions in y and p.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The parameter buffer.
    pub fn parameters(&self) -> &[f64] {
        &self.p
    }

    /// The initial state.
    pub fn initial(&self, t0: f64) -> Vec<f64> {
        let mut y = vec![0.0; self.layout.n];
        self.start(t0, &mut y);
        y
    }

    /// Writes the initial state to `y`.
    pub fn start(&self, t0: f64, y: &mut [f64]) {
        self.run(KernelRole::Initial, None, t0, &[], &[], y);
    }

    /// A copy with the same code, positions and patterns, and its own parameters.
    pub fn fork(&self) -> Executor {
        Executor {
            program: self.program.clone(),
            layout: self.layout.clone(),
            backend: self.backend.clone(),
            p: self.p.clone(),
            bound: self.bound.clone(),
            jacobian: self.jacobian.clone(),
            by_parameters: self.by_parameters.clone(),
            mass: self.mass.clone(),
            calls: self.calls.clone(),
            eliminations: self.eliminations.clone(),
            series: self.series.clone(),
            steps: self.steps.clone(),
            timetable: self.timetable.clone(),
            transitions: self.transitions.clone(),
            watched: self.watched.clone(),
            analysed_terms: Mutex::default(),
            kept: self.kept.as_ref().map(|kept| Box::new(kept.fork())),
            ..*self
        }
    }

    /// Sets the number of groups of a program with sensitivities; see [`Accelerated::groups`].
    pub fn set_groups(&mut self, groups: usize) {
        self.groups = groups;
    }

    /// Changes parameters: `change` writes them into the parameter buffer. Values that depend on them are computed
    /// again.
    ///
    /// # Errors
    /// The entries of a mass matrix do not fit, as in [`Executor::bind`].
    pub fn change(&mut self, change: impl FnOnce(&mut [f64])) -> Result<(), UnsuitableProgram> {
        change(&mut self.p);
        self.stage();
        self.share_parameters();
        if matches!(self.mass, BoundMass::Constant(..)) {
            self.bind_mass()?;
        }
        Ok(())
    }

    /// Changes discretes and modes, like [`Executor::change`] for parameters. Mass matrices do not depend on them.
    pub(crate) fn switch(&mut self, change: impl FnOnce(&mut [f64])) {
        change(&mut self.p);
        self.stage();
        self.share_parameters();
    }

    /// Copies the parameters to the functions that stay zero along a solution.
    fn share_parameters(&mut self) {
        let Some(mut kept) = self.kept.take() else { return };
        kept.take_parameters(self);
        self.kept = Some(kept);
    }

    /// Writes outputs, then conserved, then expected quantities to `out`. `w` is y', n values, which is read only if
    /// [`Program::outputs_read_rates`].
    pub fn outputs(&self, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) {
        self.run(KernelRole::Outputs, None, t, y, w, out);
    }

    /// [`Executor::outputs`] over any number type, by an interpreter of the program.
    pub(crate) fn outputs_over<T: Number>(&self, interpreter: &Interpreter, inputs: Inputs<'_, T>, out: &mut [T]) {
        interpreter.run(&self.program, self.bound.as_ref(), KernelRole::Outputs, inputs, out);
    }

    /// True if df/dy needs no further code: a run has used it, or kernels are interpreted.
    pub fn has_made_jacobian(&self) -> bool {
        let made = match &self.backend {
            Backend::Jit(code) => code.is_made(KernelRole::Jacobian),
            Backend::Interpreter(_) => true,
        };
        made && matches!(self.jacobian.get(), Some(Ok(_)))
    }

    /// True if f does not depend on time.
    pub fn is_autonomous(&self) -> bool {
        self.autonomous
    }

    /// Which executor runs.
    pub fn execution(&self) -> Execution {
        match self.backend {
            Backend::Jit(_) => Execution::Jit,
            Backend::Interpreter(_) => Execution::Interpret,
        }
    }

    /// Announces many runs of this model: code is then made for fused steps of larger systems too. Results do not
    /// depend on it.
    pub fn expect_many_runs(&self) {
        self.steps.expect_many_runs();
        self.eliminations.expect_many_runs();
    }

    /// The eliminator, which caches its code for further runs.
    pub fn eliminator(&self) -> odec_ode::problem::LuCompiler {
        odec_ode::problem::LuCompiler(self.eliminations.clone())
    }

    /// Bytes of machine code; `None` when interpreted.
    pub fn code_bytes(&self) -> Option<usize> {
        match &self.backend {
            Backend::Jit(code) => Some(code.code_bytes()),
            Backend::Interpreter(_) => None,
        }
    }

    /// Number of entries of the Jacobian, if it is bound.
    pub fn jacobian_entries(&self) -> Option<usize> {
        self.jacobian.get()?.as_ref().ok().map(|bound| bound.pattern.row_idx.len())
    }

    /// Bytes of positions, entries and patterns that binding computed: the memory that grows with the extents, without
    /// that of the solver.
    pub fn bound_bytes(&self) -> usize {
        let lists = |lists: &[Vec<u32>]| lists.iter().map(|l| 4 * l.len()).sum::<usize>();
        let pattern = |rows: usize, columns: usize| 4 * (rows + columns);
        let positions = lists(&self.bound.tables);
        let jacobian = self.jacobian.get().and_then(|bound| bound.as_ref().ok()).map_or(0, |bound| {
            let own = pattern(bound.pattern.row_idx.len(), bound.pattern.col_ptr.len());
            own + lists(&bound.matrix.tables) + own
        });
        positions + jacobian + 8 * self.p.len()
    }
}

/// The pattern in the type of the solver. The two crates do not depend on each other.
pub(crate) fn pattern_of(p: &odec_ir::Pattern) -> Pattern {
    Pattern { rows: p.rows, col_ptr: p.col_ptr.clone(), row_idx: p.row_idx.clone() }
}

impl System for Executor {
    fn shape(&self) -> Shape {
        Shape { n: self.layout.n, second: self.layout.second }
    }

    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        if self.call(&self.calls.rhs, KernelRole::Rhs, t, y, f) {
            return Ok(());
        }
        self.run(KernelRole::Rhs, None, t, y, &[], f);
        Ok(())
    }

    fn jacobian(&self) -> Jacobian<'_> {
        match self.bound_jacobian() {
            Ok(bound) => Jacobian::Entries(&bound.pattern),
            Err(UnsuitableProgram::Extents(BindError::TooManyEntries { .. })) => Jacobian::Products,
            Err(_) => Jacobian::Missing,
        }
    }

    fn jacobian_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        if self.has_jacobian && self.call(&self.calls.jacobian, KernelRole::Jacobian, t, y, values) {
            return Ok(());
        }
        let bound = self.bound_jacobian().ok().filter(|_| self.has_jacobian).ok_or(EvalError::Fatal)?;
        self.run(KernelRole::Jacobian, Some(bound), t, y, &[], values);
        Ok(())
    }

    /// Uses the tangent kernel; a huge model without it uses the assembled Jacobian.
    fn jacobian_vector(&self, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        if self.has_tangent {
            self.run(KernelRole::Tangent, None, t, y, w, out);
            return Ok(());
        }
        let pattern = self.jacobian().pattern().ok_or(EvalError::Fatal)?;
        let mut values = vec![0.0; pattern.row_idx.len()];
        self.jacobian_values(t, y, &mut values)?;
        out.fill(0.0);
        for (col, &wj) in w.iter().enumerate() {
            let range = pattern.col_ptr[col] as usize..pattern.col_ptr[col + 1] as usize;
            for k in range {
                out[pattern.row_idx[k] as usize] += values[k] * wj;
            }
        }
        Ok(())
    }

    fn time_derivative(&self, t: f64, y: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        if !self.autonomous && self.has_time_derivative {
            let found = &self.calls.time_derivative;
            if self.call(found, KernelRole::TimeDerivative, t, y, out) {
                return Ok(());
            }
        }
        out.fill(0.0);
        if !self.autonomous {
            if !self.has_time_derivative {
                return Err(EvalError::Fatal);
            }
            self.run(KernelRole::TimeDerivative, None, t, y, &[], out);
        }
        Ok(())
    }

    fn autonomous(&self) -> bool {
        self.autonomous
    }

    fn mass(&self) -> Mass<'_> {
        match &self.mass {
            BoundMass::Identity => Mass::Identity,
            BoundMass::Constant(pattern, values) => Mass::Constant(pattern, values),
            BoundMass::Varying { mass, jacobian } => {
                Mass::StateDependent { pattern: &mass.pattern, jacobian: &jacobian.pattern }
            }
        }
    }

    fn mass_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        let BoundMass::Varying { mass, .. } = &self.mass else { return Err(EvalError::Fatal) };
        self.run(KernelRole::Mass, Some(mass), t, y, &[], values);
        Ok(())
    }

    fn mass_jacobian(&self, t: f64, y: &[f64], w: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        let BoundMass::Varying { jacobian, .. } = &self.mass else { return Err(EvalError::Fatal) };
        self.run(KernelRole::MassJacobian, Some(jacobian), t, y, w, values);
        Ok(())
    }

    fn invariants(&self) -> Option<SystemInvariants<'_>> {
        self.kept.as_deref().map(BoundFunctions::invariants)
    }

    fn accelerated(&self) -> Option<&dyn Accelerated> {
        Some(self)
    }
}
