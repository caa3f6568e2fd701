//! What a second run costs: it compiles nothing, takes no more steps than the tolerance asks for, and is left out where
//! nobody wants it.

use std::ops::ControlFlow;

use odec_lang::diagnostic::codes;
use odec_sim::Session;
use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;
use odec_sim::points::Points;
use odec_sim::sample::Recorder;
use odec_sim::session::{Judgement, Simulation, Solved};
use odec_sim::sweep::{Collector, Done};

use crate::monitor::simulation;

struct Ignored;

impl Recorder for Ignored {
    fn row(&mut self, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The steps of a run and what its second run showed.
fn judged(simulation: &Simulation) -> (u64, Judgement) {
    let Solved { result, seen } = simulation.run(&mut Ignored);
    let steps = result.expect("a run").stats.accepted;
    (steps, simulation.warnings_of_rows(&seen, &|| false))
}

/// At `rtol` 1e-6, `auto` takes steps of `vern7`, and at smaller tolerances those of a Taylor series.
#[test]
fn a_second_run_compiles_no_series() {
    let planet = "state x = 0.5, y = 0, u = 0, v = sqrt(3)\nx' = u\ny' = v\nu' = -x/hypot(x, y)^3\n\
                  v' = -y/hypot(x, y)^3\nrun { t = 0 .. 40; samples = 40 }\n";
    let simulation = simulation(planet);
    let Solved { result, seen } = simulation.run(&mut Ignored);
    let (steps, before) = (result.expect("a run").stats.accepted, simulation.bound().executor.code_bytes());
    let second = simulation.warnings_of_rows(&seen, &|| false).second_run.expect("errors grow");
    assert!(second.steps > steps && second.rtol < 1e-6, "{steps} {second:?}");
    assert!(before.is_some());
    assert_eq!(simulation.bound().executor.code_bytes(), before);
}

/// A population is harvested 16 times; x is off by 13 tolerances at the end, and by 8e-7 with a tenth of the tolerance.
#[test]
fn errors_that_an_implicit_method_repeats_after_events_are_found() {
    let text = "param r = 0.8, K = 10\nstate x = 1\nx' = r*x*(1 - x/K)\nwhen x > 8 { x := 0.35*x }\n\
                run { t = 0 .. 50; samples = 97; method = rodas5p }\n";
    let (_, judgement) = judged(&simulation(text));
    let second = judgement.second_run.expect("events");
    assert!(second.method == "radau5" && second.difference > 10.0, "{second:?}");
}

/// The equations along an eccentric orbit grow fast near the sun, and shrink again: a smaller tolerance helps. In a
/// chaotic model it does not.
#[test]
fn the_course_of_the_second_run_says_whether_a_smaller_tolerance_helps() {
    let help = |text: &str| {
        let (_, judgement) = judged(&simulation(text));
        let found = judgement.warnings.iter().find(|d| d.code == &codes::W0622);
        found.and_then(|d| d.help.clone()).unwrap_or_default()
    };
    let orbit = "const e = 0.9\nstate r = (1 - e, 0), r' = (0, sqrt((1+e)/(1-e)))\nr'' = -r/norm(r)^3\n\
                 run { t = 0 .. 62.83; samples = 300 }\n";
    assert!(help(orbit).contains("--rtol 1e-9"), "{}", help(orbit));
    let lorenz = "state x = 1, y = 1, z = 1\nx' = 10*(y - x)\ny' = x*(28 - z) - y\nz' = x*y - 8/3*z\n\
                  run { t = 0 .. 60; samples = 600 }\n";
    assert!(help(lorenz).contains("only delay this"), "{}", help(lorenz));
}

/// Along this orbit, errors grow by a factor of 200: those of `auto` are too small for that to matter, those of a named
/// method are not.
#[test]
fn moderate_growth_alone_does_not_make_auto_run_twice() {
    let text = include_str!("../../../models/kuramoto.ode");
    assert!(judged(&simulation(text)).1.second_run.is_none());
    let named = text.replace("run {", "run { method = rodas5p;");
    assert!(judged(&simulation(&named)).1.second_run.is_some());
}

/// The tolerance determines the steps between the few events of this model, and no largest step does.
#[test]
fn few_events_do_not_make_the_steps_of_a_second_run_short() {
    let (steps, judgement) = judged(&simulation(include_str!("../../../models/mapk_cascade.ode")));
    let second = judgement.second_run.expect("errors that grow");
    assert_eq!(second.t, 6000.0);
    assert!(10 * second.steps < 23 * steps, "{steps} {second:?}");
}

/// Collects the codes of all warnings of a sweep.
struct Codes(Vec<&'static str>);

impl Collector for Codes {
    fn run(&mut self, _: u64, _: &[f64], _: &[f64], done: &Done) -> ControlFlow<()> {
        self.0.extend(done.warnings.iter().map(|d| d.code.code));
        ControlFlow::Continue(())
    }
}

#[test]
fn a_library_leaves_out_second_runs() {
    let text = "param a = 10\nstate x, y, z = 1\nx' = a*(y - x)\ny' = x*(28 - z) - y\nz' = x*y - 8/3*z\n\
                run { t = 0 .. 40; samples = 200 }\n";
    let alone = simulation(text);
    let Solved { seen, .. } = alone.run(&mut Ignored);
    assert!(alone.warnings_of_rows(&seen, &|| false).warnings.iter().any(|d| d.code == "W0622"));
    assert!(alone.warnings(&seen, &|| false).iter().all(|d| d.code != "W0622"));

    let points = Points::listed(&["a".to_owned()], vec![10.0, 10.5]).expect("points");
    let choices = Choices { open: vec!["a".to_owned()], ..Choices::default() };
    let loaded = Session::new().load("lorenz.ode", text).expect("a model");
    let simulation = loaded.simulate(&choices, Purpose::Rows).expect("a simulation");
    for wanted in [true, false] {
        let mut job = simulation.sweep(&points, &|| false, &|| 0.0);
        job.second_runs = wanted;
        let mut codes = Codes(vec![]);
        job.run(1, &mut codes);
        assert_eq!(codes.0.contains(&"W0622"), wanted, "{:?}", codes.0);
    }
}

/// The decaying solution of Airy's equation: errors grow like the other solution. Their components have the signs of the
/// decay if they are chosen badly.
#[test]
fn errors_in_the_direction_of_a_decay_do_not_hide_those_that_grow() {
    let airy = "state y = 0.355028053887817, v = -0.258819403792807\ny' = v\nv' = t*y\n";
    // y = t*exp(-t): an error of y at the start decays with it, later ones grow
    let coulomb = "state y = 0.36787944117144233, v = 0\ny' = v\nv' = (1 - 2/t)*y\n";
    for (model, run) in [
        (airy, "run { t = 0 .. 8; rtol = 1e-6 }\n"),
        (airy, "run { t = 0 .. 8; rtol = 1e-5; method = tsit5 }\n"),
        (coulomb, "run { t = 1 .. 12; rtol = 1e-4; method = tsit5 }\n"),
        (coulomb, "run { t = 1 .. 12; rtol = 1e-4; method = rodas5p }\n"),
    ] {
        let (_, judgement) = judged(&simulation(&format!("{model}{run}")));
        assert!(judgement.warnings.iter().any(|d| d.code == &codes::W0622), "{model}{run}");
    }
}

/// The numbers of a seasonal epidemic: a second run with `radau5` is off by more than the run itself.
#[test]
fn errors_of_the_second_run_are_not_blamed_on_the_first() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/problems/seir_seasonal.ode"));
    let text = text.expect("the problem");
    let begin = text.find("run {").expect("a run block");
    let end = begin + text[begin..].find('}').expect("its end");
    let block = &text[begin..end];
    let span = block[block.find("t =").expect("a span")..].split(';').next().expect("a span");
    let text = format!("{}run {{ {span}; rtol = 1e-8; atol = 1e-11; samples = 1000 }}\n", &text[..begin]);
    let (_, judgement) = judged(&simulation(&text));
    let wrong = judgement.warnings.iter().any(|d| d.code == &codes::W0622);
    assert!(!wrong && judgement.second_run.is_some(), "{:?}", judgement.second_run);
}
