//! Machine code of nests gives the bits of the interpreter, for every extent with the same code.

use std::sync::Arc;

use crate::fuzz::{Seeds, with_seed};
use crate::share::Share;
use odec_ir::interpret::{self, Inputs};
use odec_ir::nest::bind::{BoundMatrix, MAX_ENTRIES, Word};
use odec_ir::nest::{Affine, BoundProgram, Element, Kernel, Loop, LoopId, ReduceOp, Region, Space, Store, Target};
use odec_ir::testing::models::{self, MODELS};
use odec_ir::testing::{NestShape, nest_inputs, nest_program};
use odec_ir::{ArrayId, Graph, KernelRole, Node, Program, Span, derive};
use odec_jit::{Compiled, JitError, MAX_LOOPS};

/// Every role of a program of nests but `Prepare`.
const ROLES: [KernelRole; 7] = [
    KernelRole::Rhs,
    KernelRole::Jacobian,
    KernelRole::Initial,
    KernelRole::Tangent,
    KernelRole::TimeDerivative,
    KernelRole::ParameterJacobian,
    KernelRole::Outputs,
];

/// Equal bits, or both NaN.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn run(compiled: &Compiled, role: KernelRole, t: f64, [y, p, w]: [&[f64]; 3], out: &mut [f64]) {
    match role {
        KernelRole::Rhs => compiled.rhs(t, y, p, out),
        KernelRole::Jacobian => compiled.jacobian(t, y, p, out),
        KernelRole::Initial => compiled.initial(t, p, out),
        KernelRole::Tangent => compiled.tangent(t, y, p, w, out),
        KernelRole::TimeDerivative => compiled.time_derivative(t, y, p, out),
        KernelRole::ParameterJacobian => compiled.parameter_jacobian(t, y, p, out),
        KernelRole::Outputs => compiled.outputs(t, y, p, w, out),
        _ => panic!("{role:?}"),
    }
}

/// Counts of comparisons.
#[derive(Default)]
struct Count {
    results: usize,
    finite: usize,
    entries: usize,
}

/// Loads a program at its extents and compares every role at an input.
fn compare(compiled: &mut Compiled, program: &Program, inputs: (f64, Vec<f64>, Vec<f64>, Vec<f64>), count: &mut Count) {
    let name = &program.name;
    let bound = Arc::new(BoundProgram::of(program).unwrap());
    compiled.load(Arc::clone(&bound)).unwrap();
    assert_eq!((compiled.n(), compiled.p_len()), (bound.layout.n, bound.layout.p_len()));
    let (t, y, given, w) = inputs;
    let mut p = given.clone();
    let read = Inputs { t: 0.0, y: &[], p: &given, w: &[] };
    interpret::run_bound(program, &*bound, KernelRole::Prepare, read, &mut p);
    let mut prepared = given;
    compiled.prepare(&mut prepared);
    assert!(p.iter().zip(&prepared).all(|(a, b)| same(*a, *b)), "{name}: prepare");
    for role in ROLES {
        if !compiled.has(role) {
            continue;
        }
        let read = Inputs { t, y: &y, p: &p, w: &w };
        let length = if role.is_matrix() {
            let matrix: Arc<BoundMatrix> = Arc::new(bound.matrix(program, role, MAX_ENTRIES).unwrap());
            compiled.load_matrix(role, Arc::clone(&matrix)).unwrap();
            count.entries += matrix.pattern.len();
            matrix.pattern.len()
        } else {
            bound.layout.out_len(program, role)
        };
        let mut expected = vec![0.5; length];
        if role.is_matrix() {
            let matrix = bound.matrix(program, role, MAX_ENTRIES).unwrap();
            interpret::run_bound(program, &matrix, role, read, &mut expected);
        } else {
            interpret::run_bound(program, &*bound, role, read, &mut expected);
        }
        let mut got = vec![0.5; length];
        assert_eq!(compiled.out_len(role), length);
        run(compiled, role, t, [&y, &p, &w], &mut got);
        for (i, (expected, got)) in expected.iter().zip(&got).enumerate() {
            assert!(same(*expected, *got), "{name}: {role:?}[{i}] is {got:e}, not {expected:e}");
            count.results += 1;
            count.finite += usize::from(expected.is_finite());
        }
    }
}

/// The program with its derivatives.
fn complete(program: Program) -> Program {
    derive::complete_over(program.arrays, program.axes, program.extents, program.kernels, program.name)
}

#[test]
fn random_nests_with_their_derivatives() {
    const SIZES: [[i64; 3]; 6] = [[1, 0, 1], [2, 1, 3], [3, 2, 4], [5, 4, 2], [8, 7, 9], [17, 6, 12]];
    let (mut count, mut share) = (Count::default(), Share::one_of(3));
    // in 4787 a value that is staged over a loop has a product over that loop in it
    for seed in (0..60).chain([4787]) {
        let shape = NestShape { depth: 2 + seed as usize % 4, ..NestShape::default() };
        let program = |sizes| complete(nest_program(seed, sizes, shape));
        let mut compiled = Compiled::new(&program(SIZES[0])).unwrap();
        for sizes in SIZES.into_iter().filter(|_| share.takes()) {
            let program = program(sizes);
            let inputs = nest_inputs(&program, seed);
            compare(&mut compiled, &program, inputs, &mut count);
        }
    }
    println!("{} results, {} finite, {} entries", count.results, count.finite, count.entries);
    assert!(count.results > 7_000 && count.finite * 10 > count.results * 6 && count.entries > 3_500);
}

#[test]
#[ignore = "a fuzz target; .ci/run asks for it"]
fn fuzz_nests() {
    let mut count = Count::default();
    for seed in Seeds::new("machine code of loop nests") {
        with_seed(seed, || {
            let shape = NestShape { depth: 2 + (seed / 3) as usize % 4, ..NestShape::default() };
            let size = |k: u64, least: i64| least + (seed / k % 9) as i64;
            let program = complete(nest_program(seed, [size(5, 1), size(7, 0), size(11, 1)], shape));
            let mut compiled = Compiled::new(&program).unwrap();
            compare(&mut compiled, &program, nest_inputs(&program, seed), &mut count);
        });
    }
    assert!(count.finite * 3 > count.results, "{} of {} results are finite", count.finite, count.results);
}

#[test]
fn models_of_every_size() {
    for (name, make) in MODELS {
        let mut count = Count::default();
        let mut compiled = Compiled::new(&make(1).program).unwrap();
        compiled.compile(&ROLES).unwrap();
        let bytes = compiled.code_bytes();
        for size in [1, 2, 3, 4, 5, 8, 13] {
            let model = make(size);
            let p = models::parameters(&model.program, &BoundProgram::of(&model.program).unwrap(), &model.parameters);
            let w = model.y.iter().map(|y| (y * 7.0).sin()).collect();
            compare(&mut compiled, &model.program, (model.t, model.y, p, w), &mut count);
        }
        // The code is independent of the size.
        let other = Compiled::new(&make(7).program).unwrap();
        other.compile(&ROLES).unwrap();
        assert_eq!(other.code_bytes(), bytes, "{name}");
        assert!(count.results > 100 && count.finite * 10 > count.results * 9, "{name}");
    }
}

/// Clones share the code and run at different extents, also in threads.
#[test]
fn clones_run_at_other_extents() {
    let (_, make) = MODELS[0];
    let compiled = Compiled::new(&make(1).program).unwrap();
    std::thread::scope(|scope| {
        for size in [3, 4, 50] {
            let mut compiled = compiled.clone();
            scope.spawn(move || {
                let model = make(size);
                let bound = Arc::new(BoundProgram::of(&model.program).unwrap());
                let p = models::parameters(&model.program, &bound, &model.parameters);
                compiled.load(bound).unwrap();
                let mut out = vec![0.0; compiled.n()];
                compiled.rhs(model.t, &model.y, &p, &mut out);
                let expected = (model.reference)(model.t, &model.y, &model.parameters);
                assert!(out.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9 * b.abs().max(1.0)));
            });
        }
    });
}

/// Argument blocks with positions outside the buffers are refused, because the code checks nothing at run time.
#[test]
fn positions_outside_the_buffers_are_refused() {
    let (_, make) = MODELS[1];
    let program = make(4).program;
    let mut compiled = Compiled::new(&program).unwrap();
    let bound = BoundProgram::of(&program).unwrap();
    let refused = |compiled: &mut Compiled, bound: BoundProgram| {
        matches!(compiled.load(Arc::new(bound)), Err(JitError::NotBound(_)))
    };
    let (mut changed, mut caught) = (0, 0);
    for run in 0..bound.runs.len() {
        for word in 0..bound.runs[run].words.len() {
            let mut other = bound.clone();
            match &mut other.runs[run].words[word] {
                Word::Integer(value) => *value += 1 << 20,
                Word::Table(table) => table.0 = 10_000,
            }
            changed += 1;
            caught += usize::from(refused(&mut compiled, other));
        }
    }
    // First indices have no effect, and an argument block of a nest without points is not checked.
    assert!(changed > 50 && caught * 10 > changed * 7, "{caught} of {changed}");
    for table in 0..bound.tables.len() {
        let mut other = bound.clone();
        let Some(first) = other.tables[table].first_mut() else { continue };
        *first = 1 << 30;
        assert!(refused(&mut compiled, other), "offset table {table}");
    }
    let mut other = bound.clone();
    other.runs[0].words.pop();
    assert!(refused(&mut compiled, other));
    let mut other = bound.clone();
    other.runs[0].kernel = 1000;
    assert!(refused(&mut compiled, other));
    compiled.load(Arc::new(bound.clone())).unwrap();
    let mut matrix = bound.matrix(&program, KernelRole::Jacobian, MAX_ENTRIES).unwrap();
    matrix.pattern.row_idx.pop();
    assert!(matches!(compiled.load_matrix(KernelRole::Jacobian, Arc::new(matrix)), Err(JitError::NotBound(_))));
}

#[test]
#[should_panic(expected = "load a bound program")]
fn running_before_loading_is_caught() {
    let program = MODELS[0].1(3).program;
    Compiled::new(&program).unwrap().rhs(0.0, &[0.0; 3], &[], &mut [0.0; 3]);
}

/// Loops nested deeper than the code generator walks are an error, not a full stack.
#[test]
fn loops_nested_too_deeply_are_refused() {
    let mut program = MODELS[0].1(3).program;
    let nested = |depth: u32| {
        let (mut space, mut graph) = (Space::new(), Graph::new());
        let mut value = graph.constant(1.0);
        let loops: Vec<LoopId> = (0..depth)
            .map(|_| {
                space.push_loop(Loop {
                    name: "j".to_string(),
                    first: Affine::constant(1),
                    last: Affine::constant(1),
                    span: Span::default(),
                })
            })
            .collect();
        for &l in loops.iter().rev() {
            let index = graph.insert(Node::Index(l));
            value = graph.add(value, index);
        }
        for &l in loops.iter().rev() {
            value = graph.insert(Node::Reduce(ReduceOp::Sum, l, value));
        }
        let target = space.scalar(ArrayId(0));
        let stores = vec![Store { target: Target::set(target), node: value }];
        Kernel {
            role: KernelRole::Rhs,
            space,
            iterates: Vec::new(),
            region: Region::Whole,
            margins: Vec::new(),
            graph,
            stores,
        }
    };
    program.kernels = vec![nested(MAX_LOOPS as u32)];
    assert!(Compiled::new(&program).is_ok());
    program.kernels = vec![nested(MAX_LOOPS as u32 + 1)];
    assert_eq!(Compiled::new(&program).err(), Some(JitError::TooManyLoops));
}

/// Stored values of a sum: threads have separate buffers, clones of one program have other extents, and a larger
/// extent after a smaller one needs a longer buffer.
#[test]
fn kept_values_belong_to_a_thread() {
    let compiled = Compiled::new(&models::neurons(1).program).unwrap();
    let run = |size: i64| {
        let model = models::neurons(size);
        let mut compiled = compiled.clone();
        let bound = Arc::new(BoundProgram::of(&model.program).unwrap());
        let p = models::parameters(&model.program, &bound, &model.parameters);
        compiled.load(bound).unwrap();
        let mut first = vec![0.0; compiled.n()];
        compiled.rhs(model.t, &model.y, &p, &mut first);
        for _ in 0..200 {
            let mut out = vec![0.0; compiled.n()];
            compiled.rhs(model.t, &model.y, &p, &mut out);
            assert_eq!(out, first);
        }
        let expected = (model.reference)(model.t, &model.y, &model.parameters);
        assert!(first.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12 * b.abs().max(1.0)));
    };
    std::thread::scope(|scope| {
        for sizes in [[3, 40, 7], [41, 2, 90]] {
            scope.spawn(move || sizes.map(run));
        }
    });
}

/// Lengths are computed two at a time; one that must be scaled may be next to one that must not.
#[test]
fn lengths_in_pairs() {
    let tiny = f64::from_bits((1023 - 500) << 52);
    let sizes = [0.0, 5e-324, 3e-308, 1e-151, tiny, 1.0001 * tiny, 0.75, 1e6, 1e153, 1.4e154, 1e300, f64::MAX];
    let sizes: Vec<f64> = sizes.into_iter().chain([f64::INFINITY, f64::NAN, -1e200, -3.0]).collect();
    let count = sizes.len() * sizes.len();
    let mut program = MODELS[0].1(count as i64).program;
    let find = |name: &str| program.arrays.iter().position(|array| array.name == name).unwrap();
    let [t, s] = ["T", "s"].map(|name| ArrayId(find(name) as u32));
    let nest = program.kernels.iter().find(|nest| nest.role == KernelRole::Rhs).unwrap();
    let (mut space, mut graph) = (Space::new(), Graph::new());
    space.push_loop(nest.space.loops()[nest.iterates[0].0 as usize].clone());
    let Target::Set(Element::At(access)) = nest.stores[0].target else { panic!() };
    let subs = nest.space.access(access).subs.clone();
    let own = space.intern(odec_ir::nest::Access { array: t, subs: subs.clone(), guard: None });
    let other = space.intern(odec_ir::nest::Access { array: s, subs, guard: None });
    let (x, y) = (graph.read(own), graph.read(other));
    let node = graph.apply(&odec_ir::builtin::exponential::HYPOT, &[x, y]);
    let stores = vec![Store { target: Target::set(own), node }];
    let (role, region, margins) = (KernelRole::Rhs, Region::Whole, Vec::new());
    program.kernels = vec![Kernel { role, space, iterates: vec![LoopId(0)], region, margins, graph, stores }];

    let bound = Arc::new(BoundProgram::of(&program).unwrap());
    let mut compiled = Compiled::new(&program).unwrap();
    compiled.load(Arc::clone(&bound)).unwrap();
    let y: Vec<f64> = (0..count).map(|k| sizes[k % sizes.len()]).collect();
    let mut p = vec![1.0; bound.layout.p_len()];
    let first = bound.layout.start(s);
    for k in 0..count {
        p[first + k] = sizes[k / sizes.len()];
    }
    let mut got = vec![0.0; count];
    compiled.rhs(0.0, &y, &p, &mut got);
    for ((x, y), got) in y.iter().zip(&p[first..]).zip(got) {
        let expected = (odec_ir::builtin::exponential::HYPOT.value)(&[*x, *y]);
        assert!(same(got, expected), "hypot({x:e}, {y:e}) is {got:e}, not {expected:e}");
    }
}

/// A long body is compiled with another strategy than a short one.
#[test]
fn long_bodies() {
    let build = |length: usize, looped: bool| {
        let mut program = MODELS[0].1(3).program;
        let nest = program.kernels.iter().find(|nest| nest.role == KernelRole::Rhs).unwrap().clone();
        let (mut space, mut graph) = (Space::new(), Graph::new());
        let (row, subs) = match nest.stores[0].target {
            Target::Set(Element::At(access)) => (nest.array(access), nest.space.access(access).subs.clone()),
            _ => panic!(),
        };
        let mut l = nest.space.loops()[nest.iterates[0].0 as usize].clone();
        if !looped {
            (l.first, l.last) = (Affine::constant(1), Affine::constant(1));
        }
        space.push_loop(l);
        let own = space.intern(odec_ir::nest::Access { array: row, subs, guard: None });
        let u = graph.read(own);
        let mut recent = [u; 40];
        for k in 0..length {
            let c = graph.constant(1.0 + (k % 97) as f64 * 1e-3);
            let (a, b) = (recent[(k * 7) % 40], recent[(k * 11 + 3) % 40]);
            let scaled = graph.mul(c, a);
            recent[k % 40] = if k % 2 == 0 { graph.add(scaled, b) } else { graph.sub(scaled, b) };
        }
        let node = recent.iter().copied().reduce(|a, b| graph.add(a, b)).unwrap();
        let stores = vec![Store { target: Target::set(own), node }];
        let iterates = vec![LoopId(0)];
        let (role, region, margins) = (KernelRole::Rhs, Region::Whole, Vec::new());
        program.kernels = vec![Kernel { role, space, iterates, region, margins, graph, stores }];
        program
    };
    for (length, looped) in [(100, true), (3_000, true), (20_000, false)] {
        let program = build(length, looped);
        let mut compiled = Compiled::new(&program).unwrap();
        let inputs = nest_inputs(&program, 3);
        compare(&mut compiled, &program, inputs, &mut Count::default());
    }
}
