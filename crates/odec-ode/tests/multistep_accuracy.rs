//! Accuracy of the multistep methods on the stiff problems: error below 100 x rtol (OREGO 300) with `bdf`.

use crate::dense;
use crate::stiff;

use std::ops::ControlFlow;

use dense::{Dense, run, tolerances};
use odec_ode::runner::{Reached, StepRequest};
use odec_ode::{Options, Problem, Runner, Samples, Sink, method, solve};

struct Nothing;

impl Sink for Nothing {
    fn row(&mut self, _t: f64, _y: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Error over rtol at the end of a run.
fn quotient(problem: &stiff::Stiff, name: &str, rtol: f64) -> f64 {
    let run = Problem { t0: 0.0, t_end: problem.t_end, y0: problem.y0.clone() };
    let options = Options { rtol, atol: vec![rtol * problem.ratio], ..Options::default() };
    let method = method::find(name).unwrap();
    match solve(problem, &run, method, &options, &Samples::Steps, &mut Nothing) {
        Ok(outcome) => {
            let quotient = problem.error(&outcome.y) / rtol;
            println!("{name:5} {:16} {rtol:7.0e} {quotient:10.3} x rtol  {:?}", problem.name, outcome.stats);
            quotient
        }
        Err(e) => {
            println!("{name:5} {:16} {rtol:7.0e} {e:?}", problem.name);
            f64::INFINITY
        }
    }
}

#[test]
fn bdf_reaches_the_targets() {
    let mut missed = Vec::new();
    for problem in stiff::all() {
        let target = if problem.name == "orego" { 300.0 } else { 100.0 };
        for rtol in [1e-4, 1e-6, 1e-8] {
            let q = quotient(&problem, "bdf", rtol);
            if q.is_nan() || q >= target {
                missed.push(format!("{} at {rtol:e}: {q:.1} x rtol", problem.name));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

/// An error per step of rtol gives a global error of the power p/(p+1) of rtol with the formula of order p.
#[test]
fn fixed_orders_on_variable_steps_solve_the_stiff_problems() {
    let mut missed = Vec::new();
    for (order, rtol) in [(1, 1e-5), (2, 1e-4), (3, 1e-5), (4, 1e-6), (5, 1e-7), (6, 1e-8_f64)] {
        for problem in stiff::all() {
            let q = quotient(&problem, &format!("bdf{order}"), rtol) * rtol.powf(1.0 / f64::from(order + 1));
            if q.is_nan() || q >= 50.0 {
                missed.push(format!("bdf{order} {} at {rtol:e}: {q:.1} x rtol^(p/(p+1))", problem.name));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

/// With the Jacobian of a jump still in use on the slow manifold after it, Newton's iteration accepted corrections
/// that were too large, and one tolerance in ten gave another orbit. Therefore many tolerances, and none may give a
/// large error.
#[test]
fn van_der_pol_is_solved_at_every_tolerance() {
    let problem = stiff::vdpol();
    for k in 0..40 {
        let rtol = 10f64.powf(-3.5 - f64::from(k) / 12.0);
        let q = quotient(&problem, "bdf", rtol);
        assert!(q < 100.0, "{rtol:e}: {q} x rtol");
    }
}

/// Two bodies on an ellipse of eccentricity 0.5, three times round: evaluations of f, and the error at the end.
fn orbit(name: &str, rtol: f64) -> (u64, f64) {
    let system = dense::Dense::new(
        4,
        |_, y, f| {
            let r3 = (y[0] * y[0] + y[1] * y[1]).powf(1.5);
            f.copy_from_slice(&[y[2], y[3], -y[0] / r3, -y[1] / r3]);
        },
        |_, _, j| j.fill(0.0),
    );
    let y0 = [0.5, 0.0, 0.0, 3f64.sqrt()];
    let options = tolerances(rtol, rtol);
    let (outcome, _) = run(&system, (0.0, 6.0 * std::f64::consts::PI), &y0, name, &options).unwrap();
    let error = outcome.y.iter().zip(y0).map(|(y, e)| (y - e).abs()).fold(0.0, f64::max);
    (outcome.stats.rhs, error)
}

#[test]
fn adams_methods_need_few_evaluations_at_tight_tolerances() {
    for rtol in [1e-6, 1e-9, 1e-12] {
        let (evaluations, error) = orbit("abm", rtol);
        let (of_dopri5, anchor) = orbit("dopri5", rtol);
        assert!(error < 10.0 * anchor, "{rtol:e}: {error:e}, dopri5 {anchor:e}");
        assert!(evaluations < of_dopri5, "{rtol:e}: {evaluations}, dopri5 {of_dopri5}");
    }
}

/// The errors of the eight steps after each restart of x'' = -x in tolerances, added up without their signs, and the
/// number of rejected attempts: means over six restarts.
fn restarts(rtol: f64) -> (f64, f64) {
    let system = Dense::new(
        2,
        |_, y, f| f.copy_from_slice(&[y[1], -y[0]]),
        |_, _, j| {
            j[1] = 1.0;
            j[2] = -1.0;
        },
    );
    let mut runner = Runner::new(&system, method::find("bdf").unwrap(), &tolerances(rtol, rtol)).unwrap();
    runner.begin(&system, &Problem { t0: 0.0, t_end: 30.0, y0: vec![1.0, 0.0] }).unwrap();
    let (mut errors, mut rejected) = (0.0, 0);
    for k in 1..=6 {
        let request = StepRequest { stop: Some(3.1 * f64::from(k)), sample: None };
        while runner.advance(&system, request).unwrap() != Reached::Stop {}
        let state = runner.state().to_vec();
        runner.resume(&system, &state).unwrap();
        let before = runner.stats().rejected;
        for _ in 0..8 {
            let (t, y) = (runner.time(), runner.state().to_vec());
            runner.advance(&system, StepRequest::default()).unwrap();
            let (sin, cos) = (runner.time() - t).sin_cos();
            let exact = [cos * y[0] + sin * y[1], cos * y[1] - sin * y[0]];
            errors += (0..2).map(|i| (runner.state()[i] - exact[i]).abs()).fold(0.0, f64::max) / rtol;
        }
        rejected += runner.stats().rejected - before;
    }
    (errors / 6.0, rejected as f64 / 6.0)
}

/// After an instant, `bdf` begins with order 1, and the step size before the instant belonged to a higher order.
#[test]
fn bdf_restarts_with_small_errors_and_few_attempts() {
    for rtol in [1e-4, 1e-6, 1e-8] {
        let (errors, rejected) = restarts(rtol);
        println!("{rtol:e}: {errors:.2} tolerances and {rejected:.1} rejected attempts at each restart");
        assert!(errors < 0.8 && rejected <= 1.5, "{rtol:e}: {errors} {rejected}");
    }
}
