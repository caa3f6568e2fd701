//! Second run with a smaller tolerance, and the comparison of its rows with those of the first run.

use std::ops::ControlFlow;

use odec_ode::method::Family;
use odec_ode::method::auto::METHOD;
use odec_ode::method::radau::radau5;
use odec_ode::problem::{Cause, Outcome, Samples, SolveError, Stats};
use odec_ode::system::System;

use super::course::{Course, EXPONENTIAL_POWER, swells, trend};
use super::lows;
use super::outputs::{ComparedOutputs, OutputMiss};
use super::stored_run::{At, Happened, StoredRow};
use super::sum::PredictedErrors;
use super::tighter::{ADDITIONAL_STEPS, MAX_STEP_RATIO, TIGHTER, is_series, other_method, step_limit, tighter};
use super::writes::WrittenErrors;
use super::{MANY_LANDINGS, TIGHTEST_RTOL};
use crate::bind::Bound;
use crate::columns::{Column, Columns};
use crate::hybrid::Located;
use crate::monitor::Findings;
use crate::monitor::report::CheckedRun;
use crate::sample::{self, Recorder};

/// Longest step of the second run, relative to the mean step of the first, if instants amplify errors and the tolerance
/// does not determine the steps. If a method is exact between the instants, both runs would otherwise take the same few
/// steps and make the same rounding errors.
const OTHER_STEPS: f64 = 0.7;
/// Fewer steps than these between two events are restricted by the events: a smaller tolerance hardly makes them
/// shorter, and they repeat their errors.
const STEPS_PER_INSTANT: u64 = 8;
/// A second run with fewer steps than this, relative to the first, may repeat its errors: something else than the
/// tolerance determines the steps, such as the stability of the method.
const SAME_STEPS: f64 = 1.2;
/// Tolerance of a run that confirms the difference to a run of another method, relative to that of the latter.
const MORE_ACCURATE: f64 = 0.01;
/// Differences of the rows, relative to those that are too large, from which on such a second run is doubted.
const DOUBTED_FRACTION: f64 = 0.3;
/// After the first miss, the second run takes at least the number of steps of the first run divided by this, to
/// measure how errors grow.
const TREND_DIVISOR: u64 = 10;
/// Absolute tolerances below this fraction of the usual ones are much smaller.
const FINER: f64 = 0.5;
/// Number of steps of a long run.
const LONG_RUN: u64 = 10_000;
/// A row may be off by this many tolerances.
const MISSED_TOLERANCES: f64 = 10.0;
/// With a large relative tolerance, a row may be off by this fraction of the size of its state, but at least by
/// [`FEWEST_TOLERANCES`]: if errors grow, so does the size.
const MISSED_FRACTION: f64 = 0.5;
/// See [`MISSED_FRACTION`].
const FEWEST_TOLERANCES: f64 = 2.0;
/// Error, relative to the size of its state, beyond which errors no longer grow.
const SATURATED_ERROR: f64 = 0.3;

/// The rows that miss their tolerance.
#[derive(Clone, Debug)]
pub struct Miss {
    /// The time of the first such row.
    pub since: f64,
    /// The position of the state in y, or of the output.
    pub place: usize,
    /// True if this is an output.
    pub output: bool,
    /// Error there.
    pub error: f64,
    /// See `error`.
    pub times: f64,
    /// The size of that state or output.
    pub size: f64,
    /// Tolerances that the error is expected to be at the end of the run.
    pub end: f64,
    /// Errors become as large as the states.
    pub grown: bool,
    /// Tolerances by which states are off, in that row and later.
    pub of_states: f64,
    /// A tolerance with which the rows meet that of the run, if two further runs have shown it.
    pub cure: Option<f64>,
    /// The longest step of a run that shows the miss, if no tolerance shows it.
    pub longest: Option<f64>,
}

impl Miss {
    /// Bounds the expected error by the growth, as a power of e: it ends when the solution arrives at another equilibrium.
    pub fn limit(&mut self, growth: f64) {
        self.end = self.end.min(self.times * growth.exp());
    }

    /// True if smaller tolerances only delay the time at which errors become as large as the state.
    pub fn delayed(&self, rtol: f64) -> bool {
        let at_tightest = self.end * (self.error / self.times) * (TIGHTEST_RTOL / rtol).min(1.0);
        self.cure.is_none() && (self.grown || at_tightest > SATURATED_ERROR * self.size)
    }
}

/// True if a second run reaches the end of `bound` in a few times the steps of the first run; and this run.
pub fn reaches_end(bound: &Bound, findings: &Findings, stop: &dyn Fn() -> bool) -> (bool, SecondRun) {
    struct Ending<'a>(&'a dyn Fn() -> bool);
    impl Recorder for Ending<'_> {
        fn row(&mut self, _: &[f64]) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
        fn watched(&self) -> bool {
            false
        }
        fn step(&mut self, _: f64) -> ControlFlow<()> {
            if (self.0)() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let mut other = tighter(bound, findings, true, TIGHTER);
    // a run that crawls along a singularity does not pass it
    other.options.max_steps = MAX_STEP_RATIO * findings.steps + ADDITIONAL_STEPS[1];
    other.samples = Samples::Times(vec![bound.problem.t_end]);
    let (result, _) = sample::solve(&other, &mut Ending(stop));
    let made = SecondRun::of(&other, &result);
    (result.is_ok_and(|outcome| outcome.t == bound.problem.t_end), made)
}

/// The columns of the states, with their positions in y.
pub fn places(columns: &Columns) -> Vec<(usize, usize)> {
    let of = |k| match columns.at(k) {
        Some(Column::State(place)) => Some((k, place)),
        _ => None,
    };
    (0..columns.len()).filter_map(of).collect()
}

/// A second run, for the summary.
#[derive(Clone, Copy, Debug)]
pub struct SecondRun {
    /// The name of its method.
    pub method: &'static str,
    /// Its step, if it is constant.
    pub step: Option<f64>,
    /// Its relative tolerance.
    pub rtol: f64,
    /// Its steps, with those that it rejected and those of a further run with another method.
    pub steps: u64,
    /// The time at which it ended.
    pub t: f64,
    /// The largest difference between the rows of both runs, in tolerances; with constant steps, the largest error of the
    /// first run as a part of the range of its state.
    pub difference: f64,
}

impl SecondRun {
    /// The run that had this result.
    pub fn of(other: &Bound, result: &Result<Outcome, SolveError>) -> SecondRun {
        let (stats, t) = match result {
            Ok(outcome) => (outcome.stats, outcome.t),
            Err(SolveError::Failed(failure)) => (failure.stats, failure.t),
            Err(SolveError::Refused(_)) => (Stats::default(), other.problem.t0),
        };
        let steps = stats.accepted + stats.rejected + stats.failed;
        let step = other.options.step.filter(|_| other.options.fixed);
        SecondRun { method: other.choice.method.name, step, rtol: other.options.rtol, steps, t, difference: 0.0 }
    }

    /// Adds the steps of a further run, which replaces this one.
    pub fn add(&mut self, further: SecondRun) {
        *self = SecondRun { steps: self.steps + further.steps, ..further };
    }
}

/// What a second run shows.
pub enum Checked {
    /// The rows meet the tolerance, as far as they were compared on purpose.
    Met,
    /// They miss it.
    Missed(Miss),
    /// The second run failed at this time, or an event ended it, before it showed anything.
    Unfinished(f64),
    /// It ended at this time, because it took all its steps.
    Exhausted(f64),
}

/// First time at which rows differ by more than the tolerance allows. The second run ends soon after it, or when its
/// first part shows that errors remain small, or when the user stops it. It takes about twice `most` steps at most, and
/// ends where `bound` does. `part` is its part of the tolerance.
pub fn compared(
    checked: &CheckedRun<'_>,
    (bound, most, part): (&Bound, u64, f64),
    prospect: Option<&PredictedErrors>,
    written: &WrittenErrors,
) -> (Checked, SecondRun) {
    let findings = checked.findings;
    let mut other = tighter(bound, findings, prospect.is_none(), part);
    written.change_last_digits(&mut other);
    let prospect = prospect.filter(|prospect| prospect.is_known());
    let crowded = findings.instants >= MANY_LANDINGS && findings.steps < STEPS_PER_INSTANT * findings.instants;
    if crowded && matches!(other.choice.method.family, Family::Multistep) {
        other.choice.method = other_method(bound, other.options.rtol);
    }
    let few = findings.steps < STEPS_PER_INSTANT * findings.landings || bound.options.max_step.is_some();
    if (crowded || findings.landings >= MANY_LANDINGS && few) && findings.steps > 0 {
        let mean = (bound.problem.t_end - bound.problem.t0).abs() / findings.steps as f64;
        let own = other.options.max_step.unwrap_or(f64::INFINITY);
        other.options.max_step = Some(own.min(OTHER_STEPS * mean));
    }
    // the limit of the first run may leave too few steps
    other.options.max_steps = step_limit(bound, most);
    let end = bound.problem.t_end;
    let is_implicit = other.choice.method.structure.jacobian && other.choice.method.name != METHOD.name;
    let is_radau5 = other.choice.method.name == radau5::METHOD.name;
    let (mut seen, mut made) = beside(checked, (bound, other), (most, written), prospect);
    let rest = (end - bound.problem.t0) / (made.t - bound.problem.t0);
    if matches!(seen, Checked::Met) && most < findings.steps && rest * made.difference > missed_tolerances(bound) {
        // errors that add up at this rate miss the tolerance in the rest of the run
        let (again, further) = compared(checked, (bound, findings.steps, part), None, written);
        made.add(further);
        return (again, made);
    }
    if matches!(seen, Checked::Missed(_))
        && let Some(low) = lows::smallest(bound, findings, true).filter(|_| bound.choice.method.name == METHOD.name)
    {
        // a state grew again from a small value: the second run may have lost its digits, not the first
        let mut other = tighter(bound, findings, prospect.is_none(), part);
        let least = low * other.options.rtol;
        other.options.atol.iter_mut().for_each(|atol| *atol = atol.min(least));
        other.options.max_steps = step_limit(bound, most);
        let (again, further) = beside(checked, (bound, other), (most, written), prospect);
        made.add(further);
        if matches!(again, Checked::Met | Checked::Missed(_)) {
            seen = again;
        }
    }
    let exhausted = matches!(seen, Checked::Exhausted(_)) && !is_implicit;
    let other_method = !is_radau5 && bound.executor.jacobian().pattern().is_some();
    if !other_method || !exhausted && !repeats(findings, &seen, &made, (bound, most, is_implicit)) {
        return (seen, made);
    }
    // an explicit method or a series needs many steps for a small tolerance if the equations become slightly stiff, or
    // its stability alone determines the steps
    let by_radau5 = |accuracy: f64| {
        let mut other = tighter(bound, findings, prospect.is_none(), part);
        let part = (part * accuracy * bound.options.rtol / other.options.rtol).max(TIGHTEST_RTOL / other.options.rtol);
        other.options.rtol *= part;
        let low = lows::smallest(bound, findings, true).filter(|_| bound.choice.method.name == METHOD.name);
        let least = low.map_or(f64::INFINITY, |low| low * other.options.rtol);
        other.options.atol.iter_mut().for_each(|atol| *atol = (*atol * part).min(least));
        other.choice.method = &radau5::METHOD;
        other.options.max_steps = step_limit(bound, most);
        beside(checked, (bound, other), (most, written), prospect)
    };
    let doubted = matches!(seen, Checked::Met);
    let (mut by_other, further) = by_radau5(1.0);
    if doubted && matches!(by_other, Checked::Exhausted(_)) {
        // so many steps would show more errors of their own
        made.steps += further.steps;
        return (seen, made);
    }
    made.add(further);
    if doubted && matches!(by_other, Checked::Missed(_)) {
        // where errors grow, those of this method may be larger than those of the run
        let (again, further) = by_radau5(MORE_ACCURATE);
        made.add(further);
        if !matches!(again, Checked::Unfinished(_) | Checked::Exhausted(_)) {
            by_other = again;
        }
    }
    (by_other, made)
}

/// Compares the stored rows of a run with those of another one, which covers its end.
pub fn beside(
    checked: &CheckedRun<'_>,
    (bound, mut other): (&Bound, Bound),
    (most, written): (u64, &WrittenErrors),
    prospect: Option<&PredictedErrors>,
) -> (Checked, SecondRun) {
    let CheckedRun { findings, stop, .. } = *checked;
    let start = other.problem.t0;
    let covered = |t: f64| (t - start) * (bound.problem.t_end - start) > 0.0;
    let rows: Vec<StoredRow<'_>> = findings.stored_run.full_rows().filter(|row| covered(row.at.t)).collect();
    other.samples = Samples::Times(rows.iter().map(|row| row.at.t).collect());
    let mut sizes: Vec<f64> = bound.problem.y0.iter().map(|y| y.abs()).collect();
    for row in &rows {
        sizes.iter_mut().zip(row.at.y).for_each(|(size, y)| *size = size.max(y.abs()));
    }
    let outputs = ComparedOutputs::new(bound, findings, rows.clone(), written);
    let long = findings.steps > LONG_RUN && !swells(&rows, sizes.len());
    let mut beside = Comparison {
        bound,
        rows: &rows,
        outputs,
        sizes,
        sizes_so_far: bound.problem.y0.iter().map(|y| y.abs()).collect(),
        most_so_far: 0.0,
        largest: &findings.largest,
        places: places(&other.columns),
        jumps: bound.located.as_ref().is_some_and(Located::moves_states),
        happened: Happened::default(),
        discretes: vec![],
        before: false,
        most: 0.0,
        prospect,
        long,
        steps: 0,
        part: other.options.rtol / bound.options.rtol,
        whole: whole_error(bound, findings, &other),
        trend: (findings.steps / TREND_DIVISOR).max(ADDITIONAL_STEPS[1]),
        last: u64::MAX,
        course: Course::default(),
        behind: vec![],
        miss: None,
        complete: false,
        stop,
    };
    let (result, _) = sample::solve(&other, &mut beside);
    let mut made = SecondRun { difference: beside.most, ..SecondRun::of(&other, &result) };
    let seen = beside.compared(result, (most, findings.steps));
    if let Checked::Missed(miss) = &seen {
        made.difference = made.difference.max(miss.times);
    }
    (seen, made)
}

/// The error of a run as a multiple of its difference from a second run. If a method of order p solves both, the error
/// decreases as the power p/(p + 1) of the tolerance, and the second run has a part of it. With much smaller absolute
/// tolerances, it has less. A run with the same tolerance has the same errors.
fn whole_error(bound: &Bound, findings: &Findings, other: &Bound) -> f64 {
    let method = bound.choice.method;
    if method.name != other.choice.method.name {
        return 1.0;
    }
    let part = other.options.rtol / bound.options.rtol;
    let finer = other.options.atol.iter().zip(&bound.options.atol).any(|(other, own)| *other < FINER * part * own);
    if finer || part >= 1.0 || method.name == METHOD.name && is_series(bound, findings) {
        return 1.0;
    }
    // the error of `auto` decreases like the tolerance
    let power = if method.name == METHOD.name { 1.0 } else { f64::from(method.order) / f64::from(method.order + 1) };
    1.0 / (1.0 - part.powf(power))
}

/// True if a second run over all `most` steps of a run found differences that are not too large, and may have repeated
/// larger errors: by steps of the same length, or by a step after each event that the error estimate of an implicit
/// method takes for exact.
fn repeats(
    findings: &Findings,
    seen: &Checked,
    made: &SecondRun,
    (bound, most, is_implicit): (&Bound, u64, bool),
) -> bool {
    let after_events = is_implicit && findings.instants > 0;
    let same = after_events || (made.steps as f64) < SAME_STEPS * findings.steps as f64;
    let whole = most == findings.steps && made.t == bound.problem.t_end;
    matches!(seen, Checked::Met) && whole && same && made.difference > DOUBTED_FRACTION * missed_tolerances(bound)
}

/// True if an event ended the second run at this time, and the first one a little later: only rows there are left.
fn ends_both(bound: &Bound, t: f64, left: &[StoredRow<'_>]) -> bool {
    let near = missed_tolerances(bound) * bound.options.rtol * (t - bound.problem.t0).abs();
    let at_end = |row: &At<'_>| row.t != bound.problem.t_end && (row.t - t).abs() <= near;
    left.iter().all(|row| at_end(&row.at)) || left.len() == 1 && left[0].at.t != bound.problem.t_end
}

/// Number of tolerances by which a row of this run may be off.
pub fn missed_tolerances(bound: &Bound) -> f64 {
    MISSED_TOLERANCES.min((MISSED_FRACTION / bound.options.rtol).max(FEWEST_TOLERANCES))
}

/// Compares the second run with the remaining rows of the first run.
struct Comparison<'a> {
    bound: &'a Bound,
    rows: &'a [StoredRow<'a>],
    outputs: Option<ComparedOutputs<'a>>,
    sizes: Vec<f64>,
    /// The same up to the last row. Where a state still grows, its error grows with it.
    sizes_so_far: Vec<f64>,
    /// Largest error relative to these, in tolerances.
    most_so_far: f64,
    /// Largest sizes of the states in steps: an error that is as large as a state in its rows may be small beside them.
    largest: &'a [f64],
    /// Columns of the second run, and positions in y.
    places: Vec<(usize, usize)>,
    /// True if states jump at events.
    jumps: bool,
    /// The events of the second run so far, and its discretes in the next row.
    happened: Happened,
    /// See `happened`.
    discretes: Vec<f64>,
    /// True if the previous row missed its tolerance.
    before: bool,
    /// Largest error so far, in tolerances.
    most: f64,
    prospect: Option<&'a PredictedErrors>,
    /// True if the first run took so many steps that the second one ends early where errors are small.
    long: bool,
    /// The tolerance of the second run as a part of that of the first.
    part: f64,
    /// Error of the first run as a multiple of the difference between both.
    whole: f64,
    /// Number of steps so far, least number of steps after a miss, and number of steps after which the run ends.
    steps: u64,
    /// See `steps`.
    trend: u64,
    /// See `steps`.
    last: u64,
    /// The errors so far of a long run.
    course: Course,
    /// Times after the miss, with the errors in tolerances.
    behind: Vec<(f64, f64)>,
    miss: Option<Miss>,
    /// True if the second run is no longer needed.
    complete: bool,
    stop: &'a dyn Fn() -> bool,
}

impl Recorder for Comparison<'_> {
    fn row(&mut self, values: &[f64]) -> ControlFlow<()> {
        let known = self.rows.iter().position(|row| row.at.t == values[0]);
        let Some(stored) = known.map(|known| self.rows[known]) else { return ControlFlow::Continue(()) };
        let StoredRow { at: first, happened, .. } = stored;
        self.rows = &self.rows[known.unwrap_or_default() + 1..];
        let of = |&(column, place): &(usize, usize)| {
            let error = (first.y[place] - values[column]).abs();
            let tolerance = self.bound.atol(place) + self.bound.options.rtol * self.sizes[place];
            (error / tolerance, error, place)
        };
        let most = self.places.iter().map(of).max_by(|a, b| a.0.total_cmp(&b.0));
        for &(column, place) in &self.places {
            let size = &mut self.sizes_so_far[place];
            *size = size.max(first.y[place].abs());
            let tolerance = self.bound.atol(place) + self.bound.options.rtol * *size;
            self.most_so_far = self.most_so_far.max((first.y[place] - values[column]).abs() / tolerance);
        }
        let Some((mut times, mut error, mut place)) = most else { return ControlFlow::Continue(()) };
        let mut size = self.sizes[place];
        let (mut output, of_states) = (false, times);
        if let Some(outputs) = &mut self.outputs
            && let state = self.places.iter().map(|&(column, place)| (place, values[column]))
            && let Some(of_output) =
                outputs.largest(stored, state, &self.discretes).filter(|of_output| of_output.0 > times)
        {
            ((times, error, place), size, output) = (of_output, outputs.size(of_output.2), true);
        }
        self.most = self.most.max(times);
        (times, error) = (self.whole * times, self.whole * error);
        let of_states = self.whole * of_states;
        let largest = if output { size } else { self.largest.get(place).map_or(size, |most| size.max(*most)) };
        let most = missed_tolerances(self.bound);
        let missed = times > most;
        // a single row may lie between the times at which two runs locate the same event
        let between = (self.jumps || output) && happened != self.happened;
        let counts =
            missed && (self.before || !between && !self.may_switch(first.t, (output, place), (times, of_states)));
        self.before = missed;
        let at_end = self.prospect.and_then(|prospect| prospect.at_end(first.t, self.most));
        match &mut self.miss {
            None if counts => {
                let end = at_end.map_or(times, |end| end.max(times));
                self.miss = Some(Miss {
                    since: first.t,
                    place,
                    output,
                    error,
                    times,
                    size,
                    end,
                    grown: error > SATURATED_ERROR * largest,
                    of_states,
                    cure: None,
                    longest: None,
                });
                self.last = (2 * self.steps).max(self.steps + self.trend);
            }
            None => {
                // the course of errors that grow is not known; in a short run, the rest costs little
                let small = self.long && self.stays_small(most, first.t, times);
                return self.end_if(small);
            }
            Some(miss) => {
                miss.grown |= error > SATURATED_ERROR * largest;
                miss.of_states = miss.of_states.max(of_states);
            }
        }
        self.behind.push((first.t, times));
        let seen = self.prospect.is_some() || self.miss.as_ref().is_some_and(|miss| miss.grown);
        self.end_if(seen)
    }

    fn discretes(&mut self, discretes: &[f64]) {
        discretes.clone_into(&mut self.discretes);
    }

    fn executed(&mut self, event: usize) {
        self.happened.add(event);
    }

    fn watched(&self) -> bool {
        false
    }

    fn step(&mut self, _: f64) -> ControlFlow<()> {
        self.steps += 1;
        self.end_if(self.steps > self.last || (self.stop)())
    }
}

impl Comparison<'_> {
    /// What the second run with this result shows; it covers `most` of so many steps of the first run.
    fn compared(self, result: Result<Outcome, SolveError>, (most, steps): (u64, u64)) -> Checked {
        let Comparison { bound, miss, behind, complete, rows: left, mut outputs, prospect, part, .. } = self;
        let postponed = outputs.as_mut().filter(|_| left.is_empty()).and_then(|outputs| {
            let OutputMiss { t, place, error, times, most } = outputs.postponed(part)?;
            let size = outputs.size(place);
            let (output, grown, of_states, cure, longest) = (true, false, 0.0, None, None);
            Some(Miss { since: t, place, output, error, times, size, end: most, grown, of_states, cure, longest })
        });
        if let (None, Some(miss)) = (&miss, postponed) {
            return Checked::Missed(miss);
        }
        let Some(miss) = miss else {
            return match result {
                // the comparison ended the run itself, or covers only its first part
                _ if complete || most < steps => Checked::Met,
                Ok(_) if left.is_empty() => Checked::Met,
                // an event ends both runs, at slightly different times
                Ok(outcome) if ends_both(bound, outcome.t, left) => Checked::Met,
                Ok(outcome) => Checked::Unfinished(outcome.t),
                Err(SolveError::Failed(failure)) if matches!(failure.cause, Cause::TooManySteps { .. }) => {
                    Checked::Exhausted(failure.t)
                }
                Err(SolveError::Failed(failure)) => Checked::Unfinished(failure.t),
                Err(SolveError::Refused(_)) => Checked::Unfinished(bound.problem.t0),
            };
        };
        let end = if prospect.is_some() {
            miss.end
        } else {
            trend(&behind, (bound.problem.t0, bound.problem.t_end), EXPONENTIAL_POWER)
        };
        Checked::Missed(Miss { end, ..miss })
    }

    /// True if the errors of a long run remain too small for a warning: by the prediction, and by their course so far,
    /// because errors of a beat may grow from beat to beat.
    fn stays_small(&mut self, most: f64, t: f64, times: f64) -> bool {
        self.course.rows.push((t, times));
        let so_far = self.most.max(self.most_so_far);
        let predicted = self.prospect.is_some_and(|prospect| prospect.excludes(most, t, so_far));
        predicted && self.course.ends_below(most, (self.bound.problem.t0, self.bound.problem.t_end))
    }

    /// True if a difference may have another cause than errors: a condition in an output may change between two times at
    /// which the runs locate it, or a sensitivity jump there.
    fn may_switch(&mut self, t: f64, (output, place): (bool, usize), (times, of_states): (f64, f64)) -> bool {
        if self.bound.located.is_none() {
            return false;
        }
        if output {
            let outputs = self.outputs.as_mut();
            return !outputs.is_some_and(|outputs| {
                outputs.explains(t, of_states, (place, times))
                    || outputs.explained_by(&self.discretes, t, (place, times))
            });
        }
        self.bound.states.at(place).is_some_and(|(of, _)| of.differentiated().is_some())
    }

    fn end_if(&mut self, complete: bool) -> ControlFlow<()> {
        self.complete |= complete;
        if complete { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
