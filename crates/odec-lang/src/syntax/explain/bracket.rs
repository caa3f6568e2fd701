//! Brackets before the `=` of a declared item: an index behind a prime, or a unit before the value.

use odec_ir::Span;

use super::{Scene, token::Token, token::TokenKind};
use crate::diagnostic::Diagnostic;

/// `u'[i] = 0`, `x [m] = 1`
pub(super) fn before_equals(scene: &Scene<'_>, word: &str, before: Token, here: Token) -> Diagnostic {
    let Some((primes, index)) = primed_index(scene) else {
        return scene
            .error("E0119", "the unit belongs at the end of the item")
            .label(scene.span(here), "`=` after a unit")
            .help(with_unit_last(scene, word, here));
    };
    let span = Span::new(scene.base + primes.start, scene.base + before.end);
    let better = format!("{}{}", &scene.line[index.start..before.end], &scene.line[primes.start..index.start]);
    let name = scene.tokens.iter().rev().find(|token| token.end == primes.start).map_or("", |name| scene.text(*name));
    scene
        .error("E0121", "the index comes first, and the prime behind it")
        .label(span, format!("write `{name}{better}`"))
        .fix(span, better)
}

/// The first prime and the bracket of `u'[i]`, directly before this token.
fn primed_index(scene: &Scene<'_>) -> Option<(Token, Token)> {
    let is_open = |token: &Token| token.kind == TokenKind::Open && scene.text(*token) == "[";
    let open = scene.tokens.iter().take(scene.at).rposition(is_open)?;
    let first = scene.tokens[..open].iter().rposition(|token| token.kind != TokenKind::Prime)? + 1;
    let touches = first < open && scene.touching(scene.tokens[open - 1], scene.tokens[open]);
    touches.then(|| (scene.tokens[first], scene.tokens[open]))
}

/// `state x [m] = 1` with its unit at the end.
fn with_unit_last(scene: &Scene<'_>, word: &str, equals: Token) -> String {
    let opens = |token: &Token| token.kind == TokenKind::Open && scene.text(*token) == "[";
    let Some(open) = scene.tokens.iter().take(scene.at).rposition(opens) else {
        return format!("write `{word} name = value [unit]`");
    };
    let start = scene.tokens.iter().take(open).rposition(|token| token.kind == TokenKind::Comma).unwrap_or(0);
    let name = scene
        .tokens
        .get(start + 1)
        .map_or("", |token| scene.line.get(token.start..scene.tokens[open].start).unwrap_or(""));
    let unit = scene.line.get(scene.tokens[open].start..equals.start).unwrap_or("").trim();
    let next = scene.tokens.iter().skip(scene.at).find(|token| token.kind == TokenKind::Comma);
    let end =
        next.or(scene.tokens.last()).map_or(equals.end, |token| if next.is_some() { token.start } else { token.end });
    let value = scene.line.get(equals.end..end).unwrap_or("").trim();
    format!("write `{word} {} = {value} {unit}`", name.trim())
}
