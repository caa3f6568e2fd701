//! Computes the gradient of a function of the states at some times, with respect to the initial state and to
//! parameters, by the adjoint equations (Cao, Li, Petzold & Serban, SIAM J. Sci. Comput. 24 (2003) 1076-1089). The
//! cost does not grow with the number of parameters.
//!
//! ```text
//! L = sum over k of L_k(y(t_k))
//! l' = -(df/dy)^T l       from the last t_k back to the start; at each t_k, l grows by dL_k/dy
//! dL/dy(t0) = l(t0)       dL/dp = integral of (df/dp)^T l  +  (dy0/dp)^T l(t0), of which the last term is the caller's
//! ```
//!
//! The run that makes the rows also records its solution as polynomials ([`Runner::record`]), of which a limited number
//! are in memory at a time. Adaptive quadrature over steps of the backward run gives the integrals. A backward step is
//! at most as long as a few steps of the solution, so that none passes over a feature that the solution resolved.

mod backward;
mod integrals;
mod product;
pub(crate) mod recording;
pub(crate) mod stored_solution;

use backward::Backward;
use integrals::Integrals;
pub use recording::Recording;
use recording::Solution;
use stored_solution::{Recorder, StoredSolution};

use crate::method::{Method, auto};
use crate::pattern::Pattern;
use crate::problem::{Cause, Options, Problem, SolveError, Stats};
use crate::runner::{Runner, StepRequest};
use crate::system::{EvalError, System};

/// Default memory limit for polynomials, in bytes.
pub const ROOM: usize = 64 << 20;
/// The tolerance of the backward run as a fraction of that of the solution, because its errors are added to those of
/// the solution.
const PART: f64 = 0.1;
/// Smallest relative tolerance of the backward run, close to rounding.
const LEAST: f64 = 1e-13;
/// Largest number of steps of the solution that a backward step, or an interval of the integrals, may span.
const PASSED: usize = 8;
/// If the rules for the integrals differ by less than this many tolerances, the next interval has twice as many steps:
/// the difference grows with the ninth power of its length.
const EASY: f64 = 1e-3;
/// Times that differ by less than this, in units of rounding, are the same.
const NEAR: f64 = 64.0;
/// Number of points at which the size of df/dp is sampled: one for each step of the solution, within these limits.
const SIZE_SAMPLES: [usize; 2] = [8, 32];

/// The derivatives of f with respect to some parameters.
pub trait ByParameters {
    /// The sparsity pattern of df/dp: a row for each row of f, a column for each parameter.
    fn pattern(&self) -> &Pattern;
    /// Computes the values on the pattern.
    fn values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError>;
}

/// The derivative of the function with respect to the state at one time.
#[derive(Clone, Debug)]
pub struct Weight {
    /// The time.
    pub t: f64,
    /// The derivatives with respect to the state there, n values.
    pub by_state: Vec<f64>,
}

/// The input for a gradient.
pub struct Request<'a> {
    /// The system, whose mass matrix is the identity.
    pub system: &'a dyn System,
    /// The derivatives with respect to parameters.
    pub by: &'a dyn ByParameters,
    /// Values of the parameters in the columns of `by`; they set the scale of a small change.
    pub values: &'a [f64],
    /// The requested columns.
    pub wanted: &'a [usize],
    /// Initial time of the run.
    pub t0: f64,
    /// The method of the run.
    pub method: &'static Method,
    /// Options of that method.
    pub options: &'a Options,
    /// The weights at times of rows, in the order of the run.
    pub weights: &'a [Weight],
}

/// A gradient.
#[derive(Clone, Debug, Default)]
pub struct AdjointResult {
    /// With respect to the initial state, n values.
    pub by_start: Vec<f64>,
    /// With respect to the requested parameters, through f alone.
    pub by_parameters: Vec<f64>,
    /// Work for the polynomials of the solution, in addition to the run that recorded it; includes parts that were
    /// solved again.
    pub forward: Stats,
    /// Work for the adjoint equations.
    pub backward: Stats,
    /// Evaluations of df/dp for the integrals along them.
    pub integrand: u64,
    /// Number of parts into which the solution was divided.
    pub parts: usize,
}

/// Why a gradient cannot be computed.
#[derive(Debug)]
pub enum AdjointError {
    /// The solution fails.
    Solution(SolveError),
    /// The adjoint equations cannot be solved. The error refers to their unknowns.
    Adjoint(SolveError),
    /// The system does not provide the entries of df/dy.
    NoJacobian,
    /// The caller stopped it.
    Stopped,
}

/// Computes the gradient from the recording of a run. `look` receives the time after each step, and stops the work by
/// returning false.
///
/// # Errors
/// [`AdjointError`].
pub fn gradient(
    request: &Request<'_>,
    recording: Recording,
    look: &mut dyn FnMut(f64) -> bool,
) -> Result<AdjointResult, AdjointError> {
    let system = request.system;
    let n = system.shape().n;
    let weights = merged(request.weights);
    let Some(last) = weights.last() else {
        let by_parameters = vec![0.0; request.wanted.len()];
        return Ok(AdjointResult { by_start: vec![0.0; n], by_parameters, ..AdjointResult::default() });
    };
    let pattern = system.jacobian().pattern().ok_or(AdjointError::NoJacobian)?;
    let plan = (request.method, request.options);
    let mut solution = Solution::new(system, plan, recording).map_err(AdjointError::Solution)?;
    let parts = solution.parts();
    if !solution.before_time(last.t, look).map_err(AdjointError::Solution)? {
        return Err(AdjointError::Stopped);
    }
    let (options, absolute) = tolerances(request, &weights, &solution);
    let mut integrals = Integrals::new(request.by, request.wanted, n, options.rtol, absolute);
    let backward = Backward::new(system, solution, pattern);
    let (by_start, stats) = back(&backward, &options, request.t0, &weights, &mut integrals, look)?;
    Ok(AdjointResult {
        by_start,
        by_parameters: integrals.sums,
        forward: backward.into_kept().stats(),
        backward: stats,
        integrand: integrals.evaluations,
        parts,
    })
}

/// The nonzero weights. Weights at times that no step can tell apart are merged.
fn merged(weights: &[Weight]) -> Vec<Weight> {
    let mut list: Vec<Weight> = Vec::new();
    for weight in weights.iter().filter(|weight| weight.by_state.iter().any(|w| *w != 0.0)) {
        match list.last_mut() {
            Some(last) if (last.t - weight.t).abs() <= NEAR * f64::EPSILON * last.t.abs() => {
                last.by_state.iter_mut().zip(&weight.by_state).for_each(|(sum, w)| *sum += w);
            }
            _ => list.push(weight.clone()),
        }
    }
    list
}

/// The options of the backward run, and the absolute tolerances of the integrals. The scale of the tolerances is the
/// change of L when states or parameters change by their own magnitude, so units do not matter.
fn tolerances(request: &Request<'_>, weights: &[Weight], solution: &Solution<'_>) -> (Options, Vec<f64>) {
    let Request { options, values, wanted, by, .. } = request;
    let (start, end) = (solution.start().0, weights.last().map_or(0.0, |last| last.t));
    let largest = solution.sizes(end);
    let n = largest.len();
    let rtol = (PART * options.rtol).max(LEAST);
    let size = |i: usize| {
        let floor = options.atol_at(i) / options.rtol.max(LEAST);
        let size = largest[i].max(floor);
        if size > 0.0 && size.is_finite() { size } else { 1.0 }
    };
    let sizes: Vec<f64> = (0..n).map(size).collect();
    let of = |weight: &Weight| weight.by_state.iter().zip(&sizes).map(|(w, size)| (w * size).abs()).sum::<f64>();
    let change: f64 = weights.iter().map(of).sum();
    let change = if change > 0.0 && change.is_finite() { change } else { 1.0 };
    // an estimate of how much L may change with a parameter, from df/dp at some points of the solution
    let mut most = vec![0.0f64; wanted.len()];
    let (mut y, mut entries) = (vec![0.0; n], vec![0.0; by.pattern().entries()]);
    let looks = solution.solution().ends().count().clamp(SIZE_SAMPLES[0], SIZE_SAMPLES[1]);
    let by_sizes: Vec<f64> = sizes.iter().map(|size| 1.0 / size).collect();
    for k in 0..looks {
        let t = start + (end - start) * (k as f64 + 0.5) / looks as f64;
        solution.value(t, &mut y);
        if by.values(t, &y, &mut entries).is_err() {
            continue;
        }
        for (most, column) in most.iter_mut().zip(*wanted) {
            let of = |k: usize| entries[k].abs() * by_sizes[by.pattern().row_idx[k] as usize];
            let sum: f64 = by.pattern().column(*column).map(of).sum();
            *most = if sum.is_finite() { most.max(sum) } else { *most };
        }
    }
    let length = (end - request.t0).abs();
    let by_size = |column: usize| (values[column] != 0.0).then(|| change / values[column].abs());
    let small = |(most, column): (&f64, &usize)| {
        let by_slope = (*most * length > 0.0).then_some(most * length * change);
        match (by_slope, by_size(*column)) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) | (None, Some(a)) => a,
            (None, None) => change,
        }
    };
    let parameters = most.iter().zip(*wanted).map(small);
    let absolute = |size: f64| (rtol * size).clamp(f64::MIN_POSITIVE, f64::MAX);
    let atol = sizes.iter().map(|size| absolute(change / size)).collect();
    let (max_steps, linear, clock) = (options.max_steps, options.linear, options.clock);
    // the order of elimination for the transposed pattern is found once, and kept with that of the solution
    let eliminator = options.eliminator.clone();
    let backward = Options { rtol, atol, max_steps, linear, eliminator, clock, ..Options::default() };
    (backward, parameters.map(absolute).collect())
}

/// Consecutive steps of the backward run, over which the integrals are computed together.
struct Span {
    steps: StoredSolution,
    recorder: Recorder,
    /// Where they begin.
    from: f64,
    count: usize,
    /// The number of steps for which the rules have been accurate.
    enough: usize,
}

impl Span {
    /// Adds the integrals up to `to`, the end of these steps.
    fn finish(&mut self, integrals: &mut Integrals<'_>, solution: &StoredSolution, to: f64) -> Result<(), Cause> {
        if self.count > 0 {
            let difference = integrals.add((self.from, to), solution, &self.steps)?;
            self.enough = match difference {
                _ if difference > 1.0 => (self.count / 2).max(1),
                _ if difference < EASY => (2 * self.count).min(PASSED),
                _ => self.count,
            };
        }
        self.steps.clear();
        (self.from, self.count) = (to, 0);
        Ok(())
    }
}

/// Solves the adjoint equations, and adds up the integrals along them. Returns l at the start, and the counts of the
/// work.
fn back(
    system: &Backward<'_>,
    options: &Options,
    t0: f64,
    weights: &[Weight],
    integrals: &mut Integrals<'_>,
    look: &mut dyn FnMut(f64) -> bool,
) -> Result<(Vec<f64>, Stats), AdjointError> {
    let mut l = vec![0.0; system.shape().n];
    let mut left = weights.iter().rev().peekable();
    let t_last = left.peek().map_or(t0, |weight| weight.t);
    let add = |l: &mut [f64], weight: &Weight| l.iter_mut().zip(&weight.by_state).for_each(|(l, w)| *l += w);
    if let Some(weight) = left.next() {
        add(&mut l, weight);
    }
    if t_last == t0 {
        return Ok((l, Stats::default()));
    }
    let failed = AdjointError::Adjoint;
    let mut runner = Runner::new(system, &auto::METHOD, options).map_err(|refusal| failed(refusal.into()))?;
    let integrates = !integrals.sums.is_empty();
    runner.begin(system, &Problem { t0: t_last, t_end: t0, y0: l.clone() }).map_err(failed)?;
    let recorder = Recorder::new(runner.further_rows(system));
    let mut span =
        Span { steps: StoredSolution::new(l.len(), t0 >= t_last), recorder, from: t_last, count: 0, enough: 1 };
    // the one that the backward run reaches first
    let first = |a: f64, b: f64| if (a > b) == (t_last > t0) { a } else { b };
    let mut t = t_last;
    while t != t0 {
        let start = system.kept().start().0;
        let back = |t: f64| system.kept().solution().back(t, PASSED, start);
        // the next stop: a weight, the end of some steps of the solution, or the start of the part in memory
        let jump = left.peek().map_or(t0, |weight| weight.t);
        let stop = first(first(start, back(t)), jump);
        runner.advance(system, StepRequest { stop: Some(stop), sample: None }).map_err(failed)?;
        let now = runner.time();
        if integrates {
            let made = if first(now, back(span.from)) == now {
                Ok(())
            } else {
                span.finish(integrals, system.kept().solution(), t)
            };
            made.map_err(|cause| failed(runner.fails(system, cause)))?;
            runner.take(system, &mut span.recorder, &mut span.steps, (t, &l)).map_err(failed)?;
            span.count += 1;
            if span.count >= span.enough || [start, t0, jump].contains(&now) {
                span.finish(integrals, system.kept().solution(), now)
                    .map_err(|cause| failed(runner.fails(system, cause)))?;
            }
        }
        t = now;
        l.copy_from_slice(runner.state());
        if !look(t) {
            return Err(AdjointError::Stopped);
        }
        if t == start && t != t0 && !system.before(look).map_err(AdjointError::Solution)? {
            return Err(AdjointError::Stopped);
        }
        if let Some(weight) = left.next_if(|weight| weight.t == t) {
            add(&mut l, weight);
            if t != t0 {
                // the equations are linear: a jump of l does not change the steps that they need
                runner.put_back(system, &l).map_err(failed)?;
            }
        }
    }
    Ok((l, *runner.stats()))
}
