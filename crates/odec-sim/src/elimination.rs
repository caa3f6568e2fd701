//! Eliminations for the solver: written by `odec-ir`, compiled or interpreted like the model, and cached, so that a
//! second run compiles nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use odec_ir::elimination::{self, Field, MAX_OPERATIONS, Source};
use odec_ir::interpret::{Inputs, Interpreter};
use odec_ir::{KernelRole, Program};
use odec_jit::{Compiled, Function};
use odec_ode::linear::{Elimination, EliminationPlan, Eliminator, Origin, PatternCache};

use crate::bytecode::Bytecode;
use crate::executor::Execution;

/// Operations of a kernel up to which code is made before it is used. Making it takes about 24,000 instructions for each
/// operation, so longer kernels wait.
const AT_ONCE: usize = 150;
/// How often the list of operations of a longer kernel is interpreted before it is compiled, unless many runs follow.
/// Compiling takes as long as 2,000 to 2,500 passes. Many runs end before that, and the others lose less than what
/// compiling costs. The bits are the same.
const PATIENCE: u64 = 1_000;

/// The key of a plan in the cache.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    col_ptr: Vec<u32>,
    row_idx: Vec<u32>,
    rows: Vec<u32>,
    columns: Vec<u32>,
    complex: bool,
    origin: Option<Origin>,
}

/// Largest number of plans in the cache: a run has two (real and complex), and a few more if pivots vanish.
const MAX_KEPT: usize = 64;

/// Compiles eliminations and caches the code.
pub struct Eliminations {
    execution: Execution,
    many_runs: Arc<AtomicBool>,
    kept: Mutex<HashMap<Key, Option<Arc<dyn Elimination>>>>,
    cache: PatternCache,
}

impl Eliminations {
    /// Nothing made yet.
    pub fn new(execution: Execution) -> Eliminations {
        Eliminations { execution, many_runs: Arc::default(), kept: Mutex::default(), cache: PatternCache::default() }
    }

    /// Says that there will be many runs, so that code pays at once.
    pub(crate) fn expect_many_runs(&self) {
        self.many_runs.store(true, Ordering::Relaxed);
    }
}

impl Eliminator for Eliminations {
    fn cache(&self) -> &PatternCache {
        &self.cache
    }

    fn compile(&self, plan: &EliminationPlan<'_>) -> Option<Arc<dyn Elimination>> {
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
        let made = make(plan, self.execution, &self.many_runs);
        if kept.len() < MAX_KEPT {
            kept.insert(key, made.clone());
        }
        made
    }
}

/// The kernels of an elimination.
fn written(plan: &EliminationPlan<'_>) -> Option<elimination::Elimination> {
    let pattern = odec_ir::Pattern {
        rows: plan.pattern.rows,
        col_ptr: plan.pattern.col_ptr.clone(),
        row_idx: plan.pattern.row_idx.clone(),
    };
    let field = if plan.complex { Field::Complex } else { Field::Real };
    let source = match plan.origin {
        None => Source::Given,
        Some(Origin { jacobian, mass, unit }) => Source::IterationMatrix { jacobian, mass, unit: *unit },
    };
    elimination::PivotOrder {
        pattern: &pattern,
        source,
        rows: plan.rows,
        columns: plan.columns,
        field,
        fused: odec_jit::fuses(),
        bound: plan.bound,
    }
    .eliminate(MAX_OPERATIONS)
}

fn make(plan: &EliminationPlan<'_>, execution: Execution, many_runs: &Arc<AtomicBool>) -> Option<Arc<dyn Elimination>> {
    let written = written(plan)?;
    let factors = written.factors;
    let programs = [written.factor, written.solve, written.check];
    match execution {
        Execution::Jit => {
            let [factor, solve, check] = programs.map(|program| Kernel::of(program, many_runs));
            Some(Arc::new(Kernels { factor: factor?, solve: solve?, check: check?, factors }))
        }
        Execution::Interpret => {
            let prepared = |program: Program| {
                let interpreter = Interpreter::new(&program);
                (program, interpreter)
            };
            let [factor, solve, check] = programs.map(prepared);
            Some(Arc::new(Interpreted { factor, solve, check, factors }))
        }
    }
}

/// A kernel of an elimination.
enum Kernel {
    Code(Function),
    List(Box<ListedKernel>),
}

impl Kernel {
    fn of(program: Program, many_runs: &Arc<AtomicBool>) -> Option<Kernel> {
        let length = program.kernel(KernelRole::Outputs).map_or(0, |kernel| kernel.graph.len());
        if length <= AT_ONCE {
            compiled(&program).map(Kernel::Code)
        } else {
            ListedKernel::of(program, many_runs).map(|kernel| Kernel::List(Box::new(kernel)))
        }
    }

    fn run(&self, y: &[f64], p: &[f64], out: &mut [f64]) {
        match self {
            Kernel::Code(code) => code.call(0.0, y, p, &[], out),
            Kernel::List(kernel) => kernel.run(y, p, out),
        }
    }
}

fn compiled(program: &Program) -> Option<Function> {
    Compiled::new(program).ok()?.function(KernelRole::Outputs)
}

/// A longer kernel: the list of its operations until code pays, then machine code.
struct ListedKernel {
    program: Program,
    list: Bytecode,
    /// How often the list was interpreted.
    passes: AtomicU64,
    /// `None` inside where no code could be made.
    code: OnceLock<Option<Function>>,
    many_runs: Arc<AtomicBool>,
}

impl ListedKernel {
    fn of(program: Program, many_runs: &Arc<AtomicBool>) -> Option<ListedKernel> {
        let list = Bytecode::of(&program).ok()?;
        let (passes, code, many_runs) = (AtomicU64::new(0), OnceLock::new(), Arc::clone(many_runs));
        Some(ListedKernel { program, list, passes, code, many_runs })
    }

    fn run(&self, y: &[f64], p: &[f64], out: &mut [f64]) {
        match self.code() {
            Some(code) => code.call(0.0, y, p, &[], out),
            None => self.list.run(y, p, out),
        }
    }

    /// The code, once compiling pays.
    fn code(&self) -> Option<&Function> {
        if let Some(made) = self.code.get() {
            return made.as_ref();
        }
        let pays = self.many_runs.load(Ordering::Relaxed) || self.passes.fetch_add(1, Ordering::Relaxed) >= PATIENCE;
        if !pays {
            return None;
        }
        self.code.get_or_init(|| compiled(&self.program)).as_ref()
    }
}

/// The kernels of an elimination, each a list or machine code.
struct Kernels {
    factor: Kernel,
    solve: Kernel,
    check: Kernel,
    factors: usize,
}

impl Elimination for Kernels {
    fn factors(&self) -> usize {
        self.factors
    }

    fn factor(&self, values: &[f64], shift: &[f64], factors: &mut [f64]) {
        self.factor.run(values, shift, factors);
    }

    fn solve(&self, factors: &[f64], b: &[f64], x: &mut [f64]) {
        self.solve.run(factors, b, x);
    }

    fn check(&self, values: &[f64], others: &[f64], excess: &mut [f64]) {
        self.check.run(values, others, excess);
    }
}

/// By the reference interpreter.
struct Interpreted {
    factor: (Program, Interpreter),
    solve: (Program, Interpreter),
    check: (Program, Interpreter),
    factors: usize,
}

/// Runs the one kernel of a program.
fn interpreted((program, interpreter): &(Program, Interpreter), y: &[f64], p: &[f64], out: &mut [f64]) {
    interpreter.run_straight(program, KernelRole::Outputs, Inputs { t: 0.0, y, p, w: &[] }, out);
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

#[cfg(test)]
mod tests {
    use super::*;
    use odec_ode::linear::BACKWARD_ERROR;
    use odec_ode::pattern::Pattern;

    /// Numbers in [-1, 1) that follow from a state (SplitMix64).
    fn next(state: &mut u64) -> f64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((z ^ (z >> 27)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    #[test]
    fn lists_give_the_bits_of_machine_code_and_give_way_to_it() {
        for (n, complex) in [(40, false), (70, false), (40, true)] {
            let mut state = n as u64;
            let mut below = |bound: usize| ((next(&mut state) + 1.0) / 2.0 * bound as f64) as usize;
            let diagonal = (0..n).map(|i| (i, i));
            let beside: Vec<(usize, usize)> = (0..5 * n).map(|_| (below(n), below(n))).collect();
            let pattern = Pattern::from_positions(n, n, diagonal.chain(beside));
            let order: Vec<u32> = (0..n as u32).rev().collect();
            let plan = EliminationPlan {
                pattern: &pattern,
                rows: &order,
                columns: &order,
                complex,
                origin: None,
                bound: BACKWARD_ERROR,
            };
            let parts = if complex { 2 } else { 1 };
            let mut numbers = |count: usize| (0..count).map(|_| next(&mut state)).collect::<Vec<f64>>();
            let mut values = numbers(parts * pattern.entries());
            for (k, (i, j)) in pattern.positions().enumerate() {
                values[parts * k] += if i == j { 8.0 } else { 0.0 };
            }
            let b = numbers(parts * n);
            let results = |elimination: &dyn Elimination| {
                let (mut factors, mut x) = (vec![0.0; elimination.factors()], vec![0.0; parts * n]);
                elimination.factor(&values, &[], &mut factors);
                elimination.solve(&factors, &b, &mut x);
                let mut excess = vec![0.0; n];
                elimination.check(&values, &[&b[..], &x].concat(), &mut excess);
                [factors, x, excess].concat().iter().map(|x| x.to_bits()).collect::<Vec<u64>>()
            };
            let many = Arc::new(AtomicBool::new(false));
            let listed = make(&plan, Execution::Jit, &many).expect("an elimination");
            let as_list = results(&*listed);
            let interpreted = make(&plan, Execution::Interpret, &many).expect("an elimination");
            assert_eq!(as_list, results(&*interpreted), "n = {n}");
            many.store(true, Ordering::Relaxed);
            assert_eq!(as_list, results(&*listed), "n = {n}");
        }
    }

    #[test]
    fn a_run_that_is_long_enough_gets_code() {
        let n = 60;
        let positions = (0..n).flat_map(|i| (0..n).filter(move |j| (i + j) % 3 == 0 || i == *j).map(move |j| (i, j)));
        let pattern = Pattern::from_positions(n, n, positions);
        let order: Vec<u32> = (0..n as u32).collect();
        let plan = EliminationPlan {
            pattern: &pattern,
            rows: &order,
            columns: &order,
            complex: false,
            origin: None,
            bound: 1e-10,
        };
        let written = written(&plan).expect("an elimination");
        let mut factors = vec![0.0; written.factors];
        let kernel = ListedKernel::of(written.factor, &Arc::default()).expect("a list");
        let values: Vec<f64> = pattern.positions().map(|(i, j)| if i == j { 9.0 } else { 0.1 }).collect();
        let mut passes = 0u64;
        while kernel.code.get().is_none() {
            kernel.run(&values, &[], &mut factors);
            passes += 1;
            assert!(passes <= PATIENCE + 1, "{passes}");
        }
        assert_eq!(passes, PATIENCE + 1);
    }
}
