//! Ranges of parameters in other notations: `param k = 0.5 (0 .. 1)`, `param k = 0.5, 0 <= k <= 1`,
//! `param<lower=0> m = 2`.

use super::IdiomMatch;
use super::line::Line;
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

pub(super) fn of_parameter(line: &Line<'_>) -> Option<IdiomMatch> {
    if line.text(0) != "param" {
        return None;
    }
    bracketed(line)
        .or_else(|| in_words(line))
        .or_else(|| before_value(line))
        .or_else(|| compared(line))
        .or_else(|| of_type(line))
}

/// The end of the value of an item, a number with or without a unit, that begins behind its `=`.
fn value_end(line: &Line<'_>, equals: usize) -> Option<usize> {
    let number = equals + 1 + usize::from(line.text(equals + 1) == "-");
    let end = (line.kind(number) == Some(TokenKind::Number)).then_some(number + 1)?;
    let unit = line.text(end) == "[" && line.kind(end + 1) != Some(TokenKind::Number);
    let unit = unit || line.text(end) == "[" && line.text(end + 2) == "/";
    if unit { line.close(end).map(|close| close + 1) } else { Some(end) }
}

/// Both ends of a range: `0 .. 1`, `0, 1`, `min = 0, max = 1`.
fn ends<'a>(line: &Line<'a>, from: usize, to: usize) -> Option<(&'a str, &'a str)> {
    let sign = (from..to).find(|&k| matches!(line.text(k), ".." | "," | ":"))?;
    let end = |from: usize, to: usize| {
        let named = line.is_name(from) && line.text(from + 1) == "=";
        let text = line.slice(if named { from + 2 } else { from }, to);
        (!text.is_empty() && !text.contains([',', '=', ':'])).then_some(text)
    };
    Some((end(from, sign)?, end(sign + 1, to)?))
}

fn found(line: &Line<'_>, (from, to): (usize, usize), label: &str) -> IdiomMatch {
    let headline = "a parameter has a range after its value, `in 0..1`";
    IdiomMatch::new(&codes::E0118, headline, line.span(from, to)).label(label)
}

/// `param k = 0.5 (0 .. 1)`, `param k = 0.5 (0, 1)`, `param k = 0.5 {0..1}`, `param k = 0.5 <0, 1>`
fn bracketed(line: &Line<'_>) -> Option<IdiomMatch> {
    let equals = (1..line.tokens.len()).filter(|&k| line.text(k) == "=");
    let mut ranges = equals.filter_map(|equals| {
        let open = value_end(line, equals)?;
        let close = match line.text(open) {
            "(" | "[" | "{" => line.close(open)?,
            "<" => (open + 1..line.tokens.len()).find(|&k| line.text(k) == ">")?,
            _ => return None,
        };
        let (low, high) = ends(line, open + 1, close)?;
        matches!(line.text(close + 1), "" | ",").then(|| (open, close, format!("in {low}..{high}")))
    });
    let (open, close, better) = ranges.next()?;
    let others: Vec<(usize, usize, String)> = ranges.collect();
    let mut help = format!("write `{better}`");
    for (_, _, other) in &others {
        help.push_str(&format!(" and `{other}`"));
    }
    let found = found(line, (open, close), "a range").help(help).fix(line.span(open, close), better);
    Some(others.into_iter().fold(found, |found, (open, close, text)| found.fix(line.span(open, close), text)))
}

/// `param k = 0.5 from 0 to 1`, `param k = 0.5 between 0 and 1`
fn in_words(line: &Line<'_>) -> Option<IdiomMatch> {
    let equals = line.find(1, "=")?;
    let from = value_end(line, equals)?;
    let joint = match line.text(from) {
        "from" => "to",
        "between" => "and",
        _ => return None,
    };
    let to = (from + 1..line.tokens.len()).find(|&k| line.text(k) == joint)?;
    let end = (to..line.tokens.len()).find(|&k| line.text(k) == ",").unwrap_or(line.tokens.len());
    let (low, high) = (line.slice(from + 1, to), line.slice(to + 1, end));
    let whole = !low.is_empty() && !high.is_empty();
    whole.then(|| found(line, (from, end - 1), "a range").write(format!("in {low}..{high}")))
}

/// `param k in (0, 1) = 0.5`
fn before_value(line: &Line<'_>) -> Option<IdiomMatch> {
    let fits = line.is_name(1) && line.text(2) == "in" && matches!(line.text(3), "(" | "[");
    let close = line.close(3).filter(|&k| fits && line.text(k + 1) == "=")?;
    let (low, high) = ends(line, 4, close)?;
    let end = line.tokens.len();
    let value = line.slice(close + 2, end);
    if value.is_empty() || value.contains(',') {
        return None;
    }
    let better = format!("{} = {value} in {low}..{high}", line.text(1));
    Some(found(line, (2, close), "a range").help(format!("write `param {better}`")).fix(line.span(1, end - 1), better))
}

/// `param k = 0.5, 0 <= k <= 1` and `param k = 0.5, k > 0`
fn compared(line: &Line<'_>) -> Option<IdiomMatch> {
    let comma = (3..line.tokens.len()).rfind(|&k| line.text(k) == "," && line.find(0, ",").is_some_and(|c| c <= k))?;
    let end = line.tokens.len();
    let signs: Vec<usize> = (comma + 1..end).filter(|&k| line.kind(k) == Some(TokenKind::Compare)).collect();
    let rising = |k: usize| line.text(k).starts_with('<');
    let (name, low, high) = match *signs {
        [a, b] if rising(a) == rising(b) && b == a + 2 => {
            let ends = (line.slice(comma + 1, a), line.slice(b + 1, end));
            let (low, high) = if rising(a) { ends } else { (ends.1, ends.0) };
            (line.text(a + 1), low, high)
        }
        [a] if a == comma + 2 && rising(a) => (line.text(a - 1), "-inf", line.slice(a + 1, end)),
        [a] if a == comma + 2 => (line.text(a - 1), line.slice(a + 1, end), "inf"),
        _ => return None,
    };
    // the item before the comma is the one with this name
    let item = (1..comma).rfind(|&k| line.text(k) == "=").filter(|&k| line.text(k - 1) == name)?;
    let plain = line.slice(item + 1, comma);
    if low.is_empty() || high.is_empty() || plain.contains([',', '[']) {
        return None;
    }
    let better = format!(" in {low}..{high}");
    let help = format!("write `{name} = {plain}{better}`");
    Some(found(line, (comma, end - 1), "a range").help(help).fix(line.span(comma, end - 1), better))
}

/// `param<lower=0> m = 2`, `param<lower=0, upper=5> m = 2`
fn of_type(line: &Line<'_>) -> Option<IdiomMatch> {
    let close = (2..line.tokens.len()).find(|&k| line.text(k) == ">")?;
    let end = line.tokens.len();
    let starts: Vec<usize> =
        (close..end).filter(|&k| k == close || line.text(k) == "," && line.is_name(k + 1)).map(|k| k + 1).collect();
    let item = |at: usize| line.is_name(at) && line.text(at + 1) == "=" && at + 2 < end;
    if line.text(1) != "<" || !starts.iter().all(|&at| item(at)) {
        return None;
    }
    let limit = |word: &str| {
        let at = (2..close).find(|&k| line.text(k) == word && line.text(k + 1) == "=")?;
        let stop = (at + 2..close).find(|&k| line.text(k) == ",").unwrap_or(close);
        Some(line.slice(at + 2, stop)).filter(|text| !text.is_empty())
    };
    let (low, high) = (limit("lower"), limit("upper"));
    if low.is_none() && high.is_none() {
        return None;
    }
    let range = format!("{}..{}", low.unwrap_or("-inf"), high.unwrap_or("inf"));
    let stops = starts.iter().skip(1).map(|&at| at - 1).chain([end]);
    let items: Vec<String> =
        starts.iter().zip(stops).map(|(&from, to)| format!("{} in {range}", line.slice(from, to))).collect();
    let better = format!("{} {}", line.text(0), items.join(", "));
    let help = format!("write `{better}`");
    Some(found(line, (1, close), "a range").help(help).fix(line.span(0, end - 1), better))
}
