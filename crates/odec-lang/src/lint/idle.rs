//! Text without the effect that it seems to have: a choice between equal values, `max(x, x)`, `/dx*dx`, an argument
//! that its function does not read, an event whose condition cannot change, a list of numbers that is a vector, a
//! conserved comparison, `#include`.

use std::collections::HashSet;

use odec_ir::Span;

use super::Page;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Symbol;
use crate::report::warning;
use crate::syntax::tree::{Binary, Declared, EventTrigger, ExprId, ExprKind, Ident, Index, Later, StatementKind};

/// Values with more characters are not compared.
const MAX_COMPARED: usize = 400;
/// Largest number of arguments of a function that are reported.
const MAX_UNREAD: usize = 5;
/// Longest list that is taken for the values of elements.
const MAX_LISTED: usize = 200;

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    for at in 0..page.tree.exprs.len() {
        let id = ExprId(at as u32);
        found.extend(equal_branches(page, id).or_else(|| undone(page, id)).or_else(|| equal_arguments(page, id)));
    }
    for statement in &page.tree.statements {
        match &statement.kind {
            StatementKind::Event(event) if event.clauses.from_start.is_none() => {
                if let EventTrigger::When(condition) = event.head {
                    found.extend(fixed(page, condition));
                }
            }
            StatementKind::State(items) => found.extend(items.iter().filter_map(|item| listed(page, item))),
            StatementKind::Function { arguments, body, .. } => unread_arguments(page, arguments, *body, found),
            StatementKind::Conserve { value, .. } => found.extend(compared(page, *value)),
            _ => {}
        }
    }
    included(page, found);
}

/// `if x > 1 then -k*x else -k*x`
fn equal_branches(page: &Page<'_>, id: ExprId) -> Option<Diagnostic> {
    let ExprKind::If(_, then, other) = page.expr(id).kind else { return None };
    let short = |id: ExprId| page.expr(id).span.range().len() <= MAX_COMPARED;
    // in a long chain of choices, the second value contains all of the rest
    let same = short(then) && short(other) && page.key(then) == page.key(other) && !page.key(then).is_empty();
    same.then(|| {
        warning(&codes::W0536, "both values of this choice are equal", page.expr(then).span, "the first value")
            .label(page.expr(other).span, "the second value")
            .help("change one of the values, or write the value without the choice")
    })
}

/// `max(x, x)`
fn equal_arguments(page: &Page<'_>, id: ExprId) -> Option<Diagnostic> {
    let ExprKind::Call(function, list) = &page.expr(id).kind else { return None };
    let [a, b] = list[..] else { return None };
    let short = |id: ExprId| page.expr(id).span.range().len() <= MAX_COMPARED;
    let known = matches!(function.name.as_str(), "max" | "min") && short(a) && short(b);
    (known && page.key(a) == page.key(b) && !page.key(a).is_empty()).then(|| {
        let headline = format!("both arguments of `{}` are equal", function.name);
        let text = page.text(a);
        warning(&codes::W0536, headline, page.expr(a).span, "the first argument")
            .label(page.expr(b).span, "the second argument")
            .help(format!("change one of the arguments, or write `{text}`"))
    })
}

/// An argument that the body of its function does not read.
fn unread_arguments(page: &Page<'_>, arguments: &[Ident], body: ExprId, found: &mut Vec<Diagnostic>) {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let read: HashSet<&str> = page.text(body).split(|c| !word(c)).collect();
    // a name in other letters may be written in several ways
    let unread = arguments.iter().filter(|name| name.name.is_ascii() && !read.contains(name.name.as_str()));
    for name in unread.take(MAX_UNREAD) {
        let report = warning(&codes::W0201, format!("`{}` is never used", name.name), name.span, "an argument");
        found.push(report.help("remove it here and where the function is called, or use it in the function"));
    }
}

/// `(a - b)/dx*dx`: the product is divided by `dx` and multiplied by it again.
fn undone(page: &Page<'_>, id: ExprId) -> Option<Diagnostic> {
    let ExprKind::Binary(Binary::Mul, _, quotient, factor) = page.expr(id).kind else { return None };
    let ExprKind::Binary(Binary::Div, _, _, divisor) = page.expr(quotient).kind else { return None };
    let is_name = |id: ExprId| matches!(page.expr(id).kind, ExprKind::Name(_));
    if !is_name(factor) || !is_name(divisor) {
        return None;
    }
    let name = page.key(factor);
    let plain = name == page.key(divisor);
    let place = page.expr(divisor).span.to(page.expr(factor).span);
    if !plain || place.range().len() > MAX_COMPARED {
        return None;
    }
    // without brackets between both
    let text = page.source.text.get(place.range()).unwrap_or_default();
    let written = text.chars().filter(|c| !c.is_whitespace()).eq(format!("{name}*{name}").chars());
    (plain && written).then(|| {
        let headline = format!("`/{name}*{name}` divides by `{name}` and multiplies by it again");
        warning(&codes::W0538, headline, place, "only the first factor is in the denominator")
            .help(format!("write `/{name}^2` for a division by the square; otherwise leave out both"))
    })
}

/// `when k > 3` with a parameter `k`.
fn fixed(page: &Page<'_>, condition: ExprId) -> Option<Diagnostic> {
    let mut stack = vec![condition];
    let mut name = None;
    while let Some(id) = stack.pop() {
        let expr = page.expr(id);
        match &expr.kind {
            ExprKind::Name(reference) => {
                let symbol = page.model.symbols.get(&reference.name.name);
                let constant = matches!(symbol, Some(Symbol::Parameter(_) | Symbol::Constant(_)));
                if !constant || !reference.path.is_empty() || !reference.indices.is_empty() {
                    return None;
                }
                name = Some(reference.name.name.as_str());
            }
            ExprKind::Call(..) | ExprKind::Reduce(..) | ExprKind::Table(_) => return None,
            _ => {}
        }
        page.tree.each_operand(id, |part| stack.push(part));
    }
    let name = name?;
    let headline = "this condition does not change during a run, so its event never happens";
    Some(
        warning(&codes::W0539, headline, page.expr(condition).span, format!("`{name}` is constant")).help(
            "compare a quantity that changes; for an event at the start, write `from start` behind the condition",
        ),
    )
}

/// `state w[i] = (1, 2, 3, 4)` of four elements, in a model without vectors.
fn listed(page: &Page<'_>, item: &Declared) -> Option<Diagnostic> {
    let value = item.value?;
    let ExprKind::Tuple(list) = &page.expr(value).kind else { return None };
    let [Index::At(index)] = item.target.indices.as_slice() else { return None };
    if list.len() > MAX_LISTED {
        return None;
    }
    let [first, last] = range(page, page.text(*index))?;
    let numbers: Vec<f64> = list.iter().filter_map(|&id| number(page, id)).collect();
    let distinct = numbers.iter().enumerate().all(|(k, a)| numbers[..k].iter().all(|b| a != b));
    let fits = list.len() > 1 && numbers.len() == list.len() && last - first + 1.0 == list.len() as f64;
    let text = &page.source.text;
    let vectors = ["norm(", "dot(", "cross(", ".x", ".y", ".z", ".w"].iter().any(|word| text.contains(word));
    (fits && distinct && !vectors).then(|| {
        let name = page.source.text.get(item.target.span.range()).unwrap_or_default();
        let count = list.len();
        let entries: Vec<&str> = list.iter().map(|&id| page.text(id)).collect();
        let headline = format!("each element of `{}` is a vector with {count} components", item.target.name.name);
        warning(&codes::W0537, headline, page.expr(value).span, "round brackets make a vector").help(format!(
            "write the values of the {count} elements in square brackets: `{name} = [{}]`",
            entries.join(", ")
        ))
    })
}

fn number(page: &Page<'_>, id: ExprId) -> Option<f64> {
    match page.expr(id).kind {
        ExprKind::Number(value) => Some(value),
        ExprKind::Neg(a) => number(page, a).map(|value| -value),
        _ => None,
    }
}

/// The ends of an index whose range is written in numbers or constants.
fn range(page: &Page<'_>, name: &str) -> Option<[f64; 2]> {
    page.tree.statements.iter().find_map(|statement| {
        let StatementKind::Later(Later::Index(items)) = &statement.kind else { return None };
        let (_, first, last) = items.iter().find(|(names, ..)| names.iter().any(|index| index.name == name))?;
        Some([end(page, *first)?, end(page, *last)?])
    })
}

/// A number, or the number of a constant.
fn end(page: &Page<'_>, id: ExprId) -> Option<f64> {
    let ExprKind::Name(reference) = &page.expr(id).kind else { return number(page, id) };
    page.tree.statements.iter().find_map(|statement| {
        let StatementKind::Const(items) = &statement.kind else { return None };
        let item = items.iter().find(|item| item.target.name.name == reference.name.name)?;
        number(page, item.value?)
    })
}

/// `conserve abs(x - y) < 1e-6`: what is conserved is the number 1.
fn compared(page: &Page<'_>, value: ExprId) -> Option<Diagnostic> {
    let expr = page.expr(value);
    let condition = matches!(expr.kind, ExprKind::Comparison(..) | ExprKind::Not(_))
        || matches!(expr.kind, ExprKind::Binary(Binary::And | Binary::Or, ..));
    condition.then(|| {
        warning(&codes::W0540, "this line conserves a condition, not a quantity", expr.span, "this is 1 or 0")
            .help("write the quantity alone: `conserve A + B within 1e-6` compares it with its initial value")
    })
}

/// `#include "cell.ode"` of C, which is a comment here.
fn included(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let mut from = 0;
    for line in page.source.text.split_inclusive('\n') {
        let start = from;
        from += line.len();
        let Some(rest) = line.strip_prefix("#include") else { continue };
        let rest = rest.trim();
        // the whole line is the comment
        if rest.contains("# allow W0541") {
            continue;
        }
        let file = rest.strip_prefix('"').and_then(|rest| rest.split_once('"')).map(|(file, _)| file);
        let Some(file) = file.filter(|file| file.ends_with(".ode")) else { continue };
        let stem = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".ode");
        let place = Span::new(start, start + line.trim_end().len());
        let report =
            warning(&codes::W0541, "this line is a comment, and includes no file", place, "`#` begins a comment");
        found.push(report.help(format!("write `use \"{file}\" as {stem}` for a part from another file")));
    }
}
