//! Functions without a counterpart in the language: delays, noise, tables, pulses, neighbours in an array.

use super::call::CODE;
use super::line::{Line, operand};
use super::{IdiomMatch, Scene};

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
    absent(line, at, at)
}

/// `NaN`, `None`
pub(super) fn nothing(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let alone = !matches!(line.text(at + 1), "(" | "[" | "." | "=") && (at == 0 || line.text(at - 1) != ".");
    if !line.is_name(at) || !NOTHING.contains(&word) || scene.is_declared(word) || !alone {
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
    // the first row is at the start
    let count = n.parse::<u64>().map_or_else(|_| "100".to_owned(), |n| n.saturating_sub(1).to_string());
    found.label("times of rows").help(format!("write the number of rows after the first: `samples = {count}`"))
}

fn noise(span: odec_ir::Span) -> IdiomMatch {
    IdiomMatch::new("E0561", "odec does not support noise", span)
        .label("a random number")
        .help("remove the term, or replace it by a function of time: equations are deterministic")
}

/// A call of a function without a counterpart; its name is at `at`, and it starts at `from`.
pub(super) fn absent(line: &Line<'_>, at: usize, from: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if line.text(at + 1) != "(" {
        return None;
    }
    let span = line.span(from, line.close(at + 1)?);
    let arguments = line.arguments(at + 1)?;
    let text =
        |k: usize, other: &'static str| arguments.get(k).map_or(other, |r| line.slice(r.start, r.end)).to_string();
    if DELAYS.contains(&word) {
        let (x, tau) = (text(0, "x"), operand(&text(1, "tau")));
        return Some(IdiomMatch::new("E0560", "odec does not support delays", span).label("a past value").help(
            format!(
                "a chain of states approximates a delay: `index i = 1..20`, `state z[i] = {x}`, `z[1]' = \
                     20/{tau}*({x} - z[1])`, `z[i in 2..20]' = 20/{tau}*(z[i-1] - z[i])`, and `z[20]` here"
            ),
        ));
    }
    if NOISE.contains(&word) {
        return Some(noise(span));
    }
    if TABLES.contains(&word) {
        return Some(IdiomMatch::new("E0505", format!("odec has no function `{word}`"), span).label("a table").help(
            "declare it as an input, and call the input: `input q(t) = table([0, 1, 5], [2, 3, 2], linear)`, \
                 `q(x)`",
        ));
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
    if matches!(word, "hill" | "Hill") {
        let help = format!("declare it: `fn {word}(x, K, n) = x^n/(K^n + x^n)`");
        return Some(
            IdiomMatch::new(CODE, format!("odec has no function `{word}`"), span).label("not declared").help(help),
        );
    }
    if let ("PULSE", [_, _, _]) = (word, &arguments[..]) {
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
