//! Adams-Bashforth-Moulton of order 1 to 12 on variable steps, predict-evaluate-correct-evaluate with local
//! extrapolation; and of fixed order on constant steps, with the classical Runge-Kutta method for the first steps.
//!
//! Modified divided differences: L. F. Shampine and M. K. Gordon, *Computer Solution of Ordinary Differential
//! Equations* (1975), whose code STEP also gives the rules for order and step size; formulas as in Hairer, Nørsett &
//! Wanner I, eqs. (III.5.4) to (III.5.10) and section III.7.

use crate::control::{FAILED_RATIO, Tolerances};
use crate::evaluator::Evaluator;
use crate::integrator::{Attempt, Integrator};
use crate::interpolant::{self, Segment};
use crate::linear::Rates;
use crate::method::one_step::{Formula, StepStart};
use crate::method::{Setup, explicit, runge_kutta};
use crate::problem::{Cause, Refusal};

/// Highest order of the predictor; the corrector is one higher.
pub const MAX_ORDER: usize = 12;
/// Highest order on constant steps: the order of the starting method.
pub const MAX_CONSTANT: usize = 4;
/// Differences of order 0 to MAX_ORDER + 1.
const ROWS: usize = MAX_ORDER + 2;
/// Target error of a step, in units of the tolerance.
const AIM: f64 = 0.5;
/// Smallest decrease of the errors with the order that enters the error estimate.
const SLOWEST: f64 = 0.9;
/// Number of consecutive failed error tests after which the method restarts with order 1.
const FAILURES_BEFORE_RESTART: u32 = 3;

/// Gauss quadrature with seven points on [0, 1], exact to degree 13: nodes and weights.
const GAUSS: [(f64, f64); 7] = [
    (0.025_446_043_828_620_738, 0.064_742_483_084_434_85),
    (0.129_234_407_200_302_78, 0.139_852_695_744_638_33),
    (0.297_077_424_311_301_4, 0.190_915_025_252_559_47),
    (0.5, 0.208_979_591_836_734_7),
    (0.702_922_575_688_698_6, 0.190_915_025_252_559_47),
    (0.870_765_592_799_697_2, 0.139_852_695_744_638_33),
    (0.974_553_956_171_379_3, 0.064_742_483_084_434_85),
];

/// Computes in `g` the integrals over [0, s] of the Newton basis prod_{i < j} (x - u_i)/(1 - u_i), j = 0, 1, ...,
/// with nodes `u` relative to the last point in steps (u_0 = 0, the others negative). For s = 1 and equal steps these
/// are the Adams coefficients 1, 1/2, 5/12, 3/8, ...
pub fn integrals(u: &[f64], s: f64, g: &mut [f64]) {
    g.fill(0.0);
    for (x, w) in GAUSS {
        let mut basis = s * w;
        for (j, g) in g.iter_mut().enumerate() {
            *g += basis;
            basis *= u.get(j).map_or(0.0, |u| (s * x - u) / (1.0 - u));
        }
    }
}

/// Integrator with variable step and order, or with constant steps of one order.
pub struct Abm {
    /// Highest order of the predictor; the order on constant steps.
    highest: usize,
    /// With constant steps: the formula for the first steps.
    starter: Option<Box<dyn Formula>>,
    tolerances: Tolerances,
    rates: Rates,
    t: f64,
    y: Vec<f64>,
    order: usize,
    /// Number of differences that are known.
    known: usize,
    /// Previous step sizes, newest first.
    steps: [f64; ROWS],
    /// Number of accepted steps of the current size.
    equal: usize,
    /// True while order and step size only increase.
    starting: bool,
    failures: u32,
    /// phi_0(n), phi_1(n), ...: divided differences of f, consecutively.
    differences: Vec<f64>,
    fresh: Vec<f64>,
    predicted: Vec<f64>,
    slope: Vec<f64>,
    /// phi_k(n+1) from the predicted f, and a working vector.
    last_difference: Vec<f64>,
    scratch: Vec<f64>,
    dense: Dense,
    /// The start of the last step; the step has left its other data in the exchanged buffers.
    earlier: Option<Earlier>,
}

/// The start of a step.
#[derive(Clone, Copy)]
struct Earlier {
    t: f64,
    order: usize,
    known: usize,
    equal: usize,
    starting: bool,
    failures: u32,
}

/// The last accepted step as a polynomial.
struct Dense {
    t: f64,
    h: f64,
    order: usize,
    /// True for a step of the starter, whose dense output is the cubic through the ends.
    cubic: bool,
    y: Vec<f64>,
    nodes: [f64; ROWS],
    /// Coefficients of the Newton basis, order + 1 rows.
    rows: Vec<f64>,
}

/// out += factor * x.
fn axpy(factor: f64, x: &[f64], out: &mut [f64]) {
    for (o, x) in out.iter_mut().zip(x) {
        *o += factor * x;
    }
}

impl Abm {
    /// Buffers for a system.
    pub fn new(setup: &Setup<'_>) -> Result<Self, Refusal> {
        let n = setup.system.shape().n;
        let zero = || vec![0.0; n];
        Ok(Abm {
            highest: MAX_ORDER,
            starter: None,
            tolerances: Tolerances::new(setup.options, n),
            rates: Rates::new(setup.system, setup.method.name)?,
            t: 0.0,
            y: zero(),
            order: 1,
            known: 1,
            steps: [0.0; ROWS],
            equal: 0,
            starting: true,
            failures: 0,
            differences: vec![0.0; ROWS * n],
            fresh: vec![0.0; ROWS * n],
            predicted: zero(),
            slope: zero(),
            last_difference: zero(),
            scratch: zero(),
            earlier: None,
            dense: Dense {
                t: 0.0,
                h: 1.0,
                order: 0,
                cubic: false,
                y: zero(),
                nodes: [0.0; ROWS],
                rows: vec![0.0; ROWS * n],
            },
        })
    }

    /// The method of the order of its row, at most [`MAX_CONSTANT`]: the highest order if steps vary, otherwise the order.
    pub fn of_order(setup: &Setup<'_>) -> Result<Self, Refusal> {
        let highest = (setup.method.order as usize).clamp(2, MAX_CONSTANT) - 1;
        let starter =
            if setup.options.fixed { Some(runge_kutta::formula(setup, &explicit::rk4::TABLEAU)?) } else { None };
        Ok(Abm { highest, starter, ..Abm::new(setup)? })
    }

    /// One of the first steps, which compute the points for the predictor.
    fn start(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        let n = self.y.len();
        let Some(formula) = &mut self.starter else {
            let what = "a first step was requested of a method that begins with order 1";
            return Attempt::Failed { cause: Cause::Internal { what }, next: h };
        };
        let from = StepStart { t: self.t, y: &self.y, slope: &self.differences[..n] };
        let made = formula.step(eval, from, h, t_new, &mut self.predicted);
        if let Err(cause) = made.and_then(|()| self.finish(eval, t_new)) {
            return self.fail(cause, h);
        }
        let (_, beta) = self.grid(h);
        (self.dense.t, self.dense.h, self.dense.cubic) = (self.t, h, true);
        self.dense.y.copy_from_slice(&self.y);
        self.dense.rows[..n].copy_from_slice(&self.differences[..n]);
        self.advance(h, t_new, self.known, &beta);
        Attempt::Accepted { next: h }
    }

    /// Evaluates f at the end of the step; it must be finite.
    fn finish(&mut self, eval: &mut Evaluator<'_>, t_new: f64) -> Result<(), Cause> {
        match self.predicted.iter().position(|y| !y.is_finite()) {
            Some(row) => Err(Cause::NonFiniteState { row }),
            None => self.evaluate(eval, t_new),
        }
    }

    /// Moves to the end of the step: computes the differences there, up to one more than `known`.
    fn advance(&mut self, h: f64, t_new: f64, known: usize, beta: &[f64]) {
        let n = self.y.len();
        let (t, order, equal, starting, failures) = (self.t, self.order, self.equal, self.starting, self.failures);
        self.earlier = Some(Earlier { t, order, known: self.known, equal, starting, failures });
        self.fresh[..n].copy_from_slice(&self.slope);
        for j in 0..known {
            let (low, high) = self.fresh.split_at_mut((j + 1) * n);
            let (from, to) = (&low[j * n..], &mut high[..n]);
            for i in 0..n {
                to[i] = from[i] - beta[j] * self.differences[j * n + i];
            }
        }
        std::mem::swap(&mut self.differences, &mut self.fresh);
        self.equal = if self.steps[0] == h && self.known > 1 { self.equal + 1 } else { 1 };
        self.known = (known + 1).min(ROWS);
        self.steps.rotate_right(1);
        self.steps[0] = h;
        std::mem::swap(&mut self.y, &mut self.predicted);
        (self.t, self.failures) = (t_new, 0);
    }

    fn evaluate(&mut self, eval: &mut Evaluator<'_>, t: f64) -> Result<(), Cause> {
        eval.rhs(t, &self.predicted, &mut self.slope)?;
        self.rates.solve(eval, t, &self.predicted, &mut self.slope)
    }

    /// Nodes relative to the current time in units of `h`, and the factors beta.
    fn grid(&self, h: f64) -> ([f64; ROWS], [f64; ROWS]) {
        let (mut u, mut beta) = ([0.0; ROWS], [1.0; ROWS]);
        for j in 1..self.known.min(ROWS) {
            u[j] = u[j - 1] - self.steps[j - 1] / h;
            beta[j] = beta[j - 1] * (1.0 - u[j - 1]) / -u[j];
        }
        (u, beta)
    }

    /// After the first phase: restarts with order 1 and no history.
    fn restart(&mut self) {
        (self.order, self.known, self.equal, self.starting) = (1, 1, 0, true);
    }

    /// Errors that the orders k - 1 and k - 2 would have made, from phi_k(n+1) in `last_difference`.
    fn lower(&mut self, h: f64, g: &[f64], beta: &[f64]) -> [f64; 2] {
        let (n, k) = (self.y.len(), self.order);
        let mut errors = [f64::INFINITY; 2];
        self.scratch.copy_from_slice(&self.last_difference);
        for (m, error) in errors.iter_mut().enumerate().take(k - 1) {
            let j = k - 1 - m;
            axpy(beta[j], &self.differences[j * n..(j + 1) * n], &mut self.scratch);
            let size = self.tolerances.norm(&self.scratch, &self.y, &self.predicted);
            *error = (h * (g[j] - g[j - 1])).abs() * size;
        }
        errors
    }

    /// The whole error of a step; `error` is the part that order k + 1 corrects. The rest are the corrections of all
    /// higher orders: if these fall slowly, for example where f has a nearly infinite slope, their sum is much larger
    /// than one of them.
    fn whole(&self, error: f64, [below, second]: [f64; 2]) -> f64 {
        let k = self.order;
        let fall = if k > 2 { (error / second).sqrt() } else { error / below };
        let fall = fall.min(SLOWEST);
        error * (k as f64 * fall / (1.0 - fall)).max(1.0)
    }

    /// Order and step size after an accepted step with the whole error `whole`.
    fn select(&mut self, h: f64, whole: f64, error: f64, [below, second]: [f64; 2], above: Option<f64>) -> f64 {
        let k = self.order;
        let fall = if k > 2 { below.max(second) <= error } else { k == 2 && below <= 0.5 * error };
        let mut expected = whole;
        if fall || k == self.highest {
            self.starting = false;
        }
        if self.starting {
            self.order = k + 1;
            return 2.0 * h;
        }
        if fall {
            (self.order, expected) = (k - 1, below);
        } else if let Some(above) = above.filter(|_| self.equal > k) {
            if k > 1 && below <= error.min(above) {
                (self.order, expected) = (k - 1, below);
            } else if k < self.highest && above < if k > 1 { error } else { 0.5 * error } {
                (self.order, expected) = (k + 1, above);
            }
        }
        let power = (self.order + 1) as f64;
        if expected * 2f64.powf(power) <= AIM {
            2.0 * h
        } else if expected <= AIM {
            h
        } else {
            h * (AIM / expected).powf(1.0 / power).clamp(0.5, 0.9)
        }
    }
}

impl Integrator for Abm {
    fn dimension(&self) -> usize {
        self.y.len()
    }

    fn time(&self) -> f64 {
        self.t
    }

    fn state(&self) -> &[f64] {
        &self.y
    }

    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.t = t;
        self.y.copy_from_slice(y);
        self.predicted.copy_from_slice(y);
        self.failures = 0;
        self.restart();
        (self.dense.order, self.dense.cubic, self.earlier) = (0, false, None);
        self.dense.y.copy_from_slice(y);
        self.dense.rows.fill(0.0);
        self.evaluate(eval, t)?;
        self.differences[..y.len()].copy_from_slice(&self.slope);
        Ok(())
    }

    fn tighten(&mut self, part: f64) {
        self.tolerances.tighten(part);
    }

    fn order(&self) -> u32 {
        1
    }

    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        let constant = self.starter.is_some();
        let (n, k) = (self.y.len(), if constant { self.highest } else { self.order });
        if constant && self.known < k {
            return self.start(eval, h, t_new);
        }
        let (u, beta) = self.grid(h);
        let mut g = [0.0; ROWS];
        let count = self.known.min(MAX_ORDER + 1);
        integrals(&u[..count], 1.0, &mut g[..=count]);
        self.predicted.copy_from_slice(&self.y);
        for j in 0..k {
            axpy(h * g[j] * beta[j], &self.differences[j * n..(j + 1) * n], &mut self.predicted);
        }
        if let Err(cause) = self.evaluate(eval, t_new) {
            return self.fail(cause, h);
        }
        self.last_difference.copy_from_slice(&self.slope);
        for j in 0..k {
            axpy(-beta[j], &self.differences[j * n..(j + 1) * n], &mut self.last_difference);
        }
        axpy(h * g[k], &self.last_difference, &mut self.predicted);
        let factor = (h * (g[k] - g[k - 1])).abs();
        let (mut part, mut error, mut lower) = (0.0, 0.0, [0.0; 2]);
        if !constant {
            part = factor * self.tolerances.norm(&self.last_difference, &self.y, &self.predicted);
            lower = self.lower(h, &g, &beta);
            error = self.whole(part, lower);
        }
        if !(error <= 1.0) {
            let row = self.tolerances.worst(&self.last_difference, &self.y, &self.predicted);
            self.failures += 1;
            (self.starting, self.equal) = (false, 0);
            let next = if error.is_finite() { 0.5 } else { FAILED_RATIO };
            if self.failures >= FAILURES_BEFORE_RESTART {
                self.restart();
            } else if k > 1 && lower[0] <= part {
                self.order = k - 1;
            }
            return Attempt::Rejected { next: h * next, error, row };
        }
        if let Err(cause) = self.finish(eval, t_new) {
            return self.fail(cause, h);
        }
        // The step is accepted: compute its polynomial and the differences at its end.
        let dense = &mut self.dense;
        (dense.t, dense.h, dense.order, dense.nodes, dense.cubic) = (self.t, h, k, u, false);
        dense.y.copy_from_slice(&self.y);
        for j in 0..k {
            let row = &mut dense.rows[j * n..(j + 1) * n];
            row.iter_mut().zip(&self.differences[j * n..]).for_each(|(r, d)| *r = beta[j] * d);
        }
        dense.rows[k * n..(k + 1) * n].copy_from_slice(&self.last_difference);
        let known = self.known.min(k + 1);
        self.advance(h, t_new, known, &beta);
        if constant {
            return Attempt::Accepted { next: h };
        }
        // `advance` has stored the previous step here.
        let above = (known == k + 1 && k < self.highest).then(|| {
            let row = &self.differences[(k + 1) * n..(k + 2) * n];
            (h * (g[k + 1] - g[k])).abs() * self.tolerances.norm(row, &self.predicted, &self.y)
        });
        Attempt::Accepted { next: self.select(h, error, part, lower, above) }
    }

    /// The corrector moves the predicted state by h g_k phi_k(n+1), which changes f by the change of phi_k(n+1).
    fn stiffness(&mut self) -> Option<(f64, f64)> {
        let (n, k) = (self.y.len(), self.dense.order);
        if self.starter.is_some() || k == 0 || self.known <= k {
            return None;
        }
        let mut g = [0.0; ROWS];
        integrals(&self.dense.nodes[..k], 1.0, &mut g[..=k]);
        let (mut slopes, mut states, mut along) = (0.0, 0.0, 0.0);
        for (i, &difference) in self.last_difference.iter().enumerate() {
            let weight = 1.0 / self.tolerances.scale(i, self.y[i].abs());
            let dy = g[k] * difference * weight;
            let df = (self.differences[k * n + i] - difference) * weight;
            slopes += df * df;
            states += dy * dy;
            along += df * dy;
        }
        let rounding = 10.0 * f64::EPSILON / self.tolerances.rtol;
        let seen = self.dense.h * self.dense.h * states > rounding * rounding * n as f64;
        seen.then(|| ((slopes / states).sqrt(), along / states))
    }

    fn interpolate(&self, t: f64, y: &mut [f64]) {
        let dense = &self.dense;
        let (n, count) = (y.len(), dense.order + 1);
        if dense.cubic {
            let s = (t - dense.t) / dense.h;
            let (bump_a, bump_b) = (s * (1.0 - s) * (1.0 - s) * dense.h, -s * s * (1.0 - s) * dense.h);
            let blend = s * s * (3.0 - 2.0 * s);
            for i in 0..n {
                y[i] = dense.y[i] + blend * (self.y[i] - dense.y[i]);
                y[i] += bump_a * dense.rows[i] + bump_b * self.differences[i];
            }
            return;
        }
        let mut g = [0.0; ROWS];
        integrals(&dense.nodes[..count], (t - dense.t) / dense.h, &mut g[..count]);
        y.copy_from_slice(&dense.y);
        for (j, row) in dense.rows.chunks_exact(n).enumerate().take(count) {
            axpy(dense.h * g[j], row, y);
        }
    }

    fn degree(&self) -> usize {
        if self.highest < MAX_ORDER { (self.highest + 1).max(3) } else { MAX_ORDER + 1 }
    }

    fn coefficients(&self, segment: usize, c: &mut [f64]) -> Option<Segment> {
        self.earlier.filter(|_| segment == 0)?;
        let Dense { t, h, order, cubic, ref y, ref nodes, ref rows } = self.dense;
        let n = y.len();
        if cubic {
            interpolant::hermite(c, h, [y, &rows[..n]], [&self.y, &self.differences[..n]]);
            return Some(Segment { from: t, length: h, degree: 3 });
        }
        c[..(order + 2) * n].fill(0.0);
        c[..n].copy_from_slice(y);
        let mut basis = [0.0; ROWS];
        basis[0] = 1.0;
        for (j, row) in rows.chunks_exact(n).enumerate().take(order + 1) {
            // h times the integral of the basis
            let mut integral = [0.0; ROWS + 1];
            for (k, b) in basis.iter().enumerate() {
                integral[k + 1] = h * b / (k + 1) as f64;
            }
            interpolant::add(c, n, &integral[..=j + 1], row);
            interpolant::multiply(&mut basis, -nodes[j], 1.0 / (1.0 - nodes[j]));
        }
        Some(Segment { from: t, length: h, degree: order + 1 })
    }

    fn retreat(&mut self) -> bool {
        let Some(Earlier { t, order, known, equal, starting, failures }) = self.earlier.take() else { return false };
        std::mem::swap(&mut self.differences, &mut self.fresh);
        std::mem::swap(&mut self.y, &mut self.predicted);
        // the step that was rotated to the front is older than all steps in use
        self.steps.rotate_left(1);
        (self.t, self.order, self.known, self.equal) = (t, order, known, equal);
        (self.starting, self.failures) = (starting, failures);
        true
    }
}

impl Abm {
    /// A failed attempt.
    fn fail(&mut self, cause: Cause, h: f64) -> Attempt {
        self.failures += 1;
        (self.starting, self.equal) = (false, 0);
        if self.failures >= FAILURES_BEFORE_RESTART {
            self.restart();
        }
        Attempt::Failed { cause, next: h * FAILED_RATIO }
    }
}
