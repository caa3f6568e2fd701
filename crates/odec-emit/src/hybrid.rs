//! C source of a model with events: beside the functions of every model those that decide modes and compute what events
//! write, and tables that say what belongs to which event.
//!
//! The functions read modes and discretes from the parameter buffer, where the host writes them. Between two events they
//! stay as they are, and `f` is smooth.

use std::fmt::Write;

use odec_ir::interface::{Constant, Content, Settled, element_names};
use odec_ir::interpret::{Inputs, Interpreter};
use odec_ir::switch::{Break, Cause, Switching};
use odec_ir::{ArrayId, KernelRole, Layout, Program, Role};

use crate::{EmitError, Options, c, checked_prefix, header};

/// A function beside those of [`odec_ir::interface::FUNCTIONS`], of the same signature.
struct Extra {
    suffix: &'static str,
    doc: &'static str,
    settled: Settled,
}

/// What the tables are made of.
struct Hybrid<'a> {
    switching: &'a Switching,
    layout: Layout,
    /// In the order of [`Hybrid::extras`].
    extras: Vec<Extra>,
    constants: Vec<Constant>,
}

/// Numbers of [`Hybrid::extras`].
const GUARDS: usize = 0;
const RATES: usize = 1;
const CONDITIONS: usize = 2;
const VALUES: usize = 3;
const TIMES: usize = 4;
const TIMED: usize = 5;
const STOPS: usize = 6;
const BEGIN: usize = 7;

/// The source of a program with modes; see [`c::c_source`].
///
/// # Errors
/// [`EmitError::BadPrefix`], [`EmitError::Counters`], extents that do not fit.
pub fn c_source_with_events(program: &Program, switching: &Switching, options: &Options) -> Result<String, EmitError> {
    let prefix = checked_prefix(options)?;
    let hybrid = Hybrid::of(program, switching)?;
    let settled = Settled::of(program)?;
    let further: Vec<(&str, &str, &Settled)> = hybrid.extras.iter().map(|e| (e.suffix, e.doc, &e.settled)).collect();
    c::source(&settled, prefix, &further, &hybrid.constants)
}

/// The header that goes with it.
///
/// # Errors
/// As of [`c_source_with_events`].
pub fn c_header_with_events(program: &Program, switching: &Switching, options: &Options) -> Result<String, EmitError> {
    let prefix = checked_prefix(options)?;
    let hybrid = Hybrid::of(program, switching)?;
    let mut further = String::from("\n/* Modes and events.\n\n");
    let _ = writeln!(
        further,
        "   Relation k holds where out[guard_left[k]] > out[guard_right[k]] in {prefix}_guards, or >= where guard_or_equal[k].
   Its truth, 1 or 0, belongs into p[guard_modes[k]]. Keep it while you make a step, end the step where it changes, and
   write the new one. Whenever modes or discretes in p change, call {prefix}_prepare again.

   Event e happens (event_kinds[e]): 0 where its out[event_conditions[e]] of
   {prefix}_conditions turns from 0 to 1; 1 where it changes; 2 at the
   times out[time_values[j]] of {prefix}_times, j from event_times[e] to event_times[e + 1] - 1; 3 at from + i period,
   i = 0, 1, ..., before until, which are the three of these j (-1: from 0, no end); 4 where the event accumulates whose
   event_rest it is. Read out = {prefix}_values before you write: for w from event_writes[e] to event_writes[e + 1] - 1,
   out[write_values[w]] goes to y[write_targets[w]], or to p[-1 - write_targets[w]] if that is negative; it is added
   where write_adds[w]. Flags of events: 1 counts as false before the start, 2 right sides are read at the execution,
   4 dropped where the condition turns false before, 8 ends the run. */"
    );
    for constant in &hybrid.constants {
        let declaration = header::declaration(prefix, constant.suffix, &constant.content);
        let _ = writeln!(further, "/* {} */\nextern {declaration};", constant.doc);
    }
    further.push('\n');
    for extra in &hybrid.extras {
        let _ = writeln!(further, "/* {} */\n{};", extra.doc, header::prototype(prefix, extra.suffix));
    }
    let plain = header::c_header(program, options)?;
    let end = plain.rfind("\n#ifdef __cplusplus").unwrap_or(plain.len());
    Ok(format!("{}{further}{}", &plain[..end], &plain[end..]))
}

impl<'a> Hybrid<'a> {
    fn of(program: &Program, switching: &'a Switching) -> Result<Hybrid<'a>, EmitError> {
        if !switching.counters.is_empty() {
            return Err(EmitError::Counters);
        }
        let breaks = switching.timed.iter().flat_map(|timed| &timed.breaks);
        if breaks.into_iter().any(|times| matches!(times, Break::Knots { .. })) {
            return Err(EmitError::Samples);
        }
        let events = &switching.events;
        let extra =
            |suffix, doc, program: &Program| Ok::<_, EmitError>(Extra { suffix, doc, settled: Settled::of(program)? });
        let extras = vec![
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
                "out[timed_count]: what belongs into p[timed_modes[k]] is out[timed_values[k]]; reads t and p, never near a stop",
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
        let layout = Settled::of(program)?.layout;
        let mut hybrid = Hybrid { switching, layout, extras, constants: Vec::new() };
        hybrid.relations();
        hybrid.events();
        hybrid.discretes(program);
        hybrid.timed();
        Ok(hybrid)
    }

    /// Where the elements of a result are in `out` of a function.
    fn places(&self, extra: usize, array: ArrayId) -> std::ops::Range<usize> {
        let layout = &self.extras[extra].settled.layout;
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
        let length = self.extras[extra].settled.layout.outputs_len();
        self.number(suffix, doc, length);
    }

    /// Which elements there are: no parameter decides it.
    fn exist(&self, exists: Option<ArrayId>, elements: usize) -> Vec<bool> {
        let Some(array) = exists else { return vec![true; elements] };
        let Settled { program, layout, bound, .. } = &self.extras[STOPS].settled;
        let (still, mut p) = (vec![0.0; layout.n], vec![0.0; layout.p_len()]);
        let data = self.extras[STOPS].settled.data();
        p[layout.np + layout.staged..][..data.len()].copy_from_slice(&data);
        let mut out = vec![0.0; layout.outputs_len()];
        let inputs = Inputs { t: 0.0, y: &still, p: &p, w: &still };
        Interpreter::new(program).run(program, bound, KernelRole::Outputs, inputs, &mut out);
        out[self.places(STOPS, array)].iter().map(|there| *there != 0.0).collect()
    }

    fn relations(&mut self) {
        let (mut left, mut right, mut rates, mut modes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut or_equal = Vec::new();
        for relation in &self.switching.relations {
            let there = self.exist(relation.exists, self.places(GUARDS, relation.left).len());
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
        self.list("guard_or_equal", "1 where a relation holds on equality", or_equal);
    }

    fn events(&mut self) {
        let list = &self.switching.events.list;
        // of each statement the number of its first event
        let firsts: Vec<usize> = list
            .iter()
            .scan(0, |next, statement| Some(std::mem::replace(next, *next + statement.writes.len())))
            .collect();
        let mut table = Table { writes: vec![0], times: vec![0], ..Table::default() };
        for (number, statement) in list.iter().enumerate() {
            for (element, writes) in statement.writes.iter().enumerate() {
                let time = |array: ArrayId| (self.places(TIMES, array).start + element) as i32;
                let value = |array: ArrayId| (self.places(VALUES, array).start + element) as i32;
                let (mut condition, mut rest, mut crossing, mut start) = (-1, -1, false, false);
                match &statement.cause {
                    Cause::Condition { condition: array, crossing: both, from_start, rest: after } => {
                        condition = (self.places(CONDITIONS, *array).start + element) as i32;
                        (crossing, start) = (*both, *from_start);
                        rest = after.map_or(-1, |statement| (firsts[statement] + element) as i32);
                    }
                    Cause::Times(times) => table.time_values.extend(times.iter().map(|&array| time(array))),
                    Cause::Every { period, from, until } => {
                        table.time_values.extend([from.map_or(-1, time), time(*period), until.map_or(-1, time)]);
                    }
                    Cause::Rest => {}
                }
                table.kinds.push(match statement.cause {
                    Cause::Condition { .. } => usize::from(crossing),
                    Cause::Times(_) => 2,
                    Cause::Every { .. } => 3,
                    Cause::Rest => 4,
                });
                let flags = [start, statement.late, statement.cancel, statement.stops, statement.alone];
                table.flags.push(flags.iter().enumerate().map(|(bit, set)| usize::from(*set) << bit).sum());
                table.conditions.push(condition);
                table.rests.push(rest);
                table.statements.push(number);
                table.delays.push(statement.delay.map_or(-1, value));
                table.priorities.push(statement.priority.map_or(-1, value));
                for write in writes {
                    let array = &self.extras[VALUES].settled.program.arrays[write.target.0 as usize];
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
        self.tables(table);
    }

    fn tables(&mut self, table: Table) {
        self.number("events", "number of events, of all elements", table.kinds.len());
        self.length("condition_values", "length of out of conditions", CONDITIONS);
        self.length("value_values", "length of out of values", VALUES);
        self.length("time_count", "length of out of times", TIMES);
        self.list("event_kinds", "what makes each event happen, 0 to 4", table.kinds);
        self.list("event_statements", "the statement of the text that it belongs to", table.statements);
        self.list("event_flags", "1 from start, 2 late, 4 cancel, 8 stop, 16 alone", table.flags);
        self.signed("event_conditions", "its condition in conditions; -1: none", table.conditions);
        self.signed("event_rest", "the event that takes its place where it accumulates; -1: none", table.rests);
        self.signed("event_delays", "its delay in values; -1: none", table.delays);
        self.signed("event_priorities", "its priority in values; -1: 0", table.priorities);
        self.list("event_writes", "where the writes of each event begin; events + 1 elements", table.writes);
        self.signed("write_targets", "a row of y, or -1 - a place in p", table.targets);
        self.list("write_adds", "1 where the value is added", table.adds);
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
        for timed in &self.switching.timed {
            let there = self.exist(timed.exists, self.layout.len(timed.mode));
            for i in (0..there.len()).filter(|&i| there[i]) {
                modes.push(self.layout.parameter(timed.mode) + i);
                values.push(self.places(TIMED, timed.value).start + i);
                for times in &timed.breaks {
                    match *times {
                        // refused before
                        Break::Knots { .. } => {}
                        Break::Once(time) => once.push(self.places(STOPS, time).start + i),
                        Break::Every(time, period) => {
                            every.extend([time, period].map(|array| self.places(STOPS, array).start + i));
                        }
                    }
                }
            }
        }
        self.number("timed_modes_count", "number of modes that time alone decides", modes.len());
        self.length("timed_count", "length of out of timed", TIMED);
        self.length("stop_count", "length of out of stops", STOPS);
        self.list("timed_modes", "their places in p", modes);
        self.list("timed_values", "their values in timed", values);
        self.number("stop_onces", "number of times that come once", once.len());
        self.list("stop_once", "these times in stops", once);
        self.number("stop_everies", "number of times that come again and again", every.len() / 2);
        self.list("stop_every", "pairs in stops: such a time, and the period", every);
    }
}

/// Columns of the tables of events.
#[derive(Default)]
struct Table {
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
