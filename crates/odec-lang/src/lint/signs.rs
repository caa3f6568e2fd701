//! Two signs in a row: `-k*x -- k` has a comment in some languages, a difference here; `1 +- 0.1` is no uncertainty.
//! A decimal comma that separates arguments: `max(0,5, x)`.

use super::Page;
use crate::diagnostic::{Diagnostic, codes};
use crate::report::warning;
use crate::syntax::tree::{Binary, ExprId, ExprKind};

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    dashes(page, found);
    uncertain(page, found);
    commas(page, found);
}

/// `1 +- 0.1` of two numbers: the sum is 0.9.
fn uncertain(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let number = |id: ExprId| match page.expr(id).kind {
        ExprKind::Quantity(value, _) => matches!(page.expr(value).kind, ExprKind::Number(_)),
        ref kind => matches!(kind, ExprKind::Number(_)),
    };
    for expr in &page.tree.exprs {
        let ExprKind::Binary(Binary::Add, _, a, b) = expr.kind else { continue };
        let ExprKind::Neg(size) = page.expr(b).kind else { continue };
        let start = page.expr(b).span.start as usize;
        let touching = page.source.text.get(..start).is_some_and(|before| before.ends_with('+'));
        if touching && number(a) && number(size) {
            let (a, size) = (page.text(a), page.text(size));
            let headline = format!("`{a} +- {size}` is the difference `{a} - {size}`");
            let report = warning(&codes::W0534, headline, expr.span, "two signs: plus a negative value");
            found.push(report.help(format!(
                "leave out an uncertainty: a parameter has one value, and `in 0..5` gives its range; for the \
                 difference write `{a} - {size}`"
            )));
        }
    }
}

/// `-k*x -- k`
fn dashes(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let text = &page.source.text;
    if !text.contains("--") {
        return;
    }
    let mut last = None;
    for expr in page.tree.exprs.iter().filter(|expr| matches!(expr.kind, ExprKind::Neg(_))) {
        let at = expr.span.start as usize;
        // three signs and more begin a comment in no language
        let twice = text.get(..=at).is_some_and(|before| before.ends_with("--") && !before.ends_with("---"));
        let twice = twice && !text[at + 1..].starts_with('-');
        if !twice || last == Some(at) {
            continue;
        }
        last = Some(at);
        let mut place = expr.span;
        place.start -= 1;
        let rest = text[at + 1..].lines().next().unwrap_or_default().trim();
        let report =
            warning(&codes::W0534, "`--` does not begin a comment", place, "two signs: minus a negative value");
        found.push(report.help(format!(
            "write `# {rest}` for a comment; for the value, write a blank between the signs: `- -{rest}`"
        )));
    }
}

/// `max(0,5, x)`: three arguments, where a blank follows only the commas that were meant.
fn commas(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    for expr in &page.tree.exprs {
        let ExprKind::Call(function, list) = &expr.kind else { continue };
        let name = function.name.as_str();
        if !matches!(name, "max" | "min") || list.len() < 3 {
            continue;
        }
        let between = |k: usize| {
            let gap = page.expr(list[k]).span.end as usize..page.expr(list[k + 1]).span.start as usize;
            page.source.text.get(gap).unwrap_or_default()
        };
        let whole = |id: ExprId| page.text(id).bytes().all(|byte| byte.is_ascii_digit());
        let apart = (0..list.len() - 1).any(|k| between(k).ends_with(char::is_whitespace));
        let Some(k) = (0..list.len() - 1).find(|&k| between(k) == "," && whole(list[k]) && whole(list[k + 1])) else {
            continue;
        };
        if apart {
            let (a, b) = (page.text(list[k]), page.text(list[k + 1]));
            let place = page.expr(list[k]).span.to(page.expr(list[k + 1]).span);
            let headline = format!("`{a},{b}` is two arguments of `{name}`, not a number");
            found.push(warning(&codes::W0535, headline, place, "a comma separates arguments").help(format!(
                "write `{a}.{b}` for a number; for two arguments write a blank after the comma: `{a}, {b}`"
            )));
        }
    }
}
