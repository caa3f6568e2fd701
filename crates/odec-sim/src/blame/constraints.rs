//! Constraints that were differentiated: a start that does not meet them, and states that cannot be kept on them.

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::Model;

use super::{declared, number};
use crate::bind::Bound;
use crate::start::Moved;

/// Most constraints or states that a report shows.
const MAX_SHOWN: usize = 6;

/// The constraints of a model, with how often each was differentiated.
fn constraints(bound: &Bound) -> &[(Span, u32)] {
    bound.executor.program().invariants.as_ref().map_or(&[], |invariants| &invariants.constraints)
}

/// Points at the constraints.
fn with_constraints(mut report: Diagnostic, bound: &Bound) -> Diagnostic {
    for (span, times) in constraints(bound).iter().take(MAX_SHOWN) {
        report = report.label(*span, format!("differentiated {}", how_often(*times)));
    }
    report
}

/// `once`, `twice`, `3 times`
pub fn how_often(times: u32) -> String {
    match times {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}

/// Initial values that do not meet the constraints.
pub fn not_kept(model: &Model, bound: &Bound, moved: &[Moved]) -> Diagnostic {
    let states = &bound.states;
    let far = |m: &&Moved| (m.to - m.from).abs();
    let Some(worst) = moved.iter().max_by(|a, b| far(a).total_cmp(&far(b))) else {
        return Diagnostic::error(&codes::E0637, "the start does not meet the constraints");
    };
    let (name, from, to) = (states.name(worst.place), number(worst.from), number(worst.to));
    let headline = format!("`{name}` cannot start at {from}: the constraints and their derivatives want about {to}");
    let mut report = Diagnostic::error(&codes::E0637, headline);
    if let Some(k) = declared(model, states, worst.place) {
        report = report.label(model.states[k].span, format!("starts at {from}"));
    }
    let one = |m: &Moved| format!("`{} = {}`", states.name(m.place), number(m.to));
    let shown: Vec<String> = moved.iter().take(MAX_SHOWN).map(one).collect();
    let more = moved.len().saturating_sub(MAX_SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    with_constraints(report, bound).help(format!("the nearest start that meets them has {}{more}", shown.join(", ")))
}

/// No state near meets the constraints.
pub fn unkept(bound: &Bound, when: &str, state: &str) -> Diagnostic {
    let headline = format!("no state near was found that meets the constraints {when}");
    with_constraints(Diagnostic::error(&codes::E0638, headline), bound).help(format!(
        "the largest correction is that of `{state}`: start nearer to the constraints, check that they can be met, or take a \
         smaller `rtol`"
    ))
}

/// Constraints that say the same.
pub fn dependent(bound: &Bound, when: &str) -> Diagnostic {
    let headline = format!("the constraints depend on one another {when}");
    with_constraints(Diagnostic::error(&codes::E0636, headline), bound)
        .help("one of them follows from the others, or holds the states with the factor 0: drop it, with one unknown")
}

/// The derivatives of the constraints do not determine the unknowns; `None` of a model whose constraints were not differentiated.
pub fn undetermined(bound: &Bound, when: &str) -> Option<Diagnostic> {
    if constraints(bound).is_empty() {
        return None;
    }
    let headline = format!("the constraints, differentiated, do not determine the unknowns {when}");
    Some(with_constraints(Diagnostic::error(&codes::E0641, headline), bound).help(
        "constraints that depend on one another, or unknowns that act in the same way, leave them open: drop one of each",
    ))
}
