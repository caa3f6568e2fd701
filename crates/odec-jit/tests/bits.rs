//! Machine code gives the bits of the interpreter.

mod common;

use common::{Random, random_program};
use odec_ir::{KernelRole, Layout, Program, interpret};
use odec_jit::Compiled;

const ROLES: [KernelRole; 7] = [
    KernelRole::Initial,
    KernelRole::Rhs,
    KernelRole::Jacobian,
    KernelRole::Tangent,
    KernelRole::TimeDerivative,
    KernelRole::ParameterJacobian,
    KernelRole::Outputs,
];

/// Equal bits, or both NaN.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// How many results were compared, and how many of them are finite.
#[derive(Default)]
struct Count {
    results: usize,
    finite: usize,
}

/// Compares every kernel at one random input.
fn compare(program: &Program, compiled: &Compiled, random: &mut Random, odd: usize, count: &mut Count) {
    let layout = Layout::of(program);
    let mut numbers = |n: usize| -> Vec<f64> { (0..n).map(|_| random.number(odd)).collect() };
    let (t, y, w) = (numbers(1)[0], numbers(layout.n), numbers(layout.n));
    let mut p = numbers(layout.p_len());
    let mut prepared = p.clone();
    interpret::run(program, KernelRole::Prepare, 0.0, &[], &p.clone(), &[], &mut p);
    compiled.prepare(&mut prepared);
    for (expected, got) in p.iter().zip(&prepared) {
        assert!(same(*expected, *got), "prepare: {expected:e} {got:e}");
    }
    for role in ROLES {
        let mut expected = vec![0.0; layout.out_len(program, role)];
        let mut got = vec![f64::NAN; expected.len()];
        interpret::run(program, role, t, &y, &p, &w, &mut expected);
        match role {
            KernelRole::Initial => compiled.initial(t, &p, &mut got),
            KernelRole::Rhs => compiled.rhs(t, &y, &p, &mut got),
            KernelRole::Jacobian => compiled.jacobian(t, &y, &p, &mut got),
            KernelRole::Tangent => compiled.tangent(t, &y, &p, &w, &mut got),
            KernelRole::TimeDerivative => compiled.time_derivative(t, &y, &p, &mut got),
            KernelRole::ParameterJacobian => compiled.parameter_jacobian(t, &y, &p, &mut got),
            _ => compiled.outputs(t, &y, &p, &mut got),
        }
        for (i, (expected, got)) in expected.iter().zip(&got).enumerate() {
            assert!(same(*expected, *got), "{role:?}[{i}]: {expected:e} {got:e} at t={t:e} y={y:?} p={p:?} w={w:?}");
            count.results += 1;
            count.finite += usize::from(expected.is_finite());
        }
    }
}

#[test]
fn ten_thousand_random_graphs() {
    let mut random = Random(1);
    let mut count = Count::default();
    let mut code = 0;
    for case in 0..1000 {
        let program = random_program(&mut random, 1 + case % 3, 4 + case % 9);
        let compiled = Compiled::new(&program).unwrap();
        for _ in 0..3 {
            compare(&program, &compiled, &mut random, 30, &mut count);
        }
        code += compiled.code_bytes();
    }
    println!("{} results, {} finite, {code} bytes of code", count.results, count.finite);
    assert!(count.finite * 10 >= count.results * 9);
}
