//! Indices of another array: `a[i]` where `a[j]` is declared and the two ranges agree only by the values of constants.

use std::collections::HashMap;

use super::Page;
use super::values::Values;
use crate::diagnostic::Diagnostic;
use crate::report::warning;
use crate::syntax::tree::{Declared, ExprId, ExprKind, Index, Later, StatementKind};

/// The range of an index as it is written.
type Range = (ExprId, ExprId);

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let mut ranges: HashMap<&str, Range> = HashMap::new();
    let mut declared: HashMap<&str, Vec<&str>> = HashMap::new();
    for statement in &page.tree.statements {
        match &statement.kind {
            StatementKind::Later(Later::Index(items)) => {
                for (names, low, high) in items {
                    ranges.extend(names.iter().map(|name| (name.name.as_str(), (*low, *high))));
                }
            }
            StatementKind::Param(items)
            | StatementKind::Const(items)
            | StatementKind::State(items)
            | StatementKind::Unknown(items) => {
                note(page, items, &mut declared);
            }
            _ => {}
        }
    }
    if ranges.len() < 2 || declared.is_empty() {
        return;
    }
    let bound = rebound(page);
    let mut values = Values::of(page);
    for expr in &page.tree.exprs {
        let ExprKind::Name(name) = &expr.kind else { continue };
        let Some(own) = declared.get(name.name.name.as_str()) else { continue };
        for (index, own) in name.indices.iter().zip(own) {
            let Index::At(at) = index else { continue };
            let Some(used) = plain(page, *at) else { continue };
            let (Some(a), Some(b)) = (ranges.get(used), ranges.get(own)) else { continue };
            if used == *own || bound.contains(&used) || same(page, *a, *b) {
                continue;
            }
            // ranges of different size are no typing error: elements outside are an error of their own
            let agree = [(a.0, b.0), (a.1, b.1)].iter().all(|(a, b)| {
                let (a, b) = (values.value(*a), values.value(*b));
                a.is_some() && a == b
            });
            if agree {
                let array = &name.name.name;
                let range = |r: &Range| format!("{}..{}", page.text(r.0), page.text(r.1));
                found.push(
                    warning(
                        "W0506",
                        format!("`{array}[{used}]` has the index of another array"),
                        page.expr(*at).span,
                        format!("`{used}` runs over {}", range(a)),
                    )
                    .label(name.name.span, format!("`{array}` is declared over `{own}`, {}", range(b)))
                    .help(format!(
                        "write `{array}[{own}]`, or declare both indices over one range; their ranges agree only for the current values of the constants"
                    )),
                );
            }
        }
    }
}

fn note<'a>(page: &Page<'a>, items: &'a [Declared], declared: &mut HashMap<&'a str, Vec<&'a str>>) {
    for item in items {
        let indices: Option<Vec<&str>> = item
            .target
            .indices
            .iter()
            .map(|index| match index {
                Index::At(at) => plain(page, *at),
                _ => None,
            })
            .collect();
        if let Some(indices) = indices.filter(|list| !list.is_empty()) {
            declared.insert(item.target.name.name.as_str(), indices);
        }
    }
}

/// The name that an expression is.
fn plain<'a>(page: &Page<'a>, id: ExprId) -> Option<&'a str> {
    match &page.expr(id).kind {
        ExprKind::Name(name) if name.indices.is_empty() && name.primes == 0 && name.path.is_empty() => {
            Some(&name.name.name)
        }
        _ => None,
    }
}

/// Indices that get another range somewhere: `u[i in 2..N]`, `sum(i in 1..3: ...)`.
fn rebound<'a>(page: &Page<'a>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for expr in &page.tree.exprs {
        match &expr.kind {
            ExprKind::Name(name) => found.extend(name.indices.iter().filter_map(|index| match index {
                Index::In(name, ..) => Some(name.name.as_str()),
                _ => None,
            })),
            ExprKind::Reduce(_, binders, ..) => {
                found.extend(binders.iter().filter(|(_, range)| range.is_some()).map(|(name, _)| name.name.as_str()));
            }
            _ => {}
        }
    }
    found
}

/// True if two ranges are written in the same way.
fn same(page: &Page<'_>, a: Range, b: Range) -> bool {
    page.key(a.0) == page.key(b.0) && page.key(a.1) == page.key(b.1)
}
