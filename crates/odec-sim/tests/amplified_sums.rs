//! W0622 for runs whose errors are hard to foresee: they grow slowly, are made in few steps, or are repeated by a second
//! run. Each run is compared with an accurate one.

use crate::monitor::{codes, simulation};

/// A model without its run block, the end of its run, and the columns that are compared.
type Case<'a> = (&'a str, f64, &'a [&'a str]);

/// The values of a column.
fn column(text: &str, name: &str) -> Vec<f64> {
    let solution = simulation(text).solve().unwrap_or_else(|e| panic!("{e}\n{text}"));
    solution.column(name).unwrap_or_else(|| panic!("no {name}\n{text}")).collect()
}

/// Checks that W0622 is given if a row is off by more than 10 tolerances, and not if it is off by less than 5; true if it is
/// given.
fn judged((model, end, columns): Case<'_>, method: &str, rtol: f64) -> bool {
    let text = |method: &str, rtol: f64| {
        format!("{model}run {{ t = 0 .. {end}; method = {method}; rtol = {rtol:e}; atol = {rtol:e}; samples = 120 }}\n")
    };
    let own = text(method, rtol);
    let error = |name: &&str| {
        let (found, exact) = (column(&own, name), column(&text("auto", 1e-12), name));
        let size = exact.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        let error = found.iter().zip(&exact).fold(0.0f64, |most, (v, exact)| most.max((v - exact).abs()));
        // outputs have no absolute tolerance
        let atol = if model.contains(&format!("output {name}")) { 0.0 } else { rtol };
        error / (atol + rtol * size)
    };
    let error = columns.iter().map(error).fold(0.0, f64::max);
    let codes = codes(&own);
    let told = codes.contains(&"W0622");
    assert!(error <= 10.0 || told, "{method} at {rtol:e}: off by {error} tolerances, {codes:?}\n{own}");
    assert!(error >= 5.0 || !told, "{method} at {rtol:e}: off by {error} tolerances, {codes:?}\n{own}");
    told
}

/// The period of this oscillation depends on its amplitude, so that an error of the amplitude becomes one of the phase.
#[test]
fn errors_that_grow_slowly_and_add_up_are_found() {
    let oscillator = "state x = 1, v = 0\nx' = v\nv' = -x - 5*x^3 + 0.3*sin(t/3)\n";
    assert!(judged((oscillator, 60.0, &["x", "v"]), "vern9", 1e-8));
    assert!(judged((oscillator, 60.0, &["x", "v"]), "radau5", 1e-4));
    assert!(!judged((oscillator, 60.0, &["x", "v"]), "radau5", 1e-8));
    assert!(!judged((oscillator, 60.0, &["x", "v"]), "auto", 1e-8));
}

/// The errors are made at 318 kinks, and those of single steps differ by many powers of ten.
#[test]
fn errors_at_kinks_that_add_up_are_found() {
    let kinks = "state y = 0\ny' = abs(sin(100*t))\n";
    assert!(judged((kinks, 10.0, &["y"]), "tsit5", 1e-8));
    assert!(!judged((kinks, 10.0, &["y"]), "auto", 1e-8));
}

/// Most of the errors of a short run are made in few of its steps.
#[test]
fn errors_of_few_steps_that_shift_the_solution_are_found() {
    let brusselator = "param A = 1, B = 3\nstate x = 1, y = 1\nx' = A + x^2*y - (B + 1)*x\ny' = B*x - x^2*y\n";
    assert!(judged((brusselator, 40.0, &["x", "y"]), "rodas5p", 1e-4));
    assert!(!judged((brusselator, 40.0, &["x", "y"]), "auto", 1e-6));
}

/// Events end every second or third step, so that a smaller tolerance takes the same steps.
#[test]
fn errors_between_many_events_are_found() {
    let differences = "discrete last = 1, slope = 0\nstate x = 1\nx' = -0.01*x + 1e-3*sin(t)\n\
                       every 0.01 { slope := (x - last)/0.01; last := x }\noutput slope\n";
    assert!(judged((differences, 9.875, &["slope"]), "bdf", 1e-6));
    assert!(!judged((differences, 9.875, &["slope"]), "auto", 1e-6));
}
