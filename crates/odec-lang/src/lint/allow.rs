//! `# allow W0501` at the end of a line turns off the warning there; a reason may follow: `# allow W0501: measured`.

use odec_ir::Span;

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::Source;

/// True if the line of the diagnostic's primary location allows it. A warning about a run has several locations, and the
/// line of any of them allows it. Errors are never allowed.
pub fn allowed(source: &Source, diagnostic: &Diagnostic) -> bool {
    if diagnostic.severity == Severity::Error {
        return false;
    }
    let others = diagnostic.labels.iter().filter(|_| diagnostic.code.is_about_a_run()).map(|label| label.span);
    diagnostic.span().into_iter().chain(others).any(|span| line_allows(source, span, diagnostic.code.code))
}

/// Whether the line of a place allows a code.
fn line_allows(source: &Source, span: Span, wanted: &str) -> bool {
    let at = (span.start as usize).min(source.text.len());
    let Some(before) = source.text.get(..at) else { return false };
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = source.text[start..].lines().next().unwrap_or_default();
    let Some(comment) = comment(line) else { return false };
    // another comment may come before it: `# measured  # allow W0501`
    let mut parts = comment.split('#');
    let Some(codes) = parts.find_map(|part| part.trim_start().strip_prefix("allow ")) else { return false };
    // a reason behind a colon may name other codes
    let codes = codes.split(':').next().unwrap_or_default();
    codes.split([',', ' ']).any(|code| code.eq_ignore_ascii_case(wanted))
}

/// The comment of a line, with its `#`.
fn comment(line: &str) -> Option<&str> {
    let mut in_text = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => in_text = !in_text,
            '#' if !in_text => return Some(&line[at..]),
            _ => {}
        }
    }
    None
}
