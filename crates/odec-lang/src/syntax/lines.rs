//! Cuts a masked text into logical lines and blocks, and reports what the brackets get wrong.
//!
//! A newline ends a statement except inside `( )` and `[ ]`, after an operator, comma or `=`, and before a line that is
//! indented more and begins with an operator, `then`, `else`, `and`, `or`. Inside `{ }` newline, `;` or `,` separates.
//! A bracket left open does not swallow the file: it ends where a new statement evidently begins.

use std::ops::Range;

use odec_ir::Span;

use super::keyword::{self, Keyword, classify, first_word};
use super::limits::MAX_NESTING;
use crate::diagnostic::Diagnostic;

/// A stretch of text that is one statement, entry, action or head of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it stands, without blanks around it.
    pub range: Range<usize>,
    /// A mistake in it has been reported already; it is not parsed.
    pub bad: bool,
}

/// What stands between `{` and `}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Position of `{`.
    pub open: usize,
    /// Just after `}`, or after the last thing inside if that is missing.
    pub end: usize,
    /// The pieces inside.
    pub body: Vec<Segment>,
}

/// A statement: its line, or head and block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The line, or what stands before `{`.
    pub head: Segment,
    /// The block, if there is one.
    pub block: Option<Block>,
}

/// Result of [`cut`].
#[derive(Debug, Default)]
pub struct Cut {
    /// The statements.
    pub pieces: Vec<Piece>,
    /// Mistakes of brackets and blocks.
    pub diagnostics: Vec<Diagnostic>,
}

/// Why a segment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Newline,
    Open(usize),
    Close(usize),
    Separator(usize),
    End,
}

/// Cuts `masked`; `source` is the text before masking (a blank line ends a statement, a comment line does not).
pub fn cut(source: &str, masked: &str) -> Cut {
    let mut cutter = Cutter {
        source,
        text: masked,
        lines: Lines::of(masked),
        pos: 0,
        pieces: Vec::new(),
        diagnostics: Vec::new(),
        brace: None,
        semicolons: false,
    };
    cutter.run();
    Cut { pieces: cutter.pieces, diagnostics: cutter.diagnostics }
}

struct Cutter<'a> {
    source: &'a str,
    text: &'a str,
    lines: Lines,
    pos: usize,
    pieces: Vec<Piece>,
    diagnostics: Vec<Diagnostic>,
    /// The next brace at or after some position that was asked for.
    brace: Option<(usize, Option<usize>)>,
    /// A stray `;` has been reported.
    semicolons: bool,
}

impl Cutter<'_> {
    fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    fn run(&mut self) {
        while self.skip(b" \t\n") {
            let start = self.pos;
            if self.bytes()[start] == b'}' {
                self.pos += 1;
                self.report(
                    Diagnostic::error("E0109", "this `}` closes nothing")
                        .label(Span::new(start, start + 1), "no `{` before it is open"),
                );
                continue;
            }
            if let Some(end) = self.head_without_brace() {
                self.no_brace(start, end);
                continue;
            }
            let (head, stop) = self.segment(false);
            self.finish(head, stop);
        }
    }

    /// `run t = 0 .. 1 }`: where the head of a block ends whose `{` is missing although its `}` is there.
    fn head_without_brace(&mut self) -> Option<usize> {
        let line = self.rest_of_line(self.pos);
        let word = classify(line, false).filter(|word| matches!(word, Keyword::Run | Keyword::Params))?;
        let rest = line[word.word().len()..].trim_start();
        let name = first_word(rest);
        let after = rest[name.len()..].trim_start();
        let named = !after.starts_with(['=', '(', '\'']);
        let end = if named { line.len() - rest.len() + name.len() } else { word.word().len() };
        let more = !line[end..].trim().is_empty();
        (!name.is_empty() && more && !line.contains('{') && self.closes_next()).then_some(self.pos + end)
    }

    fn no_brace(&mut self, start: usize, end: usize) {
        let head = &self.text[start..end];
        self.report(
            Diagnostic::error("E0111", format!("the block of this `{}` has no `{{`", first_word(head)))
                .label(Span::new(start, end), "`{` belongs after this")
                .fix(Span::new(end, end), " {"),
        );
        self.pos = end;
        let block = self.block(end, start, true);
        self.pieces.push(Piece { head: Segment { range: start..end, bad: false }, block: Some(block) });
    }

    fn finish(&mut self, head: Segment, stop: Stop) {
        let line = &self.text[head.range.clone()];
        match stop {
            Stop::Open(at) => {
                self.pos = at + 1;
                let block = self.block(at, head.range.start, false);
                self.pieces.push(Piece { head, block: Some(block) });
            }
            Stop::Close(at) => {
                self.pos = at + 1;
                let block = classify(line, false).filter(|word| word.takes_block());
                let diagnostic = match block {
                    Some(word) => {
                        Diagnostic::error("E0111", format!("the block of this `{}` has no `{{`", word.word()))
                            .label(Span::new(head.range.start, head.range.end), "`{` is missing")
                            .label(Span::new(at, at + 1), "the `}` that would close it")
                    }
                    None => Diagnostic::error("E0109", "this `}` closes nothing")
                        .label(Span::new(at, at + 1), "no `{` before it is open"),
                };
                self.report(diagnostic);
                self.pieces.push(Piece { head: Segment { bad: true, ..head }, block: None });
            }
            Stop::Separator(at) => {
                self.pos = at + 1;
                if !self.semicolons {
                    self.semicolons = true;
                    self.report(
                        Diagnostic::error("E0126", "a statement ends with its line, not with `;`")
                            .label(Span::new(at, at + 1), "not needed")
                            .help("remove the `;`; write each statement on a line of its own")
                            .fix(Span::new(at, at + 1), "\n"),
                    );
                }
                if !head.range.is_empty() {
                    self.pieces.push(Piece { head, block: None });
                }
            }
            Stop::Newline | Stop::End => self.line(head),
        }
    }

    /// A line with no brace: a plain statement, or the head of a block whose brace is on the next line or missing.
    fn line(&mut self, head: Segment) {
        let word = classify(&self.text[head.range.clone()], false).filter(|word| word.takes_block());
        let Some(word) = word.filter(|_| !head.bad) else {
            self.pieces.push(Piece { head, block: None });
            return;
        };
        let after = self.pos;
        if self.skip(b" \t\n") && self.bytes()[self.pos] == b'{' {
            let at = self.pos;
            self.pos += 1;
            let block = self.block(at, head.range.start, false);
            self.pieces.push(Piece { head, block: Some(block) });
            return;
        }
        self.pos = after;
        let end = head.range.end;
        let diagnostic = Diagnostic::error("E0111", format!("`{}` needs a block in braces", word.word()))
            .label(Span::new(head.range.start, end), "no `{` follows");
        if self.closes_next() {
            self.report(diagnostic.fix(Span::new(end, end), " {"));
            let block = self.block(end, head.range.start, true);
            self.pieces.push(Piece { head, block: Some(block) });
        } else {
            self.report(diagnostic.help(format!("write `{} {{ ... }}`", &self.text[head.range.clone()])));
            self.pieces.push(Piece { head: Segment { bad: true, ..head }, block: None });
        }
    }

    /// Whether the next brace from here on is `}`.
    fn closes_next(&mut self) -> bool {
        let known = self.brace.filter(|&(from, at)| from <= self.pos && at.is_none_or(|at| at >= self.pos));
        let at = match known {
            Some((_, at)) => at,
            None => self.text[self.pos..].find(['{', '}']).map(|offset| self.pos + offset),
        };
        self.brace = Some((self.pos, at));
        at.is_some_and(|at| self.bytes()[at] == b'}')
    }

    /// The inside of a block, from just after `{` on. `silent` if a mistake of its braces has been reported.
    fn block(&mut self, open: usize, head: usize, mut silent: bool) -> Block {
        let mut block = Block { open, end: open, body: Vec::new() };
        let indent = self.indent(head);
        let run = classify(&self.text[head..open], true) == Some(Keyword::Run);
        let mut inner = 0usize;
        // an `expect` at the margin may follow the block or stand inside it
        let mut end = None;
        loop {
            if !self.skip(b" \t\n;,") || self.leaves_block(indent, run) {
                let end = end.unwrap_or(block.end).max(open + 1);
                if !silent {
                    self.report(
                        Diagnostic::error("E0110", "this `{` is not closed")
                            .label(Span::new(open, open + 1), "no `}` follows")
                            .help("write `}` after the last line of the block")
                            .fix(Span::new(end, end), " }"),
                    );
                }
                return block;
            }
            let stop = if self.bytes()[self.pos] == b'}' {
                Stop::Close(self.pos)
            } else {
                let (_, first, _) = self.lines.at(self.pos);
                if self.pos == first && self.indent(first) <= indent && end.is_none() {
                    end = (classify(&self.text[first..], false) == Some(Keyword::Expect)).then_some(block.end);
                }
                let (segment, stop) = self.segment(true);
                block.end = segment.range.end;
                block.body.push(segment);
                stop
            };
            match stop {
                Stop::Close(at) => {
                    self.pos = at + 1;
                    if inner == 0 {
                        block.end = at + 1;
                        return block;
                    }
                    inner -= 1;
                }
                Stop::Open(at) => {
                    self.pos = at + 1;
                    inner += 1;
                    if let Some(last) = block.body.last_mut() {
                        last.bad = true;
                    }
                    if !silent {
                        self.report(
                            Diagnostic::error("E0110", "a block inside a block")
                                .label(Span::new(at, at + 1), "this `{`")
                                .label(Span::new(open, open + 1), "stands inside the block that begins here")
                                .help("close the first block with `}` before the next begins, or remove this `{`"),
                        );
                    }
                    silent = true;
                }
                Stop::Separator(at) => self.pos = at + 1,
                Stop::Newline | Stop::End => {}
            }
        }
    }

    /// Whether the line that begins here cannot belong to the block whose head is indented by `indent`.
    fn leaves_block(&self, indent: usize, run: bool) -> bool {
        let (line_start, first, _) = self.lines.at(self.pos);
        if self.pos != first || self.pos - line_start > indent {
            return false;
        }
        let line = self.rest_of_line(self.pos);
        match classify(line, line.contains('{')) {
            Some(Keyword::Expect) => !run,
            Some(_) => true,
            None => {
                let word = first_word(line);
                !word.is_empty() && line[word.len()..].starts_with('\'') && lone_equals(line).is_some()
            }
        }
    }

    /// One segment from `self.pos` on; leaves `self.pos` where it stopped.
    fn segment(&mut self, in_block: bool) -> (Segment, Stop) {
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
                    match close.filter(|&close| bytes[close] == b'"') {
                        Some(close) => i = close,
                        None => {
                            self.report_in(
                                &mut brackets,
                                Diagnostic::error("E0107", "this text is not closed")
                                    .label(Span::new(i, i + 1), "no second `\"` on this line"),
                            );
                            // what closes the block is hardly part of the text
                            let end = close.unwrap_or(text.len());
                            i = text[i..end].find('}').filter(|_| in_block).map_or(end, |brace| i + brace) - 1;
                        }
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
                Diagnostic::error("E0108", format!("this `{}` is not closed", byte as char))
                    .label(Span::new(at, at + 1), format!("no `{close}` follows in this statement")),
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
                        Diagnostic::error("E0109", format!("`{}` is closed by `{}`", open as char, byte as char))
                            .label(here, format!("`{}` was expected", expected as char))
                            .label(Span::new(from, from + 1), "for this"),
                    );
                }
            }
            None => self.report_in(
                brackets,
                Diagnostic::error("E0109", format!("this `{}` closes nothing", byte as char))
                    .label(here, format!("no `{}` before it is open", if byte == b')' { '(' } else { '[' })),
            ),
        }
    }

    fn too_deep(&mut self, brackets: &mut Brackets, at: usize) {
        self.report_in(
            brackets,
            Diagnostic::error("E0103", format!("more than {MAX_NESTING} levels of brackets or `if`"))
                .label(Span::new(at, at + 1), "one level too many")
                .help("give parts of the expression names of their own"),
        );
    }

    /// Where a statement goes on after the newline at `newline`, if it does.
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
            // the cheap questions first: the last one reads all of the statement so far
            let equation = column <= indent && lone_equals(line).is_some_and(|at| !line[..at].contains(','));
            let complete = || lone_equals(so_far).is_some() || classify(so_far, false).is_some();
            let new = !comma && equation && complete();
            return (!keyword_line && !new).then_some(next);
        }
        (column > indent && begins_open(line)).then_some(next)
    }

    /// First non-blank position of the next line that is not a comment. A blank line ends the search unless `far`.
    fn next_line(&self, mut at: usize, far: bool) -> Option<usize> {
        while at < self.text.len() {
            let line = self.rest_of_line(at);
            if let Some(column) = line.find(|c| c != ' ' && c != '\t') {
                return Some(at + column);
            }
            if !far && self.source[at..at + line.len()].trim().is_empty() {
                return None;
            }
            at += line.len() + 1;
        }
        None
    }

    fn skip(&mut self, what: &[u8]) -> bool {
        let bytes = self.text.as_bytes();
        while self.pos < bytes.len() && what.contains(&bytes[self.pos]) {
            self.pos += 1;
        }
        self.pos < bytes.len()
    }

    fn line_start(&self, at: usize) -> usize {
        self.lines.at(at).0
    }

    fn rest_of_line(&self, at: usize) -> &str {
        &self.text[at..self.lines.at(at).2]
    }

    /// Width of the blanks that begin the line of `at`.
    fn indent(&self, at: usize) -> usize {
        let (start, first, _) = self.lines.at(at);
        first - start
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Reports the first mistake of a segment only: what follows from a wrong bracket is rarely a second one.
    fn report_in(&mut self, brackets: &mut Brackets, diagnostic: Diagnostic) {
        if !std::mem::replace(&mut brackets.bad, true) {
            self.diagnostics.push(diagnostic);
        }
    }
}

/// Start, first non-blank position and end of every physical line.
struct Lines(Vec<(usize, usize, usize)>);

impl Lines {
    fn of(text: &str) -> Lines {
        let mut at = 0;
        let lines = text.split('\n').map(|line| {
            let start = at;
            at += line.len() + 1;
            let first = start + (line.len() - line.trim_start_matches([' ', '\t']).len());
            (start, first, start + line.len())
        });
        Lines(lines.collect())
    }

    /// The line that holds a position.
    fn at(&self, at: usize) -> (usize, usize, usize) {
        let after = self.0.partition_point(|&(start, ..)| start <= at);
        self.0.get(after.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// State of one segment: open brackets with place and number of `if`s around them.
#[derive(Default)]
struct Brackets {
    open: Vec<(u8, usize, usize)>,
    ifs: usize,
    bad: bool,
}

/// Whether a line begins with a keyword and what only a keyword is followed by.
fn begins_statement(line: &str) -> bool {
    let Some(word) = classify(line, line.contains('{')) else { return false };
    let rest = line[word.word().len()..].trim_start();
    let next = first_word(rest);
    let infix = matches!(next, "in" | "where" | "within" | "and" | "or" | "then" | "else");
    !infix && (!next.is_empty() || rest.is_empty() || rest.starts_with(['{', '"', '(', '[', '-', '.']))
}

/// Position of a `=` that is no part of another operator, outside of brackets.
pub fn lone_equals(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let mut depth = 0usize;
    let mut in_text = false;
    for (i, &byte) in bytes.iter().enumerate() {
        match byte {
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'=' if depth == 0 => {
                let before = i.checked_sub(1).map(|i| bytes[i]);
                let part = before.is_some_and(|byte| b"=<>!:+-".contains(&byte)) || bytes.get(i + 1) == Some(&b'=');
                if !part {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

const OPERATORS: [char; 17] = ['+', '-', '*', '/', '^', '=', '<', '>', '−', '·', '×', '⋅', '≤', '≥', '≠', '±', '!'];

/// Whether a line ends with an operator, `=`, `..`, or a reserved word, so that something must follow.
fn ends_open(line: &str) -> bool {
    let word = line.rsplit(|c: char| !keyword::is_name_char(c)).next().unwrap_or_default();
    line.ends_with(OPERATORS) || line.ends_with("..") || keyword::RESERVED.contains(&word)
}

/// Whether a line begins with what can only go on from the line before.
fn begins_open(line: &str) -> bool {
    (line.starts_with(OPERATORS) && lone_equals(line) != Some(0))
        || matches!(first_word(line), "then" | "else" | "and" | "or")
}
