//! Finds the events whose order at one instant matters, and which odec must therefore execute one after the other. SBML leaves the order of
//! events of equal priority to chance. odec executes them together, so that none sees the effects of another, unless
//! they are `alone`.

use std::collections::{BTreeMap, BTreeSet};

use super::start::{MAX_CHAIN, Start};
use crate::math::{Math, Op};
use crate::plan::PlannedEvent;

/// In a larger set of events, all take turns; in a smaller one, the events are compared one by one.
const MAX_COMPARED: usize = 64;

/// Marks the events of a plan that need rounds of their own.
pub fn mark_ordered_events(start: &Start<'_>, events: &mut [PlannedEvent]) {
    let found = EventOrder::of(start, events).found;
    for k in found {
        events[k].alone = true;
        events[k].late |= !events[k].early;
    }
}

/// Quantities that an event reads, and its time, as far as they are known.
struct Profile<'q> {
    /// Quantities in its condition.
    trigger: BTreeSet<&'q str>,
    /// Quantities read when it is triggered: in condition, delay, and right-hand sides unless it is late.
    before: BTreeSet<&'q str>,
    /// Quantities read when it is executed.
    after: BTreeSet<&'q str>,
    /// Its priority; `None` if it varies.
    rank: Option<f64>,
    /// Its time; `None` if it is not known.
    instant: Option<f64>,
}

struct EventOrder<'q> {
    profiles: Vec<Profile<'q>>,
    writers: BTreeMap<String, BTreeSet<usize>>,
    found: BTreeSet<usize>,
}

impl<'q> EventOrder<'q> {
    fn of(start: &Start<'q>, events: &[PlannedEvent]) -> EventOrder<'q> {
        let mut writers: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        for (k, event) in events.iter().enumerate() {
            for (key, _) in &event.actions {
                writers.entry(key.clone()).or_default().insert(k);
            }
        }
        let profiles = events.iter().map(|event| profile(start, event)).collect();
        let mut turns = EventOrder { profiles, writers, found: BTreeSet::new() };
        // two events that set the same quantity
        for set in turns.writers.values().cloned().collect::<Vec<_>>() {
            turns.mark(set);
        }
        for (k, event) in events.iter().enumerate() {
            let profile = &turns.profiles[k];
            let (on_trigger, on_before) = (turns.writing(&profile.trigger), turns.writing(&profile.before));
            let on_after = turns.writing(&profile.after);
            // one event makes this condition true, and another one changes what this event then reads
            if !on_trigger.is_empty() {
                turns.mark(on_trigger.union(&on_before).copied().collect());
            }
            // another event changes what this one reads at its execution, or cancels it
            let mut with = on_after;
            if event.cancel {
                with.extend(on_trigger);
            }
            turns.mark_with(k, with);
        }
        turns
    }

    /// The events that set any of these quantities.
    fn writing(&self, keys: &BTreeSet<&str>) -> BTreeSet<usize> {
        keys.iter().filter_map(|key| self.writers.get(*key)).flatten().copied().collect()
    }

    /// Marks the events of a set that may be due together with another one of the set.
    fn mark(&mut self, set: BTreeSet<usize>) {
        if set.len() > MAX_COMPARED {
            self.found.extend(set);
            return;
        }
        for &k in &set {
            let meets = set.iter().any(|&other| other != k && self.may_meet(k, other));
            if meets {
                self.found.insert(k);
            }
        }
    }

    /// Marks an event and the others that may be due together with it.
    fn mark_with(&mut self, event: usize, others: BTreeSet<usize>) {
        for other in others {
            if other != event && self.may_meet(event, other) {
                self.found.extend([event, other]);
            }
        }
    }

    /// True unless two events have different priorities or different times.
    fn may_meet(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.profiles[a], &self.profiles[b]);
        let differ = |a: Option<f64>, b: Option<f64>| a.zip(b).is_some_and(|(a, b)| a != b);
        !differ(a.rank, b.rank) && !differ(a.instant, b.instant)
    }
}

fn profile<'q>(start: &Start<'q>, event: &PlannedEvent) -> Profile<'q> {
    let values = event.actions.iter().map(|(_, math)| start.reads(math)).fold(BTreeSet::new(), union);
    let trigger = start.reads(&event.trigger);
    let mut before = trigger.clone();
    before.extend(event.delay.iter().flat_map(|delay| start.reads(delay)));
    let mut after = BTreeSet::new();
    if event.early {
        before.extend(values);
    } else {
        after = values;
    }
    let constant = |math: &Math| start.value(math, MAX_CHAIN).filter(|known| !known.1 && start.is_fixed(math));
    let delay = event.delay.as_ref().map_or(Some(0.0), |delay| constant(delay).map(|known| known.0));
    let instant = time_of(&event.trigger).and_then(constant).zip(delay).map(|(known, delay)| known.0 + delay);
    let rank = event.priority.as_ref().map_or(Some(0.0), |priority| constant(priority).map(|known| known.0));
    Profile { trigger, before, after, rank, instant }
}

fn union<'q>(mut all: BTreeSet<&'q str>, more: BTreeSet<&'q str>) -> BTreeSet<&'q str> {
    all.extend(more);
    all
}

/// The time from which on a condition is true, if it has this form.
fn time_of(trigger: &Math) -> Option<&Math> {
    match trigger {
        Math::Apply(Op::Compare(">" | ">="), list) => match list.as_slice() {
            [Math::Time(_), time] => Some(time),
            _ => None,
        },
        Math::Apply(Op::Compare("<" | "<="), list) => match list.as_slice() {
            [time, Math::Time(_)] => Some(time),
            _ => None,
        },
        _ => None,
    }
}
