//! Expressions: names are resolved, calls are checked, and the nodes of the tree become a flat list of terms.

use crate::diagnostic::codes;
use odec_ir::broken;
use odec_ir::{Span, builtin as table};

use super::Allowed;
use super::{Resolver, Use, UseKind};
use crate::model::phases::shapes::{COMPONENTS, Dim, offset};
use crate::model::walk::operands;
use crate::model::{Body, Reduction, Symbol, Term, TermId, TermKind};
use crate::report::error;
use crate::syntax::tree::{Binary, Compare, ExprId, ExprKind, Ident, Index, Reference};
use crate::words::{MATHEMATICAL, builtin};

/// The value of an expression: a number, or the components of a vector.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Scalar(TermId),
    Vector(Dim, [TermId; COMPONENTS.len()]),
}

impl Value {
    pub(super) fn dim(self) -> Dim {
        match self {
            Value::Scalar(_) => 0,
            Value::Vector(dim, _) => dim,
        }
    }

    /// The number, or the components.
    pub(super) fn terms(&self) -> &[TermId] {
        match self {
            Value::Scalar(term) => std::slice::from_ref(term),
            Value::Vector(dim, terms) => &terms[..usize::from(*dim)],
        }
    }

    /// One component of a vector; a number stays a number.
    pub(super) fn component(self, c: usize) -> TermId {
        match self {
            Value::Scalar(term) => term,
            Value::Vector(_, terms) => terms[c],
        }
    }

    pub(super) fn from_terms(terms: &[TermId]) -> Value {
        match terms {
            [one] => Value::Scalar(*one),
            several => {
                let mut all = [several[0]; COMPONENTS.len()];
                all[..several.len()].copy_from_slice(several);
                Value::Vector(several.len() as Dim, all)
            }
        }
    }
}

/// The zero of the Celsius scale in kelvin, exactly (SI Brochure, 9th edition, section 2.3.1).
const CELSIUS: f64 = 273.15;

impl<'a> Resolver<'a> {
    /// An expression of one term.
    pub(super) fn single(&mut self, kind: TermKind, span: Span) -> Body {
        let start = self.model.terms.len() as u32;
        let root = self.push(kind, span);
        Body { start, end: start + 1, root }
    }

    /// A number that replaces a missing or wrong expression.
    pub(super) fn number_body(&mut self, x: f64, span: Span) -> Body {
        self.single(TermKind::Number(x), span)
    }

    /// Resolves an expression that must be a number.
    pub(super) fn body(&mut self, expr: ExprId, place: Allowed<'a>) -> Body {
        let (start, value) = self.value(expr, place);
        match value {
            Value::Scalar(root) => Body { start, end: self.model.terms.len() as u32, root },
            Value::Vector(..) => {
                let span = self.input.span_of(expr);
                self.vector_for_number(span);
                self.number_body(0.0, span)
            }
        }
    }

    /// Resolves an expression of this shape: one body for a number, one for each component of a vector.
    pub(super) fn bodies(&mut self, expr: ExprId, place: Allowed<'a>, dim: Dim) -> Vec<Body> {
        if dim == 0 {
            return vec![self.body(expr, place)];
        }
        let (start, value) = self.value(expr, place);
        if value.dim() != dim {
            let span = self.input.span_of(expr);
            self.not_this_vector(span, value.dim(), dim);
            return (0..dim).map(|_| self.number_body(0.0, span)).collect();
        }
        self.split(start, value)
    }

    /// The components of the value that was resolved last, as bodies with separate terms.
    pub(super) fn split(&mut self, start: u32, value: Value) -> Vec<Body> {
        if let Value::Scalar(root) = value {
            return vec![Body { start, end: self.model.terms.len() as u32, root }];
        }
        let old = self.model.terms.split_off(start as usize);
        let at = |id: TermId| id.index() - start as usize;
        let mut bodies = Vec::new();
        for &root in value.terms() {
            let mut needed = vec![false; old.len()];
            needed[at(root)] = true;
            for i in (0..=at(root)).rev() {
                if needed[i] {
                    operands(&old[i].kind, |o| needed[at(o)] = true);
                }
            }
            let start = self.model.terms.len() as u32;
            let mut new: Vec<TermId> = vec![TermId(0); old.len()];
            for (i, term) in old.iter().enumerate().filter(|(i, _)| needed[*i]) {
                let mut term = term.clone();
                map_operands(&mut term.kind, |o| new[at(o)]);
                new[i] = TermId(self.model.terms.len() as u32);
                self.model.terms.push(term);
            }
            bodies.push(Body { start, end: self.model.terms.len() as u32, root: new[at(root)] });
        }
        bodies
    }

    /// Resolves an expression. Its nodes are visited in the order of their positions, operands before users.
    pub(super) fn value(&mut self, expr: ExprId, place: Allowed<'a>) -> (u32, Value) {
        let nodes = self.scoped_nodes(expr, place);
        let start = self.model.terms.len() as u32;
        for (id, scope) in nodes {
            self.scopes.here = scope;
            let value = self.node(id, place);
            self.values[id.0 as usize] = Some(self.converted(id, value));
        }
        self.scopes.here = self.scopes.base;
        (start, self.value_of(expr))
    }

    /// The value in the unit of its use.
    pub(super) fn converted(&mut self, id: ExprId, value: Value) -> Value {
        let Some(&factor) = self.factors.get(&id) else { return value };
        let span = self.input.span_of(id);
        let factor = self.push(TermKind::Number(factor), span);
        self.each(value.dim(), span, |b, c| b.apply("mul", &[factor, value.component(c)], span))
    }

    pub(super) fn push(&mut self, kind: TermKind, span: Span) -> TermId {
        let id = TermId(self.model.terms.len() as u32);
        self.model.terms.push(Term { kind, span });
        id
    }

    pub(super) fn value_of(&mut self, expr: ExprId) -> Value {
        match self.values[expr.0 as usize] {
            Some(value) => value,
            None => Value::Scalar(self.push(TermKind::Number(0.0), self.input.span_of(expr))),
        }
    }

    /// The value of an expression as a number; an error if it is a vector.
    pub(super) fn term_of(&mut self, expr: ExprId) -> TermId {
        match self.value_of(expr) {
            Value::Scalar(term) => term,
            Value::Vector(_, terms) => {
                self.vector_for_number(self.input.span_of(expr));
                terms[0]
            }
        }
    }

    pub(super) fn nothing(&mut self, span: Span) -> Value {
        Value::Scalar(self.push(TermKind::Number(0.0), span))
    }

    pub(super) fn apply(&mut self, name: &str, operands: &[TermId], span: Span) -> TermId {
        let first = operands.first().copied().unwrap_or(TermId(0));
        let mut padded = [first; 3];
        padded[..operands.len()].copy_from_slice(operands);
        match table::find(name) {
            Some(op) => self.push(TermKind::Apply(op, padded), span),
            None => self.push(TermKind::Number(0.0), span),
        }
    }

    pub(super) fn node(&mut self, id: ExprId, place: Allowed<'a>) -> Value {
        let tree = self.input.tree;
        let expr = &tree.exprs[id.0 as usize];
        let span = expr.span;
        match &expr.kind {
            ExprKind::Number(x) => Value::Scalar(self.push(TermKind::Number(*x), span)),
            ExprKind::Quantity(inner, _) => self.value_of(*inner),
            ExprKind::Name(reference) => self.name(reference, place),
            ExprKind::Neg(a) => {
                let a = self.value_of(*a);
                self.each(a.dim(), span, |b, c| b.apply("neg", &[a.component(c)], span))
            }
            ExprKind::Not(a) => {
                let a = self.term_of(*a);
                Value::Scalar(self.apply("not", &[a], span))
            }
            ExprKind::Binary(op, _, a, b) => {
                if *op == Binary::Pow {
                    self.mark_power(*a, *b);
                }
                self.binary(*op, *a, *b, span)
            }
            ExprKind::Comparison(operands, operators) => Value::Scalar(self.comparison(operands, operators, span)),
            ExprKind::If(a, b, c) => {
                let condition = self.term_of(*a);
                let (yes, no) = (self.value_of(*b), self.value_of(*c));
                if yes.dim() != no.dim() {
                    self.mixed(*b, *c, yes.dim(), no.dim(), "the two branches of an `if` have different kinds");
                    return self.nothing(span);
                }
                self.each(yes.dim(), span, |b, c| b.apply("if", &[condition, yes.component(c), no.component(c)], span))
            }
            ExprKind::Call(name, arguments) => match self.input_call(name, arguments, place, span) {
                Some(value) => value,
                None => self.call(name, arguments, place, span),
            },
            ExprKind::Tuple(list) => {
                let terms: Vec<TermId> = list.iter().map(|&e| self.term_of(e)).collect();
                if !(2..=COMPONENTS.len()).contains(&terms.len()) {
                    let headline = format!("a vector has two to four components, not {}", terms.len());
                    let report = error(&codes::E0527, headline, span, "");
                    self.say(report.help(
                        "write more values as an array over an index: `index i = 1..5`, `const c[i] = [1, 2, 3, 4, \
                         5]`",
                    ));
                    return self.nothing(span);
                }
                Value::from_terms(&terms)
            }
            ExprKind::Reduce(word, _, condition, body) => self.reduction(id, word, *condition, *body, span),
            // the message about the table says it all
            ExprKind::Text(_) if self.is_file_of_table(span) => self.nothing(span),
            ExprKind::Text(_) => {
                self.say(
                    error(&codes::E0214, "a string cannot be a value here", span, "")
                        .help("a string is the name of a file, in `use` and in tables, or the reason of a `stop`; comments begin with `#`"),
                );
                self.nothing(span)
            }
            ExprKind::Table(_) => {
                self.table_in_formula(span);
                self.nothing(span)
            }
        }
    }

    /// A number, or a vector whose components are created one by one.
    pub(super) fn each(&mut self, dim: Dim, _: Span, mut make: impl FnMut(&mut Self, usize) -> TermId) -> Value {
        let terms: Vec<TermId> = (0..usize::from(dim.max(1))).map(|c| make(self, c)).collect();
        Value::from_terms(&terms)
    }

    fn reduction(&mut self, id: ExprId, word: &'a Ident, condition: Option<ExprId>, body: ExprId, span: Span) -> Value {
        let reduction = match word.name.as_str() {
            "sum" => Reduction::Sum,
            "prod" => Reduction::Product,
            "min" => Reduction::Min,
            "max" => Reduction::Max,
            other => {
                let report = error(&codes::E0203, format!("`{other}` is not a reduction"), word.span, "");
                self.say(match other {
                    "product" => report.help("write `prod`").fix(word.span, "prod"),
                    "mean" | "average" | "avg" => report.help("write `sum(i: u[i])/N`"),
                    _ => report.help("use one of the reductions `sum`, `prod`, `min` and `max`: `sum(i: u[i])`"),
                });
                return self.nothing(span);
            }
        };
        let locals = self.scopes.reductions.get(&id).cloned().unwrap_or_default();
        let condition = condition.map(|c| self.term_of(c));
        let value = self.value_of(body);
        if value.dim() > 0 && reduction != Reduction::Sum {
            let headline = format!("`{}` of vectors is not defined", word.name);
            self.say(
                error(&codes::E0527, headline, self.input.span_of(body), "a vector")
                    .help("reduce a component, or `norm(...)`"),
            );
            return self.nothing(span);
        }
        self.each(value.dim(), span, |b, c| {
            let kind = TermKind::Reduce { reduction, locals: locals.clone(), condition, body: value.component(c) };
            b.push(kind, span)
        })
    }

    fn comparison(&mut self, operands: &[ExprId], operators: &[(Compare, Span)], span: Span) -> TermId {
        let mut chain: Option<TermId> = None;
        for (pair, (operator, _)) in operands.windows(2).zip(operators) {
            let (a, b) = (self.term_of(pair[0]), self.term_of(pair[1]));
            let place = self.input.span_of(pair[0]).to(self.input.span_of(pair[1]));
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

    fn call(&mut self, name: &'a Ident, arguments: &'a [ExprId], place: Allowed<'a>, span: Span) -> Value {
        if let Some(&index) = self.names.functions.get(&name.name) {
            let values: Vec<Value> = arguments.iter().map(|&a| self.value_of(a)).collect();
            self.uses.functions.insert(index);
            let expected = self.names.found.functions[index].arguments.len();
            if expected != values.len() {
                self.wrong_count(name, expected, arguments, Some(index), span);
                return self.nothing(span);
            }
            if self.functions.open[index] {
                return self.put_in(index, values, place, span);
            }
            let shapes: Vec<Dim> = values.iter().map(|v| v.dim()).collect();
            let dim = self.called_shape(index, &shapes);
            let first = self.instance(index, &shapes, dim);
            let operands: Vec<TermId> = values.iter().flat_map(|v| v.terms().to_vec()).collect();
            return self.each(dim, span, |b, c| b.push(TermKind::Call(first + c, operands.clone()), span));
        }
        if let Some(value) = self.vector_call(name, arguments, span) {
            return value;
        }
        if name.name == "table" {
            self.input_in_formula(span);
            return self.nothing(span);
        }
        if let ("celsius", &[argument]) = (name.name.as_str(), arguments) {
            let value = self.term_of(argument);
            let zero = self.push(TermKind::Number(CELSIUS), name.span);
            return Value::Scalar(self.apply("add", &[value, zero], span));
        }
        if name.name == "csv" {
            self.table_in_formula(span);
            return self.nothing(span);
        }
        let Some(op) = builtin(&name.name) else {
            self.unknown_function(name, arguments, span);
            return self.nothing(span);
        };
        let operands: Vec<TermId> = arguments.iter().map(|&a| self.term_of(a)).collect();
        let arity = usize::from(op.0.arity);
        let any_number = matches!(op.0.name, "min" | "max");
        if any_number && operands.len() > arity {
            let mut value = operands[0];
            for &next in &operands[1..] {
                value = self.apply(op.0.name, &[value, next], span);
            }
            return Value::Scalar(value);
        }
        if operands.len() != arity {
            if any_number && self.reduction_without_index(name, arguments, span) {
                return self.nothing(span);
            }
            self.wrong_count(name, arity, arguments, None, span);
            return self.nothing(span);
        }
        Value::Scalar(self.apply(op.0.name, &operands, span))
    }

    /// The value of a name; after an error, a term without a value.
    fn name(&mut self, reference: &'a Reference, place: Allowed<'a>) -> Value {
        let subscripts = self.subscripts(reference);
        self.reference(reference, &subscripts, place)
    }

    /// A name outside of an expression: in an `output`, after `atol`.
    pub(super) fn outside_name(&mut self, reference: &'a Reference) -> (u32, Value) {
        // Subscripts are separate expressions; their ranges, if any, come before the terms.
        let mut all = Vec::new();
        for e in reference.indices.iter().flat_map(crate::syntax::tree::Index::parts) {
            all.extend(self.scoped_nodes(e, Allowed::Anywhere));
        }
        let start = self.model.terms.len() as u32;
        for (id, scope) in all {
            self.scopes.here = scope;
            let value = self.node(id, Allowed::Anywhere);
            self.values[id.0 as usize] = Some(value);
        }
        self.scopes.here = self.scopes.base;
        let value = self.name(reference, Allowed::Anywhere);
        (start, value)
    }

    fn subscripts(&mut self, reference: &'a Reference) -> Vec<TermId> {
        let mut list = Vec::with_capacity(reference.indices.len());
        for index in &reference.indices {
            list.push(match index {
                Index::At(e) => {
                    self.mark_subscript(*e);
                    self.term_of(*e)
                }
                Index::In(name, ..) if self.scopes.restricted.contains(&name.span) => {
                    let Some(local) = self.bound(self.scopes.here, &name.name) else {
                        broken("an index that restricts a range is not in scope")
                    };
                    self.push(TermKind::Index(local), name.span)
                }
                Index::In(name, a, b) => {
                    let span = name.span.to(self.input.span_of(*b));
                    self.range_in_formula(reference, span, &name.name, *a, *b);
                    self.push(TermKind::Number(0.0), span)
                }
                Index::Range(a, b) => {
                    let span = self.input.span_of(*a).to(self.input.span_of(*b));
                    self.range_in_formula(reference, span, "i", *a, *b);
                    self.push(TermKind::Number(0.0), span)
                }
            });
        }
        list
    }

    fn range_in_formula(&mut self, reference: &Reference, span: Span, index: &str, a: ExprId, b: ExprId) {
        let name = &reference.name.name;
        let (a, b) = (self.input.text(self.input.span_of(a)), self.input.text(self.input.span_of(b)));
        let report =
            error(&codes::E0514, format!("`{name}[...]` must be a single element in a formula"), span, "a range");
        self.say(report.help(format!(
            "reduce the range: `sum({index} in {a}..{b}: {name}[{index}])`; odec does not sum implicitly"
        )));
    }

    /// The value of a name with these subscripts.
    fn reference(&mut self, reference: &'a Reference, subscripts: &[TermId], place: Allowed<'a>) -> Value {
        let name = reference.name.name.as_str();
        let span = reference.span;
        if let Some(local) = self.bound(self.scopes.here, name) {
            if reference.primes > 0 || !reference.indices.is_empty() || !reference.path.is_empty() {
                let report = error(&codes::E0513, format!("`{name}` is an index, a whole number"), span, "");
                self.say(report.help(format!("write `{name}`")));
            }
            if let Some(k) = self.model.locals[local].range.index {
                self.uses.mark(Symbol::Index(k));
            }
            return Value::Scalar(self.push(TermKind::Index(local), span));
        }
        if let Some(value) = self.put_in_argument(reference) {
            return value;
        }
        if let Allowed::Function(arguments) = place
            && self.functions.frames.is_empty()
            && let Some(i) = arguments.iter().position(|a| a.name == *name)
        {
            return self.argument(reference, i);
        }
        let Some(&symbol) = self.model.symbols.get(name) else {
            if let (Some((_, value)), 0) = (MATHEMATICAL.iter().find(|m| m.0 == name), reference.primes) {
                return Value::Scalar(self.push(TermKind::Number(*value), span));
            }
            self.note_undeclared(name, Use { span: reference.name.span, kind: UseKind::Value });
            return self.nothing(span);
        };
        self.uses.mark(symbol);
        if !self.permitted(reference, symbol, place) {
            return self.nothing(span);
        }
        if matches!(symbol, Symbol::Index(_)) {
            self.index_outside(name, span, place);
            return self.nothing(span);
        }
        let of_definition = matches!(symbol, Symbol::Definition(_));
        if reference.primes > 0 && !of_definition && !matches!(symbol, Symbol::State(_)) {
            self.prime_without_state(name, symbol, span);
            return self.nothing(span);
        }
        let rank = self.names.ranks.get(name).copied().unwrap_or(0);
        if rank != subscripts.len() {
            self.wrong_rank(reference, rank);
            return self.nothing(span);
        }
        let dim = self.shapes.dim(name);
        let Some(which) = self.which_component(reference, dim) else { return self.nothing(span) };
        let element = |b: &mut Self, c: usize| {
            let (symbol, order) = b.of_order(offset(symbol, c), reference.primes, span);
            if rank > 0 {
                return b.push(TermKind::Element(symbol, order, subscripts.to_vec()), span);
            }
            b.push(TermKind::scalar(symbol, order).unwrap_or(TermKind::Number(0.0)), span)
        };
        match which {
            Some(c) => Value::Scalar(element(self, c)),
            None => self.each(dim, span, element),
        }
    }

    /// The component of a reference with `.x`, if there is one. `None` after a mistake.
    #[expect(clippy::option_option, reason = "no component, and no answer, are two things")]
    pub(super) fn which_component(&mut self, reference: &'a Reference, dim: Dim) -> Option<Option<usize>> {
        let Some(part) = reference.path.first() else { return Some(None) };
        let name = &reference.name.name;
        let known: Vec<String> = COMPONENTS[..usize::from(dim)].iter().map(char::to_string).collect();
        if reference.path.len() == 1
            && let Some(c) = known.iter().position(|k| *k == part.name)
        {
            return Some(Some(c));
        }
        if self.names.is_broken(name) {
            return None;
        }
        let report = if dim == 0 {
            error(&codes::E0532, format!("`{name}` is a number, so it has no components"), part.span, "").help(
                "the value of a vector declares it: `state p = (0, 0, 1)`; its components are `p.x`, `p.y`, `p.z`",
            )
        } else {
            let names: Vec<&str> = known.iter().map(String::as_str).collect();
            error(&codes::E0532, format!("`{name}` has no component `{}`", part.name), part.span, "")
                .help(format!("the components are {}", crate::suggest::list(names.into_iter())))
        };
        let report = match self.names.declared.get(name.as_str()) {
            Some(&declared) => report.label(declared, "declared here"),
            None => report,
        };
        self.say(report);
        None
    }

    pub(super) fn note_undeclared(&mut self, name: &str, at: Use) {
        if self.names.is_broken(name) {
            return;
        }
        let uses = self.uses.undeclared.entry(name.to_owned()).or_default();
        if uses.iter().all(|u| u.span != at.span) {
            uses.push(at);
        }
    }

    /// `e^x` with an undeclared `e` is the exponential function.
    fn mark_power(&mut self, base: ExprId, exponent: ExprId) {
        self.mark(base, UseKind::Power(exponent));
    }

    /// Records that an undeclared name that is a whole subscript, or has an offset, was meant to be an index.
    fn mark_subscript(&mut self, subscript: ExprId) {
        match &self.input.tree.exprs[subscript.0 as usize].kind {
            ExprKind::Binary(Binary::Add | Binary::Sub, _, a, b) => {
                self.mark(*a, UseKind::Index);
                self.mark(*b, UseKind::Index);
            }
            _ => self.mark(subscript, UseKind::Index),
        }
    }

    fn mark(&mut self, expr: ExprId, kind: UseKind) {
        if let ExprKind::Name(r) = &self.input.tree.exprs[expr.0 as usize].kind
            && let Some(uses) = self.uses.undeclared.get_mut(&r.name.name)
            && let Some(found) = uses.iter_mut().find(|u| u.span == r.name.span)
        {
            found.kind = kind;
        }
    }
}

pub(crate) fn map_operands(kind: &mut TermKind, new: impl Fn(TermId) -> TermId) {
    match kind {
        TermKind::Apply(_, list) => {
            for o in list {
                *o = new(*o);
            }
        }
        TermKind::Call(_, list) | TermKind::Element(_, _, list) => {
            for o in list {
                *o = new(*o);
            }
        }
        TermKind::Input(_, argument) => *argument = new(*argument),
        TermKind::Reduce { condition, body, .. } => {
            if let Some(o) = condition {
                *o = new(*o);
            }
            *body = new(*body);
        }
        _ => {}
    }
}
