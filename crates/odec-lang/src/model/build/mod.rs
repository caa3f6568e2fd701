//! From the syntax tree to the checked model, in phases: features of later versions, names, expressions, structure.

mod cycles;
mod features;
mod left;
mod names;
mod report;
mod resolve;
mod runs;
pub(crate) mod structure;
mod undeclared;
mod units;
mod warnings;

use std::collections::{BTreeMap, HashMap, HashSet};

use odec_ir::Span;

use super::{Body, Model, Symbol, TermId};
use crate::diagnostic::Diagnostic;
use crate::source::Source;
use crate::syntax::tree::{ExprId, Tree};

/// Checks a tree and builds its model. The model is `None` if there is an error.
pub fn analyse(tree: &Tree, source: &Source) -> (Option<Model>, Vec<Diagnostic>) {
    analyse_after(tree, source, tree.broken.is_empty())
}

/// [`analyse`] after it is known whether all of the text could be read.
pub(crate) fn analyse_after(tree: &Tree, source: &Source, readable: bool) -> (Option<Model>, Vec<Diagnostic>) {
    if tree.foreign {
        return (None, Vec::new());
    }
    let features = features::find(tree);
    if !features.is_empty() {
        return (None, features);
    }
    let mut builder = Builder::new(tree, source);
    builder.readable = readable;
    let declarations = builder.declare();
    builder.resolve_all(&declarations);
    builder.report_names();
    // Of what a line that could not be read would have added nothing is known: only names are judged then.
    if builder.sound() && readable {
        builder.check_structure(&declarations);
    }
    if builder.sound() && readable {
        builder.check_cycles();
    }
    if builder.sound() && readable {
        builder.check_runs();
        builder.check_time_units();
    }
    let program = if builder.sound() && readable { builder.check_program() } else { None };
    let sound = builder.sound() && readable;
    if sound {
        builder.warn(program.as_ref());
    }
    (sound.then_some(builder.model), builder.diagnostics)
}

/// A place where an undeclared name is used.
#[derive(Clone, Copy, Debug)]
struct Use {
    span: Span,
    kind: UseKind,
}

/// How it is used there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UseKind {
    /// In an expression.
    Value,
    /// Its derivative is a left side.
    LeftSide,
    /// It is given a value in a parameter set.
    Set,
    /// As the base of a power with this exponent, between these places: `e^x`.
    Power(ExprId),
}

/// What is built so far.
struct Builder<'a> {
    tree: &'a Tree,
    source: &'a Source,
    model: Model,
    diagnostics: Vec<Diagnostic>,
    /// Where each name is declared first.
    declared: HashMap<String, Span>,
    /// Names declared more than once.
    doubled: Vec<Doubled>,
    functions: HashMap<String, usize>,
    /// How often each name is used.
    uses: HashMap<Symbol, usize>,
    function_uses: Vec<usize>,
    function_arity: Vec<usize>,
    undeclared: BTreeMap<String, Vec<Use>>,
    /// The term of each expression that was resolved last.
    resolved: Vec<Option<TermId>>,
    bodies: HashMap<ExprId, Body>,
    broken: HashSet<&'a str>,
    /// No line was rejected by the grammar.
    readable: bool,
    /// There is one undeclared name and no other.
    only_undeclared: bool,
    /// Right sides that look like states which were not declared: the name of a definition and how its prime is used.
    primed_definitions: BTreeMap<usize, Vec<Span>>,
}

/// A name that is declared more than once.
struct Doubled {
    name: String,
    first: Option<Span>,
    again: Span,
}

impl<'a> Builder<'a> {
    fn new(tree: &'a Tree, source: &'a Source) -> Builder<'a> {
        Builder {
            tree,
            source,
            model: Model::default(),
            diagnostics: Vec::new(),
            declared: HashMap::new(),
            doubled: Vec::new(),
            functions: HashMap::new(),
            uses: HashMap::new(),
            function_uses: Vec::new(),
            function_arity: Vec::new(),
            undeclared: BTreeMap::new(),
            resolved: vec![None; tree.exprs.len()],
            bodies: HashMap::new(),
            broken: tree.broken.iter().map(String::as_str).collect(),
            readable: true,
            primed_definitions: BTreeMap::new(),
            only_undeclared: false,
        }
    }

    /// No error so far.
    fn sound(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    fn say(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// The source text of a place.
    fn text(&self, span: Span) -> &'a str {
        self.source.text.get(span.range()).unwrap_or_default()
    }

    fn span_of(&self, expr: ExprId) -> Span {
        self.tree.exprs[expr.0 as usize].span
    }
}
