//! Steps in one kernel agree with steps that the method makes stage by stage.

use std::ops::ControlFlow;
use std::sync::Arc;

use odec_ir::interpret::{self, Inputs};
use odec_ir::layout::Layout;
use odec_ir::step::explicit;
use odec_ir::{KernelRole, Program};
use odec_lang::source::Source;
use odec_ode::accelerated::{Accelerated, TimeFeature};
use odec_ode::method::{self, Family};
use odec_ode::problem::{Options, Outcome, Problem, Samples};
use odec_ode::step::{FusedFormula, FusedStep};
use odec_ode::system::{EvalError, Jacobian, Mass, Shape, System};
use odec_ode::{Sink, SolveError, solve};
use odec_sim::bind::{Bound, Purpose, RunPlan};
use odec_sim::choices::Choices;
use odec_sim::executor::Executor;

fn bind(text: &str, choices: &Choices) -> Bound {
    let source = Source::new("test", text);
    let (tree, _) = odec_lang::parse(&source);
    let (model, diagnostics) = odec_lang::analyse(&tree, &source);
    let model = model.unwrap_or_else(|| panic!("{text}\n{diagnostics:?}"));
    let plan = RunPlan::new(&model, choices, Purpose::Rows).unwrap();
    let program = odec_lang::lower(&model, &plan.overrides).unwrap();
    plan.bind(&model, &source, program).unwrap()
}

fn file(name: &str) -> String {
    let path = format!("{}/../../models/{name}.ode", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// Keeps every row, bit by bit.
#[derive(Default)]
struct Rows(Vec<f64>);

impl Sink for Rows {
    fn row(&mut self, t: f64, y: &[f64]) -> ControlFlow<()> {
        self.0.push(t);
        self.0.extend(y);
        ControlFlow::Continue(())
    }
}

/// System with its own steps from the start, by the interpreter.
struct AtOnce<'a>(&'a Executor);

struct Kernel(Program, Layout);

impl FusedStep for Kernel {
    fn run(&self, t: f64, kept: &[f64], p: &[f64], given: &[f64], out: &mut [f64]) {
        let inputs = Inputs { t, y: kept, p, w: given };
        interpret::run_on(&self.0, &self.1, KernelRole::Outputs, inputs, &mut out[..self.1.outputs_len()]);
    }
}

impl System for AtOnce<'_> {
    fn shape(&self) -> Shape {
        self.0.shape()
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        self.0.rhs(t, y, f)
    }
    fn jacobian(&self) -> Jacobian<'_> {
        self.0.jacobian()
    }
    fn jacobian_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.0.jacobian_values(t, y, values)
    }
    fn jacobian_vector(&self, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        self.0.jacobian_vector(t, y, w, out)
    }
    fn time_derivative(&self, t: f64, y: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        self.0.time_derivative(t, y, out)
    }
    fn autonomous(&self) -> bool {
        self.0.autonomous()
    }
    fn mass(&self) -> Mass<'_> {
        self.0.mass()
    }
    fn accelerated(&self) -> Option<&dyn Accelerated> {
        Some(self)
    }
}

impl Accelerated for AtOnce<'_> {
    fn parameters(&self) -> &[f64] {
        self.0.parameters()
    }
    fn narrow(&self, at: (f64, &[f64]), from: f64, to: f64) -> Vec<TimeFeature> {
        Accelerated::narrow(self.0, at, from, to)
    }
    fn fused_step(&self, formula: FusedFormula) -> Option<Arc<dyn FusedStep>> {
        let FusedFormula::Explicit { tableau, fixed } = formula else { panic!("an explicit step") };
        let pairs = [tableau.embedded, tableau.second];
        let difference = |(hat, _): (&[f64], u32)| tableau.b.iter().zip(hat).map(|(b, hat)| b - hat).collect();
        let errors: Vec<Vec<f64>> = if fixed { vec![] } else { pairs.into_iter().flatten().map(difference).collect() };
        let weights =
            explicit::ButcherTableau { c: tableau.c, a: tableau.a, b: tableau.b, errors: &errors, fsal: tableau.fsal };
        let step = explicit::step(self.0.program(), &weights).expect("the model is small");
        let layout = Layout::of(&step);
        Some(Arc::new(Kernel(step, layout)))
    }
}

fn run(system: &dyn System, bound: &Bound, method: &str, options: &Options) -> Result<(Outcome, Rows), SolveError> {
    let method = method::find(method).unwrap();
    let Problem { t0, t_end, ref y0 } = bound.problem;
    let problem = Problem { t0, t_end, y0: y0.clone() };
    let mut rows = Rows::default();
    // half of the samples lie inside of steps
    let samples = Samples::Times((0..=40).map(|i| t0 + (t_end - t0) * f64::from(i) / 40.0).collect());
    let outcome = solve(system, &problem, method, options, &samples, &mut rows)?;
    Ok((outcome, rows))
}

/// Explicit methods with an error estimate.
fn explicit_methods() -> impl Iterator<Item = &'static str> {
    odec_ode::method::table().iter().filter_map(|m| match m.family {
        Family::RungeKutta(tableau) if tableau.embedded.is_some() => Some(m.name),
        _ => None,
    })
}

/// Times and time-dependent terms, a branch, a power, second order, a term with parameters only.
const DRIVEN: &str = "model driven\nparam k = 1.5, a = 0.3\nx'' = -k*x - 0.1*x' + a*sin(2*t)\nu' = if x > 0 then -u + t else -2*u\nstate x = 1\nstate x' = 0\nstate u = 0.5\nrun { t = 0 .. 6 }\n";

/// Six unknowns: above four, other passes make the stages.
const RING: &str = "model ring\nstate a = 1, b = 0, c = 0.5, d = -1, e = 2, f = 0.1\na' = b*c - 0.1*a\nb' = c - a\nc' = d - b\nd' = e - c\ne' = f - d\nf' = a*t - e\nrun { t = 0 .. 4 }\n";

fn models() -> Vec<(&'static str, Bound)> {
    let mut models: Vec<(&str, Bound)> = ["lorenz", "lotka_volterra", "pendulum", "double_pendulum"]
        .iter()
        .map(|name| (*name, bind(&file(name), &Choices::default())))
        .collect();
    models.push(("driven", bind(DRIVEN, &Choices::default())));
    models.push(("ring", bind(RING, &Choices::default())));
    models
}

/// The kernel executes every operation of the stages in their order: all bits are equal, including samples inside of
/// steps and counts.
#[test]
fn a_fused_step_is_bitwise_equal_to_its_stages() {
    for (name, bound) in models() {
        for method in explicit_methods() {
            for fixed in [false, true] {
                let options = Options {
                    rtol: 1e-5,
                    fixed,
                    step: fixed.then_some(0.01),
                    atol: vec![1e-8],
                    ..bound.options.clone()
                };
                let (whole, rows) = run(&AtOnce(&bound.executor), &bound, method, &options).unwrap();
                let by_stages = Options { fused_steps: false, ..options };
                let (stages, expected) = run(&bound.executor, &bound, method, &by_stages).unwrap();
                let bits = |rows: &Rows| rows.0.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&rows), bits(&expected), "{name}, {method}");
                assert_eq!(whole.stats, stages.stats, "{name}, {method}");
            }
        }
    }
}

/// Compiles the step of a method now instead of after some thousand steps.
fn ready(executor: &Executor, method: &str) {
    let Family::RungeKutta(tableau) = method::find(method).unwrap().family else { return };
    let ask = || executor.fused_step(FusedFormula::Explicit { tableau, fixed: false });
    assert!(ask().is_none(), "a step alone is not worth its code");
    assert!((0..100).any(|_| ask().is_some()), "{method}");
}

/// Machine code, interpreter and steps by stages give the same bits.
#[test]
fn machine_code_and_interpreter_agree_on_whole_steps() {
    for (name, bound) in models() {
        let interpreted = match name {
            "driven" => bind(DRIVEN, &Choices { interpret: true, ..Choices::default() }),
            "ring" => bind(RING, &Choices { interpret: true, ..Choices::default() }),
            name => bind(&file(name), &Choices { interpret: true, ..Choices::default() }),
        };
        for method in explicit_methods() {
            let options = Options { rtol: 1e-5, atol: vec![1e-8], ..bound.options.clone() };
            let stages = run(&bound.executor, &bound, method, &options).unwrap();
            ready(&bound.executor, method);
            ready(&interpreted.executor, method);
            let code = run(&bound.executor, &bound, method, &options).unwrap();
            let same = run(&interpreted.executor, &interpreted, method, &options).unwrap();
            let bits = |rows: &Rows| rows.0.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&code.1), bits(&same.1), "{name}, {method}");
            assert_eq!(bits(&code.1), bits(&stages.1), "{name}, {method}");
            assert_eq!(code.0.stats, same.0.stats, "{name}, {method}");
            assert_eq!(code.0.stats, stages.0.stats, "{name}, {method}");
        }
    }
}

/// A value that is not finite inside a step is detected at the same place: row, time, state and counts are those of
/// the stages.
#[test]
fn failures_in_a_fused_step_are_reported_as_in_stages() {
    // x reaches the pole of its own solution, y is independent; the root of a negative number in the second row
    let texts = [
        "model pole\nx' = x^2\ny' = -y\nstate x = 1\nstate y = 1\nrun { t = 0 .. 2 }\n",
        "model root\nx' = -1\ny' = sqrt(x)\nstate x = 1\nstate y = 0\nrun { t = 0 .. 3 }\n",
        // the first row swallows the infinity of the second
        "model swallow\nx' = if y > 1e3 then 0 else 1\ny' = exp(1e3*(t - 1))\nstate x = 0\nstate y = 0\nrun { t = 0 .. 3 }\n",
    ];
    for text in texts {
        let bound = bind(text, &Choices::default());
        for method in explicit_methods() {
            let options = Options { rtol: 1e-5, atol: vec![1e-8], max_steps: 20_000, ..bound.options.clone() };
            let stages = run(&bound.executor, &bound, method, &Options { fused_steps: false, ..options.clone() });
            let whole = run(&AtOnce(&bound.executor), &bound, method, &options);
            match (whole, stages) {
                (Err(SolveError::Failed(whole)), Err(SolveError::Failed(stages))) => {
                    assert_eq!(format!("{whole:?}"), format!("{stages:?}"), "{method}: {text}");
                }
                (whole, stages) => panic!("{method}: {:?} {:?}", whole.is_ok(), stages.is_ok()),
            }
        }
    }
}

/// After an ignition, the fuel is an error with either sign, and steps that are repeated because of it are short: the
/// equations are as stiff as before.
#[test]
fn a_burnt_mixture_at_rest_needs_few_steps() {
    for rtol in ["1e-6", "1e-8", "1e-10"] {
        let text = format!(
            "param A = 1e10, E = 15000, q = 2000\nstate T = 700, Y = 1\nw = A*Y*exp(-E/T)\nT' = q*w\nY' = -w\n\
             run {{ t = 0 .. 2; rtol = {rtol}; samples = 2; max_steps = 2000 }}\n"
        );
        let outcome = crate::monitor::simulation(&text).run(&mut crate::second_runs::Ignored).result.expect("a run");
        assert!((outcome.y[0] - 2700.0).abs() < 1e-3, "{rtol}: {:?}", outcome.y);
    }
}
