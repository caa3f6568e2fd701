//! The same sign twice in a row: `a + + b`, `x * * 2`.

use odec_ir::Span;

use super::Scene;
use super::token::Token;
use crate::diagnostic::{Diagnostic, codes};

/// The same sign again. Where two signs have a meaning in other languages, there is no fix: `x * * 2` may be a power.
pub(super) fn twice(scene: &Scene<'_>, before: Token, here: Token) -> Diagnostic {
    let again = Span::new(scene.base + before.end, scene.base + here.end);
    let sign = scene.text(here);
    let report = scene.error(&codes::E0130, format!("`{sign}` occurs twice")).label(scene.span(here), "again");
    match sign {
        "*" => report.help("write one `*` for a product, or `^` for a power, as in `x^2`"),
        "/" => report.help("write one `/` for a quotient, or `floor(a/b)` to round it down"),
        "+" | "=" | "," => report.fix(again, ""),
        _ => report.help(format!("write one `{sign}`, or what you mean by two")),
    }
}
