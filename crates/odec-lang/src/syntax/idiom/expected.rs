//! Outputs and expectations in other notations: `output der(x)`, `output T at z = 3`, `expect(x(24) = 0.5)`, `expect x(2) = 0.5 +/- 0.1`.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    match line.text(0) {
        "output" => found.extend(rate(scene, line).or_else(|| at_place(scene, line))),
        "expect" => found.extend(
            called(line).or_else(|| tolerance(line)).or_else(|| within_range(line)).or_else(|| time_with_unit(line)),
        ),
        _ => {}
    }
}

/// `output der(x)`, `output d(x)/dt`, `output dx/dt`
fn rate(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    let word = line.text(1);
    let close = line.close(2).filter(|_| line.text(2) == "(")?;
    let whole = match word {
        "der" | "D" | "ddt" => close + 1 == end,
        "d" => line.text(close + 1) == "/" && line.text(close + 2) == format!("d{}", scene.time) && close + 3 == end,
        _ => false,
    };
    let name = line.slice(3, close);
    let fits = whole && scene.states.contains(name);
    let found = IdiomMatch::new(&codes::E0132, "write a derivative with a prime", line.span(1, end - 1));
    fits.then(|| found.label(format!("write `{name}'`")).write(format!("{name}'")))
}

/// `output T at t = 5`, `output u at z = 3`
fn at_place(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (name, by, end) = (line.text(1), line.text(3), line.tokens.len());
    let fits = line.is_name(1) && line.text(2) == "at" && line.is_name(3) && matches!(line.text(4), "=" | "==");
    let value = line.slice(5, end);
    if !fits || value.is_empty() || line.find(5, ",").is_some() {
        return None;
    }
    let help = if by == scene.time {
        format!("write `output {name}`, and `samples = [{value}]` in the run block for rows at this time only")
    } else if scene.arrays.contains_key(name) {
        format!("write one element of `{name}` by its number: `output {name}[3]`")
    } else {
        let held = scene.free_name(&["z", "w", "q", "held"]);
        format!(
            "write `output {name}`; for its value when `{by}` reaches {value}, write `discrete {held} = 0` and `when \
             {by} > {value} {{ {held} := {name} }}`"
        )
    };
    let found = IdiomMatch::new(&codes::E0118, "an output has a value at all times", line.span(2, end - 1));
    Some(found.label("a place or a time").help(help).over(line.range.clone()))
}

/// `expect(x(24) = 0.5)`
fn called(line: &Line<'_>) -> Option<IdiomMatch> {
    let close = line.close(1).filter(|_| line.text(1) == "(")?;
    let equals = (2..close).find(|&k| matches!(line.text(k), "=" | "=="))?;
    let rest = line.slice(close + 1, line.tokens.len());
    let better = format!("expect {} = {} {rest}", line.slice(2, equals), line.slice(equals + 1, close));
    let better = better.trim_end();
    let found = IdiomMatch::new(&codes::E0118, "an expectation needs no brackets", line.span(1, close));
    Some(found.label("not needed").help(format!("write `{better}`")).over(line.range.clone()))
}

/// `expect x(2) = 0.5 +/- 0.1`, `±`
fn tolerance(line: &Line<'_>) -> Option<IdiomMatch> {
    let at = (3..line.tokens.len()).find(|&k| line.text(k) == "±" || line.reads(k, &["+", "/", "-"]))?;
    let last = if line.text(at) == "±" { at } else { at + 2 };
    let better = format!("{} within {}", line.slice(0, at), line.slice(last + 1, line.tokens.len()));
    let found = IdiomMatch::new(&codes::E0118, "write a tolerance with `within`", line.span(at, last));
    Some(found.label("a tolerance").help(format!("write `{better}`")).over(line.range.clone()))
}

/// `expect x(24) in 0.1..5`
fn within_range(line: &Line<'_>) -> Option<IdiomMatch> {
    let at = line.find(2, "in").filter(|_| line.find(2, "=").is_none())?;
    let end = line.tokens.len();
    let dots = (at + 1..end).find(|&k| line.kind(k) == Some(TokenKind::Range) || line.text(k) == ",")?;
    let bare = |text: &str| text.trim_matches(['[', ']', '(', ')']).trim().parse::<f64>().ok();
    let (low, high) = (bare(line.slice(at + 1, dots))?, bare(line.slice(dots + 1, end))?);
    let better = format!("{} = {} within {}", line.slice(0, at), f64::midpoint(low, high), (high - low) / 2.0);
    let found = IdiomMatch::new(&codes::E0118, "an expectation is a value with a tolerance", line.span(at, end - 1));
    Some(found.label("a range").help(format!("write `{better}`")).over(line.range.clone()))
}

/// `expect x(24 h) = 0.5`
fn time_with_unit(line: &Line<'_>) -> Option<IdiomMatch> {
    let open = (2..line.tokens.len()).find(|&k| line.text(k) == "(")?;
    let number = line.kind(open + 1) == Some(TokenKind::Number) && line.text(open + 3) == ")";
    let unit = line.text(open + 2);
    let known = number && line.is_name(open + 2) && crate::units::table::find(unit).is_some();
    let found = IdiomMatch::new(&codes::E0119, "write a unit in square brackets", line.span(open + 2, open + 2));
    known.then(|| found.label(format!("write `[{unit}]`")).write(format!("[{unit}]")))
}
