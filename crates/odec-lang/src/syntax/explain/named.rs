//! `model`, `time`, `unit` and `units`: statements with one name. Words of statements among the items of a list.

use odec_ir::Span;

use super::{Scene, token::Token, token::TokenKind};
use crate::diagnostic::{Diagnostic, codes};

/// `units x = mV`
fn units(scene: &Scene<'_>, word: &str) -> Option<Diagnostic> {
    let here = scene.here().filter(|_| word == "units" && scene.at >= 1)?;
    let error = scene.error(&codes::E0118, "`units` takes one word").label(scene.span(here), "unexpected");
    Some(error.help(
        "write `units strict`, `units relaxed` or `units off`; a name gets its unit in its declaration, `state x = 1 \
         [mV]`",
    ))
}

/// `time [h]`
fn time(scene: &Scene<'_>, word: &str) -> Option<Diagnostic> {
    let here = scene.here().filter(|&here| word == "time" && scene.at == 1 && scene.text(here) == "[")?;
    let unit = scene.line[here.start..].trim();
    Some(
        scene
            .error(&codes::E0118, "a name is missing before the unit of time")
            .label(scene.span(here), "before this")
            .help(format!("write `time t {unit}`"))
            .fix(scene.ahead_of(here), "t "),
    )
}

/// `time t = [min]`, `time t in minutes`, `time t, min`
fn unit_of_time(scene: &Scene<'_>, word: &str) -> Option<Diagnostic> {
    let here = scene.here().filter(|_| word == "time" && scene.at == 2)?;
    let name = scene.text(scene.before()?);
    let units = crate::units::Units::default();
    let words = scene.line[here.start..].split(|c: char| !c.is_alphabetic());
    let unit = words.filter(|word| !word.is_empty() && *word != "in").find(|word| units.knows(word))?;
    let better = format!("time {name} [{unit}]");
    Some(
        scene
            .error(&codes::E0118, "the unit of time follows its name in brackets")
            .label(scene.span(here), "unexpected")
            .help(format!("write `{better}`")),
    )
}

/// A wrong line of one of these statements.
pub(super) fn named(scene: &Scene<'_>) -> Option<Diagnostic> {
    let word = scene.tokens.first().map(|&token| scene.text(token)).unwrap_or_default();
    if let ("unit", Some(here)) = (word, scene.here().filter(|_| scene.at >= 2)) {
        return Some(own_unit(scene, here));
    }
    if let Some(special) = units(scene, word).or_else(|| time(scene, word)).or_else(|| unit_of_time(scene, word)) {
        return Some(special);
    }
    let what = if word == "model" { "a model" } else { "the variable of time" };
    let Some(here) = scene.here() else {
        let last = scene.before()?;
        return Some(
            scene
                .error(&codes::E0128, format!("a name is missing after `{word}`"))
                .label(scene.span(last), "after this")
                .help(match word {
                    "model" => "write `model NAME`",
                    "unit" => "write `unit cell`",
                    "units" => "write `units strict`, `units relaxed` or `units off`",
                    _ => "write `time t [ms]`",
                }),
        );
    };
    (scene.at >= 2 && here.kind != TokenKind::Open).then(|| {
        scene
            .error(&codes::E0118, format!("{what} takes one name"))
            .label(scene.span(here), "unexpected")
            .help("a name consists of letters, digits and `_`")
    })
}

/// `unit substance = 1e-9 mole`: a unit composed of others already has a name, or can be written as a composition.
fn own_unit(scene: &Scene<'_>, here: Token) -> Diagnostic {
    let report = scene
        .error(&codes::E0118, "`unit` declares a unit with its own dimension, independent of all other units")
        .label(scene.span(here), "no value");
    let text = scene.line[here.end..].trim_start_matches(['=', ':', ' ']).trim_end_matches([';', ' ']);
    let units = crate::units::Units::default();
    let known = units.read(text).ok().filter(|_| scene.text(here) == "=");
    report.help(match known {
        Some(read) => format!("remove the line, and write `[{}]` where you use the unit", units.text(&read.unit)),
        None => "write `unit cell` to count something of your own; use other units directly: `[nmol/L]`".to_owned(),
    })
}

/// `param k = 2, state x = 1` and `output y = x, when x > 0`: the word of a statement where an item begins.
pub(super) fn word_of_statement(scene: &Scene<'_>, word: &str, before: Token, here: Token) -> Option<Diagnostic> {
    let comma = scene.at.checked_sub(2).and_then(|at| scene.tokens.get(at)).filter(|t| t.kind == TokenKind::Comma)?;
    let text = scene.text(before);
    let keyword = super::words::is_keyword(text).filter(|_| here.kind != TokenKind::Equals)?;
    if text == "when" {
        let condition = scene.line[before.end..].trim();
        let report = scene
            .error(&codes::E0118, format!("an item of `{word}` has no condition"))
            .label(scene.span(before), "not here");
        // the item before the comma
        let item = scene.line[..comma.start].trim_start_matches(word).rsplit(',').next().unwrap_or_default();
        let (name, value) = item.split_once('=').unwrap_or((item, item));
        let (name, value) = (name.trim(), value.trim());
        return Some(report.help(format!(
            "for a value that depends on a condition, write `{word} {name} = if {condition} then {value} else 0`"
        )));
    }
    let report = scene
        .error(&codes::E0118, "a statement begins in the middle of a line")
        .label(scene.span(before), format!("`{text}` begins a statement"))
        .help("write it on its own line, without the comma before it");
    let declares = matches!(text, "param" | "const" | "state" | "output" | "discrete" | "unknown" | "index");
    let gap = Span::new(scene.base + comma.start, scene.base + before.start);
    Some(if declares && !keyword.takes_block() && here.kind == TokenKind::Name {
        report.fix(gap, "\n")
    } else {
        report
    })
}

/// `f(x, K = 2)`: a name and `=` between the commas of a call or of a vector.
pub(super) fn names_argument(scene: &Scene<'_>) -> bool {
    let open = scene.bracket().filter(|&open| scene.text(open) == "(" && !scene.wants("`then`"));
    let Some(at) = open.and(scene.brackets.last().copied()) else { return false };
    let first = scene.at >= 2 && matches!(scene.text(scene.tokens[scene.at - 2]), "(" | ",");
    let close = (at..scene.tokens.len()).find(|&k| scene.text(scene.tokens[k]) == ")").unwrap_or(scene.tokens.len());
    let comma = (at..close).any(|k| scene.text(scene.tokens[k]) == ",");
    first && comma && scene.before().is_some_and(|before| before.kind == TokenKind::Name)
}

/// The message about `f(x, K = 2)`.
pub(super) fn argument(scene: &Scene<'_>, before: Token, here: Token) -> Diagnostic {
    scene
        .error(&codes::E0124, "an argument has no name, and a comparison is written with `==`")
        .label(scene.span(here), "not here")
        .help(format!(
            "write the values alone, in their order; or write `{} == ...` for a comparison",
            scene.text(before)
        ))
}
