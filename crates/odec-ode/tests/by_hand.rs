//! Systems that a user writes by hand: their length, methods that solve them, and refusals if parts are left out.

use std::ops::ControlFlow;

use odec_ode::hybrid::{
    Event, HybridError, HybridEvents, HybridRelations, HybridRunner, HybridSystem, HybridTimes, Observer, Point,
    Relation, Write,
};
use odec_ode::linear::UnsuitableSolver;
use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Jacobian, Shape, System};
use odec_ode::{Options, Outcome, Problem, Refusal, Samples, Sink, SolveError, method, solve};

// begin
struct VanDerPol(Pattern);

impl System for VanDerPol {
    fn shape(&self) -> Shape {
        Shape { n: 2, second: 0 }
    }
    fn rhs(&self, _: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        f.copy_from_slice(&[y[1], 100.0 * (1.0 - y[0] * y[0]) * y[1] - y[0]]);
        Ok(())
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.0)
    }
    fn jacobian_values(&self, _: f64, y: &[f64], df: &mut [f64]) -> Result<(), EvalError> {
        df.copy_from_slice(&[-200.0 * y[0] * y[1] - 1.0, 1.0, 100.0 * (1.0 - y[0] * y[0])]);
        Ok(())
    }
}
// end

struct Ignore;

impl Sink for Ignore {
    fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn run(system: &dyn System, t_end: f64, y0: &[f64], name: &str, rtol: f64) -> Result<Outcome, SolveError> {
    let problem = Problem { t0: 0.0, t_end, y0: y0.to_vec() };
    let options = Options { rtol, atol: vec![rtol], ..Options::default() };
    solve(system, &problem, method::find(name).unwrap(), &options, &Samples::Steps, &mut Ignore)
}

#[test]
fn a_system_of_twenty_lines_is_solved_by_every_kind_of_method() {
    let lines: Vec<&str> = include_str!("by_hand.rs").lines().collect();
    let line = |text: &str| lines.iter().position(|l| *l == text).unwrap();
    let own = lines[line("// begin") + 1..line("// end")].iter().filter(|l| !l.is_empty()).count();
    assert!(own <= 20, "{own} lines");
    let system = VanDerPol(Pattern::from_positions(2, 2, [(1, 0), (0, 1), (1, 1)]));
    for name in ["tsit5", "rodas4", "bdf", "radau5", "kencarp4", "auto"] {
        let outcome = run(&system, 50.0, &[2.0, 0.0], name, 1e-7).unwrap();
        let error = (outcome.y[0] - REFERENCE).abs();
        assert!(error < 1e-4, "{name}: {error:e}");
    }
}

/// y_1(50), by the classical method of order 4 with steps of 1e-3.
const REFERENCE: f64 = 1.596_824_041;

/// y' = -50 (y - cos t), with df/dy only.
struct Forced(Pattern);

impl System for Forced {
    fn shape(&self) -> Shape {
        Shape { n: 1, second: 0 }
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        f[0] = -50.0 * (y[0] - t.cos());
        Ok(())
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.0)
    }
    fn jacobian_values(&self, _: f64, _: &[f64], df: &mut [f64]) -> Result<(), EvalError> {
        df[0] = -50.0;
        Ok(())
    }
}

#[test]
fn omitted_derivatives_are_computed_from_f() {
    let system = Forced(Pattern::from_positions(1, 1, [(0, 0)]));
    // y = (2500 cos t + 50 sin t)/2501 + c exp(-50 t)
    let exact = (2500.0 * 2f64.cos() + 50.0 * 2f64.sin()) / 2501.0;
    for name in ["rodas4", "rodas5p", "linearised-backward-euler"] {
        let rtol = if name == "linearised-backward-euler" { 1e-4 } else { 1e-8 };
        let outcome = run(&system, 2.0, &[0.0], name, rtol).unwrap();
        let error = (outcome.y[0] - exact).abs();
        assert!(error < 100.0 * rtol, "{name}: {error:e}");
    }
    let mut product = [0.0];
    system.jacobian_vector(0.0, &[0.0], &[2.0], &mut product).unwrap();
    assert_eq!(product, [-100.0]);
    let mut slope = [0.0];
    system.time_derivative(1.0, &[0.0], &mut slope).unwrap();
    assert!((slope[0] + 50.0 * 1f64.sin()).abs() < 1e-5, "{slope:?}");
}

/// y' = -y, with f only.
struct Decay;

impl System for Decay {
    fn shape(&self) -> Shape {
        Shape { n: 1, second: 0 }
    }
    fn rhs(&self, _: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        f[0] = -y[0];
        Ok(())
    }
}

#[test]
fn without_a_jacobian_implicit_methods_refuse() {
    for &method in method::table() {
        let outcome = run(&Decay, 1.0, &[1.0], method.name, 1e-5);
        match outcome {
            Ok(outcome) => {
                assert!(!method.structure.jacobian, "{}", method.name);
                assert!((outcome.y[0] - (-1f64).exp()).abs() < 1e-2, "{}", method.name);
            }
            Err(SolveError::Refused(Refusal::Linear(misfit))) => {
                assert!(method.structure.jacobian, "{}", method.name);
                assert_eq!(misfit, UnsuitableSolver::JacobianNotHeld { n: 1 }, "{}", method.name);
            }
            // no second order, no series
            Err(SolveError::Refused(Refusal::Unsuitable { .. })) => {}
            Err(other) => panic!("{}: {other:?}", method.name),
        }
    }
    assert!(run(&Decay, 1.0, &[1.0], "tsit5", 1e-6).is_ok());
}

/// A falling point with a relation and events, none of which it computes.
struct Incomplete {
    modes: Vec<f64>,
    relations: Vec<Relation>,
    events: Vec<Event>,
}

impl System for Incomplete {
    fn shape(&self) -> Shape {
        Shape { n: 1, second: 0 }
    }
    fn rhs(&self, _: f64, _: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        f[0] = -1.0;
        Ok(())
    }
}

impl HybridSystem for Incomplete {
    fn system(&self) -> &dyn System {
        self
    }
    fn modes(&self) -> &[f64] {
        &self.modes
    }
    fn modes_mut(&mut self) -> &mut [f64] {
        &mut self.modes
    }
}

impl HybridRelations for Incomplete {
    fn relations(&self) -> &[Relation] {
        &self.relations
    }
}

impl HybridEvents for Incomplete {
    fn events(&self) -> &[Event] {
        &self.events
    }
}

impl HybridTimes for Incomplete {
    fn lists(&self) -> usize {
        1
    }
    fn times(&self, _: usize) -> odec_ode::hybrid::Times<'_> {
        odec_ode::hybrid::Times::List(&[0.5])
    }
}

impl Observer for Ignore {
    fn row(&mut self, _: Point<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn failure(modes: usize, relations: usize, events: Vec<Event>) -> String {
    let mut system = Incomplete { modes: vec![0.0; modes], relations: vec![Relation::default(); relations], events };
    let options = Options::default();
    let run = HybridRunner::new(&system, method::find("tsit5").unwrap(), &options).and_then(|mut runner| {
        let problem = Problem { t0: 0.0, t_end: 1.0, y0: vec![1.0] };
        runner.run(&mut system, &problem, &Samples::Steps, &mut Ignore)
    });
    match run {
        Ok(outcome) => panic!("{outcome:?}"),
        Err(HybridError::Refused(Refusal::BadOption(text))) => text,
        Err(other) => format!("{other:?}"),
    }
}

#[test]
fn a_hybrid_system_without_what_its_events_need_is_refused() {
    assert_eq!(failure(0, 1, vec![]), "the system has 1 relations, but `modes` has 0 values");
    let missing = failure(0, 0, vec![Event::at(0, vec![Write::state(1)])]);
    assert_eq!(missing, "event 0 writes unknown 1, but the system has 1");
    let missing = failure(0, 0, vec![Event::at(0, vec![Write::discrete(0)])]);
    assert_eq!(missing, "event 0 writes discrete 0, but the system has 0");
    let missing = failure(0, 0, vec![Event::at(1, vec![])]);
    assert_eq!(missing, "event 0 happens at the times of list 1, but the system has 1");
    let missing = failure(1, 1, vec![Event::when(vec![])]);
    assert_eq!(missing, "`conditions` does not set the condition of event 0");
    // sides and values without an implementation are no zeros
    assert!(failure(1, 1, vec![]).contains("NoSides"), "{}", failure(1, 1, vec![]));
    let values = failure(0, 0, vec![Event::at(0, vec![Write::state(0)])]);
    assert!(values.contains("NoValue"), "{values}");
}
