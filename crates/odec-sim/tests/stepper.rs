//! A model that its host steps frame by frame: the frames of one run, changed values, other directions, failures.

use odec_ode::method::{self, Adaptive};
use odec_sim::bind::Purpose;
use odec_sim::choices::{Choices, StepChoice};
use odec_sim::{Loaded, Session, Simulation, Stepper};

const OSCILLATOR: &str = "param mu = 4, push = 0.5
state x = 2, x' = 0
x'' = mu*(1 - x^2)*x' - x + push*cos(t)
output energy = x'^2/2 + x^2/2
run { t = 0 .. 20; samples = 400 }
";

const CART: &str = "param force = 0 in -20 .. 20, m = 2, c = 0.5
state x = 0, x' = 0
m*x'' = force - c*x'
";

fn load(text: &str) -> Loaded {
    Session::new().load("model.ode", text).expect("a model")
}

fn with_method(name: &str, rtol: f64) -> Choices {
    Choices { method: Some(name.to_string()), rtol: Some(rtol), atol: Some(rtol), ..Choices::default() }
}

fn with_step(name: &str, step: f64) -> Choices {
    Choices { step: Some(StepChoice::Fixed(step)), ..with_method(name, 1e-6) }
}

fn stepper(text: &str, choices: &Choices) -> Stepper {
    suited(text, choices).expect("a method that takes the model")
}

/// `None` if the method does not support the model.
fn suited(text: &str, choices: &Choices) -> Option<Stepper> {
    let refused = |error: odec_sim::Error| assert_eq!(error.diagnostics[0].code.code, "E0613", "{error}");
    load(text).simulate(choices, Purpose::Steps).expect("a simulation").stepper().map_err(refused).ok()
}

#[test]
fn a_discrete_that_no_event_changes_is_read_and_set() {
    let text = "discrete n = 3\nstate x = 0\nx' = n\noutput y = 2*n\nrun { t = 0 .. 10 }\n";
    let mut stepper = stepper(text, &Choices::default());
    assert_eq!((stepper.get("n").unwrap(), stepper.get("y").unwrap()), (3.0, 6.0));
    stepper.advance(1.0).unwrap();
    stepper.set("n", 5.0).unwrap();
    assert_eq!((stepper.get("n").unwrap(), stepper.get("y").unwrap()), (5.0, 10.0));
    stepper.advance(1.0).unwrap();
    assert!((stepper.get("x").unwrap() - 8.0).abs() < 1e-9, "{}", stepper.get("x").unwrap());
}

#[test]
fn frames_are_the_rows_of_one_run() {
    let mut choices: Vec<Choices> =
        ["auto", "dopri5", "vern7", "abm", "bdf", "ndf", "rodas4", "rodas5p", "radau5", "kencarp4", "trapezoidal"]
            .map(|name| with_method(name, 1e-5))
            .into();
    choices.extend(["rk4", "implicit-midpoint", "bdf2", "rodas4"].map(|name| with_step(name, 0.03)));
    for choices in choices {
        let name = format!("{:?}, step {:?}", choices.method, choices.step);
        let run: Simulation = load(OSCILLATOR)
            .simulate(
                &Choices { samples: Some(odec_sim::choices::SampleRule::Count(400)), ..choices.clone() },
                Purpose::Rows,
            )
            .expect("a simulation");
        let solution = run.solve().expect("a run");
        let mut frames = stepper(OSCILLATOR, &choices);
        for (k, row) in solution.rows().enumerate() {
            frames.advance_to(row[0]).expect("a frame");
            // setting an equal value has no effect
            frames.set("push", 0.5).expect("a parameter");
            assert_eq!(frames.time(), row[0]);
            let found = ["x", "x'", "energy"].map(|name| frames.get(name).expect("a value"));
            assert_eq!(found, row[1..], "{name}: frame {k}");
        }
        assert_eq!(frames.stats(), solution.stats, "{name}");
    }
}

/// Place and velocity after a time under a constant force.
fn pushed((x, v): (f64, f64), force: f64, time: f64) -> (f64, f64) {
    let (mass, friction): (f64, f64) = (2.0, 0.5);
    let (limit, fade) = (force / friction, (-friction / mass * time).exp());
    (x + limit * time + (v - limit) * mass / friction * (1.0 - fade), limit + (v - limit) * fade)
}

#[test]
fn every_method_takes_up_a_changed_force_and_a_changed_state_at_the_frame() {
    let mut tried = 0;
    for method in method::table().iter().copied().chain([method::find("auto").expect("auto")]) {
        let mut settings = vec![];
        if method.adaptive != Adaptive::FixedStep {
            let rtol = if method.order < 3 { 1e-5 } else { 1e-8 };
            settings.push((with_method(method.name, rtol), 1e3 * rtol));
        }
        if !["bdf", "abm"].contains(&method.name) {
            settings.push((with_step(method.name, 0.004), if method.order < 2 { 2e-2 } else { 1e-4 }));
        }
        for (choices, bound) in settings {
            let name = format!("{}, step {:?}", method.name, choices.step);
            let Some(mut cart) = suited(CART, &choices) else { continue };
            tried += 1;
            let mut expected = (0.0, 0.0);
            for frame in 0..40 {
                let force = if (frame / 10) % 2 == 0 { 2.0 } else { -1.0 };
                cart.set("force", force).expect("a force");
                if frame == 25 {
                    cart.set("x'", 1.0).expect("a velocity");
                    expected.1 = 1.0;
                }
                let before = cart.time();
                cart.advance(0.0511).expect("a frame");
                expected = pushed(expected, force, cart.time() - before);
                let (x, v) = (cart.get("x").expect("x"), cart.get("x'").expect("x'"));
                let error = (x - expected.0).abs().max((v - expected.1).abs());
                assert!(error <= bound, "{name}: {error:e} in frame {frame}");
            }
        }
    }
    // the symplectic methods require forces without velocities
    assert!(tried > 60, "{tried}");
}

#[test]
fn frames_cost_steps_only_where_something_changes() {
    let cost = |changes: &[u32]| {
        let mut cart = stepper(CART, &with_method("dopri5", 1e-6));
        cart.set("force", 5.0).expect("a force");
        for frame in 0..600 {
            if changes.contains(&frame) {
                cart.set("force", f64::from(frame % 7)).expect("a force");
            }
            cart.advance_to(f64::from(frame + 1) / 60.0).expect("a frame");
        }
        cart.stats()
    };
    let (none, three) = (cost(&[]), cost(&[100, 200, 300]));
    assert!(none.accepted < 40 && none.rhs < 300, "{none:?}");
    // a step that was dropped, and those that grow to the former length again
    assert!(three.accepted <= none.accepted + 3 * 5 && three.rhs <= none.rhs + 3 * 5 * 7, "{three:?} after {none:?}");
}

#[test]
fn a_changed_parameter_updates_the_mass_matrix() {
    let text = "param m = 1, k = 0.5\nstate x = 1, x' = 0\nstate y = 0, y' = 0\n\
        m*x'' + k*y'' = -x\nk*x'' + m*y'' = -y\n";
    for name in ["auto", "dopri5", "rodas4", "bdf", "radau5"] {
        let mut pair = stepper(text, &with_method(name, 1e-8));
        pair.advance_to(1.0).expect("a run");
        let start = ["x", "x'", "y", "y'"].map(|n| pair.get(n).expect("a state"));
        pair.set("m", 3.0).expect("a mass");
        pair.advance_to(2.0).expect("a run");
        // x + y and x - y are oscillators of masses m + k and m - k
        let swing = |q: f64, v: f64, m: f64| {
            let w = (1.0 / m).sqrt();
            q * w.cos() + v / w * w.sin()
        };
        let sum = swing(start[0] + start[2], start[1] + start[3], 3.5);
        let difference = swing(start[0] - start[2], start[1] - start[3], 2.5);
        let (x, y) = (pair.get("x").expect("x"), pair.get("y").expect("y"));
        assert!((x - (sum + difference) / 2.0).abs() < 1e-5, "{name}: {x}");
        assert!((y - (sum - difference) / 2.0).abs() < 1e-5, "{name}: {y}");
    }
}

#[test]
fn a_run_can_be_rewound_from_its_end_and_continued_after_a_failure() {
    let mut decay = stepper("param k = 1\nstate y = 1\ny' = -k*y\nrun { t = 0 .. 1 }\n", &with_method("tsit5", 1e-9));
    for t in [0.3, 1.0, 2.5, 0.7, 0.2, 4.0] {
        decay.advance_to(t).expect("a time");
        let (found, expected) = (decay.get("y").expect("y"), (-t).exp());
        assert!((found - expected).abs() < 1e-6, "{found} at {t}");
    }
    assert!(decay.advance_to(f64::INFINITY).is_err() && decay.advance_to(f64::NAN).is_err());
    // y = 1/(2 - t) has a pole
    let mut pole = stepper("param k = 1\nstate y = 0.5\ny' = k*y^2\n", &with_method("dopri5", 1e-8));
    pole.advance_to(1.9).expect("before the pole");
    assert!((pole.get("y").expect("y") - 10.0).abs() < 1e-4);
    let error = pole.advance_to(3.0).expect_err("the pole");
    assert_eq!(error.class.exit_code(), 3, "{error}");
    let stood = pole.time();
    assert!(stood > 1.9 && stood <= 2.0 + 1e-6, "{stood}");
    pole.set("k", 0.0).expect("a parameter");
    pole.set("y", 7.0).expect("a state");
    pole.advance_to(3.0).expect("it stands still now");
    assert_eq!((pole.time(), pole.get("y").expect("y")), (3.0, 7.0));
}

#[test]
fn the_budget_of_steps_is_that_of_a_call() {
    let choices = Choices { max_steps: Some(60), ..with_method("dopri5", 1e-6) };
    let mut wave = stepper("state x = 1, x' = 0\nx'' = -x\n", &choices);
    for t in 1..=40 {
        wave.advance_to(f64::from(t)).expect("a second");
    }
    assert!(wave.stats().accepted > 60, "{:?}", wave.stats());
    let error = wave.advance_to(400.0).expect_err("too far");
    assert_eq!(error.diagnostics[0].code.code, "E0607");
    assert!(wave.time() > 40.0 && wave.time() < 400.0);
}
