//! Comparisons (1 or 0), logic on them, and the choice between two values.

use super::{Branch, Builtin, Lowering, Notation, Primitive, ROW};

fn truth(condition: bool) -> f64 {
    if condition { 1.0 } else { 0.0 }
}

/// `if c then a else b`; `c` counts as true unless it is zero. Both branches are computed and one is chosen; the
/// derivative is the derivative of the chosen branch.
pub static IF: Builtin = Builtin {
    name: "if",
    arity: 3,
    value: |x| if x[0] == 0.0 { x[2] } else { x[1] },
    derivative: |g, a, _, i| {
        let (zero, one) = (g.constant(0.0), g.constant(1.0));
        match i {
            1 => Some(g.apply(&IF, &[a[0], one, zero])),
            2 => Some(g.apply(&IF, &[a[0], zero, one])),
            _ => None,
        }
    },
    branch: Some(Branch { condition: |_, a| a[0], then: 1, otherwise: 2 }),
    dual: |x| if x[0].re == 0.0 { x[2] } else { x[1] },
    lowering: Lowering::Primitive(Primitive::Select),
    switches: true,
    doc: "if(c, a, b): a where c holds, else b.",
    ..ROW
};

/// `a < b`; false with NaN.
pub static LT: Builtin = Builtin {
    name: "lt",
    notation: Notation::Operator,
    arity: 2,
    value: |x| truth(x[0] < x[1]),
    lowering: Lowering::Primitive(Primitive::Lt),
    switches: true,
    doc: "1 if a < b, else 0.",
    ..ROW
};

/// `a <= b`; false with NaN.
pub static LE: Builtin = Builtin {
    name: "le",
    notation: Notation::Operator,
    arity: 2,
    value: |x| truth(x[0] <= x[1]),
    lowering: Lowering::Primitive(Primitive::Le),
    switches: true,
    doc: "1 if a <= b, else 0.",
    ..ROW
};

/// `a == b`; false with NaN.
pub static EQ: Builtin = Builtin {
    name: "eq",
    notation: Notation::Operator,
    arity: 2,
    value: |x| truth(x[0] == x[1]),
    lowering: Lowering::Primitive(Primitive::Eq),
    commutative: true,
    switches: true,
    doc: "1 if a == b, else 0.",
    ..ROW
};

/// `a != b`; true with NaN.
pub static NE: Builtin = Builtin {
    name: "ne",
    notation: Notation::Operator,
    arity: 2,
    value: |x| truth(x[0] != x[1]),
    lowering: Lowering::Primitive(Primitive::Ne),
    commutative: true,
    switches: true,
    doc: "1 if a != b, else 0.",
    ..ROW
};

/// 1 if both arguments are nonzero.
pub static AND: Builtin = Builtin {
    name: "and",
    notation: Notation::Operator,
    arity: 2,
    value: |x| truth(x[0] != 0.0 && x[1] != 0.0),
    lowering: Lowering::Primitive(Primitive::And),
    commutative: true,
    switches: true,
    doc: "1 if both are nonzero, else 0.",
    ..ROW
};

/// 1 if at least one argument is nonzero.
pub static OR: Builtin = Builtin {
    name: "or",
    notation: Notation::Operator,
    arity: 2,
    value: |x| truth(x[0] != 0.0 || x[1] != 0.0),
    lowering: Lowering::Primitive(Primitive::Or),
    commutative: true,
    switches: true,
    doc: "1 if one is nonzero, else 0.",
    ..ROW
};

/// 1 if the argument is zero.
pub static NOT: Builtin = Builtin {
    name: "not",
    notation: Notation::Operator,
    value: |x| truth(x[0] == 0.0),
    lowering: Lowering::Primitive(Primitive::Not),
    switches: true,
    doc: "1 if a is zero, else 0.",
    ..ROW
};

/// Returns its argument. Comparisons inside it are evaluated at each call, and no step ends where they change: see
/// [`crate::switch`].
pub static SMOOTH: Builtin = Builtin {
    name: "smooth",
    derivative: |g, _, _, _| Some(g.constant(1.0)),
    dual: |x| x[0],
    lowering: Lowering::Expand(|_, a| a[0]),
    doc: "x. No step ends where a comparison inside changes: [smooth](switching.md#without-event-location).",
    ..ROW
};

/// The rows of this file.
pub static ROWS: &[&Builtin] = &[&IF, &LT, &LE, &EQ, &NE, &AND, &OR, &NOT];
