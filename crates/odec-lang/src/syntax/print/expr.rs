//! Expressions, with an explicit stack: chains of 100,000 operators need no recursion.

use super::{Printer, Style};
use crate::syntax::tree::{Binary, Compare, ExprId, ExprKind, Index, Reference};

// Ascending precedence; an operand of a lower precedence than required gets brackets.
const ANY: u8 = 0;
pub(super) const LOGIC: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const COMPARISON: u8 = 4;
pub(super) const SUM: u8 = 5;
const PRODUCT: u8 = 6;
pub(super) const MINUS: u8 = 7;
const POWER: u8 = 8;
const ATOM: u8 = 9;
/// Brackets around anything.
const GROUP: u8 = 10;

enum Part {
    Text(String),
    Word(&'static str),
    Expr(ExprId, u8),
}

impl Printer<'_> {
    /// Writes an expression where at least precedence `level` is needed.
    pub(super) fn expr(&mut self, id: ExprId, level: u8) {
        let mut stack = vec![Part::Expr(id, level)];
        while let Some(part) = stack.pop() {
            match part {
                Part::Text(text) => self.put(&text),
                Part::Word(text) => self.put(text),
                Part::Expr(id, level) => {
                    let mut parts = match self.style {
                        Style::Source => self.source(id, level),
                        Style::Prefix => self.prefix(id),
                    };
                    stack.extend(parts.drain(..).rev());
                }
            }
        }
    }

    /// `[i, j]`, or nothing.
    pub(super) fn indices(&mut self, indices: &[Index]) {
        let parts = bracketed(&indices.iter().collect::<Vec<_>>());
        self.parts(parts);
    }

    fn parts(&mut self, parts: Vec<Part>) {
        for part in parts {
            match part {
                Part::Text(text) => self.put(&text),
                Part::Word(text) => self.put(text),
                Part::Expr(id, level) => self.expr(id, level),
            }
        }
    }

    /// A name with its subscripts, primes and component.
    pub(super) fn reference(&mut self, reference: &Reference) {
        self.parts(parts_of(reference));
    }

    fn kind(&self, id: ExprId) -> Option<&ExprKind> {
        self.tree.exprs.get(id.0 as usize).map(|expr| &expr.kind)
    }

    fn source(&self, id: ExprId, level: u8) -> Vec<Part> {
        let Some(kind) = self.kind(id) else { return Vec::new() };
        if level_of(kind) < level {
            return vec![Part::Word("("), Part::Expr(id, ANY), Part::Word(")")];
        }
        match kind {
            ExprKind::Number(value) => vec![Part::Text(number(*value))],
            ExprKind::Quantity(value, unit) => {
                let plain = matches!(self.kind(*value), Some(ExprKind::Number(_) | ExprKind::Tuple(_)));
                let value = Part::Expr(*value, if plain { ANY } else { GROUP });
                vec![value, Part::Text(format!(" [{}]", unit.text))]
            }
            ExprKind::Name(reference) => parts_of(reference),
            ExprKind::Neg(value) => vec![Part::Word("-"), Part::Expr(*value, MINUS)],
            ExprKind::Not(value) => vec![Part::Word("not "), Part::Expr(*value, NOT)],
            ExprKind::Binary(operator, _, left, right) => {
                let (word, l, r) = match operator {
                    Binary::Or => (" or ", LOGIC, AND),
                    Binary::And => (" and ", AND, NOT),
                    Binary::Add => (" + ", SUM, PRODUCT),
                    Binary::Sub => (" - ", SUM, PRODUCT),
                    Binary::Mul => ("*", PRODUCT, MINUS),
                    Binary::Div => ("/", PRODUCT, MINUS),
                    // right-associative, and permits a minus in the exponent
                    Binary::Pow => ("^", ATOM, MINUS),
                };
                vec![Part::Expr(*left, l), Part::Word(word), Part::Expr(*right, r)]
            }
            ExprKind::Comparison(operands, operators) => {
                let mut parts = Vec::new();
                for (i, operand) in operands.iter().enumerate() {
                    if let Some((operator, _)) = i.checked_sub(1).and_then(|i| operators.get(i)) {
                        parts.push(Part::Text(format!(" {} ", sign(*operator))));
                    }
                    parts.push(Part::Expr(*operand, SUM));
                }
                parts
            }
            ExprKind::If(condition, then, otherwise) => vec![
                Part::Word("if "),
                Part::Expr(*condition, LOGIC),
                Part::Word(" then "),
                Part::Expr(*then, ANY),
                Part::Word(" else "),
                Part::Expr(*otherwise, ANY),
            ],
            ExprKind::Call(name, arguments) => call(&name.name, arguments),
            ExprKind::Reduce(name, binders, condition, body) => {
                let mut parts = vec![Part::Text(format!("{}(", name.name))];
                for (i, (index, range)) in binders.iter().enumerate() {
                    parts.push(Part::Text(format!("{}{}", if i > 0 { ", " } else { "" }, index.name)));
                    if let Some((from, to)) = range {
                        parts.extend([Part::Word(" in "), Part::Expr(*from, SUM)]);
                        parts.extend([Part::Word(".."), Part::Expr(*to, SUM)]);
                    }
                }
                if let Some(condition) = condition {
                    parts.extend([Part::Word(" where "), Part::Expr(*condition, LOGIC)]);
                }
                parts.extend([Part::Word(": "), Part::Expr(*body, ANY), Part::Word(")")]);
                parts
            }
            ExprKind::Tuple(values) => list("(", values, ")"),
            ExprKind::Table(values) => list("[", values, "]"),
            ExprKind::Text(text) => vec![Part::Text(format!("\"{text}\""))],
        }
    }

    fn prefix(&self, id: ExprId) -> Vec<Part> {
        let Some(kind) = self.kind(id) else { return Vec::new() };
        let form = |head: &str, operands: &[ExprId]| {
            let mut parts = vec![Part::Text(format!("({head}"))];
            parts.extend(operands.iter().flat_map(|operand| [Part::Word(" "), Part::Expr(*operand, ANY)]));
            parts.push(Part::Word(")"));
            parts
        };
        match kind {
            ExprKind::Quantity(value, unit) => {
                vec![Part::Word("(unit "), Part::Expr(*value, ANY), Part::Text(format!(" [{}])", unit.text))]
            }
            ExprKind::Neg(value) => form("neg", &[*value]),
            ExprKind::Not(value) => form("not", &[*value]),
            ExprKind::Binary(operator, _, left, right) => form(word(*operator), &[*left, *right]),
            ExprKind::Comparison(operands, operators) => {
                let signs: Vec<&str> = operators.iter().map(|(operator, _)| sign(*operator)).collect();
                form(&signs.join(" "), operands)
            }
            ExprKind::If(condition, then, otherwise) => form("if", &[*condition, *then, *otherwise]),
            ExprKind::Call(name, arguments) => form(&name.name, arguments),
            ExprKind::Tuple(values) => form("tuple", values),
            ExprKind::Table(values) => form("table", values),
            ExprKind::Number(_) | ExprKind::Name(_) | ExprKind::Reduce(..) | ExprKind::Text(_) => self.source(id, ANY),
        }
    }

    /// True if an expression at this place ends with the unit of a number.
    pub(super) fn ends_with_unit(&self, mut id: ExprId) -> bool {
        while let Some(kind) = self.kind(id) {
            id = match kind {
                ExprKind::Quantity(..) => return true,
                ExprKind::Neg(value) | ExprKind::Not(value) | ExprKind::If(_, _, value) => *value,
                ExprKind::Binary(_, _, _, right) => *right,
                ExprKind::Comparison(operands, _) => match operands.last() {
                    Some(last) => *last,
                    None => return false,
                },
                _ => return false,
            };
        }
        false
    }

    /// True if any number in an expression has a unit.
    pub(super) fn has_unit(&self, id: ExprId) -> bool {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            match self.kind(id) {
                Some(ExprKind::Quantity(..)) => return true,
                Some(ExprKind::Neg(value) | ExprKind::Not(value)) => stack.push(*value),
                Some(ExprKind::If(a, b, c)) => stack.extend([*a, *b, *c]),
                Some(ExprKind::Binary(_, _, a, b)) => stack.extend([*a, *b]),
                Some(
                    ExprKind::Comparison(values, _)
                    | ExprKind::Call(_, values)
                    | ExprKind::Tuple(values)
                    | ExprKind::Table(values),
                ) => stack.extend(values),
                Some(ExprKind::Reduce(_, binders, condition, body)) => {
                    stack.extend(binders.iter().flat_map(|(_, range)| range.iter().flat_map(|(a, b)| [*a, *b])));
                    stack.extend(condition);
                    stack.push(*body);
                }
                Some(ExprKind::Name(_) | ExprKind::Number(_) | ExprKind::Text(_)) | None => {}
            }
        }
        false
    }
}

fn level_of(kind: &ExprKind) -> u8 {
    match kind {
        ExprKind::If(..) => ANY,
        ExprKind::Binary(Binary::Or, ..) => LOGIC,
        ExprKind::Binary(Binary::And, ..) => AND,
        ExprKind::Not(_) => NOT,
        ExprKind::Comparison(..) => COMPARISON,
        ExprKind::Binary(Binary::Add | Binary::Sub, ..) => SUM,
        ExprKind::Binary(Binary::Mul | Binary::Div, ..) => PRODUCT,
        ExprKind::Neg(_) => MINUS,
        ExprKind::Binary(Binary::Pow, ..) => POWER,
        _ => ATOM,
    }
}

/// A call. In `c[].f`, a function of a part in an array, the indices come before the arguments.
fn call(name: &str, arguments: &[ExprId]) -> Vec<Part> {
    let (mut parts, mut used) = (Vec::new(), 0);
    for (k, piece) in name.split(']').enumerate() {
        if k > 0 {
            parts.push(Part::Word("]"));
        }
        let (word, commas) = piece.split_once('[').map_or((piece, None), |(word, rest)| (word, Some(rest)));
        parts.push(Part::Text(word.to_owned()));
        if let Some(commas) = commas {
            let count = commas.len() + 1;
            let mut indices = list("[", arguments.get(used..used + count).unwrap_or_default(), "]");
            indices.pop();
            parts.extend(indices);
            used += count;
        }
    }
    parts.extend(list("(", arguments.get(used..).unwrap_or_default(), ")"));
    parts
}

fn list(open: &'static str, values: &[ExprId], close: &'static str) -> Vec<Part> {
    let mut parts = vec![Part::Word(open)];
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            parts.push(Part::Word(", "));
        }
        parts.push(Part::Expr(*value, ANY));
    }
    parts.push(Part::Word(close));
    parts
}

fn parts_of(reference: &Reference) -> Vec<Part> {
    let plain = [(reference.lead, reference.indices.len())];
    let brackets = if reference.brackets.is_empty() { &plain[..] } else { &reference.brackets };
    let mut parts = Vec::new();
    let mut indices = reference.indices.iter();
    for (k, name) in std::iter::once(&reference.name).chain(&reference.path).enumerate() {
        parts.push(Part::Text(format!("{}{}", if k > 0 { "." } else { "" }, name.name)));
        if let Some((_, count)) = brackets.iter().find(|bracket| bracket.0 == k) {
            let those: Vec<&Index> = indices.by_ref().take(*count).collect();
            parts.extend(bracketed(&those));
        }
        if k == reference.lead {
            parts.push(Part::Text("'".repeat(usize::from(reference.primes))));
        }
    }
    parts
}

/// `[i, j]`, or nothing.
fn bracketed(indices: &[&Index]) -> Vec<Part> {
    let mut parts = Vec::new();
    for (i, index) in indices.iter().enumerate() {
        parts.push(Part::Word(if i == 0 { "[" } else { ", " }));
        match index {
            Index::At(id) => parts.push(Part::Expr(*id, SUM)),
            Index::In(name, from, to) => {
                parts.push(Part::Text(format!("{} in ", name.name)));
                parts.extend([Part::Expr(*from, SUM), Part::Word(".."), Part::Expr(*to, SUM)]);
            }
            Index::Range(from, to) => parts.extend([Part::Expr(*from, SUM), Part::Word(".."), Part::Expr(*to, SUM)]),
        }
    }
    if !indices.is_empty() {
        parts.push(Part::Word("]"));
    }
    parts
}

/// The shortest decimal that reads back as the same number.
fn number(value: f64) -> String {
    let size = value.abs();
    if value != 0.0 && !(1e-4..1e15).contains(&size) { format!("{value:e}") } else { format!("{value}") }
}

fn sign(operator: Compare) -> &'static str {
    match operator {
        Compare::Lt => "<",
        Compare::Le => "<=",
        Compare::Gt => ">",
        Compare::Ge => ">=",
        Compare::Eq => "==",
        Compare::Ne => "!=",
    }
}

fn word(operator: Binary) -> &'static str {
    match operator {
        Binary::Add => "+",
        Binary::Sub => "-",
        Binary::Mul => "*",
        Binary::Div => "/",
        Binary::Pow => "^",
        Binary::And => "and",
        Binary::Or => "or",
    }
}
