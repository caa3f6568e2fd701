//! Statements of other languages that end with `;`: `SET k := 2;`, `let k = 2.0;`, `dt(x) = -k*x;`, `enddef;`,
//! `States = {x, y};`.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(
        assigned(scene, line)
            .or_else(|| returned(line))
            .or_else(|| closed(scene, line))
            .or_else(|| rate(scene, line))
            .or_else(|| listed(scene, line))
            .or_else(|| network(line)),
    );
}

/// The number of tokens without the `;` at the end.
pub(super) fn length(line: &Line<'_>) -> usize {
    let end = line.tokens.len();
    end - (0..end).rev().take_while(|&k| line.text(k) == ";").count()
}

/// `SET k := 2;`, `ASSIGN k = 2;`, `INITIAL x = 1;`, `let mut k = 2.0;`
fn assigned(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (word, end) = (line.text(0), length(line));
    let starts = matches!(word, "INITIAL" | "INIT" | "initial" | "init" | "Init");
    let sets = matches!(word, "SET" | "ASSIGN" | "let" | "set" | "assign");
    let at = 1 + usize::from(word == "let" && line.text(1) == "mut");
    let ended = end < line.tokens.len() || matches!(word, "SET" | "ASSIGN" | "INITIAL");
    let equals = matches!(line.text(at + 1), "=" | ":=") && line.is_name(at);
    // several statements on a line
    let single = (at + 2..end).all(|k| !matches!(line.text(k), ";" | "=" | ":=" | "{" | ","));
    if !(starts || sets) || !ended || !equals || !single || end < at + 3 || scene.is_declared(word) {
        return None;
    }
    let (name, value) = (line.text(at), line.slice(at + 2, end));
    let sign = usize::from(line.text(at + 2) == "-");
    let number = line.kind(at + 2 + sign) == Some(TokenKind::Number) && end == at + 3 + sign;
    let state = starts || scene.states.contains(name) || scene.rates.contains(name) && number;
    let head = if state {
        "state "
    } else if number {
        "param "
    } else {
        ""
    };
    let better = format!("{head}{name} = {value}");
    let found = IdiomMatch::new(&codes::E0117, format!("`{word}` cannot begin a statement"), line.span(0, end - 1));
    let found = found.label("a value").over(line.range.clone());
    if scene.is_declared(name) {
        return Some(found.help(format!("write the value of `{name}` where it is declared: `{better}`")));
    }
    Some(found.help(format!("write `{better}`")).fix(line.span(0, line.tokens.len() - 1), better))
}

/// `return -k*x;`
fn returned(line: &Line<'_>) -> Option<IdiomMatch> {
    let fits = line.text(0) == "return" && matches!(line.text(1), "-" | "+") && line.find(0, "=").is_none();
    let found = super::unneeded::drop(line, "a model has no `return`".to_owned(), "not needed");
    let help = "remove the line; write each value as the rate of its state, as in `x' = -k*x`";
    fits.then(|| IdiomMatch { fixes: Vec::new(), ..found.help(help) })
}

/// `enddef;`
fn closed(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    let known = matches!(word, "enddef" | "endsel" | "endcomp" | "endmodel" | "endmodule" | "endprocedure");
    let fits = known && length(line) == 1 && !scene.is_declared(word);
    fits.then(|| super::unneeded::drop(line, format!("a model has no `{word}`"), "not needed"))
}

/// `dt(x) = -k*x;` of MCSim
fn rate(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (name, end) = (line.text(2), length(line));
    let fits = line.reads(0, &["dt", "(", name, ")", "="]) && line.is_name(2) && end > 5 && !scene.is_declared("dt");
    let better = format!("{name}' = {}", line.slice(5, end));
    let found = IdiomMatch::new(&codes::E0132, super::rate::HEADLINE, line.span(0, 3));
    let found = found.label(format!("write `{name}'`")).over(line.range.clone());
    let whole = line.span(0, line.tokens.len() - 1);
    if !fits || line.find(5, ";").is_some_and(|k| k < end) {
        return None;
    }
    if scene.states.contains(name) {
        return Some(found.help(format!("write `{better}`")).fix(whole, better));
    }
    Some(found.help(format!("write `{better}`, and declare `state {name} = 1`")))
}

/// `States = {x, y};`, `Outputs = {z};`, `output = {x}`, `input = {k, c}`
fn listed(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    let close = line.close(2).filter(|&close| close + 1 == length(line) && line.reads(1, &["=", "{"]))?;
    let alone = |k: usize| line.is_name(k) && matches!(line.text(k + 1), "," | "}");
    let names: Vec<&str> = (3..close).step_by(2).map(|k| line.text(k)).collect();
    if names.is_empty() || !(3..close).step_by(2).all(alone) {
        return None;
    }
    let whole = line.span(0, line.tokens.len() - 1);
    let found = IdiomMatch::new(&codes::E0117, format!("`{word}` takes no list in braces"), whole);
    let found = found.label("a list of names").over(line.range.clone());
    let values: Vec<String> = names.iter().map(|name| format!("{name} = 1")).collect();
    let known = names.iter().all(|name| scene.is_declared(name));
    match word {
        "output" | "outputs" | "Output" | "Outputs" => {
            let better = format!("output {}", names.join(", "));
            let found = found.help(format!("write `{better}`"));
            Some(if known { found.fix(whole, better) } else { found })
        }
        "state" | "states" | "State" | "States" | "input" | "inputs" | "Input" | "Inputs" if known => {
            let head = format!("`{word}` takes no list in braces");
            Some(super::unneeded::drop(line, head, "these names are declared"))
        }
        "state" | "states" | "State" | "States" => Some(found.help(format!("write `state {}`", values.join(", ")))),
        "input" | "inputs" | "Input" | "Inputs" => Some(found.help(format!("write `param {}`", values.join(", ")))),
        _ => None,
    }
}

/// `rn = @reaction_network begin` of Catalyst
fn network(line: &Line<'_>) -> Option<IdiomMatch> {
    let at =
        (0..line.tokens.len()).find(|&k| line.text(k) == "reaction_network" && k > 0 && line.text(k - 1) == "@")?;
    let found = IdiomMatch::new(&codes::E0133, "a reaction needs no block around it", line.span(at - 1, at));
    let help = "remove this line and its `end`, and write a reaction `k, A --> B` as `A -> B  mass k`";
    Some(found.label("a block of Catalyst").help(help).over(line.range.clone()))
}
