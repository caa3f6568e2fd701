//! Statements of Modelica and CellML on one line: `when x > 2 then reinit(x, 0); end when;`,
//! `Real x(start=1), y(start=2);`, `sel case x > 2: 1; otherwise: -x; endsel`. And a step of Euler's method.

use super::ended::length;
use super::line::{Line, bare};
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(
        event(line).or_else(|| started(scene, line)).or_else(|| selected(scene, line)).or_else(|| step(scene, line)),
    );
}

/// `when x > 2 then reinit(x, 0); end when;`
fn event(line: &Line<'_>) -> Option<IdiomMatch> {
    let end = length(line);
    let closes = end > 6 && line.text(end - 2) == "end" && line.text(end - 1) == "when";
    let then = line.find(1, "then").filter(|_| line.text(0) == "when" && closes)?;
    if (1..end).any(|k| matches!(line.text(k), "elsewhen" | "if" | "for" | "{")) {
        return None;
    }
    let (mut actions, mut from) = (Vec::new(), then + 1);
    while from < end - 2 {
        let stop = line.find(from, ";").filter(|&k| k < end - 2).unwrap_or(end - 2);
        actions.push(action(line, from, stop)?);
        from = stop + 1;
    }
    let better = format!("when {} {{ {} }}", bare(line.slice(1, then)), actions.join("; "));
    let found = IdiomMatch::new(&codes::E0133, "write an event with braces", line.span(0, line.tokens.len() - 1));
    let found = found.label("an event").over(line.range.clone());
    (!actions.is_empty()).then(|| found.write(better))
}

/// `reinit(x, 0)`, `n = pre(n) + 1`, `x := 0`, `terminate("...")`
fn action(line: &Line<'_>, from: usize, stop: usize) -> Option<String> {
    let value = |from: usize, to: usize| super::text::without_pre(line.slice(from, to));
    if line.text(from) == "reinit" && line.close(from + 1) == Some(stop - 1) {
        let [name, new] = line.arguments(from + 1)?.try_into().ok()?;
        return Some(format!("{} := {}", line.slice(name.start, name.end), value(new.start, new.end)));
    }
    if line.text(from) == "terminate" && line.close(from + 1) == Some(stop - 1) {
        let reason = line.slice(from + 2, stop - 1);
        return Some(format!("stop {reason}").trim_end().to_owned());
    }
    let equals =
        (line.is_name(from) && matches!(line.text(from + 1), "=" | ":=") && stop > from + 2).then_some(from + 1)?;
    Some(format!("{} := {}", line.text(from), value(equals + 1, stop)))
}

/// `Real x(start=1, fixed=true), y(start=2);`
fn started(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = length(line);
    if line.text(0) != "Real" || !line.is_name(1) {
        return None;
    }
    let (mut items, mut certain, mut at) = (Vec::new(), true, 1);
    while at < end {
        let close = line.close(at + 1).filter(|_| line.is_name(at) && line.text(at + 1) == "(")?;
        let mut start = None;
        for argument in line.arguments(at + 1)? {
            let value = line.slice(argument.start + 2, argument.end);
            match line.text(argument.start) {
                "start" if line.text(argument.start + 1) == "=" => start = Some(value),
                "fixed" => certain &= value == "true",
                _ => certain = false,
            }
        }
        let name = line.text(at);
        certain &= scene.rates.contains(name) && !scene.states.contains(name);
        items.push(format!("{name} = {}", start?));
        at = close + 2;
        if close + 1 < end && line.text(close + 1) != "," {
            return None;
        }
    }
    let better = format!("state {}", items.join(", "));
    let whole = line.span(0, line.tokens.len() - 1);
    let found = IdiomMatch::new(&codes::E0133, "odec has no types", whole).label("a declaration");
    let found = found.over(line.range.clone()).help(format!("write `{better}`"));
    (items.len() > 1).then(|| if certain { found.fix(whole, better) } else { found })
}

/// `sel case x > 2: 1; otherwise: -x; endsel` of CellML
fn selected(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    let at = (1..end).find(|&k| line.text(k) == "sel" && line.text(k + 1) == "case")?;
    let last = (at..end).find(|&k| line.text(k) == "endsel")?;
    if scene.is_declared("sel") {
        return None;
    }
    let (mut text, mut k, mut other) = (String::new(), at + 1, None);
    while k < last {
        let case = line.text(k) == "case";
        let colon = line.find(k, ":").filter(|&colon| colon < last && (case || line.text(k) == "otherwise"))?;
        let stop = line.find(colon, ";").filter(|&stop| stop < last).unwrap_or(last);
        let value = line.slice(colon + 1, stop);
        if case {
            text.push_str(&format!("if {} then {value} else ", line.slice(k + 1, colon)));
        } else {
            other = Some(value);
        }
        k = stop + 1;
    }
    text.push_str(other?);
    let alone = line.text(at - 1) == "=" && last + 1 >= length(line);
    let text = if alone { text } else { format!("({text})") };
    let better = format!(
        "{}{text}{}",
        line.between(line.range.start, line.tokens[at].start),
        line.slice(last + 1, length(line))
    );
    let found = IdiomMatch::new(&codes::E0122, "write a choice as `if ... then ... else`", line.span(at, last));
    let found = found.label("a choice").over(line.range.clone()).help(format!("write `{text}`"));
    Some(found.fix(line.span(0, end - 1), better))
}

/// `x(t+dt) = x(t) - k*x*dt`
fn step(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (name, time, end) = (line.text(0), scene.time, length(line));
    let width = line.text(4);
    let fits = line.reads(1, &["(", time, "+", width, ")", "=", name]) && line.is_name(0) && line.is_name(4);
    if !fits || !matches!(width, "dt" | "h" | "Δt" | "Dt" | "DT") || !scene.states.contains(name) {
        return None;
    }
    let from = if line.reads(8, &["(", time, ")"]) { 11 } else { 8 };
    let sign = line.text(from);
    // one term, a product with the step
    let mut depth = 0usize;
    for k in from + 1..end {
        match line.kind(k) {
            Some(TokenKind::Open) => depth += 1,
            Some(TokenKind::Close) => depth = depth.saturating_sub(1),
            _ if depth == 0 && matches!(line.text(k), "+" | "-" | "=" | "," | ";" | ":") => return None,
            _ => {}
        }
    }
    let plain = |k: usize| line.text(k) != width;
    let rate = if end > from + 3 && line.reads(end - 2, &["*", width]) && (from + 1..end - 1).all(plain) {
        line.slice(from + 1, end - 2)
    } else if line.reads(from + 1, &[width, "*"]) && (from + 2..end).all(plain) {
        line.slice(from + 3, end)
    } else {
        return None;
    };
    let now = format!("({time})");
    let mut rate = rate.to_owned();
    for state in &scene.states {
        rate = super::text::with_word(&rate, state, &format!("{state}\u{1}")).replace(&format!("\u{1}{now}"), "");
    }
    let rate = rate.replace('\u{1}', "");
    let rate = match sign {
        "+" => bare(&rate).to_owned(),
        "-" => format!("-{rate}"),
        _ => return None,
    };
    let better = format!("{name}' = {rate}");
    let headline = "write only the rate, not the time step";
    let found =
        IdiomMatch::new(&codes::E0132, headline, line.span(0, line.tokens.len() - 1)).label("a step of Euler's method");
    Some(found.over(line.range.clone()).write(better))
}
