//! Conditions and truth values in other words: `k is true`, `x > 0 == false`, `x between 1 and 3`, `param p = yes`.

use super::line::{Line, bare};
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

const HEADLINE: &str = "true and false are the numbers 1 and 0";

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    for at in 1..line.tokens.len() {
        let found_here = of_condition(scene, line, at).or_else(|| compared(scene, line, at));
        found.extend(found_here.or_else(|| between(scene, line, at)).or_else(|| declared(scene, line, at)));
    }
}

/// The number for a word that no line declares.
fn number(scene: &Scene<'_>, word: &str, words: &[(&str, &'static str)]) -> Option<&'static str> {
    let (_, better) = words.iter().find(|(known, _)| *known == word.to_lowercase())?;
    (!scene.is_declared(word)).then_some(*better)
}

/// Words and signs that end a condition or begin one.
const EDGES: [&str; 13] = ["if", "when", "and", "or", "not", "then", "else", "expect", "where", "{", "&&", "||", "!"];

/// The first token of the condition or value that ends before `at`.
fn operand_start(line: &Line<'_>, at: usize) -> usize {
    let mut depth = 0usize;
    for k in (0..at).rev() {
        match line.kind(k) {
            Some(TokenKind::Close) => depth += 1,
            Some(TokenKind::Open) if depth == 0 => return k + 1,
            Some(TokenKind::Open) => depth -= 1,
            _ if depth > 0 => {}
            Some(TokenKind::Comma | TokenKind::Equals | TokenKind::Assign) => return k + 1,
            _ if EDGES.contains(&line.text(k)) => return k + 1,
            _ => {}
        }
    }
    0
}

/// The token behind the condition or value that begins at `at`.
fn operand_stop(line: &Line<'_>, at: usize) -> usize {
    let end = line.span_end(at);
    (at..end).find(|&k| EDGES.contains(&line.text(k)) || line.text(k) == ";").unwrap_or(end)
}

/// `x between 1 and 3`
fn between(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) != "between" || !line.tokens[at - 1].ends_value() || scene.is_declared("between") {
        return None;
    }
    let start = operand_start(line, at);
    let and = operand_stop(line, at + 1);
    let stop = operand_stop(line, and + 1);
    let (value, low, high) = (line.slice(start, at), line.slice(at + 1, and), line.slice(and + 1, stop));
    if line.text(and) != "and" || [value, low, high].iter().any(|text| text.is_empty()) || start == 0 {
        return None;
    }
    let better = format!("{low} <= {value} <= {high}");
    let found = IdiomMatch::new(
        &codes::E0124,
        "a value between two others is a chain of comparisons",
        line.span(start, stop - 1),
    );
    Some(in_condition(line, start, found.label("a condition"), better))
}

/// Offers the fix where a condition begins; elsewhere an operator before it may bind more tightly.
fn in_condition(line: &Line<'_>, start: usize, found: IdiomMatch, better: String) -> IdiomMatch {
    let alone = start > 0 && matches!(line.text(start - 1), "if" | "when" | "and" | "or" | "not" | "where");
    if alone { found.write(better) } else { found.help(format!("write `({better})`")).over(line.range.clone()) }
}

/// `x > 0 == false`, `x > 0 is true`: a chain of comparisons here, which means something else.
fn of_condition(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let sign = line.text(at);
    if !matches!(sign, "==" | "!=" | "is") || !line.tokens[at - 1].ends_value() {
        return None;
    }
    let negated = sign == "is" && line.text(at + 1) == "not";
    let value = at + 1 + usize::from(negated);
    let word = number(scene, line.text(value), &[("true", "1"), ("false", "0")])?;
    let start = operand_start(line, at);
    let compares = (start..at).any(|k| line.kind(k) == Some(TokenKind::Compare));
    let left = line.slice(start, at);
    if left.is_empty() || !compares {
        return None;
    }
    let holds = (word == "1") != (negated || sign == "!=");
    let better = if holds { left.to_owned() } else { format!("not ({})", bare(left)) };
    let found =
        IdiomMatch::new(&codes::E0131, "a condition needs no comparison with true or false", line.span(start, value));
    Some(in_condition(line, start, found.label(format!("write `{better}`")), better))
}

/// `k is true`, `k is not false`
fn compared(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) != "is" || !line.tokens[at - 1].ends_value() || scene.is_declared("is") {
        return None;
    }
    let negated = line.text(at + 1) == "not";
    let value = at + 1 + usize::from(negated);
    let better = number(scene, line.text(value), &[("true", "1"), ("false", "0")])?;
    let better = format!("{} {better}", if negated { "!=" } else { "==" });
    let found = IdiomMatch::new(&codes::E0131, HEADLINE, line.span(at, value));
    let left = line.text(at - 1);
    if scene.states.contains(left) {
        // a state is hardly ever exactly 1
        let found = found.label("a state is a quantity").over(line.range.clone());
        return Some(found.help(format!("compare it with a value: `{left} > 0`")));
    }
    Some(found.label(format!("write `{better}`")).write(better))
}

/// `param p = yes`
fn declared(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    // the words of a discrete may be those of its modes
    let declares = matches!(line.text(0), "param" | "const");
    let whole = line.text(at - 1) == "=" && matches!(line.text(at + 1), "" | ",");
    let words = [("yes", "1"), ("no", "0"), ("on", "1"), ("off", "0")];
    let better = number(scene, line.text(at), &words).filter(|_| declares && whole)?;
    let found = IdiomMatch::new(&codes::E0131, HEADLINE, line.span(at, at));
    Some(found.label(format!("write `{better}`")).write(better))
}
