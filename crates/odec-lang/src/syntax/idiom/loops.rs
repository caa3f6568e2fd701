//! Loops of other languages: `for i = 1:3 ... end`, `for i in range(3):`, `while`.

use super::array::range_of;
use super::line::{Line, bare};
use super::program::{CODE, MAX_EQUATIONS, assigns, block_end, head_span, range};
use super::{IdiomMatch, Scene};
use crate::syntax::explain::token::TokenKind;

/// `for i = 1:3 ... end`, `for i in range(3):`, `do i = 1, 3`, `for (i = 0; i < 3; i++) { }`, `while`
pub(super) fn repeat(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    let word = line.text(0);
    let fits = match word {
        "for" | "foreach" | "FOR" => line.is_name(1) || line.text(1) == "(",
        "do" | "DO" => line.is_name(1) && line.text(2) == "=",
        "while" => line.tokens.len() > 1 && line.kind(1) != Some(TokenKind::Equals),
        _ => false,
    };
    if !fits || scene.is_declared(word) {
        return None;
    }
    let next = all_ends(scene, at, block_end(scene, at).0);
    let found =
        IdiomMatch::new(CODE, "odec has no loops: an equation applies to all elements at once", head_span(line))
            .label("a loop")
            .over(range(scene, at, next));
    if word == "while" {
        let headline = "odec has no loops: equations apply at all times";
        let condition = (1..line.tokens.len()).find(|&k| matches!(line.text(k), "{" | ":" | "do"));
        if let Some(end) = condition.filter(|_| scene.lines[at..next].iter().any(assigns)) {
            let help =
                format!("write `when {} {{ ... }}`: it happens once, when this becomes true", bare(line.slice(1, end)));
            return Some((IdiomMatch { headline: headline.to_string(), ..found }.help(help), next));
        }
        return Some((
            IdiomMatch { headline: headline.to_string(), ..found }
                .help("write an equation that only applies at times as a choice: `x' = if c then a else b`"),
            next,
        ));
    }
    let open = line.text(1) == "(";
    let index_at = if open { 2 } else { 1 };
    let index_at = if is_kind(line.text(index_at)) { index_at + 1 } else { index_at };
    let index = line.text(index_at);
    let range = loop_range(line, index_at, open).unwrap_or_else(|| "1..N".to_string());
    let inner = inner_loops(scene, at, next, index_at);
    let body: Vec<(String, String)> = scene.lines[at..next]
        .iter()
        .flat_map(|line| equations(line, line.range.start == scene.lines[at].range.start))
        .map(|(left, right)| super::counted::equation(scene, &left, &right))
        .collect();
    let event = (1..line.tokens.len()).find(|&k| matches!(line.text(k), "when" | "at" | "every") && k > index_at);
    if let Some(k) = event.filter(|_| next == at + 1) {
        let text = line.slice(k, line.tokens.len());
        let inner = if line.text(k - 1) == "{" { text.strip_suffix('}').unwrap_or(text).trim_end() } else { text };
        let help = format!("write `{inner}` without a loop: an index in its head makes one event for each element");
        return Some((found.help(help), next));
    }
    let variables: Vec<(&str, &str)> = std::iter::once((index, range.as_str()))
        .chain(inner.iter().map(|(name, range)| (*name, range.as_str())))
        .collect();
    let missing = variables.iter().filter(|(name, _)| !scene.indices.contains(name));
    let declare: String = missing.map(|(name, range)| format!("`index {name} = {range}` and ")).collect();
    let assigns = if super::program::is_inside_event(scene, at) { ":=" } else { "=" };
    // the range of the loop counts, not that of the index
    let narrower =
        |name: &str, range: &str| scene.indices.contains(name) && !super::ranges::is_declared_range(scene, name, range);
    let equation = |(left, right): &(String, String)| {
        let mut left = left.clone();
        for (name, range) in variables.iter().filter(|(name, range)| narrower(name, range)) {
            left = super::ranges::left_with_range(&left, name, range).unwrap_or(left);
        }
        format!("`{left} {assigns} {right}`")
    };
    let help = match body.as_slice() {
        [_, ..] if body.len() <= MAX_EQUATIONS => {
            let texts: Vec<String> = body.iter().map(equation).collect();
            format!("write {declare}{}, without a loop", texts.join(" and "))
        }
        [first, ..] => format!("write {declare}{} and so on, without a loop", equation(first)),
        [] => format!("write {declare}`u[{index}] = ...`, without a loop"),
    };
    Some((found.help(help), next))
}

/// The end of the block, after the `end` of the loop around it where loops are not indented.
fn all_ends(scene: &Scene<'_>, at: usize, mut next: usize) -> usize {
    let begins = |line: &&Line<'_>| matches!(line.text(0), "for" | "FOR" | "while");
    let ends = |line: &Line<'_>| line.text(0) == "end" && line.tokens.len() == 1;
    let open = scene.lines[at..next].iter().filter(begins).count();
    let mut closed = scene.lines[at..next].iter().filter(|line| ends(line)).count();
    while closed > 0 && closed < open && scene.lines.get(next).is_some_and(ends) {
        next += 1;
        closed += 1;
    }
    next
}

/// The other variables of the loop with their ranges: `for i in 1:3, j in 1:3`, and loops that it contains.
fn inner_loops<'a>(scene: &'a Scene<'_>, at: usize, next: usize, index: usize) -> Vec<(&'a str, String)> {
    let head = &scene.lines[at];
    let counts = |line: &Line<'_>, k: usize| line.is_name(k) && matches!(line.text(k + 1), "=" | "in" | "∈");
    let mut found = Vec::new();
    for comma in (index..head.tokens.len()).filter(|&k| head.text(k) == "," && counts(head, k + 1)) {
        let end = (comma + 1..head.tokens.len()).find(|&k| matches!(head.text(k), "," | "{" | "do" | "loop" | ";"));
        let end = end.unwrap_or(head.tokens.len());
        found.extend(range_of(head, comma + 3, end).map(|range| (head.text(comma + 1), range)));
    }
    for line in scene.lines[at + 1..next].iter().filter(|line| line.text(0) == "for" && counts(line, 1)) {
        found.extend(loop_range(line, 1, false).map(|range| (line.text(1), range)));
    }
    found
}

fn is_kind(word: &str) -> bool {
    matches!(word, "int" | "integer" | "auto" | "size_t" | "unsigned")
}

fn loop_range(line: &Line<'_>, index: usize, open: bool) -> Option<String> {
    let end = if open {
        line.close(1)?
    } else {
        (index..line.tokens.len()).find(|&k| matches!(line.text(k), "{" | "do" | "loop")).unwrap_or(line.tokens.len())
    };
    // the next variable of the loop is apart
    let next = |&k: &usize| line.text(k) == "," && line.is_name(k + 1) && matches!(line.text(k + 2), "=" | "in" | "∈");
    let end = (index..end).find(next).or_else(|| comma(line)).unwrap_or(end);
    // i = 0; i < 3; i++
    if let Some(first) = (index..end).find(|&k| line.text(k) == ";") {
        let from = line.slice(index + 2, first);
        let sign = line.text(first + 2);
        let second = (first + 1..end).find(|&k| line.text(k) == ";")?;
        let to = line.slice(first + 3, second);
        return Some(match (sign, to.parse::<i64>()) {
            ("<", Ok(n)) => format!("{from}..{}", n.saturating_sub(1)),
            ("<", _) => format!("{from}..{to}-1"),
            _ => format!("{from}..{to}"),
        });
    }
    let end = colon(line, index).unwrap_or(if line.text(end - 1) == ":" { end - 1 } else { end });
    range_of(line, index + 2, end)
}

/// The comma of `for i = 1:3, u(i) = 2; end`, behind the range.
fn comma(line: &Line<'_>) -> Option<usize> {
    let comma = line.find(1, ",").filter(|_| line.text(0) == "for" && line.text(2) == "=" && line.is_name(1))?;
    let another = line.is_name(comma + 1) && matches!(line.text(comma + 2), "=" | "in" | "∈");
    (!another && line.find(comma, "=").is_some()).then_some(comma)
}

/// The colon of `for i in 1..9: ...`, behind the range; in MATLAB and Julia a colon is part of the range.
fn colon(line: &Line<'_>, from: usize) -> Option<usize> {
    let colon = line.find(from, ":").filter(|&k| k + 1 < line.tokens.len())?;
    let whole = line.text(colon - 1) == ")" || (from..colon).any(|k| line.kind(k) == Some(TokenKind::Range));
    whole.then_some(colon)
}

/// The assignments of a line of a loop, with indices in square brackets.
fn equations(line: &Line<'_>, head: bool) -> Vec<(String, String)> {
    let square = |text: &str| {
        let inner = Line::new(text, 0..text.len(), 0);
        let call = inner.is_name(0)
            && inner.text(1) == "("
            && inner.close(1).is_some_and(|close| close + 1 == inner.tokens.len());
        if call { text.replacen('(', "[", 1).replacen(')', "]", 1) } else { text.to_string() }
    };
    let mut from = if head {
        let open = (0..line.tokens.len()).find(|&k| line.text(k) == "{");
        open.or_else(|| comma(line)).or_else(|| colon(line, 0)).map_or(line.tokens.len(), |k| k + 1)
    } else {
        0
    };
    let mut found = Vec::new();
    // the head of an inner loop is no equation
    if !head && matches!(line.text(0), "for" | "foreach" | "FOR" | "do" | "DO") && !line.whole().contains(['{', ';']) {
        return found;
    }
    while from < line.tokens.len() {
        let stop = (from..line.tokens.len()).find(|&k| matches!(line.text(k), ";" | "}")).unwrap_or(line.tokens.len());
        if let Some(equals) = (from..stop).find(|&k| matches!(line.text(k), "=" | ":=" | "<-")) {
            found.push((square(line.slice(from, equals)), line.slice(equals + 1, stop).to_string()));
        }
        from = stop + 1;
    }
    found
}
