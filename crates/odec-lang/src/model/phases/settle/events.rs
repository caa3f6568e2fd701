//! Events once it is known what depends on what: conditions that are conditions, times that are known before, targets
//! that can be changed, and two values for one quantity.

use odec_ir::Span;

use super::conditions::condition;
use crate::model::phases::reports::Reports;
use crate::model::{Body, Change, EventKind, Level, Model, Overrides, Symbol, TermId, TermKind};
use crate::report::error;

/// Checks the events of a model.
pub(super) fn check(model: &mut Model, reports: &mut Reports) {
    for event in 0..model.events.len() {
        condition(model, event, reports);
        let events = Events { model };
        events.times(event, reports);
        events.spans(event, reports);
        let before = reports.list().len();
        events.targets(event, reports);
        // a highest derivative as a target is read by its own action as well: one mistake
        if reports.list().len() == before {
            events.rates(event, reports);
        }
        events.twice(event, reports);
    }
    Events { model }.at_one_time(reports);
}

struct Events<'a> {
    model: &'a Model,
}

impl Events<'_> {
    /// The times of `at` and `every` are known before they come.
    fn times(&self, event: usize, reports: &mut Reports) {
        let (word, bodies) = match &self.model.events[event].kind {
            EventKind::At(times) => ("at", times.clone()),
            EventKind::Every { period, from, until } => {
                ("every", std::iter::once(*period).chain(*from).chain(*until).collect())
            }
            _ => return,
        };
        for body in bodies {
            if self.model.level(body) < Level::Time {
                continue;
            }
            let changes = |id: &usize| self.model.own_level(&self.model.terms[*id].kind) >= Level::Time;
            let Some(id) = body.range().find(changes) else { continue };
            let term = &self.model.terms[id];
            let comparison = matches!(&self.model.term(body.root).kind, TermKind::Apply(op, _) if matches!(op.0.name, "lt" | "le" | "eq" | "ne"));
            let text = self.model.expression(body);
            let headline = format!("the time of this event depends on `{}`", self.model.text_of(TermId(id as u32)));
            let report = error("E0545", headline, term.span, "this changes all the time");
            let help = match (comparison, word) {
                (true, _) => format!("a condition belongs to `when`: `when {text} {{ ... }}`"),
                (_, "at") => format!("write `when {} >= {text} {{ ... }}`", self.model.time.name),
                _ => "times may depend on parameters and discretes: let an event keep the value in a `discrete`"
                    .to_owned(),
            };
            reports.say(report.help(help));
        }
    }

    /// A period is positive, and a delay is not negative, as far as both are known before the run whatever is set for it.
    fn spans(&self, event: usize, reports: &mut Reports) {
        let of = &self.model.events[event];
        let period = match &of.kind {
            EventKind::Every { period, .. } => Some(*period),
            _ => None,
        };
        let Ok(values) = self.model.values(&Overrides::default()) else { return };
        for (what, body) in [("period", period), ("delay", of.delay)] {
            let Some(body) = body.filter(|body| self.model.level(*body) == Level::Constant && of.locals.is_empty())
            else {
                continue;
            };
            let value = self.model.number(body, &values);
            let (fits, wanted) =
                if what == "period" { (value > 0.0, "positive") } else { (value >= 0.0, "0 or positive") };
            if !fits && value.is_finite() {
                let headline = format!("the {what} of this event is {value}, and must be {wanted}");
                let report = error("E0405", headline, self.model.span(body), format!("this is {value}"));
                let help = match what {
                    "period" => "write the time from one to the next: `every 12 { ... }`",
                    _ => "write the time from the condition to the actions: `after 2`",
                };
                reports.say(report.help(help));
            }
        }
    }

    /// Derivatives that the equations give are not read by events.
    fn rates(&self, event: usize, reports: &mut Reports) {
        for body in self.model.events[event].bodies() {
            if self.model.level(body) < Level::Rate {
                continue;
            }
            let rate = |id: &usize| self.model.own_level(&self.model.terms[*id].kind) == Level::Rate;
            let Some(id) = body.range().find(rate) else { continue };
            let name = self.model.text_of(TermId(id as u32));
            let headline = format!("an event reads `{name}`, which the equations give");
            let report = error("E0547", headline, self.model.terms[id].span, "its value may jump in the event itself");
            reports.say(report.help("write the right side of the equation here, or give it a name of its own"));
        }
    }

    /// States below their highest derivative, and discretes.
    fn targets(&self, event: usize, reports: &mut Reports) {
        for action in &self.model.events[event].actions {
            let Symbol::State(i) = action.target else { continue };
            let state = &self.model.states[i];
            if action.order < state.order {
                continue;
            }
            let name = state.derivative(action.order);
            let below = state.derivative(state.order - 1);
            let headline = format!("an event cannot change `{name}`, which follows from the equations");
            let report = error("E0542", headline, action.span, "").label(state.span, "declared here");
            reports.say(report.help(format!("change `{below}`, or a `discrete` that its equation reads")));
        }
        for action in &self.model.events[event].actions {
            for (k, &subscript) in action.subscripts.iter().enumerate() {
                let fixed = self.model.index_only(subscript.root);
                if !fixed {
                    let span = self.model.span(subscript);
                    let report = error("E0519", "which element an event changes is known before the run", span, "");
                    reports.say(report.help(format!(
                        "subscript {} is made of numbers, constants, indices and constant tables; a choice stands on \
                         the right side: `x[i] := if c then 1 else x[i]`",
                        k + 1
                    )));
                }
            }
        }
    }

    /// Two `:=` for one quantity in one event.
    fn twice(&self, event: usize, reports: &mut Reports) {
        let actions = &self.model.events[event].actions;
        for (k, action) in actions.iter().enumerate() {
            for earlier in &actions[..k] {
                if self.surely_one(event, action, event, earlier) {
                    self.two_values(action, earlier, None, reports);
                }
            }
        }
    }

    /// Two `:=` for one quantity in events whose fixed times are the same.
    fn at_one_time(&self, reports: &mut Reports) {
        let model = self.model;
        let fixed = |event: usize| -> Vec<f64> {
            let of = &model.events[event];
            let EventKind::At(times) = &of.kind else { return Vec::new() };
            if of.delay.is_some() || of.priority.is_some() || of.alone || !of.locals.is_empty() {
                return Vec::new();
            }
            times.iter().filter_map(|&time| self.literal(time)).collect()
        };
        let times: Vec<Vec<f64>> = (0..model.events.len()).map(fixed).collect();
        for late in 0..times.len() {
            for early in 0..late {
                let Some(&time) = times[late].iter().find(|time| times[early].contains(time)) else { continue };
                for action in &model.events[late].actions {
                    for earlier in &model.events[early].actions {
                        if self.surely_one(late, action, early, earlier) {
                            self.two_values(action, earlier, Some(time), reports);
                        }
                    }
                }
            }
        }
    }

    /// A time that is a number.
    fn literal(&self, body: Body) -> Option<f64> {
        match self.model.term(body.root).kind {
            TermKind::Number(x) => Some(x),
            _ => None,
        }
    }

    /// Both set the same element, whatever the values of indices are.
    fn surely_one(&self, event: usize, a: &crate::model::Action, other: usize, b: &crate::model::Action) -> bool {
        let same = a.target == b.target && a.order == b.order && a.change == Change::Set && b.change == Change::Set;
        same && a.subscripts.iter().zip(&b.subscripts).all(|(&x, &y)| {
            match (&self.model.term(x.root).kind, &self.model.term(y.root).kind) {
                (TermKind::Number(x), TermKind::Number(y)) => x == y,
                // all elements: whatever the other one is, it is among them
                (TermKind::Index(i), _) if a.locals.contains(i) && self.whole(*i) => true,
                (_, TermKind::Index(j)) if b.locals.contains(j) && self.whole(*j) => true,
                (TermKind::Index(i), TermKind::Index(j)) => i == j && event == other,
                _ => false,
            }
        })
    }

    /// An index runs over all of its set.
    fn whole(&self, local: usize) -> bool {
        self.model.locals[local].range.range.is_none()
    }

    fn two_values(&self, a: &crate::model::Action, b: &crate::model::Action, time: Option<f64>, reports: &mut Reports) {
        let name = match a.target {
            Symbol::State(i) => self.model.states[i].derivative(a.order),
            symbol => self.model.name_of(symbol).to_owned(),
        };
        let headline = match time {
            Some(time) => format!("`{name}` is given two values at the time {time}"),
            None => format!("`{name}` is given two values by one event"),
        };
        let (first, second): (Span, Span) = if a.span < b.span { (a.span, b.span) } else { (b.span, a.span) };
        let report = error("E0543", headline, second, "here again").label(first, "here first");
        reports.say(report.help("no order decides between them: keep one, or add to the value with `+=`"));
    }
}
