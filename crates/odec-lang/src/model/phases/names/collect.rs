//! Collects the declarations of the statements.

use crate::diagnostic::codes;
use odec_ir::Span;

use super::{
    Collector, ConserveItem, Declarations, DefinitionItem, Doubled, EquationItem, EventItem, ExpectItem, FunctionItem,
    InitialItem, InputItem, LeftSide, OtherArgument, OutputItem, RunItem, named_value,
};
use crate::model::{Symbol, Time};
use crate::report::{error, warning};
use crate::syntax::tree::{
    Declared, ExprId, ExprKind, Ident, Index, InputEntry, Later, Reference, Statement, StatementKind,
};
use crate::words::{MATHEMATICAL, builtin};

impl<'a> Collector<'a> {
    /// Collects every declaration of the tree.
    pub(super) fn declare(&mut self) -> Declarations<'a> {
        let tree = self.input.tree;
        let mut found = Declarations::default();
        self.names.doc.clone_from(&tree.doc);
        self.names.name = self.file_stem();
        self.declare_time();
        let mut model_named = None;
        for statement in &tree.statements {
            self.declare_statement(statement, &mut model_named, &mut found);
        }
        self.check_limits(&found.limits);
        // The meaning of a left-hand side depends on names that are declared elsewhere.
        for statement in &tree.statements {
            if let StatementKind::Equation { lhs, rhs, equals } = &statement.kind {
                self.declare_equation(statement, *lhs, *rhs, *equals, &mut found);
            }
        }
        self.refuse_namesakes(&found);
        found
    }

    fn declare_statement(&mut self, statement: &'a Statement, named: &mut Option<Span>, found: &mut Declarations<'a>) {
        match &statement.kind {
            StatementKind::Model(name) => self.name_model(name, statement, named),
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
                    match item.limit {
                        None => self.declare_state(item, found),
                        Some(_) => found.limits.push(item),
                    }
                }
            }
            StatementKind::Unknown(items) => items.iter().for_each(|item| self.declare_unknown(item, found)),
            StatementKind::ReactionCheck(check) => found.reaction_checks.push(check),
            StatementKind::Discrete(items) => {
                for item in items {
                    self.declare_discrete(item, found);
                }
            }
            StatementKind::Event(event) => {
                let doc = statement.doc.as_deref();
                found.events.push(EventItem { event, doc, span: statement.span });
            }
            StatementKind::Function { name, arguments, body } => {
                self.declare_function(name, arguments, *body, statement, found);
            }
            StatementKind::Output(items) => {
                for item in items {
                    self.declare_output(item, found);
                }
            }
            StatementKind::Given(items) => items.iter().for_each(|item| self.declare_part_value(item, found)),
            StatementKind::Axis(items) => {
                for item in items {
                    self.declare_axis(item, found);
                }
            }
            StatementKind::Conserve { name, value, within } => {
                let definition = name.as_ref().and_then(|n| self.define(named_value(n, *value, statement), found));
                let (name, within) = (name.as_ref(), within.as_ref());
                found.conserved.push(ConserveItem { name, definition, value: *value, within, span: statement.span });
            }
            StatementKind::Expect { .. } => Self::collect_expect(statement, None, found),
            StatementKind::Run(name, entries, inside) => {
                let index = found.runs.len();
                found.runs.push(RunItem { name: name.as_ref(), entries, span: statement.span });
                for line in inside {
                    Self::collect_expect(line, Some(index), found);
                }
            }
            StatementKind::Params(name, entries) => found.sets.push((name, entries)),
            StatementKind::Later(later) => self.declare_other(later, statement.doc.as_deref(), found),
            StatementKind::Time(..)
            | StatementKind::Unit(_)
            | StatementKind::Units(_)
            | StatementKind::Compartment(_)
            | StatementKind::Reaction(_)
            | StatementKind::Equation { .. } => {}
        }
    }

    /// Indices, boundaries and inputs.
    fn declare_other(&mut self, later: &'a Later, doc: Option<&'a str>, found: &mut Declarations<'a>) {
        match later {
            Later::Index(items) => {
                for (names, first, last) in items {
                    for name in names {
                        if self.enter(&name.name, name.span, Symbol::Index(found.indices.len())) {
                            found.indices.push((name, *first, *last));
                        }
                    }
                }
            }
            Later::Input(items) => {
                for entry in items {
                    self.declare_input(entry, doc, found);
                }
            }
            Later::Boundary(items) => found.boundaries.extend(items),
            Later::Use(..) => {}
        }
    }

    fn name_model(&mut self, name: &Ident, statement: &Statement, named: &mut Option<Span>) {
        match named.replace(name.span) {
            None => {
                self.names.name.clone_from(&name.name);
                if self.names.doc.is_none() {
                    self.names.doc.clone_from(&statement.doc);
                }
            }
            Some(first) => self.say(
                error(&codes::E0202, "the model is named twice", name.span, "again here")
                    .label(first, "first here")
                    .help("keep one of the two lines"),
            ),
        }
    }

    fn file_stem(&self) -> String {
        let name = self.input.source.name.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = name.strip_suffix(".ode").unwrap_or(name);
        // `<standard input>` is not the name of a file
        if stem.is_empty() || stem.starts_with('<') { "model".to_owned() } else { stem.to_owned() }
    }

    fn declare_time(&mut self) {
        let mut first: Option<Span> = None;
        for statement in &self.input.tree.statements {
            if let StatementKind::Time(name, unit) = &statement.kind {
                if let Some(first) = first {
                    self.say(
                        error(&codes::E0202, "the independent variable is named twice", name.span, "again here")
                            .label(first, "first here")
                            .help("keep one of the two lines"),
                    );
                    continue;
                }
                first = Some(name.span);
                self.names.time = Time {
                    name: name.name.clone(),
                    unit: unit.as_ref().map(|u| u.text.clone()),
                    span: Some(name.span),
                };
            }
        }
        let time = self.names.time.name.clone();
        if let Some(span) = first {
            self.warn_mathematical(&time, span);
            self.names.declared.insert(time.clone(), span);
        }
        self.names.symbols.insert(time, Symbol::Time);
    }

    fn warn_mathematical(&mut self, name: &str, span: Span) {
        if let Some((_, value)) = MATHEMATICAL.iter().find(|m| m.0 == name) {
            self.say(
                warning(&codes::W0202, format!("`{name}` now means this, not {value}"), span, "declared here")
                    .help("choose another name if you did not intend this"),
            );
        }
    }

    /// Declares a name; false if it exists already.
    fn enter(&mut self, name: &str, span: Span, symbol: Symbol) -> bool {
        if self.names.symbols.contains_key(name) {
            self.names.doubled.push(Doubled {
                name: name.to_owned(),
                first: self.names.declared.get(name).copied(),
                again: span,
            });
            return false;
        }
        self.warn_mathematical(name, span);
        self.names.declared.insert(name.to_owned(), span);
        self.names.symbols.insert(name.to_owned(), symbol);
        true
    }

    fn declare_given(&mut self, item: &'a Declared, symbol: Symbol) -> bool {
        if item.target.primes > 0 {
            // where it is used, the prime follows from this one
            self.names.broken.insert(&item.target.name.name);
            let what = if matches!(symbol, Symbol::Parameter(_)) { "parameter" } else { "constant" };
            self.say(
                error(
                    &codes::E0302,
                    format!("a {what} has no derivative"),
                    item.target.span,
                    "a prime marks the derivative of a state",
                )
                .help("remove the prime, or declare a `state`"),
            );
        }
        if item.value.is_none() {
            let name = &item.target.name.name;
            let report = error(&codes::E0128, format!("`{name}` has no value"), item.target.span, "");
            self.say(report.help(format!("write `{name} = 1` with its value")));
        }
        let entered = self.enter(&item.target.name.name, item.target.name.span, symbol);
        self.declared_whole(&item.target);
        entered
    }

    fn declare_state(&mut self, item: &'a Declared, found: &mut Declarations<'a>) {
        let name = &item.target.name;
        let known = self.names.symbols.get(&name.name).copied();
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
            self.names.declared.insert(name.name.clone(), name.span);
        }
        found.initial.push(InitialItem { state, item });
    }

    /// Enters an algebraic unknown as a state: only its equation differs.
    fn declare_unknown(&mut self, item: &'a Declared, found: &mut Declarations<'a>) {
        let name = &item.target.name;
        if item.target.primes > 0 {
            let report = error(
                &codes::E0302,
                format!("the unknown `{}` has no derivative to declare", name.name),
                item.target.span,
                "an unknown has no derivative",
            );
            self.say(report.help(format!("declare it by its name only, `unknown {} = ...`, with a guess", name.name)));
            return;
        }
        if !self.enter(&name.name, name.span, Symbol::State(found.states.len())) {
            return;
        }
        self.declared_whole(&item.target);
        found.unknowns.insert(found.states.len());
        found.initial.push(InitialItem { state: found.states.len(), item });
        found.states.push(item);
    }

    /// A bound is of a state that is declared with a value.
    fn check_limits(&mut self, limits: &[&'a Declared]) {
        for item in limits {
            let name = &item.target.name;
            let text = self.input.text(item.target.span);
            let report = match self.names.symbols.get(&name.name) {
                Some(Symbol::State(_)) => continue,
                None => error(
                    &codes::E0305,
                    format!("`{text}` has no initial value"),
                    item.target.span,
                    "there is only a bound",
                ),
                Some(_) => {
                    error(&codes::E0118, format!("`{text}` is not a state"), item.target.span, "a bound of a state")
                }
            };
            let limit = item.limit.map(|limit| self.input.text(limit.span)).unwrap_or_default();
            self.say(report.help(format!(
                "declare the state with its initial value and then the bound: `state {text} = 1, {text} {limit}`"
            )));
        }
    }

    fn declare_discrete(&mut self, item: &'a Declared, found: &mut Declarations<'a>) {
        let name = &item.target.name;
        if item.target.primes > 0 {
            let headline = format!("`{}` is constant between two events, so it has no derivative", name.name);
            let report = error(&codes::E0302, headline, item.target.span, "a prime marks the derivative of a state");
            self.say(report.help("remove the prime, or declare a `state`"));
        }
        if item.value.is_none() {
            let report = error(&codes::E0128, format!("`{}` has no value", name.name), item.target.span, "");
            self.say(report.help(format!("write `{} = 1` with its initial value", name.name)));
        }
        if self.enter(&name.name, name.span, Symbol::Discrete(found.discretes.len())) {
            found.discretes.push(item);
        }
        self.declared_whole(&item.target);
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
                        &codes::E0202,
                        format!("the argument `{}` occurs twice", argument.name),
                        argument.span,
                        "again here",
                    )
                    .label(first.span, "first here")
                    .help("give each argument its own name"),
                );
            }
        }
        if let Some(&first) = self.names.functions.get(&name.name) {
            let first = found.functions[first].name.span;
            self.say(
                error(&codes::E0202, format!("the function `{}` is defined twice", name.name), name.span, "again here")
                    .label(first, "first here")
                    .help("keep one of them, or rename one"),
            );
            return;
        }
        if builtin(&name.name).is_some() {
            self.say(
                warning(
                    &codes::W0202,
                    format!("`{}` now means this function, not the built-in one", name.name),
                    name.span,
                    "defined here",
                )
                .help("choose another name if you did not intend this"),
            );
        }
        self.names.functions.insert(name.name.clone(), found.functions.len());
        found.functions.push(FunctionItem { name, arguments, body, doc: statement.doc.as_deref() });
    }

    fn declare_input(&mut self, entry: &'a InputEntry, doc: Option<&'a str>, found: &mut Declarations<'a>) {
        let InputEntry { name, argument, argument_unit, value, unit } = entry;
        let other = (argument.name != self.names.time.name || argument_unit.is_some()).then(|| OtherArgument {
            key: format!("{}({})", name.name, argument.name),
            name: argument,
            unit: argument_unit.as_ref(),
        });
        let item = InputItem { name, value: *value, unit: unit.as_ref(), doc, other };
        if let Some(&first) = self.names.inputs.get(&name.name) {
            let (first, again) = (Some(found.inputs[first].name.span), name.span);
            self.names.doubled.push(Doubled { name: name.name.clone(), first, again });
            return;
        }
        self.names.inputs.insert(name.name.clone(), found.inputs.len());
        found.inputs.push(item);
    }

    /// An input is called like a function, and no other quantity may have its name.
    fn refuse_namesakes(&mut self, found: &Declarations<'a>) {
        for input in &found.inputs {
            let name = &input.name.name;
            let function = self.names.functions.get(name).map(|f| found.functions[*f].name.span);
            if self.names.symbols.contains_key(name) || function.is_some() {
                let other = self.names.declared.get(name).copied().or(function);
                let (first, again) = match other {
                    Some(other) if other.start > input.name.span.start => (Some(input.name.span), other),
                    other => (other, input.name.span),
                };
                self.names.doubled.push(Doubled { name: name.clone(), first, again });
            }
        }
    }

    pub(super) fn define(&mut self, item: DefinitionItem<'a>, found: &mut Declarations<'a>) -> Option<usize> {
        let index = found.definitions.len();
        let entered = self.enter(item.name, item.span, Symbol::Definition(index));
        entered.then(|| {
            found.definitions.push(item);
            index
        })
    }

    fn declare_axis(&mut self, item: &'a Declared, found: &mut Declarations<'a>) {
        let name = &item.target.name;
        if item.target.primes > 0 {
            let headline = format!("`{}` is not a coordinate", self.input.text(item.target.span));
            let report = error(&codes::E0540, headline, item.target.span, "a derivative changes during the run");
            self.say(report.help("write a coordinate for each index, for example `axis x[i] = i*dx`"));
            return;
        }
        if item.value.is_some() && item.target.indices.is_empty() {
            let headline = format!("`{}` has no index, but an axis needs one", name.name);
            let report = error(&codes::E0540, headline, item.target.span, "this is not the coordinate of an index");
            self.say(report.help("write a coordinate for each index, for example `axis x[i] = i*dx`"));
            self.names.broken.insert(&name.name);
            return;
        }
        if let Some(value) = item.value {
            self.declared_whole(&item.target);
            if self.define(definition_of(item, value), found).is_none() {
                return;
            }
        }
        found.axes.push(item);
    }

    fn declare_output(&mut self, item: &'a Declared, found: &mut Declarations<'a>) {
        let Some(value) = item.value else {
            found.outputs.push(OutputItem::Existing(&item.target, item.unit.as_ref(), item.doc.as_deref()));
            return;
        };
        if item.target.primes > 0 {
            self.say(
                error(
                    &codes::E0302,
                    format!("`{}` cannot be declared", self.input.text(item.target.span)),
                    item.target.span,
                    "a prime marks the derivative of a state",
                )
                .help(format!(
                    "record it by its name only, `output {}`, or rename the quantity",
                    self.input.text(item.target.span)
                )),
            );
            return;
        }
        self.declared_whole(&item.target);
        if let Some(index) = self.define(definition_of(item, value), found) {
            found.outputs.push(OutputItem::Declared(index));
        }
    }

    fn collect_expect(statement: &'a Statement, run: Option<usize>, found: &mut Declarations<'a>) {
        if let StatementKind::Expect { quantity, time, value, within } = &statement.kind {
            found.expects.push(ExpectItem {
                quantity: *quantity,
                time: *time,
                value: *value,
                within: within.as_ref(),
                run,
                span: statement.span,
            });
        }
    }

    /// True if one of two definitions of one array applies to a part of it: they complete each other.
    fn is_part(&self, one: &[Index], other: &[Index]) -> bool {
        let part = |index: &Index| match index {
            Index::At(e) => {
                !matches!(&self.input.tree.exprs[e.0 as usize].kind, ExprKind::Name(r) if r.indices.is_empty() && matches!(self.names.symbols.get(&r.name.name), Some(Symbol::Index(_))))
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
        if let LeftSide::Plain(target) = left {
            let name = &target.name;
            match self.names.symbols.get(&name.name) {
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
                    let item = DefinitionItem {
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
        if let ExprKind::Call(name, arguments) = &self.input.tree.exprs[lhs.0 as usize].kind
            && matches!(left, LeftSide::Expression)
            && self.call_as_left_side(name, arguments, lhs)
        {
            return;
        }
        found.equations.push(EquationItem { left, lhs, rhs, span: statement.span, equals });
    }

    /// Records the rank of a declared array, and that its components are not declared one by one.
    pub(super) fn declared_whole(&mut self, target: &'a Reference) {
        self.names.ranks.entry(target.name.name.as_str()).or_insert(target.indices.len());
        let name = &target.name.name;
        if let Some(part) = target.path.first().filter(|_| !self.names.is_broken(name)) {
            let headline = format!("declare `{name}` as a whole, not by its components");
            let report = error(&codes::E0532, headline, part.span, "a component");
            self.say(report.help(format!("write all components: `{name} = (x, y, z)`")));
        }
    }
}

/// The definition from a declaration with a value.
fn definition_of(item: &Declared, value: ExprId) -> DefinitionItem<'_> {
    DefinitionItem {
        name: &item.target.name.name,
        span: item.target.name.span,
        value,
        unit: item.unit.as_ref(),
        doc: item.doc.as_deref(),
        indices: &item.target.indices,
        pieces: Vec::new(),
    }
}
