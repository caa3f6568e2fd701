//! The numerical differentiation formulas of order 1 to 5 on quasi-constant steps: variable step and order.
//!
//! Formulas, error constants and the history of backward differences: L. F. Shampine and M. W. Reichelt, *The MATLAB
//! ODE Suite*, SIAM J. Sci. Comput. 18 (1997), section 2. Step size and order may change only after order + 1 equal
//! steps, and only if the change is worth a new factorisation.

use super::coefficients::{NDF_KAPPA, NDF_MAX_ORDER, harmonic};
use super::differences::Differences;
use super::slope::increment;
use crate::consistent::Constraints;
use crate::control::{FAILED_RATIO, Tolerances, weighted_norm};
use crate::evaluator::Evaluator;
use crate::integrator::{Attempt, Integrator};
use crate::interpolant::Segment;
use crate::linear::LinearReport;
use crate::newton::{Accuracy, Equation, Newton};
use crate::problem::{Cause, Options, Refusal};
use crate::system::System;

/// Smallest increase of the step worth a new factorisation.
const MIN_STEP_GAIN: f64 = 1.1;
/// Largest ratio of successive steps.
const GROW: f64 = 10.0;
/// Largest ratio of the second step to the first: the first step is a guess, and its order is one.
const GROW_AT_START: f64 = 100.0;
/// Smallest ratio after a failed error test.
const SHRINK: f64 = 0.2;
/// Factor on the ideal step at the same order, at one order less and at one order more.
const SAFETY: [f64; 3] = [1.0 / 1.3, 1.0 / 1.2, 1.0 / 1.4];
/// Factor on error estimates. The errors of an oscillation have the same sign in all steps, and a run takes hundreds:
/// without this factor, DETEST F1 at 1e-8 is off by 172 tolerances at its end, with or without restarts. The factor
/// costs a tenth more steps.
const CARE: f64 = 2.5;
/// Number of consecutive failed error tests after which the history is discarded and order 1 restarts.
const FAILURES_BEFORE_RESTART: u32 = 4;
/// Further factors on the error estimates of orders 1 and 2 in the first steps after an instant. The errors of these
/// steps have the same sign, and they remain in the differences from which the next steps are made. On x'' = -x at a
/// tolerance of 1e-4, the first eight steps after a restart add up to 2.7 tolerances without the factors, and to 0.55
/// with them (tests/multistep_accuracy.rs).
const RESTART_CARE: [f64; 2] = [10.0, 3.0];
/// Largest number of steps with these factors.
const CAREFUL_STEPS: u32 = 10;
/// Smallest ratio after a failed error test of the first step: its error falls with the square of its length, and the
/// step size before the instant belonged to a higher order.
const SHRINK_AT_RESTART: f64 = 1e-3;
/// Part of the ideal length for the next attempt then.
const SAFETY_AT_RESTART: f64 = 0.9;

/// Weighted error that Newton may leave, unless rounding requires more. A tenth of it makes no run more accurate
/// (measured on the six stiff problems of the tests at 30 tolerances, and on heat and the Brusselator in two
/// dimensions).
const NEWTON: f64 = 0.1;
/// Fraction of it that an iterative solver may leave in a correction: its error is not smooth, and differences of high
/// order amplify it.
const LINEAR: f64 = 0.1;
/// With a good predictor and a recent Jacobian, one iteration is enough in most steps. So the rate of convergence is
/// not measured in each step, and a measured rate remains valid for some steps.
const MEMORY: (f64, f64) = (1e-3, 0.9);
/// Fraction of the last correction with which Newton's method begins after an equal step. With an iterative solver
/// this saves a tenth of the iterations in two dimensions; with a factorisation it saves nothing.
const FORESEEN: f64 = 0.8;
/// Fraction of the change between the last two corrections that is added as well, after two equal steps (saves
/// another twentieth if tolerances are large).
const CHANGE_FORESEEN: f64 = 0.4;

/// Variable step and order.
pub struct Ndf {
    tolerances: Tolerances,
    t: f64,
    h: f64,
    order: usize,
    equal_steps: usize,
    fresh: bool,
    /// Number of steps to which [`RESTART_CARE`] applies, until the order is higher.
    careful: u32,
    failures: u32,
    differences: Differences,
    newton: Newton,
    /// The residuals of equations without a derivative are not slopes.
    constraints: Constraints,
    accuracy: Accuracy,
    dense_order: usize,
    dense_h: f64,
    anchor: Vec<f64>,
    predicted: Vec<f64>,
    state: Vec<f64>,
    correction: Vec<f64>,
    weights: Vec<f64>,
    scratch: Vec<f64>,
    /// The start of the last step, if [`Integrator::retreat`] may be called.
    earlier: Option<Box<Earlier>>,
}

/// The start of a step.
struct Earlier {
    /// Number of steps from here: none before the first step, or after an undone step.
    stepped: bool,
    t: f64,
    h: f64,
    order: usize,
    equal_steps: usize,
    fresh: bool,
    careful: u32,
    failures: u32,
    /// The history at that time, if `copied`, or after the step. A step without a copy reuses this memory.
    differences: Differences,
    /// True if `differences` is a copy of the history at the start of the attempt.
    copied: bool,
}

/// The constants of one order.
#[derive(Clone, Copy)]
struct Formula {
    /// gamma_k (1 - kappa_k): the formula is `leading * d + sum (gamma_m) grad^m = h f`.
    leading: f64,
    /// Error constant kappa_k gamma_k + 1/(k+1) of the difference of order k + 1, times [`CARE`].
    error: f64,
}

fn formula(order: usize) -> Formula {
    let (num, den) = NDF_KAPPA[order - 1];
    let kappa = num as f64 / den as f64;
    let gamma = harmonic(order);
    Formula { leading: gamma * (1.0 - kappa), error: CARE * (kappa * gamma + 1.0 / (order + 1) as f64) }
}

impl Ndf {
    /// Buffers for a system.
    pub fn new(system: &dyn System, options: &Options) -> Result<Self, Refusal> {
        let n = system.shape().n;
        let accuracy = Accuracy::of(options);
        let newton = Newton::new(system, options)?;
        Ok(Ndf {
            constraints: Constraints::of(newton.mass()),
            newton,
            accuracy: Accuracy {
                tolerance: NEWTON.max(10.0 * f64::EPSILON / options.rtol),
                linear: LINEAR,
                memory: MEMORY,
                ..accuracy
            },
            tolerances: Tolerances::new(options, n),
            t: 0.0,
            h: 0.0,
            order: 1,
            equal_steps: 0,
            fresh: true,
            careful: 0,
            failures: 0,
            differences: Differences::new(n),
            dense_order: 0,
            dense_h: 1.0,
            anchor: vec![0.0; n],
            predicted: vec![0.0; n],
            state: vec![0.0; n],
            correction: vec![0.0; n],
            weights: vec![0.0; n],
            scratch: vec![0.0; n],
            earlier: None,
        })
    }

    /// Stores the start of the next step if it may be needed. Its history is copied only if the attempt `changes` it;
    /// otherwise an accepted step leaves it as it was ([`Ndf::advance`]).
    fn remember(&mut self, changes: bool) {
        let Some(earlier) = &mut self.earlier else { return };
        (earlier.stepped, earlier.copied) = (false, changes);
        (earlier.t, earlier.h, earlier.order, earlier.equal_steps) = (self.t, self.h, self.order, self.equal_steps);
        (earlier.fresh, earlier.careful, earlier.failures) = (self.fresh, self.careful, self.failures);
        if changes {
            earlier.differences.copy_from(&self.differences);
        }
    }

    /// Advances the history, and keeps the one at the start of the step if it may be needed.
    fn advance(&mut self, order: usize) {
        match &mut self.earlier {
            None => self.differences.advance(order, &self.correction),
            Some(earlier) => {
                earlier.stepped = true;
                if earlier.copied {
                    self.differences.advance(order, &self.correction);
                } else {
                    self.differences.advance_into(order, &self.correction, &mut earlier.differences);
                    std::mem::swap(&mut self.differences, &mut earlier.differences);
                }
            }
        }
    }

    /// Starts with order 1 from the current state, whose slope gives the first difference.
    fn start(&mut self, eval: &mut Evaluator<'_>, h: f64) -> Result<(), Cause> {
        self.order = 1;
        self.equal_steps = 0;
        self.scratch.copy_from_slice(self.differences.row(0));
        self.differences.reset(&self.scratch);
        let solver = (&mut self.newton, &self.constraints);
        let work = (&mut self.anchor[..], &mut self.correction[..]);
        increment(eval, solver, self.t, h, &self.scratch, self.differences.row_mut(1), work)?;
        self.h = h;
        Ok(())
    }

    fn change_step(&mut self, h: f64) {
        self.differences.rescale(self.order, h / self.h);
        self.h = h;
        self.equal_steps = 0;
    }

    /// The formula of order `k`, whose error estimate counts more after a restart.
    fn formula(&self, k: usize) -> Formula {
        let Formula { leading, error } = formula(k);
        let care = RESTART_CARE.get(k - 1).filter(|_| self.careful > 0);
        Formula { leading, error: care.map_or(error, |care| care * error) }
    }

    /// Weighted error that the formula of order `k` would have made, from the difference of order `k + 1`.
    fn error_at(&self, k: usize) -> f64 {
        weighted_norm(self.differences.row(k + 1), &self.weights) * self.formula(k).error
    }

    /// Step size and order after an accepted step with weighted error `error`.
    fn select(&mut self, error: f64) -> f64 {
        let k = self.order;
        self.equal_steps += 1;
        self.careful = self.careful.saturating_sub(1);
        if self.equal_steps < k + 1 {
            return self.h;
        }
        let ratio = |error: f64, k: usize, safety: f64| safety * error.max(1e-20).powf(-1.0 / (k + 1) as f64);
        let mut best = (ratio(error, k, SAFETY[0]), k);
        if k > 1 {
            let lower = ratio(self.error_at(k - 1), k - 1, SAFETY[1]);
            if lower > best.0 {
                best = (lower, k - 1);
            }
        }
        if k < NDF_MAX_ORDER {
            let higher = ratio(self.error_at(k + 1), k + 1, SAFETY[2]);
            if higher > best.0 {
                best = (higher, k + 1);
            }
        }
        if best.0 < MIN_STEP_GAIN {
            return self.h;
        }
        self.order = best.1;
        if self.order > RESTART_CARE.len() {
            self.careful = 0;
        }
        self.equal_steps = 0;
        let grow = if self.fresh { GROW_AT_START } else { GROW };
        self.fresh = false;
        self.h * best.0.min(grow)
    }

    /// Step size after a failed error test; the order may decrease.
    fn retreat(&mut self, error: f64) -> f64 {
        let k = self.order;
        let first = self.careful > 0 && self.fresh && self.equal_steps == 0;
        self.failures += 1;
        self.equal_steps = 0;
        if first && error.is_finite() {
            return self.h * (SAFETY_AT_RESTART / error.sqrt()).clamp(SHRINK_AT_RESTART, 0.9);
        }
        if self.failures >= FAILURES_BEFORE_RESTART {
            self.fresh = true;
            return self.h * SHRINK;
        }
        if self.failures > 1 {
            return self.h * 0.5;
        }
        let mut ratio = SAFETY[0] * error.powf(-1.0 / (k + 1) as f64);
        if k > 1 {
            // The difference of order k at the end of the failed step: the difference at its start plus the correction.
            let corrected = self.correction.iter().zip(self.differences.row(k));
            for (s, (c, d)) in self.scratch.iter_mut().zip(corrected) {
                *s = c + d;
            }
            let lower = self.tolerances.norm(&self.scratch, self.differences.row(0), &self.predicted)
                * self.formula(k - 1).error;
            let lower = SAFETY[1] * lower.max(1e-20).powf(-1.0 / k as f64);
            if lower > ratio {
                ratio = lower.min(1.0);
                self.order = k - 1;
            }
        }
        self.h * if ratio.is_finite() { ratio.clamp(SHRINK, 0.9) } else { SHRINK }
    }
}

impl Integrator for Ndf {
    fn dimension(&self) -> usize {
        self.anchor.len()
    }

    fn time(&self) -> f64 {
        self.t
    }

    fn state(&self) -> &[f64] {
        self.differences.row(0)
    }

    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.newton.forget();
        self.t = t;
        self.differences.reset(y);
        if let Some(earlier) = &mut self.earlier {
            earlier.stepped = false;
        }
        (self.fresh, self.careful) = (true, 0);
        self.equal_steps = 0;
        self.failures = 0;
        self.dense_order = 0;
        eval.rhs(t, y, &mut self.scratch)
    }

    fn resume(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        let set = self.set(eval, t, y);
        self.careful = CAREFUL_STEPS;
        set
    }

    fn renew(&mut self, _: &dyn System) -> bool {
        self.newton.begin_anew()
    }

    /// Shifts the polynomial through the past states as a whole.
    fn shift(&mut self, _: &mut Evaluator<'_>, y: &[f64]) -> Result<(), Cause> {
        self.differences.row_mut(0).copy_from_slice(y);
        Ok(())
    }

    fn set_atol(&mut self, atol: &[f64]) {
        self.tolerances.set_atol(atol);
    }

    fn tighten(&mut self, part: f64) {
        self.tolerances.tighten(part);
    }

    fn order(&self) -> u32 {
        1
    }

    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        let starts = self.fresh && self.equal_steps == 0;
        self.remember(starts || h != self.h);
        if starts {
            if let Err(cause) = self.start(eval, h) {
                return Attempt::Failed { cause, next: h * FAILED_RATIO };
            }
        } else if h != self.h {
            self.change_step(h);
        }
        let k = self.order;
        let f = self.formula(k);
        let mut gammas = [0.0; NDF_MAX_ORDER];
        for (m, g) in gammas.iter_mut().enumerate().take(k) {
            *g = harmonic(m + 1) / f.leading;
        }
        self.differences.predict(k, &gammas, &mut self.predicted, &mut self.state, &mut self.anchor);
        if self.equal_steps > 0 && self.newton.iterates() {
            let change = if self.equal_steps > 1 { CHANGE_FORESEEN } else { 0.0 };
            let (last, changes) = (self.differences.row(k + 1), self.differences.row(k + 2));
            for ((y, d), c) in self.state.iter_mut().zip(last).zip(changes) {
                *y += FORESEEN * d + change * c;
            }
        }
        self.tolerances.weights(&self.predicted, &mut self.weights);
        let equation = Equation { t: t_new, alpha: f.leading / h, anchor: &self.anchor, offset: None };
        if let Err(cause) = self.newton.solve(eval, &equation, &mut self.state, &self.weights, self.accuracy) {
            self.failures += 1;
            self.equal_steps = 0;
            if self.failures >= FAILURES_BEFORE_RESTART {
                self.fresh = true;
            }
            return Attempt::Failed { cause, next: h * FAILED_RATIO };
        }
        for ((c, y), predicted) in self.correction.iter_mut().zip(&self.state).zip(&self.predicted) {
            *c = y - predicted;
        }
        let error = self.tolerances.norm(&self.correction, self.differences.row(0), &self.state) * f.error;
        if error > 1.0 || error.is_nan() {
            let row = self.tolerances.worst(&self.correction, self.differences.row(0), &self.state);
            return Attempt::Rejected { next: self.retreat(error), error, row };
        }
        self.advance(k);
        (self.t, self.dense_order, self.dense_h, self.failures) = (t_new, k, h, 0);
        Attempt::Accepted { next: self.select(error) }
    }

    fn linear(&self) -> Option<LinearReport> {
        Some(self.newton.linear())
    }

    fn interpolate(&self, t: f64, y: &mut [f64]) {
        self.differences.interpolate(self.dense_order, (t - self.t) / self.dense_h, y);
    }

    fn degree(&self) -> usize {
        NDF_MAX_ORDER
    }

    fn coefficients(&self, segment: usize, c: &mut [f64]) -> Option<Segment> {
        if segment > 0 || self.dense_order == 0 {
            return None;
        }
        self.differences.coefficients(self.dense_order, c);
        Some(Segment { from: self.t - self.dense_h, length: self.dense_h, degree: self.dense_order })
    }

    fn stays_within(&self, low: &[f64], high: &[f64]) -> bool {
        self.dense_order > 0 && self.differences.stay_within(self.dense_order, low, high)
    }

    fn start(&self) -> Option<&[f64]> {
        self.earlier.as_ref().filter(|earlier| earlier.stepped).map(|earlier| earlier.differences.row(0))
    }

    fn keeps_start(&self) -> bool {
        self.earlier.is_some()
    }

    fn allow_retreat(&mut self) {
        if self.earlier.is_none() {
            let differences = Differences::new(self.anchor.len());
            let (t, h, order, equal_steps, failures) = (0.0, 0.0, 1, 0, 0);
            let (stepped, copied, fresh, careful) = (false, true, true, 0);
            let earlier = Earlier { stepped, t, h, order, equal_steps, fresh, careful, failures, differences, copied };
            self.earlier = Some(Box::new(earlier));
        }
    }

    fn retreat(&mut self) -> bool {
        let Some(earlier) = self.earlier.as_mut().filter(|earlier| earlier.stepped) else { return false };
        earlier.stepped = false;
        (self.t, self.h, self.order, self.equal_steps) = (earlier.t, earlier.h, earlier.order, earlier.equal_steps);
        (self.fresh, self.careful) = (earlier.fresh, earlier.careful);
        (self.failures, self.dense_order) = (earlier.failures, 0);
        self.differences.copy_from(&earlier.differences);
        self.newton.forget();
        true
    }
}
