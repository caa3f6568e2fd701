//! Terms of one equation with very different sizes at the start: a power of ten or a unit is probably wrong.

use super::Page;
use super::values::Values;
use crate::balance::short;
use crate::diagnostic::{Diagnostic, codes};
use crate::report::warning;
use crate::syntax::tree::{Binary, ExprId, ExprKind, Index, Reference, StatementKind};

/// The ratio of two terms above which the smaller one has no effect.
const RATIO: f64 = 1e10;
/// A state below this fraction of the largest one starts near zero.
const NEAR_ZERO: f64 = 1e-6;
/// Number of elements of an array at which the terms of its equation are compared.
const MAX_ELEMENTS: f64 = 12.0;
/// Exponential functions, and the arguments from which on they are large or small.
const GATES: [&str; 6] = ["exp", "tanh", "cosh", "sinh", "erf", "erfc"];
/// See [`GATES`].
const LARGE_EXPONENT: f64 = 9.0;
/// Largest number of terms of one sum that are compared.
const MAX_TERMS: usize = 200;

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let mut values = Values::of(page);
    let largest = largest_state(page, &mut values);
    let least_state = NEAR_ZERO * largest;
    let mut later = Values::with_states_from(page, largest);
    for statement in &page.tree.statements {
        let StatementKind::Equation { lhs, rhs, .. } = &statement.kind else { continue };
        let ExprKind::Name(target) = &page.expr(*lhs).kind else { continue };
        if target.primes == 0 {
            continue;
        }
        let mut unequal = compared(page, (&mut values, &mut later), least_state, *rhs);
        if matches!(unequal, Compared::Unknown) && !target.indices.is_empty() {
            unequal = Compared::Alike;
            // what holds for one element may be meant
            for element in elements(page, &mut values, target) {
                values.read_at(&element);
                later.read_at(&element);
                unequal = compared(page, (&mut values, &mut later), least_state, *rhs);
                if !matches!(unequal, Compared::Unequal(..)) {
                    break;
                }
            }
            values.read_at(&[]);
            later.read_at(&[]);
        }
        if let Compared::Unequal(least, most) = unequal {
            found.push(
                warning(
                    &codes::W0507,
                    "at the start, two terms of this equation differ by more than ten powers of ten",
                    page.expr(least.1).span,
                    format!("this is {}", short(least.0)),
                )
                .label(page.expr(most.1).span, format!("and this {}", short(most.0)))
                .help("check the powers of ten and the units"),
            );
        }
    }
}

/// Sizes of the terms of a sum.
enum Compared {
    /// A term has no value.
    Unknown,
    Alike,
    /// The smallest and the largest term.
    Unequal((f64, ExprId), (f64, ExprId)),
}

fn compared(
    page: &Page<'_>,
    (values, later): (&mut Values<'_>, &mut Values<'_>),
    least_state: f64,
    sum: ExprId,
) -> Compared {
    let mut sizes: Vec<(f64, ExprId)> = Vec::new();
    for term in terms(page, sum) {
        // a term without a value may be of any size
        let Some(size) = values.value(term).map(f64::abs) else { return Compared::Unknown };
        // a state that starts near zero does not determine the size of its terms
        if size.is_finite() && size > 0.0 && values.states(term).iter().all(|x| x.abs() >= least_state) {
            sizes.push((size, term));
        }
    }
    let by_size = |a: &&(f64, ExprId), b: &&(f64, ExprId)| a.0.total_cmp(&b.0);
    let (Some(least), Some(most)) = (sizes.iter().min_by(by_size), sizes.iter().max_by(by_size)) else {
        return Compared::Alike;
    };
    // the smaller term may grow with a state that is small at the start
    let grown = later.value(least.1).map_or(least.0, f64::abs).max(least.0);
    let (least, most) = (*least, *most);
    if most.0 / least.0 >= RATIO && most.0 / grown >= RATIO && !is_gate(page, values, least.1) {
        Compared::Unequal(least, most)
    } else {
        Compared::Alike
    }
}

/// True if an exponential of states makes a term small, such as a gate that is closed at the start: it opens later.
fn is_gate(page: &Page<'_>, values: &mut Values<'_>, term: ExprId) -> bool {
    page.tree.nodes_of(term).into_iter().take(MAX_TERMS).any(|node| match &page.expr(node).kind {
        ExprKind::Call(name, arguments) if GATES.contains(&name.name.as_str()) => arguments.first().is_some_and(|at| {
            let far = values.value(*at).is_none_or(|value| value.abs() > LARGE_EXPONENT);
            far && !values.states(*at).is_empty()
        }),
        _ => false,
    })
}

/// A few elements of an equation with one index, from the first to the last.
fn elements<'a>(page: &Page<'a>, values: &mut Values<'_>, target: &'a Reference) -> Vec<Vec<(&'a str, f64)>> {
    let [Index::At(index)] = target.indices[..] else { return Vec::new() };
    let ExprKind::Name(index) = &page.expr(index).kind else { return Vec::new() };
    let name = index.name.name.as_str();
    let Some((first, last)) = values.range(name).filter(|(first, last)| first <= last) else { return Vec::new() };
    let step = ((last - first) / (MAX_ELEMENTS - 1.0)).ceil().max(1.0);
    let mut places: Vec<f64> = Vec::new();
    let mut at = first;
    while at < last {
        places.push(at);
        at += step;
    }
    places.push(last);
    places.into_iter().map(|at| vec![(name, at)]).collect()
}

/// The size of the largest state at the start.
fn largest_state(page: &Page<'_>, values: &mut Values<'_>) -> f64 {
    let mut largest = 0.0f64;
    for statement in &page.tree.statements {
        let StatementKind::State(items) = &statement.kind else { continue };
        for value in items.iter().filter_map(|item| item.value) {
            largest = largest.max(values.value(value).map_or(0.0, f64::abs));
        }
    }
    largest
}

/// The terms of a sum, without their signs.
fn terms(page: &Page<'_>, id: ExprId) -> Vec<ExprId> {
    let mut found = Vec::new();
    let mut stack = vec![id];
    while let Some(id) = stack.pop() {
        match &page.expr(id).kind {
            ExprKind::Binary(Binary::Add | Binary::Sub, _, a, b) => stack.extend([*b, *a]),
            ExprKind::Neg(a) => stack.push(*a),
            ExprKind::Tuple(one) if one.len() == 1 => stack.push(one[0]),
            _ => found.push(id),
        }
        if found.len() > MAX_TERMS {
            return Vec::new();
        }
    }
    found
}
