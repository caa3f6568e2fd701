//! Arrays in other notations: `u(i)`, `u[i][j]`, `A*x`, `Σ`, parameters by number.

use crate::diagnostic::{Code, codes};
use odec_ir::Span;

use super::bracket;
use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0135;

/// Names of arrays of numbered parameters or inputs in other languages.
const NUMBERED: [&str; 14] =
    ["par", "p", "pars", "params", "args", "theta", "THETA", "ETA", "eta", "EPS", "ERR", "c", "const_", "inputs"];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    if line.text(0) == "index" && matches!(line.text(3), "range" | "seq" | "seq_len" | "arange") {
        let end = line.tokens.len();
        found.extend(range_of(line, 3, end).map(|better| {
            IdiomMatch::new(CODE, "write a range with two dots", line.span(3, end - 1))
                .label(format!("write `{better}`"))
                .write(better)
        }));
    }
    if let Some(idiom) = super::ranges::search(scene, line) {
        found.push(idiom);
        return;
    }
    if let Some(idiom) = super::comprehension::listed(scene, line) {
        found.push(idiom);
        return;
    }
    let loops = (0..line.tokens.len()).any(|at| line.text(at) == "for");
    for at in 0..line.tokens.len() {
        let idiom = past(scene, line, at)
            .or_else(|| round(scene, line, at))
            .or_else(|| two_brackets(scene, line, at))
            .or_else(|| product(scene, line, at))
            .or_else(|| loops.then(|| super::comprehension::anywhere(scene, line, at))?)
            .or_else(|| sigma(scene, line, at))
            .or_else(|| list_call(line, at))
            .or_else(|| super::totals::dot(scene, line, at))
            .or_else(|| starred(scene, line, at))
            .or_else(|| ranged(scene, line, at))
            .or_else(|| super::totals::of_all(scene, line, at))
            .or_else(|| laplacian(scene, line, at))
            .or_else(|| quotient_in_space(scene, line, at))
            .or_else(|| super::ranges::numbered_name(scene, line, at))
            .or_else(|| amount(scene, line, at))
            .or_else(|| numbered(scene, line, at))
            .or_else(|| bracket::group(scene, line, at))
            .or_else(|| bracket::braces(scene, line, at));
        found.extend(idiom);
    }
}

/// `y[t-1]` of a state without indices.
fn past(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let name = line.text(at);
    let fits = line.is_name(at) && line.touches(at) && line.text(at + 1) == "[" && line.text(at + 2) == scene.time;
    if !fits || line.text(at + 3) != "-" || scene.arrays.contains_key(name) || scene.indices.contains(scene.time) {
        return None;
    }
    let close = line.close(at + 1)?;
    // `f[t - 2]` of a function or an input
    if scene.functions.contains(name) || scene.inputs.contains(name) {
        let better = format!("{name}({})", line.slice(at + 2, close));
        let headline = "write the arguments of a function in round brackets";
        return Some(IdiomMatch::new(&codes::E0131, headline, line.span(at, close)).write(better));
    }
    let tau = super::line::operand(line.slice(at + 4, close));
    (scene.is_declared(name) && close > at + 4 && line.text(close + 1) != "=")
        .then(|| super::absent::delayed(line.span(at, close), name, &tau, scene.names_of_chain()))
}

/// `u(i)` of an array `u[i]`.
fn round(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let name = line.text(at);
    if !line.is_name(at) || line.text(at + 1) != "(" || !line.touches(at) || !scene.arrays.contains_key(name) {
        return None;
    }
    let close = line.close(at + 1)?;
    let inside = line.slice(at + 2, close);
    let indices = scene.arrays.get(name).map_or(1, Vec::len);
    // `expect u(1)[2] = 3`
    let element = line.close(close + 1).filter(|_| line.text(close + 1) == "[" && line.text(0) == "expect");
    if let Some(last) = element {
        let better = format!("{name}{}({inside})", line.slice(close + 1, last + 1));
        let found = IdiomMatch::new(CODE, "the index of an element comes before the time", line.span(at, last));
        return Some(found.label("an element").write(better));
    }
    if line.text(0) == "expect" && at == 1 && line.text(close + 1) == "=" {
        let element = vec!["1"; indices.max(1)].join(", ");
        return Some(
            IdiomMatch::new(CODE, "an expectation names one element of an array", line.span(at, close))
                .label(format!("`{name}` is an array"))
                .help(format!("write an element before the time: `expect {name}[{element}]({inside}) = ...`"))
                .over(line.range.clone()),
        );
    }
    (!inside.is_empty() && inside != scene.time).then(|| {
        let better = format!("{name}[{inside}]");
        IdiomMatch::new(CODE, "write an index in square brackets", line.span(at, close))
            .label(format!("write `{better}`"))
            .help(format!("write `{better}`"))
            .fix(line.span(at + 1, at + 1), "[")
            .fix(line.span(close, close), "]")
    })
}

/// `u[i][j]`
fn two_brackets(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let first = at.checked_sub(1).is_some_and(|before| line.is_name(before) && line.touches(before));
    if line.text(at) != "[" || !first || scene.functions.contains(line.text(at - 1)) {
        return None;
    }
    let mut close = line.close(at)?;
    let mut inside = line.slice(at + 1, close).to_string();
    let mut fixes = Vec::new();
    while line.text(close + 1) == "[" && line.touches(close) {
        let next = line.close(close + 1)?;
        inside = format!("{inside}, {}", line.slice(close + 2, next));
        fixes.push(line.span(close, close + 1));
        close = next;
    }
    if fixes.is_empty() {
        return None;
    }
    let found = IdiomMatch::new(CODE, "write several indices in one bracket", line.span(at - 1, close));
    let found = found.label("two brackets").help(format!("write `{}[{inside}]`", line.text(at - 1)));
    Some(fixes.into_iter().fold(found, |found, span| found.fix(span, ", ")))
}

/// The product `A*x` of a matrix and a vector at `at`, as a sum, with its index of rows.
fn sum_of<'a>(scene: &Scene<'a>, line: &Line<'_>, at: usize) -> Option<(&'a str, String)> {
    let sign = matches!(line.text(at + 1), "*" | "@");
    let (matrix, vector) = (scene.arrays.get(line.text(at))?, scene.arrays.get(line.text(at + 2)));
    let ([i, j], Some([_])) = (matrix.as_slice(), vector.map(Vec::as_slice)) else { return None };
    if !sign || line.text(at + 3) == "[" {
        return None;
    }
    // an array that is declared by its ranges has no names of indices
    let by_range = i.parse::<i64>().is_ok() && j.parse::<i64>().is_ok();
    let (i, j) = if by_range { ("i", "j") } else { (*i, *j) };
    let primes = "'".repeat(primes_after(line, at + 2));
    (i != j).then(|| (i, format!("sum({j}: {}[{i},{j}]*{}[{j}]{primes})", line.text(at), line.text(at + 2))))
}

/// The number of primes after a token.
fn primes_after(line: &Line<'_>, at: usize) -> usize {
    (at + 1..line.tokens.len()).take_while(|&k| line.kind(k) == Some(TokenKind::Prime)).count()
}

/// `A*x` and `A @ x` of a matrix and a vector.
fn product(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let (i, better) = sum_of(scene, line, at)?;
    if at > 1 && line.text(at - 1) == "*" && scene.arrays.get(line.text(at - 2)).is_some_and(|of| of.len() == 2) {
        return Some(product_of_three(scene, line, at, (i, &better)));
    }
    let found = IdiomMatch::new(CODE, "write the product of a matrix and a vector as a sum", line.span(at, at + 2))
        .label("a product of a matrix and a vector")
        .help(format!("write `{better}`"));
    let last = at + 2 + primes_after(line, at + 2);
    let found = IdiomMatch { span: line.span(at, last), range: line.span(at, last).range(), ..found };
    // `M*q'' = -q`
    if at == 0 && line.text(last + 1) == "=" {
        let (right, _) = element_of(scene, line, last + 2, i);
        return Some(found.help(format!("write `{better} = {right}`")));
    }
    // the left-hand side determines the row
    let left = line.text(0);
    if line.reads(1, &["[", i, "]"]) && line.is_name(0) {
        return Some(found.write(better));
    }
    let primes = primes_after(line, 0);
    let whole = scene.arrays.get(left).is_some_and(|of| of.len() == 1) && primes > 0 && line.text(primes + 1) == "=";
    if !whole {
        return Some(found);
    }
    let (right, fixes) = element_of(scene, line, primes + 2, i);
    let name = line.tokens[0].end;
    let equation = format!("{left}[{i}]{} = {right}", "'".repeat(primes));
    let by_range = scene.arrays.get(line.text(at)).is_some_and(|of| of.iter().all(|of| of.parse::<i64>().is_ok()));
    if by_range && !scene.indices.contains(i) {
        let range = range_of_array(scene, line.text(at)).unwrap_or_else(|| "1..2".to_owned());
        return Some(found.help(format!("write `index i, j = {range}`, and `{equation}`")));
    }
    let found = found.help(format!("write `{equation}`")).write(better).fix(Span::new(name, name), format!("[{i}]"));
    Some(fixes.into_iter().fold(found, |found, end| found.fix(Span::new(end, end), format!("[{i}]"))))
}

/// `A*B*x`: the product of the matrix `A` and the vector `B*x`, which gets a name.
fn product_of_three(scene: &Scene<'_>, line: &Line<'_>, at: usize, (i, inner): (&str, &str)) -> IdiomMatch {
    let matrix = line.text(at - 2);
    let (rows, columns) = scene.arrays.get(matrix).map_or((i, "j"), |of| (of[0], of[1]));
    let name = scene.free_name(&["v", "w", "z", "b"]);
    let found = IdiomMatch::new(CODE, "write the product of a matrix and a vector as a sum", line.span(at - 2, at + 2));
    found.label("a product of matrices and a vector").help(format!(
        "name the inner product, `{name}[{i}] = {inner}`, and write `sum({columns}: {matrix}[{rows},{columns}]*\
         {name}[{columns}])`"
    ))
}

/// The right side of an equation for all elements as that for the element `i`, and the ends of the names that get an index.
fn element_of(scene: &Scene<'_>, line: &Line<'_>, from: usize, i: &str) -> (String, Vec<usize>) {
    let (mut text, mut ends) = (String::new(), Vec::new());
    let mut last = line.tokens.get(from).map_or(line.range.end, |token| token.start);
    let mut k = from;
    while k < line.tokens.len() {
        let token = line.tokens[k];
        if let Some((_, sum)) = sum_of(scene, line, k) {
            text.push_str(line.between(last, token.start));
            text.push_str(&sum);
            let end = k + 2 + primes_after(line, k + 2);
            last = line.tokens[end].end;
            k = end + 1;
            continue;
        }
        let vector = scene.arrays.get(line.text(k)).is_some_and(|of| of.len() == 1);
        if vector && line.is_name(k) && line.text(k + 1) != "[" {
            text.push_str(line.between(last, token.end));
            text.push_str(&format!("[{i}]"));
            last = token.end;
            ends.push(token.end);
        }
        k += 1;
    }
    text.push_str(line.between(last, line.range.end));
    (text, ends)
}

/// `1..2` of `const A[1..2, 1..2]`, if both ranges are equal.
fn range_of_array(scene: &Scene<'_>, name: &str) -> Option<String> {
    scene.lines.iter().find_map(|line| {
        let declares = matches!(line.text(0), "const" | "param" | "state");
        let at = (1..line.tokens.len()).find(|&k| declares && line.text(k) == name && line.text(k + 1) == "[")?;
        let ranges = line.arguments(at + 1)?;
        let text = |k: usize| ranges.get(k).map(|r| line.slice(r.start, r.end).to_owned());
        text(0).filter(|range| text(1).as_ref() == Some(range) && range.contains(".."))
    })
}

/// `1:3`, `1..3`, `range(3)`, `range(1, 3)`, `seq_len(3)` as the range of an index.
pub(super) fn range_of(line: &Line<'_>, from: usize, to: usize) -> Option<String> {
    let word = line.text(from);
    if matches!(word, "range" | "arange" | "seq_len" | "seq") && line.text(from + 1) == "(" {
        let arguments = line.arguments(from + 1)?;
        let text = |k: usize| arguments.get(k).map_or("", |r| line.slice(r.start, r.end));
        let below = |end: &str| match end.parse::<i64>() {
            Ok(n) => n.saturating_sub(1).to_string(),
            Err(_) => super::ranges::stepped(end, -1),
        };
        return match (word, arguments.len()) {
            ("seq_len", 1) => Some(format!("1..{}", text(0))),
            ("seq", 2) => Some(format!("{}..{}", text(0), text(1))),
            ("range" | "arange", 1) => Some(format!("0..{}", below(text(0)))),
            ("range" | "arange", 2) => Some(format!("{}..{}", text(0), below(text(1)))),
            _ => None,
        };
    }
    let colon = [":", "..", ","].into_iter().find_map(|sign| line.find(from, sign).filter(|&k| k < to))?;
    let (a, b) = (line.slice(from, colon), line.slice(colon + 1, to));
    (!a.is_empty() && !b.is_empty() && !b.contains(':')).then(|| format!("{a}..{b}"))
}

/// The reduction that a sign of mathematics stands for.
pub(super) fn reduction(sign: &str) -> Option<&'static str> {
    match sign {
        "Σ" | "∑" => Some("sum"),
        "Π" | "∏" => Some("prod"),
        _ => None,
    }
}

/// `Σ(u[i])`, `∑ u[i]`, `Σ_j u[j]`, `sum_j u[j]`, `sum u[j]`
fn sigma(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let text = line.text(at);
    let (sign, below) = text.split_once('_').filter(|(_, below)| !below.is_empty()).unwrap_or((text, ""));
    let word = match sign {
        "sum" | "prod" if !below.is_empty() || (line.is_name(at + 1) && line.text(at + 2) == "[") => sign,
        _ => reduction(sign)?,
    };
    if scene.is_declared(text) {
        return None;
    }
    let mut next = at + 1;
    // the index below the sign
    while matches!(line.text(next), "_") || line.text(next).starts_with('_') {
        next += 1;
    }
    let end = line.operand_end(next)?;
    let inside = super::line::bare(line.slice(next, end));
    // `Σ(u)` of a whole array
    if let ("", Some(indices)) = (below, scene.arrays.get(inside))
        && let Some((over, element)) = super::totals::bound_indices(scene, line, indices)
    {
        let better = format!("{word}({over}: {inside}[{element}])");
        let found = IdiomMatch::new(CODE, format!("write `{text}` as `{word}`"), line.span(at, end - 1));
        return Some(found.label("no index").help(format!("write `{better}`")));
    }
    let (index, is_only) = match below {
        "" => summed(line, next, end),
        _ => (below, scene.indices.contains(below)),
    };
    // the index may be named already: `Σ(j in 1..N: u[j])`
    let depth_one = |k: usize| line.text(k) == ":" && line.operand_end(next).is_some();
    let named = line.text(next) == "(" && (next..end).any(depth_one);
    let better = if named { format!("{word}({inside})") } else { format!("{word}({index}: {inside})") };
    let headline =
        if text == word { format!("`{word}` needs its index") } else { format!("write `{text}` as `{word}`") };
    let found = IdiomMatch::new(CODE, headline, line.span(at, end - 1)).label("no index");
    // the extent of the sum is certain only if brackets enclose it, or the line ends
    let certain = line.text(next) == "(" || end == line.tokens.len();
    if !certain && line.binds(end) {
        return Some(found.help(format!("write `{word}({index}: ...)`, with all that it covers behind the colon")));
    }
    let writes = certain && next == at + 1 && (is_only || named);
    Some(if writes { found.write(better) } else { found.help(format!("write `{better}`")) })
}

/// The index over which a sum of these tokens runs, and whether it is the only one: an index of the left-hand side is
/// not.
fn summed<'a>(line: &Line<'a>, first: usize, end: usize) -> (&'a str, bool) {
    let subscripts = |from: usize, to: usize| {
        let opens = move |k: &usize| line.text(*k) == "[" || line.text(*k) == ",";
        (from..to).filter(opens).map(|k| line.text(k + 1)).filter(|name| !name.is_empty())
    };
    let left: Vec<&str> = line.find(0, "=").map_or(Vec::new(), |equals| subscripts(0, equals).collect());
    let mut own: Vec<&str> = subscripts(first, end).filter(|name| !left.contains(name)).collect();
    own.dedup();
    match own.as_slice() {
        [one] => (one, true),
        [first, ..] => (first, false),
        [] => ("i", !(first..end).any(|k| line.text(k) == "[")),
    }
}

/// `max([x, y])`
fn list_call(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let fits = matches!(line.text(at), "max" | "min") && line.reads(at + 1, &["(", "["]);
    let close = line.close(at + 1).filter(|_| fits)?;
    let list = line.close(at + 2).filter(|&list| list + 1 == close)?;
    let arguments = line.arguments(at + 2)?;
    // the blanks of `max([x y])` separate values
    let several = (at + 3..list).any(|k| line.tokens[k - 1].ends_value() && line.tokens[k].begins_value());
    let items: Vec<String> = if arguments.len() == 1 && (several || list > at + 4) {
        super::whole::row(line, at + 3, list)?
    } else {
        arguments.iter().map(|r| line.slice(r.start, r.end).to_owned()).collect()
    };
    let mut text = items.into_iter();
    let first = text.next()?;
    let word = line.text(at);
    let better = text.fold(first, |so_far, next| format!("{word}({so_far}, {next})"));
    Some(
        IdiomMatch::new(CODE, format!("`{word}` takes two values, not a list"), line.span(at, close))
            .label("a list")
            .write(better),
    )
    .filter(|_| list > at)
}

/// `ARRAYSUM(u[*])`, `sum(u[:])`, `sum(0, 9) of (x)`
fn starred(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) == "of" && line.text(at + 1) == "(" && at >= 6 && line.text(at - 6) == "sum" {
        let close = line.close(at + 1)?;
        let better = format!("sum(i in {}..{}: {})", line.text(at - 4), line.text(at - 2), line.slice(at + 2, close));
        let found = IdiomMatch::new(CODE, "a sum needs its index", line.span(at - 6, close)).label("no index");
        return Some(found.help(format!("write `{better}`, with `i` as the index")));
    }
    let sum = matches!(line.text(at), "ARRAYSUM" | "arraysum" | "sum" | "SUM") && line.text(at + 1) == "(";
    let fits = sum && line.is_name(at + 2) && line.text(at + 3) == "[" && matches!(line.text(at + 4), "*" | ":");
    fits.then(|| {
        let name = line.text(at + 2);
        let own = scene.arrays.get(name).and_then(|indices| super::totals::bound_indices(scene, line, indices));
        let (over, element) = own.unwrap_or_else(|| ("i".to_owned(), "i".to_owned()));
        IdiomMatch::new(CODE, "a sum needs its index", line.span(at, at + 6))
            .label("no index")
            .help(format!("write `sum({over}: {name}[{element}])`"))
    })
}

/// `sum(u[j], j=1..3)`, `sum(u[1:3])`, `u[end]`
fn ranged(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let array = |k: usize| scene.arrays.get(line.text(k)).and_then(|indices| indices.first()).copied();
    if matches!(word, "sum" | "prod" | "Sum" | "add" | "product")
        && line.text(at + 1) == "("
        && !scene.is_declared(word)
    {
        let close = line.close(at + 1)?;
        let arguments = line.arguments(at + 1)?;
        let [term, over] = arguments.as_slice() else { return None };
        let range = line.find(over.start, "..").filter(|&k| k < close);
        if !line.is_name(over.start) || line.text(over.start + 1) != "=" || range.is_none() {
            return None;
        }
        let name = if matches!(word, "prod" | "product") { "prod" } else { "sum" };
        let (index, range) = (line.text(over.start), line.slice(over.start + 2, close));
        let better = format!("{name}({index} in {range}: {})", line.slice(term.start, term.end));
        let found = IdiomMatch::new(CODE, format!("`{name}` needs its index first"), line.span(at, close));
        return Some(found.label(format!("write `{better}`")).write(better));
    }
    let index = array(at).filter(|_| line.text(at + 1) == "[" && line.touches(at))?;
    let close = line.close(at + 1)?;
    if line.reads(at + 2, &["end", "]"]) && !scene.is_declared("end") {
        let found = IdiomMatch::new(CODE, "read the last element by its number", line.span(at + 2, at + 2));
        let help = format!("with `index {index} = 1..N`, the last element is `{word}[N]`");
        return Some(found.label("unknown word").help(help));
    }
    let colon = line.find(at + 2, ":").filter(|&k| k < close)?;
    let (from, to) = (line.slice(at + 2, colon), line.slice(colon + 1, close));
    // `u[i in 2:N-1]`
    if line.is_name(at + 2) && line.text(at + 3) == "in" {
        let found = IdiomMatch::new(CODE, "write a range with two dots", line.span(colon, colon));
        let better = format!("{word}[{from}..{to}]");
        return Some(found.label("write `..`").help(format!("write `{better}`")).fix(line.span(colon, colon), ".."));
    }
    let index = super::ranges::index_for(scene, word)?;
    let range = if from.is_empty() || to.is_empty() { String::new() } else { format!(" in {from}..{to}") };
    if line.text(0) == "output" && at == 1 && close + 1 == line.tokens.len() && !range.is_empty() {
        let found = IdiomMatch::new(CODE, "write a range with two dots", line.span(colon, colon));
        let better = format!("output {word}[{from}..{to}]");
        return Some(found.label("write `..`").help(format!("write `{better}`")).fix(line.span(colon, colon), ".."));
    }
    let mut primes = String::new();
    while at == 0 && line.text(close + 1 + primes.len()) == "'" {
        primes.push('\'');
    }
    if at == 0 && line.text(close + 1 + primes.len()) == "=" {
        return Some(
            IdiomMatch::new(CODE, "name the index of the elements that an equation is for", line.span(at, close))
                .label("several elements")
                .help(format!("write `{word}[{index}{range}]{primes} = ...`; the equation reads `{word}[{index}]`")),
        );
    }
    // a row of a matrix times a vector
    let row = line.reads(at + 1, &["["]) && line.reads(at + 3, &[",", ":", "]", "*"]) && line.is_name(at + 7);
    if row && let Some([_, second]) = scene.arrays.get(word).map(Vec::as_slice) {
        let vector = line.text(at + 7);
        let found = IdiomMatch::new(CODE, "a part of an array is not a value", line.span(at, at + 7));
        let first = line.text(at + 2);
        let better = format!("sum({second}: {word}[{first},{second}]*{vector}[{second}])");
        return Some(found.label("a row times a vector").help(format!("write `{better}`")));
    }
    if let Some((over, element)) = super::totals::bound_part(scene, line, at) {
        let found = IdiomMatch::new(CODE, "a part of an array is not a value", line.span(at, close));
        let help = format!("write one element, or reduce them: `sum({over}: {element})`");
        return Some(found.label("several elements").help(help));
    }
    Some(
        IdiomMatch::new(CODE, "a part of an array is not a value", line.span(at, close))
            .label("several elements")
            .help(format!("write one element, or reduce them: `sum({index}{range}: {word}[{index}])`")),
    )
}

/// `d2u`, `d^2u`, `d²u`, `∂u`, and `dx2`, `dx^2`, `∂x²` below a line: the name, the order and the token after it.
fn differential<'a>(line: &Line<'a>, at: usize, below: bool) -> Option<(&'a str, u8, usize)> {
    let power = |k: usize| match line.text(k) {
        "²" => Some((2, k + 1)),
        "^" if line.text(k + 1) == "2" => Some((2, k + 2)),
        _ => None,
    };
    let (name, order, next) = match line.text(at) {
        "d" | "∂" => match power(at + 1) {
            Some((order, k)) => (line.text(k), order, k + 1),
            // `2u` of `d^2u` is one token
            None if line.text(at + 1) == "^" => (line.text(at + 2).strip_prefix('2')?, 2, at + 3),
            None => (line.text(at + 1), 1, at + 2),
        },
        word => {
            let name = word.strip_prefix('d')?;
            let plain = if below { name } else { name.trim_start_matches('2') };
            (plain, if plain == name { 1 } else { 2 }, at + 1)
        }
    };
    let (name, order) = match name.strip_suffix('2').filter(|_| below) {
        Some(name) => (name, 2),
        None => (name, order),
    };
    let raised = power(next).filter(|_| below);
    let (order, next) = raised.unwrap_or((order, next));
    name.starts_with(char::is_alphabetic).then_some((name, order, next))
}

/// `d2u/dx2`, `d^2u/dx^2`, `∂²u/∂x²`, `du/dx`: a state over a variable that is not time.
fn quotient_in_space(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if at == 0 || scene.is_declared(line.text(at)) {
        return None;
    }
    let (state, order, slash) = differential(line, at, false)?;
    if line.text(slash) != "/" || scene.is_declared(line.text(slash + 1)) {
        return None;
    }
    let (by, other, end) = differential(line, slash + 1, true)?;
    if !scene.states.contains(state) || by == scene.time || order != other {
        return None;
    }
    let better = if order == 2 {
        format!("({state}[i-1] - 2*{state}[i] + {state}[i+1])/d{by}^2")
    } else {
        format!("({state}[i+1] - {state}[i-1])/(2*d{by})")
    };
    Some(
        IdiomMatch::new(CODE, "write derivatives in space as differences", line.span(at, end - 1))
            .label("a derivative in space")
            .help(format!(
                "with `index i = 1..100`, `param d{by} = 0.01` and `state {state}[i] = 0`, write `{better}`"
            )),
    )
}

/// `laplacian(u)`, `∇²u`.
fn laplacian(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let called = matches!(word, "laplacian" | "Laplacian" | "laplace" | "del2" | "lap") && line.text(at + 1) == "(";
    if !(called && !scene.is_declared(word) || word == "∇") {
        return None;
    }
    Some(
        IdiomMatch::new(CODE, "write derivatives in space as differences", line.span(at, at))
            .label("a derivative in space")
            .help("with `index i = 1..N` and `state u[i] = 0`, write `(u[i-1] - 2*u[i] + u[i+1])/dx^2`"),
    )
}

/// `A(2)` of NONMEM: the amount in a compartment.
fn amount(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let number = line.kind(at + 2) == Some(TokenKind::Number) && line.text(at + 3) == ")";
    let fits = line.text(at) == "A"
        && line.text(at + 1) == "("
        && line.touches(at)
        && number
        && at > 0
        && line.text(0) != "DADT";
    (fits && !scene.is_declared("A") && !scene.is_function("A")).then(|| {
        let (text, number) = (line.slice(at, at + 4), line.text(at + 2));
        let headline = format!("`{text}` refers to a value by number, but odec needs a name");
        let found = IdiomMatch::new(CODE, headline, line.span(at, at + 3)).label("the amount in a compartment?");
        found.help(format!("write the name of its state: with `state A{number} = 0`, write `A{number}`"))
    })
}

/// `THETA(1)`, `par[0]`
fn numbered(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let bracket = matches!(line.text(at + 1), "(" | "[") && line.touches(at);
    let number = line.kind(at + 2) == Some(TokenKind::Number) && matches!(line.text(at + 3), ")" | "]");
    if !NUMBERED.contains(&word) || scene.is_declared(word) || line.text(at + 4) == "." || !bracket || !number {
        return None;
    }
    // a part of the model, `use "cell.ode" as c[i]`
    let is_part =
        |line: &Line<'_>| line.text(0) == "use" && line.find(0, "as").is_some_and(|k| line.text(k + 1) == word);
    if scene.lines.iter().any(is_part) {
        return None;
    }
    let name = format!("{}{}", word.to_lowercase(), line.text(at + 2));
    Some(
        IdiomMatch::new(
            CODE,
            format!("`{}` refers to a value by number, but odec needs a name", line.slice(at, at + 4)),
            line.span(at, at + 3),
        )
        .label("which value is this?")
        .help(format!("give it a name: `param {name} = 1`, and write `{name}`")),
    )
}
