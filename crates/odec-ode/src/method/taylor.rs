//! Taylor-series method: the order depends on the tolerance, the step size on the last two coefficients.
//!
//! À. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of high-order Taylor methods,
//! Experimental Mathematics 14 (2005) 99-117, section 3.2: the step size is chosen so that the last terms equal the
//! tolerance. The order p = ceil(1 - ln(eps)/2) is optimal if a step costs p^2; for few unknowns it costs less, and
//! more terms with longer steps pay ([`order_for`]). The coefficients are exact; they come from the system.

use crate::accelerated::Series;
use crate::control::Tolerances;
use crate::evaluator::Evaluator;
use crate::integrator::{Attempt, Integrator};
use crate::interpolant::Segment;
use crate::method::runge_kutta::while_true;
use crate::method::{Adaptive, Family, Method, Setup, Stability, Structure};
use crate::problem::{Cause, Refusal};
use crate::roots::{exp2, log2};
use crate::system::System;

/// Highest order: for a tolerance at the rounding of doubles.
pub const MAX_ORDER: u32 = 25;
/// Lowest order: with fewer terms an explicit Runge-Kutta method is cheaper.
pub const MIN_ORDER: u32 = 6;

/// Fraction of the step size that the last two terms allow: these should stay below the tolerance, and the first
/// omitted term is smaller still.
const SAFETY: f64 = 0.9;
/// Largest factor by which a step may grow.
const GROWTH: f64 = 8.0;
/// Step size after a failure, as a fraction of the failed step.
const RETREAT: f64 = 0.4;
/// A step begins at rest if it is longer than the previous one by the first factor, and the series would allow a step
/// that is longer still by the second. In such a step, and if f may have jumps or kinks, the solution is checked at
/// this many times inside, because a short pulse of a force, or two switches, may lie between its ends.
const GROWN: f64 = 1.2;
const AT_REST: f64 = 4.0;
const CHECKS: u32 = 7;
/// Number of checks inside any other step if terms of f may be large inside a step and zero at its ends
/// (`Series::may_peak`).
const FEWER_CHECKS: u32 = 3;
/// The polynomial is no solution if its defect h |p'(h) - f| at the end of a step, in tolerances of the last terms,
/// exceeds this: f has switched to another branch inside the step, or the coefficients misjudged the step size.
const DEFECT: f64 = 100.0;

pub(super) static METHOD: Method = Method {
    name: "taylor",
    aliases: &["taylor-series"],
    about: "Taylor series of the solution, with an order that depends on the tolerance: smooth problems at tight tolerances",
    order: MAX_ORDER,
    stages: 1,
    family: Family::Taylor,
    stability: Stability::Bounded,
    adaptive: Adaptive::VariableOrder,
    dense_order: MAX_ORDER,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Jorba & Zou, Experimental Mathematics 14 (2005) 99-117",
    build,
};

/// The fraction of the tolerance that the last terms of a step use. With the full tolerance, the error of the series
/// is 0.5 to 1.5 times that of vern7 in the median over 21 problems at the same rtol. But it is 1 to 5 times as large
/// on a quarter of them, and 80 times on an orbit with close encounters (decision 0014). The work for a given error
/// does not depend on this fraction.
const SHARE: f64 = 0.1;

/// Number of terms for each e-fold of the tolerance, by the number of states: 1/2 is best if the products of the
/// recurrences, p^2/2 for each, dominate the cost of a step (Jorba & Zou).
const TERMS: [(usize, f64); 2] = [(3, 0.6), (8, 0.55)];
const TERMS_BEYOND: f64 = 0.5;

/// The order for a relative tolerance and a number of states.
pub fn order_for(rtol: f64, states: usize) -> u32 {
    let terms = TERMS.iter().find(|(most, _)| states <= *most).map_or(TERMS_BEYOND, |(_, terms)| *terms);
    let order = (1.0 - terms * (SHARE * rtol).max(1e-17).ln()).ceil();
    (order as u32).clamp(MIN_ORDER, MAX_ORDER)
}

/// R(-x) = 1 - x + x^2/2 - ...: the factor of a step on y' = -y with h = x.
fn decay(order: u32, x: f64) -> f64 {
    (1..=order).rev().fold(1.0, |sum, k| 1.0 - sum * x / f64::from(k))
}

/// Largest h*lambda for which steps of this order are stable on y' = -lambda y.
pub fn real_limit(order: u32) -> f64 {
    while_true(|x| decay(order, x).abs() <= 1.0)
}

/// Largest h*lambda for which a step of this order on y' = -lambda y has an error of at most `tolerance` times y.
pub fn real_accuracy(order: u32, tolerance: f64) -> f64 {
    while_true(|x| (decay(order, x) - (-x).exp()).abs() <= tolerance)
}

/// The unit of time of the coefficients is a power of two in steps of this exponent, so that their squares stay in
/// the range of doubles.
const UNITS: i32 = 32;
/// Largest power of two that a coefficient is multiplied by.
const RANGE: i32 = 1000;

/// Largest base-2 logarithm of h^p: where h^p is larger, the coefficients that it multiplies fall below the range of
/// doubles.
const LONGEST: f64 = 900.0;

/// The unit of time for steps of this length: a power of two, which is 1 for usual lengths and then changes no bit.
fn unit_of(h: f64, order: usize) -> f64 {
    let exponent = if h == 0.0 { 0 } else { ((h.abs().to_bits() >> 52) as i32 - 1023).clamp(-1022, 1023) };
    let most = RANGE / order as i32 / UNITS * UNITS;
    let unit = ((exponent + UNITS / 2).div_euclid(UNITS) * UNITS).clamp(-most, most);
    2f64.powi(unit)
}

/// The layout of the buffer of a step: y and the coefficients of h, h^2, ... at its start (n each); then the other
/// results of the step: the defect h (p'(h) - f(t1, y1)) of the polynomial p (n), and the sums over the states of the
/// squares of the defect, of the last coefficient and of the one before, each over its tolerance atol + rtol max(|y|,
/// |y1|), with coefficients in a unit of time that is a power of two; then h, rtol, that unit to the power of the
/// order and of the order less 1, and atol (n).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// Number of states.
    pub n: usize,
    /// Order of the series.
    pub order: usize,
}

impl Places {
    /// Start of the first coefficient.
    pub const fn series(self) -> usize {
        self.n
    }

    /// Start of the defect.
    pub const fn defect(self) -> usize {
        self.n * (self.order + 1)
    }

    /// Start of the three sums.
    pub const fn sums(self) -> usize {
        self.defect() + self.n
    }

    /// Start of h, followed by rtol and the powers of the unit of time.
    pub const fn step(self) -> usize {
        self.sums() + 3
    }

    /// Start of the absolute tolerances.
    pub const fn atol(self) -> usize {
        self.step() + 4
    }

    /// Length of the buffer.
    pub const fn total(self) -> usize {
        self.atol() + self.n
    }
}

fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let n = setup.system.shape().n;
    let order = order_for(setup.options.rtol, n) as usize;
    let series = setup.system.series();
    let whole = series.is_some_and(|series| series.prepare_step(order));
    if !whole {
        let none = || Err("this system has no Taylor coefficients".to_string());
        series.map_or_else(none, |series| series.prepare(order)).map_err(|reason| Refusal::Unsuitable {
            method: METHOD.name.to_string(),
            reason,
            instead: "vern7 or dop853".to_string(),
        })?;
    }
    let places = Places { n, order };
    let mut tolerances = Tolerances::new(setup.options, n);
    tolerances.rtol *= SHARE;
    tolerances.atol.iter_mut().for_each(|atol| *atol *= SHARE);
    let mut room = vec![0.0; places.total()];
    room[places.step() + 1] = tolerances.rtol;
    room[places.atol()..].copy_from_slice(&tolerances.atol);
    let node = || Node { t: 0.0, unit: 1.0, room: room.clone() };
    Ok(Box::new(Taylor {
        places,
        whole,
        fixed: setup.options.fixed,
        stepped: false,
        tolerances,
        before: node(),
        now: node(),
        next: node(),
        powers: vec![0.0; order],
        longest: exp2(LONGEST / order as f64),
        smooth: series.is_some_and(Series::is_smooth),
        may_peak: series.is_some_and(Series::may_peak),
        state: vec![0.0; n],
        slope: vec![0.0; n],
        rates: vec![0.0; n],
        log_n: log2(n as f64),
        shares: [0.5 / order as f64, 0.5 / (order - 1) as f64],
    }))
}

/// A time and its buffer.
struct Node {
    t: f64,
    /// The unit of time of the sums in the buffer.
    unit: f64,
    room: Vec<f64>,
}

/// The series at the end of the last step, and the series that made the last step.
struct Taylor {
    places: Places,
    /// True if compiled code makes fused steps.
    whole: bool,
    fixed: bool,
    /// True if a step was made since the state was set.
    stepped: bool,
    tolerances: Tolerances,
    before: Node,
    now: Node,
    next: Node,
    /// Powers of the step size in the unit of time.
    powers: Vec<f64>,
    /// The longest step; see [`LONGEST`].
    longest: f64,
    /// True if f has no jumps and no kinks.
    smooth: bool,
    /// True if terms of f may be large inside a step and zero at its ends.
    may_peak: bool,
    /// A state inside a step; the slope of the polynomial there, multiplied by the elapsed part of the step; and f.
    state: Vec<f64>,
    slope: Vec<f64>,
    rates: Vec<f64>,
    /// Base-2 logarithm of the number of states, and 1/(2k) for the last order and the one before: they convert a
    /// mean of squares to a root.
    log_n: f64,
    shares: [f64; 2],
}

/// Number of independent partial sums.
const WIDTH: usize = 4;

/// h, h^2, h^3, ...
fn powers(h: f64, powers: &mut [f64]) {
    let square = h * h;
    for k in 0..powers.len() {
        powers[k] = match k {
            0 => h,
            1 => square,
            _ => powers[k - 2] * square,
        };
    }
}

/// Computes y + c_1 h + ... + c_p h^p from the given powers of h, smallest terms first, and h times its derivative.
fn sum(y: &[f64], c: &[f64], powers: &[f64], out: &mut [f64], slope: Option<&mut [f64]>) {
    fn some<const W: usize>(c: &[f64], n: usize, i: usize, powers: &[f64]) -> ([f64; W], [f64; W]) {
        let (mut sum, mut slope) = ([0.0; W], [0.0; W]);
        for (k, &power) in powers.iter().enumerate().rev() {
            let (row, order) = (&c[k * n + i..][..W], (k + 1) as f64);
            for l in 0..W {
                let term = row[l] * power;
                sum[l] += term;
                slope[l] += order * term;
            }
        }
        (sum, slope)
    }
    let n = y.len();
    let mut nowhere = [];
    let slopes = slope.unwrap_or(&mut nowhere);
    let mut put = |i: usize, sums: &[f64], rates: &[f64]| {
        for (l, sum) in sums.iter().enumerate() {
            out[i + l] = y[i + l] + sum;
        }
        if let Some(slopes) = slopes.get_mut(i..i + rates.len()) {
            slopes.copy_from_slice(rates);
        }
    };
    let whole = n - n % WIDTH;
    for i in (0..whole).step_by(WIDTH) {
        let (sums, rates) = some::<WIDTH>(c, n, i, powers);
        put(i, &sums, &rates);
    }
    for i in whole..n {
        let (sums, rates) = some::<1>(c, n, i, powers);
        put(i, &sums, &rates);
    }
}

impl Taylor {
    fn split(room: &[f64], places: Places) -> (&[f64], &[f64]) {
        let (y, rest) = room.split_at(places.n);
        (y, &rest[..places.n * places.order])
    }

    /// The step size that the last two coefficients of the series allow: the smaller of size_k^(-1/k).
    fn radius(&self) -> f64 {
        let Places { order, .. } = self.places;
        let sums = &self.now.room[self.places.sums()..];
        let rate = |sum: f64, k: usize| (log2(sum) - self.log_n) * self.shares[order - k];
        SAFETY * exp2(-rate(sums[1], order).max(rate(sums[2], order - 1))) * self.now.unit
    }

    /// Makes a step from `now` to `next`; returns the square of its defect relative to the permitted one.
    fn step(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<f64, Cause> {
        let places = self.places;
        self.next.t = t_new;
        let unit = unit_of(h, places.order);
        let before = unit.powi(places.order as i32 - 1);
        self.next.unit = unit;
        self.now.room[places.step()] = h;
        self.now.room[places.step() + 2..places.atol()].copy_from_slice(&[before * unit, before]);
        let (now, next) = (&self.now.room, &mut self.next.room);
        let rhs = eval.stats.rhs;
        // if a coefficient is not finite, all later ones of its series are not, and so are the sums
        let looked_at = [0..places.n, places.sums()..places.step()];
        if !(self.whole && eval.series_step(t_new, places.order, now, next, looked_at)) {
            eval.stats.rhs = rhs;
            self.parts(eval, h)?;
        }
        Ok(self.next.room[places.sums()] / (places.n as f64 * DEFECT * DEFECT))
    }

    /// Makes a step without fused code.
    fn parts(&mut self, eval: &mut Evaluator<'_>, h: f64) -> Result<(), Cause> {
        let places @ Places { n, order } = self.places;
        powers(h, &mut self.powers);
        let (y, c) = Self::split(&self.now.room, places);
        let (ends, found) = self.next.room.split_at_mut(places.defect());
        let (y1, c1) = ends.split_at_mut(n);
        let units = [1.0, self.now.room[places.step() + 2], self.now.room[places.step() + 3]];
        let (defect, found) = found.split_at_mut(n);
        sum(y, c, &self.powers, y1, Some(defect));
        if let Some(row) = y1.iter().position(|y| !y.is_finite()) {
            return Err(Cause::NonFiniteState { row });
        }
        eval.series(self.next.t, y1, order, c1)?;
        // h (p'(h) - f(t1, y1)) without another evaluation: f is the first coefficient of the next series
        for (defect, f) in defect.iter_mut().zip(&*c1) {
            *defect -= h * f;
        }
        let (last, previous) = (&c1[(order - 1) * n..], &c1[(order - 2) * n..(order - 1) * n]);
        for ((out, values), unit) in found.iter_mut().zip([&*defect, last, previous]).zip(units) {
            self.rates.iter_mut().zip(values).for_each(|(own, value)| *own = unit * value);
            let norm = self.tolerances.norm(&self.rates, y, y1);
            *out = norm * norm * n as f64;
        }
        Ok(())
    }
}

impl Taylor {
    /// The point inside a step, as a fraction of the step, where f differs from the series, although both ends agree
    /// with it: a term is large only there, or f switches there and back. Also returns the row with the largest
    /// difference.
    fn missed_inside(&mut self, eval: &mut Evaluator<'_>, h: f64, checks: u32) -> Option<(f64, usize)> {
        let Taylor { places, tolerances, now, powers: room, smooth, state, slope, rates, .. } = self;
        // if f jumps, the test at the end of the step already limits a step across the jump
        let allowed = if *smooth { 1.0 } else { DEFECT };
        let (y, c) = Taylor::split(&now.room, *places);
        (1..=checks).map(|k| f64::from(k) / f64::from(checks + 1)).find_map(|part| {
            powers(part * h, room);
            sum(y, c, room, state, Some(&mut *slope));
            let known = eval.rhs(now.t + part * h, state, rates).is_ok();
            for (slope, f) in slope.iter_mut().zip(&*rates) {
                *slope = *slope / part - h * f;
            }
            let fits = known && tolerances.norm(slope, y, state) <= allowed;
            (!fits).then(|| (part, tolerances.worst(slope, y, state)))
        })
    }
}

impl Integrator for Taylor {
    fn dimension(&self) -> usize {
        self.places.n
    }

    fn time(&self) -> f64 {
        self.now.t
    }

    fn state(&self) -> &[f64] {
        &self.now.room[..self.places.n]
    }

    /// Sets a step of length zero with a constant polynomial.
    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        let places = self.places;
        self.stepped = false;
        self.now.room[..places.n].copy_from_slice(y);
        self.now.room[places.series()..places.defect()].fill(0.0);
        self.step(eval, 0.0, t)?;
        self.next.room[..places.n].copy_from_slice(y);
        std::mem::swap(&mut self.now, &mut self.next);
        Ok(())
    }

    fn renew(&mut self, _: &dyn System) -> bool {
        true
    }

    fn order(&self) -> u32 {
        self.places.order as u32
    }

    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        if h.abs() > self.longest {
            return Attempt::Failed { cause: Cause::NoSeries { row: 0 }, next: self.longest.copysign(h) };
        }
        let square = match self.step(eval, h, t_new) {
            Err(cause) => return Attempt::Failed { cause, next: RETREAT * h },
            Ok(square) => square,
        };
        // not finite: counts as far too large
        if !(square <= 1.0) && !self.fixed {
            let Places { n, .. } = self.places;
            let defect = &self.next.room[self.places.defect()..][..n];
            let row = self.tolerances.worst(defect, &self.now.room[..n], &self.next.room[..n]);
            let error = if square.is_nan() { f64::INFINITY } else { square.sqrt() };
            return Attempt::Rejected { next: RETREAT * h, error, row };
        }
        let grown = h.abs() > GROWN * (self.now.t - self.before.t).abs();
        let from_rest = grown && !eval.autonomous() && self.radius() > AT_REST * h.abs();
        let checks = match (from_rest || !self.smooth || (grown && self.may_peak), self.may_peak) {
            _ if self.fixed => 0,
            (true, _) => CHECKS,
            (false, true) => FEWER_CHECKS,
            (false, false) => 0,
        };
        if checks > 0
            && let Some((part, row)) = self.missed_inside(eval, h, checks)
        {
            return Attempt::Rejected { next: 0.5 * part * h, error: f64::INFINITY, row };
        }
        std::mem::swap(&mut self.before, &mut self.now);
        std::mem::swap(&mut self.now, &mut self.next);
        self.stepped = true;
        let next = if self.fixed { h } else { h.signum() * self.radius().min(GROWTH * h.abs()) };
        Attempt::Accepted { next }
    }

    fn set_atol(&mut self, atol: &[f64]) {
        for (own, atol) in self.tolerances.atol.iter_mut().zip(atol) {
            *own = SHARE * atol;
        }
        for node in [&mut self.before, &mut self.now, &mut self.next] {
            node.room[self.places.atol()..].copy_from_slice(&self.tolerances.atol);
        }
    }

    /// The ratio of the last two terms of the step, p h^p c_p / (h^(p-1) c_(p-1)), is h lambda if one component
    /// dominates them, as the fastest one does after it has decayed to rounding.
    fn stiffness(&mut self) -> Option<(f64, f64)> {
        let Places { n, order: p } = self.places;
        let h = self.now.t - self.before.t;
        let (_, c) = Self::split(&self.before.room, self.places);
        let (last, before) = (&c[(p - 1) * n..], &c[(p - 2) * n..(p - 1) * n]);
        let units = &self.before.room[self.places.step() + 2..self.places.atol()];
        let (mut own, mut other, mut along) = (0.0, 0.0, 0.0);
        for (i, y) in self.state().iter().enumerate() {
            let weight = 1.0 / self.tolerances.scale(i, y.abs());
            let (a, b) = (last[i] * weight * units[0], before[i] * weight * units[1]);
            own += a * a;
            other += b * b;
            along += a * b;
        }
        let factor = p as f64 * (h / self.now.unit);
        (other > 0.0).then(|| (factor.abs() * (own / other).sqrt(), factor * along / other))
    }

    fn interpolate(&self, t: f64, y: &mut [f64]) {
        let h = t - self.before.t;
        let mut room = [0.0; MAX_ORDER as usize];
        let room = &mut room[..self.places.order];
        powers(h, room);
        let (start, c) = Self::split(&self.before.room, self.places);
        sum(start, c, room, y, None);
    }

    fn degree(&self) -> usize {
        self.places.order
    }

    fn coefficients(&self, segment: usize, c: &mut [f64]) -> Option<Segment> {
        if !self.stepped || segment > 0 {
            return None;
        }
        let Places { n, order } = self.places;
        let h = self.now.t - self.before.t;
        let series = &self.before.room[..(order + 1) * n];
        let mut power = 1.0;
        for (row, own) in c.chunks_exact_mut(n.max(1)).zip(series.chunks_exact(n.max(1))) {
            row.iter_mut().zip(own).for_each(|(c, own)| *c = power * own);
            power *= h;
        }
        Some(Segment { from: self.before.t, length: h, degree: order })
    }

    fn retreat(&mut self) -> bool {
        if !std::mem::take(&mut self.stepped) {
            return false;
        }
        std::mem::swap(&mut self.now, &mut self.next);
        std::mem::swap(&mut self.before, &mut self.now);
        true
    }
}
