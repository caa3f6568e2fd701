//! Expressions: a missing operator, a missing value, something twice, a unit or prime in the wrong place.

use odec_ir::Span;

use super::{Scene, token::Token, token::TokenKind};
use crate::diagnostic::{Diagnostic, codes};
use crate::suggest;
use crate::syntax::grammar::Rule;
use crate::units;

pub(super) fn explain(scene: &Scene<'_>) -> Option<Diagnostic> {
    match scene.before() {
        Some(before) if before.ends_value() => match scene.here() {
            Some(here) => after_value(scene, before, here),
            None => incomplete(scene, before),
        },
        before => no_value(scene, before),
    }
}

/// The line ends with a value, yet something must follow.
fn incomplete(scene: &Scene<'_>, last: Token) -> Option<Diagnostic> {
    let missing = ["`then`", "`else`"].into_iter().find(|word| scene.wants(word))?;
    Some(
        scene
            .error(&codes::E0122, format!("this `if` has no {missing}"))
            .label(scene.span(last), format!("{missing} is missing after this"))
            .help("write `if condition then a else b`"),
    )
}

/// An operator was expected.
fn after_value(scene: &Scene<'_>, before: Token, here: Token) -> Option<Diagnostic> {
    let text = scene.text(here);
    match here.kind {
        TokenKind::Reserved => reserved(scene, here),
        TokenKind::Name | TokenKind::Number | TokenKind::Text => super::borrowed::word(scene)
            .or_else(|| super::prose::word(scene, here))
            .or_else(|| misspelt(scene, before, here))
            .or_else(|| conditional(scene, before, here))
            .or_else(|| Some(juxtaposed(scene, before, here))),
        TokenKind::Open if text == "[" => bracket(scene, before, here),
        TokenKind::Open => {
            let diagnostic = conditional(scene, before, here);
            diagnostic.or_else(|| call(scene, before, here)).or_else(|| Some(juxtaposed(scene, before, here)))
        }
        TokenKind::Prime if before.kind == TokenKind::Prime => Some(
            scene
                .error(&codes::E0121, "a space separates two primes")
                .label(scene.span(here), "second prime")
                .help("write a second derivative as `x''`, without a space"),
        ),
        TokenKind::Prime if before.kind == TokenKind::Name => Some(
            scene
                .error(&codes::E0121, "a prime must touch its name")
                .label(scene.span(here), "remove the space before it")
                .fix(Span::new(scene.base + before.end, scene.base + here.start), ""),
        ),
        TokenKind::Prime => Some(
            scene
                .error(&codes::E0121, "only a name can have a prime")
                .label(scene.span(here), "derivative of an expression")
                .help(match by_number(scene) {
                    Some(name) => format!("name each unknown: write `{name}'`"),
                    None => "write out the derivative of the expression; only states have derivatives".to_owned(),
                }),
        ),
        TokenKind::Equals if begins_reduction(scene) => Some(range_of_reduction(scene, here)),
        TokenKind::Equals if super::named::names_argument(scene) => Some(super::named::argument(scene, before, here)),
        TokenKind::Equals if scene.wants("`then`") || !scene.brackets.is_empty() => Some(
            scene
                .error(&codes::E0124, "write a comparison with `==`")
                .label(scene.span(here), "write `==`")
                .fix(scene.span(here), "=="),
        ),
        TokenKind::Range => Some(
            scene
                .error(&codes::E0118, "unexpected range")
                .label(scene.span(here), "two dots")
                .help("ranges belong after `index`, after `in`, and in the time span of a run"),
        ),
        TokenKind::Comma if scene.brackets.is_empty() && scene.rule == Rule::when_head => {
            let (first, second) = (scene.line[..here.start].trim_end(), scene.line[here.end..].trim());
            Some(
                scene
                    .error(&codes::E0118, "join conditions with `and` or `or`")
                    .label(scene.span(here), "a list of conditions")
                    .help(format!("write `{first} and {second} {{ ... }}`, or use `or`")),
            )
        }
        TokenKind::Comma if scene.brackets.is_empty() => Some(
            scene
                .error(&codes::E0118, "unexpected comma")
                .label(scene.span(here), format!("expected {}", super::expected::list(&scene.expected))),
        ),
        TokenKind::Dot if scene.line[..here.start].ends_with(')') => {
            let component = scene.line[here.end..].chars().next().filter(char::is_ascii_alphabetic).unwrap_or('x');
            Some(
                scene
                    .error(&codes::E0118, "a component belongs to a name, not to an expression")
                    .label(scene.span(here), "after `)`")
                    .help(format!("define a vector, for example `v = cross(a, b)`, and write `v.{component}`")),
            )
        }
        TokenKind::Dot => Some(
            scene
                .error(&codes::E0118, "unexpected dot")
                .label(scene.span(here), "a dot belongs in a number or directly between two names")
                .help("write `c.x` without spaces"),
        ),
        _ => None,
    }
}

/// `then` without `if` and the like.
fn reserved(scene: &Scene<'_>, here: Token) -> Option<Diagnostic> {
    let text = scene.text(here);
    if text == "then" && scene.rule == Rule::when_head {
        return Some(
            scene
                .error(&codes::E0122, "an event has no `then`")
                .label(scene.span(here), "remove this")
                .help("write `when condition { ... }`")
                .fix(scene.span(here), ""),
        );
    }
    let without = match text {
        "then" => "if",
        "else" if scene.wants("`then`") => "then",
        "else" if scene.earlier("if") => return Some(extra_else(scene, here)),
        "else" => "if",
        "if" if scene.rule == Rule::equation_line && scene.brackets.is_empty() && !scene.later("else") => {
            return Some(super::prose::condition(scene, here));
        }
        "if" | "not" => {
            return Some(
                scene
                    .error(&codes::E0115, format!("an operator is missing before `{text}`"))
                    .label(scene.span(here), "this follows a value"),
            );
        }
        _ => return None,
    };
    let diagnostic = scene
        .error(&codes::E0122, format!("`{text}` without `{without}`"))
        .label(scene.span(here), format!("there is no `{without}` before it"))
        .help("write `if condition then a else b`");
    let equals = scene.tokens.iter().position(|token| token.kind == TokenKind::Equals);
    match equals.and_then(|at| scene.tokens.get(at)) {
        Some(&equals) if text == "then" && scene.brackets.is_empty() && !scene.earlier("if") => {
            Some(diagnostic.fix(scene.behind(equals), " if"))
        }
        _ => Some(diagnostic),
    }
}

fn extra_else(scene: &Scene<'_>, here: Token) -> Diagnostic {
    scene
        .error(&codes::E0122, "this `else` has no `if`")
        .label(scene.span(here), "the `if` before it already has an `else`")
        .help("write another case as `else if condition then ...`")
}

/// Logical operators of other languages, in words of this one.
const LOGIC: [(&str, &str); 3] =
    [("xor", "(a and not b) or (b and not a)"), ("nor", "not (a or b)"), ("nand", "not (a and b)")];

/// `thne` for `then`: a word that is similar to a possible one.
fn misspelt(scene: &Scene<'_>, before: Token, here: Token) -> Option<Diagnostic> {
    if here.kind != TokenKind::Name {
        return None;
    }
    // they are similar to `or` and `and`, but mean something else
    if let Some((word, instead)) = LOGIC.iter().find(|(word, _)| scene.text(here) == *word) {
        return Some(
            scene
                .error(&codes::E0117, format!("odec does not know `{word}`"))
                .label(scene.span(here), "the operators are `and`, `or` and `not`")
                .help(format!("write `a {word} b` as `{instead}`")),
        );
    }
    let mut words: Vec<&str> = scene.expected.iter().map(|word| word.trim_matches('`')).collect();
    let joins = scene.wants("an operator") && scene.after().is_some_and(|after| after.begins_value());
    if joins && super::prose::is_condition(scene) {
        words.extend(["and", "or"]);
    }
    words.retain(|word| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase()));
    let text = scene.text(here);
    if text.len() < 2 {
        return None;
    }
    if let [better] = suggest::nearest(text, words.iter().copied()).as_slice()
        && *better != text
        && scene.after().is_some()
    {
        return Some(
            scene
                .error(&codes::E0117, format!("odec does not know `{text}`"))
                .label(scene.span(here), format!("`{better}`?"))
                .fix(scene.span(here), *better),
        );
    }
    // `fi a then`
    let word = scene.text(before);
    if before.kind == TokenKind::Name
        && !scene.earlier("if")
        && scene.later("then")
        && suggest::near(word, "if").is_some()
    {
        return Some(
            scene
                .error(&codes::E0117, format!("odec does not know `{word}`"))
                .label(scene.span(before), "`if`?")
                .fix(scene.span(before), "if"),
        );
    }
    None
}

/// A value where `then` or `else` belongs.
fn conditional(scene: &Scene<'_>, before: Token, here: Token) -> Option<Diagnostic> {
    let word = ["then", "else"].into_iter().find(|word| scene.wants(&format!("`{word}`")))?;
    if scene.later(word) {
        return None;
    }
    Some(
        scene
            .error(&codes::E0122, format!("`{word}` is missing"))
            .label(scene.span(here), "before this")
            .help("write `if condition then a else b`")
            .fix(scene.behind(before), format!(" {word}")),
    )
}

/// Two values side by side.
fn juxtaposed(scene: &Scene<'_>, before: Token, here: Token) -> Diagnostic {
    let (left, right) = (scene.text(before), scene.text(here));
    // in the list of a call or a tuple a comma is as likely
    let list = scene.bracket().is_some_and(|open| scene.text(open) == "[") || in_call(scene);
    let wanted = if list { "an operator or a comma is missing" } else { "an operator is missing" };
    let diagnostic = scene.error(&codes::E0115, wanted).label(
        scene.span(here),
        match (before.kind, here.kind) {
            (TokenKind::Close | TokenKind::Prime, _) | (_, TokenKind::Open) => "before this".to_string(),
            _ => format!("between `{left}` and `{right}`"),
        },
    );
    let text = before.kind == TokenKind::Text || here.kind == TokenKind::Text;
    if list || text {
        return diagnostic;
    }
    let whole = match here.kind {
        TokenKind::Open => "a product needs `*`".to_string(),
        _ if before.kind == TokenKind::Close || before.kind == TokenKind::Prime => "a product needs `*`".to_string(),
        // `t = 0 .. 3 days`, where no name can be a factor of a time
        TokenKind::Name
            if scene.rule == Rule::entry_line
                && before.kind == TokenKind::Number
                && units::table::find(right).is_some() =>
        {
            format!("write a unit as `{left} [{right}]`")
        }
        // `within 5 percent`
        TokenKind::Name if right == "percent" && matches!(scene.rule, Rule::expect_line | Rule::conserve_line) => {
            format!("write `{left} %`")
        }
        // `5 W/m2K`
        TokenKind::Name
            if before.kind == TokenKind::Number
                && units::table::find(right).is_some()
                && scene.after().is_some_and(|next| matches!(scene.text(next), "/" | "^")) =>
        {
            let sign = scene.after().map_or("/", |next| scene.text(next));
            format!(
                "write the whole unit in square brackets, `{left} [{right}{sign}...]`, and a product as `{left}*{right}`"
            )
        }
        // `every 12 h`
        TokenKind::Name if before.kind == TokenKind::Number && units::table::find(right).is_some() => {
            format!("write a unit as `{left} [{right}]`, and a product as `{left}*{right}`")
        }
        // `k ln y`
        TokenKind::Name if odec_ir::builtin::find_function(right).is_some() => {
            format!("write a product as `{left}*{right}({})`", super::borrowed::argument(scene))
        }
        // `x is 1`
        TokenKind::Name if right == "is" && (scene.wants("`then`") || scene.earlier("if") || scene.earlier("when")) => {
            "write a comparison with `==`".to_owned()
        }
        _ => format!("write a product as `{left}*{}`", super::prose::factor(scene, here)),
    };
    let numbers = before.kind == TokenKind::Number && here.kind == TokenKind::Number;
    if numbers {
        return diagnostic;
    }
    // any operator may be missing, so there is no fix
    diagnostic.help(whole)
}

/// True if the innermost open bracket belongs to a call.
fn in_call(scene: &Scene<'_>) -> bool {
    let Some(&at) = scene.brackets.last() else { return false };
    let name = at.checked_sub(1).and_then(|at| scene.tokens.get(at));
    name.zip(scene.tokens.get(at))
        .is_some_and(|(name, open)| name.kind == TokenKind::Name && scene.touching(*name, *open))
}

/// The name that `y(2)` could have, directly before this token: `y2`.
fn by_number(scene: &Scene<'_>) -> Option<String> {
    let at = scene.at.checked_sub(4)?;
    let [name, open, number, close] = scene.tokens.get(at..scene.at)? else { return None };
    let plain = name.kind == TokenKind::Name && odec_ir::builtin::find_function(scene.text(*name)).is_none();
    let called = scene.text(*open) == "(" && scene.text(*close) == ")" && scene.touching(*name, *open);
    let fits = plain && called && number.kind == TokenKind::Number;
    fits.then(|| format!("{}{}", scene.text(*name), scene.text(*number)))
}

/// `sin (x)`
fn call(scene: &Scene<'_>, before: Token, here: Token) -> Option<Diagnostic> {
    let name = scene.text(before);
    let function = before.kind == TokenKind::Name && odec_ir::builtin::find(name).is_some();
    let gap = Span::new(scene.base + before.end, scene.base + here.start);
    function.then(|| {
        scene
            .error(&codes::E0115, format!("the bracket of `{name}` must touch its name"))
            .label(scene.span(here), "remove the space before this bracket")
            .fix(gap, "")
    })
}

/// `[` after a value: a detached index, or a unit in a wrong place.
fn bracket(scene: &Scene<'_>, before: Token, here: Token) -> Option<Diagnostic> {
    let close = scene.line[here.end..].find(']').map(|length| here.end + length)?;
    let inside = scene.line[here.end..close].trim();
    let whole = Span::new(scene.base + here.start, scene.base + close + 1);
    let gap = Span::new(scene.base + before.end, scene.base + here.start);
    match before.kind {
        TokenKind::Prime if scene.touching(before, here) => {
            let first = scene.tokens.iter().take(scene.at).rposition(|token| token.kind != TokenKind::Prime);
            let start = first.and_then(|at| scene.tokens.get(at)).map_or(before.start, |name| name.end);
            let primes = &scene.line[start..before.end];
            let both = Span::new(scene.base + start, scene.base + close + 1);
            Some(
                scene
                    .error(&codes::E0121, "the prime belongs before the bracket")
                    .label(whole, "this index belongs after the prime")
                    .fix(both, format!("[{inside}]{primes}")),
            )
        }
        TokenKind::Number if scene.touching(before, here) => Some(
            scene
                .error(&codes::E0119, "a space is missing before the unit")
                .label(whole, "a bracket without a space before it is an index")
                .fix(scene.behind(before), " "),
        ),
        TokenKind::Close if scene.text(before) == ")" && scene.touching(before, here) => Some(
            scene
                .error(&codes::E0119, "a space is missing before the unit")
                .label(whole, "a bracket without a space before it is an index")
                .fix(scene.behind(before), " "),
        ),
        TokenKind::Close if scene.text(before) == "]" => Some(super::bracket::twice(scene, (before, whole), inside)),
        TokenKind::Close if crate::units::Units::default().read(inside).is_ok() => Some(
            scene
                .error(&codes::E0119, "a unit cannot follow a call")
                .label(whole, "the call has the unit of its value")
                .help(format!("remove it; if the value lacks this unit, multiply the call by `1 [{inside}]`")),
        ),
        TokenKind::Number | TokenKind::Close => Some(
            scene
                .error(&codes::E0119, "this is not a unit")
                .label(whole, "a bracket after a number and a space contains a unit")
                .help(if inside.contains(',') {
                    "write a unit as `[m/s^2]`, the valid range of a parameter as `in 0..5`"
                } else {
                    "write a unit as `[m/s^2]`"
                }),
        ),
        _ => {
            let error = scene.error(&codes::E0119, "a unit cannot follow a name here");
            if is_unit(inside) {
                return Some(error.label(whole, "a unit").help(
                    "remove it: the units of the names determine the unit of a formula; numbers, and the items of \
                     `param`, `const`, `state` and `output`, can end with a unit",
                ));
            }
            let start = scene.tokens.iter().take(scene.at).rposition(|token| token.kind != TokenKind::Prime);
            let name = start.and_then(|at| scene.tokens.get(at)).copied().unwrap_or(before);
            let primes = &scene.line[name.end..before.end];
            let name = scene.text(name);
            let diagnostic = error.label(whole, "is this a unit or an index?").help(format!(
                "write an index directly after its name, `{name}[{inside}]{primes}`; units follow numbers, or end the \
                 items of `param`, `const`, `state` and `output`"
            ));
            if let Some(quotient) = quotient_before(scene).filter(|_| crate::units::table::find(inside).is_some()) {
                return Some(diagnostic.help(format!(
                    "write the unit of a quotient behind brackets, `({quotient}) [{inside}]`, and an index directly after \
                     its name, `{name}[{inside}]`"
                )));
            }
            let index = inside.bytes().all(|byte| byte.is_ascii_digit() || byte == b',' || byte == b' ');
            Some(if index { diagnostic.fix(gap, "") } else { diagnostic })
        }
    }
}

/// `1/N` of `dx = 1/N [m]`, if nothing follows.
fn quotient_before<'a>(scene: &'a Scene<'_>) -> Option<&'a str> {
    let text = |k: usize| scene.tokens.get(k).map_or("", |token| scene.text(*token));
    let at = scene.at;
    let ends = text(at + 2) == "]" && at + 3 == scene.tokens.len();
    let whole = at > 3 && text(at - 2) == "/" && text(at - 4) == "=" && ends;
    whole.then(|| &scene.line[scene.tokens[at - 3].start..scene.tokens[at - 1].end])
}

fn range_of_reduction(scene: &Scene<'_>, here: Token) -> Diagnostic {
    let spaced = scene.line[..here.start].ends_with(' ');
    scene
        .error(&codes::E0118, "the range of an index follows `in`")
        .label(scene.span(here), "write `in`")
        .fix(scene.span(here), if spaced { "in" } else { " in " })
}

/// True at the sign after the index of `sum(j = 1..N: ...)`.
fn begins_reduction(scene: &Scene<'_>) -> bool {
    let Some(&open) = scene.brackets.last() else { return false };
    let reduces =
        |at: usize| scene.tokens.get(at).is_some_and(|t| matches!(scene.text(*t), "sum" | "prod" | "min" | "max"));
    open + 2 == scene.at && open.checked_sub(1).is_some_and(reduces)
}

/// True for a text in brackets that is a unit and no index: `mV/ms`, `degC`, but not `m`.
fn is_unit(inside: &str) -> bool {
    let long = inside.chars().count() > 1 && inside.contains(|c: char| !c.is_ascii_digit());
    let read = crate::units::Units::default().read(inside);
    long && matches!(read, Ok(_) | Err(crate::units::text::Mistake::Offset(_)))
}

/// A value was expected.
fn no_value(scene: &Scene<'_>, before: Option<Token>) -> Option<Diagnostic> {
    let diagnostic = missing_value(scene, before)?;
    Some(if is_empty_unit(scene, before) {
        diagnostic.help("write `[1]` for a pure number")
    } else {
        super::prose::repeated(scene, diagnostic)
    })
}

/// [`no_value`] of any value.
fn missing_value(scene: &Scene<'_>, before: Option<Token>) -> Option<Diagnostic> {
    let Some(here) = scene.here() else {
        let before = before?;
        return Some(
            scene
                .error(&codes::E0116, format!("a value is missing after `{}`", scene.text(before)))
                .label(scene.span(before), "nothing follows"),
        );
    };
    let text = scene.text(here);
    // an operator at the end of a line, and the next line does not start with a value
    if let Some(before) = before.filter(|before| scene.line[before.end..here.start].contains('\n')) {
        return Some(
            scene
                .error(&codes::E0116, format!("a value is missing after `{}`", scene.text(before)))
                .label(scene.span(before), "the line ends here")
                .label(scene.span(here), "the next line does not begin with a value"),
        );
    }
    let name_wanted = scene.wants("a name") && !scene.wants("a value");
    match here.kind {
        TokenKind::Reserved if name_wanted => Some(
            scene
                .error(&codes::E0118, format!("`{text}` cannot be a name"))
                .label(scene.span(here), "reserved word")
                .help("the reserved words are `if`, `then`, `else`, `and`, `or` and `not`"),
        ),
        TokenKind::Reserved if text == "if" => Some(parentheses(scene, here)),
        TokenKind::Prime => {
            let report = scene.error(&codes::E0121, "a prime without a name");
            Some(super::prose::quoted(scene, report.label(scene.span(here), "a name is missing directly before it")))
        }
        TokenKind::Comma
        | TokenKind::Operator
        | TokenKind::Range
        | TokenKind::Equals
        | TokenKind::Colon
        | TokenKind::Compare
            if before.is_some_and(|before| scene.text(before) == text) =>
        {
            Some(super::repeated::twice(scene, before?, here))
        }
        TokenKind::Close if before.is_some_and(|before| before.kind == TokenKind::Comma) => Some(
            scene
                .error(&codes::E0116, format!("a value is missing between `,` and `{text}`"))
                .label(before.map(|before| scene.span(before)).unwrap_or_default(), "remove the comma, or add a value"),
        ),
        TokenKind::Operator if text == "+" && before.is_some() => {
            let missing = scene.error(&codes::E0116, format!("a value is missing before `{text}`")).label(
                scene.span(here),
                format!("`{}` is directly before it", before.map(|b| scene.text(b)).unwrap_or_default()),
            );
            let signed = before.is_some_and(|before| before.kind == TokenKind::Operator)
                && scene.tokens.get(scene.at + 1).is_some_and(Token::begins_value);
            Some(if signed { missing.help("if this is the sign of a value, remove it") } else { missing })
        }
        TokenKind::Comma
        | TokenKind::Operator
        | TokenKind::Range
        | TokenKind::Equals
        | TokenKind::Colon
        | TokenKind::Compare
        | TokenKind::Close
        | TokenKind::Reserved => {
            let diagnostic = scene.error(&codes::E0116, format!("a value is missing before `{text}`"));
            Some(match before {
                Some(before) => {
                    diagnostic.label(scene.span(here), format!("`{}` is directly before it", scene.text(before)))
                }
                None => diagnostic.label(scene.span(here), "nothing precedes it"),
            })
        }
        TokenKind::Number | TokenKind::Text | TokenKind::Open if name_wanted => Some(no_name(scene, before, here)),
        _ => None,
    }
}

/// A value where a name begins an item.
fn no_name(scene: &Scene<'_>, before: Option<Token>, here: Token) -> Diagnostic {
    let number = here.kind == TokenKind::Number;
    let label = if number { "this is a number" } else { "not a name" };
    let report = scene.error(&codes::E0118, "this must be a name").label(scene.span(here), label);
    // `state x = 1, 2`
    let listed = before.is_some() && number && scene.at > 3 && scene.brackets.is_empty();
    let value = scene.at.checked_sub(2).and_then(|at| scene.tokens.get(at)).filter(|_| listed);
    match value.filter(|value| value.kind == TokenKind::Number) {
        Some(value) => report.help(format!(
            "each item of a list begins with its name; write a vector in brackets, `({}, {})`",
            scene.text(*value),
            scene.text(here)
        )),
        None => report,
    }
}

/// True for `2 []`, at the second bracket.
fn is_empty_unit(scene: &Scene<'_>, before: Option<Token>) -> bool {
    scene.tokens.get(scene.at).is_some_and(|here| scene.text(*here) == "]")
        && before.is_some_and(|before| scene.text(before) == "[")
        && scene.at.checked_sub(2).is_some_and(|at| scene.tokens[at].kind == TokenKind::Number)
}

/// An `if` in the middle of an expression includes everything to its right.
fn parentheses(scene: &Scene<'_>, here: Token) -> Diagnostic {
    let mut depth = 0usize;
    let mut end = scene.tokens.last().map_or(here.end, |last| last.end);
    // a `+` or `-` after the value of `else`: outside of the choice, or part of that value?
    let (mut chosen, mut goes_on) = (None, None);
    for token in scene.tokens.iter().skip(scene.at) {
        match scene.text(*token) {
            "else" if depth == 0 => chosen = Some(token.end),
            "+" | "-" if depth == 0 && chosen.is_some_and(|from| !scene.line[from..token.start].trim().is_empty()) => {
                goes_on = goes_on.or(Some(token.start));
            }
            _ => {}
        }
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close if depth == 0 => {
                end = token.start;
                break;
            }
            TokenKind::Close => depth -= 1,
            _ => {}
        }
    }
    let diagnostic = scene
        .error(&codes::E0122, "an `if` inside an expression needs parentheses")
        .label(scene.span(here), "this `if` extends over everything to its right")
        .help("write `(if condition then a else b)`");
    let whole = Span::new(scene.base + here.start, scene.base + end);
    let complete = scene.later("then") && scene.later("else");
    if let Some(sign) = goes_on.filter(|_| complete) {
        let (short, long) = (scene.line[here.start..sign].trim_end(), scene.line[here.start..end].trim_end());
        let rest = scene.line[sign..end].trim_end();
        return diagnostic.help(format!("write `({short}) {rest}`, or `({long})`; they differ"));
    }
    match scene.rule {
        Rule::equation_line if complete => {
            diagnostic.fix(whole, format!("({})", scene.line[here.start..end].trim_end()))
        }
        _ => diagnostic,
    }
}
