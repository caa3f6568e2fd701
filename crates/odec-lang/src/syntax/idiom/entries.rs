//! Entries of runs in the notation of other tools: `method = Tsit5()`, `method = 'bdf'`, `dense_output=True`.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

/// Settings of solvers that keep the solution between the steps.
const DENSE: [&str; 5] = ["dense_output", "dense", "denseoutput", "save_everystep", "saveeverystep"];

/// Names of methods that other tools write in several words.
const NAMED: [&str; 9] =
    ["rk4", "euler", "backward-euler", "implicit-midpoint", "trapezoidal", "tr-bdf2", "dopri5", "bdf", "radau5"];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    for at in 0..line.tokens.len() {
        let first = at == 0 || matches!(line.text(at - 1), "{" | ";" | ",");
        if scene.run && first && line.is_name(at) && line.text(at + 1) == "=" {
            found.extend(method(line, at).or_else(|| dense(scene, line, at)));
        }
    }
}

/// `method = Tsit5()`, `method = 'bdf'`
fn method(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) != "method" {
        return None;
    }
    let value = at + 2;
    let prime = |k: usize| line.kind(k) == Some(TokenKind::Prime);
    let (name, last) = match line.text(value + 1) {
        "(" if line.is_name(value) => (line.text(value), line.close(value + 1)?),
        name if prime(value) && line.is_name(value + 1) && prime(value + 2) => (name, value + 2),
        _ => return words_of_method(line, value),
    };
    // a definition of this name may go on
    if !matches!(line.text(last + 1), "" | ";" | "," | "}") {
        return None;
    }
    let better = format!("method = {}", name.to_lowercase());
    let headline = "write the name of a method without quotes and brackets";
    let found = IdiomMatch::new(&codes::E0403, headline, line.span(value, last)).label("a method");
    Some(found.help(format!("write `{better}`; `odec methods` lists the names")))
}

/// `method = backward euler`, `method = rk 4`, `method = rk4, 0.01`
fn words_of_method(line: &Line<'_>, value: usize) -> Option<IdiomMatch> {
    let ends = |k: usize| matches!(line.text(k), "" | ";" | "," | "}");
    let plain = |k: usize| line.is_name(k) || line.kind(k) == Some(TokenKind::Number);
    if !line.is_name(value) {
        return None;
    }
    if line.text(value + 1) == "," && line.kind(value + 2) == Some(TokenKind::Number) && ends(value + 3) {
        let better = format!("method = {}; step = {}", line.text(value), line.text(value + 2));
        let found = IdiomMatch::new(&codes::E0403, "`method` takes a name only", line.span(value + 2, value + 2));
        return Some(found.label("a step?").help(format!("write `{better}` for steps of a constant size")));
    }
    let last = (value + 1..line.tokens.len()).take_while(|&k| plain(k)).last()?;
    if !ends(last + 1) {
        return None;
    }
    let words: Vec<String> = (value..=last).map(|k| line.text(k).to_lowercase()).collect();
    let joined = [words.concat(), words.join("-")];
    let known = joined.into_iter().find(|name| NAMED.contains(&name.as_str()));
    let better = match (known, words.concat().as_str()) {
        (Some(name), _) => name,
        (None, "rungekutta" | "rungekutta4" | "classicalrungekutta") => "rk4".to_owned(),
        (None, "forwardeuler" | "expliciteuler") => "euler".to_owned(),
        (None, "impliciteuler") => "backward-euler".to_owned(),
        _ => return None,
    };
    let found = IdiomMatch::new(&codes::E0403, "the name of a method is one word", line.span(value, last));
    Some(found.label("a method").help(format!("write `method = {better}`; `odec methods` lists the names")))
}

/// `dense_output=True`
fn dense(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    // a line of its own may also be a definition
    let truth = matches!(line.text(at + 2), "True" | "true" | "TRUE" | "False" | "false" | "FALSE");
    if !DENSE.contains(&word) || !truth && (at == 0 || scene.is_declared(word)) {
        return None;
    }
    let headline = format!("a run block has no entry `{word}`");
    let end = line.span_end(at + 2).saturating_sub(1).min(at + 2);
    let found = IdiomMatch::new(&codes::E0401, headline, line.span(at, end.max(at))).label("not needed");
    Some(found.help("leave it out: odec interpolates between the steps; `samples = 100` gives 100 rows"))
}
