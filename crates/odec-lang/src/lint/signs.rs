//! Two minus signs in a row, `-k*x -- k`: a comment in some languages, a difference here.

use super::Page;
use crate::diagnostic::{Diagnostic, codes};
use crate::report::warning;
use crate::syntax::tree::ExprKind;

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
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
