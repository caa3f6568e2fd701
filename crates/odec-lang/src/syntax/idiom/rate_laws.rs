//! Rate laws of reactions in other notations: `A + B <--> C, k1, k2`, `A -k1> B`, and a law on its
//! own line.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(listed(scene, line).or_else(|| inside_arrow(scene, line)).or_else(|| below(scene, line)));
}

/// The position of the arrow and its text, as odec writes it.
fn arrow(line: &Line<'_>) -> Option<(usize, usize, &'static str)> {
    let from = (1..line.tokens.len()).find(|&k| {
        matches!(line.text(k), "->" | "-->" | "=>" | "<->" | "<=>" | "→" | "⇌" | "<" | "<-" | "<=" | "<--")
    })?;
    let to = (from..line.tokens.len())
        .take_while(|&k| k == from || line.touches(k - 1))
        .find(|&k| line.text(k).ends_with(['>', '→', '⇌']))?;
    let whole = line.slice(from, to + 1);
    let both = whole.starts_with('<') || whole == "⇌";
    Some((from, to, if both { "<->" } else { "->" }))
}

fn report(line: &Line<'_>, from: usize, to: usize, better: &str) -> IdiomMatch {
    let headline = "a reaction must end with its law: `mass`, `rate` or `flow`";
    IdiomMatch::new(&codes::E0125, headline, line.span(from, to))
        .label("a rate law")
        .help(format!("write `{better}`"))
        .over(line.range.clone())
}

/// `A + B <--> C, k1, k2`
fn listed(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (from, to, sign) = arrow(line)?;
    let comma = line.find(to + 1, ",")?;
    let end = line.tokens.len();
    let names: Vec<&str> = (comma + 1..end).step_by(2).map(|k| line.text(k)).collect();
    let plain = (comma + 1..end)
        .all(|k| if (k - comma) % 2 == 1 { scene.is_declared(line.text(k)) } else { line.text(k) == "," });
    let species = scene.states.contains(line.text(from - 1)) && scene.states.contains(line.text(to + 1));
    if !plain || !species || names.len() != if sign == "<->" { 2 } else { 1 } {
        return None;
    }
    let law = if sign == "<->" { format!("({})", names.join(", ")) } else { names.concat() };
    let better = format!("{} {sign} {}  mass {law}", line.slice(0, from), line.slice(to + 1, comma));
    Some(report(line, comma, end - 1, &better))
}

/// `A -k1> B`, `A -[k1]-> B`, `A --k1--> B`
fn inside_arrow(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let start = (1..line.tokens.len()).find(|&k| matches!(line.text(k), "-" | "--"))?;
    let bracket = usize::from(matches!(line.text(start + 1), "[" | "("));
    let name = start + 1 + bracket;
    let last = name + 1 + bracket;
    let closes = matches!(line.text(last), ">" | "->" | "-->");
    let species = scene.states.contains(line.text(start - 1)) && scene.states.contains(line.text(last + 1));
    let fits = closes && species && scene.is_declared(line.text(name)) && !scene.states.contains(line.text(name));
    let whole = line.find(0, "=").is_none();
    let better =
        format!("{} -> {}  mass {}", line.slice(0, start), line.slice(last + 1, line.tokens.len()), line.text(name));
    (fits && whole).then(|| report(line, start, last, &better))
}

/// `mass k1` on the line below its reaction
fn below(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    if !matches!(line.text(0), "mass" | "rate" | "flow") || line.text(1) == "=" || line.tokens.len() < 2 {
        return None;
    }
    let at = scene.lines.iter().position(|other| other.range == line.range)?;
    let above = scene.lines.get(at.checked_sub(1)?)?;
    arrow(above).filter(|_| !(1..above.tokens.len()).any(|k| matches!(above.text(k), "mass" | "rate" | "flow")))?;
    let better = format!("{}  {}", above.slice(0, above.tokens.len()), line.slice(0, line.tokens.len()));
    let found = report(line, 0, line.tokens.len() - 1, &better);
    Some(IdiomMatch { also: vec![above.range.clone()], ..found })
}
