//! Accumulation of an event: infinitely many in a finite time (Zeno), as of a ball that bounces lower and lower.
//!
//! Where four intervals in turn shrink by one ratio q, D being the last, the times go to t + D q/(1-q).

/// Times that are kept: four intervals.
const TIMES: usize = 5;
/// Largest difference of two ratios, relative, that counts as none.
const CONSTANT: f64 = 1e-3;
/// The rest, as a part of the sequence so far, below which the accumulation is acted on.
const REST: f64 = 1e-8;
/// Smallest q: below it the next few events reach the rounding of t, and nothing accumulates that is not one event.
const LEAST_RATIO: f64 = 1e-6;

/// The times at which one event was executed last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accumulation {
    times: [f64; TIMES],
    known: usize,
    /// Where the sequence with a constant ratio began.
    since: f64,
}

/// Where an event accumulates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The time.
    pub t: f64,
    /// The ratio of its intervals.
    pub ratio: f64,
}

impl Accumulation {
    /// The event is executed at `t`; says where its times go to, if that is so near that nothing is left to be seen
    /// of it.
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
            self.since = self.times[0];
            return None;
        }
        let intervals: [f64; TIMES - 1] = std::array::from_fn(|k| self.times[k + 1] - self.times[k]);
        let [first, .., last] = intervals;
        let ratio = (last / first).cbrt();
        // the times themselves are rounded
        let rounding = 4.0 * f64::EPSILON * t.abs() / last;
        let steady = |pair: &[f64]| (pair[1] / pair[0] / ratio - 1.0).abs() <= CONSTANT + rounding;
        if !(LEAST_RATIO..1.0).contains(&ratio) || rounding > 0.1 || !intervals.windows(2).all(steady) {
            self.since = self.times[1];
            return None;
        }
        let rest = last * ratio / (1.0 - ratio);
        (rest < REST * (t - self.since)).then_some(Limit { t: t + rest, ratio })
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
    fn what_goes_on_has_no_limit() {
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
