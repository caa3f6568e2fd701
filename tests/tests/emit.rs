//! A small C program built with the emitted C, and with the emitted object: both give the bits of the machine code in
//! this process, for every model, at ordinary points and at zeros, infinities and NaN.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use odec_ir::interface::{self, BoundForExport};
use odec_ir::{KernelRole, Layout, Program};
use odec_jit::Compiled;
use odec_lang::source::Source;
use odec_tests::command::{finish, run_in, scratch};
use odec_tests::mutate::Random;
use odec_tests::share::Share;
use odec_tests::{parts, root, smooth_models, stem, text};

struct Point {
    t: f64,
    y: Vec<f64>,
    p: Vec<f64>,
    w: Vec<f64>,
}

fn program(path: &Path) -> Program {
    let source = parts::within(path.parent().expect("a folder"), Source::new(stem(path), text(path)));
    let model = odec_lang::check(&source).model.expect("a model of the repository");
    odec_lang::lower(&model, &odec_lang::Overrides::default()).unwrap_or_else(|e| panic!("{}: {e:?}", path.display()))
}

fn defaults(program: &Program, layout: &Layout) -> Vec<f64> {
    let mut p = vec![0.0; layout.np + layout.staged];
    for (i, array) in program.arrays.iter().enumerate() {
        if array.role == odec_ir::Role::Parameter {
            let id = odec_ir::ArrayId(i as u32);
            p[layout.start(id)..][..layout.len(id)].fill(array.default);
            p[layout.start(id)..][..array.data.len()].copy_from_slice(&array.data);
        }
    }
    p.extend(interface::data(program, layout));
    p
}

/// Points near the start, and points with odd numbers in them.
fn points(program: &Program, compiled: &Compiled, random: &mut Random) -> Vec<Point> {
    let layout = Layout::of(program);
    let mut p = defaults(program, &layout);
    compiled.prepare(&mut p);
    let mut start = vec![0.0; layout.n];
    compiled.initial(0.0, &p, &mut start);
    let odd = [0.0, -0.0, 1.0, -1.0, 5e-324, 1e-310, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let mut unit = || random.bits() as f64 / u64::MAX as f64;
    let mut found = Vec::new();
    for round in 0..24 {
        let mut near = |v: f64| v * (0.5 + unit()) + 0.1 * unit();
        let y: Vec<f64> = start.iter().map(|v| near(*v)).collect();
        let p: Vec<f64> = p[..layout.np].iter().map(|v| near(*v)).collect();
        let w: Vec<f64> = start.iter().map(|_| near(1.0) - 0.8).collect();
        let mut point = Point { t: near(3.0), y, p, w };
        if round >= 20 {
            for (i, v) in point.y.iter_mut().chain(&mut point.p).chain(&mut point.w).enumerate() {
                if (i + round) % 3 == 0 {
                    *v = odd[(i * 7 + round) % odd.len()];
                }
            }
        }
        found.push(point);
    }
    found
}

fn line(name: &str, values: &[f64]) -> String {
    let mut line = name.to_owned();
    for value in values {
        let _ = write!(line, " {:016x}", value.to_bits());
    }
    line
}

/// Output of the C program according to the code in this process.
fn expected(program: &Program, compiled: &Compiled, points: &[Point]) -> Vec<String> {
    let layout = Layout::of(program);
    let mut lines = vec![line("defaults", &defaults(program, &layout)[..layout.np])];
    let mut names = vec![String::new(); layout.n];
    for (i, array) in program.arrays.iter().enumerate() {
        if matches!(array.role, odec_ir::Role::Position | odec_ir::Role::Velocity | odec_ir::Role::FirstOrder) {
            let elements = interface::element_names(program, array);
            names[layout.start(odec_ir::ArrayId(i as u32))..][..elements.len()].clone_from_slice(&elements);
        }
    }
    lines.extend(names);
    for point in points {
        let mut p = defaults(program, &layout);
        p[..layout.np].copy_from_slice(&point.p);
        compiled.prepare(&mut p);
        lines.push(line("prepare", &p));
        // a function without a kernel writes zeros
        let mut store = |name: &str, role: KernelRole, length: usize, f: &dyn Fn(&mut [f64])| {
            let mut out = vec![0.0; length];
            if compiled.has(role) {
                f(&mut out);
            }
            lines.push(line(name, &out));
        };
        let mass = program.mass.as_ref().map_or(0, |m| m.row_idx.len());
        store("init", KernelRole::Initial, layout.n, &|out| compiled.initial(point.t, &p, out));
        store("f", KernelRole::Rhs, layout.n, &|out| compiled.rhs(point.t, &point.y, &p, out));
        store("jac", KernelRole::Jacobian, program.jacobian.row_idx.len(), &|out| {
            compiled.jacobian(point.t, &point.y, &p, out);
        });
        store("jvp", KernelRole::Tangent, layout.n, &|out| compiled.tangent(point.t, &point.y, &p, &point.w, out));
        store("dfdt", KernelRole::TimeDerivative, layout.n, &|out| {
            compiled.time_derivative(point.t, &point.y, &p, out);
        });
        store("pjac", KernelRole::ParameterJacobian, program.parameter_jacobian.row_idx.len(), &|out| {
            compiled.parameter_jacobian(point.t, &point.y, &p, out);
        });
        store("mass", KernelRole::Mass, mass, &|out| compiled.mass(point.t, &point.y, &p, out));
        store("mjac", KernelRole::MassJacobian, program.mass_jacobian.row_idx.len(), &|out| {
            compiled.mass_jacobian(point.t, &point.y, &p, &point.w, out);
        });
        store("dmdt", KernelRole::MassTimeDerivative, layout.n, &|out| {
            compiled.mass_time_derivative(point.t, &point.y, &p, &point.w, out);
        });
        store("outputs", KernelRole::Outputs, layout.outputs_len(), &|out| {
            compiled.outputs(point.t, &point.y, &p, &point.w, out);
        });
    }
    lines
}

/// NaN is NaN whatever its payload.
fn without_payload(line: &str) -> String {
    let plain = |word: &str| match u64::from_str_radix(word, 16) {
        Ok(bits) if word.len() == 16 && f64::from_bits(bits).is_nan() => "nan".to_owned(),
        _ => word.to_owned(),
    };
    line.split(' ').map(plain).collect::<Vec<_>>().join(" ")
}

/// Models that read tables, without arrays and with them, and a network with so many reactions that they are loops.
fn written(folder: &Path) -> Vec<std::path::PathBuf> {
    let tables = "
        input q(t) = table([0, 0.5, 2, 3, 8], [1, 4, 2, 3, 1], spline)
        input r(t) = table([0, 1, 2.5], [2, 1, 2], hold, periodic)
        input s(t) = table([0, 0.4, 2], [1, 3, 2], cubic, clamp)";
    let scalar = "state x = 1, v = 0\nx' = v\nv' = q(t)*s(x) - r(t - 0.1)*x\noutput seen = q(t)";
    // values that depend on a parameter are prepared next to the tables
    let staged = "param k = 2\nstate x = 1, v = 0\nx' = v\nv' = sqrt(k)*q(t)*s(x) - r(t - 0.1)*x\noutput seen = q(t)";
    let array = "index i = 1..3\nstate u[i] = i/5\nu[i]' = s(u[i]) - r(t - 0.3*i)*u[i]";
    let mut network = String::new();
    for r in 0..300 {
        let [a, b, c] = [r, 7 * r + 3, 11 * r + 5].map(|k| k % 40);
        let _ = writeln!(network, "param k{r} = {}\nr{r}: s{a} + s{b} -> s{c}  rate k{r}*s{a}/(1 + s{b})", 1 + r % 9);
    }
    (0..40).for_each(|i| network += &format!("state s{i} = {}\n", 1 + i % 3));
    let all = [("inputs", scalar), ("inputs_staged", staged), ("inputs_of_arrays", array), ("network", &network)];
    let written = all.map(|(name, text)| {
        let path = folder.join(format!("{name}.ode"));
        let tables = if name == "network" { "" } else { tables };
        std::fs::write(&path, format!("model {name}\n{tables}\n{text}\n")).expect("a folder");
        path
    });
    written.to_vec()
}

#[test]
fn object_c_and_machine_code_agree_bit_for_bit() {
    let folder = scratch("emit");
    let mut random = Random(17);
    let mut finite = 0;
    let mut all = 0;
    let (mut masses_with_loops, mut share) = (0, Share::one_of(3));
    for path in smooth_models().into_iter().chain(written(&folder)) {
        let settled = BoundForExport::of(&program(&path)).expect("binds");
        let program = &settled.program;
        if program.invariants.is_some() {
            // refused, see E0322
            continue;
        }
        let loops = program.kernels_of(KernelRole::Mass).filter(|kernel| !kernel.is_scalar()).count();
        if !share.takes() && loops == 0 {
            continue;
        }
        masses_with_loops += loops;
        let mut compiled = Compiled::new(program).expect("compiles");
        compiled.load(Arc::new(settled.bound)).expect("fits");
        for (role, matrix) in settled.matrices {
            compiled.load_matrix(role, Arc::new(matrix)).expect("fits");
        }
        let points = points(program, &compiled, &mut random);
        let expected = expected(program, &compiled, &points);
        for word in expected.iter().flat_map(|l| l.split(' ').skip(1)) {
            if let Ok(bits) = u64::from_str_radix(word, 16) {
                all += 1;
                finite += usize::from(f64::from_bits(bits).is_finite());
            }
        }
        let mut input = String::new();
        for point in &points {
            for value in std::iter::once(&point.t).chain(&point.y).chain(&point.p).chain(&point.w) {
                let _ = writeln!(input, "{:016x}", value.to_bits());
            }
        }
        let prefix = interface::prefix_of(&program.name);
        let model = path.to_string_lossy().into_owned();
        for (kind, file) in [("c", format!("{prefix}.c")), ("object", format!("{prefix}.o"))] {
            run_in(&folder, &["emit", model.as_str(), "--to", kind, "-o", file.as_str()], b"").success();
            let program = folder.join(format!("{prefix}-{kind}"));
            let mut cc = Command::new("cc");
            // -O2 takes longer for the 760 kB of the cloth than for all other models together
            let level = if prefix == "cloth" { "-O1" } else { "-O2" };
            cc.current_dir(&folder).args(["-std=c99", level, "-Wall", "-Wextra", "-Werror"]);
            cc.arg(format!("-DPREFIX={prefix}"))
                .arg(format!("-DHEADER=\"{prefix}.h\""))
                .arg("-I.")
                .arg("-o")
                .arg(&program);
            cc.arg(root().join("tests/fixtures/emit/evaluate.c")).arg(&file).arg("-lm");
            finish(cc, b"").success();
            let ran = finish(Command::new(&program), input.as_bytes()).success();
            let text = ran.text();
            let found: Vec<&str> = text.lines().collect();
            assert_eq!(found.len(), expected.len(), "{prefix} {kind}");
            for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert_eq!(without_payload(found), without_payload(expected), "{prefix} {kind}, line {i}");
            }
        }
    }
    println!("{all} values, {finite} finite");
    assert!(masses_with_loops > 0, "no mass matrix over index sets was compared");
    assert!(finite * 10 >= all * 7, "{finite} of {all}");
}
