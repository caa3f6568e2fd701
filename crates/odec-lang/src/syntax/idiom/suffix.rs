//! Numbers with a suffix of other languages: `5u"1/s"` of Julia, `2.0d` of C, `2.0d0` of Fortran, `1e^-3`.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::{TokenKind, numeral};

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    for at in 0..line.tokens.len() {
        let idiom = unitful(scene, line, at).or_else(|| mega(scene, line, at)).or_else(|| double(scene, line, at));
        found.extend(idiom.or_else(|| power_of_ten(line, at)));
    }
    found.extend(samples(line));
}

/// `5u"1/s"` and `5*u"1/s"` of the package Unitful
fn unitful(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let glued = line.kind(at) == Some(TokenKind::Malformed);
    let number = if glued { line.text(at).strip_suffix('u')? } else { line.text(at) };
    let plain = line.kind(at) == Some(TokenKind::Number) && line.reads(at + 1, &["*", "u"]);
    let text = if glued { at + 1 } else { at + 3 };
    let fits = (glued || plain) && number.parse::<f64>().is_ok() && line.touches(text - 1);
    if !fits || line.kind(text) != Some(TokenKind::Text) || plain && scene.is_declared("u") {
        return None;
    }
    let unit = line.text(text).trim_matches('"').trim();
    let better = format!("{number} [{unit}]");
    let found = IdiomMatch::new(&codes::E0119, "write a unit in square brackets", line.span(at, text));
    let found = found.label("a number with a unit");
    let known = crate::units::Units::default().read(unit).is_ok();
    Some(if known { found.write(better) } else { found.help(format!("write `{better}`")).over(line.range.clone()) })
}

/// `3M`
fn mega(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let number = line.text(at).strip_suffix('M').filter(|_| line.kind(at) == Some(TokenKind::Malformed))?;
    let own = at > 1 && line.reads(at - 2, &["M", "="]);
    if number.parse::<f64>().is_err() || scene.is_declared("M") && !own || line.text(at.max(1) - 1) == "^" {
        return None;
    }
    let found = IdiomMatch::new(&codes::E0113, "a number cannot have an SI prefix", line.span(at, at));
    let help = format!("write `{number}e6` for millions, or `{number} [M]` for moles per litre");
    Some(found.label("a prefix or a unit?").help(help).over(line.range.clone()))
}

/// `2.0d`, `2.0d0`
fn double(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let text = line.text(at);
    let (number, tail) = text.split_at(numeral(text));
    let real = number.contains('.') && line.kind(at) == Some(TokenKind::Malformed);
    // a point at the end needs a digit
    let number = number.strip_suffix('.').map_or(number.to_owned(), |whole| format!("{whole}.0"));
    let found = super::digits::suffixed(line, at);
    match tail {
        "d0" | "D0" if real && !scene.is_declared(tail) => Some(found.write(number)),
        "d" | "D" if real => {
            let product = scene.is_declared(tail).then(|| format!(", `{number}*{tail}` for a product"));
            let days = if tail == "d" { format!(", or `{number} [d]` for days") } else { String::new() };
            let help = format!("write `{number}` for a number of C or Java{}{days}", product.unwrap_or_default());
            Some(found.help(help).over(line.range.clone()))
        }
        _ => None,
    }
}

/// `1e^-3`
fn power_of_ten(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let number = line.text(at).strip_suffix('e').filter(|_| line.kind(at) == Some(TokenKind::Malformed))?;
    let sign = usize::from(line.text(at + 2) == "-");
    let power = line.text(at + 2 + sign);
    let whole = power.len() <= 3 && power.bytes().all(|byte| byte.is_ascii_digit()) && !power.is_empty();
    if !whole || line.text(at + 1) != "^" || number.parse::<f64>().is_err() || line.text(at + 3 + sign) == "^" {
        return None;
    }
    let exponent = line.slice(at + 2, at + 3 + sign);
    let text = line.slice(at, at + 3 + sign);
    let found = IdiomMatch::new(&codes::E0113, format!("`{text}` is not a number"), line.span(at, at + 2 + sign));
    let help =
        format!("write `{number}e{exponent}` for a power of ten, or `{number}*exp({exponent})` for a power of e");
    Some(found.label("a power of ten?").help(help).over(line.range.clone()))
}

/// `samples = log 100`
fn samples(line: &Line<'_>) -> Option<IdiomMatch> {
    let at = (0..line.tokens.len()).find(|&k| line.text(k) == "samples" && line.text(k + 1) == "=")?;
    let number = line.text(at + 3);
    let whole = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.is_empty();
    if line.text(at + 2) != "log" || !whole || !matches!(line.text(at + 4), "" | ";" | "}" | ",") {
        return None;
    }
    let found =
        IdiomMatch::new(&codes::E0118, "the rows of a logarithm need their first time", line.span(at + 2, at + 3));
    let help = format!("write `log({number}, 1e-3)` for {number} rows from the time 1e-3 on");
    Some(found.label("a number and a time in brackets").help(help).over(line.range.clone()))
}
