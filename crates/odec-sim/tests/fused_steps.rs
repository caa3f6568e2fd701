//! Fused steps give the results of steps over vectors, and steps that they cannot make are made over vectors.

use std::ops::ControlFlow;

use odec_lang::source::Source;
use odec_ode::linear::{BACKWARD_ERROR, LinearSolver, SolverKind};
use odec_ode::method::{self, Family};
use odec_ode::problem::{Cause, Options, Outcome, Problem, Samples};
use odec_ode::step::FusedFormula;
use odec_ode::{Accelerated, Sink, SolveError, solve};
use odec_sim::bind::{Bound, Purpose, RunPlan};
use odec_sim::choices::Choices;
use odec_sim::executor::Execution;

use crate::share::Share;

/// Model that is run many times: steps of larger systems are compiled too, and those of small ones even if a single
/// run would not justify it.
fn bind(text: &str, execution: Execution) -> Bound {
    let bound = bind_once(text, execution);
    bound.executor.expect_many_runs();
    bound
}

/// A model that is run once.
fn bind_once(text: &str, execution: Execution) -> Bound {
    let source = Source::new("test", text);
    let (tree, _) = odec_lang::parse(&source);
    let (model, diagnostics) = odec_lang::analyse(&tree, &source);
    let model = model.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}"));
    let choices = Choices { interpret: execution == Execution::Interpret, ..Choices::default() };
    let plan = RunPlan::new(&model, &choices, Purpose::Rows).unwrap();
    let program = odec_lang::lower(&model, &plan.overrides).unwrap();
    plan.bind(&model, &source, program).unwrap()
}

fn file(name: &str) -> String {
    let path = format!("{}/../../models/{name}.ode", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    fn sign(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }
}

/// Keeps every row, bit by bit.
#[derive(Default)]
struct Rows(Vec<u64>);

impl Sink for Rows {
    fn row(&mut self, t: f64, y: &[f64]) -> ControlFlow<()> {
        self.0.push(t.to_bits());
        // the two zeros are one
        self.0.extend(y.iter().map(|y| (y + 0.0).to_bits()));
        ControlFlow::Continue(())
    }
}

fn run(bound: &Bound, method: &str, options: &Options, samples: &Samples) -> Result<(Outcome, Rows), SolveError> {
    let mut rows = Rows::default();
    let outcome = solve(&bound.executor, &bound.problem, method::find(method).unwrap(), options, samples, &mut rows)?;
    Ok((outcome, rows))
}

/// Model of 1 to 6 unknowns with decay, products, a quotient and an exponential; every second one depends on time.
fn random_model(random: &mut Random) -> String {
    let n = 1 + random.below(6);
    let mut text = String::from("model random\n");
    for i in 0..n {
        text += &format!("param k{i} = {:.3}\n", 0.1 + 30.0 * random.unit().powi(3));
    }
    let timed = random.below(2) == 0;
    for i in 0..n {
        let (j, l) = (random.below(n), random.below(n));
        let term = match random.below(4) {
            0 => format!("k{j}*x{j}*x{l}/(1 + x{l}^2)"),
            1 => format!("exp(-x{j}^2) - k{i}*x{i}^3/10"),
            2 => format!("k{j}*(x{j} - x{i})/2"),
            _ => format!("sin(x{j}) + 0.3*x{l}"),
        };
        let drive =
            if timed && random.below(2) == 0 { format!(" + cos({:.2}*t)", 3.0 * random.unit()) } else { String::new() };
        text += &format!("x{i}' = {term} - k{i}*x{i}{drive}\n");
        text += &format!("state x{i} = {:.3}\n", random.sign());
    }
    text + "run { t = 0 .. 3 }\n"
}

#[test]
fn fused_steps_give_the_bits_of_steps_over_vectors() {
    let mut random = Random(7);
    let (mut rejected, mut share) = (0, Share::one_of(3));
    let mut models: Vec<String> = (0..30).map(|_| random_model(&mut random)).collect();
    models.extend(["robertson", "van_der_pol", "orego", "hires"].map(file));
    for (number, text) in models.iter().enumerate() {
        let bound = bind(text, Execution::Jit);
        let interpreted = bind(text, Execution::Interpret);
        for method in ["rodas4", "rodas5p", "rodas3", "ros2"] {
            if !share.takes() {
                continue;
            }
            let rtol = [1e-3, 1e-6, 1e-8][number % 3];
            let options = Options { rtol, atol: vec![rtol * 1e-3], ..bound.options.clone() };
            let apart = Options { fused_steps: false, ..options.clone() };
            let end = bound.problem.t_end;
            let times = Samples::Times((0..40).map(|i| end * f64::from(i) / 39.0).collect());
            for samples in [&Samples::Steps, &times] {
                let (whole, rows) = run(&bound, method, &options, samples).unwrap();
                let (vectors, others) = run(&bound, method, &apart, samples).unwrap();
                assert_eq!(whole.linear.as_ref().unwrap().kind, SolverKind::FusedSteps, "{method}\n{text}");
                assert_eq!(vectors.linear.as_ref().unwrap().kind, SolverKind::Compiled);
                let steps = |o: &Outcome| (o.stats.accepted, o.stats.rejected, o.stats.failed);
                assert_eq!(steps(&whole), steps(&vectors), "{method}\n{text}");
                assert!(rows.0 == others.0, "{method}: rows differ\n{text}");
                assert!(whole.stats.accepted > 3);
                rejected += whole.stats.rejected;
            }
            let (_, rows) = run(&bound, method, &options, &times).unwrap();
            let (_, same) = run(&interpreted, method, &options, &times).unwrap();
            assert!(rows.0 == same.0, "{method}: the interpreter differs\n{text}");
        }
    }
    assert!(rejected > 100, "{rejected} steps were rejected");
}

/// y' = A y with given A and b = f: the pivots on the diagonal of W = alpha - A vanish, and rows are scaled by 1e-12
/// to 1e12.
#[test]
fn a_first_solution_with_a_large_backward_error_is_rejected() {
    const N: usize = 4;
    let mut text = String::from("model linear\n");
    for i in 0..N {
        for j in 0..N {
            text += &format!("param a{i}{j} = 1\n");
        }
    }
    for i in 0..N {
        let terms: Vec<String> = (0..N).map(|j| format!("a{i}{j}*x{j}")).collect();
        text += &format!("x{i}' = {}\nstate x{i} = 1\n", terms.join(" + "));
    }
    text += "run { t = 0 .. 1 }\n";
    let bound = bind(&text, Execution::Jit);
    let mut executor = bound.executor.fork();
    let Family::Rosenbrock(tableau) = method::find("rodas4").unwrap().family else { panic!("a Rosenbrock method") };
    let formula = FusedFormula::Rosenbrock { tableau };
    let code = executor.fused_step(formula).expect("a step of four unknowns is short");
    let mut random = Random(11);
    let (mut sound, mut refused, mut fallbacks, mut wrong) = (0u32, 0u32, 0u64, 0u32);
    // alpha = 1/(h gamma)
    let (h, alpha) = (1.0, 4.0);
    for matrix in 0..10_000 {
        let scales: [f64; N] = std::array::from_fn(|_| 10f64.powf(12.0 * random.sign()));
        let vanishing = random.below(N);
        let tiny = [0.0, 1e-16, 1e-12, 1e-6][random.below(4)];
        let mut a = [[0.0; N]; N];
        let mut w = [[0.0; N]; N];
        for i in 0..N {
            for j in 0..N {
                let size = if i == j && i == vanishing { tiny } else { 1.0 };
                let value = if random.below(4) == 0 && i != j { 0.0 } else { scales[i] * size * random.sign() };
                a[i][j] = if i == j { alpha - value } else { -value };
                w[i][j] = if i == j { alpha - a[i][j] } else { value };
            }
        }
        executor.change(|p| a.iter().flatten().enumerate().for_each(|(k, a)| p[k] = *a)).unwrap();
        let f: [f64; N] = std::array::from_fn(|i| scales[i] * random.sign());
        let mut kept = vec![0.0; formula.room(N)];
        kept[N..2 * N].copy_from_slice(&f);
        let mut given = vec![1e-6; formula.room(N)];
        (given[0], given[1]) = (h, h);
        let mut out = vec![0.0; formula.length(N)];
        code.run(0.0, &kept, executor.parameters(), &given, &mut out);
        let u = &out[2 * N + 2..][..N];
        let mut error = 0.0f64;
        for i in 0..N {
            let (mut rest, mut scale) = (f[i], f[i].abs());
            for j in 0..N {
                rest -= w[i][j] * u[j];
                scale += (w[i][j] * u[j]).abs();
            }
            // NaN counts as large
            error = if rest == 0.0 {
                error
            } else {
                error.max(if rest.is_nan() { f64::INFINITY } else { rest.abs() / scale })
            };
        }
        if out[2 * N + 1] == 1.0 {
            sound += 1;
            // the residual itself is computed with rounding errors
            assert!(error <= 1.01 * BACKWARD_ERROR, "matrix {matrix}: backward error {error:e}");
        } else {
            refused += 1;
            wrong += u32::from(error > BACKWARD_ERROR);
        }
        if matrix % 10 == 0 {
            let options = Options { fixed: true, step: Some(h), ..bound.options.clone() };
            let problem = Problem { t0: 0.0, t_end: h, y0: vec![1e-3; N] };
            let method = method::find("rodas4").unwrap();
            if let Ok(outcome) = solve(&executor, &problem, method, &options, &Samples::Steps, &mut Rows::default()) {
                assert!(outcome.y.iter().all(|y| y.is_finite()));
                fallbacks += outcome.linear.unwrap().fallbacks;
            }
        }
    }
    assert!(
        sound > 4_000 && refused > 1_000 && wrong > 1_000,
        "{sound} sound, {refused} refused, {wrong} of them wrong"
    );
    assert!(fallbacks > 100, "pivots were chosen anew {fallbacks} times in runs");
}

/// A diagonal that equals 1/(h gamma) at a step of fixed length: that step is made over vectors, the others are fused.
#[test]
fn a_vanishing_pivot_makes_the_step_fall_back_to_unfused_code() {
    let text = "model passing\nx' = 8*t*x + y\nstate x = 1\ny' = -x - y\nstate y = 0.5\nrun { t = 0 .. 1 }\n";
    let bound = bind(text, Execution::Jit);
    // 1/(h gamma) = 4 at h = 1 and 16 at h = 1/4: df/dx = 8 t is never 16 there, and 4 at t = 1/2 only
    for (step, meets) in [(0.25, false), (0.5, true)] {
        let text = text.replace("8*t", if meets { "16*t" } else { "8*t" });
        let bound = bind(&text, Execution::Jit);
        let options = Options { fixed: true, step: Some(step), ..bound.options.clone() };
        let (whole, _) = run(&bound, "rodas4", &options, &Samples::Steps).unwrap();
        let dense = Options { linear: LinearSolver::Dense, ..options.clone() };
        let (full, _) = run(&bound, "rodas4", &dense, &Samples::Steps).unwrap();
        assert_eq!(whole.linear.as_ref().unwrap().fallbacks > 0, meets, "{:?}", whole.linear);
        for (a, b) in whole.y.iter().zip(&full.y) {
            assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} and {b}");
        }
    }
    assert_eq!(bound.problem.y0.len(), 2);
}

/// Failures have the same place and cause.
#[test]
fn failures_are_those_of_steps_over_vectors() {
    for text in [
        "model root\nx' = -sqrt(x - 0.5)*20 - 1\nstate x = 1\nrun { t = 0 .. 3 }\n",
        "model blow\nx' = x^2 + y\nstate x = 1\ny' = -y\nstate y = 1\nrun { t = 0 .. 3 }\n",
        "model quotient\nx' = -1/(x - 0.25*t)\nstate x = 1\nrun { t = 0 .. 9 }\n",
    ] {
        let bound = bind(text, Execution::Jit);
        let failure = |fused_steps: bool| {
            let options = Options { fused_steps, ..bound.options.clone() };
            match run(&bound, "rodas4", &options, &Samples::Steps) {
                Err(SolveError::Failed(failure)) => failure,
                other => panic!("{text}: {:?}", other.map(|(outcome, _)| outcome)),
            }
        };
        let (whole, vectors) = (failure(true), failure(false));
        assert_eq!(whole.cause, vectors.cause, "{text}");
        assert!(!matches!(whole.cause, Cause::Fatal));
        assert_eq!((whole.t, &whole.y, &whole.at), (vectors.t, &vectors.y, &vectors.at), "{text}");
    }
}

/// Fused steps are not used if the user asks for something else, nor if they are too long.
#[test]
fn fused_steps_are_left_out_on_demand_and_for_large_systems() {
    let bound = bind(&file("robertson"), Execution::Jit);
    for (linear, kind) in [(LinearSolver::Compiled, SolverKind::FusedSteps), (LinearSolver::Dense, SolverKind::Dense)] {
        let options = Options { linear, ..bound.options.clone() };
        let (outcome, _) = run(&bound, "rodas4", &options, &Samples::Steps).unwrap();
        assert_eq!(outcome.linear.unwrap().kind, kind);
    }
    // HIRES is too large to be compiled for one run
    let hires = bind_once(&file("hires"), Execution::Jit);
    let kind = || run(&hires, "rodas4", &hires.options, &Samples::Steps).unwrap().0.linear.unwrap().kind;
    assert_eq!(kind(), SolverKind::Compiled);
    hires.executor.expect_many_runs();
    assert_eq!(kind(), SolverKind::FusedSteps);
    // a single run of a small system changes to them after many steps, and gives the same bits
    let text = "model long\nx' = y\ny' = -x + 0.1*cos(3*t)\nstate x = 1, y = 0\nrun { t = 0 .. 200 }\n";
    let (once, many) = (bind_once(text, Execution::Jit), bind(text, Execution::Jit));
    for (rtol, kind) in [(1e-5, SolverKind::Compiled), (1e-11, SolverKind::FusedSteps)] {
        let options = Options { rtol, atol: vec![rtol], ..once.options.clone() };
        let (outcome, rows) = run(&once, "rodas4", &options, &Samples::Steps).unwrap();
        let (_, others) = run(&many, "rodas4", &options, &Samples::Steps).unwrap();
        assert_eq!(outcome.stats.accepted + outcome.stats.rejected > 10_000, kind == SolverKind::FusedSteps);
        assert_eq!(outcome.linear.unwrap().kind, kind);
        assert!(rows.0 == others.0, "rows differ at {rtol:e}");
    }
    let pollu = bind(&file("pollu"), Execution::Jit);
    let (outcome, _) = run(&pollu, "rodas4", &pollu.options, &Samples::Steps).unwrap();
    assert_eq!(outcome.linear.unwrap().kind, SolverKind::Compiled);
}
