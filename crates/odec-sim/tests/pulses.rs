//! Repeated pulses of terms of t: none is lost in a run of any length, and odec reports terms that it does not search.

use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;
use odec_sim::{Session, Solution};

fn solve(text: &str) -> Solution {
    let loaded = Session::new().load("test.ode", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let simulation = loaded.simulate(&Choices::default(), Purpose::Rows).unwrap_or_else(|e| panic!("{e}\n{text}"));
    simulation.solve().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn last(solution: &Solution, name: &str) -> f64 {
    solution.column(name).and_then(Iterator::last).unwrap_or_else(|| panic!("no {name}"))
}

const ROOT_PI: f64 = 1.772_453_850_905_516;

#[test]
fn daily_pulses_over_three_years_are_seen_by_every_kind_of_method() {
    let area = |days: f64| days * ROOT_PI * 0.002 * 24.0 / std::f64::consts::PI;
    for method in ["auto", "dopri5", "taylor", "radau5", "bdf"] {
        let text = format!(
            "state x = 0\nx' = exp(-(sin(pi*(t - 12)/24)/0.002)^2)\nrun {{ t = 0 .. 26280; rtol = 1e-8; method = {method}; samples = 1 }}\n"
        );
        let (found, known) = (last(&solve(&text), "x"), area(1095.0));
        assert!((found - known).abs() < 1e-3 * known, "{method}: {found} and not {known}");
    }
    // back in time, and a wave that runs backwards
    let back = "state x = 0\nx' = -exp(-(sin(pi*(12 - t)/24)/0.002)^2)\nrun { t = 26280 .. 0; samples = 1 }\n";
    let found = last(&solve(back), "x");
    assert!((found - area(1095.0)).abs() < 1e-3 * found, "{found}");
}

#[test]
fn more_than_a_thousand_pulses_are_examined_one_by_one() {
    let terms: Vec<String> = (0..1050).map(|k| format!("exp(-((t - {k}.37)/0.001)^2)")).collect();
    let text = format!("state x = 0\nx' = {}\nrun {{ t = 0 .. 1100; samples = 1 }}\n", terms.join(" + "));
    let (found, known) = (last(&solve(&text), "x"), 1050.0 * 0.001 * ROOT_PI);
    assert!((found - known).abs() < 1e-3 * known, "{found} and not {known}");
}

#[test]
fn an_oscillation_too_fast_to_be_searched_gives_a_warning() {
    let fast = "state x = 0\nx' = exp(-(sin(pi*t)/0.001)^2) - x\nrun { t = 0 .. 1e6; samples = 10 }\n";
    let told = |text: &str| {
        let list = solve(text).warnings;
        let d = list.iter().find(|d| d.code.code == "W0617");
        d.map(|d| (d.headline.clone(), d.labels.iter().map(|l| text[l.span.range()].to_string()).collect::<Vec<_>>()))
    };
    let (headline, marked) = told(fast).expect("a warning");
    assert!(headline.contains("oscillates 500000 times"), "{headline}");
    assert!(marked.iter().all(|text| "exp(-(sin(pi*t)/0.001)^2)".contains(text.as_str())), "{marked:?}");
    // few cycles are searched
    assert_eq!(told(&fast.replace("1e6", "1e3")), None);
    // a run whose steps follow the oscillation loses nothing
    let followed = "state x = 0\nx' = exp(sin(1e3*t)) - x\nrun { t = 0 .. 700; samples = 10; max_step = 1e-3 }\n";
    assert_eq!(told(followed), None);
}

/// A term of the states that is on for a short part of each period and 0 to all digits in between: coefficients at
/// the ends of a step do not show it.
#[test]
fn pulses_that_a_state_makes_are_seen() {
    type Gate = (&'static str, fn(f64) -> f64);
    let gates: [Gate; 4] = [
        ("exp(-2000*(1 - u)^2)", |u| (-2000.0 * (1.0 - u).powi(2)).exp()),
        ("exp(-20000*(1 - u)^2)", |u| (-20000.0 * (1.0 - u).powi(2)).exp()),
        ("(1 + tanh(400*(u - 0.99)))/2", |u| f64::midpoint(1.0, (400.0 * (u - 0.99)).tanh())),
        ("1/(1 + exp(300*(0.99 - u)))", |u| 1.0 / (1.0 + (300.0 * (0.99 - u)).exp())),
    ];
    let (end, steps) = (62.8, 300_000);
    for (gate, value) in gates {
        for w in [0.93, 1.0, 1.1] {
            let h = end / f64::from(steps);
            let at = |k: i32| {
                let s = h * f64::from(k);
                value((w * s).cos()) * (1.0 - (-50.0 * (end - s)).exp())
            };
            let known = h * ((1..steps).map(at).sum::<f64>() + 0.5 * (at(0) + at(steps)));
            for (method, rtol) in [("auto", 1e-6), ("auto", 1e-8), ("taylor", 1e-6), ("taylor", 1e-9)] {
                let text = format!(
                    "state x = 0, y = 0, u = 1, v = 0\nx' = -50*(x - {gate})\ny' = x\nu' = {w}*v\nv' = -{w}*u\n\
                     run {{ t = 0 .. {end}; rtol = {rtol}; atol = 1e-10; method = {method}; samples = 1 }}\n"
                );
                let found = last(&solve(&text), "y");
                let error = (found - known).abs() / known;
                assert!(error < 1e3 * rtol, "{gate}, w = {w}, {method} at {rtol}: {found} and not {known}");
            }
        }
    }
}

#[test]
fn pulses_of_states_that_count_time_are_seen() {
    let known = ROOT_PI * 0.01;
    for method in ["auto", "dopri5", "taylor", "radau5", "bdf"] {
        let run = format!("run {{ t = 0 .. 100; rtol = 1e-8; method = {method}; samples = 1 }}\n");
        let pulse = "x' = exp(-((p - 50)/0.01)^2)\n";
        for clock in [
            "state p = 0, x = 0\np' = 1\n",
            "param c = 2\nstate p = 150, x = 0\np' = -c\n",
            // an event sets it back to its value at t = 40
            "state p = 0, x = 0\np' = 1\nat 45 { p := 40 }\n",
        ] {
            let found = last(&solve(&format!("{clock}{pulse}{run}")), "x");
            let known = if clock.contains("param") { known / 2.0 } else { known };
            assert!((found - known).abs() < 1e-3 * known, "{method}: {found} and not {known} for {clock}");
        }
        // and set back after the pulse, which then occurs again
        let again = format!("state p = 0, x = 0\np' = 1\nat 55 {{ p := 10 }}\n{pulse}{run}");
        let found = last(&solve(&again), "x");
        assert!((found - 2.0 * known).abs() < 2e-3 * known, "{method}: {found} and not {}", 2.0 * known);
    }
    // a rate given by a discrete, which changes before the pulse
    let text = "discrete c = 0\nstate p = 0, x = 0\np' = c\nx' = exp(-((p - 50)/0.01)^2)\nat 10 { c := 1 }\n\
                run { t = 0 .. 100; rtol = 1e-8; samples = 1 }\n";
    let found = last(&solve(text), "x");
    assert!((found - known).abs() < 1e-3 * known, "{found} and not {known}");
}

/// Error estimates compare formulas that agree on polynomials, so near such a time they can be far too small.
#[test]
fn steps_are_short_near_the_zeros_of_roots() {
    let third = |t: f64| 0.75 * t.powf(4.0 / 3.0);
    let cases = [
        ("cbrt(t - 1)", "0 .. 3", third(2.0) - third(1.0)),
        ("abs(t - 1/3)^0.3", "0 .. 2", ((5f64 / 3.0).powf(1.3) + (1f64 / 3.0).powf(1.3)) / 1.3),
        ("sqrt(t)", "0 .. 4", 16.0 / 3.0),
        ("(if t > 1 then sqrt(t - 1) else 0)", "0 .. 5", 16.0 / 3.0),
        ("(if t < 1 then sqrt(1 - t) else 0)", "0 .. 5", 2.0 / 3.0),
        // Gamma(2/3)/(sqrt(pi) Gamma(7/6)) in each half of a period
        ("cbrt(sin(pi*t))", "0 .. 5", 0.823_502_549_343_432),
    ];
    for (term, span, known) in cases {
        // a Rosenbrock method needs the derivative with respect to t, which is infinite at the start of some runs
        let methods = ["dopri5", "dop853", "vern7", "auto", "radau5"];
        for (method, rtol) in methods.iter().flat_map(|method| [1e-4, 1e-6, 1e-8].map(|rtol| (method, rtol))) {
            let text = format!(
                "state x = 0\nx' = {term}\nrun {{ t = {span}; rtol = {rtol}; atol = {rtol}; method = {method}; samples = 1 }}\n"
            );
            let error = (last(&solve(&text), "x") - known).abs() / (rtol * (1.0 + known));
            assert!(error < 20.0, "{term}, {method} at {rtol:e}: {error} tolerances");
        }
    }
}

/// A capacitor behind a diode: a current flows only near the peaks of the voltage.
const RECTIFIERS: [&str; 7] = [
    // the current is an unknown in its own exponent
    "param f = 50\nstate vc = 0\nunknown i = 0\ni = 1e-12*(exp((10*sin(2*pi*f*t) - i - vc)/0.025852) - 1)\n\
     1e-4*vc' = i - vc/1000\n",
    // the voltage of the diode is an unknown; the wave is in another equation than the exponential
    "param f = 50\nstate vc = 0\nunknown vd = 0\nid = 1e-12*(exp(vd/0.026) - 1)\n5*sin(2*pi*f*t) - 10*id - vd - vc = 0\n\
     1e-5*vc' = id - vc/1e4\n",
    // a wave of varying height
    "param f = 50\nstate vc = 0\n1e-5*vc' = 1e-12*(exp(((1 + 0.5*sin(40*t))*sin(2*pi*f*t) - vc)/0.026) - 1) - vc/1e4\n",
    // waves of varying frequency, and a smooth diode without an exponential
    "param f = 50\nstate vc = 0\n1e-5*vc' = 1e-12*(exp((sin(2*pi*f*t + 3*sin(40*t)) - vc)/0.026) - 1) - vc/1e4\n",
    "param f = 50\nstate vc = 0\n1e-5*vc' = 1e-12*(exp((sin(2*pi*f*t*(1 + 8*t)) - vc)/0.026) - 1) - vc/1e4\n",
    "param f = 50\nstate vc = 0\nu = sin(2*pi*f*t) - vc\n1e-5*vc' = 1e-2*(u + sqrt(u^2 + 1e-4)) - vc/1e4\n",
    // without a resistor, there is no unknown
    "param f = 50\nstate vc = 0\n1e-5*vc' = 1e-12*(exp((sin(2*pi*f*t) - vc)/0.026) - 1) - vc/1e4\n",
];

#[test]
fn no_pulse_of_a_diode_is_lost_while_it_is_off() {
    for (k, text) in RECTIFIERS.iter().enumerate() {
        for f in [50, 57, 63, 67, 74, 79] {
            let run = |rtol: &str, method: &str, more: &str| {
                let text = text.replace("f = 50", &format!("f = {f}"));
                let settings = format!("t = 0 .. 0.06; samples = 120; method = {method}; rtol = {rtol}; {more}");
                solve(&format!("{text}run {{ {settings} }}\n")).column("vc").expect("vc").collect::<Vec<f64>>()
            };
            let known = run("1e-10", "rodas5p", "max_step = 1e-4");
            for (method, rtol) in [("auto", 1e-3), ("auto", 1e-4), ("auto", 1e-7), ("rodas5p", 1e-6), ("radau5", 1e-6)]
            {
                let found = run(&format!("{rtol:e}"), method, "");
                let worst = found.iter().zip(&known).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst < 0.02, "circuit {k} at {f} with {method} {rtol:e}: {worst}");
            }
        }
    }
}

/// The middle of a pulse may be where any function of t passes through 0 or turns.
#[test]
fn pulses_of_curved_arguments_are_seen() {
    let (middle, width) = (1200_f64.sqrt(), 1e-3 * 100.0 / (2.0 * 1200_f64.sqrt()));
    let decayed = |t: f64, area: f64| area * (middle - t).exp();
    let cases = [
        // a chirp, a product of linear functions, a logarithm
        ("500*exp(-((t^2/100 - 12)/1e-3)^2) - x", decayed(50.0, 500.0 * ROOT_PI * width)),
        ("exp(-((t - 17)*(t + 33)/1e-2)^2)", ROOT_PI * 1e-2 / 50.0),
        ("exp(-((ln(t + 1) - 3)/1e-4)^2)", ROOT_PI * 1e-4 * 3_f64.exp()),
        // the extremum of a wave of a wave
        ("exp((cos(t/4 + sin(t/4)) - 1)/1e-7)", 0.0),
    ];
    for (f, known) in cases {
        for method in ["auto", "bdf", "tsit5", "radau5"] {
            let text =
                format!("state x = 0\nx' = {f}\nrun {{ t = 0 .. 50; method = {method}; rtol = 1e-6; samples = 1 }}\n");
            let found = last(&solve(&text), "x");
            let known = if known > 0.0 { known } else { 1.5 * (2.0 * std::f64::consts::PI * 1e-7 * 4.0).sqrt() };
            assert!((found - known).abs() < 1e-3 * known, "{f} with {method}: {found} and not {known}");
        }
    }
}

/// After a delay, the run continues where the term begins, and f is 0 there.
#[test]
fn a_term_that_begins_at_zero_after_a_delay_is_seen() {
    for method in ["auto", "bdf", "tsit5", "radau5", "rodas5p", "abm3"] {
        let text = format!(
            "state x = 0\nu = max(t - 37.3, 0)\nx' = 1e6*u*exp(-u/1e-3)\nrun {{ t = 0 .. 50; method = {method}; samples = 1 }}\n"
        );
        let found = last(&solve(&text), "x");
        assert!((found - 1.0).abs() < 1e-3, "{method}: {found}");
    }
}

/// Input that is 0 when it begins, as after a dose: all stages of a long step lie behind it.
#[test]
fn a_pulse_that_begins_at_a_switch_or_an_event_is_seen() {
    for (pulse, area) in [
        ("s*exp(-2*s)", 0.25),
        ("s*exp(-20*s)", 0.0025),
        ("s^3*exp(-2*s)", 0.375),
        ("sin(3*s)*exp(-5*s)", 3.0 / 34.0),
        ("exp(-20*s) - exp(-100*s)", 0.04),
    ] {
        for method in ["auto", "tsit5", "bdf", "rodas5p"] {
            let of = |begin: &str, more: &str| {
                let input = pulse.replace('s', &format!("(t - {begin})"));
                let input = input.replace(&format!("(t - {begin})in"), "sin");
                format!(
                    "state y = 1, z = 0\ny' = -0.001*y\nz' = if t > {begin} then {input} else 0\n{more}\
                     run {{ t = 0 .. 1000; samples = 1; method = {method} }}\n"
                )
            };
            let at_events = "discrete late = 1e9\nat 300 { late := 300 }\nat 700 { late := 700 }\n";
            for (text, known) in [(of("777", ""), area), (of("late", at_events), 2.0 * area)] {
                let found = last(&solve(&text), "z");
                assert!((found - known).abs() < 1e-5 * known, "{text}{found} and not {known}");
            }
        }
    }
}

/// A search takes twelve evaluations of f. A step of this method takes six, and there are five steps between switches.
#[test]
fn a_system_that_switches_often_makes_few_searches() {
    let text = "state x = 0\nx' = (if mod(t, 1) < 0.3 then 1 else 0) + 0.1*sin(t) - x\n\
                run { t = 0 .. 1000; samples = 1; method = dopri5 }\n";
    let stats = solve(text).stats;
    assert!(stats.rhs < 7 * stats.accepted, "{} f, {} steps", stats.rhs, stats.accepted);
}
