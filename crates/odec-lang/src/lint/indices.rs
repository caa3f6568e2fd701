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
                        let array = &name.name.name;
                        // the right index has a value here only if the equation or a sum runs over it
                        let write = if kinds.runs(ExprId(at as u32), own) {
                            format!("write `{array}[{own}]`")
                        } else {
                            format!("declare `{array}[{used}]` if it belongs to the elements of `{used}`")
                        };
                        report.help(format!(
                            "{write}; if `{used}` and `{own}` count the same things, declare them together: \
                             `index {used}, {own} = {}`",
                            range(page, *a)
                        ))
                    }));
                }
                continue;
            }
            // elements outside are an error of their own
            let mut end = |of: ExprId| values.value(of);
            let report = match (end(a.0), end(b.0), end(a.1), end(b.1)) {
                (Some(a0), Some(b0), Some(a1), Some(b1)) if a0 == b0 && a1 == b1 => format!(
                    "write `{}[{own}]`, or declare both indices over one range; their ranges agree only for the current values of the constants",
                    name.name.name
                ),
                (Some(a0), Some(b0), Some(a1), Some(b1))
                    if a0 == b0 && a1 < b1 && separate(page, *a, *b) && name.indices.len() == 1 =>
                {
                    let kinds = kinds.get_or_insert_with(|| Kinds::of(page, &declared));
                    match kinds.advice(ExprId(at as u32), &name.name.name, (used, own)) {
                        Some(help) => help,
                        None => continue,
                    }
                }
                _ => continue,
            };
            found.push(foreign(page, name, (used, place, *a), (own, *b)).help(report));
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

/// What the model says about indices.
#[derive(Default)]
struct Kinds<'a> {
    /// Indices of arrays, in pairs: an array has the first index, and not the second one.
    apart: HashSet<(&'a str, &'a str)>,
    /// Indices that are compared with one another, or select elements of one array in one statement.
    linked: HashSet<(&'a str, &'a str)>,
    /// Indices that are compared with one another, or select elements along one axis of an array in one statement.
    along_one_axis: HashSet<(&'a str, &'a str)>,
    /// Arrays and indices that select elements of it on purpose: beside a shift, as in `u[i+1]`, or on a left side.
    chosen: HashSet<(&'a str, &'a str)>,
    /// Expressions in which a sum runs over an index.
    summed: HashSet<(ExprId, &'a str)>,
    /// Expressions in equations for each value of an index.
    equated: HashSet<(ExprId, &'a str)>,
}

impl<'a> Kinds<'a> {
    fn of(page: &Page<'a>, declared: &HashMap<&'a str, Vec<&'a str>>) -> Kinds<'a> {
        let names: HashSet<&str> = declared.values().flatten().copied().collect();
        let mut kinds = Kinds::default();
        for own in declared.values() {
            let others = names.iter().filter(|other| !own.contains(other));
            kinds.apart.extend(others.flat_map(|other| own.iter().map(move |index| (*index, *other))));
        }
        for expr in &page.tree.exprs {
            match &expr.kind {
                ExprKind::Comparison(operands, _) => {
                    let compared: Vec<&str> = operands.iter().filter_map(|operand| plain(page, *operand)).collect();
                    link(&mut kinds.linked, &compared);
                    link(&mut kinds.along_one_axis, &compared);
                }
                ExprKind::Reduce(_, binders, condition, body) => {
                    let inside = condition.iter().chain([body]).flat_map(|part| page.tree.nodes_of(*part));
                    for node in inside {
                        kinds.summed.extend(binders.iter().map(|(name, _)| (node, name.name.as_str())));
                    }
                }
                ExprKind::Name(name) => {
                    let shifted = name.indices.iter().filter_map(|index| match index {
                        Index::At(at) if plain(page, *at).is_none() => Some(page.tree.nodes_of(*at)),
                        _ => None,
                    });
                    let names = shifted.flatten().filter_map(|node| plain(page, node));
                    kinds.chosen.extend(names.map(|index| (name.name.name.as_str(), index)));
                }
                _ => {}
            }
        }
        for statement in &page.tree.statements {
            let mut read: HashMap<&str, HashSet<&str>> = HashMap::new();
            let mut along: HashMap<(&str, usize), HashSet<&str>> = HashMap::new();
            let StatementKind::Equation { lhs, rhs, .. } = &statement.kind else { continue };
            if let ExprKind::Name(name) = &page.expr(*lhs).kind {
                kinds.chosen.extend(plain_indices(page, &name.indices).map(|index| (name.name.name.as_str(), index)));
                for node in page.tree.nodes_of(*rhs) {
                    kinds.equated.extend(plain_indices(page, &name.indices).map(|index| (node, index)));
                }
            }
            for node in page.tree.nodes_of(*lhs).into_iter().chain(page.tree.nodes_of(*rhs)) {
                let ExprKind::Name(name) = &page.expr(node).kind else { continue };
                let array = name.name.name.as_str();
                read.entry(array).or_default().extend(plain_indices(page, &name.indices));
                for (axis, index) in name.indices.iter().enumerate() {
                    let index = std::slice::from_ref(index);
                    along.entry((array, axis)).or_default().extend(plain_indices(page, index));
                }
            }
            for indices in read.into_values() {
                link(&mut kinds.linked, &indices.into_iter().collect::<Vec<_>>());
            }
            for indices in along.into_values() {
                link(&mut kinds.along_one_axis, &indices.into_iter().collect::<Vec<_>>());
            }
        }
        kinds
    }

    /// True if two indices of different ranges count different things, and the equation, or a sum in it, runs over
    /// both at this place.
    fn mistaken(&self, place: ExprId, used: &str, own: &str) -> bool {
        self.runs(place, used) && self.runs(place, own) && !self.along_one_axis.contains(&(used, own))
    }

    /// True if the equation, or a sum in it, runs over the index at this place.
    fn runs(&self, place: ExprId, index: &str) -> bool {
        self.equated.contains(&(place, index)) || self.summed.contains(&(place, index))
    }

    /// What to write for an array over `own` that is read at an index of a smaller range; `None` if it may be meant.
    fn advice(&self, place: ExprId, array: &str, (used, own): (&str, &str)) -> Option<String> {
        if self.mistaken(place, used, own) {
            return Some(format!("write `{array}[{own}]`: the equation has `{own}` too"));
        }
        (self.differ(place, used, own) && self.overrun(place, array, used)).then(|| {
            format!(
                "declare `{array}[{used}]` if it belongs to the elements of `{used}`; if `{used}` counts the first \
                 elements of `{own}`, write `# allow W0506` at the end of the line"
            )
        })
    }

    /// True if an equation runs over the index at this place, and nothing says that it selects elements of the array.
    fn overrun(&self, place: ExprId, array: &str, used: &str) -> bool {
        self.equated.contains(&(place, used)) && !self.chosen.contains(&(array, used))
    }

    /// True if two indices probably count different things, and the equation at this place runs over the first one.
    fn differ(&self, place: ExprId, used: &str, own: &str) -> bool {
        self.apart.contains(&(used, own))
            && self.apart.contains(&(own, used))
            && !self.linked.contains(&(used, own))
            && !self.summed.contains(&(place, used))
    }
}

/// Adds all pairs of some indices.
fn link<'a>(pairs: &mut HashSet<(&'a str, &'a str)>, indices: &[&'a str]) {
    for a in indices {
        pairs.extend(indices.iter().map(|b| (*a, *b)));
    }
}

/// True if the ends of two ranges have nothing in common: `1..N` and `1..M`, but not `1..N` and `1..N-1`.
fn separate(page: &Page<'_>, a: Range, b: Range) -> bool {
    [a.1, b.1].into_iter().all(|end| match &page.expr(end).kind {
        ExprKind::Number(_) => true,
        ExprKind::Name(name) => name.indices.is_empty(),
        _ => false,
    })
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

/// The indices that are names.
fn plain_indices<'a>(page: &Page<'a>, indices: &'a [Index]) -> impl Iterator<Item = &'a str> {
    indices.iter().filter_map(|index| match index {
        Index::At(at) => plain(page, *at),
        _ => None,
    })
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
