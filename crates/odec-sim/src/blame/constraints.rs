//! Messages about differentiated constraints: initial values that do not satisfy them, and states that cannot be
//! projected onto them.

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::Model;
use odec_ode::invariants::Deviation;

use super::{declared, number};
use crate::bind::Bound;
use crate::start::Moved;

/// Largest number of constraints or states in a report.
const MAX_SHOWN: usize = 6;

/// The constraints of a model, with the number of differentiations of each.
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

/// Initial values that do not satisfy the constraints.
pub fn not_kept(model: &Model, bound: &Bound, moved: &[Moved]) -> Diagnostic {
    let states = &bound.states;
    let far = |m: &&Moved| (m.to - m.from).abs();
    let Some(worst) = moved.iter().max_by(|a, b| far(a).total_cmp(&far(b))) else {
        return Diagnostic::error(&codes::E0637, "the initial values do not satisfy the constraints");
    };
    let (name, from, to) = (states.name(worst.place), number(worst.from), number(worst.to));
    let headline = format!("`{name}` cannot start at {from}: the constraints and their derivatives require about {to}");
    let mut report = Diagnostic::error(&codes::E0637, headline);
    if let Some(k) = declared(model, states, worst.place) {
        report = report.label(model.states[k].span, format!("starts at {from}"));
    }
    let one = |m: &Moved| format!("`{} = {}`", states.name(m.place), number(m.to));
    let shown: Vec<String> = moved.iter().take(MAX_SHOWN).map(one).collect();
    let more = moved.len().saturating_sub(MAX_SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    with_constraints(report, bound).help(format!("the nearest consistent start has {}{more}", shown.join(", ")))
}

/// Events set values that violate the constraints.
pub(super) fn unmet(bound: &Bound, off: &[Deviation], events: &[usize], when: &str) -> Diagnostic {
    if events.is_empty() {
        return jump(bound, off, when);
    }
    let headline = format!("the values that an event sets do not satisfy the constraints {when}");
    let places = bound.located.iter().flat_map(|located| located.event_spans(events)).collect();
    let report = super::instant::with(Diagnostic::error(&codes::E0647, headline), places, "this event");
    let one = |off: &Deviation| {
        let (name, from, to) = (bound.states.name(off.place), number(off.from), number(off.to));
        format!("`{name}` {to} instead of {from}")
    };
    let shown: Vec<String> = off.iter().take(MAX_SHOWN).map(one).collect();
    with_constraints(report, bound).help(format!(
        "the nearest state that satisfies them has {}; set values that satisfy the constraint and its derivatives, or add to a \
         velocity with `+=`: the forces of the constraint then correct the velocities",
        shown.join(", ")
    ))
}

/// A constraint switches, and the state does not satisfy the new branch.
fn jump(bound: &Bound, off: &[Deviation], when: &str) -> Diagnostic {
    let headline = format!("a constraint or one of its derivatives jumps where it switches, {when}");
    let largest = |off: &&Deviation| (off.to - off.from).abs();
    let state = off.iter().max_by(|a, b| largest(a).total_cmp(&largest(b)));
    let jump = state.map_or(String::new(), |off| {
        let (name, from, to) = (bound.states.name(off.place), number(off.from), number(off.to));
        format!("`{name}` would have to jump from {from} to {to}: ")
    });
    with_constraints(Diagnostic::error(&codes::E0648, headline), bound).help(format!(
        "{jump}write branches that agree where they meet, in their derivatives too, or a steep smooth function"
    ))
}

/// No state nearby satisfies the constraints.
pub fn unkept(bound: &Bound, when: &str, state: &str) -> Diagnostic {
    let headline = format!("odec found no state nearby that satisfies the constraints {when}");
    with_constraints(Diagnostic::error(&codes::E0638, headline), bound).help(format!(
        "`{state}` needs the largest correction: start closer to the constraints, check that they have a solution, \
         or use a smaller `rtol`"
    ))
}

/// Constraints that depend on each other.
pub fn dependent(bound: &Bound, when: &str) -> Diagnostic {
    let headline = format!("the constraints are dependent {when}");
    with_constraints(Diagnostic::error(&codes::E0636, headline), bound).help(
        "one constraint follows from the others, or the coefficients of its states are 0: remove it, together \
               with one unknown",
    )
}

/// The derivatives of the constraints do not determine the unknowns; `None` for a model without differentiated constraints.
pub fn undetermined(bound: &Bound, when: &str) -> Option<Diagnostic> {
    if constraints(bound).is_empty() {
        return None;
    }
    let headline = format!("the differentiated constraints do not determine the unknowns {when}");
    Some(
        with_constraints(Diagnostic::error(&codes::E0641, headline), bound)
            .help("either the constraints are dependent, or several unknowns have the same effect: remove one of each"),
    )
}
