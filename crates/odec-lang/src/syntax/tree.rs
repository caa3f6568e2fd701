//! The syntax tree: statements in the order of the text, expressions in one arena (no recursion on the user's nesting).

pub use super::input::InputEntry;
pub use super::reaction_checks::{Inside, ReactionCheck};
use odec_ir::Span;

/// Position of an expression in [`Tree::exprs`]; operands have smaller positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// An identifier in normal form (NFC, folded) with its source location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// Normalised name.
    pub name: String,
    /// Source location.
    pub span: Span,
}

/// A unit bracket, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Text between the brackets.
    pub text: String,
    /// The bracket.
    pub span: Span,
}

/// `c.x[i, j]'.y`: a name with module, indices, primes and component, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The name.
    pub name: Ident,
    /// `[i, j]`, one entry each; empty for a scalar.
    pub indices: Vec<Index>,
    /// Number of primes.
    pub primes: u8,
    /// Names after dots, in order (`c.x` has name `c` and path `x`; `p[i].x` likewise: meaning is decided later).
    pub path: Vec<Ident>,
    /// The number of names of `path` before the bracket or the prime: 1 in `c.x'`, 0 in `p'.x` and in a plain `c.x`.
    pub lead: usize,
    /// If several names have brackets, or a name after a dot has: `c[i].u[j]`. For each bracket, the index of its
    /// name (0 for `name`) and its number of indices. Empty if the only bracket is at `lead`.
    pub brackets: Vec<(usize, usize)>,
    /// Source location of the whole.
    pub span: Span,
}

/// One index in brackets.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// `i + 1`
    At(ExprId),
    /// `i in a..b`
    In(Ident, ExprId, ExprId),
    /// `a..b`
    Range(ExprId, ExprId),
}

/// A node of an expression with its source location.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// The kind.
    pub kind: ExprKind,
    /// Source location.
    pub span: Span,
}

/// Binary operators, in their meaning and not their spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `^` or `**`
    Pow,
    /// `and`
    And,
    /// `or`
    Or,
}

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    /// `<`
    Lt,
    /// `<=` or `≤`
    Le,
    /// `>`
    Gt,
    /// `>=` or `≥`
    Ge,
    /// `==`
    Eq,
    /// `!=` or `≠`
    Ne,
}

/// The kind of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A literal.
    Number(f64),
    /// A literal or parenthesis with a unit: `5 [mV]`, `(1 + 2) [m]`.
    Quantity(ExprId, Unit),
    /// A name.
    Name(Reference),
    /// `-a`
    Neg(ExprId),
    /// `not a`
    Not(ExprId),
    /// `a + b`; the span is the location of the operator.
    Binary(Binary, Span, ExprId, ExprId),
    /// `a < b <= c`: one operand more than operators.
    Comparison(Vec<ExprId>, Vec<(Compare, Span)>),
    /// `if a then b else c`
    If(ExprId, ExprId, ExprId),
    /// `f(a, b)`
    Call(Ident, Vec<ExprId>),
    /// `sum(i, j in 1..3 where c: body)`: operator, binders with optional range, condition, body.
    Reduce(Ident, Vec<(Ident, Option<(ExprId, ExprId)>)>, Option<ExprId>, ExprId),
    /// `(a, b, c)`
    Tuple(Vec<ExprId>),
    /// `[a, b]`, a literal table.
    Table(Vec<ExprId>),
    /// `"text"`
    Text(String),
}

/// A declared name with its value: `k1 = 0.04 [1/s] in 0..1`.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// The declared quantity (a state may have a prime: `x' = 0`).
    pub target: Reference,
    /// The value shared by the names before one `=`; `None` if the grammar permits its absence.
    pub value: Option<ExprId>,
    /// The unit of the item; for a primed target, whose unit is derived, the unit of the initial value.
    pub unit: Option<Unit>,
    /// `in a..b`
    pub bounds: Option<(ExprId, ExprId)>,
    /// `>= a`, for a state that is declared elsewhere; such an item has no value.
    pub limit: Option<Limit>,
    /// `in blood`: the compartment of a state.
    pub place: Option<Reference>,
    /// Doc comment of this item.
    pub doc: Option<String>,
}

/// The rate law of a reaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// `mass k`, `mass (kon, koff)`: mass action.
    Mass,
    /// `rate v`: concentration, or whatever the species count in, per time.
    Rate,
    /// `flow v`: amount per time.
    Flow,
}

impl Law {
    /// The word itself.
    pub fn word(self) -> &'static str {
        match self {
            Law::Mass => "mass",
            Law::Rate => "rate",
            Law::Flow => "flow",
        }
    }
}

/// `2 $A`: one term of a side of a reaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Participant {
    /// The coefficient as written; 1 without one.
    pub count: f64,
    /// `$`: the reaction does not change it.
    pub fixed: bool,
    /// The species.
    pub species: Reference,
}

/// `bind: E + S <-> ES mass (kon, koff)`
#[derive(Clone, Debug, PartialEq)]
pub struct Reaction {
    /// Name and indices before the colon.
    pub label: Option<(Ident, Vec<Index>)>,
    /// The reactants.
    pub left: Vec<Participant>,
    /// The products.
    pub right: Vec<Participant>,
    /// `<->`
    pub reversible: bool,
    /// The arrow.
    pub arrow: Span,
    /// The rate law.
    pub law: Law,
    /// The word of the law.
    pub law_span: Span,
    /// Constants of mass action, or the rate.
    pub value: ExprId,
}

/// A bound of a state: `x >= 0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// A lower bound.
    pub at_least: bool,
    /// The bound.
    pub value: ExprId,
    /// The sign and the bound.
    pub span: Span,
}

/// One entry of a `run` or `params` block: `atol(B) = 1e-16`.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Left of `=`.
    pub key: Ident,
    /// `[i]` after the key (`params hopf { u[1] = 3 }`).
    pub indices: Vec<Index>,
    /// Primes of the key (`params hopf { x' = 3 }`).
    pub primes: u8,
    /// `(B)`, if any.
    pub argument: Option<Reference>,
    /// Right of `=`.
    pub value: WrittenValue,
    /// Source location of the whole entry.
    pub span: Span,
}

/// The value of an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum WrittenValue {
    /// An expression.
    Expr(ExprId),
    /// One word, hyphens included, for the entries that name something: `method = backward-euler`, `params = hopf`.
    Word(Ident),
    /// `0 .. 1e11`
    Range(ExprId, ExprId),
}

/// `within 1e-6`, `within 0.1 %`, `± 1e-6`.
#[derive(Clone, Debug, PartialEq)]
pub struct WithinClause {
    /// The number.
    pub value: ExprId,
    /// True for percent, which makes it relative.
    pub percent: bool,
    /// Source location of the whole clause.
    pub span: Span,
}

/// One item of a `boundary` statement.
#[derive(Clone, Debug, PartialEq)]
pub enum BoundaryItem {
    /// `u[0, j] = 0`: targets that share a value.
    Value(Vec<Reference>, ExprId),
    /// `periodic i`
    Periodic(Ident),
    /// `clamp i`
    Clamp(Ident),
}

/// The kind of change by an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// `:=`
    Set,
    /// `+=`
    Add,
    /// `-=`
    Subtract,
}

/// One action of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum EventAction {
    /// `x := 3`, with the location of the whole.
    Change(Reference, Change, ExprId, Span),
    /// `stop "reason"`
    Stop(Option<String>, Span),
}

/// The trigger of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum EventTrigger {
    /// `when condition`
    When(ExprId),
    /// `at 5`, `at [30, 31] [min]`: the times, and the unit after a list.
    At(ExprId, Option<Unit>),
    /// `every period`
    Every(ExprId),
}

impl EventTrigger {
    /// The word that begins it.
    pub fn keyword(&self) -> &'static str {
        match self {
            EventTrigger::When(_) => "when",
            EventTrigger::At(..) => "at",
            EventTrigger::Every(_) => "every",
        }
    }

    /// Its expression: the condition, the time or the list of times, the period.
    pub fn value(&self) -> ExprId {
        match *self {
            EventTrigger::When(value) | EventTrigger::At(value, _) | EventTrigger::Every(value) => value,
        }
    }
}

/// The clauses between the trigger of an event and its block, each at most once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clauses {
    /// The location of `from start`.
    pub from_start: Option<Span>,
    /// `from`: the first time.
    pub from: Option<ExprId>,
    /// `until`: all times lie before it.
    pub until: Option<ExprId>,
    /// `after`: the delay from the trigger of the event to its execution.
    pub after: Option<ExprId>,
    /// `late`: right sides are read when the event is executed.
    pub late: Option<Span>,
    /// `cancel`: dropped if the condition turns false before.
    pub cancel: Option<Span>,
    /// `alone`: executed in a round of its own.
    pub alone: Option<Span>,
    /// `priority`
    pub priority: Option<ExprId>,
}

/// `when C { } rest { }`, `at 5 { }`, `every 12 { }`.
#[derive(Clone, Debug, PartialEq)]
pub struct EventStatement {
    /// When it happens.
    pub head: EventTrigger,
    /// The clauses of its head.
    pub clauses: Clauses,
    /// The assignments.
    pub actions: Vec<EventAction>,
    /// The assignments at an accumulation, and the word `rest`.
    pub rest: Option<(Span, Vec<EventAction>)>,
    /// The text before the block.
    pub span: Span,
}

/// A construct whose meaning comes with a later version, in full.
#[derive(Clone, Debug, PartialEq)]
pub enum Later {
    /// `index i, j = 1..N, k = 0..3`
    Index(Vec<(Vec<Ident>, ExprId, ExprId)>),
    /// `boundary u[0] = 1, periodic j`
    Boundary(Vec<BoundaryItem>),
    /// `input q(t) = table(...) [unit]`
    Input(Vec<InputEntry>),
    /// `use "file" as c[i] { }`
    Use(UsedPart),
}

/// `use "cell.ode" as c[i] { I0 = 3 }`: a part from another file.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedPart {
    /// The file as written.
    pub file: String,
    /// The text with its quotes.
    pub file_span: Span,
    /// Its name in this model.
    pub name: Ident,
    /// `[i]`: one part for each value of these indices.
    pub indices: Vec<Index>,
    /// Parameters of the part, and their values here.
    pub entries: Vec<Entry>,
}

impl Later {
    /// The word that begins it.
    pub fn keyword(&self) -> &'static str {
        match self {
            Later::Index(..) => "index",
            Later::Boundary(..) => "boundary",
            Later::Input(..) => "input",
            Later::Use(..) => "use",
        }
    }

    /// The names it brings into the model.
    pub fn names(&self) -> Vec<&Ident> {
        match self {
            Later::Index(items) => items.iter().flat_map(|(names, ..)| names).collect(),
            Later::Input(items) => items.iter().map(|item| &item.name).collect(),
            Later::Use(part) => vec![&part.name],
            Later::Boundary(..) => Vec::new(),
        }
    }
}

/// The kind of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// `model name`
    Model(Ident),
    /// `time t [ms]`
    Time(Ident, Option<Unit>),
    /// `param ...`
    Param(Vec<Declared>),
    /// `const ...`
    Const(Vec<Declared>),
    /// `state ...`
    State(Vec<Declared>),
    /// `unknown z = guess`: a quantity that an equation without a derivative determines.
    Unknown(Vec<Declared>),
    /// `discrete m = 1`: changed only by events.
    Discrete(Vec<Declared>),
    /// `when`, `at`, `every`.
    Event(EventStatement),
    /// `output total = ..., slow`: an item with a value declares an output, an item without one records a quantity.
    Output(Vec<Declared>),
    /// `axis x[i] = i*dx, y`: the coordinates of indices. An item with a value defines them, an item without one
    /// names a definition.
    Axis(Vec<Declared>),
    /// Parameters of a part that are not parameters here: definitions with the units that the part declares.
    Given(Vec<Declared>),
    /// `lhs = rhs`: an equation or a definition; the names decide.
    Equation {
        /// Left side.
        lhs: ExprId,
        /// Right side.
        rhs: ExprId,
        /// Source location of `=`.
        equals: Span,
    },
    /// `fn f(a, b) = body`
    Function {
        /// Name.
        name: Ident,
        /// Arguments.
        arguments: Vec<Ident>,
        /// Body.
        body: ExprId,
    },
    /// `params hopf { ... }`
    Params(Ident, Vec<Entry>),
    /// `run name { ... }`, with the `expect` lines inside.
    Run(Option<Ident>, Vec<Entry>, Vec<Statement>),
    /// `expect A(40) = value within tol`: quantity, time, value, tolerance.
    Expect {
        /// The tested quantity: a name or any expression.
        quantity: ExprId,
        /// When.
        time: ExprId,
        /// The expected value.
        value: ExprId,
        /// The permitted deviation.
        within: Option<WithinClause>,
    },
    /// `conserve mass = A + B within 1e-9`
    Conserve {
        /// Name, if given.
        name: Option<Ident>,
        /// Expression.
        value: ExprId,
        /// The permitted deviation.
        within: Option<WithinClause>,
    },
    /// `unit cell`: new base units of the model, each with its own dimension.
    Unit(Vec<Ident>),
    /// `units strict`: how strictly units are checked.
    Units(Ident),
    /// `compartment blood = 5 [L]`
    Compartment(Vec<Declared>),
    /// A line with an arrow.
    Reaction(Reaction),
    /// The remains of a reaction, to be checked.
    ReactionCheck(ReactionCheck),
    /// A construct of a later version.
    Later(Later),
}

impl StatementKind {
    /// The items of a statement that declares names with values and units; empty for any other statement.
    pub fn items(&self) -> &[Declared] {
        match self {
            StatementKind::Param(items)
            | StatementKind::Const(items)
            | StatementKind::State(items)
            | StatementKind::Unknown(items)
            | StatementKind::Discrete(items)
            | StatementKind::Output(items)
            | StatementKind::Axis(items)
            | StatementKind::Compartment(items)
            | StatementKind::Given(items) => items,
            _ => &[],
        }
    }

    /// Like [`Self::items`], to change them.
    pub(crate) fn items_mut(&mut self) -> &mut [Declared] {
        match self {
            StatementKind::Param(items)
            | StatementKind::Const(items)
            | StatementKind::State(items)
            | StatementKind::Unknown(items)
            | StatementKind::Discrete(items)
            | StatementKind::Output(items)
            | StatementKind::Axis(items)
            | StatementKind::Compartment(items)
            | StatementKind::Given(items) => items,
            _ => &mut [],
        }
    }
}

/// A statement, its source location and its doc comment.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The kind.
    pub kind: StatementKind,
    /// Source location, without comments.
    pub span: Span,
    /// `##` lines that belong to it.
    pub doc: Option<String>,
}

/// A parsed file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// Statements in the order of the text.
    pub statements: Vec<Statement>,
    /// All expressions.
    pub exprs: Vec<Expr>,
    /// Doc comment of the file (before `model`).
    pub doc: Option<String>,
    /// All names on unreadable lines: nothing is certain about them.
    pub broken: Vec<String>,
    /// True if the file is in another language and has one message; `statements` is empty.
    pub foreign: bool,
}

impl Tree {
    /// The nodes of an expression, operands first.
    pub(crate) fn nodes_of(&self, expr: ExprId) -> Vec<ExprId> {
        let mut nodes = Vec::new();
        self.nodes_into(expr, &mut nodes);
        nodes
    }

    /// [`Self::nodes_of`] into a list that is used again.
    pub(crate) fn nodes_into(&self, expr: ExprId, nodes: &mut Vec<ExprId>) {
        nodes.clear();
        nodes.push(expr);
        let mut at = 0;
        while let Some(&id) = nodes.get(at) {
            self.each_operand(id, |operand| nodes.push(operand));
            at += 1;
        }
        super::ascending::sort(expr, nodes);
    }

    /// Calls `f` with each operand of an expression.
    pub(crate) fn each_operand(&self, id: ExprId, mut f: impl FnMut(ExprId)) {
        match &self.exprs[id.0 as usize].kind {
            ExprKind::Number(_) | ExprKind::Text(_) => {}
            ExprKind::Name(r) => r.indices.iter().flat_map(Index::parts).for_each(f),
            ExprKind::Quantity(a, _) | ExprKind::Neg(a) | ExprKind::Not(a) => f(*a),
            ExprKind::Binary(_, _, a, b) => [*a, *b].into_iter().for_each(f),
            ExprKind::If(a, b, c) => [*a, *b, *c].into_iter().for_each(f),
            ExprKind::Comparison(list, _) | ExprKind::Call(_, list) | ExprKind::Tuple(list) | ExprKind::Table(list) => {
                list.iter().copied().for_each(f);
            }
            ExprKind::Reduce(_, binders, condition, body) => {
                let ends = binders.iter().filter_map(|b| b.1).flat_map(|(a, b)| [a, b]);
                ends.chain(*condition).chain([*body]).for_each(f);
            }
        }
    }
}

impl Index {
    /// The expressions of one index in brackets.
    pub(crate) fn parts(&self) -> impl Iterator<Item = ExprId> + use<> {
        let (first, second) = match self {
            Index::At(e) => (*e, None),
            Index::In(_, a, b) | Index::Range(a, b) => (*a, Some(*b)),
        };
        std::iter::once(first).chain(second)
    }
}
