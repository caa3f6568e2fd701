//! Headings of sections, `parameters:`, `EQUATIONS`, with the declarations that their lines mean.

use crate::diagnostic::{Code, codes};
use odec_ir::Span;

use super::line::Line;
use super::program::head_span;
use super::{IdiomMatch, Scene};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0118;
const HEADLINE: &str = "a model has no headings";

const PARAMETERS: [&str; 9] =
    ["parameters", "parameter", "params", "param", "pars", "constants", "constant", "consts", "const"];
const STATES: [&str; 13] = [
    "states",
    "state",
    "variables",
    "variable",
    "vars",
    "initial",
    "initials",
    "init",
    "inits",
    "ic",
    "ics",
    "species",
    "compartments",
];
const OTHERS: [&str; 19] = [
    "equations",
    "equation",
    "odes",
    "ode",
    "dynamics",
    "reactions",
    "rates",
    "outputs",
    "output",
    "definitions",
    "functions",
    "events",
    "simulation",
    "settings",
    "assignments",
    "algebraic",
    "rules",
    "time",
    "solver",
];
/// Words that begin lines with a colon that are no headings.
const BLOCKS: [&str; 13] =
    ["if", "else", "elif", "elseif", "for", "while", "def", "when", "at", "every", "with", "class", "run"];

/// What the lines of a section declare.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Section {
    Parameters,
    States,
    Other,
}

pub(super) fn section(word: &str) -> Option<Section> {
    let word = word.to_lowercase();
    let of = |words: &[&str]| words.contains(&word.as_str());
    if of(&PARAMETERS) {
        Some(Section::Parameters)
    } else if of(&STATES) {
        Some(Section::States)
    } else {
        of(&OTHERS).then_some(Section::Other)
    }
}

/// The section of a heading, and the number of its tokens: `parameters:`, `Initial conditions:`, `EQUATIONS`.
fn heading(scene: &Scene<'_>, line: &Line<'_>) -> Option<(Section, usize)> {
    let (first, end) = (line.text(0), line.tokens.len());
    // `[parameters]`, `[Initial conditions]`
    if first == "[" && end > 2 && line.close(0) == Some(end - 1) && (1..end - 1).all(|k| line.is_name(k)) {
        return Some((section(line.text(1)).filter(|_| end < 5)?, end));
    }
    if !line.is_name(0) || BLOCKS.contains(&first) {
        return None;
    }
    let colon = (1..end.min(4)).find(|&k| line.text(k) == ":");
    let words = (0..colon.unwrap_or(end)).all(|k| line.is_name(k));
    // the grammar reports the colon of `state: x = 1`
    let keyword = crate::syntax::explain::is_keyword(first);
    match colon {
        Some(k) if words && k + 1 == end => Some((section(first).unwrap_or(Section::Other), end)),
        // `parameters: k = 1`
        Some(1) if !keyword && line.is_name(2) && line.find(2, "=").is_some() && line.find(2, ":").is_none() => {
            Some((section(first)?, 2))
        }
        // a word of the language alone lacks the rest of its line
        None if end == 1 && !keyword && !scene.is_declared(first) => Some((section(first)?, 1)),
        _ => None,
    }
}

/// The word to write before `name = value` in a section.
pub(super) fn declaring(scene: &Scene<'_>, section: Section, line: &Line<'_>, from: usize) -> Option<&'static str> {
    let number = |k: usize| {
        let k = k + usize::from(matches!(line.text(k), "-" | "+"));
        line.kind(k) == Some(TokenKind::Number)
    };
    if !line.is_name(from) || line.text(from + 1) != "=" || crate::syntax::explain::is_keyword(line.text(from)) {
        return None;
    }
    match section {
        Section::Parameters if number(from + 2) => Some("param "),
        Section::States if scene.rates.contains(line.text(from)) => Some("state "),
        _ => None,
    }
}

/// `Species: A, B`: a heading with the names that it declares.
fn names(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    let list = |k: usize| if k.is_multiple_of(2) { line.is_name(k) } else { line.text(k) == "," };
    let fits = line.is_name(0) && line.text(1) == ":" && end > 2 && end % 2 == 1 && (2..end).all(list);
    let word = match section(line.text(0)).filter(|_| fits && !crate::syntax::explain::is_keyword(line.text(0)))? {
        Section::Parameters => "param",
        Section::States => "state",
        Section::Other => return None,
    };
    let found = IdiomMatch::new(CODE, HEADLINE, head_span(line)).label("a heading").over(line.range.clone());
    let open: Vec<String> = (2..end)
        .step_by(2)
        .filter(|&k| !scene.is_declared(line.text(k)))
        .map(|k| format!("{} = 1", line.text(k)))
        .collect();
    Some(if open.is_empty() {
        found.help("remove the line")
    } else {
        found.help(format!("write `{word} {}`", open.join(", ")))
    })
}

/// A heading; the fix also writes the declarations of its section.
pub(super) fn search(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    if let Some(found) = names(scene, line) {
        return Some((found, at + 1));
    }
    let (section, length) = heading(scene, line)?;
    let found = IdiomMatch::new(CODE, HEADLINE, head_span(line)).label("a heading").over(line.range.clone());
    if length < line.tokens.len() {
        let start = line.tokens[length].start;
        let word = match section {
            Section::Parameters => "param ",
            Section::States => "state ",
            Section::Other => "",
        };
        let better = format!("{word}{}", line.slice(length, line.tokens.len()));
        let found = found.help(format!("write `{better}`"));
        return Some((found.fix(Span::new(line.range.start, start), word), at + 1));
    }
    let newline = usize::from(line.file[line.range.end..].starts_with('\n'));
    let mut found = found.fix(Span::new(line.range.start, line.range.end + newline), "");
    for entry in scene.lines[at + 1..].iter().take_while(|entry| heading(scene, entry).is_none()) {
        if let Some(word) = declaring(scene, section, entry, 0) {
            found = found.fix(Span::new(entry.range.start, entry.range.start), word);
            found.also.push(entry.range.clone());
        }
    }
    // one message for all headings
    let first = scene.lines[..at].iter().rev().all(|line| heading(scene, line).is_none());
    let examples = if first { examples(scene, at) } else { Vec::new() };
    let help = if examples.is_empty() {
        "remove the line".to_owned()
    } else {
        format!("remove the line, and declare each name with its word: {}", examples.join(", "))
    };
    Some((found.help(help), at + 1))
}

/// `model decay {` around a whole model.
pub(super) fn braced_model(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    if line.text(0) != "model" || !line.is_name(1) || line.text(2) != "{" || line.tokens.len() != 3 {
        return None;
    }
    let (next, _) = super::program::block_end(scene, at);
    let last = scene.lines.get(next - 1).filter(|last| last.whole() == "}" && next > at + 1)?;
    let mut found = IdiomMatch::new(CODE, "a model has no braces around it", line.span(2, 2))
        .label("not needed")
        .help(format!("write `model {}`, and remove the `}}` that closes this brace", line.text(1)))
        .over(line.range.clone())
        .fix(Span::new(line.tokens[1].end, line.tokens[2].end), "")
        .fix(Span::new(last.range.start, last.range.end), "");
    found.also.push(last.range.clone());
    Some((found, at + 1))
}

/// The lines in a block `parameters { ... }`, as they are written without it; at most three.
pub(super) fn declarations(scene: &Scene<'_>, section: Section, lines: std::ops::Range<usize>) -> Vec<String> {
    let mut found = Vec::new();
    for (k, line) in scene.lines[lines].iter().enumerate() {
        let from = if k == 0 { 2 } else { 0 };
        let end = line.tokens.len() - usize::from(line.text(line.tokens.len() - 1) == "}");
        let end = end - usize::from(end > from && matches!(line.text(end - 1), ";" | ","));
        let says = (from..end).any(|k| line.text(k) == "=");
        if says && line.find(from, ";").is_none_or(|k| k >= end) {
            let named = line.is_name(from) && line.text(from + 1) == "=";
            let state = Some("state ").filter(|_| named && section == Section::States);
            let word = declaring(scene, section, line, from).or(state).unwrap_or_default();
            found.push(format!("`{word}{}`", line.slice(from, end)));
        }
    }
    if found.len() > 3 {
        found.truncate(2);
        found.push("the other lines".to_owned());
    }
    found
}

/// The first declaration of each kind below the headings from this line on.
fn examples(scene: &Scene<'_>, at: usize) -> Vec<String> {
    let (mut section, mut words, mut found) = (Section::Other, Vec::new(), Vec::new());
    for line in &scene.lines[at..] {
        if let Some((next, _)) = heading(scene, line) {
            section = next;
        } else if let Some(word) = declaring(scene, section, line, 0).filter(|word| !words.contains(word)) {
            words.push(word);
            found.push(format!("`{word}{}`", line.slice(0, line.tokens.len())));
        }
    }
    found
}
