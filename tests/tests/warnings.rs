//! Warnings of runs from the command: the models give none unless the command requests rows or methods that deserve
//! one, a sweep counts them, and rows and exit codes do not change.

use odec_tests::command::{run, run_in, scratch};
use odec_tests::{models, root, stem};

/// Flags that deserve a warning: evenly spaced rows miss the peaks of a start or of a jump, and a method that the
/// user names lets errors add up to 30 tolerances.
const DESERVED: [(&str, &[&str], &str); 5] = [
    ("models/hires.ode", &["--samples", "200"], "W0607"),
    ("models/pollu.ode", &["--samples", "200"], "W0607"),
    ("models/van_der_pol.ode", &["--samples", "2000"], "W0607"),
    ("models/lorenz.ode", &["--method", "dopri5", "--rtol", "1e-8", "--atol", "1e-8"], "W0622"),
    ("models/pendulum.ode", &["--method", "dopri5"], "W0622"),
];

/// The codes of the warnings about a run in messages of JSON.
fn codes(messages: &str) -> Vec<String> {
    let codes = messages.lines().filter_map(|line| line.strip_prefix("{\"code\":\"")?.get(..5));
    codes.filter(|code| code.starts_with("W06")).map(str::to_owned).collect()
}

#[test]
fn models_give_no_false_warning() {
    let mut found = vec![];
    for path in models() {
        let file = path.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned();
        let ran = run(&["run", &file, "--message-format", "json"]).success();
        found.extend(codes(&ran.err).into_iter().map(|code| (stem(&path), code)));
    }
    assert!(found.is_empty(), "{found:?}");
    for (file, flags, code) in DESERVED {
        let ran = run(&[&["run", file, "--message-format", "json"], flags].concat()).success();
        assert_eq!(codes(&ran.err), [code], "{file}");
    }
}

const HUM: &str = "param w = 628.3\nstate x = 0, v = 1\nx' = w*v\nv' = -w*x\nrun { t = 0 .. 1; samples = 10 }\n";

#[test]
fn a_warning_changes_neither_rows_nor_exit_code_and_can_be_switched_off() {
    let folder = scratch("warnings");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a writable folder");
    write("hum.ode", HUM);
    write("allowed.ode", &HUM.replace("samples = 10 }", "samples = 10 }  # allow W0608"));
    let arguments = |file: &str, flags: &[&str]| -> Vec<String> {
        ["run", file].iter().chain(flags).map(|s| (*s).to_owned()).collect()
    };
    let loud = run_in(&folder, &arguments("hum.ode", &[]), b"").success();
    assert!(loud.err.contains("W0608") && loud.err.contains("samples = "), "{}", loud.err);
    let quiet = run_in(&folder, &arguments("hum.ode", &["--quiet"]), b"").success();
    let allowed = run_in(&folder, &arguments("allowed.ode", &[]), b"").success();
    assert!(quiet.err.is_empty() && !allowed.err.contains("W0608"), "{}{}", quiet.err, allowed.err);
    assert!(loud.out == quiet.out && loud.out == allowed.out);
    let json = run_in(&folder, &arguments("hum.ode", &["--message-format", "json"]), b"").success();
    assert_eq!(codes(&json.err), ["W0608"], "{}", json.err);
}

#[test]
fn a_sweep_counts_the_runs_with_a_warning() {
    let folder = scratch("warnings-of-a-sweep");
    std::fs::write(folder.join("hum.ode"), HUM).expect("a writable folder");
    let arguments = ["sweep", "hum.ode", "--set", "w=1:1000:4", "--samples", "10"].map(str::to_owned);
    let ran = run_in(&folder, &arguments, b"").success();
    let lines: Vec<&str> = ran.err.lines().filter(|line| line.contains("W0608")).collect();
    assert_eq!(lines.len(), 1, "{}", ran.err);
    assert!(lines[0].contains("in 3 of 4 runs"), "{}", lines[0]);
}

/// The value before an event at the start is in no row, and between none.
#[test]
fn an_event_at_the_start_hides_no_extremum() {
    let text = "state x = 0\nat 0 { x += 100 }\nx' = -x\nwhen x < 50 { stop }\nrun { t = 0 .. 100 }\n";
    let folder = scratch("dose");
    std::fs::write(folder.join("dose.ode"), text).expect("a writable folder");
    let ran = run_in(&folder, &["run", "dose.ode", "--message-format", "json"], b"").success();
    assert!(codes(&ran.err).is_empty(), "{}", ran.err);
}
