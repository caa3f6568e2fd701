//! Checks runs, parameter sets and expectations: their values must be valid and known before the run.

use odec_ir::Span;

use crate::diagnostic::{Diagnostic, codes};
use crate::model::phases::reports::Reports;
use crate::model::{self, Body, EntryValue, Level, Model, Overrides, SetEntry, Symbol, TermKind};
use crate::report::error;
use crate::source::Source;

/// Mistakes in the runs of an otherwise settled model.
pub(crate) fn check(model: &Model, source: &Source) -> Vec<Diagnostic> {
    let mut runs = Runs { model, source, reports: Reports::default() };
    runs.check();
    runs.reports.into_list()
}

struct Runs<'a> {
    model: &'a Model,
    source: &'a Source,
    reports: Reports,
}

impl Runs<'_> {
    fn check(&mut self) {
        let mut bodies: Vec<(Body, &str)> = Vec::new();
        for run in &self.model.runs {
            for entry in &run.entries {
                match &entry.value {
                    EntryValue::Number(b) => bodies.push((*b, "an entry of a run block")),
                    EntryValue::Range(a, b) | EntryValue::Log(a, b) => {
                        bodies.extend([(*a, "an entry of a run block"), (*b, "an entry of a run block")]);
                    }
                    EntryValue::List(list) => bodies.extend(list.iter().map(|&b| (b, "an entry of a run block"))),
                    EntryValue::Word(_) | EntryValue::Names(_) => {}
                }
            }
        }
        for expect in &self.model.expects {
            bodies.extend([(expect.time, "the time of an `expect` line"), (expect.value, "the expected value")]);
            bodies.extend(expect.within.map(|w| (w.value, "a tolerance")));
        }
        for conserved in &self.model.conserved {
            bodies.extend(conserved.within.map(|w| (w.value, "a tolerance")));
        }
        for set in &self.model.param_sets {
            bodies.extend(set.entries.iter().map(|e| (e.value, "a value of a parameter set")));
            bodies.extend(set.entries.iter().flat_map(|e| &e.at).map(|at| (*at, "an index in a parameter set")));
        }
        for (body, what) in bodies {
            self.check_known(body, what);
        }
        self.check_records();
        for set in 0..self.model.param_sets.len() {
            self.check_set(set);
            self.check_independent(set);
        }
        if !self.reports.has_no_errors() {
            return;
        }
        let values = match self.model.values(&Overrides::default()) {
            Ok(values) => values,
            Err(errors) => {
                self.reports.extend(errors);
                return;
            }
        };
        let model = &self.model;
        for set in model.param_sets.iter().filter(|set| set.entries.iter().any(|e| !e.at.is_empty())) {
            let overrides = Overrides { params: Some(set.name.clone()), ..Overrides::default() };
            let errors = model.values(&overrides).err().unwrap_or_default();
            self.reports.extend(errors.into_iter().filter(|e| e.code == &codes::E0408));
        }
        for run in &model.runs {
            let mut values = values.clone();
            if let Some(entry) = run.entries.iter().find(|e| e.key == "params")
                && let EntryValue::Word(name) = &entry.value
            {
                match model.values(&Overrides { params: Some(name.clone()), ..Overrides::default() }) {
                    Ok(with_set) => values = with_set,
                    Err(errors) => {
                        for mut e in errors {
                            if e.labels.is_empty() {
                                e = e.label(entry.value_span, "");
                            }
                            self.reports.say(e);
                        }
                        continue;
                    }
                }
            }
            if let Err(errors) = model.settings(run, &values) {
                self.reports.extend(errors);
            }
        }
        self.check_expects(&values);
    }

    /// Checks that every recorded quantity is a state, its derivative, or an output.
    fn check_records(&mut self) {
        let mut known = self.model.state_names();
        known.extend(self.model.outputs.iter().map(|o| o.name.clone()));
        let mut reports = Vec::new();
        for entry in self.model.runs.iter().flat_map(|r| &r.entries) {
            let EntryValue::Names(names) = &entry.value else { continue };
            for (name, body) in names.iter().filter(|n| !known.contains(&n.0)) {
                if self.recorded_array(*body) {
                    continue;
                }
                let headline = format!("`{name}` is neither a state nor an output");
                let report = error(&codes::E0406, headline, self.model.span(*body), "");
                reports.push(report.help(format!("declare it as an output on its own line: `output {name}`")));
            }
        }
        self.reports.extend(reports);
    }

    /// An element of a state.
    fn recorded_array(&self, body: Body) -> bool {
        matches!(self.model.term(body.root).kind, TermKind::Element(Symbol::State(_), ..))
    }

    fn check_known(&mut self, body: Body, what: &str) {
        let culprit = self.model.terms[body.range()].iter().find(|t| self.model.own_level(&t.kind) > Level::Parameter);
        if let Some(term) = culprit {
            let report = error(
                &codes::E0404,
                format!("{what} must be known before the run"),
                term.span,
                format!("`{}` changes during the run", self.source.text.get(term.span.range()).unwrap_or_default()),
            );
            self.reports.say(report.help("use numbers, constants and parameters"));
        }
    }

    /// Values of a set are computed from the declared ones. A value that reads another value of the set is ambiguous.
    fn check_independent(&mut self, set: usize) {
        let entries = &self.model.param_sets[set].entries;
        let mut reports = Vec::new();
        for entry in entries {
            let others = entries.iter().filter(|other| other.symbol != entry.symbol);
            let Some((other, place)) =
                others.clone().find_map(|other| Some((other, self.reads(entry.value, other.symbol)?)))
            else {
                continue;
            };
            let (name, own) = (self.model.name_of(other.symbol), self.model.name_of(entry.symbol));
            let headline = format!("`{own}` is computed from `{name}`, but the same set also gives `{name}`");
            let report =
                error(&codes::E0411, headline, place, format!("the declared `{name}`, or the `{name}` of this set?"))
                    .label(other.span, "set here");
            reports.push(report.help(format!(
                "write `{own} = ...` with a number; or remove `{own}` from the set and make it a definition that \
                 follows `{name}`"
            )));
        }
        self.reports.extend(reports);
    }

    /// Source location of a read of a parameter in a value, directly or by definitions.
    fn reads(&self, value: Body, symbol: Symbol) -> Option<Span> {
        let model = self.model;
        let mut seen = vec![false; model.definitions.len()];
        let mut open: Vec<(Body, Option<Span>)> = vec![(value, None)];
        while let Some((body, through)) = open.pop() {
            for term in &model.terms[body.range()] {
                let read = match &term.kind {
                    TermKind::Parameter(i) => Symbol::Parameter(*i),
                    TermKind::Definition(i) => Symbol::Definition(*i),
                    TermKind::Element(symbol, ..) => *symbol,
                    _ => continue,
                };
                let place = through.unwrap_or(term.span);
                if read == symbol {
                    return Some(place);
                }
                if let Symbol::Definition(i) = read
                    && !std::mem::replace(&mut seen[i], true)
                {
                    open.push((model.definitions[i].value, Some(place)));
                }
            }
        }
        None
    }

    fn check_set(&mut self, set: usize) {
        for i in 0..self.model.param_sets[set].entries.len() {
            let SetEntry { symbol, order: primes, span, .. } = self.model.param_sets[set].entries[i];
            if let Symbol::State(state) = symbol {
                let state = &self.model.states[state];
                if primes >= state.order {
                    let report = error(
                        &codes::E0408,
                        format!("an equation determines `{}`, so it has no initial value", state.derivative(primes)),
                        span,
                        "",
                    )
                    .label(state.span, "declared here");
                    self.reports.say(report.help("a parameter set can set parameters and initial values of states"));
                }
            }
        }
    }

    fn check_expects(&mut self, values: &model::Values) {
        let mut reports = Vec::new();
        for expect in &self.model.expects {
            let number = |body: Body| self.model.number(body, values);
            for (body, what) in [(expect.time, "time"), (expect.value, "expected value")] {
                let x = number(body);
                if let Some(report) = self.model.exhausted(&[body], values).filter(|_| x.is_nan()) {
                    reports.push(report);
                } else if !x.is_finite() {
                    let report =
                        error(&codes::E0405, format!("the {what} of this line is {x}"), self.model.span(body), "");
                    reports.push(report.help("give a finite number"));
                }
            }
        }
        let within = self
            .model
            .expects
            .iter()
            .filter_map(|e| e.within)
            .chain(self.model.conserved.iter().filter_map(|c| c.within));
        for w in within {
            let x = self.model.number(w.value, values);
            if let Some(report) = self.model.exhausted(&[w.value], values).filter(|_| x.is_nan()) {
                reports.push(report);
            } else if !(x >= 0.0 && x.is_finite()) {
                let report = error(&codes::E0405, format!("the tolerance is {x}"), w.span, "");
                reports.push(
                    report.help("write a positive number, `within 1e-6`, or a relative tolerance, `within 0.1 %`"),
                );
            }
        }
        self.reports.extend(reports);
    }
}
