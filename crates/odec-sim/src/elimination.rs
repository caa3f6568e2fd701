//! Eliminations for the solver: written out by `odec-ir`, compiled or interpreted as the model is, and kept, so that a second run
//! compiles nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use odec_ir::elimination::{self, Field, MAX_OPERATIONS, Source};
use odec_ir::interpret::{self, Inputs};
use odec_ir::layout::Layout;
use odec_ir::{KernelRole, Program};
use odec_jit::{Compiled, Function};
use odec_ode::linear::{Elimination, Eliminator, Memory, Origin, Plan};

use crate::machine::Execution;

/// What tells plans apart.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    col_ptr: Vec<u32>,
    row_idx: Vec<u32>,
    rows: Vec<u32>,
    columns: Vec<u32>,
    complex: bool,
    origin: Option<Origin>,
}

/// Most plans that are kept: a run has two (real and complex), and a few more where pivots vanish.
const MAX_KEPT: usize = 64;

/// Makes code of eliminations and keeps it.
pub struct Eliminations {
    execution: Execution,
    kept: Mutex<HashMap<Key, Option<Arc<dyn Elimination>>>>,
    memory: Memory,
}

impl Eliminations {
    /// Nothing made yet.
    pub fn new(execution: Execution) -> Eliminations {
        Eliminations { execution, kept: Mutex::default(), memory: Memory::default() }
    }
}

impl Eliminator for Eliminations {
    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn compile(&self, plan: &Plan<'_>) -> Option<Arc<dyn Elimination>> {
        let key = Key {
            col_ptr: plan.pattern.col_ptr.clone(),
            row_idx: plan.pattern.row_idx.clone(),
            rows: plan.rows.to_vec(),
            columns: plan.columns.to_vec(),
            complex: plan.complex,
            origin: plan.origin.cloned(),
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
    let source = match plan.origin {
        None => Source::Given,
        Some(Origin { jacobian, mass, unit }) => Source::Shifted { jacobian, mass, unit: *unit },
    };
    let written = elimination::Plan {
        pattern: &pattern,
        source,
        rows: plan.rows,
        columns: plan.columns,
        field,
        fused: odec_jit::fuses(),
        bound: plan.bound,
    }
    .eliminate(MAX_OPERATIONS)?;
    let factors = written.factors;
    match execution {
        Execution::Jit => {
            let code = |program: &Program| Compiled::new(program).ok()?.function(KernelRole::Outputs);
            let [factor, solve, check] = [code(&written.factor)?, code(&written.solve)?, code(&written.check)?];
            Some(Arc::new(Machine { factor, solve, check, factors }))
        }
        Execution::Interpret => {
            let with_layout = |program: Program| {
                let layout = Layout::of(&program);
                (program, layout)
            };
            let [factor, solve, check] = [written.factor, written.solve, written.check].map(with_layout);
            Some(Arc::new(Interpreted { factor, solve, check, factors }))
        }
    }
}

/// In machine code.
struct Machine {
    factor: Function,
    solve: Function,
    check: Function,
    factors: usize,
}

impl Elimination for Machine {
    fn factors(&self) -> usize {
        self.factors
    }

    fn factor(&self, values: &[f64], shift: &[f64], factors: &mut [f64]) {
        self.factor.call(0.0, values, shift, &[], factors);
    }

    fn solve(&self, factors: &[f64], b: &[f64], x: &mut [f64]) {
        self.solve.call(0.0, factors, b, &[], x);
    }

    fn check(&self, values: &[f64], others: &[f64], excess: &mut [f64]) {
        self.check.call(0.0, values, others, &[], excess);
    }
}

/// By the reference interpreter.
struct Interpreted {
    factor: (Program, Layout),
    solve: (Program, Layout),
    check: (Program, Layout),
    factors: usize,
}

/// Runs the one kernel of a program.
fn interpreted((program, layout): &(Program, Layout), y: &[f64], p: &[f64], out: &mut [f64]) {
    interpret::run_on(program, layout, KernelRole::Outputs, Inputs { t: 0.0, y, p, w: &[] }, out);
}

impl Elimination for Interpreted {
    fn factors(&self) -> usize {
        self.factors
    }

    fn factor(&self, values: &[f64], shift: &[f64], factors: &mut [f64]) {
        interpreted(&self.factor, values, shift, factors);
    }

    fn solve(&self, factors: &[f64], b: &[f64], x: &mut [f64]) {
        interpreted(&self.solve, factors, b, x);
    }

    fn check(&self, values: &[f64], others: &[f64], excess: &mut [f64]) {
        interpreted(&self.check, values, others, excess);
    }
}
