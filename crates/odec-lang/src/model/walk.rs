//! Visits the terms that a term consists of.

use super::{TermId, TermKind};

/// Largest number of terms that the functions of a model may expand to: functions that call functions may double at each
/// level.
pub const MAX_INLINED_TERMS: u64 = 1_000_000;

/// The operands of a term.
pub(crate) fn operands(kind: &TermKind, mut visit: impl FnMut(TermId)) {
    match kind {
        // the list is filled up with copies: a walk that counted them would double at each level
        TermKind::Apply(op, list) => list[..usize::from(op.0.arity)].iter().copied().for_each(visit),
        TermKind::Call(_, list) | TermKind::Element(_, _, list) => list.iter().copied().for_each(visit),
        TermKind::Input(_, argument) => visit(*argument),
        TermKind::Reduce { condition, body, .. } => {
            condition.iter().copied().for_each(&mut visit);
            visit(*body);
        }
        _ => {}
    }
}
