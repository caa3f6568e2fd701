//! Functions without a counterpart in the language: delays, noise, tables, pulses, neighbours in an array.

use super::call::CODE;
use super::line::{Line, operand};
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;

/// Constructs that the language does not have yet, with alternatives.
const DELAYS: [&str; 8] = ["delay", "DELAY", "Delay", "delayed", "lag", "lagvalue", "pastvalue", "delay_n"];
const NOISE: [&str; 22] = [
    "rand",
    "randn",
    "random",
    "Random",
    "RANDOM",
    "normal",
    "Normal",
    "NORMAL",
    "ran",
    "rnorm",
    "runif",
    "unifrnd",
    "normrnd",
    "noise",
    "gauss",
    "randint",
    "uniform",
    "poisson",
    "rpois",
    "dW",
    "rexp",
    "RandomReal",
];
const TABLES: [&str; 14] = [
    "interp",
    "interp1",
    "interp1d",
    "interpolate",
    "graph",
    "GRAPH",
    "lookup",
    "LOOKUP",
    "spline",
    "pchip",
    "approx",
    "approxfun",
    "CubicSpline",
    "Interpolation",
];
/// Stocks in a call, in Vensim and Stella: their name and the number of stocks.
const STOCKS: [(&str, u32); 12] = [
    ("DELAY1", 1),
    ("DELAY1I", 1),
    ("DELAY3", 3),
    ("DELAY3I", 3),
    ("SMOOTH", 1),
    ("SMOOTHI", 1),
    ("SMOOTH3", 3),
    ("SMOOTH3I", 3),
    ("SMTH1", 1),
    ("SMTH3", 3),
    ("smth1", 1),
    ("smth3", 3),
];
/// Arrays of equal numbers.
const FILLED: [(&str, &str); 2] = [("zeros", "0"), ("ones", "1")];
/// Names of missing values.
const NOTHING: [&str; 12] =
    ["NaN", "nan", "NAN", "NaN64", "NA_real_", "None", "null", "NULL", "nil", "undefined", "Nothing", "nothing"];
const PULSES: [&str; 9] =
    ["dirac", "DiracDelta", "Dirac", "pulse", "PULSE", "squarepulse", "impulse", "rectpuls", "pulse_train"];

/// Delays, noise, tables and pulses.
pub(super) fn missing(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if !line.is_name(at) || scene.is_declared(word) || (at > 0 && line.text(at - 1) == ".") {
        return None;
    }
    if matches!(word, "dW" | "dW_t" | "dWt") && line.text(at + 1) != "=" && at > 0 {
        return Some(noise(line.span(at, at)));
    }
    // a call without brackets
    let bare = matches!(word, "rand" | "randn" | "rnorm" | "runif" | "noise") && at > 0 && line.text(at + 1) != "=";
    if bare && !matches!(line.text(at + 1), "(" | "[") {
        return Some(noise(line.span(at, at)));
    }
    super::tables::interpolated(scene, line, at, at).or_else(|| absent(line, at, at, scene.names_of_chain()))
}

/// `NaN`, `None`, `else stop`
pub(super) fn nothing(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let alone = !matches!(line.text(at + 1), "(" | "[" | "." | "=") && (at == 0 || line.text(at - 1) != ".");
    // `{ stop }` ends a run in an event, and no value
    let stop = word == "stop" && at > 0 && matches!(line.text(at - 1), "then" | "else");
    if !line.is_name(at) || !(stop || NOTHING.contains(&word)) || scene.is_declared(word) || !alone {
        return None;
    }
    Some(no_value(line, at, at))
}

/// A missing value at `at`, whose name begins at `from`.
pub(super) fn no_value(line: &Line<'_>, from: usize, at: usize) -> IdiomMatch {
    let declares = matches!(line.text(0), "param" | "const" | "state") && from > 1 && line.text(from - 1) == "=";
    let condition = (0..from).rev().find(|&k| line.text(k) == "if").map(|k| k + 1);
    let then = condition.and_then(|k| line.find(k, "then"));
    let help = match (condition, then) {
        _ if declares && line.is_name(from - 2) => {
            format!("write a number: `{} {} = 1`", line.text(0), line.text(from - 2))
        }
        (Some(start), Some(then)) if then + 1 == from => {
            format!("write a number, or end the run there: `when {} {{ stop }}`", line.slice(start, then))
        }
        (Some(start), Some(then)) if then < from && line.text(from - 1) == "else" => {
            format!("write a number, or end the run there: `when not ({}) {{ stop }}`", line.slice(start, then))
        }
        _ => "write a number".to_owned(),
    };
    let word = line.slice(from, at + 1);
    IdiomMatch::new(CODE, format!("odec has no value `{word}`"), line.span(from, at)).label("not a number").help(help)
}

/// `y'' + 2*y' + y` for the coefficients 1, 2 and 1.
fn terms(coefficients: &[String], name: &str) -> String {
    let terms = coefficients.iter().rev().enumerate().rev().filter(|(_, factor)| factor.as_str() != "0");
    let terms: Vec<String> = terms
        .map(|(order, factor)| {
            let derivative = format!("{name}{}", "'".repeat(order));
            if factor == "1" { derivative } else { format!("{factor}*{derivative}") }
        })
        .collect();
    terms.join(" + ")
}

/// `x = linspace(0, 1, n)`: a grid after a name, or the times of rows.
fn evenly_spaced(line: &Line<'_>, at: usize, [a, b, n]: [String; 3], span: odec_ir::Span) -> IdiomMatch {
    let found = IdiomMatch::new(CODE, "odec has no function `linspace`", span);
    if at == 2 && line.text(1) == "=" && line.is_name(0) && line.text(0) != "samples" {
        let from = if a == "0" { String::new() } else { format!("{} + ", operand(&a)) };
        let length = if a == "0" { operand(&b) } else { format!("({b} - {})", operand(&a)) };
        return found.label("a grid").help(format!(
            "write a grid as an axis: `index i = 1..{n}` and `axis {}[i] = {from}{length}*(i - 1)/({n} - 1)`",
            line.text(0)
        ));
    }
    if let Some(index) = index_of_element(line, at) {
        let from = if a == "0" { String::new() } else { format!("{} + ", operand(&a)) };
        let length = if a == "0" { operand(&b) } else { format!("({b} - {})", operand(&a)) };
        return found.label("equal distances").help(format!(
            "write `{} {from}{length}*({index} - 1)/({n} - 1)` for `index {index} = 1..{n}`",
            line.slice(0, 6)
        ));
    }
    // the first row is at the start
    let count = n.parse::<u64>().map_or_else(|_| "100".to_owned(), |n| n.saturating_sub(1).to_string());
    if at > 1 && line.text(at - 1) == "=" && line.text(0) == "run" && line.text(at - 2) != "samples" {
        // entries of other tools name the time too
        let name = if matches!(line.text(at - 2), "t_eval" | "t_span" | "tspan") { "t" } else { line.text(at - 2) };
        return found.label("times of rows").help(format!(
            "write the time span and the number of rows after the first: `{name} = {a} .. {b}; samples = {count}`"
        ));
    }
    found.label("times of rows").help(format!("write the number of rows after the first: `samples = {count}`"))
}

/// The states that smooth or delay `x` over the time `tau`.
fn stocks(count: u32, [x, tau]: [String; 2], start: Option<String>) -> String {
    let start = start.unwrap_or_else(|| x.clone());
    let (tau, difference) = (operand(&tau), |before: &str, own: &str| format!("({before} - {own})"));
    if count == 1 {
        return format!(
            "write it as a state: `state z = {start}`, `z' = {}/{tau}`, and `z` here",
            difference(&operand(&x), "z")
        );
    }
    let rate = |before: &str, k: u32| format!("`z{k}' = {count}*{}/{tau}`", difference(before, &format!("z{k}")));
    let names: Vec<String> = (1..=count).map(|k| format!("z{k}")).collect();
    let equations: Vec<String> =
        (1..=count).map(|k| if k == 1 { rate(&operand(&x), 1) } else { rate(&format!("z{}", k - 1), k) }).collect();
    format!("write it as states: `state {} = {start}`, {}, and `z{count}` here", names.join(", "), equations.join(", "))
}

/// The index of `param b[i] = linspace(...)`, whose function is at `at`.
fn index_of_element<'a>(line: &Line<'a>, at: usize) -> Option<&'a str> {
    let declares = matches!(line.text(0), "param" | "const" | "state") && line.text(2) == "[" && line.is_name(3);
    let module = at > 7 && line.text(7) == "." && at == 8;
    (declares && (at == 6 || module) && line.text(4) == "]" && line.text(5) == "=").then(|| line.text(3))
}

fn noise(span: odec_ir::Span) -> IdiomMatch {
    IdiomMatch::new(&codes::E0561, "odec does not support noise", span)
        .label("a random number")
        .help("remove the term, or replace it by a function of time: equations are deterministic")
}

/// `DELAY1(x, tau)`, which has a state of its own, and `zeros(5)`, which makes an array of states.
fn of_states(line: &Line<'_>, (at, from): (usize, usize), arguments: &[std::ops::Range<usize>]) -> Option<IdiomMatch> {
    let (word, span) = (line.text(at), line.span(from, line.close(at + 1)?));
    let text =
        |k: usize, other: &'static str| arguments.get(k).map_or(other, |r| line.slice(r.start, r.end)).to_string();
    if let (Some((_, count)), [_, _, ..]) = (STOCKS.iter().find(|(name, _)| *name == word), arguments) {
        let found = IdiomMatch::new(CODE, format!("odec has no function `{word}`"), span).label("hidden states");
        return Some(found.help(stocks(
            *count,
            [text(0, "x"), text(1, "tau")],
            arguments.get(2).map(|_| text(2, "0")),
        )));
    }
    if let (Some((_, value)), Some(count)) = (FILLED.iter().find(|(name, _)| *name == word), arguments.first()) {
        if index_of_element(line, from).is_some() {
            let found = IdiomMatch::new(CODE, format!("odec has no function `{word}`"), span).label("an array");
            return Some(
                found.help(format!("one value holds for all elements: write `{} {value}`", line.slice(0, from))),
            );
        }
        let named = from >= 2 && line.text(from - 1) == "=" && line.is_name(from - 2);
        let name = if named { line.text(from - 2) } else { "x" };
        let count = line.slice(count.start, count.end);
        let sizes: Vec<&str> = super::line::bare(count).split(',').map(str::trim).collect();
        if let ([rows, columns], true) = (sizes.as_slice(), count.starts_with('(')) {
            let found = IdiomMatch::new(CODE, format!("odec has no function `{word}`"), span).label("an array");
            return Some(found.help(format!(
                "declare an array with two indices, and one value for all elements: `index i = 1..{rows}`, \
                 `index j = 1..{columns}` and `state {name}[i,j] = {value}`"
            )));
        }
        let found = IdiomMatch::new(CODE, format!("odec has no function `{word}`"), span).label("an array");
        return Some(found.help(format!(
            "declare an array with an index, and one value for all elements: `index i = 1..{count}` and \
             `state {name}[i] = {value}`"
        )));
    }
    None
}

/// `mm(s, vmax, km)`, `hill(x, K, n)`
fn rate_law(word: &str, span: odec_ir::Span) -> Option<IdiomMatch> {
    let help = match word {
        "mm" | "MM" | "michaelis_menten" | "michaelis" | "monod" | "Monod" => {
            format!("declare it with its arguments in your order: `fn {word}(s, vmax, km) = vmax*s/(km + s)`")
        }
        "hill" | "Hill" => format!("declare it: `fn {word}(x, K, n) = x^n/(K^n + x^n)`"),
        _ => return None,
    };
    Some(IdiomMatch::new(CODE, format!("odec has no function `{word}`"), span).label("not declared").help(help))
}

/// The value of `x` a time `tau` ago.
pub(super) fn delayed(span: odec_ir::Span, x: &str, tau: &str, [z, i]: [&str; 2]) -> IdiomMatch {
    IdiomMatch::new(&codes::E0560, "odec does not support delays", span).label("a past value").help(format!(
        "a chain of states approximates a delay: `index {i} = 1..20`, `state {z}[{i}] = {x}`, `{z}[1]' = \
         20/{tau}*({x} - {z}[1])`, `{z}[{i} in 2..20]' = 20/{tau}*({z}[{i}-1] - {z}[{i}])`, and `{z}[20]` here"
    ))
}

/// `lagvalue(t - 3, 1)` of R: the time, and the number of the state.
fn lagged(span: odec_ir::Span, time: &str, number: Option<&str>, names: [&str; 2]) -> IdiomMatch {
    let tau = time.split_once('-').filter(|(now, _)| now.trim() == "t").map_or("tau", |(_, tau)| tau.trim());
    let Some(number) = number else { return delayed(span, "x", &operand(tau), names) };
    let x = format!("x{number}");
    let found = delayed(span, &x, &operand(tau), names);
    let help = format!("with `{x}` for state {number}, {}", found.help);
    found.help(help)
}

/// A call of a function without a counterpart; its name is at `at`, and it starts at `from`.
/// `names` are free ones for a state and an index.
pub(super) fn absent(line: &Line<'_>, at: usize, from: usize, names: [&str; 2]) -> Option<IdiomMatch> {
    let word = line.text(at);
    if line.text(at + 1) != "(" {
        return None;
    }
    let span = line.span(from, line.close(at + 1)?);
    let arguments = line.arguments(at + 1)?;
    let text =
        |k: usize, other: &'static str| arguments.get(k).map_or(other, |r| line.slice(r.start, r.end)).to_string();
    if DELAYS.contains(&word) {
        if matches!(word, "lagvalue" | "pastvalue") {
            let number = (arguments.len() > 1).then(|| text(1, "1"));
            return Some(lagged(span, &text(0, "t - tau"), number.as_deref(), names));
        }
        let (x, tau) = (text(0, "x"), operand(&text(1, "tau")));
        return Some(delayed(span, &x, &tau, names));
    }
    if NOISE.contains(&word) {
        return Some(noise(span));
    }
    if let Some(found) = of_states(line, (at, from), &arguments) {
        return Some(found);
    }
    if TABLES.contains(&word) {
        return Some(
            IdiomMatch::new(&codes::E0505, format!("odec has no function `{word}`"), span).label("a table").help(
                "declare it as an input, and call the input: `input q(t) = table([0, 1, 5], [2, 3, 2], linear)`, \
                 `q(x)`",
            ),
        );
    }
    if word == "linspace" && arguments.len() == 3 {
        return Some(evenly_spaced(line, at, [text(0, "0"), text(1, "1"), text(2, "101")], span));
    }
    if let ("tf" | "TransferFunction" | "TransferFcn", [above, below]) = (word, &arguments[..]) {
        let list = |r: &std::ops::Range<usize>| -> Vec<String> {
            let inside = line.slice(r.start, r.end).trim_matches(['[', ']']).replace(',', " ");
            inside.split_whitespace().map(operand).collect()
        };
        let equation = format!("{} = {}", terms(&list(below), "y"), terms(&list(above), "u"));
        return Some(
            IdiomMatch::new(CODE, "write a transfer function as a differential equation", span)
                .label("a transfer function")
                .help(format!("for the input `u` and the output `y`, write `{equation}`, with `state y = 0`")),
        );
    }
    if word == "shift" {
        let help = "read neighbours in an array by their index: `u[i-1]`";
        return Some(IdiomMatch::new(CODE, "odec has no function `shift`", span).label("a neighbour").help(help));
    }
    if let Some(found) = rate_law(word, span) {
        return Some(found);
    }
    if let ("PULSE" | "Pulse" | "pulse", [_, _, _]) = (word, &arguments[..]) {
        // Berkeley Madonna: an amount, the first time and the interval
        let (amount, first, interval) = (text(0, "100"), text(1, "0"), text(2, "12"));
        let help = format!("write repeated doses as an event: `every {interval} from {first} {{ x += {amount} }}`");
        return Some(IdiomMatch::new(CODE, format!("odec has no function `{word}`"), span).label("doses").help(help));
    }
    if let ("squarepulse", [_, _]) = (word, &arguments[..]) {
        // Berkeley Madonna: the start and the duration
        let (start, length) = (operand(&text(0, "5")), operand(&text(1, "2")));
        return Some(
            IdiomMatch::new(CODE, format!("odec has no function `{word}`"), span)
                .label("a pulse")
                .help(format!("write its start and end: `({start} < t < {start} + {length})`")),
        );
    }
    let second = (arguments.len() == 2).then(|| text(1, "1"));
    let known = pulse(word, &text(0, "1"), second.as_deref()).filter(|_| (1..=2).contains(&arguments.len()));
    if let Some(help) = known {
        return Some(IdiomMatch::new(CODE, format!("odec has no function `{word}`"), span).label("a pulse").help(help));
    }
    if PULSES.contains(&word) {
        let from =
            if word.eq_ignore_ascii_case("dirac") || word == "DiracDelta" { "1".to_string() } else { text(0, "1") };
        return Some(
            IdiomMatch::new(CODE, format!("odec has no function `{word}`"), span)
                .label("a pulse")
                .help(format!("write its height, start and end: `3*({from} < t and t < {from} + 0.1)`")),
        );
    }
    None
}

/// Help for a function of a module that has no counterpart of the same kind.
pub(super) fn of_module(prefix: &str, word: &str) -> String {
    match word {
        "sum" | "prod" => format!("write `{word}(i: u[i])` with the index of the array"),
        "dot" | "inner" | "vdot" => {
            "write `sum(i: a[i]*b[i])` for two arrays, and the sum of the products of the components for two vectors"
                .to_owned()
        }
        "norm" => "write `norm(r)` for a vector, and `sqrt(sum(i: r[i]^2))` for an array".to_owned(),
        "array" | "asarray" | "matrix" | "zeros" | "ones" | "full" => {
            "an array has an index: write `index i = 1..3`, and `const c[i] = [1, 2, 3]` or `state u[i] = 0`".to_owned()
        }
        "float64" | "float32" | "float_" => format!("remove `{prefix}{word}`: all values are real numbers"),
        _ => format!(
            "remove `{prefix}`; the manual lists the builtin functions, and you can define others with `fn {word}(x) = \
             ...`"
        ),
    }
}

/// `PULSE(5, 2)` is a start and a width in Vensim, and a volume and a time in Stella. `PULSE(100)` is a volume.
fn pulse(word: &str, a: &str, b: Option<&str>) -> Option<String> {
    let same = matches!(word, "PULSE" | "pulse");
    let a_term = operand(a);
    match b {
        _ if !same => None,
        Some(b) => Some(format!(
            "write `({a} <= t and t < {a_term} + {})` for a start and a width as in Vensim, or an event for a volume and \
             a time as in Stella: `at {b} {{ x += {a} }}`",
            operand(b)
        )),
        None => Some(format!("write a volume as an event: `at 5 {{ x += {a} }}`")),
    }
}
