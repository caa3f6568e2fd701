//! What whole steps cost for one caller and for several at a time.
//!
//! `cargo run --release -p odec-sim --example lanes -- vern7 models/lorenz.ode`

mod common;

use odec_ir::KernelRole;
use odec_ir::step::explicit;
use odec_jit::{Compiled, LaneFunction, Slot, Strategy};
use odec_ode::System;
use odec_ode::method::{self, Family};
use odec_ode::step::Formula;

use common::{bind, least};

struct Buffers {
    kept: Vec<f64>,
    given: Vec<f64>,
    out: Vec<f64>,
}

/// Offers the buffers one inside the other, and runs the kernel inside of all.
fn nested(function: &LaneFunction, slots: &[Slot], p: &[f64], all: &mut [Buffers], at: usize, count: usize) {
    let Some((Buffers { kept, given, out }, rest)) = all.split_first_mut() else {
        let slots: Vec<&Slot> = slots.iter().collect();
        let seconds = least(3000, || {
            for _ in 0..50 {
                function.run(&slots);
            }
        });
        println!("  {count} lanes: {:.1} ns, {:.1} a lane", 2e7 * seconds, 2e7 * seconds / count as f64);
        return;
    };
    function.offer(&slots[at], (0.0, kept, p, given), out, || nested(function, slots, p, rest, at + 1, count));
}

fn main() {
    let mut args = std::env::args().skip(1);
    let Some(name) = args.next() else { return };
    let Ok(found) = method::find(&name) else { return };
    for path in args {
        let Some(bound) = bind(&path) else { continue };
        let machine = &bound.machine;
        let n = machine.shape().n;
        let Family::RungeKutta(tableau) = found.family else { continue };
        let pairs = [tableau.embedded, tableau.second];
        let difference = |(hat, _): (&[f64], u32)| tableau.b.iter().zip(hat).map(|(b, hat)| b - hat).collect();
        let errors: Vec<Vec<f64>> = pairs.into_iter().flatten().map(difference).collect();
        let plan = explicit::Plan { c: tableau.c, a: tableau.a, b: tableau.b, errors: &errors, fsal: tableau.fsal };
        let Some(step) = explicit::step(machine.program(), &plan) else { continue };
        let formula = Formula::Explicit { tableau, fixed: false };
        let strategy = Strategy { whole: 20_000, piece: 20_000, best: 20_000 };
        let Some(function) = Compiled::with(&step, strategy).ok().and_then(|c| c.function(KernelRole::Outputs)) else {
            continue;
        };
        let buffers = |k: usize| {
            let mut kept = vec![0.0; formula.room(n)];
            let mut y = bound.problem.y0.clone();
            y[0] += k as f64 / 16.0;
            machine.rhs(bound.problem.t0, &y, &mut kept[..n]).expect("f at the start");
            kept[n..2 * n].copy_from_slice(&y);
            let mut given = vec![1e-6; formula.room(n)];
            given[0] = 1e-2;
            Buffers { kept, given, out: vec![0.0; formula.length(n)] }
        };
        println!("{path} {name}");
        let Buffers { kept, given, mut out } = buffers(0);
        let seconds = least(3000, || {
            for _ in 0..50 {
                function.call(0.0, &kept, machine.parameters(), &given, &mut out);
            }
        });
        println!("  alone: {:.1} ns", 2e7 * seconds);
        for lanes in [2, 4, 6, 8] {
            let compiling = least(10, || drop(function.in_lanes(lanes)));
            let Some(function) = function.in_lanes(lanes) else { continue };
            println!("  compiled in {:.2} ms, {} bytes", 1e3 * compiling, function.code_bytes());
            let mut all: Vec<Buffers> = (0..lanes).map(buffers).collect();
            let slots: Vec<Slot> = (0..lanes).map(|_| Slot::new()).collect();
            nested(&function, &slots, machine.parameters(), &mut all, 0, lanes);
            let same = all[0].out.iter().zip(&out).all(|(a, b)| a.to_bits() == b.to_bits());
            println!("  same bits: {same}");
        }
    }
}
