//! Comparisons with `abs(u)`: each has two surfaces, and u = 0 is not an additional one.

use odec_tests::share::Share;
use odec_tests::{root, text};

use crate::unknowns::last;

/// Over one period of u = cos(t), v = sin(t), with c = 1/2 and k = -2: the integral in closed form or by quadrature
/// between the surfaces.
const TURN: [(&str, f64); 11] = [
    ("if abs(u) > c then 1 else 0", 4.188_790_204_786_391),
    ("max(abs(u), c)", 4.511_299_166_334_353),
    ("min(abs(u), c)", 2.630_293_487_255_440_4),
    ("max(c, -abs(u))", std::f64::consts::PI),
    ("if k*abs(u) >= -1 then 1 else 0", 2.094_395_102_393_195_3),
    ("if abs(u)/k + 1 < 0.75 then 1 else 0", 4.188_790_204_786_391),
    ("if 1 - abs(u) < c then 1 else 0", 4.188_790_204_786_391),
    ("if abs(abs(u) - c) > 0.25 then 1 else 0", 3.901_658_011_821_978),
    ("if abs(u) > -c then 1 else 0", std::f64::consts::TAU),
    ("max(abs(u), -c)", 4.0),
    ("if abs(u) < abs(v) then 1 else 0", std::f64::consts::PI),
];

/// Reference at t = 61,200 (shared reference solution): flows, a friction coefficient, pressures.
const WATER_TUBE: [(&str, f64); 10] = [
    ("phi1_2", 0.002_298_488_296_477_430_3),
    ("phi3_4", 0.000_158_962_010_041_850_26),
    ("phi5_10", 0.003_243_571_481_036_306_5),
    ("phi8_10", 0.003_403_428_518_963_693_6),
    ("phi13_11", 0.005_746_220_741_193_576),
    ("lam5_10", 0.043_111_967_787_394_48),
    ("p5", 111_126.859_147_811_1),
    ("p8", 111_127.004_559_239_65),
    ("p10", 111_125.515_888_109_34),
    ("p13", 111_129.833_897_178_77),
];

fn value(found: &[(String, f64)], name: &str) -> f64 {
    found.iter().find(|(column, _)| column == name).unwrap_or_else(|| panic!("no column `{name}`")).1
}

#[test]
fn magnitudes_are_compared_as_written() {
    let head = "param c = 0.5, k = -2\nstate u = 1, v = 0, a = 0\nu' = -v\nv' = u\n";
    for (law, exact) in TURN {
        let text = format!("{head}a' = {law}\nrun {{ t = 0 .. 2*pi; samples = 1 }}\n");
        for method in ["auto", "tsit5", "rodas5p", "bdf"] {
            let found = last("magnitudes-0", &text, &["--method", method, "--rtol", "1e-8", "--atol", "1e-10"]);
            let off = value(&found, "a") - exact;
            assert!(off.abs() < 1e-6, "{law} by {method}: off by {off:e}");
        }
    }
}

/// The measure of abs(u) > c is 4 acos(c).
#[test]
fn derivatives_cross_both_surfaces_of_a_magnitude() {
    let text = "param c = 0.5\nstate u = 1, v = 0, a = 0\nu' = -v\nv' = u\na' = if abs(u) > c then 1 else 0\n\
                run { t = 0 .. 2*pi; samples = 1; rtol = 1e-8; atol = 1e-10 }\n";
    let found = last("magnitudes-1", text, &["--sens", "c"]);
    let off = value(&found, "d(a)/d(c)") + 4.0 / 0.75f64.sqrt();
    assert!(off.abs() < 1e-5, "off by {off:e}");
}

#[test]
fn elements_and_events_compare_magnitudes() {
    let text = "index i = 1..3\nstate u[i] = i/4, v[i] = 0, a[i] = 0\ndiscrete n = 0\nu[i]' = -v[i]\nv[i]' = u[i]\n\
                a[i]' = if abs(u[i]) > 0.5 then 1 else 0\nwhen abs(v[3]) > 0.5 { n += 1 }\noutput count = n\n\
                run { t = 0 .. 2*pi; samples = 1; rtol = 1e-8; atol = 1e-10 }\n";
    let found = last("magnitudes-2", text, &[]);
    // the second element only touches its surface
    for (name, exact) in [("a[1]", 0.0), ("a[3]", 4.0 * (2.0f64 / 3.0).acos()), ("count", 2.0)] {
        let off = value(&found, name) - exact;
        assert!(off.abs() < 1e-6, "{name}: off by {off:e}");
    }
}

/// Pipes in which the water is at rest at the start: rounding decides the signs of the flows.
#[test]
fn a_network_of_pipes_starts_from_rest() {
    let model = text(&root().join("tests/fixtures/constraints/water_tube.ode"));
    let automatic = [("auto", "1e-4"), ("auto", "1e-6"), ("auto", "1e-8")];
    // with these, the projection onto the constraints once took a flow back across the threshold, by its rounding
    let crossing = [("rodas3", "1e-4"), ("bdf", "1e-6"), ("rodas4", "1e-8")];
    let mut share = Share::one_of(2);
    for (method, rtol) in automatic.into_iter().chain(crossing).filter(|_| share.takes()) {
        let tolerance: f64 = rtol.parse().expect("a number");
        let atol = format!("{:e}", 1e-3 * tolerance);
        let found = last("magnitudes-3", &model, &["--method", method, "--rtol", rtol, "--atol", &atol]);
        for (name, exact) in WATER_TUBE {
            let off = (value(&found, name) - exact).abs() / exact;
            assert!(off <= 100.0 * tolerance, "{name} at {rtol} by {method}: off by {off:e}");
        }
    }
}
