//! The tokens of a line that the grammar rejected.

use crate::syntax::keyword::{RESERVED, first_word, is_name_char};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A well-formed number.
    Number,
    /// Digits with a suffix that does not form a number: `2u`, `1d-3`, `1.2.3`.
    Malformed,
    Name,
    /// The first word, if it determined the rule.
    Keyword,
    Reserved,
    Text,
    Prime,
    Open,
    Close,
    Comma,
    Colon,
    /// `..`
    Range,
    Dot,
    /// `=`
    Equals,
    /// `:=`, `+=`, `-=`
    Assign,
    /// `+ - * / ^ **` and their typeset forms
    Operator,
    /// `< <= == ...`
    Compare,
    /// `%`
    Percent,
    /// `±`
    PlusMinus,
    /// An operator of other languages: `&&`, `||`, `!`, `?`, `->`, `;`
    Foreign,
    /// A raised digit: `²`
    Raised,
    /// A character that is not part of the language.
    Unknown,
}

/// A token and its position in its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub start: usize,
    pub end: usize,
}

impl Token {
    pub fn text<'a>(&self, line: &'a str) -> &'a str {
        &line[self.start..self.end]
    }

    /// True if a value can end with it.
    pub fn ends_value(&self) -> bool {
        matches!(
            self.kind,
            TokenKind::Number
                | TokenKind::Malformed
                | TokenKind::Name
                | TokenKind::Text
                | TokenKind::Prime
                | TokenKind::Close
                | TokenKind::Raised
        )
    }

    /// True if a value can start with it.
    pub fn begins_value(&self) -> bool {
        matches!(
            self.kind,
            TokenKind::Number | TokenKind::Malformed | TokenKind::Name | TokenKind::Text | TokenKind::Open
        )
    }
}

/// Longer signs first, so that `<=` is not read as `<`.
const SIGNS: [(&str, TokenKind); 49] = [
    ("<=>", TokenKind::Foreign),
    ("-->", TokenKind::Foreign),
    ("<->", TokenKind::Foreign),
    ("..", TokenKind::Range),
    ("**", TokenKind::Operator),
    ("<=", TokenKind::Compare),
    (">=", TokenKind::Compare),
    ("==", TokenKind::Compare),
    ("!=", TokenKind::Compare),
    (":=", TokenKind::Assign),
    ("+=", TokenKind::Assign),
    ("-=", TokenKind::Assign),
    ("*=", TokenKind::Foreign),
    ("/=", TokenKind::Foreign),
    ("<>", TokenKind::Foreign),
    ("~=", TokenKind::Foreign),
    ("<-", TokenKind::Foreign),
    ("->", TokenKind::Foreign),
    ("=>", TokenKind::Foreign),
    ("&&", TokenKind::Foreign),
    ("||", TokenKind::Foreign),
    ("&", TokenKind::Foreign),
    ("|", TokenKind::Foreign),
    ("!", TokenKind::Foreign),
    ("?", TokenKind::Foreign),
    (";", TokenKind::Foreign),
    ("=", TokenKind::Equals),
    ("+", TokenKind::Operator),
    ("-", TokenKind::Operator),
    ("−", TokenKind::Operator),
    ("*", TokenKind::Operator),
    ("·", TokenKind::Operator),
    ("×", TokenKind::Operator),
    ("⋅", TokenKind::Operator),
    ("/", TokenKind::Operator),
    ("^", TokenKind::Operator),
    ("<", TokenKind::Compare),
    (">", TokenKind::Compare),
    ("≤", TokenKind::Compare),
    ("≥", TokenKind::Compare),
    ("≠", TokenKind::Compare),
    ("'", TokenKind::Prime),
    ("′", TokenKind::Prime),
    ("’", TokenKind::Prime),
    ("″", TokenKind::Prime),
    (",", TokenKind::Comma),
    (":", TokenKind::Colon),
    ("%", TokenKind::Percent),
    ("±", TokenKind::PlusMinus),
];

/// All tokens of a line.
pub fn tokens(line: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = line[at..].chars().next() {
        if c == ' ' || c == '\t' || c == '\n' {
            at += 1;
            continue;
        }
        let rest = &line[at..];
        let (kind, length) = token(rest, c);
        tokens.push(Token { kind, start: at, end: at + length });
        at += length;
    }
    tokens
}

fn token(rest: &str, c: char) -> (TokenKind, usize) {
    let dotted = c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit());
    if c.is_ascii_digit() || dotted {
        return number(rest);
    }
    if is_name_char(c) {
        let word = first_word(rest);
        let kind = if RESERVED.contains(&word) { TokenKind::Reserved } else { TokenKind::Name };
        return (kind, word.len());
    }
    if c == '"' {
        let length = rest[1..].find('"').map_or(rest.len(), |length| length + 2);
        return (TokenKind::Text, length);
    }
    if let Some((sign, kind)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
        return (*kind, sign.len());
    }
    let kind = match c {
        '(' | '[' | '{' => TokenKind::Open,
        ')' | ']' | '}' => TokenKind::Close,
        '.' => TokenKind::Dot,
        '⁰'..='⁹' | '¹' | '²' | '³' | '⁻' => TokenKind::Raised,
        _ => TokenKind::Unknown,
    };
    (kind, c.len_utf8())
}

/// Length of the number at the start of a text: digits, one dot that is not followed by a second one, exponent.
pub fn numeral(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut end = digits(bytes, 0);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1) != Some(&b'.') {
        end = digits(bytes, end + 1);
    }
    if bytes.get(end).is_some_and(|byte| byte | 32 == b'e') {
        let sign = rest[end + 1..].chars().next().filter(|c| matches!(c, '+' | '-' | '−')).map_or(0, char::len_utf8);
        let after = digits(bytes, end + 1 + sign);
        if after > end + 1 + sign {
            end = after;
        }
    }
    end
}

fn digits(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

/// A number, which must not be followed by a character of a name.
fn number(rest: &str) -> (TokenKind, usize) {
    let bytes = rest.as_bytes();
    let end = numeral(rest);
    let tail = first_word(&rest[end..]).len();
    if tail > 0 {
        // the sign of `1d-3` belongs to it
        let word = &rest[end..end + tail];
        let exponent = matches!(word, "d" | "D" | "e" | "E") && rest[end + tail..].starts_with(['+', '-']);
        let more = if exponent { 1 + first_word(&rest[end + tail + 1..]).len() } else { 0 };
        return (TokenKind::Malformed, end + tail + more);
    }
    // 1.2.3
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        return (TokenKind::Malformed, digits(bytes, end + 1));
    }
    (TokenKind::Number, end)
}
