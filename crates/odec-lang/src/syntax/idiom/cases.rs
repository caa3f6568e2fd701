//! Choices without `then` and `else`: `if x > 1, -x, 0`, `{ -x, x > 1; 0, otherwise }`, and one line for each case.

use crate::diagnostic::{Code, codes};
use odec_ir::Span;

use super::choice::{Pair, chosen};
use super::line::Line;
use super::program::range;
use super::{IdiomMatch, Scene};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0122;
const HEADLINE: &str = "write a choice as `if ... then ... else`";

pub(super) fn search(_: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    for at in 1..line.tokens.len() {
        found.extend(commas(line, at).or_else(|| braces(line, at)));
    }
    found.extend(listed(line));
}

/// True if a range of tokens is a condition.
fn is_condition(line: &Line<'_>, from: usize, to: usize) -> bool {
    let compares = |k: usize| line.kind(k) == Some(TokenKind::Compare) || matches!(line.text(k), "and" | "or" | "not");
    from < to && (from..to).any(compares)
}

/// `if c, a, b`, `if c then a, b`, `if c, a else b`
fn commas(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) != "if" || line.tokens[at - 1].ends_value() {
        return None;
    }
    // the commas of a call separate its arguments
    let called = line.text(at - 1) == "(" && at > 1 && line.is_name(at - 2) && line.touches(at - 2);
    let mut parts = vec![(at + 1, line.span_end(at + 1))];
    while let Some(&(_, end)) = parts.last().filter(|&&(_, end)| line.text(end) == ",") {
        parts.push((end + 1, line.span_end(end + 1)));
    }
    let end = parts.last()?.1;
    let word = |word: &str| (at + 1..end).find(|&k| line.text(k) == word);
    let again = (at + 1..end).any(|k| matches!(line.text(k), "if" | ":" | "="));
    if called || again || !is_condition(line, parts[0].0, parts[0].1) {
        return None;
    }
    let text = |(from, to): (usize, usize)| line.slice(from, to);
    let (condition, value, other) = match (parts.as_slice(), word("then"), word("else")) {
        ([c, a, b], None, None) => (text(*c), text(*a), text(*b)),
        ([first, b], Some(then), None) if then < first.1 => {
            (line.slice(first.0, then), line.slice(then + 1, first.1), text(*b))
        }
        ([c, second], None, Some(other)) if other > second.0 => {
            (text(*c), line.slice(second.0, other), line.slice(other + 1, end))
        }
        _ => return None,
    };
    if [condition, value, other].iter().any(|text| text.is_empty()) {
        return None;
    }
    let alone = line.text(at - 1) == "=" && end == line.tokens.len() || line.text(at - 1) == "(";
    let better = format!("if {condition} then {value} else {other}");
    let better = if alone { better } else { format!("({better})") };
    Some(IdiomMatch::new(CODE, HEADLINE, line.span(at, end - 1)).label("a choice").write(better))
}

/// A case: its value, and its condition if it has one.
fn case<'a>(line: &Line<'a>, from: usize, to: usize) -> Option<Pair<'a>> {
    if from >= to {
        return None;
    }
    if matches!(line.text(to - 1), "otherwise" | "else" | "sonst") && to > from + 1 {
        let last = to - 1 - usize::from(line.text(to - 2) == ",");
        return (last > from).then(|| (line.slice(from, last), "otherwise"));
    }
    let word = (from + 1..to).find(|&k| matches!(line.text(k), "if" | "for" | "when" | "where" | ","))?;
    let both = line.text(word) == "," && matches!(line.text(word + 1), "if" | "for" | "when" | "where");
    let start = word + 1 + usize::from(both);
    let condition = is_condition(line, start, to) && line.find(start, ",").is_none_or(|k| k >= to);
    (condition && !is_condition(line, from, word)).then(|| (line.slice(from, word), line.slice(start, to)))
}

/// The ranges of tokens between signs outside of brackets.
fn between(line: &Line<'_>, from: usize, to: usize, sign: &str) -> Vec<(usize, usize)> {
    let (mut found, mut start) = (Vec::new(), from);
    while let Some(k) = line.find(start, sign).filter(|&k| k < to) {
        found.push((start, k));
        start = k + 1;
    }
    found.push((start, to));
    found
}

/// The cases between two tokens: rows that end with `;`, or a list of values and conditions.
fn cases<'a>(line: &Line<'a>, from: usize, to: usize) -> Option<Vec<Pair<'a>>> {
    let rows: Vec<(usize, usize)> =
        between(line, from, to, ";").into_iter().filter(|(start, end)| start < end).collect();
    if rows.len() > 1 {
        return rows.iter().map(|&(from, to)| case(line, from, to)).collect();
    }
    let parts = between(line, from, to, ",");
    if let Some(pairs) = parts.iter().map(|&(from, to)| case(line, from, to)).collect::<Option<Vec<_>>>() {
        return Some(pairs);
    }
    // a, c, b, otherwise
    let mut pairs = Vec::new();
    for pair in parts.chunks(2) {
        let text = |(from, to): (usize, usize)| line.slice(from, to);
        match pair {
            [a, c] if is_condition(line, c.0, c.1) || matches!(text(*c), "otherwise" | "else") => {
                pairs.push((text(*a), if text(*c) == "else" { "otherwise" } else { text(*c) }));
            }
            [a] if !pairs.is_empty() => pairs.push((text(*a), "otherwise")),
            _ => return None,
        }
    }
    (pairs.len() > 1).then_some(pairs)
}

/// The message about these cases: the choice to write, as far as they say.
fn message(found: IdiomMatch, pairs: &[Pair<'_>]) -> Option<IdiomMatch> {
    if pairs.iter().any(|(value, _)| value.is_empty() || value.contains("if ")) {
        return None;
    }
    let (better, complete) = chosen(pairs, None)?;
    let found = found.label("a choice");
    Some(if complete {
        found.write(better)
    } else {
        found.help(format!("write `{better}`, with the value where no condition holds"))
    })
}

/// `{ -x, x > 1; 0, otherwise }`, `{ -x if x > 1, 0 otherwise }`
fn braces(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let after = matches!(line.text(at - 1), "=" | "+" | "-" | "*" | "/" | "(");
    if line.text(at) != "{" || !after || line.text(at + 1) == "{" {
        return None;
    }
    let close = line.close(at)?;
    let pairs = cases(line, at + 1, close)?;
    message(IdiomMatch::new(CODE, HEADLINE, line.span(at, close)), &pairs)
}

/// `x' = -x if x > 1, 0 otherwise`
fn listed(line: &Line<'_>) -> Option<IdiomMatch> {
    let equals = line.find(0, "=")?;
    let end = line.tokens.len();
    let parts = between(line, equals + 1, end, ",");
    let pairs: Vec<Pair<'_>> = parts.iter().map(|&(from, to)| case(line, from, to)).collect::<Option<_>>()?;
    if pairs.len() < 2 || crate::syntax::explain::is_keyword(line.text(0)) {
        return None;
    }
    let found = message(IdiomMatch::new(CODE, HEADLINE, line.span(equals + 1, end - 1)), &pairs)?;
    // the whole right side needs no brackets
    let plain = found.fixes.first().map(|fix| super::line::bare(&fix.text).to_owned());
    Some(match plain {
        Some(better) => IdiomMatch { fixes: Vec::new(), help: String::new(), ..found }.write(better),
        None => found,
    })
}

/// True for `x > 1` and `x <= 1`: where one does not hold, the other one does.
fn opposite(a: &str, b: &str) -> bool {
    let parts = |text: &str| {
        let line = Line::new(text, 0..text.len(), 0);
        let signs: Vec<usize> = (0..line.tokens.len()).filter(|&k| line.kind(k) == Some(TokenKind::Compare)).collect();
        let [k] = signs.as_slice() else { return None };
        let simple = (0..line.tokens.len()).all(|k| !matches!(line.text(k), "and" | "or" | "not"));
        let sides = (line.slice(0, *k).to_owned(), line.slice(k + 1, line.tokens.len()).to_owned());
        simple.then(|| (sides, line.text(*k).to_owned()))
    };
    let (Some((left, first)), Some((right, second))) = (parts(a), parts(b)) else { return false };
    let signs = [(">", "<="), ("<", ">="), (">=", "<"), ("<=", ">"), ("==", "!="), ("!=", "==")];
    left == right && signs.contains(&(first.as_str(), second.as_str()))
}

/// The left side and the case of a line `x' = -x, x > 1` or `x' = -x if x > 1`.
fn case_of<'a>(line: &Line<'a>) -> Option<(&'a str, Pair<'a>)> {
    let equals = line.find(0, "=").filter(|&k| k > 0)?;
    let keyword = crate::syntax::explain::is_keyword(line.text(0));
    (!keyword).then_some(())?;
    Some((line.slice(0, equals), case(line, equals + 1, line.tokens.len())?))
}

/// The physical lines of a line from a token on: ranges of tokens.
fn rows(line: &Line<'_>, from: usize) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for k in from..line.tokens.len() {
        match found.last_mut() {
            Some(row) if !line.file[line.tokens[k - 1].end..line.tokens[k].start].contains('\n') => row.1 = k + 1,
            _ => found.push((k, k + 1)),
        }
    }
    found
}

/// `y' = { -x, x > 1` and `0, otherwise }` on the next line: one brace around all cases, or one before each.
pub(super) fn braced(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    let open = (2..line.tokens.len()).find(|&k| line.text(k) == "{" && line.text(k - 1) == "=")?;
    if crate::syntax::explain::is_keyword(line.text(0)) || line.close(open).is_some_and(|k| k + 1 < line.tokens.len()) {
        return None;
    }
    let (mut pairs, mut next, mut end) = (Vec::new(), at, None);
    'lines: while let Some(line) = scene.lines.get(next) {
        for (from, to) in rows(line, if next == at { open + 1 } else { 0 }) {
            let from = from + usize::from(line.text(from) == "{");
            let closed = to > from && line.text(to - 1) == "}";
            let mut stop = to - usize::from(closed);
            while stop > from && matches!(line.text(stop - 1), "," | ";" | "\\") {
                stop -= 1;
            }
            match case(line, from, stop) {
                Some(pair) => pairs.push(pair),
                None if from >= stop => {}
                None => break 'lines,
            }
            end = Some(line.tokens[to - 1].end);
            if closed && stop + 1 == to && scene.lines.get(next + 1).is_none_or(|line| line.text(0) != "{") {
                next += 1;
                break 'lines;
            }
        }
        next += 1;
    }
    let end = end.filter(|_| next > at + 1 || line.whole().contains('\n'))?;
    let next = next.max(at + 1);
    joined(line.slice(0, open - 1), pairs, line.range.start..end).map(|found| (found, next))
}

/// The message about cases that are one equation.
fn joined(left: &str, mut pairs: Vec<Pair<'_>>, whole: std::ops::Range<usize>) -> Option<IdiomMatch> {
    if pairs.len() < 2 || pairs.iter().any(|(value, _)| value.contains("if ")) {
        return None;
    }
    if let [(_, a), (_, b)] = pairs.as_mut_slice()
        && opposite(a, b)
    {
        *b = "otherwise";
    }
    let (better, complete) = chosen(&pairs, None)?;
    let span = Span::new(whole.start, whole.end);
    let text = format!("{left} = {}", super::line::bare(&better));
    let found = IdiomMatch::new(CODE, "an equation is one line, with all its cases", span).label("cases").over(whole);
    Some(if complete {
        found.help(format!("write `{text}`")).fix(span, text)
    } else {
        found.help(format!("write `{text}`, with the value where no condition holds"))
    })
}

/// Lines in a row with one left side and a condition each.
pub(super) fn lines(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let (left, first) = case_of(&scene.lines[at])?;
    let mut pairs = vec![first];
    let mut next = at + 1;
    while let Some((_, pair)) = scene.lines.get(next).and_then(case_of).filter(|(other, _)| *other == left) {
        pairs.push(pair);
        next += 1;
    }
    joined(left, pairs, range(scene, at, next)).map(|found| (found, next))
}
