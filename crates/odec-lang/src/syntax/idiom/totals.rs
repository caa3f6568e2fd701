//! Functions of a whole array: `sum(u)`, `mean(u)`, `length(u)`. A sum needs its index.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;

/// The indices of a sum over all elements of an array, and those of its element. An index that the left side binds
/// gets another name: `u[i]' = -sum(u)` becomes `sum(j in 1..3: u[j])`.
pub(super) fn bound_indices(scene: &Scene<'_>, line: &Line<'_>, indices: &[&str]) -> Option<(String, String)> {
    let equals = line.find(0, "=").unwrap_or(0);
    let bound = |index: &str| (1..equals).any(|k| line.text(k) == index && matches!(line.text(k - 1), "[" | ","));
    let (mut over, mut element) = (Vec::new(), Vec::new());
    for (k, index) in indices.iter().enumerate() {
        let range = super::boundary::range_of(scene, index);
        if scene.indices.contains(index) && !bound(index) {
            over.push((*index).to_owned());
            element.push((*index).to_owned());
            continue;
        }
        // another index over the same range
        let known = |name: &&&str| {
            range.is_some()
                && super::boundary::range_of(scene, name) == range
                && !bound(name)
                && !indices.contains(*name)
                && !element.iter().any(|taken| taken == **name)
        };
        if let Some(other) = scene.indices.iter().filter(known).min() {
            over.push((*other).to_owned());
            element.push((*other).to_owned());
            continue;
        }
        let (first, last) = range?;
        let letters: &[&str] = if k == 0 { &["j", "k", "l", "m", "n"] } else { &["l", "m", "n", "p", "q"] };
        let name = scene.free_name(letters);
        over.push(format!("{name} in {first}..{last}"));
        element.push(name.to_owned());
    }
    Some((over.join(", "), element.join(",")))
}

/// `sum(u)`, `mean(u)`, `length(u)` of an array.
pub(super) fn of_all(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let indices =
        scene.arrays.get(line.text(at + 2)).filter(|_| line.text(at + 1) == "(" && line.text(at + 3) == ")")?;
    let array = line.text(at + 2);
    let (over, element) = bound_indices(scene, line, indices)?;
    let element = format!("{array}[{element}]");
    // `output mean = mean(u)` declares the name itself
    let own = at > 1 && line.text(at - 1) == "=" && line.text(at - 2) == word;
    let better = match word {
        _ if scene.is_declared(word) && !own => return None,
        "sum" | "prod" | "max" | "min" => format!("{word}({over}: {element})"),
        "mean" | "Mean" | "average" => format!("(sum({over}: {element})/sum({over}: 1))"),
        "length" | "Length" | "len" | "numel" => format!("sum({over}: 1)"),
        "total" | "Total" => format!("sum({over}: {element})"),
        "norm" => format!("sqrt(sum({over}: {element}^2))"),
        _ => return None,
    };
    if matches!(word, "sum" | "prod" | "max" | "min") {
        let headline = format!("`{word}` needs the index that it runs over");
        let found = IdiomMatch::new(&codes::E0515, headline, line.span(at, at + 3));
        return Some(found.label("an array").help(format!("write `{better}`")));
    }
    Some(
        IdiomMatch::new(&codes::E0135, format!("`{word}` does not take an array"), line.span(at, at + 3))
            .label("an array")
            .help(format!("write `{better}`")),
    )
}
