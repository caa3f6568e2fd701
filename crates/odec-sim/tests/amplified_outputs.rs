//! Outputs that amplify errors of states: W0622 is given if their rows miss the tolerance, and not for outputs that are
//! errors themselves.

use odec_sim::Session;
use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;

use crate::monitor::{codes, said, typed, warnings};

/// A state that follows sin(t), and its derivative, which is cos(t) but for tau.
fn follower(tau: f64, run: &str) -> String {
    format!("param tau = {tau:e}\nstate y = 0\ntau*y' = sin(t) - y\noutput rate = y'\nrun {{ t = 0 .. 20; {run} }}\n")
}

/// Largest error of `rate` after the transient, in tolerances of 1e-6.
fn error(text: &str, tau: f64) -> f64 {
    let loaded = Session::new().load("test.ode", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let run = loaded.simulate(&Choices::default(), Purpose::Rows).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let rows = run.solve().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let (times, rates) = (rows.column("t").expect("times"), rows.column("rate").expect("rates"));
    // y = (sin t - tau cos t)/(1 + tau^2) after the transient
    let exact = |t: f64| (t.cos() + tau * t.sin()) / (1.0 + tau * tau);
    let late = times.zip(rates).filter(|(t, _)| *t > 1.0);
    late.map(|(t, rate)| (rate - exact(t)).abs() / 1e-6).fold(0.0, f64::max)
}

#[test]
fn a_derivative_of_a_stiff_state_is_right_or_reported() {
    let mut reported = 0;
    for tau in [1e-1, 1e-2, 1e-3, 1e-6] {
        for method in ["auto", "bdf", "radau5", "rodas5p", "kencarp4"] {
            let text = follower(tau, &format!("method = {method}; rtol = 1e-6; samples = 200"));
            let (error, codes) = (error(&text, tau), codes(&text));
            let told = codes.contains(&"W0622");
            reported += u32::from(told);
            // with an amplification of 10, errors of less than two tolerances are not looked for
            let most = if tau < 1e-1 { 12.0 } else { 20.0 };
            assert!(error <= most || told, "{method}, tau = {tau:e}: off by {error} tolerances, {codes:?}");
            assert!(error >= 5.0 || !told, "{method}, tau = {tau:e}: off by {error} tolerances, {codes:?}");
        }
    }
    assert!(reported >= 4, "{reported}");
}

#[test]
fn the_tolerances_to_type_make_the_output_right() {
    let tau = 1e-3;
    let text = follower(tau, "method = radau5; rtol = 1e-6; atol = 1e-9; samples = 200");
    let list = warnings(&text);
    let told = list.iter().find(|d| d.code.code == "W0622").unwrap_or_else(|| panic!("{:?}", codes(&text)));
    assert!(said(told).contains("`rate` amplifies errors of states"), "{}", said(told));
    let (rtol, atol) = (typed(told, "rtol"), typed(told, "atol"));
    let text = follower(tau, &format!("method = radau5; {rtol}; {atol}; samples = 200"));
    assert!(error(&text, tau) <= 10.0, "{rtol}: {}", error(&text, tau));
}

#[test]
fn the_drift_of_an_energy_is_an_error_and_has_none() {
    let text = "state x = 1, v = 0\nx' = v\nv' = -x\nE = x^2/2 + v^2/2\noutput E, drift = E - 0.5\n\
                run { t = 0 .. 20; method = dopri5; samples = 200; rtol = 1e-5 }\n";
    assert_eq!(codes(text), [""; 0]);
    // and so is the residual of a constraint, at every tolerance
    let text = "state x = 0.6, v = 0, y = -0.8, w = 0\nunknown F = 0\nx' = v\ny' = w\nv' = -F*x\nw' = -F*y - 9.81\n\
                x^2 + y^2 = 1\noutput residual = sqrt(x^2 + y^2) - 1, angle = atan2(x, -y)\nrun { t = 0 .. 2; rtol = 1e-9; atol = 1e-9 }\n";
    assert_eq!(codes(text), [""; 0]);
}

#[test]
fn an_output_that_is_steep_in_a_state_is_reported() {
    let text = "state x = 0, v = 1\nx' = v\nv' = -x\noutput d = 1/(1.0001 - x)\n\
                run { t = 0 .. 30; method = dopri5; samples = 3000 }\n";
    let list = warnings(text);
    let told = list.iter().any(|d| d.code.code == "W0622" && said(d).contains("`d`"));
    assert!(told, "{:?}", list.iter().map(said).collect::<Vec<_>>());
}

#[test]
fn a_transient_does_not_hide_the_errors_after_it() {
    for (method, tau) in [("auto", 1e-6), ("radau5", 1e-3), ("rodas5p", 1e-3)] {
        // y(0.1) = 0 is far from sin(0.1), so the rate is large at first
        let text =
            follower(tau, &format!("method = {method}; rtol = 1e-6; samples = 200")).replace("t = 0 ..", "t = 0.1 ..");
        let (error, codes) = (error(&text, tau), codes(&text));
        assert!(error <= 12.0 || codes.contains(&"W0622"), "{method}, tau = {tau:e}: {error} tolerances, {codes:?}");
    }
    // the reported error is true
    let text = follower(1e-6, "samples = 200").replace("t = 0 ..", "t = 0.1 ..");
    assert!(error(&text, 1e-6) > 1e3 && codes(&text) == ["W0622"], "{} {:?}", error(&text, 1e-6), codes(&text));
}

#[test]
fn a_flux_that_vanishes_needs_no_relative_accuracy() {
    for method in ["auto", "dopri5", "bdf", "radau5"] {
        for rtol in ["1e-4", "1e-6"] {
            let text = format!(
                "param k = 3\nstate A = 1, B = 0\nA' = -k*(A - B)\nB' = k*(A - B)\noutput flux = k*(A - B), both = A + 2*B\n\
                 run {{ t = 0 .. 40; method = {method}; rtol = {rtol}; samples = 400 }}\n"
            );
            assert_eq!(codes(&text), [""; 0], "{method} {rtol}");
        }
    }
}

#[test]
fn outputs_are_judged_with_the_discretes_of_their_time() {
    let text = |tau: f64| {
        format!(
            "param tau = {tau:e}\ndiscrete size = 0\nstate y = 0\ntau*y' = size*sin(t) - y\noutput rate = y'\n\
             at 0.5 {{ size := 1 }}\nrun {{ t = 0 .. 20; method = radau5; rtol = 1e-6; samples = 200 }}\n"
        )
    };
    let (off, found) = (error(&text(1e-3), 1e-3), codes(&text(1e-3)));
    assert!(off > 20.0 && found == ["W0622"], "{off} {found:?}");
    assert_eq!(codes(&text(1.0)), [""; 0]);
}

/// Largest error of `b` in tolerances, if events compute it from x = sin(t) every 0.7.
fn error_of_event(text: &str, rtol: f64) -> f64 {
    let run = crate::monitor::simulation(text).solve().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let exact = |t: f64| 1.0 / (1.0005 - (0.7 * (t / 0.7 + 1e-9).floor()).sin());
    let (times, values) = (run.column("t").expect("times"), run.column("b").expect("values"));
    let late: Vec<(f64, f64)> = times.zip(values).filter(|(t, _)| *t > 1.0).collect();
    let size = late.iter().map(|(t, _)| exact(*t)).fold(0.0, f64::max);
    late.iter().map(|(t, a)| (a - exact(*t)).abs() / (rtol * size)).fold(0.0, f64::max)
}

#[test]
fn a_value_that_an_event_computes_from_states_is_right_or_reported() {
    for declared in ["discrete a = 0", "state a = 0\na' = 0"] {
        let mut reported = 0;
        for (method, rtol) in
            ["auto", "dopri5", "tsit5", "radau5", "bdf"].into_iter().flat_map(|method| [(method, 1e-4), (method, 1e-6)])
        {
            let text = format!(
                "{declared}\nstate x = 0, v = 1\nx' = v\nv' = -x\nevery 0.7 {{ a := 1/(1.0005 - x) }}\noutput b = a\n\
                 run {{ t = 0 .. 60; method = {method}; rtol = {rtol:e}; samples = 120 }}\n"
            );
            let (error, codes) = (error_of_event(&text, rtol), codes(&text));
            let told = codes.contains(&"W0622");
            reported += u32::from(told);
            assert!(error <= 10.0 || told, "{declared}, {method} at {rtol:e}: off by {error} tolerances, {codes:?}");
            assert!(error >= 5.0 || !told, "{declared}, {method} at {rtol:e}: off by {error} tolerances, {codes:?}");
        }
        assert!(reported >= 4, "{declared}: {reported}");
    }
    // what an event counts, and an error that it computes, have no tolerance
    let text = "discrete n = 0, drift = 0\nstate x = 0, v = 1\nx' = v\nv' = -x\n\
                every 0.7 { n += 1; drift := x^2 + v^2 - 1 }\noutput n, drift\n\
                run { t = 0 .. 20; method = dopri5; samples = 120 }\n";
    assert_eq!(codes(text), [""; 0]);
}

#[test]
fn errors_that_events_multiply_are_right_or_reported() {
    // the logistic map at the instants: each multiplies errors by 1.5 in the mean, none by more than 4
    let map = |method: &str, rtol: f64| {
        format!(
            "state x = 0.4\ny = x*exp(0.5)\nx' = -0.5*x\nevery 1 from 1 {{ x := 3.9*y*(1 - y) }}\n\
             run {{ t = 0 .. 25; samples = 250; method = {method}; rtol = {rtol:e} }}\n"
        )
    };
    let exact = |t: f64| {
        let mut y = 0.4;
        (0..(t + 1e-9).floor() as u32).for_each(|_| y = 3.9 * y * (1.0 - y));
        y * (-0.5 * (t - (t + 1e-9).floor())).exp()
    };
    let mut reported = 0;
    for method in ["auto", "dopri5", "tsit5", "rodas5p", "bdf"] {
        for rtol in [1e-4, 1e-6] {
            let text = map(method, rtol);
            let run = crate::monitor::simulation(&text).solve().unwrap_or_else(|e| panic!("{e}\n{text}"));
            let (times, values) = (run.column("t").expect("times"), run.column("x").expect("values"));
            let error = times.zip(values).map(|(t, x)| (x - exact(t)).abs() / rtol).fold(0.0, f64::max);
            let told = codes(&text).contains(&"W0622");
            reported += u32::from(told);
            assert!(error <= 13.0 || told, "{method} at {rtol:e}: off by {error} tolerances, {:?}", codes(&text));
            assert!(error >= 5.0 || !told, "{method} at {rtol:e}: off by {error} tolerances");
        }
    }
    assert!(reported >= 8, "{reported}");
}
