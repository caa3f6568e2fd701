//! A run that passes a pole of its equations says so (W0624): in models with arrays, algebraic unknowns, and divisors
//! that are powers or products.

use crate::monitor::{codes, one, said, simulation};

/// The last value of a state, and whether the run tells of a pole.
fn last(text: &str, state: &str) -> (f64, bool) {
    let solution = simulation(text).solve().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let last = solution.column(state).and_then(Iterator::last).unwrap_or(f64::NAN);
    (last, codes(text).contains(&"W0624"))
}

/// Models whose state S decays to `least` or more; beyond a pole, it falls without end.
const MODELS: [(&str, &str, f64); 4] = [
    ("S' = -S^3/(K^3 + S^3) - 0.2\n", "state S = 1\n", -0.01),
    ("S' = -(S/K)^3/(1 + (S/K)^3) - 0.01*S\n", "state S = 1\n", -0.01),
    ("S' = -S*A/((K + S)*(K + A))\nA' = 0.7*S'\n", "state S = 1, A = 1\n", -0.43),
    ("S' = -v - 0.1*S\n0 = v - S/(K + S)\n", "state S = 1\nunknown v = 1\n", -0.01),
];

#[test]
fn no_pole_is_passed_in_silence() {
    let mut passed = 0;
    for (equations, states, least) in MODELS {
        for method in ["auto", "bdf", "rodas4", "dopri5", "tsit5"] {
            if states.contains("unknown") && ["dopri5", "tsit5"].contains(&method) {
                continue;
            }
            for k in ["1e-2", "1e-3", "1e-4"] {
                let run = format!("run {{ t = 0 .. 3; rtol = 1e-3; samples = 100; method = {method} }}\n");
                let text = format!("param K = {k}\n{states}{equations}{run}");
                let (last, told) = last(&text, "S");
                assert!(told || last >= least, "{last}\n{text}");
                passed += usize::from(told);
            }
        }
    }
    assert!(passed > 5, "{passed}");
}

#[test]
fn elements_of_arrays_are_followed() {
    let text = "param K = 1e-3\nindex i = 1..20\nboundary clamp i\nstate S[i] = 1 + 0.5*sin(i)\n\
                S[i]' = 0.001*(S[i-1] - 2*S[i] + S[i+1]) - S[i]/(K + S[i])\n\
                run { t = 0 .. 3; rtol = 1e-2; samples = 100; method = dopri5 }\n";
    let d = one(text, "W0624", "(K + S[i])", &["`(K + S[i])` changes its sign", "S[i] >= 0"]);
    assert!(d.labels.len() > 1, "{}", said(&d));
    // a sum over other elements divides
    let text = "param K = 1e-3\nindex i = 1..4\nstate S[i] = i\n\
                S[i]' = -S[i]/(K + sum(i: S[i]))\n\
                run { t = 0 .. 30; rtol = 1e-2; samples = 100; method = dopri5 }\n";
    let text = text.replace("index i", "index i, j").replace("sum(i: S[i])", "sum(j: S[j])");
    let (last, told) = last(&text, "S[1]");
    assert!(told || last.abs() < 0.1, "{last}");
}

#[test]
fn divisors_that_keep_their_sign_or_whose_zero_is_no_pole_are_not_reported() {
    for equations in [
        // positive for all states
        "x' = v\nv' = -x/(1 + v^2)",
        "x' = v\nv' = -x/(1 + x^4)*exp(-v)/(0.1 + exp(-v))",
        // the quotient has a pole, but f has none
        "x' = v\nv' = -(v/x)^2/(1 + (v/x)^2) - x",
        "x' = v\nv' = -x*x/x",
        // a pole whose term is smaller than the tolerance wherever the state is further from it than the tolerance
        "x' = v\nv' = -x\nstate w = 1\nw' = 1e-20/(x - 0.2)",
    ] {
        for method in ["auto", "dopri5", "rodas4"] {
            let text =
                format!("state x = 1, v = 0.3\n{equations}\nrun {{ t = 0 .. 20; samples = 200; method = {method} }}\n");
            assert!(!codes(&text).contains(&"W0624"), "{text}");
        }
    }
}

/// A strong acid is neutralised: the concentration h falls from 1e-2 to 1e-12. A second solution, h < 0, lies beyond the
/// pole of `kw/h`.
#[test]
fn rows_have_the_unknowns_of_the_steps() {
    for (method, rtol, atol) in [
        ("auto", 1e-4, 1e-9),
        ("auto", 1e-8, 1e-9),
        ("rodas5p", 1e-3, 1e-9),
        ("rodas5p", 1e-6, 1e-12),
        ("ros2", 1e-2, 1e-9),
    ] {
        let text = format!(
            "param kw = 1e-14, F = 0.001\nstate cl = 0.01, na = 0\nunknown h = 1e-2\nna' = F\ncl' = 0\n\
             h + na = kw/h + cl\nrun {{ t = 0 .. 20; samples = 1000; method = {method}; rtol = {rtol}; atol = {atol} }}\n"
        );
        let solution = simulation(&text).solve().unwrap_or_else(|e| panic!("{e}\n{text}"));
        for (h, na) in solution.column("h").expect("h").zip(solution.column("na").expect("na")) {
            let d = 0.01 - na;
            let root = (d * d + 4e-14).sqrt();
            let exact = if d > 0.0 { 0.5 * (d + root) } else { 2e-14 / (root - d) };
            assert!((h - exact).abs() <= 100.0 * (atol + rtol * exact), "{h} instead of {exact}\n{text}");
        }
    }
}
