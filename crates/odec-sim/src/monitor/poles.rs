//! Steps across a pole. In `S/(K + S)` the divisor is zero at S = -K, where no solution passes; a long step may, and
//! beyond it the term has the other sign. No error estimate shows that, because the solution is smooth on both sides.
//! So the monitor follows the signs of the divisors.

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_ode::evaluator::all_finite;
use odec_ode::system::System;

use super::Moment;
use super::divisors::{Divisor, Divisors};
use super::report::CheckedRun;
use crate::bind::Bound;
use crate::blame::{declared, number};

/// Number of stored changes of sign, each of another divisor.
const MAX_STORED: usize = 8;
/// Divisors with at most this many operations are computed at all examined steps ...
const FEW_OPERATIONS: usize = 128;
/// ... and others once in this number of examined steps.
const INTERVAL: u32 = 16;
/// Near a pole, the equations are evaluated where the divisor is about this fraction of the sizes of its terms.
const POLE_DISTANCE: f64 = 1e-7;
/// At half the distance from a pole, a rate is larger by at least this factor.
const POLE_FACTOR: f64 = 1.5;
/// Halvings that locate the zero of a divisor between two steps.
const HALVINGS: u32 = 60;

/// A divisor that changed its sign between two examined steps.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// Its number in [`Divisors::list`].
    divisor: usize,
    from: Moment,
    to: Moment,
}

/// Monitor of the divisors of one run.
#[derive(Debug, Default)]
pub(super) struct Poles {
    divisors: Divisors,
    /// The sign of each divisor at the last examined step; 0 if it is not known, or not followed any more.
    signs: Vec<f64>,
    last: Moment,
    kept: Vec<Crossing>,
    /// Examined steps until the next computation.
    pause: u32,
}

impl Poles {
    pub(super) fn new(bound: &Bound) -> Poles {
        let (executor, problem) = (&bound.executor, &bound.problem);
        Poles::of(Divisors::of(executor.program(), executor.layout(), executor.parameters()), problem.t0, &problem.y0)
    }

    fn of(mut divisors: Divisors, t0: f64, y0: &[f64]) -> Poles {
        if divisors.list.is_empty() {
            return Poles::default();
        }
        divisors.evaluate(t0, y0);
        let signs = divisors.list.iter().map(|divisor| sign(divisors.value(divisor))).collect();
        Poles { divisors, signs, last: Moment { t: t0, y: y0.to_vec() }, kept: Vec::new(), pause: 0 }
    }

    /// True if no divisor is followed.
    pub(super) fn none(&self) -> bool {
        self.signs.is_empty()
    }

    /// The changes of sign, in order.
    pub(super) fn kept(self) -> Vec<Crossing> {
        self.kept
    }

    /// An event changed the state, so that a sign may be another one.
    pub(super) fn restart(&mut self) {
        self.signs.fill(0.0);
    }

    /// The end of a step.
    pub(super) fn observe(&mut self, t: f64, y: &[f64]) {
        if self.pause > 0 {
            self.pause -= 1;
            return;
        }
        self.pause = if self.divisors.work() > FEW_OPERATIONS { INTERVAL - 1 } else { 0 };
        self.observe_end(t, y);
    }

    /// The end of the run.
    pub(super) fn observe_end(&mut self, t: f64, y: &[f64]) {
        self.divisors.evaluate(t, y);
        for (k, (divisor, before)) in self.divisors.list.iter().zip(&mut self.signs).enumerate() {
            let now = sign(self.divisors.value(divisor));
            if now * *before < 0.0 && self.kept.len() < MAX_STORED && self.kept.iter().all(|other| other.divisor != k) {
                self.kept.push(Crossing { divisor: k, from: self.last.clone(), to: Moment { t, y: y.to_vec() } });
            }
            if now != 0.0 {
                *before = now;
            }
        }
        self.last.t = t;
        self.last.y.copy_from_slice(y);
    }
}

/// -1, 0 or 1.
fn sign(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { 0.0 } else { x.signum() }
}

/// The straight line between the ends of a step, and the divisors on it.
struct Line<'a> {
    divisors: Divisors,
    divisor: Divisor,
    from: &'a Moment,
    to: &'a Moment,
    y: Vec<f64>,
}

impl<'a> Line<'a> {
    fn of(bound: &Bound, crossing: &'a Crossing) -> Option<Line<'a>> {
        let executor = &bound.executor;
        let divisors = Divisors::of(executor.program(), executor.layout(), executor.parameters());
        let divisor = divisors.list.get(crossing.divisor)?.clone();
        Some(Line { divisors, divisor, from: &crossing.from, to: &crossing.to, y: crossing.from.y.clone() })
    }

    /// Goes to a part of the way, 0 at the start and 1 at the end; returns the time there.
    fn go(&mut self, part: f64) -> f64 {
        for ((y, a), b) in self.y.iter_mut().zip(&self.from.y).zip(&self.to.y) {
            *y = a + part * (b - a);
        }
        self.from.t + part * (self.to.t - self.from.t)
    }

    /// The value of the divisor at a part of the way.
    fn value(&mut self, part: f64) -> f64 {
        let t = self.go(part);
        self.divisors.evaluate(t, &self.y);
        self.divisors.value(&self.divisor)
    }

    /// The part of the way at which the divisor is zero.
    fn zero(&mut self) -> f64 {
        let before = sign(self.value(0.0));
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if sign(self.value(middle)) == before { low = middle } else { high = middle }
        }
        high
    }

    /// f at a part of the way. With a mass matrix these are the residuals, which grow near a pole like the rates.
    fn rates(&mut self, bound: &Bound, part: f64) -> Option<Vec<f64>> {
        let t = self.go(part);
        let mut f = vec![0.0; self.y.len()];
        bound.executor.rhs(t, &self.y, &mut f).ok()?;
        all_finite(&f).then_some(f)
    }

    /// True if the term of the pole changes a state by more than its tolerance in this step, even where the state has
    /// moved away from the pole by its tolerance.
    fn is_visible(&mut self, bound: &Bound, zero: f64) -> bool {
        let tolerance = |k: usize, y: f64| bound.atol(k) + bound.options.rtol * y.abs();
        let ends = self.from.y.iter().zip(&self.to.y).enumerate();
        let moved = ends.map(|(k, (a, b))| (b - a).abs() / tolerance(k, *a)).fold(0.0, f64::max);
        let (away, h) = ((1.0 / moved).min(1.0), (self.to.t - self.from.t).abs());
        let y = self.from.y.clone();
        [1.0, -1.0].iter().any(|side| {
            let [close, far] = [0.5, 1.0].map(|part| self.rates(bound, zero + part * side * away));
            let (Some(close), Some(far)) = (close, far) else { return true };
            let pairs = close.iter().zip(&far).zip(&y).enumerate();
            pairs.into_iter().any(|(k, ((close, far), y))| (close - far).abs() * h > tolerance(k, *y))
        })
    }

    /// True if the equations have a pole where the divisor is zero, and not only a removable singularity.
    fn has_pole(&mut self, bound: &Bound, zero: f64) -> bool {
        self.value(zero);
        let small = POLE_DISTANCE * self.divisors.size(&self.divisor);
        let mut near = 0.1;
        for _ in 0..HALVINGS {
            if [1.0, -1.0].iter().all(|side| self.value(zero + side * near).abs() <= small) {
                break;
            }
            near *= 0.5;
        }
        [1.0, -1.0].iter().all(|side| {
            let close = self.rates(bound, zero + side * near);
            let far = self.rates(bound, zero + 2.0 * side * near);
            let (Some(close), Some(far)) = (close, far) else { return false };
            close.iter().zip(&far).any(|(close, far)| close.abs() > POLE_FACTOR * far.abs())
        })
    }

    /// The state of the divisor that is negative where the divisor is zero, and was not before.
    fn negative(&mut self, zero: f64) -> Option<usize> {
        self.go(zero);
        let places = self.divisors.states(&self.divisor);
        places.into_iter().find(|&place| self.from.y[place] >= 0.0 && self.to.y[place] < 0.0 && self.y[place] <= 0.0)
    }
}

/// Warning about the first change of sign at which the equations have a pole.
pub(super) fn passed(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let bound = checked.bound;
    let (mut line, zero) = checked.findings.crossings.iter().find_map(|crossing| {
        let mut line = Line::of(bound, crossing)?;
        let zero = line.zero();
        (line.has_pole(bound, zero) && line.is_visible(bound, zero)).then_some((line, zero))
    })?;
    let (time, span) = (&checked.model.time.name, line.divisor.span);
    let text = span.and_then(|span| checked.source.text.get(span.range())).unwrap_or("a divisor");
    let headline = format!(
        "a step passes a pole: `{text}` changes its sign between {time} = {} and {}",
        number(line.from.t),
        number(line.to.t)
    );
    let mut d = Diagnostic::warning(&codes::W0624, headline);
    if let Some(span) = span {
        let values = [0.0, 1.0].map(|end| number(line.value(end)));
        d = d.label(span, format!("{} before, {} after it", values[0], values[1]));
    }
    let finer = format!(
        "no solution passes a pole, and the rows after it are wrong: use a smaller `rtol` than {}",
        number(bound.options.rtol)
    );
    let help = match line.negative(zero) {
        Some(place) => {
            let mut name = bound.states.name(place);
            if let Some(state) = declared(checked.model, &bound.states, place) {
                let span = checked.model.states[state].span;
                d = d.label(span, "");
                let (text, range) = (&checked.source.text, span.range());
                let subscripts = text.get(range.end..).filter(|rest| rest.starts_with('['));
                let length = subscripts.and_then(|rest| rest.find(']')).map_or(0, |end| end + 1);
                name = text.get(range.start..range.end + length).map_or(name, str::to_owned);
            }
            format!("{finer}, or, if `{name}` is never negative, declare that: `state {name} = ..., {name} >= 0`")
        }
        None => finer,
    };
    Some(d.help(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_divisor_is_followed_from_step_to_step() {
        let mut poles = Poles::of(Divisors::sum(0.5), 0.0, &[1.0]);
        for (t, y) in [(1.0, 0.2), (2.0, -0.1), (3.0, -0.7), (4.0, -2.0)] {
            poles.observe(t, &[y]);
        }
        let kept = poles.kept();
        let [crossing] = &kept[..] else { panic!("{kept:?}") };
        assert_eq!((crossing.from.t, crossing.to.t), (2.0, 3.0));
    }
}
