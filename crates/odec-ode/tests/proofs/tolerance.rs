//! Error control: the error follows the tolerance, and the step size settles if nothing changes.

use odec_ode::method::{self, Adaptive, Family, Method};
use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Jacobian, Shape};
use odec_ode::{Cause, Options, Problem, Samples, Sink, SolveError, System, solve};
use std::ops::ControlFlow;

use crate::share::Share;

use super::order::admits;
use super::problems::{PROOFS, Proof};
use super::run::{At, Rows, distance, slope, times};

/// Number of steps after which a tolerance and all tighter ones are left out.
const STEPS: u64 = 100_000;
/// Fewer steps than this are ruled by the start and not by the control.
const MIN_STEPS: u64 = 20;
/// Errors below this are rounding.
const ROUNDING: f64 = 1e-12;
/// Factor on the interval for methods of high order.
const LONGER: f64 = 8.0;
/// Errors above this are not asymptotic.
const LARGE: f64 = 0.05;

/// Order of the controlled error: the error per step is one power higher.
fn controlled(method: &Method) -> f64 {
    match method.adaptive {
        Adaptive::Embedded(order) => f64::from(order.min(method.order)),
        Adaptive::EmbeddedTwo(order, second) => f64::from(2 * order - second),
        Adaptive::Doubling | Adaptive::VariableStep | Adaptive::VariableOrder | Adaptive::FixedStep => {
            f64::from(method.order)
        }
    }
}

/// Faults in the response of the error to the tolerance, over rtol 1e-3 to 1e-10 on a share of the
/// admitted problems.
pub fn response(method: &'static Method, share: &mut Share) -> Vec<String> {
    let mut wrong = Vec::new();
    if method.adaptive == Adaptive::FixedStep || matches!(method.family, Family::Taylor) {
        return wrong;
    }
    let p = controlled(method);
    let (mut judged, mut admitted) = (0, 0);
    for proof in PROOFS.into_iter().filter(|proof| admits(method, proof) && share.takes()) {
        admitted += 1;
        // Methods of high order need a longer run to take enough steps.
        let mut points = errors(method, proof, 1.0, &mut wrong);
        if points.len() < 3 && method.order > 6 {
            points = errors(method, proof, LONGER, &mut wrong);
            if points.len() < 3 {
                continue; // the solution comes to rest
            }
        }
        judged += 1;
        let (low, high) = (p / (p + 1.0) - 0.15, 1.3);
        let response = slope(&points);
        if points.len() < 3 || !(low..=high).contains(&response) {
            let shown: Vec<String> = points.iter().map(|(r, e)| format!("{:.0e}: {:.1e}", r.exp(), e.exp())).collect();
            wrong.push(format!("{}: error ~ rtol^{response:.2}, outside {low:.2} to {high}: {shown:?}", proof.name));
        }
    }
    if admitted > 0 && 2 * judged <= admitted {
        wrong.push(format!("only {judged} of {admitted} problems say something"));
    }
    wrong
}

/// (ln rtol, ln error) over the tolerances at which the control dominates.
fn errors(method: &'static Method, proof: &'static Proof, longer: f64, wrong: &mut Vec<String>) -> Vec<(f64, f64)> {
    let system = proof.bind();
    let times: Vec<f64> = times(proof, At::Inside).into_iter().map(|t| t * longer).collect();
    let problem = Problem { t0: 0.0, t_end: proof.t_end * longer, y0: proof.exact(0.0) };
    let mut points = Vec::new();
    // Twice per decade: if the solution comes to rest, the error at one tolerance depends on the ends of steps.
    for k in 6..=20 {
        let rtol = 10f64.powf(-0.5 * f64::from(k));
        let options = Options { rtol, atol: vec![rtol], max_steps: STEPS, ..Options::default() };
        let mut rows = Rows::default();
        match solve(&system, &problem, method, &options, &Samples::Times(times.clone()), &mut rows) {
            Ok(outcome) => {
                let error = rows.0.iter().map(|(t, y)| distance(y, &proof.exact(*t))).fold(0.0, f64::max);
                if error < ROUNDING {
                    break;
                }
                if error <= LARGE && outcome.stats.accepted >= MIN_STEPS {
                    points.push((rtol.ln(), error.ln()));
                }
            }
            Err(SolveError::Failed(failure)) if matches!(failure.cause, Cause::TooManySteps { .. }) => break,
            Err(e) => wrong.push(format!("{} at {rtol:e}: {e:?}", proof.name)),
        }
    }
    points
}

/// y_0 = t^(q+1) / (q+1)! by quadrature, and again by integrating twice (for which quadratures of higher order, as in
/// Ralston's method, lose their advantage): the error per step of a method that controls order q is the same in every
/// step of one size.
struct Monomial {
    q: i32,
    pattern: Pattern,
}

impl Monomial {
    fn new(q: i32) -> Self {
        Monomial { q, pattern: Pattern::from_positions(3, 3, [(2, 1)]) }
    }
}

/// t^k / k!, zero for negative k.
fn power(t: f64, k: i32) -> f64 {
    if k < 0 { 0.0 } else { (1..=k).fold(1.0, |acc, k| acc * t / f64::from(k)) }
}

impl System for Monomial {
    fn shape(&self) -> Shape {
        Shape { n: 3, second: 0 }
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        f.copy_from_slice(&[power(t, self.q), power(t, self.q - 1), y[1]]);
        Ok(())
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.pattern)
    }
    fn jacobian_values(&self, _: f64, _: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        values.fill(1.0);
        Ok(())
    }
    fn jacobian_vector(&self, _: f64, _: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out.copy_from_slice(&[0.0, 0.0, w[1]]);
        Ok(())
    }
    fn time_derivative(&self, t: f64, _: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out.copy_from_slice(&[power(t, self.q - 1), power(t, self.q - 2), 0.0]);
        Ok(())
    }
}

/// Ends of steps.
struct Ends(Vec<f64>);

impl Sink for Ends {
    fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn step(&mut self, t: f64) -> ControlFlow<()> {
        self.0.push(t);
        ControlFlow::Continue(())
    }
}

/// Faults in the steps of `method` if the error of a step depends only on its size: they must settle.
pub fn settles(method: &'static Method) -> Vec<String> {
    if method.adaptive == Adaptive::VariableOrder {
        return Vec::new(); // the order would rise until the solution is exact
    }
    let q = controlled(method) as i32;
    let system = Monomial::new(q);
    let problem = Problem { t0: 0.0, t_end: 10.0, y0: vec![0.0; 3] };
    let options = Options { rtol: 1e-13, atol: vec![10f64.powi(-q - 3)], ..Options::default() };
    let mut ends = Ends(Vec::new());
    let stats = match solve(&system, &problem, method, &options, &Samples::Steps, &mut ends) {
        Ok(outcome) => outcome.stats,
        Err(e) => return vec![format!("{e:?}")],
    };
    let steps: Vec<f64> = ends.0.windows(2).map(|w| w[1] - w[0]).collect();
    // The last steps are stretched or cut to the end.
    let settled = &steps[steps.len() / 2..steps.len() - 2];
    let worst = settled.windows(2).map(|w| (w[1] / w[0]).ln().abs()).fold(0.0, f64::max);
    let mut wrong = Vec::new();
    if worst > 0.05 {
        wrong.push(format!("steps still change by a factor {:.2} after {} steps", worst.exp(), steps.len() / 2));
    }
    if stats.rejected * 10 > stats.accepted + 50 {
        wrong.push(format!("{} steps rejected, {} accepted", stats.rejected, stats.accepted));
    }
    // From a third of that step size the recovery must not exceed it. The difference between predictor and solution
    // is the error times a known factor only if the previous steps were equal: one step that is too long is allowed
    // there.
    let forgiven = u64::from(method.adaptive == Adaptive::VariableStep);
    let settled = settled[settled.len() - 1];
    let third = Options { step: Some(settled / 3.0), ..options };
    match solve(&system, &problem, method, &third, &Samples::Steps, &mut Ends(Vec::new())) {
        Ok(outcome) if outcome.stats.rejected <= forgiven => {}
        Ok(outcome) => wrong.push(format!("{} steps rejected on the way up from a third", outcome.stats.rejected)),
        Err(e) => wrong.push(format!("{e:?}")),
    }
    wrong
}

#[test]
fn errors_follow_the_tolerance() {
    let (mut wrong, mut share) = (Vec::new(), Share::one_of(6));
    for method in method::table() {
        wrong.extend(response(method, &mut share).into_iter().map(|w| format!("{} on {w}", method.name)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn steps_settle() {
    let mut wrong = Vec::new();
    for method in method::general() {
        wrong.extend(settles(method).into_iter().map(|w| format!("{}: {w}", method.name)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
