//! The one stepping loop: budgets, sampling from dense output, interrupts, the last step, and what a failure carries.

use std::ops::ControlFlow;

use crate::control::{Room, Tolerances, first_step};
use crate::evaluator::{Evaluator, all_finite};
use crate::integrator::{Attempt, Integrator};
use crate::method::{Method, Setup};
use crate::problem::{Cause, Failure, Options, Outcome, Problem, Refusal, Samples, Sink, SolveError, Stop};
use crate::rows::Rows;
use crate::system::{Mass, System};

/// Attempts without a value after which it is looked at how far the run has come since as many before.
const FAILURES: u64 = 1_000;
/// A run that has come no further meanwhile than by this fraction, both of the time it has behind it and of the time left, by at most [`CREEPING`]
/// accepted steps for each attempt without a value, is creeping along a place where f ends, below its tolerances, and would never leave it.
const CRAWL: f64 = 1e-5;
/// See [`CRAWL`].
const CREEPING: u64 = 2;
/// Smallest relative tolerance: below ten units of rounding error estimates measure rounding.
pub const SMALLEST_RTOL: f64 = 2.5e-15;
/// An adaptive step that would leave less than this fraction of itself to the end is stretched to the end.
const STRETCH: f64 = 0.01;
/// A step that collapses so near to a place where f had no value, as a part of the interval, ended there.
const NEAR: f64 = 1e-9;
/// A fixed run whose length is a multiple of the step to within this fraction of a step ends on a whole step.
const WHOLE_STEP: f64 = 1e-8;
/// Where f depends on time, a step that grew by more than this grows by no more the next times, until one shrinks. While nothing
/// moves the estimates see no error at all; so the step stays below about half the length of such a rest, and what wakes up again
/// after as long a time (a day after a night) is not stepped over.
const GROW_AT_REST: f64 = 1.5;
/// Smallest step as a fraction of the first one, for steps at t = 0 where rounding of t gives no bound.
const SMALLEST_FRACTION: f64 = 1e-40;

/// Solves a problem with a method. Rows go to the sink as soon as they are known, the one at t0 included.
pub fn solve(
    system: &dyn System,
    problem: &Problem,
    method: &'static Method,
    options: &Options,
    samples: &Samples,
    sink: &mut dyn Sink,
) -> Result<Outcome, SolveError> {
    fits(system, options)?;
    let tolerances = Tolerances::new(options, system.shape().n);
    validate(system, problem, options, samples)?;
    if !options.fixed || method.structure.jacobian {
        measurable(problem, &tolerances)?;
    }
    Runner::build(system, method, options, tolerances)?.drive(system, problem, samples, sink)
}

/// A method made ready once for many runs on one system, with other start values, spans and parameters each. Every run is bit for
/// bit what [`solve`] makes of it; but buffers, orders of elimination and code are there already.
pub struct Runner {
    method: &'static Method,
    options: Options,
    tolerances: Tolerances,
    integrator: Box<dyn Integrator>,
    /// True until a run has left its traces in the integrator.
    untouched: bool,
    room: Room,
    rows: Rows,
    row: Vec<f64>,
}

impl Runner {
    /// For runs with these options.
    ///
    /// # Errors
    /// A system, method or options that no run could begin with.
    pub fn new(system: &dyn System, method: &'static Method, options: &Options) -> Result<Self, Refusal> {
        fits(system, options)?;
        Self::build(system, method, options, Tolerances::new(options, system.shape().n))
    }

    fn build(
        system: &dyn System,
        method: &'static Method,
        options: &Options,
        tolerances: Tolerances,
    ) -> Result<Self, Refusal> {
        let n = system.shape().n;
        Ok(Runner {
            method,
            integrator: (method.build)(&Setup { system, method, options })?,
            options: options.clone(),
            rows: Rows::new(method, options, &tolerances),
            tolerances,
            untouched: true,
            room: Room::new(n),
            row: vec![0.0; n],
        })
    }

    /// As [`solve`]. The system is the one that the runner was made for, with the same patterns; its parameters may differ.
    pub fn run(
        &mut self,
        system: &dyn System,
        problem: &Problem,
        samples: &Samples,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, SolveError> {
        if system.shape().n != self.row.len() {
            return Err(bad(format!("{} unknowns, where there were {}", system.shape().n, self.row.len())).into());
        }
        validate(system, problem, &self.options, samples)?;
        if !self.options.fixed || self.method.structure.jacobian {
            measurable(problem, &self.tolerances)?;
        }
        if !self.untouched && !self.integrator.renew(system) {
            self.integrator = (self.method.build)(&Setup { system, method: self.method, options: &self.options })?;
        }
        if !self.untouched {
            self.rows.renew(system);
        }
        self.drive(system, problem, samples, sink)
    }

    fn drive(
        &mut self,
        system: &dyn System,
        problem: &Problem,
        samples: &Samples,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, SolveError> {
        self.untouched = false;
        let Runner { options, tolerances, integrator, room, rows, row, .. } = self;
        let mut eval = Evaluator::new(system);
        let mut run =
            Run { problem, options, tolerances, room, rows, sampler: Sampler::new(samples, problem, row), tried: 0.0 };
        match run.drive(&mut eval, integrator.as_mut(), sink) {
            Ok(stop) => Ok(Outcome {
                stop,
                t: integrator.time(),
                y: integrator.state().to_vec(),
                stats: eval.stats,
                linear: integrator.linear(),
                course: integrator.course(),
            }),
            Err(cause) => {
                let evaluation = matches!(
                    cause,
                    Cause::NonFiniteRhs { .. }
                        | Cause::NoSeries { .. }
                        | Cause::NonFiniteJacobian { .. }
                        | Cause::NonFiniteTimeDerivative { .. }
                        | Cause::NonFiniteMass { .. }
                        | Cause::SingularMass { .. }
                        | Cause::Fatal
                );
                let at = if evaluation { eval.fault().map(|(t, y)| (t, y.to_vec())) } else { None };
                let (t, y) = (integrator.time(), integrator.state().to_vec());
                let (stats, course) = (eval.stats, integrator.course());
                Err(SolveError::Failed(Box::new(Failure { cause, t, y, h: run.tried, at, stats, course })))
            }
        }
    }
}

struct Run<'a> {
    problem: &'a Problem,
    options: &'a Options,
    tolerances: &'a Tolerances,
    room: &'a mut Room,
    rows: &'a mut Rows,
    sampler: Sampler<'a>,
    tried: f64,
}

impl Run<'_> {
    fn drive(
        &mut self,
        eval: &mut Evaluator<'_>,
        integrator: &mut dyn Integrator,
        sink: &mut dyn Sink,
    ) -> Result<Stop, Cause> {
        let Problem { t0, t_end, ref y0 } = *self.problem;
        integrator.aim(t_end);
        integrator.set(eval, t0, y0)?;
        if self.sampler.start(t0, integrator.state(), sink).is_break() {
            return Ok(Stop::Interrupted);
        }
        if t_end == t0 {
            return Ok(Stop::End);
        }
        let mut pace = self.pace(eval, integrator)?;
        let mut attempts = 0u64;
        let mut cause = None;
        let mut met = None;
        let (mut failed_at, mut accepted_then) = (t0, 0);
        while integrator.time() != t_end {
            let t = integrator.time();
            let (h, t_new) = pace.step(t);
            self.tried = h;
            if pace.collapsed(t) {
                let collapsed = cause.unwrap_or(Cause::StepCollapsed { row: 0, error: f64::INFINITY });
                // steps that shrink towards a place where f ends tell less than what was found beyond it
                let near = |(_, at): &(Cause, f64)| (t - at).abs() <= NEAR * (t_end - t0).abs().max(t.abs());
                return Err(match met.filter(near) {
                    Some((beyond, _)) if matches!(collapsed, Cause::StepCollapsed { .. }) => beyond,
                    _ => collapsed,
                });
            }
            if attempts == self.options.max_steps {
                return Err(Cause::TooManySteps { budget: self.options.max_steps });
            }
            attempts += 1;
            let inside = self.sampler.inside(t_new);
            integrator.sample_ahead(inside);
            self.rows.before(integrator, inside);
            match integrator.attempt(eval, h, t_new) {
                Attempt::Accepted { next } => {
                    eval.stats.accepted += 1;
                    cause = None;
                    pace.accepted(next);
                    if self.sampler.after_step(eval, integrator, self.rows, sink).is_break()
                        || sink.step(t_new).is_break()
                    {
                        return Ok(Stop::Interrupted);
                    }
                }
                Attempt::Rejected { next, error, row } => {
                    eval.stats.rejected += 1;
                    cause = Some(Cause::StepCollapsed { row, error });
                    pace.retry(next);
                }
                Attempt::Failed { cause: failed, next } => {
                    eval.stats.failed += 1;
                    if failed == Cause::Fatal || pace.fixed() {
                        return Err(failed);
                    }
                    if eval.stats.failed.is_multiple_of(FAILURES) {
                        let least = CRAWL * (failed_at - t0).abs().min((t_end - t).abs());
                        let few = eval.stats.accepted - accepted_then <= CREEPING * FAILURES;
                        if few && (t - failed_at).abs() < least {
                            return Err(failed);
                        }
                        (failed_at, accepted_then) = (t, eval.stats.accepted);
                    }
                    cause = Some(failed);
                    if let Cause::NonFiniteRhs { .. } = failed {
                        met = eval.fault().map(|(at, _)| (failed, at));
                    }
                    pace.retry(next);
                }
            }
        }
        Ok(Stop::End)
    }

    fn pace(&mut self, eval: &mut Evaluator<'_>, integrator: &dyn Integrator) -> Result<Pace, Cause> {
        let Problem { t0, t_end, ref y0 } = *self.problem;
        let span = t_end - t0;
        match (self.options.fixed, self.options.step) {
            (true, Some(step)) => {
                let whole = (span.abs() / step).round();
                let even = whole >= 1.0 && (span.abs() - whole * step).abs() <= WHOLE_STEP * step;
                let count = if even { whole } else { (span.abs() / step).floor() + 1.0 };
                Ok(Pace::Fixed { t0, t_end, h: step.copysign(span), taken: 0.0, count, even })
            }
            (_, step) => {
                let first = match step {
                    Some(step) => step,
                    None => first_step(eval, self.tolerances, (t0, t_end), y0, integrator.order(), self.room)?,
                };
                let max = self.options.max_step.unwrap_or(f64::INFINITY);
                let rest = if eval.autonomous() { None } else { Some(false) };
                Ok(Pace::Adaptive { t_end, h: first.copysign(span), max, rest, least: SMALLEST_FRACTION * first })
            }
        }
    }
}

/// Where the next step ends.
enum Pace {
    /// `t0 + i*h`, the last one shortened to the end unless the interval is a whole number of steps.
    Fixed { t0: f64, t_end: f64, h: f64, taken: f64, count: f64, even: bool },
    Adaptive {
        t_end: f64,
        h: f64,
        max: f64,
        /// Where f depends on time: true after a step that grew, until one shrinks.
        rest: Option<bool>,
        least: f64,
    },
}

impl Pace {
    fn fixed(&self) -> bool {
        matches!(self, Pace::Fixed { .. })
    }

    /// The step to try from `t`, and its end.
    fn step(&mut self, t: f64) -> (f64, f64) {
        match self {
            Pace::Fixed { t0, t_end, h, taken, count, even } => {
                if *taken + 1.0 >= *count {
                    (if *even { *h } else { *t_end - t }, *t_end)
                } else {
                    (*h, *t0 + (*taken + 1.0) * *h)
                }
            }
            Pace::Adaptive { t_end, h, max, .. } => {
                if h.abs() > *max {
                    *h = max.copysign(*h);
                }
                let left = *t_end - t;
                if h.abs() * (1.0 + STRETCH) >= left.abs() { (left, *t_end) } else { (*h, t + *h) }
            }
        }
    }

    /// True when an adaptive step has fallen to the rounding of t.
    fn collapsed(&self, t: f64) -> bool {
        match self {
            Pace::Fixed { .. } => false,
            Pace::Adaptive { t_end, h, least, .. } => {
                !(h.abs() > *least) || (t + 0.1 * h == t && (*t_end - t).abs() > h.abs())
            }
        }
    }

    fn accepted(&mut self, next: f64) {
        match self {
            Pace::Fixed { taken, .. } => *taken += 1.0,
            Pace::Adaptive { h, rest, .. } => {
                let ratio = next / *h;
                let held = *rest == Some(true) && ratio > GROW_AT_REST;
                *rest = rest.map(|rest| ratio > GROW_AT_REST || (rest && ratio >= 1.0));
                *h = if held { GROW_AT_REST * *h } else { next };
            }
        }
    }

    fn retry(&mut self, next: f64) {
        if let Pace::Adaptive { h, rest, .. } = self {
            *rest = rest.map(|_| false);
            *h = next;
        }
    }
}

/// Hands rows to the sink.
struct Sampler<'a> {
    times: Option<&'a [f64]>,
    next: usize,
    forward: bool,
    row: &'a mut [f64],
}

impl<'a> Sampler<'a> {
    fn new(samples: &'a Samples, problem: &Problem, row: &'a mut [f64]) -> Self {
        let times = match samples {
            Samples::Steps => None,
            Samples::Times(times) => Some(times.as_slice()),
        };
        Sampler { times, next: 0, forward: problem.t_end >= problem.t0, row }
    }

    fn start(&mut self, t0: f64, y0: &[f64], sink: &mut dyn Sink) -> ControlFlow<()> {
        let Some(times) = self.times else { return sink.row(t0, y0) };
        while let Some(t) = times.get(self.next).filter(|t| **t == t0) {
            self.next += 1;
            sink.row(*t, y0)?;
        }
        ControlFlow::Continue(())
    }

    /// True when the next sample lies before `t_new`.
    fn inside(&self, t_new: f64) -> bool {
        let next = self.times.and_then(|times| times.get(self.next));
        next.is_some_and(|t| *t != t_new && (*t < t_new) == self.forward)
    }

    fn after_step(
        &mut self,
        eval: &mut Evaluator<'_>,
        integrator: &dyn Integrator,
        rows: &mut Rows,
        sink: &mut dyn Sink,
    ) -> ControlFlow<()> {
        let now = integrator.time();
        let Some(times) = self.times else { return sink.row(now, integrator.state()) };
        while let Some(&t) = times.get(self.next) {
            if t == now {
                sink.row(t, integrator.state())?;
            } else if (t < now) == self.forward {
                rows.value(eval, integrator, t, self.row);
                sink.row(t, self.row)?;
            } else {
                break;
            }
            self.next += 1;
        }
        ControlFlow::Continue(())
    }
}

fn bad(text: String) -> Refusal {
    Refusal::BadOption(text)
}

/// An error can be weighed against nothing where a state starts at zero without an absolute tolerance.
fn measurable(problem: &Problem, tolerances: &Tolerances) -> Result<(), Refusal> {
    match (0..problem.y0.len()).find(|i| tolerances.atol[*i] == 0.0 && problem.y0[*i] == 0.0) {
        Some(row) => Err(Refusal::NoTolerance { row }),
        None => Ok(()),
    }
}

/// Refuses a system or options that no run can begin with.
fn fits(system: &dyn System, options: &Options) -> Result<(), Refusal> {
    let n = system.shape().n;
    if n == 0 {
        return Err(bad("the system has no unknowns".to_string()));
    }
    if 2 * system.shape().second > n {
        return Err(bad(format!("{} second-order unknowns do not fit into n = {n}", system.shape().second)));
    }
    if !system.jacobian_pattern().is_square(n) {
        return Err(bad(format!("the pattern of the Jacobian is no pattern of size {n}")));
    }
    let fits = match system.mass() {
        Mass::Identity => true,
        Mass::Constant(pattern, values) => {
            pattern.is_square(n) && values.len() == pattern.entries() && all_finite(values)
        }
        Mass::StateDependent { pattern, jacobian } => pattern.is_square(n) && jacobian.is_square(n),
    };
    if !fits {
        return Err(bad(format!("the mass matrix is not one of size {n} with finite values")));
    }
    if !(options.rtol > 0.0 && options.rtol < 1.0) {
        return Err(bad(format!("rtol must lie between 0 and 1, it is {:?}", options.rtol)));
    }
    if options.rtol < SMALLEST_RTOL {
        return Err(bad(format!(
            "rtol = {:e} is beyond double precision; the least is {SMALLEST_RTOL:e}",
            options.rtol
        )));
    }
    if options.atol.len() != 1 && options.atol.len() != n {
        return Err(bad(format!("{} absolute tolerances for {n} unknowns", options.atol.len())));
    }
    if !all_finite(&options.atol) || options.atol.iter().any(|a| *a < 0.0) {
        return Err(bad("absolute tolerances must be finite and not negative".to_string()));
    }
    for (what, step) in [("step", options.step), ("largest step", options.max_step)] {
        if let Some(step) = step.filter(|step| !(*step > 0.0 && step.is_finite())) {
            return Err(bad(format!("the {what} must be positive and finite, it is {step:?}")));
        }
    }
    if options.fixed && options.step.is_none() {
        return Err(bad("fixed steps need a step".to_string()));
    }
    Ok(())
}

/// Refuses what makes no sense of one run.
fn validate(system: &dyn System, problem: &Problem, options: &Options, samples: &Samples) -> Result<(), Refusal> {
    let n = system.shape().n;
    if problem.y0.len() != n {
        return Err(bad(format!("{} initial values for {n} unknowns", problem.y0.len())));
    }
    if !problem.t0.is_finite() || !problem.t_end.is_finite() || !(problem.t_end - problem.t0).is_finite() {
        return Err(bad(format!("the interval from {:?} to {:?} is not finite", problem.t0, problem.t_end)));
    }
    if let Some(i) = problem.y0.iter().position(|y| !y.is_finite()) {
        return Err(bad(format!("the initial value of unknown {i} is {:?}", problem.y0[i])));
    }
    if let (true, Some(step)) = (options.fixed, options.step) {
        let span = (problem.t_end - problem.t0).abs();
        if span > 0.0 && problem.t0.abs().max(problem.t_end.abs()) * f64::EPSILON >= step {
            return Err(bad(format!("a step of {step:?} is lost in the rounding of t")));
        }
    }
    if let Samples::Times(times) = samples {
        let forward = problem.t_end >= problem.t0;
        let (low, high) = if forward { (problem.t0, problem.t_end) } else { (problem.t_end, problem.t0) };
        if let Some(t) = times.iter().find(|t| !(**t >= low && **t <= high)) {
            return Err(bad(format!("the sample time {t:?} is outside the interval")));
        }
        if times.windows(2).any(|w| w[0] != w[1] && (w[0] < w[1]) != forward) {
            return Err(bad("sample times must follow the direction of integration".to_string()));
        }
    }
    Ok(())
}
