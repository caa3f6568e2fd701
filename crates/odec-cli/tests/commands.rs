//! Every command, at least once, as a user types it.

use crate::common;

use common::{DECAY, Folder, model, whole};

#[test]
fn run_writes_rows_and_a_summary() {
    let folder = Folder::new("run").with("decay.ode", DECAY);
    let ran = folder.run(&["run", "decay.ode"]).exits(0);
    let table = ran.out();
    assert_eq!(whole(&table), 5);
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("t,x,half"));
    assert_eq!(lines.next(), Some("0,1,0.5"));
    let last: Vec<f64> = table.lines().last().expect("rows").split(',').map(|v| v.parse().expect("a number")).collect();
    assert_eq!(last[0], 2.0);
    assert!((last[1] - (-2.0f64).exp()).abs() < 1e-6);
    assert_eq!(last[2], last[1] / 2.0);
    let summary = ran.err();
    for line in ["decay ", "method ", "steps ", "work ", "time ", "drifts by"] {
        assert!(summary.lines().any(|l| l.contains(line)), "`{line}` is not in\n{summary}");
    }
    assert!(folder.run(&["run", "decay.ode", "--quiet"]).exits(0).err().is_empty());
}

#[test]
fn each_entry_of_the_run_block_has_a_flag() {
    let folder = Folder::new("flags").with("decay.ode", DECAY);
    let rows = |flags: &[&str]| {
        let arguments = [&["run", "decay.ode", "-q"], flags].concat();
        let out = folder.run(&arguments).exits(0).out();
        whole(&out);
        out
    };
    let last = |table: &str, column: usize| {
        let field = table.lines().last().and_then(|l| l.split(',').nth(column)).expect("a field");
        field.parse::<f64>().expect("a number")
    };
    assert_eq!(last(&rows(&["--t-end", "1"]), 0), 1.0);
    assert!(rows(&["--t", "1..3"]).contains("\n1,1,"));
    assert!((last(&rows(&["--set", "k=2"]), 1) - (-4.0f64).exp()).abs() < 1e-6);
    assert!((last(&rows(&["--set", "x=3"]), 1) - 3.0 * (-2.0f64).exp()).abs() < 1e-6);
    assert_eq!(rows(&["--method", "euler", "--step", "0.5"]).lines().nth(2), Some("0.5,0.5,0.25"));
    assert_eq!(whole(&rows(&["--samples", "10"])), 11);
    assert_eq!(whole(&rows(&["--samples", "log(3, 0.02)"])), 4);
    assert!(rows(&["--samples", "log(3, 0.02)"]).lines().nth(3).expect("a row").starts_with("0.2"));
    assert_eq!(whole(&rows(&["--samples", "0.5,1.5"])), 2);
    assert_eq!(whole(&rows(&["--samples", "[0, 0.5, 1.5]"])), 3);
    assert!(whole(&rows(&["--samples", "steps", "--method", "tsit5"])) > 5);
    assert!(rows(&["--record", "outputs"]).starts_with("t,half\n"));
    assert!(rows(&["--record", "half,x"]).starts_with("t,half,x\n"));
    assert_eq!(last(&rows(&["--t", "2..0"]), 0), 0.0);
    let steps = |flags: &[&str]| whole(&rows(&[&["--samples", "steps"], flags].concat()));
    assert!(steps(&["--method", "rodas4", "--rtol", "1e-11"]) > 2 * steps(&["--method", "rodas4", "--rtol", "1e-4"]));
    assert!(steps(&["--rtol", "1e-12", "--atol", "1e-1"]) < steps(&["--rtol", "1e-12", "--atol", "x=1e-14"]));
    assert!(steps(&["--max-step", "0.01"]) >= 200);
    // without samples, constant steps are rows
    let bare = Folder::new("bare").with("bare.ode", "state x = 1\nx' = -x\n");
    assert_eq!(
        whole(&bare.run(&["run", "bare.ode", "--t-end", "1", "--method", "rk4", "--step", "0.1"]).exits(0).out()),
        11
    );
    assert_eq!(whole(&bare.run(&["run", "bare.ode", "--t-end", "1"]).exits(0).out()), 201);
}

#[test]
fn check_fixes_all_mistakes_of_a_line_together() {
    let text = "model m\nstate x = 1, y = 2\nx' = 2x + 3x - 4y\ny' = -y + sin (x)\nrun { t = 0 .. 1 }\n";
    let folder = Folder::new("mend").with("m.ode", text);
    folder.run(&["check", "--fix", "m.ode"]).exits(0).says("corrected 4 places").says("no errors");
    assert_eq!(folder.read("m.ode"), text.replace("2x + 3x - 4y", "2*x + 3*x - 4*y").replace("sin (x)", "sin(x)"));
}

#[test]
fn check_removes_all_semicolons_at_once() {
    let text = "state x = 1;\nx' = -2*x;   # a comment\noutput a = x; output b = 2*x\nrun { t = 0 .. 1 };";
    let folder = Folder::new("semicolons").with("m.ode", text);
    folder.run(&["check", "--fix", "m.ode"]).exits(0).says("corrected 4 places").says("no errors");
    let clean = "state x = 1\nx' = -2*x   # a comment\noutput a = x\n output b = 2*x\nrun { t = 0 .. 1 }";
    assert_eq!(folder.read("m.ode"), clean);
}

#[test]
fn check_reports_what_fixes_leave_in_standard_input() {
    let folder = Folder::new("left");
    let check = |text: &str| folder.fed(&["check", "--fix", "-"], text);
    let left = check("state x = 1\nx' = -x + q\n").exits(1).says("`q`");
    assert_eq!(left.out(), "state x = 1\nx' = -x + q\n");
    check("state x = 1\nx' = -x + 2x\n").exits(0).says("no errors");
}

#[test]
fn check_refuses_sample_times_that_run_refuses() {
    let model = |samples: &str| format!("state x = 1\nx' = -x\nrun {{ t = 0 .. 1; samples = {samples} }}\n");
    let folder = Folder::new("late").with("late.ode", &model("[0.5, 2]")).with("log.ode", &model("log(10, 5)"));
    for file in ["late.ode", "log.ode"] {
        for command in ["check", "run"] {
            folder.run(&[command, file]).exits(1).says("E0618");
        }
    }
    // a run whose end is given by the command
    let open = Folder::new("open").with("open.ode", "state x = 1\nx' = -x\nrun { samples = [0.5, 2] }\n");
    open.run(&["check", "open.ode"]).exits(0);
}

#[test]
fn check_refuses_starts_and_tolerances_that_run_refuses() {
    let models = [
        ("bound.ode", "state x = -1, x >= 0\nx' = -x\n", "E0407"),
        ("above.ode", "param top = 2\nstate x = 3, x <= top\nx' = -x\nrun { t = 0 .. 1 }\n", "E0407"),
        ("rate.ode", "state x = 1, x' = -2, x' >= -1\nx'' = -x\nrun { t = 0 .. 1 }\n", "E0407"),
        ("tight.ode", "state x = 1\nx' = -x\nrun { t = 0 .. 1; rtol = 1e-18 }\n", "E0614"),
        ("loose.ode", "state x = 1\nx' = -x\nrun { t = 0 .. 1; rtol = 2 }\n", "E0405"),
    ];
    let folder = models.iter().fold(Folder::new("starts"), |folder, (file, text, _)| folder.with(file, text));
    for (file, _, code) in models {
        for command in [&["check", file][..], &["run", file, "--t-end", "1"]] {
            folder.run(command).exits(1).says(code);
        }
    }
    // a value from the command line or from a parameter set
    folder.run(&["check", "above.ode", "--set", "top=4"]).exits(0);
    let set =
        "param top = 2\nstate x = 3, x <= top\nx' = -x\nparams high { top = 4 }\nrun { t = 0 .. 1; params = high }\n";
    let folder = Folder::new("high").with("m.ode", set);
    folder.run(&["check", "m.ode"]).exits(0);
    folder.run(&["run", "m.ode"]).exits(0);
}

#[test]
fn an_expectation_of_an_element_that_a_size_takes_away_is_no_missing_line() {
    let text = "const N = 20\nindex i = 1..N\nstate u[i] = 1\nu[i]' = -u[i]\nrun { t = 0 .. 1 }\n\
                expect u[15](1) = exp(-1)\n";
    let folder = Folder::new("gone").with("m.ode", text);
    assert!(folder.run(&["test", "m.ode"]).exits(0).out().contains("1 of 1 passed"));
    let smaller = folder.run(&["test", "m.ode", "--set", "N=10"]).says("W0403").out();
    assert!(smaller.contains("no `expect` line of the model applies"), "{smaller}");
}

#[test]
fn test_and_plot_print_the_warnings_of_run() {
    let text = "param k = 100\nstate y = 1\ny' = -k*y\nexpect y(1) = 0 within 1e300\nrun { t = 0 .. 1; method = euler; step = 0.1; samples = steps }\n";
    let folder = Folder::new("said").with("m.ode", text);
    for command in [&["run", "m.ode"][..], &["test", "m.ode"], &["plot", "m.ode"]] {
        let ran = folder.run(command).exits(0).says("W0603").says("at most 0.02");
        assert_eq!(ran.err().matches("W0603").count(), 1, "{}", ran.err());
    }
    let lorenz = "state x = 1, y = 1, z = 1\nx' = 10*(y - x)\ny' = x*(28 - z) - y\nz' = x*y - 8/3*z\n\
                  run { t = 0 .. 40 }\n";
    let folder = Folder::new("lorenz").with("m.ode", lorenz);
    for command in ["run", "plot"] {
        folder.run(&[command, "m.ode"]).exits(0).says("W0622").says("rows are off");
    }
    // a drift that the table of expectations shows is not reported twice
    let leak = "state S = 1, I = 0\nS' = -S\nI' = 0.9*S\nconserve S + I within 1e-6\nrun { t = 0 .. 1 }\n";
    let folder = Folder::new("leak").with("leak.ode", leak);
    folder.run(&["run", "leak.ode"]).exits(0).says("W0601");
    folder.run(&["plot", "leak.ode"]).exits(0).says("W0601");
    let tested = folder.run(&["test", "leak.ode"]).exits(4).says("E0617");
    assert!(!tested.err().contains("W0601"), "{}", tested.err());
}

#[test]
fn a_warning_that_explains_a_failure_is_printed_once() {
    let folder = Folder::new("once").with("m.ode", "param k = 3\nstate x = 1\nx' = k*x\nrun { t = 0 .. 1000 }\n");
    let ran = folder.run(&["run", "m.ode"]).exits(3).says("warning[W0605]").says("see the warning W0605 above");
    assert_eq!(ran.err().matches("grows without bound").count(), 1, "{}", ran.err());
    // without an earlier message, the failure contains the explanation
    let ran = folder.run(&["run", "-q", "m.ode"]).exits(3).says("grows without bound");
    assert!(!ran.err().contains("above"), "{}", ran.err());
    let ran = folder.run(&["plot", "m.ode"]).exits(3).says("error[E06").says("grows without bound");
    assert_eq!(ran.err().matches("grows without bound").count(), 1, "{}", ran.err());
}

#[test]
fn named_runs_and_sets_of_parameters_are_chosen() {
    let text = "param k = 1\nstate x = 1\nx' = -k*x\nparams fast { k = 3 }\nrun { t = 0 .. 1; samples = 1 }\n\
                run long { t = 0 .. 10; samples = 1 }\n";
    let folder = Folder::new("named").with("m.ode", text);
    let last = |flags: &[&str]| {
        let out = folder.run(&[&["run", "m.ode", "-q"], flags].concat()).exits(0).out();
        let row: Vec<f64> =
            out.lines().last().expect("rows").split(',').map(|v| v.parse().expect("a number")).collect();
        row
    };
    assert_eq!(last(&["--run", "long"])[0], 10.0);
    assert!((last(&["--params", "fast"])[1] - (-3.0f64).exp()).abs() < 1e-4);
}

#[test]
fn the_summary_is_json_too() {
    let folder = Folder::new("stats").with("decay.ode", DECAY);
    folder.run(&["run", "decay.ode", "-q", "--stats", "stats.json"]).exits(0);
    let ran = folder.run(&["run", "decay.ode", "-q", "-o", "rows.csv", "--stats", "-"]).exits(0);
    for text in [folder.read("stats.json"), ran.out()] {
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["model"], "decay");
        assert_eq!(value["rows"], 5);
        assert_eq!(value["stop"], "end");
        assert!(value["counts"]["accepted"].as_u64().is_some_and(|n| n > 0));
        assert!(value["conserved"][0]["drift"].as_f64().is_some_and(|d| d.abs() < 1e-3));
        assert!(value["seconds"]["solve"].as_f64().is_some_and(|s| s > 0.0));
    }
    assert_eq!(whole(&folder.read("rows.csv")), 5);
}

#[test]
fn check_finds_faults_and_compares_derivatives() {
    let folder = Folder::new("check").with("decay.ode", DECAY).with("bad.ode", "state x = 1\nx' = -kk*x\n");
    folder.run(&["check", "decay.ode"]).exits(0).says("no errors");
    folder.run(&["check", "bad.ode"]).exits(1).says("bad.ode:2:7").says("kk");
    let ran = folder.run(&["check", &model("pollu.ode"), "--derivatives"]).exits(0);
    assert_eq!(ran.out().lines().filter(|l| l.starts_with("df/d")).count(), 3, "{}", ran.out());
    assert!(!ran.out().contains("WRONG"), "{}", ran.out());
}

#[test]
fn diagnostics_are_json_lines_on_demand() {
    let folder = Folder::new("json").with("bad.ode", "state x = 1\nx' = -kk*x\n");
    let ran = folder.run(&["check", "bad.ode", "--message-format", "json"]).exits(1);
    let value: serde_json::Value = serde_json::from_str(ran.err().trim()).expect("one line of JSON");
    assert_eq!(value["severity"], "error");
    assert_eq!(value["file"], "bad.ode");
    assert_eq!((value["labels"][0]["line"].as_u64(), value["labels"][0]["column"].as_u64()), (Some(2), Some(7)));
}

#[test]
fn test_checks_the_expectations_of_a_model() {
    let folder = Folder::new("test").with("decay.ode", DECAY);
    folder.run(&["test", "decay.ode"]).exits(0).prints("ok ").prints("2 of 2 passed");
    let ran = folder.run(&["test", "decay.ode", "--set", "k=2"]).exits(4);
    let ran = ran.prints("FAILED  x(2)").prints("1 of 2 passed").says("E0616").says("decay.ode:8:1");
    assert!(ran.err().contains("permitted"), "{}", ran.err());
    folder
        .run(&["test", "decay.ode", "--method", "euler", "--step", "0.1"])
        .exits(4)
        .prints("FAILED  x*exp(k*t)")
        .says("E0617");
}

#[test]
fn curves_with_poles_end_at_their_usual_values() {
    let text = "state x = 1, v = 0\nx' = v\nv' = -x\noutput gain = 1/x, slope = tan(t), peak = exp(-((t - 20)/0.01)^2) + 1e-6*x\n\
                run { t = 0 .. 50 }\n";
    let folder = Folder::new("poles").with("m.ode", text);
    folder.run(&["plot", "m.ode", "gain", "slope", "-o", "a.svg"]).exits(0).says("`gain`, `slope`: the axis ends");
    // the labels of the axis show its scale; a pulse is shown whole
    let picture = folder.read("a.svg");
    assert!(["10", "−10"].iter().all(|label| picture.contains(&format!(">\n{label}\n<"))), "{picture}");
    let ran = folder.run(&["plot", "m.ode", "peak", "x", "-o", "b.svg"]).exits(0);
    assert!(!ran.err().contains("poles"), "{}", ran.err());
}

#[test]
fn quantities_with_different_units_or_sizes_have_their_own_panels() {
    let text = "time t [h]\nparam k = 0.1 [1/h]\nstate A = 10 [mg]\nA' = -k*A\nB = A/k\noutput B, D = 2*A\n\
                run { t = 0 .. 10 }\n";
    let folder = Folder::new("panels").with("m.ode", text);
    folder.run(&["plot", "m.ode", "B", "D", "-o", "a.svg"]).exits(0);
    let picture = folder.read("a.svg");
    for label in ["B [h*mg]", "D [mg]"] {
        assert!(picture.contains(label), "`{label}` is missing: {picture}");
    }
    let sizes = "state a = 1e9, b = 1e6, c = 1e3, d = 1, e = 1e-3, f = 1e-6\na' = -a\nb' = -b\nc' = -c\nd' = -d\n\
                 e' = -e\nf' = -f\nrun { t = 0 .. 1 }\n";
    let folder = Folder::new("sizes").with("m.ode", sizes);
    folder.run(&["plot", "m.ode", "-o", "a.svg"]).exits(0);
    // each panel has one curve, which its axis names
    let picture = folder.read("a.svg");
    for name in ["a", "b", "c", "d", "e", "f"] {
        assert!(picture.contains(&format!(">\n{name}\n<")), "`{name}` has no panel: {picture}");
    }
}

#[test]
fn plot_draws_svg_and_png() {
    let folder = Folder::new("plot").with("decay.ode", DECAY);
    folder.run(&["plot", "decay.ode"]).exits(0).says("wrote decay.svg");
    let svg = folder.read("decay.svg");
    assert!(svg.starts_with("<svg ") && svg.contains("<polyline") && svg.contains("decay"), "{svg}");
    folder.run(&["plot", "decay.ode", "half", "--x", "x", "--log", "xy", "--size", "400x300", "-o", "a.png"]).exits(0);
    let png = std::fs::read(folder.path("a.png")).expect("a picture");
    assert_eq!(&png[1..4], b"PNG");
    assert_eq!(&png[16..24], &[0, 0, 1, 144, 0, 0, 1, 44], "400 x 300");
    folder.run(&["plot", "decay.ode", "-o", "a.bmp"]).exits(2).says("E0711");
    folder.run(&["plot", "decay.ode", "hal"]).exits(2).says("did you mean `half`?");
    folder.run(&["plot", "decay.ode", "--size", "9x9"]).exits(2).says("--size 9x9");
}

#[test]
fn dump_prints_each_stage() {
    let folder = Folder::new("dump").with("decay.ode", DECAY);
    for (stage, part) in [("tree", "x"), ("model", "half"), ("ir", "k"), ("clif", "function"), ("asm", "ret")] {
        folder.run(&["dump", "decay.ode", "--stage", stage]).exits(0).prints(part);
    }
}

#[test]
fn emit_writes_code_with_a_header() {
    let folder = Folder::new("emit").with("decay.ode", DECAY);
    folder.run(&["emit", "decay.ode", "--to", "c"]).exits(0).says("wrote decay.c and decay.h");
    assert!(folder.read("decay.c").contains("decay_") && folder.read("decay.h").contains("decay_"));
    folder.run(&["emit", "decay.ode", "--to", "object", "-o", "m.o", "--prefix", "mine"]).exits(0);
    assert!(folder.read("m.h").contains("mine_"));
    assert!(folder.path("m.o").metadata().is_ok_and(|m| m.len() > 0));
    folder.run(&["emit", "decay.ode", "--to", "clif"]).exits(0);
    folder.run(&["emit", "decay.ode", "--to", "asm"]).exits(0);
    folder.run(&["emit", "decay.ode", "--to", "c", "-o", "m.h"]).exits(2).says("header");
    folder.run(&["emit", "decay.ode", "--to", "c", "--prefix", "1x"]).exits(2).says("--prefix 1x");
}

#[test]
fn new_writes_a_model_that_keeps_its_promises() {
    let folder = Folder::new("new");
    folder.run(&["new", "my-first"]).exits(0).says("my-first.ode");
    folder.run(&["test", "my-first.ode"]).exits(0).prints("1 of 1 passed");
    let before = folder.read("my-first.ode");
    folder.run(&["new", "my-first"]).exits(5).says("does not overwrite");
    assert_eq!(folder.read("my-first.ode"), before);
}

#[test]
fn the_other_commands_run() {
    let folder = Folder::new("rest");
    folder.run(&["methods"]).exits(0).prints("rodas4").prints("dopri5");
    folder.run(&["explain", "e0601"]).exits(0).prints("# E0601");
    folder.run(&["explain"]).exits(0).prints("E0701");
    folder.run(&["completions", "bash"]).exits(0).prints("odec");
    folder.run(&["man"]).exits(0).prints(".TH odec");
    folder.run(&["--help"]).exits(0).prints("Exit codes");
    folder.run(&["--version"]).exits(0).prints("odec ");
    folder.run(&["run"]).exits(2).says("FILE");
    folder.run(&["fly"]).exits(2);
}

#[test]
fn the_same_run_gives_the_same_bytes_compiled_or_interpreted() {
    let folder = Folder::new("bits");
    for (name, method) in [("robertson.ode", "bdf"), ("pollu.ode", "rodas4"), ("kepler.ode", "dopri5")] {
        let file = model(name);
        let rows = |flags: &[&str]| {
            let base = ["run", file.as_str(), "-q", "--method", method, "--rtol", "1e-5", "--samples", "20"];
            folder.run(&[&base, flags].concat()).exits(0).0.stdout
        };
        let first = rows(&[]);
        assert!(first.len() > 500);
        assert!(first == rows(&[]), "{name}: not the same twice");
        assert!(first == rows(&["--interpret"]), "{name}: machine code and interpreter differ");
    }
}

/// One compartment with absorption, in units.
const ORAL: &str = "time t [h]\nparam CL = 3 [L/h], V = 30 [L], ka = 1.2 [1/h], dose = 320 [mg]\n\
                    state gut = dose, C = 0 [mg/L]\ngut' = -ka*gut\nC' = (ka*gut - CL*C)/V\noutput size = V\n\
                    run { t = 0 .. 24 }\n";

#[test]
fn tables_and_summaries_have_units() {
    let data = "t,C\n0.5,4.5\n1,7.2\n2,8.6\n4,7.9\n8,5.5\n12,3.7\n";
    let folder = Folder::new("units").with("oral.ode", ORAL).with("data.csv", data);
    folder.run(&["run", "oral.ode", "-o", "rows.csv"]).exits(0).says("t       0 .. 24 h, 201 rows");
    let out = folder.run(&["fit", "oral.ode", "data.csv", "--params", "CL,V"]).exits(0).out();
    assert!(out.contains("CL [L/h]") && out.contains("V [L]"), "{out}");
    let out = folder.run(&["steady", "oral.ode"]).exits(0).out();
    assert!(out.contains("C = 0 [mg/L]") && out.contains("-1.2 [1/h]"), "{out}");
    // the default unit of time is named, too
    let timeless = ORAL.replace("time t [h]\n", "");
    let folder = folder.with("timeless.ode", &timeless);
    folder.run(&["run", "timeless.ode", "-o", "rows2.csv"]).exits(0).says("0 .. 24 s, 201 rows");
    let folder = folder.with("time.csv", &data.replace("t,C", "time,C"));
    folder.run(&["fit", "oral.ode", "time.csv", "--params", "CL"]).exits(2).says("rename the column `time` to `t`");
}

#[test]
fn a_plot_without_names_leaves_out_constant_outputs() {
    let folder = Folder::new("constants").with("oral.ode", ORAL);
    let plot = |extra: &[&str]| folder.run(&[&["plot", "oral.ode", "-o", "p.svg"], extra].concat()).exits(0).err();
    assert!(plot(&[]).contains("not plotted because they are constant: size; `odec plot FILE size`"));
    assert!(!plot(&["size"]).contains("constant"));
    // the first instants of a rise from 0 do not fill the axis
    plot(&["C", "--log", "y"]);
    let picture = folder.read("p.svg");
    assert!(!picture.contains("10⁻⁴") && !picture.contains("1e-4"), "{picture}");
}

#[test]
fn times_of_rows_that_do_not_fit_are_explained() {
    let folder = Folder::new("times").with("decay.ode", DECAY);
    folder.run(&["run", "decay.ode", "--samples", "1,0.5"]).exits(2).says("sort the times");
    folder
        .run(&["run", "decay.ode", "--samples", "0.5,3"])
        .exits(2)
        .says("choose times up to 2, or another end: `--t-end 3`");
    folder.run(&["run", "decay.ode", "--t", "1..2", "--samples", "0.5,2"]).exits(2).says("choose times from 1 on");
    let forced = "input q(t) = table(\"q.csv\", linear)\nstate x = 1\nx' = q(t) - x\nrun { t = 0 .. 1 }\n";
    for (cell, help) in [
        ("\"1,000\"", "write `1000`, or `1.000`"),
        ("\"1,000,000\"", "write `1000000`, without a separator"),
        ("\"0,5\"", "write `0.5`, with a decimal point"),
        ("many", "delete lines without a value"),
    ] {
        let folder = Folder::new("cells").with("q.ode", forced).with("q.csv", &format!("t,q\n0,1\n1,{cell}\n2,1\n"));
        folder.run(&["run", "q.ode"]).exits(1).says(help);
    }
}

#[test]
fn the_title_of_a_concentration_names_its_quantity() {
    let xml = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/sbml/decay-l2v5.xml");
    let folder = Folder::new("titles");
    folder.run(&["run", xml, "--t-end", "1", "--record", "[S1]"]).exits(2).says("write `S1_conc`");
    folder.run(&["run", xml, "--t-end", "1", "--set", "S1_conc=5"]).exits(2).says("that its formula reads");
}

#[test]
fn labels_of_panels_do_not_overlap() {
    let long = "plasma_glucose_concentration_in_the_portal_vein_of_the_liver_of_one_patient";
    let text = format!("state {long} = 1, y = 1000\n{long}' = -{long}\ny' = -y\nrun {{ t = 0 .. 1 }}\n");
    let folder = Folder::new("labels").with("long.ode", &text);
    folder.run(&["plot", "long.ode", "-o", "p.svg"]).exits(0);
    let picture = folder.read("p.svg");
    assert!(picture.contains("plasma_glucose") && picture.contains("...") && !picture.contains(long), "{picture}");
}
