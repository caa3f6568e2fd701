//! Machine code gives the bits of the interpreter for every split of a kernel.

use crate::fuzz::{Seeds, with_seed};
use crate::share::Share;
use odec_ir::testing::{self, Case, Shape, array};
use odec_ir::{
    ArrayId, Graph, Kernel, KernelRole, Layout, Op, Pattern, Program, Role, Store, Target, builtin, derive, interpret,
};
use odec_jit::{Compiled, MAX_SCRATCH, Strategy, asm_text, clif_text};

/// Every role but `Prepare`.
const ROLES: [KernelRole; 10] = [
    KernelRole::Rhs,
    KernelRole::Jacobian,
    KernelRole::Initial,
    KernelRole::Tangent,
    KernelRole::TimeDerivative,
    KernelRole::ParameterJacobian,
    KernelRole::Mass,
    KernelRole::MassJacobian,
    KernelRole::MassTimeDerivative,
    KernelRole::Outputs,
];

/// Equal bits, or both NaN.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn run(compiled: &Compiled, role: KernelRole, case: &Case, p: &[f64], out: &mut [f64]) {
    let (t, y) = (case.t, &case.y[..]);
    match role {
        KernelRole::Prepare => compiled.prepare(out),
        KernelRole::Initial => compiled.initial(t, p, out),
        KernelRole::Rhs => compiled.rhs(t, y, p, out),
        KernelRole::Jacobian => compiled.jacobian(t, y, p, out),
        KernelRole::Tangent => compiled.tangent(t, y, p, &case.w, out),
        KernelRole::TimeDerivative => compiled.time_derivative(t, y, p, out),
        KernelRole::ParameterJacobian => compiled.parameter_jacobian(t, y, p, out),
        KernelRole::Mass => compiled.mass(t, y, p, out),
        KernelRole::MassJacobian => compiled.mass_jacobian(t, y, p, &case.w, out),
        KernelRole::MassTimeDerivative => compiled.mass_time_derivative(t, y, p, &case.w, out),
        KernelRole::Outputs => compiled.outputs(t, y, p, &case.w, out),
    }
}

/// Number of compared cases, and number of cases in which every result is finite.
#[derive(Default)]
struct Count {
    cases: usize,
    finite: usize,
    results: usize,
    code: usize,
}

/// Compares the kernels of some roles at the inputs of a case.
fn compare(case: &Case, strategy: Strategy, roles: &[KernelRole], count: &mut Count) {
    let program = &case.program;
    let layout = Layout::of(program);
    let compiled = Compiled::with(program, strategy).unwrap();
    let mut p = case.p.clone();
    interpret::run(program, KernelRole::Prepare, 0.0, &[], &case.p, &[], &mut p);
    let mut prepared = case.p.clone();
    compiled.prepare(&mut prepared);
    assert!(p.iter().zip(&prepared).all(|(a, b)| same(*a, *b)), "{}: prepare {p:?} {prepared:?}", program.name);
    let mut finite = true;
    for &role in roles.iter().filter(|role| compiled.has(**role)) {
        let mut expected = vec![0.0; layout.out_len(program, role)];
        let mut got = vec![f64::NAN; expected.len()];
        interpret::run(program, role, case.t, &case.y, &p, &case.w, &mut expected);
        run(&compiled, role, case, &p, &mut got);
        for (i, (expected, got)) in expected.iter().zip(&got).enumerate() {
            assert!(same(*expected, *got), "{}: {role:?}[{i}] is {got:e}, not {expected:e}", program.name);
            count.results += 1;
            finite &= expected.is_finite();
        }
    }
    count.cases += 1;
    count.finite += usize::from(finite);
    count.code += compiled.code_bytes();
}

/// The default, and parts so short that nearly every value crosses a cut, with either allocation of registers.
fn strategy(seed: u64) -> Strategy {
    match seed % 4 {
        0 => Strategy { whole: 0, part: 5, best: usize::MAX },
        1 => Strategy { whole: 0, part: 9, best: 0 },
        _ => Strategy::default(),
    }
}

/// The fuzz target continues with others.
#[test]
fn thousands_of_random_graphs() {
    let mut count = Count::default();
    let shape = Shape { special: false, ..Shape::default() };
    let mut share = Share::one_of(4);
    for seed in (0..4_000).filter(|_| share.takes()) {
        let case = testing::case(seed, shape);
        // The right-hand side in each case, the others in turn.
        let other = 1 + seed as usize % (ROLES.len() - 1);
        compare(&case, strategy(seed / 7), &[ROLES[0], ROLES[other]], &mut count);
    }
    println!("{} cases, {} finite, {} results, {} bytes of code", count.cases, count.finite, count.results, count.code);
    assert!(count.cases >= 990);
    assert!(count.finite * 10 >= count.cases * 9, "{} of {} cases are finite", count.finite, count.cases);
    assert!(count.results > 4 * count.cases && count.code > 100 * count.cases);
}

#[test]
#[ignore = "a fuzz target; .ci/run asks for it"]
fn fuzz_graphs() {
    let mut count = Count::default();
    for seed in Seeds::new("machine code of graphs") {
        // special functions are long: only in one case of 16
        let shape = Shape { special: seed % 16 == 0, calls: 4 + seed as usize % 40, ..Shape::default() };
        with_seed(seed, || compare(&testing::case(seed, shape), strategy(seed / 7), &ROLES, &mut count));
    }
    assert!(count.finite * 2 > count.cases, "{} of {} cases are finite", count.finite, count.cases);
}

#[test]
fn random_graphs_with_special_functions() {
    let mut count = Count::default();
    for seed in 0..100 {
        let case = testing::case(1_000_000 + seed, Shape::default());
        compare(&case, strategy(seed), &ROLES, &mut count);
    }
    assert!(count.finite * 10 >= count.cases * 7, "{} of {} cases are finite", count.finite, count.cases);
}

#[test]
fn long_programs_in_pieces() {
    let mut count = Count::default();
    for (seed, operations) in [900, 5_000, 20_000].into_iter().enumerate() {
        let program = testing::long(operations, seed as u64);
        let n = Layout::of(&program).n;
        let number = |i: usize| (i as f64).sin();
        let (y, w) = ((0..n).map(number).collect(), (n..2 * n).map(number).collect());
        let p = vec![0.75; Layout::of(&program).p_len()];
        let case = Case { program, t: 0.5, y, p, w };
        compare(&case, Strategy::default(), &ROLES, &mut count);
    }
    assert_eq!(count.cases, 3);
}

/// Numbers that break things.
const ODD: [f64; 14] =
    [0.0, -0.0, 5e-324, -1e-310, 1.0, -1.0, 0.5, -2.5, 1e300, -1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3.0];

/// Every builtin of the table, every combination of odd arguments, as states and with a constant as the last argument.
#[test]
fn every_builtin_on_odd_numbers() {
    for row in builtin::table() {
        let arity = usize::from(row.arity);
        let arrays = (0..3).map(|i| array(format!("x{i}"), Role::FirstOrder)).collect();
        let mut graph = Graph::new();
        let reads: Vec<_> = (0..3).map(|i| graph.read(ArrayId(i as u32))).collect();
        let plain = graph.call(Op(row), &reads[..arity]);
        let mut with_number = reads.clone();
        with_number[arity - 1] = graph.constant(-0.0);
        let with_number = graph.call(Op(row), &with_number[..arity]);
        let chosen = graph.apply(&builtin::logic::IF, &[plain, reads[1], reads[2]]);
        let store = |i: usize, node| Store { target: Target::set(ArrayId(i as u32)), node };
        let stores = vec![store(0, plain), store(1, with_number), store(2, chosen)];
        let kernels = vec![Kernel::scalar(KernelRole::Rhs, graph, stores)];
        let program = derive::complete(arrays, kernels, row.name);
        let compiled = Compiled::new(&program).unwrap();
        for k in 0..ODD.len().pow(3) {
            let y = [ODD[k % ODD.len()], ODD[k / ODD.len() % ODD.len()], ODD[k / ODD.len().pow(2)]];
            let (mut expected, mut got) = ([0.0; 3], [0.5; 3]);
            interpret::run(&program, KernelRole::Rhs, 0.0, &y, &[], &[], &mut expected);
            compiled.rhs(0.0, &y, &[], &mut got);
            assert!(
                expected.iter().zip(&got).all(|(a, b)| same(*a, *b)),
                "{} of {y:?}: {got:?} {expected:?}",
                row.name
            );
            // The promised values of the rows, not only agreement of both implementations.
            let value = (row.value)(&y[..arity]);
            assert!(same(value, got[0]), "{} of {y:?}: {} {value}", row.name, got[0]);
        }
    }
}

/// A kernel that fills nearly all of the scratch buffer runs on the stack of an ordinary thread.
#[test]
fn scratch_near_its_limit() {
    let mut graph = Graph::new();
    let (x, y) = (graph.read(ArrayId(0)), graph.read(ArrayId(1)));
    let mut terms = Vec::new();
    for i in 0..MAX_SCRATCH - 1000 {
        let c = graph.constant(i as f64 + 0.5);
        terms.push(graph.div(c, x));
    }
    // Summed forwards for one result and backwards for the other: in between, all terms are alive.
    let forwards = terms.iter().fold(x, |sum, &term| graph.add(sum, term));
    let backwards = terms.iter().rev().fold(y, |sum, &term| graph.sub(sum, term));
    let store = |i: usize, node| Store { target: Target::set(ArrayId(i as u32)), node };
    let kernel = Kernel::scalar(KernelRole::Rhs, graph, vec![store(0, forwards), store(1, backwards)]);
    let program = Program {
        axes: Vec::new(),
        extents: Vec::new(),
        name: String::new(),
        arrays: vec![array("x", Role::FirstOrder), array("y", Role::FirstOrder)],
        kernels: vec![kernel],
        jacobian: Pattern::default(),
        parameter_jacobian: Pattern::default(),
        mass: None,
        mass_jacobian: Pattern::default(),
        invariants: None,
    };
    let y = [0.7, 0.3];
    let (mut expected, mut got) = ([0.0; 2], [0.0; 2]);
    interpret::run(&program, KernelRole::Rhs, 0.0, &y, &[], &[], &mut expected);
    Compiled::new(&program).unwrap().rhs(0.0, &y, &[], &mut got);
    assert_eq!(got.map(f64::to_bits), expected.map(f64::to_bits));
}

/// The texts are deterministic and name the called functions.
#[test]
fn code_as_text() {
    let mut graph = Graph::new();
    let x = graph.read(ArrayId(0));
    let node = graph.call(builtin::find("exp").unwrap(), &[x]);
    let kernel = Kernel::scalar(KernelRole::Rhs, graph, vec![Store { target: Target::set(ArrayId(0)), node }]);
    let program = derive::complete(vec![array("x", Role::FirstOrder)], vec![kernel], "text");
    let (clif, asm) = (clif_text(&program).unwrap(), asm_text(&program).unwrap());
    assert_eq!((&clif, &asm), (&clif_text(&program).unwrap(), &asm_text(&program).unwrap()));
    assert!(clif.contains("; Rhs\n") && clif.contains("%exp") && clif.contains("load.f64"), "{clif}");
    assert!(asm.contains("Rhs: ") && asm.contains("exp"), "{asm}");
    // A long kernel shows its parts and the function that calls them.
    let long = clif_text(&testing::long(2000, 1)).unwrap();
    assert!(long.contains("; Rhs, part 2 of ") && long.contains("stack_addr"));
}

/// Two threads that need the same kernels at the same time compile them once and compute the same values.
#[test]
fn threads_share_a_program() {
    for seed in 0..40 {
        let case = testing::case(seed, Shape { special: false, ..Shape::default() });
        let compiled = Compiled::new(&case.program).unwrap();
        let all = || {
            let mut p = case.p.clone();
            compiled.prepare(&mut p);
            let mut results = Vec::new();
            for _ in 0..50 {
                for role in ROLES {
                    let mut out = vec![0.0; compiled.out_len(role)];
                    run(&compiled, role, &case, &p, &mut out);
                    results.extend(out.iter().map(|x| if x.is_nan() { 0 } else { x.to_bits() }));
                }
            }
            results
        };
        let (first, second) = std::thread::scope(|scope| {
            let (first, second) = (scope.spawn(all), scope.spawn(all));
            (first.join().unwrap(), second.join().unwrap())
        });
        assert_eq!(first, second);
        assert_eq!(first, all());
    }
}

/// Kernels are compiled when they are needed, and only then.
#[test]
fn code_is_made_on_demand() {
    let case = testing::case(5, Shape::default());
    let compiled = Compiled::new(&case.program).unwrap();
    let start = compiled.code_bytes();
    assert!(start > 0);
    compiled.compile(&[KernelRole::Rhs]).unwrap();
    assert_eq!(compiled.code_bytes(), start);
    compiled.compile(&[KernelRole::Jacobian, KernelRole::Tangent]).unwrap();
    assert!(compiled.code_bytes() > start);
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&compiled);
}

/// Elements that a program does not store are zero, regardless of the previous contents of the buffer.
#[test]
fn elements_without_a_store_are_zero() {
    let arrays = vec![array("x", Role::FirstOrder), array("y", Role::FirstOrder)];
    let mut graph = Graph::new();
    let node = graph.time();
    let stores = vec![Store { target: Target::set(ArrayId(1)), node }];
    let program = Program {
        axes: Vec::new(),
        extents: Vec::new(),
        name: String::new(),
        arrays,
        kernels: vec![Kernel::scalar(KernelRole::Rhs, graph, stores)],
        jacobian: Pattern::default(),
        parameter_jacobian: Pattern::default(),
        mass: None,
        mass_jacobian: Pattern::default(),
        invariants: None,
    };
    let (mut compiled, mut interpreted) = ([7.0; 2], [7.0; 2]);
    Compiled::new(&program).unwrap().rhs(3.0, &[1.0, 2.0], &[], &mut compiled);
    interpret::run(&program, KernelRole::Rhs, 3.0, &[1.0, 2.0], &[], &[], &mut interpreted);
    assert_eq!((compiled, interpreted), ([0.0, 3.0], [0.0, 3.0]));
}
