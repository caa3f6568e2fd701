//! Declarations in other words: `time in hours`, `output x*y as z`, `param k = 3 in 0:10`, `state A = 10 in V [mM]`,
//! `param k: float = 1`, `save "out.csv"`.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

/// Types of other languages.
const TYPES: [&str; 10] = ["float", "int", "double", "real", "Real", "Float64", "Float32", "number", "f64", "f32"];

/// Largest number of calls that the fix of a function corrects.
const MAX_CALLS: usize = 50;
/// Largest number of entries of a block that are searched for its head.
const MAX_ENTRIES: usize = 40;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(super::function::by_pattern(scene, line));
    let declares = matches!(line.text(0), "param" | "const" | "state" | "discrete" | "unknown");
    if declares {
        found.extend(
            typed(line)
                .or_else(|| super::comprehension::listed(scene, line))
                .or_else(|| bounds(line))
                .or_else(|| super::bounds::of_parameter(line))
                .or_else(|| place(line)),
        );
    }
    found.extend(
        time(line)
            .or_else(|| named(line))
            .or_else(|| saved(line))
            .or_else(|| no_arguments(scene, line))
            .or_else(|| entry_of_part(scene, line)),
    );
}

/// `time in hours`
fn time(line: &Line<'_>) -> Option<IdiomMatch> {
    let fits = line.text(0) == "time" && line.text(1) == "in" && line.is_name(2) && line.tokens.len() == 3;
    let unit = line.text(2);
    let found = IdiomMatch::new(&codes::E0118, "the unit of time follows its name in brackets", line.span(1, 2));
    fits.then(|| found.label("a unit").help(format!("write `time t [{unit}]`")).over(line.range.clone()))
}

/// `output x*y as z`
fn named(line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    let at =
        line.find(1, "as").filter(|&k| line.text(0) == "output" && k > 1 && k + 2 == end && line.is_name(k + 1))?;
    if line.find(1, ",").is_some() || line.find(1, "=").is_some() {
        return None;
    }
    let (value, name) = (line.slice(1, at), line.text(at + 1));
    let found = IdiomMatch::new(&codes::E0118, "the name of an output comes first", line.span(at, at + 1));
    let better = if value == name { format!("output {name}") } else { format!("output {name} = {value}") };
    Some(found.label("the name").help(format!("write `{better}`")).fix(line.span(0, end - 1), better))
}

/// `param k = 3 in 0:10` and `param k = 1:30`
fn bounds(line: &Line<'_>) -> Option<IdiomMatch> {
    let colon = line.find(1, ":").filter(|&k| k > 3)?;
    let number = |k: usize| line.kind(k) == Some(TokenKind::Number);
    let from = colon - 1 - usize::from(line.text(colon - 2) == "-");
    let to = colon + 1 + usize::from(line.text(colon + 1) == "-");
    if !number(colon - 1) || !number(to) || line.text(to + 1) == ":" {
        return None;
    }
    let (low, high) = (line.slice(from, colon), line.slice(colon + 1, to + 1));
    match line.text(from - 1) {
        "in" => {
            let found = IdiomMatch::new(&codes::E0125, "a range has two dots", line.span(colon, colon));
            let help = format!("write `in {low}..{high}`");
            Some(found.label("write `..`").help(help).fix(line.span(from, to), format!("{low}..{high}")))
        }
        "=" if line.is_name(from - 2) && to + 1 == line.tokens.len() => {
            let (word, name) = (line.text(0), line.text(from - 2));
            let found = IdiomMatch::new(&codes::E0135, "a range is not a value", line.span(from, to));
            let help =
                format!("for numbers one after another, write `index i = {low}..{high}` and `{word} {name}[i] = i`");
            Some(found.label("a range").help(help).over(line.range.clone()))
        }
        _ => None,
    }
}

/// `state A = 10 in V [mM]`; without the space, `cell[i]` is a compartment with an index
fn place(line: &Line<'_>) -> Option<IdiomMatch> {
    let apart = |k: usize| line.text(k + 1) == "[" && line.slice(k, k + 2).contains(char::is_whitespace);
    let at = line.find(1, "in").filter(|&k| line.is_name(k + 1) && apart(k + 1) && k > 2)?;
    let close = line.close(at + 2)?;
    let (compartment, unit) = (line.text(at + 1), line.slice(at + 2, close + 1));
    let better = format!("{unit} in {compartment}");
    let found = IdiomMatch::new(&codes::E0119, "the unit comes before the compartment", line.span(at, close));
    let number = line.kind(at - 1) == Some(TokenKind::Number) && line.find(1, ",").is_none();
    let whole = format!("{} {better}", line.slice(0, at));
    number.then(|| found.label("the unit of the value").help(format!("write `{whole}`")).over(line.range.clone()))
}

/// `param k: float = 1.0`
fn typed(line: &Line<'_>) -> Option<IdiomMatch> {
    let colon = line.find(1, ":").filter(|&k| TYPES.contains(&line.text(k + 1)) && line.text(k + 2) == "=")?;
    let found = IdiomMatch::new(&codes::E0133, "odec has no types", line.span(colon, colon + 1)).label("a type");
    let better = format!("{} {}", line.slice(0, colon), line.slice(colon + 2, line.tokens.len()));
    Some(found.help(format!("write `{better}`")).fix(line.span(colon, colon + 1), ""))
}

/// `param k = 2` in the block of `use`, on a line of its own or behind its brace.
fn entry_of_part(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let declares = |k: usize| matches!(line.text(k), "param" | "const" | "set") && line.is_name(k + 1);
    let inside = |k: usize| declares(k) && line.text(k + 2) == "=";
    let at = if line.text(0) == "use" {
        (1..line.tokens.len()).find(|&k| matches!(line.text(k - 1), "{" | ";") && inside(k))?
    } else {
        let before = scene.lines.partition_point(|other| other.range.start < line.range.start);
        let head =
            scene.lines[..before].iter().rev().take(MAX_ENTRIES).find(|other| other.whole().contains(['{', '}']))?;
        let open = head.text(0) == "use" && head.whole().ends_with('{');
        Some(0).filter(|_| open && inside(0))?
    };
    let word = line.text(at);
    let span = odec_ir::Span::new(line.tokens[at].start, line.tokens[at + 1].start);
    let found = IdiomMatch::new(&codes::E0133, format!("the block of a part needs no `{word}`"), line.span(at, at));
    let end = (at..line.tokens.len()).find(|&k| matches!(line.text(k), ";" | "}")).unwrap_or(line.tokens.len());
    Some(found.label("not needed").help(format!("write `{}`", line.slice(at + 1, end))).fix(span, ""))
}

/// `fn f() = 3`: a definition, and the lines that call it.
fn no_arguments(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let name = line.text(1);
    let fits = line.text(0) == "fn" && line.is_name(1) && line.reads(2, &["(", ")", "="]) && line.tokens.len() > 5;
    let found = IdiomMatch::new(&codes::E0128, "a function needs arguments", line.span(0, 3)).label("no arguments");
    let found = found.help(format!("write a definition, `{name} = ...`, and `{name}` where it is used"));
    let found = fits.then(|| found.over(line.range.clone()).fix(line.span(0, 3), name))?;
    let calls = scene.lines.iter().flat_map(|other| {
        let calls = (0..other.tokens.len()).filter(move |&k| other.reads(k, &[name, "(", ")"]));
        calls.map(move |k| other.span(k + 1, k + 2))
    });
    let other = |span: &odec_ir::Span| !line.range.contains(&(span.start as usize));
    let calls: Vec<odec_ir::Span> = calls.filter(other).take(MAX_CALLS + 1).collect();
    if calls.len() > MAX_CALLS {
        return Some(IdiomMatch { fixes: Vec::new(), ..found });
    }
    Some(calls.into_iter().fold(found, |found, span| found.fix(span, "")))
}

/// `save "out.csv"`
fn saved(line: &Line<'_>) -> Option<IdiomMatch> {
    let fits = matches!(line.text(0), "save" | "write" | "export") && line.kind(1) == Some(TokenKind::Text);
    let found = IdiomMatch::new(&codes::E0133, "a model does not save its results", line.span(0, 1));
    let help = format!("remove this line, and write `odec run MODEL -o {}`", line.text(1).trim_matches('"'));
    fits.then(|| found.label("a file").help(help).over(line.range.clone()))
}
