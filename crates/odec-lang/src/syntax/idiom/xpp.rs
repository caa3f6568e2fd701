//! Arrays of XPP, `y[1..3](0) = 1` and `%[1..3]`, and choices between statements, `switch a`.

use odec_ir::Span;

use super::line::{Line, bare};
use super::program::{head_span, range};
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;

/// Largest number of lines in a block.
const MAX_BLOCK: usize = 200;
/// Largest number of cases that a message repeats.
const MAX_CASES: usize = 4;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(start(scene, line));
}

/// An index that the model has no other meaning for.
fn index(scene: &Scene<'_>) -> Option<&'static str> {
    ["i", "j", "k", "n"].into_iter().find(|name| !scene.is_declared(name))
}

/// `y[1..3](0) = 1`
fn start(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let close = line.close(1).filter(|_| line.is_name(0) && line.text(1) == "[" && line.touches(0))?;
    let zero = line.reads(close + 1, &["(", "0", ")"]) && line.text(close + 4) == "=";
    let dots = line.find(2, "..").filter(|&k| zero && k < close)?;
    let (name, value) = (line.text(0), line.slice(close + 5, line.tokens.len()));
    let range = format!("{}..{}", line.slice(2, dots), line.slice(dots + 1, close));
    let known = scene.arrays.get(name).and_then(|indices| indices.first()).filter(|_| scene.states.contains(name));
    let found = IdiomMatch::new(
        &codes::E0307,
        format!("the initial value of `{name}` is not an equation"),
        line.span(0, close + 3),
    );
    let found = found.label("an initial value").over(line.range.clone());
    Some(match known.filter(|index| scene.indices.contains(*index)) {
        Some(index) => {
            found.help(format!("write it in the declaration of the state: `state {name}[{index}] = {value}`"))
        }
        None => {
            let index = index(scene)?;
            found.help(format!("write `index {index} = {range}` and `state {name}[{index}] = {value}`"))
        }
    })
}

/// `%[1..3]`, lines for each element, and `%`.
pub(super) fn repeated(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    let dots = line.find(2, "..").filter(|_| line.reads(0, &["%", "["]) && line.touches(0))?;
    let close = line.close(1).filter(|&k| k + 1 == line.tokens.len())?;
    let last = (at + 1..scene.lines.len().min(at + MAX_BLOCK)).find(|&k| scene.lines[k].whole() == "%")?;
    let range_text = format!("{}..{}", line.slice(2, dots), line.slice(dots + 1, close));
    let index = index(scene)?;
    let found = IdiomMatch::new(&codes::E0135, "an index repeats a line for each element", head_span(line));
    let inside = scene.lines[at + 1..last].iter().find(|line| line.find(0, "=").is_some());
    let example = inside.map(|line| line.whole().replace("[j]", &format!("[{index}]"))).unwrap_or_default();
    let example = if example.is_empty() || example.contains('\n') { "x[i]' = ...".to_owned() } else { example };
    let found = found.label("a block for each element").over(range(scene, at, last + 1));
    Some((found.help(format!("write `index {index} = {range_text}` and, without the `%`, `{example}`")), last + 1))
}

/// A case of a `switch`: what its quantity is compared with, `None` for the last one, and its first equation.
struct Case<'a> {
    compared: Option<&'a str>,
    equation: Option<(&'a str, &'a str)>,
}

/// The line that ends the block of a `switch`.
fn end_of_switch(scene: &Scene<'_>, at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for k in at..scene.lines.len().min(at + MAX_BLOCK) {
        let line = &scene.lines[k];
        let braces = |sign: &str| (0..line.tokens.len()).filter(|&k| line.text(k) == sign).count();
        depth += braces("{");
        match line.text(0) {
            "switch" if braces("{") == 0 => depth += 1,
            "if" | "for" | "while" if k > at && line.find(0, "=").is_none() && braces("{") == 0 => depth += 1,
            "end" | "endswitch" | "end_switch" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        depth = depth.checked_sub(braces("}"))?;
        if depth == 0 {
            return Some(k);
        }
    }
    None
}

/// `switch a`, `case 3`, `otherwise`, `end` of MATLAB, and the braces of C.
pub(super) fn switch(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    let case = |line: &Line<'_>| matches!(line.text(0), "case" | "otherwise" | "default");
    if line.text(0) != "switch" || scene.is_declared("switch") || !scene.lines.get(at + 1).is_some_and(case) {
        return None;
    }
    let last = end_of_switch(scene, at)?;
    let end = line.tokens.len() - usize::from(line.text(line.tokens.len() - 1) == "{");
    let of = bare(line.slice(1, end));
    let mut cases: Vec<Case<'_>> = Vec::new();
    for line in &scene.lines[at + 1..last] {
        let mut from = 0;
        if case(line) {
            let colon = line.find(1, ":").unwrap_or(line.tokens.len());
            let compared = Some(line.slice(1, colon)).filter(|_| line.text(0) == "case");
            cases.push(Case { compared, equation: None });
            from = colon + 1;
        }
        let stop = line.find(from, ";").unwrap_or(line.tokens.len());
        if let (Some(equals), Some(case)) = (line.find(from, "="), cases.last_mut()) {
            case.equation = case.equation.or(Some((line.slice(from, equals), line.slice(equals + 1, stop))));
        }
    }
    let left = cases.iter().find_map(|case| case.equation).map_or("x'", |(left, _)| left);
    let value = |case: &Case<'_>| case.equation.map_or("...", |(_, value)| value).to_owned();
    let mut text = format!("{left} = ");
    for case in cases.iter().take(MAX_CASES) {
        if let Some(compared) = case.compared {
            text.push_str(&format!("if {of} == {compared} then {} else ", value(case)));
        }
    }
    text.push_str(&cases.iter().find(|case| case.compared.is_none()).map_or("...".to_owned(), value));
    let headline = "a choice is a value and cannot contain equations";
    let whole = range(scene, at, last + 1);
    let span = Span::new(line.range.start, head_span(line).end as usize);
    let found = IdiomMatch::new(super::program::CODE, headline, span).label("a block of statements").over(whole);
    Some((found.help(format!("write one equation for each: `{text}`")), last + 1))
}
