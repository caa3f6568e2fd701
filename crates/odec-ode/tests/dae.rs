//! Index-1 equations with references from the catalogue of verified problems: a singular mass matrix whose null space
//! is not a coordinate direction (the transistor amplifier), and one with algebraic rows in a stiff problem
//! (Robertson).

use crate::dense;

use dense::{Dense, run, tolerances};
use odec_ode::method::{self, Family, Method};

/// The transistor amplifier (Rentrop, Roche & Steinebach 1989; test set for IVP solvers), t from 0 to 0.2.
fn transistor_amplifier() -> Dense {
    const UB: f64 = 6.0;
    const UF: f64 = 0.026;
    const ALPHA: f64 = 0.99;
    const BETA: f64 = 1e-6;
    const R0: f64 = 1000.0;
    const R: f64 = 9000.0;
    let rhs = |t: f64, y: &[f64], f: &mut [f64]| {
        let ue = 0.1 * (200.0 * std::f64::consts::PI * t).sin();
        let g = |u: f64| BETA * ((u / UF).exp() - 1.0);
        let (g1, g2) = (g(y[1] - y[2]), g(y[4] - y[5]));
        f[0] = (y[0] - ue) / R0;
        f[1] = y[1] / R + (y[1] - UB) / R + (1.0 - ALPHA) * g1;
        f[2] = y[2] / R - g1;
        f[3] = (y[3] - UB) / R + ALPHA * g1;
        f[4] = y[4] / R + (y[4] - UB) / R + (1.0 - ALPHA) * g2;
        f[5] = y[5] / R - g2;
        f[6] = (y[6] - UB) / R + ALPHA * g2;
        f[7] = y[7] / R;
    };
    let jacobian = |_: f64, y: &[f64], j: &mut [f64]| {
        j.fill(0.0);
        let slope = |u: f64| BETA / UF * (u / UF).exp();
        let (d1, d2) = (slope(y[1] - y[2]), slope(y[4] - y[5]));
        let mut add = |r: usize, c: usize, v: f64| j[8 * r + c] += v;
        add(0, 0, 1.0 / R0);
        for (row, slots) in [(1, 2.0), (2, 1.0), (3, 1.0), (4, 2.0), (5, 1.0), (6, 1.0), (7, 1.0)] {
            add(row, row, slots / R);
        }
        for (row, factor, plus, minus, d) in [
            (1, 1.0 - ALPHA, 1, 2, d1),
            (2, -1.0, 1, 2, d1),
            (3, ALPHA, 1, 2, d1),
            (4, 1.0 - ALPHA, 4, 5, d2),
            (5, -1.0, 4, 5, d2),
            (6, ALPHA, 4, 5, d2),
        ] {
            add(row, plus, factor * d);
            add(row, minus, -factor * d);
        }
    };
    let mut mass = [0.0; 64];
    for (a, b, c) in [(0, 1, 1e-6), (3, 4, 3e-6), (6, 7, 5e-6)] {
        mass[8 * a + a] = -c;
        mass[8 * a + b] = c;
        mass[8 * b + a] = c;
        mass[8 * b + b] = -c;
    }
    mass[8 * 2 + 2] = -2e-6;
    mass[8 * 5 + 5] = -4e-6;
    let rate = |t: f64, _: &[f64], out: &mut [f64]| {
        out.fill(0.0);
        let omega = 200.0 * std::f64::consts::PI;
        out[0] = -0.1 * omega * (omega * t).cos() / R0;
    };
    Dense::new(8, rhs, jacobian).time(rate).mass(&mass)
}

/// Robertson's problem with the conservation law instead of its third equation, t from 0 to 40.
fn robertson() -> Dense {
    let rhs = |_: f64, y: &[f64], f: &mut [f64]| {
        f[0] = -0.04 * y[0] + 1e4 * y[1] * y[2];
        f[1] = 0.04 * y[0] - 3e7 * y[1] * y[1] - 1e4 * y[1] * y[2];
        f[2] = y[0] + y[1] + y[2] - 1.0;
    };
    let jacobian = |_: f64, y: &[f64], j: &mut [f64]| {
        j[..3].copy_from_slice(&[-0.04, 1e4 * y[2], 1e4 * y[1]]);
        j[3..6].copy_from_slice(&[0.04, -6e7 * y[1] - 1e4 * y[2], -1e4 * y[1]]);
        j[6..].fill(1.0);
    };
    Dense::new(3, rhs, jacobian).mass(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
}

/// False for a Rosenbrock method whose last stage is not the step itself, so that it does not satisfy algebraic equations.
fn ends_on_its_last_stage(method: &Method) -> bool {
    let Family::Rosenbrock(t) = method.family else { return true };
    let last = t.m.len() - 1;
    t.m[..last] == *t.a[last] && t.m[last] == 1.0
}

/// Methods for differential-algebraic equations: those that damp at infinity and control an order of at least two.
fn suitable() -> impl Iterator<Item = &'static Method> {
    method::general().filter(|m| {
        m.structure.jacobian
            && m.order > 1
            && ends_on_its_last_stage(m)
            && matches!(m.stability, method::Stability::L | method::Stability::Sector(_))
    })
}

fn check(system: &Dense, t_end: f64, y0: &[f64], reference: &[f64], ratio: f64) {
    for method in suitable() {
        for rtol in [1e-4, 1e-6] {
            let y = run(system, (0.0, t_end), y0, method.name, &tolerances(rtol, rtol * ratio)).unwrap().0.y;
            let error = y.iter().zip(reference).map(|(y, r)| (y - r).abs() / (r.abs() + ratio)).fold(0.0, f64::max);
            assert!(error < 100.0 * rtol, "{} at {rtol:e}: {:.1} x rtol", method.name, error / rtol);
        }
    }
}

const AMPLIFIER_START: [f64; 8] = [0.0, 3.0, 3.0, 6.0, 3.0, 3.0, 6.0, 0.0];
/// Reference at t = 0.2.
const AMPLIFIER: [f64; 8] = [
    -0.005562145012262275,
    3.006522471903043,
    2.8499587886081286,
    2.9264225362062417,
    2.7046178650105546,
    2.761837778393144,
    4.770927631616773,
    1.2369958680915476,
];

#[test]
fn transistor_amplifier_is_solved() {
    check(&transistor_amplifier(), 0.2, &AMPLIFIER_START, &AMPLIFIER, 1.0);
}

#[test]
fn robertson_with_its_conservation_law_is_solved() {
    let reference = [0.715827068719405, 9.185534764557764e-06, 0.28416374574583037];
    check(&robertson(), 40.0, &[1.0, 0.0, 0.0], &reference, 1e-6);
}

/// The last stage of ros2 is not the step itself: algebraic equations are not satisfied until their residual is
/// solved for. Combinations of equations without derivatives count as well.
#[test]
fn ros2_solves_the_transistor_amplifier() {
    let options = tolerances(1e-4, 1e-4);
    let y = run(&transistor_amplifier(), (0.0, 0.2), &AMPLIFIER_START, "ros2", &options).unwrap().0.y;
    let error = y.iter().zip(&AMPLIFIER).map(|(y, r)| (y - r).abs() / (r.abs() + 1.0)).fold(0.0, f64::max);
    assert!(error < 2e-4, "{error:e}");
}
