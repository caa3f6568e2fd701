//! The errors of constant steps (W0626): the second run with half the step estimates them, and the advised step keeps its
//! promise.

use odec_sim::session::{Judgement, Solved};

use crate::monitor::{codes, one, said, simulation};
use crate::second_runs::Ignored;

/// An oscillator, x(t) = cos(t).
fn oscillator(end: f64, method: &str, step: f64) -> String {
    let run = format!("run {{ t = 0 .. {end}; method = {method}; step = {step} }}\n");
    format!("state x = 1, v = 0\nx' = v\nv' = -x\n{run}")
}

/// The estimated error of the worst row, as a part of the range of its state.
fn estimated(text: &str) -> f64 {
    let simulation = simulation(text);
    let Solved { result, seen } = simulation.run(&mut Ignored);
    assert!(result.is_ok());
    let Judgement { second_run, .. } = simulation.warnings_of_rows(&seen, &|| false);
    second_run.expect("constant steps").difference
}

/// The true one: the error of an oscillator after many cycles is largest near the end.
fn exact(text: &str) -> f64 {
    struct Rows(f64);
    impl odec_sim::sample::Recorder for Rows {
        fn row(&mut self, values: &[f64]) -> std::ops::ControlFlow<()> {
            let (t, x, v) = (values[0], values[1], values[2]);
            self.0 = self.0.max((x - t.cos()).abs()).max((v + t.sin()).abs());
            std::ops::ControlFlow::Continue(())
        }
    }
    let mut rows = Rows(0.0);
    simulation(text).run(&mut rows);
    rows.0 / 2.0
}

#[test]
fn half_the_step_shows_the_error_of_the_step() {
    let cases = [
        ("euler", 0.002),
        ("midpoint", 0.05),
        ("heun", 0.05),
        ("rk4", 0.2),
        ("trapezoidal", 0.1),
        ("backward-euler", 0.002),
        ("rodas4", 0.3),
        ("bdf2", 0.02),
    ];
    for (method, step) in cases {
        let text = oscillator(12.0, method, step);
        let (estimate, error) = (estimated(&text), exact(&text));
        assert!((estimate / error).ln().abs() < 0.4, "{method}: {estimate:e} {error:e}");
        assert!(codes(&text).iter().all(|code| *code != "W0626"), "{method}");
    }
}

/// A forcing whose period is half the step, or a quarter of it, has the same value at all steps.
#[test]
fn half_the_step_does_not_meet_a_fast_forcing_in_the_same_phase() {
    for (method, rate) in [("velocity-verlet", 20), ("rk4", 40), ("heun", 20), ("trapezoidal", 80)] {
        let forced = format!("state x = 1, x' = 0\nx'' = -x + 20*cos(2*pi*{rate}*t)\n");
        let text = format!("{forced}run {{ t = 0 .. 10; method = {method}; step = 0.1 }}\n");
        assert!(codes(&text).contains(&"W0626"), "{method}: {:?}", codes(&text));
    }
}

#[test]
fn errors_that_a_plot_shows_are_told_and_the_advised_step_keeps_its_promise() {
    let text = oscillator(12.0, "heun", 0.4);
    let d = one(&text, "W0626", "step = 0.4", &["of its range: steps of 0.4 are too long", "for errors of about 1 %"]);
    let help = d.help.expect("advice");
    let step: f64 = help.split("step = ").nth(1).and_then(|rest| rest.split('`').next()?.parse().ok()).expect("a step");
    let text = oscillator(12.0, "heun", step);
    assert!(exact(&text) < 0.015, "{step}: {:e}", exact(&text));
    assert!(codes(&text).is_empty(), "{:?}", codes(&text));
    // errors as large as the range say nothing about shorter steps
    let text = "state x = 1, x' = 0\nx'' = -x\nrun { t = 0 .. 100; method = velocity-verlet; step = 0.8 }\n";
    one(text, "W0626", "step = 0.8", &["for errors of about 1 %, try at most `step = 0.0"]);
}

#[test]
fn a_comment_turns_the_second_run_off() {
    let text = oscillator(12.0, "heun", 0.4).replace("\nrun { t = 0 .. 12;", "\nrun {\n  t = 0 .. 12\n ");
    let allowed = text.replace("step = 0.4 }", "step = 0.4  # allow W0626\n}");
    assert!(allowed.contains("allow"));
    let simulation = simulation(&allowed);
    let Solved { seen, .. } = simulation.run(&mut Ignored);
    let judged = simulation.warnings_of_rows(&seen, &|| false);
    assert!(judged.warnings.is_empty() && judged.second_run.is_none(), "{:?}", judged.warnings);
}

/// An event that changes an algebraic unknown has a row before and one after it. The range of a state is that of the run,
/// not of its few rows.
#[test]
fn rows_at_events_and_few_rows_are_no_errors() {
    let unknown = "discrete k = 1\nstate x = 1\nunknown q = 0.5\nq = k*(x - 0.5)\nx' = -q\nat 1 { k := 10 }\n\
                   run { t = 0 .. 2; method = trapezoidal; step = 0.02 }\n";
    assert_eq!(codes(unknown), [""; 0]);
    let few =
        "state x = 1, v = 0\nx' = v\nv' = -4*x\nrun { t = 0 .. 50; method = euler; step = 0.0005; samples = 4 }\n";
    assert!(estimated(few) < 0.04, "{}", estimated(few));
    assert!(codes(few).iter().all(|code| *code != "W0626"), "{:?}", codes(few));
}

/// Both runs find a bounce at slightly different times, and a state that does not change has no range.
#[test]
fn events_and_constant_states_are_no_errors() {
    let ball = "state h = 1, v = 0, T = 300\nh' = v\nv' = -9.81\nT' = 0*h\nwhen h < 0 { v := -0.8*v }\n\
                run { t = 0 .. 2; samples = 400; method = rk4; step = 0.01 }\n";
    assert!(codes(ball).iter().all(|code| *code != "W0626"), "{:?}", codes(ball));
    // an unstable step has another reason
    let stiff = "state y = 1\ny' = -100*y\nrun { t = 0 .. 1; method = euler; step = 0.025 }\n";
    assert_eq!(codes(stiff), ["W0603"]);
}

/// Doses every 0.5 end all steps of 1.
#[test]
fn steps_that_events_end_are_halved_too() {
    let text = "state g = 0, x = 1, v = 0\ng' = -1.5*g\nx' = v\nv' = -x - 1.2*v + g\nevery 0.5 { g += 0.5 }\n\
                run { t = 0 .. 12; method = euler; step = 1; samples = 60 }\n";
    assert!(codes(text).contains(&"W0626"), "{:?}", codes(text));
}

/// Robertson's reaction overflows in the second step.
#[test]
fn an_overflow_in_the_first_steps_names_the_stable_step() {
    let robertson = "state x = 1, y = 0, z = 0\nx' = -0.04*x + 1e4*y*z\ny' = 0.04*x - 1e4*y*z - 3e7*y^2\n\
                     z' = 3e7*y^2\nrun { t = 0 .. 40; method = rk4; step = 0.01 }\n";
    let cubic = "state x = 5\nx' = -100*x^3\nrun { t = 0 .. 10; method = rk4; step = 0.1 }\n";
    for (text, part) in [(robertson, "too long for `rk4`"), (cubic, "λ = -7500")] {
        let error = simulation(text).solve().expect_err("an overflow");
        let d = &error.diagnostics[0];
        assert!(said(d).contains(part) && said(d).contains("`step = "), "{}", said(d));
    }
}

/// Logistic growth with a wrong sign becomes infinite at t = ln(11).
#[test]
fn a_solution_that_becomes_infinite_names_the_term_that_feeds_it() {
    let text = "param r = 1, K = 10\nstate N = 1\nN' = r*N + r*N^2/K - 0.1\nrun { t = 0 .. 10 }\n";
    let error = simulation(text).solve().expect_err("no solution to t = 10");
    let d = &error.diagnostics[0];
    assert_eq!((d.code.code, &text[d.labels[0].span.range()]), ("E0604", "r*N^2/K"), "{}", said(d));
    assert!(said(d).contains("is a sign wrong?") && said(d).contains("this drives `N` from 1 to"), "{}", said(d));
}

/// Newton's iteration fails with half the step at the pericentre, where the whole step passes by luck.
#[test]
fn a_second_run_that_fails_is_told() {
    let orbit =
        "state x = 0.1, y = 0, u = 0, v = sqrt(19)\nr3 = (x^2 + y^2)^1.5\nx' = u\ny' = v\nu' = -x/r3\nv' = -y/r3\n";
    let text = format!("{orbit}run {{ t = 0 .. 100; method = radau5; step = 0.5 }}\n");
    one(&text, "W0626", "step = 0.5", &["a run with about half the step ends at t = 0", "try `step = 0.05`"]);
}
