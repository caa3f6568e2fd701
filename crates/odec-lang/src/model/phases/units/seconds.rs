//! Numbers that odec takes in seconds, in a model that has no unit of time and writes its units in hours, days or
//! milliseconds.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use odec_ir::Span;

use super::Checker;
use crate::diagnostic::codes;
use crate::report::warning;
use crate::units::Units;
use crate::units::vector::Vector;

/// Units of time with their names in a sentence. Of two units that are equally frequent, the first one counts.
const OTHER: [(&str, &str); 9] = [
    ("h", "hours"),
    ("min", "minutes"),
    ("d", "days"),
    ("wk", "weeks"),
    ("mo", "months"),
    ("yr", "years"),
    ("ms", "milliseconds"),
    ("us", "microseconds"),
    ("ns", "nanoseconds"),
];

/// A place without a unit whose value is taken in seconds.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct InSeconds {
    pub span: Span,
    /// True for a rate, false for a time.
    pub is_rate: bool,
}

impl Checker<'_> {
    /// Records a time without a unit, or a term that lacks one.
    pub(super) fn takes_in_seconds(&mut self, span: Span, is_rate: bool) {
        if self.names.time.unit.is_none() && !self.ignores_units {
            self.in_seconds.push(InSeconds { span, is_rate });
        }
    }

    /// Warns about times and rates that get seconds by default while the units of the model contain hours, days,
    /// milliseconds or another unit of time, and never seconds.
    pub(super) fn report_seconds(&mut self) {
        if self.names.time.unit.is_some() {
            return;
        }
        let Some((unit, word)) = self.other_unit() else { return };
        self.numbers_beside_times();
        self.rates_without_units();
        self.in_seconds.sort_by_key(|place| (place.span.start, place.span.end));
        self.in_seconds.dedup();
        let Some(&InSeconds { span, is_rate }) = self.in_seconds.first() else { return };
        let text = self.input.text(span).to_owned();
        let taken = if is_rate { "per second" } else { "in seconds" };
        let headline = format!("odec takes `{text}` {taken}, but the units of the model contain [{unit}]");
        let mut report = warning(&codes::W0526, headline, span, "without a unit of time");
        for place in self.in_seconds.iter().skip(1).take(2) {
            report = report.label(place.span, "also");
        }
        let name = &self.names.time.name;
        let name =
            if self.units.find(name).is_some_and(|unit| unit.dimensions() == Units::second()) { "t" } else { name };
        self.reports.say(report.help(format!(
            "write `time {name} [{unit}]` if times are in {word}, or `time {name} [s]` if they are in seconds"
        )));
    }

    /// The unit of time that occurs most often in the texts of units, with its name in a sentence; `None` if one has
    /// seconds, too. A line `time h` counts: it names the variable `h`.
    fn other_unit(&self) -> Option<(String, String)> {
        let second = Units::second();
        let named = |unit: &Vector| OTHER.iter().position(|(name, _)| self.units.find(name).as_ref() == Some(unit));
        // by their place in the list of names; units that are not in it by their texts
        let mut counts: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        for text in self.known.keys() {
            for word in text.split(|c: char| !c.is_alphabetic() && c != 'µ').filter(|word| !word.is_empty()) {
                let Some(unit) = self.units.find(word) else { continue };
                let dimensions = unit.dimensions();
                if dimensions == second && unit != second {
                    let key = named(&unit).map_or((OTHER.len(), word), |at| (at, ""));
                    *counts.entry(key).or_insert(0) += 1;
                } else if word != "rpm" && (dimensions == second || dimensions == Vector::default().quotient(&second)) {
                    return None;
                }
            }
        }
        let of_list = |at: usize| (OTHER[at].0.to_owned(), OTHER[at].1.to_owned());
        if let Some(at) = self.units.find(&self.names.time.name).and_then(|unit| named(&unit)) {
            return Some(of_list(at));
        }
        let (&(at, word), _) = counts.iter().max_by_key(|((at, word), count)| (**count, Reverse((*at, *word))))?;
        Some(if at < OTHER.len() { of_list(at) } else { (word.to_owned(), format!("[{word}]")) })
    }

    /// `t > 12`, `t - 12`
    fn numbers_beside_times(&mut self) {
        for at in 0..self.numbers_beside.len() {
            let beside = self.numbers_beside[at];
            if self.reduced(beside.unit) == self.time {
                self.takes_in_seconds(self.span(beside.number), false);
            }
        }
    }

    /// Parameters without a declared unit whose use makes them times or rates: `x' = -k*x`.
    fn rates_without_units(&mut self) {
        let rate = self.time_power(-1);
        for k in 0..self.names.found.parameters.len() {
            let Some(&at) = self.by_name.get(self.names.found.parameters[k].target.name.name.as_str()) else {
                continue;
            };
            let (bracket, span, unit) =
                (self.quantities[at].bracket, self.quantities[at].span, self.quantities[at].unit);
            let unit = self.reduced(unit);
            if bracket.is_none() && (unit == rate || unit == self.time) {
                self.takes_in_seconds(span, unit == rate);
            }
        }
    }
}
