//! A logical line split into tokens without the grammar: the input of the search for idioms of other languages.

use std::ops::Range;

use odec_ir::Span;

use crate::syntax::explain::token::{Token, TokenKind, tokens};

/// Largest number of physical lines that are joined: an open bracket does not extend over the whole file.
const MAX_JOINED: usize = 40;

/// A line with its continuation lines. Positions are relative to the start of the file.
#[derive(Debug)]
pub struct Line<'a> {
    /// The masked text of the file.
    pub file: &'a str,
    /// Position of the line, without the blanks around it.
    pub range: Range<usize>,
    /// Width of the blanks before it.
    pub indent: usize,
    /// Its words and signs.
    pub tokens: Vec<Token>,
    /// For each token, the bracket that closes the first bracket from there on: see [`Line::close`].
    closed_by: Vec<Option<u32>>,
}

impl<'a> Line<'a> {
    /// The line of this range.
    pub fn new(file: &'a str, range: Range<usize>, indent: usize) -> Line<'a> {
        let shift = |token: Token| Token { start: token.start + range.start, end: token.end + range.start, ..token };
        let tokens: Vec<Token> = tokens(&file[range.clone()]).into_iter().map(shift).collect();
        let closed_by = closed_by(&tokens);
        Line { file, range, indent, tokens, closed_by }
    }

    /// Its text.
    pub fn whole(&self) -> &'a str {
        &self.file[self.range.clone()]
    }

    /// Text of a token; empty if there is none.
    pub fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| &self.file[token.start..token.end])
    }

    /// The kind of a token.
    pub fn kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// True if a token is a name.
    pub fn is_name(&self, at: usize) -> bool {
        self.kind(at) == Some(TokenKind::Name)
    }

    /// True if the tokens from `at` on touch each other and have these texts.
    pub fn reads(&self, at: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(k, word)| self.text(at + k) == *word)
    }

    /// True if a token touches the next one.
    pub fn touches(&self, at: usize) -> bool {
        match (self.tokens.get(at), self.tokens.get(at + 1)) {
            (Some(a), Some(b)) => a.end == b.start,
            _ => false,
        }
    }

    /// The range of the tokens `from..=to`.
    pub fn span(&self, from: usize, to: usize) -> Span {
        let start = self.tokens.get(from).map_or(self.range.end, |token| token.start);
        Span::new(start, self.tokens.get(to).map_or(start, |token| token.end))
    }

    /// The text of the tokens `from..to`.
    pub fn slice(&self, from: usize, to: usize) -> &'a str {
        match (self.tokens.get(from), to.checked_sub(1).and_then(|last| self.tokens.get(last))) {
            (Some(first), Some(last)) if first.start <= last.end => &self.file[first.start..last.end],
            _ => "",
        }
    }

    /// The text between two positions in the file; empty if the second one comes first.
    pub fn between(&self, from: usize, to: usize) -> &'a str {
        self.file.get(from..to).unwrap_or("")
    }

    /// The bracket that closes the bracket at `open`.
    pub fn close(&self, open: usize) -> Option<usize> {
        self.closed_by.get(open).copied().flatten().map(|at| at as usize)
    }

    /// The arguments between the bracket at `open` and its partner: ranges of tokens.
    pub fn arguments(&self, open: usize) -> Option<Vec<Range<usize>>> {
        let close = self.close(open)?;
        let mut found = Vec::new();
        let (mut from, mut depth) = (open + 1, 0usize);
        for at in open + 1..close {
            match self.kind(at) {
                Some(TokenKind::Open) => depth += 1,
                Some(TokenKind::Close) => depth = depth.saturating_sub(1),
                Some(TokenKind::Comma) if depth == 0 => {
                    found.push(from..at);
                    from = at + 1;
                }
                _ => {}
            }
        }
        if close > open + 1 {
            found.push(from..close);
        }
        Some(found)
    }

    /// The first token with this text outside of brackets, from `from` on.
    pub fn find(&self, from: usize, wanted: &str) -> Option<usize> {
        let mut depth = 0usize;
        for at in from..self.tokens.len() {
            match self.kind(at) {
                Some(TokenKind::Open) => depth += 1,
                Some(TokenKind::Close) => depth = depth.checked_sub(1)?,
                _ if depth == 0 && self.text(at) == wanted => return Some(at),
                _ => {}
            }
        }
        None
    }

    /// End of the span of text that contains `at`: the enclosing bracket, or the end of the line.
    pub fn span_end(&self, at: usize) -> usize {
        let mut depth = 0usize;
        for k in at..self.tokens.len() {
            match self.kind(k) {
                Some(TokenKind::Open) => depth += 1,
                Some(TokenKind::Close) if depth == 0 => return k,
                Some(TokenKind::Close) => depth -= 1,
                Some(TokenKind::Comma) if depth == 0 => return k,
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// Start of the span of text that ends before `at`: after the enclosing bracket, a comma, or `=`.
    pub fn span_start(&self, at: usize) -> usize {
        let mut depth = 0usize;
        for k in (0..at).rev() {
            match self.kind(k) {
                Some(TokenKind::Close) => depth += 1,
                Some(TokenKind::Open) if depth == 0 => return k + 1,
                Some(TokenKind::Open) => depth -= 1,
                Some(TokenKind::Comma | TokenKind::Equals | TokenKind::Assign) if depth == 0 => return k + 1,
                _ => {}
            }
        }
        0
    }

    /// The end of the operand that begins at `at`: a number, a name with brackets and primes, a bracket.
    pub fn operand_end(&self, at: usize) -> Option<usize> {
        let mut end = match self.kind(at)? {
            TokenKind::Number | TokenKind::Malformed => return Some(at + 1),
            TokenKind::Open => self.close(at)? + 1,
            TokenKind::Name => at + 1,
            _ => return None,
        };
        while self.touches(end - 1) {
            match self.kind(end) {
                Some(TokenKind::Open) if self.text(end) != "{" => end = self.close(end)? + 1,
                Some(TokenKind::Prime) => end += 1,
                _ => break,
            }
        }
        Some(end)
    }

    /// True for an operator that binds as tightly as a product: what stands before it does not end there.
    pub fn binds(&self, at: usize) -> bool {
        matches!(self.text(at), "^" | "**" | "*" | "/" | ".^" | ".*" | "./")
    }
}

/// For each token, the bracket that closes the first bracket from there on. A line with many brackets is searched at
/// each of its tokens, so the partners are found once.
fn closed_by(tokens: &[Token]) -> Vec<Option<u32>> {
    let mut found = vec![None; tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Open => open.push(at),
            TokenKind::Close => {
                if let Some(from) = open.pop() {
                    found[from] = u32::try_from(at).ok();
                }
            }
            _ => {}
        }
    }
    for at in (1..tokens.len()).rev() {
        if !matches!(tokens[at - 1].kind, TokenKind::Open | TokenKind::Close) {
            found[at - 1] = found[at];
        }
    }
    found
}

/// `text` as an operand: in brackets unless it is one already.
pub fn operand(text: &str) -> String {
    let found = tokens(text);
    let closed_by = closed_by(&found);
    let line = Line { file: text, range: 0..text.len(), indent: 0, tokens: found, closed_by };
    match line.operand_end(0) {
        Some(end) if end == line.tokens.len() => text.to_string(),
        _ => format!("({text})"),
    }
}

/// The text without brackets around the whole of it.
pub fn bare(text: &str) -> &str {
    let text = text.trim();
    let line = Line::new(text, 0..text.len(), 0);
    match line.close(0) {
        Some(close) if line.text(0) == "(" && close + 1 == line.tokens.len() => text[1..text.len() - 1].trim(),
        _ => text,
    }
}

/// The logical lines of a masked text.
pub fn lines(file: &str) -> Vec<Line<'_>> {
    let mut physical: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for line in file.split('\n') {
        physical.push(at..at + line.len());
        at += line.len() + 1;
    }
    let mut out = Vec::new();
    let mut k = 0;
    while k < physical.len() {
        let text = &file[physical[k].clone()];
        if text.trim().is_empty() {
            k += 1;
            continue;
        }
        let indent = text.len() - text.trim_start().len();
        let start = physical[k].start + indent;
        let mut last = k;
        let mut depth = depth_of(text);
        while last + 1 < physical.len() && last - k < MAX_JOINED {
            let so_far = file[start..physical[last].end].trim_end();
            let next = &file[physical[last + 1].clone()];
            let deeper = next.len() - next.trim_start().len() > indent;
            let inside = depth > 0 && !next.trim().is_empty() && !begins_block(next.trim_start());
            if !(inside || deeper && goes_on(so_far, next.trim_start())) {
                break;
            }
            last += 1;
            depth += depth_of(next);
        }
        let end = start + file[start..physical[last].end].trim_end().len();
        out.push(Line::new(file, start..end, indent));
        k = last + 1;
    }
    out
}

/// Number of brackets that a line opens minus those that it closes; braces do not count.
fn depth_of(text: &str) -> isize {
    text.bytes().map(|byte| isize::from(matches!(byte, b'(' | b'[')) - isize::from(matches!(byte, b')' | b']'))).sum()
}

/// True for the head of a block. If a bracket is open before it, its end is missing, and the line ends there.
fn begins_block(next: &str) -> bool {
    let word = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    matches!(word, "run" | "params" | "when" | "every" | "at" | "use" | "fn" | "model") && next.contains('{')
}

fn goes_on(so_far: &str, next: &str) -> bool {
    const SIGNS: [char; 7] = ['+', '-', '*', '/', '^', '=', ','];
    let word = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    // Fortran begins the next line with `&`
    let again = next.starts_with('&') && !next.starts_with("&&");
    again || so_far.ends_with(SIGNS) || next.starts_with(&SIGNS[..6]) || matches!(word, "then" | "and" | "or")
}
