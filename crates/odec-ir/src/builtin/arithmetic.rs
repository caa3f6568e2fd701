//! The operators: `+ - * /`, unary minus and `^`.

use num_dual::{Dual64, DualNum};

use super::{Builtin, Lowering, Notation, Primitive, ROW, exponential, logic};
use crate::graph::{Graph, NodeId};

/// `a + b`
pub static ADD: Builtin = Builtin {
    name: "add",
    notation: Notation::Operator,
    arity: 2,
    value: |x| x[0] + x[1],
    derivative: |g, _, _, _| Some(g.constant(1.0)),
    dual: |x| x[0] + x[1],
    lowering: Lowering::Primitive(Primitive::Add),
    commutative: true,
    doc: "Sum.",
    ..ROW
};

/// `a - b`
pub static SUB: Builtin = Builtin {
    name: "sub",
    notation: Notation::Operator,
    arity: 2,
    value: |x| x[0] - x[1],
    derivative: |g, _, _, i| Some(g.constant(if i == 0 { 1.0 } else { -1.0 })),
    dual: |x| x[0] - x[1],
    lowering: Lowering::Primitive(Primitive::Sub),
    doc: "Difference.",
    ..ROW
};

/// `a * b`
pub static MUL: Builtin = Builtin {
    name: "mul",
    notation: Notation::Operator,
    arity: 2,
    value: |x| x[0] * x[1],
    derivative: |_, a, _, i| Some(a[1 - i]),
    dual: |x| x[0] * x[1],
    lowering: Lowering::Primitive(Primitive::Mul),
    commutative: true,
    doc: "Product.",
    ..ROW
};

/// `a / b`
pub static DIV: Builtin = Builtin {
    name: "div",
    notation: Notation::Operator,
    arity: 2,
    value: |x| x[0] / x[1],
    derivative: |g, a, call, i| {
        let one = g.constant(1.0);
        Some(if i == 0 {
            g.div(one, a[1])
        } else {
            let ratio = g.div(call, a[1]);
            g.neg(ratio)
        })
    },
    dual: |x| x[0] / x[1],
    lowering: Lowering::Primitive(Primitive::Div),
    doc: "Quotient.",
    ..ROW
};

/// `-a`
pub static NEG: Builtin = Builtin {
    name: "neg",
    notation: Notation::Operator,
    value: |x| -x[0],
    derivative: |g, _, _, _| Some(g.constant(-1.0)),
    dual: |x| -x[0],
    lowering: Lowering::Primitive(Primitive::Neg),
    doc: "Negation.",
    ..ROW
};

/// `x ^ y`. With a constant integer exponent up to 16 in magnitude the graph holds a product instead (see
/// [`crate::simplify::ROUNDING_RULES`]). The derivative by `x` is `y * x^(y-1)`; by `y` it is `x^y * ln x`, and 0 at
/// `x = 0` for `y > 0`, where that product would be 0 * inf.
pub static POW: Builtin = Builtin {
    name: "pow",
    notation: Notation::Operator,
    arity: 2,
    value: |x| x[0].powf(x[1]),
    derivative: |g, a, call, i| {
        if i == 0 {
            let power = power_of_one_less(g, a[0], a[1]);
            return Some(g.mul(a[1], power));
        }
        let zero = g.constant(0.0);
        let at_zero = g.apply(&logic::EQ, &[a[0], zero]);
        let positive = g.apply(&logic::LT, &[zero, a[1]]);
        let flat = g.apply(&logic::AND, &[at_zero, positive]);
        let ln = g.apply(&exponential::LN, &[a[0]]);
        let slope = g.mul(call, ln);
        Some(g.apply(&logic::IF, &[flat, zero, slope]))
    },
    dual: |x| {
        let (base, y) = (x[0], x[1].re);
        let by_base = if base.eps == 0.0 {
            0.0
        } else if y == y.trunc() && y.abs() < 1e4 {
            Dual64::new(base.re, base.eps).powi(y as i32).eps
        } else {
            Dual64::new(base.re, base.eps).powf(y).eps
        };
        let flat = x[1].eps == 0.0 || (base.re == 0.0 && y > 0.0);
        // b^y = exp(y ln b)
        let by_exponent = if flat { 0.0 } else { (Dual64::new(y, x[1].eps) * base.re.ln()).exp().eps };
        Dual64::new(0.0, by_base + by_exponent)
    },
    lowering: Lowering::Libm("pow"),
    domain: (0.0, f64::INFINITY),
    doc: "Power; NaN for a negative base with a fractional exponent.",
    ..ROW
};

/// `a * b + c`, rounded once. Only the elimination of matrices uses it ([`crate::elimination`]). The formulas of a
/// model never do: each of their products and sums is rounded separately, so that the value is the same on every
/// processor.
pub static FMA: Builtin = Builtin {
    name: "fma",
    notation: Notation::Internal,
    arity: 3,
    value: |x| x[0].mul_add(x[1], x[2]),
    derivative: |g, a, _, i| Some(if i == 2 { g.constant(1.0) } else { a[1 - i] }),
    dual: |x| x[0] * x[1] + x[2],
    lowering: Lowering::Primitive(Primitive::Fma),
    doc: "Product and sum, rounded once.",
    ..ROW
};

/// `x^(y-1)`; if that is a root, as for `x^1.5`, by square root, at a tenth of the cost of a power.
fn power_of_one_less(g: &mut Graph, x: NodeId, y: NodeId) -> NodeId {
    let one = g.constant(1.0);
    let less = g.sub(y, one);
    let Some(half) = g.as_constant(less).filter(|e| (e - 0.5).fract() == 0.0) else { return g.pow(x, less) };
    let root = g.apply(&exponential::SQRT, &[x]);
    let whole = g.constant(half.abs() - 0.5);
    let whole = g.pow(x, whole);
    let power = g.mul(whole, root);
    if half > 0.0 { power } else { g.div(one, power) }
}

/// The rows of this file.
pub static ROWS: &[&Builtin] = &[&ADD, &SUB, &MUL, &DIV, &NEG, &POW, &FMA];
