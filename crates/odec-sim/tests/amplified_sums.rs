//! W0622 for runs whose errors are hard to foresee: they grow slowly, are made in few steps, or are repeated by a second
//! run. Each run is compared with an accurate one.

use crate::monitor::{codes, said, simulation, warnings};

/// A model without its run block, the end of its run, and the columns that are compared.
type Case<'a> = (&'a str, f64, &'a [&'a str]);

/// The values of these columns.
fn values(text: &str, columns: &[&str]) -> Vec<Vec<f64>> {
    let solution = simulation(text).solve().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let column = |name: &&str| solution.column(name).unwrap_or_else(|| panic!("no {name}\n{text}")).collect();
    columns.iter().map(column).collect()
}

/// Checks that W0622 is given if a row is off by more than 10 tolerances, and not if it is off by less than 5; true if it is
/// given.
fn warned(case: Case<'_>, method: &str, rtol: f64) -> bool {
    warned_at(case, method, (rtol, rtol))
}

/// The same with another absolute tolerance.
fn warned_at((model, end, columns): Case<'_>, method: &str, (rtol, absolute): (f64, f64)) -> bool {
    let text = |method: &str, (rtol, atol): (f64, f64)| {
        format!("{model}run {{ t = 0 .. {end}; method = {method}; rtol = {rtol:e}; atol = {atol:e}; samples = 120 }}\n")
    };
    let own = text(method, (rtol, absolute));
    let exact = text("auto", (1e-12, 1e-12 * absolute / rtol));
    let error = |((name, found), exact): ((&&str, Vec<f64>), Vec<f64>)| {
        let size = exact.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        let error = found.iter().zip(&exact).fold(0.0f64, |most, (v, exact)| most.max((v - exact).abs()));
        // outputs have no absolute tolerance
        let atol = if model.contains(&format!("output {name}")) { 0.0 } else { absolute };
        error / (atol + rtol * size)
    };
    let (found, exact) = (values(&own, columns), values(&exact, columns));
    let error = columns.iter().zip(found).zip(exact).map(error).fold(0.0, f64::max);
    let codes = codes(&own);
    let warned = codes.contains(&"W0622");
    assert!(error <= 10.0 || warned, "{method} at {rtol:e}: off by {error} tolerances, {codes:?}\n{own}");
    assert!(error >= 5.0 || !warned, "{method} at {rtol:e}: off by {error} tolerances, {codes:?}\n{own}");
    warned
}

/// The period of this oscillation depends on its amplitude, so that an error of the amplitude becomes one of the phase.
#[test]
fn errors_that_grow_slowly_and_add_up_are_found() {
    let oscillator = "state x = 1, v = 0\nx' = v\nv' = -x - 5*x^3 + 0.3*sin(t/3)\n";
    assert!(warned((oscillator, 60.0, &["x", "v"]), "vern9", 1e-8));
    assert!(warned((oscillator, 60.0, &["x", "v"]), "radau5", 1e-4));
    assert!(!warned((oscillator, 60.0, &["x", "v"]), "radau5", 1e-8));
    assert!(!warned((oscillator, 60.0, &["x", "v"]), "auto", 1e-8));
}

/// The errors are made at 318 kinks, and those of single steps differ by many powers of ten.
#[test]
fn errors_at_kinks_that_add_up_are_found() {
    let kinks = "state y = 0\ny' = abs(sin(100*t))\n";
    assert!(warned((kinks, 10.0, &["y"]), "tsit5", 1e-8));
    assert!(!warned((kinks, 10.0, &["y"]), "auto", 1e-8));
}

/// Most of the errors of a short run are made in few of its steps.
#[test]
fn errors_of_few_steps_that_shift_the_solution_are_found() {
    let brusselator = "param A = 1, B = 3\nstate x = 1, y = 1\nx' = A + x^2*y - (B + 1)*x\ny' = B*x - x^2*y\n";
    assert!(warned((brusselator, 40.0, &["x", "y"]), "rodas5p", 1e-4));
    assert!(!warned((brusselator, 40.0, &["x", "y"]), "auto", 1e-6));
}

/// Events end every second or third step, so that a smaller tolerance takes the same steps.
#[test]
fn errors_between_many_events_are_found() {
    let differences = "discrete last = 1, slope = 0\nstate x = 1\nx' = -0.01*x + 1e-3*sin(t)\n\
                       every 0.01 { slope := (x - last)/0.01; last := x }\noutput slope\n";
    assert!(warned((differences, 9.875, &["slope"]), "bdf", 1e-6));
    assert!(!warned((differences, 9.875, &["slope"]), "auto", 1e-6));
}

/// Stability alone determines the steps of an explicit method in a stiff phase: with a smaller tolerance, it takes the
/// same steps and repeats its errors.
#[test]
fn a_second_run_with_the_same_steps_is_followed_by_another() {
    let flame = "state y = 1e-4\ny' = y^2 - y^3\n";
    assert!(warned_at((flame, 20000.0, &["y"]), "dopri5", (1e-4, 1e-9)));
}

/// A smaller tolerance hardly changes the errors of `bdf` in the energy of a constrained motion.
#[test]
fn errors_of_a_constrained_motion_are_compared_with_another_method() {
    let pendulum = "state x = 1, y = 0, u = 0, v = 0\nunknown T = 0\nx' = u\ny' = v\nu' = -T*x\nv' = -T*y - 9.81\n\
                    x^2 + y^2 = 1\n";
    assert!(warned_at((pendulum, 60.0, &["x", "y", "u", "v"]), "bdf", (1e-6, 1e-9)));
    assert!(!warned_at((pendulum, 60.0, &["x", "y", "u", "v"]), "radau5", (1e-6, 1e-9)));
}

/// The states of a named method are off by two tolerances, which an output multiplies by eight.
#[test]
fn usual_errors_of_named_methods_are_seen_in_outputs() {
    let chain = "state a = 1, b = 0\na' = -1e-3*a\nb' = 1e-3*a - 5*b\noutput r = b/a\n";
    assert!(warned_at((chain, 200.0, &["a", "b", "r"]), "tsit5", (1e-6, 1e-9)));
    assert!(!warned_at((chain, 200.0, &["a", "b", "r"]), "radau5", (1e-6, 1e-9)));
}

/// The times of rows differ from those of events by rounding errors, and the rows have the values after the events: a
/// comparison with the values before them would show errors that are none.
#[test]
fn outputs_in_rows_at_events_have_the_values_after_them() {
    let controller = "param Kp = 4, Ki = 2, dt = 0.05\ndiscrete u = 0, I = 0\nstate T = 20, Tw = 20\n\
                      T' = -0.3*(T - 20) + 0.5*(Tw - T)\nTw' = u - 0.5*(Tw - T)\n\
                      every dt { I := I + Ki*dt*(50 - T); u := min(max(Kp*(50 - T) + I, 0), 40) }\noutput u\n";
    assert!(warned_at((controller, 36.0, &["T", "Tw", "u"]), "bdf", (1e-4, 1e-9)));
    assert!(!warned_at((controller, 36.0, &["T", "Tw", "u"]), "rodas5p", (1e-4, 1e-9)));
    assert!(!warned_at((controller, 36.0, &["T", "Tw", "u"]), "dopri5", (1e-6, 1e-9)));
}

/// Eight undamped oscillators of different frequencies: the estimates of the steps are far larger than their errors, which
/// add up to 13 tolerances all the same.
#[test]
fn errors_of_many_oscillators_add_up() {
    let of = |k: usize| format!("state x{k} = 1, v{k} = 0\nx{k}' = v{k}\nv{k}' = -{0}^2*x{k}\n", 10 + 7 * k);
    let model: String = (0..8).map(of).collect();
    assert!(codes(&format!("{model}run {{ t = 0 .. 600; samples = 100 }}\n")).contains(&"W0622"));
    assert!(!codes(&format!("{model}run {{ t = 0 .. 100; samples = 100 }}\n")).contains(&"W0622"));
}

/// Coupled pendulums: their frequencies depend on their amplitudes, so errors grow with the square of time. With 24
/// unknowns, eigenvalues would take too long, and the run counts as undamped.
#[test]
fn errors_of_many_pendulums_add_up() {
    let text = "index i = 1..12\nstate th[i] = 0.8*sin(2.3*i), th[i]' = 0\n\
                th[i]'' = -9.81*sin(th[i])*(1 + 0.05*i) + 0.02*(th[i-1] - 2*th[i] + th[i+1])\nboundary clamp i\n\
                run { t = 0 .. 1000; samples = 100 }\n";
    assert!(codes(text).contains(&"W0622"));
}

/// The oscillation of a parametric resonance swells and ebbs, and its errors grow from one beat to the next.
#[test]
fn errors_that_grow_from_beat_to_beat_do_not_end_the_second_run_early() {
    let text = "state x = 0.1, v = 0\nx' = v\nv' = -(1 + 0.03*cos(2.002*t))*x - 1e-6*x^3\nrun { t = 0 .. 3500 }\n";
    assert!(codes(text).contains(&"W0622"), "{:?}", codes(text));
}

/// A growing state beside an orbit: its own warning says nothing of the orbit.
#[test]
fn growth_of_one_state_does_not_hide_errors_of_others() {
    let orbit =
        "state x = 0.4, y = 0, u = 0, v = 2, s = 1\nr3 = (x^2 + y^2)^1.5\nx' = u\ny' = v\nu' = -x/r3\nv' = -y/r3\n";
    let found = warnings(&format!("{orbit}s' = 0.3*s\nrun {{ t = 0 .. 500 }}\n"));
    let of = |code: &str| found.iter().find(|d| d.code.code == code).map(said).unwrap_or_default();
    assert!(of("W0605").contains("λ = 0.3,"), "{}", of("W0605"));
    assert!(of("W0622").contains("rows are off"), "{found:?}");
}
