//! Comments of other languages.

use crate::diagnostic::codes;
use odec_ir::Span;

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::syntax::explain::token::TokenKind;

/// `/* decay */`, `(* decay *)`
pub(super) fn enclosed(line: &Line<'_>) -> Option<IdiomMatch> {
    let text = line.whole();
    let signs = [("/*", "*/"), ("(*", "*)")];
    let Some((open, close)) = signs.into_iter().find(|(open, close)| text.contains(open) && text.ends_with(close))
    else {
        return signs.into_iter().find_map(|signs| within(line, signs));
    };
    let at = text.find(open)?;
    let inside = text.get(at + 2..text.len() - close.len())?.trim();
    let span = Span::new(line.range.start + at, line.range.end);
    let one = !inside.contains(['\n', '*']) && at + 4 <= text.len();
    one.then(|| {
        IdiomMatch::new(&codes::E0112, format!("`{open}` does not begin a comment"), span)
            .label("write `#`")
            .help(format!("write `# {inside}`"))
            .fix(span, format!("{}# {inside}", if text[..at].ends_with([' ', '\t']) || at == 0 { "" } else { " " }))
    })
}

/// `-k*(* decay *)x`: a comment in the middle of a line, where this language has none.
fn within(line: &Line<'_>, (open, close): (&str, &str)) -> Option<IdiomMatch> {
    let text = line.whole();
    let at = text.find(open)?;
    let length = text[at + 2..].find(close)? + 4;
    let inside = &text[at + 2..at + length - 2];
    let span = Span::new(line.range.start + at, line.range.start + at + length);
    let found = IdiomMatch::new(&codes::E0112, format!("`{open}` does not begin a comment"), span).label("a comment");
    (!inside.contains('\n') && text.matches(open).count() == 1).then(|| {
        let help = format!("remove it, or write `# {}` behind the line", inside.trim());
        found.help(help).fix(span, "").over(line.range.clone())
    })
}

/// `y' = -y ! decay`: after a value, `!` and a word are a comment; so are `;` and words that are no statement.
pub(super) fn remark(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let prose = |&at: &usize| is_prose(line, at) || is_word(scene, line, at);
    if let Some(at) = (1..line.tokens.len()).find(|&k| line.text(k) == ";").filter(prose) {
        let found =
            IdiomMatch::new(&codes::E0112, "`;` does not begin a comment", line.span(at, at)).label("write `#`");
        return Some(found.write("#"));
    }
    // `y' = -y -- decay of y`
    let dashes = |&k: &usize| line.reads(k, &["-", "-"]) && line.touches(k) && !line.touches(k - 1);
    if let Some(at) = (1..line.tokens.len())
        .find(dashes)
        .filter(|&at| !line.touches(at + 1) && (is_prose(line, at + 1) || is_unknown(scene, line, at + 1)))
    {
        let found =
            IdiomMatch::new(&codes::E0112, "`--` does not begin a comment", line.span(at, at + 1)).label("write `#`");
        return Some(found.write("#"));
    }
    let at = (1..line.tokens.len()).find(|&k| {
        let word = matches!(line.kind(k + 1), Some(TokenKind::Name | TokenKind::Number | TokenKind::Reserved));
        line.text(k) == "!" && word && line.tokens[k - 1].ends_value() && !line.touches(k - 1)
    })?;
    let found = IdiomMatch::new(&codes::E0112, "`!` does not begin a comment", line.span(at, at)).label("write `#`");
    Some(found.write("#"))
}

/// True if only words and signs of a sentence follow a `;` or the second dash of `--`, two words in a row among them, after an equation or a value.
fn is_prose(line: &Line<'_>, at: usize) -> bool {
    let word = |k: usize| matches!(line.kind(k), Some(TokenKind::Name | TokenKind::Reserved));
    let rest = at + 1..line.tokens.len();
    let before = if line.text(at) == "-" { at - 2 } else { at - 1 };
    let statement = line.find(0, "=").is_some_and(|k| k < at) && line.tokens[before].ends_value();
    let plain = |k: usize| {
        word(k)
            || matches!(line.kind(k), Some(TokenKind::Number | TokenKind::Comma | TokenKind::Dot))
            || line.text(k) == "/"
    };
    let pair = (at + 1..line.tokens.len().saturating_sub(1)).any(|k| word(k) && word(k + 1));
    // an entry of a block is followed by a statement with its word
    let keyword = crate::syntax::explain::is_keyword(line.text(at + 1));
    statement && line.find(0, "{").is_none() && word(at + 1) && !keyword && pair && rest.into_iter().all(plain)
}

/// True for `y' = -k*y ; decay`: a single word is no statement. Among items, it may be a name that is declared below.
fn is_word(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> bool {
    let word = line.text(at + 1);
    let alone = matches!(line.kind(at + 1), Some(TokenKind::Name | TokenKind::Reserved)) && at + 2 == line.tokens.len();
    let equation = line.find(0, "=").is_some_and(|k| k < at) && line.tokens[at - 1].ends_value();
    let items = crate::syntax::explain::is_keyword(line.text(0));
    let plain = line.find(0, "{").is_none() && !crate::syntax::explain::is_keyword(word);
    alone && equation && plain && !(items && (scene.is_declared(word) || scene.rates.contains(word)))
}

/// True for `y' = -y -- decay`: a single word that nothing declares.
fn is_unknown(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> bool {
    let word = line.text(at + 1);
    let value = line.find(0, "=").is_some_and(|k| k + 1 < at) && line.tokens[at - 2].ends_value();
    let alone = line.kind(at + 1) == Some(TokenKind::Name) && at + 2 == line.tokens.len();
    value && alone && word.len() > 2 && !scene.is_declared(word) && !scene.is_function(word)
}
