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
const LINES: [(&str, &str); 111] = [
    ("x' = -k*max(x*y, x*y)", "W0536"),
    ("x' = -k*min(x, x) # a comment", "W0536"),
    ("x' = cos(360*(t - 15)/365) - x", "W0502"),
    ("x' = sin((t - 6)*360/24) - x", "W0502"),
    ("x' = sin(360/24*t) - x", "W0502"),
    ("param f = 2\nx' = sin(360*f*t) - x", "W0502"),
    ("x' = sin(2*180*t) - x", "W0502"),
    ("x' = -x^1/k", "W0501"),
    ("x' = -(x/2)^1/k", "W0501"),
    ("x' = -k/x^1/2", "W0501"),
    ("x' = if k != 1 or k != 2 then 1 else -x", "W0503"),
    ("x' = if mod(t, 24) > 30 then 1 else -x", "W0503"),
    ("x' = if t < 1 then 0 else if t < 2 then 1 else if t < 1.5 then 3 else 4", "W0503"),
    ("x' = if t < 2 then 1 else if t < 5 then 2 else if t < 3 then 4 else 3\nrun { t = 0 .. 10 }", "W0503"),
    (
        "time t [s]\nx' = -x/(1 [s])\nstate d = 1 [m]\nd' = if d > 2 [m] and d < 50 [cm] then 1 [m/s] else 0 [m/s]",
        "W0503",
    ),
    ("x' = if y > 5 then 1 else if y > 2 then 2 else if y > 3 then 4 else 3", "W0503"),
    ("x' = 1 - k*x'", "W0504"),
    ("x' = y\nstate v = 0\nv' = -k - 2*v'", "W0504"),
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
    ("x' = k*max(0, min(-1, x))", "W0503"),
    ("x' = -min(0, max(1, x))", "W0503"),
    ("x' = if max(0, x) < 0 then 1 else -x", "W0503"),
    ("time t [s]\nparam tau_ms = 5\nx' = -x/tau_ms", "W0511"),
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
    ("x' = sin(2*pi*t + 90) - x", "W0502"),
    ("x' = cos(y - 180) - x", "W0502"),
    ("x' = cos(y*180/pi) - x", "W0502"),
    ("x' = cos(180/pi*y) - x", "W0502"),
    ("index i = 1..2\nparam phi[i] = [30, 90]\nx' = sin(phi[1]) + sin(phi[2]) - x", "W0502"),
    ("x' = if sin(x) > 1.5 then 1 else -x", "W0503"),
    ("x' = if -2 > cos(x) then 1 else -x", "W0503"),
    ("x' = if exp(x) < 0 then 1 else -x", "W0503"),
    ("x' = if abs(x) >= 0 then 1 else -x", "W0503"),
    ("x' = if sin(x) < 2 then 1 else -x", "W0503"),
    ("x' = if x > k and x < k - 1 then 1 else -x", "W0503"),
    ("x' = if x + 1 < k and x > k then 1 else -x", "W0503"),
    ("x' = if x > k or x < k + 1 then 1 else -x", "W0503"),
    ("x' = 0*y", "W0504"),
    ("x' = -k*x'", "W0504"),
    ("x' = y - y", "W0504"),
    ("x' = -k*x\nindex i = 1..2\nstate u[i] = i\nu[i]' = 0", "W0504"),
    ("x' = -k*x\nindex i = 1..2\nparam b = 1e15\nstate u[i] = 1\nu[i]' = -b*u[i] + 1e-3", "W0507"),
    ("x' = -k*x\nstate v_mV = 1 [V]\nv_mV' = -v_mV", "W0511"),
    ("x' = -k*x\ngap_um = 2 [m]\noutput gap_um", "W0511"),
    ("x' = -k*x\nrun { t = 0 .. 1; step = 0.1; rtol = 1e-10 }", "W0530"),
    ("x' = -k*x\nrun { t = 0 .. 1; method = rk4; atol(x) = 1e-10; step = 0.1 }", "W0530"),
    ("param a = 1\nа = 2\nx' = -a*x + а", "W0533"),
    ("x' = -k*x -- k", "W0534"),
    ("x' = -x*exp(0.05*T/T0)\nparam T = 37 [C], T0 = 1 [C]", "W0524"),
    ("x' = -k*x\nparam room_temp = 20 [C]\nstate h = 80 [C]\nh' = (room_temp - h)/(5 [s])", "W0524"),
    ("x' = --k*x*y - x", "W0534"),
    ("x' = -k*x\n    -- k", "W0534"),
    ("index i = 1..2\nparam p[i] = [90, 2]\nx' = sin(p[1]) - p[2]*x", "W0502"),
    ("index i = 0..1\nconst p[i] = [2, 45]\nx' = k*cos(p[1]) - p[0]*x", "W0502"),
    ("x' = -k*x\nindex i = 1..3\nstate u[i] = 1\nu[i]' = 1 - u[i]\nstate s = 1\ns' = sum(i: u[i]) - 1e-14*s", "W0507"),
    ("x' = -k*x\nindex i = 1..2\nparam b[i] = [1e15, 2e15]\nstate u[i] = 1\nu[i]' = 1e-3 - b[i]*u[i]", "W0507"),
    ("x' = -k*x\nindex i = 1..9\nstate u[i] = i\nu[i]' = 10^(20 + i) - u[i]", "W0507"),
    ("param gamma = 2\nx' = -gamma*x - gamma(y + 1)", "W0202"),
    ("param m = 1 +- 0.1\nx' = -m*x", "W0534"),
    ("x' = max(0,5, x) - 6*x", "W0535"),
    ("x' = -min(x, 1,5)", "W0535"),
    ("x' = if x > 1 then -k*x else - k*x", "W0536"),
    ("x' = -x\nindex i = 1..4\nstate u[i] = 1\nu[i]' = if i == 5 then 0 else -u[i]", "W0503"),
    ("x' = -x\nindex i = 1..4\nstate u[i] = 1\nu[i]' = if i < 1 then 0 else -u[i]", "W0503"),
    ("x' = -x\nindex i = 1..4\nstate u[i] = 1\nu[i]' = if i > 0 then 0.1 else -u[i]", "W0503"),
    ("x' = -x\nindex i, j = 1..4\nstate u[i] = 1\nu[i]' = -sum(j where j > 10: u[j])", "W0503"),
    ("x' = -x\nindex i = 1..4\nstate u[i] = (1, 2, 3, 4)\nu[i]' = -u[i]", "W0537"),
    ("x' = -x\nconst N = 3\nindex i = 1..N\nstate u[i] = (1, -2, 3)\nu[i]' = -u[i]", "W0537"),
    ("param dx = 0.1\nx' = -k*x/dx*dx", "W0538"),
    ("param dx = 0.1\nx' = -k*(y - x) / dx * dx + 1", "W0538"),
    ("x' = -x\nwhen k > 3 { x := 1 }", "W0539"),
    ("x' = -x\nwhen k > 3 and k < 2*k + 1 { x := 1 }", "W0539"),
    ("x' = x > 0 and -9.81 or 0", "W0512"),
    ("x' = (x > 0 and 2*k)", "W0512"),
    ("x' = -x\n#include \"cell.ode\"", "W0541"),
    ("x' = -x\nconserve abs(x + y - 1) < 1e-6", "W0540"),
    ("param phase = 90\nx' = cos(k*t + phase) - x", "W0502"),
    ("param start = 30\nstate th = start\nth' = -sin(th)\nx' = -x", "W0502"),
    ("discrete ang = 90\nx' = sin(ang) - x\nat 1 { ang := 0 }", "W0502"),
    ("discrete i = 0, u = 0\nx' = u - x\nevery 0.1 { i += 0.1*y; u := k*i + 0.1*y }", "W0531"),
    ("x' = -x\nat 1 { x := 0.7*x; y += 0.4*x }", "W0531"),
    ("x' = if k > k + 1 then 1 else -x", "W0503"),
    ("x' = if x > x then 1 else -x", "W0503"),
    ("x' = if x > 2 and not (x > 1) then 1 else -x", "W0503"),
    ("x' = if x > 2 or not x > 2 then 1 else -x", "W0503"),
    ("fn s(z) = sin(z)\nx' = s(90) - x", "W0502"),
    ("param tau_ms = 5\nx' = -x/tau_ms", "W0511"),
    ("param tau_ms = 5, T_s = 3\nx' = -x/tau_ms - x/T_s", "W0511"),
    ("param R_ohm = 5\nx' = -x/R_ohm", "W0511"),
    ("param a = 3 in 0..5\nx' = if a > 6 then 1 else -a*x", "W0503"),
    ("x' = -x  # allow W9999", "W0542"),
    ("x' = -x  # allow E0201", "W0542"),
];

#[test]
fn every_warning_is_given_and_switched_off_on_its_line() {
    for (line, code) in LINES {
        let text = format!("{HEAD}{line}\n");
        assert_eq!(warnings(&text), [code], "{line}");
        let allowed: Vec<String> = line.lines().map(|line| format!("{line}  # allow {code}\n")).collect();
        let text = format!("{HEAD}{}", allowed.concat());
        assert!(warnings(&text).is_empty(), "{text}");
        let other: Vec<String> = line.lines().map(|line| format!("{line}  # allow W0603\n")).collect();
        assert_eq!(warnings(&format!("{HEAD}{}", other.concat())), [code], "another code");
    }
}

#[test]
fn limits_that_vary_and_units_that_agree_give_no_warning() {
    for line in [
        "time t [s]\nx' = -x/(1 [s])\nstate d = 1 [m]\nd' = if d > 2 [cm] and d < 50 [m] then 1 [m/s] else 0 [m/s]",
        "x' = k*max(0, min(1, x))",
        "x' = k*max(1, min(3, x), y)",
        "x' = max(k, min(2, x))",
        "time t [ms]\nparam tau_ms = 5\nx' = -x/tau_ms",
        "time t [s]\nparam n_ms = 5\nx' = -x*n_ms*k*t",
        "x' = -k*x*y^1/2  # half of it  # allow W0501",
        "x' = -max(x, x, y)",
        "param k_ms = 5, r_deg = 2, glucose_km = 3\nx' = -k_ms*r_deg*glucose_km*x",
        "units off\nparam tau_ms = 5\nx' = -x/tau_ms",
        "tau_ms = 2*k\nx' = -x/tau_ms",
        "param protein_MW = 50\nx' = -x/protein_MW",
        "param a = 3 in 0..5\nx' = if a > 4 then 1 else -a*x",
        "x' = -x  # allow me to say that W9999 is unknown",
    ] {
        assert!(warnings(&format!("{HEAD}{line}\n")).is_empty(), "{line}");
    }
}

#[test]
fn intended_expressions_give_no_warning() {
    for line in [
        "x' = -min(x, 1, 5)",
        "x' = -min(x,1,5)",
        "x' = -min(x, 15)",
        "x' = -k*x*y^1/2  # allow W0501: half of it, W0502",
        "x' = -k*x*y^1/2  # allow w0501",
        "x' = x^(1/2)",
        "x' = x^(-1/2)",
        "x' = if abs(x) <= 0 then 1 else -x",
        "x' = if x^3 < 0 then 1 else -x",
        "x' = if t < 2 then 1 else -x\nrun { t = 0 .. 10 }",
        "x' = if t < 2 then 1 else if t < 5 then 2 else if t < 7 then 4 else 3\nrun { t = 0 .. 10 }",
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
        "x' = sin(x + 0.5) - cos(y - 30)",
        "x' = sin(y*pi/180) - x",
        "x' = sin(180*y/(2*k)) - x",
        "index i = 1..2\nparam b[i] = [30, 90]\nx' = sin(b[1]*t) + sin(b[2]*t)",
        "index i = 1..2\nparam b[i] = [30, 1.5]\nx' = sin(b[2]) - b[1]*x",
        "index i = 1..2\nparam b[i] = [90, 45] [deg]\nx' = sin(b[1])*sin(b[2]/2) - x",
        "x' = -x\nindex i = 1..2\nparam b[i] = [1e15, 1]\nstate u[i] = 1\nu[i]' = 1e-3 - b[i]*u[i]",
        "x' = -x\nindex i = 1..3\nstate u[i] = 1e-9\nu[i]' = 1 - u[i]\nstate s = 1\ns' = sum(i: u[i]) - 1e-6*s",
        "x' = if sin(x) > 0.5 then 1 else -x",
        "x' = if sin(x) >= 1 then 1 else -x",
        "x' = if abs(x) > 0 then 1 else -x",
        "x' = if x > k and x < k + 1 then 1 else -x",
        "x' = if x > 2 and not (x > 3) then 1 else -x",
        "x' = if x > 2 and not (1 < x < 3) then 1 else -x",
        "fn s(z) = sin(z) + z\nx' = s(1.5) - x",
        "x' = if x > k - 1 and x < k then 1 else -x",
        "x' = if x > y and x < k - 1 then 1 else -x",
        "x' = x - y",
        "x' = x - k*x'",
        "x' = -x\nindex i = 1..3\nstate u[i] = i\nu[1]' = 0\nu[i in 2..3]' = u[i-1] - u[i]",
        "x' = -x\nindex i = 1..2\nstate u[i] = i\nu[i]' = 0\nat 1 { u[1] := 2 }",
        "x' = -x\nindex i = 1..2\nparam b = 1e15\nstate u[i] = 1e-15*i\nu[i]' = -b*u[i] + 1e-3",
        "x' = -x\nstate v_mV = 1 [mV]\nv_mV' = -v_mV",
        "x' = -x\nparam P_bar = 3 [Pa]",
        "x' = -x\nparam T = 5 [C], I = 2 [A]\noutput q = T + I*t",
        "x' = -x\nstate q = 5 [C], Total = 3 [C]\nq' = -q/(3 [s])\nTotal' = -Total/(3 [s])",
        "x' = -x\nparam T = celsius(37)\noutput T",
        "x' = -x\nrun { t = 0 .. 1; step = auto; rtol = 1e-10 }",
        "x' = -x\nrun { t = 0 .. 1; max_step = 0.1; rtol = 1e-10 }",
        "x' = -x\nrun { t = 0 .. 1; step = 0.1 }\nrun fine { t = 0 .. 1; rtol = 1e-10 }",
        "x' = -x\nrun { t = 0 .. 1; method = taylor; step = 0.1; rtol = 1e-10 }",
        "param ν = 1\nv = 2\nx' = -v*x + ν",
        "x' = 0\nat 1 { x := 2 }",
        "param max = 2\nx' = -max*max(x, y)",
        "fn f(u) = 2*u\nparam gamma = 2\nx' = -f(gamma)*x",
        "param phase = 90\nx' = cos(k*t + phase) - phase*x",
        "param shift = 30\nx' = cos(t - shift) - x",
        "param m = 1 + -0.1\nx' = -m*x",
        "param start = 31\nstate th = start\nth' = -sin(th)\nx' = -x",
        "discrete i = 0, u = 0\nx' = u - x\nevery 0.1 { i += 0.1*y; u := k*(i + 0.1*y) }",
        "x' = -x\nat 1 { x -= 0.3*x; y += 0.3*x }",
        "x' = -x\nat 1 { x := 0.7*x; y += 0.3*x }",
        "x' = -x\nat 1 { x := (1 - k/4)*x; y += k*x/4 }",
        "state z = 0\nz' = 0*y + 1\nx' = -x\nat 1 { x -= x/2; y += x/4; z += x/4 }",
        "x' = 0/0",
        "x' = inf - inf",
        "x' = 0\nwhen y > 3 { y := 1 }\nrest { x := 2 }",
    ] {
        assert!(warnings(&format!("{HEAD}{line}\n")).is_empty(), "{line} {:?}", warnings(&format!("{HEAD}{line}\n")));
    }
}

#[test]
fn states_that_start_near_zero_give_no_warning() {
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
fn text_with_an_effect_gives_no_warning() {
    for line in [
        "x' = if x > 1 then -k*x else -k*y",
        "x' = -x\nindex i = 1..4\nstate u[i] = 1\nu[i]' = if i == 4 then 0.1 else -u[i]",
        "x' = -x\nconst N = 4\nindex i = 1..N\nstate u[i] = 1\nu[i]' = if i == 5 then 0.1 else -u[i]",
        "x' = -x\nindex i = 1..4\nstate u[i] = 1\nu[i]' = -u[i]\n\
         f[i in 0..4] = if i == 0 then 0 else u[i]\noutput f[0]",
        "x' = -x\nindex i = 1..3\nstate u[i] = (1, 0, 0)\nu[i]' = -u[i]",
        "x' = -x\nindex i = 1..3\nstate u[i] = (1, 2, 3)\nu[i]' = -u[i]\noutput r = norm(u[1])",
        "param dx = 0.1\nx' = -k*x/(dx*dx)",
        "param dx = 0.1\nx' = -k*x/dx*y",
        "x' = -x\nwhen k > 3 from start { x := 1 }",
        "x' = -x\nwhen k > x { x := 3 }",
        "x' = -x\ndiscrete n = 0\nat 1 { n := 5 }\nwhen n > k { x := 3 }",
    ] {
        assert!(warnings(&format!("{HEAD}{line}\n")).is_empty(), "{line} {:?}", warnings(&format!("{HEAD}{line}\n")));
    }
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

#[test]
fn two_declarations_of_equal_numbers_are_two_indices() {
    let model = |equations: &str| format!("index i = 1..3\nindex j = 1..3\nstate a[j] = 1, b[i] = 2\n{equations}\n");
    assert_eq!(warnings(&model("a[j]' = -a[j]\nb[i]' = a[i] - b[i]")), ["W0506"]);
    for right in [
        // a sum over all elements, with the other index as its variable
        "a[j]' = -a[j]\nb[i]' = sum(j: b[j]) - b[i]",
        // indices of one kind: they select elements of one array, or are compared
        "a[j]' = sum(i: a[i]) - a[j]\nb[i]' = a[i] - b[i]",
        "a[j]' = -a[j]\nb[i]' = sum(j where j != i: a[j]) + a[i]",
    ] {
        assert!(warnings(&model(right)).is_empty(), "{right} {:?}", warnings(&model(right)));
    }
    // one declaration
    let model = model("a[j]' = -a[j]\nb[i]' = a[i] - b[i]").replace("index i = 1..3\nindex j", "index i, j");
    assert!(warnings(&model).is_empty());
    // the second index of a matrix
    let matrix = "index i = 1..2\nindex j = 1..2\nconst A[i,j] = [[1, 2], [3, 4]]\nstate x[i] = 1\n\
                  x[i]' = -sum(j: A[i,j]*x[j])\n";
    assert!(warnings(matrix).is_empty());
}

#[test]
fn an_index_of_a_smaller_range_is_foreign_where_the_equation_has_the_right_one() {
    let head = "index i = 1..3\nindex j = 1..4\nconst D[j] = [1, 2, 3, 4]\n";
    let model = |equation: &str| warnings(&format!("{head}state u[i,j] = 1\nu[i,j]' = {equation}\n"));
    assert_eq!(model("-D[i]*u[i,j]"), ["W0506"]);
    assert!(model("-D[j]*u[i,j]").is_empty());
    // indices that select elements of one array count the same things
    assert!(model("(D[i] - D[j])*u[i,j]").is_empty());
    let groups = "const G = 3, A = 4\nindex g = 1..G, a = 1..A\nconst c[g,a] = 1\nstate x[a] = 1, y[g] = 1\n\
                  x[a]' = -x[a]\n";
    assert_eq!(warnings(&format!("{groups}y[g]' = sum(a: c[g,a]*x[g])\n")), ["W0506"]);
    assert!(warnings(&format!("{groups}y[g]' = sum(a: c[g,a]*x[a])\n")).is_empty());
    // the inner points of a grid, and an equation without the other index
    let grid =
        "const N = 10\nindex k = 1..N\nindex i = 1..N-1\nparam w[i,k] = 1\nstate u[k] = 1, v[i] = 1\nu[k]' = -u[k]\n";
    assert!(warnings(&format!("{grid}v[i]' = u[i] - v[i]\n")).is_empty());
    assert!(warnings(&format!("{grid}v[i]' = u[i]*sum(k: w[i,k])\n")).is_empty());
}

#[test]
fn an_index_of_a_smaller_range_is_foreign_where_the_equation_has_no_other() {
    let head = "index i = 1..3\nindex j = 1..4\nparam c[j] = 2\nstate b[i] = 1\n";
    let model = |rest: &str| warnings(&format!("{head}{rest}\n"));
    assert_eq!(model("b[i]' = -c[i]*b[i]"), ["W0506"]);
    for right in [
        // a sum over all elements
        "b[i]' = -sum(j: c[j])*b[i]",
        // a shift, another access and a comparison say that the indices count the same things
        "b[i]' = -(c[i+1] - c[i])*b[i]",
        "b[i]' = -c[i]*b[i]*sum(j: c[j])",
        "b[i]' = -c[i]*b[i]*sum(j where j != i: b[i]*c[j])",
        // nothing else has the index
        "x' = -sum(i: c[i])*x\nstate x = 1\nb[i]' = -b[i]",
    ] {
        assert!(model(right).is_empty(), "{right} {:?}", model(right));
    }
    // the equations of some elements
    let parts = "index i = 1..3\nindex j = 1..4\nstate c[j] = 2, b[i] = 1\nb[i]' = -c[i]*b[i]\nc[i]' = -1\n\
                 c[4]' = 0\n";
    assert!(warnings(parts).is_empty());
    // a range that begins within the other one
    let later = "index i = 2..3\nindex j = 1..4\nparam c[j] = 2\nstate b[i] = 1\nb[i]' = -c[i]*b[i]\n";
    assert!(warnings(later).is_empty());
}

#[test]
fn the_step_or_the_tolerances_go() {
    let help = |block: &str| {
        let text = format!("state x = 1\nx' = -x\nrun {{ t = 0 .. 10; {block} }}\n");
        let found = odec_lang::check(&Source::new("m.ode", text)).diagnostics;
        let found = found.into_iter().find(|d| d.code == "W0530").expect("a warning");
        (found.headline, found.help.unwrap_or_default())
    };
    let (headline, advice) = help("step = 1; rtol = 1e-10; atol = 1e-12");
    assert_eq!(headline, "`step = 1` turns off the error control, and `rtol` and `atol` do not shorten the steps");
    assert!(advice.contains("`samples = 10`") && advice.contains("an implicit method"), "{advice}");
    let (_, advice) = help("method = rk4; step = 0.3; rtol = 1e-10; samples = 5");
    assert!(advice.contains("`rk4` takes steps of 0.3") && !advice.contains("samples"), "{advice}");
}

#[test]
fn an_unused_name_that_is_a_setting_elsewhere_says_where_it_belongs() {
    let help = |line: &str| {
        let found = odec_lang::check(&Source::new("m.ode", format!("state x = 1\nx' = -x\n{line}\n"))).diagnostics;
        found.into_iter().find(|d| d.code == "W0201").and_then(|d| d.help).unwrap_or_default()
    };
    assert_eq!(help("STOPTIME = 10"), "if it is a setting of the run, write `run { t = 0 .. 10 }`");
    assert_eq!(help("samples = 30"), "if it is a setting of the run, write `run { samples = 30 }`");
    assert_eq!(help("param rtol = 1e-8"), "if it is a setting of the run, write `run { rtol = 1e-8 }`");
    assert_eq!(help("DTOUT = 0.1"), "if it is a setting of the run, write `run { samples = 100 }`");
    for name in ["x0", "x_0"] {
        let help = help(&format!("param {name} = 3"));
        assert!(help.starts_with(&format!("if it is the initial value of `x`, write `state x = {name}`")), "{help}");
    }
    assert_eq!(help("param y0 = 3"), "remove it");
}

#[test]
fn one_condition_is_not_asked_for_another_word() {
    let help = |condition: &str| {
        let text = format!("state x = 1\nx' = if {condition} then 1 else -x\nrun {{ t = 0 .. 1 }}\n");
        let found = odec_lang::check(&Source::new("m.ode", text)).diagnostics;
        found.into_iter().find(|d| d.code == "W0503").and_then(|d| d.help).unwrap_or_default()
    };
    assert_eq!(help("x^2 < 0"), "is a sign wrong?");
    assert_eq!(help("x > 2 and x < 1"), "is a sign wrong, or should `and` be `or`?");
}

#[test]
fn an_argument_that_its_function_does_not_read() {
    let found = |line: &str| {
        let text = format!("{HEAD}{line}\n");
        let found = odec_lang::check(&Source::new("m.ode", text)).diagnostics;
        let of_arguments = found.into_iter().filter(|d| d.labels.first().is_some_and(|l| l.text == "an argument"));
        of_arguments.map(|d| d.headline).collect::<Vec<_>>()
    };
    assert_eq!(found("fn f(u, v) = u^2\nx' = -k*f(y, x)"), ["`v` is never used"]);
    assert!(found("fn f(u, v) = u^v\nx' = -k*f(y, x)").is_empty());
    assert!(found("fn f(u, v) = u  # allow W0201\nx' = -k*f(y, x)").is_empty());
}
