//! Events of other tools: callbacks, options of solvers, flags of event functions, edges and left limits of conditions.

use super::call::CODE;
use super::line::{Line, operand};
use super::{Found, Scene};

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
/// The value before an event.
const BEFORE: [&str; 3] = ["pre", "previous", "last"];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<Found>) {
    for at in 0..line.tokens.len() {
        let idiom = callback(scene, line, at).or_else(|| flag(scene, line, at)).or_else(|| call(scene, line, at));
        found.extend(idiom);
    }
}

/// `cb = ContinuousCallback(condition, affect!)`, `options = odeset('Events', @hit)`
fn callback(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<Found> {
    let word = line.text(at);
    if !CALLBACKS.contains(&word) || scene.knows(word) || line.text(at + 1) != "(" {
        return None;
    }
    Some(event(line))
}

/// `hit.terminal = True`
fn flag(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<Found> {
    let known = at != 0 || scene.knows(line.text(0));
    let fits = line.text(1) == "." && FLAGS.contains(&line.text(2)) && line.text(3) == "=";
    (!known && fits).then(|| event(line))
}

fn event(line: &Line<'_>) -> Found {
    Found::new("E0133", "write an event with braces", line.span(0, line.tokens.len() - 1))
        .label("an event")
        .help(
            "write `when h < 0 { h' := -0.8*h' }` to change a state at that time, or `when h < 0 { stop }` to end \
             the run",
        )
        .over(line.range.clone())
}

/// `rising(x - 0.5)`, `edge(on)`, `pre(h')`, `delta(t - 5)`
fn call(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<Found> {
    let word = line.text(at);
    if !line.is_name(at) || line.text(at + 1) != "(" || scene.knows(word) || scene.is_function(word) {
        return None;
    }
    let arguments = line.arguments(at + 1)?;
    let span = line.span(at, line.close(at + 1)?);
    let [argument] = arguments.as_slice() else { return None };
    let text = line.slice(argument.start, argument.end);
    let found = Found::new(CODE, format!("odec has no function `{word}`"), span);
    let compares = text.contains(['<', '>']);
    if BEFORE.contains(&word) {
        return Some(
            found.label("the right sides of actions already read the values before the event").mend(operand(text)),
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
    if matches!(word, "delta" | "dirac" | "Dirac" | "DiracDelta" | "impulse") {
        let time = scene.time;
        let rest = text.strip_prefix(time).map(str::trim_start).and_then(|rest| rest.strip_prefix('-'));
        let when = rest.map_or("0", str::trim);
        let help = format!("write an impulse as an event that adds its area: `at {when} {{ x += 100 }}`");
        return Some(found.label("an impulse").help(help));
    }
    None
}
