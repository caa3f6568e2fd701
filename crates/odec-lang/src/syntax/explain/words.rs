//! The first word of a line: a misspelt keyword, a keyword in the wrong place, a word of another language.

use odec_ir::Span;

use super::{Scene, token::Token, token::TokenKind, token::tokens};
use crate::diagnostic::{Diagnostic, codes};
use crate::suggest;
use crate::syntax::grammar::Rule;
use crate::syntax::keyword::{KEYWORDS, Keyword};

/// Names in other languages.
const SYNONYMS: [(&str, &str); 41] = [
    ("parameter", "param"),
    ("parameters", "param"),
    ("par", "param"),
    ("constant", "const"),
    ("constants", "const"),
    ("states", "state"),
    ("var", "state"),
    ("variable", "state"),
    ("species", "state"),
    ("function", "fn"),
    ("func", "fn"),
    ("def", "fn"),
    ("aux", "output"),
    ("observable", "output"),
    ("import", "use"),
    ("include", "use"),
    ("assert", "expect"),
    ("algebraic", "unknown"),
    ("event", "when"),
    ("simulate", "run"),
    ("static", "param"),
    ("val", "param"),
    ("coefficient", "param"),
    ("variables", "state"),
    ("auxiliary", "output"),
    ("observables", "output"),
    ("outputs", "output"),
    ("functions", "fn"),
    ("fun", "fn"),
    ("dependent", "state"),
    ("solve", "run"),
    ("simulation", "run"),
    ("integrate", "run"),
    ("observe", "output"),
    ("observed", "output"),
    ("record", "output"),
    ("watch", "output"),
    ("track", "output"),
    ("measure", "output"),
    ("probe", "output"),
    ("save", "output"),
];

/// The keywords in other human languages.
const TRANSLATED: [(&str, &str); 18] = [
    ("zustand", "state"),
    ("zustände", "state"),
    ("konstante", "const"),
    ("ausgabe", "output"),
    ("lauf", "run"),
    ("wenn", "when"),
    ("modèle", "model"),
    ("paramètre", "param"),
    ("parametre", "param"),
    ("état", "state"),
    ("etat", "state"),
    ("constante", "const"),
    ("sortie", "output"),
    ("quand", "when"),
    ("modelo", "model"),
    ("parámetro", "param"),
    ("estado", "state"),
    ("salida", "output"),
];

/// Words that close or head a section elsewhere and are not needed here.
const NEEDLESS: [&str; 11] = [
    "end",
    "done",
    "begin",
    "equations",
    "equation",
    "endmodel",
    "initial",
    "pass",
    "algorithm",
    "protected",
    "public",
];

/// The keyword that was probably meant.
fn meant(word: &str, block: bool) -> Option<&'static str> {
    let small = word.to_lowercase();
    if let Some((_, better)) = SYNONYMS.iter().chain(&TRANSLATED).find(|(other, _)| *other == small) {
        let block_word = is_keyword(better).is_some_and(Keyword::takes_block);
        return (block == block_word).then_some(*better);
    }
    let words = KEYWORDS
        .iter()
        .filter(|(_, keyword)| block == keyword.takes_block() || *keyword == Keyword::Use)
        .map(|(word, _)| *word);
    match suggest::nearest(word, words).as_slice() {
        [one, ..] if *one != word => Some(one),
        _ => None,
    }
}

pub(super) fn explain(scene: &Scene<'_>) -> Option<Diagnostic> {
    let first = *scene.tokens.first()?;
    let word = scene.text(first);
    if !matches!(scene.rule, Rule::equation_line | Rule::entry_line | Rule::part_entry) {
        return None;
    }
    if first.kind == TokenKind::Name && scene.rule == Rule::equation_line && scene.tokens.len() == 1 {
        return Some(lone(scene, word));
    }
    if let Some(diagnostic) = equals_too_early(scene) {
        return Some(diagnostic);
    }
    let here = scene.here().filter(|_| scene.at == 1)?;
    if first.kind != TokenKind::Name || scene.touching(first, here) && here.kind != TokenKind::Text {
        return None;
    }
    let could_follow = here.begins_value() || (here.kind == TokenKind::Operator && scene.text(here) == "-");
    if !could_follow {
        return None;
    }
    let in_block = scene.rule == Rule::entry_line;
    let meant = match meant(word, false) {
        Some(better) if !in_block || better == "expect" => Some(better),
        _ => None,
    };
    let keyword = KEYWORDS.iter().any(|(keyword, _)| *keyword == scene.text(here));
    if let Some(better) = meant {
        let diagnostic = scene
            .error(&codes::E0117, format!("`{word}` cannot begin a statement"))
            .label(scene.span(first), "unknown word")
            .help(format!("write `{better}`"));
        return Some(diagnostic.fix(scene.span(first), better));
    }
    let follows = scene.after().map(|next| scene.text(next));
    if keyword && !in_block && scene.text(here) == "time" && follows == Some("=") {
        return Some(
            scene
                .error(&codes::E0117, format!("`{word}` cannot begin a statement"))
                .label(scene.span(first), "unknown word")
                .help("the independent variable is `t`; write `time tau` for another name"),
        );
    }
    if keyword && !in_block && word == "steady" {
        return Some(
            scene
                .error(&codes::E0117, format!("`{word}` cannot begin a statement"))
                .label(scene.span(first), "not a part of a model")
                .help("remove the line: `odec steady FILE` finds the steady state of a model"),
        );
    }
    if keyword && !in_block {
        let both = Span::new(scene.base + first.start, scene.base + here.end);
        let swapped = format!("{} {word}", scene.text(here));
        return Some(
            scene
                .error(&codes::E0117, format!("`{}` must be the first word of its line", scene.text(here)))
                .label(scene.span(here), "a statement begins with this word")
                .label(scene.span(first), "but this stands before it")
                .help(format!("write `{swapped}`"))
                .fix(both, swapped),
        );
    }
    if here.kind == TokenKind::Name && !in_block && word != "let" {
        return Some(
            scene
                .error(&codes::E0117, format!("`{word}` cannot begin a statement"))
                .label(scene.span(first), "unknown word")
                .label(scene.span(here), "an operator or `=` is missing after it")
                .help("write a definition as `name = ...`, and an equation as `name' = ...`"),
        );
    }
    if word == "let" {
        return Some(
            scene
                .error(&codes::E0117, "a definition needs no `let`")
                .label(scene.span(first), "not needed")
                .fix(Span::new(scene.base + first.start, scene.base + here.start), ""),
        );
    }
    None
}

/// `param = c 3`: the keyword became a name because `=` follows it.
fn equals_too_early(scene: &Scene<'_>) -> Option<Diagnostic> {
    let (Some(&first), Some(&equals), Some(&name)) = (scene.tokens.first(), scene.tokens.get(1), scene.tokens.get(2))
    else {
        return None;
    };
    let here = scene.here().filter(|here| scene.at == 3 && here.begins_value())?;
    let keyword = is_keyword(scene.text(first)).filter(|keyword| !keyword.takes_block())?;
    let fits = equals.kind == TokenKind::Equals && name.kind == TokenKind::Name && !scene.touching(name, here);
    let better = format!(" {} =", scene.text(name));
    fits.then(|| {
        scene
            .error(&codes::E0118, format!("`=` comes before the name that `{}` declares", keyword.word()))
            .label(scene.span(equals), "too early")
            .help(format!("write `{}{better} ...`", keyword.word()))
            .fix(Span::new(scene.base + first.end, scene.base + name.end), better)
    })
}

/// A line with a single word.
fn lone(scene: &Scene<'_>, word: &str) -> Diagnostic {
    let span = scene.tokens.first().map(|&first| scene.span(first)).unwrap_or_default();
    let diagnostic =
        scene.error(&codes::E0117, format!("`{word}` alone is not a statement")).label(span, "a single word");
    if NEEDLESS.contains(&word) {
        return diagnostic.help("remove the line: odec needs no headings and no ends of sections").fix(span, "");
    }
    match meant(word, false) {
        Some(better) => diagnostic.help(format!("did you mean a statement with `{better}`?")),
        None => diagnostic.help("write a definition as `name = ...`, or the name of the model as `model NAME`"),
    }
}

/// `INFLOWS:`, `k: 1`
pub(super) fn label(scene: &Scene<'_>, here: Token) -> Diagnostic {
    let Some(value) = scene.after() else {
        return scene
            .error(&codes::E0118, "a model has no headings")
            .label(scene.span(here), "a heading")
            .help("remove the line");
    };
    let name = scene.before().map_or("name", |before| scene.text(before));
    let end = scene.tokens.last().map_or(value.end, |last| last.end);
    let value = scene.line[value.start..end].trim_end();
    let report = scene.error(&codes::E0118, "a statement has no label").label(scene.span(here), "this `:`");
    if value.contains(['=', ':', '{']) {
        return report.help("write a definition as `name = ...`, and an equation as `name' = ...`");
    }
    report.help(format!(
        "write `param {name} = {value}` for a constant, `{name} = {value}` for a definition, and `{name}' = {value}` \
         for an equation"
    ))
}

/// A block after a word that has none.
pub(super) fn unknown_block(line: &str, base: usize, open: usize) -> Diagnostic {
    let tokens = tokens(line);
    let brace = Span::new(open, open + 1);
    let Some(first) = tokens.first().copied() else {
        return Diagnostic::error(&codes::E0111, "a block needs a word before it")
            .label(brace, "no word before this `{`")
            .help("write for example `run {`");
    };
    let word = first.text(line);
    let span = Span::new(base + first.start, base + first.end);
    let plain = !tokens.iter().any(|token| token.kind == TokenKind::Equals);
    if let Some(diagnostic) = super::events::block(word, line, span).filter(|_| plain) {
        return diagnostic;
    }
    if first.kind == TokenKind::Name && plain {
        if let Some(better) = meant(word, true) {
            return Diagnostic::error(&codes::E0117, format!("`{word}` does not begin a block"))
                .label(span, "unknown word")
                .help(format!("write `{better}`"))
                .fix(span, better);
        }
        if let Some(second) = tokens.get(1)
            && KEYWORDS.iter().any(|(text, keyword)| keyword.takes_block() && *text == second.text(line))
        {
            let swapped = format!("{} {word}", second.text(line));
            let both = Span::new(base + first.start, base + second.end);
            return Diagnostic::error(
                &codes::E0117,
                format!("`{}` must be the first word of its line", second.text(line)),
            )
            .label(Span::new(base + second.start, base + second.end), "a block begins with this word")
            .help(format!("write `{swapped}`"))
            .fix(both, swapped);
        }
        return Diagnostic::error(&codes::E0117, format!("`{word}` does not begin a block"))
            .label(span, "unknown word")
            .label(brace, "before this `{`")
            .help("blocks follow `run`, `params NAME`, `when`, `at`, `every` and `use`");
    }
    Diagnostic::error(&codes::E0111, "an expression has no braces").label(brace, "this `{`").help(
        "group with `( )`, and write a table with `[ ]`; blocks follow `run`, `params NAME`, `when`, `at`, \
             `every` and `use`",
    )
}

/// The keyword with which statements start, if the word is one.
pub(super) fn is_keyword(word: &str) -> Option<Keyword> {
    KEYWORDS.iter().find(|(text, _)| *text == word).map(|(_, keyword)| *keyword)
}

/// `x' -= k*x`
pub(super) fn compound(scene: &Scene<'_>, here: Token, diagnostic: Diagnostic) -> Diagnostic {
    let left = scene.line.get(..here.start).unwrap_or_default().trim();
    let sign = scene.text(here).chars().next().unwrap_or('+');
    let alone = if sign == '-' { "; if this is the only term, `-=` means `= -(...)`" } else { "" };
    let help = format!("write one equation with all terms, `{left} = ... {sign} ...`{alone}");
    diagnostic.label(scene.span(here), "an equation gives the whole value").help(help)
}
