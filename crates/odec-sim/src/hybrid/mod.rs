//! A model with modes as the hybrid system that the solver runs.
//!
//! | file | what it does |
//! |---|---|
//! | `routine` | additional results: sides of relations, times |
//! | `events` | events of the model: one for each element, with the values that they read and write |
//! | `bounds` | bounds of states |
//! | `free` | relations on whose surfaces no step ends |
//! | `derived` | derivatives of these with respect to parameters |
//! | `event_derivatives` | what the jumps of these derivatives at events need |
//! | `pieces` | curves of inputs: times of their knots, and the pieces between them |
//! | `interval` | bounds of formulas over a box of states |
//! | `states_read` | the states that the sides of relations read |
//! | `places` | positions of the elements of all of them |
//! | `system` | hybrid system: modes and discretes in the parameter buffer, lists of times |
//! | `undecided` | conditions of events that values below their tolerance decide |
//! | `drive` | a run |
//! | `step_ends` | what ends a step, for `odec check --stops` |
//!
//! Such a model has two executors. The executor of [`crate::bind::Bound`] evaluates comparisons at any point. The
//! executor of [`Located`] reads modes, and is correct only while the modes are those of the point. Only a run uses
//! it.

pub mod bounds;
mod derived;
pub(crate) mod drive;
mod event_derivatives;
mod events;
mod free;
pub(crate) mod interval;
mod pieces;
mod places;
mod routine;
mod states_read;
pub mod step_ends;
mod system;
mod undecided;

use std::sync::{Arc, Mutex};

use odec_ir::Span;
use odec_ir::switch::Switching;
use odec_lang::model::Model;
use odec_ode::hybrid::{AffineRows, Edge, Event, Trigger, WriteTarget};

use crate::executor::{Executor, KernelCode, UnsuitableProgram};
use crate::quantities::{Quantities, Quantity};
use events::Listed;
use pieces::PassedKnots;
use places::Places;
use routine::Routine;

/// The kernels that decide the modes, compiled and bound.
struct ModeCode {
    switching: Switching,
    sides: Routine,
    rates: Routine,
    values: Routine,
    facts: Routine,
    event_results: events::Results,
    reads: Routine,
    derivatives: Option<derived::CompiledDerivatives>,
    /// Lists of times may change with discretes.
    are_times_switched: bool,
}

/// A bound model with modes.
pub struct Located {
    executor: Executor,
    code: Arc<ModeCode>,
    places: Arc<Places>,
    /// Modes of the relations, then those of the timed quantities.
    modes: Vec<f64>,
    discretes: Vec<f64>,
    /// Additions to discretes at the start.
    added_at_start: Vec<(usize, f64)>,
    /// Times that occur once, in ascending order.
    once: Vec<f64>,
    /// First time and period of the periodic times; `None` where no such time exists.
    every: Vec<Option<(f64, f64)>>,
    /// Derivatives of both by each parameter.
    moved: Vec<Moved>,
    /// The curves whose argument depends only on time, up to the current time.
    curves: Vec<PassedKnots>,
    /// For each relation: true if the right-hand side reads it in the current modes.
    open: Vec<bool>,
    /// Relations that are sums, with coefficients for the parameters of the run.
    rows: AffineRows,
    /// Start and end of the run.
    span: (f64, f64),
    /// Bounds of states, in a run.
    bounds: Vec<odec_ode::hybrid::RowBound>,
    /// Times of events; their lists come after the lists above.
    listed: Vec<Listed>,
    /// Number of computations of the lists of times. The lists of event times depend on it.
    listing: u64,
    bits: Vec<u64>,
    /// First event with invalid times.
    untimed: Option<usize>,
    /// Number of writes of modes and discretes.
    written: u64,
    /// Relations that are not located, in a run for which that is better.
    free: Option<free::Free>,
    /// True if discretes have changed since the lists of times were made.
    changed: bool,
    /// State for kernels that read no state.
    still: Vec<f64>,
    room: Mutex<Vec<f64>>,
    read: Mutex<Read>,
    read_by: Mutex<Read<derived::Values>>,
}

/// Derivatives of times by a parameter.
#[derive(Clone, Default)]
struct Moved {
    /// Derivatives of times that occur once; NaN if two times with different derivatives coincide.
    once: Vec<f64>,
    /// Derivatives of the first time and of the period of periodic times.
    every: Vec<(f64, f64)>,
    /// Derivatives of the arguments of curves: of the value at time 0 and of the slope.
    curves: Vec<(f64, f64)>,
    /// Derivatives of the times of events.
    listed: Vec<Listed>,
}

/// Right sides of events, as they were computed last.
#[derive(Default)]
struct Read<T = Vec<f64>> {
    t: f64,
    y: Vec<f64>,
    written: u64,
    values: T,
}

/// Quantity that an event changed, or the fact that it changed nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// Element of the events of the model.
    pub event: usize,
    /// Values of its indices.
    pub at: Vec<i64>,
}

impl Located {
    /// Binds the code of a program with modes.
    ///
    /// # Errors
    /// Code that cannot be compiled or bound.
    pub(crate) fn bind(code: KernelCode, switching: Switching, jacobian: bool) -> Result<Located, UnsuitableProgram> {
        let mut executor = Executor::bind(code, jacobian)?;
        let execution = executor.execution();
        let made = |program: &odec_ir::Program| Routine::new(program.clone(), execution);
        let (sides, rates) = (made(&switching.sides)?, made(&switching.rates)?);
        executor.watch(&switching.sides, sides.bound());
        let (values, facts) = (made(&switching.values)?, made(&switching.facts)?);
        let reads = made(&switching.reads)?;
        let event_results = events::Results::new(&switching.events, execution)?;
        let derivatives = switching.derivatives.as_ref();
        let derivatives = derivatives
            .map(|of| derived::CompiledDerivatives::new(of, &sides, &facts, &event_results, execution))
            .transpose()?;
        let are_times_switched = facts.is_switched() || event_results.times.is_switched();
        let code =
            ModeCode { switching, sides, rates, values, facts, event_results, reads, derivatives, are_times_switched };
        let still = vec![0.0; executor.layout().n];
        let mut known = vec![0.0; code.facts.len()];
        code.facts.run(0.0, &still, executor.parameters(), &still, &mut known);
        let places = Places::of(&code, executor.program(), executor.layout(), &known);
        let routines = [&code.sides, &code.rates, &code.values, &code.facts, &code.reads];
        let room = routines.map(Routine::len).into_iter().max().unwrap_or(0);
        Ok(Located {
            modes: vec![0.0; places.relations.len() + places.timed.len()],
            discretes: vec![0.0; places.discretes.len()],
            added_at_start: Vec::new(),
            once: Vec::new(),
            every: Vec::new(),
            moved: Vec::new(),
            curves: Vec::new(),
            open: vec![true; places.relations.len()],
            rows: AffineRows::default(),
            span: (0.0, 0.0),
            bounds: Vec::new(),
            listed: Vec::new(),
            listing: 0,
            bits: Vec::new(),
            untimed: None,
            written: 0,
            free: None,
            changed: true,
            still,
            room: Mutex::new(vec![0.0; room]),
            read: Mutex::default(),
            read_by: Mutex::default(),
            executor,
            code: Arc::new(code),
            places: Arc::new(places),
        })
    }

    /// The executor, with the modes of the last run.
    pub(crate) fn executor(&self) -> &Executor {
        &self.executor
    }

    /// True if an event changes a state, which jumps there.
    pub(crate) fn moves_states(&self) -> bool {
        let moves = |event: &Event| event.writes.iter().any(|write| matches!(write.target, WriteTarget::State(_)));
        self.places.events.iter().any(moves)
    }

    /// Mutable executor, for changes of its parameters.
    pub(crate) fn machine_mut(&mut self) -> &mut Executor {
        self.changed = true;
        &mut self.executor
    }

    /// Adds to discretes at the start of the following runs.
    pub(crate) fn add_at_start(&mut self, added: Vec<(usize, f64)>) {
        self.added_at_start = added;
    }

    /// Copy with the same code and separate modes and parameters.
    pub(crate) fn fork(&self) -> Located {
        Located {
            executor: self.executor.fork(),
            code: self.code.clone(),
            places: self.places.clone(),
            modes: self.modes.clone(),
            discretes: self.discretes.clone(),
            added_at_start: self.added_at_start.clone(),
            once: self.once.clone(),
            every: self.every.clone(),
            moved: self.moved.clone(),
            curves: self.curves.clone(),
            open: self.open.clone(),
            rows: self.rows.clone(),
            span: self.span,
            bounds: self.bounds.clone(),
            listed: self.listed.clone(),
            listing: 0,
            bits: Vec::new(),
            untimed: None,
            written: 0,
            free: None,
            changed: true,
            still: self.still.clone(),
            room: Mutex::new(vec![0.0; self.room.lock().map_or(0, |room| room.len())]),
            read: Mutex::default(),
            read_by: Mutex::default(),
        }
    }

    /// Copies the parameters from another model with the same code, and keeps its own modes and discretes.
    pub(crate) fn follow(&mut self, other: &Located) {
        let from = other.executor.parameters();
        self.executor.switch(|p| p.copy_from_slice(from));
        self.write();
        self.changed = true;
    }

    /// Source location of a relation.
    pub(crate) fn relation_span(&self, relation: usize) -> Option<Span> {
        self.places.span(&self.code, relation)
    }

    /// The element that a relation of an array compares, `i = 2`; empty for a scalar.
    pub(crate) fn relation_element(&self, relation: usize) -> String {
        let found = self.places.element(&self.code, self.executor.program(), relation).unwrap_or_default();
        let list: Vec<String> = found.iter().map(|(name, at)| format!("{name} = {at}")).collect();
        list.join(", ")
    }

    /// Source locations of relations, without duplicates.
    pub(crate) fn relation_spans(&self) -> impl Iterator<Item = Span> + '_ {
        self.code.switching.relations.iter().map(|relation| relation.span)
    }

    /// Source locations of the statements of these events.
    pub(crate) fn event_spans<'a>(&'a self, events: &'a [usize]) -> impl Iterator<Item = Span> + 'a {
        events.iter().filter_map(|event| self.event_span(*event))
    }

    /// Source location of an event, or of the comparison that a counter follows.
    pub(crate) fn event_span(&self, event: usize) -> Option<Span> {
        let Places { event_table, counted, .. } = &*self.places;
        match event.checked_sub(event_table.events.len()) {
            None => event_table.span(event, &self.code.switching.events),
            Some(counter) => self.relation_span(counted.get(counter / 2)?.up),
        }
    }

    /// Source locations of the quantities that change at the times of a list.
    pub(crate) fn list_spans(&self, list: usize) -> Vec<Span> {
        match list.checked_sub(self.own_lists()) {
            Some(list) => {
                self.places.event_table.of_list(list).and_then(|event| self.event_span(event)).into_iter().collect()
            }
            None => self.code.switching.timed.iter().map(|timed| timed.span).collect(),
        }
    }

    /// Event of the model that corresponds to an event of the run; `None` for an event that updates a rounded quantity.
    pub fn origin(&self, event: usize) -> Option<Origin> {
        let (event, at) = self.places.event_table.origin(event, &self.code.switching.events)?;
        Some(Origin { event, at })
    }

    /// The action of an event that a write belongs to.
    pub(crate) fn action_span(&self, event: usize, write: usize) -> Option<Span> {
        self.places.event_table.action_span(event, write, &self.code.switching.events)
    }

    /// True of an event with a block `rest`.
    pub(crate) fn has_rest(&self, event: usize) -> bool {
        self.places.events.get(event).is_some_and(|event| event.rest.is_some())
    }

    /// Source location of the action of an event that writes a target.
    pub(crate) fn write_span(&self, event: usize, target: odec_ode::hybrid::WriteTarget) -> Option<Span> {
        self.places.event_table.write_span(event, target, &self.code.switching.events)
    }

    /// Position of a discrete in a run, from its place in the parameter buffer.
    pub(crate) fn discrete_at(&self, place: usize) -> Option<usize> {
        place.checked_sub(self.places.discretes.start).filter(|at| *at < self.discretes.len())
    }

    /// The name of a discrete of a run.
    pub fn discrete_name(&self, at: usize) -> String {
        let quantities = Quantities::discretes(self.executor.program(), self.executor.layout());
        quantities.name(self.places.discretes.start + at)
    }

    /// Elements of each discrete of the model, from those of a run; if `all` is empty, their initial values.
    pub(crate) fn discretes_of(&self, model: &Model, t0: f64, all: &[f64]) -> Vec<Vec<f64>> {
        let mut started = vec![0.0; self.discretes.len()];
        let all = if all.is_empty() {
            self.places.event_table.start(&self.initial(t0), &mut started);
            &started
        } else {
            all
        };
        let quantities = Quantities::discretes(self.executor.program(), self.executor.layout());
        let of = |name: &str| {
            let places = quantities.list().iter().filter(|q| q.name == name).flat_map(Quantity::places);
            places.filter_map(|at| all.get(at.checked_sub(self.places.discretes.start)?)).copied().collect()
        };
        model.discretes.iter().map(|discrete| of(&discrete.name)).collect()
    }

    /// Statements of timed events none of which occurred in the run. `happened` tells which events of the run
    /// occurred.
    pub(crate) fn never(&self, happened: &[bool]) -> Vec<usize> {
        let timed = |event: &&Event| matches!(event.trigger, Trigger::Times(_));
        let mut statements = vec![false; self.code.switching.events.list.len()];
        let mut waits = statements.clone();
        for (k, _) in self.places.events.iter().enumerate().filter(|(_, event)| timed(event)) {
            let Some((statement, _)) = self.places.event_table.origin(k, &self.code.switching.events) else { continue };
            waits[statement] = true;
            statements[statement] |= happened.get(k).copied().unwrap_or(false);
        }
        (0..waits.len()).filter(|k| waits[*k] && !statements[*k]).collect()
    }

    /// Statements of events none of which occurred in the run, although a condition of them held at its start.
    pub(crate) fn held(&self, held: &[bool], happened: &[bool]) -> Vec<usize> {
        let mut statements = vec![false; self.code.switching.events.list.len()];
        let mut occurred = statements.clone();
        for (k, event) in self.places.events.iter().enumerate() {
            let Trigger::Condition(Edge::Rising) = event.trigger else { continue };
            let Some((statement, _)) = self.places.event_table.origin(k, &self.code.switching.events) else { continue };
            statements[statement] |= held.get(k).copied().unwrap_or(false);
            occurred[statement] |= happened.get(k).copied().unwrap_or(false);
        }
        (0..statements.len()).filter(|k| statements[*k] && !occurred[*k]).collect()
    }

    /// The assignments of an event of the run.
    pub fn writes(&self, event: usize) -> &[odec_ode::hybrid::Write] {
        self.places.events.get(event).map_or(&[], |event| &event.writes)
    }

    /// Coefficients of the run.
    pub(crate) fn coefficients(&self) -> Vec<u64> {
        let terms = self.rows.terms.iter().map(|(_, a)| a.to_bits());
        terms.chain(self.rows.time.iter().map(|b| b.to_bits())).collect()
    }

    /// Number of relations of all elements.
    pub fn relations(&self) -> usize {
        self.places.relations.len()
    }

    /// The description of the modes.
    pub fn switching(&self) -> &Switching {
        &self.code.switching
    }
}
