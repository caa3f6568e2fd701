//! Splits a masked text into logical lines and blocks, and reports bracket errors.
//!
//! A newline ends a statement except inside `( )` and `[ ]`, after an operator, comma or `=`, and before a line that
//! is indented more and begins with an operator, `then`, `else`, `and`, `or`. Inside `{ }` newline, `;` or `,`
//! separates. An open bracket does not extend over the whole file: it ends at the evident start of a new statement.

mod segment;
mod text;

use std::borrow::Cow;
use std::ops::Range;

use odec_ir::Span;

use super::idiom::without_brackets;
use super::keyword::{Keyword, REST, classify, first_word};
use crate::diagnostic::{Diagnostic, Fix, codes};
use text::{Lines, actions_in_head, begins_clause, lone_equals, named_set, without_texts, without_time};

/// Declarations with lists of items.
const LISTS: [&str; 7] = ["param", "const", "state", "unknown", "discrete", "output", "index"];

/// A span of text that is one statement, entry, action or head of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its position, without blanks around it.
    pub range: Range<usize>,
    /// A mistake in it has been reported already; it is not parsed.
    pub bad: bool,
}

/// The text between `{` and `}`.
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
pub struct LinePiece {
    /// The line, or the text before `{`.
    pub head: Segment,
    /// The block, if there is one.
    pub block: Option<Block>,
}

/// Result of [`cut`].
#[derive(Debug, Default)]
pub struct Cut {
    /// The statements.
    pub pieces: Vec<LinePiece>,
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
        bare: without_texts(masked),
        lines: Lines::of(masked),
        pos: 0,
        pieces: Vec::new(),
        diagnostics: Vec::new(),
        brace: None,
        semicolons: None,
    };
    cutter.run();
    Cut { pieces: cutter.pieces, diagnostics: cutter.diagnostics }
}

struct Cutter<'a> {
    source: &'a str,
    text: &'a str,
    /// The text with blanked quotations: a brace in a quotation does not count.
    bare: Cow<'a, str>,
    lines: Lines,
    pos: usize,
    pieces: Vec<LinePiece>,
    diagnostics: Vec<Diagnostic>,
    /// A cached search: a position, and the next brace after it.
    brace: Option<(usize, Option<usize>)>,
    /// The message about a stray `;`, by its index.
    semicolons: Option<usize>,
}

impl Cutter<'_> {
    fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// The message about a `}` at this place.
    fn closes_nothing(&self, at: usize) -> Diagnostic {
        let report = Diagnostic::error(&codes::E0109, "this `}` closes no block")
            .label(Span::new(at, at + 1), "there is no open `{` before it");
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        if self.text[start..at].contains("\\\"") {
            return report.help("a text ends at its next `\"`, also after a backslash: write `'` inside a text");
        }
        report
    }

    fn run(&mut self) {
        while self.skip(b" \t\n") {
            let start = self.pos;
            if self.bytes()[start] == b'}' {
                self.pos += 1;
                self.report(self.closes_nothing(start));
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

    /// `run t = 0 .. 1 }`: the end of the head of a block whose `{` is missing although its `}` exists.
    fn head_without_brace(&mut self) -> Option<usize> {
        let line = self.rest_of_line(self.pos);
        let word = classify(line, false).filter(|word| matches!(word, Keyword::Run | Keyword::Params))?;
        let rest = line[word.word().len()..].trim_start();
        let name = first_word(rest);
        let after = rest[name.len()..].trim_start();
        let named = !after.starts_with(['=', '(', '\'']);
        let end = if named { line.len() - rest.len() + name.len() } else { word.word().len() };
        let more = !line[end..].trim().is_empty();
        let open = self.bare[self.pos..self.pos + line.len()].contains('{');
        (!name.is_empty() && more && !open && self.closes_next()).then_some(self.pos + end)
    }

    fn no_brace(&mut self, start: usize, end: usize) {
        let head = &self.text[start..end];
        self.report(
            Diagnostic::error(&codes::E0111, format!("the block of this `{}` has no `{{`", first_word(head)))
                .label(Span::new(start, end), "`{` is missing after this")
                .fix(Span::new(end, end), " {"),
        );
        self.pos = end;
        let block = self.block(end, start, true);
        self.pieces.push(LinePiece { head: Segment { range: start..end, bad: false }, block: Some(block) });
    }

    fn finish(&mut self, head: Segment, stop: Stop) {
        let line = &self.text[head.range.clone()];
        match stop {
            Stop::Open(at) => {
                self.pos = at + 1;
                let block = self.block(at, head.range.start, false);
                self.pieces.push(LinePiece { head, block: Some(block) });
            }
            Stop::Close(at) => {
                self.pos = at + 1;
                let block = classify(line, false).filter(|word| word.takes_block());
                let diagnostic = match block {
                    Some(word) => {
                        Diagnostic::error(&codes::E0111, format!("the block of this `{}` has no `{{`", word.word()))
                            .label(Span::new(head.range.start, head.range.end), "`{` is missing")
                            .label(Span::new(at, at + 1), "the `}` that would close it")
                    }
                    None => self.closes_nothing(at),
                };
                self.report(diagnostic);
                self.pieces.push(LinePiece { head: Segment { bad: true, ..head }, block: None });
            }
            Stop::Separator(at) if self.is_list(&head, at) => self.list(head, at),
            Stop::Separator(at) => {
                self.pos = at + 1;
                self.semicolon(at);
                if !head.range.is_empty() {
                    self.pieces.push(LinePiece { head, block: None });
                }
            }
            Stop::Newline | Stop::End => self.line(head),
        }
    }

    /// Reports the first `;` after a statement, and mends all.
    fn semicolon(&mut self, at: usize) {
        let place = Span::new(at, at + 1);
        let first = *self.semicolons.get_or_insert_with(|| {
            self.diagnostics.push(
                Diagnostic::error(&codes::E0126, "a statement ends with its line, not with `;`")
                    .label(place, "not needed")
                    .help("remove the `;`, and write each statement on its own line"),
            );
            self.diagnostics.len() - 1
        });
        let rest = self.text[at + 1..].trim_start_matches([' ', '\t']);
        let ends = rest.is_empty() || rest.starts_with(['\n', ';', '#']);
        self.diagnostics[first].fixes.push(Fix { span: place, text: if ends { "" } else { "\n" }.to_owned() });
    }

    /// True for `param a = 1; b = 2`: a declaration, and after the `;` on the same line another item of it.
    fn is_list(&self, head: &Segment, at: usize) -> bool {
        let rest = self.rest_of_line(at + 1).trim_start();
        let word = first_word(rest);
        let next = rest[word.len()..].trim_start();
        let item =
            next.is_empty() || next.starts_with([',', ';', '[']) || next.starts_with('=') && !next.starts_with("==");
        let name = word.starts_with(|c: char| c.is_alphabetic() || c == '_') && classify(rest, false).is_none();
        LISTS.contains(&first_word(&self.text[head.range.clone()])) && name && item
    }

    /// Reports a `;` between the items of a declaration. The rest of the line is not read.
    fn list(&mut self, head: Segment, at: usize) {
        self.pos = at + 1;
        let word = first_word(&self.text[head.range.clone()]);
        let report = Diagnostic::error(&codes::E0126, format!("commas separate the items of `{word}`, not `;`"))
            .label(Span::new(at, at + 1), "write `,`")
            .fix(Span::new(at, at + 1), ",");
        self.report(report);
        self.pieces.push(LinePiece { head, block: None });
        loop {
            let (rest, stop) = self.segment(false);
            let rest = Segment { bad: true, ..rest };
            let Stop::Separator(at) = stop else { return self.finish(rest, stop) };
            self.pos = at + 1;
            self.pieces.push(LinePiece { head: rest, block: None });
        }
    }

    /// A line without a brace: a plain statement, or the head of a block whose brace is on the next line or missing.
    fn line(&mut self, head: Segment) {
        let text = &self.text[head.range.clone()];
        let word = classify(text, false).filter(|word| word.takes_block());
        let after = self.pos;
        if text == REST && !head.bad && self.skip(b" \t\n") && self.bytes()[self.pos] == b'{' {
            let at = self.pos;
            self.pos += 1;
            let block = self.block(at, head.range.start, false);
            self.pieces.push(LinePiece { head, block: Some(block) });
            return;
        }
        self.pos = after;
        let Some(word) = word.filter(|_| !head.bad) else {
            self.pieces.push(LinePiece { head, block: None });
            return;
        };
        if self.skip(b" \t\n") && self.bytes()[self.pos] == b'{' {
            let at = self.pos;
            self.pos += 1;
            let block = self.block(at, head.range.start, false);
            self.pieces.push(LinePiece { head, block: Some(block) });
            return;
        }
        if word.is_event() && self.pos > after && begins_clause(self.rest_of_line(self.pos)) {
            self.clause_at_the_margin(head, word);
            return;
        }
        self.pos = after;
        let end = head.range.end;
        let diagnostic = Diagnostic::error(&codes::E0111, format!("`{}` needs a block in braces", word.word()))
            .label(Span::new(head.range.start, end), "`{` is missing");
        if self.closes_next() {
            self.report(diagnostic.fix(Span::new(end, end), " {"));
            let block = self.block(end, head.range.start, true);
            self.pieces.push(LinePiece { head, block: Some(block) });
        } else {
            let inside = self.text[head.range.clone()].trim_start_matches(word.word()).trim();
            let inside = if word == Keyword::At { without_time(inside, "t") } else { inside };
            let help = match word {
                Keyword::Run if lone_equals(without_brackets(inside)).is_some() => {
                    format!("write `run {{ {} }}`", without_brackets(inside).replacen(" to ", " .. ", 1))
                }
                Keyword::Run if !inside.contains('=') && without_brackets(inside).contains("..") => {
                    format!("write `run {{ t = {} }}`", without_brackets(inside))
                }
                Keyword::Params if named_set(inside).is_some() => named_set(inside).unwrap_or_default(),
                Keyword::Params if lone_equals(inside).is_some() => {
                    let start = head.range.start;
                    self.report(
                        diagnostic
                            .help(format!(
                                "write `param {inside}`; write a set of values as `params NAME {{ {inside} }}`"
                            ))
                            .fix(Span::new(start, start + word.word().len()), "param"),
                    );
                    self.pieces.push(LinePiece { head: Segment { bad: true, ..head }, block: None });
                    return;
                }
                _ if word.is_event()
                    && let Some((what, actions)) = actions_in_head(inside) =>
                {
                    format!("write `{} {what} {{ {actions} }}`", word.word())
                }
                _ => {
                    let start = if word == Keyword::At { format!("at {inside}") } else { text.to_owned() };
                    let actions = if word.is_event() { self.skip_actions() } else { "...".to_owned() };
                    format!("write `{start} {{ {actions} }}`")
                }
            };
            self.report(diagnostic.help(help));
            self.pieces.push(LinePiece { head: Segment { bad: true, ..head }, block: None });
        }
    }

    /// Passes over the indented actions below the head of an event, and returns their text.
    fn skip_actions(&mut self) -> String {
        let below = self.actions_below();
        let texts: Vec<&str> = below.iter().map(|action| &self.text[action.range.clone()]).collect();
        let actions = if texts.is_empty() { "...".to_owned() } else { texts.join("; ") };
        self.pieces.extend(below.into_iter().map(|head| LinePiece { head, block: None }));
        actions
    }

    /// The indented actions below the head of an event without braces. They are not read: one message is enough.
    fn actions_below(&mut self) -> Vec<Segment> {
        let mut below = Vec::new();
        loop {
            let start = self.pos;
            let first = start + usize::from(self.text[start..].starts_with('\n'));
            let line = self.rest_of_line(first);
            let action = [":=", "+=", "-="].iter().any(|sign| line.contains(sign)) || first_word(line.trim()) == "stop";
            if !line.starts_with([' ', '\t']) || !action {
                return below;
            }
            self.pos = first + (line.len() - line.trim_start().len());
            let (segment, stop) = self.segment(false);
            if !matches!(stop, Stop::Newline | Stop::End) {
                self.pos = start;
                return below;
            }
            below.push(Segment { bad: true, ..segment });
        }
    }

    /// A line that begins with a clause of the event before it, and is not indented.
    fn clause_at_the_margin(&mut self, head: Segment, word: Keyword) {
        let at = self.pos;
        let clause = first_word(self.rest_of_line(at)).len();
        self.report(
            Diagnostic::error(&codes::E0111, format!("this clause is not part of the `{}` above it", word.word()))
                .label(Span::new(at, at + clause), "indent this line to continue the statement")
                .label(Span::new(head.range.start, head.range.end), "the statement ends here")
                .fix(Span::new(at, at), "  "),
        );
        let (_, stop) = self.segment(false);
        if let Stop::Open(open) = stop {
            self.pos = open + 1;
            self.block(open, head.range.start, true);
        }
        self.pieces.push(LinePiece { head: Segment { bad: true, ..head }, block: None });
    }

    /// True if the next brace is `}`.
    fn closes_next(&mut self) -> bool {
        let known = self.brace.filter(|&(from, at)| from <= self.pos && at.is_none_or(|at| at >= self.pos));
        let at = match known {
            Some((_, at)) => at,
            None => self.bare[self.pos..].find(['{', '}']).map(|offset| self.pos + offset),
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
        // an unindented `expect` may follow the block or belong to it
        let mut end = None;
        loop {
            if !self.skip(b" \t\n;,") || self.leaves_block(indent, run) {
                let end = end.unwrap_or(block.end).max(open + 1);
                if !silent {
                    self.report(
                        Diagnostic::error(&codes::E0110, "this `{` is not closed")
                            .label(Span::new(open, open + 1), "`}` is missing")
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
                        self.inner_block(&block, open, at);
                    }
                    silent = true;
                }
                Stop::Separator(at) => self.pos = at + 1,
                Stop::Newline | Stop::End => {}
            }
        }
    }

    /// `{` inside of a block.
    fn inner_block(&mut self, block: &Block, open: usize, at: usize) {
        let head = block.body.last().map(|segment| segment.range.clone()).unwrap_or(at..at);
        let text = &self.text[head.clone()];
        let (first, here) = (Span::new(open, open + 1), Span::new(at, at + 1));
        let report = if text == REST {
            Diagnostic::error(&codes::E0110, "`}` is missing before `rest`")
                .label(Span::new(head.start, head.end), "`rest` follows the block of a `when`")
                .label(first, "this block is still open")
                .fix(Span::new(head.start, head.start), "} ")
        } else {
            let help = match text.strip_prefix("if ") {
                Some(condition) => format!("put a choice on the right side: `x := if {condition} then 1 else x`"),
                None => "close the first block with `}` before the next one begins, or remove this `{`".to_owned(),
            };
            Diagnostic::error(&codes::E0110, "a block inside a block")
                .label(here, "this `{`")
                .label(first, "inside the block that begins here")
                .help(help)
        };
        self.report(report);
    }

    /// True if the line that starts here cannot belong to the block whose head is indented by `indent`.
    fn leaves_block(&self, indent: usize, run: bool) -> bool {
        let (line_start, first, _) = self.lines.at(self.pos);
        if self.pos != first || self.pos - line_start > indent {
            return false;
        }
        let line = self.rest_of_line(self.pos);
        match classify(line, self.bare[self.pos..self.pos + line.len()].contains('{')) {
            Some(Keyword::Expect) => !run,
            Some(_) => true,
            None => {
                let word = first_word(line);
                !word.is_empty() && line[word.len()..].starts_with('\'') && lone_equals(line).is_some()
            }
        }
    }

    /// First non-blank position of the next line that is not a comment. A blank line ends the search unless `far` is set.
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
}
