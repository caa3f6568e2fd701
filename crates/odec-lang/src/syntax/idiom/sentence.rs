//! Statements of other tools in other words: times without brackets, arrows and `do` in events, values for several names,
//! tolerances, parameters to vary.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(
        times(line)
            .or_else(|| arrow(line))
            .or_else(|| conditional_time(line))
            .or_else(|| several_values(scene, line))
            .or_else(|| tolerance(line))
            .or_else(|| varied(scene, line)),
    );
    for at in 0..line.tokens.len() {
        found.extend(
            rounded(line, at)
                .or_else(|| local(scene, line, at))
                .or_else(|| between(scene, line, at))
                .or_else(|| within(line, at)),
        );
    }
}

/// The actions after a `:`, `->` or `{` at `from`.
fn actions(line: &Line<'_>, from: usize) -> String {
    let last = line.tokens.len() - usize::from(line.text(line.tokens.len() - 1) == "}");
    let text = line.slice(from + 1, last);
    if text.is_empty() { "x += 1".to_owned() } else { text.to_owned() }
}

/// `at 0, 2, 10: y += 1`, `at 0:2:10 { y += 1 }`
fn times(line: &Line<'_>) -> Option<IdiomMatch> {
    if line.text(0) != "at" || line.kind(1) != Some(TokenKind::Number) {
        return None;
    }
    let number = |k: usize| line.text(k).parse::<f64>().ok().filter(|_| line.kind(k) == Some(TokenKind::Number));
    if line.text(2) == ":" && line.text(4) == ":" && matches!(line.text(6), "{" | ":") {
        let (first, step, last) = (number(1)?, number(3)?, number(5)?);
        // the time after `until` has no event
        let end = last + step;
        let better = format!("every {step} from {first} until {end} {{ {} }}", actions(line, 6));
        let found = IdiomMatch::new(&codes::E0118, "write regular times with `every`", line.span(1, 5))
            .label("start, step and end");
        return Some(found.over(line.range.clone()).help(format!("write `{better}`: a series ends before `until`")));
    }
    let colon = line.find(1, ":").filter(|_| line.text(2) == ",")?;
    let plain = (1..colon).all(|k| line.kind(k) == Some(TokenKind::Number) || line.text(k) == ",");
    plain.then(|| {
        let better = format!("at [{}] {{ {} }}", line.slice(1, colon), actions(line, colon));
        let found = IdiomMatch::new(&codes::E0118, "write several times in brackets", line.span(1, colon - 1));
        found.label("several times").over(line.range.clone()).help(format!("write `{better}`"))
    })
}

/// `when x > 1 -> y := 0`
fn arrow(line: &Line<'_>) -> Option<IdiomMatch> {
    let arrow = (1..line.tokens.len()).find(|&k| matches!(line.text(k), "->" | "=>" | "-->" | "→"))?;
    if line.text(0) != "when" || arrow < 2 {
        return None;
    }
    let braced = line.text(arrow + 1) == "{";
    if !braced && (0..line.tokens.len()).any(|k| line.text(k) == "{") {
        return None;
    }
    let text = actions(line, arrow + usize::from(braced));
    // an action sets its target with `:=`
    let set = |part: &str| match part.split_once('=') {
        Some((name, value)) if crate::syntax::is_operand(name.trim()) && !value.starts_with('=') => {
            format!("{} := {}", name.trim(), value.trim())
        }
        _ => part.trim().to_owned(),
    };
    let parts = text.split(if text.contains(';') { ";" } else { ", " }).filter(|part| !part.trim().is_empty());
    let actions = parts.map(set).collect::<Vec<_>>().join("; ");
    let better = format!("when {} {{ {actions} }}", line.slice(1, arrow));
    let found =
        IdiomMatch::new(&codes::E0111, "write an event with braces", line.span(arrow, arrow)).label("a block follows");
    Some(found.over(line.range.clone()).help(format!("write `{better}`")))
}

/// `at 5 and x > 1 { y := 0 }`
fn conditional_time(line: &Line<'_>) -> Option<IdiomMatch> {
    let and = line.find(1, "and").filter(|_| matches!(line.text(0), "at" | "every"))?;
    let open = (and..line.tokens.len()).find(|&k| line.text(k) == "{")?;
    let condition = line.slice(and + 1, open);
    let head = line.slice(0, and);
    (!condition.is_empty() && open > and + 1).then(|| {
        let found = IdiomMatch::new(&codes::E0118, "an event at a time has no condition", line.span(and, open - 1));
        found.label("a condition").over(line.range.clone()).help(format!(
            "put the condition on the right side of each action: `{head} {{ y := if {condition} then 0 else y }}`"
        ))
    })
}

/// `param k1, k2 = 1, 2`
fn several_values(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    let equals = line.find(1, "=").filter(|_| matches!(word, "param" | "const" | "state"))?;
    let end = line.tokens.len();
    let list = |from: usize, to: usize, item: &dyn Fn(usize) -> bool| {
        let odd = !(to - from).is_multiple_of(2);
        let fits = (from..to).all(|k| if (k - from).is_multiple_of(2) { item(k) } else { line.text(k) == "," });
        (odd && fits).then(|| (from..to).step_by(2).map(|k| line.text(k)).collect::<Vec<&str>>())
    };
    let names = list(1, equals, &|k| line.is_name(k))?;
    let values = list(equals + 1, end, &|k| line.kind(k) == Some(TokenKind::Number))?;
    if names.len() < 2 || names.len() != values.len() || scene.is_declared(word) {
        return None;
    }
    let pairs: Vec<String> = names.iter().zip(&values).map(|(name, value)| format!("{name} = {value}")).collect();
    let found =
        IdiomMatch::new(&codes::E0118, "write each value behind its name", line.span(1, end - 1)).label("two lists");
    Some(found.write(pairs.join(", ")).help(format!("write `{word} {}`", pairs.join(", "))))
}

/// `expect y(1) = 0.37 tol 0.01`
fn tolerance(line: &Line<'_>) -> Option<IdiomMatch> {
    if !matches!(line.text(0), "expect" | "conserve") {
        return None;
    }
    let known = |k: &usize| matches!(line.text(*k), "tol" | "tolerance" | "err" | "error" | "precision");
    let at = (2..line.tokens.len()).find(|k| known(k) && line.tokens[*k - 1].ends_value() && !line.touches(*k - 1))?;
    let equals = usize::from(matches!(line.text(at + 1), "=" | ":"));
    let value = line.kind(at + 1 + equals) == Some(TokenKind::Number);
    value.then(|| {
        let found = IdiomMatch::new(
            &codes::E0117,
            format!("write `{}` as `within`", line.text(at)),
            line.span(at, at + equals),
        );
        found.label("a tolerance").write("within")
    })
}

/// `scan k = 0:0.1:1`
fn varied(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    let known =
        matches!(word, "scan" | "sweep" | "vary" | "SCAN" | "loop") && line.is_name(1) && !scene.is_declared(word);
    known.then(|| {
        let name = line.text(1);
        IdiomMatch::new(&codes::E0133, "a command varies a parameter", line.span(0, line.tokens.len() - 1))
            .label("not in the model")
            .over(line.range.clone())
            .help(format!("remove the line: `odec sweep FILE --set {name}=0:1:11` runs the model for 11 values"))
    })
}

/// `⌊x⌋`, `⌈x⌉`
fn rounded(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let (close, function) = match line.text(at) {
        "⌊" => ("⌋", "floor"),
        "⌈" => ("⌉", "ceil"),
        _ => return None,
    };
    let last = (at + 1..line.tokens.len()).find(|&k| line.text(k) == close).filter(|&last| last > at + 1)?;
    let better = format!("{function}({})", line.slice(at + 1, last));
    let nested = (at + 1..last).any(|k| line.text(k) == line.text(at));
    let found =
        IdiomMatch::new(&codes::E0106, format!("write `{}` as `{function}`", line.text(at)), line.span(at, last));
    (!nested).then(|| found.label(format!("write `{better}`")).write(better))
}

/// `let z = 2*x in z*y`
fn local(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) != "let"
        || at == 0
        || !line.is_name(at + 1)
        || line.text(at + 2) != "="
        || scene.is_declared("let")
    {
        return None;
    }
    let end = line.span_end(at);
    let stop = (at + 3..end).find(|&k| line.text(k) == "in")?;
    let (name, value) = (line.text(at + 1), line.slice(at + 3, stop));
    let found =
        IdiomMatch::new(&codes::E0133, "a formula has no names of its own", line.span(at, stop)).label("a definition");
    let rest = line.slice(stop + 1, end);
    Some(found.help(format!("write `{name} = {value}` on a line of its own, and `{rest}` here")))
}

/// `between(x, 0, 2)`
fn between(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if !matches!(word, "between" | "inrange") || line.text(at + 1) != "(" || scene.is_function(word) {
        return None;
    }
    let list = line.arguments(at + 1)?;
    let [x, low, high] = &list[..] else { return None };
    let text = |r: &std::ops::Range<usize>| line.slice(r.start, r.end);
    let better = format!("({} <= {} <= {})", text(low), text(x), text(high));
    let found =
        IdiomMatch::new(&codes::E0131, format!("odec has no function `{word}`"), line.span(at, line.close(at + 1)?));
    Some(found.label(format!("write `{better}`")).write(better))
}

/// `if x in [0, 2] then ...`
fn within(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let fits = line.text(at) == "in" && at > 1 && matches!(line.text(at + 1), "[" | "{") && line.is_name(at - 1);
    let condition = (0..at).any(|k| matches!(line.text(k), "if" | "when"));
    let list = line.arguments(at + 1).filter(|_| fits && condition)?;
    let [low, high] = &list[..] else { return None };
    let (x, low, high) = (line.text(at - 1), line.slice(low.start, low.end), line.slice(high.start, high.end));
    let found = IdiomMatch::new(&codes::E0117, "a condition is a comparison", line.span(at, line.close(at + 1)?));
    Some(found.label("between two values, or one of them?").help(format!(
        "write `{low} <= {x} <= {high}` for a value between them, or `({x} == {low} or {x} == {high})` for one of them"
    )))
}
