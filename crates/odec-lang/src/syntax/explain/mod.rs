//! Explains in terms that users know why the grammar rejects a line: one diagnostic per line, at the first wrong
//! token.
//!
//! The grammar reports the position that it reached. The token there, the token before it and the kind of statement
//! determine the message; the list of tokens that the grammar accepts is the last resort.

mod block;
mod borrowed;
mod bracket;
mod events;
mod expected;
mod lexical;
mod named;
mod notation;
mod prose;
mod repeated;
mod statement;
pub(super) mod token;
mod value;
mod words;

use odec_ir::Span;
use pest::error::{Error, InputLocation};

use super::grammar::Rule;
use crate::diagnostic::{Code, Diagnostic, codes};
use token::{Token, TokenKind};

/// One diagnostic for a line that `rule` rejected; `base` is the position of the line in the file.
pub fn explain(line: &str, base: usize, rule: Rule, error: &Error<Rule>) -> Diagnostic {
    let position = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let mut tokens = token::tokens(line);
    let plain = matches!(rule, Rule::equation_line | Rule::entry_line | Rule::part_entry | Rule::action_line);
    if let Some(first) = tokens.first_mut().filter(|first| !plain && first.kind == TokenKind::Name) {
        first.kind = TokenKind::Keyword;
    }
    let at = tokens.partition_point(|token| token.end <= position);
    let mut brackets = Vec::new();
    for (i, token) in tokens.iter().enumerate().take(at) {
        match token.kind {
            TokenKind::Open => brackets.push(i),
            TokenKind::Close => {
                brackets.pop();
            }
            _ => {}
        }
    }
    let scene = Scene { line, base, rule, tokens, at, brackets, expected: expected::expected(error) };
    events::elsewhere(&scene)
        .or_else(|| notation::explain(&scene))
        .or_else(|| lexical::explain(&scene))
        .or_else(|| words::explain(&scene))
        .or_else(|| statement::explain(&scene))
        .or_else(|| value::explain(&scene))
        .unwrap_or_else(|| scene.general())
}

/// Reports a word before `{` that starts no block.
pub fn unknown_block(line: &str, base: usize, open: usize) -> Diagnostic {
    words::unknown_block(line, base, open)
}

/// True if a word starts statements.
pub fn is_keyword(word: &str) -> bool {
    words::is_keyword(word).is_some()
}

/// A rejected line, and the position at which the grammar stopped.
struct Scene<'a> {
    line: &'a str,
    base: usize,
    rule: Rule,
    tokens: Vec<Token>,
    /// Index in `tokens` of the first token that does not fit; their number if the line is too short.
    at: usize,
    /// Indices of the open brackets at that position.
    brackets: Vec<usize>,
    /// The tokens that the grammar would have accepted.
    expected: Vec<&'static str>,
}

impl Scene<'_> {
    fn here(&self) -> Option<Token> {
        self.tokens.get(self.at).copied()
    }

    fn before(&self) -> Option<Token> {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).copied()
    }

    fn after(&self) -> Option<Token> {
        self.tokens.get(self.at + 1).copied()
    }

    fn text(&self, token: Token) -> &str {
        token.text(self.line)
    }

    fn span(&self, token: Token) -> Span {
        Span::new(self.base + token.start, self.base + token.end)
    }

    /// The empty range just after a token.
    fn behind(&self, token: Token) -> Span {
        Span::new(self.base + token.end, self.base + token.end)
    }

    /// The empty range just before a token.
    fn ahead_of(&self, token: Token) -> Span {
        Span::new(self.base + token.start, self.base + token.start)
    }

    fn wants(&self, word: &str) -> bool {
        self.expected.contains(&word)
    }

    /// True if two tokens touch.
    #[expect(clippy::unused_self, reason = "a question about the line")]
    fn touching(&self, a: Token, b: Token) -> bool {
        a.end == b.start
    }

    /// `between a and this`, if that is short.
    fn between(&self, before: Token) -> String {
        match before.kind {
            TokenKind::Name | TokenKind::Number => format!("between `{}` and this", self.text(before)),
            _ => "before this".to_string(),
        }
    }

    /// The innermost open bracket.
    fn bracket(&self) -> Option<Token> {
        self.brackets.last().and_then(|&at| self.tokens.get(at)).copied()
    }

    /// True if a reserved word or name comes later in the line.
    fn later(&self, word: &str) -> bool {
        self.tokens.iter().skip(self.at).any(|&token| self.text(token) == word)
    }

    /// True if a word comes before the position.
    fn earlier(&self, word: &str) -> bool {
        self.tokens.iter().take(self.at).any(|&token| self.text(token) == word)
    }

    #[expect(clippy::unused_self, reason = "reads like the places that follow it")]
    fn error(&self, code: &'static Code, headline: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, headline)
    }

    /// The found token, and the tokens that the grammar would have accepted.
    fn general(&self) -> Diagnostic {
        let mut words = self.expected.clone();
        if let (Some(open), true) = (self.bracket(), self.before().is_some_and(|token| token.ends_value())) {
            words.retain(|word| *word != "`,`");
            words.push("`,`");
            words.push(if self.text(open) == "(" { "`)`" } else { "`]`" });
            words.retain(|word| *word != "the end of the line");
        }
        let expected = expected::list(&words);
        match (self.here(), self.before()) {
            (Some(here), _) => self
                .error(&codes::E0118, format!("unexpected `{}`", self.text(here)))
                .label(self.span(here), format!("expected {expected}")),
            (None, Some(last)) => self
                .error(&codes::E0128, "the line is not complete")
                .label(self.span(last), format!("after this, expected {expected}")),
            (None, None) => self
                .error(&codes::E0128, "the line is empty")
                .label(Span::new(self.base, self.base), format!("expected {expected}")),
        }
    }
}
