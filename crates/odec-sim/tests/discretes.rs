//! Warnings of runs in which events change discretes or states: the equations are judged as they were at the time.

use crate::monitor::{codes, one, typed};

#[test]
fn a_step_that_a_discrete_makes_too_long_is_found() {
    let text = |step: &str| {
        format!(
            "discrete k = 1\nstate x = 1\nx' = -k*(x - 0.5)\nat 0.1 {{ k := 150 }}\nat 1 {{ x := 0.7 }}\n\
             run {{ t = 0 .. 2; method = euler; {step} }}\n"
        )
    };
    let d = one(&text("step = 0.02"), "W0603", "-k*(x - 0.5)", &["0.02", "`euler`", "λ = -150", "at most 0.0133333"]);
    // the advised step is stable, but the first rows after t = 0.1 are not accurate
    assert_eq!(codes(&text(&typed(&d, "step"))), ["W0626"]);
}

#[test]
fn stiffness_growth_and_lost_states_are_found_after_a_discrete_has_changed() {
    let stiff =
        "discrete k = 1\nstate x = 1\nx' = -k*(x - cos(t))\nat 1 { k := 1e5 }\nrun { t = 0 .. 2; method = dopri5 }\n";
    one(stiff, "W0604", "-k*(x - cos(t))", &["λ = -1e5"]);
    let grows = "discrete k = -1\nstate x = 1\nx' = k*x\nat 1 { k := 5 }\nrun { t = 0 .. 100 }\n";
    one(grows, "W0605", "k*x", &["λ = 5,", "a factor of e in 0.2"]);
    let lost = "discrete k = 1\nstate x = 1\nx' = -k*x\nat 30 { k := -1 }\nrun { t = 0 .. 60 }\n";
    one(lost, "W0606", "-k*x", &["falls to ", "a factor of e in 1 "]);
    let unstable = "discrete k = -1\nstate x = 1\nx' = k*(x - 0.2) - (x - 0.2)^3\nat 16 { k := 1 }\n\
                    run { t = 0 .. 40; rtol = 1e-4; atol = 1e-7; samples = 400 }\n";
    one(unstable, "W0622", "rtol = 1e-4", &["errors of the steps grow"]);
}

#[test]
fn growth_that_only_events_cause_is_found() {
    let text = |gain: f64, end: f64| {
        format!(
            "param K = {gain}\ndiscrete u = 0\nstate y = 0\ny' = u - y\nevery 0.1 {{ u := K*(1 - y) }}\n\
             run {{ t = 0 .. {end}; samples = 2 }}\n"
        )
    };
    one(&text(30.0, 20.0), "W0605", "y", &["grows from event to event", "is a gain too large"]);
    assert_eq!(codes(&text(5.0, 20.0)), [""; 0]);
}

#[test]
fn unknowns_that_a_discrete_moves_have_not_left_their_branch() {
    let text = "discrete k = 1\nstate x = 1\nunknown q = 0.5\nq = k*(x - 0.5)\nx' = -q\nat 1 { k := 10 }\n\
                run { t = 0 .. 2; method = trapezoidal; step = 0.02 }\n";
    assert_eq!(codes(text), [""; 0]);
}

#[test]
fn an_extremum_that_an_event_makes_is_told_with_its_value() {
    let text = "state x = 1\nx' = -x\nat 3.3 { x := 20 }\nat 3.6 { x := 0 }\nrun { t = 0 .. 10; samples = 10 }\n";
    one(text, "W0607", "samples = 10", &["`x` reaches 20 between two rows", "20 at t = 3.3"]);
}

#[test]
fn a_conserved_quantity_that_leaks_through_a_discrete_or_a_switch_is_reported() {
    let leak = "discrete leak = 0\nstate A = 1, B = 0\nA' = -A - leak*A\nB' = A\nat 1 { leak := 0.5 }\nconserve A + B\n\
                run { t = 0 .. 5 }\n";
    one(
        leak,
        "W0508",
        "conserve A + B",
        &["d/dt of `A + B` is `-A*leak`, not zero", "-0.12", "this removes some of it"],
    );
    assert_eq!(codes(&leak.replace("B' = A", "B' = A + leak*A")), [""; 0]);
    let switched = "state A = 1, B = 0\nA' = -A - max(0, B - 0.5)\nB' = A\nconserve A + B\nrun { t = 0 .. 5 }\n";
    one(switched, "W0508", "conserve A + B", &["`A + B`", "not zero", "this removes some of it"]);
    // with a loop, and with constant steps
    let cells = "index i = 1..3\ndiscrete leak = 0\nstate c[i] = i\nc[i]' = c[i+1] - 2*c[i] + c[i-1] - leak*c[i]\n\
                 boundary c[0] = c[1], c[4] = c[3]\nat 1 { leak := 0.5 }\nconserve sum(i: c[i])\n\
                 run { t = 0 .. 5; method = rk4; step = 0.01 }\n";
    one(cells, "W0508", "conserve sum(i: c[i])", &["is not zero: at t = 1"]);
    assert_eq!(codes(&cells.replace(" - leak*c[i]", "")), [""; 0]);
    // a drift that the steps cause is not the model's
    let swing = "state x = 1, v = 0\nx' = v\nv' = -x - max(0, x - 2)\nconserve x^2/2 + v^2/2\n\
                 run { t = 0 .. 100; method = rk4; step = 0.2 }\n";
    assert_eq!(codes(swing), [""; 0]);
}

#[test]
fn a_conserved_quantity_that_an_event_changes_is_reported() {
    let text = |actions: &str, limit: &str| {
        format!(
            "state S = 0.9, I = 0.1, R = 0\nS' = -0.5*S*I\nI' = 0.5*S*I - 0.1*I\nR' = 0.1*I\nat 2 {{ {actions} }}\n\
             conserve S + I + R{limit}\nrun {{ t = 0 .. 5 }}\n"
        )
    };
    let parts = ["an event changes `S + I + R`", "changes it by -0.2", "at t = 2"];
    one(&text("S := 0.7*S", ""), "W0508", "conserve S + I + R", &parts);
    let parts = ["drifts by -0.2", "changes it by -0.2", "no tolerance can prevent this"];
    one(&text("S := 0.7*S", " within 1e-6"), "W0601", "conserve S + I + R within 1e-6", &parts);
    // a counterpart, up to rounding
    assert_eq!(codes(&text("S -= 0.3*S; R += 0.3*S", "")), [""; 0]);
    // many small changes, and a discrete in the quantity
    let doses = "discrete total = 0\nstate A = 1, B = 0\nA' = -A\nB' = A\nevery 1 from 1 until 30 { A += 0.1 }\n\
                 conserve A + B - total\nrun { t = 0 .. 40 }\n";
    one(doses, "W0508", "conserve A + B - total", &["an event changes `A + B - total`", "changes it by 0.1"]);
    assert_eq!(codes(&doses.replace("A += 0.1", "A += 0.1; total += 0.1")), [""; 0]);
}
