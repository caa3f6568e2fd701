//! Fused steps of a model: written by `odec-ir`, compiled or interpreted like the model, and cached, so that a second
//! run compiles nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use odec_ir::interpret::{Inputs, Interpreter};
use odec_ir::layout::Layout;
use odec_ir::step::{MAX_NODES, explicit, rosenbrock};
use odec_ir::{KernelRole, Program};
use odec_jit::{Compiled, Function, Strategy};
use odec_ode::linear::{BACKWARD_ERROR, Diagonal, LinearReport, NEGLIGIBLE_RESIDUAL};
use odec_ode::method::rosenbrock::Tableau as Linearised;
use odec_ode::method::runge_kutta::Tableau;
use odec_ode::step::{FusedFormula, FusedStep};

use crate::executor::{Execution, pattern_of};

/// Code of a step is one function, however long.
const STRATEGY: Strategy = Strategy { whole: 2 * MAX_NODES, part: 2 * MAX_NODES, best: 2 * MAX_NODES };

/// Most nodes of a Rosenbrock step for a model that is run once, and asks for it when it has made many steps: compiling takes some 3 microseconds for each, and a step saves 0.1 to 0.2.
/// It gives the bits of a step over vectors, so that results do not depend on this.
const MAX_FOR_ONE_RUN: usize = 700;

/// How often an explicit fused step is requested before it is compiled, unless many runs follow. A run requests it at
/// its start and then every hundredth step; compiling takes as long as a few thousand steps save. Its bits are those
/// of the steps without it.
const PATIENCE: u32 = 80;

/// The step of one formula.
struct FormulaStep {
    formula: FusedFormula,
    /// How often it was requested before it was compiled.
    asked: u32,
    /// The limit of nodes that it was written with; 0 before it was tried.
    limit: usize,
    step: Option<Arc<dyn FusedStep>>,
}

/// Fused steps of one model by formula, compiled on request. A model has at most one for each method.
#[derive(Default)]
pub(crate) struct Steps {
    kept: Mutex<Vec<FormulaStep>>,
    many_runs: AtomicBool,
}

impl Steps {
    /// The step of a formula; `None` if the model is too large for it, or if it is not worth its code yet.
    pub(crate) fn of(
        &self,
        program: &Program,
        execution: Execution,
        formula: FusedFormula,
    ) -> Option<Arc<dyn FusedStep>> {
        let many = self.many_runs();
        let (limit, patience) = match formula {
            FusedFormula::Rosenbrock { .. } => (if many { MAX_NODES } else { MAX_FOR_ONE_RUN }, 0),
            FusedFormula::Explicit { .. } => (MAX_NODES, if many { 0 } else { PATIENCE }),
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|known| known.formula == formula).unwrap_or_else(|| {
            kept.push(FormulaStep { formula, asked: 0, limit: 0, step: None });
            kept.len() - 1
        });
        let known = &mut kept[place];
        if known.step.is_some() || known.limit >= limit {
            return known.step.clone();
        }
        known.asked = known.asked.saturating_add(1);
        if known.asked < patience {
            return None;
        }
        let step = written(program, formula, limit).and_then(|(step, linear)| executable(step, linear, execution));
        (known.limit, known.step) = (limit, step.clone());
        step
    }

    /// Whether [`Steps::expect_many_runs`] was said.
    pub(crate) fn many_runs(&self) -> bool {
        self.many_runs.load(Ordering::Relaxed)
    }

    /// Says that there will be many runs, so that code pays that a single run does not win back.
    pub(crate) fn expect_many_runs(&self) {
        self.many_runs.store(true, Ordering::Relaxed);
    }
}

/// The kernel, and the report of how it solves linear systems.
fn written(program: &Program, formula: FusedFormula, limit: usize) -> Option<(Program, Option<LinearReport>)> {
    match formula {
        FusedFormula::Explicit { tableau, fixed } => {
            let errors = if fixed { Vec::new() } else { estimates(tableau) };
            let Tableau { c, a, b, fsal, .. } = *tableau;
            let weights = explicit::ButcherTableau { c, a, b, errors: &errors, fsal };
            Some((explicit::step(program, &weights)?, None))
        }
        FusedFormula::Rosenbrock { tableau } => {
            if !program.is_scalar() {
                return None;
            }
            let diagonal = Diagonal::of(&pattern_of(&program.jacobian))?;
            let Linearised { gamma, alpha, gammas, a, c, m, error, .. } = *tableau;
            let step = rosenbrock::FusedStep {
                coefficients: rosenbrock::Coefficients { gamma, alpha, gammas, a, c, m, error: error.0 },
                order: &diagonal.order,
                bound: BACKWARD_ERROR,
                negligible: NEGLIGIBLE_RESIDUAL,
                limit,
                fused: odec_jit::fuses(),
            };
            Some((step.written(program)?, Some(diagonal.report())))
        }
    }
}

/// Weights of the error estimates.
fn estimates(tableau: &Tableau) -> Vec<Vec<f64>> {
    let pairs = [tableau.embedded, tableau.second];
    let difference = |(hat, _): (&[f64], u32)| tableau.b.iter().zip(hat).map(|(b, hat)| b - hat).collect();
    pairs.into_iter().flatten().map(difference).collect()
}

fn executable(step: Program, linear: Option<LinearReport>, execution: Execution) -> Option<Arc<dyn FusedStep>> {
    match execution {
        Execution::Jit => {
            let function = Compiled::with(&step, STRATEGY).ok()?.function(KernelRole::Outputs)?;
            Some(Arc::new(Native::new(function, linear)))
        }
        Execution::Interpret => {
            let (interpreter, length) = (Interpreter::new(&step), Layout::of(&step).outputs_len());
            Some(Arc::new(Interpreted { step, interpreter, length, linear }))
        }
    }
}

/// In machine code.
pub(crate) struct Native {
    function: Function,
    linear: Option<LinearReport>,
}

impl Native {
    /// For a step in machine code.
    pub(crate) fn new(function: Function, linear: Option<LinearReport>) -> Native {
        Native { function, linear }
    }
}

impl FusedStep for Native {
    fn run(&self, t: f64, kept: &[f64], p: &[f64], given: &[f64], out: &mut [f64]) {
        self.function.call(t, kept, p, given, out);
    }

    fn linear(&self) -> Option<LinearReport> {
        self.linear.clone()
    }
}

/// By the reference interpreter.
struct Interpreted {
    step: Program,
    interpreter: Interpreter,
    /// Length of the results.
    length: usize,
    linear: Option<LinearReport>,
}

impl FusedStep for Interpreted {
    fn run(&self, t: f64, kept: &[f64], p: &[f64], given: &[f64], out: &mut [f64]) {
        let inputs = Inputs { t, y: kept, p, w: given };
        self.interpreter.run_straight(&self.step, KernelRole::Outputs, inputs, &mut out[..self.length]);
    }

    fn linear(&self) -> Option<LinearReport> {
        self.linear.clone()
    }
}
