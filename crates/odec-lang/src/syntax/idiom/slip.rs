//! Slips in the words and signs of a statement: `m x'' = -k*x`, `x(t=0) = 1`, `expect x at 2 = 0.1`, a clause after the
//! block of its event.

use super::line::Line;
use super::sign::sign;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::is_keyword;
use crate::syntax::explain::token::TokenKind;
use crate::syntax::keyword::CLAUSES;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(
        super::variable::search(scene, line)
            .or_else(|| super::variable::rate(scene, line))
            .or_else(|| product(scene, line))
            .or_else(|| start(scene, line))
            .or_else(|| expected(scene, line))
            .or_else(|| late_clause(scene, line)),
    );
    found.extend((0..line.tokens.len()).filter_map(|at| product_or_call(scene, line, at)));
    // `a === b`, `a !== b`
    let strict = |at: &usize| matches!(line.text(*at), "==" | "!=") && line.text(at + 1) == "=" && line.touches(*at);
    found.extend((0..line.tokens.len()).filter(strict).map(|at| sign(line, at, at + 1, line.text(at))));
}

/// `R' = gamma (I)` in a model that declares `gamma`: the product with it, or the function of this name?
fn product_or_call(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let name = line.text(at);
    let builtin = odec_ir::builtin::find_function(name).is_some() && !scene.functions.contains(name);
    if !line.is_name(at) || line.text(at + 1) != "(" || line.touches(at) || !builtin || !scene.is_declared(name) {
        return None;
    }
    // a factor is one value
    let [_] = line.arguments(at + 1)?.as_slice() else { return None };
    let close = line.close(at + 1)?;
    let inside = line.slice(at + 1, close + 1);
    let headline = format!("`{name}` is a quantity of this model, and a function");
    let found = IdiomMatch::new(&codes::E0115, headline, line.span(at, close)).label("a product or a call?");
    Some(found.help(format!(
        "write `{name}*{inside}` for the product with the quantity, `{name}{inside}` for the value of the function"
    )))
}

/// True if a token is a quantity of the model or its derivative, and no function.
fn is_quantity(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> bool {
    line.is_name(at) && scene.is_declared(line.text(at)) && !scene.is_function(line.text(at))
}

/// The state and the number of tokens of a derivative `dx/dt` at this token.
fn rate<'a>(scene: &Scene<'_>, line: &Line<'a>, at: usize) -> Option<(&'a str, usize)> {
    let name = line.text(at).strip_prefix('d')?;
    let below = line.text(at + 2).strip_prefix('d') == Some(scene.time);
    (scene.states.contains(name) && line.text(at + 1) == "/" && below).then_some((name, 3))
}

/// `m x'' + k x = 0`, `L di/dt = V`: products as a textbook prints them, at the beginning of an equation.
fn product(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    if !is_quantity(scene, line, 0) || is_keyword(line.text(0)) || line.find(1, "=").is_none() {
        return None;
    }
    if !is_quantity(scene, line, 1) && rate(scene, line, 1).is_none() {
        return None;
    }
    let mut text = String::new();
    let (mut k, mut from) = (0, line.range.start);
    while k < end {
        let token = line.tokens[k];
        let ended = k > 0 && (is_quantity(scene, line, k - 1) || ends_factor(line, k - 1));
        let derivative = rate(scene, line, k);
        if ended && (is_quantity(scene, line, k) || derivative.is_some()) {
            text.push_str(line.between(from, token.start).trim_end());
            text.push('*');
            from = token.start;
        }
        if let Some((name, length)) = derivative {
            text.push_str(line.between(from, token.start));
            text.push_str(&format!("{name}'"));
            from = line.tokens[k + length - 1].end;
            k += length - 1;
        }
        k += 1;
    }
    text.push_str(line.between(from, line.range.end));
    let found = IdiomMatch::new(&codes::E0115, "an operator is missing", line.span(1, 1));
    let label = format!("between `{}` and `{}`", line.text(0), line.text(1));
    Some(found.label(label).help(format!("write products with `*`: `{text}`")).over(line.range.clone()))
}

fn ends_factor(line: &Line<'_>, at: usize) -> bool {
    matches!(line.kind(at), Some(TokenKind::Number | TokenKind::Prime))
}

/// `x(t=0) = 1` and `x[0] = 1`: an initial value as an equation.
fn start(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let name = line.text(0);
    if !line.is_name(0) || scene.arrays.contains_key(name) || !line.touches(0) || is_keyword(name) {
        return None;
    }
    let timed = line.text(1) == "(" && line.text(2) == scene.time && matches!(line.text(3), "=" | "==");
    // x'[0] == 0
    let primes = (1..line.tokens.len()).take_while(|&k| line.kind(k) == Some(TokenKind::Prime)).count();
    let zero = if timed { 4 } else { primes + 2 };
    let numbered = line.text(primes + 1) == "[" && scene.rates.contains(name);
    let closed = line.kind(zero + 1) == Some(TokenKind::Close) && matches!(line.text(zero + 2), "=" | "==");
    let at_zero = line.text(zero).parse::<f64>().is_ok_and(|value| value == 0.0);
    if !(timed || numbered) || !closed || !at_zero {
        return None;
    }
    let value = line.slice(zero + 3, line.tokens.len());
    let better = if primes == 0 {
        format!("state {name} = {value}")
    } else {
        format!("state {name} = 1, {} = {value}", line.slice(0, primes + 1))
    };
    let found = IdiomMatch::new(
        &codes::E0307,
        format!("the initial value of `{name}` is not an equation"),
        line.span(0, zero + 1),
    )
    .label("an initial value")
    .over(line.range.clone());
    // a state that is declared elsewhere gets its value there
    Some(if scene.is_declared(name) || value.is_empty() || primes > 0 {
        found.help(format!("write it in the declaration of the state: `{better}`"))
    } else {
        let whole = line.span(0, line.tokens.len() - 1);
        found.help(format!("declare the state with its initial value: `{better}`")).fix(whole, better)
    })
}

/// `expect x at 2 = 0.135`, `expect x = 0.135 at 2`, `expect x(t=2) = 0.135`
fn expected(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    if line.text(0) != "expect" || !line.is_name(1) {
        return None;
    }
    let after = line.operand_end(1)?;
    // the time after `at`, `@`, or `t =`
    let timed = |at: usize| {
        let from = if line.text(at) == scene.time && line.text(at + 1) == "=" { at + 2 } else { at };
        let next = line.operand_end(from)?;
        // the unit of a number follows it
        let next = if line.text(next) == "[" { line.close(next)? + 1 } else { next };
        Some((line.slice(from, next), next))
    };
    let called = line.text(2) == "(" && line.text(3) == scene.time && line.text(4) == "=";
    let ((from, to), name, time, rest) = if called {
        let close = line.close(2)?;
        ((3, close - 1), line.text(1), line.slice(5, close), line.slice(close + 1, end).to_owned())
    } else if matches!(line.text(after), "at" | "@") {
        let (time, next) = timed(after + 1)?;
        ((after, next - 1), line.slice(1, after), time, line.slice(next, end).to_owned())
    } else if line.text(after) == "=" {
        let at = (after + 1..end).find(|&k| matches!(line.text(k), "at" | "@"))?;
        let (time, next) = timed(at + 1)?;
        let rest = format!("{} {}", line.slice(after, at), line.slice(next, end));
        ((at, next - 1), line.slice(1, after), time, rest.trim_end().to_owned())
    } else {
        return None;
    };
    let better = format!("expect {name}({time}) {rest}");
    let found = IdiomMatch::new(&codes::E0128, "the time of an expectation follows the name", line.span(from, to));
    rest.starts_with('=').then(|| found.label("the time").help(format!("write `{better}`")).over(line.range.clone()))
}

/// `every 5 { ... } until 9`: a clause after the block, also on the line that closes the block.
fn late_clause(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let at = (0..line.tokens.len()).find(|&k| CLAUSES.contains(&line.text(k)) && k > 0 && line.text(k - 1) == "}")?;
    let opens = |line: &Line<'_>| matches!(line.text(0), "every" | "at" | "when") && line.whole().contains('{');
    let before = scene.lines.iter().take_while(|other| other.range.start <= line.range.start);
    let head = before.filter(|other| opens(other)).last()?;
    let open = (1..head.tokens.len()).find(|&k| head.text(k) == "{")?;
    let clause = line.slice(at, line.tokens.len());
    let word = line.text(at);
    let found = IdiomMatch::new(&codes::E0117, format!("`{word}` belongs to the head of an event"), line.span(at, at))
        .label("after the block")
        .over(line.tokens[at].start..line.range.end);
    let limits = matches!(word, "from" | "until");
    let start = head.slice(0, open);
    Some(match head.text(0) {
        "when" if limits => {
            let sign = if word == "from" { ">=" } else { "<" };
            let (condition, time) = (head.slice(1, open), line.slice(at + 1, line.tokens.len()));
            found
                .help(format!("write it as a condition: `when {condition} and {} {sign} {time} {{ ... }}`", scene.time))
        }
        "at" if limits => found.help("an event at one time has no end: remove it"),
        _ => found.help(format!("write it before the block: `{start} {clause} {{ ... }}`")),
    })
}
