//! Finds the relations that cannot change in a step, from bounds of the states.
//!
//! For affine relations there is a box around a step: while the states stay in it, none of these relations changes. A
//! relation that reads a single state bounds that state exactly. If a relation reads several states, they share its
//! distance from zero in proportion to their past movements.
//!
//! Relations that are not affine bound the box too, if the system can enclose their sides over it ([`nonlinear`]).
//!
//! For most steps, the end of the step alone shows that the step is inside the box. If the four control points of its
//! ends ([`Ends`]) lie within r of c, the whole step lies within 1.5 r of c: the dense output leaves the hull of these
//! points, whose width is at most 2 r, by at most a quarter of its width. Two of the points were checked at the end of
//! the previous step. So even a hundred relations that are far from a change cost only the test `|y - c| + reach |f|
//! <= r` for each state.

mod nonlinear;

use crate::control::Tolerances;
use crate::hybrid::locate::SIDES;
use crate::hybrid::system::{AffineRows, HybridSystem};
use crate::simd::{Pass, vectorised};
use nonlinear::{BoxBounds, NonlinearRelations, StepRange};

/// A relation whose distance from zero is below this multiple of its variation over a step is checked separately and
/// does not bound the box.
const NEAR: f64 = 2.0;
/// Above this multiple, it bounds the box again.
const NEAR_NO_MORE: f64 = 4.0;
/// Fraction of the distance that is used; the rest is a margin for rounding.
const SAFE: f64 = 0.99;
/// Value of `seen` if no step has been seen.
const NOT_SEEN: (f64, f64) = (f64::NAN, 0.0);
/// The box is compared state by state if relations read at most this fraction (1/8) of the states, and in one
/// vectorised pass otherwise.
const SPARSE_DIVISOR: usize = 8;
/// A state that has not moved yet is expected to move by this fraction of its size.
const FIRST_MOVEMENT: f64 = 1e-6;
/// Fraction of its past range by which a state is expected to exceed the range.
const RANGE_EXCESS: f64 = 0.5;
/// When a relation with a time coefficient is shared out, time is expected to advance by this number of steps.
const EXPECTED_STEPS: f64 = 100.0;
/// How far the dense output may leave the hull of the cubic through both ends of a step, as a fraction of the width of
/// the hull. In 6,991 pairs of step and component it never left the hull itself.
const WIDENED: f64 = 0.25;

/// States of a stiff step may leave the dense output by some tolerances ([`crate::runner::Runner::may_leave`]). So the
/// radius is smaller by this number of them. A fast unknown that is far from its equilibrium at the start of the step
/// has a large slope there, which widens the hull by more than the unknown moves.
const DENSE_OUTPUT_ERROR: f64 = 100.0;

/// The ends of a step: states, slopes, and a third of its length. The cubic through them stays in the hull of four
/// points; the dense output stays in that hull after widening.
#[derive(Clone, Copy)]
pub(super) struct Ends<'a> {
    pub third: f64,
    pub y: [&'a [f64]; 2],
    pub f: [&'a [f64]; 2],
}

/// The smaller number; `b` if `a` is NaN.
#[inline(always)]
fn least(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

#[inline(always)]
fn most(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The widened hull of one state.
#[inline(always)]
fn hull(third: f64, [y0, y1]: [f64; 2], [f0, f1]: [f64; 2]) -> [f64; 2] {
    let (a, b) = (y0 + third * f0, y1 - third * f1);
    let (low, high) = (least(least(y0, y1), least(a, b)), most(most(y0, y1), most(a, b)));
    let wider = WIDENED * (high - low);
    [low - wider, high + wider]
}

impl Ends<'_> {
    #[inline(always)]
    fn at(&self, i: usize) -> [f64; 2] {
        hull(self.third, [self.y[0][i], self.y[1][i]], [self.f[0][i], self.f[1][i]])
    }

    /// The widened hull of every state.
    pub fn enclose(&self, low: &mut [f64], high: &mut [f64]) {
        for (i, (low, high)) in low.iter_mut().zip(high).enumerate() {
            [*low, *high] = self.at(i);
        }
    }
}

/// True if each state, and the point that it reaches along its slope, lies within r of c.
struct Near<'a> {
    reach: f64,
    y: &'a [f64],
    f: &'a [f64],
    middle: &'a [f64],
    radius: &'a [f64],
}

impl Pass for Near<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let n = self.middle.len();
        let (y, f, radius) = (&self.y[..n], &self.f[..n], &self.radius[..n]);
        // without a branch, so that the loop processes several states at once
        let mut outside = 0u64;
        for i in 0..n {
            let distance = (y[i] - self.middle[i]).abs() + self.reach * f[i].abs();
            outside |= u64::from(!(distance <= radius[i]));
        }
        outside == 0
    }
}

/// Chooses c and r for a state with the bounds `least` and `most` that is expected between `low` and `high`, and
/// `further` beyond. All states within r of c include `low` and `high`, and no state within 1.5 r of c exceeds the
/// bounds.
fn around([least, most]: [f64; 2], [low, high]: [f64; 2], further: f64) -> Option<(f64, f64)> {
    let holds = |(middle, radius): &(f64, f64)| {
        let (r, safe) = (radius * SAFE, 1.5 * radius * SAFE);
        middle - r <= low && high <= middle + r && middle - safe >= least && middle + safe <= most
    };
    // next to a bound, the interval of width 2 r around c begins at r/2
    let from = |bound: f64, margin: f64, inward: f64| {
        let radius = (1.8 * margin).min(0.4 * (margin + (high - low) + further));
        (bound + inward * 1.5 * radius, radius)
    };
    let all = match (least.is_finite(), most.is_finite()) {
        (false, false) => [(0.0, f64::INFINITY); 3],
        (true, true) => {
            let whole = (0.5 * (least + most), (most - least) / 3.0);
            [whole, from(least, low - least, 1.0), from(most, most - high, -1.0)]
        }
        (true, false) => [from(least, low - least, 1.0); 3],
        (false, true) => [from(most, most - high, -1.0); 3],
    };
    all.into_iter().find(|found| found.1.is_infinite() || holds(found))
}

/// The box, and the constants of the relations.
pub(super) struct ModeBox {
    rows: AffineRows,
    all_affine: bool,
    /// Relations that are not affine.
    nonlinear: NonlinearRelations,
    slack: Option<Tolerances>,
    /// The sign of each relation in its mode: 1 if it holds, -1 if it does not, 0 if it is not watched.
    signs: Vec<f64>,
    /// Rows of the state that relations read.
    used: Vec<usize>,
    /// True if these rows are few.
    few: bool,
    /// c of each relation, and the size of its rounding.
    constants: Vec<f64>,
    noise: Vec<f64>,
    /// Bounds of each state; infinite if no relation reads it.
    low: Vec<f64>,
    high: Vec<f64>,
    latest: f64,
    valid: bool,
    /// c and r of each state. All states within 1.5 r of c lie in the box.
    /// States that no relation reads have an infinite r.
    middle: Vec<f64>,
    radius: Vec<f64>,
    /// End time of the last step seen, and the reach for which its end was within r of c.
    seen: (f64, f64),
    near: Vec<usize>,
    /// Time at which the box was made.
    made: f64,
    /// Range of each state over the steps that were examined.
    lowest: Vec<f64>,
    highest: Vec<f64>,
}

impl ModeBox {
    /// `margin` is the fraction of their sides by which relations that are not affine must stay away from zero; `slack`
    /// are the tolerances of the run.
    pub fn new(model: &dyn HybridSystem, margin: f64, slack: Option<Tolerances>) -> Self {
        let (n, relations) = (model.system().shape().n, model.relations().len());
        let rows = model.affine().cloned().unwrap_or_default();
        let mut used: Vec<usize> = rows.terms.iter().map(|(row, _)| *row as usize).collect();
        used.sort_unstable();
        used.dedup();
        let all_affine = (0..relations).all(|relation| rows.row(relation).is_some());
        if !all_affine {
            used = (0..n).collect();
        }
        ModeBox {
            nonlinear: NonlinearRelations::new(n, relations, margin),
            slack,
            signs: vec![0.0; relations],
            all_affine,
            rows,
            few: used.len() * SPARSE_DIVISOR <= n,
            used,
            constants: vec![0.0; relations],
            noise: vec![0.0; relations],
            low: vec![0.0; n],
            high: vec![0.0; n],
            latest: 0.0,
            valid: false,
            middle: vec![0.0; n],
            radius: vec![f64::INFINITY; n],
            seen: NOT_SEEN,
            near: Vec::with_capacity(relations),
            made: 0.0,
            lowest: vec![f64::INFINITY; n],
            highest: vec![f64::NEG_INFINITY; n],
        }
    }

    /// True if all relations are affine.
    pub fn all_affine(&self) -> bool {
        self.all_affine
    }

    /// Terms and time coefficient of an affine relation.
    #[inline]
    pub fn row(&self, relation: usize) -> Option<(&[(u32, f64)], f64)> {
        self.rows.row(relation)
    }

    /// The sign of a relation in its mode; 0 if it is not watched.
    pub fn sign(&self, relation: usize) -> f64 {
        self.signs[relation]
    }

    /// The affine relations whose distance from zero was small compared with its variation over a step.
    pub fn near(&self) -> &[usize] {
        &self.near
    }

    /// Computes the constants again from both sides of the relations at a point. `sign` gives the sign of each
    /// relation in its mode, or 0 if it is not watched.
    pub fn renew(
        &mut self,
        (t, y): (f64, &[f64]),
        (left, right): (&[f64], &[f64]),
        offsets: &[f64],
        sign: impl Fn(usize) -> f64,
    ) {
        (self.valid, self.seen) = (false, NOT_SEEN);
        self.nonlinear.begin(offsets);
        for relation in 0..self.constants.len() {
            self.signs[relation] = sign(relation);
            if self.signs[relation] == 0.0 {
                continue;
            }
            let Some((terms, time)) = self.rows.row(relation) else {
                self.nonlinear.watch(relation);
                continue;
            };
            let (mut sum, mut size) = (time * t, (time * t).abs());
            for (row, a) in terms {
                let term = a * y[*row as usize];
                sum += term;
                size += term.abs();
            }
            let (left, right) = (left[relation], right[relation]);
            self.constants[relation] = (left - right) - offsets[relation] - sum;
            self.noise[relation] = SIDES * (size + left.abs() + right.abs());
        }
    }

    /// True if no relation can change in a step between two times, as far as the state and slope at its end show.
    #[inline(always)]
    pub fn holds(&mut self, (from, to): (f64, f64), y: &[f64], f: &[f64]) -> bool {
        let (at, seen) = std::mem::replace(&mut self.seen, NOT_SEEN);
        let third = (to - from) * (1.0 / 3.0);
        if !self.near.is_empty() || !self.nonlinear.uncovered().is_empty() || !(to <= self.latest) {
            return false;
        }
        // the next step may be twice as long
        let reach = 2.0 * third;
        let inside = if self.few {
            let near = |row: &usize| (y[*row] - self.middle[*row]).abs() + reach * f[*row].abs() <= self.radius[*row];
            self.used.iter().all(near)
        } else {
            let near = Near { reach, y, f, middle: &self.middle, radius: &self.radius };
            vectorised(y.len(), near)
        };
        if !(inside && self.valid) {
            return false;
        }
        self.seen = (to, reach);
        at == from && third <= seen
    }

    /// True if no relation can change in a step up to `to`, as far as `stays_within` shows: it tells whether all states of
    /// the step lie between bounds.
    #[inline]
    pub fn contains(&mut self, to: f64, stays_within: impl FnOnce(&[f64], &[f64]) -> bool) -> bool {
        self.seen = NOT_SEEN;
        self.valid
            && self.near.is_empty()
            && self.nonlinear.uncovered().is_empty()
            && to <= self.latest
            && stays_within(&self.low, &self.high)
    }

    /// Adds the relations that may change in a time span in which the states stay between `low` and `high`.
    pub fn suspects(
        &mut self,
        model: &dyn HybridSystem,
        span: (f64, f64),
        (low, high): (&[f64], &[f64]),
        suspects: &mut Vec<usize>,
    ) {
        for row in &self.used {
            self.lowest[*row] = self.lowest[*row].min(low[*row]);
            self.highest[*row] = self.highest[*row].max(high[*row]);
        }
        let inside = |row: &usize| low[*row] >= self.low[*row] && high[*row] <= self.high[*row];
        let held = self.valid && span.1 <= self.latest && self.used.iter().all(inside);
        if !held {
            let lifetime = self.build(span, (low, high));
            let past = (&self.lowest[..], &self.highest[..]);
            let around = StepRange { span, step: (low, high), past, lifetime };
            let bounds = &mut BoxBounds { low: &mut self.low, high: &mut self.high, latest: &mut self.latest };
            self.nonlinear.shrink(model, &around, &self.signs, bounds);
        }
        suspects.extend_from_slice(self.nonlinear.uncovered());
        let mut near = std::mem::take(&mut self.near);
        near.retain(|relation| {
            let Some((margin, spread)) = self.margin(*relation, span, (low, high)) else { return true };
            if !(margin > 0.0) {
                suspects.push(*relation);
            }
            // the relation is far from zero again, so it bounds the box
            let far = margin > NEAR_NO_MORE * spread;
            if far {
                self.bound(*relation, SAFE * margin, (span.1, EXPECTED_STEPS * (span.1 - span.0)), (low, high));
            }
            !far
        });
        self.near = near;
        self.centre((low, high));
    }

    /// The smallest distance of left - right of an affine relation from zero on a step, on the side of its mode, and
    /// how much left - right varies. `None` if the relation is not watched.
    fn margin(&self, relation: usize, (t0, t1): (f64, f64), (low, high): (&[f64], &[f64])) -> Option<(f64, f64)> {
        let (terms, time) = self.rows.row(relation).filter(|_| self.signs[relation] != 0.0)?;
        let (at_start, at_end) = (time * t0, time * t1);
        let mut least = self.constants[relation] + at_start.min(at_end);
        let mut spread = (at_end - at_start).abs();
        for (row, a) in terms {
            let (first, second) = (a * low[*row as usize], a * high[*row as usize]);
            least += first.min(second);
            spread += (second - first).abs();
        }
        let nearest = if self.signs[relation] > 0.0 { least } else { -(least + spread) };
        Some((nearest - self.noise[relation], spread))
    }

    /// The width of the range of a state so far.
    fn travel(&self, row: usize) -> f64 {
        let (lowest, highest) = (self.lowest[row], self.highest[row]);
        (highest - lowest).max(FIRST_MOVEMENT * lowest.abs().max(highest.abs()))
    }

    /// Makes a new box around a step. The result is the time for which it is expected to serve.
    fn build(&mut self, span: (f64, f64), (low, high): (&[f64], &[f64])) -> f64 {
        self.near.clear();
        self.low.fill(f64::NEG_INFINITY);
        self.high.fill(f64::INFINITY);
        self.latest = f64::INFINITY;
        let since = if self.valid { span.1 - self.made } else { 0.0 };
        let lifetime = (2.0 * since).max(EXPECTED_STEPS * (span.1 - span.0));
        self.made = span.1;
        for relation in 0..self.constants.len() {
            let Some((margin, spread)) = self.margin(relation, span, (low, high)) else { continue };
            if margin > NEAR * spread {
                self.bound(relation, SAFE * margin, (span.1, lifetime), (low, high));
            } else {
                self.near.push(relation);
            }
        }
        self.valid = true;
        lifetime
    }

    /// Sets c and r from the box and the bounds of a step.
    fn centre(&mut self, (low, high): (&[f64], &[f64])) {
        for row in &self.used {
            let (bounds, step) = ([self.low[*row], self.high[*row]], [low[*row], high[*row]]);
            // the state is expected to return to its past range
            let further = self.travel(*row);
            let been = around(bounds, [self.lowest[*row], self.highest[*row]], further);
            let found = been.or_else(|| around(bounds, step, 4.0 * (step[1] - step[0])));
            let (middle, radius) = found.unwrap_or((0.0, -1.0));
            let size = middle.abs() + radius.abs();
            let slack = self
                .slack
                .as_ref()
                .filter(|_| size.is_finite())
                .map_or(0.0, |all| DENSE_OUTPUT_ERROR * all.scale(*row, size));
            (self.middle[*row], self.radius[*row]) = (middle, SAFE * radius - slack);
        }
    }

    /// Shrinks the box for a relation that has some distance from zero: each state may go beyond the step as far as
    /// its share allows.
    fn bound(&mut self, relation: usize, margin: f64, (end, lifetime): (f64, f64), (low, high): (&[f64], &[f64])) {
        let Some((terms, time)) = self.rows.row(relation) else { return };
        let middle: f64 = self.constants[relation]
            + time * end
            + terms.iter().map(|(row, a)| 0.5 * a * (low[*row as usize] + high[*row as usize])).sum::<f64>();
        let positive = middle > 0.0;
        let expected = |term: &(u32, f64)| term.1.abs() * self.further(*term, positive, (low, high));
        let moves = terms.iter().map(expected).sum::<f64>() + time.abs() * lifetime;
        // if nothing has moved, all shares are equal
        let (even, moves) = if moves > 0.0 {
            (0.0, moves)
        } else {
            (1.0, terms.iter().map(|(_, a)| a.abs()).sum::<f64>() + time.abs())
        };
        let share = margin / moves;
        let (mut bounds_low, mut bounds_high) = (std::mem::take(&mut self.low), std::mem::take(&mut self.high));
        for term in terms.iter().filter(|(_, a)| *a != 0.0) {
            let (i, more) = (term.0 as usize, share * (self.further(*term, positive, (low, high)) + even));
            if (term.1 > 0.0) == positive {
                bounds_low[i] = bounds_low[i].max(low[i] - more);
            } else {
                bounds_high[i] = bounds_high[i].min(high[i] + more);
            }
        }
        (self.low, self.high) = (bounds_low, bounds_high);
        if time != 0.0 && (time < 0.0) == positive {
            self.latest = self.latest.min(end + share * (lifetime + even));
        }
    }

    /// Expected movement of a state in the direction that brings left - right closer to zero: to the end of its past
    /// range, and slightly further.
    fn further(&self, (row, a): (u32, f64), positive: bool, (low, high): (&[f64], &[f64])) -> f64 {
        let i = row as usize;
        let been = if (a > 0.0) == positive { low[i] - self.lowest[i] } else { self.highest[i] - high[i] };
        been.max(0.0) + RANGE_EXCESS * self.travel(i)
    }
}

#[cfg(test)]
mod tests {
    use super::{Ends, ModeBox};
    use crate::hybrid::system::{AffineRows, HybridEvents, HybridRelations, HybridSystem, HybridTimes, Relation};
    use crate::system::{EvalError, Shape, System};

    /// A system with 40 unknowns and three relations, each of which reads a few of them.
    struct Three(Vec<Relation>, AffineRows);

    impl System for Three {
        fn shape(&self) -> Shape {
            Shape { n: 40, second: 0 }
        }
        fn rhs(&self, _: f64, _: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
            f.fill(0.0);
            Ok(())
        }
    }

    impl HybridSystem for Three {
        fn system(&self) -> &dyn System {
            self
        }
    }

    impl HybridRelations for Three {
        fn relations(&self) -> &[Relation] {
            &self.0
        }

        fn affine(&self) -> Option<&AffineRows> {
            Some(&self.1)
        }
    }

    impl HybridEvents for Three {}

    impl HybridTimes for Three {}

    /// y_3 > 5, y_7 - 2 y_8 > -6, 10 > t + y_39.
    fn values(t: f64, y: &[f64]) -> [f64; 3] {
        [y[3] - 5.0, y[7] - 2.0 * y[8] + 6.0, 10.0 - t - y[39]]
    }

    fn three() -> Three {
        let terms =
            [Some((vec![(3, 1.0)], 0.0)), Some((vec![(7, 1.0), (8, -2.0)], 0.0)), Some((vec![(39, -1.0)], -1.0))];
        Three(vec![Relation::default(); 3], AffineRows::of(&terms))
    }

    fn quiet(y: &[f64]) -> ModeBox {
        let mut quiet = ModeBox::new(&three(), 0.0, None);
        let g = values(0.0, y);
        quiet.renew((0.0, y), (&g, &[0.0; 3]), &[0.0; 3], |relation| g[relation].signum());
        quiet
    }

    #[test]
    fn a_box_holds_no_change() {
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        let (mut held, mut left) = (0, 0);
        for _ in 0..200 {
            let start: Vec<f64> = (0..40).map(|_| next()).collect();
            let mut quiet = quiet(&start);
            let (mut t, mut y, h) = (0.0, start.clone(), 0.01);
            let mut before = vec![0.0; 40];
            let signs = values(t, &y).map(|g| g > 0.0);
            for _ in 0..100 {
                // a step by its two ends, with slopes that lead outwards; the first slope is that at the end of the
                // previous step
                let end: Vec<f64> = y.iter().map(|y| y + 0.3 * next()).collect();
                let slope: Vec<f64> = (0..40).map(|_| 20.0 * next()).collect();
                let h = h * (1.0 + 0.9 * next());
                let f = [&before[..], &slope];
                let ends = Ends { third: h / 3.0, y: [&y, &end], f };
                let quick = quiet.holds((t, t + h), &end, f[1]);
                let (mut low, mut high) = (vec![0.0; 40], vec![0.0; 40]);
                ends.enclose(&mut low, &mut high);
                let mut suspects = Vec::new();
                quiet.suspects(&three(), (t, t + h), (&low, &high), &mut suspects);
                assert!(!quick || suspects.is_empty(), "{suspects:?}");
                held += usize::from(quick);
                left += usize::from(!quick);
                // every corner of the hull has the sign of the start, except for the suspects
                for corner in 0..8 {
                    let mut at = y.clone();
                    for (k, i) in [3, 7, 8].into_iter().enumerate() {
                        at[i] = if corner >> k & 1 == 0 { low[i] } else { high[i] };
                    }
                    at[39] = high[39];
                    let now = values(t + h, &at).map(|g| g > 0.0);
                    for relation in 0..3 {
                        assert!(now[relation] == signs[relation] || suspects.contains(&relation), "{relation}");
                    }
                }
                if !suspects.is_empty() {
                    break;
                }
                (t, y, before) = (t + h, end, slope);
            }
        }
        assert!(held > 1_000 && left > 300, "{held} {left}");
    }
}
