//! Notation of C and R for numbers, values and members: `1<<n`, `(double)k`, `data->k`, `5L`, `a %in% c(1, 3)`.

use odec_ir::Span;

use super::line::{Line, operand};
use super::sign::operand_start;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

/// Largest number of values in a list that a condition repeats.
const MAX_VALUES: usize = 5;
/// Types of C whose values are numbers with a fraction.
const TYPES: [&str; 5] = ["double", "float", "real", "realtype", "sunrealtype"];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    for at in 0..line.tokens.len() {
        found.extend(
            outer_assignment(scene, line, at)
                .or_else(|| shift(line, at))
                .or_else(|| cast(scene, line, at))
                .or_else(|| member(scene, line, at))
                .or_else(|| integer(scene, line, at))
                .or_else(|| among(line, at))
                .or_else(|| inside(line, at)),
        );
    }
}

/// `z <<- k*x` of R.
fn outer_assignment(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let fits = at == 1 && line.is_name(0) && line.reads(1, &["<", "<-"]) && line.touches(1);
    fits.then(|| {
        let found = IdiomMatch::new(&codes::E0125, "odec has no operator `<<-`", line.span(1, 2)).label("write `=`");
        let (name, value) = (line.text(0), line.slice(3, line.tokens.len()));
        if scene.states.contains(name) {
            return found.help(format!(
                "write `state {name} = {value}` for an initial value, and `{name}' = {value}` for a rate of change"
            ));
        }
        found.help(format!("write `{name} = {value}`")).fix(line.span(1, 2), "=")
    })
}

/// `1<<n`, `a>>1`
fn shift(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let sign = line.text(at);
    let twice = matches!(sign, "<" | ">") && line.text(at + 1) == sign && line.touches(at);
    // in a condition, one sign is a slip
    let condition = (0..at).any(|k| matches!(line.text(k), "if" | "when" | "where" | "and" | "or"));
    if !twice || condition || line.text(at + 2) == "-" || line.find(0, "=").is_none_or(|k| k > at) {
        return None;
    }
    let (start, end) = (operand_start(line, at)?, line.operand_end(at + 2)?);
    let left = line.slice(start, at);
    let power = format!("2^{}", operand(line.slice(at + 2, end)));
    let alone = |k: Option<usize>| k.is_none_or(|k| line.kind(k) != Some(TokenKind::Operator));
    let better = match (sign, alone(start.checked_sub(1)) && alone(Some(end))) {
        ("<", true) if left == "1" => power,
        ("<", true) => format!("{}*{power}", operand(left)),
        (_, true) => format!("floor({}/{power})", operand(left)),
        // other operators bind more tightly than a shift
        ("<", false) => "a*2^n` for `a << n".to_owned(),
        (_, false) => "floor(a/2^n)` for `a >> n".to_owned(),
    };
    let found = IdiomMatch::new(&codes::E0125, format!("odec has no operator `{sign}{sign}`"), line.span(at, at + 1));
    Some(found.label("a shift of bits").help(format!("write `{better}`")))
}

/// `(double)k`
fn cast(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at + 1);
    let whole = matches!(word, "int" | "long" | "short");
    if line.text(at) != "(" || line.text(at + 2) != ")" || !(whole || TYPES.contains(&word)) || scene.is_declared(word)
    {
        return None;
    }
    let called = at > 0 && line.touches(at - 1) && line.tokens[at - 1].ends_value();
    let end = line.operand_end(at + 3).filter(|_| !called)?;
    let value = line.slice(at + 3, end);
    let found = IdiomMatch::new(&codes::E0133, "odec has no types of numbers", line.span(at, at + 2)).label("a type");
    Some(if whole {
        found.help(format!("write `floor({value})` for the whole part of a value that is not negative"))
    } else {
        let span = Span::new(line.tokens[at].start, line.tokens[at + 3].start);
        found.help(format!("write `{value}`")).fix(span, "")
    })
}

/// `data->k`: a member of a structure.
fn member(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let arrow = |k: usize| line.text(k) == "->" && line.touches(k - 1) && line.touches(k) && line.is_name(k + 1);
    let holder = line.text(at);
    let first = line.is_name(at) && (at == 0 || line.text(at - 1) != "->") && !scene.is_declared(holder);
    if !first || !arrow(at + 1) || line.find(0, "=").is_none_or(|k| k > at) {
        return None;
    }
    let mut last = at + 2;
    while arrow(last + 1) {
        last += 2;
    }
    let name = line.text(last);
    let found = IdiomMatch::new(&codes::E0134, "values of a model do not belong to a structure", line.span(at, last));
    let found = found.label(format!("write `{name}`"));
    Some(if scene.is_declared(name) {
        found.write(name)
    } else {
        found.help(format!("write `{name}`, and declare it: `param {name} = 1`"))
    })
}

/// `5L` of R.
fn integer(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let number = line.text(at).strip_suffix('L').filter(|_| line.kind(at) == Some(TokenKind::Malformed))?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || scene.is_declared("L") {
        return None;
    }
    let other = if crate::syntax::explain::is_keyword(line.text(0)) {
        format!("`{number} [L]` for litres")
    } else {
        format!("`{number}*L` for a product")
    };
    let found = IdiomMatch::new(&codes::E0113, format!("`{number}L` is not a number"), line.span(at, at));
    Some(found.label("an integer of R?").help(format!("write `{number}` for an integer of R, or {other}")))
}

/// `1 < t < 2` for `t ∈ (1, 2)`, and `1 <= t <= 2` for square brackets.
pub(super) fn interval(text: &str) -> Option<String> {
    let line = Line::new(text, 0..text.len(), 0);
    let at = (1..line.tokens.len()).find(|&k| line.text(k) == "∈")?;
    let (start, end) = (operand_start(&line, at)?, line.tokens.len());
    let sign = |closed: bool| if closed { "<=" } else { "<" };
    // `]1, 2[` excludes its ends
    let first = match line.text(at + 1) {
        "[" => sign(true),
        "(" | "]" => sign(false),
        _ => return None,
    };
    let last = match line.text(end - 1) {
        "]" => sign(true),
        ")" | "[" => sign(false),
        _ => return None,
    };
    let comma = (at + 2..end).find(|&k| line.text(k) == ",")?;
    let plain = (at + 2..end - 1).all(|k| k == comma || line.text(k) != "," && line.kind(k) != Some(TokenKind::Open));
    let (a, b) = (line.slice(at + 2, comma), line.slice(comma + 1, end - 1));
    let whole = start == 0 && plain && !a.is_empty() && !b.is_empty();
    whole.then(|| format!("{a} {first} {} {last} {b}", line.slice(start, at)))
}

/// `t ∈ (1, 2)` in a condition.
fn inside(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let open = at + 1;
    if line.text(at) != "∈" || line.kind(open) != Some(TokenKind::Open) || line.find(0, "?").is_some() {
        return None;
    }
    let condition = (0..at).any(|k| matches!(line.text(k), "if" | "when" | "and" | "or" | "not"));
    let start = operand_start(line, at)?;
    let close = (open + 1..line.tokens.len()).find(|&k| matches!(line.text(k), ")" | "]"))?;
    let grouped = start > 0 && line.text(start - 1) == "(" && line.text(close + 1) == ")";
    if !condition && !grouped {
        return None;
    }
    let better = format!("({})", interval(line.slice(start, close + 1))?);
    let found = IdiomMatch::new(&codes::E0125, "odec has no symbol `∈`", line.span(start, close));
    Some(found.label("a value in an interval").help(format!("write `{better}`")))
}

/// `a %in% c(1, 3)` of R.
fn among(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if !line.reads(at, &["%", "in", "%"]) || at == 0 {
        return None;
    }
    let (start, end) = (operand_start(line, at)?, line.operand_end(at + 3)?);
    let value = operand(line.slice(start, at));
    let found = IdiomMatch::new(&codes::E0125, "odec has no operator `%in%`", line.span(start, end - 1));
    let found = found.label("one of several values?");
    let list = line.arguments(at + 4).filter(|list| {
        line.text(at + 3) == "c" && !list.is_empty() && list.len() <= MAX_VALUES && line.text(at + 4) == "("
    });
    let Some(list) = list else {
        return Some(found.help(format!("compare with each value: `({value} == 1 or {value} == 2)`")));
    };
    let each: Vec<String> = list.iter().map(|r| format!("{value} == {}", line.slice(r.start, r.end))).collect();
    Some(found.help(format!("write `({})`", each.join(" or "))))
}
