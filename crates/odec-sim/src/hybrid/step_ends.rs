//! All switches of a model: times that are known before a run, and surfaces that a run locates, each with its source
//! location.

use odec_ir::switch::{Break, EventCause};
use odec_ir::{ArrayId, Span};

use super::Located;
use super::events::Listed;
use super::pieces::PassedKnots;

/// Something that ends a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepEnd {
    /// Source location.
    pub place: Span,
    /// Its kind.
    pub kind: StepEndKind,
}

/// The kinds of things that end a step.
#[derive(Clone, Debug, PartialEq)]
pub enum StepEndKind {
    /// A condition on time alone changes at these times.
    Times(Vec<f64>),
    /// A condition on time alone changes at one of these times, and whole periods before and after it.
    Every {
        /// One of the times.
        at: f64,
        /// The period.
        period: f64,
    },
    /// The argument of an input, which depends only on time, passes the knots of the input.
    Knots {
        /// Times, without periodic repetitions.
        times: Vec<f64>,
        /// Period of the times.
        period: Option<f64>,
    },
    /// A comparison that a run locates; its number of elements.
    Surface(usize),
    /// An event with a condition; its number of elements.
    Condition(usize),
    /// An event occurs at these times.
    Event(Vec<f64>),
    /// An event occurs at a time and after each period, before an end.
    Repeated {
        /// The first time.
        from: f64,
        /// The period.
        period: f64,
        /// End of the times, exclusive; may be infinite.
        until: f64,
    },
}

impl Located {
    /// Everything that ends a step of a run that begins at `t0`, in the order of the text.
    pub fn found(&mut self, t0: f64, y: &[f64]) -> Vec<StepEnd> {
        self.begin((t0, t0 + 1.0), y);
        let mut list = self.known();
        list.extend(self.surfaces());
        list.extend(self.event_stops());
        list.sort_by_key(|found| (found.place.start, found.place.end));
        list.dedup();
        list
    }

    /// Conditions and inputs that depend only on time.
    fn known(&self) -> Vec<StepEnd> {
        let mut facts = vec![0.0; self.code.facts.len()];
        self.code.facts.run(0.0, &self.still, self.executor.parameters(), &self.still, &mut facts);
        let values = |array: ArrayId| facts[self.code.facts.places(array)].iter().copied();
        let mut list: Vec<StepEnd> = Vec::new();
        let mut curves = self.curves.iter();
        for timed in &self.code.switching.timed {
            let mut once: Vec<f64> = Vec::new();
            for times in &timed.breaks {
                match *times {
                    Break::Once(time) => once.extend(values(time).filter(|t| t.is_finite())),
                    Break::Every(time, period) => {
                        let pairs = values(time).zip(values(period)).filter(|(at, p)| at.is_finite() && *p != 0.0);
                        let every = pairs.map(|(at, period)| StepEndKind::Every { at, period: period.abs() });
                        list.extend(every.map(|kind| StepEnd { place: timed.span, kind }));
                    }
                    Break::Knots { at_zero, .. } => {
                        let elements = match timed.exists {
                            Some(exists) => values(exists).filter(|there| *there != 0.0).count(),
                            None => values(at_zero).count(),
                        };
                        let own = curves.by_ref().take(elements);
                        list.extend(own.map(PassedKnots::kind).map(|kind| StepEnd { place: timed.span, kind }));
                    }
                }
            }
            if !once.is_empty() {
                list.push(StepEnd { place: timed.span, kind: StepEndKind::Times(once) });
            }
        }
        joined(list)
    }

    /// Relations; the two relations of a sign, or those of a counter, count as one.
    fn surfaces(&self) -> Vec<StepEnd> {
        let mut list: Vec<StepEnd> = Vec::new();
        for (k, relation) in self.code.switching.relations.iter().enumerate() {
            let elements = self.places.of.iter().filter(|of| **of == k).count();
            let known = list.iter_mut().find(|found| found.place == relation.span);
            match known.map(|found| &mut found.kind) {
                Some(StepEndKind::Surface(most)) => *most = elements.max(*most),
                _ => list.push(StepEnd { place: relation.span, kind: StepEndKind::Surface(elements) }),
            }
        }
        list
    }

    /// The events of the model.
    fn event_stops(&self) -> Vec<StepEnd> {
        let mut list: Vec<StepEnd> = Vec::new();
        for statement in &self.code.switching.events.list {
            if let EventCause::Condition { .. } = statement.cause {
                list.push(StepEnd { place: statement.span, kind: StepEndKind::Condition(statement.writes.len()) });
            }
        }
        for (event, times) in self.places.event_table.timed().zip(&self.listed) {
            let Some(place) = self.event_span(event) else { continue };
            let kind = match times {
                Listed::Times(times) => StepEndKind::Event(times.clone()),
                Listed::Every { from, period, until } => {
                    StepEndKind::Repeated { from: *from, period: *period, until: *until }
                }
            };
            list.push(StepEnd { place, kind });
        }
        joined(list)
    }
}

/// Merges the times of one source location into one list.
fn joined(list: Vec<StepEnd>) -> Vec<StepEnd> {
    let mut all: Vec<StepEnd> = Vec::new();
    for found in list {
        let same = |before: &&mut StepEnd| {
            before.place == found.place && std::mem::discriminant(&before.kind) == std::mem::discriminant(&found.kind)
        };
        match (all.iter_mut().find(same).map(|before| &mut before.kind), &found.kind) {
            (
                Some(StepEndKind::Times(before) | StepEndKind::Event(before)),
                StepEndKind::Times(times) | StepEndKind::Event(times),
            ) => {
                before.extend(times);
                before.sort_unstable_by(f64::total_cmp);
                before.dedup();
            }
            _ => all.push(found),
        }
    }
    all
}
