//! Heads and actions of events, and what other languages write for them.

use odec_ir::Span;

use super::{Scene, token::Token, token::TokenKind};
use crate::diagnostic::Diagnostic;
use crate::syntax::grammar::Rule;
use crate::syntax::keyword::{CLAUSES, REST};

/// Words that begin an event elsewhere.
const ELSEWHERE: [&str; 8] = ["if", "on", "while", "event", "whenever", "upon", "reset", "once"];

/// An action that the grammar rejected.
pub(super) fn action(scene: &Scene<'_>) -> Option<Diagnostic> {
    let Some(here) = scene.here() else { return lone_name(scene) };
    let text = scene.text(here);
    if scene.brackets.is_empty() && (here.kind == TokenKind::Equals || text == "==") && scene.wants("`:=`") {
        return Some(
            scene
                .error("E0124", "in an event a name changes by `:=`, `+=` or `-=`")
                .label(scene.span(here), "write `:=`")
                .help("`=` states what always holds; `:=` sets a new value at this instant")
                .fix(scene.span(here), ":="),
        );
    }
    let first = scene.tokens.first().copied()?;
    if scene.text(first) == "stop" && scene.at == 1 && text != ":=" {
        return Some(
            scene
                .error("E0118", "behind `stop` stands a text, or nothing")
                .label(scene.span(here), "this does not fit")
                .help("the condition is that of the event: `when C { stop \"reason\" }`"),
        );
    }
    if scene.text(first) == "if" && scene.at <= 1 {
        return Some(
            scene
                .error("E0124", "an event has no `if` around its actions")
                .label(scene.span(first), "not here")
                .help("a choice stands on the right side: `x := if c then 1 else x`"),
        );
    }
    let next = scene.after().filter(|next| scene.touching(here, *next) && scene.text(*next) == text);
    let sign = match text {
        "+" => "+=",
        "-" => "-=",
        _ => return None,
    };
    next.filter(|_| scene.before().is_some_and(|before| before.ends_value())).map(|next| {
        let both = Span::new(scene.base + here.start, scene.base + next.end);
        scene
            .error("E0124", "in an event a name changes by `:=`, `+=` or `-=`")
            .label(both, format!("write `{sign} 1`"))
            .fix(both, format!(" {sign} 1"))
    })
}

/// `h` of `h, v := 0`: a comma separates actions.
fn lone_name(scene: &Scene<'_>) -> Option<Diagnostic> {
    let last = scene.before()?;
    let changes = scene.tokens.iter().any(|token| token.kind == TokenKind::Assign);
    (last.ends_value() && !changes && scene.brackets.is_empty()).then(|| {
        let line = scene.line;
        scene
            .error("E0128", format!("`{line}` alone is no action"))
            .label(scene.span(last), "`:=`, `+=` or `-=` is missing")
            .help(format!("each name has its own action: `{line} := 0; v := 0`"))
    })
}

/// The head of an event that the grammar rejected.
pub(super) fn head(scene: &Scene<'_>) -> Option<Diagnostic> {
    let here = scene.here()?;
    let text = scene.text(here);
    let second = scene.tokens.get(1).copied();
    match (scene.rule, here.kind) {
        (Rule::when_head, TokenKind::Equals) if scene.before()?.ends_value() => Some(
            scene
                .error("E0124", "a condition compares with `==`")
                .label(scene.span(here), "write `==`")
                .fix(scene.span(here), "=="),
        ),
        (Rule::at_head, TokenKind::Equals | TokenKind::Compare) if scene.brackets.is_empty() => {
            let equal = matches!(text, "=" | "==");
            let first = scene.tokens.first().copied()?;
            if !equal {
                return Some(
                    scene
                        .error("E0118", "`at` names times, and a comparison is a condition")
                        .label(scene.span(here), "a condition?")
                        .help("a condition belongs to `when`: it happens where the condition becomes true")
                        .fix(scene.span(first), "when"),
                );
            }
            let next = scene.after()?;
            Some(
                scene
                    .error("E0118", "`at` is followed by the time itself")
                    .label(scene.span(here), "not needed")
                    .fix(Span::new(scene.base + second?.start, scene.base + next.start), ""),
            )
        }
        (Rule::at_head, TokenKind::Comma) if scene.brackets.is_empty() => {
            let list = scene.line[second?.start..].trim();
            Some(
                scene
                    .error("E0118", "several times stand in brackets")
                    .label(scene.span(here), "a second time")
                    .help(format!("write `at [{list}] {{ ... }}`")),
            )
        }
        (Rule::every_head, TokenKind::Compare) if scene.brackets.is_empty() => {
            let first = scene.tokens.first().copied()?;
            Some(
                scene
                    .error("E0118", "`every` names the time between two, and a comparison is a condition")
                    .label(scene.span(here), "a condition?")
                    .help("a condition belongs to `when`: it happens where the condition becomes true")
                    .fix(scene.span(first), "when"),
            )
        }
        (Rule::every_head, TokenKind::Name) if text == "to" => Some(
            scene
                .error("E0118", "a series of times ends with `until`")
                .label(scene.span(here), "write `until`")
                .fix(scene.span(here), "until"),
        ),
        _ => None,
    }
}

/// `if C then x := 1`, `on C: x := 1`, `stop when C`: an event as other languages write it, on one line.
pub(super) fn elsewhere(scene: &Scene<'_>) -> Option<Diagnostic> {
    if scene.rule != Rule::equation_line {
        return None;
    }
    let first = scene.tokens.first().copied()?;
    let word = scene.text(first);
    let second = scene.tokens.get(1).copied()?;
    if word == "stop" && matches!(scene.text(second), "when" | "if" | "at") {
        let rest = scene.line[second.end..].trim();
        let head = if scene.text(second) == "at" { "at" } else { "when" };
        return Some(
            scene
                .error("E0117", "a run is stopped by an event")
                .label(scene.span(first), "this stands inside of one")
                .help(format!("write `{head} {rest} {{ stop }}`")),
        );
    }
    let assign = scene.tokens.iter().position(|token| token.kind == TokenKind::Assign)?;
    if !ELSEWHERE.contains(&word) || scene.touching(first, second) && second.kind != TokenKind::Open {
        return None;
    }
    let ends = |token: &&Token| matches!(scene.text(**token), "then" | ":" | "do" | ",");
    let end = scene.tokens[..assign].iter().rev().find(ends).copied();
    let help = match end {
        Some(end) => {
            let (what, does) = (scene.line[first.end..end.start].trim(), scene.line[end.end..].trim());
            format!("write `when {what} {{ {does} }}`")
        }
        None => "write `when C { x := 1 }`".to_owned(),
    };
    Some(
        scene
            .error("E0117", format!("`{word}` begins no event"))
            .label(scene.span(first), "an event begins with `when`, `at` or `every`")
            .help(help),
    )
}

/// A block that other languages begin with another word, or a line of a head that is not indented.
pub(super) fn block(word: &str, line: &str, span: Span) -> Option<Diagnostic> {
    if word == "else" {
        return Some(Diagnostic::error("E0117", "events have no `else`").label(span, "not here").help(
            "write a second event, `when not (...) { ... }`, or choose on the right side: `x := if c then 1 else 0`",
        ));
    }
    if word == REST {
        return Some(
            Diagnostic::error("E0544", "`rest` stands alone before its block")
                .label(span, "nothing follows it but `{`")
                .help("write `when C { ... } rest { ... }`"),
        );
    }
    if CLAUSES.contains(&word) {
        return Some(
            Diagnostic::error("E0117", format!("`{word}` belongs to the head of an event"))
                .label(span, "a clause begins no statement")
                .help("write it behind the condition, or indent this line"),
        );
    }
    if !ELSEWHERE.contains(&word) {
        return None;
    }
    let condition = line[word.len()..].trim().trim_end_matches([':', ' ']);
    Some(
        Diagnostic::error("E0117", format!("`{word}` begins no event"))
            .label(span, "an event begins with `when`, `at` or `every`")
            .help(format!("write `when {condition} {{ ... }}`"))
            .fix(span, "when"),
    )
}
