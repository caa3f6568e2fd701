//! Warnings of runs whose answer is wrong but finite: they are given, with correct numbers and with text that removes
//! the fault when it is typed; a run without faults gives none; the monitor changes no result.

use std::ops::ControlFlow;

use odec_lang::diagnostic::Diagnostic;
use odec_ode::problem::{Samples, Sink, Stats};
use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;
use odec_sim::monitor::Findings;
use odec_sim::sample::{self, Recorder};
use odec_sim::{Session, Simulation};

pub fn simulation(text: &str) -> Simulation {
    let loaded = Session::new().load("test.ode", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    loaded.simulate(&Choices::default(), Purpose::Rows).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

pub fn warnings(text: &str) -> Vec<Diagnostic> {
    simulation(text).solve().unwrap_or_else(|e| panic!("{e}\n{text}")).warnings
}

pub fn codes(text: &str) -> Vec<&'static str> {
    warnings(text).iter().map(|d| d.code.code).collect()
}

/// Whole text of a warning, and the text that its first label marks.
pub fn said(d: &Diagnostic) -> String {
    let labels: Vec<&str> = d.labels.iter().map(|l| l.text.as_str()).collect();
    format!("{} | {} | {}", d.headline, labels.join(" | "), d.help.as_deref().unwrap_or_default())
}

/// The single warning of a run, checked for parts of its text and for the text that it marks first.
#[track_caller]
pub fn one(text: &str, code: &str, marked: &str, parts: &[&str]) -> Diagnostic {
    let list = warnings(text);
    let [d] = list.as_slice() else { panic!("{:?}", list.iter().map(said).collect::<Vec<_>>()) };
    assert_eq!(d.code.code, code);
    assert_eq!(&text[d.labels[0].span.range()], marked, "{}", said(d));
    for part in parts {
        assert!(said(d).contains(part), "`{part}` is missing: {}", said(d));
    }
    d.clone()
}

/// Entry of the run block that a help text tells the user to type.
#[track_caller]
pub fn typed(d: &Diagnostic, key: &str) -> String {
    let help = d.help.as_deref().unwrap_or_default();
    let start = help.find(&format!("`{key} = ")).unwrap_or_else(|| panic!("no `{key}` in: {help}"));
    help[start + 1..].split('`').next().unwrap_or_default().to_string()
}

#[test]
fn an_unstable_step_is_distinguished_from_growth_and_a_step_is_suggested() {
    let model = |step: &str| {
        format!(
            "param k = 100\nstate y = 1, z = 0\nloss = k*y\ny' = -loss\nz' = loss - z\nrun {{ t = 0 .. 1; method = euler; {step} }}\n"
        )
    };
    let d = one(
        &model("step = 0.1"),
        "W0603",
        "k*y",
        &["`y` grows", "0.1", "`euler`", "λ = -100", "at most 0.02", "through `loss`"],
    );
    let entry = typed(&d, "step");
    assert_eq!(entry, "step = 0.016");
    assert_eq!(codes_beside_errors(&model(&entry)), [""; 0]);
    // just inside of the stability region, errors remain: y(1) is 0.6, and the solution is 4e-44
    let d = one(
        &model("step = 0.0199"),
        "W0603",
        "k*y",
        &["hardly damps its errors", "a step of at most 0.015 damps them"],
    );
    assert_eq!(codes_beside_errors(&model(&typed(&d, "step"))), [""; 0]);
}

#[test]
fn errors_that_remain_at_the_edge_of_the_stability_region_give_a_warning() {
    // Heun's steps neither jump nor grow: they stay beside the solution for ever
    let model = |method: &str, step: &str| {
        format!("state y = 0\ny' = -50*(y - cos(t))\nrun {{ t = 0 .. 2; method = {method}; {step} }}\n")
    };
    for (method, step) in [("euler", "0.04"), ("heun", "0.04"), ("euler", "0.0399"), ("heun", "0.0399")] {
        let d = one(&model(method, &format!("step = {step}")), "W0603", "-50*(y - cos(t))", &["λ = -50", method]);
        let entry = typed(&d, "step");
        let solution = simulation(&model(method, &entry)).solve().expect("a solution");
        assert!(solution.warnings.iter().all(|d| d.code.code == "W0626"));
        // y = (2500 cos t + 50 sin t)/2501 once the start is forgotten
        let exact = (2500.0 * 2f64.cos() + 50.0 * 2f64.sin()) / 2501.0;
        let last = solution.column("y").and_then(Iterator::last).expect("y");
        assert!((last - exact).abs() < 0.02, "{method}, {entry}: {last}");
    }
    // an oscillation keeps its size by itself
    let turn = "state x = 1, v = 0\nx' = v\nv' = -x\nrun { t = 0 .. 40; method = rk4; step = 0.8 }\n";
    assert_eq!(codes_beside_errors(turn), [""; 0]);
}

#[test]
fn values_that_consist_of_rounding_errors_give_no_warning() {
    // the rope falls straight down, and v.x is rounding errors of the forces
    let rope = "const N = 8\nindex i = 1..N\nparam k = 400, L = 0.1\nstate p[i] = (0.1*i, 1), v[i] = (0, 0)\n\
                fn s(a, b) = k*(1 - L/norm(b - a))*(b - a)\np[i]' = v[i]\n\
                v[i]' = (if i < N then s(p[i], p[i+1]) else (0, 0)) + (if i > 1 then s(p[i], p[i-1]) else (0, 0)) + \
                (0, -9.81)\nrun { t = 0 .. 1 }\n";
    assert_eq!(codes(rope), [""; 0]);
    // a small value that is none
    let small = "state x = 1, v = 0\nv' = 1e-12*x\nx' = -x\nrun { t = 0 .. 1 }\n";
    one(small, "W0606", "v", &["stays below its absolute tolerance"]);
}

#[test]
fn runs_that_one_event_ends_are_compared_up_to_there() {
    let ball = "param g = 9.81, e = 0.8, drag = 0.1\ndiscrete hits = 0\nstate h = 1, h' = 0\n\
                h'' = -g - (if h < 0.5 then drag*h' else 0)\nwhen h < 0 { h' := -e*h'; hits += 1 }\n\
                at 1.25 { h' += 2 }\nwhen hits >= 4 { stop \"enough\" }\n\
                run { t = 0 .. 10; samples = steps; rtol = 1e-10; atol = 1e-12 }\n";
    assert_eq!(codes(ball), [""; 0]);
}

#[test]
fn steps_that_jump_around_a_bounded_solution_are_unstable_too() {
    // the logistic map: bounded, and wrong in every row
    let text = "state y = 0.1\ny' = 25*y*(1 - y)\nrun { t = 0 .. 10; method = euler; step = 0.1 }\n";
    one(text, "W0603", "25*y*(1 - y)", &["`y` jumps up and down", "is stable"]);
}

#[test]
fn a_method_without_a_stable_step_is_named() {
    let text = "state x = 1, v = 0\nx' = v\nv' = -100*x\nrun { t = 0 .. 50; method = euler; step = 0.1 }\n";
    let list = warnings(text);
    assert_eq!(list.len(), 1, "{list:?}");
    assert!(
        said(&list[0]).contains("no step is stable") && said(&list[0]).contains("`method = rk4`"),
        "{}",
        said(&list[0])
    );
}

#[test]
fn bounded_instability_is_reported_with_a_stable_step() {
    let jumps = "x' = -80*tanh(x) + sin(t)\nrun { t = 0 .. 10; method = euler; step = 0.05 }\n";
    let chaos = "x' = 28*x*(1 - x)\nrun { t = 0 .. 10; method = euler; step = 0.1 }\n";
    let replicators = "x' = 3*x*(1 - x/1e9)\nrun { t = 0 .. 40; method = euler; step = 0.8 }\n";
    // the steps are at rest at a state that is not an equilibrium
    let still = "x' = -200*x/(1 + sqrt(x^2 + 1e-30)) + 1\nrun { t = 0 .. 10; method = rk4; step = 0.05 }\n";
    for (start, rest) in [("0.5", jumps), ("0.1", chaos), ("1", replicators), ("1", still)] {
        let mut text = format!("state x = {start}\n{rest}");
        let mut rounds = 0;
        while let Some(d) = warnings(&text).into_iter().find(|d| d.code.code == "W0603") {
            assert!(said(&d).contains("is too long for") && said(&d).contains("is stable"), "{}", said(&d));
            let before = text.rfind("step = ").expect("a step");
            text.replace_range(before..text.rfind(" }").expect("the end"), &typed(&d, "step"));
            rounds += 1;
            assert!(rounds < 5, "{text}");
        }
        assert!(rounds > 0, "no word of {text}");
    }
}

#[test]
fn constant_steps_that_follow_their_equations_give_no_warning() {
    for text in [
        // a start far from the slow solution, and steps that are just stable
        "state x = 5, y = 0\nx' = -50*(x - cos(t))\ny' = x - y\nrun { t = 0 .. 10; method = rk4; step = 0.05 }\n",
        "state x = 2, v = 0\nx' = v\nv' = 5*(1 - x^2)*v - x\nrun { t = 0 .. 50; method = rk4; step = 0.02 }\n",
        "state x = 1, y = 1, z = 1\nx' = 10*(y - x)\ny' = x*(28 - z) - y\nz' = x*y - 8*z/3\nrun { t = 0 .. 20; method = rk4; step = 0.01 }\n",
        "state x = 1, x' = 0\nx'' = -sin(x)\nrun { t = 0 .. 100; method = velocity-verlet; step = 0.05 }\n",
        "state x = 1, v = 0\nx' = v\nv' = -sin(x)\nrun { t = 0 .. 1; method = euler; step = 0.001 }\n",
        "state x = 1, y = 1\nx' = x*(1 - y)\ny' = y*(x - 1)\nrun { t = 0 .. 20; method = heun; step = 0.01 }\n",
        "state x = 2, v = 0\nx' = v\nv' = 100*(1 - x^2)*v - x\nrun { t = 0 .. 50; method = backward-euler; step = 0.001; samples = 20 }\n",
        "state x = 1\nx' = -1e6*(x - cos(t))\nrun { t = 0 .. 5; method = trapezoidal; step = 0.1 }\n",
        "state x = 1\nx' = -1e6*(x - cos(t))\nrun { t = 0 .. 5; method = sdirk2; step = 0.1 }\n",
        "state x = 0\nx' = -30*(x - (if t > 1 then 1 else 0))\nrun { t = 0 .. 5; method = rk4; step = 0.05 }\n",
    ] {
        assert_eq!(codes_beside_errors(text), [""; 0], "{text}");
    }
}

/// The codes without W0626, which tells how large the errors of stable steps are.
fn codes_beside_errors(text: &str) -> Vec<&'static str> {
    codes(text).into_iter().filter(|code| *code != "W0626").collect()
}

#[test]
fn oscillations_amplified_by_every_step_give_a_warning() {
    let text = "state x = 1, v = 0\nx' = v\nv' = -x\nrun { t = 0 .. 50; method = euler; step = 0.05 }\n";
    let list = warnings(text);
    let [d] = list.as_slice() else { panic!("{:?}", list.iter().map(said).collect::<Vec<_>>()) };
    assert!(d.code.code == "W0603" && said(d).contains("grows although the solution does not"), "{}", said(d));
    assert!(said(d).contains("no step is stable") && said(d).contains("λ = ±1i"), "{}", said(d));
}

#[test]
fn a_damped_oscillation_just_beyond_the_limit_has_a_stable_step() {
    // lambda = -1.5 ± 1.323i: 0.75 is stable
    for step in [0.755, 0.78] {
        let text = format!(
            "state x = 1, v = 0\nx' = v\nv' = -4*x - 3*v\nrun {{ t = 0 .. 100; method = euler; step = {step} }}\n"
        );
        one(&text, "W0603", "-4*x", &["a step of at most 0.75 is stable", "set `step = 0.6`"]);
    }
}

#[test]
fn ringing_and_growth_damped_by_a_method_give_a_warning() {
    let rings = "state x = 0\nx' = -1e6*(x - cos(t))\nrun { t = 0 .. 5; method = trapezoidal; step = 0.1 }\n";
    let d = one(rings, "W0603", "-1e6*(x - cos(t))", &["hardly damps it", "λ = -1e6"]);
    assert_eq!(codes_beside_errors(&rings.replace("method = trapezoidal", &typed(&d, "method"))), [""; 0]);
    let damped = "state x = 1\nx' = 30*x\nrun { t = 0 .. 2; method = backward-euler; step = 0.1 }\n";
    let d = one(damped, "W0603", "30*x", &["should grow but does not", "λ = 30"]);
    assert_eq!(codes_beside_errors(&damped.replace("step = 0.1", &typed(&d, "step"))), [""; 0]);
}

#[test]
fn an_overflow_within_a_dozen_steps_names_the_stable_step() {
    let text =
        "state x = 0.5, y = 0\nx' = 10*(y - x)\ny' = x - y^3 - 30*y\nrun { t = 0 .. 10; method = euler; step = 0.1 }\n";
    let error = simulation(text).solve().expect_err("an overflow");
    let d = &error.diagnostics[0];
    assert!(said(d).contains("too long for `euler` to be stable") && said(d).contains("`step = 0.0"), "{}", said(d));
}

#[test]
fn growth_of_the_model_is_not_blamed_on_the_step() {
    // 2.7e8 in the end, by Euler
    let text = "state y = 1\ny' = y\nrun { t = 0 .. 20; method = euler; step = 0.01; samples = 20 }\n";
    assert_eq!(codes(text), ["W0626"]);
}

#[test]
fn steps_limited_by_stability_are_reported_with_a_method_to_use() {
    let model = |method: &str| {
        format!(
            "param mu = 1000\nstate x = 2, v = 0\nx' = v\nv' = mu*(1 - x^2)*v - x\nrun {{ t = 0 .. 3; {method}; samples = 20 }}\n"
        )
    };
    let d = one(&model("method = dopri5"), "W0604", "mu*(1 - x^2)*v", &["`dopri5`", "from t = 0", "λ = -299"]);
    assert_eq!(codes(&model(&typed(&d, "method"))), [""; 0]);
    assert_eq!(codes(&model("method = auto")), [""; 0]);
    // fewer steps than the number that causes a warning
    assert_eq!(codes("state y = 1\ny' = -50*(y - cos(t))\nrun { t = 0 .. 10; method = dopri5 }\n"), [""; 0]);
}

#[test]
fn explicit_methods_with_a_stiffness_estimate_report_stability_limited_steps() {
    for method in ["tsit5", "vern7", "vern9", "dop853", "rkf45", "cash-karp", "taylor", "abm", "abm4"] {
        let text = format!(
            "state y = 0, z = 1\ny' = -2000*(y - cos(t))\nz' = -0.1*z\nrun {{ t = 0 .. 20; method = {method}; samples = 100 }}\n"
        );
        let list = warnings(&text);
        assert!(
            list.iter().any(|d| d.code.code == "W0604"),
            "{method}: {:?}",
            list.iter().map(said).collect::<Vec<_>>()
        );
    }
}

#[test]
fn methods_without_a_stiffness_estimate_report_stability_limits_from_step_lengths() {
    for method in ["bs32", "heun", "midpoint", "euler"] {
        let text = format!(
            "state y = 1\ny' = -1e4*(y - cos(t))\nrun {{ t = 0 .. 2; method = {method}; rtol = 1e-4; atol = 1e-4; samples = 50 }}\n"
        );
        let found = codes(&text);
        let solution = simulation(&text).solve().expect("a run");
        let rows = solution.column("t").expect("time").zip(solution.column("y").expect("y"));
        let error = rows.map(|(t, y)| (y - t.cos()).abs()).fold(0.0, f64::max);
        // at its stability limit, `midpoint` misses the tolerance by a factor of 20
        let missed: &[&str] = if error > 2e-3 { &["W0604", "W0622"] } else { &["W0604"] };
        assert_eq!(found, missed, "{method}: {error:e}");
        let short = text.replace("samples = 50", "samples = 50; max_steps = 1000");
        let error = simulation(&short).solve().expect_err("too few steps");
        let d = &error.diagnostics[0];
        assert!(d.code.code == "E0607" && !said(d).contains("max-steps"), "{method}: {}", said(d));
        // many steps, which accuracy requires
        let smooth = format!(
            "state x = 1, v = 0\nx' = v\nv' = -x\nrun {{ t = 0 .. 100; method = {method}; rtol = 1e-5; atol = 1e-5; samples = 500 }}\n"
        );
        // the errors of these steps add up, which is independent of stiffness
        assert!(codes(&smooth).iter().all(|&code| code == "W0622"), "{method}: {:?}", codes(&smooth));
    }
}

#[test]
fn a_step_limit_reached_by_stability_suggests_a_method() {
    let text = "state x = 1\nx' = -1e6*(x - cos(t))\nrun { t = 0 .. 10; method = dopri5; max_steps = 500 }\n";
    let error = simulation(text).solve().expect_err("too few steps");
    let d = &error.diagnostics[0];
    assert_eq!(d.code.code, "E0607");
    assert_eq!(&text[d.labels[0].span.range()], "-1e6*(x - cos(t))", "{}", said(d));
    assert!(said(d).contains("λ = -1e6") && said(d).contains("`method = rodas5p`"), "{}", said(d));
    assert!(!said(d).contains("max-steps"), "{}", said(d));
}

#[test]
fn unbounded_growth_is_reported_with_its_term() {
    let growth =
        "param k = 0.7, m = 2\nstate x = 1, v = 0\nx' = v\nm*v' = k*x - 0.1*v\nrun { t = 0 .. 200; samples = 20 }\n";
    one(growth, "W0605", "k*x", &["`x` grows without bound", "is a sign wrong", "λ = 0.567"]);
    // a term that turns an oscillation does not make it grow
    let oscillation =
        "param z = 0.05\nstate x = 1, v = 0\nx' = v\nv' = -x + 2*z*v\nrun { t = 0 .. 1500; samples = steps }\n";
    one(oscillation, "W0605", "2*z*v", &["λ = 0.05 ± 0.99"]);
    // beside a decay of 1e36, rounding hides the eigenvalue that grows
    let prey = "param c = 1.5\nstate x = 10, y = 5\nx' = x - 0.1*x*y\ny' = c*y + 0.075*x*y\nrun { t = 0 .. 200 }\n";
    one(prey, "W0605", "c*y", &["a factor of e in 0.66", "overflows at t = 47"]);
    // large values by a constant rate: the energy that a star emits
    assert_eq!(codes("state E = 0\nE' = 3.8e26\nrun { t = 0 .. 1e17; atol = 1e20 }\n"), [""; 0]);
}

#[test]
fn growth_is_reported_during_the_run() {
    struct Alarm(Vec<f64>, u64);
    impl Recorder for Alarm {
        fn row(&mut self, _: &[f64]) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
        fn step(&mut self, _: f64) -> ControlFlow<()> {
            self.1 += u64::from(!self.0.is_empty());
            ControlFlow::Continue(())
        }
        fn alarm(&mut self, findings: &Findings) {
            self.0.extend(findings.grown.iter().map(|growth| growth.at.t));
        }
    }
    let simulation =
        simulation("state x = 1, v = 0\nx' = v\nv' = -x + 0.1*v\nrun { t = 0 .. 5000; samples = 20; rtol = 1e-6 }\n");
    let mut alarm = Alarm(vec![], 0);
    let solved = simulation.run(&mut alarm);
    assert!(solved.result.is_ok());
    // 1e30 is reached at 2 ln(1e30)/0.1
    assert!((alarm.0[0] - 1381.0).abs() < 60.0, "{:?}", alarm.0);
    assert!(alarm.1 > 1000, "{} steps were left", alarm.1);
}

#[test]
fn overflow_blames_the_growing_state_and_not_the_term_that_overflowed() {
    let text = "param k = 1\nstate x = 1\nx' = k*x\nrun { t = 0 .. 1000 }\n";
    let error = simulation(text).solve().expect_err("an overflow");
    let d = &error.diagnostics[0];
    assert_eq!(&text[d.labels[0].span.range()], "k*x", "{}", said(d));
    assert!(said(d).contains("`x` grows without bound") && said(d).contains("is a sign wrong"), "{}", said(d));
}

#[test]
fn a_blow_up_in_finite_time_names_the_time_and_the_term() {
    let text = "state x = 1\nx' = x^2\nrun { t = 0 .. 2 }\n";
    let error = simulation(text).solve().expect_err("a pole at t = 1");
    let d = &error.diagnostics[0];
    assert!(said(d).contains("t = 1"), "{}", said(d));
    assert!(d.labels.iter().any(|l| text[l.span.range()].contains("x^2")), "{}", said(d));
}

#[test]
fn turns_at_the_tolerance_are_no_oscillation() {
    let text = "state y = 1\ny' = -1e4*(y - cos(t))\nrun { t = 0 .. 5; method = bs32 }\n";
    assert!(!codes(text).contains(&"W0608"));
}

#[test]
fn a_late_spike_and_an_oscillation_between_logarithmic_rows_give_a_warning() {
    let spike = "state x = 1, v = 0, s = 0\nx' = v\nv' = -x\ns' = 50*exp(-((t - 1503.3)/0.5)^2) - 5*s\nrun { t = 0 .. 2000; samples = 100; record = s; rtol = 1e-6 }\n";
    let list = warnings(spike);
    let d = list.iter().find(|d| d.code.code == "W0607").unwrap_or_else(|| panic!("{list:?}"));
    let value = said(d).split("reaches ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    // every 16th step is examined
    assert!(value.is_some_and(|value| value > 1.0), "{}", said(d));
    let many = "index i = 1..60\nstate y[i] = 0\ny[i]' = (if i == 50 then 2000*exp(-((t - 3.333)/0.003)^2) else 1) - 100*y[i]\nrun { t = 0 .. 10; samples = 50; max_step = 0.01 }\n";
    assert!(codes(many).contains(&"W0607"), "{:?}", codes(many));
    let rows = "state x = 1, v = 0\nx' = v\nv' = -x\nrun { t = 0 .. 1e4; samples = log(200, 1e-3) }\n";
    assert!(codes(rows).contains(&"W0608"), "{:?}", codes(rows));
    let shown = rows.replace("1e4", "50").replace("200", "2000");
    assert_eq!(codes(&shown), [""; 0]);
}

#[test]
fn rows_that_miss_an_extreme_give_a_warning_with_samples_to_use() {
    let model = |samples: &str| {
        format!(
            "state x = 0\nx' = 1e4*(1 - x)*exp(-1e6*(t - 0.55)^2) - 100*x\nrun {{ t = 0 .. 1; max_step = 1e-3; {samples} }}\n"
        )
    };
    let d = one(&model("samples = 10"), "W0607", "samples = 10", &["`x` reaches", "between two rows"]);
    assert_eq!(codes(&model(&typed(&d, "samples"))), [""; 0]);
    // the end alone, a list and each step are explicit requests
    for samples in ["samples = [0, 0.5, 1]", "samples = steps"] {
        assert_eq!(codes(&model(samples)), [""; 0], "{samples}");
    }
}

#[test]
fn too_few_rows_for_an_oscillation_give_a_warning_with_samples_to_use() {
    let model =
        |samples: &str| format!("state x = 0, v = 1\nx' = 628.3*v\nv' = -628.3*x\nrun {{ t = 0 .. 1; {samples} }}\n");
    let d =
        one(&model("samples = 10"), "W0608", "samples = 10", &["oscillate faster", "0.1 rows per cycle", "about 0.01"]);
    let entry = typed(&d, "samples");
    let count: f64 = entry.trim_start_matches("samples = ").parse().expect("a number");
    assert!((900.0..=1100.0).contains(&count), "{entry}");
    assert_eq!(codes(&model(&entry)), [""; 0]);
    // a decaying oscillation that the rows show
    assert_eq!(codes("state x = 1, v = 0\nx' = v\nv' = -x - 0.1*v\nrun { t = 0 .. 100; samples = 200 }\n"), [""; 0]);
}

#[test]
fn a_step_longer_than_the_run_gives_a_warning() {
    one(
        "state y = 1\ny' = -y\nrun { t = 0 .. 1; method = rk4; step = 10 }\n",
        "W0609",
        "step = 10",
        &["one step of 1"],
    );
}

#[test]
fn too_many_constant_steps_are_refused_before_the_first() {
    let refused = |run: &str| {
        let text = format!("state y = 1\ny' = -y\nrun {{ {run} }}\n");
        let loaded = Session::new().load("test.ode", &text).expect("a model");
        let error = loaded.simulate(&Choices::default(), Purpose::Rows).err().expect("too many steps");
        assert_eq!(error.diagnostics[0].code.code, "E0607");
        said(&error.diagnostics[0])
    };
    let asked = refused("t = 0 .. 1000; method = euler; step = 0.01; max_steps = 1000");
    assert!(
        asked.contains("100000 steps of 0.01")
            && asked.contains("at least 1,")
            && asked.contains("`max_steps = 100000`"),
        "{asked}"
    );
    let never = refused("t = 0 .. 10; method = euler; step = 1e-12");
    assert!(never.contains("1e13 steps") && !never.contains("`max_steps = "), "{never}");
    // as many as are permitted
    assert_eq!(
        codes("state y = 1\ny' = -y\nrun { t = 0 .. 1; method = euler; step = 0.01; max_steps = 100 }\n"),
        [""; 0]
    );
}

/// Rows as the solver makes them, without a monitor.
struct Plain(Vec<u64>);

impl Sink for Plain {
    fn row(&mut self, t: f64, y: &[f64]) -> ControlFlow<()> {
        self.0.push(t.to_bits());
        self.0.extend(y.iter().map(|y| y.to_bits()));
        ControlFlow::Continue(())
    }
}

struct Watched(Vec<u64>);

impl Recorder for Watched {
    fn row(&mut self, values: &[f64]) -> ControlFlow<()> {
        self.0.extend(values.iter().map(|y| y.to_bits()));
        ControlFlow::Continue(())
    }
}

#[test]
fn the_monitor_changes_no_bit_and_evaluates_nothing() {
    for (method, step) in [
        ("dopri5", ""),
        ("vern7", ""),
        ("taylor", ""),
        ("auto", ""),
        ("bdf", ""),
        ("rodas5p", ""),
        ("abm", ""),
        ("euler", "step = 1e-3;"),
    ] {
        let text = format!(
            "param mu = 30\nstate x = 2, v = 0\nx' = v\nv' = mu*(1 - x^2)*v - x\nrun {{ t = 0 .. 60; method = {method}; {step} samples = 50 }}\n"
        );
        let bound = simulation(&text);
        let bound = bound.bound();
        let mut plain = Plain(vec![]);
        let samples: &Samples = &bound.samples;
        let alone =
            odec_ode::solve(&bound.executor, &bound.problem, bound.choice.method, &bound.options, samples, &mut plain);
        let mut watched = Watched(vec![]);
        let (result, _) = sample::solve(bound, &mut watched);
        assert_eq!(plain.0, watched.0, "{method}");
        let counts: [Stats; 2] = [alone.expect(method).stats, result.expect(method).stats];
        assert_eq!(counts[0], counts[1], "{method}");
    }
}

#[test]
fn constant_steps_past_the_end_of_a_branch_give_a_warning() {
    let model = |method: &str, t_end: f64| {
        format!(
            "state x = 0\nunknown z = -1.8\nx' = 1\nz^3 - 3*z = x\nrun {{ t = 0 .. {t_end}; method = {method}; step = 0.13; samples = steps }}\n"
        )
    };
    for method in ["auto", "rodas4", "rodas5p", "rodas3", "bdf2", "kencarp4", "backward-euler"] {
        let text = model(method, 4.0);
        let Ok(solution) = simulation(&text).solve() else { continue };
        let d = solution.warnings.iter().find(|d| d.code.code == "W0616").unwrap_or_else(|| panic!("{method}"));
        assert!(
            said(d).contains("`z` jumps to another branch") && said(d).contains("no solution continues from -1."),
            "{}",
            said(d)
        );
        assert_eq!(&text[d.labels[0].span.range()], "z^3 - 3*z = x");
        // before the end of the branch
        assert!(!codes(&model(method, 1.9)).contains(&"W0616"), "{method}");
    }
    // steep, but a single branch
    let steep = "state x = -3, k = 0\nunknown z = -1\nx' = 1\nk' = -k\nz + tanh(3*z) = x\nrun { t = 0 .. 6; method = bdf2; step = 0.13; samples = steps }\n";
    assert!(!codes(steep).contains(&"W0616"));
}

#[test]
fn a_limit_by_stability_begins_with_the_event_that_makes_the_model_stiff() {
    let model = |before: &str, after: &str| {
        format!(
            "discrete k = {before}, n = 0\nstate x = 1\nx' = -k*(x - cos(t))\nat 0.5 {{ n += 1 }}\nat 1 {{ k := {after} }}\n\
             at 2 {{ n += 1 }}\nrun {{ t = 0 .. 3; method = dopri5; samples = 20 }}\n"
        )
    };
    one(&model("1", "1e5"), "W0604", "-k*(x - cos(t))", &["from t = 1 on"]);
    // stiff from the start
    one(&model("1e5", "1.1e5"), "W0604", "-k*(x - cos(t))", &["from t = 0 on"]);
}
