//! Statements of other tools that are a whole line: events and attributes of Antimony, commands of XPP and Berkeley
//! Madonna, declarations of Stan and ModelingToolkit, vectors of rates.

use super::line::{Line, bare};
use super::unneeded::drop;
use super::{IdiomMatch, Scene, text};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0133;

/// Headings of sections of two words.
const HEADINGS: [&str; 2] = ["equation", "algorithm"];
/// Words of Modelica before a declaration that have no meaning here.
const QUALIFIERS: [&str; 6] = ["final", "protected", "public", "inner", "outer", "replaceable"];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(
        heading(line)
            .or_else(|| qualified(line))
            .or_else(|| event(scene, line))
            .or_else(|| property(scene, line))
            .or_else(|| species(scene, line))
            .or_else(|| xpp(scene, line))
            .or_else(|| madonna(scene, line))
            .or_else(|| likelihood(scene, line))
            .or_else(|| rates(line))
            .or_else(|| twice(scene, line))
            .or_else(|| dictionary(line))
            .or_else(|| start_by_number(scene, line))
            .or_else(|| run(scene, line))
            .or_else(|| counted(scene, line)),
    );
}

fn whole(line: &Line<'_>, headline: impl Into<String>) -> IdiomMatch {
    IdiomMatch::new(CODE, headline, line.span(0, line.tokens.len().saturating_sub(1))).over(line.range.clone())
}

/// Number of tokens without a `;` at the end.
fn length(line: &Line<'_>) -> usize {
    let end = line.tokens.len();
    end - usize::from(end > 0 && line.text(end - 1) == ";")
}

/// `initial equation`
fn heading(line: &Line<'_>) -> Option<IdiomMatch> {
    let fits = line.text(0) == "initial" && HEADINGS.contains(&line.text(1)) && line.tokens.len() == 2;
    fits.then(|| {
        let found = drop(line, "a model has no headings".to_owned(), "a heading");
        found.help("remove the line; initial values belong in declarations: `state x = 1`")
    })
}

/// `final param c = 2`
fn qualified(line: &Line<'_>) -> Option<IdiomMatch> {
    let (word, next) = (line.text(0), line.text(1));
    let known = matches!(next, "param" | "const" | "state" | "parameter" | "constant" | "Real" | "output" | "input");
    (QUALIFIERS.contains(&word) && known && line.is_name(2)).then(|| {
        let span = odec_ir::Span::new(line.tokens[0].start, line.tokens[1].start);
        let found = IdiomMatch::new(CODE, format!("a declaration needs no `{word}`"), line.span(0, 0));
        found.label("not needed").help(format!("write `{}`", line.slice(1, length(line)))).fix(span, "")
    })
}

/// `E1: at (x > 3), t0=false: y = 2`, `E1: at 2 after (x > 3): y = 2, x = 1`: events of Antimony with a name.
fn event(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let named = line.is_name(0) && line.reads(1, &[":"]) && line.text(2) == "at";
    if !named {
        return None;
    }
    let end = length(line);
    let colon = (3..end).rev().find(|&k| line.text(k) == ":")?;
    let stop = line.find(3, ",").filter(|&k| k < colon).unwrap_or(colon);
    let after = (3..stop).find(|&k| line.text(k) == "after");
    let (condition, delay) = match after {
        Some(k) => (line.slice(k + 1, stop), format!(" after {}", line.slice(3, k))),
        None => (line.slice(3, stop), String::new()),
    };
    let condition = text::with_word(bare(condition), "time", scene.time);
    let actions: Vec<String> =
        parts(line, colon + 1, end).into_iter().map(|(a, b)| line.slice(a, b).replacen('=', ":=", 1)).collect();
    // a number is a time
    let head = if condition.parse::<f64>().is_ok() && after.is_none() { "at" } else { "when" };
    let better = format!("{head} {condition}{delay} {{ {} }}", actions.join("; "));
    let priority = (stop..colon).any(|k| line.text(k) == "priority");
    let found = whole(line, "write an event with braces").label("an event");
    Some(found.help(if priority {
        format!("write `{better}`, with `priority` and its value before the brace")
    } else {
        format!("write `{better}`")
    }))
}

/// The items between commas outside of brackets.
fn parts(line: &Line<'_>, from: usize, to: usize) -> Vec<(usize, usize)> {
    let (mut found, mut start) = (Vec::new(), from);
    while let Some(comma) = line.find(start, ",").filter(|&k| k < to) {
        found.push((start, comma));
        start = comma + 1;
    }
    found.push((start, to));
    found
}

/// `k has per_second`, `y is "the predator"`
fn property(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (name, end) = (line.text(0), length(line));
    if !line.is_name(0) || end != 3 || scene.is_declared(line.text(1)) {
        return None;
    }
    match line.text(1) {
        "has" if line.is_name(2) => Some(
            whole(line, "write a unit behind the value")
                .label("a unit")
                .help(format!("remove the line, and write the unit in the declaration: `{name} = 1 [1/s]`")),
        ),
        "is" if line.kind(2) == Some(TokenKind::Text) => Some(
            whole(line, "write a description above the declaration")
                .label("a description")
                .help(format!("write `## {}` on the line above", line.text(2).trim_matches('"'))),
        ),
        _ => None,
    }
}

/// `var species S`, `species S in C`, `species A, B`
fn species(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let at = usize::from(matches!(line.text(0), "var" | "const"));
    let names = line.text(at) == "species" && line.is_name(at + 1) && !scene.is_declared("species");
    let end = length(line);
    let place = (at + 1..end).find(|&k| line.text(k) == "in");
    let last = place.unwrap_or(end);
    // species A in C = 10
    if let Some(equals) = line.find(0, "=").filter(|&k| names && place == Some(at + 2) && k == at + 4) {
        let (name, value) = (line.text(at + 1), line.slice(equals + 1, end));
        let found = whole(line, "declare a species as a state").label("a declaration");
        return Some(found.help(format!("write `state {name} = {value} in {}`", line.text(at + 3))));
    }
    if !names || line.find(0, "=").is_some() || !(at + 1..last).all(|k| line.is_name(k) || line.text(k) == ",") {
        return None;
    }
    let values: Vec<String> =
        (at + 1..last).filter(|&k| line.is_name(k)).map(|k| format!("{} = 1", line.text(k))).collect();
    let inside = place.map(|k| format!(" in {}", line.slice(k + 1, end))).filter(|_| values.len() == 1);
    let found = whole(line, "declare a species as a state").label("a declaration");
    Some(found.help(format!(
        "write `state {}{}`, with the initial value, and remove a line that sets it elsewhere",
        values.join(", "),
        inside.unwrap_or_default()
    )))
}

/// `p a=1`, `i x=2`, `bndry x-1`, `special h=conv(...)`, `table f file.tab`, `export {x} {y}`, `init u[1..5] = 1`
fn xpp(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (word, end) = (line.text(0), length(line));
    if !line.is_name(0) || scene.is_declared(word) || end < 2 {
        return None;
    }
    let assigns = line.is_name(1) && line.text(2) == "=";
    match word {
        "p" | "i" | "ic" if assigns => {
            let better = if word == "p" { "param" } else { "state" };
            let name = line.text(1);
            let found = IdiomMatch::new(CODE, format!("write `{word}` as `{better}`"), line.span(0, 0));
            let found = found.label(format!("write `{better}`"));
            Some(if scene.is_declared(name) {
                found.help(format!("write the value of `{name}` in its declaration")).over(line.range.clone())
            } else {
                found.write(better)
            })
        }
        "init" | "INIT" | "Init" if line.is_name(1) && line.text(2) == "[" => {
            let close = line.close(2)?;
            let dots = line.find(3, "..").filter(|&k| k < close && line.text(close + 1) == "=")?;
            let (name, value) = (line.text(1), line.slice(close + 2, end));
            let range = format!("{}..{}", line.slice(3, dots), line.slice(dots + 1, close));
            let index = ["i", "j", "k", "n"].into_iter().find(|name| !scene.is_declared(name))?;
            let found = whole(line, "declare an array with an index").label("an array");
            Some(found.help(format!("write `index {index} = {range}` and `state {name}[{index}] = {value}`")))
        }
        "bndry" | "b" if word == "bndry" => {
            Some(whole(line, "odec solves initial value problems").label("a condition at an end").help(
                "give initial values in `state`; to meet a condition at the end, find an initial value with `odec fit`",
            ))
        }
        "special" if assigns => Some(
            whole(line, "write a sum over the elements of an array with `sum`")
                .label("a convolution")
                .help("with `index i = 1..N, j = 1..N`, write `h[i] = sum(j: w[i,j]*u[j])`"),
        ),
        // `table w % 51 -25 25 exp(-abs(t)/5)`: the number of points, their range, and a formula
        "table" if line.is_name(1) && line.text(2) == "%" => {
            let number = |k: usize| k + 1 + usize::from(line.text(k) == "-");
            let formula = number(number(4));
            let (name, text) = (line.text(1), line.slice(formula, end));
            let text = if text.starts_with('.') { format!("0{text}") } else { text.to_owned() };
            let found = whole(line, "a table of a formula is a function").label("a function");
            let help = format!("write `fn {name}(t) = {text}`: odec needs no points for it");
            (!text.is_empty()).then(|| found.help(help))
        }
        "table" if line.is_name(1) && end > 2 => {
            let (name, file) = (line.text(1), line.slice(2, end).trim_matches('"'));
            let time = scene.time;
            let found = whole(line, "declare a table as an input").label("a table");
            Some(found.help(format!(
                "write `input {name}({time}) = table(\"{file}\", \"{name}\", linear)`, with a file whose first line names \
                 its columns"
            )))
        }
        "export" if line.text(1) == "{" => Some(drop(line, "a model needs no `export`".to_owned(), "not needed")),
        _ => None,
    }
}

/// `markov z 2` of XPP and the lines of its matrix.
pub(super) fn markov(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    let number = line.kind(2) == Some(TokenKind::Number) && line.tokens.len() == 3;
    if line.text(0) != "markov" || !line.is_name(1) || !number || scene.is_declared("markov") {
        return None;
    }
    let mut next = at + 1;
    while scene.lines.get(next).is_some_and(|line| line.text(0) == "{") {
        next += 1;
    }
    let found = IdiomMatch::new(&codes::E0561, "odec does not support noise", line.span(0, 2))
        .label("a random process")
        .help("remove these lines: equations are deterministic; the mean of many jumps may have an equation")
        .over(super::program::range(scene, at, next));
    Some((found, next))
}

/// `NEXT y = y + 1`, `GUESS z = 1`, `ROOT z = z^2 - 2`
fn madonna(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (word, name, end) = (line.text(0), line.text(1), length(line));
    if !line.is_name(0) || !line.is_name(1) || line.text(2) != "=" || scene.is_declared(word) {
        return None;
    }
    let value = line.slice(3, end);
    match word {
        "NEXT" | "next" => Some(
            whole(line, "write a value that changes at fixed times as an event")
                .label("the next value")
                .help(format!("declare `discrete {name} = 1`, and write `every 1 {{ {name} := {value} }}`")),
        ),
        "GUESS" | "guess" => {
            let found = whole(line, "write the guess of an unknown in its declaration").label("a guess");
            Some(found.write(format!("unknown {name} = {value}")))
        }
        "ROOT" | "ROOTS" => Some(
            whole(line, "an unknown is declared, and an equation determines it")
                .label("an equation for an unknown")
                .help(format!("write `unknown {name} = 1`, with a guess, and `{value} = 0`")),
        ),
        _ => None,
    }
}

/// `target += normal_lpdf(y | 0, 1)`, `array[3] real u`
fn likelihood(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    if line.text(0) == "target" && line.text(1) == "+=" && !scene.is_declared("target") {
        return Some(
            whole(line, "a model has no likelihood")
                .label("a likelihood")
                .help("remove the line: `odec fit FILE data.csv` compares the model with data by least squares"),
        );
    }
    let open = line.text(0) == "array" && line.text(1) == "[" && line.touches(0);
    let close = line.close(1).filter(|_| open && !scene.is_declared("array"))?;
    let name = close + 2;
    let size = line.slice(2, close);
    if !line.is_name(close + 1) || !line.is_name(name) || length(line) != name + 1 || size.contains(',') {
        return None;
    }
    let name = line.text(name);
    Some(
        whole(line, "declare an array with an index")
            .label("a declaration")
            .help(format!("write `index i = 1..{size}`, and `state {name}[i] = 1` or `param {name}[i] = 1`")),
    )
}

/// `dydt = [-k*x; a*y];`, `return [-k*x, a*y]`: the rates of all states as one vector.
fn rates(line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    let returned = word == "return" && line.text(1) == "[";
    let open = if returned { 1 } else { 2 };
    let vector = matches!(word, "dydt" | "dxdt" | "dy" | "dx" | "dudt" | "du" | "dX" | "dY" | "ydot" | "xdot" | "f");
    if !returned && (!vector || line.text(1) != "=" || line.text(2) != "[") {
        return None;
    }
    let close = line.close(open).filter(|close| *close + 1 == length(line))?;
    // rows end with `;`, or they are items of a list
    let mut rows: Vec<&str> = Vec::new();
    let (mut from, mut depth) = (open + 1, 0usize);
    for k in open + 1..=close {
        match line.kind(k) {
            Some(TokenKind::Open) => depth += 1,
            Some(TokenKind::Close) if k < close => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (k == close || matches!(line.text(k), ";" | ",")) {
            rows.push(line.slice(from, k));
            from = k + 1;
        }
    }
    rows.retain(|row| !row.is_empty());
    // names of rates: their equations stand above
    if returned && (open + 1..close).all(|k| line.is_name(k) || line.text(k) == ",") {
        return None;
    }
    let [first, _, ..] = rows.as_slice() else { return None };
    let found = whole(line, "write one equation for each state").label("a list of rates");
    Some(found.help(format!(
        "write each value as the rate of its state, in the order of the states: the first one as `x' = {first}`"
    )))
}

/// `D(D(z)) ~ -z`
fn twice(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let operator = |k: usize| matches!(line.text(k), "D" | "der" | "Dt") && line.text(k + 1) == "(";
    let closed = line.is_name(4) && line.reads(5, &[")", ")"]) && matches!(line.text(7), "~" | "=" | "==");
    if !operator(0) || !operator(2) || !closed {
        return None;
    }
    let (name, right) = (line.text(4), line.slice(8, length(line)));
    let state = if scene.states.contains(name) {
        format!("; the declaration needs the initial value of both: `state {name} = 1, {name}' = 0`")
    } else {
        format!(", with `state {name} = 1, {name}' = 0`")
    };
    let found =
        IdiomMatch::new(&codes::E0132, "write a derivative with a prime", line.span(0, 6)).label("a second derivative");
    Some(found.over(line.range.clone()).help(format!("write `{name}'' = {right}`{state}")))
}

/// `defaults = Dict(k => 2, a => 3)`, `p = [k => 2]`
fn dictionary(line: &Line<'_>) -> Option<IdiomMatch> {
    let open = if line.text(2) == "Dict" { 3 } else { 2 };
    if !line.is_name(0) || line.text(1) != "=" || !matches!(line.text(open), "(" | "[") {
        return None;
    }
    line.close(open).filter(|close| *close + 1 == length(line))?;
    let pairs: Option<Vec<String>> = line
        .arguments(open)?
        .into_iter()
        .map(|item| {
            let pair = line.is_name(item.start) && line.text(item.start + 1) == "=>";
            pair.then(|| format!("{} = {}", line.text(item.start), line.slice(item.start + 2, item.end)))
        })
        .collect();
    let pairs = pairs.filter(|pairs| !pairs.is_empty())?;
    let found = whole(line, "declare values by their names, without a list").label("a list of values");
    Some(found.help(format!(
        "write these values in the declarations, or in a set of them: `params NAME {{ {} }}`",
        pairs.join(", ")
    )))
}

/// `A_0(1) = 100` of NONMEM: an initial value by number.
fn start_by_number(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let number = line.kind(2) == Some(TokenKind::Number);
    if line.text(0) != "A_0" || !line.reads(1, &["("]) || !number || !line.reads(3, &[")"]) || line.text(4) != "=" {
        return None;
    }
    let value = line.slice(5, length(line));
    (!scene.is_declared("A_0")).then(|| {
        whole(line, "give the initial value of each state by its name")
            .label("an initial value")
            .help(format!("write `state A{} = {value}`, with the name of the compartment", line.text(2)))
    })
}

/// `run to 10`, `run 10`, `run 0 10`, `method rk4`
fn run(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (word, end) = (line.text(0), length(line));
    if matches!(word, "method" | "solver" | "integrator") && end == 2 && line.is_name(1) && !scene.is_declared(word) {
        let found = whole(line, "write the method in the run block").label("a method");
        return Some(found.help(format!("write `run {{ method = {} }}`", line.text(1).to_lowercase())));
    }
    let numbers: Vec<usize> = (1..end).filter(|&k| line.kind(k) == Some(TokenKind::Number)).collect();
    let stepped = (1..end).any(|k| matches!(line.text(k), "step" | "by"));
    let timed = |k: usize| line.text(k) == scene.time && k == 1;
    let plain = (1..end).all(|k| match line.text(k) {
        "to" | "until" | "till" | "from" | "for" | ".." | ":" | "-" | "," | "step" | "by" => true,
        "=" => stepped,
        _ => timed(k) || numbers.contains(&k),
    });
    if word != "run" || !plain || line.text(1) == "-" {
        return None;
    }
    let (from, to, step) = match (&numbers[..], stepped) {
        ([to], false) => ("0", line.text(*to), None),
        ([from, to], false) => (line.text(*from), line.text(*to), None),
        ([to, step], true) => ("0", line.text(*to), Some(line.text(*step))),
        ([from, to, step], true) => (line.text(*from), line.text(*to), Some(line.text(*step))),
        _ => return None,
    };
    let number = |text: &str| text.parse::<f64>().ok();
    let rows = step.and_then(|step| Some(((number(to)? - number(from)?) / number(step)?).round()));
    let rows = rows.filter(|rows| (1.0..1e9).contains(rows)).map(|rows| format!("; samples = {rows}"));
    let (time, rows) = (scene.time, rows.unwrap_or_default());
    let better = format!("run {{ {time} = {from} .. {to}{rows} }}");
    let found = whole(line, "write the time span in the run block").label("a time span");
    Some(found.help(format!("write `{better}`")))
}

/// `every 24 { ... } 5 times`
fn counted(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    let at = end.checked_sub(2)?;
    let fits = line.kind(at) == Some(TokenKind::Number)
        && line.text(end - 1) == "times"
        && line.text(at.checked_sub(1)?) == "}";
    let opens = |line: &&Line<'_>| line.text(0) == "every" && line.whole().contains('{');
    let head = scene.lines.iter().take_while(|other| other.range.start <= line.range.start).filter(opens).last();
    let head = head.filter(|_| fits)?;
    let open = (1..head.tokens.len()).find(|&k| head.text(k) == "{")?;
    let (count, period): (f64, &str) = (line.text(at).parse().ok()?, head.slice(1, open));
    let until =
        period.parse::<f64>().map_or_else(|_| format!("{count}*({period})"), |each| format!("{}", each * count));
    let help = if period.contains(char::is_alphabetic) && period.contains(' ') {
        "end the series with `until` and a time, before the block".to_owned()
    } else {
        format!(
            "end the series with a time: `every {period} until {until} {{ ... }}`, if the first event is at the start"
        )
    };
    Some(
        IdiomMatch::new(&codes::E0117, "`times` is not a clause of an event", line.span(at, end - 1))
            .label("a number of events")
            .help(help)
            .over(line.tokens[at].start..line.range.end),
    )
}
