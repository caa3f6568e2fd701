//! Requests to a fit, and messages about invalid ones.

use super::{Fitted, command, fit};

const KINETICS: &str = "\
model kinetics
param k1 = 1, k2 = 1
state A = 1, B = 0
A' = -k1*A
B' = k1*A - k2*B
output seen = 2*B
run { t = 0 .. 5 }
params fast { k1 = 5 }
";

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(String::from).collect()
}

/// Exact B of `KINETICS`.
fn exact(k1: f64, k2: f64, a: f64, t: f64) -> f64 {
    a * k1 / (k2 - k1) * ((-k1 * t).exp() - (-k2 * t).exp())
}

/// Data of `KINETICS`, a row for each time.
fn sampled(k1: f64, k2: f64, a: f64, count: usize) -> String {
    let row = |k: usize| {
        let t = 5.0 * (k + 1) as f64 / count as f64;
        let b = exact(k1, k2, a, t);
        format!("{t},{b},{}\n", 2.0 * b)
    };
    format!("t,B,seen\n{}", (0..count).map(row).collect::<String>())
}

#[track_caller]
fn near(found: &Fitted, name: &str, wanted: f64, tolerance: f64) {
    let own = found.value(name);
    assert!((own - wanted).abs() <= tolerance * wanted.abs(), "{name} = {own} and not {wanted}");
}

/// A fit that is refused: with this code, and these words in the message.
#[track_caller]
fn refused(name: &str, model: &str, files: &[(&str, &str)], text: &str, code: &str, said: &[&str]) {
    let (ran, _) = command(name, model, files, &words(text));
    assert_ne!(ran.code, Some(0), "{name}: {}", ran.text());
    assert!(ran.err.contains(&format!("error[{code}]")), "{name}: {}", ran.err);
    for word in said {
        assert!(ran.err.contains(word), "{name}: no `{word}` in {}", ran.err);
    }
}

#[test]
fn parameters_and_initial_values_come_back() {
    let data = sampled(2.5, 0.3, 1.7, 20);
    for (case, params) in ["k1,k2,A", "k1=1e-3:1e3:log,k2=1e-3:1e3:log,A=0:10", "A,k2=0.01:2,k1"].iter().enumerate() {
        let found = fit(&format!("back{case}"), KINETICS, &[("d.csv", &data)], &words(&format!("--params {params}")));
        assert!(found.converged && found.squares < 1e-13, "{found:?}");
        for (name, value) in [("k1", 2.5), ("k2", 0.3), ("A", 1.7)] {
            near(&found, name, value, 1e-6);
        }
        assert!(!found.err.contains("W085"), "{}", found.err);
    }
}

/// The command at the end has the flags of the fit: without them it would run another model.
#[test]
fn the_command_repeats_the_flags_of_the_fit() {
    let data = sampled(5.0, 0.4, 1.0, 20);
    let flags = "d.csv --params A --set k1=5 --set k2=0.4 --set A=3 --rtol 1e-9 --t-end 6";
    let (ran, folder) = command("again", KINETICS, &[("d.csv", &data)], &words(flags));
    let text = ran.text();
    let line = text.lines().last().unwrap_or_default();
    let wanted = "odec run m.ode --t-end 6 --rtol 1e-9 --set k1=5 --set k2=0.4 --set 'A=";
    assert!(line.starts_with(wanted) && line.matches("A=").count() == 1, "{text}");
    let plain = line.replace('\'', "");
    let again = odec_tests::command::run_in(&folder, &words(plain.strip_prefix("odec ").unwrap_or_default()), b"");
    assert_eq!(again.code, Some(0), "{}", again.err);
}

/// Data files with values of their own belong to runs with these values.
#[test]
fn each_data_file_with_its_own_values_has_its_command() {
    let (one, two) = (sampled(5.0, 0.4, 1.0, 20), sampled(5.0, 0.4, 2.0, 20));
    let files = [("d.csv", one.as_str()), ("e.csv", two.as_str())];
    let (ran, _) = command("own", KINETICS, &files, &words("d.csv e.csv:A=2 --params k1,k2"));
    let text = ran.text();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("odec run")).collect();
    assert!(lines.len() == 2 && lines[0].ends_with("  # d.csv") && lines[1].ends_with("  # e.csv"), "{text}");
    assert!(!lines[0].contains("A=") && lines[1].contains(" --set A=2 "), "{text}");
    let (ran, _) = command("alone", KINETICS, &files, &words("e.csv:A=2 --params k1,k2"));
    let text = ran.text();
    assert!(text.lines().last().is_some_and(|line| line.contains(" --set A=2 ") && !line.contains('#')), "{text}");
}

/// A straight line has the estimates and errors of linear regression, which have a closed form.
#[test]
fn errors_and_intervals_are_those_of_linear_regression() {
    let model = "param slope = 1\nstate x = 0\nx' = slope\n";
    let (n, t): (usize, Vec<f64>) = (12, (0..12).map(|k| 0.5 + 0.5 * f64::from(k)).collect());
    let x: Vec<f64> = t.iter().map(|t| 0.7 + 1.3 * t + 0.1 * (37.0 * t).sin()).collect();
    let data: String = t.iter().zip(&x).map(|(t, x)| format!("{t},{x}\n")).collect();
    let found = fit("line", model, &[("d.csv", &format!("t,x\n{data}"))], &words("--params slope,x"));
    let mean = |v: &[f64]| v.iter().sum::<f64>() / n as f64;
    let (tm, xm) = (mean(&t), mean(&x));
    let stt: f64 = t.iter().map(|t| (t - tm).powi(2)).sum();
    let slope = t.iter().zip(&x).map(|(t, x)| (t - tm) * (x - xm)).sum::<f64>() / stt;
    let start = xm - slope * tm;
    let squares: f64 = t.iter().zip(&x).map(|(t, x)| (x - start - slope * t).powi(2)).sum();
    let s2 = squares / 10.0;
    near(&found, "slope", slope, 1e-8);
    near(&found, "x", start, 1e-8);
    let (of_slope, of_start) = ((s2 / stt).sqrt(), (s2 * (1.0 / n as f64 + tm * tm / stt)).sqrt());
    assert!((found.error("slope") / of_slope - 1.0).abs() < 1e-7 && (found.error("x") / of_start - 1.0).abs() < 1e-7);
    // Student's distribution with 10 degrees of freedom
    let [low, high] = found.parameter("slope").3;
    let half = 2.228_138_852 * of_slope;
    assert!((low.unwrap() - (slope - half)).abs() < 1e-7 && (high.unwrap() - (slope + half)).abs() < 1e-7);
    // with known deviations the normal one, without scaling by the residuals
    let known = fit(
        "line-known",
        model,
        &[("d.csv", &format!("t,x\n{data}"))],
        &words("--params slope,x --sigma 0.2 --level 0.9"),
    );
    assert!((known.error("slope") / (0.2 / stt.sqrt()) - 1.0).abs() < 1e-7);
    let [low, high] = known.parameter("slope").3;
    assert!(((high.unwrap() - low.unwrap()) / (2.0 * 1.644_853_627 * 0.2 / stt.sqrt()) - 1.0).abs() < 1e-7);
}

#[test]
fn columns_of_deviations_and_weights_count() {
    let model = "param c = 1\nstate x = 0\nx' = c\n";
    let plain = fit("plain", model, &[("d.csv", "t,x\n1,1\n1,2\n")], &words("--params c"));
    near(&plain, "c", 1.5, 1e-8);
    let sigma = fit("sigma", model, &[("d.csv", "t,x,sigma(x)\n1,1,1\n1,2,2\n")], &words("--params c"));
    near(&sigma, "c", (1.0 + 2.0 / 4.0) / 1.25, 1e-8);
    assert!((sigma.error("c") - (1.0f64 / 1.25).sqrt()).abs() < 1e-8);
    let weight = fit("weight", model, &[("d.csv", "t,x,weight(x)\n1,1,4\n1,2,1\n")], &words("--params c"));
    near(&weight, "c", (4.0 + 2.0) / 5.0, 1e-8);
    assert_eq!(weight.json["deviations_known"], false);
}

#[test]
fn sets_have_values_of_their_own_and_missing_cells() {
    let sheet = |a: f64| {
        let b = |t: f64| exact(2.0, 0.5, a, t);
        format!(
            "t,A,B\n3,{},{}\n0.5,,{}\n1,NA,{}\n1,,{}\n",
            a * (-6f64).exp(),
            b(3.0),
            b(0.5),
            b(1.0) + 0.01,
            b(1.0) - 0.01
        )
    };
    let found =
        fit_words("sets", &[("a.csv", &sheet(1.0)), ("b.csv", &sheet(4.0))], "a.csv b.csv:A=4 --params k1,k2 -o r.csv");
    near(&found.0, "k1", 2.0, 1e-6);
    near(&found.0, "k2", 0.5, 1e-6);
    assert!((found.0.squares - 4e-4).abs() < 1e-9 && found.0.json["data"] == 10);
    let rows = std::fs::read_to_string(found.1.join("r.csv")).expect("residuals");
    assert_eq!(rows.lines().count(), 11);
    assert!(rows.starts_with("set,quantity,t,data,model,residual\n") && rows.contains("\nb.csv:A=4,B,0.5,"), "{rows}");
    // a set of parameters of the model applies to one file
    let fast = sampled(5.0, 0.5, 1.0, 8);
    let slow = sampled(1.0, 0.5, 1.0, 8);
    let found = fit_words("named", &[("a.csv", &slow), ("b.csv", &fast)], "a.csv b.csv:params=fast --params k2");
    near(&found.0, "k2", 0.5, 1e-6);
    assert!(found.0.squares < 1e-13);
}

#[track_caller]
fn fit_words(name: &str, files: &[(&str, &str)], text: &str) -> (Fitted, std::path::PathBuf) {
    let (ran, folder) = command(name, KINETICS, files, &words(&format!("{text} --stats f.json")));
    (Fitted::of(&folder.join("f.json"), ran.success()), folder)
}

#[test]
fn parameters_not_determined_by_the_data_are_named() {
    let model = "param a = 2, b = 3, c = 1, idle = 4\nstate x = 1\nx' = -a*b*x + c\noutput u = idle\n";
    let x = |t: f64| 1.0 / 6.0 + (1.0 - 1.0 / 6.0) * (-3.0 * t).exp();
    let data: String = (1..10).map(|k| 0.2 * f64::from(k)).map(|t| format!("{t},{}\n", x(t))).collect();
    let data = format!("t,x\n{data}");
    let found = fit("open", model, &[("d.csv", &data)], &words("--params a,b,c"));
    assert!((found.value("a") * found.value("b") - 3.0).abs() < 1e-6);
    near(&found, "c", 0.5, 1e-6);
    assert!(
        found.err.contains("W0855") && found.err.contains("`a` and `b`") && !found.err.contains("`c`"),
        "{}",
        found.err
    );
    assert!(found.parameter("a").2.is_none() && found.parameter("c").2.is_some());
    let idle = fit("idle", model, &[("d.csv", &data)], &words("--params a=0.1:10:log,idle=1:10:log"));
    assert!(idle.err.contains("do not determine `idle`"), "{}", idle.err);
    assert!(idle.out.contains("undetermined"), "{}", idle.out);
}

#[test]
fn a_parameter_on_its_bound_is_reported() {
    let data = sampled(2.5, 0.3, 1.0, 20);
    let found = fit("bound", KINETICS, &[("d.csv", &data)], &words("--params k1=0.1:2,k2=0.01:10:log"));
    assert_eq!(found.value("k1"), 2.0);
    assert!(found.err.contains("W0856") && found.err.contains("`k1` ended at the upper end"), "{}", found.err);
    assert!(found.parameter("k1").2.is_none() && found.parameter("k2").2.is_some());
    // the minimum over k2 alone, with k1 at its bound
    let alone = fit("bound-alone", KINETICS, &[("d.csv", &data)], &words("--params k2 --set k1=2"));
    near(&found, "k2", alone.value("k2"), 1e-6);
    assert!((found.squares / alone.squares - 1.0).abs() < 1e-8);
}

const OSCILLATOR: &str = "param w = 3\nstate x = 0, v = 1\nx' = v*w\nv' = -w*x\n";

fn oscillations() -> String {
    let rows: String = (1..61).map(|k| f64::from(k) / 6.0).map(|t| format!("{t},{}\n", (5.0 * t).sin())).collect();
    format!("t,x\n{rows}")
}

#[test]
fn many_starts_find_the_best_minimum_whatever_makes_them() {
    let data = oscillations();
    let files: &[(&str, &str)] = &[("d.csv", &data)];
    let alone = fit("alone", OSCILLATOR, files, &words("--params w=2.5:8:log"));
    assert!(alone.squares > 1.0);
    let many = fit("many", OSCILLATOR, files, &words("--params w=2.5:8:log --starts 12 --seed 2 --threads 1"));
    near(&many, "w", 5.0, 1e-6);
    let threads = fit("threads", OSCILLATOR, files, &words("--params w=2.5:8:log --starts 12 --seed 2 --threads 3"));
    assert_eq!(many.json, threads.json);
    assert!(many.out.contains("of 12 reached this sum of squares"), "{}", many.out);
    // the same fit in parts
    let flags = "m.ode d.csv --params w=2.5:8:log --starts 12 --seed 2";
    let (_, folder) =
        command("parts", OSCILLATOR, files, &words("d.csv --params w=2.5:8:log --starts 12 --seed 2 --shard 2/3 -o p"));
    let more = |rest: &str| odec_tests::command::run_in(&folder, &words(&format!("fit {flags} {rest}")), b"").orderly();
    let early = more("--join p");
    assert!(early.err.contains("E0853"), "{}", early.err);
    assert!(more("--shard 0/3 -o p").success().out.is_empty());
    more("--shard 1/3 -o p").success();
    assert!(more("--shard 1/3 -o p").success().err.contains("already"));
    let joined = Fitted::of(&folder.join("f.json"), more("--join p --stats f.json").success());
    assert_eq!(joined.json, many.json);
    let other = odec_tests::command::run_in(&folder, &words(&format!("fit {flags} --rtol 1e-9 --join p")), b"");
    assert!(other.err.contains("E0852"), "{}", other.err);
}

#[test]
fn steps_to_where_there_is_no_solution_are_shortened() {
    // from k = 1.11 on there is no solution at the last time
    let model = "param k = 0.2\nstate x = 1\nx' = k*x^2\n";
    let rows: String =
        (1..10).map(|k| 0.1 * f64::from(k)).map(|t| format!("{t},{}\n", 1.0 / (1.0 - 1.05 * t))).collect();
    let data = format!("t,x\n{rows}");
    let found = fit("pole", model, &[("d.csv", &data)], &words("--params k"));
    near(&found, "k", 1.05, 1e-6);
    refused("pole-start", model, &[("d.csv", &data)], "d.csv --params k --set k=5", "E0604", &[]);
}

#[test]
fn events_and_switches_are_fitted() {
    let model =
        "param r = 0.5, g = 9\nstate h = 10, v = 0\nh' = v\nv' = -g\nwhen h < 0 { v := -r*v }\nrun { t = 0 .. 3 }\n";
    let truth = |r: f64, g: f64, t: f64| {
        let bounce = (20.0 / g).sqrt();
        let (up, s) = (r * g * bounce, t - bounce);
        if t < bounce { 10.0 - 0.5 * g * t * t } else { up * s - 0.5 * g * s * s }
    };
    let rows: String = (1..25).map(|k| 0.1 * f64::from(k)).map(|t| format!("{t},{}\n", truth(0.7, 9.81, t))).collect();
    let found = fit("bounce", model, &[("d.csv", &format!("t,h\n{rows}"))], &words("--params r,g"));
    near(&found, "r", 0.7, 1e-5);
    near(&found, "g", 9.81, 1e-5);
}

#[test]
fn units_of_columns_and_ranges_are_converted() {
    let model = "param k = 2 [1/h]\nstate m = 3 [g]\nm' = -k*m\ntime t [h]\n";
    let rows: String =
        (1..9).map(|k| 15.0 * f64::from(k)).map(|t| format!("{t},{}\n", 3000.0 * (-0.8 * t / 60.0).exp())).collect();
    let data = format!("t [min],m [mg]\n{rows}");
    let found = fit("units", model, &[("d.csv", &data)], &words("--params k=0.01[1/min]:1[1/min]"));
    near(&found, "k", 0.8, 1e-6);
    refused("metres", model, &[("d.csv", "t [min],m [m]\n1,1\n")], "d.csv --params k", "E0854", &["[m]"]);
}

#[test]
fn the_residuals_are_drawn() {
    let data = sampled(2.5, 0.3, 1.0, 10);
    let (_, folder) = fit_words("drawn", &[("d.csv", &data)], "d.csv --params k1,k2 --plot r.svg");
    let picture = std::fs::read_to_string(folder.join("r.svg")).expect("a picture");
    assert!(picture.contains("<svg") && picture.contains("residual") && picture.contains("seen"));
}

#[test]
fn senseless_requests_are_refused() {
    let some = "t,B\n1,0.2\n2,0.3\n";
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("B\n1\n", "d.csv --params k1", "E0854", &["no time column `t`"]),
        ("t\n1\n", "d.csv --params k1", "E0854", &["only times"]),
        ("1,2\n", "d.csv --params k1", "E0854", &["no header line"]),
        ("", "d.csv --params k1", "E0854", &["empty"]),
        ("t,seem\n1,2\n", "d.csv --params k1", "E0854", &["`seem`", "did you mean `seen`?"]),
        ("t,B,B\n1,2,3\n", "d.csv --params k1", "E0854", &["two columns", "rows with the same time"]),
        ("t,B\n1,\"4,000\"\n", "d.csv --params k1", "E0854", &["write `4000`, or `4.000`"]),
        ("t,B\n1,\"0,5\"\n", "d.csv --params k1", "E0854", &["write a decimal point: `0.5`"]),
        ("t,B\n1,<10\n", "d.csv --params k1", "E0854", &["half of the limit", "`sigma(B)`"]),
        ("t,B\n1\n", "d.csv --params k1", "E0854", &["line 2"]),
        ("t,B\n1,nan\n", "d.csv --params k1", "E0854", &["`nan`", "leave the cell empty"]),
        ("t,B\n1,inf\n", "d.csv --params k1", "E0854", &["`inf`"]),
        ("t,B\n1,many\n", "d.csv --params k1", "E0854", &["`many`"]),
        ("t,B\n,2\n", "d.csv --params k1", "E0854", &["time is missing"]),
        ("t,B\n1,\n", "d.csv --params k1", "E0854", &["no measured values"]),
        ("t,B\n-1,2\n1,2\n", "d.csv --params k1", "E0854", &["starts at t = 0", "-1"]),
        ("t,B\n0,2\n", "d.csv --params k1", "E0854", &["start of the run"]),
        ("t,B\n9,2\n", "d.csv --params k1 --t-end 5", "E0854", &["ends at t = 5"]),
        ("t,B,sigma(B)\n1,2,0\n", "d.csv --params k1", "E0854", &["not positive"]),
        ("t,B,sigma(B)\n1,2,\n", "d.csv --params k1", "E0854", &["not positive"]),
        ("t,B,sigma(A)\n1,2,1\n", "d.csv --params k1", "E0854", &["`sigma(A)`"]),
        (some, "d.csv --params q", "E0", &["`q`"]),
        (some, "d.csv --params k1,k1", "E0855", &["occurs twice"]),
        (some, "d.csv --params k1,k2,A", "E0855", &["3 parameters", "2 data"]),
        (some, "d.csv:k1=3 --params k1", "E0855", &["`k1` is fitted", "d.csv:k1=3"]),
        (some, "d.csv:k1=3,k1=4 --params k2", "E0855", &["two values"]),
        (some, "d.csv:k1 --params k2", "E0701", &["no file"]),
        (some, "d.csv:params=slow --params k2", "E0410", &["slow"]),
        (some, "d.csv --params k1=3", "E0705", &["--params"]),
        (some, "d.csv --params k1=1:9:log --set k1=0.5", "E0855", &["`k1` starts at 0.5, outside its range"]),
        (some, "d.csv --params k1=3:1", "E0855", &["the smaller one first"]),
        (some, "d.csv --params k1=0:1:log", "E0705", &["above 0"]),
        (some, "d.csv --params k1=1:2:5", "E0705", &[":log"]),
        (some, "d.csv --params k1=1:2 --starts 5 --seed x", "E0705", &["--seed"]),
        (some, "d.csv --params k1 --starts 5", "E0855", &["`k1` has no range"]),
        (some, "d.csv --params k1 --sigma q=1", "E0705", &["`q`"]),
        (some, "d.csv --params k1 --sigma 0", "E0705", &["positive"]),
        (some, "d.csv --params k1 --level 95", "E0705", &["between 0 and 1"]),
        (some, "d.csv --params k1 --samples 5", "E0705", &["--samples"]),
        (some, "d.csv --params k1 -o m.ode", "E0702", &["m.ode"]),
        (some, "d.csv --params k1 -o d.csv", "E0702", &["d.csv"]),
        (some, "d.csv --params k1 -o r.npz", "E0850", &["r.npz"]),
        (some, "e.csv --params k1", "E0701", &["e.csv"]),
    ];
    for (k, (data, text, code, said)) in cases.iter().enumerate() {
        let case = format!("refused{k}");
        let (ran, _) = command(&case, KINETICS, &[("d.csv", data)], &words(text));
        assert!(ran.code.is_some_and(|code| code != 0), "{text}: {}", ran.text());
        assert!(ran.err.contains(&format!("error[{code}")), "{text}: {}", ran.err);
        for word in *said {
            assert!(ran.err.contains(word), "{text}: no `{word}` in {}", ran.err);
        }
    }
}

#[test]
fn a_run_that_stops_before_the_last_datum_is_refused() {
    let model = "param k = 1\nstate x = 0\nx' = k\nwhen x > 2 { stop }\n";
    refused(
        "stops",
        model,
        &[("d.csv", "t,x\n1,1\n3,3\n")],
        "d.csv --params k",
        "E0854",
        &["ends at t = 2", "datum", "3"],
    );
    // at the best value the run continues
    let found = fit("goes-on", model, &[("d.csv", "t,x\n1,0.5\n3,1.5\n")], &words("--params k --set k=0.6"));
    near(&found, "k", 0.5, 1e-8);
}

#[test]
fn elements_and_derivatives_are_named() {
    let model = "index i = 1..3\nparam c = 1, d = 1\nstate x[i] = 0, y = 1, y' = 0\nx[i]' = c*i\ny'' = -d*y\n";
    let row = |t: f64| format!("{t},{},{}\n", 3.0 * t, -2.0 * (2.0 * t).sin());
    let rows: String = (1..9).map(|k| row(0.2 * f64::from(k))).collect();
    let found = fit("elements", model, &[("d.csv", &format!("t,x[2],y'\n{rows}"))], &words("--params c,d"));
    near(&found, "c", 1.5, 1e-6);
    near(&found, "d", 4.0, 1e-6);
    refused("whole", model, &[("d.csv", "t,x\n1,1\n")], "d.csv --params c", "E0854", &["3 values", "`x[1]`"]);
}

#[test]
fn a_model_without_a_run_and_one_with_a_clock_are_fitted() {
    // no run block, and an event that repeats endlessly
    let model = "param d = 1\nstate x = 0\nx' = -x\nevery 1 from 1 { x += d }\n";
    let truth = |t: f64| (1..=t.floor() as i32).map(|k| 2.5 * (f64::from(k) - t).exp()).sum::<f64>();
    let rows: String = (0..12).map(|k| 0.25 + 0.5 * f64::from(k)).map(|t| format!("{t},{}\n", truth(t))).collect();
    let found = fit("clock", model, &[("d.csv", &format!("t,x\n{rows}"))], &words("--params d"));
    near(&found, "d", 2.5, 1e-6);
}

/// With constant steps, the estimate would contain the errors of the steps.
#[test]
fn the_step_of_a_run_block_does_not_apply() {
    let model = KINETICS.replace("t = 0 .. 5", "t = 0 .. 5; method = bs32; step = 0.25");
    let data = sampled(2.5, 0.3, 1.7, 20);
    let found = fit("unstepped", &model, &[("d.csv", &data)], &words("--params k1,k2,A"));
    assert!(found.converged, "{found:?}");
    near(&found, "k1", 2.5, 1e-6);
    let stepped = fit("stepped", &model, &[("d.csv", &data)], &words("--params k1,k2,A --step 0.25"));
    assert!((stepped.value("k1") - 2.5).abs() > 1e-4, "{stepped:?}");
}
