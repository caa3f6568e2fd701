//! Algebraic unknowns through the command: reference problems, starts, structure, and errors that must not pass silently.

use odec_tests::command::{run_in, scratch};
use odec_tests::share::Share;
use odec_tests::{block, root};

/// The last row of a run of a text: column and value.
pub fn last(name: &str, text: &str, more: &[&str]) -> Vec<(String, f64)> {
    let folder = scratch(name);
    std::fs::write(folder.join("m.ode"), text).expect("a writable folder");
    let arguments: Vec<&str> = ["run", "m.ode"].iter().chain(more).copied().collect();
    let rows = run_in(&folder, &arguments, b"").success().text();
    let header: Vec<&str> = rows.lines().next().unwrap_or_default().split(',').collect();
    let row = rows.lines().last().unwrap_or_default().split(',');
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"));
    header.into_iter().map(str::to_owned).zip(row.map(number)).collect()
}

/// Messages of `odec run` for a text that fails.
pub fn refusal(name: &str, text: &str, more: &[&str]) -> String {
    let folder = scratch(name);
    std::fs::write(folder.join("m.ode"), text).expect("a writable folder");
    let arguments: Vec<&str> = ["run", "m.ode"].iter().chain(more).copied().collect();
    let ran = run_in(&folder, &arguments, b"");
    assert!(ran.code.is_some_and(|code| code != 0), "{}", ran.text());
    ran.err
}

/// Messages of `odec run` for a text that runs.
pub fn warned(name: &str, text: &str, more: &[&str]) -> String {
    let folder = scratch(name);
    std::fs::write(folder.join("m.ode"), text).expect("a writable folder");
    let arguments: Vec<&str> = ["run", "m.ode"].iter().chain(more).copied().collect();
    run_in(&folder, &arguments, b"").success().err.clone()
}

#[test]
fn the_voltage_of_a_diode_is_found_from_a_distant_guess() {
    let diode = "param Vs = 5, R = 100\nstate u = 0\nunknown v = GUESS, i = 0\nVs - R*i - v - u = 0\n\
                 i = 1e-14*(exp(v/0.02585) - 1)\nu' = 1e3*i\nrun { t = 0 .. 1e-9; samples = 1 }\n";
    for guess in ["0", "2", "5", "12"] {
        let row = last("unknowns-diode", &diode.replace("GUESS", guess), &[]);
        // 5 - 100*i = 0.02585*ln(1 + i/1e-14)
        assert!((row[2].1 - 0.751_654_685).abs() < 1e-6, "{guess}: {row:?}");
    }
    // two in series: far from the solution, rounding hides that the equations are independent
    let series = "param Vs = 5, R = 50\nfn d(v) = 1e-14*(exp(v/0.02585) - 1)\nstate u = 0\nunknown a = A, b = B\n\
                  d(Vs - a) = d(a - b) + (a - 2)/R\nd(a - b) = d(b - u) + (b - 2)/R\n1e-6*u' = d(b - u)\n\
                  run { t = 0 .. 1e-3; samples = 1 }\n";
    for (a, b) in [("0", "0"), ("5", "5"), ("2", "1")] {
        let row =
            last("unknowns-diodes", &series.replace("= A", &format!("= {a}")).replace("= B", &format!("= {b}")), &[]);
        assert!((row[2].1 - 4.233_816).abs() < 1e-4 && (row[3].1 - 3.491_283).abs() < 1e-4, "{a} {b}: {row:?}");
    }
    let said = refusal("unknowns-diodes", &series.replace("= A", "= 4.2").replace("= B", "= 0.8"), &[]);
    assert!(said.contains("E0642") && said.contains("give a closer guess"), "{said}");
}

const METHODS: [&str; 10] =
    ["auto", "rodas3", "rodas4", "rodas5p", "radau5", "bdf", "sdirk2", "tr-bdf2", "kencarp4", "backward-euler"];

/// Name, text, values at the end (`shared` reference solutions, verified to more than 14 digits).
type Problem = (&'static str, &'static str, &'static [(&'static str, f64)]);

const PROBLEMS: [Problem; 3] = [
    (
        "robertson",
        "state A = 1, B = 0\nunknown C = 0.2\nA' = -0.04*A + 1e4*B*C\nB' = 0.04*A - 1e4*B*C - 3e7*B^2\n\
         A + B + C = 1\nrun { t = 0 .. 40; samples = 1 }\n",
        &[("A", 0.715_827_068_719_405), ("C", 0.284_163_745_745_830_37)],
    ),
    (
        "semi-explicit",
        "state y1 = 1, y2 = 0\nunknown z = 1.3\ny1' = -y1 + z\ny2' = y1 - 2*y2 + z^2\n\
         z = cos(t)*y1 + exp(-t) - 0.1*z^3\nrun { t = 0 .. 5; samples = 1 }\n",
        &[("y1", 0.016_375_562_545_275_175), ("y2", 0.015_314_011_069_438_886), ("z", 0.011_382_927_369_099_363)],
    ),
    (
        "akzo",
        "param k1 = 18.7, k2 = 0.58, k3 = 0.09, k4 = 0.42, K = 34.4, klA = 3.3, Ks = 115.83, pCO2 = 0.9, H = 737\n\
         state y1 = 0.444, y2 = 0.00123, y3 = 0, y4 = 0.007, y5 = 0\nunknown y6 = 0.3\ns2 = sqrt(y2)\n\
         r1 = k1*y1^4*s2\nr2 = k2*y3*y4\nr3 = k2/K*y1*y5\nr4 = k3*y1*y4^2\nr5 = k4*y6^2*s2\nFin = klA*(pCO2/H - y2)\n\
         y1' = -2*r1 + r2 - r3 - r4\ny2' = -0.5*r1 - r4 - 0.5*r5 + Fin\ny3' = r1 - r2 + r3\ny4' = -r2 + r3 - 2*r4\n\
         y5' = r2 - r3 + r5\nKs*y1*y4 = y6\nrun { t = 0 .. 180; samples = 1 }\n",
        &[("y1", 0.115_079_492_066_170_21), ("y3", 0.161_156_288_740_797_43), ("y6", 0.004_873_531_310_307_456)],
    ),
];

/// Each index-1 problem at three tolerances, by every method that supports it; guesses are off by at least 20 %.
#[test]
fn reference_problems_meet_their_tolerances() {
    for (name, text, reference) in PROBLEMS {
        // all of them start near 1, and initial errors decay no faster than the solution
        for method in METHODS.into_iter().filter(|method| !["backward-euler", "sdirk2", "rodas3"].contains(method)) {
            for rtol in ["1e-4", "1e-6", "1e-8"] {
                let tolerance: f64 = rtol.parse().expect("a number");
                let atol = format!("{:e}", 1e-4 * tolerance);
                let found = last("unknowns-reference", text, &["--method", method, "--rtol", rtol, "--atol", &atol]);
                for (column, value) in reference {
                    let got = found.iter().find(|(c, _)| c == column).expect("a column").1;
                    let error = (got - value).abs();
                    assert!(error <= 100.0 * tolerance, "{name}, {method}, {rtol}: {column} = {got}, off by {error:e}");
                }
            }
        }
    }
}

/// Methods of low order at a tolerance that they reach.
#[test]
fn methods_of_low_order_take_unknowns() {
    let (_, text, reference) = PROBLEMS[1];
    for method in METHODS {
        let found = last("unknowns-low", text, &["--method", method, "--rtol", "1e-5", "--atol", "1e-7"]);
        for (column, value) in reference {
            let got = found.iter().find(|(c, _)| c == column).expect("a column").1;
            assert!((got - value).abs() < 1e-3, "{method}: {column} = {got}");
        }
    }
    for (method, code) in [("tsit5", "E0619"), ("rk4", "E0619"), ("vern9", "E0619"), ("taylor", "E0613")] {
        let said = refusal("unknowns-explicit", text, &["--method", method]);
        assert!(said.contains(code), "{method}: {said}");
    }
}

/// The start is found from guesses on either side, and from far away; the states are unchanged.
#[test]
fn starts_are_consistent_whatever_the_guess() {
    for guess in ["0.3", "1", "5", "1000"] {
        let text = format!("state x = 4\nunknown z = {guess}\nx' = -z\nz^2 = x\nrun {{ t = 0 .. 1; samples = 1 }}\n");
        let found = last("unknowns-start", &text, &["--rtol", "1e-9"]);
        // x' = -sqrt(x): sqrt(x) = 2 - t/2
        assert!((found[1].1 - 2.25).abs() < 1e-7 && (found[2].1 - 1.5).abs() < 1e-7, "{guess}: {found:?}");
    }
}

/// Unknowns and their equations may be in arrays, next to scalars, in definitions and in sums.
#[test]
fn arrays_and_scalars_share_a_system() {
    let text = "const N = 3\nindex i = 1..N\nstate v[i] = i\nunknown s = 7, w[i] = 1\nmean_v = sum(i: v[i])/N\n\
                v[i]' = s - w[i]\n0 = w[i] - v[i]\n0 = s - mean_v\nrun { t = 0 .. 1; samples = 1 }\n";
    let found = last("unknowns-arrays", text, &["--rtol", "1e-9"]);
    let value = |name: &str| found.iter().find(|(c, _)| c == name).expect("a column").1;
    assert!((value("v[1]") - (2.0 - (-1f64).exp())).abs() < 1e-8, "{found:?}");
    assert!((value("s") - 2.0).abs() < 1e-8 && (value("w[3]") - value("v[3]")).abs() < 1e-12, "{found:?}");
}

/// After an event the unknowns follow its changes: a resistor is switched in a divider that charges a capacitor.
#[test]
fn unknowns_follow_events() {
    let text = "discrete R = 1\nstate q = 0\nunknown u = 0\nq' = (1 - u)/R\nu = q + 0.5*(1 - u)/R\n\
                at 1 { R := 3 }\nrun { t = 0 .. 2; samples = [1, 2] }\n";
    // 1 - u = (1 - q)/(1 + 0.5/R), so q relaxes with the rate 1/(R + 0.5)
    let at_one = 1.0 - (-1.0f64 / 1.5).exp();
    let at_two = 1.0 - (1.0 - at_one) * (-1.0f64 / 3.5).exp();
    for method in ["auto", "radau5", "bdf", "kencarp4"] {
        let found = last("unknowns-event", text, &["--method", method, "--rtol", "1e-8", "--atol", "1e-10"]);
        let u = 1.0 - (1.0 - at_two) / (1.0 + 0.5 / 3.0);
        assert!((found[1].1 - at_two).abs() < 1e-6 && (found[2].1 - u).abs() < 1e-6, "{method}: {found:?}");
    }
}

/// Derivatives by parameters of a system with unknowns, against the closed form of x' = -k*z, z = x + 1.
#[test]
fn sensitivities_include_unknowns() {
    let text = "param k = 0.5\nstate x = 1\nunknown z = 0\nx' = -k*z\nz - x = 1\nrun { t = 0 .. 2; samples = 1 }\n";
    let found = last("unknowns-sens", text, &["--sens", "k", "--rtol", "1e-9", "--atol", "1e-11"]);
    let value = |name: &str| found.iter().find(|(c, _)| c == name).expect("a column").1;
    let exact = -2.0 * 2.0 * (-1f64).exp();
    assert!((value("d(x)/d(k)") - exact).abs() < 1e-7 && (value("d(z)/d(k)") - exact).abs() < 1e-7, "{found:?}");
}

/// Numbers that give a system a higher index are detected at its start.
#[test]
fn higher_index_by_numbers_is_refused() {
    let hidden =
        "state x = 1, y = 2\nunknown z = 0, w = 0\nx' = -z\ny' = -w\nz + w = x\n2*z + 2*w = y\nrun { t = 0 .. 1 }\n";
    assert!(refusal("unknowns-rank", hidden, &[]).contains("E0641"));
}

#[test]
fn every_example_of_the_page_keeps_its_promises() {
    let folder = scratch("unknowns-page");
    let examples = block::of(&root().join("docs/language/unknowns.md"), "ode");
    assert!(examples.len() >= 4, "{}", examples.len());
    for example in examples {
        std::fs::write(folder.join("m.ode"), &example.text).expect("a writable folder");
        let ran = run_in(&folder, &["test", "m.ode"], b"");
        assert_eq!(ran.code, Some(0), "line {}\n{}\n{}", example.line, ran.text(), ran.err);
    }
}

/// Models in which events, switches and inputs move an unknown, and the values that they read from it: name,
/// statements with `SOLVE` instead of the equation of z, and the equation.
const AT_INSTANTS: [(&str, &str, &str); 8] = [
    (
        "a discrete moves z over a switch",
        "state w = 0\ndiscrete d = 1\nSOLVE\nw' = if z > 3 then 10 else 0\nat 1 { d := 5 }\nat 1.5 { d := 1 }",
        "z = d",
    ),
    (
        "an input moves z over a switch",
        "input q(t) = table([0, 1, 2], [1, 5, 2], hold)\nstate w = 0\nSOLVE\n\
      w' = if z > 3 then 6 else 1",
        "z = q(t)",
    ),
    ("a time moves z over a switch", "state w = 0\nSOLVE\nw' = if z > 3 then 6 else 1", "z = if t < 1 then 1 else 5"),
    (
        "a round reads z of the round before",
        "state x = 1, w = 0\nSOLVE\nx' = 0\nw' = 0\nat 1 { x := 2 }\n\
      when x > 1.5 { w := z }",
        "z = 2*x",
    ),
    (
        "an event waits for z",
        "state x = 1, w = 0\nSOLVE\nx' = 0\nw' = 0\nat 1 { x := 2 }\nwhen z > 3 { w += 5 }",
        "z = 2*x",
    ),
    ("an event at the start", "state x = 1, w = 0\nSOLVE\nx' = -z\nw' = z\nevery 1 from 0 { x += 10 }", "z = 2*x"),
    (
        "z swings through a switch",
        "state x = 0, w = 0\nSOLVE\nx' = z - x\nw' = if z > 0.5 then 1 else -1",
        "z = 2*sin(3*t) + 0.1*x",
    ),
    ("z resets what moves it", "state x = 0.3, w = 0\nSOLVE\nx' = 1\nw' = z\nwhen z > 2 { x := 0 }", "z = 2*x"),
];

/// A model gives the same rows with an equation as with the definition that solves it.
#[test]
fn unknowns_and_definitions_agree_at_instants() {
    let mut share = Share::one_of(5);
    for (name, text, equation) in AT_INSTANTS {
        let run = "\noutput w2 = w, z2 = z\nrun { t = 0 .. 2; samples = [0, 0.5, 1, 1.25, 1.5, 2]; rtol = 1e-9; atol = 1e-12 }\n";
        let defined = last("instant-defined", &(text.replace("SOLVE", equation) + run), &["--method", "dop853"]);
        let solved = text.replace("SOLVE", &format!("unknown z = 1\n{}", equation.replace("z = ", "z + z^3/10 = ")));
        let inverse = "fn root(c) = 2*sqrt(10/3)*sinh(asinh(1.5*c*sqrt(3/10))/3)\n";
        let (left, right) = equation.split_once(" = ").expect("an equation");
        let curved = inverse.to_owned() + &text.replace("SOLVE", &format!("{left} = root({right})")) + run;
        let curved = last("instant-curved", &curved, &["--method", "dop853"]);
        let linear = text.replace("SOLVE", &format!("unknown z = 1\n{equation}"));
        for method in ["auto", "rodas4", "rodas5p", "radau5", "bdf", "sdirk2", "tr-bdf2", "kencarp4"] {
            for (text, reference) in [(&linear, &defined), (&solved, &curved)].into_iter().filter(|_| share.takes()) {
                let found = last("instant-solved", &(text.clone() + run), &["--method", method]);
                for (column, value) in reference {
                    let solved = &found.iter().find(|(name, _)| name == column).expect("the same columns").1;
                    let near = (solved - value).abs() <= 1e-6 * value.abs().max(1.0);
                    assert!(near, "{name}, {method}: {column} is {solved}, not {value}\n{text}");
                }
            }
        }
    }
}

/// An equation that is satisfied only to the tolerance at the end of a step does not make an event happen twice.
#[test]
fn an_event_on_an_unknown_happens_once_at_a_crossing() {
    let text = "state x = 0\nunknown z = 0.1\ndiscrete n = 0\nx' = z - x\nz + 1e-3*exp(z) = 2*sin(t)\n\
                when z > 1 { n += 1 }\noutput n\nrun { t = 0 .. 12; samples = 3 }\n";
    for method in METHODS.iter().filter(|method| **method != "backward-euler") {
        for rtol in ["1e-3", "1e-6"] {
            let row = last("once", text, &["--method", method, "--rtol", rtol]);
            assert_eq!(row.last().map(|(_, n)| *n), Some(2.0), "{method} {rtol}");
        }
    }
}

/// The unknown falls to C repeatedly, after half the time each time, and accumulates at the time at which it would reach
/// C with x = 0. The change of one event becomes smaller than any fraction of the tolerances before the end is detected.
#[test]
fn events_on_an_unknown_that_accumulate_are_named() {
    let text = "param a = 2.116, b = -0.034, C = 0.821, w = 2.122\nstate x = 0.3\ndiscrete n = 0\nunknown z = 1\n\
                z^3 + z = a*sin(w*t) + b*x\nx' = z - x\nwhen z < C { n += 1; x := x/2 }\noutput n\n\
                run { t = 0 .. 10; samples = 10 }\n";
    let exact = (std::f64::consts::PI - ((0.821f64.powi(3) + 0.821) / 2.116).asin()) / 2.122;
    for method in ["auto", "rodas3", "rodas4", "rodas5p", "radau5", "bdf", "sdirk2", "tr-bdf2", "kencarp4"] {
        let said = refusal("unknowns_zeno", text, &["--method", method, "--max-steps", "2000"]);
        assert!(said.contains("E0625") && said.contains("m.ode:7:1"), "{method}: {said}");
        let number = said.split("infinitely often before ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let t: f64 = number.and_then(|number| number.parse().ok()).unwrap_or(f64::NAN);
        assert!((t - exact).abs() < 1e-4, "{method}: {t} for {exact}");
    }
}

/// Derivatives with respect to parameters across events of a model with an unknown, against the model without it.
#[test]
fn sensitivities_of_unknowns_cross_events() {
    let models = [
        "state x = 1, w = 0\nSOLVE\nx' = -k*z\nw' = if z > 0.5 then 1 else 0\nat 1.7*k/2 { x += 1 }",
        "state x = 1, w = 0\ndiscrete d = 1\nSOLVE\nx' = -k*z\nw' = z*d\nwhen z < 0.4 { x := k; d := z }",
        "input q(t) = table([0, 1, 3], [1, 4, 2], hold)\nstate x = 1, w = 0\nSOLVE\nx' = -k*z*q(t)\nw' = z",
    ];
    for text in models {
        let run = "\noutput w2 = w\nrun { t = 0 .. 2; samples = [0.9, 2]; rtol = 1e-9; atol = 1e-12 }\n";
        let text = format!("param k = 2\n{text}");
        let defined = last("sens-defined", &(text.replace("SOLVE", "z = x + sin(t)") + run), &["--sens", "k"]);
        let solved = text.replace("SOLVE", "unknown z = 0\nz = x + sin(t)") + run;
        for method in ["auto", "radau5", "rodas5p"] {
            let found = last("sens-solved", &solved, &["--sens", "k", "--method", method]);
            for (column, value) in &defined {
                let solved = &found.iter().find(|(name, _)| name == column).expect("the same columns").1;
                assert!(
                    (solved - value).abs() <= 1e-6 * value.abs().max(1.0),
                    "{method}: {column} {solved} {value}\n{text}"
                );
            }
        }
    }
}

/// Entries of the Jacobian of very different size do not give a system of index 1 a higher index.
#[test]
fn resistances_of_any_size_are_taken() {
    for resistance in ["1e-18", "1e-12", "1e-9", "1e-3", "1e-5", "1e3"] {
        let text = format!(
            "param R = {resistance}\nstate v = 0\nunknown i = 0\nv' = i\nR*i = 1 - v\nrun {{ t = 0 .. 1; samples = 1 }}\n"
        );
        let r: f64 = resistance.parse().expect("a number");
        let right = 1.0 - (-1.0 / r).exp();
        for method in ["auto", "radau5", "bdf", "rodas4", "kencarp4", "tr-bdf2"] {
            let v = last("resistance", &text, &["--method", method])[1].1;
            assert!((v - right).abs() < 1e-5, "{resistance} {method}: {v} {right}");
        }
    }
}

/// Units of the equations and unknowns do not decide the index: dependent equations are refused, and rescaled ones are not.
#[test]
fn rows_and_columns_of_any_size_are_taken() {
    let run = "run { t = 0 .. 1; samples = 1 }\n";
    for (equations, unit) in [
        ("a + 2*b = x\na - 3*b = 0", 1.0),
        ("1e-20*a + 2e-20*b = 1e-20*x\n1e20*a - 3e20*b = 0", 1.0),
        ("1e15*a + 2e-15*b = x\n1e15*a - 3e-15*b = 0", 1e15),
    ] {
        let text = format!("state x = 1\nunknown a = 0, b = 0\nx' = -x + {unit:e}*a\n{equations}\n{run}");
        let found = last("scaled", &text, &["--rtol", "1e-8"]);
        // a = 3/5 x in its unit
        assert!((found[1].1 - (-0.4f64).exp()).abs() < 1e-7, "{equations}: {found:?}");
    }
    for equations in [
        "a + b = x\n2*a + 2*b = 2*x",
        "0.1*a + 0.3*b = x\n(0.1 + 0.2)*a + 0.9*b = 3*x",
        "1e-9*a + 3e-9*b = x\n(1e9 + 2e9)*a + 9e9*b = 3*x",
    ] {
        let text = format!("state x = 1\nunknown a = 0, b = 0\nx' = -x + a\n{equations}\n{run}");
        let said = refusal("dependent", &text, &[]);
        assert!(said.contains("E0641"), "{equations}: {said}");
    }
}

/// Derivatives of unknowns in outputs; a guess at which the equations are singular.
#[test]
fn rates_of_unknowns_are_given() {
    let text = "state x = 1\nunknown z = 0.7\nx' = -x\nz^2 = x + sin(t)\noutput y = z', w = x'\nrun { t = 0 .. 1; samples = 2 }\n";
    let row = last("rates", text, &["--rtol", "1e-9"]);
    let z = ((-1.0f64).exp() + 1.0f64.sin()).sqrt();
    let right = (1.0f64.cos() - (-1.0f64).exp()) / (2.0 * z);
    assert!((row[3].1 - right).abs() < 1e-7 && (row[4].1 + (-1.0f64).exp()).abs() < 1e-7, "{row:?}");
    let singular = "state x = 1\nunknown z = 0\nx' = -x\nz^2 = x\nrun { t = 0 .. 1 }\n";
    let said = refusal("singular-guess", singular, &[]);
    assert!(said.contains("E0642") && said.contains("give a closer guess"), "{said}");
}

/// An unknown that its equation hardly determines: rounding of the other terms is far above the tolerance of i, and
/// no method may use up its steps there.
#[test]
fn an_almost_free_unknown_comes_to_rest() {
    for resistance in ["1e-6", "1e-7"] {
        let text = format!(
            "param R = {resistance}\nstate v = 0\nunknown i = 0\nv' = i\nR*i = 1 - v\nrun {{ t = 0 .. 1; samples = 1 }}\n"
        );
        for method in METHODS.into_iter().filter(|method| *method != "backward-euler") {
            let found = last("unknowns-free", &text, &["--method", method, "--max-steps", "20000"]);
            let of = |name: &str| found.iter().find(|(column, _)| column == name).map(|(_, value)| *value);
            let (v, i) = (of("v").unwrap_or(0.0), of("i").unwrap_or(1.0));
            assert!((v - 1.0).abs() < 1e-9 && i.abs() < 1e-5, "{resistance}, {method}: {found:?}");
        }
    }
}

/// The voltage of a diode turns within a step, far from the polynomial through its ends. Rows between the ends satisfy
/// the equations all the same.
#[test]
fn rows_between_steps_satisfy_the_equations_of_a_diode() {
    let folder = scratch("unknowns-diode");
    let text = "param R = 2, Is = 1e-6, a = 20, C = 0.5, w = 3\nstate vc = 0.1\nunknown i = 0, vd = 0\n\
                sin(w*t) = vd + R*i + vc\ni = Is*(exp(a*vd) - 1)\nvc' = (i - vc/5)/C\nrun { t = 0 .. 8 }\n";
    std::fs::write(folder.join("m.ode"), text).expect("a writable folder");
    for method in ["auto", "rodas5p"] {
        let flags = ["run", "m.ode", "-q", "--method", method, "--rtol", "1e-8", "--atol", "1e-11"];
        let rows = run_in(&folder, &flags, b"").success().text();
        for row in rows.lines().skip(1) {
            let row: Vec<f64> = row.split(',').map(|value| value.parse().expect("a number")).collect();
            let [t, vc, i, vd] = row[..] else { panic!("{row:?}") };
            let defects = [(3.0 * t).sin() - vd - 2.0 * i - vc, i - 1e-6 * (20.0 * vd).exp_m1()];
            assert!(defects.iter().all(|defect| defect.abs() < 1e-7), "{method}: {row:?}, {defects:?}");
        }
    }
}

/// Thousands of unknowns, each defined by the previous one: every choice of an owner once examined all others, so
/// the time grew with the square of the length.
#[test]
fn a_chain_of_unknowns_is_checked_in_linear_time() {
    let folder = scratch("unknowns-chain");
    let least = |links: usize| {
        let mut text = String::from("state x = 1\nunknown z0 = 0\nx' = -x\nz0 = 2*x\n");
        for k in 1..links {
            text += &format!("unknown z{k} = 0\n0 = z{k} - 0.999*z{}\n", k - 1);
        }
        std::fs::write(folder.join("m.ode"), text).expect("a writable folder");
        let time = || {
            let begun = std::time::Instant::now();
            run_in(&folder, &["check", "m.ode"], b"").success();
            begun.elapsed().as_secs_f64()
        };
        (0..3).map(|_| time()).fold(f64::INFINITY, f64::min)
    };
    let (short, long) = (least(1500), least(6000));
    assert!(long < 10.0 * short, "{short} s, {long} s");
}
