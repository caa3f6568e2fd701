//! Indices of another array: `a[i]` where `a[j]` is declared and the two ranges agree only by the values of constants,
//! or are two declarations of the same numbers.

use std::collections::{HashMap, HashSet};

use odec_ir::Span;

use super::Page;
use super::values::Values;
use crate::diagnostic::{Diagnostic, codes};
use crate::report::warning;
use crate::syntax::tree::{Declared, ExprId, ExprKind, Index, Later, Reference, StatementKind};

/// The range of an index as it is written.
type Range = (ExprId, ExprId);

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let mut ranges: HashMap<&str, Range> = HashMap::new();
    let mut declared: HashMap<&str, Vec<&str>> = HashMap::new();
    for statement in &page.tree.statements {
        match &statement.kind {
            StatementKind::Later(Later::Index(items)) => {
                for (names, low, high) in items {
                    ranges.extend(names.iter().map(|name| (name.name.as_str(), (*low, *high))));
                }
            }
            StatementKind::Param(items)
            | StatementKind::Const(items)
            | StatementKind::State(items)
            | StatementKind::Unknown(items) => {
                note(page, items, &mut declared);
            }
            _ => {}
        }
    }
    if ranges.len() < 2 || declared.is_empty() {
        return;
    }
    let bound = rebound(page);
    let mut values = Values::of(page);
    let mut kinds: Option<Kinds<'_>> = None;
    for (at, expr) in page.tree.exprs.iter().enumerate() {
        let ExprKind::Name(name) = &expr.kind else { continue };
        let Some(own) = declared.get(name.name.name.as_str()) else { continue };
        for (index, own) in name.indices.iter().zip(own.iter().copied()) {
            let Index::At(place) = index else { continue };
            let Some(used) = plain(page, *place) else { continue };
            let (Some(a), Some(b)) = (ranges.get(used), ranges.get(own)) else { continue };
            if used == own || bound.contains(&used) {
                continue;
            }
            let place = page.expr(*place).span;
            if same(page, *a, *b) {
                // names of one declaration count the same things
                if a != b && is_literal(page, *a) && name.indices.len() == 1 {
                    let kinds = kinds.get_or_insert_with(|| Kinds::of(page, &declared));
                    let report = foreign(page, name, (used, place, *a), (own, *b));
                    found.extend(kinds.differ(ExprId(at as u32), used, own).then(|| {
                        report.help(format!(
                            "write `{}[{own}]`; if `{used}` and `{own}` count the same things, declare them together: \
                             `index {used}, {own} = {}`",
                            name.name.name,
                            range(page, *a)
                        ))
                    }));
                }
                continue;
            }
            // ranges of different size are no typing error: elements outside are an error of their own
            let agree = [(a.0, b.0), (a.1, b.1)].iter().all(|(a, b)| {
                let (a, b) = (values.value(*a), values.value(*b));
                a.is_some() && a == b
            });
            if agree {
                found.push(foreign(page, name, (used, place, *a), (own, *b)).help(format!(
                    "write `{}[{own}]`, or declare both indices over one range; their ranges agree only for the current values of the constants",
                    name.name.name
                )));
            }
        }
    }
}

/// The range as it is written.
fn range(page: &Page<'_>, (low, high): Range) -> String {
    format!("{}..{}", page.text(low), page.text(high))
}

/// The warning about an array that is read at the index `used`, and is declared over the index `own`.
fn foreign(
    page: &Page<'_>,
    name: &Reference,
    (used, place, of_used): (&str, Span, Range),
    (own, of_own): (&str, Range),
) -> Diagnostic {
    let array = &name.name.name;
    let headline = format!("`{array}[{used}]` has the index of another array");
    warning(&codes::W0506, headline, place, format!("`{used}` runs over {}", range(page, of_used)))
        .label(name.name.span, format!("`{array}` is declared over `{own}`, {}", range(page, of_own)))
}

/// What the model says about indices with equal ranges.
struct Kinds<'a> {
    /// Indices of arrays, in pairs: an array has the first index, and not the second one.
    apart: HashSet<(&'a str, &'a str)>,
    /// Indices that are compared with one another, or select elements of one array in one statement.
    linked: HashSet<(&'a str, &'a str)>,
    /// Expressions in which a sum runs over an index.
    summed: HashSet<(ExprId, &'a str)>,
}

impl<'a> Kinds<'a> {
    fn of(page: &Page<'a>, declared: &HashMap<&'a str, Vec<&'a str>>) -> Kinds<'a> {
        let names: HashSet<&str> = declared.values().flatten().copied().collect();
        let mut kinds = Kinds { apart: HashSet::new(), linked: HashSet::new(), summed: HashSet::new() };
        for own in declared.values() {
            let others = names.iter().filter(|other| !own.contains(other));
            kinds.apart.extend(others.flat_map(|other| own.iter().map(move |index| (*index, *other))));
        }
        for expr in &page.tree.exprs {
            match &expr.kind {
                ExprKind::Comparison(operands, _) => {
                    kinds.link(operands.iter().filter_map(|operand| plain(page, *operand)));
                }
                ExprKind::Reduce(_, binders, condition, body) => {
                    let inside = condition.iter().chain([body]).flat_map(|part| page.tree.nodes_of(*part));
                    for node in inside {
                        kinds.summed.extend(binders.iter().map(|(name, _)| (node, name.name.as_str())));
                    }
                }
                _ => {}
            }
        }
        for statement in &page.tree.statements {
            let mut read: HashMap<&str, HashSet<&str>> = HashMap::new();
            let StatementKind::Equation { lhs, rhs, .. } = &statement.kind else { continue };
            for node in page.tree.nodes_of(*lhs).into_iter().chain(page.tree.nodes_of(*rhs)) {
                let ExprKind::Name(name) = &page.expr(node).kind else { continue };
                let at = name.indices.iter().filter_map(|index| match index {
                    Index::At(at) => plain(page, *at),
                    _ => None,
                });
                read.entry(name.name.name.as_str()).or_default().extend(at);
            }
            for indices in read.into_values() {
                kinds.link(indices.into_iter());
            }
        }
        kinds
    }

    fn link(&mut self, indices: impl Iterator<Item = &'a str>) {
        let indices: Vec<&str> = indices.collect();
        for a in &indices {
            self.linked.extend(indices.iter().map(|b| (*a, *b)));
        }
    }

    /// True if two indices probably count different things, and the equation at this place runs over the first one.
    fn differ(&self, place: ExprId, used: &str, own: &str) -> bool {
        self.apart.contains(&(used, own))
            && self.apart.contains(&(own, used))
            && !self.linked.contains(&(used, own))
            && !self.summed.contains(&(place, used))
    }
}

/// True if both ends of a range are numbers.
fn is_literal(page: &Page<'_>, (low, high): Range) -> bool {
    [low, high].into_iter().all(|end| matches!(page.expr(end).kind, ExprKind::Number(_)))
}

fn note<'a>(page: &Page<'a>, items: &'a [Declared], declared: &mut HashMap<&'a str, Vec<&'a str>>) {
    for item in items {
        let indices: Option<Vec<&str>> = item
            .target
            .indices
            .iter()
            .map(|index| match index {
                Index::At(at) => plain(page, *at),
                _ => None,
            })
            .collect();
        if let Some(indices) = indices.filter(|list| !list.is_empty()) {
            declared.insert(item.target.name.name.as_str(), indices);
        }
    }
}

/// The name that an expression is.
fn plain<'a>(page: &Page<'a>, id: ExprId) -> Option<&'a str> {
    match &page.expr(id).kind {
        ExprKind::Name(name) if name.indices.is_empty() && name.primes == 0 && name.path.is_empty() => {
            Some(&name.name.name)
        }
        _ => None,
    }
}

/// Indices that get another range somewhere: `u[i in 2..N]`, `sum(i in 1..3: ...)`.
fn rebound<'a>(page: &Page<'a>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for expr in &page.tree.exprs {
        match &expr.kind {
            ExprKind::Name(name) => found.extend(name.indices.iter().filter_map(|index| match index {
                Index::In(name, ..) => Some(name.name.as_str()),
                _ => None,
            })),
            ExprKind::Reduce(_, binders, ..) => {
                found.extend(binders.iter().filter(|(_, range)| range.is_some()).map(|(name, _)| name.name.as_str()));
            }
            _ => {}
        }
    }
    found
}

/// True if two ranges are written in the same way.
fn same(page: &Page<'_>, a: Range, b: Range) -> bool {
    page.key(a.0) == page.key(b.0) && page.key(a.1) == page.key(b.1)
}
