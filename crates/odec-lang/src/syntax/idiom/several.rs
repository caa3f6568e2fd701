//! Several equations on one line, as programs assign them: `x', y' = y, -x`, `S, I = 0.9, 0.1`.

use crate::diagnostic::{Code, codes};
use odec_ir::Span;

use super::line::Line;
use super::unneeded::drop;
use super::{IdiomMatch, Scene};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0118;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(together(scene, line).or_else(|| apart(scene, line)));
}

/// The left side of one of the equations.
enum Left {
    /// The derivative of a state, as this language writes it.
    Rate(String),
    Name(String),
}

/// `dy/dt = -k*y, dx/dt = 0`: equations with a comma between them.
fn apart(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len() - usize::from(line.text(line.tokens.len() - 1) == ";");
    if crate::syntax::explain::is_keyword(line.text(0)) || line.find(0, "{").is_some() {
        return None;
    }
    let mut lines = Vec::new();
    for (from, to) in items(line, 0, end) {
        let equals = line.find(from, "=").filter(|&k| k < to && k + 1 < to)?;
        let Some(Left::Rate(rate)) = left(scene, line, from, equals) else { return None };
        if line.find(equals + 1, "=").is_some_and(|k| k < to) {
            return None;
        }
        lines.push(format!("{rate} = {}", line.slice(equals + 1, to)));
    }
    let whole = Span::new(line.range.start, line.range.end);
    let shown: Vec<String> = lines.iter().map(|line| format!("`{line}`")).collect();
    let found = IdiomMatch::new(CODE, "write each equation on its own line", whole).label("several equations");
    (lines.len() > 1).then(|| found.help(format!("write {}", shown.join(" and "))).fix(whole, lines.join("\n")))
}

/// The ranges of tokens between commas outside of brackets; one pair of square brackets around all is left out.
fn items(line: &Line<'_>, from: usize, to: usize) -> Vec<(usize, usize)> {
    let enclosed = to > from && line.text(from) == "[" && line.close(from) == Some(to - 1);
    let (from, to) = if enclosed { (from + 1, to - 1) } else { (from, to) };
    let (mut found, mut start) = (Vec::new(), from);
    while let Some(comma) = line.find(start, ",").filter(|&k| k < to) {
        found.push((start, comma));
        start = comma + 1;
    }
    found.push((start, to));
    found
}

fn left(scene: &Scene<'_>, line: &Line<'_>, from: usize, to: usize) -> Option<Left> {
    let name = line.text(from);
    if !line.is_name(from) || line.operand_end(from).is_none_or(|end| end != to && line.text(end) != "/") {
        return None;
    }
    if line.kind(to - 1) == Some(TokenKind::Prime) {
        return Some(Left::Rate(line.slice(from, to).to_owned()));
    }
    let by = format!("d{}", scene.time);
    let of = name.strip_prefix('d').filter(|of| !of.is_empty());
    if let Some(of) = of.filter(|_| to == from + 3 && line.reads(from + 1, &["/", by.as_str()])) {
        return Some(Left::Rate(format!("{of}'")));
    }
    if to != from + 1 {
        return None;
    }
    let state = of.map(|of| of.strip_suffix(by.as_str()).filter(|of| !of.is_empty()).unwrap_or(of));
    match state.filter(|of| scene.states.contains(of) && !scene.is_declared(name)) {
        Some(of) => Some(Left::Rate(format!("{of}'"))),
        None => Some(Left::Name(name.to_owned())),
    }
}

/// `x', y' = y, -x`, `dx/dt, dy/dt = y, -x`, `S, I = 0.9, 0.1`, `S, I, R = y`
fn together(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len() - usize::from(line.text(line.tokens.len() - 1) == ";");
    let equals = line.find(0, "=").filter(|&k| k > 2 && k + 1 < end && line.find(k + 1, "=").is_none())?;
    if crate::syntax::explain::is_keyword(line.text(0)) || line.find(0, "{").is_some() {
        return None;
    }
    let names = items(line, 0, equals);
    let values = items(line, equals + 1, end);
    let lefts: Vec<Left> = names.iter().map(|&(from, to)| left(scene, line, from, to)).collect::<Option<_>>()?;
    if lefts.len() < 2 {
        return None;
    }
    let whole = Span::new(line.range.start, line.range.end);
    let states = lefts.iter().all(|left| matches!(left, Left::Name(name) if scene.states.contains(name.as_str())));
    if states && values.len() == 1 && end == equals + 2 && line.is_name(equals + 1) {
        let value = line.text(equals + 1);
        if scene.is_declared(value) && !scene.states.contains(value) && value != scene.time {
            let names: Vec<&str> = names.iter().map(|&(from, to)| line.slice(from, to)).collect();
            let found = IdiomMatch::new(CODE, "a line without a prime gives no value to a state", whole);
            let help = format!("write initial values in the declaration: `state {} = {value}`", names.join(", "));
            return Some(found.label("initial values?").help(help));
        }
        let found = drop(line, "states have names: there is nothing to unpack".to_owned(), "not needed");
        return Some(IdiomMatch { code: CODE, ..found });
    }
    if values.len() != lefts.len() || values.iter().any(|(from, to)| from >= to) {
        return None;
    }
    let (mut lines, mut starts) = (Vec::new(), Vec::new());
    for (left, &(from, to)) in lefts.iter().zip(&values) {
        let value = line.slice(from, to);
        match left {
            Left::Rate(rate) => lines.push(format!("{rate} = {value}")),
            Left::Name(name) if scene.states.contains(name.as_str()) => return None,
            // an equation gives its rate: this is the initial value
            Left::Name(name) if scene.rates.contains(name.as_str()) => starts.push(format!("{name} = {value}")),
            Left::Name(name) => lines.push(format!("{name} = {value}")),
        }
    }
    if !starts.is_empty() {
        lines.insert(0, format!("state {}", starts.join(", ")));
    }
    let shown: Vec<String> = lines.iter().map(|line| format!("`{line}`")).collect();
    let found = IdiomMatch::new(CODE, "write each equation on its own line", whole).label("several left sides");
    Some(found.help(format!("write {}", shown.join(" and "))).fix(whole, lines.join("\n")))
}
