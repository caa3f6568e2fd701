//! The zeros and extrema of terms of t that are neither linear nor waves, such as `t^2/100 - 12` or
//! `sin(w*t*(1 + t))`: found by sampling.

use std::f64::consts::TAU;

use odec_ode::accelerated::TimeFeature;

use super::RapidChanges;
use super::form::{Form, Inner};
use super::view::{View, WAVE_WIDTH};

/// Number of equal intervals in which a term is sampled first, and the most.
const INTERVALS: (usize, usize) = (1 << 11, 1 << 17);
/// Largest number of values in an analysis.
pub(super) const MOST: usize = 4_000_000;
/// Largest number of values in the first sampling of all terms. If there are many terms, each has fewer intervals.
const FIRST: usize = 1_000_000;
/// Least number of intervals of a term.
const COARSE: usize = 32;
/// Growth of the number of intervals while the term has more turns than one in [`RESOLVED`] of them.
const FINER: usize = 8;
const RESOLVED: usize = 8;
/// Least number of samples in a cycle of a wave.
const SAMPLES_OF_CYCLE: f64 = 16.0;
/// Number of times that the interval at the start is halved: a run may begin with a much shorter scale of time.
const HALVED: i32 = 40;
/// Number of times that an interval around a zero or an extremum is divided.
const DIVIDED: usize = 60;
/// Part of an interval that a step of the golden section keeps.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The zeros and extrema of a term, ascending.
#[derive(Default)]
struct Turns {
    zeros: Vec<f64>,
    extrema: Vec<f64>,
}

impl View<'_> {
    /// The rapid changes around the zeros and extrema of a term of another form. If the term is not `open`, only its
    /// own extrema count.
    pub(super) fn others(
        &mut self,
        u: usize,
        (open, cone): (bool, &[usize]),
        span: (f64, f64),
        found: &mut RapidChanges,
    ) {
        if !(span.1.is_finite() && span.1 > span.0) {
            return;
        }
        self.below = self.depends(u);
        let Some(turns) = self.turns(span) else {
            if self.table.hidden[u] {
                // at least so many extrema, of which a wave has two in each period
                let extrema = (INTERVALS.1 / RESOLVED) as f64;
                let period = 2.0 * (span.1 - span.0) / extrema;
                found.fast.get_or_insert((self.table.spans[u], period, 2.0 * extrema));
            }
            return;
        };
        if open {
            for &middle in turns.zeros.iter().chain(&turns.extrema) {
                if !self.may_scan(View::values_of(cone)) {
                    break;
                }
                let widths = self.width(u, cone, middle, span);
                found.narrow.extend(widths.narrow(middle, None));
            }
        }
        if self.table.hidden[u] {
            for (k, &t) in turns.extrema.iter().enumerate() {
                let before = if k > 0 { turns.extrema[k - 1] } else { span.0 };
                let after = turns.extrema.get(k + 1).copied().unwrap_or(span.1);
                // neighbouring extrema of a wave are half a period apart
                let width = 2.0 * WAVE_WIDTH * (t - before).min(after - t);
                found.narrow.push(TimeFeature { t, width, every: None, root: false });
            }
        }
    }

    /// True if so many values may still be computed. Without them, only linear functions and waves are analysed.
    fn may_scan(&mut self, values: usize) -> bool {
        let may = values <= self.scans;
        if may {
            self.scans -= values;
        }
        may
    }

    /// The terms on which a term depends and which depend on t, then the term itself.
    fn depends(&self, u: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut open = vec![u];
        while let Some(k) = open.pop() {
            found.push(k);
            if self.forms[k] == Form::Other {
                let varying = self.table.terms[k].operands().iter().map(|i| *i as usize);
                open.extend(varying.filter(|i| self.table.varies[*i]));
            }
        }
        // each term comes after its operands
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The zeros and extrema in a span; `None` if there are too many.
    fn turns(&mut self, span: (f64, f64)) -> Option<Turns> {
        let below = std::mem::take(&mut self.below);
        let share = FIRST / (self.others.max(1) * below.len());
        // fewer samples of a wave would show a slower one
        let rates = below.iter().filter_map(|k| match self.forms[*k] {
            Form::Scaled { inner: Inner::Wave { rate, .. }, .. } => Some(rate.abs()),
            _ => None,
        });
        let cycles = rates.fold(0.0, f64::max) * (span.1 - span.0) / TAU;
        let least = (cycles * SAMPLES_OF_CYCLE).min(f64::from(u32::MAX)) as usize;
        let mut intervals = share.clamp(COARSE, INTERVALS.0).max(least);
        let turns = loop {
            if intervals > INTERVALS.1 {
                break None;
            }
            if !self.may_scan(intervals * below.len()) {
                break None;
            }
            let turns = self.sampled(&below, span, intervals);
            if turns.zeros.len().max(turns.extrema.len()) <= intervals / RESOLVED {
                break Some(turns);
            }
            intervals *= FINER;
        };
        self.below = below;
        turns
    }

    fn sampled(&mut self, below: &[usize], (from, to): (f64, f64), intervals: usize) -> Turns {
        let first = (to - from) / intervals as f64;
        let halved = (1..=HALVED).rev().map(|k| from + first * 0.5_f64.powi(k));
        let even = (1..=intervals).map(|k| from + (to - from) * (k as f64 / intervals as f64));
        let mut turns = Turns::default();
        // the last two points
        let mut last = [(f64::NAN, f64::NAN), (from, self.value(below, from))];
        for t in halved.chain(even) {
            let v = self.value(below, t);
            let [(t0, v0), (t1, v1)] = last;
            if v1 == 0.0 {
                // the edge of an interval in which the term is 0, or a zero at a point
                if v0 != v || v != 0.0 {
                    turns.zeros.push(t1);
                }
            } else if v1 * v < 0.0 {
                let zero = self.zero(below, (t1, t), v1);
                // at a pole, the sign changes too
                if self.value(below, zero).abs() <= v1.abs().max(v.abs()) {
                    turns.zeros.push(zero);
                }
            }
            if (v1 - v0) * (v - v1) < 0.0 {
                turns.extrema.push(self.extremum(below, (t0, t), v1 > v0));
            }
            last = [(t1, v1), (t, v)];
        }
        turns
    }

    /// A zero between two times; `value` is the value at the first.
    fn zero(&mut self, below: &[usize], (mut from, mut to): (f64, f64), value: f64) -> f64 {
        for _ in 0..DIVIDED {
            let middle = 0.5 * (from + to);
            if self.value(below, middle) * value > 0.0 {
                from = middle;
            } else {
                to = middle;
            }
        }
        to
    }

    /// The largest or least value between two times, by the golden section.
    fn extremum(&mut self, below: &[usize], (mut from, mut to): (f64, f64), largest: bool) -> f64 {
        let sign = if largest { 1.0 } else { -1.0 };
        for _ in 0..DIVIDED {
            let (left, right) = (to - GOLDEN * (to - from), from + GOLDEN * (to - from));
            if sign * self.value(below, left) >= sign * self.value(below, right) {
                to = right;
            } else {
                from = left;
            }
        }
        0.5 * (from + to)
    }
}
