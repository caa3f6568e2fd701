//! Keeps only the fixes that mend: each is applied and the text checked again, since a tool may apply it unseen.

use crate::diagnostic::{Diagnostic, Fix};
use crate::source::Source;

/// Fixes tried for one text. The rest of them is offered untried: so many mistakes are mended one after the other anyway.
const MAX_TRIED: usize = 12;
/// Texts longer than this are not checked again for every fix.
const MAX_TEXT: usize = 64 << 10;

/// Drops the fixes of errors after which there are as many errors as before.
pub(crate) fn keep_what_mends(source: &Source, diagnostics: &mut [Diagnostic]) {
    if source.text.len() > MAX_TEXT {
        return;
    }
    let before = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let offered = diagnostics.iter_mut().filter(|diagnostic| diagnostic.is_error() && !diagnostic.fixes.is_empty());
    for diagnostic in offered.take(MAX_TRIED) {
        let mends = apply(&source.text, &diagnostic.fixes).is_some_and(|text| errors(&source.name, text) < before);
        if !mends {
            diagnostic.fixes.clear();
        }
    }
}

/// The text with all fixes applied, if their places exist.
fn apply(text: &str, fixes: &[Fix]) -> Option<String> {
    let mut order: Vec<&Fix> = fixes.iter().collect();
    order.sort_by_key(|fix| std::cmp::Reverse(fix.span));
    let mut out = text.to_string();
    for fix in order {
        out.get(fix.span.range())?;
        out.replace_range(fix.span.range(), &fix.text);
    }
    Some(out)
}

fn errors(name: &str, text: String) -> usize {
    let checked = crate::diagnose(&Source::new(name, text));
    checked.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count()
}
