//! Heads and entries of runs and parameter sets in other notations: `run fast t = 0 .. 10`, `run [t = 0 .. 10]`,
//! `params a k = 3`, and `set k = 3`, `x(0) = 3`, `stop when x < 1` inside a run block.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    match line.text(0) {
        "run" => found.extend(run(scene, line)),
        "simulate" | "integrate" | "solve" => found.extend(simulate(scene, line)),
        "params" => found.extend(set(line).or_else(|| entry_of_set(scene, line))),
        _ => {}
    }
    if line.text(0) == "run" {
        for at in 1..line.tokens.len() {
            found.extend(entry(scene, line, at));
        }
    }
}

/// `run fast t = 0 .. 10`, `run [ t = 0 .. 10 ]`, `run()`, `run until x < 0.5`
fn run(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    if (1..end).any(|k| line.text(k) == "{") {
        return None;
    }
    let time = scene.time;
    let found = IdiomMatch::new(&codes::E0111, "`run` needs a block in braces", line.span(0, end - 1));
    let found = found.label("`{` is missing").over(line.range.clone());
    if line.text(1) == "[" && line.close(1) == Some(end - 1) && line.find(2, "=").is_some() {
        return Some(found.help(format!("write `run {{ {} }}`", line.slice(2, end - 1))));
    }
    if line.text(1) == "(" && end == 3 {
        return Some(found.help(format!("write `run {{ {time} = 0 .. 10 }}`")));
    }
    if line.text(1) == "until" && (2..end).any(|k| line.kind(k) == Some(TokenKind::Compare)) {
        return Some(found.help(format!(
            "write `run {{ {time} = 0 .. 10 }}`, and an event that ends the run: `when {} {{ stop }}`",
            line.slice(2, end)
        )));
    }
    let sentence = matches!(line.text(1), "(" | "from");
    if let Some(block) = run_of_numbers(scene, line).filter(|_| sentence) {
        return Some(found.help(format!("write `{block}`")));
    }
    let named = line.is_name(1) && line.is_name(2) && line.text(3) == "=";
    named.then(|| found.help(format!("write `run {} {{ {} }}`", line.text(1), line.slice(2, end))))
}

/// The block of `run(0, 10)`, `run from 0 to 10 step 0.1`, `simulate 10`.
fn run_of_numbers(scene: &Scene<'_>, line: &Line<'_>) -> Option<String> {
    let kinds = || (1..line.tokens.len()).map(|k| line.kind(k));
    if kinds().any(|kind| matches!(kind, Some(TokenKind::Range | TokenKind::Equals | TokenKind::Malformed))) {
        return None;
    }
    let numbers: Vec<&str> =
        (1..line.tokens.len()).filter(|&k| line.kind(k) == Some(TokenKind::Number)).map(|k| line.text(k)).collect();
    let (from, to) = match numbers[..] {
        [] => return None,
        [to] => ("0", to),
        [from, to, ..] => (from, to),
    };
    Some(format!("run {{ {} = {from} .. {to} }}", scene.time))
}

/// `simulate 10`
fn simulate(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    let plain = line.kind(1) == Some(TokenKind::Number) && line.tokens.len() == 2 && !scene.is_declared(word);
    let block = run_of_numbers(scene, line).filter(|_| plain)?;
    let found = IdiomMatch::new(&codes::E0117, format!("`{word}` cannot begin a statement"), line.span(0, 0));
    Some(found.label("a run").help(format!("write `{block}`")).over(line.range.clone()))
}

/// `params a k = 3`
fn set(line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    let fits = line.is_name(1) && line.is_name(2) && line.text(3) == "=" && !(1..end).any(|k| line.text(k) == "{");
    let found = IdiomMatch::new(&codes::E0111, "`params` needs a block in braces", line.span(0, end - 1));
    let better = format!("params {} {{ {} }}", line.text(1), line.slice(2, end));
    fits.then(|| found.label("`{` is missing").help(format!("write `{better}`")).over(line.range.clone()))
}

/// `params a { k in 1..3 }`, `params a { t = 0 .. 5 }`
fn entry_of_set(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let open = (1..3).find(|&k| line.text(k) == "{")?;
    let at = (open + 1..line.tokens.len()).find(|&k| {
        line.is_name(k) && matches!(line.text(k - 1), "{" | ";" | ",") && matches!(line.text(k + 1), "in" | "=")
    })?;
    let stop = |k: &usize| matches!(line.text(*k), ";" | "}" | ",");
    let end = (at..line.tokens.len()).find(stop)?;
    let dots = (at..end).find(|&k| line.kind(k) == Some(TokenKind::Range))?;
    let name = line.text(at);
    let found = IdiomMatch::new(&codes::E0403, "a parameter set contains only numbers", line.span(at + 1, end - 1));
    let help = if name == scene.time {
        format!("write the time span in a run block: `run {{ {name} = {} }}`", line.slice(at + 2, end))
    } else {
        format!(
            "write one value, as in `{name} = {}`; `odec sweep FILE --param {name}={}:{}` runs a range",
            line.slice(at + 2, dots),
            line.slice(at + 2, dots),
            line.slice(dots + 1, end)
        )
    };
    Some(found.label("a range").help(help).over(line.range.clone()))
}

/// `param k = 3`, `x(0) = 3`, `stop when x < 1` and `conserve x + y` inside a run block.
fn entry(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let newline = line.between(line.tokens[at - 1].end, line.tokens[at].start).contains('\n');
    if !(matches!(line.text(at - 1), "{" | ";") || newline) || !line.is_name(at) && line.kind(at).is_none() {
        return None;
    }
    let end = (at + 1..line.tokens.len()).find(|&k| {
        let newline = line.between(line.tokens[k - 1].end, line.tokens[k].start).contains('\n');
        matches!(line.text(k), ";" | "}") || newline
    })?;
    let found =
        |headline: String| IdiomMatch::new(&codes::E0401, headline, line.span(at, end - 1)).over(line.range.clone());
    let word = line.text(at);
    match word {
        "param" | "set" | "state" | "init" | "let" if line.is_name(at + 1) && line.text(at + 2) == "=" => {
            let (name, value) = (line.text(at + 1), line.slice(at + 3, end));
            Some(found("a run block does not set values".to_owned()).label("not an entry").help(format!(
                "write a parameter set, `params short {{ {name} = {value} }}`, and `params = short` here"
            )))
        }
        name if scene.states.contains(name) && line.reads(at + 1, &["(", "0", ")", "="]) => {
            let value = line.slice(at + 5, end);
            Some(found("a run block does not set values".to_owned()).label("not an entry").help(format!(
                "write a parameter set, `params short {{ {name} = {value} }}`, and `params = short` here"
            )))
        }
        "stop" if matches!(line.text(at + 1), "when" | "if") && end > at + 2 => {
            let condition = line.slice(at + 2, end);
            Some(
                found("a run block contains no events".to_owned()).label("not an entry").help(format!(
                    "write the event on its own line, outside of the block: `when {condition} {{ stop }}`"
                )),
            )
        }
        "conserve" | "output" | "expect" if end > at + 1 && line.text(at + 1) != "=" => Some(
            found(format!("a run block contains no `{word}`"))
                .label("not an entry")
                .help(format!("write it on its own line, outside of the block: `{}`", line.slice(at, end))),
        ),
        _ => None,
    }
}
