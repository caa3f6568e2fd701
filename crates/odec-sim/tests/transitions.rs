//! Terms of states that change over a small part of a step: narrow pulses, steep steps, roots of squares. And the first step
//! after an event, which wakes a system at rest.

use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;
use odec_sim::{Session, Solution};

fn solve(text: &str) -> Solution {
    let loaded = Session::new().load("test.ode", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let simulation = loaded.simulate(&Choices::default(), Purpose::Rows).unwrap_or_else(|e| panic!("{e}\n{text}"));
    simulation.solve().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn column(solution: &Solution, name: &str) -> Vec<f64> {
    solution.column(name).unwrap_or_else(|| panic!("no {name}")).collect()
}

fn last(solution: &Solution, name: &str) -> f64 {
    *column(solution, name).last().expect("a row")
}

const ROOT_PI: f64 = 1.772_453_850_905_516;
const METHODS: [&str; 8] = ["auto", "tsit5", "vern7", "taylor", "rodas5p", "radau5", "kencarp4", "bdf"];

/// A mass that passes a narrow hill gains the work that is done there, whatever its shape.
#[test]
fn no_step_passes_over_a_narrow_pulse_of_a_state() {
    // the work of a force of height 1 and width 1
    let forces = [
        ("exp(-(x/w)^2)", ROOT_PI),
        ("exp(-x^2/(2*w^2))", 2f64.sqrt() * ROOT_PI),
        ("1/cosh(x/w)^2", 2.0),
        ("1/(1 + (x/w)^2)^2", std::f64::consts::FRAC_PI_2),
        ("(tanh(x/w + 3) - tanh(x/w - 3))/2", 6.0),
        // an argument of two states
        ("exp(-((2*x - s)/w)^2)", ROOT_PI),
        // exponents that are no square of one term
        ("exp(-(x*x + 2*x*w + w^2)/w^2)", ROOT_PI),
        ("exp(-(x^2 + (2*x - s)^2)/(2*w^2))", ROOT_PI),
        ("exp(-hypot(x, s)/w)", 2f64.sqrt()),
    ];
    for (force, area) in forces {
        // cosh(1e3) overflows, and has no derivative
        let narrow = if force.contains("cosh") { 2e-2 } else { 1e-4 };
        for w in [1e-2, narrow] {
            for method in METHODS.iter().filter(|method| **method != "taylor" || !force.contains("cosh")) {
                let text = format!(
                    "param w = {w}\nstate x = -1, v = 1, s = -1\nx' = v\nv' = 0.2/w*{force}\ns' = v\n\
                     run {{ t = 0 .. 4; method = {method}; samples = 1 }}\n"
                );
                let (v, known) = (last(&solve(&text), "v"), (1.0 + 0.4 * area).sqrt());
                assert!((v - known).abs() < 1e-4, "{method}: {v} and not {known}\n{text}");
            }
        }
    }
}

/// A rotor meets a pulse in each turn.
#[test]
fn no_step_passes_over_a_pulse_of_an_angle() {
    for k in [500.0f64, 1e4] {
        // exp(-k)*I0(k), by its asymptotic series (NIST, 10.40.1)
        let turn = (2.0 * std::f64::consts::PI / k).sqrt() * (1.0 + 0.125 / k + 9.0 / (128.0 * k * k));
        for speed in [1.0, 10.0] {
            for method in METHODS {
                let text = format!(
                    "param k = {k}\nstate th = 0, w = {speed}, m = 0\nth' = w\nw' = 0*th\n\
                     m' = exp(k*(cos(th - 1) - 1))\nrun {{ t = 0 .. 16*pi/{speed}; method = {method}; samples = 1 }}\n"
                );
                let (m, known) = (last(&solve(&text), "m"), 8.0 * turn / speed);
                assert!((m - known).abs() < 1e-4 * known, "{method}: {m} and not {known}\n{text}");
            }
        }
    }
}

#[test]
fn steep_steps_conserve_the_energy() {
    for force in ["tanh(1e9*x)", "erf(1e8*x)", "x/sqrt(1e-18 + x^2)"] {
        for method in METHODS {
            let text = format!(
                "state x = 1, v = 0\nx' = v\nv' = -{force}\noutput E = v^2/2 + abs(x)\n\
                 run {{ t = 0 .. 40; method = {method}; samples = 1 }}\n"
            );
            let found = last(&solve(&text), "E");
            assert!((found - 1.0).abs() < 1e-4, "{method}: {found}\n{text}");
        }
    }
}

/// The same law, written so that it is recognized, and so that it is not.
#[test]
fn steps_that_resolve_a_term_stay_as_they_are() {
    let counts = |law: &str| {
        let text = format!("state x = 1, v = 0\nx' = v\nv' = -{law}\nrun {{ t = 0 .. 40; method = tsit5 }}\n");
        let stats = solve(&text).stats;
        (stats.accepted, stats.rejected)
    };
    assert_eq!(counts("tanh(2*x)"), counts("(exp(4*x) - 1)*exp(-ln(exp(4*x) + 1))"));
}

#[test]
fn a_root_of_a_square_is_located_like_the_absolute_value() {
    let rows = |term: &str| {
        let text = format!(
            "state x = 1, v = 0\nx' = v\nv' = -4*x - 2*{term} - 0.05*v + 0.4*cos(1.3*t)\nrun {{ t = 0 .. 40; samples = 50 }}\n"
        );
        column(&solve(&text), "x")
    };
    let exact = rows("abs(x)");
    for term in ["sqrt(x^2)", "(x^2)^0.5", "sqrt(x*x)"] {
        assert_eq!(rows(term), exact, "{term}");
    }
}

/// The dose meets a system at rest, whose steps are long, and an effect that rises from 0 like C^3.3.
#[test]
fn the_first_step_after_a_dose_is_chosen_afresh() {
    let text = |more: &str| {
        format!(
            "state gut = 0, A = 0, R = 30\nC = A/20\ngut' = -1.1*gut\nA' = 1.1*gut - 0.1*A\n\
             R' = 9*(1 - 0.97*C^3.3/(0.4^3.3 + C^3.3)) - 0.3*R\nevery 24 from 2 until 80 {{ gut += 100 }}\n\
             run {{ t = 0 .. 96; samples = 400; {more} }}\n"
        )
    };
    let exact = column(&solve(&text("method = radau5; rtol = 1e-11; atol = 1e-12")), "R");
    for method in ["tsit5", "dopri5", "kencarp4", "rodas5p", "auto"] {
        let found = column(&solve(&text(&format!("method = {method}; rtol = 1e-4; atol = 1e-7"))), "R");
        let off = exact.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 2.0 * 30.0 * 1e-4, "{method}: off by {} tolerances", off / 3e-3);
    }
}

/// A tank is empty at t = 4, and its law has no value beyond. Errors below the tolerance could lead a series along that
/// place in millions of steps.
#[test]
fn a_run_that_crawls_along_the_zero_of_a_root_ends() {
    let text = "state h = 1\nh' = -0.5*sqrt(h)\nrun { t = 0 .. 6; rtol = 1e-10; atol = 1e-13; max_steps = 500000 }\n";
    let loaded = Session::new().load("test.ode", text).expect("a model");
    let simulation = loaded.simulate(&Choices::default(), Purpose::Rows).expect("a run");
    let told = simulation.solve().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(told.contains("E0601"), "{told}");
}
