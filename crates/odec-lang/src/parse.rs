//! From a source to one tree: reads the file of the model, and puts the parts into it that it uses.

use odec_ir::Span;

use crate::assemble;
use crate::diagnostic::Diagnostic;
use crate::source::Source;
use crate::syntax::tree::Tree;
use crate::syntax::{Parsed, read_part, read_without_idioms, shorten};

/// Parses a source: the tree of all valid lines, and one diagnostic for each mistake, up to a limit.
pub fn parse(source: &Source) -> (Tree, Vec<Diagnostic>) {
    let (tree, mut diagnostics) = parse_whole(source);
    shorten(&mut diagnostics);
    (tree, diagnostics)
}

/// [`parse`] with all diagnostics.
pub(crate) fn parse_whole(source: &Source) -> (Tree, Vec<Diagnostic>) {
    let (tree, diagnostics) = read_part(source.model());
    with_parts(source, (tree, diagnostics), &[]).0
}

/// The tree with its parts, if their files were searched, and true if idioms of other languages were removed from lines
/// with these errors in the files of parts.
fn with_parts(source: &Source, (tree, mut diagnostics): Parsed, errors: &[Span]) -> (Parsed, bool) {
    if !source.is_linked() || !assemble::is_needed(&tree) {
        return ((tree, diagnostics), false);
    }
    let (tree, more, idioms) = assemble::assemble(source, tree, errors);
    diagnostics.extend(more);
    ((tree, diagnostics), idioms)
}

/// [`parse`] when the lines with errors are known: it reports and removes idioms of other languages on those lines.
/// `None` if there are none.
pub(crate) fn parse_without_idioms(source: &Source, errors: &[Span]) -> Option<Parsed> {
    let own = read_without_idioms(source, 0, errors);
    let found = own.is_some();
    if !found && source.is_alone() {
        return None;
    }
    let parsed = own.unwrap_or_else(|| read_part(source.model()));
    let (parsed, in_parts) = with_parts(source, parsed, errors);
    (found || in_parts).then_some(parsed)
}
