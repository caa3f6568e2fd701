//! The discretes along a run. Findings are examined after the run, by the equations as they were at that time.

use std::ops::Deref;

use crate::bind::Bound;
use crate::executor::Executor;

/// Largest number of stored values; findings after that many are not examined.
const MAX_VALUES: usize = 1 << 17;

/// The values of the discretes after each change. Empty for a model without discretes.
#[derive(Clone, Debug, Default)]
pub struct DiscreteHistory {
    times: Vec<f64>,
    /// `width` values for each time.
    values: Vec<f64>,
    width: usize,
    /// Time of the first change that was not stored.
    lost: Option<f64>,
}

/// The equations at a moment of a run.
pub enum ExecutorAt<'a> {
    /// Those of the start.
    Start(&'a Executor),
    /// With other discretes.
    Later(Box<Executor>),
}

impl Deref for ExecutorAt<'_> {
    type Target = Executor;

    fn deref(&self) -> &Executor {
        match self {
            ExecutorAt::Start(executor) => executor,
            ExecutorAt::Later(executor) => executor,
        }
    }
}

impl DiscreteHistory {
    /// Adds the values after an instant.
    pub(super) fn add(&mut self, t: f64, discretes: &[f64]) {
        let same = self.times.last().is_some() && self.values[self.values.len() - self.width..] == *discretes;
        if discretes.is_empty() || same || self.lost.is_some() {
            return;
        }
        if self.values.len() + discretes.len() > MAX_VALUES {
            self.lost = Some(t);
            return;
        }
        self.width = discretes.len();
        self.times.push(t);
        self.values.extend_from_slice(discretes);
    }

    /// The number of changes so far; `None` if some were not stored.
    #[inline]
    pub(super) fn count(&self) -> Option<usize> {
        self.lost.is_none().then_some(self.times.len())
    }

    /// The values after so many changes, if they differ from those of the start.
    pub(super) fn after_changes(&self, changes: usize) -> &[f64] {
        if changes == 0 { &[] } else { &self.values[(changes - 1) * self.width..changes * self.width] }
    }

    /// The times of changes between two times.
    pub(super) fn changes(&self, from: f64, to: f64) -> impl Iterator<Item = f64> + '_ {
        self.times.iter().copied().filter(move |t| from < *t && *t < to)
    }

    /// The values in the step that ends at `t`, if they differ from those of the start; `None` if they are unknown.
    pub(crate) fn before(&self, t: f64) -> Option<&[f64]> {
        self.at(self.times.partition_point(|time| *time < t), t)
    }

    /// The same in the step that begins at `t`.
    pub(crate) fn after(&self, t: f64) -> Option<&[f64]> {
        self.at(self.times.partition_point(|time| *time <= t), t)
    }

    fn at(&self, changes: usize, t: f64) -> Option<&[f64]> {
        if self.lost.is_some_and(|lost| lost < t) {
            return None;
        }
        Some(self.after_changes(changes))
    }

    /// The equations in the step that ends at `t`; `None` if the discretes are unknown.
    pub(super) fn executor_before<'a>(&self, bound: &'a Bound, t: f64) -> Option<ExecutorAt<'a>> {
        self.before(t).map(|values| executor(bound, values))
    }

    /// The equations in the step that begins at `t`.
    pub(super) fn executor_after<'a>(&self, bound: &'a Bound, t: f64) -> Option<ExecutorAt<'a>> {
        self.after(t).map(|values| executor(bound, values))
    }
}

fn executor<'a>(bound: &'a Bound, discretes: &[f64]) -> ExecutorAt<'a> {
    match &bound.located {
        Some(located) if !discretes.is_empty() => {
            let mut later = bound.executor.fork();
            located.put_discretes(discretes, &mut later);
            ExecutorAt::Later(Box::new(later))
        }
        _ => ExecutorAt::Start(&bound.executor),
    }
}

#[cfg(test)]
mod tests {
    use super::{DiscreteHistory, MAX_VALUES};

    #[test]
    fn a_change_at_an_instant_holds_in_the_next_step_and_not_in_the_last() {
        let mut history = DiscreteHistory::default();
        assert_eq!(history.after(3.0), Some(&[][..]));
        history.add(1.0, &[2.0, 0.0]);
        history.add(1.5, &[2.0, 0.0]);
        history.add(2.0, &[3.0, 1.0]);
        assert_eq!(history.times, [1.0, 2.0]);
        assert_eq!(history.before(1.0), Some(&[][..]));
        assert_eq!(history.after(1.0), Some(&[2.0, 0.0][..]));
        assert_eq!(history.before(2.0), Some(&[2.0, 0.0][..]));
        assert_eq!(history.after(9.0), Some(&[3.0, 1.0][..]));
    }

    #[test]
    fn values_that_were_not_stored_are_unknown() {
        let mut history = DiscreteHistory::default();
        for k in 0..=MAX_VALUES {
            history.add(k as f64, &[k as f64]);
        }
        let last = MAX_VALUES as f64;
        assert_eq!(history.before(last), Some(&[last - 1.0][..]));
        assert_eq!(history.before(last + 1.0), None);
        assert_eq!(history.values.len(), MAX_VALUES);
    }
}
