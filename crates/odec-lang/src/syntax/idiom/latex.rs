//! LaTeX: translates the line to odec's language as far as possible.

use crate::diagnostic::codes;
use odec_ir::Span;

use super::line::{Line, operand};
use super::{IdiomMatch, Scene};
use crate::syntax::explain::token::tokens;
use crate::syntax::keyword::KEYWORDS;

/// Largest depth of nested braces.
const MAX_DEPTH: usize = 8;

/// Commands and their translations; functions and Greek letters keep their names.
const COMMANDS: [(&str, &str); 38] = [
    ("cdot", "*"),
    ("times", "*"),
    ("ast", "*"),
    ("div", "/"),
    ("left", ""),
    ("right", ""),
    ("bigl", ""),
    ("bigr", ""),
    ("Bigl", ""),
    ("Bigr", ""),
    ("big", ""),
    ("quad", " "),
    ("qquad", " "),
    ("le", "<="),
    ("leq", "<="),
    ("leqslant", "<="),
    ("ge", ">="),
    ("geq", ">="),
    ("geqslant", ">="),
    ("ne", "!="),
    ("neq", "!="),
    ("lt", "<"),
    ("gt", ">"),
    ("infty", "inf"),
    ("arcsin", "asin"),
    ("arccos", "acos"),
    ("arctan", "atan"),
    ("land", "and"),
    ("wedge", "and"),
    ("lor", "or"),
    ("vee", "or"),
    ("prime", "'"),
    ("displaystyle", ""),
    ("varepsilon", "epsilon"),
    ("vartheta", "theta"),
    ("varphi", "phi"),
    ("nonumber", ""),
    ("equiv", "="),
];
/// Pairs of signs around a value, and the functions that they mean.
const ENCLOSED: [(&str, &str, &str); 3] =
    [("lvert", "rvert", "abs"), ("lfloor", "rfloor", "floor"), ("lceil", "rceil", "ceil")];

/// Signs of sums and products with an index below.
const SIGNS: [char; 4] = ['Σ', '∑', 'Π', '∏'];

/// Commands that only format their argument.
const FONTS: [&str; 8] = ["mathrm", "text", "mathit", "mathbf", "operatorname", "textrm", "boldsymbol", "mathcal"];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    let text = line.whole();
    found.extend((0..line.tokens.len()).filter_map(|at| positive_part(line, at)));
    let command = (0..line.tokens.len())
        .find(|&k| line.text(k) == "\\" && (line.is_name(k + 1) && line.touches(k) || line.text(k + 1) == "\\"));
    let braced = (1..line.tokens.len()).find(|&k| {
        line.text(k) == "{" && line.touches(k - 1) && (line.text(k - 1) == "^" || line.text(k - 1).ends_with('_'))
    });
    if let Some(environment) = text.strip_prefix("\\begin{").or_else(|| text.strip_prefix("\\end{")) {
        let alone = environment.trim_end().trim_end_matches('*').ends_with('}');
        if alone || environment.contains('}') {
            found.push(super::unneeded::drop(line, "a model has no LaTeX environments".to_owned(), "not needed"));
            return;
        }
    }
    // x' &= y
    let aligned = (1..line.tokens.len()).find(|&k| line.text(k) == "&" && line.text(k + 1) == "=" && line.touches(k));
    let math = text.starts_with('$') && text.ends_with('$') && text.len() > 2;
    let Some(at) = command.or(braced).or(aligned).or(math.then_some(0)) else { return };
    if text.len() > super::MAX_LINE {
        return;
    }
    // `(E - V)\tau`: a backslash for a slash
    let divides = |at: usize| {
        let value = at > 0 && line.touches(at - 1) && line.tokens[at - 1].ends_value();
        value && scene.is_declared(line.text(at + 1)) && !text.contains(['{', '$', '&'])
    };
    if let Some(at) = command.filter(|&at| divides(at)) {
        let name = line.text(at + 1);
        let idiom = IdiomMatch::new(&codes::E0136, "odec has no operator `\\`", line.span(at, at + 1));
        found.push(
            idiom.label("a division?").help(format!("write `/{name}` for a division, or `*{name}` for a product")),
        );
        return;
    }
    let better = translate(scene, text);
    let span = line.span(at, if command.is_some() { at + 1 } else { at });
    let headline = format!("`{}` is LaTeX", line.slice(at, if command.is_some() { at + 2 } else { at + 1 }));
    let idiom = IdiomMatch::new(&codes::E0136, headline, span).label("unknown").over(line.range.clone());
    found.push(match better {
        Some(better) if better.contains("...") => {
            idiom.help(format!("write `{better}`, with the value where no condition holds"))
        }
        Some(better) => {
            idiom.help(format!("write `{better}`")).fix(Span::new(line.range.start, line.range.end), better)
        }
        None if text.contains("\\sum") || text.contains(SIGNS) => {
            idiom.help("write a sum over an index as `sum(i: u[i])`, with `index i = 1..N`")
        }
        None => idiom.help("write fractions as `a/b`, powers as `x^2`, and Greek letters by name or as letters"),
    });
}

/// `[x]_+` and `(x)_-`: the positive and the negative part.
fn positive_part(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let close = line.close(at).filter(|_| matches!(line.text(at), "[" | "("))?;
    let sign = line.text(close + 2);
    let free = at == 0 || !line.touches(at - 1) || !line.tokens[at - 1].ends_value();
    if !line.reads(close + 1, &["_", sign]) || !matches!(sign, "+" | "-") || !line.touches(close) || !free {
        return None;
    }
    let inside = line.slice(at + 1, close);
    let better = if sign == "+" { format!("max({inside}, 0)") } else { format!("max(-{}, 0)", operand(inside)) };
    let headline = "write the positive part of a value with `max`";
    Some(
        IdiomMatch::new(&codes::E0136, headline, line.span(at, close + 2))
            .label("a part")
            .help(format!("write `{better}`")),
    )
}

/// The line in odec's language; `None` if a command has no counterpart.
fn translate(scene: &Scene<'_>, text: &str) -> Option<String> {
    let text = text.trim().trim_matches('$').trim();
    if text.contains("\\begin{cases}") {
        return cases(scene, text);
    }
    let text = text.strip_suffix("\\\\").unwrap_or(text).replace("&=", "=").replace('&', "");
    // `y^{\prime}` is a derivative, and not a power
    let text = text.replace("^{\\prime\\prime}", "''").replace("^{\\prime}", "'").replace("^\\prime", "'");
    let text = text.replace("\\left|", "\\lvert ").replace("\\right|", "\\rvert ");
    let text = text.replace("\\left\\lvert", "\\lvert").replace("\\right\\rvert", "\\rvert");
    let plain = convert(scene, text.trim(), 0)?;
    let better = products(scene, plain.trim());
    // `a/b c`: the end of the denominator is ambiguous
    let certain = !(text.contains('/') && better.matches('*').count() > plain.matches('*').count());
    (certain && !plain.contains(['\\', '{', '}', '$', '&'])).then_some(better)
}

/// `y' = \begin{cases} 1 & x > 1 \\ 0 & x \le 1 \end{cases}`: the last row without a condition, or with `otherwise`,
/// is the value elsewhere.
fn cases(scene: &Scene<'_>, text: &str) -> Option<String> {
    let (before, rest) = text.split_once("\\begin{cases}")?;
    let (rows, after) = rest.split_once("\\end{cases}")?;
    let part = |text: &str| Some(products(scene, convert(scene, text.trim(), 0)?.trim()));
    let mut better = part(before)?;
    better.push_str(" (");
    let rows: Vec<&str> = rows.split("\\\\").map(str::trim).filter(|row| !row.is_empty()).collect();
    for (k, row) in rows.iter().enumerate() {
        let (value, condition) = row.split_once('&').unwrap_or((row, ""));
        let condition = condition.replace("\\text{if}", "").replace("\\text{if }", "").replace("\\mbox{if }", "");
        let otherwise = condition.trim().is_empty() || condition.contains("otherwise") || condition.contains("else");
        let value = part(value.trim().trim_end_matches(','))?;
        match (otherwise, k + 1 == rows.len()) {
            (true, true) => better.push_str(&value),
            (false, true) => better.push_str(&format!("if {} then {value} else ...", part(&condition)?)),
            (false, false) => better.push_str(&format!("if {} then {value} else ", part(&condition)?)),
            (true, false) => return None,
        }
    }
    better.push(')');
    better.push_str(&part(after)?);
    (!better.contains(['\\', '{', '}', '$', '&'])).then_some(better)
}

/// The braced group at the start of `rest` and the text after it; a single character counts as braced.
fn group(rest: &str) -> Option<(&str, &str)> {
    let rest = rest.trim_start();
    if !rest.starts_with('{') {
        let end = rest.chars().next()?.len_utf8();
        return Some(rest.split_at(end));
    }
    let mut depth = 0usize;
    for (at, c) in rest.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&rest[1..at], &rest[at + 1..]));
        }
    }
    None
}

fn convert(scene: &Scene<'_>, text: &str, depth: usize) -> Option<String> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        match c {
            '\\' => {
                let word: String = rest[1..].chars().take_while(char::is_ascii_alphabetic).collect();
                rest = &rest[1 + word.len()..];
                if word.is_empty() {
                    // spaces: \, \; \!
                    let next = rest.chars().next().filter(|c| matches!(c, ',' | ';' | '!' | ':' | ' '))?;
                    rest = &rest[next.len_utf8()..];
                    out.push(' ');
                    continue;
                }
                rest = command(scene, &word, rest, &mut out, depth)?;
            }
            _ if SIGNS.contains(&c) && rest[c.len_utf8()..].trim_start().starts_with("_{") => {
                let word = if matches!(c, 'Σ' | '∑') { "sum" } else { "prod" };
                rest = command(scene, word, &rest[c.len_utf8()..], &mut out, depth)?;
            }
            '^' if rest[1..].starts_with('{') => {
                let (inside, after) = group(&rest[1..])?;
                let inside = convert(scene, inside, depth + 1)?;
                let base = out.trim_end();
                if base.ends_with('e')
                    && !base[..base.len() - 1].ends_with(|c: char| c.is_alphanumeric() || c == '_')
                    && !scene.is_declared("e")
                {
                    out.truncate(base.len() - 1);
                    out.push_str(&format!("exp({})", products(scene, &inside)));
                } else {
                    // `x^{*}` is a name elsewhere
                    if !inside.contains(char::is_alphanumeric) {
                        return None;
                    }
                    out.push_str(&format!("^{}", operand(&products(scene, &inside))));
                }
                rest = after;
                // `2^{x}y`: the next factor is not part of the exponent
                if rest.starts_with(|c: char| c.is_alphanumeric()) {
                    out.push(' ');
                }
            }
            '_' if rest[1..].starts_with('{') => {
                let (inside, after) = group(&rest[1..])?;
                let inside = convert(scene, inside, depth + 1)?;
                // `1_{t>1}`: 1 where the condition holds, else 0
                let base =
                    out.strip_suffix('1').filter(|base| !base.ends_with(|c: char| c.is_alphanumeric() || c == '.'));
                if let Some(base) = base.filter(|_| inside.contains(['<', '>'])) {
                    out = format!("{base}({inside})");
                    rest = after;
                    continue;
                }
                // `x_{n+1}` is another value of x
                if inside.contains(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ',' | ' ' | '\'')) {
                    return None;
                }
                let inside: String = inside.chars().filter(|c| c.is_alphanumeric() || *c == '_').collect();
                out.push('_');
                out.push_str(&inside);
                rest = after;
            }
            _ => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    Some(out)
}

/// Translates one command with its arguments; returns the rest.
fn command<'a>(scene: &Scene<'_>, word: &str, rest: &'a str, out: &mut String, depth: usize) -> Option<&'a str> {
    if let Some((_, better)) = COMMANDS.iter().find(|(name, _)| *name == word) {
        out.push_str(better);
        return Some(rest);
    }
    match word {
        "frac" | "dfrac" | "tfrac" => fraction(scene, rest, out, depth),
        "sqrt" | "lvert" | "lfloor" | "lceil" => enclosed(scene, word, rest, out, depth),
        "log" if rest.trim_start().starts_with('_') => {
            let (base, after) = group(rest.trim_start().strip_prefix('_')?)?;
            let function = match base.trim() {
                "10" => "log10",
                "2" => "log2",
                "e" => "ln",
                _ => return None,
            };
            command(scene, function, after, out, depth)
        }
        "dot" | "ddot" => {
            let (inside, after) = group(rest)?;
            separate(out);
            out.push_str(&convert(scene, inside, depth + 1)?);
            out.push_str(if word == "dot" { "'" } else { "''" });
            Some(after)
        }
        _ if FONTS.contains(&word) => {
            let (inside, after) = group(rest)?;
            separate(out);
            out.push_str(&convert(scene, inside, depth + 1)?);
            Some(after)
        }
        "sum" | "prod" => {
            let (text, after) = sum(scene, word, rest, depth)?;
            separate(out);
            out.push_str(&text);
            Some(after)
        }
        // `\gamma` is a letter here, and not the function
        _ if is_greek(word) => {
            separate(out);
            let letter = letter(word).filter(|letter| scene.is_declared(letter) && !scene.is_declared(word));
            out.push_str(letter.unwrap_or(word));
            Some(rest)
        }
        _ if odec_ir::builtin::find_function(word).is_some() => {
            separate(out);
            out.push_str(word);
            let after = rest.trim_start();
            if after.starts_with('^') {
                return powered(scene, after, out, depth);
            }
            let called = after.starts_with(['(', '{']) || after.starts_with("\\left");
            if !called {
                let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
                // `\sin x^2`, `\sin x/2`: the extent of the argument is not certain
                if after[end..].trim_start().starts_with(['^', '/', '*', '{', '_', '\\']) {
                    return None;
                }
                out.push_str(&format!("({})", &after[..end]));
                return (end > 0).then_some(&after[end..]);
            }
            if let Some((inside, after)) = after.starts_with('{').then(|| group(after)).flatten() {
                out.push_str(&format!("({})", products(scene, &convert(scene, inside, depth + 1)?)));
                return Some(after);
            }
            Some(after)
        }
        _ => None,
    }
}

/// `\sin^2 x`, `\cos^{2}(x)`: the power of a function stands behind its argument. `\sin^{-1}` may be the
/// inverse.
fn powered<'a>(scene: &Scene<'_>, rest: &'a str, out: &mut String, depth: usize) -> Option<&'a str> {
    let (power, after) = group(rest.strip_prefix('^')?)?;
    let power = products(scene, &convert(scene, power, depth + 1)?);
    let after = after.trim_start();
    let after = after.strip_prefix("\\left").unwrap_or(after);
    let (argument, after) = if after.starts_with('{') {
        group(after)?
    } else if after.starts_with('(') {
        let line = Line::new(after, 0..after.len(), 0);
        let end = line.tokens.get(line.close(0)?)?.end;
        (after[1..end - 1].trim_end_matches("\\right"), &after[end..])
    } else {
        let letters = after.strip_prefix('\\').unwrap_or(after);
        let end = letters.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(letters.len());
        after.split_at(after.len() - letters.len() + end)
    };
    // `\sin^2 x/2`, `\sin^2 \omega t`: the extent of the argument is not certain
    let next = after.trim_start();
    let certain = !next.starts_with(['^', '/', '{', '_', '\\', '(']) && !next.starts_with(char::is_alphanumeric);
    let argument = products(scene, convert(scene, argument, depth + 1)?.trim());
    if power.trim_start().starts_with('-') || argument.is_empty() || !certain {
        return None;
    }
    out.push_str(&format!("({argument})^{}", operand(&power)));
    Some(after)
}

/// A name or number before a word needs a blank.
fn separate(out: &mut String) {
    if out.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
        out.push(' ');
    }
}

/// `\frac{a}{b}` after the command.
fn fraction<'a>(scene: &Scene<'_>, rest: &'a str, out: &mut String, depth: usize) -> Option<&'a str> {
    let (above, after) = group(rest)?;
    let (below, after) = group(after)?;
    // partial derivatives in space remain
    let partial = above.contains("\\partial") && below.contains("\\partial");
    let plain = |text: &str| text.replace("\\partial", if partial { "d" } else { "\\partial" });
    let (above, below) = (convert(scene, &plain(above), depth + 1)?, convert(scene, &plain(below), depth + 1)?);
    separate(out);
    if let Some(order) = operator(scene, &above, &below) {
        let next = after.trim_start();
        let end = next.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(next.len());
        let (name, after) = next.split_at(end);
        out.push_str(&format!("{name}{}", "'".repeat(order)));
        return scene.states.contains(name).then_some(after);
    }
    if partial && derivative(scene, &above, &below).is_none() {
        return None;
    }
    if let Some(rate) = derivative(scene, &above, &below) {
        out.push_str(&rate);
    } else {
        let part = |text: &str| operand(products(scene, text.trim()).as_str());
        let quotient = format!("{}/{}", part(&above), part(&below));
        // a power of the fraction, or a fraction in a denominator
        let torn = out.trim_end().ends_with(['^', '/']) || after.trim_start().starts_with(['^', '\'', '!']);
        out.push_str(&if torn { format!("({quotient})") } else { quotient });
        // `\frac{1}{2}x`
        if after.starts_with(|c: char| c.is_alphanumeric()) {
            out.push(' ');
        }
    }
    Some(after)
}

/// `\sqrt[3]{y}`, `\lvert y \rvert`, `\lfloor y \rfloor` after the command.
fn enclosed<'a>(scene: &Scene<'_>, word: &str, rest: &'a str, out: &mut String, depth: usize) -> Option<&'a str> {
    if word == "sqrt" {
        let (root, rest) = match rest.trim_start().strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => ("2", rest),
        };
        let (inside, after) = group(rest)?;
        let inside = products(scene, &convert(scene, inside, depth + 1)?);
        separate(out);
        match root.trim() {
            "2" => out.push_str(&format!("sqrt({inside})")),
            "3" => out.push_str(&format!("cbrt({inside})")),
            // a power of a root would have another base
            _ if after.trim_start().starts_with('^') || out.trim_end().ends_with('^') => return None,
            root => out.push_str(&format!("({inside})^{}", operand(&format!("1/{root}")))),
        }
        return Some(after);
    }
    let (_, end, function) = ENCLOSED.iter().find(|(begin, ..)| *begin == word)?;
    let (inside, after) = rest.split_once(&format!("\\{end}"))?;
    // the inner one of two would end the outer one
    if inside.contains(&format!("\\{word}")) {
        return None;
    }
    separate(out);
    out.push_str(&format!("{function}({})", products(scene, &convert(scene, inside, depth + 1)?)));
    Some(after)
}

/// `\sum_{j} w[j]`, `\sum_{j=1}^{N} ...` after the command: a reduction up to the end of the term.
fn sum<'a>(scene: &Scene<'_>, word: &str, rest: &'a str, depth: usize) -> Option<(String, &'a str)> {
    let (below, mut after) = group(rest.trim_start().strip_prefix('_')?)?;
    let mut last = None;
    if let Some(power) = after.trim_start().strip_prefix('^') {
        let (above, rest) = group(power)?;
        (last, after) = (Some(products(scene, &convert(scene, above, depth + 1)?)), rest);
    }
    let (index, first) = match below.split_once('=') {
        Some((index, first)) => (index.trim(), Some(products(scene, &convert(scene, first, depth + 1)?))),
        None => (below.trim(), None),
    };
    let named = index.starts_with(char::is_alphabetic) && index.chars().all(char::is_alphanumeric);
    let binder = match (first, last) {
        (Some(first), Some(last)) if named => format!("{index} in {}..{}", first.trim(), last.trim()),
        // the range is that of the declared index
        (None, None) if scene.indices.contains(index) => index.to_owned(),
        _ => return None,
    };
    let mut open = 0i32;
    let ends = |(_, c): &(usize, char)| {
        open += match c {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            _ => 0,
        };
        open < 0 || open == 0 && matches!(c, '+' | '-' | '=' | ',')
    };
    let end = after.char_indices().find(ends).map_or(after.len(), |(at, _)| at);
    let body = products(scene, &convert(scene, &after[..end], depth + 1)?);
    // the extent of a product is not certain, and `x_i` may be an element
    let certain = if word == "sum" { body.contains('[') || !body.contains('_') } else { super::is_operand(&body) };
    let tail = if end < after.len() { " " } else { "" };
    (certain && !body.is_empty()).then(|| (format!("{word}({binder}: {body}){tail}"), &after[end..]))
}

/// `d` over `dt`, and `d^2` over `dt^2`: the order of the derivative of what follows.
fn operator(scene: &Scene<'_>, above: &str, below: &str) -> Option<usize> {
    let clean = |text: &str| text.split_whitespace().collect::<String>();
    let (above, below) = (clean(above), clean(below));
    [("", 1), ("^2", 2)].into_iter().find_map(|(power, order)| {
        (above == format!("d{power}") && below == format!("d{}{power}", scene.time)).then_some(order)
    })
}

/// `dy` over `dt`
fn derivative(scene: &Scene<'_>, above: &str, below: &str) -> Option<String> {
    let clean = |text: &str| text.split_whitespace().collect::<String>();
    let (above, below) = (clean(above), clean(below));
    let name = above.strip_prefix('d')?;
    let name = name.strip_suffix(format!("({})", scene.time).as_str()).unwrap_or(name);
    if below == format!("d{}", scene.time) && scene.states.contains(name) {
        return Some(format!("{name}'"));
    }
    let second = name.strip_prefix("^2")?;
    (below == format!("d{}^2", scene.time) && scene.states.contains(second)).then(|| format!("{second}''"))
}

const GREEK: [(&str, &str); 33] = [
    ("alpha", "α"),
    ("beta", "β"),
    ("gamma", "γ"),
    ("delta", "δ"),
    ("epsilon", "ε"),
    ("zeta", "ζ"),
    ("eta", "η"),
    ("theta", "θ"),
    ("iota", "ι"),
    ("kappa", "κ"),
    ("lambda", "λ"),
    ("mu", "μ"),
    ("nu", "ν"),
    ("xi", "ξ"),
    ("pi", "π"),
    ("rho", "ρ"),
    ("sigma", "σ"),
    ("tau", "τ"),
    ("upsilon", "υ"),
    ("phi", "φ"),
    ("chi", "χ"),
    ("psi", "ψ"),
    ("omega", "ω"),
    ("Gamma", "Γ"),
    ("Delta", "Δ"),
    ("Theta", "Θ"),
    ("Lambda", "Λ"),
    ("Xi", "Ξ"),
    ("Pi", "Π"),
    ("Sigma", "Σ"),
    ("Phi", "Φ"),
    ("Psi", "Ψ"),
    ("Omega", "Ω"),
];

fn is_greek(word: &str) -> bool {
    GREEK.iter().any(|(name, _)| *name == word)
}

fn letter(word: &str) -> Option<&'static str> {
    GREEK.iter().find(|(name, _)| *name == word).map(|(_, letter)| *letter)
}

/// True for a word that begins a declaration.
fn declares(word: &str) -> bool {
    KEYWORDS.iter().any(|(name, _)| *name == word)
}

/// LaTeX writes products without a sign: `-k y` is `-k*y`.
fn products(scene: &Scene<'_>, text: &str) -> String {
    let found = tokens(text);
    let mut out = String::new();
    let mut last = 0;
    for (k, token) in found.iter().enumerate() {
        let before = k.checked_sub(1).and_then(|k| found.get(k));
        let gap = &text[last..token.start];
        // `param alpha`: the keyword of a declaration is not a factor
        let declares = k == 1 && before.is_some_and(|word| declares(word.text(text)));
        let side_by_side = !declares
            && before.is_some_and(|before| {
                let word = before.text(text);
                let reduces = matches!(word, "sum" | "prod");
                let call = token.text(text) == "(" && gap.is_empty() && (reduces || scene.is_function(word));
                // `sum(i in 1..3: x)`
                let ranges = word == "in" || token.text(text) == "in";
                let bracket = token.text(text) == "[";
                before.ends_value() && token.begins_value() && !call && !bracket && !ranges
            });
        out.push_str(if side_by_side { "*" } else { gap });
        // the exponent and the next factor of `y^{2}x` form one token
        let power = before.is_some_and(|before| before.text(text) == "^");
        let number = super::super::explain::token::numeral(token.text(text));
        match token.text(text).split_at(number) {
            (number, name) if power && !number.is_empty() && name.starts_with(char::is_alphabetic) => {
                out.push_str(&format!("{number}*{name}"));
            }
            _ => out.push_str(token.text(text)),
        }
        last = token.end;
    }
    out.push_str(&text[last..]);
    let words: Vec<&str> = out.split_whitespace().collect();
    words.join(" ")
}
