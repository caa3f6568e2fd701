//! Reactions whose left side is written in another way: `(2) S -> P`, `R1 = S -> P`, `S, Q -> P`, `(k1, k2), A <--> B`.

use pest::Parser;

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::TokenKind;
use crate::syntax::grammar::{Grammar, Rule};

const CODE: &Code = &codes::E0125;
/// Arrows in both directions in other languages, and in one.
const BOTH: [&str; 7] = ["<-->", "<==>", "↔", "⇄", "⇌", "<->", "<=>"];
const ONE: [&str; 3] = ["-->", "→", "->"];

fn is_reaction(text: &str) -> bool {
    Grammar::parse(Rule::reaction_line, text).is_ok()
}

pub(super) fn reaction(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    coefficient(line)
        .or_else(|| named(line))
        .or_else(|| pair(line))
        .or_else(|| constant_first(scene, line))
        .or_else(|| species(scene, line))
        .or_else(|| one_constant(line))
}

fn found(line: &Line<'_>, headline: &str, (from, to): (usize, usize), better: &str) -> IdiomMatch {
    let found = IdiomMatch::new(CODE, headline, line.span(from, to)).label("a reaction");
    found.help(format!("write `{better}`")).over(line.range.clone())
}

/// `(2) S -> P mass 1`: the coefficient has no brackets.
fn coefficient(line: &Line<'_>) -> Option<IdiomMatch> {
    let open = (0..line.tokens.len()).find(|&k| {
        line.text(k) == "("
            && line.kind(k + 1) == Some(TokenKind::Number)
            && line.text(k + 2) == ")"
            && line.is_name(k + 3)
    })?;
    let text = line.slice(0, line.tokens.len());
    let better = text.replacen(line.slice(open, open + 3), line.text(open + 1), 1);
    (!is_reaction(text) && is_reaction(&better))
        .then(|| found(line, "a coefficient stands before its species without brackets", (open, open + 2), &better))
}

/// `R1 = S -> P mass 1`
fn named(line: &Line<'_>) -> Option<IdiomMatch> {
    let rest = line.slice(2, line.tokens.len());
    let better = format!("{}: {rest}", line.text(0));
    let fits = line.is_name(0) && line.text(1) == "=" && is_reaction(&better);
    fits.then(|| found(line, "a colon follows the name of a reaction", (1, 1), &better))
}

/// `(k1, k2), A <--> B`: Catalyst puts the constants first.
fn pair(line: &Line<'_>) -> Option<IdiomMatch> {
    let close = line.close(0).filter(|&k| line.text(0) == "(" && line.text(k + 1) == ",")?;
    let text = line.slice(close + 2, line.tokens.len());
    let constants = line.slice(0, close + 1);
    let better = BOTH.iter().find_map(|arrow| {
        let (left, right) = text.split_once(arrow)?;
        Some(format!("{} <-> {}  mass {constants}", left.trim(), right.trim()))
    })?;
    is_reaction(&better).then(|| found(line, "the constants of a reaction come after its species", (0, close), &better))
}

/// `k, A --> B`: Catalyst puts the constant first. A double arrow has a rate, without the amounts of the reactants.
fn constant_first(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let comma = line.find(1, ",")?;
    // `S, Q -> P` has species only
    if (0..comma).all(|k| line.text(k) == "," || scene.states.contains(line.text(k))) {
        return None;
    }
    let moves = (0..comma).any(|k| scene.states.contains(line.text(k)));
    let constant = line.slice(0, comma);
    let text = line.slice(comma + 1, line.tokens.len());
    // longer arrows come first: `-->` contains `->`
    let better = ["=>", "-->", "→", "->"].iter().find_map(|arrow| {
        let (left, right) = text.split_once(arrow)?;
        let (left, right) = (left.trim(), right.trim());
        let law = match *arrow {
            "=>" => format!("rate {constant}"),
            // the law of mass action multiplies by the amount
            _ if moves && scene.states.contains(left) => format!("rate {constant}*{left}"),
            _ if moves => return None,
            _ => format!("mass {constant}"),
        };
        Some(format!("{left} -> {right}  {law}"))
    })?;
    is_reaction(&better).then(|| found(line, "the rate of a reaction comes after its species", (0, comma), &better))
}

/// `S, Q -> P mass 1`, where both are states.
fn species(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let arrow = (0..line.tokens.len()).find(|&k| ONE.contains(&line.text(k)) || BOTH.contains(&line.text(k)))?;
    let commas: Vec<usize> = (0..arrow).filter(|&k| line.text(k) == ",").collect();
    let all = (0..arrow).all(|k| line.text(k) == "," || scene.states.contains(line.text(k)));
    let better = format!(
        "{} {}",
        line.slice(0, arrow).replace(',', " +").replace("  ", " "),
        line.slice(arrow, line.tokens.len())
    );
    let first = *commas.first()?;
    (all && is_reaction(&better)).then(|| found(line, "a `+` joins the species of a reaction", (first, first), &better))
}

/// `A ⇄ B mass 1` and `A = B mass (kf, kr)`: an arrow in both directions takes two constants.
fn one_constant(line: &Line<'_>) -> Option<IdiomMatch> {
    let law = line.find(1, "mass").filter(|&k| k + 1 < line.tokens.len())?;
    let two = line.text(law + 1) == "("
        && line.arguments(law + 1)?.len() == 2
        && line.close(law + 1)? + 1 == line.tokens.len();
    let text = line.slice(0, law);
    let headline = "an arrow in both directions takes two constants";
    if two && line.find(1, "=").is_some_and(|k| k < law) {
        let better = format!("{} {}", text.replacen('=', "<->", 1), line.slice(law, line.tokens.len()));
        let sign = line.find(1, "=")?;
        return is_reaction(&better).then(|| {
            found(line, "the species of a reaction stand around an arrow, not around `=`", (sign, sign), &better)
        });
    }
    let arrow = BOTH[..4].iter().find(|arrow| text.contains(**arrow))?;
    let value = line.slice(law + 1, line.tokens.len());
    let back = format!("{} mass ({value}, kr)", text.replacen(arrow, "<->", 1));
    let forth = format!("{} mass {value}", text.replacen(arrow, "->", 1));
    (!two && is_reaction(&back) && is_reaction(&forth)).then(|| {
        let found = IdiomMatch::new(CODE, headline, line.span(law, law)).label("one constant").over(line.range.clone());
        found.help(format!("write `{back}` with a constant for the way back, or `{forth}`"))
    })
}
