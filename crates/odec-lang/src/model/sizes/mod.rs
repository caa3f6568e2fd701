//! Checks that depend on sizes: whether index sets have elements, every element has one equation, tables fit, and all
//! reads exist. All checks work on ranges, never on single elements, so their cost does not depend on the sizes.

mod coverage;
mod expects;
mod guarded;
mod reaction_checks;
mod reads;
mod unread;

use std::collections::HashMap;

use odec_ir::Span;

use super::arrays::{Dimension, Indexed, Place, Table};
use super::data::{MAX_ELEMENTS, MAX_INDEX, count, whole};
use super::{Body, Model, Symbol, TermId, TermKind, Values};
use crate::diagnostic::{Diagnostic, codes};
use crate::limits::MAX_NESTING;
use crate::report::error;

/// First and last index along each axis.
type Bounds = Vec<(i64, i64)>;

/// Largest number of ranges of elements without an equation; messages show the first ones.
const MAX_PARTS: usize = 1000;
/// Largest number of diagnostics of one kind.
const MAX_SAID: usize = 20;

/// A subscript as numbers: constant, and coefficient of each index.
#[derive(Clone, Debug, Default)]
struct Linear {
    constant: f64,
    factors: HashMap<usize, f64>,
}

impl Linear {
    fn number(x: f64) -> Linear {
        Linear { constant: x, factors: HashMap::new() }
    }

    fn plus(&self, other: &Linear, factor: f64) -> Linear {
        let mut sum = self.clone();
        sum.constant += factor * other.constant;
        for (&local, &c) in &other.factors {
            *sum.factors.entry(local).or_default() += factor * c;
        }
        sum.factors.retain(|_, c| *c != 0.0);
        sum
    }
}

struct SizeCheck<'a> {
    pub model: &'a Model,
    pub values: &'a Values,
    pub reports: Vec<Diagnostic>,
    /// Number of terms that may still be evaluated for reads under conditions.
    pub terms_left: u64,
}

impl Model {
    /// Mistakes in sizes, tables, boundaries, and elements that are determined or read, at these values of the
    /// constants.
    pub fn check_sizes(&self, values: &Values) -> Vec<Diagnostic> {
        if !self.has_arrays() {
            return Vec::new();
        }
        let mut sizes = SizeCheck { model: self, values, reports: Vec::new(), terms_left: guarded::MAX_TERMS };
        sizes.extents();
        if sizes.reports.is_empty() {
            sizes.amounts();
        }
        if sizes.reports.is_empty() {
            sizes.tables();
            sizes.coverage();
            sizes.boundaries();
        }
        if sizes.reports.is_empty() {
            sizes.changed();
        }
        if sizes.reports.is_empty() {
            sizes.accesses();
        }
        sizes.reports
    }
}

impl SizeCheck<'_> {
    /// Adds a diagnostic once: components of vectors and several names share locations.
    pub fn say(&mut self, report: Diagnostic) {
        let same = |d: &Diagnostic| d.code == report.code && d.labels == report.labels;
        let alike = self.reports.iter().filter(|d| d.code == report.code).count();
        if alike < MAX_SAID && !self.reports.iter().any(same) {
            self.reports.push(report);
        }
    }

    fn number(&self, body: Body) -> f64 {
        self.model.number(body, self.values)
    }

    /// Checks that all ranges and fixed indices are integers, and that index sets and axes have elements.
    fn extents(&mut self) {
        let model = self.model;
        for set in &model.index_sets {
            let range = Dimension { index: None, range: Some((set.first, set.last)), name: set.name.clone() };
            self.extent(&range, Some((set.span, true)));
        }
        for symbol in self.symbols() {
            let Some(indexed) = model.indexed(symbol) else { continue };
            for axis in indexed.axes.iter().filter(|a| a.range.is_some()) {
                self.extent(axis, Some((self.span(symbol), false)));
            }
        }
        for local in &model.locals {
            if local.range.range.is_some() {
                self.extent(&local.range, None);
            }
        }
        let places = model.equations.iter().flat_map(|e| &e.place);
        let places = places.chain(model.boundaries.iter().flat_map(|b| &b.place));
        for place in places.chain(model.pieces.iter().flat_map(|p| &p.place)) {
            if let Place::At(body) = place {
                self.whole(*body);
            }
        }
    }

    fn whole(&mut self, body: Body) -> Option<i64> {
        let value = self.number(body);
        let found = whole(value);
        if found.is_none() {
            let model = self.model;
            if let Some(report) = model.exhausted(&[body], self.values).filter(|_| value.is_nan()) {
                self.say(report);
                return None;
            }
            let span = model.span(body);
            let headline = if value.is_finite() && value.abs() >= MAX_INDEX {
                format!("the index {value} is too large")
            } else {
                format!("an index must be a whole number, but this is {value}")
            };
            let mut report = error(&codes::E0516, headline, span, format!("this is {value}"));
            for term in &model.terms[body.range()] {
                if let TermKind::Constant(i) = term.kind {
                    let given = &model.constants[i];
                    // one wrong constant is one mistake, for any number of affected indices
                    let said =
                        |d: &Diagnostic| d.code == &codes::E0516 && d.labels.iter().any(|l| l.span == given.span);
                    if self.reports.iter().any(said) {
                        return None;
                    }
                    report = report.label(given.span, format!("`{}` = {}", given.name, self.values.constants[i]));
                }
            }
            self.say(report.help("write a whole number, or round it: `floor(x)`"));
        }
        found
    }

    /// `declared`: source location of the axis, and true for an index set.
    fn extent(&mut self, dimension: &Dimension, declared: Option<(Span, bool)>) {
        let Some((first, last)) = self.model.range_of(dimension) else { return };
        let (Some(a), Some(b)) = (self.whole(first), self.whole(last)) else { return };
        let Some((span, is_set)) = declared else { return };
        if b < a {
            let range = self.model.span(first).to(self.model.span(last));
            let name = &dimension.name;
            let headline = format!("the index `{name}` is empty: {a}..{b} contains no value");
            let mut report = error(&codes::E0517, headline, range, format!("this is {a}..{b}"));
            if !is_set {
                report = report.label(span, "declared here");
            }
            let culprit = self.constant_in(last);
            self.say(match culprit {
                Some(i) => {
                    let given = &self.model.constants[i];
                    let value = self.values.constants[i];
                    let report = report.label(given.span, format!("`{}` = {value}", given.name));
                    report.help(format!("choose a larger `{}`: an index set needs at least one element", given.name))
                }
                // `1..0` is one element short of `1..1`, and no range from 0 to 1
                None if b + 1 == a => report.help(format!(
                    "an index set needs at least one element, such as `{a}..{a}`; for a model without this array, remove \
                     the array"
                )),
                None => report.help("write the smaller number first: an index set needs at least one element"),
            });
        }
    }

    fn constant_in(&self, body: Body) -> Option<usize> {
        self.model.terms[body.range()].iter().find_map(|t| match t.kind {
            TermKind::Constant(i) => Some(i),
            _ => None,
        })
    }

    /// Arrays are not larger than can be held.
    fn amounts(&mut self) {
        let mut total: u64 = 0;
        for symbol in self.symbols() {
            let Some(indexed) = self.model.indexed(symbol).filter(|i| !i.is_scalar()) else { continue };
            let Some(ranges) = self.model.ranges_of(indexed, self.values) else { continue };
            let orders = match symbol {
                Symbol::State(i) => u64::from(self.model.states[i].order),
                Symbol::Constant(_) | Symbol::Parameter(_) | Symbol::Discrete(_) => 1,
                // Definitions are not stored.
                _ => 0,
            };
            let elements = count(&ranges);
            total = total.saturating_add(elements.unwrap_or(u64::MAX).saturating_mul(orders));
            if total > MAX_ELEMENTS {
                let name = self.name(symbol);
                let amount = ranges.iter().map(|r| (r.1 as f64) - (r.0 as f64) + 1.0).product::<f64>();
                let headline = format!("`{name}` would have {} elements", readable(amount));
                let mut report = error(&codes::E0518, headline, self.span(symbol), "");
                let mut seen = Vec::new();
                for (first, last) in indexed.axes.iter().filter_map(|d| self.model.range_of(d)) {
                    let range = self.model.span(first).to(self.model.span(last));
                    if seen.contains(&range) {
                        continue;
                    }
                    seen.push(range);
                    report = report.label(range, format!("{} .. {}", self.number(first), self.number(last)));
                }
                let help =
                    format!("the arrays of a model can have {MAX_ELEMENTS} elements in total: choose a smaller size");
                self.say(report.help(help));
                return;
            }
        }
    }

    /// Checks that tables have a value for every element, and that tables of indices contain integers.
    fn tables(&mut self) {
        let model = self.model;
        for symbol in self.symbols() {
            let given = match symbol {
                Symbol::Constant(i) => &model.constants[i],
                Symbol::Parameter(i) => &model.parameters[i],
                _ => continue,
            };
            let Some(Table::Values { shape, span, .. }) = &given.table else { continue };
            let Some(ranges) = model.ranges_of(&given.indexed, self.values) else { continue };
            for (k, (&n, &(first, last))) in shape.iter().zip(&ranges).enumerate() {
                let wanted = last - first + 1;
                if n as i64 == wanted {
                    continue;
                }
                let axis = &given.indexed.axes[k];
                let values = if n == 1 { "value".to_owned() } else { "values".to_owned() };
                let what = if k + 1 < shape.len() { "rows".to_owned() } else { values };
                let headline =
                    format!("the table of `{}` has {n} {what} for {wanted} values of `{}`", given.name, axis.name);
                let mut report = error(&codes::E0525, headline, *span, format!("{n} {what}"));
                if let Some((a, b)) = model.range_of(axis) {
                    let range = model.span(a).to(model.span(b));
                    report = report.label(range, format!("`{}` runs from {first} to {last}", axis.name));
                }
                self.say(report.help("write a value for every index, or change the range of the index"));
                break;
            }
        }
    }

    /// The elements of a place.
    pub fn place(&self, place: &[Place]) -> Option<Bounds> {
        let one = |p: &Place| match p {
            Place::Each(local) => self.model.bounds_of(&self.model.locals[*local].range, self.values),
            Place::At(body) => whole(self.number(*body)).map(|x| (x, x)),
        };
        place.iter().map(one).collect()
    }

    /// A subscript that is linear in indices.
    fn linear(&self, root: TermId) -> Option<Linear> {
        self.linear_in(root, 0)
    }

    fn linear_in(&self, root: TermId, depth: usize) -> Option<Linear> {
        if depth > MAX_NESTING {
            return None;
        }
        let term = self.model.term(root);
        match &term.kind {
            TermKind::Number(x) => Some(Linear::number(*x)),
            TermKind::Constant(i) => Some(Linear::number(self.values.constants[*i])),
            TermKind::Index(local) => Some(Linear { constant: 0.0, factors: HashMap::from([(*local, 1.0)]) }),
            TermKind::Apply(op, [a, b, _]) => match op.0.name {
                "neg" => Some(Linear::number(0.0).plus(&self.linear_in(*a, depth + 1)?, -1.0)),
                "add" => Some(self.linear_in(*a, depth + 1)?.plus(&self.linear_in(*b, depth + 1)?, 1.0)),
                "sub" => Some(self.linear_in(*a, depth + 1)?.plus(&self.linear_in(*b, depth + 1)?, -1.0)),
                "mul" => {
                    let (a, b) = (self.linear_in(*a, depth + 1)?, self.linear_in(*b, depth + 1)?);
                    match (a.factors.is_empty(), b.factors.is_empty()) {
                        (true, _) => Some(Linear::number(0.0).plus(&b, a.constant)),
                        (_, true) => Some(Linear::number(0.0).plus(&a, b.constant)),
                        _ => None,
                    }
                }
                name => {
                    let operands = &[*a, *b][..usize::from(op.0.arity).min(2)];
                    let values: Option<Vec<Linear>> = operands.iter().map(|&o| self.linear_in(o, depth + 1)).collect();
                    let values = values?;
                    let fixed = values.iter().all(|v| v.factors.is_empty()) && usize::from(op.0.arity) <= 2;
                    let numbers: Vec<f64> = values.iter().map(|v| v.constant).collect();
                    (fixed && !name.is_empty()).then(|| Linear::number((op.0.value)(&numbers)))
                }
            },
            _ => None,
        }
    }

    fn symbols(&self) -> Vec<Symbol> {
        let model = self.model;
        let symbols = (0..model.states.len()).map(Symbol::State);
        let symbols = symbols.chain((0..model.constants.len()).map(Symbol::Constant));
        let symbols = symbols.chain((0..model.parameters.len()).map(Symbol::Parameter));
        let symbols = symbols.chain((0..model.definitions.len()).map(Symbol::Definition));
        symbols.chain((0..model.discretes.len()).map(Symbol::Discrete)).collect()
    }

    fn name(&self, symbol: Symbol) -> &str {
        match symbol {
            Symbol::State(i) => &self.model.states[i].name,
            Symbol::Constant(i) => &self.model.constants[i].name,
            Symbol::Parameter(i) => &self.model.parameters[i].name,
            Symbol::Definition(i) => &self.model.definitions[i].name,
            Symbol::Discrete(i) => &self.model.discretes[i].name,
            Symbol::Time | Symbol::Index(_) => "",
        }
    }

    fn span(&self, symbol: Symbol) -> Span {
        match symbol {
            Symbol::State(i) => self.model.states[i].span,
            Symbol::Constant(i) => self.model.constants[i].span,
            Symbol::Parameter(i) => self.model.parameters[i].span,
            Symbol::Definition(i) => self.model.definitions[i].span,
            Symbol::Discrete(i) => self.model.discretes[i].span,
            Symbol::Time | Symbol::Index(_) => Span::default(),
        }
    }

    /// `u[0]`, `u[N+1,j]`, `u[2..5]`: the notation of some elements.
    fn element(&self, symbol: Symbol, indexed: &Indexed, part: &Bounds) -> String {
        let whole = self.model.reported_ranges(indexed, self.values);
        let axis = |(k, &(first, last)): (usize, &(i64, i64))| {
            let dimension = &indexed.axes[k];
            let all = whole.get(k) == Some(&(first, last));
            if first == last && !(all && dimension.index.is_some()) {
                return self.near_end(dimension, whole.get(k), first);
            }
            if all && dimension.index.is_some() {
                return dimension.name.clone();
            }
            format!("{first}..{last}")
        };
        let subscripts: Vec<String> = part.iter().enumerate().map(axis).collect();
        odec_ir::names::element(self.name(symbol), &subscripts)
    }

    /// An index beyond a symbolic end is written relative to it: `N+1`.
    fn near_end(&self, dimension: &Dimension, whole: Option<&(i64, i64)>, i: i64) -> String {
        let Some(&(_, last)) = whole else { return i.to_string() };
        let Some((_, end)) = self.model.range_of(dimension) else { return i.to_string() };
        let symbolic = self.constant_in(end).is_some();
        match i - last {
            _ if !symbolic => i.to_string(),
            0 if last > 3 => self.model.expression(end),
            by if by > 0 => match self.model.term(end.root).kind {
                TermKind::Constant(_) => format!("{}+{by}", self.model.expression(end)),
                // N-1 + 1
                TermKind::Apply(op, [a, b, _])
                    if op.0.name == "sub"
                        && matches!(self.model.term(b).kind, TermKind::Number(x) if x == by as f64) =>
                {
                    self.model.expression(Body { start: end.start, end: a.0 + 1, root: a })
                }
                _ => i.to_string(),
            },
            _ => i.to_string(),
        }
    }
}

fn ranges_text(indexed: &Indexed, whole: &Bounds) -> String {
    let axis = |(d, r): (&Dimension, &(i64, i64))| match d.index {
        Some(_) => format!("{} = {}..{}", d.name, r.0, r.1),
        None => format!("{}..{}", r.0, r.1),
    };
    format!("declared for {}", indexed.axes.iter().zip(whole).map(axis).collect::<Vec<_>>().join(", "))
}

/// The text of an element with these primes: `u[1]'`, `p[1]'.x`.
fn primed(element: &str, primes: &str) -> String {
    let end = element.rfind(']').map_or(element.len(), |close| close + 1);
    format!("{}{primes}{}", &element[..end], &element[end..])
}

fn range_text(range: &(i64, i64)) -> String {
    if range.0 == range.1 { range.0.to_string() } else { format!("{}..{}", range.0, range.1) }
}

/// `1e12`, `40000`.
fn readable(x: f64) -> String {
    if x >= 1e9 { format!("{x:e}") } else { format!("{x}") }
}

fn empty(part: &Bounds) -> bool {
    part.iter().any(|r| r.1 < r.0)
}

fn intersection(a: &Bounds, b: &Bounds) -> Option<Bounds> {
    let both: Bounds = a.iter().zip(b).map(|(x, y)| (x.0.max(y.0), x.1.min(y.1))).collect();
    (!empty(&both)).then_some(both)
}

/// The part of the first box outside the second one, as disjoint boxes.
fn subtract(a: &Bounds, b: &Bounds) -> Vec<Bounds> {
    let Some(both) = intersection(a, b) else { return vec![a.clone()] };
    let mut rest = a.clone();
    let mut parts = Vec::new();
    for k in 0..a.len() {
        if rest[k].0 < both[k].0 {
            let mut part = rest.clone();
            part[k].1 = both[k].0 - 1;
            parts.push(part);
        }
        if rest[k].1 > both[k].1 {
            let mut part = rest.clone();
            part[k].0 = both[k].1 + 1;
            parts.push(part);
        }
        rest[k] = both[k];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_of_boxes_is_exact() {
        let whole = vec![(1, 4), (1, 3)];
        let parts = subtract(&whole, &vec![(2, 3), (2, 9)]);
        let points: u64 = parts.iter().filter_map(|p| count(p)).sum();
        assert_eq!(points, 12 - 4);
        for (i, a) in parts.iter().enumerate() {
            assert!(intersection(a, &vec![(2, 3), (2, 9)]).is_none());
            assert!(parts[i + 1..].iter().all(|b| intersection(a, b).is_none()));
        }
        assert_eq!(subtract(&whole, &vec![(5, 6), (1, 3)]), vec![whole.clone()]);
        assert!(subtract(&whole, &vec![(0, 9), (0, 9)]).is_empty());
    }
}
