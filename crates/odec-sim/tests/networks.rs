//! Large networks of reactions: rates of one law are loops over tables in runs of any method, and the code does not
//! grow with the network.

use std::fmt::Write;
use std::ops::ControlFlow;

use odec_lang::Model;
use odec_lang::source::Source;
use odec_ode::problem::{Outcome, Problem, Samples};
use odec_ode::{Sink, method, solve};
use odec_sim::bind::{Bound, Purpose, RunPlan};
use odec_sim::choices::Choices;

/// Keeps every row, bit by bit.
#[derive(Default)]
struct Rows(Vec<u64>);

impl Sink for Rows {
    fn row(&mut self, t: f64, y: &[f64]) -> ControlFlow<()> {
        self.0.push(t.to_bits());
        self.0.extend(y.iter().map(|y| y.to_bits()));
        ControlFlow::Continue(())
    }
}

fn model(text: &str) -> (Model, Source) {
    let source = Source::new("test", text);
    let (tree, _) = odec_lang::parse(&source);
    let (model, diagnostics) = odec_lang::analyse(&tree, &source);
    (model.unwrap_or_else(|| panic!("{diagnostics:?}")), source)
}

fn bind(text: &str, choices: &Choices) -> Bound {
    let (model, source) = model(text);
    let plan = RunPlan::new(&model, choices, Purpose::Rows).unwrap();
    let lower = if choices.sensitivities { odec_lang::lower_sensitivities } else { odec_lang::lower };
    let program = lower(&model, &plan.overrides).unwrap();
    plan.bind(&model, &source, program).unwrap()
}

fn run(bound: &Bound, method: &str) -> (Outcome, Rows) {
    let method = method::find(method).unwrap();
    let problem = Problem { t0: 0.0, t_end: 1.0, y0: bound.problem.y0.clone() };
    let mut rows = Rows::default();
    let outcome = solve(&bound.executor, &problem, method, &bound.options, &Samples::Steps, &mut rows).unwrap();
    (outcome, rows)
}

/// Reactions on a ring: `A + B -> C` by mass action, and with `laws` also two other laws.
fn network(species: usize, laws: bool) -> String {
    let mut text = "run { t = 0 .. 1 }\n".to_owned();
    for i in 0..species {
        let _ = writeln!(text, "state s{i} = {}", 0.2 + 0.1 * (i % 7) as f64);
    }
    for r in 0..4 * species {
        let s = |step: usize| (r / 4 + step * (r % 4 + 1)) % species;
        let (a, b, c) = (s(0), s(1), s(3));
        let _ = writeln!(text, "param k{r} = {}", 0.1 + 0.05 * (r % 31) as f64);
        let _ = match r % 4 {
            1 if laws => writeln!(text, "s{a} -> s{c}  mass k{r}"),
            2 if laws => writeln!(text, "s{a} -> s{b}  rate k{r}*s{a}/(0.{} + s{a})", r % 9 + 1),
            _ => writeln!(text, "s{a} + s{b} -> s{c}  mass k{r}"),
        };
    }
    text
}

/// The network with a state at rest, and the same without loops: a model with a switch has none.
fn both(network: &str, choices: &Choices) -> [Bound; 2] {
    ["0", "max(still - 1, 0)"].map(|rate| bind(&format!("{network}state still = 0\nstill' = {rate}\n"), choices))
}

#[test]
fn rows_of_loops_have_the_bits_of_code_without_loops() {
    let text = network(100, false);
    let [loops, plain] = both(&text, &Choices::default());
    assert!(!loops.executor.program().is_scalar() && plain.executor.program().is_scalar());
    for method in ["dopri5", "vern7", "tsit5"] {
        assert!(run(&loops, method).1.0 == run(&plain, method).1.0, "{method}: rows differ");
    }
}

/// Entries of the Jacobian are added in another order, and so are the rates of several laws.
#[test]
fn other_rows_differ_by_rounding_alone() {
    // a pulse of a state that counts time: steps end at it
    let text = network(300, true) + "state c = 0\nc' = 1\n0 -> s1  rate exp(-1e5*(c - 0.5)^2)\n";
    let choices = Choices { open: vec!["k5".to_owned(), "s7".to_owned()], ..Choices::default() };
    for choices in [Choices::default(), Choices { sensitivities: true, ..choices }] {
        let [loops, plain] = both(&text, &choices);
        assert!(!loops.executor.program().is_scalar() && plain.executor.program().is_scalar());
        for method in ["bdf", "rodas5p", "tsit5"] {
            let (a, b) = (run(&loops, method).0, run(&plain, method).0);
            assert_eq!((a.y.len(), a.stats.accepted), (b.y.len(), b.stats.accepted), "{method}");
            for (a, b) in a.y.iter().zip(&b.y) {
                assert!((a - b).abs() <= 1e-11 * (1.0 + b.abs()), "{method}: {a:e} and {b:e}");
            }
        }
    }
}

#[test]
fn code_does_not_grow_with_the_network() {
    let bytes = |species: usize| {
        let bound = bind(&network(species, true), &Choices::default());
        run(&bound, "bdf");
        bound.executor.code_bytes().unwrap()
    };
    assert_eq!(bytes(300), bytes(1200));
}

/// Models of usual size keep straight-line code.
#[test]
fn models_of_usual_size_have_no_loops() {
    for name in ["robertson", "pollu", "mapk_cascade", "egfr", "glycolysis", "circadian_clock"] {
        let text = std::fs::read_to_string(format!("{}/../../models/{name}.ode", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let (model, _) = model(&text);
        let program = odec_lang::lower(&model, &odec_lang::Overrides::default()).unwrap();
        assert!(program.is_scalar(), "{name}");
    }
}
