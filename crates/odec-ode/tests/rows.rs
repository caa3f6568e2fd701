//! Rows between the ends of steps are as good as these ends: fast unknowns that follow slow ones, algebraic unknowns,
//! smooth problems.

use std::ops::ControlFlow;

use crate::dense::{Dense, run, tolerances};
use odec_ode::method::{self, Adaptive, Family, Method, Stability};
use odec_ode::{CorrectedRows, Options, Problem, Samples, Sink, Stats, solve};

/// Rows of a run.
const ROWS: u32 = 1_000;
/// Largest ratio of errors of rows and of ends of steps, in addition to the tolerance, which for unknowns of size 1
/// is rtol + atol.
const WORSE: f64 = 3.0;

/// A problem with its solution, whose unknowns are of size 1.
struct Known {
    name: String,
    system: Dense,
    t_end: f64,
    solution: Box<dyn Fn(f64) -> Vec<f64>>,
}

/// Sink that computes the largest error of its rows.
struct Worst<'a> {
    known: &'a Known,
    error: f64,
}

impl Sink for Worst<'_> {
    fn row(&mut self, t: f64, y: &[f64]) -> ControlFlow<()> {
        let errors = (self.known.solution)(t).into_iter().zip(y).map(|(z, y)| (z - y).abs());
        self.error = errors.fold(self.error, f64::max);
        ControlFlow::Continue(())
    }
}

fn errors(known: &Known, method: &'static Method, options: &Options) -> ([f64; 2], Stats) {
    let problem = Problem { t0: 0.0, t_end: known.t_end, y0: (known.solution)(0.0) };
    let times = (0..=ROWS).map(|i| known.t_end * f64::from(i) / f64::from(ROWS)).collect();
    let mut stats = Stats::default();
    let errors = [Samples::Steps, Samples::Times(times)].map(|samples| {
        let mut sink = Worst { known, error: 0.0 };
        let outcome = solve(&known.system, &problem, method, options, &samples, &mut sink);
        stats = outcome.unwrap_or_else(|e| panic!("{}, {}: {e:?}", known.name, method.name)).stats;
        sink.error
    });
    (errors, stats)
}

/// Checks that the rows of a method are accurate where the ends of its steps are.
fn check(known: &Known, method: &'static Method) -> CorrectedRows {
    let mut between = CorrectedRows::default();
    for rtol in [1e-4, 1e-6] {
        // methods of low order would require too many steps
        if method.order < 3 && rtol < 1e-5 {
            continue;
        }
        let ([ends, rows], stats) = errors(known, method, &tolerances(rtol, rtol));
        assert!(
            rows <= WORSE * ends + 2.0 * rtol,
            "{}, {} at {rtol:e}: rows {rows:e}, ends {ends:e}, {stats:?}",
            known.name,
            method.name
        );
        between.add(&stats.between);
    }
    between
}

/// tau y' = sin(t) - y, from rest.
fn lag(tau: f64) -> Known {
    let system = Dense::new(1, move |t, y, f| f[0] = (t.sin() - y[0]) / tau, move |_, _, j| j[0] = -1.0 / tau)
        .time(move |t, _, ft| ft[0] = t.cos() / tau);
    let solution = move |t: f64| vec![(t.sin() - tau * t.cos() + tau * (-t / tau).exp()) / (1.0 + tau * tau)];
    Known { name: format!("lag of {tau:e}"), system, t_end: 20.0, solution: Box::new(solution) }
}

/// y' = -k (y^3 - g^3) + g', whose solution is g = 1 + sin(t)/2.
fn nonlinear_lag(k: f64) -> Known {
    let g = |t: f64| 1.0 + 0.5 * t.sin();
    let rhs = move |t: f64, y: &[f64], f: &mut [f64]| f[0] = -k * (y[0].powi(3) - g(t).powi(3)) + 0.5 * t.cos();
    let time = move |t: f64, _: &[f64], ft: &mut [f64]| {
        ft[0] = k * 1.5 * g(t) * g(t) * t.cos() - 0.5 * t.sin();
    };
    let system = Dense::new(1, rhs, move |_, y, j| j[0] = -3.0 * k * y[0] * y[0]).time(time);
    Known { name: format!("nonlinear lag, k = {k:e}"), system, t_end: 10.0, solution: Box::new(move |t| vec![g(t)]) }
}

/// x' = v, v' = -x, z' = -k (z - x v): an oscillator that drives a stiff unknown.
fn driven(k: f64) -> Known {
    let rhs = move |_: f64, y: &[f64], f: &mut [f64]| {
        (f[0], f[1], f[2]) = (y[1], -y[0], -k * (y[2] - y[0] * y[1]));
    };
    let jacobian = move |_: f64, y: &[f64], j: &mut [f64]| {
        j.copy_from_slice(&[0.0, 1.0, 0.0, -1.0, 0.0, 0.0, k * y[1], k * y[0], -k]);
    };
    let solution = move |t: f64| {
        let (c, s) = ((2.0 * t).cos(), (2.0 * t).sin());
        let z = -0.5 * k / (k * k + 4.0) * (k * s - 2.0 * c + 2.0 * (-k * t).exp());
        vec![t.cos(), -t.sin(), z]
    };
    let system = Dense::new(3, rhs, jacobian);
    Known { name: format!("driven, k = {k:e}"), system, t_end: 10.0, solution: Box::new(solution) }
}

/// x' = v, v' = -x, 0 = z - sin(3 x): index 1, with an algebraic unknown that moves faster than the others.
fn algebraic() -> Known {
    let rhs = |_: f64, y: &[f64], f: &mut [f64]| (f[0], f[1], f[2]) = (y[1], -y[0], y[2] - (3.0 * y[0]).sin());
    let jacobian = |_: f64, y: &[f64], j: &mut [f64]| {
        j.copy_from_slice(&[0.0, 1.0, 0.0, -1.0, 0.0, 0.0, -3.0 * (3.0 * y[0]).cos(), 0.0, 1.0]);
    };
    let system = Dense::new(3, rhs, jacobian).mass(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    let solution = |t: f64| vec![t.sin(), t.cos(), (3.0 * t.sin()).sin()];
    Known { name: "algebraic".to_string(), system, t_end: 10.0, solution: Box::new(solution) }
}

/// y' = y cos(t): not stiff (DETEST A3).
fn smooth() -> Known {
    let system = Dense::new(1, |t, y, f| f[0] = y[0] * t.cos(), |t, _, j| j[0] = t.cos())
        .time(|t, y, ft| ft[0] = -y[0] * t.sin());
    Known { name: "smooth".to_string(), system, t_end: 20.0, solution: Box::new(|t| vec![t.sin().exp()]) }
}

/// S' = -S/(K + S) with a small K: a substrate that is used up at t = 1, and then decays at the rate 1/K. Its
/// solution satisfies S + K ln S = 1 - t.
fn used_up(k: f64) -> Known {
    let system = Dense::new(1, move |_, y, f| f[0] = -y[0] / (k + y[0]), move |_, y, j| j[0] = -k / (k + y[0]).powi(2));
    let solution = move |t: f64| {
        let (mut low, mut high) = ((1.0 - t).min(0.0) / k - 1.0, 0.0);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if f64::exp(middle) + k * middle < 1.0 - t {
                low = middle;
            } else {
                high = middle;
            }
        }
        vec![f64::exp(low)]
    };
    Known { name: format!("used up, K = {k:e}"), system, t_end: 2.0, solution: Box::new(solution) }
}

fn auto() -> &'static Method {
    method::find("auto").unwrap()
}

/// The methods for stiff problems.
fn stiff() -> impl Iterator<Item = &'static Method> {
    method::general().filter(|m| m.structure.jacobian && m.adaptive != Adaptive::FixedStep).chain([auto()])
}

#[test]
fn rows_of_a_lag() {
    for method in stiff() {
        for tau in [1e-2, 1e-4, 1e-6, 1e-9] {
            let between = check(&lag(tau), method);
            // steps grow across the motion, so that this test would fail without the corrections
            if tau < 1e-5 && matches!(method.family, Family::Rosenbrock(_)) && method.name != "ros2" {
                assert!(between.corrected + between.landed > 100, "{}: {between:?}", method.name);
            }
        }
    }
}

#[test]
fn rows_of_nonlinear_lags() {
    for method in stiff() {
        for k in [1e3, 1e6] {
            check(&nonlinear_lag(k), method);
        }
    }
}

#[test]
fn rows_of_a_driven_stiff_unknown() {
    for method in stiff() {
        for k in [1e3, 1e6] {
            check(&driven(k), method);
        }
    }
}

#[test]
fn rows_of_algebraic_unknowns() {
    // Without damping at infinity algebraic equations are not met at the ends of steps either, and `ros2` does not end on
    // its last stage.
    let fit = |m: &&Method| m.stability == Stability::L && m.name != "ros2" || m.family.name() == "automatic";
    for method in stiff().filter(fit) {
        let between = check(&algebraic(), method);
        assert!(method.name != "rodas5p" || between.corrected + between.landed > 0, "{between:?}");
    }
}

#[test]
fn rows_where_nothing_is_stiff() {
    for method in method::general().filter(|m| m.adaptive != Adaptive::FixedStep && m.order > 2).chain([auto()]) {
        check(&smooth(), method);
    }
}

#[test]
fn rows_of_a_decay_that_is_too_fast_for_an_explicit_method_and_below_its_tolerance() {
    let mut landed = 0;
    for name in ["auto", "dopri5", "tsit5", "vern7", "vern9", "dop853"] {
        for k in [1e-2, 1e-3, 1e-4] {
            landed += check(&used_up(k), method::find(name).unwrap()).landed;
        }
    }
    // the dense output of such steps is off by up to ten tolerances
    assert!(landed > 0);
}

#[test]
fn accurate_dense_output_is_not_corrected() {
    let known = smooth();
    for name in ["dopri5", "tsit5", "vern7", "vern9", "bdf"] {
        let method = method::find(name).unwrap();
        let (_, stats) = errors(&known, method, &tolerances(1e-6, 1e-6));
        assert_eq!((stats.between.corrected, stats.between.landed), (0, 0), "{name}");
    }
}

#[test]
fn fixed_steps_are_left_alone() {
    let known = lag(1e-4);
    let options = Options { step: Some(0.1), fixed: true, ..Options::default() };
    let times = Samples::Times(vec![0.25, 0.55]);
    let problem = Problem { t0: 0.0, t_end: 1.0, y0: vec![0.0] };
    let mut sink = Worst { known: &known, error: 0.0 };
    let outcome = solve(&known.system, &problem, method::find("rodas4").unwrap(), &options, &times, &mut sink).unwrap();
    assert_eq!(outcome.stats.between, CorrectedRows::default());
    let (_, rows) = run(&known.system, (0.0, 1.0), &[0.0], "rodas4", &options).unwrap();
    assert_eq!(rows.len(), 11);
}
