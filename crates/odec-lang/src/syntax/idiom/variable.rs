//! Equations in another variable than time, without `time x`: `dy/dx = -y`, `y'(x) = -y` and `run { x = 0 .. 1 }`.
//! Rates of programs without a state: `dx = -k*x`.

use odec_ir::Span;

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

/// Such an equation. The run must contain the range of its variable: other quotients are formulas.
pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let equals = line.find(0, "=").filter(|_| line.is_name(0) && !scene.timed)?;
    let (name, call) = variable(line, equals)?;
    if name == scene.time || scene.states.contains(name) || scene.indices.contains(name) {
        return None;
    }
    let (run, entry) = scene.lines.iter().find_map(|line| Some((line, range_of(line, name)?)))?;
    let time = scene.time;
    let headline = format!("in this model, the variable of the equations is called `{time}`");
    let mut found = IdiomMatch::new(&codes::E0131, headline, line.span(0, equals - 1))
        .label(format!("a derivative with respect to `{name}`"))
        .help(format!("declare the variable on a line of its own: `time {name}`"))
        .over(line.range.clone());
    let count = |sign: &str| (0..run.tokens.len()).filter(|&k| run.text(k) == sign).count();
    found.also.push(if count("{") == count("}") { run.range.clone() } else { entry });
    // one line before all equations
    let same = |line: &&Line<'_>| line.find(0, "=").and_then(|at| variable(line, at)).is_some_and(|(of, _)| of == name);
    let first = scene.lines.iter().find(same)?.range.start;
    let found = found.fix(Span::new(first, first), format!("time {name}\n"));
    Some(if call { found.fix(line.span(equals - 3, equals - 1), "") } else { found })
}

/// The variable of `dy/dx = ...`, and of `y'(x) = ...` with its brackets.
fn variable<'a>(line: &Line<'a>, equals: usize) -> Option<(&'a str, bool)> {
    let quotient = equals == 3 && line.text(1) == "/" && line.is_name(2) && line.text(0).starts_with('d');
    if quotient && line.text(0).len() > 1 {
        return line.text(2).strip_prefix('d').filter(|name| !name.is_empty()).map(|name| (name, false));
    }
    let open = equals.checked_sub(3).filter(|&open| line.text(open) == "(" && line.is_name(open + 1))?;
    let primes = (1..open).all(|k| line.kind(k) == Some(TokenKind::Prime));
    (open > 1 && primes).then(|| (line.text(open + 1), true))
}

/// The entry `x = 0 .. 1` of a run: a line of its block, or on the line of the block.
fn range_of(line: &Line<'_>, name: &str) -> Option<std::ops::Range<usize>> {
    let at = (0..line.tokens.len()).find(|&k| line.text(k) == name && line.text(k + 1) == "=")?;
    if line.text(0) != "run" && at > 0 {
        return None;
    }
    let end = (at..line.tokens.len()).find(|&k| matches!(line.text(k), ";" | "}")).unwrap_or(line.tokens.len());
    let range = (at + 2..end).any(|k| line.kind(k) == Some(TokenKind::Range));
    range.then(|| line.tokens[at].start..line.tokens[end - 1].end)
}

/// `dx = -k*x` where nothing declares `x`: the rate of a state.
pub(super) fn rate(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let name = line.text(0).strip_prefix('d').filter(|_| line.is_name(0) && line.text(1) == "=")?;
    let used = (2..line.tokens.len()).any(|k| line.is_name(k) && line.text(k) == name && line.text(k + 1) != "(");
    if name.is_empty() || !used || scene.is_declared(name) || scene.is_function(name) {
        return None;
    }
    // a quantity whose name begins with d is read somewhere
    let read = |other: &Line<'_>| (1..other.tokens.len()).any(|k| other.text(k) == line.text(0));
    if scene.lines.iter().any(read) {
        return None;
    }
    let right = line.slice(2, line.tokens.len()).trim_end_matches(';').trim_end();
    let found = IdiomMatch::new(&codes::E0132, "write a derivative with a prime", line.span(0, 0));
    let found = found.label(format!("the rate of `{name}`?")).over(line.range.clone());
    Some(found.help(format!("write `{name}' = {right}`, and declare `state {name} = 1` with its initial value")))
}
