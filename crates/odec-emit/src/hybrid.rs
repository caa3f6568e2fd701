//! C source and header of a model with events: the functions and tables of [`EventInterface`], and for hosts with
//! their own solver the functions of `runtime/times.h` and `runtime/events.h`, which execute an instant.

use std::fmt::Write;

use odec_ir::interface::events::EventInterface;
use odec_ir::interface::{BoundForExport, Content};
use odec_ir::switch::Switching;
use odec_ir::{Program, broken};

use crate::{EmitError, Options, c, checked_prefix, header};

/// The C code that executes an instant, for a model named `model`.
const RUNTIME: &str = concat!(include_str!("runtime/times.h"), include_str!("runtime/events.h"));

/// The source of a program with modes; see [`c::c_source`].
///
/// # Errors
/// [`EmitError::BadPrefix`], extents that do not fit.
pub fn c_source_with_events(program: &Program, switching: &Switching, options: &Options) -> Result<String, EmitError> {
    let prefix = checked_prefix(options)?;
    source_of(&BoundForExport::of(program)?, &EventInterface::of(program, switching)?, prefix)
}

/// The source with all functions of an interface.
pub(crate) fn source_of(settled: &BoundForExport, events: &EventInterface, prefix: &str) -> Result<String, EmitError> {
    let further: Vec<c::ExtraFunction<'_>> = events.functions.iter().map(|f| (f.suffix, f.doc, &f.settled)).collect();
    c::source(settled, prefix, &further, &events.constants)
}

/// The header for this C source and for the object file.
///
/// # Errors
/// See [`c_source_with_events`].
pub fn c_header_with_events(program: &Program, switching: &Switching, options: &Options) -> Result<String, EmitError> {
    header_of(program, &BoundForExport::of(program)?, &EventInterface::of(program, switching)?, options)
}

/// The header with all functions of an interface.
pub(crate) fn header_of(
    program: &Program,
    settled: &BoundForExport,
    events: &EventInterface,
    options: &Options,
) -> Result<String, EmitError> {
    let prefix = checked_prefix(options)?;
    let mut further = String::from("\n/* Modes and events.\n\n");
    let _ = writeln!(
        further,
        "   Relation k holds if out[guard_left[k]] > out[guard_right[k]] in {prefix}_guards (>= if guard_or_equal[k] is 1).
   Store its truth value, 1 or 0, in p[guard_modes[k]]. Do not change it during a step. If it changes, end the step
   there and store the new value. Whenever modes or discretes in p change, call {prefix}_prepare again.

   event_kinds[e] says when event e happens:
     0  when its condition, out[event_conditions[e]] of {prefix}_conditions, changes from 0 to 1
     1  when its condition changes
     2  at the times out[time_values[j]] of {prefix}_times, for j from event_times[e] to event_times[e + 1] - 1
     3  at first + i period, i = 0, 1, ..., before end; these j give first, period and end (-1: first is 0, no end)
     4  when the event accumulates whose event_rest is e

   To execute events, read out = {prefix}_values before you write anything. For w from event_writes[e] to
   event_writes[e + 1] - 1, write out[write_values[w]] to y[write_targets[w]], or to p[-1 - write_targets[w]] if the
   target is negative; add it if write_adds[w] is 1. Flags of an event: 1 its condition counts as false before the
   start, 2 right sides are read when it is executed, 4 it is dropped if its condition becomes false before that,
   8 it ends the run, 16 it has its own round.

   The functions in {upper}_EVENTS at the end of this file do all of this. */",
        upper = prefix.to_ascii_uppercase()
    );
    for constant in &events.constants {
        let declaration = header::declaration(prefix, constant.suffix, &constant.content);
        let _ = writeln!(further, "/* {} */\nextern {declaration};", constant.doc);
    }
    further.push('\n');
    for function in &events.functions {
        let _ = writeln!(further, "/* {} */\n{};", function.doc, header::prototype(prefix, function.suffix));
    }
    let plain = header::c_header(program, options)?;
    let end = plain.rfind("\n#ifdef __cplusplus").unwrap_or(plain.len());
    let runtime = runtime(&lengths(settled, events), prefix);
    Ok(format!("{}{further}\n{runtime}{}", &plain[..end], &plain[end..]))
}

/// Adapts C text for a model named `model` to another name.
pub(crate) fn named(text: &str, prefix: &str) -> String {
    text.replace("model_", &format!("{prefix}_")).replace("MODEL_", &format!("{}_", prefix.to_ascii_uppercase()))
}

/// The functions for hosts, preceded by the lengths of their memory.
fn runtime(lengths: &[(&str, usize)], prefix: &str) -> String {
    let (about, code) =
        RUNTIME.split_at(RUNTIME.find("enum {").unwrap_or_else(|| broken("the runtime has no list of lengths")));
    let list: Vec<String> = lengths.iter().map(|(name, length)| format!("MODEL_{name} = {length}")).collect();
    let lines: Vec<String> = list.chunks(6).map(|line| format!("    {}", line.join(", "))).collect();
    named(&format!("{about}enum {{\n{}\n}};\n{code}", lines.join(",\n")), prefix)
}

/// Lengths of the memory for a run.
fn lengths(settled: &BoundForExport, events: &EventInterface) -> Vec<(&'static str, usize)> {
    let number = |suffix: &str| match events.constants.iter().find(|c| c.suffix == suffix).map(|c| &c.content) {
        Some(Content::Integer(value)) => *value as usize,
        Some(Content::Integers(list)) => list.len(),
        _ => broken("the interface of events lacks a length"),
    };
    let writes = match events.constants.iter().find(|c| c.suffix == "event_writes").map(|c| &c.content) {
        Some(Content::Integers(list)) => list.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0),
        _ => broken("the interface of events lacks the list of writes"),
    };
    let counters = number("counters");
    vec![
        ("STATES", settled.layout.n),
        ("PARAMETERS", settled.layout.np),
        ("DISCRETES", number("discretes")),
        ("RECORDED", settled.layout.outputs),
        ("OUTPUTS", settled.layout.outputs_len()),
        ("ENTRIES", settled.program.parameter_jacobian.row_idx.len()),
        ("BUFFER", settled.layout.p_len()),
        ("RELATIONS", number("relations")),
        // two events for each counter: up and down
        ("ALL", number("events") + 2 * counters),
        ("MOST", if counters > 0 { writes.max(3) } else { writes }),
        ("WRITES", number("write_targets") + 6 * counters),
        ("CURVES", number("curves")),
        ("GUARDS", number("guard_values")),
        ("RATES", number("rate_values")),
        ("CONDITIONS", number("condition_values")),
        ("VALUES", number("value_values")),
        ("TIMES", number("time_count")),
        ("STOPS", number("stop_count")),
        ("TIMED", number("timed_count")),
        ("BEGINS", number("begin_count")),
    ]
}
