//! Methods measured by a program that embeds odec: it provides its own clock, and receives counts, errors and costs.

use std::cell::Cell;

use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;
use odec_sim::compare::End;
use odec_sim::reference::Unfinished;
use odec_sim::timing::{self, Measurements};
use odec_sim::work::{self, Comparison, Watch};
use odec_sim::{Session, Simulation};

fn decay() -> Simulation {
    let text = "state y = 1\ny' = -y\nrun { t = 0 .. 2 }\n";
    Session::new()
        .load("decay.ode", text)
        .expect("a model")
        .simulate(&Choices::default(), Purpose::Rows)
        .expect("a run")
}

#[test]
fn methods_are_compared_by_the_clock_of_the_host() {
    let simulation = decay();
    // a clock that advances by a second at each reading: a run lasts one second, and is not repeated
    let now = Cell::new(0.0);
    let clock = || {
        now.set(now.get() + 1.0);
        now.get()
    };
    let watch = Watch { clock: &clock, stop: &|| false };
    let methods = work::methods(&["dopri5", "bdf"]).expect("methods");
    let comparison = Comparison::new(simulation.bound(), &methods, Some(1e-5), watch).expect("a comparison");
    assert_eq!(comparison.options.rtol, 1e-5);
    for row in &comparison.rows {
        assert!(matches!(row.measured.end, End::Reached) && row.seconds == 1.0, "{}", row.method.name);
        assert!(row.measured.error < 1e-3 && row.measured.error > comparison.reference.error);
    }
    let curves = comparison.curves().expect("curves");
    assert_eq!(curves.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["dopri5", "bdf"]);
    for (name, points) in &curves {
        assert!(points.len() >= 4, "{name}: {points:?}");
        assert!(points.windows(2).all(|p| p[1].rhs >= p[0].rhs), "{name}: {points:?}");
    }
    assert_eq!(work::methods(&[]).expect("the usual ones").len(), work::DEFAULT.len());
    assert!(work::methods(&["all"]).expect("all").len() > 30);
    assert!(work::methods(&["rk5"]).is_err());
}

#[test]
fn costs_are_counted_and_an_interrupt_ends_them() {
    let simulation = decay();
    let watch = Watch { clock: &|| 0.0, stop: &|| false };
    let methods = work::methods(&["dopri5", "rodas4"]).expect("methods");
    let schedule = Measurements { methods, rtols: vec![1e-4, 1e-6], repeat: 3, budget: None };
    let (reference, costs) = timing::costs(simulation.bound(), &schedule, watch).expect("costs");
    assert!(reference.error < 1e-10);
    assert_eq!(costs.iter().map(|c| c.seconds.len()).collect::<Vec<_>>(), [3; 4]);
    assert_eq!(costs[0].minimum(), Some(0.0));
    assert!(costs[0].error > costs[1].error && costs[0].stats.accepted < costs[1].stats.accepted);
    assert!(costs[2].stats.jacobians > 0 && costs[0].stats.jacobians == 0);
    let watch = Watch { stop: &|| true, ..watch };
    assert!(matches!(timing::costs(simulation.bound(), &schedule, watch), Err(Unfinished::Interrupted)));
    let watch = Watch { stop: &|| false, ..watch };
    let few = Measurements { budget: Some(2), ..schedule };
    let (_, costs) = timing::costs(simulation.bound(), &few, watch).expect("costs");
    assert!(costs.iter().all(|c| matches!(c.end, End::Failed(_)) && c.median().is_none()));
}

#[test]
fn steps_do_not_depend_on_the_unit_of_time() {
    let steps = |method: &str, rtol: f64, exponent: i32| {
        let text = format!(
            "param s = 2^({exponent})\nstate x = 1, v = 0, z = 1\nx' = s*v\nv' = -s*x\nz' = -s*3*(z - x^2)\n\
             run {{ t = 0 .. 20/s; rtol = {rtol:e}; method = {method} }}\n"
        );
        let loaded = Session::new().load("scaled.ode", &text).expect("a model");
        let solution = loaded.simulate(&Choices::default(), Purpose::Rows).expect("a run").solve().expect("an end");
        let last = solution.rows().last().expect("rows")[1..].to_vec();
        (solution.stats.accepted, solution.stats.rejected, last)
    };
    for (method, rtol) in [
        ("auto", 1e-4),
        ("auto", 1e-6),
        ("auto", 1e-9),
        ("taylor", 1e-6),
        ("taylor", 1e-9),
        ("taylor", 1e-12),
        ("tsit5", 1e-6),
        ("heun", 1e-4),
        ("abm", 1e-6),
        ("rodas5p", 1e-6),
        ("radau5", 1e-6),
        ("bdf", 1e-6),
    ] {
        let (accepted, rejected, known) = steps(method, rtol, 0);
        for exponent in [-47, -40, -33, -30, 30, 33, 40, 47] {
            let found = steps(method, rtol, exponent);
            assert_eq!((found.0, found.1), (accepted, rejected), "{method} at {rtol:e}, 2^{exponent}");
            let off = found.2.iter().zip(&known).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 0.1 * rtol, "{method} at {rtol:e}, 2^{exponent}: {off:e}");
        }
    }
}
