//! Reactions in the notation of other tools, and incomplete reactions.

use crate::diagnostic::{Code, codes};
use pest::Parser;

use super::line::{Line, operand};
use super::{IdiomMatch, Scene};
use crate::syntax::explain::token::TokenKind;
use crate::syntax::grammar::{Grammar, Rule};

const CODE: &Code = &codes::E0125;
/// Arrows of odec, and one that points back.
const ARROWS: [&str; 8] = ["->", "=>", "-->", "→", "<-", "<->", "<=>", "⇌"];
/// Words of laws.
const LAWS: [&str; 3] = ["mass", "rate", "flow"];
/// Names for an empty side in other languages.
const NOTHING: [&str; 12] =
    ["Ø", "_", "null", "NULL", "Null", "nil", "None", "none", "nothing", "EmptySet", "emptyset", "empty"];
/// Calls of Michaelis and Menten's law, and of Hill's.
const MICHAELIS: [&str; 6] = ["mm", "MM", "michaelis", "michaelis_menten", "MichaelisMenten", "michaelisMenten"];
const HILL: [&str; 2] = ["hill", "Hill"];

/// `J0: S -> P; k*S`, `A -> B, k`, `2A -> B mass k`, `A <- B mass k`
pub(super) fn reaction(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    let end = line.tokens.len();
    if matches!(line.text(0), "fn" | "run" | "params" | "when" | "at" | "every") {
        return None;
    }
    if !is_reaction(line)
        && let Some(found) = super::arrow::respelled(line)
    {
        return Some((found, at + 1));
    }
    let arrow = (0..end).find(|&k| ARROWS.contains(&line.text(k)))?;
    if ["=", ":="].iter().any(|sign| line.find(0, sign).is_some_and(|k| k < arrow))
        || (0..arrow).any(|k| line.text(k) == "if")
    {
        return None;
    }
    if let Some(found) = michaelis(scene, line, arrow) {
        return Some((found, at + 1));
    }
    if is_reaction(line) {
        return nothing(scene, line, arrow).map(|found| (found, at + 1));
    }
    if let Some(found) = unit_of_law(line).or_else(|| named_count(scene, line, arrow)) {
        return Some((found, at + 1));
    }
    let (both, back) = (matches!(line.text(arrow), "<->" | "<=>" | "⇌"), line.text(arrow) == "<-");
    let from = (0..arrow).find(|&k| line.text(k) == ":").map_or(0, |k| k + 1);
    let next = arrow + 1;
    let law_at = (next..end).find(|&k| LAWS.contains(&line.text(k)) && k + 1 < end && line.text(k + 1) != "+");
    if back && law_at.is_none() {
        return None;
    }
    if let Some((above, label, species)) = law_above(line, arrow, from) {
        let label = if label.is_empty() { String::new() } else { format!("{label} ") };
        let sides = (side(line, from, species.0), side(line, species.1, end));
        let better = format!("{label}{} -> {}  mass {above}", sides.0, sides.1);
        let found =
            IdiomMatch::new(CODE, format!("the law comes after the species, `mass {above}`"), line.span(arrow, arrow));
        let found = found.label("a reaction").over(line.range.clone()).help(format!("write `{better}`"));
        return Grammar::parse(Rule::reaction_line, &better).is_ok().then_some((found, at + 1));
    }
    let stop = law_at.or_else(|| separator(line, next)).unwrap_or(end);
    let label = line.slice(0, from);
    // `A -k-> B`
    let above =
        arrow > from + 2 && law_at.is_none() && stop == end && line.text(arrow - 2) == "-" && line.is_name(arrow - 1);
    let (left, right) = (side(line, from, if above { arrow - 2 } else { arrow }), side(line, next, stop));
    let (first, second) = if back { (right, left) } else { (left, right) };
    let law = if above {
        format!("mass {}", line.text(arrow - 1))
    } else {
        law(line, (stop, end), law_at.is_some(), both, &first)
    };
    // `k1: A -> B` with a constant for its name
    let named = from == 2 && law_at.is_none() && stop == end && !both && !above;
    let constant = named && scene.is_declared(line.text(0)) && !scene.states.contains(line.text(0));
    let (label, law) = if constant { ("", format!("mass {}", line.text(0))) } else { (label, law) };
    // the law of Antimony is an amount per time
    let compartment = scene.lines.iter().any(|line| line.text(0) == "compartment");
    let amount = line.text(stop) == ";" && compartment;
    let law = match law.strip_prefix("rate ") {
        Some(value) if amount => format!("flow {value}"),
        _ => law,
    };
    let label = if label.is_empty() { String::new() } else { format!("{label} ") };
    let headline = if back {
        "an arrow points to the products of a reaction"
    } else if law_at.is_none() {
        "a reaction must end with its law: `mass`, `rate` or `flow`"
    } else {
        "this is not the notation for reactions"
    };
    let sign = if both { "<->" } else { "->" };
    let found = IdiomMatch::new(CODE, headline, line.span(arrow, arrow)).label("a reaction").over(line.range.clone());
    let better = format!("{label}{first} {sign} {second}  {law}");
    let help = if Grammar::parse(Rule::reaction_line, &better).is_ok() {
        format!("write `{better}`")
    } else {
        "write a reaction as `A + B -> C  mass k`, or `bind: A + B <-> C  mass (kon, koff)`".to_owned()
    };
    Some((found.help(help), at + 1))
}

/// `A ->(k) B`, `A →[k] B`, `A --k--> B`: the law, the label of the reaction, the ends of its sides.
fn law_above<'a>(line: &Line<'a>, arrow: usize, from: usize) -> Option<(&'a str, &'a str, (usize, usize))> {
    let label = line.slice(0, from);
    if matches!(line.text(arrow + 1), "(" | "[") && line.touches(arrow) {
        let close = line.close(arrow + 1)?;
        return Some((line.slice(arrow + 2, close), label, (arrow, close + 1)));
    }
    let dashes = (from + 1..arrow).find(|&k| matches!(line.text(k), "-" | "--"))?;
    let first = (dashes..arrow).find(|&k| line.is_name(k))?;
    let last = (first + 1..=arrow).find(|&k| matches!(line.text(k), "-" | "--" | "->" | "-->"))?;
    let between = (dashes..arrow).filter(|k| !(first..last).contains(k));
    let double = line.span(dashes, first - 1).range().len() == 2;
    let plain = between.into_iter().all(|k| line.text(k).trim_matches('-').is_empty());
    (double && plain && line.text(arrow).ends_with('>')).then(|| (line.slice(first, last), label, (dashes, arrow + 1)))
}

fn is_reaction(line: &Line<'_>) -> bool {
    Grammar::parse(Rule::reaction_line, line.slice(0, line.tokens.len())).is_ok()
}

/// `S -> P  mm(Vm, Km)`, `S -> P  mass mm(Vm, Km)`, `S -> P, hill(S, Vm, Km, n)`: the law in full.
fn michaelis(scene: &Scene<'_>, line: &Line<'_>, arrow: usize) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    let at = (arrow + 1..end).find(|&k| MICHAELIS.contains(&line.text(k)) || HILL.contains(&line.text(k)))?;
    let word = line.text(at);
    let close = line.close(at + 1).filter(|_| line.text(at + 1) == "(" && !scene.is_function(word))?;
    let mut law = at;
    while matches!(line.text(law - 1), "," | ";" | "mass" | "rate" | "flow") {
        law -= 1;
    }
    let arguments = line.arguments(at + 1)?;
    let list: Vec<&str> = arguments.iter().map(|r| line.slice(r.start, r.end)).collect();
    let count = if HILL.contains(&word) { 3 } else { 2 };
    let from = (0..arrow).find(|&k| line.text(k) == ":").map_or(0, |k| k + 1);
    let (species, values) = match list.len().checked_sub(count)? {
        // the reactant
        0 if arrow == from + 1 => (line.text(from), &list[..]),
        1 => (list[0], &list[1..]),
        _ => return None,
    };
    if close + 1 < end || line.text(arrow) != "->" || !scene.states.contains(species) {
        return None;
    }
    let (most, half) = (operand(values[0]), operand(values[1]));
    let rate = match values.get(2) {
        Some(n) => {
            let n = operand(n);
            format!("{most}*{species}^{n}/({half}^{n} + {species}^{n})")
        }
        None => format!("{most}*{species}/({half} + {species})"),
    };
    let better = format!("{}  rate {rate}", line.slice(0, law));
    let found = IdiomMatch::new(CODE, "write this law of a reaction as its rate", line.span(at, close));
    Some(found.label("not declared").help(format!("write `{better}`")).over(line.range.clone()))
}

/// `A -> B  mass k [1/s]`: a unit after a law that would be right without it.
fn unit_of_law(line: &Line<'_>) -> Option<IdiomMatch> {
    let last = line.tokens.len().checked_sub(1)?;
    let open = (1..last).find(|&k| line.text(k) == "[" && line.close(k) == Some(last) && !line.touches(k - 1))?;
    Grammar::parse(Rule::reaction_line, line.slice(0, open)).ok()?;
    Some(
        IdiomMatch::new(&codes::E0119, "a unit cannot follow the law of a reaction", line.span(open, last))
            .label("a unit")
            .help("remove it: the units of the names determine the unit of the law; a number can end with a unit")
            .over(line.range.clone()),
    )
}

/// `A -> null  mass k`: an empty side is `0`.
fn nothing(scene: &Scene<'_>, line: &Line<'_>, arrow: usize) -> Option<IdiomMatch> {
    let at = (0..line.tokens.len()).find(|&k| NOTHING.contains(&line.text(k)) && !scene.is_declared(line.text(k)))?;
    let first = at == 0 || matches!(line.text(at - 1), ":") || at == arrow + 1;
    let last = at + 1 == arrow || LAWS.contains(&line.text(at + 1)) || matches!(line.text(at + 1), ";" | "," | "");
    (first && last).then(|| {
        IdiomMatch::new(CODE, "write `0` for a side of a reaction without species", line.span(at, at))
            .label("nothing")
            .write("0")
            .over(line.range.clone())
    })
}

/// `S -> n P  mass k`: the coefficient of a species must not be a name.
fn named_count(scene: &Scene<'_>, line: &Line<'_>, arrow: usize) -> Option<IdiomMatch> {
    let law = (arrow + 1..line.tokens.len()).find(|&k| LAWS.contains(&line.text(k)))?;
    let species = |k: usize| scene.states.contains(line.text(k));
    let at = (0..law).find(|&k| {
        let next = if line.text(k + 1) == "*" { k + 2 } else { k + 1 };
        line.is_name(k) && scene.is_declared(line.text(k)) && !species(k) && next < law && species(next)
    })?;
    let next = if line.text(at + 1) == "*" { at + 2 } else { at + 1 };
    let name = line.text(at);
    let declared = scene.lines.iter().filter(|other| matches!(other.text(0), "param" | "const")).find_map(|other| {
        let k = (1..other.tokens.len()).find(|&k| other.text(k) == name && other.text(k + 1) == "=")?;
        (other.kind(k + 2) == Some(TokenKind::Number)).then(|| other.text(k + 2))
    });
    let count = declared.unwrap_or("2");
    let better = format!(
        "{}{count} {}",
        line.between(line.range.start, line.tokens[at].start),
        line.slice(next, line.tokens.len())
    );
    let found = IdiomMatch::new(CODE, "write the coefficient of a species as a number", line.span(at, at));
    let found = found.label("a name").over(line.range.clone());
    if let Some([first, second]) = by_sides(line, arrow, law, (at, next)) {
        return Some(found.help(format!(
            "write a reaction for each side, so that the coefficient follows `{name}`: `{first}` and `{second}`"
        )));
    }
    Grammar::parse(Rule::reaction_line, &better).is_ok().then(|| {
        found.help(format!(
            "write a reaction for each side, with the factor in the law: `0 -> {}  rate {name}*v`; for a number that \
             never changes, write `{better}`",
            line.text(next)
        ))
    })
}

/// `S -> Y X  rate v` as `S -> 0  rate v` and `0 -> X  rate Y*v`; the name of the coefficient and the species are given.
fn by_sides(line: &Line<'_>, arrow: usize, law: usize, (at, species): (usize, usize)) -> Option<[String; 2]> {
    if at < arrow || line.text(arrow) != "->" {
        return None;
    }
    let value = line.slice(law + 1, line.tokens.len());
    let from = (0..arrow).find(|&k| line.text(k) == ":").map_or(0, |k| k + 1);
    let rate = match line.text(law) {
        "mass" => {
            // the law of mass action in full, for reactants that count once
            let single = (from..arrow).all(|k| line.is_name(k) || line.text(k) == "+");
            let reactants: Vec<&str> = (from..arrow).filter(|&k| line.is_name(k)).map(|k| line.text(k)).collect();
            single.then(|| format!("{}*{}", operand(value), reactants.join("*")))?
        }
        _ => operand(value),
    };
    let others = side(line, arrow + 1, at);
    let after = side(line, species + 1, law);
    let others: Vec<String> = [others, after].into_iter().filter(|side| side != "0").collect();
    let others = if others.is_empty() { "0".to_owned() } else { others.join(" + ") };
    let word = if line.text(law) == "flow" { "flow" } else { "rate" };
    let both = [
        format!("{} -> {others}  {} {value}", line.slice(0, arrow), line.text(law)),
        format!("0 -> {}  {word} {}*{rate}", line.text(species), line.text(at)),
    ];
    both.iter().all(|line| Grammar::parse(Rule::reaction_line, line).is_ok()).then_some(both)
}

/// The separator between the species and the law: `;`, `,`, `:`, `@`, `=`, `(`, or a name that follows a name.
fn separator(line: &Line<'_>, from: usize) -> Option<usize> {
    (from..line.tokens.len()).find(|&k| {
        matches!(line.text(k), ";" | "," | ":" | "@" | "=" | "(" | "{" | "[")
            || (k > from && line.is_name(k) && line.is_name(k - 1))
    })
}

/// Species with normalised blanks; `0` for an empty side.
fn side(line: &Line<'_>, from: usize, to: usize) -> String {
    let mut terms: Vec<String> = Vec::new();
    for part in line.slice(from, to).split('+') {
        let part = part.trim().trim_end_matches([';', ',']).trim();
        if part.is_empty() || part == "0" || NOTHING.contains(&part) {
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

/// The law in odec's notation.
fn law(line: &Line<'_>, (from, end): (usize, usize), given: bool, both: bool, reactants: &str) -> String {
    if given {
        let word = line.text(from);
        // `rate = k*A`
        let start = from + 1 + usize::from(matches!(line.text(from + 1), "=" | ":"));
        let text = line.slice(start, end);
        // `mass k, r`
        let pair = both && word == "mass" && text.contains(',') && !text.starts_with('(');
        return if pair { format!("{word} ({text})") } else { format!("{word} {text}") };
    }
    if LAWS.contains(&line.text(from)) {
        return format!("{} k", line.text(from));
    }
    let separated = matches!(line.text(from), ";" | "," | ":" | "@" | "=" | "{" | "[");
    let start = from + usize::from(separated);
    // `A <-> B; kf, kr`, `A <-> B  kf = 1, kr = 2`
    if let Some((forth, back)) = line.slice(start, end).split_once(',').filter(|_| both) {
        let name = |part: &str| part.split('=').next().unwrap_or_default().trim().to_owned();
        return format!("mass ({}, {})", name(forth), name(back));
    }
    // `A -> B, k = 2`
    let given = line.is_name(start) && line.text(start + 1) == "=" && line.kind(start + 2) == Some(TokenKind::Number);
    // nothing else declares a `k` with this value
    let start = if given { start + 2 } else { start };
    let end = if given { start + 1 } else { end };
    let text = line.slice(start, end).trim_end_matches([';', '}', ']']).trim().to_owned();
    if text.is_empty() {
        return if both { "mass (kf, kr)" } else { "mass k" }.to_owned();
    }
    let reads = |name: &str| {
        let names = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        names.into_iter().any(|word| word == name)
    };
    let species = reactants.split(" + ").filter_map(|term| term.rsplit(' ').next());
    let rate = species.into_iter().any(|name| name != "0" && reads(name)) || text.contains(['*', '/', '+']);
    format!("{} {text}", if rate { "rate" } else { "mass" })
}
