//! The C interface of the events of a model: additional functions for modes and the values that events write, and
//! tables that relate their results to events.
//!
//! The functions read modes and discretes from the parameter buffer, where the host writes them. Between two events
//! these are constant, so `f` is smooth.

use super::{BoundForExport, Constant, Content, element_names};
use crate::interpret::{Inputs, Interpreter};
use crate::layout::Layout;
use crate::nest::bind::BindError;
use crate::program::{ArrayId, KernelRole, Program, Role};
use crate::switch::{Break, EventCause, Knots, Switching};

/// A function in addition to [`super::FUNCTIONS`], with the same signature: the `Outputs` kernels of a program.
pub struct EventFunction {
    /// The symbol without `<prefix>_`.
    pub suffix: &'static str,
    /// One line of documentation.
    pub doc: &'static str,
    /// The program.
    pub settled: BoundForExport,
}

/// The part of the C interface for models with events.
pub struct EventInterface {
    /// The functions.
    pub functions: Vec<EventFunction>,
    /// The tables.
    pub constants: Vec<Constant>,
}

impl EventInterface {
    /// The interface of a program with modes.
    ///
    /// # Errors
    /// Extents or tables do not fit the model.
    pub fn of(program: &Program, switching: &Switching) -> Result<EventInterface, BindError> {
        let Tables { functions, constants, .. } = Tables::of(program, switching)?;
        Ok(EventInterface { functions, constants })
    }
}

/// The inputs of the tables.
struct Tables<'a> {
    switching: &'a Switching,
    layout: Layout,
    /// The functions, in the order of the numbers below.
    functions: Vec<EventFunction>,
    constants: Vec<Constant>,
}

/// Numbers of the functions.
const GUARDS: usize = 0;
const RATES: usize = 1;
const CONDITIONS: usize = 2;
const VALUES: usize = 3;
const TIMES: usize = 4;
const TIMED: usize = 5;
const STOPS: usize = 6;
const BEGIN: usize = 7;

impl<'a> Tables<'a> {
    fn of(program: &Program, switching: &'a Switching) -> Result<Tables<'a>, BindError> {
        let events = &switching.events;
        let extra = |suffix, doc, program: &Program| {
            Ok::<_, BindError>(EventFunction { suffix, doc, settled: BoundForExport::of(program)? })
        };
        let functions = vec![
            extra("guards", "out[guard_values] = both sides of all relations", &switching.sides)?,
            extra("rates", "out[rate_values] = rates of left - right along w = y'", &switching.rates)?,
            extra(
                "conditions",
                "out[condition_values] = conditions of events, see event_conditions; reads p",
                &events.conditions,
            )?,
            extra("values", "out[value_values] = right sides, delays and priorities of events", &events.values)?,
            extra("times", "out[time_count] = times of events; reads p", &events.times)?,
            extra(
                "timed",
                "out[timed_count]: out[timed_values[k]] is the value for p[timed_modes[k]]; reads t and p; do not call it near a stop",
                &switching.values,
            )?,
            extra(
                "stops",
                "out[stop_count] = times at which the timed modes change, see stop_once, stop_every; reads p",
                &switching.facts,
            )?,
            extra(
                "begin",
                "out[begin_count]: p[begin_targets[k]] starts from out[begin_values[k]]; reads t and p",
                &events.initial,
            )?,
        ];
        let layout = BoundForExport::of(program)?.layout;
        let mut tables = Tables { switching, layout, functions, constants: Vec::new() };
        let numbers = tables.relations();
        tables.counters(&numbers);
        tables.events();
        tables.discretes(program);
        tables.timed();
        Ok(tables)
    }

    /// The positions of the elements of a result in `out` of a function.
    fn places(&self, extra: usize, array: ArrayId) -> std::ops::Range<usize> {
        let layout = &self.functions[extra].settled.layout;
        let start = layout.output(array);
        start..start + layout.len(array)
    }

    fn list(&mut self, suffix: &'static str, doc: &'static str, list: Vec<usize>) {
        self.signed(suffix, doc, list.into_iter().map(|k| k as i32).collect());
    }

    fn signed(&mut self, suffix: &'static str, doc: &'static str, list: Vec<i32>) {
        self.constants.push(Constant { suffix, doc, content: Content::Integers(list) });
    }

    fn number(&mut self, suffix: &'static str, doc: &'static str, value: usize) {
        self.constants.push(Constant { suffix, doc, content: Content::Integer(value as i32) });
    }

    fn length(&mut self, suffix: &'static str, doc: &'static str, extra: usize) {
        let length = self.functions[extra].settled.layout.outputs_len();
        self.number(suffix, doc, length);
    }

    /// The existing elements; no parameter decides whether they exist.
    fn exist(&self, exists: Option<ArrayId>, elements: usize) -> Vec<bool> {
        let Some(array) = exists else { return vec![true; elements] };
        let BoundForExport { program, layout, bound, .. } = &self.functions[STOPS].settled;
        let (still, mut p) = (vec![0.0; layout.n], vec![0.0; layout.p_len()]);
        let data = self.functions[STOPS].settled.data();
        p[layout.np + layout.staged..][..data.len()].copy_from_slice(&data);
        let mut out = vec![0.0; layout.outputs_len()];
        let inputs = Inputs { t: 0.0, y: &still, p: &p, w: &still };
        Interpreter::new(program).run(program, bound, KernelRole::Outputs, inputs, &mut out);
        out[self.places(STOPS, array)].iter().map(|there| *there != 0.0).collect()
    }

    /// Adds the tables of the relations; returns the number of each element of each relation.
    fn relations(&mut self) -> Vec<Vec<Option<usize>>> {
        let (mut left, mut right, mut rates, mut modes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut or_equal = Vec::new();
        let mut numbers = Vec::with_capacity(self.switching.relations.len());
        for relation in &self.switching.relations {
            let there = self.exist(relation.exists, self.places(GUARDS, relation.left).len());
            let first = left.len();
            let mut known =
                there.iter().scan(first, |next, &there| Some(there.then(|| std::mem::replace(next, *next + 1))));
            numbers.push(known.by_ref().collect());
            for i in (0..there.len()).filter(|&i| there[i]) {
                left.push(self.places(GUARDS, relation.left).start + i);
                right.push(self.places(GUARDS, relation.right).start + i);
                rates.push(self.places(RATES, relation.rate).start + i);
                modes.push(relation.mode.map_or(-1, |mode| (self.layout.parameter(mode) + i) as i32));
                or_equal.push(usize::from(relation.or_equal));
            }
        }
        self.number("relations", "number of relations, of all elements", left.len());
        self.length("guard_values", "length of out of guards", GUARDS);
        self.length("rate_values", "length of out of rates", RATES);
        self.list("guard_left", "the left side of each relation in guards", left);
        self.list("guard_right", "the right side of each relation in guards", right);
        self.list("guard_rates", "the rate of each relation in rates", rates);
        self.signed("guard_modes", "the mode of each relation in p; -1: none", modes);
        self.list("guard_or_equal", "1 if a relation also holds when both sides are equal", or_equal);
        numbers
    }

    /// Adds the tables of counters (whole numbers that follow a quantity), with the numbers of the relations.
    fn counters(&mut self, numbers: &[Vec<Option<usize>>]) {
        let (mut up, mut down, mut places, mut curves) = (Vec::new(), Vec::new(), Vec::new(), Curves::default());
        for counter in &self.switching.counters {
            for (i, ends) in numbers[counter.up].iter().zip(&numbers[counter.down]).enumerate() {
                let (Some(above), Some(below)) = (*ends.0, *ends.1) else { continue };
                up.push(above);
                down.push(below);
                places.extend(counter.discretes.map(|array| self.layout.parameter(array) + i));
                curves.push(counter.knots, &self.layout);
            }
        }
        self.number("counters", "number of integers that follow a quantity u, such as floor(u)", up.len());
        self.list("counter_up", "the relation u >= upper end of each, whose left side is u", up);
        self.list("counter_down", "the relation lower end > u of each", down);
        self.list("counter_places", "three places in p of each: the integer, the lower end, the upper end", places);
        self.signed("counter_knots", "where its knots begin in p; -1: the ends are whole numbers", curves.starts);
        self.list("counter_lengths", "number of knots", curves.lengths);
        self.list("counter_periodic", "1 if the knots repeat periodically", curves.periodic);
    }

    fn events(&mut self) {
        let list = &self.switching.events.list;
        // the number of the first event of each statement
        let firsts: Vec<usize> = list
            .iter()
            .scan(0, |next, statement| Some(std::mem::replace(next, *next + statement.writes.len())))
            .collect();
        let mut table = Columns { writes: vec![0], times: vec![0], ..Columns::default() };
        for (number, statement) in list.iter().enumerate() {
            for (element, writes) in statement.writes.iter().enumerate() {
                let time = |array: ArrayId| (self.places(TIMES, array).start + element) as i32;
                let value = |array: ArrayId| (self.places(VALUES, array).start + element) as i32;
                let (mut condition, mut rest, mut crossing, mut start) = (-1, -1, false, false);
                match &statement.cause {
                    EventCause::Condition { condition: array, crossing: both, from_start, rest: after } => {
                        condition = (self.places(CONDITIONS, *array).start + element) as i32;
                        (crossing, start) = (*both, *from_start);
                        rest = after.map_or(-1, |statement| (firsts[statement] + element) as i32);
                    }
                    EventCause::Times(times) => table.time_values.extend(times.iter().map(|&array| time(array))),
                    EventCause::Every { period, from, until } => {
                        table.time_values.extend([from.map_or(-1, time), time(*period), until.map_or(-1, time)]);
                    }
                    EventCause::Rest => {}
                }
                table.kinds.push(match statement.cause {
                    EventCause::Condition { .. } => usize::from(crossing),
                    EventCause::Times(_) => 2,
                    EventCause::Every { .. } => 3,
                    EventCause::Rest => 4,
                });
                let flags = [start, statement.late, statement.cancel, statement.stops, statement.alone];
                table.flags.push(flags.iter().enumerate().map(|(bit, set)| usize::from(*set) << bit).sum());
                table.conditions.push(condition);
                table.rests.push(rest);
                table.statements.push(number);
                table.delays.push(statement.delay.map_or(-1, value));
                table.priorities.push(statement.priority.map_or(-1, value));
                for write in writes {
                    let array = &self.functions[VALUES].settled.program.arrays[write.target.0 as usize];
                    let at = write.at as usize;
                    table.targets.push(match array.role {
                        Role::Discrete => -1 - (self.layout.parameter(write.target) + at) as i32,
                        _ => (self.layout.state(write.target) + at) as i32,
                    });
                    table.adds.push(usize::from(write.adds));
                    table.values.push(self.places(VALUES, write.value).start + write.from as usize);
                }
                table.writes.push(table.targets.len());
                table.times.push(table.time_values.len());
            }
        }
        self.columns(table);
    }

    fn columns(&mut self, table: Columns) {
        self.number("events", "number of events, of all elements", table.kinds.len());
        self.length("condition_values", "length of out of conditions", CONDITIONS);
        self.length("value_values", "length of out of values", VALUES);
        self.length("time_count", "length of out of times", TIMES);
        self.list("event_kinds", "the kind of trigger of each event, 0 to 4", table.kinds);
        self.list("event_statements", "the statement of the text that it belongs to", table.statements);
        self.list("event_flags", "1 from start, 2 late, 4 cancel, 8 stop, 16 alone", table.flags);
        self.signed("event_conditions", "its condition in conditions; -1: none", table.conditions);
        self.signed("event_rest", "the event that is executed when it accumulates; -1: none", table.rests);
        self.signed("event_delays", "its delay in values; -1: none", table.delays);
        self.signed("event_priorities", "its priority in values; -1: 0", table.priorities);
        self.list("event_writes", "where the writes of each event begin; events + 1 elements", table.writes);
        self.signed("write_targets", "a row of y, or -1 - a place in p", table.targets);
        self.list("write_adds", "1 if the value is added", table.adds);
        self.list("write_values", "the value in values", table.values);
        self.list("event_times", "where the times of each event begin; events + 1 elements", table.times);
        self.signed("time_values", "times in times: a list, or from, period and until; -1: none", table.time_values);
    }

    fn discretes(&mut self, program: &Program) {
        let first = self.layout.p_len() - self.layout.modes - self.layout.discretes;
        let (mut targets, mut values) = (Vec::new(), Vec::new());
        for &(result, discrete) in &self.switching.events.starts {
            for (i, place) in self.places(BEGIN, result).enumerate() {
                targets.push(self.layout.parameter(discrete) + i);
                values.push(place);
            }
        }
        let names = program.arrays_of(Role::Discrete).flat_map(|(_, array)| element_names(program, array)).collect();
        self.number("discretes", "number of discretes", self.layout.discretes);
        self.number("first_discrete", "where they begin in p", first);
        self.constants.push(Constant {
            suffix: "discrete_names",
            doc: "names of the discretes",
            content: Content::Texts(names),
        });
        self.length("begin_count", "length of out of begin", BEGIN);
        self.number("begins", "number of discretes that begin sets", targets.len());
        self.list("begin_targets", "their places in p", targets);
        self.list("begin_values", "their values in begin", values);
    }

    fn timed(&mut self) {
        let (mut modes, mut values, mut once, mut every) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut followers, mut curves, mut arguments) = (Vec::new(), Curves::default(), Vec::new());
        for timed in &self.switching.timed {
            let there = self.exist(timed.exists, self.layout.len(timed.mode));
            for i in (0..there.len()).filter(|&i| there[i]) {
                let place = self.layout.parameter(timed.mode) + i;
                let fact = |array: ArrayId| self.places(STOPS, array).start + i;
                let mut curve = false;
                for times in &timed.breaks {
                    match *times {
                        Break::Knots { knots, at_zero, slope } => {
                            curve = true;
                            curves.push(Some(knots), &self.layout);
                            arguments.extend([fact(at_zero), fact(slope)]);
                        }
                        Break::Once(time) => once.push(fact(time)),
                        Break::Every(time, period) => every.extend([fact(time), fact(period)]),
                    }
                }
                if curve {
                    followers.push(place);
                } else {
                    modes.push(place);
                    values.push(self.places(TIMED, timed.value).start + i);
                }
            }
        }
        self.number("timed_modes_count", "number of modes that depend on time alone", modes.len());
        self.length("timed_count", "length of out of timed", TIMED);
        self.length("stop_count", "length of out of stops", STOPS);
        self.list("timed_modes", "their places in p", modes);
        self.list("timed_values", "their values in timed", values);
        self.number("stop_onces", "number of single times", once.len());
        self.list("stop_once", "these times in stops", once);
        self.number("stop_everies", "number of periodic times", every.len() / 2);
        self.list("stop_every", "pairs in stops: the first time, and the period", every);
        self.number("curves", "number of curves over time, whose piece number is in p", followers.len());
        self.list("curve_modes", "the place in p of each", followers);
        self.signed("curve_knots", "where its knots begin in p", curves.starts);
        self.list("curve_lengths", "number of knots", curves.lengths);
        self.list("curve_periodic", "1 if the knots repeat periodically", curves.periodic);
        self.list("curve_arguments", "pairs in stops: its argument at time 0, and the slope", arguments);
    }
}

/// Columns of the tables of curves.
#[derive(Default)]
struct Curves {
    starts: Vec<i32>,
    lengths: Vec<usize>,
    periodic: Vec<usize>,
}

impl Curves {
    fn push(&mut self, knots: Option<Knots>, layout: &Layout) {
        self.starts.push(knots.map_or(-1, |knots| layout.parameter(knots.table) as i32));
        self.lengths.push(knots.map_or(0, |knots| knots.length));
        self.periodic.push(usize::from(knots.is_some_and(|knots| knots.periodic)));
    }
}

/// Columns of the tables of events.
#[derive(Default)]
struct Columns {
    kinds: Vec<usize>,
    statements: Vec<usize>,
    flags: Vec<usize>,
    conditions: Vec<i32>,
    rests: Vec<i32>,
    delays: Vec<i32>,
    priorities: Vec<i32>,
    writes: Vec<usize>,
    targets: Vec<i32>,
    adds: Vec<usize>,
    values: Vec<usize>,
    times: Vec<usize>,
    time_values: Vec<i32>,
}
