//! What other tools compute with a function and a model states as equations: roots, `z = fsolve(z^2 - x)`, differences
//! in space, `T_xx`, and values by name, `discrete mode = idle`.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

/// Functions that find a root.
const ROOTS: [&str; 11] = [
    "fsolve",
    "root",
    "solve",
    "fzero",
    "findroot",
    "find_root",
    "FindRoot",
    "newton",
    "brentq",
    "uniroot",
    "root_scalar",
];
/// Functions that differentiate over a place.
const SECOND: [&str; 8] = ["laplacian", "laplace", "lap", "del2", "Laplacian", "laplacien", "d2dx2", "diff2"];
const FIRST: [&str; 5] = ["gradient", "grad", "ddx", "d_dx", "diff"];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(root(scene, line));
    for at in 0..line.tokens.len() {
        let idiom = subscript(scene, line, at)
            .or_else(|| in_space(scene, line, at))
            .or_else(|| difference(scene, line, at))
            .or_else(|| mode(scene, line, at));
        found.extend(idiom);
    }
}

/// `z = fsolve(z^2 - x)`, `z = root(z^2 - x, 1)`, `z = solve(z^2 = x)`
fn root(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(2);
    let fits = line.is_name(0) && line.text(1) == "=" && ROOTS.contains(&word) && line.text(3) == "(";
    if !fits || scene.functions.contains(word) || line.close(3)? + 1 != line.tokens.len() {
        return None;
    }
    let arguments = line.arguments(3)?;
    let first = arguments.first()?.clone();
    let reads = |name: &str| first.clone().any(|k| line.text(k) == name);
    let second = arguments.get(1).map(|range| line.slice(range.start, range.end));
    let name =
        match second.filter(|text| text.starts_with(char::is_alphabetic) && reads(text) && !scene.is_declared(text)) {
            Some(name) => name,
            None if reads(line.text(0)) => line.text(0),
            None => return None,
        };
    let guess = second.filter(|text| text.parse::<f64>().is_ok()).unwrap_or("1");
    let equals = first.clone().find(|&k| matches!(line.text(k), "=" | "=="));
    let equation = match equals {
        Some(k) => format!("{} = {}", line.slice(first.start, k), line.slice(k + 1, first.end)),
        None => format!("0 = {}", line.slice(first.start, first.end)),
    };
    let found =
        IdiomMatch::new(&codes::E0133, "an equation determines an unknown", line.span(2, line.tokens.len() - 1));
    let help = format!("write `unknown {name} = {guess}`, with a guess, and on its own line the equation `{equation}`");
    Some(found.label("a solver of equations").help(help).over(line.range.clone()))
}

/// The axis of an array that a letter means.
fn axis(letter: &str, rank: usize) -> Option<usize> {
    let axis = ["x", "y", "z"].iter().position(|name| *name == letter)?;
    (axis < rank).then_some(axis)
}

/// An element of an array, shifted along one of its axes.
fn element(name: &str, indices: &[&str], axis: usize, step: &str) -> String {
    let shifted = |(k, index): (usize, &&str)| if k == axis { format!("{index}{step}") } else { (*index).to_owned() };
    let list: Vec<String> = indices.iter().enumerate().map(shifted).collect();
    format!("{name}[{}]", list.join(","))
}

/// The difference for a derivative of an array along an axis.
fn quotient(name: &str, indices: &[&str], axis: usize, order: usize) -> String {
    let [before, here, after] = ["-1", "", "+1"].map(|step| element(name, indices, axis, step));
    let width = format!("d{}", ["x", "y", "z"].get(axis).unwrap_or(&"x"));
    if order == 2 {
        format!("({before} - 2*{here} + {after})/{width}^2")
    } else {
        format!("({after} - {before})/(2*{width})")
    }
}

fn spatial(scene: &Scene<'_>, better: &str, axis: usize, found: IdiomMatch) -> IdiomMatch {
    let width = ["dx", "dy", "dz"][axis.min(2)];
    let declared = if scene.is_declared(width) {
        String::new()
    } else {
        format!("; `{width}` is the distance of the points: `param {width} = 0.1`")
    };
    found.label("a derivative in space").help(format!("write `{better}`{declared}"))
}

/// `T_i` for `T[i]`
fn subscript(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let (array, index) = word.rsplit_once('_').filter(|_| line.is_name(at) && !scene.is_declared(word))?;
    let indices = scene.arrays.get(array)?;
    let fits = indices.len() == 1 && scene.indices.contains(index) && !matches!(line.text(at + 1), "[" | "(");
    // another search answers the whole line `u_i' = -u_i`
    let whole = line.text(0) == word && line.kind(1) == Some(TokenKind::Prime) && line.text(2) == "=";
    let fits = fits && !whole && !line.text(0).ends_with(&format!("_{index}"));
    let found = IdiomMatch::new(&codes::E0135, "write an index in square brackets", line.span(at, at));
    let better = format!("{array}[{index}]");
    fits.then(|| found.label(format!("write `{better}`")).write(better))
}

/// `T_xx` of an array `T`
fn in_space(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let (array, letters) = word.rsplit_once('_').filter(|_| line.is_name(at) && !scene.is_declared(word))?;
    let indices = scene.arrays.get(array)?;
    let axis = axis(letters.get(..1)?, indices.len())?;
    let order = letters.len();
    if order > 2 || letters.get(1..2).is_some_and(|second| letters.get(..1) != Some(second)) {
        return None;
    }
    let found = IdiomMatch::new(&codes::E0135, "write derivatives in space as differences", line.span(at, at));
    let element = if line.text(at + 1) == "[" { line.close(at + 1)? } else { at };
    let found = IdiomMatch { span: line.span(at, element), ..found }.over(line.range.clone());
    Some(spatial(scene, &quotient(array, indices, axis, order), axis, found))
}

/// `diff(T[i], 2)`, `laplacian(T)`, `grad(T[i])`
fn difference(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let second = SECOND.contains(&word);
    if !(second || FIRST.contains(&word)) || line.text(at + 1) != "(" || scene.is_function(word) {
        return None;
    }
    let arguments = line.arguments(at + 1)?;
    let first = arguments.first()?;
    let array = line.text(first.start);
    let indices = scene.arrays.get(array)?;
    let whole = first.len() == 1 || line.text(first.start + 1) == "[" && line.close(first.start + 1)? + 1 == first.end;
    let last = arguments.get(1).map(|range| line.slice(range.start, range.end));
    let twice = second || last == Some("2") || last == Some("x") && arguments.len() > 2;
    if !whole || last == Some(scene.time) {
        return None;
    }
    let axes = if second { indices.len() } else { 1 };
    let order = if twice { 2 } else { 1 };
    // the sum of the terms, each in backticks
    let terms: Vec<String> = (0..axes.min(3)).map(|axis| quotient(array, indices, axis, order)).collect();
    let better = terms.join("` + `");
    let found =
        IdiomMatch::new(&codes::E0135, "write derivatives in space as differences", line.span(at, line.close(at + 1)?));
    Some(spatial(scene, &better, 0, found.over(line.range.clone())))
}

/// The words that the model assigns to a discrete quantity.
fn words_of<'a>(scene: &Scene<'a>, name: &str) -> Vec<&'a str> {
    let mut words: Vec<&str> = Vec::new();
    for line in &scene.lines {
        for k in 1..line.tokens.len() {
            let sign = line.text(k);
            let set = matches!(sign, ":=" | "==" | "!=") || sign == "=" && line.text(0) == "discrete";
            if !set || line.text(k - 1) != name {
                continue;
            }
            let ends = !matches!(line.kind(k + 2), Some(TokenKind::Operator | TokenKind::Open | TokenKind::Dot));
            let word = line.text(k + 1);
            let bare = line.is_name(k + 1) && !scene.is_declared(word) && ends;
            let inside = word.trim_matches('"');
            let named = |c: char| c.is_alphanumeric() || c == '_';
            let quoted = line.kind(k + 1) == Some(TokenKind::Text)
                && inside.starts_with(char::is_alphabetic)
                && inside.chars().all(named);
            // true and false are numbers
            let truth = matches!(inside, "True" | "true" | "TRUE" | "False" | "false" | "FALSE");
            if (bare || quoted) && !truth && !words.contains(&inside) {
                words.push(inside);
            }
        }
    }
    words
}

/// `discrete mode = idle`, `mode := "run"`
fn mode(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let name = line.text(at);
    let sign = line.text(at + 1);
    let discrete = |other: &Line<'_>| {
        other.text(0) == "discrete"
            && (1..other.tokens.len()).any(|k| other.text(k) == name && other.text(k + 1) == "=")
    };
    let set = matches!(sign, ":=" | "==" | "!=") || sign == "=" && line.text(0) == "discrete";
    if !set || !line.is_name(at) || !scene.lines.iter().any(discrete) {
        return None;
    }
    let words = words_of(scene, name);
    let word = line.text(at + 2);
    if !words.contains(&word.trim_matches('"')) || words.len() < 2 {
        return None;
    }
    let yes = |word: &str| matches!(word.to_lowercase().as_str(), "on" | "yes");
    let no = |word: &str| matches!(word.to_lowercase().as_str(), "off" | "no");
    let switch = words.iter().all(|word| yes(word) || no(word));
    let number = |k: usize, word: &str| if switch { usize::from(yes(word)) } else { k };
    let numbered: Vec<String> =
        words.iter().enumerate().map(|(k, word)| format!("{word} = {}", number(k, word))).collect();
    let quotes = if line.kind(at + 2) == Some(TokenKind::Text) { ", and leave out the quotes" } else { "" };
    let found = IdiomMatch::new(&codes::E0201, format!("`{name}` takes numbers, not words"), line.span(at + 2, at + 2));
    Some(found.label("a word").help(format!("number the words: `const {}`{quotes}", numbered.join(", "))))
}
