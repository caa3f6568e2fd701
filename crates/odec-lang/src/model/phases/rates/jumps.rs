//! Detects jumps: operations with steps, and choices whose branches differ where their condition changes.

use std::collections::HashMap;

use crate::model::walk::operands;
use crate::model::{Symbol, Term, TermId, TermKind};

/// Operations whose value jumps.
pub(super) const STEPS: &[&str] =
    &["sign", "floor", "ceil", "round", "fmod", "mod", "copysign", "lt", "le", "eq", "ne", "and", "or", "not"];

/// Number of points at which branches are compared, and the permitted difference.
const PROBES: u64 = 4;
const NEAR: f64 = 1e-9;

/// The result for a choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Continuity {
    /// Both branches are equal at the change of the condition.
    Continuous,
    /// They differ there.
    Jumps,
    /// Neither could be shown.
    Unknown,
}

/// Why the value of such an operation jumps.
pub(super) fn reason(name: &str) -> String {
    match name {
        "lt" | "le" | "eq" | "ne" | "and" | "or" | "not" => "a condition used as a number jumps from 0 to 1".to_owned(),
        name => format!("`{name}` jumps"),
    }
}

/// Compares the branches of a choice at the change of its condition: one side of a comparison is replaced by the
/// other side, at a few points.
pub(super) fn of_choice(terms: &[Term], condition: TermId, branches: [TermId; 2]) -> Continuity {
    let mut comparisons = Vec::new();
    // a discrete does not pass through the values between
    let discrete = |kind: &TermKind| matches!(kind, TermKind::Discrete(_) | TermKind::Element(Symbol::Discrete(_), ..));
    if any(terms, condition, &discrete) {
        return Continuity::Jumps;
    }
    let mut open = vec![condition];
    while let Some(id) = open.pop() {
        match &terms[id.index()].kind {
            TermKind::Apply(op, list) => match op.0.name {
                "and" | "or" => open.extend([list[0], list[1]]),
                "not" => open.push(list[0]),
                "lt" | "le" => comparisons.push([list[0], list[1]]),
                _ => return Continuity::Unknown,
            },
            _ => return Continuity::Unknown,
        }
    }
    let found: Vec<Continuity> = comparisons.iter().map(|sides| at_surface(terms, *sides, branches)).collect();
    match &found[..] {
        [one] => *one,
        several if several.iter().all(|v| *v == Continuity::Continuous) => Continuity::Continuous,
        // a single surface may not decide
        _ => Continuity::Unknown,
    }
}

fn at_surface(terms: &[Term], [a, b]: [TermId; 2], branches: [TermId; 2]) -> Continuity {
    let leaf = |id: TermId| is_leaf(&terms[id.index()].kind);
    let (replaced, by) = match (leaf(a), leaf(b)) {
        (true, _) if !any(terms, b, &|kind| *kind == terms[a.index()].kind) => (a, b),
        (_, true) if !any(terms, a, &|kind| *kind == terms[b.index()].kind) => (b, a),
        _ => return Continuity::Unknown,
    };
    let kind = &terms[replaced.index()].kind;
    let (mut near, mut far) = (0, 0);
    for probe in 0..PROBES {
        let Some(value) = (Probe { terms, number: probe, set: None }).value(by) else { return Continuity::Unknown };
        let probe = Probe { terms, number: probe, set: Some((kind, value)) };
        let (Some(x), Some(y)) = (probe.value(branches[0]), probe.value(branches[1])) else {
            return Continuity::Unknown;
        };
        if !(x.is_finite() && y.is_finite()) {
            continue;
        }
        if (x - y).abs() <= NEAR * (1.0 + x.abs().max(y.abs())) {
            near += 1;
        } else {
            far += 1;
        }
    }
    match (near, far) {
        (0, 0) => Continuity::Unknown,
        (_, 0) => Continuity::Continuous,
        _ => Continuity::Jumps,
    }
}

/// True for a leaf that changes with time.
fn is_leaf(kind: &TermKind) -> bool {
    matches!(kind, TermKind::Time | TermKind::State(..) | TermKind::Definition(_) | TermKind::Element(..))
}

/// True if some term of an expression satisfies the condition.
fn any(terms: &[Term], root: TermId, wanted: &impl Fn(&TermKind) -> bool) -> bool {
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        if wanted(&terms[id.index()].kind) {
            return true;
        }
        operands(&terms[id.index()].kind, |o| open.push(o));
    }
    false
}

/// Values at a point where all quantities have different numbers.
struct Probe<'a> {
    terms: &'a [Term],
    number: u64,
    /// A quantity that has another.
    set: Option<(&'a TermKind, f64)>,
}

impl Probe<'_> {
    /// The value of a term; `None` if it contains something without a plain value.
    fn value(&self, root: TermId) -> Option<f64> {
        let mut known: HashMap<TermId, f64> = HashMap::new();
        let mut order = vec![root];
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            // an element is a separate quantity for any subscripts
            if !is_leaf(&self.terms[id.index()].kind) {
                operands(&self.terms[id.index()].kind, |o| {
                    order.push(o);
                    open.push(o);
                });
            }
        }
        order.sort_unstable();
        order.dedup();
        for id in order {
            let kind = &self.terms[id.index()].kind;
            let value = match kind {
                kind if self.set.is_some_and(|(set, _)| set == kind) => self.set?.1,
                TermKind::Number(x) => *x,
                TermKind::Apply(op, list) => {
                    let list: Vec<f64> =
                        list[..usize::from(op.0.arity)].iter().map(|o| known.get(o).copied()).collect::<Option<_>>()?;
                    (op.0.value)(&list)
                }
                TermKind::Reduce { .. } | TermKind::Input(..) | TermKind::Call(..) | TermKind::Argument(_) => {
                    return None;
                }
                quantity => self.number(quantity),
            };
            known.insert(id, value);
        }
        known.get(&root).copied()
    }

    /// A number between 0.5 and 2 that belongs to a quantity and a point.
    fn number(&self, kind: &TermKind) -> f64 {
        let text = format!("{kind:?}");
        let mut hash = 0xcbf2_9ce4_8422_2325u64 ^ self.number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for byte in text.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash ^= hash >> 29;
        0.5 + 1.5 * ((hash >> 11) as f64 / (1u64 << 53) as f64)
    }
}
