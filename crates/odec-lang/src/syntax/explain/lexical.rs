//! Characters, numbers and symbols that the language does not have.

use super::{Scene, token::Token, token::TokenKind};
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::grammar::Rule;

pub(super) fn explain(scene: &Scene<'_>) -> Option<Diagnostic> {
    let here = scene.here()?;
    match here.kind {
        TokenKind::Malformed => Some(number(scene, here)),
        TokenKind::Raised => Some(raised(scene, here)),
        TokenKind::Foreign => Some(foreign(scene, here)),
        TokenKind::Unknown => Some(unknown(scene, here)),
        TokenKind::Percent => Some(
            scene
                .error(&codes::E0125, "`%` can only follow the tolerance of `expect` and `conserve`")
                .label(scene.span(here), "not here")
                .help(match percentage(scene, here) {
                    Some(value) => format!("write a percentage as a number: `{value}`"),
                    None => "for the remainder of a division use `mod(a, b)`; begin a comment with `#`".to_owned(),
                }),
        ),
        TokenKind::PlusMinus if !matches!(scene.rule, Rule::expect_line | Rule::conserve_line) => Some(
            scene
                .error(&codes::E0125, "`±` can only precede the tolerance of `expect` and `conserve`")
                .label(scene.span(here), "not here")
                .help("leave out the uncertainty: a model has exact values; `in 0..5` gives the range of a parameter"),
        ),
        _ => None,
    }
}

/// The value of `5%` where no second operand of a remainder follows.
fn percentage(scene: &Scene<'_>, here: Token) -> Option<f64> {
    let before = scene.before().filter(|before| before.kind == TokenKind::Number && scene.touching(*before, here))?;
    let ends = scene.after().is_none_or(|next| !next.begins_value());
    let value: f64 = scene.text(before).parse().ok()?;
    // the nearest number to a hundredth
    ends.then(|| format!("{value}e-2").parse().unwrap_or(value / 100.0))
}

fn number(scene: &Scene<'_>, here: Token) -> Diagnostic {
    let text = scene.text(here);
    let span = scene.span(here);
    let digits = super::token::numeral(text);
    let (head, tail) = text.split_at(digits);
    if let Some(found) = odd_digits(scene, here, (head, tail)) {
        return found;
    }
    if let Some((digits, power)) = head.split_once(['e', 'E']).filter(|_| tail.starts_with('.')) {
        return scene
            .error(&codes::E0113, format!("`{text}` is not a number"))
            .label(span, "an exponent is a whole number")
            .help(format!("write `{digits}*10^{power}{tail}`"));
    }
    if tail.starts_with('.') {
        return scene
            .error(&codes::E0113, format!("`{text}` is not a number"))
            .label(span, "more than one dot")
            .help("write a range with two dots: `0..1`");
    }
    let exponent = tail.get(1..).unwrap_or_default().trim_start_matches(['+', '-']);
    if tail.starts_with(['d', 'D']) && !exponent.is_empty() && exponent.bytes().all(|byte| byte.is_ascii_digit()) {
        let better = format!("{head}e{}", &tail[1..]);
        return scene
            .error(&codes::E0113, format!("`{text}` is not a number"))
            .label(span, "the exponent begins with `e`")
            .help(format!("write `{better}`"))
            .fix(span, better);
    }
    if tail.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_' || byte == b'.') && tail.starts_with('_') {
        let better = text.replace('_', "");
        let report = scene.error(&codes::E0113, format!("`{text}` is not a number")).label(span, "do not group digits");
        // `0_5` may be a slip for `0.5`
        let groups = tail.split('.').next().unwrap_or_default().split('_').skip(1).all(|group| group.len() == 3);
        return if groups {
            report.help(format!("write `{better}`")).fix(span, better)
        } else {
            report.help(format!("write `{better}`, or `{}` for a fraction", text.replacen('_', ".", 1)))
        };
    }
    if tail.starts_with(['e', 'E']) && exponent.is_empty() && tail.len() > 1 {
        return scene
            .error(&codes::E0113, format!("`{text}` is not a number"))
            .label(span, "digits are missing after the exponent's sign");
    }
    if scene.wants("a name") && !scene.wants("a value") {
        return scene
            .error(&codes::E0113, format!("`{text}` is neither a number nor a name"))
            .label(span, "a name begins with a letter or `_`");
    }
    if let Some(found) = other_base(scene, here, (head, tail)).or_else(|| with_pi(scene, here, (head, tail))) {
        return found;
    }
    if matches!(tail, "e" | "E") && scene.after().is_some_and(|next| matches!(scene.text(next), "^" | "**")) {
        let inside = power_of(scene);
        return scene
            .error(&codes::E0115, format!("an operator is missing in `{text}`"))
            .label(span, "a product needs `*`")
            .help(format!("the exponential function is `exp`: write `{head}*exp({inside})`"));
    }
    let better = format!("{head}*{tail}");
    // `x/2y`: the extent of the denominator is not certain
    let sign = |token: Option<Token>| token.map_or("", |token| scene.text(token));
    let before = scene.tokens[..scene.at].iter().rev().find(|token| !matches!(scene.text(**token), "-" | "−"));
    if matches!(sign(before.copied()), "/" | "^" | "**" | "÷") {
        let operator = sign(before.copied());
        return scene
            .error(&codes::E0115, format!("an operator is missing in `{text}`"))
            .label(span, "a product needs `*`")
            .help({
                let better = format!("{better}{}", arguments_after(scene, here));
                format!("write `{operator}({better})` or `{operator}{better}`; they differ")
            });
    }
    let between = odec_ir::Span::new(scene.base + here.start + digits, scene.base + here.start + digits);
    let report =
        scene.error(&codes::E0115, format!("an operator is missing in `{text}`")).label(span, "a product needs `*`");
    // `state x = 5m`: a unit, or a product with the parameter m
    let unit = crate::units::table::find(tail).is_some() || matches!(tail, "k" | "M" | "G" | "m" | "u" | "n" | "p");
    if scene.rule != Rule::equation_line && unit {
        return report.help(format!("write `{better}` for a product, or `{head} [{tail}]` for a unit"));
    }
    report.help(format!("write `{better}`")).fix(between, "*")
}

/// The bracket that touches a token: `(t)` of `2sin(t)`.
fn arguments_after<'a>(scene: &'a Scene<'_>, here: Token) -> &'a str {
    let open = scene.after().filter(|next| scene.text(*next) == "(" && scene.touching(here, *next));
    let mut depth = 0usize;
    for token in scene.tokens.iter().skip(scene.at + 1).take_while(|_| open.is_some()) {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close if depth <= 1 => {
                return open.and_then(|open| scene.line.get(open.start..token.end)).unwrap_or_default();
            }
            TokenKind::Close => depth -= 1,
            _ => {}
        }
    }
    ""
}

/// `0xff`, `0b101`, `0o17`
fn other_base(scene: &Scene<'_>, here: Token, (head, tail): (&str, &str)) -> Option<Diagnostic> {
    let base = match tail.get(..1).filter(|_| head == "0")? {
        "x" | "X" => 16,
        "b" | "B" => 2,
        "o" | "O" => 8,
        _ => return None,
    };
    let value = u64::from_str_radix(&tail[1..], base);
    let (text, span) = (scene.text(here), scene.span(here));
    let diagnostic =
        scene.error(&codes::E0113, format!("`{text}` is not a number")).label(span, "write a decimal number");
    match value {
        Ok(value) => Some(diagnostic.help(format!("write `{value}`")).fix(span, value.to_string())),
        Err(_) => (base == 16).then_some(diagnostic),
    }
}

/// `2πft`: the names after the sign are not certain.
fn with_pi(scene: &Scene<'_>, here: Token, (head, tail): (&str, &str)) -> Option<Diagnostic> {
    let rest = tail.strip_prefix('π').filter(|rest| !rest.is_empty())?;
    let report = scene.error(&codes::E0115, format!("an operator is missing in `{}`", scene.text(here)));
    let report = report.label(scene.span(here), "a product needs `*`");
    if rest.chars().count() == 1 {
        return Some(report.help(format!("write `{head}*π*{rest}`")));
    }
    Some(report.help(format!("write `{head}*π*...`, and `*` between all factors of `{rest}`")))
}

/// `1.000.000`, whose dots group digits, and `1.5e` without an exponent.
fn odd_digits(scene: &Scene<'_>, here: Token, (head, tail): (&str, &str)) -> Option<Diagnostic> {
    let (text, span) = (scene.text(here), scene.span(here));
    let report = scene.error(&codes::E0113, format!("`{text}` is not a number"));
    if let Some(better) = without_dots(text) {
        return Some(report.label(span, "do not group digits").help(format!("write `{better}`")).fix(span, better));
    }
    let power = scene.after().is_some_and(|next| matches!(scene.text(next), "^" | "**"));
    let value = scene.wants("a value") || !scene.wants("a name");
    (matches!(tail, "e" | "E") && !power && value).then(|| {
        report
            .label(span, "digits are missing after the exponent's sign")
            .help(format!("write `{head}e3` for an exponent, and `{head}*{tail}` for a product"))
    })
}

/// `1000000` for `1.000.000`.
fn without_dots(text: &str) -> Option<String> {
    let groups: Vec<&str> = text.split('.').collect();
    let (first, others) = groups.split_first()?;
    let digits = |group: &str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    let whole = first.len() <= 3 && !first.starts_with('0') && digits(first) && others.len() > 1;
    (whole && others.iter().all(|group| group.len() == 3 && digits(group))).then(|| groups.concat())
}

/// The exponent after `2e^` at the position, without brackets; `x` if it is not one operand.
fn power_of<'a>(scene: &'a Scene<'_>) -> &'a str {
    let from = scene.at + 2;
    let Some(first) = scene.tokens.get(from) else { return "x" };
    let operand = scene.tokens.get(from + 1).filter(|next| matches!(next.kind, TokenKind::Name | TokenKind::Number));
    if let Some(operand) = operand.filter(|_| scene.text(*first) == "-") {
        return &scene.line[first.start..operand.end];
    }
    if first.kind != TokenKind::Open {
        return if first.begins_value() { scene.text(*first) } else { "x" };
    }
    let mut depth = 0usize;
    for token in &scene.tokens[from..] {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return scene.line[first.end..token.start].trim();
        }
    }
    "x"
}

fn raised(scene: &Scene<'_>, here: Token) -> Diagnostic {
    let rest = &scene.line[here.start..];
    let end = rest.find(|c| plain(c).is_none()).unwrap_or(rest.len());
    let power: String = rest[..end].chars().filter_map(plain).collect();
    let span = odec_ir::Span::new(scene.base + here.start, scene.base + here.start + end);
    // `sin² y`
    let function = scene.before().filter(|before| odec_ir::builtin::find_function(scene.text(*before)).is_some());
    if let Some(function) = function {
        let next = scene.tokens[scene.at..].iter().find(|token| token.kind != TokenKind::Raised);
        let argument = next.filter(|next| next.kind == TokenKind::Name).map_or("x", |next| scene.text(*next));
        return scene
            .error(&codes::E0127, "write powers without superscript digits")
            .label(span, "a power of a function")
            .help(format!(
                "write a power of `{0}` after its argument: `{0}({argument})^{power}`",
                scene.text(function)
            ));
    }
    let diagnostic =
        scene.error(&codes::E0127, "write powers without superscript digits").label(span, format!("write `^{power}`"));
    // the power of a power would have another value
    if rest[end..].trim_start().starts_with(['^', '²', '³']) || rest[end..].trim_start().starts_with("**") {
        return diagnostic.help("put brackets around the first power");
    }
    diagnostic.fix(span, format!("^{power}"))
}

fn plain(c: char) -> Option<char> {
    Some(match c {
        '⁰' => '0',
        '¹' => '1',
        '²' => '2',
        '³' => '3',
        '⁴' => '4',
        '⁵' => '5',
        '⁶' => '6',
        '⁷' => '7',
        '⁸' => '8',
        '⁹' => '9',
        '⁻' => '-',
        _ => return None,
    })
}

/// True if the signs `|` of a line can enclose values: their number is even, and the first one is not between values.
fn bars(scene: &Scene<'_>) -> bool {
    let mut bars = (0..scene.tokens.len()).filter(|&k| scene.text(scene.tokens[k]) == "|");
    let first = bars.next().unwrap_or(0);
    let after_value = first > 0 && scene.tokens[first - 1].ends_value();
    bars.count() % 2 == 1 && (!after_value || first == 1)
}

fn foreign(scene: &Scene<'_>, here: Token) -> Diagnostic {
    let text = scene.text(here);
    let (better, help) = match text {
        "&&" | "&" => (Some("and"), "write `and`"),
        "|" if bars(scene) => (None, "write `abs(x)` for the absolute value, and `or` between two conditions"),
        "||" | "|" => (Some("or"), "write `or`; the absolute value is `abs(x)`"),
        "!" => (Some("not"), "write `not`; for the factorial, `gamma(n + 1)`"),
        "<>" | "~=" => (Some("!="), "write `!=`"),
        "<-" if scene.rule == Rule::action_line => (Some(":="), "write `:=`"),
        "<-" => (Some("="), "write `=`"),
        "?" => (None, "write `if condition then a else b`"),
        "->" if scene.before().is_some_and(|before| scene.touching(before, here)) => {
            (Some("."), "write a name of a part with a dot")
        }
        "->" | "=>" | "<->" | "<=>" | "-->" => (None, "write a reaction on its own line: `A -> B  mass k`"),
        "*=" | "/=" => return scaled(scene, here),
        _ => (None, "nest the rows of a table: `[[1, 2], [3, 4]]`; a `;` only separates items inside `{ }`"),
    };
    let touching = |other: Option<Token>, at: fn(Token) -> usize, edge: usize| other.is_some_and(|t| at(t) == edge);
    let word = better.is_some_and(|better| better.starts_with(|c: char| c.is_ascii_alphabetic()));
    let left = if word && touching(scene.before(), |t| t.end, here.start) { " " } else { "" };
    let right = if word && touching(scene.after(), |t| t.start, here.end) { " " } else { "" };
    let diagnostic = scene
        .error(&codes::E0125, format!("odec has no operator `{text}`"))
        .label(scene.span(here), "unknown operator")
        .help(help);
    match better {
        // `!` after a value is a factorial, `|` a bar of |x|
        Some(better) if !matches!(text, "!" | "|" | "&") => {
            diagnostic.fix(scene.span(here), format!("{left}{better}{right}"))
        }
        _ => diagnostic,
    }
}

/// `y *= 2` in an event.
fn scaled(scene: &Scene<'_>, here: Token) -> Diagnostic {
    let text = scene.text(here);
    let name = scene.tokens.first().map_or("", |first| scene.line[first.start..here.start].trim());
    let by = scene.line[here.end..].trim();
    let by = if crate::syntax::is_operand(by) { by.to_owned() } else { format!("({by})") };
    let report = scene
        .error(&codes::E0125, format!("odec has no operator `{text}`"))
        .label(scene.span(here), "unknown operator");
    report.help(format!("in an event use `:=`, `+=` and `-=`: write `{name} := {name}{}{by}`", &text[..1]))
}

/// A fraction in one character, with its value if that is a decimal number, and the text to type.
fn fraction(scene: &Scene<'_>, here: Token, report: Diagnostic, (value, text): (f64, &str)) -> Diagnostic {
    let span = scene.span(here);
    let before = scene.before();
    // 1½
    if let Some(number) = before.filter(|before| before.kind == TokenKind::Number && scene.touching(*before, here)) {
        let whole = scene.text(number);
        let better = match whole.parse::<u32>() {
            Ok(number) if value > 0.0 => (f64::from(number) + value).to_string(),
            _ => format!("({whole} + {text})"),
        };
        return report.help(format!("write `{better}`")).fix(scene.span(number).to(span), better);
    }
    let follows = scene.after().is_some_and(|next| next.begins_value() && scene.touching(here, next));
    if !follows {
        return report.help(format!("write `{text}`")).fix(span, text);
    }
    let better = format!("{text}*");
    let report = report.help(format!("write `{better}`"));
    // the extent of a divisor and of an exponent is not certain
    let torn = before.is_some_and(|before| matches!(scene.text(before), "/" | "^" | "**" | "÷") || before.ends_value());
    if torn { report } else { report.fix(span, better) }
}

fn unknown(scene: &Scene<'_>, here: Token) -> Diagnostic {
    let span = scene.span(here);
    let text = scene.text(here);
    let c = text.chars().next().unwrap_or_default();
    let shown = if c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{61c}' | '\u{feff}' | '\u{ad}')
    {
        format!("the invisible character U+{:04X}", c as u32)
    } else {
        format!("`{c}`")
    };
    let diagnostic =
        scene.error(&codes::E0106, format!("{shown} is not a character of the language")).label(span, "here");
    let after_name = scene.before().is_some_and(|before| {
        before.kind == TokenKind::Name && scene.touching(before, here) || before.kind == TokenKind::Prime
    });
    match c {
        '`' | '´' | 'ʹ' | 'ˈ' | '‘' if after_name => diagnostic.help("write a derivative as `x'`").fix(span, "'"),
        '…' => diagnostic.help("write a range with two dots: `0 .. 10`").fix(span, ".."),
        '½' => fraction(scene, here, diagnostic, (0.5, "0.5")),
        '¼' => fraction(scene, here, diagnostic, (0.25, "0.25")),
        '¾' => fraction(scene, here, diagnostic, (0.75, "0.75")),
        '⅓' => fraction(scene, here, diagnostic, (0.0, "(1/3)")),
        '⅔' => fraction(scene, here, diagnostic, (0.0, "(2/3)")),
        '₊' | '₋' | 'ₐ'..='ₜ' | 'ᵢ'..='ᵥ' => {
            diagnostic.help("a name consists of letters, digits, subscript digits and `_`: `k_on`, `k_minus1`")
        }
        '“' | '”' | '„' | '«' | '»' | '`' | '‘' => {
            diagnostic.help("write a string between straight quotes: \"...\"")
        }
        '\\' => {
            diagnostic.help("a line continues inside brackets, after an operator, and if the next line begins with one")
        }
        '÷' => diagnostic.help("write `/`; for the whole part of a quotient use `floor(a/b)`"),
        '≔' | '＝' => diagnostic.help("write `=`").fix(span, "="),
        '≡' => diagnostic.help("write `=` for an equation, and `==` for a comparison"),
        '＋' | '－' | '／' | '（' | '）' | '，' | '：' => {
            // the wide forms have the codes of the plain characters plus a constant
            let plain = char::from_u32(c as u32 - 0xfee0).unwrap_or(c);
            diagnostic.help(format!("write `{plain}`")).fix(span, plain.to_string())
        }
        '–' | '—' => diagnostic.help("write `-`").fix(span, "-"),
        '∕' | '⁄' => diagnostic.help("write `/`").fix(span, "/"),
        '∙' | '•' | '∗' | '＊' => diagnostic.help("write `*`").fix(span, "*"),
        '@' | '$' => diagnostic.help("names consist of letters, digits and `_`"),
        '‖' => diagnostic.help("write `norm(v)` for a vector, and `abs(x)` for a number"),
        '√' => diagnostic.help("write `sqrt(...)`"),
        '∞' => diagnostic.help("write `inf`").fix(span, "inf"),
        _ if shown.starts_with("the") => diagnostic.help("remove it").fix(span, ""),
        _ => diagnostic,
    }
}
