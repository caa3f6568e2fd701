//! Subscripts and reductions of other languages: `u[(i+1) % N]`, `u_i' = ...`, `Sum[u[j], {j, 1, N}]`,
//! `sum(e for j in 1:N if c)`, `-k*A*x[i]` with a matrix, `d[A]/dt`, `Derivative[1][x][t]`, slices from the end.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0135;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(slices(scene, line).or_else(|| concentration(scene, line)).or_else(|| underscored(scene, line)));
    for at in 0..line.tokens.len() {
        let idiom = wrapped(scene, line, at)
            .or_else(|| mathematica_sum(scene, line, at))
            .or_else(|| filtered(scene, line, at))
            .or_else(|| matrix(scene, line, at))
            .or_else(|| operator(line, at));
        found.extend(idiom);
    }
}

/// `u[(i+1) % N]`: a ring.
fn wrapped(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let indices = scene.arrays.get(line.text(at)).filter(|_| line.text(at + 1) == "[" && at > 0)?;
    let close = line.close(at + 1)?;
    let sign = (at + 2..close).find(|&k| matches!(line.text(k), "%" | "mod"))?;
    let index = indices.first().copied().unwrap_or("i");
    let plain = super::line::bare(line.slice(at + 2, sign));
    let found = IdiomMatch::new(CODE, "a subscript has no remainder", line.span(at, close)).label("a ring");
    let place =
        if line.text(sign) == "mod" { "its neighbour".to_owned() } else { format!("`{}[{plain}]`", line.text(at)) };
    Some(found.help(format!("write {place}, and `boundary periodic {index}` on a line of its own")))
}

/// `Sum[u[j], {j, 1, N}]`
fn mathematica_sum(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = match line.text(at) {
        "Sum" => "sum",
        "Product" => "prod",
        _ => return None,
    };
    let close = line.close(at + 1).filter(|_| line.text(at + 1) == "[" && !scene.is_declared(line.text(at)))?;
    let [value, list] = line.arguments(at + 1)?.try_into().ok()?;
    let inside = line.arguments(list.start).filter(|_| line.text(list.start) == "{")?;
    let text = |k: usize| inside.get(k).map(|r| line.slice(r.start, r.end));
    let (index, low, high) = match inside.len() {
        2 => (text(0)?, "1", text(1)?),
        3 => (text(0)?, text(1)?, text(2)?),
        _ => return None,
    };
    let better = format!("{word}({index} in {low}..{high}: {})", line.slice(value.start, value.end));
    let found = IdiomMatch::new(CODE, format!("`{word}` has its index first"), line.span(at, close));
    Some(found.label("a reduction").write(better))
}

/// `sum(e for j in 1:N if c)`
fn filtered(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let close = line.close(at + 1).filter(|_| matches!(word, "sum" | "prod") && line.text(at + 1) == "(")?;
    let start = (at + 2..close).find(|&k| line.text(k) == "for" && line.text(k + 2) == "in")?;
    let filter = (start..close).find(|&k| line.text(k) == "if")?;
    let (value, index) = (line.slice(at + 2, start), line.text(start + 1));
    if let Some(found) = super::comprehension::reduced(scene, line, at) {
        return Some(found);
    }
    let range = line.slice(start + 3, filter).replace(':', "..");
    let found = IdiomMatch::new(CODE, format!("`{word}` needs its index first"), line.span(at, close));
    let condition = line.slice(filter + 1, close);
    let range = if range.contains("range") { String::new() } else { format!(" in {range}") };
    Some(found.label("a reduction").help(format!("write `{word}({index}{range} where {condition}: {value})`")))
}

/// `u[i]' = -k*A*u[i]` with a matrix `A[i, j]`.
fn matrix(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let indices = scene.arrays.get(line.text(at)).filter(|list| list.len() == 2 && line.text(at + 1) == "*")?;
    let vector = line.text(at + 2);
    let own = scene.arrays.get(vector).filter(|list| list.len() == 1 && line.text(at + 3) == "[")?;
    let close = line.close(at + 3)?;
    let left = line.text(2);
    let fits =
        line.text(1) == "[" && left == line.slice(at + 4, close) && own.len() == 1 && scene.indices.contains(left);
    let other = indices.iter().copied().find(|index| *index != left && scene.indices.contains(index))?;
    let better = format!("sum({other}: {}[{left},{other}]*{vector}[{other}])", line.text(at));
    let found = IdiomMatch::new(CODE, "a product with a matrix is a sum", line.span(at, close));
    fits.then(|| found.label("row by row").help(format!("write `{better}`")))
}

/// `u_i' = -u_i` where `u[i]` is declared.
fn underscored(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (name, index) = line.text(0).rsplit_once('_')?;
    let declared = scene.arrays.get(name).is_some_and(|list| list.as_slice() == [index]);
    let fits = declared
        && line.kind(1) == Some(TokenKind::Prime)
        && line.text(2) == "="
        && !scene.states.contains(line.text(0));
    let mut found = IdiomMatch::new(CODE, "an index stands in square brackets", line.span(0, 0))
        .label(format!("write `{name}[{index}]`"))
        .over(line.range.clone());
    for k in 0..line.tokens.len() {
        let other = line.text(k).rsplit_once('_');
        if let Some((base, sub)) =
            other.filter(|(base, sub)| scene.arrays.get(base).is_some_and(|list| list.as_slice() == [*sub]))
        {
            found = found.fix(line.span(k, k), format!("{base}[{sub}]"));
        }
    }
    fits.then(|| found.help(format!("write `{name}[{index}]`, as it is declared")))
}

/// `d[A]/dt = -kf*[A]` of a species.
fn concentration(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let fits = line.reads(0, &["d", "["]) && line.is_name(2) && line.reads(3, &["]", "/", "dt", "="]);
    let name = line.text(2);
    let mut right = line.slice(7, line.tokens.len()).to_owned();
    let mut fixes = vec![(line.span(0, 5), format!("{name}'"))];
    for k in 7..line.tokens.len() {
        let bracket = line.text(k) == "[" && line.is_name(k + 1) && line.text(k + 2) == "]" && !line.is_name(k - 1);
        if bracket {
            right = right.replace(line.slice(k, k + 3), line.text(k + 1));
            fixes.push((line.span(k, k + 2), line.text(k + 1).to_owned()));
        }
    }
    let found =
        IdiomMatch::new(&codes::E0136, "a concentration needs no brackets", line.span(0, 5)).over(line.range.clone());
    let found = found.label(format!("write `{name}'`"));
    if fits && scene.states.contains(name) {
        let found = found.help(format!("write `{name}' = {right}`"));
        return Some(fixes.into_iter().fold(found, |found, (span, text)| found.fix(span, text)));
    }
    (fits && !scene.is_declared(name))
        .then(|| found.help(format!("write `{name}' = {right}`, and declare `state {name} = 1`")))
}

/// `Derivative[1][x][t]`
fn operator(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let order: usize = line.text(at + 2).parse().ok().filter(|n| (1..=4).contains(n))?;
    let fits = line.text(at) == "Derivative"
        && line.reads(at + 1, &["[", line.text(at + 2), "]", "["])
        && line.is_name(at + 5);
    let last = if line.text(at + 7) == "[" { line.close(at + 7)? } else { at + 6 };
    let better = format!("{}{}", line.text(at + 5), super::rate::primes(order));
    let found = IdiomMatch::new(&codes::E0132, super::rate::HEADLINE, line.span(at, last));
    (fits && line.text(at + 6) == "]").then(|| {
        let found = found.label(format!("write `{better}`")).write(better);
        if line.text(last + 1) == "==" { found.fix(line.span(last + 1, last + 1), "=") } else { found }
    })
}

/// `u[1:-1]' = u[:-2] - 2*u[1:-1] + u[2:]` of Python, which counts from the end.
fn slices(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let equals = line.find(0, "=")?;
    let name = line.text(0);
    let index = scene.arrays.get(name)?.first()?;
    let open = (0..line.tokens.len()).filter(|&k| line.text(k) == "[" && k > 0 && line.text(k - 1) == name);
    let parts: Vec<&str> = open.filter_map(|k| Some(line.slice(k + 1, line.close(k)?))).collect();
    let from_end = parts.iter().any(|part| part.contains(":-") || part.starts_with(':') || part.ends_with(':'));
    let (first, last) = (scene.indices.contains(index), line.text(equals - 1));
    let found = IdiomMatch::new(CODE, "odec has no slices: name the index", line.span(0, equals - 1));
    if !parts.is_empty() && parts.iter().all(|part| *part == ":") && first && last == "'" {
        let better = line.whole().replace("[:]", &format!("[{index}]"));
        let found = found.label("all elements").help(format!("write `{better}`")).over(line.range.clone());
        let places = (0..line.tokens.len()).filter(|&k| line.reads(k, &["[", ":", "]"]));
        return Some(places.fold(found, |found, k| found.fix(line.span(k + 1, k + 1), *index)));
    }
    let help = format!(
        "write the neighbours by the index, `{name}[{index}-1]` and `{name}[{index}+1]`, and the ends with a range: \
         `{name}[{index} in 2..N-1]' = ...`"
    );
    (from_end && first && last == "'").then(|| found.label("slices").help(help).over(line.range.clone()))
}
