//! Says in the user's words why the grammar does not accept a line.

use odec_ir::Span;
use pest::error::{Error, InputLocation};

use super::grammar::Rule;
use crate::diagnostic::Diagnostic;

/// One diagnostic for a line that `rule` rejected.
pub fn explain(line: &str, base: usize, _rule: Rule, error: &Error<Rule>) -> Diagnostic {
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let rest = &line[at..];
    let word = super::keyword::first_word(rest);
    let length = if word.is_empty() { rest.chars().next().map_or(0, char::len_utf8) } else { word.len() };
    let span = Span::new(base + at, base + at + length);
    match length {
        0 => Diagnostic::error("E0118", "the line is not complete").label(span, "something is missing here"),
        _ => Diagnostic::error("E0118", format!("`{}` was not expected here", &rest[..length]))
            .label(span, "something else belongs here"),
    }
}
