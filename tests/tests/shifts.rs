//! W0622 where errors are shifts in time: in relaxation oscillations, waves and epidemics, a small error of a slow phase
//! becomes a large one in the next jump. Each run is compared with one of a much smaller tolerance.

use std::fs;
use std::path::Path;

use odec_tests::command::{run_in, scratch};

/// As in `amplified.rs`: between these errors in tolerances, both answers are right.
const MISSED: f64 = 10.5;
const KEPT: f64 = 8.0;

const JUMPS: &str = "param eps = 1e-4
state x = 1, y = 0.5, z = 0
x' = (y - x^3 + x)/eps
y' = -x + 0.3*z
z' = 0.2*(x - z)
run { t = 0 .. 10; samples = 1000 }
";
const GLYCOLYSIS: &str = "param a = 0.06, b = 0.6
state x = 1, y = 1
x' = -x + a*y + x^2*y
y' = b - a*y - x^2*y
run { t = 0 .. 300; samples = 1000 }
";
const NEURON: &str = "param eps = 0.01
state v = -1, w = -0.5
v' = (v - v^3/3 - w + 0.2*sin(0.7*t) + 0.4)/eps
w' = v + 0.7 - 0.8*w
run { t = 0 .. 60; samples = 1000 }
";
const EPIDEMIC: &str = "param mu = 0.02, b0 = 500, b1 = 0.1, ga = 50
state S = 0.1, I = 1e-4
be = b0*(1 + b1*cos(2*pi*t))
S' = mu*(1 - S) - be*S*I
I' = be*S*I - (ga + mu)*I
run { t = 0 .. 30; samples = 1000 }
";
const FAST_CELLS: &str = "param k1 = 0.015, k4 = 200, k4p = 0.018, k6 = 1
state u = 0, v = 0.3
u' = k4*(v - u)*(k4p/k4 + u^2) - k6*u
v' = k1 - k6*u
run { t = 0 .. 500; samples = 1000 }
";
/// A train of spikes.
const SPIKES: &str = "state V = -65, m = 0.05, h = 0.6, n = 0.32
V' = 10 - 120*m^3*h*(V - 50) - 36*n^4*(V + 77) - 0.3*(V + 54.4)
m' = 0.1*(V + 40)/(1 - exp(-(V + 40)/10))*(1 - m) - 4*exp(-(V + 65)/18)*m
h' = 0.07*exp(-(V + 65)/20)*(1 - h) - h/(1 + exp(-(V + 35)/10))
n' = 0.01*(V + 55)/(1 - exp(-(V + 55)/10))*(1 - n) - 0.125*exp(-(V + 65)/80)*n
run { t = 0 .. 200; samples = 1000 }
";
/// A relaxation oscillation that a slow sine drives.
const DRIVEN: &str = "param e = 1e-3, a = 0.9
state x = 1.5, y = 0
x' = (x - x^3/3 - y)/e
y' = x - a*sin(0.7*t)
run { t = 0 .. 20; samples = 200 }
";
/// A pulse along 200 cells.
const WAVE: &str = "index i = 1..200
boundary clamp i
state v[i] = if i <= 8 then 1 else 0
v[i]' = 4*(v[i-1] - 2*v[i] + v[i+1]) + 10*v[i]*(v[i] - 0.1)*(1 - v[i])
run { t = 0 .. 15; samples = 200 }
";

/// Two wells, driven by a sine.
const TWO_WELLS: &str = "param d = 0.1438, F = 0.3, w = 0.9158
state x = 1, v = 0
x' = v
v' = F*cos(w*t) - d*v + x - x^3
run { t = 0 .. 100; samples = 300 }
";
/// A neuron, driven by a sine.
const DRIVEN_NEURON: &str = "state v = -1, u = -0.5
v' = v - v^3/3 - u + 0.3 + 0.4311*cos(0.9*t)
u' = 0.08834*(v + 0.7 - 0.7037*u)
run { t = 0 .. 300; samples = 300 }
";

fn rows(folder: &Path, args: &[&str]) -> (Vec<Vec<f64>>, bool) {
    let ran = run_in(folder, args, b"").success();
    let row = |line: &str| line.split(',').map(|v| v.parse().expect("a number")).collect();
    (ran.text().lines().skip(1).map(row).collect(), ran.err.contains("W0622"))
}

/// The largest error over the rows in tolerances.
fn error(found: &[Vec<f64>], exact: &[Vec<f64>], rtol: f64) -> f64 {
    let of = |k: usize| {
        let size = exact.iter().fold(0.0f64, |most, row| most.max(row[k].abs()));
        let off = found.iter().zip(exact).fold(0.0f64, |most, (a, b)| most.max((a[k] - b[k]).abs()));
        off / (1e-3 * rtol + rtol * size)
    };
    (1..exact[0].len()).map(of).fold(0.0, f64::max)
}

/// Name and text of a model, and methods with tolerances.
type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

/// Runs each model with each method and tolerance; returns the numbers of runs without and with the warning.
fn compared(folder: &str, cases: &[Case<'_>]) -> [usize; 2] {
    let folder = scratch(folder);
    let (mut wrong, mut seen) = (vec![], [0, 0]);
    for (name, model, runs) in cases {
        fs::write(folder.join(name), model).expect("a writable folder");
        let (exact, _) = rows(&folder, &["run", name, "--method", "vern9", "--rtol", "1e-13", "--atol", "1e-19"]);
        for (method, rtol) in *runs {
            let tolerance: f64 = rtol.parse().expect("a number");
            let atol = format!("{:e}", 1e-3 * tolerance);
            let (found, warned) = rows(&folder, &["run", name, "--method", method, "--rtol", rtol, "--atol", &atol]);
            let error = error(&found, &exact, tolerance);
            if error < KEPT && warned || error > MISSED && !warned {
                wrong.push(format!("{name} {method} {rtol}: error {error} tolerances, warned: {warned}"));
            }
            seen[usize::from(warned)] += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    seen
}

#[test]
fn errors_of_slow_phases_are_told_after_jumps() {
    let seen = compared(
        "shifts-jumps",
        &[
            ("jumps.ode", JUMPS, &[("auto", "1e-4"), ("auto", "1e-6"), ("auto", "1e-8"), ("rodas5p", "1e-6")]),
            ("glycolysis.ode", GLYCOLYSIS, &[("rodas5p", "1e-8"), ("auto", "1e-4"), ("auto", "1e-8")]),
            ("neuron.ode", NEURON, &[("tsit5", "1e-4"), ("dopri5", "1e-4"), ("auto", "1e-4"), ("auto", "1e-8")]),
            ("cells.ode", FAST_CELLS, &[("auto", "1e-6"), ("auto", "1e-8")]),
        ],
    );
    assert!(seen[0] >= 4 && seen[1] >= 5, "{seen:?}");
}

#[test]
fn errors_of_the_time_of_an_outbreak_are_told() {
    let runs = [("auto", "1e-4"), ("auto", "1e-6"), ("vern7", "1e-6")];
    let seen = compared("shifts-outbreaks", &[("epidemic.ode", EPIDEMIC, &runs)]);
    assert!(seen[0] >= 1 && seen[1] >= 1, "{seen:?}");
}

#[test]
fn errors_of_the_place_of_a_wave_are_told_with_hundreds_of_unknowns() {
    let runs = [("bdf", "1e-6"), ("bdf", "1e-8"), ("tr-bdf2", "1e-6"), ("auto", "1e-6"), ("vern7", "1e-6")];
    let seen = compared("shifts-waves", &[("wave.ode", WAVE, &runs)]);
    assert!(seen[0] >= 1 && seen[1] >= 2, "{seen:?}");
}

/// The steps of `kencarp4` in spikes hardly become shorter with the tolerance, so a second run of the same method
/// repeats the error.
#[test]
fn errors_that_a_method_repeats_are_told() {
    let runs = [("kencarp4", "1e-4"), ("kencarp4", "1e-6"), ("rodas4", "1e-4"), ("auto", "1e-6")];
    let seen = compared("shifts-spikes", &[("spikes.ode", SPIKES, &runs)]);
    assert!(seen[0] >= 1 && seen[1] >= 1, "{seen:?}");
}

#[test]
fn driven_jumps_are_told() {
    let runs = [("vern7", "1e-6"), ("vern7", "1e-8"), ("kencarp4", "1e-4"), ("auto", "1e-8")];
    let seen = compared("shifts-driven", &[("driven.ode", DRIVEN, &runs)]);
    assert!(seen[0] >= 1 && seen[1] >= 3, "{seen:?}");
}

/// The steps of a series hardly become shorter with the tolerance, so that its second run uses a hundredth of it.
#[test]
fn errors_of_driven_oscillators_are_told() {
    let taylor = [("taylor", "1e-4"), ("taylor", "1e-6"), ("taylor", "1e-8"), ("auto", "1e-8")];
    let neuron = [("auto", "1e-4"), ("vern9", "1e-8")];
    let cases: [Case<'_>; 2] = [("wells.ode", TWO_WELLS, &taylor), ("neuron.ode", DRIVEN_NEURON, &neuron)];
    let seen = compared("shifts-oscillators", &cases);
    assert!(seen[0] >= 1 && seen[1] >= 4, "{seen:?}");
}

#[test]
fn a_sweep_tells_shifts_in_time() {
    let folder = scratch("shifts-sweep");
    fs::write(folder.join("cells.ode"), FAST_CELLS).expect("a writable folder");
    let sweep = ["sweep", "cells.ode", "--set", "k6=1:1.1:2", "--samples", "1000", "--rtol"];
    let with = |more: &[&str]| run_in(&folder, &[&sweep[..], more].concat(), b"").success().err;
    let loose = with(&["1e-6", "--atol", "1e-9", "--method", "rodas5p", "-o", "cells.csv"]);
    assert!(loose.contains("W0622") && loose.contains("in 2 of 2 runs"), "{loose}");
    let tight = with(&["1e-8", "--atol", "1e-11", "--method", "radau5", "-o", "tight.csv"]);
    assert!(!tight.contains("W0622"), "{tight}");
}

/// The infected fall to 1e-10, and the next outbreak grows out of them.
#[test]
fn auto_keeps_the_digits_of_a_small_population_at_tight_tolerances() {
    let folder = scratch("shifts-small");
    let text = odec_tests::text(&odec_tests::root().join("tests/problems/seir_seasonal.ode"));
    fs::write(folder.join("seir.ode"), text).expect("a writable folder");
    let options = ["run", "seir.ode", "--samples", "1000", "--rtol"];
    let with = |more: &[&str]| rows(&folder, &[&options[..], more].concat());
    let (exact, _) = with(&["1e-13", "--atol", "1e-19", "--method", "vern9"]);
    for (rtol, atol, limit) in [("1e-8", "1e-11", 10.0), ("1e-7", "1e-10", 20.0)] {
        let (found, _) = with(&[rtol, "--atol", atol]);
        let error = error(&found, &exact, rtol.parse().expect("a number"));
        assert!(error < limit, "{rtol}: off by {error} tolerances");
    }
}
