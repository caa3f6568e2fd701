//! Models from parts: the same bits and the same code as for the model written by hand, names everywhere, files and
//! locations.

use std::path::PathBuf;

use odec_ir::KernelRole;
use odec_jit::Compiled;
use odec_lang::diagnostic::Diagnostic;
use odec_lang::limits::MAX_PARTS;
use odec_lang::source::Source;
use odec_lang::{Checked, Overrides};
use odec_tests::command::{Ran, run_in, scratch};
use odec_tests::parts::among;

const CELL: &str = "## a cell
model cell
param a = 0.7, b = 0.8, eps = 0.08 in 0..1
param I0 = 0.5   ## current
state V = -1.2, w = -0.6
fn cube(x) = x*x*x
cubic = V - cube(V)/3
V' = cubic - w + I0
w' = eps*(V + a - b*w)
output slope = V'
params fast { eps = 0.2 }
run { t = 0 .. 5 }
expect V(5) = 17 within 1
";

const PAIR: &str = "param gap = 0.1
use \"cell.ode\" as first { I0 = 0.4 }
use \"cell.ode\" as second { I0 = gap*(first.V - second.V) }
output difference = first.V - second.V
run { t = 0 .. 20; rtol = 1e-8; samples = 7 }
";

/// A folder with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = scratch(&format!("modules-{name}"));
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    folder
}

fn run(folder: &std::path::Path, line: &str) -> Ran {
    run_in(folder, &line.split_whitespace().collect::<Vec<_>>(), b"").orderly()
}

/// The rows without the header.
fn rows(folder: &std::path::Path, line: &str) -> String {
    let ran = run(folder, line).success();
    ran.text().split_once('\n').map(|(_, rows)| rows.to_owned()).expect("a header")
}

fn check(files: &[(&str, &str)], text: &str) -> Checked {
    odec_lang::check(&among(files, Source::new("model.ode", text)))
}

fn errors(checked: &Checked) -> Vec<&Diagnostic> {
    checked.diagnostics.iter().filter(|d| d.is_error()).collect()
}

#[test]
fn a_model_from_parts_is_bitwise_equal_to_the_model_written_by_hand() {
    let by_hand = "param gap = 0.1
param a1 = 0.7, b1 = 0.8, eps1 = 0.08, I1 = 0.4
state V1 = -1.2, w1 = -0.6
fn cube(x) = x*x*x
c1 = V1 - cube(V1)/3
V1' = c1 - w1 + I1
w1' = eps1*(V1 + a1 - b1*w1)
param a2 = 0.7, b2 = 0.8, eps2 = 0.08
state V2 = -1.2, w2 = -0.6
I2 = gap*(V1 - V2)
c2 = V2 - cube(V2)/3
V2' = c2 - w2 + I2
w2' = eps2*(V2 + a2 - b2*w2)
output s1 = V1', s2 = V2', difference = V1 - V2
run { t = 0 .. 20; rtol = 1e-8; samples = 7 }
";
    let folder = folder("bits", &[("cell.ode", CELL), ("pair.ode", PAIR), ("hand.ode", by_hand)]);
    for method in ["auto", "rodas5p", "bdf", "dopri5"] {
        let line = |file: &str| format!("run {file} --quiet --method {method}");
        let (parts, hand) = (rows(&folder, &line("pair.ode")), rows(&folder, &line("hand.ode")));
        assert_eq!(parts.lines().count(), 8, "{parts}");
        assert_eq!(parts, hand, "{method}");
    }
}

const STRAND: &str = "const N = 6
index i = 1..N
param gap = 0.5
use \"cell.ode\" as c[i] { I0 = gap*(c[i-1].V - 2*c[i].V + c[i+1].V) + (if i == 1 then 0.5 else 0) }
boundary c[0].V = c[1].V, c[N+1].V = c[N].V
run { t = 0 .. 20; rtol = 1e-8; samples = 7 }
";

const STRAND_BY_HAND: &str = "const N = 6
index i = 1..N
param gap = 0.5
param a = 0.7, b = 0.8, eps = 0.08
state V[i] = -1.2, w[i] = -0.6
fn cube(x) = x*x*x
I0[i] = gap*(V[i-1] - 2*V[i] + V[i+1]) + (if i == 1 then 0.5 else 0)
cubic[i] = V[i] - cube(V[i])/3
V[i]' = cubic[i] - w[i] + I0[i]
w[i]' = eps*(V[i] + a - b*w[i])
boundary V[0] = V[1], V[N+1] = V[N]
output slope[i] = V[i]'
run { t = 0 .. 20; rtol = 1e-8; samples = 7 }
";

#[test]
fn an_array_of_parts_has_the_bits_of_arrays() {
    let folder = folder("arrays", &[("cell.ode", CELL), ("strand.ode", STRAND), ("hand.ode", STRAND_BY_HAND)]);
    for method in ["auto", "rodas5p", "bdf"] {
        let line = |file: &str| format!("run {file} --quiet --method {method}");
        assert_eq!(rows(&folder, &line("strand.ode")), rows(&folder, &line("hand.ode")), "{method}");
    }
    let header = run(&folder, "run strand.ode --quiet").success().text();
    assert!(header.starts_with("t,c[1].V,c[2].V,"), "{header}");
    assert!(header.contains(",c[6].slope\n"), "{header}");
}

#[test]
fn five_thousand_parts_have_the_code_of_two() {
    let roles = [KernelRole::Initial, KernelRole::Prepare, KernelRole::Rhs, KernelRole::Jacobian, KernelRole::Outputs];
    let code = |text: &str, size: f64| {
        let checked = check(&[("cell.ode", CELL)], text);
        let model = checked.model.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
        let values = vec![("N".to_owned(), size)];
        let overrides = Overrides { values, ..Overrides::default() };
        let program = odec_lang::lower(&model, &overrides).expect("a program");
        let compiled = Compiled::new(&program).expect("compiles");
        compiled.compile(&roles).expect("compiles");
        (program.kernels.iter().map(|kernel| kernel.graph.len()).collect::<Vec<_>>(), compiled.code_bytes())
    };
    let two = code(STRAND, 2.0);
    assert!(two.1 > 1000, "{} bytes", two.1);
    assert_eq!(two, code(STRAND, 5000.0));
    assert_eq!(two, code(STRAND_BY_HAND, 5000.0), "and that of the arrays written by hand");
}

#[test]
fn names_of_parts_stand_wherever_names_stand() {
    let more = "params fast { second.eps = 0.2; first.V = -1 }\nexpect second.V(20) = -0.2 within 5\n\
        when first.V > 1.5 { second.w += 0.125 }\nconserve total = first.a + second.a within 1e-12\n\
        run named { t = 0 .. 1; record = [first.V, difference]; samples = 1; atol(second.V) = 1e-12 }\n";
    let folder = folder("names", &[("cell.ode", CELL), ("pair.ode", &format!("{PAIR}{more}"))]);
    let columns = |line: &str| run(&folder, line).success().text().lines().next().map(str::to_owned);
    assert_eq!(columns("run pair.ode --run named").as_deref(), Some("t,first.V,difference"));
    let record = "run pair.ode --record second.w,first.slope";
    assert_eq!(columns(record).as_deref(), Some("t,second.w,first.slope"));
    // a value from outside arrives
    let plain = rows(&folder, record);
    for other in ["--set second.eps=0.2", "--set second.V=0", "--params fast"] {
        assert_ne!(rows(&folder, &format!("{record} {other}")), plain, "{other}");
    }
    assert_eq!(rows(&folder, &format!("{record} --set first.I0=0.4")), plain);
    let sens = columns("run pair.ode --sens first.eps --record first.V --method rodas5p");
    assert_eq!(sens.as_deref(), None.or(Some("t,first.V,d(first.V)/d(first.eps)")));
    let sweep = run(&folder, "sweep pair.ode --set first.eps=0.05:0.1:2 --record first.V").success();
    assert!(sweep.text().contains("first.eps"), "{}", sweep.text());
    run(&folder, "test pair.ode").success();
    // parameters that became definitions cannot be set
    let refused = run(&folder, "run pair.ode --set second.I0=3");
    assert!(refused.err.contains("E0408"), "{}", refused.err);
}

#[test]
fn elements_of_arrays_of_parts_are_named_as_in_the_model() {
    let folder = folder("elements", &[("cell.ode", CELL), ("strand.ode", STRAND)]);
    let header = |line: &str| run(&folder, line).success().text().lines().next().map(str::to_owned);
    assert_eq!(header("run strand.ode --record c[2..3].V,c[6].w").as_deref(), Some("t,c[2].V,c[3].V,c[6].w"));
    assert_eq!(
        header("run strand.ode --sens c.eps --record c[2].V --method rodas5p").as_deref(),
        Some("t,c[2].V,d(c[2].V)/d(c.eps)")
    );
    let plain = rows(&folder, "run strand.ode --record c[3].V");
    assert_ne!(rows(&folder, "run strand.ode --record c[3].V --set c[3].V=1"), plain);
    assert_ne!(rows(&folder, "run strand.ode --record c[3].V --set c.eps=0.2"), plain);
    for (line, code) in [
        ("run strand.ode --record c.V[3]", "E0706"),
        ("run strand.ode --record c[9].V", "E0706"),
        ("run strand.ode --set c.V[3]=1", "E0408"),
        ("run strand.ode --set c[3].eps=1", "E0408"),
    ] {
        let ran = run(&folder, line);
        assert!(ran.code != Some(0) && ran.err.contains(code), "{line}: {}", ran.err);
    }
}

#[test]
fn parts_have_parts_and_arrays() {
    let rod = "const M = 3\nindex j = 1..M\nparam k = 1\nstate u[j] = j, T = 0\n\
        u[j]' = k*(T - u[j])\nT' = sum(j: u[j])/M - T\nmean = sum(j: u[j])/M\n";
    let two = "use \"rod.ode\" as left\nuse \"rod.ode\" as right { M = 2; k = left.T }\n";
    let model = "index i = 1..4\nparam s[i] = i\nuse \"two.ode\" as p[i] { left.k = s[i] }\n\
        output first = p[2].right.u[1] + p[2].left.mean, T = p[3].left.T'\nrun { t = 0 .. 1; samples = 1 }\n";
    let hand = "const M = 3, L = 2\nindex i = 1..4\nparam s[i] = i\nindex j = 1..M\nindex l = 1..L\n\
        state u[i, j] = j, T[i] = 0\nu[i, j]' = s[i]*(T[i] - u[i, j])\nT[i]' = sum(j: u[i, j])/M - T[i]\n\
        state v[i, l] = l, S[i] = 0\nv[i, l]' = T[i]*(S[i] - v[i, l])\nS[i]' = sum(l: v[i, l])/L - S[i]\n\
        output first = v[2, 1] + sum(j: u[2, j])/M, T3 = T[3]'\nrun { t = 0 .. 1; samples = 1 }\n";
    let files = [("parts/rod.ode", rod), ("parts/two.ode", two), ("hand.ode", hand)];
    let folder = folder("nested", &files);
    std::fs::write(folder.join("model.ode"), model.replace("two.ode", "parts/two.ode")).expect("a file");
    assert_eq!(
        rows(&folder, "run model.ode --record first,T --method rk4 --step 0.05"),
        rows(&folder, "run hand.ode --record first,T3 --method rk4 --step 0.05")
    );
    let header = run(&folder, "run model.ode").success().text().lines().next().map(str::to_owned).expect("a header");
    assert!(header.contains(",p[4].left.u[3],") && header.contains("p[1].right.T"), "{header}");
    // by --path, from another folder
    let elsewhere = folder.join("elsewhere");
    std::fs::create_dir_all(&elsewhere).expect("a folder");
    std::fs::write(elsewhere.join("model.ode"), model).expect("a file");
    let there = run(&elsewhere, "run model.ode --record first,T --method dopri5 --path ../parts").success();
    let here = run(&folder, "run model.ode --record first,T --method dopri5").success();
    assert_eq!(there.text(), here.text());
    assert!(run(&elsewhere, "run model.ode").err.contains("E0580"));
}

#[test]
fn tables_of_a_part_lie_in_its_folder_and_inputs_are_handed_over() {
    let part = "input q(t) = table(\"q.csv\", \"flow\", linear)\nstate x = 0\nx' = q(t) - x\n";
    let csv = "t,flow\n0,1\n10,3\n";
    let own = "use \"parts/tank.ode\" as c\nrun { t = 0 .. 2; samples = 2 }\n";
    let given = "use \"parts/tank.ode\" as c { q = 1 + 0.2*t }\nrun { t = 0 .. 2; samples = 2 }\n";
    let input = "input flow(t) = table([0, 10], [1, 3], linear)\nuse \"parts/tank.ode\" as c { q = flow }\n\
        run { t = 0 .. 2; samples = 2 }\n";
    let files = [("parts/tank.ode", part), ("parts/q.csv", csv), ("own.ode", own), ("given.ode", given)];
    let folder = folder("inputs", &files);
    std::fs::write(folder.join("input.ode"), input).expect("a file");
    let first = rows(&folder, "run own.ode --rtol 1e-10 --method dopri5");
    assert_eq!(rows(&folder, "run input.ode --rtol 1e-10 --method dopri5"), first);
    let last = |text: &str| text.trim().rsplit(',').next().and_then(|v| v.parse::<f64>().ok()).expect("a number");
    let given = last(&rows(&folder, "run given.ode --rtol 1e-10 --method dopri5"));
    assert!((given - last(&first)).abs() < 1e-8, "{given} {first}");
}

#[test]
fn events_and_discretes_of_parts_are_of_each_part() {
    let part = "param limit = 1, rate = 1\nstate x = 0\ndiscrete spikes = 0\nx' = rate\n\
        ## a spike\nwhen x > limit { x := 0; spikes += 1 }\n";
    let model = "index i = 1..3\nuse \"neuron.ode\" as n[i] { rate = i }\nrun { t = 0 .. 3.4; samples = 1 }\n\
        output a = n[1].spikes, b = n[2].spikes, c = n[3].spikes\n";
    let folder = folder("events", &[("neuron.ode", part), ("model.ode", model)]);
    let last = rows(&folder, "run model.ode --record a,b,c");
    assert!(last.trim().ends_with("3.4,3,6,10"), "{last}");
}

#[test]
fn time_is_that_of_the_model() {
    let part = "time s [ms]\nparam tau = 5 [ms]\nstate x = 1\nx' = -x/tau + 0*s/(1 [ms^2])\n";
    let model = "time u [ms]\nuse \"part.ode\" as p { tau = 2 [ms] + 0.5*u }\nrun { u = 0 .. 4 [ms]; samples = 1 }\n";
    let checked = check(&[("part.ode", part)], model);
    assert!(errors(&checked).is_empty(), "{:?}", checked.diagnostics);
    let shown = checked.model.expect("a model").to_string();
    assert!(shown.contains("p.tau = 2 + 0.5*u"), "{shown}");
}

#[test]
fn units_of_values_are_converted_to_those_of_the_part() {
    let part = "param I = 1 [mA], C = 2 [mF]\nstate V = 0 [V]\nV' = I/C\n";
    let model =
        |value: &str| format!("param k = 2 [A]\nuse \"part.ode\" as p {{ I = {value} }}\nrun {{ t = 0 .. 1 }}\n");
    let folder = folder("units", &[("part.ode", part)]);
    let last = |value: &str| {
        std::fs::write(folder.join("model.ode"), model(value)).expect("a file");
        let rows = rows(&folder, "run model.ode --samples 1 --method euler --step 0.5");
        rows.trim().rsplit(',').next().and_then(|v| v.parse::<f64>().ok()).expect("a number")
    };
    for (value, expected) in [("4", 2.0), ("4 [mA]", 2.0), ("4 [A]", 2000.0), ("k", 1000.0), ("2*k", 2000.0)] {
        assert_eq!(last(value), expected, "{value}");
    }
}

/// The units of the quantities of a part stand in the header line, whether its names have an index or not.
#[test]
fn rows_of_parts_have_units() {
    let part = "index j = 1..2\nparam k = 1 [1/s]\nstate V = 1 [mV], q[j] = 1 [m], x = 1 [m], x' = 0\nV' = -k*V\n\
                q[j]' = -k*q[j]\nx'' = -k^2*x\noutput Q = k*V, w[j] = k*q[j]\n";
    let model = "index i = 1..2\nuse \"part.ode\" as a[i]\nuse \"part.ode\" as b\nrun { t = 0 .. 1 }\n";
    let folder = folder("header", &[("part.ode", part), ("model.ode", model)]);
    let ran = run(&folder, "run model.ode --units --samples 1").success();
    let text = ran.text();
    let header: Vec<&str> = text.lines().next().expect("a line").split(',').collect();
    for name in ["V [mV]", "x [m]", "x' [m/s]", "Q [mV/s]"] {
        for part in ["a[1]", "a[2]", "b"] {
            assert!(header.contains(&format!("{part}.{name}").as_str()), "{part}.{name} {header:?}");
        }
    }
    for name in ["a[1].q[2] [m]", "a[2].w[1] [m/s]", "b.q[1] [m]", "b.w[2] [m/s]"] {
        assert!(header.contains(&name), "{name} {header:?}");
    }
}

#[test]
fn outputs_of_parts_have_the_names_of_the_text() {
    let part = "const M = 3\nindex j = 1..M\nstate u[j] = j, v = 1\nu[j]' = -u[j]\nv' = -v\nd[j] = 2*u[j]\noutput d, v, e = 3*v\n";
    let model = "index i = 1..2\nuse \"part.ode\" as c[i]\nuse \"part.ode\" as b\noutput b.u[3], c[2].u[1]\n\
                 run { t = 0 .. 1; samples = 1 }\n";
    let folder = folder("outputs", &[("part.ode", part), ("model.ode", model)]);
    let text = run(&folder, "run model.ode").success().text();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<&str>>());
    let (header, first) = (lines.next().expect("names"), lines.next().expect("a row"));
    let value = |name: &str| header.iter().position(|n| *n == name).map(|k| first[k].parse::<f64>().expect("a number"));
    assert!(header.iter().all(|name| !name.contains("[]")), "{header:?}");
    for (name, wanted) in
        [("b.u[3]", 3.0), ("c[2].d[3]", 6.0), ("c[1].d[2]", 4.0), ("c[2].e", 3.0), ("c[2].u[1]", 1.0), ("b.d[1]", 2.0)]
    {
        assert_eq!(value(name), Some(wanted), "{name} {header:?}");
    }
}

#[test]
fn messages_show_the_file_of_each_place() {
    let part = "param k = 1\nstate x = 1\nx' = -k*x\n";
    let model = "# a comment\nuse \"part.ode\" as p\np.x' = 3\n";
    let folder = folder("places", &[("part.ode", part), ("model.ode", model)]);
    let ran = run(&folder, "check model.ode --message-format json");
    let message: serde_json::Value = serde_json::from_str(ran.err.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&message["code"], &message["file"]), (&"E0304".into(), &"model.ode".into()), "{message}");
    let labels = message["labels"].as_array().expect("labels");
    let place = |label: &serde_json::Value| {
        (label["file"].as_str().map(str::to_owned), label["line"].as_u64(), label["column"].as_u64())
    };
    assert_eq!(place(&labels[0]), (None, Some(3), Some(1)), "{message}");
    assert_eq!(place(&labels[1]), (Some("part.ode".to_owned()), Some(3), Some(1)), "{message}");
    // a mistake in a part is reported once, regardless of the number of uses of the part
    let twice = check(&[("part.ode", "state x = 1\nx' = -rate*x\n")], "use \"part.ode\" as a\nuse \"part.ode\" as b\n");
    assert_eq!(errors(&twice).len(), 1, "{:?}", twice.diagnostics);
    // a mistake in the model is reported there, regardless of its parts
    let other = check(&[("part.ode", part)], "use \"part.ode\" as a { k = kk }\n");
    let source = among(&[("part.ode", part)], Source::new("model.ode", "use \"part.ode\" as a { k = kk }\n"));
    assert_eq!(source.place(errors(&other)[0].span().expect("a place")), ("model.ode", 1, 27));
}

#[test]
fn fixes_are_made_in_the_model_and_never_in_a_part() {
    let part = "param threshold = 1\nstate x = 1\nx' = -x**2 +* threshold\n";
    let model = "use \"part.ode\" as p { threshlod = 2 }\nstate y = 1\ny' = -y\n";
    let good = "param threshold = 1\nstate x = 1\nx' = threshold - x\n";
    let folder = folder("fixes", &[("part.ode", part), ("model.ode", model)]);
    run(&folder, "check model.ode --fix");
    assert_eq!(std::fs::read_to_string(folder.join("part.ode")).expect("a file"), part);
    std::fs::write(folder.join("part.ode"), good).expect("a file");
    run(&folder, "check model.ode --fix").success();
    let mended = std::fs::read_to_string(folder.join("model.ode")).expect("a file");
    assert_eq!(mended, model.replace("threshlod", "threshold"));
}

#[test]
fn there_are_not_too_many_parts() {
    let cell = "state x = 1\nx' = -x\n";
    let many = |n: usize| (0..n).map(|k| format!("use \"cell.ode\" as c{k}\n")).collect::<String>();
    let checked = check(&[("cell.ode", cell)], &many(50));
    assert_eq!(checked.model.expect("a model").states.len(), 50);
    // parts of parts count: 13 x 13 x 13 exceeds the limit
    let files = [("cell.ode", cell), ("a.ode", &many(13)), ("b.ode", &many(13).replace("cell", "a"))];
    let checked = check(&files, &many(13).replace("cell", "b"));
    let found = errors(&checked);
    assert!(found.iter().any(|d| d.code == "E0589" && d.headline.contains(&MAX_PARTS.to_string())), "{found:?}");
}

#[test]
fn a_program_without_files_says_so() {
    let checked = odec_lang::check(&Source::new("model.ode", "use \"cell.ode\" as c\nstate x = 1\nx' = -x\n"));
    assert!(errors(&checked)[0].headline.contains("gives models no access to files"), "{:?}", checked.diagnostics);
}

#[test]
fn functions_of_parts_mean_in_the_model_what_they_mean_alone() {
    // the model's time has the name of an argument, and its parameter that of a mathematical constant
    let part = "fn f(tau) = tau*t\nstate x = 0, q = 0\nx' = f(3)\nq' = pi\n";
    let files =
        folder("time", &[("p.ode", part), ("m.ode", "time tau\nparam pi = 5\nuse \"p.ode\" as c\noutput pi\n")]);
    let last = rows(&files, "run m.ode --t 0..2 --samples 1 --quiet");
    let row: Vec<f64> = last.lines().last().expect("a row").split(',').map(|x| x.parse().expect("a number")).collect();
    assert!((row[1] - 6.0).abs() < 1e-9 && (row[2] - 2.0 * std::f64::consts::PI).abs() < 1e-9, "{row:?}");
    // a call of `max` in a part does not refer to that of the model
    let clipped = check(&[("p.ode", "state x = 1\nx' = -max(x, 0)\n")], "use \"p.ode\" as c\nfn max(a, b) = a + b\n");
    assert_eq!(errors(&clipped).iter().map(|d| d.code.code).collect::<Vec<_>>(), ["E0536"]);
}

#[test]
fn a_function_in_an_array_of_parts_reads_its_own_part() {
    let part = "param k = 1\nstate x = 1\nfn rate(i) = -k*x*i + shift(i)\nfn shift(a) = a*x^2/10\nx' = rate(2)\n";
    let model = "index i = 1..3\nuse \"p.ode\" as c[i] { k = 0.1*i }\nrun { t = 0 .. 2; samples = 4; rtol = 1e-9 }\n";
    let by_hand = "index i = 1..3\nstate x[i] = 1\nx[i]' = -0.1*i*x[i]*2 + 2*x[i]^2/10\n\
                   run { t = 0 .. 2; samples = 4; rtol = 1e-9 }\n";
    let files = folder("own", &[("p.ode", part), ("m.ode", model), ("hand.ode", by_hand)]);
    let numbers = |text: String| -> Vec<f64> {
        text.lines().flat_map(|row| row.split(',')).map(|x| x.parse().expect("a number")).collect()
    };
    let (ours, hand) = (numbers(rows(&files, "run m.ode --quiet")), numbers(rows(&files, "run hand.ode --quiet")));
    assert_eq!(ours.len(), hand.len());
    assert!(ours.len() == 20 && ours.iter().zip(&hand).all(|(a, b)| (a - b).abs() < 1e-7), "{ours:?} {hand:?}");
}

#[test]
fn a_function_of_one_part_is_called_with_the_index_of_the_part() {
    let part = "param a = 1\nstate x = 1\nx' = -a*x\nfn f(u) = a*u^2 + x\nfn cube(u) = u^3\n";
    let pair = "index j = 1..2\nuse \"p.ode\" as p[j] { a = j }\noutput s = sum(j: p[j].f(j))\n";
    let model = "index i = 1..3\nuse \"p.ode\" as k[i] { a = 2*i }\nuse \"p.ode\" as d\n\
                 use \"pair.ode\" as b[i]\nuse \"pair.ode\" as one\n\
                 output g[i] = k[i].f(2), first = k[1].f(3), next[i in 1..2] = k[i+1].f(i), one3 = d.f(3)\n\
                 output same = k[2].cube(3), shared = k.cube(3), deep = b[3].p[2].f(5), flat = one.p[2].f(5)\n\
                 run { t = 0 .. 1; samples = 1 }\n";
    let files = folder("called", &[("p.ode", part), ("pair.ode", pair), ("m.ode", model)]);
    let text = run(&files, "run m.ode --quiet").success().text();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<&str>>());
    let (header, start) = (lines.next().expect("names"), lines.next().expect("a row"));
    let wanted = [
        ("g[1]", 9.0),
        ("g[3]", 25.0),
        ("first", 19.0),
        ("next[1]", 5.0),
        ("next[2]", 25.0),
        ("one3", 10.0),
        ("same", 27.0),
        ("shared", 27.0),
        ("deep", 51.0),
        ("flat", 51.0),
        ("b[2].s", 11.0),
    ];
    for (name, value) in wanted {
        let at = header.iter().position(|n| *n == name).unwrap_or_else(|| panic!("{name} {header:?}"));
        assert_eq!(start[at].parse(), Ok(value), "{name}");
    }
}

#[test]
fn a_call_of_a_function_of_a_part_says_what_to_write() {
    let part = "param a = 1\nstate x = 1\nx' = -a*x\nfn f(u) = x*u\n";
    let pair = "index j = 1..2\nuse \"p.ode\" as p[j]\n";
    let head = "index i = 1..3\nuse \"p.ode\" as k[i]\nuse \"p.ode\" as d\nuse \"pair.ode\" as b\nstate u[i] = 1\nu[i]' = -u[i]\n";
    for (call, code, help) in [
        ("k.f(2)", "E0586", "`k[i].f(...)`"),
        ("d[1].f(2)", "E0586", "`d.f(...)`"),
        ("k[1,2].f(2)", "E0586", "`k[i].f(...)`"),
        ("b.p.f(2)", "E0586", "`b.p[j].f(...)`"),
        ("k[1].f(2, 3)", "E0204", "its arguments are `(u)`"),
        ("k[1..2].f(2)", "E0118", "`c[i].f(x)`"),
        ("u[1].f(2)", "E0203", "as u[i]`"),
    ] {
        let checked = check(&[("p.ode", part), ("pair.ode", pair)], &format!("{head}output y = {call}\n"));
        let [only] = errors(&checked)[..] else { panic!("{call}: {:?}", errors(&checked)) };
        assert_eq!(only.code.code, code, "{call}: {only:?}");
        assert!(only.help.as_deref().is_some_and(|text| text.contains(help)), "{call}: {only:?}");
    }
}

#[test]
fn labels_of_panels_are_names_without_empty_brackets() {
    let part = "state x = 0 [m], x' = 1 [m/s]\nx'' = -x/(1 [s^2])\noutput force = x*(3 [N/m])\n";
    let model = "index i = 1..3\nuse \"p.ode\" as p[i]\nrun { t = 0 .. 1; samples = 9 }\n";
    let files = folder("labels", &[("p.ode", part), ("m.ode", model)]);
    run(&files, "plot m.ode -o m.svg").success();
    let picture = std::fs::read_to_string(files.join("m.svg")).expect("a picture");
    assert!(!picture.contains("p[]"), "empty brackets");
    for label in ["p.x [m]", "p.x&apos; [m/s]", "p.force [N]"] {
        assert!(picture.contains(label), "{label}");
    }
}

#[test]
fn a_sum_of_currents_of_parts_determines_a_voltage() {
    // no unknown of the model is in the sum of currents: the equations of the parts contain the voltages
    let part = "param V = 0, R = 1\nunknown I = 0\nV - R*I = 0\n";
    let head = "state q = 1\nq' = -q*b\n";
    let model = "index k = 1..3\nunknown a = 0, b = 0\nuse \"r.ode\" as r[k] { R = k; V = if k == 1 then 6 - a else if k == 2 then a - b else b }\n\
                 0 = r[1].I - r[2].I\n0 = r[2].I - r[3].I\n";
    let run_block = "run { t = 0 .. 1; samples = 1; rtol = 1e-9 }\n";
    let files = folder(
        "currents",
        &[
            ("r.ode", part),
            (
                "m.ode",
                &format!(
                    "{head}{model}{run_block}expect a(1) = 5 within 1e-8\nexpect b(1) = 3 within 1e-8\nexpect q(1) = exp(-3) within 1e-7\n"
                ),
            ),
        ],
    );
    run(&files, "test m.ode").success();
}
