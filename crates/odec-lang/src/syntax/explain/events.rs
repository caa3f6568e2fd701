//! Heads and actions of events, and their notation in other languages.

use odec_ir::Span;

use super::{Scene, token::Token, token::TokenKind};
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::grammar::Rule;
use crate::syntax::keyword::{CLAUSES, REST};

/// Words that begin an event elsewhere.
const ELSEWHERE: [&str; 8] = ["if", "on", "while", "event", "whenever", "upon", "reset", "once"];

/// Words in the heads of events in other languages, and their replacements. `$1` is the text after the word.
const FOREIGN_CLAUSES: [(&[&str], &str); 9] = [
    (
        &["delay", "delayed", "wait", "lag", "alag", "ALAG"],
        "write `after $1`, the delay from the condition to the actions",
    ),
    (&["starting", "start", "beginning", "offset", "since"], "write `from $1`, the time of the first event"),
    (&["ending", "end", "till", "upto"], "write `until $1`: no event happens at that time or later"),
    (
        &["repeat", "count", "addl", "times"],
        "end a series with a time: `every 12 from 0 until 60 { ... }` happens 5 times, at 0, 12, 24, 36 and 48",
    ),
    (
        &["persistent", "nonpersistent"],
        "an event with `after` happens even if the condition becomes false; with `cancel`, it does not",
    ),
    (
        &["direction", "rising", "falling", "up", "down"],
        "the condition sets the direction: `when x < 0` as x falls below 0, `when x > 0` as it rises, `when x == 0` \
         both",
    ),
    (&["falls", "drops", "sinks"], "write `< $1`: the event happens when the condition becomes true"),
    (&["rises", "climbs"], "write `> $1`: the event happens when the condition becomes true"),
    (
        &["crosses", "crossing", "reaches", "hits", "passes", "exceeds", "becomes", "equals"],
        "write `> $1` for rising, `< $1` for falling, `== $1` for each crossing",
    ),
];

/// Words that do something in an event elsewhere.
const ENDING: [&str; 9] = ["terminate", "halt", "abort", "exit", "quit", "finish", "end", "break", "return"];
const SHOWING: [&str; 6] = ["print", "printf", "println", "disp", "display", "show"];
const SETTING: [&str; 4] = ["reset", "set", "let", "assign"];

/// An action in the notation of other languages: `reinit(h', 0)`, `terminate("small")`, `reset x`, `1 := x`, `(h, v)
/// := (0, 1)`.
fn foreign_action(scene: &Scene<'_>) -> Option<Diagnostic> {
    let first = scene.tokens.first().copied()?;
    let (word, line) = (scene.text(first), scene.line.trim());
    let inside = line.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')).map(|(inside, _)| inside.trim());
    let span = scene.span(first);
    let found =
        |label: &str| scene.error(&codes::E0117, format!("`{word}` does not begin an action")).label(span, label);
    if matches!(word, "reinit" | "setval")
        && let Some((name, value)) = inside.and_then(|inside| inside.split_once(','))
    {
        return Some(found("change a quantity with `:=`").help(format!("write `{} := {}`", name.trim(), value.trim())));
    }
    let second = scene.tokens.get(1).copied();
    let changed = second.is_some_and(|second| matches!(second.kind, TokenKind::Assign | TokenKind::Equals));
    if ENDING.contains(&word) && !changed {
        let text = inside.filter(|text| text.starts_with('"')).map(|text| format!(" {text}")).unwrap_or_default();
        return Some(found("end a run with `stop`").help(format!("write `stop{text}`")));
    }
    if SHOWING.contains(&word) && (inside.is_some() || second.is_some_and(|second| second.begins_value())) {
        return Some(found("an event cannot print").help(
            "remove it: a run prints the columns of `output`; `stop \"reason\"` ends the run and prints the reason",
        ));
    }
    let name = scene.tokens.get(1).copied().filter(|next| next.kind == TokenKind::Name);
    if let Some(name) = name.filter(|_| SETTING.contains(&word)) {
        let text = scene.text(name);
        return Some(found("change a quantity with `:=`").help(format!("write `{text} := 0` with its new value")));
    }
    if word == "if" && scene.at <= 1 {
        return Some(choice(scene, first));
    }
    let assigned = scene.tokens.iter().any(|token| token.kind == TokenKind::Assign);
    (assigned && scene.at == 0 && first.kind != TokenKind::Name).then(|| {
        scene
            .error(&codes::E0118, "an action must begin with the name that it changes")
            .label(span, "not a name")
            .help("write `x := 1`; separate the actions with `;`: `x := 1; y := 0`")
    })
}

/// `if x > 0.5 then y := 1 else y := 0` around actions.
fn choice(scene: &Scene<'_>, first: Token) -> Diagnostic {
    let report = scene
        .error(&codes::E0124, "an event cannot contain an `if` around its actions")
        .label(scene.span(first), "not here");
    let line = scene.line.trim_end();
    let place = |words: &[&str]| scene.tokens.iter().position(|token| words.contains(&scene.text(*token)));
    let assigns: Vec<&Token> = scene.tokens.iter().filter(|token| token.kind == TokenKind::Assign).collect();
    let better = place(&["then", ":"]).zip(assigns.first()).and_then(|(then, assign)| {
        let then = scene.tokens[then];
        let (condition, name) = (line[first.end..then.start].trim(), line.get(then.end..assign.start)?.trim());
        let other = place(&["else"]).map(|at| scene.tokens[at]);
        let end = other.map_or(line.len(), |other| other.start);
        let value = line.get(assign.end..end)?.trim();
        let value = match scene.text(**assign) {
            ":=" => value.to_owned(),
            sign => format!("{name} {} ({value})", &sign[..1]),
        };
        let last = match (other, assigns.as_slice()) {
            (None, [_]) => name.to_owned(),
            (Some(other), [_, second]) if line.get(other.end..second.start)?.trim() == name => {
                line[second.end..].trim().to_owned()
            }
            _ => return None,
        };
        Some(format!("{name} := if {condition} then {value} else {last}"))
    });
    report.help(match better {
        Some(better) => format!("put the choice on the right side: `{better}`"),
        None => "put the choice on the right side: `x := if c then 1 else x`".to_owned(),
    })
}

/// `h := 0 h' := 1`: two actions without a sign between them.
fn two_actions(scene: &Scene<'_>, here: Token) -> Option<Diagnostic> {
    let before = scene.before().filter(super::token::Token::ends_value)?;
    let is_assign = |token: &Token| token.kind == TokenKind::Assign;
    let (first, second) = (scene.tokens[..scene.at].iter(), scene.tokens[scene.at..].iter());
    let both = scene.brackets.is_empty() && here.kind == TokenKind::Name;
    (both && first.into_iter().any(is_assign) && second.into_iter().any(is_assign)).then(|| {
        scene
            .error(&codes::E0129, "a `;` is missing between two actions")
            .label(scene.span(here), "the second action begins here")
            .fix(scene.behind(before), ";")
    })
}

/// A word in a head that is not a clause here: `delay 2`, `starting 6`, `5 times`.
fn foreign_clause(scene: &Scene<'_>, here: Token) -> Option<Diagnostic> {
    scene.before().filter(|before| before.ends_value() && scene.brackets.is_empty())?;
    let counted = here.kind == TokenKind::Number && scene.after().is_some_and(|next| scene.text(next) == "times");
    let word = if counted { scene.after()? } else { here };
    let text = scene.text(word);
    let (_, help) = FOREIGN_CLAUSES.iter().find(|(words, _)| word.kind == TokenKind::Name && words.contains(&text))?;
    let rest = scene.line[word.end..].split(" {").next().unwrap_or_default().trim();
    let rest = rest.trim_start_matches(['=', ':', ' ']);
    let rest = if text.starts_with("start") { rest.trim_start_matches("at ") } else { rest };
    let rest =
        ["below ", "under ", "above ", "over ", "to "].iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
    let help = help.replace("$1", if rest.is_empty() { "2" } else { rest });
    Some(
        scene
            .error(&codes::E0117, format!("`{text}` is not a clause of an event"))
            .label(scene.span(word), "the clauses are `from`, `until`, `after`, `late`, `cancel` and `priority`")
            .help(help),
    )
}

/// An action that the grammar rejected.
pub(super) fn action(scene: &Scene<'_>) -> Option<Diagnostic> {
    if let Some(foreign) = foreign_action(scene) {
        return Some(foreign);
    }
    let Some(here) = scene.here() else { return lone_name(scene) };
    if let Some(two) = two_actions(scene, here) {
        return Some(two);
    }
    let text = scene.text(here);
    let first = scene.tokens.first().copied()?;
    if scene.text(first) == "stop" && scene.at == 1 && (here.kind == TokenKind::Equals || text == "==") {
        return Some(
            scene
                .error(&codes::E0124, "`stop` is an action, not a quantity")
                .label(scene.span(here), "`stop` takes no value")
                .help("write `stop`, or `stop \"reason\"`, to end the run here"),
        );
    }
    if scene.brackets.is_empty() && text == "=" && scene.wants("`:=`") {
        // `x =+ 1`
        let turned =
            scene.tokens.get(scene.at + 1).filter(|next| scene.touching(here, **next)).map(|next| scene.text(*next));
        if let Some(sign) = turned.filter(|sign| matches!(*sign, "+" | "-")) {
            let (name, rest) = (scene.text(first), format!("`{sign}=`"));
            return Some(
                scene
                    .error(&codes::E0124, "an event changes a quantity with `:=`, `+=` or `-=`")
                    .label(scene.span(here), format!("write {rest} or `:=`"))
                    .help(format!(
                        "write `{name} {sign}= ...` to change it by a value, or `{name} := {sign}...` to set it"
                    )),
            );
        }
    }
    if scene.brackets.is_empty() && (here.kind == TokenKind::Equals || text == "==") && scene.wants("`:=`") {
        return Some(
            scene
                .error(&codes::E0124, "an event changes a quantity with `:=`, `+=` or `-=`")
                .label(scene.span(here), "write `:=`")
                .help(
                    "`=` means that both sides are always equal: a definition belongs outside of the block; `:=` sets a \
                     new value at this instant",
                )
                .fix(scene.span(here), ":="),
        );
    }
    if scene.text(first) == "stop" && scene.at == 1 && text != ":=" {
        return Some(
            scene.error(&codes::E0118, "`stop` takes a string or nothing").label(scene.span(here), "unexpected").help(
                if scene.text(here) == "(" && scene.after().is_some_and(|next| next.kind == TokenKind::Text) {
                    format!("write `stop {}`", scene.after().map_or("", |next| scene.text(next)))
                } else if here.kind == TokenKind::Name && scene.tokens.len() == 2 {
                    format!("write the reason in quotes: `stop \"{text}\"`")
                } else {
                    "the condition belongs to the event: `when C { stop \"reason\" }`".to_owned()
                },
            ),
        );
    }
    let next = scene.after().filter(|next| scene.touching(here, *next) && scene.text(*next) == text);
    let sign = match text {
        "+" => "+=",
        "-" => "-=",
        _ => return None,
    };
    next.filter(|_| scene.before().is_some_and(|before| before.ends_value())).map(|next| {
        let both = Span::new(scene.base + here.start, scene.base + next.end);
        scene
            .error(&codes::E0124, "an event changes a quantity with `:=`, `+=` or `-=`")
            .label(both, format!("write `{sign} 1`"))
            .fix(both, format!(" {sign} 1"))
    })
}

/// `h` of `h, v := 0`: a comma separates actions.
fn lone_name(scene: &Scene<'_>) -> Option<Diagnostic> {
    let last = scene.before()?;
    let changes = scene.tokens.iter().any(|token| token.kind == TokenKind::Assign);
    (last.ends_value() && !changes && scene.brackets.is_empty()).then(|| {
        let line = scene.line;
        scene
            .error(&codes::E0128, format!("`{line}` alone is not an action"))
            .label(scene.span(last), "`:=`, `+=` or `-=` is missing")
            .help(format!(
                "each name needs its own action: write `{line} := 0;` with its value, and then the next action"
            ))
    })
}

/// `at 5, 10`
fn several_times(scene: &Scene<'_>, second: Token, here: Token) -> Diagnostic {
    let list = scene.line[second.start..].trim();
    scene
        .error(&codes::E0118, "write several times in brackets")
        .label(scene.span(here), "second time")
        .help(format!("write `at [{list}] {{ ... }}`"))
}

/// `every Ts = 0.1`
fn named_period(scene: &Scene<'_>, name: Token, here: Token) -> Diagnostic {
    let (text, value) = (scene.text(name), scene.line[here.end..].trim());
    scene
        .error(&codes::E0118, "the period follows directly after `every`")
        .label(scene.span(name).to(scene.span(here)), "not a period")
        .help(format!(
            "write `every {value} {{ ... }}`; or declare `param {text} = {value}`, and write `every {text} {{ ... }}`"
        ))
}

/// True for the usual names of the time.
fn is_time(word: &str) -> bool {
    matches!(word, "t" | "time" | "Time" | "TIME")
}

/// `at h = 0`, `at h < 0`, `at t = 5`
fn compared(scene: &Scene<'_>, here: Token) -> Option<Diagnostic> {
    let (text, second) = (scene.text(here), scene.tokens.get(1).copied());
    let equal = matches!(text, "=" | "==");
    let first = scene.tokens.first().copied()?;
    if !equal {
        return Some(
            scene
                .error(&codes::E0118, "`at` takes times, but this comparison is a condition")
                .label(scene.span(here), "a condition")
                .help("use `when` for a condition: the event happens when the condition becomes true")
                .fix(scene.span(first), "when"),
        );
    }
    let next = scene.after()?;
    if !is_time(scene.text(second?)) {
        let condition = scene.line[second?.start..here.start].trim_end();
        let value = scene.line[next.start..].trim_end();
        return Some(
            scene
                .error(&codes::E0118, "`at` takes times, but this comparison is a condition")
                .label(scene.span(second?).to(scene.span(here)), "a condition")
                .help(format!("write `when {condition} == {value}`: it happens at each crossing")),
        );
    }
    Some(
        scene
            .error(&codes::E0118, "the time follows directly after `at`")
            .label(scene.span(second?).to(scene.span(here)), "not needed")
            .help(format!("write `at {}`", scene.line[next.start..].trim_end()))
            .fix(Span::new(scene.base + second?.start, scene.base + next.start), ""),
    )
}

/// The head of an event that the grammar rejected.
pub(super) fn head(scene: &Scene<'_>) -> Option<Diagnostic> {
    let here = scene.here()?;
    let text = scene.text(here);
    let second = scene.tokens.get(1).copied();
    if let Some(clause) = foreign_clause(scene, here) {
        return Some(clause);
    }
    match (scene.rule, here.kind) {
        (_, TokenKind::Equals) if scene.before().is_some_and(|word| CLAUSES.contains(&scene.text(word))) => {
            let (word, next) = (scene.before()?, scene.after()?);
            Some(
                scene
                    .error(&codes::E0118, format!("the value follows directly after `{}`", scene.text(word)))
                    .label(scene.span(here), "not needed")
                    .fix(Span::new(scene.base + here.start, scene.base + next.start), ""),
            )
        }
        (Rule::when_head, TokenKind::Equals) if scene.before()?.ends_value() => Some(
            scene
                .error(&codes::E0124, "a condition compares with `==`")
                .label(scene.span(here), "write `==`")
                .fix(scene.span(here), "=="),
        ),
        (Rule::at_head, TokenKind::Equals | TokenKind::Compare) if scene.brackets.is_empty() => compared(scene, here),
        (Rule::at_head, TokenKind::Comma) if scene.brackets.is_empty() => Some(several_times(scene, second?, here)),
        (Rule::at_head, TokenKind::Name) if text == "every" && scene.brackets.is_empty() => {
            let (start, period) = (scene.line[second?.start..here.start].trim(), scene.line[here.end..].trim());
            Some(
                scene
                    .error(&codes::E0118, "a series of times begins with `every`")
                    .label(scene.span(here), "not after `at`")
                    .help(format!("write `every {period} from {start} {{ ... }}`")),
            )
        }
        (Rule::every_head, TokenKind::Compare) if scene.brackets.is_empty() => {
            let first = scene.tokens.first().copied()?;
            Some(
                scene
                    .error(&codes::E0118, "`every` takes a period, but this comparison is a condition")
                    .label(scene.span(here), "a condition")
                    .help("use `when` for a condition: the event happens when the condition becomes true")
                    .fix(scene.span(first), "when"),
            )
        }
        (Rule::every_head, TokenKind::Equals) if scene.at == 2 => Some(named_period(scene, second?, here)),
        (Rule::every_head, TokenKind::Name) if text == "to" => Some(
            scene
                .error(&codes::E0118, "end a series of times with `until`")
                .label(scene.span(here), "write `until`")
                .help("a series ends before the time after `until`, so a last event at this time needs a later end"),
        ),
        _ => None,
    }
}

/// `if C then x := 1`, `on C: x := 1`, `stop when C`: an event in the notation of other languages, on one line.
pub(super) fn elsewhere(scene: &Scene<'_>) -> Option<Diagnostic> {
    if scene.rule != Rule::equation_line {
        return None;
    }
    let first = scene.tokens.first().copied()?;
    let word = scene.text(first);
    let second = scene.tokens.get(1).copied()?;
    if word == "stop" && matches!(scene.text(second), "when" | "if" | "at") {
        let rest = scene.line[second.end..].trim();
        let condition = scene.tokens.get(3).is_some_and(|&sign| matches!(scene.text(sign), "=" | "==" | "<" | ">"))
            || scene.tokens.get(3).is_some_and(|&sign| matches!(scene.text(sign), "<=" | ">="));
        let timed = scene.tokens.get(2).is_some_and(|&name| is_time(scene.text(name)));
        let (head, rest) = match scene.text(second) {
            "at" if !condition => ("at", rest.to_owned()),
            // `stop at t = 5`
            "at" if timed => ("at", scene.line[scene.tokens.get(3)?.end..].trim().to_owned()),
            "at" => ("when", rest.replacen(" = ", " == ", 1)),
            _ => ("when", rest.to_owned()),
        };
        return Some(
            scene
                .error(&codes::E0117, "only an event can stop a run")
                .label(scene.span(first), "an action of an event")
                .help(format!("write `{head} {rest} {{ stop }}`")),
        );
    }
    let head = if matches!(word, "from" | "until") { "every 5" } else { "when C" };
    if CLAUSES.contains(&word) && second.begins_value() && !scene.tokens.iter().any(|t| t.kind == TokenKind::Equals) {
        return Some(
            scene
                .error(&codes::E0117, format!("`{word}` belongs to the head of an event"))
                .label(scene.span(first), "this is not the head of an event")
                .help(format!("write it before the block: `{head} {} {{ ... }}`", scene.line.trim())),
        );
    }
    let assign = scene.tokens.iter().position(|token| token.kind == TokenKind::Assign)?;
    if !ELSEWHERE.contains(&word) || scene.touching(first, second) && second.kind != TokenKind::Open {
        return None;
    }
    let ends = |token: &&Token| matches!(scene.text(**token), "then" | ":" | "do" | ",");
    let end = scene.tokens[..assign].iter().rev().find(ends).copied();
    let help = match end {
        Some(end) => {
            let (what, does) = (scene.line[first.end..end.start].trim(), scene.line[end.end..].trim());
            format!("write `when {what} {{ {does} }}`")
        }
        None => "write `when C { x := 1 }`".to_owned(),
    };
    Some(
        scene
            .error(&codes::E0117, format!("`{word}` cannot begin an event"))
            .label(scene.span(first), "an event begins with `when`, `at` or `every`")
            .help(help),
    )
}

/// A block that has another keyword in other languages, or a line of a head that is not indented.
pub(super) fn block(word: &str, line: &str, span: Span) -> Option<Diagnostic> {
    if word == "else" {
        return Some(Diagnostic::error(&codes::E0117, "events have no `else`").label(span, "not here").help(
            "write a second event, `when not (...) { ... }`, or put a choice on the right side: `x := if c then 1 \
             else 0`",
        ));
    }
    if matches!(word, "elsewhen" | "elseif" | "elif" | "elsif") {
        let condition = line[word.len()..].trim().trim_end_matches([':', ' ']);
        return Some(
            Diagnostic::error(&codes::E0117, format!("events have no `{word}`"))
                .label(span, "not here")
                .help(format!("write a second event on its own line: `when {condition} {{ ... }}`")),
        );
    }
    if word == REST {
        return Some(
            Diagnostic::error(&codes::E0544, "`rest` must be directly before its block")
                .label(span, "nothing follows it but `{`")
                .help("write `when C { ... } rest { ... }`"),
        );
    }
    if CLAUSES.contains(&word) {
        let time = line[word.len()..].trim();
        let number = time.split('[').next().is_some_and(|number| number.trim().parse::<f64>().is_ok());
        return Some(
            Diagnostic::error(&codes::E0117, format!("`{word}` belongs to the head of an event"))
                .label(span, "a clause cannot begin a statement")
                .help(if word == "after" && number {
                    format!(
                        "for an event at this time, write `at {time} {{ ... }}`; for a delay, write it after the \
                         condition, or indent this line"
                    )
                } else {
                    "write it after the condition, or indent this line".to_owned()
                }),
        );
    }
    if !ELSEWHERE.contains(&word) {
        return None;
    }
    let mut condition = line[word.len()..].trim().trim_end_matches([':', ' ']);
    // `event when x > 1 { ... }`, `on event x > 1 { ... }`
    while let Some((next, rest)) = condition.split_once(' ') {
        if matches!(next, "when" | "at" | "every") {
            let start = line.len() - line[word.len()..].trim_start().len();
            let head = condition.split('{').next().unwrap_or_default().trim();
            let before = Span { end: span.start + start as u32, ..span };
            return Some(
                Diagnostic::error(&codes::E0117, format!("`{word}` cannot begin an event"))
                    .label(span, "an event begins with `when`, `at` or `every`")
                    .help(format!("write `{head} {{ ... }}`"))
                    .fix(before, ""),
            );
        }
        if !ELSEWHERE.contains(&next) {
            break;
        }
        condition = rest.trim_start();
    }
    if let Some((label, condition)) = condition.split_once(':').filter(|_| word == "event") {
        let (label, condition) = (label.trim(), condition.trim());
        return Some(
            Diagnostic::error(&codes::E0117, "`event` cannot begin an event")
                .label(span, "an event begins with `when`, `at` or `every`")
                .help(format!("write `when {condition} {{ ... }}`; a comment above names it: `## {label}`")),
        );
    }
    let report = Diagnostic::error(&codes::E0117, format!("`{word}` cannot begin an event"))
        .label(span, "an event begins with `when`, `at` or `every`");
    if word == "once" {
        let condition = condition.split('{').next().unwrap_or_default().trim();
        return Some(report.help(format!(
            "`when` happens each time that its condition becomes true; for a single time, declare `discrete done = 0` and \
             write `when {condition} and done == 0 {{ done := 1; ... }}`"
        )));
    }
    Some(report.help(format!("write `when {condition} {{ ... }}`")).fix(span, "when"))
}
