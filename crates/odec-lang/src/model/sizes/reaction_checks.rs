//! Checks that the elements that reactions change exist: an amount that a reaction produces beyond the end of its
//! array would be lost, and an amount that it consumes there would come from nothing. Boundaries do not help, because
//! they hold no matter.

use super::{SizeCheck, ranges_text};
use crate::diagnostic::codes;
use crate::model::arrays::Indexed;
use crate::model::data::whole;
use crate::model::{Symbol, TermId, TermKind};
use crate::report::error;

/// A subscript of a species: its index and the values of the index in the reaction, the offset, and the smallest and
/// the largest resulting value.
struct Reach {
    index: Option<(String, i64, i64)>,
    offset: f64,
    low: f64,
    high: f64,
}

impl SizeCheck<'_> {
    /// See the top of the file.
    pub(super) fn changed(&mut self) {
        let model = self.model;
        for body in &model.changed {
            for k in body.range() {
                if let TermKind::Element(symbol, _, subscripts) = &model.terms[k].kind
                    && let Some(indexed) = model.indexed(*symbol)
                {
                    self.changed_element(*symbol, indexed, subscripts, TermId(k as u32));
                }
            }
        }
    }

    fn changed_element(&mut self, symbol: Symbol, indexed: &Indexed, subscripts: &[TermId], id: TermId) {
        if !matches!(symbol, Symbol::State(_)) {
            return;
        }
        let Some(ranges) = self.model.ranges_of(indexed, self.values) else { return };
        for (k, (&subscript, &(first, last))) in subscripts.iter().zip(&ranges).enumerate() {
            let Some(reach) = self.reach(subscript) else { continue };
            let inside = |x: f64| x.fract() == 0.0 && x >= first as f64 && x <= last as f64;
            if inside(reach.low) && inside(reach.high) {
                continue;
            }
            let beyond = if inside(reach.low) { reach.high } else { reach.low };
            let name = match whole(beyond) {
                Some(at) => {
                    let mut part = ranges.clone();
                    part[k] = (at, at);
                    self.element(symbol, indexed, &part)
                }
                None => format!("{}[{beyond}]", self.name(symbol)),
            };
            let headline = format!("`{name}` does not exist, but this reaction produces or consumes it");
            let (text, help) = match &reach.index {
                Some((index, from, to)) => {
                    let (from, to) =
                        (*from.max(&(first - reach.offset as i64)), *to.min(&(last - reach.offset as i64)));
                    let range = format!("give the reaction a range, `[{index} in {from}..{to}]`, and ");
                    let range = if from <= to { range } else { String::new() };
                    (
                        format!("`{index}` runs from {first} to {last} there"),
                        format!("{range}write separate reactions at the ends"),
                    )
                }
                None => (format!("this is {beyond}"), format!("name an element from {first} to {last}")),
            };
            let report = error(&codes::E0597, headline, self.model.term(id).span, text);
            self.say(report.label(self.span(symbol), ranges_text(indexed, &ranges)).help(help));
            return;
        }
    }

    /// `None` if another check reports the subscript.
    fn reach(&self, subscript: TermId) -> Option<Reach> {
        let Some(linear) = self.linear(subscript) else {
            let value = self.model.numbers(self.values).value(self.model.subtree(subscript)).unwrap_or(f64::NAN);
            return Some(Reach { index: None, offset: value, low: value, high: value });
        };
        let offset = linear.constant;
        let mut reach = Reach { index: None, offset, low: offset, high: offset };
        for (&local, &factor) in &linear.factors {
            let dimension = &self.model.locals[local].range;
            let (from, to) = self.model.bounds_of(dimension, self.values)?;
            let (a, b) = (factor * from as f64, factor * to as f64);
            reach.low += a.min(b);
            reach.high += a.max(b);
            reach.index = Some((dimension.name.clone(), from, to));
        }
        Some(reach)
    }
}
