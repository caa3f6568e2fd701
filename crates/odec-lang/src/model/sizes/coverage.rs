//! Checks that every element has one equation, or one part of its definition, and that boundaries lie outside and do
//! not overlap.

use odec_ir::Span;

use super::{Bounds, MAX_PARTS, SizeCheck, empty, intersection, primed, range_text, ranges_text, subtract};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Symbol;
use crate::model::arrays::{Indexed, Place};
use crate::report::error;

/// The elements that a statement determines, and its source location.
type Part<'m> = (&'m [Place], Span);

impl SizeCheck<'_> {
    /// Checks that every element has exactly one equation; likewise for definitions in parts.
    pub(super) fn coverage(&mut self) {
        let model = self.model;
        for (i, state) in model.states.iter().enumerate() {
            let parts: Vec<Part<'_>> = model
                .equations
                .iter()
                .filter(|e| e.owner == Some(i))
                .map(|e| (e.place.as_slice(), model.span(e.lhs)))
                .collect();
            if !state.indexed.is_scalar() && !parts.is_empty() {
                self.covered(Symbol::State(i), &state.indexed, &parts);
            }
        }
        for (i, definition) in model.definitions.iter().enumerate() {
            let parts: Vec<Part<'_>> =
                model.pieces.iter().filter(|p| p.definition == i).map(|p| (p.place.as_slice(), p.span)).collect();
            if !parts.is_empty() {
                self.covered(Symbol::Definition(i), &definition.indexed, &parts);
            }
        }
    }

    fn covered(&mut self, symbol: Symbol, indexed: &Indexed, parts: &[Part<'_>]) {
        let Some(whole) = self.model.ranges_of(indexed, self.values) else { return };
        let what = word(symbol);
        let mut boxes: Vec<(Bounds, Span)> = Vec::new();
        for (place, span) in parts {
            let Some(part) = self.place(place) else { continue };
            if empty(&part) {
                continue;
            }
            if let Some(outside) = subtract(&part, &whole).into_iter().next() {
                let element = self.element(symbol, indexed, &outside);
                let headline = format!("this {what} applies to `{element}`, which does not exist");
                let report =
                    error(&codes::E0533, headline, *span, "").label(self.span(symbol), ranges_text(indexed, &whole));
                let help = self.counted_from_one(symbol, &part, &whole);
                self.say(report.help(help.unwrap_or_else(|| {
                    "set the elements outside the array with `boundary`, and leave these indices out here".to_owned()
                })));
                return;
            }
            boxes.push((part, *span));
        }
        boxes.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some(report) = self.given_twice(symbol, indexed, &boxes) {
            self.say(report);
            return;
        }
        let mut rest = vec![whole];
        for (part, _) in &boxes {
            rest = rest.into_iter().flat_map(|r| subtract(&r, part)).collect();
            if rest.len() > MAX_PARTS {
                break;
            }
        }
        if !rest.is_empty() {
            rest.sort();
            let report = self.not_given(symbol, indexed, parts, &rest);
            self.say(report);
        }
    }

    /// Help for `y[3]' = ...` of an array with the elements 0 to 2.
    fn counted_from_one(&self, symbol: Symbol, part: &Bounds, whole: &Bounds) -> Option<String> {
        let ([(first, last)], [(0, end)]) = (part.as_slice(), whole.as_slice()) else { return None };
        let name = self.name(symbol);
        (first == last && *first == end + 1).then(|| {
            format!(
                "`{name}` has the elements 0 to {end}: count from 1, `index i = 1..{}`, or write `{}` here",
                end + 1,
                odec_ir::names::element(name, &[end.to_string()])
            )
        })
    }

    /// Two parts that have an element in common. The boxes ascend.
    fn given_twice(&self, symbol: Symbol, indexed: &Indexed, boxes: &[(Bounds, Span)]) -> Option<Diagnostic> {
        let what = word(symbol);
        for (i, (part, span)) in boxes.iter().enumerate() {
            for (other, again) in &boxes[i + 1..] {
                if other.first().is_some_and(|r| r.0 > part[0].1) {
                    break;
                }
                let Some(both) = intersection(part, other) else { continue };
                let element = self.element(symbol, indexed, &both);
                let headline = format!("`{element}` has two {what}s");
                let (first, second) = if span.start <= again.start { (*span, *again) } else { (*again, *span) };
                let report = error(&codes::E0522, headline, second, "a second one").label(first, "the first one");
                return Some(report.help(self.apart(indexed, part, other)));
            }
        }
        None
    }

    /// Help for two parts that overlap: the range that is left of the larger one.
    fn apart(&self, indexed: &Indexed, a: &Bounds, b: &Bounds) -> String {
        let letter = indexed.axes.first().map_or("i", |axis| axis.name.as_str());
        let range = indexed.axes.first().and_then(|axis| self.model.range_of(axis));
        let last = range.map_or("N".to_owned(), |(_, last)| self.model.expression(last));
        let whole = self.model.ranges_of(indexed, self.values);
        let (large, small) = if subtract(b, a).is_empty() { (a, b) } else { (b, a) };
        let rest = subtract(large, small);
        let only = "restrict one of them so that they do not overlap";
        if large.len() != 1 || rest.is_empty() || !subtract(small, large).is_empty() {
            return format!("{only}: `[{letter} in 2..{last}]`");
        }
        let end = |to: i64| match &whole {
            Some(whole) if whole[0].1 == to => last.clone(),
            _ => to.to_string(),
        };
        let parts: Vec<String> =
            rest.iter().map(|part| format!("[{letter} in {}..{}]", part[0].0, end(part[0].1))).collect();
        let listed = crate::suggest::list(parts.iter().map(String::as_str));
        format!("restrict the larger one so that they do not overlap: {listed}")
    }

    fn not_given(&self, symbol: Symbol, indexed: &Indexed, parts: &[Part<'_>], rest: &[Bounds]) -> Diagnostic {
        let missing: Vec<String> = rest.iter().take(3).map(|r| self.element(symbol, indexed, r)).collect();
        let more = if rest.len() > 3 { " and others" } else { "" };
        let listed = crate::suggest::list(missing.iter().map(String::as_str));
        let verb = if missing.len() == 1 { "has" } else { "have" };
        let headline = format!("{listed}{more} {verb} no {}", word(symbol));
        let whole = self.model.reported_ranges(indexed, self.values);
        let mut report = error(&codes::E0521, headline, self.span(symbol), ranges_text(indexed, &whole));
        for (place, span) in parts.iter().take(4) {
            if let Some(part) = self.place(place) {
                let shown = part.iter().map(range_text).collect::<Vec<_>>().join(", ");
                report = report.label(*span, format!("this applies to {shown}"));
            }
        }
        let prime = match symbol {
            Symbol::State(i) if !self.model.states[i].algebraic => "'".repeat(usize::from(self.model.states[i].order)),
            _ => String::new(),
        };
        report.help(format!("add one: `{} = ...`", primed(&missing[0], &prime)))
    }

    /// Checks that boundaries lie outside and do not overlap.
    pub(super) fn boundaries(&mut self) {
        let model = self.model;
        let mut seen: Vec<(Symbol, u8, Bounds, Span)> = Vec::new();
        for b in &model.boundaries {
            let Some(indexed) = model.indexed(b.array) else { continue };
            let (Some(part), Some(whole)) = (self.place(&b.place), model.ranges_of(indexed, self.values)) else {
                continue;
            };
            if empty(&part) || part.len() != whole.len() {
                continue;
            }
            if let Some(inside) = intersection(&part, &whole) {
                let element = self.element(b.array, indexed, &inside);
                let headline = format!("`{element}` is inside the array, and its equation determines it");
                let report =
                    error(&codes::E0524, headline, b.span, "").label(self.span(b.array), ranges_text(indexed, &whole));
                let (first, last) = whole[0];
                let name = self.name(b.array);
                // a boundary has all components of a vector
                let name = if name.contains('[') { name } else { name.split('.').next().unwrap_or(name) };
                let at = |i: i64| odec_ir::names::element(name, &[i.to_string()]);
                self.say(report.help(match whole.len() {
                    1 => format!("a boundary applies to elements outside: `{}`, `{}`", at(first - 1), at(last + 1)),
                    _ => "a boundary applies to elements outside along one index or more".to_owned(),
                }));
                continue;
            }
            for (k, axis) in indexed.axes.iter().enumerate() {
                let leaves = part[k].1 < whole[k].0 || part[k].0 > whole[k].1;
                let rule = model.edges.iter().find(|e| axis.range.is_none() && Some(e.index) == axis.index);
                if let (true, Some(rule)) = (leaves, rule) {
                    let element = self.element(b.array, indexed, &part);
                    let word = if rule.edge == odec_ir::nest::Edge::Periodic { "periodic" } else { "clamp" };
                    let headline = format!("`{element}` is set twice: `{word} {}` also sets it", axis.name);
                    let report = error(&codes::E0523, headline, b.span, "here").label(rule.span, "and here");
                    self.say(report.help("keep one of the two"));
                }
            }
            for (array, order, other, span) in &seen {
                if (*array, *order) == (b.array, b.order)
                    && let Some(both) = intersection(&part, other)
                {
                    let element = self.element(b.array, indexed, &both);
                    let headline = format!("`{element}` has two boundaries");
                    let report = error(&codes::E0523, headline, b.span, "again here").label(*span, "first here");
                    self.say(report.help("keep one; the corners of two edges belong to neither of them"));
                }
            }
            seen.push((b.array, b.order, part, b.span));
        }
    }
}

/// The kind of statement that determines the elements of a symbol.
fn word(symbol: Symbol) -> &'static str {
    if matches!(symbol, Symbol::State(_)) { "equation" } else { "definition" }
}
