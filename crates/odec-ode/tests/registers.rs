//! A factorisation leaves the vector registers in a state in which other code is as fast as before. On processors
//! with AVX-512, upper halves that are not cleared slow down every later SSE instruction, mainly in f.

use std::io::Write;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::{dense, grids};

use dense::tolerances;
use grids::Grid;
use odec_ode::linear::{LinearSolver, SolverKind};
use odec_ode::system::System;
use odec_ode::{Options, Problem, Samples, Sink, method, solve};

/// Largest ratio of the times of f; with the upper halves in use it was 2 to 100.
const RATIO: f64 = 1.5;

fn has_wide_registers() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx512f");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Shortest time of many calls of f, which other load on the machine does not affect.
fn shortest(grid: &Grid, calls: usize) -> Duration {
    let mut f = vec![0.0; grid.y0.len()];
    let call = |_| {
        let begun = Instant::now();
        grid.rhs(0.0, std::hint::black_box(&grid.y0), &mut f).expect("f has a value everywhere");
        begun.elapsed()
    };
    (0..calls).map(call).min().unwrap_or_default()
}

/// Times f after every step.
struct Timed<'a> {
    grid: &'a Grid,
    shortest: Duration,
    steps: usize,
}

impl Sink for Timed<'_> {
    fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn step(&mut self, _: f64) -> ControlFlow<()> {
        self.steps += 1;
        self.shortest = self.shortest.min(shortest(self.grid, 20));
        ControlFlow::Continue(())
    }
}

#[test]
fn f_is_as_fast_after_a_factorisation_as_before() {
    if !has_wide_registers() {
        drop(writeln!(std::io::stderr(), "skipped: f after a factorisation, because the processor has no AVX-512"));
        return;
    }
    let grid = grids::brusselator_square(48);
    let before = shortest(&grid, 400);
    let mut after = Timed { grid: &grid, shortest: Duration::MAX, steps: 0 };
    let problem = Problem { t0: 0.0, t_end: 0.1, y0: grid.y0.clone() };
    let options = Options { linear: LinearSolver::Sparse, ..tolerances(1e-4, 1e-4) };
    let method = method::find("rodas4").expect("a method of the table");
    let outcome = solve(&grid, &problem, method, &options, &Samples::Times(vec![0.1]), &mut after).expect("it runs");
    assert_eq!(outcome.linear.map(|l| l.kind), Some(SolverKind::Multifrontal));
    assert!(after.steps > 3, "{} steps", after.steps);
    let ratio = after.shortest.as_secs_f64() / before.as_secs_f64();
    assert!(ratio < RATIO, "f takes {:?}, {before:?} before", after.shortest);
}
