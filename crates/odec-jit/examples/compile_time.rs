//! Prints how long straight-line kernels of 100 to 100,000 operations take to compile and to run, for several strategies:
//! the table of `docs/dev/compile-time.md`. Run it with `--release`. Given files of `odec dump --stage ir`, it prints how
//! long each of their kernels takes to compile.

use std::time::Instant;

use odec_ir::builtin::{Op, find};
use odec_ir::{Array, ArrayId, Graph, Kernel, KernelRole, NodeId, Pattern, Program, Role, Span, Store, Target};
use odec_jit::{Compiled, Strategy};

/// States of the models.
const STATES: usize = 50;

/// Right-hand side of this many additions, subtractions, multiplications and divisions. `far`: operands come from any
/// earlier operation, so that many values are alive at a time; otherwise from the last ten operations, as in sums of
/// terms.
fn model(operations: usize, far: bool) -> Program {
    let mut seed = 1u64;
    let mut below = |n: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % n
    };
    let mut graph = Graph::new();
    let ops: Vec<Op> = ["add", "sub", "mul", "div"].iter().filter_map(|name| find(name)).collect();
    let mut pool: Vec<NodeId> = (0..STATES).map(|i| graph.read(ArrayId(i as u32))).collect();
    let mut made = 0;
    while made < operations {
        let reach = if far { pool.len() } else { pool.len().min(10) };
        let mut operand = || if below(4) == 0 { below(STATES) } else { pool.len() - 1 - below(reach) };
        let (a, b) = (pool[operand()], pool[operand()]);
        let before = graph.len();
        let node = graph.call(ops[below(ops.len())], &[a, b]);
        if graph.len() > before {
            made += 1;
            pool.push(node);
        }
    }
    // Results use all operations: each is the sum of a share of those that nothing else uses.
    let mut used = vec![false; graph.len()];
    for node in graph.nodes() {
        node.operands().iter().for_each(|a| used[a.0 as usize] = true);
    }
    let ends: Vec<NodeId> = pool.iter().copied().filter(|node| !used[node.0 as usize]).collect();
    let mut rows: Vec<NodeId> = (0..STATES).map(|i| graph.read(ArrayId(i as u32))).collect();
    for (k, &end) in ends.iter().enumerate() {
        rows[k * STATES / ends.len()] = graph.add(rows[k * STATES / ends.len()], end);
    }
    let array = |i: usize| Array {
        name: format!("x{i}"),
        role: Role::FirstOrder,
        axes: Vec::new(),
        default: 0.0,
        data: Vec::new().into(),
        unit: None,
        doc: None,
        span: Span::default(),
    };
    let stores = rows.iter().enumerate();
    let stores = stores.map(|(i, &node)| Store { target: Target::set(ArrayId(i as u32)), node }).collect();
    Program {
        axes: Vec::new(),
        extents: Vec::new(),
        name: "straight".to_string(),
        arrays: (0..STATES).map(array).collect(),
        kernels: vec![Kernel::scalar(KernelRole::Rhs, graph, stores)],
        jacobian: Pattern::default(),
        parameter_jacobian: Pattern::default(),
        mass: None,
        mass_jacobian: Pattern::default(),
        invariants: None,
    }
}

/// Least milliseconds of a few compilations, least microseconds of many calls, bytes of code.
fn measure(program: &Program, strategy: Strategy, operations: usize) -> Result<(f64, f64, usize), odec_jit::JitError> {
    let repetitions = (20_000 / operations).clamp(2, 50);
    let (mut compile, mut call, mut bytes) = (f64::INFINITY, f64::INFINITY, 0);
    for _ in 0..repetitions {
        let start = Instant::now();
        let compiled = Compiled::with(program, strategy)?;
        compile = compile.min(start.elapsed().as_secs_f64() * 1e3);
        bytes = compiled.code_bytes();
        let (y, mut out) = (vec![1.25; STATES], vec![0.0; STATES]);
        let calls = (1_000_000 / operations).max(5);
        for _ in 0..5 {
            let start = Instant::now();
            (0..calls).for_each(|_| compiled.rhs(0.0, &y, &[], &mut out));
            call = call.min(start.elapsed().as_secs_f64() * 1e6 / calls as f64);
        }
    }
    Ok((compile, call, bytes))
}

/// Prints the milliseconds of the first compilation in this process and the least of many, kernel by kernel.
fn measure_file(file: &str) -> Result<(), Box<dyn std::error::Error>> {
    const ROLES: [KernelRole; 9] = [
        KernelRole::Rhs,
        KernelRole::Jacobian,
        KernelRole::TimeDerivative,
        KernelRole::Prepare,
        KernelRole::Initial,
        KernelRole::Outputs,
        KernelRole::Mass,
        KernelRole::Tangent,
        KernelRole::ParameterJacobian,
    ];
    let text = std::fs::read_to_string(file)?;
    let program = Program::parse(&text)?;
    let milliseconds = |start: Instant| start.elapsed().as_secs_f64() * 1e3;
    let mut first = [0.0; ROLES.len()];
    let mut least = [f64::INFINITY; ROLES.len()];
    let mut bytes = [0; ROLES.len()];
    for repetition in 0..50 {
        let start = Instant::now();
        let compiled = Compiled::new(&program)?;
        let mut elapsed = milliseconds(start);
        let mut before = 0;
        for (i, role) in ROLES.iter().enumerate() {
            let start = Instant::now();
            compiled.compile(&[*role])?;
            elapsed += milliseconds(start);
            least[i] = least[i].min(elapsed);
            if repetition == 0 {
                first[i] = elapsed;
            }
            (bytes[i], before) = (compiled.code_bytes() - before, compiled.code_bytes());
            elapsed = 0.0;
        }
    }
    for (i, role) in ROLES.iter().enumerate().filter(|(i, _)| bytes[*i] > 0) {
        println!("| {} | {role:?} | {:.3} | {:.3} | {} |", program.name, first[i], least[i], bytes[i]);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if !files.is_empty() {
        println!("| model | kernel | first, ms | least, ms | code, bytes |\n|---|---|---|---|---|");
        return files.iter().try_for_each(|file| measure_file(file));
    }
    const ALL: usize = usize::MAX;
    let whole = |best| Strategy { whole: ALL, part: ALL, best };
    let cut = |part, best| Strategy { whole: part, part, best };
    let strategies = [
        ("default", Strategy::default()),
        ("one function, backtracking", whole(ALL)),
        ("one function, single pass", whole(0)),
        ("pieces of 250, backtracking", cut(250, ALL)),
        ("pieces of 500, backtracking", cut(500, ALL)),
        ("pieces of 250, single pass", cut(250, 0)),
        ("pieces of 500, single pass", cut(500, 0)),
        ("pieces of 2000, single pass", cut(2000, 0)),
    ];
    println!("| operands | operations | strategy | compile, ms | call, us | code, bytes |\n|---|---|---|---|---|---|");
    for far in [false, true] {
        for operations in [100, 1_000, 10_000, 100_000] {
            let program = model(operations, far);
            for (name, strategy) in strategies {
                // Worse than linear: minutes at the largest size.
                if strategy.whole == ALL && strategy.best == ALL && operations > 10_000 {
                    continue;
                }
                let (compile, call, bytes) = measure(&program, strategy, operations)?;
                let operands = if far { "far" } else { "near" };
                println!("| {operands} | {operations} | {name} | {compile:.2} | {call:.3} | {bytes} |");
            }
        }
    }
    Ok(())
}
