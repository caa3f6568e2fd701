//! Tables of edges whose numbers name no element: `where to[e] == i` with a 0 in `to`, for an index that begins at 1.

use std::collections::HashMap;

use super::Page;
use super::values::Values;
use crate::diagnostic::{Diagnostic, codes};
use crate::report::warning;
use crate::syntax::tree::{Compare, ExprId, ExprKind, Index, Later, StatementKind};

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let conditions = page.tree.exprs.iter().filter_map(|expr| match &expr.kind {
        ExprKind::Reduce(_, _, Some(condition), _) => selection(page, *condition),
        _ => None,
    });
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for (place, table, index, over) in conditions {
        if seen.contains(&(table, index)) {
            continue;
        }
        seen.push((table, index));
        found.extend(missing(page, place, (table, index, over)));
    }
}

/// The table, the index and the index of the table in the condition `to[e] == i`, which is the whole condition: another one
/// beside it, such as `to[e] > 0`, says that the author knows of the numbers without an element.
fn selection<'a>(page: &Page<'a>, condition: ExprId) -> Option<(ExprId, &'a str, &'a str, &'a str)> {
    let ExprKind::Comparison(sides, signs) = &page.expr(condition).kind else { return None };
    let ([a, b], [(Compare::Eq, _)]) = (sides.as_slice(), signs.as_slice()) else { return None };
    [(*a, *b), (*b, *a)].into_iter().find_map(|(table, index)| {
        let (ExprKind::Name(table_name), ExprKind::Name(index)) = (&page.expr(table).kind, &page.expr(index).kind)
        else {
            return None;
        };
        let [Index::At(over)] = table_name.indices.as_slice() else { return None };
        let ExprKind::Name(over) = &page.expr(*over).kind else { return None };
        let plain = index.indices.is_empty() && index.path.is_empty() && index.primes == 0;
        let names = (table_name.name.name.as_str(), index.name.name.as_str(), over.name.name.as_str());
        plain.then_some((table, names.0, names.1, names.2))
    })
}

/// A number of the table that the index never has.
fn missing(page: &Page<'_>, place: ExprId, (table, index, over): (&str, &str, &str)) -> Option<Diagnostic> {
    let mut ranges: HashMap<&str, (ExprId, ExprId)> = HashMap::new();
    let mut entries = None;
    for statement in &page.tree.statements {
        match &statement.kind {
            StatementKind::Later(Later::Index(items)) => {
                for (names, low, high) in items {
                    ranges.extend(names.iter().map(|name| (name.name.as_str(), (*low, *high))));
                }
            }
            StatementKind::Const(items) => {
                let item = items.iter().find(|item| item.target.name.name == table && item.target.path.is_empty());
                let value = item.filter(|item| item.target.indices.len() == 1).and_then(|item| item.value);
                entries = entries.or(value);
            }
            _ => {}
        }
    }
    let ExprKind::Table(entries) = &page.expr(entries?).kind else { return None };
    let mut values = Values::of(page);
    let mut range = |name: &str| {
        let (low, high) = ranges.get(name)?;
        Some((values.value(*low)?, values.value(*high)?))
    };
    let ((low, high), first) = (range(index)?, range(over)?.0);
    let outside = |value: f64| value < low || value > high || value.fract() != 0.0;
    let (at, entry, value) = entries.iter().enumerate().find_map(|(k, entry)| {
        let ExprKind::Number(value) = page.expr(*entry).kind else { return None };
        outside(value).then_some((first + k as f64, *entry, value))
    })?;
    let headline = format!("`{table}[{at}]` is {value}, and no `{index}` is: the sum leaves out `{over}` = {at}");
    let report =
        warning(&codes::W0532, headline, page.expr(entry).span, format!("`{index}` runs from {low} to {high}"))
            .label(page.expr(place).span, "compared here");
    let help = if low == 1.0 && value == 0.0 {
        format!(
            "if the table counts from 0, add 1 to its numbers; to leave out `{over}` = {at}, write \
                 `where {table}[{over}] > 0 and {table}[{over}] == {index}`"
        )
    } else {
        format!(
            "correct the number; to leave it out, write `where {table}[{over}] != {value} and \
                 {table}[{over}] == {index}`"
        )
    };
    Some(report.help(help))
}
