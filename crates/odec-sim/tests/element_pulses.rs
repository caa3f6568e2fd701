//! Short pulses of terms of t that are different for each element of an array, and in conditions.

use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;
use odec_sim::{Session, Solution};

const METHODS: [&str; 5] = ["auto", "dopri5", "taylor", "radau5", "bdf"];
/// The area of `exp(-((t - c)/0.01)^2)`.
const AREA: f64 = 0.01 * 1.772_453_850_905_516;

fn solve(text: &str) -> Solution {
    let loaded = Session::new().load("test.ode", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let simulation = loaded.simulate(&Choices::default(), Purpose::Rows).unwrap_or_else(|e| panic!("{e}\n{text}"));
    simulation.solve().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn last(solution: &Solution, name: &str) -> f64 {
    solution.column(name).and_then(Iterator::last).unwrap_or_else(|| panic!("no {name}"))
}

/// State that decays at a rate, after pulses with the given middles.
fn decayed(rate: f64, end: f64, middles: &[f64]) -> f64 {
    // the mean of the decay over a pulse
    let widened = (0.25 * (rate * 0.01_f64).powi(2)).exp();
    middles.iter().map(|c| AREA * widened * (-rate * (end - c)).exp()).sum()
}

fn near(text: &str, name: &str, known: f64) {
    let solution = solve(text);
    let found = last(&solution, name);
    assert!((found - known).abs() < 1e-3 * known.abs(), "{found} and not {known}\n{text}");
    assert!(solution.warnings.iter().all(|d| d.code.code != "W0617"), "{text}");
}

#[test]
fn pulses_of_terms_in_sums_and_tables_are_found() {
    let c = [3.0, 17.0, 31.0, 46.0];
    let long: Vec<f64> = (0..20).map(|k| 2.3 * f64::from(k) + 1.7).collect();
    for method in METHODS {
        let run = format!("run {{ t = 0 .. 50; method = {method}; rtol = 1e-7; atol = 1e-12; samples = 500 }}\n");
        let head = "param w = 0.01\nstate x = 0\n";
        let table = format!(
            "index k = 1..4\nconst c[k] = [3, 17, 31, 46]\n{head}x' = -0.2*x + sum(k: exp(-((t - c[k])/w)^2))\n{run}"
        );
        near(&table, "x", decayed(0.2, 50.0, &c));
        let range = format!("{head}x' = -0.2*x + sum(k in 1..4: exp(-((t - 10*k)/w)^2))\n{run}");
        near(&range, "x", decayed(0.2, 50.0, &[10.0, 20.0, 30.0, 40.0]));
        // a loop of the code, with a condition
        let numbers: Vec<String> = long.iter().map(f64::to_string).collect();
        let looped = format!(
            "index k = 1..20\nconst c[k] = [{}]\n{head}x' = -0.2*x + sum(k where k != 7: exp(-((t - c[k])/w)^2))\n{run}",
            numbers.join(", ")
        );
        let but_one: Vec<f64> = (0..20).filter(|k| *k != 6).map(|k| long[k]).collect();
        near(&looped, "x", decayed(0.2, 50.0, &but_one));
    }
}

#[test]
fn each_element_has_its_pulse() {
    for method in METHODS {
        let run = format!("run {{ t = 0 .. 50; method = {method}; rtol = 1e-7; atol = 1e-12; samples = 50 }}\n");
        let array = format!(
            "index i = 1..3\nparam c[i] = [10, 20, 30]\nparam w = 0.01\nstate x[i] = 0\n\
             x[i]' = -0.2*x[i] + exp(-((t - c[i])/w)^2)\n{run}"
        );
        for (k, c) in [10.0, 20.0, 30.0].into_iter().enumerate() {
            near(&array, &format!("x[{}]", k + 1), decayed(0.2, 50.0, &[c]));
        }
        let element = format!(
            "index i = 1..3\nparam a[i] = [10, 20, 30]\nstate x = 0\nx' = -0.1*x + 5*exp(-((t - a[3])/0.01)^2)\n{run}"
        );
        near(&element, "x", 0.011_993_8);
        // next to a boundary
        let rod = format!(
            "index i = 1..5\nparam c[i] = [10, 20, 30, 40, 45]\nstate x[i] = 0\n\
             x[i]' = x[i-1] - x[i] + exp(-((t - c[i])/0.01)^2)\nboundary x[0] = 0\n{run}"
        );
        near(&rod, "x[1]", decayed(1.0, 50.0, &[10.0]));
        // states that count time
        let clocks = format!(
            "index i = 1..3\nparam c[i] = [10, 20, 30]\nstate p[i] = i, x[i] = 0\np[i]' = i\n\
             x[i]' = -0.1*x[i] + exp(-((p[i] - c[i]*i)/0.01)^2)\n{run}"
        );
        near(&clocks, "x[1]", decayed(0.1, 50.0, &[9.0]));
        near(&clocks, "x[3]", decayed(0.1 / 3.0, 153.0, &[90.0]) / 3.0);
    }
}

#[test]
fn periodic_pulses_come_at_the_time_of_each_element() {
    let lags = [1.0, 5.5, 8.0];
    let text = "index i = 1..3\nparam lag[i] = [1, 5.5, 8]\nparam w = 0.01\nstate x[i] = 0\n\
                x[i]' = exp(-((mod(t - lag[i], 24) - 12)/w)^2)\nrun { t = 0 .. 240; samples = 10 }\n";
    for k in 0..lags.len() {
        near(text, &format!("x[{}]", k + 1), 10.0 * AREA);
    }
    // the same as a sine, and as parts in an array
    let wave = "index i = 1..3\nparam lag[i] = [1, 5.5, 8]\nstate x[i] = 0\n\
                x[i]' = exp(-(sin(pi*(t - lag[i])/24)/0.001)^2)\nrun { t = 0 .. 240; samples = 10 }\n";
    near(wave, "x[2]", 10.0 * AREA * 0.1 * 24.0 / std::f64::consts::PI);
}

#[test]
fn conditions_see_short_pulses() {
    let pulse = "exp(-((t - 30)/0.01)^2)";
    for method in METHODS {
        let run = format!("run {{ t = 0 .. 50; method = {method}; rtol = 1e-8; samples = 5 }}\n");
        let text =
            format!("discrete n = 0\nstate x = 0\nx' = 0.1\nwhen {pulse} > 0.5 {{ n += 1 }}\noutput m = n\n{run}");
        near(&text, "m", 1.0);
        let text = format!("state x = 0\nx' = if {pulse} > 0.5 then 100 else 0\n{run}");
        near(&text, "x", 200.0 * 0.01 * 2.0_f64.ln().sqrt());
        // above the threshold for a small part of the pulse, and only on both sides of its middle
        let text = format!("state x = 0\nx' = if {pulse} > 0.9999 then 100 else 0\n{run}");
        near(&text, "x", 200.0 * 0.01 * (-0.9999_f64.ln()).sqrt());
        // of each element of an array
        let text = format!(
            "index i = 1..3\nparam c[i] = [10, 20, 30]\ndiscrete n[i] = 0\nstate x = 0\nx' = 0.1\n\
             when exp(-((t - c[i])/0.01)^2) > 0.5 {{ n[i] += i }}\noutput m = sum(i: n[i])\n{run}"
        );
        near(&text, "m", 6.0);
        // added to a state
        let text = format!("state x = 0\nx' = if 2*x + {pulse} > 0.5 then 1 else 0\n{run}");
        let found = last(&solve(&text), "x");
        assert!(found > 0.005, "{method}: {found}");
    }
}

#[test]
fn elements_beyond_the_list_are_counted() {
    let text = |n: u32| {
        format!(
            "const N = {n}\nindex i = 1..N\nstate x[i] = 0\nx[i]' = exp(-((t - 50 - i)/0.01)^2) - x[i]\n\
             run {{ t = 0 .. 10; samples = 1; method = dopri5 }}\n"
        )
    };
    let told = |n| solve(&text(n)).warnings.iter().any(|d| d.code.code == "W0617");
    assert!(told(200_000));
    assert!(!told(20));
}

#[test]
fn more_known_times_than_steps_are_refused_at_once() {
    let refused = |text: &str| {
        let loaded = Session::new().load("test.ode", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let simulation = loaded.simulate(&Choices::default(), Purpose::Rows).unwrap_or_else(|e| panic!("{e}\n{text}"));
        simulation.solve().err().map(|e| {
            let d = &e.diagnostics[0];
            (d.code.code.to_owned(), d.headline.clone(), d.labels.first().map(|l| text[l.span.range()].to_owned()))
        })
    };
    let every = "discrete n = 0\nstate x = 0\nx' = 1\nevery 1e-12 { n += 1 }\nrun { t = 0 .. 1 }\n";
    let (code, headline, place) = refused(every).expect("an error");
    assert_eq!((code.as_str(), place.is_some()), ("E0607", true), "{headline}");
    assert!(headline.starts_with("1e12 known times"), "{headline}");
    let (code, headline, place) =
        refused("state x = 0\nx' = (mod(t, 1e-9) < 5e-10)\nrun { t = 0 .. 1 }\n").expect("an error");
    assert_eq!(code, "E0607", "{headline}");
    assert_eq!(place.as_deref(), Some("mod(t, 1e-9) < 5e-10"));
    let few = every.replace("1e-12", "1e-2").replace("0 .. 1 ", "0 .. 1; max_steps = 50 ");
    assert_eq!(refused(&few).expect("an error").0, "E0607");
    assert!(refused(&every.replace("1e-12", "1e-2")).is_none());
}
