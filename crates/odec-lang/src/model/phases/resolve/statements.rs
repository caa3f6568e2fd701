//! Declarations, equations and runs as parts of the model: each expression is resolved once for each component of a
//! vector.

use crate::diagnostic::codes;
use odec_ir::{Span, names};

use super::scope::Scope;
use super::terms::map_operands;
use super::{Allowed, Resolver, Use, UseKind};
use crate::model::phases::names::{
    ConserveItem, Declarations, DefinitionItem, EquationItem, ExpectItem, InitialItem, LeftSide,
};
use crate::model::phases::one_line;
use crate::model::phases::settle::InitialValue;
use crate::model::phases::shapes::{COMPONENTS, Dim};
use crate::model::{self, Body, Indexed, Symbol, TermKind};
use crate::report::error;
use crate::syntax::tree::{self, Declared, ExprId, ExprKind, Ident, Index, Reference};
use crate::words::builtin_names;

/// The name of a component of a vector with this name.
pub(super) fn component_name(name: &str, dim: Dim, c: usize) -> String {
    if dim == 0 { name.to_owned() } else { format!("{name}.{}", COMPONENTS[c]) }
}

impl<'a> Resolver<'a> {
    /// Resolves every expression and fills the lists of the model.
    pub(super) fn resolve_all(&mut self, found: &Declarations<'a>) {
        for f in &found.functions {
            let value = self.number_body(0.0, f.name.span);
            let doc = f.doc.map(str::to_owned);
            let name = f.name.name.clone();
            let function =
                model::Function { name, arguments: Vec::new(), value, doc, span: f.name.span, put_in: false };
            self.model.functions.push(function);
        }
        self.resolve_function_ranges();
        self.resolve_inputs();
        for &(name, first, last) in &found.indices {
            let (first, last) = self.extent_range(first, last);
            self.model.index_sets.push(model::IndexSet { name: name.name.clone(), first, last, span: name.span });
        }
        for item in &found.constants {
            let given = self.given(item, Allowed::Constant);
            self.model.constants.extend(given);
        }
        for item in &found.parameters {
            let given = self.given(item, Allowed::Default(&item.target.name));
            self.model.parameters.extend(given);
        }
        for (i, item) in found.states.iter().enumerate() {
            self.resolve_state(item, found.unknowns.contains(&i));
        }
        for start in &found.initial {
            self.resolve_start(start);
        }
        for item in &found.limits {
            self.resolve_limit(item);
        }
        for item in &found.discretes {
            self.resolve_discrete(item);
        }
        for d in &found.definitions {
            self.resolve_definition(d);
        }
        for equation in &found.equations {
            self.resolve_equation(equation);
        }
        for item in &found.boundaries {
            self.resolve_boundary(item);
        }
        for event in &found.events {
            self.resolve_event(event);
        }
        for output in &found.outputs {
            self.resolve_output(output, found);
        }
        for c in &found.conserved {
            self.resolve_conserved(c, found);
        }
        for e in &found.expects {
            self.resolve_expect(e);
        }
        for axis in &found.axes {
            self.resolve_axis(axis);
        }
        found.reaction_checks.iter().for_each(|check| self.resolve_reaction_check(check));
        self.resolve_runs(found);
        self.resolve_functions(&found.functions);
        self.report_free();
    }

    fn given(&mut self, item: &'a Declared, place: Allowed<'a>) -> Vec<model::NamedValue> {
        let name = &item.target.name.name;
        let dim = self.shapes.dim(name);
        let parts = usize::from(dim.max(1));
        let (indexed, scope) = self.axes(&item.target.indices);
        self.refuse_comparison(item, false);
        let mut tables: Vec<Option<model::Table>> = vec![None; parts];
        let values = match item.value {
            Some(value) if self.is_table(value) => {
                tables = self.tables(name, value, indexed.rank(), dim, place);
                vec![self.number_body(0.0, item.target.span); parts]
            }
            Some(value) if indexed.is_scalar() => self.shared(value, place, dim),
            Some(value) => self.within_scope(scope, |b| b.bodies(value, place, dim)),
            None => vec![self.number_body(0.0, item.target.span); parts],
        };
        let bounds = item.bounds.map(|(a, b)| (self.scalar(a, Allowed::Constant), self.scalar(b, Allowed::Constant)));
        let component = |(c, (value, table)): (usize, (Body, Option<model::Table>))| model::NamedValue {
            name: component_name(name, dim, c),
            unit: item.unit.as_ref().map(|u| u.text.clone()),
            doc: item.doc.clone(),
            span: item.target.name.span,
            value,
            bounds,
            indexed: indexed.clone(),
            table,
        };
        values.into_iter().zip(tables).enumerate().map(component).collect()
    }

    fn resolve_state(&mut self, item: &'a Declared, algebraic: bool) {
        let name = &item.target.name.name;
        let dim = self.shapes.dim(name);
        let (indexed, _) = self.axes(&item.target.indices);
        for (c, &letter) in COMPONENTS.iter().enumerate().take(usize::from(dim.max(1))) {
            self.model.states.push(model::State {
                name: component_name(name, dim, c),
                order: 1,
                algebraic,
                initial: Vec::new(),
                unit: item.unit.as_ref().filter(|_| item.target.primes == 0).map(|u| u.text.clone()),
                doc: item.doc.clone(),
                span: item.target.name.span,
                indexed: indexed.clone(),
                component: (dim > 0).then_some(letter),
                bounds: Vec::new(),
            });
        }
    }

    /// `x >= 0`: for a vector, for each of its components, or for a named one.
    fn resolve_limit(&mut self, item: &'a Declared) {
        let (Some(limit), Some(&Symbol::State(first))) = (item.limit, self.model.symbols.get(&item.target.name.name))
        else {
            return;
        };
        let dim = self.shapes.dim(&item.target.name.name);
        let indexed = self.model.states[first].indexed.clone();
        if indexed.rank() != item.target.indices.len() {
            self.wrong_rank(&item.target, indexed.rank());
            return;
        }
        let named = |(index, axis): (&Index, &model::Dimension)| match index {
            Index::At(e) => self.input.plain_name(*e).is_some_and(|name| name.name == axis.name),
            Index::In(..) | Index::Range(..) => true,
        };
        let whole = item.target.indices.iter().zip(&indexed.axes).all(named);
        if !whole || (!indexed.is_scalar() && self.axes(&item.target.indices).0.axes != indexed.axes) {
            let text = self.input.text(item.target.span);
            let report = error(&codes::E0513, format!("`{text}` is a part of an array"), item.target.span, "a part");
            self.say(report.help("a bound applies to all elements: write the indices as in the declaration"));
            return;
        }
        let components = match item.target.path.first() {
            Some(part) => match COMPONENTS.iter().take(usize::from(dim)).position(|c| part.name == c.to_string()) {
                Some(c) => c..c + 1,
                None => {
                    let headline = format!("`{}` has no such component", item.target.name.name);
                    self.say(
                        error(&codes::E0532, headline, part.span, "")
                            .help("`x`, `y` and `z` are components of vectors"),
                    );
                    return;
                }
            },
            None => 0..usize::from(dim.max(1)),
        };
        let scope = self.rebind(&item.target.indices, &indexed);
        let value = if indexed.is_scalar() {
            self.scalar(limit.value, Allowed::Anywhere)
        } else {
            self.within_scope(scope, |b| b.bodies(limit.value, Allowed::Anywhere, 0))[0]
        };
        for c in components {
            let span = item.target.span.to(limit.span);
            let bound = model::StateBound { order: item.target.primes, at_least: limit.at_least, value, span };
            self.model.states[first + c].bounds.push(bound);
        }
    }

    fn resolve_start(&mut self, start: &InitialItem<'a>) {
        let item = start.item;
        let first = self.shapes.state_firsts[start.state];
        let dim = self.shapes.dim(&item.target.name.name);
        let (order, span, end) = (item.target.primes, item.target.span, self.end_of(item));
        self.refuse_comparison(item, true);
        let bodies = item.value.and_then(|value| self.start_bodies(item, value, first, dim));
        for c in 0..usize::from(dim.max(1)) {
            let value = bodies.as_ref().and_then(|list| list.get(c).copied());
            self.starts.push(InitialValue { state: first + c, order, value, span, end });
        }
    }

    /// One body for each component; `None` after a mistake.
    fn start_bodies(&mut self, item: &'a Declared, value: ExprId, first: usize, dim: Dim) -> Option<Vec<Body>> {
        let indexed = self.model.states[first].indexed.clone();
        if indexed.rank() != item.target.indices.len() {
            self.wrong_rank(&item.target, indexed.rank());
            return None;
        }
        let scope = self.rebind(&item.target.indices, &indexed);
        Some(if indexed.is_scalar() && !self.is_table(value) {
            self.shared(value, Allowed::Anywhere, dim)
        } else if self.is_table(value) {
            self.start_table(item, value, &indexed, dim)
        } else {
            self.within_scope(scope, |b| b.bodies(value, Allowed::Anywhere, dim))
        })
    }

    /// Refuses `state x = 5 >= 0`, which would start from 1: a bound or another value is meant.
    pub(super) fn refuse_comparison(&mut self, item: &Declared, state: bool) {
        let Some(value) = item.value else { return };
        let ExprKind::Comparison(operands, _) = &self.input.tree.exprs[value.0 as usize].kind else { return };
        // a parameter that depends on a state has its own message
        let varies = |operand: &ExprId| {
            let symbol = self.input.plain_name(*operand).and_then(|name| self.model.symbols.get(&name.name));
            matches!(symbol, Some(Symbol::State(_) | Symbol::Definition(_) | Symbol::Time))
        };
        if !state && operands.iter().any(varies) {
            return;
        }
        let span = self.input.span_of(value);
        let (target, first) = (self.input.text(item.target.span), self.input.text(self.input.span_of(operands[0])));
        let headline = format!("the value of `{target}` is a comparison, which is 1 or 0");
        let text = self.input.text(span);
        let rest = text.strip_prefix(first).map(str::trim).filter(|rest| state && !rest.starts_with("=="));
        let bound =
            rest.map(|rest| format!("; for a bound, `{target} = {first}, {target} {rest}`")).unwrap_or_default();
        let help = format!(
            "write the value only, `{target} = {first}`{bound}; or, if you mean 1 or 0, `if {text} then 1 else 0`"
        );
        self.say(error(&codes::E0215, headline, span, "true or false, not a quantity").help(help));
    }

    /// The empty span after a declared item.
    fn end_of(&self, item: &Declared) -> Span {
        let value = item.value.map(|v| self.input.span_of(v));
        let others = [value, item.unit.as_ref().map(|u| u.span), item.bounds.map(|b| self.input.span_of(b.1))];
        let last = others.into_iter().flatten().map(|span| span.end).fold(item.target.span.end, u32::max);
        Span { start: last, end: last, ..item.target.span }
    }

    fn resolve_definition(&mut self, d: &DefinitionItem<'a>) {
        let dim = self.shapes.dim(d.name);
        let (indexed, values) = match (d.indices.is_empty(), d.pieces.is_empty()) {
            (true, _) if self.is_table(d.value) => {
                self.table_in_formula(self.input.span_of(d.value));
                (Indexed::default(), vec![self.number_body(0.0, d.span); usize::from(dim.max(1))])
            }
            (true, _) => (Indexed::default(), self.shared(d.value, Allowed::Anywhere, dim)),
            (false, true) => {
                let (indexed, scope) = self.axes(d.indices);
                let values = self.within_scope(scope, |b| b.bodies(d.value, Allowed::Anywhere, dim));
                (indexed, values)
            }
            (false, false) => self.pieces(d, dim),
        };
        for (c, value) in values.into_iter().enumerate() {
            self.model.definitions.push(model::Definition {
                name: component_name(d.name, dim, c),
                value,
                unit: d.unit.map(|u| u.text.clone()),
                doc: d.doc.map(str::to_owned),
                span: d.span,
                indexed: indexed.clone(),
            });
        }
    }

    /// A number, outside all indices.
    pub(super) fn scalar(&mut self, expr: ExprId, place: Allowed<'a>) -> Body {
        self.shared(expr, place, 0)[0]
    }

    pub(super) fn within(&mut self, within: Option<&'a tree::WithinClause>) -> Option<model::Within> {
        within.map(|w| model::Within {
            value: self.scalar(w.value, Allowed::Anywhere),
            percent: w.percent,
            span: w.span,
        })
    }

    fn resolve_equation(&mut self, equation: &EquationItem<'a>) {
        match equation.left {
            LeftSide::Derivative(name, span, primes, reference) => {
                self.derivative_equation(equation, name, span, primes, reference);
            }
            LeftSide::Start(name, argument) => self.start_value_as_equation(name, argument, equation),
            LeftSide::Plain(target) => {
                match self.model.symbols.get(&target.name.name) {
                    Some(&Symbol::State(i)) if self.model.states[i].algebraic => {
                        return self.expression_equation(equation);
                    }
                    Some(&Symbol::State(i)) => {
                        if self.is_constraint(target, equation) {
                            return self.expression_equation(equation);
                        }
                        self.bare_state(target, i, equation);
                    }
                    _ => {}
                }
                let (_, scope) = self.places(&target.indices);
                self.within_scope(scope, |b| b.value(equation.rhs, Allowed::Anywhere));
            }
            LeftSide::Expression => self.expression_equation(equation),
        }
    }

    fn derivative_equation(
        &mut self,
        equation: &EquationItem<'a>,
        name: &'a str,
        span: Span,
        primes: u8,
        reference: &'a Reference,
    ) {
        let lhs_span = self.input.span_of(equation.lhs);
        let (place, scope) = self.places(&reference.indices);
        let state = match self.model.symbols.get(name) {
            Some(&Symbol::State(i)) => Some(i),
            Some(&Symbol::Definition(i)) => {
                self.uses.primed.entry(i).or_default().push(lhs_span);
                None
            }
            Some(&symbol) => {
                self.prime_without_state(name, symbol, lhs_span);
                None
            }
            None => {
                self.note_undeclared(name, Use { span, kind: UseKind::LeftSide });
                None
            }
        };
        let Some(state) = state else {
            let (lhs, rhs) = (self.number_body(0.0, span), self.number_body(0.0, span));
            self.within_scope(scope, |b| b.value(equation.rhs, Allowed::Anywhere));
            self.push_equation(equation, lhs, rhs, None, place);
            return;
        };
        self.uses.mark(Symbol::State(state));
        let rank = self.model.states[state].indexed.rank();
        if rank != reference.indices.len() {
            self.wrong_rank(reference, rank);
            return;
        }
        let dim = self.shapes.dim(name);
        let Some(which) = self.which_component(reference, dim) else { return };
        let range = match which {
            Some(c) => c..c + 1,
            None => 0..usize::from(dim.max(1)),
        };
        let dim = if which.is_some() { 0 } else { dim };
        let mut left = Vec::new();
        for c in range {
            let start = self.model.terms.len() as u32;
            let mut subscripts = Vec::new();
            for p in &place {
                subscripts.push(match p {
                    model::Place::Each(local) => {
                        let at = self.model.locals[*local].span;
                        self.push(TermKind::Index(*local), at)
                    }
                    model::Place::At(body) => self.copy(*body),
                });
            }
            let kind = match rank {
                0 => TermKind::State(state + c, primes),
                _ => TermKind::Element(Symbol::State(state + c), primes, subscripts),
            };
            let root = self.push(kind, lhs_span);
            left.push((state + c, Body { start, end: self.model.terms.len() as u32, root }));
        }
        let right = self.within_scope(scope, |b| b.bodies(equation.rhs, Allowed::Anywhere, dim));
        for ((state, lhs), rhs) in left.into_iter().zip(right) {
            self.push_equation(equation, lhs, rhs, Some(state), place.clone());
        }
    }

    /// The terms of a body once more, at the end.
    pub(super) fn copy(&mut self, body: Body) -> model::TermId {
        let by = self.model.terms.len() as u32 - body.start;
        for i in body.range() {
            let mut term = self.model.terms[i].clone();
            map_operands(&mut term.kind, |o| model::TermId(o.0 + by));
            self.model.terms.push(term);
        }
        model::TermId(body.root.0 + by)
    }

    /// `m*u[i]'' + k*u[i] = 0`: the indices of the left-hand side, in order, are those of the equation; for
    /// `0 = ...`, those of the right-hand side.
    fn expression_equation(&mut self, equation: &EquationItem<'a>) {
        let (mut scope, mut locals) = self.implied_indices(&[equation.lhs]);
        if locals.is_empty() {
            (scope, locals) = self.implied_indices(&[equation.rhs]);
        }
        let (left, right) = self.within_scope(scope, |b| {
            let (start, value) = b.value(equation.lhs, Allowed::Anywhere);
            let left = b.split(start, value);
            let (start, value) = b.value(equation.rhs, Allowed::Anywhere);
            (left, b.split(start, value))
        });
        if left.len() != right.len() {
            let dim = |n: usize| if n == 1 { 0 } else { n as Dim };
            let rule = "the two sides of an equation have different kinds";
            self.mixed(equation.lhs, equation.rhs, dim(left.len()), dim(right.len()), rule);
            return;
        }
        let place: Vec<model::Place> = locals.into_iter().map(model::Place::Each).collect();
        for (lhs, rhs) in left.into_iter().zip(right) {
            self.push_equation(equation, lhs, rhs, None, place.clone());
        }
    }

    /// Index names that are used in the expressions and not bound by a reduction, each with a local; `u[i in 2..N]`
    /// restricts one.
    pub(super) fn implied_indices(&mut self, expressions: &[ExprId]) -> (Scope, Vec<usize>) {
        let mut names: Vec<(ExprId, &'a Ident)> = Vec::new();
        let mut ranges: Vec<(&'a Ident, (ExprId, ExprId))> = Vec::new();
        let mut open: Vec<(ExprId, Vec<&'a str>)> = expressions.iter().map(|&e| (e, Vec::new())).collect();
        let tree = self.input.tree;
        while let Some((id, inside)) = open.pop() {
            match &tree.exprs[id.0 as usize].kind {
                ExprKind::Reduce(_, binders, condition, body) => {
                    let mut inner = inside.clone();
                    inner.extend(binders.iter().map(|b| b.0.name.as_str()));
                    open.extend(condition.iter().map(|&c| (c, inner.clone())));
                    open.push((*body, inner));
                }
                ExprKind::Name(r) => {
                    let index = matches!(self.model.symbols.get(&r.name.name), Some(Symbol::Index(_)));
                    if index && !inside.contains(&r.name.name.as_str()) && names.iter().all(|n| n.1.name != r.name.name)
                    {
                        names.push((id, &r.name));
                    }
                    for index in &r.indices {
                        if let Index::In(name, first, last) = index
                            && !inside.contains(&name.name.as_str())
                            && ranges.iter().all(|r| r.0.name != name.name)
                        {
                            ranges.push((name, (*first, *last)));
                            names.retain(|n| n.1.name != name.name);
                            names.push((id, name));
                        }
                    }
                    open.extend(
                        r.indices.iter().flat_map(crate::syntax::tree::Index::parts).map(|e| (e, inside.clone())),
                    );
                }
                ExprKind::Number(_) | ExprKind::Text(_) => {}
                ExprKind::Quantity(a, _) | ExprKind::Neg(a) | ExprKind::Not(a) => open.push((*a, inside)),
                ExprKind::Binary(_, _, a, b) => open.extend([(*b, inside.clone()), (*a, inside)]),
                ExprKind::If(a, b, c) => open.extend([(*a, inside.clone()), (*b, inside.clone()), (*c, inside)]),
                ExprKind::Comparison(list, _)
                | ExprKind::Call(_, list)
                | ExprKind::Tuple(list)
                | ExprKind::Table(list) => open.extend(list.iter().rev().map(|&e| (e, inside.clone()))),
            }
        }
        names.sort_by_key(|n| n.0);
        let mut scope = None;
        let mut locals = Vec::new();
        for (_, name) in names {
            let range = ranges.iter().find(|r| r.0.name == name.name).map(|r| r.1);
            let dimension = self.dimension(name, range);
            let local = self.local(name.name.clone(), dimension, name.span);
            scope = self.bind(scope, &name.name, local);
            locals.push(local);
        }
        self.scopes.restricted = ranges.into_iter().map(|r| r.0.span).collect();
        (scope, locals)
    }

    fn push_equation(
        &mut self,
        equation: &EquationItem<'a>,
        lhs: Body,
        rhs: Body,
        target: Option<usize>,
        place: Vec<model::Place>,
    ) {
        let (span, equals) = (equation.span, equation.equals);
        self.model.equations.push(model::Equation { lhs, rhs, target, owner: target, place, span, equals });
    }

    fn resolve_conserved(&mut self, c: &ConserveItem<'a>, found: &Declarations<'a>) {
        let dim = c.definition.map_or(0, |i| self.shapes.dim(found.definitions[i].name));
        let values = if c.definition.is_some() {
            self.shared(c.value, Allowed::Anywhere, dim)
        } else {
            let (start, value) = self.within_scope(None, |b| b.value(c.value, Allowed::Anywhere));
            self.split(start, value)
        };
        let dim = if values.len() > 1 { values.len() as Dim } else { 0 };
        let within = self.within(c.within);
        if let Some(i) = c.definition {
            let i = self.shapes.definition_firsts[i];
            self.uses.mark(Symbol::Definition(i));
        }
        let name = c.name.map_or_else(|| self.input.text(self.input.span_of(c.value)).to_owned(), |n| n.name.clone());
        let name = one_line(&name);
        for (k, value) in values.into_iter().enumerate() {
            let name = component_name(&name, dim, k);
            self.model.conserved.push(model::Conserved { name, value, within, span: c.span });
        }
    }

    fn resolve_expect(&mut self, e: &ExpectItem<'a>) {
        let quantity = self.within_scope(None, |b| b.body(e.quantity, Allowed::Anywhere));
        let time = self.scalar(e.time, Allowed::Anywhere);
        let value = self.scalar(e.value, Allowed::Anywhere);
        let within = self.within(e.within);
        let name = one_line(self.input.text(self.input.span_of(e.quantity)));
        self.model.expects.push(model::Expect { name, quantity, time, value, within, run: e.run, span: e.span });
    }

    /// The bodies of an expression outside of indices that several names share: resolved once.
    pub(super) fn shared(&mut self, expr: ExprId, place: Allowed<'a>, dim: Dim) -> Vec<Body> {
        if let Some(bodies) = self.bodies.get(&expr)
            && bodies.len() == usize::from(dim.max(1))
        {
            return bodies.clone();
        }
        let bodies = self.within_scope(None, |b| b.bodies(expr, place, dim));
        self.bodies.insert(expr, bodies.clone());
        bodies
    }

    /// Names of functions: those of the model and the built-in ones.
    pub(super) fn function_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.names.functions.keys().cloned().collect();
        names.sort_unstable();
        names.extend(builtin_names().map(str::to_owned));
        names
    }

    /// `p.x` for `p[1]`, if `p` is a vector.
    fn numbered_component(&self, reference: &Reference) -> Option<String> {
        let name = &reference.name.name;
        let dim = usize::from(self.shapes.dim(name));
        let [Index::At(at)] = &reference.indices[..] else { return None };
        let ExprKind::Number(number) = &self.input.tree.exprs[at.0 as usize].kind else { return None };
        let letter =
            COMPONENTS[..dim.min(COMPONENTS.len())].iter().zip(1u8..).find(|(_, k)| f64::from(*k) == *number)?;
        Some(format!("{}{}.{}", names::plain(name), "'".repeat(reference.primes.into()), letter.0))
    }

    /// Reports too many or too few indices.
    pub(super) fn wrong_rank(&mut self, reference: &Reference, rank: usize) {
        let name = &reference.name.name;
        let typed = names::plain(name);
        let count = |n: usize| match n {
            0 => "no index".to_owned(),
            1 => "one index".to_owned(),
            n => format!("{n} indices"),
        };
        let found = reference.indices.len();
        let headline = match (rank, found) {
            (0, _) => format!("`{typed}` is a single value without indices"),
            (_, 0) => format!("`{typed}` is an array, but no element is named"),
            _ => format!("`{typed}` has {} but receives {}", count(rank), count(found)),
        };
        let mut report = error(&codes::E0513, headline, reference.span, "");
        let many = format!("`{typed}` is a single value, but a table has many");
        if self.reports.list().iter().any(|d| d.code == &codes::E0529 && d.headline == many) {
            return;
        }
        if let Some(&declared) = self.names.declared.get(name.as_str()) {
            report = report.label(declared, format!("declared with {}", count(rank)));
        }
        let letters: Vec<String> = ["i", "j", "k", "l", "m"].into_iter().take(rank).map(str::to_owned).collect();
        let all = letters.join(", ");
        let element = if name.contains('[') { names::element(name, &letters) } else { format!("{name}[{all}]") };
        self.say(match (rank, found) {
            (0, _) => match self.numbered_component(reference) {
                Some(component) => report.help(format!("`{typed}` is a vector: write `{component}`")),
                None => report.help(format!("write `{typed}`, or declare an array: `{typed}[i] = ...`")),
            },
            (_, 0) => {
                report.help(format!("write one element, `{element}`, or reduce the array: `sum({all}: {element})`"))
            }
            _ => report.help(format!("write `{element}`")),
        });
    }
}
