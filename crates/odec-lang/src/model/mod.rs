//! The checked model: every name is resolved, and every expression is a flat list of terms with source locations.

pub mod arrays;
pub(crate) mod data;
mod evaluate;
pub(crate) mod evaluator;
pub mod events;
mod guesses;
pub mod inputs;
mod level;
pub mod parts;
pub(crate) mod phases;
mod settings;
mod sizes;
mod text;
mod volumes;
pub(crate) mod walk;

use std::collections::HashMap;

use odec_ir::{Op, Span};

use crate::syntax::tree::ExprId;

pub use arrays::{Boundary, Coordinate, Dimension, EdgeRule, IndexSet, Indexed, Local, Piece, Place, Reduction, Table};
pub(crate) use evaluate::parts_of;
pub use evaluate::{Opened, Overrides, Values};
pub use events::{Action, Change, Discrete, Event, EventKind, Stop};
pub use level::Level;
pub use phases::analyse;
pub(crate) use phases::settle::two_equations;
pub use settings::{ConservedSettings, Expectation, MAX_SAMPLES, Record, Sampling, Setting, Settings, Tolerance};

/// Position of a term in [`Model::terms`]; operands have smaller positions than their users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TermId(pub u32);

impl TermId {
    /// The index in [`Model::terms`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A node of a resolved expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The operation or leaf.
    pub kind: TermKind,
    /// Source location; for an operator, it includes both operands.
    pub span: Span,
}

/// The kind of a term. Numbers index the lists of [`Model`].
#[derive(Clone, Debug, PartialEq)]
pub enum TermKind {
    /// A literal, or a named constant of mathematics.
    Number(f64),
    /// The independent variable.
    Time,
    /// An element of [`Model::parameters`].
    Parameter(usize),
    /// An element of [`Model::constants`].
    Constant(usize),
    /// An element of [`Model::definitions`].
    Definition(usize),
    /// An element of [`Model::discretes`].
    Discrete(usize),
    /// The derivative of this order of an element of [`Model::states`]; order 0 is the state itself.
    State(usize, u8),
    /// An argument of the function whose body this is.
    Argument(usize),
    /// A builtin with the first `arity` of these operands; the rest repeat the first.
    Apply(Op, [TermId; 3]),
    /// A call of an element of [`Model::functions`].
    Call(usize, Vec<TermId>),
    /// An element of [`Model::inputs`] at this time.
    Input(usize, TermId),
    /// The value of an element of [`Model::locals`].
    Index(usize),
    /// An element of an array: a state, with the order of its derivative, a parameter, constant, definition or discrete
    /// (order 0), and one subscript for each axis.
    Element(Symbol, u8, Vec<TermId>),
    /// A reduction over these elements of [`Model::locals`], restricted to terms for which the condition holds.
    Reduce {
        /// The operation.
        reduction: Reduction,
        /// The indices that it binds, outermost first.
        locals: Vec<usize>,
        /// `where`
        condition: Option<TermId>,
        /// The term.
        body: TermId,
    },
}

impl TermKind {
    /// The value of a scalar, or the derivative of this order of a state; `None` for an index, which has no value.
    pub(crate) fn scalar(symbol: Symbol, order: u8) -> Option<TermKind> {
        match symbol {
            Symbol::Time => Some(TermKind::Time),
            Symbol::Parameter(i) => Some(TermKind::Parameter(i)),
            Symbol::Constant(i) => Some(TermKind::Constant(i)),
            Symbol::Definition(i) => Some(TermKind::Definition(i)),
            Symbol::State(i) => Some(TermKind::State(i, order)),
            Symbol::Discrete(i) => Some(TermKind::Discrete(i)),
            Symbol::Index(_) => None,
        }
    }
}

/// An expression: its terms are `start..end` of [`Model::terms`], `root` is the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Body {
    /// First term.
    pub start: u32,
    /// One past the last.
    pub end: u32,
    /// The value.
    pub root: TermId,
}

impl Body {
    /// Positions of the terms.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The independent variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    /// `t` unless the model names it.
    pub name: String,
    /// Unit as written, without brackets.
    pub unit: Option<String>,
    /// Source location of the declaration, if there is one.
    pub span: Option<Span>,
}

/// A parameter or a constant: a value with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedValue {
    /// Name.
    pub name: String,
    /// Unit as written, without brackets.
    pub unit: Option<String>,
    /// Doc comment.
    pub doc: Option<String>,
    /// The name in its declaration.
    pub span: Span,
    /// Default value: numbers, constants and functions only.
    pub value: Body,
    /// Smallest and largest permitted value, both permitted.
    pub bounds: Option<(Body, Body)>,
    /// Its axes.
    pub indexed: Indexed,
    /// The source of its values, if it is not `value`.
    pub table: Option<Table>,
}

/// An unknown with an equation for its derivative of order [`State::order`], or for itself if it is algebraic.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Name.
    pub name: String,
    /// Order of the derivative that the equations determine, at least 1; for an algebraic unknown 1, although no
    /// equation contains it.
    pub order: u8,
    /// `unknown z = guess`: an equation without a derivative determines it, and its initial value is a guess.
    pub algebraic: bool,
    /// Initial values of the derivatives 0 .. order-1.
    pub initial: Vec<Body>,
    /// Unit as written, without brackets.
    pub unit: Option<String>,
    /// Doc comment.
    pub doc: Option<String>,
    /// The name in its declaration.
    pub span: Span,
    /// Its axes. All initial values use the same locals.
    pub indexed: Indexed,
    /// `x`, `y` or `z` if it is a component of a vector, whose name ends with it then: `p.x`.
    pub component: Option<char>,
    /// Its bounds.
    pub bounds: Vec<StateBound>,
}

/// A bound of a state or of one of its derivatives: all rows of a run lie within it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateBound {
    /// Order of the derivative.
    pub order: u8,
    /// A lower bound.
    pub at_least: bool,
    /// Parameters and constants only; it uses the locals of the state.
    pub value: Body,
    /// Name, sign and value.
    pub span: Span,
}

impl StateBound {
    /// `>=` or `<=`.
    pub fn sign(&self) -> &'static str {
        if self.at_least { ">=" } else { "<=" }
    }
}

impl State {
    /// The name of the derivative of this order: `x`, `x'`, `x''`, `p'.x`.
    pub fn derivative(&self, order: u8) -> String {
        arrays::element_name(&self.name, order, &[], self.component)
    }
}

/// A named expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Name.
    pub name: String,
    /// Value.
    pub value: Body,
    /// Unit as written, if it was declared as an output.
    pub unit: Option<String>,
    /// Doc comment.
    pub doc: Option<String>,
    /// Source location of the name in the definition.
    pub span: Span,
    /// Its axes.
    pub indexed: Indexed,
}

/// `fn f(a, b) = body`.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Name.
    pub name: String,
    /// Names of the arguments.
    pub arguments: Vec<String>,
    /// Value in terms of arguments, constants and functions.
    pub value: Body,
    /// Doc comment.
    pub doc: Option<String>,
    /// Source location of the name in the definition.
    pub span: Span,
    /// True if the body reads names of the model. Each call then contains a copy of it, and `value` does not.
    pub put_in: bool,
}

/// `lhs = rhs`, linear in the highest derivatives.
#[derive(Clone, Debug, PartialEq)]
pub struct Equation {
    /// Left side.
    pub lhs: Body,
    /// Right side.
    pub rhs: Body,
    /// The state whose highest derivative is the whole left-hand side.
    pub target: Option<usize>,
    /// The state whose elements it determines: the target, or for another equation over indices the only array whose
    /// highest derivative it contains at its free indices.
    pub owner: Option<usize>,
    /// The elements of the owner that it determines. Empty for a scalar.
    pub place: Vec<Place>,
    /// Source location of the whole statement.
    pub span: Span,
    /// Source location of `=`.
    pub equals: Span,
}

/// A quantity that a run records in addition to the states.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Name; a recorded derivative keeps its primes.
    pub name: String,
    /// Value.
    pub value: Body,
    /// Unit as written, without brackets.
    pub unit: Option<String>,
    /// Doc comment.
    pub doc: Option<String>,
    /// The item.
    pub span: Span,
    /// Its axes: one value is recorded for each element.
    pub indexed: Indexed,
}

/// `within 1e-6`, `within 0.1 %`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Within {
    /// The number.
    pub value: Body,
    /// It is a percentage of the expected value.
    pub percent: bool,
    /// The clause.
    pub span: Span,
}

/// A quantity whose drift is reported.
#[derive(Clone, Debug, PartialEq)]
pub struct Conserved {
    /// Its name, or otherwise its text.
    pub name: String,
    /// Value.
    pub value: Body,
    /// Largest permitted drift; without it, the drift is only reported.
    pub within: Option<Within>,
    /// The statement.
    pub span: Span,
}

/// The expected value of a quantity at a time of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// Text of the quantity.
    pub name: String,
    /// The quantity.
    pub quantity: Body,
    /// When.
    pub time: Body,
    /// The expected value.
    pub value: Body,
    /// The permitted distance.
    pub within: Option<Within>,
    /// Index of its run block; `None` for the default run.
    pub run: Option<usize>,
    /// The statement.
    pub span: Span,
}

/// The value of an entry of a run block.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryValue {
    /// A number.
    Number(Body),
    /// `a .. b`
    Range(Body, Body),
    /// A word: the name of a method or parameter set, `outputs`, `steps`.
    Word(String),
    /// `log(n, first)`
    Log(Body, Body),
    /// `[0, 1, 2]` or `(0, 1, 2)`
    List(Vec<Body>),
    /// Names to record, with the terms that they are.
    Names(Vec<(String, Body)>),
}

/// One entry of a run block.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEntry {
    /// The key: one of [`ENTRIES`]; the time span is always `t`.
    pub key: &'static str,
    /// State and order of `atol(B)`.
    pub state: Option<(usize, u8)>,
    /// The elements, first and last along each axis (`None`: the whole axis): `atol(u[1]) = 1e-3`. Empty for all elements.
    pub at: Vec<Option<(Body, Body)>>,
    /// The value.
    pub value: EntryValue,
    /// Source location of the whole entry.
    pub span: Span,
    /// Source location of the value.
    pub value_span: Span,
}

/// A run block.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its name; the default run has none.
    pub name: Option<String>,
    /// Entries in the order of the text.
    pub entries: Vec<RunEntry>,
    /// The statement.
    pub span: Span,
}

/// Entries a run block may have.
pub const ENTRIES: &[&str] =
    &["t", "method", "step", "max_step", "max_steps", "rtol", "atol", "samples", "record", "params", "start"];

/// `u[3]' = 0.1` of a parameter set.
#[derive(Clone, Debug, PartialEq)]
pub struct SetEntry {
    /// A parameter or a state.
    pub symbol: Symbol,
    /// The order of the derivative of a state.
    pub order: u8,
    /// Subscripts of a single element; empty for a scalar or for all elements.
    pub at: Vec<Body>,
    /// The value.
    pub value: Body,
    /// The name.
    pub span: Span,
}

/// `params hopf { k = 0.1 }`.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamSet {
    /// Name.
    pub name: String,
    /// Its values.
    pub entries: Vec<SetEntry>,
    /// Source location of the name in the declaration.
    pub span: Span,
}

/// The meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbol {
    /// The independent variable.
    Time,
    /// An element of [`Model::parameters`].
    Parameter(usize),
    /// An element of [`Model::constants`].
    Constant(usize),
    /// An element of [`Model::states`].
    State(usize),
    /// An element of [`Model::definitions`].
    Definition(usize),
    /// An element of [`Model::index_sets`].
    Index(usize),
    /// An element of [`Model::discretes`].
    Discrete(usize),
}

/// A value that is computed at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// An element of [`Model::definitions`], of initial values.
    Definition(usize),
    /// The initial value of the derivative of this order of an element of [`Model::states`].
    State(usize, u8),
    /// The initial value of an element of [`Model::discretes`].
    Discrete(usize),
}

/// A checked model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// The name after `model`, or the name of the file.
    pub name: String,
    /// Doc comment of the file.
    pub doc: Option<String>,
    /// The independent variable.
    pub time: Time,
    /// The terms of all expressions.
    pub terms: Vec<Term>,
    /// Parameters in the order of the text; likewise the lists below.
    pub parameters: Vec<NamedValue>,
    /// Constants.
    pub constants: Vec<NamedValue>,
    /// Constants in an order in which each follows those it uses.
    pub constant_order: Vec<usize>,
    /// States.
    pub states: Vec<State>,
    /// Measured inputs.
    pub inputs: Vec<inputs::Input>,
    /// Quantities that only events change.
    pub discretes: Vec<Discrete>,
    /// Events. The `rest` block of an event follows it.
    pub events: Vec<Event>,
    /// Definitions, declared outputs and named conserved quantities among them.
    pub definitions: Vec<Definition>,
    /// Definitions in an order in which each follows those it uses.
    pub definition_order: Vec<usize>,
    /// The level of each definition.
    pub definition_levels: Vec<Level>,
    /// Initial values and the definitions that they use, each after those it uses.
    pub start_order: Vec<Start>,
    /// Functions.
    pub functions: Vec<Function>,
    /// Equations.
    pub equations: Vec<Equation>,
    /// Recorded quantities.
    pub outputs: Vec<Output>,
    /// Conserved quantities.
    pub conserved: Vec<Conserved>,
    /// `expect` lines of all runs.
    pub expects: Vec<Expect>,
    /// Run blocks.
    pub runs: Vec<Run>,
    /// Parameter sets.
    pub param_sets: Vec<ParamSet>,
    /// Index sets.
    pub index_sets: Vec<IndexSet>,
    /// Indices that statements and reductions bind, each for itself.
    pub locals: Vec<Local>,
    /// The values of arrays outside their index sets.
    pub boundaries: Vec<Boundary>,
    /// Elements that reactions change, summed over the indices of the reaction: each of them must exist.
    pub changed: Vec<Body>,
    /// The volumes of compartments with a state in them.
    pub volumes: Vec<Symbol>,
    /// Definitions that consist of several statements, part by part.
    pub pieces: Vec<Piece>,
    /// Index sets whose ends are joined or continued.
    pub edges: Vec<EdgeRule>,
    /// Coordinates of index sets, at most one for each.
    pub axes: Vec<Coordinate>,
    /// The units of its names.
    pub units: crate::units::Units,
    /// Factors between units, for the expressions of the tree that they multiply.
    pub(crate) unit_factors: HashMap<ExprId, f64>,
    /// The meaning of each name.
    pub symbols: HashMap<String, Symbol>,
}

impl Model {
    /// True if a value is multiplied by a factor between units.
    pub fn converts_units(&self) -> bool {
        !self.unit_factors.is_empty()
    }
}

impl Default for Time {
    fn default() -> Time {
        Time { name: "t".to_owned(), unit: None, span: None }
    }
}

impl Model {
    /// The term itself.
    pub fn term(&self, id: TermId) -> &Term {
        &self.terms[id.index()]
    }

    /// Source location of an expression.
    pub fn span(&self, body: Body) -> Span {
        self.term(body.root).span
    }

    /// The states as the solver and the rows name them, in the order of the text: `x`, `x'`, `y`.
    pub fn state_names(&self) -> Vec<String> {
        self.states.iter().flat_map(|s| (0..s.order).map(|k| s.derivative(k))).collect()
    }

    /// The scalars and arrays that a term reads: the state with the order of its derivative.
    pub(crate) fn state_read(kind: &TermKind) -> Option<(usize, u8)> {
        match *kind {
            TermKind::State(i, k) | TermKind::Element(Symbol::State(i), k, _) => Some((i, k)),
            _ => None,
        }
    }

    /// The definition that a term reads.
    pub(crate) fn definition_read(kind: &TermKind) -> Option<usize> {
        match *kind {
            TermKind::Definition(i) | TermKind::Element(Symbol::Definition(i), ..) => Some(i),
            _ => None,
        }
    }

    /// The discrete that a term reads.
    pub(crate) fn discrete_read(kind: &TermKind) -> Option<usize> {
        match *kind {
            TermKind::Discrete(i) | TermKind::Element(Symbol::Discrete(i), ..) => Some(i),
            _ => None,
        }
    }

    /// The constant that a term reads.
    pub(crate) fn constant_read(kind: &TermKind) -> Option<usize> {
        match *kind {
            TermKind::Constant(i) | TermKind::Element(Symbol::Constant(i), ..) => Some(i),
            _ => None,
        }
    }
}
