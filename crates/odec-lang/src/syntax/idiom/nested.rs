//! Idioms inside of the text that a message proposes: `if(c, if(a, 1, 2), 3)` becomes odec text as a whole.

use super::line::Line;
use super::{IdiomMatch, Scene, call, choice, connective, overlap, sign, slip};
use crate::diagnostic::{Fix, codes};
use crate::syntax::operand::{self, Fit};

/// Largest number of levels of idioms inside of each other.
const MAX_LEVELS: usize = 8;
/// Longest text in bytes whose inside is searched.
const MAX_TEXT: usize = 500;
/// What stands before the text, so that it is the right side of an equation.
const LEFT: &str = "q = ";

/// The match with a text to type that is odec text throughout, or without a text if a part of it has no counterpart.
pub(super) fn throughout(scene: &Scene<'_>, idiom: IdiomMatch) -> IdiomMatch {
    let [Fix { text, .. }] = idiom.fixes.as_slice() else { return idiom };
    let text = text.clone();
    if text.len() > MAX_TEXT || text.contains(['\n', '#']) || !text.contains(['(', ' ']) {
        return idiom;
    }
    let better = translated(scene, &text);
    let choice = idiom.code == &codes::E0131 || idiom.code == &codes::E0122;
    if better == text && !(choice && text.contains('(')) {
        return idiom;
    }
    if operand::is_expression(&better) {
        let shown = |old: String| old.replace(&format!("`{text}`"), &format!("`{better}`"));
        let fixes = idiom.fixes.iter().map(|fix| Fix { text: better.clone(), ..fix.clone() }).collect();
        return IdiomMatch { label: shown(idiom.label), help: shown(idiom.help), fixes, ..idiom };
    }
    // the parts are found once this one is odec text
    IdiomMatch {
        label: "this, and something in it".to_owned(),
        help: "correct what is inside of it first".to_owned(),
        fixes: Vec::new(),
        ..idiom
    }
}

/// The text with its idioms replaced, the outer ones first.
fn translated(scene: &Scene<'_>, text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..MAX_LEVELS {
        let whole = format!("{LEFT}{text}");
        let fixes = fixes(scene, &whole);
        if fixes.is_empty() {
            break;
        }
        let mut better = whole;
        for Fix { span, text } in fixes.into_iter().rev() {
            let typed = span.range().start..span.range().start + text.len();
            better.replace_range(span.range(), &text);
            if operand::at(&better, typed.clone()) == Fit::Bracketed {
                better.replace_range(typed, &format!("({text})"));
            }
        }
        match better.strip_prefix(LEFT) {
            Some(more) if more.len() <= 2 * MAX_TEXT => more.clone_into(&mut text),
            _ => break,
        }
    }
    text
}

/// The fixes of the outer idioms of a line, in order.
fn fixes(scene: &Scene<'_>, whole: &str) -> Vec<Fix> {
    let line = Line::new(whole, 0..whole.len(), 0);
    let mut found: Vec<IdiomMatch> = Vec::new();
    for search in [choice::search, slip::search, call::search, sign::search, connective::search] {
        let mut more = Vec::new();
        search(scene, &line, &mut more);
        for idiom in more {
            if !found.iter().any(|other| overlap(&other.span.range(), &idiom.span.range())) {
                found.push(idiom);
            }
        }
    }
    let mut fixes: Vec<Fix> = found.into_iter().flat_map(|idiom| idiom.fixes).collect();
    fixes.sort_by_key(|fix| fix.span);
    fixes.retain(|fix| fix.span.range().start >= LEFT.len());
    fixes
}
