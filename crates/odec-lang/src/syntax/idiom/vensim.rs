//! Lines of Vensim: `x = k*y ~ kg ~ remark |`, and `TIME STEP`.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(remarks(line));
    for at in 1..line.tokens.len() {
        found.extend(time_step(scene, line, at));
    }
}

/// The first token behind the value of `x = 1 ~ kg ~ |`: the sign `~`, or the end of the line.
pub(super) fn end_of_value(line: &Line<'_>) -> usize {
    let end = line.tokens.len();
    let first = (2..end).find(|&k| line.text(k) == "~");
    let second = first.and_then(|first| (first + 1..end).find(|&k| line.text(k) == "~"));
    let whole = second.is_some() && (line.text(end - 1) == "|" || second == Some(end - 1));
    if whole { first.unwrap_or(end) } else { end }
}

/// The comment for the unit and the remark behind a value.
pub(super) fn comment(line: &Line<'_>) -> String {
    let end = line.tokens.len();
    let text = line.slice(end_of_value(line), end);
    let parts: Vec<&str> = text.split(['~', '|']).map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { String::new() } else { format!("  # {}", parts.join(", ")) }
}

/// `q = k*x ~ kg ~ remark |`
fn remarks(line: &Line<'_>) -> Option<IdiomMatch> {
    let (first, end) = (end_of_value(line), line.tokens.len());
    if first == end || !line.is_name(0) || line.text(1) != "=" || line.text(2) == "INTEG" {
        return None;
    }
    let comment = comment(line);
    let span = odec_ir::Span::new(line.tokens[first - 1].end, line.tokens[end - 1].end);
    let found =
        IdiomMatch::new(&codes::E0112, "a unit and a remark of Vensim are a comment", line.span(first, end - 1));
    let found = found.label("write `#`").over(line.range.clone());
    Some(found.help(format!("write `{}{comment}`", line.slice(0, first))).fix(span, comment))
}

/// `x*TIME STEP`
fn time_step(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let (word, next) = (line.text(at).to_lowercase(), line.text(at + 1).to_lowercase());
    if word != "time" || next != "step" || !line.is_name(at) || scene.is_declared(line.text(at + 1)) {
        return None;
    }
    let found = IdiomMatch::new(&codes::E0131, "a model does not depend on the time step", line.span(at, at + 1));
    let help =
        "odec chooses the steps: write a parameter for this value, `param time_step = 0.1`, and `time_step` here";
    Some(found.label("the step of a method").help(help).over(line.range.clone()))
}
