//! Constant steps: a second run with half the step shows how far the rows of the first one are off.

use std::ops::ControlFlow;

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::lint::allowed;
use odec_ode::problem::{Samples, SolveError};

use super::second::{SecondRun, places};
use super::stored_run::{Happened, StoredRow};
use super::tighter::record_states;
use crate::bind::Bound;
use crate::blame::{declared, number};
use crate::hybrid::Located;
use crate::monitor::report::{CheckedRun, below, typed};
use crate::sample::{self, Recorder};

/// Most steps of a run that is compared, times the number of its unknowns: the second run takes twice the steps.
const MAX_WORK: u64 = 2_000_000;
/// See [`MAX_WORK`].
const MAX_STEPS: u64 = 100_000;
/// Part of the step in the second run. If f depends on time it is no simple fraction: half a step meets a forcing
/// whose period divides it always in the same phase, as the whole step does.
const PART: f64 = 0.5;
const PART_WITH_TIME: f64 = 0.4635;
/// Fraction of the range of a state from which on an error gives a warning: a plot shows it.
const VISIBLE: f64 = 0.05;
/// Fraction of the range that the advised step aims at.
const INVISIBLE: f64 = 0.01;
/// An error of this fraction says nothing about the error of shorter steps.
const SATURATED: f64 = 0.5;
/// How much shorter a step is to be tried if half of it fails.
const FAR_SHORTER: f64 = 10.0;
/// Times beside those of the rows at which the second run shows how far states move.
const MORE_TIMES: u32 = 200;
/// A state whose range is this fraction of its size does not change.
const CONSTANT: f64 = 1e-6;

/// True if the run has more constant steps than a second run may have.
pub fn has_too_many(bound: &Bound) -> bool {
    let Some(h) = bound.options.step.filter(|_| bound.options.fixed) else { return false };
    let steps = ((bound.problem.t_end - bound.problem.t0) / h).abs();
    steps > MAX_STEPS as f64 || steps * bound.problem.y0.len() as f64 > MAX_WORK as f64
}

/// The warning about constant steps whose errors are visible in a plot, and the second run.
pub fn found(checked: &CheckedRun<'_>) -> (Option<Diagnostic>, Option<SecondRun>) {
    let CheckedRun { bound, findings, source, .. } = checked;
    let rows: Vec<StoredRow<'_>> = findings.stored_run.full_rows().collect();
    let span = (bound.problem.t_end - bound.problem.t0).abs();
    // a step that is longer than the run has a warning of its own
    let Some(h) = bound.options.step.filter(|h| findings.ended && !has_too_many(bound) && *h <= span) else {
        return (None, None);
    };
    let turned_off = |span| allowed(source, &Diagnostic::warning(&codes::W0626, "").label(span, ""));
    if rows.iter().all(|row| row.at.t == bound.problem.t0) || bound.asked.step.is_some_and(turned_off) {
        return (None, None);
    }
    let mut other = bound.fork();
    record_states(&mut other);
    // steps that end at events may be shorter
    let mean = span / findings.steps.max(1) as f64;
    let part = if bound.executor.is_autonomous() { PART } else { PART_WITH_TIME };
    other.options.step = Some(h.min(if findings.instants > 0 { mean } else { h }) * part);
    other.options.max_steps = 3 * other.options.max_steps.max(findings.steps);
    // few rows do not show how far a state moves
    let (start, end) = (bound.problem.t0, bound.problem.t_end);
    let between = (1..MORE_TIMES).map(|k| start + (end - start) * f64::from(k) / f64::from(MORE_TIMES));
    let mut times: Vec<f64> = rows.iter().map(|row| row.at.t).chain(between).collect();
    times.sort_by(|a, b| if end > start { a.total_cmp(b) } else { b.total_cmp(a) });
    times.dedup();
    other.samples = Samples::Times(times);
    let mut beside = Halved {
        rows: &rows,
        at: 0,
        seen: bound.problem.y0.iter().map(|y| Seen { low: *y, high: *y, error: 0.0, t: start, value: *y }).collect(),
        places: places(&other.columns),
        jumps: bound.located.as_ref().is_some_and(Located::moves_states),
        happened: Happened::default(),
        before: false,
        whole: 1.0 / (1.0 - part.powi(bound.choice.method.order as i32)),
        stop: checked.stop,
    };
    let (result, _) = sample::solve(&other, &mut beside);
    let worst = beside.worst();
    let made = SecondRun { difference: worst.map_or(0.0, |worst| worst.part), ..SecondRun::of(&other, &result) };
    let visible = worst.filter(|worst| worst.part >= VISIBLE).map(|worst| warning(checked, &worst, h));
    let failed = match &result {
        Err(SolveError::Failed(failure)) if !(checked.stop)() => Some(uncompared(checked, failure.t, h)),
        _ => None,
    };
    (visible.or(failed), Some(made))
}

/// The warning that the rows could not be compared to their end.
fn uncompared(checked: &CheckedRun<'_>, t: f64, h: f64) -> Diagnostic {
    let bound = checked.bound;
    let headline =
        format!("a run with about half the step ends at {} = {}: steps are too long", checked.time(), number(t));
    let d = Diagnostic::warning(&codes::W0626, headline);
    let d = match bound.asked.step {
        Some(span) => d.label(span, "odec could not check the rows with another step"),
        None => d,
    };
    let typed = typed("step", &below(h / FAR_SHORTER), bound.asked.step.is_some());
    d.at(t, vec![]).help(format!("try {typed}; or leave out `step`, and odec controls the error"))
}

/// What both runs show of a state: its range, and its largest error with the time and the value there.
#[derive(Clone, Copy)]
struct Seen {
    low: f64,
    high: f64,
    error: f64,
    t: f64,
    value: f64,
}

impl Seen {
    fn include(&mut self, y: f64) {
        (self.low, self.high) = (self.low.min(y), self.high.max(y));
    }

    /// The error as a part of the range; 0 for a state that does not change.
    fn part(&self) -> f64 {
        let range = self.high - self.low;
        if range > CONSTANT * self.low.abs().max(self.high.abs()) { self.error / range } else { 0.0 }
    }
}

/// The largest error of all states as a part of their ranges.
#[derive(Clone, Copy)]
struct Worst {
    place: usize,
    part: f64,
    seen: Seen,
}

/// Compares the second run with the rows of the first one.
struct Halved<'a> {
    rows: &'a [StoredRow<'a>],
    at: usize,
    seen: Vec<Seen>,
    /// Columns of the second run, and positions in y.
    places: Vec<(usize, usize)>,
    /// True if states jump at events.
    jumps: bool,
    happened: Happened,
    /// True if the previous row of the second run comes before or after another event than in the first run.
    before: bool,
    /// The error of the first run as a multiple of the difference between both.
    whole: f64,
    stop: &'a dyn Fn() -> bool,
}

impl Halved<'_> {
    fn worst(&self) -> Option<Worst> {
        let of = |(place, seen): (usize, &Seen)| Worst { place, part: seen.part(), seen: *seen };
        self.seen.iter().enumerate().map(of).max_by(|a, b| a.part.total_cmp(&b.part))
    }
}

impl Recorder for Halved<'_> {
    fn row(&mut self, values: &[f64]) -> ControlFlow<()> {
        for &(column, place) in &self.places {
            self.seen[place].include(values[column]);
        }
        let Some(next) = self.rows[self.at..].iter().position(|row| row.at.t == values[0]) else {
            return ControlFlow::Continue(());
        };
        let row = self.rows[self.at + next];
        self.at += next + 1;
        // a single row may lie between the times at which two runs locate the same event
        let between = self.jumps && row.happened != self.happened;
        let twice = self.rows.get(self.at).is_some_and(|after| after.at.t == row.at.t);
        let counts = !twice && (!between || self.before);
        self.before = between;
        for &(column, place) in self.places.iter().filter(|_| counts) {
            let seen = &mut self.seen[place];
            let (value, error) = (row.at.y[place], self.whole * (row.at.y[place] - values[column]).abs());
            seen.include(value);
            if error > seen.error {
                (seen.error, seen.t, seen.value) = (error, row.at.t, value);
            }
        }
        ControlFlow::Continue(())
    }

    fn executed(&mut self, event: usize) {
        self.happened.add(event);
    }

    fn watched(&self) -> bool {
        false
    }

    fn step(&mut self, _: f64) -> ControlFlow<()> {
        if (self.stop)() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The warning about steps that are too long.
fn warning(checked: &CheckedRun<'_>, worst: &Worst, h: f64) -> Diagnostic {
    let CheckedRun { bound, model, .. } = checked;
    let &Worst { place, part, seen: Seen { error, t, value, .. } } = worst;
    let (name, method) = (bound.states.name(place), bound.choice.method);
    let headline = format!(
        "`{name}` is off by about {} at {} = {}, {} of its range: steps of {} are too long",
        below(error),
        checked.time(),
        number(t),
        percent(part),
        number(h),
    );
    let mut d = Diagnostic::warning(&codes::W0626, headline);
    let says = "a run with about half this step has other rows";
    d = match (bound.asked.step, declared(model, &bound.states, place)) {
        (Some(span), _) => d.label(span, says),
        (None, Some(state)) => d.label(model.states[state].span, "compared with a run of about half the step"),
        (None, None) => d,
    };
    let d = d.at(t, vec![(name, value)]);
    let in_block = bound.asked.step.is_some();
    let shorter = h * (INVISIBLE / part).powf(1.0 / f64::from(method.order));
    let at_most = if part < SATURATED { "" } else { "at most " };
    let typed = typed("step", &below(shorter), in_block);
    d.help(format!("for errors of about 1 %, try {at_most}{typed}; or leave out `step`, and odec controls the error"))
}

/// A fraction in percent.
fn percent(part: f64) -> String {
    format!("{:.0} %", (100.0 * part).min(1e6))
}
