//! Heads of `run` and `params`, and the entries inside them.

use odec_ir::Span;

use super::{Scene, token::TokenKind};
use crate::diagnostic::{Diagnostic, codes};

pub(super) fn entry(scene: &Scene<'_>) -> Option<Diagnostic> {
    let example = "write an entry as `rtol = 1e-8`";
    let equals = scene.tokens.iter().take(scene.at).any(|token| token.kind == TokenKind::Equals);
    let Some(here) = scene.here() else {
        let last = scene.before().filter(|last| last.ends_value() && !equals)?;
        return Some(
            scene
                .error(&codes::E0128, format!("`{}` alone is not an entry", scene.line))
                .label(scene.span(last), "`= value` is missing")
                .help(format!("{example}; a list of names or times needs brackets: `record = [x, y]`")),
        );
    };
    let before = scene.before();
    match here.kind {
        TokenKind::Equals if equals && before.is_some_and(|before| before.ends_value()) => Some(
            scene
                .error(&codes::E0129, "an entry has only one `=`")
                .label(scene.span(here), "second `=`")
                .help("separate entries by a newline, `;` or `,`"),
        ),
        TokenKind::Assign if !equals && scene.text(here) != ":=" && scene.brackets.is_empty() => Some(
            scene
                .error(&codes::E0124, format!("an entry sets a value: `{}` belongs in events", scene.text(here)))
                .label(scene.span(here), "a change")
                .help(format!(
                    "write `{} = ...` with the new value: an entry contains numbers and constants only",
                    before.map_or("k", |before| scene.text(before))
                )),
        ),
        TokenKind::Colon | TokenKind::Assign if !equals && scene.brackets.is_empty() => {
            Some(scene.error(&codes::E0124, "an entry needs `=`").label(scene.span(here), "write `=`").fix(
                Span::new(
                    before.map_or(scene.span(here).start as usize, |b| scene.base + b.end),
                    scene.base + here.end,
                ),
                " =",
            ))
        }
        TokenKind::Compare if !equals && scene.text(here) == "==" => Some(
            scene
                .error(&codes::E0124, "an entry needs `=`")
                .label(scene.span(here), "write `=`")
                .fix(scene.span(here), "="),
        ),
        _ if !equals && scene.at == 0 => Some(
            scene
                .error(&codes::E0118, "an entry must begin with its name")
                .label(scene.span(here), "a name is missing here")
                .help(example),
        ),
        TokenKind::Number | TokenKind::Name | TokenKind::Text
            if !equals && before.is_some_and(|before| before.ends_value()) =>
        {
            Some(
                scene
                    .error(&codes::E0129, "`=` is missing")
                    .label(scene.span(here), "before this value")
                    .help(example)
                    .fix(before.map(|before| scene.behind(before)).unwrap_or_default(), " ="),
            )
        }
        _ => None,
    }
}

pub(super) fn head(scene: &Scene<'_>) -> Option<Diagnostic> {
    let here = scene.here()?;
    let word = scene.tokens.first().map(|&token| scene.text(token)).unwrap_or_default();
    Some(
        scene
            .error(&codes::E0118, format!("only a name can stand between `{word}` and `{{`"))
            .label(scene.span(here), "unexpected")
            .help(format!("write `{word} NAME {{ ... }}`")),
    )
}
