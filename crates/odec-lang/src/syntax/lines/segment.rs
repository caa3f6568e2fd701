//! One segment: its end, and the check of its brackets.

use odec_ir::Span;

use super::text::{begins_clause, begins_open, begins_statement, ends_open, lone_equals};
use super::{Cutter, Segment, Stop};
use crate::diagnostic::{Diagnostic, codes};
use crate::limits::MAX_NESTING;
use crate::syntax::keyword::{self, Keyword, classify, first_word};

/// State of one segment: open brackets, each with its position and the number of enclosing `if`s.
#[derive(Default)]
struct Brackets {
    open: Vec<(u8, usize, usize)>,
    ifs: usize,
    bad: bool,
}

impl Cutter<'_> {
    /// The segment that starts at `self.pos`; `self.pos` becomes its end.
    pub(super) fn segment(&mut self, in_block: bool) -> (Segment, Stop) {
        let text = self.text;
        let bytes = text.as_bytes();
        let start = self.pos;
        let indent = self.indent(start);
        let mut brackets = Brackets::default();
        let mut i = start;
        let stop = loop {
            let Some(&byte) = bytes.get(i) else { break Stop::End };
            match byte {
                b'"' => {
                    let close = text[i + 1..].find(['"', '\n']).map(|length| i + 1 + length);
                    if let Some(close) = close.filter(|&close| bytes[close] == b'"') {
                        i = close;
                    } else {
                        let report = Diagnostic::error(&codes::E0107, "this string is not closed")
                            .label(Span::new(i, i + 1), "there is no second `\"` on this line");
                        let name = text[start..i].rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
                        self.report_in(
                            &mut brackets,
                            match name.filter(|name| name.starts_with(char::is_alphabetic)) {
                                Some(name) => report.help(format!("write a second derivative as `{name}''`")),
                                None => report,
                            },
                        );
                        // the closing brace is not part of the text
                        let end = close.unwrap_or(text.len());
                        i = text[i..end].find('}').filter(|_| in_block).map_or(end, |brace| i + brace) - 1;
                    }
                }
                b'(' | b'[' => {
                    brackets.open.push((byte, i, brackets.ifs));
                    if brackets.open.len() + brackets.ifs > MAX_NESTING {
                        self.too_deep(&mut brackets, i);
                    }
                }
                b')' | b']' => self.closing(&mut brackets, byte, i),
                b'{' => break Stop::Open(i),
                b'}' => break Stop::Close(i),
                b';' if brackets.open.is_empty() || in_block => break Stop::Separator(i),
                b',' if brackets.open.is_empty() && in_block => break Stop::Separator(i),
                b',' => brackets.ifs = brackets.open.last().map_or(0, |&(.., ifs)| ifs),
                b'i' if text[i..].starts_with("if") && first_word(&text[i..]) == "if" => {
                    let before = &text[start..i];
                    let word_before = before.chars().next_back().is_some_and(keyword::is_name_char);
                    if !word_before && !before.trim_end().ends_with("else") {
                        brackets.ifs += 1;
                        if brackets.open.len() + brackets.ifs > MAX_NESTING {
                            self.too_deep(&mut brackets, i);
                        }
                    }
                    i += 1;
                }
                b'\n' => match self.continues(start, i, indent, in_block, &brackets) {
                    Some(next) => {
                        i = next;
                        continue;
                    }
                    None => break Stop::Newline,
                },
                _ => {}
            }
            i += 1;
        };
        self.pos = i;
        if let Some(&(byte, at, _)) = brackets.open.last() {
            let close = if byte == b'(' { ')' } else { ']' };
            self.report_in(
                &mut brackets,
                Diagnostic::error(&codes::E0108, format!("this `{}` is not closed", byte as char))
                    .label(Span::new(at, at + 1), format!("there is no `{close}` in this statement")),
            );
        }
        let end = start + text[start..i].trim_end().len();
        (Segment { range: start..end, bad: brackets.bad }, stop)
    }

    fn closing(&mut self, brackets: &mut Brackets, byte: u8, at: usize) {
        let here = Span::new(at, at + 1);
        match brackets.open.pop() {
            Some((open, from, ifs)) => {
                brackets.ifs = ifs;
                let expected = if open == b'(' { b')' } else { b']' };
                if expected != byte {
                    self.report_in(
                        brackets,
                        Diagnostic::error(&codes::E0109, format!("`{}` is closed by `{}`", open as char, byte as char))
                            .label(here, format!("expected `{}`", expected as char))
                            .label(Span::new(from, from + 1), "for this"),
                    );
                }
            }
            None => self.report_in(
                brackets,
                Diagnostic::error(&codes::E0109, format!("this `{}` closes no bracket", byte as char))
                    .label(here, format!("there is no open `{}` before it", if byte == b')' { '(' } else { '[' })),
            ),
        }
    }

    fn too_deep(&mut self, brackets: &mut Brackets, at: usize) {
        self.report_in(
            brackets,
            Diagnostic::error(&codes::E0103, format!("more than {MAX_NESTING} levels of brackets or `if`"))
                .label(Span::new(at, at + 1), "one level too many")
                .help("give parts of the expression their own names"),
        );
    }

    /// The position at which a statement continues after the newline at `newline`, if it does.
    fn continues(
        &self,
        start: usize,
        newline: usize,
        indent: usize,
        in_block: bool,
        brackets: &Brackets,
    ) -> Option<usize> {
        let inside = !brackets.open.is_empty();
        let next = self.next_line(newline + 1, inside)?;
        let line = self.rest_of_line(next);
        let column = next - self.line_start(next);
        if line.starts_with('}') || line.starts_with('{') {
            return None;
        }
        let so_far = self.text[start..newline].trim_end();
        let keyword_line = column <= indent && begins_statement(line);
        if inside {
            return (!keyword_line && lone_equals(line).is_none()).then_some(next);
        }
        let comma = so_far.ends_with(',') && !in_block;
        if comma || ends_open(so_far) {
            // cheap conditions first: the last one reads the whole statement so far
            let equation = column <= indent && lone_equals(line).is_some_and(|at| !line[..at].contains(','));
            let complete = || lone_equals(so_far).is_some() || classify(so_far, false).is_some();
            let new = !comma && equation && complete();
            return (!keyword_line && !new).then_some(next);
        }
        let clause = || begins_clause(line) && classify(so_far, true).is_some_and(Keyword::is_event);
        (column > indent && (begins_open(line) || (!in_block && clause()))).then_some(next)
    }

    /// Reports only the first mistake of a segment: mistakes after a wrong bracket usually follow from it.
    fn report_in(&mut self, brackets: &mut Brackets, diagnostic: Diagnostic) {
        if !std::mem::replace(&mut brackets.bad, true) {
            self.diagnostics.push(diagnostic);
        }
    }
}
