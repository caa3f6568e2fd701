//! `and` and `or` after a condition on indices: the following operand is read only if that condition does not decide.

use odec_ir::Op;
use odec_ir::builtin::logic;

use crate::model::{Model, TermId, TermKind, walk};

/// Largest number of terms of a condition that decides reads after it: odec examines each twice.
const MAX_TERMS: usize = 64;

/// Rewrites `i > 1 and u[i-1] > 0` as a choice by `i > 1`, so that `u[0]` need not exist: `if c then d else c`, where
/// c is 0. In the same way `c or d` becomes `if c then c else d`.
pub(super) fn shorten(mut model: Model) -> Model {
    let reads = terms_that_read(&model);
    for k in 0..model.terms.len() {
        let TermKind::Apply(op, [c, d, _]) = model.terms[k].kind else { continue };
        let choice = match op {
            op if op == Op(&logic::AND) => [c, d, c],
            op if op == Op(&logic::OR) => [c, c, d],
            _ => continue,
        };
        if reads[d.0 as usize] && decides(&model, c) {
            model.terms[k].kind = TermKind::Apply(Op(&logic::IF), choice);
        }
    }
    model
}

/// The operands of a chain of one operator (`and` or `or`) from left to right; only `root` if there are too many.
pub(super) fn parts(model: &Model, op: Op, root: TermId) -> Vec<TermId> {
    let mut parts = Vec::new();
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        match model.term(id).kind {
            TermKind::Apply(found, [a, b, _]) if found == op => open.extend([b, a]),
            _ => parts.push(id),
        }
        if parts.len() + open.len() > MAX_TERMS {
            return vec![root];
        }
    }
    parts
}

/// For each term: true if it reads an element of an array. Terms come after their operands.
fn terms_that_read(model: &Model) -> Vec<bool> {
    let mut reads = vec![false; model.terms.len()];
    for (k, term) in model.terms.iter().enumerate() {
        let mut found = matches!(term.kind, TermKind::Element(..));
        walk::operands(&term.kind, |operand| found |= reads[operand.0 as usize]);
        reads[k] = found;
    }
    reads
}

/// True for a short condition on indices that is 0 or 1 and contains no choice.
pub(super) fn decides(model: &Model, root: TermId) -> bool {
    let conditions = [&logic::LT, &logic::LE, &logic::EQ, &logic::NE, &logic::AND, &logic::OR, &logic::NOT];
    let TermKind::Apply(first, _) = model.term(root).kind else { return false };
    if !conditions.iter().any(|known| first == Op(known)) {
        return false;
    }
    let mut open = vec![root];
    for _ in 0..MAX_TERMS {
        let Some(id) = open.pop() else { return model.index_only(root) };
        let kind = &model.term(id).kind;
        if matches!(kind, TermKind::Apply(op, _) if *op == Op(&logic::IF)) {
            return false;
        }
        walk::operands(kind, |operand| open.push(operand));
    }
    false
}
