//! Dropping a compiled program frees its memory. A separate process, so that its resident memory is that of this test.
#![cfg(target_os = "linux")]

use odec_ir::KernelRole;
use odec_ir::testing::{self, Shape};
use odec_jit::Compiled;

/// Programs compiled and dropped.
const CYCLES: usize = 4_000;

/// Largest growth of resident memory, in bytes.
const SLACK: usize = 2 << 20;

fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[test]
fn memory_is_freed() {
    let case = testing::case(3, Shape { calls: 2, switches: false, special: false, odd_inputs: false });
    let cycle = || {
        let compiled = Compiled::new(&case.program).unwrap();
        compiled.compile(&[KernelRole::Jacobian]).unwrap();
        let mut out = vec![0.0; compiled.n()];
        compiled.rhs(case.t, &case.y, &case.p, &mut out);
        assert!(compiled.code_bytes() > 0);
    };
    (0..200).for_each(|_| cycle());
    let before = resident();
    (0..CYCLES).for_each(|_| cycle());
    let after = resident();
    println!("resident memory {before} before, {after} after {CYCLES} cycles");
    assert!(after < before + SLACK, "{before} bytes grew to {after}");
}
