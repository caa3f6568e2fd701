//! Events: what they set, in amounts where amounts are the states.

use odec_ir::Span;
use odec_lang::diagnostic::codes;

use super::start::Start;
use super::symbols::{Kind, Symbol};
use super::{Decider, amount_only, primary};
use crate::math::{Math, Op};
use crate::model::{Event, Species};
use crate::plan::{Happening, amount, concentration};

impl Decider<'_, '_> {
    /// All of them. An event without a trigger never happens, and one that sets nothing changes nothing.
    pub(super) fn events(&mut self) -> Vec<Happening> {
        let model = self.symbols.model;
        let ranked = model.events.iter().any(|event| event.priority.is_some());
        let made: Vec<(&Event, Happening)> =
            model.events.iter().filter_map(|event| Some((event, self.event(event, ranked)?))).collect();
        let start = Start::of(&self.quantities);
        for (event, happening) in &made {
            if start.on_an_edge(&happening.trigger) {
                let headline = "both sides of a comparison in the trigger of an event are equal at the start";
                let label = "whether the event happens there, odec cannot tell as SBML does";
                self.report.error(&codes::E0808, headline, event.base.span, label);
            }
        }
        for event in start.competing(&made) {
            let headline = "events of one priority keep each other from happening, in an order left to chance";
            self.report.error(&codes::E0808, headline, event.base.span, "one of them");
        }
        made.into_iter().map(|(_, happening)| happening).collect()
    }

    fn event(&mut self, event: &Event, ranked: bool) -> Option<Happening> {
        let trigger = self.meaning(event.trigger.as_ref()?);
        if trigger == Math::Bool(false) || event.assignments.is_empty() {
            return None;
        }
        let delay = event.delay.as_ref().map(|math| self.meaning(math));
        let priority = event.priority.as_ref().map(|math| self.meaning(math));
        let mut actions = vec![];
        for assignment in &event.assignments {
            let value = self.meaning(&assignment.math);
            if let Some(action) = self.action(event, &assignment.variable, value, assignment.base.span) {
                actions.push(action);
            }
        }
        actions.extend(self.kept_amounts(event));
        let title = match (event.base.id.as_str(), event.base.name.as_str()) {
            (id, "") => id.to_string(),
            ("", name) => name.to_string(),
            (id, name) if id == name => id.to_string(),
            (id, name) => format!("{id}: {name}"),
        };
        Some(Happening {
            title,
            trigger,
            late: !event.early && (delay.is_some() || ranked),
            cancel: !event.persistent,
            from_start: !event.initially,
            delay,
            priority,
            actions,
        })
    }

    fn action(&mut self, event: &Event, id: &str, value: Math, span: Span) -> Option<(String, Math)> {
        match self.symbols.kind(id) {
            Kind::State | Kind::Kept => {}
            Kind::Unknown => {
                let headline = format!("an event sets `{id}`, which an algebraic rule determines");
                self.report.error(&codes::E0808, headline, span, "odec cannot set it");
                return None;
            }
            Kind::Fixed | Kind::Defined => {
                let headline = format!("both an event and a rule set `{id}`");
                self.report.error(&codes::E0809, headline, span, "the event");
                return None;
            }
        }
        let key = primary(&self.symbols, id);
        match self.symbols.table.get(id).copied() {
            Some(Symbol::Species(species)) if !amount_only(&self.symbols, species) && key == amount(id) => {
                let volume = self.volume_after(event, species, span)?;
                Some((key, value.times(volume)))
            }
            _ => Some((key, value)),
        }
    }

    /// The size of the compartment of a species after an event.
    fn volume_after(&mut self, event: &Event, species: &Species, span: Span) -> Option<Math> {
        let set = event.assignments.iter().find(|a| a.variable == species.compartment);
        if let Some(set) = set {
            return Some(self.meaning(&set.math));
        }
        if event.delay.is_some() && event.early && self.symbols.kind(&species.compartment) != Kind::Fixed {
            let headline = format!(
                "a delayed event sets the concentration of `{}` to a value of its trigger, and its compartment changes",
                species.base.id
            );
            self.report.error(&codes::E0808, headline, span, "odec imports this for constant compartments alone");
            return None;
        }
        Some(self.volume(species))
    }

    /// An event that sets the size of a compartment keeps the amounts in it; where a concentration is the state, it is set.
    fn kept_amounts(&mut self, event: &Event) -> Vec<(String, Math)> {
        let model = self.symbols.model;
        let mut actions = vec![];
        for species in &model.species {
            let id = species.base.id.as_str();
            let Some(set) = event.assignments.iter().find(|a| a.variable == species.compartment) else { continue };
            let stays = self.symbols.kind(id) == Kind::State && primary(&self.symbols, id) == concentration(id);
            if !stays || event.assignments.iter().any(|a| a.variable == id) {
                continue;
            }
            if event.delay.is_some() && event.early {
                let headline =
                    format!("a delayed event sets the compartment of `{id}`, whose concentration has a rate");
                self.report.error(&codes::E0808, headline, set.base.span, "odec does not import this");
                continue;
            }
            let after = self.meaning(&set.math);
            let key = concentration(id);
            let before = Math::Apply(Op::Times, vec![Math::name(&key), self.volume(species)]);
            actions.push((key, before.over(after)));
        }
        actions
    }
}
