//! Outputs without a declared unit whose rows are in a unit that nobody expects: [deg^2*m/s^2], from angles in degrees,
//! or [ug/min] in a model in mg, from mL and L.

use crate::diagnostic::codes;
use odec_ir::Span;

use super::Checker;
use crate::model::Symbol;
use crate::model::phases::names::OutputItem;
use crate::report::warning;
use crate::units::vector::{Atom, Vector};

/// Largest number of outputs that are reported.
const MAX_OUTPUTS: usize = 5;

/// An output whose unit contains a factor.
struct Odd {
    name: String,
    declared: Span,
    /// Its unit, as text.
    unit: String,
    /// The same without the factor.
    better: String,
    /// True for a line `output x` of a definition.
    exists: bool,
}

impl Checker<'_> {
    /// Warns about outputs whose inferred unit contains a factor that the model does not write.
    pub(super) fn report_recorded(&mut self) {
        let mut odd: Vec<Odd> = Vec::new();
        for output in &self.names.found.outputs {
            let (at, exists) = match output {
                OutputItem::Declared(k) => (Some(self.first_definition + *k), false),
                OutputItem::Existing(reference, None, _) if reference.primes == 0 && reference.path.is_empty() => {
                    (self.by_name.get(reference.name.name.as_str()).copied(), true)
                }
                OutputItem::Existing(..) => continue,
            };
            let Some(quantity) = at.and_then(|at| self.quantities.get(at)) else { continue };
            let (name, declared, unit) = (quantity.name, quantity.span, quantity.unit);
            if quantity.bracket.is_some() || quantity.guessed || !matches!(quantity.symbol, Symbol::Definition(_)) {
                continue;
            }
            let unit = self.reduced(unit);
            if !self.is_writable(unit) || !self.pool[unit].has_dimension() {
                continue;
            }
            let unit = &self.pool[unit];
            let text = self.units.text(unit);
            if !self.units.spelled.contains_key(unit) && self.has_factor(&text) {
                let better = self.units.without_factor(unit);
                odd.push(Odd { name: name.to_owned(), declared, unit: text, better, exists });
            }
        }
        let Some(first) = odd.first() else { return };
        let headline = format!("`{}` is recorded in [{}]", first.name, first.unit);
        let mut report = warning(&codes::W0528, headline, first.declared, "declared without a unit");
        for other in odd.iter().skip(1).take(MAX_OUTPUTS - 1) {
            report = report.label(other.declared, format!("in [{}], not in [{}]", other.unit, other.better));
        }
        let Odd { name, better, exists, .. } = first;
        let line =
            if *exists { format!("output {name} [{better}]") } else { format!("output {name} = ... [{better}]") };
        self.reports.say(report.help(format!("declare the unit that you want, and odec converts the value: `{line}`")));
    }

    /// True if the text of a unit contains a factor: a number, `deg` or `%`, one dimension in two units, or a unit beside
    /// another one for the same dimension that the model writes.
    fn has_factor(&self, text: &str) -> bool {
        if text.split_once(' ').is_some_and(|(head, _)| head.parse::<f64>().is_ok()) {
            return true;
        }
        let written = self.units.words();
        let mut seen: Vec<(&str, Vector)> = Vec::new();
        for word in text.split(|c: char| !c.is_alphabetic() && !matches!(c, '%' | '‰')) {
            let Some(unit) = self.units.find(word) else { continue };
            let has_pi = unit.iter().any(|(key, _)| key.atom == Atom::Pi);
            let other =
                |(known, of): &(&str, Vector)| *known != word && of.dimensions() == unit.dimensions() && *of != unit;
            let is_new = !written.iter().any(|(known, of)| *known == word || *of == unit);
            if has_pi || unit.is_scale() || seen.iter().any(other) || (is_new && written.iter().any(other)) {
                return true;
            }
            seen.push((word, unit));
        }
        false
    }
}
