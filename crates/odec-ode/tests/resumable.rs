//! Runs that are driven step by step, by every method: the interpolant after a step, its coefficients, revoked steps,
//! changed states, exact stops.

use std::cell::Cell;

use crate::dense::{Rows, fixed, tolerances};
use odec_ode::accelerated::{Accelerated, Series};
use odec_ode::method::{self, Adaptive, Family};
use odec_ode::pattern::Pattern;
use odec_ode::problem::CorrectedRows;
use odec_ode::runner::{Reached, StepRequest};
use odec_ode::system::{EvalError, Jacobian, Shape, System};
use odec_ode::{Method, Options, Problem, Runner, Samples, Stop, solve};

/// x'' = -sin x with its Taylor coefficients, and the latest time at which f was evaluated.
struct Pendulum {
    pattern: Pattern,
    latest: Cell<f64>,
}

impl Pendulum {
    fn new() -> Self {
        Pendulum { pattern: Pattern::from_positions(2, 2, [(1, 0), (0, 1)]), latest: Cell::new(0.0) }
    }
}

impl System for Pendulum {
    fn shape(&self) -> Shape {
        Shape { n: 2, second: 1 }
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        self.latest.set(self.latest.get().max(t));
        f.copy_from_slice(&[y[1], -y[0].sin()]);
        Ok(())
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.pattern)
    }
    fn jacobian_values(&self, _: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        values.copy_from_slice(&[-y[0].cos(), 1.0]);
        Ok(())
    }
    fn autonomous(&self) -> bool {
        true
    }
    fn accelerated(&self) -> Option<&dyn Accelerated> {
        Some(self)
    }
}

impl Accelerated for Pendulum {
    fn series(&self) -> Option<&dyn Series> {
        Some(self)
    }
}

impl Series for Pendulum {
    fn prepare(&self, _: usize) -> Result<(), String> {
        Ok(())
    }
    fn coefficients(&self, t: f64, y: &[f64], order: usize, out: &mut [f64]) -> Result<(), EvalError> {
        self.latest.set(self.latest.get().max(t));
        let (mut x, mut v, mut s, mut c) = (vec![y[0]], vec![y[1]], vec![y[0].sin()], vec![y[0].cos()]);
        for k in 0..order {
            let next = (k + 1) as f64;
            x.push(v[k] / next);
            v.push(-s[k] / next);
            let sum = |of: &[f64]| (1..=k + 1).map(|j| j as f64 * x[j] * of[k + 1 - j]).sum::<f64>() / next;
            let (sine, cosine) = (sum(&c), -sum(&s));
            s.push(sine);
            c.push(cosine);
            out[2 * k..2 * k + 2].copy_from_slice(&[x[k + 1], v[k + 1]]);
        }
        Ok(())
    }
}

const START: [f64; 2] = [1.0, 0.5];

/// Relative difference of a polynomial by its coefficients and by the formula of its method.
const ROUNDING: f64 = 1e-13;

/// Every method with its supported modes: adaptive steps, equal steps.
fn runs() -> Vec<(&'static Method, Options)> {
    let mut list = Vec::new();
    for method in method::table().iter().copied().chain([method::find("auto").unwrap()]) {
        if method.adaptive != Adaptive::FixedStep {
            let rtol = if method.order < 3 { 1e-5 } else { 1e-8 };
            list.push((method, tolerances(rtol, rtol)));
        }
        if !["bdf", "abm"].contains(&method.name) {
            list.push((method, fixed(if method.order < 3 { 1e-3 } else { 0.02 })));
        }
    }
    assert!(list.len() > 70, "{}", list.len());
    list
}

fn problem(t_end: f64) -> Problem {
    Problem { t0: 0.0, t_end, y0: START.to_vec() }
}

fn begun(system: &Pendulum, method: &'static Method, options: &Options, t_end: f64) -> Runner {
    let mut runner = Runner::new(system, method, options).unwrap();
    runner.allow_retreat();
    runner.begin(system, &problem(t_end)).unwrap();
    runner
}

fn named(method: &Method, options: &Options) -> String {
    format!("{}{}", method.name, if options.fixed { ", equal steps" } else { "" })
}

/// The solution from another start and time, to rounding.
fn exact(from: f64, y0: &[f64], to: f64) -> Vec<f64> {
    let problem = Problem { t0: from, t_end: to, y0: y0.to_vec() };
    let vern9 = method::find("vern9").unwrap();
    let (system, options) = (Pendulum::new(), tolerances(1e-13, 1e-13));
    solve(&system, &problem, vern9, &options, &Samples::Times(vec![]), &mut Rows::new()).unwrap().y
}

/// Error that a run to about t = 3 may have.
fn bound(options: &Options, method: &Method) -> f64 {
    match (options.fixed, method.order) {
        (true, 1) => 5e-3,
        (true, 2) => 1e-4,
        (true, 3) => 1e-4,
        (true, _) => 1e-5,
        (false, _) => 2e3 * options.rtol,
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn a_run_in_steps_has_the_bits_of_a_run() {
    let system = Pendulum::new();
    for (method, options) in runs() {
        let mut rows = Rows::new();
        let outcome = solve(&system, &problem(1.0), method, &options, &Samples::Steps, &mut rows).unwrap();
        let mut runner = begun(&system, method, &options, 1.0);
        let mut steps = vec![(0.0, START.to_vec())];
        while runner.time() != 1.0 {
            let reached = runner.advance(&system, StepRequest::default()).unwrap();
            assert_eq!(reached == Reached::End, runner.time() == 1.0);
            steps.push((runner.time(), runner.state().to_vec()));
        }
        assert_eq!(steps, rows.rows, "{}", named(method, &options));
        assert_eq!(runner.outcome(Stop::End).stats, outcome.stats, "{}", named(method, &options));
        assert_eq!(runner.advance(&system, StepRequest::default()).unwrap(), Reached::End);
    }
}

#[test]
fn the_interpolant_is_there_after_a_step_and_its_coefficients_are_it() {
    let system = Pendulum::new();
    for (method, options) in runs() {
        let name = named(method, &options);
        let mut runner = begun(&system, method, &options, 2.0);
        assert!(runner.interpolant(&system).unwrap().is_none(), "{name}: before the first step");
        // High powers of s have coefficients up to 1,581 (vern9), whose rounding error is 4e-13 of their size. Those
        // of a multistep method pass through states of many steps.
        let weights = match method.family {
            Family::Multistep | Family::Automatic => 64.0,
            _ if method.order >= 5 => 16.0,
            _ => 1.0,
        };
        let (mut samples, mut values) = (Vec::new(), Vec::new());
        let (mut y, mut z, mut slope, mut seen) = ([0.0; 2], [0.0; 2], [0.0; 2], 0);
        while runner.time() != 2.0 {
            let (from, before) = (runner.time(), runner.state().to_vec());
            runner.advance(&system, StepRequest::default()).unwrap();
            let (to, after) = (runner.time(), runner.state().to_vec());
            let Some(interpolant) = runner.interpolant(&system).unwrap() else { panic!("{name}: no interpolant") };
            for k in 0..=10 {
                let t = from + (to - from) * f64::from(k) / 10.0;
                interpolant.value(t, &mut y);
                assert!(interpolant.polynomials().value(t, &mut z));
                let size = y[0].abs() + y[1].abs();
                assert!(distance(&y, &z) <= ROUNDING * size * weights, "{name} at {t}: {:e}", distance(&y, &z));
                if k % 5 != 0 {
                    interpolant.derivative(t, &mut slope);
                    // the derivative of a polynomial of degree 13 by the slope of its chord
                    let d = 1e-4 * (to - from);
                    interpolant.value(t + d, &mut y);
                    interpolant.value(t - d, &mut z);
                    for i in 0..2 {
                        let chord = (y[i] - z[i]) / (2.0 * d);
                        let rounding = 4e-15 / d + 1e-6;
                        assert!((slope[i] - chord).abs() <= rounding, "{name} at {t}: {} {chord}", slope[i]);
                    }
                }
            }
            interpolant.value(from, &mut y);
            interpolant.value(to, &mut z);
            assert!(distance(&y, &before) < 1e-13 && distance(&z, &after) < 1e-13, "{name}: the ends");
            let covered: f64 = interpolant.polynomials().segments().map(|(segment, _)| segment.length).sum();
            assert!((covered - (to - from)).abs() < 1e-12 * to, "{name}: {covered}");
            if samples.len() < 40 && seen % 3 == 1 {
                let t = from + 0.4 * (to - from);
                interpolant.value(t, &mut y);
                samples.push(t);
                values.push((t, y.to_vec()));
            }
            seen += 1;
        }
        // announced and other times give the same bits, except for rows that are more accurate than the interpolant
        let mut rows = Rows::new();
        let times = Samples::Times(samples);
        let outcome = solve(&system, &problem(2.0), method, &options, &times, &mut rows).unwrap();
        if outcome.stats.between == CorrectedRows::default() {
            assert_eq!(rows.rows, values, "{name}");
        }
        // an interpolant of low order misses a tight tolerance, and rows do not (see `rows.rs`)
        let at = |rows: &[(f64, Vec<f64>)]| rows.iter().map(|(t, _)| *t).collect::<Vec<_>>();
        assert_eq!(at(&rows.rows), at(&values), "{name}");
    }
}

/// True if a repeated step needs no matrix of an earlier step.
fn solves_directly(method: &Method) -> bool {
    !method.structure.jacobian
        || matches!(method.family, Family::Rosenbrock(_) | Family::Automatic)
        || method.name == "linearised-backward-euler"
}

#[test]
fn a_step_taken_back_and_tried_again_has_the_same_bits() {
    let system = Pendulum::new();
    for (method, options) in runs() {
        let name = named(method, &options);
        let mut runner = begun(&system, method, &options, 3.0);
        assert!(!runner.retreat(), "{name}: there is no step yet");
        let mut count = 0;
        while runner.time() != 3.0 {
            let start = (runner.time(), runner.state().to_vec());
            let step = |runner: &mut Runner| {
                runner.advance(&system, StepRequest::default()).unwrap();
                (runner.time(), runner.state().to_vec())
            };
            let first = step(&mut runner);
            if count % 5 == 2 || count == 0 {
                let back = |runner: &mut Runner| {
                    assert!(runner.retreat(), "{name}");
                    assert!(!runner.retreat() && runner.interpolant(&system).unwrap().is_none(), "{name}: once only");
                    assert_eq!((runner.time(), runner.state().to_vec()), start, "{name}");
                };
                back(&mut runner);
                let second = step(&mut runner);
                back(&mut runner);
                let third = step(&mut runner);
                assert_eq!(second, third, "{name}, step {count}");
                if solves_directly(method) {
                    assert_eq!(first, second, "{name}, step {count}");
                }
            }
            count += 1;
        }
        let error = distance(runner.state(), &exact(0.0, &START, 3.0));
        assert!(count > 5 && error < bound(&options, method), "{name}: {error:e} after {count} steps");
    }
}

#[test]
fn a_run_continues_from_a_changed_state() {
    let system = Pendulum::new();
    let other = [-0.3, 1.0];
    for (method, options) in runs() {
        let name = named(method, &options);
        for changed in [false, true] {
            let mut runner = begun(&system, method, &options, 3.0);
            while runner.advance(&system, StepRequest { stop: Some(1.5), sample: None }).unwrap() != Reached::Stop {}
            let y = if changed { other.to_vec() } else { runner.state().to_vec() };
            runner.resume(&system, &y).unwrap();
            assert_eq!((runner.time(), runner.state()), (1.5, &y[..]), "{name}");
            assert!(runner.interpolant(&system).unwrap().is_none() && !runner.retreat(), "{name}: no step yet");
            while runner.advance(&system, StepRequest::default()).unwrap() != Reached::End {}
            let want = if changed { exact(1.5, &other, 3.0) } else { exact(0.0, &START, 3.0) };
            let error = distance(runner.state(), &want);
            assert!(error < bound(&options, method), "{name}: {error:e}");
        }
    }
    let runner = &mut begun(&system, method::find("dopri5").unwrap(), &tolerances(1e-6, 1e-6), 3.0);
    assert!(runner.resume(&system, &[f64::NAN, 0.0]).is_err() && runner.resume(&system, &[0.0]).is_err());
}

#[test]
fn stops_are_met_exactly_and_nothing_is_evaluated_beyond() {
    let system = Pendulum::new();
    // the second is not on any grid, the fourth is a pulse behind the third
    let stops = [0.1, 0.1 + 0.2 + 1e-3, 1.0, 1.0 + 1e-9, 2.5];
    for (method, options) in runs() {
        let name = named(method, &options);
        let mut runner = begun(&system, method, &options, 3.0);
        system.latest.set(0.0);
        for stop in stops {
            let request = StepRequest { stop: Some(stop), sample: None };
            let mut steps = 0;
            while runner.advance(&system, request).unwrap() != Reached::Stop {
                assert!(runner.time() < stop, "{name}");
                steps += 1;
            }
            assert_eq!(runner.time(), stop, "{name}");
            let past = system.latest.get() - stop;
            // by its construction yoshida4 moves beyond the end of a step and back
            let within = past <= 4.0 * f64::EPSILON * stop || method.name == "yoshida4";
            assert!(within, "{name}: f at {past:e} beyond {stop}");
            assert!(steps < 3_000, "{name}: {steps} steps");
            // it is already there
            assert_eq!(runner.advance(&system, request).unwrap(), Reached::Stop);
        }
        assert!(runner.advance(&system, StepRequest { stop: Some(2.0), sample: None }).is_err(), "{name}: behind");
        while runner.advance(&system, StepRequest { stop: Some(4.0), sample: None }).unwrap() != Reached::End {}
        let error = distance(runner.state(), &exact(0.0, &START, 3.0));
        assert!(runner.time() == 3.0 && error < bound(&options, method), "{name}: {error:e}");
    }
}
