//! A program with its parameters, compiled or interpreted, as the `System` that solvers step. Both give the same bits.

use std::sync::Arc;

use odec_ir::interpret::{self, Inputs};
use odec_ir::layout::Layout;
use odec_ir::{KernelRole, Node, Program};
use odec_jit::{Compiled, JitError};
use odec_ode::method::Structure;
use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Mass, Shape, System};

use crate::elimination::Eliminations;
use crate::series::SeriesKernels;

/// What executes the kernels.
enum Backend {
    Jit(Box<Compiled>),
    Interpreter,
}

/// Which executor to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// Machine code.
    Jit,
    /// The reference interpreter.
    Interpret,
}

/// A program bound to values of its parameters.
pub struct Machine {
    program: Program,
    layout: Layout,
    backend: Backend,
    /// Parameters, then what is staged.
    p: Vec<f64>,
    pattern: Pattern,
    mass: BoundMass,
    autonomous: bool,
    eliminations: Arc<Eliminations>,
    series: SeriesKernels,
    /// Kernels that the program has: of a huge model some are left out, and what is missing must not pass for zero.
    has_jacobian: bool,
    has_time_derivative: bool,
}

/// The mass matrix at these parameters.
enum BoundMass {
    Identity,
    Constant(Pattern, Vec<f64>),
    Varying { pattern: Pattern, jacobian: Pattern },
}

impl Machine {
    /// Compiles what a method of this structure needs of `program`, and binds its parameters to their values (the
    /// arrays' defaults).
    pub fn new(program: Program, execution: Execution, needs: Structure) -> Result<Machine, JitError> {
        let layout = Layout::of(&program);
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
            Execution::Interpret => Backend::Interpreter,
        };
        let autonomous = program.kernel(KernelRole::Rhs).is_none_or(|k| !k.graph.nodes().contains(&Node::Time));
        let pattern = pattern_of(&program.jacobian);
        let mut p = vec![0.0; layout.np + layout.staged];
        for (k, array) in program.arrays.iter().enumerate() {
            if array.role == odec_ir::Role::Parameter {
                p[layout.parameter(odec_ir::ArrayId(k as u32))] = array.default;
            }
        }
        let has_jacobian = program.kernel(KernelRole::Jacobian).is_some();
        let has_time_derivative = program.kernel(KernelRole::TimeDerivative).is_some();
        let mut machine = Machine {
            has_jacobian,
            has_time_derivative,
            program,
            layout,
            backend,
            p,
            pattern,
            mass: BoundMass::Identity,
            autonomous,
            eliminations: Arc::new(Eliminations::new(execution)),
            series: SeriesKernels::new(),
        };
        machine.prepare();
        machine.bind_mass();
        Ok(machine)
    }

    fn prepare(&mut self) {
        match &self.backend {
            Backend::Jit(code) => code.prepare(&mut self.p),
            Backend::Interpreter => {
                let p = self.p.clone();
                let inputs = Inputs { t: 0.0, y: &[], p: &p, w: &[] };
                interpret::run_on(&self.program, &self.layout, KernelRole::Prepare, inputs, &mut self.p);
            }
        }
    }

    fn bind_mass(&mut self) {
        let Some(pattern) = self.program.mass.as_ref().map(pattern_of) else { return };
        if self.program.mass_varies() {
            self.mass = BoundMass::Varying { pattern, jacobian: pattern_of(&self.program.mass_jacobian) };
            return;
        }
        let mut values = vec![0.0; pattern.row_idx.len()];
        self.run_mass(0.0, &vec![0.0; self.layout.n], &mut values);
        self.mass = BoundMass::Constant(pattern, values);
    }

    fn run_mass(&self, t: f64, y: &[f64], values: &mut [f64]) {
        match &self.backend {
            Backend::Jit(code) => code.mass(t, y, &self.p, values),
            Backend::Interpreter => self.interpret(KernelRole::Mass, t, y, &[], values),
        }
    }

    fn interpret(&self, role: KernelRole, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) {
        interpret::run_on(&self.program, &self.layout, role, Inputs { t, y, p: &self.p, w }, out);
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Where things are in y and p.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The parameter buffer.
    pub fn parameters(&self) -> &[f64] {
        &self.p
    }

    /// The state at the start.
    pub fn initial(&self, t0: f64) -> Vec<f64> {
        let mut y = vec![0.0; self.layout.n];
        match &self.backend {
            Backend::Jit(code) => code.initial(t0, &self.p, &mut y),
            Backend::Interpreter => self.interpret(KernelRole::Initial, t0, &[], &[], &mut y),
        }
        y
    }

    /// Outputs, then conserved, then expected quantities. `w` is y', n values, which are looked at only where
    /// [`Program::outputs_read_rates`].
    pub fn outputs(&self, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) {
        match &self.backend {
            Backend::Jit(code) if code.has(KernelRole::Outputs) => code.outputs(t, y, &self.p, w, out),
            Backend::Jit(_) => {}
            Backend::Interpreter => self.interpret(KernelRole::Outputs, t, y, w, out),
        }
    }

    /// True when f does not depend on time.
    pub fn is_autonomous(&self) -> bool {
        self.autonomous
    }

    /// Which executor runs.
    pub fn execution(&self) -> Execution {
        match self.backend {
            Backend::Jit(_) => Execution::Jit,
            Backend::Interpreter => Execution::Interpret,
        }
    }

    /// Who writes the eliminations of its runs out as code, and keeps that code for further runs.
    pub fn eliminator(&self) -> odec_ode::problem::Code {
        odec_ode::problem::Code(self.eliminations.clone())
    }

    /// Bytes of machine code; `None` when interpreted.
    pub fn code_bytes(&self) -> Option<usize> {
        match &self.backend {
            Backend::Jit(code) => Some(code.code_bytes()),
            Backend::Interpreter => None,
        }
    }
}

/// The same pattern in the solver's type: the two crates know nothing of each other.
fn pattern_of(p: &odec_ir::Pattern) -> Pattern {
    Pattern { rows: p.rows, col_ptr: p.col_ptr.clone(), row_idx: p.row_idx.clone() }
}

impl System for Machine {
    fn shape(&self) -> Shape {
        Shape { n: self.layout.n, second: self.layout.second }
    }

    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        match &self.backend {
            Backend::Jit(code) => code.rhs(t, y, &self.p, f),
            Backend::Interpreter => self.interpret(KernelRole::Rhs, t, y, &[], f),
        }
        Ok(())
    }

    fn jacobian_pattern(&self) -> &Pattern {
        &self.pattern
    }

    fn jacobian(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        if !self.has_jacobian {
            return Err(EvalError::Fatal);
        }
        match &self.backend {
            Backend::Jit(code) => code.jacobian(t, y, &self.p, values),
            Backend::Interpreter => self.interpret(KernelRole::Jacobian, t, y, &[], values),
        }
        Ok(())
    }

    /// By the assembled Jacobian: no method of this version multiplies in its inner loop.
    fn jacobian_vector(&self, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        let mut values = vec![0.0; self.pattern.row_idx.len()];
        self.jacobian(t, y, &mut values)?;
        out.fill(0.0);
        for (col, &wj) in w.iter().enumerate() {
            let range = self.pattern.col_ptr[col] as usize..self.pattern.col_ptr[col + 1] as usize;
            for k in range {
                out[self.pattern.row_idx[k] as usize] += values[k] * wj;
            }
        }
        Ok(())
    }

    fn time_derivative(&self, t: f64, y: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out.fill(0.0);
        if !self.autonomous && !self.has_time_derivative {
            return Err(EvalError::Fatal);
        }
        if !self.autonomous {
            match &self.backend {
                Backend::Jit(code) => code.time_derivative(t, y, &self.p, out),
                Backend::Interpreter => self.interpret(KernelRole::TimeDerivative, t, y, &[], out),
            }
        }
        Ok(())
    }

    fn autonomous(&self) -> bool {
        self.autonomous
    }

    fn prepare_series(&self, order: usize) -> Result<(), String> {
        self.series.prepare(&self.program, self.execution(), order)
    }

    fn series(&self, t: f64, y: &[f64], order: usize, out: &mut [f64]) -> Result<(), EvalError> {
        // the kernel reads no direction, but takes one of this length
        let inputs = Inputs { t, y, p: &self.p, w: y };
        let found = self.series.run(&self.program, &self.layout, inputs, order, out);
        if found { Ok(()) } else { Err(EvalError::Fatal) }
    }

    fn mass(&self) -> Mass<'_> {
        match &self.mass {
            BoundMass::Identity => Mass::Identity,
            BoundMass::Constant(pattern, values) => Mass::Constant(pattern, values),
            BoundMass::Varying { pattern, jacobian } => Mass::StateDependent { pattern, jacobian },
        }
    }

    fn mass_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.run_mass(t, y, values);
        Ok(())
    }

    fn mass_jacobian(&self, t: f64, y: &[f64], w: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        match &self.backend {
            Backend::Jit(code) => code.mass_jacobian(t, y, &self.p, w, values),
            Backend::Interpreter => self.interpret(KernelRole::MassJacobian, t, y, w, values),
        }
        Ok(())
    }

    fn mass_time_derivative(&self, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        match &self.backend {
            Backend::Jit(code) => code.mass_time_derivative(t, y, &self.p, w, out),
            Backend::Interpreter => self.interpret(KernelRole::MassTimeDerivative, t, y, w, out),
        }
        Ok(())
    }
}
