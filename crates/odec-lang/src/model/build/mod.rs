//! From the syntax tree to the checked model, in phases: features of later versions, names, expressions, structure.

mod boundaries;
mod cycles;
mod features;
mod left;
mod names;
mod outputs;
mod owners;
mod places;
mod report;
mod resolve;
mod runs;
mod scope;
mod shapes;
pub(crate) mod structure;
mod tables;
mod terms;
mod undeclared;
mod units;
mod vectors;
mod warnings;

use std::collections::{BTreeMap, HashMap, HashSet};

use odec_ir::Span;

use super::{Body, Model, Symbol};
use crate::diagnostic::Diagnostic;
use crate::source::Source;
use crate::syntax::tree::{Declared, ExprId, Ident, Tree};
use scope::Scopes;
use shapes::Dim;
use terms::Value;

/// Checks a tree and builds its model. The model is `None` if there is an error. Equations are not lowered here: what only
/// their kernels show is said by [`crate::check`] and [`crate::lower`].
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
    builder.find_shapes(&declarations);
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
        builder.find_owners();
    }
    if builder.sound() && readable {
        builder.check_runs();
        builder.check_time_units();
    }
    let sound = builder.sound() && readable;
    if sound {
        builder.warn();
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
    /// As an index: in brackets, or bound by a reduction.
    Index,
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
    /// The value of each expression that was resolved last.
    resolved: Vec<Option<Value>>,
    bodies: HashMap<ExprId, Vec<Body>>,
    /// How many indices each name was declared with; none for a scalar.
    ranks: HashMap<&'a str, usize>,
    /// Names that are vectors, with the number of their components.
    dims: HashMap<&'a str, Dim>,
    call_shapes: HashMap<(usize, Vec<Dim>), Dim>,
    bodies_of_functions: Vec<(ExprId, &'a [Ident])>,
    /// Of each state of the model the declaration that it belongs to.
    declared_states: Vec<usize>,
    /// Of each declared definition its first component in the model, if there are vectors.
    definition_firsts: Vec<usize>,
    /// Start values of states and their derivatives, with their items.
    starts: HashMap<(usize, u8), (Body, &'a Declared)>,
    /// Functions of the model by what was declared and the shapes of the arguments: the first of one or more components.
    instances: HashMap<(usize, Vec<Dim>), usize>,
    /// Instances whose bodies are still to be resolved: function, shapes.
    pending: Vec<(usize, Vec<Dim>)>,
    /// Shapes of the arguments of the function whose body is resolved.
    argument_dims: Vec<Dim>,
    scopes: Scopes<'a>,
    /// Indices that nothing binds: name, place.
    free: BTreeMap<(u32, String), Vec<Span>>,
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
            ranks: HashMap::new(),
            dims: HashMap::new(),
            call_shapes: HashMap::new(),
            bodies_of_functions: Vec::new(),
            declared_states: Vec::new(),
            definition_firsts: Vec::new(),
            starts: HashMap::new(),
            instances: HashMap::new(),
            pending: Vec::new(),
            argument_dims: Vec::new(),
            scopes: Scopes::default(),
            free: BTreeMap::new(),
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
        // What is written once may be resolved for several components or names.
        if !self.diagnostics.iter().any(|d| d.code == diagnostic.code && d.labels == diagnostic.labels) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// The source text of a place.
    fn text(&self, span: Span) -> &'a str {
        self.source.text.get(span.range()).unwrap_or_default()
    }

    fn span_of(&self, expr: ExprId) -> Span {
        self.tree.exprs[expr.0 as usize].span
    }
}
