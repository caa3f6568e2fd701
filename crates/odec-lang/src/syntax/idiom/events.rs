//! Events of other tools: callbacks, options of solvers, flags of event functions, edges and left limits of conditions.

use super::call::CODE;
use super::line::{Line, operand};
use super::sign::operand_start;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

/// Names of events in solvers that are called as functions.
const CALLBACKS: [&str; 9] = [
    "ContinuousCallback",
    "DiscreteCallback",
    "VectorContinuousCallback",
    "CallbackSet",
    "PeriodicCallback",
    "PresetTimeCallback",
    "TerminateSteadyState",
    "odeset",
    "eventfun",
];
/// Attributes of the event functions of SciPy.
const FLAGS: [&str; 2] = ["terminal", "direction"];
/// A condition that turns true, or turns either way.
const RISING: [&str; 4] = ["rising", "edge", "posedge", "initial_edge"];
const FALLING: [&str; 2] = ["falling", "negedge"];
/// Names of impulses: areas that are added at one time.
const IMPULSES: [&str; 5] = ["delta", "dirac", "Dirac", "DiracDelta", "impulse"];
/// The value before an event.
const BEFORE: [&str; 3] = ["pre", "previous", "last"];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(two_words(line));
    for at in 0..line.tokens.len() {
        let idiom = callback(scene, line, at).or_else(|| flag(scene, line, at)).or_else(|| call(scene, line, at));
        found.extend(idiom);
    }
}

/// `at every 0.7 { y += 1 }`, `when every 2: y = y + 1`
fn two_words(line: &Line<'_>) -> Option<IdiomMatch> {
    let first = line.text(0);
    if !matches!(first, "at" | "when" | "on") || line.text(1) != "every" || line.text(2).is_empty() {
        return None;
    }
    let open = (3..line.tokens.len()).find(|&k| matches!(line.text(k), "{" | ":"))?;
    let stop = line.tokens.len() - usize::from(line.text(line.tokens.len() - 1) == "}");
    let mut actions = line.slice(open + 1, stop).trim_end_matches(';').to_owned();
    // an action sets its target with `:=`
    if !actions.contains([':', ';', '<', '>']) && !actions.contains("+=") && !actions.contains("-=") {
        actions = actions.replacen('=', ":=", 1);
    }
    let mut period = line.slice(2, open).to_owned();
    // `0.7 h`
    if open == 4 && line.kind(2) == Some(TokenKind::Number) && crate::units::table::find(line.text(3)).is_some() {
        period = format!("{} [{}]", line.text(2), line.text(3));
    }
    let better = format!("every {period} {{ {actions} }}");
    let found =
        IdiomMatch::new(&codes::E0118, format!("regular times need no `{first}` before `every`"), line.span(0, 0));
    let found = found.label("not needed").over(line.range.clone());
    Some(if actions.is_empty() { found } else { found.help(format!("write `{better}`")) })
}

/// `cb = ContinuousCallback(condition, affect!)`, `options = odeset('Events', @hit)`
fn callback(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if !CALLBACKS.contains(&word) || scene.is_declared(word) || line.text(at + 1) != "(" {
        return None;
    }
    if word.ends_with("odeset") && !line.whole().contains("Events") {
        let found = IdiomMatch::new(&codes::E0133, "options belong to the block of a run", line.span(at, at));
        return Some(
            found
                .label("options")
                .help("write `run { t = 0 .. 10; rtol = 1e-6; atol = 1e-9 }`")
                .over(line.range.clone()),
        );
    }
    Some(event(line))
}

/// `hit.terminal = True`
fn flag(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let known = at != 0 || scene.is_declared(line.text(0));
    let fits = line.text(1) == "." && FLAGS.contains(&line.text(2)) && line.text(3) == "=";
    (!known && fits).then(|| event(line))
}

fn event(line: &Line<'_>) -> IdiomMatch {
    IdiomMatch::new(&codes::E0133, "write an event with braces", line.span(0, line.tokens.len() - 1))
        .label("an event")
        .help(
            "write `when h < 0 { h' := -0.8*h' }` to change a state at that time, or `when h < 0 { stop }` to end \
             the run",
        )
        .over(line.range.clone())
}

/// `rising(x - 0.5)`, `edge(on)`, `pre(h')`, `delta(t - 5)`
fn call(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let impulse = IMPULSES.contains(&word);
    let open = line.text(at + 1) == "(" || impulse && line.text(at + 1) == "[";
    if !line.is_name(at) || !open || scene.is_declared(word) || scene.is_function(word) {
        return None;
    }
    let arguments = line.arguments(at + 1)?;
    let span = line.span(at, line.close(at + 1)?);
    let found = IdiomMatch::new(CODE, format!("odec has no function `{word}`"), span);
    if let ("sample", [from, period]) = (word, arguments.as_slice()) {
        let (from, period) = (line.slice(from.start, from.end), line.slice(period.start, period.end));
        let close = line.close(at + 1)?;
        let block = at == 1 && line.text(0) == "when" && line.text(close + 1) == "{";
        let actions = if block { line.slice(close + 2, line.close(close + 1)?) } else { "..." };
        return Some(found.label("regular times").help(format!("write `every {period} from {from} {{ {actions} }}`")));
    }
    let [argument] = arguments.as_slice() else { return None };
    let text = line.slice(argument.start, argument.end);
    let compares = text.contains(['<', '>']);
    if let Some(better) = modelica_event(line).filter(|_| word == "pre") {
        let found = IdiomMatch::new(&codes::E0133, "write an event with braces", line.span(0, line.tokens.len() - 1));
        return Some(
            found
                .label("an event")
                .over(line.range.clone())
                .help(format!("write `{better}`: the right sides of actions read the values before the event")),
        );
    }
    if let Some(found) = instant(line, at, text) {
        return Some(found);
    }
    if BEFORE.contains(&word) && !(0..at).any(|k| matches!(line.text(k), ":=" | "+=" | "-=")) {
        return Some(found.label("odec keeps no past values").help(format!(
            "store the value yourself, `discrete before = 0` and `every 0.1 {{ before := {text} }}`; the rate of change \
             of a state is `x'`"
        )));
    }
    if BEFORE.contains(&word) {
        return Some(
            found.label("the right sides of actions already read the values before the event").write(operand(text)),
        );
    }
    if RISING.contains(&word) {
        let condition = if compares { text.to_owned() } else { format!("{text} > 0") };
        let help = format!("a `when` happens when its condition becomes true: write `{condition}`");
        return Some(found.label("the condition is enough").help(help));
    }
    if FALLING.contains(&word) {
        let condition = if compares { format!("not ({text})") } else { format!("{text} < 0") };
        let help = format!("a `when` happens when its condition becomes true: write `{condition}`");
        return Some(found.label("the condition is enough").help(help));
    }
    if impulse {
        return Some(found.label("an impulse").help(dose(scene, line, at)?));
    }
    None
}

/// The event of `when x > 1 then y = pre(y) + 1`.
fn modelica_event(line: &Line<'_>) -> Option<String> {
    let then = line.find(1, "then").filter(|_| line.text(0) == "when" && line.find(1, "{").is_none())?;
    let equals = line.find(then, "=").filter(|&k| k == then + 2 && line.is_name(then + 1))?;
    let end = (equals..line.tokens.len()).find(|&k| matches!(line.text(k), ";" | "end")).unwrap_or(line.tokens.len());
    let value = super::text::without_pre(line.slice(equals + 1, end));
    Some(format!("when {} {{ {} := {value} }}", line.slice(1, then), line.text(then + 1)))
}

/// `edge(x > 1)` and `change(x)` in an equation, and `initial(x)`: values at a single instant.
fn instant(line: &Line<'_>, at: usize, argument: &str) -> Option<IdiomMatch> {
    let word = line.text(at);
    let found = IdiomMatch::new(CODE, format!("odec has no function `{word}`"), line.span(at, line.close(at + 1)?));
    let single = argument.chars().all(|c| c.is_alphanumeric() || c == '_');
    if word == "initial" && single {
        let named = format!("{argument}0");
        return Some(found.label("an initial value").help(format!(
            "declare the initial value as a parameter, `param {named} = 1` and `state {argument} = {named}`, and write \
             `{named}` here"
        )));
    }
    let condition = match word {
        _ if line.text(0) == "when" => return None,
        _ if RISING.contains(&word) && argument.contains(['<', '>']) => argument.to_owned(),
        _ if RISING.contains(&word) => format!("{argument} > 0"),
        _ if FALLING.contains(&word) && argument.contains(['<', '>']) => format!("not ({argument})"),
        _ if FALLING.contains(&word) => format!("{argument} < 0"),
        "change" if argument.contains(['<', '>']) => argument.to_owned(),
        "change" => format!("{argument} > 0"),
        _ => return None,
    };
    Some(
        found
            .label("true at a single instant")
            .help(format!("an equation has no effect at an instant: write an event, `when {condition} {{ x := 1 }}`")),
    )
}

/// The replacement of the impulse at `at`: an event with the time, the state and the amount in the line.
fn dose(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<String> {
    let (open, close) = (at + 1, line.close(at + 1)?);
    let shifted = line.reads(open + 1, &[scene.time, "-"]) && line.operand_end(open + 3) == Some(close);
    let when = match line.slice(open + 1, close) {
        text if text == scene.time => "0",
        _ if shifted => line.slice(open + 3, close),
        _ => return Some("write an impulse as an event that adds its area: `at 5 { x += 100 }`".to_owned()),
    };
    // a term of the rate of a state, with at most one factor before it
    let term = scene.states.contains(line.text(0))
        && line.kind(1) == Some(TokenKind::Prime)
        && line.text(2) == "="
        && line.span_start(at) == 3
        && matches!(line.text(close + 1), "" | "+" | "-");
    let factor = if line.text(at - 1) == "*" { operand_start(line, at - 1) } else { Some(at) };
    let (Some(start), true) = (factor, term) else {
        return Some(format!("write an impulse as an event that adds its area: `at {when} {{ x += 100 }}`"));
    };
    let amount = if start == at { "1" } else { line.slice(start, at - 1) };
    let change = match line.text(start - 1) {
        "=" | "+" => "+=",
        "-" => "-=",
        _ => return Some(format!("write an impulse as an event that adds its area: `at {when} {{ x += 100 }}`")),
    };
    let event = format!("at {when} {{ {} {change} {amount} }}", line.text(0));
    let alone = line.text(start - 1) == "=" && close + 1 == line.tokens.len();
    let here = if alone { format!("write `{}' = 0`", line.text(0)) } else { "remove this term".to_owned() };
    Some(format!("{here}, and write an event that adds its area: `{event}`"))
}
