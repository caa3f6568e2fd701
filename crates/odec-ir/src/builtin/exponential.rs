//! Exponentials, logarithms and roots.

use std::f64::consts::{LN_2, LN_10};

use num_dual::{Dual64, DualNum};

use super::{Builtin, Lowering, Primitive, ROW, arithmetic, logic, rounding};
use crate::algebra::{Algebra, Values};

/// `e^x`
pub static EXP: Builtin = Builtin {
    name: "exp",
    value: |x| x[0].exp(),
    derivative: |_, _, call, _| Some(call),
    dual: |x| x[0].exp(),
    lowering: Lowering::Libm("exp"),
    doc: "Exponential.",
    ..ROW
};

/// Natural logarithm.
pub static LN: Builtin = Builtin {
    name: "ln",
    value: |x| x[0].ln(),
    derivative: |g, a, _, _| {
        let one = g.constant(1.0);
        Some(g.div(one, a[0]))
    },
    dual: |x| x[0].ln(),
    lowering: Lowering::Libm("log"),
    domain: (0.0, f64::INFINITY),
    doc: "Natural logarithm; NaN below zero, -inf at zero.",
    ..ROW
};

/// Logarithm of base ten.
pub static LOG10: Builtin = Builtin {
    name: "log10",
    value: |x| x[0].log10(),
    derivative: |g, a, _, _| {
        let (one, ln) = (g.constant(1.0), g.constant(LN_10));
        let scaled = g.mul(a[0], ln);
        Some(g.div(one, scaled))
    },
    dual: |x| x[0].log10(),
    lowering: Lowering::Libm("log10"),
    domain: (0.0, f64::INFINITY),
    doc: "Logarithm of base ten.",
    ..ROW
};

/// Logarithm of base two.
pub static LOG2: Builtin = Builtin {
    name: "log2",
    value: |x| x[0].log2(),
    derivative: |g, a, _, _| {
        let (one, ln) = (g.constant(1.0), g.constant(LN_2));
        let scaled = g.mul(a[0], ln);
        Some(g.div(one, scaled))
    },
    dual: |x| x[0].log2(),
    lowering: Lowering::Libm("log2"),
    domain: (0.0, f64::INFINITY),
    doc: "Logarithm of base two.",
    ..ROW
};

/// `e^x - 1`, accurate near zero.
pub static EXPM1: Builtin = Builtin {
    name: "expm1",
    value: |x| x[0].exp_m1(),
    derivative: |g, a, _, _| Some(g.apply(&EXP, &[a[0]])),
    dual: |x| x[0].exp_m1(),
    lowering: Lowering::Libm("expm1"),
    doc: "exp(x) - 1, accurate near zero.",
    ..ROW
};

/// `ln(1 + x)`, accurate near zero.
pub static LOG1P: Builtin = Builtin {
    name: "log1p",
    value: |x| x[0].ln_1p(),
    derivative: |g, a, _, _| {
        let one = g.constant(1.0);
        let sum = g.add(one, a[0]);
        Some(g.div(one, sum))
    },
    dual: |x| x[0].ln_1p(),
    lowering: Lowering::Libm("log1p"),
    domain: (-1.0, f64::INFINITY),
    doc: "ln(1 + x), accurate near zero.",
    ..ROW
};

/// Square root. Its derivative at zero is infinite; write `hypot(x, y)` for the length of a vector that may vanish.
pub static SQRT: Builtin = Builtin {
    name: "sqrt",
    value: |x| x[0].sqrt(),
    derivative: |g, _, call, _| {
        let half = g.constant(0.5);
        Some(g.div(half, call))
    },
    dual: |x| x[0].sqrt(),
    lowering: Lowering::Primitive(Primitive::Sqrt),
    domain: (0.0, f64::INFINITY),
    doc: "Square root; NaN below zero.",
    ..ROW
};

/// A Newton step from `|x|^(1/3)`, which has the rounding error of 1/3; the result is within one unit in the last place.
fn cbrt<A: Algebra>(a: &mut A, x: A::Value) -> A::Value {
    let [zero, third, three, infinity] = [0.0, 1.0 / 3.0, 3.0, f64::INFINITY].map(|c| a.number(c));
    let size = a.apply(&rounding::ABS, &[x]);
    let guess = a.apply(&arithmetic::POW, &[size, third]);
    let square = a.mul(guess, guess);
    let quotient = a.div(size, square);
    let excess = a.sub(guess, quotient);
    let step = a.div(excess, three);
    let root = a.sub(guess, step);
    let signed = a.apply(&rounding::COPYSIGN, &[root, x]);
    let is_zero = a.apply(&logic::EQ, &[size, zero]);
    let is_infinite = a.apply(&logic::EQ, &[size, infinity]);
    let fixed = a.apply(&logic::OR, &[is_zero, is_infinite]);
    a.apply(&logic::IF, &[fixed, x, signed])
}

/// Cube root, of negative numbers too. Its derivative at zero is infinite. It does not use the C library, because
/// Rust uses another implementation.
pub static CBRT: Builtin = Builtin {
    name: "cbrt",
    value: |x| cbrt(&mut Values, x[0]),
    derivative: |g, _, call, _| {
        let (one, three) = (g.constant(1.0), g.constant(3.0));
        let square = g.mul(call, call);
        let scaled = g.mul(three, square);
        Some(g.div(one, scaled))
    },
    dual: |x| x[0].cbrt(),
    lowering: Lowering::Expand(|g, a| cbrt(g, a[0])),
    doc: "Cube root, of negative numbers too.",
    ..ROW
};

/// If the sum of the squares of a length is at least this (2^-1000), underflow has not changed its rounded value.
pub const HYPOT_LEAST: f64 = f64::from_bits((1023 - 1000) << 52);

/// Scale factors for lengths that are too short or too long to be squared, and their reciprocals: 2^600 and 2^-600.
pub const HYPOT_SCALES: [f64; 2] = [f64::from_bits((1023 + 600) << 52), f64::from_bits((1023 - 600) << 52)];

/// The value of [`HYPOT`], within one unit in the last place. A call of the function in the C library would cost more
/// than the rest of a distance. The special cases are those of C: infinite if either argument is infinite, otherwise
/// NaN if either is NaN.
fn hypot(x: f64, y: f64) -> f64 {
    let sum = x * x + y * y;
    if (HYPOT_LEAST..f64::INFINITY).contains(&sum) {
        return sum.sqrt();
    }
    if x.abs() == f64::INFINITY || y.abs() == f64::INFINITY {
        return f64::INFINITY;
    }
    let [large, small] = HYPOT_SCALES;
    let (scale, back) = if sum < HYPOT_LEAST { (large, small) } else { (small, large) };
    let (x, y) = (x * scale, y * scale);
    (x * x + y * y).sqrt() * back
}

/// `sqrt(x^2 + y^2)` without overflow. At the origin, a kink, both derivatives are 0 by convention.
pub static HYPOT: Builtin = Builtin {
    name: "hypot",
    arity: 2,
    value: |x| hypot(x[0], x[1]),
    derivative: |g, a, call, i| {
        let zero = g.constant(0.0);
        let origin = g.apply(&logic::EQ, &[call, zero]);
        let cosine = g.div(a[i], call);
        Some(g.apply(&logic::IF, &[origin, zero, cosine]))
    },
    dual: |x| {
        let scale = x[0].re.abs().max(x[1].re.abs());
        if scale == 0.0 {
            return Dual64::from_re(0.0);
        }
        let (a, b) = (x[0] / scale, x[1] / scale);
        (a * a + b * b).sqrt() * scale
    },
    lowering: Lowering::Primitive(Primitive::Hypot),
    commutative: true,
    doc: "Length of the vector (x, y), without overflow.",
    ..ROW
};

/// The rows of this file.
pub static ROWS: &[&Builtin] = &[&EXP, &LN, &LOG10, &LOG2, &EXPM1, &LOG1P, &SQRT, &CBRT, &HYPOT];
