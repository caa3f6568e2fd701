//! The requested rows, in the order of the run.

use crate::problem::{Problem, Samples};

/// The times of rows, and the index of the next one.
pub(crate) struct RowTimes<'a> {
    samples: &'a Samples,
    pub next: u64,
    t0: f64,
    t_end: f64,
}

impl<'a> RowTimes<'a> {
    pub fn new(samples: &'a Samples, problem: &Problem) -> Self {
        RowTimes { samples, next: 0, t0: problem.t0, t_end: problem.t_end }
    }

    pub fn time(&self) -> Option<f64> {
        self.samples.time(self.next, self.t0, self.t_end)
    }

    /// True if each step is a row.
    pub fn are_steps(&self) -> bool {
        matches!(self.samples, Samples::Steps)
    }

    fn forward(&self) -> bool {
        self.t_end >= self.t0
    }

    /// True if rows are requested at or before `t`.
    pub fn are_up_to(&self, t: f64) -> bool {
        self.are_steps() || self.time().is_some_and(|next| next == t || (next < t) == self.forward())
    }

    /// Takes the next time if it lies before `t`, or at `t` if `there` is set.
    pub fn take(&mut self, t: f64, there: bool) -> Option<f64> {
        let next = self.time().filter(|next| if *next == t { there } else { (*next < t) == self.forward() })?;
        self.next += 1;
        Some(next)
    }

    /// Undoes the last `take`.
    pub fn put_back(&mut self) {
        self.next -= 1;
    }
}
