//! Blocks of declarations: `param { a = 1; b = 2 }`, `init { x = 1 }`, a bare `state` above indented items.

use super::line::Line;
use super::program::{block_end, head_span, range};
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;

/// The words before such a block, and the word of the statement.
const WORDS: [(&str, &str); 13] = [
    ("param", "param"),
    ("const", "const"),
    ("constants", "const"),
    ("state", "state"),
    ("states", "state"),
    ("init", "state"),
    ("inits", "state"),
    ("initial", "state"),
    ("output", "output"),
    ("outputs", "output"),
    ("discrete", "discrete"),
    ("unknown", "unknown"),
    ("index", "index"),
];
/// Largest number of items that a message repeats.
const MAX_ITEMS: usize = 6;

pub(super) fn search(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    braces(scene, at).or_else(|| bare(scene, at)).or_else(|| begun(scene, at))
}

fn word_of(line: &Line<'_>) -> Option<&'static str> {
    WORDS.iter().find(|(word, _)| *word == line.text(0)).map(|(_, better)| *better)
}

/// `param { a = 1; b = 2 }`
fn braces(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    let better = word_of(line).filter(|_| line.text(1) == "{")?;
    let (next, _) = block_end(scene, at);
    let text = &line.file[line.tokens[1].end..scene.lines[next - 1].range.end];
    let items: Vec<&str> = text.trim_end_matches('}').split([';', '\n', ',']).map(str::trim).collect();
    let mut items: Vec<&str> = items.into_iter().filter(|item| !item.is_empty()).collect();
    if items.is_empty() || items.iter().any(|item| item.matches('=').count() != 1 || item.contains(['{', '}'])) {
        return None;
    }
    if items.len() > MAX_ITEMS {
        items.truncate(MAX_ITEMS);
        items.push("...");
    }
    let known = line.text(0) == "initial"
        || better == "state" && items.iter().any(|item| names(item).is_some_and(|name| scene.states.contains(name)));
    let better = format!("{better} {}", items.join(", ").replace(":=", "="));
    let headline = format!("`{}` takes a list, not a block", line.text(0));
    let found =
        IdiomMatch::new(&codes::E0117, headline, head_span(line)).label("a list follows").over(range(scene, at, next));
    let help = if known {
        format!("give each state its value where it is declared: `{better}`")
    } else {
        format!("write `{better}`")
    };
    Some((found.help(help), next))
}

/// The name of `x = 1`.
fn names(item: &str) -> Option<&str> {
    item.split('=').next().map(str::trim)
}

/// `state` alone, and its items on indented lines.
fn bare(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    let better = word_of(line).filter(|better| *better == line.text(0) && line.tokens.len() == 1)?;
    let item = |other: &&Line<'_>| other.indent > line.indent && other.is_name(0) && other.text(1) == "=";
    let items: Vec<&Line<'_>> = scene.lines[at + 1..].iter().take_while(item).collect();
    let next = at + 1 + items.len();
    let texts: Vec<&str> = items.iter().take(MAX_ITEMS).map(|item| item.whole().trim_end_matches(',')).collect();
    let last = items.last()?;
    let found = IdiomMatch::new(&codes::E0128, format!("a name is missing after `{better}`"), head_span(line))
        .label("the line ends here")
        .over(line.range.start..last.range.end)
        .help(format!("write the items after the word, separated by commas: `{better} {}`", texts.join(", ")));
    Some((found, next))
}

/// `@parameters begin ... end`
fn begun(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    let word = line.text(1);
    let better = match word {
        "parameters" => "param",
        "variables" | "species" => "state",
        "constants" => "const",
        _ => return None,
    };
    if line.text(0) != "@" || line.text(2) != "begin" || line.tokens.len() != 3 {
        return None;
    }
    let rest = scene.lines[at + 1..].iter();
    let inner: Vec<&Line<'_>> = rest.take_while(|other| other.text(0) != "end" && other.text(0) != "@").collect();
    let next = at + 1 + inner.len();
    if scene.lines.get(next)?.text(0) != "end" || !inner.iter().all(|other| other.is_name(0)) {
        return None;
    }
    let item = |other: &&Line<'_>| {
        let name = other.text(0);
        // `x(t) = 1`, and properties in square brackets behind the value
        let end = (1..other.tokens.len()).find(|&k| matches!(other.text(k), "[" | ","));
        let end = end.filter(|&k| other.find(1, "=").is_some_and(|equals| equals < k)).unwrap_or(other.tokens.len());
        match other.find(1, "=") {
            Some(equals) => format!("{name} = {}", other.slice(equals + 1, end).trim_end_matches(',')),
            None => format!("{name} = 1"),
        }
    };
    let mut items: Vec<String> = inner.iter().filter(|other| other.text(0) != scene.time).map(item).collect();
    items.truncate(MAX_ITEMS);
    let found = IdiomMatch::new(&codes::E0133, format!("write `@{word}` as `{better}`"), head_span(line))
        .label("a block of declarations")
        .over(range(scene, at, next + 1));
    Some((found.help(format!("write `{better} {}`", items.join(", "))), next + 1))
}
