//! Events of a bound model: one for each element of each statement, with the positions of the values that they read.

use odec_ir::Span;
use odec_ir::layout::Layout;
use odec_ir::switch::{EventCause, Events};
use odec_ir::{ArrayId, Program, Role};
use odec_ode::hybrid::resolution;
use odec_ode::hybrid::{Edge, Event, Times, Trigger, Write, WriteTarget};

use super::routine::Routine;
use crate::executor::{Execution, UnsuitableProgram};

/// Results that belong to events, compiled and bound.
pub(super) struct Results {
    pub conditions: Routine,
    pub values: Routine,
    pub times: Routine,
    pub initial: Routine,
}

impl Results {
    /// # Errors
    /// A program that cannot be compiled or bound.
    pub fn new(events: &Events, execution: Execution) -> Result<Results, UnsuitableProgram> {
        let made = |program: &Program| Routine::new(program.clone(), execution);
        Ok(Results {
            conditions: made(&events.conditions)?,
            values: made(&events.values)?,
            times: made(&events.times)?,
            initial: made(&events.initial)?,
        })
    }
}

/// Times of a timed event, as indices in the times.
#[derive(Clone, Debug)]
enum When {
    Times(Vec<usize>),
    Every { period: usize, from: Option<usize>, until: Option<usize> },
}

/// Times in one list.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Listed {
    /// These, in ascending order.
    Times(Vec<f64>),
    Every {
        from: f64,
        period: f64,
        until: f64,
    },
}

/// Events of all statements.
#[derive(Debug, Default)]
pub(super) struct EventTable {
    pub events: Vec<Event>,
    /// Statement and element of each.
    of: Vec<(usize, usize)>,
    /// Its condition.
    pub conditions: Vec<Option<usize>>,
    /// The positions of its assignments in the values.
    pub slots: Vec<Vec<usize>>,
    /// Delay and priority, in the values.
    pub delays: Vec<Option<usize>>,
    pub priorities: Vec<Option<usize>>,
    lists: Vec<(usize, When)>,
    /// For each initial value of a discrete, its positions in the initial values, and the position of the first one
    /// among the discretes.
    starts: Vec<(std::ops::Range<usize>, usize)>,
    /// For each bound of the model, the positions of its values in the initial values.
    pub bounds: Vec<std::ops::Range<usize>>,
}

impl EventTable {
    /// The events of a bound program; `start` is the position of the discretes in its parameter buffer.
    pub fn of(events: &Events, results: &Results, program: &Program, layout: &Layout, start: usize) -> EventTable {
        let mut all = EventTable::default();
        // of each statement the number of its first event
        let mut firsts = Vec::with_capacity(events.list.len());
        let mut number = 0;
        for statement in &events.list {
            firsts.push(number);
            number += statement.writes.len();
        }
        for (k, statement) in events.list.iter().enumerate() {
            for (element, writes) in statement.writes.iter().enumerate() {
                let value = |array: ArrayId| results.values.places(array).start;
                let time = |array: ArrayId| results.times.places(array).start + element;
                let mut condition = None;
                let mut event = Event::when(writes.iter().map(|w| write(program, layout, start, w)).collect());
                match &statement.cause {
                    EventCause::Condition { condition: array, crossing, from_start, rest } => {
                        condition = Some(results.conditions.places(*array).start + element);
                        event.trigger = Trigger::Condition(if *crossing { Edge::Both } else { Edge::Rising });
                        event.from_start = *from_start;
                        event.rest = rest.map(|statement| firsts[statement] + element);
                    }
                    EventCause::Times(times) => {
                        event.trigger = Trigger::Times(all.lists.len());
                        let times = times.iter().map(|&array| time(array)).collect();
                        all.lists.push((all.events.len(), When::Times(times)));
                    }
                    EventCause::Every { period, from, until } => {
                        event.trigger = Trigger::Times(all.lists.len());
                        let (from, until) = (from.map(time), until.map(time));
                        all.lists.push((all.events.len(), When::Every { period: time(*period), from, until }));
                    }
                    EventCause::Rest => event.trigger = Trigger::Rest,
                }
                (event.late, event.cancel, event.stops) = (statement.late, statement.cancel, statement.stops);
                event.alone = statement.alone;
                all.events.push(event);
                all.of.push((k, element));
                all.conditions.push(condition);
                all.slots.push(writes.iter().map(|w| value(w.value) + w.from as usize).collect());
                all.delays.push(statement.delay.map(|array| value(array) + element));
                all.priorities.push(statement.priority.map(|array| value(array) + element));
            }
        }
        for &(result, discrete) in &events.starts {
            all.starts.push((results.initial.places(result), layout.parameter(discrete) - start));
        }
        all.bounds = events.bounds.iter().map(|bound| results.initial.places(bound.value)).collect();
        all
    }

    /// For each list of times, its event.
    pub fn timed(&self) -> impl Iterator<Item = usize> {
        self.lists.iter().map(|list| list.0)
    }

    /// Number of lists of times.
    pub fn lists(&self) -> usize {
        self.lists.len()
    }

    /// The event that a list belongs to.
    pub fn of_list(&self, list: usize) -> Option<usize> {
        self.lists.get(list).map(|(event, _)| *event)
    }

    /// Moves the numbers of the lists behind those of other lists.
    pub fn shift_lists(&mut self, by: usize) {
        for event in &mut self.events {
            if let Trigger::Times(list) = &mut event.trigger {
                *list += by;
            }
        }
    }

    /// Makes the lists from the values of the times; returns the first event with invalid times.
    pub fn list(&self, times: &[f64], lists: &mut Vec<Listed>) -> Option<usize> {
        lists.clear();
        let mut wrong = None;
        for (event, when) in &self.lists {
            let (listed, sound) = when.listed(times);
            if !sound {
                wrong = wrong.or(Some(*event));
            }
            lists.push(listed);
        }
        wrong
    }

    /// Derivatives of the lists, from the derivatives of the times; a list keeps the order of its times.
    pub fn derived(&self, times: &[f64], by: &[f64]) -> Vec<Listed> {
        self.lists.iter().map(|(_, when)| when.derived(times, by)).collect()
    }

    /// Discretes at the start.
    pub fn start(&self, initial: &[f64], discretes: &mut [f64]) {
        for (places, at) in &self.starts {
            discretes[*at..*at + places.len()].copy_from_slice(&initial[places.clone()]);
        }
    }

    /// Statement of an event, and the values of its indices.
    pub fn origin(&self, event: usize, events: &Events) -> Option<(usize, Vec<i64>)> {
        let &(statement, element) = self.of.get(event)?;
        let mut rest = element as i64;
        let mut at: Vec<i64> = Vec::new();
        for (first, last) in events.list[statement].ranges.iter().rev() {
            let width = (last - first + 1).max(1);
            at.push(first + rest % width);
            rest /= width;
        }
        at.reverse();
        Some((statement, at))
    }

    /// The action of an event that writes something.
    pub fn write_span(&self, event: usize, target: WriteTarget, events: &Events) -> Option<Span> {
        let &(statement, element) = self.of.get(event)?;
        let at = self.events[event].writes.iter().position(|write| write.target == target && !write.adds)?;
        Some(events.list[statement].writes[element][at].span)
    }

    /// The action that a write of an event belongs to.
    pub fn action_span(&self, event: usize, write: usize, events: &Events) -> Option<Span> {
        let &(statement, element) = self.of.get(event)?;
        Some(events.list[statement].writes[element].get(write)?.span)
    }

    /// Source location of the head of an event.
    pub fn span(&self, event: usize, events: &Events) -> Option<Span> {
        self.of.get(event).map(|of| events.list[of.0].span)
    }
}

impl When {
    /// Derivatives of the list.
    fn derived(&self, times: &[f64], by: &[f64]) -> Listed {
        match self {
            When::Times(places) => {
                let pairs = places.iter().map(|&at| (times[at], by[at])).collect();
                Listed::Times(in_order(pairs).into_iter().map(|pair| pair.1).collect())
            }
            When::Every { period, from, .. } => {
                Listed::Every { from: from.map_or(0.0, |at| by[at]), period: by[*period], until: 0.0 }
            }
        }
    }

    /// Returns the list and whether it is valid.
    fn listed(&self, times: &[f64]) -> (Listed, bool) {
        match self {
            When::Times(places) => {
                let mut list: Vec<f64> = places.iter().map(|&at| times[at]).collect();
                let sound = list.iter().all(|time| !time.is_nan());
                list.retain(|time| time.is_finite());
                list.sort_unstable_by(f64::total_cmp);
                (Listed::Times(list), sound)
            }
            When::Every { period, from, until } => {
                let period = times[*period];
                let from = from.map_or(0.0, |at| times[at]);
                // no time coincides with the end within rounding: such times count as the end
                let until = until.map_or(f64::INFINITY, |at| times[at] - 2.25 * resolution(times[at]));
                let sound = period > 0.0 && period.is_finite() && from.is_finite() && !until.is_nan();
                let listed = if sound && from <= until {
                    Listed::Every { from, period, until }
                } else {
                    Listed::Times(Vec::new())
                };
                (listed, sound)
            }
        }
    }
}

/// Relative difference below which two derivatives of one time count as equal.
const AGREE: f64 = 1e-9;

/// Derivatives of times in ascending order, from pairs of time and derivative. The result is NaN where two times that
/// are equal within rounding have different derivatives.
pub(super) fn in_order(mut pairs: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    pairs.retain(|(time, _)| time.is_finite());
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut first = 0;
    for k in 1..=pairs.len() {
        let goes_on = pairs.get(k).is_some_and(|next| next.0 - pairs[k - 1].0 <= resolution(next.0));
        if !goes_on {
            let group = &mut pairs[first..k];
            if group.iter().any(|pair| (pair.1 - group[0].1).abs() > AGREE * pair.1.abs()) {
                for pair in group.iter_mut() {
                    pair.1 = f64::NAN;
                }
            }
            first = k;
        }
    }
    pairs
}

impl Listed {
    /// The derivative of the time of a number, of a list of derivatives.
    pub fn by(&self, number: u64) -> Option<f64> {
        match self {
            Listed::Times(list) => list.get(usize::try_from(number).ok()?).copied(),
            Listed::Every { from, period, .. } => Some(from + number as f64 * period),
        }
    }

    /// Times in the form that the solver expects.
    pub fn times(&self) -> Times<'_> {
        match self {
            Listed::Times(list) => Times::List(list),
            Listed::Every { from, period, until } => Times::Every { from: *from, period: *period, until: *until },
        }
    }
}

fn write(program: &Program, layout: &Layout, start: usize, write: &odec_ir::switch::ArrayWrite) -> Write {
    let array = &program.arrays[write.target.0 as usize];
    let target = match array.role {
        Role::Discrete => WriteTarget::Discrete(layout.parameter(write.target) - start + write.at as usize),
        _ => WriteTarget::State(layout.state(write.target) + write.at as usize),
    };
    Write { target, adds: write.adds }
}
