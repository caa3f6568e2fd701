//! Values in other notations: `(x => 1)`, `-|x||y|`, `sum(i < N: u[i])`, `min{x, y}`, `0.3/s`, `delay(q, 1)` of an
//! input, `delta(i, j)` and `if i = j` in a constant.

use super::line::{Line, operand};
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    for at in 0..line.tokens.len() {
        let idiom = named(scene, line, at)
            .or_else(|| at_least(line, at))
            .or_else(|| bars(line, at))
            .or_else(|| chosen(scene, line, at))
            .or_else(|| braces(line, at))
            .or_else(|| per_unit(scene, line, at))
            .or_else(|| past(scene, line, at))
            .or_else(|| exponential(scene, line, at))
            .or_else(|| squared(scene, line, at))
            .or_else(|| equal(line, at));
        found.extend(idiom);
    }
    found.extend(pairs(line));
}

/// `(x => 1)`
fn at_least(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let bracket = (0..at).rev().find(|&k| line.text(k) == "(" && line.close(k).is_some_and(|close| close > at));
    let value = bracket.is_some_and(|open| open > 0 && line.find(0, "=").is_some_and(|equals| equals < open));
    let operands = at > 0 && line.tokens[at - 1].ends_value() && line.tokens.get(at + 1).is_some();
    let listed = bracket.is_some_and(|open| line.find(open + 1, ",").is_some());
    let fits = line.text(at) == "=>" && operands && value && !listed;
    let found = IdiomMatch::new(&codes::E0124, "odec writes at least as `>=`", line.span(at, at));
    fits.then(|| found.label("write `>=`").write(">="))
}

/// `|x|` after a factor, and `-|x||y|`
fn bars(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) != "|" || at == 0 {
        return None;
    }
    // `|x||y|`
    let middle = (at + 1..line.tokens.len()).find(|&k| line.text(k) == "||");
    let begins = !line.tokens[at - 1].ends_value();
    if let Some(middle) = middle.filter(|&k| begins && line.find(at + 1, "|").is_some_and(|last| last > k)) {
        let last = line.find(middle + 1, "|")?;
        let better = format!("abs({})*abs({})", line.slice(at + 1, middle), line.slice(middle + 1, last));
        let found = IdiomMatch::new(&codes::E0125, "write an absolute value as `abs`", line.span(at, last));
        return Some(found.label("two absolute values").help(format!("write `{better}`")));
    }
    // `k|x|`
    let last = (at + 1..line.tokens.len()).find(|&k| line.text(k) == "|")?;
    let touches = line.touches(at - 1) && line.touches(at) && line.touches(last - 1);
    let count = (0..line.tokens.len()).filter(|&k| line.text(k) == "|").count();
    let factor = matches!(line.kind(at - 1), Some(TokenKind::Name | TokenKind::Number));
    let better = format!("*abs({})", line.slice(at + 1, last));
    let found = IdiomMatch::new(&codes::E0125, "write an absolute value as `abs`", line.span(at, last));
    // `ln|x|`
    if odec_ir::builtin::find_function(line.text(at - 1)).is_some() && touches && count == 2 && last > at + 1 {
        let better = format!("{}(abs({}))", line.text(at - 1), line.slice(at + 1, last));
        return Some(found.label("an absolute value").help(format!("write `{better}`")));
    }
    (touches && factor && count == 2 && last > at + 1 && !line.whole().contains('\\'))
        .then(|| found.label("an absolute value").help(format!("write `{}{better}`", line.text(at - 1))))
}

/// `sum(i < N: u[i])`, `sum(i != 2: u[i])`
fn chosen(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if !matches!(word, "sum" | "prod" | "min" | "max") || line.text(at + 1) != "(" {
        return None;
    }
    let (close, colon) = (line.close(at + 1)?, line.find(at + 2, ":")?);
    let index = line.text(at + 2);
    let compared = line.kind(at + 3) == Some(TokenKind::Compare) && scene.indices.contains(index) && colon < close;
    let condition = line.slice(at + 2, colon);
    let better = format!("{word}({index} where {condition}: {})", line.slice(colon + 1, close));
    let found = IdiomMatch::new(&codes::E0515, "write the index before its condition", line.span(at + 2, colon - 1));
    compared.then(|| found.label("a condition").help(format!("write `{better}`")).over(line.range.clone()))
}

/// `min{x, y}`
fn braces(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let fits = matches!(line.text(at), "min" | "max") && line.text(at + 1) == "{" && line.touches(at) && at > 0;
    let close = line.close(at + 1).filter(|_| fits)?;
    let inside = line.slice(at + 2, close);
    let found = IdiomMatch::new(&codes::E0111, "arguments stand in round brackets", line.span(at + 1, close));
    (line.arguments(at + 1)?.len() == 2).then(|| found.label("write `( )`").write(format!("({inside})")))
}

/// Largest number of words and signs of a unit in brackets.
const MAX_UNIT: usize = 64;

/// `0.3/s` of a unit that is no name
fn per_unit(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let unit = line.text(at + 2);
    let time = matches!(unit, "s" | "ms" | "min" | "h" | "hr" | "day" | "d" | "yr" | "year" | "week");
    // the 2 of `[m^2/s]` is no value
    let near = at.saturating_sub(MAX_UNIT)..at;
    let in_unit = || near.rev().map(|k| line.text(k)).find(|text| matches!(*text, "[" | "]")) == Some("[");
    let fits = line.kind(at) == Some(TokenKind::Number)
        && line.text(at + 1) == "/"
        && at.checked_sub(1).is_none_or(|before| line.text(before) != "^")
        && time
        && line.text(at) != "1"
        && !matches!(line.text(0), "param" | "const" | "state" | "time" | "compartment" | "unit")
        && !scene.is_declared(unit)
        && !matches!(line.text(at + 3), "(" | "[" | "^")
        && crate::units::table::find(unit).is_some()
        && !in_unit();
    let better = format!("{} [1/{unit}]", line.text(at));
    let found = IdiomMatch::new(&codes::E0201, format!("`{unit}` is not declared"), line.span(at, at + 2));
    fits.then(|| found.label("a unit?").help(format!("write a unit in brackets, `{better}`, or declare `{unit}`")))
}

/// `delay(q, 1)` of an input: its table has the past values.
fn past(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let known = matches!(word, "delay" | "delayed" | "lag" | "DELAY" | "Delay") && !scene.is_declared(word);
    let close = line.close(at + 1).filter(|_| known && line.text(at + 1) == "(")?;
    let [value, length] = line.arguments(at + 1)?.try_into().ok()?;
    let input = line.text(value.start);
    let time = scene.time;
    let whole = value.len() == 1 || line.reads(value.start + 1, &["(", time, ")"]) && value.len() == 4;
    let better = format!("{input}({time} - {})", operand(line.slice(length.start, length.end)));
    let found = IdiomMatch::new(&codes::E0131, format!("odec has no function `{word}`"), line.span(at, close));
    (scene.inputs.contains(input) && whole).then(|| found.label("an earlier value of an input").write(better))
}

/// `const M[i,j] = if i = j then 1 else 0`, `const M[i,j] = delta(i, j)`
fn equal(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if !matches!(line.text(0), "const" | "param" | "state" | "axis" | "output") {
        return None;
    }
    if line.text(at) == "if" {
        let then = (at..line.tokens.len()).find(|&k| line.text(k) == "then")?;
        let sign = (at..then).find(|&k| line.text(k) == "=")?;
        let found = IdiomMatch::new(&codes::E0124, "a condition compares with `==`", line.span(sign, sign));
        return Some(found.label("write `==`").write("=="));
    }
    let word = line.text(at);
    let known = matches!(word, "delta" | "kronecker" | "KroneckerDelta" | "δ") && line.text(at + 1) == "(";
    let close = line.close(at + 1).filter(|_| known && at > 0 && line.text(at - 1) == "=")?;
    let [i, j] = line.arguments(at + 1)?.try_into().ok()?;
    let better = format!("if {} == {} then 1 else 0", line.slice(i.start, i.end), line.slice(j.start, j.end));
    let found = IdiomMatch::new(&codes::E0131, format!("odec has no function `{word}`"), line.span(at, close));
    (close + 1 == line.tokens.len()).then(|| found.label("1 for equal indices").write(better))
}

/// `table({0: 1, 5: 3}, linear)`
fn pairs(line: &Line<'_>) -> Option<IdiomMatch> {
    let at = (0..line.tokens.len()).find(|&k| line.text(k) == "table" && line.reads(k + 1, &["(", "{"]))?;
    let close = line.close(at + 2)?;
    let mut columns: [Vec<&str>; 2] = [Vec::new(), Vec::new()];
    for range in line.arguments(at + 2)? {
        let colon = range.clone().find(|&k| matches!(line.text(k), ":" | "=>" | "->"))?;
        columns[0].push(line.slice(range.start, colon));
        columns[1].push(line.slice(colon + 1, range.end));
    }
    let [times, values] = columns.map(|column| format!("[{}]", column.join(", ")));
    let better = format!("{times}, {values}");
    let found = IdiomMatch::new(&codes::E0135, "write a table as two lists", line.span(at + 2, close));
    (times.len() > 2).then(|| found.label("pairs").write(better))
}

/// `hill(x, K = 2, n = 4)` of a function of the model
fn named(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let function = line.text(at);
    if !scene.functions.contains(function) || line.text(at + 1) != "(" || line.text(0) == "fn" {
        return None;
    }
    let close = line.close(at + 1)?;
    let arguments = line.arguments(at + 1)?;
    let given = |range: &std::ops::Range<usize>| {
        (line.is_name(range.start) && line.text(range.start + 1) == "=").then(|| line.text(range.start))
    };
    let value = |range: &std::ops::Range<usize>| {
        line.slice(if given(range).is_some() { range.start + 2 } else { range.start }, range.end)
    };
    if !arguments.iter().any(|range| given(range).is_some()) {
        return None;
    }
    let declared = scene.lines.iter().find(|other| other.text(0) == "fn" && other.text(1) == function)?;
    let names: Vec<&str> = declared.arguments(2)?.iter().map(|range| declared.text(range.start)).collect();
    let mut ordered: Vec<Option<&str>> = vec![None; names.len()];
    for (k, range) in arguments.iter().enumerate() {
        let place = given(range).map_or(Some(k), |name| names.iter().position(|other| *other == name));
        if let Some(slot) = place.and_then(|place| ordered.get_mut(place)) {
            *slot = Some(value(range));
        }
    }
    let found = IdiomMatch::new(&codes::E0124, "arguments have no names", line.span(at, close)).label("in their order");
    let ordered: Option<Vec<&str>> = ordered.into_iter().collect();
    Some(match ordered.filter(|list| list.len() == arguments.len()) {
        Some(list) => found.write(format!("{function}({})", list.join(", "))),
        None => found.help(format!("write the values alone, in their order: `{function}({})`", names.join(", "))),
    })
}

/// `exp^-k*t`, which is written for `exp(-k*t)` too, and `E^-x`
fn exponential(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let known = word == "exp" || word == "E" && !scene.is_declared(word);
    let end = line.operand_end(at + 3).filter(|_| known && line.reads(at + 1, &["^", "-"]))?;
    let (inside, sign) = (line.slice(at + 2, end), line.text(end));
    let help = match sign {
        "*" | "/" => {
            let next = line.slice(end + 1, line.operand_end(end + 1)?);
            format!("write `exp({inside}){sign}{next}` or `exp({inside}{sign}{next})`; they differ")
        }
        "^" | "**" | "(" => "write `exp(...)` around the whole exponent".to_owned(),
        _ if word == "exp" => return None,
        _ => format!("write `exp({inside})`"),
    };
    let headline =
        if word == "exp" { "`exp` is a function, not a number" } else { "the exponential function is `exp`" };
    let found = IdiomMatch::new(&codes::E0131, headline, line.span(at, end - 1));
    Some(found.label("a power of Euler's number").help(help))
}

/// `dot(p)` of a vector
fn squared(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let close = line.close(at + 1).filter(|_| line.text(at) == "dot" && line.text(at + 1) == "(")?;
    let of = line.slice(at + 2, close);
    let vector = |other: &Line<'_>| {
        let at = (1..other.tokens.len()).find(|&k| other.text(k) == of && other.reads(k + 1, &["=", "("]));
        other.text(0) == "state" && at.is_some_and(|k| other.arguments(k + 2).is_some_and(|list| list.len() > 1))
    };
    let known = scene.states.contains(of) && scene.lines.iter().any(vector);
    let found =
        IdiomMatch::new(&codes::E0132, "`dot` takes two vectors, or this is a derivative", line.span(at, close));
    let help = format!("write `dot({of}, {of})` for the square of the length, or `{of}'` for the derivative");
    known.then(|| found.label("a product or a derivative?").help(help))
}
