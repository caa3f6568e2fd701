//! Warnings about statements that are probably not meant: each is given, is true, and can be switched off on its line.

use odec_lang::source::Source;

fn warnings(text: &str) -> Vec<String> {
    let found = odec_lang::check(&Source::new("m.ode", text)).diagnostics;
    assert!(!found.iter().any(odec_lang::diagnostic::Diagnostic::is_error), "{text}\n{found:?}");
    let codes = found.iter().map(|d| d.code.code.to_string());
    codes.filter(|code| !matches!(code.as_str(), "W0201" | "W0301" | "N0101")).collect()
}

const HEAD: &str = "param k = 2\nstate x = 1, y = 0\ny' = x\n";

/// A line after [`HEAD`], and the code of its warning.
const LINES: [(&str, &str); 21] = [
    ("x' = x^1/2", "W0501"),
    ("x' = -k*x^1/2 + y", "W0501"),
    ("x' = -k*x^-1/2 + y", "W0501"),
    ("x' = sin(30) - x", "W0502"),
    ("x' = cos(360*t) - x", "W0502"),
    ("x' = if x > 2 and x < 1 then 1 else 0", "W0503"),
    ("x' = if x > 2 or x < 3 then 1 else 0", "W0503"),
    ("x' = if 2 > 1 then 1 else x", "W0503"),
    ("x' = if abs(x) < 0 then 1 else x", "W0503"),
    ("x' = if -1 > x^2 then 1 else x", "W0503"),
    ("x' = if t < 0 then 1 else -x\nrun { t = 0 .. 10 }", "W0503"),
    ("x' = 0", "W0504"),
    ("x' = 1e-11*k + 30 - x", "W0507"),
    ("x' = not x + k", "W0512"),
    ("x' = if x then k else 0", "W0512"),
    ("x' = if (x > 1) > 3 then k else 0", "W0512"),
    ("x' = -k*x > 0", "W0512"),
    ("x' = if y > 0 and x then k else 0", "W0512"),
    ("conserve x\nx' = -k*x", "W0508"),
    ("x' = -k*x\nparam r_ms = 3 [s]", "W0511"),
    ("x' = -k*x\nindex i = 1..2\nparam b[i] = 1 in 0..2\noutput q[i] = b[i]\nparams far { b[2] = 3 }", "W0505"),
];

#[test]
fn every_warning_is_given_and_switched_off_on_its_line() {
    for (line, code) in LINES {
        let text = format!("{HEAD}{line}\n");
        assert_eq!(warnings(&text), [code], "{line}");
        let allowed: Vec<String> = line.lines().map(|line| format!("{line}  # allow {code}\n")).collect();
        let text = format!("{HEAD}{}", allowed.concat());
        assert!(warnings(&text).is_empty(), "{text}");
        let other: Vec<String> = line.lines().map(|line| format!("{line}  # allow W0999\n")).collect();
        assert_eq!(warnings(&format!("{HEAD}{}", other.concat())), [code], "another code");
    }
}

#[test]
fn intended_expressions_give_no_warning() {
    for line in [
        "x' = x^(1/2)",
        "x' = x^(-1/2)",
        "x' = if abs(x) <= 0 then 1 else -x",
        "x' = if x^3 < 0 then 1 else -x",
        "x' = if t < 2 then 1 else -x\nrun { t = 0 .. 10 }",
        "x' = if t >= 0 then 1 else -x\nrun { t = 0 .. 10 }",
        "x' = if t < 0 then 1 else -x\nrun { t = 0 .. 10 }\nrun early { t = -1 .. 10 }",
        "x' = (x^1)/2",
        "x' = x/2",
        "x' = sin(30*pi/180) - x",
        "x' = sin(2*pi*50*t) - x",
        "x' = if x > 1 and x < 2 then 1 else 0",
        "x' = (x > 1)*k",
        "on = x > 1\nx' = if on then k else 0",
        "param flag = 1\nx' = if flag then k else -x",
        "x' = if (x > 1) == (y > 1) then k else 0",
        "x' = if 1 < x < 3 then k else 0",
        "x' = (x > 2)",
        "param T_min = 5 [s], x_s = 2 [m], tau_ms = 2 [ms]\nx' = -x",
        "param phi = 30 [deg]\nx' = sin(phi*pi/180) - x",
        "x' = 0\nat 1 { x := 2 }",
        "x' = 0\nwhen y > 3 { y := 1 }\nrest { x := 2 }",
    ] {
        assert!(warnings(&format!("{HEAD}{line}\n")).is_empty(), "{line} {:?}", warnings(&format!("{HEAD}{line}\n")));
    }
    // a state that starts near zero does not determine the size of its terms
    let near = "param k = 2\nstate x = 1, y = 1e-40\ny' = x - k*y\nx' = y - x\n";
    assert!(warnings(near).is_empty(), "{:?}", warnings(near));
    // powers of a state that starts small become larger with it
    let few = "param k = 2, n = 4\nstate p = 1e-3, m = 0.5\nm' = 3 + k*p^n - m\np' = m - k*p\n";
    assert!(warnings(few).is_empty(), "{:?}", warnings(few));
    let wrong = few.replace("k = 2", "k = 2e-12").replace("- k*p\n", "- p\n");
    assert_eq!(warnings(&wrong), ["W0507"]);
}

#[test]
fn angles_declared_in_degrees_give_a_warning() {
    let model = "param phi = 30 [deg]\nstate x = 1\nx' = sin(phi) - x";
    assert!(warnings(&format!("units off\n{model}")).contains(&"W0502".to_owned()));
    // if units are checked, the angle is converted
    assert!(warnings(model).is_empty());
}

#[test]
fn an_initial_angle_that_looks_like_degrees_gives_a_warning() {
    let model = |start: &str| format!("state theta = {start}, omega = 0\ntheta' = omega\nomega' = -9.81*sin(theta)\n");
    assert_eq!(warnings(&model("90")), ["W0502"]);
    for start in ["90*pi/180", "1.5", "3"] {
        assert!(warnings(&model(start)).is_empty(), "{start}");
    }
    // an angle that is not the whole argument is a phase of something else
    assert!(warnings("param w = 2\nstate x = 90\nx' = sin(w*x)\n").is_empty());
}

#[test]
fn a_number_beside_or_is_refused_with_the_whole_condition() {
    let refused = |condition: &str| {
        let text = format!("param m = 3\nstate x = 1\nx' = if {condition} then -x else 0\n");
        let found = odec_lang::check(&Source::new("m.ode", text)).diagnostics;
        found.iter().find(|d| d.code == "E0541").map(|d| d.help.clone().unwrap_or_default())
    };
    let advice = |better: &str| Some(format!("repeat the comparison: `{better}`"));
    assert_eq!(refused("m == 1 or 2"), advice("m == 1 or m == 2"));
    assert_eq!(refused("m == 1 or m == 2 or 4"), advice("m == 2 or m == 4"));
    assert_eq!(refused("x > 1 and 2"), advice("x > 1 and x > 2"));
    assert_eq!(refused("3 and m == 2"), Some("compare it with a quantity: `x == 3`".to_owned()));
    for allowed in ["m == 1 or m == 2", "m == 1 or 0", "m == 1 and 1", "m == 1 or m"] {
        assert_eq!(refused(allowed), None, "{allowed}");
    }
}
