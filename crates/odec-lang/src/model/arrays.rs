//! Index sets and declarations over them: axes, bound indices, tables, boundaries.

use std::collections::{HashSet, VecDeque};

use odec_ir::Span;
use odec_ir::nest::Edge;

use super::{Body, Level, Model, Symbol, TermId, TermKind};

/// `index i = 1..N`.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexSet {
    /// Name.
    pub name: String,
    /// First index: numbers and scalar constants only.
    pub first: Body,
    /// Last index.
    pub last: Body,
    /// Source location of the name in its declaration.
    pub span: Span,
}

/// An axis of an array, or the range of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// An element of [`Model::index_sets`], if it is named after one.
    pub index: Option<usize>,
    /// An explicit range (`flux[i in 0..N]`, `K[1..3]`); without one it is the range of the index set. `periodic` and
    /// `clamp` do not apply to an axis with an explicit range.
    pub range: Option<(Body, Body)>,
    /// The name of the index; for `K[1..3]` the range as written.
    pub name: String,
}

/// An index bound by a statement or a reduction.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// Its name in the statement.
    pub name: String,
    /// The range of the index.
    pub range: Dimension,
    /// Source location of the binding.
    pub span: Span,
}

/// The axes of an array. Empty for a scalar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Indexed {
    /// Axes in their order.
    pub axes: Vec<Dimension>,
    /// For each axis, the element of [`Model::locals`] that the value uses for it. Values from a table use none.
    pub locals: Vec<usize>,
}

impl Indexed {
    /// Number of subscripts.
    pub fn rank(&self) -> usize {
        self.axes.len()
    }

    /// True without indices.
    pub fn is_scalar(&self) -> bool {
        self.axes.is_empty()
    }
}

/// The operation of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// `sum`
    Sum,
    /// `prod`
    Product,
    /// `min`
    Min,
    /// `max`
    Max,
}

impl Reduction {
    /// The word that begins it.
    pub fn word(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Product => "prod",
            Reduction::Min => "min",
            Reduction::Max => "max",
        }
    }
}

/// The data of a constant or parameter that is not a formula.
#[derive(Clone, Debug, PartialEq)]
pub enum Table {
    /// Values from nested brackets, row by row: expressions in numbers and constants. There are as many as `shape` says.
    Values {
        /// The entries.
        entries: Vec<Body>,
        /// Number of elements along each axis.
        shape: Vec<usize>,
        /// The outermost bracket.
        span: Span,
    },
    /// `csv("file", "column")`: the host reads it and provides the values by the name of the constant.
    Csv {
        /// The name as written, relative to the file of the model.
        file: String,
        /// Name of the column; `None` for all columns, row by row.
        column: Option<String>,
        /// The call.
        span: Span,
    },
}

/// The elements along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// All values of this element of [`Model::locals`].
    Each(usize),
    /// The element with this index, an expression of numbers and scalar constants.
    At(Body),
}

/// `axis x[i] = i*dx`: the coordinates of the points of an index set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coordinate {
    /// An element of [`Model::index_sets`].
    pub index: usize,
    /// A definition, parameter or constant with only this index.
    pub array: Symbol,
    /// The name in the statement.
    pub span: Span,
}

/// The value of an array outside its index sets, for one element, edge or corner.
#[derive(Clone, Debug, PartialEq)]
pub struct Boundary {
    /// A state or a definition.
    pub array: Symbol,
    /// Order of the derivative of a state.
    pub order: u8,
    /// The elements, for each axis; at least one of the axes is left.
    pub place: Vec<Place>,
    /// The value.
    pub value: Body,
    /// Source location of the element.
    pub span: Span,
}

/// The part of a definition from one statement. The value of the definition already chooses between its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// An element of [`Model::definitions`].
    pub definition: usize,
    /// The elements, for each axis.
    pub place: Vec<Place>,
    /// Source location.
    pub span: Span,
}

/// `periodic i`, `clamp i`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeRule {
    /// An element of [`Model::index_sets`]; applies to every axis over it without an explicit range.
    pub index: usize,
    /// The rule.
    pub edge: Edge,
    /// Source location.
    pub span: Span,
}

impl Model {
    /// The symbol of a name as the user types it: arrays of parts have no empty brackets.
    pub fn symbol(&self, typed: &str) -> Option<Symbol> {
        let of_part = || {
            let dotted = typed.contains('.').then_some(&self.symbols)?;
            let mut found =
                dotted.iter().filter(|(name, _)| name.contains('[') && odec_ir::names::plain(name) == typed);
            found.next().map(|(_, symbol)| symbol)
        };
        self.symbols.get(typed).or_else(of_part).copied()
    }

    /// The model has index sets or arrays: it becomes loops. Otherwise its kernels are straight.
    pub fn has_arrays(&self) -> bool {
        !self.index_sets.is_empty() || !self.locals.is_empty()
    }

    /// True if a boundary also applies to the highest derivative of its array: as its derivative by time.
    pub(crate) fn follows(&self, boundary: &Boundary, array: Symbol, order: u8) -> bool {
        matches!(array, Symbol::State(i) if self.states[i].order == order)
            && boundary.array == array
            && boundary.order + 1 == order
    }

    /// The rule at the ends of an axis, if `periodic` or `clamp` gives one.
    pub(crate) fn edge_of(&self, axis: &Dimension) -> Option<Edge> {
        let set = axis.index.filter(|_| axis.range.is_none())?;
        self.edges.iter().find(|e| e.index == set).map(|e| e.edge)
    }

    /// The axes of the quantity of a symbol.
    pub fn indexed(&self, symbol: Symbol) -> Option<&Indexed> {
        match symbol {
            Symbol::Time | Symbol::Index(_) => None,
            Symbol::Parameter(i) => self.parameters.get(i).map(|x| &x.indexed),
            Symbol::Constant(i) => self.constants.get(i).map(|x| &x.indexed),
            Symbol::State(i) => self.states.get(i).map(|x| &x.indexed),
            Symbol::Definition(i) => self.definitions.get(i).map(|x| &x.indexed),
            Symbol::Discrete(i) => self.discretes.get(i).map(|x| &x.indexed),
        }
    }

    /// First and last index of a dimension, as expressions.
    pub fn range_of(&self, dimension: &Dimension) -> Option<(Body, Body)> {
        dimension.range.or_else(|| {
            let set = self.index_sets.get(dimension.index?)?;
            Some((set.first, set.last))
        })
    }

    /// `p[3,4]'.x`: the derivative of this order of an element of a state.
    pub fn element_name(&self, state: usize, order: u8, at: &[i64]) -> String {
        let state = &self.states[state];
        element_name(&state.name, order, at, state.component)
    }

    /// True if a value depends only on indices, numbers, constants and constant tables: it is known before the run,
    /// and as a condition it decides which elements are read at all.
    pub fn index_only(&self, root: TermId) -> bool {
        // definitions come last, since most expressions also read a quantity that decides at once
        let mut open = VecDeque::from([root]);
        let mut seen = HashSet::new();
        // once levels are known, a chain of definitions need not be followed
        let level = |i: usize| self.definition_levels.get(i);
        let varies = |i: usize| level(i).is_some_and(|level| *level > Level::Constant);
        while let Some(id) = open.pop_front() {
            if !seen.insert(id) {
                continue;
            }
            match &self.term(id).kind {
                TermKind::Number(_) | TermKind::Index(_) | TermKind::Constant(_) => {}
                TermKind::Element(Symbol::Constant(_), _, subscripts) => open.extend(subscripts),
                TermKind::Apply(_, operands) => open.extend(operands),
                TermKind::Reduce { condition, body, .. } => {
                    open.extend(condition);
                    open.push_back(*body);
                }
                TermKind::Definition(i) if level(*i) == Some(&Level::Constant) => {}
                TermKind::Definition(i) => match self.definitions.get(*i) {
                    Some(definition) if !varies(*i) => open.push_back(definition.value.root),
                    _ => return false,
                },
                TermKind::Element(Symbol::Definition(i), _, subscripts) => {
                    open.extend(subscripts);
                    match self.definitions.get(*i) {
                        Some(definition) if !varies(*i) => open.push_back(definition.value.root),
                        _ => return false,
                    }
                }
                _ => return false,
            }
        }
        true
    }
}

/// The name of an element of the array with this name, which may end with primes and a component: `u'` and 3 give `u[3]'`.
pub fn element_of(name: &str, at: &[i64]) -> String {
    odec_ir::names::element(name, &at.iter().map(i64::to_string).collect::<Vec<_>>())
}

/// The name of an element: `component` is the component of a vector, which is at the end of `name` as `.x`.
pub(crate) fn element_name(name: &str, order: u8, at: &[i64], component: Option<char>) -> String {
    let tail = component.map(|c| format!(".{c}")).unwrap_or_default();
    let base = name.strip_suffix(&tail).unwrap_or(name);
    let primes = "'".repeat(usize::from(order));
    if at.is_empty() {
        return format!("{base}{primes}{tail}");
    }
    let subscripts: Vec<String> = at.iter().map(i64::to_string).collect();
    format!("{}{primes}{tail}", odec_ir::names::element(base, &subscripts))
}
