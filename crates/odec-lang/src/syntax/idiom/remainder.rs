//! Remainders of other languages: `a % b`, `a %% b`, `a mod b`.

use super::line::Line;
use super::sign::{CODE, operand_start};
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

/// `a % b`, `a %% b`
pub(super) fn remainder(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let before = at.checked_sub(1)?;
    if line.text(at) != "%" || line.text(before) == "%" || line.reads(0, &["expect"]) || line.reads(0, &["conserve"]) {
        return None;
    }
    let next = if line.text(at + 1) == "%" { at + 2 } else { at + 1 };
    let mut end = line.operand_end(next)?;
    while matches!(line.text(end), "^" | "**") {
        end = line.operand_end(end + 1)?;
    }
    let start = dividend_start(line, at, line.text(at + 1) == "%")?;
    // a word after it is a comment
    let words = (end..line.tokens.len()).any(|k| line.kind(k) == Some(TokenKind::Name) && line.is_name(k - 1));
    let around = |k: usize| line.kind(k) == Some(TokenKind::Operator);
    let undeclared = line.is_name(next) && next + 1 == line.tokens.len() && !line.touches(at);
    let better = format!("mod({}, {})", line.slice(start, at), line.slice(next, end));
    let found = IdiomMatch::new(CODE, "the remainder of a division is `mod`", line.span(start, end - 1))
        .label(format!("write `{better}`"));
    let spaced = line.file[line.tokens[at].end..].starts_with(' ');
    let word = undeclared && at + 1 == next && spaced && line.kind(next) == Some(TokenKind::Name);
    if (words || word && !scene.is_declared(line.text(next))) && line.kind(before) == Some(TokenKind::Number) {
        return super::behind::share(line, at);
    }
    if words || word {
        let found =
            IdiomMatch::new(&codes::E0112, "`%` does not begin a comment", line.span(at, at)).label("write `#`");
        // two adjacent words are not a formula
        return Some(if words {
            found.write("#")
        } else {
            found.help(format!("write `#` for a comment, or `{better}` for the remainder of a division"))
        });
    }
    let divisor = line.slice(next, end);
    // a sign or a power belongs to the remainder in R, and around another operand it may not
    let plain = Some(start) == operand_start(line, at) && Some(end) == line.operand_end(next);
    Some(if line.text(at + 1) != "%" {
        found.help(format!(
            "write `{better}`, which has the sign of `{divisor}`, as in Python; in C the result has the sign of `{}`",
            line.slice(start, at)
        ))
    } else if !plain || start > 0 && around(start - 1) || matches!(line.text(end), "^" | "*" | "/") {
        found.help(format!("write `{better}`"))
    } else {
        found.write(better)
    })
}

/// Start of what `%` divides: the product before it, as in C and Python, or for `%%` of R the power. A sign
/// belongs to it.
fn dividend_start(line: &Line<'_>, at: usize, tight: bool) -> Option<usize> {
    let mut start = operand_start(line, at)?;
    let joins = |sign: &str| matches!(sign, "^" | "**") || !tight && matches!(sign, "*" | "/" | "·");
    while start > 1 {
        // `x^-2`
        let minus = usize::from(matches!(line.text(start - 1), "-" | "−") && line.text(start - 2) == "^");
        if start < 2 + minus || !joins(line.text(start - 1 - minus)) {
            break;
        }
        start = operand_start(line, start - 1 - minus)?;
    }
    let signed = start > 0 && matches!(line.text(start - 1), "-" | "−");
    let begins = signed && (start == 1 || !line.tokens[start - 2].ends_value());
    Some(if begins { start - 1 } else { start })
}

/// `x mod 2`
pub(super) fn spoken_remainder(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let between = at > 0 && line.tokens[at - 1].ends_value() && line.tokens.get(at + 1)?.begins_value();
    if !matches!(word, "mod" | "MOD" | "Mod" | "rem") || scene.is_declared(word) || !between || line.text(at + 1) == "("
    {
        return None;
    }
    // a product, a power and a sign before it belong to it, and a power after it to the divisor
    let start = dividend_start(line, at, false)?;
    let mut end = line.operand_end(at + 1)?;
    while matches!(line.text(end), "^" | "**") {
        end = line.operand_end(end + 1)?;
    }
    let better = format!("mod({}, {})", line.slice(start, at), line.slice(at + 1, end));
    Some(
        IdiomMatch::new(CODE, "the remainder of a division is the function `mod`", line.span(start, end - 1))
            .label("a remainder")
            .help(format!("write `{better}`; it has the sign of its second argument")),
    )
}
