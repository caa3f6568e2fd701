//! Refuses parts if the host provides no files.

use crate::diagnostic::{Diagnostic, codes};
use crate::report::error;
use crate::syntax::tree::{Later, StatementKind, Tree};

/// One diagnostic for each `use` that is still in the tree.
pub(super) fn find(tree: &Tree) -> Vec<Diagnostic> {
    let parts = tree.statements.iter().filter_map(|statement| match &statement.kind {
        StatementKind::Later(Later::Use(part)) => Some(part),
        _ => None,
    });
    let report = |part: &crate::syntax::tree::UsedPart| {
        let headline = format!("odec does not read `{}`: this program gives models no access to files", part.file);
        error(&codes::E0580, headline, part.file_span, "used here")
            .help("copy the part into the model, or give the program the files")
    };
    parts.map(report).collect()
}
