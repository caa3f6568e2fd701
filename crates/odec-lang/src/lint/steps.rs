//! A constant step beside tolerances in one run block: constant steps have no error control.

use super::Page;
use super::values::Values;
use crate::diagnostic::{Diagnostic, codes};
use crate::report::warning;
use crate::suggest;
use crate::syntax::tree::{Entry, ExprId, StatementKind, WrittenValue};

/// Largest number of rows that the help suggests.
const MAX_ROWS: f64 = 1e5;

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    for statement in &page.tree.statements {
        if let StatementKind::Run(_, entries, _) = &statement.kind {
            found.extend(beside(page, entries));
        }
    }
}

/// `step = 1` beside `rtol` or `atol`
fn beside(page: &Page<'_>, entries: &[Entry]) -> Option<Diagnostic> {
    let find = |key: &str| entries.iter().find(|entry| entry.key.name == key);
    let step = find("step")?;
    let WrittenValue::Expr(length) = step.value else { return None };
    let method = find("method").and_then(|entry| match &entry.value {
        WrittenValue::Word(word) => Some(word.name.as_str()),
        _ => None,
    });
    // the tolerances choose the order of a series, and they determine where a search for a steady state ends
    if page.text(length) == "auto" || method == Some("taylor") || find("start").is_some() {
        return None;
    }
    let tolerances: Vec<&Entry> =
        entries.iter().filter(|entry| matches!(entry.key.name.as_str(), "rtol" | "atol")).collect();
    let (first, others) = tolerances.split_first()?;
    let text = |entry: &Entry| page.source.text.get(entry.span.range()).unwrap_or_default().trim();
    let names = suggest::list(tolerances.iter().map(|entry| text(entry).split('=').next().unwrap_or_default().trim()));
    let (written, size) = (text(step), page.text(length));
    let headline = format!("`{written}` turns off the error control, and {names} do not shorten the steps");
    let headline = if others.is_empty() { headline.replace("do not", "does not") } else { headline };
    let mut report = warning(&codes::W0530, headline, first.span, "without effect on the steps");
    for other in others {
        report = report.label(other.span, "nor has this one");
    }
    let rows = match rows(page, find("t"), find("samples"), length) {
        Some(count) => format!(", with `samples = {count}` for rows at the same times"),
        None => String::new(),
    };
    let takes = match method {
        Some(method) => format!("`{method}` takes"),
        None => "without `method`, odec takes an implicit method with".to_owned(),
    };
    let removed = suggest::list(tolerances.iter().map(|entry| text(entry)));
    Some(report.label(step.span, format!("all steps have length {size}")).help(format!(
        "remove `{written}`, and the tolerances determine the steps{rows}; or remove {removed}: {takes} steps of {size}, \
         however large their errors are"
    )))
}

/// The number of steps of a run, if it is a whole number and the run has a row for each step.
fn rows(page: &Page<'_>, range: Option<&Entry>, samples: Option<&Entry>, step: ExprId) -> Option<u64> {
    let WrittenValue::Range(from, to) = range.filter(|_| samples.is_none())?.value else { return None };
    let mut values = Values::of(page);
    let count = (values.value(to)? - values.value(from)?).abs() / values.value(step)?.abs();
    let whole = (count - count.round()).abs() < 1e-6 && (1.0..=MAX_ROWS).contains(&count);
    whole.then_some(count.round() as u64)
}
