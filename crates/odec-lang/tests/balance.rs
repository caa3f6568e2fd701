//! Effects of the equations on a conserved quantity, and faults of a start: messages are true and complete.

use odec_lang::balance::Balance;
use odec_lang::diagnostic::Diagnostic;
use odec_lang::model::{Model, Overrides};
use odec_lang::program::{Lowered, lower_warned};
use odec_lang::source::Source;
use odec_lang::{analyse, parse};

fn model_of(text: &str) -> Model {
    let source = Source::new("m.ode", text);
    let (tree, said) = parse(&source);
    assert!(!said.iter().any(Diagnostic::is_error), "{said:?}");
    let (model, said) = analyse(&tree, &source);
    model.unwrap_or_else(|| panic!("{said:?}"))
}

fn lowered_with(text: &str, overrides: &Overrides) -> Lowered {
    lower_warned(&model_of(text), overrides).unwrap_or_else(|said| panic!("{said:?}"))
}

fn balances_with(text: &str, overrides: &Overrides) -> Vec<Balance> {
    lowered_with(text, overrides).balances.of(&model_of(text)).to_vec()
}

fn balances(text: &str) -> Vec<Balance> {
    balances_with(text, &Overrides::default())
}

/// Derivative as text, and the locations of the remaining terms.
fn change(text: &str) -> (String, Vec<String>) {
    let found = balances(text);
    let Balance::Changes(change) = &found[0] else { panic!("{found:?}") };
    let places = change.terms.iter().map(|label| format!("{}: {}", &text[label.span.range()], label.text)).collect();
    (change.derivative.clone().unwrap_or_default(), places)
}

fn codes(text: &str) -> Vec<String> {
    let mut found: Vec<String> =
        lowered_with(text, &Overrides::default()).warnings.iter().map(|d| d.code.code.to_string()).collect();
    found.retain(|code| code != "W0301");
    found
}

const SIR: &str = "param b = 0.5, g = 0.1\nstate S = 0.9, I = 0.1, R = 0\nS' = -b*S*I\nI' = b*S*I - g*I\n";

#[test]
fn a_cycle_of_reactions_is_conserved() {
    let closed = format!("{SIR}R' = g*I\nconserve S + I + R");
    assert_eq!(balances(&closed), [Balance::Symbolic]);
    let flows = "param b = 0.5\nstate S = 1, I = 0.1\nflow = b*S*I\nS' = -flow\nI' = flow\nconserve S + I";
    assert_eq!(balances(flows), [Balance::Symbolic]);
    let volterra = "param a = 1, b = 0.3, c = 0.7, d = 0.2\nstate x = 2, y = 3\nx' = a*x - b*x*y\ny' = d*x*y - c*y\n\
                    conserve d*x - c*ln(x) + b*y - a*ln(y)";
    assert_eq!(balances(volterra), [Balance::Symbolic]);
    let kepler = "param mu = 1\nstate x = 1, y = 0, x' = 0, y' = 1.1\nr = sqrt(x^2 + y^2)\nx'' = -mu*x/r^3\n\
                  y'' = -mu*y/r^3\nconserve energy = (x'^2 + y'^2)/2 - mu/r\nconserve spin = x*y' - y*x'";
    assert_eq!(balances(kepler), [Balance::Symbolic, Balance::Symbolic]);
    let pendulum = "param g = 9.81, L = 2\nstate a = 1, a' = 0\na'' = -g/L*sin(a)\n\
                    conserve L^2*a'^2/2 + g*L*(1 - cos(a))";
    assert_eq!(balances(pendulum), [Balance::Symbolic]);
}

#[test]
fn identities_that_expansion_misses_are_tested_numerically() {
    // exp(-x)*exp(x) is 1, which the expansion does not detect
    let hidden = "state x = 1, y = 2\nx' = exp(x)\ny' = exp(-x)*exp(2*x)\nconserve x - y";
    assert_eq!(balances(hidden), [Balance::Numeric(5)]);
    let coupled = "param m = 2, k = 3\nstate p = 1, q = 0, p' = 0, q' = 0\n2*m*p'' + m*q'' = -k*p\n\
                   m*p'' + 3*m*q'' = -k*q\nconserve m*p'^2 + m*p'*q' + 1.5*m*q'^2 + k*(p^2 + q^2)/2";
    assert_eq!(balances(coupled), [Balance::Numeric(5)]);
    let ring = "const N = 12\nindex i = 1..N\nparam D = 0.3\nstate u[i] = 1 + 0.1*i^2\n\
                u[i]' = D*(u[i-1] - 2*u[i] + u[i+1])\nboundary periodic i\nconserve mass = sum(i: u[i])";
    assert_eq!(balances(ring), [Balance::Numeric(5)]);
}

#[test]
fn leaks_are_shown_with_the_remaining_terms() {
    let leaking = format!("{SIR}R' = g*I\nA' = -0.1*A + 0.2\nstate A = 1\nconserve S + I + R + A");
    let (derivative, places) = change(&leaking);
    assert_eq!(derivative, "0.2 - 0.1*A");
    assert_eq!(places, ["-0.1*A: this removes some of it", "0.2: this adds to it"]);
    let lost = "param m = 0.2\nstate S = 1, I = 1\nS' = -S*I\nI' = S*I - m*I\nconserve S + I";
    assert_eq!(
        change(lost),
        ("-m*I".to_string(), vec!["m*I: this removes some of it, and nothing adds it again".to_string()])
    );
    let brusselator =
        "param a = 1, b = 3\nstate x = 1, y = 1\nx' = a + x^2*y - (b + 1)*x\ny' = b*x - x^2*y\nconserve x + y";
    assert_eq!(change(brusselator).0, "a - x");
    let damped = "param k = 2, c = 0.1\nstate x = 1, x' = 0.3\nx'' = -k*x - c*x'\nconserve (x'^2 + k*x^2)/2";
    let (derivative, places) = change(damped);
    assert_eq!(derivative, "-c*x'^2");
    assert_eq!(places, ["c*x': this removes some of it, and nothing adds it again"]);
}

/// The reaction that changes the quantity is marked, at the species that it makes or takes.
#[test]
fn the_reaction_that_leaks_is_marked() {
    let at = |text: &str, places: &[&str]| {
        let found = balances(text);
        let Balance::Changes(change) = &found[0] else { panic!("{found:?}") };
        let line = |k: usize| text[..k].lines().count();
        let marks =
            change.terms.iter().map(|l| format!("{}: {}", line(l.span.start as usize + 1), &text[l.span.range()]));
        assert_eq!(marks.collect::<Vec<_>>(), places, "{text}");
    };
    at("state A = 1, B = 0\nA -> B  mass 2\n0 -> A  mass 0.1\nconserve A + B", &["3: A"]);
    at("state A = 1, B = 0\nA <-> B  mass (2, 1)\nB -> 0  mass 0.1\nconserve A + B", &["3: B"]);
    at("state A = 1, B = 0, C = 0\nA -> B  mass 2\nB + A -> C  mass 3\nconserve A + B + C", &["3: A"]);
}

/// A condition that makes another term active later in the run, with a function as the quantity.
#[test]
fn terms_that_become_active_later_change_it() {
    let text = |right: &str, end: &str| {
        format!(
            "fn e(a, b) = (a^2 + b^2)/2\nstate x = 1, y = 0\nx' = y\ny' = if x > 0 then -x else {right}\n\
             conserve e(x, y) within 1e-9\nrun {{ t = 0 .. {end} }}"
        )
    };
    assert_eq!(codes(&text("-2*x", "5")), ["W0508"]);
    // the run ends before
    assert!(codes(&text("-2*x", "1")).is_empty());
    assert!(codes(&text("-x", "5")).is_empty());
}

#[test]
fn sums_over_arrays_are_checked() {
    let decay = "const N = 6\nindex i = 1..N\nparam D = 0.3, k = 0.1\nstate u[i] = 1 + 0.1*i\n\
                 u[i]' = D*(u[i-1] - 2*u[i] + u[i+1]) - k*u[i]\nboundary periodic i\nconserve sum(i: u[i])";
    let (derivative, places) = change(decay);
    assert_eq!(derivative, "");
    assert_eq!(places, ["k*u[i]: this removes some of it, and nothing adds it again"]);
    let edge = "const N = 6\nindex i = 1..N\nparam D = 0.3\nstate u[i] = 1 + 0.1*i\n\
                u[i]' = D*(u[i-1] - 2*u[i] + u[i+1])\nboundary u[0] = 0, u[N+1] = u[N]\nconserve sum(i: u[i])";
    let (_, places) = change(edge);
    assert_eq!(places.len(), 1, "{places:?}");
}

#[test]
fn identities_on_the_solution_alone_are_not_faults() {
    // the circle of radius 1 attracts, and the start is on it
    let circle = "state x = 1, y = 0\nx' = y + x*(1 - x^2 - y^2)\ny' = -x + y*(1 - x^2 - y^2)\nconserve x^2 + y^2";
    assert!(matches!(balances(circle)[0], Balance::ChangesElsewhere(_)));
    assert!(codes(circle).is_empty());
    let off = circle.replace("x = 1,", "x = 0.5,");
    assert_eq!(codes(&off), ["W0508"]);
    // a quantity that is zero at the start but not later
    let later = "state A = 1, B = 0\nA' = -A\nB' = A - 0.1*B\nconserve A + B";
    assert_eq!(change(later).0, "-0.1*B");
    let by_time = "state A = 1\nA' = if t > 5 then -A else 0\nrun { t = 0..10 }\nconserve A";
    assert_eq!(codes(by_time), ["W0508"]);
    // a parameter of the run decides
    let open = "param k = 0\nstate A = 1\nA' = -k*A\nconserve A";
    assert_eq!(balances(open), [Balance::Numeric(5)]);
    let set = Overrides { values: vec![("k".to_string(), 1.0)], ..Overrides::default() };
    assert!(matches!(balances_with(open, &set)[0], Balance::Changes(_)));
}

#[test]
fn derivatives_of_conserved_quantities_are_formed_on_request() {
    let kept = lowered_with(&format!("{SIR}R' = g*I\nconserve S + I + R"), &Overrides::default());
    assert!(!kept.balances.is_known());
    let lost = lowered_with(&format!("{SIR}R' = 0.9*g*I\nconserve S + I + R"), &Overrides::default());
    assert!(lost.balances.is_known() && lost.warnings.len() == 1);
}

#[test]
fn singular_starts_are_reported() {
    for text in [
        "state x = 0, y = 1\nx*x' = y\ny' = -y",
        "state p = 1, q = 0\np' + q' = -p\np*q' + p' = q",
        "const N = 4\nindex i = 1..N\nstate u[i] = 1\n(u[i] - 1)*u[i]' = -u[i]",
        "input q(t) = table([0, 1], [0, 2], linear)\nstate x = 0\nq(t)*x' = sin(t)",
    ] {
        assert_eq!(codes(text), ["W0509"], "{text}");
    }
    for text in [
        "state x = 0.1, y = 1\nx*x' = y\ny' = -y",
        "state p = 1, q = 0\np' + 2*q' = -p\np*q' + p' = q",
        "param m = 2\nstate x = 0\nm*x' = -x",
    ] {
        assert!(codes(text).is_empty(), "{text}");
    }
}

#[test]
fn equations_that_hold_no_derivative_together_are_met_or_jump() {
    let said = |text: &str| {
        let warnings = lowered_with(text, &Overrides::default()).warnings;
        let warning = warnings.into_iter().find(|d| d.code == "W0509").unwrap_or_else(|| panic!("{text}"));
        format!("{}; {}", warning.headline, warning.help.unwrap_or_default())
    };
    let jump = said("state x = 1, y = 0\nx' + y' = -x\nx' + y' = -y");
    assert!(
        jump.contains("the initial values contradict the equations of") && jump.contains("jump at the start"),
        "{jump}"
    );
    assert!(jump.contains("violate it by"), "{jump}");
    let met = said("state x = 1, y = 1\nx' + y' = -x\nx' + y' = -y");
    assert!(met.contains("together they contain no derivative"), "{met}");
    let open = said("state x = 0, y = 1\nx*x' = 0*y\ny' = -y");
    assert!(open.contains("any value satisfies it"), "{open}");
    let contradiction = said("state x = 0, y = 1\nx*x' = y\ny' = -y");
    assert!(contradiction.contains("no value satisfies it"), "{contradiction}");
}

#[test]
fn solutions_that_are_not_unique_give_a_warning() {
    for text in [
        "state x = 0\nx' = sqrt(x)",
        "state x = 0\nx' = 3*x^(2/3)",
        "state x = 0\nx' = sqrt(abs(x))",
        "state x = 0, y = 0\ny' = x\nx' = sqrt(y)",
        "state x = 1\nx' = sqrt(x - 1)",
        "const N = 3\nindex i = 1..N\nstate u[i] = 0\nu[i]' = sqrt(u[i])",
    ] {
        assert_eq!(codes(text), ["W0510"], "{text}");
    }
    for text in [
        "state x = 0\nx' = 1 + sqrt(x)",
        "state h = 0\nh' = -sqrt(h)",
        "state x = 0.1\nx' = sqrt(x)",
        "state x = 0\nx' = x*sqrt(x)",
        "state x = 0\nx' = x^1.5",
        "state x = 1, c = 0\nx' = sqrt(c)\nc' = 0*x",
        "state a = 1, b = 0\na' = -sqrt(a)\nb' = sqrt(a) - sqrt(b)",
        "state x = 0, y = 0\nx' = 1\ny' = sqrt(x)",
        include_str!("../../../models/chain.ode"),
        include_str!("../../../models/double_pendulum.ode"),
    ] {
        assert!(codes(text).is_empty(), "{text} {:?}", codes(text));
    }
}

#[test]
fn inputs_are_shown_as_the_model_calls_them() {
    let fed = |kind: &str, right: &str| {
        format!(
            "input q(t) = table([0, 2, 5], [1, 2, 4], {kind})\nstate A = 1, B = 0\nA' = -A{right}\nB' = A\nconserve A + B\n\
             run {{ t = 0 .. 5 }}"
        )
    };
    for kind in ["linear", "hold", "cubic", "spline"] {
        assert_eq!(change(&fed(kind, " - q(t)")).0, "-q(t)", "{kind}");
        assert_eq!(change(&fed(kind, " + 2*q(t + 1)*A")).0, "2*A*q(t + 1)", "{kind}");
        // what enters both cancels
        let both = fed(kind, " - q(t)").replace("B' = A", "B' = A + q(t)");
        assert_eq!(balances(&both), [Balance::Symbolic], "{kind}");
    }
    // a quantity that contains the input itself changes with its slope, which has no name
    let own = fed("linear", "").replace("conserve A + B", "conserve A + B + q(t)");
    assert_eq!(change(&own).0, "");
}

#[test]
fn dependent_elements_of_arrays_are_named() {
    let text =
        "index i = 1..3\nstate u[i] = i, v[i] = 2\ni*u[i]' + v[i]' = 1\ni*u[i]' + v[i]' = 2\nrun { t = 0 .. 1 }\n";
    let warnings = lowered_with(text, &Overrides::default()).warnings;
    let d = warnings.iter().find(|d| d.code == "W0509").expect("a warning");
    assert!(d.headline.contains("`u[1]'` and `v[1]'`"), "{}", d.headline);
    assert!(d.labels[0].text.starts_with("2 elements of these equations are dependent"), "{}", d.labels[0].text);
}
