//! Constructs whose meaning comes with a later version: one diagnostic for each feature, and nothing after it.

use odec_ir::Span;

use crate::diagnostic::Diagnostic;
use crate::report::{Build, error};
use crate::syntax::tree::{ExprKind, Later, Statement, StatementKind, Tree};

/// Most places that one feature points at: a model that uses it uses it everywhere.
const MAX_PLACES: usize = 3;

/// What is asked for, in the order in which it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Feature {
    Data,
    Modules,
    Smooth,
}

impl Feature {
    fn code(self) -> &'static str {
        match self {
            Feature::Data => "E0505",
            Feature::Modules => "E0506",
            Feature::Smooth => "E0507",
        }
    }

    fn headline(self) -> &'static str {
        match self {
            Feature::Data => "tables and measured inputs are not part of this version",
            Feature::Modules => "`use` of another file is not part of this version",
            Feature::Smooth => "`smooth` is not part of this version",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Feature::Data => "write the input as a formula in `t`",
            Feature::Modules => "copy the equations into this file",
            Feature::Smooth => {
                "write the function without `smooth(...)`: every `if`, `min` and `max` is taken as it is"
            }
        }
    }
}

/// One diagnostic for each feature that the tree asks for.
pub(super) fn find(tree: &Tree) -> Vec<Diagnostic> {
    let mut found: Vec<(Feature, Span)> = Vec::new();
    let own_functions: Vec<&str> = tree.statements.iter().filter_map(function_name).collect();
    for statement in &tree.statements {
        statement_features(statement, &mut found);
    }
    for expr in &tree.exprs {
        let feature = match &expr.kind {
            ExprKind::Call(name, _) if !own_functions.contains(&name.name.as_str()) => match name.name.as_str() {
                "smooth" => Feature::Smooth,
                "table" => Feature::Data,
                _ => continue,
            },
            _ => continue,
        };
        found.push((feature, expr.span));
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

fn function_name(statement: &Statement) -> Option<&str> {
    match &statement.kind {
        StatementKind::Function { name, .. } => Some(&name.name),
        _ => None,
    }
}

fn statement_features(statement: &Statement, found: &mut Vec<(Feature, Span)>) {
    let StatementKind::Later(later) = &statement.kind else { return };
    let feature = match later {
        Later::Index(..) | Later::Boundary(..) => return,
        Later::Input(..) => Feature::Data,
        Later::Use(..) => Feature::Modules,
    };
    found.push((feature, statement.span));
}
