//! Boundaries whose elements no expression reads: a wrong index, or a neighbour that is missing in an equation.

use odec_ir::Span;

use super::{Bounds, SizeCheck, guarded, intersection, primed};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Model, Symbol, TermKind, Values};
use crate::report::warning;

impl Model {
    /// One warning for each such boundary. Conditions on indices are ignored, so a boundary that only a condition
    /// leaves out counts as read.
    pub(crate) fn unread_boundaries(&self, values: &Values) -> Vec<Diagnostic> {
        if self.boundaries.is_empty() {
            return Vec::new();
        }
        let sizes = SizeCheck { model: self, values, reports: Vec::new(), terms_left: guarded::MAX_TERMS };
        sizes.unread()
    }
}

impl SizeCheck<'_> {
    fn unread(&self) -> Vec<Diagnostic> {
        let boxes: Vec<Option<Bounds>> = self.model.boundaries.iter().map(|b| self.place(&b.place)).collect();
        let mut read = vec![false; boxes.len()];
        for term in &self.model.terms {
            let TermKind::Element(symbol, _, subscripts) = &term.kind else { continue };
            if !matches!(symbol, Symbol::State(_) | Symbol::Definition(_)) {
                continue;
            }
            let mut reach: Option<Option<Bounds>> = None;
            for (k, boundary) in self.model.boundaries.iter().enumerate() {
                if read[k] || boundary.array != *symbol {
                    continue;
                }
                // the elements of this read, if they are known
                let reach = reach.get_or_insert_with(|| subscripts.iter().map(|s| self.ends(*s)).collect());
                read[k] = match (reach, &boxes[k]) {
                    (Some(reach), Some(place)) if reach.len() == place.len() => intersection(reach, place).is_some(),
                    _ => true,
                };
            }
        }
        // the components of a vector have one boundary
        let is_read = |span: Span| self.model.boundaries.iter().zip(&read).any(|(b, read)| *read && b.span == span);
        let mut found: Vec<Diagnostic> = Vec::new();
        for (boundary, place) in self.model.boundaries.iter().zip(&boxes) {
            let said = |d: &Diagnostic| d.span() == Some(boundary.span);
            let (Some(place), Some(indexed)) = (place, self.model.indexed(boundary.array)) else { continue };
            if is_read(boundary.span) || found.iter().any(said) {
                continue;
            }
            let element = self.element(boundary.array, indexed, place);
            let element = primed(&element, &"'".repeat(usize::from(boundary.order)));
            let report =
                warning(&codes::W0201, format!("no equation reads `{element}`"), boundary.span, "this boundary");
            found.push(report.help("correct its index, or remove it"));
        }
        found
    }

    /// The smallest and the largest value of a subscript, if it is linear in indices.
    fn ends(&self, subscript: crate::model::TermId) -> Option<(i64, i64)> {
        let linear = self.linear(subscript)?;
        let (mut low, mut high) = (linear.constant, linear.constant);
        for (&local, &factor) in &linear.factors {
            let (first, last) = self.model.bounds_of(&self.model.locals[local].range, self.values)?;
            let (a, b) = (factor * first as f64, factor * last as f64);
            low += a.min(b);
            high += a.max(b);
        }
        Some((low.floor() as i64, high.ceil() as i64))
    }
}
