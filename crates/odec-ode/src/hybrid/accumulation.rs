//! Detects the accumulation of an event (Zeno behaviour): the event happens infinitely often in a finite time, like
//! the bounces of a ball that lose height.
//!
//! If four successive intervals shrink by the same ratio q and D is the last interval, the event times converge to t +
//! D q/(1-q). If the ratio is not constant, because the errors of steps are about as large as the intervals, the times
//! still converge. The limit is then accepted only when so little is left that the ratio no longer matters.

use crate::hybrid::stops::same;

/// Number of times that are stored, enough for four intervals.
const TIMES: usize = 5;
/// Two ratios whose relative difference is below this count as equal.
const CONSTANT: f64 = 1e-3;
/// A limit is accepted if the remaining time is below this fraction of the sequence so far.
const REST: f64 = 1e-8;
/// Like [`REST`], for a ratio that is not constant. Errors of the times are below this fraction.
const UNSTEADY_REST: f64 = 1e-11;
/// Smallest q. With a smaller q, the next events are within rounding of t, so they are one event and not an
/// accumulation.
const LEAST_RATIO: f64 = 1e-6;

/// The last times at which an event was executed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accumulation {
    times: [f64; TIMES],
    known: usize,
    /// Start of the sequence with a constant ratio.
    since: f64,
    /// Start of the sequence in which each interval is shorter than the one before.
    shrinking: f64,
}

/// The limit of the times of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The time.
    pub t: f64,
    /// The ratio of its intervals.
    pub ratio: f64,
}

/// An event that is about to accumulate. Until then, the run does not watch the relations that trigger it.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The event.
    pub event: usize,
    /// The limit of its times.
    pub limit: Limit,
    /// The surfaces of its last instant.
    pub relations: Vec<usize>,
}

/// The accumulations that a run is about to reach. Several objects may come to rest at about the same time.
#[derive(Clone, Debug, Default)]
pub struct Limits(Vec<Pending>);

impl Limits {
    /// Records that an event is about to accumulate; replaces an earlier limit of the event.
    pub fn add(&mut self, pending: Pending) {
        self.0.retain(|other| other.event != pending.event);
        self.0.push(pending);
    }

    /// The time of the next accumulation.
    pub fn next(&self) -> Option<f64> {
        self.0.iter().map(|pending| pending.limit.t).min_by(f64::total_cmp)
    }

    /// Removes the accumulations that are due at `t`, in the order of their events.
    pub fn take(&mut self, t: f64) -> Vec<Pending> {
        let is_due = |pending: &mut Pending| pending.limit.t <= t || same(pending.limit.t, t);
        let mut due: Vec<Pending> = self.0.extract_if(.., is_due).collect();
        due.sort_unstable_by_key(|pending| pending.event);
        due
    }

    /// True if the run does not watch this relation.
    pub fn cover(&self, relation: usize) -> bool {
        self.0.iter().any(|pending| pending.relations.contains(&relation))
    }

    /// Removes all accumulations.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl Accumulation {
    /// Records the execution of the event at `t`. Returns the limit of its times if nothing is observable before it.
    pub fn note(&mut self, t: f64) -> Option<Limit> {
        if self.known > 0 && t <= self.times[self.known - 1] {
            return None;
        }
        if self.known == TIMES {
            self.times.rotate_left(1);
            self.known -= 1;
        }
        self.times[self.known] = t;
        self.known += 1;
        if self.known < TIMES {
            (self.since, self.shrinking) = (self.times[0], self.times[0]);
            return None;
        }
        let intervals: [f64; TIMES - 1] = std::array::from_fn(|k| self.times[k + 1] - self.times[k]);
        let [first, .., before, last] = intervals;
        if last >= before {
            self.shrinking = self.times[TIMES - 2];
        }
        let ratio = (last / first).cbrt();
        // the times themselves are rounded
        let rounding = 4.0 * f64::EPSILON * t.abs() / last;
        let steady = |pair: &[f64]| (pair[1] / pair[0] / ratio - 1.0).abs() <= CONSTANT + rounding;
        let usable = (LEAST_RATIO..1.0).contains(&ratio) && rounding <= 0.1;
        let is_steady = usable && intervals.windows(2).all(steady);
        if !is_steady {
            self.since = self.times[1];
        }
        if !usable || self.shrinking > self.times[0] {
            return None;
        }
        let rest = last * ratio / (1.0 - ratio);
        let near = (is_steady && rest < REST * (t - self.since)) || rest < UNSTEADY_REST * (t - self.shrinking);
        near.then_some(Limit { t: t + rest, ratio })
    }

    /// The limit of the event executed at `t`, if its next executions are within rounding of each other.
    pub fn at_rounding(&self, t: f64) -> Option<Limit> {
        if self.known < TIMES || self.times[TIMES - 1] != t || self.shrinking > self.times[0] {
            return None;
        }
        let last = t - self.times[TIMES - 2];
        let ratio = (last / (self.times[1] - self.times[0])).cbrt();
        (LEAST_RATIO..1.0).contains(&ratio).then(|| Limit { t: t + last * ratio / (1.0 - ratio), ratio })
    }
}

#[cfg(test)]
mod tests {
    use super::Accumulation;

    #[test]
    fn limits_of_balls_are_exact() {
        for e in [0.3f64, 0.8, 0.99] {
            let fall = (2.0 / 9.81f64).sqrt();
            let exact = fall * (1.0 + e) / (1.0 - e);
            let mut track = Accumulation::default();
            let (mut t, mut flight, mut count) = (fall, 2.0 * fall, 0);
            let limit = loop {
                count += 1;
                if let Some(limit) = track.note(t) {
                    break limit;
                }
                flight *= e;
                t += flight;
                assert!(count < 3_000);
            };
            assert!((limit.t - exact).abs() < 1e-9 * exact, "{e}: {:e}", limit.t - exact);
            assert!((limit.ratio - e).abs() < 1e-4 && exact - t < 2e-8 * exact, "{e}: {count}");
        }
    }

    #[test]
    fn an_ongoing_oscillation_has_no_limit() {
        // equal intervals; 1/k, whose sum is infinite; sparse and dense in turn
        let mut equal = Accumulation::default();
        let mut harmonic = Accumulation::default();
        let mut turns = Accumulation::default();
        let (mut t, mut u) = (0.0, 0.0);
        for k in 1..100_000 {
            t += 1.0 / f64::from(k);
            u += if k % 2 == 0 { 1e-9 } else { 1.0 };
            assert!(equal.note(f64::from(k)).is_none() && harmonic.note(t).is_none() && turns.note(u).is_none());
        }
    }
}
