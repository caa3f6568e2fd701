//! Habits from paper and from other languages: `sin x`, `x'(t)`, `0 to 10`, `0,5`, `5 mV`, `% note`. Each has a
//! specific answer; the general rules cover everything else.

use odec_ir::Span;

use super::{Scene, token::Token, token::TokenKind};
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::grammar::Rule;
use crate::syntax::keyword;

pub(super) fn explain(scene: &Scene<'_>) -> Option<Diagnostic> {
    comment(scene)
        .or_else(|| decimal_comma(scene))
        .or_else(|| bare_argument(scene))
        .or_else(|| of_time(scene))
        .or_else(|| spoken_range(scene))
        .or_else(|| match scene.rule {
            Rule::declaration_line => declaration(scene),
            Rule::entry_line | Rule::part_entry => entry(scene),
            Rule::params_head if scene.here().is_none() => params(scene),
            _ => None,
        })
}

/// The signs that begin comments elsewhere.
fn comment(scene: &Scene<'_>) -> Option<Diagnostic> {
    let start = scene.tokens.first()?.start;
    let sign = ["%", "--", "/*", "!", "(*"].into_iter().find(|sign| scene.line[start..].starts_with(sign));
    let (at, sign) = match sign {
        Some("--") if !scene.line[start + 2..].starts_with([' ', '-']) => return None,
        Some("!") if !scene.line[start + 1..].starts_with(' ') => return None,
        Some(sign) => (start, sign),
        None => {
            let (before, here) = (scene.before()?, scene.here()?);
            let opens = scene.text(before) == "/" && scene.text(here) == "*" && scene.touching(before, here);
            (opens.then_some(before.start)?, "/*")
        }
    };
    let span = Span::new(scene.base + at, scene.base + at + sign.len());
    let diagnostic = scene.error(&codes::E0112, format!("`{sign}` does not begin a comment")).label(span, "write `#`");
    Some(match sign {
        "/*" | "(*" => diagnostic.help("begin a comment with `#`; it ends with its line"),
        _ => diagnostic.fix(span, "#"),
    })
}

/// `0,5`, `1,000` and `1.000,5` if a comma otherwise separates items or ends the line.
fn decimal_comma(scene: &Scene<'_>) -> Option<Diagnostic> {
    let fits = matches!(scene.rule, Rule::declaration_line | Rule::equation_line | Rule::expect_line);
    if !scene.brackets.is_empty() || !fits {
        return None;
    }
    // the grammar stops at the comma of an equation, and after the comma of a list
    let comma = match scene.here()?.kind {
        TokenKind::Comma => scene.at,
        _ => scene.at.checked_sub(1)?,
    };
    let [whole, comma, part] = [comma.checked_sub(1)?, comma, comma + 1].map(|at| scene.tokens.get(at).copied());
    let (whole, comma, part) = (whole?, comma?, part?);
    let digits = |token: Token| scene.text(token).bytes().all(|byte| byte.is_ascii_digit());
    let glued = scene.touching(whole, comma) && scene.touching(comma, part);
    if comma.kind != TokenKind::Comma || !glued || part.kind != TokenKind::Number {
        return None;
    }
    let span = Span::new(scene.base + whole.start, scene.base + part.end);
    if !digits(whole) {
        // points that group digits
        let groups: Vec<&str> = scene.text(whole).split('.').collect();
        let grouped = groups.len() > 1 && groups[1..].iter().all(|group| group.len() == 3);
        let numbers = groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_digit())) && digits(part);
        let text = (scene.text(whole), scene.text(part));
        return (whole.kind == TokenKind::Number && grouped && numbers).then(|| {
            scene
                .error(&codes::E0113, format!("`{},{}` is not a number", text.0, text.1))
                .label(span, "a comma separates two items")
                .fix(span, format!("{}.{}", groups.concat(), text.1))
        });
    }
    let (whole, part) = (scene.text(whole), scene.text(part));
    let diagnostic = scene
        .error(&codes::E0113, format!("`{whole},{part}` is not a number"))
        .label(span, "a comma separates two items");
    Some(match part.len() {
        _ if scene.rule == Rule::declaration_line
            && scene.tokens.first().is_some_and(|word| scene.text(*word) == "state") =>
        {
            diagnostic.help(format!("write `{whole}.{part}` for a number, or `({whole}, {part})` for a vector"))
        }
        3 => diagnostic.help(format!("write `{whole}.{part}`, or `{whole}{part}` if the comma groups digits")),
        _ => diagnostic.fix(span, format!("{whole}.{part}")),
    })
}

/// `sin x`
fn bare_argument(scene: &Scene<'_>) -> Option<Diagnostic> {
    let (before, here) = (scene.before()?, scene.here()?);
    let name = scene.text(before);
    let function = matches!(name, "log" | "celsius") || odec_ir::builtin::find_function(name).is_some();
    if before.kind != TokenKind::Name || !function || !matches!(here.kind, TokenKind::Name | TokenKind::Number) {
        return None;
    }
    let argument = scene.text(here);
    let diagnostic = scene
        .error(&codes::E0115, format!("the argument of `{name}` needs brackets"))
        .label(scene.span(here), "the argument");
    // `sin 2*x`: the extent of the argument is not certain
    let ends = |after: Token| {
        let text = scene.text(after);
        let sign =
            after.kind == TokenKind::Operator && matches!(text, "+" | "-" | "−") || matches!(text, "," | "within");
        sign || matches!(after.kind, TokenKind::Close | TokenKind::Compare | TokenKind::Reserved)
    };
    // `celsius 25 [K]`
    let unit = |after: Token| name == "celsius" && scene.text(after) == "[";
    let simple = scene.after().is_none_or(|after| ends(after) || unit(after));
    Some(if simple {
        let span = Span::new(scene.base + before.end, scene.base + here.end);
        diagnostic.help(format!("write `{name}({argument})`")).fix(span, format!("({argument})"))
    } else {
        diagnostic.help(format!("write `{name}(...)`"))
    })
}

/// `state y = 1, y(5) = 3`: a value that is not at the start of the run.
fn at_another_time(scene: &Scene<'_>, name: &str, (text, both): (&str, Span)) -> Option<Diagnostic> {
    let given = |k: usize| scene.tokens.get(k + 1).is_some_and(|sign| sign.kind == TokenKind::Equals);
    let earlier = (1..scene.at - 1).any(|k| scene.text(scene.tokens[k]) == name && given(k));
    earlier.then(|| {
        let report = scene.error(&codes::E0118, format!("`{name}` has its value at the start of the run"));
        report.label(both, "another time").help(format!(
            "odec solves problems with initial values; to compare the value at this time, write \
             `expect {name}{text} = 1`"
        ))
    })
}

/// `x'(t)`, `x(t)'`, and initial values on the left: `x'(0) = 1`, `state x(0) = 1`.
fn of_time(scene: &Scene<'_>) -> Option<Diagnostic> {
    let (before, here) = (scene.before()?, scene.here()?);
    let last = scene.tokens.get(scene.at + 2).copied();
    let (open, inside, close) = match (before.kind, here.kind) {
        (TokenKind::Prime | TokenKind::Name, TokenKind::Open) => (here, scene.after()?, last?),
        (TokenKind::Close, TokenKind::Prime) => {
            (*scene.tokens.get(scene.at.checked_sub(3)?)?, *scene.tokens.get(scene.at - 2)?, before)
        }
        _ => return None,
    };
    let declared = scene.rule == Rule::declaration_line;
    if scene.text(open) != "(" || scene.text(close) != ")" || (before.kind == TokenKind::Name && !declared) {
        return None;
    }
    let behind = scene.line[..open.start].ends_with(|c: char| !c.is_whitespace());
    let both = Span::new(scene.base + open.start, scene.base + close.end);
    let text = &scene.line[open.start..close.end];
    match inside.kind {
        TokenKind::Name if behind && matches!(keyword::first_word(scene.line), "param" | "const" | "output") => {
            let (name, word) = (scene.text(before), keyword::first_word(scene.line));
            let report = scene.error(&codes::E0118, format!("write a name without `{text}`")).label(both, "not needed");
            Some(if word == "output" && matches!(name, "max" | "min") {
                report.help(format!(
                    "an output is a value at each time: write `output {}`, and take the {} of its rows",
                    scene.text(inside),
                    if name == "max" { "largest" } else { "smallest" }
                ))
            } else if word == "output" {
                report.help(format!(
                    "to record a formula, name it: `output {name}_{} = {name}{text}`",
                    scene.text(inside)
                ))
            } else {
                report.help(format!(
                    "a quantity that depends on `{}` is a definition, without `{word}`: `{name} = ...`",
                    scene.text(inside)
                ))
            })
        }
        TokenKind::Name if behind => Some(
            scene
                .error(&codes::E0118, format!("write a state without `{text}`"))
                .label(both, "not needed")
                .help("a state always means its present value")
                .fix(both, ""),
        ),
        TokenKind::Number if declared && behind && scene.text(inside) != "0" => {
            let name = scene.text(before);
            let own = format!("{name}{}", scene.text(inside));
            if let Some(found) = at_another_time(scene, name, (text, both)) {
                return Some(found);
            }
            Some(
                scene
                    .error(&codes::E0118, format!("name each unknown: `{name}{text}` is one of several"))
                    .label(both, "a number")
                    .help(format!(
                        "write `{own}` for `{name}{text}` in all lines; or declare an array, `index i = 1..2` and \
                         `state {name}[i] = ...`, and write `{name}[{}]`",
                        scene.text(inside)
                    )),
            )
        }
        TokenKind::Number if declared && behind => Some(
            scene
                .error(&codes::E0118, format!("write an initial value without `{text}`"))
                .label(both, "not needed")
                .help("write `state x = 1` for the initial value")
                .fix(both, ""),
        ),
        TokenKind::Number if behind && scene.rule == Rule::equation_line && here.kind == TokenKind::Open => Some(
            scene
                .error(&codes::E0118, "an initial value belongs in the declaration of the state")
                .label(both, "a time")
                .help("write `state x = 1, x' = 0`"),
        ),
        _ => None,
    }
}

/// `0 to 10`, `0:10`
fn spoken_range(scene: &Scene<'_>) -> Option<Diagnostic> {
    let (before, here, after) = (scene.before()?, scene.here()?, scene.after()?);
    if here.kind == TokenKind::Range && after.start == here.end && scene.text(after).starts_with('.') {
        let dots = Span::new(scene.base + here.start, scene.base + here.end + 1);
        return Some(
            scene.error(&codes::E0118, "write a range with two dots").label(dots, "write `..`").fix(dots, ".."),
        );
    }
    let ranges = matches!(scene.rule, Rule::entry_line | Rule::index_line | Rule::declaration_line);
    let equals = scene.tokens.iter().take(scene.at).any(|token| token.kind == TokenKind::Equals);
    let word = matches!(scene.text(here), "to" | "until" | ":" | "...") && equals;
    if word && scene.rule == Rule::entry_line && scene.tokens.first().is_some_and(|key| scene.text(*key) == "samples") {
        return Some(
            scene
                .error(&codes::E0118, "`samples` is a number of rows, not a range")
                .label(scene.span(here), "no range here")
                .help("write the number of rows after the first one, `samples = 100`, or a list of times"),
        );
    }
    if !(ranges && word && before.kind == TokenKind::Number && after.begins_value() && scene.brackets.is_empty()) {
        return None;
    }
    if let Some(found) = stepped_range(scene, before, after) {
        return Some(found);
    }
    Some(
        scene
            .error(&codes::E0118, "write a range with two dots")
            .label(scene.span(here), "write `..`")
            .fix(scene.span(here), ".."),
    )
}

/// `0:0.1:10`, start, step and end
fn stepped_range(scene: &Scene<'_>, first: Token, step: Token) -> Option<Diagnostic> {
    let (colon, last) = (scene.tokens.get(scene.at + 2)?, scene.tokens.get(scene.at + 3)?);
    let number = |token: Token| scene.text(token).parse::<f64>().ok();
    let (from, by, to) = (number(first)?, number(step)?, number(*last)?);
    let rows = ((to - from) / by).round();
    if scene.text(*colon) != ":" || !(rows >= 1.0 && rows.is_finite()) {
        return None;
    }
    let whole = Span::new(scene.base + first.start, scene.base + last.end);
    let range = format!("{} .. {}", scene.text(first), scene.text(*last));
    if let (Some(word), Some(name)) = (scene.tokens.first(), scene.tokens.get(1))
        && scene.text(*word) == "index"
    {
        let name = scene.text(*name);
        let value = if from == by { format!("{by}*{name}") } else { format!("{from} + {by}*({name} - 1)") };
        let report = scene.error(&codes::E0118, "an index counts in steps of 1").label(whole, "start, step and end");
        return Some(report.help(format!("write `index {name} = 1..{}`, and `{value}` for the value", rows + 1.0)));
    }
    Some(
        scene
            .error(&codes::E0118, "write a range with two dots, and the number of rows apart")
            .label(whole, "start, step and end")
            .help(format!("write `{range}`; in a run block, `samples = {rows}` gives a row every {by}")),
    )
}

fn declaration(scene: &Scene<'_>) -> Option<Diagnostic> {
    let word = scene.text(*scene.tokens.first()?);
    let before = scene.before()?;
    let Some(here) = scene.here() else {
        return (scene.at == 1).then(|| {
            scene
                .error(&codes::E0128, format!("a name is missing after `{word}`"))
                .label(scene.span(before), "after this")
                .help(format!("write the items after the word, separated by commas: `{word} a = 1, b = 2`"))
        });
    };
    let start = scene.tokens.iter().take(scene.at).rposition(|token| token.kind == TokenKind::Comma).unwrap_or(0);
    let seen = scene.tokens.iter().take(scene.at).skip(start).any(|token| token.kind == TokenKind::Equals);
    if !scene.brackets.is_empty() {
        return None;
    }
    // state (S, I) = (1, 2)
    if scene.at == 1 && scene.text(here) == "(" {
        // output(x, y)
        let inside: Vec<&Token> = scene.tokens.iter().skip(2).collect();
        let names = match inside.split_last() {
            Some((last, names)) if scene.text(**last) == ")" && !names.is_empty() => names,
            _ => &[],
        };
        let plain = names.iter().all(|token| matches!(token.kind, TokenKind::Name | TokenKind::Comma));
        let text = if word == "output" && plain && !names.is_empty() {
            names.iter().map(|token| scene.text(**token)).collect::<Vec<_>>().join(" ").replace(" ,", ",")
        } else {
            "a = 1, b = 2".to_owned()
        };
        return Some(
            scene
                .error(&codes::E0118, format!("the names after `{word}` need no brackets"))
                .label(scene.span(here), "a name is missing here")
                .help(format!("write `{word} {text}`")),
        );
    }
    // state S = 1, state I = 2
    if before.kind == TokenKind::Name
        && scene.text(before) == word
        && here.kind == TokenKind::Name
        && scene.at == start + 2
    {
        return Some(
            scene
                .error(&codes::E0130, format!("`{word}` occurs twice"))
                .label(scene.span(before), "write it once for the whole list")
                .fix(Span::new(scene.base + before.start, scene.base + here.start), ""),
        );
    }
    // param V = 5 mV
    let ends = scene.after().is_none_or(|next| next.kind == TokenKind::Comma);
    if seen && before.kind == TokenKind::Number && here.kind == TokenKind::Name && ends {
        let unit = scene.text(here);
        if matches!(unit, "C" | "F") {
            let value = scene.text(before);
            let kelvin = if unit == "C" { format!("celsius({value})") } else { format!("({value} + 459.67)*5/9 [K]") };
            return Some(
                scene
                    .error(&codes::E0119, "write a unit in brackets")
                    .label(scene.span(here), "a temperature?")
                    .help(format!("write a temperature as `{kelvin}`; `[{unit}]` is the {}", electric(unit))),
            );
        }
        return Some(
            scene
                .error(&codes::E0119, "write a unit in brackets")
                .label(scene.span(here), "is this a unit?")
                .help(format!("write `[{unit}]`; or, if you mean a product, `{}*{unit}`", scene.text(before)))
                .fix(scene.span(here), format!("[{unit}]")),
        );
    }
    // output x^2
    let value = matches!(here.kind, TokenKind::Operator | TokenKind::Compare);
    (word == "output" && !seen && value && scene.at <= start + 2).then(|| {
        scene
            .error(&codes::E0128, "this output needs a name")
            .label(scene.span(here), "an expression")
            .help(format!("write `output name = {}`", item_text(scene, start)))
    })
}

/// The electric unit with the letter of a scale of temperature.
fn electric(unit: &str) -> &'static str {
    if unit == "C" { "coulomb" } else { "farad" }
}

/// The item of a list that begins after this token.
fn item_text<'a>(scene: &'a Scene<'_>, start: usize) -> &'a str {
    let mut depth = 0usize;
    let first = scene.tokens.get(start + 1).map_or(0, |token| token.start);
    for token in scene.tokens.iter().skip(start + 1) {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            TokenKind::Comma if depth == 0 => return scene.line[first..token.start].trim_end(),
            _ => {}
        }
    }
    scene.line[first..].trim_end()
}

/// `t = 0 .. 4 step 0.1`: the distance of rows in other languages, or the size of steps.
fn step_of_range(scene: &Scene<'_>, here: Token) -> Option<Diagnostic> {
    let word = scene.text(here);
    let range = scene.tokens.iter().take(scene.at).position(|token| token.kind == TokenKind::Range)?;
    let step = scene.after().filter(|after| after.kind == TokenKind::Number)?;
    if !matches!(word, "step" | "by" | "with" | "every" | "dt" | "increment") || scene.at < range + 2 {
        return None;
    }
    let number = |token: Option<&Token>| scene.text(*token?).parse::<f64>().ok();
    let ends = number(scene.tokens.get(range - 1)).zip(number(scene.tokens.get(scene.at - 1)));
    let by = scene.text(step);
    let rows = ends.zip(number(Some(&step))).map(|((from, to), by)| ((to - from) / by).round());
    let span = scene.line[..here.start].trim_end();
    let samples = match rows.filter(|rows| *rows >= 1.0 && *rows < 1e9) {
        Some(rows) => format!("`samples = {rows}` gives a row every {by}"),
        None => "`samples = 100` gives 101 rows".to_owned(),
    };
    Some(
        scene
            .error(&codes::E0118, "a time span has two ends only")
            .label(scene.span(here).to(scene.span(step)), "an entry of its own")
            .help(format!("write `{span}`; {samples}, and `step = {by}` fixes the size of the steps")),
    )
}

/// `t from 0 to 10`, `t in 0 .. 10`, `0 .. 10`: a time span without its `=`.
fn span_in_words(scene: &Scene<'_>) -> Option<Diagnostic> {
    let first = scene.tokens.first().copied()?;
    let second = scene.tokens.get(1).copied()?;
    let named = first.kind == TokenKind::Name && matches!(scene.text(second), "from" | "in" | "between");
    let from = match first.kind {
        TokenKind::Number => 0,
        TokenKind::Name if named => 2,
        _ => return None,
    };
    let is_between = |token: &Token| token.kind == TokenKind::Range || matches!(scene.text(*token), "to" | "and");
    let middle = scene.tokens.iter().skip(from).position(is_between)? + from;
    let (start, end) = (scene.tokens.get(from)?, scene.tokens.get(middle)?);
    let (low, high) = (scene.line[start.start..end.start].trim(), scene.line[end.end..].trim());
    let name = if named { scene.text(first) } else { "t" };
    let number = |text: &str| text.split('[').next().is_some_and(|text| text.trim().parse::<f64>().is_ok());
    (number(low) && number(high)).then(|| {
        scene
            .error(&codes::E0118, "write the time span as an entry")
            .label(scene.span(first).to(scene.span(*scene.tokens.last().unwrap_or(end))), "a time span")
            .help(format!("write `{name} = {low} .. {high}`"))
    })
}

/// `t = 0 .. 10 samples 100`: a second entry without its signs.
fn second_entry(scene: &Scene<'_>, here: Token) -> Option<Diagnostic> {
    const ENTRIES: [&str; 6] = ["samples", "rtol", "atol", "method", "max_step", "max_steps"];
    let before = scene.before().filter(Token::ends_value)?;
    let value = scene.after().filter(|next| next.kind == TokenKind::Number || next.kind == TokenKind::Name)?;
    let word = scene.text(here);
    let equals = scene.tokens.iter().take(scene.at).any(|token| token.kind == TokenKind::Equals);
    (ENTRIES.contains(&word) && equals && scene.brackets.is_empty()).then(|| {
        scene
            .error(&codes::E0129, "a `;` is missing between two entries")
            .label(scene.span(here), "the second entry begins here")
            .help(format!("write `{}; {word} = {}`", scene.line[..before.end].trim(), scene.line[value.start..].trim()))
    })
}

/// `samples = every 1`: rows by their distance.
fn spacing_of_rows(scene: &Scene<'_>, here: Token) -> Option<Diagnostic> {
    let key = scene.tokens.first().copied()?;
    let word = scene.before().filter(|before| matches!(scene.text(*before), "every" | "each" | "by" | "step"))?;
    (scene.text(key) == "samples" && here.begins_value()).then(|| {
        scene
            .error(&codes::E0118, "`samples` is a number of rows, not their distance")
            .label(scene.span(word), "a distance of rows")
            .help("write the number of rows after the first one, `samples = 100`, or a list of times, `samples = [0, 1, 2]`")
    })
}

/// `t = 0..1 rtol = 1e-3`, and the rest of `t = 0, 10`.
fn entry(scene: &Scene<'_>) -> Option<Diagnostic> {
    let here = scene.here()?;
    if let Some(found) = span_in_words(scene) {
        return Some(found);
    }
    if scene.at == 0 && here.kind == TokenKind::Number && scene.tokens.len() == 1 {
        let value = scene.text(here);
        // `rtol = 1e-6, 1e-8`
        if value.parse::<f64>().is_ok_and(|value| value > 0.0 && value < 1e-2) {
            return Some(
                scene
                    .error(&codes::E0118, "an entry has one value")
                    .label(scene.span(here), "a second value")
                    .help(format!("write an absolute tolerance as an entry of its own: `atol = {value}`")),
            );
        }
        return Some(
            scene
                .error(&codes::E0118, "a comma separates entries, not the ends of a range")
                .label(scene.span(here), "an entry must begin with its name")
                .help("write `t = 0 .. 10`; write a list of times in brackets: `samples = [1, 2, 5]`"),
        );
    }
    if let Some(found) =
        step_of_range(scene, here).or_else(|| spacing_of_rows(scene, here)).or_else(|| second_entry(scene, here))
    {
        return Some(found);
    }
    let before = scene.before()?;
    let equals = scene.tokens.iter().take(scene.at).any(|token| token.kind == TokenKind::Equals);
    let next = scene.after().is_some_and(|after| after.kind == TokenKind::Equals);
    (equals && next && before.ends_value() && here.kind == TokenKind::Name && scene.brackets.is_empty()).then(|| {
        scene
            .error(&codes::E0129, "a `;` is missing between two entries")
            .label(scene.span(here), "the second entry begins here")
            .fix(scene.behind(before), ";")
    })
}

fn params(scene: &Scene<'_>) -> Option<Diagnostic> {
    let word = scene.before()?;
    Some(
        scene
            .error(&codes::E0128, "a parameter set needs a name")
            .label(scene.span(word), "after this")
            .help("write `params fast { ... }`, and `params = fast` in a run"),
    )
}
