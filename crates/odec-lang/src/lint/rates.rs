//! Negative rate constants of mass action: the reaction would run backwards.

use super::Page;
use super::values::Values;
use crate::diagnostic::{Diagnostic, codes};
use crate::report::warning;
use crate::syntax::tree::{ExprKind, Law, StatementKind};

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let mut values: Option<Values<'_>> = None;
    for statement in &page.tree.statements {
        let StatementKind::Reaction(reaction) = &statement.kind else { continue };
        if reaction.law != Law::Mass {
            continue;
        }
        let constants = match &page.expr(reaction.value).kind {
            ExprKind::Tuple(list) => list.clone(),
            _ => vec![reaction.value],
        };
        let values = values.get_or_insert_with(|| Values::of(page));
        for constant in constants {
            let Some(value) = values.value(constant).filter(|value| *value < 0.0) else { continue };
            let headline = "a rate constant of mass action is negative";
            let report = warning(&codes::W0525, headline, page.expr(constant).span, format!("this is {value}"));
            let report = report.label(reaction.law_span, "the law");
            found.push(report.help("check its sign; to write a reaction the other way round, swap its two sides"));
        }
    }
}
