//! The check of a text: it parses, analyses and lowers the model once, gathers the diagnostics, and keeps the fixes
//! that help.

mod fixes;

use odec_ir::Span;

use crate::diagnostic::{Diagnostic, codes};
use crate::model::{self, Model, Overrides};
use crate::source::Source;
use crate::syntax::tree::Tree;
use crate::{lint, lower, parse, program, report, syntax};

/// The result of a check of a text.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The syntax tree of the statements that odec could parse.
    pub tree: Tree,
    /// The model, if there is no error.
    pub model: Option<Model>,
    /// All diagnostics, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Largest number of times that a text is checked again without the idioms of other languages found so far.
const MAX_ROUNDS: usize = 4;

/// Parses and checks a text. Also lowers it once with its own values, for diagnostics that need the whole system of
/// equations.
pub fn check(source: &Source) -> Checked {
    let mut checked = diagnose(source);
    let list = std::mem::take(&mut checked.diagnostics);
    let mut diagnostics: Vec<Diagnostic> = list.into_iter().map(report::clipped).collect();
    diagnostics.sort_by_key(Diagnostic::span);
    fixes::keep_operands_whole(source, &mut diagnostics);
    fixes::keep_distinct_names(source, &mut diagnostics);
    let mut mistakes = fixes::gathered(diagnostics);
    fixes::keep_effective_fixes(source, &mut mistakes);
    let mut diagnostics = mistakes.into_iter().map(|slip| slip.diagnostic).collect();
    syntax::shorten(&mut diagnostics);
    Checked { diagnostics, ..checked }
}

/// [`check`] with all suggested fixes, tested or not. A text with errors is parsed again without the idioms of other
/// languages.
fn diagnose(source: &Source) -> Checked {
    let mut checked = examine(source, parse::parse_whole(source));
    let mut places: Vec<Span> = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let known = places.len();
        // errors about parts are not idioms of other languages
        let other = |d: &&Diagnostic| d.is_error() && !d.code.is_about_parts();
        for diagnostic in checked.diagnostics.iter().filter(other) {
            places.extend(diagnostic.labels.iter().map(|label| label.span));
        }
        places.sort_unstable();
        places.dedup();
        if checked.tree.foreign || places.len() == known {
            break;
        }
        match parse::parse_without_idioms(source, &places) {
            Some(parsed) => checked = examine(source, parsed),
            None => break,
        }
    }
    checked.diagnostics.retain(|diagnostic| !lint::allowed(source, diagnostic));
    checked.diagnostics = of_parts(source, checked.diagnostics);
    checked
}

/// Diagnostics of a model with parts, without duplicates: a part that is used twice reports everything twice. An
/// unused declaration of a part is not a mistake.
pub fn of_parts(source: &Source, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if source.is_alone() {
        return diagnostics;
    }
    let mut once = model::phases::reports::Reports::default();
    let elsewhere = |span: Span| source.file_at(span.start as usize) > 0;
    let unused = |d: &Diagnostic| d.code == &codes::W0201 && d.span().is_some_and(elsewhere);
    once.extend(diagnostics.into_iter().filter(|d| !unused(d)).map(report::without_marks));
    once.into_list()
}

/// The phases after parsing: model, draft of the program, and warnings about probable mistakes.
fn examine(source: &Source, (tree, mut diagnostics): (Tree, Vec<Diagnostic>)) -> Checked {
    let readable = !diagnostics.iter().any(Diagnostic::is_error);
    let (model, more) = model::phases::analyse_after(&tree, source, readable);
    let Some(model) = model.filter(|_| readable) else {
        diagnostics.extend(more);
        return Checked { tree, model: None, diagnostics };
    };
    match lower::draft(&model, &Overrides::default())
        .and_then(|draft| program::check(&draft, &model))
        .map(|found| found.warnings)
    {
        Ok(warnings) => {
            diagnostics.extend(more.into_iter().chain(warnings));
            diagnostics.extend(lint::lint(&tree, source, &model));
            Checked { tree, model: Some(model), diagnostics }
        }
        Err(errors) => {
            // warnings about probable mistakes are omitted if there are errors
            diagnostics.extend(errors);
            Checked { tree, model: None, diagnostics }
        }
    }
}
