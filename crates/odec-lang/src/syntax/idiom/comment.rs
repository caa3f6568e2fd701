//! Comments of other languages.

use odec_ir::Span;

use super::IdiomMatch;
use super::line::Line;
use crate::syntax::explain::token::TokenKind;

/// `/* decay */`, `(* decay *)`
pub(super) fn enclosed(line: &Line<'_>) -> Option<IdiomMatch> {
    let text = line.whole();
    let (open, close) =
        [("/*", "*/"), ("(*", "*)")].into_iter().find(|(open, close)| text.contains(open) && text.ends_with(close))?;
    let at = text.find(open)?;
    let inside = text.get(at + 2..text.len() - close.len())?.trim();
    let span = Span::new(line.range.start + at, line.range.end);
    let one = !inside.contains(['\n', '*']) && at + 4 <= text.len();
    one.then(|| {
        IdiomMatch::new("E0112", format!("`{open}` does not begin a comment"), span)
            .label("write `#`")
            .write(format!("# {inside}"))
    })
}

/// `y' = -y ! decay`: after a value, `!` and a word are a comment.
pub(super) fn remark(line: &Line<'_>) -> Option<IdiomMatch> {
    let at = (1..line.tokens.len()).find(|&k| {
        let word = matches!(line.kind(k + 1), Some(TokenKind::Name | TokenKind::Number | TokenKind::Reserved));
        line.text(k) == "!" && word && line.tokens[k - 1].ends_value() && !line.touches(k - 1)
    })?;
    let found = IdiomMatch::new("E0112", "`!` does not begin a comment", line.span(at, at)).label("write `#`");
    Some(found.write("#"))
}
