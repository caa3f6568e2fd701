//! Signs beside one operand: `n!`, `5 %`, `30°`, `1*^-3`, `x++`, `!b`.

use super::IdiomMatch;
use super::line::{Line, operand};
use super::sign::CODE;
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

/// `1*^-3`
pub(super) fn power_of_ten(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if !line.reads(at + 1, &["*", "^"]) || line.kind(at) != Some(TokenKind::Number) || !line.touches(at + 1) {
        return None;
    }
    let minus = line.text(at + 3) == "-";
    let last = if minus { at + 4 } else { at + 3 };
    let better = format!("{}e{}{}", line.text(at), if minus { "-" } else { "" }, line.text(last));
    let whole = line.kind(last) == Some(TokenKind::Number) && line.text(last).bytes().all(|b| b.is_ascii_digit());
    whole.then(|| IdiomMatch::new(&codes::E0113, "write a power of ten with `e`", line.span(at, last)).write(better))
}

/// `x++`
pub(super) fn counted(line: &Line<'_>) -> Option<IdiomMatch> {
    let step = line.reads(1, &["+", "+"]) || line.reads(1, &["-", "-"]);
    let end = line.tokens.len() == 3 || line.text(3) == ";";
    (line.is_name(0) && step && end && line.touches(1)).then(|| {
        IdiomMatch::new(&codes::E0133, "odec does not execute assignments step by step", line.span(0, 2))
            .label("an assignment of a program")
            .help(format!("write a definition of `{0}`: `{0} = ...`", line.text(0)))
    })
}

/// `!b = 2*k`
pub(super) fn derived(line: &Line<'_>) -> Option<IdiomMatch> {
    (line.text(0) == "!" && line.is_name(1) && line.text(2) == "=").then(|| {
        IdiomMatch::new(CODE, "write a definition without `!`", line.span(0, 0))
            .label("not needed")
            .help("remove it")
            .fix(line.span(0, 0), "")
    })
}

/// `5 %` as a value.
pub(super) fn percent(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let whole = at > 1 && line.text(at - 2) == "=";
    let declares = matches!(line.text(0), "param" | "const" | "state");
    let ends = line.tokens.len() == at + 1 || line.text(at + 1) == ",";
    let value: f64 = at.checked_sub(1).and_then(|before| line.text(before).parse().ok())?;
    (line.text(at) == "%" && declares && ends && whole).then(|| {
        IdiomMatch::new(CODE, "write a percentage as a number", line.span(at - 1, at))
            .write(format!("{}", hundredth(value)))
    })
}

/// `param r = 5 % per year`: a percentage or a comment, which differ by a factor of 100.
pub(super) fn share(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let value: f64 = line.text(at.checked_sub(1)?).parse().ok()?;
    Some(
        IdiomMatch::new(&codes::E0112, "`%` is not part of a number, and does not begin a comment", line.span(at, at))
            .label("a percentage or a comment?")
            .help(format!("a percentage is `{}`, a comment begins with `#`", hundredth(value))),
    )
}

/// The value of a percentage, without the digits of its rounding.
fn hundredth(value: f64) -> f64 {
    let share = value / 100.0;
    format!("{share:.12e}").parse().unwrap_or(share)
}

/// `n!`
pub(super) fn factorial(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let before = at.checked_sub(1)?;
    let value = line.text(at) == "!" && line.touches(before) && line.tokens[before].ends_value();
    let start = (0..=before).rev().find(|&k| line.operand_end(k) == Some(at)).filter(|_| value)?;
    let inside = super::line::bare(line.slice(start, at));
    Some(
        IdiomMatch::new(CODE, "write a factorial as `gamma`", line.span(start, at))
            .write(format!("gamma({inside} + 1)")),
    )
}

/// `30°`
pub(super) fn degrees(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let before = at.checked_sub(1)?;
    let start = (0..=before).rev().find(|&k| line.operand_end(k) == Some(at)).filter(|_| line.text(at) == "°")?;
    let better = format!("{}*pi/180", operand(line.slice(start, at)));
    Some(
        IdiomMatch::new(&codes::E0106, "odec needs angles in radians", line.span(start, at))
            .label("degrees")
            .write(better),
    )
}
