//! Expressions: precedence by an explicit stack, so that a sum of 100,000 terms is a loop.

use odec_ir::{Span, names};
use pest::iterators::{Pair, Pairs};

use super::Builder;
use crate::diagnostic::{Diagnostic, codes};
use crate::limits::MAX_PRIMES;
use crate::syntax::grammar::Rule;
use crate::syntax::tree::{Binary, Compare, ExprId, ExprKind, Ident, Index, Reference, Unit};

/// An entry of the operator stack.
#[derive(Clone, Copy)]
enum Waiting {
    Minus(Span),
    Infix(Binary, Span),
}

impl Waiting {
    /// The precedence: a minus binds less tightly than `^` and more tightly than `*`, but cannot end an operand before it.
    fn level(self) -> u8 {
        match self {
            Waiting::Infix(Binary::Pow, _) => 3,
            Waiting::Minus(_) => 2,
            Waiting::Infix(Binary::Mul | Binary::Div, _) => 1,
            Waiting::Infix(..) => 0,
        }
    }
}

impl Builder<'_> {
    /// `expr`
    pub(super) fn expr(&mut self, pair: Pair<'_, Rule>) -> ExprId {
        let span = self.span(&pair);
        match pair.into_inner().next() {
            Some(inner) if inner.as_rule() == Rule::conditional => self.conditional(inner),
            Some(inner) => self.logic(inner),
            None => self.nothing(span),
        }
    }

    /// The grammar permits no empty expression; NaN would keep the tree complete.
    fn nothing(&mut self, span: Span) -> ExprId {
        self.push(ExprKind::Number(f64::NAN), span)
    }

    fn conditional(&mut self, pair: Pair<'_, Rule>) -> ExprId {
        let end = self.span(&pair).end;
        let mut parts = Vec::new();
        let mut starts = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::if_ => starts.push(self.span(&part)),
                Rule::expr => parts.push(self.expr(part)),
                Rule::logic => parts.push(self.logic(part)),
                _ => {}
            }
        }
        let Some(mut value) = parts.pop() else { return self.nothing(Span::new(end as usize, end as usize)) };
        while let (Some(then), Some(condition), Some(start)) = (parts.pop(), parts.pop(), starts.pop()) {
            let span = Span { end, ..start };
            value = self.push(ExprKind::If(condition, then, value), span);
        }
        value
    }

    /// `logic`: `or` has the lowest precedence, then `and`, then `not`.
    pub(super) fn logic(&mut self, pair: Pair<'_, Rule>) -> ExprId {
        let span = self.span(&pair);
        let mut nots: Vec<Span> = Vec::new();
        let mut all_or: Option<(ExprId, Span)> = None;
        let mut all_and: Option<(ExprId, Span)> = None;
        let mut value = None;
        for part in pair.into_inner() {
            let here = self.span(&part);
            match part.as_rule() {
                Rule::negation => nots.push(here),
                Rule::and | Rule::or => {
                    let mut left = self.join(Binary::And, all_and.take(), value.take());
                    if part.as_rule() == Rule::or {
                        left = self.join(Binary::Or, all_or.take(), left);
                        all_or = left.map(|left| (left, here));
                    } else {
                        all_and = left.map(|left| (left, here));
                    }
                }
                Rule::comparison => {
                    let mut operand = self.comparison(part);
                    while let Some(not) = nots.pop() {
                        operand = self.push(ExprKind::Not(operand), not.to(self.span_of(operand)));
                    }
                    value = Some(operand);
                }
                _ => {}
            }
        }
        let last = self.join(Binary::And, all_and, value);
        match self.join(Binary::Or, all_or, last) {
            Some(id) => id,
            None => self.nothing(span),
        }
    }

    fn join(&mut self, operator: Binary, left: Option<(ExprId, Span)>, right: Option<ExprId>) -> Option<ExprId> {
        match (left, right) {
            (Some((left, place)), Some(right)) => Some(self.binary(operator, place, left, right)),
            (_, right) => right,
        }
    }

    fn binary(&mut self, operator: Binary, place: Span, left: ExprId, right: ExprId) -> ExprId {
        let span = self.span_of(left).to(self.span_of(right));
        self.push(ExprKind::Binary(operator, place, left, right), span)
    }

    fn comparison(&mut self, pair: Pair<'_, Rule>) -> ExprId {
        let span = self.span(&pair);
        let mut operands = Vec::new();
        let mut operators: Vec<(Compare, Span)> = Vec::new();
        for part in pair.into_inner() {
            let here = self.span(&part);
            match part.as_rule() {
                Rule::compare => operators.push((comparison_of(part.as_str()), here)),
                _ => operands.push(self.sum(part)),
            }
        }
        self.check_chain(&operators);
        match operands.as_slice() {
            [single] => *single,
            _ => self.push(ExprKind::Comparison(operands, operators), span),
        }
    }

    /// Refuses `a < b > c`, which states nothing about a and c.
    fn check_chain(&mut self, operators: &[(Compare, Span)]) {
        let up = operators.iter().find(|(operator, _)| matches!(operator, Compare::Lt | Compare::Le));
        let down = operators.iter().find(|(operator, _)| matches!(operator, Compare::Gt | Compare::Ge));
        if let (Some(up), Some(down)) = (up, down) {
            let (first, second) = if up.1 < down.1 { (up.1, down.1) } else { (down.1, up.1) };
            self.report(
                Diagnostic::error(&codes::E0123, "a chain of comparisons runs in both directions")
                    .label(second, "the direction changes here")
                    .label(first, "the first comparison")
                    .help("write two comparisons joined by `and`"),
            );
        }
    }

    /// `sum`: operands and operators in a row.
    pub(super) fn sum(&mut self, pair: Pair<'_, Rule>) -> ExprId {
        let span = self.span(&pair);
        let mut values: Vec<ExprId> = Vec::new();
        let mut waiting: Vec<Waiting> = Vec::new();
        for part in pair.into_inner() {
            let here = self.span(&part);
            match part.as_rule() {
                Rule::minus => waiting.push(Waiting::Minus(here)),
                Rule::operator => {
                    let operator = operator_of(part.as_str());
                    let level = Waiting::Infix(operator, here).level();
                    // `^` is right-associative, the others are left-associative
                    let keep =
                        |top: Waiting| if operator == Binary::Pow { top.level() <= level } else { top.level() < level };
                    while let Some(&top) = waiting.last() {
                        if keep(top) {
                            break;
                        }
                        waiting.pop();
                        self.reduce(top, &mut values);
                    }
                    waiting.push(Waiting::Infix(operator, here));
                }
                _ => values.extend(self.operand(part)),
            }
        }
        while let Some(top) = waiting.pop() {
            self.reduce(top, &mut values);
        }
        match values.pop() {
            Some(value) => value,
            None => self.nothing(span),
        }
    }

    fn reduce(&mut self, waiting: Waiting, values: &mut Vec<ExprId>) {
        let Some(right) = values.pop() else { return };
        let value = match waiting {
            Waiting::Minus(place) => self.push(ExprKind::Neg(right), place.to(self.span_of(right))),
            Waiting::Infix(operator, place) => match values.pop() {
                Some(left) => self.binary(operator, place, left, right),
                None => right,
            },
        };
        values.push(value);
    }

    pub(super) fn operand(&mut self, pair: Pair<'_, Rule>) -> Option<ExprId> {
        let span = self.span(&pair);
        let rule = pair.as_rule();
        let id = match rule {
            Rule::measured | Rule::bracketed => {
                let mut inner = pair.into_inner();
                let first = inner.next()?;
                let value = if rule == Rule::measured { self.number(&first) } else { self.group(first) };
                match inner.next() {
                    Some(unit) => self.quantity(value, unit, span),
                    None => value,
                }
            }
            Rule::reduction => self.reduction(pair)?,
            Rule::call => self.call(pair)?,
            Rule::reference => {
                let reference = self.reference(pair);
                self.push(ExprKind::Name(reference), span)
            }
            Rule::table => {
                let values = self.list(pair.into_inner());
                self.push(ExprKind::Table(values), span)
            }
            Rule::text => {
                let text = pair.into_inner().next().map(|body| body.as_str().to_string()).unwrap_or_default();
                self.push(ExprKind::Text(text), span)
            }
            _ => return None,
        };
        Some(id)
    }

    /// A call. The indices of a function of a part in an array, `c[i].f(x)`, come before its arguments, and its name
    /// is then `c[].f`.
    fn call(&mut self, pair: Pair<'_, Rule>) -> Option<ExprId> {
        let span = self.span(&pair);
        let mut inner = pair.into_inner();
        let mut name = self.ident(&inner.next()?);
        let mut arguments = Vec::new();
        for next in inner {
            let place = self.span(&next);
            match next.as_rule() {
                Rule::lead => {
                    name.span = name.span.to(place);
                    for part in next.into_inner() {
                        name.name.push('.');
                        name.name.push_str(&self.ident(&part).name);
                    }
                }
                Rule::indices => {
                    let indices = self.indices(next);
                    name.name.push_str(&names::empty_brackets(indices.len()));
                    for index in indices {
                        arguments.push(match index {
                            Index::At(at) => at,
                            Index::In(_, first, _) | Index::Range(first, _) => {
                                let report =
                                    Diagnostic::error(&codes::E0118, "a function belongs to one part of an array")
                                        .label(place, "a range of parts")
                                        .help("write one index, for example `c[1].f(x)` or `c[i].f(x)`");
                                self.report(report);
                                first
                            }
                        });
                    }
                }
                _ => arguments.extend(self.list(next.into_inner())),
            }
        }
        Some(self.push(ExprKind::Call(name, arguments), span))
    }

    fn list(&mut self, pairs: Pairs<'_, Rule>) -> Vec<ExprId> {
        pairs.map(|pair| self.expr(pair)).collect()
    }

    fn number(&mut self, pair: &Pair<'_, Rule>) -> ExprId {
        let span = self.span(pair);
        let text = pair.as_str().replace('−', "-");
        // the grammar accepts only what Rust parses as well: digits, one dot, an exponent
        let value: f64 = text.parse().unwrap_or(f64::NAN);
        if !value.is_finite() {
            self.report(
                Diagnostic::error(&codes::E0114, format!("`{text}` exceeds the range of double precision"))
                    .label(span, "the largest is about 1.8e308")
                    .help("write `inf` for no bound"),
            );
        }
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        if value == 0.0 && mantissa.contains(|c: char| ('1'..='9').contains(&c)) {
            self.report(
                Diagnostic::warning(&codes::W0102, format!("`{text}` is so small that it becomes 0"))
                    .label(span, "the smallest positive number is about 4.9e-324"),
            );
        }
        self.push(ExprKind::Number(value), span)
    }

    pub(super) fn group(&mut self, pair: Pair<'_, Rule>) -> ExprId {
        let span = self.span(&pair);
        let mut values = self.list(pair.into_inner());
        match (values.len(), values.pop()) {
            (1, Some(value)) => {
                if let Some(expr) = self.tree.exprs.get_mut(value.0 as usize) {
                    expr.span = span;
                }
                value
            }
            (_, last) => {
                values.extend(last);
                self.push(ExprKind::Tuple(values), span)
            }
        }
    }

    /// A number with a unit; at the end of a declared item the unit is the item's.
    fn quantity(&mut self, value: ExprId, unit: Pair<'_, Rule>, span: Span) -> ExprId {
        let unit = self.unit(unit);
        if let Some(whole) = self.value.filter(|whole| whole.end == span.end) {
            // brackets around the whole value are unambiguous
            if whole.start == span.start {
                self.units.clear();
            }
            self.trailing = Some(unit);
            return value;
        }
        self.units.push(unit.span);
        self.push(ExprKind::Quantity(value, unit), span)
    }

    pub(super) fn unit(&mut self, pair: Pair<'_, Rule>) -> Unit {
        let span = self.span(&pair);
        let text = pair.into_inner().next().map(|text| text.as_str().trim().to_string()).unwrap_or_default();
        Unit { text, span }
    }

    fn reduction(&mut self, pair: Pair<'_, Rule>) -> Option<ExprId> {
        let span = self.span(&pair);
        let mut inner = pair.into_inner();
        let name = self.ident(&inner.next()?);
        let mut binders = Vec::new();
        let (mut condition, mut body) = (None, None);
        for part in inner.next()?.into_inner() {
            match part.as_rule() {
                Rule::binder => {
                    let mut parts = part.into_inner();
                    let index = self.ident(&parts.next()?);
                    let range = parts.find(|part| part.as_rule() == Rule::range);
                    let range = range.and_then(|range| self.range(range));
                    binders.push((index, range));
                }
                Rule::logic => condition = Some(self.logic(part)),
                Rule::expr => body = Some(self.expr(part)),
                _ => {}
            }
        }
        Some(self.push(ExprKind::Reduce(name, binders, condition, body?), span))
    }

    /// `range`
    pub(super) fn range(&mut self, pair: Pair<'_, Rule>) -> Option<(ExprId, ExprId)> {
        let mut inner = pair.into_inner();
        let from = self.sum(inner.next()?);
        let to = self.sum(inner.next()?);
        Some((from, to))
    }

    /// `reference`
    pub(super) fn reference(&mut self, pair: Pair<'_, Rule>) -> Reference {
        let span = self.span(&pair);
        let name = Ident { name: String::new(), span };
        let mut out =
            Reference { name, indices: Vec::new(), primes: 0, path: Vec::new(), lead: 0, brackets: Vec::new(), span };
        let mut primes = 0usize;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => out.name = self.ident(&part),
                Rule::lead => {
                    out.lead += 1;
                    out.path.extend(part.into_inner().map(|name| self.ident(&name)));
                }
                Rule::tail => out.path.extend(part.into_inner().map(|name| self.ident(&name))),
                Rule::prime => primes += if part.as_str() == "″" { 2 } else { 1 },
                Rule::indices => out.indices = self.indices(part),
                Rule::member => self.member(part, &mut out, &mut primes),
                _ => {}
            }
        }
        if out.indices.is_empty() && primes == 0 {
            out.lead = 0;
        }
        if primes > MAX_PRIMES {
            self.tree.broken.push(out.name.name.clone());
            self.report(
                Diagnostic::error(
                    &codes::E0104,
                    format!("{primes} primes on one name exceed the limit of {MAX_PRIMES}"),
                )
                .label(span, "a derivative of this order"),
            );
        }
        out.primes = primes.min(MAX_PRIMES) as u8;
        out
    }

    /// `.u[j]'` after a bracket.
    fn member(&mut self, pair: Pair<'_, Rule>, out: &mut Reference, primes: &mut usize) {
        if out.brackets.is_empty() && !out.indices.is_empty() {
            out.brackets.push((out.lead, out.indices.len()));
        }
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => out.path.push(self.ident(&part)),
                Rule::prime => {
                    *primes += if part.as_str() == "″" { 2 } else { 1 };
                    out.lead = out.path.len();
                }
                Rule::indices => {
                    let more = self.indices(part);
                    out.brackets.push((out.path.len(), more.len()));
                    out.indices.extend(more);
                    out.lead = out.path.len();
                }
                _ => {}
            }
        }
    }

    /// `indices`
    pub(super) fn indices(&mut self, pair: Pair<'_, Rule>) -> Vec<Index> {
        pair.into_inner().filter_map(|index| self.index(index)).collect()
    }

    pub(super) fn index(&mut self, pair: Pair<'_, Rule>) -> Option<Index> {
        let mut inner = pair.into_inner();
        let first = inner.next()?;
        if first.as_rule() == Rule::name {
            let name = self.ident(&first);
            let (from, to) = self.range(inner.find(|part| part.as_rule() == Rule::range)?)?;
            return Some(Index::In(name, from, to));
        }
        let from = self.sum(first);
        Some(match inner.next() {
            Some(to) => Index::Range(from, self.sum(to)),
            None => Index::At(from),
        })
    }
}

fn operator_of(text: &str) -> Binary {
    match text {
        "+" => Binary::Add,
        "-" | "−" => Binary::Sub,
        "/" => Binary::Div,
        "^" | "**" => Binary::Pow,
        _ => Binary::Mul,
    }
}

fn comparison_of(text: &str) -> Compare {
    match text {
        "<" => Compare::Lt,
        "<=" | "≤" => Compare::Le,
        ">" => Compare::Gt,
        ">=" | "≥" => Compare::Ge,
        "==" => Compare::Eq,
        _ => Compare::Ne,
    }
}
