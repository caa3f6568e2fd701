//! The positions of relations, modes, counters and times of a bound model: one of each for every element.

use std::sync::OnceLock;

use odec_ir::nest::{Affine, AxisId};
use odec_ir::switch::{self, Break, Knots, Place, Switching};
use odec_ir::{ArrayId, Layout, Program, Span};
use odec_ode::hybrid::{Derived, Event, Relation, Write};

use super::ModeCode;
use super::derived;
use super::events::EventTable;
use super::states_read::StateSet;

/// A relation.
#[derive(Clone, Debug)]
pub(super) struct Compared {
    /// Index of its sides in the results of the sides, and of its rate in the results of the rates.
    pub left: usize,
    pub right: usize,
    pub rate: usize,
    /// Positions of the values that tell whether it is read (if one of them is nonzero); `None` if it is always read.
    pub reads: Option<Vec<usize>>,
    /// Its mode in the parameter buffer, if the kernels read it.
    pub mode: Option<usize>,
}

/// A value that changes at known times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    pub mode: usize,
    pub value: usize,
    /// If the value is the number of a piece, the index in [`Places::passing`] that it follows.
    pub piece: Option<usize>,
}

/// The knots of a curve, as an argument of time passes them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passing {
    /// Position of the knots.
    pub knots: Table,
    /// The argument at time 0 and its slope, in the facts.
    pub at_zero: usize,
    pub slope: usize,
}

/// Knots in the parameter buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub start: usize,
    pub length: usize,
    pub periodic: bool,
    pub jumps: bool,
}

/// Times, as indices in the facts.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    Once(usize),
    Every(usize, usize),
}

/// Integer below a quantity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    /// It is the number of a piece between these knots.
    pub knots: Option<Table>,
    /// n, the lower and the upper end, among the discretes.
    pub discretes: [usize; 3],
    /// Relations that tell that the quantity has left the interval.
    pub up: usize,
    pub down: usize,
}

/// A sum of states and time.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    pub terms: Vec<(u32, usize)>,
    pub time: Option<usize>,
}

/// Positions in a bound model.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub relations: Vec<Relation>,
    pub compared: Vec<Compared>,
    pub timed: Vec<Timed>,
    pub times: Vec<At>,
    /// Curves whose argument depends only on time.
    pub passing: Vec<Passing>,
    /// Number of the periodic times.
    pub every: usize,
    pub counted: Vec<Counted>,
    /// Events of the model, with the positions of the values that they read.
    pub event_table: EventTable,
    /// Events of the model, then for each counter an event for an increase and one for a decrease.
    pub events: Vec<Event>,
    /// For each relation, the rows of its states, the positions of their coefficients in the facts, and that of the
    /// coefficient of time; `None` if it is not such a sum.
    pub sums: Vec<Option<Sum>>,
    /// For each relation, its index in the relations of the program.
    pub of: Vec<usize>,
    /// Discretes in the parameter buffer.
    pub discretes: std::ops::Range<usize>,
    /// Derivatives of states and discretes, of a run with sensitivities.
    pub derived: Option<Derived>,
    /// The states that each relation reads, once they are needed; `None` if they are not known.
    pub states_read: OnceLock<Option<Vec<StateSet>>>,
}

impl Places {
    /// Positions in a bound model. `facts` are the facts of its extents.
    pub fn of(code: &ModeCode, program: &Program, layout: &Layout, facts: &[f64]) -> Places {
        let Switching { relations, counters, timed, .. } = &code.switching;
        let start = layout.p_len() - layout.modes - layout.discretes;
        let mut places = Places { discretes: start..start + layout.discretes, ..Places::default() };
        places.derived = derived::places(&code.switching, program, layout);
        let events = &code.switching.events;
        places.event_table = EventTable::of(events, &code.event_results, program, layout, start);
        places.events.clone_from(&places.event_table.events);
        // for each relation, the number of each element that exists
        let mut numbers: Vec<Vec<Option<usize>>> = Vec::with_capacity(relations.len());
        for (k, relation) in relations.iter().enumerate() {
            let elements = layout.len(relation.left);
            let there = there(code, facts, relation.exists, elements);
            numbers.push(there.iter().map(|there| there.then(|| places.add(code, layout, (k, relation)))).collect());
            // elements are added in order, so that the number of each is known
            let added = numbers[k].iter().enumerate().filter_map(|(i, number)| number.map(|number| (i, number)));
            for (i, number) in added.collect::<Vec<_>>() {
                let at = &mut places.compared[number];
                at.left += i;
                at.right += i;
                at.rate += i;
                at.reads.iter_mut().flatten().for_each(|read| *read += i);
                at.mode = at.mode.map(|mode| mode + i);
                let axes = &program.arrays[relation.left.0 as usize].axes;
                let sum = relation.linear.as_ref().and_then(|linear| {
                    let at = indices(axes, program, i)?;
                    sum(linear, code, (program, layout), (i, &at))
                });
                places.sums.push(sum);
            }
        }
        for timed in timed {
            let elements = layout.len(timed.mode);
            for (i, _) in there(code, facts, timed.exists, elements).iter().enumerate().filter(|(_, there)| **there) {
                let (mode, value) = (layout.parameter(timed.mode) + i, code.values.places(timed.value).start + i);
                let fact = |array: ArrayId| code.facts.places(array).start + i;
                let mut piece = None;
                for times in &timed.breaks {
                    match *times {
                        Break::Knots { knots, at_zero, slope } => {
                            piece = Some(places.passing.len());
                            let (at_zero, slope) = (fact(at_zero), fact(slope));
                            places.passing.push(Passing { knots: table(knots, layout), at_zero, slope });
                        }
                        Break::Once(time) => places.times.push(At::Once(fact(time))),
                        Break::Every(time, period) => places.times.push(At::Every(fact(time), fact(period))),
                    }
                }
                places.timed.push(Timed { mode, value, piece });
            }
        }
        for counter in counters {
            for (i, ends) in numbers[counter.up].iter().zip(&numbers[counter.down]).enumerate() {
                let (Some(up), Some(down)) = (*ends.0, *ends.1) else { continue };
                let discretes = counter.discretes.map(|array| layout.parameter(array) - start + i);
                let writes: Vec<Write> = discretes.iter().map(|at| Write::discrete(*at)).collect();
                // a counter that is beyond an end from the start follows at the start
                let event = Event { may_accumulate: false, from_start: true, ..Event::when(writes) };
                places.events.extend([event.clone(), event]);
                let knots = counter.knots.map(|knots| table(knots, layout));
                places.counted.push(Counted { knots, discretes, up, down });
            }
        }
        if let Some(derived) = &mut places.derived {
            derived.bends = places.of.iter().map(|&k| relations[k].bends).collect();
        }
        places.every = places.times.iter().filter(|at| matches!(at, At::Every(..))).count();
        if places.lists() > 0 {
            // the lists of the modes precede those of events
            places.event_table.shift_lists(places.lists());
            let model = places.event_table.events.clone();
            places.events.splice(..model.len(), model);
        }
        places
    }

    /// The states that a relation reads; `None` if they are not known, or many.
    pub fn states_read(&self, code: &ModeCode, (n, p): (usize, &[f64]), relation: usize) -> Option<&[u32]> {
        let all = self.states_read.get_or_init(|| {
            let read = code.sides.states_read(n, p)?;
            Some(self.compared.iter().map(|at| read[at.left].and(read[at.right])).collect())
        });
        all.as_ref()?[relation].rows()
    }

    fn add(&mut self, code: &ModeCode, layout: &Layout, (k, relation): (usize, &switch::ArrayRelation)) -> usize {
        self.relations.push(Relation { or_equal: relation.or_equal });
        self.compared.push(Compared {
            left: code.sides.places(relation.left).start,
            right: code.sides.places(relation.right).start,
            rate: code.rates.places(relation.rate).start,
            mode: relation.mode.map(|mode| layout.parameter(mode)),
            reads: relation
                .reads
                .as_ref()
                .map(|reads| reads.iter().map(|read| code.reads.places(*read).start).collect()),
        });
        self.of.push(k);
        self.relations.len() - 1
    }

    /// Number of lists of the times at which modes change: one for times that occur once, one per period, one per curve.
    pub fn lists(&self) -> usize {
        if self.times.is_empty() && self.passing.is_empty() { 0 } else { self.curves() + self.passing.len() }
    }

    /// The list of the first curve.
    pub fn curves(&self) -> usize {
        1 + self.every
    }

    /// The indices of the element that a relation compares, with their names; none for a scalar.
    pub fn element(&self, code: &ModeCode, program: &Program, relation: usize) -> Option<Vec<(String, i64)>> {
        let of = &code.switching.relations[*self.of.get(relation)?];
        let axes = &program.arrays[of.left.0 as usize].axes;
        let element = self.compared[relation].left - code.sides.places(of.left).start;
        let at = indices(axes, program, element)?;
        Some(axes.iter().zip(at).map(|(axis, at)| (program.axes[axis.0 as usize].name.clone(), at)).collect())
    }

    /// Source location of a relation.
    pub fn span(&self, code: &ModeCode, relation: usize) -> Option<Span> {
        Some(code.switching.relations[*self.of.get(relation)?].span)
    }
}

/// Knots in the parameter buffer.
fn table(knots: Knots, layout: &Layout) -> Table {
    let Knots { table, length, periodic, jumps } = knots;
    Table { start: layout.parameter(table), length, periodic, jumps }
}

/// The sum of an element with these indices; `None` if it reads a state beyond its axis.
fn sum(linear: &switch::Linear, code: &ModeCode, of: (&Program, &Layout), (i, at): (usize, &[i64])) -> Option<Sum> {
    let fact = |array: ArrayId| code.facts.places(array).start + i;
    let term = |(place, array): &(Place, ArrayId)| Some((row(place, of, at)? as u32, fact(*array)));
    let terms = linear.terms.iter().map(term).collect::<Option<_>>()?;
    Some(Sum { terms, time: linear.time.map(fact) })
}

/// First and last index of an axis.
fn ends(axis: AxisId, program: &Program) -> Option<(i64, i64)> {
    let axis = &program.axes[axis.0 as usize];
    Some((axis.first.value(&program.extents)?, axis.last.value(&program.extents)?))
}

/// The indices of an element of an array with these axes.
fn indices(axes: &[AxisId], program: &Program, element: usize) -> Option<Vec<i64>> {
    let mut at = vec![0; axes.len()];
    let mut rest = element as i64;
    for (at, axis) in at.iter_mut().zip(axes).rev() {
        let (first, last) = ends(*axis, program)?;
        let length = last - first + 1;
        (*at, rest) = (first + rest % length, rest / length);
    }
    Some(at)
}

/// The row of a state that a relation with these indices reads; `None` beyond its axis.
fn row(place: &Place, (program, layout): (&Program, &Layout), at: &[i64]) -> Option<usize> {
    let axes = &program.arrays[place.array.0 as usize].axes;
    let mut element = 0;
    for (sub, axis) in place.subs.iter().zip(axes) {
        let (first, last) = ends(*axis, program)?;
        let constant = Affine { loops: Vec::new(), ..sub.clone() }.value(&program.extents)?;
        let index = sub.loops.iter().fold(constant, |sum, (axis, c)| sum + c * at[axis.0 as usize]);
        if !(first..=last).contains(&index) {
            return None;
        }
        element = element * (last - first + 1) + (index - first);
    }
    Some(layout.state(place.array) + element as usize)
}

/// Tells which elements exist.
fn there(code: &ModeCode, facts: &[f64], exists: Option<ArrayId>, elements: usize) -> Vec<bool> {
    match exists {
        Some(array) => facts[code.facts.places(array)].iter().map(|there| *there != 0.0).collect(),
        None => vec![true; elements],
    }
}
