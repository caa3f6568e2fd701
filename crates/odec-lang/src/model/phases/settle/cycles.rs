//! Dependencies: the order of evaluation, and names that depend on themselves.

use odec_ir::Span;

use crate::diagnostic::{Code, Diagnostic, codes};
use crate::model::phases::reports::Reports;
use crate::model::{Body, Level, Model, Start, Table, TermKind};
use crate::order::{components, is_cycle};
use crate::report::{Build, error};

/// Orders of evaluation of constants, definitions, functions and initial values; cycles are errors.
pub(super) fn find(model: Model, reports: &mut Reports) -> Model {
    let mut cycles = Cycles { model, reports };
    cycles.find();
    cycles.model
}

/// The model with the orders of evaluation found so far.
struct Cycles<'a> {
    model: Model,
    reports: &'a mut Reports,
}

impl Cycles<'_> {
    fn say(&mut self, report: Diagnostic) {
        self.reports.say(report);
    }

    fn find(&mut self) {
        self.check_functions();
        let constants = self.dependencies(self.model.constants.iter().map(|c| c.value).collect(), Model::constant_read);
        let constants = self.with_extents(constants);
        let names: Vec<(String, Span)> = self.model.constants.iter().map(|c| (c.name.clone(), c.span)).collect();
        self.model.constant_order = self.order(&constants, &names, &codes::E0209, "constant", "constants");
        let definitions =
            self.dependencies(self.model.definitions.iter().map(|d| d.value).collect(), Model::definition_read);
        let names: Vec<(String, Span)> = self.model.definitions.iter().map(|d| (d.name.clone(), d.span)).collect();
        self.model.definition_order = self.order(&definitions, &names, &codes::E0209, "definition", "definitions");
        self.model.definition_levels = vec![Level::Constant; self.model.definitions.len()];
        for i in self.model.definition_order.clone() {
            self.model.definition_levels[i] = self.model.level(self.model.definitions[i].value);
        }
        if self.reports.has_no_errors() {
            self.check_start_order();
        }
    }

    fn dependencies(&self, bodies: Vec<Body>, which: impl Fn(&TermKind) -> Option<usize>) -> Vec<Vec<usize>> {
        let of = |body: Body| {
            let mut list: Vec<usize> = self.model.terms[body.range()].iter().filter_map(|t| which(&t.kind)).collect();
            list.sort_unstable();
            list.dedup();
            list
        };
        bodies.into_iter().map(of).collect()
    }

    /// Adds dependences: a constant with axes depends on the constants in their ranges, and one with reductions on
    /// the constants in their ranges.
    fn with_extents(&self, mut edges: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
        let model = &self.model;
        let constants_in = |body: Body, list: &mut Vec<usize>| {
            list.extend(model.terms[body.range()].iter().filter_map(|t| Model::constant_read(&t.kind)));
        };
        for (constant, list) in model.constants.iter().zip(&mut edges) {
            let mut ranges = constant.indexed.axes.clone();
            for term in &model.terms[constant.value.range()] {
                if let TermKind::Reduce { locals, .. } = &term.kind {
                    ranges.extend(locals.iter().map(|&l| model.locals[l].range.clone()));
                }
            }
            for (first, last) in ranges.iter().filter_map(|d| model.range_of(d)) {
                constants_in(first, list);
                constants_in(last, list);
            }
            if let Some(Table::Values { entries, .. }) = &constant.table {
                for &e in entries {
                    constants_in(e, list);
                }
            }
            list.sort_unstable();
            list.dedup();
        }
        edges
    }

    fn check_functions(&mut self) {
        let calls = self.dependencies(self.model.functions.iter().map(|f| f.value).collect(), |k| match k {
            TermKind::Call(i, _) => Some(*i),
            _ => None,
        });
        let names: Vec<(String, Span)> = self.model.functions.iter().map(|f| (f.name.clone(), f.span)).collect();
        for component in components(&calls) {
            if is_cycle(&component, &calls) {
                let report = cycle(&component, &calls, &names, &codes::E0206, "function", "functions");
                self.say(
                    report.help("odec inlines functions, so a function cannot call itself; write out the formula"),
                );
            }
        }
    }

    fn order(
        &mut self,
        edges: &[Vec<usize>],
        names: &[(String, Span)],
        code: &'static Code,
        one: &str,
        many: &str,
    ) -> Vec<usize> {
        let mut order = Vec::with_capacity(edges.len());
        for component in components(edges) {
            if is_cycle(&component, edges) {
                let report = cycle(&component, edges, names, code, one, many);
                let loops = component.iter().any(|&i| edges[i].len() > 1 || component.len() > 1) && one == "definition";
                let last = component.last().map_or("", |&i| names[i].0.as_str());
                self.say(report.help(if loops && !last.contains(['[', '.']) {
                    format!(
                        "should one of these be a `state` or a parameter? In an algebraic loop, declare `unknown {last} = \
                         0` with a guess of its value: odec then solves these equations"
                    )
                } else {
                    "a value cannot depend on itself: should one of these be a `state` or a parameter?".to_owned()
                }));
            }
            order.extend(component);
        }
        order
    }

    /// Determines the order of initial values and definitions: the needed ones, each after those it uses.
    fn check_start_order(&mut self) {
        let definitions = self.model.definitions.len();
        let mut starts: Vec<Start> = (0..definitions).map(Start::Definition).collect();
        let mut first = Vec::new();
        for (i, state) in self.model.states.iter().enumerate() {
            first.push(starts.len());
            starts.extend((0..state.order).map(|k| Start::State(i, k)));
        }
        let discretes = starts.len();
        starts.extend((0..self.model.discretes.len()).map(Start::Discrete));
        let mut edges = Vec::with_capacity(starts.len());
        for start in &starts {
            let body = match *start {
                Start::Definition(i) => self.model.definitions[i].value,
                Start::State(i, k) => self.model.states[i].initial[usize::from(k)],
                Start::Discrete(i) => self.model.discretes[i].initial,
            };
            let mut list = Vec::new();
            for term in &self.model.terms[body.range()] {
                list.extend(Model::definition_read(&term.kind));
                list.extend(Model::discrete_read(&term.kind).map(|i| discretes + i));
                match Model::state_read(&term.kind) {
                    Some((i, k)) if k < self.model.states[i].order => list.push(first[i] + usize::from(k)),
                    Some((i, k)) if !matches!(start, Start::Definition(_)) => {
                        let name = self.model.states[i].derivative(k);
                        let report = error(
                            &codes::E0316,
                            format!("an initial value depends on `{name}`, which the equations determine"),
                            term.span,
                            "",
                        )
                        .help("initial values may use parameters, definitions and other initial values");
                        self.reports.say(report);
                    }
                    _ => {}
                }
            }
            list.sort_unstable();
            list.dedup();
            edges.push(list);
        }
        let names: Vec<(String, Span)> = starts.iter().map(|s| self.start_name(*s)).collect();
        let mut needed = vec![false; starts.len()];
        let mut open: Vec<usize> = (definitions..starts.len()).collect();
        while let Some(i) = open.pop() {
            if !std::mem::replace(&mut needed[i], true) {
                open.extend(&edges[i]);
            }
        }
        for component in components(&edges) {
            let component: Vec<usize> = component.into_iter().filter(|&i| needed[i]).collect();
            if component.is_empty() {
                continue;
            }
            if is_cycle(&component, &edges) {
                let report = cycle(&component, &edges, &names, &codes::E0306, "initial value", "initial values");
                self.say(report.help(
                    "in an initial value, the name of a state means its initial value: give one of them as a number",
                ));
            }
            for i in component {
                if let Start::Definition(d) = starts[i]
                    && self.model.definition_levels[d] == Level::Rate
                {
                    let d = &self.model.definitions[d];
                    let report = error(
                        &codes::E0316,
                        format!(
                            "an initial value depends on `{}`, which depends on a derivative of the equations",
                            d.name
                        ),
                        d.span,
                        "",
                    )
                    .help("initial values may use parameters, definitions of states and other initial values");
                    self.reports.say(report);
                }
                self.model.start_order.push(starts[i]);
            }
        }
    }

    fn start_name(&self, start: Start) -> (String, Span) {
        match start {
            Start::Discrete(i) => (self.model.discretes[i].name.clone(), self.model.discretes[i].span),
            Start::Definition(i) => (self.model.definitions[i].name.clone(), self.model.definitions[i].span),
            Start::State(i, k) => {
                let state = &self.model.states[i];
                (state.derivative(k), if k == 0 { state.span } else { self.model.span(state.initial[usize::from(k)]) })
            }
        }
    }
}

/// The shortest cycle of a component, with the source location of each member.
fn cycle(
    component: &[usize],
    edges: &[Vec<usize>],
    names: &[(String, Span)],
    code: &'static Code,
    one: &str,
    many: &str,
) -> Diagnostic {
    let round = round(component, edges);
    let name = |i: usize| names[i].0.as_str();
    let uses = |i: usize| {
        let next = round.iter().position(|&j| j == i).map_or(i, |at| round[(at + 1) % round.len()]);
        format!("`{}` uses `{}`", name(i), name(next))
    };
    let first = round[0];
    let headline = if round.len() == 1 {
        format!("the {one} `{}` depends on itself", name(first))
    } else {
        format!("the {many} {} depend on each other", crate::suggest::list(round.iter().map(|&i| name(i))))
    };
    let mut report = error(code, headline, names[first].1, uses(first));
    for &i in round.iter().skip(1).take(crate::report::MAX_LABELS - 1) {
        report = report.label(names[i].1, uses(i));
    }
    let rest = round.iter().skip(crate::report::MAX_LABELS).map(|&i| names[i].1);
    report.also_all(rest, "this is part of the cycle")
}

/// A shortest way from the first member back to itself.
fn round(component: &[usize], edges: &[Vec<usize>]) -> Vec<usize> {
    let start = component[0];
    let inside: std::collections::HashSet<usize> = component.iter().copied().collect();
    let mut from: std::collections::HashMap<usize, usize> = std::collections::HashMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(i) = queue.pop_front() {
        for &j in &edges[i] {
            if j == start {
                let mut way = vec![i];
                let mut at = i;
                while at != start {
                    at = from[&at];
                    way.push(at);
                }
                way.reverse();
                return way;
            }
            if inside.contains(&j) && !from.contains_key(&j) {
                from.insert(j, i);
                queue.push_back(j);
            }
        }
    }
    component.to_vec()
}
