//! Every file in models/ is checked, run and held against its reference values, by the library and by the command.

use odec_tests::command::run;
use odec_tests::{models, parts, root, small_size_flags, stem, text};

fn arguments(path: &std::path::Path) -> String {
    path.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned()
}

#[test]
fn the_models_of_the_plan_are_there() {
    let names: Vec<String> = models().iter().map(|p| stem(p)).collect();
    for name in [
        "bead",
        "brusselator1d",
        "brusselator2d",
        "burgers",
        "chain",
        "chua",
        "circadian_clock",
        "cloth",
        "diode",
        "double_pendulum",
        "bouncing_ball",
        "draining_tank",
        "egfr",
        "excitable_cell",
        "driven_bead",
        "fitzhugh_nagumo",
        "glucose_minimal",
        "glycolysis",
        "four_bar",
        "gray_scott",
        "heat1d",
        "heat2d",
        "heat_fem",
        "heart_cell",
        "heart_strand",
        "hires",
        "kepler",
        "kuramoto",
        "lorenz",
        "lotka_volterra",
        "mapk_cascade",
        "nbody",
        "neuron",
        "neurons",
        "nickel_electrode",
        "orego",
        "oregonator",
        "pendulum",
        "pendulum_dae",
        "pleiades",
        "pollu",
        "repeated_dosing",
        "repressilator",
        "reservoir",
        "ring_modulator",
        "robertson",
        "slider_crank",
        "stick_slip",
        "thermostat",
        "two_compartment_pk",
        "van_der_pol",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} is missing");
    }
}

#[test]
fn models_check_without_a_complaint() {
    for path in models() {
        let source = parts::model(&path);
        let checked = odec_lang::check(&source);
        let complaints: Vec<&str> = checked
            .diagnostics
            .iter()
            .filter(|d| d.severity != odec_lang::diagnostic::Severity::Note)
            .map(|d| d.headline.as_str())
            .collect();
        assert!(complaints.is_empty(), "{}: {complaints:?}", path.display());
        let model = checked.model.expect("a model");
        assert!(!model.doc.clone().unwrap_or_default().is_empty(), "{} has no doc comment", path.display());
        run(&["check", &arguments(&path)]).success();
    }
}

#[test]
fn models_meet_their_expectations() {
    for path in models() {
        let text = text(&path);
        let lines = text.lines().filter(|l| l.trim_start().starts_with("expect ")).count();
        assert!(lines > 0, "{} expects nothing", path.display());
        run(&["test", &arguments(&path)]).success();
    }
}

#[test]
fn derivatives_agree() {
    for path in models() {
        let file = arguments(&path);
        let sizes = small_size_flags(&path);
        let flags = ["check", "--derivatives", file.as_str()].into_iter().chain(sizes.iter().map(String::as_str));
        run(&flags.collect::<Vec<_>>()).success();
    }
}

#[test]
fn rows_are_whole_and_finite() {
    for path in models() {
        let ran = run(&["run", &arguments(&path)]).success();
        let table = ran.text();
        let mut lines = table.lines();
        let columns = lines.next().expect("a head line").split(',').count();
        let mut last = f64::NEG_INFINITY;
        let mut rows = 0;
        for line in lines {
            let values: Vec<f64> = line.split(',').map(|v| v.parse().expect("a number")).collect();
            assert_eq!(values.len(), columns, "{}: {line}", path.display());
            assert!(values.iter().all(|v| v.is_finite()), "{}: {line}", path.display());
            assert!(values[0] >= last, "{}: {line}", path.display());
            last = values[0];
            rows += 1;
        }
        assert!(rows >= 2, "{}: {rows} rows", path.display());
    }
}

/// Every named run of every model succeeds, and gives the same bytes when repeated. It satisfies the expectations in
/// its block.
#[test]
fn named_runs_go_through_and_repeat() {
    let mut runs = 0;
    for path in models() {
        let promises = text(&path).lines().any(|line| line.starts_with("  expect "));
        for line in text(&path).lines() {
            let mut words = line.split_whitespace();
            let (Some("run"), Some(name)) = (words.next(), words.next()) else { continue };
            if !name.chars().all(char::is_alphanumeric) {
                continue;
            }
            runs += 1;
            let arguments = ["run", &arguments(&path), "--run", name];
            let first = run(&arguments).success();
            assert_eq!(first.out, run(&arguments).success().out, "{}: {name}", path.display());
            if promises {
                run(&["test", arguments[1], "--run", name]).success();
            }
        }
    }
    assert!(runs >= 6, "{runs} named runs");
}

/// Tables of the bead, from the founding documents: forward Euler at its limit and beyond, backward Euler at h = 0.2.
#[test]
fn the_bead_prints_the_known_tables() {
    let bead = |name: &str| -> Vec<Vec<f64>> {
        let ran = run(&["run", "models/bead.ode", "--run", name]).success();
        ran.text().lines().skip(1).map(|l| l.split(',').map(|v| v.parse().expect("a number")).collect()).collect()
    };
    let near = |found: f64, known: f64| (found - known).abs() <= 1e-6 * known.abs();
    let euler = bead("euler");
    for (row, (x, y)) in euler.iter().zip([(100.0, 100.0), (99.85, -50.0), (99.700225, 25.0), (99.55067466, -12.5)]) {
        assert!(near(row[1], x) && near(row[2], y), "{row:?}");
    }
    let unstable = bead("unstable");
    for (row, y) in unstable.iter().zip([100.0, -19900.0, 3960100.0, -788059900.0]) {
        assert!(near(row[2], y), "{row:?}");
    }
    for name in ["implicit", "linearised"] {
        let rows = bead(name);
        assert_eq!(rows.len(), 6);
        for (n, row) in rows.iter().enumerate() {
            let n = n as i32;
            assert!(near(row[1], 100.0 / 1.2_f64.powi(n)) && near(row[2], 100.0 / 201_f64.powi(n)), "{name}: {row:?}");
        }
    }
}
