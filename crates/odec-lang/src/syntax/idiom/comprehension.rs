//! List comprehensions: `const a = [2*k for k in range(3)]`, `sum(x[j] for j in range(3) if j != 1)`.

use std::ops::Range;

use odec_ir::Span;

use super::array::range_of;
use super::boundary::range_of as declared_range;
use super::line::Line;
use super::ranges::{is_declared_range, stepped};
use super::{IdiomMatch, Scene};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0135;
/// Words that begin the declaration of a value.
const DECLARES: [&str; 6] = ["param", "const", "state", "discrete", "unknown", "output"];
/// Names for an index that is not declared yet.
const FREE: [&str; 5] = ["i", "j", "n", "m", "l"];

/// `term for index in range if condition`, as ranges of tokens.
struct Loop<'a> {
    term: Range<usize>,
    index: &'a str,
    /// The first and the last number of the index.
    range: Option<(String, String)>,
    /// True for a range of Python, where 0 is the first element of an array.
    from_zero: bool,
    condition: Option<Range<usize>>,
}

/// A text for each number of a loop, and its index.
struct Each {
    term: String,
    condition: Option<String>,
    index: String,
    range: Option<(String, String)>,
    /// True if no value of the loop depends on where its index begins.
    certain: bool,
}

impl Each {
    fn range(&self) -> String {
        self.range.as_ref().map_or_else(|| "1..N".to_owned(), |(low, high)| format!("{low}..{high}"))
    }
}

/// `[term for index in range]`, `(term for index in range)`
fn parse<'a>(scene: &Scene<'_>, line: &Line<'a>, open: usize, close: usize) -> Option<Loop<'a>> {
    let at = line.find(open + 1, "for").filter(|&at| at > open + 1)?;
    if scene.is_declared("for") || !line.is_name(at + 1) || !matches!(line.text(at + 2), "in" | "=" | "∈") {
        return None;
    }
    // `for k = 1:3, k != i`
    let compares = |comma: &usize| (*comma..close).any(|k| line.kind(k) == Some(TokenKind::Compare));
    let condition = line.find(at + 3, "if").or_else(|| line.find(at + 3, ",").filter(compares));
    let end = condition.unwrap_or(close);
    if line.find(at + 3, "for").is_some() || condition.is_some_and(|k| k + 1 == close) {
        return None;
    }
    let python = matches!(line.text(at + 3), "range" | "arange");
    let range = number_of(scene, line, at + 3).or_else(|| {
        let range = range_of(line, at + 3, end)?;
        let (low, high) = range.split_once("..")?;
        Some((low.trim().to_owned(), high.trim().to_owned()))
    });
    let from_zero = python && range.as_ref().is_some_and(|(low, _)| low == "0");
    let condition = condition.map(|k| k + 1..close);
    // `{k: 2*k for k in range(3)}`
    let index = line.text(at + 1);
    let key = line.text(open) == "{" && line.reads(open + 1, &[index, ":"]) && at > open + 3;
    let term = if key { open + 3 } else { open + 1 };
    if line.text(open) == "{" && !key {
        return None;
    }
    Some(Loop { term: term..at, index, range, from_zero, condition })
}

/// The range of `range(len(x))`, where the array has the elements `1..N`.
fn number_of(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<(String, String)> {
    let counts = matches!(line.text(at), "range" | "arange") && line.text(at + 1) == "(";
    let array = counts && matches!(line.text(at + 2), "len" | "length") && line.text(at + 3) == "(";
    let indices = scene.arrays.get(line.text(at + 4)).filter(|_| array && line.reads(at + 5, &[")", ")"]))?;
    let (low, high) = declared_range(scene, indices.first()?)?;
    (low == "1").then(|| ("0".to_owned(), stepped(high, -1)))
}

/// The index of the arrays whose elements a loop counts from 0, if all of them have elements from 1 on.
fn counted<'a>(scene: &Scene<'a>, line: &Line<'_>, of: &Loop<'_>) -> Option<&'a str> {
    of.range.as_ref().filter(|_| of.from_zero)?;
    let mut known: Option<&str> = None;
    for k in of.term.clone().filter(|&k| line.text(k) == of.index && line.is_name(k)) {
        if !matches!(line.text(k - 1), "[" | ",") || !matches!(line.text(k + 1), "]" | "," | "+" | "-") {
            continue;
        }
        let open = (of.term.start..k).rev().find(|&open| line.close(open).is_some_and(|close| close > k))?;
        let place = line.arguments(open)?.iter().position(|part| part.contains(&k))?;
        let array = line.text(open.checked_sub(1)?);
        let own = scene.arrays.get(array).filter(|_| line.text(open) == "[")?.get(place).copied()?;
        if known.is_some_and(|known| declared_range(scene, known) != declared_range(scene, own)) {
            return None;
        }
        known = known.or(Some(own));
    }
    let (low, _) = declared_range(scene, known?)?;
    known.filter(|_| low == "1")
}

/// Tokens with another index: `subscript` in the brackets of an array, `value` elsewhere.
fn renamed(line: &Line<'_>, part: &Range<usize>, index: &str, subscript: &str, value: &str) -> (String, bool) {
    let (mut text, mut open, mut certain) = (String::new(), Vec::new(), true);
    let mut last = line.tokens.get(part.start).map_or(line.range.end, |token| token.start);
    for k in part.clone() {
        let token = line.tokens[k];
        match line.text(k) {
            "[" | "(" => open.push(line.text(k) == "[" && k > 0 && line.is_name(k - 1)),
            "]" | ")" => {
                open.pop();
            }
            "**" => {
                text.push_str(line.between(last, token.start));
                text.push('^');
                last = token.end;
            }
            word if word == index && token.kind == TokenKind::Name => {
                let inside = open.last() == Some(&true);
                let operator = |k: Option<usize>| k.is_some_and(|k| line.kind(k) == Some(TokenKind::Operator));
                let between = operator(k.checked_sub(1)) || operator(Some(k + 1));
                text.push_str(line.between(last, token.start));
                match inside {
                    true => text.push_str(subscript),
                    false if between => text.push_str(&super::line::operand(value)),
                    false => text.push_str(value),
                }
                certain &= inside;
                last = token.end;
            }
            _ => {}
        }
    }
    let end = line.tokens.get(part.end - 1).map_or(last, |token| token.end);
    text.push_str(line.between(last, end));
    (text, certain)
}

/// The loop with an index that is free in this line.
fn each(scene: &Scene<'_>, line: &Line<'_>, of: &Loop<'_>) -> Each {
    let equals = line.find(0, "=").unwrap_or(0);
    let bound = (1..equals).any(|k| line.text(k) == of.index && matches!(line.text(k - 1), "[" | ","));
    let taken = bound || scene.is_declared(of.index) && !scene.indices.contains(of.index);
    let index = if taken { scene.free_name(&FREE).to_owned() } else { of.index.to_owned() };
    let shifts = counted(scene, line, of).is_some();
    let value = if shifts { format!("{index} - 1") } else { index.clone() };
    let (term, sure) = renamed(line, &of.term, of.index, &index, &value);
    let condition = of.condition.as_ref().map(|part| renamed(line, part, of.index, &index, &value));
    let certain = !shifts || sure && condition.as_ref().is_none_or(|(_, sure)| *sure);
    let range = match &of.range {
        Some((_, last)) if shifts => Some(("1".to_owned(), stepped(last, 1))),
        range => range.clone(),
    };
    Each { term, condition: condition.map(|(text, _)| text), index, range, certain }
}

/// `sum(x[j] for j in range(3) if j != 1)`, `sum([x[j] for j in range(3)])`
pub(super) fn reduced(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let (open, close) = (at + 1, line.close(at + 1)?);
    if !matches!(word, "sum" | "max" | "min" | "prod") || line.text(open) != "(" || scene.is_declared(word) {
        return None;
    }
    let list = line.text(open + 1) == "[" && line.close(open + 1) == Some(close - 1);
    let (open, inner) = if list { (open + 1, close - 1) } else { (open, close) };
    let of = parse(scene, line, open, inner)?;
    let found =
        IdiomMatch::new(CODE, format!("`{word}` needs its index first"), line.span(at, close)).label("no index");
    let each = each(scene, line, &of);
    let range = each.range();
    let declared = scene.indices.contains(each.index.as_str()) && is_declared_range(scene, &each.index, &range);
    let over = if declared { each.index.clone() } else { format!("{} in {range}", each.index) };
    let only = each.condition.as_ref().map(|text| format!(" where {text}")).unwrap_or_default();
    let better = format!("{word}({over}{only}: {})", each.term);
    Some(match (&each.range, each.certain) {
        (Some(_), true) => found.write(better),
        (Some(_), false) => found.help(format!("write `{better}`, where the first element has the number 1")),
        (None, _) => found.help(format!("write `{better}`")),
    })
}

/// The difference of two whole numbers.
fn difference(high: &str, low: &str) -> Option<i64> {
    high.parse::<i64>().ok()?.checked_sub(low.parse().ok()?)
}

/// The term of a loop for the element `i` of an array whose elements are counted by `i`.
fn of_element(scene: &Scene<'_>, line: &Line<'_>, of: &Loop<'_>, i: &str) -> Option<String> {
    let (low, high) = declared_range(scene, i)?;
    let (first, last) = of.range.as_ref()?;
    let by = difference(low, first)?;
    let fits = difference(high, low)
        .zip(difference(last, first))
        .map_or_else(|| stepped(high, -by) == *last, |(own, other)| own == other);
    let value = match by {
        0 => i.to_owned(),
        1.. => format!("{i} - {by}"),
        _ => format!("{i} + {}", -by),
    };
    // Python counts the elements of other arrays from 0, too
    let shifts = by == 1 && counted(scene, line, of).is_some();
    let subscript = if shifts { i } else { value.as_str() };
    (fits && of.condition.is_none()).then(|| renamed(line, &of.term, of.index, subscript, &value).0)
}

/// `const a[i] = [2*k for k in range(3)]`, `state u = [i^2 for i in 1:3]`, `w = [2*x[j] for j in range(3)]`
pub(super) fn listed(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let first = usize::from(DECLARES.contains(&line.text(0)));
    let end = line.operand_end(first).filter(|_| line.is_name(first))?;
    let open = end + 1;
    let close = line
        .close(open)
        .filter(|&k| line.text(end) == "=" && matches!(line.text(open), "[" | "{") && k + 1 == line.tokens.len())?;
    let of = parse(scene, line, open, close)?;
    let found = IdiomMatch::new(CODE, "define an array by one equation for all elements", line.span(open, close));
    let found = found.label("a list comprehension");
    let (name, word) = (line.text(first), line.slice(0, first));
    let blank = if word.is_empty() { "" } else { " " };
    let primes = "'".repeat((first + 1..end).filter(|&k| line.kind(k) == Some(TokenKind::Prime)).count());
    let has_index = line.text(first + 1) == "[";
    let own = scene.arrays.get(name).and_then(|indices| indices.first().copied().filter(|_| indices.len() == 1));
    // the elements have an index of their own
    if let Some(i) = own.filter(|i| scene.indices.contains(i))
        && let Some(term) = of_element(scene, line, &of, i)
    {
        let left = if has_index { line.slice(first, end) } else { &format!("{name}[{i}]{primes}") };
        let better = format!("{word}{blank}{left} = {term}");
        return Some(found.help(format!("write `{better}`")).fix(line.span(0, close), better));
    }
    // the elements of another array have one
    let last = of.range.as_ref().map(|(_, last)| last.as_str());
    let all = |i: &&str| declared_range(scene, i).is_some_and(|(_, high)| last == Some(stepped(high, -1).as_str()));
    if let Some(i) = counted(scene, line, &of).filter(all).filter(|_| of.condition.is_none() && own.is_none()) {
        let (term, _) = renamed(line, &of.term, of.index, i, &format!("{i} - 1"));
        let better = format!("{word}{blank}{name}[{i}]{primes} = {term}");
        return Some(found.help(format!("write `{better}`")).fix(line.span(0, close), better));
    }
    if let Some(found) = over_values(scene, line, &of, (found.clone(), first, end)) {
        return Some(found);
    }
    let each = each(scene, line, &of);
    let (index, range) = (&each.index, each.range());
    let term = match &each.condition {
        Some(condition) => format!("if {condition} then {} else 0", each.term),
        None => each.term.clone(),
    };
    let better = format!("{word}{blank}{name}[{index}]{primes} = {term}");
    let whole = Span::new(line.range.start, line.range.end);
    let found = found.over(line.range.clone());
    if scene.indices.contains(index.as_str()) {
        return Some(if is_declared_range(scene, index, &range) || each.range.is_none() {
            found.help(format!("write `{better}`")).fix(whole, better)
        } else {
            found.help(format!("declare an index with this range, and write `{better}` with it"))
        });
    }
    let found = found.help(format!("write `index {index} = {range}` and `{better}`"));
    let fits = !has_index && of.condition.is_none() && !range.contains('N');
    Some(if fits { found.fix(whole, format!("index {index} = {range}\n{better}")) } else { found })
}

/// `w = [2*v for v in [1, 5, 7]]`
fn over_values(
    scene: &Scene<'_>,
    line: &Line<'_>,
    of: &Loop<'_>,
    (found, first, end): (IdiomMatch, usize, usize),
) -> Option<IdiomMatch> {
    let list = of.term.end + 3;
    let close = line.close(list).filter(|_| line.text(list) == "[" && of.range.is_none() && of.condition.is_none())?;
    let number = line.arguments(list).filter(|_| line.text(close + 1) == "]")?.len();
    let index = scene.free_name(&FREE);
    let values = scene.free_name(&["v", "w", "z", "c"]);
    let value = format!("{values}[{index}]");
    let (term, _) = renamed(line, &of.term, of.index, &value, &value);
    let (word, name) = (line.slice(0, first), line.text(first));
    if end > first + 1 {
        return None;
    }
    let blank = if word.is_empty() { "" } else { " " };
    Some(found.over(line.range.clone()).help(format!(
        "write `index {index} = 1..{number}`, `const {value} = {}` and `{word}{blank}{name}[{index}] = {term}`",
        line.slice(list, close + 1)
    )))
}

/// A loop in a sum or in a list.
pub(super) fn anywhere(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    reduced(scene, line, at).or_else(|| elsewhere(scene, line, at))
}

/// A list comprehension anywhere else.
fn elsewhere(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let close = line.close(at).filter(|_| matches!(line.text(at), "[" | "("))?;
    let each = each(scene, line, &parse(scene, line, at, close)?);
    let name = scene.free_name(&["w", "z", "v", "q"]);
    let (index, range) = (&each.index, each.range());
    let declared = scene.indices.contains(index.as_str());
    let index_line = if declared { String::new() } else { format!("declare `index {index} = {range}`, ") };
    let found = IdiomMatch::new(CODE, "define an array by one equation for all elements", line.span(at, close));
    let help = format!("{index_line}write `{name}[{index}] = {}`, and use `{name}[{index}]`", each.term);
    Some(found.label("a list comprehension").help(help))
}
