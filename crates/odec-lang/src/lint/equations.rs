//! Equations and parameter sets: `x' = 0`, `x' = 0*y`, a value outside the range of its parameter.

use std::collections::{HashMap, HashSet};

use super::Page;
use super::values::Values;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Symbol;
use crate::report::warning;
use crate::syntax::tree::{Binary, EventAction, ExprId, ExprKind, Index, Reference, StatementKind, WrittenValue};

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let written = written(page);
    let mut equations: HashMap<&str, usize> = HashMap::new();
    let all = || {
        page.tree.statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Equation { lhs, rhs, .. } => Some((*lhs, *rhs)),
            _ => None,
        })
    };
    for (lhs, _) in all() {
        if let ExprKind::Name(name) = &page.expr(lhs).kind {
            *equations.entry(name.name.name.as_str()).or_default() += 1;
        }
    }
    for (lhs, rhs) in all() {
        if let ExprKind::Name(name) = &page.expr(lhs).kind
            && equations.get(name.name.name.as_str()) == Some(&1)
            && !written.contains(name.name.name.as_str())
        {
            found.extend(constant(page, (lhs, rhs), name));
        }
    }
    outside(page, found);
}

/// The names of the quantities that events change.
fn written<'a>(page: &Page<'a>) -> HashSet<&'a str> {
    let mut names = HashSet::new();
    for statement in &page.tree.statements {
        let StatementKind::Event(event) = &statement.kind else { continue };
        let rest = event.rest.iter().flat_map(|(_, actions)| actions);
        names.extend(event.actions.iter().chain(rest).filter_map(|action| match action {
            EventAction::Change(target, ..) => Some(target.name.name.as_str()),
            EventAction::Stop(..) => None,
        }));
    }
    names
}

/// `x' = 0`, `x[i]' = 0` for all elements; events change no `name`, and there is no other equation for it.
fn constant(page: &Page<'_>, (lhs, rhs): (ExprId, ExprId), name: &Reference) -> Option<Diagnostic> {
    // single elements are held at the edge of an array, and `x'' = 0` moves
    let whole = |index: &Index| matches!(index, Index::At(at) if matches!(page.expr(*at).kind, ExprKind::Name(_)));
    if name.primes != 1 || !name.path.is_empty() || !name.indices.iter().all(whole) {
        return None;
    }
    if repeats(page, rhs, &page.key(lhs)) {
        let (text, rate) = (&name.name.name, page.text(lhs));
        let label = format!("`{rate}` is a factor of both sides, so it is 0");
        let report = warning(
            &codes::W0504,
            format!("`{text}` never changes"),
            page.expr(lhs).span.to(page.expr(rhs).span),
            label,
        );
        return Some(report.help(format!("write `{text}` without a prime on the right side if you mean its value")));
    }
    if let Some(report) = fixed_rate(page, (lhs, rhs), name) {
        return Some(report);
    }
    if !is_zero(page, rhs, 0) || !is_finite(page, rhs) {
        return None;
    }
    let (text, target) = (&name.name.name, page.text(lhs).trim_end_matches(['\'', '′', '’']));
    let help = match start(page, text) {
        // a parameter cannot be computed from other parameters
        Some(value) if reads_names(page, value) => {
            format!("define it, `{target} = {}`, remove it from `state`, and remove this line", page.text(value))
        }
        _ => format!("declare it as a parameter, `param {target} = ...`, and remove this line"),
    };
    Some(
        warning(&codes::W0504, format!("`{text}` never changes"), page.expr(lhs).span, "its derivative is 0")
            .help(help),
    )
}

/// `x' = 1 - k*x'`: the derivative is in a sum on the right side, next to nothing that varies. Such an equation gives
/// a constant rate. One with other quantities may be meant: `v' = f - m*v'` has an added mass.
fn fixed_rate(page: &Page<'_>, (lhs, rhs): (ExprId, ExprId), name: &Reference) -> Option<Diagnostic> {
    let rate = page.key(lhs);
    let mut reads = None;
    for id in page.tree.nodes_of(rhs) {
        match &page.expr(id).kind {
            ExprKind::Name(_) if page.key(id) == rate => reads = Some(id),
            ExprKind::Name(other) if other.primes == 0 && other.path.is_empty() => {
                let symbol = page.model.symbols.get(&other.name.name);
                let index =
                    name.indices.iter().any(|own| matches!(own, Index::At(at) if page.key(*at) == page.key(id)));
                let fixed = matches!(symbol, Some(Symbol::Parameter(_) | Symbol::Constant(_)))
                    || matches!(other.name.name.as_str(), "pi" | "π");
                if !fixed && !index {
                    return None;
                }
            }
            ExprKind::Number(_) | ExprKind::Quantity(..) | ExprKind::Neg(_) | ExprKind::Tuple(_) => {}
            ExprKind::Binary(Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Pow, ..) => {}
            _ => return None,
        }
    }
    let (rate, state) = (page.text(lhs), page.text(lhs).trim_end_matches(['\'', '′', '’']));
    let headline = format!("`{rate}` is constant: no other quantity is on the right side");
    let report = warning(&codes::W0504, headline, page.expr(reads?).span, "the derivative itself");
    Some(report.help(format!("write `{state}` without a prime here if you mean its value")))
}

/// `x' = -k*x'`: the derivative is a factor of the right side.
fn repeats(page: &Page<'_>, mut id: ExprId, rate: &str) -> bool {
    let is_rate = |id: ExprId| matches!(page.expr(id).kind, ExprKind::Name(_)) && page.key(id) == rate;
    loop {
        id = match page.expr(id).kind {
            ExprKind::Neg(a) | ExprKind::Binary(Binary::Div, _, a, _) => a,
            ExprKind::Binary(Binary::Mul, _, a, _) if is_rate(a) => return true,
            ExprKind::Binary(Binary::Mul, _, a, b) if is_rate(b) => return !is_zero(page, a, 0),
            ExprKind::Binary(Binary::Mul, _, a, _) => a,
            _ => return is_rate(id),
        };
    }
}

/// Deepest expression that is compared with 0.
const MAX_DEPTH: usize = 20;

/// True for 0, a product with it, and a difference of two equal expressions.
fn is_zero(page: &Page<'_>, id: ExprId, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    let zero = |id: ExprId| is_zero(page, id, depth + 1);
    match &page.expr(id).kind {
        ExprKind::Number(value) => *value == 0.0,
        ExprKind::Neg(a) | ExprKind::Quantity(a, _) => zero(*a),
        ExprKind::Tuple(all) => all.iter().all(|part| zero(*part)),
        ExprKind::Binary(Binary::Mul, _, a, b) => zero(*a) || zero(*b),
        ExprKind::Binary(Binary::Div, _, a, _) => zero(*a),
        ExprKind::Binary(Binary::Sub, _, a, b) => page.key(*a) == page.key(*b) || zero(*a) && zero(*b),
        ExprKind::Binary(Binary::Add, _, a, b) => zero(*a) && zero(*b),
        _ => false,
    }
}

/// False for a value with `inf` or a division by 0: 0/0 and `inf - inf` are no numbers.
fn is_finite(page: &Page<'_>, value: ExprId) -> bool {
    page.tree.nodes_of(value).into_iter().all(|id| match &page.expr(id).kind {
        ExprKind::Name(name) => name.name.name != "inf",
        ExprKind::Binary(Binary::Div, _, _, below) => !is_zero(page, *below, 0),
        _ => true,
    })
}

/// The initial value of a state.
fn start(page: &Page<'_>, name: &str) -> Option<ExprId> {
    page.tree.statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::State(items) => {
            items.iter().find(|item| item.target.name.name == name && item.target.primes == 0)?.value
        }
        _ => None,
    })
}

/// True if a value contains a name, other than the constants of mathematics.
fn reads_names(page: &Page<'_>, value: ExprId) -> bool {
    let is_name = |id: ExprId| match &page.expr(id).kind {
        ExprKind::Name(name) => !matches!(name.name.name.as_str(), "pi" | "π" | "inf"),
        _ => false,
    };
    page.tree.nodes_of(value).into_iter().any(is_name)
}

/// `params fast { k = 20 }` where `param k = 1 in 0..10`.
fn outside(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let mut bounds: HashMap<&str, (ExprId, ExprId)> = HashMap::new();
    for statement in &page.tree.statements {
        let StatementKind::Param(items) = &statement.kind else { continue };
        for item in items {
            bounds.extend(item.bounds.map(|range| (item.target.name.name.as_str(), range)));
        }
    }
    let mut values = Values::of(page);
    for statement in &page.tree.statements {
        let StatementKind::Params(set, entries) = &statement.kind else { continue };
        for entry in entries.iter().filter(|entry| entry.primes == 0) {
            let (Some((low, high)), WrittenValue::Expr(value)) =
                (bounds.get(entry.key.name.as_str()).copied(), &entry.value)
            else {
                continue;
            };
            let (Some(x), Some(a), Some(b)) = (values.value(*value), values.value(low), values.value(high)) else {
                continue;
            };
            if x < a || x > b {
                // including the index, if it is one element of an array
                let text = page.source.text.get(entry.span.range()).unwrap_or_default();
                let name = text.split('=').next().unwrap_or_default().trim();
                found.push(
                    warning(
                        &codes::W0505,
                        format!("`params {}` sets `{name}` outside its range", set.name),
                        page.expr(*value).span,
                        format!("{x} is not in {a}..{b}"),
                    )
                    .label(page.expr(low).span.to(page.expr(high).span), "the range is declared here")
                    .help(format!(
                        "a run with `params = {}` fails: choose another value, or widen the range",
                        set.name
                    )),
                );
            }
        }
    }
}
