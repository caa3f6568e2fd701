//! Changes in pieces of text.

use super::line::Line;
use crate::syntax::explain::token::tokens;

/// `reinit(v, -e*pre(v))` of Modelica as an action. Right sides read the values before the event anyway.
pub(super) fn reinit(line: &Line<'_>) -> Option<String> {
    if line.text(0) != "reinit" {
        return None;
    }
    let arguments = line.arguments(1)?;
    let [name, value] = arguments.as_slice() else { return None };
    let value = without_pre(line.slice(value.start, value.end));
    Some(format!("{} := {value}", line.slice(name.start, name.end)))
}

/// A text with one word replaced.
pub(super) fn with_word(text: &str, word: &str, better: &str) -> String {
    let parts = tokens(text);
    let mut out = String::new();
    let mut last = 0;
    for token in parts {
        out.push_str(&text[last..token.start]);
        out.push_str(if token.text(text) == word { better } else { token.text(text) });
        last = token.end;
    }
    out + &text[last..]
}

/// `-e*v` for `-e*pre(v)`
pub(super) fn without_pre(text: &str) -> String {
    with_plain_brackets(&text.replace("pre(", "("))
}

/// `-e*v` for `-e*(v)`: names alone need no brackets.
fn with_plain_brackets(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('(') {
        let name = rest[open + 1..].split(')').next().unwrap_or_default();
        let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '\''));
        let called = rest[..open].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let closed = rest[open + 1 + name.len()..].starts_with(')');
        out.push_str(&rest[..open]);
        if plain && closed && !called {
            out.push_str(name);
            rest = &rest[open + name.len() + 2..];
        } else {
            out.push('(');
            rest = &rest[open + 1..];
        }
    }
    out + rest
}
