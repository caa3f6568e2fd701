//! Absolute value, sign, rounding, remainder, minimum and maximum: functions with kinks and jumps.

use num_dual::Dual64;

use super::{Branch, Builtin, Lowering, Notation, Primitive, ROW, logic};
use crate::algebra::{Algebra, Values};

/// `|x|`; its derivative is `sign(x)`, so it is 0 at the kink.
pub static ABS: Builtin = Builtin {
    name: "abs",
    value: |x| x[0].abs(),
    derivative: |g, a, _, _| Some(g.apply(&SIGN, &[a[0]])),
    dual: |x| {
        let eps = if x[0].re > 0.0 {
            x[0].eps
        } else if x[0].re < 0.0 {
            -x[0].eps
        } else {
            x[0].re * x[0].eps
        };
        Dual64::new(0.0, eps)
    },
    lowering: Lowering::Primitive(Primitive::Abs),
    switches: true,
    doc: "Absolute value.",
    ..ROW
};

fn sign<A: Algebra>(a: &mut A, x: A::Value) -> A::Value {
    let (zero, one, minus) = (a.number(0.0), a.number(1.0), a.number(-1.0));
    let negative = a.apply(&logic::LT, &[x, zero]);
    let positive = a.apply(&logic::LT, &[zero, x]);
    let otherwise = a.apply(&logic::IF, &[negative, minus, x]);
    a.apply(&logic::IF, &[positive, one, otherwise])
}

/// 1 above zero, -1 below, and `x` itself at zeros and NaN. Its derivative is 0.
pub static SIGN: Builtin = Builtin {
    name: "sign",
    value: |x| sign(&mut Values, x[0]),
    lowering: Lowering::Expand(|g, a| sign(g, a[0])),
    switches: true,
    doc: "1 for positive, -1 for negative numbers, 0 for zero.",
    ..ROW
};

/// Largest integer not above `x`. Its derivative is 0.
pub static FLOOR: Builtin = Builtin {
    name: "floor",
    value: |x| x[0].floor(),
    lowering: Lowering::Primitive(Primitive::Floor),
    switches: true,
    doc: "Largest integer not above x.",
    ..ROW
};

/// Smallest integer not below `x`. Its derivative is 0.
pub static CEIL: Builtin = Builtin {
    name: "ceil",
    value: |x| x[0].ceil(),
    lowering: Lowering::Primitive(Primitive::Ceil),
    switches: true,
    doc: "Smallest integer not below x.",
    ..ROW
};

/// Nearest integer, halves away from zero. Its derivative is 0.
pub static ROUND: Builtin = Builtin {
    name: "round",
    value: |x| x[0].round(),
    lowering: Lowering::Libm("round"),
    switches: true,
    doc: "Nearest integer, halves away from zero.",
    ..ROW
};

/// Remainder of the truncated division: exact, with the sign of `x`. Not a name of the language: see [`MOD`].
pub static FMOD: Builtin = Builtin {
    name: "fmod",
    notation: Notation::Internal,
    arity: 2,
    value: |x| x[0] % x[1],
    derivative: |g, a, _, i| {
        if i == 0 {
            return Some(g.constant(1.0));
        }
        let ratio = g.div(a[0], a[1]);
        let (down, up) = (g.apply(&FLOOR, &[ratio]), g.apply(&CEIL, &[ratio]));
        let zero = g.constant(0.0);
        let negative = g.apply(&logic::LT, &[ratio, zero]);
        let truncated = g.apply(&logic::IF, &[negative, up, down]);
        Some(g.neg(truncated))
    },
    dual: |x| Dual64::new(0.0, x[0].eps - (x[0].re / x[1].re).trunc() * x[1].eps),
    lowering: Lowering::Libm("fmod"),
    switches: true,
    doc: "Remainder with the sign of x.",
    ..ROW
};

fn modulo<A: Algebra>(a: &mut A, x: A::Value, y: A::Value) -> A::Value {
    let zero = a.number(0.0);
    let remainder = a.apply(&FMOD, &[x, y]);
    let below = a.apply(&logic::LT, &[remainder, zero]);
    let divisor_below = a.apply(&logic::LT, &[y, zero]);
    let signs_differ = a.apply(&logic::NE, &[below, divisor_below]);
    let nonzero = a.apply(&logic::NE, &[remainder, zero]);
    let wrap = a.apply(&logic::AND, &[signs_differ, nonzero]);
    let wrapped = a.add(remainder, y);
    let signed_zero = a.apply(&COPYSIGN, &[remainder, y]);
    let exact = a.apply(&logic::IF, &[nonzero, remainder, signed_zero]);
    a.apply(&logic::IF, &[wrap, wrapped, exact])
}

/// `x - y * floor(x / y)`: the remainder with the sign of `y`. Its derivative by `x` is 1, by `y` it is
/// `-floor(x / y)`.
pub static MOD: Builtin = Builtin {
    name: "mod",
    arity: 2,
    value: |x| modulo(&mut Values, x[0], x[1]),
    derivative: |g, a, _, i| {
        if i == 0 {
            return Some(g.constant(1.0));
        }
        let ratio = g.div(a[0], a[1]);
        let floor = g.apply(&FLOOR, &[ratio]);
        Some(g.neg(floor))
    },
    dual: |x| Dual64::new(0.0, x[0].eps - (x[0].re / x[1].re).floor() * x[1].eps),
    lowering: Lowering::Expand(|g, a| modulo(g, a[0], a[1])),
    switches: true,
    doc: "Remainder of x / y with the sign of y.",
    ..ROW
};

/// Magnitude of the first argument with the sign of the second. Not a name of the language: it would expose the sign
/// of NaN, which is not part of the semantics. The formulas that use it give NaN for NaN.
pub static COPYSIGN: Builtin = Builtin {
    name: "copysign",
    notation: Notation::Internal,
    arity: 2,
    value: |x| x[0].copysign(x[1]),
    derivative: |g, a, _, i| {
        if i == 1 {
            return None;
        }
        let slope = g.apply(&SIGN, &[a[0]]);
        let one = g.constant(1.0);
        let side = g.apply(&COPYSIGN, &[one, a[1]]);
        Some(g.mul(slope, side))
    },
    dual: |x| {
        let slope = if x[0].re == 0.0 { 0.0 } else { x[0].re.signum() * x[1].re.signum() };
        Dual64::new(0.0, x[0].eps * slope)
    },
    lowering: Lowering::Primitive(Primitive::Copysign),
    switches: true,
    doc: "Magnitude of x with the sign of y.",
    ..ROW
};

/// The smaller argument: the first on a tie, NaN if either is NaN. Its derivative is the derivative of the chosen argument.
pub static MIN: Builtin = Builtin {
    name: "min",
    arity: 2,
    value: |x| if x[0] <= x[1] || x[0].is_nan() { x[0] } else { x[1] },
    derivative: |g, a, _, i| {
        let first = g.apply(&logic::LE, &[a[0], a[1]]);
        Some(if i == 0 { first } else { g.apply(&logic::NOT, &[first]) })
    },
    branch: Some(Branch { condition: |g, a| g.apply(&logic::LE, &[a[0], a[1]]), then: 0, otherwise: 1 }),
    dual: |x| if x[0].re <= x[1].re { x[0] } else { x[1] },
    lowering: Lowering::Primitive(Primitive::Min),
    switches: true,
    doc: "The smaller of two numbers.",
    ..ROW
};

/// The larger argument: the first on a tie, NaN if either is NaN. Its derivative is the derivative of the chosen argument.
pub static MAX: Builtin = Builtin {
    name: "max",
    arity: 2,
    value: |x| if x[0] >= x[1] || x[0].is_nan() { x[0] } else { x[1] },
    derivative: |g, a, _, i| {
        let first = g.apply(&logic::LE, &[a[1], a[0]]);
        Some(if i == 0 { first } else { g.apply(&logic::NOT, &[first]) })
    },
    branch: Some(Branch { condition: |g, a| g.apply(&logic::LE, &[a[1], a[0]]), then: 0, otherwise: 1 }),
    dual: |x| if x[0].re >= x[1].re { x[0] } else { x[1] },
    lowering: Lowering::Primitive(Primitive::Max),
    switches: true,
    doc: "The larger of two numbers.",
    ..ROW
};

/// The rows of this file.
pub static ROWS: &[&Builtin] = &[&ABS, &SIGN, &FLOOR, &CEIL, &ROUND, &MOD, &MIN, &MAX, &FMOD, &COPYSIGN];
