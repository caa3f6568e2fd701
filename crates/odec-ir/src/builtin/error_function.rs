//! The error function and its complement, by the rational approximations of Sun's fdlibm (s_erf.c, 1993), with the
//! exponential of a square split as in W. J. Cody, "Rational Chebyshev approximations for the error function", Math.
//! Comp. 23 (1969): fdlibm masks bits for this split, but no builtin can.

#![allow(clippy::excessive_precision, reason = "coefficients as published")]

use std::f64::consts::FRAC_2_SQRT_PI;

use num_dual::Dual64;

use super::exponential::EXP;
use super::{Builtin, Lowering, ROW, logic, rounding};
use crate::algebra::{Algebra, Values};

/// erf(1) to 24 bits; the middle approximation adds the remainder.
const ERX: f64 = 8.45062911510467529297e-01;

// fdlibm's names: numerators P, R, denominators Q, S, by rising powers.
#[rustfmt::skip]
const PP: [f64; 5] = [1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02, -5.77027029648944159157e-03, -2.37630166566501626084e-05];
#[rustfmt::skip]
const QQ: [f64; 6] = [1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03, 1.32494738004321644526e-04, -3.96022827877536812320e-06];
#[rustfmt::skip]
const PA: [f64; 7] = [-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01, 3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02, -2.16637559486879084300e-03];
#[rustfmt::skip]
const QA: [f64; 7] = [1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02, 1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02];
#[rustfmt::skip]
const RA: [f64; 8] = [-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01, -6.23753324503260060396e+01, -1.62396669462573470355e+02, -1.84605092906711035994e+02, -8.12874355063065934246e+01, -9.81432934416914548592e+00];
#[rustfmt::skip]
const SA: [f64; 9] = [1.0, 1.96512716674392571292e+01, 1.37657754143519042600e+02, 4.34565877475229228821e+02, 6.45387271733267880336e+02, 4.29008140027567833386e+02, 1.08635005541779435134e+02, 6.57024977031928170135e+00, -6.04244152148580987438e-02];
#[rustfmt::skip]
const RB: [f64; 7] = [-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e+01, -1.60636384855821916062e+02, -6.37566443368389627722e+02, -1.02509513161107724954e+03, -4.83519191608651397019e+02];
#[rustfmt::skip]
const SB: [f64; 8] = [1.0, 3.03380607434824582924e+01, 3.25792512996573918826e+02, 1.53672958608443695994e+03, 3.19985821950859553908e+03, 2.55305040643316442583e+03, 4.74528541206955367215e+02, -2.24409524465858183362e+01];

/// The parts of erf and erfc.
struct Pieces<A: Algebra> {
    /// `|x|`
    size: A::Value,
    /// `erf(x) = x + x * inner` for `|x|` below 0.84375.
    scaled: A::Value,
    /// `erf(|x|) = ERX + middle` up to 1.25.
    middle: A::Value,
    /// `erfc(|x|)` above that.
    tail: A::Value,
}

fn ratio<A: Algebra>(a: &mut A, x: A::Value, above: &[f64], below: &[f64]) -> A::Value {
    let (above, below) = (a.polynomial(x, above), a.polynomial(x, below));
    a.div(above, below)
}

fn if_below<A: Algebra>(a: &mut A, x: A::Value, limit: f64, then: A::Value, otherwise: A::Value) -> A::Value {
    let limit = a.number(limit);
    let below = a.apply(&logic::LT, &[x, limit]);
    a.apply(&logic::IF, &[below, then, otherwise])
}

fn pieces<A: Algebra>(a: &mut A, x: A::Value) -> Pieces<A> {
    let (one, largest) = (a.number(1.0), a.number(30.0));
    let size = a.apply(&rounding::ABS, &[x]);
    let square = a.mul(x, x);
    let inner = ratio(a, square, &PP, &QQ);
    let scaled = a.mul(x, inner);
    let s = a.sub(size, one);
    let middle = ratio(a, s, &PA, &QA);

    // Beyond 30 the tail underflows; the bound keeps infinity out of the differences.
    let y = a.apply(&rounding::MIN, &[size, largest]);
    let y_square = a.mul(y, y);
    let s = a.div(one, y_square);
    let (near, far) = (ratio(a, s, &RA, &SA), ratio(a, s, &RB, &SB));
    let correction = if_below(a, size, 1.0 / 0.35, near, far);
    // y^2 = head^2 + (y - head) * (y + head), where head holds y to 1/16 and its square is exact
    let (sixteen, shift) = (a.number(16.0), a.number(0.5625));
    let scaled_up = a.mul(y, sixteen);
    let whole = a.apply(&rounding::FLOOR, &[scaled_up]);
    let head = a.div(whole, sixteen);
    let (low, high) = (a.sub(y, head), a.add(y, head));
    let rest = a.mul(low, high);
    let head_square = a.mul(head, head);
    let minus_head = a.neg(head_square);
    let exponent = a.sub(minus_head, shift);
    let first = a.apply(&EXP, &[exponent]);
    let exponent = a.sub(correction, rest);
    let second = a.apply(&EXP, &[exponent]);
    let product = a.mul(first, second);
    let tail = a.div(product, y);
    Pieces { size, scaled, middle, tail }
}

fn erf<A: Algebra>(a: &mut A, x: A::Value) -> A::Value {
    let Pieces { size, scaled, middle, tail } = pieces(a, x);
    let (one, erx) = (a.number(1.0), a.number(ERX));
    let inner = a.add(x, scaled);
    let middle = a.add(erx, middle);
    let outer = a.sub(one, tail);
    let magnitude = if_below(a, size, 1.25, middle, outer);
    let signed = a.apply(&rounding::COPYSIGN, &[magnitude, x]);
    if_below(a, size, 0.84375, inner, signed)
}

fn erfc<A: Algebra>(a: &mut A, x: A::Value) -> A::Value {
    let Pieces { size, scaled, middle, tail } = pieces(a, x);
    let (zero, half, one, two) = (a.number(0.0), a.number(0.5), a.number(1.0), a.number(2.0));
    let erf = a.add(x, scaled);
    let far_from_one = a.sub(one, erf);
    let excess = a.sub(x, half);
    let excess = a.add(excess, scaled);
    let near_one = a.sub(half, excess);
    let inner = if_below(a, x, 0.25, far_from_one, near_one);
    let (left, right) = (a.number(1.0 + ERX), a.number(1.0 - ERX));
    let (left, right) = (a.add(left, middle), a.sub(right, middle));
    let middle = if_below(a, x, 0.0, left, right);
    let left = a.sub(two, tail);
    let outer = a.apply(&logic::LT, &[x, zero]);
    let outer = a.apply(&logic::IF, &[outer, left, tail]);
    let outer = if_below(a, size, 1.25, middle, outer);
    if_below(a, size, 0.84375, inner, outer)
}

/// The derivative of erf as a reciprocal; the derivative field uses the exponential of the negative square.
fn slope(x: f64) -> f64 {
    let half = (x * x / 2.0).exp();
    FRAC_2_SQRT_PI / half / half
}

/// Error function, `2/sqrt(pi)` times the integral of `exp(-s^2)` from 0 to `x`.
pub static ERF: Builtin = Builtin {
    name: "erf",
    value: |x| erf(&mut Values, x[0]),
    derivative: |g, a, _, _| {
        let square = g.mul(a[0], a[0]);
        let exponent = g.neg(square);
        let bell = g.apply(&EXP, &[exponent]);
        let scale = g.constant(FRAC_2_SQRT_PI);
        Some(g.mul(scale, bell))
    },
    dual: |x| Dual64::new(0.0, x[0].eps * slope(x[0].re)),
    lowering: Lowering::Expand(|g, a| erf(g, a[0])),
    doc: "Error function.",
    ..ROW
};

/// `1 - erf(x)` without cancellation.
pub static ERFC: Builtin = Builtin {
    name: "erfc",
    value: |x| erfc(&mut Values, x[0]),
    derivative: |g, a, _, _| {
        let square = g.mul(a[0], a[0]);
        let exponent = g.neg(square);
        let bell = g.apply(&EXP, &[exponent]);
        let scale = g.constant(-FRAC_2_SQRT_PI);
        Some(g.mul(scale, bell))
    },
    dual: |x| {
        let bell = (-(x[0].re * x[0].re / 2.0)).exp();
        Dual64::new(0.0, -x[0].eps * (FRAC_2_SQRT_PI * bell * bell))
    },
    lowering: Lowering::Expand(|g, a| erfc(g, a[0])),
    doc: "Complementary error function 1 - erf(x), accurate for large x.",
    ..ROW
};

/// The rows of this file.
pub static ROWS: &[&Builtin] = &[&ERF, &ERFC];
