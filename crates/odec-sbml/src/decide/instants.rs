//! Triggers that compare with `=` or `!=`. Two continuous quantities are equal only for an instant, when one passes the
//! other. SBML executes an event of `x = 2` at this instant, and one of `x != 2` just after it, which is the same
//! instant. So both become the crossing `x == 2`.
//!
//! odec detects no crossing at the start. If SBML executes the event there, the text contains it twice.

use std::collections::{BTreeMap, BTreeSet};

use odec_lang::diagnostic::codes;

use crate::math::{Math, Op};
use crate::model::Function;
use crate::plan::{Plan, PlannedEvent, Quantity, Role, Section};
use crate::report::Report;
use crate::write::steady::Steady;

/// The trigger without `not` before an equality.
pub fn plain(trigger: Math) -> Math {
    let Math::Apply(Op::Not, list) = &trigger else { return trigger };
    match list.as_slice() {
        [Math::Apply(Op::Compare("=="), sides)] if sides.len() == 2 => Math::Apply(Op::Compare("!="), sides.clone()),
        [Math::Apply(Op::Compare("!="), sides)] => Math::Apply(Op::Compare("=="), sides.clone()),
        [Math::Apply(Op::Not, inner)] if inner.len() == 1 && inner[0].is_logical() => plain(inner[0].clone()),
        _ => trigger,
    }
}

/// Replaces the triggers that are such comparisons, and warns of such comparisons in other triggers.
pub fn settle(plan: &mut Plan, report: &mut Report) {
    let mut made: Vec<Option<Vec<PlannedEvent>>> = vec![];
    let mut kept: Vec<Quantity> = vec![];
    let steady = Steady::of(plan);
    let definitions = plan.quantities.iter().filter_map(|quantity| match &quantity.role {
        Role::Defined(math) => Some((quantity.key.as_str(), math)),
        _ => None,
    });
    let search = Search {
        definitions: definitions.collect(),
        functions: plan.functions.iter().map(|function| (function.base.id.as_str(), function)).collect(),
        steady: &steady,
    };
    for (number, event) in plan.events.iter().enumerate() {
        let brief = passing(&event.trigger, &steady);
        if brief.is_none() && search.finds(&event.trigger) {
            let headline = "this trigger compares continuous quantities with `=` or `!=` inside a larger condition";
            let label = "odec does not notice the instant at which they are equal";
            report.warning(&codes::W0805, headline, event.span, label);
        }
        let Some((sign, sides)) = brief else {
            made.push(None);
            continue;
        };
        if event.cancel && event.delay.is_some() {
            let headline = "the trigger of this event compares continuous quantities with `=` or `!=`";
            let label = "its delay begins and is cancelled at the same instant";
            report.error(&codes::E0808, headline, event.span, label);
        }
        let crossing = Math::Apply(Op::Compare("=="), sides.to_vec());
        let later = PlannedEvent { trigger: crossing.clone(), from_start: false, cancel: false, ..event.clone() };
        let at_start = match (sign, event.from_start) {
            ("==", false) => None,
            ("!=", true) => Some(Math::Number(1.0)),
            // an equality that holds at the start, or an inequality that begins to hold right after it
            _ => {
                let pieces = vec![(Math::Number(1.0), crossing)];
                Some(Math::Piecewise(pieces, Some(Box::new(Math::Number(0.0)))))
            }
        };
        let mut both = vec![later];
        if let Some(value) = at_start {
            let key = format!("event_{}.at_start", number + 1);
            let trigger = Math::Apply(Op::Compare(">"), vec![Math::name(&key), Math::Number(0.0)]);
            let title = if event.title.is_empty() { String::new() } else { format!("{}, at the start", event.title) };
            both.insert(0, PlannedEvent { title, trigger, from_start: true, cancel: false, ..event.clone() });
            let note = Some("1 if the event happens at the start".to_string());
            let role = Role::Discrete(value);
            kept.push(Quantity { key, role, section: Section::Kept, note, by_arrows: false });
        }
        made.push(Some(both));
    }
    let events = std::mem::take(&mut plan.events);
    plan.events = events.into_iter().zip(made).flat_map(|(event, made)| made.unwrap_or_else(|| vec![event])).collect();
    plan.quantities.extend(kept);
}

/// The sign and the sides of a comparison of two continuous quantities.
fn passing<'m>(trigger: &'m Math, steady: &Steady<'_>) -> Option<(&'static str, &'m [Math])> {
    match trigger {
        Math::Apply(Op::Compare(sign @ ("==" | "!=")), sides)
            if sides.len() == 2 && !sides.iter().all(|side| steady.holds(side, &[])) =>
        {
            Some((*sign, sides))
        }
        _ => None,
    }
}

/// The search for such comparisons in a larger condition.
struct Search<'p> {
    definitions: BTreeMap<&'p str, &'p Math>,
    functions: BTreeMap<&'p str, &'p Function>,
    steady: &'p Steady<'p>,
}

impl Search<'_> {
    /// True if one is part of the trigger, of a function that it calls, or of a definition that it reads.
    fn finds(&self, trigger: &Math) -> bool {
        let (mut found, mut seen) = (false, BTreeSet::new());
        let mut open: Vec<(&Math, &[String])> = vec![(trigger, &[])];
        while let Some((math, arguments)) = open.pop() {
            math.visit(&mut |m| match m {
                Math::Apply(Op::Compare("==" | "!="), sides) => {
                    found |= !sides.iter().all(|side| self.steady.holds(side, arguments));
                }
                Math::Call(f, ..) if seen.insert(f.as_str()) => {
                    let called = self.functions.get(f.as_str());
                    open.extend(called.map(|function| (&function.body, function.arguments.as_slice())));
                }
                Math::Name(key, _) if seen.insert(key.as_str()) => {
                    let defined: Option<(&Math, &[String])> =
                        self.definitions.get(key.as_str()).map(|math| (*math, &[][..]));
                    open.extend(defined);
                }
                _ => {}
            });
        }
        found
    }
}
