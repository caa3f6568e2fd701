//! Costs of whole Rosenbrock steps: nodes, and times to write, to compile and to run, for several ways to split the
//! code into functions.
//!
//! `cargo run --release -p odec-sim --example steps -- models/robertson.ode models/hires.ode`

mod common;

use odec_ir::step::rosenbrock::{Coefficients, FusedStepPlan};
use odec_ir::{KernelRole, Program};
use odec_jit::{Compiled, Strategy};
use odec_ode::System;
use odec_ode::linear::{BACKWARD_ERROR, Diagonal, NEGLIGIBLE_RESIDUAL};
use odec_ode::method::{self, Family};
use odec_ode::step::FusedFormula;
use odec_sim::bind::Bound;

use common::{bind, least};

fn main() {
    for path in std::env::args().skip(1) {
        let Some(bound) = bind(&path) else { continue };
        for name in ["rodas4", "rodas5p"] {
            measure(&path, &bound, name);
        }
    }
}

fn measure(path: &str, bound: &Bound, name: &str) {
    let executor = &bound.executor;
    let Ok(Family::Rosenbrock(tableau)) = method::find(name).map(|method| method.family) else { return };
    let Some(diagonal) = executor.jacobian().pattern().and_then(Diagonal::of) else { return };
    let write = |program: &Program| {
        let plan = FusedStepPlan {
            coefficients: Coefficients {
                gamma: tableau.gamma,
                alpha: tableau.alpha,
                gammas: tableau.gammas,
                a: tableau.a,
                c: tableau.c,
                m: tableau.m,
                error: tableau.error.0,
            },
            order: &diagonal.order,
            bound: BACKWARD_ERROR,
            negligible: NEGLIGIBLE_RESIDUAL,
            limit: 20_000,
            fused: odec_jit::fuses(),
        };
        plan.written(program)
    };
    let Some(written) = write(executor.program()) else { return };
    let writing = least(20, || drop(write(executor.program())));
    let nodes: usize = written.kernels.iter().map(|k| k.live().count()).sum();
    println!("{path} {name}: {nodes} nodes, written in {:.3} ms", 1e3 * writing);
    let n = executor.shape().n;
    let formula = FusedFormula::Rosenbrock { tableau };
    let mut kept = vec![0.0; formula.room(n)];
    kept[..n].copy_from_slice(&bound.problem.y0);
    let mut f = vec![0.0; n];
    executor.rhs(bound.problem.t0, &bound.problem.y0, &mut f).expect("f at the start");
    kept[n..2 * n].copy_from_slice(&f);
    let mut given = vec![1e-6; formula.room(n)];
    given[0] = 1e-4;
    let mut out = vec![0.0; formula.length(n)];
    for whole in [100, 250, 400, 800, 20_000] {
        let strategy = Strategy { whole, part: whole, best: 20_000 };
        let compiling = least(20, || drop(Compiled::with(&written, strategy).map(|c| c.function(KernelRole::Outputs))));
        let Some(code) = Compiled::with(&written, strategy)
            .ok()
            .and_then(|c| Some((c.function(KernelRole::Outputs)?, c.code_bytes())))
        else {
            continue;
        };
        let running = least(300, || {
            for _ in 0..200 {
                code.0.call(0.0, &kept, executor.parameters(), &given, &mut out);
            }
        });
        println!(
            "  functions of {whole:>6}: compiled in {:.2} ms, {} bytes, {:.1} ns a step",
            1e3 * compiling,
            code.1,
            5e6 * running
        );
    }
}
