//! Ends of steps at the pulses of terms of t alone, or of states that count time. At rest, error estimates are zero
//! for any step size, and a pulse shorter than the distance of two stages would be missed. So a step that is longer
//! than a pulse ends at its begin, its middle and its end; within the pulse, the error estimate takes over.
//!
//! Near the zero of a root or a broken power, such as `cbrt(t - 1)`, the estimates of all methods can be far too small by
//! chance: they compare formulas that agree on polynomials. So steps become shorter towards such a time by a constant
//! factor, and longer after it. Within each of these steps the term is smooth, and the step over the time itself is
//! so short that its error does not matter.

use crate::accelerated::TimeFeature;
use crate::evaluator::Evaluator;

/// Distance of the begin and the end of a pulse from its middle, in widths.
const HALF_WIDTH: f64 = 2.0;
/// Offset of the mark in the middle from the middle itself, in widths: `cbrt(t - 1)` has no finite derivative there.
const OFF: f64 = 1.0 / 1024.0;
/// A step that ends this close to a mark, in widths, has reached it.
const MET: f64 = 1e-3;
/// Ratio of the distances of neighbouring marks from the zero of a root.
const GRADE: f64 = 0.125;
/// A step may pass a mark beside the zero of a root if it is shorter than this part of the distance.
const FINE: f64 = 0.5;
/// The error of the step over the zero of a root, relative to a step of the width of the root: as a part of `rtol`, and
/// the power with which the length of a step over a cubic root depends on it. Other roots differ mainly in their width.
const CROSSED: (f64, f64) = (0.3, 0.75);
/// Smallest distance of a mark from the zero of a root, in rounding errors of t.
const SHORTEST: f64 = 1024.0;
/// Largest number of marks beside the zeros of roots.
const MARKS: usize = 1_000_000;

/// Times at which steps end that are longer than the width of the pulse.
#[derive(Clone, Debug, Default)]
pub(crate) struct FeatureMarks {
    /// Pulses that occur once, in order of time.
    once: Vec<TimeFeature>,
    /// Periodic pulses, the shortest first.
    again: Vec<TimeFeature>,
    /// True if some are beside the zeros of roots.
    graded: bool,
}

impl FeatureMarks {
    /// The marks of a run with this `rtol` from a time and the state there to its end.
    pub(crate) fn of(eval: &Evaluator<'_>, at: (f64, &[f64]), to: f64, rtol: f64) -> FeatureMarks {
        let from = at.0;
        FeatureMarks::of_all(&eval.system().narrow(at, from.min(to), from.max(to)), (from, to), rtol)
    }

    fn of_all(all: &[TimeFeature], (from, to): (f64, f64), rtol: f64) -> FeatureMarks {
        let grades = ((CROSSED.0 * rtol).ln() * CROSSED.1 / GRADE.ln()).ceil().max(1.0);
        let most = MARKS / (2 * all.iter().filter(|narrow| narrow.root).count().max(1));
        let grades = (grades as usize).min(most);
        let latest = if to.is_finite() { from.abs().max(to.abs()) } else { from.abs() };
        let least = SHORTEST * f64::EPSILON * latest;
        let mut marks = Vec::new();
        for &narrow in all {
            let TimeFeature { t, width, .. } = narrow;
            let beside = |side: f64| TimeFeature { t: t + side * width, ..narrow };
            if narrow.root {
                let away = (0..=grades).map(|k| GRADE.powi(k as i32)).take_while(|away| away * width > least);
                let both = away.flat_map(|away| [-away, away]);
                marks.extend(both.map(|side| TimeFeature { width: FINE * side.abs() * width, ..beside(side) }));
            } else {
                // steps cannot end at the sides of a pulse that is as short as rounding errors of t
                let sides = match width {
                    0.0 => &[0.0][..],
                    width if width < least => &[],
                    _ => &[-HALF_WIDTH, OFF, HALF_WIDTH],
                };
                marks.extend(sides.iter().map(|side| beside(*side)));
            }
        }
        FeatureMarks::from(marks)
    }

    fn from(mut marks: Vec<TimeFeature>) -> FeatureMarks {
        let graded = marks.iter().any(|mark| mark.root);
        marks.sort_by(|a, b| a.t.total_cmp(&b.t));
        let (mut again, once): (Vec<TimeFeature>, Vec<TimeFeature>) =
            marks.into_iter().partition(|mark| mark.every.is_some());
        again.sort_by(|a, b| a.width.total_cmp(&b.width));
        FeatureMarks { once, again, graded }
    }

    /// The step to try from `t` and its end, where `step` is the proposal. A step of one width may pass a mark, so that
    /// the marks of many pulses close together do not end steps one by one.
    pub(crate) fn cut(&self, t: f64, step: (f64, f64)) -> (f64, f64) {
        let (h, wished) = step;
        let mut end = wished;
        let shortened = |mark: &TimeFeature, at: f64, end: f64| {
            let at = if (at - t).abs() < mark.width { t + mark.width.copysign(h) } else { at };
            if (at - t).abs() < (end - t).abs() { at } else { end }
        };
        let apart = |mark: &&TimeFeature| (mark.t - t).abs() > MET * mark.width;
        if h > 0.0 {
            let first = self.once.partition_point(|mark| mark.t <= t);
            for mark in self.once[first..].iter().filter(apart) {
                if mark.t >= end {
                    break;
                }
                end = shortened(mark, mark.t, end);
            }
        } else {
            let last = self.once.partition_point(|mark| mark.t < t);
            for mark in self.once[..last].iter().rev().filter(apart) {
                if mark.t <= end {
                    break;
                }
                end = shortened(mark, mark.t, end);
            }
        }
        for mark in &self.again {
            // sorted by width: the others are not shorter
            if mark.width >= (end - t).abs() {
                break;
            }
            end = shortened(mark, next(mark, t, h), end);
        }
        if end == wished { step } else { (end - t, end) }
    }

    /// True if a step that ends at `t` ends at a pole.
    pub(crate) fn is_pole(&self, t: f64) -> bool {
        // both lists are sorted: by time, and by width
        let first = self.once.partition_point(|mark| mark.t < t);
        let mut here = self.once[first..].iter().take_while(|mark| mark.t == t);
        let mut again = self.again.iter().take_while(|mark| mark.width == 0.0);
        let there = |mark: &TimeFeature, period: f64| mark.t + ((t - mark.t) / period).round() * period == t;
        here.any(|mark| mark.width == 0.0 && !mark.root)
            || again.any(|mark| !mark.root && mark.every.is_some_and(|period| there(mark, period)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.once.is_empty() && self.again.is_empty()
    }

    /// True if there are roots, after whose zeros steps grow from very short ones.
    pub(crate) fn are_graded(&self) -> bool {
        self.graded
    }
}

/// The next time of a periodic mark in the direction of a step.
fn next(mark: &TimeFeature, t: f64, h: f64) -> f64 {
    let Some(period) = mark.every else { return f64::INFINITY };
    let turn = (t - mark.t) / period;
    let first = if h > 0.0 { turn.floor() + 1.0 } else { turn.ceil() - 1.0 };
    let at = |turn: f64| mark.t + turn * period;
    // by rounding, the first one may be the mark at which the last step ended
    if (at(first) - t).abs() > MET * mark.width { at(first) } else { at(first + h.signum()) }
}

#[cfg(test)]
mod tests {
    use super::{FeatureMarks, TimeFeature};

    #[test]
    fn marks_that_come_again_are_met_each_time_in_both_directions() {
        let marks = FeatureMarks::from(vec![
            TimeFeature { t: 0.3, width: 0.01, every: Some(1.0), root: false },
            TimeFeature { t: 2.5, width: 0.01, every: None, root: false },
        ]);
        let mut t = 0.0;
        let mut met = vec![];
        while t < 4.0 {
            t = marks.cut(t, (4.0 - t, 4.0)).1;
            met.push((t * 10.0).round());
        }
        assert_eq!(met, [3.0, 13.0, 23.0, 25.0, 33.0, 40.0]);
        met.clear();
        while t > 0.0 {
            t = marks.cut(t, (-t, 0.0)).1;
            met.push((t * 10.0).round());
        }
        assert_eq!(met, [33.0, 25.0, 23.0, 13.0, 3.0, 0.0]);
        // a pole has no width; far away from its first time, each later pole is met once
        let poles = FeatureMarks::from(vec![TimeFeature { t: 0.1, width: 0.0, every: Some(0.7), root: false }]);
        let first = poles.cut(1e6, (10.0, 1e6 + 10.0)).1;
        let second = poles.cut(first, (10.0, first + 10.0)).1;
        assert!((second - first - 0.7).abs() < 1e-9, "{first} {second}");
        assert!(poles.is_pole(first) && poles.is_pole(second) && !poles.is_pole(1e6) && !marks.is_pole(0.3));
        assert_eq!(marks.cut(0.295, (0.004, 0.299)), (0.004, 0.299));
    }

    #[test]
    fn long_steps_end_at_the_next_mark_and_short_ones_pass() {
        let at = |t: f64, width: f64| TimeFeature { t, width, every: None, root: false };
        let marks = FeatureMarks::from(vec![at(5.0, 0.1), at(8.0, 0.5)]);
        assert_eq!(marks.cut(0.0, (10.0, 10.0)), (5.0, 5.0));
        assert_eq!(marks.cut(5.0, (5.0, 10.0)), (3.0, 8.0));
        assert_eq!(marks.cut(4.99, (0.05, 5.04)), (0.05, 5.04));
        assert_eq!(marks.cut(7.9, (0.4, 8.3)), (0.4, 8.3));
        assert_eq!(marks.cut(10.0, (-10.0, 0.0)), (-2.0, 8.0));
        assert_eq!(marks.cut(8.0, (-8.0, 0.0)), (-3.0, 5.0));
        // many marks closer together than their width end no step that is shorter than the width
        let crowd = FeatureMarks::from((0..1000).map(|k| at(f64::from(k) * 0.01, 0.5)).collect());
        assert_eq!(crowd.cut(0.28125, (4.0, 4.28125)), (0.5, 0.78125));
        assert_eq!(crowd.cut(0.28125, (0.375, 0.65625)), (0.375, 0.65625));
        assert_eq!(crowd.cut(4.28125, (-4.0, 0.28125)), (-0.5, 3.78125));
        // a step that ended next to it by rounding
        assert_eq!(marks.cut(5.0 - 1e-6, (1.0, 6.0 - 1e-6)), (1.0, 6.0 - 1e-6));
    }

    #[test]
    fn marks_beside_the_zero_of_a_root_lie_ever_closer() {
        let root = TimeFeature { t: 1.0, width: 0.5, every: None, root: true };
        let marks = FeatureMarks::of_all(&[root], (0.0, 4.0), 1e-6);
        assert!(marks.are_graded());
        let (mut t, mut ends) = (0.0, vec![]);
        while t < 4.0 {
            t = marks.cut(t, (4.0 - t, 4.0)).1;
            ends.push(t);
        }
        let away: Vec<f64> = ends.iter().map(|t| t - 1.0).collect();
        let before = away.iter().filter(|away| **away < 0.0).count();
        assert!(before >= 5 && away.len() == 2 * before + 1, "{away:?}");
        assert!(away[..before].is_sorted() && away[before - 1] > -1e-4, "{away:?}");
        (0..before).for_each(|k| assert!((away[k] + away[2 * before - 1 - k]).abs() < 1e-12, "{away:?}"));
        // a step that is short compared with its distance passes a mark
        assert_eq!(marks.cut(0.45, (0.1, 0.55)), (0.1, 0.55));
        // rounding of a late t allows fewer
        let late = FeatureMarks::of_all(&[TimeFeature { t: 1e9, ..root }], (0.0, 2e9), 1e-6);
        assert!(late.once.len() < marks.once.len(), "{}", late.once.len());
    }
}
