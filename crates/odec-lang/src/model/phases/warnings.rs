//! Warnings about models that run but probably do not mean what the author intended.

use odec_ir::Span;

use super::reports::Reports;
use super::resolve::Uses;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{EntryValue, Model, Overrides, Symbol, TermKind, Values};
use crate::report::warning;

/// Largest number of unused names that are reported one by one; the others are counted.
const MAX_UNUSED: usize = 100;

/// Names that are never used, tolerances that permit everything, times that a run does not reach.
pub(super) fn find(model: &Model, uses: &Uses) -> Vec<Diagnostic> {
    let mut warnings = Warnings { model, uses, reports: Reports::default() };
    warnings.warn_unused();
    warnings.warn_values();
    warnings.reports.into_list()
}

struct Warnings<'a> {
    model: &'a Model,
    uses: &'a Uses,
    reports: Reports,
}

/// Names that mean settings of a run elsewhere, and the entries of a run block.
const SETTINGS: [(&str, &str); 24] = [
    ("dt", "step = 0.01"),
    ("DT", "step = 0.01"),
    ("tol", "rtol = 1e-6"),
    ("rtol", "rtol = 1e-6"),
    ("atol", "atol = 1e-9"),
    ("reltol", "rtol = 1e-6"),
    ("abstol", "atol = 1e-9"),
    ("tend", "t = 0 .. 10"),
    ("t_end", "t = 0 .. 10"),
    ("tEnd", "t = 0 .. 10"),
    ("tmax", "t = 0 .. 10"),
    ("tfinal", "t = 0 .. 10"),
    ("t_final", "t = 0 .. 10"),
    ("tstop", "t = 0 .. 10"),
    ("samples", "samples = 100"),
    ("max_step", "max_step = 0.1"),
    ("tspan", "t = 0 .. 10"),
    ("STOPTIME", "t = 0 .. 10"),
    ("STARTTIME", "t = 0 .. 10"),
    ("StopTime", "t = 0 .. 10"),
    ("StartTime", "t = 0 .. 10"),
    ("TSTOP", "t = 0 .. 10"),
    ("DTOUT", "samples = 100"),
    ("dtout", "samples = 100"),
];

impl Warnings<'_> {
    fn warn_unused(&mut self) {
        let mut unused: Vec<(Span, String, &'static str)> = Vec::new();
        let (remove, record) = ("remove it", "remove it, or record it with `output`");
        let used = |symbol: Symbol| self.uses.symbols.contains(&symbol);
        for (_, p) in self.model.parameters.iter().enumerate().filter(|(i, _)| !used(Symbol::Parameter(*i))) {
            unused.push((p.span, p.name.clone(), remove));
        }
        for (_, c) in self.model.constants.iter().enumerate().filter(|(i, _)| !used(Symbol::Constant(*i))) {
            unused.push((c.span, c.name.clone(), remove));
        }
        for (_, d) in self.model.definitions.iter().enumerate().filter(|(i, _)| !used(Symbol::Definition(*i))) {
            unused.push((d.span, d.name.clone(), record));
        }
        for (_, d) in self.model.discretes.iter().enumerate().filter(|(i, _)| !used(Symbol::Discrete(*i))) {
            unused.push((d.span, d.name.clone(), record));
        }
        // The components of a vector are used together, and an array of initial values is not a name.
        unused.retain(|(_, name, _)| !name.contains(['.', '\'']) || name.ends_with(".x"));
        for (_, name, _) in &mut unused {
            if let Some(vector) = name.strip_suffix(".x") {
                *name = vector.to_owned();
            }
        }
        for (i, set) in self.model.index_sets.iter().enumerate() {
            if !used(Symbol::Index(i)) {
                unused.push((set.span, set.name.clone(), remove));
            }
        }
        for (_, input) in self.model.inputs.iter().enumerate().filter(|(i, _)| !self.uses.inputs.contains(i)) {
            unused.push((input.span, input.name.clone(), record));
        }
        // Functions of vectors have a copy for each component after the declared ones.
        for (_, f) in self
            .model
            .functions
            .iter()
            .enumerate()
            .filter(|(i, _)| *i < self.uses.declared_functions && !self.uses.functions.contains(i))
        {
            unused.push((f.span, f.name.clone(), remove));
        }
        unused.sort();
        let rest = unused.split_off(unused.len().min(MAX_UNUSED));
        for (span, name, help) in unused {
            let report = warning(&codes::W0201, format!("`{name}` is never used"), span, "");
            let setting = SETTINGS.iter().find(|(other, _)| *other == name);
            self.reports.say(match setting {
                Some((_, entry)) => {
                    let entry = self.with_value(&name, entry);
                    report.help(format!("if it is a setting of the run, write `run {{ {entry} }}`"))
                }
                None => match self.starts(&name) {
                    Some(state) => report.help(format!(
                        "if it is the initial value of `{state}`, write `state {state} = {name}`; otherwise, {help}"
                    )),
                    None => report.help(help),
                },
            });
        }
        if let Some((span, name, _)) = rest.first() {
            let headline = format!("`{name}` is never used, and neither are {} more names", rest.len() - 1);
            self.reports.say(warning(&codes::W0201, headline, *span, "").help("remove them"));
        }
    }

    /// The entry of a run with the number that this name has, for the settings that have the same meaning.
    fn with_value(&self, name: &str, entry: &str) -> String {
        let key = entry.split(' ').next().unwrap_or_default();
        let parameter = self.model.parameters.iter().find(|p| p.name == name).map(|p| p.value);
        let constant = self.model.constants.iter().find(|c| c.name == name).map(|c| c.value);
        let definition = self.model.definitions.iter().find(|d| d.name == name).map(|d| d.value);
        let value = parameter.or(constant).or(definition).map(|body| &self.model.term(body.root).kind);
        match value {
            Some(TermKind::Number(value)) if key == name && value.abs() < 1e-3 => format!("{key} = {value:e}"),
            Some(TermKind::Number(value)) if key == name => format!("{key} = {value}"),
            _ => entry.to_owned(),
        }
    }

    /// The state whose initial value `x0` or `x_0` seems to be.
    fn starts(&self, name: &str) -> Option<&str> {
        let state = name.strip_suffix('0')?;
        let state = state.strip_suffix('_').unwrap_or(state);
        self.model.states.iter().map(|known| known.name.as_str()).find(|known| *known == state)
    }

    /// Boundaries and tolerances, which depend on values.
    fn warn_values(&mut self) {
        let Ok(values) = self.model.values(&Overrides::default()) else { return };
        let mut reports = self.model.unread_boundaries(&values);
        for expect in &self.model.expects {
            let Some(within) = expect.within else { continue };
            let value = self.model.number(expect.value, &values);
            let tolerance = self.model.number(within.value, &values);
            let passes = if within.percent { tolerance >= 100.0 } else { value != 0.0 && tolerance >= value.abs() };
            if passes {
                let report = warning(
                    &codes::W0401,
                    "the value 0 would also pass this line",
                    within.span,
                    format!("the tolerance is {tolerance}{}", if within.percent { " %" } else { "" }),
                )
                .label(self.model.span(expect.value), format!("the value is {value}"));
                reports.push(report.help(
                    "a plain number is an absolute tolerance: write a smaller one, or a relative tolerance: \
                         `within 0.1 %`",
                ));
            }
            if let Some((from, to)) = self.range_of(expect.run, &values) {
                let time = self.model.number(expect.time, &values);
                if time < from.min(to) || time > from.max(to) {
                    let report = warning(
                        &codes::W0403,
                        format!("the run does not reach the time {time} of this line"),
                        self.model.span(expect.time),
                        format!("the run goes from {from} to {to}"),
                    );
                    reports.push(report.help("extend the run, or choose an earlier time"));
                }
            }
        }
        self.reports.extend(reports);
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
