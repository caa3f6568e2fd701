//! Methods of values: `x.pow(2)`, `x.sqrt()`, `u.sum()`.

use super::call::{CODE, replacement};
use super::line::{Line, operand};
use super::sign::operand_start;
use super::totals::bound_indices;
use super::{IdiomMatch, Scene};

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend((1..line.tokens.len()).filter_map(|at| method(scene, line, at)));
}

/// The call of a method at its dot.
fn method(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let glued = line.touches(at - 1) && line.touches(at) && line.touches(at + 1);
    if line.text(at) != "." || !glued || !line.is_name(at + 1) || line.text(at + 2) != "(" {
        return None;
    }
    let start = operand_start(line, at).filter(|&k| k == 0 || line.text(k - 1) != ".")?;
    // the functions of modules and of parts have names with a dot
    let of_call = line.text(start + 1) == "(" && scene.is_function(line.text(start));
    if line.is_name(start) && !of_call && (!scene.is_declared(line.text(start)) || line.text(start + 1) == "(") {
        return None;
    }
    let (value, word, close) = (line.slice(start, at), line.text(at + 1), line.close(at + 2)?);
    let arguments: Vec<&str> = line.arguments(at + 2)?.into_iter().map(|r| line.slice(r.start, r.end)).collect();
    // `y.diff() = -y` is a derivative
    let of_time = matches!(word, "dt" | "dot" | "der" | "diff" | "D");
    if of_time || start == 0 {
        return None;
    }
    let found = IdiomMatch::new(CODE, "a function takes its value in brackets", line.span(start, close));
    let better = match scene.arrays.get(value) {
        Some(indices) if arguments.is_empty() && matches!(word, "sum" | "prod" | "max" | "min") => {
            let (over, element) = bound_indices(scene, line, indices)?;
            format!("{word}({over}: {value}[{element}])")
        }
        Some(_) => return None,
        None => match called(scene, word, (value, &arguments)) {
            Some(better) => better,
            // an element may be meant as a part
            None if line.text(start + 1) == "[" => return None,
            None => {
                let all: Vec<&str> = std::iter::once(value).chain(arguments.iter().copied()).collect();
                let help =
                    format!("write `{word}({})`, and define the function: `fn {word}(...) = ...`", all.join(", "));
                return Some(found.label("a method").help(help));
            }
        },
    };
    Some(found.label(format!("write `{better}`")).write(better))
}

/// The call of a function with the value as its first argument.
fn called(scene: &Scene<'_>, word: &str, (value, others): (&str, &[&str])) -> Option<String> {
    let value = super::line::bare(value);
    match (word, others) {
        ("pow" | "powi" | "powf" | "power", [exponent]) => {
            return Some(format!("{}^{}", operand(value), operand(exponent)));
        }
        ("sqr" | "squared" | "square", []) => return Some(format!("{}^2", operand(value))),
        _ => {}
    }
    let all: Vec<&str> = std::iter::once(value).chain(others.iter().copied()).collect();
    let text = format!("{word}({})", all.join(", "));
    let builtin = odec_ir::builtin::find_function(word);
    if builtin.is_some_and(|op| usize::from(op.0.arity) == all.len()) || scene.functions.contains(word) {
        return Some(text);
    }
    replacement(&Line::new(&text, 0..text.len(), 0), word, 1)
}
