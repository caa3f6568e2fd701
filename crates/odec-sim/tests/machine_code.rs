//! Features of compiled models only: eliminations written for their pattern, and Taylor coefficients.

use std::ops::ControlFlow;

use odec_lang::Model;
use odec_lang::source::Source;
use odec_ode::linear::{LinearReport, LinearSolver, SolverKind};
use odec_ode::method;
use odec_ode::method::auto::working_options;
use odec_ode::problem::{Options, Outcome, Problem, Samples};
use odec_ode::{Runner, Sink, SolveError, solve};
use odec_sim::bind::{Bound, Purpose, RunPlan};
use odec_sim::choices::Choices;

use crate::share::Share;

fn model(text: &str) -> (Model, Source) {
    let source = Source::new("test", text);
    let (tree, _) = odec_lang::parse(&source);
    let (model, diagnostics) = odec_lang::analyse(&tree, &source);
    (model.unwrap_or_else(|| panic!("{diagnostics:?}")), source)
}

fn bind(text: &str, choices: &Choices) -> Bound {
    let (model, source) = model(text);
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
struct Rows(Vec<u64>);

impl Sink for Rows {
    fn row(&mut self, t: f64, y: &[f64]) -> ControlFlow<()> {
        self.0.push(t.to_bits());
        self.0.extend(y.iter().map(|y| y.to_bits()));
        ControlFlow::Continue(())
    }
}

fn run(bound: &Bound, method: &str, options: &Options, t_end: f64) -> Result<(Outcome, Rows), SolveError> {
    let method = method::find(method).unwrap();
    let problem = Problem { t0: 0.0, t_end, y0: bound.problem.y0.clone() };
    let mut rows = Rows::default();
    let outcome = solve(&bound.executor, &problem, method, options, &Samples::Steps, &mut rows)?;
    Ok((outcome, rows))
}

const STIFF: [(&str, f64); 5] =
    [("robertson", 1e6), ("hires", 321.8122), ("pollu", 60.0), ("orego", 50.0), ("van_der_pol", 1000.0)];

/// Small stiff models are solved by code for their pattern; the answers agree with full matrices and pivoting.
#[test]
fn eliminations_in_machine_code_agree_with_pivoting() {
    for (name, t_end) in STIFF {
        let bound = bind(&file(name), &Choices::default());
        for method in ["rodas4", "radau5", "bdf", "kencarp4"] {
            // code for fused steps contains a separate elimination: `fused_steps.rs`
            let options = Options { rtol: 1e-6, atol: vec![1e-12], fused_steps: false, ..bound.options.clone() };
            assert_eq!(options.linear, LinearSolver::Auto);
            let (code, _) = run(&bound, method, &options, t_end).unwrap();
            let report = code.linear.clone().unwrap();
            assert_eq!(report.kind, SolverKind::Compiled, "{name}, {method}: {report}");
            let full = Options { linear: LinearSolver::Dense, ..options.clone() };
            let (full, _) = run(&bound, method, &full, t_end).unwrap();
            assert_eq!(full.linear.clone().unwrap().kind, SolverKind::Dense);
            // rounding differs and may move a step, but not more
            let steps = |o: &Outcome| (o.stats.accepted + o.stats.rejected) as f64;
            assert!(
                (steps(&code) - steps(&full)).abs() <= 0.02 * steps(&full) + 2.0,
                "{name}, {method}: {} steps and {}",
                steps(&code),
                steps(&full)
            );
            for (a, b) in code.y.iter().zip(&full.y) {
                assert!((a - b).abs() <= 2e-4 * b.abs() + 1e-9, "{name}, {method}: {a:e} and {b:e}");
            }
        }
    }
}

/// The interpreter executes the same eliminations, with the same bits in every row.
#[test]
fn interpreted_eliminations_give_the_same_bits() {
    for (name, t_end) in STIFF {
        for method in ["rodas5p", "radau5", "bdf"] {
            let run = |interpret: bool| {
                let bound = bind(&file(name), &Choices { interpret, ..Choices::default() });
                let options = Options { rtol: 1e-5, atol: vec![1e-10], fused_steps: false, ..bound.options.clone() };
                run(&bound, method, &options, t_end.min(100.0)).unwrap()
            };
            let ((code, a), (_, b)) = (run(false), run(true));
            assert_eq!(code.linear.unwrap().kind, SolverKind::Compiled);
            assert!(a.0 == b.0, "{name}, {method}: rows differ");
        }
    }
}

/// Reactions of `n` species on a ring, with distant partners; the first species have very small amounts, which vanish.
fn network(n: usize) -> String {
    let mut text = String::new();
    let mut rates = vec![String::new(); n];
    for i in 0..n {
        let start = if i < 3 { 1e-300 } else { 1.0 / (1 + i % 3) as f64 };
        text += &format!("state s{i} = {start:e}\n");
        let (near, far) = ((i + 1) % n, (i * i + 5 * i + 3) % n);
        let k = [1e3, 3.0, 0.2, 40.0][i % 4];
        rates[i] += &format!(" - {k}*s{i}*s{far} - {k}*s{i}");
        for made in [near, far].into_iter().filter(|made| *made > 2) {
            rates[made] += &format!(" + 0.5*{k}*s{i}");
        }
    }
    rates.iter().enumerate().for_each(|(i, rate)| text += &format!("s{i}' = 0{rate}\n"));
    text
}

/// Longer eliminations are interpreted as lists first, and compiled if many runs are announced: rows are equal bit by
/// bit, and vanishing species do not prevent the use of code.
#[test]
fn longer_eliminations_give_the_same_bits_before_and_after_they_are_compiled() {
    let text = network(64);
    for method in ["rodas5p", "bdf"] {
        let run = |many: bool, linear: LinearSolver| {
            let bound = bind(&text, &Choices { t_end: Some(2000.0), ..Choices::default() });
            if many {
                bound.executor.expect_many_runs();
            }
            let options = Options { rtol: 1e-5, atol: vec![1e-9], linear, ..bound.options.clone() };
            run(&bound, method, &options, 2000.0).unwrap()
        };
        let ((one, rows), (many, again)) = (run(false, LinearSolver::Auto), run(true, LinearSolver::Auto));
        assert!(rows.0 == again.0, "{method}: rows differ");
        for outcome in [&one, &many] {
            let report = outcome.linear.clone().unwrap();
            assert_eq!((report.kind, report.fallbacks), (SolverKind::Compiled, 0), "{method}: {report}");
        }
        assert!(one.y.iter().any(|y| y.abs() < 1e-250), "{:?}", one.y);
        let (full, _) = run(false, LinearSolver::Dense);
        for (a, b) in one.y.iter().zip(&full.y) {
            assert!((a - b).abs() <= 1e-4 * b.abs() + 1e-7, "{method}: {a:e} and {b:e}");
        }
    }
}

/// x' = z, z' = -x, and an algebraic row whose diagonal is z: zero whenever z is.
const VANISHING: &str =
    "state x = 1, z = 1e-3, u = 0, v = 0\nx' = z\nz' = -x\nu' = 1e4*(v - z*u)\nv' = -1e4*(u + z*v)\n";

/// A pivot that vanishes during the run: the diagonal of W for y2 passes through zero while its coupling to y1 stays large.
#[test]
fn a_run_survives_a_vanishing_pivot() {
    let bound = bind(VANISHING, &Choices { t_end: Some(10.0), ..Choices::default() });
    let options = Options { rtol: 1e-8, atol: vec![1e-10], ..bound.options.clone() };
    for method in ["rodas4", "bdf"] {
        let (outcome, _) = run(&bound, method, &options, 10.0).unwrap();
        let exact = 10f64.cos() + 1e-3 * 10f64.sin();
        assert!((outcome.y[0] - exact).abs() < 1e-5, "{method}: {} and {exact}", outcome.y[0]);
    }
}

/// Fixed steps of the Taylor method converge at the order that the tolerance sets.
#[test]
fn the_taylor_method_shows_its_order() {
    let text = "state x = 1, x' = 0\nstate y = 0.5\nx'' = -sin(x) + 0.1*cos(t)\ny' = -y^2*exp(-t) + x/(1 + y^2)\n";
    let bound = bind(text, &Choices { t_end: Some(4.0), ..Choices::default() });
    let tight = Options { rtol: 1e-13, atol: vec![1e-15], ..bound.options.clone() };
    let reference = run(&bound, "dop853", &tight, 4.0).unwrap().0.y;
    // orders 6, 7 and 8
    for rtol in [1e-2, 1e-3, 1e-4] {
        let order = f64::from(method::taylor::order_for(rtol, 3));
        let error = |steps: f64| {
            let options = Options { rtol, fixed: true, step: Some(4.0 / steps), ..bound.options.clone() };
            let y = run(&bound, "taylor", &options, 4.0).unwrap().0.y;
            y.iter().zip(&reference).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        let (coarse, fine) = (error(32.0), error(48.0));
        let seen = (coarse / fine).ln() / 1.5f64.ln();
        assert!((seen - order).abs() < 0.6, "order {order}: {coarse:e} to {fine:e} is {seen:.2}");
    }
}

/// The error follows the tolerance, in fewer steps than those of Runge-Kutta methods.
#[test]
fn the_taylor_method_keeps_the_tolerance() {
    for (name, t_end) in [("lorenz", 5.0), ("pleiades", 2.0), ("lotka_volterra", 10.0)] {
        let bound = bind(&file(name), &Choices::default());
        let with = |rtol: f64| Options { rtol, atol: vec![rtol * 1e-2], ..bound.options.clone() };
        let reference = run(&bound, "dop853", &with(1e-13), t_end).unwrap().0.y;
        let mut last = f64::INFINITY;
        for rtol in [1e-5, 1e-7, 1e-9, 1e-11] {
            let (outcome, _) = run(&bound, "taylor", &with(rtol), t_end).unwrap();
            let error =
                outcome.y.iter().zip(&reference).map(|(a, b)| (a - b).abs() / (1.0 + b.abs())).fold(0.0, f64::max);
            assert!(error < 1e4 * rtol && error < last, "{name} at {rtol:e}: {error:e} after {last:e}");
            last = error;
            let (runge, _) = run(&bound, "vern7", &with(rtol), t_end).unwrap();
            let (series, runge) = (outcome.stats.accepted, runge.stats.accepted);
            assert!(rtol > 1e-8 || 2 * series < 3 * runge, "{name} at {rtol:e}: {series} steps and {runge}");
        }
    }
}

/// Code for a fused step agrees with its parts: the polynomial at its end, the series there, and the measures of
/// both; the interpreter gives the same bits.
#[test]
fn fused_steps_by_the_series_are_what_their_parts_are() {
    use odec_ode::accelerated::Series;
    use odec_ode::method::taylor::Places;
    use odec_ode::system::System;
    const ORDER: usize = 11;
    let driven = "state x = 1, x' = 0.2\nstate y = 0.5\nparam k = 2\nx'' = -k*sin(x) + 0.1*cos(t)\ny' = -y^2*exp(-t) + x/(1 + y^2)\n";
    for text in [driven, &file("lorenz"), &file("lotka_volterra"), &file("robertson")] {
        let executor = |interpret| bind(text, &Choices { t_end: Some(1.0), interpret, ..Choices::default() }).executor;
        let (code, interpreted) = (executor(false), executor(true));
        let n = code.shape().n;
        let places = Places { n, order: ORDER };
        assert_eq!(places.total(), odec_ir::taylor::step::Places { n, order: ORDER }.len());
        let (t, h, rtol, atol, unit) = (0.3, 0.01, 1e-6, 1e-8, 0.25_f64);
        let units = [1.0, unit.powi(ORDER as i32), unit.powi(ORDER as i32 - 1)];
        let mut from = vec![0.0; places.total()];
        let start = code.initial(0.0);
        from[..n].copy_from_slice(&start);
        assert!(code.prepare_step(ORDER) && interpreted.prepare_step(ORDER));
        code.prepare(ORDER).unwrap();
        code.coefficients(t - h, &start, ORDER, &mut from[n..places.defect()]).unwrap();
        (from[places.step()], from[places.step() + 1]) = (h, rtol);
        from[places.step() + 2..places.atol()].copy_from_slice(&units[1..]);
        from[places.atol()..].fill(atol);
        let (mut to, mut again) = (vec![7.0; places.total()], vec![7.0; places.total()]);
        code.step(t, ORDER, &from, &mut to).unwrap();
        interpreted.step(t, ORDER, &from, &mut again).unwrap();
        assert!(to.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits()), "{text}");
        assert!(to[places.step()..].iter().all(|x| *x == 7.0), "what is given to the next step is left alone");

        let mut sums = [0.0; 3];
        let mut series = vec![0.0; n * ORDER];
        code.coefficients(t, &to[..n], ORDER, &mut series).unwrap();
        assert!(to[n..places.defect()] == series[..], "the series at the end of the step");
        for i in 0..n {
            let c = |k: usize| from[k * n + i];
            let end: f64 = (0..=ORDER).rev().map(|k| c(k) * h.powi(k as i32)).sum();
            let slope: f64 = (1..=ORDER).rev().map(|k| k as f64 * c(k) * h.powi(k as i32)).sum();
            let tolerance = atol + rtol * start[i].abs().max(to[i].abs());
            assert!((to[i] - end).abs() <= 1e-15 * end.abs() + 1e-300, "{} and {end}", to[i]);
            let defect = slope - h * series[i];
            // a difference of two numbers: rounding is relative to the larger one
            let (found, size) = (to[places.defect() + i], slope.abs().max((h * series[i]).abs()));
            assert!((found - defect).abs() <= 1e-15 * size + 1e-300, "{found:e} and {defect:e} of {size:e}");
            let shares = [to[places.defect() + i], series[(ORDER - 1) * n + i], series[(ORDER - 2) * n + i]];
            for ((sum, share), unit) in sums.iter_mut().zip(shares).zip(units) {
                *sum += (unit * share / tolerance).powi(2);
            }
        }
        for (sum, found) in sums.iter().zip(&to[places.sums()..]) {
            assert!((sum - found).abs() <= 1e-13 * sum, "{sum:e} and {found:e}");
        }
    }
}

/// A branch that is taken inside a step is detected at its end, and the step is repeated.
#[test]
fn the_taylor_method_sees_branches() {
    let text = "state x = 0, v = 1\nx' = v\nv' = if x < 0.5 then 1 else -3 - v\n";
    let bound = bind(text, &Choices { t_end: Some(3.0), ..Choices::default() });
    let options = Options { rtol: 1e-9, atol: vec![1e-9], ..bound.options.clone() };
    let (taylor, _) = run(&bound, "taylor", &options, 3.0).unwrap();
    // at the same tolerance dopri5 has errors up to 1.2e-6 after the jump, depending on the positions of its steps
    let tight = Options { rtol: 1e-12, atol: vec![1e-12], ..options };
    let (check, _) = run(&bound, "dopri5", &tight, 3.0).unwrap();
    for (a, b) in taylor.y.iter().zip(&check.y) {
        assert!((a - b).abs() < 1e-6, "{a} and {b}");
    }
}

#[test]
fn the_taylor_method_names_unsupported_features() {
    let bound = bind("state x = 2\nx' = lgamma(x)\n", &Choices { t_end: Some(1.0), ..Choices::default() });
    let refused = run(&bound, "taylor", &bound.options, 1.0).err().unwrap();
    assert!(format!("{refused:?}").contains("lgamma"), "{refused:?}");
}

/// Models with loops have series too: the first coefficient is f, and the polynomial solves the equations over a
/// short time.
#[test]
fn arrays_have_series() {
    use odec_ode::accelerated::Series;
    use odec_ode::system::System;
    const ORDER: usize = 14;
    let written = "index i = 1..5\n\
                   index j = 1..4\n\
                   const w[j] = [0.5, 1, 2, 0.25], next[i] = [3, 1, 5, 2, 4]\n\
                   state u[i] = 0.3 + 0.1*i, s = 1\n\
                   boundary u[0] = sin(t), u[6] = u[5]\n\
                   u[i]' = (u[i-1] - 2*u[next[i]] + u[i+1])*s + sum(j: w[j]*exp(-u[i]*w[j])) + max(j: w[j]*u[i]) - (if u[i] < 0.55 then u[i]^2 else u[i]/3)\n\
                   s' = -s*sum(i: u[i]^1.5)/(1 + t^2)\n";
    let models = ["nbody", "kuramoto", "burgers", "fitzhugh_nagumo", "heat1d", "brusselator1d", "gray_scott"];
    let mut texts: Vec<(&str, String)> = models.iter().map(|&name| (name, file(name))).collect();
    texts.push(("written", written.to_string()));
    for (name, text) in texts {
        let bound = bind(&text, &Choices { t_end: Some(1.0), ..Choices::default() });
        let (executor, n) = (&bound.executor, bound.problem.y0.len());
        // a state away from the start, where many values are zero
        let y: Vec<f64> = bound.problem.y0.iter().enumerate().map(|(i, y)| y + 0.01 * (1.0 + i as f64).sin()).collect();
        executor.prepare(ORDER).unwrap_or_else(|why| panic!("{name}: {why}"));
        let t = 0.3;
        let mut c = vec![0.0; n * ORDER];
        executor.coefficients(t, &y, ORDER, &mut c).unwrap();
        let mut f = vec![0.0; n];
        executor.rhs(t, &y, &mut f).unwrap();
        let size = f.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
        for i in 0..n {
            assert!((c[i] - f[i]).abs() <= 1e-13 * size, "{name}, row {i}: {} and {}", c[i], f[i]);
        }
        // so short that the last term is rounding
        let last = c[n * (ORDER - 1)..].iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let h = 0.5 * (1e-15 * size / last.max(1e-300)).powf(1.0 / (ORDER - 1) as f64).min(0.1);
        let (mut at, mut slope) = (y.clone(), vec![0.0; n]);
        for k in (1..=ORDER).rev() {
            for i in 0..n {
                at[i] += c[(k - 1) * n + i] * h.powi(k as i32);
                slope[i] += k as f64 * c[(k - 1) * n + i] * h.powi(k as i32 - 1);
            }
        }
        executor.rhs(t + h, &at, &mut f).unwrap();
        let moved = c[n..2 * n].iter().fold(0.0, |a: f64, b| a.max(b.abs())) * 2.0 * h;
        for i in 0..n {
            let error = (slope[i] - f[i]).abs();
            assert!(
                error <= 1e-11 * size && error <= 1e-6 * moved,
                "{name}, row {i}: {} and {} after {h:e}",
                slope[i],
                f[i]
            );
        }
    }
}

fn history(outcome: &Outcome) -> String {
    outcome.history.as_ref().map(|history| history.line("t")).unwrap_or_default()
}

/// At tight tolerances the series is used if its code is short and it is smooth, and only then.
#[test]
fn auto_takes_series_where_they_are_short_and_smooth() {
    let oscillator = "state x = 1, x' = 0\nx'' = -x - x^3\n";
    let bent = "state x = 1, x' = 0\nx'' = -x - max(x, 0.3)\n";
    let gamma = "state x = 1\nx' = -x*lgamma(x + 2)\n";
    for (text, series) in [(oscillator, true), (bent, false), (gamma, false), (file("nbody").as_str(), false)] {
        let bound = bind(text, &Choices { t_end: Some(1.0), ..Choices::default() });
        for (rtol, tight) in [(1e-5, false), (1e-9, true), (1e-12, true)] {
            let options = Options { rtol, atol: vec![rtol], ..bound.options.clone() };
            let outcome = run(&bound, "auto", &options, 1.0).unwrap().0;
            assert_eq!(
                history(&outcome).starts_with("taylor"),
                series && tight,
                "{text} at {rtol:e}: {}",
                history(&outcome)
            );
            if series && tight {
                // the state at the end, of a run of about as many steps as the series alone takes for a tenth of the
                // tolerance (decision 0020)
                let tenth = Options { rtol: 0.1 * rtol, atol: vec![0.1 * rtol], ..options.clone() };
                let alone = run(&bound, "taylor", &tenth, 1.0).unwrap().0;
                assert!(alone.y.iter().zip(&outcome.y).all(|(a, b)| (a - b).abs() <= 0.3 * rtol), "{rtol:e}");
                assert!(alone.stats.accepted.abs_diff(outcome.stats.accepted) <= 2, "{rtol:e}");
            }
        }
    }
}

/// If the solution has no series at its start, a Runge-Kutta method is used, also by a runner, whose next run may
/// start elsewhere.
#[test]
fn auto_starts_where_there_is_no_series() {
    let texts = [
        "param inflow = 1\nstate x = 0\nx' = inflow - sqrt(x)\n",
        "state x = 0\nx' = 1 - x^1.5\n",
        "state x = 0, v = 0, w = 0\nx' = v\nv' = -0.5*hypot(v, w)*v\nw' = 1 - 0.5*hypot(v, w)*w\n",
    ];
    for text in texts {
        let bound = bind(text, &Choices { t_end: Some(2.0), ..Choices::default() });
        for rtol in [1e-8, 1e-10] {
            let options = Options { rtol, atol: vec![rtol * 1e-2], ..bound.options.clone() };
            let name = if rtol < 1e-9 { "vern9" } else { "vern7" };
            let (auto, rows) = run(&bound, "auto", &options, 2.0).unwrap();
            let history = auto.history.clone().unwrap();
            assert_eq!((history.legs[0].method, history.switches), (name, 0), "{text}");
            let own = working_options(&options, method::find(name).unwrap());
            let (alone, _) = run(&bound, name, &own, 2.0).unwrap();
            // the first step is chosen for the tolerance of the run, so the steps differ from those of the method alone
            let near = auto.y.iter().zip(&alone.y).all(|(a, b)| (a - b).abs() <= own.rtol * b.abs() + own.atol[0]);
            assert!(near, "{text}: {:?} {:?}", auto.y, alone.y);
            // the series serves from elsewhere, and the first start again after it
            let mut runner = odec_ode::Runner::new(&bound.executor, method::find("auto").unwrap(), &options).unwrap();
            let first = bound.executor.initial(0.0);
            let elsewhere: Vec<f64> = first.iter().map(|y| y + 0.5).collect();
            for (y0, expected) in [(&first, name), (&elsewhere, "taylor"), (&first, name)] {
                let mut again = Rows::default();
                let problem = Problem { t0: 0.0, t_end: 2.0, y0: y0.clone() };
                let samples = Samples::Times((0..=40).map(|i| f64::from(i) * 0.05).collect());
                let outcome = runner.run(&bound.executor, &problem, &samples, &mut again).unwrap();
                assert_eq!(outcome.history.unwrap().legs[0].method, expected, "{text}");
                assert!(expected == "taylor" || outcome.y == auto.y, "{text}");
            }
            drop(rows);
        }
    }
}

/// Stiffness is detected from the series too, and runs cost about as much as with the implicit method alone.
#[test]
fn auto_leaves_the_series_where_a_model_is_stiff() {
    let work = |outcome: &Outcome| {
        let s = &outcome.stats;
        s.rhs as f64 + s.jacobians as f64 + 4.0 * s.factorisations as f64 + 1.5 * s.solves as f64
    };
    let late = "param k = 1e5\nstate y = 1\ny' = -(1 + k/(1 + exp(10 - t)))*(y - cos(t)) - sin(t)\n";
    let mut cases: Vec<(&str, String, f64)> = STIFF.iter().map(|&(name, t_end)| (name, file(name), t_end)).collect();
    cases.push(("late", late.to_string(), 40.0));
    cases.push(("lorenz", file("lorenz"), 10.0));
    cases.push(("kepler", file("kepler"), 20.0));
    let (mut wrong, mut share) = (Vec::new(), Share::one_of(2));
    for (name, text, t_end) in cases {
        let bound = bind(&text, &Choices { t_end: Some(t_end), ..Choices::default() });
        for rtol in [1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12].into_iter().filter(|_| share.takes()) {
            let options = Options { rtol, atol: vec![rtol * 1e-4], max_steps: 50_000, ..bound.options.clone() };
            let outcome =
                run(&bound, "auto", &options, t_end).unwrap_or_else(|e| panic!("{name} at {rtol:e}: {e:?}")).0;
            let methods = outcome.history.as_ref().unwrap().methods;
            let best = methods
                .iter()
                .flatten()
                .filter_map(|name| {
                    // at the tolerance that `auto` has it work to
                    let own = working_options(&options, method::find(name).unwrap());
                    run(&bound, name, &own, t_end).ok()
                })
                .map(|(outcome, _)| work(&outcome))
                .fold(f64::INFINITY, f64::min);
            let own = work(&outcome);
            if own > 1.3 * best + 300.0 {
                wrong.push(format!("{name} at {rtol:e}: {own} and not {best}, {}", history(&outcome)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A run after other runs of the same runner is equal to a run alone, bit for bit and count for count.
#[test]
fn runs_of_one_runner_do_not_affect_each_other() {
    let methods = [
        "auto", "tsit5", "dopri5", "dop853", "vern7", "taylor", "rodas4", "rodas5p", "radau5", "bdf", "bdf3",
        "kencarp4",
    ];
    let models = STIFF.iter().copied().chain([("lorenz", 3.0), ("kepler", 7.0), ("chain", 1.0), ("heat1d", 0.1)]);
    for (name, t_end) in models.chain([("", 10.0)]) {
        let text = if name.is_empty() { VANISHING.to_string() } else { file(name) };
        let bound = bind(&text, &Choices { t_end: Some(t_end), ..Choices::default() });
        for method in methods.map(|method| method::find(method).unwrap()) {
            for rtol in [1e-4, 1e-7] {
                let options = Options { rtol, atol: vec![1e-3 * rtol], max_steps: 2_000, ..bound.options.clone() };
                let Ok(mut runner) = Runner::new(&bound.executor, method, &options) else { continue };
                for factor in [1.0, 0.5, 0.9, 1.0] {
                    let y0 = bound.problem.y0.iter().map(|y| y * factor).collect();
                    let problem = Problem { t0: 0.0, t_end: factor * t_end, y0 };
                    let (mut alone, mut again) = (Rows::default(), Rows::default());
                    let expected = solve(&bound.executor, &problem, method, &options, &Samples::Steps, &mut alone);
                    let found = runner.run(&bound.executor, &problem, &Samples::Steps, &mut again);
                    let what = format!("{name} with {} at {rtol:e}", method.name);
                    assert!(alone.0 == again.0, "{what}: other rows");
                    match (expected, found) {
                        (Ok(expected), Ok(found)) => {
                            assert_eq!((expected.stats, expected.history), (found.stats, found.history), "{what}");
                            let timeless =
                                |report: Option<LinearReport>| report.map(|r| LinearReport { analysis: 0, ..r });
                            assert_eq!(timeless(expected.linear), timeless(found.linear), "{what}");
                        }
                        (Err(SolveError::Failed(expected)), Err(SolveError::Failed(found))) => {
                            assert_eq!((expected.cause, expected.stats), (found.cause, found.stats), "{what}");
                        }
                        (expected, found) => panic!("{what}: {expected:?} and {found:?}"),
                    }
                }
            }
        }
    }
}

/// If f ends at a place (at x = 0, which the solution reaches with a slope), a series could be followed along that
/// place, in steps far below all tolerances: a run must not creep on.
#[test]
fn no_run_creeps_along_the_edge_of_the_domain_of_f() {
    let text = "state x = 1.4, y = 0\nx' = -sqrt(x) - 0.5\ny' = x - y\n";
    let bound = bind(text, &Choices { t_end: Some(2.0), ..Choices::default() });
    for method in ["taylor", "auto", "vern7", "rodas5p"] {
        for rtol in [1e-5, 1e-6, 1e-8] {
            let options = Options { rtol, atol: vec![1e-9], ..bound.options.clone() };
            let Err(SolveError::Failed(failure)) = run(&bound, method, &options, 2.0) else {
                panic!("{method} goes on")
            };
            let attempts = failure.stats.accepted + failure.stats.rejected + failure.stats.failed;
            assert!(attempts < 10_000, "{method} at {rtol}: {attempts} attempts");
            // 2 sqrt(x) - ln(1 + 2 sqrt(x)) at the start
            let end = 2.0 * 1.4f64.sqrt() - (1.0 + 2.0 * 1.4f64.sqrt()).ln();
            assert!((failure.t - end).abs() < 1e-3, "{method} at {rtol}: {} and {end}", failure.t);
        }
    }
}

/// Occasional failures, or bursts of failures after a long rest, do not count as creeping: the run continues to its end.
#[test]
fn failed_steps_do_not_count_as_creeping() {
    let text = "state x = 1\nx' = if t < 1e6 then 0 else -1e3*sqrt(x) + 2e3*max(0, sin(6283*(t - 1e6)))\n";
    let bound = bind(text, &Choices { t_end: Some(1_000_008.0), ..Choices::default() });
    let (outcome, _) = run(&bound, "vern7", &bound.options.clone(), 1_000_008.0).unwrap();
    assert!(outcome.stats.failed > 2_000, "{}", outcome.stats.failed);
}
