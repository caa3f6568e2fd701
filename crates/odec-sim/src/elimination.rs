//! Eliminations for the solver: written out by `odec-ir`, compiled or interpreted as the model is, and kept, so that a second run
//! compiles nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use odec_ir::elimination::{self, Field, MAX_OPERATIONS};
use odec_ir::interpret::{self, Inputs};
use odec_ir::layout::Layout;
use odec_ir::{KernelRole, Program};
use odec_jit::{Compiled, JitError};
use odec_ode::linear::{Elimination, Eliminator, Plan};

use crate::machine::Execution;

/// What tells plans apart.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    col_ptr: Vec<u32>,
    row_idx: Vec<u32>,
    rows: Vec<u32>,
    columns: Vec<u32>,
    complex: bool,
}

/// Most plans that are kept: a run has two (real and complex), and a few more where pivots vanish.
const MAX_KEPT: usize = 64;

/// Makes code of eliminations and keeps it.
pub struct Eliminations {
    execution: Execution,
    kept: Mutex<HashMap<Key, Option<Arc<dyn Elimination>>>>,
}

impl Eliminations {
    /// Nothing made yet.
    pub fn new(execution: Execution) -> Eliminations {
        Eliminations { execution, kept: Mutex::default() }
    }
}

impl Eliminator for Eliminations {
    fn compile(&self, plan: &Plan<'_>) -> Option<Arc<dyn Elimination>> {
        let key = Key {
            col_ptr: plan.pattern.col_ptr.clone(),
            row_idx: plan.pattern.row_idx.clone(),
            rows: plan.rows.to_vec(),
            columns: plan.columns.to_vec(),
            complex: plan.complex,
        };
        let mut kept = self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = kept.get(&key) {
            return known.clone();
        }
        let made = make(plan, self.execution);
        if kept.len() < MAX_KEPT {
            kept.insert(key, made.clone());
        }
        made
    }
}

fn make(plan: &Plan<'_>, execution: Execution) -> Option<Arc<dyn Elimination>> {
    let pattern = odec_ir::Pattern {
        rows: plan.pattern.rows,
        col_ptr: plan.pattern.col_ptr.clone(),
        row_idx: plan.pattern.row_idx.clone(),
    };
    let field = if plan.complex { Field::Complex } else { Field::Real };
    let written = elimination::Plan {
        pattern: &pattern,
        rows: plan.rows,
        columns: plan.columns,
        field,
        fused: odec_jit::fuses(),
    }
    .eliminate(MAX_OPERATIONS)?;
    let factors = written.factors;
    match execution {
        Execution::Jit => {
            let code = |program: &Program| -> Result<Compiled, JitError> {
                let code = Compiled::new(program)?;
                code.compile(&[KernelRole::Outputs])?;
                Ok(code)
            };
            let (factor, solve) = (code(&written.factor).ok()?, code(&written.solve).ok()?);
            Some(Arc::new(Machine { factor, solve, factors }))
        }
        Execution::Interpret => {
            let with_layout = |program: Program| {
                let layout = Layout::of(&program);
                (program, layout)
            };
            let (factor, solve) = (with_layout(written.factor), with_layout(written.solve));
            Some(Arc::new(Interpreted { factor, solve, factors }))
        }
    }
}

/// In machine code.
struct Machine {
    factor: Compiled,
    solve: Compiled,
    factors: usize,
}

impl Elimination for Machine {
    fn factors(&self) -> usize {
        self.factors
    }

    fn factor(&self, values: &[f64], factors: &mut [f64]) {
        self.factor.outputs(0.0, values, &[], values, factors);
    }

    fn solve(&self, factors: &[f64], b: &[f64], x: &mut [f64]) {
        self.solve.outputs(0.0, factors, b, factors, x);
    }
}

/// By the reference interpreter.
struct Interpreted {
    factor: (Program, Layout),
    solve: (Program, Layout),
    factors: usize,
}

impl Elimination for Interpreted {
    fn factors(&self) -> usize {
        self.factors
    }

    fn factor(&self, values: &[f64], factors: &mut [f64]) {
        let inputs = Inputs { t: 0.0, y: values, p: &[], w: &[] };
        interpret::run_on(&self.factor.0, &self.factor.1, KernelRole::Outputs, inputs, factors);
    }

    fn solve(&self, factors: &[f64], b: &[f64], x: &mut [f64]) {
        let inputs = Inputs { t: 0.0, y: factors, p: b, w: &[] };
        interpret::run_on(&self.solve.0, &self.solve.1, KernelRole::Outputs, inputs, x);
    }
}
