//! Numbers without a unit next to a quantity whose unit mixes scales, such as [g/(h*mg)] from g/L and mg/L: the number is
//! read in that unit, and its author probably means another one.

use std::collections::HashMap;

use odec_ir::Span;

use super::{Checker, Quantity};
use crate::diagnostic::codes;
use crate::syntax::tree::{ExprId, ExprKind};
use crate::units::Mode;
use crate::units::pool::UnitId;
use crate::units::vector::Vector;

/// Largest number of places that are reported.
const MAX_REPORTED: usize = 3;

/// A number without a unit next to an expression.
#[derive(Clone, Copy)]
pub(super) struct NumberBeside {
    pub number: ExprId,
    pub other: ExprId,
    pub unit: UnitId,
}

impl<'a> Checker<'a> {
    /// Warns about numbers in a unit that the model writes nowhere and that mixes scales of one dimension.
    pub(super) fn report_mixed_scales(&mut self) {
        if self.units.mode == Mode::Strict {
            return;
        }
        let mut definitions: Option<HashMap<&'a str, Vec<ExprId>>> = None;
        let mut reported = 0;
        for NumberBeside { number, other, unit } in std::mem::take(&mut self.numbers_beside) {
            let id = self.reduced(unit);
            let vector = &self.pool[id];
            let plain = !vector.has_dimension() || vector.is_open() || vector.is_lost() || vector.has_named_exponent();
            if plain || self.units.spelled.contains_key(vector) {
                continue;
            }
            let definitions = definitions.get_or_insert_with(|| self.bodies());
            let Some((first, second)) = self.mixed(other, definitions) else { continue };
            let [mut a, mut b] = [first, second].map(|q| (q.name, q.bracket.map_or(q.span, |bracket| bracket.span)));
            if a.1.start > b.1.start {
                (a, b) = (b, a);
            }
            let text = self.words(id);
            let value = self.input.text(self.span(number)).to_owned();
            let headline = format!("odec reads `{value}` in [{text}]");
            let label = |of: (&str, Span)| (of.1, format!("`{}` has another scale than `{}`", a.0, b.0));
            let (place, why) = label(a);
            let report = crate::report::warning(&codes::W0523, headline, self.span(number), "a number without a unit")
                .label(self.span(other), format!("in [{text}]"))
                .label(place, why)
                .label(b.1, "");
            self.reports.say(report.help(format!(
                "give the number its unit, `{value} [...]`, or declare the unit of the definition beside it"
            )));
            reported += 1;
            if reported == MAX_REPORTED {
                return;
            }
        }
    }

    /// The expressions of each definition without a declared unit.
    fn bodies(&self) -> HashMap<&'a str, Vec<ExprId>> {
        let mut of: HashMap<&'a str, Vec<ExprId>> = HashMap::new();
        for (k, item) in self.names.found.definitions.iter().enumerate() {
            if self.quantities[self.first_definition + k].bracket.is_none() {
                let all = item.pieces.iter().map(|piece| piece.1).chain([item.value]);
                of.entry(item.name).or_default().extend(all);
            }
        }
        of
    }

    /// Two names in an expression, or in the definitions that it reads, whose units contain one dimension in two scales.
    fn mixed(
        &self,
        expr: ExprId,
        definitions: &HashMap<&'a str, Vec<ExprId>>,
    ) -> Option<(&Quantity<'a>, &Quantity<'a>)> {
        let mut known: Vec<(Vector, Vector, usize)> = Vec::new();
        let mut seen: Vec<usize> = Vec::new();
        let mut open = vec![expr];
        while let Some(expr) = open.pop() {
            for id in self.input.nodes_of(expr) {
                if !matches!(self.input.tree.exprs[id.0 as usize].kind, ExprKind::Name(_)) {
                    continue;
                }
                let Some(at) = self.named[id.0 as usize].map(|at| at as usize) else { continue };
                if seen.contains(&at) || seen.len() > MAX_NAMES {
                    continue;
                }
                seen.push(at);
                let quantity = &self.quantities[at];
                let Some(bracket) = quantity.bracket else {
                    open.extend(definitions.get(quantity.name).into_iter().flatten());
                    continue;
                };
                for word in bracket.text.split(|c: char| !c.is_alphabetic()) {
                    let Some(unit) = self.units.find(word).filter(Vector::has_dimension) else { continue };
                    let dimensions = unit.dimensions();
                    match known.iter().find(|other| other.0 == dimensions) {
                        Some((_, other, first)) if *other != unit => {
                            return Some((&self.quantities[*first], quantity));
                        }
                        Some(_) => {}
                        None => known.push((dimensions, unit, at)),
                    }
                }
            }
        }
        None
    }
}

/// Largest number of names that are followed from one place.
const MAX_NAMES: usize = 200;
