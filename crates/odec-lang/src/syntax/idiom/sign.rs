//! Signs and phrases of other languages: `=<`, `.^`, `elif`, `1 if c else 0`, `c ? a : b`, `|x|`, `.gt.`, `%%`.

use super::behind::{counted, degrees, derived, factorial, percent, power_of_ten};
use super::line::Line;
use super::{IdiomMatch, Scene};
use super::{comment, digits};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::{Token, TokenKind};

pub(super) const CODE: &Code = &codes::E0125;

/// Comparisons between dots.
const DOTTED: [(&str, &str); 11] = [
    ("gt", ">"),
    ("lt", "<"),
    ("ge", ">="),
    ("le", "<="),
    ("eq", "=="),
    ("ne", "!="),
    ("and", "and"),
    ("or", "or"),
    ("not", "not"),
    ("eqv", "=="),
    ("neqv", "!="),
];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(comment::enclosed(line).or_else(|| counted(line)).or_else(|| derived(line)));
    for at in 0..line.tokens.len() {
        let idiom = backwards(line, at)
            .or_else(|| broadcast(scene, line, at))
            .or_else(|| semicolon(scene, line, at))
            .or_else(|| fortran(line, at))
            .or_else(|| colons(scene, line, at))
            .or_else(|| otherwise(scene, line, at))
            .or_else(|| trailing_condition(line, at))
            .or_else(|| ternary(line, at))
            .or_else(|| bars(scene, line, at))
            .or_else(|| percent(line, at))
            .or_else(|| super::remainder::remainder(scene, line, at))
            .or_else(|| super::remainder::spoken_remainder(scene, line, at))
            .or_else(|| connective(line, at))
            .or_else(|| case(line, at))
            .or_else(|| factorial(line, at))
            .or_else(|| degrees(line, at))
            .or_else(|| upper(scene, line, at))
            .or_else(|| root(line, at))
            .or_else(|| continued(line, at))
            .or_else(|| suffix(scene, line, at))
            .or_else(|| tilde(line, at))
            .or_else(|| power_of_ten(line, at));
        found.extend(idiom);
    }
}

pub(super) fn sign(line: &Line<'_>, from: usize, to: usize, better: &str) -> IdiomMatch {
    let headline = format!("odec has no symbol `{}`", line.slice(from, to + 1));
    IdiomMatch::new(CODE, headline, line.span(from, to)).label(format!("write `{better}`")).write(better)
}

/// `=<`, `=>` and `=!` in a comparison.
fn backwards(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.reads(at, &["=", "<"]) && line.touches(at) {
        return Some(sign(line, at, at + 1, "<="));
    }
    let condition = (0..at).any(|k| matches!(line.text(k), "if" | "when" | "where"));
    if line.reads(at, &["=", "!"]) && line.touches(at) && condition {
        return Some(sign(line, at, at + 1, "!="));
    }
    (line.text(at) == "=>" && condition).then(|| sign(line, at, at, ">="))
}

/// `.^`, `.*`, `./`, even if the dot is part of a number: `2.*x`.
fn broadcast(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let operator = matches!(line.text(at + 1), "^" | "*" | "/" | "+" | "-" | "'" | "=");
    if line.text(at) != "." || !operator || !line.touches(at) {
        return None;
    }
    if line.text(at + 1) == "'" {
        let found = IdiomMatch::new(CODE, "odec has no transposition", line.span(at, at + 1)).label("not needed");
        return Some(found.help("remove `.'`").fix(line.span(at, at + 1), ""));
    }
    // another power of the line decides, too: without the dots, MATLAB reads it from the left
    let towers = |k: usize| line.text(k) == "^" && line.text(k.max(1) - 1) != "." && is_tower(line, k - 1);
    if line.text(at + 1) == "^" && (is_tower(line, at) || (1..line.tokens.len()).any(towers)) {
        let found = IdiomMatch::new(CODE, "odec has no symbol `.^`", line.span(at, at + 1)).label("write `^`");
        return Some(found.help(
            "write `^` with brackets: `a^b^c` means `a^(b^c)`, and `2^-x^2` means `2^(-(x^2))`; in MATLAB they mean \
             `(a^b)^c` and `(2^-x)^2`",
        ));
    }
    // in MATLAB a prime behind a value transposes it
    let equals = line.find(0, "=").unwrap_or(0);
    let prime = (equals..line.tokens.len()).rfind(|&k| line.kind(k) == Some(TokenKind::Prime) && line.is_name(k - 1));
    let found = sign(line, at, at + 1, line.text(at + 1));
    if let Some(prime) = prime.filter(|&k| scene.states.contains(line.text(k - 1)) && equals > 0) {
        let (name, sign) = (line.text(prime - 1), line.text(at + 1));
        let help = format!("write `{sign}`, and `{name}` if the prime transposes it: `{name}'` is the derivative here");
        return Some(IdiomMatch { fixes: Vec::new(), ..found.help(help) });
    }
    Some(found)
}

/// True if the base or the exponent of a power is a power without brackets.
fn is_tower(line: &Line<'_>, at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return false };
    let first = (0..=before).rev().find(|&k| line.close(k) == Some(before)).unwrap_or(before);
    let named =
        first > 0 && matches!(line.text(first), "(" | "[") && line.touches(first - 1) && line.is_name(first - 1);
    let unsigned = (0..first - usize::from(named)).rev().find(|&k| !matches!(line.text(k), "-" | "+"));
    let exponent = (at + 2..line.tokens.len()).find(|&k| !matches!(line.text(k), "-" | "+"));
    let after = exponent.and_then(|k| line.operand_end(k));
    unsigned.is_some_and(|k| line.text(k) == "^")
        || after.is_some_and(|end| line.text(end) == "^" || line.text(end) == "." && line.text(end + 1) == "^")
}

/// `max(x; 1)`: the separator of arguments if numbers contain commas.
fn semicolon(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) != ";" {
        return None;
    }
    let open = (0..at).rev().find(|&k| line.text(k) == "(" && line.close(k).is_some_and(|close| close > at))?;
    let function = open > 0 && line.touches(open - 1) && scene.is_function(&line.text(open - 1).to_lowercase());
    // `min(x; 2,5)`: commas are decimal points there
    let close = line.close(open).unwrap_or(line.tokens.len());
    let glued = |k: usize| line.text(k) == "," && line.touches(k - 1) && line.touches(k);
    let digits = |k: usize| line.kind(k) == Some(TokenKind::Number);
    if function && let Some(comma) = (open + 2..close).find(|&k| glued(k) && digits(k - 1) && digits(k + 1)) {
        let (whole, part) = (line.text(comma - 1), line.text(comma + 1));
        let found = IdiomMatch::new(CODE, "a comma separates arguments", line.span(comma - 1, comma + 1));
        return Some(
            found
                .label("a decimal point?")
                .help(format!("write `{whole}.{part}` for a number, and `,` instead of `;` between the arguments")),
        );
    }
    // `pow(x; 2)`
    let word = line.text(open.checked_sub(1)?);
    let text = line.slice(open - 1, close + 1).replace(';', ",");
    if let Some(better) = super::call::replacement(&Line::new(&text, 0..text.len(), 0), word, 1).filter(|_| !function) {
        let found = IdiomMatch::new(CODE, "a comma separates arguments", line.span(open - 1, close));
        return Some(found.label("a function of another language").write(better));
    }
    function
        .then(|| IdiomMatch::new(CODE, "a comma separates arguments", line.span(at, at)).label("write `,`").write(","))
}

/// `.gt.`
fn fortran(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) != "." && !line.text(at).ends_with('.') || !line.touches(at) || line.text(at + 2) != "." {
        return None;
    }
    let word = line.text(at + 1).to_lowercase();
    let (_, better) = DOTTED.iter().find(|(name, _)| *name == word)?;
    let number = line.kind(at) == Some(TokenKind::Number);
    let better = if number { format!("{} {better}", line.text(at).trim_end_matches('.')) } else { better.to_string() };
    let left = if at > 0 && line.touches(at - 1) && !number { " " } else { "" };
    let right = if line.touches(at + 2) { " " } else { "" };
    let headline = format!("odec has no operator `.{}.`", line.text(at + 1));
    let found = IdiomMatch::new(CODE, headline, line.span(at, at + 2)).label(format!("write `{better}`"));
    // a comparison beside it would need brackets
    if word.ends_with("eqv") {
        return Some(found.help(format!("write `{better}` between two values that are 0 or 1")));
    }
    Some(found.help(format!("write `{better}`")).fix(line.span(at, at + 2), format!("{left}{better}{right}")))
}

/// `if y > 1: 2 elif y > 0: 1 else: 0` up to the end of the line.
pub(super) fn colons(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) != "if" || line.find(at, "then").is_some() || line.find(at, ":").is_none() {
        return None;
    }
    let end = line.tokens.len();
    let mut better = String::new();
    // the replacement of the next colon, and the start of the text before it
    let (mut colon, mut from) = (None, at + 1);
    let mut closed = false;
    let mut add = |text: &str, part: &str| {
        better.push_str(part.trim());
        better.push_str(text);
    };
    for k in at..end {
        let elif = matches!(line.text(k), "elif" | "elseif" | "elsif") && !scene.is_declared(line.text(k));
        match line.text(k) {
            "if" if k == at => add("if ", ""),
            _ if elif => add(" else if ", line.slice(from, k)),
            "else" => add(" else ", line.slice(from, k)),
            ":" => add(colon.take()?, line.slice(from, k)),
            _ => continue,
        }
        match line.text(k) {
            ":" => {}
            "else" => (colon, closed) = (Some(""), true),
            _ => colon = Some(" then "),
        }
        from = k + 1;
    }
    add("", line.slice(from, end));
    // `if c: a else b` has no colon after its `else`
    let whole = closed && colon.is_none_or(str::is_empty) && from < end;
    whole.then(|| {
        IdiomMatch::new(&codes::E0122, "write a choice with `then` and `else`", line.span(at, end - 1))
            .label("a choice")
            .write(better)
    })
}

/// `elif`
fn otherwise(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let earlier = (0..at).any(|k| line.text(k) == "if");
    let known = matches!(word, "elif" | "elseif" | "elsif" | "elsewhen") && !scene.is_declared(word) && earlier;
    known.then(|| {
        IdiomMatch::new(&codes::E0122, format!("write `{word}` as `else if`"), line.span(at, at))
            .label("write `else if`")
            .write("else if")
    })
}

/// `1 if y > 0 else 0`
fn trailing_condition(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let before = at.checked_sub(1)?;
    if line.text(at) != "if" || !line.tokens.get(before)?.ends_value() {
        return None;
    }
    let mut start = line.span_start(at);
    // behind the conditions of an outer choice
    while let Some(k) = ["then", "else"].iter().filter_map(|word| line.find(start, word)).find(|&k| k < at) {
        start = k + 1;
    }
    let end = line.span_end(at);
    let other = line.find(at, "else").filter(|&k| k < end)?;
    if line.find(at, "then").is_some_and(|k| k < end) {
        return None;
    }
    let (a, c, b) = (line.slice(start, at), line.slice(at + 1, other), line.slice(other + 1, end));
    if a.is_empty() || b.is_empty() || a.contains(" if ") {
        return None;
    }
    let better = format!("if {c} then {a} else {b}");
    Some(
        IdiomMatch::new(&codes::E0122, "the condition comes first", line.span(start, end - 1))
            .label("a choice")
            .write(better),
    )
}

/// `c ? a : b`, possibly nested.
fn ternary(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let (start, end) = (line.span_start(at), line.span_end(at));
    if line.text(at) != "?" || (start..at).any(|k| line.text(k) == "?") {
        return None;
    }
    let better = super::program::plain(&choice(line, start, end, 0)?);
    Some(IdiomMatch::new(CODE, "odec has no operator `?`", line.span(start, end - 1)).label("a choice").write(better))
}

/// Largest depth of nested choices.
const MAX_CHOICES: usize = 8;

/// The tokens `from..to` with `c ? a : b` as a conditional. Text after the last colon continues as `else if`.
fn choice(line: &Line<'_>, from: usize, to: usize, depth: usize) -> Option<String> {
    let find = |from: usize, sign: &str| line.find(from, sign).filter(|&k| k < to);
    let Some(mark) = find(from, "?") else {
        let text = line.slice(from, to);
        return Some(text.to_owned()).filter(|text| !text.is_empty());
    };
    let (mut colon, mut open) = (mark + 1, 0usize);
    loop {
        let (next, question) = (find(colon, ":")?, find(colon, "?"));
        match question.filter(|&k| k < next) {
            Some(k) => (colon, open) = (k + 1, open + 1),
            None if open > 0 => (colon, open) = (next + 1, open - 1),
            None => {
                colon = next;
                break;
            }
        }
    }
    let condition = line.slice(from, mark);
    let interval = super::machine::interval(condition);
    let condition = interval.as_deref().unwrap_or(condition);
    if depth == MAX_CHOICES || condition.is_empty() {
        return None;
    }
    let yes = choice(line, mark + 1, colon, depth + 1)?;
    let yes = if yes.starts_with("if ") { format!("({yes})") } else { yes };
    Some(format!("if {condition} then {yes} else {}", choice(line, colon + 1, to, depth + 1)?))
}

/// True if a line gives this name several components: `r = (1, 0)`.
pub(super) fn is_vector(scene: &Scene<'_>, name: &str) -> bool {
    scene.lines.iter().any(|line| {
        (0..line.tokens.len()).any(|k| {
            let given = line.text(k) == name && line.text(k + 1) == "=" && line.text(k + 2) == "(";
            let (mut depth, mut several) = (0usize, false);
            for at in (k + 2..line.tokens.len()).take_while(|_| given) {
                match line.kind(at) {
                    Some(TokenKind::Open) => depth += 1,
                    Some(TokenKind::Close) if depth == 1 => break,
                    Some(TokenKind::Close) => depth -= 1,
                    Some(TokenKind::Comma) => several |= depth == 1,
                    _ => {}
                }
            }
            several
        })
    })
}

/// `|x|`
fn bars(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) != "|" || (0..at).any(|k| line.text(k) == "|") {
        return None;
    }
    let close = line.find(at + 1, "|")?;
    let inside = line.slice(at + 1, close);
    let begins = at == 0 || !line.tokens[at - 1].ends_value();
    let ends = line.tokens.get(close - 1).is_some_and(Token::ends_value);
    let only = (close + 1..line.tokens.len()).all(|k| line.text(k) != "|");
    (begins && ends && only && !inside.is_empty()).then(|| {
        let vector = (at + 1..close).any(|k| line.is_name(k) && is_vector(scene, line.text(k)));
        let (headline, function) = if vector {
            ("write the length of a vector as `norm`", "norm")
        } else {
            ("write an absolute value as `abs`", "abs")
        };
        IdiomMatch::new(CODE, headline, line.span(at, close)).label("two bars").write(format!("{function}({inside})"))
    })
}

/// Start of the operand that ends before `at`.
pub(super) fn operand_start(line: &Line<'_>, at: usize) -> Option<usize> {
    (0..at).rev().find(|&k| {
        line.operand_end(k) == Some(at) && (k == 0 || !line.touches(k - 1) || !line.tokens[k - 1].ends_value())
    })
}

/// `∧`, `∨`, `¬`, and `~` before a bracket, or before a name without a value on its left.
fn connective(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let better = match line.text(at) {
        "∧" => "and",
        "∨" => "or",
        "¬" => "not",
        "~" if line.text(at + 1) == "(" && (at == 0 || !line.tokens[at - 1].ends_value()) => "not",
        // `!(a) ? b : c` is one choice
        "!" if line.text(at + 1) == "("
            && at > 0
            && !line.tokens[at - 1].ends_value()
            && (at..line.tokens.len()).all(|k| line.text(k) != "?") =>
        {
            "not"
        }
        "~" if line.is_name(at + 1) && at > 0 && !line.tokens[at - 1].ends_value() => "not",
        _ => return None,
    };
    let before = if at > 0 && line.touches(at - 1) && better != "not" { " " } else { "" };
    let after = if line.touches(at) { " " } else { "" };
    let found = IdiomMatch::new(CODE, format!("write `{}` as `{better}`", line.text(at)), line.span(at, at))
        .label(format!("write `{better}`"))
        .help(format!("write `{better}`"));
    // `not` applies to the whole comparison after it
    let end = line.operand_end(at + 1);
    let more = end.is_some_and(|end| matches!(line.kind(end), Some(TokenKind::Compare | TokenKind::Operator)));
    Some(if better == "not" && (more || end.is_none()) {
        found
    } else {
        found.fix(line.span(at, at), format!("{before}{better}{after}"))
    })
}

/// `case c: a; else: b`
fn case(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let value = at > 0 && line.text(at - 1) == "=";
    let end = line.tokens.len();
    let colon = line.find(at, ":").filter(|_| value && matches!(word, "case" | "switch"))?;
    let stop = (colon..end).find(|&k| matches!(line.text(k), ";" | "else" | ",")).unwrap_or(end);
    let (condition, yes) = (line.slice(at + 1, colon), line.slice(colon + 1, stop));
    let otherwise = (stop..end).find(|&k| line.text(k) == "else").and_then(|k| line.find(k, ":"));
    let no = otherwise.map_or("...", |colon| line.slice(colon + 1, end));
    Some(
        IdiomMatch::new(&codes::E0122, "write a choice as `if ... then ... else`", line.span(at, end - 1))
            .label("a choice")
            .help(format!("write `if {condition} then {yes} else {no}`"))
            .over(line.range.clone()),
    )
}

/// `IF ... THEN ... ELSE`
fn upper(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let words = [
        ("IF", "if"),
        ("THEN", "then"),
        ("ELSE", "else"),
        ("AND", "and"),
        ("OR", "or"),
        ("NOT", "not"),
        ("If", "if"),
        ("Then", "then"),
        ("Else", "else"),
    ];
    let (word, better) = words.iter().find(|(word, _)| *word == line.text(at))?;
    let chain = line.find(0, "IF").or_else(|| line.find(0, "If")).or_else(|| line.find(0, "if"));
    if scene.is_declared(word)
        || line.text(at + 1) == "(" && line.touches(at) && at > 0 && line.arguments(at + 1)?.len() > 1
    {
        return None;
    }
    (chain.is_some() && at > 0).then(|| {
        IdiomMatch::new(
            &codes::E0117,
            "write `if`, `then`, `else`, `and`, `or` and `not` in lower case",
            line.span(at, at),
        )
        .label(format!("write `{better}`"))
        .write(*better)
    })
}

/// `√y`
fn root(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let name = match line.text(at) {
        "√" => "sqrt",
        "∛" => "cbrt",
        _ => return None,
    };
    let end = line.operand_end(at + 1)?;
    let inside = super::line::bare(line.slice(at + 1, end));
    let found =
        IdiomMatch::new(&codes::E0106, format!("write `{}` as `{name}`", line.text(at)), line.span(at, end - 1));
    let raised = matches!(line.text(end), "^" | "**") || line.kind(end) == Some(TokenKind::Raised);
    // only brackets determine the extent of the root
    Some(if raised || line.kind(at + 1) == Some(TokenKind::Malformed) {
        found.label("which part is under the root?").help(format!("write `{name}(...)` around the part under the root"))
    } else {
        found.write(format!("{name}({inside})"))
    })
}

/// `...` and `&` and `\` at the end of a line.
fn continued(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let dots = line.reads(at, &["..", "."]) && line.touches(at);
    let last = if dots { at + 1 } else { at };
    let breaks = line
        .tokens
        .get(last)
        .is_some_and(|token| line.file[token.end..].trim_start_matches([' ', '\t']).starts_with('\n'));
    // Fortran repeats the sign at the start of the next line
    let begins = |token: &Token| line.file[..token.start].trim_end_matches([' ', '\t']).ends_with('\n');
    let begins = line.text(at) == "&" && line.tokens.get(at).is_some_and(begins);
    let ends = breaks || begins || last + 1 == line.tokens.len();
    if !(dots || matches!(line.text(at), "&" | "\\")) || !ends || at == 0 {
        return None;
    }
    let span = line.span(at, last);
    Some(
        IdiomMatch::new(&codes::E0118, "a line continues without a sign at its end", span)
            .label("not needed")
            .help("remove it; the next line continues this one if it is indented more and begins with an operator")
            .fix(span, ""),
    )
}

/// `2.0f`, `1e-3_dp`
fn suffix(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if line.kind(at) != Some(TokenKind::Malformed) {
        return None;
    }
    let (number, tail) = word.split_at(crate::syntax::explain::token::numeral(word));
    // 2x10^3
    let minus = line.text(at + 2) == "-";
    let exponent = if minus { at + 3 } else { at + 2 };
    let digits = line.text(exponent);
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if matches!(tail, "x10" | "X10") && matches!(line.text(at + 1), "^" | "**") && whole && !scene.is_declared(tail) {
        let better = format!("{number}e{}{digits}", if minus { "-" } else { "" });
        let found = IdiomMatch::new(&codes::E0113, "write a power of ten with `e`", line.span(at, exponent));
        return Some(found.label(format!("write `{better}`")).write(better));
    }
    let float = matches!(tail, "f" | "F" | "l" | "L") && number.contains(['.', 'e', 'E']);
    if float && !scene.is_declared(tail) {
        return Some(digits::suffixed(line, at).write(number));
    }
    if let Some(found) = digits::of_kind(scene, line, at) {
        return Some(found);
    }
    let imaginary = matches!(tail, "j" | "im" | "i") && !scene.is_declared(tail);
    imaginary.then(|| {
        IdiomMatch::new(&codes::E0113, "odec has no complex numbers", line.span(at, at))
            .label("an imaginary number?")
            .help("write the real and the imaginary part as two states")
    })
}

/// `b ~ 2` and `b ~ normal(0, 1)`
fn tilde(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) == "≈" {
        let equation = line.find(0, "if").is_none();
        return Some(if equation {
            sign(line, at, at, "=")
        } else {
            IdiomMatch::new(CODE, "odec has no symbol `≈`", line.span(at, at)).help("write `abs(a - b) < 1e-6`")
        });
    }
    if line.text(at) != "~" || at == 0 {
        return None;
    }
    let random = matches!(
        line.text(at + 1),
        "normal" | "lognormal" | "uniform" | "Normal" | "cauchy" | "gamma" | "beta" | "exponential"
    );
    if random && line.text(at + 2) == "(" {
        return Some(
            IdiomMatch::new(&codes::E0561, "odec does not support noise and distributions", line.span(at, at + 1))
                .label("a distribution")
                .help(format!("write one value: `param {} = 1`", line.text(0))),
        );
    }
    Some(sign(line, at, at, "="))
}
