//! Square and curly brackets of other languages: groups, concentrations, tables, comments.

use crate::diagnostic::codes;
use odec_ir::Span;

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::syntax::explain::token::{Token, TokenKind};

/// `[a + k]*y`: square brackets instead of parentheses.
pub(super) fn group(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let before = at.checked_sub(1)?;
    let value = line.tokens.get(before).is_some_and(Token::ends_value);
    if line.text(at) != "[" || value || matches!(line.text(0), "param" | "const" | "state") {
        return None;
    }
    let close = line.close(at)?;
    let single = line.arguments(at).is_some_and(|arguments| arguments.len() == 1);
    let operator =
        line.kind(close + 1) == Some(TokenKind::Operator) || matches!(line.kind(before), Some(TokenKind::Operator));
    if at + 2 == close && line.is_name(at + 1) && line.touches(at) {
        let name = line.text(at + 1);
        if scene.indices.contains(name) {
            return Some(nameless(line, at, close));
        }
        if !scene.is_declared(name) {
            return None;
        }
        let found = IdiomMatch::new(&codes::E0136, "a concentration needs no brackets", line.span(at, close));
        return Some(found.label(format!("write `{name}`")).write(name));
    }
    if single && (at + 1..close).any(|k| scene.indices.contains(line.text(k)) && line.text(k + 1) != "]") {
        return Some(nameless(line, at, close));
    }
    (single && operator).then(|| {
        let better = format!("({})", line.slice(at + 1, close));
        IdiomMatch::new(&codes::E0136, "group an expression with round brackets", line.span(at, close))
            .label("write `( )`")
            .write(better)
    })
}

/// `[i+1]` without a name before it.
fn nameless(line: &Line<'_>, at: usize, close: usize) -> IdiomMatch {
    let text = line.slice(at, close + 1);
    IdiomMatch::new(&codes::E0136, format!("the name before `{text}` is missing"), line.span(at, close))
        .label("an element of which array?")
        .help(format!("write the array before the bracket, for example `u{text}`; group an expression with `( )`"))
}

/// `{1, 2, 3}` for a table, `{a + b}` for a group, `{decay}` for a comment.
pub(super) fn braces(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let before = at.checked_sub(1)?;
    if line.text(at) != "{" {
        return None;
    }
    let equation = line.find(0, "=").filter(|&k| k < at)?;
    // a block, whatever is wrong with its head
    if matches!(line.text(0), "when" | "at" | "every" | "run" | "params" | "use") {
        return None;
    }
    // `x' = -x  run { t = 0 .. 1 }`
    if let Some(word) = (equation + 2..at)
        .find(|&k| matches!(line.text(k), "run" | "params" | "when" | "every") && line.tokens[k - 1].ends_value())
    {
        let name = line.text(word);
        let start = line.tokens[word].start;
        return Some(
            IdiomMatch::new(&codes::E0126, "each statement is on its own line", line.span(word, word))
                .label("another statement")
                .help(format!("begin a new line before `{name}`"))
                .fix(Span::new(start, start), "\n")
                .over(line.range.clone()),
        );
    }
    let close = line.close(at)?;
    if (0..at).any(|k| matches!(line.text(k), "Piecewise" | "NDSolve" | "DSolve")) {
        return None;
    }
    let value = line.tokens.get(before).is_some_and(Token::ends_value);
    let inside = line.slice(at + 1, close);
    let span = line.span(at, close);
    // `2{a + b}` is a product
    if value && line.touches(before) {
        return None;
    }
    let action = [":=", "+=", "-="].iter().any(|sign| inside.contains(sign));
    if value && !action && close + 1 == line.tokens.len() && line.find(equation + 1, "=").is_none() {
        let found = IdiomMatch::new(&codes::E0112, "begin a comment with `#`", span).label("is this a comment?");
        // `{mV}` is a unit elsewhere
        let text = inside.trim();
        let unit = crate::units::table::find(text).is_some() || text.contains(['/', '^', '*']);
        if unit {
            return Some(found.help(format!("write `[{text}]` for a unit, or `# {text}` for a comment")));
        }
        return Some(found.write(format!("# {}", inside.trim())));
    }
    let arguments = line.arguments(at)?;
    let flat = arguments.len() > 1 && line.text(at + 1) != "{";
    if flat && equation + 1 == at && super::sign::is_vector(scene, line.text(0)) && close + 1 == line.tokens.len() {
        let better = format!("({inside})");
        let found =
            IdiomMatch::new(&codes::E0135, "write a vector in round brackets", span).label(format!("write `{better}`"));
        return Some(found.write(better));
    }
    if arguments.len() > 1 || line.text(at + 1) == "{" {
        let better: String = line.slice(at, close + 1).replace('{', "[").replace('}', "]");
        let found =
            IdiomMatch::new(&codes::E0135, "write a table in square brackets", span).label(format!("write `{better}`"));
        let name = line.text(0);
        let indices = if line.text(at + 1) == "{" { "i,j" } else { "i" };
        if equation == 0 || line.text(equation - 1) == "]" || !line.is_name(equation - 1) {
            return Some(found.write(better));
        }
        let name = if equation == 1 { name } else { line.text(equation - 1) };
        return Some(
            found.help(format!("write `const {name}[{indices}] = {better}`, with an index for each dimension")),
        );
    }
    // `{a: 1}` is a dictionary
    let group = line.kind(before) == Some(TokenKind::Operator) || before == equation;
    (group && !inside.is_empty() && line.find(at + 1, ":").is_none()).then(|| {
        IdiomMatch::new(&codes::E0136, "group an expression with round brackets", span)
            .label("write `( )`")
            .write(format!("({inside})"))
    })
}
