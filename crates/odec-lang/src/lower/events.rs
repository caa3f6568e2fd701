//! Events as kernels: conditions, right-hand sides with delays and priorities, times, and discretes at the start. The
//! assignments of an event are listed element by element.

use crate::diagnostic::codes;
use odec_ir::nest::Kernel;
use odec_ir::switch::{ArrayWrite, BoundValues, EventCause, EventDraft, EventGroup};
use odec_ir::{ArrayId, KernelRole, Role, Span};

use super::builder::Phase;
use super::kernels::{Row, RowValue, grouped};
use super::world::LoweringContext;
use super::{Fallible, refuse};
use crate::model::data::{count, each_point, position, whole};
use crate::model::evaluator::Range;
use crate::model::{self, Body, Change, EventKind, Place, Symbol};
use crate::report::{error, internal};

/// Largest number of elements that all events of a model write, and largest number of events.
pub const MAX_WRITES: u64 = 10_000_000;

/// Rows of results, by the program that they belong to.
#[derive(Default)]
struct Results {
    conditions: Vec<Row>,
    values: Vec<Row>,
    times: Vec<Row>,
}

/// The events of a model, with kernels that evaluate comparisons as written.
pub(super) fn draft(world: &mut LoweringContext<'_>) -> Fallible<EventDraft> {
    let model = world.model;
    let mut results = Results::default();
    let mut list = Vec::with_capacity(model.events.len());
    let mut total = 0u64;
    for event in &model.events {
        let lowered = one(world, event, &mut results)?;
        total += lowered.writes.iter().map(|writes| 1 + writes.len() as u64).sum::<u64>();
        if total > MAX_WRITES {
            return refuse(too_many(event.head));
        }
        list.push(lowered);
    }
    let mut starts = Vec::with_capacity(model.discretes.len());
    let mut initial = Vec::with_capacity(model.discretes.len());
    for (i, discrete) in model.discretes.iter().enumerate() {
        let array = result(world, &discrete.indexed.locals, discrete.span)?;
        let place = places(world, &discrete.indexed.locals)?;
        initial.push(Row { array, place, value: RowValue::Start(i) });
        starts.push((array, world.arrays.discretes[i]));
    }
    let bounds = bounds(world, &mut initial)?;
    let Results { conditions, values, times } = results;
    Ok(EventDraft {
        list,
        conditions: kernels(world, Phase::Run, conditions)?,
        values: kernels(world, Phase::Run, values)?,
        times: kernels(world, Phase::Run, times)?,
        initial: kernels(world, Phase::Start, initial)?,
        starts,
        bounds,
    })
}

/// The bounds of all states, which are computed together with the initial discretes.
fn bounds(world: &mut LoweringContext<'_>, rows: &mut Vec<Row>) -> Fallible<Vec<BoundValues>> {
    let model = world.model;
    let mut bounds = Vec::new();
    for (i, state) in model.states.iter().enumerate() {
        for (k, bound) in state.bounds.iter().enumerate() {
            let array = result(world, &state.indexed.locals, bound.span)?;
            let place = places(world, &state.indexed.locals)?;
            rows.push(Row { array, place, value: RowValue::Expression(bound.value) });
            let of = world.arrays.state(i, bound.order);
            bounds.push(BoundValues { value: array, of, upper: !bound.at_least, state: i, number: k });
        }
    }
    Ok(bounds)
}

fn kernels(world: &mut LoweringContext<'_>, phase: Phase, rows: Vec<Row>) -> Fallible<Vec<Kernel>> {
    if rows.is_empty() { Ok(Vec::new()) } else { grouped(world, KernelRole::Outputs, phase, rows) }
}

fn too_many(span: Span) -> crate::diagnostic::Diagnostic {
    let headline = format!("the events of this model change more than {MAX_WRITES} elements");
    error(&codes::E0518, headline, span, "").help("reduce the sizes, or let events change fewer elements")
}

/// An array of results over these indices.
fn result(world: &mut LoweringContext<'_>, locals: &[usize], span: Span) -> Fallible<ArrayId> {
    let dimensions: Vec<model::Dimension> = locals.iter().map(|&l| world.model.locals[l].range.clone()).collect();
    let axes = world.axes_of(&dimensions)?;
    let array = world.arrays.next();
    let name = format!("event.{}", array.0);
    world.arrays.push(name, Role::Side, span).axes = axes.iter().map(|a| a.0).collect();
    Ok(array)
}

fn places(world: &mut LoweringContext<'_>, locals: &[usize]) -> Fallible<Vec<super::world::PlaceAt>> {
    locals.iter().map(|&local| world.place(&Place::Each(local))).collect()
}

/// A result: an expression over these indices.
fn push(
    world: &mut LoweringContext<'_>,
    rows: &mut Vec<Row>,
    locals: &[usize],
    (body, negated): (Body, bool),
) -> Fallible<ArrayId> {
    let array = result(world, locals, world.model.span(body))?;
    let place = places(world, locals)?;
    let value = if negated { RowValue::Negated(body) } else { RowValue::Expression(body) };
    rows.push(Row { array, place, value });
    Ok(array)
}

fn one(world: &mut LoweringContext<'_>, event: &model::Event, results: &mut Results) -> Fallible<EventGroup> {
    let locals = &event.locals;
    let mut time = |world: &mut LoweringContext<'_>, body: Body| push(world, &mut results.times, locals, (body, false));
    let cause = match &event.kind {
        EventKind::When { condition, crossing, from_start, rest } => {
            let condition = push(world, &mut results.conditions, locals, (*condition, false))?;
            EventCause::Condition { condition, crossing: *crossing, from_start: *from_start, rest: *rest }
        }
        EventKind::At(times) => {
            EventCause::Times(times.iter().map(|&body| time(world, body)).collect::<Fallible<_>>()?)
        }
        EventKind::Every { period, from, until } => EventCause::Every {
            period: time(world, *period)?,
            from: from.map(|body| time(world, body)).transpose()?,
            until: until.map(|body| time(world, body)).transpose()?,
        },
        EventKind::Rest => EventCause::Rest,
    };
    let mut value = |world: &mut LoweringContext<'_>, body: Option<Body>| {
        body.map(|body| push(world, &mut results.values, locals, (body, false))).transpose()
    };
    let delay = value(world, event.delay)?;
    let priority = value(world, event.priority)?;
    let Some(ranges) = ranges(world, locals) else {
        return refuse(internal("an event without a range", Some(event.head)));
    };
    let events = count(&ranges).filter(|&n| n <= MAX_WRITES).ok_or_else(|| vec![too_many(event.head)])?;
    let mut writes: Vec<Vec<ArrayWrite>> = vec![Vec::new(); events as usize];
    for action in &event.actions {
        let all: Vec<usize> = locals.iter().chain(&action.locals).copied().collect();
        let negated = action.change == Change::Subtract;
        let value = push(world, &mut results.values, &all, (action.value, negated))?;
        list_writes(world, event, action, value, &mut writes)?;
    }
    Ok(EventGroup {
        cause,
        writes,
        ranges,
        delay,
        priority,
        late: event.late,
        cancel: event.cancel,
        alone: event.alone,
        stops: event.stop.is_some(),
        span: event.head,
    })
}

fn ranges(world: &LoweringContext<'_>, locals: &[usize]) -> Option<Vec<Range>> {
    locals.iter().map(|&l| world.model.bounds_of(&world.model.locals[l].range, world.values)).collect()
}

/// The elements that an action writes: for each event, all values of the indices of the action.
fn list_writes(
    world: &LoweringContext<'_>,
    event: &model::Event,
    action: &model::Action,
    value: ArrayId,
    writes: &mut [Vec<ArrayWrite>],
) -> Fallible<()> {
    let (model, values) = (world.model, world.values);
    let target = match action.target {
        Symbol::State(i) => world.arrays.state(i, action.order),
        Symbol::Discrete(i) => world.arrays.discretes[i],
        _ => return refuse(internal("an action without a target", Some(action.span))),
    };
    let all: Vec<usize> = event.locals.iter().chain(&action.locals).copied().collect();
    let (Some(points), Some(own)) = (ranges(world, &all), ranges(world, &action.locals)) else {
        return refuse(internal("an action without a range", Some(action.span)));
    };
    let each = count(&own).unwrap_or(u64::MAX);
    if each.saturating_mul(writes.len() as u64) > MAX_WRITES {
        return refuse(too_many(action.span));
    }
    let Some(elements) = model.indexed(action.target).and_then(|indexed| model.ranges_of(indexed, values)) else {
        return refuse(internal("a target without a range", Some(action.span)));
    };
    let mut evaluator = model.numbers(values);
    let mut from = 0u32;
    let (mut missing, mut exhausted): (Option<Vec<f64>>, Option<Body>) = (None, None);
    // the values of each index with which the target exists
    let mut inside: Vec<Option<(i64, i64)>> = vec![None; all.len()];
    each_point(&points, |at| {
        if exhausted.is_some() {
            return;
        }
        for (&local, &i) in all.iter().zip(at) {
            evaluator.fix(local, i);
        }
        evaluator.forget();
        let known: Result<Vec<f64>, Body> =
            action.subscripts.iter().map(|body| evaluator.value(*body).map_err(|_| *body)).collect();
        let subscripts = match known {
            Ok(subscripts) => subscripts,
            Err(body) => return exhausted = Some(body),
        };
        let found: Option<Vec<i64>> = subscripts.iter().map(|&x| whole(x)).collect();
        match found.and_then(|at| position(&elements, &at)) {
            Some(place) => {
                for (range, &i) in inside.iter_mut().zip(at) {
                    *range = Some(range.map_or((i, i), |(low, high)| (low.min(i), high.max(i))));
                }
                writes[(u64::from(from) / each.max(1)) as usize].push(ArrayWrite {
                    target,
                    at: place as u32,
                    value,
                    from,
                    adds: action.change != Change::Set,
                    span: action.span,
                });
            }
            None => missing = missing.take().or(Some(subscripts)),
        }
        from += 1;
    });
    if let Some(body) = exhausted {
        return refuse(model.too_many_terms(body));
    }
    match missing {
        None => Ok(()),
        Some(at) => {
            let at: Vec<String> = at.iter().map(f64::to_string).collect();
            let name = model.name_of(action.target);
            let headline = format!("an event changes `{name}[{}]`, which does not exist", at.join(","));
            let ranges = ranges(world, &all).unwrap_or_default();
            let restricted = all.iter().zip(&inside).zip(&ranges).find_map(|((&local, &inside), &whole)| {
                let (low, high) = inside.filter(|&inside| inside != whole)?;
                let place = if event.locals.contains(&local) { "head of the event" } else { "target" };
                Some(format!("restrict the index in the {place}: `[{} in {low}..{high}]`", model.locals[local].name))
            });
            let help = restricted.unwrap_or_else(|| format!("change an element of `{name}` that exists"));
            refuse(error(&codes::E0520, headline, action.span, "changed here").help(help))
        }
    }
}
