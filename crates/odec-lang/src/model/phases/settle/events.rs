//! Checks events once dependences are known: conditions must be conditions, times must be known in advance, targets
//! must be changeable, and no quantity may get two values.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use odec_ir::Span;

use super::conditions::condition;
use crate::diagnostic::codes;
use crate::model::phases::reports::Reports;
use crate::model::{Body, Change, EventKind, Level, Model, Overrides, Symbol, TermId, TermKind, Values};
use crate::report::{Build, error};

/// Checks the events of a model.
pub(super) fn check(model: &mut Model, reports: &mut Reports) {
    // the values of the model as it is written, once an event needs them
    let values = OnceCell::new();
    for event in 0..model.events.len() {
        condition(model, event, reports);
        let events = Events { model };
        events.times(event, reports);
        events.spans(event, &values, reports);
        let before = reports.list().len();
        events.targets(event, reports);
        // its own action also reads a highest derivative that is a target: one mistake
        if reports.list().len() == before {
            events.rates(event, reports);
        }
        events.twice(event, reports);
    }
    Events { model }.at_one_time(reports);
    Events { model }.under_one_condition(reports);
}

/// The number of pairs of actions that may set one element at one fixed time, and of those compared to find them.
pub fn pairs_of_actions(model: &Model) -> (usize, usize) {
    let (pairs, compared) = Events { model }.pairs_at_one_time();
    (pairs.len(), compared)
}

struct Events<'a> {
    model: &'a Model,
}

/// An assignment of an event at a fixed time.
struct Write {
    /// The event, and the number of its action.
    action: (usize, usize),
    /// The subscripts, if all are numbers.
    element: Option<Vec<u64>>,
    time: f64,
    /// Index of the time in the list of its event.
    place: usize,
}

/// The event, and the number of its action.
type Place = (usize, usize);

/// Actions that set elements of one quantity.
#[derive(Default)]
struct Sets {
    /// By subscripts, if all are numbers: the first action.
    elements: BTreeMap<Vec<u64>, Place>,
    /// The other actions.
    open: Vec<Place>,
}

/// A time, and actions that set one target at this time.
type Conflict<'m> = (f64, Vec<&'m crate::model::Action>);

/// Two actions that may set one element.
struct Pair {
    late: (usize, usize),
    early: (usize, usize),
    time: f64,
    place: usize,
}

impl Pair {
    /// The pair for the actions of two events.
    fn of(a: &Write, b: &Write) -> Option<Pair> {
        let (late, early) = if a.action > b.action { (a, b) } else { (b, a) };
        let apart = late.action.0 != early.action.0;
        apart.then_some(Pair { late: late.action, early: early.action, time: late.time, place: late.place })
    }
}

impl Events<'_> {
    /// Checks that the times of `at` and `every` are known before they come.
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
            let report = error(&codes::E0545, headline, term.span, "this changes during the run");
            let help = match (comparison, word) {
                (true, _) => format!("use `when` for a condition: `when {text} {{ ... }}`"),
                (_, "at") => format!("write `when {} >= {text} {{ ... }}`", self.model.time.name),
                _ => "the times may depend on parameters and discretes: let an event store the value in a `discrete`"
                    .to_owned(),
            };
            reports.say(report.help(help));
        }
    }

    /// Checks that a period is positive and a delay is not negative, if they are known for all values that the user
    /// may set.
    fn spans(&self, event: usize, values: &OnceCell<Option<Values>>, reports: &mut Reports) {
        let of = &self.model.events[event];
        let period = match &of.kind {
            EventKind::Every { period, .. } => Some(*period),
            _ => None,
        };
        for (what, body) in [("period", period), ("delay", of.delay)] {
            let Some(body) = body.filter(|body| self.model.level(*body) == Level::Constant && of.locals.is_empty())
            else {
                continue;
            };
            let known = values.get_or_init(|| self.model.values(&Overrides::default()).ok());
            let Some(values) = known else { return };
            let value = self.model.number(body, values);
            if let Some(report) = self.model.exhausted(&[body], values).filter(|_| value.is_nan()) {
                reports.say(report);
                continue;
            }
            let (fits, wanted) =
                if what == "period" { (value > 0.0, "positive") } else { (value >= 0.0, "0 or positive") };
            if !fits && value.is_finite() {
                let headline = format!("the {what} of this event is {value}, but must be {wanted}");
                let report = error(&codes::E0405, headline, self.model.span(body), format!("this is {value}"));
                let help = match what {
                    "period" => "write the period: `every 12 { ... }`",
                    _ => "write the delay from the condition to the actions: `after 2`",
                };
                reports.say(report.help(help));
            }
        }
    }

    /// Refuses events that read derivatives determined by equations.
    fn rates(&self, event: usize, reports: &mut Reports) {
        for body in self.model.events[event].bodies() {
            if self.model.level(body) < Level::Rate {
                continue;
            }
            let rate = |id: &usize| self.model.own_level(&self.model.terms[*id].kind) == Level::Rate;
            let Some(id) = body.range().find(rate) else { continue };
            let name = self.model.text_of(TermId(id as u32));
            let headline = format!("an event reads `{name}`, which the equations determine");
            let report =
                error(&codes::E0547, headline, self.model.terms[id].span, "its value may jump during the event");
            reports.say(report.help("write the right side of the equation here, or give it a name"));
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
            let headline = format!("an event cannot change `{name}`, which the equations determine");
            let report = error(&codes::E0542, headline, action.span, "").label(state.span, "declared here");
            reports.say(report.help(format!("change `{below}`, or a `discrete` that its equation reads")));
        }
        for action in &self.model.events[event].actions {
            for (k, &subscript) in action.subscripts.iter().enumerate() {
                let fixed = self.model.index_only(subscript.root);
                if !fixed {
                    let span = self.model.span(subscript);
                    let report = error(
                        &codes::E0519,
                        "the elements that an event changes must be known before the run",
                        span,
                        "",
                    );
                    reports.say(report.help(format!(
                        "compute subscript {} from numbers, constants, indices and constant tables; put choices on \
                         the right side: `x[i] := if c then 1 else x[i]`",
                        k + 1
                    )));
                }
            }
        }
    }

    /// Refuses two `:=` for one quantity in one event.
    fn twice(&self, event: usize, reports: &mut Reports) {
        let actions = &self.model.events[event].actions;
        for (k, earlier) in self.repeated((0..actions.len()).map(|k| (event, k))) {
            self.several_values(&actions[earlier.1], &[&actions[k.1]], "in one event", reports);
        }
    }

    /// Refuses two `:=` for one quantity in events with the same condition and nothing that orders them.
    fn under_one_condition(&self, reports: &mut Reports) {
        let mut alike: BTreeMap<(String, bool, Option<String>), Vec<usize>> = BTreeMap::new();
        for (event, of) in self.model.events.iter().enumerate() {
            let EventKind::When { condition, from_start, .. } = &of.kind else { continue };
            let plain = of.priority.is_none() && !of.alone && !of.cancel && of.locals.is_empty();
            if plain && of.actions.iter().any(|action| action.change == Change::Set) {
                let delay = of.delay.map(|delay| self.model.expression(delay));
                alike.entry((self.model.expression(*condition), *from_start, delay)).or_default().push(event);
            }
        }
        for events in alike.into_values().filter(|events| events.len() > 1) {
            let actions = |&event: &usize| (0..self.model.events[event].actions.len()).map(move |k| (event, k));
            for (late, early) in self.repeated(events.iter().flat_map(actions)) {
                if late.0 != early.0 {
                    let [late, early] = [late, early].map(|(event, k)| &self.model.events[event].actions[k]);
                    self.several_values(early, &[late], "under one condition", reports);
                }
            }
        }
    }

    /// Actions that surely set an element that an earlier one of the list sets, each with the first such action. The
    /// work is linear if the subscripts are numbers.
    fn repeated(&self, actions: impl Iterator<Item = Place>) -> Vec<(Place, Place)> {
        let mut of: BTreeMap<(Symbol, u8), Sets> = BTreeMap::new();
        let mut found = Vec::new();
        for place in actions {
            let action = &self.model.events[place.0].actions[place.1];
            if action.change != Change::Set {
                continue;
            }
            let sets = of.entry((action.target, action.order)).or_default();
            let key = |body: &Body| self.literal(*body).map(|x| (x + 0.0).to_bits());
            let element: Option<Vec<u64>> = action.subscripts.iter().map(key).collect();
            let same = |other: &&Place| {
                self.surely_one(place.0, action, other.0, &self.model.events[other.0].actions[other.1])
            };
            let earlier = match &element {
                Some(element) => sets.elements.get(element).or_else(|| sets.open.iter().find(same)),
                None => sets.elements.values().chain(&sets.open).filter(same).min(),
            };
            found.extend(earlier.map(|earlier| (place, *earlier)));
            match element {
                Some(element) => drop(sets.elements.entry(element).or_insert(place)),
                None => sets.open.push(place),
            }
        }
        found
    }

    /// Refuses two `:=` for one quantity in events with a common fixed time.
    fn at_one_time(&self, reports: &mut Reports) {
        // the actions that conflict with one earlier action at one time are reported together
        let mut later: BTreeMap<((usize, usize), u64), Conflict<'_>> = BTreeMap::new();
        for Pair { late, early, time, .. } in self.pairs_at_one_time().0 {
            let [(event, action), (other, earlier)] =
                [late, early].map(|(event, action)| (event, &self.model.events[event].actions[action]));
            if self.surely_one(event, action, other, earlier) {
                later.entry((early, time.to_bits())).or_insert((time, Vec::new())).1.push(action);
            }
        }
        for (((event, action), _), (time, conflicting)) in later {
            let when = format!("at the time {time}");
            self.several_values(&self.model.events[event].actions[action], &conflicting, &when, reports);
        }
    }

    /// The pairs of actions that may set one element at one fixed time, in the order of the text, and the number of
    /// compared pairs, which is small if many events set one element each.
    fn pairs_at_one_time(&self) -> (Vec<Pair>, usize) {
        let (mut pairs, mut compared) = (Vec::new(), 0);
        for writes in self.writes_at_times().values() {
            // an action with a subscript that is not a number may coincide with any other
            let open = |write: &&Write| write.element.is_none();
            for (k, write) in writes.iter().enumerate().filter(|(_, write)| write.element.is_none()) {
                let others = writes.iter().enumerate().filter(|(j, other)| !open(other) || *j < k);
                compared += writes.len();
                pairs.extend(others.filter_map(|(_, other)| Pair::of(write, other)));
            }
            let mut elements: BTreeMap<&[u64], Vec<&Write>> = BTreeMap::new();
            for write in writes {
                if let Some(element) = &write.element {
                    let same = elements.entry(element).or_default();
                    // one pair tells of each action; all pairs would be quadratic in number
                    let pair = same.iter().inspect(|_| compared += 1).find_map(|other| Pair::of(write, other));
                    pairs.extend(pair);
                    same.push(write);
                }
            }
        }
        // two events may share several times: name the first one in the list of the later event
        pairs.sort_by(|a, b| (a.late, a.early).cmp(&(b.late, b.early)).then(a.place.cmp(&b.place)));
        pairs.dedup_by_key(|pair| (pair.late, pair.early));
        (pairs, compared)
    }

    /// The assignments of events with fixed times: by time, quantity and order of derivative.
    fn writes_at_times(&self) -> BTreeMap<(u64, Symbol, u8), Vec<Write>> {
        let mut writes: BTreeMap<_, Vec<Write>> = BTreeMap::new();
        for (event, of) in self.model.events.iter().enumerate() {
            let EventKind::At(times) = &of.kind else { continue };
            if of.delay.is_some() || of.priority.is_some() || of.alone || !of.locals.is_empty() {
                continue;
            }
            let numbers: Vec<f64> = times.iter().filter_map(|&time| self.literal(time)).collect();
            for (place, &time) in numbers.iter().enumerate() {
                for (number, action) in of.actions.iter().enumerate().filter(|(_, action)| action.change == Change::Set)
                {
                    let key = |body: &Body| self.literal(*body).map(|x| (x + 0.0).to_bits());
                    let element = action.subscripts.iter().map(key).collect();
                    let key = ((time + 0.0).to_bits(), action.target, action.order);
                    writes.entry(key).or_default().push(Write { action: (event, number), element, time, place });
                }
            }
        }
        writes
    }

    /// A time that is a number.
    fn literal(&self, body: Body) -> Option<f64> {
        match self.model.term(body.root).kind {
            TermKind::Number(x) => Some(x),
            _ => None,
        }
    }

    /// True if both set the same element for all values of indices.
    fn surely_one(&self, event: usize, a: &crate::model::Action, other: usize, b: &crate::model::Action) -> bool {
        let same = a.target == b.target && a.order == b.order && a.change == Change::Set && b.change == Change::Set;
        same && a.subscripts.iter().zip(&b.subscripts).all(|(&x, &y)| {
            match (&self.model.term(x.root).kind, &self.model.term(y.root).kind) {
                (TermKind::Number(x), TermKind::Number(y)) => x == y,
                // the first action sets all elements, including those of the other one
                (TermKind::Index(i), _) if a.locals.contains(i) && self.whole(*i) => true,
                (_, TermKind::Index(j)) if b.locals.contains(j) && self.whole(*j) => true,
                (TermKind::Index(i), TermKind::Index(j)) => i == j && event == other,
                _ => false,
            }
        })
    }

    /// True if an index runs over its whole set.
    fn whole(&self, local: usize) -> bool {
        self.model.locals[local].range.range.is_none()
    }

    /// Reports one action and those that give its target another value.
    fn several_values(
        &self,
        a: &crate::model::Action,
        others: &[&crate::model::Action],
        when: &str,
        reports: &mut Reports,
    ) {
        let name = match a.target {
            Symbol::State(i) => self.model.states[i].derivative(a.order),
            symbol => self.model.name_of(symbol).to_owned(),
        };
        let count = if others.len() == 1 { "two" } else { "several" };
        let headline = format!("`{name}` receives {count} values {when}");
        let mut places: Vec<Span> =
            std::iter::once(a).chain(others.iter().copied()).map(|action| action.span).collect();
        places.sort_by_key(|place| place.start);
        let [first, second, rest @ ..] = &places[..] else { return };
        let report = error(&codes::E0543, headline, *second, "again here").label(*first, "first here");
        let report = report.also_all(rest.iter().copied(), "and here");
        reports.say(report.help(if when == "in one event" {
            "nothing orders these actions: keep one of them, or add to the value with `+=`"
        } else {
            "nothing orders these events: keep one of the actions, add to the value with `+=`, or give an event a \
             `priority`"
        }));
    }
}
