//! A run that its caller drives step by step: begin, advance, interpolate in the last step, go back to its start,
//! change the state, continue.

mod changed;
mod ended;
mod peaks;
mod progress;
mod rounding;
mod transitions;
mod unknowns_check;

use self::progress::Progress;
use self::rounding::Rounding;
use self::transitions::Transitions;
use self::unknowns_check::UnknownsCheck;
use crate::checks::{bad, fits, measurable, validate};
use crate::control::{FirstStepMemory, Tolerances, first_step};
use crate::evaluator::{Evaluator, Paused, all_finite};
use crate::integrator::{Attempt, Integrator};
use crate::interpolant::{Interpolant, Polynomials};
use crate::invariants::careful;
use crate::method::{Method, Setup};
use crate::observer::StepEnd;
use crate::pace::Pace;
use crate::problem::{Cause, Options, Problem, Refusal, SolveError, Stats};
use crate::rows::Rows;
use crate::system::System;

/// How far [`Runner::advance`] has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The end of an accepted step.
    Step,
    /// The requested stop, exactly.
    Stop,
    /// The end of the problem.
    End,
}

/// Constraints on the next step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepRequest {
    /// A time that no step may pass: the step that reaches it ends there exactly. f is not evaluated beyond it,
    /// except by `yoshida4`, whose substeps go beyond the end of a step and back. The caller must merge stops that
    /// are only a few units of rounding apart: no method gets a slope from so short a step.
    pub stop: Option<f64>,
    /// The next time at which a state is needed. It changes no step; if that time lies inside, a method whose dense
    /// output costs evaluations of f makes them with the step.
    pub sample: Option<f64>,
}

/// A method prepared once for many runs on one system, each with other initial values, time spans and parameters. Every
/// run has the bits of [`crate::solve()`], but shares buffers, orders of elimination and code.
///
/// A run is [`Runner::run`], or step by step [`Runner::begin`] and [`Runner::advance`]. Between two steps the caller may read the state and
/// the interpolant, take the last step back, change the state, and change the parameters of the system.
///
/// ```
/// use odec_ode::system::{EvalError, Jacobian, Shape, System};
/// # use odec_ode::runner::{Reached, StepRequest};
/// # use odec_ode::{Options, Problem, Runner, method};
/// # struct Fall;
/// # impl System for Fall {
/// #     fn shape(&self) -> Shape { Shape { n: 2, second: 1 } }
/// #     fn rhs(&self, _: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
/// #         f.copy_from_slice(&[y[1], -9.81]);
/// #         Ok(())
/// #     }
/// # }
/// // A ball that falls from a height of 1; at t = 0.2 it is thrown up.
/// let problem = Problem { t0: 0.0, t_end: 0.5, y0: vec![1.0, 0.0] };
/// let mut runner = Runner::new(&Fall, method::find("tsit5")?, &Options::default())?;
/// runner.begin(&Fall, &problem).unwrap();
/// let request = StepRequest { stop: Some(0.2), sample: None };
/// while runner.advance(&Fall, request).unwrap() != Reached::Stop {}
/// let height = runner.state()[0];
/// runner.resume(&Fall, &[height, 3.0]).unwrap();
/// while runner.advance(&Fall, StepRequest::default()).unwrap() != Reached::End {}
/// let exact = height + 3.0 * 0.3 - 0.5 * 9.81 * 0.3 * 0.3;
/// assert!((runner.state()[0] - exact).abs() < 1e-8);
/// # Ok::<(), odec_ode::Refusal>(())
/// ```
pub struct Runner {
    pub(crate) method: &'static Method,
    options: Options,
    tolerances: Tolerances,
    pub(crate) integrator: Box<dyn Integrator>,
    /// True until a run has changed the integrator.
    untouched: bool,
    /// True if [`Runner::retreat`] is permitted.
    retreats: bool,
    /// True if [`Runner::value`] is permitted at any time.
    watched: bool,
    first_step_memory: FirstStepMemory,
    /// Computes rows between steps.
    pub(crate) between: Rows,
    pub(crate) row: Vec<f64>,
    run: Progress,
    paused: Paused,
    rounding: Rounding,
    unknowns_check: UnknownsCheck,
    transitions: Transitions,
    /// Buffers for the interpolant, after its first use.
    polynomials: Option<Polynomials>,
}

/// Refuses a system of another size than that of the runner.
fn fits_runner(system: &dyn System, n: usize) -> Result<(), Refusal> {
    match system.shape().n {
        now if now == n => Ok(()),
        now => Err(bad(format!("{now} unknowns instead of {n}"))),
    }
}

impl Runner {
    /// Creates a runner for runs with these options.
    ///
    /// # Errors
    /// A system, method or options that no run can start with.
    pub fn new(system: &dyn System, method: &'static Method, options: &Options) -> Result<Self, Refusal> {
        fits(system, options)?;
        Self::build(system, method, options, Tolerances::new(options, system.shape().n))
    }

    pub(crate) fn build(
        system: &dyn System,
        method: &'static Method,
        options: &Options,
        tolerances: Tolerances,
    ) -> Result<Self, Refusal> {
        let n = system.shape().n;
        let options = careful(system, method, options);
        let tolerances = if system.invariants().is_some() { Tolerances::new(&options, n) } else { tolerances };
        let rounding = Rounding::new(system, &options);
        let mut integrator = (method.build)(&Setup { system, method, options: &options })?;
        let transitions = Transitions::new(system, &options);
        if rounding.has_unknowns() || transitions.may_occur() {
            integrator.allow_retreat();
        }
        Ok(Runner {
            method,
            integrator,
            rounding,
            unknowns_check: UnknownsCheck::default(),
            transitions,
            between: Rows::new(system, method, &options, &tolerances),
            options,
            tolerances,
            untouched: true,
            retreats: false,
            watched: false,
            first_step_memory: FirstStepMemory::new(n),
            row: vec![0.0; n],
            run: Progress::default(),
            paused: Paused::default(),
            polynomials: None,
        })
    }

    /// Checks the problem, and restores the integrator to its state after construction.
    pub(crate) fn ready(&mut self, system: &dyn System, problem: &Problem) -> Result<(), Refusal> {
        fits_runner(system, self.row.len())?;
        validate(problem, self.row.len(), &self.options)?;
        self.renew(system, problem)
    }

    /// Checks the scale of the errors, and restores the integrator to its state after construction.
    fn renew(&mut self, system: &dyn System, problem: &Problem) -> Result<(), Refusal> {
        if !self.options.fixed || self.method.structure.jacobian {
            measurable(problem, &self.tolerances)?;
        }
        if !self.untouched {
            self.between.renew(system);
        }
        if !self.untouched && !self.integrator.renew(system) {
            self.integrator = (self.method.build)(&Setup { system, method: self.method, options: &self.options })?;
            self.polynomials = None;
            if self.retreats || self.rounding.has_unknowns() || self.transitions.may_occur() {
                self.integrator.allow_retreat();
            }
        }
        Ok(())
    }

    /// Permits [`Runner::retreat`]: from the next step on, methods keep a copy of the history that they overwrite.
    pub fn allow_retreat(&mut self) {
        self.retreats = true;
        self.integrator.allow_retreat();
    }

    /// Permits [`Runner::value`] and [`Runner::defect`] at any time. It changes no step if df/dy is finite.
    pub fn watch(&mut self) {
        self.paused.secants = true;
        self.watched = self.between.may_correct(self.integrator.as_ref());
    }

    /// Sets the first step of the following runs and the longest one, as [`Options`] do; `None` leaves it to the method.
    pub fn set_steps(&mut self, first: Option<f64>, longest: Option<f64>) {
        (self.options.step, self.options.max_step) = (first, longest);
    }

    /// Begins a run. The system is the one of [`Runner::new`], with the same patterns; its parameters may differ. A
    /// run without an end has an infinite `t_end`; the caller makes as many steps as it wants.
    ///
    /// # Errors
    /// An invalid problem, or a failure of f at the start.
    pub fn begin(&mut self, system: &dyn System, problem: &Problem) -> Result<(), SolveError> {
        if problem.t_end.is_infinite() {
            let start = Problem { t_end: problem.t0, ..problem.clone() };
            fits_runner(system, self.row.len())?;
            validate(&start, self.row.len(), &self.options)?;
            self.renew(system, problem)?;
        } else {
            self.ready(system, problem)?;
        }
        let memory = std::mem::take(&mut self.paused);
        let mut eval = Evaluator::resume(system, memory.anew());
        let begun = self.put(&mut eval, problem);
        self.leave(eval, begun)
    }

    /// Sets the initial state.
    pub(crate) fn put(&mut self, eval: &mut Evaluator<'_>, problem: &Problem) -> Result<(), Cause> {
        self.untouched = false;
        eval.begin(problem.t_end - problem.t0);
        self.run = Progress::of(problem);
        self.unknowns_check.begin();
        self.transitions.begin(eval);
        self.run.find_rapid_changes(eval, (problem.t0, &problem.y0), &self.options);
        self.integrator.set_end_time(problem.t_end);
        self.find_noise(eval, problem.t0, &problem.y0);
        self.rounding.begin(self.integrator.as_mut(), &problem.y0);
        self.integrator.set(eval, problem.t0, &problem.y0)
    }

    /// Makes one accepted step, after the rejected ones before it. Does nothing at the end of the problem or at the
    /// stop.
    ///
    /// # Errors
    /// A stop in the past; a failure of the run, which then keeps the state before the call.
    pub fn advance(&mut self, system: &dyn System, request: StepRequest) -> Result<Reached, SolveError> {
        let t = self.time();
        if let Some(stop) = request.stop
            && !((stop >= t) == (self.run.t_end >= self.run.t0) || stop == t)
        {
            return Err(bad(format!("the stop at {stop:?} lies before the current time, {t:?}")).into());
        }
        let mut eval = Evaluator::resume(system, std::mem::take(&mut self.paused));
        let reached = self.step(&mut eval, request);
        self.leave(eval, reached)
    }

    /// The evaluator of [`Runner::step`], for a sequence of steps; return it with [`Runner::keep`].
    pub(crate) fn evaluator<'a>(&mut self, system: &'a dyn System) -> Evaluator<'a> {
        Evaluator::resume(system, std::mem::take(&mut self.paused))
    }

    /// Computes states in the steps of this run with its own memory: the rows of the run keep their bits.
    pub(crate) fn further_rows(&self, system: &dyn System) -> Rows {
        Rows::new(system, self.method, &self.options, &self.tolerances)
    }

    /// Takes back the counts and faults of the evaluator.
    pub(crate) fn keep(&mut self, eval: Evaluator<'_>) {
        self.paused = eval.pause();
    }

    /// Takes back the counts and faults of the evaluator, and makes a failure from a cause.
    pub(crate) fn leave<T>(&mut self, eval: Evaluator<'_>, result: Result<T, Cause>) -> Result<T, SolveError> {
        let result = result.map_err(|cause| self.failure(&eval, cause));
        self.paused = eval.pause();
        result
    }

    pub(crate) fn step(&mut self, eval: &mut Evaluator<'_>, request: StepRequest) -> Result<Reached, Cause> {
        let forward = self.run.t_end >= self.run.t0;
        let t = self.integrator.time();
        if t == self.run.t_end {
            return Ok(Reached::End);
        }
        if request.stop == Some(t) {
            return Ok(Reached::Stop);
        }
        let stop = request.stop.filter(|stop| *stop != self.run.t_end && (*stop < self.run.t_end) == forward);
        let mut pace = match self.run.pace {
            Some(pace) => pace,
            None => self.first_pace(eval, stop.or(request.sample))?,
        };
        loop {
            let (h, t_new) = self.run.step(&mut pace, t, stop);
            self.run.tried = h;
            if pace.collapsed(t) {
                return Err(self.run.collapsed(t));
            }
            if self.run.attempts == self.options.max_steps {
                return Err(Cause::TooManySteps { budget: self.options.max_steps });
            }
            self.run.attempts += 1;
            let inside = request.sample.is_some_and(|sample| sample != t_new && (sample < t_new) == forward);
            if self.rounding.has_unknowns() {
                self.unknowns_check.attempt(t, self.integrator.state());
            }
            if self.transitions.may_occur() {
                self.transitions.attempt(eval, t, self.integrator.state());
            }
            self.integrator.sample_ahead(inside);
            self.between.before(self.integrator.as_ref(), inside || self.watched);
            match self.integrator.attempt(eval, h, t_new) {
                Attempt::Accepted { next } => {
                    if (self.transitions.may_occur() || self.rounding.has_unknowns())
                        && let Some(shorter) = self.check_accepted(eval, h)?
                    {
                        eval.stats.rejected += 1;
                        pace.retry(shorter);
                        self.run.pace = Some(pace);
                        continue;
                    }
                    eval.stats.accepted += 1;
                    self.project(eval)?;
                    self.run.check_pole(eval, (t_new, self.integrator.state()), &self.options)?;
                    self.run.cause = None;
                    self.run.pace_before = Some(pace);
                    pace.accepted(h, t_new, next);
                    self.run.pace = Some(pace);
                    return Ok(match t_new {
                        _ if t_new == self.run.t_end => Reached::End,
                        _ if Some(t_new) == stop => Reached::Stop,
                        _ => Reached::Step,
                    });
                }
                Attempt::Rejected { next, error, row } => {
                    eval.stats.rejected += 1;
                    self.run.rejected(eval, (row, error), (self.integrator.state(), &self.tolerances))?;
                    pace.retry(self.solve_unknowns(eval, h)?.unwrap_or(next));
                }
                Attempt::Failed { cause, next } => {
                    eval.stats.failed += 1;
                    self.run.failed(eval, t, cause, pace.is_fixed())?;
                    pace.retry(self.solve_unknowns(eval, h)?.unwrap_or(next));
                }
            }
            self.run.pace = Some(pace);
        }
    }

    /// Projects the state onto the invariants.
    fn project(&mut self, eval: &mut Evaluator<'_>) -> Result<(), Cause> {
        let Some(projection) = &mut self.between.projection else { return Ok(()) };
        let (t, y) = (self.integrator.time(), self.integrator.state());
        match projection.nearest(eval.system(), t, y)? {
            Some(nearest) => self.integrator.shift(eval, nearest),
            None => Ok(()),
        }
    }

    /// The pace of the first step. The first step is guessed relative to the span; for a run without an end, relative
    /// to the distance to the next requested time.
    fn first_pace(&mut self, eval: &mut Evaluator<'_>, wanted: Option<f64>) -> Result<Pace, Cause> {
        let Progress { t0, t_end, .. } = self.run;
        if let (true, Some(step)) = (self.options.fixed, self.options.step) {
            return Ok(Pace::fixed_steps(t0, t_end, step));
        }
        let first = if let Some(step) = self.options.step {
            step
        } else {
            let (integrator, first_step_memory) = (&self.integrator, &mut self.first_step_memory);
            let t = integrator.time();
            let unit = || t + f64::copysign(1.0, t_end);
            let end = if t_end.is_finite() { t_end } else { wanted.unwrap_or_else(unit) };
            let (span, order) = ((t, end), integrator.order());
            first_step(eval, &self.tolerances, span, integrator.state(), order, first_step_memory)?
        };
        let max = self.options.max_step.unwrap_or(f64::INFINITY);
        Ok(Pace::adaptive(t0, t_end, first, max, eval.autonomous()))
    }

    /// Current time.
    pub fn time(&self) -> f64 {
        self.integrator.time()
    }

    /// Current state, n values.
    pub fn state(&self) -> &[f64] {
        self.integrator.state()
    }

    /// Counts of the run so far. A step that was undone counts as rejected.
    pub fn stats(&self) -> &Stats {
        &self.paused.stats
    }

    /// The interpolant over the last accepted step, even if no sample was announced there; `None` before the first
    /// step, after a change of the state, and for a method without continuous output. The first call allocates
    /// memory.
    ///
    /// # Errors
    /// A failure of f at a stage that only the interpolant needs.
    pub fn interpolant(&mut self, system: &dyn System) -> Result<Option<Interpolant<'_>>, SolveError> {
        let mut eval = Evaluator::resume(system, std::mem::take(&mut self.paused));
        let complete = self.integrator.complete(&mut eval);
        self.leave(eval, complete)?;
        let integrator = &*self.integrator;
        let polynomials = self.polynomials.get_or_insert_with(|| Polynomials::of(integrator));
        Ok(polynomials.take(integrator).then_some(Interpolant { integrator, polynomials }))
    }

    /// The state at a time of the last accepted step, bitwise equal to a row, n values: at the end of the step the
    /// state itself, before it the interpolant, corrected if it is inaccurate. A time inside the step, or an earlier
    /// one in the same step, must have been announced by [`StepRequest::sample`] or [`Runner::watch`].
    pub fn value(&mut self, system: &dyn System, t: f64, y: &mut [f64]) {
        if t == self.time() {
            y.copy_from_slice(self.state());
            return;
        }
        let mut eval = Evaluator::resume(system, std::mem::take(&mut self.paused));
        self.between.value(&mut eval, self.integrator.as_ref(), t, y);
        self.paused = eval.pause();
    }

    /// Like [`Runner::value`], between [`Runner::evaluator`] and [`Runner::keep`].
    pub(crate) fn value_by(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &mut [f64]) {
        self.between.value(eval, self.integrator.as_ref(), t, y);
    }

    /// The end of the last accepted step, as in [`crate::Sink::step_end`].
    pub fn step_end(&mut self) -> StepEnd<'_> {
        StepEnd::new(self.integrator.as_mut(), self.method)
    }

    /// The largest difference between the interpolant over the last accepted step and [`Runner::value`], in
    /// tolerances: 0 if there are no corrections, infinite if it is unknown. Requires [`Runner::watch`] and
    /// [`Runner::interpolant`].
    pub fn defect(&mut self, system: &dyn System) -> f64 {
        let mut eval = Evaluator::resume(system, std::mem::take(&mut self.paused));
        let defect = self.between.defect(&mut eval, self.integrator.as_ref());
        self.paused = eval.pause();
        defect
    }

    /// Treats the next [`Runner::value`] as the first in its step: the bits of a value depend on earlier values of
    /// the step, whose times ascend.
    pub fn rewind(&mut self) {
        self.between.rewind();
    }

    /// True if a state in the last accepted step may be far from its interpolant: for fast unknowns of a stiff
    /// system.
    pub fn may_leave(&self) -> bool {
        self.between.may_leave(self.integrator.as_ref())
    }

    /// y' at both ends of the last accepted step, n values each, if the method has computed them.
    pub fn slopes(&self) -> Option<[&[f64]; 2]> {
        self.integrator.slopes()
    }

    /// See [`Integrator::stays_within`].
    pub(crate) fn stays_within(&self, low: &[f64], high: &[f64]) -> bool {
        self.integrator.stays_within(low, high)
    }

    /// True if [`Runner::start`] is available after every step.
    pub(crate) fn has_start(&self) -> bool {
        self.integrator.keeps_start()
    }

    /// The state at the start of the last accepted step, n values, if the method still has it.
    pub(crate) fn start(&self) -> Option<&[f64]> {
        self.integrator.start()
    }

    /// Returns to the start of the last accepted step; see [`Integrator::retreat`]. Returns false and changes nothing if
    /// there is no such step, or if the method needs [`Runner::allow_retreat`].
    pub fn retreat(&mut self) -> bool {
        if !self.integrator.retreat() {
            return false;
        }
        self.transitions.forget();
        self.run.pace = self.run.pace_before.take().or(self.run.pace);
        self.paused.stats.accepted -= 1;
        self.paused.stats.rejected += 1;
        true
    }

    /// Adds the counts of another runner with which the run began.
    pub(crate) fn count_from(&mut self, before: &Runner) {
        self.paused.stats.add(&before.paused.stats);
        self.run.attempts += before.run.attempts;
    }

    /// Continues from another state at the current time. Discards the history, and begins with a shorter step.
    ///
    /// # Errors
    /// A state of another length or that is not finite; a failure of f at the state.
    pub fn resume(&mut self, system: &dyn System, y: &[f64]) -> Result<(), SolveError> {
        self.resume_at(system, self.time(), y)
    }

    /// Continues at the current time, where derivatives of f jump: discards the history, and keeps the step size.
    ///
    /// # Errors
    /// A failure of f at the state.
    pub fn kink(&mut self, system: &dyn System) -> Result<(), SolveError> {
        self.row.copy_from_slice(self.integrator.state());
        self.continue_from_row(system)
    }

    /// Like [`Runner::kink`], from a state that differs from the current one only by errors of the method.
    pub(crate) fn put_back(&mut self, system: &dyn System, y: &[f64]) -> Result<(), SolveError> {
        self.row.copy_from_slice(y);
        self.continue_from_row(system)
    }

    fn continue_from_row(&mut self, system: &dyn System) -> Result<(), SolveError> {
        let mut eval = Evaluator::resume(system, std::mem::take(&mut self.paused));
        let (t, y) = (self.integrator.time(), std::mem::take(&mut self.row));
        self.begin_again(&eval, t, &y);
        let resumed = self.integrator.resume(&mut eval, t, &y);
        self.row = y;
        if let Some(pace) = &mut self.run.pace {
            pace.kink();
        }
        (self.run.cause, self.run.last_fault, self.run.pace_before) = (None, None, None);
        self.leave(eval, resumed)
    }

    /// Like [`Runner::resume`], at a time inside the last accepted step: the rest of this step is discarded.
    ///
    /// # Errors
    /// The errors of [`Runner::resume`].
    pub fn resume_at(&mut self, system: &dyn System, t: f64, y: &[f64]) -> Result<(), SolveError> {
        if y.len() != self.row.len() || !all_finite(y) {
            return Err(bad(format!("the state needs {} finite values", self.row.len())).into());
        }
        let mut eval = Evaluator::resume(system, std::mem::take(&mut self.paused));
        self.begin_again(&eval, t, y);
        let turning = self.turning(&mut eval, y);
        let resumed = self.integrator.resume(&mut eval, t, y);
        let fresh = turning.filter(|_| resumed.is_ok()).and_then(|before| self.fresh_step(&mut eval, y, before));
        if let Some(pace) = &mut self.run.pace {
            pace.resume(t, fresh);
        }
        (self.run.cause, self.run.last_fault, self.run.pace_before) = (None, None, None);
        self.leave(eval, resumed)
    }

    /// Sets the fraction of the requested tolerances for the following steps, a power of two at most 1; see
    /// [`Integrator::tighten`].
    pub(crate) fn tighten(&mut self, part: f64) {
        self.integrator.tighten(part);
    }

    /// Sets the absolute tolerances of the following steps, n values.
    pub(crate) fn set_atol(&mut self, atol: &[f64]) {
        self.integrator.set_atol(atol);
    }

    /// The length of the last attempted step.
    pub(crate) fn tried(&self) -> f64 {
        self.run.tried
    }

    /// Limits the length of the next step.
    pub(crate) fn begin_with(&mut self, h: f64) {
        if let Some(pace) = &mut self.run.pace {
            pace.retry(h.copysign(self.run.t_end - self.run.t0));
        }
    }

    /// Moves the end of the run further away, even to infinity.
    ///
    /// # Errors
    /// An end behind the current time.
    pub fn extend(&mut self, t_end: f64) -> Result<(), Refusal> {
        let (t, forward) = (self.time(), self.run.t_end >= self.run.t0);
        if t_end.is_nan() || (t_end != t && (t_end > t) != forward) {
            return Err(bad(format!("the end at {t_end:?} lies before the current time, {t:?}")));
        }
        self.run.t_end = t_end;
        self.integrator.set_end_time(t_end);
        if let Some(pace) = &mut self.run.pace {
            pace.extend(t, t_end);
        }
        Ok(())
    }

    /// The number of steps that a run may take.
    pub(crate) fn budget(&self) -> u64 {
        self.options.max_steps
    }

    /// Starts a new budget of steps.
    pub fn renew_budget(&mut self) {
        self.run.attempts = 0;
    }
}
