//! Kinds and bounds of values in declarations: `const param k = 1`, `real<lower=0> k`.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;

/// The range of `<lower=0, upper=1>` of Stan.
pub(super) fn limits(line: &Line<'_>, open: usize) -> Option<String> {
    let close = line.find(open, ">")?;
    let bound = |word: &str| {
        let at = (open + 1..close).find(|&k| line.text(k) == word && line.text(k + 1) == "=")?;
        let end = (at + 2..close).find(|&k| line.text(k) == ",").unwrap_or(close);
        Some(line.slice(at + 2, end))
    };
    let (lower, upper) = (bound("lower"), bound("upper"));
    (lower.is_some() || upper.is_some()).then(|| format!("{}..{}", lower.unwrap_or("-inf"), upper.unwrap_or("inf")))
}

/// `const param k = 1`: two words that begin declarations.
pub(super) fn twice(line: &Line<'_>) -> Option<IdiomMatch> {
    let (first, second) = (line.text(0), line.text(1));
    let words = matches!(first, "const" | "param") && matches!(second, "const" | "param") && first != second;
    (words && line.is_name(2)).then(|| {
        let headline = format!("`{first}` and `{second}` are two kinds of values");
        let rest = line.slice(2, line.tokens.len());
        let found = IdiomMatch::new(&codes::E0133, headline, line.span(0, 1)).label("one word begins a declaration");
        found.over(line.range.clone()).help(format!(
            "write `param {rest}` for a value that a run can change, `const {rest}` for one that never changes"
        ))
    })
}

/// True if an action of an event changes this name.
pub(super) fn changes(scene: &Scene<'_>, name: &str) -> bool {
    scene.lines.iter().any(|line| {
        (1..line.tokens.len()).any(|k| matches!(line.text(k), "+=" | "-=" | ":=") && line.text(k - 1) == name)
    })
}
