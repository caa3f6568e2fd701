//! Estimates how much the equations amplify an error during a run, from the linearised system at some ends of steps. The
//! estimate only decides whether a second run is worthwhile, so it has to be cheap rather than exact.

use nalgebra::DMatrix;
use odec_ode::system::{Mass, System};

use crate::bind::Bound;
use crate::executor::Executor;
use crate::monitor::Findings;
use crate::spectrum::{self, Pencil};

use super::MAX_UNKNOWNS;
use super::groups::Groups;
use super::stored_run::At;

/// With more than [`SPARSE_UNKNOWNS`] unknowns, steps of a run for each point: if df/dy is compiled, and if it comes from
/// differences.
const STEPS_PER_POINT: [u64; 2] = [8, 40];
/// Operations at the points of such a run.
const MAX_SPARSE_OPERATIONS: usize = 2_000_000;
/// Evaluations of f for the derivatives at the points: at first, in a long run, and if growth is visible.
const EVALUATIONS: [usize; 3] = [160, 800, 1500];
/// Steps of a run for each evaluation of f at first, within these limits.
const STEPS: u64 = 2;
/// Operations for linear equations at the points, divided by the third power of the number of unknowns.
const MAX_OPERATIONS: usize = 400_000;
/// The budgets must allow at least this number of points.
const MIN_POINTS: usize = 8;
/// Up to this number of points, the equations behind each of them count too, at this fraction of the way to the next one: a
/// switch may lie between them.
const FEW_POINTS: usize = 32;
/// See [`FEW_POINTS`].
const BEHIND: f64 = 1e-6;
/// Visible growth, as a power of e; beyond it, odec uses more points.
const VISIBLE_GROWTH: f64 = 2.0;
/// Relative increment of a state for differences, and the smallest size for it, relative to the largest size of the state.
const INCREMENT: (f64, f64) = (1e-7, 1e-3);
/// Largest norm of df/dy times an interval for which a series computes the exponential function, and its terms at norm 1.
const SERIES: (f64, usize) = (8.0, 6);
/// Number of unknowns above which most entries of df/dy are zero.
const SPARSE_UNKNOWNS: usize = 40;
/// Largest eigenvalue times an interval for which the interval resolves the motion.
const RESOLVED_ANGLE: f64 = 1.5;
/// Instructions for eigenvalues: in total, for a small matrix, and divided by the third power of its rows.
const EIGENVALUES: (usize, usize, usize) = (240_000, 3_000, 200);
/// The total for long intervals, for each step of the run: in a long run, they may take longer.
const EIGENVALUES_OF_LONG_RUN: u64 = 200;
/// The total for intervals over which a series computes the exponential function, for each step of the run: in a stiff
/// run, there are few of them.
const EIGENVALUES_OF_STEP: u64 = 1_000;
/// They suffice for so many steps in a shorter run: a few long steps may pass over all of a growth.
const FEW_STEPS: u64 = 32;
/// Errors that odec follows from the start, with other signs of their components: one alone can have the direction of a
/// decay, and then shows nothing of a growth in another direction.
const ERRORS: usize = 2;
/// Errors that odec follows from a later point, for few unknowns and for more: a large error that decays hides smaller ones
/// that grow.
const LATER_ERRORS: [usize; 2] = [4, 1];
/// Least growth, as a power of e, over an interval that does not resolve it; see [`Linear::implicit`].
const UNRESOLVED_GROWTH: f64 = 2.0;

/// The linearised equations along a run.
pub struct LinearisedRun {
    /// Times, with the equations if their values are finite.
    pub points: Vec<(f64, Option<Linearised>)>,
    /// Growth of an error of one tolerance, as a power of e.
    pub growth: f64,
    /// True if the points are too far apart to resolve all motions that do not decay.
    pub coarse: bool,
    /// True if there are too many unknowns to see that.
    pub unknown: bool,
    /// Number of intervals between the points, without those at switches.
    pub intervals: usize,
}

/// Linearised equations along the run, at `many` points from the start or only if growth is visible; `None` if the run
/// is too short.
pub fn way(slopes: &Slopes<'_>, findings: &Findings, many: bool) -> Option<LinearisedRun> {
    let first = usize::try_from(findings.steps / STEPS).unwrap_or(usize::MAX);
    way_with(slopes, findings, if many { EVALUATIONS[2] } else { first.clamp(EVALUATIONS[0], EVALUATIONS[1]) })
}

/// The evaluations of f for the least number of points.
pub fn least_evaluations(n: usize) -> usize {
    MIN_POINTS * (n + 1)
}

/// The same, if this many evaluations of f suffice for the least number of points.
pub fn way_within(slopes: &Slopes<'_>, findings: &Findings, evaluations: usize) -> Option<LinearisedRun> {
    let enough = evaluations >= least_evaluations(slopes.unit.len());
    enough.then(|| way_with(slopes, findings, evaluations.min(EVALUATIONS[0]))).flatten()
}

fn way_with(slopes: &Slopes<'_>, findings: &Findings, first: usize) -> Option<LinearisedRun> {
    let all = places(slopes.bound, findings);
    let n = slopes.unit.len();
    let [few, many] = match &slopes.groups {
        None => [first, EVALUATIONS[2]].map(|evaluations| (evaluations / (n + 1)).min(MAX_OPERATIONS / n.pow(3))),
        Some(groups) => {
            let affordable = findings.steps / STEPS_PER_POINT[usize::from(!slopes.exact)];
            let operations = 4 * n.pow(2) + groups.entries().pow(2) / n;
            let most = usize::try_from(affordable).unwrap_or(usize::MAX).min(MAX_SPARSE_OPERATIONS / operations);
            [most, most]
        }
    }
    .map(|points| points.max(MIN_POINTS).min(all.len()));
    let of =
        |most: usize| (most > 1).then(|| along(slopes, findings.steps, chosen(&all, most).into_iter().map(|k| all[k])));
    match of(few)? {
        way if few == many || way.growth < VISIBLE_GROWTH && !way.coarse => Some(way),
        _ => of(many),
    }
}

/// At most so many places: one half after equal numbers of steps, the other after equal times, so that neither many short
/// steps nor a few long ones are left out. `most` is at least 2.
fn chosen(all: &[At<'_>], most: usize) -> Vec<usize> {
    let last = all.len() - 1;
    if most > last && last < FEW_POINTS {
        return (0..=last).collect();
    }
    let by_steps = most.div_ceil(2).max(2);
    let mut list: Vec<usize> = (0..by_steps).map(|k| k * last / (by_steps - 1)).collect();
    let (start, span) = (all[0].t, all[last].t - all[0].t);
    let by_time = most - by_steps;
    list.extend((1..=by_time).map(|k| {
        let part = k as f64 / (by_time + 1) as f64;
        all.partition_point(|at| (at.t - start) / span < part)
    }));
    list.sort_unstable();
    list.dedup();
    list
}

/// Start of the run and stored ends of steps.
pub fn places<'a>(bound: &'a Bound, findings: &'a Findings) -> Vec<At<'a>> {
    let start = At { t: bound.problem.t0, y: &bound.problem.y0 };
    std::iter::once(start).chain(findings.stored_run.steps()).collect()
}

/// Linearised equations at the given points.
fn along<'a>(slopes: &Slopes<'_>, steps: u64, at: impl ExactSizeIterator<Item = At<'a>>) -> LinearisedRun {
    let mut error = Linear::new(slopes.unit.len(), steps, at.len());
    let mut points: Vec<(f64, Option<Linearised>)> = vec![];
    let later = LATER_ERRORS[usize::from(slopes.groups.is_some())];
    let every = at.len().div_ceil(later + 1);
    // the equations change inside the run; more points show what few of them miss
    let turns = slopes.bound.located.is_some() && at.len() <= FEW_POINTS;
    let intervals = at.len().saturating_sub(1);
    let mut at = at.enumerate().peekable();
    while let Some((number, point)) = at.next() {
        let now = slopes.at(point);
        if let (Some((t, Some(earlier))), Some(now)) = (points.last(), &now) {
            error.pass(earlier, now, point.t - t);
        }
        error.renew(|k| slopes.seed(point, k));
        if number > 0 && number % every == 0 && slopes.unit.len() > 1 {
            error.w.push(slopes.seed(point, error.w.len()));
        }
        points.push((point.t, now));
        if let Some((_, next)) = at.peek().filter(|_| turns) {
            let part = |from: f64, to: f64| from + BEHIND * (to - from);
            let y: Vec<f64> = point.y.iter().zip(next.y).map(|(from, to)| part(*from, *to)).collect();
            let t = part(point.t, next.t);
            points.push((point.t, slopes.at(At { t, y: &y })));
        }
    }
    LinearisedRun {
        points,
        growth: error.grown.ln() + error.beyond,
        coarse: error.coarse,
        unknown: error.unknown,
        intervals,
    }
}

/// M w' = J w, stored by rows. The unit of w is the tolerance.
pub(super) struct Linearised {
    pub jacobian: Vec<f64>,
    /// Mass matrix; `None` if M = I.
    pub mass: Option<Vec<f64>>,
}

/// The linearised system at points of a run.
pub(super) struct Slopes<'a> {
    pub bound: &'a Bound,
    pub findings: &'a Findings,
    /// The tolerances for the largest sizes of the states.
    pub unit: Vec<f64>,
    /// True if df/dy and M are available because the run needed them.
    pub exact: bool,
    /// With more than [`SPARSE_UNKNOWNS`] unknowns, the columns of df/dy in groups.
    groups: Option<Groups<'a>>,
}

impl<'a> Slopes<'a> {
    pub fn new(bound: &'a Bound, findings: &'a Findings) -> Slopes<'a> {
        let unit =
            findings.largest.iter().enumerate().map(|(i, size)| bound.atol(i) + bound.options.rtol * size).collect();
        let exact = bound.executor.has_made_jacobian() || !matches!(bound.executor.mass(), Mass::Identity);
        let many = SPARSE_UNKNOWNS < bound.problem.y0.len() && bound.problem.y0.len() <= MAX_UNKNOWNS;
        let pattern = many.then(|| bound.executor.jacobian().pattern()).flatten();
        Slopes { bound, findings, unit, exact, groups: pattern.map(Groups::of) }
    }

    /// The same for a run among many: other runs may have compiled df/dy, and must not affect the result.
    pub fn of_one(bound: &'a Bound, findings: &'a Findings) -> Slopes<'a> {
        let exact = bound.choice.method.structure.jacobian || !matches!(bound.executor.mass(), Mass::Identity);
        Slopes { exact, ..Slopes::new(bound, findings) }
    }

    /// The k-th error of one tolerance with a component in every direction; deterministic. The signs of the first two
    /// differ in every second component.
    pub fn seed(&self, point: At<'_>, k: usize) -> Vec<f64> {
        let of = |(i, (y, unit)): (usize, (&f64, &f64))| {
            let size = (self.bound.atol(i) + self.bound.options.rtol * y.abs()) / unit;
            if ((i * 7 + 3) % 5 < 2) == (i * k).is_multiple_of(2) { size } else { -size }
        };
        point.y.iter().zip(&self.unit).enumerate().map(of).collect()
    }

    /// Linearised equations at a point; `None` if values are not finite.
    pub fn at(&self, point: At<'_>) -> Option<Linearised> {
        let n = self.unit.len();
        let executor = self.findings.discretes.executor_before(self.bound, point.t)?;
        let scaled = |matrix: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            (0..n * n).map(|k| matrix(k / n, k % n) * self.unit[k % n] / self.unit[k / n]).collect()
        };
        if self.exact {
            let Pencil { jacobian, mass } = Pencil::at(&*executor, point.t, point.y)?;
            let mass = mass.map(|mass| scaled(&|i, j| mass[(i, j)]));
            return Some(Linearised { jacobian: scaled(&|i, j| jacobian[(i, j)]), mass });
        }
        let columns = self.differences(&executor, point)?;
        Some(Linearised { jacobian: scaled(&|i, j| columns[j * n + i]), mass: None })
    }

    /// df/dy by columns, from differences: compiling the exact derivative takes longer than most runs.
    fn differences(&self, executor: &Executor, point: At<'_>) -> Option<Vec<f64>> {
        let n = self.unit.len();
        let (mut y, mut f) = (point.y.to_vec(), vec![0.0; n]);
        executor.rhs(point.t, &y, &mut f).ok()?;
        let mut columns = vec![0.0; n * n];
        let moved =
            |y: f64, j: usize| y + INCREMENT.0 * y.abs().max(INCREMENT.1 * self.findings.largest[j]).max(self.unit[j]);
        if let Some(groups) = &self.groups {
            let mut changed = vec![0.0; n];
            for group in groups.list() {
                for &j in group {
                    y[j] = moved(y[j], j);
                }
                executor.rhs(point.t, &y, &mut changed).ok()?;
                for &j in group {
                    let over = 1.0 / (y[j] - point.y[j]);
                    y[j] = point.y[j];
                    groups.rows(j).for_each(|i| columns[j * n + i] = (changed[i] - f[i]) * over);
                }
            }
            return columns.iter().all(|v| v.is_finite()).then_some(columns);
        }
        for (j, column) in columns.chunks_exact_mut(n).enumerate() {
            y[j] = moved(y[j], j);
            executor.rhs(point.t, &y, column).ok()?;
            let over = 1.0 / (y[j] - point.y[j]);
            y[j] = point.y[j];
            column.iter_mut().zip(&f).for_each(|(v, f)| *v = (*v - f) * over);
        }
        columns.iter().all(|v| v.is_finite()).then_some(columns)
    }
}

/// Errors during the run.
struct Linear {
    /// [`ERRORS`] to which those of further steps are added, or one with a single unknown; then [`LATER_ERRORS`].
    w: Vec<Vec<f64>>,
    /// Largest error so far, in tolerances.
    grown: f64,
    /// A bound on the growth that the intervals do not resolve, as a power of e.
    beyond: f64,
    /// The last growth of this kind, and its rate, which is computed once in so many intervals.
    unresolved: f64,
    rate: Option<f64>,
    every: usize,
    passed: usize,
    /// True if an interval is too long to resolve a motion that may grow.
    coarse: bool,
    /// True if the eigenvalues of an interval would take too long.
    unknown: bool,
    /// Instructions that eigenvalues may still take, in long and in short intervals.
    work: [usize; 2],
    exponent: Vec<f64>,
    term: Vec<f64>,
    next: Vec<f64>,
}

impl Linear {
    /// An error of `n` unknowns in a run of so many steps and intervals.
    fn new(n: usize, steps: u64, intervals: usize) -> Linear {
        let w = vec![0.0; n];
        let errors = ERRORS.min(n);
        let for_steps = |steps: u64, each: u64| usize::try_from(steps.saturating_mul(each)).unwrap_or(usize::MAX);
        let resolved = for_steps(steps.max(FEW_STEPS), EIGENVALUES_OF_STEP);
        let long = EIGENVALUES.0.max(for_steps(steps, EIGENVALUES_OF_LONG_RUN));
        Linear {
            next: w.clone(),
            term: w.clone(),
            w: vec![w; errors],
            grown: 1.0,
            beyond: 0.0,
            unresolved: 0.0,
            rate: None,
            every: (intervals * eigenvalue_work(n)).div_ceil(long).max(1),
            passed: 0,
            coarse: false,
            unknown: false,
            work: [long, resolved],
            exponent: vec![0.0; n * n],
        }
    }

    /// Adds the errors of further steps: each component has at least the size of a new error. Otherwise, an error that
    /// lasts in one unknown would hide those in the others, which may be the ones that grow.
    fn renew(&mut self, seed: impl Fn(usize) -> Vec<f64>) {
        for (k, error) in self.w.iter_mut().enumerate() {
            self.grown = error.iter().fold(self.grown, |most, w| most.max(w.abs()));
            let finite = error.iter().all(|w| w.is_finite());
            if finite && k >= ERRORS {
                continue;
            }
            let seed = seed(k);
            if !finite {
                error.copy_from_slice(&seed);
                continue;
            }
            for (w, seed) in error.iter_mut().zip(&seed).filter(|(w, seed)| w.abs() < seed.abs()) {
                *w = if *w == 0.0 { *seed } else { seed.abs().copysign(*w) };
            }
        }
    }

    /// Number of unknowns.
    fn n(&self) -> usize {
        self.next.len()
    }

    /// Advances the errors over an interval of this length.
    fn pass(&mut self, from: &Linearised, to: &Linearised, h: f64) {
        for (a, (x, y)) in self.exponent.iter_mut().zip(from.jacobian.iter().zip(&to.jacobian)) {
            *a = 0.5 * h * (x + y);
        }
        let rows = self.exponent.chunks_exact(self.n());
        let norm = rows.map(|row| row.iter().map(|a| a.abs()).sum()).fold(0.0, f64::max);
        if norm <= SERIES.0 && to.mass.is_none() {
            if norm > RESOLVED_ANGLE {
                self.check_interval(true);
            }
            self.series(norm);
        } else if norm.is_finite() {
            // the eigenvalues of so many unknowns would take too long
            self.coarse |= self.n() > SPARSE_UNKNOWNS;
            if self.passed.is_multiple_of(self.every) {
                self.rate = self.check_interval(false).map(|growth| growth / h).filter(|_| to.mass.is_none());
            }
            self.passed += 1;
            let known = self.rate.map(|rate| rate * h);
            self.unresolved = (self.unresolved + known.unwrap_or(0.0)).max(0.0);
            self.beyond = self.beyond.max(self.unresolved);
            self.implicit(to.mass.as_deref(), known.is_some());
        }
    }

    /// Finds whether one of these intervals is too long for a motion that does not decay; and the growth of such a
    /// motion over the interval, as a power of e.
    fn check_interval(&mut self, short: bool) -> Option<f64> {
        let n = self.n();
        let work = eigenvalue_work(n);
        let left = &mut self.work[usize::from(short)];
        if self.coarse && short || work > *left {
            self.unknown |= !short && self.passed == 0;
            return None;
        }
        *left -= work;
        let values = spectrum::eigenvalues(&DMatrix::from_row_slice(n, n, &self.exponent))?;
        let lasting = values.iter().filter(|value| value.re > -0.5 * value.norm() && value.norm() > RESOLVED_ANGLE);
        let growth = lasting.map(|value| value.re).reduce(f64::max);
        self.coarse |= growth.is_some();
        growth
    }

    /// Advances the errors with the exponential function.
    fn series(&mut self, norm: f64) {
        let parts = norm.ceil().max(1.0);
        if self.n() > SPARSE_UNKNOWNS {
            let rows = self.exponent.chunks_exact(self.n()).enumerate();
            let entries = rows.flat_map(|(i, row)| row.iter().enumerate().map(move |(j, a)| (i, j, *a)));
            let entries: Vec<(usize, usize, f64)> = entries.filter(|entry| entry.2 != 0.0).collect();
            return self.advance(parts, |term, next| {
                next.fill(0.0);
                for (i, j, a) in &entries {
                    next[*i] += a * term[*j];
                }
            });
        }
        let exponent = std::mem::take(&mut self.exponent);
        self.advance(parts, |term, next| product(&exponent, term, next));
        self.exponent = exponent;
    }

    /// Adds up the series over so many parts of the interval.
    fn advance(&mut self, parts: f64, product: impl Fn(&[f64], &mut [f64])) {
        for error in &mut self.w {
            for _ in 0..parts as usize {
                self.term.copy_from_slice(error);
                for k in 1..=SERIES.1 {
                    let over = 1.0 / (parts * k as f64);
                    product(&self.term, &mut self.next);
                    self.next.iter_mut().for_each(|v| *v *= over);
                    error.iter_mut().zip(&self.next).for_each(|(w, v)| *w += v);
                    std::mem::swap(&mut self.term, &mut self.next);
                }
            }
        }
    }

    /// Advances the errors with the trapezoidal rule, which neither damps an oscillation nor amplifies a fast decay:
    /// (M - A/2) w = (M + A/2) w. Beyond its pole, which the sign of the determinant reveals, it underestimates growth,
    /// unless the eigenvalues have made it `known`.
    fn implicit(&mut self, mass: Option<&[f64]>, known: bool) {
        let n = self.n();
        let of_mass = |k: usize| mass.map_or(f64::from(u8::from(k / n == k % n)), |mass| mass[k]);
        let advanced = |error: &Vec<f64>| {
            let mut next = vec![0.0; n];
            product(&self.exponent, error, &mut next);
            for (i, next) in next.iter_mut().enumerate() {
                let moved: f64 = (0..n).map(|j| of_mass(i * n + j) * error[j]).sum();
                *next = moved + 0.5 * *next;
            }
            next
        };
        let mut next: Vec<Vec<f64>> = self.w.iter().map(advanced).collect();
        for (k, a) in self.exponent.iter_mut().enumerate() {
            *a = of_mass(k) - 0.5 * *a;
        }
        match eliminate(&mut self.exponent, &mut next) {
            Some(true) => self.w = next,
            Some(false) if mass.is_none() && !known => self.beyond += UNRESOLVED_GROWTH,
            _ => {}
        }
    }
}

/// Instructions for the eigenvalues of a matrix with `n` rows.
fn eigenvalue_work(n: usize) -> usize {
    EIGENVALUES.1 + EIGENVALUES.2 * n.pow(3)
}

fn product(matrix: &[f64], x: &[f64], out: &mut [f64]) {
    for (row, out) in matrix.chunks_exact(x.len()).zip(out) {
        *out = row.iter().zip(x).map(|(a, x)| a * x).sum();
    }
}

/// Solves for each right-hand side by Gaussian elimination in place, and returns whether the determinant is positive. Zeros at the ends of rows
/// cost nothing, so that a band costs little.
fn eliminate(matrix: &mut [f64], sides: &mut [Vec<f64>]) -> Option<bool> {
    let n = sides.first()?.len();
    let mut positive = true;
    let end = |row: &[f64]| row.iter().rposition(|a| *a != 0.0).map_or(0, |last| last + 1);
    let mut ends: Vec<usize> = matrix.chunks_exact(n).map(end).collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|a, b| matrix[a * n + k].abs().total_cmp(&matrix[b * n + k].abs()))?;
        if pivot != k {
            positive = !positive;
            for x in sides.iter_mut() {
                x.swap(k, pivot);
            }
            (k..ends[k].max(ends[pivot])).for_each(|j| matrix.swap(k * n + j, pivot * n + j));
            ends.swap(k, pivot);
        }
        let own = matrix[k * n + k];
        if own == 0.0 || !own.is_finite() {
            return None;
        }
        positive = positive == (own > 0.0);
        let (above, below) = matrix.split_at_mut((k + 1) * n);
        let row = &above[k * n + k + 1..k * n + ends[k]];
        for (i, other) in (k + 1..n).zip(below.chunks_exact_mut(n)) {
            let part = other[k] / own;
            if part != 0.0 {
                other[k + 1..].iter_mut().zip(row).for_each(|(a, b)| *a -= part * b);
                ends[i] = ends[i].max(ends[k]);
                for x in sides.iter_mut() {
                    x[i] -= part * x[k];
                }
            }
        }
    }
    for x in sides {
        for k in (0..n).rev() {
            let known: f64 = (k + 1..ends[k]).map(|j| matrix[k * n + j] * x[j]).sum();
            x[k] = (x[k] - known) / matrix[k * n + k];
        }
    }
    Some(positive)
}
