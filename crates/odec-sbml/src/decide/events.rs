//! Events, and the quantities that they set: amounts if the states are amounts.
//!
//! An event that sets a concentration sets the amount, computed with the compartment size before the event. An event
//! that changes the size of a compartment keeps all amounts in it, so a state that is a concentration is divided by
//! the new size.

use std::collections::BTreeMap;

use odec_ir::Span;
use odec_lang::diagnostic::codes;

use super::fast::Fast;
use super::instants;
use super::order::mark_ordered_events;
use super::start::Start;
use super::symbols::{Kind, Symbol};
use super::{Decider, amount_only, primary, value_key};
use crate::math::{Math, Op};
use crate::model::{Event, Species};
use crate::plan::{PlannedEvent, Role, Section, amount, concentration};

/// Priority of an event that stores values of a trigger, which comes before every other event at its instant. No other
/// event reads these values.
const FIRST: f64 = 1e300;

/// A converted event. If it reads some values at its trigger and others at its execution, a second event stores the
/// values at the trigger.
struct ConvertedEvent<'e> {
    event: &'e Event,
    keeper: Option<PlannedEvent>,
    planned: PlannedEvent,
}

impl Decider<'_, '_> {
    /// Converts all events. An event without a trigger never happens, and an event without assignments has no effect,
    /// so both are left out.
    pub(super) fn events(&mut self, equations: &[(Math, Span)], fast: &[Fast]) -> Vec<PlannedEvent> {
        let model = self.symbols.model;
        let ranked = model.events.iter().any(|event| event.priority.is_some());
        let mut made: Vec<ConvertedEvent<'_>> = vec![];
        for (number, event) in model.events.iter().enumerate() {
            made.extend(self.event(event, number, ranked));
        }
        let start = Start::of(&self.quantities, equations, &model.functions);
        let edges: Vec<bool> = made
            .iter()
            .map(|ConvertedEvent { planned, .. }| planned.from_start && start.holds_on_an_edge(&planned.trigger))
            .collect();
        let mut all: Vec<PlannedEvent> = vec![];
        for (number, (ConvertedEvent { event, keeper, planned }, edge)) in made.into_iter().zip(edges).enumerate() {
            let all_of_it = keeper.into_iter().chain([planned]);
            if edge {
                all.extend(self.split(event, number, all_of_it));
            } else {
                all.extend(all_of_it);
            }
        }
        let start = Start::of(&self.quantities, equations, &model.functions);
        mark_ordered_events(&start, &mut all);
        self.set_totals(fast, &mut all);
        all
    }

    /// Splits an event whose condition may hold at the start alone: odec compares right after the start. One part is
    /// executed at the start, the other one whenever the condition becomes true later.
    fn split(&mut self, event: &Event, number: usize, parts: impl Iterator<Item = PlannedEvent>) -> Vec<PlannedEvent> {
        let key = format!("{}.start", own_name(event, number));
        let mut split = vec![];
        for planned in parts {
            if planned.cancel {
                let headline = "the two sides of a comparison in the trigger of this event are equal at the start";
                let label = "odec cannot decide whether the event is cancelled right after the start";
                self.report.error(&codes::E0808, headline, planned.span, label);
            }
            if split.is_empty() {
                let holds = Math::Piecewise(
                    vec![(Math::Number(1.0), planned.trigger.clone())],
                    Some(Box::new(Math::Number(0.0))),
                );
                let note = "1 if the event happens at the start";
                self.add(&key, Role::Discrete(holds), Section::Kept, Some(note));
            }
            let trigger = Math::Apply(Op::Compare(">"), vec![Math::name(&key), Math::Number(0.0)]);
            let title =
                if planned.title.is_empty() { String::new() } else { format!("{}, at the start", planned.title) };
            split.push(PlannedEvent { title, trigger, ..planned.clone() });
            split.push(PlannedEvent { from_start: false, ..planned });
        }
        split
    }

    fn event<'e>(&mut self, event: &'e Event, number: usize, ranked: bool) -> Option<ConvertedEvent<'e>> {
        let trigger = instants::plain(self.meaning(event.trigger.as_ref()?));
        if trigger == Math::Bool(false) || event.assignments.is_empty() {
            return None;
        }
        let delay = event.delay.as_ref().map(|math| self.meaning(math));
        let priority = event.priority.as_ref().map(|math| self.meaning(math));
        let mut values = vec![];
        for assignment in &event.assignments {
            let value = self.meaning(&assignment.math);
            if self.can_set(&assignment.variable, assignment.base.span) {
                values.push((assignment.variable.as_str(), value));
            }
        }
        let title = match (event.base.id.as_str(), event.base.name.as_str()) {
            (id, "") => id.to_string(),
            ("", name) => name.to_string(),
            (id, name) if id == name => id.to_string(),
            (id, name) => format!("{id}: {name}"),
        };
        let mut planned = PlannedEvent {
            title,
            trigger,
            late: !event.early && (delay.is_some() || ranked),
            early: event.early,
            cancel: !event.persistent,
            alone: false,
            from_start: !event.initially,
            delay,
            priority,
            actions: vec![],
            span: event.base.span,
        };
        let mut keeper = None;
        if event.early && self.reads_at_execution(event, &values) {
            let own = own_name(event, number);
            let mut kept = planned.clone();
            kept.title = format!("values of {own} at its trigger");
            kept.priority = Some(Math::Number(FIRST));
            for (id, value) in &mut values {
                let key = format!("{own}.{id}");
                self.add(&key, Role::Discrete(Math::Number(0.0)), Section::Kept, None);
                kept.actions.push((key.clone(), std::mem::replace(value, Math::name(key))));
            }
            keeper = Some(kept);
            (planned.late, planned.early) = (true, false);
        }
        planned.actions = self.actions(event, &values);
        Some(ConvertedEvent { event, keeper, planned })
    }

    /// Reports an event that sets something it cannot set.
    fn can_set(&mut self, id: &str, span: Span) -> bool {
        match self.symbols.kind(id) {
            Kind::State | Kind::Kept => return true,
            Kind::Unknown => {
                let headline = format!("an event sets `{id}`, which an algebraic rule determines");
                self.report.error(&codes::E0808, headline, span, "odec cannot set it");
            }
            Kind::Fixed | Kind::Defined => {
                let headline = format!("both an event and a rule set `{id}`");
                self.report.error(&codes::E0809, headline, span, "the event");
            }
        }
        false
    }

    /// The actions of an event, including indirect changes.
    fn actions(&mut self, event: &Event, values: &[(&str, Math)]) -> Vec<(String, Math)> {
        let model = self.symbols.model;
        let given: BTreeMap<String, Math> =
            values.iter().map(|(id, value)| (value_key(&self.symbols, id), value.clone())).collect();
        let mut actions = vec![];
        for (id, value) in values {
            if !matches!(self.symbols.table.get(id), Some(Symbol::Species(_))) {
                actions.push(((*id).to_string(), value.clone()));
            }
        }
        for species in &model.species {
            let id = species.base.id.as_str();
            let value = values.iter().find(|(of, _)| *of == id).map(|(_, value)| value.clone());
            if amount_only(&self.symbols, species) {
                actions.extend(value.map(|value| (amount(id), value)));
                continue;
            }
            let volume = self.volume(species);
            let key = primary(&self.symbols, id);
            if key == amount(id) {
                actions.extend(value.map(|value| (key, value.times(volume))));
                continue;
            }
            let new = match self.symbols.kind(id) {
                Kind::State => self.size_after(event, species, &given),
                _ => None,
            };
            match (new, value) {
                (None, None) => {}
                (None, Some(value)) => actions.push((key, value)),
                (Some(new), value) => {
                    let before = value.unwrap_or_else(|| Math::name(&key));
                    actions.push((key, before.times(volume).over(new)));
                }
            }
        }
        actions
    }

    /// The size of the compartment of a species after an event, if the event changes it.
    fn size_after(&mut self, event: &Event, species: &Species, given: &BTreeMap<String, Math>) -> Option<Math> {
        let id = species.compartment.as_str();
        match self.symbols.kind(id) {
            Kind::Kept | Kind::State => given.get(id).cloned(),
            Kind::Fixed => None,
            Kind::Defined | Kind::Unknown => {
                let start = Start::of(&self.quantities, &[], &self.symbols.model.functions);
                let reads = start.reads(&Math::name(id));
                let own = |key: &str| {
                    given.contains_key(key) || given.contains_key(&concentration(key.trim_start_matches('#')))
                };
                if reads.iter().any(|key| own(key)) || self.symbols.kind(id) == Kind::Unknown {
                    let headline = format!(
                        "an event changes a quantity that determines the size of the compartment of `{}`, and a rate rule \
                         determines its concentration",
                        species.base.id
                    );
                    self.report.error(&codes::E0808, headline, event.base.span, "odec does not import this");
                }
                None
            }
        }
    }

    /// True if an event uses the values at its trigger but also needs sizes or concentrations at its execution, which
    /// may differ.
    fn reads_at_execution(&mut self, event: &Event, values: &[(&str, Math)]) -> bool {
        let model = self.symbols.model;
        let mut needed = vec![];
        for species in &model.species {
            let id = species.base.id.as_str();
            if amount_only(&self.symbols, species) || self.symbols.kind(&species.compartment) == Kind::Fixed {
                continue;
            }
            let is_set = values.iter().any(|(of, _)| *of == id);
            let resized = values.iter().any(|(of, _)| *of == species.compartment);
            let of_amount = primary(&self.symbols, id) == amount(id);
            if is_set && of_amount || resized && !of_amount {
                needed.push(species.compartment.clone());
                needed.push(primary(&self.symbols, id));
            }
        }
        if needed.is_empty() || event.delay.is_some() {
            return !needed.is_empty();
        }
        let start = Start::of(&self.quantities, &[], &model.functions);
        let reads = start.reads(&Math::Apply(Op::Plus, needed.into_iter().map(Math::name).collect()));
        let others = model.events.iter().filter(|other| !std::ptr::eq(*other, event));
        let mut set = others.flat_map(|other| &other.assignments);
        set.any(|a| reads.contains(primary(&self.symbols, &a.variable).as_str()))
    }
}

/// The id of an event, or a name for one without.
fn own_name(event: &Event, number: usize) -> String {
    if event.base.id.is_empty() { format!("event_{}", number + 1) } else { event.base.id.clone() }
}
