//! Signs and phrases of other languages: `=<`, `.^`, `elif`, `1 if c else 0`, `c ? a : b`, `|x|`, `.gt.`, `%%`.

use odec_ir::Span;

use super::line::{Line, operand};
use super::{Found, Scene};
use crate::syntax::explain::token::{Token, TokenKind};

const CODE: &str = "E0125";

/// Comparisons between dots.
const DOTTED: [(&str, &str); 10] = [
    ("gt", ">"),
    ("lt", "<"),
    ("ge", ">="),
    ("le", "<="),
    ("eq", "=="),
    ("ne", "!="),
    ("and", "and"),
    ("or", "or"),
    ("not", "not"),
    ("neqv", "!="),
];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<Found>) {
    found.extend(comment(line).or_else(|| counted(line)).or_else(|| derived(line)));
    for at in 0..line.tokens.len() {
        let idiom = backwards(line, at)
            .or_else(|| broadcast(line, at))
            .or_else(|| fortran(line, at))
            .or_else(|| colons(scene, line, at))
            .or_else(|| otherwise(scene, line, at))
            .or_else(|| trailing_condition(line, at))
            .or_else(|| ternary(line, at))
            .or_else(|| bars(line, at))
            .or_else(|| percent(line, at))
            .or_else(|| remainder(line, at))
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

fn sign(line: &Line<'_>, from: usize, to: usize, better: &str) -> Found {
    let headline = format!("`{}` is no sign of this language", line.slice(from, to + 1));
    Found::new(CODE, headline, line.span(from, to)).label(format!("write `{better}`")).mend(better)
}

/// `=<`, `=>` and `=!` in a comparison.
fn backwards(line: &Line<'_>, at: usize) -> Option<Found> {
    if line.reads(at, &["=", "<"]) && line.touches(at) {
        return Some(sign(line, at, at + 1, "<="));
    }
    let condition = (0..at).any(|k| matches!(line.text(k), "if" | "when" | "where"));
    (line.text(at) == "=>" && condition).then(|| sign(line, at, at, ">="))
}

/// `.^`, `.*`, `./`, also where the dot has joined a number: `2.*x`.
fn broadcast(line: &Line<'_>, at: usize) -> Option<Found> {
    let operator = matches!(line.text(at + 1), "^" | "*" | "/" | "+" | "-" | "'");
    if line.text(at) != "." || !operator || !line.touches(at) {
        return None;
    }
    Some(sign(line, at, at + 1, line.text(at + 1)))
}

/// `.gt.`
fn fortran(line: &Line<'_>, at: usize) -> Option<Found> {
    if line.text(at) != "." && !line.text(at).ends_with('.') || !line.touches(at) || line.text(at + 2) != "." {
        return None;
    }
    let word = line.text(at + 1).to_lowercase();
    let (_, better) = DOTTED.iter().find(|(name, _)| *name == word)?;
    let number = line.kind(at) == Some(TokenKind::Number);
    let better = if number { format!("{} {better}", line.text(at).trim_end_matches('.')) } else { better.to_string() };
    let left = if at > 0 && line.touches(at - 1) && !number { " " } else { "" };
    let right = if line.touches(at + 2) { " " } else { "" };
    let headline = format!("`.{}.` is no sign of this language", line.text(at + 1));
    let found = Found::new(CODE, headline, line.span(at, at + 2)).label(format!("write `{better}`"));
    Some(found.help(format!("write `{better}`")).fix(line.span(at, at + 2), format!("{left}{better}{right}")))
}

/// `if y > 1: 2 elif y > 0: 1 else: 0` to the end of the line.
fn colons(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<Found> {
    if line.text(at) != "if" || line.find(at, "then").is_some() || line.find(at, ":").is_none() {
        return None;
    }
    let end = line.tokens.len();
    let mut better = String::new();
    // what a colon stands for next, and where the text between begins
    let (mut colon, mut from) = (None, at + 1);
    let mut closed = false;
    let mut add = |text: &str, part: &str| {
        better.push_str(part.trim());
        better.push_str(text);
    };
    for k in at..end {
        let elif = matches!(line.text(k), "elif" | "elseif" | "elsif") && !scene.knows(line.text(k));
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
    let whole = closed && colon.is_none() && from < end;
    whole.then(|| {
        Found::new("E0122", "a choice is written with `then` and `else`", line.span(at, end - 1))
            .label("a choice")
            .mend(better)
    })
}

/// `elif`
fn otherwise(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<Found> {
    let word = line.text(at);
    let earlier = (0..at).any(|k| line.text(k) == "if");
    let known = matches!(word, "elif" | "elseif" | "elsif" | "elsewhen") && !scene.knows(word) && earlier;
    known.then(|| {
        Found::new("E0122", format!("`{word}` is written `else if`"), line.span(at, at))
            .label("write `else if`")
            .mend("else if")
    })
}

/// `1 if y > 0 else 0`
fn trailing_condition(line: &Line<'_>, at: usize) -> Option<Found> {
    let before = at.checked_sub(1)?;
    if line.text(at) != "if" || !line.tokens.get(before)?.ends_value() {
        return None;
    }
    let start = line.stretch_start(at);
    let end = line.stretch_end(at);
    let other = line.find(at, "else").filter(|&k| k < end)?;
    if line.find(at, "then").is_some_and(|k| k < end) {
        return None;
    }
    let (a, c, b) = (line.slice(start, at), line.slice(at + 1, other), line.slice(other + 1, end));
    if a.is_empty() || b.is_empty() || b.contains(" if ") {
        return None;
    }
    let better = format!("if {c} then {a} else {b}");
    Some(Found::new("E0122", "the condition stands first", line.span(start, end - 1)).label("a choice").mend(better))
}

/// `c ? a : b`
fn ternary(line: &Line<'_>, at: usize) -> Option<Found> {
    if line.text(at) != "?" {
        return None;
    }
    let (start, end) = (line.stretch_start(at), line.stretch_end(at));
    let colon = line.find(at, ":").filter(|&k| k < end)?;
    let (c, a, b) = (line.slice(start, at), line.slice(at + 1, colon), line.slice(colon + 1, end));
    if c.is_empty() || a.is_empty() || b.is_empty() || b.contains('?') || a.contains('?') {
        return None;
    }
    let better = format!("if {c} then {a} else {b}");
    Some(
        Found::new(CODE, "`?` is no operator of this language", line.span(start, end - 1))
            .label("a choice")
            .mend(better),
    )
}

/// `|x|`
fn bars(line: &Line<'_>, at: usize) -> Option<Found> {
    if line.text(at) != "|" || (0..at).any(|k| line.text(k) == "|") {
        return None;
    }
    let close = line.find(at + 1, "|")?;
    let inside = line.slice(at + 1, close);
    let begins = at == 0 || !line.tokens[at - 1].ends_value();
    let ends = line.tokens.get(close - 1).is_some_and(Token::ends_value);
    let only = (close + 1..line.tokens.len()).all(|k| line.text(k) != "|");
    (begins && ends && only && !inside.is_empty()).then(|| {
        Found::new(CODE, "an absolute value is written `abs`", line.span(at, close))
            .label("two bars")
            .mend(format!("abs({inside})"))
    })
}

/// `a % b`, `a %% b`
fn remainder(line: &Line<'_>, at: usize) -> Option<Found> {
    let before = at.checked_sub(1)?;
    if line.text(at) != "%" || line.text(before) == "%" || line.reads(0, &["expect"]) || line.reads(0, &["conserve"]) {
        return None;
    }
    let next = if line.text(at + 1) == "%" { at + 2 } else { at + 1 };
    let end = line.operand_end(next)?;
    let start = (0..=before).rev().find(|&k| {
        line.operand_end(k) == Some(at) && (k == 0 || !line.touches(k - 1) || !line.tokens[k - 1].ends_value())
    })?;
    // a word behind it is a comment
    let words = (end..line.tokens.len()).any(|k| line.kind(k) == Some(TokenKind::Name) && line.is_name(k - 1));
    let around = |k: usize| matches!(line.text(k), "^" | "*" | "/");
    let undeclared = line.is_name(next) && next + 1 == line.tokens.len() && !line.touches(at);
    let better = format!("mod({}, {})", line.slice(start, at), line.slice(next, end));
    let found = Found::new(CODE, "the remainder of a division is `mod`", line.span(start, end - 1))
        .label(format!("write `{better}`"));
    if words
        || undeclared
            && at + 1 == next
            && line.file[line.tokens[at].end..].starts_with(' ')
            && line.kind(next) == Some(TokenKind::Name)
    {
        let found = Found::new("E0112", "`%` begins no comment", line.span(at, at)).label("write `#`");
        // two words side by side are no formula
        return Some(if words {
            found.mend("#")
        } else {
            found.help(format!("write `#` for a comment, `{better}` for the remainder of a division"))
        });
    }
    Some(if start > 0 && around(start - 1) || around(end) {
        found.help(format!("write `{better}`"))
    } else {
        found.mend(better)
    })
}

/// `IF ... THEN ... ELSE`
fn upper(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<Found> {
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
    if scene.knows(word) || line.text(at + 1) == "(" && line.touches(at) && at > 0 && line.arguments(at + 1)?.len() > 1
    {
        return None;
    }
    (chain.is_some() && at > 0).then(|| {
        Found::new("E0117", "`if`, `then`, `else`, `and`, `or`, `not` are written in small letters", line.span(at, at))
            .label(format!("write `{better}`"))
            .mend(*better)
    })
}

/// `√y`
fn root(line: &Line<'_>, at: usize) -> Option<Found> {
    let name = match line.text(at) {
        "√" => "sqrt",
        "∛" => "cbrt",
        _ => return None,
    };
    let end = line.operand_end(at + 1)?;
    let inside = super::line::bare(line.slice(at + 1, end));
    Some(
        Found::new("E0106", format!("`{}` is written `{name}`", line.text(at)), line.span(at, end - 1))
            .mend(format!("{name}({inside})")),
    )
}

/// `...` and `&` and `\` at the end of a line.
fn continued(line: &Line<'_>, at: usize) -> Option<Found> {
    let dots = line.reads(at, &["..", "."]) && line.touches(at);
    let last = if dots { at + 1 } else { at };
    let breaks = line
        .tokens
        .get(last)
        .is_some_and(|token| line.file[token.end..].trim_start_matches([' ', '\t']).starts_with('\n'));
    let ends = breaks || last + 1 == line.tokens.len();
    if !(dots || matches!(line.text(at), "&" | "\\")) || !ends || at == 0 {
        return None;
    }
    let span = line.span(at, last);
    Some(
        Found::new("E0118", "a line goes on without a sign at its end", span)
            .label("not needed")
            .help("remove it; the next line goes on if it is indented more and begins with an operator")
            .fix(span, ""),
    )
}

/// `2.0f`, `1e-3_dp`
fn suffix(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<Found> {
    let word = line.text(at);
    if line.kind(at) != Some(TokenKind::Malformed) {
        return None;
    }
    let (number, tail) = word.split_at(crate::syntax::explain::token::numeral(word));
    let float = matches!(tail, "f" | "F" | "l" | "L") && number.contains('.')
        || tail.starts_with("_dp")
        || tail.starts_with("_r");
    if float && !scene.knows(tail) {
        return Some(
            Found::new("E0113", format!("`{word}` is no number"), line.span(at, at))
                .label("numbers have no suffix")
                .mend(number),
        );
    }
    let imaginary = matches!(tail, "j" | "im" | "i") && !scene.knows(tail);
    imaginary.then(|| {
        Found::new("E0113", "there are no complex numbers here", line.span(at, at))
            .label("an imaginary number?")
            .help("write real and imaginary part as two states")
    })
}

/// `b ~ 2` and `b ~ normal(0, 1)`
fn tilde(line: &Line<'_>, at: usize) -> Option<Found> {
    if line.text(at) == "≈" {
        let equation = line.find(0, "if").is_none();
        return Some(if equation {
            sign(line, at, at, "=")
        } else {
            Found::new(CODE, "`≈` is no sign of this language", line.span(at, at)).help("write `abs(a - b) < 1e-6`")
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
            Found::new("E0561", "noise and distributions are not part of this version", line.span(at, at + 1))
                .label("a distribution")
                .help(format!("write one value: `param {} = 1`", line.text(0))),
        );
    }
    Some(sign(line, at, at, "="))
}

/// `1*^-3`
fn power_of_ten(line: &Line<'_>, at: usize) -> Option<Found> {
    if !line.reads(at + 1, &["*", "^"]) || line.kind(at) != Some(TokenKind::Number) || !line.touches(at + 1) {
        return None;
    }
    let minus = line.text(at + 3) == "-";
    let last = if minus { at + 4 } else { at + 3 };
    let better = format!("{}e{}{}", line.text(at), if minus { "-" } else { "" }, line.text(last));
    let whole = line.kind(last) == Some(TokenKind::Number) && line.text(last).bytes().all(|b| b.is_ascii_digit());
    whole.then(|| Found::new("E0113", "a power of ten is written with `e`", line.span(at, last)).mend(better))
}

/// `/* decay */`, `(* decay *)`
fn comment(line: &Line<'_>) -> Option<Found> {
    let text = line.whole();
    let (open, close) =
        [("/*", "*/"), ("(*", "*)")].into_iter().find(|(open, close)| text.contains(open) && text.ends_with(close))?;
    let at = text.find(open)?;
    let inside = text.get(at + 2..text.len() - close.len())?.trim();
    let span = Span::new(line.range.start + at, line.range.end);
    let one = !inside.contains(['\n', '*']) && at + 4 <= text.len();
    one.then(|| {
        Found::new("E0112", format!("`{open}` begins no comment"), span).label("write `#`").mend(format!("# {inside}"))
    })
}

/// `x++`
fn counted(line: &Line<'_>) -> Option<Found> {
    let step = line.reads(1, &["+", "+"]) || line.reads(1, &["-", "-"]);
    let end = line.tokens.len() == 3 || line.text(3) == ";";
    (line.is_name(0) && step && end && line.touches(1)).then(|| {
        Found::new("E0133", "nothing is counted up step by step", line.span(0, 2))
            .label("a step of a program")
            .help(format!("a definition says what `{0}` is: `{0} = ...`", line.text(0)))
    })
}

/// `!b = 2*k`
fn derived(line: &Line<'_>) -> Option<Found> {
    (line.text(0) == "!" && line.is_name(1) && line.text(2) == "=").then(|| {
        Found::new(CODE, "a definition has no `!`", line.span(0, 0))
            .label("not needed")
            .help("remove it")
            .fix(line.span(0, 0), "")
    })
}

/// `5 %` as a value.
fn percent(line: &Line<'_>, at: usize) -> Option<Found> {
    let declares = matches!(line.text(0), "param" | "const" | "state");
    let ends = line.tokens.len() == at + 1 || line.text(at + 1) == ",";
    let value: f64 = at.checked_sub(1).and_then(|before| line.text(before).parse().ok())?;
    (line.text(at) == "%" && declares && ends).then(|| {
        Found::new(CODE, "a percentage is written as a number", line.span(at - 1, at))
            .mend(format!("{}", value / 100.0))
    })
}

/// `n!`
fn factorial(line: &Line<'_>, at: usize) -> Option<Found> {
    let before = at.checked_sub(1)?;
    let value = line.text(at) == "!" && line.touches(before) && line.tokens[before].ends_value();
    let start = (0..=before).rev().find(|&k| line.operand_end(k) == Some(at)).filter(|_| value)?;
    let inside = super::line::bare(line.slice(start, at));
    Some(Found::new(CODE, "a factorial is written `gamma`", line.span(start, at)).mend(format!("gamma({inside} + 1)")))
}

/// `30°`
fn degrees(line: &Line<'_>, at: usize) -> Option<Found> {
    let before = at.checked_sub(1)?;
    let start = (0..=before).rev().find(|&k| line.operand_end(k) == Some(at)).filter(|_| line.text(at) == "°")?;
    let better = format!("{}*pi/180", operand(line.slice(start, at)));
    Some(Found::new("E0106", "angles are in radians", line.span(start, at)).label("degrees").mend(better))
}
