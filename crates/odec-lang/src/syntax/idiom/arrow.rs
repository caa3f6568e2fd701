//! Lines that become reactions once a single sign or word is written as odec writes it: `A <--> B`, `A + B = C mass k`,
//! `A -> B Mass k`, `[r1] A -> B mass k`.

use crate::diagnostic::{Code, codes};
use odec_ir::Span;
use pest::Parser;

use super::IdiomMatch;
use super::line::Line;
use crate::syntax::grammar::{Grammar, Rule};

const CODE: &Code = &codes::E0125;

/// Arrows of other languages, and odec's arrow. An arrow that contains another one comes first.
const ARROWS: [(&str, &str); 22] = [
    ("<-->", "<->"),
    ("<==>", "<->"),
    ("<=>>", "<->"),
    ("<<=>", "<->"),
    ("<~>", "<->"),
    ("↔", "<->"),
    ("⇄", "<->"),
    ("⇋", "<->"),
    ("⟷", "<->"),
    ("⇔", "<->"),
    ("--->", "->"),
    ("==>", "->"),
    ("->>", "->"),
    ("-.->", "->"),
    ("~>", "->"),
    ("- >", "->"),
    ("⟶", "->"),
    ("⇒", "->"),
    ("➜", "->"),
    ("==", "->"),
    ("=", "->"),
    (">", "->"),
];

/// Other words for the laws.
const WORDS: [(&str, &str); 10] = [
    ("Mass", "mass"),
    ("MASS", "mass"),
    ("MassAction", "mass"),
    ("massaction", "mass"),
    ("mass_action", "mass"),
    ("Rate", "rate"),
    ("rates", "rate"),
    ("RATE", "rate"),
    ("Flow", "flow"),
    ("flux", "flow"),
];

fn is_reaction(text: &str) -> bool {
    Grammar::parse(Rule::reaction_line, text).is_ok()
}

/// The first of these spellings that a line must write in another way to be a reaction.
pub(super) fn respelled(line: &Line<'_>) -> Option<IdiomMatch> {
    arrow(line).or_else(|| word(line)).or_else(|| label(line)).or_else(|| several(line))
}

fn arrow(line: &Line<'_>) -> Option<IdiomMatch> {
    let text = line.whole();
    ARROWS.iter().find_map(|(other, own)| {
        let at = text.find(other)?;
        let better = format!("{}{own}{}", &text[..at], &text[at + other.len()..]);
        is_reaction(&better).then(|| {
            let start = line.range.start + at;
            let span = Span::new(start, start + other.len());
            let headline = if other.trim_matches('=').is_empty() {
                format!("the species of a reaction stand around an arrow, not around `{other}`")
            } else {
                format!("odec does not read `{other}` as an arrow")
            };
            IdiomMatch::new(CODE, headline, span)
                .label("an arrow")
                .write(*own)
                .help(format!("write `{better}`"))
                .over(line.range.clone())
        })
    })
}

fn word(line: &Line<'_>) -> Option<IdiomMatch> {
    let at = (0..line.tokens.len()).find(|&k| WORDS.iter().any(|(other, _)| *other == line.text(k)))?;
    let (other, own) = WORDS.iter().find(|(other, _)| *other == line.text(at))?;
    let (before, after) = (line.slice(0, at), line.slice(at + 1, line.tokens.len()));
    let better = format!("{before} {own} {after}");
    let headline = format!("the law of a reaction is `mass`, `rate` or `flow`, not `{other}`");
    let found = IdiomMatch::new(CODE, headline, line.span(at, at)).label("the law").write(*own);
    is_reaction(&better).then(|| found.help(format!("write `{better}`")).over(line.range.clone()))
}

/// `[r1] A -> B mass k`, `(r1) ...`, `1: A -> B mass k`, `r1, A -> B mass k`, `reaction r1: ...`
fn label(line: &Line<'_>) -> Option<IdiomMatch> {
    let (name, from) = match (line.text(0), line.text(1), line.text(2)) {
        ("[" | "(", name, "]" | ")") => (name, 3),
        (name, ":" | "," | ")" | ".", _) => (name, 2),
        ("reaction" | "Reaction", name, ":") => (name, 3),
        ("reaction" | "Reaction", ..) => ("", 1),
        _ => return None,
    };
    let rest = line.slice(from, line.tokens.len());
    let name = if name.starts_with(|c: char| c.is_ascii_digit()) { format!("r{name}") } else { name.to_owned() };
    let better = if name.is_empty() { rest.to_owned() } else { format!("{name}: {rest}") };
    let found = IdiomMatch::new(CODE, "write the name of a reaction and a colon before it", line.span(0, from - 1));
    is_reaction(&better).then(|| found.label("the name").help(format!("write `{better}`")).over(line.range.clone()))
}

/// `A -> B mass k; B -> C mass k`, `A -> B -> C mass k`
fn several(line: &Line<'_>) -> Option<IdiomMatch> {
    let text = line.whole();
    let parts: Vec<&str> = text.split(';').map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.len() > 1 && parts.iter().all(|part| is_reaction(part)) {
        let all: Vec<String> = parts.iter().map(|part| format!("`{part}`")).collect();
        let at = line.range.start + text.find(';')?;
        let found = IdiomMatch::new(CODE, "each reaction has a line of its own", Span::new(at, at + 1));
        return Some(
            found
                .label("two reactions")
                .help(format!("write {} on lines of their own", all.join(" and ")))
                .over(line.range.clone()),
        );
    }
    let arrows: Vec<usize> = (0..line.tokens.len()).filter(|&k| matches!(line.text(k), "->" | "<->" | "=>")).collect();
    let law = (0..line.tokens.len()).find(|&k| matches!(line.text(k), "mass" | "rate" | "flow"))?;
    let &[first, second] = arrows.as_slice() else { return None };
    let middle = line.slice(first + 1, second);
    let steps = [
        format!("{}  {}", line.slice(0, second), line.slice(law, line.tokens.len())),
        format!("{middle} {}", line.slice(second, line.tokens.len())),
    ];
    let found = IdiomMatch::new(CODE, "a reaction has one arrow", line.span(second, second)).label("a second arrow");
    let help = format!("write one reaction for each step: `{}` and `{}`", steps[0], steps[1]);
    steps.iter().all(|step| is_reaction(step)).then(|| found.help(help).over(line.range.clone()))
}
