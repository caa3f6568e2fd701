//! Object file and C source, built with the system's C compiler, give the bits of the machine code in memory.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use odec_emit::{Inputs, Options};
use odec_ir::interface::BoundForExport;
use odec_ir::testing::models::MODELS;
use odec_ir::testing::{self, NestShape, Random, Shape, array, nest_program};
use odec_ir::{ArrayId, Graph, Kernel, KernelRole, Program, Role, Store, Target, derive};
use odec_jit::Compiled;

use crate::share::Share;

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

/// Driven oscillator in second order with a mass matrix of time and state, outputs (one reads a derivative), and
/// names that are difficult in C.
fn oscillator() -> Program {
    let names = [
        ("φ", Role::Position),
        ("φ'", Role::Velocity),
        ("z*/", Role::FirstOrder),
        ("\"k\"??=", Role::Parameter),
        ("energy", Role::Output),
        ("drift", Role::Conserved),
        ("end", Role::Expected),
    ];
    let arrays: Vec<_> = names.iter().map(|(name, role)| array(*name, *role)).collect();
    let [q, v, z, k, energy, drift, end] = std::array::from_fn(|i| ArrayId(i as u32));
    let element = |array, node| Store { target: Target::set(array), node };

    let mut graph = Graph::new();
    let (x, dx, zz, kk, t) = (graph.read(q), graph.read(v), graph.read(z), graph.read(k), graph.time());
    let exponential = graph.apply(odec_ir::builtin::find("exp").unwrap().0, &[kk]);
    let spring = graph.mul(exponential, x);
    let sine = graph.apply(odec_ir::builtin::find("sin").unwrap().0, &[t]);
    let force = graph.sub(sine, spring);
    // an exponent that requires a call of `pow`
    let exponent = graph.constant(0.7);
    let root = graph.pow(zz, exponent);
    let stores = vec![element(q, dx), element(v, force), element(z, root)];
    let rhs = Kernel::scalar(KernelRole::Rhs, graph.clone(), stores);

    let square = graph.mul(dx, dx);
    let rate = graph.direction(v);
    let sum = graph.add(square, rate);
    let stores = vec![element(energy, sum), element(drift, square), element(end, x)];
    let outputs = Kernel::scalar(KernelRole::Outputs, graph, stores);

    let mut graph = Graph::new();
    let (one, tiny, kk) = (graph.constant(1.0), graph.constant(-5e-324), graph.read(k));
    let stores = vec![element(q, one), element(v, tiny), element(z, kk)];
    let initial = Kernel::scalar(KernelRole::Initial, graph.clone(), stores);
    let (x, dx, t) = (graph.read(q), graph.read(v), graph.time());
    let square = graph.mul(x, x);
    let inertia = graph.add(kk, square);
    let coupling = graph.mul(dx, t);
    // M w by rows
    let [wq, wv, wz] = [q, v, z].map(|state| graph.direction(state));
    let (inert, coupled, small) = (graph.mul(inertia, wv), graph.mul(coupling, wz), graph.mul(tiny, wv));
    let (second, third) = (graph.add(inert, coupled), graph.add(small, wz));
    let stores = vec![element(q, wq), element(v, second), element(z, third)];
    let mass = Kernel::scalar(KernelRole::Mass, graph, stores);
    derive::complete(arrays, vec![initial, rhs, mass, outputs], "Ω oscillator */ \"2\"")
}

/// A program with no parameters, outputs or mass matrix: its lists are empty.
fn bare() -> Program {
    let mut graph = Graph::new();
    let node = graph.time();
    let store = Store { target: Target::set(ArrayId(0)), node };
    let rhs = Kernel::scalar(KernelRole::Rhs, graph.clone(), vec![store]);
    let initial = Kernel::scalar(KernelRole::Initial, graph, vec![store]);
    derive::complete(vec![array("x", Role::FirstOrder)], vec![initial, rhs], "")
}

/// Mostly ordinary numbers; of the odd ones, every fifth breaks things.
fn number(random: &mut Random, odd: bool) -> f64 {
    const ODD: [f64; 8] = [0.0, -0.0, 5e-324, -1e-310, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    if odd && random.below(5) == 0 { ODD[random.below(ODD.len())] } else { random.uniform(-1.5, 2.5) }
}

/// Every builtin of the table as a row, with its derivatives.
fn catalogue() -> Program {
    let table = odec_ir::builtin::table();
    let arrays = (0..table.len()).map(|i| array(format!("x{i}"), Role::FirstOrder)).collect();
    let mut graph = Graph::new();
    let reads: Vec<_> = (0..3).map(|i| graph.read(ArrayId(i))).collect();
    let mut stores = Vec::new();
    for (i, row) in table.iter().enumerate() {
        let node = graph.apply(row, &reads[..usize::from(row.arity)]);
        stores.push(Store { target: Target::set(ArrayId(i as u32)), node });
    }
    let rhs = Kernel::scalar(KernelRole::Rhs, graph, stores);
    derive::complete(arrays, vec![rhs], "catalogue")
}

fn run_command(command: &mut Command, input: &str) -> String {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("cannot start");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{command:?}\n{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a kernel of the machine code in memory.
fn run(compiled: &Compiled, role: KernelRole, t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]) {
    match role {
        KernelRole::Prepare => compiled.prepare(out),
        KernelRole::Initial => compiled.initial(t, p, out),
        KernelRole::Rhs => compiled.rhs(t, y, p, out),
        KernelRole::Jacobian => compiled.jacobian(t, y, p, out),
        KernelRole::Tangent => compiled.tangent(t, y, p, w, out),
        KernelRole::TimeDerivative => compiled.time_derivative(t, y, p, out),
        KernelRole::ParameterJacobian => compiled.parameter_jacobian(t, y, p, out),
        KernelRole::Mass => compiled.mass(t, y, p, out),
        KernelRole::MassJacobian => compiled.mass_jacobian(t, y, p, w, out),
        KernelRole::MassTimeDerivative => compiled.mass_time_derivative(t, y, p, w, out),
        KernelRole::Outputs => compiled.outputs(t, y, p, w, out),
    }
}

fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&directory).unwrap();
    directory
}

fn has(compiler: &str) -> bool {
    let there = Command::new(compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !there {
        crate::fuzz::skipped(&format!("object and C source, because there is no `{compiler}`"));
    }
    there
}

/// Builds a share of the forms of a program, runs them on some inputs and compares their output with the code in memory.
fn check(name: &str, program: &Program, random: &mut Random, share: &mut Share) {
    let directory = directory(name);
    let options = Options::of(program);
    let write = |file: &str, contents: &[u8]| {
        let path = directory.join(file);
        fs::write(&path, contents).unwrap();
        path
    };
    write("model.h", odec_emit::c_header(program, &options).unwrap().as_bytes());
    let driver = write("driver.c", odec_emit::c_driver(&options, "model.h").unwrap().as_bytes());
    let source = write("model.c", odec_emit::c_source(program, &options).unwrap().as_bytes());
    let object = write("model.o", &odec_jit::object(program, &options.prefix).unwrap());

    let settled = BoundForExport::of(program).unwrap();
    let (program, layout) = (&settled.program, &settled.layout);
    let mut compiled = Compiled::new(program).unwrap();
    compiled.load(Arc::new(settled.bound)).unwrap();
    for (role, matrix) in settled.matrices {
        compiled.load_matrix(role, Arc::new(matrix)).unwrap();
    }
    let (mut input, mut expected) = (String::new(), String::new());
    for case in 0..20 {
        let mut numbers = |n: usize| -> Vec<f64> { (0..n).map(|_| number(random, case >= 10)).collect() };
        let inputs =
            Inputs { t: numbers(1)[0], y: numbers(layout.n), parameters: numbers(layout.np), w: numbers(layout.n) };
        input += &odec_emit::driver_input(&inputs);
        let kernel = |role, t, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]| run(&compiled, role, t, y, p, w, out);
        expected += &odec_emit::driver_transcript(program, &inputs, kernel);
    }
    // The last option changes bits unless the source prevents it: instructions that multiply and add at once.
    let forms: [(&str, &PathBuf, &[&str]); 4] = [
        ("object", &object, &["-std=c99"]),
        ("c99", &source, &["-std=c99", "-O1"]),
        ("c11", &source, &["-std=c11", "-O0"]),
        ("gnu11", &source, &["-std=gnu11", "-O3", "-march=native"]),
    ];
    for (form, file, flags) in forms.into_iter().filter(|_| share.takes()) {
        let binary = directory.join(form);
        let mut build = Command::new("cc");
        build.args(WARNINGS).args(flags).arg(&driver).arg(file).arg("-o").arg(&binary).arg("-lm");
        run_command(&mut build, "");
        let printed = run_command(&mut Command::new(&binary), &input);
        for (line, (printed, expected)) in printed.lines().zip(expected.lines()).enumerate() {
            assert_eq!(printed, expected, "{name}, {form}, line {line}");
        }
        assert_eq!(printed.lines().count(), expected.lines().count());
    }
    if has("c++") {
        let user = write(
            "user.cpp",
            format!("#include \"model.h\"\nint n() {{ return {}_states; }}\n", options.prefix).as_bytes(),
        );
        let mut build = Command::new("c++");
        build.args(["-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]).arg(user);
        run_command(&mut build, "");
    }
}

#[test]
fn object_and_c_agree_with_memory() {
    if !has("cc") {
        return;
    }
    let (mut random, mut share) = (Random::new(7), Share::one_of(3));
    check("oscillator", &oscillator(), &mut random, &mut share);
    check("bare", &bare(), &mut random, &mut share);
    check("catalogue", &catalogue(), &mut random, &mut share);
    for seed in 0..3 {
        check(&format!("random{seed}"), &testing::case(seed, Shape::default()).program, &mut random, &mut share);
    }
    // Long enough that it is compiled in parts.
    check("long", &testing::long(2000, 1), &mut random, &mut share);
}

/// Loops, reductions, scatters, tables, edges of every kind; for few elements and for some.
#[test]
fn object_and_c_of_nests_agree_with_memory() {
    if !has("cc") {
        return;
    }
    let (mut random, mut share) = (Random::new(8), Share::one_of(4));
    for (name, make) in MODELS {
        check(name, &make(6).program, &mut random, &mut share);
    }
    check("one", &MODELS[0].1(1).program, &mut random, &mut share);
    for seed in 0..2 {
        let program = nest_program(seed, [5, 4, 7], NestShape::default());
        let Program { arrays, axes, extents, kernels, name, .. } = program;
        check(
            &format!("nests{seed}"),
            &derive::complete_over(arrays, axes, extents, kernels, name),
            &mut random,
            &mut share,
        );
    }
}

#[test]
fn the_object_needs_the_c_library_alone() {
    if !has("nm") {
        return;
    }
    let file = directory("symbols").join("model.o");
    fs::write(&file, odec_jit::object(&oscillator(), "osc").unwrap()).unwrap();
    let symbols = run_command(Command::new("nm").arg(&file), "");
    let mut needed: Vec<&str> = symbols.lines().filter_map(|line| line.trim().strip_prefix("U ")).collect();
    needed.retain(|name| *name != "_GLOBAL_OFFSET_TABLE_");
    assert_eq!(needed, ["cos", "exp", "pow", "sin"]);
    for suffix in ["f", "jac", "jvp", "dfdt", "pjac", "mass", "outputs", "prepare", "init", "states", "defaults"] {
        assert!(symbols.lines().any(|line| line.ends_with(&format!(" osc_{suffix}"))), "no osc_{suffix}");
    }
}

#[test]
fn prefixes_that_c_does_not_allow_are_refused() {
    let program = bare();
    for prefix in ["", "1a", "a b", "x__y", "_x"] {
        assert_eq!(odec_jit::object(&program, prefix), Err(odec_jit::JitError::BadPrefix(prefix.to_string())));
        assert!(odec_emit::c_source(&program, &Options { prefix: prefix.to_string() }).is_err());
        assert!(odec_emit::c_header(&program, &Options { prefix: prefix.to_string() }).is_err());
    }
}
