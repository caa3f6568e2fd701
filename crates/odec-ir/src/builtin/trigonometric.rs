//! Circular and hyperbolic functions and their inverses.

use std::f64::consts::FRAC_PI_2;

use num_dual::{Dual64, DualNum};

use super::{Builtin, Lowering, ROW, exponential};

/// Sine of an angle in radians.
pub static SIN: Builtin = Builtin {
    name: "sin",
    value: |x| x[0].sin(),
    derivative: |g, a, _, _| Some(g.apply(&COS, &[a[0]])),
    dual: |x| x[0].sin(),
    lowering: Lowering::Libm("sin"),
    doc: "Sine of an angle in radians.",
    ..ROW
};

/// Cosine of an angle in radians.
pub static COS: Builtin = Builtin {
    name: "cos",
    value: |x| x[0].cos(),
    derivative: |g, a, _, _| {
        let sine = g.apply(&SIN, &[a[0]]);
        Some(g.neg(sine))
    },
    dual: |x| x[0].cos(),
    lowering: Lowering::Libm("cos"),
    doc: "Cosine of an angle in radians.",
    ..ROW
};

/// Tangent of an angle in radians.
pub static TAN: Builtin = Builtin {
    name: "tan",
    value: |x| x[0].tan(),
    derivative: |g, _, call, _| {
        let one = g.constant(1.0);
        let square = g.mul(call, call);
        Some(g.add(one, square))
    },
    dual: |x| x[0].tan(),
    lowering: Lowering::Libm("tan"),
    domain: (-FRAC_PI_2, FRAC_PI_2),
    doc: "Tangent of an angle in radians.",
    ..ROW
};

/// `(1 - x) * (1 + x)`: keeps the digits that `1 - x^2` loses near one.
fn one_minus_square(g: &mut crate::Graph, x: crate::NodeId) -> crate::NodeId {
    let one = g.constant(1.0);
    let (below, above) = (g.sub(one, x), g.add(one, x));
    g.mul(below, above)
}

/// Arc sine; infinite slope at -1 and 1.
pub static ASIN: Builtin = Builtin {
    name: "asin",
    value: |x| x[0].asin(),
    derivative: |g, a, _, _| {
        let one = g.constant(1.0);
        let square = one_minus_square(g, a[0]);
        let root = g.apply(&exponential::SQRT, &[square]);
        Some(g.div(one, root))
    },
    dual: |x| x[0].asin(),
    lowering: Lowering::Libm("asin"),
    domain: (-1.0, 1.0),
    doc: "Arc sine; NaN outside [-1, 1].",
    ..ROW
};

/// Arc cosine; infinite slope at -1 and 1.
pub static ACOS: Builtin = Builtin {
    name: "acos",
    value: |x| x[0].acos(),
    derivative: |g, a, _, _| {
        let minus = g.constant(-1.0);
        let square = one_minus_square(g, a[0]);
        let root = g.apply(&exponential::SQRT, &[square]);
        Some(g.div(minus, root))
    },
    dual: |x| x[0].acos(),
    lowering: Lowering::Libm("acos"),
    domain: (-1.0, 1.0),
    doc: "Arc cosine; NaN outside [-1, 1].",
    ..ROW
};

/// Arc tangent.
pub static ATAN: Builtin = Builtin {
    name: "atan",
    value: |x| x[0].atan(),
    derivative: |g, a, _, _| {
        let one = g.constant(1.0);
        let square = g.mul(a[0], a[0]);
        let sum = g.add(one, square);
        Some(g.div(one, sum))
    },
    dual: |x| x[0].atan(),
    lowering: Lowering::Libm("atan"),
    doc: "Arc tangent.",
    ..ROW
};

/// Angle of the point (x, y), with `y` as the first argument. Undefined slope (NaN) at the origin.
pub static ATAN2: Builtin = Builtin {
    name: "atan2",
    arity: 2,
    value: |x| x[0].atan2(x[1]),
    derivative: |g, a, _, i| {
        // x / r / r with r = hypot: r^2 could overflow or vanish.
        let radius = g.apply(&exponential::HYPOT, &[a[0], a[1]]);
        let cosine = g.div(a[1 - i], radius);
        let slope = g.div(cosine, radius);
        Some(if i == 0 { slope } else { g.neg(slope) })
    },
    dual: |x| x[0].atan2(x[1]),
    lowering: Lowering::Libm("atan2"),
    doc: "Angle of the point (x, y); takes y, then x.",
    ..ROW
};

/// Hyperbolic sine.
pub static SINH: Builtin = Builtin {
    name: "sinh",
    value: |x| x[0].sinh(),
    derivative: |g, a, _, _| Some(g.apply(&COSH, &[a[0]])),
    dual: |x| x[0].sinh(),
    lowering: Lowering::Libm("sinh"),
    doc: "Hyperbolic sine.",
    ..ROW
};

/// Hyperbolic cosine.
pub static COSH: Builtin = Builtin {
    name: "cosh",
    value: |x| x[0].cosh(),
    derivative: |g, a, _, _| Some(g.apply(&SINH, &[a[0]])),
    dual: |x| x[0].cosh(),
    lowering: Lowering::Libm("cosh"),
    doc: "Hyperbolic cosine.",
    ..ROW
};

/// Hyperbolic tangent. Its derivative is `1 / cosh^2`, which is accurate where the value is near one.
pub static TANH: Builtin = Builtin {
    name: "tanh",
    value: |x| x[0].tanh(),
    derivative: |g, a, _, _| {
        let one = g.constant(1.0);
        let cosh = g.apply(&COSH, &[a[0]]);
        let secant = g.div(one, cosh);
        Some(g.mul(secant, secant))
    },
    dual: |x| {
        // sinh / cosh overflows; with e = exp(-2|x|), tanh' = 4 e / (1 + e)^2
        let e = (-2.0 * x[0].re.abs()).exp();
        Dual64::new(0.0, x[0].eps * (4.0 * e / ((1.0 + e) * (1.0 + e))))
    },
    lowering: Lowering::Libm("tanh"),
    doc: "Hyperbolic tangent.",
    ..ROW
};

/// The rows of this file.
pub static ROWS: &[&Builtin] = &[&SIN, &COS, &TAN, &ASIN, &ACOS, &ATAN, &ATAN2, &SINH, &COSH, &TANH];
