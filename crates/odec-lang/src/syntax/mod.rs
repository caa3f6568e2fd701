//! From the text of one file to its tree: masking, logical lines, the pest grammar, and the syntax tree.
//!
//! Reading never fails: it returns a tree of the readable lines and a diagnostic for each unreadable one.

mod ascending;
mod build;
mod dialect;
mod docs;
mod explain;
mod grammar;
mod idiom;
mod input;
pub(crate) mod keyword;
mod lines;
mod mask;
pub(crate) mod operand;
mod print;
mod reaction_checks;
mod simulator;
pub mod size;
pub mod tree;
pub(crate) mod visit;

pub(crate) use idiom::{
    absent_function, foreign_function, is_operand, looks_latin, root_of, rounded, without_brackets,
};

use odec_ir::Span;

use crate::diagnostic::{Diagnostic, codes};
use crate::limits;
use crate::source::Source;
use tree::Tree;

/// A tree, and the messages about its text.
pub(crate) type Parsed = (Tree, Vec<Diagnostic>);

/// Parses one file.
pub(crate) fn read_part(text: &str) -> (Tree, Vec<Diagnostic>) {
    let masked = mask::mask(text);
    if let Some(diagnostic) = dialect::recognise(&masked.text) {
        return (Tree { foreign: true, ..Tree::default() }, vec![diagnostic]);
    }
    read(text, &masked)
}

/// True for a word that starts a statement, or that cannot be a name. Writers of models must not use it as a name.
pub fn is_word_of_the_language(word: &str) -> bool {
    keyword::RESERVED.contains(&word) || keyword::KEYWORDS.iter().any(|(keyword, _)| *keyword == word)
}

/// True if a name occurs in a text of an expression.
pub(crate) fn has_word(text: &str, name: &str) -> bool {
    text.split(|c: char| !keyword::is_name_char(c)).any(|word| word == name)
}

/// A text with blanked comments; positions do not change.
pub(crate) fn without_comments(text: &str) -> String {
    mask::mask(text).text
}

/// Parses one file without idioms of other languages on lines with these errors of the whole source. Places are those
/// in the file. `None` if there are no idioms.
pub(crate) fn read_without_idioms(source: &Source, file: usize, errors: &[Span]) -> Option<Parsed> {
    let (text, range) = (source.file_text(file), source.range(file));
    let inside = |span: &&Span| range.start <= span.start as usize && span.end as usize <= range.end;
    let start = range.start as u32;
    let moved = |span: &Span| Span { start: span.start - start, end: span.end - start, ..*span };
    let own: Vec<Span> = errors.iter().filter(inside).map(moved).collect();
    if own.is_empty() {
        return None;
    }
    let masked = mask::mask(text);
    let taken = idiom::take(&masked.text, &own)?;
    let (mut tree, mut diagnostics) = read(text, &mask::Masked { text: taken.text, ..masked });
    tree.broken.extend(taken.names);
    tree.broken.sort();
    tree.broken.dedup();
    // a comment may have lost its item
    diagnostics.retain(|diagnostic| diagnostic.code != &codes::W0101);
    diagnostics.extend(taken.diagnostics);
    diagnostics.sort_by_key(|diagnostic| diagnostic.span().map_or(0, |span| span.start));
    Some((tree, diagnostics))
}

/// Reads a text without its comments.
fn read(text: &str, masked: &mask::Masked) -> (Tree, Vec<Diagnostic>) {
    let mut diagnostics: Vec<Diagnostic> = masked.slashes.iter().map(|&at| slashes(text, at)).collect();
    let cut = lines::cut(text, &masked.text);
    // a bracket that closes after `//` is not missing
    let hidden = |diagnostic: &Diagnostic| {
        let Some(span) = diagnostic.span().filter(|_| diagnostic.code == &codes::E0108) else { return false };
        let after = |at: &&usize| **at > span.start as usize && !text[span.start as usize..**at].contains('\n');
        masked
            .slashes
            .iter()
            .find(after)
            .is_some_and(|&at| text[at..].lines().next().is_some_and(|rest| rest.contains([')', ']'])))
    };
    diagnostics.extend(cut.diagnostics.into_iter().filter(|diagnostic| !hidden(diagnostic)));
    let mut builder = build::Builder::new(&masked.text);
    for piece in &cut.pieces {
        builder.piece(piece);
    }
    let (mut tree, found) = builder.finish();
    diagnostics.extend(found);
    diagnostics.extend(docs::attach(text, &masked.docs, &mut tree));
    without_ends(text, &mut diagnostics);
    diagnostics.sort_by_key(|diagnostic| diagnostic.span().map_or(0, |span| span.start));
    (tree, diagnostics)
}

/// Removes the `;` at the end of a line that is no statement from the message about them: the line is to be rewritten.
fn without_ends(text: &str, diagnostics: &mut Vec<Diagnostic>) {
    let unknown = |diagnostic: &&Diagnostic| {
        (diagnostic.code == &codes::E0117 || diagnostic.code == &codes::E0128) && diagnostic.fixes.is_empty()
    };
    let lines: Vec<usize> =
        diagnostics.iter().filter(unknown).filter_map(|found| Some(found.span()?.start as usize)).collect();
    let line_of = |at: usize| text[..at].rfind('\n');
    let lines: std::collections::HashSet<Option<usize>> = lines.into_iter().map(line_of).collect();
    if lines.is_empty() {
        return;
    }
    diagnostics.retain_mut(|found| {
        let ends = found.code == &codes::E0126 && found.fixes.iter().any(|fix| fix.text.is_empty());
        if !ends {
            return true;
        }
        found.fixes.retain(|fix| !(fix.text.is_empty() && lines.contains(&line_of(fix.span.start as usize))));
        if let (Some(fix), Some(label)) = (found.fixes.first(), found.labels.first_mut()) {
            label.span = fix.span;
        }
        !found.fixes.is_empty()
    });
}

/// Limits the errors and warnings about syntax, of a file that is not a model.
pub(crate) fn shorten(diagnostics: &mut Vec<Diagnostic>) {
    let of_syntax = |diagnostic: &Diagnostic| diagnostic.code.is_about_syntax();
    if diagnostics.iter().filter(|diagnostic| of_syntax(diagnostic)).count() <= limits::MAX_REPORTED {
        return;
    }
    // the model remains rejected: no warning comes before an error
    diagnostics.sort_by_key(|diagnostic| !diagnostic.is_error());
    let (mut kept, mut last) = (0, 0);
    let mut at = 0;
    let before = diagnostics.len();
    diagnostics.retain(|diagnostic| {
        let keep = !of_syntax(diagnostic) || kept < limits::MAX_REPORTED;
        if keep && of_syntax(diagnostic) {
            (kept, last) = (kept + 1, at);
        }
        at += usize::from(keep);
        keep
    });
    let count = format!("{} more errors and warnings not shown", before - diagnostics.len());
    if let Some(last) = diagnostics.get_mut(last) {
        last.help = Some(last.help.take().map_or(count.clone(), |help| format!("{help}; {count}")));
    }
}

/// `//` in the middle of a line: a comment in some languages, an integer division in others.
fn slashes(source: &str, at: usize) -> Diagnostic {
    let diagnostic = Diagnostic::error(&codes::E0112, "`//` is a comment only at the start of a line")
        .label(Span::new(at, at + 2), "is this a comment or a division?");
    let rest = source[at + 2..].lines().next().unwrap_or_default().trim();
    let words: Vec<&str> = rest.split_whitespace().collect();
    let prose = |pair: &[&str]| {
        pair.iter().all(|word| word.chars().all(char::is_alphabetic)) && pair.iter().any(|word| word.len() > 1)
    };
    if words.windows(2).any(prose) {
        return diagnostic.help("write `#` for a comment").fix(Span::new(at, at + 2), "#");
    }
    diagnostic.help("write `#` for a comment, or `floor(a/b)` for whole-number division")
}
