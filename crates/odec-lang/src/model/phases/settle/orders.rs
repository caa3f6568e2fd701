//! Matches states and equations: the order of each state, its initial values, and whether every state has an equation.

use odec_ir::Span;

use super::InitialValue;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::phases::reports::Reports;
use crate::model::{Body, Equation, Model, State, Symbol, TermId, TermKind};
use crate::report::{Build, error};
use crate::source::Source;

/// Determines orders and initial values, and reports derivatives of too high an order.
pub(super) fn find(model: Model, starts: &[InitialValue], source: &Source, reports: &mut Reports) -> Model {
    let mut orders = Orders { model, starts, text: &source.text, reports };
    if orders.model.states.is_empty() {
        orders.no_states(&source.text);
        return orders.model;
    }
    let places = orders.find_orders();
    if orders.reports.has_no_errors() {
        orders.check_primes(&places);
        orders.check_starts(starts, &places);
    }
    orders.model
}

/// The model with the orders found so far.
struct Orders<'a> {
    model: Model,
    starts: &'a [InitialValue],
    text: &'a str,
    reports: &'a mut Reports,
}

impl Orders<'_> {
    fn say(&mut self, report: Diagnostic) {
        self.reports.say(report);
    }

    fn no_states(&mut self, text: &str) {
        let end = text.trim_end().len();
        let start = text[..end].rfind('\n').map_or(0, |n| n + 1);
        let report = error(
            &codes::E0314,
            "the model has no states",
            Span::new(start, end),
            "nothing up to here changes with time",
        );
        self.say(
            report.help("declare a state with its initial value, and give its derivative: `state x = 1` and `x' = -x`"),
        );
    }

    /// The order of each state is that of its highest derivative on a left-hand side, otherwise on a right-hand side.
    /// Returns the source location that determines it; reports states without a derivative in any equation.
    fn find_orders(&mut self) -> Vec<Option<Span>> {
        let n = self.model.states.len();
        let mut left: Vec<(u8, Option<Span>)> = vec![(0, None); n];
        let mut right = left.clone();
        let scan = |body: Body, into: &mut Vec<(u8, Option<Span>)>| {
            for term in &self.model.terms[body.range()] {
                if let Some((i, k)) = Model::state_read(&term.kind)
                    && k > into[i].0
                {
                    into[i] = (k, Some(term.span));
                }
            }
        };
        for equation in &self.model.equations {
            scan(equation.lhs, &mut left);
            scan(equation.rhs, &mut right);
        }
        let mut places = Vec::with_capacity(n);
        let mut without: Vec<usize> = Vec::new();
        for i in 0..n {
            let (order, place) = if left[i].0 > 0 { left[i] } else { right[i] };
            if self.model.states[i].algebraic {
                if let Some(place) = place {
                    self.derivative_of_unknown(i, place);
                }
            } else if order == 0 {
                without.push(i);
            }
            self.model.states[i].order = order.max(1);
            places.push(place);
        }
        // An equation without any derivative is the likely owner of a state without equation. A definition in it may still
        // contain a derivative; the equation is checked again when it is solved.
        let mut algebraic = self.model.equations.iter().filter(|e| {
            let mut terms = self.model.terms[e.lhs.range()].iter().chain(&self.model.terms[e.rhs.range()]);
            !terms.any(|t| matches!(Model::state_read(&t.kind), Some((_, k)) if k > 0))
        });
        let unknowns = self.model.states.iter().filter(|s| s.algebraic).count();
        if let Some(equation) = algebraic.nth(unknowns) {
            if let Some(&first) = without.first() {
                let report = self.algebraic_equation(equation, &without, first);
                self.say(report);
            }
        } else if let Some((&first, rest)) = without.split_first() {
            self.report_without_equation(first, rest);
        }
        places
    }

    /// An equation without a derivative in a model with states without an equation.
    fn algebraic_equation(&self, equation: &Equation, without: &[usize], first: usize) -> Diagnostic {
        let name = &self.model.states[first].name;
        let headline = "this equation has no derivative, and the model declares no `unknown` that it could determine";
        let spans = without.iter().map(|&i| self.model.states[i].span);
        let report = error(&codes::E0503, headline, equation.span, "this equation contains no derivative")
            .also_all(spans, "this state has no equation for its derivative");
        let sides = self.species(equation.lhs).zip(self.species(equation.rhs));
        if let Some((left, right)) = sides.filter(|(left, right)| left.contains('+') || right.contains('+')) {
            return report.help(format!("if this is a reaction, write it with an arrow: `{left} -> {right}  mass k`"));
        }
        report.help(format!(
            "declare the quantity that this equation determines as `unknown {name} = ...`, with a guess of its \
             initial value; or give the derivative of `{name}`: `{name}' = ...`"
        ))
    }

    /// One side of an equation as the side of a reaction: a sum of states, possibly times numbers.
    fn species(&self, side: Body) -> Option<String> {
        let (mut terms, mut open) = (vec![], vec![side.root]);
        while let Some(id) = open.pop() {
            let state = |id: TermId| match self.model.term(id).kind {
                TermKind::State(i, 0) => Some(self.model.states[i].name.as_str()),
                _ => None,
            };
            let number = |id: TermId| match self.model.term(id).kind {
                TermKind::Number(count) if count > 0.0 => Some(count),
                _ => None,
            };
            match &self.model.term(id).kind {
                TermKind::State(..) => terms.push(state(id)?.to_owned()),
                TermKind::Apply(op, [a, b, _]) if op.0.name == "add" => open.extend([*b, *a]),
                TermKind::Apply(op, [a, b, _]) if op.0.name == "mul" => {
                    terms.push(format!("{} {}", number(*a)?, state(*b)?));
                }
                _ => return None,
            }
        }
        Some(terms.join(" + "))
    }

    /// `z'` of an algebraic unknown.
    fn derivative_of_unknown(&mut self, unknown: usize, place: Span) {
        let state = &self.model.states[unknown];
        let headline = format!("`{}` is an algebraic unknown, so it has no derivative", state.name);
        let report =
            error(&codes::E0302, headline, place, "only states take a prime").label(state.span, "declared here");
        self.say(report.help(format!(
            "remove the prime, or declare `state {0} = ...` with its initial value and an equation for `{0}'`",
            state.name
        )));
    }

    /// One diagnostic for all states without an equation. If a second equation of another state stands where the
    /// missing one is expected, the diagnostic names it.
    fn report_without_equation(&mut self, first: usize, rest: &[usize]) {
        let name = self.model.states[first].name.clone();
        if rest.is_empty() {
            let targets: Vec<Option<usize>> = self.model.equations.iter().map(|e| e.target).collect();
            let twice = targets.iter().flatten().find(|t| targets.iter().filter(|u| *u == &Some(**t)).count() > 1);
            if let Some(&other) = twice {
                let report = two_equations(&self.model, other, Some(first));
                self.say(report);
                return;
            }
        }
        // The components of a vector from one declaration are a single state for the user.
        let whole = |i: usize| {
            let state = &self.model.states[i];
            let vector = state.name.rsplit_once('.').filter(|(vector, own)| {
                self.model.states.iter().any(|other| {
                    let beside = other.name.rsplit_once('.').is_some_and(|(v, o)| v == *vector && o != *own);
                    beside && other.span == state.span
                })
            });
            odec_ir::names::plain(vector.map_or(state.name.as_str(), |(vector, _)| vector))
        };
        let mut names: Vec<String> = std::iter::once(first).chain(rest.iter().copied()).map(whole).collect();
        names.dedup();
        let name = if names.len() == 1 { names[0].clone() } else { name };
        let headline = if names.len() == 1 {
            format!("the state `{name}` has no equation")
        } else {
            format!("the states {} have no equations", crate::suggest::list(names.iter().map(String::as_str)))
        };
        let report = error(&codes::E0303, headline, self.model.states[first].span, "declared here")
            .also_all(rest.iter().map(|&i| self.model.states[i].span), "declared here");
        let time = &self.model.time.name;
        let derivative = self.model.definitions.iter().filter(|_| rest.is_empty());
        let derivative = derivative.filter_map(|d| Some((d, reads_as_derivative(&d.name, &name, time)?)));
        if let Some((d, order)) = derivative.min_by_key(|(_, order)| std::cmp::Reverse(*order)) {
            let prime = format!("{name}{}", "'".repeat(order));
            let report = report
                .label(d.span, "this defines another quantity")
                .help(format!("write its derivative as `{prime}`"))
                .fix(d.span, prime);
            self.say(report);
            return;
        }
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let written = all.iter().map(|name| {
            let mut spelled = self.model.definitions.iter();
            spelled.find_map(|d| (reads_as_derivative(&d.name, name, time)? == 1).then_some((d, *name)))
        });
        if let Some(written) = written.collect::<Option<Vec<_>>>().filter(|_| all.len() > 1) {
            let primes: Vec<String> = all.iter().map(|name| format!("{name}'")).collect();
            let primes = crate::suggest::list(primes.iter().map(String::as_str));
            let spans = written.iter().map(|(d, _)| d.span);
            let report = report.also_all(spans, "this defines another quantity");
            let report = report.help(format!("write the derivatives as {primes}"));
            self.say(written.iter().fold(report, |report, (d, name)| report.fix(d.span, format!("{name}'"))));
            return;
        }
        if let Some((comma, start)) = self.after_comma(first) {
            let report = report.label(comma, "this comma continues the list").label(start, "an item of the list");
            self.say(report.help(format!("remove the comma, and the line with `{name}'` becomes its equation")));
            return;
        }
        let change = |i: usize| {
            let mut actions = self.model.events.iter().flat_map(|event| &event.actions);
            actions.any(|action| action.target == Symbol::State(i))
        };
        let other = if std::iter::once(first).chain(rest.iter().copied()).all(change) {
            format!("declare it as `discrete {name} = ...` if only events change it")
        } else {
            "make it a `param` if it does not change".to_owned()
        };
        let report = report.help(format!("add the equation for its derivative, `{name}' = ...`, or {other}"));
        self.say(report);
    }

    /// The comma at the end of a line that makes `x' = ...` on the next line an initial value, and this value.
    fn after_comma(&self, state: usize) -> Option<(Span, Span)> {
        let start = self.starts.iter().find(|start| start.state == state && start.order == 1)?;
        let before = self.text.get(..start.span.start as usize)?;
        let list = before.trim_end().strip_suffix(',')?;
        let begins = before[list.len()..].contains('\n');
        begins.then(|| (Span::new(list.len(), list.len() + 1), start.span))
    }

    /// Reports uses of derivatives of a higher order than the equations determine.
    fn check_primes(&mut self, places: &[Option<Span>]) {
        let mut said = Vec::new();
        let mut places_said = Vec::new();
        for index in 0..self.model.terms.len() {
            let term = &self.model.terms[index];
            if let Some((i, k)) = Model::state_read(&term.kind) {
                let order = self.model.states[i].order;
                // the components of a vector are read at one place
                if k > order && !said.contains(&i) && !places_said.contains(&term.span) {
                    said.push(i);
                    places_said.push(term.span);
                    let state = &self.model.states[i];
                    let vector = state.component.and_then(|_| state.name.rsplit_once('.'));
                    let name = vector.map_or(state.name.as_str(), |(vector, _)| vector);
                    let primed = |order: u8| format!("{name}{}", "'".repeat(usize::from(order)));
                    let headline = format!("`{}` has a higher order than the equation for `{name}`", primed(k));
                    let mut report = error(&codes::E0311, headline, term.span, "");
                    if let Some(place) = places[i] {
                        report = report.label(place, format!("the equation determines `{}`", primed(order)));
                    }
                    let help = format!("remove a prime here, or give an equation for `{}`", primed(k));
                    self.say(report.help(help));
                }
            }
        }
    }

    fn check_starts(&mut self, starts: &[InitialValue], places: &[Option<Span>]) {
        let several_orders = self.model.states.iter().filter(|s| s.order > 1).count();
        let mut of_state: Vec<Vec<&InitialValue>> = vec![Vec::new(); self.model.states.len()];
        for start in starts {
            of_state[start.state].push(start);
        }
        for (i, (place, items)) in places.iter().zip(of_state).enumerate() {
            let order = self.model.states[i].order;
            let mut initial = Vec::new();
            for k in 0..order {
                if let Some(body) = items.iter().find(|s| s.order == k).and_then(|s| s.value) {
                    initial.push(body);
                } else {
                    let last = items.iter().max_by_key(|s| s.order).map(|s| s.end);
                    self.missing_start(i, k, last, *place, several_orders > 1);
                    break;
                }
            }
            if let Some(extra) = items.iter().find(|s| s.order >= order) {
                self.extra_start(i, extra, *place);
            }
            self.model.states[i].initial = initial;
        }
    }

    fn extra_start(&mut self, state: usize, extra: &InitialValue, place: Option<Span>) {
        let state = &self.model.states[state];
        let name = state.derivative(extra.order);
        let report = match place {
            Some(place) => error(
                &codes::E0312,
                format!(
                    "`{name}` has an initial value, but its equation determines `{}`",
                    state.derivative(state.order)
                ),
                place,
                format!("because of this, the equation determines `{}`", state.derivative(state.order)),
            ),
            None => error(&codes::E0312, format!("`{name}` has an initial value"), extra.span, ""),
        };
        let report = report.label(extra.span, "the initial value").help(format!(
            "write `{}` in the equation if it has order {}, or remove the initial value",
            state.derivative(extra.order + 1),
            extra.order + 1
        ));
        self.say(report);
    }

    fn missing_start(&mut self, state: usize, k: u8, after: Option<Span>, place: Option<Span>, usual: bool) {
        let state = &self.model.states[state];
        // the components of a vector get their initial values together
        let vector = state.component.filter(|_| k > 0).and_then(|_| Some(state.name.rsplit_once('.')?.0));
        let derivative = |order: u8| match vector {
            Some(vector) => format!("{vector}{}", "'".repeat(usize::from(order))),
            None => state.derivative(order),
        };
        let name = derivative(k);
        if state.algebraic {
            let report = error(&codes::E0305, format!("`{name}` has no guess"), state.span, "declared here");
            let help = format!("write `unknown {name} = 0`, with an estimate of its initial value");
            self.say(report.help(help));
            return;
        }
        let headline = format!("`{name}` has no initial value");
        let indices: Vec<String> = state.indexed.axes.iter().map(|axis| axis.name.clone()).collect();
        let (shown, zero) = match vector {
            Some(vector) => {
                let own = |other: &&State| other.name.rsplit_once('.').is_some_and(|(name, _)| name == vector);
                let zeros = vec!["0"; self.model.states.iter().filter(own).count()];
                let element = odec_ir::names::element(vector, &indices);
                (format!("{element}{}", "'".repeat(usize::from(k))), format!("({})", zeros.join(", ")))
            }
            None => (odec_ir::names::element(&name, &indices), "0".to_owned()),
        };
        let used = self.model.terms.iter().filter_map(|t| Model::state_read(&t.kind));
        let lower_used = used.clone().any(|(i, j)| self.model.states[i].name == state.name && j == k && k > 0);
        let at_declaration = k == 0 || usual || lower_used;
        let report = match place {
            Some(place) if !at_declaration => error(
                &codes::E0305,
                headline,
                place,
                format!("because of this, `{}` is an unknown of order {}", state.name, state.order),
            )
            .label(state.span, "declared here"),
            Some(place) if k > 0 => error(&codes::E0305, headline, state.span, "declared here")
                .label(place, format!("the equation determines `{}`", derivative(state.order))),
            _ => error(&codes::E0305, headline, state.span, "declared here"),
        };
        let report = match after {
            // no fix: a value of odec's own would make another model
            Some(_) if k > 0 => {
                report.help(format!("write its initial value after it, for example `, {shown} = {zero}`"))
            }
            _ => report.help(format!("write its initial value, for example `{shown} = {zero}`")),
        };
        self.say(report);
    }
}

fn count(n: usize) -> String {
    match n {
        2 => "two".to_owned(),
        3 => "three".to_owned(),
        n => n.to_string(),
    }
}

/// Reports two equations whose left-hand side is the derivative of one state; `missing` has none.
pub(crate) fn two_equations(model: &Model, state: usize, missing: Option<usize>) -> Diagnostic {
    let name = &model.states[state].name;
    let places: Vec<(usize, Span)> = model
        .equations
        .iter()
        .enumerate()
        .filter(|(_, e)| e.target == Some(state))
        .map(|(i, e)| (i, model.span(e.lhs)))
        .collect();
    // Without another state, they are all alike; otherwise the one at the expected location of the missing equation.
    let nearest = missing.and_then(|m| Some((m, places.iter().min_by_key(|(i, _)| i.abs_diff(m))?)));
    let Some((m, &(odd, span))) = nearest else {
        let spans: Vec<Span> = places.iter().map(|p| p.1).collect();
        return several_equations(name, &spans);
    };
    let mut report =
        error(&codes::E0304, format!("`{name}` has {} equations", count(places.len())), span, "one of them");
    report = report.also_all(places.iter().filter(|p| p.0 != odd).map(|p| p.1), "another one");
    let other = &model.states[m];
    report
        .label(other.span, "this state has none")
        .help(format!("should one of them be the equation for `{}'`?", other.name))
}

/// Reports that one state has several equations; `places` are their left-hand sides.
pub(super) fn several_equations(name: &str, places: &[Span]) -> Diagnostic {
    let Some((&last, others)) = places.split_last() else {
        return Diagnostic::error(&codes::E0304, format!("`{name}` has two equations"));
    };
    let headline = format!("`{name}` has {} equations", count(places.len()));
    error(&codes::E0304, headline, last, "one of them")
        .also_all(others.iter().copied(), "another one")
        .help("a state has one equation: add the right sides, or remove one equation")
}

/// `dx`, `dxdt`, `dx_dt`, `xdot`, `x_dot`, `dotx`, `Dx`, `ẋ`, `x_t`, `ddt_x`, `d2xdt2`, `xddot`: the order of the derivative
/// of `state` that such a name stands for in other languages.
fn reads_as_derivative(name: &str, state: &str, time: &str) -> Option<usize> {
    let plain: String = name.chars().filter(|c| *c != '_').collect();
    let state_plain: String = state.chars().filter(|c| *c != '_').collect();
    let state_text = state_plain.as_str();
    let is = |text: Option<&str>| text == Some(state_text);
    let second = plain.strip_prefix("d2").map(|rest| rest.strip_suffix("dt2").unwrap_or(rest));
    let dotted = matches!((plain.as_str(), state_text), ("ẍ", "x") | ("ÿ", "y") | ("ẅ", "w") | ("ḧ", "h"));
    if dotted || is(second) || is(plain.strip_suffix("ddot")) || is(plain.strip_suffix('\u{308}')) {
        return Some(2);
    }
    let first = is(plain.strip_prefix(['d', 'D']).map(|rest| rest.strip_suffix("dt").unwrap_or(rest)))
        || is(plain.strip_suffix("dot"))
        || is(plain.strip_prefix("dot"))
        || is(plain.strip_suffix('\u{307}'))
        || ["ddt_", "dxdt_", "der_", "deriv_"].iter().any(|head| name.strip_prefix(head) == Some(state))
        || name == format!("{state}_{time}")
        || matches!((plain.as_str(), state_text), ("ẋ", "x") | ("ẏ", "y") | ("ż", "z") | ("ṙ", "r"));
    first.then_some(1)
}
