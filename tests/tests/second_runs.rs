//! The second run of W0622: its tolerance where outputs need a smaller one, and the tolerance that it proposes.

use std::fs;

use odec_tests::command::{run_in, scratch};

/// Two runs with large terms that cancel take the same long steps, or errors are larger than the output: only a run with
/// a tolerance that the output needs shows them.
#[test]
fn small_differences_of_large_states_are_examined() {
    let folder = scratch("second-difference");
    let mut missed = 0;
    for (size, end) in [("1e9", 20), ("1e12", 100), ("1e6", 1000)] {
        let model = format!("state x = {size}\nx' = cos(t)\noutput y = x - {size}\nrun {{ t = 0 .. {end} }}\n");
        fs::write(folder.join("offset.ode"), model).expect("a writable folder");
        for method in ["auto", "bdf", "tsit5", "radau5"] {
            let ran = run_in(&folder, &["run", "offset.ode", "--method", method], b"").success();
            let rows = String::from_utf8(ran.out).expect("text");
            let last = rows.lines().last().expect("a row").rsplit(',').next().expect("a column");
            let error = (last.parse::<f64>().expect("a number") - f64::from(end).sin()).abs();
            // ten tolerances of y, and the rounding of x
            let large = error > 1e-5 + 4.0 * f64::EPSILON * size.parse::<f64>().expect("a number");
            missed += u32::from(large);
            assert!(!large || ran.err.contains("W0622"), "{size} {end} {method}: {error:e}\n{}", ran.err);
        }
    }
    assert!(missed > 8, "{missed}");
}

/// A state of 1e-11, below its absolute tolerance, starts a pulse. Errors are as large as the state at first, and a smaller
/// tolerance makes the rows right.
#[test]
fn a_tolerance_that_two_runs_confirm_is_proposed() {
    let folder = scratch("second-cure");
    let model = "state n = 0, p = 0\nn' = 5 - n - n*p\np' = (n - 1)*p/1e-3 + 1e-8\nrun { t = 0 .. 3 }\n";
    fs::write(folder.join("laser.ode"), model).expect("a writable folder");
    let run = |settings: &[&str]| {
        let all = [&["run", "laser.ode", "-o", "rows.csv"], settings].concat();
        let err = run_in(&folder, &all, b"").success().err;
        let rows = fs::read_to_string(folder.join("rows.csv")).expect("rows");
        let rows = rows.lines().skip(1).map(|row| row.split(',').map(|v| v.parse().expect("a number")).collect());
        (err, rows.collect::<Vec<Vec<f64>>>())
    };
    let (told, _) = run(&["--rtol", "1e-4"]);
    assert!(told.contains("W0622") && !told.contains("only delay"), "{told}");
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("set `--rtol 1e-7` and `--atol 1e-12`"), "{told}");
    let (_, followed) = run(&["--rtol", "1e-7", "--atol", "1e-12"]);
    let (_, exact) = run(&["--rtol", "1e-11", "--atol", "1e-17"]);
    let size = exact.iter().map(|row| row[2]).fold(0.0, f64::max);
    let error = followed.iter().zip(&exact).map(|(a, b)| (a[2] - b[2]).abs()).fold(0.0, f64::max);
    assert!(error < 10.0 * 1e-4 * size, "{error:e} of {size}");
}

/// `bdf` is off by 17 tolerances, and differs by 9 from its second run, which has errors too.
#[test]
fn the_second_run_has_errors_too() {
    let folder = scratch("second-part");
    let model = "param g = 9.81\nstate a = 2, a' = 0\nstate b = 1, b' = 0\n\
                 2*a'' + b''*cos(a - b) = -b'^2*sin(a - b) - 2*g*sin(a)\n\
                 a''*cos(a - b) + b'' = a'^2*sin(a - b) - g*sin(b)\nrun { t = 0 .. 5 }\n";
    fs::write(folder.join("pendulum.ode"), model).expect("a writable folder");
    let arguments = ["run", "pendulum.ode", "--method", "bdf", "--rtol", "1e-4", "-o", "rows.csv"];
    let told = run_in(&folder, &arguments, b"").success().err;
    assert!(told.contains("W0622"), "{told}");
}

/// A state that stays below its tolerance is named once: an estimate of where it should fall to may lie above it.
#[test]
fn a_state_below_its_tolerance_is_named_once() {
    let folder = scratch("second-once");
    let model = "state n = 0, p = 0\nn' = 5 - n - n*p\np' = (n - 1)*p/1e-3 + 1e-8\nrun { t = 0 .. 3 }\n";
    fs::write(folder.join("laser.ode"), model).expect("a writable folder");
    let told = run_in(&folder, &["run", "laser.ode", "--method", "rodas5p", "-o", "rows.csv"], b"").success().err;
    assert_eq!(told.matches("warning[W0606]").count(), 1, "{told}");
}

/// With a tenth of the tolerance, the drift of this energy shrinks by little more than half.
#[test]
fn the_drift_of_an_energy_is_no_miss() {
    let folder = scratch("second-drift");
    let model = "state x = 1, v = 0\nx' = v\nv' = -x - x^3\noutput H = v^2/2 + x^2/2 + x^4/4 - 0.75\n\
                 run { t = 0 .. 50; samples = 1000 }\n";
    fs::write(folder.join("spring.ode"), model).expect("a writable folder");
    for method in ["tsit5", "vern7", "auto"] {
        let told = run_in(&folder, &["run", "spring.ode", "--method", method, "-o", "rows.csv"], b"").success().err;
        assert!(!told.contains("W0622"), "{method}: {told}");
    }
}
