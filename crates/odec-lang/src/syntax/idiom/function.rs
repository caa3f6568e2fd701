//! Functions of other languages: around the equations, or for one value.

use crate::diagnostic::{Code, codes};
use odec_ir::Span;

use super::line::Line;
use super::program::{block_end, head_span, range};
use super::{IdiomMatch, Scene};

const CODE: &Code = &codes::E0133;

/// `def f(t, y):`, `function dydt = f(t, y)`, `f <- function(t, y, p) {`, and functions without a name
pub(super) fn function(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    let word = line.text(0);
    if let Some(found) = lambda(scene, line) {
        return Some((found, at + 1));
    }
    let assigned = (0..line.tokens.len())
        .find(|&k| line.text(k) == "function")
        .filter(|&k| k == 2 && matches!(line.text(1), "<-" | "="));
    let headed = match word {
        "def" => line.is_name(1) && line.text(2) == "(",
        "function" | "subroutine" | "SUBROUTINE" | "func" => line.is_name(1) || line.text(1) == "[",
        "int" | "void" | "double" | "static" => {
            line.is_name(1) && line.text(2) == "(" && line.whole().ends_with(['{', '}'])
        }
        _ => assigned.is_some(),
    };
    if !headed || scene.is_declared(word) && assigned.is_none() {
        return None;
    }
    let open = (0..line.tokens.len()).find(|&k| line.text(k) == "(")?;
    let name = if assigned.is_some() { word } else { line.text(open - 1) };
    let arguments = line.arguments(open)?;
    let names: Vec<&str> = arguments.iter().map(|r| line.slice(r.start, r.end)).collect();
    // def f(a) = a^2
    let body =
        line.close(open).map(|close| close + 1).filter(|&k| line.text(k) == "=" && open == 2 && assigned.is_none());
    if let Some(equals) = body {
        let end = line.tokens.len();
        let better = format!("fn {}", line.slice(1, end));
        let found = IdiomMatch::new(CODE, "declare a function with `fn`", line.span(0, 0)).label("write `fn`");
        let found = found.help(format!("write `{better}`")).over(line.range.clone());
        let whole = equals + 1 < end && !line.text(end - 1).ends_with([';', '{']);
        return Some((if whole { found.fix(line.span(0, 0), "fn") } else { found }, at + 1));
    }
    if let Some(found) = on_one_line(scene, line, (name, &names, open)) {
        return Some((found, at + 1));
    }
    let (mut next, closed) = block_end(scene, at);
    // without an `end` the body of a MATLAB function is the rest of the file
    if matches!(word, "function" | "subroutine") && !closed {
        next = at + 1;
    }
    let body: Vec<&Line<'_>> = scene.lines[at + 1..next].iter().collect();
    let found = IdiomMatch::new(CODE, "equations need no function around them", head_span(line))
        .label("the head of a function")
        .over(range(scene, at, next));
    let rates =
        names.iter().any(|name| *name == scene.time || is_solved(scene, name) || matches!(*name, "t" | "du" | "dy"));
    let single = value_of(line, &body);
    let names: Vec<&str> = names.into_iter().map(untyped).collect();
    if let (Some(result), false) = (single, rates || is_rate(scene, assigned_name(line))) {
        let better = format!("fn {name}({}) = {result}", names.join(", "));
        let whole = range(scene, at, next);
        let found = IdiomMatch { headline: "a function consists of one expression".to_string(), ..found };
        return Some((found.help(format!("write `{better}`")).fix(Span::new(whole.start, whole.end), better), next));
    }
    let help = match (single, names.get(1)) {
        (Some(result), Some(state)) if !result.starts_with('[') && rates => {
            format!("write `{state}' = {result}`, with `state {state} = 1`")
        }
        _ => "write each equation as on paper: `x' = -k*x`, with `state x = 1` and `param k = 2`".to_string(),
    };
    Some((found.help(help), next))
}

/// `f(z) := z^2`, `f[z_] := z^2`, `f := z -> z^2`
pub(super) fn by_pattern(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (name, end) = (line.text(0), line.tokens.len());
    if line.is_name(0) && line.text(1) == ":=" && !scene.is_declared(name) {
        let round = line.close(2).filter(|_| line.text(2) == "(");
        let arrow = round.map_or(3, |close| close + 1);
        let names = if round.is_some() { line.slice(3, arrow - 1) } else { line.text(2) };
        let fits =
            line.text(arrow) == "->" && arrow + 1 < end && line.is_name(arrow.saturating_sub(1)) != round.is_some();
        return fits.then(|| {
            let better = format!("fn {name}({names}) = {}", line.slice(arrow + 1, end));
            let found = IdiomMatch::new(CODE, "declare a function with `fn`", line.span(0, arrow));
            found.label("a function").help(format!("write `{better}`")).fix(line.span(0, end - 1), better)
        });
    }
    let close = line.close(1).filter(|&k| matches!(line.text(1), "(" | "[") && line.text(k + 1) == ":=")?;
    let arguments = line.arguments(1).filter(|list| !list.is_empty() && line.touches(0) && close + 2 < end)?;
    let names: Vec<&str> =
        arguments.iter().filter(|r| r.len() == 1 && line.is_name(r.start)).map(|r| line.text(r.start)).collect();
    // an action sets an element of an array
    if !line.is_name(0) || scene.is_declared(name) || names.len() < arguments.len() {
        return None;
    }
    let names: Vec<&str> = names.iter().map(|name| name.trim_end_matches('_')).collect();
    let better = format!("fn {name}({}) = {}", names.join(", "), line.slice(close + 2, end));
    let found = IdiomMatch::new(CODE, "declare a function with `fn`", line.span(0, close + 1));
    let found = found.label("a function").help(format!("write `{better}`"));
    Some(found.fix(line.span(0, end - 1), better))
}

/// `f(u, p, t) = -p*u`, `f!(du, u, p, t) = begin`: the right-hand side for a solver, which nothing calls.
pub(super) fn right_side(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    let name = line.text(0);
    // functions that change their arguments end with `!` in Julia
    let open = if line.text(1) == "!" { 2 } else { 1 };
    if !line.is_name(0) || line.text(open) != "(" || !line.touches(0) || scene.is_function(name) {
        return None;
    }
    let close = line.close(open).filter(|&k| line.text(k + 1) == "=" && k + 2 < line.tokens.len())?;
    let arguments = line.arguments(open)?;
    let names: Vec<&str> = arguments.iter().map(|r| line.slice(r.start, r.end)).collect();
    let (state, parameters) = match names.as_slice() {
        [u, p, t] | [_, u, p, t] if *t == scene.time => (*u, Some(*p)),
        [t, u, p] if *t == scene.time => (*u, Some(*p)),
        [t, u] if *t == scene.time => (*u, None),
        _ => return None,
    };
    let called = |line: &Line<'_>| (0..line.tokens.len()).any(|k| line.reads(k, &[name, "("]));
    if scene.lines.iter().enumerate().any(|(k, line)| k != at && called(line)) {
        return None;
    }
    let body = line.slice(close + 2, line.tokens.len());
    let next = if body == "begin" { block_end(scene, at).0 } else { at + 1 };
    let parts = |of: &str| (close + 2..line.tokens.len()).any(|k| line.reads(k, &[of, "["]));
    let plain = !body.starts_with(['[', '(']) && body != "begin" && !parts(state) && !parameters.is_some_and(parts);
    let help = if plain {
        let used =
            parameters.filter(|p| !scene.is_declared(p) && (close + 2..line.tokens.len()).any(|k| line.text(k) == *p));
        let with = used.map(|p| format!(" and `param {p} = 1`")).unwrap_or_default();
        format!("write `{state}' = {body}`, with `state {state} = 1`{with}")
    } else {
        "write one equation for each state, with a name instead of a number: `x' = -k*x`, with `state x = 1` and \
         `param k = 2`"
            .to_owned()
    };
    let found = IdiomMatch::new(CODE, "equations need no function around them", head_span(line))
        .label("a function for a solver")
        .over(range(scene, at, next));
    Some((found.help(help), next))
}

/// True for a state without an equation of its own: the function gives it.
fn is_solved(scene: &Scene<'_>, name: &str) -> bool {
    scene.states.contains(name) && !scene.rates.contains(name)
}

/// `f = lambda x: -x`, `f = @(x) -x`, `f = x -> -x`
fn lambda(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    if !line.is_name(0) || line.text(1) != "=" {
        return None;
    }
    let round = |open: usize| line.close(open).filter(|_| line.text(open) == "(");
    let (arguments, body) = match line.text(2) {
        "lambda" => {
            let colon = line.find(3, ":")?;
            (3..colon, colon + 1)
        }
        "@" => (4..round(3)?, round(3)? + 1),
        "(" => (3..round(2)?, round(2)? + 2),
        _ => (2..3, 4),
    };
    if !matches!(line.text(2), "lambda" | "@") && !matches!(line.text(body - 1), "->" | "=>") {
        return None;
    }
    let end = line.tokens.len() - usize::from(line.text(line.tokens.len() - 1) == ";");
    if body >= end || arguments.is_empty() {
        return None;
    }
    let elementwise = |text: &str| text.replace(".^", "^").replace(".*", "*").replace("./", "/");
    let right = line.slice(body, end);
    let right = if line.text(2) == "@" { elementwise(right) } else { right.to_owned() };
    let names: Vec<&str> = arguments.clone().filter(|&k| line.is_name(k)).map(|k| line.text(k)).collect();
    let found = IdiomMatch::new(CODE, "declare a function with `fn`", line.span(2, 2)).over(line.range.clone());
    // the right-hand side function of a solver
    let state = names.iter().find(|name| scene.states.contains(*name) && !scene.rates.contains(*name));
    if let Some(state) = state.filter(|_| names.contains(&scene.time) && line.text(2) != "lambda") {
        let found = IdiomMatch { headline: "equations need no function around them".to_owned(), ..found };
        return Some(found.label("a function for a solver").help(format!("write `{state}' = {right}`")));
    }
    // `~` is an argument that is not used
    let list = line.slice(arguments.start, arguments.end).replace('~', "unused");
    let better = format!("fn {}({list}) = {right}", line.text(0));
    let found = found.label(format!("write `{better}`")).help(format!("write `{better}`"));
    let free = !scene.functions.contains(line.text(0));
    // only names separated by commas
    let plain = 2 * names.len() == arguments.len() + 1;
    Some(if free && plain { found.fix(Span::new(line.range.start, line.range.end), better) } else { found })
}

/// `m <- rxode2({ ... })`, `with(as.list(c(y, p)), { ... })`
pub(super) fn wrapper(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    let last = line.tokens.len().checked_sub(1)?;
    // the bracket is open, so the following lines are joined
    let head = (0..=last).find(|&k| line.text(k) == "{" && k > 0 && matches!(line.text(k - 1), "(" | ","))?;
    let open = (0..head).any(|k| line.text(k) == "(");
    let close = (head..=last).rev().find(|&k| line.reads(k, &["}", ")"]))?;
    if !open || close + 1 != last || line.text(0) == "fn" {
        return None;
    }
    let (first, second) = (line.span(0, head), line.span(close, last));
    let found = IdiomMatch::new(CODE, "equations need no call around them", first)
        .label("not needed")
        .help("remove this line and the one that closes it")
        .over(line.range.clone())
        .fix(first, "")
        .fix(second, "");
    Some((found, at + 1))
}

/// An argument without its type and its default value: `k` of `double k`, `k: float` and `k = 1`.
fn untyped(argument: &str) -> &str {
    let bare = argument.split([':', '=']).next().unwrap_or(argument).trim();
    bare.rsplit(' ').next().unwrap_or(bare)
}

/// `y` of `function y = f(x)`
fn assigned_name<'a>(line: &Line<'a>) -> &'a str {
    if line.text(0) == "function" && line.is_name(1) && line.text(2) == "=" { line.text(1) } else { "" }
}

/// True for the name of a rate of change: `dydt`, `dx`, `ydot`.
fn is_rate(scene: &Scene<'_>, name: &str) -> bool {
    let of = name.strip_prefix('d').map(|rest| rest.strip_suffix("dt").unwrap_or(rest));
    let dotted = name.strip_suffix("dot").is_some_and(|of| !of.is_empty());
    dotted || of.is_some_and(|of| of.len() == 1 || scene.states.contains(of))
}

/// The value of a function whose body is one statement: `return x^2`, `y = x^2` for the function `y = f(x)`, `x^2`.
fn value_of<'a>(head: &Line<'a>, body: &[&Line<'a>]) -> Option<&'a str> {
    let body = match body {
        [body @ .., last] if last.text(0).starts_with("end") || last.whole() == "}" => body,
        _ => body,
    };
    let [line] = body else { return None };
    let end = line.tokens.len() - usize::from(line.text(line.tokens.len() - 1) == ";");
    let assigned = assigned_name(head);
    let from = match line.text(0) {
        "return" => 1,
        name if !assigned.is_empty() && name == assigned && line.text(1) == "=" => 2,
        // Julia and R return the last value
        _ if assigned.is_empty() && matches!(head.text(0), "function") && line.find(0, "=").is_none() => 0,
        _ => return None,
    };
    Some(line.slice(from, end)).filter(|value| !value.is_empty() && !value.contains('{'))
}

/// `def f(x): return -k*x`, `def f(x): x^2`, `double f(double x) { return x*x; }`
fn on_one_line(scene: &Scene<'_>, line: &Line<'_>, (name, names, open): (&str, &[&str], usize)) -> Option<IdiomMatch> {
    let (close, end) = (line.close(open)?, line.tokens.len());
    let last = end.checked_sub(1)?;
    let (from, to) = match line.text(close + 1) {
        ":" if line.text(0) == "def" => (close + 2, end),
        "{" if line.close(close + 1) == Some(last) => (close + 2, last),
        // R: `f <- function(x) x^2`
        "" | "{" => return None,
        _ if line.text(2) == "function" && line.text(1) == "<-" => (close + 1, end),
        _ => return None,
    };
    let from = from + usize::from(line.text(from) == "return");
    let to = to - usize::from(to > from && line.text(to - 1) == ";");
    let result = line.slice(from, to);
    if from >= to || result.contains([';', '=']) || names.contains(&scene.time) && line.text(0) != "def" {
        return None;
    }
    let names: Vec<&str> = names.iter().copied().map(untyped).collect();
    let better = format!("fn {name}({}) = {result}", names.join(", "));
    let found = IdiomMatch::new(CODE, "declare a function with `fn`", line.span(0, 0)).label("write `fn`");
    let whole = Span::new(line.range.start, line.range.end);
    Some(found.help(format!("write `{better}`")).over(line.range.clone()).fix(whole, better))
}
