//! Values of other tools: choices as lists of pairs, sums with their range beside the sign, words of Modelica around a
//! value, temperatures in degrees Celsius, units in words.

use std::ops::Range;

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0131;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    for at in 0..line.tokens.len() {
        found.extend(
            pieces(scene, line, at)
                .or_else(|| cases(line, at))
                .or_else(|| sum_beside(scene, line, at))
                .or_else(|| wrapped(scene, line, at))
                .or_else(|| appendix(scene, line, at))
                .or_else(|| celsius(line, at))
                .or_else(|| per(scene, line, at))
                .or_else(|| random_effect(scene, line, at))
                .or_else(|| whole_quotient(line, at))
                .or_else(|| span_of_entry(scene, line, at))
                .or_else(|| two_values(scene, line, at)),
        );
    }
}

/// Conditions that always hold.
fn always(condition: &str) -> bool {
    matches!(condition, "True" | "true" | "TRUE" | "otherwise" | "1")
}

/// A value and its condition.
pub(super) type Pair<'a> = (&'a str, &'a str);

/// `(value, condition)`, `{value, condition}`
fn pair<'a>(line: &Line<'a>, item: &Range<usize>) -> Option<Pair<'a>> {
    line.close(item.start).filter(|close| close + 1 == item.end)?;
    let [value, condition] = &line.arguments(item.start)?[..] else { return None };
    let (value, condition) = (line.slice(value.start, value.end), line.slice(condition.start, condition.end));
    (!value.is_empty() && !condition.is_empty()).then_some((value, condition))
}

/// The choice that these pairs mean, and true if it is complete. `other` is the value where no condition holds.
pub(super) fn chosen(pairs: &[Pair<'_>], other: Option<&str>) -> Option<(String, bool)> {
    let last = pairs.iter().position(|(_, condition)| always(condition));
    let (pairs, other) = match last {
        Some(k) => (&pairs[..k], Some(pairs[k].0)),
        None => (pairs, other),
    };
    if pairs.is_empty() {
        return None;
    }
    let choices: Vec<String> =
        pairs.iter().map(|(value, condition)| format!("if {condition} then {value} else ")).collect();
    Some((format!("({}{})", choices.concat(), other.unwrap_or("...")), other.is_some()))
}

/// The match, with the choice that these pairs mean.
fn choice(found: IdiomMatch, pairs: &[Pair<'_>], other: Option<&str>) -> Option<IdiomMatch> {
    let (better, complete) = chosen(pairs, other)?;
    let found = found.label("a choice");
    Some(if complete {
        found.write(better)
    } else {
        found.help(format!("write `{better}`, with the value where no condition holds"))
    })
}

/// `Piecewise[{{a, c}, {b, d}}]`, `Piecewise((a, c), (b, True))`, `Which[c, a, d, b]`
fn pieces(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let (word, open) = (line.text(at), at + 1);
    let known = matches!(word, "Piecewise" | "Which" | "piecewise");
    if !known || !matches!(line.text(open), "(" | "[") || !line.touches(at) || scene.is_declared(word) {
        return None;
    }
    let items = line.arguments(open)?;
    let text = |k: usize| items.get(k).map_or("", |item| line.slice(item.start, item.end));
    let (pairs, other): (Option<Vec<Pair<'_>>>, Option<&str>) = if word == "Which" {
        let whole = items.len() >= 2 && items.len().is_multiple_of(2);
        (whole.then(|| (0..items.len()).step_by(2).map(|k| (text(k + 1), text(k))).collect()), None)
    } else if line.text(items.first()?.start) == "{" {
        let rows = line.arguments(items[0].start)?;
        // outside of all conditions, Mathematica takes 0
        (rows.iter().map(|row| pair(line, row)).collect(), Some(if items.len() == 2 { text(1) } else { "0" }))
    } else {
        (items.iter().map(|item| pair(line, item)).collect(), None)
    };
    let found = IdiomMatch::new(CODE, format!("odec has no function `{word}`"), line.span(at, line.close(open)?));
    choice(found, &pairs?, other)
}

/// `case when c then a else b end` of SQL.
fn cases(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if !line.text(at).eq_ignore_ascii_case("case") || !line.text(at + 1).eq_ignore_ascii_case("when") {
        return None;
    }
    let next = |from: usize, words: &[&str]| {
        (from..line.tokens.len()).find(|&k| words.iter().any(|word| line.text(k).eq_ignore_ascii_case(word)))
    };
    let end = next(at + 2, &["end"])?;
    let (mut pairs, mut other, mut k) = (Vec::new(), None, at + 1);
    while k < end {
        let stop = next(k + 1, &["when", "else", "end"])?;
        if line.text(k).eq_ignore_ascii_case("else") {
            other = Some(line.slice(k + 1, stop));
        } else {
            let then = next(k + 1, &["then"]).filter(|&then| then < stop)?;
            pairs.push((line.slice(then + 1, stop), line.slice(k + 1, then)));
        }
        k = stop;
    }
    choice(
        IdiomMatch::new(&codes::E0122, "write a choice as `if ... then ... else`", line.span(at, end)),
        &pairs,
        other,
    )
}

/// `Σ(j=1..3) u[j]`, `Σ u[j], j = 1..3`
fn sum_beside(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let sign = line.text(at);
    let word = super::array::reduction(sign)?;
    let range = |from: usize, to: usize| {
        let named = line.is_name(from) && matches!(line.text(from + 1), "=" | "in" | "∈");
        let dots = (from + 2..to).any(|k| line.text(k) == "..");
        (named && dots).then(|| (line.text(from), line.slice(from + 2, to)))
    };
    if scene.is_declared(sign) {
        return None;
    }
    let found = |last: usize| {
        IdiomMatch::new(&codes::E0135, format!("write `{sign}` as `{word}`"), line.span(at, last))
            .label("its range is beside it")
    };
    if line.text(at + 1) == "(" {
        let close = line.close(at + 1)?;
        let (index, range) = range(at + 2, close)?;
        let end = line.operand_end(close + 1)?;
        if line.binds(end) {
            let better = format!("{word}({index} in {range}: ...)");
            return Some(found(close).help(format!("write `{better}`, with all that it covers behind the colon")));
        }
        let better = format!("{word}({index} in {range}: {})", super::line::bare(line.slice(close + 1, end)));
        // the extent of the sum is certain only at the end of the line
        return Some(if end == line.tokens.len() {
            found(end - 1).write(better)
        } else {
            found(end - 1).help(format!("write `{better}`"))
        });
    }
    let end = line.operand_end(at + 1)?;
    let stop = line.span_end(end + 1);
    let (index, range) = Some(end).filter(|&k| line.text(k) == ",").and_then(|k| range(k + 1, stop))?;
    let better = format!("{word}({index} in {range}: {})", line.slice(at + 1, end));
    Some(found(stop - 1).help(format!("write `{better}`")))
}

/// `homotopy(actual=a, simplified=b)`, `initial()`
fn wrapped(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if line.text(at + 1) != "(" || !line.is_name(at) || scene.is_declared(word) {
        return None;
    }
    let close = line.close(at + 1)?;
    let found = IdiomMatch::new(CODE, format!("odec has no function `{word}`"), line.span(at, close));
    match (word, line.arguments(at + 1)?.as_slice()) {
        ("homotopy", [first, _]) => {
            let from = if line.text(first.start + 1) == "=" { first.start + 2 } else { first.start };
            let better = super::line::operand(line.slice(from, first.end));
            Some(found.label("the actual value is enough").write(better))
        }
        ("initial" | "terminal", []) => Some(found.label("true at a single instant").help(
            "an equation has no effect at an instant: write initial values in `state`, and changes as an event, `at 0 { x := 1 }`",
        )),
        _ => None,
    }
}

/// `x' = -x annotation(Evaluate=true)`, `param k = 2 "the rate"`: what Modelica writes behind a statement.
fn appendix(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let end = line.tokens.len() - usize::from(line.text(line.tokens.len() - 1) == ";");
    let note = line.text(at) == "annotation" && line.text(at + 1) == "(" && !scene.is_declared("annotation");
    if at == 0 {
        return None;
    }
    if note && line.close(at + 1).is_some_and(|close| close + 1 == end) {
        let span = odec_ir::Span::new(line.tokens[at - 1].end, line.tokens[end - 1].end);
        let found = IdiomMatch::new(&codes::E0133, "a statement has no annotation", line.span(at, end - 1));
        return Some(found.label("not needed").help("remove it").fix(span, ""));
    }
    let text = line.kind(at) == Some(TokenKind::Text) && at + 1 == end && line.text(at).len() > 2;
    let value = line.tokens[at - 1].ends_value() && line.find(0, "=").is_some_and(|k| k + 1 < at);
    // a declaration with a type is written anew
    let typed = super::declare::is_type(line.text(0)) || super::declare::is_type(line.text(1));
    let plain =
        !matches!(line.text(0), "input" | "use" | "expect" | "run" | "params" | "when" | "at" | "every") && !typed;
    (text && value && plain && line.find(0, "{").is_none()).then(|| {
        let better = format!("# {}", line.text(at).trim_matches('"'));
        IdiomMatch::new(&codes::E0112, "write a description as a comment", line.span(at, at))
            .label("a description")
            .write(better)
    })
}

/// `3 °C`, `37°C`
fn celsius(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let degree = at > 0 && line.text(at) == "°" && matches!(line.text(at + 1), "C" | "F") && line.touches(at);
    let number = degree && line.kind(at - 1) == Some(TokenKind::Number);
    number.then(|| {
        let value = line.text(at - 1);
        let help = match line.text(at + 1) {
            "C" => format!(
                "write a temperature as `celsius({value})`, which is in [K], and a difference of temperatures as \
                 `{value} [K]`"
            ),
            _ => format!(
                "convert a temperature to kelvin, `({value} + 459.67)*5/9 [K]`, and a difference of temperatures, \
                 `{value}*5/9 [K]`"
            ),
        };
        let found = IdiomMatch::new(&codes::E0119, "write a temperature in kelvin", line.span(at - 1, at + 1));
        found.label("a temperature").help(help)
    })
}

/// `3 per hour`
fn per(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let unit = line.text(at + 1);
    let known = line.text(at) == "per" && crate::units::table::find(unit).is_some() && !scene.is_declared("per");
    let before = at.checked_sub(1).filter(|_| known)?;
    let value = line.kind(before) == Some(TokenKind::Number) && before > 0 && line.text(before - 1) == "=";
    let ends = matches!(line.text(at + 2), "" | "," | ";" | "in");
    (value && ends && line.is_name(at + 1)).then(|| {
        let better = format!("[1/{unit}]");
        let found = IdiomMatch::new(&codes::E0119, "write a unit in square brackets", line.span(at, at + 1));
        found.label(format!("write `{better}`")).write(better)
    })
}

/// `k*EXP(ETA(1))`
fn random_effect(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let effect = |k: usize| matches!(line.text(k), "ETA" | "eta" | "EPS" | "ERR") && line.text(k + 1) == "(";
    let number = |k: usize| line.kind(k + 2) == Some(TokenKind::Number) && line.text(k + 3) == ")";
    let inside = matches!(line.text(at), "EXP" | "exp") && line.text(at + 1) == "(";
    let first = if inside { at + 2 } else { at };
    if !effect(first) || !number(first) || scene.is_declared(line.text(first)) || scene.arrays.contains_key("eta") {
        return None;
    }
    let last = if inside { line.close(at + 1).filter(|&close| close == first + 4)? } else { first + 3 };
    let text = line.slice(at, last + 1);
    let found =
        IdiomMatch::new(&codes::E0561, "a model has no random effects", line.span(at, last)).label("a random effect");
    Some(found.help(format!(
        "leave out `{text}`: the model describes one individual; `odec fit` finds the parameters of its data"
    )))
}

/// `a %/% b` of R.
fn whole_quotient(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if !line.reads(at, &["%", "/", "%"]) || at == 0 {
        return None;
    }
    let start = super::sign::operand_start(line, at)?;
    let end = line.operand_end(at + 3)?;
    // the quotient of R binds more tightly than a product
    let better = format!("floor({}/{})", line.slice(start, at), line.slice(at + 3, end));
    let found = IdiomMatch::new(&codes::E0125, "odec has no operator `%/%`", line.span(start, end - 1));
    let powered = matches!(line.text(end), "^" | "**") || start > 0 && matches!(line.text(start - 1), "^" | "**");
    let found = found.label("the whole part of a quotient");
    Some(if powered { found.help("write `floor(a/b)`") } else { found.write(better) })
}

/// `t = 0 -> 10`, `t = 0 – 10`, `t = 0, 0.1 .. 10` in a run block.
fn span_of_entry(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let entry = line.text(at) == scene.time && line.text(at + 1) == "=" && scene.run;
    let inside = entry && (line.text(0) == "run" || at == 0 && !scene.states.contains(scene.time));
    let number = |k: usize| line.kind(k) == Some(TokenKind::Number);
    if !inside || !number(at + 2) {
        return None;
    }
    let arrow = matches!(line.text(at + 3), "->" | "=>" | "–" | "—" | "→");
    if arrow && number(at + 4) {
        let found = IdiomMatch::new(&codes::E0118, "write a range with two dots", line.span(at + 3, at + 3));
        return Some(found.label("write `..`").write("..").help(format!(
            "write `{} = {} .. {}`",
            scene.time,
            line.text(at + 2),
            line.text(at + 4)
        )));
    }
    // first, second .. last
    let stepped =
        matches!(line.text(at + 3), "," | "..") && number(at + 4) && line.text(at + 5) == ".." && number(at + 6);
    let value = |k: usize| line.text(k).parse::<f64>().ok();
    let (first, second, last) = (value(at + 2)?, value(at + 4).filter(|_| stepped)?, value(at + 6)?);
    // MATLAB and Julia write the step in the middle; a step longer than the whole range is its end
    let late = line.text(at + 3) == ".." && second.abs() > (last - first).abs();
    let (step, last, end) = match line.text(at + 3) {
        "," => (second - first, last, at + 6),
        _ if late => (last, second, at + 4),
        _ => (second, last, at + 6),
    };
    let rows = ((last - first) / step).round();
    let rows = if (1.0..1e9).contains(&rows) { format!("; samples = {rows}") } else { String::new() };
    let found =
        IdiomMatch::new(&codes::E0118, "write the number of rows apart from the time span", line.span(at + 2, at + 6));
    Some(found.label("start, step and end").help(format!(
        "write `{} = {} .. {}{rows}`",
        scene.time,
        line.text(at + 2),
        line.text(end)
    )))
}

/// `samples = 1000,5000`, `step = 0,1` in a run block.
fn two_values(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let first = at == 0 || matches!(line.text(at - 1), "{" | ";" | ",");
    let number = |k: usize| line.kind(k) == Some(TokenKind::Number);
    let entry = line.is_name(at) && line.text(at + 1) == "=" && line.text(at + 3) == ",";
    let alone = matches!(line.text(at + 5), "" | ";" | "}") || line.text(at + 5) == "," && line.is_name(at + 6);
    let inside = scene.run && (line.text(0) == "run" || at == 0 && !scene.declared.contains(line.text(0)));
    if !(first && entry && alone && inside && number(at + 2) && number(at + 4)) {
        return None;
    }
    let (key, a, b) = (line.text(at), line.text(at + 2), line.text(at + 4));
    let glued = line.touches(at + 2) && line.touches(at + 3);
    let digits = [a, b].iter().all(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let span = line.span(at + 2, at + 4);
    if key == "samples" {
        let found = IdiomMatch::new(&codes::E0118, "a list of times needs brackets", span).label("two values");
        let grouped = if glued && digits && b.len() == 3 && a.len() < 4 {
            format!(", or `samples = {a}{b}` if the comma groups digits")
        } else {
            format!(", and a number of rows as `samples = {b}`")
        };
        return Some(found.help(format!("write times as `samples = [{a}, {b}]`{grouped}")));
    }
    // `0,1` is never a group of digits
    let decimal = key != scene.time && glued && digits && (a == "0" || b.len() != 3);
    decimal.then(|| {
        let found = IdiomMatch::new(&codes::E0113, format!("`{a},{b}` is not a number"), span);
        found.label("a comma separates two entries").write(format!("{a}.{b}"))
    })
}
