//! Conditions that always hold or never: `x > 2 and x < 1`, `2 < x < 1`, `x < x`, `1 > 2`, `sin(x) > 2`, `x > a and
//! x < a - 1`, `t < 0` in a run that starts at 0.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use odec_ir::Span;

use super::Page;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Symbol;
use crate::report::warning;
use crate::syntax::tree::{Binary, Compare, ExprId, ExprKind, Later, StatementKind, WrittenValue};
use crate::units::Mode;

/// Largest number of comparisons that are combined in one condition.
const MAX_JOINED: usize = 64;

/// The remaining values of a quantity.
#[derive(Clone, Copy)]
struct Interval {
    low: f64,
    low_open: bool,
    high: f64,
    high_open: bool,
}

impl Interval {
    const ALL: Interval = Interval { low: f64::NEG_INFINITY, low_open: true, high: f64::INFINITY, high_open: true };

    /// The values for which `quantity sign bound` holds.
    fn of(sign: Compare, bound: f64) -> Option<Interval> {
        let above = |open| Interval { low: bound, low_open: open, ..Interval::ALL };
        let below = |open| Interval { high: bound, high_open: open, ..Interval::ALL };
        Some(match sign {
            Compare::Lt => below(true),
            Compare::Le => below(false),
            Compare::Gt => above(true),
            Compare::Ge => above(false),
            Compare::Eq => Interval { low: bound, low_open: false, high: bound, high_open: false },
            Compare::Ne => return None,
        })
    }

    fn and(self, other: Interval) -> Interval {
        let mut out = self;
        if other.low > out.low || other.low == out.low && other.low_open {
            (out.low, out.low_open) = (other.low, other.low_open);
        }
        if other.high < out.high || other.high == out.high && other.high_open {
            (out.high, out.high_open) = (other.high, other.high_open);
        }
        out
    }

    /// The values of the smaller of two quantities.
    fn min(self, other: Interval) -> Interval {
        let (low, high) = (self.low.min(other.low), self.high.min(other.high));
        Interval { low, low_open: low.is_infinite(), high, high_open: high.is_infinite() }
    }

    /// The values of the larger of two quantities.
    fn max(self, other: Interval) -> Interval {
        let (low, high) = (self.low.max(other.low), self.high.max(other.high));
        Interval { low, low_open: low.is_infinite(), high, high_open: high.is_infinite() }
    }

    fn is_empty(self) -> bool {
        self.low > self.high || self.low == self.high && (self.low_open || self.high_open)
    }

    /// True if both intervals together cover all values.
    fn covers_with(self, other: Interval) -> bool {
        let joined = |low: Interval, high: Interval| {
            low.low == f64::NEG_INFINITY
                && high.high == f64::INFINITY
                && (low.high > high.low || low.high == high.low && !(low.high_open && high.low_open))
        };
        joined(self, other) || joined(other, self)
    }
}

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let mut inside: Vec<bool> = vec![false; page.tree.exprs.len()];
    let mut chained: Vec<bool> = vec![false; page.tree.exprs.len()];
    // larger expressions come after their parts
    for at in (0..page.tree.exprs.len()).rev() {
        let id = ExprId(at as u32);
        match &page.expr(id).kind {
            ExprKind::Binary(op @ (Binary::And | Binary::Or), ..) if !inside[at] => {
                let mut parts = Vec::new();
                flatten(page, id, *op, &mut parts, &mut inside);
                found.extend(joined(page, id, *op, &parts));
            }
            ExprKind::Comparison(..) if !inside[at] => found.extend(single(page, id)),
            ExprKind::Call(name, list) => found.extend(constant(page, id, &name.name, list)),
            ExprKind::If(_, _, other) => {
                if !chained[at] {
                    unreachable(page, id, found);
                }
                chained[other.0 as usize] = true;
            }
            _ => {}
        }
    }
}

/// Collects the conditions that one operator joins.
fn flatten(page: &Page<'_>, id: ExprId, op: Binary, parts: &mut Vec<ExprId>, inside: &mut [bool]) {
    let mut stack = vec![id];
    while let Some(id) = stack.pop() {
        match &page.expr(id).kind {
            ExprKind::Binary(same, _, a, b) if *same == op => {
                inside[id.0 as usize] = true;
                stack.extend([*a, *b]);
            }
            ExprKind::Comparison(..) => {
                inside[id.0 as usize] = true;
                parts.push(id);
            }
            ExprKind::Not(_) => parts.push(id),
            _ => {}
        }
        if parts.len() > MAX_JOINED {
            return;
        }
    }
}

/// The value of a number, possibly with a unit, in the unit that the equations give it.
fn number(page: &Page<'_>, id: ExprId) -> Option<f64> {
    let value = match page.expr(id).kind {
        ExprKind::Number(value) => value,
        ExprKind::Neg(a) => -number(page, a)?,
        ExprKind::Tuple(ref one) if one.len() == 1 => number(page, one[0])?,
        // with `units off`, the sizes of quantities would be guessed
        ExprKind::Quantity(a, _) if page.model.units.mode != Mode::Off => number(page, a)?,
        _ => return None,
    };
    Some(page.model.unit_factors.get(&id).map_or(value, |factor| factor * value))
}

fn turned(sign: Compare) -> Compare {
    match sign {
        Compare::Lt => Compare::Gt,
        Compare::Le => Compare::Ge,
        Compare::Gt => Compare::Lt,
        Compare::Ge => Compare::Le,
        same => same,
    }
}

/// The comparison that holds where this one does not.
fn opposite(sign: Compare) -> Compare {
    match sign {
        Compare::Lt => Compare::Ge,
        Compare::Le => Compare::Gt,
        Compare::Gt => Compare::Le,
        Compare::Ge => Compare::Lt,
        Compare::Eq => Compare::Ne,
        Compare::Ne => Compare::Eq,
    }
}

/// An expression without brackets around the whole of it.
fn unbracketed(page: &Page<'_>, mut id: ExprId) -> ExprId {
    while let ExprKind::Tuple(one) = &page.expr(id).kind {
        let [inner] = one.as_slice() else { break };
        id = *inner;
    }
    id
}

/// Functions that are never negative.
const NEVER_NEGATIVE: [&str; 6] = ["abs", "sqrt", "exp", "cosh", "norm", "hypot"];
/// Functions with values from -1 to 1.
const AT_MOST_ONE: [&str; 5] = ["sin", "cos", "tanh", "erf", "sign"];

/// The earliest start of the runs that the model declares; `None` if a run goes backwards, or a start is not a plain
/// number.
fn first_time(page: &Page<'_>) -> Option<f64> {
    let mut first: Option<f64> = None;
    for statement in &page.tree.statements {
        let StatementKind::Run(_, entries, _) = &statement.kind else { continue };
        for entry in entries.iter().filter(|entry| entry.key.name == "t") {
            let WrittenValue::Range(from, to) = &entry.value else { return None };
            let (from, to) = (number(page, *from)?, number(page, *to)?);
            if from > to {
                return None;
            }
            first = Some(first.map_or(from, |first| first.min(from)));
        }
    }
    first
}

/// The values of an index whose range is written in numbers, which nothing else in the model changes.
fn index_range(page: &Page<'_>, id: ExprId) -> Option<Interval> {
    let ExprKind::Name(reference) = &page.expr(id).kind else { return None };
    let name = reference.name.name.as_str();
    let known = matches!(page.model.symbols.get(name), Some(Symbol::Index(_)));
    // `u[i in 0..9]` gives the index another range there
    if !known || !reference.path.is_empty() || page.source.text.contains(&format!("{name} in ")) {
        return None;
    }
    page.tree.statements.iter().find_map(|statement| {
        let StatementKind::Later(Later::Index(items)) = &statement.kind else { return None };
        let (_, first, last) = items.iter().find(|(names, ..)| names.iter().any(|index| index.name == name))?;
        let (low, high) = (number(page, *first)?, number(page, *last)?);
        Some(Interval { low, low_open: false, high, high_open: false })
    })
}

/// The bounds of a parameter without unit that are written in numbers: `param a = 3 in 0..5`.
fn parameter_range(page: &Page<'_>, id: ExprId) -> Option<Interval> {
    let ExprKind::Name(reference) = &page.expr(id).kind else { return None };
    let Some(Symbol::Parameter(own)) = page.model.symbols.get(reference.name.name.as_str()) else { return None };
    let parameter = &page.model.parameters[*own];
    let (low, high) = parameter.bounds.filter(|_| reference.path.is_empty() && parameter.unit.is_none())?;
    let value = |body| page.source.text.get(page.model.span(body).range())?.trim().parse::<f64>().ok();
    let (low, high) = (value(low)?, value(high)?);
    Some(Interval { low, low_open: low.is_infinite(), high, high_open: high.is_infinite() })
}

/// The values that a quantity can have, whatever its parts are.
fn range_of(page: &Page<'_>, id: ExprId) -> Interval {
    if page.text(id) == page.model.time.name
        && let Some(first) = first_time(page)
    {
        return Interval { low: first, low_open: false, ..Interval::ALL };
    }
    if let Some(range) = index_range(page, id).or_else(|| parameter_range(page, id)) {
        return range;
    }
    let square = |exponent: ExprId| number(page, exponent).is_some_and(|n| n % 2.0 == 0.0);
    let positive = Interval { low: 0.0, low_open: false, ..Interval::ALL };
    if let Some(value) = number(page, id) {
        return Interval { low: value, low_open: false, high: value, high_open: false };
    }
    match &page.expr(id).kind {
        ExprKind::Call(name, _) if page.model.functions.iter().any(|own| own.name == name.name) => Interval::ALL,
        ExprKind::Call(name, list) if name.name == "mod" => match list.get(1).and_then(|n| number(page, *n)) {
            Some(n) if n > 0.0 => Interval { low: 0.0, low_open: false, high: n, high_open: true },
            _ => Interval::ALL,
        },
        ExprKind::Call(name, list) if name.name == "min" || name.name == "max" => {
            let of = if name.name == "min" { Interval::min } else { Interval::max };
            list.iter().map(|id| range_of(page, *id)).reduce(of).unwrap_or(Interval::ALL)
        }
        ExprKind::Call(name, _) if NEVER_NEGATIVE.contains(&name.name.as_str()) => positive,
        ExprKind::Call(name, _) if AT_MOST_ONE.contains(&name.name.as_str()) => {
            Interval { low: -1.0, low_open: false, high: 1.0, high_open: false }
        }
        ExprKind::Binary(Binary::Pow, _, _, exponent) if square(*exponent) => positive,
        _ => Interval::ALL,
    }
}

/// A quantity plus a number: `a - 1`. The number alone has no quantity.
fn shifted(page: &Page<'_>, id: ExprId) -> (Option<ExprId>, f64) {
    if let Some(value) = number(page, id) {
        return (None, value);
    }
    match page.expr(id).kind {
        ExprKind::Tuple(ref one) if one.len() == 1 => shifted(page, one[0]),
        ExprKind::Binary(op @ (Binary::Add | Binary::Sub), _, a, b) => match (number(page, a), number(page, b), op) {
            (_, Some(shift), Binary::Add) => (Some(a), shift),
            (_, Some(shift), _) => (Some(a), -shift),
            (Some(shift), _, Binary::Add) => (Some(b), shift),
            _ => (Some(id), 0.0),
        },
        _ => (Some(id), 0.0),
    }
}

/// The conditions of a chain of comparisons for each quantity, or for each difference of two: `x > a - 1` is a
/// condition for `x - a`.
fn intervals(page: &Page<'_>, id: ExprId) -> BTreeMap<String, Interval> {
    let mut found = BTreeMap::new();
    let (id, negated) = match page.expr(id).kind {
        ExprKind::Not(inner) => (unbracketed(page, inner), true),
        _ => (id, false),
    };
    let ExprKind::Comparison(operands, signs) = &page.expr(id).kind else { return found };
    if negated && operands.len() > 2 {
        return found;
    }
    for (pair, (sign, _)) in operands.windows(2).zip(signs) {
        let sign = &if negated { opposite(*sign) } else { *sign };
        let ((left, a), (right, b)) = (shifted(page, pair[0]), shifted(page, pair[1]));
        let (key, range, interval) = match (left, right) {
            (Some(of), None) => (page.key(of), range_of(page, of), Interval::of(*sign, b - a)),
            (None, Some(of)) => (page.key(of), range_of(page, of), Interval::of(turned(*sign), a - b)),
            (Some(left), Some(right)) => {
                let (first, second) = (page.key(left), page.key(right));
                let interval = match first.cmp(&second) {
                    Ordering::Less => Interval::of(*sign, b - a),
                    Ordering::Greater => Interval::of(turned(*sign), a - b),
                    Ordering::Equal => continue,
                };
                (format!("{} - {}", (&first).min(&second), (&first).max(&second)), Interval::ALL, interval)
            }
            (None, None) => continue,
        };
        if let Some(interval) = interval {
            let known = found.entry(key).or_insert(range);
            *known = known.and(interval);
        }
    }
    found
}

/// `joined`: by `and`.
fn never(page: &Page<'_>, id: ExprId, of: &str, joined: bool) -> Diagnostic {
    let help = if joined { "is a sign wrong, or should `and` be `or`?" } else { "is a sign wrong?" };
    warning(&codes::W0503, "this condition never holds", page.expr(id).span, format!("no value of `{of}` satisfies it"))
        .help(help)
}

/// Checks a single comparison or a chain of them.
fn single(page: &Page<'_>, id: ExprId) -> Option<Diagnostic> {
    let ExprKind::Comparison(operands, signs) = &page.expr(id).kind else { return None };
    if let Some((of, _)) = intervals(page, id).iter().find(|(_, interval)| interval.is_empty()) {
        return Some(never(page, id, of, false));
    }
    if let Some(report) = of_numbers(page, operands) {
        return Some(report);
    }
    let ([a, b], [(sign, _)]) = (operands.as_slice(), signs.as_slice()) else { return None };
    if let Some(of) = certain(page, *a, *b, *sign) {
        let label = format!("every value of `{of}` satisfies it");
        let report = warning(&codes::W0503, "this condition always holds", page.expr(id).span, label);
        return Some(report.help("remove the choice, or compare with another number"));
    }
    let plain =
        |id: ExprId| matches!(page.expr(id).kind, ExprKind::Name(_) | ExprKind::Binary(..) | ExprKind::Call(..));
    let ((left, a), (right, b)) = (shifted(page, *a), shifted(page, *b));
    let label = match (left, right) {
        (None, None) => "both sides are constants".to_owned(),
        (Some(left), Some(right)) if plain(left) && page.key(left) == page.key(right) => match (b - a).abs() {
            0.0 => "both sides are the same quantity".to_owned(),
            apart => format!("one side is the other plus {apart}"),
        },
        _ => return None,
    };
    let holds = match sign {
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        Compare::Ge => a >= b,
        Compare::Eq => a == b,
        Compare::Ne => a != b,
    };
    let always = if holds { "always holds" } else { "never holds" };
    Some(
        warning(&codes::W0503, format!("this condition {always}"), page.expr(id).span, label)
            .help("remove the choice, or compare with another quantity"),
    )
}

/// `x > 0 == 0`: a chain compares its numbers with each other, and not the condition with a number.
fn of_numbers(page: &Page<'_>, operands: &[ExprId]) -> Option<Diagnostic> {
    let pair = operands.windows(2).find(|pair| pair.iter().all(|id| number(page, *id).is_some()))?;
    let (first, last) = (operands.first()?, operands.last()?);
    if operands.len() < 3 {
        return None;
    }
    let (start, end) = (page.expr(pair[0]).span, page.expr(pair[1]).span);
    let place = Span { end: end.end, ..start };
    let text = |from: ExprId, to: ExprId| {
        let (from, to) = (page.expr(from).span, page.expr(to).span);
        page.source.text.get(from.start as usize..to.end as usize).unwrap_or_default()
    };
    let whole = text(*first, *last);
    let headline = format!("`{whole}` is a chain of comparisons, and one part compares two numbers");
    let report = warning(&codes::W0503, headline, place, format!("`{}` is a part of it", text(pair[0], pair[1])));
    let condition = text(operands[0], operands[1]);
    Some(report.help(format!("write the condition alone, `{condition}`, or its opposite, `not ({condition})`")))
}

/// The function whose values all satisfy a comparison with a number: `abs(x) >= 0`, `sin(x) < 2`.
fn certain<'a>(page: &Page<'a>, a: ExprId, b: ExprId, sign: Compare) -> Option<&'a str> {
    let (of, sign, bound) = match (number(page, a), number(page, b)) {
        (None, Some(bound)) => (a, sign, bound),
        (Some(bound), None) => (b, turned(sign), bound),
        _ => return None,
    };
    let function = matches!(page.expr(of).kind, ExprKind::Call(..) | ExprKind::Binary(Binary::Pow, ..))
        || index_range(page, of).is_some();
    let (range, held) = (range_of(page, of), Interval::of(sign, bound)?);
    let low = held.low < range.low || held.low == range.low && !held.low_open;
    let high = held.high > range.high || held.high == range.high && !held.high_open;
    let limited = range.low.is_finite() || range.high.is_finite();
    let holds = limited && (low || held.low == f64::NEG_INFINITY) && (high || held.high == f64::INFINITY);
    (function && holds).then(|| page.text(of))
}

/// `max(0, min(-1, x))`, which is always 0.
fn constant(page: &Page<'_>, id: ExprId, name: &str, list: &[ExprId]) -> Option<Diagnostic> {
    let own = page.model.functions.iter().any(|own| own.name == name);
    if own || !matches!(name, "min" | "max") || list.iter().all(|id| number(page, *id).is_some()) {
        return None;
    }
    let range = range_of(page, id);
    let value = (range.low == range.high).then_some(range.low)?;
    let label = format!("the largest and the smallest value are {value}");
    let report = warning(&codes::W0503, format!("`{}` is always {value}", page.text(id)), page.expr(id).span, label);
    Some(report.help("to limit `x` to values from 0 to 1, write `max(0, min(1, x))`"))
}

/// Conditions joined by `and` or `or`.
fn joined(page: &Page<'_>, id: ExprId, op: Binary, parts: &[ExprId]) -> Option<Diagnostic> {
    if op == Binary::Or
        && let Some(of) = differs(page, parts)
    {
        let label = format!("every value of `{of}` differs from one of them");
        let report = warning(&codes::W0503, "this condition always holds", page.expr(id).span, label);
        return Some(report.help("should `or` be `and`?"));
    }
    let mut known: BTreeMap<String, Interval> = BTreeMap::new();
    for part in parts {
        for (key, interval) in intervals(page, *part) {
            if interval.is_empty() {
                return Some(never(page, *part, &key, false));
            }
            match known.get_mut(&key) {
                None => {
                    known.insert(key, interval);
                }
                Some(so_far) if op == Binary::And => {
                    *so_far = so_far.and(interval);
                    if so_far.is_empty() {
                        return Some(never(page, id, &key, true));
                    }
                }
                Some(so_far) => {
                    if so_far.covers_with(interval) {
                        return Some(
                            warning(
                                &codes::W0503,
                                "this condition always holds",
                                page.expr(id).span,
                                format!("every value of `{key}` satisfies it"),
                            )
                            .help("is a sign wrong, or should `or` be `and`?"),
                        );
                    }
                }
            }
        }
    }
    None
}

/// `m != 1 or m != 2`: the quantity that is compared with two numbers.
fn differs(page: &Page<'_>, parts: &[ExprId]) -> Option<String> {
    let mut known: BTreeMap<String, f64> = BTreeMap::new();
    for part in parts {
        let ExprKind::Comparison(operands, signs) = &page.expr(*part).kind else { continue };
        let ([a, b], [(Compare::Ne, _)]) = (operands.as_slice(), signs.as_slice()) else { continue };
        let (of, value) = match (number(page, *a), number(page, *b)) {
            (None, Some(value)) => (page.key(*a), value),
            (Some(value), None) => (page.key(*b), value),
            _ => continue,
        };
        if known.get(&of).is_some_and(|other| *other != value) {
            return Some(of);
        }
        known.insert(of, value);
    }
    None
}

/// `if t < 2 then 1 else if t < 1 then 2 else 3`: conditions of one quantity in a chain, of which a later one never
/// holds where the earlier ones do not.
fn unreachable(page: &Page<'_>, head: ExprId, found: &mut Vec<Diagnostic>) {
    let (mut id, mut left, mut of) = (head, Interval::ALL, None);
    while let ExprKind::If(condition, _, other) = &page.expr(id).kind {
        let own = intervals(page, *condition);
        let single = matches!(&page.expr(*condition).kind, ExprKind::Comparison(list, _) if list.len() == 2);
        let Some((key, interval)) = own.into_iter().next().filter(|_| single) else { return };
        if interval.is_empty() || of.as_ref().is_some_and(|known| *known != key) {
            return;
        }
        // the time begins at the start of the run
        if let Some(first) = first_time(page).filter(|_| key == page.model.time.name) {
            left = left.and(Interval { low: first, low_open: false, ..Interval::ALL });
        }
        if left.and(interval).is_empty() {
            let label = format!("the conditions before it leave no such value of `{key}`");
            let report = warning(&codes::W0503, "this branch is never reached", page.expr(*condition).span, label);
            found.push(report.help("check the order of the conditions"));
            return;
        }
        if interval.low <= left.low {
            let rest = Interval { low: interval.high, low_open: !interval.high_open, ..Interval::ALL };
            left = left.and(rest);
        } else if interval.high >= left.high {
            left = left.and(Interval { high: interval.low, high_open: !interval.low_open, ..Interval::ALL });
        }
        (of, id) = (Some(key), *other);
        while let ExprKind::Tuple(one) = &page.expr(id).kind {
            let [inner] = one.as_slice() else { return };
            id = *inner;
        }
    }
}
