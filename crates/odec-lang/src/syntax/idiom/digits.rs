//! Numbers whose digits are grouped: `1'000`, `1 000 000`, `1,000,000`; with a decimal comma: `rtol = 1,0e-6`; and
//! with a kind of Fortran: `1.0_8`, `3.0_wp`.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0113;
/// Largest number of lines that use a name with a digit at its beginning.
const MAX_USES: usize = 100;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    for at in 0..line.tokens.len() {
        let idiom = grouped(line, at).or_else(|| decimal_comma(scene, line, at));
        found.extend(idiom.or_else(|| name(scene, line, at)).or_else(|| resistance(scene, line, at)));
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

/// `rtol = 1,0e-6`, `when x < 0,5 {`, `within 0,1`: outside of brackets no comma separates two numbers.
fn decimal_comma(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let number = |k: usize| line.kind(k) == Some(TokenKind::Number);
    let glued = line.kind(at + 1) == Some(TokenKind::Comma) && line.touches(at) && line.touches(at + 1);
    let (whole, part) = (line.text(at), line.text(at + 2));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fraction = digits(part.split(['e', 'E']).next().unwrap_or_default());
    if !glued || !number(at) || !number(at + 2) || !digits(whole) || !fraction {
        return None;
    }
    let inside = |open: usize| line.close(open).is_none_or(|close| close > at);
    let listed = (0..at).any(|k| matches!(line.text(k), "(" | "[") && inside(k));
    // the parser answers for declarations and equations
    let declares =
        matches!(line.text(0), "state" | "param" | "const" | "unknown" | "discrete" | "output" | "index" | "expect");
    let within = (0..at).any(|k| line.text(k) == "within");
    let single = line.text(at + 3) != "," && (at == 0 || line.text(at - 1) != ",");
    let equals = (0..at).rev().find(|&k| line.text(k) == "=").unwrap_or(0);
    let key = line.text(equals.max(1) - 1);
    // `t = 0,10` and `samples = 1,5` are more likely lists
    let list = (key == scene.time || key == "samples") && !(equals..at).any(|k| line.text(k) == "..");
    if listed || declares && !within || !single || list && digits(part) {
        return None;
    }
    let text = format!("{whole},{part}");
    let better = format!("{whole}.{part}");
    let found = IdiomMatch::new(CODE, format!("`{text}` is not a number"), line.span(at, at + 2));
    let found = found.label("a decimal comma?");
    Some(if at > 0 && line.text(at - 1) == "at" {
        found.help(format!("write `at {better}` for one time, and `at [{whole}, {part}]` for two"))
    } else if part.len() == 3 && digits(part) {
        found.help(format!("write `{better}`, or `{whole}{part}` if the comma groups digits"))
    } else {
        found.write(better)
    })
}

/// `param 2k = 1`, and the lines that use `2k`.
fn name(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let text = line.text(at);
    let (number, tail) = text.split_at(crate::syntax::explain::token::numeral(text));
    let declares = matches!(line.text(0), "param" | "const" | "state" | "discrete" | "unknown" | "output");
    let item = at == 1 || at > 1 && line.text(at - 1) == ",";
    let whole = number.bytes().all(|byte| byte.is_ascii_digit()) && tail.starts_with(char::is_alphabetic);
    if !declares || !item || !whole || line.kind(at) != Some(TokenKind::Malformed) || line.text(at + 1) != "=" {
        return None;
    }
    let plain = format!("{tail}{number}");
    let better = if scene.is_declared(&plain) { format!("{tail}_{number}") } else { plain };
    let found = IdiomMatch::new(CODE, format!("`{text}` is neither a number nor a name"), line.span(at, at));
    let found = found.label("a name begins with a letter or `_`").over(line.range.clone());
    let uses = |other: &&Line<'_>| (0..other.tokens.len()).any(|k| other.text(k) == text);
    let also = scene.lines.iter().filter(uses).take(MAX_USES).map(|other| other.range.clone()).collect();
    let found = found.help(format!("write `{better}`, here and where it is used"));
    Some(IdiomMatch { also, ..found })
}

/// `4k7` on the drawing of a circuit: 4.7 kilo-ohms.
fn resistance(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let text = line.text(at);
    let letter = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (whole, part) = (&text[..letter], &text[letter + 1..]);
    let digits = |text: &str| !text.is_empty() && text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    let power = match &text[letter..=letter] {
        "R" => "",
        "k" | "K" => "e3",
        "M" => "e6",
        _ => return None,
    };
    let value = at > 0 && line.text(at - 1) == "=";
    if !value || !digits(whole) || !digits(part) || scene.is_declared(&text[letter..]) {
        return None;
    }
    let found = IdiomMatch::new(CODE, format!("`{text}` is not a number"), line.span(at, at));
    Some(found.label("a value of a circuit?").help(format!("write `{whole}.{part}{power}`")))
}

/// A number with a suffix, which other languages have for the size of a number.
pub(super) fn suffixed(line: &Line<'_>, at: usize) -> IdiomMatch {
    IdiomMatch::new(CODE, format!("`{}` is not a number", line.text(at)), line.span(at, at))
        .label("numbers have no suffix")
}

/// `1.0_8`, `1.e-3_8`, `2_8`, `3.0_wp`, `1.0_dp`: the kind of a number in Fortran.
pub(super) fn of_kind(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let (number, kind) = line.text(at).split_once('_')?;
    let value = number.parse::<f64>().ok().filter(|value| value.is_finite())?;
    let suffix = format!("_{kind}");
    if scene.is_declared(&suffix) || kind.is_empty() {
        return None;
    }
    let real = number.contains(['.', 'e', 'E']);
    // `1.e-3` and `1.` end their digits with a point
    let plain = number.replacen(".e", "e", 1);
    let plain = plain.strip_suffix('.').map_or(plain.clone(), |whole| format!("{whole}.0"));
    if kind.bytes().all(|byte| byte.is_ascii_digit()) {
        let known = matches!(kind, "4" | "8" | "16");
        return match (known, real) {
            (true, true) => Some(suffixed(line, at).write(plain)),
            (true, false) if value != 0.0 => {
                Some(suffixed(line, at).help(format!("write `{plain}`, or `{plain}.{kind}` for a fraction")))
            }
            _ => None,
        };
    }
    let name = kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !name || !kind.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    if crate::units::table::find(kind).is_some() && !real {
        return Some(suffixed(line, at).help(format!("write a unit as `{plain} [{kind}]`")));
    }
    Some(suffixed(line, at).write(plain))
}

/// `-2x` on a line with another idiom: both are corrected, because one fix alone leaves the line with an error.
pub(super) fn factor(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let text = line.text(at);
    let (number, name) = text.split_at(crate::syntax::explain::token::numeral(text));
    let binds = at > 0 && matches!(line.text(at - 1), "/" | "^" | "**");
    if line.kind(at) != Some(TokenKind::Malformed) || number.is_empty() || !scene.is_declared(name) || binds {
        return None;
    }
    let better = format!("{number}*{name}");
    let found = IdiomMatch::new(&codes::E0115, format!("an operator is missing in `{text}`"), line.span(at, at));
    let between = line.tokens[at].start + number.len();
    let found = found.label("a product needs `*`").help(format!("write `{better}`"));
    Some(found.fix(odec_ir::Span::new(between, between), "*"))
}
