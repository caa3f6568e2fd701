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
    bracketed(line).or_else(|| compared(line)).or_else(|| of_type(line))
}

fn found(line: &Line<'_>, (from, to): (usize, usize), label: &str) -> IdiomMatch {
    let headline = "a parameter has a range after its value, `in 0..1`";
    IdiomMatch::new(&codes::E0118, headline, line.span(from, to)).label(label)
}

/// `param k = 0.5 (0 .. 1)`, `param k = 0.5 (0, 1)`
fn bracketed(line: &Line<'_>) -> Option<IdiomMatch> {
    let value = |k: usize| k > 2 && line.text(k - 2) == "=" && line.kind(k - 1) == Some(TokenKind::Number);
    let open = (3..line.tokens.len()).find(|&k| matches!(line.text(k), "(" | "[") && value(k))?;
    let close = line.close(open).filter(|&k| matches!(line.text(k + 1), "" | ","))?;
    let sign = (open + 1..close).find(|&k| matches!(line.text(k), ".." | ","))?;
    let (low, high) = (line.slice(open + 1, sign), line.slice(sign + 1, close));
    let plain = !low.is_empty() && !high.is_empty() && !high.contains(',');
    let better = format!("in {low}..{high}");
    plain.then(|| found(line, (open, close), "a range").write(better))
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
    let fits = line.text(1) == "<" && line.is_name(close + 1) && line.text(close + 2) == "=" && close + 3 < end;
    if !fits || line.find(close, ",").is_some() {
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
    let better = format!("{} {} in {range}", line.text(0), line.slice(close + 1, end));
    let help = format!("write `{better}`");
    Some(found(line, (1, close), "a range").help(help).fix(line.span(0, end - 1), better))
}
