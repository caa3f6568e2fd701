//! Ranges of equations in other notations: `u[2:N-1]' = ...`, `u[i > 1]' = ...`, `u[i]' = ... for i in 2..N`.

use super::array::range_of;
use super::boundary::range_of as declared_range;
use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0135;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    repeated(scene, line).or_else(|| of_elements(scene, line)).or_else(|| difference(scene, line))
}

/// `state u[i] = 0 for i = 1..5`
fn repeated(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let at = line.find(1, "for").filter(|&at| line.is_name(at + 1) && matches!(line.text(at + 2), "=" | "in"))?;
    let (index, end) = (line.text(at + 1), line.tokens.len());
    if scene.is_declared("for") || line.find(0, "=").is_none_or(|equals| equals > at) {
        return None;
    }
    let range = range_of(line, at + 3, end)?;
    let equals = line.find(0, "=").unwrap_or(0);
    let equation = with_range(line.slice(0, equals), line.slice(equals + 1, at), index, &range);
    let declared = scene.indices.contains(index);
    let help = if declared && is_declared_range(scene, index, &range) {
        format!("remove it: the declaration of `{index}` has its range")
    } else if let Some(equation) = equation.filter(|_| declared) {
        format!("write `{equation}`")
    } else if declared {
        format!("`{index}` has another range; declare another index with this one, `index k = {range}`")
    } else {
        format!("remove it, and declare the index with its range on its own line, `index {index} = {range}`")
    };
    let found =
        IdiomMatch::new(CODE, "a line with an index applies to the whole range of the index", line.span(at, end - 1));
    Some(found.label("not needed").help(help).over(line.range.clone()))
}

fn of_elements(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (close, equals) = left_side(line)?;
    scene.arrays.get(line.text(0))?;
    compared(scene, line, close, equals)
        .or_else(|| after_comma(scene, line, close, equals))
        .or_else(|| sliced(scene, line, close, equals))
}

/// `x[k+1] := a*x[k] + e` of a single `x`: a difference equation.
fn difference(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let single = |k: usize| {
        let name = line.text(k);
        let known = line.is_name(k) && scene.is_declared(name) && !scene.arrays.contains_key(name);
        line.close(k + 1).filter(|_| known && line.text(k + 1) == "[" && line.touches(k))
    };
    let assign = (2..line.tokens.len()).find(|&k| matches!(line.text(k), ":=" | "="))?;
    let first = (0..assign).find(|&k| single(k).is_some_and(|close| close + 1 == assign))?;
    let mut end = (assign..line.tokens.len()).find(|&k| matches!(line.text(k), ";" | "}")).unwrap_or(line.tokens.len());
    end = end.min(line.tokens.len());
    if line.kind(first + 2) != Some(TokenKind::Name) || line.text(first + 3) != "+" {
        return None;
    }
    let (mut better, mut k) = (format!("{} := ", line.text(first)), assign + 1);
    let mut last = line.tokens.get(k)?.start;
    while k < end {
        if let Some(close) = single(k) {
            // a bracket that stays open in this action closes in another one
            if close >= end {
                return None;
            }
            better.push_str(line.between(last, line.tokens[k].end));
            last = line.tokens[close].end;
            k = close;
        }
        k += 1;
    }
    better.push_str(line.between(last, line.tokens[end - 1].end));
    let found = IdiomMatch::new(CODE, "an action gives the new value of a name", line.span(first, assign - 1));
    let found = found.label("an index of a time step").over(line.range.clone());
    Some(found.help(format!("write `{better}`: the right side reads the value before the event")))
}

/// `x[1]` where `x1` is declared.
pub(super) fn numbered_name(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let name = line.text(at);
    let number = line.kind(at + 2) == Some(TokenKind::Number) && line.text(at + 1) == "[" && line.text(at + 3) == "]";
    let better = format!("{name}{}", line.text(at + 2));
    if !line.is_name(at) || !number || scene.is_declared(name) || !scene.is_declared(&better) {
        return None;
    }
    let found = IdiomMatch::new(CODE, "brackets hold the index of an array", line.span(at, at + 3));
    Some(found.label(format!("write `{better}`")).write(better))
}

/// The bracket that closes the index of the left side, and the sign `=`.
fn left_side(line: &Line<'_>) -> Option<(usize, usize)> {
    let close = line.close(1).filter(|_| line.is_name(0) && line.text(1) == "[")?;
    let primes = (close + 1..line.tokens.len()).take_while(|&k| line.kind(k) == Some(TokenKind::Prime)).count();
    let equals = close + 1 + primes;
    (line.text(equals) == "=").then_some((close, equals))
}

/// The text without blanks.
fn tight(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The equation with its range, `u[i in 2..N-1]' = -u[i]`. `None` if the left side has no such index.
pub(super) fn with_range(left: &str, right: &str, index: &str, range: &str) -> Option<String> {
    Some(format!("{} = {right}", left_with_range(left, index, range)?))
}

/// The left side of an equation with its range.
pub(super) fn left_with_range(left: &str, index: &str, range: &str) -> Option<String> {
    let line = Line::new(left, 0..left.len(), 0);
    let close = line.close(1).filter(|_| line.text(1) == "[")?;
    let own = line.arguments(1)?.into_iter().find(|of| line.slice(of.start, of.end) == index)?;
    let (before, after) = (line.slice(0, own.start), line.slice(own.end, close + 1));
    let blank = if line.text(own.start - 1) == "," { " " } else { "" };
    let primes = line.slice(close + 1, line.tokens.len());
    Some(format!("{before}{blank}{index} in {range}{after}{primes}"))
}

/// True if the declaration of an index gives this range.
pub(super) fn is_declared_range(scene: &Scene<'_>, index: &str, range: &str) -> bool {
    declared_range(scene, index).is_some_and(|(a, b)| tight(range) == tight(&format!("{a}..{b}")))
}

/// `n + 1` in digits if it is a number.
pub(super) fn stepped(text: &str, step: i64) -> String {
    shifted(text, step).unwrap_or_else(|| format!("{text}{step:+}"))
}

/// A name and a number: `N-2` is `N` and -2, `3` is 3 without a name.
fn linear(text: &str) -> Option<(&str, i64)> {
    let text = text.trim();
    if let Ok(number) = text.parse::<i64>() {
        return Some(("", number));
    }
    let (name, number) = match text.find(['+', '-']) {
        Some(sign) => (text[..sign].trim(), tight(&text[sign..]).parse::<i64>().ok()?),
        None => (text, 0),
    };
    name.chars().all(|c| c.is_alphanumeric() || c == '_').then_some((name, number)).filter(|(name, _)| !name.is_empty())
}

/// The text of `text + step`.
fn shifted(text: &str, step: i64) -> Option<String> {
    let (name, number) = linear(text)?;
    let sum = number.checked_add(step)?;
    Some(match (name, sum) {
        ("", sum) => sum.to_string(),
        (name, 0) => name.to_owned(),
        (name, sum) => format!("{name}{sum:+}"),
    })
}

/// Each equation has its own message, because each one has its own text to type.
fn headline(name: &str) -> String {
    format!("name the index and its range on the left side of an equation for some elements of `{name}`")
}

/// `u[i > 1]' = ...`, `u[i != 1]' = ...`
fn compared(scene: &Scene<'_>, line: &Line<'_>, close: usize, equals: usize) -> Option<IdiomMatch> {
    let index = line.text(2);
    let sign = line.text(3);
    let (first, last) = declared_range(scene, index).filter(|_| line.is_name(2))?;
    let bound = line.slice(4, close);
    let mut ranges = match sign {
        ">" => vec![format!("{}..{last}", stepped(bound, 1))],
        ">=" | "≥" => vec![format!("{bound}..{last}")],
        "<" => vec![format!("{first}..{}", stepped(bound, -1))],
        "<=" | "≤" => vec![format!("{first}..{bound}")],
        "==" => vec![bound.to_owned()],
        "!=" | "≠" | "~=" | "<>" | "/=" => {
            vec![format!("{first}..{}", stepped(bound, -1)), format!("{}..{last}", stepped(bound, 1))]
        }
        _ => return None,
    };
    if ranges.len() == 2 && tight(bound) == tight(first) {
        ranges.remove(0);
    } else if ranges.len() == 2 && tight(bound) == tight(last) {
        ranges.remove(1);
    }
    let rest = line.slice(close, line.tokens.len());
    let texts: Vec<String> =
        ranges.iter().map(|range| format!("`{}[{index} in {range}{rest}`", line.text(0))).collect();
    let found = IdiomMatch::new(CODE, headline(line.text(0)), line.span(0, equals - 1));
    Some(found.label("a condition on an index").over(line.range.clone()).help(format!("write {}", texts.join(" and "))))
}

/// `u[i]' = -u[i], i = 2..N`
fn after_comma(scene: &Scene<'_>, line: &Line<'_>, close: usize, equals: usize) -> Option<IdiomMatch> {
    let comma = line.find(equals + 1, ",")?;
    let index = line.text(comma + 1);
    if !line.is_name(comma + 1) || !matches!(line.text(comma + 2), "=" | "in" | "∈") {
        return None;
    }
    let range = range_of(line, comma + 3, line.tokens.len())?;
    let (left, right) = (line.slice(0, equals), line.slice(equals + 1, comma));
    line.arguments(1)?.into_iter().find(|of| of.end <= close && line.slice(of.start, of.end) == index)?;
    let help = if is_declared_range(scene, index, &range) {
        format!("write `{left} = {right}`: the declaration of `{index}` has its range")
    } else {
        format!("write `{}`", with_range(left, right, index, &range)?)
    };
    let found = IdiomMatch::new(CODE, headline(line.text(0)), line.span(comma, line.tokens.len() - 1));
    Some(found.label("a range after an equation").over(line.range.clone()).help(help))
}

/// The ends of a range of elements between brackets, `2:N-1` or `2..N-1`.
fn ends<'a>(line: &Line<'a>, open: usize) -> Option<(&'a str, &'a str, usize)> {
    let close = line.close(open)?;
    let dots = line.find(open + 1, ":").or_else(|| line.find(open + 1, "..")).filter(|&k| k < close)?;
    let (from, to) = (line.slice(open + 1, dots), line.slice(dots + 1, close));
    (!from.is_empty() && !to.is_empty() && !to.contains(':')).then_some((from, to, close))
}

/// A name for the index of an array: its own, or one with the same range, or a free letter.
pub(super) fn index_for(scene: &Scene<'_>, array: &str) -> Option<String> {
    let own = *scene.arrays.get(array)?.first()?;
    if own.starts_with(|c: char| c.is_alphabetic()) && scene.indices.contains(own) {
        return Some(own.to_owned());
    }
    let free = |name: &&str| !scene.is_declared(name) || scene.indices.contains(name);
    ["i", "j", "k", "m"].iter().find(|name| free(name)).map(|name| (*name).to_owned())
}

/// `u[2:N-1]' = u[1:N-2] - 2*u[2:N-1] + u[3:N]`, and `u[2..N]' = -u[i]`.
fn sliced(scene: &Scene<'_>, line: &Line<'_>, close: usize, equals: usize) -> Option<IdiomMatch> {
    if scene.arrays.get(line.text(0))?.len() != 1 || line.text(3) == "in" {
        return None;
    }
    let (from, to, _) = ends(line, 1)?;
    let index = index_for(scene, line.text(0))?;
    let (mut right, mut slices, mut named) = (String::new(), 0, false);
    let mut last = line.tokens.get(equals + 1)?.start;
    let mut k = equals + 1;
    while k < line.tokens.len() {
        named |= line.text(k) == index;
        let inner = ends(line, k + 1).filter(|_| line.is_name(k) && line.text(k + 1) == "[" && line.touches(k));
        if let Some((a, b, end)) = inner.filter(|_| scene.arrays.get(line.text(k)).is_some_and(|of| of.len() == 1)) {
            let ((name, start), (above, stop)) = (linear(from)?, linear(to)?);
            let ((other, first), (top, bottom)) = (linear(a)?, linear(b)?);
            let shift = first - start;
            if name != other || above != top || bottom - stop != shift {
                return None;
            }
            right.push_str(line.between(last, line.tokens[k].end));
            right.push_str(&format!("[{}]", shifted(&index, shift)?));
            last = line.tokens[end].end;
            (k, slices) = (end + 1, slices + 1);
            continue;
        }
        k += 1;
    }
    right.push_str(line.between(last, line.range.end));
    // `u[2..N]' = 0` is correct
    if slices == 0 && (!named || line.find(2, ":").is_none_or(|k| k > close) && !scene.indices.contains(index.as_str()))
    {
        return None;
    }
    let primes = line.slice(close + 1, equals);
    let better = format!("{}[{index} in {from}..{to}]{primes} = {right}", line.text(0));
    let found = IdiomMatch::new(CODE, headline(line.text(0)), line.span(0, close));
    Some(found.label("several elements").over(line.range.clone()).help(format!("write `{better}`")))
}
