//! Makes the second run, with a smaller tolerance, and compares its rows with those of the first run.

use std::ops::ControlFlow;

use odec_ode::method::Method;
use odec_ode::method::auto::{METHOD, TIGHTEST_EXPLICIT};
use odec_ode::method::explicit::{vern7, vern9};
use odec_ode::method::radau::radau5;
use odec_ode::problem::Samples;
use odec_ode::system::{Mass, System};

use super::course::At;
use super::sum::{self, Prospect};
use crate::bind::Bound;
use crate::columns::{Column, Columns};
use crate::monitor::Findings;
use crate::sample::{self, Recorder};

/// The tolerance of the second run, divided by that of the first.
const TIGHTER: f64 = 0.1;
/// Largest number of steps of the second run of a named method, as a multiple of those of the first run. `auto` uses a fraction
/// of the tolerance, so as many steps as in its own run are enough to show an error.
const LONGER: u64 = 2;
/// Additional steps of the second run: a short run may need them for the smaller tolerance.
const MORE: u64 = 200;
/// A row may be off by this many tolerances.
pub const MISSED: f64 = 10.0;
/// Factor by which the error at the end may exceed that in a part of the run.
const SAFETY: f64 = 3.0;
/// An error this large, relative to the size of its state, no longer grows.
pub const GROWN: f64 = 0.3;

/// The rows that miss their tolerance.
#[derive(Clone, Debug)]
pub struct Miss {
    /// The time of the first such row.
    pub since: f64,
    /// The time of the largest error.
    pub at: f64,
    /// The position of the state in y.
    pub place: usize,
    /// The error, absolute and divided by the tolerance.
    pub error: f64,
    /// See `error`.
    pub times: f64,
    /// The size of that state.
    pub size: f64,
}

/// The method of the second run: the same method if a smaller tolerance reduces its errors for little more work, otherwise
/// one of high order that needs no code which the first run has not compiled.
fn method(bound: &Bound, rtol: f64) -> &'static Method {
    let own = bound.choice.method;
    if own.name == METHOD.name || sum::is_exact(own) {
        own
    } else if own.structure.jacobian || !matches!(bound.executor.mass(), Mass::Identity) {
        &radau5::METHOD
    } else if rtol < TIGHTEST_EXPLICIT {
        &vern9::METHOD
    } else {
        &vern7::METHOD
    }
}

/// The same run with a smaller tolerance, which records the states.
pub fn tighter(bound: &Bound) -> Bound {
    let mut other = bound.fork();
    let options = &mut other.options;
    options.rtol *= TIGHTER;
    options.atol.iter_mut().for_each(|atol| *atol *= TIGHTER);
    other.choice.method = method(bound, options.rtol);
    // for so few steps, compiling more code is not worthwhile
    (options.fused_steps, options.eliminator) = (false, None);
    other.columns = Columns::new("", bound.states.clone(), bound.states.clone());
    other.columns.add_states();
    other
}

/// The columns of the states, with their positions in y.
pub fn places(columns: &Columns) -> Vec<(usize, usize)> {
    let of = |k| match columns.at(k) {
        Some(Column::State(place)) => Some((k, place)),
        _ => None,
    };
    (0..columns.len()).filter_map(of).collect()
}

/// Finds the rows that differ by more than the tolerance allows. `stop` ends the second run. It takes at most about twice
/// `most` steps, and fewer if errors become as large as the states, or if its first part shows that they stay small.
pub fn compared(
    bound: &Bound,
    (findings, most): (&Findings, u64),
    prospect: Option<&Prospect>,
    stop: &dyn Fn() -> bool,
) -> Option<Miss> {
    let mut other = tighter(bound);
    let longer = if bound.choice.method.name == METHOD.name { 1 } else { LONGER };
    other.options.max_steps = other.options.max_steps.min(longer * most + MORE);
    let rows: Vec<At<'_>> = findings.course.rows().filter(|row| row.t != bound.problem.t0).collect();
    other.samples = Samples::Times(rows.iter().map(|row| row.t).collect());
    let mut sizes: Vec<f64> = bound.problem.y0.iter().map(|y| y.abs()).collect();
    for row in &rows {
        sizes.iter_mut().zip(row.y).for_each(|(size, y)| *size = size.max(y.abs()));
    }
    let (places, events) = (places(&other.columns), bound.located.is_some());
    let mut beside =
        Beside { bound, rows: &rows, sizes, places, events, before: false, most: 0.0, prospect, miss: None, stop };
    let _ = sample::solve(&other, &mut beside);
    beside.miss
}

/// The rows of the first run that are still to come.
struct Beside<'a> {
    bound: &'a Bound,
    rows: &'a [At<'a>],
    sizes: Vec<f64>,
    /// Columns of the second run, and positions in y.
    places: Vec<(usize, usize)>,
    events: bool,
    /// True if the previous row missed its tolerance.
    before: bool,
    /// The largest error so far, in tolerances.
    most: f64,
    prospect: Option<&'a Prospect>,
    miss: Option<Miss>,
    stop: &'a dyn Fn() -> bool,
}

impl Recorder for Beside<'_> {
    fn row(&mut self, values: &[f64]) -> ControlFlow<()> {
        let known = self.rows.iter().position(|row| row.t == values[0]);
        let Some(first) = known.map(|known| self.rows[known]) else { return ControlFlow::Continue(()) };
        self.rows = &self.rows[known.unwrap_or_default() + 1..];
        let of = |&(column, place): &(usize, usize)| {
            let error = (first.y[place] - values[column]).abs();
            let tolerance = self.bound.atol(place) + self.bound.options.rtol * self.sizes[place];
            (error / tolerance, error, place)
        };
        let most = self.places.iter().map(of).max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((times, error, place)) = most else { return ControlFlow::Continue(()) };
        self.most = self.most.max(times);
        let at_end = self.prospect.and_then(|prospect| prospect.at_end(first.t, self.most));
        if at_end.is_some_and(|error| error * SAFETY < MISSED) {
            return ControlFlow::Break(());
        }
        let missed = times > MISSED;
        // a single row may lie between the times at which two runs find the same event
        let counts = missed && (self.before || !self.events);
        self.before = missed;
        if counts && self.miss.as_ref().is_none_or(|miss| times > miss.times) {
            let since = self.miss.as_ref().map_or(first.t, |miss| miss.since);
            let size = self.sizes[place];
            self.miss = Some(Miss { since, at: first.t, place, error, times, size });
            if error > GROWN * size {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn step(&mut self, _: f64) -> ControlFlow<()> {
        if (self.stop)() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
