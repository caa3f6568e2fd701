//! Numbers whose digits are grouped: `1'000`, `1 000 000`, `1,000,000`.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0113;

pub(super) fn search(_: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    for at in 0..line.tokens.len() {
        found.extend(grouped(line, at));
    }
}

/// Three digits, and a fraction or an exponent if it is the last group.
fn is_group(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits == 3 && !text[3..].starts_with(|c: char| c.is_alphanumeric() && !matches!(c, 'e' | 'E'))
}

/// `1'000'000.5`, `1 000 000`, `1,000,000`
fn grouped(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let number = |k: usize| line.kind(k) == Some(TokenKind::Number);
    let first = line.text(at);
    let short = number(at) && first.len() <= 3 && first.bytes().all(|byte| byte.is_ascii_digit());
    let continues = at > 0 && (number(at - 1) || matches!(line.kind(at - 1), Some(TokenKind::Dot)));
    if !short || first.starts_with('0') || continues {
        return None;
    }
    let prime = line.kind(at + 1) == Some(TokenKind::Prime);
    let comma = line.kind(at + 1) == Some(TokenKind::Comma);
    let step = if prime || comma { 2 } else { 1 };
    let mut last = at;
    loop {
        let next = last + step;
        let glued = step == 1 || line.touches(last) && line.touches(last + 1);
        let same = step == 1 || line.text(last + 1) == line.text(at + 1);
        // one blank, not the end of a line
        let apart = step == 2 || line.tokens.get(next).is_some_and(|token| token.start == line.tokens[last].end + 1);
        if !number(next) || !glued || !same || !apart || !is_group(line.text(next)) {
            break;
        }
        last = next;
        if line.text(last).len() > 3 {
            break;
        }
    }
    let groups = (last - at) / step;
    // `1,000` may be a decimal fraction, and `1, 000` two items; a list has brackets
    let open = (0..at).filter(|&k| line.kind(k) == Some(TokenKind::Open)).count();
    let closed = (0..at).filter(|&k| line.kind(k) == Some(TokenKind::Close)).count();
    let listed = open > closed;
    if groups == 0 || !prime && (listed || comma && groups < 2) {
        return None;
    }
    let text = line.slice(at, last + 1);
    let better: String = text.chars().filter(|c| !matches!(c, '\'' | '’' | '′' | ' ' | ',')).collect();
    let found =
        IdiomMatch::new(CODE, format!("`{text}` is not a number"), line.span(at, last)).label("do not group digits");
    // two numbers in a row may lack an operator
    Some(if prime || groups > 1 { found.write(better) } else { found.help(format!("write `{better}`")) })
}
