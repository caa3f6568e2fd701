//! A model with events, switches and bounds that its host steps frame by frame.

use odec_sim::bind::Purpose;
use odec_sim::choices::{Choices, SampleRule, StepChoice};
use odec_sim::{Occurrence, Session, Simulation, Stepper};

const BALL: &str = "param g = 9.81, e = 0.8, floor = 0
discrete hits = 0
state h = 1, h' = 0
h'' = -g - (if h < 0.5 then 0.1*h' else 0)
when h < floor { h' := -e*h'; hits += 1 }
every 0.7 { h' += 0.5 }
output double = 2*hits
output low = if h < 0.5 then 1 else 0
run { t = 0 .. 3; samples = 180 }
";

fn choices(method: &str, rtol: f64) -> Choices {
    Choices { method: Some(method.to_string()), rtol: Some(rtol), atol: Some(rtol), ..Choices::default() }
}

fn simulation(text: &str, choices: &Choices, purpose: Purpose) -> Simulation {
    Session::new().load("model.ode", text).expect("a model").simulate(choices, purpose).expect("a simulation")
}

fn stepper(text: &str, choices: &Choices) -> Stepper {
    simulation(text, choices, Purpose::Steps).stepper().expect("a stepper")
}

fn value(model: &Stepper, name: &str) -> f64 {
    model.get(name).expect("a value")
}

#[test]
fn frames_of_a_model_with_events_are_the_rows_of_one_run() {
    let fixed = Choices { step: Some(StepChoice::Fixed(0.01)), ..choices("rk4", 1e-6) };
    let adaptive = ["auto", "dopri5", "vern7", "bdf", "rodas5p", "radau5", "kencarp4", "abm", "taylor"];
    for choices in adaptive.map(|name| choices(name, 1e-6)).into_iter().chain([fixed]) {
        let name = format!("{:?}", choices.method);
        let rows = Choices { samples: Some(SampleRule::Count(180)), ..choices.clone() };
        let solution = simulation(BALL, &rows, Purpose::Rows).solve().expect("a run");
        let mut frames = stepper(BALL, &choices);
        let mut hits = 0;
        for (k, row) in solution.rows().enumerate() {
            frames.advance_to(row[0]).expect("a frame");
            // setting an equal value has no effect
            frames.set("g", 9.81).expect("a parameter");
            hits += frames.events().iter().filter(|occurrence| occurrence.event == 0).count();
            let found = ["h", "h'", "double", "low"].map(|name| value(&frames, name));
            assert_eq!(found, row[1..], "{name}: frame {k} at {}", row[0]);
            assert_eq!((frames.time(), value(&frames, "hits")), (row[0], hits as f64), "{name}");
        }
        assert_eq!(frames.stats(), solution.stats, "{name}");
        assert!(hits >= 4, "{hits}");
    }
}

/// Height and velocity after a free flight.
fn flown((h, v): (f64, f64), time: f64) -> (f64, f64) {
    (h + v * time - 0.5 * 9.81 * time * time, v - 9.81 * time)
}

#[test]
fn a_push_in_the_middle_of_a_step_changes_the_next_event() {
    let text = "state h = 1, h' = 0\ndiscrete hits = 0, last = 0\nh'' = -9.81\n\
                when h < 0 { h' := -0.5*h'; hits += 1; last := t }\n";
    for name in ["auto", "dopri5", "bdf", "rodas5p", "radau5", "tsit5"] {
        let mut ball = stepper(text, &choices(name, 1e-9));
        ball.advance_to(0.3).expect("a frame");
        // before: the floor at 0.4515
        ball.set("h'", 2.0).expect("a push");
        let (h, _) = flown((1.0, 0.0), 0.3);
        let landing = 0.3 + (2.0 + (4.0 + 2.0 * 9.81 * h).sqrt()) / 9.81;
        ball.advance_to(landing - 0.01).expect("a frame");
        assert_eq!((value(&ball, "hits"), ball.events()), (0.0, vec![]), "{name}");
        ball.advance_to(landing + 0.01).expect("a frame");
        assert_eq!(value(&ball, "hits"), 1.0, "{name}");
        assert!((value(&ball, "last") - landing).abs() < 1e-7, "{name}: {:?} {landing}", value(&ball, "last"));
        let [Occurrence { t, event: 0, .. }] = ball.events()[..] else { panic!("{:?}", ball.events()) };
        assert_eq!(t, value(&ball, "last"));
        let (h, v) = flown((0.0, 0.5 * (4.0 + 2.0 * 9.81 * h).sqrt()), 0.01);
        assert!((value(&ball, "h") - h).abs() < 1e-6 && (value(&ball, "h'") - v).abs() < 1e-6, "{name}");
    }
}

#[test]
fn a_value_that_the_host_sets_makes_conditions_true_and_moves_times() {
    let text = "param limit = 10, pause = 4\nstate x = 0\ndiscrete alarms = 0, doses = 0, on = 1\nx' = on\n\
                when x > limit { alarms += 1 }\nat pause { doses += 1 }\nwhen x > 2 after 1 { doses += 10 }\n";
    for name in ["auto", "dopri5", "bdf", "rodas4"] {
        let mut model = stepper(text, &choices(name, 1e-8));
        let of = |model: &Stepper| ["x", "alarms", "doses"].map(|name| value(model, name));
        model.advance_to(1.0).expect("a frame");
        // the condition becomes true by the state
        model.set("x", 11.0).expect("a state");
        model.advance_to(1.5).expect("a frame");
        assert_eq!((value(&model, "alarms"), model.events().len()), (1.0, 1), "{name}");
        model.set("x", 1.0).expect("a state");
        model.advance_to(1.75).expect("a frame");
        // and by a parameter
        model.set("limit", 0.5).expect("a parameter");
        model.advance_to(1.8).expect("a frame");
        assert_eq!(value(&model, "alarms"), 2.0, "{name}");
        // the event of the first change was delayed by 1; a time moves
        model.set("pause", 1.9).expect("a parameter");
        model.advance_to(1.95).expect("a frame");
        assert_eq!(value(&model, "doses"), 1.0, "{name}");
        model.advance_to(2.5).expect("a frame");
        assert_eq!(value(&model, "doses"), 11.0, "{name}");
        // the former time of the event has no effect any more; a discrete holds from now on
        model.set("on", 0.0).expect("a discrete");
        let before = of(&model);
        model.advance_to(5.0).expect("a frame");
        assert_eq!(of(&model)[0], before[0], "{name}");
    }
}

#[test]
fn a_stop_ends_the_run_and_a_bound_holds() {
    let text = "state x = 0\nx' = 1\nwhen x > 1 { stop \"there\" }\n";
    let mut model = stepper(text, &choices("auto", 1e-6));
    model.advance_to(0.5).expect("a frame");
    assert_eq!(model.stopped(), None);
    model.advance_to(3.0).expect("a frame");
    assert_eq!(model.stopped(), Some(0));
    assert!((model.time() - 1.0).abs() < 1e-9 && (value(&model, "x") - 1.0).abs() < 1e-9);
    model.advance_to(4.0).expect("nothing more");
    assert!((model.time() - 1.0).abs() < 1e-9);
    let error = model.advance_to(0.2).expect_err("backwards");
    assert!(error.to_string().contains("forward"), "{error}");

    let mut decay = stepper("param k = 1\nstate x = 1, x >= 0\nx' = -k*x\n", &choices("dopri5", 1e-3));
    for frame in 1..=60 {
        decay.advance_to(f64::from(frame)).expect("a frame");
        assert!(value(&decay, "x") >= 0.0);
    }
    decay.set("x", -1.0).expect("a state");
    assert!(decay.advance_to(61.0).is_err());
}

#[test]
fn a_switch_is_located_and_a_value_may_cross_it() {
    // x' jumps where x passes 1: time and value are exact
    let text = "param push = 1\nstate x = 0\nx' = if x < 1 then push else 2*push\noutput y = if x < 1 then 0 else 1\n";
    for name in ["auto", "tsit5", "bdf", "radau5"] {
        let mut model = stepper(text, &choices(name, 1e-8));
        model.advance_to(1.5).expect("a frame");
        assert!((value(&model, "x") - 2.0).abs() < 1e-7, "{name}");
        model.set("x", 0.25).expect("a state");
        // an output shows the value that was set, even before the next step
        assert_eq!(value(&model, "y"), 0.0, "{name}");
        model.advance_to(2.0).expect("a frame");
        assert!((value(&model, "x") - 0.75).abs() < 1e-7, "{name}: {:?}", value(&model, "x"));
        model.set("push", -1.0).expect("a parameter");
        model.set("x", 1.5).expect("a state");
        model.advance_to(2.5).expect("a frame");
        let x = 1.0 - 0.25;
        assert!((value(&model, "x") - x).abs() < 1e-7, "{name}: {:?}", value(&model, "x"));
    }
}

#[test]
fn discretes_set_before_the_first_step_hold_from_the_start() {
    let text = "param n0 = 2\ndiscrete n = n0\nstate x = 0\nx' = n\nat 1 { n := 0 }\n";
    let mut model = stepper(text, &choices("auto", 1e-8));
    assert_eq!(value(&model, "n"), 2.0);
    model.advance_to(0.5).expect("a frame");
    assert!((value(&model, "x") - 1.0).abs() < 1e-9);
    let mut model = stepper(text, &choices("auto", 1e-8));
    model.set("n", 6.0).expect("a discrete");
    model.advance_to(2.0).expect("a frame");
    assert!((value(&model, "x") - 6.0).abs() < 1e-9);
}

#[test]
fn a_tank_without_a_known_end_runs_dry_and_fills_again() {
    let text = "param inflow = 0\nstate h = 1\ndiscrete emptied = 0\n\
                h' = inflow - (if h > 0 then 0.5*sqrt(h) else 0)\nwhen h <= 0 { emptied := t }\n";
    for name in ["auto", "tsit5", "bdf", "rodas5p", "radau5"] {
        let mut tank = stepper(text, &choices(name, 1e-6));
        for frame in 1..=60 {
            tank.advance_to(0.1 * f64::from(frame)).expect("a frame");
        }
        assert!((value(&tank, "emptied") - 4.0).abs() < 2e-3, "{name}: {}", value(&tank, "emptied"));
        assert!(value(&tank, "h").abs() < 1e-9, "{name}");
        // h rises to (inflow/0.5)^2
        tank.set("inflow", 0.25).expect("a parameter");
        tank.advance_to(60.0).expect("a frame");
        assert!((value(&tank, "h") - 0.25).abs() < 1e-4, "{name}: {}", value(&tank, "h"));
    }
}
