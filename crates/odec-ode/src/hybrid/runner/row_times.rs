//! The requested rows, in the order of the run.

use super::Flow;
use crate::hybrid::outcome::{Observer, Point};
use crate::problem::{Problem, Samples};

/// The times of rows, and the index of the next one.
pub(super) struct RowTimes<'a> {
    /// `None` if each step is a row.
    pub times: Option<&'a [f64]>,
    pub next: usize,
    forward: bool,
}

impl<'a> RowTimes<'a> {
    pub fn new(samples: &'a Samples, problem: &Problem) -> Self {
        let times = if let Samples::Times(times) = samples { Some(times.as_slice()) } else { None };
        RowTimes { times, next: 0, forward: problem.t_end >= problem.t0 }
    }

    pub fn time(&self) -> Option<f64> {
        self.times.and_then(|times| times.get(self.next)).copied()
    }

    /// True if rows are requested at or before `t`.
    pub fn are_up_to(&self, t: f64) -> bool {
        self.times.is_none() || self.time().is_some_and(|next| next == t || (next < t) == self.forward)
    }

    /// Takes the next time if it comes before `t`, or at `t` if `there` is set.
    pub fn take(&mut self, t: f64, there: bool) -> Option<f64> {
        let next = self.time().filter(|next| if *next == t { there } else { (*next < t) == self.forward })?;
        self.next += 1;
        Some(next)
    }

    /// Puts back the time taken last.
    pub fn put_back(&mut self) {
        self.next -= 1;
    }
}

/// Writes the rows requested at the current time, with the current state. Each keeps its requested time.
pub(super) fn rows_at(here: Point<'_>, wanted: &mut RowTimes<'_>, observer: &mut dyn Observer) -> Flow {
    while let Some(time) = wanted.take(here.t, true) {
        observer.row(Point { wanted: time, ..here })?;
    }
    Flow::Continue(())
}
