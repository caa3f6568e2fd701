//! Words of other languages between two values: `0 end`, `x AND y`, `x div 2`, `1 e-3`, `sum j: u[j]`, `for i: u[i] := 0`.
//! A product of such a word is not meant.

use super::{Scene, token::Token, token::TokenKind};
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::grammar::Rule;

/// Words that end a block or a choice.
const ENDS: [&str; 9] = ["end", "END", "End", "endif", "ENDIF", "fi", "esac", "done", "endfor"];
/// Reductions whose index needs brackets.
const REDUCTIONS: [&str; 6] = ["sum", "prod", "product", "max", "min", "mean"];

/// Two values side by side of which one is a word of another language.
pub(super) fn word(scene: &Scene<'_>) -> Option<Diagnostic> {
    let (before, here) = (scene.before()?, scene.here()?);
    if here.kind != TokenKind::Name && here.kind != TokenKind::Number {
        return None;
    }
    set(scene, here)
        .or_else(|| first_word(scene, before, here))
        .or_else(|| exponent(scene, before, here))
        .or_else(|| second_word(scene, before, here))
}

/// `index m 1..3`, `index m = 1..3 step 2`, `index m from 1 to 3`
fn set(scene: &Scene<'_>, here: Token) -> Option<Diagnostic> {
    let name = scene.tokens.get(1).filter(|name| name.kind == TokenKind::Name)?;
    if scene.text(*scene.tokens.first()?) != "index" {
        return None;
    }
    let numbers = scene.tokens.iter().skip(2).filter(|token| token.kind == TokenKind::Number);
    let numbers: Vec<&str> = numbers.map(|token| scene.text(*token)).collect();
    let (first, last) = (numbers.first()?, numbers.get(1)?);
    let name = scene.text(*name);
    let report = scene.error(&codes::E0118, "write the range of an index after `=`, with two dots");
    let stepped = scene.tokens.iter().any(|token| matches!(scene.text(*token), "step" | "by"));
    Some(report.label(scene.span(here), "not a range").help(if stepped {
        format!("an index counts in steps of 1: write `index {name} = {first}..{last}`")
    } else {
        format!("write `index {name} = {first}..{last}`")
    }))
}

/// A word of another language before the value.
fn first_word(scene: &Scene<'_>, before: Token, here: Token) -> Option<Diagnostic> {
    let (word, rest) = (scene.text(before), scene.line[here.start..].trim());
    if before.kind != TokenKind::Name {
        return None;
    }
    let report = |headline: String| scene.error(&codes::E0118, headline).label(scene.span(before), "not an operand");
    match word {
        "when" if scene.rule == Rule::equation_line => Some(
            report("`when` begins an event, not a choice".to_owned())
                .help(format!("write `if {}`", if rest.contains(" else ") { rest } else { "c then a else b" })),
        ),
        "for" | "foreach" => Some(report(format!("odec has no `{word}`")).help(match rest.split_once(':') {
            Some((_, action)) if action.contains(":=") || action.trim_start().starts_with(char::is_alphabetic) => {
                format!("an action and an equation hold for all elements: write `{}`", action.trim_start())
            }
            _ => "an equation with an index holds for all elements: `u[i]' = -u[i]`".to_owned(),
        })),
        _ if REDUCTIONS.contains(&word) => {
            let (index, term) = rest.split_once(':')?;
            // the extent of the term is not certain
            let term = term.trim();
            let term = if term.contains([' ', '+', '-', '{', '=']) { "..." } else { term };
            Some(report(format!("`{word}` needs brackets")).help(format!("write `{word}({}: {term})`", index.trim())))
        }
        _ => None,
    }
}

/// `1 e-3`
fn exponent(scene: &Scene<'_>, before: Token, here: Token) -> Option<Diagnostic> {
    let number = scene.text(before);
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let text = scene.text(here);
    let split = matches!(text, "e" | "E") && scene.after().is_some_and(|sign| matches!(scene.text(sign), "-" | "+"));
    let digits = scene.tokens.get(scene.at + 2).filter(|token| split && token.kind == TokenKind::Number);
    let glued = text.strip_prefix(['e', 'E']).filter(|power| power.parse::<u16>().is_ok());
    let (end, power) = match (digits, glued) {
        (Some(digits), _) => (*digits, scene.line[here.end..digits.end].trim_start_matches('+').to_owned()),
        (None, Some(power)) => (here, power.to_owned()),
        _ => return None,
    };
    let better = format!("{number}e{}", power.replace(' ', ""));
    (before.kind == TokenKind::Number && plain).then(|| {
        scene
            .error(&codes::E0113, format!("`{}` is not a number", &scene.line[before.start..end.end]))
            .label(scene.span(before).to(scene.span(end)), "a blank before the exponent")
            .help(format!("write `{better}`"))
    })
}

/// A word of another language after the value.
fn second_word(scene: &Scene<'_>, before: Token, here: Token) -> Option<Diagnostic> {
    let (value, word) = (scene.text(before), scene.text(here));
    let report = |label: &str| {
        let headline = format!("`{word}` cannot follow a value");
        scene.error(&codes::E0117, headline).label(scene.span(here), label.to_owned())
    };
    let last = scene.after().is_none_or(|next| scene.text(next) == "if");
    if ENDS.contains(&word) && last {
        return Some(report("not needed").help(if scene.earlier("else") {
            format!("a choice ends with the value after `else`: remove `{word}`")
        } else {
            format!("a statement ends with its line: remove `{word}`")
        }));
    }
    let simple = |token: &Token| matches!(token.kind, TokenKind::Name | TokenKind::Number);
    let next = scene.after().filter(simple).map(|next| scene.text(next));
    match word {
        // between two conditions it is a misspelling
        "AND" | "And" | "OR" | "Or" if !super::prose::is_condition(scene) => {
            Some(report("an operator in another language").help(format!("write `{}`", word.to_lowercase())))
        }
        "div" | "DIV" | "idiv" => Some(report("a quotient in another language").help(match next {
            Some(next) if simple(&before) => format!("write `floor({value}/{next})`"),
            _ => "write `floor(a/b)`".to_owned(),
        })),
        "between" => {
            let value = if simple(&before) { value } else { "x" };
            Some(report("a condition?").help(format!("write a chain of comparisons: `1 <= {value} <= 2`")))
        }
        "once" if matches!(scene.rule, Rule::at_head | Rule::when_head) => {
            Some(report("not needed").help(match scene.rule {
                Rule::at_head => "an event at one time happens once: remove `once`",
                _ => "an event happens each time its condition becomes true; to end the run there, write `{ stop }`",
            }))
        }
        _ => None,
    }
}

/// The argument of the function at the position, as it is written.
pub(super) fn argument<'a>(scene: &'a Scene<'_>) -> &'a str {
    let Some(next) = scene.after() else { return "x" };
    match next.kind {
        TokenKind::Name | TokenKind::Number => scene.text(next),
        TokenKind::Open => {
            let mut depth = 0usize;
            let close = scene.tokens.iter().skip(scene.at + 1).find(|token| {
                match token.kind {
                    TokenKind::Open => depth += 1,
                    TokenKind::Close => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0
            });
            close.map_or("...", |close| scene.line[next.end..close.start].trim())
        }
        _ => "...",
    }
}
