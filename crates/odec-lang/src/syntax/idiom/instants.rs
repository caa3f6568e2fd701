//! Events in other words: `reinit(v, -0.8*pre(v))`, `when x > 1, direction = 1 { ... }`, `stop 'low'`, `at {5, 10}`,
//! `initial { x := 2 }`, `init(x) = 3`, `at [0 h, 5 h]`, `at 24:00`, `max_step = auto`.

use super::IdiomMatch;
use super::Scene;
use super::line::Line;
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(jump(line).or_else(|| direction(line)).or_else(|| reason(line)).or_else(|| times(line)));
    found.extend(units_in_list(line).or_else(|| clock(line)));
    found.extend(
        start(scene, line).or_else(|| automatic(scene, line)).or_else(|| rows(scene, line)).or_else(|| conserved(line)),
    );
}

/// `reinit(v, -0.8*pre(v))`: the right side of an action reads the value before the event anyway.
fn jump(line: &Line<'_>) -> Option<IdiomMatch> {
    let at = (0..line.tokens.len()).find(|&k| line.text(k) == "reinit" && line.text(k + 1) == "(")?;
    let close = line.close(at + 1)?;
    let [target, value] = line.arguments(at + 1)?.try_into().ok()?;
    let value = line.slice(value.start, value.end);
    let better = format!("{} := {}", line.slice(target.start, target.end), super::text::without_pre(value));
    let found = IdiomMatch::new(&codes::E0131, "odec has no function `reinit`", line.span(at, close));
    let help = format!("write `{better}`: the right sides of actions read the values before the event");
    value.contains("pre(").then(|| found.label("an action").write(better).help(help))
}

/// `when x > 1.5, direction = 1 { ... }`
fn direction(line: &Line<'_>) -> Option<IdiomMatch> {
    let comma = line.find(1, ",").filter(|_| line.text(0) == "when")?;
    let open = line.tokens.iter().position(|token| &line.file[token.start..token.end] == "{")?;
    if line.text(comma + 1) != "direction" || !matches!(line.text(comma + 2), "=" | ":" | "==") || open <= comma {
        return None;
    }
    let (condition, rest) = (line.slice(1, comma), line.slice(open, line.tokens.len()));
    let found =
        IdiomMatch::new(&codes::E0118, "the condition of an event says its direction", line.span(comma, open - 1));
    let plain = !condition.contains(['<', '=', '(']) && condition.matches('>').count() == 1;
    let help = match line.slice(comma + 3, open) {
        "1" | "+1" if plain => {
            format!("write `when {condition} {rest}`: an event happens when its condition becomes true")
        }
        "-1" if plain => {
            let falls = condition.replace('>', "<");
            format!("write `when {falls} {rest}`: an event happens when its condition becomes true")
        }
        _ => "leave it out: an event happens when its condition becomes true".to_owned(),
    };
    Some(found.label("no direction").help(help).over(line.range.clone()))
}

/// `stop 'low'`
fn reason(line: &Line<'_>) -> Option<IdiomMatch> {
    let at = (0..line.tokens.len()).find(|&k| line.text(k) == "stop" && line.text(k + 1) == "'")?;
    let last = (at + 2..line.tokens.len()).find(|&k| line.text(k) == "'")?;
    let (from, to) = (line.tokens[at + 1].end, line.tokens[last].start);
    let text = line.file.get(from..to)?;
    let found = IdiomMatch::new(&codes::E0118, "a text stands in double quotes", line.span(at + 1, last));
    (!text.contains(['{', '}', '"'])).then(|| found.label("a text").write(format!("\"{text}\"")))
}

/// `at {5, 10} { ... }`
fn times(line: &Line<'_>) -> Option<IdiomMatch> {
    let close = line.close(1).filter(|_| line.text(0) == "at" && line.text(1) == "{")?;
    let rest = line.slice(close + 1, line.tokens.len());
    let better = format!("[{}]", line.slice(2, close));
    let found = IdiomMatch::new(&codes::E0111, "a list of times stands in square brackets", line.span(1, close));
    let fits = close > 2 && rest.starts_with('{') && line.find(close, "=").is_none();
    fits.then(|| found.label("a list").help(format!("write `at {better} {rest}`")).over(line.range.clone()))
}

/// `initial { x := 2 }`, `initial equation x = 2`
fn start(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    if line.text(0) == "initial" && line.text(1) == "(" && line.text(3) == ")" && matches!(line.text(4), "<-" | "=") {
        let better = format!("state {} = {}", line.text(2), line.slice(5, line.tokens.len()));
        let found =
            IdiomMatch::new(&codes::E0117, "`initial` is no statement", line.span(0, 3)).over(line.range.clone());
        return Some(
            found
                .label("an initial value")
                .help(format!("write the initial value where the state is declared: `{better}`")),
        );
    }
    if let Some(found) = called(scene, line) {
        return Some(found);
    }
    let from = match (line.text(0), line.text(1)) {
        ("initial", "equation") => 2,
        _ => return None,
    };
    let end = line.tokens.len() - usize::from(matches!(line.text(line.tokens.len() - 1), "}" | ";"));
    let plain = line.is_name(from) && matches!(line.text(from + 1), "=" | ":=") && line.find(from, ";").is_none();
    let value = line.slice(from + 2, end);
    let found = IdiomMatch::new(&codes::E0117, "`initial` is no statement", line.span(0, from - 1));
    let help = format!("write the initial value where the state is declared: `state {} = {value}`", line.text(from));
    (plain && !value.is_empty()).then(|| found.label("an initial value").help(help).over(line.range.clone()))
}

/// `init(x) = 3` of Berkeley Madonna; `init(z) = z^2` is a function.
fn called(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let name = line.text(2);
    let head = matches!(line.text(0), "init" | "INIT" | "Init") && line.text(1) == "(" && line.is_name(2);
    let end = line.tokens.len() - usize::from(line.text(line.tokens.len() - 1) == ";");
    let fits = head && line.reads(3, &[")", "="]) && end > 5 && (5..end).all(|k| line.text(k) != name);
    if !fits || scene.functions.contains("init") {
        return None;
    }
    let better = format!("state {name} = {}", line.slice(5, end));
    let found = IdiomMatch::new(&codes::E0117, "`init` is no statement", line.span(0, 3)).label("an initial value");
    Some(if scene.states.contains(name) {
        found
            .over(line.range.clone())
            .help(format!("write the initial value of `{name}` in its declaration: `{better}`"))
    } else {
        found.help(format!("write `{better}`")).fix(line.span(0, line.tokens.len() - 1), better)
    })
}

/// `at [0 h, 5 h] { ... }`: one unit follows the list.
fn units_in_list(line: &Line<'_>) -> Option<IdiomMatch> {
    if line.text(0) != "at" {
        return None;
    }
    let (close, items) = if line.text(1) == "[" {
        (line.close(1)?, line.arguments(1)?)
    } else {
        // `at 0 h, 5 h { ... }`
        let open = (1..line.tokens.len()).find(|&k| line.text(k) == "{").filter(|open| open % 3 == 0)?;
        if (1..open).any(|k| (line.text(k) == ",") != (k % 3 == 0)) {
            return None;
        }
        (open - 1, (1..open).step_by(3).map(|k| k..k + 2).collect())
    };
    if items.len() < 2 {
        return None;
    }
    let unit = line.text(items.first()?.end - 1);
    let each = |item: &std::ops::Range<usize>| {
        let measured = item.len() == 2 && line.kind(item.start) == Some(TokenKind::Number);
        measured && crate::units::table::find(line.text(item.start + 1)).is_some()
    };
    let known = items.iter().all(each);
    if known && items.iter().any(|item| line.text(item.start + 1) != unit) {
        let found = IdiomMatch::new(&codes::E0119, "the unit of a list follows the list", line.span(1, close));
        return Some(found.label("several units").help(format!("write all times in one unit: `at [1, 2] [{unit}]`")));
    }
    let numbers: Vec<&str> = items.iter().map(|item| line.text(item.start)).collect();
    let better = format!("[{}] [{unit}]", numbers.join(", "));
    let found = IdiomMatch::new(&codes::E0119, "the unit of a list follows the list", line.span(1, close));
    known.then(|| found.label(format!("write `{better}`")).write(better))
}

/// `at 24:00 { ... }`, `every 6:30 { ... }`
fn clock(line: &Line<'_>) -> Option<IdiomMatch> {
    let whole = |k: usize| line.text(k).parse::<u32>().ok().filter(|_| line.kind(k) == Some(TokenKind::Number));
    let (hours, minutes) =
        whole(1).zip(whole(3)).filter(|_| matches!(line.text(0), "at" | "every") && line.text(2) == ":")?;
    let found = IdiomMatch::new(&codes::E0118, "a time is a number, not the time of a clock", line.span(1, 3));
    let time = f64::from(hours) + f64::from(minutes) / 60.0;
    let fits = minutes < 60 && line.touches(1) && line.touches(2) && line.text(4) == "{";
    fits.then(|| {
        found
            .label("a time of a clock")
            .help(format!("write a time in the unit of time, `{} {time}` in hours", line.text(0)))
    })
}

/// `max_step = auto`
fn automatic(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let words = ["max_step", "step", "atol", "rtol", "first_step"];
    let at = (0..line.tokens.len()).find(|&k| {
        let free = matches!(
            line.text(k + 2),
            "auto" | "automatic" | "variable" | "adaptive" | "none" | "default" | "None" | "free" | "off"
        );
        words.contains(&line.text(k)) && line.text(k + 1) == "=" && free
    })?;
    let word = line.text(at);
    if scene.is_declared(line.text(at + 2)) {
        return None;
    }
    let ends = !matches!(line.kind(at + 3), Some(TokenKind::Operator | TokenKind::Open));
    let found = IdiomMatch::new(&codes::E0403, format!("`{word}` takes a number"), line.span(at + 2, at + 2));
    ends.then(|| found.label("not a number").help(format!("remove `{word} = {}`: odec chooses it", line.text(at + 2))))
}

/// `samples = none`, `samples = all`
fn rows(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let at = (0..line.tokens.len()).find(|&k| line.text(k) == "samples" && line.text(k + 1) == "=")?;
    let word = line.text(at + 2);
    if scene.is_declared(word) || !matches!(line.text(at + 3), "" | ";" | "," | "}") {
        return None;
    }
    let help = match word {
        "none" | "None" | "off" => "write `samples = 1` for a row at the start and one at the end",
        "all" | "every" | "auto" | "every_step" | "adaptive" => "write `samples = steps` for a row at each step",
        "default" => "remove `samples = default`: 200 rows are the default",
        _ => return None,
    };
    let found = IdiomMatch::new(&codes::E0403, "`samples` takes a number", line.span(at + 2, at + 2));
    Some(found.label("not a number").help(help))
}

/// `conserve A + B == 100 within 1e-6`
fn conserved(line: &Line<'_>) -> Option<IdiomMatch> {
    let at = line.find(1, "==").filter(|_| line.text(0) == "conserve")?;
    let end = line.tokens.len();
    let within = line.find(at, "within").unwrap_or(end);
    let rest = line.slice(within, end);
    let better = format!("conserve {} {rest}", line.slice(1, at));
    let better = better.trim_end();
    let found = IdiomMatch::new(&codes::E0118, "`conserve` takes a quantity", line.span(at, within - 1));
    let help = format!("write `{better}`: it compares with the initial value");
    (at > 1).then(|| found.label("a comparison").help(help).over(line.range.clone()))
}
