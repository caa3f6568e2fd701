//! The gamma function, its logarithm, and the derivatives of the logarithm.
//!
//! Gamma and lgamma: C. Lanczos, "A precision approximation of the gamma function", SIAM J. Numer. Anal. 1 (1964), as
//! the rational function of 13 terms with g = 6.0246800407767296 computed for Boost (`lanczos13m53`); arguments below
//! zero by reflection. Digamma and trigamma: Abramowitz and Stegun 6.3.5, 6.3.18, 6.4.6, 6.4.12.

#![allow(clippy::excessive_precision, reason = "coefficients as published")]

use std::f64::consts::PI;

use num_dual::{Dual64, DualNum};

use super::exponential::{EXP, LN};
use super::{Builtin, Lowering, Notation, ROW, arithmetic, logic, rounding, trigonometric};
use crate::algebra::{Algebra, Values};
use crate::derive;

/// Lanczos' parameter less one half.
const G_MINUS_HALF: f64 = 5.524680040776729583740234375;
#[rustfmt::skip]
const NUMERATOR: [f64; 13] = [
    23531376880.410759688572007674451636754734846804940, 42919803642.649098768957899047001988850926355848959,
    35711959237.355668049440185451547166705960488635843, 17921034426.037209699919755754458931112671403265390,
    6039542586.3520280050642916443072979210699388420708, 1439720407.3117216736632230727949123939715485786772,
    248874557.86205415651146038641322942321632125127801, 31426415.585400194380614231628318205362874684987640,
    2876370.6289353724412254090516208496135991145378768, 186056.26539522349504029498971604569928220784236328,
    8071.6720023658162106380029022722506138218516325024, 210.82427775157934587250973392071336271166969580291,
    2.5066282746310002701649081771338373386264310793408,
];
/// `x (x + 1) .. (x + 11)` by rising powers.
#[rustfmt::skip]
const DENOMINATOR: [f64; 13] = [
    0.0, 39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0, 2637558.0, 357423.0, 32670.0,
    1925.0, 66.0, 1.0,
];
/// Below this, the gamma function equals 1/x to the last bit.
const TINY: f64 = 1e-20;

/// Lanczos' sum for `x > 0`: in powers of `x` below 5, and of `1/x` above, where powers of `x` would overflow.
fn lanczos_sum<A: Algebra>(a: &mut A, x: A::Value) -> A::Value {
    let (one, limit) = (a.number(1.0), a.number(5.0));
    let near = {
        let (above, below) = (a.polynomial(x, &NUMERATOR), a.polynomial(x, &DENOMINATOR));
        a.div(above, below)
    };
    let far = {
        let inverse = a.div(one, x);
        let reversed = |c: &[f64]| c.iter().rev().copied().collect::<Vec<_>>();
        let (above, below) =
            (a.polynomial(inverse, &reversed(&NUMERATOR)), a.polynomial(inverse, &reversed(&DENOMINATOR[1..])));
        a.div(above, below)
    };
    let is_near = a.apply(&logic::LT, &[x, limit]);
    a.apply(&logic::IF, &[is_near, near, far])
}

/// `|sin(pi x)|` for `x >= 0`, exactly 0 at integers; and `floor(x)`.
fn sine_of_pi<A: Algebra>(a: &mut A, x: A::Value) -> (A::Value, A::Value) {
    let (one, pi) = (a.number(1.0), a.number(PI));
    let whole = a.apply(&rounding::FLOOR, &[x]);
    let fraction = a.sub(x, whole);
    let rest = a.sub(one, fraction);
    let nearest = a.apply(&rounding::MIN, &[fraction, rest]);
    let angle = a.mul(pi, nearest);
    (a.apply(&trigonometric::SIN, &[angle]), whole)
}

/// `Gamma(x) = (x + g - 1/2)^(x - 1/2) e^-(x + g - 1/2) S(x)`, with a correction for the rounding of the base; below
/// zero `Gamma(-x) = -pi / (x sin(pi x) Gamma(x))`.
fn gamma<A: Algebra>(a: &mut A, x: A::Value) -> A::Value {
    let [zero, one, half, quarter] = [0.0, 1.0, 0.5, 0.25].map(|c| a.number(c));
    let [shift, largest, tiny, nan] = [G_MINUS_HALF, 200.0, TINY, f64::NAN].map(|c| a.number(c));
    let size = a.apply(&rounding::ABS, &[x]);
    // From 172 on, Gamma(x) overflows and Gamma(-x) vanishes.
    let bounded = a.apply(&rounding::MIN, &[size, largest]);
    let y = a.add(bounded, shift);
    // The rounding error of y, for either order of the summands.
    let without_shift = a.sub(y, shift);
    let lost_small = a.sub(without_shift, bounded);
    let without_size = a.sub(y, bounded);
    let lost_large = a.sub(without_size, shift);
    let shift_is_larger = a.apply(&logic::LE, &[bounded, shift]);
    let lost = a.apply(&logic::IF, &[shift_is_larger, lost_small, lost_large]);
    let g = a.number(G_MINUS_HALF + 0.5);
    let relative = a.mul(lost, g);
    let relative = a.div(relative, y);

    let sum = lanczos_sum(a, bounded);
    let exp = a.apply(&EXP, &[y]);
    let exponent = a.mul(half, bounded);
    let exponent = a.sub(exponent, quarter);
    // The square root of the power, twice: the power itself overflows before the product does.
    let root = a.apply(&arithmetic::POW, &[y, exponent]);
    let above = {
        let scaled = a.div(sum, exp);
        let correction = a.mul(relative, scaled);
        let scaled = a.add(scaled, correction);
        let scaled = a.mul(scaled, root);
        a.mul(scaled, root)
    };
    let below = {
        let (sine, whole) = sine_of_pi(a, size);
        let product = a.mul(sine, size);
        let minus_pi = a.number(-PI);
        let reflected = a.div(minus_pi, product);
        let scaled = a.div(exp, sum);
        let correction = a.mul(relative, scaled);
        let scaled = a.sub(scaled, correction);
        let scaled = a.mul(reflected, scaled);
        let scaled = a.div(scaled, root);
        let value = a.div(scaled, root);
        let halved = a.mul(half, whole);
        let floor = a.apply(&rounding::FLOOR, &[halved]);
        let odd = a.apply(&logic::NE, &[halved, floor]);
        let opposite = a.neg(value);
        let value = a.apply(&logic::IF, &[odd, opposite, value]);
        let pole = a.apply(&logic::EQ, &[sine, zero]);
        a.apply(&logic::IF, &[pole, nan, value])
    };
    let negative = a.apply(&logic::LT, &[x, zero]);
    let value = a.apply(&logic::IF, &[negative, below, above]);
    let inverse = a.div(one, x);
    let near_zero = a.apply(&logic::LT, &[size, tiny]);
    a.apply(&logic::IF, &[near_zero, inverse, value])
}

/// `ln |Gamma(x)| = ln S(x) - g + (x - 1/2) (ln(x + g - 1/2) - 1)`, below zero by reflection.
fn lgamma<A: Algebra>(a: &mut A, x: A::Value) -> A::Value {
    let [zero, one, half] = [0.0, 1.0, 0.5].map(|c| a.number(c));
    let [shift, g, tiny, ln_pi] = [G_MINUS_HALF, G_MINUS_HALF + 0.5, TINY, PI.ln()].map(|c| a.number(c));
    let infinity = a.number(f64::INFINITY);
    let size = a.apply(&rounding::ABS, &[x]);
    let sum = lanczos_sum(a, size);
    let ln_sum = a.apply(&LN, &[sum]);
    let first = a.sub(ln_sum, g);
    let base = a.add(size, shift);
    let ln_base = a.apply(&LN, &[base]);
    let factor = a.sub(ln_base, one);
    let exponent = a.sub(size, half);
    let second = a.mul(exponent, factor);
    let above = a.add(first, second);
    let ln_size = a.apply(&LN, &[size]);
    let below = {
        let (sine, _) = sine_of_pi(a, size);
        let ln_sine = a.apply(&LN, &[sine]);
        let value = a.sub(ln_pi, ln_sine);
        let value = a.sub(value, ln_size);
        a.sub(value, above)
    };
    let negative = a.apply(&logic::LT, &[x, zero]);
    let value = a.apply(&logic::IF, &[negative, below, above]);
    let near_zero = a.apply(&logic::LT, &[size, tiny]);
    let steep = a.neg(ln_size);
    let value = a.apply(&logic::IF, &[near_zero, steep, value]);
    let infinite = a.apply(&logic::EQ, &[size, infinity]);
    a.apply(&logic::IF, &[infinite, infinity, value])
}

/// Shift of the argument by the recurrence before the asymptotic series of eight terms.
const SHIFT: usize = 10;
/// Bernoulli numbers B_2k / 2k, k = 1 .. 8.
#[rustfmt::skip]
const DIGAMMA_SERIES: [f64; 8] = [
    1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0, -3617.0 / 8160.0,
];
/// Bernoulli numbers B_2k, k = 1 .. 8.
#[rustfmt::skip]
const TRIGAMMA_SERIES: [f64; 8] = [
    1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0,
];

/// The argument of the series: `x`, or `1 - x` below zero; and true if it was reflected.
fn reflect<A: Algebra>(a: &mut A, x: A::Value) -> (A::Value, A::Value) {
    let (zero, one) = (a.number(0.0), a.number(1.0));
    let reflected = a.sub(one, x);
    let negative = a.apply(&logic::LT, &[x, zero]);
    (a.apply(&logic::IF, &[negative, reflected, x]), negative)
}

/// `pi (x - round(x))`, exact up to the product: the angle that the reflection formulas need.
fn angle<A: Algebra>(a: &mut A, x: A::Value) -> A::Value {
    let pi = a.number(PI);
    let nearest = a.apply(&rounding::ROUND, &[x]);
    let fraction = a.sub(x, nearest);
    a.mul(pi, fraction)
}

/// `psi(x) = ln z - 1/(2z) - sum B_2k / (2k z^2k) - sum 1/(x+k)` with `z = x + 10`; `psi(x) = psi(1-x) - pi / tan(pi x)`.
fn digamma<A: Algebra>(a: &mut A, x: A::Value) -> A::Value {
    let (one, half, pi) = (a.number(1.0), a.number(0.5), a.number(PI));
    let (y, negative) = reflect(a, x);
    let mut poles = a.div(one, y);
    for k in 1..SHIFT {
        let shift = a.number(k as f64);
        let shifted = a.add(y, shift);
        let term = a.div(one, shifted);
        poles = a.add(poles, term);
    }
    let shift = a.number(SHIFT as f64);
    let z = a.add(y, shift);
    let inverse = a.div(one, z);
    let square = a.mul(inverse, inverse);
    let series = a.polynomial(square, &DIGAMMA_SERIES);
    let series = a.mul(square, series);
    let halved = a.mul(half, inverse);
    let ln = a.apply(&LN, &[z]);
    let value = a.sub(ln, halved);
    let value = a.sub(value, series);
    let value = a.sub(value, poles);
    let angle = angle(a, x);
    let tangent = a.apply(&trigonometric::TAN, &[angle]);
    let cotangent = a.div(pi, tangent);
    let reflected = a.sub(value, cotangent);
    a.apply(&logic::IF, &[negative, reflected, value])
}

/// `psi'(x) = 1/z + 1/(2z^2) + sum B_2k / z^(2k+1) + sum 1/(x+k)^2` with `z = x + 10`;
/// `psi'(x) = pi^2 / sin^2(pi x) - psi'(1-x)`.
fn trigamma<A: Algebra>(a: &mut A, x: A::Value) -> A::Value {
    let (one, half, pi) = (a.number(1.0), a.number(0.5), a.number(PI));
    let (y, negative) = reflect(a, x);
    let inverse = a.div(one, y);
    let mut poles = a.mul(inverse, inverse);
    for k in 1..SHIFT {
        let shift = a.number(k as f64);
        let shifted = a.add(y, shift);
        let inverse = a.div(one, shifted);
        let term = a.mul(inverse, inverse);
        poles = a.add(poles, term);
    }
    let shift = a.number(SHIFT as f64);
    let z = a.add(y, shift);
    let inverse = a.div(one, z);
    let square = a.mul(inverse, inverse);
    let series = a.polynomial(square, &TRIGAMMA_SERIES);
    let series = a.mul(square, series);
    let series = a.mul(inverse, series);
    let halved = a.mul(half, square);
    let value = a.add(inverse, halved);
    let value = a.add(value, series);
    let value = a.add(value, poles);
    let angle = angle(a, x);
    let sine = a.apply(&trigonometric::SIN, &[angle]);
    let ratio = a.div(pi, sine);
    let total = a.mul(ratio, ratio);
    let reflected = a.sub(total, value);
    a.apply(&logic::IF, &[negative, reflected, value])
}

/// Lanczos' formula in dual numbers, differentiated by num-dual; the derivative field uses digamma.
fn lgamma_dual(x: Dual64) -> Dual64 {
    if x.re <= 0.0 {
        // ln |Gamma(x)| = ln pi - ln |sin(pi x)| - ln |Gamma(1 - x)|; the argument of the sine is reduced by
        // multiples of pi
        let nearest = x.re.round();
        return -((x - nearest) * PI).sin().ln() - lgamma_dual(-x + 1.0);
    }
    let horner = |c: &[f64]| c.iter().rev().fold(Dual64::from_re(0.0), |sum, &c| sum * x + c);
    let sum = if x.re < 1e6 { (horner(&NUMERATOR) / horner(&DENOMINATOR)).ln() } else { Dual64::from_re(0.0) };
    sum + (x - 0.5) * ((x + G_MINUS_HALF).ln() - 1.0)
}

/// Gamma function.
pub static GAMMA: Builtin = Builtin {
    name: "gamma",
    value: |x| gamma(&mut Values, x[0]),
    derivative: |g, a, call, _| {
        let slope = g.apply(&DIGAMMA, &[a[0]]);
        Some(g.mul(call, slope))
    },
    dual: |x| Dual64::new(0.0, gamma(&mut Values, x[0].re) * lgamma_dual(x[0]).eps),
    lowering: Lowering::Expand(|g, a| gamma(g, a[0])),
    domain: (0.0, 171.6),
    doc: "Gamma function; NaN at negative integers.",
    ..ROW
};

/// Logarithm of the magnitude of the gamma function.
pub static LGAMMA: Builtin = Builtin {
    name: "lgamma",
    value: |x| lgamma(&mut Values, x[0]),
    derivative: |g, a, _, _| Some(g.apply(&DIGAMMA, &[a[0]])),
    dual: |x| lgamma_dual(x[0]),
    lowering: Lowering::Expand(|g, a| lgamma(g, a[0])),
    domain: (0.0, f64::INFINITY),
    doc: "Logarithm of the magnitude of the gamma function; infinite at its poles.",
    ..ROW
};

/// Derivative of `lgamma`. Not a name of the language.
pub static DIGAMMA: Builtin = Builtin {
    name: "digamma",
    notation: Notation::Internal,
    value: |x| digamma(&mut Values, x[0]),
    derivative: |g, a, _, _| Some(g.apply(&TRIGAMMA, &[a[0]])),
    dual: |x| Dual64::new(0.0, x[0].eps * zeta(2, x[0].re)),
    lowering: Lowering::Expand(|g, a| digamma(g, a[0])),
    domain: (0.0, f64::INFINITY),
    doc: "Derivative of lgamma.",
    ..ROW
};

/// Derivative of `digamma`. Not a name of the language. Its derivative is the derivative of its formula, operation by
/// operation, so that the table is closed.
pub static TRIGAMMA: Builtin = Builtin {
    name: "trigamma",
    notation: Notation::Internal,
    value: |x| trigamma(&mut Values, x[0]),
    derivative: |g, a, _, _| derive::of_formula(g, trigamma, a[0]),
    dual: |x| Dual64::new(0.0, x[0].eps * -2.0 * zeta(3, x[0].re)),
    lowering: Lowering::Expand(|g, a| trigamma(g, a[0])),
    domain: (0.0, f64::INFINITY),
    doc: "Second derivative of lgamma.",
    ..ROW
};

/// Hurwitz' zeta, the sum of `(x + k)^-s` over all k: 40 terms, then the integral with Euler and Maclaurin's first
/// corrections. For `x < 0` the sum starts left of poles; it still equals the derivative.
fn zeta(s: i32, x: f64) -> f64 {
    let terms = 40 + if x < 0.0 { (-x).ceil().min(1e4) as i32 } else { 0 };
    let sum: f64 = (0..terms).rev().map(|k| (x + f64::from(k)).powi(-s)).sum();
    let (z, s) = (x + f64::from(terms), f64::from(s));
    let tail = z.powf(1.0 - s) / (s - 1.0) + 0.5 * z.powf(-s) + s / 12.0 * z.powf(-s - 1.0)
        - s * (s + 1.0) * (s + 2.0) / 720.0 * z.powf(-s - 3.0)
        + s * (s + 1.0) * (s + 2.0) * (s + 3.0) * (s + 4.0) / 30240.0 * z.powf(-s - 5.0);
    sum + tail
}

/// The rows of this file.
pub static ROWS: &[&Builtin] = &[&GAMMA, &LGAMMA, &DIGAMMA, &TRIGAMMA];
