//! Messages for statements that are incomplete or mixed up.

use odec_ir::Span;

use super::{Scene, block, bracket, events, token::Token, token::TokenKind};
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::grammar::Rule;

pub(super) fn explain(scene: &Scene<'_>) -> Option<Diagnostic> {
    twice(scene).or_else(|| one_line_each(scene)).or_else(|| match scene.rule {
        Rule::equation_line => equation(scene),
        Rule::model_line | Rule::time_line | Rule::unit_line | Rule::units_line => super::named::named(scene),
        Rule::declaration_line => declaration(scene),
        Rule::function_line => function(scene),
        Rule::expect_line => expect(scene),
        Rule::conserve_line => conserve(scene),
        Rule::index_line => index(scene),
        Rule::input_line => input(scene),
        Rule::entry_line | Rule::part_entry => block::entry(scene),
        Rule::action_line => events::action(scene),
        Rule::when_head | Rule::at_head | Rule::every_head => events::head(scene),
        Rule::run_head | Rule::params_head => block::head(scene),
        _ => None,
    })
}

/// The same word twice in a row.
fn twice(scene: &Scene<'_>) -> Option<Diagnostic> {
    let first = scene.tokens.first().copied()?;
    let keyword_twice = scene.tokens.get(1).copied().filter(|&second| {
        scene.text(first) == scene.text(second) && super::words::is_keyword(scene.text(first)).is_some()
    });
    let (before, here) = match (keyword_twice, scene.before(), scene.here()) {
        (Some(second), ..) if scene.at <= 2 => (first, second),
        (_, Some(before), Some(here)) => (before, here),
        _ => return None,
    };
    let word = matches!(here.kind, TokenKind::Name | TokenKind::Number | TokenKind::Reserved);
    let alike = before.kind == here.kind || before.kind == TokenKind::Keyword;
    (word && alike && scene.text(before) == scene.text(here)).then(|| {
        scene
            .error(&codes::E0130, format!("`{}` occurs twice", scene.text(here)))
            .label(scene.span(here), "second occurrence")
            .fix(Span::new(scene.base + before.end, scene.base + here.end), "")
    })
}

/// A keyword in the middle of a line: two statements on one line.
fn one_line_each(scene: &Scene<'_>) -> Option<Diagnostic> {
    let here = scene.here().filter(|here| here.kind == TokenKind::Name)?;
    let before = scene.before()?;
    let word = scene.text(here);
    if scene.rule == Rule::action_line {
        return None;
    }
    let keyword = super::words::is_keyword(word)?;
    let after = scene.after()?;
    let starts = after.kind == TokenKind::Name || (keyword.takes_block() && after.kind == TokenKind::Open);
    (before.ends_value() && starts && scene.brackets.is_empty()).then(|| {
        scene
            .error(&codes::E0118, "a statement begins in the middle of a line")
            .label(scene.span(here), format!("`{word}` begins a statement"))
            .help("write it on its own line")
            .fix(Span::new(scene.base + before.end, scene.base + here.start), "\n")
    })
}

fn equation(scene: &Scene<'_>) -> Option<Diagnostic> {
    let equals = scene.tokens.iter().take(scene.at).position(|token| token.kind == TokenKind::Equals);
    let Some(here) = scene.here() else {
        return equals.is_none().then(|| no_equals(scene)).flatten();
    };
    match here.kind {
        TokenKind::Equals if scene.at == 0 => Some(
            scene
                .error(&codes::E0128, "nothing precedes `=`")
                .label(scene.span(here), "a name or an expression is missing before it"),
        ),
        TokenKind::Equals if scene.brackets.is_empty() && scene.before().is_some_and(|token| token.ends_value()) => {
            if scene.wants("`then`") {
                return None;
            }
            let first = equals.and_then(|at| scene.tokens.get(at)).copied()?;
            Some(
                scene
                    .error(&codes::E0124, "a statement has only one `=`")
                    .label(scene.span(here), "second occurrence")
                    .label(scene.span(first), "first `=`")
                    .help("write a comparison with `==`; write two equations on two lines"),
            )
        }
        TokenKind::Assign => {
            let text = scene.text(here);
            let diagnostic = scene.error(&codes::E0124, format!("`{text}` belongs in events"));
            if text == ":=" {
                let label = "use `=` in an equation or a definition";
                return Some(diagnostic.label(scene.span(here), label).help("write `=`").fix(scene.span(here), "="));
            }
            Some(super::words::compound(scene, here, diagnostic))
        }
        TokenKind::Comma if scene.brackets.is_empty() && equals.is_none() => Some(
            scene
                .error(&codes::E0117, "a list of names needs a keyword before it")
                .label(scene.span(here), "this list")
                .help("write `param`, `const`, `state` or `output` before the first name"),
        ),
        TokenKind::Comma if scene.brackets.is_empty() => Some(
            scene
                .error(&codes::E0118, "an equation ends with its line")
                .label(scene.span(here), "this comma")
                .help("write each equation on its own line; lists follow `param`, `const`, `state` and `output`"),
        ),
        TokenKind::Range if scene.brackets.is_empty() => Some(
            scene
                .error(&codes::E0118, "a range belongs after `index`, after `in`, or in the time span of a run")
                .label(scene.span(here), "not here")
                .help("write a time span as `run { t = 0 .. 10 }`, and an index as `index i = 1..N`"),
        ),
        TokenKind::Colon
            if scene.at == 1
                && scene.tokens.first().is_some_and(|&first| super::words::is_keyword(scene.text(first)).is_some()) =>
        {
            Some(
                scene
                    .error(&codes::E0118, "the word of a statement takes no `:`")
                    .label(scene.span(here), "this `:`")
                    .fix(scene.span(here), ""),
            )
        }
        TokenKind::Colon if scene.at == 1 => Some(super::words::label(scene, here)),
        TokenKind::Name => equation_word(scene, here).or_else(|| missing_equals(scene, equals.is_some())),
        _ => missing_equals(scene, equals.is_some()),
    }
}

/// Two adjacent values without a preceding `=`: the `=` is probably missing.
fn missing_equals(scene: &Scene<'_>, seen: bool) -> Option<Diagnostic> {
    let (before, here) = (scene.before()?, scene.here()?);
    let ahead = scene.tokens.iter().skip(scene.at).any(|token| token.kind == TokenKind::Equals);
    let unit = here.kind == TokenKind::Open && scene.text(here) == "[";
    let reserved = scene.wants("`then`") || scene.wants("`else`");
    let fits = before.ends_value() && here.begins_value() && !unit && !reserved;
    (!seen && !ahead && fits && scene.brackets.is_empty()).then(|| {
        scene
            .error(&codes::E0129, "`=` is missing")
            .label(scene.span(here), scene.between(before))
            .fix(scene.behind(before), " =")
    })
}

/// `in` and `within` without their keyword.
fn equation_word(scene: &Scene<'_>, here: Token) -> Option<Diagnostic> {
    let start = scene.tokens.first().copied()?;
    let called = scene.tokens.get(1).is_some_and(|second| scene.text(*second) == "(" && scene.touching(start, *second));
    match scene.text(here) {
        "within" if scene.before()?.ends_value() => {
            let word = if called { "expect" } else { "conserve" };
            Some(
                scene
                    .error(&codes::E0117, "`within` belongs to `expect` and `conserve`")
                    .label(scene.span(here), "a tolerance")
                    .label(scene.span(start), format!("`{word}` is missing before this"))
                    .fix(scene.ahead_of(start), format!("{word} ")),
            )
        }
        "in" if scene.before()?.ends_value() => Some(
            scene
                .error(&codes::E0117, "`in` belongs to declarations and indices")
                .label(scene.span(here), "these bounds belong to no declaration")
                .label(scene.span(start), "`param` may be missing before this"),
        ),
        "as" if start.kind == TokenKind::Text => Some(
            scene
                .error(&codes::E0117, "`use` is missing")
                .label(scene.span(start), "before this")
                .fix(scene.ahead_of(start), "use "),
        ),
        _ => None,
    }
}

/// A line without `=`.
fn no_equals(scene: &Scene<'_>) -> Option<Diagnostic> {
    let first = scene.tokens.first().copied()?;
    let last = scene.tokens.last().copied()?;
    if !last.ends_value() {
        return None;
    }
    let whole = Span::new(scene.base + first.start, scene.base + last.end);
    let mut depth = 0usize;
    for &token in &scene.tokens {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            // `x' <- 1` compares x' with -1
            TokenKind::Foreign if depth == 0 && scene.text(token) == "<-" => {
                return Some(
                    scene
                        .error(&codes::E0125, "odec has no operator `<-`")
                        .label(scene.span(token), "write `=`")
                        .fix(scene.span(token), "="),
                );
            }
            TokenKind::Compare if depth == 0 && scene.text(token) == "==" => {
                return Some(
                    scene
                        .error(&codes::E0124, "write an equation with `=`; `==` compares")
                        .label(scene.span(token), "write `=`")
                        .fix(scene.span(token), "="),
                );
            }
            _ => {}
        }
    }
    let diagnostic =
        scene.error(&codes::E0128, "this line has no `=`").label(whole, "neither an equation nor a definition");
    if first.kind == TokenKind::Operator {
        return Some(
            diagnostic
                .help("a line continues the one above if it begins with an operator and is indented more")
                .fix(scene.ahead_of(first), "    "),
        );
    }
    Some(diagnostic.help(
        "write a definition as `name = ...`, an equation as `name' = ...`, a conserved quantity as `conserve ...`",
    ))
}

fn declaration(scene: &Scene<'_>) -> Option<Diagnostic> {
    let word = scene.tokens.first().map(|&token| scene.text(token)).unwrap_or_default();
    let before = scene.before()?;
    let Some(here) = scene.here() else {
        return match before.kind {
            _ if scene.at == 1 => Some(
                scene
                    .error(&codes::E0128, format!("a name is missing after `{word}`"))
                    .label(scene.span(before), "after this"),
            ),
            TokenKind::Comma => Some(
                scene
                    .error(&codes::E0118, "a name is missing after the last comma")
                    .label(scene.span(before), "this comma")
                    .fix(scene.span(before), ""),
            ),
            _ => None,
        };
    };
    // the start of the item, and true if its `=` has been seen
    let start = scene.tokens.iter().take(scene.at).rposition(|token| token.kind == TokenKind::Comma).unwrap_or(0);
    let seen = scene.tokens.iter().take(scene.at).skip(start).any(|token| token.kind == TokenKind::Equals);
    if scene.brackets.is_empty() { item(scene, word, before, here, seen) } else { None }
}

/// `param k = 2, k > 0`: a parameter has a range.
fn bound(scene: &Scene<'_>, word: &str, before: Token, here: Token) -> Diagnostic {
    let name = scene.text(before);
    // `<lower=0, upper=5>` of Stan
    let named = |word: &str| {
        let at = scene.tokens.iter().position(|token| scene.text(*token) == word)?;
        let end = scene.tokens.iter().skip(at).find(|token| matches!(scene.text(**token), "," | ">"))?;
        Some(scene.line.get(scene.tokens.get(at + 2)?.start..end.start)?.trim())
    };
    let range = match (named("lower"), named("upper")) {
        (None, None) if scene.text(here).starts_with('>') => "0..inf".to_owned(),
        (None, None) => "-inf..5".to_owned(),
        (low, high) => format!("{}..{}", low.unwrap_or("-inf"), high.unwrap_or("inf")),
    };
    // `real<lower=0> k = 1`: the name follows the type
    let close = scene.tokens.iter().rposition(|token| scene.text(*token) == ">" && scene.text(here) == "<");
    let typed = close.and_then(|close| scene.tokens.get(close + 1)).filter(|token| token.kind == TokenKind::Name);
    let value = close.and_then(|close| scene.tokens.get(close + 2)).filter(|token| scene.text(**token) == "=");
    let value = value.and_then(|sign| scene.line.get(sign.end..)).map(str::trim).filter(|value| !value.is_empty());
    let (name, value) = match typed {
        Some(token) => (scene.text(*token), value.unwrap_or("1")),
        None => (name, "1"),
    };
    scene
        .error(&codes::E0118, "a parameter has a range after its value, not a bound")
        .label(scene.span(here), "a bound")
        .help(format!("write `{word} {name} = {value} in {range}`, with its value and both ends of the range"))
}

/// `output x as y`
fn renamed(scene: &Scene<'_>, before: Token, here: Token) -> Option<Diagnostic> {
    let name = scene.after().filter(|name| name.kind == TokenKind::Name)?;
    let better = format!("{} = {}", scene.text(name), scene.text(before));
    let whole = Span::new(scene.base + before.start, scene.base + name.end);
    (scene.text(here) == "as" && before.kind == TokenKind::Name).then(|| {
        scene
            .error(&codes::E0118, "an output gets another name with `=`")
            .label(scene.span(here), "`as` belongs to `use`")
            .help(format!("write `output {better}`"))
            .fix(whole, better)
    })
}

/// An error in an item of a declaration with this keyword; `seen`: after its `=`.
fn item(scene: &Scene<'_>, word: &str, before: Token, here: Token, seen: bool) -> Option<Diagnostic> {
    let better = if word == "output" { renamed(scene, before, here) } else { None };
    let better = better.or_else(|| super::named::word_of_statement(scene, word, before, here));
    if !seen && better.is_some() {
        return better;
    }
    match here.kind {
        TokenKind::Number | TokenKind::Text if !seen && before.ends_value() && before.kind != TokenKind::Number => {
            Some(
                scene
                    .error(&codes::E0129, "`=` is missing")
                    .label(scene.span(here), scene.between(before))
                    .fix(scene.behind(before), " ="),
            )
        }
        TokenKind::Name if before.ends_value() && !scene.wants("`then`") && !scene.wants("`else`") => {
            let next = scene.after();
            if next.is_none_or(|next| matches!(next.kind, TokenKind::Equals | TokenKind::Comma | TokenKind::Prime)) {
                let report =
                    scene.error(&codes::E0129, "a comma is missing").label(scene.span(here), scene.between(before));
                return Some(if scene.touching(before, here) {
                    let text = scene.text(here);
                    report.help(format!("write `*{text}` for a product, or `, {text} ...` for another item"))
                } else if seen {
                    report
                        .help("separate the items of a list by commas; inside a value, an operator is missing")
                        .fix(scene.behind(before), ",")
                } else {
                    let (a, b) = (scene.text(before), scene.text(here));
                    report.help(format!("write `{a}, {b}` for two names, `{a}_{b}` for one"))
                });
            }
            (!seen).then(|| {
                scene
                    .error(&codes::E0129, "`=` is missing")
                    .label(scene.span(here), scene.between(before))
                    .fix(scene.behind(before), " =")
            })
        }
        TokenKind::Open if !seen && scene.text(here) == "(" && before.ends_value() => {
            Some(bracket::unit_before(scene, word, (before, here)).unwrap_or_else(|| {
                scene
                    .error(&codes::E0129, "`=` is missing")
                    .label(scene.span(here), scene.between(before))
                    .fix(scene.behind(before), " =")
            }))
        }
        TokenKind::Equals if scene.text(before) == "]" => Some(bracket::before_equals(scene, word, before, here)),
        TokenKind::Equals if seen && before.ends_value() => Some(
            scene
                .error(&codes::E0124, "an item has only one `=`")
                .label(scene.span(here), "second occurrence")
                .help("separate names that share a value by commas: `a, b = 3`"),
        ),
        TokenKind::Colon => Some(bracket::colon(scene, word, (before, here), seen)),
        TokenKind::Compare if !seen && matches!(word, "param" | "const") && scene.text(here) != "==" => {
            Some(bound(scene, word, before, here))
        }
        TokenKind::Compare if scene.text(here) == "==" => Some(
            scene
                .error(&codes::E0124, "set a value with `=`; `==` compares")
                .label(scene.span(here), "write `=`")
                .fix(scene.span(here), "="),
        ),
        TokenKind::Assign if scene.text(here) == ":=" => Some(
            scene
                .error(&codes::E0124, "`:=` belongs in events")
                .label(scene.span(here), "write `=`")
                .fix(scene.span(here), "="),
        ),
        TokenKind::Comma if scene.earlier("in") && !scene.earlier("..") => Some(
            scene
                .error(&codes::E0118, "write bounds as a range")
                .label(scene.span(here), "two dots are missing here")
                .help("write `in 0..1`"),
        ),
        _ => None,
    }
}

fn function(scene: &Scene<'_>) -> Option<Diagnostic> {
    let here = scene.here()?;
    let before = scene.before()?;
    let equals = scene.tokens.iter().take(scene.at).any(|token| token.kind == TokenKind::Equals);
    if equals {
        return None;
    }
    match (here.kind, before.kind) {
        (TokenKind::Equals, TokenKind::Name) if !scene.brackets.is_empty() => Some(
            scene
                .error(&codes::E0128, "an argument of a function has no default value")
                .label(scene.span(here), "not possible here")
                .help("remove the value, and give it where you call the function"),
        ),
        (TokenKind::Equals, TokenKind::Name) => Some(
            scene
                .error(&codes::E0128, "a function needs arguments")
                .label(scene.span(here), "`(...)` is missing before it")
                .help("if it has no arguments, write a definition: remove the keyword `fn`"),
        ),
        (TokenKind::Name, TokenKind::Name) if !scene.brackets.is_empty() => Some(
            scene
                .error(&codes::E0129, "a comma is missing between two arguments")
                .label(scene.span(here), "before this")
                .fix(scene.behind(before), ","),
        ),
        (_, TokenKind::Name) if scene.wants("`(`") => Some(bracket::arguments(scene, before, here)),
        (TokenKind::Close, TokenKind::Open) => Some(
            scene
                .error(&codes::E0128, "a function needs arguments")
                .label(scene.span(here), "there are none before this")
                .help("if it has no arguments, write a definition: remove the keyword `fn` and the brackets"),
        ),
        (_, TokenKind::Close) if scene.brackets.is_empty() && here.begins_value() => Some(
            scene
                .error(&codes::E0129, "`=` is missing")
                .label(scene.span(here), "before the body of the function")
                .fix(scene.behind(before), " ="),
        ),
        _ => None,
    }
}

/// The grammar parses `within` as a name if the value before it is missing.
fn tolerance(scene: &Scene<'_>) -> Option<Diagnostic> {
    let (before, here) = (scene.before()?, scene.here()?);
    if !scene.brackets.is_empty() || !here.begins_value() {
        return None;
    }
    if scene.text(before) == "within" {
        let earlier = scene.at.checked_sub(2).and_then(|at| scene.tokens.get(at)).copied()?;
        if scene.text(earlier) == "within" {
            let again = Span::new(scene.base + earlier.end, scene.base + before.end);
            return Some(
                scene
                    .error(&codes::E0130, "`within` occurs twice")
                    .label(scene.span(before), "second occurrence")
                    .fix(again, ""),
            );
        }
        return Some(
            scene
                .error(&codes::E0116, "a value is missing before `within`")
                .label(scene.span(before), format!("`{}` is directly before it", scene.text(earlier))),
        );
    }
    let numbers = before.kind == TokenKind::Number && here.kind == TokenKind::Number;
    (numbers && scene.wants("`within`")).then(|| {
        scene
            .error(&codes::E0129, "`within` is missing")
            .label(scene.span(here), "before the tolerance")
            .fix(scene.behind(before), " within")
    })
}

fn expect(scene: &Scene<'_>) -> Option<Diagnostic> {
    if let Some(diagnostic) = tolerance(scene) {
        return Some(diagnostic);
    }
    let equals = scene.tokens.iter().take(scene.at).any(|token| token.kind == TokenKind::Equals);
    if equals || !scene.brackets.is_empty() {
        return None;
    }
    let example = "write `expect A(40) = 0.7 within 1e-6`";
    let before = scene.before()?;
    let Some(here) = scene.here() else {
        return before.ends_value().then(|| {
            scene
                .error(&codes::E0128, "the expected value is missing")
                .label(scene.span(before), "`= value` is missing after this")
                .help(example)
        });
    };
    match here.kind {
        TokenKind::Equals if before.ends_value() => Some(
            scene
                .error(&codes::E0128, "the time is missing")
                .label(scene.span(here), "`(time)` is missing before it")
                .help(example),
        ),
        TokenKind::Compare if scene.text(here) == "==" => Some(
            scene
                .error(&codes::E0124, "write an expected value with `=`")
                .label(scene.span(here), "write `=`")
                .fix(scene.span(here), "="),
        ),
        TokenKind::Compare | TokenKind::Operator if before.ends_value() => Some(
            scene
                .error(&codes::E0118, "an expectation gives the value of one quantity at one time")
                .label(scene.span(here), "not one quantity")
                .help(
                    "write `expect x(1) = 0.37 within 1e-3`; for a ratio or a difference, declare `output r = z/x`, and \
                     write `expect r(1) = 2`",
                ),
        ),
        TokenKind::Number if scene.at == 1 && scene.tokens.get(2).is_some_and(|sign| sign.kind == TokenKind::Equals) => {
            let sign = scene.tokens[2];
            let (value, rest) = (scene.text(here), scene.line[sign.end..].trim());
            Some(
                scene
                    .error(&codes::E0118, "the expected value comes after `=`")
                    .label(scene.span(here), "a value")
                    .help(format!("write `expect {rest} = {value}`")),
            )
        }
        TokenKind::Number | TokenKind::Name if scene.text(before) == ")" => Some(
            scene
                .error(&codes::E0129, "`=` is missing")
                .label(scene.span(here), "before the expected value")
                .fix(scene.behind(before), " ="),
        ),
        _ => None,
    }
}

fn conserve(scene: &Scene<'_>) -> Option<Diagnostic> {
    if let Some(diagnostic) = tolerance(scene) {
        return Some(diagnostic);
    }
    if scene.at == 2
        && let (Some(name), Some(here)) = (scene.before(), scene.here())
        && name.kind == TokenKind::Name
        && here.begins_value()
        && scene.text(here) != "["
    {
        return Some(
            scene
                .error(&codes::E0129, "`=` is missing")
                .label(scene.span(here), format!("{}, or an operator", scene.between(name)))
                .fix(scene.behind(name), " ="),
        );
    }
    if let Some(comma) = scene.here().filter(|here| here.kind == TokenKind::Comma && scene.brackets.is_empty()) {
        let (first, rest) = (scene.line[..comma.start].trim(), scene.line[comma.end..].trim());
        let limit = rest.trim_end_matches('%').trim();
        if limit.parse::<f64>().is_ok_and(|limit| limit > 0.0) {
            return Some(
                scene
                    .error(&codes::E0118, "the tolerance follows `within`")
                    .label(scene.span(comma), "a tolerance")
                    .help(format!("write `{first} within {rest}`")),
            );
        }
        return Some(
            scene
                .error(&codes::E0118, "a `conserve` line has one quantity")
                .label(scene.span(comma), "a second quantity")
                .help(format!("write two lines: `{first}` and `conserve {rest}`")),
        );
    }
    let here = scene.here().filter(|here| here.kind == TokenKind::Equals && scene.brackets.is_empty())?;
    scene.before().filter(Token::ends_value)?;
    Some(
        scene
            .error(&codes::E0118, "`conserve` takes an expression, or a name and an expression")
            .label(scene.span(here), "only a name can precede `=`")
            .help(match scene.line[..here.start].strip_prefix("conserve") {
                Some(sum) => format!("write `conserve {}`: it compares with the initial value", sum.trim()),
                None => "write `conserve mass = A + B`".to_owned(),
            }),
    )
}

/// `input u = table(...)`
fn input(scene: &Scene<'_>) -> Option<Diagnostic> {
    let name = scene.tokens.get(1).filter(|name| name.kind == TokenKind::Name)?;
    let next = scene.tokens.get(2)?;
    (next.kind == TokenKind::Equals).then(|| {
        let name = scene.text(*name);
        scene
            .error(&codes::E0118, "an input needs its argument in brackets")
            .label(scene.span(*next), "the argument is missing before this")
            .help(format!("write `input {name}(t) = table(...)`"))
    })
}

fn index(scene: &Scene<'_>) -> Option<Diagnostic> {
    let Some(here) = scene.here() else {
        let last = scene.before().filter(Token::ends_value)?;
        // `index i = 3` and `index i = [1, 2, 3]` mean three elements
        let words = |kind| scene.tokens.iter().filter(move |token| token.kind == kind).map(|token| scene.text(*token));
        let name = words(TokenKind::Name).nth(1).unwrap_or("i");
        let count = words(TokenKind::Number).next_back().filter(|n| n.parse::<u32>().is_ok()).unwrap_or("N");
        let found = scene.error(&codes::E0128, "an index needs a range");
        let found = found.label(scene.span(last), format!("`1..{count}` is missing here"));
        return Some(found.help(format!("write `index {name} = 1..{count}`")));
    };
    match scene.text(here) {
        ":" => Some(
            scene
                .error(&codes::E0118, "write a range with two dots")
                .label(scene.span(here), "write `..`")
                .fix(scene.span(here), ".."),
        ),
        "in" => Some(
            scene
                .error(&codes::E0118, "declare an index with `=`")
                .label(scene.span(here), "write `=`")
                .fix(scene.span(here), "="),
        ),
        _ => None,
    }
}
