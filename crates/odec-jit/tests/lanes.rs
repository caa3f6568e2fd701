//! A kernel for several callers at a time gives each of them the bits that it has alone.

use odec_ir::testing::{self, Case, Shape};
use odec_ir::{KernelRole, interpret};
use odec_jit::{Compiled, LaneFunction, MAX_LANES, Slot};

const ROLES: [KernelRole; 6] = [
    KernelRole::Rhs,
    KernelRole::Jacobian,
    KernelRole::Tangent,
    KernelRole::TimeDerivative,
    KernelRole::ParameterJacobian,
    KernelRole::Outputs,
];

/// One caller's inputs and results.
struct Caller {
    t: f64,
    y: Vec<f64>,
    p: Vec<f64>,
    w: Vec<f64>,
    out: Vec<f64>,
}

/// Offers the buffers one inside the other, and runs the kernel inside of all.
fn together(function: &LaneFunction, slots: &[Slot], callers: &mut [Caller], at: usize) {
    let Some((Caller { t, y, p, w, out }, rest)) = callers.split_first_mut() else {
        let slots: Vec<&Slot> = slots.iter().collect();
        assert!(function.run(&slots));
        return;
    };
    function.offer(&slots[at], (*t, y, p, w), out, || together(function, slots, rest, at + 1));
}

/// Inputs of their own for each caller: those of the case, moved.
fn callers(case: &Case, count: usize, length: usize) -> Vec<Caller> {
    let moved = |x: &f64, k: usize, i: usize| match (k + i) % 4 {
        0 => *x,
        1 => -*x,
        2 => *x * 1.5 + 0.25,
        _ => 0.0,
    };
    let list = |xs: &[f64], k: usize| xs.iter().enumerate().map(|(i, x)| moved(x, k, i)).collect::<Vec<f64>>();
    let caller = |k: usize| {
        let given = list(&case.p, k);
        let mut p = given.clone();
        interpret::run(&case.program, KernelRole::Prepare, 0.0, &[], &given, &[], &mut p);
        Caller { t: case.t + k as f64, y: list(&case.y, k), p, w: list(&case.w, k), out: vec![f64::NAN; length] }
    };
    (0..count).map(caller).collect()
}

fn compare(seeds: std::ops::Range<u64>, shape: impl Fn(u64) -> Shape) -> usize {
    let mut results = 0;
    for seed in seeds {
        let case = testing::case(seed, shape(seed));
        let compiled = Compiled::new(&case.program).unwrap();
        for role in ROLES {
            let Some(function) = compiled.function(role) else { continue };
            for lanes in [2, 4, 6, 8] {
                let Some(wide) = function.in_lanes(lanes) else { panic!("{role:?} in {lanes} lanes") };
                // all of them, one less, and a single one
                for count in [lanes, lanes - 1, 1] {
                    let length = compiled.out_len(role);
                    let mut all = callers(&case, count, length);
                    let slots: Vec<Slot> = (0..count).map(|_| Slot::new()).collect();
                    together(&wide, &slots, &mut all, 0);
                    for (k, Caller { t, y, p, w, out }) in all.iter().enumerate() {
                        let mut alone = vec![f64::NAN; length];
                        function.call(*t, y, p, w, &mut alone);
                        for (i, (a, b)) in alone.iter().zip(out).enumerate() {
                            let same = a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
                            let name = &case.program.name;
                            assert!(same, "{name}: {role:?}[{i}] of {k} among {count} in {lanes}: {b:e}, alone {a:e}");
                            results += 1;
                        }
                    }
                }
            }
        }
    }
    results
}

#[test]
fn every_caller_gets_the_bits_that_it_gets_alone() {
    assert!(compare(0..150, |_| Shape::default()) > 20_000);
}

#[test]
fn long_kernels_keep_their_values_in_memory() {
    assert!(
        compare(1000..1020, |seed| Shape {
            calls: 200 + 20 * (seed as usize % 10),
            special: false,
            ..Shape::default()
        }) > 5_000
    );
}

#[test]
fn a_slot_without_an_offer_is_refused() {
    let case = testing::case(1, Shape::default());
    let compiled = Compiled::new(&case.program).unwrap();
    let function = compiled.function(KernelRole::Rhs).unwrap();
    let (wide, other) = (function.in_lanes(4).unwrap(), function.in_lanes(4).unwrap());
    let slots: Vec<Slot> = (0..2).map(|_| Slot::new()).collect();
    assert!(!wide.run(&[]));
    assert!(!wide.run(&[&slots[0]]));
    let mut caller = callers(&case, 1, compiled.n()).remove(0);
    let Caller { t, y, p, w, out } = &mut caller;
    wide.offer(&slots[0], (*t, y, p, w), out, || {
        assert!(!wide.run(&[&slots[0], &slots[1]]));
        assert!(!other.run(&[&slots[0]]));
        let many = [&slots[0]; MAX_LANES];
        assert!(!wide.run(&many));
    });
    assert!(out.iter().all(|x| x.is_nan()), "nothing was done");
    assert!(!wide.run(&[&slots[0]]), "the offer is taken back");
    assert!(
        function.in_lanes(3).is_none() && function.in_lanes(0).is_none() && function.in_lanes(MAX_LANES + 2).is_none()
    );
}
