//! The table of builtin functions: one row each, in the file of its family; all other parts of the compiler read the row.

pub mod arithmetic;
pub mod error_function;
pub mod exponential;
pub mod gamma;
pub mod hyperbolic;
pub mod logic;
pub mod lookup;
pub mod rounding;
pub mod trigonometric;

use num_dual::Dual64;

use crate::graph::{Graph, NodeId};

/// A builtin function. A new function is one `static` of this type and one entry in [`table`]; parser, interpreter,
/// machine code, emitters and tests read the row.
pub struct Builtin {
    /// The name in the text form and in the language (operators: `add`, `sub`, ...).
    pub name: &'static str,
    /// Its notation in the language.
    pub notation: Notation,
    /// Number of arguments, 1 to 3.
    pub arity: u8,
    /// The value, which defines the semantics. Machine code gives the same bits.
    pub value: fn(&[f64]) -> f64,
    /// Partial derivative with respect to argument `i` as a node built in the graph, given the arguments and the
    /// node of the call itself. `None`: identically zero (never build a zero term).
    pub derivative: fn(&mut Graph, args: &[NodeId], call: NodeId, i: usize) -> Option<NodeId>,
    /// For operations that choose one of two arguments: their derivative is the derivative of the chosen argument, by
    /// the same condition. A product with a mask would turn the other branch into 0 * inf.
    pub branch: Option<Branch>,
    /// The derivative by another method, as a reference for the tests: from num-dual if it has the function,
    /// otherwise by another formula. The real part is ignored; [`crate::number::Number`] takes it from `value`.
    pub dual: fn(&[Dual64]) -> Dual64,
    /// How backends compute the builtin.
    pub lowering: Lowering,
    /// True if the value for the same arguments in another order has the same bits (`a+b`, `a*b`).
    pub commutative: bool,
    /// True if value or derivative jumps somewhere.
    pub switches: bool,
    /// An interval of the first argument in which value and derivative are finite; the principal interval if there
    /// are several.
    pub domain: (f64, f64),
    /// One line for `docs/` and the editor.
    pub doc: &'static str,
}

impl Builtin {
    /// The partial derivative by argument `i` at a point.
    pub fn slope(&self, at: &[f64], i: usize) -> f64 {
        let mut arguments = [Dual64::from_re(0.0); 3];
        for (k, (argument, &value)) in arguments.iter_mut().zip(at).enumerate() {
            *argument = Dual64::new(value, if k == i { 1.0 } else { 0.0 });
        }
        (self.dual)(&arguments[..at.len()]).eps
    }
}

/// The row that others extend: an ordinary function whose derivative is zero.
const ROW: Builtin = Builtin {
    name: "",
    notation: Notation::Function,
    arity: 1,
    value: |x| x[0],
    derivative: |_, _, _, _| None,
    branch: None,
    dual: |x| Dual64::from_re(x[0].re),
    lowering: Lowering::Primitive(Primitive::Add),
    commutative: false,
    switches: false,
    domain: (f64::NEG_INFINITY, f64::INFINITY),
    doc: "",
};

/// The notation of a builtin in the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// Called by its name: `sin(x)`.
    Function,
    /// A sign or word between or before its arguments: `a + b`, `not a`.
    Operator,
    /// None: the builtin occurs only in derivatives and expansions.
    Internal,
}

/// See [`Builtin::branch`].
pub struct Branch {
    /// Nonzero if the value is the argument `then`, zero if it is the argument `otherwise`.
    pub condition: fn(&mut Graph, &[NodeId]) -> NodeId,
    /// Index of one argument.
    pub then: usize,
    /// Index of the other argument.
    pub otherwise: usize,
}

/// Every row, family after family.
pub fn table() -> &'static [&'static Builtin] {
    static TABLE: std::sync::LazyLock<Vec<&'static Builtin>> = std::sync::LazyLock::new(|| {
        [
            arithmetic::ROWS,
            exponential::ROWS,
            trigonometric::ROWS,
            hyperbolic::ROWS,
            rounding::ROWS,
            error_function::ROWS,
            gamma::ROWS,
            logic::ROWS,
        ]
        .concat()
    });
    &TABLE
}

/// The function of this name in the language.
pub fn find_function(name: &str) -> Option<Op> {
    find(name).filter(|op| op.0.notation == Notation::Function)
}

/// The builtin of this row name. Operators have their row names (`add`), the choice is `if`.
pub fn find(name: &str) -> Option<Op> {
    table().iter().chain(lookup::ROWS).chain(&[&logic::SMOOTH]).find(|row| row.name == name).map(|row| Op(row))
}

/// How a backend computes a builtin.
pub enum Lowering {
    /// One operation that every backend knows.
    Primitive(Primitive),
    /// A call of this function of the C mathematical library with `arity` doubles. Only for functions that are exact
    /// (`fmod`, `round`) or that Rust's f64 takes from the same library, so that emitted code and interpreter give
    /// the same bits: not `cbrt`, `erf`, `tgamma`, `asinh`.
    Libm(&'static str),
    /// A fixed formula over other builtins, applied when a kernel is prepared for a backend, so that all backends and
    /// the interpreter compute the same bits.
    Expand(fn(&mut Graph, &[NodeId]) -> NodeId),
    /// A search in a table of the parameter buffer, or an element of one: see [`lookup`].
    Lookup(lookup::Lookup),
}

/// The closed set of operations that every backend implements itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
    /// `-a`
    Neg,
    /// `|a|`
    Abs,
    /// Square root, correctly rounded.
    Sqrt,
    /// Largest integer not above `a`.
    Floor,
    /// Smallest integer not below `a`.
    Ceil,
    /// `if a <= b or a is NaN then a else b`: the first argument on a tie, NaN propagates.
    Min,
    /// `if a >= b or a is NaN then a else b`.
    Max,
    /// 1 if `a < b` else 0; likewise below. Comparisons with NaN give 0, `Ne` gives 1.
    Lt,
    /// `a <= b`
    Le,
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
    /// 1 if both are nonzero, else 0.
    And,
    /// 1 if one is nonzero, else 0.
    Or,
    /// 1 if `a` is zero, else 0.
    Not,
    /// `if a is nonzero then b else c`.
    Select,
    /// Magnitude of `a` with the sign of `b`.
    Copysign,
    /// `a * b + c`, rounded once.
    Fma,
    /// `sqrt(a^2 + b^2)`; the arguments are scaled if the sum of the squares is below [`exponential::HYPOT_LEAST`] or
    /// not finite: see [`exponential::HYPOT`].
    Hypot,
}

/// A builtin, by reference to its row; two are equal if they have the same row.
#[derive(Clone, Copy)]
pub struct Op(pub &'static Builtin);

impl Op {
    /// The primitive operation of the builtin, if it is one.
    pub fn primitive(self) -> Option<Primitive> {
        match self.0.lowering {
            Lowering::Primitive(primitive) => Some(primitive),
            _ => None,
        }
    }
}

impl PartialEq for Op {
    fn eq(&self, other: &Op) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Op {}

impl std::hash::Hash for Op {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).hash(state);
    }
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}
