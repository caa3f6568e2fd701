//! Reactions as other programs write them, and those that lack a part.

use pest::Parser;

use super::line::Line;
use super::{Found, Scene};
use crate::syntax::grammar::{Grammar, Rule};

const CODE: &str = "E0125";
/// Words of laws.
const LAWS: [&str; 3] = ["mass", "rate", "flow"];

/// `J0: S -> P; k*S`, `A -> B, k`, `2A -> B mass k`, `A <- B mass k`
pub(super) fn reaction(scene: &Scene<'_>, at: usize) -> Option<(Found, usize)> {
    let line = &scene.lines[at];
    let end = line.tokens.len();
    let arrow = (0..end).find(|&k| matches!(line.text(k), "->" | "=>" | "<-" | "<->"))?;
    if line.find(0, "=").is_some_and(|k| k < arrow) || (0..arrow).any(|k| line.text(k) == "if") {
        return None;
    }
    if Grammar::parse(Rule::reaction_line, line.slice(0, end)).is_ok() {
        return None;
    }
    let (both, back) = (line.text(arrow) == "<->", line.text(arrow) == "<-");
    let from = (0..arrow).find(|&k| line.text(k) == ":").map_or(0, |k| k + 1);
    let next = arrow + 1;
    let law_at = (next..end).find(|&k| LAWS.contains(&line.text(k)) && k + 1 < end && line.text(k + 1) != "+");
    if back && law_at.is_none() {
        return None;
    }
    let stop = law_at.or_else(|| separator(line, next)).unwrap_or(end);
    let label = line.slice(0, from);
    let (left, right) = (side(line, from, arrow), side(line, next, stop));
    let (first, second) = if back { (right, left) } else { (left, right) };
    let law = law(line, (stop, end), law_at.is_some(), &first);
    let label = if label.is_empty() { String::new() } else { format!("{label} ") };
    let headline = if back {
        "an arrow points to what a reaction makes"
    } else if law_at.is_none() {
        "a reaction ends with its law: `mass`, `rate` or `flow`"
    } else {
        "reactions are written otherwise here"
    };
    let sign = if both { "<->" } else { "->" };
    let found = Found::new(CODE, headline, line.span(arrow, arrow)).label("a reaction").over(line.range.clone());
    let better = format!("{label}{first} {sign} {second}  {law}");
    let help = if Grammar::parse(Rule::reaction_line, &better).is_ok() {
        format!("write `{better}`")
    } else {
        "a reaction reads `A + B -> C  mass k`, or `bind: A + B <-> C  mass (kon, koff)`".to_owned()
    };
    Some((found.help(help), at + 1))
}

/// What stands between the species and the law: `;`, `,`, `=`, `(`, or a name that follows a name.
fn separator(line: &Line<'_>, from: usize) -> Option<usize> {
    (from..line.tokens.len()).find(|&k| {
        matches!(line.text(k), ";" | "," | "=" | "(") || (k > from && line.is_name(k) && line.is_name(k - 1))
    })
}

/// Species with blanks where they belong; `0` where there are none.
fn side(line: &Line<'_>, from: usize, to: usize) -> String {
    let mut terms: Vec<String> = Vec::new();
    for part in line.slice(from, to).split('+') {
        let part = part.trim().trim_end_matches(';').trim();
        if part.is_empty() || part == "0" {
            continue;
        }
        let digits = part.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(part.len());
        let (count, species) = part.split_at(digits);
        let species = species.trim_start_matches([' ', '*', '·']);
        let count = count.trim();
        terms.push(match (count, species) {
            ("" | "1", species) => species.to_owned(),
            (count, species) => format!("{count} {species}"),
        });
    }
    if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") }
}

/// The law as it is to be written.
fn law(line: &Line<'_>, (from, end): (usize, usize), given: bool, reactants: &str) -> String {
    if given {
        return line.slice(from, end).to_owned();
    }
    if LAWS.contains(&line.text(from)) {
        return format!("{} k", line.text(from));
    }
    let separated = matches!(line.text(from), ";" | "," | "=");
    let text = line.slice(from + usize::from(separated), end).trim_end_matches(';').trim().to_owned();
    if text.is_empty() {
        return "mass k".to_owned();
    }
    let reads = |name: &str| {
        let names = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        names.into_iter().any(|word| word == name)
    };
    let species = reactants.split(" + ").filter_map(|term| term.rsplit(' ').next());
    let rate = species.into_iter().any(|name| name != "0" && reads(name)) || text.contains(['*', '/', '+']);
    format!("{} {text}", if rate { "rate" } else { "mass" })
}
