//! The last phase: what is probably not meant although the model runs.

use odec_ir::Span;

use super::Builder;
use crate::model::{EntryValue, Overrides, Symbol, Values};
use crate::report::warning;

impl Builder<'_> {
    pub(super) fn warn(&mut self) {
        self.warn_unused();
        self.warn_tolerances();
        self.say_units();
    }

    fn warn_unused(&mut self) {
        let mut unused: Vec<(Span, String)> = Vec::new();
        let used = |symbol: Symbol| self.uses.get(&symbol).copied().unwrap_or(0) > 0;
        for (_, p) in self.model.parameters.iter().enumerate().filter(|(i, _)| !used(Symbol::Parameter(*i))) {
            unused.push((p.span, p.name.clone()));
        }
        for (_, c) in self.model.constants.iter().enumerate().filter(|(i, _)| !used(Symbol::Constant(*i))) {
            unused.push((c.span, c.name.clone()));
        }
        for (_, d) in self.model.definitions.iter().enumerate().filter(|(i, _)| !used(Symbol::Definition(*i))) {
            unused.push((d.span, d.name.clone()));
        }
        // The components of a vector are used together, and an array of start values is no name.
        unused.retain(|(_, name)| !name.contains(['.', '\'']) || name.ends_with(".x"));
        for (_, name) in &mut unused {
            if let Some(vector) = name.strip_suffix(".x") {
                *name = vector.to_owned();
            }
        }
        for (i, set) in self.model.index_sets.iter().enumerate() {
            if !used(Symbol::Index(i)) {
                unused.push((set.span, set.name.clone()));
            }
        }
        for (f, _) in self.model.functions.iter().zip(&self.function_uses).filter(|(_, n)| **n == 0) {
            unused.push((f.span, f.name.clone()));
        }
        unused.sort();
        for (span, name) in unused {
            let report = warning("W0201", format!("`{name}` is never used"), span, "");
            self.say(report.help("drop it, or record it: `output ...`"));
        }
    }

    fn warn_tolerances(&mut self) {
        let Ok(values) = self.model.values(&Overrides::default()) else { return };
        let mut reports = Vec::new();
        for expect in &self.model.expects {
            let Some(within) = expect.within else { continue };
            let value = self.model.number(expect.value, &values);
            let tolerance = self.model.number(within.value, &values);
            let passes = if within.percent { tolerance >= 100.0 } else { value != 0.0 && tolerance >= value.abs() };
            if passes {
                let report = warning(
                    "W0401",
                    "this line would also pass if the value were 0",
                    within.span,
                    format!("the tolerance is {tolerance}{}", if within.percent { " %" } else { "" }),
                )
                .label(self.model.span(expect.value), format!("the value is {value}"));
                reports.push(
                    report.help("a plain number is absolute: write a smaller one, or a relative one: `within 0.1 %`"),
                );
            }
            if let Some((from, to)) = self.range_of(expect.run, &values) {
                let time = self.model.number(expect.time, &values);
                if time < from.min(to) || time > from.max(to) {
                    let report = warning(
                        "W0403",
                        format!("the run does not reach the time {time} of this line"),
                        self.model.span(expect.time),
                        format!("the run goes from {from} to {to}"),
                    );
                    reports.push(report.help("let the run last longer, or choose an earlier time"));
                }
            }
        }
        self.diagnostics.extend(reports);
    }

    fn range_of(&self, run: Option<usize>, values: &Values) -> Option<(f64, f64)> {
        let run = match run {
            Some(i) => self.model.runs.get(i)?,
            None => self.model.run(None).ok()??,
        };
        run.entries.iter().find_map(|e| match &e.value {
            EntryValue::Range(a, b) if e.key == "t" => {
                Some((self.model.number(*a, values), self.model.number(*b, values)))
            }
            _ => None,
        })
    }
}
