//! `# allow W0501` at the end of a line turns off the warning there; a reason may follow: `# allow W0501: measured`. A
//! code that no warning has is reported.

use odec_ir::Span;

use super::Page;
use crate::diagnostic::{Diagnostic, Severity, codes};
use crate::report::warning;
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
    let lists = comment(line).into_iter().flat_map(lists);
    lists.flat_map(words).any(|code| code.eq_ignore_ascii_case(wanted))
}

/// The texts after `allow` in a comment: another comment may come before it, `# measured  # allow W0501`, and a reason
/// behind a colon may name other codes.
fn lists(comment: &str) -> impl Iterator<Item = &str> {
    let parts = comment.split('#').filter_map(|part| part.trim_start().strip_prefix("allow "));
    parts.map(|list| list.split(':').next().unwrap_or_default())
}

fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty())
}

/// `# allow W9999` and `# allow E0201`
pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let mut from = 0;
    for line in page.source.text.split_inclusive('\n') {
        let start = from;
        from += line.len();
        // ordinary text may begin with `allow`
        let lists = comment(line).into_iter().flat_map(lists);
        for code in lists.flat_map(|list| words(list).take_while(|word| is_code(word))) {
            let upper = code.to_uppercase();
            let known = codes::find(&upper).is_some();
            if known && !upper.starts_with('E') {
                continue;
            }
            let at = start + line.find(code).unwrap_or(0);
            let headline = if known {
                format!("`{code}` is an error, which nothing turns off")
            } else {
                format!("there is no warning `{code}`: this comment turns off nothing")
            };
            let report = warning(&codes::W0542, headline, Span::new(at, at + code.len()), "not the code of a warning");
            found.push(report.help("write the code that stands before the warning: `# allow W0501`"));
        }
    }
}

/// A letter and four digits.
fn is_code(text: &str) -> bool {
    let rest = text.strip_prefix(['W', 'E', 'N', 'w', 'e', 'n']);
    rest.is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
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
