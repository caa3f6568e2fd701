//! Constructs whose meaning comes with a later version: one diagnostic for each feature, and nothing after it.

use odec_ir::Span;

use crate::diagnostic::Diagnostic;
use crate::report::{Build, error};
use crate::syntax::tree::{ExprKind, Later, Reference, Statement, StatementKind, Tree};

/// Most places that one feature points at: a model that uses it uses it everywhere.
const MAX_PLACES: usize = 3;

/// What is asked for, in the order in which it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Feature {
    Arrays,
    Vectors,
    Algebraic,
    Events,
    Data,
    Modules,
    Smooth,
}

impl Feature {
    fn code(self) -> &'static str {
        match self {
            Feature::Arrays => "E0501",
            Feature::Vectors => "E0502",
            Feature::Algebraic => "E0503",
            Feature::Events => "E0504",
            Feature::Data => "E0505",
            Feature::Modules => "E0506",
            Feature::Smooth => "E0507",
        }
    }

    fn headline(self) -> &'static str {
        match self {
            Feature::Arrays => "arrays and indices are not part of this version",
            Feature::Vectors => "vectors and their components are not part of this version",
            Feature::Algebraic => "algebraic unknowns are not part of this version",
            Feature::Events => "events and `discrete` names are not part of this version",
            Feature::Data => "tables and measured inputs are not part of this version",
            Feature::Modules => "`use` of another file is not part of this version",
            Feature::Smooth => "`smooth` is not part of this version",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Feature::Arrays => "write one scalar state for each element, with an equation of its own",
            Feature::Vectors => "write one scalar state for each component",
            Feature::Algebraic => "solve the equation for the unknown by hand and write it as a definition",
            Feature::Events => {
                "a change that depends on time alone can be written with `if`: `(if t < 5 then 1 else 0)`"
            }
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
    let mut tables = Vec::new();
    for expr in &tree.exprs {
        if matches!(expr.kind, ExprKind::Table(..) | ExprKind::Tuple(..)) {
            tables.push(expr.span);
        }
        let feature = match &expr.kind {
            ExprKind::Name(reference) => {
                reference_features(reference, &mut found);
                continue;
            }
            ExprKind::Reduce(..) | ExprKind::Table(..) => Feature::Arrays,
            ExprKind::Tuple(..) => Feature::Vectors,
            ExprKind::Call(name, _) if !own_functions.contains(&name.name.as_str()) => match name.name.as_str() {
                "smooth" => Feature::Smooth,
                "dot" | "cross" | "norm" => Feature::Vectors,
                "table" | "csv" => Feature::Data,
                _ => continue,
            },
            _ => continue,
        };
        found.push((feature, expr.span));
    }
    // The list of sample times of a run block is written like a table.
    let lists = run_lists(tree);
    found.retain(|(feature, span)| *feature > Feature::Vectors || !lists.contains(span));
    // A table in an event or an input belongs to it, and so does a component of a module.
    let other = |f: &Feature| *f > Feature::Algebraic && *f < Feature::Smooth;
    let declared = |feature: Feature| -> bool { found.iter().any(|(f, span)| *f == feature && !tables.contains(span)) };
    if found.iter().any(|(f, _)| other(f)) {
        let (arrays, vectors) = (declared(Feature::Arrays), declared(Feature::Vectors));
        let modules = found.iter().any(|(f, _)| *f == Feature::Modules);
        found.retain(|(f, _)| (*f != Feature::Arrays || arrays) && (*f != Feature::Vectors || vectors && !modules));
    }
    // The elements of an array may be vectors: said once.
    if found.iter().any(|(f, _)| *f == Feature::Arrays) {
        found.retain(|(f, _)| *f != Feature::Vectors);
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

fn run_lists(tree: &Tree) -> Vec<Span> {
    use crate::syntax::tree::EntryValue;
    let mut lists = Vec::new();
    for statement in &tree.statements {
        if let StatementKind::Run(_, entries, _) = &statement.kind {
            for entry in entries {
                if let (EntryValue::Expr(value), "samples" | "record") = (&entry.value, entry.key.name.as_str()) {
                    let expr = &tree.exprs[value.0 as usize];
                    if matches!(expr.kind, ExprKind::Table(..) | ExprKind::Tuple(..)) {
                        lists.push(expr.span);
                    }
                }
            }
        }
    }
    lists
}

fn reference_features(reference: &Reference, found: &mut Vec<(Feature, Span)>) {
    if !reference.indices.is_empty() {
        found.push((Feature::Arrays, reference.span));
    } else if !reference.path.is_empty() {
        found.push((Feature::Vectors, reference.span));
    }
}

fn statement_features(statement: &Statement, found: &mut Vec<(Feature, Span)>) {
    match &statement.kind {
        StatementKind::Later(later) => {
            let feature = match later {
                Later::Index(..) | Later::Boundary(..) => Feature::Arrays,
                Later::Unknown(..) => Feature::Algebraic,
                Later::Discrete(..) | Later::When(..) | Later::At(..) | Later::Every { .. } => Feature::Events,
                Later::Input(..) => Feature::Data,
                Later::Use(..) => Feature::Modules,
            };
            found.push((feature, statement.span));
        }
        StatementKind::Param(items)
        | StatementKind::Const(items)
        | StatementKind::State(items)
        | StatementKind::Output(items) => {
            for item in items {
                reference_features(&item.target, found);
            }
        }
        StatementKind::Params(_, entries) => {
            for entry in entries.iter().filter(|e| !e.indices.is_empty()) {
                found.push((Feature::Arrays, entry.span));
            }
        }
        StatementKind::Run(_, entries, _) => {
            for argument in entries.iter().filter_map(|e| e.argument.as_ref()) {
                reference_features(argument, found);
            }
        }
        _ => {}
    }
}
