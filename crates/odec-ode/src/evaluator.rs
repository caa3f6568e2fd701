//! Calls a `System`: counts the calls, checks that values are finite, and records where one was not.

use std::ops::Range;

use crate::pattern::Pattern;
use crate::problem::{Cause, Stats};
use crate::system::{EvalError, Mass, Shape, System};

/// Length of a secant, as a fraction of a state or of the length of the run.
const SECANT_LENGTH: f64 = 1e-8;
/// Smallest magnitude of a state for that length, as a fraction of the largest state.
const SMALL: f64 = 1e-3;
/// Shortest secant over t, in units of rounding of t.
const ROUNDINGS: f64 = 64.0;
/// Largest number of states with a secant: each one costs an evaluation of f.
const SECANTS: usize = 1_000;

/// A system with the counts of its run and the place of its last fault.
pub struct Evaluator<'a> {
    system: &'a dyn System,
    autonomous: bool,
    /// Counts of the run, including linear algebra and Newton iterations.
    pub stats: Stats,
    fault_t: f64,
    fault_y: Vec<f64>,
    faulted: bool,
    /// Number of faults so far.
    faults: u64,
    /// See [`Paused::secants`].
    secants: bool,
    /// See [`Paused::span`].
    span: f64,
}

/// Counts and last fault of a run between two calls. The caller may change the parameters of the system meanwhile.
#[derive(Debug, Default)]
pub struct Paused {
    /// The counts.
    pub stats: Stats,
    fault_t: f64,
    fault_y: Vec<f64>,
    faulted: bool,
    /// True if secants replace infinite derivatives where f is finite, as they do those that are NaN.
    pub secants: bool,
    /// The length of the run, negative if t decreases; 0 if it is not known.
    span: f64,
}

impl Paused {
    /// Resets counts and fault; keeps the memory.
    pub fn anew(self) -> Self {
        Paused { fault_y: self.fault_y, secants: self.secants, span: self.span, ..Paused::default() }
    }
}

/// True if no value is infinite or NaN; one pass without branches.
pub fn all_finite(x: &[f64]) -> bool {
    // Several independent sums: a single one would wait for each addition.
    let (chunks, rest) = x.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for chunk in chunks {
        for l in 0..8 {
            sums[l] += chunk[l] * 0.0;
        }
    }
    rest.iter().fold(0.0, |s, v| s + v * 0.0) + sums.iter().sum::<f64>() == 0.0
}

/// The row of an entry of a matrix.
fn row_of(pattern: &Pattern, entry: usize) -> usize {
    pattern.row_idx[entry] as usize
}

impl<'a> Evaluator<'a> {
    /// Counts at zero.
    pub fn new(system: &'a dyn System) -> Self {
        Evaluator {
            system,
            autonomous: system.autonomous(),
            stats: Stats::default(),
            fault_t: 0.0,
            fault_y: vec![0.0; system.shape().n],
            faulted: false,
            faults: 0,
            secants: false,
            span: 0.0,
        }
    }

    /// Continues with earlier counts and faults, and reuses their memory.
    pub fn resume(system: &'a dyn System, paused: Paused) -> Self {
        let Paused { stats, fault_t, mut fault_y, faulted, secants, span } = paused;
        fault_y.resize(system.shape().n, 0.0);
        let autonomous = system.autonomous();
        Evaluator { system, autonomous, stats, fault_t, fault_y, faulted, faults: 0, secants, span }
    }

    /// The state from which [`Evaluator::resume`] continues.
    pub fn pause(self) -> Paused {
        let Evaluator { stats, fault_t, fault_y, faulted, secants, span, .. } = self;
        Paused { stats, fault_t, fault_y, faulted, secants, span }
    }

    /// Begins a run of this length: negative if t decreases, infinite if the length is not known.
    pub fn begin(&mut self, span: f64) {
        self.span = if span.is_finite() { span } else { 0.0 };
    }

    /// Sizes of the system.
    pub fn shape(&self) -> Shape {
        self.system.shape()
    }

    /// The system itself.
    pub fn system(&self) -> &'a dyn System {
        self.system
    }

    /// The mass matrix of the system.
    pub fn mass(&self) -> Mass<'a> {
        self.system.mass()
    }

    /// True if f does not depend on t.
    pub fn autonomous(&self) -> bool {
        self.autonomous
    }

    /// Time and state of the evaluation that last gave a value that is not finite.
    pub fn fault(&self) -> Option<(f64, &[f64])> {
        self.faulted.then_some((self.fault_t, &self.fault_y[..]))
    }

    /// Number of evaluations with a value that is not finite, since construction or `resume`.
    pub fn faults(&self) -> u64 {
        self.faults
    }

    /// Records (t, y) as the place of the last fault.
    pub fn note_fault(&mut self, t: f64, y: &[f64]) {
        self.remember(t, y);
    }

    fn remember(&mut self, t: f64, y: &[f64]) {
        self.faulted = true;
        self.faults += 1;
        self.fault_t = t;
        self.fault_y.copy_from_slice(y);
    }

    /// Classifies an evaluation: fatal, not finite (`cause` receives the index of the first such value), or fine.
    fn checked(
        &mut self,
        (t, y): (f64, &[f64]),
        result: Result<(), EvalError>,
        values: &[f64],
        cause: impl FnOnce(usize) -> Cause,
    ) -> Result<(), Cause> {
        let cause = match result {
            Ok(()) if all_finite(values) => return Ok(()),
            Err(EvalError::Fatal) => Cause::Fatal,
            Ok(()) | Err(EvalError::Recoverable) => {
                values.iter().position(|value| !value.is_finite()).map_or(Cause::Refused, cause)
            }
        };
        self.remember(t, y);
        Err(cause)
    }

    /// f(t, y) into `f`.
    pub fn rhs(&mut self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), Cause> {
        self.stats.rhs += 1;
        let result = self.system.rhs(t, y, f);
        self.checked((t, y), result, f, |row| Cause::NonFiniteRhs { row })
    }

    /// [`Evaluator::rhs`] without a check of the values; false if the system returns an error. The caller checks all
    /// stages of a step at once, and calls [`Evaluator::rhs`] again to find the fault.
    #[inline]
    pub fn rhs_unchecked(&mut self, t: f64, y: &[f64], f: &mut [f64]) -> bool {
        self.stats.rhs += 1;
        self.system.rhs(t, y, f).is_ok()
    }

    /// Taylor coefficients of the solution through (t, y), counted as one evaluation of f per order.
    pub fn series(&mut self, t: f64, y: &[f64], order: usize, out: &mut [f64]) -> Result<(), Cause> {
        self.stats.rhs += order as u64;
        let series = self.system.series();
        let result = series.map_or(Err(EvalError::Fatal), |series| series.coefficients(t, y, order, out));
        let n = y.len().max(1);
        self.checked((t, y), result, &out[..n * order], |entry| match (entry / n, entry % n) {
            (0, row) => Cause::NonFiniteRhs { row },
            (_, row) => Cause::NoSeries { row },
        })
    }

    /// Takes a fused Taylor step, counted like [`Evaluator::series`]; false if a value at an index in `looked_at` is not
    /// finite. The caller then gets the failure from [`Evaluator::series`].
    #[inline]
    pub fn series_step(
        &mut self,
        t: f64,
        order: usize,
        from: &[f64],
        to: &mut [f64],
        looked_at: [Range<usize>; 2],
    ) -> bool {
        self.stats.rhs += order as u64;
        self.system.series().is_some_and(|series| series.step(t, order, from, to).is_ok())
            && looked_at.into_iter().all(|range| to[range].iter().all(|x| x.is_finite()))
    }

    /// Values of df/dy on the pattern of the system.
    pub fn jacobian(&mut self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), Cause> {
        self.stats.jacobians += 1;
        let result = self.system.jacobian_values(t, y, values);
        if !matches!(result, Err(EvalError::Fatal)) && !all_finite(values) {
            self.replace_by_secants(t, y, values);
        }
        let system = self.system;
        self.checked((t, y), result, values, |entry| {
            let pattern = system.jacobian().pattern().expect("the pattern of the values");
            let (row, col) = pattern.positions().nth(entry).expect("an entry of the pattern");
            Cause::NonFiniteJacobian { row, col }
        })
    }

    /// Replaces derivatives that are NaN by difference quotients, on a side where f is finite: `1/(1 + exp(u))` is 0 for
    /// large u, but the formula of its derivative gives 0 times infinity. An infinite derivative is replaced only if
    /// [`Paused::secants`] asks for it.
    fn replace_by_secants(&mut self, t: f64, y: &[f64], values: &mut [f64]) {
        let (system, secants) = (self.system, self.secants);
        let Some(pattern) = system.jacobian().pattern() else { return };
        let (mut f, mut beside, mut near) = (vec![0.0; y.len()], vec![0.0; y.len()], y.to_vec());
        self.stats.rhs += 1;
        if system.rhs(t, y, &mut f).is_err() || !all_finite(&f) {
            return;
        }
        let size = y.iter().fold(0.0, |most: f64, y| most.max(y.abs()));
        let size = if size > 0.0 { size } else { 1.0 };
        let mut columns = 0;
        for col in 0..y.len() {
            let entries = pattern.column(col);
            let replaced = |slope: f64| if secants { !slope.is_finite() } else { slope.is_nan() };
            if columns == SECANTS || !values[entries.clone()].iter().any(|slope| replaced(*slope)) {
                continue;
            }
            columns += 1;
            let spacing = SECANT_LENGTH * y[col].abs().max(SMALL * size);
            for spacing in [spacing, -spacing] {
                near[col] = y[col] + spacing;
                self.stats.rhs += 1;
                let known = system.rhs(t, &near, &mut beside).is_ok();
                for entry in entries.clone().filter(|_| known) {
                    let row = row_of(pattern, entry);
                    let secant = (beside[row] - f[row]) / (near[col] - y[col]);
                    if replaced(values[entry]) && secant.is_finite() {
                        values[entry] = secant;
                    }
                }
            }
            near[col] = y[col];
        }
    }

    /// M(t, y) on its pattern, if it depends on time or state.
    pub fn mass_values(&mut self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), Cause> {
        let result = self.system.mass_values(t, y, values);
        let mass = self.system.mass();
        self.checked((t, y), result, values, |entry| match mass {
            Mass::StateDependent { pattern, .. } => Cause::NonFiniteMass { row: row_of(pattern, entry) },
            _ => Cause::Internal { what: "a constant mass matrix was evaluated" },
        })
    }

    /// d(M(t, y) w)/dy on its pattern.
    pub fn mass_jacobian(&mut self, t: f64, y: &[f64], w: &[f64], values: &mut [f64]) -> Result<(), Cause> {
        let result = self.system.mass_jacobian(t, y, w, values);
        let mass = self.system.mass();
        self.checked((t, y), result, values, |entry| match mass {
            Mass::StateDependent { jacobian, .. } => Cause::NonFiniteMass { row: row_of(jacobian, entry) },
            _ => Cause::Internal { what: "a constant mass matrix was evaluated" },
        })
    }

    /// df/dt into `out`; zeros, without a call, if the system is autonomous.
    pub fn time_derivative(&mut self, t: f64, y: &[f64], out: &mut [f64]) -> Result<(), Cause> {
        if self.autonomous {
            out.fill(0.0);
            return Ok(());
        }
        let result = self.system.time_derivative(t, y, out);
        if !matches!(result, Err(EvalError::Fatal)) && out.iter().any(|v| v.is_nan()) {
            self.replace_by_differences(t, y, out);
        }
        self.checked((t, y), result, out, |row| Cause::NonFiniteTimeDerivative { row })
    }

    /// Replaces values of df/dt that are NaN by difference quotients, forward if possible, otherwise backward.
    /// `exp(-1/s)` and all its derivatives are 0 at s = 0, but their formulas give 0 times infinity. An infinite
    /// slope, such as that of `sqrt(t)` at 0, stays.
    fn replace_by_differences(&mut self, t: f64, y: &[f64], out: &mut [f64]) {
        let spacing = (SECANT_LENGTH * self.span.abs()).max(ROUNDINGS * f64::EPSILON * t.abs()).copysign(self.span);
        let (mut f, mut beside) = (vec![0.0; y.len()], vec![0.0; y.len()]);
        self.stats.rhs += 1;
        if spacing == 0.0 || self.system.rhs(t, y, &mut f).is_err() || !all_finite(&f) {
            return;
        }
        for near in [t + spacing, t - spacing] {
            self.stats.rhs += 1;
            if self.system.rhs(near, y, &mut beside).is_err() {
                continue;
            }
            for ((slope, f), beside) in out.iter_mut().zip(&f).zip(&beside) {
                let secant = (beside - f) / (near - t);
                if slope.is_nan() && secant.is_finite() {
                    *slope = secant;
                }
            }
        }
    }
}
