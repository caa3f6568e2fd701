//! Truth values in other words: `x is true`, `x is not true`, `param p = yes`.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;

const HEADLINE: &str = "true and false are the numbers 1 and 0";

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    for at in 1..line.tokens.len() {
        found.extend(compared(scene, line, at).or_else(|| declared(scene, line, at)));
    }
}

/// The number for a word that no line declares.
fn number(scene: &Scene<'_>, word: &str, words: &[(&str, &'static str)]) -> Option<&'static str> {
    let (_, better) = words.iter().find(|(known, _)| *known == word.to_lowercase())?;
    (!scene.is_declared(word)).then_some(*better)
}

/// `x is true`, `x is not false`
fn compared(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) != "is" || !line.tokens[at - 1].ends_value() || scene.is_declared("is") {
        return None;
    }
    let negated = line.text(at + 1) == "not";
    let value = at + 1 + usize::from(negated);
    let better = number(scene, line.text(value), &[("true", "1"), ("false", "0")])?;
    let better = format!("{} {better}", if negated { "!=" } else { "==" });
    let found = IdiomMatch::new(&codes::E0131, HEADLINE, line.span(at, value));
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
