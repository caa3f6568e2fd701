//! Invalid names: `k-on`, `growth rate`, `params['k']`, look-alike letters of other scripts.

use std::collections::{HashMap, HashSet};

use odec_ir::Span;
use unicode_normalization::UnicodeNormalization;

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0134;

/// Names of parameter structures in other languages.
const HOLDERS: [&str; 13] = [
    "this",
    "params",
    "param_values",
    "parameters",
    "pars",
    "par",
    "prm",
    "p",
    "args",
    "self",
    "constants",
    "theta",
    "opts",
];

/// Letters of other scripts that look like Latin ones. Greek letters are ordinary names: see [`crate::words::greek_as_latin`].
const ALIKE: [(char, char); 32] = [
    ('а', 'a'),
    ('е', 'e'),
    ('о', 'o'),
    ('р', 'p'),
    ('с', 'c'),
    ('у', 'y'),
    ('х', 'x'),
    ('і', 'i'),
    ('ј', 'j'),
    ('ѕ', 's'),
    ('к', 'k'),
    ('м', 'm'),
    ('т', 't'),
    ('в', 'b'),
    ('н', 'h'),
    ('ԁ', 'd'),
    ('ԛ', 'q'),
    ('ԝ', 'w'),
    ('А', 'A'),
    ('В', 'B'),
    ('Е', 'E'),
    ('К', 'K'),
    ('М', 'M'),
    ('Н', 'H'),
    ('О', 'O'),
    ('Р', 'P'),
    ('С', 'C'),
    ('Т', 'T'),
    ('Х', 'X'),
    ('У', 'Y'),
    ('І', 'I'),
    ('Ѕ', 'S'),
];

/// Phonetic letters and signs that look like Greek ones.
const ALIKE_GREEK: [(char, char); 8] =
    [('ɑ', 'α'), ('ɛ', 'ε'), ('ɣ', 'γ'), ('ɸ', 'φ'), ('ʋ', 'υ'), ('ɩ', 'ι'), ('ß', 'β'), ('∆', 'Δ')];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    let with_signs = super::dots::hyphened(line).or_else(|| super::dots::dotted(scene, line));
    let with_signs = with_signs.or_else(|| spaced_definition(scene, line));
    if let Some(idiom) = with_signs.or_else(|| joined(scene, line)).or_else(|| quoted(scene, line)) {
        found.push(idiom);
        return;
    }
    for at in 0..line.tokens.len() {
        let idiom = signed(line, at).or_else(|| alike(scene, line, at)).or_else(|| entry(scene, line, at));
        found.extend(idiom.or_else(|| hyphen(scene, line, at)));
    }
}

/// `k-on` where `kon` or `k_on` is declared, and `on` is not.
fn hyphen(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let (a, b) = (line.text(at), line.text(at + 2));
    let glued = line.text(at + 1) == "-" && line.touches(at) && line.touches(at + 1);
    let unknown = |name: &str| !scene.is_declared(name) && !scene.is_function(name);
    if !glued || !line.is_name(at) || !line.is_name(at + 2) || !unknown(b) {
        return None;
    }
    let better = [format!("{a}{b}"), format!("{a}_{b}")].into_iter().find(|name| scene.is_declared(name))?;
    let found = IdiomMatch::new(CODE, "a name cannot contain a hyphen", line.span(at, at + 2));
    let found = found.label(format!("`{a}` minus `{b}`, or `{better}`?"));
    Some(if unknown(a) { found.write(better) } else { found.help(format!("write `{better}`")) })
}

/// `k₋₁`, `k₊`
fn signed(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let sign = if line.is_name(at) && line.touches(at) { line.text(at + 1) } else { return None };
    let word = match sign {
        "₋" => "minus",
        "₊" => "plus",
        _ => return None,
    };
    let digits = |k: usize| line.touches(k) && line.text(k + 1).chars().all(|c| ('₀'..='₉').contains(&c));
    let last = at + 1 + usize::from(at + 2 < line.tokens.len() && digits(at + 1));
    let (name, tail) = (line.slice(at, last + 1), line.slice(at + 2, last + 1));
    let plain: String =
        tail.chars().filter_map(|c| char::from_digit((c as u32).wrapping_sub('₀' as u32), 10)).collect();
    let found = IdiomMatch::new(
        &codes::E0106,
        format!("`{sign}` is not a character of the language"),
        line.span(at + 1, at + 1),
    );
    let help = format!(
        "a name consists of letters, digits, subscript digits and `_`: write `{}_{word}{plain}` for `{name}`",
        line.text(at)
    );
    Some(found.label("here").help(help).over(line.range.clone()))
}

/// The declared names with letters beyond ASCII, by what they look like; of several, the first in the alphabet.
pub(super) fn by_looks<'a>(declared: &HashSet<&'a str>) -> HashMap<String, &'a str> {
    let mut alike = HashMap::new();
    for name in declared.iter().copied().filter(|name| !name.is_ascii()) {
        let known = alike.entry(skeleton(name)).or_insert(name);
        *known = name.min(*known);
    }
    alike
}

/// A name with look-alike letters replaced.
fn skeleton(name: &str) -> String {
    let greek = |c: char| ALIKE_GREEK.iter().find(|(other, _)| *other == c).map(|(_, greek)| *greek);
    name.nfkc().map(|c| looks_latin(c).or_else(|| greek(c)).unwrap_or(c)).collect()
}

/// The Latin letter that a letter of another script looks like.
pub fn looks_latin(c: char) -> Option<char> {
    ALIKE.iter().find(|(other, _)| *other == c).map(|(_, latin)| *latin)
}

/// True for a function before its argument, or the first word of a statement.
fn known_word(scene: &Scene<'_>, line: &Line<'_>, at: usize, looks: &str) -> bool {
    let statement = matches!(looks, "param" | "const" | "state" | "output" | "run" | "when" | "index" | "input");
    line.text(at + 1) == "(" && scene.is_function(looks) || at == 0 && statement && line.is_name(1)
}

/// `х` where `x` is declared, or the other way round.
fn alike(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if !line.is_name(at) || scene.is_declared(word) || scene.is_function(word) {
        return None;
    }
    let looks = skeleton(word);
    if let (Some(c), true) = (word.chars().find(|c| !c.is_ascii()), known_word(scene, line, at, &looks)) {
        let headline = format!("`{word}` only looks like `{looks}`");
        let found = IdiomMatch::new(CODE, headline, line.span(at, at));
        let found = found.label(format!("`{c}` is U+{:04X}, a letter of another script", c as u32));
        return Some(found.write(looks));
    }
    let better = [scene.declared.get(looks.as_str()), scene.alike.get(&looks)].into_iter().flatten().min()?;
    let odd = |name: &str| name.chars().find(|c| !c.is_ascii());
    let (headline, label) = match (odd(word), odd(better)) {
        (Some(c), _) => (
            format!("`{word}` only looks like `{better}`"),
            format!("`{c}` is U+{:04X}, a letter of another script", c as u32),
        ),
        (None, Some(c)) => {
            let label = format!("in the declared name, `{c}` is U+{:04X}, a letter of another script", c as u32);
            let found = IdiomMatch::new(CODE, format!("`{word}` only looks like `{better}`"), line.span(at, at));
            let found = found.label(label).help(format!("write `{word}` in the declaration too, with plain letters"));
            let same = |line: &Line<'_>, k: &usize| line.is_name(*k) && line.text(*k) == *better;
            let places = scene
                .lines
                .iter()
                .flat_map(|line| (0..line.tokens.len()).filter(|k| same(line, k)).map(|k| line.span(k, k)));
            return Some(places.fold(found, |found, place| found.fix(place, word)));
        }
        _ => return None,
    };
    Some(
        IdiomMatch::new(CODE, headline, line.span(at, at))
            .label(label)
            .help(format!("write `{better}` with the letters of its declaration"))
            .fix(line.span(at, at), *better),
    )
}

/// `params['k']`, `p["k"]`, `params[["k"]]`, `params.k`, `params$k`: entries of a dictionary, a list or an object.
fn entry(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let holder = line.text(at);
    let fits = line.is_name(at) && line.touches(at) && !scene.is_declared(holder) && !scene.is_function(holder);
    if !fits || at > 0 && line.text(at - 1) == "." {
        return None;
    }
    let (name, last) = match line.text(at + 1) {
        "[" => {
            let twice = usize::from(line.text(at + 2) == "[");
            let inside = at + 2 + twice;
            let text = line.kind(inside) == Some(TokenKind::Text);
            let primes = line.kind(inside) == Some(TokenKind::Prime) && line.kind(inside + 2) == Some(TokenKind::Prime);
            let (name, close) = match (text, primes) {
                (true, _) => (line.text(inside).trim_matches('"'), inside + 1),
                (_, true) => (line.text(inside + 1), inside + 3),
                _ => return None,
            };
            let closed = (0..=twice).all(|k| line.text(close + k) == "]");
            closed.then_some((name, close + twice))?
        }
        "." | "$" if HOLDERS.contains(&holder) && line.touches(at + 1) && line.is_name(at + 2) => {
            (line.text(at + 2), at + 2)
        }
        _ => return None,
    };
    // a name that also occurs alone is not a parameter structure but may be the name of a part
    let holds = |l: &Line<'_>, k: usize| l.text(k) != holder || matches!(l.text(k + 1), "[" | "." | "$");
    let only = scene.lines.iter().all(|l| (0..l.tokens.len()).all(|k| holds(l, k)));
    let plain = name.starts_with(|c: char| c.is_alphabetic()) && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !only || !plain {
        return None;
    }
    let found = IdiomMatch::new(CODE, "write a parameter by its name alone", line.span(at, last));
    let found = found.label(format!("write `{name}`"));
    Some(if scene.is_declared(name) && name != scene.time {
        found.write(name)
    } else {
        found.help(format!("write `{name}`, and declare it with `param {name} = 1`"))
    })
}

/// `net growth = 2*x` where another line has `net growth` as well.
fn spaced_definition(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (a, b) = (line.text(0), line.text(1));
    let names = line.is_name(0) && line.is_name(1) && !line.touches(0) && line.text(2) == "=";
    let unknown = |name: &str| !scene.is_declared(name) && !scene.is_function(name);
    if !names || !unknown(a) || !unknown(b) || crate::syntax::explain::is_keyword(a) {
        return None;
    }
    let within = |l: &Line<'_>| (1..l.tokens.len()).any(|k| l.reads(k, &[a, b]));
    let better = format!("{a}_{b}");
    scene.lines.iter().any(within).then(|| {
        let found = IdiomMatch::new(CODE, "a name cannot contain a space", line.span(0, 1));
        let found = found.label(format!("write `{better}`")).help(format!("write `{better}`"));
        everywhere(scene, found, &[a, b], &better)
    })
}

/// `param k-on = 1`, `param growth rate = 1`
fn joined(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    if !matches!(line.text(0), "param" | "const" | "state" | "output") {
        return None;
    }
    for at in 1..line.tokens.len() {
        let begins = at == 1 || line.text(at - 1) == ",";
        if !begins || !line.is_name(at) {
            continue;
        }
        let (a, sign) = (line.text(at), line.text(at + 1));
        let hyphen = sign == "-" && line.touches(at) && line.touches(at + 1);
        let second = if hyphen { at + 2 } else { at + 1 };
        let b = line.text(second);
        let ends = matches!(line.text(second + 1), "=" | "") || (hyphen && line.text(second + 1) == ",");
        let blank = !hyphen && line.is_name(second) && !matches!(b, "in" | "if" | "within");
        if !ends || !(hyphen && matches!(line.kind(second), Some(TokenKind::Name | TokenKind::Number)) || blank) {
            continue;
        }
        let declares = crate::syntax::explain::is_keyword(a);
        if declares || super::declare::is_type(a) {
            continue;
        }
        let better = format!("{a}_{b}");
        if hyphen {
            let found = IdiomMatch::new(CODE, "a name cannot contain a hyphen", line.span(at, second))
                .label(format!("write `{better}`"));
            let found = found.help(format!("write `{better}`"));
            let known = scene.is_declared(b) || line.kind(second) != Some(TokenKind::Name);
            return Some(if known { found } else { everywhere(scene, found, &[a, "-", b], &better) });
        }
        let found = IdiomMatch::new(CODE, "a name cannot contain a space", line.span(at, second))
            .label(format!("`{better}`, or two names?"));
        // the use of the name shows the meaning
        let spaced = uses(scene, &[a, b]).len() > 1;
        let written = scene.lines.iter().any(|l| (0..l.tokens.len()).any(|k| l.text(k) == better));
        let help = format!("write `{better}` for one name, or `{a}, {b}` for two names with one value");
        let found = found.help(help);
        return Some(match (spaced, written) {
            (true, _) => everywhere(scene, found, &[a, b], &better),
            (_, true) => found.fix(line.span(at, second), better),
            _ => found,
        });
    }
    None
}

/// `param "growth rate" = 1`
fn quoted(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let declares = matches!(line.text(0), "param" | "const" | "state" | "output");
    let text = line.text(1);
    if !declares || line.kind(1) != Some(TokenKind::Text) || text.len() < 3 {
        return None;
    }
    let name = text.trim_matches('"');
    let plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-'));
    let better = name.replace([' ', '-'], "_");
    (plain && better.starts_with(char::is_alphabetic)).then(|| {
        let found =
            IdiomMatch::new(CODE, "write a name without quotes", line.span(1, 1)).label(format!("write `{better}`"));
        everywhere(scene, found.help(format!("write `{better}`")), &[text], &better)
    })
}

/// Source locations of these words in sequence; operators must touch.
fn uses(scene: &Scene<'_>, words: &[&str]) -> Vec<Span> {
    let mut found = Vec::new();
    for line in &scene.lines {
        for at in 0..line.tokens.len() {
            let sign = words.len() == 3;
            let glued = !sign || (line.touches(at) && line.touches(at + 1));
            if line.reads(at, words) && glued {
                found.push(line.span(at, at + words.len() - 1));
            }
        }
    }
    found
}

fn everywhere(scene: &Scene<'_>, found: IdiomMatch, words: &[&str], better: &str) -> IdiomMatch {
    uses(scene, words).into_iter().fold(found, |found, span| found.fix(span, better))
}
