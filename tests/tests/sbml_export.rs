//! Exports to SBML, function by function: a function that SBML lacks is expressed by others, or refused by name.

use odec_ir::builtin::{Notation, table};
use odec_tests::command::{run_in, scratch};

/// Arguments inside the domain of a function, on both sides of its switches if it has some.
fn arguments(name: &str) -> &'static [&'static str] {
    match name {
        "asin" | "acos" | "atanh" => &["0.9*sin(3*t)"],
        "acosh" | "gamma" | "lgamma" => &["1.1 + t"],
        "ln" | "log10" | "log2" | "sqrt" => &["0.2 + t"],
        "expm1" => &["1e-9*(t - 2)", "t - 2"],
        "log1p" => &["1e-9*(t - 2)", "t - 0.9", "1e9*(1 + t)"],
        "mod" => &["3*t - 5.01, 0.7", "3*t - 5.01, -0.7"],
        "atan2" => &["t - 1.7, t - 2.2", "t - 2.2, t - 1.7", "2 - t, -1", "1, t - 2"],
        "hypot" | "min" | "max" => &["t - 2, 1.3"],
        _ => &["t - 1.9"],
    }
}

/// Name in the command of functions whose rows have other names.
fn written(name: &str) -> &str {
    if name == "ln" { "log" } else { name }
}

/// Each function of the table, at times from 0 to 4: the rows of the export are those of the model, or the export is refused.
#[test]
fn every_function_comes_back_or_is_refused() {
    let folder = scratch("sbml-export-functions");
    let (mut refused, mut compared) = (vec![], 0);
    for row in table().iter().filter(|row| row.notation == Notation::Function && row.name != "if") {
        for (k, arguments) in arguments(row.name).iter().enumerate() {
            let name = format!("{}{k}.ode", row.name);
            let text = format!("state x = 1\nx' = -x\noutput f = {}({arguments})\n", written(row.name));
            std::fs::write(folder.join(&name), &text).expect("a folder");
            let exported = run_in(&folder, &["export", "--to", "sbml", &name, "-o", "m.xml"], b"");
            if exported.code != Some(0) {
                assert!(exported.err.contains("E0826") && exported.err.contains(row.name), "{text}{}", exported.err);
                refused.push(row.name);
                continue;
            }
            let column = |file: &str| -> Vec<f64> {
                let fixed = ["run", file, "--quiet", "--t", "0..4", "--samples", "16"];
                let out = run_in(&folder, &fixed, b"").success().text();
                let mut lines = out.lines().map(|line| line.split(',').collect::<Vec<_>>());
                let at = lines.next().expect("a head").iter().position(|head| *head == "f").expect("a column");
                lines.map(|line| line[at].parse().expect("a number")).collect()
            };
            let (own, back) = (column(&name), column("m.xml"));
            assert_eq!((own.len(), back.len()), (17, 17), "{text}");
            for (a, b) in own.iter().zip(&back) {
                let same = (a - b).abs() <= 4e-15 * a.abs() || a.is_nan() && b.is_nan();
                // a sum of terms of size 1 near 0
                let near = matches!(row.name, "mod" | "sin" | "cos" | "tan" | "hypot") && (a - b).abs() <= 4e-15;
                assert!(same || near, "{text}{a:?} {b:?}");
                compared += 1;
            }
        }
    }
    refused.dedup();
    assert_eq!(refused, ["erf", "erfc", "gamma", "lgamma"]);
    assert!(compared > 500, "{compared}");
}

/// A formula does not grow with the number of functions around it.
#[test]
fn functions_in_functions_stay_short() {
    let folder = scratch("sbml-export-nested");
    let nested = (0..25).fold("x".to_string(), |inner, _| format!("mod(sign({inner}) + 0.3, 2)"));
    std::fs::write(folder.join("m.ode"), format!("state x = 1\nx' = -{nested}\nsign_ = 2*x\noutput sign_\n"))
        .expect("a folder");
    run_in(&folder, &["export", "--to", "sbml", "m.ode", "-o", "m.xml"], b"").success();
    let xml = std::fs::read_to_string(folder.join("m.xml")).expect("the file");
    assert!(xml.len() < 20_000, "{}", xml.len());
}

/// A factorial of SBML becomes a gamma function, and comes back as a factorial.
#[test]
fn a_factorial_survives_export_and_import() {
    let folder = scratch("sbml-export-factorial");
    let text = "state x = 1\nx' = 1\nn = floor(x)\noutput f = gamma(n + 1)/gamma((n - 1) + 1)\n";
    std::fs::write(folder.join("m.ode"), text).expect("a folder");
    let out = run_in(&folder, &["export", "--to", "sbml", "m.ode", "-o", "m.xml"], b"");
    assert!(out.code == Some(0) && out.err.contains("W0803"), "{}", out.err);
    let xml = std::fs::read_to_string(folder.join("m.xml")).expect("the file");
    assert_eq!(xml.matches("<factorial/>").count(), 2, "{xml}");
    let rows = |file: &str| {
        run_in(&folder, &["run", file, "--quiet", "--t", "0..4", "--samples", "7", "--record", "f"], b"")
            .success()
            .text()
    };
    assert_eq!(rows("m.ode"), rows("m.xml"));
    let found: f64 = rows("m.ode").lines().nth(7).and_then(|line| line.split(',').nth(1)?.parse().ok()).expect("a row");
    // n!/(n-1)! = n, at t = 24/7 where n is 4
    assert!((found - 4.0).abs() < 1e-12, "{found}");
}

/// An SBML file starts from its initial values, so a run that starts from a steady state has no equal there.
#[test]
fn a_start_from_a_steady_state_is_refused() {
    let folder = scratch("sbml-export-steady");
    let model = |run: &str| format!("param a = 2\nstate x = 5\nx' = a - x\n{run}");
    for (run, refused) in [
        ("run { t = 0 .. 2; start = steady }\n", true),
        ("run { t = 0 .. 2 }\nrun rested { t = 0 .. 2; start = steady }\n", false),
    ] {
        std::fs::write(folder.join("m.ode"), model(run)).expect("a folder");
        let out = run_in(&folder, &["export", "--to", "sbml", "m.ode", "-o", "m.xml"], b"");
        assert_eq!(out.code, Some(i32::from(refused)), "{run}{}", out.err);
        let headline = "SBML cannot express a start from a steady state";
        assert_eq!(out.err.contains("E0826") && out.err.contains(headline), refused, "{run}{}", out.err);
    }
}
