//! States between the ends of steps: from dense output if it is accurate, corrected if it is not, otherwise from an
//! extra step.
//!
//! Stiffly accurate methods end their steps on the slow manifold, however long these are, but their polynomials do not
//! capture how fast unknowns move within a step. With u the dense output, r = M u' - f(t, u) its defect and W = M -
//! gamma h J the matrix of a Rosenbrock method (Hairer & Wanner II, section IV.7), this is one linearly implicit step
//! of a defect correction (Zadunaisky, Numer. Math. 27 (1976) 21-39):
//!
//! ```text
//! d = -gamma h W^-1 r     of a fast unknown -J^-1 r: it solves its equation at t
//! e = W^-1 M d            what of d belongs to slow unknowns: d/(1 + z), where z = -gamma h lambda
//! u + d - e               the row: fast unknowns are corrected, slow ones stay to second order
//! ```
//!
//! e is small if slow unknowns are accurate and u' is accurate enough for the fast ones: it estimates the error of the
//! row. If gamma h r itself is small, nothing is factored. If e is not small, or the correction does not converge, the
//! method makes an extra step from the start of its last step to the row. The steps of the run do not change.

use crate::control::{Tolerances, weighted_maximum, weighted_norm};
use crate::evaluator::Evaluator;
use crate::integrator::{Attempt, Integrator};
use crate::interpolant::Polynomials;
use crate::invariants::Projection;
use crate::linear::{IterationMatrix, MassMatrix, RequiredAccuracy};
use crate::method::auto::working_options;
use crate::method::{Adaptive, Family, Method, Setup};
use crate::problem::{CorrectedRows, Options, Stats};
use crate::system::{Mass, System};

/// gamma of the correction.
const GAMMA: f64 = 0.25;
/// Largest size of gamma h r, in tolerances, for dense output that needs no further check.
const CLEAR: f64 = 0.5;
/// Weight of its largest unknown beside its norm, if a row cannot be corrected.
const LARGEST: f64 = 0.5;
/// Largest size of e, in tolerances, for an accepted row.
const MAX_ROW_ERROR: f64 = 0.5;
/// Change of a row, in tolerances, at which a correction has converged; largest number of corrections; factor by which
/// each must reduce the change.
const SETTLED: f64 = 0.1;
const CORRECTIONS: u32 = 4;
const GAIN: f64 = 0.3;
/// Fraction of a tolerance that an iterative linear solver may leave.
const LINEAR: f64 = 0.01;
/// Positions in a step at which its polynomial is checked: there the defect of a cubic through its ends is largest.
const PROBES: [f64; 2] = [0.21, 0.79];
/// Distance of the points for u', as a fraction of the step: exact for polynomials of degree 4.
const SLOPE_SPACING: f64 = 0.05;
/// Fraction of a step next to its ends where the polynomial is as accurate as the ends.
const EDGE: f64 = 1e-12;
/// Largest distance of an algebraic unknown from the dense output, in tolerances, and as a multiple of its change over
/// the step. Further away lies another solution of its equation.
const MAX_MOVE: (f64, f64) = (10.0, 2.0);
/// Largest number of attempts of extra steps for one row.
const MAX_EXTRA_ATTEMPTS: u32 = 200;

/// Computes a state and its derivative at a time.
pub(crate) type Follow<'a> = dyn Fn(f64, &mut [f64], &mut [f64]) + 'a;

/// How the rows of a method are checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowCheck {
    /// No check: dense output is as accurate as the ends of its steps, unless it is doubtful ([`Integrator::doubtful`]).
    None,
    /// By the defect of slow unknowns, once per step.
    Slow,
    /// By the defect of slow unknowns once per step, and by the defect of fast unknowns at each row.
    Full,
}

fn check_for(method: &Method) -> RowCheck {
    let order = match method.adaptive {
        Adaptive::Embedded(order) => order,
        Adaptive::EmbeddedTwo(..) => method.order,
        // the extrapolated end of the step is more accurate by one order
        Adaptive::Doubling => method.order + 1,
        _ => 0,
    };
    match method.family {
        Family::Rosenbrock(_) | Family::ImplicitRungeKutta(_) | Family::ImplicitOneStep { .. } => RowCheck::Full,
        Family::RungeKutta(_) if method.dense_order < order => RowCheck::Slow,
        _ => RowCheck::None,
    }
}

/// Computes rows between steps. Its buffers are allocated on first use.
pub(crate) struct Rows {
    method: &'static Method,
    options: Options,
    tolerances: Tolerances,
    fixed: bool,
    /// Start of the step that was attempted last, if rows lie in it.
    start: Option<f64>,
    from: Vec<f64>,
    /// True if the dense output of the last step is doubtful; `None` before the check.
    doubt: Option<bool>,
    work: Option<Box<Work>>,
    /// The projection onto invariants, if the system has any.
    pub(crate) projection: Option<Projection>,
}

/// The algebraic unknowns: the empty columns of a constant M.
fn unknowns(system: &dyn System) -> Vec<usize> {
    let Mass::Constant(pattern, values) = system.mass() else { return Vec::new() };
    let mut algebraic = vec![true; system.shape().n];
    for ((_, column), _) in pattern.positions().zip(values).filter(|(_, m)| **m != 0.0) {
        algebraic[column] = false;
    }
    (0..algebraic.len()).filter(|&i| algebraic[i]).collect()
}

struct Work {
    mass: MassMatrix,
    /// The algebraic unknowns: the empty columns of a constant M.
    unknowns: Vec<usize>,
    /// W, and the time of its J while it is used in this step; `None`: not factored.
    matrix: Option<IterationMatrix>,
    factored: Option<f64>,
    /// The check of the slow unknowns in this step.
    slow: Slow,
    side: Option<(&'static str, Box<dyn Integrator>)>,
    polynomials: Option<Polynomials>,
    /// True after the first extra step within this step.
    aside: bool,
    weights: Vec<f64>,
    slope: Vec<f64>,
    defect: Vec<f64>,
    d: Vec<f64>,
    e: Vec<f64>,
    state: Vec<f64>,
    near: Vec<f64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Slow {
    Unknown,
    Fits,
    Misses,
}

impl Rows {
    pub(crate) fn new(
        system: &dyn System,
        method: &'static Method,
        options: &Options,
        tolerances: &Tolerances,
    ) -> Self {
        Rows {
            method,
            options: options.clone(),
            tolerances: tolerances.clone(),
            fixed: options.fixed,
            start: None,
            from: Vec::new(),
            doubt: None,
            work: None,
            projection: Projection::of(system),
        }
    }

    /// Prepares for another run on the same system with other parameters.
    pub(crate) fn renew(&mut self, system: &dyn System) {
        self.start = None;
        let Some(work) = &mut self.work else { return };
        work.mass = MassMatrix::of(system.mass());
        if work.matrix.as_mut().is_some_and(|matrix| !matrix.renew()) {
            work.matrix = None;
        }
        if work.side.as_mut().is_some_and(|(_, side)| !side.renew(system)) {
            work.side = None;
        }
    }

    /// Called before an attempt; `inside` is true if rows may lie in the step.
    pub(crate) fn before(&mut self, integrator: &dyn Integrator, inside: bool) {
        (self.start, self.doubt) = (None, None);
        if self.fixed || !inside {
            return;
        }
        self.rewind();
        if check_for(integrator.next_method(self.method)) == RowCheck::None {
            return;
        }
        self.start = Some(integrator.time());
        self.from.clear();
        self.from.extend_from_slice(integrator.state());
    }

    /// Called after a step that began at this time and state, if [`Rows::before`] was not called before it.
    pub(crate) fn after(&mut self, integrator: &dyn Integrator, start: f64, from: &[f64]) {
        (self.start, self.doubt) = (None, None);
        self.rewind();
        if self.fixed || check_for(integrator.last_method(self.method)) == RowCheck::None {
            return;
        }
        self.start = Some(start);
        self.from.clear();
        self.from.extend_from_slice(from);
    }

    /// The start of the last step if its dense output may need correction; its state is then in `from`.
    fn corrected_from(&mut self, integrator: &dyn Integrator) -> Option<f64> {
        if self.start.is_some() || self.fixed || self.doubt == Some(false) {
            return self.start;
        }
        let doubtful = integrator.doubtful();
        self.doubt = Some(doubtful.is_some());
        let (start, from) = doubtful?;
        self.from.clear();
        self.from.extend_from_slice(from);
        self.start = Some(start);
        self.start
    }

    /// True if a value may differ from the dense output.
    pub(crate) fn may_correct(&self, integrator: &dyn Integrator) -> bool {
        // an integrator that chooses its method may use methods of every kind
        let chooses = integrator.method_history().is_some();
        !self.fixed && (chooses || check_for(self.method) != RowCheck::None)
    }

    /// The state at `t` inside the last accepted step.
    pub(crate) fn value(&mut self, eval: &mut Evaluator<'_>, integrator: &dyn Integrator, t: f64, y: &mut [f64]) {
        self.unprojected(eval, integrator, t, y);
        if let Some(projection) = &mut self.projection {
            // a state that cannot be projected stays unchanged
            if let Ok(Some(nearest)) = projection.nearest(eval.system(), t, y) {
                y.copy_from_slice(nearest);
            }
        }
    }

    fn unprojected(&mut self, eval: &mut Evaluator<'_>, integrator: &dyn Integrator, t: f64, y: &mut [f64]) {
        integrator.interpolate(t, y);
        let Some(start) = self.corrected_from(integrator) else { return };
        let h = integrator.time() - start;
        if (t - start).abs().min((integrator.time() - t).abs()) <= EDGE * h.abs() {
            return;
        }
        let made = integrator.last_method(self.method);
        let counted = eval.stats;
        let chosen = made.name != self.method.name;
        let Rows { options, tolerances, from, work, .. } = self;
        let work = work.get_or_insert_with(|| Box::new(Work::new(eval.system())));
        let step = Inside { made, chosen, tolerances, options, start, h, from, integrator };
        let had = work.value(&step, eval, t, y);
        let spent = std::mem::replace(&mut eval.stats, counted);
        note(&mut eval.stats.between, had, &spent, &counted);
    }
}

impl Rows {
    /// The deviation of the dense output from a solution in the last accepted step: the larger norm of gamma h r at
    /// [`PROBES`], in tolerances; zero if it needs no correction. Infinite if it cannot estimate the error of an unknown.
    pub(crate) fn defect(&mut self, eval: &mut Evaluator<'_>, integrator: &dyn Integrator) -> f64 {
        self.defect_of(eval, integrator, None)
    }

    /// Like [`Rows::defect`]. `follow` computes the dense output and its derivative, if the caller has its polynomials.
    pub(crate) fn defect_of(
        &mut self,
        eval: &mut Evaluator<'_>,
        integrator: &dyn Integrator,
        follow: Option<&Follow<'_>>,
    ) -> f64 {
        let Some(start) = self.corrected_from(integrator) else { return 0.0 };
        let made = integrator.last_method(self.method);
        let (counted, chosen) = (eval.stats, made.name != self.method.name);
        let Rows { options, tolerances, from, work, .. } = self;
        let work = work.get_or_insert_with(|| Box::new(Work::new(eval.system())));
        let step = Inside { made, chosen, tolerances, options, start, h: integrator.time() - start, from, integrator };
        let sizes = PROBES.map(|s| {
            let t = step.start + s * step.h;
            if let Some(follow) = follow {
                follow(t, &mut work.state, &mut work.slope);
            } else {
                integrator.interpolate(t, &mut work.state);
                work.differentiate(&step, t);
            }
            match work.measure(&step, eval, t) {
                Some(size) if size <= work.clear() => 0.0,
                Some(size) if size.is_finite() && work.mass.is_identity() => size,
                _ => f64::INFINITY,
            }
        });
        let spent = std::mem::replace(&mut eval.stats, counted);
        note(&mut eval.stats.between, RowSource::Interpolated, &spent, &counted);
        sizes[0].max(sizes[1])
    }

    /// Discards the results of the last step: the next one is treated as the first.
    pub(crate) fn rewind(&mut self) {
        if let Some(work) = &mut self.work {
            (work.factored, work.slow, work.aside) = (None, Slow::Unknown, false);
        }
    }

    /// True if corrections may be large: for fast unknowns of a stiff system, which the polynomial does not capture.
    pub(crate) fn may_leave(&self, integrator: &dyn Integrator) -> bool {
        !self.fixed && check_for(integrator.last_method(self.method)) == RowCheck::Full
    }
}

/// Origin of a row.
#[derive(Clone, Copy)]
enum RowSource {
    Interpolated,
    Corrected,
    Landed,
}

fn note(between: &mut CorrectedRows, had: RowSource, spent: &Stats, before: &Stats) {
    match had {
        RowSource::Interpolated => {}
        RowSource::Corrected => between.corrected += 1,
        RowSource::Landed => between.landed += 1,
    }
    between.rhs += spent.rhs - before.rhs;
    between.jacobians += spent.jacobians - before.jacobians;
    between.factorisations += spent.factorisations - before.factorisations;
    between.solves += spent.solves - before.solves;
}

/// The step that rows lie in.
struct Inside<'a> {
    made: &'static Method,
    /// By `auto`, which has it work to a part of the tolerance.
    chosen: bool,
    tolerances: &'a Tolerances,
    options: &'a Options,
    start: f64,
    h: f64,
    from: &'a [f64],
    integrator: &'a dyn Integrator,
}

impl Work {
    fn new(system: &dyn System) -> Self {
        let zero = || vec![0.0; system.shape().n];
        Work {
            mass: MassMatrix::of(system.mass()),
            unknowns: unknowns(system),
            matrix: None,
            factored: None,
            slow: Slow::Unknown,
            side: None,
            polynomials: None,
            aside: false,
            weights: zero(),
            slope: zero(),
            defect: zero(),
            d: zero(),
            e: zero(),
            state: zero(),
            near: zero(),
        }
    }

    /// Corrects `y`, the dense output at `t`, if necessary.
    fn value(&mut self, step: &Inside<'_>, eval: &mut Evaluator<'_>, t: f64, y: &mut [f64]) -> RowSource {
        let full = check_for(step.made) == RowCheck::Full;
        if self.slow == Slow::Unknown {
            self.slow = if self.fits(step, eval, full) { Slow::Fits } else { Slow::Misses };
        }
        if self.slow == Slow::Fits {
            if !full {
                return RowSource::Interpolated;
            }
            self.state.copy_from_slice(y);
            if let Some(made) = self.correct(step, eval, t).filter(|_| !self.strays(step, y)) {
                y.copy_from_slice(&self.state);
                return made;
            }
        }
        if self.land(step, eval, t) && !self.strays(step, y) {
            y.copy_from_slice(&self.state);
            return RowSource::Landed;
        }
        RowSource::Interpolated
    }

    /// True if an algebraic unknown of `state` may be on another solution of its equation: it is far from the dense
    /// output, and not between its values at the ends of the step. A polynomial can leave the values between which the
    /// solution stays: the current of a diode that does not conduct is nearly constant over long steps.
    fn strays(&self, step: &Inside<'_>, dense: &[f64]) -> bool {
        let end = step.integrator.state();
        self.unknowns.iter().any(|&i| {
            let (low, high) = (end[i].min(step.from[i]), end[i].max(step.from[i]));
            let near = MAX_MOVE.0 * step.tolerances.scale(i, low.abs().max(high.abs()));
            let most = near.max(MAX_MOVE.1 * (high - low));
            let between = (low - near..=high + near).contains(&self.state[i]);
            !between && (self.state[i] - dense[i]).abs() > most
        })
    }

    /// True if the slow unknowns follow the polynomial of the step.
    fn fits(&mut self, step: &Inside<'_>, eval: &mut Evaluator<'_>, full: bool) -> bool {
        // of a doubtful step, whose polynomial may have a high degree
        let exact = check_for(step.made) == RowCheck::None && {
            let polynomials = self.polynomials.get_or_insert_with(|| Polynomials::of(step.integrator));
            polynomials.take(step.integrator)
        };
        PROBES.iter().all(|s| {
            let t = step.start + s * step.h;
            step.integrator.interpolate(t, &mut self.state);
            if !(exact && self.polynomials.as_ref().is_some_and(|p| p.derivative(t, &mut self.slope))) {
                self.differentiate(step, t);
            }
            match self.measure(step, eval, t) {
                Some(size) if size <= self.clear() => true,
                Some(size) if full && size.is_finite() => {
                    self.ready(step, eval, t) && self.solve(step, eval).is_some_and(|e| e <= MAX_ROW_ERROR)
                }
                _ => false,
            }
        })
    }

    /// Corrects `state`, the dense output at `t`; `None` if the correction does not converge.
    fn correct(&mut self, step: &Inside<'_>, eval: &mut Evaluator<'_>, t: f64) -> Option<RowSource> {
        self.differentiate(step, t);
        if self.measure(step, eval, t)? <= self.clear() {
            return Some(RowSource::Interpolated);
        }
        if !self.ready(step, eval, t) {
            return None;
        }
        let mut anew = self.factored == Some(t);
        let mut before = f64::INFINITY;
        let mut moved = false;
        for _ in 0..CORRECTIONS {
            if self.solve(step, eval)? > MAX_ROW_ERROR {
                return None;
            }
            for ((y, d), e) in self.state.iter_mut().zip(&mut self.d).zip(&self.e) {
                *d -= e;
                *y += *d;
            }
            let size = weighted_norm(&self.d, &self.weights);
            moved |= size > SETTLED;
            if size <= SETTLED {
                return Some(if moved { RowSource::Corrected } else { RowSource::Interpolated });
            }
            if !(size < GAIN * before) {
                if anew || !size.is_finite() {
                    return None;
                }
                anew = true;
                self.factored = None;
            }
            before = size;
            self.measure(step, eval, t)?;
            if !self.ready(step, eval, t) {
                return None;
            }
        }
        None
    }

    /// The largest size of gamma h r that needs no further check. With a mass matrix it is zero: the defect of an
    /// algebraic equation is not measured in the units of its unknown.
    fn clear(&self) -> f64 {
        if self.mass.is_identity() { CLEAR } else { 0.0 }
    }

    /// Computes u' at `t` from four values around it.
    fn differentiate(&mut self, step: &Inside<'_>, t: f64) {
        let spacing = SLOPE_SPACING * step.h;
        self.slope.fill(0.0);
        for (k, weight) in [(-2.0, 1.0), (-1.0, -8.0), (1.0, 8.0), (2.0, -1.0)] {
            step.integrator.interpolate(t + k * spacing, &mut self.near);
            let weight = weight / (12.0 * spacing);
            self.slope.iter_mut().zip(&self.near).for_each(|(slope, y)| *slope += weight * y);
        }
    }

    /// The defect of `state` at `t`, and the size of gamma h r in tolerances: the norm, or, if there is no correction, a
    /// part of the largest if that is more, because few of many unknowns may leave the polynomial. `None` if f cannot be
    /// evaluated.
    fn measure(&mut self, step: &Inside<'_>, eval: &mut Evaluator<'_>, t: f64) -> Option<f64> {
        eval.rhs(t, &self.state, &mut self.defect).ok()?;
        self.mass.update(eval, t, &self.state).ok()?;
        self.defect.iter_mut().for_each(|f| *f = -*f);
        self.mass.multiply_add(1.0, &self.slope, &mut self.defect);
        step.tolerances.weights(&self.state, &mut self.weights);
        let size = match check_for(step.made) {
            RowCheck::Full => weighted_norm(&self.defect, &self.weights),
            _ => {
                let largest = LARGEST * weighted_maximum(&self.defect, &self.weights);
                weighted_norm(&self.defect, &self.weights).max(largest)
            }
        };
        Some(GAMMA * step.h.abs() * size)
    }

    /// Factors W with J at `state`, unless this step has done so; false if that is impossible.
    fn ready(&mut self, step: &Inside<'_>, eval: &mut Evaluator<'_>, t: f64) -> bool {
        if self.factored.is_some() {
            return true;
        }
        if self.matrix.is_none() {
            self.matrix = IterationMatrix::new(eval.system(), step.options).ok();
        }
        let Some(matrix) = &mut self.matrix else { return false };
        let made = matrix
            .evaluate_moving(eval, t, &self.state, &self.slope)
            .and_then(|()| matrix.factor(eval, 1.0 / (GAMMA * step.h)));
        self.factored = made.is_ok().then_some(t);
        made.is_ok()
    }

    /// Computes d and e from the defect; returns the size of e in tolerances.
    fn solve(&mut self, step: &Inside<'_>, eval: &mut Evaluator<'_>) -> Option<f64> {
        let matrix = self.matrix.as_mut()?;
        let goal = RequiredAccuracy { weights: &self.weights, tolerance: LINEAR };
        self.d.iter_mut().zip(&self.defect).for_each(|(d, r)| *d = -r);
        if !matrix.solve_within(eval, &mut self.d, goal) {
            return None;
        }
        self.e.fill(0.0);
        self.mass.multiply_add(1.0 / (GAMMA * step.h), &self.d, &mut self.e);
        matrix.solve_within(eval, &mut self.e, goal).then(|| weighted_norm(&self.e, &self.weights))
    }

    /// Steps aside of the run to `t`, and stores the state there in `state`; false where they do not get there.
    fn land(&mut self, step: &Inside<'_>, eval: &mut Evaluator<'_>, t: f64) -> bool {
        if self.side.as_ref().is_none_or(|(name, _)| *name != step.made.name) {
            let options = if step.chosen { &working_options(step.options, step.made) } else { step.options };
            let setup = Setup { system: eval.system(), method: step.made, options };
            self.side = (step.made.build)(&setup).ok().map(|side| (step.made.name, side));
            self.aside = false;
        }
        let Some((_, side)) = &mut self.side else { return false };
        // rows ascend in the direction of the run; times for other purposes may not
        if !self.aside || (t - side.time()) * step.h < 0.0 {
            if side.set(eval, step.start, step.from).is_err() {
                return false;
            }
            self.aside = true;
        }
        let mut next = t - side.time();
        for _ in 0..MAX_EXTRA_ATTEMPTS {
            let left = t - side.time();
            if left == 0.0 {
                self.state.copy_from_slice(side.state());
                return true;
            }
            let (h, end) = if next.abs() >= left.abs() { (left, t) } else { (next, side.time() + next) };
            if end == side.time() {
                break;
            }
            side.sample_ahead(false);
            match side.attempt(eval, h, end) {
                Attempt::Accepted { next: proposed } => next = proposed,
                Attempt::Rejected { next: proposed, .. } | Attempt::Failed { next: proposed, .. } => next = proposed,
            }
        }
        // the remaining steps of this integrator are of no use for other rows
        self.aside = false;
        false
    }
}
