//! Simplification on construction: constant folding, identities that keep every bit, and a few listed rules that do not.

mod limited;

use crate::builtin::{Op, Primitive, arithmetic, logic, rounding};
use crate::graph::{Graph, Node, NodeId};

/// Integer powers up to this magnitude become products.
pub const MAX_PRODUCT_EXPONENT: i32 = 16;

/// The rules that may change rounding; every other rule gives the bits of the expression as written (NaN payload
/// aside). Each is applied during construction, so interpreter and machine code compute the same product.
pub const ROUNDING_RULES: &[&str] = &[
    "x^n, integer 2 <= n <= 16: the product made by square-and-multiply from the highest binary digit of n down",
    "x^-n, integer 1 <= n <= 16: 1 / x^n with that product",
    "sqrt(x^2) and (x^2)^0.5: |x|, also where x^2 overflows or underflows",
];

/// The node of `op(args)`, simplified.
pub(crate) fn call(g: &mut Graph, op: Op, args: &[NodeId]) -> NodeId {
    if let Some(folded) = fold(g, op, args) {
        return folded;
    }
    if let Some(simple) = identity(g, op, args) {
        return simple;
    }
    if op.0.commutative && args[1] < args[0] {
        return g.insert_call(op, &[args[1], args[0]]);
    }
    g.insert_call(op, args)
}

/// If all arguments are numbers: the value, computed by the `value` function of the row.
fn fold(g: &mut Graph, op: Op, args: &[NodeId]) -> Option<NodeId> {
    let mut x = [0.0; 3];
    for (x, &a) in x.iter_mut().zip(args) {
        *x = g.as_constant(a)?;
    }
    // For these exponents `pow` means a product, constant or not.
    if op == Op(&arithmetic::POW)
        && let Some(power) = product(g, args[0], x[1])
    {
        return Some(power);
    }
    let value = (op.0.value)(&x[..args.len()]);
    Some(g.constant(value))
}

/// The operand of a negation.
fn negated(g: &Graph, a: NodeId) -> Option<NodeId> {
    match g.node(a) {
        Node::Call(op, [x, ..]) if op.primitive() == Some(Primitive::Neg) => Some(x),
        _ => None,
    }
}

fn is(g: &Graph, a: NodeId, x: f64) -> bool {
    g.node(a) == Node::Constant(x.to_bits())
}

/// True for a power of two whose inverse is representable: then product and quotient have the same bits.
fn exactly_invertible(g: &Graph, b: NodeId) -> bool {
    const MANTISSA: u64 = (1 << (f64::MANTISSA_DIGITS - 1)) - 1;
    let power = |x: f64| x.is_normal() && x.to_bits() & MANTISSA == 0;
    g.as_constant(b).is_some_and(|x| power(x) && power(1.0 / x))
}

fn identity(g: &mut Graph, op: Op, args: &[NodeId]) -> Option<NodeId> {
    if op == Op(&arithmetic::POW) {
        let n = g.as_constant(args[1])?;
        return if n == 0.5 { root_of_square(g, args[0]) } else { product(g, args[0], n) };
    }
    let a = args[0];
    let b = args.get(1).copied().unwrap_or(a);
    match op.primitive()? {
        // x + 0 differs from x for x = -0; x + (-0) is always x.
        Primitive::Add if is(g, b, -0.0) => Some(a),
        Primitive::Add if is(g, a, -0.0) => Some(b),
        Primitive::Add => match (negated(g, a), negated(g, b)) {
            (_, Some(y)) => Some(g.sub(a, y)),
            (Some(x), None) => Some(g.sub(b, x)),
            _ => None,
        },
        Primitive::Sub if is(g, b, 0.0) => Some(a),
        Primitive::Sub if is(g, a, -0.0) => Some(g.neg(b)),
        Primitive::Sub => negated(g, b).map(|y| g.add(a, y)),
        Primitive::Mul if is(g, b, 1.0) => Some(a),
        Primitive::Mul if is(g, a, 1.0) => Some(b),
        Primitive::Mul if is(g, b, -1.0) => Some(g.neg(a)),
        Primitive::Mul if is(g, a, -1.0) => Some(g.neg(b)),
        // The sign of a product is the exclusive or of the signs, even for zeros and infinities.
        Primitive::Mul => match (negated(g, a), negated(g, b)) {
            (Some(x), Some(y)) => Some(g.mul(x, y)),
            (Some(x), None) if g.as_constant(b).is_none() => {
                let xy = g.mul(x, b);
                Some(g.neg(xy))
            }
            (None, Some(y)) if g.as_constant(a).is_none() => {
                let xy = g.mul(a, y);
                Some(g.neg(xy))
            }
            _ => None,
        },
        Primitive::Div if is(g, b, 1.0) => Some(a),
        Primitive::Div if is(g, b, -1.0) => Some(g.neg(a)),
        Primitive::Div if exactly_invertible(g, b) => {
            let inverse = 1.0 / g.as_constant(b)?;
            let inverse = g.constant(inverse);
            Some(g.mul(a, inverse))
        }
        Primitive::Div => match (negated(g, a), negated(g, b)) {
            (Some(x), Some(y)) => Some(g.div(x, y)),
            (Some(x), None) if g.as_constant(b).is_none() => {
                let xy = g.div(x, b);
                Some(g.neg(xy))
            }
            (None, Some(y)) if g.as_constant(a).is_none() => {
                let xy = g.div(a, y);
                Some(g.neg(xy))
            }
            _ => None,
        },
        Primitive::Neg => negated(g, a),
        Primitive::Sqrt => root_of_square(g, a),
        Primitive::Abs => match g.node(a) {
            Node::Call(inner, [x, ..]) => match inner.primitive() {
                Some(Primitive::Neg) => Some(g.call(op, &[x])),
                Some(Primitive::Abs) => Some(a),
                _ => None,
            },
            _ => None,
        },
        Primitive::Select => {
            if b == args[2] {
                return Some(b);
            }
            let condition = g.as_constant(a)?;
            Some(if condition == 0.0 { args[2] } else { b })
        }
        Primitive::Min | Primitive::Max if a == b => Some(a),
        Primitive::Eq => limited::equal(g, a, b),
        Primitive::Ne => limited::equal(g, a, b).map(|equal| g.apply(&logic::NOT, &[equal])),
        _ => None,
    }
}

/// |x| for the square of x: the root of a square has a kink, which a run can locate if it is written as one.
fn root_of_square(g: &mut Graph, square: NodeId) -> Option<NodeId> {
    match g.node(square) {
        Node::Call(op, [x, y, ..]) if op == Op(&arithmetic::MUL) && x == y => Some(g.apply(&rounding::ABS, &[x])),
        _ => None,
    }
}

/// `x^n` as a product when `n` is a small integer: `x^0 = 1` and `x^1 = x` are exact (as C's `pow`, `x^0` is 1 even for
/// NaN), the others are listed in [`ROUNDING_RULES`].
fn product(g: &mut Graph, x: NodeId, n: f64) -> Option<NodeId> {
    if n != n.trunc() || n.abs() > f64::from(MAX_PRODUCT_EXPONENT) {
        return None;
    }
    let magnitude = n.abs() as u32;
    if magnitude == 0 {
        return Some(g.constant(1.0));
    }
    let mut power = x;
    for digit in (0..magnitude.ilog2()).rev() {
        power = g.mul(power, power);
        if magnitude >> digit & 1 == 1 {
            power = g.mul(power, x);
        }
    }
    if n < 0.0 {
        let one = g.constant(1.0);
        power = g.div(one, power);
    }
    Some(power)
}
