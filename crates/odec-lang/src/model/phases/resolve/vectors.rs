//! Vectors: their operations, and the functions that accept them.

use crate::diagnostic::codes;
use odec_ir::Span;
use odec_ir::builtin as table;

use super::terms::Value;
use super::{Allowed, Resolver};
use crate::model::phases::conditions;
use crate::model::phases::names::FunctionItem;
use crate::model::phases::shapes::{COMPONENTS, Dim};
use crate::model::{self, TermId};
use crate::report::error;
use crate::syntax::tree::{Binary, ExprId, ExprKind, Ident};

/// Longest value that a help text repeats, in bytes.
const MAX_REPEATED: usize = 24;

fn kind(dim: Dim) -> &'static str {
    match dim {
        0 => "a number",
        2 => "a vector with two components",
        4 => "a vector with four components",
        _ => "a vector",
    }
}

/// A number of components in words.
fn count(dim: Dim) -> &'static str {
    match dim {
        2 => "two components",
        4 => "four components",
        _ => "three components",
    }
}

/// `, or (p.x*q.x, p.y*q.y) component by component`, if both are names.
fn by_components(sign: &str, (p, q): (&str, &str), dim: Dim) -> Option<String> {
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let parts = COMPONENTS.iter().take(usize::from(dim)).map(|c| format!("{p}.{c}{sign}{q}.{c}"));
    (is_name(p) && is_name(q))
        .then(|| format!(", or `({})` component by component", parts.collect::<Vec<_>>().join(", ")))
}

impl<'a> Resolver<'a> {
    /// True if an error inside this location has been reported, so that its kind is unknown.
    fn already_wrong(&self, span: Span) -> bool {
        let inside = |s: Span| span.start <= s.start && s.end <= span.end;
        self.reports.list().iter().any(|d| d.is_error() && d.span().is_some_and(inside))
            || self.uses.undeclared.values().flatten().any(|u| inside(u.span))
    }

    pub(super) fn vector_for_number(&mut self, span: Span) {
        if self.already_wrong(span) {
            return;
        }
        let report = error(&codes::E0527, "this must be a number, but it is a vector", span, "a vector");
        let text = self.input.text(span);
        if let Some((declared, help)) = self.list_as_vector(text) {
            self.say(report.label(declared, "one vector for each element").help(help));
            return;
        }
        let text = if crate::syntax::is_operand(text) && !text.ends_with(')') { text } else { "p" };
        self.say(report.help(format!("write its length, `norm({text})`, or a component, `{text}.x`")));
    }

    /// A value that does not have the shape of its target.
    pub(super) fn not_this_vector(&mut self, span: Span, found: Dim, expected: Dim) {
        if self.already_wrong(span) {
            return;
        }
        if found > 0 && expected > 0 {
            let headline = format!("a vector with {} is assigned to a vector with {}", count(found), count(expected));
            let tuple = self.input.text(span).starts_with('(');
            let report = error(&codes::E0527, headline, span, count(found));
            self.say(report.help(if tuple {
                format!("write {}", count(expected))
            } else {
                format!("write all components: `({})`", vec!["..."; usize::from(expected)].join(", "))
            }));
            return;
        }
        let headline = format!("{} is assigned to {}", kind(found), kind(expected));
        let report = error(&codes::E0527, headline, span, kind(found));
        let text = self.input.text(span);
        if let Some((declared, help)) = self.list_as_vector(text).filter(|_| expected == 0) {
            self.say(report.label(declared, "one vector for each element").help(help));
            return;
        }
        let with = |place: usize| {
            let parts = (0..usize::from(expected)).map(|c| if c == place { text } else { "0" });
            format!("`({})`", parts.collect::<Vec<_>>().join(", "))
        };
        let last = usize::from(expected).saturating_sub(1);
        self.say(match expected {
            0 => report.help("use a component, `p.x`, or `norm(p)`"),
            _ if text.parse() == Ok(0.0) => report.help(format!("write all components: {}", with(0))),
            _ if text.len() <= MAX_REPEATED && !text.contains('\n') => {
                report.help(format!("write all components, for example {} or {}", with(0), with(last)))
            }
            _ => report.help("write all components in brackets, with commas between them"),
        });
    }

    /// `param k[i] = (1, 2, 3)` in a text that must be a number: the place of the declaration, and what to write there.
    fn list_as_vector(&self, text: &str) -> Option<(Span, String)> {
        let items = self.input.tree.statements.iter().flat_map(|statement| statement.kind.items());
        let mut arrays = items.filter(|item| !item.target.indices.is_empty());
        let words = |name: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
        arrays.find_map(|item| {
            let value = item.value?;
            let tuple = matches!(self.input.tree.exprs[value.0 as usize].kind, ExprKind::Tuple(ref list) if list.len() > 1);
            let list = self.input.text(self.input.span_of(value)).trim_matches(['(', ')']);
            (tuple && words(&item.target.name.name)).then(|| {
                let help = format!(
                    "round brackets make one vector for each element; write a list of values in square brackets: `[{list}]`"
                );
                (item.target.span, help)
            })
        })
    }

    /// Two operands of different kinds.
    pub(super) fn mixed(&mut self, a: ExprId, b: ExprId, of_a: Dim, of_b: Dim, rule: &str) {
        let (first, second) = (self.input.span_of(a), self.input.span_of(b));
        if self.already_wrong(first) || self.already_wrong(second) {
            return;
        }
        let dim = of_a.max(of_b);
        let report = error(&codes::E0527, rule, first, kind(of_a)).label(second, kind(of_b));
        let zeros = vec!["0"; usize::from(dim)].join(", ");
        self.say(report.help(format!("write a vector on both sides, `({zeros})`, or use a component: `p.x`")));
    }

    pub(super) fn binary(&mut self, op: Binary, a: ExprId, b: ExprId, span: Span) -> Value {
        let (left, right) = (self.value_of(a), self.value_of(b));
        let name = match op {
            Binary::Add => "add",
            Binary::Sub => "sub",
            Binary::Mul => "mul",
            Binary::Div => "div",
            Binary::Pow => "pow",
            Binary::And => "and",
            Binary::Or => "or",
        };
        let dim = match (op, left.dim(), right.dim()) {
            (_, 0, 0) => 0,
            (Binary::Add | Binary::Sub, m, n) if m == n => m,
            (Binary::Add | Binary::Sub, m, n) => {
                self.mixed(a, b, m, n, "you can only add vectors to vectors");
                return self.nothing(span);
            }
            (Binary::Mul, 0, n) => n,
            (Binary::Mul | Binary::Div, m, 0) => m,
            (Binary::Mul, 4, 4) => {
                let place = [a, b].map(|e| self.input.text(self.input.span_of(e)));
                self.product_of_quaternions(place, span);
                return self.nothing(span);
            }
            (Binary::Mul, m, n) if m != n => {
                let headline = format!("vectors with {} and {} have no product", count(m), count(n));
                self.say(error(&codes::E0528, headline, span, "two vectors").help("multiply vectors of one size"));
                return self.nothing(span);
            }
            (Binary::Mul, m, _) => {
                let (p, q) = (self.input.text(self.input.span_of(a)), self.input.text(self.input.span_of(b)));
                let report = error(&codes::E0528, "the product of two vectors is ambiguous", span, "two vectors");
                let each = by_components("*", (p, q), m);
                self.say(report.help(match (m, each) {
                    (3, Some(each)) => {
                        format!("write `dot({p}, {q})` for a number, `cross({p}, {q})` for a vector{each}")
                    }
                    (3, None) => format!("write `dot({p}, {q})` for a number, or `cross({p}, {q})` for a vector"),
                    (_, each) => format!("write `dot({p}, {q})` for a number{}", each.unwrap_or_default()),
                }));
                return self.nothing(span);
            }
            (Binary::Pow, _, 0) => {
                let p = self.input.text(self.input.span_of(a));
                let report = error(&codes::E0528, "a vector has no powers", self.input.span_of(a), "a vector");
                let by = self.input.text(self.input.span_of(b));
                let by = if crate::syntax::is_operand(by) { by.to_owned() } else { format!("({by})") };
                self.say(report.help(match by.as_str() {
                    "2" => format!("write its square as `dot({p}, {p})`"),
                    _ => format!("write a power of its length as `norm({p})^{by}`"),
                }));
                return self.nothing(span);
            }
            (_, _, n) => {
                let place = self.input.span_of(if n > 0 { b } else { a });
                let report = match op {
                    Binary::Div => {
                        let above = self.input.text(self.input.span_of(a));
                        let each = by_components("/", (above, self.input.text(place)), n);
                        let each = each.filter(|_| left.dim() == n).unwrap_or_default();
                        error(&codes::E0528, "you cannot divide by a vector", place, "a vector")
                            .help(format!("divide by its length, `norm({})`{each}", self.input.text(place)))
                    }
                    _ => error(&codes::E0527, "this must be a number, but it is a vector", place, "a vector")
                        .help("use a component, `p.x`, or `norm(p)`"),
                };
                self.say(report);
                return self.nothing(span);
            }
        };
        if matches!(op, Binary::And | Binary::Or) && self.number_as_condition(name, a, b) {
            return self.nothing(span);
        }
        if let (Binary::And | Binary::Or, Value::Scalar(left)) = (op, left) {
            return Value::Scalar(self.chain(name, left, right.component(0), span));
        }
        self.each(dim, span, |b, c| b.apply(name, &[left.component(c), right.component(c)], span))
    }

    /// Refuses `m == 1 or 2`, in which the number would count as true. 0 and 1 are the truth values themselves.
    fn number_as_condition(&mut self, name: &str, a: ExprId, b: ExprId) -> bool {
        let tree = self.input.tree;
        let kind = |id: ExprId| &tree.exprs[id.0 as usize].kind;
        let is_number = |id: &ExprId| matches!(kind(*id), ExprKind::Number(x) if *x != 0.0 && *x != 1.0);
        let Some(number) = [b, a].into_iter().find(is_number) else { return false };
        let text = self.input.text(self.input.span_of(number));
        let headline = format!("`{text}` is a number, not a condition");
        let report = error(&codes::E0541, headline, self.input.span_of(number), "this would always count as true");
        // the comparison just before it: `m == 1 or m == 2 or 3`
        let mut before = a;
        while let ExprKind::Binary(Binary::And | Binary::Or, _, _, last) = kind(before) {
            before = *last;
        }
        let compared = match kind(before) {
            ExprKind::Comparison(operands, signs) if number == b => match (&operands[..], &signs[..]) {
                ([left, _], [(_, sign)]) => Some((self.input.text(self.input.span_of(*left)), self.input.text(*sign))),
                _ => None,
            },
            _ => None,
        };
        self.say(match compared {
            Some((left, sign)) => {
                let whole = self.input.text(self.input.span_of(before));
                report.help(format!("repeat the comparison: `{whole} {name} {left} {sign} {text}`"))
            }
            None => report.help(format!("compare it with a quantity: `x == {text}`")),
        });
        true
    }

    /// `left and right`. `a and b and c` is `a and (b and c)` where a or b is a condition on indices, so that each of
    /// them guards all operands after it.
    fn chain(&mut self, name: &str, left: TermId, right: TermId, span: Span) -> TermId {
        let parts = match table::find(name) {
            Some(op) => conditions::parts(&self.model, op, left),
            None => Vec::new(),
        };
        if parts.len() < 2 || !parts.iter().any(|&part| conditions::decides(&self.model, part)) {
            return self.apply(name, &[left, right], span);
        }
        parts.into_iter().rev().fold(right, |rest, part| {
            let span = self.model.term(part).span.to(self.model.term(rest).span);
            self.apply(name, &[part, rest], span)
        })
    }

    /// `dot`, `cross`, `norm`.
    pub(super) fn vector_call(&mut self, name: &'a Ident, arguments: &'a [ExprId], span: Span) -> Option<Value> {
        let expected = match name.name.as_str() {
            "dot" | "cross" => 2,
            "norm" => 1,
            _ => return None,
        };
        if arguments.len() != expected {
            self.wrong_count(name, expected, arguments, None, span);
            return Some(self.nothing(span));
        }
        let values: Vec<Value> = arguments.iter().map(|&a| self.value_of(a)).collect();
        for (&e, value) in arguments.iter().zip(&values) {
            if value.dim() == 0 || value.dim() != values[0].dim() {
                if self.already_wrong(self.input.span_of(e)) {
                    return Some(self.nothing(span));
                }
                let wanted = if value.dim() == 0 {
                    values.iter().map(|v| v.dim()).max().filter(|&d| d > 0).unwrap_or(3)
                } else {
                    values[0].dim()
                };
                let headline = format!("`{}` receives {}, but takes {}", name.name, kind(value.dim()), kind(wanted));
                let report = error(&codes::E0527, headline, self.input.span_of(e), kind(value.dim()));
                self.say(report.help(match name.name.as_str() {
                    "norm" => "for a number use `abs(x)`; write a vector as `(x, y, z)`",
                    _ => "write a vector as `(x, y, z)`; multiply numbers with `*`",
                }));
                return Some(self.nothing(span));
            }
        }
        let dim = usize::from(values[0].dim());
        if name.name == "cross" {
            let (a, b) = (values[0], values[1]);
            if dim != 3 {
                let found = if dim == 2 { "two components" } else { "four components" };
                let report = error(&codes::E0527, "`cross` takes vectors with three components", span, found);
                self.say(if dim == 2 {
                    report.help("write `a.x*b.y - a.y*b.x`")
                } else {
                    report.help("choose three of the components: `cross((a.x, a.y, a.z), (b.x, b.y, b.z))`")
                });
                return Some(self.nothing(span));
            }
            return Some(self.each(3, span, |m, c| {
                let (j, k) = ((c + 1) % 3, (c + 2) % 3);
                let first = m.apply("mul", &[a.component(j), b.component(k)], span);
                let second = m.apply("mul", &[a.component(k), b.component(j)], span);
                m.apply("sub", &[first, second], span)
            }));
        }
        let (a, b) = (values[0], values[values.len() - 1]);
        let mut total: Option<TermId> = None;
        for c in 0..dim {
            let product = self.apply("mul", &[a.component(c), b.component(c)], span);
            total = Some(match total {
                None => product,
                Some(before) => self.apply("add", &[before, product], span),
            });
        }
        let total = total.unwrap_or(TermId(0));
        Some(Value::Scalar(if name.name == "norm" { self.apply("sqrt", &[total], span) } else { total }))
    }

    /// The number of components of the result of a call.
    pub(super) fn called_shape(&mut self, function: usize, shapes: &[Dim]) -> Dim {
        self.shapes.call_shape(function, shapes, &mut self.instances.calls, 0)
    }

    /// The function of the model that a call with arguments of these shapes means: the first of its components.
    pub(super) fn instance(&mut self, function: usize, shapes: &[Dim], dim: Dim) -> usize {
        let key = (function, shapes.to_vec());
        if let Some(&first) = self.instances.firsts.get(&key) {
            return first;
        }
        // Functions of numbers are the functions themselves, in the order of the text.
        let first = if dim == 0 && shapes.iter().all(|&s| s == 0) { function } else { self.model.functions.len() };
        if first != function {
            let declared = self.model.functions[function].clone();
            for letter in COMPONENTS.iter().take(usize::from(dim.max(1))) {
                let mut copy = declared.clone();
                if dim > 0 {
                    copy.name = format!("{}.{}", declared.name, letter);
                }
                self.model.functions.push(copy);
            }
        }
        self.instances.firsts.insert(key.clone(), first);
        self.instances.pending.push(key);
        first
    }

    /// Resolves the bodies of all called functions, for the shapes of their calls; functions without calls are
    /// resolved for numbers.
    pub(super) fn resolve_functions(&mut self, functions: &[FunctionItem<'a>]) {
        self.resolve_pending(functions);
        for (function, &open) in self.model.functions.iter_mut().zip(&self.functions.open) {
            function.put_in = open;
        }
        let called: std::collections::HashSet<usize> = self.instances.firsts.keys().map(|k| k.0).collect();
        for (other, f) in functions.iter().enumerate() {
            if called.contains(&other) || self.uses.functions.contains(&other) {
                continue;
            }
            // A function of vectors without calls: the types of its arguments are unknown.
            let shapes = vec![0; f.arguments.len()];
            let before = self.reports.list().len();
            self.instances.firsts.insert((other, shapes.clone()), other);
            self.resolve_instance(functions, other, &shapes);
            self.reports.retain_after(before, |d| ![&codes::E0527, &codes::E0528, &codes::E0532].contains(&d.code));
            self.resolve_pending(functions);
        }
    }

    fn resolve_pending(&mut self, functions: &[FunctionItem<'a>]) {
        while let Some((function, shapes)) = self.instances.pending.pop() {
            self.resolve_instance(functions, function, &shapes);
        }
    }

    fn resolve_instance(&mut self, functions: &[FunctionItem<'a>], function: usize, shapes: &[Dim]) {
        let f = &functions[function];
        let Some(&first) = self.instances.firsts.get(&(function, shapes.to_vec())) else { return };
        let dim = self.called_shape(function, shapes);
        let place = Allowed::Function(f.arguments);
        self.instances.arguments = shapes.to_vec();
        let bodies = self.within_scope(None, |b| b.bodies(f.body, place, dim));
        let mut names = Vec::new();
        for (argument, &shape) in f.arguments.iter().zip(shapes) {
            match shape {
                0 => names.push(argument.name.clone()),
                n => names.extend(COMPONENTS[..usize::from(n)].iter().map(|c| format!("{}.{c}", argument.name))),
            }
        }
        for (c, value) in bodies.into_iter().enumerate() {
            let target: &mut model::Function = &mut self.model.functions[first + c];
            target.value = value;
            target.arguments.clone_from(&names);
        }
        if self.functions.open[function] {
            let value = self.number_body(0.0, f.name.span);
            self.model.functions[first].value = value;
        }
    }
}
