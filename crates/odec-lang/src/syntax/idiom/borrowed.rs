//! Statements as other languages write them, each with the line to type: `x' = return -k*x`, `state["x"]`,
//! `time: hours`, `state x = 1, x in 0..5`, `[x'; y'] = [-x; -y]`, `if c {1} else {0}`, `; comment`.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    let whole = remark(line)
        .or_else(|| returned(line))
        .or_else(|| unit_of_time(line))
        .or_else(|| bounded(line))
        .or_else(|| bound_first(line))
        .or_else(|| bounds_around(line))
        .or_else(|| bound_behind(line))
        .or_else(|| exception(scene, line))
        .or_else(|| elements(scene, line))
        .or_else(|| several_rates(line))
        .or_else(|| recorded(line))
        .or_else(|| every_row(line))
        .or_else(|| operator(scene, line))
        .or_else(|| start_of_set(scene, line))
        .or_else(|| file(line));
    if let Some(whole) = whole {
        found.push(whole.over(line.range.clone()));
        return;
    }
    for at in 0..line.tokens.len() {
        found.extend(all_elements(scene, line, at));
        found.extend(
            braced_choice(line, at)
                .or_else(|| braced_sum(line, at))
                .or_else(|| by_text(scene, line, at))
                .or_else(|| ranged(scene, line, at)),
        );
    }
}

/// `; comment`
fn remark(line: &Line<'_>) -> Option<IdiomMatch> {
    // `; k = 2` may be a statement
    let prose = line.tokens.len() > 1 && !line.tokens.iter().any(|token| token.kind == TokenKind::Equals);
    let found = IdiomMatch::new(&codes::E0112, "`;` does not begin a comment", line.span(0, 0)).label("write `#`");
    (line.text(0) == ";" && prose).then(|| found.write("#"))
}

/// `x' = return -k*x` and `fn f(q) = { return 3*q }`
fn returned(line: &Line<'_>) -> Option<IdiomMatch> {
    let at = line.find(0, "=").filter(|&k| k > 0)?;
    let end = line.tokens.len();
    let braces = line.text(at + 1) == "{" && line.close(at + 1) == Some(end - 1);
    let first = at + 1 + usize::from(braces);
    let last = if braces { end - 1 } else { end };
    let last = if last > 0 && line.text(last - 1) == ";" { last - 1 } else { last };
    if line.text(first) != "return" || first + 1 >= last || line.text(first + 1) == "=" {
        return None;
    }
    let better = format!("{} {}", line.slice(0, at + 1), line.slice(first + 1, last));
    let found = IdiomMatch::new(&codes::E0133, "odec has no `return`", line.span(first, first)).label("not needed");
    let whole = line.span(0, end - 1);
    Some(found.help(format!("write `{better}`")).fix(whole, better))
}

/// `time: hours`
fn unit_of_time(line: &Line<'_>) -> Option<IdiomMatch> {
    let fits = line.text(0) == "time" && matches!(line.text(1), ":" | "=") && line.is_name(2) && line.tokens.len() == 3;
    let unit = line.text(2);
    let known = crate::units::table::find(unit).is_some()
        || unit.strip_suffix('s').is_some_and(|one| crate::units::table::find(one).is_some());
    let found = IdiomMatch::new(&codes::E0118, "the unit of time follows its name in brackets", line.span(1, 2));
    (fits && known).then(|| found.label("a unit").help(format!("write `time t [{unit}]`")))
}

/// `state x = 1, x in 0..5`
fn bounded(line: &Line<'_>) -> Option<IdiomMatch> {
    let name = line.text(1);
    let comma = line.find(1, ",").filter(|_| line.text(0) == "state" && line.is_name(1) && line.text(2) == "=")?;
    let dots = line.find(comma, "..")?;
    if line.text(comma + 1) != name || line.text(comma + 2) != "in" || line.find(comma + 1, ",").is_some() {
        return None;
    }
    let (low, high) = (line.slice(comma + 3, dots), line.slice(dots + 1, line.tokens.len()));
    let bound = |sign: &str, value: &str| {
        let none = value.is_empty() || value.ends_with("inf");
        if none { String::new() } else { format!(", {name} {sign} {value}") }
    };
    let better = format!("{}{}{}", line.slice(0, comma), bound(">=", low), bound("<=", high));
    let found = IdiomMatch::new(&codes::E0118, "a state has bounds, not a range", line.span(comma + 1, dots + 1));
    Some(found.label("a range").help(format!("write `{better}`")))
}

/// `state x >= 0 = 5`, `param k >= 0 = 3`: the bound follows the value.
fn bound_first(line: &Line<'_>) -> Option<IdiomMatch> {
    let (word, name, end) = (line.text(0), line.text(1), line.tokens.len());
    let lower = matches!(line.text(2), ">=" | ">");
    let equals = line.find(3, "=").filter(|_| lower || matches!(line.text(2), "<=" | "<"))?;
    // `<lower=0>` of Stan has signs of its own
    let plain = (3..end).all(|k| !matches!(line.text(k), "<" | ">" | "<=" | ">=" | ","));
    let whole = line.is_name(1) && equals > 3 && equals + 1 < end && plain;
    if !matches!(word, "state" | "param") || !whole {
        return None;
    }
    let (value, bound) = (line.slice(equals + 1, end), line.slice(3, equals));
    let better = match (word, lower) {
        ("state", true) => format!("state {name} = {value}, {name} >= {bound}"),
        ("state", false) => format!("state {name} = {value}, {name} <= {bound}"),
        (_, true) => format!("param {name} = {value} in {bound}..inf"),
        (_, false) => format!("param {name} = {value} in -inf..{bound}"),
    };
    let found = IdiomMatch::new(&codes::E0118, "a bound follows the value", line.span(2, equals));
    Some(found.label("a bound").help(format!("write `{better}`")).fix(line.span(0, end - 1), better))
}

/// `param 0 < k < 5 = 1`, `state 0 <= w = 5`: bounds around the name.
fn bounds_around(line: &Line<'_>) -> Option<IdiomMatch> {
    let (word, end) = (line.text(0), line.tokens.len());
    let less = |k: usize| matches!(line.text(k), "<" | "<=");
    let sign = (2..end).find(|&k| less(k)).filter(|&k| line.is_name(k + 1) && !line.is_name(1))?;
    let equals = line.find(sign + 2, "=")?;
    let upper = less(sign + 2).then(|| line.slice(sign + 3, equals));
    let whole = equals + 1 < end && (upper.is_some() || equals == sign + 2) && line.find(1, ",").is_none();
    if !matches!(word, "state" | "param") || !whole || upper == Some("") {
        return None;
    }
    let (low, name, value) = (line.slice(1, sign), line.text(sign + 1), line.slice(equals + 1, end));
    let better = match (word, upper) {
        ("state", None) => format!("state {name} = {value}, {name} >= {low}"),
        ("state", Some(high)) => format!("state {name} = {value}, {name} >= {low}, {name} <= {high}"),
        (_, high) => format!("param {name} = {value} in {low}..{}", high.unwrap_or("inf")),
    };
    let found = IdiomMatch::new(&codes::E0118, "a bound follows the value", line.span(1, equals));
    Some(found.label("bounds").help(format!("write `{better}`")).fix(line.span(0, end - 1), better))
}

/// `state w = 5 with w >= 0`, `state w = 5 (>= 0)`: a comma separates a bound from the value.
fn bound_behind(line: &Line<'_>) -> Option<IdiomMatch> {
    let (name, end) = (line.text(1), line.tokens.len());
    let sign = |k: usize| matches!(line.text(k), ">=" | "<=");
    if line.text(0) != "state" || !line.is_name(1) || line.text(2) != "=" || line.find(3, ",").is_some() {
        return None;
    }
    let word = (4..end).find(|&k| matches!(line.text(k), "with" | "where" | "when" | "if"));
    let (at, bound) = match word {
        Some(at) if line.text(at + 1) == name && sign(at + 2) => (at, line.slice(at + 2, end)),
        None => {
            let at = (4..end).find(|&k| line.text(k) == "(" && sign(k + 1) && line.close(k) == Some(end - 1))?;
            (at, line.slice(at + 1, end - 1))
        }
        _ => return None,
    };
    let better = format!("{}, {name} {bound}", line.slice(0, at));
    let found = IdiomMatch::new(&codes::E0118, "a comma separates a bound from the value", line.span(at, end - 1));
    Some(found.label("a bound").help(format!("write `{better}`")).fix(line.span(0, end - 1), better))
}

/// The number, the value and the place of `T[0] = 400` and the index and the value of `T[i] = 300`, in any order.
fn pair<'a>(scene: &Scene<'_>, line: &Line<'a>) -> Option<[(&'a str, &'a str); 2]> {
    let item = |from: usize, to: usize| {
        let fits = line.text(from) == line.text(1) && line.text(from + 1) == "[" && line.reads(from + 3, &["]", "="]);
        (fits && from + 5 < to).then(|| (line.text(from + 2), line.slice(from + 5, to)))
    };
    let comma = line.find(6, ",").filter(|&k| line.find(k + 1, ",").is_none())?;
    let (first, second) = (item(1, comma)?, item(comma + 1, line.tokens.len())?);
    let number = |item: (&str, &str)| item.0.parse::<u32>().is_ok();
    match (number(first), number(second)) {
        (true, false) if scene.indices.contains(second.0) => Some([first, second]),
        (false, true) if scene.indices.contains(first.0) => Some([second, first]),
        _ => None,
    }
}

/// `state T[0] = 400, T[i] = 300`: one line gives the values of all elements.
fn exception(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let name = line.text(1);
    if line.text(0) != "state" || !line.is_name(1) || line.text(2) != "[" || line.text(4) != "]" {
        return None;
    }
    let headline = "one value is for all elements of an array";
    if let Some([(number, special), (index, usual)]) = pair(scene, line) {
        let better = format!("state {name}[{index}] = if {index} == {number} then {special} else {usual}");
        let found = IdiomMatch::new(&codes::E0118, headline, line.span(1, 4)).label("one element");
        let plain = !special.contains('[') && !usual.contains('[');
        let whole = line.span(0, line.tokens.len() - 1);
        return plain.then(|| found.help(format!("write `{better}`")).fix(whole, better));
    }
    // the other elements have a line of their own
    let number = line.text(3).parse::<u32>().is_ok() && line.text(5) == "=" && line.find(5, ",").is_none();
    let declares = |other: &&Line<'_>| {
        let array = other.reads(0, &["state", name, "["]) && other.reads(4, &["]", "="]);
        array && scene.indices.contains(other.text(3)) && other.find(5, ",").is_none()
    };
    let other = scene.lines.iter().filter(|_| number).find(declares)?;
    let (index, special, usual) = (other.text(3), line.slice(6, line.tokens.len()), other.slice(6, other.tokens.len()));
    let better = format!("state {name}[{index}] = if {index} == {} then {special} else {usual}", line.text(3));
    let mut found = IdiomMatch::new(&codes::E0118, headline, line.span(1, 4)).label("one element");
    found.also.push(other.range.clone());
    Some(found.help(format!("write `{better}`, and remove this line")))
}

/// `state x[0] = 1` for the start, and `state x[1] = 1, x[2] = 2` for the elements of an array.
fn elements(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    if !matches!(line.text(0), "state" | "param" | "const") || !line.is_name(1) {
        return None;
    }
    let (name, open) = (line.text(1), line.text(2));
    let number = |k: usize| line.kind(k) == Some(TokenKind::Number) && line.kind(k + 1) == Some(TokenKind::Close);
    if !matches!(open, "[" | "(") || !line.touches(1) || !number(3) || line.text(5) != "=" {
        return None;
    }
    let mut values = Vec::new();
    let mut at = 1;
    while line.text(at) == name && line.text(at + 1) == open && number(at + 2) && line.text(at + 4) == "=" {
        let end = line.find(at + 5, ",").unwrap_or(line.tokens.len());
        values.push((line.text(at + 2), line.slice(at + 5, end)));
        at = end + 1;
    }
    let span = line.span(1, 4);
    if let ([("0", _)], "[", "state") = (values.as_slice(), open, line.text(0)) {
        let found = IdiomMatch::new(&codes::E0118, "write an initial value without `[0]`", span).label("a start value");
        let better = format!("state {name}{}", line.slice(5, line.tokens.len()).replacen('=', " =", 1));
        return Some(found.help(format!("write `{better}`")).fix(line.span(2, 4), ""));
    }
    let counted = values.iter().enumerate().all(|(k, (number, _))| number.parse() == Ok(k + 1));
    if !counted || values.len() < 2 || at <= line.tokens.len() {
        return None;
    }
    if open == "(" {
        return numbered(scene, line, name, &values);
    }
    let list: Vec<&str> = values.iter().map(|(_, value)| *value).collect();
    let (n, word) = (values.len(), line.text(0));
    let found = IdiomMatch::new(&codes::E0135, "declare the elements of an array together", span).label("an element");
    Some(found.help(format!("write `{word} {name}[1..{n}] = [{}]`", list.join(", "))))
}

/// `state x(1) = 1, x(2) = 2`: unknowns by number, which get names in all lines.
fn numbered(scene: &Scene<'_>, line: &Line<'_>, name: &str, values: &[(&str, &str)]) -> Option<IdiomMatch> {
    if values.iter().any(|(number, _)| scene.is_declared(&format!("{name}{number}"))) {
        return None;
    }
    let items: Vec<String> = values.iter().map(|(number, value)| format!("{name}{number} = {value}")).collect();
    let found = IdiomMatch::new(&codes::E0118, "name each unknown, not by a number in brackets", line.span(1, 4));
    let mut found = found.label("one of several").help(format!(
        "write `{} {}`, and `{name}1` for `{name}(1)` in all lines",
        line.text(0),
        items.join(", ")
    ));
    for other in &scene.lines {
        for k in 0..other.tokens.len() {
            if other.text(k) != name || other.text(k + 1) != "(" || !other.touches(k) {
                continue;
            }
            let number = other.text(k + 2);
            if !values.iter().any(|(known, _)| *known == number) || other.text(k + 3) != ")" {
                return None;
            }
            found = found.fix(other.span(k + 1, k + 3), number);
            found.also.push(other.range.clone());
        }
    }
    Some(found)
}

/// `[x'; y'] = [-x; -y]`
fn several_rates(line: &Line<'_>) -> Option<IdiomMatch> {
    let close = line.close(0).filter(|_| matches!(line.text(0), "[" | "("))?;
    let right = close + 2;
    if line.text(close + 1) != "=" || !matches!(line.text(right), "[" | "(") {
        return None;
    }
    let last = line.close(right).filter(|last| last + 1 == line.tokens.len())?;
    let items = |open: usize, close: usize| {
        let (mut found, mut from, mut depth) = (Vec::new(), open + 1, 0usize);
        for k in open + 1..close {
            match line.kind(k) {
                Some(TokenKind::Open) => depth += 1,
                Some(TokenKind::Close) => depth = depth.saturating_sub(1),
                _ if depth == 0 && matches!(line.text(k), "," | ";") => {
                    found.push(line.slice(from, k));
                    from = k + 1;
                }
                _ => {}
            }
        }
        found.push(line.slice(from, close));
        found
    };
    let (names, values) = (items(0, close), items(right, last));
    // with commas each pair has a fix
    let columns = line.slice(0, last).contains(';');
    let rates =
        columns && names.len() > 1 && names.len() == values.len() && names.iter().all(|name| name.ends_with('\''));
    let equations: Vec<String> = names.iter().zip(values).map(|(name, value)| format!("`{name} = {value}`")).collect();
    let found = IdiomMatch::new(&codes::E0135, "write one equation for each state", line.span(0, close));
    rates.then(|| found.label("several states").help(format!("write {}, on a line each", equations.join(" and "))))
}

/// `record = [x y]`
fn recorded(line: &Line<'_>) -> Option<IdiomMatch> {
    let at = (0..line.tokens.len()).find(|&k| line.text(k) == "record" && line.text(k + 1) == "=")?;
    let close = line.close(at + 2).filter(|_| line.text(at + 2) == "[")?;
    let names = at + 3..close;
    let apart = names.len() > 1 && names.clone().all(|k| line.is_name(k));
    let list: Vec<&str> = names.map(|k| line.text(k)).collect();
    let better = format!("[{}]", list.join(", "));
    let found = IdiomMatch::new(&codes::E0135, "commas separate the names of a list", line.span(at + 2, close));
    apart.then(|| found.label("a list").write(better))
}

/// `Dt(z) = 1`, `deriv(z) = 1` and `d/dt z = 1`.
fn operator(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    let call = matches!(word, "Dt" | "deriv" | "ddt" | "DERIV" | "DIFF" | "derivative")
        && line.text(1) == "("
        && line.text(3) == ")"
        && !scene.is_declared(word)
        && !scene.is_declared(line.text(2));
    let quotient = line.reads(0, &["d", "/"]) && line.text(2).strip_prefix('d') == Some(scene.time);
    let at = if call { 2 } else { 3 };
    let (name, equals) = (line.text(at), if call { 4 } else { at + 1 });
    if !(call || quotient) || !line.is_name(at) || line.text(equals) != "=" {
        return None;
    }
    let found = IdiomMatch::new(&codes::E0132, super::rate::HEADLINE, line.span(0, equals - 1));
    let found = found.label(format!("write `{name}'`"));
    if scene.states.contains(name) {
        return Some(found.write(format!("{name}'")));
    }
    let right = line.slice(equals + 1, line.tokens.len());
    Some(found.help(format!("write `{name}' = {right}`, and declare `state {name} = 1`")))
}

/// `params fast { x(0) = 3 }`
fn start_of_set(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let name = line.text(3);
    let fits = line.text(0) == "params" && line.text(2) == "{" && line.reads(4, &["(", "0", ")", "="]);
    let (set, value) = (line.text(1), line.slice(8, line.find(8, ";").unwrap_or(line.tokens.len() - 1)));
    let found = IdiomMatch::new(&codes::E0118, "a parameter set gives values to parameters", line.span(3, 6));
    (fits && scene.states.contains(name) && !scene.is_declared(&format!("{name}0"))).then(|| {
        found.label("the start of a state").help(format!(
            "name the initial value, `param {name}0 = 1` and `state {name} = {name}0`, and write `params {set} {{ {name}0 = \
             {value} }}`"
        ))
    })
}

/// `samples = all`
fn every_row(line: &Line<'_>) -> Option<IdiomMatch> {
    let at = (0..line.tokens.len()).find(|&k| line.text(k) == "samples" && line.text(k + 1) == "=")?;
    let word = line.text(at + 2);
    let known = matches!(word, "all" | "every" | "auto" | "step" | "adaptive" | "each");
    let alone = matches!(line.text(at + 3), "" | ";" | "}" | ",");
    let found = IdiomMatch::new(&codes::E0118, "`samples` is a number of rows", line.span(at + 2, at + 2));
    (known && alone).then(|| {
        found.label("not a number").help("write `samples = steps` for a row at each step, or a number: `samples = 100`")
    })
}

/// `const b[i] = read_csv("b.csv")`
fn file(line: &Line<'_>) -> Option<IdiomMatch> {
    const READERS: [&str; 9] =
        ["read_csv", "readcsv", "loadtxt", "genfromtxt", "csvread", "readmatrix", "load", "readtable", "readdlm"];
    let at = line.find(1, "=").filter(|_| matches!(line.text(0), "const" | "param" | "state"))? + 1;
    let open = (at..line.tokens.len()).find(|&k| line.text(k) == "(")?;
    let name = line.text(open - 1);
    let text = line.kind(open + 1) == Some(TokenKind::Text);
    let found = IdiomMatch::new(&codes::E0131, format!("odec has no function `{name}`"), line.span(at, open - 1));
    (READERS.contains(&name) && text && open <= at + 3).then(|| {
        let file = line.text(open + 1);
        found.label("a file of values").help(format!("write `{} csv({file})`", line.slice(0, at)))
    })
}

/// `if x > 1 {1} else {0}`
fn braced_choice(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let inside = at > 0 && !matches!(line.text(at - 1), "{" | ";" | "}");
    let open =
        (at + 1..line.tokens.len()).find(|&k| line.text(k) == "{").filter(|_| line.text(at) == "if" && inside)?;
    let close = line.close(open).filter(|&close| line.text(close + 1) == "else" && line.text(close + 2) == "{")?;
    let last = line.close(close + 2)?;
    let (condition, then) = (line.slice(at + 1, open), line.slice(open + 1, close));
    let other = line.slice(close + 3, last);
    if [condition, then, other].iter().any(|text| text.is_empty() || text.contains(['{', ';'])) {
        return None;
    }
    let better = format!("(if {} then {then} else {other})", super::line::bare(condition));
    let found = IdiomMatch::new(&codes::E0122, "write a choice as `if ... then ... else`", line.span(at, last));
    Some(found.label("a choice in braces").write(better))
}

/// `sum{j} u[j]` of AMPL, with one operand.
fn braced_sum(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let close = line.close(at + 1).filter(|_| matches!(line.text(at), "sum" | "prod") && line.text(at + 1) == "{")?;
    let end = line.operand_end(close + 1)?;
    let index = line.slice(at + 2, close).replace(" .. ", "..");
    let better = format!("{}({index}: {})", line.text(at), line.slice(close + 1, end));
    let found = IdiomMatch::new(&codes::E0135, "the index of a sum stands in round brackets", line.span(at, end - 1));
    let found = found.label("a sum").help(format!("write `{better}`"));
    (!index.is_empty() && !index.contains([';', '='])).then_some(found)
}

/// `state["x"]` and `x[["S"]]`: a quantity by its name in quotes.
fn by_text(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let double = usize::from(line.text(at + 2) == "[");
    let open = at + 1;
    let quoted = line.text(open + 1 + double);
    let fits = line.is_name(at)
        && line.touches(at)
        && line.text(open) == "["
        && line.kind(open + 1 + double) == Some(TokenKind::Text)
        && line.kind(open + 2 + double) == Some(TokenKind::Close);
    let last = open + 2 + 2 * double;
    let name = quoted.trim_matches(['"', '\'']);
    // a holder that nothing declares is a list of parameters
    let holder = line.text(at) == "state" || scene.is_declared(line.text(at));
    if !fits || name.is_empty() || !holder {
        return None;
    }
    let found = IdiomMatch::new(&codes::E0131, "write a quantity by its name only", line.span(at, last));
    let found = found.label("a name in quotes");
    Some(if scene.is_declared(name) { found.write(name) } else { found.help(format!("write `{name}`")) })
}

/// `output u[*]` and `u[*] := 0`
fn all_elements(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let name = line.text(at);
    let indices = scene.arrays.get(name)?;
    let star = matches!(line.text(at + 2), "*" | ":") && line.text(at + 1) == "[" && line.text(at + 3) == "]";
    let found = IdiomMatch::new(&codes::E0135, "all elements of an array need no `*`", line.span(at, at + 3));
    let found = found.label("all elements");
    if !star || indices.len() != 1 {
        return None;
    }
    if line.text(0) == "output" {
        return Some(found.write(name));
    }
    let acts = matches!(line.text(at + 4), ":=" | "+=" | "-=") && scene.indices.contains(indices[0]);
    acts.then(|| found.write(format!("{name}[{}]", indices[0])))
}

/// `u[i=1..N]' = -u[i]`
fn ranged(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let close = line.close(at + 1).filter(|_| scene.arrays.contains_key(line.text(at)) && line.text(at + 1) == "[")?;
    let fits = at == 0 && line.is_name(2) && line.text(3) == "=" && line.find(4, "..").is_some_and(|dots| dots < close);
    let better = format!("{}[{} in {}]", line.text(0), line.text(2), line.slice(4, close));
    let found = IdiomMatch::new(&codes::E0135, "write the range of an index after `in`", line.span(0, close));
    fits.then(|| found.label(format!("write `{better}`")).write(better))
}
