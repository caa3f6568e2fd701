//! Events whose heads or actions are written as sentences: `at 12 -> gut += dose`, `every 1 while t < 3 { ... }`,
//! `at 1 when h > 0 { ... }`, `x += 1 at 12`, `when h < 0 { output v }`.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    if matches!(line.text(0), "when" | "at" | "every") {
        let open = (1..line.tokens.len()).find(|&k| line.text(k) == "{");
        let idiom = match open {
            None => None,
            Some(open) => guarded(line, open)
                .or_else(|| two_times(line, open))
                .or_else(|| series(scene, line, open))
                .or_else(|| lasting(line, open))
                .or_else(|| times_with_unit(line, open)),
        };
        found.extend(idiom);
        let actions = open.filter(|_| found.is_empty()).map_or(0..0, |open| open + 1..line.tokens.len());
        found.extend(actions.filter_map(|k| action(line, k)));
    } else {
        found.extend(afterwards(scene, line));
    }
}

/// An event on one line without braces that no other search has found.
pub(super) fn plain(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    let begins = matches!(line.text(0), "when" | "at") && line.find(1, ",").is_none();
    if begins && !(1..line.tokens.len()).any(|k| line.text(k) == "{") {
        found.extend(without_braces(scene, line));
    } else if !matches!(line.text(0), "when" | "at" | "every") {
        found.extend(labelled(scene, line));
    }
}

fn event(line: &Line<'_>, headline: &str, from: usize, to: usize) -> IdiomMatch {
    IdiomMatch::new(&codes::E0118, headline, line.span(from, to)).over(line.range.clone())
}

/// `y = 0` as an action.
fn set(actions: &str) -> String {
    let plain = !actions.contains([':', ';', '<', '>', '{']) && !actions.contains("+=") && !actions.contains("-=");
    if plain { actions.replacen('=', ":=", 1) } else { actions.to_owned() }
}

/// The head of an event at one time for `when t == 5`.
fn head(scene: &Scene<'_>, line: &Line<'_>, to: usize) -> String {
    let time = scene.time;
    let instant = matches!(line.text(0), "when" | "at") && line.text(1) == time && matches!(line.text(2), "=" | "==");
    if instant {
        return format!("at {}", line.slice(3, to));
    }
    // `at` takes times, `when` a condition
    if line.text(0) == "at" && (1..to).any(|k| matches!(line.text(k), "<" | ">" | "<=" | ">=")) {
        return format!("when {}", line.slice(1, to));
    }
    line.slice(0, to).to_owned()
}

/// `when t = 1: y = 0`, `at 12 -> x += 1`
fn without_braces(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let sign = (2..line.tokens.len()).find(|&k| matches!(line.text(k), ":" | "->" | "=>" | "do"))?;
    let actions = line.slice(sign + 1, line.tokens.len()).trim_end_matches(';');
    let changes =
        (sign..line.tokens.len()).any(|k| matches!(line.text(k), "=" | ":=" | "+=" | "-=")) || actions == "stop";
    if !changes || (1..sign).any(|k| line.text(k) == "every") {
        return None;
    }
    let better = format!("{} {{ {} }}", head(scene, line, sign), set(actions));
    let found = IdiomMatch::new(&codes::E0111, "an event needs a block in braces", line.span(sign, sign));
    Some(found.label("`{` is missing").help(format!("write `{better}`")).over(line.range.clone()))
}

/// The actions of an event that happens only if a condition holds; `None` unless each is one change.
fn under(condition: &str, actions: &str) -> Option<String> {
    let each: Option<Vec<String>> = actions
        .split([';', '\n'])
        .map(str::trim)
        .filter(|action| !action.is_empty())
        .map(|action| {
            let (name, sign, value) =
                [":=", "+=", "-="].into_iter().find_map(|sign| action.split_once(sign).map(|(a, b)| (a, sign, b)))?;
            let (name, value) = (name.trim(), value.trim());
            let other = if sign == ":=" { name } else { "0" };
            Some(format!("{name} {sign} if {condition} then {value} else {other}"))
        })
        .collect();
    each.filter(|each| !each.is_empty()).map(|each| each.join("; "))
}

/// `at 1 when h > 0 { ... }`, `every 1 if h > 0 { ... }`
fn guarded(line: &Line<'_>, open: usize) -> Option<IdiomMatch> {
    let at = (2..open).find(|&k| matches!(line.text(k), "when" | "if"))?;
    let (condition, close) = (line.slice(at + 1, open), line.close(open)?);
    if line.text(0) == "when" || condition.is_empty() {
        return None;
    }
    let actions = under(condition, line.slice(open + 1, close))?;
    let better = format!("{} {{ {actions} }}", line.slice(0, at));
    let found = event(line, "an event at a time has no condition", at, open - 1).label("a condition");
    Some(found.help(format!("put the condition on the right side of each action: `{better}`")))
}

/// `at 1 and 2 { ... }`
fn two_times(line: &Line<'_>, open: usize) -> Option<IdiomMatch> {
    let number = |k: usize| line.kind(k) == Some(TokenKind::Number);
    let fits = line.text(0) == "at"
        && open.is_multiple_of(2)
        && open > 3
        && (1..open).all(|k| if k % 2 == 1 { number(k) } else { matches!(line.text(k), "and" | "or" | "&") });
    let times: Vec<&str> = (1..open).step_by(2).map(|k| line.text(k)).collect();
    let better = format!("at [{}] {}", times.join(", "), line.slice(open, line.tokens.len()));
    fits.then(|| {
        event(line, "write several times in brackets", 1, open - 1).label("times").help(format!("write `{better}`"))
    })
}

/// `every 1 while t < 3 { ... }`, `every 1 until h < 0 { ... }`
fn series(scene: &Scene<'_>, line: &Line<'_>, open: usize) -> Option<IdiomMatch> {
    let at = (2..open).find(|&k| matches!(line.text(k), "while" | "until"))?;
    let sign = (at + 2..open).find(|&k| matches!(line.text(k), "<" | "<=" | ">" | ">=" | "==" | "="))?;
    if line.text(0) != "every" {
        return None;
    }
    let rest = line.slice(open, line.tokens.len());
    let timed = line.text(at + 1) == scene.time && sign == at + 2;
    let below = line.text(sign).starts_with('<');
    let found = event(line, "a series of times ends at a time", at, open - 1).label("a condition");
    if timed && (below == (line.text(at) == "while")) {
        let better = format!("{} until {} {rest}", line.slice(0, at), line.slice(sign + 1, open));
        return Some(found.help(format!("write `{better}`")));
    }
    let name = scene.free_name(&["on", "active", "running"]);
    let condition = match line.text(at) {
        "until" => line.slice(at + 1, open).to_owned(),
        _ => format!("not ({})", line.slice(at + 1, open)),
    };
    Some(found.help(format!(
        "for a condition, write `discrete {name} = 1` and `when {condition} {{ {name} := 0 }}`, and multiply what the \
         event adds by `{name}`: `x += {name}*1`"
    )))
}

/// `when h < 0 for 0.1 { ... }`
fn lasting(line: &Line<'_>, open: usize) -> Option<IdiomMatch> {
    let at = (3..open).find(|&k| line.text(k) == "for").filter(|_| line.text(0) == "when")?;
    let time = line.slice(at + 1, open);
    let plain = matches!(line.kind(at + 1), Some(TokenKind::Number | TokenKind::Name)) && !time.contains('=');
    let better = format!("{} after {time} cancel {}", line.slice(0, at), line.slice(open, line.tokens.len()));
    let found = event(line, "an event after a condition that lasts has `after` and `cancel`", at, open - 1);
    plain.then(|| found.label("how long the condition lasts").help(format!("write `{better}`")))
}

/// `at [0, 12, 24] h { ... }`, `at 5 h { ... }`
fn times_with_unit(line: &Line<'_>, open: usize) -> Option<IdiomMatch> {
    let last = if line.text(1) == "[" { line.close(1)? } else { 1 };
    let unit = line.text(last + 1);
    let known = crate::units::table::find(unit).is_some();
    let listed = line.text(1) == "[" || line.kind(1) == Some(TokenKind::Number);
    let fits = matches!(line.text(0), "at" | "every") && listed && line.is_name(last + 1) && known && open == last + 2;
    let better =
        format!("{} {} [{unit}] {}", line.text(0), line.slice(1, last + 1), line.slice(open, line.tokens.len()));
    let found = IdiomMatch::new(&codes::E0119, "write a unit in square brackets", line.span(last + 1, last + 1));
    fits.then(|| found.label("a unit").help(format!("write `{better}`")).over(line.range.clone()))
}

/// `output v`, `count hits`, `record`, `stop "low", t` and `if hits > 3 { stop }` among the actions.
fn action(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let newline = at > 0 && line.between(line.tokens[at - 1].end, line.tokens[at].start).contains('\n');
    if !(matches!(line.text(at - 1), "{" | ";") || newline) {
        return None;
    }
    let end = (at + 1..line.tokens.len()).find(|&k| {
        let newline = line.between(line.tokens[k - 1].end, line.tokens[k].start).contains('\n');
        matches!(line.text(k), ";" | "}") || newline
    });
    let end = end.unwrap_or(line.tokens.len());
    let span = line.span(at, end - 1);
    let found = |headline: &str| IdiomMatch::new(&codes::E0118, headline, span).over(line.range.clone());
    let alone = end == at + 2 && line.is_name(at + 1);
    match word {
        "output" | "save" | "record" | "log" | "write" if alone || end == at + 1 => {
            let outside = match line.text(at + 1) {
                name if alone => format!("write `output {name}` outside of the block"),
                _ => "remove it".to_owned(),
            };
            Some(
                found("an event does not record")
                    .label("not an action")
                    .help(format!("{outside}; `odec run FILE --events log.csv` writes what each event changes")),
            )
        }
        "count" | "increment" | "inc" if alone => {
            let name = line.text(at + 1);
            Some(
                found("an event changes a quantity with `:=`, `+=` or `-=`")
                    .label("not an action")
                    .help(format!("write `{name} += 1`, with `discrete {name} = 0` outside of the block")),
            )
        }
        "stop" if line.kind(at + 1) == Some(TokenKind::Text) && line.text(at + 2) == "," => {
            let better = format!("stop {}", line.text(at + 1));
            Some(
                found("`stop` takes a string or nothing")
                    .label("too much")
                    .help(format!("write `{better}`: the last row has the values at this instant")),
            )
        }
        "if" => {
            let open = (at + 2..line.tokens.len()).find(|&k| line.text(k) == "{")?;
            let close = line.close(open)?;
            let stops = line.text(open + 1) == "stop" && close <= open + 3;
            let better = format!("when {} {}", line.slice(at + 1, open), line.slice(open, close + 1));
            stops.then(|| {
                found("an event cannot contain an `if` around its actions")
                    .label("not here")
                    .help(format!("write an event of its own, outside of the block: `{better}`"))
            })
        }
        _ => None,
    }
}

/// `x += 1 at 12`, `x := 0 when h < 0`
fn afterwards(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let sign = (1..line.tokens.len()).find(|&k| matches!(line.text(k), ":=" | "+=" | "-="))?;
    let at = (sign + 2..line.tokens.len()).find(|&k| matches!(line.text(k), "at" | "when" | "every"))?;
    let known = scene.is_declared(line.text(0)) && line.operand_end(0) == Some(sign);
    if !known || at + 1 == line.tokens.len() || line.find(0, "{").is_some() {
        return None;
    }
    let end = line.tokens.len();
    let instant = line.text(at) == "at" && line.text(at + 1) == scene.time && matches!(line.text(at + 2), "=" | "==");
    let when = if instant { format!("at {}", line.slice(at + 3, end)) } else { line.slice(at, end).to_owned() };
    let better = format!("{when} {{ {} }}", line.slice(0, at));
    let found = event(line, "an event begins with its time or its condition", at, end - 1);
    Some(found.label("the head of an event").help(format!("write `{better}`")))
}

/// `E1: at 2: S = 2`, `reset: when x < 1 { ... }`, `event reset: when ...`, `trigger when ...`
fn labelled(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let at = (1..4).find(|&k| matches!(line.text(k), "when" | "at" | "every"))?;
    let word = matches!(line.text(0), "trigger" | "event" | "on" | "rule");
    let label = line.text(at - 1) == ":" && (at == 2 || at == 3 && word);
    if !line.is_name(0) || scene.is_declared(line.text(0)) || !(label || word && at == 1 && line.text(0) != "event") {
        return None;
    }
    let end = line.tokens.len();
    let rest = line.slice(at, end);
    let inner = Line::new(rest, 0..rest.len(), 0);
    let better = match inner.find(1, "{").or_else(|| (1..inner.tokens.len()).find(|&k| inner.text(k) == "{")) {
        Some(_) => rest.to_owned(),
        None => {
            let sign = (2..inner.tokens.len()).find(|&k| matches!(inner.text(k), ":" | "->" | "=>" | "do"))?;
            let actions = inner.slice(sign + 1, inner.tokens.len());
            format!("{} {{ {} }}", head(scene, &inner, sign), set(actions))
        }
    };
    let found = event(line, "an event begins with `when`, `at` or `every`", 0, at - 1).label("not needed");
    let name = line.text(usize::from(word && at > 1));
    let comment = if label { format!("; a comment on the line above names it: `## {name}`") } else { String::new() };
    Some(found.help(format!("write `{better}`{comment}")))
}
