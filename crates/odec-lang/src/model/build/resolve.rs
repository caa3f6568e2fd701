//! Expressions: names become what they stand for, calls are checked, and the tree's nodes become a flat list of terms.

use odec_ir::{Op, Span, builtin as table};

use super::left::Left;
use super::names::{Declarations, MATHEMATICAL, Output};
use super::{Builder, Use, UseKind};
use crate::model::{self, Body, Symbol, Term, TermId, TermKind};
use crate::report::error;
use crate::suggest;
use crate::syntax::tree::{self, Binary, Compare, ExprId, ExprKind, Ident, Reference};

/// Other spellings of functions.
const ALIASES: &[(&str, &str)] = &[("log", "ln")];

/// The builtin of this name in the language.
pub(super) fn builtin(name: &str) -> Option<Op> {
    let name = ALIASES.iter().find(|a| a.0 == name).map_or(name, |a| a.1);
    table::find_function(name)
}

/// All names of builtins in the language.
fn builtin_names() -> impl Iterator<Item = &'static str> {
    let rows = table::table().iter().map(|row| row.name).filter(|name| table::find_function(name).is_some());
    rows.chain(ALIASES.iter().map(|a| a.0))
}

/// Where an expression stands, hence which names it may use.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// Any name.
    Anywhere,
    /// The default of a parameter: constants.
    Default(&'a Ident),
    /// The value of a constant, or a bound: constants.
    Constant,
    /// The body of a function: its arguments, constants.
    Function(&'a Ident, &'a [Ident]),
}

impl<'a> Builder<'a> {
    /// Resolves every expression and fills the lists of the model.
    pub(super) fn resolve_all(&mut self, found: &Declarations<'a>) {
        for f in &found.functions {
            let value = self.body(f.body, Place::Function(f.name, f.arguments));
            let arguments = f.arguments.iter().map(|a| a.name.clone()).collect();
            let doc = f.doc.map(str::to_owned);
            let function = model::Function { name: f.name.name.clone(), arguments, value, doc, span: f.name.span };
            self.model.functions.push(function);
        }
        for item in &found.constants {
            let given = self.given(item, Place::Constant);
            self.model.constants.push(given);
        }
        for item in &found.parameters {
            let given = self.given(item, Place::Default(&item.target.name));
            self.model.parameters.push(given);
        }
        for item in &found.states {
            let state = model::State {
                name: item.target.name.name.clone(),
                order: 1,
                initial: Vec::new(),
                unit: item.unit.as_ref().filter(|_| item.target.primes == 0).map(|u| u.text.clone()),
                doc: item.doc.clone(),
                span: item.target.name.span,
                indexed: model::Indexed::default(),
                component: None,
            };
            self.model.states.push(state);
        }
        for start in &found.initial {
            if let Some(value) = start.item.value {
                self.shared_body(value, Place::Anywhere);
            }
        }
        for d in &found.definitions {
            let value = self.shared_body(d.value, Place::Anywhere);
            self.model.definitions.push(model::Definition {
                name: d.name.to_owned(),
                value,
                unit: d.unit.map(|u| u.text.clone()),
                doc: d.doc.map(str::to_owned),
                span: d.span,
                indexed: model::Indexed::default(),
            });
        }
        for equation in &found.equations {
            self.resolve_equation(equation);
        }
        for output in &found.outputs {
            self.resolve_output(output, found);
        }
        for c in &found.conserved {
            let value = self.shared_body(c.value, Place::Anywhere);
            let within = self.within(c.within);
            if let Some(i) = c.definition {
                *self.uses.entry(Symbol::Definition(i)).or_default() += 1;
            }
            let name = c.name.map_or_else(|| self.text(self.span_of(c.value)).to_owned(), |n| n.name.clone());
            self.model.conserved.push(model::Conserved { name: one_line(&name), value, within, span: c.span });
        }
        for e in &found.expects {
            let quantity = self.body(e.quantity, Place::Anywhere);
            let time = self.body(e.time, Place::Anywhere);
            let value = self.body(e.value, Place::Anywhere);
            let within = self.within(e.within);
            let name = one_line(self.text(self.span_of(e.quantity)));
            self.model.expects.push(model::Expect { name, quantity, time, value, within, run: e.run, span: e.span });
        }
        self.resolve_runs(found);
    }

    fn given(&mut self, item: &'a tree::Declared, place: Place<'a>) -> model::Given {
        let value = match item.value {
            Some(value) => self.shared_body(value, place),
            None => self.number_body(0.0, item.target.span),
        };
        let bounds =
            item.bounds.map(|(a, b)| (self.shared_body(a, Place::Constant), self.shared_body(b, Place::Constant)));
        model::Given {
            name: item.target.name.name.clone(),
            unit: item.unit.as_ref().map(|u| u.text.clone()),
            doc: item.doc.clone(),
            span: item.target.name.span,
            value,
            bounds,
            indexed: model::Indexed::default(),
            table: None,
        }
    }

    fn within(&mut self, within: Option<&'a tree::Within>) -> Option<model::Within> {
        within.map(|w| model::Within { value: self.body(w.value, Place::Anywhere), percent: w.percent, span: w.span })
    }

    fn resolve_equation(&mut self, equation: &super::names::Equation<'a>) {
        let mut target = None;
        let lhs = match equation.left {
            Left::Derivative(name, span, primes) => match self.model.symbols.get(name) {
                Some(&Symbol::State(i)) => {
                    target = Some(i);
                    *self.uses.entry(Symbol::State(i)).or_default() += 1;
                    self.single(TermKind::State(i, primes), self.span_of(equation.lhs))
                }
                Some(&Symbol::Definition(i)) => {
                    let place = self.span_of(equation.lhs);
                    self.primed_definitions.entry(i).or_default().push(place);
                    self.number_body(0.0, span)
                }
                Some(&symbol) => {
                    self.prime_without_state(name, symbol, self.span_of(equation.lhs));
                    self.number_body(0.0, span)
                }
                None => {
                    self.note_undeclared(name, Use { span, kind: UseKind::LeftSide });
                    self.number_body(0.0, span)
                }
            },
            Left::Start(name, argument) => {
                self.start_value_as_equation(name, argument, equation);
                return;
            }
            Left::Plain(name) => {
                if let Some(&Symbol::State(i)) = self.model.symbols.get(&name.name) {
                    self.bare_state(name, i);
                }
                self.body(equation.rhs, Place::Anywhere);
                return;
            }
            Left::Expression => self.body(equation.lhs, Place::Anywhere),
        };
        let rhs = self.body(equation.rhs, Place::Anywhere);
        let equation = model::Equation {
            lhs,
            rhs,
            target,
            owner: target,
            place: Vec::new(),
            span: equation.span,
            equals: equation.equals,
        };
        self.model.equations.push(equation);
    }

    fn resolve_output(&mut self, output: &Output<'a>, found: &Declarations<'a>) {
        let output = match output {
            Output::Declared(i) => {
                *self.uses.entry(Symbol::Definition(*i)).or_default() += 1;
                let d = &found.definitions[*i];
                let value = self.single(TermKind::Definition(*i), d.span);
                model::Output {
                    name: d.name.to_owned(),
                    value,
                    unit: d.unit.map(|u| u.text.clone()),
                    doc: d.doc.map(str::to_owned),
                    span: d.span,
                    indexed: model::Indexed::default(),
                }
            }
            Output::Existing(reference, unit, doc) => {
                let kind = self.name(reference, Place::Anywhere);
                model::Output {
                    name: format!("{}{}", reference.name.name, "'".repeat(usize::from(reference.primes))),
                    value: self.single(kind, reference.span),
                    unit: unit.map(|u| u.text.clone()),
                    doc: doc.map(str::to_owned),
                    span: reference.span,
                    indexed: model::Indexed::default(),
                }
            }
        };
        if let Some(first) = self.model.outputs.iter().find(|o| o.name == output.name).map(|o| o.span) {
            self.say(
                error("E0202", format!("`{}` is recorded twice", output.name), output.span, "here again")
                    .label(first, "here first")
                    .help("keep one of the two"),
            );
            return;
        }
        self.model.outputs.push(output);
    }

    /// An expression of one term.
    pub(super) fn single(&mut self, kind: TermKind, span: Span) -> Body {
        let start = self.model.terms.len() as u32;
        let root = self.push(kind, span);
        Body { start, end: start + 1, root }
    }

    /// A number that stands where an expression is missing or wrong.
    pub(super) fn number_body(&mut self, x: f64, span: Span) -> Body {
        self.single(TermKind::Number(x), span)
    }

    /// The body of an expression that several names share: resolved once.
    pub(super) fn shared_body(&mut self, expr: ExprId, place: Place<'a>) -> Body {
        if let Some(&body) = self.bodies.get(&expr) {
            return body;
        }
        let body = self.body(expr, place);
        self.bodies.insert(expr, body);
        body
    }

    /// Resolves an expression. Its nodes are visited in the order of their positions, operands before users.
    pub(super) fn body(&mut self, expr: ExprId, place: Place<'a>) -> Body {
        let start = self.model.terms.len() as u32;
        for id in self.nodes_of(expr) {
            let term = self.node(id, place);
            self.resolved[id.0 as usize] = Some(term);
        }
        let root = self.term_of(expr);
        Body { start, end: self.model.terms.len() as u32, root }
    }

    /// The nodes of an expression, operands first.
    pub(super) fn nodes_of(&self, expr: ExprId) -> Vec<ExprId> {
        let mut nodes = Vec::new();
        let mut open = vec![expr];
        while let Some(id) = open.pop() {
            nodes.push(id);
            match &self.tree.exprs[id.0 as usize].kind {
                ExprKind::Number(_) | ExprKind::Name(_) | ExprKind::Text(_) => {}
                ExprKind::Quantity(a, _) | ExprKind::Neg(a) | ExprKind::Not(a) => open.push(*a),
                ExprKind::Binary(_, _, a, b) => open.extend([*a, *b]),
                ExprKind::If(a, b, c) => open.extend([*a, *b, *c]),
                ExprKind::Comparison(list, _)
                | ExprKind::Call(_, list)
                | ExprKind::Tuple(list)
                | ExprKind::Table(list) => open.extend(list),
                ExprKind::Reduce(_, _, _, body) => open.push(*body),
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    fn push(&mut self, kind: TermKind, span: Span) -> TermId {
        let id = TermId(self.model.terms.len() as u32);
        self.model.terms.push(Term { kind, span });
        id
    }

    fn term_of(&mut self, expr: ExprId) -> TermId {
        match self.resolved[expr.0 as usize] {
            Some(term) => term,
            None => self.push(TermKind::Number(0.0), self.span_of(expr)),
        }
    }

    fn apply(&mut self, name: &str, operands: &[TermId], span: Span) -> TermId {
        let first = operands.first().copied().unwrap_or(TermId(0));
        let mut padded = [first; 3];
        padded[..operands.len()].copy_from_slice(operands);
        match table::find(name) {
            Some(op) => self.push(TermKind::Apply(op, padded), span),
            None => self.push(TermKind::Number(0.0), span),
        }
    }

    fn node(&mut self, id: ExprId, place: Place<'a>) -> TermId {
        let tree = self.tree;
        let expr = &tree.exprs[id.0 as usize];
        let span = expr.span;
        match &expr.kind {
            ExprKind::Number(x) => self.push(TermKind::Number(*x), span),
            ExprKind::Quantity(inner, _) => self.term_of(*inner),
            ExprKind::Name(reference) => {
                let kind = self.name(reference, place);
                self.push(kind, span)
            }
            ExprKind::Neg(a) => {
                let a = self.term_of(*a);
                self.apply("neg", &[a], span)
            }
            ExprKind::Not(a) => {
                let a = self.term_of(*a);
                self.apply("not", &[a], span)
            }
            ExprKind::Binary(op, _, a, b) => {
                if *op == Binary::Pow {
                    self.mark_power(*a, *b);
                }
                let operands = [self.term_of(*a), self.term_of(*b)];
                let name = match op {
                    Binary::Add => "add",
                    Binary::Sub => "sub",
                    Binary::Mul => "mul",
                    Binary::Div => "div",
                    Binary::Pow => "pow",
                    Binary::And => "and",
                    Binary::Or => "or",
                };
                self.apply(name, &operands, span)
            }
            ExprKind::Comparison(operands, operators) => self.comparison(operands, operators, span),
            ExprKind::If(a, b, c) => {
                let operands = [self.term_of(*a), self.term_of(*b), self.term_of(*c)];
                self.apply("if", &operands, span)
            }
            ExprKind::Call(name, arguments) => self.call(name, arguments, span),
            ExprKind::Text(_) => {
                self.say(
                    error("E0214", "a text has no value here", span, "")
                        .help("texts name files, in `use` and in tables; comments begin with `#`"),
                );
                self.push(TermKind::Number(0.0), span)
            }
            // Features of later versions were answered before.
            ExprKind::Reduce(..) | ExprKind::Tuple(_) | ExprKind::Table(_) => self.push(TermKind::Number(0.0), span),
        }
    }

    fn comparison(&mut self, operands: &[ExprId], operators: &[(Compare, Span)], span: Span) -> TermId {
        let mut chain: Option<TermId> = None;
        for (pair, (operator, _)) in operands.windows(2).zip(operators) {
            let (a, b) = (self.term_of(pair[0]), self.term_of(pair[1]));
            let place = self.span_of(pair[0]).to(self.span_of(pair[1]));
            let one = match operator {
                Compare::Lt => self.apply("lt", &[a, b], place),
                Compare::Le => self.apply("le", &[a, b], place),
                Compare::Gt => self.apply("lt", &[b, a], place),
                Compare::Ge => self.apply("le", &[b, a], place),
                Compare::Eq => self.apply("eq", &[a, b], place),
                Compare::Ne => self.apply("ne", &[a, b], place),
            };
            chain = Some(match chain {
                None => one,
                Some(before) => self.apply("and", &[before, one], span),
            });
        }
        match chain {
            Some(term) => term,
            None => self.push(TermKind::Number(0.0), span),
        }
    }

    fn call(&mut self, name: &'a Ident, arguments: &'a [ExprId], span: Span) -> TermId {
        let operands: Vec<TermId> = arguments.iter().map(|&a| self.term_of(a)).collect();
        if let Some(&index) = self.functions.get(&name.name) {
            self.function_uses[index] += 1;
            let expected = self.function_arity[index];
            if expected != operands.len() {
                self.wrong_count(name, expected, operands.len(), Some(index), span);
                return self.push(TermKind::Number(0.0), span);
            }
            return self.push(TermKind::Call(index, operands), span);
        }
        let Some(op) = builtin(&name.name) else {
            self.unknown_function(name, arguments, span);
            return self.push(TermKind::Number(0.0), span);
        };
        let arity = usize::from(op.0.arity);
        let any_number = matches!(op.0.name, "min" | "max");
        if any_number && operands.len() > arity {
            let mut value = operands[0];
            for &next in &operands[1..] {
                value = self.apply(op.0.name, &[value, next], span);
            }
            return value;
        }
        if operands.len() != arity {
            self.wrong_count(name, arity, operands.len(), None, span);
            return self.push(TermKind::Number(0.0), span);
        }
        self.apply(op.0.name, &operands, span)
    }

    /// What a name stands for; a term that computes nothing if that was an error.
    pub(super) fn name(&mut self, reference: &'a Reference, place: Place<'a>) -> TermKind {
        let name = &reference.name.name;
        let nothing = TermKind::Number(0.0);
        if let Place::Function(_, arguments) = place
            && let Some(i) = arguments.iter().position(|a| a.name == *name)
        {
            if reference.primes > 0 {
                self.say(
                    error(
                        "E0302",
                        format!("`{name}` has no derivative"),
                        reference.span,
                        "an argument of the function",
                    )
                    .help("pass the derivative as another argument"),
                );
            }
            return TermKind::Argument(i);
        }
        let Some(&symbol) = self.model.symbols.get(name) else {
            if let (Some((_, value)), 0) = (MATHEMATICAL.iter().find(|m| m.0 == name), reference.primes) {
                return TermKind::Number(*value);
            }
            self.note_undeclared(name, Use { span: reference.name.span, kind: UseKind::Value });
            return nothing;
        };
        *self.uses.entry(symbol).or_default() += 1;
        if !self.permitted(reference, symbol, place) {
            return nothing;
        }
        if reference.primes > 0 && !matches!(symbol, Symbol::State(_)) {
            if let Symbol::Definition(i) = symbol {
                self.primed_definitions.entry(i).or_default().push(reference.span);
            } else {
                self.prime_without_state(name, symbol, reference.span);
            }
            return nothing;
        }
        match symbol {
            Symbol::Time => TermKind::Time,
            Symbol::Parameter(i) => TermKind::Parameter(i),
            Symbol::Constant(i) => TermKind::Constant(i),
            Symbol::Definition(i) => TermKind::Definition(i),
            Symbol::State(i) => TermKind::State(i, reference.primes),
        }
    }

    pub(super) fn note_undeclared(&mut self, name: &str, at: Use) {
        if self.broken.contains(name) {
            return;
        }
        let uses = self.undeclared.entry(name.to_owned()).or_default();
        if uses.iter().all(|u| u.span != at.span) {
            uses.push(at);
        }
    }

    /// `e^x` with an undeclared `e` is the exponential function.
    fn mark_power(&mut self, base: ExprId, exponent: ExprId) {
        if let ExprKind::Name(r) = &self.tree.exprs[base.0 as usize].kind
            && let Some(uses) = self.undeclared.get_mut(&r.name.name)
            && let Some(found) = uses.iter_mut().find(|u| u.span == r.name.span)
        {
            found.kind = UseKind::Power(exponent);
        }
    }

    /// Names of functions, the model's and the builtin ones.
    pub(super) fn function_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.functions.keys().cloned().collect();
        names.sort_unstable();
        names.extend(builtin_names().map(str::to_owned));
        names
    }

    /// Names of values that are nearest to this one.
    pub(super) fn near_names(&self, name: &str) -> Vec<String> {
        let mut names: Vec<&str> = self.model.symbols.keys().map(String::as_str).collect();
        names.sort_unstable();
        names.extend(MATHEMATICAL.iter().map(|m| m.0));
        suggest::nearest(name, names.into_iter()).into_iter().map(str::to_owned).collect()
    }
}

/// Text on one line, blanks collapsed.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
