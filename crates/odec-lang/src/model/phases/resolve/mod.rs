//! The third phase: turns every expression into terms, and resolves every name.

mod axes;
mod boundaries;
mod declared;
mod defaults;
mod events;
mod functions;
mod inputs;
mod other_entries;
mod outputs;
mod places;
mod quaternions;
mod reaction_checks;
mod refuse;
mod runs;
mod scope;
mod statements;
mod steps;
mod tables;
mod terms;
mod vectors;

use std::collections::{BTreeMap, HashMap, HashSet};

use odec_ir::Span;

use super::PhaseInput;
use super::names::Names;
use super::reports::Reports;
use super::settle::InitialValue;
use super::shapes::{Calls, Dim, Shapes};
use crate::diagnostic::Diagnostic;
use crate::model::{Body, Model, Symbol};
use crate::syntax::tree::{Declared, ExprId, Ident};
use functions::Functions;
use scope::Scopes;
use terms::Value;
pub(crate) use terms::map_operands;

/// A model whose expressions are terms. Orders, initial values and orders of evaluation are still to be found.
pub(super) struct Resolved {
    pub model: Model,
    /// Initial values of states and their derivatives, in the order of the text.
    pub starts: Vec<InitialValue>,
    pub uses: Uses,
}

/// The uses of names.
#[derive(Default)]
pub(super) struct Uses {
    pub symbols: HashSet<Symbol>,
    /// Elements of [`Model::functions`], as they are declared.
    pub functions: HashSet<usize>,
    /// Elements of [`Model::inputs`].
    pub inputs: HashSet<usize>,
    /// Number of declared functions; those after them are copies for vectors.
    pub declared_functions: usize,
    /// Names that are declared nowhere.
    pub undeclared: BTreeMap<String, Vec<Use>>,
    /// Definitions whose derivative is a left-hand side, with source locations.
    pub primed: BTreeMap<usize, Vec<Span>>,
    /// Definitions whose derivative is read: each gets a definition after the declared ones.
    pub rates: Vec<Rate>,
}

impl Uses {
    fn mark(&mut self, symbol: Symbol) {
        self.symbols.insert(symbol);
    }
}

/// The derivative of a definition, and the location of its first use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// The element of [`Model::definitions`]; for a second derivative, the first derivative.
    pub of: usize,
    pub span: Span,
}

/// A source location at which an undeclared name is used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub span: Span,
    pub kind: UseKind,
}

/// The kind of the use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UseKind {
    /// In an expression.
    Value,
    /// Its derivative is a left-hand side.
    LeftSide,
    /// A parameter set gives it a value.
    Set,
    /// An event changes it.
    Target,
    /// An index: in brackets, or bound by a reduction.
    Index,
    /// The base of a power with this exponent, between these locations: `e^x`.
    Power(ExprId),
}

/// The position of an expression, which determines the names it may use.
#[derive(Clone, Copy)]
enum Allowed<'a> {
    /// Any name.
    Anywhere,
    /// The default of a parameter: constants.
    Default(&'a Ident),
    /// The value of a constant, or a bound: constants.
    Constant,
    /// The body of a function: its arguments, and names of the model.
    Function(&'a [Ident]),
    /// A range of indices, or a fixed index: constants without indices.
    Extent,
}

/// Resolves all expressions. `readable` is true if the grammar has rejected no line.
pub(super) fn resolve<'a>(
    input: PhaseInput<'a>,
    names: &'a Names<'a>,
    shapes: &'a Shapes<'a>,
    factors: &'a HashMap<ExprId, f64>,
    readable: bool,
) -> (Resolved, Vec<Diagnostic>) {
    let model = Model {
        name: names.name.clone(),
        doc: names.doc.clone(),
        time: names.time.clone(),
        symbols: shapes.symbols.clone(),
        ..Model::default()
    };
    let mut resolver = Resolver {
        input,
        names,
        shapes,
        factors,
        readable,
        model,
        starts: Vec::new(),
        uses: Uses { declared_functions: names.found.functions.len(), ..Uses::default() },
        reports: Reports::default(),
        values: vec![None; input.tree.exprs.len()],
        bodies: HashMap::new(),
        instances: Instances::default(),
        functions: Functions::of(input, names),
        scopes: Scopes::default(),
        free: BTreeMap::new(),
        recorded: HashMap::new(),
        with_equation: None,
        declared_states: None,
    };
    resolver.resolve_all(&names.found);
    let Resolver { model, starts, uses, reports, .. } = resolver;
    (Resolved { model, starts, uses }, reports.into_list())
}

/// Functions of the model, by declaration and shapes of their arguments.
#[derive(Default)]
struct Instances {
    /// The first of its components.
    firsts: HashMap<(usize, Vec<Dim>), usize>,
    /// Functions whose bodies have not been resolved yet.
    pending: Vec<(usize, Vec<Dim>)>,
    /// Shapes of the arguments of the function whose body is resolved.
    arguments: Vec<Dim>,
    /// The shapes of calls.
    calls: Calls,
}

/// The names so far, and the terms that use them.
struct Resolver<'a> {
    input: PhaseInput<'a>,
    names: &'a Names<'a>,
    shapes: &'a Shapes<'a>,
    /// Factors between units, by the expressions that they multiply.
    factors: &'a HashMap<ExprId, f64>,
    readable: bool,
    model: Model,
    starts: Vec<InitialValue>,
    uses: Uses,
    reports: Reports,
    /// The value of each expression that was resolved last.
    values: Vec<Option<Value>>,
    /// Bodies of expressions outside indices, which several names may share.
    bodies: HashMap<ExprId, Vec<Body>>,
    instances: Instances,
    functions: Functions<'a>,
    scopes: Scopes<'a>,
    /// Indices that nothing binds: statement and name.
    free: BTreeMap<(u32, String), Vec<Span>>,
    /// Names of outputs, and locations of their declarations.
    recorded: HashMap<String, Span>,
    /// For each state, the first equation with its derivative; computed when a message needs it.
    with_equation: Option<HashMap<&'a str, Span>>,
    /// The declarations of the states; computed when a message needs them.
    declared_states: Option<HashMap<&'a str, (&'a Declared, u8)>>,
}

impl Resolver<'_> {
    fn say(&mut self, diagnostic: Diagnostic) {
        self.reports.say(diagnostic);
    }

    /// A symbol and the order of its derivative in the form of terms: the derivative of a definition is a definition.
    fn of_order(&mut self, symbol: Symbol, order: u8, span: Span) -> (Symbol, u8) {
        let Symbol::Definition(mut of) = symbol else { return (symbol, order) };
        if order == 0 {
            return (symbol, order);
        }
        let declared: usize =
            self.names.found.definitions.iter().map(|d| usize::from(self.shapes.dim(d.name).max(1))).sum();
        for _ in 0..order {
            let known = self.uses.rates.iter().position(|rate| rate.of == of);
            let at = known.unwrap_or_else(|| {
                self.uses.rates.push(Rate { of, span });
                self.uses.rates.len() - 1
            });
            of = declared + at;
        }
        (Symbol::Definition(of), 0)
    }
}
