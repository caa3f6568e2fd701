//! Stops: times that are known before a step is taken. They are exact and never accumulated. Times within a few units
//! of rounding are the same time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::hybrid::outcome::HybridCause;
use crate::hybrid::system::{HybridSystem, Times, Trigger};
use crate::problem::Problem;

/// Units of rounding within which two times are the same: 0.1*3 and 0.3 are one dose.
const ULPS: f64 = 4.0;

/// True if two times are equal up to rounding.
pub fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= resolution(a)
}

/// The largest distance of times that are equal up to rounding: the time resolution.
pub fn resolution(t: f64) -> f64 {
    ULPS * unit(t)
}

/// The distance from a number to the next larger one.
pub fn unit(t: f64) -> f64 {
    let t = t.abs().max(f64::MIN_POSITIVE);
    t.next_up() - t
}

/// Returns an error if times of a run up to `t_end` have no value, or follow each other within the time resolution.
pub fn timed(model: &dyn HybridSystem, t_end: f64) -> Result<(), HybridCause> {
    if let Some(event) = model.untimed() {
        return Err(HybridCause::NoTime { event });
    }
    let dense = |list: &usize| match model.times(*list) {
        Times::List(_) => false,
        Times::Every { from, period, until } => {
            let last = if t_end.is_finite() { t_end.min(until) } else { from };
            from <= last && !(period > resolution(from.abs().max(last.abs())))
        }
        Times::Comb { offsets, first, period } => {
            let from = offsets.first().map_or(0.0, |offset| offset + first * period);
            let last = if t_end.is_finite() { t_end } else { from };
            !(period > resolution(from.abs().max(last.abs())))
        }
    };
    let Some(list) = (0..model.lists()).find(dense) else { return Ok(()) };
    match model.events().iter().position(|event| event.trigger == Trigger::Times(list)) {
        Some(event) => Err(HybridCause::NoTime { event }),
        None => Err(HybridCause::Chatter { events: Vec::new(), relations: Vec::new() }),
    }
}

/// Returns an error if two times of one event in the span are equal. An event may change the times of a list.
pub fn apart(model: &dyn HybridSystem, (t0, t_end): (f64, f64)) -> Result<(), HybridCause> {
    for (event, described) in model.events().iter().enumerate() {
        let Trigger::Times(list) = described.trigger else { continue };
        let Times::List(times) = model.times(list) else { continue };
        let equal = |pair: &&[f64]| pair[1] >= t0 && pair[0] <= t_end && same(pair[0], pair[1]);
        if let Some(pair) = times.windows(2).find(equal) {
            return Err(HybridCause::SameTimes { event, t: pair[1] });
        }
    }
    Ok(())
}

/// Returns an error if times are not known, or too many for the steps that the run may take.
pub fn known(model: &dyn HybridSystem, problem: &Problem, budget: u64) -> Result<(), HybridCause> {
    timed(model, problem.t_end)?;
    apart(model, (problem.t0, problem.t_end))?;
    countable(model, (problem.t0, problem.t_end), budget)
}

/// Returns an error if a list that holds for the whole run has more times than the run may take steps, as each of them
/// ends a step. A run that an event may end earlier is not refused.
fn countable(model: &dyn HybridSystem, (t0, t_end): (f64, f64), budget: u64) -> Result<(), HybridCause> {
    if !model.are_times_fixed() || model.events().iter().any(|event| event.stops) {
        return Ok(());
    }
    for list in 0..model.lists() {
        let count = model.times(list).expected(t0, t_end);
        // a margin for times at the ends, and for rounding
        if count.is_finite() && count * (1.0 - 1e-9) - 2.0 > budget as f64 {
            return Err(HybridCause::TooManyTimes { list, count, budget });
        }
    }
    Ok(())
}

impl Times<'_> {
    /// Approximate number of times between two times.
    fn expected(&self, t0: f64, t_end: f64) -> f64 {
        match *self {
            Times::List(list) => list.iter().filter(|t| t0 <= **t && **t <= t_end).count() as f64,
            Times::Every { from, period, until } => ((t_end.min(until) - from.max(t0)) / period).max(0.0),
            Times::Comb { offsets, period, .. } => offsets.len() as f64 * (t_end - t0) / period,
        }
    }

    /// The time with index `k`.
    pub fn get(&self, k: u64) -> Option<f64> {
        match *self {
            Times::List(list) => list.get(usize::try_from(k).ok()?).copied(),
            Times::Every { from, period, until } => {
                let t = from + k as f64 * period;
                (t <= until || same(t, until)).then_some(t)
            }
            Times::Comb { offsets, first, period } => {
                let n = offsets.len() as u64;
                let offset = offsets.get(usize::try_from(k.checked_rem(n)?).ok()?)?;
                Some(offset + (first + (k / n) as f64) * period)
            }
        }
    }

    /// Number of times at or before `t`, within rounding.
    pub fn passed(&self, t: f64) -> u64 {
        let come = |time: f64| time <= t || same(time, t);
        match *self {
            Times::List(list) => list.partition_point(|time| come(*time)) as u64,
            Times::Every { from, period, until } => {
                if !(period > 0.0) || !come(from) {
                    return 0;
                }
                let mut k = ((t.min(until) - from) / period).floor().max(0.0) as u64;
                // the quotient is rounded; the exact number may be one off
                while k > 0 && self.get(k).is_none_or(|time| !come(time)) {
                    k -= 1;
                }
                while self.get(k + 1).is_some_and(come) {
                    k += 1;
                }
                k + 1
            }
            Times::Comb { offsets, first, period } => {
                let Some(least) = offsets.first().filter(|_| period > 0.0) else { return 0 };
                let periods = ((t - least) / period - first).floor();
                if !periods.is_finite() {
                    return 0;
                }
                // the quotient is rounded, and many periods may lie within rounding of t, so the search has no fixed
                // range
                let come_at = |k: u64| self.get(k).is_some_and(come);
                let guess = (periods.max(0.0) as u64).saturating_mul(offsets.len() as u64);
                let (mut low, mut high, mut step) = (guess, guess, offsets.len() as u64);
                while low > 0 && !come_at(low - 1) {
                    (high, low, step) = (low, low.saturating_sub(step), step.saturating_mul(2));
                }
                while high < u64::MAX && come_at(high) {
                    (low, high, step) = (high, high.saturating_add(step), step.saturating_mul(2));
                }
                while low < high {
                    let k = low + (high - low) / 2;
                    if come_at(k) { low = k + 1 } else { high = k }
                }
                low
            }
        }
    }
}

/// Next time of a list; the order is reversed, so that the earliest time is the largest.
#[derive(Clone, Copy, Debug)]
struct Next {
    t: f64,
    list: usize,
}

impl Ord for Next {
    fn cmp(&self, other: &Self) -> Ordering {
        other.t.total_cmp(&self.t).then(other.list.cmp(&self.list))
    }
}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Next {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Next {}

/// Number of times of each list that have passed. An instant examines only the lists that are due.
#[derive(Debug, Default)]
pub struct Stops {
    passed: Vec<u64>,
    /// The lists of which a time has come at this instant, each once, in ascending order.
    due: Vec<usize>,
    /// The next time of each list that has one.
    next: BinaryHeap<Next>,
    /// The end of the run.
    pub t_end: f64,
}

impl Stops {
    /// Starts a run: times before `t0` have passed, those at `t0` are due.
    pub fn begin(&mut self, model: &mut dyn HybridSystem, t_end: f64, t0: f64) {
        self.t_end = t_end;
        self.passed.clear();
        self.due.clear();
        self.next.clear();
        for list in 0..model.lists() {
            let times = model.times(list);
            let passed = times.passed(t0);
            self.passed.push(passed);
            self.next.extend(times.get(passed).map(|t| Next { t, list }));
            if passed > 0 && times.get(passed - 1).is_some_and(|time| same(time, t0)) {
                self.due.push(list);
            }
        }
        self.settle(model);
    }

    /// Sets the modes that depend only on time to their values after the times that have passed.
    pub fn settle(&self, model: &mut dyn HybridSystem) {
        if !self.passed.is_empty() {
            model.at_stops(&self.passed);
        }
    }

    /// The next time of any list after `t`; all times up to `t` have been counted.
    pub fn next(&self, t: f64) -> Option<f64> {
        let later = |next: &f64| *next > t && *next < f64::INFINITY;
        match self.next.peek() {
            Some(next) if next.t > t => Some(next.t).filter(later),
            _ => self.next.iter().map(|next| next.t).filter(later).min_by(f64::total_cmp),
        }
    }

    /// Counts the times that have come at `t`. True if modes may have changed.
    pub fn reach(&mut self, model: &mut dyn HybridSystem, t: f64) -> bool {
        self.due.clear();
        while let Some(Next { list, .. }) = self.next.peek().copied().filter(|next| next.t <= t || same(next.t, t)) {
            self.next.pop();
            self.due.push(list);
        }
        self.due.sort_unstable();
        let (passed, next) = (&mut self.passed, &mut self.next);
        self.due.retain(|list| {
            let times = model.times(*list);
            let now = times.passed(t);
            next.extend(times.get(now).map(|t| Next { t, list: *list }));
            let before = std::mem::replace(&mut passed[*list], now);
            now > before
        });
        let changed = !self.due.is_empty();
        if changed {
            model.at_stops(&self.passed);
        }
        changed
    }

    /// Counts again after lists have changed at `t`; times before it have passed. True if modes may have changed.
    pub fn recount(&mut self, model: &mut dyn HybridSystem, t: f64) -> bool {
        self.next.clear();
        let mut changed = false;
        for (list, before) in self.passed.iter_mut().enumerate() {
            let times = model.times(list);
            let passed = times.passed(t);
            self.next.extend(times.get(passed).map(|t| Next { t, list }));
            changed |= passed != *before;
            *before = passed;
        }
        if changed {
            model.at_stops(&self.passed);
        }
        changed
    }

    /// True if a time of the list has come at this instant.
    pub fn is_due_now(&self, list: usize) -> bool {
        self.due.binary_search(&list).is_ok()
    }

    /// The lists of which a time has come at this instant, in ascending order.
    pub fn due(&self) -> &[usize] {
        &self.due
    }

    /// The index of the time of a list that has come at this instant.
    pub fn number(&self, list: usize) -> Option<u64> {
        if self.is_due_now(list) { self.passed[list].checked_sub(1) } else { None }
    }

    /// True if times have come at this instant and f is continuous at all of them.
    pub fn are_kinks(&self, model: &dyn HybridSystem) -> bool {
        !self.due.is_empty() && self.due.iter().all(|list| model.is_kink(*list))
    }

    /// Ends the instant: no time is due after it.
    pub fn pass(&mut self) {
        self.due.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{Times, same};

    #[test]
    fn periods_are_counted_without_adding_them_up() {
        let times = Times::Every { from: 0.0, period: 0.1, until: 1e6 };
        assert_eq!(times.get(3), Some(0.1 * 3.0));
        assert!(same(0.1 * 3.0, 0.3) && times.passed(0.3) == 4 && times.passed(0.1 * 3.0) == 4);
        for k in (0..1_000_000).step_by(997) {
            let t = times.get(k).unwrap();
            assert_eq!(times.passed(t), k + 1, "{t}");
            assert_eq!(times.passed(t + 0.05), k + 1);
            assert_eq!(times.passed(t - 0.05), k);
        }
        let times = Times::Every { from: 2.0, period: 12.0, until: 26.0 };
        assert_eq!([1.9, 2.0, 13.0, 14.0, 26.0, 1e9].map(|t| times.passed(t)), [0, 1, 1, 2, 3, 3]);
        assert_eq!((times.get(2), times.get(3)), (Some(26.0), None));
        let times = Times::Comb { offsets: &[0.0, 0.3, 0.4], first: 1.0, period: 0.7 };
        assert_eq!([0.6, 0.7, 1.0, 1.09, 1.1, 1.4, 7.0 * 0.7].map(|t| times.passed(t)), [0, 1, 2, 2, 3, 4, 19]);
        for k in (0..1_000_000).step_by(997) {
            let t = times.get(k).unwrap();
            assert_eq!([t - 0.05, t, t + 0.05].map(|t| times.passed(t)), [k, k + 1, k + 1], "{t}");
        }
        // many periods within rounding of one time
        let times = Times::Comb { offsets: &[0.0, 0.5e-9], first: 0.0, period: 1e-9 };
        let passed = times.passed(1e9);
        assert!(times.get(passed).is_some_and(|next| next > 1e9 && !same(next, 1e9)), "{passed}");
        let times = Times::List(&[0.3, 1.0]);
        assert_eq!([0.29, 0.1 * 3.0, 0.3, 1.0, 2.0].map(|t| times.passed(t)), [0, 1, 1, 2, 2]);
    }
}
