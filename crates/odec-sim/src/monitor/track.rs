//! Course of one state: its extrema at the ends of steps and in the rows, and its turning points.

/// Fraction of the range so far by which a state must return for a turning point.
const TURNING_FRACTION: f64 = 0.05;
/// Least return in tolerances: steps that stability limits make the state turn every few steps by some tolerances.
const TURNING_TOLERANCES: f64 = 100.0;
/// Growth of the range by which earlier turning points become too small to count.
const OUTGROWN: f64 = 4.0;
/// Number of consecutive steps with opposite changes that count as an alternation.
const ALTERNATIONS: u32 = 24;
/// Least relative change of a state in each of these steps.
const LEAST_RELATIVE_CHANGE: f64 = 1e-6;
/// Least change in each of these steps, relative to the range of the state.
const LEAST_CHANGE: f64 = 1e-3;

/// An extreme of a state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extreme {
    /// The value.
    pub value: f64,
    /// When.
    pub t: f64,
    /// Length of the step that ended there.
    pub h: f64,
}

/// Course of one state.
#[derive(Clone, Debug)]
pub struct Track {
    /// Place in y.
    pub place: usize,
    /// Relative and absolute tolerance.
    tolerances: [f64; 2],
    /// Extremes at the ends of steps.
    pub low: Extreme,
    /// See [`Track::low`].
    pub high: Extreme,
    /// Extremes of the rows.
    pub row_low: f64,
    /// See [`Track::row_low`].
    pub row_high: f64,
    /// Number of turning points in the examined steps.
    pub turns: f64,
    /// Number of times that a turning point followed another within consecutive examined steps, and the total time
    /// between them.
    pub halves: (f64, f64),
    /// When the last turning point was.
    pub last_turn: f64,
    /// Time of the last turning point within the current consecutive steps.
    turned: f64,
    /// The last values.
    t: f64,
    y: f64,
    /// Extreme since the last turning point, and the direction of motion: 1, -1, or 0 if not known.
    extreme: f64,
    way: f64,
    /// The range that turning points were counted at.
    base: f64,
    change: f64,
    alternating: u32,
}

impl Track {
    /// Creates the track of the state at an index in y, with its relative and absolute tolerance.
    pub fn new(place: usize, tolerances: [f64; 2]) -> Track {
        let none = Extreme { value: f64::NAN, t: f64::NAN, h: 0.0 };
        Track {
            place,
            tolerances,
            low: none,
            high: none,
            row_low: f64::INFINITY,
            row_high: f64::NEG_INFINITY,
            turns: 0.0,
            halves: (0.0, 0.0),
            last_turn: f64::NAN,
            turned: f64::NAN,
            t: f64::NAN,
            y: f64::NAN,
            extreme: f64::NAN,
            way: 0.0,
            base: 0.0,
            change: 0.0,
            alternating: 0,
        }
    }

    /// Turning points, unless the range has outgrown them since.
    pub fn counted(&self) -> f64 {
        if self.range() > OUTGROWN * self.base { 0.0 } else { self.turns }
    }

    /// The range of the state.
    pub fn range(&self) -> f64 {
        self.high.value - self.low.value
    }

    /// The start of a run.
    pub(super) fn start(&mut self, t: f64, y: &[f64]) {
        let value = y[self.place];
        let extreme = Extreme { value, t, h: 0.0 };
        (self.low, self.high) = (extreme, extreme);
        (self.t, self.y, self.extreme) = (t, value, value);
    }

    /// A row before the first step. The value before an event at the start is in no row, and is no minimum.
    pub(super) fn event_at_start(&mut self, t: f64, y: &[f64]) {
        if t == self.t {
            self.start(t, y);
        }
    }

    /// A row.
    #[inline]
    pub(super) fn row(&mut self, y: &[f64]) {
        let y = y[self.place];
        self.row_low = if y < self.row_low { y } else { self.row_low };
        self.row_high = if y > self.row_high { y } else { self.row_high };
    }

    /// Examines the end of a step; `joined` is true if it directly follows the previous one.
    #[inline]
    pub(super) fn observe(&mut self, t: f64, y: &[f64], joined: bool) {
        let y = y[self.place];
        // the usual case: the state moves on, within its range
        if joined && self.way * (y - self.extreme) > 0.0 && y >= self.low.value && y <= self.high.value {
            (self.extreme, self.t, self.y) = (y, t, y);
            return;
        }
        if y < self.low.value {
            self.low = Extreme { value: y, t, h: if joined { t - self.t } else { 0.0 } };
        } else if y > self.high.value {
            self.high = Extreme { value: y, t, h: if joined { t - self.t } else { 0.0 } };
        }
        if joined {
            self.turn(t, y);
        } else {
            (self.way, self.extreme, self.turned) = (0.0, y, f64::NAN);
        }
        (self.t, self.y) = (t, y);
    }

    /// The state after an event; `joined` is true if the step before it was examined.
    pub(super) fn jump(&mut self, t: f64, y: &[f64], joined: bool) {
        if joined && self.t == t {
            self.observe(t, y, true);
            return;
        }
        let value = y[self.place];
        let extreme = Extreme { value, t, h: 0.0 };
        if value < self.low.value {
            self.low = extreme;
        } else if value > self.high.value {
            self.high = extreme;
        }
    }

    /// True if the state alternates from step to step. The caller calls it before [`Track::look`].
    #[inline]
    pub(super) fn alternates(&mut self, y: &[f64], joined: bool) -> bool {
        let y = y[self.place];
        let change = y - self.y;
        let undone = joined
            && change * self.change < 0.0
            && change.abs() > LEAST_RELATIVE_CHANGE * y.abs()
            && change.abs() > LEAST_CHANGE * self.range();
        self.alternating = if undone { self.alternating + 1 } else { 0 };
        self.change = change;
        self.alternating >= ALTERNATIONS
    }

    /// Detects a turning point.
    #[inline]
    fn turn(&mut self, t: f64, y: f64) {
        let back = (self.extreme - y) * if self.way == 0.0 { 1.0 } else { self.way };
        if self.way != 0.0 && back <= 0.0 {
            self.extreme = y;
            return;
        }
        let range = self.range();
        let [rtol, atol] = self.tolerances;
        if back.abs() <= TURNING_FRACTION * range || back.abs() <= TURNING_TOLERANCES * (atol + rtol * y.abs()) {
            return;
        }
        if self.way == 0.0 {
            (self.way, self.extreme) = (if back < 0.0 { 1.0 } else { -1.0 }, y);
            return;
        }
        if range > OUTGROWN * self.base {
            (self.base, self.turns, self.halves, self.turned) = (range, 0.0, (0.0, 0.0), f64::NAN);
        }
        self.turns += 1.0;
        if !self.turned.is_nan() {
            self.halves = (self.halves.0 + 1.0, self.halves.1 + (t - self.turned).abs());
        }
        (self.turned, self.last_turn) = (t, t);
        (self.way, self.extreme) = (-self.way, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(f: impl Fn(f64) -> f64, steps: u32, h: f64) -> Track {
        let mut track = Track::new(0, [1e-6, 1e-9]);
        track.start(0.0, &[f(0.0)]);
        for k in 1..=steps {
            let t = f64::from(k) * h;
            track.observe(t, &[f(t)], true);
        }
        track
    }

    #[test]
    fn an_oscillation_turns_twice_a_cycle() {
        let track = of(|t| (std::f64::consts::TAU * t).sin(), 2000, 0.01);
        assert!((track.turns - 40.0).abs() <= 2.0, "{}", track.turns);
        assert!((track.halves.1 / track.halves.0 - 0.5).abs() < 0.01, "{:?}", track.halves);
        assert!(track.range() > 1.99);
    }

    #[test]
    fn the_length_of_a_cycle_does_not_depend_on_how_many_steps_are_looked_at() {
        // all steps at first, later 32 of 1,024
        for steps in [1024u32, 1060, 2000, 20_000] {
            let mut track = Track::new(0, [1e-6, 1e-9]);
            let value = |t: f64| (std::f64::consts::TAU * t).sin();
            track.start(0.0, &[0.0]);
            for k in 1..=steps {
                let t = f64::from(k) * 0.05;
                if k <= 1024 || k % 1024 < 32 {
                    track.observe(t, &[value(t)], k <= 1024 || k % 1024 > 0);
                }
            }
            let cycle = 2.0 * track.halves.1 / track.halves.0;
            assert!((cycle - 1.0).abs() < 0.02, "{steps}: {cycle}");
        }
    }

    #[test]
    fn ripples_on_a_large_change_are_no_oscillation() {
        let track = of(|t| 10.0 * t + 0.1 * (std::f64::consts::TAU * t).sin(), 2000, 0.01);
        assert_eq!(track.turns, 0.0);
        // of a growing oscillation only the last cycles count
        let growing = of(|t| (0.5 * t).exp() * (std::f64::consts::TAU * t).sin(), 2000, 0.01);
        assert!(growing.turns < 12.0, "{}", growing.turns);
    }

    #[test]
    fn turns_at_the_tolerance_are_no_oscillation() {
        // noise of ten tolerances on a state that hardly moves while all steps are examined
        let noise = |k: u32| if k.is_multiple_of(2) { 1e-5 } else { -1e-5 };
        let mut track = Track::new(0, [1e-6, 1e-9]);
        track.start(0.0, &[1.0]);
        for k in 1..=1000 {
            track.observe(f64::from(k), &[1.0 + noise(k)], true);
        }
        assert_eq!(track.turns, 0.0);
        // turning points of a small range do not count once the range is large
        let mut track = Track::new(0, [1e-6, 1e-9]);
        track.start(0.0, &[1.0]);
        for k in 1..=1000 {
            track.observe(f64::from(k), &[1.0 + 100.0 * noise(k)], true);
        }
        assert!(track.counted() > 900.0, "{}", track.counted());
        track.observe(1001.0, &[0.0], true);
        assert!(track.counted() < 2.0, "{}", track.counted());
    }

    #[test]
    fn steps_that_undo_one_another_alternate_and_slow_turns_do_not() {
        let alternating = |f: &dyn Fn(u32) -> f64| {
            let mut track = Track::new(0, [1e-6, 1e-9]);
            track.start(0.0, &[f(0)]);
            (1..200).any(|k| {
                let alternates = track.alternates(&[f(k)], true);
                track.observe(f64::from(k), &[f(k)], true);
                alternates
            })
        };
        assert!(alternating(&|k| if k.is_multiple_of(2) { 1.0 } else { -1.0 }));
        assert!(!alternating(&|k| f64::from(k).sin()));
        // the last bits of a state at rest
        assert!(!alternating(&|k| if k.is_multiple_of(2) { 1.0 } else { 1.0 + 1e-12 }));
    }
}
