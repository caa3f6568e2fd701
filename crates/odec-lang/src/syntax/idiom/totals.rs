//! Functions of a whole array: `sum(u)`, `mean(u)`, `length(u)`. A sum needs its index.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;

/// The indices of a sum over all elements of an array, and those of its element. An index that the left side binds
/// gets another name: `u[i]' = -sum(u)` becomes `sum(j in 1..3: u[j])`.
pub(super) fn bound_indices(scene: &Scene<'_>, line: &Line<'_>, indices: &[&str]) -> Option<(String, String)> {
    let equals = line.find(0, "=").unwrap_or(0);
    let bound = |index: &str| (1..equals).any(|k| line.text(k) == index && matches!(line.text(k - 1), "[" | ","));
    bound_among(scene, indices, &bound)
}

/// The same with these indices bound.
pub(super) fn bound_among(
    scene: &Scene<'_>,
    indices: &[&str],
    bound: &dyn Fn(&str) -> bool,
) -> Option<(String, String)> {
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

/// The index of a sum over the part `A[i,:]` of an array, and its element.
pub(super) fn bound_part(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<(String, String)> {
    let (name, own) = (line.text(at), scene.arrays.get(line.text(at)).filter(|own| own.len() > 1)?);
    let parts = line.arguments(at + 1).filter(|parts| line.text(at + 1) == "[" && parts.len() == own.len())?;
    let mut parts: Vec<&str> = parts.into_iter().map(|r| line.slice(r.start, r.end)).collect();
    let whole = parts.iter().position(|part| matches!(*part, ":" | "*"))?;
    let (over, element) = bound_indices(scene, line, &own[whole..=whole])?;
    if parts.iter().enumerate().any(|(k, part)| k != whole && (part.contains(':') || *part == element)) {
        return None;
    }
    parts[whole] = &element;
    let element = format!("{name}[{}]", parts.join(","));
    Some((over, element))
}

/// `dot(A[i,:], x)`, `dot(x, y)` of arrays.
pub(super) fn dot(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) != "dot" || line.text(at + 1) != "(" || scene.functions.contains("dot") {
        return None;
    }
    let close = line.close(at + 1)?;
    let [first, second] = line.arguments(at + 1)?.try_into().ok()?;
    let alone = |part: &std::ops::Range<usize>| {
        scene.arrays.get(line.text(part.start)).filter(|own| part.len() == 1 && own.len() == 1)
    };
    let part = |part: &std::ops::Range<usize>| {
        bound_part(scene, line, part.start).filter(|_| line.close(part.start + 1) == Some(part.end - 1))
    };
    // the name of an index follows `in` only in a range of its own
    let named = |over: &str| over.split(' ').next().unwrap_or_default().to_owned();
    let (over, a, b) = match (alone(&first), alone(&second)) {
        (Some(own), Some(_)) => {
            let (over, element) = bound_indices(scene, line, own)?;
            let text = |k: usize| format!("{}[{element}]", line.text(k));
            (over, text(first.start), text(second.start))
        }
        (None, Some(_)) => {
            let (over, element) = part(&first)?;
            let other = format!("{}[{}]", line.text(second.start), named(&over));
            (over, element, other)
        }
        (Some(_), None) => {
            let (over, element) = part(&second)?;
            let other = format!("{}[{}]", line.text(first.start), named(&over));
            (over, other, element)
        }
        (None, None) => return None,
    };
    let better = format!("sum({over}: {a}*{b})");
    let found = IdiomMatch::new(&codes::E0135, "write the product of two arrays as a sum", line.span(at, close));
    Some(found.label("a sum of products").write(better))
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
