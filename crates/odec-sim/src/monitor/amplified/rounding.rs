//! Values that consist of rounding errors: in a symmetric motion, the components that are 0 by symmetry. Another run
//! whose initial values differ by a few rounding errors changes them as a whole.

use std::ops::ControlFlow;

use super::second::places;
use super::stored_run::At;
use super::tighter::{record_states, step_limit};
use crate::monitor::report::CheckedRun;
use crate::sample::{self, Recorder};
use odec_ode::problem::Samples;

/// Relative changes of the initial values, in rounding errors: from the first number, by less than the second.
const CHANGE: (f64, f64) = (4.0, 4.0);
/// A change of a value that is this fraction of its largest size shows that the value consists of rounding errors.
const CHANGED_FRACTION: f64 = 0.1;
/// The other run covers at most this many steps of the first one.
const MAX_STEPS: u64 = 20_000;

/// For each of these positions in y, true if its values are rounding errors.
pub fn is_rounding(checked: &CheckedRun<'_>, asked: &[usize]) -> Vec<bool> {
    let CheckedRun { bound, findings, stop, .. } = *checked;
    let (t0, y0) = (bound.problem.t0, &bound.problem.y0);
    let rows: Vec<At<'_>> = findings.stored_run.rows().filter(|row| row.t != t0).collect();
    let none = vec![false; asked.len()];
    if asked.is_empty() || rows.is_empty() {
        return none;
    }
    let mut other = bound.fork();
    for (k, y) in other.problem.y0.iter_mut().enumerate() {
        // different changes, which a symmetric motion does not cancel
        *y *= 1.0 + f64::EPSILON * (CHANGE.0 + CHANGE.1 * super::spread(k));
    }
    if other.problem.y0 == *y0 {
        return none;
    }
    record_states(&mut other);
    other.options.max_steps = step_limit(bound, findings.steps.min(MAX_STEPS));
    other.samples = Samples::Times(rows.iter().map(|row| row.t).collect());
    let columns = places(&other.columns);
    let column = |place: &usize| columns.iter().find(|(_, of)| of == place).map(|(column, _)| *column);
    let watched: Vec<Option<usize>> = asked.iter().map(column).collect();
    let mut changes = Changes { rows: &rows, asked, watched: &watched, seen: vec![(0.0, 0.0); asked.len()], stop };
    // a run that ends early has compared its part
    let _ = sample::solve(&other, &mut changes);
    let changed = |&(change, size): &(f64, f64)| change > CHANGED_FRACTION * size;
    if stop() { none } else { changes.seen.iter().map(changed).collect() }
}

/// Compares some states of the other run with the rows of the first.
struct Changes<'a> {
    rows: &'a [At<'a>],
    asked: &'a [usize],
    watched: &'a [Option<usize>],
    /// Largest change and largest size of each.
    seen: Vec<(f64, f64)>,
    stop: &'a dyn Fn() -> bool,
}

impl Recorder for Changes<'_> {
    fn row(&mut self, values: &[f64]) -> ControlFlow<()> {
        if let Some(known) = self.rows.iter().position(|row| row.t == values[0]) {
            let first = self.rows[known];
            self.rows = &self.rows[known + 1..];
            for ((seen, place), column) in self.seen.iter_mut().zip(self.asked).zip(self.watched) {
                let value = column.map_or(first.y[*place], |column| values[column]);
                seen.0 = seen.0.max((value - first.y[*place]).abs());
                seen.1 = seen.1.max(first.y[*place].abs());
            }
        }
        ControlFlow::Continue(())
    }

    fn watched(&self) -> bool {
        false
    }

    fn step(&mut self, _: f64) -> ControlFlow<()> {
        if (self.stop)() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
