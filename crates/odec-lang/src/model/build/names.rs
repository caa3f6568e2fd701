//! Which names there are: declarations are collected before any expression is read, so that order does not matter.

use odec_ir::Span;

use super::left::Left;
use super::{Builder, Doubled};
use crate::model::{Model, Symbol, Time};
use crate::report::{error, warning};
use crate::syntax::tree::{
    BoundaryItem, Declared, Entry, ExprId, ExprKind, Ident, Index, Later, Reference, Statement, StatementKind, Unit,
    Within,
};

/// Names that mean something without a declaration; a model may declare them.
pub(super) const MATHEMATICAL: &[(&str, f64)] =
    &[("pi", std::f64::consts::PI), ("π", std::f64::consts::PI), ("inf", f64::INFINITY)];

/// Declarations with their expressions, which are resolved once all names are known.
#[derive(Default)]
pub(super) struct Declarations<'a> {
    pub parameters: Vec<&'a Declared>,
    pub constants: Vec<&'a Declared>,
    pub states: Vec<&'a Declared>,
    pub initial: Vec<Initial<'a>>,
    pub definitions: Vec<Named<'a>>,
    pub functions: Vec<Fn<'a>>,
    pub equations: Vec<Equation<'a>>,
    pub outputs: Vec<Output<'a>>,
    pub conserved: Vec<Conserve<'a>>,
    pub expects: Vec<Expect<'a>>,
    pub runs: Vec<RunBlock<'a>>,
    pub sets: Vec<(&'a Ident, &'a [Entry])>,
    pub indices: Vec<(&'a Ident, ExprId, ExprId)>,
    pub boundaries: Vec<&'a BoundaryItem>,
}

/// The start value of a state or of one of its derivatives.
pub(super) struct Initial<'a> {
    pub state: usize,
    pub item: &'a Declared,
}

/// A definition, wherever it is written.
pub(super) struct Named<'a> {
    pub name: &'a str,
    pub span: Span,
    pub value: ExprId,
    pub unit: Option<&'a Unit>,
    pub doc: Option<&'a str>,
    pub indices: &'a [Index],
    /// Other parts of an array that is defined piece by piece: indices, value, place.
    pub pieces: Vec<(&'a [Index], ExprId, Span)>,
}

/// A function.
pub(super) struct Fn<'a> {
    pub name: &'a Ident,
    pub arguments: &'a [Ident],
    pub body: ExprId,
    pub doc: Option<&'a str>,
}

/// An equation with its left side as far as its form tells.
pub(super) struct Equation<'a> {
    pub left: Left<'a>,
    pub lhs: ExprId,
    pub rhs: ExprId,
    pub span: Span,
    pub equals: Span,
}

/// What is recorded.
pub(super) enum Output<'a> {
    /// A definition declared by `output`.
    Declared(usize),
    /// A name that exists anyway.
    Existing(&'a Reference, Option<&'a Unit>, Option<&'a str>),
}

/// A `conserve` line.
pub(super) struct Conserve<'a> {
    pub name: Option<&'a Ident>,
    pub definition: Option<usize>,
    pub value: ExprId,
    pub within: Option<&'a Within>,
    pub span: Span,
}

/// An `expect` line.
pub(super) struct Expect<'a> {
    pub quantity: ExprId,
    pub time: ExprId,
    pub value: ExprId,
    pub within: Option<&'a Within>,
    pub run: Option<usize>,
    pub span: Span,
}

/// A run block.
pub(super) struct RunBlock<'a> {
    pub name: Option<&'a Ident>,
    pub entries: &'a [Entry],
    pub span: Span,
}

impl<'a> Builder<'a> {
    /// Collects every declaration of the tree.
    pub(super) fn declare(&mut self) -> Declarations<'a> {
        let tree = self.tree;
        let mut found = Declarations::default();
        self.model.doc.clone_from(&tree.doc);
        self.model.name = self.file_stem();
        self.declare_time();
        let mut model_named = None;
        for statement in &tree.statements {
            match &statement.kind {
                StatementKind::Model(name) => match model_named.replace(name.span) {
                    None => {
                        self.model.name.clone_from(&name.name);
                        if self.model.doc.is_none() {
                            self.model.doc.clone_from(&statement.doc);
                        }
                    }
                    Some(first) => self.say(
                        error("E0202", "the model is named twice", name.span, "here again")
                            .label(first, "here first")
                            .help("keep one of the two lines"),
                    ),
                },
                StatementKind::Param(items) => {
                    for item in items {
                        if self.declare_given(item, Symbol::Parameter(found.parameters.len())) {
                            found.parameters.push(item);
                        }
                    }
                }
                StatementKind::Const(items) => {
                    for item in items {
                        if self.declare_given(item, Symbol::Constant(found.constants.len())) {
                            found.constants.push(item);
                        }
                    }
                }
                StatementKind::State(items) => {
                    for item in items {
                        self.declare_state(item, &mut found);
                    }
                }
                StatementKind::Function { name, arguments, body } => {
                    self.declare_function(name, arguments, *body, statement, &mut found);
                }
                StatementKind::Output(items) => {
                    for item in items {
                        self.declare_output(item, &mut found);
                    }
                }
                StatementKind::Conserve { name, value, within } => {
                    let mut definition = None;
                    if let Some(name) = name {
                        let item = Named {
                            name: &name.name,
                            span: name.span,
                            value: *value,
                            unit: None,
                            doc: statement.doc.as_deref(),
                            indices: &[],
                            pieces: Vec::new(),
                        };
                        definition = self.define(item, &mut found);
                    }
                    found.conserved.push(Conserve {
                        name: name.as_ref(),
                        definition,
                        value: *value,
                        within: within.as_ref(),
                        span: statement.span,
                    });
                }
                StatementKind::Expect { .. } => Self::collect_expect(statement, None, &mut found),
                StatementKind::Run(name, entries, inside) => {
                    let index = found.runs.len();
                    found.runs.push(RunBlock { name: name.as_ref(), entries, span: statement.span });
                    for line in inside {
                        Self::collect_expect(line, Some(index), &mut found);
                    }
                }
                StatementKind::Params(name, entries) => found.sets.push((name, entries)),
                StatementKind::Later(Later::Index(items)) => {
                    for (names, first, last) in items {
                        for name in names {
                            if self.enter(&name.name, name.span, Symbol::Index(found.indices.len())) {
                                found.indices.push((name, *first, *last));
                            }
                        }
                    }
                }
                StatementKind::Later(Later::Boundary(items)) => found.boundaries.extend(items),
                StatementKind::Time(..) | StatementKind::Equation { .. } | StatementKind::Later(_) => {}
            }
        }
        // What a left side means depends on the names that are declared elsewhere.
        for statement in &tree.statements {
            if let StatementKind::Equation { lhs, rhs, equals } = &statement.kind {
                self.declare_equation(statement, *lhs, *rhs, *equals, &mut found);
            }
        }
        found
    }

    fn file_stem(&self) -> String {
        let name = self.source.name.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = name.strip_suffix(".ode").unwrap_or(name);
        if stem.is_empty() { "model".to_owned() } else { stem.to_owned() }
    }

    fn declare_time(&mut self) {
        let mut first: Option<Span> = None;
        for statement in &self.tree.statements {
            if let StatementKind::Time(name, unit) = &statement.kind {
                if let Some(first) = first {
                    self.say(
                        error("E0202", "the independent variable is named twice", name.span, "here again")
                            .label(first, "here first")
                            .help("keep one of the two lines"),
                    );
                    continue;
                }
                first = Some(name.span);
                self.model.time = Time {
                    name: name.name.clone(),
                    unit: unit.as_ref().map(|u| u.text.clone()),
                    span: Some(name.span),
                };
            }
        }
        let time = self.model.time.name.clone();
        if let Some(span) = first {
            self.warn_mathematical(&time, span);
            self.declared.insert(time.clone(), span);
        }
        self.model.symbols.insert(time, Symbol::Time);
    }

    fn warn_mathematical(&mut self, name: &str, span: Span) {
        if let Some((_, value)) = MATHEMATICAL.iter().find(|m| m.0 == name) {
            self.say(
                warning("W0202", format!("`{name}` now means this and no longer {value}"), span, "declared here")
                    .help("choose another name if that was not intended"),
            );
        }
    }

    /// Enters a name; false if it is taken.
    fn enter(&mut self, name: &str, span: Span, symbol: Symbol) -> bool {
        if self.model.symbols.contains_key(name) {
            self.doubled.push(Doubled { name: name.to_owned(), first: self.declared.get(name).copied(), again: span });
            return false;
        }
        self.warn_mathematical(name, span);
        self.declared.insert(name.to_owned(), span);
        self.model.symbols.insert(name.to_owned(), symbol);
        true
    }

    fn declare_given(&mut self, item: &'a Declared, symbol: Symbol) -> bool {
        if item.target.primes > 0 {
            let what = if matches!(symbol, Symbol::Parameter(_)) { "parameter" } else { "constant" };
            self.say(
                error(
                    "E0302",
                    format!("a {what} has no derivative"),
                    item.target.span,
                    "a prime marks the derivative of a state",
                )
                .help("drop the prime, or declare a `state`"),
            );
        }
        if item.value.is_none() {
            let name = &item.target.name.name;
            let report = error("E0128", format!("`{name}` has no value"), item.target.span, "");
            self.say(report.help(format!("write `{name} = 1`, with the value it has")));
        }
        let entered = self.enter(&item.target.name.name, item.target.name.span, symbol);
        self.declared_whole(&item.target);
        entered
    }

    fn declare_state(&mut self, item: &'a Declared, found: &mut Declarations<'a>) {
        let name = &item.target.name;
        let known = self.model.symbols.get(&name.name).copied();
        let state = match known {
            Some(Symbol::State(i))
                if found.initial.iter().all(|s| s.state != i || s.item.target.primes != item.target.primes) =>
            {
                i
            }
            _ => {
                let i = found.states.len();
                if !self.enter(&name.name, name.span, Symbol::State(i)) {
                    return;
                }
                found.states.push(item);
                i
            }
        };
        self.declared_whole(&item.target);
        // The item that names the state itself declares unit and documentation.
        if item.target.primes == 0 {
            found.states[state] = item;
            self.declared.insert(name.name.clone(), name.span);
        }
        found.initial.push(Initial { state, item });
    }

    fn declare_function(
        &mut self,
        name: &'a Ident,
        arguments: &'a [Ident],
        body: ExprId,
        statement: &'a Statement,
        found: &mut Declarations<'a>,
    ) {
        for (i, argument) in arguments.iter().enumerate() {
            if let Some(first) = arguments[..i].iter().find(|a| a.name == argument.name) {
                self.say(
                    error(
                        "E0202",
                        format!("the argument `{}` is named twice", argument.name),
                        argument.span,
                        "here again",
                    )
                    .label(first.span, "here first")
                    .help("give each argument a name of its own"),
                );
            }
        }
        if let Some(&first) = self.functions.get(&name.name) {
            let first = found.functions[first].name.span;
            self.say(
                error("E0202", format!("the function `{}` is defined twice", name.name), name.span, "here again")
                    .label(first, "here first")
                    .help("keep one, or give one another name"),
            );
            return;
        }
        if super::resolve::builtin(&name.name).is_some() {
            self.say(
                warning(
                    "W0202",
                    format!("`{}` now means this function and no longer the builtin one", name.name),
                    name.span,
                    "defined here",
                )
                .help("choose another name if that was not intended"),
            );
        }
        self.functions.insert(name.name.clone(), found.functions.len());
        self.function_uses.push(0);
        self.function_arity.push(arguments.len());
        found.functions.push(Fn { name, arguments, body, doc: statement.doc.as_deref() });
    }

    fn define(&mut self, item: Named<'a>, found: &mut Declarations<'a>) -> Option<usize> {
        let index = found.definitions.len();
        let entered = self.enter(item.name, item.span, Symbol::Definition(index));
        entered.then(|| {
            found.definitions.push(item);
            index
        })
    }

    fn declare_output(&mut self, item: &'a Declared, found: &mut Declarations<'a>) {
        let Some(value) = item.value else {
            found.outputs.push(Output::Existing(&item.target, item.unit.as_ref(), item.doc.as_deref()));
            return;
        };
        let name = &item.target.name;
        if item.target.primes > 0 {
            self.say(
                error(
                    "E0302",
                    format!("`{}` cannot be declared", self.text(item.target.span)),
                    item.target.span,
                    "a prime marks the derivative of a state",
                )
                .help(format!(
                    "record it by its name alone, `output {}`, or give the quantity another name",
                    self.text(item.target.span)
                )),
            );
            return;
        }
        self.declared_whole(&item.target);
        let item = Named {
            name: &name.name,
            span: name.span,
            value,
            unit: item.unit.as_ref(),
            doc: item.doc.as_deref(),
            indices: &item.target.indices,
            pieces: Vec::new(),
        };
        if let Some(index) = self.define(item, found) {
            found.outputs.push(Output::Declared(index));
        }
    }

    fn collect_expect(statement: &'a Statement, run: Option<usize>, found: &mut Declarations<'a>) {
        if let StatementKind::Expect { quantity, time, value, within } = &statement.kind {
            found.expects.push(Expect {
                quantity: *quantity,
                time: *time,
                value: *value,
                within: within.as_ref(),
                run,
                span: statement.span,
            });
        }
    }

    /// One of two definitions of one array is for a part of it: they complete each other.
    fn is_part(&self, one: &[Index], other: &[Index]) -> bool {
        let part = |index: &Index| match index {
            Index::At(e) => {
                !matches!(&self.tree.exprs[e.0 as usize].kind, ExprKind::Name(r) if r.indices.is_empty() && matches!(self.model.symbols.get(&r.name.name), Some(Symbol::Index(_))))
            }
            Index::In(..) | Index::Range(..) => true,
        };
        one.iter().chain(other).any(part)
    }

    fn declare_equation(
        &mut self,
        statement: &'a Statement,
        lhs: ExprId,
        rhs: ExprId,
        equals: Span,
        found: &mut Declarations<'a>,
    ) {
        let left = self.left_side(lhs);
        if let Left::Plain(target) = left {
            let name = &target.name;
            match self.model.symbols.get(&name.name) {
                Some(Symbol::State(_)) => {}
                Some(&Symbol::Definition(i))
                    if !target.indices.is_empty()
                        && found.definitions.get(i).is_some_and(|d| d.indices.len() == target.indices.len())
                        && self.is_part(&target.indices, found.definitions[i].indices) =>
                {
                    found.definitions[i].pieces.push((&target.indices, rhs, target.span));
                    return;
                }
                _ => {
                    self.declared_whole(target);
                    let item = Named {
                        name: &name.name,
                        span: name.span,
                        value: rhs,
                        unit: None,
                        doc: statement.doc.as_deref(),
                        indices: &target.indices,
                        pieces: Vec::new(),
                    };
                    self.define(item, found);
                    return;
                }
            }
        }
        if let ExprKind::Call(name, arguments) = &self.tree.exprs[lhs.0 as usize].kind
            && matches!(left, Left::Expression)
            && self.call_as_left_side(name, arguments, lhs)
        {
            return;
        }
        found.equations.push(Equation { left, lhs, rhs, span: statement.span, equals });
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
        }
    }
}
