//! The values of terms at given parameters, near the times at which a pulse may have its middle.

use std::f64::consts::{FRAC_PI_2, TAU};

use std::collections::HashMap;

use odec_ode::accelerated::TimeFeature;

use super::form::{Form, Inner};
use super::{MAX_VALUES, RapidChanges, Term, Timetable, scan};

/// Largest number of quarter turns of an oscillation in a run, each of which may end three steps. An oscillation with
/// more ends none.
const MAX_TURNS: f64 = 400_000.0;
/// Number of values on each side of a middle: at a distance of the length of the run, of half the length, and so on.
const VALUES: usize = 45;
/// Fraction of its largest value by which a term changes within its width.
const CHANGE: f64 = 0.25;
/// Width, as a fraction of the run, below which a pulse is short.
const SHORT: f64 = 0.125;
/// Width of the extremum of a wave in the argument of a steep function, as a fraction of its period.
pub(super) const WAVE_WIDTH: f64 = 0.125;
/// Distance of the two values that detect a pole, as a fraction of the run, and their smallest ratio.
const NEAR_POLE: f64 = 1e-9;
const POLE: f64 = 1.9;
/// Number of elements of an array that are measured if they differ only in the time of their middle; the others get
/// the shortest width of these.
const MEASURED: usize = 64;

/// Least change of a term, relative to its size, and least distance, in rounding errors of t, from which the power of
/// the distance is determined with which the term changes.
const SEEN: (f64, f64) = (1e-9, 65_536.0);
/// Distance of such a power from a whole number above which the term is a root, and how much the power may differ between
/// neighbouring distances, relative to this.
const BROKEN: (f64, f64) = (0.02, 0.1);
/// The solution is smooth enough near a root of a larger power.
const MILD: f64 = 3.5;

/// The lengths of the changes around a middle.
#[derive(Clone, Copy, Default)]
pub(super) struct Widths {
    /// The shortest time in which a smooth term changes, if it is short; 0 at a pole.
    smooth: Option<f64>,
    /// The same for terms that are like a root or a broken power.
    root: Option<f64>,
}

impl Widths {
    /// The shorter ones.
    fn least(self, other: Widths) -> Widths {
        let least = |one: Option<f64>, two: Option<f64>| one.into_iter().chain(two).reduce(f64::min);
        Widths { smooth: least(self.smooth, other.smooth), root: least(self.root, other.root) }
    }

    /// The changes around this middle.
    pub(super) fn narrow(self, t: f64, every: Option<f64>) -> impl Iterator<Item = TimeFeature> {
        let of = move |width: Option<f64>, root: bool| width.map(|width| TimeFeature { t, width, every, root });
        of(self.smooth, false).into_iter().chain(of(self.root, true))
    }
}

/// The terms at given parameters.
pub(super) struct View<'a> {
    pub(super) table: &'a Timetable,
    p: &'a [f64],
    pub(super) forms: &'a [Form],
    values: Vec<f64>,
    /// Number of values that may still be computed.
    budget: usize,
    /// For terms that differ only in the time of their middle: the number of measured ones, and the shortest width.
    measured: HashMap<Vec<u64>, (usize, Widths)>,
    /// The term that is being analysed and the terms on which it depends, in order, if it has another form.
    pub(super) below: Vec<usize>,
    /// Number of analysed terms of another form.
    pub(super) others: usize,
    /// Number of values of such terms that may still be computed.
    pub(super) scans: usize,
}

impl<'a> View<'a> {
    pub fn new(table: &'a Timetable, p: &'a [f64], forms: &'a [Form], others: usize) -> View<'a> {
        let values = vec![0.0; forms.len()];
        let (measured, below) = (HashMap::new(), Vec::new());
        View { table, p, forms, values, budget: MAX_VALUES, measured, below, others, scans: scan::MOST }
    }

    /// The rapid changes of the nodes that depend on t through one term, in a span that contains its middle, if there
    /// is one. If the term is not `open`, only its own extrema count.
    pub fn rapid_changes(&mut self, u: usize, (open, cone): (bool, &[usize]), span: (f64, f64)) -> RapidChanges {
        let mut found = RapidChanges::default();
        match self.forms[u] {
            Form::Scaled { scale, shift, inner: Inner::Time } => {
                let middle = -shift / scale;
                let width = self.measure((u, cone), self.signature(u, cone, 4), middle, span, &mut found);
                found.narrow.extend(width.narrow(middle, None));
            }
            Form::Scaled { inner: Inner::Wave { rate, phase }, .. } => {
                if open {
                    self.waves(u, cone, (rate, phase), span, &mut found);
                }
                if self.table.hidden[u] {
                    self.extrema(u, (rate, phase), span, &mut found);
                }
            }
            Form::Other => self.others(u, (open, cone), span, &mut found),
            Form::Number(_) => {}
        }
        found
    }

    /// Number of values around one middle.
    pub(super) fn values_of(cone: &[usize]) -> usize {
        (2 * VALUES + 3) * cone.len().max(1)
    }

    /// True if another middle may be analysed.
    fn may_look(&mut self, cone: &[usize], found: &mut RapidChanges) -> bool {
        let values = View::values_of(cone);
        let may = values <= self.budget;
        if may {
            self.budget -= values;
            found.left.1 += 1;
        } else {
            found.left.0 += 1;
        }
        may
    }

    /// The identity of a term and its cone, except for the time of the middle; `turn` is the quarter of a wave.
    fn signature(&self, u: usize, cone: &[usize], turn: u64) -> Vec<u64> {
        let mut all = vec![turn];
        if let Form::Scaled { scale, shift, inner } = self.forms[u] {
            all.push(scale.to_bits());
            if let Inner::Wave { rate, .. } = inner {
                all.extend([shift.to_bits(), rate.to_bits()]);
            }
        }
        for &k in cone {
            let term = self.table.terms[k];
            all.extend(term.identity());
            all.push(u64::from(self.table.exits[k]));
            for &i in term.operands() {
                match (self.forms[i as usize], cone.binary_search(&(i as usize))) {
                    (Form::Number(v), _) => all.extend([0, v.to_bits()]),
                    (_, Ok(place)) => all.extend([1, place as u64]),
                    _ => all.push(2),
                }
            }
        }
        all
    }

    /// The width of a term, as in [`View::width`]; of terms that differ only in their time, only some are measured.
    fn measure(
        &mut self,
        (u, cone): (usize, &[usize]),
        signature: Vec<u64>,
        middle: f64,
        span: (f64, f64),
        found: &mut RapidChanges,
    ) -> Widths {
        let (times, shortest) = self.measured.get(&signature).copied().unwrap_or_default();
        if times >= MEASURED {
            found.left.1 += 1;
            return shortest;
        }
        if !self.may_look(cone, found) {
            return Widths::default();
        }
        let width = self.width(u, cone, middle, span);
        self.measured.insert(signature, (times + 1, shortest.least(width)));
        width
    }

    /// The values of a cone at a time.
    fn evaluate(&mut self, u: usize, cone: &[usize], t: f64) -> Vec<f64> {
        match self.forms[u] {
            Form::Other => {
                let below = std::mem::take(&mut self.below);
                self.value(&below, t);
                self.below = below;
            }
            form => self.values[u] = form.value(t),
        }
        let mut found = Vec::with_capacity(cone.len());
        for &k in cone {
            self.values[k] = self.called(k);
            found.push(self.values[k]);
        }
        found
    }

    /// The value of the last of these terms at a time; before it are the terms on which it depends.
    pub(super) fn value(&mut self, below: &[usize], t: f64) -> f64 {
        let mut last = f64::NAN;
        for &k in below {
            last = match self.forms[k] {
                Form::Other => self.called(k),
                form => form.value(t),
            };
            self.values[k] = last;
        }
        last
    }

    /// The value of a call, from those of its operands.
    fn called(&self, k: usize) -> f64 {
        let term: Term = self.table.terms[k];
        let operands = term.operands();
        let mut arguments = [0.0; 3];
        for (argument, &i) in arguments.iter_mut().zip(operands) {
            *argument = match self.forms[i as usize] {
                Form::Number(v) => v,
                _ => self.values[i as usize],
            };
        }
        term.value(self.p, &arguments[..operands.len()])
    }

    /// The shortest times in which terms of the cone change around their middle.
    pub(super) fn width(&mut self, u: usize, cone: &[usize], middle: f64, (from, to): (f64, f64)) -> Widths {
        let length = if to.is_finite() { to - from } else { middle - from };
        let inside = middle > from && middle < to;
        // a run that begins in the middle, or continues there after a stop, must not step over the rest
        let begins = middle >= from && middle <= to;
        // sampling finds zeros and extrema beside poles, where a sign changes
        let may_be_pole = inside && self.forms[u] != Form::Other;
        let there = self.evaluate(u, cone, middle);
        let poles = |view: &mut Self, near: &[f64]| {
            let nearer = view.evaluate(u, cone, middle + 0.5 * NEAR_POLE * length);
            let grows = |k: usize| !there[k].is_finite() && nearer[k].abs() >= POLE * near[k].abs();
            (0..cone.len()).any(|k| view.table.exits[cone[k]] && grows(k))
        };
        if there.iter().any(|v| !v.is_finite()) {
            let near = self.evaluate(u, cone, middle + NEAR_POLE * length);
            if may_be_pole && poles(self, &near) {
                return Widths { smooth: Some(0.0), root: None };
            }
        }
        let mut beside: Vec<(f64, Vec<f64>)> = Vec::with_capacity(2 * VALUES);
        for k in (0..VALUES).rev() {
            let away = length * 0.5_f64.powi(k as i32);
            for t in [middle - away, middle + away] {
                if t >= from && t <= to && t != middle {
                    beside.push((t, self.evaluate(u, cone, t)));
                }
            }
        }
        let mut widths = Widths::default();
        for (k, own) in there.iter().enumerate().filter(|(_, own)| own.is_finite()) {
            let changes = beside.iter().map(|(t, values)| (*t, values[k]));
            let finite = changes.clone().map(|(_, v)| v.abs()).filter(|v| v.is_finite());
            let size = finite.fold(own.abs(), f64::max);
            let changed = changes.clone().find(|(_, v)| (v - own).abs() >= CHANGE * size);
            let width = changed.map(|(t, _)| (t - middle).abs());
            let least = SEEN.1 * f64::EPSILON * middle.abs();
            let root = [-1.0, 1.0].iter().any(|side| {
                let of_side = changes.clone().filter(|(t, _)| (t - middle) * side > least);
                is_root(of_side.map(|(_, v)| (v - own).abs() / size))
            });
            // if a term is undefined on one side, a condition decides whether it is read
            let is_read = changes.clone().all(|(_, v)| v.is_finite() || may_be_pole && !v.is_nan()) && begins;
            if root {
                let width = width.unwrap_or(length).min(SHORT * length);
                widths = widths.least(Widths { smooth: None, root: Some(width) });
            } else if size > 0.0 && is_read {
                let smooth = width.filter(|width| *width < SHORT * length);
                widths = widths.least(Widths { smooth, root: None });
            }
        }
        widths
    }

    /// The extrema of a wave in the argument of a steep function. The width is such that the marks beside an extremum are
    /// the zeros.
    fn extrema(&self, u: usize, (rate, phase): (f64, f64), span: (f64, f64), found: &mut RapidChanges) {
        let turns = |t: f64| (rate * t + phase) / FRAC_PI_2;
        let (count, period) = ((turns(span.1) - turns(span.0)).abs(), TAU / rate.abs());
        if count.is_finite() && count > MAX_TURNS {
            found.fast.get_or_insert((self.table.spans[u], period, count));
            return;
        }
        let first = (turns(span.0) / 2.0).ceil() * 2.0 + 1.0;
        for turn in [first, first + 2.0] {
            let t = (turn * FRAC_PI_2 - phase) / rate;
            found.narrow.push(TimeFeature { t, width: WAVE_WIDTH * period, every: Some(period), root: false });
        }
    }

    /// The zeros and extrema of a wave: those of one kind have the width of the first one, and repeat after each period.
    fn waves(
        &mut self,
        u: usize,
        cone: &[usize],
        (rate, phase): (f64, f64),
        span: (f64, f64),
        found: &mut RapidChanges,
    ) {
        let turns = |t: f64| (rate * t + phase) / FRAC_PI_2;
        let (start, count) = (turns(span.0), (turns(span.1) - turns(span.0)).abs());
        let period = TAU / rate.abs();
        if count.is_finite() && count > MAX_TURNS {
            found.fast.get_or_insert((self.table.spans[u], period, count));
            return;
        }
        for k in 0..4 {
            let turn = if rate > 0.0 { start.floor() + 1.0 + f64::from(k) } else { start.ceil() - 1.0 - f64::from(k) };
            let middle = (turn * FRAC_PI_2 - phase) / rate;
            if !(middle > span.0 && middle < span.1) {
                continue;
            }
            let to = if span.1.is_finite() { span.1 } else { middle + period };
            let signature = self.signature(u, cone, turn.rem_euclid(4.0) as u64);
            let width = self.measure((u, cone), signature, middle, (span.0, to), found);
            found.narrow.extend(width.narrow(middle, Some(period)));
        }
    }
}

/// True if the changes of a term at doubling distances grow as a power that is not a whole number.
fn is_root(changes: impl Iterator<Item = f64>) -> bool {
    let mut seen = changes.skip_while(|change| !(*change >= SEEN.0));
    let (Some(near), Some(middle), Some(far)) = (seen.next(), seen.next(), seen.next()) else { return false };
    let (power, next) = ((middle / near).log2(), (far / middle).log2());
    let broken = (power - power.round()).abs();
    power < MILD && broken > BROKEN.0 && (power - next).abs() < BROKEN.1 * broken
}

#[cfg(test)]
mod tests {
    use super::is_root;

    #[test]
    fn roots_are_distinguished_from_smooth_terms_and_kinks() {
        let doubling = |f: fn(f64) -> f64| is_root((0..45).map(|k| f(2f64.powi(k - 44))));
        assert!(doubling(f64::cbrt) && doubling(f64::sqrt) && doubling(|t| t.powf(1.5)));
        assert!(doubling(|t| -t * t.ln()), "its slope is infinite");
        let smooth: [fn(f64) -> f64; 6] =
            [|t| t, |t| t * t, |t| 1.0 - t.cos(), |t| (3.0 * t).sin(), |t| 1e-4 * t + t * t, |_| 1.0];
        for smooth in smooth {
            assert!(!doubling(smooth));
        }
        assert!(!doubling(|t| if t > 1e-3 { 1.0 } else { 0.0 }) && !doubling(|_| f64::NAN));
    }
}
