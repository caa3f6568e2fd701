//! Whole lines of other tools: equations with names, lists of equations and of values, times of rows, difference
//! equations, matrices, indices in other brackets.

use crate::diagnostic::{Code, codes};
use odec_ir::Span;

use super::line::Line;
use super::unneeded::drop;
use super::{IdiomMatch, Scene};
use crate::syntax::explain::token::TokenKind;

const RATE: &Code = &codes::E0132;
const PROGRAM: &Code = &codes::E0133;
const ARRAY: &Code = &codes::E0135;
const START: &str = "an initial value belongs in the declaration of its state";

/// Functions that mean the derivative of their first argument.
const RATES: [&str; 8] = ["diff", "Diff", "D", "Dt", "der", "Derivative", "deriv", "ode"];
/// Names of the times of rows, and functions that make them.
const TIMES: [&str; 14] =
    ["t", "tt", "T", "time", "times", "tspan", "t_span", "t_eval", "tout", "tlist", "ts", "tvec", "tgrid", "teval"];
const EVEN: [&str; 4] = ["linspace", "seq", "arange", "range"];
/// Words that start a run elsewhere.
const RUNS: [&str; 4] = ["simulate", "integrate", "solve", "simulation"];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    let whole = named_equation(scene, line)
        .or_else(|| list_of_equations(scene, line))
        .or_else(|| operator(scene, line))
        .or_else(|| list_of_values(line))
        .or_else(|| times(scene, line))
        .or_else(|| run(scene, line))
        .or_else(|| method(scene, line))
        .or_else(|| recurrence(scene, line))
        .or_else(|| start_after_equation(scene, line))
        .or_else(|| stop(line))
        .or_else(|| timed(scene, line))
        .or_else(|| function(line))
        .or_else(|| strict_bound(line))
        .or_else(|| undeclared(scene, line));
    found.extend(whole);
}

/// Matrices, and indices in other brackets.
pub(super) fn parts(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    for at in 0..line.tokens.len() {
        found.extend(matrix(line, at).or_else(|| index(scene, line, at)));
    }
}

/// End of the statement, without a `;`.
fn end_of(line: &Line<'_>) -> usize {
    let end = line.tokens.len();
    end - usize::from(end > 0 && line.text(end - 1) == ";")
}

/// State and order of a derivative: `diff(x(t), t)`, `D(x)`, `x'(t)`, `x''[t]`, `dx/dt`.
fn derivative(time: &str, text: &str) -> Option<(String, usize)> {
    let line = Line::new(text, 0..text.len(), 0);
    let end = line.tokens.len();
    let timed = |from: usize| {
        let rest = line.slice(from, end);
        rest.is_empty() || rest == format!("({time})") || rest == format!("[{time}]")
    };
    if line.is_name(0) && line.kind(1) == Some(TokenKind::Prime) {
        let primes = (1..end).take_while(|&k| line.kind(k) == Some(TokenKind::Prime)).count();
        let order = (1..=primes).map(|k| if line.text(k) == "″" { 2 } else { 1 }).sum();
        return timed(1 + primes).then(|| (line.text(0).to_owned(), order));
    }
    if end == 3 && line.text(1) == "/" && line.text(2) == format!("d{time}") {
        let name = line.text(0).strip_prefix('d').filter(|name| !name.is_empty())?;
        return Some((name.to_owned(), 1));
    }
    if !RATES.contains(&line.text(0)) || !matches!(line.text(1), "(" | "[") {
        return None;
    }
    let (arguments, close) = (line.arguments(1)?, line.close(1)?);
    let argument = |k: usize| arguments.get(k).map_or("", |r| line.slice(r.start, r.end));
    let name = present(time, argument(0));
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let order = match arguments.len() {
        1 => 1,
        2 => repeated(time, argument(1))?,
        3 if argument(1) == time && argument(2) == time => 2,
        _ => return None,
    };
    (plain && timed(close + 1)).then_some((name, order))
}

/// `t`, `t$2`, `{t, 2}`: the number of times by which a derivative is taken.
fn repeated(time: &str, text: &str) -> Option<usize> {
    let inner = text.trim_start_matches('{').trim_end_matches('}').trim();
    let rest = inner.strip_prefix(time)?.trim();
    if rest.is_empty() {
        return Some(1);
    }
    rest.trim_start_matches(['$', ',']).trim().parse().ok().filter(|n| (1..=4).contains(n))
}

/// A text with `x` for `x(t)` and `x[t]`.
fn present(time: &str, text: &str) -> String {
    let line = Line::new(text, 0..text.len(), 0);
    let mut out = String::new();
    let (mut k, mut last) = (0, 0);
    while k < line.tokens.len() {
        let token = line.tokens[k];
        out.push_str(&text[last..token.end]);
        last = token.end;
        k += 1;
        let called = line.is_name(k - 1) && line.touches(k - 1) && odec_ir::builtin::find(line.text(k - 1)).is_none();
        if called && matches!(line.text(k), "(" | "[") && line.text(k + 1) == time && line.close(k) == Some(k + 2) {
            k += 3;
            last = line.tokens[k - 1].end;
        }
    }
    out
}

/// The equation, and the declaration that it needs.
fn equation(scene: &Scene<'_>, left: &str, right: &str) -> Option<String> {
    let (name, order) = derivative(scene.time, left)?;
    let help = format!("write `{name}{} = {}`", "'".repeat(order), present(scene.time, right));
    Some(if scene.states.contains(name.as_str()) { help } else { format!("{help}, with `state {name} = 1`") })
}

/// `ode := diff(x(t), t) = -k*x(t)`, `ics := x(0) = 1`
fn named_equation(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = end_of(line);
    if !line.is_name(0) || !matches!(line.text(1), ":=" | "=" | "<-") {
        return None;
    }
    let sign = ["=", "==", "~"].iter().filter_map(|sign| line.find(2, sign)).min().filter(|&k| k + 1 < end)?;
    let (left, right) = (line.slice(2, sign), line.slice(sign + 1, end));
    if let Some(help) = equation(scene, left, right) {
        let found = IdiomMatch::new(RATE, "an equation cannot have a name", line.span(0, 1));
        return Some(found.label("not needed").help(help).over(line.range.clone()));
    }
    let number = line.kind(4) == Some(TokenKind::Number);
    let starts = line.is_name(2) && number && matches!(line.text(3), "(" | "[") && line.close(3) == Some(sign - 1);
    starts.then(|| {
        IdiomMatch::new(&codes::E0307, START, line.span(2, end - 1))
            .label("an initial value")
            .help(format!("write `state {} = {right}`", line.text(2)))
            .over(line.range.clone())
    })
}

/// `eqs = [D(x) ~ -x, D(y) ~ x]`
fn list_of_equations(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let tilde = (3..line.tokens.len()).any(|k| line.text(k) == "~");
    if !(line.is_name(0) && line.text(1) == "=" && line.text(2) == "[" && tilde) {
        return None;
    }
    let each = |r: &std::ops::Range<usize>| {
        let sign = line.find(r.start, "~").filter(|&k| k < r.end)?;
        let (left, right) = (line.slice(r.start, sign), line.slice(sign + 1, r.end));
        let (name, order) = derivative(scene.time, left)?;
        Some(format!("`{name}{} = {}`", "'".repeat(order), present(scene.time, right)))
    };
    let written: Option<Vec<String>> =
        line.arguments(2).map(|list| list.iter().map(each).collect()).unwrap_or_default();
    let help = match written {
        Some(written) if !written.is_empty() => format!("write {}", written.join(" and ")),
        _ => "write `x' = ...` for each of them".to_owned(),
    };
    let found = IdiomMatch::new(PROGRAM, "write each equation on its own line, without a list", line.span(0, 2));
    Some(found.label("a list of equations").help(help).over(line.range.clone()))
}

/// `D = Differential(t)`
fn operator(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let call = ["Differential", "(", scene.time, ")"];
    let fits = line.is_name(0) && line.text(1) == "=" && line.reads(2, &call) && end_of(line) == 6;
    fits.then(|| drop(line, "a derivative needs no declaration: write `x'`".to_owned(), "not needed"))
}

/// `parameters <- c(a = 1, b = 2)`, `p = (a = 1, b = 2)`, `dict(a=1)`
fn list_of_values(line: &Line<'_>) -> Option<IdiomMatch> {
    let end = end_of(line);
    let open = if matches!(line.text(2), "c" | "list" | "dict" | "struct") { 3 } else { 2 };
    let head = line.is_name(0) && matches!(line.text(1), "<-" | "=") && line.text(open) == "(";
    if !head || line.close(open) != Some(end.checked_sub(1)?) {
        return None;
    }
    let arguments = line.arguments(open)?;
    if arguments.is_empty() || !arguments.iter().all(|r| line.is_name(r.start) && line.text(r.start + 1) == "=") {
        return None;
    }
    let values = line.slice(open + 1, end - 1);
    let word = line.text(0).to_lowercase();
    let begins = |starts: &[&str]| starts.iter().any(|start| word.starts_with(start));
    let help = if begins(&["state", "init", "y", "x", "u", "ic", "start"]) {
        format!("write `state {values}`")
    } else if begins(&["p", "const", "theta", "k"]) {
        format!("write `param {values}`")
    } else {
        format!("write `param {values}` for parameters, or `state {values}` for initial values")
    };
    let found = IdiomMatch::new(PROGRAM, "declare values by their names, without a list", line.span(0, open));
    Some(found.label("a list of values").help(help).over(line.range.clone()))
}

/// The entries of a run block.
fn entries(scene: &Scene<'_>, from: &str, to: &str, rows: Option<f64>) -> String {
    let rows = rows.filter(|rows| *rows >= 1.0 && *rows < 1e9).map(|rows| format!("; samples = {rows}"));
    format!("{} = {from} .. {to}{}", scene.time, rows.unwrap_or_default())
}

/// A time span, as a block or as entries of the block that exists.
fn span_of_run(scene: &Scene<'_>, line: &Line<'_>, entries: &str, exact: bool) -> IdiomMatch {
    let end = end_of(line);
    let found = IdiomMatch::new(PROGRAM, "write the time span in the run block", line.span(0, end - 1));
    let found = found.label("a time span").over(line.range.clone());
    if scene.run {
        return found.help(format!("write `{entries}` in the run block, and remove this line"));
    }
    let better = format!("run {{ {entries} }}");
    if exact { found.write(better) } else { found.help(format!("write `{better}`")) }
}

/// `t = np.linspace(0, 10, 101)`, `times <- seq(0, 10, by = 0.1)`, `t = 0:0.1:10`, `t = 0 to 10`
fn times(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    if !TIMES.contains(&word) && word != scene.time
        || scene.states.contains(word)
        || !matches!(line.text(1), "=" | "<-")
    {
        return None;
    }
    let end = end_of(line);
    let number = |text: &str| {
        text.trim_start_matches('-').parse::<f64>().ok().map(|v| if text.starts_with('-') { -v } else { v })
    };
    let from = if line.text(3) == "." { 4 } else { 2 };
    if EVEN.contains(&line.text(from)) && line.text(from + 1) == "(" && line.close(from + 1) == Some(end - 1) {
        let list = line.arguments(from + 1)?;
        let [a, b, last] = &list[..] else { return None };
        let (a, b) = (line.slice(a.start, a.end), line.slice(b.start, b.end));
        let named = line.text(last.start + 1) == "=";
        let key = if named { line.text(last.start) } else { "" };
        let value = number(line.slice(if named { last.start + 2 } else { last.start }, last.end))?;
        let counts = line.text(from) == "linspace" || matches!(key, "length" | "len" | "length.out" | "num");
        let step = number(a).zip(number(b)).map(|(a, b)| ((b - a) / value).round());
        let rows = if counts { Some(value - 1.0) } else { step };
        return Some(span_of_run(scene, line, &entries(scene, a, b, rows), counts));
    }
    let sign = (2..end).find(|&k| matches!(line.text(k), ":" | "to" | "until" | "bis"))?;
    let (a, rest) = (line.slice(2, sign), line.slice(sign + 1, end));
    let (step, b) = rest.split_once(':').map_or((None, rest), |(step, b)| (number(step.trim()), b.trim()));
    let (from, to) = (number(a)?, number(b)?);
    let rows = step.map(|step| ((to - from) / step).round());
    Some(span_of_run(scene, line, &entries(scene, a, b, rows), step.is_none()))
}

/// `simulate 0 100`, `simulate(0, 100)`
fn run(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    if !RUNS.contains(&word.to_lowercase().as_str()) || scene.is_declared(word) || line.find(0, "{").is_some() {
        return None;
    }
    let between = |k: &usize| line.kind(*k) != Some(TokenKind::Number);
    let numbers: Vec<usize> = (1..end_of(line)).filter(|k| !between(k)).collect();
    let plain = (1..end_of(line)).filter(between).all(|k| {
        matches!(line.text(k), "(" | ")" | "," | "=" | ".." | ":" | "to" | "from" | "for") || line.text(k) == scene.time
    });
    let [a, b] = numbers[..] else { return None };
    plain.then(|| span_of_run(scene, line, &entries(scene, line.text(a), line.text(b), None), true))
}

/// `method = RK4`
fn method(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let named = matches!(line.text(0), "method" | "solver" | "integrator" | "METHOD") && line.text(1) == "=";
    if !named || !line.is_name(2) || scene.is_declared(line.text(2)) || end_of(line) != 3 {
        return None;
    }
    let found = IdiomMatch::new(PROGRAM, "write the method in the run block", line.span(0, 2)).label("a method");
    let help = format!("write `run {{ method = {} }}`", line.text(2).to_lowercase());
    Some(found.help(help).over(line.range.clone()))
}

/// `x[t+1] = 2*x[t]`, `x(n+1) = x(n) + 1`
fn recurrence(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (name, of) = (line.text(0), line.text(2));
    let counts = line.is_name(2) && (of == scene.time || !scene.is_declared(of));
    let head = line.is_name(0) && matches!(line.text(1), "[" | "(") && counts && line.text(3) == "+";
    let one = line.kind(4) == Some(TokenKind::Number) && line.close(1) == Some(5) && line.text(6) == "=";
    if !head || !one || scene.is_function(name) {
        return None;
    }
    let found = IdiomMatch::new(RATE, "odec solves differential equations, not difference equations", line.span(0, 6));
    Some(found.label("the next value").over(line.range.clone()).help(format!(
        "write the rate of change, `{name}' = ...`; for a value that changes at fixed times, declare `discrete {name} \
         = 1` and write `every 1 {{ {name} := ... }}`"
    )))
}

/// `x' = -x, x(0) = 1`
fn start_after_equation(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let comma = line.find(0, ",")?;
    let (at, end) = (comma + 1, end_of(line));
    let number = line.kind(at + 2) == Some(TokenKind::Number);
    let starts = line.is_name(at) && line.text(at + 1) == "(" && number && line.reads(at + 3, &[")", "="]);
    let equation = line.find(0, "=").is_some_and(|k| k < comma) && line.kind(1) == Some(TokenKind::Prime);
    if !starts || !equation || line.find(at, ",").is_some() || end <= at + 5 {
        return None;
    }
    let (name, value) = (line.text(at), line.slice(at + 5, end));
    let found = IdiomMatch::new(&codes::E0307, START, line.span(at, end - 1)).label("an initial value");
    let found = found.over(line.range.clone());
    if line.text(at + 2).parse::<f64>().is_ok_and(|time| time != 0.0) {
        return Some(found.help(format!(
            "write `state {name} = {value}` on a line of its own if the run starts at {}; a value at another time cannot \
             be given",
            line.text(at + 2)
        )));
    }
    let found = found.help(format!("write `state {name} = {value}` on a line of its own"));
    let rest = Span::new(line.tokens[comma].start, line.tokens[end - 1].end);
    Some(if scene.states.contains(name) { found } else { found.fix(rest, format!("\nstate {name} = {value}")) })
}

/// `when x < 0 stop`
fn stop(line: &Line<'_>) -> Option<IdiomMatch> {
    let end = end_of(line);
    let at = (2..end).rfind(|&k| line.text(k) == "stop")?;
    let last = at + 1 == end || at + 2 == end && line.kind(at + 1) == Some(TokenKind::Text);
    let event = matches!(line.text(0), "when" | "at") && last && !line.whole().contains('{');
    let head = if line.text(at - 1) == "then" { at - 1 } else { at };
    let better = format!("{} {{ {} }}", line.slice(0, head), line.slice(at, end));
    let found = || IdiomMatch::new(&codes::E0111, "an event needs a block in braces", line.span(at, end - 1));
    event
        .then(|| found().label("`{` is missing before this").help(format!("write `{better}`")).over(line.range.clone()))
}

/// `event at t = 10: G = 1`, `at t >= 10: G = 1`
fn timed(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let at = usize::from(matches!(line.text(0), "event" | "on"));
    let colon = line.find(at, ":")?;
    let end = end_of(line);
    if line.text(at) != "at" || line.text(at + 1) != scene.time || line.whole().contains('{') || colon + 1 >= end {
        return None;
    }
    let head = match line.text(at + 2) {
        "=" | "==" => format!("at {}", line.slice(at + 3, colon)),
        "<" | ">" | "<=" | ">=" => format!("when {}", line.slice(at + 1, colon)),
        _ => return None,
    };
    let mut actions = line.slice(colon + 1, end).to_owned();
    if !actions.contains(":=") {
        actions = actions.replacen('=', ":=", 1).replace("+:=", "+=").replace("-:=", "-=");
    }
    let word = head.split(' ').next().unwrap_or_default();
    let headline = format!("write this event with `{word}` and a block in braces");
    let found = IdiomMatch::new(&codes::E0111, headline, line.span(0, end - 1));
    Some(found.label("an event").help(format!("write `{head} {{ {} }}`", actions.trim())).over(line.range.clone()))
}

/// `fn f(x) { return x^2 }`, `fn f(x) -> x^2`, `fn f(x: real) = x^2`
fn function(line: &Line<'_>) -> Option<IdiomMatch> {
    if line.text(0) != "fn" || !line.is_name(1) || line.text(2) != "(" {
        return None;
    }
    let (close, end) = (line.close(2)?, end_of(line));
    let arguments = line.arguments(2)?;
    let names: Vec<&str> = arguments.iter().map(|r| line.text(r.start)).collect();
    let typed = arguments.iter().any(|r| line.text(r.start + 1) == ":");
    let (from, to, label) = match line.text(close + 1) {
        "{" if line.close(close + 1) == Some(end - 1) => (close + 2, end - 1, "a block"),
        "->" | "=>" | ":" => (close + 2, end, "an arrow"),
        "=" if typed => (close + 2, end, "a type"),
        _ => return None,
    };
    let from = if line.text(from) == "return" { from + 1 } else { from };
    let body = line.slice(from, to).trim_end_matches(';').trim();
    if body.is_empty() || body.contains([';', '\n', '=']) {
        return None;
    }
    let better = format!("fn {}({}) = {body}", line.text(1), names.join(", "));
    let found = IdiomMatch::new(PROGRAM, "a function is one expression after `=`", line.span(0, end - 1)).label(label);
    Some(found.help(format!("write `{better}`")).over(line.range.clone()))
}

/// `state x = 1, x > 0`
fn strict_bound(line: &Line<'_>) -> Option<IdiomMatch> {
    let at = (2..line.tokens.len()).find(|&k| {
        matches!(line.text(k), ">" | "<") && line.is_name(k - 1) && matches!(line.text(k - 2), "," | "state")
    })?;
    let (name, sign) = (line.text(at - 1), format!("{}=", line.text(at)));
    let value = line.slice(at + 1, line.span_end(at + 1));
    let found = IdiomMatch::new(&codes::E0118, "a bound includes its end, as in `x >= 0`", line.span(at, at))
        .label(format!("write `{sign}`"));
    (line.text(0) == "state").then(|| found.help(format!("write `{name} {sign} {value}`")).fix(line.span(at, at), sign))
}

/// `dxdt = -k*x`, `x_dot = -k*x` for a name that nothing declares.
fn undeclared(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    if !line.is_name(0) || line.text(1) != "=" {
        return None;
    }
    let by_time = format!("d{}", scene.time);
    // mrgsolve: dxdt_GUT
    if let Some(name) = word.strip_prefix("dxdt_").filter(|name| !name.is_empty()) {
        let (right, declared) = (line.slice(2, end_of(line)), scene.states.contains(name));
        let found =
            IdiomMatch::new(RATE, "write a derivative with a prime", line.span(0, 0)).label(format!("write `{name}'`"));
        let declare = if declared { String::new() } else { format!(", and declare `state {name} = 0`") };
        return Some(found.over(line.range.clone()).help(format!("write `{name}' = {right}`{declare}")));
    }
    let quotient = word.strip_prefix('d').and_then(|rest| rest.strip_suffix(by_time.as_str()));
    let dotted = || word.strip_suffix("dot").or_else(|| word.strip_suffix("prime"));
    let name = quotient.or_else(dotted)?.trim_end_matches('_');
    let read = |line: &Line<'_>| (2..line.tokens.len()).any(|k| line.text(k) == name);
    if name.is_empty() || scene.is_declared(name) || !scene.lines.iter().any(read) {
        return None;
    }
    let start = ["0", "_0", "0_", "_init", "init"].iter().map(|end| format!("{name}{end}"));
    let start = start.into_iter().find(|start| scene.is_declared(start)).unwrap_or_else(|| "1".to_owned());
    let right = line.slice(2, end_of(line));
    let found = IdiomMatch::new(RATE, "write a derivative with a prime", line.span(0, 0));
    Some(
        found
            .label(format!("write `{name}'`"))
            .over(line.range.clone())
            .help(format!("write `{name}' = {right}`, and declare `state {name} = {start}`")),
    )
}

/// The elements of a row of a matrix: numbers and names, separated by commas or blanks.
pub(super) fn row(line: &Line<'_>, from: usize, to: usize) -> Option<Vec<String>> {
    let mut out = Vec::new();
    let mut k = from;
    while k < to {
        let sign = usize::from(line.text(k) == "-");
        let value = k + sign;
        let simple = matches!(line.kind(value), Some(TokenKind::Number | TokenKind::Name)) && value < to;
        // `1 - 2` is one element
        let glued = sign == 0 || line.touches(k) && (k == from || !line.touches(k - 1));
        if !simple || !glued {
            return None;
        }
        out.push(line.slice(k, value + 1).to_owned());
        k = value + 1;
        k += usize::from(k < to && line.text(k) == ",");
    }
    (!out.is_empty()).then_some(out)
}

/// `[0 1; -1 0]`, `[1; 2]`, `[1 2 3]`
fn matrix(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) != "[" || at > 0 && line.touches(at - 1) && line.is_name(at - 1) {
        return None;
    }
    let close = line.close(at)?;
    let ends: Vec<usize> = (at + 1..close).filter(|&k| line.text(k) == ";").chain([close]).collect();
    // `2 [kg m2]`: a unit
    let after_value = at > 0
        && (matches!(line.kind(at - 1), Some(TokenKind::Number | TokenKind::Name))
            || matches!(line.text(at - 1), ")" | "]"));
    if after_value && ends.len() == 1 {
        return None;
    }
    let starts = std::iter::once(at + 1).chain(ends.iter().map(|&k| k + 1));
    let rows: Vec<Vec<String>> = starts
        .zip(&ends)
        .filter(|(from, to)| from < *to)
        .map(|(from, &to)| row(line, from, to))
        .collect::<Option<_>>()?;
    let commas = (at + 1..close).filter(|&k| line.text(k) == ",").count();
    let columns = rows.first()?.len();
    let foreign = ends.len() > 1 || commas + 1 < columns;
    if !foreign || rows.iter().any(|row| row.len() != columns) || rows.len() * columns < 2 {
        return None;
    }
    let (table, size) = if rows.len() == 1 || columns == 1 {
        let all: Vec<String> = rows.concat();
        (format!("[{}]", all.join(", ")), format!("1..{}", all.len()))
    } else {
        let each: Vec<String> = rows.iter().map(|row| format!("[{}]", row.join(", "))).collect();
        (format!("[{}]", each.join(", ")), format!("1..{}, 1..{columns}", rows.len()))
    };
    let found =
        IdiomMatch::new(ARRAY, "write a table with commas, and each of several rows in brackets", line.span(at, close));
    let found = found.label("a table in another notation");
    // `run { tspan = [0 10] }`
    if at >= 2 && line.text(at - 1) == "=" && TIMES.contains(&line.text(at - 2)) && line.text(0) == "run" {
        let all: Vec<String> = rows.concat();
        let help = match all.as_slice() {
            [first, last] => format!("write `t = {first} .. {last}`"),
            _ => format!("write `samples = {table}`, and the time span as `t = {} .. {}`", all[0], all[all.len() - 1]),
        };
        let found = IdiomMatch::new(PROGRAM, "write a time span with two dots", line.span(at - 2, close));
        return Some(found.label("a time span").help(help));
    }
    // a definition or declaration without indices
    if at >= 2 && line.text(at - 1) == "=" && line.is_name(at - 2) && line.text(at - 2) != "samples" {
        let word = line.text(0);
        let word = if matches!(word, "const" | "param" | "state") && at > 2 { word } else { "const" };
        return Some(found.help(format!("write `{word} {}[{size}] = {table}`", line.text(at - 2))));
    }
    Some(found.write(table))
}

/// `u(i)` and `u{i}` with a declared index.
fn index(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let name = line.text(at);
    let bracket = line.text(at + 1);
    let called = bracket == "(" && (scene.is_function(name) || scene.arrays.contains_key(name));
    if !line.is_name(at) || !line.touches(at) || !matches!(bracket, "(" | "{") || called {
        return None;
    }
    let close = line.close(at + 1)?;
    let arguments = line.arguments(at + 1)?;
    let indexed = arguments.iter().any(|r| scene.indices.contains(line.text(r.start)));
    let simple = arguments.iter().all(|r| {
        let first = line.text(r.start);
        let counts = scene.indices.contains(first) || line.kind(r.start) == Some(TokenKind::Number);
        counts && (r.len() == 1 || r.len() == 3 && matches!(line.text(r.start + 1), "+" | "-"))
    });
    (indexed && simple).then(|| {
        let better = format!("{name}[{}]", line.slice(at + 2, close));
        IdiomMatch::new(ARRAY, "write an index in square brackets", line.span(at, close))
            .label(format!("write `{better}`"))
            .help(format!("write `{better}`"))
            .fix(line.span(at + 1, at + 1), "[")
            .fix(line.span(close, close), "]")
    })
}
