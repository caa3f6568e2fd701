//! Constraints on states through the command: systems of index 2 and 3 against references, drift, starts, and refusals.

use odec_tests::command::{run_in, scratch};
use odec_tests::share::Share;
use odec_tests::{root, text};

use crate::unknowns::{last, refusal, warned};

/// `x` and `y` on a circle, with the force of the rod.
const PENDULUM: &str = "param g = 9.81, L = 1\nstate x = L, y = 0, u = 0, v = 0\nunknown T = 3\nx' = u\ny' = v\nu' = -T*x\n\
                        v' = -T*y - g\n";
/// Values by name.
type Values<'a> = &'a [(&'a str, f64)];

/// Reference at t = 10 (shared reference solutions of the pendulum in index 1 and 2).
const AT_TEN: [(&str, f64); 5] = [
    ("x", 0.275_087_462_576_116_9),
    ("y", -0.961_419_205_099_125),
    ("u", -4.175_598_100_951_729),
    ("v", -1.194_749_054_560_475_3),
    ("T", 28.294_567_206_067_25),
];

/// Reference at t = 3 (Test Set for IVP Solvers, verified).
const CAR_AXIS: [(&str, f64); 10] = [
    ("xl", 0.049_345_578_427_556_29),
    ("yl", 0.496_989_460_230_332_4),
    ("xr", 1.041_742_524_885_4),
    ("yr", 0.373_911_027_265_221_4),
    ("xl'", -0.077_058_368_403_214_85),
    ("yl'", 0.007_446_866_596_327_776),
    ("xr'", 0.017_556_815_749_428_99),
    ("yr'", 0.770_341_043_779_403),
    ("p", -0.004_736_886_750_784_63),
    ("q", -0.001_104_680_411_345_73),
];
/// Angles of Andrews' squeezer at t = 0.03 (shared reference solution).
const ANGLES: [(&str, f64); 7] = [
    ("be", 15.810_771_195_153_707),
    ("th", -15.756_371_058_411_839),
    ("ga", 0.040_822_240_119_645_8),
    ("ph", -0.534_730_116_342_079_6),
    ("de", 0.524_409_965_879_954),
    ("om", 0.534_730_116_342_079_6),
    ("ep", 1.048_080_741_041_938),
];

fn value(found: &[(String, f64)], name: &str) -> f64 {
    found.iter().find(|(column, _)| column == name).unwrap_or_else(|| panic!("no column `{name}`")).1
}

/// The largest error over the largest value of the reference.
fn error(found: &[(String, f64)], reference: &[(&str, f64)]) -> f64 {
    let largest = reference.iter().fold(0.0f64, |most, (_, value)| most.max(value.abs()));
    let off = |(name, exact): &(&str, f64)| (value(found, name) - exact).abs();
    reference.iter().map(off).fold(0.0f64, f64::max) / largest
}

/// All formulations of the pendulum, with methods of several kinds: within 100 rtol, and no drift.
#[test]
fn pendulums_of_index_two_and_three_meet_their_references() {
    let second = "param g = 9.81, L = 1\nstate x = L, x' = 0, y = 0, y' = 0\nunknown T = 0\nx'' = -T*x\ny'' = -T*y - g\n\
                  x^2 + y^2 = L^2\nlength = x^2 + y^2 - L^2\noutput drift = length\noutput turn = x*x' + y*y'\noutput u = x'\n\
                  output v = y'\nrun { t = 0 .. 10; samples = 1 }\n";
    let more = "output drift = x^2 + y^2 - L^2\noutput turn = x*u + y*v\nrun { t = 0 .. 10; samples = 1 }\n";
    let first = format!("{PENDULUM}x^2 + y^2 = L^2\n{more}");
    let velocities = format!("{PENDULUM}x*u + y*v = 0\n{more}");
    for (index, text) in [(3, first.as_str()), (3, second), (2, velocities.as_str())] {
        for method in ["auto", "rodas3", "rodas4", "rodas5p", "radau5", "kencarp4", "bdf"] {
            for rtol in ["1e-4", "1e-6", "1e-8"] {
                let found = last("constraints-pendulum", text, &["--method", method, "--rtol", rtol, "--atol", rtol]);
                let tolerance: f64 = rtol.parse().expect("a number");
                let error = error(&found, &AT_TEN);
                assert!(error <= 100.0 * tolerance, "index {index}, {method}, {rtol}: off by {error:e}");
                assert!(value(&found, "turn").abs() < 1e-14, "index {index}, {method}: {found:?}");
                assert!(index == 2 || value(&found, "drift").abs() < 1e-14, "{method}: {found:?}");
            }
        }
    }
}

/// Methods of low order, whose errors add up over many steps, have errors proportional to the tolerance.
#[test]
fn methods_of_low_order_are_within_their_tolerances() {
    let mut share = Share::one_of(3);
    let more = "output drift = x^2 + y^2 - L^2\noutput turn = x*u + y*v\nrun { t = 0 .. 10; samples = 1 }\n";
    let position = format!("{PENDULUM}x^2 + y^2 = L^2\n{more}");
    let velocity = format!("{PENDULUM}x*u + y*v = 0\n{more}");
    let car = text(&root().join("tests/fixtures/constraints/car_axis.ode"));
    let squeezer = text(&root().join("tests/fixtures/constraints/andrews_squeezer.ode"));
    let problems: [(&str, &str, Values); 4] = [
        ("pendulum", &position, &AT_TEN),
        ("pendulum, index 2", &velocity, &AT_TEN),
        ("car axis", &car, &CAR_AXIS),
        ("squeezer", &squeezer, &ANGLES),
    ];
    for (problem, text, reference) in problems {
        for method in ["sdirk2", "tr-bdf2", "implicit-midpoint", "bdf2", "bdf3", "bdf4", "bdf5", "bdf6"] {
            for rtol in ["1e-3", "1e-5"].into_iter().filter(|_| share.takes()) {
                let found = last("constraints-low", text, &["--method", method, "--rtol", rtol, "--atol", rtol]);
                let (tolerance, error): (f64, f64) = (rtol.parse().expect("a number"), error(&found, reference));
                assert!(error <= 100.0 * tolerance, "{problem}, {method}, {rtol}: off by {error:e}");
            }
        }
        let said = warned("constraints-order", text, &["--method", "backward-euler", "--rtol", "1e-3"]);
        assert!(said.contains("W0618"), "{problem}: {said}");
    }
}

/// Rows between steps satisfy the constraint like those at their ends.
#[test]
fn rows_between_steps_meet_the_constraint() {
    let text = format!("{PENDULUM}x^2 + y^2 = L^2\noutput drift = x^2 + y^2 - L^2\nrun {{ t = 0 .. 3 }}\n");
    for method in ["auto", "radau5", "bdf", "kencarp4"] {
        for end in ["0.731", "1.237", "2.9173"] {
            let times = format!("0.1,{end}");
            let found =
                last("constraints-rows", &text, &["--method", method, "--rtol", "1e-4", "--samples", times.as_str()]);
            assert!(value(&found, "drift").abs() < 1e-14, "{method} at {end}: {found:?}");
        }
    }
}

/// The constraint of the car axis contains the time: its partial derivatives with respect to t matter.
#[test]
fn the_car_axis_meets_its_reference() {
    let text = text(&root().join("tests/fixtures/constraints/car_axis.ode"));
    for method in ["auto", "radau5", "rodas3", "rodas4", "rodas5p", "kencarp4", "bdf"] {
        for (rtol, tolerance) in [("1e-4", 1e-4), ("1e-6", 1e-6), ("1e-8", 1e-8)] {
            let found = last("constraints-car", &text, &["--method", method, "--rtol", rtol, "--atol", rtol]);
            let error = error(&found, &CAR_AXIS);
            assert!(error <= 100.0 * tolerance, "{method}, {rtol}: off by {error:e}");
        }
    }
}

/// Seven bodies, six constraints; the guesses of all unknowns are 0.
#[test]
fn the_squeezer_of_andrews_meets_its_reference() {
    let mut share = Share::one_of(3);
    let forces = [("wbe", -24_631.763_122_874_636), ("wph", 566_749.422_000_995_4), ("la1", 199.175_348_104_538_64)];
    let text = text(&root().join("tests/fixtures/constraints/andrews_squeezer.ode"));
    for method in ["auto", "radau5", "rodas3", "rodas4", "rodas5p", "kencarp4", "bdf"] {
        let tolerances = [("1e-4", 1e-4), ("1e-6", 1e-6), ("1e-8", 1e-8)];
        for (rtol, tolerance) in tolerances.into_iter().filter(|_| share.takes()) {
            let found = last("constraints-andrews", &text, &["--method", method, "--rtol", rtol, "--atol", rtol]);
            for reference in [&ANGLES[..], &forces[..]] {
                let error = error(&found, reference);
                assert!(error <= 100.0 * tolerance, "{method}, {rtol}: off by {error:e}");
            }
        }
    }
}

/// At the start, accelerations of 1e4 stand beside others of 1e-16, and rounding limits the latter to 1e-12. Methods
/// that use a small part of the tolerances must not ask for more.
#[test]
fn tolerances_below_rounding_are_met_as_far_as_rounding_allows() {
    let mut share = Share::one_of(3);
    let text = text(&root().join("tests/fixtures/constraints/andrews_squeezer.ode"));
    for method in ["auto", "radau5", "rodas3", "rodas4", "rodas5p", "kencarp4", "bdf"] {
        let tolerances = [("1e-4", "1e-11", 1e-4), ("1e-6", "1e-14", 1e-6), ("1e-8", "1e-11", 1e-8)];
        for (rtol, atol, tolerance) in tolerances.into_iter().filter(|_| share.takes()) {
            let found = last("constraints-rounding", &text, &["--method", method, "--rtol", rtol, "--atol", atol]);
            let error = error(&found, &ANGLES);
            assert!(error <= 100.0 * tolerance, "{method}, {rtol}, {atol}: off by {error:e}");
        }
    }
}

/// The last stage of ros2 is not the end of its step, so that a projection, or a nonlinear equation, leaves the unknowns
/// inconsistent. Its error estimate contains a part of that, however short the step is.
#[test]
fn ros2_follows_the_squeezer() {
    let text = text(&root().join("tests/fixtures/constraints/andrews_squeezer.ode"));
    for (rtol, atol, tolerance) in [("1e-3", "1e-3", 1e-3), ("1e-4", "1e-4", 1e-4), ("1e-4", "1e-11", 1e-4)] {
        let found = last("constraints-ros2", &text, &["--method", "ros2", "--rtol", rtol, "--atol", atol]);
        let error = error(&found, &ANGLES);
        assert!(error <= 100.0 * tolerance, "{rtol}, {atol}: off by {error:e}");
    }
}

/// x' = x + z, y' = -y + z/2, x + 2*y = sin(t): y follows from x, and x' = -x/2 + ..., whose solution is known.
#[test]
fn a_linear_system_of_index_two_has_its_solution() {
    // x + 2 y = s, x' + 2 y' = x - 2 y + 2 z = s', so z = (s' - x + 2 y)/2 = (s' + s)/2 - x and x' = (s' + s)/2
    let text = "state x = 1, y = -0.5\nunknown z = 0\nx' = x + z\ny' = -y + z/2\nx + 2*y = sin(t)\n\
                run { t = 0 .. 2; samples = 1 }\n";
    let x = 1.0 + 0.5 * (2f64.sin() + 1.0 - 2f64.cos());
    let z = 0.5 * (2f64.cos() + 2f64.sin()) - x;
    for method in ["auto", "radau5", "bdf", "rodas4"] {
        let found = last("constraints-linear", text, &["--method", method, "--rtol", "1e-8", "--atol", "1e-8"]);
        let off = [value(&found, "x") - x, value(&found, "y") - 0.5 * (2f64.sin() - x), value(&found, "z") - z];
        assert!(off.iter().all(|off| off.abs() < 1e-6), "{method}: {off:?}");
    }
}

/// Parameters affect the constraint, its derivatives and the projection, in single runs.
#[test]
fn parameters_reach_the_constraint() {
    let text =
        format!("{PENDULUM}x^2 + y^2 = L^2\noutput drift = x^2 + y^2 - L^2\nrun {{ t = 0 .. 10; samples = 1 }}\n");
    // lengths scale by 4 and times by 2 with the same g: the angle at t = 20 equals that at t = 10 of a rod of length 1
    let found = last("constraints-set", &text, &["--set", "L=4", "--t-end", "20", "--rtol", "1e-9", "--atol", "1e-9"]);
    assert!((value(&found, "x") - 4.0 * AT_TEN[0].1).abs() < 1e-6, "{found:?}");
    assert!((value(&found, "T") - AT_TEN[4].1 / 4.0).abs() < 1e-5, "{found:?}");
    assert!(value(&found, "drift").abs() < 1e-13, "{found:?}");
}

/// A point of a sweep has the bits of a run with its value, and so has the interpreter.
#[test]
fn sweeps_and_the_interpreter_agree_with_single_runs() {
    let folder = scratch("constraints-sweep");
    let text = format!("{PENDULUM}x^2 + y^2 = L^2\nrun {{ t = 0 .. 3; samples = 1 }}\n");
    std::fs::write(folder.join("m.ode"), &text).expect("a writable folder");
    let swept = run_in(&folder, &["sweep", "m.ode", "--set", "L=1:3:3"], b"").success().text();
    for (row, length) in [(1, "1"), (2, "2"), (3, "3")] {
        let single = |more: &[&str]| {
            let set = format!("L={length}");
            let arguments: Vec<&str> = ["run", "m.ode", "--set", &set].iter().chain(more).copied().collect();
            run_in(&folder, &arguments, b"").success().text().lines().last().unwrap_or_default().to_owned()
        };
        let point = swept.lines().nth(row).unwrap_or_default();
        assert_eq!(point, format!("{length},{}", single(&[])));
        assert_eq!(single(&[]), single(&["--interpret"]));
    }
}

/// A start is corrected by the omitted digits, and by no more.
#[test]
fn starts_are_moved_by_little_only() {
    let text = |x: &str| {
        let pendulum = PENDULUM.replace("x = L", &format!("x = {x}"));
        format!("{pendulum}x^2 + y^2 = L^2\nrun {{ t = 0 .. 10; samples = 1 }}\n")
    };
    let exact = last("constraints-start", &text("1"), &["--rtol", "1e-9"]);
    let near = last("constraints-start", &text("0.999"), &["--rtol", "1e-9"]);
    assert_eq!(exact, near);
    for far in ["0.9", "2", "-0.5", "0"] {
        let said = refusal("constraints-far", &text(far), &[]);
        assert!(said.contains("E0637") || said.contains("E0636"), "{far}: {said}");
    }
    // a velocity along the rod violates the constraint
    let said = refusal("constraints-far", &text("1").replace("u = 0", "u = 1"), &[]);
    assert!(said.contains("E0637") && said.contains("`u` cannot start at 1"), "{said}");
}

/// Errors of the energy of a pendulum change all later periods. `auto` stays within 10 tolerances for 11 swings; later,
/// it and `radau5` are further off, and say so.
#[test]
fn long_swings_meet_the_tolerance_or_give_a_warning() {
    let folder = odec_tests::command::scratch("constraints-swings");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a writable folder");
    let rows = |args: &[&str]| {
        let ran = odec_tests::command::run_in(&folder, &[args, &["--samples", "500"]].concat(), b"").success();
        let row = |line: &str| line.split(',').map(|v| v.parse().expect("a number")).collect();
        (ran.text().lines().skip(1).map(row).collect::<Vec<Vec<f64>>>(), ran.err.contains("W0622"))
    };
    for (end, cases) in [
        (20, &[("auto", "1e-4"), ("auto", "1e-6"), ("auto", "1e-8"), ("radau5", "1e-6")][..]),
        (50, &[("auto", "1e-4"), ("auto", "1e-6"), ("auto", "1e-8"), ("radau5", "1e-4"), ("radau5", "1e-6")]),
    ] {
        let span = format!("run {{ t = 0 .. {end} }}\n");
        write(
            "rod.ode",
            &format!(
                "state x = 0.8*sin(2), y = -0.8*cos(2), u = 0, v = 0\nunknown T = 0\nx' = u\ny' = v\n\
                u' = -T*x\nv' = -T*y - 9.81\nx^2 + y^2 = 0.8^2\n{span}"
            ),
        );
        write("angle.ode", &format!("state a = 2, w = 0\na' = w\nw' = -9.81/0.8*sin(a)\n{span}"));
        let (exact, _) = rows(&["run", "angle.ode", "--method", "vern9", "--rtol", "1e-13", "--atol", "1e-13"]);
        for (method, rtol) in cases {
            let (found, warned) = rows(&["run", "rod.ode", "--method", method, "--rtol", rtol]);
            // the position and the speed are at most 0.8 and 3.3
            let off = |found: &Vec<f64>, exact: &Vec<f64>| {
                let place = (found[1] - 0.8 * exact[1].sin()).hypot(found[2] + 0.8 * exact[1].cos()) / 0.8;
                let speed = (found[3].hypot(found[4]) - (0.8 * exact[2]).abs()).abs() / 3.3;
                place.max(speed)
            };
            let error = found.iter().zip(&exact).map(|(a, b)| off(a, b)).fold(0.0, f64::max);
            let times = error / rtol.parse::<f64>().expect("a number");
            assert!(times < 15.0 || warned, "{method} {rtol} to {end}: off by {times} tolerances, no warning");
            assert!(times > 7.0 || !warned, "{method} {rtol} to {end}: off by {times} tolerances, warned");
            assert!(*method != "auto" || times < if end == 20 { 10.0 } else { 60.0 }, "{rtol} {end}: {times}");
        }
    }
}
