//! The first phase: collects the declared names. This happens before any expression is resolved, so that the order
//! does not matter.

mod collect;
mod left;

use std::collections::{HashMap, HashSet};

use odec_ir::Span;

use super::PhaseInput;
use super::reports::Reports;
use crate::diagnostic::Diagnostic;
use crate::model::{Model, Symbol, Time};
use crate::syntax::tree::{
    BoundaryItem, Declared, Entry, EventStatement, ExprId, Ident, Index, ReactionCheck, Reference, Statement, Unit,
    WithinClause,
};
pub(super) use left::LeftSide;

/// The declarations of a model.
#[derive(Default)]
pub(super) struct Names<'a> {
    /// The name in the model, or the name of its file.
    pub name: String,
    pub doc: Option<String>,
    pub time: Time,
    /// The meaning of each name; a vector counts as one name here.
    pub symbols: HashMap<String, Symbol>,
    /// Source location of the first declaration of each name.
    pub declared: HashMap<String, Span>,
    /// Names declared more than once.
    pub doubled: Vec<Doubled>,
    /// The position of each function in the list.
    pub functions: HashMap<String, usize>,
    /// The position of each input in the list.
    pub inputs: HashMap<String, usize>,
    /// The number of indices in the declaration of each name; 0 for a scalar.
    pub ranks: HashMap<&'a str, usize>,
    /// Names on unreadable lines: nothing is certain about them.
    pub broken: HashSet<&'a str>,
    /// The declarations themselves.
    pub found: Declarations<'a>,
}

impl Names<'_> {
    /// True if nothing is certain about this name: it is on an unreadable line, or belongs to a part whose file cannot
    /// be read.
    pub fn is_broken(&self, name: &str) -> bool {
        let part = name.split(['.', '[']).next().unwrap_or(name);
        self.broken.contains(name) || self.broken.contains(part)
    }
}

/// A name that is declared more than once.
pub(super) struct Doubled {
    pub name: String,
    pub first: Option<Span>,
    pub again: Span,
}

/// Declarations with their expressions, which are resolved once all names are known.
#[derive(Default)]
pub(super) struct Declarations<'a> {
    pub parameters: Vec<&'a Declared>,
    pub constants: Vec<&'a Declared>,
    pub states: Vec<&'a Declared>,
    /// The states that are unknowns without a derivative.
    pub unknowns: HashSet<usize>,
    pub initial: Vec<InitialItem<'a>>,
    /// Items that bound a state.
    pub limits: Vec<&'a Declared>,
    pub discretes: Vec<&'a Declared>,
    pub events: Vec<EventItem<'a>>,
    pub definitions: Vec<DefinitionItem<'a>>,
    pub functions: Vec<FunctionItem<'a>>,
    pub equations: Vec<EquationItem<'a>>,
    pub inputs: Vec<InputItem<'a>>,
    pub outputs: Vec<OutputItem<'a>>,
    pub conserved: Vec<ConserveItem<'a>>,
    pub expects: Vec<ExpectItem<'a>>,
    pub runs: Vec<RunItem<'a>>,
    pub sets: Vec<(&'a Ident, &'a [Entry])>,
    pub indices: Vec<(&'a Ident, ExprId, ExprId)>,
    pub boundaries: Vec<&'a BoundaryItem>,
    pub axes: Vec<&'a Declared>,
    /// The facts about reactions that remain to be checked.
    pub reaction_checks: Vec<&'a ReactionCheck>,
}

/// An event.
pub(super) struct EventItem<'a> {
    pub event: &'a EventStatement,
    pub doc: Option<&'a str>,
    pub span: Span,
}

/// The initial value of a state or of one of its derivatives.
pub(super) struct InitialItem<'a> {
    pub state: usize,
    pub item: &'a Declared,
}

/// A definition, wherever it is written.
pub(super) struct DefinitionItem<'a> {
    pub name: &'a str,
    pub span: Span,
    pub value: ExprId,
    pub unit: Option<&'a Unit>,
    pub doc: Option<&'a str>,
    pub indices: &'a [Index],
    /// Further parts of an array that is defined piece by piece: indices, value, location.
    pub pieces: Vec<(&'a [Index], ExprId, Span)>,
}

/// A function.
pub(super) struct FunctionItem<'a> {
    pub name: &'a Ident,
    pub arguments: &'a [Ident],
    pub body: ExprId,
    pub doc: Option<&'a str>,
}

/// A measured input.
pub(super) struct InputItem<'a> {
    pub name: &'a Ident,
    pub value: ExprId,
    pub unit: Option<&'a Unit>,
    pub doc: Option<&'a str>,
    /// The argument, unless it is time in its own unit.
    pub other: Option<OtherArgument<'a>>,
}

/// The argument of a table over a quantity other than time.
pub(super) struct OtherArgument<'a> {
    /// `drag(v)`, the name in the units of the model.
    pub key: String,
    pub name: &'a Ident,
    pub unit: Option<&'a Unit>,
}

/// An equation, and its left-hand side as far as the syntax determines it.
pub(super) struct EquationItem<'a> {
    pub left: LeftSide<'a>,
    pub lhs: ExprId,
    pub rhs: ExprId,
    pub span: Span,
    pub equals: Span,
}

/// A recorded quantity.
pub(super) enum OutputItem<'a> {
    /// A definition declared by `output`.
    Declared(usize),
    /// A name that exists anyway.
    Existing(&'a Reference, Option<&'a Unit>, Option<&'a str>),
}

/// A `conserve` line.
pub(super) struct ConserveItem<'a> {
    pub name: Option<&'a Ident>,
    pub definition: Option<usize>,
    pub value: ExprId,
    pub within: Option<&'a WithinClause>,
    pub span: Span,
}

/// An `expect` line.
pub(super) struct ExpectItem<'a> {
    pub quantity: ExprId,
    pub time: ExprId,
    pub value: ExprId,
    pub within: Option<&'a WithinClause>,
    pub run: Option<usize>,
    pub span: Span,
}

/// A run block.
pub(super) struct RunItem<'a> {
    pub name: Option<&'a Ident>,
    pub entries: &'a [Entry],
    pub span: Span,
}

/// Collects every declaration of the tree.
pub(super) fn collect(input: PhaseInput<'_>) -> (Names<'_>, Vec<Diagnostic>) {
    let broken = input.tree.broken.iter().map(String::as_str).collect();
    let names = Names { broken, ..Names::default() };
    let mut collector = Collector { input, names, reports: Reports::default() };
    collector.names.found = collector.declare();
    (collector.names, collector.reports.into_list())
}

/// The declarations collected so far.
struct Collector<'a> {
    input: PhaseInput<'a>,
    names: Names<'a>,
    reports: Reports,
}

impl<'a> Collector<'a> {
    /// Declares a parameter of a part that is a definition here.
    pub(super) fn declare_part_value(&mut self, item: &'a Declared, found: &mut Declarations<'a>) {
        let Some(value) = item.value else { return };
        self.declared_whole(&item.target);
        let (name, unit, doc) = (&item.target.name, item.unit.as_ref(), item.doc.as_deref());
        let indices = &item.target.indices;
        self.define(
            DefinitionItem { name: &name.name, span: name.span, value, unit, doc, indices, pieces: Vec::new() },
            found,
        );
    }

    fn say(&mut self, diagnostic: Diagnostic) {
        self.reports.say(diagnostic);
    }
}

impl Model {
    /// The kind of a symbol in words.
    pub(crate) fn kind_of(symbol: Symbol) -> &'static str {
        match symbol {
            Symbol::Time => "the independent variable",
            Symbol::Parameter(_) => "a parameter",
            Symbol::Constant(_) => "a constant",
            Symbol::State(_) => "a state",
            Symbol::Definition(_) => "a definition",
            Symbol::Index(_) => "an index",
            Symbol::Discrete(_) => "a discrete quantity",
        }
    }
}

/// A scalar definition of this name.
fn named_value<'a>(name: &'a Ident, value: ExprId, statement: &'a Statement) -> DefinitionItem<'a> {
    DefinitionItem {
        name: &name.name,
        span: name.span,
        value,
        unit: None,
        doc: statement.doc.as_deref(),
        indices: &[],
        pieces: Vec::new(),
    }
}
