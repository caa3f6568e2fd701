//! W0622 for runs with sensitivities: their rows are compared with those of a second run, as states are.

use odec_sim::Session;
use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;

use crate::monitor::said;

/// The solution of a model with sensitivities.
fn solved(text: &str, by: &[&str]) -> odec_sim::Solution {
    let loaded = Session::new().load("test.ode", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let open = by.iter().map(ToString::to_string).collect();
    let choices = Choices { open, sensitivities: true, ..Choices::default() };
    let simulation = loaded.simulate(&choices, Purpose::Rows).unwrap_or_else(|e| panic!("{e}\n{text}"));
    simulation.solve().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The exact values of a column.
type Exact<'a> = (&'a str, &'a dyn Fn(f64) -> f64);

/// Largest error of these columns in tolerances, and the text of W0622 if it was given.
fn judged(text: &str, by: &[&str], (rtol, atol): (f64, f64), exact: &[Exact<'_>]) -> (f64, Option<String>) {
    let solution = solved(text, by);
    let times: Vec<f64> = solution.column("t").expect("times").collect();
    let mut most = 0.0f64;
    for (name, exact) in exact {
        let found = solution.column(name).unwrap_or_else(|| panic!("{name} is no column"));
        let size = times.iter().map(|t| exact(*t).abs()).fold(0.0, f64::max);
        let error = times.iter().zip(found).map(|(t, v)| (v - exact(*t)).abs()).fold(0.0, f64::max);
        most = most.max(error / (atol + rtol * size));
    }
    (most, solution.warnings.iter().find(|d| d.code.code == "W0622").map(said))
}

#[test]
fn a_sensitivity_that_misses_its_tolerance_is_reported() {
    // x = cos(w*t): its derivative with respect to w grows with t, and so does the error
    let text = |method: &str| {
        format!(
            "param w = 2\nstate x = 1, v = 0\nx' = v\nv' = -w^2*x\noutput E = v^2 + w^2*x^2\n\
             run {{ t = 0 .. 100; method = {method}; samples = 200; rtol = 1e-6; atol = 1e-9 }}\n"
        )
    };
    let exact: &[Exact<'_>] = &[
        ("x", &|t| (2.0 * t).cos()),
        ("d(x)/d(w)", &|t| -t * (2.0 * t).sin()),
        ("d(v)/d(w)", &|t| -(2.0 * t).sin() - 2.0 * t * (2.0 * t).cos()),
        ("d(E)/d(w)", &|_| 4.0),
    ];
    let mut reported = 0;
    for method in ["auto", "dopri5", "tsit5", "vern9", "radau5", "bdf", "kencarp4", "rodas5p"] {
        let (error, told) = judged(&text(method), &["w"], (1e-6, 1e-9), exact);
        // the second run has an error, too
        assert!(error <= 12.0 || told.is_some(), "{method}: off by {error} tolerances in silence");
        assert!(error >= 5.0 || told.is_none(), "{method}: off by {error} tolerances, {told:?}");
        reported += u32::from(told.is_some());
    }
    assert!(reported >= 3, "{reported}");
}

#[test]
fn a_derivative_that_hardly_changes_its_output_needs_few_digits() {
    // d(rate)/d(k) is about 1e-8: if k doubles, `rate` changes by 1e-4, and the error of 3e-12 becomes one of 3e-8
    let text = "param k = 1e4, a = 1\nstate y = 0, z = 1\ny' = -k*(y - cos(a*t))\nz' = y - z\noutput rate = y'\n\
                run { t = 0 .. 20; samples = 100; rtol = 1e-6; atol = 1e-9 }\n";
    let told: Vec<_> = solved(text, &["k", "a"]).warnings.iter().filter(|d| d.code.code == "W0622").map(said).collect();
    assert_eq!(told, [""; 0]);
}
