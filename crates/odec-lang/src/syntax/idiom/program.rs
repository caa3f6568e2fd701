//! Program code instead of equations: loops, `if` blocks, functions around the model, imports, calls of solvers.

use std::ops::Range;

use odec_ir::Span;

use super::line::{Line, bare};
use super::{IdiomMatch, Scene, text};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::TokenKind;

pub(super) const CODE: &Code = &codes::E0133;

/// Largest number of lines in a block.
const MAX_BLOCK: usize = 200;
/// Largest number of equations of a loop or a choice that a message repeats.
pub(super) const MAX_EQUATIONS: usize = 3;
/// Blocks of several lines.
pub(super) fn search(scene: &Scene<'_>, found: &mut Vec<IdiomMatch>) {
    let mut at = 0;
    while at < scene.lines.len() {
        let taken = super::indented::value(scene, at)
            .or_else(|| super::cases::lines(scene, at))
            .or_else(|| super::cases::braced(scene, at))
            .or_else(|| choice(scene, at))
            .or_else(|| super::xpp::switch(scene, at))
            .or_else(|| super::xpp::repeated(scene, at))
            .or_else(|| super::loops::repeat(scene, at))
            .or_else(|| Some((super::reactants::reaction(scene, &scene.lines[at])?, at + 1)))
            .or_else(|| super::function::function(scene, at))
            .or_else(|| super::function::right_side(scene, at))
            .or_else(|| super::function::wrapper(scene, at))
            .or_else(|| super::foreign::markov(scene, at))
            .or_else(|| when_block(scene, at))
            .or_else(|| super::reaction::reaction(scene, at))
            .or_else(|| super::headings::braced_model(scene, at))
            .or_else(|| super::blocks::search(scene, at))
            .or_else(|| tensor(scene, at))
            .or_else(|| super::headings::search(scene, at));
        match taken {
            Some((idiom, next)) => {
                found.push(idiom);
                at = next.max(at + 1);
            }
            None => at += 1,
        }
    }
}

/// End of the block that starts at line `at`: the line after it, and true if a word or brace closes it.
pub(super) fn block_end(scene: &Scene<'_>, at: usize) -> (usize, bool) {
    let lines = &scene.lines;
    let head = &lines[at];
    let braces = |line: &Line<'_>| {
        (0..line.tokens.len())
            .map(|k| isize::from(line.text(k) == "{") - isize::from(line.text(k) == "}"))
            .sum::<isize>()
    };
    let mut depth = braces(head);
    let whole = head.whole();
    if depth > 0 {
        let mut k = at + 1;
        while k < lines.len() && depth > 0 && k - at < MAX_BLOCK {
            depth += braces(&lines[k]);
            k += 1;
        }
        return (k, true);
    }
    if whole.contains('{') {
        return (at + 1, true);
    }
    if let Some(end) = super::indented::flat_end(scene, at) {
        return (end, false);
    }
    let mut k = at + 1;
    while k < lines.len() && k - at < MAX_BLOCK {
        let line = &lines[k];
        let word = line.text(0);
        if line.indent <= head.indent {
            let ends = is_end(word) || matches!(word, "fi" | "od" | "done");
            let more = matches!(word, "else" | "elif" | "elseif" | "elsif" | "ELSE") && is_branch(head);
            if ends {
                return (k + 1, true);
            }
            if !more && !closes_later(scene, k, head) {
                return (k, false);
            }
        }
        k += 1;
    }
    (k, false)
}

/// `end`, `endif`, `ENDIF`
fn is_end(word: &str) -> bool {
    word.get(..3).is_some_and(|start| matches!(start, "end" | "END"))
}

fn is_branch(line: &Line<'_>) -> bool {
    matches!(line.text(0), "if" | "IF" | "If" | "when")
}

/// A block whose lines are not indented needs its `end` before the next word of this language.
fn closes_later(scene: &Scene<'_>, at: usize, head: &Line<'_>) -> bool {
    for line in scene.lines.iter().skip(at).take(MAX_BLOCK) {
        let word = line.text(0);
        if is_end(word) && line.tokens.len() <= 3 && line.indent == head.indent {
            return true;
        }
        if matches!(word, "param" | "state" | "run" | "const" | "output" | "expect" | "model")
            || head.whole().ends_with(':')
        {
            return false;
        }
    }
    false
}

pub(super) fn range(scene: &Scene<'_>, at: usize, next: usize) -> Range<usize> {
    scene.lines[at].range.start..scene.lines[next.min(scene.lines.len()) - 1].range.end
}

pub(super) fn head_span(line: &Line<'_>) -> Span {
    let end = line.whole().find('\n').map_or(line.range.end, |at| line.range.start + at);
    Span::new(line.range.start, end)
}

/// A branch of an `if` block: its condition (`None` for `else`), and its equations.
struct Branch<'a> {
    condition: Option<String>,
    equations: Vec<(&'a str, &'a str)>,
    odd: bool,
}

/// A line that changes something as an event does.
pub(super) fn assigns(line: &Line<'_>) -> bool {
    (0..line.tokens.len()).any(|k| line.kind(k) == Some(TokenKind::Assign))
}

/// `if c ... y' = 1 ... else ... y' = 2 ... end`
fn choice(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    if !matches!(line.text(0), "if" | "IF" | "If") || scene.is_declared(line.text(0)) {
        return None;
    }
    let (next, _) = block_end(scene, at);
    let mut branches: Vec<Branch<'_>> = Vec::new();
    for line in &scene.lines[at..next] {
        read_branches(line, &mut branches);
    }
    let equations: usize = branches.iter().map(|branch| branch.equations.len()).sum();
    if equations == 0 {
        return None;
    }
    let whole = range(scene, at, next);
    if let Some(help) = within_event(scene, at, &branches) {
        let headline = "an event cannot contain an `if` around its actions";
        let found = IdiomMatch::new(&codes::E0117, headline, head_span(line)).label("not here");
        return Some((found.over(whole).help(help), next));
    }
    if let Some((name, value)) = branches[0].equations.first().filter(|_| scene.lines[at..next].iter().any(assigns)) {
        let condition = branches[0].condition.as_deref().unwrap_or("c");
        let found =
            IdiomMatch::new(&codes::E0117, "`if` cannot begin an event", head_span(line)).label("a conditional action");
        let help = format!(
            "write `when {condition} {{ {name} := {value} }}`; inside an event, write `{name} := if {condition} then \
             {value} else {name}`"
        );
        return Some((found.over(whole).help(help), next));
    }
    if let Some(help) = event_of(scene, &branches) {
        let found =
            IdiomMatch::new(&codes::E0117, "`if` cannot begin an event", head_span(line)).label("a conditional action");
        return Some((found.over(whole).help(help), next));
    }
    let found = IdiomMatch::new(CODE, "a choice is a value and cannot contain equations", head_span(line))
        .label("a block of statements")
        .over(whole.clone());
    let idiom = match (branches.as_slice(), as_choices(scene, &branches)) {
        (_, Some(better)) => {
            let shown = better.replace('\n', "` and `");
            found.help(format!("write `{shown}`")).fix(Span::new(whole.start, whole.end), better)
        }
        ([yes, ..], None) => {
            // an inner choice comes before the equations
            let first = branches.iter().find_map(|branch| branch.equations.first());
            let (left, a) =
                yes.equations.first().copied().or(first.map(|(left, _)| (*left, "..."))).unwrap_or(("x'", "a"));
            let condition = yes.condition.as_deref().unwrap_or("c");
            found.help(format!("write one equation for each: `{left} = if {condition} then {a} else ...`"))
        }
        ([], None) => found,
    };
    Some((idiom, next))
}

/// True if an event begins on a line before this one, and ends on it or later.
pub(super) fn is_inside_event(scene: &Scene<'_>, at: usize) -> bool {
    let count = |line: &Line<'_>, sign: &str| (0..line.tokens.len()).filter(|&k| line.text(k) == sign).count();
    let before = &scene.lines[..at];
    let head = before.iter().rposition(|line| matches!(line.text(0), "when" | "at" | "every"));
    head.is_some_and(|head| {
        let (opened, closed) =
            before[head..].iter().fold((0, 0), |(a, b), line| (a + count(line, "{"), b + count(line, "}")));
        opened > closed
    })
}

/// The actions of an event for an `if` in its block: a choice on the right side of each. `None` outside of an event.
fn within_event(scene: &Scene<'_>, at: usize, branches: &[Branch<'_>]) -> Option<String> {
    if !is_inside_event(scene, at) {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in branches.iter().flat_map(|branch| &branch.equations) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let plain = |name: &&str| !name.contains(['+', '-', ':']);
    if branches.iter().any(|branch| branch.odd) || !names.iter().all(plain) || names.len() > MAX_EQUATIONS {
        return Some("put the choice on the right side of each action: `x := if c then 1 else x`".to_owned());
    }
    let action = |name: &&str| {
        let (mut text, mut rest) = (format!("{name} := "), *name);
        for branch in branches {
            let value = branch.equations.iter().find(|(other, _)| other == name).map_or(*name, |(_, value)| value);
            match &branch.condition {
                Some(condition) => text.push_str(&format!("if {condition} then {value} else ")),
                None => rest = value,
            }
        }
        format!("`{text}{rest}`")
    };
    let actions: Vec<String> = names.iter().map(action).collect();
    let each = if actions.len() > 1 { " of each action" } else { "" };
    Some(format!("put the choice on the right side{each}: {}", actions.join("; ")))
}

/// One equation for each quantity of an `if` block, if every branch determines the same quantities and the last one is
/// an `else`.
fn as_choices(scene: &Scene<'_>, branches: &[Branch<'_>]) -> Option<String> {
    let (last, conditional) = branches.split_last().filter(|(_, others)| !others.is_empty())?;
    let names = |branch: &Branch<'_>| {
        let mut names: Vec<String> =
            branch.equations.iter().map(|(left, _)| left.split_whitespace().collect()).collect();
        names.sort_unstable();
        names
    };
    let known = names(last);
    let fits = |branch: &Branch<'_>| !branch.odd && names(branch) == known;
    let distinct = known.windows(2).all(|pair| pair[0] != pair[1]);
    if last.condition.is_some() || !distinct || !branches.iter().all(fits) || known.len() > MAX_EQUATIONS {
        return None;
    }
    let equation = |left: &str| {
        let value = |branch: &Branch<'_>| {
            let same = |(other, _): &&(&str, &str)| other.split_whitespace().eq(left.split_whitespace());
            branch.equations.iter().find(same).map(|(_, value)| value.to_string())
        };
        let mut text = format!("{} = ", rate_of(scene, left));
        for branch in conditional {
            let value = value(branch)?;
            // a choice before `else` would take it
            let value = if value.contains("if ") { format!("({value})") } else { value };
            text.push_str(&format!("if {} then {value} else ", branch.condition.as_deref()?));
        }
        text.push_str(&value(last)?);
        Some(text)
    };
    let all: Option<Vec<String>> = branches[0].equations.iter().map(|(left, _)| equation(left)).collect();
    Some(all?.join("\n"))
}

/// `x'` for `dxdt` and `dx` if nothing else gives the rate of the state x.
fn rate_of(scene: &Scene<'_>, left: &str) -> String {
    let of = left.strip_prefix('d').map(|of| of.strip_suffix(&format!("d{}", scene.time)).unwrap_or(of));
    match of.filter(|of| scene.states.contains(of) && !scene.rates.contains(of)) {
        Some(of) => format!("{of}'"),
        None => left.to_owned(),
    }
}

/// `if x < 1 ... x = 2 ... end` for a state that has an equation: the events to write instead.
fn event_of(scene: &Scene<'_>, branches: &[Branch<'_>]) -> Option<String> {
    let of_states = |branch: &Branch<'_>| {
        !branch.odd
            && branch.equations.iter().all(|(name, _)| scene.states.contains(name) && scene.rates.contains(name))
    };
    let events: Vec<String> = match branches {
        [yes] | [yes, Branch { condition: None, .. }] if branches.iter().all(of_states) => {
            let condition = yes.condition.as_deref()?;
            let heads = [condition.to_owned(), format!("not ({condition})")];
            let actions = |branch: &Branch<'_>| {
                let each: Vec<String> =
                    branch.equations.iter().map(|(name, value)| format!("{name} := {value}")).collect();
                each.join("; ")
            };
            heads
                .iter()
                .zip(branches)
                .map(|(head, branch)| format!("`when {head} {{ {} }}`", actions(branch)))
                .collect()
        }
        _ => return None,
    };
    Some(format!("write {}: it happens once, when the condition becomes true", events.join(" and ")))
}

/// Adds the contents of one line of an `if` block: the head of a branch, an equation, or both.
fn read_branches<'a>(line: &Line<'a>, branches: &mut Vec<Branch<'a>>) {
    let mut k = 0;
    let end = line.tokens.len();
    while k < end {
        let word = line.text(k).to_lowercase();
        match word.as_str() {
            "{" | "}" | ";" | "then" | ":" | "end" | "endif" | "end_if" | "fi" => k += 1,
            "if" if k > 0 && line.text(k - 1).eq_ignore_ascii_case("end") => k += 1,
            "if" | "elif" | "elseif" | "elsif" => {
                let stop = (k + 1..end)
                    .find(|&j| {
                        matches!(line.text(j), "then" | "THEN" | ":" | "{") && line.kind(j) != Some(TokenKind::Text)
                    })
                    .or_else(|| inline_statement(line, k + 1));
                let to = stop.unwrap_or(end);
                let condition = bare(line.slice(k + 1, to)).to_string();
                branches.push(Branch { condition: Some(plain(&condition)), equations: Vec::new(), odd: false });
                k = to;
            }
            // `else if`
            "else" if line.text(k + 1).eq_ignore_ascii_case("if") => k += 1,
            "else" => {
                branches.push(Branch { condition: None, equations: Vec::new(), odd: false });
                k += 1;
            }
            _ => {
                let ends =
                    |&j: &usize| matches!(line.text(j), ";" | "}" | "else" | "elseif" | "elif" | "elsif" | "end");
                let stop = (k..end).find(ends).unwrap_or(end);
                let equals = (k..stop).find(|&j| matches!(line.text(j), "=" | ":=" | "<-"));
                if let Some(branch) = branches.last_mut() {
                    match equals {
                        Some(j) => branch.equations.push((line.slice(k, j), line.slice(j + 1, stop))),
                        None => branch.odd = true,
                    }
                }
                k = stop.max(k + 1);
            }
        }
    }
}

/// `IF (c) b = 2`: the start of the statement after the condition.
fn inline_statement(line: &Line<'_>, from: usize) -> Option<usize> {
    let close = line.close(from).filter(|_| line.text(from) == "(")?;
    (line.is_name(close + 1) && line.find(close + 1, "=").is_some()).then_some(close + 1)
}

/// A condition in the signs of this language.
pub(super) fn plain(condition: &str) -> String {
    let mut out = condition.to_string();
    for (theirs, ours) in [
        (".gt.", ">"),
        (".lt.", "<"),
        (".ge.", ">="),
        (".le.", "<="),
        (".GT.", ">"),
        (".LT.", "<"),
        (".GE.", ">="),
        (".LE.", "<="),
    ] {
        out = out.replace(&format!(" {theirs} "), &format!(" {ours} ")).replace(theirs, &format!(" {ours} "));
    }
    out.replace("&&", "and").replace("||", "or").replace("~=", "!=")
}

/// `when c then ... end when;`, `at (c): x = 3`
fn when_block(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    let end = line.tokens.len();
    if line.text(0) == "when" && matches!(line.text(end.saturating_sub(1)), "then" | "do") {
        let (next, _) = block_end(scene, at);
        let condition = line.slice(1, end - 1);
        let action = scene.lines.get(at + 1).and_then(text::reinit);
        let assigned = scene.lines.get(at + 1).filter(|line| assigns(line) && next > at + 1).map(Line::whole);
        let action = action.or(assigned.map(str::to_owned)).unwrap_or_else(|| "x := 1".to_string());
        let times = line.arguments(2).filter(|list| line.reads(1, &["sample", "("]) && list.len() == 2);
        let better = match times.as_deref() {
            Some([from, period]) => {
                let (from, period) = (line.slice(from.start, from.end), line.slice(period.start, period.end));
                format!("every {period} from {from} {{ {action} }}")
            }
            _ => format!("when {condition} {{ {action} }}"),
        };
        let found =
            IdiomMatch::new(&codes::E0133, "write an event with braces", head_span(line)).over(range(scene, at, next));
        return Some((found.label("an event").help(format!("write `{better}`")), next));
    }
    // on one line: `when x < 0.5 then x := 1 end when`
    if let Some(then) = line.find(1, "then").filter(|_| line.text(0) == "when") {
        let last = (0..end).rev().find(|&k| !matches!(line.text(k), ";" | "when" | "end"))?;
        let action = line.slice(then + 1, last + 1);
        return (last + 1 < end && action.contains(":=")).then(|| {
            let better = format!("when {} {{ {action} }}", line.slice(1, then));
            let found = IdiomMatch::new(&codes::E0133, "write an event with braces", head_span(line));
            (found.over(line.range.clone()).label("an event").help(format!("write `{better}`")), at + 1)
        });
    }
    // Antimony: `at 2 after (x > 1): x = 0`
    let after = (1..end).find(|&k| line.text(k) == "after").filter(|_| line.text(0) == "at");
    if let Some((k, colon)) = after.and_then(|k| Some((k, line.find(k, ":")?))) {
        let body = line.slice(colon + 1, end).replacen('=', ":=", 1);
        let condition = bare(line.slice(k + 1, colon));
        let better = format!("when {condition} after {} {{ {body} }}", line.slice(1, k));
        let found =
            IdiomMatch::new(&codes::E0133, "write an event with braces", head_span(line)).over(line.range.clone());
        return Some((found.label("an event").help(format!("write `{better}`")), at + 1));
    }
    let colon = line.find(1, ":").filter(|_| line.text(0) == "at" && line.text(1) == "(")?;
    let body = line.slice(colon + 1, end).replacen('=', ":=", 1);
    let mut condition = bare(line.slice(1, colon)).to_owned();
    if !scene.is_declared("time") {
        condition = text::with_word(&condition, "time", scene.time);
    }
    let better = format!("when {condition} {{ {body} }}");
    let found = IdiomMatch::new(&codes::E0133, "write an event with braces", head_span(line)).over(line.range.clone());
    Some((found.label("an event").help(format!("write `{better}`")), at + 1))
}

/// `global -1 h {v=-0.8*v}` of XPP: the direction, the expression that crosses 0, the changes.
fn xpp_event(line: &Line<'_>) -> Option<String> {
    let open = (1..line.tokens.len()).find(|&k| line.text(k) == "{")?;
    let close = line.close(open).unwrap_or(line.tokens.len());
    let head = line.slice(1, open).trim();
    let signs = [("-1", "<"), ("+1", ">"), ("1", ">"), ("0", "==")];
    let (sign, quantity) = signs.iter().find_map(|(direction, sign)| {
        let rest = head.strip_prefix(direction)?;
        rest.starts_with(char::is_whitespace).then(|| (sign, rest.trim()))
    })?;
    let changes: Vec<String> =
        line.slice(open + 1, close).split(';').map(|one| one.trim().replacen('=', " := ", 1)).collect();
    Some(format!("write `when {quantity} {sign} 0 {{ {} }}`", changes.join("; ")))
}

/// `u_i { y = 1 }`, `k { 2 }`, `parameters { real b; }`, `global 1 y-1 {y=0}`
fn tensor(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    let word = line.text(0);
    if word == "global" && line.whole().contains('{') {
        let found =
            IdiomMatch::new(&codes::E0133, "write an event with braces", head_span(line)).over(line.range.clone());
        let help = xpp_event(line).unwrap_or_else(|| "write `when y > 1 { y := 0 }`".to_owned());
        return Some((found.label("an event").help(help), at + 1));
    }
    let two = word == "transformed" && line.text(2) == "{";
    if !line.is_name(0) || line.text(1) != "{" && !two || crate::syntax::explain::is_keyword(word) {
        return None;
    }
    let (next, _) = block_end(scene, at);
    if line.kind(2) == Some(TokenKind::Number)
        && line.text(3) == "}"
        && line.tokens.len() == 4
        && !scene.is_declared(word)
    {
        let better = format!("param {word} = {}", line.text(2));
        let found = IdiomMatch::new(CODE, "write a value after `=`", line.span(0, 3))
            .label("a value in braces")
            .over(line.range.clone());
        return Some((found.write(better), next));
    }
    let section = super::headings::section(word).filter(|_| !two);
    let stan = matches!(word, "data" | "model" | "functions" | "transformed" | "generated") || section.is_some();
    let tensor = word.ends_with("_i") || word.ends_with("_ij") || matches!(word, "F" | "G" | "M" | "out" | "in");
    let help = match word.split('_').next() {
        _ if stan => "write `param k = 1`, `state x = 1` and `x' = -k*x` without a block around them",
        Some("u") => "write `state x = 1, y = 0`",
        Some("out") => "write `output z = ...`; odec records states anyway",
        _ => "write an equation for each state: `x' = -k*x`",
    };
    let inside = section.map(|section| super::headings::declarations(scene, section, at..next)).unwrap_or_default();
    let help = match inside.as_slice() {
        [] => help.to_owned(),
        [line] => format!("write {line} without a block around it"),
        [lines @ .., last] => format!("write {} and {last} without a block around them", lines.join(", ")),
    };
    let run = matches!(word, "settings" | "options" | "solver" | "simulation" | "opts" | "config") && !two;
    let help =
        if run { "write `run` for the block of a run: `run { t = 0 .. 10; rtol = 1e-6 }`".to_owned() } else { help };
    (stan || tensor || run).then(|| {
        let found = IdiomMatch::new(CODE, format!("`{word}` does not begin a block"), head_span(line))
            .over(range(scene, at, next));
        (found.label("a block in another language").help(help), next)
    })
}
