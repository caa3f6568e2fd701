//! Backward differentiation of one fixed order, on equal steps or on a variable grid with true variable coefficients.
//!
//! The formula differentiates the polynomial through the new and the last s states (in Lagrange form, so that the
//! grid is arbitrary). The predictor is the polynomial through the last s + 1 states, and its distance d from the
//! solution gives the error: with y[..] the divided difference of order s + 1 over these states and the new one, t_j
//! the times, `y_new - predicted = y[..] prod_{j=0..s} (t_new - t_{n-j})`, while the derivative of the formula's
//! polynomial is wrong by `y[..] prod_{j=0..s-1} (t_new - t_{n-j})`; so the local error is `d h / (a_s (t_new -
//! t_{n-s}))` (Brayton, Gustavson & Hachtel, Proc. IEEE 60 (1972); on equal steps it is d / (gamma_s (s + 1))).

use super::coefficients::{EQUAL_STEPS, MAX_ORDER, derivative_weights, growth_limit, harmonic, interpolation_weights};
use super::starter::Starter;
use crate::consistent::Consistent;
use crate::control::{FAILED_RATIO, Tolerances};
use crate::evaluator::Evaluator;
use crate::integrator::{Attempt, Integrator};
use crate::interpolant::{self, Segment};
use crate::linear::LinearReport;
use crate::newton::{Accuracy, Equation, Newton};
use crate::problem::{Cause, Options, Refusal};
use crate::system::System;

/// Number of past states: the predictor needs s + 1, the block at the start computes s + 2.
const KEPT: usize = MAX_ORDER + 2;
/// Factor on the ideal step.
const SAFETY: f64 = 0.85;
/// Fraction of the tolerance that Newton's method may leave in the difference of order s + 1, from which the error is
/// estimated: 2^(s+1) times its error in a state.
const DIFFERENCE_NOISE: f64 = 0.1;
/// Smallest ratio after a failed error test.
const SHRINK: f64 = 0.2;
/// Smallest increase of the step size that pays for a new factorisation, if the zero-stability of the order allows it.
const MIN_STEP_GAIN: f64 = 1.2;
/// Largest ratio of successive steps of order 1.
const GROW: f64 = 10.0;
/// The block at the start is repeated if its step could be longer by this factor: later, a high order can only
/// increase the step size slowly.
const SHORT_START: f64 = 1.5;
/// Largest increase of the block at the start from one attempt to the next.
const LENGTHEN: f64 = 8.0;
/// Largest number of attempts to find the length of the block at the start.
const MAX_START_ATTEMPTS: u32 = 30;
/// Numbers of pieces into which a starting step on a fixed grid is divided, in this order, if its equations cannot be
/// solved as a whole.
const STARTER_DIVISIONS: [usize; 4] = [1, 4, 16, 64];
/// Number of consecutive failures after which the history is discarded and built again.
const FAILURES_BEFORE_RESTART: u32 = 4;

/// One order, equal or variable steps.
pub struct Bdf {
    order: usize,
    fixed: bool,
    /// True if the caller gave the length of the first step, which is then used if possible.
    start_asked: bool,
    tolerances: Tolerances,
    newton: Newton,
    accuracy: Accuracy,
    /// `None` if no starting values are needed: order 1 on equal steps.
    starter: Option<Starter>,
    t: f64,
    /// Newest first.
    past: Vec<Vec<f64>>,
    /// `steps[i]`: from `past[i + 1]` to `past[i]`.
    steps: [f64; KEPT],
    known: usize,
    failures: u32,
    /// The search for the length of the block at the start.
    start: StartLength,
    /// True if `shift` has moved the newest state but not the unknowns that depend on it; a block that starts there
    /// would start with a jump.
    moved: bool,
    options: Options,
    /// Equally spaced states that the starter computed within its last step, newest first.
    block: Vec<Vec<f64>>,
    dense: Dense,
    /// The start of the last step.
    earlier: Option<Earlier>,
    predicted: Vec<f64>,
    anchor: Vec<f64>,
    state: Vec<f64>,
    correction: Vec<f64>,
    weights: Vec<f64>,
}

/// The search for the length of the block at the start: from the guess of the first step to about the longest accurate one.
#[derive(Clone, Copy)]
struct StartLength {
    attempts: u32,
    last: f64,
    bad: f64,
}

impl Default for StartLength {
    fn default() -> Self {
        StartLength { attempts: 0, last: 0.0, bad: f64::INFINITY }
    }
}

impl StartLength {
    fn too_long(&mut self, h: f64) {
        self.bad = self.bad.min(h.abs());
        self.last = 0.0;
    }

    /// A longer block than the accurate one of length `h`, if its error permits one `ratio` times as long. `None` if
    /// the loop did not follow the last proposal (because of the end of the interval or the largest step).
    fn lengthen(&mut self, h: f64, ratio: f64) -> Option<f64> {
        let longer = h.abs() * ratio.min(LENGTHEN);
        let longer = longer.min(0.8 * self.bad);
        let wanted = longer > SHORT_START * h.abs() && h.abs() > self.last && self.attempts < MAX_START_ATTEMPTS;
        self.attempts += 1;
        self.last = h.abs();
        wanted.then(|| longer.copysign(h))
    }
}

/// The start of a step; its states are still in the history, behind those that the step added.
#[derive(Clone, Copy)]
struct Earlier {
    t: f64,
    steps: [f64; KEPT],
    known: usize,
    failures: u32,
    start: StartLength,
    /// Number of states that the step added.
    added: usize,
}

/// The data that the dense output of the last step interpolates.
#[derive(Clone, Copy)]
enum Dense {
    /// Only one state is known.
    Nothing,
    /// The newest past states.
    Past,
    /// The states in the block of the starter, at this distance.
    Block(f64),
}

impl Bdf {
    /// An integrator of order 1 to 6, with equal steps if the options say so.
    pub fn new(system: &dyn System, order: usize, options: &Options) -> Result<Self, Refusal> {
        if !(1..=MAX_ORDER).contains(&order) {
            return Err(Refusal::NotZeroStable(order as u32));
        }
        let n = system.shape().n;
        let mut accuracy = Accuracy::of(options);
        if !options.fixed {
            accuracy.tolerance = accuracy.tolerance.min(DIFFERENCE_NOISE / f64::from(2u32 << order));
        }
        Ok(Bdf {
            order,
            fixed: options.fixed,
            start_asked: options.step.is_some(),
            tolerances: Tolerances::new(options, n),
            newton: Newton::new(system, options)?,
            accuracy,
            starter: if options.fixed && order == 1 { None } else { Some(Starter::new(system, options, accuracy)?) },
            t: 0.0,
            past: vec![vec![0.0; n]; KEPT],
            steps: [0.0; KEPT],
            known: 0,
            failures: 0,
            start: StartLength::default(),
            moved: false,
            options: options.clone(),
            block: vec![vec![0.0; n]; KEPT],
            dense: Dense::Nothing,
            earlier: None,
            predicted: vec![0.0; n],
            anchor: vec![0.0; n],
            state: vec![0.0; n],
            correction: vec![0.0; n],
            weights: vec![0.0; n],
        })
    }

    /// Stores the start of a step that adds this many states.
    fn remember(&mut self, added: usize) {
        let (t, steps, known, failures, start) = (self.t, self.steps, self.known, self.failures, self.start);
        self.earlier = Some(Earlier { t, steps, known, failures, start, added });
    }

    /// The nodes of the dense output relative to the current time, newest first, and their number.
    fn nodes(&self) -> ([f64; KEPT], usize) {
        let points = match self.dense {
            Dense::Nothing => 1,
            Dense::Past => self.known.min(self.order + 1),
            Dense::Block(_) => self.order + if self.fixed { 1 } else { 2 },
        };
        let (mut nodes, mut x) = ([0.0; KEPT], 0.0);
        for i in 0..points {
            nodes[i] = x;
            x -= match self.dense {
                Dense::Block(part) => part,
                _ => self.steps[i],
            };
        }
        (nodes, points)
    }

    /// Makes `state` the newest of the past states, one step `h` after the last.
    fn push(&mut self, h: f64) {
        self.past.rotate_right(1);
        self.past[0].copy_from_slice(&self.state);
        self.steps.rotate_right(1);
        self.steps[0] = h;
        self.known = (self.known + 1).min(KEPT);
    }

    /// Continues from given states at t, t - h, t - 2h, ..., newest first, instead of computing starting values.
    /// States that the order does not use are ignored.
    pub fn set_history(&mut self, t: f64, h: f64, states: &[Vec<f64>]) {
        self.t = t;
        self.known = states.len().min(KEPT);
        for (past, state) in self.past.iter_mut().zip(states) {
            past.copy_from_slice(state);
        }
        self.steps = [h; KEPT];
        self.failures = 0;
        (self.dense, self.earlier) = (Dense::Past, None);
        self.newton.forget();
    }

    /// Makes `parts` equal steps of the starter from the current state; `block` receives their states, `state` the
    /// newest one. If the step of the run cannot be made smaller, each part is divided until its equations can be
    /// solved.
    fn run_starter(&mut self, eval: &mut Evaluator<'_>, h: f64, parts: usize) -> Result<(), Cause> {
        let divisions: &[usize] = if self.fixed { &STARTER_DIVISIONS } else { &STARTER_DIVISIONS[..1] };
        let mut tried = Ok(());
        for pieces in divisions {
            tried = self.divided_starter(eval, h / parts as f64, parts, *pieces);
            if !matches!(tried, Err(Cause::NewtonFailed { .. })) {
                break;
            }
        }
        tried
    }

    fn divided_starter(
        &mut self,
        eval: &mut Evaluator<'_>,
        part: f64,
        parts: usize,
        pieces: usize,
    ) -> Result<(), Cause> {
        let Some(starter) = &mut self.starter else {
            return Err(Cause::Internal { what: "starting values were requested of a method that needs none" });
        };
        let piece = part / pieces as f64;
        self.state.copy_from_slice(&self.past[0]);
        starter.prepare(eval, self.t, &self.state, piece)?;
        for i in 0..parts * pieces {
            if i % pieces == 0 {
                self.block.rotate_right(1);
                self.block[0].copy_from_slice(&self.state);
            }
            let from = (self.t + i as f64 * piece, piece);
            self.predicted.copy_from_slice(&self.state);
            let tried = starter.step(eval, from, &self.predicted, &mut self.state);
            if let Err(Cause::NewtonFailed { .. }) = tried {
                starter.prepare(eval, from.0, &self.predicted, piece)?;
                starter.step(eval, from, &self.predicted, &mut self.state)?;
            } else {
                tried?;
            }
        }
        self.block.rotate_right(1);
        self.block[0].copy_from_slice(&self.state);
        Ok(())
    }

    /// Computes a starting value of a run with equal steps.
    fn start_fixed(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        // The dense output of this order needs as many parts.
        if let Err(cause) = self.run_starter(eval, h, self.order) {
            return Attempt::Failed { cause, next: h * FAILED_RATIO };
        }
        self.remember(1);
        self.push(h);
        self.t = t_new;
        self.dense = Dense::Block(h / self.order as f64);
        Attempt::Accepted { next: h }
    }

    /// Computes all starting values of a run on a variable grid: one step of the loop, in s + 1 equal parts.
    fn start_variable(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        if std::mem::take(&mut self.moved)
            && let Ok(Some(mut consistent)) = Consistent::of(eval.system(), &self.options)
            && let Err(cause) = consistent.find(eval, self.t, &mut self.past[0])
        {
            return Attempt::Failed { cause, next: h * FAILED_RATIO };
        }
        let parts = self.order + 1;
        let part = h / parts as f64;
        if let Err(cause) = self.run_starter(eval, h, parts) {
            self.start.too_long(h);
            return Attempt::Failed { cause, next: h * FAILED_RATIO };
        }
        // The difference of order s + 1 over the block is the error that the first predictor would have made.
        let mut binomial = 1.0;
        self.correction.copy_from_slice(&self.block[0]);
        for j in 1..=parts {
            binomial *= -((parts + 1 - j) as f64) / j as f64;
            for (c, y) in self.correction.iter_mut().zip(&self.block[j]) {
                *c += binomial * y;
            }
        }
        let constant = 1.0 / (harmonic(self.order) * parts as f64);
        let error = self.tolerances.norm(&self.correction, &self.block[parts], &self.block[0]) * constant;
        let ratio = SAFETY * error.max(1e-20).powf(-1.0 / (self.order + 1) as f64);
        if error > 1.0 || error.is_nan() {
            self.start.too_long(h);
            let row = self.tolerances.worst(&self.correction, &self.block[parts], &self.block[0]);
            return Attempt::Rejected { next: h * ratio.clamp(SHRINK * SHRINK, 0.9), error, row };
        }
        if self.order > 1
            && let Some(longer) = self.start.lengthen(h, ratio)
        {
            return Attempt::Rejected { next: longer, error, row: 0 };
        }
        self.remember(parts);
        for j in (0..parts).rev() {
            self.state.copy_from_slice(&self.block[j]);
            self.push(part);
        }
        self.t = t_new;
        self.dense = Dense::Block(part);
        self.failures = 0;
        Attempt::Accepted { next: part * self.ratio(error) }
    }

    /// Ratio of the next step to the one just accepted.
    fn ratio(&self, error: f64) -> f64 {
        let limit = growth_limit(self.order).min(GROW);
        let ratio = (SAFETY * error.max(1e-20).powf(-1.0 / (self.order + 1) as f64)).min(limit);
        if ratio >= MIN_STEP_GAIN.min(limit) { ratio } else { 1.0 }
    }

    /// Counts a failure; too many discard the history.
    fn failed(&mut self) {
        self.failures += 1;
        if self.failures >= FAILURES_BEFORE_RESTART && !self.fixed {
            self.known = self.known.min(1);
            self.failures = 0;
            self.start = StartLength::default();
        }
    }

    /// Weights of the formula for the step `h`, past states first (newest to oldest), the new state last; and the
    /// nodes in units of h.
    fn formula(&self, h: f64) -> ([f64; KEPT], [f64; KEPT]) {
        let s = self.order;
        let (mut nodes, mut a) = ([0.0; KEPT], [0.0; KEPT]);
        let mut x = -1.0;
        for i in 0..=s {
            nodes[i] = x;
            x -= self.steps[i] / h;
        }
        if self.fixed && self.steps[..s - 1].iter().all(|step| *step == h) {
            let table = &EQUAL_STEPS[s - 1];
            for j in 0..=s {
                a[j] = table.numerators[if j == s { s } else { s - 1 - j }] as f64 / table.denominator as f64;
            }
        } else {
            derivative_weights(&nodes[..s], &mut a[..=s]);
        }
        (nodes, a)
    }
}

impl Integrator for Bdf {
    fn dimension(&self) -> usize {
        self.state.len()
    }

    fn time(&self) -> f64 {
        self.t
    }

    fn state(&self) -> &[f64] {
        &self.past[0]
    }

    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.newton.forget();
        self.t = t;
        self.past[0].copy_from_slice(y);
        self.known = 1;
        self.failures = 0;
        self.start = StartLength::default();
        if self.start_asked {
            self.start.attempts = MAX_START_ATTEMPTS;
        }
        (self.dense, self.earlier, self.moved) = (Dense::Nothing, None, false);
        eval.rhs(t, y, &mut self.state)
    }

    fn shift(&mut self, _: &mut Evaluator<'_>, y: &[f64]) -> Result<(), Cause> {
        self.past[0].copy_from_slice(y);
        self.moved = true;
        Ok(())
    }

    fn set_atol(&mut self, atol: &[f64]) {
        self.tolerances.set_atol(atol);
    }

    fn tighten(&mut self, part: f64) {
        self.tolerances.tighten(part);
    }

    fn order(&self) -> u32 {
        self.order as u32
    }

    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        let s = self.order;
        if self.fixed && self.known < s {
            return self.start_fixed(eval, h, t_new);
        }
        if !self.fixed && self.known < s + 1 {
            return self.start_variable(eval, h, t_new);
        }
        let (nodes, a) = self.formula(h);
        let points = self.known.min(s + 1);
        let mut p = [0.0; KEPT];
        interpolation_weights(&nodes[..points], 0.0, &mut p[..points]);
        self.predicted.fill(0.0);
        self.anchor.fill(0.0);
        for (j, past) in self.past.iter().enumerate().take(points) {
            let anchor = if j < s { -a[j] / a[s] } else { 0.0 };
            for i in 0..past.len() {
                self.predicted[i] += p[j] * past[i];
                self.anchor[i] += anchor * past[i];
            }
        }
        self.state.copy_from_slice(&self.predicted);
        self.tolerances.weights(&self.predicted, &mut self.weights);
        let equation = Equation { t: t_new, alpha: a[s] / h, anchor: &self.anchor, offset: None };
        if let Err(cause) = self.newton.solve(eval, &equation, &mut self.state, &self.weights, self.accuracy) {
            self.failed();
            return Attempt::Failed { cause, next: h * FAILED_RATIO };
        }
        let mut next = h;
        if !self.fixed {
            let constant = 1.0 / (a[s] * nodes[s].abs());
            for i in 0..self.state.len() {
                self.correction[i] = constant * (self.state[i] - self.predicted[i]);
            }
            let error = self.tolerances.norm(&self.correction, &self.past[0], &self.state);
            if error > 1.0 || error.is_nan() {
                let row = self.tolerances.worst(&self.correction, &self.past[0], &self.state);
                let ratio = if self.failures > 0 { 0.5 } else { SAFETY * error.powf(-1.0 / (s + 1) as f64) };
                self.failed();
                return Attempt::Rejected {
                    next: h * if ratio.is_finite() { ratio.clamp(SHRINK, 0.9) } else { SHRINK },
                    error,
                    row,
                };
            }
            next = h * self.ratio(error);
        }
        self.remember(1);
        self.push(h);
        (self.t, self.dense, self.failures, self.moved) = (t_new, Dense::Past, 0, false);
        Attempt::Accepted { next }
    }

    fn linear(&self) -> Option<LinearReport> {
        Some(self.newton.linear())
    }

    fn interpolate(&self, t: f64, y: &mut [f64]) {
        let (nodes, points) = self.nodes();
        let mut w = [0.0; KEPT];
        let states = if let Dense::Block(_) = self.dense { &self.block } else { &self.past };
        interpolation_weights(&nodes[..points], t - self.t, &mut w[..points]);
        y.fill(0.0);
        for (w, state) in w[..points].iter().zip(states) {
            for (y, s) in y.iter_mut().zip(state) {
                *y += w * s;
            }
        }
    }

    fn degree(&self) -> usize {
        self.order + 1
    }

    fn coefficients(&self, segment: usize, c: &mut [f64]) -> Option<Segment> {
        let Earlier { t, .. } = self.earlier.filter(|_| segment == 0)?;
        let (mut nodes, points) = self.nodes();
        // after a starting step, the block covers the step at equal distances
        let length = match self.dense {
            Dense::Block(part) => part * (points - 1) as f64,
            _ => self.steps[0],
        };
        for x in &mut nodes {
            *x = 1.0 + *x / length;
        }
        let states = if let Dense::Block(_) = self.dense { &self.block } else { &self.past };
        interpolant::lagrange(c, self.state.len(), &nodes[..points], states.iter().map(Vec::as_slice));
        Some(Segment { from: t, length, degree: points - 1 })
    }

    /// The oldest state, which a step may have pushed out, is not used by any formula.
    fn retreat(&mut self) -> bool {
        let Some(Earlier { t, steps, known, failures, start, added }) = self.earlier.take() else { return false };
        self.past.rotate_left(added);
        (self.t, self.steps, self.known) = (t, steps, known.min(KEPT - added));
        (self.failures, self.start, self.dense) = (failures, start, Dense::Nothing);
        self.newton.forget();
        true
    }
}
