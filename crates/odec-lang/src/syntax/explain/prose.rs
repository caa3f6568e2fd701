//! Words of prose between two values: `-k*x for t > 1`, `k*x plus 1`, `1 of x`. They are similar to operators, but mean
//! something else.

use super::{Scene, token::Token, token::TokenKind};
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::grammar::Rule;

/// Operators in words.
const OPERATORS: [(&[&str], &str); 4] = [
    (&["plus", "add"], "+"),
    (&["minus", "subtract"], "-"),
    (&["times", "multiplied"], "*"),
    (&["over", "divided"], "/"),
];
/// Words before a condition.
const CONDITIONS: [&str; 9] = ["for", "when", "while", "whenever", "where", "provided", "unless", "with", "given"];
/// Other words that are similar to operators or reserved words.
const OTHER: [&str; 6] = ["of", "an", "as", "to", "is", "the"];

/// A word after a value, where an operator is missing.
pub(super) fn word(scene: &Scene<'_>, here: Token) -> Option<Diagnostic> {
    if let Some(found) = power(scene, here) {
        return Some(found);
    }
    let text = scene.text(here);
    if here.kind != TokenKind::Name || !scene.wants("an operator") {
        return None;
    }
    let follows = scene.after().is_some_and(|after| after.begins_value());
    let joins = is_condition(scene);
    if let Some((_, sign)) = OPERATORS.iter().find(|(words, _)| follows && !joins && words.contains(&text)) {
        return Some(
            scene
                .error(&codes::E0117, format!("odec does not know `{text}`"))
                .label(scene.span(here), format!("write `{sign}`"))
                .fix(scene.span(here), *sign),
        );
    }
    if CONDITIONS.contains(&text) && follows {
        return Some(condition(scene, here));
    }
    if text == "subject" && !joins {
        let report = scene.error(&codes::E0117, format!("`{text}` cannot follow a value"));
        return Some(report.label(scene.span(here), "a side condition?").help(
            "an equation has no side conditions: write a choice as `if condition then a else b`, and a change at an \
             instant as `when condition { ... }`",
        ));
    }
    (OTHER.contains(&text) && !joins).then(|| {
        scene
            .error(&codes::E0117, format!("odec does not know `{text}`"))
            .label(scene.span(here), "an operator or the end of the line was expected")
            .help("write a formula with signs only; a comment begins with `#`")
    })
}

/// `cos^2 x`
fn power(scene: &Scene<'_>, here: Token) -> Option<Diagnostic> {
    let at = scene.at.checked_sub(3)?;
    let [function, sign, number] = scene.tokens.get(at..scene.at)? else { return None };
    let name = scene.text(*function);
    let powered = odec_ir::builtin::find_function(name).is_some() && matches!(scene.text(*sign), "^" | "**");
    let number = scene.text(*number);
    (powered && here.kind == TokenKind::Name && number.parse::<u32>().is_ok()).then(|| {
        scene
            .error(&codes::E0115, format!("the argument of `{name}` needs brackets"))
            .label(scene.span(here), "the argument?")
            .help(format!("write a power of a function behind its argument: `{name}({})^{number}`", scene.text(here)))
    })
}

/// The report of a missing value in `x >= 1 and <= 2`, with the quantity to repeat.
pub(super) fn repeated(scene: &Scene<'_>, report: Diagnostic) -> Diagnostic {
    let (Some(before), Some(here)) = (scene.before(), scene.here()) else { return report };
    let joins = matches!(scene.text(before), "and" | "or") && here.kind == TokenKind::Compare;
    let sign = scene.tokens[..scene.at].iter().rposition(|token| token.kind == TokenKind::Compare);
    let quantity = sign.and_then(|sign| scene.tokens.get(sign.checked_sub(1)?)).filter(|_| joins);
    match quantity.filter(|quantity| quantity.kind == TokenKind::Name) {
        Some(quantity) => {
            let rest = scene.after().map_or("...", |after| scene.text(after));
            let (name, word, sign) = (scene.text(*quantity), scene.text(before), scene.text(here));
            report.help(format!("repeat the quantity: `{word} {name} {sign} {rest}`"))
        }
        None => report,
    }
}

/// The report of a prime without a name: two of them enclose a string elsewhere.
pub(super) fn quoted(scene: &Scene<'_>, report: Diagnostic) -> Diagnostic {
    let again = scene.tokens.iter().skip(scene.at + 1).any(|token| token.kind == TokenKind::Prime);
    if again { report.help("write a string between double quotes: \"...\"") } else { report }
}

/// `x' = -k*x for t > 1`, `... if t > 1` without `else`, `... where k = 3`.
pub(super) fn condition(scene: &Scene<'_>, here: Token) -> Diagnostic {
    let word = scene.text(here);
    let rest = scene.line[here.end..].trim();
    let report = scene.error(&codes::E0117, format!("`{word}` cannot follow a value"));
    let equals = scene.tokens.iter().position(|token| token.kind == TokenKind::Equals);
    let label = scene.span(here);
    let after = |token: &Token| token.start > here.start;
    if matches!(scene.rule, Rule::at_head | Rule::every_head) {
        let (head, time) = (scene.line[..here.start].trim(), rest.trim_end_matches('{').trim());
        let report = report.label(label, "a length of time?");
        return report.help(format!("write the time of the end: `{head} until {time} {{ ... }}`"));
    }
    if let Some(given) = scene.tokens.iter().filter(|token| after(token)).find(|token| token.kind == TokenKind::Equals)
    {
        let name = scene.line[here.end..given.start].trim();
        let value = scene.line[given.end..].trim();
        if let Some(state) = name.strip_suffix("(0)") {
            let help =
                format!("declare the state with its initial value on a line of its own: `state {state} = {value}`");
            return report.label(label, "an initial value").help(help);
        }
        if value.contains('=') {
            let help = format!("define the values on a line of their own: `param {name} = {value}`");
            return report.label(label, "definitions?").help(help);
        }
        return report
            .label(label, "a definition?")
            .help(format!("define a value on a line of its own: `{name} = {value}`, or `param {name} = {value}`"));
    }
    let value = equals.filter(|_| scene.brackets.is_empty()).and_then(|at| scene.tokens.get(at));
    let value = value.map_or("", |equals| scene.line[equals.end..here.start].trim());
    let (value, rest) = if scene.brackets.is_empty() { (value, rest) } else { inside_brackets(scene, here) };
    let compares = scene.tokens.iter().filter(|token| after(token)).any(|token| token.kind == TokenKind::Compare);
    let report = report.label(label, "a condition?");
    if value.is_empty() || !compares {
        return report.help("write a choice as `if condition then a else b`");
    }
    // `5 for t < 5 else 0`
    if let Some((condition, other)) = rest.split_once(" else ").filter(|_| word != "unless") {
        return report.help(format!("write `if {} then {value} else {}`", condition.trim(), other.trim()));
    }
    report.help(match word {
        "unless" => format!("write `if {rest} then 0 else {value}`"),
        _ => format!("write `if {rest} then {value} else 0`"),
    })
}

/// The text before and after a token, inside of the brackets around it.
fn inside_brackets<'a>(scene: &Scene<'a>, here: Token) -> (&'a str, &'a str) {
    let outer = |side: &mut dyn Iterator<Item = &Token>, own: TokenKind, other: TokenKind| {
        let mut depth = 0usize;
        for token in side {
            match token.kind {
                kind if kind == other => depth += 1,
                kind if kind == own && depth == 0 => return Some(*token),
                kind if kind == own => depth -= 1,
                _ => {}
            }
        }
        None
    };
    let mut before = scene.tokens.iter().rev().filter(|token| token.end <= here.start);
    let mut behind = scene.tokens.iter().filter(|token| token.start >= here.end);
    let from = outer(&mut before, TokenKind::Open, TokenKind::Close).map_or(here.start, |token| token.end);
    let to = outer(&mut behind, TokenKind::Close, TokenKind::Open).map_or(scene.line.len(), |token| token.start);
    (scene.line[from..here.start].trim(), scene.line[here.end..to].trim())
}

/// True if the value before this token is, or belongs to, a condition: `x > 1 adn y > 1`.
pub(super) fn is_condition(scene: &Scene<'_>) -> bool {
    let before = &scene.tokens[..scene.at.min(scene.tokens.len())];
    let open = |token: &Token| matches!(scene.text(*token), "if" | "not" | "where");
    let last = before.iter().rposition(|token| open(token) || token.kind == TokenKind::Compare);
    let closed = before.iter().rposition(|token| matches!(scene.text(*token), "then" | "else"));
    scene.rule == Rule::when_head || last.is_some_and(|last| closed.is_none_or(|closed| closed < last))
}

/// A factor with what belongs to it: `y'`, `u[...]`, `f(...)`.
pub(super) fn factor(scene: &Scene<'_>, here: Token) -> String {
    let name = scene.text(here);
    let next = scene.after().filter(|next| here.kind == TokenKind::Name && scene.touching(here, *next));
    match next.map(|next| scene.text(next)) {
        Some("'") => format!("{name}'"),
        Some("[") => format!("{name}[...]"),
        Some("(") => format!("{name}(...)"),
        _ => name.to_owned(),
    }
}
