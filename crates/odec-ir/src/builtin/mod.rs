//! The table of builtin functions: one row each, in the file of its family; everything else is derived from the row.

use crate::graph::{Graph, NodeId};

/// What a builtin is to the rest of the compiler. A new function is one `static` of this type and one entry in
/// [`table`]; parser, interpreter, machine code, emitters and tests read the row.
pub struct Builtin {
    /// The name in the text form and in the language (operators: `add`, `sub`, ...).
    pub name: &'static str,
    /// Number of arguments, 1 to 3.
    pub arity: u8,
    /// Value: the semantics. Machine code gives the same bits.
    pub value: fn(&[f64]) -> f64,
    /// Partial derivative with respect to argument `i` as a node built in the graph, given the arguments and the
    /// node of the call itself. `None`: identically zero (never build a zero term).
    pub derivative: fn(&mut Graph, args: &[NodeId], call: NodeId, i: usize) -> Option<NodeId>,
    /// How backends compute it.
    pub lowering: Lowering,
    /// True when a value of the same arguments in another order has the same bits (`a+b`, `a*b`).
    pub commutative: bool,
    /// True when value or derivative jumps somewhere: the solver does not locate the switch yet.
    pub switches: bool,
    /// One line for `docs/` and the editor.
    pub doc: &'static str,
}

/// How a backend computes a builtin.
pub enum Lowering {
    /// One operation that every backend knows.
    Primitive(Primitive),
    /// A call of this function of the C mathematical library with `arity` doubles.
    Libm(&'static str),
    /// A fixed formula over other builtins, applied when a kernel is made ready for a backend, so that all backends
    /// and the interpreter compute the same bits.
    Expand(fn(&mut Graph, &[NodeId]) -> NodeId),
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
}

/// A builtin by reference to its row; equal only to itself.
#[derive(Clone, Copy)]
pub struct Op(pub &'static Builtin);

impl PartialEq for Op {
    fn eq(&self, other: &Op) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Op {}

impl std::hash::Hash for Op {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}
