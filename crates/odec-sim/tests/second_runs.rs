//! What a second run costs: it compiles nothing, takes no more steps than the tolerance asks for, and is left out where
//! nobody wants it.

use std::ops::ControlFlow;

use odec_lang::diagnostic::codes;
use odec_ode::problem::SolveError;
use odec_sim::Session;
use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;
use odec_sim::points::Points;
use odec_sim::sample::Recorder;
use odec_sim::session::{Judgement, Simulation, Solved};
use odec_sim::sweep::{Collector, Done};

use crate::monitor::{codes as codes_of, simulation, typed, warnings};

pub struct Ignored;

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

/// An implicit method stays at an unstable equilibrium, and so does a second run with a smaller tolerance.
#[test]
fn a_run_that_stays_at_an_unstable_equilibrium_is_told_its_longest_step() {
    let ignition = "state T = 1, Y = 1\nT' = 50*Y*(T - 1)*(1.5 - T) + 1e-9 - 2*(T - 1)*(if t < 4 then 50 else 0)\n\
                    Y' = -0.2*Y*(T - 1)\nrun { t = 0 .. 10; METHOD }\n";
    let switch = "param e = 0.01\nstate y = -1, z = 0\ny' = (1 - y^2)/e*(t - 0.5)*0.2 + 1e-12\nz' = y\n\
                  run { t = 0 .. 3; METHOD }\n";
    let allee = "state N = 0.3, z = 0.3, r = 0\nN' = 20*N*(1 - N)*(N - 0.3)*(r - 1) + 1e-8\nz' = -3e3*(z - N)\nr' = 1\n\
                 run { t = 0 .. 6; METHOD }\n";
    for (model, method) in [
        (ignition, "rtol = 1e-4"),
        (ignition, "rtol = 1e-6"),
        (ignition, "method = radau5; rtol = 1e-6"),
        (switch, "method = bdf; rtol = 1e-6"),
        (allee, "method = bdf; rtol = 1e-6"),
    ] {
        let text = model.replace("METHOD", method);
        let list = warnings(&text);
        let d = list.iter().find(|d| d.code.code == "W0622").unwrap_or_else(|| panic!("{text}"));
        let entry = typed(d, "max_step");
        if method == "rtol = 1e-6" {
            // a series with mpmath and DOP853 of SciPy for T - 1: Y(10) = 0.60162059
            let mended = text.replace(" }", &format!("; {entry} }}"));
            let solution = simulation(&mended).solve().expect("a run");
            let last = solution.column("Y").expect("Y").last().expect("a row");
            assert!((last - 0.601_620_59).abs() < 1e-6, "{last}: {mended}");
        }
    }
}

/// Errors that the first part of a run, or the equations at single points, do not show.
#[test]
fn errors_that_grow_late_or_unseen_start_a_whole_second_run() {
    let models = [
        // 60 unknowns, chaos within few steps
        (
            "const N = 60\nindex i = 1..N\nstate x[i] = 8 + 0.01*sin(i)\nboundary periodic i\n\
          x[i]' = (x[i+1] - x[i-2])*x[i-1] - x[i] + 8\nrun { t = 0 .. 8; TOL }\n",
            "1e-4",
        ),
        (
            "state x = 1, y = 1, z = 1, q = 1\nx' = 10*(y - x)\ny' = x*(28 - z) - y\nz' = x*y - 8/3*z\nq' = -2e4*(q - x)\n\
          run { t = 0 .. 16; TOL }\n",
            "1e-6",
        ),
        // a parametric resonance
        (
            "state x = 1e-8, v = 0\nx' = v\nv' = -(1 + 0.4*cos(2*t))*x - 0.05*v - 0.1*x^3\nrun { t = 0 .. 250; TOL }\n",
            "1e-6",
        ),
        // the error of the period grows with the square of the time
        ("state x = 2, v = 0\nx' = v\nv' = -sin(x)\nrun { t = 0 .. 1000; samples = 300; TOL }\n", "1e-4"),
    ];
    for (model, rtol) in models {
        let text = model.replace("TOL", &format!("rtol = {rtol}"));
        assert!(codes_of(&text).contains(&"W0622"), "{text}");
    }
}

/// x passes a bottleneck and then has a pole: an error in the time of the pole is one in the rows before it.
#[test]
fn rows_before_a_pole_are_compared() {
    let text = "state x = -3, y = 0\nx' = 1e-6 + x^2 - 0.1*x^4/(1 + x^2)\ny' = x - y\n\
                run { t = 0 .. 4000; samples = 300; rtol = 1e-6; method = bdf }\n";
    let simulation = simulation(text);
    let Solved { result, seen } = simulation.run(&mut Ignored);
    let Err(SolveError::Failed(failure)) = result else { panic!("{result:?}") };
    let list = simulation.warnings_before_failure(&failure, &seen, &|| false).warnings;
    assert!(list.iter().any(|d| d.code.code == "W0622"), "{list:?}");
}

/// Whether a model has a second run depends on the methods of its run, and not on the derivatives that were compiled before.
#[test]
fn derivatives_that_were_compiled_before_change_no_second_run() {
    let text = "const N = 60\nindex i = 1..N\nstate x[i] = 8 + 0.01*sin(i)\nboundary periodic i\n\
                x[i]' = (x[i+1] - x[i-2])*x[i-1] - x[i] + 8\nrun { t = 0 .. 2 }\n";
    let alone = judged(&simulation(text)).1.second_run.expect("a short run of an explicit method");
    let compiled = simulation(text);
    let bound = compiled.bound();
    let matrix = odec_sim::spectrum::linearised(&bound.executor, 0.0, &bound.problem.y0);
    assert!(matrix.is_some() && bound.executor.has_made_jacobian());
    let second = judged(&compiled).1.second_run.expect("the same run");
    assert_eq!((second.method, second.steps, second.rtol), (alone.method, alone.steps, alone.rtol));
}

/// z rises to 1e9 and returns to 1 between the rows: the steps at 1e9 leave an error of about 0.1.
#[test]
fn large_values_between_rows_leave_errors_in_them() {
    let burst = "param A = 1e9\nstate z = 1\nz' = -2*A*(t - 5)*exp(-(t - 5)^2)\nrun { t = 0 .. 100; samples = ROWS }\n";
    assert!(codes_of(&burst.replace("ROWS", "[20, 40, 60, 100]")).contains(&"W0622"));
    // rows at which z is large have larger tolerances
    assert!(!codes_of(&burst.replace("ROWS", "[4.5, 5, 20, 40]")).contains(&"W0622"));
    let choices = Choices { open: vec!["A".to_owned()], ..Choices::default() };
    let loaded = Session::new().load("burst.ode", &burst.replace("ROWS", "[20, 40]")).expect("a model");
    let points = Points::listed(&["A".to_owned()], vec![7e8, 1e9]).expect("points");
    let simulation = loaded.simulate(&choices, Purpose::Rows).expect("a simulation");
    let job = simulation.sweep(&points, &|| false, &|| 0.0);
    let mut codes = Codes(vec![]);
    job.run(1, &mut codes);
    assert_eq!(codes.0.iter().filter(|code| **code == "W0622").count(), 2, "{:?}", codes.0);
}

/// With more than 40 unknowns, growth is seen through differences of f by groups of columns, in long and in short runs,
/// and through df/dy in stiff ones.
#[test]
fn chaos_beside_many_decays_is_found() {
    let lorenz = "const N = COUNT\nindex i = 1..N\nstate x, y, z = 1, u[i] = 0.5\nx' = 10*(y - x)\ny' = x*(28 - z) - y\n\
                  z' = x*y - 8/3*z\nu[i]' = RATE*(x*i/N - u[i])\nrun { t = 0 .. END; samples = 20; MORE }\n";
    let text = |count: u32, rate: &str, end: u32, more: &str| {
        let text = lorenz.replace("COUNT", &count.to_string()).replace("RATE", rate);
        text.replace("END", &end.to_string()).replace("MORE", more)
    };
    for (count, rate, end, more) in [
        (45, "1", 20, ""),
        (60, "1", 20, ""),
        (45, "1", 25, "rtol = 1e-8; atol = 1e-11"),
        (100, "1", 25, "rtol = 1e-8; atol = 1e-11"),
        (50, "1000", 20, ""),
        (120, "1000", 20, ""),
    ] {
        let text = text(count, rate, end, more);
        assert!(codes_of(&text).contains(&"W0622"), "{text}");
    }
    // decays alone amplify nothing, in as many steps
    let calm = text(60, "1", 200, "").replace("28 - z", "0.5 - z");
    assert!(!codes_of(&calm).contains(&"W0622"), "{calm}");
}

/// An energy of 1 J that was 9e8 J between the rows: an error as large as the value in the rows is no chaos, and a smaller
/// tolerance helps.
#[test]
fn values_that_were_large_between_rows_need_a_smaller_tolerance() {
    let store = "param P = 5e6\nstate E = 0\n\
                 E' = P*(exp(-((t - 600)/100)^2) - exp(-((t - 2400)/100)^2))\n\
                 at 1 { E += 1 }\nrun { t = 0 .. 3600; samples = 1 }\n";
    let list = judged(&simulation(store)).1.warnings;
    let d = list.iter().find(|d| d.code.code == "W0622").expect("a warning");
    let text = format!("{} {}", d.headline, d.help.as_deref().unwrap_or_default());
    assert!(text.contains("far larger between the rows") && text.contains("--rtol 1e-12"), "{text}");
}

/// A neuron fires 90,000 times: each instant has an error, and they add up. The first part of a second run shows two
/// tolerances.
#[test]
fn errors_of_instants_that_add_up_late_are_found() {
    let text = "discrete n = 0\nstate V = 0\nV' = 1.5 - V\nwhen V > 1 { V := 0; n += 1 }\nrun { t = 0 .. 100000 }\n";
    assert!(codes_of(text).contains(&"W0622"));
}

/// A division at one of 420 instants has a divisor that nearly vanishes.
#[test]
fn a_rare_event_that_amplifies_errors_is_among_those_examined() {
    let text = "discrete n = 0, g = 0\nstate x = 0, v = 1\nx' = v\nv' = -x\nevery 0.5 { n += 1 }\n\
                at 77.1 { g := 1/(0.9914343778187099 + 1e-5 - x) }\noutput g, n\nrun { t = 0 .. 210 }\n";
    let list = warnings(text);
    assert!(list.iter().any(|d| d.code == "W0622" && d.headline.starts_with("`g` amplifies")), "{list:?}");
}

/// An output is a step of width 1e-7, and a row lies in it: with few rows all are examined, with many those at the
/// largest change.
#[test]
fn a_row_in_a_steep_part_of_an_output_is_examined() {
    for rows in [400, 4000] {
        let text = format!(
            "state x = 1, v = 0\nx' = v\nv' = -0.01*x\noutput p = atan((x - cos(0.1*37.5))*1e7)\n\
             run {{ t = 0 .. 100; samples = {rows} }}\n"
        );
        assert!(codes_of(&text).contains(&"W0622"), "{rows}");
    }
}

/// The errors of Adams methods hardly become smaller with the tolerance where steps repeat, so another method compares them.
#[test]
fn adams_methods_are_compared_with_another_method() {
    let text = "param a = 10\nstate x, y, z = 1\nx' = a*(y - x)\ny' = x*(28 - z) - y\nz' = x*y - 8/3*z\n\
                run { t = 0 .. 10; method = abm; samples = 200 }\n";
    let second = judged(&simulation(text)).1.second_run.expect("errors that grow");
    assert_ne!(second.method, "abm");
}

/// The far end of a front starts at 1e-52. Explicit steps multiply it by the right factor, and the rows are right.
#[test]
fn small_values_that_explicit_steps_follow_give_no_warning() {
    let text = "const N = 60\nindex i = 1..N\nstate u[i] = exp(-i*2)\n\
                u[i]' = (u[i-1] - 2*u[i] + u[i+1]) + 5*u[i]*(1 - u[i])\nboundary clamp i\nrun { t = 0 .. 8 }\n";
    let list = codes_of(text);
    assert!(!list.contains(&"W0606") && !list.contains(&"W0622"), "{list:?}");
}

/// With one row, only the values that an event stores show its error: the time at which x passes 0.01.
#[test]
fn a_time_that_an_event_stores_has_an_error() {
    for method in ["euler", "bdf2", "heun"] {
        let text = format!(
            "discrete tc = 0\nstate x = 1\nx' = -x\nwhen x < 0.01 {{ tc := t }}\noutput tc\n\
             run {{ t = 0 .. 8; samples = 1; method = {method} }}\n"
        );
        let (_, judgement) = judged(&simulation(&text));
        let d = judgement.warnings.iter().find(|d| d.code.code == "W0622").expect("a warning");
        assert!(d.headline.contains("tc"), "{}", d.headline);
    }
    // accurate, and with a row between the two times
    let exact = "discrete tc = 0\nstate x = 1\nx' = -x\nwhen x < 0.01 { tc := t }\noutput tc\n";
    for run in ["t = 0 .. 8; samples = 1", "t = 0 .. ln(100); samples = 1", "t = 0 .. ln(100) + 1e-7; samples = 1"] {
        let (_, judgement) = judged(&simulation(&format!("{exact}run {{ {run} }}\n")));
        assert!(judgement.warnings.iter().all(|d| d.code.code != "W0622"), "{run}");
    }
}

/// Nothing happens between the events, so both runs would repeat the same rounding errors.
#[test]
fn chaos_through_events_alone_is_told() {
    let maps = [
        "state y = 0.3\ny' = 0\nevery 1 from 1 { y := 3.9*y*(1 - y) }\n",
        "discrete n = 0.5\nstate s = 1\ns' = -s\nevery 1 from 1 { n := n*exp(3*(1 - n)) }\noutput n\n",
        "state x = 0, y = 0\nx' = 0\ny' = 0\nevery 1 from 1 { x := 1 - 1.4*x^2 + y; y := 0.3*x }\n",
    ];
    for map in maps {
        let found = |end: u32| {
            let (_, judgement) = judged(&simulation(&format!("{map}run {{ t = 0 .. {end}; samples = 50 }}\n")));
            judgement.warnings.into_iter().find(|d| d.code.code == "W0622")
        };
        let d = found(100).unwrap_or_else(|| panic!("{map}"));
        let help = d.help.as_deref().unwrap_or_default();
        assert!(!help.contains("rtol ="), "no tolerance helps: {help}");
        assert!(found(20).is_none(), "{map}");
    }
    // a map that settles, and counters, whose values are exact
    for calm in [
        "state y = 0.3\ny' = 0\nevery 1 from 1 { y := 2.9*y*(1 - y) }\n",
        "discrete n = 0\nstate y = 1\ny' = -y\nevery 1 from 1 { n += 1; y += 1 }\noutput n\n",
    ] {
        let (_, judgement) = judged(&simulation(&format!("{calm}run {{ t = 0 .. 100; samples = 50 }}\n")));
        assert!(judgement.warnings.iter().all(|d| d.code.code != "W0622"), "{calm}");
    }
}

/// A few long steps pass over all of a growth that begins at a switch; in a sweep too.
#[test]
fn a_few_long_steps_over_a_growth_are_told() {
    let spot = |method: &str| {
        format!(
            "param c = 100\nstate T = 1, Y = 1\nT' = 50*Y*(T - 1)*(1.5 - T) + 1e-9 - (if t < 2 then c*(T - 1) else 0)\n\
             Y' = -0.2*Y*(T - 1)\nrun {{ t = 0 .. 10; samples = 50; method = {method} }}\n"
        )
    };
    for method in ["bdf", "radau5", "rodas5p", "auto"] {
        let found = codes_of(&spot(method));
        assert!(found.contains(&"W0622"), "{method} {found:?}");
    }
}

/// Infections that are imported from nothing: `auto` follows them, and the second run with another method must too.
#[test]
fn what_starts_at_nothing_is_compared_with_its_own_tolerance() {
    let text = "state S = 1, I = 0\nS' = -3*S*I + 0.02*(1 - S)\nI' = 3*S*I - I + 1e-9\n\
                run { t = 0 .. 100; rtol = 1e-8; atol = 1e-9 }\n";
    let (_, judgement) = judged(&simulation(text));
    assert!(judgement.warnings.iter().all(|d| d.code.code != "W0622"), "{:?}", judgement.second_run);
}
