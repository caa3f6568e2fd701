//! Bounds of states, from the text of a model: no row lies beyond one, the solution satisfies the equations, and a
//! solution that leaves a bound ends the run.

use odec_ode::method::{self, Adaptive};
use odec_sim::bind::Purpose;
use odec_sim::choices::{Choices, StepChoice};
use odec_sim::{Session, Simulation, Solution};

fn simulation(text: &str, choices: &Choices) -> Result<Simulation, odec_sim::Error> {
    Session::new().load("model.ode", text)?.simulate(choices, Purpose::Rows)
}

fn solve(text: &str, choices: &Choices) -> Solution {
    let solved = simulation(text, choices).and_then(|simulation| simulation.solve());
    solved.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn with(method: &str, rtol: f64, atol: f64) -> Choices {
    Choices { method: Some(method.to_string()), rtol: Some(rtol), atol: Some(atol), ..Choices::default() }
}

fn rows(solution: &Solution, name: &str) -> Vec<f64> {
    solution.column(name).unwrap_or_else(|| panic!("no column {name}")).collect()
}

/// The code of the error of a run.
fn refused(text: &str, choices: &Choices) -> (String, String) {
    let error = simulation(text, choices).and_then(|simulation| simulation.solve()).err();
    let error = error.unwrap_or_else(|| panic!("no error\n{text}"));
    (error.diagnostics[0].code.code.to_string(), error.to_string())
}

/// A fast cascade that falls to 0: without a bound, large steps of every method go below 0.
const CASCADE: &str = "state x = 1, y = 0, z = 0\nx' = -50*x\ny' = 50*x - 20*y\nz' = 20*y - 3*z\n";

#[test]
fn no_row_of_any_method_lies_below() {
    let mut below = Vec::new();
    for method in method::general().filter(|method| method.adaptive != Adaptive::FixedStep) {
        for samples in ["500", "steps"] {
            let run = format!("run {{ t = 0 .. 5; samples = {samples} }}");
            let choices = with(method.name, 1e-3, 1e-5);
            let free = solve(&format!("{CASCADE}{run}"), &choices);
            if ["x", "y", "z"].iter().any(|name| rows(&free, name).iter().any(|x| *x < 0.0)) {
                below.push(method.name);
            }
            let text = format!("{}{run}", CASCADE.replace("z = 0\n", "z = 0, x, y, z >= 0\n"));
            let kept = solve(&text, &choices);
            for name in ["x", "y", "z"] {
                let least = rows(&kept, name).into_iter().fold(f64::INFINITY, f64::min);
                assert!(least >= 0.0, "{}, {samples}: {name} comes to {least}", method.name);
            }
            // y = 50/30 (e^-20t - e^-50t), at the first row after 0.1
            let (t, y) = (rows(&kept, "t"), rows(&kept, "y"));
            let k = t.iter().position(|t| *t > 0.1).expect("a row");
            let exact = 5.0 / 3.0 * ((-20.0 * t[k]).exp() - (-50.0 * t[k]).exp());
            assert!((y[k] - exact).abs() < 0.03, "{}: {} for {exact}", method.name, y[k]);
        }
    }
    assert!(below.len() >= 5, "without bounds too few methods go below for this test: {below:?}");
}

#[test]
fn bounds_hold_with_constant_steps() {
    // each step of euler multiplies x by -0.5: it is halved until it does not
    let text = "state x = 1, x >= 0\nx' = -x\nrun { t = 0 .. 6; samples = steps }";
    for method in ["euler", "rk4", "heun", "backward-euler"] {
        let step = Some(StepChoice::Fixed(1.5));
        let choices = Choices { method: Some(method.to_string()), step, ..Choices::default() };
        let kept = rows(&solve(text, &choices), "x");
        assert!(kept.iter().all(|x| *x >= 0.0), "{method}: {kept:?}");
        assert!(kept.last().is_some_and(|x| *x < 0.1), "{method}: {kept:?}");
    }
}

/// Torricelli: the tank is empty at 2 sqrt(h)/c, and stays empty. The root is undefined below 0.
#[test]
fn a_tank_drains_and_stays_empty() {
    let text = "param c = 0.5\nstate h = 1, h >= 0\nh' = -c*sqrt(h)\nrun { t = 0 .. 6; samples = 60 }";
    for method in ["auto", "tsit5", "dopri5", "vern9", "rodas5p", "radau5", "bdf"] {
        let solution = solve(text, &with(method, 1e-6, 1e-9));
        for (t, h) in rows(&solution, "t").into_iter().zip(rows(&solution, "h")) {
            let exact = (1.0 - 0.25 * t).max(0.0).powi(2);
            assert!(h >= 0.0 && (h - exact).abs() < 2e-5, "{method}: h({t}) = {h}, exactly {exact}");
        }
    }
}

/// Robertson's reaction with bounds is Robertson's reaction.
#[test]
fn a_stiff_reaction_is_the_same_with_bounds() {
    let text = "state A = 1, B = 0, C = 0, A, B, C >= 0, A, C <= 1\nA' = -0.04*A + 1e4*B*C\nB' = 0.04*A - 1e4*B*C - 3e7*B^2\n\
                C' = 3e7*B^2\nrun { t = 0 .. 1e4; samples = log(50, 1e-6) }";
    for method in ["auto", "rodas5p", "radau5", "bdf"] {
        let solution = solve(text, &with(method, 1e-7, 1e-12));
        for name in ["A", "B", "C"] {
            let all = rows(&solution, name);
            assert!(all.iter().all(|x| (0.0..=1.0).contains(x)), "{method}: {name}");
        }
        let (a, b) = (rows(&solution, "A"), rows(&solution, "B"));
        // t = 1e4: from runs at 1e-12 of two methods without bounds
        let free = solve(&text.replace(", A, B, C >= 0, A, C <= 1", ""), &with("radau5", 1e-12, 1e-18));
        let last = |all: &[f64]| all.last().copied().expect("a row");
        assert!((last(&a) / last(&rows(&free, "A")) - 1.0).abs() < 1e-5, "{method}: {}", last(&a));
        assert!((last(&b) / last(&rows(&free, "B")) - 1.0).abs() < 1e-5, "{method}: {}", last(&b));
    }
}

#[test]
fn arrays_events_and_switches_keep_their_bounds() {
    let text = "index i = 1..4\nparam k = 30\nstate u[i] = 1/i, u[i] >= 0, u[i] <= 2*i\ndiscrete n = 0\n\
                u[i]' = -k*i*u[i] + (if t > 2 and u[i] < 0.5 then 1 else 0)\nevery 1 from 1 { u[i] += 0.5*i; n += 1 }\n\
                output n\nrun { t = 0 .. 4.5; samples = steps }";
    for method in ["auto", "tsit5", "bdf", "rodas4"] {
        let solution = solve(text, &with(method, 1e-3, 1e-5));
        for i in 1..=4 {
            let all = rows(&solution, &format!("u[{i}]"));
            assert!(all.iter().all(|u| (0.0..=2.0 * f64::from(i)).contains(u)), "{method}: u[{i}]");
        }
        assert_eq!(rows(&solution, "n").last(), Some(&4.0), "{method}");
    }
}

#[test]
fn motion_out_of_the_bounds_ends_the_run() {
    for method in ["auto", "tsit5", "rodas5p", "bdf", "taylor"] {
        let text = "param a = 2\nstate x = 1, x >= 0.25\nx' = 0.5*x - a\nrun { t = 0 .. 3 }";
        let (code, said) = refused(text, &with(method, 1e-6, 1e-9));
        assert_eq!(code, "E0635", "{method}: {said}");
        // x = 4 - 3 exp(t/2) is 0.25 at 2 ln(1.25)
        assert!(said.contains("at t = 0.4462"), "{method}: {said}");
        assert!(said.contains("falls below") && said.contains('a'), "{said}");
        let above = "state x = 0, x <= 1\nx' = 1\nrun { t = 0 .. 3 }";
        let (code, said) = refused(above, &with(method, 1e-6, 1e-9));
        assert!(code == "E0635" && said.contains("rises above") && said.contains("at t = 1"), "{method}: {said}");
        // to the bound and not beyond
        let touch = "state x = 0, x <= 1\nx' = 1\nrun { t = 0 .. 1 }";
        let last = rows(&solve(touch, &with(method, 1e-6, 1e-9)), "x").last().copied().expect("a row");
        assert!(last <= 1.0 && last > 1.0 - 1e-12, "{method}: {last}");
    }
    let percent = "state x = 10 [%], x <= 20 [%]\nx' = 1 [1/s]\nrun { t = 0 .. 3 }";
    let (code, said) = refused(percent, &Choices::default());
    assert!(code == "E0635" && said.contains("`x <= 20`"), "{said}");
    let converted = "state x = 0.1 [1], x <= 20 [%]\nx' = 1 [1/s]\nrun { t = 0 .. 3 }";
    let (code, said) = refused(converted, &Choices::default());
    assert!(code == "E0635" && said.contains("`x <= 0.2`"), "{said}");
    let at_once = "state x = 0, x >= 0\nx' = -1e-3\nrun { t = 0 .. 3 }";
    assert_eq!(refused(at_once, &Choices::default()).0, "E0635");
    let event = "state x = 1, x >= 0\nx' = 0\nat 1 { x -= 2 }\nrun { t = 0 .. 3 }";
    let (code, said) = refused(event, &Choices::default());
    assert!(code == "E0635" && said.contains("beyond its bound by 1 "), "{said}");
    let start = "state x = 1, x >= 1.5\nx' = 0\nrun { t = 0 .. 3 }";
    assert_eq!(refused(start, &Choices::default()).0, "E0407");
}

/// A bound that no state reaches changes no bit, except in fused steps.
#[test]
fn a_bound_that_is_never_met_changes_no_bit() {
    let free = "state x = 1, v = 0\nx' = v\nv' = -x\nrun { t = 0 .. 10; samples = 30 }";
    let kept = free.replace("v = 0\n", "v = 0, x >= -5, v <= 7\n");
    for method in ["tsit5", "dop853", "taylor", "rodas5p", "bdf", "abm"] {
        let (a, b) = (solve(free, &with(method, 1e-6, 1e-9)), solve(&kept, &with(method, 1e-6, 1e-9)));
        assert_eq!(rows(&a, "x"), rows(&b, "x"), "{method}");
    }
}

#[test]
fn corrections_at_bounds_are_counted() {
    let text =
        "param c = 0.5\nstate h = 1, s = 1, h >= 0, s >= -1\nh' = -c*sqrt(h)\ns' = -s\nrun { t = 0 .. 6; samples = 3 }";
    let simulation = simulation(text, &with("tsit5", 1e-6, 1e-9)).expect("a model");
    let mut count = Count(0);
    let seen = simulation.run(&mut count).seen;
    let bounds = simulation.bounds(&seen);
    assert_eq!(bounds.len(), 2);
    assert_eq!((bounds[0].text.as_str(), bounds[1].text.as_str()), ("h >= 0", "s >= -1"));
    assert!(bounds[0].pushes > 0 && bounds[0].most > 0.0 && bounds[0].most <= 1e-9, "{bounds:?}");
    assert_eq!(bounds[0].terms, ["-c*sqrt(h)"]);
    assert_eq!((bounds[1].pushes, bounds[1].most), (0, 0.0));
    assert_eq!(count.0, 4);
}

struct Count(u64);

impl odec_sim::sample::Recorder for Count {
    fn row(&mut self, _: &[f64]) -> std::ops::ControlFlow<()> {
        self.0 += 1;
        std::ops::ControlFlow::Continue(())
    }
}
