//! Models through the library, like in another program: the rows of the command, the guarantees, and the reduction of
//! second-order models, which must not change a result.

use std::ops::ControlFlow;
use std::path::Path;

use odec_lang::model::Model;
use odec_lang::source::Source;
use odec_ode::problem::{Samples, Stop};
use odec_sim::bind::{Bound, Purpose, RunPlan};
use odec_sim::choices::{Choices, StepChoice};
use odec_sim::expectations;
use odec_sim::sample::{Recorder, solve};
use odec_tests::command::run;
use odec_tests::share::Share;
use odec_tests::{parts, root, small_sizes, smooth_models, stem, text};

#[derive(Default)]
struct Rows(Vec<Vec<f64>>);

impl Recorder for Rows {
    fn row(&mut self, values: &[f64]) -> ControlFlow<()> {
        self.0.push(values.to_vec());
        ControlFlow::Continue(())
    }
}

fn source(path: &Path) -> Source {
    parts::within(path.parent().expect("a folder"), Source::new(stem(path), text(path)))
}

fn model(path: &Path) -> Model {
    odec_lang::check(&source(path)).model.expect("a model of the repository")
}

fn bound(path: &Path, choices: &Choices, purpose: Purpose) -> Bound {
    let (source, model) = (source(path), model(path));
    let plan = RunPlan::new(&model, choices, purpose).expect("its run block is valid");
    let program = odec_lang::lower(&model, &plan.overrides).expect("it lowers");
    plan.bind(&model, &source, program).expect("it compiles")
}

#[test]
fn rows_are_those_of_the_command() {
    for path in smooth_models() {
        let bound = bound(&path, &Choices::default(), Purpose::Rows);
        let mut rows = Rows::default();
        let outcome = solve(&bound, &mut rows).0.expect("it runs");
        assert_eq!(outcome.stop, Stop::End);
        let file = path.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned();
        let ran = run(&["run", file.as_str(), "--quiet"]).success();
        let table = ran.text();
        let mut lines = table.lines();
        let names: Vec<String> = bound.columns.names().collect();
        assert_eq!(lines.next().map(str::to_owned), Some(names.join(",")));
        let printed: Vec<Vec<f64>> =
            lines.map(|l| l.split(',').map(|v| v.parse().expect("a number")).collect()).collect();
        // printed numbers read back as the same numbers
        assert_eq!(printed, rows.0, "{file}");
    }
}

#[test]
fn promises_are_kept() {
    let mut count = 0;
    for path in smooth_models() {
        let bound = bound(&path, &Choices::default(), Purpose::Test);
        let (result, seen) = solve(&bound, &mut Rows::default());
        result.expect("it runs");
        for promise in expectations::of(&model(&path), &bound, &seen) {
            count += 1;
            assert_ne!(promise.kept, Some(false), "{}: {} is {}", path.display(), promise.name, promise.found);
        }
    }
    assert!(count >= 80, "{count} promises");
}

/// With and without the reduction to the velocities, with constant steps: the same trajectory within rounding.
#[test]
fn the_reduction_of_second_order_models_changes_nothing() {
    let (mut seen, mut share) = (0, Share::one_of(3));
    for path in smooth_models() {
        for method in ["backward-euler", "linearised-backward-euler", "trapezoidal", "rodas4", "bdf2", "bdf4"]
            .into_iter()
            .filter(|_| share.takes())
        {
            let set = small_sizes(&path).iter().map(|&(name, size)| (name.to_owned(), size)).collect();
            let sizes = Choices { set, ..Choices::default() };
            let first = bound(&path, &sizes, Purpose::Rows);
            // a Rosenbrock method supports no mass matrix that changes, the trapezoidal rule no constraint
            let program = first.executor.program();
            let refused =
                method == "rodas4" && program.mass_varies() || method == "trapezoidal" && program.invariants.is_some();
            if first.executor.layout().second == 0 || refused {
                continue;
            }
            // up to a hundredth of the run, or one unit of time
            let t_end = (first.problem.t_end / 100.0).clamp(0.1, 1.0);
            let choices = Choices {
                method: Some(method.to_owned()),
                t_end: Some(t_end),
                step: Some(StepChoice::Fixed(t_end / 500.0)),
                ..sizes
            };
            let [reduced, full] = [true, false].map(|reduce| {
                let mut bound = bound(&path, &choices, Purpose::Rows);
                bound.options.reduce = reduce;
                bound.samples = Samples::Times(vec![bound.problem.t0, t_end]);
                solve(&bound, &mut Rows::default()).0.unwrap_or_else(|e| panic!("{} {method}: {e:?}", path.display())).y
            });
            let scale = full.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            for (a, b) in reduced.iter().zip(&full) {
                assert!((a - b).abs() <= 1e-9 * scale, "{} {method}: {a} and {b}", path.display());
            }
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen} pairs");
}
