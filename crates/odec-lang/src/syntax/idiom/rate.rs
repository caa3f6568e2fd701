//! Derivatives in other notations: `d2x/dt2`, `d(x)/dt`, `diff(x, t)`, `D(x) ~`, `ẋ`, `dydt(1)`, `integral(x)`.

use crate::diagnostic::{Code, codes};
use odec_ir::Span;
use unicode_normalization::UnicodeNormalization;

use super::line::{Line, bare};
use super::{IdiomMatch, Scene, element};
use crate::syntax::explain::token::TokenKind;

pub(super) const CODE: &Code = &codes::E0132;
const STEP: &str = "write only the rate, not the time step";
pub(super) const HEADLINE: &str = "write a derivative with a prime";

/// Functions of one argument that mean its time derivative.
const RATES: [&str; 9] = ["D", "Dt", "ddt", "deriv", "derivative", "dot", "Differential", "derivn", "rate"];
/// Functions of an argument and the time.
const BY_TIME: [&str; 6] = ["diff", "Diff", "Derivative", "D", "DERIVN", "ode"];
/// Names of arrays of derivatives in other languages.
const VECTORS: [&str; 17] = [
    "dydt", "dxdt", "dudt", "dydx", "dy", "dx", "du", "dX", "dA", "ydot", "xdot", "yp", "DADT", "dADT", "dzdt",
    "rates", "dstate",
];
/// Functions that accumulate.
const INTEGRALS: [&str; 9] =
    ["integral", "Integral", "integrate", "INTEG", "INTGRL", "integ", "quad", "trapz", "cumtrapz"];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    if let Some(idiom) = stella(scene, line)
        .or_else(|| stepped(scene, line))
        .or_else(|| timed_step(scene, line))
        .or_else(|| positional(scene, line))
    {
        found.push(idiom);
        return;
    }
    let first = found.len();
    for at in 0..line.tokens.len() {
        let idiom = quotient(scene, line, at)
            .or_else(|| partial(scene, line, at))
            .or_else(|| called(scene, line, at))
            .or_else(|| method(scene, line, at))
            .or_else(|| dotted(scene, line, at))
            .or_else(|| integral(scene, line, at))
            .or_else(|| present(scene, line, at));
        // D(y)(t) and y(t) belong to the same notation: report once
        match (idiom, found.get_mut(first).filter(|known| known.code == CODE)) {
            (Some(idiom), Some(known)) if idiom.code != CODE => known.fixes.extend(idiom.fixes),
            (idiom, _) => found.extend(idiom),
        }
    }
}

pub(super) fn primes(order: usize) -> String {
    "'".repeat(order)
}

/// A derivative of this text between two tokens, with the changes that make the line an equation.
fn rate(line: &Line<'_>, from: usize, to: usize, of: &str, order: usize) -> IdiomMatch {
    let better = format!("{}{}", bare(of), primes(order));
    let found =
        IdiomMatch::new(CODE, HEADLINE, line.span(from, to)).label(format!("write `{better}`")).write(better.clone());
    equation(line, from, to, found)
}

/// `D(x) ~ ...` and `x'[t] == ...`: the sign between the sides of an equation.
fn equation(line: &Line<'_>, from: usize, to: usize, found: IdiomMatch) -> IdiomMatch {
    if from == 0 && matches!(line.text(to + 1), "~" | "==" | ":=") {
        return found.fix(line.span(to + 1, to + 1), "=");
    }
    found
}

/// `dx/dt`, `d2x/dt2`, `d^2x/dt^2`, `d(x)/dt`, `d/dt (x)`.
fn quotient(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if !line.is_name(at) || scene.is_declared(word) || (at > 0 && line.text(at - 1) == ".") {
        return None;
    }
    let dt = format!("d{}", scene.time);
    let by_time = |k: usize| line.text(k) == dt && !scene.is_declared(&dt);
    // d(x)/dt
    if word == "d" && line.text(at + 1) == "(" && line.touches(at) {
        let close = line.close(at + 1)?;
        let of = line.slice(at + 2, close);
        // d(x)/d(t)
        if line.reads(close + 1, &["/", "d", "(", scene.time, ")"]) && is_variable(scene, of) {
            return Some(rate(line, at, close + 5, of, 1));
        }
        let whole = line.text(close + 1) == "/" && by_time(close + 2);
        let element = of.split('[').next().unwrap_or(of).trim();
        if whole && at == 0 && line.text(close + 3) == "=" && !scene.states.contains(element) && is_variable(scene, of)
        {
            return Some(of_species(line, of, close));
        }
        if whole && !is_variable(scene, of) && of.contains(['+', '-', '*', '/', '^']) {
            return Some(
                IdiomMatch::new(CODE, "only a state has a derivative", line.span(at, close + 2))
                    .label("the derivative of an expression")
                    .help("write the derivatives of its states: that of `a*b` is `a'*b + a*b'`"),
            );
        }
        let derivable = is_variable(scene, of) || at > 0 && scene.is_definition(of);
        return (whole && derivable).then(|| rate(line, at, close + 2, of, 1));
    }
    // d²x/dt²
    if word == "d" && line.text(at + 1) == "²" && line.reads(at + 3, &["/", &dt, "²"]) {
        return is_variable(scene, line.text(at + 2)).then(|| rate(line, at, at + 5, line.text(at + 2), 2));
    }
    // d/dt (x), and d/dt(x) unless it is the whole left-hand side
    if word == "d" && line.text(at + 1) == "/" && by_time(at + 2) && line.text(at + 3) == "(" {
        let close = line.close(at + 3)?;
        let of = line.slice(at + 4, close);
        return is_variable(scene, of).then(|| rate(line, at, close, of, 1));
    }
    // d x / d t
    if word == "d" && is_variable(scene, line.text(at + 1)) && line.reads(at + 2, &["/", "d", scene.time]) {
        return Some(rate(line, at, at + 4, line.text(at + 1), 1));
    }
    // d/dt x
    if word == "d" && line.text(at + 1) == "/" && by_time(at + 2) && scene.states.contains(line.text(at + 3)) {
        return Some(rate(line, at, at + 3, line.text(at + 3), 1));
    }
    // d^2/dt^2(theta)
    if word == "d" && line.reads(at + 1, &["^", "2", "/", &dt, "^", "2", "("]) && by_time(at + 4) {
        let close = line.close(at + 7)?;
        let of = line.slice(at + 8, close);
        return is_variable(scene, of).then(|| rate(line, at, close, of, 2));
    }
    // d^2x/dt^2
    if word == "d"
        && line.text(at + 1) == "^"
        && line.text(at + 3) == "/"
        && line.text(at + 5) == "^"
        && by_time(at + 4)
    {
        let (order, of) = line.text(at + 2).split_at(line.text(at + 2).find(|c: char| !c.is_ascii_digit())?);
        let order: usize = order.parse().ok()?;
        let fits = line.text(at + 6) == order.to_string() && is_variable(scene, of) && (1..=4).contains(&order);
        return fits.then(|| rate(line, at, at + 6, of, order));
    }
    if let Some(found) = element::of_element(scene, line, at, &dt) {
        return Some(found);
    }
    if line.text(at + 1) != "/" || !word.starts_with('d') {
        return None;
    }
    // `de/dt` of a definition, on a right-hand side
    let of = &word[1..];
    if at > 0 && by_time(at + 2) && scene.is_definition(of) {
        return Some(rate(line, at, at + 2, of, 1));
    }
    // d2x/dt2
    let digits = word[1..].len() - word[1..].trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 1 {
        let order: usize = word[1..2].parse().ok()?;
        let below = line.text(at + 2);
        let fits = below == format!("{dt}{order}") || line.reads(at + 2, &[&dt, "^", &order.to_string()]);
        let end = if below == dt { at + 4 } else { at + 2 };
        return (fits && is_variable(scene, &word[2..]) && (1..=4).contains(&order))
            .then(|| rate(line, at, end, &word[2..], order));
    }
    // dx/dt on a right-hand side; as a whole left-hand side it is part of the language
    let whole = at == 0 && line.text(at + 3) == "=";
    (by_time(at + 2) && is_variable(scene, &word[1..]) && !whole).then(|| rate(line, at, at + 2, &word[1..], 1))
}

/// `d(A)/dt = -k*[A]` for a name that nothing declares, with its concentrations in brackets.
fn of_species(line: &Line<'_>, of: &str, close: usize) -> IdiomMatch {
    let mut right = line.slice(close + 4, line.tokens.len()).trim_end_matches(';').to_owned();
    for k in close + 4..line.tokens.len() {
        let bracket = line.text(k) == "[" && line.is_name(k + 1) && line.text(k + 2) == "]";
        if bracket && !line.is_name(k - 1) {
            right = right.replace(line.slice(k, k + 3), line.text(k + 1));
        }
    }
    let found = IdiomMatch::new(CODE, HEADLINE, line.span(0, close + 2)).label(format!("write `{of}'`"));
    found.over(line.range.clone()).help(format!("write `{of}' = {right}`, and declare `state {of} = 1`"))
}

/// True for a name that can have a derivative: declared as one, or not declared.
fn is_variable(scene: &Scene<'_>, name: &str) -> bool {
    let name = bare(name);
    let base = name.split('[').next().unwrap_or_default();
    scene.states.contains(base) || scene.rates.contains(base) && !scene.is_declared(base)
}

/// `∂y/∂t`
fn partial(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) != "∂" || !line.is_name(at + 1) {
        return None;
    }
    // `∂u[i]/∂t`
    let below = line.operand_end(at + 1)?;
    let by_time = matches!(line.text(below + 2), "t" | "τ") || line.text(below + 2) == scene.time;
    let fits = line.reads(below, &["/", "∂"]) && by_time;
    fits.then(|| {
        let last = below + 2;
        let better = format!("{}'", line.slice(at + 1, below));
        let found = IdiomMatch::new(CODE, HEADLINE, line.span(at, last)).label(format!("write `{better}`"));
        // a derivative in space remains to be written by hand
        if (last + 1..line.tokens.len()).any(|k| line.text(k) == "∂") {
            return found.help(format!("write `{better}`"));
        }
        equation(line, at, last, found.write(better))
    })
}

/// `D(x)`, `diff(x, t)`, `diff(x(t), t)`, `D(x)(t)`.
fn called(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let open = at + 1;
    // the left side of `D[x, t] = -x` looks like a definition
    let defined = scene.is_declared(word) && !(at == 0 && line.text(open) == "[" && BY_TIME.contains(&word));
    if !line.is_name(at) || defined || !matches!(line.text(open), "(" | "[") || !line.touches(at) {
        return None;
    }
    if at > 0 && line.text(at - 1) == "." {
        return None;
    }
    let arguments = line.arguments(open)?;
    let mut end = line.close(open)?;
    let first = arguments.first()?.clone();
    let of = line.slice(first.start, first.end);
    let timed = [format!("({})", scene.time), format!("[{}]", scene.time)];
    let of = timed.iter().fold(of, |of, time| of.strip_suffix(time.as_str()).unwrap_or(of));
    let defined = at > 0 && matches!(word, "derivative" | "deriv" | "ddt") && scene.is_definition(of);
    if !is_variable(scene, of) && !defined {
        return None;
    }
    let argument = |k: usize| arguments.get(k).map_or("", |r| line.slice(r.start, r.end));
    let order = match arguments.len() {
        1 if RATES.contains(&word) => 1,
        1 if word == "diff" && at == 0 && matches!(line.text(end + 1), "=" | "==" | "~") => 1,
        2 if BY_TIME.contains(&word) && argument(1) == scene.time => 1,
        // diff(x, t$2)
        2 if BY_TIME.contains(&word) => {
            let order = argument(1).strip_prefix(scene.time)?.strip_prefix('$')?;
            order.parse().ok().filter(|n| (1..=4).contains(n))?
        }
        3 if BY_TIME.contains(&word) && argument(1) == scene.time => {
            if argument(2) == scene.time {
                2
            } else {
                argument(2).parse().ok().filter(|n| (1..=4).contains(n))?
            }
        }
        _ => return None,
    };
    if line.touches(end) && timed.iter().any(|time| line.slice(end + 1, end + 4) == time.as_str()) {
        end += 3;
    }
    if order == 1 && arguments.len() == 1 && may_be_function(scene, word) {
        let found = IdiomMatch::new(CODE, HEADLINE, line.span(at, end)).label("a derivative, or a function?");
        return Some(found.help(format!(
            "for the derivative, write `{}'`; for a function, begin its definition with `fn`: `fn {word}({of}) = ...`",
            bare(of)
        )));
    }
    Some(rate(line, at, end, of, order))
}

/// True if one line reads `D(u) = ...`, the definition of a function as on paper, and another line uses `D(...)`.
fn may_be_function(scene: &Scene<'_>, word: &str) -> bool {
    let called = |line: &Line<'_>, at: usize| line.text(at) == word && line.text(at + 1) == "(" && line.touches(at);
    let defines = |line: &Line<'_>| {
        called(line, 0)
            && line.close(1).is_some_and(|close| line.text(close + 1) == "=" && !line.reads(close + 2, &["="]))
    };
    let uses = |line: &Line<'_>| (1..line.tokens.len()).any(|at| called(line, at));
    scene.lines.iter().any(defines) && scene.lines.iter().any(uses)
}

/// `Eq(y.diff(t), -y)`, `y.diff(t)`, `y.dt`, `y'[t] == ...`
fn method(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let state = |k: usize| line.is_name(k) && scene.states.contains(line.text(k));
    if line.text(at) == "Eq" && line.text(at + 1) == "(" && at == 0 {
        let arguments = line.arguments(1)?;
        let [left, right] = arguments.as_slice() else { return None };
        let of = state(left.start) && line.text(left.start + 1) == "." && line.text(left.start + 2) == "diff";
        let better = format!("{}' = {}", line.text(left.start), line.slice(right.start, right.end));
        return of.then(|| IdiomMatch::new(CODE, HEADLINE, line.span(0, line.close(1).unwrap_or(1))).write(better));
    }
    if state(at) && line.reads(at + 1, &[".", "diff", "(", scene.time, ")"]) {
        return Some(rate(line, at, at + 5, line.text(at), 1));
    }
    // y.dt, y.dot
    let member = line.text(at + 2);
    let named = matches!(member, "dot" | "der") || member.strip_prefix('d') == Some(scene.time);
    let ends = !matches!(line.text(at + 3), "(" | "[" | "." | "'");
    if state(at) && line.text(at + 1) == "." && line.touches(at) && named && ends {
        return Some(rate(line, at, at + 2, line.text(at), 1));
    }
    timed(scene, line, at)
}

/// `y'[t] == -y[t]`, `y''[t] + y[t] == 0`
fn timed(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if !line.is_name(at) || line.kind(at + 1) != Some(TokenKind::Prime) || !is_function_of_time(scene, line.text(at)) {
        return None;
    }
    let open = (at + 1..line.tokens.len()).find(|&k| line.kind(k) != Some(TokenKind::Prime))?;
    if !line.reads(open, &["[", scene.time, "]"]) {
        return None;
    }
    let found = rate(line, at, open + 2, line.text(at), open - at - 1);
    // the sign between the sides, once
    let first = (0..at).all(|k| line.kind(k) != Some(TokenKind::Prime));
    let sign = line.find(open + 3, "==").filter(|&k| first && (at > 0 || k > open + 3) && line.find(0, "=").is_none());
    Some(match sign {
        Some(k) => found.fix(line.span(k, k), "="),
        None => found,
    })
}

/// True for a state, declared or not.
fn is_function_of_time(scene: &Scene<'_>, name: &str) -> bool {
    (scene.states.contains(name) || scene.rates.contains(name)) && !scene.arrays.contains_key(name)
}

/// `y(t)`, `y[t]`, `y'(t)`: a state is meant at the present time anyway.
fn present(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    // an input depends on time by its declaration
    if !is_function_of_time(scene, line.text(at)) || line.text(0) == "input" || scene.is_function(line.text(at)) {
        return None;
    }
    let open = (at + 1..line.tokens.len()).find(|&k| line.kind(k) != Some(TokenKind::Prime))?;
    let timed = line.reads(open, &["(", scene.time, ")"]) || line.reads(open, &["[", scene.time, "]"]);
    timed.then(|| {
        let text = line.slice(open, open + 3);
        // with a prime the grammar stops; without one it is parsed as a call
        let primed = line.whole().contains(&format!("'{text}")) || line.whole().contains(&format!("{text}'"));
        let (code, from) = if primed { (&codes::E0118, open) } else { (&codes::E0205, at) };
        IdiomMatch::new(code, format!("write a state without `{text}`"), line.span(from, open + 2))
            .label("not needed")
            .help("a state always means its present value")
            .fix(line.span(open, open + 2), "")
    })
}

/// `ẏ`, `ÿ`
fn dotted(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    // as a left-hand side the name is a definition
    let left = at == 0 && line.text(1) == "=";
    if word.is_ascii() || scene.is_declared(word) && !left {
        return None;
    }
    let parts: Vec<char> = word.nfd().collect();
    let order = match parts.last()? {
        '\u{307}' => 1,
        '\u{308}' => 2,
        _ => return None,
    };
    let base: String = parts[..parts.len() - 1].iter().collect();
    if scene.states.contains(base.as_str()) {
        return (!scene.is_declared(word)).then(|| rate(line, at, at, &base, order));
    }
    let (right, prime) = (line.slice(2, line.tokens.len()), primes(order));
    let declare = if order == 1 { format!("state {base} = 1") } else { format!("state {base} = 1, {base}' = 0") };
    (left && !scene.is_declared(&base)).then(|| {
        IdiomMatch::new(CODE, HEADLINE, line.span(0, 0))
            .label(format!("write `{base}{prime}`"))
            .help(format!("write `{base}{prime} = {right}`, with `{declare}`"))
    })
}

/// `dydt(1) = -y(1)`, `du[1] = ...`: rates by number.
fn positional(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let at = if line.text(0) == "NV_Ith_S" { 2 } else { 0 };
    let word = line.text(at);
    let macro_call = at == 2;
    let number = if macro_call { at + 2 } else { 2 };
    let known = VECTORS.contains(&word) || (word == "f" && line.text(1) == "[");
    let bracket = macro_call || matches!(line.text(1), "(" | "[") && line.touches(0);
    let close = number + 1;
    let equals = (close + 1..line.tokens.len()).find(|&k| line.text(k) == "=" || line.text(k) == "<-")?;
    let counts = line.kind(number) == Some(TokenKind::Number) || scene.indices.contains(line.text(number));
    if !known || !bracket || !counts || equals != close + 1 || scene.arrays.contains_key(word) {
        return None;
    }
    let rates = line.span(0, close);
    // the state of that name is an array: only the brackets and the prime differ
    let base =
        word.trim_start_matches(['d', 'D']).trim_end_matches("dt").trim_end_matches("dot").trim_end_matches("DT");
    let found = IdiomMatch::new(
        &codes::E0135,
        format!("`{}` gives a rate by number, but odec needs a name", line.slice(0, close + 1)),
        rates,
    );
    if scene.arrays.contains_key(base) {
        let better = format!("{base}[{}]'", line.text(number));
        return Some(found.label(format!("write `{better}`")).write(better));
    }
    let (right, counted) = by_name(line, equals + 1);
    // `du[2] = -p[1]*u[1]`: the name of the rate contains the name of the state
    let of_rate = counted.iter().find(|name| name.eq_ignore_ascii_case(base));
    let state = match of_rate.or(counted.first()) {
        Some(name) => (*name).to_owned(),
        None if base.is_empty() => "y".to_owned(),
        None => base.to_lowercase(),
    };
    let number = line.text(number);
    let named = format!("{state}{number}");
    if let Some(own) = scene.states.iter().filter(|own| own.eq_ignore_ascii_case(&named)).min() {
        return Some(found.label(format!("write `{own}'`")).help(format!("write `{own}' = {right}`")));
    }
    Some(
        found.label("which state is this?").help(format!(
            "give each state a name: `state {state}{number} = 1`, and write `{state}{number}' = {right}`"
        )),
    )
}

/// The rest of a line with `y(1)`, `y[1]` as `y1`, and the names that are counted.
fn by_name<'a>(line: &Line<'a>, from: usize) -> (String, Vec<&'a str>) {
    let mut out = String::new();
    let mut of = Vec::new();
    let mut k = from;
    let mut last = line.tokens.get(from).map_or(line.range.end, |token| token.start);
    while k < line.tokens.len() && line.text(k) != ";" {
        out.push_str(line.between(last, line.tokens[k].start));
        let counted = line.is_name(k)
            && matches!(line.text(k + 1), "(" | "[")
            && line.kind(k + 2) == Some(TokenKind::Number)
            && matches!(line.text(k + 3), ")" | "]")
            && odec_ir::builtin::find(line.text(k)).is_none();
        out.push_str(line.text(k));
        if counted {
            out.push_str(line.text(k + 2));
            of.push(line.text(k));
            k += 3;
        }
        last = line.tokens.get(k).map_or(line.range.end, |token| token.end);
        k += 1;
    }
    (out, of)
}

/// `y(t) = y(t - dt) + (x)*dt`
fn stella(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let name = line.text(0);
    let head = [name, "(", "t", ")", "=", name, "(", "t", "-", "dt", ")", "+"];
    if !line.is_name(0) || !line.reads(0, &head) {
        return None;
    }
    let last = line.tokens.len().checked_sub(1)?;
    let fits =
        line.text(last).eq_ignore_ascii_case("dt") && matches!(line.text(last - 1), "*" | "·") && last > head.len();
    let better = format!("{name}' = {}", bare(line.slice(head.len(), last - 1)));
    let found = IdiomMatch::new(CODE, STEP, line.span(0, last));
    let found = found.label(format!("write `{better}`"));
    // in a sum, only the last term has the factor
    let one = line.operand_end(head.len()) == Some(last - 1);
    (fits && one).then(|| {
        if scene.states.contains(name) {
            found.write(better)
        } else {
            found.help(format!("write `{better}`, with `state {name} = 1`"))
        }
    })
}

/// Names of the time step in programs.
const STEPS: [&str; 10] = ["dt", "DT", "Dt", "h", "delta_t", "deltat", "Δt", "dt_", "step", "timestep"];

/// Increments of Wiener processes.
const NOISE: [&str; 6] = ["dW", "dw", "dB", "dWt", "dW_t", "dB_t"];

/// `x = x + v*dt`, `x += v*dt`
fn stepped(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let first = line.text(0);
    // `dx = -k*x*dt`
    let of = first.strip_prefix('d').filter(|of| !scene.states.contains(first) && scene.states.contains(*of));
    let name = of.unwrap_or(first);
    let (sign, from) = match line.text(1) {
        "=" if of.is_some() => ("+", 2),
        "+=" => ("+", 2),
        "-=" => ("-", 2),
        "=" if line.text(2) == name && matches!(line.text(3), "+" | "-") => (line.text(3), 4),
        _ => return None,
    };
    let end = line.tokens.len().saturating_sub(usize::from(line.text(line.tokens.len() - 1) == ";"));
    // `dx/dt` is not a step, and `h` may be a height
    let is_step = |k: usize| {
        let word = line.text(k);
        // a definition `dx` may use a parameter `dt`
        let free = of.is_none() && !matches!(word, "h" | "step") || !scene.is_declared(word);
        STEPS.contains(&word) && free && line.text(k - 1) != "/"
    };
    let step = (from..end).filter(|&k| is_step(k)).collect::<Vec<_>>();
    if !scene.states.contains(name) || step.is_empty() {
        return None;
    }
    if let Some(k) = (from..end).find(|&k| NOISE.contains(&line.text(k)) && !scene.is_declared(line.text(k))) {
        let found = IdiomMatch::new(&codes::E0561, "odec does not support noise", line.span(k, k)).label("noise");
        let help = format!("equations are deterministic: without this term, write `{name}' = ...`");
        return Some(found.help(help).over(line.range.clone()));
    }
    let found = IdiomMatch::new(CODE, STEP, line.span(0, end - 1)).label("an assignment of a program");
    let rest = "write only the rate of change, without the time step";
    // a single product with the step as its first or last factor
    let product = (from + 1..end).all(|k| line.find(from, "+") != Some(k) && line.find(from, "-") != Some(k));
    let rate = match step.as_slice() {
        [k] if *k == from && line.text(from + 1) == "*" => line.slice(from + 2, end),
        [k] if *k + 1 == end && line.text(*k - 1) == "*" => line.slice(from, *k - 1),
        // `dx = -k*x dt`
        [k] if *k + 1 == end && *k > from && line.tokens[*k - 1].ends_value() => line.slice(from, *k),
        _ => "",
    };
    if rate.is_empty() || !product {
        return Some(found.help(format!("{rest}: `{name}' = ...`")));
    }
    let better = match sign {
        "+" => format!("{name}' = {}", bare(rate)),
        _ => format!("{name}' = -{rate}"),
    };
    Some(found.help(format!("{rest}: `{better}`")).fix(line.span(0, end - 1), better))
}

/// `x' dt = -x`, `x' dt = -x dt`
fn timed_step(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let step = format!("d{}", scene.time);
    let primes = (1..line.tokens.len()).take_while(|&k| line.kind(k) == Some(TokenKind::Prime)).count();
    let at = primes + 1;
    if !line.is_name(0) || primes == 0 || !line.reads(at, &[step.as_str(), "="]) || scene.is_declared(&step) {
        return None;
    }
    let end = line.tokens.len();
    let last = end - usize::from(line.text(end - 1) == step);
    let last = last - usize::from(last < end && line.text(last - 1) == "*");
    let better = format!("{} = {}", line.slice(0, at), line.slice(at + 2, last));
    let found = IdiomMatch::new(CODE, STEP, line.span(at, at)).label("a prime already means the rate of change");
    Some(found.help(format!("write `{better}`")).over(line.range.clone()))
}

/// `w = integral(x)`
fn integral(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let sign = matches!(word, "∫");
    // `int(x)` rounds; with limits it is an integral
    let limits = || line.arguments(at + 1).is_some_and(|arguments| arguments.len() == 3);
    let named = INTEGRALS.contains(&word) || word == "int" && line.text(at + 1) == "(" && limits();
    let named = named && line.text(at + 1) == "(" && !scene.is_declared(word);
    if !named && !sign {
        return None;
    }
    let headline = "write an integral over time as another state";
    // `w = integral(x, 0, 1)` has a name of its own
    let own = at == 2 && line.text(1) == "=" && line.is_name(0);
    let w = if own { line.text(0) } else { scene.free_name(&["w", "q", "z", "integral"]) };
    if sign {
        return Some(
            IdiomMatch::new(CODE, headline, line.span(at, at))
                .help(format!("write `state {w} = 0` and `{w}' = ...`, and use `{w}`")),
        );
    }
    let arguments = line.arguments(at + 1)?;
    let close = line.close(at + 1)?;
    let text = |k: usize| arguments.get(k).map_or("", |r| line.slice(r.start, r.end));
    let start = if arguments.len() == 2 && word.starts_with("INT") { text(1) } else { "0" };
    let found = IdiomMatch::new(CODE, headline, line.span(at, close));
    // between fixed limits the integral is a number, which no state represents
    let over_time = match arguments.len() {
        1 => true,
        2 => word.starts_with("INT"),
        3 => text(2) == scene.time || text(1) == scene.time,
        _ => false,
    };
    if !over_time {
        let help = format!("write `state {w} = 0` and `{w}' = ...` for an integral over time");
        return Some(found.label("an integral").help(help));
    }
    // a definition that is just the integral
    let whole = close + 1 == super::vensim::end_of_value(line);
    if at == 2 && line.text(1) == "=" && whole && line.is_name(0) && !arguments.is_empty() {
        let name = line.text(0);
        if arguments.len() == 3 && (text(2) != scene.time || text(1) != "0") {
            let (from, of) = (text(1), text(0));
            let help = format!(
                "write `state {name} = 0` and `{name}' = if {} > {from} then {of} else 0` if {from} is the lower limit",
                scene.time
            );
            return Some(found.label("a state").help(help));
        }
        let remark = super::vensim::comment(line);
        let lines = format!("state {name} = {start}{remark}\n{name}' = {}", text(0));
        let whole = Span::new(line.range.start, line.range.end);
        return Some(
            found
                .label("a state")
                .help(format!("write `state {name} = {start}` and `{name}' = {}`", text(0)))
                .over(line.range.clone())
                .fix(whole, lines),
        );
    }
    let of = if text(0).is_empty() { "..." } else { text(0) };
    Some(found.label("a state").help(format!("write `state {w} = {start}` and `{w}' = {of}`, and use `{w}` here")))
}
