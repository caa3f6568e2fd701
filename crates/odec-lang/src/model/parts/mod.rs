//! A model made of named parts, without a text: what an importer builds, or a program that writes its own equations.
//!
//! Every part has a label from the caller that tells its origin (`reaction "R1"`, `row 7 of rates.csv`).
//! [`Parts::finish`] returns the same checked [`Model`] as a text does, and a [`Source`] that lists the parts, one on
//! each line with its label. The places of all messages, at run time too, are places in this listing, and
//! [`Built::origin`] returns the label of a place.
//!
//! ```
//! use odec_lang::model::parts::{Part, Parts};
//!
//! let mut m = Parts::new("decay");
//! let two = m.number(2.0);
//! let k = m.parameter(Part::new("k", "parameter table, row 1"), two);
//! let x = m.state(Part::new("x", "species X"));
//! let one = m.number(1.0);
//! m.start(x, 0, one, "species X");
//! let (k, x_now) = (m.read(k), m.read(x));
//! let loss = m.apply("mul", &[k, x_now]);
//! let rate = m.apply("neg", &[loss]);
//! m.equation(x, 1, &[], rate, "reaction R1");
//! let built = m.finish();
//! assert!(built.model.is_some(), "{:?}", built.diagnostics);
//! let line = built.source.text.lines().find(|line| line.starts_with("x' =")).expect("the equation of x");
//! assert!(line.ends_with("# reaction R1"), "{line}");
//! ```

mod events;
mod listing;

pub use events::{EventHead, NewEvent, Writes};

use odec_ir::nest::Edge;
use odec_ir::{Span, builtin};

use super::phases::settle::{self, InitialValue};
use super::{
    Body, Boundary, Definition, Dimension, EdgeRule, EntryValue, Equation, IndexSet, Indexed, Local, Model, NamedValue,
    Output, Reduction, Run, RunEntry, State, Symbol, Table, TermId, TermKind,
};
use crate::diagnostic::{Diagnostic, codes};
use crate::source::Source;

/// Largest number of nodes in the expressions of a model without a text, counting repeated uses.
pub const MAX_NODES: usize = 50_000_000;

/// An expression: a handle that belongs to the [`Parts`] that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExprRef(u32);

/// An index of a declaration or a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundIndex(usize);

/// The name and the origin of a part.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    name: &'a str,
    origin: &'a str,
    over: &'a [BoundIndex],
    unit: Option<&'a str>,
    doc: Option<&'a str>,
}

impl<'a> Part<'a> {
    /// A scalar with this name; `origin` is shown in messages.
    pub fn new(name: &'a str, origin: &'a str) -> Part<'a> {
        Part { name, origin, over: &[], unit: None, doc: None }
    }

    /// An array: one element for each value of these indices, which its value may use.
    #[must_use]
    pub fn over(self, over: &'a [BoundIndex]) -> Part<'a> {
        Part { over, ..self }
    }

    /// Its unit, shown and not checked.
    #[must_use]
    pub fn unit(self, unit: &'a str) -> Part<'a> {
        Part { unit: Some(unit), ..self }
    }

    /// One line of documentation.
    #[must_use]
    pub fn doc(self, doc: &'a str) -> Part<'a> {
        Part { doc: Some(doc), ..self }
    }
}

/// The elements along one axis of an array.
#[derive(Clone, Copy, Debug)]
pub enum At {
    /// All values of an index.
    Each(BoundIndex),
    /// This element, an expression of numbers and scalar constants.
    One(ExprRef),
}

/// The result of [`Parts::finish`].
#[derive(Clone, Debug)]
pub struct Built {
    /// The listing of the parts, which contains all source locations.
    pub source: Source,
    /// The model, if there is no error.
    pub model: Option<Model>,
    /// All diagnostics.
    pub diagnostics: Vec<Diagnostic>,
    origins: Vec<(Span, String)>,
}

impl Built {
    /// The label of the part at a location.
    pub fn origin(&self, place: Span) -> Option<&str> {
        let line = self.origins.partition_point(|(line, _)| line.start <= place.start).checked_sub(1)?;
        let (span, label) = &self.origins[line];
        (place.start <= span.end).then_some(label.as_str())
    }
}

/// A model under construction.
#[derive(Debug, Default)]
pub struct Parts {
    model: Model,
    nodes: Vec<TermKind>,
    starts: Vec<InitialValue>,
    text: String,
    origins: Vec<(Span, String)>,
    reports: Vec<Diagnostic>,
    /// States without an initial value so far, with their labels: their lines are added with the initial value.
    unstarted: Vec<(usize, String)>,
}

impl Parts {
    /// A model without parts.
    pub fn new(name: &str) -> Parts {
        let mut parts = Parts::default();
        name.clone_into(&mut parts.model.name);
        parts.model.symbols.insert(parts.model.time.name.clone(), Symbol::Time);
        parts.line(&format!("model {}", one_line(name)), None, "", "the model");
        parts
    }

    fn node(&mut self, kind: TermKind) -> ExprRef {
        self.nodes.push(kind);
        ExprRef(self.nodes.len() as u32 - 1)
    }

    /// A number.
    pub fn number(&mut self, x: f64) -> ExprRef {
        self.node(TermKind::Number(x))
    }

    /// The independent variable.
    pub fn time(&mut self) -> ExprRef {
        self.node(TermKind::Time)
    }

    /// The value of an index.
    pub fn index(&mut self, bound: BoundIndex) -> ExprRef {
        self.node(TermKind::Index(bound.0))
    }

    /// The value of a scalar.
    pub fn read(&mut self, symbol: Symbol) -> ExprRef {
        self.element(symbol, 0, &[])
    }

    /// The derivative of this order of an element of an array or, without subscripts, of a scalar. Order 0 is the
    /// value.
    pub fn element(&mut self, symbol: Symbol, order: u8, subscripts: &[ExprRef]) -> ExprRef {
        let rank = self.model.indexed(symbol).map_or(0, Indexed::rank);
        if rank != subscripts.len() {
            let name = self.model.name_of(symbol).to_owned();
            let headline = format!("`{name}` has {rank} indices but receives {}", subscripts.len());
            self.reports.push(Diagnostic::error(&codes::E0513, headline).help("give one subscript for each index"));
            return self.number(0.0);
        }
        let derived = order == 0 || matches!(symbol, Symbol::State(_));
        let ids = subscripts.iter().map(|e| TermId(e.0)).collect();
        let kind = if rank > 0 { Some(TermKind::Element(symbol, order, ids)) } else { TermKind::scalar(symbol, order) };
        if let Some(kind) = kind.filter(|_| derived) {
            self.node(kind)
        } else {
            let headline = format!("`{}` is {}", self.model.name_of(symbol), Model::kind_of(symbol));
            let help = "only states have derivatives; odec binds an index set before it reads values";
            self.reports.push(Diagnostic::error(&codes::E0302, headline).help(help));
            self.number(0.0)
        }
    }

    /// A builtin by the name of its row: `add`, `mul`, `pow`, `neg`, `if`, `lt`, `ln`, `sin`.
    pub fn apply(&mut self, name: &str, arguments: &[ExprRef]) -> ExprRef {
        let Some(op) = builtin::find(name) else {
            let report = Diagnostic::error(&codes::E0203, format!("there is no function `{name}`"));
            self.reports.push(report.help("the manual lists all functions"));
            return self.number(0.0);
        };
        let arity = usize::from(op.0.arity);
        if arity != arguments.len() {
            let headline = format!("`{name}` takes {arity} arguments but receives {}", arguments.len());
            self.reports.push(Diagnostic::error(&codes::E0204, headline).help("pass this number of arguments"));
            return self.number(0.0);
        }
        let mut padded = [TermId(arguments[0].0); 3];
        for (place, argument) in padded.iter_mut().zip(arguments) {
            *place = TermId(argument.0);
        }
        self.node(TermKind::Apply(op, padded))
    }

    /// `sum(i where condition: term)` and similar reductions.
    pub fn reduce(
        &mut self,
        reduction: Reduction,
        over: &[BoundIndex],
        condition: Option<ExprRef>,
        term: ExprRef,
    ) -> ExprRef {
        let locals = over.iter().map(|b| b.0).collect();
        self.node(TermKind::Reduce {
            reduction,
            locals,
            condition: condition.map(|c| TermId(c.0)),
            body: TermId(term.0),
        })
    }

    /// An index set: integers from `first` to `last`, expressions of numbers and scalar constants.
    pub fn index_set(&mut self, name: &str, first: ExprRef, last: ExprRef, origin: &str) -> Symbol {
        let symbol = Symbol::Index(self.model.index_sets.len());
        let (first, last) = (self.body(first, &[], origin), self.body(last, &[], origin));
        let head = format!("index {name} = ");
        let span = self.ranged(&head, first, last, origin, 6..6 + name.len());
        self.enter(name, symbol, span);
        self.model.index_sets.push(IndexSet { name: name.to_owned(), first, last, span });
        symbol
    }

    /// An index over an index set, for one part or one reduction; `name` is shown in messages.
    pub fn bind(&mut self, set: Symbol, name: &str) -> BoundIndex {
        let index = match set {
            Symbol::Index(i) => Some(i),
            other => {
                let headline = format!("`{}` is {}, not an index", self.model.name_of(other), Model::kind_of(other));
                self.reports.push(Diagnostic::error(&codes::E0512, headline).help("declare an index set"));
                None
            }
        };
        let span = index.map_or(Span::default(), |i| self.model.index_sets[i].span);
        let range = Dimension { index, range: None, name: name.to_owned() };
        self.model.locals.push(Local { name: name.to_owned(), range, span });
        BoundIndex(self.model.locals.len() - 1)
    }

    /// A constant: an expression of numbers and other constants. Sizes use constants.
    pub fn constant(&mut self, part: Part<'_>, value: ExprRef) -> Symbol {
        let symbol = Symbol::Constant(self.model.constants.len());
        let given = self.given("const", part, Some(value), None, symbol);
        self.model.constants.push(given);
        symbol
    }

    /// A constant array from numbers, row by row; `shape` gives the number of elements along each axis.
    pub fn table(&mut self, part: Part<'_>, values: &[f64], shape: &[usize]) -> Symbol {
        let symbol = Symbol::Constant(self.model.constants.len());
        if values.len() != shape.iter().product::<usize>() || shape.len() != part.over.len() {
            let headline =
                format!("the table of `{}` has {} values, which does not match its shape", part.name, values.len());
            self.reports.push(Diagnostic::error(&codes::E0525, headline).help("give a value for every index"));
        }
        let given = self.given("const", part, None, Some((values, shape)), symbol);
        self.model.constants.push(given);
        symbol
    }

    /// A parameter with its default value.
    pub fn parameter(&mut self, part: Part<'_>, value: ExprRef) -> Symbol {
        let symbol = Symbol::Parameter(self.model.parameters.len());
        let given = self.given("param", part, Some(value), None, symbol);
        self.model.parameters.push(given);
        symbol
    }

    fn given(
        &mut self,
        word: &str,
        part: Part<'_>,
        value: Option<ExprRef>,
        table: Option<(&[f64], &[usize])>,
        symbol: Symbol,
    ) -> NamedValue {
        let zero = value.unwrap_or_else(|| self.number(0.0));
        let value = self.body(zero, part.over, part.origin);
        let span = self.declare(word, part, table.is_none().then_some(value));
        self.enter(part.name, symbol, span);
        let table = table.map(|(values, shape)| {
            let entries = values.iter().map(|&x| self.single(TermKind::Number(x), span)).collect();
            Table::Values { entries, shape: shape.to_vec(), span }
        });
        let indexed = self.indexed(part.over);
        let (name, unit, doc) = owned(part);
        NamedValue { name, unit, doc, span, value, bounds: None, indexed, table }
    }

    /// An unknown. Add its equation and its initial value by [`Parts::equation`] and [`Parts::start`].
    pub fn state(&mut self, part: Part<'_>) -> Symbol {
        let index = self.model.states.len();
        self.enter(part.name, Symbol::State(index), Span::default());
        let indexed = self.indexed(part.over);
        let (name, unit, doc) = owned(part);
        let (span, initial) = (Span::default(), Vec::new());
        self.model.states.push(State {
            name,
            order: 1,
            algebraic: false,
            initial,
            unit,
            doc,
            span,
            indexed,
            component: None,
            bounds: Vec::new(),
        });
        self.unstarted.push((index, part.origin.to_owned()));
        Symbol::State(index)
    }

    /// The initial value of the derivative of this order of a state, of order 0 of the state itself. Of an array it may
    /// use the indices that the state is declared over.
    pub fn start(&mut self, state: Symbol, order: u8, value: ExprRef, origin: &str) {
        let Symbol::State(index) = state else { return self.no_state(state) };
        let over: Vec<BoundIndex> = self.model.states[index].indexed.locals.iter().map(|&l| BoundIndex(l)).collect();
        let body = self.body(value, &over, origin);
        let span = self.state_line(index, order, Some(body), origin);
        let end = Span { start: span.end, ..span };
        self.starts.push(InitialValue { state: index, order, value: Some(body), span, end });
        if order == 0 {
            self.unstarted.retain(|u| u.0 != index);
        }
    }

    /// Adds the line that declares a state or one of its derivatives; returns the location of its name.
    fn state_line(&mut self, index: usize, order: u8, value: Option<Body>, origin: &str) -> Span {
        let state = &self.model.states[index];
        let names: Vec<&str> = state.indexed.locals.iter().map(|&l| self.model.locals[l].name.as_str()).collect();
        let brackets = if names.is_empty() { String::new() } else { format!("[{}]", names.join(",")) };
        let shown = format!("{}{brackets}{}", state.name, "'".repeat(usize::from(order)));
        let unit = state.unit.as_ref().filter(|_| order == 0).map(|u| format!(" [{u}]")).unwrap_or_default();
        let equals = if value.is_some() { " = " } else { "" };
        let line = self.line(&format!("state {shown}{equals}"), value, &unit, origin);
        let start = line.start + "state ".len() as u32;
        if order == 0 {
            let end = start + self.model.states[index].name.len() as u32;
            self.model.states[index].span = Span { start, end, ..line };
        }
        Span { start, end: start + shown.len() as u32, ..line }
    }

    /// A named expression.
    pub fn definition(&mut self, part: Part<'_>, value: ExprRef) -> Symbol {
        let symbol = Symbol::Definition(self.model.definitions.len());
        let value = self.body(value, part.over, part.origin);
        let span = self.declare("", part, Some(value));
        self.enter(part.name, symbol, span);
        let indexed = self.indexed(part.over);
        let (name, unit, doc) = owned(part);
        self.model.definitions.push(Definition { name, value, unit, doc, span, indexed });
        symbol
    }

    /// The equation for the derivative of this order of a state; for an array, for the elements at `place`.
    pub fn equation(&mut self, state: Symbol, order: u8, place: &[At], rate: ExprRef, origin: &str) {
        let Symbol::State(index) = state else { return self.no_state(state) };
        let (place, each) = self.places(state, place, origin);
        let subscripts: Vec<ExprRef> = self.subscripts(&place);
        let target = self.element(state, order, &subscripts);
        let rhs = self.body(rate, &each, origin);
        let lhs = self.body(target, &each, origin);
        let shown = self.model.expression(lhs);
        let line = self.line(&format!("{shown} = "), Some(rhs), "", origin);
        let left = Span { end: line.start + shown.len() as u32, ..line };
        for term in lhs.range() {
            self.model.terms[term].span = left;
        }
        let equals = Span { start: left.end + 1, end: left.end + 2, ..line };
        let (target, owner) = (Some(index), Some(index));
        self.model.equations.push(Equation { lhs, rhs, target, owner, place, span: line, equals });
    }

    /// The value of an array at elements outside its index sets.
    pub fn boundary(&mut self, array: Symbol, order: u8, place: &[At], value: ExprRef, origin: &str) {
        let (place, each) = self.places(array, place, origin);
        let value = self.body(value, &each, origin);
        let subscripts: Vec<ExprRef> = self.subscripts(&place);
        let at = self.element(array, order, &subscripts);
        let at = self.body(at, &each, origin);
        let shown = self.model.expression(at);
        let span = self.line(&format!("boundary {shown} = "), Some(value), "", origin);
        self.model.boundaries.push(Boundary { array, order, place, value, span });
    }

    /// Joins the ends of an index set, or repeats the last elements beyond them.
    pub fn edge(&mut self, set: Symbol, edge: Edge, origin: &str) {
        let Symbol::Index(index) = set else { return };
        let word = if edge == Edge::Periodic { "periodic" } else { "clamp" };
        let head = format!("boundary {word} {}", self.model.index_sets[index].name);
        let span = self.line(&head, None, "", origin);
        self.model.edges.push(EdgeRule { index, edge, span });
    }

    /// Records a definition, parameter or constant in addition to the states; for an array, all its elements.
    pub fn output(&mut self, symbol: Symbol, origin: &str) {
        let name = self.model.name_of(symbol).to_owned();
        let axes = self.model.indexed(symbol).map(|i| i.axes.clone()).unwrap_or_default();
        let span = self.line(&format!("output {name}"), None, "", origin);
        let bound = axes.iter().filter_map(|d| d.index.map(|i| (i, d.name.clone()))).collect::<Vec<_>>();
        let over: Vec<BoundIndex> = bound.into_iter().map(|(i, name)| self.bind(Symbol::Index(i), &name)).collect();
        let subscripts: Vec<ExprRef> = over.iter().map(|&b| self.index(b)).collect();
        let value = self.element(symbol, 0, &subscripts);
        let value = self.body(value, &over, origin);
        for term in value.range() {
            self.model.terms[term].span = span;
        }
        let indexed = self.indexed(&over);
        self.model.outputs.push(Output { name, value, unit: None, doc: None, span, indexed });
    }

    /// A run block: its span of time.
    pub fn run(&mut self, name: Option<&str>, from: ExprRef, to: ExprRef, origin: &str) {
        let (from, to) = (self.body(from, &[], origin), self.body(to, &[], origin));
        let label = name.map(|n| format!("{n} ")).unwrap_or_default();
        let head = format!("run {label}{{ {} = ", self.model.time.name);
        let span = self.ranged(&head, from, to, origin, 0..3);
        let value = EntryValue::Range(from, to);
        let entries = vec![RunEntry { key: "t", state: None, at: Vec::new(), value, span, value_span: span }];
        self.model.runs.push(Run { name: name.map(str::to_owned), entries, span });
    }

    /// Checks the parts together.
    pub fn finish(mut self) -> Built {
        for (index, origin) in std::mem::take(&mut self.unstarted) {
            self.state_line(index, 0, None, &origin);
        }
        let Parts { model, starts, text, origins, reports: mut diagnostics, .. } = self;
        let source = Source::new(model.name.clone(), text);
        let has_no_errors = |said: &[Diagnostic]| !said.iter().any(Diagnostic::is_error);
        let mut built = None;
        if has_no_errors(&diagnostics) {
            let (model, said) = settle::order(model, &starts, &source);
            diagnostics.extend(said);
            if has_no_errors(&diagnostics) {
                diagnostics.extend(settle::runs::check(&model, &source));
                built = Some(model).filter(|_| has_no_errors(&diagnostics));
            }
        }
        Built { source, model: built, diagnostics, origins }
    }
}

fn owned(part: Part<'_>) -> (String, Option<String>, Option<String>) {
    (part.name.to_owned(), part.unit.map(str::to_owned), part.doc.map(str::to_owned))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
