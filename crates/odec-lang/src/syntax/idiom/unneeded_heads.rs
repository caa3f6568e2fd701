//! Short forms of other notations: `if x > 1 300 else 400`, `index m, n = 1..2, 1..3`, `output x y`, `1[t > 5]`,
//! `switch(c, a, b)`, `[x]+`, `x*5 %`, `model "my model"`.

use super::line::{Line, operand};
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(
        without_then(line)
            .or_else(|| index(line))
            .or_else(|| times(line))
            .or_else(|| outputs(scene, line))
            .or_else(|| title(line))
            .or_else(|| definition(line))
            .or_else(|| integral(scene, line))
            .or_else(|| table(line))
            .or_else(|| vector(line))
            .or_else(|| head_of_set(line))
            .or_else(|| spoken(line))
            .or_else(|| rate_of_element(scene, line)),
    );
    for at in 0..line.tokens.len() {
        found.extend(
            indicator(scene, line, at)
                .or_else(|| switch(scene, line, at))
                .or_else(|| bar(scene, line, at))
                .or_else(|| percent(line, at))
                .or_else(|| cast(line, at))
                .or_else(|| power_of_logarithm(scene, line, at))
                .or_else(|| tolerances(scene, line, at))
                .or_else(|| entry(scene, line, at)),
        );
    }
}

fn whole(line: &Line<'_>, headline: &str, from: usize, to: usize, better: &str) -> IdiomMatch {
    let found = IdiomMatch::new(&codes::E0118, headline, line.span(from, to));
    found.help(format!("write `{better}`")).over(line.range.clone())
}

/// `if i < N/2 300 else 400`
fn without_then(line: &Line<'_>) -> Option<IdiomMatch> {
    let start = (0..line.tokens.len()).find(|&k| line.text(k) == "if")?;
    let other = line.find(start, "else")?;
    if (start..other).any(|k| line.text(k) == "then") {
        return None;
    }
    let value = |k: usize| matches!(line.kind(k), Some(TokenKind::Number | TokenKind::Name));
    let compared = |k: usize| (start..k).any(|j| line.kind(j) == Some(TokenKind::Compare));
    let mut gaps = (start + 2..other).filter(|&k| {
        let ends = line.tokens[k - 1].ends_value() && !line.touches(k - 1);
        ends && value(k)
            && compared(k)
            && !matches!(line.text(k), "and" | "or" | "not")
            && !matches!(line.text(k - 1), "and" | "or" | "not")
    });
    let (gap, None) = (gaps.next()?, gaps.next()) else { return None };
    let better = format!("{} then {}", line.slice(start, gap), line.slice(gap, line.tokens.len()));
    Some(whole(line, "`then` is missing in a choice", gap, gap, &better).label("before this value"))
}

/// `index m, n = 1..2, 1..3`, `index m = young, old`
fn index(line: &Line<'_>) -> Option<IdiomMatch> {
    let equals = line.find(1, "=").filter(|_| line.text(0) == "index")?;
    let end = line.tokens.len();
    let list = |from: usize, to: usize| -> Vec<&str> {
        let mut items = Vec::new();
        let mut start = from;
        while start < to {
            let stop = line.find(start, ",").filter(|&k| k < to).unwrap_or(to);
            items.push(line.slice(start, stop));
            start = stop + 1;
        }
        items
    };
    let (names, values) = (list(1, equals), list(equals + 1, end));
    if line.find(equals + 1, "=").is_some() || values.len() < 2 {
        return None;
    }
    let words = values.iter().all(|value| value.chars().all(|c| c.is_alphanumeric() || c == '_'));
    if names.len() == 1 && words && values.iter().all(|value| value.starts_with(char::is_alphabetic)) {
        let numbered: Vec<String> = values.iter().zip(1..).map(|(value, k)| format!("{value} = {k}")).collect();
        let found = IdiomMatch::new(&codes::E0118, "an index runs over numbers", line.span(equals + 1, end - 1));
        return Some(found.label("names").over(line.range.clone()).help(format!(
            "write `index {} = 1..{}`, and name the numbers: `const {}`",
            names[0],
            values.len(),
            numbered.join(", ")
        )));
    }
    let ranges = names.len() == values.len() && values.iter().all(|value| value.contains(".."));
    let items: Vec<String> = names.iter().zip(&values).map(|(name, range)| format!("{name} = {range}")).collect();
    let better = format!("index {}", items.join(", "));
    ranges.then(|| whole(line, "each index has its own range", 1, end - 1, &better).label("several indices"))
}

/// `at 1; 2; 3 { ... }`, `at 1..3 { ... }`
fn times(line: &Line<'_>) -> Option<IdiomMatch> {
    let open = (2..line.tokens.len()).find(|&k| line.text(k) == "{").filter(|_| line.text(0) == "at")?;
    let rest = line.slice(open, line.tokens.len());
    let number = |k: usize| line.kind(k) == Some(TokenKind::Number);
    if open == 4 && number(1) && line.kind(2) == Some(TokenKind::Range) && number(3) {
        let (first, last): (u32, u32) = (line.text(1).parse().ok()?, line.text(3).parse().ok()?);
        let count = last.checked_sub(first).filter(|count| (1..6).contains(count))?;
        let list: Vec<String> = (first..=first + count).map(|time| time.to_string()).collect();
        let better = format!("at [{}] {rest}", list.join(", "));
        return Some(whole(line, "write several times in brackets", 1, 3, &better).label("times"));
    }
    let listed = open > 3
        && open.is_multiple_of(2)
        && (1..open).all(|k| if k % 2 == 1 { number(k) } else { line.text(k) == ";" });
    let list: Vec<&str> = (1..open).step_by(2).map(|k| line.text(k)).collect();
    let better = format!("at [{}] {rest}", list.join(", "));
    listed.then(|| whole(line, "write several times in brackets", 1, open - 1, &better).label("times"))
}

/// `output x y`
fn outputs(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    // the line itself declares the first name
    let known =
        |name: &str| scene.states.contains(name) || scene.arrays.contains_key(name) || scene.rates.contains(name);
    let fits = line.text(0) == "output" && end > 2 && (1..end).all(|k| line.is_name(k) && known(line.text(k)));
    let names: Vec<&str> = (1..end).map(|k| line.text(k)).collect();
    let better = format!("output {}", names.join(", "));
    fits.then(|| whole(line, "commas separate names", 1, end - 1, &better).label("several names"))
}

/// `model "my model"`
fn title(line: &Line<'_>) -> Option<IdiomMatch> {
    let text = line.text(1).trim_matches('"');
    let fits = line.text(0) == "model" && line.kind(1) == Some(TokenKind::Text) && line.tokens.len() == 2;
    let name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let usable = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let better = format!("model {name}");
    (fits && usable).then(|| whole(line, "the name of a model is one word", 1, 1, &better).label("a text"))
}

/// `def z = x - 1`, `algebraic z = x - 1`
fn definition(line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    let fits = matches!(word, "def" | "algebraic") && line.is_name(1) && line.text(2) == "=";
    let better = line.slice(1, line.tokens.len());
    let headline = format!("a definition needs no `{word}`");
    fits.then(|| whole(line, &headline, 0, 0, better).label("not needed"))
}

/// `z = int(x/a, t)`
fn integral(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(2);
    let named =
        line.is_name(0) && matches!(line.text(1), "=" | ":") && matches!(word, "int" | "integral" | "Integrate");
    let close = line.close(3).filter(|&close| named && line.text(3) == "(" && close + 1 == line.tokens.len())?;
    let [value, by] = line.arguments(3)?.try_into().ok()?;
    let (name, rate) = (line.text(0), line.slice(value.start, value.end));
    let found = IdiomMatch::new(&codes::E0131, "an integral over time is a state", line.span(2, close));
    let help = format!("write `state {name} = 0` and `{name}' = {rate}`");
    let fits = line.slice(by.start, by.end) == scene.time;
    fits.then(|| found.label("an integral").help(help).over(line.range.clone()))
}

/// `table q(t) = [0, 5], [1, 3]`
fn table(line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    let close = line.close(2).filter(|_| line.text(0) == "table" && line.is_name(1) && line.text(2) == "(")?;
    let first = line.close(close + 2).filter(|_| line.text(close + 1) == "=" && line.text(close + 2) == "[")?;
    let lists = line.text(first + 1) == "," && line.text(first + 2) == "[" && line.close(first + 2) == Some(end - 1);
    let better = format!("input {} = table({}, linear)", line.slice(1, close + 1), line.slice(close + 2, end));
    lists.then(|| whole(line, "declare a table as an input", 0, 0, &better).label("a table"))
}

/// `state z = {1, 0}` without an index
fn vector(line: &Line<'_>) -> Option<IdiomMatch> {
    let close = line.close(3).filter(|_| line.text(0) == "state" && line.reads(2, &["=", "{"]) && line.is_name(1))?;
    let list = line.arguments(3)?;
    let plain = close + 1 == line.tokens.len() && (2..=4).contains(&list.len());
    let plain = plain && list.iter().all(|range| line.find(range.start, "=").is_none());
    let better = format!("state {} = ({})", line.text(1), line.slice(4, close));
    plain.then(|| whole(line, "write a vector in round brackets", 3, close, &better).label("a vector"))
}

/// `params p = { k = 3 }`, `parameters p { k = 3 }`
fn head_of_set(line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    let open = match (line.text(2), line.text(3)) {
        ("=", "{") if matches!(word, "params" | "parameters") => 3,
        ("{", _) if word == "parameters" => 2,
        _ => return None,
    };
    line.close(open).filter(|_| line.is_name(1))?;
    let better = format!("params {} {}", line.text(1), line.slice(open, line.tokens.len()));
    Some(whole(line, "a parameter set is a word, a name and a block", 0, open - 1, &better).label("the head of a set"))
}

/// `1[t > 5]`, `1{t > 5}`, `I(t > 5)` and `(t > 5).astype(float)`: 1 where the condition holds.
fn indicator(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let open = at + 1;
    let close = line.close(open)?;
    let compares = (open..close).any(|k| line.kind(k) == Some(TokenKind::Compare));
    let named = matches!(word, "I" | "𝟙" | "𝟏" | "indicator" | "Indicator") && !scene.is_declared(word);
    let one = word == "1" && matches!(line.text(open), "[" | "{") && line.touches(at);
    if !compares || !(one || named && line.text(open) == "(" && line.touches(at)) {
        return None;
    }
    let better = format!("({})", line.slice(open + 1, close));
    let found = IdiomMatch::new(&codes::E0131, "a condition in brackets is 1 or 0", line.span(at, close));
    Some(found.label("1 where a condition holds").write(better))
}

/// `switch(c, a, b)` with a comparison
fn switch(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if !matches!(word, "switch" | "Switch") || line.text(at + 1) != "(" || scene.is_function(word) {
        return None;
    }
    let [condition, then, other] = line.arguments(at + 1)?.try_into().ok()?;
    let compares = condition.clone().any(|k| line.kind(k) == Some(TokenKind::Compare));
    let text = |range: &std::ops::Range<usize>| line.slice(range.start, range.end);
    let better = format!("(if {} then {} else {})", text(&condition), text(&then), text(&other));
    let found =
        IdiomMatch::new(&codes::E0131, format!("odec has no function `{word}`"), line.span(at, line.close(at + 1)?));
    compares.then(|| found.label("a choice").write(better))
}

/// `sum(i | u[i])`, `[x]+` and `+ noise`
fn bar(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if matches!(word, "sum" | "prod") && line.text(at + 1) == "(" && scene.indices.contains(line.text(at + 2)) {
        let bar = (line.text(at + 3) == "|").then_some(at + 3)?;
        let found = IdiomMatch::new(&codes::E0515, "a colon follows the index of a sum", line.span(bar, bar));
        return Some(found.label("write `:`").write(":"));
    }
    let close = line.close(at).filter(|_| word == "[" && line.is_name(at + 1) && line.text(at + 2) == "]")?;
    let begins = at > 0 && !line.tokens[at - 1].ends_value();
    let positive = begins && line.text(close + 1) == "+" && line.touches(close);
    let ends = matches!(line.text(close + 2), "" | ")" | "," | "*" | "/");
    let better = format!("max({}, 0)", line.text(at + 1));
    let found = IdiomMatch::new(&codes::E0136, "write the positive part with `max`", line.span(at, close + 1));
    (positive && ends).then(|| found.label("a positive part").help(format!("write `{better}`")))
}

/// `x*5 %`, `rtol = 0.1 %`
fn percent(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let ends = matches!(line.text(at + 2), "" | ";" | "}" | ")" | ",");
    let number = line.kind(at) == Some(TokenKind::Number) && line.text(at + 1) == "%" && ends;
    let apart = !line.touches(at) && !matches!(line.text(0), "expect" | "conserve");
    let value: f64 = line.text(at).parse().ok().filter(|_| number && apart)?;
    let equals = line.text(at - usize::from(at > 0));
    if !matches!(equals, "*" | "=") || line.text(0) == "param" {
        return None;
    }
    let better = operand(&format!("{}", value / 100.0));
    let found = IdiomMatch::new(&codes::E0125, "a percentage is a number", line.span(at, at + 1));
    Some(found.label("percent?").help(format!("write `{better}`; for the remainder of a division, `mod(a, b)`")))
}

/// `steady = true` and `params = [a]` of a run block
fn entry(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let first = at > 0 && matches!(line.text(at - 1), "{" | ";" | ",");
    if !scene.run || !first || line.text(at + 1) != "=" {
        return None;
    }
    let found = |headline: String, last: usize| IdiomMatch::new(&codes::E0401, headline, line.span(at, last));
    match line.text(at) {
        "steady" | "steady_state" if matches!(line.text(at + 2), "true" | "True" | "1" | "yes") => Some(
            found("a run block has no entry `steady`".to_owned(), at + 2)
                .label("not an entry")
                .help("write `start = steady` to start from the steady state; `odec steady FILE` finds it"),
        ),
        "params" if line.text(at + 2) == "[" && line.is_name(at + 3) && line.text(at + 4) == "]" => {
            let better = format!("params = {}", line.text(at + 3));
            Some(
                found("a run has one parameter set".to_owned(), at + 4)
                    .label("no list")
                    .help(format!("write `{better}`")),
            )
        }
        _ => None,
    }
}

/// `when h goes below 0 { ... }`, `when v changes sign { ... }`
fn spoken(line: &Line<'_>) -> Option<IdiomMatch> {
    let open = (3..line.tokens.len()).find(|&k| line.text(k) == "{").filter(|_| line.text(0) == "when")?;
    let at = (2..open).find(|&k| matches!(line.text(k), "goes" | "gets" | "comes" | "changes" | "switches"))?;
    let what = line.slice(1, at);
    let condition = match line.text(at + 1) {
        "below" | "under" if at + 2 < open => format!("{what} < {}", line.slice(at + 2, open)),
        "above" | "over" if at + 2 < open => format!("{what} > {}", line.slice(at + 2, open)),
        "sign" if at + 2 == open => format!("{what} == 0"),
        _ => return None,
    };
    let better = format!("when {condition} {}", line.slice(open, line.tokens.len()));
    Some(whole(line, "write the condition as a comparison", at, open - 1, &better).label("in words"))
}

/// `d/dt T[i] = -T[i]`
fn rate_of_element(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let by = format!("d{}", scene.time);
    let fits = line.reads(0, &["d", "/", by.as_str()]) && line.is_name(3) && line.text(4) == "[";
    let close = line.close(4).filter(|&close| fits && line.text(close + 1) == "=")?;
    let better = format!("{}'", line.slice(3, close + 1));
    let found = IdiomMatch::new(&codes::E0132, "write a derivative with a prime", line.span(0, close));
    Some(found.label(format!("write `{better}`")).write(better))
}

/// `(t > 5).astype(float)`: a condition is a number already.
fn cast(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let fits = line.text(at) == ")" && line.reads(at + 1, &[".", "astype", "("]);
    let close = line.close(at + 3).filter(|_| fits)?;
    let found = IdiomMatch::new(&codes::E0131, "all values are real numbers", line.span(at + 1, close));
    let help = format!("remove `{}`", line.slice(at + 1, close + 1));
    Some(found.label("not needed").fix(line.span(at + 1, close), "").help(help))
}

/// `log^2(x)`
fn power_of_logarithm(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let known = line.text(at) == "log" && line.text(at + 1) == "^" && !scene.is_declared("log");
    let number = known && line.kind(at + 2) == Some(TokenKind::Number) && line.text(at + 3) == "(";
    let close = line.close(at + 3).filter(|_| number)?;
    let (power, argument) = (line.text(at + 2), line.slice(at + 3, close + 1));
    let found = IdiomMatch::new(&codes::E0131, "the power follows the call", line.span(at, close));
    let help = format!("write `ln{argument}^{power}`, or `log10{argument}^{power}` for the logarithm to base 10");
    Some(found.label("a power of a function").help(help))
}

/// `atol(x, y) = 1e-6`
fn tolerances(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let close = line.close(at + 1).filter(|_| line.text(at) == "atol" && line.text(at + 1) == "(")?;
    let names = line.arguments(at + 1)?;
    let states = names.iter().all(|range| range.len() == 1 && scene.states.contains(line.text(range.start)));
    let end = (close + 2..line.tokens.len()).find(|&k| matches!(line.text(k), ";" | "}" | ","));
    let value = line.slice(close + 2, end.unwrap_or(line.tokens.len()));
    let each: Vec<String> = names.iter().map(|range| format!("atol({}) = {value}", line.text(range.start))).collect();
    let fits = states && names.len() > 1 && line.text(close + 1) == "=";
    let found = IdiomMatch::new(&codes::E0118, "each state has its own tolerance", line.span(at, close));
    fits.then(|| found.label("several states").help(format!("write `{}`", each.join("; "))).over(line.range.clone()))
}
