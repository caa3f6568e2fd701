//! Declarations in other notations: an equation behind the declaration of its state, bounds and indices with other
//! words, recurrences, inputs without their tables.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(
        equation_behind(line)
            .or_else(|| bound(scene, line))
            .or_else(|| index(scene, line))
            .or_else(|| recurrence(scene, line))
            .or_else(|| input(line)),
    );
}

/// `unknown z = 1 : z^2 = x`, `state z = 1 { z' = -z }`, `unknown z = 1 where z^2 = x`
fn equation_behind(line: &Line<'_>) -> Option<IdiomMatch> {
    if !matches!(line.text(0), "state" | "unknown") || !line.is_name(1) || line.text(2) != "=" {
        return None;
    }
    let at = (4..line.tokens.len()).find(|&k| matches!(line.text(k), ":" | "where" | "with" | "{"))?;
    let end = line.tokens.len();
    let stop = if line.text(at) == "{" && line.close(at) == Some(end - 1) { end - 1 } else { end };
    let (equation, before) = (line.slice(at + 1, stop), line.slice(0, at));
    let plain = line.find(at + 1, "=").is_some() && line.find(3, ",").is_none();
    let own = (at + 1..stop).any(|k| line.text(k) == line.text(1));
    let found = IdiomMatch::new(&codes::E0129, "an equation has a line of its own", line.span(at, end - 1));
    let help = format!("write `{before}`, and on the next line `{equation}`");
    (plain && own).then(|| found.label("the equation").help(help).over(line.range.clone()))
}

/// `bound x >= 0`, `bounds x in 0..10`, `nonnegative x`, `positive x`
fn bound(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    let (name, end) = (line.text(1), line.tokens.len());
    if !scene.states.contains(name) || scene.is_declared(word) {
        return None;
    }
    let limits = match word {
        "nonnegative" | "non_negative" | "positive" if end == 2 => format!("{name} >= 0"),
        "bound" | "bounds" | "limit" | "limits" | "constraint" if line.kind(2) == Some(TokenKind::Compare) => {
            line.slice(1, end).to_owned()
        }
        "bound" | "bounds" | "limit" | "limits" if line.text(2) == "in" => {
            let dots = (3..end).find(|&k| line.kind(k) == Some(TokenKind::Range) || line.text(k) == ",")?;
            let bare = |text: &'_ str| text.trim_matches(['[', ']', '(', ')', ' ']).to_owned();
            format!("{name} >= {}, {name} <= {}", bare(line.slice(3, dots)), bare(line.slice(dots + 1, end)))
        }
        _ => return None,
    };
    let found = IdiomMatch::new(&codes::E0128, "write a bound in the declaration of the state", line.span(0, 0));
    Some(found.label("not a statement").help(format!("write `state {name} = 1, {limits}`")).over(line.range.clone()))
}

/// `dim m = 3`, `indices m = 1..3`, `set m = 1..3`
fn index(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    let named = matches!(word, "dim" | "dimension" | "dims" | "indices" | "subscript" | "range");
    let end = line.tokens.len();
    let ranged = (2..end).any(|k| line.kind(k) == Some(TokenKind::Range));
    let fits = (named || word == "set" && ranged) && line.is_name(1) && matches!(line.text(2), "=" | ":");
    if !fits || scene.is_declared(word) || end < 4 {
        return None;
    }
    let value = line.slice(3, end);
    let range = if ranged { value.to_owned() } else { format!("1..{value}") };
    let found = IdiomMatch::new(&codes::E0117, format!("`{word}` cannot begin a statement"), line.span(0, 0));
    let better = format!("index {} = {range}", line.text(1));
    Some(found.label("an index").help(format!("write `{better}`")).over(line.range.clone()))
}

/// `n(k+1) = n(k) + 1` and `next(n) = n + 1` of a discrete quantity, alone or in an event.
fn recurrence(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let discrete = |name: &str| {
        scene.lines.iter().any(|other| {
            other.text(0) == "discrete"
                && (1..other.tokens.len()).any(|k| other.text(k) == name && other.text(k + 1) == "=")
        })
    };
    let open = (1..line.tokens.len()).find(|&k| line.text(k) == "{").filter(|_| line.text(0) == "every");
    let at = open.map_or(0, |open| open + 1);
    let end = open.and_then(|open| line.close(open)).unwrap_or(line.tokens.len());
    let (name, value) = if line.text(at) == "next" && line.reads(at + 3, &[")", "="]) {
        (line.text(at + 2), line.slice(at + 5, end).to_owned())
    } else if line.is_name(at) && line.text(at + 1) == "(" && line.reads(at + 3, &["+", "1", ")", "="]) {
        let name = line.text(at);
        let now = format!("{name}({})", line.text(at + 2));
        (name, line.slice(at + 7, end).replace(&now, name))
    } else {
        return None;
    };
    if !discrete(name) || value.contains([';', '\n']) || value.contains(&format!("{name}(")) {
        return None;
    }
    let head = open.map_or("every 1", |open| line.slice(0, open));
    let found = IdiomMatch::new(&codes::E0133, "an event changes a discrete quantity", line.span(at, end - 1));
    let help = format!("write `{} {{ {name} := {value} }}`", head.trim_end());
    Some(found.label("the next value").help(help).over(line.range.clone()))
}

/// `input q`, `input q[t] = table(...)`, `q(t) = table(...)`
fn input(line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    let found = |headline: &str, from: usize, to: usize| {
        IdiomMatch::new(&codes::E0118, headline, line.span(from, to)).over(line.range.clone())
    };
    if line.text(0) == "input" && line.is_name(1) && (end == 2 || line.text(2) == "=") {
        let name = line.text(1);
        let table = if line.text(3) == "table" { line.slice(3, end) } else { "table([0, 1], [2, 3], linear)" };
        return Some(
            found("an input has an argument and a table", 1, end - 1)
                .label("an input")
                .help(format!("write `input {name}(t) = {table}`, and `{name}(t)` where it is used")),
        );
    }
    let close = line.close(2).filter(|_| line.text(0) == "input" && line.is_name(1) && line.text(2) == "[");
    if let Some(close) = close.filter(|&close| line.text(close + 1) == "=") {
        let better = format!("input {}({}) {}", line.text(1), line.slice(3, close), line.slice(close + 1, end));
        return Some(
            found("the argument of an input stands in round brackets", 2, close)
                .label("write `( )`")
                .help(format!("write `{better}`")),
        );
    }
    let bare = line.is_name(0) && line.text(1) == "(" && line.is_name(2) && line.reads(3, &[")", "=", "table", "("]);
    bare.then(|| {
        found("declare a table as an input", 0, 3)
            .label("an input")
            .help(format!("write `input {}`", line.slice(0, end)))
    })
}
