//! Waiting times of a user: text to machine code of POLLU, and the whole process for Robertson. Medians of many runs.
//!
//! `cargo run --release -p odec-tests --example startup`

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use odec_ir::KernelRole;
use odec_lang::source::Source;
use odec_tests::command::odec;
use odec_tests::{root, text};

const ROUNDS: usize = 50;

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn main() {
    let path = root().join("models/pollu.ode");
    let source = Source::new(path.display().to_string(), text(&path));
    let mut parts: [Vec<Duration>; 5] = Default::default();
    let mut bytes = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let (tree, _) = odec_lang::parse(&source);
        let parsed = Instant::now();
        let (model, _) = odec_lang::analyse(&tree, &source);
        let model = model.expect("POLLU is a valid model");
        let checked = Instant::now();
        let program = odec_lang::lower(&model, &odec_lang::Overrides::default()).expect("POLLU lowers");
        let lowered = Instant::now();
        let compiled = odec_jit::Compiled::new(&program).expect("POLLU compiles");
        let kernels = [KernelRole::Rhs, KernelRole::Jacobian, KernelRole::TimeDerivative];
        compiled.compile(&kernels).expect("POLLU compiles");
        let end = Instant::now();
        bytes = compiled.code_bytes();
        let times = [parsed - start, checked - parsed, lowered - checked, end - lowered, end - start];
        for (list, time) in parts.iter_mut().zip(times) {
            list.push(time);
        }
    }
    let [parse, check, lower, compile, all] = parts.map(median);
    println!("POLLU, text to machine code ({bytes} bytes): {all:.2} ms");
    println!(
        "  parse {parse:.2} ms, check {check:.2} ms, lower and differentiate {lower:.2} ms, compile {compile:.2} ms"
    );

    let command = odec();
    for (name, arguments) in [
        ("odec run models/robertson.ode", &["run", "models/robertson.ode"][..]),
        ("odec run models/robertson.ode --method bdf2", &["run", "models/robertson.ode", "--method", "bdf2"]),
        ("odec check models/robertson.ode", &["check", "models/robertson.ode"]),
        ("odec methods", &["methods"]),
    ] {
        let once = || {
            let start = Instant::now();
            let status = Command::new(command)
                .current_dir(root())
                .args(arguments)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            assert!(status.expect("odec runs").success());
            start.elapsed()
        };
        println!("{name}: {:.1} ms", median((0..ROUNDS).map(|_| once()).collect()));
    }
}
