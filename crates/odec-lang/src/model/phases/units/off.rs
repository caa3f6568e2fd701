//! `units off`: units are kept and shown, but neither checked nor converted; messages tell where that matters.

use std::collections::HashMap;

use odec_ir::Span;

use super::super::PhaseInput;
use super::super::reports::Reports;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Time;
use crate::report::{Build, error, warning};
use crate::syntax::tree::{Binary, Declared, EventTrigger, ExprId, ExprKind, StatementKind, Unit, WrittenValue};

/// True if both texts denote the same unit.
fn same(a: &str, b: &str) -> bool {
    crate::units::Units::default().are_equal(a, b)
}

/// Place at which two units differ.
struct Clash {
    span: Span,
    text: String,
}

/// Errors about ranges and times in another unit than the model's time: the numbers would have another meaning.
pub(super) fn times(input: PhaseInput<'_>, time: &Time) -> Vec<Diagnostic> {
    let mut units = UnitsOff { input, time, reports: Reports::default() };
    units.check_times();
    units.reports.into_list()
}

/// The note that units are not checked, and one warning about all numbers that would need a conversion.
pub(super) fn find(input: PhaseInput<'_>, time: &Time) -> Vec<Diagnostic> {
    let mut units = UnitsOff { input, time, reports: Reports::default() };
    units.report_units_off();
    units.reports.into_list()
}

struct UnitsOff<'a> {
    input: PhaseInput<'a>,
    time: &'a Time,
    reports: Reports,
}

impl<'a> UnitsOff<'a> {
    fn check_times(&mut self) {
        let unit = self.time.unit.clone().unwrap_or_else(|| "s".to_owned());
        let mut times: Vec<ExprId> = Vec::new();
        let entries = self.input.tree.statements.iter().filter_map(|s| match &s.kind {
            StatementKind::Run(_, entries, _) => Some(entries),
            _ => None,
        });
        for entry in entries.flatten() {
            let key = entry.key.name.as_str();
            if key != self.time.name && !matches!(key, "t" | "step" | "max_step" | "samples") {
                continue;
            }
            match &entry.value {
                WrittenValue::Expr(a) => times.push(*a),
                WrittenValue::Range(a, b) => times.extend([*a, *b]),
                WrittenValue::Word(_) => {}
            }
        }
        for e in self.expect_times() {
            times.push(e);
        }
        let lists = self.event_times(&mut times);
        for list in lists {
            if !same(&list.text, &unit) {
                self.other_time(list, &unit);
            }
        }
        for time in times {
            for id in self.input.nodes_of(time) {
                if let ExprKind::Quantity(_, found) = &self.input.tree.exprs[id.0 as usize].kind
                    && !same(&found.text, &unit)
                {
                    let found = found.clone();
                    self.other_time(&found, &unit);
                }
            }
        }
    }

    /// Reports a time in another unit than the model's time.
    fn other_time(&mut self, found: &Unit, unit: &str) {
        let report = error(
            &codes::E0510,
            format!("a time in [{}], but the time of the model is in [{unit}]", found.text),
            found.span,
            "with `units off`, odec does not convert units",
        );
        let report = match self.time.span {
            Some(span) => report.label(span, format!("time is in [{unit}]")),
            None => report,
        };
        self.reports.say(report.help(format!(
            "write the number in [{unit}], or use [{}] as the time of the model: `time {} [{}]`",
            found.text, self.time.name, found.text
        )));
    }

    /// Collects the times and delays of events; returns the units behind lists of times.
    fn event_times(&self, times: &mut Vec<ExprId>) -> Vec<&'a Unit> {
        let mut units = Vec::new();
        for statement in &self.input.tree.statements {
            let StatementKind::Event(event) = &statement.kind else { continue };
            times.extend([event.clauses.from, event.clauses.until, event.clauses.after].into_iter().flatten());
            match &event.head {
                EventTrigger::When(_) => {}
                EventTrigger::At(time, unit) => {
                    times.push(*time);
                    units.extend(unit);
                }
                EventTrigger::Every(period) => times.push(*period),
            }
        }
        units
    }

    fn expect_times(&self) -> Vec<ExprId> {
        let mut times = Vec::new();
        for statement in &self.input.tree.statements {
            let lines = match &statement.kind {
                StatementKind::Run(_, _, inside) => &inside[..],
                StatementKind::Expect { .. } => std::slice::from_ref(statement),
                _ => continue,
            };
            for line in lines {
                if let StatementKind::Expect { time, .. } = &line.kind {
                    times.push(*time);
                }
            }
        }
        times
    }

    fn report_units_off(&mut self) {
        let clashes = self.unit_clashes();
        if let Some((first, rest)) = clashes.split_first() {
            let report = warning(
                &codes::W0402,
                "different units meet, and odec does not convert them",
                first.span,
                first.text.clone(),
            )
            .also_all(rest.iter().map(|c| c.span), "and here");
            self.reports.say(report.help(
                "with `units off`, odec neither checks nor converts units: write both numbers in one unit, or write \
                 the factor between them",
            ));
        }
        let mut units: Vec<Span> = Vec::new();
        for statement in &self.input.tree.statements {
            match &statement.kind {
                StatementKind::Time(_, Some(unit)) => units.push(unit.span),
                declaring => {
                    units.extend(declaring.items().iter().filter_map(|i| i.unit.as_ref()).map(|u| u.span));
                }
            }
        }
        for expr in &self.input.tree.exprs {
            if let ExprKind::Quantity(_, unit) = &expr.kind {
                units.push(unit.span);
            }
        }
        units.sort();
        units.dedup();
        if let Some(&first) = units.first() {
            let report = Diagnostic::note(&codes::N0101, "odec shows the units, but neither checks nor converts them")
                .label(
                    first,
                    if units.len() == 1 {
                        "the unit".to_owned()
                    } else {
                        format!("the first of {} units", units.len())
                    },
                );
            self.reports.say(report.help("with `units off`, odec takes every number as it is: use consistent units"));
        }
    }

    fn unit_clashes(&self) -> Vec<Clash> {
        let tree = self.input.tree;
        let mut clashes = Vec::new();
        let units = self.declared_units();
        let mut in_function = vec![false; tree.exprs.len()];
        for statement in &tree.statements {
            if let StatementKind::Function { body, .. } = &statement.kind {
                for id in self.input.nodes_of(*body) {
                    in_function[id.0 as usize] = true;
                }
            }
        }
        // Known units, from the leaves upwards; a product or quotient has no unit name.
        let mut known: Vec<Option<&str>> = Vec::with_capacity(tree.exprs.len());
        for (i, expr) in tree.exprs.iter().enumerate() {
            let of = |id: &ExprId| known.get(id.0 as usize).copied().flatten();
            let mut meet = |a: Option<&'a str>, b: Option<&'a str>, span: Span| {
                if let (Some(a), Some(b)) = (a, b)
                    && !same(a, b)
                {
                    clashes.push(Clash { span, text: format!("[{a}] with [{b}]") });
                }
                a.or(b)
            };
            let unit = match &expr.kind {
                ExprKind::Quantity(inner, unit) => {
                    meet(of(inner), Some(&unit.text), expr.span);
                    Some(unit.text.as_str())
                }
                ExprKind::Name(r) if r.primes == 0 && !in_function[i] => units.get(r.name.name.as_str()).copied(),
                ExprKind::Neg(a) => of(a),
                ExprKind::Binary(Binary::Add | Binary::Sub, _, a, b) => meet(of(a), of(b), expr.span),
                ExprKind::Comparison(list, _) => {
                    for pair in list.windows(2) {
                        meet(of(&pair[0]), of(&pair[1]), expr.span);
                    }
                    None
                }
                ExprKind::If(_, a, b) => meet(of(a), of(b), expr.span),
                ExprKind::Reduce(word, _, _, body) if word.name != "prod" => of(body),
                ExprKind::Tuple(list) | ExprKind::Table(list) => {
                    let mut unit = list.first().and_then(of);
                    for next in list.iter().skip(1) {
                        unit = meet(unit, of(next), expr.span);
                    }
                    unit
                }
                ExprKind::Call(f, list)
                    if matches!(f.name.as_str(), "min" | "max" | "abs" | "mod" | "hypot" | "norm") =>
                {
                    let mut unit = list.first().and_then(of);
                    for next in list.iter().skip(1) {
                        unit = meet(unit, of(next), expr.span);
                    }
                    unit
                }
                _ => None,
            };
            known.push(unit);
        }
        let of = |id: ExprId| known.get(id.0 as usize).copied().flatten();
        for statement in &tree.statements {
            for item in statement.kind.items() {
                self.item_clash(item, item.value.and_then(of), &units, &mut clashes);
            }
        }
        clashes.sort_by_key(|c| c.span);
        clashes
    }

    fn item_clash(&self, item: &Declared, value: Option<&str>, units: &HashMap<&str, &str>, clashes: &mut Vec<Clash>) {
        let Some(unit) = &item.unit else {
            return;
        };
        if let Some(value) = value
            && !same(value, &unit.text)
        {
            clashes.push(Clash { span: unit.span, text: format!("[{value}] taken as [{}]", unit.text) });
        }
        if item.target.primes == 1
            && let Some(&of_state) = units.get(item.target.name.name.as_str())
        {
            let time = self.time.unit.as_deref().unwrap_or("s");
            let derived = format!("{of_state}/{time}");
            if !same(&derived, &unit.text) && !same(of_state, "1") {
                let text = format!("taken as [{derived}], the unit of `{}'`", item.target.name.name);
                clashes.push(Clash { span: unit.span, text });
            }
        }
    }

    /// Units of the declared names that have one.
    fn declared_units(&self) -> HashMap<&'a str, &'a str> {
        let mut units = HashMap::new();
        for statement in &self.input.tree.statements {
            for item in statement.kind.items().iter().filter(|i| i.target.primes == 0) {
                if let Some(unit) = &item.unit {
                    units.entry(item.target.name.name.as_str()).or_insert(unit.text.as_str());
                }
            }
        }
        units
    }
}
