//! Operators of other languages on a line with several of them: `x ~= 1 && x < 3 || !(x > 2)`. The parser stops at the
//! first one, and the correction of that one alone leaves the line with an error.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;

/// Operators, and their words here.
const OPERATORS: [(&str, &str); 4] = [("&&", "and"), ("||", "or"), ("~=", "!="), ("<>", "!=")];

/// The operators between two values.
pub(super) fn all(line: &Line<'_>) -> Vec<IdiomMatch> {
    (1..line.tokens.len()).filter_map(|at| one(line, at)).collect()
}

/// One headline for all operators of a line, so that they are one message.
pub(super) fn joined(line: &Line<'_>, found: &mut [IdiomMatch]) {
    let text = |idiom: &IdiomMatch| line.between(idiom.span.start as usize, idiom.span.end as usize).to_owned();
    let known = |sign: &str| sign == "!" || OPERATORS.iter().any(|(known, _)| *known == sign);
    let here = |idiom: &&mut IdiomMatch| idiom.code == &codes::E0125 && known(&text(idiom));
    let mut all: Vec<&mut IdiomMatch> = found.iter_mut().filter(here).collect();
    all.sort_by_key(|idiom| idiom.span);
    let mut signs: Vec<String> = Vec::new();
    for idiom in &all {
        let sign = format!("`{}`", text(idiom));
        if !signs.contains(&sign) {
            signs.push(sign);
        }
    }
    let Some((last, others)) = signs.split_last().filter(|(_, others)| !others.is_empty()) else { return };
    let headline = format!("odec has no operators {} and {last}", others.join(", "));
    for idiom in all {
        headline.clone_into(&mut idiom.headline);
    }
}

/// The operators in the text that replaces another idiom.
pub(super) fn search(_: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(all(line));
}

/// `a && b`
fn one(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let (sign, better) = OPERATORS.iter().find(|(sign, _)| *sign == line.text(at))?;
    let next = line.tokens.get(at + 1)?;
    let begins = next.begins_value() || matches!(line.text(at + 1), "-" | "!" | "~" | "+");
    if !line.tokens[at - 1].ends_value() || !begins {
        return None;
    }
    let word = better.starts_with(char::is_alphabetic);
    let left = if word && line.touches(at - 1) { " " } else { "" };
    let right = if word && line.touches(at) { " " } else { "" };
    let found = IdiomMatch::new(&codes::E0125, format!("odec has no operator `{sign}`"), line.span(at, at));
    let found = found.label("unknown operator").help(format!("write `{better}`"));
    Some(found.fix(line.span(at, at), format!("{left}{better}{right}")))
}
