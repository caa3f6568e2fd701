//! Constructs whose meaning comes with a later version: one diagnostic for each feature, and nothing after it.

use odec_ir::Span;

use crate::diagnostic::Diagnostic;
use crate::report::{Build, error};
use crate::syntax::tree::{Later, Statement, StatementKind, Tree};

/// Most places that one feature points at: a model that uses it uses it everywhere.
const MAX_PLACES: usize = 3;

/// What is asked for, in the order in which it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Feature {
    Modules,
}

impl Feature {
    fn code(self) -> &'static str {
        match self {
            Feature::Modules => "E0506",
        }
    }

    fn headline(self) -> &'static str {
        match self {
            Feature::Modules => "`use` of another file is not part of this version",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Feature::Modules => "copy the equations into this file",
        }
    }
}

/// One diagnostic for each feature that the tree asks for.
pub(super) fn find(tree: &Tree) -> Vec<Diagnostic> {
    let mut found: Vec<(Feature, Span)> = Vec::new();
    for statement in &tree.statements {
        statement_features(statement, &mut found);
    }
    found.sort();
    let mut said: Vec<Feature> = Vec::new();
    let mut diagnostics = Vec::new();
    for &(feature, span) in &found {
        if said.contains(&feature) {
            continue;
        }
        said.push(feature);
        let others = found.iter().filter(|(f, _)| *f == feature).map(|f| f.1).skip(1);
        let report = error(feature.code(), feature.headline(), span, "").help(feature.help());
        diagnostics.push(report.also_some(others, "", MAX_PLACES));
    }
    diagnostics
}

fn statement_features(statement: &Statement, found: &mut Vec<(Feature, Span)>) {
    let StatementKind::Later(later) = &statement.kind else { return };
    let feature = match later {
        Later::Index(..) | Later::Boundary(..) | Later::Input(..) => return,
        Later::Use(..) => Feature::Modules,
    };
    found.push((feature, statement.span));
}
