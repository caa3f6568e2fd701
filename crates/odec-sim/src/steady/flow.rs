//! Finds the state in which the solution from the initial values comes to rest, with steps of `bdf` without an end
//! time. For starts from which Newton's method fails it uses pseudo-transient continuation: implicit Euler steps that
//! grow as f falls (C. T. Kelley & D. E. Keyes, SIAM J. Numer. Anal. 35 (1998) 508).

use nalgebra::{DMatrix, DVector};
use odec_ode::method;
use odec_ode::problem::{Options, Problem};
use odec_ode::runner::StepRequest;
use odec_ode::{Method, Runner};

use super::Search;
use crate::spectrum::Pencil;

/// Largest number of steps of the solution.
pub const MAX_STEPS: u64 = 5_000;
/// Its tolerances, as a fraction of those of the run: near the boundary between two basins of attraction, errors
/// decide the result.
const CLOSER: f64 = 1e-3;
const LEAST_RTOL: f64 = 1e-12;
/// Number of steps between two checks whether the solution has come to rest, at first and as a fraction of all steps
/// so far.
const CHECK_INTERVAL: u64 = 5;
const LATER: u64 = 10;
/// A steady state is near if each component is within this relative distance, or within this many absolute tolerances.
const NEAR: f64 = 1e-3;
const NEAR_ATOL: f64 = 1e3;
/// Number of steps of the continuation.
const LONG: usize = 300;
/// The first step, as a fraction of the smallest time constant.
const FIRST: f64 = 0.1;
/// Smallest and largest growth of a step.
const GROWTH: (f64, f64) = (0.5, 4.0);
/// Number of long steps at rest; their first length relative to the elapsed time, and their growth.
const RESTS: usize = 4;
const REST: f64 = 1e3;

impl Search<'_> {
    /// The stable or degenerate steady state in which the solution from the initial values comes to rest; an unstable
    /// one only if the solution begins there.
    pub(super) fn flow(&self, stop: &dyn Fn() -> bool) -> Option<Vec<f64>> {
        if let Some(y) = self.accepted(self.y0.clone()) {
            return Some(y);
        }
        let bdf: &'static Method = method::find("bdf").ok()?;
        let options = Options {
            rtol: (CLOSER * self.options.rtol).max(LEAST_RTOL.min(self.options.rtol)),
            atol: self.options.atol.iter().map(|atol| CLOSER * atol).collect(),
            step: None,
            fixed: false,
            max_step: None,
            max_steps: MAX_STEPS,
            ..self.options.clone()
        };
        let mut runner = Runner::new(self.executor, bdf, &options).ok()?;
        let problem = Problem { t0: self.t, t_end: f64::INFINITY, y0: self.y0.clone() };
        runner.begin(self.executor, &problem).ok()?;
        let mut next = CHECK_INTERVAL;
        for k in 1..=MAX_STEPS {
            if stop() {
                return None;
            }
            runner.advance(self.executor, StepRequest::default()).ok()?;
            if k < next {
                continue;
            }
            next = k + CHECK_INTERVAL.max(k / LATER);
            let (t, y) = (runner.time(), runner.state());
            if !t.is_finite() {
                return None;
            }
            if let Some(rest) = self.at_rest(y, t - self.t) {
                return Some(rest);
            }
        }
        None
    }

    /// The steady state near y in which the solution will end, after the solution has continued for a time; `None` if
    /// none is near, or if the solution only passes close to it.
    fn at_rest(&self, y: &[f64], elapsed: f64) -> Option<Vec<f64>> {
        let near = |there: &[f64]| {
            let close = |(k, (a, b)): (usize, (&f64, &f64))| {
                (a - b).abs() <= NEAR * b.abs().max(a.abs()) + NEAR_ATOL * self.atol(k)
            };
            y.iter().zip(there).enumerate().all(close)
        };
        if let Some(step) = self.newton_step(y) {
            let there: Vec<f64> = y.iter().zip(step.iter()).map(|(y, s)| y + s).collect();
            if near(&there)
                && let Some(found) = self.newton(there).filter(|found| near(found))
                && self.classified(found.clone(), false).is_stable()
            {
                return Some(found);
            }
        }
        // along a line of steady states Newton's step is undetermined, but a long implicit step is not
        let mut there = y.to_vec();
        for k in 0..RESTS {
            let pencil = Pencil::at(self.executor, self.t, &there)?;
            let step = self.implicit(&pencil, &there, elapsed * REST.powi(1 + k as i32))?;
            there.iter_mut().zip(step.iter()).for_each(|(y, s)| *y += s);
            if !near(&there) {
                return None;
            }
        }
        let moved = there
            .iter()
            .zip(y)
            .enumerate()
            .all(|(k, (a, b))| (a - b).abs() <= self.options.rtol * b.abs() + self.atol(k));
        let found = self.accepted(there).filter(|_| moved)?;
        // the solution may pass slowly by an unstable steady state
        let kind = self.classified(found.clone(), false).kind;
        (kind == Some(crate::field::EquilibriumType::Degenerate)).then_some(found)
    }

    /// One linearised implicit Euler step.
    fn implicit(&self, pencil: &Pencil, y: &[f64], h: f64) -> Option<DVector<f64>> {
        let n = y.len();
        let f = self.f(y)?;
        let matrix = match &pencil.mass {
            Some(mass) => mass / h - &pencil.jacobian,
            None => DMatrix::identity(n, n) / h - &pencil.jacobian,
        };
        matrix.lu().solve(&f).filter(|step| step.iter().all(|s| s.is_finite()))
    }

    /// Pseudo-transient continuation, then Newton's method.
    pub(super) fn continuation(&self, mut y: Vec<f64>) -> Option<Vec<f64>> {
        let mut f = self.f(&y)?;
        let fastest = Pencil::at(self.executor, self.t, &y)?.jacobian.amax();
        let mut h = FIRST / fastest.max(f64::MIN_POSITIVE);
        for _ in 0..LONG {
            let pencil = Pencil::at(self.executor, self.t, &y)?;
            let step = self.implicit(&pencil, &y, h);
            let next = step.map(|s| y.iter().zip(s.iter()).map(|(y, s)| y + s).collect::<Vec<f64>>());
            let Some((next, after)) = next.and_then(|next| self.f(&next).map(|f| (next, f))) else {
                h *= 0.25;
                continue;
            };
            let ratio = f.norm() / after.norm().max(f64::MIN_POSITIVE);
            h *= (1.5 * ratio).clamp(GROWTH.0, GROWTH.1);
            (y, f) = (next, after);
            if ratio > 1.0
                && h * fastest > 1e2
                && let Some(found) = self.newton(y.clone())
            {
                return Some(found);
            }
        }
        None
    }
}
