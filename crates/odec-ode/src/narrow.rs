//! Ends of steps at the pulses of terms of t alone. While nothing moves, error estimates see no error however long
//! the step: a pulse shorter than the distance of two stages would be lost. So a step that is longer than a pulse
//! ends where it begins, in its middle, and where it ends; from there the error estimate does the rest.

use crate::accelerated::Narrow;
use crate::evaluator::Evaluator;

/// Distance of the begin and the end of a pulse from its middle, in widths.
const BESIDE: f64 = 2.0;
/// A step that ended so near to such a time, in widths, has met it.
const MET: f64 = 1e-3;

/// Times at which steps end that are longer than a width.
#[derive(Clone, Debug, Default)]
pub(crate) struct Landmarks(Vec<Narrow>);

impl Landmarks {
    /// Between two times of a run.
    pub(crate) fn of(eval: &Evaluator<'_>, from: f64, to: f64) -> Landmarks {
        if eval.autonomous() {
            return Landmarks::default();
        }
        let mut marks = Vec::new();
        for Narrow { t, width } in eval.system().narrow(from.min(to), from.max(to)) {
            let sides = if width > 0.0 { &[-BESIDE, 0.0, BESIDE][..] } else { &[0.0] };
            marks.extend(sides.iter().map(|side| Narrow { t: t + side * width, width }));
        }
        marks.sort_by(|a, b| a.t.total_cmp(&b.t));
        Landmarks(marks)
    }

    /// The step to try from `t` and its end, where `step` is what was wished.
    pub(crate) fn cut(&self, t: f64, step: (f64, f64)) -> (f64, f64) {
        let (h, end) = step;
        let met = |mark: &&Narrow| (mark.t - t).abs() > MET * mark.width && h.abs() > mark.width;
        let found = if h > 0.0 {
            let first = self.0.partition_point(|mark| mark.t <= t);
            self.0[first..].iter().take_while(|mark| mark.t < end).find(met)
        } else {
            let last = self.0.partition_point(|mark| mark.t < t);
            self.0[..last].iter().rev().take_while(|mark| mark.t > end).find(met)
        };
        found.map_or(step, |mark| (mark.t - t, mark.t))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{Landmarks, Narrow};

    #[test]
    fn long_steps_end_at_the_next_mark_and_short_ones_pass() {
        let marks = Landmarks(vec![Narrow { t: 5.0, width: 0.1 }, Narrow { t: 8.0, width: 0.5 }]);
        assert_eq!(marks.cut(0.0, (10.0, 10.0)), (5.0, 5.0));
        assert_eq!(marks.cut(5.0, (5.0, 10.0)), (3.0, 8.0));
        assert_eq!(marks.cut(4.99, (0.05, 5.04)), (0.05, 5.04));
        assert_eq!(marks.cut(7.9, (0.4, 8.3)), (0.4, 8.3));
        assert_eq!(marks.cut(10.0, (-10.0, 0.0)), (-2.0, 8.0));
        assert_eq!(marks.cut(8.0, (-8.0, 0.0)), (-3.0, 5.0));
        // a step that ended beside it by rounding
        assert_eq!(marks.cut(5.0 - 1e-6, (1.0, 6.0 - 1e-6)), (1.0, 6.0 - 1e-6));
    }
}
