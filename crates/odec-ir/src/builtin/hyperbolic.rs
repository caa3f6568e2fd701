//! Inverse hyperbolic functions: formulas over `ln`, `log1p` and `sqrt`, since C libraries differ.

use std::f64::consts::LN_2;

use num_dual::{Dual64, DualNum};

use super::exponential::{HYPOT, LN, LOG1P, SQRT};
use super::{Builtin, Lowering, ROW, arithmetic, logic, rounding};
use crate::algebra::{Algebra, Values};

/// Above this, 1 is below the rounding of the square, and the asymptotic form `ln(2 x)` holds to the last bit.
const LARGE: f64 = 268_435_456.0;

/// `ln(1 + |x| + x^2 / (1 + sqrt(x^2 + 1)))` with the sign of `x`: no cancellation near zero.
fn asinh<A: Algebra>(a: &mut A, x: A::Value) -> A::Value {
    let one = a.number(1.0);
    let size = a.apply(&rounding::ABS, &[x]);
    let square = a.mul(size, size);
    let sum = a.add(square, one);
    let root = a.apply(&SQRT, &[sum]);
    let below = a.add(one, root);
    let excess = a.div(square, below);
    let argument = a.add(size, excess);
    let near = a.apply(&LOG1P, &[argument]);
    let far = logarithm_of_double(a, size);
    let value = if_large(a, size, far, near);
    a.apply(&rounding::COPYSIGN, &[value, x])
}

/// With `s = x - 1`: `ln(1 + s + sqrt(2 s + s^2))`.
fn acosh<A: Algebra>(a: &mut A, x: A::Value) -> A::Value {
    let (one, two, nan) = (a.number(1.0), a.number(2.0), a.number(f64::NAN));
    let s = a.sub(x, one);
    let double = a.mul(two, s);
    let square = a.mul(s, s);
    let sum = a.add(double, square);
    let root = a.apply(&SQRT, &[sum]);
    let argument = a.add(s, root);
    let near = a.apply(&LOG1P, &[argument]);
    let far = logarithm_of_double(a, x);
    let value = if_large(a, x, far, near);
    let outside = a.apply(&logic::LT, &[x, one]);
    a.apply(&logic::IF, &[outside, nan, value])
}

/// `ln(1 + 2 |x| / (1 - |x|)) / 2` with the sign of `x`.
fn atanh<A: Algebra>(a: &mut A, x: A::Value) -> A::Value {
    let (one, two, half) = (a.number(1.0), a.number(2.0), a.number(0.5));
    let size = a.apply(&rounding::ABS, &[x]);
    let double = a.mul(two, size);
    let rest = a.sub(one, size);
    let ratio = a.div(double, rest);
    let logarithm = a.apply(&LOG1P, &[ratio]);
    let value = a.mul(half, logarithm);
    a.apply(&rounding::COPYSIGN, &[value, x])
}

fn logarithm_of_double<A: Algebra>(a: &mut A, x: A::Value) -> A::Value {
    let ln_2 = a.number(LN_2);
    let ln = a.apply(&LN, &[x]);
    a.add(ln, ln_2)
}

fn if_large<A: Algebra>(a: &mut A, x: A::Value, far: A::Value, near: A::Value) -> A::Value {
    let large = a.number(LARGE);
    let is_large = a.apply(&logic::LT, &[large, x]);
    a.apply(&logic::IF, &[is_large, far, near])
}

/// Inverse hyperbolic sine.
pub static ASINH: Builtin = Builtin {
    name: "asinh",
    value: |x| asinh(&mut Values, x[0]),
    derivative: |g, a, _, _| {
        let one = g.constant(1.0);
        let length = g.apply(&HYPOT, &[one, a[0]]);
        Some(g.div(one, length))
    },
    dual: |x| x[0].asinh(),
    lowering: Lowering::Expand(|g, a| asinh(g, a[0])),
    doc: "Inverse hyperbolic sine.",
    ..ROW
};

/// Inverse hyperbolic cosine; infinite slope at 1.
pub static ACOSH: Builtin = Builtin {
    name: "acosh",
    value: |x| acosh(&mut Values, x[0]),
    derivative: |g, a, _, _| {
        let one = g.constant(1.0);
        let (below, above) = (g.sub(a[0], one), g.add(a[0], one));
        let (below, above) = (g.apply(&SQRT, &[below]), g.apply(&SQRT, &[above]));
        let product = g.mul(below, above);
        Some(g.div(one, product))
    },
    dual: |x| {
        // as the logarithm of x + sqrt(x^2 - 1), with the root of a product
        let root = ((x[0] - 1.0) * (x[0] + 1.0)).sqrt();
        Dual64::new(0.0, x[0].eps / root.re)
    },
    lowering: Lowering::Expand(|g, a| acosh(g, a[0])),
    domain: (1.0, f64::INFINITY),
    doc: "Inverse hyperbolic cosine; NaN below 1.",
    ..ROW
};

/// Inverse hyperbolic tangent; infinite at -1 and 1.
pub static ATANH: Builtin = Builtin {
    name: "atanh",
    value: |x| atanh(&mut Values, x[0]),
    derivative: |g, a, _, _| {
        let one = g.constant(1.0);
        let (below, above) = (g.sub(one, a[0]), g.add(one, a[0]));
        let product = g.apply(&arithmetic::MUL, &[below, above]);
        Some(g.div(one, product))
    },
    dual: |x| {
        // as the difference of two logarithms
        let one = Dual64::from_re(1.0);
        ((one + x[0]).ln() - (one - x[0]).ln()) * 0.5
    },
    lowering: Lowering::Expand(|g, a| atanh(g, a[0])),
    domain: (-1.0, 1.0),
    doc: "Inverse hyperbolic tangent; NaN outside [-1, 1].",
    ..ROW
};

/// The rows of this file.
pub static ROWS: &[&Builtin] = &[&ASINH, &ACOSH, &ATANH];
