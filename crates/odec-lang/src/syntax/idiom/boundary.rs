//! Boundaries in other notations: `boundary periodic i, j`, `boundary u = 0`, `boundary neumann i`.

use crate::diagnostic::{Code, codes};
use odec_ir::Span;

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0128;
/// Rules for all ends of an index.
const RULES: [&str; 2] = ["periodic", "clamp"];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    if RULES.contains(&line.text(0)) && scene.indices.contains(line.text(1)) && line.tokens.len() == 2 {
        let found = IdiomMatch::new(CODE, "a rule at the ends of an index begins with `boundary`", line.span(0, 1));
        let better = format!("boundary {}", line.slice(0, 2));
        return Some(found.label(format!("write `{better}`")).write(better));
    }
    if line.text(0) != "boundary" {
        return None;
    }
    swapped(scene, line)
        .or_else(|| several(scene, line))
        .or_else(|| sides(scene, line))
        .or_else(|| subscript_by_value(scene, line))
        .or_else(|| at_end(scene, line))
        .or_else(|| condition(scene, line))
        .or_else(|| element_by_rule(line))
        .or_else(|| listed(line))
        .or_else(|| of_array(scene, line))
        .or_else(|| kind_of_boundary(scene, line))
}

/// `boundary periodic(i)` and `boundary i periodic`
fn swapped(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (first, second) = (line.text(1), line.text(2));
    let last = line.tokens.len() - 1;
    let (rule, index) = if RULES.contains(&first) && matches!(second, "(" | "[") && line.close(2) == Some(last) {
        (first, line.slice(3, last))
    } else if RULES.contains(&second) && last == 2 {
        (second, first)
    } else {
        return None;
    };
    if index.contains(',') {
        let names: Vec<&str> = index.split(',').map(str::trim).collect();
        let rules: Vec<String> = names.iter().map(|name| format!("{rule} {name}")).collect();
        let better = rules.join(", ");
        let found = IdiomMatch::new(CODE, format!("write `{rule}` for each index"), line.span(1, last));
        return names.iter().all(|name| scene.indices.contains(name)).then(|| {
            let found = found.label(format!("write `{better}`"));
            found.help(format!("write `boundary {better}`")).fix(line.span(1, last), better)
        });
    }
    let better = format!("boundary {rule} {index}");
    let found = IdiomMatch::new(CODE, format!("the index follows `{rule}`"), line.span(1, last));
    scene.indices.contains(index).then(|| {
        found.label(format!("write `{rule} {index}`")).help(format!("write `{better}`")).fix(line.span(0, last), better)
    })
}

/// `boundary u[0] = 1; u[N+1] = u[N]`
fn several(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let last = line.tokens.len() - 1;
    let signs: Vec<usize> = (2..last).filter(|&k| line.text(k) == ";").collect();
    let item = |k: usize| scene.arrays.contains_key(line.text(k)) && line.text(k + 1) == "[";
    let fits = item(1) && !signs.is_empty() && signs.iter().all(|&k| item(k + 1));
    let found = fits.then(|| {
        IdiomMatch::new(&codes::E0126, "commas separate the items of a `boundary` line", line.span(signs[0], signs[0]))
    })?;
    let found = found.label("write `,`").over(line.range.clone()).help("write `,` for `;`");
    Some(signs.iter().fold(found, |found, &k| found.fix(line.span(k, k), ",")))
}

/// The array of which a line without its name speaks.
fn only_array<'a>(scene: &Scene<'a>) -> Option<&'a str> {
    let mut arrays: Vec<&str> = scene.arrays.keys().copied().filter(|name| scene.states.contains(name)).collect();
    arrays.sort_unstable();
    arrays.first().copied()
}

/// `boundary left = 400, right = insulated`
fn sides(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    const SIDES: [&str; 4] = ["left", "right", "start", "end"];
    let known = |k: usize| SIDES.contains(&line.text(k)) && !scene.is_declared(line.text(k));
    if !known(1) || line.text(2) != "=" {
        return None;
    }
    let array = only_array(scene)?;
    let [first, last] = ends(scene, array).try_into().ok()?;
    let inner = |end: &str| {
        let (low, high) = range_of(scene, index_of(scene, array)).unwrap_or(("1", "N"));
        end.replacen(end.split(['[', ',', ']']).nth(1).unwrap_or(""), if end == first { low } else { high }, 1)
    };
    let mut items: Vec<String> = Vec::new();
    let mut at = 1;
    while known(at) && line.text(at + 1) == "=" {
        let stop = line.find(at + 2, ",").unwrap_or(line.tokens.len());
        let place = if matches!(line.text(at), "left" | "start") { &first } else { &last };
        let value = line.slice(at + 2, stop);
        let closed = matches!(value, "insulated" | "noflux" | "no_flux" | "neumann" | "reflecting" | "adiabatic");
        items.push(format!("{place} = {}", if closed { inner(place) } else { value.to_owned() }));
        at = stop + 1;
    }
    let found = IdiomMatch::new(CODE, "write a boundary by the values beyond the ends", line.span(1, 1));
    let help = format!("write `boundary {}`", items.join(", "));
    Some(found.label("a side").over(line.range.clone()).help(help))
}

/// `boundary u[i=0] = 400`
fn subscript_by_value(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let array = scene.arrays.get(line.text(1)).filter(|_| line.text(2) == "[")?;
    let close = line.close(2)?;
    let at = (3..close).find(|&k| array.contains(&line.text(k)) && matches!(line.text(k + 1), "=" | "=="))?;
    let found = IdiomMatch::new(CODE, "a subscript is a value without the name of its index", line.span(at, at + 1));
    let better = format!("boundary {}{}", line.slice(1, at), line.slice(at + 2, line.tokens.len()));
    Some(found.label("not needed").over(line.range.clone()).help(format!("write `{better}`")))
}

/// `boundary u = 0 at i = 0`
fn at_end(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (array, at) = (line.text(1), line.find(3, "at")?);
    let end = line.tokens.len();
    let indices = scene.arrays.get(array).filter(|_| line.text(2) == "=" && line.text(at + 2) == "=")?;
    let mut places: Vec<&str> = indices.clone();
    *places.iter_mut().find(|index| **index == line.text(at + 1))? = line.slice(at + 3, end);
    let better = format!("boundary {array}[{}] = {}", places.join(", "), line.slice(3, at));
    let found = IdiomMatch::new(CODE, "write a boundary by the values beyond the ends", line.span(at, end - 1));
    Some(found.label("a place").over(line.range.clone()).help(format!("write `{better}`, if this is beyond the end")))
}

/// `boundary u periodic`, `boundary periodic`, `boundary u = 0`
fn of_array(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (first, second) = (line.text(1), line.text(2));
    let last = line.tokens.len() - 1;
    let array = scene.arrays.keys().copied().find(|name| *name == first);
    let rule = match array {
        Some(_) if RULES.contains(&second) => second,
        None if RULES.contains(&first) && (second.is_empty() || scene.arrays.contains_key(second)) => first,
        Some(array) if second == "=" => {
            let value = line.slice(3, line.tokens.len());
            let ends: Vec<String> =
                ends(scene, array).into_iter().map(|end| format!("`boundary {end} = {value}`")).collect();
            return Some(
                IdiomMatch::new(CODE, "write a boundary by the values beyond the ends", line.span(1, 1))
                    .label("an array")
                    .over(line.range.clone())
                    .help(format!("write {}", ends.join(" or "))),
            );
        }
        _ => return None,
    };
    let array = array.or_else(|| scene.arrays.keys().copied().find(|name| *name == second));
    let array = array.or_else(|| scene.arrays.keys().copied().min()).unwrap_or("u");
    let headline = format!("`{rule}` needs the name of an index");
    let better = format!("boundary {rule} {}", index_of(scene, array));
    Some(
        IdiomMatch::new(CODE, headline, line.span(1, last))
            .label(if second.is_empty() { "of which index?" } else { "an index has the rule, not an array" })
            .over(line.range.clone())
            .help(format!("write `{better}`")),
    )
}

/// `boundary u[i] = periodic`
fn element_by_rule(line: &Line<'_>) -> Option<IdiomMatch> {
    let close = line.close(2).filter(|_| line.is_name(1) && line.text(2) == "[")?;
    let rule = line.text(close + 2);
    if line.text(close + 1) != "=" || !RULES.contains(&rule) || close + 3 != line.tokens.len() {
        return None;
    }
    let index = line.text(3).to_owned();
    let index = if close == 4 && line.is_name(3) { index } else { "i".to_owned() };
    let found = IdiomMatch::new(CODE, format!("`{rule}` needs the name of an index"), line.span(1, close + 2));
    let found = found.label("an index has the rule, not an array").over(line.range.clone());
    Some(found.help(format!("write `boundary {rule} {index}`")))
}

/// `boundary -k*(u[N+1] - u[N])/dx = h*(u[N] - a)`: the condition, solved for the element beyond the end.
fn condition(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let equals = line.find(1, "=")?;
    // `boundary u[0], u[N+1] = 0`
    if line.find(1, ",").is_some() {
        return None;
    }
    let plain = line.is_name(1) && line.text(2) == "[" && line.close(2) == Some(equals - 1);
    let at = (1..equals).filter(|_| !plain).find(|&k| {
        let element = line.close(k + 1).filter(|_| line.text(k + 1) == "[");
        let beyond = || scene.arrays.get(line.text(k)).map(|_| ends(scene, line.text(k)));
        element.and_then(|close| Some(beyond()?.iter().any(|end| tight(end) == tight(line.slice(k, close + 1)))))
            == Some(true)
    })?;
    let element = line.slice(at, line.close(at + 1)? + 1);
    let solved = solved(line, equals, element).unwrap_or_else(|| "...".to_owned());
    let headline = format!("a boundary gives one element beyond the end, `{element}`");
    let found = IdiomMatch::new(CODE, headline, line.span(1, equals - 1));
    Some(
        found
            .label("not an element")
            .over(line.range.clone())
            .help(format!("solve the line for it: `boundary {element} = {solved}`")),
    )
}

/// The text without blanks.
fn tight(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The right side for `element` of `[-][c*](a - b)[/d] = value`, where one of `a` and `b` is the element.
fn solved(line: &Line<'_>, equals: usize, element: &str) -> Option<String> {
    let minus = line.text(1) == "-";
    let first = 1 + usize::from(minus);
    let open = (first..equals).find(|&k| line.text(k) == "(")?;
    let close = line.close(open)?;
    let factor = match open - first {
        0 => None,
        2 if line.text(open - 1) == "*" => Some(line.text(first)),
        _ => return None,
    };
    let divisor = match equals - close {
        1 => None,
        3 if line.text(close + 1) == "/" => Some(line.text(close + 2)),
        _ => return None,
    };
    let sign = (open + 1..close).find(|&k| line.text(k) == "-" && line.find(open + 1, "-") == Some(k))?;
    let (a, b) = (line.slice(open + 1, sign), line.slice(sign + 1, close));
    let (other, up) = if tight(a) == tight(element) {
        (b, true)
    } else if tight(b) == tight(element) {
        (a, false)
    } else {
        return None;
    };
    let value = line.slice(equals + 1, line.tokens.len());
    if tight(value).contains(&tight(element)) || tight(other).contains(['+', '-']) && !is_element(other) {
        return None;
    }
    if value == "0" {
        return Some(other.to_owned());
    }
    let sum = line.find(equals + 1, "+").or_else(|| line.find(equals + 1, "-")).is_some();
    let value = if sum { format!("({value})") } else { value.to_owned() };
    let times = divisor.map_or_else(String::new, |divisor| format!("*{divisor}"));
    let over = factor.map_or_else(String::new, |factor| format!("/{factor}"));
    let sign = if up == minus { "-" } else { "+" };
    Some(format!("{other} {sign} {value}{times}{over}"))
}

/// True for one element, `u[N-1]`.
fn is_element(text: &str) -> bool {
    let line = Line::new(text, 0..text.len(), 0);
    line.is_name(0) && line.text(1) == "[" && line.close(1).is_some_and(|close| close + 1 == line.tokens.len())
}

/// The elements beyond both ends of an array, as a boundary writes them: `u[0]` and `u[N+1]`.
fn ends(scene: &Scene<'_>, array: &str) -> Vec<String> {
    let indices = scene.arrays.get(array).cloned().unwrap_or_default();
    let index = indices.first().copied().unwrap_or("i");
    let others: String = indices.iter().skip(1).map(|other| format!(", {other}")).collect();
    let (first, last) = range_of(scene, index).unwrap_or(("1", "N"));
    let beyond = |end: &str, step: i64| match end.parse::<i64>() {
        Ok(end) => (end + step).to_string(),
        Err(_) => format!("{end}{step:+}"),
    };
    [beyond(first, -1), beyond(last, 1)].map(|end| format!("{array}[{end}{others}]")).to_vec()
}

/// The ends of the range in the declaration of an index.
pub(super) fn range_of<'a>(scene: &Scene<'a>, index: &str) -> Option<(&'a str, &'a str)> {
    scene.lines.iter().filter(|line| line.text(0) == "index").find_map(|line| {
        let at = (1..line.tokens.len()).find(|&k| line.is_name(k) && line.text(k) == index)?;
        let equals = line.find(at, "=")?;
        let dots = (equals..line.tokens.len()).find(|&k| line.kind(k) == Some(TokenKind::Range))?;
        Some((line.slice(equals + 1, dots), line.slice(dots + 1, line.span_end(dots + 1))))
    })
}

/// `boundary periodic i, j`
fn listed(line: &Line<'_>) -> Option<IdiomMatch> {
    let rule = line.text(1);
    if !RULES.contains(&rule) {
        return None;
    }
    let names: Vec<usize> = (3..line.tokens.len()).filter(|&k| line.text(k - 1) == "," && line.is_name(k)).collect();
    let bare = |k: usize| matches!(line.text(k + 1), "," | "") && !RULES.contains(&line.text(k));
    let missing: Vec<usize> = names.into_iter().filter(|&k| bare(k)).collect();
    let first = *missing.first()?;
    let listed: Vec<String> = missing.iter().map(|&k| format!("{rule} {}", line.text(k))).collect();
    let found = IdiomMatch::new(CODE, format!("write `{rule}` for each index"), line.span(first, first))
        .label(format!("write `{rule} {}`", line.text(first)))
        .help(format!("write `boundary {rule} {}, {}`", line.text(2), listed.join(", ")));
    Some(missing.iter().fold(found, |found, &k| {
        let start = line.tokens[k].start;
        found.fix(Span::new(start, start), format!("{rule} "))
    }))
}

/// `boundary neumann i`, `boundary dirichlet i = 0`
fn kind_of_boundary(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    // `zero-flux`
    let joined = line.text(2) == "-" && line.touches(1) && line.touches(2) && line.is_name(3);
    let (next, last) = if joined { (4, 3) } else { (2, 1) };
    let word = line.slice(1, next).to_lowercase().replace(['-', '_'], "");
    if scene.is_declared(line.text(1)) || line.text(next) == "[" {
        return None;
    }
    let index = line.text(next);
    let fits = |indices: &Vec<&str>| indices.len() == 1 && (!scene.indices.contains(index) || indices[0] == index);
    let mut arrays: Vec<&str> =
        scene.arrays.iter().filter(|(_, indices)| fits(indices)).map(|(name, _)| *name).collect();
    // a state has values beyond its ends rather than a parameter
    arrays.sort_by_key(|name| (!scene.states.contains(name), *name));
    let u = arrays.first().copied().unwrap_or("u");
    let help = match word.as_str() {
        "neumann" | "noflux" | "reflecting" | "reflective" | "insulated" | "zeroflux" | "open" | "outflow"
        | "zerogradient" | "adiabatic" => {
            format!("without a flux through the ends, write `boundary clamp {}`", index_of(scene, u))
        }
        "wrap" | "cyclic" | "wraparound" | "circular" | "ring" | "torus" => {
            format!("write `boundary periodic {}`", index_of(scene, u))
        }
        "dirichlet" | "fixed" | "zero" | "absorbing" | "closed" => {
            format!("write the values beyond the ends: for `index i = 1..N`, `boundary {u}[0] = 0, {u}[N+1] = 0`")
        }
        _ => return None,
    };
    Some(
        IdiomMatch::new(CODE, "write a boundary by the values beyond the ends", line.span(1, last))
            .label("a kind of boundary")
            .over(line.range.clone())
            .help(help),
    )
}

/// The index of an array.
fn index_of<'a>(scene: &Scene<'a>, array: &str) -> &'a str {
    scene.arrays.get(array).and_then(|indices| indices.first()).copied().unwrap_or("i")
}
