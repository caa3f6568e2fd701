//! Brackets before the `=` of a declared item: an index behind a prime, or a unit before the value.

use odec_ir::Span;

use super::{Scene, token::Token, token::TokenKind};
use crate::diagnostic::{Diagnostic, codes};

/// `u'[i] = 0`, `x [m] = 1`
pub(super) fn before_equals(scene: &Scene<'_>, word: &str, before: Token, here: Token) -> Diagnostic {
    let Some((primes, index)) = primed_index(scene) else {
        return scene
            .error(&codes::E0119, "the unit belongs at the end of the item")
            .label(scene.span(here), "`=` after a unit")
            .help(with_unit_last(scene, word, here));
    };
    let span = Span::new(scene.base + primes.start, scene.base + before.end);
    let better = format!("{}{}", &scene.line[index.start..before.end], &scene.line[primes.start..index.start]);
    let name = scene.tokens.iter().rev().find(|token| token.end == primes.start).map_or("", |name| scene.text(*name));
    scene
        .error(&codes::E0121, "the index comes first, and the prime behind it")
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

/// `param k: 0.1`
pub(super) fn colon(scene: &Scene<'_>, word: &str, (before, here): (Token, Token), seen: bool) -> Diagnostic {
    let report = scene.error(&codes::E0118, "a declaration has no `:`").label(scene.span(here), "here");
    let number = scene.after().filter(|next| next.kind == TokenKind::Number && !seen);
    match number.filter(|_| before.kind == TokenKind::Name) {
        Some(number) => report
            .help(format!("write `{word} {} = {}`", scene.text(before), scene.text(number)))
            .fix(scene.span(here), " ="),
        None => report.help(format!("write `{word} name = value [unit]`")),
    }
}

/// `param q (1/h) = 0.1`
pub(super) fn unit_before(scene: &Scene<'_>, word: &str, (name, open): (Token, Token)) -> Option<Diagnostic> {
    let (unit, value) = scene.line[open.end..].split_once(')')?;
    let (unit, value) = (unit.trim(), value.trim().strip_prefix('=')?.trim());
    let known = !unit.is_empty() && !value.contains(',') && crate::units::Units::default().read(unit).is_ok();
    known.then(|| {
        let report =
            scene.error(&codes::E0119, "the unit belongs at the end of the item").label(scene.span(open), "a unit");
        report.help(format!("write `{word} {} = {value} [{unit}]`", scene.text(name)))
    })
}

/// `fn f z = z^2`
pub(super) fn arguments(scene: &Scene<'_>, before: Token, here: Token) -> Diagnostic {
    let report = scene
        .error(&codes::E0128, "the arguments of a function need brackets")
        .label(scene.span(here), "`(` is missing before this");
    match scene.after().filter(|next| next.kind == TokenKind::Equals && here.kind == TokenKind::Name) {
        Some(equals) => {
            let (name, argument) = (scene.text(before), scene.text(here));
            report.help(format!("write `fn {name}({argument}) {}`", scene.line[equals.start..].trim()))
        }
        None => report.help("write `fn f(x) = ...`"),
    }
}

/// `[0, 30] [min]` and `u[i][j]`, at the second bracket.
pub(super) fn twice(scene: &Scene<'_>, (before, whole): (Token, Span), inside: &str) -> Diagnostic {
    let report = scene.error(&codes::E0119, "two brackets in a row").label(whole, "second bracket");
    let open = scene.tokens.iter().take(scene.at).rposition(|token| scene.text(*token) == "[");
    let list = open.and_then(|open| scene.line.get(scene.tokens[open].end..before.start)).unwrap_or_default();
    let items: Vec<&str> = list.split(',').map(str::trim).collect();
    if items.len() > 1 && items.iter().all(|item| item.parse::<f64>().is_ok()) {
        let each: Vec<String> = items.iter().map(|item| format!("{item} [{inside}]")).collect();
        return report.help(format!("give each number its unit: `[{}]`", each.join(", ")));
    }
    report.help(
        "give each number of a list its unit, `[0 [h], 0.5 [h]]`; write several indices in one bracket, `u[i, j]`",
    )
}
